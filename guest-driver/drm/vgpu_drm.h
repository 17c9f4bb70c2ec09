/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declares functions and data of the render node for the driver's module init, probe, remove and
 * system suspend. Functions are documented where they are defined.
 */
#ifndef VGPU_DRM_H
#define VGPU_DRM_H

#include <linux/types.h>

#define VGPU_DRV_NAME		"amdgpu"	/* driver name that user space looks for */
#define VGPU_DRV_DESC		"vgpu-kfd: AMD GPU memory system model"
#define VGPU_DRV_MAJOR		3
#define VGPU_DRV_MINOR		59

struct attribute_group;
struct drm_driver;
struct vgpu_device;

/* vgpu_drm.c */
extern const struct drm_driver vgpu_drm_driver;

/* vgpu_file.c */
void vgpu_file_module_init(void);

/* vgpu_sysfs.c */
extern const struct attribute_group *vgpu_sysfs_groups[];

/* vgpu_sched.c */
int vgpu_sched_init(struct vgpu_device *vdev);
void vgpu_sched_fini(struct vgpu_device *vdev);
bool vgpu_sched_wait_idle(struct vgpu_device *vdev, unsigned long timeout);

#endif /* VGPU_DRM_H */
