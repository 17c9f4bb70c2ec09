/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mm/ implements buffer objects (BOs) on TTM, and the managers of VRAM (buddy), GTT (drm_mm) and
 * doorbells. It also implements the SDMA jobs that move and clear memory. This header declares the
 * functions for bring-up and removal, system sleep, eviction and copies of pages, and the
 * callbacks into vm/ and drm/. Other headers for use outside of mm/: vgpu_bo.h (BOs),
 * vgpu_userptr.h (user pointers), vgpu_res_mgr.h (size and usage of VRAM and GTT, room for
 * allocations, recovery after a loss of VRAM), vgpu_res_cursor.h (walks through a BO's memory).
 * Functions are documented where they are defined.
 */
#ifndef VGPU_MM_H
#define VGPU_MM_H

#include <linux/types.h>

struct dma_fence;
struct drm_file;
struct drm_gem_object;
struct drm_sched_job;
struct mutex;
struct ttm_device;
struct ttm_resource;
struct vgpu_bo;
struct vgpu_device;

/**
 * struct vgpu_mm_vm_ops - functions of vm/ that mm/ calls
 * @move_notify: clear the page-table entries of @bo's mappings, and mark the mappings as moved.
 *               Called with the reservation held, before @bo moves to @new. If @new is NULL, the
 *               memory of @bo is about to be freed
 * @move_later: mark the mappings of @bo as stale, and leave their page-table entries, which the
 *              users of @bo still need (see vgpu_copy_job_after_users()). Called instead of
 *              @move_notify, with the reservation held, if the move will run after the users of @bo
 * @move_users: make @job, the first job of a move, depend on all users of @bo. Called after
 *              @move_later, with the reservation held; may allocate. Returns 0 or -ENOMEM
 * @unmap_notify: clear all GPU page-table entries of the pages of the user pointer @bo before
 *                returning, since the process loses the pages. Called with
 *                vgpu_mm_notifier_lock() held
 *
 * Only @move_users may allocate with reclaim or wait for reclaim.
 */
struct vgpu_mm_vm_ops {
	void (*move_notify)(struct vgpu_bo *bo, struct ttm_resource *new);
	void (*move_later)(struct vgpu_bo *bo);
	int (*move_users)(struct vgpu_bo *bo, struct drm_sched_job *job);
	void (*unmap_notify)(struct vgpu_bo *bo);
};

/**
 * struct vgpu_mm_handle_ops - functions of drm/ that mm/ calls
 * @open: called when a file gets a handle of a BO; the BO's reservation is not held. Returns 0, or
 *        a negative errno: then the file gets no handle, and its ioctl returns this error
 * @close: called when a file closes a handle of a BO
 */
struct vgpu_mm_handle_ops {
	int (*open)(struct drm_gem_object *gem, struct drm_file *file);
	void (*close)(struct drm_gem_object *gem, struct drm_file *file);
};

/* vgpu_mm.c */
int vgpu_mm_init(struct vgpu_device *vdev);
void vgpu_mm_fini(struct vgpu_device *vdev);
void vgpu_mm_zap_mappings(struct vgpu_device *vdev);
struct ttm_device *vgpu_mm_bdev(struct vgpu_device *vdev);
struct mutex *vgpu_mm_notifier_lock(struct vgpu_device *vdev);
void vgpu_mm_set_vm_ops(struct vgpu_device *vdev, const struct vgpu_mm_vm_ops *ops);
void vgpu_mm_set_handle_ops(struct vgpu_device *vdev,
			    const struct vgpu_mm_handle_ops *ops);

/* vgpu_mm_evict.c */
int vgpu_mm_evict_once(struct vgpu_device *vdev, u32 mem_type);
int vgpu_mm_evict_all(struct vgpu_device *vdev, u32 mem_type);

/* vgpu_ttm.c */
bool vgpu_mm_is_swapping(struct vgpu_device *vdev);

/* vgpu_copy_job.c */
bool vgpu_mm_copy_ready(struct vgpu_device *vdev);

/* vgpu_mm_suspend.c */
void vgpu_mm_drain(struct vgpu_device *vdev);
int vgpu_mm_suspend(struct vgpu_device *vdev);
void vgpu_mm_resume(struct vgpu_device *vdev, bool write);

/* vgpu_copy.c */
struct dma_fence *vgpu_mm_copy_pages(struct vgpu_device *vdev, bool to_vram,
				     const dma_addr_t *sys, const u64 *vram,
				     unsigned long npages);

#endif /* VGPU_MM_H */
