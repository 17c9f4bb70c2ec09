// SPDX-License-Identifier: GPL-2.0
/*
 * Implements TTM's device functions (struct ttm_device_funcs): system pages, evictions, moves,
 * CPU mappings.
 *
 * The users of a BO, as named below, are the jobs of user space and the user queues that have a
 * pending fence in the BO's reservation.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_drv.h>
#include <kunit/visibility.h>

#include "hw/vgpu_hw.h"
#include "hw/vgpu_io.h"
#include "hw/vgpu_mmio.h"
#include "vgpu_mm_priv.h"
#include "vgpu_mm_trace.h"
#include "vgpu_res_cursor.h"

/* Time in jiffies for which a swap-out counts as a sign of memory pressure. */
#define SWAPS_SPAN	(5 * HZ)
/* Largest allocation that is tried without testing for available memory: 16 MiB. */
#define SMALL_TT_PAGES	(SZ_16M >> PAGE_SHIFT)

static struct ttm_tt *vgpu_ttm_tt_create(struct ttm_buffer_object *tbo,
					 u32 page_flags)
{
	enum ttm_caching caching = ttm_cached;
	struct vgpu_tt *tt;

	if (to_vgpu_bo(tbo)->flags & AMDGPU_GEM_CREATE_CPU_GTT_USWC)
		caching = ttm_write_combined;

	tt = kzalloc(sizeof(*tt), GFP_KERNEL);
	if (!tt)
		return NULL;
	INIT_LIST_HEAD(&tt->bound_link);
	if (page_flags & TTM_TT_FLAG_EXTERNAL)
		tt->bo = to_vgpu_bo(tbo);
	/* ttm_sg_tt_init() allocates the array of DMA addresses, which ttm_tt_init() does not. */
	if (ttm_sg_tt_init(&tt->ttm, tbo, page_flags, caching)) {
		kfree(tt);
		return NULL;
	}
	return &tt->ttm;
}

static int vgpu_external_bind(struct vgpu_bo *bo, struct ttm_tt *ttm)
{
	return bo->userptr ? vgpu_userptr_tt_bind(bo, ttm) :
			     vgpu_import_bind(bo, ttm);
}

static void vgpu_external_unbind(struct ttm_tt *ttm)
{
	struct vgpu_bo *bo = to_vgpu_tt(ttm)->bo;

	if (bo->userptr)
		vgpu_userptr_tt_unbind(bo, ttm);
	else
		vgpu_import_unbind(ttm);
}

/*
 * Returns false if @ttm would use up all memory, causing OOM kills. Write-combined pages pass: they
 * may come from TTM's pool, which si_mem_available() does not count.
 */
static bool vgpu_tt_may_fit(const struct ttm_tt *ttm)
{
	if (ttm->num_pages <= SMALL_TT_PAGES || ttm->caching != ttm_cached)
		return true;
	return ttm->num_pages <= si_mem_available() + get_nr_swap_pages();
}

/*
 * Allocate the pages of a BO, unless the BO is a user pointer or an import. If memory is used up,
 * the function returns -ENOMEM without invoking the OOM killer.
 */
static int vgpu_ttm_tt_populate(struct ttm_device *bdev, struct ttm_tt *ttm,
				struct ttm_operation_ctx *ctx)
{
	struct ttm_operation_ctx mayfail = *ctx;
	int ret;

	/* The memory of a user pointer or an import is bound when the BO moves to GTT. */
	if (ttm->page_flags & TTM_TT_FLAG_EXTERNAL)
		return 0;
	if (!vgpu_tt_may_fit(ttm))
		return -ENOMEM;
	/* Without this flag, which TTM leaves out in page faults, the OOM killer would run. */
	mayfail.gfp_retry_mayfail = true;
	ret = ttm_pool_alloc(&bdev->pool, ttm, &mayfail);
	if (!ret)
		vgpu_shrink_tt(bdev_to_vgpu(bdev), ttm, true);
	return ret;
}

static void vgpu_ttm_tt_unpopulate(struct ttm_device *bdev, struct ttm_tt *ttm)
{
	vgpu_gtt_mgr_unbind(bdev_to_vgpu(bdev), ttm);
	vgpu_shrink_tt(bdev_to_vgpu(bdev), ttm, false);
	if (ttm->page_flags & TTM_TT_FLAG_EXTERNAL)
		vgpu_external_unbind(ttm);
	else
		ttm_pool_free(&bdev->pool, ttm);
}

