// SPDX-License-Identifier: GPL-2.0
/*
 * VRAM manager: TTM resources made of buddy blocks.
 *
 * A BO of any size gets the largest blocks that there are; only one that asks
 * for it gets a single range. Blocks that were wiped before they were freed
 * are remembered as clear, and are handed out first to those who want zeros.
 */
#include <linux/dma-fence.h>
#include <linux/list_sort.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_print.h>

#include <kunit/visibility.h>

#include "vgpu_mm_priv.h"
#include "vgpu_res_cursor.h"

static struct vgpu_vram_mgr *to_vram_mgr(struct ttm_resource_manager *man)
{
	return container_of(man, struct vgpu_vram_mgr, manager);
}

/* @end: the first byte behind what @place allows. */
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

static int vram_alloc_blocks(struct vgpu_vram_mgr *mgr,
			     const struct ttm_buffer_object *tbo,
			     const struct ttm_place *place,
			     struct list_head *blocks)
{
	u64 align = max_t(u64, tbo->page_alignment, 1) << PAGE_SHIFT;
	unsigned long flags = vram_buddy_flags(mgr, tbo, place);
	u64 size = PAGE_ALIGN(tbo->base.size);
	u64 start, end;
	int ret;

	vram_place_range(mgr, place, &start, &end);
	if (start >= end || round_up(size, align) > end - start)
		return -ENOSPC;
	/*
	 * A contiguous allocation is aligned to its size alone; where more is
	 * asked for, one block of the alignment's size is contiguous as well.
	 */
	if ((place->flags & TTM_PL_FLAG_CONTIGUOUS) && size > align)
		flags |= GPU_BUDDY_CONTIGUOUS_ALLOCATION;

	mutex_lock(&mgr->lock);
	ret = gpu_buddy_alloc_blocks(&mgr->mm, start, end, size, align, blocks,
				     flags);
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

	ret = vram_alloc_blocks(mgr, tbo, place, &vres->blocks);
	if (ret) {
		ttm_resource_fini(man, &vres->base);
		kfree(vres);
		return ret;
	}

	if (place->flags & TTM_PL_FLAG_CONTIGUOUS)
		list_sort(NULL, &vres->blocks, vram_block_cmp);
	if (vram_blocks_adjacent(&mgr->mm, &vres->blocks))
		vres->base.placement |= TTM_PL_FLAG_CONTIGUOUS;
	vres->base.start =
		gpu_buddy_block_offset(list_first_entry(&vres->blocks,
							struct gpu_buddy_block,
							link)) >> PAGE_SHIFT;
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
	gpu_buddy_free_list(&mgr->mm, &vres->blocks,
			    clear ? GPU_BUDDY_CLEARED : 0);
	mutex_unlock(&mgr->lock);

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
 * vgpu_vram_mgr_init() - hand VRAM to TTM
 * @vdev: device; TTM's device is initialised
 * @size: bytes from offset 0 on that may be handed out, a multiple of a page
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_vram_mgr_init(struct vgpu_device *vdev, u64 size)
{
	struct vgpu_vram_mgr *mgr = &vdev->mman.vram;
	int ret;

	mutex_init(&mgr->lock);
	/* What an earlier driver left in VRAM is not known to be zero. */
	ret = gpu_buddy_init(&mgr->mm, size, PAGE_SIZE);
	if (ret)
		return ret;

	ttm_resource_manager_init(&mgr->manager, &vdev->mman.bdev, size);
	mgr->manager.func = &vram_mgr_func;
	ttm_set_driver_manager(&vdev->mman.bdev, TTM_PL_VRAM, &mgr->manager);
	ttm_resource_manager_set_used(&mgr->manager, true);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_init);

/**
 * vgpu_vram_mgr_fini() - take VRAM back
 * @vdev: device; nothing of its VRAM is in use
 */
void vgpu_vram_mgr_fini(struct vgpu_device *vdev)
{
	struct vgpu_vram_mgr *mgr = &vdev->mman.vram;

	ttm_resource_manager_set_used(&mgr->manager, false);
	ttm_resource_manager_cleanup(&mgr->manager);
	ttm_set_driver_manager(&vdev->mman.bdev, TTM_PL_VRAM, NULL);
	gpu_buddy_fini(&mgr->mm);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vram_mgr_fini);

/**
 * vgpu_vram_mgr_usage() - how much VRAM is in use
 * @vdev: device
 *
 * Return: bytes.
 */
u64 vgpu_vram_mgr_usage(struct vgpu_device *vdev)
{
	return ttm_resource_manager_usage(&vdev->mman.vram.manager);
}
