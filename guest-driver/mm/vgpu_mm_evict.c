// SPDX-License-Identifier: GPL-2.0
/*
 * Evicts the unpinned BOs from VRAM or GTT. At removal of the device, frees the system memory of
 * all BOs.
 */
#include <kunit/visibility.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "vgpu_mm_priv.h"

/* The eviction functions give up if no BO has left VRAM or GTT during this time, in jiffies. */
#define MM_EVICT_PATIENCE	(2 * HZ)

/* Result of mm_evict_bo(): the BO stays in VRAM, because its content was lost. */
#define MM_STAYS		1

/**
 * struct mm_bos - references to BOs
 * @bos: BOs
 * @num: number of BOs
 * @max: capacity of @bos
 * @no_room: number of BOs that did not fit into @bos
 * @going: number of BOs whose last reference was already dropped
 * @stay: number of BOs for which the last mm_evict_held() got MM_STAYS
 */
struct mm_bos {
	struct ttm_buffer_object **bos;
	size_t num;
	size_t max;
	size_t no_room;
	size_t going;
	size_t stay;
};

static void mm_get_list(struct mm_bos *held, struct list_head *list)
{
	struct ttm_buffer_object *tbo;
	struct ttm_lru_item *item;

	list_for_each_entry(item, list, link) {
		if (!ttm_lru_item_is_res(item))
			continue;
		tbo = ttm_lru_item_to_res(item)->bo;
		if (held->num == held->max)
			held->no_room++;
		else if (!ttm_bo_get_unless_zero(tbo))
			held->going++;
		else
			held->bos[held->num++] = tbo;
	}
}

static void mm_put_bos(struct mm_bos *held)
{
	while (held->num)
		ttm_bo_put(held->bos[--held->num]);
	kvfree(held->bos);
	held->bos = NULL;
	held->max = 0;
}

/*
 * Fill the empty @held with references to the BOs in the memory types @types (a bitmap), and to all
 * pinned BOs if @pinned. Sleeps; cannot fail.
 */
static void mm_get_bos(struct mm_bos *held, struct ttm_device *bdev, u32 types,
		       bool pinned)
{
	struct ttm_resource_manager *man;
	unsigned int i, j;

	for (;;) {
		size_t want;

		held->no_room = 0;
		held->going = 0;
		spin_lock(&bdev->lru_lock);
		if (pinned)
			mm_get_list(held, &bdev->pinned);
		for (i = 0; i < TTM_NUM_MEM_TYPES; i++) {
			man = types & BIT(i) ? ttm_manager_type(bdev, i) : NULL;
			for (j = 0; man && j < ARRAY_SIZE(man->lru); j++)
				mm_get_list(held, &man->lru[j]);
		}
		spin_unlock(&bdev->lru_lock);
		want = held->num + held->no_room + held->going;
		if (!held->no_room)
			return;
		mm_put_bos(held);
		held->bos = kvmalloc_array(want, sizeof(*held->bos),
					   GFP_KERNEL | __GFP_NOFAIL);
		held->max = want;
	}
}

/*
 * Return true if @tbo stays in VRAM until its owner has freed the content, because a reset lost the
 * content. Set vgpu_vram_resource.lost, so that vgpu_mm_suspend() does not save the content. The
 * caller holds the reservation.
 */
static bool mm_bo_stays(struct ttm_buffer_object *tbo)
{
	struct vgpu_bo *bo = to_vgpu_bo(tbo);
	struct vgpu_vram_mgr *mgr = &bo->vdev->mman->vram;

	if (tbo->resource->mem_type != TTM_PL_VRAM || !bo->owner_ops ||
	    !bo->owner_ops->lost || !bo->owner_ops->lost(bo))
		return false;
	mutex_lock(&mgr->lock);
	to_vgpu_vram_resource(tbo->resource)->lost = true;
	mutex_unlock(&mgr->lock);
	return true;
}

/*
 * Evict @tbo, unless pinned, being destroyed or not in @mem_type. Returns 0; MM_STAYS; -EBUSY if
 * @tbo cannot leave now; -ERESTARTSYS (@interruptible only); or another errno.
 */