static void vgpu_ttm_tt_destroy(struct ttm_device *bdev, struct ttm_tt *ttm)
{
	ttm_tt_fini(ttm);
	kfree(to_vgpu_tt(ttm));
}

/*
 * Returns true if the memory type is in the register or doorbell BAR. No BO moves into or out of
 * these types.
 */
static bool vgpu_place_is_bar(u32 mem_type)
{
	return mem_type == VGPU_PL_DOORBELL || mem_type == VGPU_PL_MMIO_REMAP;
}

/* Returns true if the BO's owner, instead of TTM, moves the content (vgpu_bo_owner_ops.vacate). */
static bool vgpu_ttm_vacates(struct ttm_buffer_object *tbo)
{
	const struct vgpu_bo_owner_ops *ops;

	if (!vgpu_bo_is_ours(tbo) || tbo->deleted || tbo->pin_count)
		return false;
	ops = to_vgpu_bo(tbo)->owner_ops;
	return ops && ops->vacate;
}

/*
 * Returns true if the eviction of a BO is useful and allowed, so that TTM may evict it. Changes no
 * state; must not sleep.
 */
static bool vgpu_ttm_eviction_valuable(struct ttm_buffer_object *tbo,
				       const struct ttm_place *place)
{
	struct vgpu_bo *bo = to_vgpu_bo(tbo);

	if (vgpu_place_is_bar(tbo->resource->mem_type))
		return false;
	/*
	 * The shrinker's worker spares BOs with pending fences. A pending fence may be the eviction
	 * fence of user queues, which a swap-out would evict.
	 */
	if (vgpu_shrink_running(bdev_to_vgpu(tbo->bdev)) &&
	    !dma_resv_test_signaled(tbo->base.resv, DMA_RESV_USAGE_BOOKKEEP))
		return false;
	if (vgpu_bo_is_ours(tbo) && bo->owner_ops && bo->owner_ops->evict_ok &&
	    !tbo->deleted && !bo->owner_ops->evict_ok(bo))
		return false;
	if (vgpu_bo_is_ours(tbo) && !tbo->deleted && vgpu_swapin_spares(bo, jiffies))
		return false;
	return ttm_bo_eviction_valuable(tbo, place);
}

/**
 * vgpu_ttm_evict_flags() - select the place to which a BO is evicted
 * @tbo: BO that has memory; the caller holds the reservation
 * @placement: receives the placement for ttm_bo_validate()
 *
 * A BO in VRAM moves to GTT, or to TTM_PL_SYSTEM if GTT is full. A BO in GTT moves to
 * TTM_PL_SYSTEM.
 */
void vgpu_ttm_evict_flags(struct ttm_buffer_object *tbo,
			  struct ttm_placement *placement)
{
	static const struct ttm_place places[] = {
		{ .mem_type = TTM_PL_TT },
		{ .mem_type = TTM_PL_SYSTEM },
	};
	/*
	 * A BO of SVM moves to TTM_PL_SYSTEM, but gets no pages there, because SVM moves the
	 * content to the pages of the process (vgpu_move_vacate()).
	 */
	bool to_gtt = tbo->resource->mem_type == TTM_PL_VRAM &&
		      !vgpu_ttm_vacates(tbo);

	if (vgpu_bo_is_ours(tbo))
		trace_vgpu_bo_evict(to_vgpu_bo(tbo));
	placement->placement = to_gtt ? &places[0] : &places[1];
	placement->num_placement = to_gtt ? 2 : 1;
}

static void vgpu_ttm_move_notify(struct ttm_buffer_object *tbo,
				 struct ttm_resource *new)
{
	struct vgpu_bo *bo = to_vgpu_bo(tbo);

	if (!vgpu_bo_is_ours(tbo))
		return;
	if (bo->vdev->mman->vm_ops)
		bo->vdev->mman->vm_ops->move_notify(bo, new);
	vgpu_dma_buf_moved(bo);
}

/*
 * Mark the BO's GPU mappings as stale before a move is queued behind the jobs and queues that use
 * the BO. If the move fails, the caller waits for these jobs and queues. The BO must have no
 * importers, because this function does not notify importers.
 */
static void vgpu_ttm_move_later(struct ttm_buffer_object *tbo)
{
	struct vgpu_bo *bo = to_vgpu_bo(tbo);

	if (bo->vdev->mman->vm_ops)
		bo->vdev->mman->vm_ops->move_later(bo);
}

