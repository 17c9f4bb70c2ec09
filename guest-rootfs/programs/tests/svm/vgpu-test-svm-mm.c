// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mappings change before, during and after GPU copies. Catches: stale mappings or page tables;
 * writes to freed pages; deadlocks of notifier, fault worker and migration.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define SEED	   0x33aa
#define SIZE	   (4 * VG_MIB)
#define STOPPED_MS 500
#define STORM	   100	/* rounds of storm() */

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_queue q;

static void start(void)
{
	tap_open(&vg, 1);
	gpu = &vg.gpu[0];
	OK(vg_queue_create(&vg, gpu, 16 * VG_KIB, &q));
}

/*
 * Return the CPU address of a new BO. Operations under test, such as mremap(), do not affect BOs,
 * so the CPU can compare bytes there.
 */
static void *bo_memory(uint64_t size)
{
	static struct vg_bo bo[4];
	static int n;

	CHECK(n < 4, "too many BOs");
	OK(vg_bo_create(&vg, gpu, size, VG_GTT, &bo[n]));
	return bo[n++].cpu;
}

/*
 * Map other memory over memory that the engine has used. The engine must read the new
 * memory.
 */
static void replaced(void)
{
	char *p, *dst;
	int i;

	start();
	p = tap_anon(SIZE);
	dst = bo_memory(SIZE);
	for (i = 0; i < 6; i++) {
		vg_pattern_fill(p, SIZE, SEED + i, 0);
		if (i % 3 == 1)
			OK(vg_svm_prefetch(&vg, p, SIZE, gpu->gpu_id));
		OK(vg_copy(&q, dst, p, SIZE));
		OK(vg_pattern_check(dst, SIZE, SEED + i, 0));
		CHECK(mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, "mmap");
		if (i % 2)
			continue;
		OK(vg_copy(&q, dst, p, SIZE));
		OK(vg_fill_check(dst, SIZE, 0));
	}
}

static void unmapped(void)
{
	char *p, *dst;

	start();
	p = tap_anon(SIZE);
	dst = bo_memory(SIZE);
	vg_pattern_fill(p, SIZE, SEED, 0);
	OK(vg_copy(&q, dst, p, SIZE));
	CHECK(!munmap(p, SIZE), "munmap");
	memset(dst, 0, SIZE);
	tap_expect_stop(&q, (uintptr_t)dst, (uintptr_t)p, SIZE);
	OK(vg_fill_check(dst, SIZE, 0));
}

/* Unmap a page in the middle: the copy must complete up to the hole and stop at the hole. */
static void hole(void)
{
	const uint64_t at = SIZE / 2 + 5 * VG_PAGE;
	char *p, *dst;

	start();
	p = tap_anon(SIZE);
	dst = bo_memory(SIZE);
	vg_pattern_fill(p, SIZE, SEED, 0);
	OK(vg_copy(&q, dst, p, SIZE));
	memset(dst, 0, SIZE);
	CHECK(!munmap(p + at, VG_PAGE), "munmap");
	tap_expect_stop(&q, (uintptr_t)dst, (uintptr_t)p, SIZE);
	OK(vg_pattern_check(dst, at, SEED, 0));
	OK(vg_fill_check(dst + at, SIZE - at, 0));
}

static void read_only(void)
{
	char *p, *src;

	start();
	p = tap_anon(SIZE);
	src = bo_memory(SIZE);
	vg_pattern_fill(src, SIZE, SEED, 0);
	OK(vg_copy(&q, p, src, SIZE));
	CHECK(!mprotect(p, SIZE, PROT_READ), "mprotect");
	/* Reads must continue. */
	OK(vg_copy(&q, src, p, SIZE));
	OK(vg_pattern_check(src, SIZE, SEED, 0));
	CHECK(!mprotect(p, SIZE, PROT_READ | PROT_WRITE), "mprotect");
	OK(vg_fill(&q, p, 0x11, SIZE));
	OK(vg_fill_check(p, SIZE, 0x11));
	CHECK(!mprotect(p, SIZE, PROT_READ), "mprotect");
	tap_expect_stop(&q, (uintptr_t)p, (uintptr_t)src, SIZE);
	OK(vg_fill_check(p, SIZE, 0x11));
}

