// SPDX-License-Identifier: GPL-2.0
/*
 * The GTT manager counts the system memory that the GPU may use, and allocates GART addresses.
 * Unlike in ttm_range_manager, memory and addresses have separate limits, so GTT can be larger than
 * the GART.
 */
#include <linux/slab.h>
#include <drm/drm_print.h>

#include <kunit/visibility.h>

#include "hw/vgpu_gart.h"
#include "vgpu_mm_priv.h"

static struct vgpu_gtt_mgr *to_gtt_mgr(struct ttm_resource_manager *man)
{
	return container_of(man, struct vgpu_gtt_mgr, manager);
}

/**
 * vgpu_gtt_mgr_has_gart_addr() - whether VMID 0 has an address for a resource
 * @res: resource of type TTM_PL_TT
 *
 * Return: true if the resource has a range in the GART.
 */
bool vgpu_gtt_mgr_has_gart_addr(struct ttm_resource *res)
{
	return drm_mm_node_allocated(to_ttm_range_mgr_node(res)->mm_nodes);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gtt_mgr_has_gart_addr);

/*
 * Allocate GART addresses for a placement that requires them (lpfn is set). Only VMID 0 uses these
 * addresses: processes map the same pages through their own page tables.
 */
static int gtt_insert_node(struct vgpu_gtt_mgr *mgr,
			   const struct ttm_buffer_object *tbo,
			   const struct ttm_place *place,
			   struct ttm_range_mgr_node *node)
{
	enum drm_mm_insert_mode mode = DRM_MM_INSERT_BEST;
	int ret;

	if (place->flags & TTM_PL_FLAG_TOPDOWN)
		mode = DRM_MM_INSERT_HIGH;
	spin_lock(&mgr->lock);
	ret = drm_mm_insert_node_in_range(&mgr->mm, node->mm_nodes,
					  PFN_UP(node->base.size),
					  tbo->page_alignment, 0, place->fpfn,
					  place->lpfn, mode);
	spin_unlock(&mgr->lock);
	if (!ret)
		node->base.start = node->mm_nodes->start;
	return ret;
}

static int gtt_mgr_alloc(struct ttm_resource_manager *man,
			 struct ttm_buffer_object *tbo,
			 const struct ttm_place *place,
			 struct ttm_resource **res)
{
	struct vgpu_gtt_mgr *mgr = to_gtt_mgr(man);
	struct ttm_range_mgr_node *node;
	int ret = 0;

	node = kzalloc(struct_size(node, mm_nodes, 1), GFP_KERNEL);
	if (!node)
		return -ENOMEM;
	/*
	 * ttm_resource_init() counts the size before the limit is tested below. So if two BOs race
	 * for the last bytes, at most one gets them; both may fail.
	 */
	ttm_resource_init(tbo, place, &node->base);

	/*
	 * TTM_PL_FLAG_TEMPORARY marks an intermediate step of a move between VRAM and system
	 * memory. The limit does not apply to this step.
	 */
	if (!(place->flags & TTM_PL_FLAG_TEMPORARY) &&
	    ttm_resource_manager_usage(man) > man->size)
		ret = -ENOSPC;
	else if (place->lpfn)
		ret = gtt_insert_node(mgr, tbo, place, node);
	if (ret) {
		ttm_resource_fini(man, &node->base);
		kfree(node);
		return ret;
	}
	*res = &node->base;
	return 0;
}

static void gtt_mgr_free(struct ttm_resource_manager *man,
			 struct ttm_resource *res)
{
	struct ttm_range_mgr_node *node = to_ttm_range_mgr_node(res);
	struct vgpu_gtt_mgr *mgr = to_gtt_mgr(man);

	spin_lock(&mgr->lock);
	if (drm_mm_node_allocated(node->mm_nodes))
		drm_mm_remove_node(node->mm_nodes);
	spin_unlock(&mgr->lock);

	ttm_resource_fini(man, res);
	kfree(node);
}

/* Returns true if the eviction of @res would help an allocation in @place. */
static bool gtt_mgr_intersects(struct ttm_resource_manager *man,
			       struct ttm_resource *res,
			       const struct ttm_place *place, size_t size)
{
	const struct drm_mm_node *node = to_ttm_range_mgr_node(res)->mm_nodes;

	/*
	 * If the allocation needs no GART address, it failed because memory is used up. So any
	 * eviction helps.
	 */
	if (!place->lpfn)
		return true;
	return vgpu_gtt_mgr_has_gart_addr(res) &&
	       node->start < place->lpfn &&
	       node->start + node->size > place->fpfn;
}

/* Returns true if @res is already in @place. */
static bool gtt_mgr_compatible(struct ttm_resource_manager *man,
			       struct ttm_resource *res,
			       const struct ttm_place *place, size_t size)
{
	const struct drm_mm_node *node = to_ttm_range_mgr_node(res)->mm_nodes;

	if (!place->lpfn)
		return true;
	return vgpu_gtt_mgr_has_gart_addr(res) && node->start >= place->fpfn &&
	       node->start + node->size <= place->lpfn;
}

static void gtt_mgr_debug(struct ttm_resource_manager *man,
			  struct drm_printer *p)
{
	struct vgpu_gtt_mgr *mgr = to_gtt_mgr(man);

	spin_lock(&mgr->lock);
	drm_mm_print(&mgr->mm, p);
	spin_unlock(&mgr->lock);
}

static const struct ttm_resource_manager_func gtt_mgr_func = {
	.alloc = gtt_mgr_alloc,
	.free = gtt_mgr_free,
	.intersects = gtt_mgr_intersects,
	.compatible = gtt_mgr_compatible,
	.debug = gtt_mgr_debug,
};

