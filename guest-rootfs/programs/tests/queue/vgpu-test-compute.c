// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program tests user-mode compute queues with PM4 packets. Catches: the scheduler mixes up
 * queues; work is lost or repeated when a queue is preempted; an event wakes no waiter; an error
 * stops other queues; an errno is wrong.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vgpu/pm4.h>

#include "tap.h"

#define RING		4096
#define MANY		40	/* more queues than the 24 hardware queues */
#define PROCESSES	7	/* more processes than the 4 VMIDs of a run list */
#define STOPPED_MS	500	/* time in which a stopped queue must make no progress */

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_mem_info base;
static struct vg_bo save;

static void start_with(int xnack, uint32_t save_kind)
{
	tap_open(&vg, xnack);
	gpu = &vg.gpu[0];
	OK(vg_mem_info(gpu, &base));
	OK(vg_save_area(&vg, gpu, save_kind, &save));
}

static void start(int xnack)
{
	start_with(xnack, KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
}

static void make(struct vg_cq *q)
{
	OK(vg_cq_create(&vg, gpu, &save, RING, false, q));
}

/* Packets of all sizes write to VRAM and GTT; a small ring wraps around many times. */
static void writes(void)
{
	struct vg_bo bo[2] = { 0 };
	uint32_t data[200], want[2][1024] = { 0 };
	unsigned int i, k, rnd = 5;
	struct vg_cq q;

	start(1);
	make(&q);
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_VRAM, &bo[0]));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &bo[1]));
	for (i = 0; q.wptr < 100 * RING / 4; i++) {
		unsigned int n = 1 + rand_r(&rnd) % 200;
		unsigned int at = rand_r(&rnd) % (1024 - n);

		for (k = 0; k < n; k++)
			want[i % 2][at + k] = data[k] = i << 8 | k;
		OK(vg_pm4_write(&q, bo[i % 2].va + 4 * at, data, n));
		if (rand_r(&rnd) % 4)
			continue;
		OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
		for (k = 0; k < 2; k++)
			CHECK(!memcmp(bo[k].cpu, want[k], VG_PAGE),
			      "memory %u after packet %u", k, i);
	}
	OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
	/*
	 * Wait until the read pointer equals the write pointer: the CP advances the read pointer
	 * after it has written the fence.
	 */
	OK(vg_wait_word((char *)q.ptrs.cpu + VG_QUEUE_RPTR,
			q.wptr & (RING / 4 - 1), VG_TIMEOUT_MS));
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&bo[0]));
	OK(vg_bo_free(&bo[1]));
	OK(vg_bo_free(&save));
}

/*
 * RELEASE_MEM must be able to store 32 bits, 64 bits, or a clock value in memory. The clock is
 * the one that GET_CLOCK_COUNTERS reads.
 */
static void releases(void)
{
	uint64_t before, after;
	struct vg_bo bo = { 0 };
	volatile uint64_t *w;
	struct vg_cq q;

	start(1);
	make(&q);
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &bo));
	w = bo.cpu;
	w[0] = w[1] = w[2] = ~0ull;
	before = vg_gpu_clock(&vg, gpu);
	OK(vg_pm4_release(&q, bo.va, 0x1122334455667788, PM4_DATA_32, 0, 0));
	OK(vg_pm4_release(&q, bo.va + 8, 0x1122334455667788, PM4_DATA_64, 0,
			  0));
	OK(vg_pm4_release(&q, bo.va + 16, 0, PM4_DATA_GPU_CLOCK, 0, 0));
	OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
	after = vg_gpu_clock(&vg, gpu);
	CHECK(w[0] == 0xffffffff55667788, "32 bits: 0x%lx", w[0]);
	CHECK(w[1] == 0x1122334455667788, "64 bits: 0x%lx", w[1]);
	CHECK(before <= w[2] && w[2] <= after, "%lu <= %lu <= %lu", before,
	      w[2], after);
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&bo));
	OK(vg_bo_free(&save));
}

static void event(uint32_t type, struct kfd_ioctl_create_event_args *ev)
{
	*ev = (struct kfd_ioctl_create_event_args) { .event_type = type };
	OK(vg_ioctl(&vg, AMDKFD_IOC_CREATE_EVENT, ev));
}

