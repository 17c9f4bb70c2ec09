// SPDX-License-Identifier: GPL-2.0
/*
 * Test faults of VMID 0 and users' VMIDs. Catches: a kernel job counts as done despite a fault of
 * VMID 0; a user's fault blocks kernel jobs forever; work for a fault runs during a suspend.
 */
#include <kunit/static_stub.h>

#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

#define ENTRIES		(IH_RING_BYTES / IH_ENTRY_BYTES)
#define USER_VMID	3u

/**
 * struct fault_mock - a device with an interrupt ring and one engine's ring
 */
struct fault_mock {
	/** @mock: device */
	struct vgpu_mock *mock;
	/** @wptr: write pointer of the interrupt ring */
	__le32 wptr;
	/** @fence_wb: number of the last completed job; always 0, because no job is submitted */
	__le32 fence_wb;
	/** @next: number of interrupt entries written so far */
	u32 next;
	/**
	 * @late: number of entries of VMID 0 that fault_meanwhile() writes, as if these faults
	 * occurred while the driver handles a user's entry
	 */
	u32 late;
	/** @gate: value of VGPU_GATE_REG while the last entry was handled; 0 is open */
	u32 gate;
	/**
	 * @waiting: number of entries of VMID 0 that fault_rreg() writes at the next read of
	 * IH_STATUS, as if the IOMMU had just translated the ring's address
	 */
	u32 waiting;
	/** @status_reads: number of reads of IH_STATUS that fault_rreg() has seen */
	u32 status_reads;
	/** @queued: fault_work was queued since the last call of fault_run_work() */
	bool queued;
	/** @asked: mask of the recoveries that were requested, VGPU_RECOVER_* */
	unsigned long asked;
};

/*
 * Mock of the running test. A global variable, because fault_recover() gets no pointer to the mock.
 */
static struct fault_mock *fault_current;

static u32 *fault_reg(struct fault_mock *m, u32 reg)
{
	return &m->mock->regs[reg];
}

static bool fault_recover(struct vgpu_device *vdev, unsigned long what)
{
	fault_current->asked |= what;
	return true;
}

static void fault_put(struct fault_mock *m, u32 vmid, bool retry)
{
	__le32 *dw = m->mock->hw.ih.ring + m->next % ENTRIES * 8;

	memset(dw, 0, IH_ENTRY_BYTES);
	dw[0] = cpu_to_le32(IH_CLIENT_VMC | IH_SRC_VM_FAULT << 8 | vmid << 24 |
			    IH_DW0__VMID_SRC);
	dw[5] = cpu_to_le32(retry ? IH_FAULT_D1__RETRY : 0);
	m->next++;
	m->wptr = cpu_to_le32(m->next % ENTRIES * IH_ENTRY_BYTES);
}

/*
 * Mock of the hardware, called after vgpu_sdma_fault_irq(). Does what hardware would have done
 * during that call: clear the latched fault if requested, and write fault_mock.late entries.
 */
static void fault_meanwhile(struct vgpu_device *vdev,
			    const struct vgpu_iv_entry *iv, void *arg)
{
	u32 cntl = HUB(VGPU_HUB_MM) + VM_L2_PROTECTION_FAULT_CNTL;
	struct fault_mock *m = arg;

	if (*fault_reg(m, cntl) & VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR)
		*fault_reg(m, VGPU_FAULT_STATUS_REG) = 0;
	*fault_reg(m, cntl) = 0;
	m->gate = *fault_reg(m, VGPU_GATE_REG);
	for (; m->late; m->late--)
		fault_put(m, 0, false);
}

/* Replaces the function that reads registers, if a test needs the entries of fault_mock.waiting. */
static u32 fault_rreg(struct vgpu_device *vdev, u32 reg)
{
	struct fault_mock *m = fault_current;

	if (reg == IH_STATUS) {
		m->status_reads++;
		for (; m->waiting; m->waiting--)
			fault_put(m, 0, false);
	}
	return *fault_reg(m, reg);
}

/*
 * Replaces vgpu_sdma_fault_work() as the function of fault_work. Only the test's thread can access
 * registers, so fault_run_work() calls vgpu_sdma_fault_work() in that thread.
 */