static void vgpu_ttm_delete_mem_notify(struct ttm_buffer_object *tbo)
{
	vgpu_ttm_move_notify(tbo, NULL);
}

/* Give memory to a BO that has none. */
static int vgpu_move_new(struct ttm_buffer_object *tbo, struct ttm_resource *new)
{
	struct vgpu_device *vdev = bdev_to_vgpu(tbo->bdev);
	struct dma_fence *fence;

	if (new->mem_type == TTM_PL_VRAM)
		vgpu_vram_mgr_enters(vdev, new, false);
	if (new->mem_type == TTM_PL_VRAM && vgpu_bo_wants_zeros(tbo)) {
		fence = vgpu_mm_clear_res(vdev, tbo->base.resv, new, true);
		if (IS_ERR(fence))
			return PTR_ERR(fence);
		/* TTM has reserved one fence slot in the reservation, for this fence. */
		dma_resv_add_fence(tbo->base.resv, fence,
				   DMA_RESV_USAGE_KERNEL);
		dma_fence_put(fence);
	}
	if (new->mem_type == TTM_PL_TT)
		vgpu_gtt_mgr_bind(vdev, tbo->ttm, new);
	ttm_bo_move_null(tbo, new);
	return 0;
}

/*
 * Returns true if the fence is pending and belongs to a job of user space or to user queues. Fences
 * of moves have usage KERNEL.
 */
static bool vgpu_move_is_user(struct dma_resv_iter *cursor,
			      struct dma_fence *fence)
{
	return dma_resv_iter_usage(cursor) != DMA_RESV_USAGE_KERNEL &&
	       !dma_fence_is_signaled(fence);
}

/* Returns true if the BO has users. If user queues are among them, starts their eviction. */
static bool vgpu_move_has_users(struct ttm_buffer_object *tbo)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	bool any = false;

	dma_resv_for_each_fence(&cursor, tbo->base.resv,
				DMA_RESV_USAGE_BOOKKEEP, fence) {
		if (!vgpu_move_is_user(&cursor, fence))
			continue;
		dma_fence_enable_sw_signaling(fence);
		any = true;
	}
	return any;
}

/*
 * Returns true if a move can be queued behind the BO's users. A BO with importers must first wait
 * for the users: only vgpu_ttm_move_notify() notifies importers, but also clears the GPU mappings.
 * The users need these mappings until they are done.
 */
static bool vgpu_move_queues(struct vgpu_bo *bo)
{
	/*
	 * Return true even if user queues use the BO: the queued move then waits for the queues'
	 * eviction fence. This cannot deadlock, because an eviction fence does not wait for moves.
	 */
	return list_empty(&to_bo_state(bo)->attachments);
}

