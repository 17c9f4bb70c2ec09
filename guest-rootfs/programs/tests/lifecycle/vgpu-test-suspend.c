// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suspend the guest to RAM while processes use the GPU. Catches: memory contents, queues or jobs
 * are lost; jobs run while the device is off; data that a reset has lost counts as valid.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "render.h"
#include "tap.h"

#define SEED	0x51ee9
#define VA	0x200000000ull		/* first GPU address of the render node's BOs */

enum {
	BYTES = 1 << 20, SVM_BYTES = 4 << 20, WORKERS = 2,
	/*
	 * Render node: JOBS jobs for each ring. A job has COPIES copies of JOB_BYTES bytes on ring
	 * 1, twice as many copies on ring 0.
	 */
	JOBS = 24, COPIES = 32, JOB_BYTES = 256 << 10,
	/* Half of the SVM memory, in bytes and in pages. */
	HALF = SVM_BYTES / 2, HALF_PAGES = HALF / (int)VG_PAGE,
};

static bool can(const char *path, const char *word)
{
	char line[128] = "";
	FILE *f = fopen(path, "re");
	bool found;

	if (!f)
		return false;
	found = fgets(line, sizeof(line), f) && strstr(line, word);
	fclose(f);
	return found;
}

/* After this call, a wakeup event aborts the next suspend (EBUSY). Return 0 or -errno. */
static int watch_wakeups(void)
{
	char count[32];
	int r;

	tap_read("/sys/power/wakeup_count", count, sizeof(count));
	r = vg_put("/sys/power/wakeup_count", count);
	/*
	 * The write fails with EINVAL if a wakeup event has come after wakeup_count was
	 * read.
	 */
	return r == -EINVAL ? -EBUSY : r;
}

/*
 * Set a timer. Its expiry is a wakeup event, so it also aborts a suspend that has not
 * completed.
 */
static int set_alarm(unsigned int seconds, int *fd, int *epoll)
{
	struct itimerspec alarm = { .it_value.tv_sec = seconds };
	struct epoll_event event = { .events = EPOLLIN | EPOLLWAKEUP };

	*fd = timerfd_create(CLOCK_BOOTTIME_ALARM, TFD_CLOEXEC);
	*epoll = epoll_create1(EPOLL_CLOEXEC);
	if (*fd < 0 || *epoll < 0 ||
	    epoll_ctl(*epoll, EPOLL_CTL_ADD, *fd, &event) ||
	    timerfd_settime(*fd, 0, &alarm, NULL))
		return vg_fail(-errno, "no alarm");
	return 0;
}

/*
 * Suspend once, until the alarm. If the alarm expires before the suspend has completed,
 * the suspend is aborted, and the next attempt allows more time.
 */
static int sleep_once(const char *state)
{
	static unsigned int seconds = 3;
	int r = -EBUSY;

	while (r == -EBUSY && seconds < 120) {
		int fd, epoll;

		r = watch_wakeups();
		if (!r)
			r = set_alarm(seconds, &fd, &epoll);
		if (!r) {
			r = vg_put("/sys/power/state", state);
			close(epoll);
			close(fd);
		}
		if (r == -EBUSY)
			seconds *= 2;
	}
	return r;
}

/*
 * Byte offset of the word that the compute queue waits for. The word is in the page that
 * holds the queue's read and write pointers.
 */
#define FLAG 0x800

static struct vg vg;
static struct vg_gpu *gpu;

/*
 * Jobs of the render node. Ring 0 copies src to vram, and vram to the first half of out.
 * Ring 1 copies src to the second half of out, within GTT.
 */
struct jobs {
	int fd;
	uint32_t ctx;
	struct vr_bo src, vram, out;
	struct vr_ib ib[2];
	uint64_t seq[2];
};

struct memory {
	struct vg_bo vram, gtt, out;
	struct vg_queue q;
	struct vg_bo save;
	struct vg_cq cq;
	char *svm;
	struct jobs jobs;
};