static int mm_evict_bo(struct ttm_buffer_object *tbo, u32 mem_type, bool interruptible)
{
	struct ttm_operation_ctx ctx = { .interruptible = interruptible };
	struct ttm_placement placement = { };
	int ret;

	ret = ttm_bo_reserve(tbo, interruptible, false, NULL);
	if (ret)
		return ret;
	/* The BO may have been pinned or moved after mm_get_bos() found the BO. */
	if (tbo->pin_count) {
		/*
		 * Move the BO from its LRU list to the list of pinned BOs, so that the next walk of
		 * the LRU lists does not find it.
		 */
		ttm_bo_move_to_lru_tail_unlocked(tbo);
	} else if (vgpu_bo_is_ours(tbo) && !tbo->deleted && tbo->resource &&
		   tbo->resource->mem_type == mem_type) {
		if (mm_bo_stays(tbo)) {
			ret = MM_STAYS;
		} else {
			vgpu_ttm_evict_flags(tbo, &placement);
			ret = ttm_bo_validate(tbo, &placement, &ctx);
		}
	}
	ttm_bo_unreserve(tbo);
	return ret;
}

static int mm_evict_patiently(struct ttm_buffer_object *tbo, u32 mem_type,
			      bool interruptible, unsigned long until)
{
	int ret;

	for (;;) {
		ret = mm_evict_bo(tbo, mem_type, interruptible);
		if (ret != -EBUSY)
			return ret;
		if (interruptible && signal_pending(current))
			return -ERESTARTSYS;
		if (time_after(jiffies, until))
			return -EBUSY;
		/* Poll, because no event is raised when a page of the BO is released. */
		if (interruptible)
			schedule_timeout_interruptible(1);
		else
			schedule_timeout_uninterruptible(1);
	}
}

/**
 * vgpu_mm_await_copies() - wait for the copies of BOs that were evicted one after the other
 * @bos: BOs, in the order of their evictions, referenced
 * @num: number of BOs
 * @interruptible: signals may end the wait
 *
 * Waits for the last BO first. The copies out of VRAM run in order, so the calling task wakes up
 * once, and not after each copy.
 *
 * Return: 0, or -ERESTARTSYS on a signal.
 */
int vgpu_mm_await_copies(struct ttm_buffer_object *const *bos, size_t num, bool interruptible)
{
	long left = 0;

	while (num-- && left >= 0)
		left = dma_resv_wait_timeout(bos[num]->base.resv, DMA_RESV_USAGE_KERNEL,
					     interruptible, MAX_SCHEDULE_TIMEOUT);
	return left < 0 ? left : 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mm_await_copies);

/*
 * Evict each BO of @held from @mem_type, then wait for the copies. Of all errors, only -ERESTARTSYS
 * ends the evictions early.
 */
static int mm_evict_held(struct mm_bos *held, u32 mem_type, bool interruptible)
{
	unsigned long until = jiffies + MM_EVICT_PATIENCE;
	int r, ret = 0;
	size_t i;

	held->stay = 0;
	for (i = 0; i < held->num && ret != -ERESTARTSYS; i++) {
		r = mm_evict_patiently(held->bos[i], mem_type, interruptible, until);
		if (r == MM_STAYS) {
			held->stay++;
			continue;
		}
		if (!r)
			until = jiffies + MM_EVICT_PATIENCE;
		if (r == -ERESTARTSYS || !ret)
			ret = r;
	}
	if (ret != -ERESTARTSYS) {
		r = vgpu_mm_await_copies(held->bos, held->num, interruptible);
		ret = r ?: ret;
	}
	return ret;
}

/**
 * vgpu_mm_evict_once() - evict all unpinned BOs that are in VRAM or GTT now
 * @vdev: device
 * @mem_type: TTM_PL_VRAM or TTM_PL_TT
 *
 * Waits for the copies. On return, BOs may be in @mem_type again: the restore of a process with
 * queues moves BOs back. BOs whose content was lost may stay (vgpu_bo_owner_ops.lost).
 *
 * Return: 0; -ERESTARTSYS on a signal; -EBUSY if a BO could not leave; or another negative errno.
 */
