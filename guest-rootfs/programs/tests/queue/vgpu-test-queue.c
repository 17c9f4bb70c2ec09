// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program tests user-mode SDMA queues. Catches: doorbells or pointers of queues are mixed up;
 * a wake-up is lost; an error stops other queues; a hardware queue stays in use after its process
 * has ended.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define SEED	   0x90
#define MAX_QUEUES 16	/* queues of type SDMA: 2 engines with 8 queues each */
#define ENGINES	   5	/* 2 engines for queues of type SDMA, 3 for type SDMA_XGMI */
#define RLCS	   8	/* user queues of an engine */
#define STOPPED_MS 500	/* time in which a stopped queue must make no progress */

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_mem_info base;

static void start(int xnack)
{
	tap_open(&vg, xnack);
	gpu = &vg.gpu[0];
	OK(vg_mem_info(gpu, &base));
}

/* Use all hardware queues at once, each with its own work. */
static void use_all_queues(void)
{
	static struct vg_queue q[MAX_QUEUES + 1];
	struct vg_bo bo = { 0 };
	uint32_t seq[MAX_QUEUES];
	int i, round;

	OK(vg_bo_create(&vg, gpu, MAX_QUEUES * 64 * VG_KIB, VG_VRAM, &bo));
	for (i = 0; i < MAX_QUEUES; i++)
		OK(vg_queue_create(&vg, gpu, 4096, &q[i]));
	ERRNO(ENOMEM, vg_queue_create(&vg, gpu, 4096, &q[MAX_QUEUES]));
	for (round = 1; round <= 8; round++) {
		for (i = 0; i < MAX_QUEUES; i++) {
			OK(vg_emit_fill(&q[i], bo.va + i * 64 * VG_KIB,
					round << 8 | i, 64 * VG_KIB));
			OK(vg_emit_fence(&q[i], &seq[i]));
			vg_queue_submit(&q[i]);
		}
		for (i = MAX_QUEUES - 1; i >= 0; i--)
			OK(vg_wait(&q[i], seq[i], VG_TIMEOUT_MS));
		for (i = 0; i < MAX_QUEUES; i++)
			OK(vg_fill_check((char *)bo.cpu + i * 64 * VG_KIB,
					 64 * VG_KIB, round << 8 | i));
	}
	/*
	 * All hardware queues are in use. A new queue must get the hardware queue of a
	 * destroyed queue.
	 */
	OK(vg_queue_destroy(&q[5]));
	OK(vg_queue_create(&vg, gpu, 4096, &q[5]));
	OK(vg_fill(&q[5], bo.cpu, 55, 4096));
	for (i = 0; i < MAX_QUEUES; i++)
		OK(vg_queue_destroy(&q[i]));
	OK(vg_bo_free(&bo));
}

static void all_queues(void)
{
	start(1);
	use_all_queues();
}

/* Return the mask of the engine's hardware queues that debugfs shows as in use. */
static unsigned long queues_on(unsigned int engine)
{
	char path[64], text[2048], name[16], *line;
	unsigned long mask;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vgpu_rings",
		 gpu->minor);
	tap_read(path, text, sizeof(text));
	snprintf(name, sizeof(name), "sdma%u ", engine);
	line = strstr(text, name);
	CHECK(line, "no %sin %s", name, text);
	line = strstr(line, "queues=");
	CHECK(line && sscanf(line, "queues=%lx", &mask) == 1, "%s", text);
	return mask;
}

/*
 * SDMA_BY_ENG_ID must place a queue on the given engine. Type SDMA_XGMI must use the
 * last three engines.
 */
