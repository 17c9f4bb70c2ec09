// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part "overcommit" of vgpu-bench: how evenly processes progress that together need three times
 * the VRAM, and more system memory than TTM's limit.
 *
 * Each process copies pieces of its BOs in rounds, and replaces a BO now and then. Most processes
 * copy by an SDMA queue, the others by CPU. All need the same amount of memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "render.h"

#define PIECE		(64 * VG_KIB)
#define RING_BYTES	(16 * VG_KIB)
#define PAGES_LIMIT	"/sys/module/ttm/parameters/pages_limit"
/* Interval in us at which processes look at shared memory while they wait. */
#define POLL_US		10000
/* Time in ns that the processes have to allocate their memory. */
#define START_NS	300000000000ull

enum {
	PROCESSES = 8,
	VRAM_BOS = 6,		/* BOs of a process that are allocated in VRAM */
	GTT_BOS = 2,
	BOS = VRAM_BOS + GTT_BOS,
	COPIES = 8,		/* copies in a round */
	RENEW = 8,		/* rounds after which a process replaces a BO */
	SECONDS = 30,		/* duration, unless an argument gives another one */
	MAX_SECONDS = 3600,
};

/**
 * struct progress - memory that the processes share
 * @ready: number of processes that have allocated their memory
 * @rounds: rounds of each process
 */
struct progress {
	uint32_t ready;
	uint64_t rounds[PROCESSES];
};

/**
 * struct member - a process
 * @vg: KFD
 * @gpu: the GPU
 * @by_cpu: copy by CPU between BOs of the render node, without a queue
 * @queue: SDMA queue, unless @by_cpu
 * @bo: BOs, unless @by_cpu
 * @gem: BOs if @by_cpu
 * @bo_bytes: size of each BO, a multiple of PIECE
 * @rnd: state of the random numbers
 */
struct member {
	struct vg vg;
	struct vg_gpu *gpu;
	bool by_cpu;
	struct vg_queue queue;
	struct vg_bo bo[BOS];
	struct vr_bo gem[BOS];
	uint64_t bo_bytes;
	uint64_t rnd;
};

static uint64_t rnd(struct member *m, uint64_t below)
{
	m->rnd ^= m->rnd << 13;
	m->rnd ^= m->rnd >> 7;
	m->rnd ^= m->rnd << 17;
	return m->rnd % below;
}

static void bo_alloc(struct member *m, unsigned int i)
{
	bool vram = i < VRAM_BOS;
	int r;

	if (m->by_cpu) {
		r = vr_bo_create(m->gpu->fd, m->bo_bytes,
				 vram ? AMDGPU_GEM_DOMAIN_VRAM :
					AMDGPU_GEM_DOMAIN_GTT, 0, 0, &m->gem[i]);
		must(r ? vg_fail(r, "GEM_CREATE") : 0, "overcommit");
	} else {
		must(vg_bo_alloc(&m->vg, m->gpu, m->bo_bytes,
				 vram ? VG_VRAM : VG_GTT, &m->bo[i]),
		     "overcommit");
		must(vg_bo_map_gpu(&m->bo[i]), "overcommit");
	}
}

static void bo_renew(struct member *m)
{
	unsigned int i = (unsigned int)rnd(m, BOS);

	if (m->by_cpu)
		vr_bo_free(&m->gem[i]);
	else
		must(vg_bo_free(&m->bo[i]), "overcommit");
	bo_alloc(m, i);
}

/* Return the address of a random piece of BO @i. */
static char *rnd_piece(struct member *m, uint64_t i)
{
	char *start = m->by_cpu ? m->gem[i].cpu : (char *)m->bo[i].va;

	return start + rnd(m, m->bo_bytes / PIECE) * PIECE;
}

/* Copy a piece of a BO to another BO. */
static void copy_piece(struct member *m)
{
	uint64_t from = rnd(m, BOS), to = (from + 1 + rnd(m, BOS - 1)) % BOS;
	char *src = rnd_piece(m, from), *dst = rnd_piece(m, to);

	if (m->by_cpu)
		memcpy(dst, src, PIECE);
	else
		must(vg_copy(&m->queue, dst, src, PIECE), "overcommit");
}

static uint32_t ready(const struct progress *p)
{
	return __atomic_load_n(&p->ready, __ATOMIC_ACQUIRE);
}

