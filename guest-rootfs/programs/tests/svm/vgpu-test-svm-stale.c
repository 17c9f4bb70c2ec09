// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The driver serves a retry fault late, after memory was unmapped or protected. Catches: the driver
 * denies the fault instead of dropping it as stale.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hold.h"
#include "slow-file.h"

#define SEED	0x57a1e
#define BYTES	(2 * VG_PAGE)
#define STACK	(4 * VG_PAGE)

static struct vg vg;
static struct vg_gpu *gpu;
static struct slow_file file;
static int to_server[2], to_test[2];
/* Number of denied faults when the case started. */
static uint64_t denied;

/*
 * A queue that executes a copy and then a fence. @dst is the copy's destination. @seq is the
 * fence's value.
 */
struct job {
	struct vg_queue q;
	struct vg_bo dst;
	uint32_t seq;
};

static struct job stalled, late, other;

/* An operation that changes the memory, and an operation that restores it. */
struct way {
	const char *name;
	void (*take)(char *p);
	void (*give_back)(char *p);
};

static void unmap(char *p)
{
	CHECK(!munmap(p, BYTES), "munmap: %s", strerror(errno));
}

static void unmap_from_before(char *p)
{
	CHECK(!munmap(p - VG_PAGE, VG_PAGE + BYTES), "munmap: %s",
	      strerror(errno));
}

static void map_again(char *p)
{
	void *q = mmap(p, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		       MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(q == p, "mmap: %s", strerror(errno));
}

static void protect(char *p)
{
	CHECK(!mprotect(p, BYTES, PROT_NONE), "mprotect: %s", strerror(errno));
}

static void unprotect(char *p)
{
	CHECK(!mprotect(p, BYTES, PROT_READ | PROT_WRITE), "mprotect: %s",
	      strerror(errno));
}

/* Check that the driver has denied no fault since the case started. */
static void check_none_denied(void)
{
	CHECK(tap_driver_counter(gpu, "faults_unrepaired") == denied,
	      "a fault older than the change was denied");
}

/* Wait until @n more faults than @before have reached the driver. None may be denied. */
static void await_faults(uint64_t before, uint64_t n)
{
	uint64_t end = vg_deadline();

	while (tap_driver_counter(gpu, "faults_retry") < before + n) {
		check_none_denied();
		CHECK(vg_now() < end, "no fault");
		vg_sleep_us(1000);
	}
}

/* A thread that changes the memory when it reads a byte from go[0]. */
struct taker {
	const struct way *way;
	char *p;
	int go[2];
	volatile int tid;
	pthread_t thread;
};

static void *taker_run(void *arg)
{
	struct taker *t = arg;
	char byte;

	/*
	 * Call take() for other memory, so that the kernel pages in the code of take() now.
	 * taker_go() would mistake a page-in in the second call for the wait for mmap_lock.
	 */
	t->way->take((char *)tap_anon(VG_PAGE + BYTES) + VG_PAGE);
	t->tid = gettid();
	CHECK(read(t->go[0], &byte, 1) == 1, "pipe");
	t->way->take(t->p);
	return NULL;
}

/*
 * Fault in this thread's next stack pages. A later fault might wait for mmap_lock, which the
 * driver's worker holds until tap_step().
 */
static void touch_stack(void)
{
	volatile char room[STACK];
	unsigned int i;

	for (i = 0; i < STACK; i += VG_PAGE)
		room[i] = 0;
	(void)room[0];
}

/*
 * Call before the driver's worker holds mmap_lock: the allocation of the thread's stack needs
 * mmap_lock.
 */
static void taker_start(struct taker *t)
{
	const struct sched_param param = { .sched_priority = 1 };
	pthread_attr_t attr;

	CHECK(!pipe(t->go), "pipe: %s", strerror(errno));
	pthread_attr_init(&attr);
	/*
	 * The new thread is a real-time thread: when the driver's worker releases mmap_lock, this
	 * thread gets the lock before the worker can retake it.
	 */
	CHECK(!pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED) &&
	      !pthread_attr_setschedpolicy(&attr, SCHED_FIFO) &&
	      !pthread_attr_setschedparam(&attr, &param) &&
	      !pthread_create(&t->thread, &attr, taker_run, t),
	      "no real-time thread");
	pthread_attr_destroy(&attr);
	while (!t->tid)
		sched_yield();
}

