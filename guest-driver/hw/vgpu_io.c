// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps accesses away from the BARs while the device is reset, because a device in reset answers
 * reads with ones and drops writes. The kernel waits in vgpu_io_begin(); mappings of user space
 * are removed. Specification: docs/driver.md, "Recovery".
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/srcu.h>
#include <drm/drm_drv.h>

#include <kunit/visibility.h>

#include "vgpu_hw_priv.h"

/*
 * All GPUs share this SRCU. So the reset of one GPU also waits for fault handlers of other GPUs,
 * but only while they insert a page.
 */
DEFINE_STATIC_SRCU(vgpu_io_map_srcu);

/**
 * vgpu_io_init() - initialise the locks of BAR accesses
 * @hw: hardware state, all zero
 */
void vgpu_io_init(struct vgpu_hw_state *hw)
{
	init_rwsem(&hw->io_lock);
	init_waitqueue_head(&hw->map_wait);
	/*
	 * Declare to lockdep that reclaim takes io_lock: reclaim calls MMU notifiers, which change
	 * GPU page tables.
	 */
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&hw->io_lock);
	fs_reclaim_release(GFP_KERNEL);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_init);

/*
 * Accesses that do not call vgpu_io_begin(), and why a reset does not break them:
 *
 * - interrupt handler: vgpu_ih_hold() stops the handler
 * - doorbell of a kernel ring: vgpu_sdma_ring_unpark() repeats the write
 * - load or unload of a user queue: writes no register during a reset (vgpu_cp.off,
 *   vgpu_sdma_ring.rlc_off)
 * - entry of the GART: vgpu_gart_rewrite() repeats the write
 * - acknowledge of a CAM slot: a reset frees all slots
 * - HDP flush: not needed during a reset, because each reset starts with an HDP flush
 */

/**
 * vgpu_io_begin() - start to access the BARs
 * @vdev: device
 *
 * Waits while the device is being reset. No reset starts before vgpu_io_end().
 *
 * Context: sleeps; may be called in MMU notifiers, reclaim and the recovery's worker. Until
 * vgpu_io_end(), the caller takes no sleeping lock (not even io_lock again), and waits only for
 * registers and invalidation engines.
 */
void vgpu_io_begin(struct vgpu_device *vdev)
{
	down_read(&to_hw_state(vdev)->io_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_begin);

/**
 * vgpu_io_end() - end the BAR accesses that began with vgpu_io_begin()
 * @vdev: device
 *
 * A reset may start after the call. Earlier writes to the BARs reach the device before the reset.
 *
 * Context: the task that called vgpu_io_begin(); does not sleep.
 */
void vgpu_io_end(struct vgpu_device *vdev)
{
	/* Drain this CPU's write-combining buffers before a reset may start. */
	wmb();
	up_read(&to_hw_state(vdev)->io_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_end);

/**
 * vgpu_rreg_sync() - read a register, after waiting for a reset in flight
 * @vdev: device
 * @reg: dword offset in BAR 5, one of include/vgpu
 *
 * Context: sleeps; takes io_lock. May be called in MMU notifiers, reclaim and the recovery's
 * worker.
 *
 * Return: value of the register; all ones if the device is lost.
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
 * vgpu_io_map_begin() - start to insert pages of a BAR into CPU page tables
 * @token: receives the token for vgpu_io_map_end()
 *
 * The caller next tests vgpu_io_map_is_closed(). Whatever the result, the caller must call
 * vgpu_io_map_end() at the end. Before vgpu_io_map_end(), the caller waits for no fence, lock or
 * engine.
 *
 * Context: fault handler.
 */
void vgpu_io_map_begin(int *token)
	__acquires(vgpu_io_map)
{
	*token = srcu_read_lock(&vgpu_io_map_srcu);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_map_begin);

/**
 * vgpu_io_map_is_closed() - whether the device is being reset
 * @vdev: device
 *
 * Context: a fault handler, between vgpu_io_map_begin() and vgpu_io_map_end().
 *
 * Return:
 * * false: the handler may insert pages before vgpu_io_map_end()
 * * true: the handler inserts no page, and after vgpu_io_map_end() drops its own locks and returns
 *   the result of vgpu_io_map_wait()
 */
bool vgpu_io_map_is_closed(const struct vgpu_device *vdev)
{
	return READ_ONCE(to_hw_state(vdev)->map_closed);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_map_is_closed);

/**
 * vgpu_io_map_end() - end the insertion of pages of a BAR
 * @token: token from vgpu_io_map_begin()
 *
 * A reset waits for this call in vgpu_io_map_sync().
 *
 * Context: the fault handler that called vgpu_io_map_begin(); does not sleep.
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
 * Context: fault handler; the caller holds no lock except those that the handler was called
 * with. If the fault may be retried, the function drops these locks before it waits.
 *
 * Return: VM_FAULT_RETRY or VM_FAULT_NOPAGE, which the handler returns.
 */
vm_fault_t vgpu_io_map_wait(struct vgpu_device *vdev, struct vm_fault *vmf)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);

	if (!fault_flag_allow_retry_first(vmf->flags)) {
		/*
		 * The caller still holds mmap_lock or the VMA's lock. This wait cannot deadlock,
		 * because a reset takes neither lock and ends in bounded time.
		 */
		wait_event(hw->map_wait, !READ_ONCE(hw->map_closed));
		return VM_FAULT_NOPAGE;
	}
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;

	/*
	 * Take a reference to the device: once the fault lock is released, the VMA and the
	 * VMA's reference to the device may be freed.
	 */
	drm_dev_get(&vdev->drm);
	release_fault_lock(vmf);
	wait_event_killable(hw->map_wait, !READ_ONCE(hw->map_closed));
	drm_dev_put(&vdev->drm);
	return VM_FAULT_RETRY;
}

/**
 * vgpu_io_map_close() - stop fault handlers from inserting pages of the BARs
 * @vdev: device
 *
 * The BARs stay closed until vgpu_io_map_open(). Handlers in flight may still insert pages
 * until vgpu_io_map_sync() returns. So the recovery unmaps pages only after that call.
 *
 * Context: the recovery's worker.
 */
void vgpu_io_map_close(struct vgpu_device *vdev)
{
	WRITE_ONCE(to_hw_state(vdev)->map_closed, true);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_map_close);

/**
 * vgpu_io_map_sync() - wait for fault handlers that are inserting pages of a BAR
 *
 * Context: sleeps. The handlers may allocate page tables with reclaim, and reclaim may wait for
 * fences, so fences must not depend on the caller.
 */
void vgpu_io_map_sync(void)
{
	synchronize_srcu_expedited(&vgpu_io_map_srcu);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_map_sync);

/**
 * vgpu_io_map_open() - undo vgpu_io_map_close()
 * @vdev: device
 *
 * Wakes fault handlers in vgpu_io_map_wait().
 */
void vgpu_io_map_open(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);

	WRITE_ONCE(hw->map_closed, false);
	wake_up_all(&hw->map_wait);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_io_map_open);