/*
 * After fork(), parent and child share the pages copy-on-write. Catches: the GPU writes for the
 * parent, and the child's memory changes, too.
 */
static void forked(void)
{
	char *p, *src, go = 1;
	int status, fd[2];
	pid_t pid;

	start();
	p = tap_anon(SIZE);
	src = bo_memory(SIZE);
	vg_pattern_fill(src, SIZE, SEED, 0);
	OK(vg_copy(&q, p, src, SIZE));
	CHECK(!pipe(fd), "pipe");
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid) {
		close(fd[1]);
		if (read(fd[0], &go, 1) != 1)
			_exit(2);
		/* The child must have the contents that the memory had at the fork. */
		OK(vg_pattern_check(p, SIZE, SEED, 0));
		_exit(0);
	}
	OK(vg_fill(&q, p, 0x22, SIZE));
	CHECK(write(fd[1], &go, 1) == 1, "write");
	CHECK(waitpid(pid, &status, 0) == pid && !status,
	      "the child saw the parent's writes: status 0x%x", status);
	OK(vg_fill_check(p, SIZE, 0x22));
}

/* As forked(), with the pages in VRAM: the child must get its own copy. */
static void forked_in_vram(void)
{
	int status;
	pid_t pid;
	char *p;

	start();
	p = tap_anon(SIZE);
	vg_pattern_fill(p, SIZE, SEED, 0);
	OK(vg_svm_prefetch(&vg, p, SIZE, gpu->gpu_id));
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid) {
		OK(vg_pattern_check(p, SIZE, SEED, 0));
		memset(p, 0x55, SIZE);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status,
	      "the child ended with status 0x%x", status);
	OK(vg_fill(&q, p, 0x23, SIZE / 2));
	OK(vg_fill_check(p, SIZE / 2, 0x23));
	OK(vg_pattern_check(p + SIZE / 2, SIZE / 2, SEED, SIZE / 2));
}

