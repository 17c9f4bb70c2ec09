/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of mm/ share. Nobody outside the room includes it. */
#ifndef VGPU_MM_PRIV_H
#define VGPU_MM_PRIV_H

#include <drm/ttm/ttm_range_manager.h>
#include <drm/ttm/ttm_tt.h>

#include "../vgpu_device.h"

/* Doorbell pages that belong to the kernel: page 0 and its mirror. */
#define VGPU_DOORBELL_KERNEL_PAGES	2u

/**
 * struct vgpu_tt - system pages of a BO
 * @ttm: pages and their DMA addresses
 * @bound_link: in vgpu_gtt_mgr.bound, or empty; vgpu_gtt_mgr.lock
 * @gart_page: first page in the GART while bound; vgpu_gtt_mgr.lock
 */
struct vgpu_tt {
	struct ttm_tt ttm;
	struct list_head bound_link;
	u64 gart_page;
};

static inline struct vgpu_tt *to_vgpu_tt(struct ttm_tt *ttm)
{
	return container_of(ttm, struct vgpu_tt, ttm);
}

static inline struct vgpu_vram_resource *
to_vgpu_vram_resource(struct ttm_resource *res)
{
	return container_of(res, struct vgpu_vram_resource, base);
}

static inline struct vgpu_device *bdev_to_vgpu(struct ttm_device *bdev)
{
	return container_of(bdev, struct vgpu_device, mman.bdev);
}

/* vgpu_bo.c */
bool vgpu_bo_is_ours(const struct ttm_buffer_object *tbo);
bool vgpu_bo_wants_zeros(const struct ttm_buffer_object *tbo);
void vgpu_bo_set_placement(struct vgpu_bo *bo, u32 domain, bool gart_addr);

/* vgpu_gtt_mgr.c */
void vgpu_gtt_mgr_bind(struct vgpu_device *vdev, struct ttm_tt *ttm,
		       struct ttm_resource *res);
void vgpu_gtt_mgr_unbind(struct vgpu_device *vdev, struct ttm_tt *ttm);

/* vgpu_ttm.c */
extern const struct ttm_device_funcs vgpu_ttm_funcs;

#endif /* VGPU_MM_PRIV_H */
