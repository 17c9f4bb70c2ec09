// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Use more BOs than VRAM holds, in several processes. Catches: contents are lost in a move; usage
 * counters drift; an eviction deadlocks or skips a BO; a process evicts BOs that queues of another
 * process still use.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define SEED 0xe71c7

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_mem_info base;

static void start(void)
{
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_mem_info(gpu, &base));
}

/*
 * A process whose BOs are larger than its share of VRAM. The process answers each command on pipe
 * @to by a byte on pipe @from.
 */
struct owner {
	pid_t pid;
	int to, from;
};

enum { CHUNKS = 6 };

/*
 * Run an owner process. Commands from @in:
 * - 'f': fill the BOs by engine
 * - 'e': check the BOs by engine
 * - 'c': check the BOs by CPU
 * - 'q': end
 */
static void owner_main(int index, uint64_t bytes, int in, int out)
{
	static struct vg_bo bo[CHUNKS], stage;
	struct vg_queue q;
	char command, done = 0;
	int i;

	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_bo_create(&vg, gpu, bytes, VG_GTT, &stage));
	for (i = 0; i < CHUNKS; i++)
		OK(vg_bo_alloc(&vg, gpu, bytes, VG_VRAM, &bo[i]));
	/*
	 * 'q' is needed: closing the pipe does not end this loop, because sibling processes also
	 * have the write end open.
	 */
	while (read(in, &command, 1) == 1 && command != 'q') {
		if (command == 'c') {
			for (i = 0; i < CHUNKS; i++) {
				OK(vg_bo_map_cpu(&bo[i]));
				OK(vg_pattern_check(bo[i].cpu, bytes,
						    SEED + index, i));
				OK(vg_bo_unmap_cpu(&bo[i]));
			}
		} else {
			OK(vg_queue_create(&vg, gpu, 4096, &q));
			for (i = 0; i < CHUNKS; i++) {
				OK(vg_bo_map_gpu(&bo[i]));
				if (command == 'f') {
					vg_pattern_fill(stage.cpu, bytes,
							SEED + index, i);
					OK(vg_copy(&q, (void *)bo[i].va,
						   stage.cpu, bytes));
				} else {
					OK(vg_copy(&q, stage.cpu,
						   (void *)bo[i].va, bytes));
					OK(vg_pattern_check(stage.cpu, bytes,
							    SEED + index, i));
				}
				OK(vg_bo_unmap_gpu(&bo[i]));
			}
			OK(vg_queue_destroy(&q));
		}
		if (write(out, &done, 1) != 1)
			break;
	}
	_exit(0);
}

