// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Faults that the driver serves late: when the memory that they are about has been
 * taken away, and the engine no longer accesses it. Catches: a retry fault that is
 * older than the munmap() or mprotect() of its page and is denied all the same, as
 * svm_range_invalidate() did not note the time (svm_fault_checkpoint()); that
 * stops all queues of a process which has done nothing wrong.
 *
 * Another process, the keeper, keeps the driver's fault worker busy for as long as
 * it takes: one of its threads is in mprotect() of pages that a job uses, with the
 * keeper's mmap_lock held for writing, and the worker waits for that lock to serve
 * a fault of the keeper's own queue.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hold.h"

#define SEED	0x57a1e
#define BYTES	(2 * VG_PAGE)

static struct vg vg;
static struct vg_gpu *gpu;
static int to_keeper[2], to_test[2];

/* What a way of taking memory away does, and how it comes back. */
struct way {
	const char *name;
	void (*take)(char *p);
	void (*give_back)(char *p);
};

static void unmap(char *p)
{
	CHECK(!munmap(p, BYTES), "munmap: %s", strerror(errno));
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

/* Until @n more faults than @before have reached the driver. */
static void await_faults(uint64_t before, uint64_t n)
{
	uint64_t end = vg_deadline();

	while (tap_driver_counter(gpu, "faults_retry") < before + n) {
		CHECK(vg_now() < end, "no fault");
		vg_sleep_us(1000);
	}
}

static volatile int mprotect_tid;

static void *mprotect_used(void *user)
{
	mprotect_tid = gettid();
	CHECK(!mprotect(user, VG_PAGE, PROT_READ), "mprotect: %s",
	      strerror(errno));
	return NULL;
}

/*
 * The worker waits for this process from its first step on. Nothing here may need
 * mmap_lock meanwhile: no allocation, no doorbell that was not rung before.
 */
static void keeper(void)
{
	const int fds[2] = { to_keeper[0], to_test[1] };
	struct vg_bo dst = { 0 };
	struct hold hold = { 0 };
	struct vg_queue q;
	pthread_t thread;
	char *src, *used;
	uint32_t seq;

	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &dst));
	src = tap_anon(VG_PAGE);
	used = tap_anon(VG_PAGE);
	vg_pattern_fill(src, VG_PAGE, SEED, 1);
	vg_pattern_fill(used, VG_PAGE, SEED, 2);
	OK(vg_queue_finish(&q, VG_TIMEOUT_MS));
	OK(vg_emit_copy(&q, dst.va, (uintptr_t)src, VG_PAGE));
	OK(vg_emit_fence(&q, &seq));
	tap_await(fds);

	hold_engines(&hold, gpu, used, VG_PAGE);
	CHECK(!pthread_create(&thread, NULL, mprotect_used, used), "thread");
	while (!mprotect_tid)
		sched_yield();
	hold_await_sleep(mprotect_tid);
	vg_queue_submit(&q);

	tap_await(fds);
	hold_let_go(&hold);
	CHECK(!pthread_join(thread, NULL), "join");
	OK(vg_wait(&q, seq, VG_TIMEOUT_MS));
	OK(vg_pattern_check(dst.cpu, VG_PAGE, SEED, 1));
	OK(vg_pattern_check(used, VG_PAGE, SEED, 2));
	tap_step(fds);
}

static void start_keeper(void)
{
	pid_t pid;

	CHECK(!pipe(to_keeper) && !pipe(to_test), "pipe: %s", strerror(errno));
	pid = fork();
	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		close(to_keeper[1]);
		close(to_test[0]);
		keeper();
		_exit(0);
	}
	close(to_keeper[0]);
	close(to_test[1]);
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

/* The queue's fault comes after all others; none may have been denied before. */
static void served(struct vg_queue *q, uint32_t seq, uint64_t denied)
{
	uint64_t end = vg_deadline();

	while (vg_queue_fence_value(q) != seq) {
		CHECK(tap_driver_counter(gpu, "faults_unrepaired") == denied,
		      "a fault from before the memory went was denied");
		CHECK(vg_now() < end, "the other queue's copy is not done");
		vg_sleep_us(1000);
	}
	CHECK(tap_driver_counter(gpu, "faults_unrepaired") == denied,
	      "a fault from before the memory went was denied");
}

static void stale(const struct way *way)
{
	const int fds[2] = { to_test[0], to_keeper[1] };
	struct vg_queue late = { 0 }, other = { 0 };
	uint64_t faults, acks, denied;
	struct vg_bo dst[2] = { };
	uint32_t seq[2];
	char *p, *p2;

	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_queue_create(&vg, gpu, 4096, &late));
	OK(vg_queue_create(&vg, gpu, 4096, &other));
	OK(vg_bo_create(&vg, gpu, BYTES, VG_GTT, &dst[0]));
	OK(vg_bo_create(&vg, gpu, BYTES, VG_GTT, &dst[1]));
	p = tap_anon(BYTES);
	p2 = tap_anon(BYTES);
	vg_pattern_fill(p, BYTES, SEED, 3);
	vg_pattern_fill(p2, BYTES, SEED, 4);
	/* A range that listens to what becomes of the memory. */
	OK(vg_svm_set1(&vg, p, BYTES, KFD_IOCTL_SVM_ATTR_GRANULARITY, 0));
	OK(vg_emit_copy(&late, dst[0].va, (uintptr_t)p, BYTES));
	OK(vg_emit_fence(&late, &seq[0]));
	OK(vg_emit_copy(&other, dst[1].va, (uintptr_t)p2, BYTES));
	OK(vg_emit_fence(&other, &seq[1]));
	denied = tap_driver_counter(gpu, "faults_unrepaired");
	acks = tap_driver_counter(gpu, "cam_acks");

	faults = tap_driver_counter(gpu, "faults_retry");
	tap_step(fds);
	await_faults(faults, 1);
	vg_queue_submit(&late);
	await_faults(faults, 2);
	run_queue(&late, false);
	way->take(p);
	vg_queue_submit(&other);
	await_faults(faults, 3);
	CHECK(tap_driver_counter(gpu, "cam_acks") == acks,
	      "%s: a fault was served, though the worker was to wait",
	      way->name);
	tap_step(fds);

	served(&other, seq[1], denied);
	OK(vg_pattern_check(dst[1].cpu, BYTES, SEED, 4));
	OK(vg_fill_check(dst[0].cpu, BYTES, 0));
	way->give_back(p);
	vg_pattern_fill(p, BYTES, SEED, 5);
	run_queue(&late, true);
	OK(vg_wait(&late, seq[0], VG_TIMEOUT_MS));
	OK(vg_pattern_check(dst[0].cpu, BYTES, SEED, 5));
	tap_await(fds);
}

static void after_munmap(void)
{
	static const struct way way = { "munmap", unmap, map_again };

	start_keeper();
	stale(&way);
}

static void after_mprotect(void)
{
	static const struct way way = { "mprotect", protect, unprotect };

	start_keeper();
	stale(&way);
}

static const struct tap_case cases[] = {
	{ "a fault is not held against its process after munmap", after_munmap, 1 },
	{ "nor after mprotect", after_mprotect, 1 },
};

int main(int argc, char **argv)
{
	return hold_main(TAP_CASES(cases), argc, argv);
}
