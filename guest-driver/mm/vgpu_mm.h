/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declares the functions of mm/ for bring-up, removal, system sleep, eviction and copies of pages,
 * and the callbacks into vm/ and drm/. vgpu_bo.h has the functions for buffer objects (BOs).
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
 *
 * Only @move_users may allocate with reclaim or wait for reclaim.
 */
struct vgpu_mm_vm_ops {
	/**
	 * @move_notify: clear the page-table entries of @bo, and mark the mappings as moved. Called
	 * with the reservation held, before @bo moves to @new (NULL if freed).
	 */
	void (*move_notify)(struct vgpu_bo *bo, struct ttm_resource *new);
	/**
	 * @move_later: as @move_notify, but the move waits for the jobs and queues that use @bo.
	 * These need the page-table entries, so only mark the mappings as stale. If the move
	 * fails, mm/ waits for the jobs and queues before it returns.
	 */
	void (*move_later)(struct vgpu_bo *bo);
	/**
	 * @move_users: make @job, the first job of a move, depend on the jobs that may use the
	 * page-table entries that @move_later has kept. Called after @move_later, with the
	 * reservation of @bo held; may allocate. Returns 0 or -ENOMEM.
	 */
	int (*move_users)(struct vgpu_bo *bo, struct drm_sched_job *job);
	/**
	 * @unmap_notify: clear all GPU page-table entries of the user pointer @bo before
	 * returning, since the process loses the pages. Called with vgpu_mm_notifier_lock() held.
	 */
	void (*unmap_notify)(struct vgpu_bo *bo);
};

/**
 * struct vgpu_mm_handle_ops - functions of drm/ that mm/ calls
 */
struct vgpu_mm_handle_ops {
	/**
	 * @open: called when a file gets a handle of a BO; the BO's reservation is not held.
	 * Returns 0 or a negative errno. On an error, the file gets no handle, and the ioctl
	 * returns this error.
	 */
	int (*open)(struct drm_gem_object *gem, struct drm_file *file);
	/** @close: called when a file closes a handle of a BO */
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
				     unsigned long npages, int vram_epoch);

#endif /* VGPU_MM_H */