static void fault_note_work(struct work_struct *work)
{
	WRITE_ONCE(fault_current->queued, true);
}

/* Run fault_work in the test's thread if the driver has queued it. Returns false if it has not. */
static bool fault_run_work(struct fault_mock *m)
{
	struct delayed_work *work = &m->mock->hw.fault_work;

	flush_delayed_work(work);
	if (!READ_ONCE(m->queued))
		return false;
	WRITE_ONCE(m->queued, false);
	vgpu_sdma_fault_work(&work->work);
	return true;
}

static void fault_mock_fini(void *arg)
{
	struct fault_mock *m = arg;

	cancel_delayed_work_sync(&m->mock->hw.fault_work);
}

static struct fault_mock *fault_mock_new(struct kunit *test)
{
	struct fault_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct vgpu_hw_state *hw;

	KUNIT_ASSERT_NOT_NULL(test, m);
	fault_current = m;
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	hw = &m->mock->hw;
	hw->ih.ring = kunit_kzalloc(test, IH_RING_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, hw->ih.ring);
	spin_lock_init(&hw->ih.lock);
	mutex_init(&hw->ih.poll_lock);
	/* INT_MAX is not a valid IRQ, so disable_irq() and enable_irq() do nothing. */
	hw->ih.irq = INT_MAX;
	spin_lock_init(&hw->dump.lock);
	spin_lock_init(&hw->sdma[0].fence_lock);
	INIT_DELAYED_WORK(&hw->fault_work, fault_note_work);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, fault_mock_fini,
							m), 0);
	hw->ih.wptr_wb = &m->wptr;
	INIT_LIST_HEAD(&hw->sdma[0].pending);
	init_waitqueue_head(&hw->sdma[0].space);
	hw->sdma[0].vdev = &m->mock->vdev;
	hw->sdma[0].fence_wb = &m->fence_wb;
	hw->sdma[0].ready = true;
	hw->recover = fault_recover;
	vgpu_ih_start(&m->mock->vdev);
	vgpu_ih_register(&m->mock->vdev, IH_CLIENT_VMC, IH_SRC_VM_FAULT,
			 vgpu_sdma_fault_irq, NULL);
	vgpu_ih_register(&m->mock->vdev, IH_CLIENT_VMC, IH_SRC_VM_FAULT,
			 fault_meanwhile, m);
	return m;
}

static void fault_latch(struct fault_mock *m, u32 vmid, bool more)
{
	*fault_reg(m, VGPU_FAULT_STATUS_REG) =
		VGPU_PREP(VM_L2_PROTECTION_FAULT_STATUS__CID, 0x80u) |
		VGPU_PREP(VM_L2_PROTECTION_FAULT_STATUS__VMID, vmid) |
		(more ? VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS : 0);
}

static void fault_expect_open(struct kunit *test, struct fault_mock *m)
{
	KUNIT_EXPECT_EQ(test, m->asked, 0);
	KUNIT_EXPECT_EQ(test, *fault_reg(m, VGPU_GATE_REG), 0);
	KUNIT_EXPECT_EQ(test, *fault_reg(m, VGPU_FAULT_STATUS_REG), 0);
	KUNIT_EXPECT_FALSE(test, m->mock->hw.sdma[0].frozen);
	KUNIT_EXPECT_EQ(test, vgpu_sdma_fault_state(&m->mock->vdev),
			VGPU_FAULT_NONE);
}

static void fault_expect_shut(struct kunit *test, struct fault_mock *m)
{
	KUNIT_EXPECT_EQ(test, m->asked,
			VGPU_RECOVER_GART | VGPU_RECOVER_RINGS);
	KUNIT_EXPECT_NE(test, *fault_reg(m, VGPU_GATE_REG), 0);
	KUNIT_EXPECT_TRUE(test, m->mock->hw.sdma[0].frozen);
	KUNIT_EXPECT_EQ(test, vgpu_sdma_fault_state(&m->mock->vdev),
			VGPU_FAULT_KERNELS);
}

