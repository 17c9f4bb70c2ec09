// SPDX-License-Identifier: GPL-2.0
/*
 * The VRAM manager allocates TTM resources that consist of buddy blocks.
 *
 * The blocks need not be adjacent, unless the BO requests contiguous memory. Allocations that need
 * zeros prefer blocks that were wiped before they were freed.
 */
#include <linux/dma-fence.h>
#include <linux/list_sort.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_print.h>

#include <kunit/visibility.h>

#include "hw/vgpu_hw.h"
#include "vgpu_mm_priv.h"
#include "vgpu_res_cursor.h"

static struct vgpu_vram_mgr *to_vram_mgr(struct ttm_resource_manager *man)
{
	return container_of(man, struct vgpu_vram_mgr, manager);
}

/* Get the range of bytes that @place allows; *@end is the first byte after the range. */
static void vram_place_range(const struct vgpu_vram_mgr *mgr,
			     const struct ttm_place *place, u64 *start,
			     u64 *end)
{
	*start = (u64)place->fpfn << PAGE_SHIFT;
	*end = mgr->mm.size;
	if (place->lpfn)
		*end = min(*end, (u64)place->lpfn << PAGE_SHIFT);
}

static int vram_block_cmp(void *priv, const struct list_head *a,
			  const struct list_head *b)
{
	struct gpu_buddy_block *x, *y;

	x = list_entry(a, struct gpu_buddy_block, link);
	y = list_entry(b, struct gpu_buddy_block, link);
	return gpu_buddy_block_offset(x) > gpu_buddy_block_offset(y) ? 1 : -1;
}

static bool vram_blocks_adjacent(struct gpu_buddy *mm, struct list_head *blocks)
{
	struct gpu_buddy_block *block;
	u64 next = ~0ull;

	list_for_each_entry(block, blocks, link) {
		u64 start = gpu_buddy_block_offset(block);

		if (next != ~0ull && start != next)
			return false;
		next = start + gpu_buddy_block_size(mm, block);
	}
	return true;
}

static unsigned long vram_buddy_flags(const struct vgpu_vram_mgr *mgr,
				      const struct ttm_buffer_object *tbo,
				      const struct ttm_place *place)
{
	unsigned long flags = 0;

	if (place->fpfn || place->lpfn)
		flags |= GPU_BUDDY_RANGE_ALLOCATION;
	if (place->flags & TTM_PL_FLAG_TOPDOWN)
		flags |= GPU_BUDDY_TOPDOWN_ALLOCATION;
	if (vgpu_bo_wants_zeros(tbo))
		flags |= GPU_BUDDY_CLEAR_ALLOCATION;
	return flags;
}

/*
 * Complete a resource and add it to mgr->resources. The caller has held mgr->lock since the
 * allocation of the blocks.
 */
static void vram_list_resource(struct vgpu_vram_mgr *mgr,
			       const struct ttm_place *place,
			       struct vgpu_vram_resource *vres)
{
	if (place->flags & TTM_PL_FLAG_CONTIGUOUS)
		list_sort(NULL, &vres->blocks, vram_block_cmp);
	if (vram_blocks_adjacent(&mgr->mm, &vres->blocks))
		vres->base.placement |= TTM_PL_FLAG_CONTIGUOUS;
	vres->base.start =
		gpu_buddy_block_offset(list_first_entry(&vres->blocks,
							struct gpu_buddy_block,
							link)) >> PAGE_SHIFT;
	vres->number = mgr->next++;
	/* Pairs with vgpu_vram_mgr_loss_over(): a later job is not cancelled for that loss. */
	vres->content_epoch = smp_load_acquire(&mgr->epoch);
	list_add_tail(&vres->link, &mgr->resources);
}

static int vram_alloc_blocks(struct vgpu_vram_mgr *mgr,
			     const struct ttm_buffer_object *tbo,
			     const struct ttm_place *place,
			     struct vgpu_vram_resource *vres)
{
	u64 align = max_t(u64, tbo->page_alignment, 1) << PAGE_SHIFT;
	unsigned long flags = vram_buddy_flags(mgr, tbo, place);
	u64 size = PAGE_ALIGN(tbo->base.size);
	unsigned int fail_nth;
	u64 start, end;
	int ret;

