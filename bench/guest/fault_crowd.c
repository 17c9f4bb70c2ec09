// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part "fault-crowd" of vgpu-bench: how many faults a second are served, by the number of
 * queues, processes and GPUs.
 *
 * Each queue writes to pages of its own, one after the other. No GPU has mapped the pages, so each
 * write is a fault: a queue always has one fault in flight, until it has written all its pages. A
 * sample is a name fault-crowd-QUEUES-PROCESSES-GPUS, where QUEUES is the number of queues on each
 * GPU, in all processes together.
 *
 * In these loads, each fault needs a repair of its own. In the loads fault-crowd-near-QUEUES-1-1,
 * the queues go through memory side by side, as the waves of a kernel do: the pages of all queues
 * for the same step lie in one granule, so that one repair resolves the faults of many queues. A
 * fault is then an access that stalls, whether it is reported or waits for a slot of the retry CAM.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vgpu/pm4.h>

#include "bench.h"

#define RING_BYTES	(16 * VG_KIB)
/*
 * The distance of the pages, or of the granules of a near load. Each page or granule has a page
 * table of its own, as in single_faults().
 */
#define STRIDE		(4 * VG_MIB)
/*
 * Interval in us at which a process looks for the fences. The time is measured by the GPU clock, so
 * a longer interval makes no difference to it, and wakes the virtual CPUs less often.
 */
#define POLL_US		5000

enum {
	/*
	 * The hardware queues that a GPU has for user space: 8 on each of 5 SDMA engines, and 24
	 * compute queues. Only with more compute queues does the CP run them in time slices.
	 */
	MAX_QUEUES = 64,
	ENGINES = 5,
	SDMA_QUEUES = 40,
	MAX_PROCESSES = 8,
	MAX_GPUS = 4,
	MIN_FAULTS = 256,	/* least number of faults on a GPU in a round */
	MIN_PAGES = 16,		/* least number of pages of a queue in a round */
	/* The first round is not measured, because it allocates the upper page tables. */
	ROUNDS = SAMPLES + 1,
	NEAR_ORDER = 6,		/* log2 of the pages of a granule of a near load */
};

_Static_assert(MAX_QUEUES <= 1 << NEAR_ORDER, "a granule has a page for each queue");

/*
 * Counters of a round, summed over the GPUs: retry faults that were reported, accesses that stalled
 * and then succeeded, MSIs; batches that the driver's workers took, faults that the repair of
 * another fault has resolved.
 */
enum { FAULTS, REPLAYS, MSIS, BATCHES, COVERED, COUNTERS };

static const struct {
	const char *name;
	int (*read)(const struct vg_gpu *gpu, struct vg_counters *c);
} counters[COUNTERS] = {
	[FAULTS] = { "faults_retry", vg_device_counters },
	[REPLAYS] = { "replays", vg_device_counters },
	[MSIS] = { "msi", vg_device_counters },
	[BATCHES] = { "fault_batches", vg_driver_counters },
	[COVERED] = { "faults_covered", vg_driver_counters },
};

/**
 * struct load - what faults at the same time in a measurement
 * @queues: queues on each GPU, in all processes together
 * @processes: processes; each has the same number of queues on each GPU
 * @gpus: GPUs
 * @near: in each step, the queues write to pages of one granule
 */
struct load {
	unsigned int queues, processes, gpus;
	bool near;
};

/**
 * struct span - from the first packet of a round to the last one
 * @begin: GPU clock; the GPUs of a guest have the same clock
 * @end: GPU clock
 */
struct span {
	uint64_t begin, end;
};

/**
 * struct crowd - memory that the processes of a measurement share
 * @barrier: all processes start a round together
 * @span: of each process and round
 * @counts: by how much each counter has risen in each round
 */
struct crowd {
	pthread_barrier_t barrier;
	struct span span[MAX_PROCESSES][ROUNDS];
	uint64_t counts[ROUNDS][COUNTERS];
};

/**
 * struct queue - a queue that faults
 * @compute: use @cq, not @sdma
 */
struct queue {
	bool compute;
	struct vg_queue sdma;
	struct vg_cq cq;
};

/**
 * struct member - a process
 * @load: the measurement
 * @crowd: memory that the processes share
 * @index: number of this process, from 0
 * @vg: KFD with XNACK on
 * @save: context save area on each GPU; size 0 if the process has no compute queue there
 * @n: number of elements of @q in use
 * @q: the process's queues on all GPUs
 * @memory: the pages of all queues and rounds
 */