static bool happens(uint32_t id, uint32_t ms, struct kfd_event_data *data)
{
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)data, .num_events = 1, .timeout = ms,
	};

	*data = (struct kfd_event_data) { .event_id = id };
	OK(vg_ioctl(&vg, AMDKFD_IOC_WAIT_EVENTS, &args));
	return args.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE;
}

/*
 * RELEASE_MEM writes into the slot of an event and raises an interrupt. Catches: the
 * waiter does not wake up; another event is set.
 */
static void events(void)
{
	struct kfd_ioctl_create_event_args ev[2];
	struct kfd_event_data data;
	struct vg_bo page = { 0 };
	struct vg_cq q;
	unsigned int i;

	start(1);
	make(&q);
	OK(vg_bo_create(&vg, gpu, KFD_SIGNAL_EVENT_LIMIT * 8, VG_GTT, &page));
	memset(page.cpu, 0xff, page.size);
	for (i = 0; i < 2; i++) {
		ev[i] = (struct kfd_ioctl_create_event_args) {
			.event_type = KFD_IOC_EVENT_SIGNAL, .auto_reset = 1,
			.event_page_offset = i ? 0 : page.handle,
		};
		OK(vg_ioctl(&vg, AMDKFD_IOC_CREATE_EVENT, &ev[i]));
	}
	CHECK(!happens(ev[0].event_id, 0, &data), "a new event has happened");
	for (i = 0; i < 50; i++) {
		uint64_t at = page.va + 8 * ev[i % 2].event_slot_index;

		OK(vg_pm4_release(&q, at, ev[i % 2].event_id, PM4_DATA_64,
				  PM4_INT_AFTER_WRITE, ev[i % 2].event_id));
		vg_cq_submit(&q);
		CHECK(happens(ev[i % 2].event_id, VG_TIMEOUT_MS, &data),
		      "round %u: the event was not set", i);
		CHECK(!happens(ev[!(i % 2)].event_id, 0, &data),
		      "round %u: the other was set", i);
	}
	OK(vg_cq_destroy(&q));
	/* Do not free the event page, because KFD keeps it until the process ends. */
}

/*
 * Run @n queues, each with its own work. @n can be larger than the number of hardware
 * queues.
 */
static void use_many(struct vg_cq *q, int n)
{
	struct vg_bo bo = { 0 };
	uint32_t word;
	int i, round;

	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_VRAM, &bo));
	for (i = 0; i < n; i++)
		make(&q[i]);
	for (round = 1; round <= 5; round++) {
		for (i = 0; i < n; i++) {
			word = round << 16 | i;
			OK(vg_pm4_write(&q[i], bo.va + 4 * i, &word, 1));
			OK(vg_cq_emit_fence(&q[i]));
			vg_cq_submit(&q[i]);
		}
		for (i = n - 1; i >= 0; i--)
			OK(vg_cq_wait(&q[i], VG_TIMEOUT_MS));
		for (i = 0; i < n; i++) {
			word = ((volatile uint32_t *)bo.cpu)[i];
			CHECK(word == (uint32_t)(round << 16 | i),
			      "queue %d in round %d: 0x%x", i, round, word);
		}
	}
	for (i = 0; i < n; i++)
		OK(vg_cq_destroy(&q[i]));
	OK(vg_bo_free(&bo));
}

static void many_queues(void)
{
	static struct vg_cq q[MANY];

	start(1);
	use_many(q, MANY);
	OK(vg_bo_free(&save));
}

/*
 * All queues but the last wait for a word. Catches: the waiting queues keep all hardware queues,
 * so that the last queue never runs.
 */
static void turns(void)
{
	static struct vg_cq q[MANY];
	struct vg_bo bo = { 0 };
	volatile uint32_t *flag;
	int i;

	start(1);
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &bo));
	flag = bo.cpu;
	*flag = 0;
	for (i = 0; i < MANY; i++) {
		make(&q[i]);
		if (i < MANY - 1)
			OK(vg_pm4_wait(&q[i], bo.va, 1));
		OK(vg_cq_emit_fence(&q[i]));
		vg_cq_submit(&q[i]);
	}
	OK(vg_cq_wait(&q[MANY - 1], VG_TIMEOUT_MS));
	for (i = 0; i < MANY - 1; i++)
		ERRNO(ETIMEDOUT, vg_cq_wait(&q[i], 0));
	*flag = 1;
	for (i = 0; i < MANY - 1; i++)
		OK(vg_cq_wait(&q[i], VG_TIMEOUT_MS));
	for (i = 0; i < MANY; i++)
		OK(vg_cq_destroy(&q[i]));
	OK(vg_bo_free(&bo));
	OK(vg_bo_free(&save));
}