static void owner_start(struct owner *o, int index, uint64_t bytes)
{
	int down[2], up[2];

	CHECK(!pipe(down) && !pipe(up), "pipe");
	o->pid = fork();
	CHECK(o->pid >= 0, "fork");
	if (!o->pid) {
		close(down[1]);
		close(up[0]);
		owner_main(index, bytes, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	o->to = down[1];
	o->from = up[0];
}

static void owner_ask(struct owner *o, char command)
{
	char done;

	CHECK(write(o->to, &command, 1) == 1 && read(o->from, &done, 1) == 1,
	      "a process failed at '%c'", command);
}

static void owner_end(struct owner *o)
{
	int status;

	CHECK(write(o->to, "q", 1) == 1, "write");
	close(o->to);
	close(o->from);
	CHECK(waitpid(o->pid, &status, 0) == o->pid && !status,
	      "a process ended with status 0x%x", status);
}

/*
 * Three processes, each with BOs of 60 % of VRAM, use their BOs in turn. So each process evicts BOs
 * of the others.
 */
static void overcommit(void)
{
	struct owner o[3];
	struct vg_mem_info now;
	uint64_t bytes;
	int i, round;

	start();
	bytes = base.vram_total / 10 & ~(VG_PAGE - 1);
	for (i = 0; i < 3; i++) {
		owner_start(&o[i], i, bytes);
		owner_ask(&o[i], 'f');
	}
	OK(vg_mem_info(gpu, &now));
	CHECK(now.vram_used <= now.vram_total, "%lu of %lu bytes of VRAM used",
	      now.vram_used, now.vram_total);
	CHECK(now.gtt_used >= base.gtt_used + 3 * CHUNKS * bytes -
	      now.vram_total, "only %lu bytes are in GTT", now.gtt_used);
	for (round = 0; round < 2; round++)
		for (i = 0; i < 3; i++)
			owner_ask(&o[i], round ? 'e' : 'c');
	for (i = 2; i >= 0; i--)
		owner_ask(&o[i], 'e');
	for (i = 0; i < 3; i++)
		owner_end(&o[i]);
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

/* The queue of one process must continue while the BOs of another process are moved. */
static void work_goes_on(void)
{
	struct vg_bo a = { 0 }, b = { 0 };
	struct vg_queue q = { 0 };
	struct owner o[2];
	uint64_t bytes, size;
	int i;

	start();
	bytes = base.vram_total / 10 & ~(VG_PAGE - 1);
	size = base.vram_total / 16 & ~(VG_PAGE - 1);
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	OK(vg_bo_create(&vg, gpu, size, VG_VRAM, &a));
	OK(vg_bo_create(&vg, gpu, size, VG_GTT, &b));
	for (i = 0; i < 2; i++)
		owner_start(&o[i], i, bytes);
	for (i = 0; i < 6; i++) {
		char done, command = i < 2 ? 'f' : 'e';

		CHECK(write(o[i % 2].to, &command, 1) == 1, "write");
		vg_pattern_fill(a.cpu, size, SEED + 99, i);
		OK(vg_copy(&q, b.cpu, a.cpu, size));
		OK(vg_pattern_check(b.cpu, size, SEED + 99, i));
		CHECK(read(o[i % 2].from, &done, 1) == 1,
		      "a process failed at '%c'", command);
	}
	for (i = 0; i < 2; i++)
		owner_end(&o[i]);
}

/* Kill a process while its BOs are moved. Catches: the memory of the process is not freed. */
static void killed(void)
{
	struct owner o[2];
	uint64_t bytes;
	int i, status;

	start();
	bytes = base.vram_total / 10 & ~(VG_PAGE - 1);
	for (i = 0; tap_goes_on(i, 4); i++) {
		owner_start(&o[0], 0, bytes);
		owner_ask(&o[0], 'f');
		owner_start(&o[1], 1, bytes);
		CHECK(write(o[1].to, "f", 1) == 1, "write");
		vg_sleep_us(i % 8 * 4000);
		kill(o[i % 2].pid, SIGKILL);
		waitpid(o[i % 2].pid, &status, 0);
		kill(o[!(i % 2)].pid, SIGKILL);
		waitpid(o[!(i % 2)].pid, &status, 0);
		close(o[0].to);
		close(o[0].from);
		close(o[1].to);
		close(o[1].from);
	}
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

/* Prefetch SVM memory while VRAM is nearly full of BOs. */
static void svm_under_pressure(void)
{
	const uint64_t size = 8 * VG_MIB;
	struct owner o;
	struct vg_queue q = { 0 };
	uint64_t bytes;
	char *p, *dst;
	int i;

	start();
	bytes = base.vram_total / 7 & ~(VG_PAGE - 1);
	owner_start(&o, 0, bytes);
	owner_ask(&o, 'f');
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	p = vg_map_anon(size);
	dst = vg_map_anon(size);
	CHECK(p && dst, "%s", vg_error());
	for (i = 0; i < 4; i++) {
		vg_pattern_fill(p, size, SEED + i, 0);
		/* Pages that do not fit must stay in system memory, without an error. */
		OK(vg_svm_prefetch(&vg, p, size, gpu->gpu_id));
		tap_diag("%ld of %lu pages are in VRAM",
			 vg_pages_in_vram(p, size), size / VG_PAGE);
		OK(vg_copy(&q, dst, p, size));
		OK(vg_pattern_check(dst, size, SEED + i, 0));
		owner_ask(&o, i % 2 ? 'c' : 'e');
		OK(vg_pattern_check(p, size, SEED + i, 0));
	}
	owner_end(&o);
}

/* Number of processes whose queues always have work, and number of BOs of each process */
enum { WORKERS = 4, WORKER_BOS = 3 };

#define WORK_JOBS	3000
#define WORK_PIECE	(64 * VG_KIB)

/**
 * struct work - state that all workers share
 */
struct work {
	/** @queues: number of workers that have a queue */
	/** @ready: number of workers that also have their BOs */
	uint32_t queues, ready;
	/** @enough: number of workers that have done WORK_JOBS jobs */
	/** @jobs: number of jobs that each worker has done */
	/** @longest_ns: longest job of each worker, in ns */
	uint64_t enough, jobs[WORKERS], longest_ns[WORKERS];
};

/*
 * Do job number @n. Successive jobs use the BOs in turn, and the pieces of a BO in turn. @bytes is
 * the size of a BO.
 */
static void worker_job(struct vg_queue *q, struct vg_bo *bo, uint64_t bytes,
		       void *stage, uint64_t n)
{
	uint64_t piece = n / WORKER_BOS % (bytes / WORK_PIECE);
	void *at = (char *)bo[n % WORKER_BOS].va + piece * WORK_PIECE;

	OK(vg_emit_fill(q, (uintptr_t)at, (uint32_t)n, WORK_PIECE));
	OK(vg_copy(q, stage, at, WORK_PIECE));
	OK(vg_fill_check(stage, WORK_PIECE, (uint32_t)n));
}

/* Do jobs until even the slowest of the workers has done WORK_JOBS jobs. */
static void worker_main(struct work *w, int me, uint64_t bytes)
{
	struct vg_bo bo[WORKER_BOS] = { 0 }, stage = { 0 };
	struct vg_queue q = { 0 };
	uint64_t last, now, n;

	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_bo_create(&vg, gpu, WORK_PIECE, VG_GTT, &stage));
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	/*
	 * Wait for all queues before allocating VRAM. turns() counts only evictions of processes
	 * with queues. BOs of a worker without a queue would move to GTT uncounted, and could stay
	 * there.
	 */
	tap_meet(&w->queues, WORKERS);
	for (int i = 0; i < WORKER_BOS; i++)
		OK(vg_bo_create(&vg, gpu, bytes, VG_VRAM, &bo[i]));
	tap_meet(&w->ready, WORKERS);
	last = vg_now();
	for (n = 0; __atomic_load_n(&w->enough, __ATOMIC_SEQ_CST) < WORKERS;) {
		worker_job(&q, bo, bytes, stage.cpu, ++n);
		if (n == WORK_JOBS)
			__atomic_add_fetch(&w->enough, 1, __ATOMIC_SEQ_CST);
		now = vg_now();
		if (now - last > w->longest_ns[me])
			w->longest_ns[me] = now - last;
		last = now;
	}
	w->jobs[me] = n;
	_exit(0);
}

/*
 * Four processes with queues use 1.5 times the VRAM. Catches: processes evict each other all the
 * time; a process is never restored.
 */
static void turns(void)
{
	struct work *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t all = 0, evictions, bytes;
	pid_t pid[WORKERS];
	int i;

	CHECK(w != MAP_FAILED, "mmap");
	start();
	bytes = base.vram_total / 8 & ~(WORK_PIECE - 1);
	evictions = tap_driver_counter(gpu, "process_evictions");
	for (i = 0; i < WORKERS; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0, "fork");
		if (!pid[i])
			worker_main(w, i, bytes);
	}
	tap_reap(pid, WORKERS);
	evictions = tap_driver_counter(gpu, "process_evictions") - evictions;
	for (i = 0; i < WORKERS; i++) {
		tap_diag("worker %d: %lu jobs, the longest took %lu ms", i,
			 w->jobs[i], w->longest_ns[i] / 1000000);
		all += w->jobs[i];
	}
	tap_diag("%lu jobs, %lu evictions of processes", all, evictions);
	CHECK(evictions, "no process was evicted");
	/*
	 * With the driver's time slices (kfd_timeslice.c), at least 200 jobs run between two
	 * evictions, even on a slow host. Without time slices, 20 to 25 jobs run. The limit 50 lies
	 * between these numbers.
	 */
	CHECK(all >= 50 * evictions, "%lu jobs between two evictions",
	      all / evictions);
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

/* Start a child that evicts VRAM repeatedly until it is killed. */
static pid_t start_emptying(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		tap_evict(gpu, "vram");
}

/*
 * Prefetch memory to VRAM during evictions. Catches: an eviction waits for the prefetch's BO, then
 * moves the BO although it was pinned during the wait.
 */
static void svm_into_emptied(void)
{
	enum { BYTES = 2 << 20, PIECE = 64 << 10 };
	int i, rounds = tap_rounds(4, 100);
	uint64_t before;
	pid_t pid;
	char *p;

	start();
	pid = start_emptying();
	p = vg_map_anon(BYTES);
	CHECK(p, "%s", vg_error());
	for (i = 0; i < rounds; i++) {
		uint64_t at;

		vg_pattern_fill(p, BYTES, SEED, i);
		before = tap_driver_counter(gpu, "pages_to_vram");
		/*
		 * Prefetch in small pieces: the driver pins a new BO for each piece. The more BOs,
		 * the more often an eviction waits for one of them.
		 */
		for (at = 0; at < BYTES; at += PIECE)
			OK(vg_svm_prefetch(&vg, p + at, PIECE, gpu->gpu_id));
		/*
		 * Count migrations to VRAM and not pages in VRAM, because the pages may
		 * have been evicted again.
		 */
		CHECK(tap_driver_counter(gpu, "pages_to_vram") > before,
		      "no page was migrated to VRAM");
		OK(vg_pattern_check(p, BYTES, SEED, i));
	}
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid, "waitpid");
	vg_unmap_anon(p, BYTES);
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

enum { HOLDERS = 4 };

/*
 * Body of a process that has a queue, so that the driver restores its memory after each
 * eviction.
 */
static void hold(int ready)
{
	static struct vg own;
	static struct vg_queue q;
	struct vg_bo bo;
	/*
	 * emptying_ends() evicts these BOs, and the driver restores them. There are so many BOs
	 * that the restore begins before the eviction has reached the last BO.
	 */
	int i, bos = tap_debug_kernel() ? 128 : 2048;
	char done = 0;

	tap_open(&own, 1);
	OK(vg_queue_create(&own, &own.gpu[0], 4096, &q));
	for (i = 0; i < bos; i++) {
		bo = (struct vg_bo) { 0 };
		OK(vg_bo_alloc(&own, &own.gpu[0], VG_PAGE, VG_GTT, &bo));
		OK(vg_bo_map_gpu(&bo));
	}
	CHECK(write(ready, &done, 1) == 1, "write");
	for (;;)
		pause();
}

/*
 * Evict GTT while processes with queues restore their BOs. Catches: restores keep the eviction from
 * ending; a signal does not end the eviction.
 */
static void emptying_ends(void)
{
	uint64_t until, evictions;
	int i, status, rounds = tap_rounds(4, 100), ready[2];
	pid_t pid[HOLDERS], reader;
	char done;

	start();
	CHECK(!pipe(ready), "pipe");
	fflush(stdout);
	for (i = 0; i < HOLDERS; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0, "fork");
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			hold(ready[1]);
		}
	}
	for (i = 0; i < HOLDERS; i++)
		CHECK(read(ready[0], &done, 1) == 1, "read");
	evictions = tap_driver_counter(gpu, "process_evictions");
	for (i = 0; i < rounds; i++) {
		reader = fork();
		CHECK(reader >= 0, "fork");
		if (!reader) {
			tap_evict(gpu, "gtt");
			_exit(0);
		}
		/*
		 * The child evicts GTT by reading the debugfs file. Kill every second child
		 * before its read ends.
		 */
		if (i % 2)
			kill(reader, SIGKILL);
		until = vg_deadline();
		while (!waitpid(reader, &status, WNOHANG)) {
			CHECK(vg_now() < until, "the eviction does not end");
			vg_sleep_us(1000);
		}
		CHECK(i % 2 || !status, "status 0x%x", status);
	}
	CHECK(tap_driver_counter(gpu, "process_evictions") > evictions,
	      "no process was evicted");
	for (i = 0; i < HOLDERS; i++) {
		kill(pid[i], SIGKILL);
		CHECK(waitpid(pid[i], NULL, 0) == pid[i], "waitpid");
	}
	close(ready[0]);
	close(ready[1]);
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
}

static const struct tap_case cases[] = {
	{ "three processes share VRAM that holds half of it", overcommit, 0 },
	{ "an engine at work while others are moved", work_goes_on, 0 },
	{ "processes killed while they are moved", killed, 0 },
	{ "SVM prefetch under pressure", svm_under_pressure, 0 },
	{ "processes at work take turns", turns, 0 },
	{ "SVM prefetch into VRAM that is emptied", svm_into_emptied, 0 },
	{ "GTT is emptied while processes come back", emptying_ends, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
