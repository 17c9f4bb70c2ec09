// SPDX-License-Identifier: GPL-2.0
/*
 * Test the bit positions in run lists and MQDs (hw/cp/vgpu_cp_emit.c). Catches: the halves of a
 * 64-bit value are swapped; a packet is longer than its VGPU_CP_*_DWORDS.
 *
 * Also test vgpu_cp_run() (hw/cp/vgpu_cp.c) while the CP hangs, after a reset, and when the device
 * is given up.
 */
#include <linux/workqueue.h>

#include "vgpu/cp.h"
#include "hw/cp/vgpu_cp.h"
#include "hw/cp/vgpu_mqd.h"
#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

#define ROUNDS	500
#define GUARD	0xa5a5a5a5u

static u64 pair(const __le32 *dw)
{
	return le32_to_cpu(dw[0]) | (u64)le32_to_cpu(dw[1]) << 32;
}

static u32 reg(const __le32 *mqd, u32 offset)
{
	return le32_to_cpu(mqd[128 + offset]);
}

static void cp_process(struct kunit *test)
{
	__le32 dw[VGPU_CP_PROCESS_DWORDS + 1];

	memset(dw, 0xa5, sizeof(dw));
	vgpu_cp_emit_process(dw, 0x8123, 0x0000765432101001ull, 64);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(dw[0]), 0xc013a102);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(dw[1]) & 0xffff, 0x8123);
	KUNIT_EXPECT_NE(test, le32_to_cpu(dw[1]) >> 25, 0);
	KUNIT_EXPECT_EQ(test, pair(dw + 2), 0x0000765432101001ull);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(dw[13]), 64);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(dw[VGPU_CP_PROCESS_DWORDS]), GUARD);
}

static void cp_queue(struct kunit *test)
{
	struct vgpu_cp_queue_regs regs = {
		.mqd_mc = 0x123456789000ull,
		.wptr_va = 0x7fedcba98760ull,
		.doorbell_offset = 0x12ff8,
	};
	__le32 dw[VGPU_CP_QUEUE_DWORDS + 1];

	memset(dw, 0xa5, sizeof(dw));
	vgpu_cp_emit_queue(dw, &regs);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(dw[0]), 0xc005a202);
	/*
	 * Expected fields: the CP chooses a free HQD, the queue is a compute queue and not
	 * static, and the packet maps one queue.
	 */
	KUNIT_EXPECT_EQ(test, le32_to_cpu(dw[1]), 1u << 4 | 1u << 29);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(dw[2]), 0x12ff8);
	KUNIT_EXPECT_EQ(test, pair(dw + 3), regs.mqd_mc);
	KUNIT_EXPECT_EQ(test, pair(dw + 5), regs.wptr_va);
	regs.gws = true;
	vgpu_cp_emit_queue(dw, &regs);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(dw[1]), 1u << 4 | 1u << 12 | 1u << 29);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(dw[VGPU_CP_QUEUE_DWORDS]), GUARD);
}

static void cp_mqd(struct kunit *test)
{
	struct vgpu_cp_queue_regs regs = {
		.mqd_mc = 0x123456789000ull,
		.ring_va = 0x7f1234567000ull,
		.rptr_va = 0x7fedcba98700ull,
		.wptr_va = 0x7fedcba98760ull,
		.eop_va = 0x7f0000001000ull,
		.save_va = 0x7f0010000000ull,
		.ring_bytes = 4096,
		.eop_bytes = 4096,
		.save_bytes = 0x3000000,
		.stack_bytes = 0x9000,
		.doorbell_offset = 0x2008,
	};
	u32 mask[VGPU_CP_NUM_SE] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct vgpu_cp_saved saved;
	__le32 *mqd;

	mqd = kunit_kzalloc(test, VGPU_CP_MQD_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mqd);
	vgpu_mqd_init(mqd, &regs);
	KUNIT_EXPECT_EQ(test, pair(mqd + 128 + 8), regs.ring_va >> 8);
	KUNIT_EXPECT_EQ(test, reg(mqd, 17), 9);
	KUNIT_EXPECT_EQ(test, pair(mqd + 128 + 11), regs.rptr_va);
	KUNIT_EXPECT_EQ(test, pair(mqd + 128 + 37), regs.eop_va >> 8);
	KUNIT_EXPECT_EQ(test, reg(mqd, 39), 9);
	KUNIT_EXPECT_EQ(test, reg(mqd, 53), 0);
	KUNIT_EXPECT_EQ(test, pair(mqd + 128 + 43), regs.save_va);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(mqd[23]), ~0u);
	vgpu_mqd_saved(mqd, &saved);
	KUNIT_EXPECT_EQ(test, saved.stack_bytes, 0);
	KUNIT_EXPECT_EQ(test, saved.wave_bytes, 0);
	KUNIT_EXPECT_EQ(test, saved.stack_offset, 0x9000);
	vgpu_mqd_set_cu_mask(mqd, mask);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(mqd[23]), 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(mqd[26]), 3);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(mqd[42]), 8);

	mqd[22] = cpu_to_le32(0x12345);
	vgpu_mqd_set_gws(mqd, true);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(mqd[22]), 0x812345);
	vgpu_mqd_set_gws(mqd, false);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(mqd[22]), 0x12345);

	regs.aql = true;
	vgpu_mqd_init(mqd, &regs);
	KUNIT_EXPECT_EQ(test, reg(mqd, 53), 1);
}