static void make_jobs(struct jobs *j)
{
	int i;

	j->fd = vr_open(gpu);
	CHECK(j->fd >= 0, "render node: %s", strerror(-j->fd));
	ERRNO(0, vr_ctx_alloc(j->fd, 0, &j->ctx));
	ERRNO(0, vr_bo_create(j->fd, JOB_BYTES, AMDGPU_GEM_DOMAIN_GTT, 0, VA,
			      &j->src));
	ERRNO(0, vr_bo_create(j->fd, JOB_BYTES, AMDGPU_GEM_DOMAIN_VRAM,
			      AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED,
			      VA + BYTES, &j->vram));
	ERRNO(0, vr_bo_create(j->fd, 2 * JOB_BYTES, AMDGPU_GEM_DOMAIN_GTT, 0,
			      VA + 2 * BYTES, &j->out));
	for (i = 0; i < 2; i++)
		ERRNO(0, vr_ib_create(j->fd, VG_PAGE,
				      VA + (uint64_t)(3 + i) * BYTES,
				      &j->ib[i]));
	for (i = 0; i < COPIES; i++) {
		vr_ib_copy(&j->ib[0], j->vram.va, j->src.va, JOB_BYTES);
		vr_ib_copy(&j->ib[0], j->out.va, j->vram.va, JOB_BYTES);
		vr_ib_copy(&j->ib[1], j->out.va + JOB_BYTES, j->src.va,
			   JOB_BYTES);
	}
}

/*
 * Submit @jobs jobs to each ring. Before a suspend, one_round() passes JOBS as @jobs. JOBS is so
 * large that some jobs are still pending when the suspend freezes the processes.
 */
static void submit_jobs(struct jobs *j, int jobs, int round)
{
	uint32_t ring;
	int i;

	vg_pattern_fill(j->src.cpu, JOB_BYTES, SEED, round);
	memset(j->out.cpu, 0, 2 * JOB_BYTES);
	for (i = 0; i < jobs; i++)
		for (ring = 0; ring < 2; ring++) {
			/*
			 * List all BOs that the job uses, because the driver can evict a
			 * BO that no job lists. Ring 1 does not use vram.
			 */
			const uint32_t handles[] = {
				j->ib[ring].bo.handle, j->src.handle,
				j->out.handle, j->vram.handle,
			};

			ERRNO(0, vr_submit(j->fd, j->ctx, ring, &j->ib[ring],
					   handles, ring ? 3 : 4,
					   &j->seq[ring]));
		}
}

static void check_jobs(struct jobs *j, int round)
{
	uint32_t ring;

	for (ring = 0; ring < 2; ring++)
		ERRNO(0, vr_wait(j->fd, j->ctx, ring, j->seq[ring],
				 VG_TIMEOUT_MS * 1000000ull));
	OK(vg_pattern_check(j->vram.cpu, JOB_BYTES, SEED, round));
	OK(vg_pattern_check(j->out.cpu, JOB_BYTES, SEED, round));
	OK(vg_pattern_check((char *)j->out.cpu + JOB_BYTES, JOB_BYTES, SEED,
			    round));
}

static void make(struct memory *m, int xnack)
{
	tap_open(&vg, xnack);
	gpu = &vg.gpu[0];
	OK(vg_queue_create(&vg, gpu, 4096, &m->q));
	OK(vg_save_area(&vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_GTT, &m->save));
	OK(vg_cq_create(&vg, gpu, &m->save, 4096, false, &m->cq));
	OK(vg_bo_create(&vg, gpu, BYTES, VG_VRAM, &m->vram));
	OK(vg_bo_create(&vg, gpu, BYTES, VG_GTT, &m->gtt));
	OK(vg_bo_create(&vg, gpu, BYTES, VG_GTT, &m->out));
	vg_pattern_fill(m->gtt.cpu, BYTES, SEED, 0);
	m->svm = vg_map_anon(SVM_BYTES);
	CHECK(m->svm, "%s", vg_error());
	vg_pattern_fill(m->svm, SVM_BYTES, SEED, 1);
	/* Without retry faults the GPU can access only memory that is mapped for it. */
	OK(vg_svm_set1(&vg, m->svm, SVM_BYTES, KFD_IOCTL_SVM_ATTR_ACCESS,
		       gpu->gpu_id));
	make_jobs(&m->jobs);
}

static void check(struct memory *m, int round)
{
	OK(vg_pattern_check(m->gtt.cpu, BYTES, SEED, 0));
	OK(vg_pattern_check(m->vram.cpu, BYTES, SEED, round));
	memset(m->out.cpu, 0, BYTES);
	OK(vg_copy(&m->q, m->out.cpu, m->vram.cpu, BYTES));
	OK(vg_pattern_check(m->out.cpu, BYTES, SEED, round));
	OK(vg_copy(&m->q, m->out.cpu, m->svm, BYTES));
	OK(vg_pattern_check(m->out.cpu, BYTES, SEED, 1));
	OK(vg_pattern_check(m->svm, SVM_BYTES, SEED, 1));
}