/*
 * Body of a process: q[1] waits for a word that q[0] writes. Catches: a write is lost, repeated,
 * or made in another process's memory.
 */
static void steady(void *arg)
{
	uint32_t who = *(int *)arg, i, n = tap_rounds(200, 5000);
	struct vg_bo bo = { 0 };
	struct vg_cq q[2];

	start(1);
	make(&q[0]);
	make(&q[1]);
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_VRAM, &bo));
	for (i = 1; i <= n; i++) {
		uint32_t word = who << 24 | i;

		/* q[1] waits until q[0] has written the word. */
		OK(vg_pm4_wait(&q[1], bo.va, word));
		OK(vg_pm4_write(&q[1], bo.va + 4, &word, 1));
		OK(vg_cq_emit_fence(&q[1]));
		vg_cq_submit(&q[1]);
		OK(vg_pm4_write(&q[0], bo.va, &word, 1));
		vg_cq_submit(&q[0]);
		OK(vg_cq_wait(&q[1], VG_TIMEOUT_MS));
		CHECK(((volatile uint32_t *)bo.cpu)[1] == word,
		      "process %u reads another's word", who);
	}
	_exit(0);
}

static void many_processes(void)
{
	pid_t pid[PROCESSES];
	int i, status;

	start(1);
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0, "fork");
		if (!pid[i])
			steady(&i);
	}
	for (i = 0; i < PROCESSES; i++)
		CHECK(waitpid(pid[i], &status, 0) == pid[i] && !status,
		      "process %d: status 0x%x", i, status);
	OK(vg_bo_free(&save));
}

/* Catches: a disabled queue runs; packets submitted to a disabled queue are lost. */
static void update(void)
{
	struct vg_bo bo = { 0 }, ring[2] = { 0 };
	struct vg_cq q;
	uint32_t i;

	start(1);
	make(&q);
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &bo));
	OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
	OK(vg_cq_update(&q, &q.ring, 0));
	OK(vg_pm4_write(&q, bo.va, &(uint32_t){ 0x600d }, 1));
	OK(vg_cq_emit_fence(&q));
	vg_cq_submit(&q);
	ERRNO(ETIMEDOUT, vg_cq_wait(&q, STOPPED_MS));
	CHECK(*(volatile uint32_t *)bo.cpu == 0, "it ran");
	OK(vg_cq_update(&q, &q.ring, 100));
	OK(vg_cq_wait(&q, VG_TIMEOUT_MS));
	CHECK(*(volatile uint32_t *)bo.cpu == 0x600d, "it did not run");
	OK(vg_cq_update(&q, NULL, 100));
	OK(vg_cq_emit_fence(&q));
	vg_cq_submit(&q);
	ERRNO(ETIMEDOUT, vg_cq_wait(&q, STOPPED_MS));
	OK(vg_cq_update(&q, &q.ring, 100));
	OK(vg_cq_wait(&q, VG_TIMEOUT_MS));

	/*
	 * Use a larger ring, then a smaller one. Catches: the change of the ring sets the read
	 * or the write pointer to 0. (The pointers must keep their values.)
	 */
	OK(vg_bo_create(&vg, gpu, 4 * RING, VG_GTT, &ring[0]));
	OK(vg_bo_create(&vg, gpu, RING, VG_GTT, &ring[1]));
	ERRNO(EFAULT, vg_cq_update(&q, &bo, 100) ?:
		      vg_cq_update(&q, &(struct vg_bo){ .va = bo.va,
							.size = 8192 }, 100));
	for (i = 0; i < 2; i++) {
		struct vg_bo was = q.ring;

		OK(vg_cq_update(&q, &ring[i], 100));
		ERRNO(EBUSY, vg_bo_unmap_gpu(&ring[i]));
		q.ring = ring[i];
		while (q.wptr % (2 * RING / 4) < 2 * RING / 4 - 100)
			OK(vg_pm4_write(&q, bo.va, &(uint32_t){ i }, 1));
		OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
		OK(vg_bo_free(&was));
	}
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&bo));
	OK(vg_bo_free(&save));
}

