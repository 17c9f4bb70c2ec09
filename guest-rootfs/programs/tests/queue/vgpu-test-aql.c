// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This program tests AQL queues. Catches: a packet is executed twice or never when queues share
 * a hardware queue; a signal is decremented twice; a write index is wrong; the second mapping of
 * a ring shows other memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <vgpu/aql.h>
#include <vgpu/bits.h>
#include <vgpu/pm4.h>

#include "tap.h"

#define RING		4096
#define PACKETS		(RING / 64)
#define MANY		30	/* more queues than the 24 hardware queues */
#define STOPPED_MS	300

static struct vg vg;
static struct vg_gpu *gpu;
static struct vg_bo save, page;

/* Size of an AMD signal, in bytes. The BO "page" holds an array of signals. */
#define SIGNAL_BYTES	64

static uint64_t signal_at(unsigned int i)
{
	return page.va + i * SIGNAL_BYTES;
}

static volatile int64_t *value_of(unsigned int i)
{
	return (void *)((char *)page.cpu + i * SIGNAL_BYTES + AMD_SIGNAL_VALUE);
}

static void start(int xnack)
{
	tap_open(&vg, xnack);
	gpu = &vg.gpu[0];
	OK(vg_save_area(&vg, gpu, KFD_IOC_ALLOC_MEM_FLAGS_GTT, &save));
	OK(vg_bo_create(&vg, gpu, 4 * VG_PAGE, VG_GTT, &page));
	memset(page.cpu, 0, page.size);
}

static void end(void)
{
	OK(vg_bo_free(&page));
	OK(vg_bo_free(&save));
}

static void make(struct vg_cq *q)
{
	OK(vg_cq_create(&vg, gpu, &save, RING, true, q));
}

static void set64(uint32_t *p, unsigned int dw, uint64_t value)
{
	p[dw] = (uint32_t)value;
	p[dw + 1] = value >> 32;
}

/* Write the header last, because it makes the packet valid. */
static void publish(uint32_t *p, uint32_t header)
{
	__atomic_store_n(p, header, __ATOMIC_RELEASE);
}

static uint32_t *packet(struct vg_cq *q)
{
	uint32_t *p = vg_cq_reserve(q, AQL_PACKET_DWORDS);

	CHECK(p, "%s", vg_error());
	return p;
}

/*
 * Emit a barrier packet that waits for signal @wait and then decrements signal @done. If
 * @wait is -1, the packet does not wait; if @done is -1, it decrements no signal.
 */
static void barrier(struct vg_cq *q, uint32_t type, int wait, int done)
{
	uint32_t *p = packet(q);

	if (wait >= 0)
		set64(p, AQL_BARRIER_SIGNAL(2), signal_at(wait));
	if (done >= 0)
		set64(p, AQL_COMPLETION_SIGNAL, signal_at(done));
	publish(p, type | AQL_DW0__BARRIER);
}

static int wait_value(unsigned int i, int64_t value, unsigned int ms)
{
	uint64_t deadline = vg_now() + ms * 1000000ull;

	while (*value_of(i) != value) {
		if (vg_now() > deadline)
			return vg_fail(-ETIMEDOUT,
				       "signal %u is %ld, should be %ld", i,
				       *value_of(i), value);
		vg_sleep_us(50);
	}
	return 0;
}

static void barriers(void)
{
	struct vg_cq q;

	start(1);
	make(&q);
	*value_of(0) = *value_of(1) = *value_of(2) = 1;
	barrier(&q, AQL_BARRIER_AND, 0, 1);
	barrier(&q, AQL_BARRIER_OR, 1, 2);
	vg_cq_submit(&q);
	ERRNO(ETIMEDOUT, wait_value(1, 0, STOPPED_MS));
	CHECK(*value_of(2) == 1, "the second ran before the first");
	*value_of(0) = 0;
	OK(wait_value(1, 0, VG_TIMEOUT_MS));
	OK(wait_value(2, 0, VG_TIMEOUT_MS));
	/* Wait for the read pointer, which the CP advances after the signal. */
	OK(vg_wait_word((char *)q.ptrs.cpu + VG_QUEUE_RPTR, 2, VG_TIMEOUT_MS));
	CHECK((*(uint32_t *)q.ring.cpu & AQL_DW0__TYPE) == AQL_INVALID,
	      "a packet that is done is not invalid: 0x%x",
	      *(uint32_t *)q.ring.cpu);
	OK(vg_cq_destroy(&q));
	end();
}