static void every_engine(void)
{
	static struct vg_queue q[ENGINES * RLCS], more;
	struct vg_bo bo = { 0 };
	int i, n = 0, round, type;
	uint32_t seq[ENGINES * RLCS];

	start(1);
	OK(vg_bo_create(&vg, gpu, ENGINES * RLCS * VG_PAGE, VG_VRAM, &bo));
	ERRNO(EINVAL, vg_queue_create_on(&vg, gpu, 4096,
					 KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID,
					 ENGINES, &more));
	ERRNO(EINVAL, vg_queue_create_on(&vg, gpu, 4096,
					 KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID,
					 ~0u, &more));
	for (i = 0; i < ENGINES; i++) {
		for (n = i * RLCS; n < (i + 1) * RLCS; n++)
			OK(vg_queue_create_on(&vg, gpu, 4096,
					KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID,
					(uint32_t)i, &q[n]));
		ERRNO(ENOMEM, vg_queue_create_on(&vg, gpu, 4096,
				KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID, (uint32_t)i,
				&more));
		CHECK(queues_on((unsigned int)i) == 0xff, "engine %d: %lx", i,
		      queues_on((unsigned int)i));
	}
	for (type = KFD_IOC_QUEUE_TYPE_SDMA; type <= 3; type += 2)
		ERRNO(ENOMEM, vg_queue_create_on(&vg, gpu, 4096,
						 (uint32_t)type, 0, &more));
	/* All queues must work in each round. Each round ends with a reset of the device. */
	for (round = 1; round < 4; round++) {
		for (i = 0; i < n; i++) {
			OK(vg_emit_fill(&q[i], bo.va + (uint64_t)i * VG_PAGE,
					(uint32_t)(round << 8 | i), VG_PAGE));
			OK(vg_emit_fence(&q[i], &seq[i]));
			vg_queue_submit(&q[i]);
		}
		for (i = 0; i < n; i++) {
			OK(vg_wait(&q[i], seq[i], VG_TIMEOUT_MS));
			OK(vg_fill_check((char *)bo.cpu + i * VG_PAGE, VG_PAGE,
					 (uint32_t)(round << 8 | i)));
		}
		OK(vg_gpu_reset(gpu));
	}
	/* XGMI queues must be spread over the last three engines. */
	for (i = 2 * RLCS; i < n; i++)
		OK(vg_queue_destroy(&q[i]));
	for (i = 0; i < 3; i++) {
		OK(vg_queue_create_on(&vg, gpu, 4096,
				      KFD_IOC_QUEUE_TYPE_SDMA_XGMI, 0,
				      &q[2 * RLCS + i]));
		CHECK(queues_on(2 + (unsigned int)i) == 1, "engine %d: %lx",
		      2 + i, queues_on(2 + (unsigned int)i));
	}
	for (i = 2 * RLCS + 3; i < n; i++)
		OK(vg_queue_create_on(&vg, gpu, 4096,
				      KFD_IOC_QUEUE_TYPE_SDMA_XGMI, 0, &q[i]));
	for (i = 2; i < ENGINES; i++)
		CHECK(queues_on((unsigned int)i) == 0xff, "engine %d: %lx", i,
		      queues_on((unsigned int)i));
	ERRNO(ENOMEM, vg_queue_create_on(&vg, gpu, 4096,
					 KFD_IOC_QUEUE_TYPE_SDMA_XGMI, 0,
					 &more));
	for (i = 0; i < n; i++)
		OK(vg_queue_destroy(&q[i]));
	OK(vg_bo_free(&bo));
}

/* A bad packet on any engine must stop its queue; a new queue must work. */
static void bad_on_every_engine(void)
{
	struct vg_queue q = { 0 }, good = { 0 };
	struct vg_bo bo = { 0 };
	uint32_t i, *p;

	start(1);
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_VRAM, &bo));
	for (i = 0; i < ENGINES; i++) {
		OK(vg_queue_create_on(&vg, gpu, 4096,
				      KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID, i,
				      &q));
		OK(vg_queue_create_on(&vg, gpu, 4096,
				      KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID, i,
				      &good));
		p = vg_queue_reserve(&q, 1);
		CHECK(p, "%s", vg_error());
		*p = 0xfe;
		ERRNO(ETIMEDOUT, vg_queue_finish(&q, STOPPED_MS));
		OK(vg_fill(&good, bo.cpu, 0x100 + i, VG_PAGE));
		OK(vg_fill_check(bo.cpu, VG_PAGE, 0x100 + i));
		OK(vg_queue_destroy(&q));
		OK(vg_queue_create_on(&vg, gpu, 4096,
				      KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID, i,
				      &q));
		OK(vg_fill(&q, bo.cpu, 0x200 + i, VG_PAGE));
		OK(vg_fill_check(bo.cpu, VG_PAGE, 0x200 + i));
		OK(vg_queue_destroy(&q));
		OK(vg_queue_destroy(&good));
	}
	OK(vg_bo_free(&bo));
}

