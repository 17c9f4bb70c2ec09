// SPDX-License-Identifier: GPL-2.0
/*
 * TLB invalidation by the CPU. Specification: docs/hardware.md, "TLB and invalidation", and
 * include/vgpu/gmc.h.
 *
 * Each request takes a free invalidation engine, with the same number on both hubs. So flushes run
 * concurrently.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/wait.h>
#include <kunit/visibility.h>

#include "vgpu_hw_priv.h"
#include "vgpu_hw_trace.h"

/* The CPU's invalidation engines (VGPU_INV_ENGINES) are not those of jobs or the CP. */
static_assert(!(VGPU_INV_ENGINES & GENMASK(VGPU_INV_ENGINE_SDMA(VGPU_NUM_SDMA) - 1, 0)));
static_assert(VGPU_INV_ENGINE_CP < VGPU_INV_ENGINE_SDMA(0));
/*
 * The CPU does not flush by engine VGPU_INV_ENGINE_GATE: the range register of that engine serves
 * as VGPU_GATE_REG.
 */
static_assert(!(VGPU_INV_ENGINES & BIT(VGPU_INV_ENGINE_GATE)));
static_assert(VGPU_INV_ENGINES < BIT(VGPU_NUM_INV_ENGINES));

/**
 * vgpu_gmc_inv_init() - mark the CPU's invalidation engines as free
 * @hw: hardware state
 */
void vgpu_gmc_inv_init(struct vgpu_hw_state *hw)
{
	spin_lock_init(&hw->inv_lock);
	init_waitqueue_head(&hw->inv_wait);
	hw->inv_free = VGPU_INV_ENGINES;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gmc_inv_init);

/* Take a free invalidation engine: its number goes to *@engine. Returns false if none is free. */
static bool inv_take(struct vgpu_hw_state *hw, unsigned int *engine)
{
	unsigned long free = READ_ONCE(hw->inv_free);

	while (free) {
		*engine = __fls(free);
		if (test_and_clear_bit(*engine, &hw->inv_free))
			return true;
		__clear_bit(*engine, &free);
	}
	return false;
}

static void inv_give(struct vgpu_hw_state *hw, unsigned int engine)
{
	smp_mb__before_atomic();	/* order the read of the acknowledge before set_bit() */
	set_bit(engine, &hw->inv_free);
	if (wq_has_sleeper(&hw->inv_wait))
		wake_up(&hw->inv_wait);
}

/*
 * Request the invalidation on both hubs, then wait for both acknowledges, each for at most
 * @limit_us.
 */
static int inv_request(struct vgpu_device *vdev, unsigned int engine, u32 vmid_mask,
		       unsigned long limit_us)
{
	u32 req = VGPU_PREP(VM_INVALIDATE_ENG_REQ__PER_VMID, vmid_mask) |
		  VM_INVALIDATE_ENG_REQ__L2_PTES |
		  VM_INVALIDATE_ENG_REQ__L2_PDE0 |
		  VM_INVALIDATE_ENG_REQ__L2_PDE1 |
		  VM_INVALIDATE_ENG_REQ__L2_PDE2 |
		  VM_INVALIDATE_ENG_REQ__L1_PTES;
	unsigned int hub;

	for (hub = 0; hub < VGPU_NUM_HUBS; hub++)
		vgpu_wreg(vdev, HUB(hub) + VM_INVALIDATE_ENG_REQ(engine), req);
	for (hub = 0; hub < VGPU_NUM_HUBS; hub++) {
		if (!vgpu_hw_poll_for(vdev, HUB(hub) + VM_INVALIDATE_ENG_ACK(engine),
				      vmid_mask, vmid_mask, limit_us)) {
			drm_err_ratelimited(&vdev->drm,
					    "hub %u did not invalidate VMIDs %#x\n",
					    hub, vmid_mask);
			return -ETIMEDOUT;
		}
		vgpu_stat_add(vdev, VGPU_STAT_INVALIDATIONS, hweight32(vmid_mask));
	}
	return 0;
}

/**
 * vgpu_gmc_invalidate() - flush the TLB for a caller that has access to the BARs
 * @vdev: device
 * @vmid_mask: bitmap of the VMIDs
 *
 * Context: sleeps. Either the caller has called vgpu_io_begin() or holds io_lock for writing, or
 * the device is being brought up.
 *
 * Return: 0, or -ETIMEDOUT if a hub does not acknowledge or no invalidation engine becomes
 * free.
 */
int vgpu_gmc_invalidate(struct vgpu_device *vdev, u32 vmid_mask)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	bool stuck = READ_ONCE(hw->inv_stuck);
	unsigned long limit_us = stuck ? VGPU_HW_STUCK_US : VGPU_HW_TIMEOUT_US;
	unsigned int engine;
	int ret;

	if (!wait_event_timeout(hw->inv_wait, inv_take(hw, &engine),
				usecs_to_jiffies(limit_us))) {
		drm_err_ratelimited(&vdev->drm, "no invalidation engine becomes free\n");
		ret = -ETIMEDOUT;
	} else {
		ret = inv_request(vdev, engine, vmid_mask, limit_us);
		/* After a timeout, the invalidation engine stays taken until a device reset. */
		if (!ret)
			inv_give(hw, engine);
		if (!ret && stuck)
			WRITE_ONCE(hw->inv_stuck, false);
	}
	trace_vgpu_tlb_flush(vmid_mask, !ret);
	return ret;
}