struct member {
	const struct load *load;
	struct crowd *crowd;
	unsigned int index;
	struct vg vg;
	struct vg_bo save[MAX_GPUS];
	unsigned int n;
	struct queue q[MAX_QUEUES * MAX_GPUS];
	char *memory;
};

/* Return the number of pages to which each queue writes in a round. */
static unsigned int pages_each(const struct load *load)
{
	unsigned int n = MIN_FAULTS / load->queues;

	return n < MIN_PAGES ? MIN_PAGES : n;
}

/* Create queue number @i of the queues on GPU number @g. */
static void open_queue(struct member *m, unsigned int g, unsigned int i)
{
	struct vg_gpu *gpu = &m->vg.gpu[g];
	struct queue *q = &m->q[m->n++];

	q->compute = i >= SDMA_QUEUES;
	if (!q->compute) {
		must(vg_queue_create_on(&m->vg, gpu, RING_BYTES,
					KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID,
					i % ENGINES, &q->sdma), "SDMA queue");
		return;
	}
	/* In GTT: a save area has 61 MiB, and VRAM may be too small for those of all processes. */
	if (!m->save[g].size)
		must(vg_save_area(&m->vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_GTT,
				  &m->save[g]), "save area");
	must(vg_cq_create(&m->vg, gpu, &m->save[g], RING_BYTES, false, &q->cq),
	     "compute queue");
}

/*
 * Create the queues of this process. Each process has consecutive queues of a GPU. So only three of
 * eight processes with 64 queues have compute queues. The CP has VMIDs for four processes, and
 * would run more than four in time slices.
 */
static void open_queues(struct member *m)
{
	unsigned int each = m->load->queues / m->load->processes, g, i;

	for (g = 0; g < m->load->gpus; g++)
		for (i = 0; i < each; i++)
			open_queue(m, g, m->index * each + i);
}

/*
 * Destroy the queues and the save areas. The driver frees those of an ended process only later,
 * perhaps while the next measurement already needs the hardware queues.
 */
static void close_queues(struct member *m)
{
	unsigned int i;

	for (i = 0; i < m->n; i++) {
		must(vg_queue_destroy(&m->q[i].sdma), "SDMA queue");
		must(vg_cq_destroy(&m->q[i].cq), "compute queue");
	}
	for (i = 0; i < MAX_GPUS; i++)
		must(vg_bo_free(&m->save[i]), "free");
}

/*
 * Map the memory for all rounds. A fault maps one page (granularity 0), or one granule of a near
 * load. The memory stays in system memory. No page is used in two rounds: unmapping the pages of a
 * round would go on in the background, in the next round.
 */
static void map_memory(struct member *m)
{
	const struct kfd_ioctl_svm_attribute attrs[] = {
		{ KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0 },
		{ KFD_IOCTL_SVM_ATTR_GRANULARITY,
		  m->load->near ? NEAR_ORDER : 0 },
	};
	unsigned int columns = m->load->near ? 1 : m->n;
	uint64_t bytes = (uint64_t)ROUNDS * columns * pages_each(m->load) *
			 STRIDE;
	char *p = must_reserve(bytes + STRIDE);

	/* Granules are aligned to their size. */
	m->memory = p + (STRIDE - (uintptr_t)p % STRIDE) % STRIDE;
	must(vg_svm_set(&m->vg, m->memory, bytes, attrs, 2), "SET_ATTR");
}

/* Return the page to which queue number @i of the process writes in step @k of a round. */
static char *page_at(const struct member *m, unsigned int i,
		     unsigned int round, unsigned int k)
{
	uint64_t n = pages_each(m->load);

	if (m->load->near)
		return m->memory + (round * n + k) * STRIDE + i * VG_PAGE;
	return m->memory + (((uint64_t)round * m->n + i) * n + k) * STRIDE;
}

/*
 * Touch the pages of a round by CPU, so that the driver finds them present. In a near load, touch
 * all pages of each granule, so that the number of queues does not change the cost of a repair.
 */
static void touch_round(const struct member *m, unsigned int round)
{
	unsigned int columns = m->load->near ? 1 << NEAR_ORDER : m->n, i, k;

	for (i = 0; i < columns; i++)
		for (k = 0; k < pages_each(m->load); k++)
			*page_at(m, i, round, k) = 2;
}