/* Destroy queues that have work; some of the work never completes. */
static void create_destroy(void)
{
	struct vg_bo bo = { 0 };
	struct vg_cq q;
	int i;

	start(1);
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_VRAM, &bo));
	for (i = 0; tap_goes_on(i, 60); i++) {
		uint32_t word = i + 1;

		make(&q);
		if (i % 3 == 2)
			OK(vg_pm4_wait(&q, bo.va, 0xdead));
		OK(vg_pm4_write(&q, bo.va, &word, 1));
		OK(vg_cq_emit_fence(&q));
		vg_cq_submit(&q);
		if (i % 3 == 0) {
			OK(vg_cq_wait(&q, VG_TIMEOUT_MS));
			CHECK(*(volatile uint32_t *)bo.cpu == word, "round %d",
			      i);
		}
		OK(vg_cq_destroy(&q));
	}
	OK(vg_bo_free(&bo));
	OK(vg_bo_free(&save));
}

/* A user queue must not execute the packets in bad[]. Submit each one in a queue of its own. */
static void bad_packets(void)
{
	static const uint32_t bad[][8] = {
		{ 4, PM4_HEADER(0xee, 4) },
		{ 5, PM4_HEADER(PM4_DISPATCH_DIRECT, 5), 1, 1, 1, 1 },
		{ 1, 0x00000000 },
		{ 1, 0x40000000 },
		/* WRITE_DATA to a register of the hub */
		{ 5, PM4_HEADER(PM4_WRITE_DATA, 5), 0, 0x2840, 0, 1 },
		{ 4, PM4_HEADER(PM4_RUN_LIST, 4), 0, 0, 1u << 23 },
		{ 7, PM4_HEADER(PM4_MAP_QUEUES, 7), 1u << 29 },
	};
	struct kfd_ioctl_create_event_args ev;
	struct kfd_event_data data;
	struct vg_cq q, good;
	unsigned int i;
	uint32_t *p;

	start(1);
	make(&good);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t errors = tap_device_counter(gpu, "queue_errors");

		event(KFD_IOC_EVENT_HW_EXCEPTION, &ev);
		make(&q);
		p = vg_cq_reserve(&q, bad[i][0]);
		CHECK(p, "%s", vg_error());
		memcpy(p, bad[i] + 1, 4 * bad[i][0]);
		OK(vg_cq_emit_fence(&q));
		vg_cq_submit(&q);
		CHECK(happens(ev.event_id, VG_TIMEOUT_MS, &data),
		      "packet %u: no event", i);
		CHECK(data.hw_exception_data.gpu_id == gpu->gpu_id &&
		      !data.hw_exception_data.memory_lost,
		      "packet %u: GPU %u, lost %u", i,
		      data.hw_exception_data.gpu_id,
		      data.hw_exception_data.memory_lost);
		ERRNO(ETIMEDOUT, vg_cq_wait(&q, 0));
		OK(vg_cq_finish(&good, VG_TIMEOUT_MS));
		/*
		 * Updating the bad queue submits a new run list, which must not start the
		 * bad queue again.
		 */
		OK(vg_cq_update(&q, &q.ring, 100));
		OK(vg_cq_finish(&good, VG_TIMEOUT_MS));
		errors = tap_device_counter(gpu, "queue_errors") - errors;
		CHECK(errors == 1, "packet %u: the device counts %lu errors", i,
		      errors);
		OK(vg_cq_destroy(&q));
		OK(vg_ioctl(&vg, AMDKFD_IOC_DESTROY_EVENT,
			    &(struct kfd_ioctl_destroy_event_args){
				.event_id = ev.event_id }));
	}
	OK(vg_cq_destroy(&good));
	OK(vg_bo_free(&save));
}

/*
 * Body of a child that accesses memory that is not mapped for the child. Catches: the
 * queues of another process are stopped; the queues of the child are not stopped.
 */
static void foreign(void *arg)
{
	struct kfd_ioctl_create_event_args ev;
	struct kfd_event_data data;
	void *hole = vg_map_anon(VG_PAGE);
	struct vg_cq q;

	(void)arg;
	start(0);
	event(KFD_IOC_EVENT_MEMORY, &ev);
	make(&q);
	OK(vg_pm4_write(&q, (uintptr_t)hole - VG_PAGE, &(uint32_t){ 1 }, 1));
	OK(vg_cq_emit_fence(&q));
	vg_cq_submit(&q);
	CHECK(happens(ev.event_id, VG_TIMEOUT_MS, &data), "no event");
	CHECK(data.memory_exception_data.va == (uintptr_t)hole - VG_PAGE &&
	      data.memory_exception_data.gpu_id == gpu->gpu_id,
	      "fault at 0x%lx of GPU %u",
	      (unsigned long)data.memory_exception_data.va,
	      data.memory_exception_data.gpu_id);
	ERRNO(ETIMEDOUT, vg_cq_wait(&q, 0));
	OK(vg_cq_destroy(&q));
	make(&q);
	OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&save));
}

