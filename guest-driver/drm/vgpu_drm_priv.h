/* SPDX-License-Identifier: GPL-2.0 */
/* Functions shared by the files of drm/. */
#ifndef VGPU_DRM_PRIV_H
#define VGPU_DRM_PRIV_H

#include <drm/drm_file.h>

#include "device/vgpu_device.h"

struct drm_amdgpu_gem_va;
struct drm_minor;
struct drm_printer;
struct vgpu_bo;

/* vgpu_drm.c */
struct drm_file *vgpu_drm_file_of(struct file *filp, struct vgpu_device *vdev);

/* vgpu_gem.c */
int vgpu_gem_create_ioctl(struct drm_device *drm, void *data,
			  struct drm_file *file);
int vgpu_gem_mmap_ioctl(struct drm_device *drm, void *data,
			struct drm_file *file);
int vgpu_gem_op_ioctl(struct drm_device *drm, void *data,
		      struct drm_file *file);
int vgpu_gem_metadata_ioctl(struct drm_device *drm, void *data,
			    struct drm_file *file);
int vgpu_gem_wait_idle_ioctl(struct drm_device *drm, void *data,
			     struct drm_file *file);

long vgpu_gem_timeout(u64 deadline);

/* vgpu_file.c */
int vgpu_file_open(struct drm_device *drm, struct drm_file *file);
void vgpu_file_close(struct drm_device *drm, struct drm_file *file);
void vgpu_file_stop_jobs(struct drm_file *file);
int vgpu_file_open_bo(struct drm_gem_object *gem, struct drm_file *file);
void vgpu_file_close_bo(struct drm_gem_object *gem, struct drm_file *file);

/* vgpu_gem_va.c */
int vgpu_gem_va_ioctl(struct drm_device *drm, void *data,
		      struct drm_file *file);

/* vgpu_gem_va_kfd.c */
int vgpu_gem_va_kfd(struct drm_file *file, u16 pasid, struct vgpu_bo *bo,
		    const struct drm_amdgpu_gem_va *args, u64 pte_flags);

/* vgpu_ctx.c */
int vgpu_ctx_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpu_sched_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpu_vm_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* vgpu_bo_list.c */
int vgpu_bo_list_ioctl(struct drm_device *drm, void *data,
		       struct drm_file *file);

/* vgpu_cs.c, vgpu_cs_wait.c */
int vgpu_cs_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpu_wait_cs_ioctl(struct drm_device *drm, void *data,
		       struct drm_file *file);
int vgpu_wait_fences_ioctl(struct drm_device *drm, void *data,
			   struct drm_file *file);
int vgpu_fence_to_handle_ioctl(struct drm_device *drm, void *data,
			       struct drm_file *file);
u32 vgpu_wait_unique(struct dma_fence **fences, u32 *index, u32 n);

/* vgpu_gem_userptr.c */
int vgpu_gem_userptr_ioctl(struct drm_device *drm, void *data,
			   struct drm_file *file);

/* vgpu_fdinfo.c */
void vgpu_show_fdinfo(struct drm_printer *p, struct drm_file *file);

/* vgpu_debugfs.c */
void vgpu_debugfs_init(struct drm_minor *minor);

/* vgpu_info.c */
int vgpu_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* VGPU_DRM_PRIV_H */
