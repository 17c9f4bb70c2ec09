/* SPDX-License-Identifier: GPL-2.0 */
/* Module-wide: names and the DRM driver. */
#ifndef VGPU_DRV_H
#define VGPU_DRV_H

#include <linux/pm.h>

#define VGPU_DRV_NAME		"amdgpu"	/* what user space looks for */
#define VGPU_DRV_DESC		"vgpu-kfd: AMD GPU memory system model"
#define VGPU_DRV_MAJOR		3
#define VGPU_DRV_MINOR		59

struct drm_driver;
struct attribute_group;
struct drm_minor;
struct vgpu_device;

/* vgpu_drv.c */
bool vgpu_drv_has_cwsr(void);

/* vgpu_pm.c */
extern const struct dev_pm_ops vgpu_pm_ops;
int vgpu_pm_init(struct vgpu_device *vdev);
void vgpu_pm_fini(struct vgpu_device *vdev);

/* drm/vgpu_drm.c */
extern const struct drm_driver vgpu_drm_driver;

/* drm/vgpu_file.c */
void vgpu_file_module_init(void);

/* drm/vgpu_sysfs.c, drm/vgpu_debugfs.c */
extern const struct attribute_group *vgpu_sysfs_groups[];
void vgpu_debugfs_init(struct drm_minor *minor);

#endif /* VGPU_DRV_H */