/*
 * Write the GART entries of @tt. The caller holds vgpu_gtt_mgr.lock until @tt is in
 * vgpu_gtt_mgr.bound, so that a recovery (vgpu_gtt_mgr_recover()) does not miss the entries of @tt.
 */
static void gtt_write_entries(struct vgpu_device *vdev,
			      const struct vgpu_tt *tt)
{
	vgpu_gart_bind(vdev, tt->gart_page, tt->ttm.num_pages,
		       tt->ttm.dma_address);
}

/**
 * vgpu_gtt_mgr_bind() - write GART entries for a BO's pages
 * @vdev: device
 * @ttm: populated pages, not bound
 * @res: resource; the function does nothing if @res has no GART address
 */
void vgpu_gtt_mgr_bind(struct vgpu_device *vdev, struct ttm_tt *ttm,
		       struct ttm_resource *res)
{
	struct vgpu_gtt_mgr *mgr = &vdev->mman->gtt;
	struct vgpu_tt *tt = to_vgpu_tt(ttm);

	if (!vgpu_gtt_mgr_has_gart_addr(res))
		return;

	spin_lock(&mgr->lock);
	tt->gart_page = res->start;
	gtt_write_entries(vdev, tt);
	list_add_tail(&tt->bound_link, &mgr->bound);
	spin_unlock(&mgr->lock);
	vgpu_gart_flush(vdev);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gtt_mgr_bind);

/**
 * vgpu_gtt_mgr_unbind() - undo vgpu_gtt_mgr_bind()
 * @vdev: device
 * @ttm: pages; bound or not
 *
 * On return the engines cannot reach the pages through the GART.
 */
void vgpu_gtt_mgr_unbind(struct vgpu_device *vdev, struct ttm_tt *ttm)
{
	struct vgpu_gtt_mgr *mgr = &vdev->mman->gtt;
	struct vgpu_tt *tt = to_vgpu_tt(ttm);
	bool bound;

	spin_lock(&mgr->lock);
	bound = !list_empty(&tt->bound_link);
	if (bound) {
		list_del_init(&tt->bound_link);
		vgpu_gart_unbind(vdev, tt->gart_page, ttm->num_pages);
	}
	spin_unlock(&mgr->lock);
	if (bound)
		vgpu_gart_flush(vdev);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gtt_mgr_unbind);

/**
 * vgpu_gtt_mgr_recover() - write the GART's entries again
 * @vdev: device, after a reset that may have lost the GART's table
 *
 * Does not write the entries of the engines' transfer windows, because each copy job writes the
 * entries that it uses.
 *
 * Return: as vgpu_gart_try_flush().
 */
int vgpu_gtt_mgr_recover(struct vgpu_device *vdev)
{
	struct vgpu_gtt_mgr *mgr = &vdev->mman->gtt;
	struct vgpu_tt *tt;

	spin_lock(&mgr->lock);
	list_for_each_entry(tt, &mgr->bound, bound_link)
		gtt_write_entries(vdev, tt);
	spin_unlock(&mgr->lock);
	return vgpu_gart_try_flush(vdev);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gtt_mgr_recover);

/**
 * vgpu_gtt_mgr_init() - register the GTT manager with TTM
 * @vdev: device; TTM's device is initialised, hw.gart.pages is set
 * @size: bytes of system memory that may be in GTT
 *
 * Return: 0, or -ENODEV if the GART has no pages besides the windows.
 */
int vgpu_gtt_mgr_init(struct vgpu_device *vdev, u64 size)
{
	u64 first = VGPU_GTT_WINDOW_PAGES * VGPU_GTT_NUM_WINDOWS;
	struct vgpu_gtt_mgr *mgr = &vdev->mman->gtt;

	if (vgpu_gart_pages(vdev) <= first)
		return -ENODEV;

	spin_lock_init(&mgr->lock);
	INIT_LIST_HEAD(&mgr->bound);
	drm_mm_init(&mgr->mm, first, vgpu_gart_pages(vdev) - first);

	ttm_resource_manager_init(&mgr->manager, &vdev->mman->bdev, size);
	mgr->manager.use_tt = true;
	mgr->manager.func = &gtt_mgr_func;
	ttm_set_driver_manager(&vdev->mman->bdev, TTM_PL_TT, &mgr->manager);
	ttm_resource_manager_set_used(&mgr->manager, true);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gtt_mgr_init);

/**
 * vgpu_gtt_mgr_fini() - undo vgpu_gtt_mgr_init()
 * @vdev: device; no BO is in GTT
 */
void vgpu_gtt_mgr_fini(struct vgpu_device *vdev)
{
	struct vgpu_gtt_mgr *mgr = &vdev->mman->gtt;

	ttm_resource_manager_set_used(&mgr->manager, false);
	ttm_resource_manager_cleanup(&mgr->manager);
	ttm_set_driver_manager(&vdev->mman->bdev, TTM_PL_TT, NULL);
	drm_mm_takedown(&mgr->mm);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_gtt_mgr_fini);

/**
 * vgpu_gtt_mgr_size() - get the amount of system memory that BOs may use
 * @vdev: device
 *
 * Context: any.
 *
 * Return: bytes.
 */
u64 vgpu_gtt_mgr_size(struct vgpu_device *vdev)
{
	return vdev->mman->gtt.manager.size;
}

/**
 * vgpu_gtt_mgr_usage() - get the amount of system memory that BOs in GTT use
 * @vdev: device
 *
 * Context: any.
 *
 * Return: bytes.
 */
u64 vgpu_gtt_mgr_usage(struct vgpu_device *vdev)
{
	return ttm_resource_manager_usage(&vdev->mman->gtt.manager);
}