/*
 * Submit packets to a small ring until the write pointer has wrapped 100 times. The sizes of
 * packets and batches are random.
 */
static void wraparound(void)
{
	uint32_t data[64], seq = 0, total = 0;
	struct vg_queue q = { 0 };
	struct vg_bo bo = { 0 };
	unsigned int i, k, rnd = 3;
	volatile uint32_t *p;

	start(1);
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &bo));
	p = bo.cpu;
	for (i = 0; q.wptr < 100 * 4096; i++) {
		unsigned int n = 1 + rand_r(&rnd) % 64;

		for (k = 0; k < n; k++)
			data[k] = total + k;
		OK(vg_emit_write(&q, bo.va, data, n));
		OK(vg_emit_atomic_add(&q, bo.va + 2048, n));
		total += n;
		if (rand_r(&rnd) % 4)
			continue;
		OK(vg_emit_fence(&q, &seq));
		vg_queue_submit(&q);
		if (rand_r(&rnd) % 2) {
			OK(vg_wait(&q, seq, VG_TIMEOUT_MS));
			CHECK(p[512] == total, "sum %u, should be %u", p[512],
			      total);
			for (k = 0; k < n; k++)
				CHECK(p[k] == total - n + k, "word %u", k);
		}
	}
	OK(vg_queue_finish(&q, VG_TIMEOUT_MS));
	CHECK(p[512] == total, "sum %u, should be %u", p[512], total);
	/* Wait for the read pointer, which the engine advances after the fence. */
	OK(vg_wait_word((char *)q.ptrs.cpu + VG_QUEUE_RPTR, (uint32_t)q.wptr,
			VG_TIMEOUT_MS));
	OK(vg_queue_destroy(&q));
	OK(vg_bo_free(&bo));
}

/* Fill the whole ring, and only then ring the doorbell for the first time. */
static void full_ring(void)
{
	struct vg_queue q = { 0 };
	struct vg_bo bo = { 0 };
	volatile uint64_t *sum;
	uint64_t n = 0;

	start(1);
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &bo));
	sum = bo.cpu;
	while (q.wptr < 4096) {
		OK(vg_emit_atomic_add(&q, bo.va, 1));
		n++;
	}
	CHECK(q.wptr == 4096, "wptr %lu", q.wptr);
	vg_queue_submit(&q);
	OK(vg_queue_finish(&q, VG_TIMEOUT_MS));
	CHECK(*sum == n, "%lu of %lu packets ran", *sum, n);
	OK(vg_queue_destroy(&q));
	OK(vg_bo_free(&bo));
}

/**
 * struct worker - a thread with its own queue
 * @thread: thread
 * @index: index of the thread's data in the BO "shared"
 * @problem: @text if the thread failed, else NULL
 * @text: copy of the thread's error message, which vg_error() returned
 */
struct worker {
	pthread_t thread;
	int index;
	const char *problem;
	char text[256];
};

static struct vg_bo shared;
static struct vg_queue submitter;
static bool submitter_ends;

