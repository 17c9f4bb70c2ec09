// SPDX-License-Identifier: GPL-2.0
/*
 * Test the registers of both hubs that hw/vgpu_gmc.c writes for contexts, PASIDs, apertures and
 * invalidations. Catches: only one of the hubs is written.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/iopoll.h>
#include <linux/kthread.h>

#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

#define ENGINE		17	/* invalidation engine that a flush takes if all are free */
#define FB_BASE		0x8000000000ull
#define FB_OFFSET	0x2400000000ull
#define ROUNDS		300
#define ROOT(vmid)	VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid)
#define LAST(vmid)	VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(vmid)

static struct vgpu_mock *gmc_mock(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct vgpu_hw_state *hw = &mock->hw;

	vgpu_mock_regs(test, mock);
	hw->base.vram_size = SZ_1G;
	hw->base.fb_base = FB_BASE;
	hw->base.fb_offset = FB_OFFSET;
	hw->gart.total = VGPU_GART_PAGES;
	hw->gart.table_vram = SZ_1G - VGPU_VRAM_RESERVED;
	return mock;
}

static u64 hub_reg64(struct vgpu_mock *mock, unsigned int hub, u32 reg)
{
	return mock->regs[HUB(hub) + reg] |
	       (u64)mock->regs[HUB(hub) + reg + 1] << 32;
}

static void gmc_flush(struct kunit *test)
{
	const u32 levels = VM_INVALIDATE_ENG_REQ__L1_PTES |
			   VM_INVALIDATE_ENG_REQ__L2_PTES |
			   VM_INVALIDATE_ENG_REQ__L2_PDE0 |
			   VM_INVALIDATE_ENG_REQ__L2_PDE1 |
			   VM_INVALIDATE_ENG_REQ__L2_PDE2;
	struct vgpu_mock *mock = gmc_mock(test);
	atomic64_t *stats = mock->vdev.stats;
	u64 pairs = 0;
	unsigned int i, hub;

	for (i = 0; i < ROUNDS; i++) {
		u32 vmids = 1 + vgpu_mock_random(mock, 0xffff);

		KUNIT_ASSERT_EQ(test, vgpu_gmc_flush_tlb(&mock->vdev, vmids),
				0);
		pairs += VGPU_NUM_HUBS * hweight32(vmids);
		for (hub = 0; hub < VGPU_NUM_HUBS; hub++) {
			u32 req = HUB(hub) + VM_INVALIDATE_ENG_REQ(ENGINE);

			KUNIT_ASSERT_EQ(test, mock->regs[req] & 0xffff, vmids);
			KUNIT_ASSERT_EQ(test, mock->regs[req] & levels, levels);
			KUNIT_ASSERT_EQ(test, mock->writes[req], i + 1);
		}
	}
	KUNIT_EXPECT_EQ(test, atomic64_read(&stats[VGPU_STAT_INVALIDATIONS]),
			pairs);
}

/*
 * A hub acknowledges only one of two VMIDs, so the flush must fail. After the failure, no flush may
 * use the same invalidation engine until vgpu_gmc_start() is called. Catches: the failed flush
 * returns 0; a flush uses the engine too early; the engine stays unusable after vgpu_gmc_start().
 */
static void gmc_flush_timeout(struct kunit *test)
{
	const u32 req = HUB(VGPU_HUB_MM) + VM_INVALIDATE_ENG_REQ(ENGINE);
	struct vgpu_mock *mock = gmc_mock(test);
	unsigned int i;

	mock->inv_ack[VGPU_HUB_MM] = BIT(3);
	KUNIT_EXPECT_EQ(test, vgpu_gmc_flush_tlb(&mock->vdev, BIT(3) | BIT(5)),
			-ETIMEDOUT);
	for (i = 0; i < ROUNDS; i++)
		KUNIT_ASSERT_EQ(test, vgpu_gmc_flush_tlb(&mock->vdev, BIT(3)), 0);
	KUNIT_EXPECT_EQ(test, mock->writes[req], 1);

	mock->inv_ack[VGPU_HUB_MM] = VM_INVALIDATE_ENG_ACK__PER_VMID;
	KUNIT_ASSERT_EQ(test, vgpu_gmc_start(&mock->vdev), 0);
	KUNIT_EXPECT_EQ(test, mock->writes[req], 2);
	KUNIT_EXPECT_EQ(test, mock->hw.inv_free, VGPU_INV_ENGINES);
}