/* mremap: the new address must have the data, the old address must have no memory. */
static void moved(void)
{
	char *p, *to, *dst;

	start();
	p = tap_anon(SIZE);
	to = tap_anon(SIZE);
	dst = bo_memory(SIZE);
	vg_pattern_fill(p, SIZE, SEED, 0);
	OK(vg_copy(&q, dst, p, SIZE));
	CHECK(mremap(p, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
	      "mremap: %s", strerror(errno));
	memset(dst, 0, SIZE);
	OK(vg_copy(&q, dst, to, SIZE));
	OK(vg_pattern_check(dst, SIZE, SEED, 0));
	memset(dst, 0, SIZE);
	tap_expect_stop(&q, (uintptr_t)dst, (uintptr_t)p, SIZE);
	OK(vg_fill_check(dst, SIZE, 0));
}

/* mremap of pages in VRAM: the GPU and the CPU must find the data at the new address. */
static void moved_in_vram(void)
{
	char *p, *to, *dst;

	start();
	p = tap_anon(SIZE);
	to = tap_anon(SIZE);
	dst = bo_memory(SIZE);
	vg_pattern_fill(p, SIZE, SEED, 0);
	OK(vg_svm_prefetch(&vg, p, SIZE, gpu->gpu_id));
	CHECK(mremap(p, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
	      "mremap: %s", strerror(errno));
	OK(vg_copy(&q, dst, to, SIZE));
	OK(vg_pattern_check(dst, SIZE, SEED, 0));
	OK(vg_pattern_check(to, SIZE, SEED, 0));
}

static void discarded(void)
{
	char *p, *dst;

	start();
	p = tap_anon(SIZE);
	dst = bo_memory(SIZE);
	vg_pattern_fill(p, SIZE, SEED, 0);
	OK(vg_svm_prefetch(&vg, p, SIZE / 2, gpu->gpu_id));
	OK(vg_copy(&q, dst, p, SIZE));
	OK(vg_pattern_check(dst, SIZE, SEED, 0));
	CHECK(!madvise(p, SIZE, MADV_DONTNEED), "madvise");
	OK(vg_copy(&q, dst, p, SIZE));
	OK(vg_fill_check(dst, SIZE, 0));
	OK(vg_fill(&q, p, 6, SIZE));
	OK(vg_fill_check(p, SIZE, 6));
}

/*
 * Let the GPU write clean pages at @p (in VRAM if @vram). Catches: reclaim loses these writes,
 * because the pages were not marked dirty.
 */
static void written_clean(char *p, bool vram)
{
	char *src = bo_memory(SIZE);

	vg_pattern_fill(src, SIZE, SEED + 1, 0);
	if (vram)
		OK(vg_svm_prefetch(&vg, p, SIZE, gpu->gpu_id));
	OK(vg_copy(&q, p, src, SIZE));
	if (vram)
		OK(vg_svm_prefetch(&vg, p, SIZE, 0));
	CHECK(!madvise(p, SIZE, MADV_PAGEOUT), "MADV_PAGEOUT");
	OK(vg_pattern_check(p, SIZE, SEED + 1, 0));
}

static char *freed_memory(void)
{
	char *p = tap_anon(SIZE);

	vg_pattern_fill(p, SIZE, SEED, 0);
	CHECK(!madvise(p, SIZE, MADV_FREE), "MADV_FREE");
	return p;
}

static void freed(void)
{
	start();
	written_clean(freed_memory(), false);
}

static void freed_in_vram(void)
{
	start();
	written_clean(freed_memory(), true);
}

static void shared_clean(void)
{
	char *p;

	start();
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		 -1, 0);
	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	OK(vg_fill_check(p, SIZE, 0));
	written_clean(p, false);
}

/* Map a huge page for the GPU. Then split the huge page by mprotect() of a part of it. */
static void huge(void)
{
	char *p, *aligned, *dst;

	start();
	p = tap_anon(SIZE + 2 * VG_MIB);
	aligned = (char *)(((uintptr_t)p + 2 * VG_MIB - 1) &
			   ~(2 * VG_MIB - 1));
	dst = bo_memory(SIZE);
	madvise(aligned, SIZE, MADV_HUGEPAGE);
	vg_pattern_fill(aligned, SIZE, SEED, 0);
	OK(vg_copy(&q, dst, aligned, SIZE));
	OK(vg_pattern_check(dst, SIZE, SEED, 0));
	CHECK(!mprotect(aligned + VG_MIB, VG_PAGE, PROT_READ), "mprotect");
	memset(dst, 0, SIZE);
	OK(vg_copy(&q, dst, aligned, SIZE));
	OK(vg_pattern_check(dst, SIZE, SEED, 0));
	OK(vg_fill(&q, aligned, 8, VG_MIB));
	OK(vg_fill_check(aligned, VG_MIB, 8));
	OK(vg_svm_prefetch(&vg, aligned + 2 * VG_MIB, SIZE - 2 * VG_MIB,
			   gpu->gpu_id));
	OK(vg_copy(&q, dst, aligned, SIZE));
	OK(vg_pattern_check(dst + VG_MIB, SIZE - VG_MIB, SEED, VG_MIB));
	OK(vg_pattern_check(aligned + VG_MIB, SIZE - VG_MIB, SEED, VG_MIB));
}

/*
 * State of a thread that repeats a copy while the main thread repeats an operation. The source's
 * bytes never change: each copy must be right.
 */
struct copier {
	pthread_t thread;
	struct vg_queue queue;
	char *src, *dst;
	atomic_bool stop;
	unsigned int copies;
	int result;
	char text[256];
};

static void *copy_loop(void *arg)
{
	struct copier *c = arg;

	while (!c->stop && !c->result) {
		memset(c->dst, 0, SIZE);
		c->result = vg_copy(&c->queue, c->dst, c->src, SIZE) ?:
			    vg_pattern_check(c->dst, SIZE, SEED, 0);
		c->copies++;
	}
	if (c->result)
		strncpy(c->text, vg_error(), sizeof(c->text) - 1);
	return NULL;
}

static void copier_start(struct copier *c, char *src, char *dst)
{
	memset(c, 0, sizeof(*c));
	c->src = src;
	c->dst = dst;
	OK(vg_queue_create(&vg, gpu, 4096, &c->queue));
	CHECK(!pthread_create(&c->thread, NULL, copy_loop, c), "pthread");
}

static void copier_end(struct copier *c)
{
	c->stop = true;
	pthread_join(c->thread, NULL);
	CHECK(!c->result, "copy %u: %s", c->copies, c->text);
	CHECK(c->copies, "not one copy was made");
	tap_diag("%u copies", c->copies);
}

/*
 * Call @disturb on the source while a thread copies the source. Make STORM rounds, and more until 3
 * copies are complete.
 */
static void storm(void (*disturb)(char *p, unsigned int *rnd), bool bo_dst)
{
	unsigned int rnd = 11;
	int i;
	struct copier c;
	char *src;

	start();
	src = tap_anon(SIZE);
	vg_pattern_fill(src, SIZE, SEED, 0);
	copier_start(&c, src, bo_dst ? bo_memory(SIZE) : tap_anon(SIZE));
	/* A failed copy ends the loop. Then copier_end() fails the case. */
	for (i = 0; (tap_goes_on(i, STORM) || c.copies < 3) && !c.result; i++)
		disturb(src, &rnd);
	copier_end(&c);
}

static char *some_pages(char *p, unsigned int *rnd, uint64_t *size)
{
	*size = (1 + rand_r(rnd) % 64) * VG_PAGE;
	return p + rand_r(rnd) % (SIZE / VG_PAGE - 64) * VG_PAGE;
}

static void do_mprotect(char *p, unsigned int *rnd)
{
	uint64_t size;
	char *at = some_pages(p, rnd, &size);

	CHECK(!mprotect(at, size, PROT_READ), "mprotect");
	CHECK(!mprotect(at, size, PROT_READ | PROT_WRITE), "mprotect");
	vg_sleep_us(300);
}

static void storm_mprotect(void)
{
	storm(do_mprotect, false);
}

static void do_fork(char *p, unsigned int *rnd)
{
	int status;
	pid_t pid = fork();

	(void)rnd;
	CHECK(pid >= 0, "fork");
	if (!pid) {
		p[VG_PAGE] ^= 1;
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status, "child");
	/*
	 * The fork write-protects the parent's pages (copy-on-write). Write to one page: the
	 * kernel makes this page writable again, or replaces it by a writable copy.
	 */
	((volatile char *)p)[2 * VG_PAGE] = p[2 * VG_PAGE];
}

static void storm_fork(void)
{
	storm(do_fork, true);
}

static void do_migrate(char *p, unsigned int *rnd)
{
	uint64_t size;
	char *at = some_pages(p, rnd, &size);

	OK(vg_svm_prefetch(&vg, at, size,
			   rand_r(rnd) % 4 ? gpu->gpu_id : 0));
	at = some_pages(p, rnd, &size);
	OK(vg_pattern_check(at, size, SEED, at - p));
}

static void storm_migrate(void)
{
	storm(do_migrate, true);
}

/*
 * Unmap other memory near the source of the copies (see storm()). The GPU has accessed this memory,
 * so the driver must clear GPU mappings close to those of the source.
 */
static void do_neighbours(char *p, unsigned int *rnd)
{
	uint64_t size = (1 + rand_r(rnd) % 256) * VG_PAGE;
	/*
	 * Another thread copies from @p. The kernel usually maps @near close to @p. The unmap below
	 * then clears GPU mappings close to those of @p.
	 */
	char *near = tap_anon(size);

	(void)p;
	memset(near, 1, size);
	OK(vg_copy(&q, near, near + size / 2, size / 4));
	vg_unmap_anon(near, size);
}

static void storm_neighbours(void)
{
	storm(do_neighbours, false);
}

/*
 * Unmap the source during the copy. Catches: the copy writes a byte that is not from the source;
 * the queue's destruction hangs.
 */
static void vanish(void)
{
	char *src, *dst;
	uint64_t k, zeros;
	uint32_t seq;
	int i, stopped = 0;

	for (i = 0; tap_goes_on(i, 8); i++) {
		pid_t pid = fork();
		int status;

		CHECK(pid >= 0, "fork");
		if (pid) {
			CHECK(waitpid(pid, &status, 0) == pid &&
			      (status == 0 || status == 3 << 8),
			      "round %d: status 0x%x", i, status);
			stopped += status != 0;
			continue;
		}
		start();
		src = tap_anon(SIZE);
		dst = bo_memory(SIZE);
		vg_pattern_fill(src, SIZE, SEED, 0);
		OK(vg_emit_copy(&q, (uintptr_t)dst, (uintptr_t)src, SIZE));
		OK(vg_emit_fence(&q, &seq));
		vg_queue_submit(&q);
		vg_sleep_us(i % 16 * 150);
		munmap(src, SIZE);
		/* The queue must stop, unless the copy has completed. */
		bool done = !vg_wait(&q, seq, STOPPED_MS);

		OK(vg_queue_destroy(&q));
		for (k = 0; k < SIZE; k += VG_PAGE)
			if (vg_pattern_check(dst + k, VG_PAGE, SEED, k))
				break;
		zeros = k;
		OK(done ? vg_pattern_check(dst, SIZE, SEED, 0) : 0);
		/*
		 * @zeros is the offset of the first page without the complete pattern; the copy may
		 * have stopped in it. Later pages must be unchanged.
		 */
		if (zeros + VG_PAGE < SIZE)
			OK(vg_fill_check(dst + zeros + VG_PAGE,
					 SIZE - zeros - VG_PAGE, 0));
		_exit(done ? 0 : 3);
	}
	tap_diag("%d of %d copies were stopped", stopped, i);
}

/* Body of a process that changes mappings and then ends while its threads copy. */
static void exit_in_storm(void *arg)
{
	static struct copier c[3];
	unsigned int rnd = *(int *)arg;
	char *src;
	int i;

	start();
	src = tap_anon(SIZE);
	vg_pattern_fill(src, SIZE, SEED, 0);
	for (i = 0; i < 3; i++)
		copier_start(&c[i], src, tap_anon(SIZE));
	for (i = 0; i < 5; i++) {
		do_mprotect(src, &rnd);
		do_neighbours(src, &rnd);
	}
}

static void exits(void)
{
	struct vg_mem_info before;
	struct vg v;
	int i;

	OK(vg_open_bare(&v));
	OK(vg_mem_info(&v.gpu[0], &before));
	for (i = 0; tap_goes_on(i, 5); i++)
		tap_in_child(exit_in_storm, &i);
	OK(vg_mem_wait_freed(&v.gpu[0], &before, VG_TIMEOUT_MS));
}

#define TOUCHED	(4 * VG_PAGE)

static char *touched;
/* Time in us that one thread needs to migrate the pages from VRAM in touch() */
static unsigned int touch_us;
/* Number of rounds of each thread in touch_first(), and number of these threads that still run */
static int touch_rounds;
static atomic_int touch_running;

/* Give the calling thread a real-time priority. A thread with a higher number comes first. */
static void run_first(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	CHECK(!pthread_setschedparam(pthread_self(), SCHED_FIFO, &param), "priority");
}

static void to_vram(void)
{
	OK(vg_svm_prefetch(&vg, touched, TOUCHED, gpu->gpu_id));
}

/*
 * Let the kernel write the pages in read(), so that CPU faults occur in kernel mode: there, signals
 * cannot end a loop of faults.
 */
static void touch(int zero)
{
	CHECK(read(zero, touched, TOUCHED) == (ssize_t)TOUCHED, "read");
}

/*
 * Body of a thread that preempts the main thread: it has a higher priority on the same CPU. So its
 * touches can interrupt migrations by the main thread.
 */
static void *touch_first(void *arg)
{
	unsigned int seed = gettid();
	int i;

	run_first(2);
	for (i = 0; i < touch_rounds; i++) {
		to_vram();
		/* During this sleep, the main thread starts to migrate the pages. */
		vg_sleep_us(rand_r(&seed) % (2 * touch_us));
		touch(*(int *)arg);
	}
	touch_running--;
	return NULL;
}

/*
 * Threads on one CPU fault on the same pages in VRAM. Catches: while the main thread migrates the
 * pages, another thread repeats its fault without a sleep, so the main thread never runs again.
 */
static void touched_at_once(void)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), i, n = 0;
	pthread_t thread[2];
	cpu_set_t one;
	uint64_t begin;

	start();
	touched = tap_anon(TOUCHED);
	touch_rounds = tap_rounds(400, 4000);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	CHECK(!pthread_setaffinity_np(pthread_self(), sizeof(one), &one), "CPU");
	/* Measure twice and keep the second time, because the first migration takes longer. */
	for (i = 0; i < 2; i++) {
		to_vram();
		begin = vg_now();
		touch(zero);
		touch_us = (vg_now() - begin) / 1000 + 1;
	}
	/*
	 * If the main thread had normal priority, the test would miss the bug: the kernel's fair
	 * server would let the main thread run. The main thread would then complete its migration
	 * of the pages. This would end the other threads' repeated faults.
	 */
	run_first(1);
	touch_running = 2;
	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&thread[i], NULL, touch_first, &zero),
		      "thread");
	do {
		touch(zero);
		n++;
		/*
		 * Let kernel threads run on this CPU: the threads in touch_first() may wait for the
		 * work of these kernel threads.
		 */
		vg_sleep_us(touch_us / 8);
	} while (touch_running);
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(thread[i], NULL), "join");
	tap_diag("a migration takes %u us; the main thread touched the pages %d times", touch_us,
		 n);
	close(zero);
}