/* Wait for the users of the BO before its mappings are cleared. */
static int vgpu_move_wait_users(struct ttm_buffer_object *tbo,
				struct ttm_operation_ctx *ctx)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret;

	dma_resv_for_each_fence(&cursor, tbo->base.resv,
				DMA_RESV_USAGE_BOOKKEEP, fence) {
		if (!vgpu_move_is_user(&cursor, fence))
			continue;
		if (ctx->no_wait_gpu) {
			dma_fence_enable_sw_signaling(fence);
			return -EBUSY;
		}
		ret = dma_fence_wait(fence, ctx->interruptible);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Move a BO between GTT and system memory: the pages stay, and only the GPU's access to them
 * changes.
 */
static int vgpu_move_in_place(struct ttm_buffer_object *tbo,
			      struct ttm_operation_ctx *ctx,
			      struct ttm_resource *new)
{
	struct vgpu_device *vdev = bdev_to_vgpu(tbo->bdev);
	int ret;

	if (tbo->resource->mem_type == TTM_PL_TT) {
		ret = ttm_bo_wait_ctx(tbo, ctx);
		if (ret)
			return ret;
		vgpu_gtt_mgr_unbind(vdev, tbo->ttm);
		if (tbo->type == ttm_bo_type_sg)
			vgpu_external_unbind(tbo->ttm);
	}
	if (new->mem_type == TTM_PL_TT && tbo->type == ttm_bo_type_sg) {
		ret = vgpu_external_bind(to_vgpu_bo(tbo), tbo->ttm);
		if (ret)
			return ret;
	}
	if (new->mem_type == TTM_PL_TT)
		vgpu_gtt_mgr_bind(vdev, tbo->ttm, new);
	ttm_bo_move_null(tbo, new);
	return 0;
}

/*
 * Copy the BO's content to @new. If @used is true, the copy waits for the fences of jobs and queues
 * that use the BO; if the copy cannot be made, the function itself waits for these fences.
 */
static int vgpu_move_copy(struct ttm_buffer_object *tbo, bool evict, bool used,
			  struct ttm_resource *new)
{
	struct vgpu_device *vdev = bdev_to_vgpu(tbo->bdev);
	bool leaves_vram = new->mem_type != TTM_PL_VRAM;
	struct ttm_resource *old = tbo->resource;
	int content_epoch = 0, copy_epoch;
	struct dma_fence *fence;
	int ret;

	if (leaves_vram) {
		content_epoch = vgpu_vram_mgr_content_epoch(old);
		vgpu_gtt_mgr_bind(vdev, tbo->ttm, new);
	} else if (old->mem_type == TTM_PL_VRAM) {
		vgpu_vram_mgr_moves_within(vdev, old, new);
	} else {
		vgpu_vram_mgr_enters(vdev, new, true);
	}
	fence = vgpu_mm_copy_res(vdev, tbo->base.resv,
				 used ? to_vgpu_bo(tbo) : NULL, tbo->ttm,
				 old, new, tbo->base.size);
	/* Read after the jobs were created, so that a loss during their creation is not missed. */
	copy_epoch = atomic_read(&vdev->hw->vram_epoch);
	ret = PTR_ERR_OR_ZERO(fence);
	if (!ret) {
		/*
		 * Treat a move out of VRAM as an eviction if the BO has no users: TTM frees the
		 * VRAM now, and lets the next owners of VRAM wait for @fence, also for copies of
		 * other BOs that are ahead in the same queue. In other moves, TTM keeps the old
		 * memory in an object of its own until @fence signals.
		 */
		ret = ttm_bo_move_accel_cleanup(tbo, fence, evict || (leaves_vram && !used),
						true, new);
		/*
		 * If ttm_bo_move_accel_cleanup() fails, wait for the copy, because the caller
		 * frees the new memory.
		 */
		if (ret)
			dma_fence_wait(fence, false);
		else if (leaves_vram && vgpu_bo_is_ours(tbo))
			vgpu_vram_mgr_leaves(to_vgpu_bo(tbo), fence,
					     content_epoch, copy_epoch);
		dma_fence_put(fence);
	}
	if (leaves_vram) {
		if (ret)
			vgpu_gtt_mgr_unbind(vdev, tbo->ttm);
		else
			vgpu_stat_add(vdev, VGPU_STAT_EVICTIONS, 1);
	}
	/*
	 * The next holder of the reservation may clear the stale entries after a wait for the
	 * fences of moves only. A queued move ends after the users, but a failed move may have no
	 * fence. So wait here, or users could lose their entries.
	 */
	if (ret && used)
		dma_resv_wait_timeout(tbo->base.resv, DMA_RESV_USAGE_BOOKKEEP,
				      false, MAX_SCHEDULE_TIMEOUT);
	return ret;
}

/*
 * Let the BO's owner move the content out of VRAM (vacate()), then free the BO's VRAM. Returns
 * -EBUSY if some content cannot leave VRAM now.
 */
static int vgpu_move_vacate(struct ttm_buffer_object *tbo,
			    struct ttm_operation_ctx *ctx,
			    struct ttm_resource *new)
{
	struct vgpu_bo *bo = to_vgpu_bo(tbo);
	int ret;

	if (WARN_ON_ONCE(new->mem_type != TTM_PL_SYSTEM))
		return -EINVAL;
	ret = ttm_bo_wait_ctx(tbo, ctx);
	if (ret)
		return ret;
	/*
	 * After -EBUSY, TTM's walk of the LRU list goes on to the next BO; most other errors would
	 * end the walk. If vacate() fails, do not move the BO to the end of the list: the walk
	 * would find the BO there again, and would never end.
	 */
	if (!bo->owner_ops->vacate(bo))
		return -EBUSY;
	ttm_bo_move_null(tbo, new);
	return 0;
}

/*
 * Move a BO. If jobs or user queues use the BO, keep the GPU mappings, and queue the copy behind
 * these users. Otherwise clear the mappings first.
 */
static int vgpu_ttm_move(struct ttm_buffer_object *tbo, bool evict,
			 struct ttm_operation_ctx *ctx,
			 struct ttm_resource *new, struct ttm_place *hop)
{
	struct ttm_resource *old = tbo->resource;
	u32 from, to = new->mem_type;
	bool copies, used;
	int ret;

	if (old && old->mem_type == TTM_PL_VRAM && vgpu_ttm_vacates(tbo))
		return vgpu_move_vacate(tbo, ctx, new);
	if (!old || (old->mem_type == TTM_PL_SYSTEM && !tbo->ttm))
		return vgpu_move_new(tbo, new);
	from = old->mem_type;

	if (vgpu_place_is_bar(from) || vgpu_place_is_bar(to))
		return -EINVAL;
	/* SDMA reaches system memory only in GTT, so move in two steps. */
	if ((from == TTM_PL_VRAM && to == TTM_PL_SYSTEM) ||
	    (from == TTM_PL_SYSTEM && to == TTM_PL_VRAM)) {
		*hop = (struct ttm_place) {
			.mem_type = TTM_PL_TT,
			.flags = TTM_PL_FLAG_TEMPORARY,
		};
		return -EMULTIHOP;
	}

	copies = from == TTM_PL_VRAM || to == TTM_PL_VRAM;
	used = vgpu_move_has_users(tbo);
	/*
	 * Wait for the users, unless the move is a copy that can be queued to run after them (see
	 * vgpu_move_queues()).
	 */
	if (used && !(copies && vgpu_bo_is_ours(tbo) &&
		      vgpu_move_queues(to_vgpu_bo(tbo)))) {
		ret = vgpu_move_wait_users(tbo, ctx);
		if (ret)
			return ret;
		used = false;
	}
	if (vgpu_bo_is_ours(tbo))
		trace_vgpu_bo_move(to_vgpu_bo(tbo), from, to, evict);
	if (used)
		vgpu_ttm_move_later(tbo);
	else
		vgpu_ttm_move_notify(tbo, new);
	if (copies)
		return vgpu_move_copy(tbo, evict, used, new);
	return vgpu_move_in_place(tbo, ctx, new);
}

static int vgpu_ttm_io_mem_reserve(struct ttm_device *bdev,
				   struct ttm_resource *res)
{
	struct vgpu_hw *hw = bdev_to_vgpu(bdev)->hw;
	u64 offset = (u64)res->start << PAGE_SHIFT;

	switch (res->mem_type) {
	case TTM_PL_SYSTEM:
	case TTM_PL_TT:
		return 0;
	case TTM_PL_VRAM:
		res->bus.offset = hw->vram_base + offset;
		res->bus.caching = ttm_write_combined;
		if (res->placement & TTM_PL_FLAG_CONTIGUOUS)
			res->bus.addr = (void __force *)hw->vram + offset;
		break;
	case VGPU_PL_DOORBELL:
		res->bus.offset = hw->doorbell_base + offset;
		res->bus.caching = ttm_uncached;
		break;
	default:
		return -EINVAL;
	}
	res->bus.is_iomem = true;
	return 0;
}

static unsigned long vgpu_ttm_io_mem_pfn(struct ttm_buffer_object *tbo,
					 unsigned long page_offset)
{
	struct vgpu_hw *hw = bdev_to_vgpu(tbo->bdev)->hw;
	bool vram = tbo->resource->mem_type == TTM_PL_VRAM;
	struct vgpu_res_cursor cur;

	vgpu_res_first(tbo->resource, (u64)page_offset << PAGE_SHIFT, PAGE_SIZE,
		       &cur);
	return ((vram ? hw->vram_base : hw->doorbell_base) + cur.start) >>
	       PAGE_SHIFT;
}

/* Access VRAM of a BO for ptrace. The caller holds the reservation and has checked the range. */
static int vgpu_ttm_access_memory(struct ttm_buffer_object *tbo,
				  unsigned long offset, void *buf, int len,
				  int write)
{
	struct vgpu_device *vdev = bdev_to_vgpu(tbo->bdev);
	struct vgpu_res_cursor cur;
	int idx;

	if (tbo->resource->mem_type != TTM_PL_VRAM)
		return -EIO;
	if (!drm_dev_enter(&vdev->drm, &idx))
		return -EIO;
	dma_resv_wait_timeout(tbo->base.resv, DMA_RESV_USAGE_KERNEL, false,
			      MAX_SCHEDULE_TIMEOUT);
	vgpu_res_first(tbo->resource, offset, len, &cur);
	vgpu_io_begin(vdev);
	while (cur.remaining) {
		void __iomem *vram = vdev->hw->vram + cur.start;

		if (write)
			memcpy_toio(vram, buf, cur.size);
		else
			memcpy_fromio(buf, vram, cur.size);
		buf += cur.size;
		vgpu_res_next(&cur, cur.size);
	}
	vgpu_hdp_flush(vdev);
	vgpu_io_end(vdev);
	drm_dev_exit(idx);
	return len;
}

/*
 * Queue a clear of a BO's memory after the last reference was dropped. TTM frees the blocks when
 * the fence of the clear has signalled.
 */
static void vgpu_bo_wipe(struct vgpu_bo *bo)
{
	struct ttm_buffer_object *tbo = &bo->tbo;
	struct ttm_resource *res = tbo->resource;
	struct dma_fence *fence;

	if (!res || res->mem_type != TTM_PL_VRAM ||
	    !(bo->flags & AMDGPU_GEM_CREATE_VRAM_WIPE_ON_RELEASE))
		return;
	/*
	 * If the trylock fails, an eviction holds the reservation. Skip the wipe then: a later
	 * allocation that needs zeros clears the blocks.
	 */
	if (!dma_resv_trylock(tbo->base.resv))
		return;
	res = tbo->resource;
	if (!res || res->mem_type != TTM_PL_VRAM ||
	    dma_resv_reserve_fences(tbo->base.resv, 1))
		goto unlock;
	/*
	 * The clear runs after all fences in the reservation have signalled, because jobs may still
	 * write to the BO.
	 */
	fence = vgpu_mm_clear_res(bo->vdev, tbo->base.resv, res, false);
	if (IS_ERR(fence))
		goto unlock;
	dma_resv_add_fence(tbo->base.resv, fence, DMA_RESV_USAGE_KERNEL);
	to_vgpu_vram_resource(res)->wiped = fence;
unlock:
	dma_resv_unlock(tbo->base.resv);
}

static void vgpu_ttm_release_notify(struct ttm_buffer_object *tbo)
{
	struct vgpu_bo *bo = to_vgpu_bo(tbo);

	if (!vgpu_bo_is_ours(tbo))
		return;
	WARN_ON_ONCE(to_bo_state(bo)->kmaps);
	if (bo->owner_ops && bo->owner_ops->release)
		bo->owner_ops->release(bo);
	vgpu_bo_wipe(bo);
}

/**
 * vgpu_mm_is_swapping() - whether a BO was swapped out recently
 * @vdev: device
 *
 * If true, an allocation of system memory for a BO probably causes another swap-out.
 *
 * Context: any.
 *
 * Return: true for SWAPS_SPAN after a BO of the device was swapped out.
 */
bool vgpu_mm_is_swapping(struct vgpu_device *vdev)
{
	return time_before(jiffies, READ_ONCE(vdev->mman->swaps_until));
}

static void vgpu_ttm_swap_notify(struct ttm_buffer_object *tbo)
{
	struct vgpu_device *vdev = bdev_to_vgpu(tbo->bdev);

	vgpu_stat_add(vdev, VGPU_STAT_SWAPOUTS, 1);
	WRITE_ONCE(vdev->mman->swaps_until, jiffies + SWAPS_SPAN);
	/*
	 * Move the BO to the end of the LRU list, so that TTM's next search for a BO to swap out
	 * tries other BOs first.
	 */
	ttm_bo_move_to_lru_tail_unlocked(tbo);
	vgpu_shrink_copies(vdev, tbo->ttm);
}

const struct ttm_device_funcs vgpu_ttm_funcs = {
	.ttm_tt_create = vgpu_ttm_tt_create,
	.ttm_tt_populate = vgpu_ttm_tt_populate,
	.ttm_tt_unpopulate = vgpu_ttm_tt_unpopulate,
	.ttm_tt_destroy = vgpu_ttm_tt_destroy,
	.eviction_valuable = vgpu_ttm_eviction_valuable,
	.evict_flags = vgpu_ttm_evict_flags,
	.move = vgpu_ttm_move,
	.delete_mem_notify = vgpu_ttm_delete_mem_notify,
	.release_notify = vgpu_ttm_release_notify,
	.swap_notify = vgpu_ttm_swap_notify,
	.io_mem_reserve = vgpu_ttm_io_mem_reserve,
	.io_mem_pfn = vgpu_ttm_io_mem_pfn,
	.access_memory = vgpu_ttm_access_memory,
};
EXPORT_SYMBOL_IF_KUNIT(vgpu_ttm_funcs);
