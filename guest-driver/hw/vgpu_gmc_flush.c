// SPDX-License-Identifier: GPL-2.0
/*
 * TLB invalidation by the CPU. Specification: docs/hardware.md, "TLB and invalidation", and
 * include/vgpu/gmc.h. Entry points: vgpu_gmc_flush_tlb(); vgpu_gmc_invalidate() inside hw/.
 *
 * Each request takes an invalidation engine of its own, with the same number on both hubs. So
 * concurrent flushes do not wait for each other, unless all invalidation engines are taken. If a
 * hub does not acknowledge, the device is reset, which empties its TLBs. vgpu_gmc_flush_tlb()
 * waits for the reset, since its caller may be about to free memory that stale translations may
 * reach. The invalidation engine of the failed request is not free again until the reset.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/wait.h>
#include <kunit/visibility.h>

#include "vgpu_hw_priv.h"
#include "vgpu_hw_trace.h"

/*
 * The CPU's invalidation engines (VGPU_INV_ENGINES) are not those of jobs or the CP. The
 * driver requests no invalidation by VGPU_INV_ENGINE_GATE, because jobs poll the range register of
 * this engine (VGPU_GATE_REG).
 */
static_assert(!(VGPU_INV_ENGINES & GENMASK(VGPU_INV_ENGINE_SDMA(VGPU_NUM_SDMA) - 1, 0)));
static_assert(VGPU_INV_ENGINE_CP < VGPU_INV_ENGINE_SDMA(0));
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

/* Request the invalidation on both hubs, then wait for both acknowledges. */
static int inv_request(struct vgpu_device *vdev, unsigned int engine, u32 vmid_mask)
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
		if (!vgpu_hw_poll(vdev, HUB(hub) + VM_INVALIDATE_ENG_ACK(engine),
				  vmid_mask, vmid_mask)) {
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
 * Context: sleeps. The caller is between vgpu_io_begin() and vgpu_io_end(), or holds io_lock
 * for writing, or is part of the bring-up.
 *
 * Return: 0, or -ETIMEDOUT if a hub does not acknowledge or no invalidation engine becomes
 * free.
 */
int vgpu_gmc_invalidate(struct vgpu_device *vdev, u32 vmid_mask)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	unsigned int engine;
	int ret;

	if (!wait_event_timeout(hw->inv_wait, inv_take(hw, &engine),
				usecs_to_jiffies(VGPU_HW_TIMEOUT_US))) {
		drm_err_ratelimited(&vdev->drm, "no invalidation engine becomes free\n");
		ret = -ETIMEDOUT;
	} else {
		ret = inv_request(vdev, engine, vmid_mask);
		if (!ret)
			inv_give(hw, engine);
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
 * @vdev: device; its TLBs are empty or its engines have stopped, so no engine uses an old
 *        translation any more
 * @works: true: the device was reset; false: the device was given up, and flushes do not
 *         request a reset any more
 *
 * Context: with @works, io_lock is held for writing, so that no flush is in flight.
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
 * Called if a hub did not acknowledge an invalidation, or no invalidation engine became free.
 * @epoch is the value of inv_epoch before the invalidation. Request one reset for all callers,
 * and wait for this reset. The wait cannot deadlock, because callers of vgpu_gmc_flush_tlb()
 * hold no lock that the recovery takes. Returns -ETIMEDOUT if no recovery will run.
 */
static int inv_await_reset(struct vgpu_device *vdev, unsigned int epoch)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	bool comes;

	spin_lock(&hw->inv_lock);
	if (hw->inv_epoch == epoch && !hw->inv_hung && !hw->inv_given_up)
		hw->inv_hung = vgpu_hw_recover(vdev, VGPU_RECOVER_DEVICE);
	comes = hw->inv_hung || hw->inv_epoch != epoch;
	spin_unlock(&hw->inv_lock);
	if (!comes)
		return -ETIMEDOUT;
	wait_event(hw->inv_wait, READ_ONCE(hw->inv_epoch) != epoch);
	return 0;
}

/**
 * vgpu_gmc_try_flush() - flush the TLB without waiting for a recovery
 * @vdev: device
 * @vmid_mask: bitmap of the VMIDs
 *
 * For the recovery's worker, which must not wait for a recovery.
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
 * When the function returns 0, no access that used an old translation is in flight. If the
 * device does not acknowledge, the function requests a recovery. If the request is accepted, the
 * function waits until the recovery has reset the device or given it up.
 *
 * Context: sleeps; takes io_lock. May be called in MMU notifiers and reclaim, but neither in the
 * recovery's worker nor while the caller holds a lock that a reset of the device takes:
 * vgpu_sdma_ring.end_lock, .rlc_lock, vgpu_cp.lock.
 *
 * Return:
 * * 0: the device acknowledged, or a recovery has reset it or given it up during this call
 * * -ETIMEDOUT: the device does not acknowledge, and no recovery is accepted, because the
 *   device is being started, suspended, resumed, removed or shut down (before vgpu_reset_start() or
 *   after vgpu_reset_stop()). The failure is logged
 * * -ETIMEDOUT at once: the device had been given up before this call. Its engines have stopped, so
 *   none uses a stale translation
 */
int vgpu_gmc_flush_tlb(struct vgpu_device *vdev, u32 vmid_mask)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	unsigned int epoch;
	int ret;

	if (READ_ONCE(hw->inv_given_up))
		return -ETIMEDOUT;
	vgpu_io_begin(vdev);
	epoch = READ_ONCE(hw->inv_epoch);
	ret = vgpu_gmc_invalidate(vdev, vmid_mask);
	vgpu_io_end(vdev);
	return ret ? inv_await_reset(vdev, epoch) : 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gmc_flush_tlb);
