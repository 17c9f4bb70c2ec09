// SPDX-License-Identifier: GPL-2.0
/*
 * Handles faults of VMID 0: if a kernel job may have faulted, that job does not end and no later
 * job starts before a recovery.
 */
/*
 * DOC: the gate
 *
 * After a fault of VMID 0, the engine continues with zeros, or without the write. So each job ends
 * with:
 *
 *	FENCE	writes the job's number to memory
 *	poll	waits until STATUS (VGPU_FAULT_STATUS_REG) is 0: no fault is latched
 *	poll	waits until the gate (VGPU_GATE_REG) is 0 (open): no fault is being examined
 *	TRAP	raises the interrupt; only now the job is done
 */

/*
 * A user's fault, too, sets STATUS, and all kernel jobs then wait at the first poll. So the driver
 * must clear STATUS. But STATUS latches only the first fault. If a kernel job faults later, only an
 * interrupt entry reports this fault, and the clear lets the faulted job pass the first poll. So
 * the driver first closes the gate: the job then waits at the second poll until the driver has
 * handled the entry. The steps are:
 *
 * 1. Close the gate.
 * 2. Clear STATUS.
 * 3. Read IH_STATUS. If the IH is not idle, the entry of an earlier fault may not be in the
 *    interrupt ring yet: behind an IOMMU, the device first waits for a translation of the ring's
 *    address.
 * 4. Handle all interrupt entries.
 * 5. If an entry was of VMID 0, the recovery opens the gate. Otherwise, if the IH was idle in step
 *    3, open the gate. If the IH was not idle, repeat steps 3 to 5 at the next interrupt, or in
 *    fault_work one jiffy later. Open the gate at the latest GATE_MAX_WAIT after step 1.
 */
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "hw/vgpu_hw_priv.h"
#include "vgpu_sdma_priv.h"

/* Bits of vgpu_hw_state.gate: reasons for which the gate is closed. */
#define GATE_USER	BIT(0)	/* a user's fault is being cleared from STATUS */
#define GATE_KERNEL	BIT(1)	/* a fault of VMID 0 waits for a recovery */

/*
 * Time in jiffies, since a user's fault closed the gate, after which the driver no longer waits for
 * the IH to become idle. Far below the default of lockup_timeout, because the watchdog takes a job
 * that waits at the gate for a hang.
 */
#define GATE_MAX_WAIT	HZ

static void gate_write(struct vgpu_device *vdev, unsigned long gate)
{
	lockdep_assert_held(&to_hw_state(vdev)->gate_lock);

	WRITE_ONCE(to_hw_state(vdev)->gate, gate);
	vgpu_wreg(vdev, VGPU_GATE_REG, gate);
}

static bool status_is_kernels(u32 status)
{
	return status && !VGPU_GET(status, VM_L2_PROTECTION_FAULT_STATUS__VMID);
}

/**
 * vgpu_sdma_fault_state() - get the state of faults in the MM hub
 * @vdev: device
 *
 * In state VGPU_FAULT_UNKNOWN or VGPU_FAULT_KERNELS, do not count the job with the number in
 * vgpu_sdma_ring.fence_wb as done. This job may have faulted: a faulted job, too, writes its
 * number there, and waits only afterwards ("DOC: the gate").
 *
 * Context: any.
 *
 * Return: the state.
 */
enum vgpu_fault_state vgpu_sdma_fault_state(struct vgpu_device *vdev)
{
	unsigned long gate;
	u32 status;

	KUNIT_STATIC_STUB_REDIRECT(vgpu_sdma_fault_state, vdev);
	status = vgpu_rreg(vdev, VGPU_FAULT_STATUS_REG);
	gate = READ_ONCE(to_hw_state(vdev)->gate);
	if (gate & GATE_KERNEL)
		return VGPU_FAULT_KERNELS;
	/* If all bits are ones, the device does not answer, and the value describes no fault. */
	if (status == U32_MAX)
		return VGPU_FAULT_NONE;
	if (status_is_kernels(status))
		return VGPU_FAULT_KERNELS;
	/*
	 * STATUS may not show a fault of VMID 0:
	 * - While the gate is closed (@gate is not 0), the driver clears STATUS. Then only an entry
	 *   in the interrupt ring reports the fault.
	 * - If MORE_FAULTS is set, STATUS shows the VMID of the first fault only.
	 */
	if (gate || status & VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS)
		return VGPU_FAULT_UNKNOWN;
	return status ? VGPU_FAULT_USERS : VGPU_FAULT_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_fault_state);

