// SPDX-License-Identifier: GPL-2.0
/*
 * Test how long TLB flushes (hw/vgpu_gmc_flush.c) wait for a hub that hangs while no recovery is
 * accepted, as during a removal. vgpu_gmc_test.c tests flushes with a recovery.
 */
#include <linux/ktime.h>

#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

#define STUCK_FLUSHES	3u

/*
 * Catches: every flush waits for the full time limit, so that a removal takes minutes; flushes
 * still fail early when the hub works again; a flush that is not acknowledged returns 0.
 */
static void flush_stuck(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	ktime_t start;
	unsigned int i;

	vgpu_mock_regs(test, mock);
	/* vgpu_hw_state.recover is NULL, so requests for a recovery are refused. */
	mock->inv_ack[VGPU_HUB_MM] = 0;
	KUNIT_EXPECT_EQ(test, vgpu_gmc_flush_tlb(&mock->vdev, BIT(3)), -ETIMEDOUT);
	start = ktime_get();
	for (i = 0; i < STUCK_FLUSHES; i++)
		KUNIT_EXPECT_EQ(test, vgpu_gmc_flush_tlb(&mock->vdev, BIT(4)), -ETIMEDOUT);
	KUNIT_EXPECT_LT(test, ktime_us_delta(ktime_get(), start), VGPU_HW_TIMEOUT_US);

	KUNIT_EXPECT_TRUE(test, mock->hw.inv_stuck);
	mock->inv_ack[VGPU_HUB_MM] = VM_INVALIDATE_ENG_ACK__PER_VMID;
	KUNIT_EXPECT_EQ(test, vgpu_gmc_flush_tlb(&mock->vdev, BIT(4)), 0);
	KUNIT_EXPECT_FALSE(test, mock->hw.inv_stuck);
}

static struct kunit_case flush_cases[] = {
	KUNIT_CASE_SLOW(flush_stuck),
	{}
};

static struct kunit_suite flush_suite = {
	.name = "vgpu_gmc_flush",
	.test_cases = flush_cases,
};

kunit_test_suite(flush_suite);