	vram_place_range(mgr, place, &start, &end);
	if (start >= end || round_up(size, align) > end - start)
		return -ENOSPC;
	/*
	 * GPU_BUDDY_CONTIGUOUS_ALLOCATION aligns to the size, rounded up to a power of two. That is
	 * too little if the size is less than @align. Without the flag, the allocator takes a
	 * single block for such a size, aligned to @align.
	 */
	if ((place->flags & TTM_PL_FLAG_CONTIGUOUS) && size > align)
		flags |= GPU_BUDDY_CONTIGUOUS_ALLOCATION;

	mutex_lock(&mgr->lock);
	fail_nth = vgpu_buddy_no_failure();
	ret = gpu_buddy_alloc_blocks(&mgr->mm, start, end, size, align,
				     &vres->blocks, flags);
	vgpu_buddy_failure_again(fail_nth);
	if (!ret)
		vram_list_resource(mgr, place, vres);
	mutex_unlock(&mgr->lock);
	return ret;
}

static int vram_mgr_alloc(struct ttm_resource_manager *man,
			  struct ttm_buffer_object *tbo,
			  const struct ttm_place *place,
			  struct ttm_resource **res)
{
	struct vgpu_vram_mgr *mgr = to_vram_mgr(man);
	struct vgpu_vram_resource *vres;
	int ret;

	vres = kzalloc(sizeof(*vres), GFP_KERNEL);
	if (!vres)
		return -ENOMEM;
	INIT_LIST_HEAD(&vres->blocks);
	ttm_resource_init(tbo, place, &vres->base);

	ret = vram_alloc_blocks(mgr, tbo, place, vres);
	if (ret) {
		ttm_resource_fini(man, &vres->base);
		kfree(vres);
		return ret;
	}
	*res = &vres->base;
	return 0;
}

static void vram_mgr_free(struct ttm_resource_manager *man,
			  struct ttm_resource *res)
{
	struct vgpu_vram_resource *vres = to_vgpu_vram_resource(res);
	struct vgpu_vram_mgr *mgr = to_vram_mgr(man);
	bool clear = vres->wiped && dma_fence_get_status(vres->wiped) == 1;

	mutex_lock(&mgr->lock);
	list_del(&vres->link);
	gpu_buddy_free_list(&mgr->mm, &vres->blocks,
			    clear ? GPU_BUDDY_CLEARED : 0);
	WRITE_ONCE(mgr->frees, mgr->frees + 1);
	mutex_unlock(&mgr->lock);
	wake_up_all(&mgr->freed);

	dma_fence_put(vres->wiped);
	ttm_resource_fini(man, res);
	kfree(vres);
}

static bool vram_mgr_intersects(struct ttm_resource_manager *man,
				struct ttm_resource *res,
				const struct ttm_place *place, size_t size)
{
	struct vgpu_vram_mgr *mgr = to_vram_mgr(man);
	struct vgpu_res_cursor cur;
	u64 start, end;

	vram_place_range(mgr, place, &start, &end);
	vgpu_res_first(res, 0, res->size, &cur);
	while (cur.remaining) {
		if (cur.start < end && cur.start + cur.size > start)
			return true;
		vgpu_res_next(&cur, cur.size);
	}
	return false;
}

static bool vram_mgr_compatible(struct ttm_resource_manager *man,
				struct ttm_resource *res,
				const struct ttm_place *place, size_t size)
{
	struct vgpu_vram_mgr *mgr = to_vram_mgr(man);
	struct vgpu_res_cursor cur;
	u64 start, end;

	vram_place_range(mgr, place, &start, &end);
	vgpu_res_first(res, 0, res->size, &cur);
	while (cur.remaining) {
		if (cur.start < start || cur.start + cur.size > end)
			return false;
		vgpu_res_next(&cur, cur.size);
	}
	return true;
}

static void vram_mgr_debug(struct ttm_resource_manager *man,
			   struct drm_printer *p)
{
	struct vgpu_vram_mgr *mgr = to_vram_mgr(man);

	mutex_lock(&mgr->lock);
	drm_buddy_print(&mgr->mm, p);
	mutex_unlock(&mgr->lock);
}

static const struct ttm_resource_manager_func vram_mgr_func = {
	.alloc = vram_mgr_alloc,
	.free = vram_mgr_free,
	.intersects = vram_mgr_intersects,
	.compatible = vram_mgr_compatible,
	.debug = vram_mgr_debug,
};