/**
 * vgpu_gmc_reset_begin() - note that a reset of the device starts
 * @vdev: device
 *
 * Until vgpu_gmc_reset_end(), a flush that is not acknowledged waits for this reset and does
 * not request a second one.
 *
 * Context: the recovery's worker.
 */
void vgpu_gmc_reset_begin(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);

	spin_lock(&hw->inv_lock);
	hw->inv_hung = true;
	spin_unlock(&hw->inv_lock);
}

/**
 * vgpu_gmc_reset_end() - wake the flushes that wait for a reset
 * @vdev: device; no engine uses an old translation any more
 * @works: true: the device was reset; false: the device was given up, so later flushes fail
 *
 * Context: if @works is true, io_lock is held for writing, so that no flush is in flight.
 */
void vgpu_gmc_reset_end(struct vgpu_device *vdev, bool works)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);

	spin_lock(&hw->inv_lock);
	hw->inv_hung = false;
	WRITE_ONCE(hw->inv_given_up, !works);
	WRITE_ONCE(hw->inv_epoch, hw->inv_epoch + 1);
	spin_unlock(&hw->inv_lock);
	wake_up_all(&hw->inv_wait);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gmc_reset_end);

/*
 * Request one device reset for all failed flushes, and wait for it. @epoch is inv_epoch before the
 * invalidation. Returns 0, or -ETIMEDOUT (no reset comes).
 */
static int inv_await_reset(struct vgpu_device *vdev, unsigned int epoch)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	bool comes;

	spin_lock(&hw->inv_lock);
	if (hw->inv_epoch == epoch && !hw->inv_hung && !hw->inv_given_up)
		hw->inv_hung = vgpu_hw_recover(vdev, VGPU_RECOVER_DEVICE);
	comes = hw->inv_hung || hw->inv_epoch != epoch;
	WRITE_ONCE(hw->inv_stuck, !comes);
	spin_unlock(&hw->inv_lock);
	/*
	 * No reset will come. The device was given up, or vgpu_hw_recover() has refused the
	 * request. It refuses requests before vgpu_reset_start() and after vgpu_reset_stop(). A
	 * removal flushes many times, so inv_stuck shortens the wait of the later flushes.
	 */
	if (!comes)
		return -ETIMEDOUT;
	/*
	 * This wait cannot deadlock, because no caller holds a lock that the reset takes:
	 * vgpu_sdma_ring.end_lock, vgpu_sdma_ring.rlc_lock, vgpu_cp.lock.
	 */
	wait_event(hw->inv_wait, READ_ONCE(hw->inv_epoch) != epoch);
	return 0;
}

/**
 * vgpu_gmc_try_flush() - flush the TLB without waiting for a recovery
 * @vdev: device
 * @vmid_mask: bitmap of the VMIDs
 *
 * Context: sleeps; takes io_lock. May be called in MMU notifiers, reclaim and the recovery's
 * worker.
 *
 * Return: 0, or -ETIMEDOUT if a hub does not acknowledge or no invalidation engine becomes
 * free.
 */
int vgpu_gmc_try_flush(struct vgpu_device *vdev, u32 vmid_mask)
{
	int ret;

	vgpu_io_begin(vdev);
	ret = vgpu_gmc_invalidate(vdev, vmid_mask);
	vgpu_io_end(vdev);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gmc_try_flush);

/**
 * vgpu_gmc_flush_tlb() - drop every translation of some VMIDs on both hubs
 * @vdev: device
 * @vmid_mask: bitmap of the VMIDs
 *
 * After a timeout, waits for a reset of the device. If no recovery is accepted, the function fails,
 * and later flushes fail after VGPU_HW_STUCK_US until a flush is acknowledged.
 *
 * Context: sleeps; takes io_lock. Allowed in MMU notifiers and reclaim, not in the recovery's
 * worker or with a lock that a reset takes (inv_await_reset()).
 *
 * Return:
 * * 0: old translations are not used any more
 * * -ETIMEDOUT: the device was given up, or no recovery is accepted
 */
int vgpu_gmc_flush_tlb(struct vgpu_device *vdev, u32 vmid_mask)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	unsigned int epoch;
	int ret;

	/*
	 * The device was given up, so do not wait. A flush is not needed: the engines have stopped
	 * for good and use no old translation.
	 */
	if (READ_ONCE(hw->inv_given_up))
		return -ETIMEDOUT;
	vgpu_io_begin(vdev);
	epoch = READ_ONCE(hw->inv_epoch);
	ret = vgpu_gmc_invalidate(vdev, vmid_mask);
	vgpu_io_end(vdev);
	return ret ? inv_await_reset(vdev, epoch) : 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gmc_flush_tlb);