static void faults(void)
{
	struct vg_cq q;

	start(0);
	make(&q);
	tap_in_child(foreign, NULL);
	OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&save));
}

/*
 * With XNACK on, write a word to each of many pages that were never accessed, so that
 * each write faults. Catches: a write is lost or goes to another page.
 */
static void retry_faults(void)
{
	enum { PAGES = 64 };
	struct vg_cq q;
	uint32_t i, *mem;

	start(1);
	make(&q);
	mem = vg_map_anon(PAGES * VG_PAGE);
	for (i = 0; i < PAGES; i++)
		OK(vg_pm4_write(&q, (uintptr_t)mem + i * VG_PAGE + 4 * i, &i, 1));
	OK(vg_cq_finish(&q, VG_TIMEOUT_MS));
	for (i = 0; i < PAGES; i++)
		CHECK(mem[i * VG_PAGE / 4 + i] == i, "page %u", i);
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&save));
}

static int create_with(struct vg_cq *q,
		       void (*change)(struct kfd_ioctl_create_queue_args *args))
{
	struct kfd_ioctl_create_queue_args args;

	vg_cq_args(q, &args);
	change(&args);
	return vg_ioctl(&vg, AMDKFD_IOC_CREATE_QUEUE, &args);
}

#define BAD(want, change)						\
	do {								\
		void spoil(struct kfd_ioctl_create_queue_args *a)	\
		{							\
			change;						\
		}							\
		ERRNO(want, create_with(&q, spoil));			\
	} while (0)

