// SPDX-License-Identifier: GPL-2.0
/*
 * Test how often reset/vgpu_reset.c resets a device (with simulated time), and what happens to
 * jobs, queues and BOs when the engines are given up.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "hw/cp/vgpu_cp.h"
#include "reset/vgpu_reset.h"
#include "reset/vgpu_reset_priv.h"
#include "tests/lib/vgpu_mock.h"

/* Start of the simulated time, shortly before jiffies wrap. */
#define START	(-60ul * HZ)
#define FENCE_MC	0x1234567000ull
/* Hardware queue of engine 0 on which a user queue is loaded. */
#define USER_QUEUE		3
#define LIST_DWORDS	VGPU_CP_QUEUE_DWORDS

/*
 * Catches: the number of resets has no limit if the device fails soon after each reset; the driver
 * resets a device that was given up.
 */
static void tries_in_a_row(struct kunit *test)
{
	struct vgpu_reset_tries tries = { 0 };
	unsigned long now = START;
	unsigned int i;

	for (i = 0; i < VGPU_RESET_TRIES; i++, now += VGPU_RESET_CALM)
		KUNIT_EXPECT_TRUE(test, vgpu_reset_tries_next(&tries, now));
	KUNIT_EXPECT_FALSE(test, vgpu_reset_tries_next(&tries, now));
	now += 10 * VGPU_RESET_CALM;
	KUNIT_EXPECT_FALSE(test, vgpu_reset_tries_next(&tries, now));
	/* Clear the number of tries, as vgpu_reset_device() does on an operator's request. */
	tries.n = 0;
	KUNIT_EXPECT_TRUE(test, vgpu_reset_tries_next(&tries, now));
}

/*
 * Catches: resets with long times between them count as consecutive, so that the driver gives the
 * device up.
 */
static void tries_apart(struct kunit *test)
{
	struct vgpu_reset_tries tries = { 0 };
	unsigned long now = START;
	unsigned int i;

	for (i = 0; i < 10 * VGPU_RESET_TRIES; i++, now += VGPU_RESET_CALM + 1)
		KUNIT_EXPECT_TRUE(test, vgpu_reset_tries_next(&tries, now));
}

/**
 * struct give_up_mock - a device that is given up after its reset has failed
 */
struct give_up_mock {
	/** @mock: device, whose BO is being copied out of VRAM */
	struct vgpu_mock *mock;
	/** @reset: vgpu_device.reset */
	struct vgpu_reset reset;
	/** @ring: ring of engine 0 */
	struct vgpu_sdma_ring *ring;
	/** @fence_wb: memory for the number of the last completed job */
	__le32 fence_wb;
	/** @ih_wptr: write pointer of the interrupt ring, which stays empty */
	__le32 ih_wptr;
	/** @job: fence of a pending job that the CPU can execute */
	struct dma_fence *job;
	/** @lock: lock of @leaving */
	spinlock_t lock;
	/** @leaving: fence of the copy of the BO */
	struct dma_fence leaving;
};

/* Bitmap of the engines for which give_up_recovered() was called. */
static unsigned long give_up_told;

/* Implements vgpu_reset_client.engine_recovered. */
static void give_up_recovered(struct vgpu_device *vdev, unsigned int engine)
{
	set_bit(engine, &give_up_told);
}

static const struct vgpu_reset_client give_up_client = {
	.engine_recovered = give_up_recovered,
};

static const char *give_up_fence_name(struct dma_fence *fence)
{
	return "vgpu_reset_test";
}

/* The fence is part of struct give_up_mock, which KUnit frees. */
static void give_up_fence_release(struct dma_fence *fence)
{
}

static const struct dma_fence_ops give_up_fence_ops = {
	.get_driver_name = give_up_fence_name,
	.get_timeline_name = give_up_fence_name,
	.release = give_up_fence_release,
};

static void give_up_fini(void *arg)
{
	struct give_up_mock *m = arg;

	flush_work(&m->reset.notify_work);
	destroy_workqueue(m->reset.wq);
	dma_fence_signal(&m->leaving);
	dma_fence_put(m->job);
}