/* The gate is closed because of a user's fault, and no fault of VMID 0 was seen. */
static void fault_expect_waiting(struct kunit *test, struct fault_mock *m)
{
	KUNIT_EXPECT_EQ(test, m->asked, 0);
	KUNIT_EXPECT_NE(test, *fault_reg(m, VGPU_GATE_REG), 0);
	KUNIT_EXPECT_FALSE(test, m->mock->hw.sdma[0].frozen);
	KUNIT_EXPECT_EQ(test, vgpu_sdma_fault_state(&m->mock->vdev),
			VGPU_FAULT_UNKNOWN);
}

/*
 * A closed gate (VGPU_GATE_REG is not 0) keeps kernel jobs from ending. Check that the driver
 * closes the gate while clearing a user's fault.
 */
static void fault_of_user(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);
	unsigned int i;

	for (i = 0; i < 4; i++) {
		fault_latch(m, USER_VMID, i % 2);
		fault_put(m, USER_VMID, false);
		vgpu_ih_service(&m->mock->vdev);
		KUNIT_EXPECT_NE(test, m->gate, 0);
		fault_expect_open(test, m);
	}
}

static void fault_of_kernel(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);

	fault_latch(m, 0, false);
	fault_put(m, 0, false);
	vgpu_ih_service(&m->mock->vdev);
	fault_expect_shut(test, m);
	vgpu_sdma_faults_over(&m->mock->vdev);
	KUNIT_EXPECT_EQ(test, *fault_reg(m, VGPU_GATE_REG), 0);
}

/*
 * The fault entry of VMID 0 arrives while a user's fault is cleared. Catches: the driver opens the
 * gate (VGPU_GATE_REG), so the faulted kernel job ends without a recovery.
 */
static void fault_behind_user(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);

	fault_latch(m, USER_VMID, true);
	fault_put(m, USER_VMID, false);
	m->late = 1;
	vgpu_ih_service(&m->mock->vdev);
	KUNIT_EXPECT_EQ(test, m->next, 2);
	fault_expect_shut(test, m);
}

/*
 * VMID 0's fault is latched, but only a user's fault has an interrupt entry. Catches: the interrupt
 * handler clears the fault or opens the gate (VGPU_GATE_REG). Only the recovery may do so.
 */
static void fault_before_user(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);

	fault_latch(m, 0, true);
	fault_put(m, USER_VMID, false);
	vgpu_ih_service(&m->mock->vdev);
	fault_expect_shut(test, m);
	KUNIT_EXPECT_NE(test, *fault_reg(m, VGPU_FAULT_STATUS_REG), 0);
}

/* Check that retry faults do not close the gate (VGPU_GATE_REG stays 0). */
static void fault_retried(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);

	fault_put(m, USER_VMID, true);
	vgpu_ih_service(&m->mock->vdev);
	KUNIT_EXPECT_EQ(test, m->gate, 0);
	fault_expect_open(test, m);
}

/*
 * A fault is latched, but has no interrupt entry. Check that vgpu_sdma_fault_lost() closes the gate
 * (VGPU_GATE_REG), and that the gate opens again unless VMID 0 faulted.
 */
static void fault_unreported(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;

	unsigned int more;

	vgpu_sdma_fault_lost(vdev);
	fault_expect_open(test, m);

	for (more = 0; more < 2; more++) {
		fault_latch(m, USER_VMID, more);
		KUNIT_EXPECT_EQ(test, vgpu_sdma_fault_state(vdev),
				more ? VGPU_FAULT_UNKNOWN : VGPU_FAULT_USERS);
		vgpu_sdma_fault_lost(vdev);
		KUNIT_EXPECT_NE(test, *fault_reg(m, VGPU_GATE_REG), 0);
		*fault_reg(m, VGPU_FAULT_STATUS_REG) = 0;
		KUNIT_EXPECT_EQ(test, vgpu_sdma_fault_state(vdev),
				VGPU_FAULT_UNKNOWN);
		vgpu_ih_service(vdev);
		fault_expect_open(test, m);
	}

	fault_latch(m, 0, false);
	vgpu_sdma_fault_lost(vdev);
	fault_expect_shut(test, m);
}

/*
 * The interrupt ring overflows, so the entry of a VMID 0 fault may be lost. Catches: the gate
 * (VGPU_GATE_REG) is open afterwards. (It must be closed, so that no kernel job ends.)
 */