enum { TOUCHERS = 4 };

/* State of threads that read the same pages at the same time, once in each round. */
static struct {
	pthread_barrier_t start, end;
	char *p;
	uint64_t seed;
	bool stop;
} together;

static void *touch_together(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_barrier_wait(&together.start);
		if (together.stop)
			return NULL;
		OK(vg_pattern_check(together.p, TOUCHED, together.seed, 0));
		pthread_barrier_wait(&together.end);
	}
}

/*
 * Threads read the same pages in VRAM at the same time. Catches: page references of waiting faults
 * prevent the migration; a page has wrong contents.
 */
static void touched_together(void)
{
	pthread_t thread[TOUCHERS];
	int i;

	start();
	together.p = tap_anon(TOUCHED);
	pthread_barrier_init(&together.start, NULL, TOUCHERS + 1);
	pthread_barrier_init(&together.end, NULL, TOUCHERS + 1);
	for (i = 0; i < TOUCHERS; i++)
		CHECK(!pthread_create(&thread[i], NULL, touch_together, NULL),
		      "thread");
	for (i = 0; tap_goes_on(i, 100); i++) {
		together.seed = SEED + i;
		vg_pattern_fill(together.p, TOUCHED, together.seed, 0);
		OK(vg_svm_prefetch(&vg, together.p, TOUCHED, gpu->gpu_id));
		CHECK(vg_pages_in_vram(together.p, TOUCHED) ==
		      TOUCHED / VG_PAGE, "%ld pages are in VRAM",
		      vg_pages_in_vram(together.p, TOUCHED));
		pthread_barrier_wait(&together.start);
		pthread_barrier_wait(&together.end);
		CHECK(!vg_pages_in_vram(together.p, TOUCHED),
		      "%ld pages are in VRAM still",
		      vg_pages_in_vram(together.p, TOUCHED));
	}
	together.stop = true;
	pthread_barrier_wait(&together.start);
	for (i = 0; i < TOUCHERS; i++)
		CHECK(!pthread_join(thread[i], NULL), "join");
}

