// SPDX-License-Identifier: GPL-2.0
/*
 * Test the mode-1 reset of hw/vgpu_hw_reset.c while another CPU runs. Catches: the reset stops
 * the other CPUs; the kernel accesses the BARs during the reset; a loss of VRAM is not
 * detected, or not counted if the reset or a resume fails; a fault of VMID 0 from before the reset
 * harms later jobs.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/vmalloc.h>

#include "vgpu/psp.h"
#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

/**
 * struct reset_mock - a device in reset; reset_psp() acts as the device's PSP
 */
struct reset_mock {
	/** @mock: device */
	struct vgpu_mock *mock;
	/** @started: reset_psp() has read the reset command */
	/** @flushed: the HDP had been flushed before the reset command */
	/** @io_closed: io_lock was held for writing at the reset command */
	/** @ih_held: vgpu_ih.poll_lock was held at the reset command */
	/** @stop: makes reset_psp() end without a reset command */
	bool started, flushed, io_closed, ih_held, stop;
	/** @epoch: vram_epoch when io_lock was released after the reset */
	int epoch;
	/** @ended: completed when reset_psp() ends */
	struct completion ended;
	/** @wptr: write-back of the interrupt ring */
	__le32 wptr;
	/** @fence_wb: number of the last completed job; always 0, because no engine runs */
	__le32 fence_wb;
};

static void reset_free_vram(void *vram)
{
	vfree(vram);
}

static struct reset_mock *reset_mock_new(struct kunit *test)
{
	struct reset_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	void *vram = vzalloc(VGPU_VRAM_RESERVED);
	struct vgpu_hw_state *hw;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, vram);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, reset_free_vram, vram), 0);
	KUNIT_ASSERT_NOT_NULL(test, m);
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs: a reset must not stop the other one");
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	init_completion(&m->ended);
	hw = &m->mock->hw;
	hw->base.vram = (void __iomem __force *)vram;
	hw->base.vram_size = VGPU_VRAM_RESERVED;
	hw->gart.table = hw->base.vram;
	hw->gart.total = VGPU_GART_PAGES;
	hw->gart.windows = VGPU_GTT_WINDOW_PAGES * VGPU_GTT_NUM_WINDOWS;
	get_random_bytes(hw->vram_magic, sizeof(hw->vram_magic));
	memcpy(vram + VGPU_VRAM_MAGIC_AT(hw), hw->vram_magic, sizeof(hw->vram_magic));
	spin_lock_init(&hw->ih.lock);
	mutex_init(&hw->ih.poll_lock);
	hw->ih.wptr_wb = &m->wptr;
	/* INT_MAX is not a valid IRQ, so disable_irq() and enable_irq() do nothing. */
	hw->ih.irq = INT_MAX;
	spin_lock_init(&hw->dump.lock);
	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		spin_lock_init(&hw->sdma[i].fence_lock);
		INIT_LIST_HEAD(&hw->sdma[i].pending);
	}
	return m;
}

/*
 * Main function of the thread that replaces the PSP: records which locks are held, and sets READY.
 * Then records vram_epoch after the release of io_lock.
 */
static int reset_psp(void *arg)
{
	struct reset_mock *m = arg;
	struct vgpu_hw_state *hw = &m->mock->hw;
	u32 *regs = m->mock->regs;

	while (!READ_ONCE(m->stop) &&
	       READ_ONCE(regs[MP0_SMN_C2PMSG_64]) != PSP_CMD_MODE1_RESET)
		cond_resched();
	if (!READ_ONCE(m->stop)) {
		m->started = true;
		m->flushed = READ_ONCE(m->mock->writes[VGPU_REMAP_PAGE / 4]);
		m->io_closed = !down_read_trylock(&hw->io_lock);
		if (!m->io_closed)
			up_read(&hw->io_lock);
		m->ih_held = !mutex_trylock(&hw->ih.poll_lock);
		if (!m->ih_held)
			mutex_unlock(&hw->ih.poll_lock);
		WRITE_ONCE(regs[MP0_SMN_C2PMSG_33], MP0_SMN_C2PMSG__READY);
		/* As a CPU that copies from VRAM: wait for io_lock, then read the epoch. */
		down_read(&hw->io_lock);
		m->epoch = atomic_read(&hw->base.vram_epoch);
		up_read(&hw->io_lock);
	}
	kthread_complete_and_exit(&m->ended, 0);
}