/**
 * struct gmc_flusher - a thread that flushes VMID 3
 * @vdev: device
 * @ret: return value of vgpu_gmc_flush_tlb()
 * @ended: completed after vgpu_gmc_flush_tlb() has returned
 */
struct gmc_flusher {
	struct vgpu_device *vdev;
	int ret;
	struct completion ended;
};

static int gmc_flusher(void *arg)
{
	struct gmc_flusher *f = arg;

	f->ret = vgpu_gmc_flush_tlb(f->vdev, BIT(3));
	kthread_complete_and_exit(&f->ended, 0);
}

/*
 * A flush uses equally numbered engines in both hubs. Return the number of the engine that was
 * requested to invalidate VMID 3, or 0.
 */
static unsigned int gmc_asked(const u32 *mmio)
{
	const unsigned long engines = VGPU_INV_ENGINES;
	unsigned int i;

	for_each_set_bit(i, &engines, VGPU_NUM_INV_ENGINES)
		if (READ_ONCE(mmio[HUB_GFX_BASE + VM_INVALIDATE_ENG_REQ(i)]) & BIT(3) &&
		    READ_ONCE(mmio[HUB_MM_BASE + VM_INVALIDATE_ENG_REQ(i)]) & BIT(3))
			return i;
	return 0;
}

/* Return a mask of the VMIDs that both hubs were requested to invalidate. */
static u32 gmc_vmids_asked(const u32 *mmio)
{
	const unsigned long engines = VGPU_INV_ENGINES;
	u32 vmids = 0;
	unsigned int i;

	for_each_set_bit(i, &engines, VGPU_NUM_INV_ENGINES)
		vmids |= READ_ONCE(mmio[HUB_GFX_BASE + VM_INVALIDATE_ENG_REQ(i)]) &
			 READ_ONCE(mmio[HUB_MM_BASE + VM_INVALIDATE_ENG_REQ(i)]);
	return vmids & VM_INVALIDATE_ENG_REQ__PER_VMID;
}

static void gmc_acknowledge(u32 *mmio, unsigned long engines)
{
	unsigned int i, hub;

	for_each_set_bit(i, &engines, VGPU_NUM_INV_ENGINES)
		for (hub = 0; hub < VGPU_NUM_HUBS; hub++)
			WRITE_ONCE(mmio[HUB(hub) + VM_INVALIDATE_ENG_ACK(i)],
				   VM_INVALIDATE_ENG_ACK__PER_VMID);
}

/*
 * Catches: a flush waits for another flush whose acknowledge is late; one flush ends with the
 * acknowledge of the other flush.
 */
static void gmc_flush_side_by_side(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct gmc_flusher *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	u32 *mmio = kunit_kzalloc(test, VGPU_MMIO_BAR_SIZE, GFP_KERNEL);
	unsigned int late;
	bool early;
	int ret;

	KUNIT_ASSERT_TRUE(test, f && mmio);
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs: threads run at the same time");
	/*
	 * Use plain memory as registers, because the mock's register accessors only work in the
	 * test's thread.
	 */
	mock->hw.mmio = (void __iomem __force *)mmio;
	f->vdev = &mock->vdev;
	init_completion(&f->ended);
	vgpu_test_start_elsewhere(test, gmc_flusher, f);
	while (!(late = gmc_asked(mmio)) && !completion_done(&f->ended))
		usleep_range(50, 100);
	gmc_acknowledge(mmio, VGPU_INV_ENGINES & ~BIT(late));
	ret = vgpu_gmc_flush_tlb(&mock->vdev, BIT(4));
	early = completion_done(&f->ended);
	gmc_acknowledge(mmio, BIT(late));
	wait_for_completion(&f->ended);
	migrate_enable();
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_FALSE(test, early);
	KUNIT_EXPECT_EQ(test, f->ret, 0);
	KUNIT_EXPECT_EQ(test, mock->hw.inv_free, VGPU_INV_ENGINES);
}

/**
 * struct gmc_recovery - a thread that recovers a device
 */
struct gmc_recovery {
	/** @vdev: device */
	struct vgpu_device *vdev;
	/** @mmio: registers of @vdev */
	u32 *mmio;
	/**
	 * @vmids: mask of VMIDs. gmc_recovery_thread() ends the recovery after the driver has asked
	 * both hubs to invalidate all these VMIDs
	 */
	u32 vmids;
	/** @requested: number of requests for a recovery */
	atomic_t requested;
	/** @what: mask of what the last request asked to recover, VGPU_RECOVER_* */
	unsigned long what;
	/** @request: completed by each request */
	struct completion request;
	/** @works: true if the recovery succeeds; false if the device is given up */
	/** @done: the recovery has ended */
	bool works, done;
	/** @ended: completed when the thread ends */
	struct completion ended;
};