/**
 * vgpu_sdma_suspect() - freeze the kernel's rings after a fault of VMID 0
 * @vdev: device
 *
 * Freezes all kernel rings, because the engine that caused the fault is not known. Requests a
 * recovery, which restarts the rings. If the request is not accepted, the watchdogs stop the rings
 * for good (vgpu_sdma_ring_down()).
 *
 * Context: any.
 */
static void vgpu_sdma_suspect(struct vgpu_device *vdev)
{
	unsigned long flags;
	unsigned int i;
	bool helped;

	spin_lock_irqsave(&to_hw_state(vdev)->gate_lock, flags);
	gate_write(vdev, to_hw_state(vdev)->gate | GATE_KERNEL);
	spin_unlock_irqrestore(&to_hw_state(vdev)->gate_lock, flags);
	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		struct vgpu_sdma_ring *ring = &to_hw_state(vdev)->sdma[i];

		if (!READ_ONCE(ring->ready))
			continue;
		spin_lock_irqsave(&ring->fence_lock, flags);
		ring->frozen = true;
		ring->fault = true;
		spin_unlock_irqrestore(&ring->fence_lock, flags);
	}
	helped = vgpu_hw_recover(vdev, VGPU_RECOVER_GART | VGPU_RECOVER_RINGS);
	for (i = 0; !helped && i < VGPU_NUM_SDMA; i++) {
		struct vgpu_sdma_ring *ring = &to_hw_state(vdev)->sdma[i];

		if (!READ_ONCE(ring->ready))
			continue;
		WRITE_ONCE(ring->helpless, true);
		mod_delayed_work(system_wq, &ring->watchdog, 0);
	}
}

/*
 * Clear the latched fault if its VMID is not 0 (a fault of user space). If its VMID is 0,
 * request a recovery. Any context.
 */
static void fault_forget(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	bool kernels = false;
	unsigned long flags;
	u32 status;

	spin_lock_irqsave(&hw->gate_lock, flags);
	/* If a fault of VMID 0 was reported, do not clear STATUS: the recovery clears it. */
	if (!(hw->gate & GATE_KERNEL)) {
		if (!(hw->gate & GATE_USER))
			hw->gate_since = jiffies;
		gate_write(vdev, hw->gate | GATE_USER);
		status = vgpu_rreg(vdev, VGPU_FAULT_STATUS_REG);
		kernels = status_is_kernels(status);
		/*
		 * If nothing is latched, do not clear: a fault of VMID 0 may be latched after
		 * the read above, and the clear would remove this fault.
		 */
		if (status && !kernels)
			vgpu_gmc_clear_fault(vdev);
	}
	spin_unlock_irqrestore(&hw->gate_lock, flags);
	if (kernels)
		vgpu_sdma_suspect(vdev);	/* the interrupt entry was lost or is late */
	else
		/* Look again later: the packet may cause more faults, without interrupt entries. */
		mod_delayed_work(system_wq, &hw->fault_work, 1);
}

/**
 * vgpu_sdma_fault_work() - handle a fault that was latched without an interrupt entry
 * @work: vgpu_hw_state.fault_work
 *
 * Such a fault occurs if the interrupt ring overflowed, or if a packet of user space faults on many
 * pages: only the first fault of the packet raises an entry.
 *
 * Also rechecks a closed gate (vgpu_sdma_user_gate_recheck()).
 *
 * Context: work item; sleeps.
 */
void vgpu_sdma_fault_work(struct work_struct *work)
{
	struct vgpu_device *vdev = container_of(to_delayed_work(work),
						struct vgpu_hw_state, fault_work)->vdev;

	if (vgpu_rreg(vdev, VGPU_FAULT_STATUS_REG) || vgpu_sdma_user_gate_closed(vdev))
		vgpu_ih_poll(vdev, true);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_fault_work);

/**
 * vgpu_sdma_fault_irq() - handle the interrupt entry of a fault in the MM hub
 * @vdev: device
 * @iv: interrupt entry of a fault
 * @arg: unused
 *
 * Context: hard interrupt.
 */