static void fault_overflow(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;

	fault_latch(m, USER_VMID, true);
	m->wptr = cpu_to_le32(IH_RB_WPTR__RB_OVERFLOW);
	*fault_reg(m, IH_RB_WPTR) = (to_hw_state(vdev)->ih.rptr - IH_ENTRY_BYTES) &
				    IH_RING_MASK;
	vgpu_ih_service(vdev);
	fault_expect_shut(test, m);
}

static void fault_raise_users(struct fault_mock *m)
{
	fault_latch(m, USER_VMID, true);
	fault_put(m, USER_VMID, false);
}

/*
 * Let the driver handle a user's fault, which closes the gate, while another entry waits for an
 * IOMMU. The gate's time limit lies far in the future, so that a slow machine does not reach it.
 */
static void fault_close_gate(struct fault_mock *m)
{
	fault_raise_users(m);
	*fault_reg(m, IH_STATUS) = 0;
	vgpu_ih_service(&m->mock->vdev);
	m->mock->hw.gate_since += 600 * HZ;
}

/* Act as if a user's fault had closed the gate two seconds ago. */
static void fault_age_gate(struct fault_mock *m)
{
	m->mock->hw.gate_since = jiffies - 2 * HZ;
}

static struct fault_mock *fault_mock_behind_iommu(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);

	fault_close_gate(m);
	return m;
}

/*
 * Behind an IOMMU, the entry of a VMID 0 fault reaches the ring after the driver has handled a
 * user's fault. Catches: the driver opens the gate (VGPU_GATE_REG) before that, so the faulted
 * kernel job ends without a recovery.
 */
static void fault_waits_for_iommu(struct kunit *test)
{
	struct fault_mock *m = fault_mock_behind_iommu(test);
	struct vgpu_device *vdev = &m->mock->vdev;

	fault_expect_waiting(test, m);
	/* An interrupt of another entry does not open the gate either. */
	vgpu_ih_service(vdev);
	fault_expect_waiting(test, m);

	fault_put(m, 0, false);
	*fault_reg(m, IH_STATUS) = IH_STATUS__IDLE;
	vgpu_ih_service(vdev);
	fault_expect_shut(test, m);
}

/*
 * The entry that waits for an IOMMU is dropped, so no interrupt follows. Catches: the gate
 * (VGPU_GATE_REG) stays closed, and kernel jobs hang.
 */
static void fault_dropped_by_iommu(struct kunit *test)
{
	struct fault_mock *m = fault_mock_behind_iommu(test);

	KUNIT_EXPECT_TRUE(test, fault_run_work(m));
	fault_expect_waiting(test, m);
	*fault_reg(m, IH_STATUS) = IH_STATUS__IDLE;
	KUNIT_EXPECT_TRUE(test, fault_run_work(m));
	fault_expect_open(test, m);
	KUNIT_EXPECT_FALSE(test, fault_run_work(m));
}

/*
 * The IH never becomes idle. Catches: the driver rechecks the gate (VGPU_GATE_REG) without limit,
 * and kernel jobs hang; the limit counts as a fault of VMID 0, so that it ends a user's job; a
 * fault of VMID 0 whose entry comes after the limit is ignored.
 */
static void fault_waits_forever(struct kunit *test)
{
	struct fault_mock *m = fault_mock_behind_iommu(test);

	KUNIT_EXPECT_TRUE(test, fault_run_work(m));
	fault_expect_waiting(test, m);
	fault_age_gate(m);
	KUNIT_EXPECT_TRUE(test, fault_run_work(m));
	fault_expect_open(test, m);
	KUNIT_EXPECT_FALSE(test, m->mock->hw.sdma[0].fault);
	KUNIT_EXPECT_FALSE(test, fault_run_work(m));

	fault_put(m, 0, false);
	vgpu_ih_service(&m->mock->vdev);
	fault_expect_shut(test, m);
}

/*
 * Users fault all the time while the IH is not idle. Catches: each fault postpones the limit or
 * fault_work, so that the gate (VGPU_GATE_REG) stays closed, and the watchdog takes kernel jobs for
 * hangs; after the limit, a new fault does not close the gate.
 */