static void *work(void *arg)
{
	enum { SIZE = 256 * 1024 };
	struct worker *w = arg;
	char *dst = (char *)shared.cpu + 8 + w->index * SIZE;
	struct vg_queue q = { 0 };
	struct vg_bo src = { 0 };
	int i, r;

	r = vg_queue_create(&vg, gpu, 4096, &q) ?:
	    vg_bo_create(&vg, gpu, SIZE, w->index % 2 ? VG_VRAM : VG_GTT, &src);
	for (i = 0; i < 20 && !r; i++) {
		vg_pattern_fill(src.cpu, SIZE - 64, SEED + i, w->index);
		r = vg_emit_atomic_add(&q, shared.va, 1) ?:
		    vg_copy(&q, dst, src.cpu, SIZE - 64) ?:
		    vg_pattern_check(dst, SIZE - 64, SEED + i, w->index);
	}
	r = r ?: vg_queue_destroy(&q) ?: vg_bo_free(&src);
	if (r) {
		strncpy(w->text, vg_error(), sizeof(w->text) - 1);
		w->problem = w->text;
	}
	return NULL;
}

static void threads(void)
{
	static struct worker w[6];
	int i;

	start(1);
	OK(vg_bo_create(&vg, gpu, 2 * VG_MIB, VG_VRAM, &shared));
	for (i = 0; i < 6; i++) {
		w[i].index = i;
		CHECK(!pthread_create(&w[i].thread, NULL, work, &w[i]),
		      "pthread_create");
	}
	for (i = 0; i < 6; i++) {
		pthread_join(w[i].thread, NULL);
		CHECK(!w[i].problem, "thread %d: %s", i, w[i].problem);
	}
	CHECK(*(uint64_t *)shared.cpu == 6 * 20, "%lu of 120 atomic adds",
	      *(uint64_t *)shared.cpu);
	OK(vg_bo_free(&shared));
}

static void queue_update(const struct vg_queue *q, uint32_t percentage)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = q->ring.va,
		.ring_size = q->ring.size,
		.queue_id = q->id,
		.queue_percentage = percentage,
		.queue_priority = 7,
	};

	ERRNO(0, tap_ioctl(vg.kfd, AMDKFD_IOC_UPDATE_QUEUE, &args));
}

/* Ring the doorbell for each packet, faster than the engine executes the packets. */
static void *ring_on(void *arg)
{
	struct worker *w = arg;
	struct vg_queue *q = &submitter;
	uint32_t seq;
	int r = 0;

	while (!r && !__atomic_load_n(&submitter_ends, __ATOMIC_RELAXED)) {
		r = vg_emit_fence(q, &seq);
		vg_queue_submit(q);
	}
	r = r ?: vg_queue_finish(q, VG_TIMEOUT_MS);
	if (r) {
		strncpy(w->text, vg_error(), sizeof(w->text) - 1);
		w->problem = w->text;
	}
	return NULL;
}

/*
 * Ring the doorbell while another thread disables and enables the queue again and
 * again. Catches: a doorbell is lost; the engine reads an older write pointer after a
 * doorbell.
 */
static void on_and_off(void)
{
	static struct worker w;
	uint64_t errors;
	int round;

	start(1);
	OK(vg_queue_create(&vg, gpu, 4096, &submitter));
	errors = tap_device_counter(gpu, "queue_errors");
	CHECK(!pthread_create(&w.thread, NULL, ring_on, &w), "pthread_create");
	for (round = 0; tap_goes_on(round, 20000); round++) {
		queue_update(&submitter, 0);
		queue_update(&submitter, 100);
	}
	__atomic_store_n(&submitter_ends, true, __ATOMIC_RELAXED);
	pthread_join(w.thread, NULL);
	CHECK(!w.problem, "%s", w.problem);
	CHECK(tap_device_counter(gpu, "queue_errors") == errors,
	      "the queue has stopped on an error");
	tap_diag("%d times off and on, %u packets", round,
		 vg_queue_fence_value(&submitter));
	OK(vg_queue_destroy(&submitter));
}