static void bad_arguments(void)
{
	struct kfd_ioctl_get_queue_wave_state_args wave = { 0 };
	struct kfd_ioctl_set_cu_mask_args cu = { 0 };
	uint32_t mask[40] = { 0 };
	struct vg_queue sdma;
	struct vg_cq q;

	start(1);
	OK(vg_cq_prepare(&vg, gpu, &save, RING, false, &q));
	BAD(EINVAL, a->eop_buffer_address = a->ring_base_address + 4096 * 99);
	BAD(EINVAL, a->eop_buffer_address += 4);
	BAD(EINVAL, a->eop_buffer_size = 2048);
	BAD(EINVAL, a->eop_buffer_size = 8192);
	BAD(EINVAL, a->eop_buffer_size = ~0ull);
	BAD(EFAULT, a->eop_buffer_address = 1ull << 63);
	BAD(EINVAL, a->ctl_stack_size -= 8);
	BAD(EINVAL, a->ctl_stack_size = 0);
	BAD(EINVAL, a->ctx_save_restore_size -= 4096);
	BAD(EINVAL, a->ctx_save_restore_size = ~0u);
	BAD(EINVAL, a->ctx_save_restore_address = 0);
	BAD(EINVAL, a->ctx_save_restore_address = a->ring_base_address);
	BAD(EFAULT, a->ctx_save_restore_address = 1ull << 63);
	BAD(EINVAL, a->ring_size = 8192);
	BAD(EINVAL, a->ring_base_address += 256);
	BAD(EINVAL, a->write_pointer_address += 4);
	BAD(EINVAL, a->queue_priority = 16);
	BAD(EINVAL, a->queue_percentage = 101);
	BAD(EINVAL, a->gpu_id = 0);
	OK(vg_cq_release(&q));

	make(&q);
	ERRNO(EBUSY, vg_bo_unmap_gpu(&q.eop));
	ERRNO(EBUSY, vg_bo_unmap_gpu(&save));
	ERRNO(EBUSY, vg_bo_unmap_gpu(&q.ring));

	cu.queue_id = q.id;
	cu.cu_mask_ptr = (uintptr_t)mask;
	ERRNO(EINVAL, vg_ioctl(&vg, AMDKFD_IOC_SET_CU_MASK, &cu));
	cu.num_cu_mask = 33;
	ERRNO(EINVAL, vg_ioctl(&vg, AMDKFD_IOC_SET_CU_MASK, &cu));
	cu.num_cu_mask = 128;
	cu.cu_mask_ptr = 16;
	ERRNO(EFAULT, vg_ioctl(&vg, AMDKFD_IOC_SET_CU_MASK, &cu));
	cu.cu_mask_ptr = (uintptr_t)mask;
	cu.queue_id = 77;
	ERRNO(EFAULT, vg_ioctl(&vg, AMDKFD_IOC_SET_CU_MASK, &cu));
	cu.queue_id = q.id;
	mask[0] = 0xff;
	OK(vg_ioctl(&vg, AMDKFD_IOC_SET_CU_MASK, &cu));
	cu.num_cu_mask = 0xffffffe0;
	OK(vg_ioctl(&vg, AMDKFD_IOC_SET_CU_MASK, &cu));
	OK(vg_cq_finish(&q, VG_TIMEOUT_MS));

	/*
	 * GET_QUEUE_WAVE_STATE requires a disabled queue, and must report no waves,
	 * because the device saves none.
	 */
	wave.queue_id = q.id;
	wave.ctl_stack_address = (uintptr_t)mask;
	ERRNO(EINVAL, vg_ioctl(&vg, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &wave));
	OK(vg_cq_update(&q, &q.ring, 0));
	wave.ctl_stack_used_size = wave.save_area_used_size = 99;
	OK(vg_ioctl(&vg, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &wave));
	CHECK(!wave.ctl_stack_used_size && !wave.save_area_used_size,
	      "%u bytes of stack, %u of waves", wave.ctl_stack_used_size,
	      wave.save_area_used_size);
	CHECK(mask[0] == vg_node_property(gpu->node, "ctl_stack_size", 0) &&
	      !mask[1], "stack at %u, %u bytes", mask[0], mask[1]);
	wave.ctl_stack_address = 16;
	ERRNO(EFAULT, vg_ioctl(&vg, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &wave));
	wave.queue_id = 77;
	ERRNO(EFAULT, vg_ioctl(&vg, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &wave));
	OK(vg_queue_create(&vg, gpu, RING, &sdma));
	wave.queue_id = sdma.id;
	ERRNO(EINVAL, vg_ioctl(&vg, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &wave));
	OK(vg_queue_destroy(&sdma));
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&save));
}

/*
 * Work until killed. @arg is the write end of a pipe, to which the function writes a
 * byte when the queues run.
 */
static void busy(void *arg)
{
	struct vg_bo bo = { 0 };
	struct vg_cq q[3];
	int *ready = arg, i;
	char go = 1;

	start(1);
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_VRAM, &bo));
	for (i = 0; i < 3; i++)
		make(&q[i]);
	OK(vg_pm4_wait(&q[2], bo.va, 0xdead));
	vg_cq_submit(&q[2]);
	for (i = 0;; i++) {
		OK(vg_pm4_write(&q[i % 2], bo.va + 64, (uint32_t *)&i, 1));
		vg_cq_submit(&q[i % 2]);
		if (go && write(*ready, &go, 1) != 1)
			_exit(1);
		go = 0;
	}
}

/* Kill a process whose queues are busy, after a delay that changes from round to round. */
static void killed(void)
{
	static struct vg_cq q[MANY];
	int i;

	start(1);
	for (i = 0; tap_goes_on(i, 12); i++)
		tap_kill_at_work(busy, i % 20 * 700);
	OK(vg_bo_free(&save));
	OK(vg_mem_wait_freed(gpu, &base, VG_TIMEOUT_MS));
	OK(vg_save_area(&vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &save));
	use_many(q, MANY);
	OK(vg_bo_free(&save));
}

/*
 * Evict BOs or reset the device while a queue uses the BOs. Catches: a write to VRAM is
 * lost, or goes to the old location of the BO.
 */
