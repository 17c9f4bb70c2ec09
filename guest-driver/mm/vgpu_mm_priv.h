/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of mm/ share. Nobody outside the room includes it. */
#ifndef VGPU_MM_PRIV_H
#define VGPU_MM_PRIV_H

#include <drm/ttm/ttm_range_manager.h>
#include <drm/ttm/ttm_tt.h>

#include "vgpu_device.h"
#include "vgpu_sdma_sched.h"
#include "vgpu_mm.h"

/* Doorbell pages that belong to the kernel: page 0 and its mirror. */
#define VGPU_DOORBELL_KERNEL_PAGES	2u

/**
 * struct vgpu_tt - system pages of a BO
 * @ttm: pages and their DMA addresses
 * @bound_link: in vgpu_gtt_mgr.bound, or empty; vgpu_gtt_mgr.lock
 * @gart_page: first page in the GART while bound; vgpu_gtt_mgr.lock
 * @bo: the BO, if its memory is somebody else's; NULL else
 * @swappable: counted in VGPU_STAT_SWAPPABLE; reservation held
 */
struct vgpu_tt {
	struct ttm_tt ttm;
	struct list_head bound_link;
	u64 gart_page;
	struct vgpu_bo *bo;
	bool swappable;
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
	return container_of(bdev, struct vgpu_mman, bdev)->vdev;
}

/* vgpu_bo.c */
bool vgpu_bo_is_ours(const struct ttm_buffer_object *tbo);
bool vgpu_bo_wants_zeros(const struct ttm_buffer_object *tbo);
void vgpu_bo_set_placement(struct vgpu_bo *bo, u32 domain, bool gart_addr);

/* vgpu_bo_addr.c */
extern const struct vm_operations_struct vgpu_bo_vm_ops;

/**
 * struct vgpu_mm_held - references to BOs
 * @bos: BOs
 * @num: how many
 * @max: room in @bos
 * @no_room: how many did not fit
 * @going: how many had no reference any more
 */
struct vgpu_mm_held {
	struct ttm_buffer_object **bos;
	size_t num;
	size_t max;
	size_t no_room;
	size_t going;
};

/* vgpu_mm_unmap.c */
/*
 * All BOs that are in the memory @types (a bit each) now, and if @pinned those that
 * are pinned, of any type. @held is empty. Sleeps, cannot fail.
 */
void vgpu_mm_hold(struct vgpu_mm_held *held, struct ttm_device *bdev, u32 types,
		  bool pinned);
/* Drops the references, and what held them. */
void vgpu_mm_let_go(struct vgpu_mm_held *held);
void vgpu_mm_unmap_dma(struct vgpu_mman *mman);

/* vgpu_dma_buf.c */
bool vgpu_bo_vram_ok(struct vgpu_bo *bo);
void vgpu_dma_buf_moved(struct vgpu_bo *bo);
int vgpu_import_bind(struct vgpu_bo *bo, struct ttm_tt *ttm);
void vgpu_import_unbind(struct ttm_tt *ttm);
int vgpu_import_mmap(struct vgpu_bo *bo, struct vm_area_struct *vma);
void vgpu_import_destroy(struct vgpu_bo *bo);

/* vgpu_ttm.c */
void vgpu_ttm_evict_flags(struct ttm_buffer_object *tbo,
			  struct ttm_placement *placement);

/* vgpu_userptr.c */
int vgpu_userptr_tt_bind(struct vgpu_bo *bo, struct ttm_tt *ttm);
void vgpu_userptr_tt_unbind(struct vgpu_bo *bo, struct ttm_tt *ttm);
void vgpu_userptr_destroy(struct vgpu_bo *bo);

/* vgpu_gtt_mgr.c */
void vgpu_gtt_mgr_bind(struct vgpu_device *vdev, struct ttm_tt *ttm,
		       struct ttm_resource *res);
void vgpu_gtt_mgr_unbind(struct vgpu_device *vdev, struct ttm_tt *ttm);

/* vgpu_shrink.c */
int vgpu_shrink_init(struct vgpu_device *vdev);
void vgpu_shrink_fini(struct vgpu_device *vdev);
bool vgpu_shrink_running(struct vgpu_device *vdev);
void vgpu_shrink_copies(struct vgpu_device *vdev, const struct ttm_tt *ttm);
void vgpu_shrink_tt(struct vgpu_device *vdev, struct ttm_tt *ttm, bool can);
void vgpu_shrink_bo(struct vgpu_bo *bo);

/**
 * struct vgpu_copy_job - packets that copy or clear
 * @base: the scheduler's part; unless it has ops, there is none
 * @vdev: device
 * @hw_fence: memory of the fence on the engine's ring, or NULL: in use
 * @vram_epoch: vgpu_hw.vram_epoch when the operation began, if it is void when
 *              VRAM is lost; else negative
 * @copied: bytes that its copies move
 * @filled: bytes that its fills write
 * @flushes: of the engine's window
 * @dst_pages: system memory that it copies to, or NULL. If the job fails, that is
 *             cleared before the job's fence signals: the pages were not cleared
 *             when they were allocated
 * @dst_at: where in @dst_pages it begins, bytes
 * @dst_bytes: how much of them it fills
 * @size: room in @dw
 * @ndw: dwords in @dw
 * @dw: packets
 */
struct vgpu_copy_job {
	struct vgpu_sdma_job base;
	struct vgpu_device *vdev;
	struct vgpu_sdma_fence *hw_fence;
	int vram_epoch;
	u64 copied;
	u64 filled;
	unsigned int flushes;
	struct page *const *dst_pages;
	u64 dst_at;
	u64 dst_bytes;
	unsigned int size;
	unsigned int ndw;
	u32 dw[] __counted_by(size);
};

/* vgpu_copy_job.c */
int vgpu_copy_init(struct vgpu_device *vdev);
int vgpu_copy_start(struct vgpu_device *vdev);
void vgpu_copy_stop(struct vgpu_device *vdev);
void vgpu_copy_fini(struct vgpu_device *vdev);
void vgpu_copy_drain(struct vgpu_device *vdev);
struct vgpu_copy_job *vgpu_copy_job_new(struct vgpu_device *vdev,
					enum vgpu_copy_queue queue,
					unsigned int ndw);
struct vgpu_copy_job *vgpu_copy_job_unqueued(struct vgpu_device *vdev,
					     unsigned int ndw);
void vgpu_copy_job_free(struct vgpu_copy_job *job);
void vgpu_copy_job_fills(struct vgpu_copy_job *job, struct page *const *pages,
			 u64 at, u64 bytes);
int vgpu_copy_job_after_users(struct vgpu_copy_job *job, struct vgpu_bo *bo);
int vgpu_copy_job_push(struct vgpu_copy_job *job, struct dma_fence **fence);
int vgpu_copy_job_submit(struct vgpu_copy_job *job, unsigned int engine,
			 struct dma_fence **fence);

/* vgpu_ttm.c */
extern const struct ttm_device_funcs vgpu_ttm_funcs;

#endif /* VGPU_MM_PRIV_H */