void vgpu_sdma_fault_irq(struct vgpu_device *vdev,
			 const struct vgpu_iv_entry *iv, void *arg)
{
	u32 cam = iv->data[2] & IH_FAULT_D2__CAM_INDEX;

	if (!iv->mm_hub)
		return;
	vgpu_dump_note_fault(vdev, iv);
	if (!(iv->data[1] & IH_FAULT_D1__RETRY)) {
		if (iv->vmid)
			fault_forget(vdev);
		else
			vgpu_sdma_suspect(vdev);
		return;
	}
	if (iv->vmid)
		return;
	/*
	 * VMID 0 should not retry. If it does, the recovery rewrites the GART before it
	 * acknowledges the CAM slot. Then the device repeats the access.
	 */
	atomic_or(BIT(cam % VGPU_RETRY_CAM_SLOTS), &to_hw_state(vdev)->gart_cam);
	if (!vgpu_hw_recover(vdev, VGPU_RECOVER_GART))
		vgpu_ih_cam_ack(vdev, cam);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_fault_irq);

/**
 * vgpu_sdma_take_gart_cam() - get and clear the CAM slots that wait for a recovery of the GART
 * @vdev: device
 *
 * The caller acknowledges each slot after it has written the GART.
 *
 * Context: any.
 *
 * Return: bitmap of CAM slots.
 */
unsigned long vgpu_sdma_take_gart_cam(struct vgpu_device *vdev)
{
	return atomic_xchg(&to_hw_state(vdev)->gart_cam, 0);
}

/**
 * vgpu_sdma_fault_lost() - handle a latched fault whose interrupt entry was lost
 * @vdev: device
 *
 * For a fault of VMID 0, requests a recovery. For a user's fault, closes the gate and clears STATUS
 * ("DOC: the gate"). The caller must then call vgpu_ih_service(). That function handles all
 * interrupt entries, and opens the gate unless an entry reports a fault of VMID 0 or waits for an
 * IOMMU.
 *
 * Context: any; the caller keeps the interrupt handler from running (vgpu_ih_hold()).
 */
void vgpu_sdma_fault_lost(struct vgpu_device *vdev)
{
	u32 status = vgpu_rreg(vdev, VGPU_FAULT_STATUS_REG);

	if (status_is_kernels(status))
		vgpu_sdma_suspect(vdev);
	else if (status && status != U32_MAX)
		fault_forget(vdev);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_fault_lost);

/**
 * vgpu_sdma_fault_overflow() - handle the loss of interrupt entries
 * @vdev: device
 *
 * Requests a recovery if a lost entry may have reported a fault of VMID 0. If STATUS shows only a
 * user's fault, queues vgpu_hw_state.fault_work to handle the fault.
 *
 * Context: interrupt handler.
 */
void vgpu_sdma_fault_overflow(struct vgpu_device *vdev)
{
	enum vgpu_fault_state state = vgpu_sdma_fault_state(vdev);

	if (state >= VGPU_FAULT_UNKNOWN)
		vgpu_sdma_suspect(vdev);
	else if (state == VGPU_FAULT_USERS)
		mod_delayed_work(system_wq, &to_hw_state(vdev)->fault_work, 1);
}

/**
 * vgpu_sdma_user_gate_closed() - whether the gate is closed because of a user's fault
 * @vdev: device
 *
 * Context: any.
 *
 * Return: true if the gate's bit GATE_USER is set. vgpu_ih_service() then handles the interrupt
 * ring until it is empty, and calls vgpu_sdma_user_gate_open() or vgpu_sdma_user_gate_recheck().
 */
bool vgpu_sdma_user_gate_closed(struct vgpu_device *vdev)
{
	return READ_ONCE(to_hw_state(vdev)->gate) & GATE_USER;
}

/**
 * vgpu_sdma_user_gate_open() - open the gate after a user's fault
 * @vdev: device
 *
 * The closed gate keeps kernel jobs from ending. When the gate opens, these jobs are signalled as
 * successful, even a job that faulted. So before the call, the caller must read from IH_STATUS that
 * no interrupt entry waits for an IOMMU, and then handle all entries in the interrupt ring: one of
 * them may report such a fault. After GATE_MAX_WAIT, IH_STATUS does not matter any more.
 *
 * Context: interrupt handler.
 */