/*
 * Start work, call @fall_asleep(@state), and check the results. Return 0, or the error
 * of @fall_asleep.
 */
static int one_round(struct memory *m, int round,
		     int (*fall_asleep)(const char *), const char *state)
{
	volatile uint32_t *flag = (void *)((char *)m->cq.ptrs.cpu + FLAG);
	uint32_t seq;
	int k, r;

	vg_pattern_fill(m->vram.cpu, BYTES, SEED, round);
	OK(vg_svm_prefetch(&vg, m->svm, SVM_BYTES, gpu->gpu_id));
	CHECK(vg_pages_in_vram(m->svm, SVM_BYTES) > 0, "SVM is not in VRAM");
	/* These copies are still in progress when the suspend preempts the queue. */
	for (k = 0; k < 32; k++)
		OK(vg_emit_copy(&m->q, m->out.va, m->gtt.va, BYTES));
	OK(vg_emit_fence(&m->q, &seq));
	vg_queue_submit(&m->q);
	submit_jobs(&m->jobs, JOBS, round);
	/* The compute queue waits for *flag == 1, and must still wait after the sleep. */
	*flag = 0;
	OK(vg_pm4_wait(&m->cq, m->cq.ptrs.va + FLAG, 1));
	OK(vg_cq_emit_fence(&m->cq));
	vg_cq_submit(&m->cq);
	r = fall_asleep(state);
	ERRNO(ETIMEDOUT, vg_cq_wait(&m->cq, 0));
	*flag = 1;
	OK(vg_cq_wait(&m->cq, VG_TIMEOUT_MS));
	if (r)
		return r;
	OK(vg_wait(&m->q, seq, VG_TIMEOUT_MS));
	OK(vg_pattern_check(m->out.cpu, BYTES, SEED, 0));
	check(m, round);
	check_jobs(&m->jobs, round);
	/* Contexts and page tables must still work. */
	submit_jobs(&m->jobs, 1, -round);
	check_jobs(&m->jobs, -round);
	return 0;
}

static int stay_awake(const char *state)
{
	(void)state;
	return 0;
}

/*
 * Return the memory usage after a round without suspend. That round allocates all memory that stays
 * in use; later rounds must not use more.
 */
static struct vg_mem_info usage(struct memory *m)
{
	struct vg_mem_info info;

	OK(one_round(m, 0, stay_awake, ""));
	OK(vg_mem_info(gpu, &info));
	return info;
}

static void sleep_rounds(const char *state, int xnack)
{
	int i, rounds = tap_rounds(2, 20);
	struct memory m = { 0 };
	struct vg_mem_info before;

	make(&m, xnack);
	before = usage(&m);
	for (i = 0; i < rounds; i++) {
		OK(one_round(&m, i, sleep_once, state));
		OK(vg_mem_wait_freed(gpu, &before, VG_TIMEOUT_MS));
	}
	tap_diag("%d rounds; after each, in use: %lu KiB of VRAM, %lu of GTT",
		 rounds, before.vram_used / 1024, before.gtt_used / 1024);
	OK(vg_queue_destroy(&m.q));
	OK(vg_cq_destroy(&m.cq));
	OK(vg_bo_free(&m.save));
}

static int until_woken(const char *state)
{
	puts("sleeps");
	fflush(stdout);
	return vg_put("/sys/power/state", state);
}

/*
 * Main program for tests/avocado/test_sleep.py: for each line on stdin, enter the sleep state
 * @state ("freeze" or "disk"). The host resumes the guest.
 */
static int campaign(const char *state)
{
	struct memory m = { 0 };
	struct vg_mem_info before;
	char line[8];
	int i;

	/* Use input on the console as the wakeup event. */
	if (!strcmp(state, "freeze"))
		OK(vg_put("/sys/class/tty/ttyS0/power/wakeup", "enabled"));
	make(&m, 1);
	before = usage(&m);
	for (i = 0; fgets(line, sizeof(line), stdin); i++) {
		OK(one_round(&m, i, until_woken, state));
		OK(vg_mem_wait_freed(gpu, &before, VG_TIMEOUT_MS));
		puts("awake");
		fflush(stdout);
	}
	return 0;
}

static void need(const char *path, const char *word)
{
	if (!can(path, word))
		tap_skip("no \"%s\" in %s", word, path);
}

static void memory_xnack(void)
{
	need("/sys/power/mem_sleep", "deep");
	OK(vg_put("/sys/power/mem_sleep", "deep"));
	sleep_rounds("mem", 1);
}