/*
 * Catches: for some positions of the read and write pointers, a resize of the ring changes the
 * number of unread dwords.
 */
static void cp_resize(struct kunit *test)
{
	struct vgpu_cp_queue_regs regs = { .ring_bytes = 4096 };
	struct rnd_state rnd;
	unsigned int i;
	__le32 *mqd;

	mqd = kunit_kzalloc(test, VGPU_CP_MQD_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mqd);
	vgpu_test_rnd(test, &rnd);
	for (i = 0; i < ROUNDS; i++) {
		u32 from = 256u << vgpu_test_random(&rnd, 4);
		u32 to = 256u << vgpu_test_random(&rnd, 4);
		u64 wptr = vgpu_test_random(&rnd, BIT_ULL(40));
		u32 left = vgpu_test_random(&rnd, min(from, to) + 1);
		u32 now, full;

		regs.ring_bytes = 4 * from;
		vgpu_mqd_init(mqd, &regs);
		mqd[128 + 54] = cpu_to_le32(lower_32_bits(wptr));
		mqd[128 + 55] = cpu_to_le32(upper_32_bits(wptr));
		mqd[128 + 10] = cpu_to_le32((wptr - left) & (from - 1));
		mqd[128 + 35] = cpu_to_le32(left == from ? BIT(31) : 0);
		regs.ring_bytes = 4 * to;
		vgpu_mqd_set_ring(mqd, &regs);
		now = (lower_32_bits(wptr) - reg(mqd, 10)) & (to - 1);
		full = reg(mqd, 35) & BIT(31) ? to : 0;
		KUNIT_ASSERT_LT(test, reg(mqd, 10), to);
		KUNIT_ASSERT_EQ(test, now ?: full, left);
		KUNIT_ASSERT_EQ(test, 2u << (reg(mqd, 17) & 0x3f), to);
	}
}

/*
 * Catches: vgpu_mqd_set_state() and vgpu_mqd_get_state() do not preserve a saved state; an invalid
 * state is accepted, or changes the MQD.
 */
static void cp_state(struct kunit *test)
{
	const struct vgpu_cp_queue_regs regs = { .ring_bytes = 4096 };
	struct vgpu_mqd_state *in, *out, bad;
	struct rnd_state rnd;
	unsigned int i, k;
	__le32 *mqd, *copy;

	mqd = kunit_kzalloc(test, VGPU_CP_MQD_BYTES, GFP_KERNEL);
	copy = kunit_kzalloc(test, VGPU_CP_MQD_BYTES, GFP_KERNEL);
	in = kunit_kzalloc(test, sizeof(*in), GFP_KERNEL);
	out = kunit_kzalloc(test, sizeof(*out), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, mqd && copy && in && out);
	vgpu_test_rnd(test, &rnd);
	for (i = 0; i < ROUNDS; i++) {
		vgpu_mqd_init(mqd, &regs);
		in->wptr = vgpu_test_random(&rnd, BIT_ULL(50));
		in->rptr = vgpu_test_random(&rnd, 1024);
		in->status = vgpu_test_random(&rnd, 4) |
			     vgpu_test_random(&rnd, 4) << 30;
		in->ib_va = 4 * vgpu_test_random(&rnd, BIT_ULL(46));
		in->ib_rptr = vgpu_test_random(&rnd, 0x100000);
		in->ib_control = BIT(31) | in->ib_rptr;
		for (k = 0; k < VGPU_CP_NUM_SH; k++)
			in->sh[k] = vgpu_test_random(&rnd, BIT_ULL(32));
		KUNIT_ASSERT_EQ(test, vgpu_mqd_set_state(mqd, in), 0);
		vgpu_mqd_get_state(mqd, out);
		KUNIT_ASSERT_MEMEQ(test, out, in, sizeof(*in));
		KUNIT_ASSERT_EQ(test, reg(mqd, 17), 9);
		KUNIT_ASSERT_EQ(test, reg(mqd, 10), in->rptr);
		KUNIT_ASSERT_EQ(test, le32_to_cpu(mqd[1]), in->sh[0]);
	}
	memcpy(copy, mqd, VGPU_CP_MQD_BYTES);
	for (i = 0; i < 5; i++) {
		bad = *in;
		if (i == 0)
			bad.rptr = 1024;
		else if (i == 1)
			bad.status |= BIT(2);
		else if (i == 2)
			bad.ib_control |= BIT(20);
		else if (i == 3)
			bad.ib_va |= 1;
		else
			bad.ib_rptr = VGPU_GET(bad.ib_control, 0xfffffu) + 1;
		KUNIT_EXPECT_EQ(test, vgpu_mqd_set_state(mqd, &bad), -EINVAL);
		KUNIT_EXPECT_MEMEQ(test, mqd, copy, VGPU_CP_MQD_BYTES);
	}
}