void vgpu_sdma_user_gate_open(struct vgpu_device *vdev)
{
	unsigned long flags;

	spin_lock_irqsave(&to_hw_state(vdev)->gate_lock, flags);
	/* If the caller has handled an entry of VMID 0, GATE_KERNEL keeps the gate closed. */
	gate_write(vdev, to_hw_state(vdev)->gate & ~GATE_USER);
	spin_unlock_irqrestore(&to_hw_state(vdev)->gate_lock, flags);
}

/**
 * vgpu_sdma_user_gate_recheck() - keep the gate closed after a user's fault, and look again later
 * @vdev: device; the caller has handled all entries in the interrupt ring
 *
 * Called while interrupt entries wait for an IOMMU: one of them may report a fault of VMID 0. The
 * device raises an interrupt when it writes the entry to the ring, but none when it drops the entry
 * because the IOMMU refuses the write. So fault_work looks again after one jiffy.
 *
 * After GATE_MAX_WAIT, opens the gate. If an entry of VMID 0 has waited in the device for all that
 * time, its job ends as successful, and the recovery comes too late for this job. But usually the
 * IH is not idle because of later entries: the device writes entries in order, and while users
 * fault all the time, some entry always waits. A longer wait would make the watchdog end jobs of
 * other users.
 *
 * Context: interrupt handler.
 */
void vgpu_sdma_user_gate_recheck(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);

	if (READ_ONCE(hw->gate) & GATE_KERNEL)
		return;		/* the requested recovery opens the gate */
	/*
	 * Test the time here, and not only in fault_work: frequent faults of users postpone
	 * fault_work again and again.
	 */
	if (time_after(jiffies, hw->gate_since + GATE_MAX_WAIT)) {
		drm_warn_once(&vdev->drm,
			      "interrupt entries wait for an IOMMU: letting kernel jobs end\n");
		vgpu_sdma_user_gate_open(vdev);
	} else {
		queue_delayed_work(system_wq, &hw->fault_work, 1);
	}
}

/**
 * vgpu_sdma_faults_over() - clear the latched fault, and open the gate
 * @vdev: device; all rings of the kernel are parked
 *
 * Every job that waits at the gate runs again after the call, from its start. So the gate may open
 * although an interrupt entry of an earlier fault waits for an IOMMU.
 *
 * Context: the recovery's worker.
 */
void vgpu_sdma_faults_over(struct vgpu_device *vdev)
{
	unsigned long flags;

	spin_lock_irqsave(&to_hw_state(vdev)->gate_lock, flags);
	vgpu_gmc_clear_fault(vdev);
	gate_write(vdev, 0);
	spin_unlock_irqrestore(&to_hw_state(vdev)->gate_lock, flags);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_faults_over);

/**
 * vgpu_sdma_faults_drop() - after a reset, drop the records of earlier faults of VMID 0
 * @vdev: device, which has been reset; all rings of the kernel are parked
 *
 * The reset has cleared STATUS, opened the gate, dropped the interrupt entries, and freed the slots
 * of the retry CAM. A recovery that was refused before the reset, for instance during a suspend, is
 * not needed any more.
 *
 * Context: process context; the caller keeps the interrupt handler from running (vgpu_ih_hold()).
 */
void vgpu_sdma_faults_drop(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	unsigned int i;

	spin_lock_irq(&hw->gate_lock);
	gate_write(vdev, 0);
	spin_unlock_irq(&hw->gate_lock);
	atomic_set(&hw->gart_cam, 0);
	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		struct vgpu_sdma_ring *ring = &hw->sdma[i];

		spin_lock_irq(&ring->fence_lock);
		/*
		 * The oldest pending job may have faulted, so vgpu_sdma_ring_unpark() still has to
		 * judge this job. If no job is pending, vgpu_sdma_ring_unpark() would judge a job
		 * that is submitted after the fault.
		 */
		if (list_empty(&ring->pending))
			ring->fault = false;
		spin_unlock_irq(&ring->fence_lock);
		/* Otherwise the next run of the watchdog would take the ring down. */
		WRITE_ONCE(ring->helpless, false);
	}
}