/* A bad packet must stop its queue. Catches: other queues of the engine are stopped. */
static void bad_packet(void)
{
	uint64_t errors;
	struct vg_queue bad = { 0 }, good = { 0 };
	struct vg_bo bo = { 0 };
	uint64_t until = vg_deadline();
	uint32_t seq, *p;

	start(1);
	OK(vg_queue_create(&vg, gpu, 4096, &bad));
	OK(vg_queue_create(&vg, gpu, 4096, &good));
	OK(vg_bo_create(&vg, gpu, VG_MIB, VG_VRAM, &bo));
	errors = tap_device_counter(gpu, "queue_errors");
	p = vg_queue_reserve(&bad, 1);
	CHECK(p, "%s", vg_error());
	*p = 0xee;
	OK(vg_emit_fence(&bad, &seq));
	vg_queue_submit(&bad);
	while (tap_device_counter(gpu, "queue_errors") == errors)
		CHECK(vg_now() < until, "the device has seen no error");
	ERRNO(ETIMEDOUT, vg_wait(&bad, seq, STOPPED_MS));
	CHECK(tap_device_counter(gpu, "queue_errors") == errors + 1,
	      "the device counts %lu errors",
	      tap_device_counter(gpu, "queue_errors") - errors);
	OK(vg_fill(&good, bo.cpu, 0x600d, VG_MIB));
	OK(vg_fill_check(bo.cpu, VG_MIB, 0x600d));
	OK(vg_queue_destroy(&bad));
	/*
	 * A new queue must be able to use the hardware queue that the bad packet has
	 * stopped.
	 */
	OK(vg_queue_create(&vg, gpu, 4096, &bad));
	OK(vg_fill(&bad, bo.cpu, 0xb0b0, VG_MIB));
	OK(vg_fill_check(bo.cpu, VG_MIB, 0xb0b0));
	OK(vg_queue_destroy(&bad));
	OK(vg_queue_destroy(&good));
	OK(vg_bo_free(&bo));
}

/* Submit an invalid write pointer to a queue. Catches: another queue stops. */
static void bad_wptr(void)
{
	static const uint64_t wptr[] = { 4096 + 4, 2, 1ull << 40, ~3ull };
	struct vg_queue bad = { 0 }, good = { 0 };
	struct vg_bo bo = { 0 };
	unsigned int i;

	start(1);
	OK(vg_queue_create(&vg, gpu, 4096, &good));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_VRAM, &bo));
	for (i = 0; i < sizeof(wptr) / sizeof(wptr[0]); i++) {
		OK(vg_queue_create(&vg, gpu, 4096, &bad));
		bad.wptr = wptr[i];
		vg_queue_submit(&bad);
		OK(vg_fill(&good, bo.cpu, i + 1, VG_PAGE));
		OK(vg_fill_check(bo.cpu, VG_PAGE, i + 1));
		OK(vg_queue_destroy(&bad));
	}
	OK(vg_queue_destroy(&good));
	OK(vg_bo_free(&bo));
}

/*
 * The process has one queue. Ring all doorbells of the process except the queue's own doorbell.
 * This must have no effect.
 */
static void foreign_doorbells(void)
{
	struct vg_queue q = { 0 };
	struct vg_bo bo = { 0 };
	volatile uint64_t *page;
	unsigned int i;

	start(1);
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_VRAM, &bo));
	page = q.doorbell_page;
	for (i = 0; i < VG_DOORBELL_SLICE / 8; i++)
		if (&page[i] != q.doorbell)
			page[i] = 0x1234567890 + i;
	OK(vg_fill(&q, bo.cpu, 77, VG_PAGE));
	OK(vg_fill_check(bo.cpu, VG_PAGE, 77));
	OK(vg_queue_destroy(&q));
	OK(vg_bo_free(&bo));
}