/* Let the thread call way->take(). Return when the thread waits for mmap_lock. */
static void taker_go(struct taker *t)
{
	touch_stack();
	CHECK(write(t->go[1], "", 1) == 1, "pipe");
	hold_await_sleep(t->tid);
}

static void run_queue(const struct vg_queue *q, bool on)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = q->ring.va,
		.ring_size = q->ring.size,
		.queue_id = q->id,
		.queue_percentage = on ? 100 : 0,
		.queue_priority = 7,
	};

	ERRNO(0, vg_ioctl(&vg, AMDKFD_IOC_UPDATE_QUEUE, &args));
}

/*
 * Wait until the copy on @q is done. Its fault arrived last, and the driver serves faults in order,
 * so all faults are served.
 */
static void served(struct vg_queue *q, uint32_t seq)
{
	uint64_t end = vg_deadline();

	while (vg_queue_fence_value(q) != seq) {
		check_none_denied();
		CHECK(vg_now() < end, "the other queue's copy is not done");
		vg_sleep_us(1000);
	}
	check_none_denied();
}

/*
 * Create a queue for @job, and emit two packets: a copy of @bytes bytes from @src to a new BO, then
 * a fence. The caller submits these packets later.
 */
static void prepare(struct job *job, const char *src, uint64_t bytes)
{
	OK(vg_queue_create(&vg, gpu, 4096, &job->q));
	/*
	 * The first store to the doorbell page causes a page fault, which needs mmap_lock. Cause
	 * this fault now, because later another thread may hold mmap_lock.
	 */
	vg_queue_submit(&job->q);
	OK(vg_bo_create(&vg, gpu, bytes, VG_GTT, &job->dst));
	OK(vg_emit_copy(&job->q, job->dst.va, (uintptr_t)src, bytes));
	OK(vg_emit_fence(&job->q, &job->seq));
}

/*
 * Cause faults of the jobs "stalled", "late" and "other", in this order. Change the memory at @p
 * while the fault of "late" waits.
 */
static void fault_and_take(const struct way *way, char *p)
{
	const int fds[2] = { to_test[0], to_server[1] };
	struct taker taker = { .way = way, .p = p };
	uint64_t faults = tap_driver_counter(gpu, "faults_retry");

	taker_start(&taker);
	/*
	 * The fault of "stalled" is on a FUSE file, so the driver's worker waits with mmap_lock
	 * read-locked until with_server() serves the page.
	 */
	vg_queue_submit(&stalled.q);
	await_faults(faults, 1);
	vg_queue_submit(&late.q);
	await_faults(faults, 2);
	run_queue(&late.q, false);
	vg_queue_submit(&other.q);
	await_faults(faults, 3);
	tap_await(fds);
	/*
	 * Until tap_step(), the driver's worker holds mmap_lock. So this thread must allocate no
	 * memory and access no page for the first time.
	 */
	taker_go(&taker);
	tap_step(fds);
	CHECK(!pthread_join(taker.thread, NULL), "join");
	close(taker.go[0]);
	close(taker.go[1]);
}

/* Fill @p, which job "late" copies, and other memory, which job "other" copies. */
static void prepare_late_and_other(char *p)
{
	char *p2 = tap_anon(BYTES);

	vg_pattern_fill(p, BYTES, SEED, 3);
	vg_pattern_fill(p2, BYTES, SEED, 4);
	/* Create a range, so that MMU notifiers are called for the memory. */
	OK(vg_svm_set1(&vg, p, BYTES, KFD_IOCTL_SVM_ATTR_GRANULARITY, 0));
	prepare(&late, p, BYTES);
	prepare(&other, p2, BYTES);
	denied = tap_driver_counter(gpu, "faults_unrepaired");
}

/*
 * Check that job "other" has copied its memory, and job "late" nothing. Then restore the memory at
 * @p, and let job "late" copy it.
 */
static void finish_late(const struct way *way, char *p)
{
	OK(vg_pattern_check(other.dst.cpu, BYTES, SEED, 4));
	OK(vg_fill_check(late.dst.cpu, BYTES, 0));
	way->give_back(p);
	vg_pattern_fill(p, BYTES, SEED, 5);
	run_queue(&late.q, true);
	OK(vg_wait(&late.q, late.seq, VG_TIMEOUT_MS));
	OK(vg_pattern_check(late.dst.cpu, BYTES, SEED, 5));
}

