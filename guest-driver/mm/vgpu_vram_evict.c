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
 * @next: resources with a vgpu_vram_resource.number below this have been visited
 * @end: resources from this number on were allocated after the walk began, and are not visited
 * @locked: true if the walk holds the reservation of the BO that it has found
 * @going: true if the walk met a BO that has no references any more and still has its memory
 * @kept: time in jiffies until an owner first allows the eviction of a visited BO: the minimum of
 *        the known times of vgpu_bo_owner_ops.evict_in, or 0 if no time is known
 */
struct vram_search {
	u64 next;
	u64 end;
	bool locked;
	bool going;
	unsigned long kept;
};

/*
 * Returns true if the BO needs no eviction. Either the BO is not in VRAM any more, or TTM will free
 * its VRAM when fences signal: the BO is deleted, or is the object in which TTM keeps the old
 * memory of a BO during a move. The caller holds the reservation.
 */
static bool vram_leaves(const struct ttm_buffer_object *tbo)
{
	return !vgpu_bo_is_ours(tbo) || tbo->deleted || !tbo->resource ||
	       tbo->resource->mem_type != TTM_PL_VRAM;
}

/*
 * Returns true if the BO may be evicted. If the owner keeps the BO for a known time, includes
 * this time in the minimum *@kept (see struct vram_search). The caller holds the reservation.
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
	 * evict_in() returns 0 if the time is unknown, or if it has ended since evict_ok() returned
	 * false. So call evict_ok() again.
	 */
	return !left && ops->evict_ok(bo);
}

/*
 * Returns true, with a reference to the BO @tbo, if the walk stops at the BO. There are two cases:
 *
 * - The BO leaves VRAM without an eviction (vram_leaves()), or may be evicted. Then this function
 *   has locked the BO's reservation, and has set s->locked.
 * - Another thread holds the reservation, so it is unknown whether the BO may be evicted. Then
 *   s->locked is false, and vram_evict_found() waits for the reservation.
 *
 * Returns false for a pinned BO, for a BO that may not be evicted, and for a BO without references,
 * which is being freed. For the latter, sets s->going. The caller holds the manager's lock and
 * lru_lock.
 */
static bool vram_search_take(struct vram_search *s,
			     struct ttm_buffer_object *tbo)
{
	if (!tbo || tbo->pin_count)
		return false;
	s->locked = dma_resv_trylock(tbo->base.resv);
	if (!s->locked || vram_leaves(tbo) || vram_evictable(tbo, &s->kept)) {
		if (ttm_bo_get_unless_zero(tbo))
			return true;
		s->going = true;
	}
	if (s->locked)
		dma_resv_unlock(tbo->base.resv);
	return false;
}

/* Returns the next BO that vram_search_take() has taken, or NULL at the end of the walk. */
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
 * Evict the BO; the caller holds the reservation. If the owner does not allow the eviction yet,
 * includes the remaining time in the minimum *@kept (see vram_search.kept). Returns 0; -ENOENT if
 * the BO may not be evicted; -EBUSY if vgpu_ttm_eviction_valuable() or vgpu_bo_owner_ops.vacate
 * refuses the eviction now; or another error of ttm_bo_validate().
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
 * @size: size of the allocation, bytes
 * @frees: result of vgpu_vram_mgr_frees() before the allocation that failed. If VRAM was freed
 *         since then, the function does not wait for a free
 *
 * TTM takes the reservations of BOs in VRAM only by trylock, as an allocation has no ticket. A
 * thread that takes the reservation of a BO again and again (CPU page faults, moves) may hold
 * the reservation at every try of TTM. So this function waits for the reservation, and evicts
 * the BO before it drops the reservation. The function evicts BOs until @size bytes of VRAM are
 * free.
 *
 * If no BO can be evicted, the function then waits until VRAM is freed. This wait for VRAM ends at
 * the shortest of these limits:
 *
 * * one jiffy, if the eviction of a BO was refused for now (-EBUSY). An example is a BO with a page
 *   of SVM that is in use: no event reports the release of the page, so the caller has to poll.
 * * the time until the first owner allows the eviction of its BO (vgpu_bo_owner_ops.evict_in)
 * * one second, if a BO that is being freed still has its memory
 *
 * Context: process. Takes the manager's lock and reservations. The caller holds no lock that
 * holders of a reservation wait for.
 *
 * Return: 0 if the caller should try again; -ENOENT if no BO may be evicted and no VRAM was
 * freed; -ENOMEM if no system memory is free for the content of a BO; -ENODEV; -ERESTARTSYS.
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
	wait = busy ? 1 : s.kept;
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
 * @held: true if another thread holds the reservation of a BO of user space
 * @evictable: true if a BO may be evicted
 * @kept: number of jiffies until an owner first allows the eviction of its BO
 *        (vgpu_bo_owner_ops.evict_in), or 0 if no such time is known
 */
struct vram_hope {
	bool held;
	bool evictable;
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
 * Waits for BOs that owners keep in VRAM for a known time (vgpu_bo_owner_ops.evict_in). Only for
 * callers that may hold reservations, and so cannot wait for a BO that another thread has
 * reserved; other callers use vgpu_vram_mgr_make_room(). Takes the manager's lock; takes
 * reservations only by trylock.
 *
 * Context: sleeps, killable.
 *
 * Return:
 * * 0 if the shortest known time has passed, or if VRAM was freed during the wait: the caller tries
 *   again
 * * 1 after a pause of one jiffy, which lets other threads make progress: the caller tries again,
 *   up to a limit. The function pauses in three cases: a BO can be evicted now; VRAM was freed
 *   between the read of @frees and this call; or another thread held the reservation of a BO, and
 *   no owner keeps a BO for a known time
 * * -ENOENT if there is nothing to wait for: no BO can be evicted, now or after a known time, and
 *   no other thread held the reservation of a BO
 * * -EINTR on a fatal signal
 */
int vgpu_vram_mgr_wait_kept(struct vgpu_device *vdev, unsigned int frees)
{
	struct vgpu_vram_mgr *mgr = &vdev->mman->vram;
	struct vram_hope hope = vram_look(mgr);
	long left;

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
