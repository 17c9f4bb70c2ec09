/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of drm/ share. Nobody outside the room includes it. */
#ifndef VGPU_DRM_PRIV_H
#define VGPU_DRM_PRIV_H

#include <drm/drm_file.h>

#include "../vgpu_device.h"
#include "../vgpu_drv.h"

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

/* vgpu_info.c */
int vgpu_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* VGPU_DRM_PRIV_H */