static const struct tap_case cases[] = {
	{ "other memory at the same address", replaced, 0 },
	{ "munmap, then copy: the queue stops", unmapped, 0 },
	{ "a hole in the source: copied up to it", hole, 0 },
	{ "mprotect: reads go on, writes stop", read_only, 0 },
	{ "fork: the engine writes the parent's page", forked, 0 },
	{ "fork with the pages in VRAM", forked_in_vram, 0 },
	{ "mremap: new address yes, old address no", moved, 0 },
	{ "mremap of pages in VRAM", moved_in_vram, 0 },
	{ "madvise DONTNEED", discarded, 0 },
	{ "madvise FREE, then written by the engine", freed, 0 },
	{ "madvise FREE, then written in VRAM", freed_in_vram, 0 },
	{ "shared memory, read, then written by the engine", shared_clean, 0 },
	{ "transparent huge pages", huge, 0 },
	{ "mprotect under running copies", storm_mprotect, 0 },
	{ "fork under running copies", storm_fork, 0 },
	{ "migration under running copies", storm_migrate, 0 },
	{ "neighbours mapped and unmapped under running copies",
	  storm_neighbours, 0 },
	{ "munmap under a running copy", vanish, 0 },
	{ "exit in the middle of it all", exits, 0 },
	{ "calls touch pages of VRAM at once", touched_at_once, 0 },
	{ "threads on all CPUs touch pages of VRAM", touched_together, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
