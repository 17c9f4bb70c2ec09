// SPDX-License-Identifier: GPL-2.0
/*
 * Serves allocations of VRAM for which TTM's own eviction freed nothing: evicts further BOs, or
 * waits until the owner of a BO allows the eviction of the BO (vgpu_bo_owner_ops.evict_ok).
 */
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include <kunit/visibility.h>

#include "vgpu_mm_priv.h"

/**
 * struct vram_search - a walk through vgpu_vram_mgr.resources, from the oldest to the newest
 */
struct vram_search {
	/** @next: resources with a vgpu_vram_resource.number below this have been visited */
	u64 next;
	/**
	 * @end: resources from this number on were allocated after the walk began, and are not
	 * visited
	 */
	u64 end;
	/** @locked: true if the walk holds the reservation of the BO that it has found */
	bool locked;
	/**
	 * @going: true if the walk met a BO that has no references any more and still has its
	 * memory
	 */
	bool going;
	/**
	 * @kept: number of jiffies until an owner first allows the eviction of a visited BO (the
	 * minimum of vgpu_bo_owner_ops.evict_in), or 0 if no time is known
	 */
	unsigned long kept;
};

/*
 * Returns true if the BO is not in VRAM, or if TTM will free the BO's VRAM when fences signal. The
 * reservation is held.
 */
static bool vram_leaves(const struct ttm_buffer_object *tbo)
{
	/*
	 * An object that is not ours has the old memory of a BO that is being moved. TTM frees this
	 * memory after the move.
	 */
	return !vgpu_bo_is_ours(tbo) || tbo->deleted || !tbo->resource ||
	       tbo->resource->mem_type != TTM_PL_VRAM;
}

/*
 * Returns true if the BO may be evicted. If the BO's owner forbids the eviction for a known time,
 * stores this time in *@kept, unless *@kept already has a shorter time. *@kept is in jiffies; 0
 * means that no time is known yet. The reservation is held.
 */
static bool vram_evictable(struct ttm_buffer_object *tbo, unsigned long *kept)
{
	struct vgpu_bo *bo = to_vgpu_bo(tbo);
	const struct vgpu_bo_owner_ops *ops = bo->owner_ops;
	unsigned long left;

	if (tbo->pin_count)
		return false;
	if (!ops || !ops->evict_ok || ops->evict_ok(bo))
		return true;
	if (!ops->evict_in)
		return false;
	left = ops->evict_in(bo);
	*kept = min_not_zero(*kept, left);
	/*
	 * If @left is 0, the time is unknown, or the BO has become evictable since the first call
	 * of evict_ok(). So call evict_ok() again.
	 */
	return !left && ops->evict_ok(bo);
}

/*
 * Returns true, with a reference to @tbo, if the walk stops at @tbo. The caller holds
 * vgpu_vram_mgr.lock and lru_lock.
 */
static bool vram_search_take(struct vram_search *s,
			     struct ttm_buffer_object *tbo)
{
	if (!tbo || tbo->pin_count)
		return false;
	/*
	 * If another thread holds the reservation, stop at @tbo without the two tests below.
	 * vram_evict_found() then waits for the reservation and makes these tests.
	 */
	s->locked = dma_resv_trylock(tbo->base.resv);
	if (!s->locked || vram_leaves(tbo) || vram_evictable(tbo, &s->kept)) {
		if (ttm_bo_get_unless_zero(tbo))
			return true;
		/* The BO has no references, so it is being freed. */
		s->going = true;
	}
	if (s->locked)
		dma_resv_unlock(tbo->base.resv);
	return false;
}

/*
 * Continue the walk until vram_search_take() takes a BO. Returns this BO, with a reference, or NULL
 * at the end of the walk.
 */
static struct ttm_buffer_object *vram_search_next(struct vgpu_vram_mgr *mgr,
						  struct vram_search *s)
{
	struct ttm_device *bdev = mgr->manager.bdev;
	struct ttm_buffer_object *found = NULL;
	struct vgpu_vram_resource *vres;

