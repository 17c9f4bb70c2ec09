// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of VMID 0: no job of the kernel ends, and none begins behind it, if
 * one of its accesses may have gone nowhere.
 *
 * DOC: the gate
 *
 * VMID 0 does not retry: the engine goes on with zeros, or with a write that
 * vanished. So each job ends with FENCE, two polls, TRAP:
 *
 *	STATUS == 0	no fault is latched in the MM hub
 *	gate == 0	nobody is about to find out
 *
 * and is taken for done when TRAP says so. A fault of the kernel's leaves the
 * ring standing at the first poll, before the next job, until the recovery has
 * parked the engine; then the job is run again from memory that no later job
 * has touched.
 *
 * STATUS keeps the first fault of anybody. A user's is forgotten here, so that
 * it holds the kernel's ring up for the time of an interrupt; but behind it
 * one of the kernel's may have come, of which only its interrupt entry tells.
 * The device writes that while it changes STATUS, so: close the gate, clear
 * STATUS, look at the interrupt ring until it is empty, open the gate. If an
 * entry of VMID 0 was in there, the gate stays closed. A packet makes one entry
 * however many pages it faults on, and latches the next one behind our back:
 * so that is done again until nothing is latched (fault_work).
 *
 * Interrupt entries may be lost. Then the ring stands at its poll, and the
 * watchdog finds STATUS as it was at its last look.
 */
#include <kunit/visibility.h>

#include "hw/vgpu_hw_priv.h"
#include "vgpu_sdma_priv.h"

/* Bits of vgpu_hw_state.gate: why it is closed. */
#define GATE_USER	BIT(0)	/* a user's fault is being forgotten */
#define GATE_KERNEL	BIT(1)	/* one of VMID 0 waits for a recovery */

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
 * vgpu_sdma_fault_state() - may jobs that look finished be taken for done?
 * @vdev: device
 *
 * Any context.
 *
 * Return: what is known.
 */
enum vgpu_fault_state vgpu_sdma_fault_state(struct vgpu_device *vdev)
{
	u32 status = vgpu_rreg(vdev, VGPU_FAULT_STATUS_REG);
	unsigned long gate = READ_ONCE(to_hw_state(vdev)->gate);

	if (gate & GATE_KERNEL)
		return VGPU_FAULT_KERNELS;
	/* All ones: the device is gone. */
	if (status == U32_MAX)
		return VGPU_FAULT_NONE;
	if (status_is_kernels(status))
		return VGPU_FAULT_KERNELS;
	if (gate || status & VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS)
		return VGPU_FAULT_UNKNOWN;
	return status ? VGPU_FAULT_USERS : VGPU_FAULT_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_fault_state);

/**
 * vgpu_sdma_suspect() - a fault of VMID 0 that the engines have ignored
 * @vdev: device
 *
 * Nobody can tell whose it was: the oldest job of each engine may have read
 * zeros, or have written nothing. Any context.
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

/* A fault that is no business of the kernel's ring. Any context. */
static void fault_forget(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	bool kernels = false;
	unsigned long flags;
	u32 status;

	spin_lock_irqsave(&hw->gate_lock, flags);
	/* If one of the kernel's is known, the recovery forgets both. */
	if (!(hw->gate & GATE_KERNEL)) {
		gate_write(vdev, hw->gate | GATE_USER);
		status = vgpu_rreg(vdev, VGPU_FAULT_STATUS_REG);
		kernels = status_is_kernels(status);
		/* If nothing is latched, the next one may be the kernel's. */
		if (status && !kernels)
			vgpu_gmc_clear_fault(vdev);
	}
	spin_unlock_irqrestore(&hw->gate_lock, flags);
	if (kernels)
		vgpu_sdma_suspect(vdev);	/* its entry was lost, or is late */
	else
		mod_delayed_work(system_wq, &hw->fault_work, 1);
}

/**
 * vgpu_sdma_fault_work() - forget what was latched since
 * @work: vgpu_hw_state.fault_work
 */
void vgpu_sdma_fault_work(struct work_struct *work)
{
	struct vgpu_device *vdev = container_of(to_delayed_work(work),
						struct vgpu_hw_state, fault_work)->vdev;

	if (vgpu_rreg(vdev, VGPU_FAULT_STATUS_REG))
		vgpu_ih_poll(vdev, true);
}

/**
 * vgpu_sdma_fault_irq() - a fault in the MM hub
 * @vdev: device
 * @iv: interrupt entry of a fault
 * @arg: unused
 *
 * Hard interrupt context. An entry of VMID 0 that claims a retry is spurious,
 * but holds a slot of the CAM; the table is written again all the same before
 * that is given back.
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
	atomic_or(BIT(cam % VGPU_RETRY_CAM_SLOTS), &to_hw_state(vdev)->gart_cam);
	if (!vgpu_hw_recover(vdev, VGPU_RECOVER_GART))
		vgpu_ih_cam_ack(vdev, cam);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_fault_irq);

/**
 * vgpu_sdma_take_gart_cam() - take the retry faults of VMID 0 that wait for a recovery
 * @vdev: device
 *
 * Context: any. The caller acknowledges each slot when the GART is written.
 *
 * Return: CAM slots, a bit each.
 */
unsigned long vgpu_sdma_take_gart_cam(struct vgpu_device *vdev)
{
	return atomic_xchg(&to_hw_state(vdev)->gart_cam, 0);
}

/**
 * vgpu_sdma_fault_lost() - the latched fault's interrupt entry does not come
 * @vdev: device
 *
 * Where the interrupt handler does not run; that has to run next.
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
 * vgpu_sdma_fault_overflow() - interrupt entries were lost
 * @vdev: device
 *
 * One of VMID 0 may have been among them, behind one of a user. Interrupt
 * handler.
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
 * vgpu_sdma_gate_unsettled() - has a fault been forgotten?
 * @vdev: device
 *
 * Interrupt handler. True: look at the interrupt ring again, until it is
 * empty, then call vgpu_sdma_gate_settle().
 */
bool vgpu_sdma_gate_unsettled(struct vgpu_device *vdev)
{
	return READ_ONCE(to_hw_state(vdev)->gate) & GATE_USER;
}

/**
 * vgpu_sdma_gate_settle() - all entries from before the gate closed were seen
 * @vdev: device
 *
 * Interrupt handler.
 */
void vgpu_sdma_gate_settle(struct vgpu_device *vdev)
{
	unsigned long flags;

	spin_lock_irqsave(&to_hw_state(vdev)->gate_lock, flags);
	gate_write(vdev, to_hw_state(vdev)->gate & ~GATE_USER);
	spin_unlock_irqrestore(&to_hw_state(vdev)->gate_lock, flags);
}

/**
 * vgpu_sdma_faults_over() - forget all faults
 * @vdev: device, the rings of all its engines parked
 *
 * The recovery's worker only.
 */
void vgpu_sdma_faults_over(struct vgpu_device *vdev)
{
	unsigned long flags;

	spin_lock_irqsave(&to_hw_state(vdev)->gate_lock, flags);
	vgpu_gmc_clear_fault(vdev);
	gate_write(vdev, to_hw_state(vdev)->gate & ~GATE_KERNEL);
	spin_unlock_irqrestore(&to_hw_state(vdev)->gate_lock, flags);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_faults_over);