static void moved(void)
{
	enum { BYTES = 64 * 1024, WORDS = BYTES / 4 };
	struct vg_bo vram = { 0 }, flag = { 0 };
	static uint32_t want[WORDS];
	uint32_t i, k, data[64], rnd = 9;
	struct vg_cq q;

	start_with(1, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
	make(&q);
	OK(vg_bo_create(&vg, gpu, BYTES, VG_VRAM, &vram));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &flag));
	memset(vram.cpu, 0, BYTES);
	for (i = 1; i <= (uint32_t)tap_rounds(10, 200); i++) {
		OK(vg_pm4_wait(&q, flag.va, i));
		for (k = 0; k < 10; k++) {
			uint32_t at = rand_r(&rnd) % (WORDS - 64), n;

			for (n = 0; n < 64; n++)
				want[at + n] = data[n] = rand_r(&rnd);
			OK(vg_pm4_write(&q, vram.va + 4 * at, data, 64));
		}
		OK(vg_cq_emit_fence(&q));
		vg_cq_submit(&q);
		if (i % 3)
			tap_evict_some(gpu, "vram");
		else
			OK(vg_gpu_reset(gpu));
		*(volatile uint32_t *)flag.cpu = i;
		if (i % 4 == 1)
			tap_evict_some(gpu, "vram");
		OK(vg_cq_wait(&q, VG_TIMEOUT_MS));
		CHECK(!memcmp(vram.cpu, want, BYTES), "round %u", i);
	}
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&flag));
	OK(vg_bo_free(&vram));
	OK(vg_bo_free(&save));
}

static void shown_file(const struct vg_cq *q, const char *name, uint64_t want)
{
	char path[80], text[32];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/%s",
		 getpid(), q->id, name);
	tap_read(path, text, sizeof(text));
	CHECK(strtoul(text, NULL, 0) == want, "%s is %s", path, text);
}

static bool debugfs_has(const char *file, const char *words)
{
	static char text[256 * 1024];
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/debug/kfd/%s", file);
	tap_read(path, text, sizeof(text));
	return strstr(text, words);
}

/*
 * sysfs must show the queues. debugfs must show their MQDs and registers, and the run
 * list.
 */
static void shown(void)
{
	char words[64], dir[64];
	struct vg_cq q;

	start(1);
	make(&q);
	shown_file(&q, "gpuid", gpu->gpu_id);
	shown_file(&q, "size", RING);
	shown_file(&q, "type", KFD_IOC_QUEUE_TYPE_COMPUTE);
	snprintf(words, sizeof(words), "Compute queue %u on device %u, PM4\n",
		 q.id, gpu->gpu_id);
	CHECK(debugfs_has("mqds", words), "mqds has no \"%s\"", words);
	CHECK(debugfs_has("hqds", "MEC 1 Pipe 0 Queue 2:"),
	      "hqds has not the queue");
	/*
	 * The run list must contain the headers of MAP_PROCESS (c013a102) and MAP_QUEUES
	 * (c005a202).
	 */
	CHECK(debugfs_has("rls", "  c013a102 ") && debugfs_has("rls", "c005a202"),
	      "rls has no run list");
	OK(vg_cq_update(&q, &q.ring, 0));
	CHECK(debugfs_has("mqds", "PM4, off\n"), "mqds does not say off");
	CHECK(!debugfs_has("hqds", "MEC 1"), "hqds has a queue that is off");
	CHECK(!debugfs_has("rls", "c005a202"), "rls has a queue that is off");
	snprintf(dir, sizeof(dir), "/sys/class/kfd/kfd/proc/%d/queues/%u",
		 getpid(), q.id);
	CHECK(!access(dir, F_OK), "%s is gone", dir);
	OK(vg_cq_destroy(&q));
	CHECK(access(dir, F_OK), "%s is still there", dir);
	OK(vg_bo_free(&save));
}

static const struct tap_case cases[] = {
	{ "WRITE_DATA, a small ring a hundred times round", writes, 0 },
	{ "RELEASE_MEM: words and the clock", releases, 0 },
	{ "RELEASE_MEM signals events", events, 0 },
	{ "more queues than slots", many_queues, 0 },
	{ "queues that wait do not hold up others", turns, 0 },
	{ "more processes than VMIDs", many_processes, 0 },
	{ "update: off and on, another ring", update, 0 },
	{ "create and destroy, idle, busy, stuck", create_destroy, 0 },
	{ "bad packets stop their queue, and are told", bad_packets, 0 },
	{ "a fault takes only its process along", faults, 0 },
	{ "XNACK: pages are found", retry_faults, 0 },
	{ "bad arguments; CU mask; wave state", bad_arguments, 0 },
	{ "sysfs and debugfs show the queues", shown, 0 },
	{ "processes killed with work", killed, 0 },
	{ "evictions and resets in the middle of work", moved, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