/*
 * Packets of queue 1 wait for signals that packets of queue 0 decrement. Each ring wraps
 * around at least fifty times. Catches: a packet is executed twice or never.
 */
static void chain(void)
{
	struct vg_cq q[2];
	int i, n = 50 * PACKETS;

	start(1);
	make(&q[0]);
	make(&q[1]);
	for (i = 0; i < n; i++) {
		*value_of(i % 32) = 1;
		*value_of(32 + i % 32) = 2;
		barrier(&q[1], AQL_BARRIER_AND, i % 32, 32 + i % 32);
		barrier(&q[1], AQL_BARRIER_AND, i % 32, 32 + i % 32);
		vg_cq_submit(&q[1]);
		barrier(&q[0], AQL_BARRIER_AND, -1, i % 32);
		vg_cq_submit(&q[0]);
		if (i % 16 == 15)
			OK(wait_value(32 + i % 32, 0, VG_TIMEOUT_MS));
	}
	CHECK(*value_of(32 + (n - 1) % 32) == 0, "the last signal is %ld",
	      *value_of(32 + (n - 1) % 32));
	/* Check that each queue still works: add one more packet, and wait for its signal. */
	for (i = 0; i < 2; i++) {
		*value_of(i) = 1;
		barrier(&q[i], AQL_BARRIER_AND, -1, i);
		vg_cq_submit(&q[i]);
		OK(wait_value(i, 0, VG_TIMEOUT_MS));
		/*
		 * The CP advances the read pointer after the signal, so wait for the read pointer,
		 * too.
		 */
		OK(vg_wait_word((char *)q[i].ptrs.cpu + VG_QUEUE_RPTR,
				(uint32_t)q[i].wptr, VG_TIMEOUT_MS));
		OK(vg_cq_destroy(&q[i]));
	}
	end();
}

/* Emit AMD's vendor packet with a PM4 indirect buffer. */
static void pm4_ib(struct vg_cq *q, uint64_t ib, unsigned int dwords, int done)
{
	uint32_t *p = packet(q);

	p[AQL_PM4_IB_PACKET] = PM4_HEADER(PM4_INDIRECT_BUFFER, 4);
	set64(p, AQL_PM4_IB_PACKET + 1, ib);
	p[AQL_PM4_IB_PACKET + 3] = dwords | PM4_IB_DW3__VALID;
	/* This value is always 10: dwords 6 to 15 of the AQL packet follow this dword. */
	p[AQL_PM4_IB_PACKET + 4] = 10;
	set64(p, AQL_COMPLETION_SIGNAL, signal_at(done));
	publish(p, AQL_VENDOR | AQL_DW0__BARRIER |
		   VGPU_PREP(AQL_DW0__AMD_FORMAT, AQL_AMD_PM4_IB));
}

static void indirect(void)
{
	struct vg_bo ib = { 0 }, dst = { 0 };
	uint32_t *dw, n = 0, i;
	struct vg_cq q;

	start(1);
	make(&q);
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_GTT, &ib));
	OK(vg_bo_create(&vg, gpu, VG_PAGE, VG_VRAM, &dst));
	dw = ib.cpu;
	for (i = 0; i < 100; i++) {
		dw[n++] = PM4_HEADER(PM4_WRITE_DATA, 5);
		dw[n++] = VGPU_PREP(PM4_WRITE_DATA_DW1__DST_SEL, PM4_DST_MEM);
		set64(dw, n, dst.va + 4 * i);
		n += 2;
		dw[n++] = 0xa0000 + i;
	}
	*value_of(0) = 1;
	pm4_ib(&q, ib.va, n, 0);
	vg_cq_submit(&q);
	OK(wait_value(0, 0, VG_TIMEOUT_MS));
	for (i = 0; i < 100; i++)
		CHECK(((volatile uint32_t *)dst.cpu)[i] == 0xa0000 + i,
		      "word %u is 0x%x", i, ((uint32_t *)dst.cpu)[i]);
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&ib));
	OK(vg_bo_free(&dst));
	end();
}

/*
 * Queues outnumber hardware queues, so a queue can lose its hardware queue during a packet.
 * Catches: this packet is executed twice.
 */
