// SPDX-License-Identifier: GPL-2.0
/*
 * Who touches the BARs while the device is reset: nobody. A device in reset answers reads
 * with ones and drops writes. Specification: docs/driver.md, "Recovery".
 *
 * The kernel: whoever reads or writes a BAR does so between vgpu_io_begin() and vgpu_io_end(),
 * if it may sleep. If not, or if it is faster, the reset has to make up for what is lost:
 *
 *	interrupt handler	does not run (vgpu_ih_hold())
 *	doorbell of a kernel's ring	rung again by vgpu_sdma_ring_unpark()
 *	CP, user queues		off the hardware: rlc_off, vgpu_cp.off
 *	GART			vgpu_gart_rewrite(); an entry is noted before it is written
 *	CAM slot		freed by the reset
 *	HDP flush		the reset begins with one
 *
 * User space: a fault handler inserts pages of a BAR between vgpu_io_map_begin() and
 * vgpu_io_map_end(). The recovery closes the BARs for faults, waits until handlers that
 * were under way have inserted their pages, and takes all pages away.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/srcu.h>
#include <drm/drm_drv.h>

#include <kunit/visibility.h>

#include "vgpu_hw_priv.h"

/* Of all GPUs: a fault handler that inserts a page is short. */
DEFINE_STATIC_SRCU(vgpu_io_map_srcu);

/**
 * vgpu_io_init() - open the BARs
 * @hw: hardware state, all zero
 */
void vgpu_io_init(struct vgpu_hw_state *hw)
{
	init_rwsem(&hw->io_lock);
	init_waitqueue_head(&hw->map_wait);
	/* Teach lockdep: MMU notifiers and reclaim change page tables. */
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&hw->io_lock);
	fs_reclaim_release(GFP_KERNEL);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_init);

/**
 * vgpu_io_begin() - start to access the BARs
 * @vdev: device
 *
 * Waits while the device is being reset. No reset begins before vgpu_io_end().
 *
 * Context: sleeps; MMU notifiers and reclaim included. Innermost of the locks that sleep,
 * and does not nest: until vgpu_io_end() the caller waits for registers and nothing else.
 * The recovery's worker, too.
 */
void vgpu_io_begin(struct vgpu_device *vdev)
{
	down_read(&to_hw_state(vdev)->io_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_begin);

/**
 * vgpu_io_end() - undo vgpu_io_begin()
 * @vdev: device
 */
void vgpu_io_end(struct vgpu_device *vdev)
{
	/* Write-combined stores leave this CPU before the device may be reset. */
	wmb();
	up_read(&to_hw_state(vdev)->io_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_end);

/**
 * vgpu_rreg_sync() - read a register, and not one of a device in reset
 * @vdev: device
 * @reg: as vgpu_rreg()
 *
 * Context: as vgpu_io_begin().
 *
 * Return: as vgpu_rreg().
 */
u32 vgpu_rreg_sync(struct vgpu_device *vdev, u32 reg)
{
	u32 value;

	vgpu_io_begin(vdev);
	value = vgpu_rreg(vdev, reg);
	vgpu_io_end(vdev);
	return value;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_rreg_sync);

/**
 * vgpu_io_map_begin() - start to insert pages of a BAR into page tables of the CPU
 * @token: for vgpu_io_map_end()
 *
 * Context: fault handler. The caller looks at vgpu_io_map_is_closed() next, and waits for no
 * fence, lock or engine before vgpu_io_map_end().
 */
void vgpu_io_map_begin(int *token)
	__acquires(vgpu_io_map)
{
	*token = srcu_read_lock(&vgpu_io_map_srcu);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_map_begin);

/**
 * vgpu_io_map_is_closed() - is the device being reset?
 * @vdev: device
 *
 * Context: between vgpu_io_map_begin() and vgpu_io_map_end(); the answer is good until the
 * latter.
 *
 * Return: if true, the caller inserts nothing, gives back what others may wait for, calls
 * vgpu_io_map_wait() and returns what that returns.
 */
bool vgpu_io_map_is_closed(const struct vgpu_device *vdev)
{
	return READ_ONCE(to_hw_state(vdev)->map_closed);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_map_is_closed);

/**
 * vgpu_io_map_end() - undo vgpu_io_map_begin()
 * @token: as it was returned there
 */
void vgpu_io_map_end(int token)
	__releases(vgpu_io_map)
{
	srcu_read_unlock(&vgpu_io_map_srcu, token);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_map_end);

/**
 * vgpu_io_map_wait() - wait in a fault handler until the device has been reset
 * @vdev: device
 * @vmf: the fault
 *
 * Context: fault handler, without other locks than those it was called with. Drops these
 * while it waits, if the fault may be tried again.
 *
 * Return: for the handler to return: VM_FAULT_RETRY or VM_FAULT_NOPAGE.
 */
vm_fault_t vgpu_io_map_wait(struct vgpu_device *vdev, struct vm_fault *vmf)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);

	if (!fault_flag_allow_retry_first(vmf->flags)) {
		/* A reset takes no mmap_lock, and ends. */
		wait_event(hw->map_wait, !READ_ONCE(hw->map_closed));
		return VM_FAULT_NOPAGE;
	}
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;

	/* Without the lock the VMA may go, and its reference to the device. */
	drm_dev_get(&vdev->drm);
	release_fault_lock(vmf);
	wait_event_killable(hw->map_wait, !READ_ONCE(hw->map_closed));
	drm_dev_put(&vdev->drm);
	return VM_FAULT_RETRY;
}

/**
 * vgpu_io_map_close() - let no fault handler insert pages of the BARs from now on
 * @vdev: device
 *
 * Handlers that are under way still do, until vgpu_io_map_sync() returns. The recovery's
 * worker only; until vgpu_io_map_open().
 */
void vgpu_io_map_close(struct vgpu_device *vdev)
{
	WRITE_ONCE(to_hw_state(vdev)->map_closed, true);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_map_close);

/**
 * vgpu_io_map_sync() - wait for fault handlers that insert pages of a BAR
 *
 * Context: sleeps. Handlers may allocate page tables with reclaim.
 */
void vgpu_io_map_sync(void)
{
	synchronize_srcu_expedited(&vgpu_io_map_srcu);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_map_sync);

/**
 * vgpu_io_map_open() - undo vgpu_io_map_close()
 * @vdev: device
 */
void vgpu_io_map_open(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);

	WRITE_ONCE(hw->map_closed, false);
	wake_up_all(&hw->map_wait);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_map_open);