	mutex_lock(&mgr->lock);
	spin_lock(&bdev->lru_lock);
	list_for_each_entry(vres, &mgr->resources, link) {
		if (vres->number < s->next)
			continue;
		if (vres->number >= s->end)
			break;
		s->next = vres->number + 1;
		if (vram_search_take(s, vres->base.bo)) {
			found = vres->base.bo;
			break;
		}
	}
	spin_unlock(&bdev->lru_lock);
	mutex_unlock(&mgr->lock);
	return found;
}

/*
 * Evict the BO, reservation held. Returns -ENOENT if vram_evictable() forbids this, -EBUSY if
 * eviction_valuable() or vacate() refuses now, or another error of ttm_bo_validate().
 */
static int vram_evict(struct ttm_buffer_object *tbo, unsigned long *kept)
{
	static const struct ttm_place vram = { .mem_type = TTM_PL_VRAM };
	const struct ttm_device_funcs *funcs = tbo->bdev->funcs;
	struct ttm_operation_ctx ctx = {
		.interruptible = true,
	};
	struct ttm_placement placement = { };

	if (vram_leaves(tbo))
		return 0;
	if (!vram_evictable(tbo, kept))
		return -ENOENT;
	if (!funcs->eviction_valuable(tbo, &vram))
		return -EBUSY;
	funcs->evict_flags(tbo, &placement);
	return ttm_bo_validate(tbo, &placement, &ctx);
}

/*
 * Evict the BO that the walk has found. If the walk does not hold the BO's reservation yet, waits
 * for the reservation. Drops the reservation and the reference.
 */
static int vram_evict_found(struct vram_search *s, struct ttm_buffer_object *tbo)
{
	int ret = 0;

	/*
	 * Wait for the reservation. TTM only tries to lock it, and may fail every time if other
	 * threads take the reservation again and again (CPU page faults, moves).
	 */
	if (!s->locked)
		ret = ttm_bo_reserve(tbo, true, false, NULL);
	if (!ret) {
		ret = vram_evict(tbo, &s->kept);
		ttm_bo_unreserve(tbo);
	}
	ttm_bo_put(tbo);
	return ret;
}

/**
 * vgpu_vram_mgr_frees() - get the number of frees of VRAM
 * @vdev: device
 *
 * The caller reads the number before an allocation and, if the allocation fails, passes the
 * number to vgpu_vram_mgr_make_room() or vgpu_vram_mgr_wait_kept().
 *
 * Return: how often VRAM was freed, modulo 2^32.
 */
unsigned int vgpu_vram_mgr_frees(struct vgpu_device *vdev)
{
	return READ_ONCE(vdev->mman->vram.frees);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_frees);

/**
 * vgpu_vram_mgr_make_room() - evict BOs that TTM's eviction skipped
 * @vdev: device
 * @size: bytes of VRAM to make free
 * @frees: vgpu_vram_mgr_frees() before the allocation that failed
 *
 * If no BO can be evicted, waits for a limited time until VRAM is freed.
 *
 * Context: takes vgpu_vram_mgr.lock and reservations. The caller holds no lock that a holder of a
 * reservation may wait for.
 *
 * Return:
 * * 0: try the allocation again
 * * -ENOENT: no BO may be evicted, and no VRAM was freed
 * * -ENOMEM: too little system memory to evict a BO
 * * -ENODEV, -ERESTARTSYS
 */
