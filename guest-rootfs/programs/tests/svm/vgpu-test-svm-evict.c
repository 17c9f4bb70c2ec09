// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Evictions of shared memory from VRAM. Catches: SVM never frees VRAM; contents are lost or
 * exchanged; a GPU page table entry points to VRAM that was allocated again; an eviction
 * deadlocks with a fault, migration, fork, munmap or process exit.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "render.h"
#include "tap.h"

#define SEED	0x5e71c
#define CHUNK	(2 * VG_MIB)

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_queue q;
static struct vg_mem_info base;

static void start(int xnack)
{
	tap_open(&vg, xnack);
	gpu = &vg.gpu[0];
	OK(vg_mem_info(gpu, &base));
	OK(vg_queue_create(&vg, gpu, 64 * VG_KIB, &q));
}

static uint64_t svm_evictions(void)
{
	return tap_driver_counter(gpu, "svm_evictions");
}

static uint64_t share(unsigned int percent)
{
	return base.vram_total * percent / 100 / CHUNK * CHUNK;
}

/*
 * Return anonymous memory that the GPU may access (SVM), filled with a pattern. If @prefer is true,
 * the preferred location of the memory is VRAM.
 */
static char *shared(uint64_t bytes, uint64_t seed, bool prefer)
{
	char *p = tap_anon(bytes);

	vg_pattern_fill(p, bytes, seed, 0);
	OK(vg_svm_set1(&vg, p, bytes, KFD_IOCTL_SVM_ATTR_ACCESS, gpu->gpu_id));
	if (prefer)
		OK(vg_svm_set1(&vg, p, bytes, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
			       gpu->gpu_id));
	return p;
}

static long in_vram(const void *p, uint64_t bytes)
{
	long n = vg_pages_in_vram(p, bytes);

	OK((int)n);
	return n;
}

static char *shared_in_vram(uint64_t bytes, uint64_t seed)
{
	char *p = shared(bytes, seed, true);
	long n;

	OK(vg_svm_prefetch(&vg, p, bytes, gpu->gpu_id));
	n = in_vram(p, bytes);
	CHECK((uint64_t)n * VG_PAGE == bytes, "%ld of %lu pages are in VRAM", n,
	      bytes / VG_PAGE);
	return p;
}

/*
 * Prefetch shared memory to VRAM and return it. Do not check that the memory is in VRAM,
 * because another process (struct rival) may already have evicted it again.
 */
static char *shared_contested(uint64_t bytes, uint64_t seed)
{
	char *p = shared(bytes, seed, true);

	OK(vg_svm_prefetch(&vg, p, bytes, gpu->gpu_id));
	return p;
}

/*
 * Check the contents through the engine, then through the CPU. The engine comes first, because
 * the CPU's reads move the pages from VRAM to RAM.
 */
static void check_both(char *p, uint64_t bytes, uint64_t seed)
{
	static struct vg_bo stage;
	uint64_t at, n;

	if (!stage.cpu)
		OK(vg_bo_create(&vg, gpu, CHUNK, VG_GTT, &stage));
	for (at = 0; at < bytes; at += n) {
		n = bytes - at < CHUNK ? bytes - at : CHUNK;
		OK(vg_copy(&q, stage.cpu, p + at, n));
		OK(vg_pattern_check(stage.cpu, n, seed, at));
	}
	OK(vg_pattern_check(p, bytes, seed, 0));
}

/*
 * A process that competes for VRAM. For each byte that is written to @go, the process
 * allocates and frees a BO, and then sends a byte, which can be read from @up.
 */
struct rival {
	pid_t pid;
	int go, up;
};

/*
 * Create a KFD BO of @bytes bytes. Let the engine fill the BO, and check the last chunk, which the
 * engine copies to GTT.
 */
static void rival_bo(uint64_t bytes, uint64_t seed)
{
	struct vg_bo bo = { 0 }, stage = { 0 };

	OK(vg_bo_create(&vg, gpu, CHUNK, VG_GTT, &stage));
	OK(vg_bo_alloc(&vg, gpu, bytes, VG_VRAM, &bo));
	OK(vg_bo_map_gpu(&bo));
	OK(vg_fill(&q, (void *)bo.va, seed, bytes));
	OK(vg_copy(&q, stage.cpu, (void *)(bo.va + bytes - CHUNK), CHUNK));
	OK(vg_fill_check(stage.cpu, CHUNK, seed));
	OK(vg_bo_free(&bo));
	OK(vg_bo_free(&stage));
}