static void create_destroy(void)
{
	struct vg_bo bo = { 0 };
	struct vg_queue q = { 0 };
	uint32_t seq;
	int i;

	start(1);
	OK(vg_bo_create(&vg, gpu, 4 * VG_MIB, VG_VRAM, &bo));
	for (i = 0; tap_goes_on(i, 100); i++) {
		OK(vg_queue_create(&vg, gpu, i % 2 ? 4096 : 1 << 16, &q));
		/* In half of the rounds, destroy the queue without a wait for its work. */
		OK(vg_emit_fill(&q, bo.va, i, bo.size));
		OK(vg_emit_fence(&q, &seq));
		vg_queue_submit(&q);
		if (i % 4 < 2) {
			OK(vg_wait(&q, seq, VG_TIMEOUT_MS));
			CHECK(*(uint32_t *)bo.cpu == (uint32_t)i, "round %d",
			      i);
		}
		OK(vg_queue_destroy(&q));
	}
	OK(vg_bo_free(&bo));
}

/* Timestamps of packets and of GET_CLOCK_COUNTERS must come from the same clock. */
static void timestamps(void)
{
	struct vg_queue q = { 0 };
	uint64_t before, after, a, b;

	start(1);
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	before = vg_gpu_clock(&vg, gpu);
	OK(vg_emit_timestamp(&q, 0));
	OK(vg_emit_timestamp(&q, 1));
	OK(vg_queue_finish(&q, VG_TIMEOUT_MS));
	after = vg_gpu_clock(&vg, gpu);
	a = vg_timestamp(&q, 0);
	b = vg_timestamp(&q, 1);
	CHECK(before <= a && a <= b && b <= after,
	      "%lu <= %lu <= %lu <= %lu does not hold", before, a, b, after);
	OK(vg_queue_destroy(&q));
}

/*
 * Copy until killed. *@arg is the write end of a pipe. The function writes a byte to the pipe
 * when it has submitted the first copies.
 */
static void busy(void *arg)
{
	int *ready = arg;
	struct vg_queue q = { 0 };
	struct vg_bo a = { 0 }, b = { 0 };
	void *mem;
	char go = 1;

	start(1);
	mem = vg_map_anon(16 * VG_MIB);
	OK(vg_queue_create(&vg, gpu, 4096, &q));
	OK(vg_bo_create(&vg, gpu, 4 * VG_MIB, VG_VRAM, &a));
	OK(vg_bo_create(&vg, gpu, 4 * VG_MIB, VG_GTT, &b));
	for (;;) {
		OK(vg_emit_copy(&q, b.va, a.va, a.size));
		OK(vg_emit_copy(&q, (uintptr_t)mem, a.va, a.size));
		vg_queue_submit(&q);
		if (go && write(*ready, &go, 1) != 1)
			_exit(1);
		go = 0;
	}
}

/*
 * Kill a process while it submits copies, after another delay in each round. Catches: memory, a
 * hardware queue or a VMID is not released.
 */
static void killed(void)
{
	int i;

	start(1);
	/*
	 * The rounds outnumber the VMIDs (on the release kernel, not in the short form), so a later
	 * queue fails if VMIDs are lost.
	 */
	for (i = 0; tap_goes_on(i, 12); i++) {
		tap_kill_at_work(busy, i % 20 * 700);
		OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
	}
	use_all_queues();
}

static const struct tap_case cases[] = {
	{ "16 queues at once, no 17th", all_queues, 0 },
	{ "40 queues, on each engine 8", every_engine, 0 },
	{ "bad packets on each engine", bad_on_every_engine, 0 },
	{ "a small ring a hundred times round", wraparound, 0 },
	{ "a ring filled to the last byte", full_ring, 0 },
	{ "six threads, six queues", threads, 0 },
	{ "doorbells while a queue goes off and on", on_and_off, 0 },
	{ "a bad packet stops its queue only", bad_packet, 0 },
	{ "write pointers beyond the ring", bad_wptr, 0 },
	{ "doorbells of no queue", foreign_doorbells, 0 },
	{ "create and destroy, idle and busy", create_destroy, 0 },
	{ "one GPU clock", timestamps, 0 },
	{ "a process killed in mid-copy", killed, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