/* Run process number @index until the parent kills it. */
static void member_main(struct progress *p, unsigned int index, uint64_t bo_bytes)
{
	static struct member m;
	unsigned int i, round;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	m.by_cpu = index % 4 == 3;
	m.bo_bytes = bo_bytes;
	m.rnd = 0x9e3779b97f4a7c15ull * (index + 1);
	must(vg_open(&m.vg), "opening KFD");
	m.gpu = &m.vg.gpu[0];
	if (!m.by_cpu)
		must(vg_queue_create(&m.vg, m.gpu, RING_BYTES, &m.queue),
		     "queue");
	for (i = 0; i < BOS; i++)
		bo_alloc(&m, i);
	__atomic_add_fetch(&p->ready, 1, __ATOMIC_RELEASE);
	while (ready(p) < PROCESSES)
		vg_sleep_us(POLL_US);
	for (round = 1;; round++) {
		for (i = 0; i < COPIES; i++)
			copy_piece(&m);
		if (!(round % RENEW))
			bo_renew(&m);
		__atomic_add_fetch(&p->rounds[index], 1, __ATOMIC_RELAXED);
	}
}

static uint64_t pages_limit_get(void)
{
	uint64_t pages = 0;
	FILE *f = fopen(PAGES_LIMIT, "re");

	must(f && fscanf(f, "%" SCNu64, &pages) == 1 ? 0 :
	     vg_fail(f ? -EIO : -errno, PAGES_LIMIT), "overcommit");
	fclose(f);
	return pages;
}

static void pages_limit_set(uint64_t pages)
{
	int fd = open(PAGES_LIMIT, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && dprintf(fd, "%" PRIu64, pages) > 0 ? 0 :
	     vg_fail(-errno, PAGES_LIMIT), "overcommit");
	close(fd);
}

/* Return the bytes of VRAM of the first GPU. */
static uint64_t vram_bytes(void)
{
	static struct vg vg;
	struct vg_mem_info info;

	must(vg_open_bare(&vg), "opening KFD");
	must(vg_mem_info(&vg.gpu[0], &info), "mem_info");
	vg_close(&vg);
	return info.vram_total;
}

/* End the program if a process has ended. */
static void check_processes(void)
{
	int status = 0;
	pid_t pid = waitpid(-1, &status, WNOHANG);

	must(pid ? vg_fail(-EIO, "process %d: status 0x%x", pid, status) : 0,
	     "overcommit");
}

/* Wait until all processes have allocated their memory. */
static void await_ready(const struct progress *p)
{
	uint64_t deadline = vg_now() + START_NS;

	while (ready(p) < PROCESSES) {
		check_processes();
		must(vg_now() > deadline ?
		     vg_fail(-ETIMEDOUT, "%u of %d processes are ready",
			     ready(p), PROCESSES) : 0, "overcommit");
		vg_sleep_us(POLL_US);
	}
}

/* Let the processes run for @seconds. Return the duration in ns. */
static uint64_t run(unsigned long seconds)
{
	uint64_t start = vg_now();

	while (vg_now() - start < seconds * 1000000000ull) {
		check_processes();
		vg_sleep_us(POLL_US);
	}
	return vg_now() - start;
}

static void report(const uint64_t *rounds, uint64_t ns)
{
	double each, all = 0, slowest = 0;
	unsigned int i;

	for (i = 0; i < PROCESSES; i++) {
		each = (double)rounds[i] / (double)ns * 1e9;
		all += each;
		if (!i || each < slowest)
			slowest = each;
		sample(i % 4 == 3 ? "overcommit-cpu" : "overcommit-queue", 0,
		       each, "rounds/s");
	}
	sample("overcommit-slowest", 0, slowest, "rounds/s");
	sample("overcommit-mean", 0, all / PROCESSES, "rounds/s");
}

/* Measure for @seconds. */
static void measure(unsigned long seconds)
{
	struct progress *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t vram = vram_bytes(), limit = pages_limit_get(), bo_bytes, ns;
	uint64_t rounds[PROCESSES];
	pid_t pid[PROCESSES];
	unsigned int i;

	must(p == MAP_FAILED ? vg_fail(-errno, "mmap") : 0, "overcommit");
	bo_bytes = 3 * vram / PROCESSES / VRAM_BOS & ~(PIECE - 1);
	/* A quarter of the memory that does not fit into VRAM has to be swapped out. */
	pages_limit_set((PROCESSES * BOS * bo_bytes - vram) / VG_PAGE * 3 / 4);
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		must(pid[i] < 0 ? vg_fail(-errno, "fork") : 0, "overcommit");
		if (!pid[i])
			member_main(p, i, bo_bytes);
	}
	await_ready(p);
	ns = run(seconds);
	memcpy(rounds, p->rounds, sizeof(rounds));
	for (i = 0; i < PROCESSES; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < PROCESSES; i++)
		waitpid(pid[i], NULL, 0);
	pages_limit_set(limit);
	report(rounds, ns);
}

int bench_overcommit(const char *seconds)
{
	unsigned long n = seconds ? strtoul(seconds, NULL, 10) : SECONDS;

	if (!n || n > MAX_SECONDS) {
		fprintf(stderr, "vgpu-bench: overcommit: want 1 to %d seconds\n",
			MAX_SECONDS);
		return 2;
	}
	measure(n);
	return 0;
}