/* Emit a packet that stores the GPU clock in @slot of the queue's page. */
static void emit_clock(struct queue *q, unsigned int slot)
{
	uint64_t at = q->cq.ptrs.va + VG_QUEUE_TIMES + 8 * slot;

	must(q->compute ? vg_pm4_release(&q->cq, at, 0, PM4_DATA_GPU_CLOCK,
					 PM4_INT_NONE, 0) :
			  vg_emit_timestamp(&q->sdma, slot), "fault crowd");
}

/* Emit the packets of one round to queue number @i of the process. */
static void emit_round(struct member *m, unsigned int i, unsigned int round)
{
	unsigned int k, n = pages_each(m->load);
	struct queue *q = &m->q[i];
	const uint32_t word = 1;
	uint32_t seq;

	emit_clock(q, 0);
	for (k = 0; k < n; k++) {
		uint64_t va = (uintptr_t)page_at(m, i, round, k);

		must(q->compute ? vg_pm4_write(&q->cq, va, &word, 1) :
				  vg_emit_write(&q->sdma, va, &word, 1),
		     "fault crowd");
	}
	emit_clock(q, 1);
	must(q->compute ? vg_cq_emit_fence(&q->cq) :
			  vg_emit_fence(&q->sdma, &seq), "fault crowd");
}

/* Wait until all processes of the measurement have called this function. */
static void meet(struct member *m)
{
	int r = pthread_barrier_wait(&m->crowd->barrier);

	must(r && r != PTHREAD_BARRIER_SERIAL_THREAD ?
	     vg_fail(-r, "pthread_barrier_wait") : 0, "fault crowd");
}

/* Store the sum of each counter over the GPUs of the measurement. */
static void count(const struct member *m, uint64_t sum[COUNTERS])
{
	struct vg_counters c;
	unsigned int g, k;
	bool found;

	memset(sum, 0, COUNTERS * sizeof(*sum));
	for (g = 0; g < m->load->gpus; g++)
		for (k = 0; k < COUNTERS; k++) {
			must(counters[k].read(&m->vg.gpu[g], &c), "counters");
			sum[k] += vg_counter(&c, counters[k].name, &found);
			must(found ? 0 : vg_fail(-ENOENT, "no counter %s",
						 counters[k].name), "counters");
		}
}

/* Submit the packets, wait until all queues have executed them, and store their times. */
static void run_queues(struct member *m, struct span *span)
{
	uint64_t deadline = vg_deadline();
	unsigned int i;

	for (i = 0; i < m->n; i++) {
		if (m->q[i].compute)
			vg_cq_submit(&m->q[i].cq);
		else
			vg_queue_submit(&m->q[i].sdma);
	}
	*span = (struct span){ UINT64_MAX, 0 };
	for (i = 0; i < m->n; i++) {
		const struct queue *q = &m->q[i];
		const struct vg_bo *ptrs = q->compute ? &q->cq.ptrs :
							&q->sdma.ptrs;
		volatile uint64_t *times =
			(void *)((char *)ptrs->cpu + VG_QUEUE_TIMES);

		await_fence(ptrs, q->compute ? q->cq.seq : q->sdma.seq, POLL_US,
			    deadline);
		if (times[0] < span->begin)
			span->begin = times[0];
		if (times[1] > span->end)
			span->end = times[1];
	}
}

static void run_round(struct member *m, unsigned int round)
{
	uint64_t before[COUNTERS] = { 0 }, *risen = m->crowd->counts[round];
	unsigned int i;

	touch_round(m, round);
	for (i = 0; i < m->n; i++)
		emit_round(m, i, round);
	if (!m->index)
		count(m, before);
	meet(m);
	run_queues(m, &m->crowd->span[m->index][round]);
	meet(m);
	if (m->index)
		return;
	count(m, risen);
	for (i = 0; i < COUNTERS; i++)
		risen[i] -= before[i];
}

