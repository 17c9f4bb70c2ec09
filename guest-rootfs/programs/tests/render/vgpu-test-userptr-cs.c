// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Jobs of the render node that use userptr BOs. Catches: pages are freed while a job uses them;
 * a job uses pages that the process has given up; a job writes to a read-only BO; another process
 * can use the BO.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "render.h"
#include "tap.h"

#define SEED	0xc5e7
#define SIZE	(3 * VG_MIB)
#define VA	0x200000000ull
#define VA_OUT	0x300000000ull
#define VA_IB	0x8000000ull
#define VA_FLAG	0x9000000ull
#define GTT	AMDGPU_GEM_DOMAIN_GTT
#define REG	AMDGPU_GEM_USERPTR_REGISTER

static struct vg vg;
static int fd;
static uint32_t ctx;
static struct vr_ib ib;
static struct vr_bo out, flag;

static char *anon(void)
{
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

static void start(void)
{
	OK(vg_open_bare(&vg));
	fd = vg.gpu[0].fd;
	ERRNO(0, vr_ctx_alloc(fd, 0, &ctx));
	ERRNO(0, vr_ib_create(fd, 64 * VG_KIB, VA_IB, &ib));
	ERRNO(0, vr_bo_create(fd, VG_PAGE, GTT, 0, VA_FLAG, &flag));
	ERRNO(0, vr_bo_create(fd, SIZE, GTT, 0, VA_OUT, &out));
}

static uint32_t userptr(void *p, uint32_t flags, uint64_t va)
{
	struct drm_amdgpu_gem_userptr args = {
		.addr = (uintptr_t)p, .size = SIZE, .flags = flags,
	};

	ERRNO(0, vr_ioctl(fd, DRM_IOCTL_AMDGPU_GEM_USERPTR, &args));
	ERRNO(0, vr_gem_va(fd, args.handle, AMDGPU_VA_OP_MAP, VR_MAP_RW, va, 0,
			   SIZE));
	return args.handle;
}

static int try_submit(uint32_t handle, uint64_t *seq)
{
	const uint32_t handles[] = {
		handle, ib.bo.handle, out.handle, flag.handle
	};
	int r;

	/*
	 * CS returns -EAGAIN if pages changed during the call. Submit again, as libdrm
	 * does.
	 */
	do
		r = vr_submit(fd, ctx, 0, &ib, handles, 4, seq);
	while (r == -EAGAIN);
	ib.ndw = 0;
	return r;
}

static void run(uint32_t handle)
{
	uint64_t seq;

	ERRNO(0, try_submit(handle, &seq));
	ERRNO(0, vr_wait(fd, ctx, 0, seq, ~0ull));
}

static void job_reads(uint32_t handle, const char *p)
{
	memset(out.cpu, 0x5a, SIZE);
	vr_ib_copy(&ib, VA_OUT, VA, SIZE);
	run(handle);
	CHECK(!memcmp(out.cpu, p, SIZE), "job and CPU read different bytes");
}

static void job_writes(uint32_t handle, const char *p, uint64_t seed)
{
	vg_pattern_fill(out.cpu, SIZE, seed, 0);
	vr_ib_copy(&ib, VA, VA_OUT, SIZE);
	run(handle);
	OK(vg_pattern_check(p, SIZE, seed, 0));
}

/* A job must use the physical pages that are mapped at the address when the job is submitted. */
static void pages_of_the_time(void)
{
	char *p = anon();
	uint32_t h;
	int round;

	start();
	h = userptr(p, REG, VA);
	for (round = 0; tap_goes_on(round, 3); round++) {
		int status;
		pid_t pid;

		vg_pattern_fill(p, SIZE, SEED + round, 0);
		job_reads(h, p);
		job_writes(h, p, SEED + 10);
		CHECK(!madvise(p, SIZE, MADV_DONTNEED), "madvise");
		job_reads(h, p);
		job_writes(h, p, SEED + 11);
		pid = fork();
		if (!pid)
			_exit(0);
		job_writes(h, p, SEED + 12);
		CHECK(waitpid(pid, &status, 0) == pid && !status, "child");
		CHECK(mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, "mmap");
		job_reads(h, p);
	}
	ERRNO(0, vr_gem_close(fd, h));
}

static void *drop_pages(void *arg)
{
	CHECK(!madvise(arg, SIZE, MADV_DONTNEED), "madvise");
	return NULL;
}

/* MADV_DONTNEED must wait for the job that uses the pages. */
static void waits_for_job(void)
{
	char *p = anon();
	pthread_t thread;
	uint64_t seq;
	uint32_t h;
	int i;

	start();
	h = userptr(p, REG | AMDGPU_GEM_USERPTR_VALIDATE, VA);
	for (i = 0; i < 3; i++) {
		*(volatile uint32_t *)flag.cpu = 0;
		vg_pattern_fill(p, SIZE, SEED + i, 0);
		vr_ib_poll(&ib, VA_FLAG, 1);
		vr_ib_copy(&ib, VA_OUT, VA, SIZE);
		ERRNO(0, try_submit(h, &seq));
		CHECK(!pthread_create(&thread, NULL, drop_pages, p), "thread");
		ERRNO(ETIME, vr_wait(fd, ctx, 0, seq, 200000000));
		CHECK(pthread_tryjoin_np(thread, NULL) == EBUSY,
		      "the pages were freed under a job");
		*(volatile uint32_t *)flag.cpu = 1;
		ERRNO(0, vr_wait(fd, ctx, 0, seq, ~0ull));
		CHECK(!pthread_join(thread, NULL), "join");
		OK(vg_pattern_check(out.cpu, SIZE, SEED + i, 0));
		OK(vg_fill_check(p, SIZE, 0));
		job_reads(h, p);
	}
}

/*
 * A job writes to a userptr BO that the job does not list. Catches: MADV_DONTNEED waits for the
 * job, although only listed BOs have the job's fence; the write changes freed pages.
 */
static void not_named(void)
{
	const uint64_t part = SIZE / 2 - VG_PAGE;
	char *p = anon(), *other;
	uint64_t seq;
	uint32_t h;
	int i;

	start();
	for (i = 0; i < 4; i++) {
		const uint32_t handles[] = { ib.bo.handle, flag.handle };

		h = userptr(p, REG, VA);
		vg_pattern_fill(p, SIZE, SEED + i, 0);
		job_reads(h, p);
		/* In half of the rounds, split the mapping in two. */
		if (i & 1)
			ERRNO(0, vr_gem_va(fd, 0, AMDGPU_VA_OP_CLEAR, 0,
					   VA + part, 0, VG_PAGE));
		*(volatile uint32_t *)flag.cpu = 0;
		vr_ib_poll(&ib, VA_FLAG, 1);
		vr_ib_fill(&ib, i & 2 ? VA : VA + SIZE - part, 0x5eed, part);
		ERRNO(0, vr_submit(fd, ctx, 0, &ib, handles, 2, &seq));
		ib.ndw = 0;
		CHECK(!madvise(p, SIZE, MADV_DONTNEED), "madvise");
		/*
		 * The new memory may get the freed pages. The job's write must fault, and not
		 * change these pages.
		 */
		other = anon();
		vg_pattern_fill(other, SIZE, SEED, i);
		*(volatile uint32_t *)flag.cpu = 1;
		ERRNO(0, vr_wait(fd, ctx, 0, seq, ~0ull));
		OK(vg_pattern_check(other, SIZE, SEED, i));
		OK(vg_fill_check(p, SIZE, 0));
		munmap(other, SIZE);
		ERRNO(0, vr_gem_close(fd, h));
		ERRNO(0, vr_ctx_free(fd, ctx));
		ERRNO(0, vr_ctx_alloc(fd, 0, &ctx));
	}
}

/* Catches: a job writes to a read-only userptr BO that has a writable GPU mapping. */
static void read_only(void)
{
	char *p = anon();
	uint64_t seq;
	uint32_t h;

	start();
	vg_pattern_fill(p, SIZE, SEED, 0);
	CHECK(!mprotect(p, SIZE, PROT_READ), "mprotect");
	h = userptr(p, AMDGPU_GEM_USERPTR_READONLY, VA);
	job_reads(h, p);
	vr_ib_fill(&ib, VA, 0x12345678, SIZE);
	if (!try_submit(h, &seq))
		vr_wait(fd, ctx, 0, seq, 5000000000ull);
	OK(vg_pattern_check(p, SIZE, SEED, 0));
}

static uint32_t child_handle;

static void other_process(void *arg)
{
	uint64_t seq;

	(void)arg;
	vr_ib_copy(&ib, VA_OUT, VA, SIZE);
	ERRNO(EPERM, try_submit(child_handle, &seq));
}

static void errors(void)
{
	char *p = anon();
	uint64_t seq;
	uint32_t h;

	start();
	h = userptr(p, REG, VA);
	job_writes(h, p, SEED);
	child_handle = h;
	tap_in_child(other_process, NULL);
	job_reads(h, p);

	CHECK(!mprotect(p, SIZE, PROT_READ), "mprotect");
	vr_ib_copy(&ib, VA_OUT, VA, SIZE);
	ERRNO(EPERM, try_submit(h, &seq));
	munmap(p, SIZE);
	vr_ib_copy(&ib, VA_OUT, VA, SIZE);
	ERRNO(EFAULT, try_submit(h, &seq));
	CHECK(mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, "mmap");
	vg_pattern_fill(p, SIZE, SEED + 1, 0);
	job_reads(h, p);
}

/*
 * For each job, churn() drops some pages and then waits. Without the wait, CS on a KASAN kernel
 * might look the pages up again forever.
 */
static sem_t job_begins;
static volatile bool churning;

static void *churn(void *arg)
{
	volatile char *p = arg;
	unsigned int i = 0;

	for (;;) {
		sem_wait(&job_begins);
		if (!churning)
			return NULL;
		do {
			uint64_t at = (i++ * 7 % (SIZE / VG_PAGE / 2)) * VG_PAGE;

			madvise((char *)p + at, VG_PAGE, MADV_DONTNEED);
			p[at] = (char)i;
		} while (i % 32);
	}
}

static void churned(void)
{
	char *p = anon();
	pthread_t thread;
	uint32_t h;
	int round;

	start();
	h = userptr(p, REG, VA);
	churning = true;
	CHECK(!sem_init(&job_begins, 0, 0) &&
	      !pthread_create(&thread, NULL, churn, p), "thread");
	for (round = 0; tap_goes_on(round, 10); round++) {
		uint64_t half = SIZE / 2;

		/*
		 * churn() drops pages of the first half only, so the test can check the
		 * contents of the second half.
		 */
		vg_pattern_fill(out.cpu, SIZE, SEED + round, 0);
		vr_ib_copy(&ib, VA, VA_OUT, SIZE);
		sem_post(&job_begins);
		run(h);
		OK(vg_pattern_check(p + half, half, SEED + round, half));
		vg_pattern_fill(p + half, half, SEED - round, half);
		vr_ib_copy(&ib, VA_OUT, VA, SIZE);
		sem_post(&job_begins);
		run(h);
		OK(vg_pattern_check((char *)out.cpu + half, half, SEED - round,
				    half));
	}
	churning = false;
	sem_post(&job_begins);
	CHECK(!pthread_join(thread, NULL), "join");
}

static const struct tap_case cases[] = {
	{ "each job has the pages of its time", pages_of_the_time, 1 },
	{ "pages wait for the job that has them", waits_for_job, 1 },
	{ "pages go under a job that does not name them", not_named, 1 },
	{ "read-only", read_only, 1 },
	{ "errors", errors, 1 },
	{ "pages that come and go", churned, 1 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