static int reset_run(struct kunit *test, struct reset_mock *m,
		     int (*reset)(struct vgpu_device *vdev, bool *vram_lost), bool *lost)
{
	int ret;

	vgpu_test_start_elsewhere(test, reset_psp, m);
	ret = reset(&m->mock->vdev, lost);
	WRITE_ONCE(m->stop, true);
	wait_for_completion(&m->ended);
	migrate_enable();
	return ret;
}

/*
 * Catches: the reset stops the other CPUs, to keep them off the device. (reset_psp() acts as the
 * PSP on another CPU. If the reset stops that CPU, nothing sets READY, and the reset fails.)
 */
static void reset_beside_cpu(struct kunit *test)
{
	struct reset_mock *m = reset_mock_new(test);
	struct vgpu_hw_state *hw = &m->mock->hw;
	bool lost = true;

	KUNIT_ASSERT_EQ(test, reset_run(test, m, vgpu_hw_restart, &lost), 0);
	KUNIT_EXPECT_FALSE(test, lost);
	KUNIT_EXPECT_TRUE(test, m->started);
	/* Catches: a write to VRAM is still in the HDP when the reset begins. */
	KUNIT_EXPECT_TRUE(test, m->flushed);
	/* Catches: page table updates or interrupt handlers access the device during the reset. */
	KUNIT_EXPECT_TRUE(test, m->io_closed);
	KUNIT_EXPECT_TRUE(test, m->ih_held);
	KUNIT_EXPECT_FALSE(test, rwsem_is_locked(&hw->io_lock));
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&hw->ih.poll_lock));
}

/* Simulate the loss of VRAM: overwrite the number by which the driver notices. Return its place. */
static void *reset_lose_vram(struct reset_mock *m)
{
	struct vgpu_hw_state *hw = &m->mock->hw;
	void *magic = (void __force *)hw->base.vram + VGPU_VRAM_MAGIC_AT(hw);

	return memset(magic, 0, sizeof(hw->vram_magic));
}

static void reset_vram_lost(struct kunit *test)
{
	struct reset_mock *m = reset_mock_new(test);
	struct vgpu_hw_state *hw = &m->mock->hw;
	void *magic = reset_lose_vram(m);
	bool lost = false;

	KUNIT_ASSERT_EQ(test, reset_run(test, m, vgpu_hw_restart, &lost), 0);
	KUNIT_EXPECT_TRUE(test, lost);
	KUNIT_EXPECT_MEMEQ(test, magic, hw->vram_magic, sizeof(hw->vram_magic));
}

/* CAM slot of the retry fault that reset_raise_faults() raises. */
#define RESET_CAM	5u

/*
 * Let the driver handle two faults of VMID 0, the second one a retry fault. The requests for a
 * recovery are refused, as during a suspend, because vgpu_hw_state.recover is NULL.
 */
static void reset_raise_faults(struct kunit *test, struct reset_mock *m)
{
	const struct vgpu_iv_entry fault = { .mm_hub = true };
	const struct vgpu_iv_entry retry = {
		.mm_hub = true,
		.data = { 0, IH_FAULT_D1__RETRY, RESET_CAM },
	};
	struct vgpu_device *vdev = &m->mock->vdev;

	vgpu_sdma_fault_irq(vdev, &fault, NULL);
	vgpu_sdma_fault_irq(vdev, &retry, NULL);
	KUNIT_ASSERT_EQ(test, vgpu_sdma_fault_state(vdev), VGPU_FAULT_KERNELS);
	KUNIT_ASSERT_EQ(test, atomic_read(&m->mock->hw.gart_cam), BIT(RESET_CAM));
	KUNIT_ASSERT_TRUE(test, m->mock->hw.sdma[0].fault);
	KUNIT_ASSERT_TRUE(test, m->mock->hw.sdma[0].helpless);
}

/*
 * Two faults of VMID 0 are recorded when the device is reset. Catches: GATE_KERNEL stays set, so
 * the driver clears no latched fault of a user, and kernel jobs hang; a recovery acknowledges a CAM
 * slot that another fault uses meanwhile; the old fault counts as a failure of a later job; the
 * watchdog takes the ring down.
 */
static void reset_drops_faults(struct kunit *test)
{
	struct reset_mock *m = reset_mock_new(test);
	struct vgpu_sdma_ring *ring = vgpu_mock_ring(test, m->mock, &m->fence_wb, 0);
	bool lost = true;

	reset_raise_faults(test, m);
	KUNIT_ASSERT_EQ(test, reset_run(test, m, vgpu_hw_restart, &lost), 0);
	KUNIT_EXPECT_EQ(test, vgpu_sdma_fault_state(&m->mock->vdev), VGPU_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, m->mock->regs[VGPU_GATE_REG], 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->mock->hw.gart_cam), 0);
	KUNIT_EXPECT_FALSE(test, ring->fault);
	KUNIT_EXPECT_FALSE(test, ring->helpless);
}