/* Let the ring of engine 0 stop at once, and let the CPU execute its jobs. */
static void give_up_init_ring(struct kunit *test, struct give_up_mock *m)
{
	struct vgpu_ih *ih = &m->mock->hw.ih;

	m->ring = vgpu_mock_ring(test, m->mock, &m->fence_wb, FENCE_MC);
	m->ring->scratch = kunit_kcalloc(test, VGPU_SDMA_MAX_JOB_DWORDS, sizeof(u32),
					 GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->ring->scratch);
	m->mock->regs[vgpu_sdma_ring_reg(m->ring, SDMA_CONTEXT_STATUS)] =
		SDMA_CONTEXT_STATUS__IDLE;
	spin_lock_init(&ih->lock);
	mutex_init(&ih->poll_lock);
	ih->wptr_wb = &m->ih_wptr;
	/* INT_MAX is not a valid IRQ, so disable_irq() and enable_irq() do nothing. */
	ih->irq = INT_MAX;
}

static struct give_up_mock *give_up_mock_new(struct kunit *test)
{
	struct give_up_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	static const u32 nop = SDMA_OP_NOP;
	struct dma_fence *job;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	vgpu_mock_engines(m->mock);
	give_up_init_ring(test, m);
	spin_lock_init(&m->lock);
	dma_fence_init(&m->leaving, &give_up_fence_ops, &m->lock,
		       dma_fence_context_alloc(1), 1);
	job = vgpu_sdma_submit(&m->mock->vdev, 0, &nop, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(job));
	m->job = job;
	KUNIT_ASSERT_EQ(test, vgpu_reset_setup(&m->mock->vdev, &m->reset), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, give_up_fini, m), 0);
	m->reset.client = &give_up_client;
	give_up_told = 0;
	__set_bit(USER_QUEUE, &m->ring->rlc_loaded);
	m->mock->hw.cp.list_dwords = LIST_DWORDS;
	return m;
}

/*
 * VRAM is lost in a reset that fails. Catches: the BOs are not marked as lost; the client is not
 * notified; the CPU executes the pending job, so that a copy of lost content would succeed; user
 * queues continue after the next reset, without their page tables.
 */
static void give_up_lost(struct kunit *test)
{
	struct give_up_mock *m = give_up_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;

	vgpu_vram_mgr_leaves(&m->mock->bo.base, &m->leaving, 0, 0);
	atomic_inc(&m->mock->hw.base.vram_epoch);
	vgpu_reset_give_up(vdev, true);
	flush_work(&m->reset.notify_work);

	KUNIT_EXPECT_TRUE(test, m->mock->bo.vram_lost);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(vdev, VGPU_STAT_BOS_LOST), 1);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(vdev, VGPU_STAT_RECOVERY_FAILURES), 1);
	/* Catches: VRAM that is allocated from now on counts as lost. */
	KUNIT_EXPECT_EQ(test, m->mock->vdev.mman->vram.epoch, 1);
	KUNIT_EXPECT_EQ(test, give_up_told, GENMASK(VGPU_ENGINE_CP, 0));
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(m->job), -ECANCELED);
	KUNIT_EXPECT_EQ(test, m->ring->rlc_loaded, 0);
	KUNIT_EXPECT_EQ(test, m->mock->hw.cp.list_dwords, 0);
	KUNIT_EXPECT_FALSE(test, m->ring->ready);
}

/*
 * A reset fails, and VRAM is kept. Catches: BOs are marked as lost; the pending job of the kernel
 * fails; user queues are stopped for good, although they can continue after the next reset.
 */
static void give_up_kept(struct kunit *test)
{
	struct give_up_mock *m = give_up_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;

	vgpu_reset_give_up(vdev, false);
	flush_work(&m->reset.notify_work);

	KUNIT_EXPECT_EQ(test, vgpu_stat_read(vdev, VGPU_STAT_BOS_LOST), 0);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(vdev, VGPU_STAT_RECOVERY_FAILURES), 1);
	KUNIT_EXPECT_EQ(test, give_up_told, 0);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(m->job), 1);
	KUNIT_EXPECT_EQ(test, m->ring->rlc_loaded, BIT(USER_QUEUE));
	KUNIT_EXPECT_EQ(test, m->mock->hw.cp.list_dwords, LIST_DWORDS);
	KUNIT_EXPECT_FALSE(test, m->ring->ready);
}

static struct kunit_case reset_cases[] = {
	KUNIT_CASE(tries_in_a_row),
	KUNIT_CASE(tries_apart),
	KUNIT_CASE(give_up_lost),
	KUNIT_CASE(give_up_kept),
	{}
};

static struct kunit_suite reset_suite = {
	.name = "vgpu_reset",
	.test_cases = reset_cases,
};

kunit_test_suite(reset_suite);