/**
 * struct cp_hung - a CP that hangs until @late calls vgpu_cp_give_up()
 */
struct cp_hung {
	/** @vdev: argument of vgpu_cp_give_up() */
	struct vgpu_device *vdev;
	/** @over: the hang is over; vgpu_cp_run() must not return while @over is false */
	bool over;
	/** @late: work that sets @over and ends the hang, while vgpu_cp_run() waits */
	struct delayed_work late;
};

static void cp_stop_late(struct work_struct *work)
{
	struct cp_hung *h = container_of(to_delayed_work(work), struct cp_hung,
					 late);

	WRITE_ONCE(h->over, true);
	vgpu_cp_give_up(h->vdev, false);
}

/*
 * The CP hangs, and may still run removed queues. Catches: vgpu_cp_run() returns before the CP is
 * stopped, so that memory in use is freed.
 */
static void cp_hangs(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct cp_hung *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	struct vgpu_cp *cp = &mock->hw.cp;

	KUNIT_ASSERT_NOT_NULL(test, h);
	mutex_init(&cp->lock);
	init_waitqueue_head(&cp->reset);
	/* Mark the device as lost, so that its registers are not accessed. */
	mock->hw.lost = true;
	cp->off = true;
	cp->hangs = true;
	h->vdev = &mock->vdev;
	INIT_DELAYED_WORK(&h->late, cp_stop_late);
	schedule_delayed_work(&h->late, HZ / 20);
	KUNIT_EXPECT_EQ(test, vgpu_cp_run(&mock->vdev, 0, 0), -ETIME);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(h->over));
	flush_delayed_work(&h->late);
	KUNIT_EXPECT_EQ(test, vgpu_cp_run(&mock->vdev, 0, 0), 0);
	mutex_destroy(&cp->lock);
}

/*
 * A reset loses the state of the compute queues after a run list of these queues was built.
 * Catches: vgpu_cp_run() accepts the list. (The CP would later run the queues from outdated MQDs.)
 */
static void cp_list_of_lost_queues(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct vgpu_cp *cp = &mock->hw.cp;
	u32 lost = atomic_read(&cp->lost);

	mutex_init(&cp->lock);
	init_waitqueue_head(&cp->reset);
	cp->off = true;
	cp->lists[0] = kunit_kzalloc(test, VGPU_CP_LIST_BYTES, GFP_KERNEL);
	cp->lists[1] = kunit_kzalloc(test, VGPU_CP_LIST_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, cp->lists[0] && cp->lists[1]);
	atomic_inc(&cp->lost);
	KUNIT_EXPECT_EQ(test, vgpu_cp_run(&mock->vdev, VGPU_CP_QUEUE_DWORDS, lost),
			-EAGAIN);
	KUNIT_EXPECT_EQ(test, cp->list_dwords, 0);
	lost = atomic_read(&cp->lost);
	KUNIT_EXPECT_EQ(test, vgpu_cp_run(&mock->vdev, VGPU_CP_QUEUE_DWORDS, lost), 0);
	KUNIT_EXPECT_EQ(test, cp->list_dwords, VGPU_CP_QUEUE_DWORDS + VGPU_CP_CHAIN_DWORDS);
	mutex_destroy(&cp->lock);
}

/*
 * The device is given up. Catches: after a loss of VRAM the run list is kept, so that a later reset
 * runs queues without page tables and MQDs; the list is dropped although VRAM was kept.
 */
static void cp_given_up(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct vgpu_cp *cp = &mock->hw.cp;
	int lost = atomic_read(&cp->lost);

	vgpu_mock_engines(mock);
	cp->list_dwords = VGPU_CP_QUEUE_DWORDS;
	vgpu_cp_give_up(&mock->vdev, false);
	KUNIT_EXPECT_EQ(test, cp->list_dwords, VGPU_CP_QUEUE_DWORDS);
	KUNIT_EXPECT_EQ(test, atomic_read(&cp->lost), lost);
	vgpu_cp_give_up(&mock->vdev, true);
	KUNIT_EXPECT_EQ(test, cp->list_dwords, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&cp->lost), lost + 1);
	/* Without a run list, no state of queues is lost. */
	vgpu_cp_give_up(&mock->vdev, true);
	KUNIT_EXPECT_EQ(test, atomic_read(&cp->lost), lost + 1);
	mutex_destroy(&cp->lock);
}

static struct kunit_case cp_cases[] = {
	KUNIT_CASE(cp_process),
	KUNIT_CASE(cp_queue),
	KUNIT_CASE(cp_mqd),
	KUNIT_CASE(cp_resize),
	KUNIT_CASE(cp_state),
	KUNIT_CASE(cp_hangs),
	KUNIT_CASE(cp_list_of_lost_queues),
	KUNIT_CASE(cp_given_up),
	{}
};

static struct kunit_suite cp_suite = {
	.name = "vgpu_cp_emit",
	.test_cases = cp_cases,
};

kunit_test_suite(cp_suite);