static struct gmc_recovery *gmc_recovery;

static bool gmc_recover(struct vgpu_device *vdev, unsigned long what)
{
	atomic_inc(&gmc_recovery->requested);
	gmc_recovery->what = what;
	complete(&gmc_recovery->request);
	return true;
}

static int gmc_recovery_thread(void *arg)
{
	struct gmc_recovery *r = arg;
	u32 asked;

	wait_for_completion_timeout(&r->request, 10 * HZ);
	read_poll_timeout(gmc_vmids_asked, asked, !(r->vmids & ~asked), USEC_PER_MSEC,
			  10 * USEC_PER_SEC, false, r->mmio);
	WRITE_ONCE(r->done, true);
	vgpu_gmc_reset_end(r->vdev, r->works);
	kthread_complete_and_exit(&r->ended, 0);
}

static struct gmc_recovery *gmc_recovery_new(struct kunit *test, struct vgpu_mock *mock,
					     bool works, u32 vmids)
{
	struct gmc_recovery *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	u32 *mmio = kunit_kzalloc(test, VGPU_MMIO_BAR_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, r && mmio);
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs: threads run at the same time");
	/* Registers are plain memory, so no invalidation is acknowledged. */
	mock->hw.mmio = (void __iomem __force *)mmio;
	mock->hw.recover = gmc_recover;
	r->vdev = &mock->vdev;
	r->mmio = mmio;
	r->vmids = vmids;
	r->works = works;
	init_completion(&r->request);
	init_completion(&r->ended);
	gmc_recovery = r;
	return r;
}

/*
 * Two flushes are not acknowledged. Catches: a flush returns before the reset has emptied the TLBs;
 * the second caller causes a second reset.
 */
static void gmc_flush_resets(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct gmc_recovery *r = gmc_recovery_new(test, mock, true, BIT(3) | BIT(4));
	struct gmc_flusher *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	bool done;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->vdev = &mock->vdev;
	init_completion(&f->ended);
	vgpu_test_start_elsewhere(test, gmc_flusher, f);
	vgpu_test_start_elsewhere(test, gmc_recovery_thread, r);
	ret = vgpu_gmc_flush_tlb(&mock->vdev, BIT(4));
	done = READ_ONCE(r->done);
	wait_for_completion(&f->ended);
	wait_for_completion(&r->ended);
	migrate_enable();
	migrate_enable();
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_TRUE(test, done);
	KUNIT_EXPECT_EQ(test, f->ret, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->requested), 1);
	KUNIT_EXPECT_EQ(test, r->what, VGPU_RECOVER_DEVICE);
}

/*
 * The device was given up. Catches: a flush never returns; a flush requests a reset; a flush uses
 * an invalidation engine, which would not acknowledge.
 */
static void gmc_flush_given_up(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct gmc_recovery *r = gmc_recovery_new(test, mock, false, BIT(4));
	unsigned long engines;
	int first, second;

	vgpu_test_start_elsewhere(test, gmc_recovery_thread, r);
	first = vgpu_gmc_flush_tlb(&mock->vdev, BIT(4));
	wait_for_completion(&r->ended);
	engines = mock->hw.inv_free;
	second = vgpu_gmc_flush_tlb(&mock->vdev, BIT(4));
	migrate_enable();
	KUNIT_EXPECT_EQ(test, first, 0);
	KUNIT_EXPECT_EQ(test, second, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mock->hw.inv_free, engines);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->requested), 1);
}

/* Catches: a flush by the recovery's own thread requests a recovery and waits for it. */
static void gmc_try_flush(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct gmc_recovery *r = gmc_recovery_new(test, mock, true, 0);

	KUNIT_EXPECT_EQ(test, vgpu_gmc_try_flush(&mock->vdev, BIT(0)), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, vgpu_gart_try_flush(&mock->vdev), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->requested), 0);
}

/*
 * Catches: an invalidation engine drops only some translations, because its address range was not
 * set.
 */