int vgpu_vram_mgr_make_room(struct vgpu_device *vdev, u64 size,
			    unsigned int frees)
{
	struct vgpu_vram_mgr *mgr = &vdev->mman->vram;
	u64 used = ttm_resource_manager_usage(&mgr->manager) + size;
	u64 total = mgr->manager.size, made = 0, bytes;
	struct vram_search s = { .end = READ_ONCE(mgr->next) };
	struct ttm_buffer_object *tbo;
	unsigned long wait;
	bool busy = false;
	long left;
	int ret;

	do {
		tbo = vram_search_next(mgr, &s);
		if (!tbo)
			break;
		bytes = tbo->base.size;
		ret = vram_evict_found(&s, tbo);
		if (!ret)
			made += bytes;
		else if (ret == -EBUSY)
			busy = true;
		else if (ret != -ENOENT)
			return ret;
	} while (!made || used > total + made);

	if (made || READ_ONCE(mgr->frees) != frees)
		return 0;
	/*
	 * If an eviction was refused (-EBUSY), try again after one jiffy. The driver is not
	 * notified when, for example, a page of SVM becomes movable.
	 */
	wait = busy ? 1 : s.kept;
	/* A BO without references is being freed: wait at most one second for its VRAM. */
	if (s.going)
		wait = min_not_zero(wait, (unsigned long)HZ);
	if (!wait)
		return -ENOENT;
	left = wait_event_interruptible_timeout(mgr->freed,
						READ_ONCE(mgr->frees) != frees,
						wait);
	return left < 0 ? left : 0;
}

/**
 * struct vram_hope - whether VRAM may become free for an allocation
 */
struct vram_hope {
	/** @held: true if a BO of user space is reserved, by another thread or by the caller */
	bool held;
	/** @evictable: true if at least one BO is not reserved and may be evicted now */
	bool evictable;
	/**
	 * @kept: number of jiffies until an owner first allows the eviction of a BO (the minimum of
	 * vgpu_bo_owner_ops.evict_in), or 0 if no time is known
	 */
	unsigned long kept;
};

static struct vram_hope vram_look(struct vgpu_vram_mgr *mgr)
{
	struct ttm_device *bdev = mgr->manager.bdev;
	struct vgpu_vram_resource *vres;
	struct vram_hope hope = { };

	mutex_lock(&mgr->lock);
	spin_lock(&bdev->lru_lock);
	list_for_each_entry(vres, &mgr->resources, link) {
		struct ttm_buffer_object *tbo = vres->base.bo;

		if (!tbo || tbo->type == ttm_bo_type_kernel || tbo->pin_count)
			continue;
		if (dma_resv_trylock(tbo->base.resv)) {
			if (vgpu_bo_is_ours(tbo) && vram_evictable(tbo, &hope.kept))
				hope.evictable = true;
			dma_resv_unlock(tbo->base.resv);
		} else {
			hope.held = true;
		}
	}
	spin_unlock(&bdev->lru_lock);
	mutex_unlock(&mgr->lock);
	return hope;
}

/**
 * vgpu_vram_mgr_wait_kept() - wait before a failed allocation of VRAM is tried again
 * @vdev: device
 * @frees: vgpu_vram_mgr_frees() before the allocation that failed
 *
 * Context: sleeps; takes vgpu_vram_mgr.lock. The caller may hold reservations.
 *
 * Return:
 * * 0: VRAM was freed, or the owner of a BO (vgpu_bo.owner_ops) may now allow the BO's eviction
 * * 1: paused for one jiffy; the caller limits the number of tries
 * * -ENOENT: a wait is no use
 * * -EINTR: fatal signal
 */
int vgpu_vram_mgr_wait_kept(struct vgpu_device *vdev, unsigned int frees)
{
	struct vgpu_vram_mgr *mgr = &vdev->mman->vram;
	struct vram_hope hope = vram_look(mgr);
	long left;

	/*
	 * Return 1 (try again) in these cases:
	 * - A BO is evictable now, or VRAM was freed.
	 * - A reserved BO may be evictable (hope.held), and there is no known time to wait for
	 *   (hope.kept is 0).
	 *
	 * Pause first, so that other threads make progress.
	 */
	if (hope.evictable || READ_ONCE(mgr->frees) != frees ||
	    (hope.held && !hope.kept)) {
		schedule_timeout_killable(1);
		return fatal_signal_pending(current) ? -EINTR : 1;
	}
	if (!hope.kept)
		return -ENOENT;
	left = wait_event_killable_timeout(mgr->freed, READ_ONCE(mgr->frees) != frees,
					   hope.kept);
	return left < 0 ? -EINTR : 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_wait_kept);