int vgpu_mm_evict_once(struct vgpu_device *vdev, u32 mem_type)
{
	struct mm_bos held = { };
	int ret;

	mm_get_bos(&held, &vdev->mman->bdev, BIT(mem_type), false);
	ret = mm_evict_held(&held, mem_type, true);
	mm_put_bos(&held);
	return ret;
}

/**
 * vgpu_mm_evict_all() - evict unpinned BOs from VRAM or GTT until none is left
 * @vdev: device; no user queue is on the hardware
 * @mem_type: TTM_PL_VRAM or TTM_PL_TT
 *
 * BOs whose content was lost may stay (vgpu_bo_owner_ops.lost). vgpu_mm_suspend() does not save
 * their content.
 *
 * Context: sleeps, not interruptible. Waits for the copies.
 *
 * Return: 0; -EBUSY if a BO cannot leave, or if BOs move in as fast as BOs are evicted; or another
 * negative errno.
 */
int vgpu_mm_evict_all(struct vgpu_device *vdev, u32 mem_type)
{
	struct ttm_device *bdev = &vdev->mman->bdev;
	struct ttm_resource_manager *man = ttm_manager_type(bdev, mem_type);
	unsigned long until = jiffies + MM_EVICT_PATIENCE;
	struct mm_bos held = { };
	u64 usage, least = U64_MAX;
	bool done;
	int ret;

	/*
	 * ttm_resource_manager_evict_all() is not used: it stops at the first BO that cannot leave,
	 * and does not test, after a wait for a reservation, whether the BO has been pinned.
	 */
	for (;;) {
		mm_get_bos(&held, bdev, BIT(mem_type), false);
		ret = mm_evict_held(&held, mem_type, false);
		done = held.stay == held.num && !held.going;
		mm_put_bos(&held);
		if (ret || done)
			return ret;
		/*
		 * BOs that are being destroyed stay in TTM's lists until their memory is freed.
		 * Poll, because TTM raises no event when the memory is freed.
		 */
		schedule_timeout_uninterruptible(1);
		usage = ttm_resource_manager_usage(man);
		if (usage < least) {
			least = usage;
			until = jiffies + MM_EVICT_PATIENCE;
		} else if (time_after(jiffies, until)) {
			return -EBUSY;
		}
	}
}

/**
 * vgpu_mm_unmap_dma() - free the system memory of all BOs, so that no device accesses it by DMA
 * @mman: memory manager of a device whose engines have stopped and that gets no new BOs
 *
 * Processes that exit may release BOs concurrently.
 */
void vgpu_mm_unmap_dma(struct vgpu_mman *mman)
{
	struct ttm_device *bdev = &mman->bdev;
	struct mm_bos held = { };
	u32 types = 0;
	unsigned int i;

	for (i = 0; i < TTM_NUM_MEM_TYPES; i++)
		if (ttm_manager_type(bdev, i) && ttm_manager_type(bdev, i)->use_tt)
			types |= BIT(i);
	/*
	 * Take references to all BOs, so that no release begins, and wait for BOs that are being
	 * released. ttm_device_clear_dma_mappings() would wait for such a BO under lru_lock. This
	 * would be a deadlock, because the release needs lru_lock.
	 */
	for (;;) {
		mm_get_bos(&held, bdev, types, true);
		if (!held.going)
			break;
		mm_put_bos(&held);
		/* Poll, because TTM has no event for the end of a release. */
		schedule_timeout_uninterruptible(1);
	}
	/*
	 * Wait for BOs that TTM's workqueue is destroying. Otherwise the workqueue and
	 * ttm_device_clear_dma_mappings() would free the same pages at the same time.
	 */
	flush_workqueue(bdev->wq);
	ttm_device_clear_dma_mappings(bdev);
	mm_put_bos(&held);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mm_unmap_dma);
