// SPDX-License-Identifier: GPL-2.0
/*
 * The DRM side: primary and render node, and the table of what there is of
 * amdgpu's uAPI (drm/amdgpu_drm.h): docs/driver.md lists it. Every other amdgpu
 * ioctl fails with -EINVAL, as an unknown one does.
 */
#include <linux/module.h>

#include <drm/amdgpu_drm.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

#include "vgpu_drm_priv.h"

#define VGPU_IOCTL(nr, fn)						\
	DRM_IOCTL_DEF_DRV(AMDGPU_##nr, vgpu_##fn##_ioctl,		\
			  DRM_AUTH | DRM_RENDER_ALLOW)

static const struct drm_ioctl_desc vgpu_ioctls[] = {
	VGPU_IOCTL(INFO, info),
	VGPU_IOCTL(GEM_CREATE, gem_create),
	VGPU_IOCTL(GEM_MMAP, gem_mmap),
	VGPU_IOCTL(GEM_OP, gem_op),
	VGPU_IOCTL(GEM_METADATA, gem_metadata),
	VGPU_IOCTL(GEM_WAIT_IDLE, gem_wait_idle),
};

DEFINE_DRM_GEM_FOPS(vgpu_drm_fops);

/**
 * vgpu_drm_file_of() - DRM's side of an open file
 * @filp: any file
 * @vdev: device
 *
 * Returns NULL unless @filp is an open primary or render node of @vdev. Valid
 * while the caller holds a reference on @filp.
 */
struct drm_file *vgpu_drm_file_of(struct file *filp, struct vgpu_device *vdev)
{
	struct drm_file *file;

	if (filp->f_op != &vgpu_drm_fops)
		return NULL;
	file = filp->private_data;
	return file->minor->dev == &vdev->drm ? file : NULL;
}

const struct drm_driver vgpu_drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER,
	.name = VGPU_DRV_NAME,
	.desc = VGPU_DRV_DESC,
	.date = "20261121",
	.major = VGPU_DRV_MAJOR,
	.minor = VGPU_DRV_MINOR,
	.fops = &vgpu_drm_fops,
	.ioctls = vgpu_ioctls,
	.num_ioctls = ARRAY_SIZE(vgpu_ioctls),
	.debugfs_init = vgpu_debugfs_init,
};