static void turns(void)
{
	static struct vg_cq q[MANY];
	int i, k;

	start(1);
	*value_of(200) = 1;
	for (i = 0; i < MANY; i++) {
		make(&q[i]);
		*value_of(i) = 40;
		/* Signal 200 holds back every second queue. */
		if (i % 2)
			barrier(&q[i], AQL_BARRIER_AND, 200, -1);
		for (k = 0; k < 40; k++)
			barrier(&q[i], AQL_BARRIER_AND, -1, i);
		vg_cq_submit(&q[i]);
	}
	for (i = 0; i < MANY; i += 2)
		OK(wait_value(i, 0, VG_TIMEOUT_MS));
	for (i = 1; i < MANY; i += 2)
		CHECK(*value_of(i) == 40, "queue %d did not wait", i);
	*value_of(200) = 0;
	for (i = 1; i < MANY; i += 2)
		OK(wait_value(i, 0, VG_TIMEOUT_MS));
	for (i = 0; i < MANY; i++) {
		CHECK(*value_of(i) == 0, "signal %d: %ld", i, *value_of(i));
		OK(vg_cq_destroy(&q[i]));
	}
	end();
}

/*
 * A packet's completion signal names an event (mailbox address and ID). Catches: the completion
 * does not set the event, or raises no interrupt.
 */
static void mailbox(void)
{
	struct kfd_ioctl_create_event_args ev = {
		.event_type = KFD_IOC_EVENT_SIGNAL, .auto_reset = 1,
	};
	struct kfd_ioctl_wait_events_args wait = {
		.num_events = 1, .timeout = VG_TIMEOUT_MS,
	};
	struct kfd_event_data data = { 0 };
	struct vg_bo slots = { 0 };
	struct vg_cq q;
	uint32_t *signal;
	int i;

	start(1);
	make(&q);
	OK(vg_bo_create(&vg, gpu, KFD_SIGNAL_EVENT_LIMIT * 8, VG_GTT, &slots));
	memset(slots.cpu, 0xff, slots.size);
	ev.event_page_offset = slots.handle;
	OK(vg_ioctl(&vg, AMDKFD_IOC_CREATE_EVENT, &ev));
	signal = page.cpu;
	set64(signal, AMD_SIGNAL_EVENT_MAILBOX_PTR / 4,
	      slots.va + 8 * ev.event_slot_index);
	signal[AMD_SIGNAL_EVENT_ID / 4] = ev.event_id;
	for (i = 0; i < 20; i++) {
		*value_of(0) = 1;
		barrier(&q, AQL_BARRIER_AND, -1, 0);
		vg_cq_submit(&q);
		data.event_id = ev.event_id;
		wait.events_ptr = (uintptr_t)&data;
		OK(vg_ioctl(&vg, AMDKFD_IOC_WAIT_EVENTS, &wait));
		CHECK(wait.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE,
		      "round %d: the event was not set", i);
		CHECK(*value_of(0) == 0, "round %d: the signal is %ld", i,
		      *value_of(0));
	}
	OK(vg_cq_destroy(&q));
	OK(vg_bo_free(&page));
	OK(vg_bo_free(&save));
}

/*
 * The driver maps a BO for AQL rings twice, at adjacent addresses. Catches: the mappings show
 * different bytes; memory is allocated for both mappings.
 */
static void twice(void)
{
	static const uint32_t kinds[] = { VG_GTT, VG_VRAM };
	struct vg_bo ring = { 0 }, dst = { 0 };
	struct vg_queue sdma;
	unsigned int i;

	start(1);
	OK(vg_queue_create(&vg, gpu, RING, &sdma));
	OK(vg_bo_create(&vg, gpu, 8 * VG_PAGE, VG_GTT, &dst));
	for (i = 0; i < 2; i++) {
		struct vg_mem_info before, after;

		OK(vg_mem_info(gpu, &before));
		OK(vg_bo_alloc(&vg, gpu, 8 * VG_PAGE, kinds[i] |
			       KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM, &ring));
		OK(vg_bo_map_gpu(&ring));
		OK(vg_mem_info(gpu, &after));
		if (i)
			CHECK(after.vram_used - before.vram_used ==
			      4 * VG_PAGE, "it takes %lu bytes",
			      after.vram_used - before.vram_used);
		OK(vg_emit_fill(&sdma, ring.va, 0x11, 4 * VG_PAGE));
		OK(vg_emit_fill(&sdma, ring.va + 5 * VG_PAGE, 0x22, VG_PAGE));
		OK(vg_emit_copy(&sdma, dst.va, ring.va, 8 * VG_PAGE));
		OK(vg_queue_finish(&sdma, VG_TIMEOUT_MS));
		OK(vg_fill_check(dst.cpu, VG_PAGE, 0x11));
		OK(vg_fill_check((char *)dst.cpu + VG_PAGE, VG_PAGE, 0x22));
		CHECK(!memcmp(dst.cpu, (char *)dst.cpu + 4 * VG_PAGE,
			      4 * VG_PAGE), "the halves differ");
		OK(vg_bo_unmap_gpu(&ring));
		OK(vg_bo_free(&ring));
	}
	OK(vg_queue_destroy(&sdma));
	OK(vg_bo_free(&dst));
	end();
}