static void gmc_flush_ranges(struct kunit *test)
{
	const unsigned long engines = VGPU_INV_ENGINES;
	struct vgpu_mock *mock = gmc_mock(test);
	unsigned int i, hub;

	KUNIT_ASSERT_EQ(test, vgpu_gmc_start(&mock->vdev), 0);
	for_each_set_bit(i, &engines, VGPU_NUM_INV_ENGINES)
		for (hub = 0; hub < VGPU_NUM_HUBS; hub++)
			KUNIT_EXPECT_EQ(test,
					hub_reg64(mock, hub, VM_INVALIDATE_ENG_ADDR_RANGE_LO32(i)),
					BIT_ULL(36) - 1);
}

static void gmc_expect_roots(struct kunit *test, struct vgpu_mock *mock,
			     const u64 *want)
{
	unsigned int hub, vmid;

	for (hub = 0; hub < VGPU_NUM_HUBS; hub++)
		for (vmid = 1; vmid < VGPU_NUM_VMIDS; vmid++)
			KUNIT_ASSERT_EQ_MSG(test,
					    hub_reg64(mock, hub, ROOT(vmid)),
					    want[vmid], "hub %u, VMID %u", hub,
					    vmid);
}

/*
 * Set and clear contexts in random order. Catches: the context of another VMID is changed; a
 * change does not flush the VMID of the context.
 */
static void gmc_contexts(struct kunit *test)
{
	struct vgpu_mock *mock = gmc_mock(test);
	u64 want[VGPU_NUM_VMIDS] = {};
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		u32 req = HUB(VGPU_HUB_GFX) + VM_INVALIDATE_ENG_REQ(ENGINE);
		unsigned int vmid = 1 + vgpu_mock_random(mock, 15);
		u64 root = vgpu_mock_random(mock, SZ_1G >> PAGE_SHIFT) <<
			   PAGE_SHIFT;

		if (vgpu_mock_random(mock, 3)) {
			vgpu_gmc_set_context(&mock->vdev, vmid, root);
			want[vmid] = (root + FB_OFFSET) | 1;
		} else {
			vgpu_gmc_clear_context(&mock->vdev, vmid);
			want[vmid] = 0;
		}
		gmc_expect_roots(test, mock, want);
		KUNIT_ASSERT_EQ(test, mock->regs[req] & 0xffff, BIT(vmid));
	}
}

static void gmc_expect_pasids(struct kunit *test, struct vgpu_mock *mock,
			      const u16 *want)
{
	unsigned int vmid;

	for (vmid = 1; vmid < VGPU_NUM_VMIDS; vmid++) {
		u32 atc = want[vmid] ?
			  want[vmid] | ATC_VMID_PASID_MAPPING__VALID : 0;

		KUNIT_ASSERT_EQ(test, mock->regs[ATC_VMID_PASID_MAPPING(vmid)],
				atc);
		KUNIT_ASSERT_EQ(test,
				mock->regs[ATC_VMID_PASID_MAPPING(vmid + 16)],
				atc);
		KUNIT_ASSERT_EQ(test, mock->regs[IH_VMID_LUT(vmid)],
				want[vmid]);
		KUNIT_ASSERT_EQ(test, mock->regs[IH_VMID_LUT_MM(vmid)],
				want[vmid]);
	}
}

static void gmc_pasids(struct kunit *test)
{
	struct vgpu_mock *mock = gmc_mock(test);
	u16 want[VGPU_NUM_VMIDS] = {};
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		unsigned int vmid = 1 + vgpu_mock_random(mock, 15);

		want[vmid] = vgpu_mock_random(mock, 4) ?
			     vgpu_mock_random(mock, 0x10000) : 0;
		vgpu_gmc_set_pasid(&mock->vdev, vmid, want[vmid]);
		gmc_expect_pasids(test, mock, want);
	}
}

/*
 * A reset clears all registers. Catches: vgpu_gmc_start() does not restore the contexts and PASIDs
 * from before the reset.
 */
static void gmc_reset(struct kunit *test)
{
	struct vgpu_mock *mock = gmc_mock(test);
	u64 roots[VGPU_NUM_VMIDS] = {};
	u16 pasids[VGPU_NUM_VMIDS] = {};
	unsigned int vmid;

	for (vmid = 2; vmid < VGPU_NUM_VMIDS; vmid += 3) {
		vgpu_gmc_set_context(&mock->vdev, vmid, vmid * PAGE_SIZE);
		vgpu_gmc_set_pasid(&mock->vdev, vmid, 100 * vmid);
		roots[vmid] = (vmid * PAGE_SIZE + FB_OFFSET) | 1;
		pasids[vmid] = 100 * vmid;
	}
	memset(mock->regs, 0, VGPU_MMIO_DWORDS * sizeof(u32));
	KUNIT_ASSERT_EQ(test, vgpu_gmc_start(&mock->vdev), 0);
	gmc_expect_roots(test, mock, roots);
	gmc_expect_pasids(test, mock, pasids);
}