static void stale(const struct way *way)
{
	uint64_t moved;
	char *p, *slow;

	slow = slow_file_map(&file);
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	p = tap_anon(BYTES);
	prepare(&stalled, slow, VG_PAGE);
	prepare_late_and_other(p);
	moved = tap_driver_counter(gpu, "pages_to_vram");

	fault_and_take(way, p);
	served(&other.q, other.seq);
	OK(vg_wait(&stalled.q, stalled.seq, VG_TIMEOUT_MS));
	/*
	 * The driver must have dropped the fault of job "late" as stale. A repair of this fault
	 * would migrate pages to VRAM, in addition to the pages of job "other".
	 */
	CHECK(tap_driver_counter(gpu, "pages_to_vram") <= moved + BYTES / VG_PAGE,
	      "%s: the late fault was repaired", way->name);
	OK(vg_pattern_check(stalled.dst.cpu, VG_PAGE, SEED, 0));
	finish_late(way, p);
}

/* Run a case: the parent serves the file, the child uses KFD. */
static void with_server(const struct way *way)
{
	int fds[2];
	pid_t pid;

	slow_file_make(&file, VG_PAGE, SEED);
	CHECK(!pipe(to_server) && !pipe(to_test), "pipe: %s", strerror(errno));
	fds[0] = to_server[0];
	fds[1] = to_test[1];
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		close(to_server[0]);
		close(to_test[1]);
		stale(way);
		_exit(0);
	}
	close(to_server[1]);
	close(to_test[0]);
	slow_file_await_read(&file);
	/* The worker now waits in the page-in. */
	tap_step(fds);
	tap_await(fds);
	slow_file_answer(&file);
	tap_reap(&pid, 1);
}

static void after_munmap(void)
{
	static const struct way way = { "munmap", unmap, map_again };

	with_server(&way);
}

static void after_mprotect(void)
{
	static const struct way way = { "mprotect", protect, unprotect };

	with_server(&way);
}

/*
 * A fault arrives after munmap() has removed the VMA. Afterwards, svm_range_invalidate() records
 * the time in unmap_ts. Faults before this time are stale, so the driver must drop the fault.
 * Catches: the driver denies the fault.
 */
static void during_munmap(void)
{
	static const struct way way = {
		"munmap", unmap_from_before, map_again
	};
	struct taker taker = { .way = &way };
	uint64_t faults, end = vg_deadline();
	struct hold h = { 0 };
	unsigned char resident;
	char *p;

	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	p = (char *)tap_anon(VG_PAGE + BYTES) + VG_PAGE;
	prepare_late_and_other(p);
	taker.p = p;
	taker_start(&taker);
	/*
	 * Delay svm_range_invalidate() for @p. munmap() also removes the page before @p, and first
	 * calls the notifier of that page. This notifier waits until hold_let_go(), because the
	 * jobs of hold_engines() use that page.
	 */
	hold_engines(&h, gpu, p - VG_PAGE, VG_PAGE);
	faults = tap_driver_counter(gpu, "faults_retry");

	taker_go(&taker);
	/* mincore() fails when munmap() has removed the VMA. */
	while (!mincore(p, VG_PAGE, &resident))
		CHECK(vg_now() < end, "munmap does not begin");
	/* From here to hold_let_go(), this thread must not need mmap_lock. */
	vg_queue_submit(&late.q);
	await_faults(faults, 1);
	run_queue(&late.q, false);
	vg_queue_submit(&other.q);
	await_faults(faults, 2);
	hold_let_go(&h);
	CHECK(!pthread_join(taker.thread, NULL), "join");

	served(&other.q, other.seq);
	finish_late(&way, p);
}

static const struct tap_case cases[] = {
	{ "a fault is not held against its process after munmap", after_munmap, 1 },
	{ "nor after mprotect", after_mprotect, 1 },
	{ "nor during munmap", during_munmap, 1 },
};

int main(int argc, char **argv)
{
	return hold_main(TAP_CASES(cases), argc, argv);
}