static void rival_main(uint64_t bytes, int go, int up)
{
	uint32_t round = 0;
	char c;

	start(0);
	while (read(go, &c, 1) == 1) {
		rival_bo(bytes, SEED + round++);
		if (write(up, &c, 1) != 1)
			break;
	}
	vg_queue_destroy(&q);
	_exit(0);
}

static struct rival rival_start(uint64_t bytes)
{
	int down[2], up[2];
	struct rival r;

	CHECK(!pipe(down) && !pipe(up), "pipe");
	fflush(stdout);
	r.pid = fork();
	CHECK(r.pid >= 0, "fork");
	if (!r.pid) {
		close(down[1]);
		close(up[0]);
		rival_main(bytes, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	r.go = down[1];
	r.up = up[0];
	return r;
}

static void rival_go(struct rival *r)
{
	CHECK(write(r->go, "g", 1) == 1, "write");
}

static void rival_wait(struct rival *r)
{
	char c;

	CHECK(read(r->up, &c, 1) == 1, "the other process got no VRAM");
}

static void rival_end(struct rival *r)
{
	int status;

	close(r->go);
	CHECK(waitpid(r->pid, &status, 0) == r->pid && !status,
	      "the other process ended with status 0x%x", status);
	close(r->up);
}

/*
 * Start a rival: a child process that allocates @percent of VRAM. Call this function before
 * start(), which opens KFD: the child must not inherit a KFD file, which only the parent can use.
 */
static struct rival rival_before(unsigned int percent)
{
	static struct vg first;

	tap_long_on_debug();
	/* Open KFD only to read the size of VRAM, and close it before the fork. */
	OK(vg_open_bare(&first));
	gpu = &first.gpu[0];
	OK(vg_mem_info(gpu, &base));
	vg_close(&first);
	return rival_start(share(percent));
}

/*
 * A BO of another process takes most of VRAM. Pages of this process's shared virtual memory
 * must then be evicted, and must keep their contents.
 */
static void bo_wants(int xnack)
{
	struct rival r = rival_before(70);
	uint64_t before, bytes;
	long left;
	char *p;
	int i;

	start(xnack);
	bytes = share(60);
	p = shared_in_vram(bytes, SEED);
	for (i = 0; i < 2; i++) {
		before = svm_evictions();
		rival_go(&r);
		rival_wait(&r);
		left = in_vram(p, bytes);
		CHECK(svm_evictions() > before, "no page was evicted");
		CHECK((uint64_t)left * VG_PAGE <= share(40),
		      "%ld pages are in VRAM still", left);
		if (i)
			check_both(p, bytes, SEED);
		OK(vg_svm_prefetch(&vg, p, bytes, gpu->gpu_id));
		CHECK((uint64_t)in_vram(p, bytes) * VG_PAGE == bytes,
		      "%ld pages came back", in_vram(p, bytes));
	}
	check_both(p, bytes, SEED);
	rival_end(&r);
}

static void bo_wants_retry(void)
{
	bo_wants(1);
}

static void bo_wants_no_retry(void)
{
	bo_wants(0);
}

/*
 * Catches: BOs of the render node cannot evict shared memory; the contents of shared memory
 * are lost.
 */
static void drm_wants(void)
{
	uint32_t handle[64];
	uint64_t before, bytes;
	int fd, i, n;
	char *p;

	start(1);
	bytes = share(60);
	n = share(70) / CHUNK;
	CHECK(n <= 64, "%d BOs", n);
	p = shared_in_vram(bytes, SEED);
	before = svm_evictions();
	fd = vr_open(gpu);
	CHECK(fd >= 0, "render node: %d", fd);
	for (i = 0; i < n; i++)
		OK(vr_gem_create(fd, CHUNK, AMDGPU_GEM_DOMAIN_VRAM, 0,
				 &handle[i]));
	CHECK(svm_evictions() > before, "no page was evicted");
	CHECK((uint64_t)in_vram(p, bytes) * VG_PAGE <= share(40),
	      "%ld pages are in VRAM still", in_vram(p, bytes));
	check_both(p, bytes, SEED);
	for (i = 0; i < n; i++)
		OK(vr_gem_close(fd, handle[i]));
	close(fd);
}

/* Evict VRAM by debugfs while the engine works. */
static void all_leave(void)
{
	struct vg_bo out = { 0 };
	uint64_t bytes;
	uint32_t seq;
	char *p;
	int i;

	tap_long_on_debug();
	start(1);
	bytes = share(40);
	p = shared_in_vram(bytes, SEED);
	OK(vg_bo_create(&vg, gpu, bytes, VG_GTT, &out));
	for (i = 0; i < 4; i++) {
		OK(vg_emit_copy(&q, out.va, (uintptr_t)p, bytes));
		OK(vg_emit_fence(&q, &seq));
		vg_queue_submit(&q);
		tap_evict_some(gpu, "vram");
		OK(vg_wait(&q, seq, VG_TIMEOUT_MS));
		OK(vg_pattern_check(out.cpu, bytes, SEED, 0));
		memset(out.cpu, 0, bytes);
	}
	OK(vg_queue_finish(&q, VG_TIMEOUT_MS));
	OK(vg_pattern_check(p, bytes, SEED, 0));
	CHECK(!in_vram(p, bytes), "%ld pages are in VRAM", in_vram(p, bytes));
	tap_evict(gpu, "vram");
}

/* Catches: the driver does not evict SVM memory when it needs VRAM for page tables. */
static void tables_want(void)
{
	const uint64_t tables = 1024;
	uint64_t i, before, bytes;
	struct vg_bo src = { 0 };
	char *full, *sparse;

	tap_long_on_debug();
	start(1);
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &src));
	vg_pattern_fill(src.cpu, VG_PAGE, SEED + 1, 0);
	bytes = share(120);
	full = shared(bytes, SEED, true);
	before = svm_evictions();
	OK(vg_svm_prefetch(&vg, full, bytes, gpu->gpu_id));
	CHECK(svm_evictions() != before,
	      "more than VRAM's size evicted nothing");
	before = svm_evictions();
	sparse = mmap(NULL, tables * CHUNK, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(sparse != MAP_FAILED, "mmap");
	madvise(sparse, tables * CHUNK, MADV_NOHUGEPAGE);
	OK(vg_svm_set1(&vg, sparse, tables * CHUNK,
		       KFD_IOCTL_SVM_ATTR_GRANULARITY, 0));
	for (i = 0; i < tables; i++)
		OK(vg_emit_copy(&q, (uintptr_t)sparse + i * CHUNK, src.va,
				VG_PAGE));
	OK(vg_queue_finish(&q, 2 * VG_TIMEOUT_MS));
	CHECK(svm_evictions() > before, "page tables did not evict");
	for (i = 0; i < tables; i++)
		OK(vg_pattern_check(sparse + i * CHUNK, VG_PAGE, SEED + 1, 0));
	check_both(full, bytes, SEED);
}

/*
 * Use shared memory of one and a half times the VRAM, all with VRAM as preferred
 * location.
 */
static void itself(int xnack)
{
	uint64_t bytes, before, at;
	char *src, *dst;

	tap_long_on_debug();
	start(xnack);
	bytes = share(75);
	before = svm_evictions();
	src = shared(bytes, SEED, true);
	dst = shared(bytes, SEED + 1, true);
	if (!xnack) {
		OK(vg_svm_prefetch(&vg, src, bytes, gpu->gpu_id));
		OK(vg_svm_prefetch(&vg, dst, bytes, gpu->gpu_id));
	}
	for (at = 0; at < bytes; at += CHUNK)
		OK(vg_copy(&q, dst + at, src + at, CHUNK));
	CHECK(svm_evictions() > before, "no page was evicted");
	CHECK(in_vram(dst, bytes), "nothing is in VRAM");
	check_both(dst, bytes, SEED);
	check_both(src, bytes, SEED);
}

static void itself_retry(void)
{
	itself(1);
}

static void itself_no_retry(void)
{
	itself(0);
}

/* A thread that reads and writes one byte in every seventh page of shared memory. */
struct toucher {
	pthread_t thread;
	unsigned char *p;
	uint64_t bytes;
	atomic_bool stop;
	atomic_ulong rounds;
	bool bad;
};

static void *touch(void *arg)
{
	struct toucher *t = arg;
	uint64_t page, n = t->bytes / VG_PAGE;
	unsigned char want = 0;

	while (!atomic_load(&t->stop)) {
		for (page = 0; page < n; page += 7)
			t->bad |= t->p[page * VG_PAGE + page % VG_PAGE] !=
				  (unsigned char)(want + page);
		want += 3;
		for (page = 0; page < n; page += 7)
			t->p[page * VG_PAGE + page % VG_PAGE] = want + page;
		t->rounds++;
	}
	return NULL;
}

static void touch_start(struct toucher *t, uint64_t bytes)
{
	uint64_t page;

	t->p = (unsigned char *)tap_anon(bytes);
	t->bytes = bytes;
	for (page = 0; page < bytes / VG_PAGE; page += 7)
		t->p[page * VG_PAGE + page % VG_PAGE] = page;
	OK(vg_svm_set1(&vg, t->p, bytes, KFD_IOCTL_SVM_ATTR_ACCESS,
		       gpu->gpu_id));
	OK(vg_svm_set1(&vg, t->p, bytes, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
		       gpu->gpu_id));
	CHECK(!pthread_create(&t->thread, NULL, touch, t), "pthread_create");
}

static void touch_end(struct toucher *t)
{
	uint64_t until = vg_deadline();

	while (!atomic_load(&t->rounds)) {
		CHECK(vg_now() < until, "the CPU did nothing");
		vg_sleep_us(1000);
	}
	atomic_store(&t->stop, true);
	pthread_join(t->thread, NULL);
	CHECK(!t->bad, "the CPU read what it has not written");
}

/*
 * An engine, the CPU and prefetches use shared memory, while another process needs VRAM
 * for a BO.
 */
static void all_at_once(int xnack)
{
	struct rival r = rival_before(50);
	static struct toucher t;
	uint64_t bytes, before, at;
	char *a, *b, *from, *to;
	int i;

	start(xnack);
	bytes = share(50);
	before = svm_evictions();
	a = shared(bytes, SEED, true);
	b = shared(bytes, SEED + 1, true);
	touch_start(&t, share(25));
	for (i = 0; tap_goes_on(i, 2); i++) {
		rival_go(&r);
		from = i % 2 ? b : a;
		to = i % 2 ? a : b;
		for (at = 0; at < bytes; at += CHUNK) {
			OK(vg_emit_copy(&q, (uintptr_t)to + at,
					(uintptr_t)from + at, CHUNK));
		}
		vg_queue_submit(&q);
		OK(vg_svm_prefetch(&vg, t.p, t.bytes, gpu->gpu_id));
		OK(vg_svm_prefetch(&vg, to, bytes, gpu->gpu_id));
		OK(vg_queue_finish(&q, VG_TIMEOUT_MS));
		rival_wait(&r);
		OK(vg_pattern_check(to, bytes, SEED, 0));
	}
	touch_end(&t);
	/*
	 * Print the number of evictions. There may be none, because the CPU may have migrated
	 * all memory back before the driver had to evict it.
	 */
	tap_diag("%lu evictions", svm_evictions() - before);
	check_both(a, bytes, SEED);
	rival_end(&r);
}

static void all_at_once_retry(void)
{
	all_at_once(1);
}

static void all_at_once_no_retry(void)
{
	all_at_once(0);
}

/* Evict pages that two processes share after a fork. */
static void forked(void)
{
	struct rival r = rival_before(80);
	int down[2], status;
	uint64_t bytes;
	pid_t pid;
	char *p, c;

	start(1);
	bytes = share(50);
	p = shared_in_vram(bytes, SEED);
	CHECK(!pipe(down), "pipe");
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid) {
		/*
		 * The child writes a quarter of the memory before the eviction, and so
		 * gets its own copy of this quarter.
		 */
		close(down[1]);
		vg_pattern_fill(p, bytes / 4, SEED + 2, 0);
		CHECK(read(down[0], &c, 1) == 1, "read");
		OK(vg_pattern_check(p, bytes / 4, SEED + 2, 0));
		OK(vg_pattern_check(p + bytes / 4, bytes - bytes / 4, SEED,
				    bytes / 4));
		_exit(0);
	}
	close(down[0]);
	rival_go(&r);
	/*
	 * The parent's engine writes another quarter, and so the parent gets its own
	 * copy of that quarter.
	 */
	OK(vg_fill(&q, p + bytes / 2, 0x1234, bytes / 4));
	rival_wait(&r);
	OK(vg_fill_check(p + bytes / 2, bytes / 4, 0x1234));
	CHECK(write(down[1], "c", 1) == 1, "write");
	CHECK(waitpid(pid, &status, 0) == pid && !status, "the child: 0x%x",
	      status);
	check_both(p, bytes / 2, SEED);
	OK(vg_pattern_check(p + bytes * 3 / 4, bytes / 4, SEED, bytes * 3 / 4));
	rival_end(&r);
}