/**
 * vgpu_vram_mgr_init() - register the VRAM manager with TTM
 * @vdev: device; TTM's device is initialised
 * @size: bytes of VRAM that BOs may use, counted from offset 0; a multiple of a page
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_vram_mgr_init(struct vgpu_device *vdev, u64 size)
{
	struct vgpu_vram_mgr *mgr = &vdev->mman->vram;
	int ret;

	mutex_init(&mgr->lock);
	init_waitqueue_head(&mgr->freed);
	INIT_LIST_HEAD(&mgr->resources);
	INIT_LIST_HEAD(&mgr->lost);
	INIT_LIST_HEAD(&mgr->leaving);
	/* No block starts as clear: an earlier driver may have left data in VRAM. */
	ret = gpu_buddy_init(&mgr->mm, size, PAGE_SIZE);
	if (ret)
		return ret;

	ttm_resource_manager_init(&mgr->manager, &vdev->mman->bdev, size);
	mgr->manager.func = &vram_mgr_func;
	ttm_set_driver_manager(&vdev->mman->bdev, TTM_PL_VRAM, &mgr->manager);
	ttm_resource_manager_set_used(&mgr->manager, true);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_init);

/**
 * vgpu_vram_mgr_fini() - undo vgpu_vram_mgr_init()
 * @vdev: device; no VRAM is in use
 */
void vgpu_vram_mgr_fini(struct vgpu_device *vdev)
{
	struct vgpu_vram_mgr *mgr = &vdev->mman->vram;

	ttm_resource_manager_set_used(&mgr->manager, false);
	ttm_resource_manager_cleanup(&mgr->manager);
	ttm_set_driver_manager(&vdev->mman->bdev, TTM_PL_VRAM, NULL);
	gpu_buddy_fini(&mgr->mm);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_fini);

static void vram_has_left(struct vgpu_bo_state *bs)
{
	list_del(&bs->leaving_link);
	dma_fence_put(bs->leaving);
	bs->leaving = NULL;
}

/*
 * Mark a BO whose content was lost when vgpu_hw.vram_epoch became @epoch. Returns false if the BO
 * was already marked for this loss.
 */
static bool vram_mark_lost(struct vgpu_vram_mgr *mgr, struct vgpu_bo_state *bs,
			   int epoch)
{
	if (bs->vram_lost && bs->lost_epoch == epoch)
		return false;
	if (!bs->vram_lost)
		list_add_tail(&bs->lost_link, &mgr->lost);
	bs->vram_lost = true;
	bs->lost_epoch = epoch;
	return true;
}

/**
 * vgpu_vram_mgr_content_epoch() - get vgpu_vram_resource.content_epoch
 * @res: resource in VRAM; the caller holds the reservation of its BO
 *
 * Return: value of vgpu_hw.vram_epoch for which the content of @res is valid.
 */
int vgpu_vram_mgr_content_epoch(struct ttm_resource *res)
{
	return to_vgpu_vram_resource(res)->content_epoch;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_content_epoch);

/**
 * vgpu_vram_mgr_enters() - record that new content is going to be written to a BO's new VRAM
 * @vdev: device
 * @to: new VRAM of the BO, whose reservation the caller holds; no job that writes to @to was
 *      created yet
 * @copied: true if jobs of VGPU_COPY_IN are going to write the content; false if there may be no
 *          job, because VRAM that is clear needs none
 *
 * The allocation of @to may be much older, because a move may wait for users of the BO.
 *
 * Context: takes vgpu_vram_mgr.lock.
 */