static void member_main(const struct load *load, struct crowd *crowd,
			unsigned int index)
{
	static struct member m;
	unsigned int round;

	/* If one process fails, the others would wait for it: they end with the parent. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	m.load = load;
	m.crowd = crowd;
	m.index = index;
	must(vg_open_xnack(&m.vg), "opening KFD");
	open_queues(&m);
	map_memory(&m);
	for (round = 0; round < ROUNDS; round++)
		run_round(&m, round);
	close_queues(&m);
	_exit(0);
}

static void sample_ratio(const char *name, uint64_t n, uint64_t of, const char *unit)
{
	sample(name, VG_PAGE, (double)n / (double)of, unit);
}

static void report(const struct load *load, const struct crowd *c)
{
	uint64_t pages = (uint64_t)pages_each(load) * load->queues * load->gpus;
	unsigned int p, round;
	char name[48];

	snprintf(name, sizeof(name), "fault-crowd-%s%u-%u-%u",
		 load->near ? "near-" : "", load->queues, load->processes,
		 load->gpus);
	for (round = 1; round < ROUNDS; round++) {
		const uint64_t *n = c->counts[round];
		struct span all = c->span[0][round];
		double ns;

		for (p = 1; p < load->processes; p++) {
			const struct span *span = &c->span[p][round];

			if (span->begin < all.begin)
				all.begin = span->begin;
			if (span->end > all.end)
				all.end = span->end;
		}
		must(n[FAULTS] < (load->near ? 1 : pages) || !n[MSIS] ||
		     !n[BATCHES] || n[COVERED] >= n[FAULTS] ?
		     vg_fail(-EIO, "%lu faults, %lu MSIs, %lu batches, %lu covered for %lu pages",
			     n[FAULTS], n[MSIS], n[BATCHES], n[COVERED], pages) :
		     0, name);
		ns = (double)(all.end - all.begin) * VG_CLOCK_NS;
		/* In a near load, an access that finds its page mapped does not stall. */
		sample(name, VG_PAGE, (double)(load->near ? n[REPLAYS] : pages) / ns * 1e9,
		       "faults/s");
		sample_ratio(name, n[FAULTS], n[MSIS], "faults/msi");
		sample_ratio(name, n[FAULTS], n[BATCHES], "faults/batch");
		sample_ratio(name, n[FAULTS], n[FAULTS] - n[COVERED], "faults/repair");
	}
}

/* Map the memory that the processes share. */
static struct crowd *crowd_create(unsigned int processes)
{
	struct crowd *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attr;
	int r;

	must(c == MAP_FAILED ? vg_fail(-errno, "mmap") : 0, "fault crowd");
	r = pthread_barrierattr_init(&attr);
	r = r ? r : pthread_barrierattr_setpshared(&attr,
						   PTHREAD_PROCESS_SHARED);
	r = r ? r : pthread_barrier_init(&c->barrier, &attr, processes);
	must(r ? vg_fail(-r, "barrier") : 0, "fault crowd");
	return c;
}

static void measure(const struct load *load)
{
	struct crowd *c = crowd_create(load->processes);
	int status = 0;
	unsigned int p;
	pid_t pid;

	/* The driver frees memory of earlier processes in the background. */
	await_quiet();
	for (p = 0; p < load->processes; p++) {
		pid = fork();
		must(pid < 0 ? vg_fail(-errno, "fork") : 0, "fault crowd");
		if (!pid)
			member_main(load, c, p);
	}
	for (p = 0; p < load->processes; p++) {
		pid = waitpid(-1, &status, 0);
		must(pid < 0 || status ?
		     vg_fail(-EIO, "process %d: status 0x%x", pid, status) : 0,
		     "fault crowd");
	}
	report(load, c);
	munmap(c, sizeof(*c));
}

static int number_of_gpus(void)
{
	static struct vg vg;
	int n;

	must(vg_open_bare(&vg), "opening KFD");
	n = vg.n_gpus;
	vg_close(&vg);
	return n;
}

void bench_fault_crowd(void)
{
	static const unsigned int gpus[] = { 1, 2, 4 };
	static const unsigned int processes[] = { 1, 8 };
	static const unsigned int queues[] = { 1, 4, 16, 64 };
	unsigned int present = (unsigned int)number_of_gpus(), g, p, q;

	for (g = 0; g < sizeof(gpus) / sizeof(*gpus); g++)
		for (p = 0; p < sizeof(processes) / sizeof(*processes); p++)
			for (q = 0; q < sizeof(queues) / sizeof(*queues); q++) {
				const struct load load = {
					queues[q], processes[p], gpus[g], false,
				};

				if (gpus[g] <= present &&
				    queues[q] >= processes[p])
					measure(&load);
			}
	for (q = 0; q < sizeof(queues) / sizeof(*queues); q++) {
		const struct load load = { queues[q], 1, 1, true };

		measure(&load);
	}
}