static void fault_users_go_on(struct kunit *test)
{
	struct fault_mock *m = fault_mock_behind_iommu(test);
	unsigned int i;

	/* Faults that come before fault_work can run. */
	for (i = 0; i < 4; i++) {
		fault_raise_users(m);
		vgpu_ih_service(&m->mock->vdev);
		fault_expect_waiting(test, m);
	}
	fault_age_gate(m);
	fault_raise_users(m);
	vgpu_ih_service(&m->mock->vdev);
	fault_expect_open(test, m);

	/* A fault that fault_work finds latched: fault_work queues itself for this fault. */
	fault_close_gate(m);
	fault_expect_waiting(test, m);
	fault_age_gate(m);
	fault_raise_users(m);
	KUNIT_EXPECT_TRUE(test, fault_run_work(m));
	fault_expect_open(test, m);
}

static void fault_no_watchdog(struct work_struct *work)
{
}

/*
 * The system is suspended while the gate is closed. Catches: fault_work accesses the device during
 * the sleep. (fault_work is queued with a long delay, so that it cannot run by itself.)
 */
static void fault_suspended(struct kunit *test)
{
	struct fault_mock *m = fault_mock_behind_iommu(test);
	struct vgpu_hw_state *hw = &m->mock->hw;
	unsigned int i;

	vgpu_mock_engines(m->mock);
	for (i = 0; i < SDMA_NUM_ENGINES; i++) {
		struct vgpu_sdma_ring *ring = &hw->sdma[i];

		INIT_DELAYED_WORK(&ring->watchdog, fault_no_watchdog);
		ring->fence_wb = &m->fence_wb;
		*fault_reg(m, vgpu_sdma_ring_reg(ring, SDMA_CONTEXT_STATUS)) =
			SDMA_CONTEXT_STATUS__IDLE;
	}
	mod_delayed_work(system_wq, &hw->fault_work, 600 * HZ);
	vgpu_hw_suspend(&m->mock->vdev);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&hw->fault_work));
}

/*
 * The entry of a VMID 0 fault reaches the ring while the driver reads IH_STATUS, and the IH is idle
 * then. Catches: the driver has read the write pointer before, so it opens the gate (VGPU_GATE_REG)
 * without the entry.
 */
static void fault_written_meanwhile(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);

	kunit_activate_static_stub(test, vgpu_rreg, fault_rreg);
	fault_latch(m, USER_VMID, true);
	fault_put(m, USER_VMID, false);
	m->waiting = 1;
	vgpu_ih_service(&m->mock->vdev);
	KUNIT_EXPECT_EQ(test, m->next, 2);
	fault_expect_shut(test, m);
}

/*
 * Catches: an interrupt without a fault reads IH_STATUS, although a read of a register takes long;
 * an idle IH is read more than once for a user's fault.
 */
static void fault_reads_status_once(struct kunit *test)
{
	struct fault_mock *m = fault_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;

	kunit_activate_static_stub(test, vgpu_rreg, fault_rreg);
	vgpu_ih_service(vdev);
	KUNIT_EXPECT_EQ(test, m->status_reads, 0);
	fault_latch(m, USER_VMID, false);
	fault_put(m, USER_VMID, false);
	vgpu_ih_service(vdev);
	KUNIT_EXPECT_EQ(test, m->status_reads, 1);
	fault_expect_open(test, m);
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE(fault_of_user),
	KUNIT_CASE(fault_of_kernel),
	KUNIT_CASE(fault_behind_user),
	KUNIT_CASE(fault_before_user),
	KUNIT_CASE(fault_retried),
	KUNIT_CASE(fault_unreported),
	KUNIT_CASE(fault_overflow),
	KUNIT_CASE(fault_waits_for_iommu),
	KUNIT_CASE(fault_dropped_by_iommu),
	KUNIT_CASE(fault_waits_forever),
	KUNIT_CASE(fault_users_go_on),
	KUNIT_CASE(fault_suspended),
	KUNIT_CASE(fault_written_meanwhile),
	KUNIT_CASE(fault_reads_status_once),
	{}
};

static struct kunit_suite fault_suite = {
	.name = "vgpu_sdma_fault",
	.test_cases = fault_cases,
};

kunit_test_suite(fault_suite);