static void memory_no_xnack(void)
{
	need("/sys/power/mem_sleep", "deep");
	OK(vg_put("/sys/power/mem_sleep", "deep"));
	sleep_rounds("mem", 0);
}

/*
 * Shared memory: number of rounds that each worker has completed. The workers run until they are
 * killed.
 */
static volatile int *done;

static void worker(int n)
{
	struct memory m = { 0 };
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	make(&m, !n);
	for (i = 0;; i++) {
		vg_pattern_fill(m.vram.cpu, BYTES, SEED, i);
		OK(vg_svm_prefetch(&vg, m.svm, SVM_BYTES,
				   i % 2 ? 0 : gpu->gpu_id));
		submit_jobs(&m.jobs, 2, i);
		check(&m, i);
		check_jobs(&m.jobs, i);
		done[n]++;
	}
}

static void under_load(void)
{
	int i, k, from, rounds = tap_rounds(2, 20);
	pid_t pids[WORKERS];

	need("/sys/power/mem_sleep", "deep");
	OK(vg_put("/sys/power/mem_sleep", "deep"));
	done = mmap(NULL, VG_PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fflush(stdout);
	for (k = 0; k < WORKERS; k++) {
		pids[k] = fork();
		CHECK(pids[k] >= 0, "fork: %s", strerror(errno));
		if (!pids[k])
			worker(k);
	}
	for (i = 0; i <= rounds; i++) {
		for (k = 0; k < WORKERS; k++) {
			uint64_t until = vg_deadline();

			for (from = done[k]; done[k] < from + 2;
			     vg_sleep_us(1000)) {
				CHECK(!waitpid(pids[k], NULL, WNOHANG),
				      "worker %d ended", k);
				CHECK(vg_now() < until,
				      "worker %d does nothing", k);
			}
		}
		if (i < rounds)
			OK(sleep_once("mem"));
	}
	for (k = 0; k < WORKERS; k++) {
		kill(pids[k], SIGKILL);
		waitpid(pids[k], NULL, 0);
	}
	tap_diag("%d rounds", rounds);
}

static void in_vram(const char *p, long pages)
{
	long n = vg_pages_in_vram(p, HALF);

	CHECK(n == pages, "%ld pages are in VRAM, not %ld", n, pages);
}

/*
 * A reset loses SVM pages in VRAM, then the guest sleeps. Catches: the eviction before the sleep
 * saves the current content of VRAM as if it were valid, and a later access raises no SIGBUS; the
 * sleep is refused, because lost pages stay in VRAM.
 */
static void lost_pages(void)
{
	uint64_t losses;
	char *svm, *kept;
	int at;

	need("/sys/power/mem_sleep", "deep");
	OK(vg_put("/sys/power/mem_sleep", "deep"));
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	svm = tap_anon(SVM_BYTES);
	kept = svm + HALF;
	vg_pattern_fill(svm, SVM_BYTES, SEED, 0);
	OK(vg_svm_prefetch(&vg, svm, HALF, gpu->gpu_id));
	in_vram(svm, HALF_PAGES);
	losses = tap_driver_counter(gpu, "vram_lost");
	OK(vg_gpu_reset(gpu));
	if (tap_driver_counter(gpu, "vram_lost") == losses)
		tap_skip("needs --device-opts vram-lost-on-reset=on");
	/* Pages that come to VRAM after the loss are valid. */
	OK(vg_svm_prefetch(&vg, kept, HALF, gpu->gpu_id));
	in_vram(kept, HALF_PAGES);

	OK(sleep_once("mem"));
	in_vram(svm, HALF_PAGES);
	in_vram(kept, 0);
	for (at = 0; at < HALF; at += VG_PAGE)
		ERRNO(EFAULT, tap_touch(svm + at));
	OK(vg_pattern_check(kept, HALF, SEED, HALF));
}

static const struct tap_case cases[] = {
	{ "sleep to memory, XNACK on", memory_xnack, 1 },
	{ "sleep to memory, XNACK off", memory_no_xnack, 1 },
	{ "sleep to memory under load", under_load, 1 },
	{ "SVM pages that a reset lost stay lost in a sleep", lost_pages, 1 },
};

int main(int argc, char **argv)
{
	if (argc == 2 && (!strcmp(argv[1], "freeze") || !strcmp(argv[1], "disk")))
		return campaign(argv[1]);
	return tap_main(TAP_CASES(cases), argc, argv);
}