/* Change the mappings of memory while the memory is being evicted. */
static void changed(int xnack)
{
	struct rival r = rival_before(80);
	uint64_t bytes, at;
	char *p;
	int i;

	start(xnack);
	bytes = share(40) / (4 * CHUNK) * (4 * CHUNK);
	for (i = 0; tap_goes_on(i, 4); i++) {
		p = shared_in_vram(bytes, SEED + i);
		rival_go(&r);
		for (at = 0; at < bytes; at += 4 * CHUNK) {
			char *to;

			CHECK(!munmap(p + at, CHUNK), "munmap");
			CHECK(!mprotect(p + at + CHUNK, CHUNK, PROT_READ),
			      "mprotect");
			CHECK(!madvise(p + at + 2 * CHUNK, CHUNK / 2,
				       MADV_DONTNEED), "madvise");
			to = mmap(NULL, CHUNK, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			CHECK(to != MAP_FAILED, "mmap");
			CHECK(mremap(p + at + 3 * CHUNK, CHUNK, CHUNK,
				     MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
			      "mremap");
			OK(vg_pattern_check(to, CHUNK, SEED + i,
					    at + 3 * CHUNK));
			OK(vg_pattern_check(p + at + CHUNK, CHUNK, SEED + i,
					    at + CHUNK));
			OK(vg_fill_check(p + at + 2 * CHUNK, CHUNK / 2, 0));
			OK(vg_pattern_check(p + at + 5 * CHUNK / 2, CHUNK / 2,
					    SEED + i, at + 5 * CHUNK / 2));
			CHECK(!munmap(to, CHUNK), "munmap");
		}
		rival_wait(&r);
		CHECK(!munmap(p, bytes), "munmap");
	}
	rival_end(&r);
}

static void changed_retry(void)
{
	changed(1);
}

static void changed_no_retry(void)
{
	changed(0);
}

/*
 * Write a byte to the pipe *@arg. Then let the engine copy between two buffers that prefer VRAM,
 * until this process is killed.
 */
static void work(void *arg)
{
	uint64_t bytes;
	char *a, *b;
	int fd = *(int *)arg;

	start(1);
	bytes = share(40);
	a = shared_contested(bytes, SEED);
	b = shared(bytes, SEED + 1, true);
	CHECK(write(fd, "w", 1) == 1, "write");
	for (;;) {
		OK(vg_emit_copy(&q, (uintptr_t)b, (uintptr_t)a, bytes));
		OK(vg_queue_finish(&q, VG_TIMEOUT_MS));
		vg_pattern_fill(a, bytes / 8, SEED, 0);
	}
}

static void killed(void)
{
	struct rival r = rival_before(80);
	int i;

	for (i = 0; tap_goes_on(i, 6); i++) {
		rival_go(&r);
		tap_kill_at_work(work, i % 6 * 15000);
		rival_wait(&r);
	}
	rival_end(&r);
}

static void work_and_exit(void *arg)
{
	uint64_t bytes;
	char *p;

	start(*(int *)arg % 2);
	bytes = share(60);
	p = shared_contested(bytes, SEED);
	OK(vg_emit_copy(&q, (uintptr_t)p + bytes / 2, (uintptr_t)p, bytes / 2));
	vg_queue_submit(&q);
	vg_sleep_us(*(int *)arg * 10000);
	_exit(0);
}

static void ended(void)
{
	struct rival r = rival_before(80);
	int i;

	for (i = 0; tap_goes_on(i, 8); i++) {
		int nth = i % 8;

		rival_go(&r);
		tap_in_child(work_and_exit, &nth);
		rival_wait(&r);
	}
	rival_end(&r);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		{ "a process's BO, with retry", bo_wants_retry, 0 },
		{ "a process's BO, without retry", bo_wants_no_retry, 0 },
		{ "BOs of the render node", drm_wants, 0 },
		{ "all of VRAM, under running copies", all_leave, 0 },
		{ "page tables", tables_want, 0 },
		{ "itself, with retry", itself_retry, 0 },
		{ "itself, without retry", itself_no_retry, 0 },
		{ "all at once, with retry", all_at_once_retry, 0 },
		{ "all at once, without retry", all_at_once_no_retry, 0 },
		{ "shared since a fork", forked, 0 },
		{ "changed meanwhile, with retry", changed_retry, 0 },
		{ "changed meanwhile, without retry", changed_no_retry, 0 },
		{ "killed meanwhile", killed, 0 },
		{ "ended meanwhile", ended, 0 },
	};

	return tap_main(TAP_CASES(cases), argc, argv);
}