/* Check that the FB aperture covers exactly VRAM. */
static void gmc_apertures(struct kunit *test)
{
	struct vgpu_mock *mock = gmc_mock(test);
	u64 last = FB_BASE + SZ_1G - 1;
	unsigned int hub;

	KUNIT_ASSERT_EQ(test, vgpu_gmc_start(&mock->vdev), 0);
	for (hub = 0; hub < VGPU_NUM_HUBS; hub++) {
		const u32 *regs = mock->regs + HUB(hub);

		KUNIT_EXPECT_EQ(test, (u64)regs[MC_VM_FB_LOCATION_BASE] << 24,
				FB_BASE);
		KUNIT_EXPECT_EQ(test, regs[MC_VM_FB_LOCATION_TOP], last >> 24);
		KUNIT_EXPECT_EQ(test, regs[MC_VM_SYSTEM_APERTURE_LOW_ADDR],
				FB_BASE >> 18);
		KUNIT_EXPECT_EQ(test, regs[MC_VM_SYSTEM_APERTURE_HIGH_ADDR],
				last >> 18);
		KUNIT_EXPECT_GT(test, regs[MC_VM_AGP_BOT],
				regs[MC_VM_AGP_TOP]);
	}
}

/*
 * The device is node 2 of a hive. Check the FB aperture, page-table roots, vgpu_xgmi_offset() and
 * vgpu_xgmi_linked().
 */
static void gmc_hive(struct kunit *test)
{
	struct vgpu_mock *mock = gmc_mock(test);
	struct vgpu_mock *other = gmc_mock(test);
	struct vgpu_hw_state *hw = &mock->hw;
	unsigned int hub;

	hw->base.xgmi = (struct vgpu_xgmi) {
		.hive = 7, .segment = SZ_1G, .node = 2,
	};
	other->vdev.hw->xgmi = hw->base.xgmi;
	other->vdev.hw->xgmi.node = 0;
	hw->base.fb_base += 2ull * SZ_1G;
	hw->base.fb_offset += 2ull * SZ_1G;
	KUNIT_ASSERT_EQ(test, vgpu_gmc_start(&mock->vdev), 0);
	for (hub = 0; hub < VGPU_NUM_HUBS; hub++) {
		const u32 *regs = mock->regs + HUB(hub);

		/* The FB aperture begins at the VRAM of node 0. */
		KUNIT_EXPECT_EQ(test, (u64)regs[MC_VM_FB_LOCATION_BASE] << 24,
				FB_BASE);
		KUNIT_EXPECT_EQ(test, regs[MC_VM_FB_LOCATION_TOP],
				(FB_BASE + 3ull * SZ_1G - 1) >> 24);
		/* Page-table roots are addresses in the segment of node 2. */
		KUNIT_EXPECT_EQ(test, hub_reg64(mock, hub, ROOT(0)),
				(hw->gart.table_vram + FB_OFFSET +
				 2ull * SZ_1G) | 1);
	}
	KUNIT_EXPECT_EQ(test, vgpu_xgmi_offset(&other->vdev, &mock->vdev),
			2ull * SZ_1G);
	KUNIT_EXPECT_EQ(test, vgpu_xgmi_offset(&mock->vdev, &other->vdev),
			-2ull * SZ_1G);

	/* Two GPUs are linked if they are in one hive and XGMI_LINKS has the bit of the peer. */
	mock->regs[VGPU_XGMI_LINKS] = BIT(0);
	KUNIT_EXPECT_TRUE(test, vgpu_xgmi_linked(&mock->vdev, &other->vdev));
	mock->regs[VGPU_XGMI_LINKS] = BIT(1) | BIT(2);
	KUNIT_EXPECT_FALSE(test, vgpu_xgmi_linked(&mock->vdev, &other->vdev));
	mock->regs[VGPU_XGMI_LINKS] = U32_MAX;
	other->vdev.hw->xgmi.hive = 8;
	KUNIT_EXPECT_FALSE(test, vgpu_xgmi_linked(&mock->vdev, &other->vdev));
}