/*
 * Submit dispatch packets, which the device does not execute, and invalid packets.
 * Catches: an error stops another queue; an error stops its own queue without an event.
 */
static void bad_packets(void)
{
	static const uint32_t bad[] = {
		AQL_KERNEL_DISPATCH, AQL_AGENT_DISPATCH, 77,
		AQL_VENDOR | VGPU_PREP(AQL_DW0__AMD_FORMAT, 9u),
	};
	struct vg_cq q, good;
	unsigned int i;

	start(1);
	make(&good);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kfd_ioctl_create_event_args ev = {
			.event_type = KFD_IOC_EVENT_HW_EXCEPTION,
		};
		struct kfd_event_data data = { 0 };
		struct kfd_ioctl_wait_events_args wait = {
			.events_ptr = (uintptr_t)&data, .num_events = 1,
			.timeout = VG_TIMEOUT_MS,
		};

		OK(vg_ioctl(&vg, AMDKFD_IOC_CREATE_EVENT, &ev));
		data.event_id = ev.event_id;
		make(&q);
		*value_of(0) = *value_of(1) = 1;
		publish(packet(&q), bad[i]);
		barrier(&q, AQL_BARRIER_AND, -1, 0);
		vg_cq_submit(&q);
		OK(vg_ioctl(&vg, AMDKFD_IOC_WAIT_EVENTS, &wait));
		CHECK(wait.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE,
		      "packet %u: no event", i);
		CHECK(*value_of(0) == 1, "packet %u: the queue has not stopped", i);
		barrier(&good, AQL_BARRIER_AND, -1, 1);
		vg_cq_submit(&good);
		OK(wait_value(1, 0, VG_TIMEOUT_MS));
		OK(vg_cq_destroy(&q));
		OK(vg_ioctl(&vg, AMDKFD_IOC_DESTROY_EVENT,
			    &(struct kfd_ioctl_destroy_event_args){
				.event_id = ev.event_id }));
	}
	OK(vg_cq_destroy(&good));
	end();
}

/*
 * Disable a queue, evict VRAM, or reset the GPU while the queue waits. Catches: a
 * signal is decremented twice or never.
 */
static void interrupted(void)
{
	struct vg_cq q;
	int i;

	start(1);
	make(&q);
	for (i = 0; i < 9; i++) {
		*value_of(0) = *value_of(1) = 5;
		barrier(&q, AQL_BARRIER_AND, 0, 1);
		barrier(&q, AQL_BARRIER_AND, -1, 1);
		vg_cq_submit(&q);
		if (i % 3 == 0) {
			OK(vg_cq_update(&q, &q.ring, 0));
			OK(vg_cq_update(&q, &q.ring, 100));
		} else if (i % 3 == 1) {
			tap_evict_some(gpu, "vram");
		} else {
			OK(vg_gpu_reset(gpu));
		}
		CHECK(*value_of(1) == 5, "round %d: it did not wait", i);
		*value_of(0) = 0;
		OK(wait_value(1, 3, VG_TIMEOUT_MS));
		CHECK(*value_of(1) == 3, "round %d: %ld", i, *value_of(1));
	}
	OK(vg_cq_destroy(&q));
	end();
}

static const struct tap_case cases[] = {
	{ "barriers wait for signals", barriers, 0 },
	{ "a chain over two queues, fifty times round", chain, 0 },
	{ "PM4 in an indirect buffer", indirect, 0 },
	{ "more queues than slots", turns, 0 },
	{ "signals set events", mailbox, 0 },
	{ "rings that are mapped twice", twice, 0 },
	{ "bad packets stop their queue, and are told", bad_packets, 0 },
	{ "off, evicted, reset while it waits", interrupted, 0 },
};

int main(int argc, char **argv)
{
	return tap_main(TAP_CASES(cases), argc, argv);
}