void vgpu_vram_mgr_enters(struct vgpu_device *vdev, struct ttm_resource *to, bool copied)
{
	struct vgpu_vram_resource *vres = to_vgpu_vram_resource(to);
	struct vgpu_vram_mgr *mgr = &vdev->mman->vram;

	mutex_lock(&mgr->lock);
	/* Pairs with vgpu_vram_mgr_loss_over(): a later job is not cancelled for that loss. */
	vres->content_epoch = smp_load_acquire(&mgr->epoch);
	vres->content_fill = copied ? READ_ONCE(vdev->mman->fill_pushed) : 0;
	mutex_unlock(&mgr->lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_enters);

/**
 * vgpu_vram_mgr_moves_within() - record that a BO is going to be copied to other VRAM
 * @vdev: device
 * @from: VRAM of the BO; the caller holds the reservation
 * @to: new VRAM of the BO, which gets the content of @from, also content that was lost
 *
 * Context: takes vgpu_vram_mgr.lock.
 */
void vgpu_vram_mgr_moves_within(struct vgpu_device *vdev, struct ttm_resource *from,
				struct ttm_resource *to)
{
	struct vgpu_vram_mgr *mgr = &vdev->mman->vram;

	mutex_lock(&mgr->lock);
	to_vgpu_vram_resource(to)->content_epoch = to_vgpu_vram_resource(from)->content_epoch;
	/* A loss makes the copy void, even if the copy has not started. */
	to_vgpu_vram_resource(to)->content_fill = 0;
	mutex_unlock(&mgr->lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_moves_within);

/**
 * vgpu_vram_mgr_leaves() - record that a BO is being copied out of VRAM
 * @bo: BO; the caller holds the reservation
 * @fence: fence of the copy
 * @content_epoch: vgpu_vram_mgr_content_epoch() of the copy's source
 * @copy_epoch: vgpu_hw.vram_epoch after the copy's last job was created
 *
 * If VRAM was lost before the copy, or is lost before the copy is done, the BO is marked as lost.
 *
 * Context: takes vgpu_vram_mgr.lock.
 */
void vgpu_vram_mgr_leaves(struct vgpu_bo *bo, struct dma_fence *fence, int content_epoch,
			  int copy_epoch)
{
	struct vgpu_vram_mgr *mgr = &bo->vdev->mman->vram;
	struct vgpu_bo_state *bs = to_bo_state(bo);
	struct vgpu_bo_state *first, *next;
	bool lost;
	int epoch;

	mutex_lock(&mgr->lock);
	epoch = atomic_read(&bo->vdev->hw->vram_epoch);
	if (bs->leaving)
		vram_has_left(bs);
	bs->leaving = dma_fence_get(fence);
	bs->leaving_epoch = copy_epoch;
	list_add_tail(&bs->leaving_link, &mgr->leaving);
	list_for_each_entry_safe(first, next, &mgr->leaving, leaving_link) {
		if (dma_fence_get_status(first->leaving) <= 0)
			break;
		vram_has_left(first);
	}
	/*
	 * If VRAM was lost before the copy was created, the copy may succeed, but reads lost
	 * content. vgpu_vram_mgr_mark_lost() may run only now, and would not find @bo in VRAM. If
	 * VRAM was lost since then, the copy is void, unless it has already succeeded.
	 */
	lost = content_epoch != copy_epoch ||
	       (copy_epoch != epoch && dma_fence_get_status(fence) != 1);
	if (lost && vram_mark_lost(mgr, bs, epoch))
		vgpu_stat_add(bo->vdev, VGPU_STAT_BOS_LOST, 1);
	mutex_unlock(&mgr->lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_leaves);

/**
 * vgpu_vram_mgr_distrust() - stop assuming that free blocks marked as clear contain zeros
 * @vdev: device, after a reset that has lost VRAM, before engines or user space use VRAM
 *
 * Context: any.
 */
void vgpu_vram_mgr_distrust(struct vgpu_device *vdev)
{
	WRITE_ONCE(vdev->mman->vram.distrust, true);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_distrust);

/**
 * vgpu_vram_mgr_loss_over() - treat content that enters VRAM from now on as valid
 * @vdev: device, after a reset that has lost VRAM; the jobs that were pending then have ended, and
 *        new jobs run. vgpu_vram_mgr_distrust() has been called
 *
 * If vgpu_vram_mgr_enters() was called earlier, even if after the loss, the job that writes the
 * content may have been cancelled with the other pending jobs. So this content counts as lost,
 * unless none of its jobs has started: such jobs wait in their queue, and run later.
 *
 * Context: the recovery's worker; does not sleep.
 */
void vgpu_vram_mgr_loss_over(struct vgpu_device *vdev)
{
	struct vgpu_mman *mman = vdev->mman;

	WRITE_ONCE(mman->vram.lost_fill, READ_ONCE(mman->fill_started));
	/* Order the end of the old jobs and the store to distrust before this store. */
	smp_store_release(&mman->vram.epoch, atomic_read(&vdev->hw->vram_epoch));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_loss_over);

/**
 * vgpu_vram_mgr_mark_lost() - mark the BOs whose content was lost with VRAM
 * @vdev: device, after a reset and vgpu_vram_mgr_loss_over(); earlier jobs have ended
 *
 * vgpu_vram_mgr_leaves() marks the BOs that leave VRAM between the loss and this call.
 *
 * Context: takes vgpu_vram_mgr.lock. Not in the worker of the recovery: a holder of this lock may
 * wait in memory reclaim until the worker has restarted the engines.
 *
 * Return: number of BOs marked.
 */
unsigned int vgpu_vram_mgr_mark_lost(struct vgpu_device *vdev)
{
	struct vgpu_vram_mgr *mgr = &vdev->mman->vram;
	struct vgpu_vram_resource *vres;
	struct vgpu_bo_state *bs, *next;
	int epoch = atomic_read(&vdev->hw->vram_epoch);
	unsigned int lost = 0;

	mutex_lock(&mgr->lock);
	spin_lock(&vdev->mman->bdev.lru_lock);
	list_for_each_entry(vres, &mgr->resources, link) {
		struct ttm_buffer_object *tbo = vres->base.bo;

		if (!tbo || tbo->type == ttm_bo_type_kernel ||
		    !vgpu_bo_is_ours(tbo) || tbo->resource != &vres->base ||
		    vres->content_epoch == epoch)
			continue;
		/* None of the jobs that copy the content had started when VRAM was lost. */
		if (vres->content_fill && vres->content_fill >= READ_ONCE(mgr->lost_fill)) {
			vres->content_epoch = epoch;
			continue;
		}
		lost += vram_mark_lost(mgr, to_bo_state(to_vgpu_bo(tbo)), epoch);
	}
	spin_unlock(&vdev->mman->bdev.lru_lock);
	/*
	 * Mark each BO whose copy out of VRAM was cancelled, or will be cancelled because the copy
	 * was created before VRAM was lost (vgpu_copy_job.c).
	 */
	list_for_each_entry_safe(bs, next, &mgr->leaving, leaving_link) {
		int status = dma_fence_get_status(bs->leaving);

		if (status != -ECANCELED &&
		    (status || bs->leaving_epoch == epoch))
			continue;
		lost += vram_mark_lost(mgr, bs, epoch);
		vram_has_left(bs);
	}
	mutex_unlock(&mgr->lock);
	vgpu_stat_add(vdev, VGPU_STAT_BOS_LOST, lost);
	return lost;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_mark_lost);

/**
 * vgpu_vram_mgr_forget_lost() - remove a BO from vgpu_vram_mgr.lost and vgpu_vram_mgr.leaving
 * @bo: BO whose memory has been freed
 *
 * Context: takes the manager's lock.
 */
void vgpu_vram_mgr_forget_lost(struct vgpu_bo *bo)
{
	struct vgpu_vram_mgr *mgr = &bo->vdev->mman->vram;
	struct vgpu_bo_state *bs = to_bo_state(bo);

	mutex_lock(&mgr->lock);
	if (bs->leaving)
		vram_has_left(bs);
	if (bs->vram_lost)
		list_del(&bs->lost_link);
	mutex_unlock(&mgr->lock);
}

/**
 * vgpu_vram_mgr_show_lost() - print the BOs whose content was lost with VRAM
 * @vdev: device
 * @p: output: for each BO a line with its offset for mmap() of the render node, and its size
 *     in bytes
 */
void vgpu_vram_mgr_show_lost(struct vgpu_device *vdev, struct drm_printer *p)
{
	struct vgpu_vram_mgr *mgr = &vdev->mman->vram;
	struct vgpu_bo_state *bs;

	mutex_lock(&mgr->lock);
	list_for_each_entry(bs, &mgr->lost, lost_link)
		drm_printf(p, "%#llx %zu\n",
			   drm_vma_node_offset_addr(&bs->base.tbo.base.vma_node),
			   bs->base.tbo.base.size);
	mutex_unlock(&mgr->lock);
}

/**
 * vgpu_vram_mgr_size() - get the amount of VRAM that BOs may use
 * @vdev: device
 *
 * Context: any.
 *
 * Return: bytes.
 */
u64 vgpu_vram_mgr_size(struct vgpu_device *vdev)
{
	return vdev->mman->vram.manager.size;
}

/**
 * vgpu_vram_mgr_usage() - get the amount of VRAM that BOs use
 * @vdev: device
 *
 * TTM's own count is not used: TTM also counts allocations that may still fail.
 *
 * Context: any.
 *
 * Return: bytes, at most vgpu_vram_mgr_size().
 */
u64 vgpu_vram_mgr_usage(struct vgpu_device *vdev)
{
	struct vgpu_vram_mgr *mgr = &vdev->mman->vram;

	return mgr->mm.size - READ_ONCE(mgr->mm.avail);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_usage);