/* Check the page-table levels and retry bits of all VMIDs. */
static void gmc_context_kinds(struct kunit *test)
{
	struct vgpu_mock *mock = gmc_mock(test);
	u64 table = mock->hw.gart.table_vram;
	unsigned int hub, vmid;

	KUNIT_ASSERT_EQ(test, vgpu_gmc_start(&mock->vdev), 0);
	for (hub = 0; hub < VGPU_NUM_HUBS; hub++) {
		u32 cntl = mock->regs[HUB(hub) + VM_CONTEXT_CNTL(0)];

		/* VMID 0 has one level, which is the GART's table, and does not retry faults. */
		KUNIT_EXPECT_EQ(test, VGPU_GET(cntl, 0x6u), 0);
		KUNIT_EXPECT_FALSE(test, cntl & 0x80);
		KUNIT_EXPECT_EQ(test, hub_reg64(mock, hub, ROOT(0)),
				(table + FB_OFFSET) | 1);
		KUNIT_EXPECT_EQ(test, hub_reg64(mock, hub, LAST(0)),
				VGPU_GART_PAGES - 1);
		for (vmid = 1; vmid < VGPU_NUM_VMIDS; vmid++) {
			cntl = mock->regs[HUB(hub) + VM_CONTEXT_CNTL(vmid)];
			KUNIT_EXPECT_TRUE(test, cntl & 1);
			/* KFD's VMIDs (above 2) retry faults, the render node's VMIDs do not. */
			KUNIT_EXPECT_EQ(test, !!(cntl & 0x80), vmid > 2);
			/* The depth counts PDB1 and PDB0, but neither the root PDB2 nor PTB. */
			KUNIT_EXPECT_EQ(test, VGPU_GET(cntl, 0x6u), 2);
			KUNIT_EXPECT_EQ(test, VGPU_GET(cntl, 0x78u), 9);
			KUNIT_EXPECT_EQ(test, hub_reg64(mock, hub, LAST(vmid)),
					BIT_ULL(36) - 1);
		}
	}
}

/*
 * Catches: vgpu_sdma_fault_state() returns VGPU_FAULT_USERS although a fault of VMID 0 is latched,
 * or although MORE_FAULTS shows that a fault of VMID 0 may have been dropped.
 */
static void gmc_fault_state(struct kunit *test)
{
	struct vgpu_mock *mock = gmc_mock(test);
	struct vgpu_device *vdev = &mock->vdev;
	u32 *status = &mock->regs[HUB(VGPU_HUB_MM) +
				  VM_L2_PROTECTION_FAULT_STATUS];
	unsigned int vmid;

	KUNIT_EXPECT_EQ(test, vgpu_sdma_fault_state(vdev), VGPU_FAULT_NONE);
	/* The registers of a removed device read as all ones, which is not a fault. */
	*status = U32_MAX;
	KUNIT_EXPECT_EQ(test, vgpu_sdma_fault_state(vdev), VGPU_FAULT_NONE);
	for (vmid = 0; vmid < VGPU_NUM_VMIDS; vmid++) {
		*status = vmid << 20 | 0x10;
		KUNIT_EXPECT_EQ(test, vgpu_sdma_fault_state(vdev),
				vmid ? VGPU_FAULT_USERS : VGPU_FAULT_KERNELS);
		*status |= VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS;
		KUNIT_EXPECT_EQ(test, vgpu_sdma_fault_state(vdev),
				vmid ? VGPU_FAULT_UNKNOWN : VGPU_FAULT_KERNELS);
	}
}

static struct kunit_case gmc_cases[] = {
	KUNIT_CASE(gmc_flush),
	KUNIT_CASE(gmc_flush_timeout),
	KUNIT_CASE(gmc_flush_side_by_side),
	KUNIT_CASE(gmc_flush_resets),
	KUNIT_CASE(gmc_flush_given_up),
	KUNIT_CASE(gmc_try_flush),
	KUNIT_CASE(gmc_flush_ranges),
	KUNIT_CASE(gmc_contexts),
	KUNIT_CASE(gmc_pasids),
	KUNIT_CASE(gmc_reset),
	KUNIT_CASE(gmc_apertures),
	KUNIT_CASE(gmc_hive),
	KUNIT_CASE(gmc_context_kinds),
	KUNIT_CASE(gmc_fault_state),
	{}
};

static struct kunit_suite gmc_suite = {
	.name = "vgpu_gmc",
	.test_cases = gmc_cases,
};

kunit_test_suite(gmc_suite);