/*
 * A job is pending at the fault. Catches: the reset drops vgpu_sdma_ring.fault, so that a job which
 * faults each time is run again without limit.
 */
static void reset_keeps_fault_of_job(struct kunit *test)
{
	struct reset_mock *m = reset_mock_new(test);
	struct vgpu_sdma_ring *ring = vgpu_mock_ring(test, m->mock, &m->fence_wb, 0);
	static const u32 nop = SDMA_OP_NOP;
	struct dma_fence *fence;
	bool lost = true;

	fence = vgpu_sdma_submit(&m->mock->vdev, 0, &nop, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(fence));
	dma_fence_put(fence);
	reset_raise_faults(test, m);
	KUNIT_ASSERT_EQ(test, reset_run(test, m, vgpu_hw_restart, &lost), 0);
	KUNIT_EXPECT_EQ(test, vgpu_sdma_fault_state(&m->mock->vdev), VGPU_FAULT_NONE);
	KUNIT_EXPECT_TRUE(test, ring->fault);
	KUNIT_EXPECT_FALSE(test, ring->helpless);
}

/*
 * A reset loses VRAM, and then fails because the hubs acknowledge no TLB flush. Catches: the loss
 * is not reported, or vgpu_hw.vram_epoch does not change. (Copies of lost content would count as
 * valid.)
 */
static void reset_vram_lost_and_fails(struct kunit *test)
{
	struct reset_mock *m = reset_mock_new(test);
	struct vgpu_hw_state *hw = &m->mock->hw;
	struct vgpu_device *vdev = &m->mock->vdev;
	bool lost = false;

	reset_lose_vram(m);
	memset(m->mock->inv_ack, 0, sizeof(m->mock->inv_ack));
	KUNIT_EXPECT_EQ(test, reset_run(test, m, vgpu_hw_reset, &lost), -ENODEV);
	KUNIT_EXPECT_TRUE(test, m->started);
	KUNIT_EXPECT_TRUE(test, lost);
	KUNIT_EXPECT_EQ(test, atomic_read(&hw->base.vram_epoch), 1);
	/* Catches: vram_epoch changes only after the release of io_lock. */
	KUNIT_EXPECT_EQ(test, m->epoch, 1);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(vdev, VGPU_STAT_VRAM_LOST), 1);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(vdev, VGPU_STAT_DEVICE_RESETS), 0);
}

/*
 * As reset_vram_lost_and_fails(), in a resume. Catches: the loss is not reported or not counted, so
 * that page tables and blocks that count as clear are used with the content that the sleep left.
 */
static void resume_vram_lost_and_fails(struct kunit *test)
{
	struct reset_mock *m = reset_mock_new(test);
	bool lost = false;

	reset_lose_vram(m);
	memset(m->mock->inv_ack, 0, sizeof(m->mock->inv_ack));
	KUNIT_EXPECT_EQ(test, reset_run(test, m, vgpu_hw_resume, &lost), -ENODEV);
	KUNIT_EXPECT_TRUE(test, m->started);
	KUNIT_EXPECT_TRUE(test, lost);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->mock->hw.base.vram_epoch), 1);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(&m->mock->vdev, VGPU_STAT_VRAM_LOST), 1);
}

/* The device does not answer after a sleep. Catches: its VRAM counts as kept. */
static void resume_no_answer(struct kunit *test)
{
	struct reset_mock *m = reset_mock_new(test);
	bool lost = false;

	m->mock->regs[VGPU_MAGIC] = U32_MAX;
	KUNIT_EXPECT_EQ(test, vgpu_hw_resume(&m->mock->vdev, &lost), -ENODEV);
	KUNIT_EXPECT_TRUE(test, lost);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->mock->hw.base.vram_epoch), 1);
}

static struct kunit_case reset_cases[] = {
	KUNIT_CASE(reset_beside_cpu),
	KUNIT_CASE(reset_vram_lost),
	KUNIT_CASE(reset_drops_faults),
	KUNIT_CASE(reset_keeps_fault_of_job),
	KUNIT_CASE_SLOW(reset_vram_lost_and_fails),
	KUNIT_CASE_SLOW(resume_vram_lost_and_fails),
	KUNIT_CASE(resume_no_answer),
	{}
};

static struct kunit_suite reset_suite = {
	.name = "vgpu_hw_reset",
	.test_cases = reset_cases,
};

kunit_test_suite(reset_suite);
