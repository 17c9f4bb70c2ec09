// SPDX-License-Identifier: GPL-2.0
/*
 * Defines the DRM driver and the table of its ioctls. The ioctls are a part of amdgpu's uAPI
 * (drm/amdgpu_drm.h). All other amdgpu ioctls fail with -EINVAL.
 */
#include <linux/module.h>

#include <drm/amdgpu_drm.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

#include "mm/vgpu_bo.h"
#include "vgpu_drm.h"
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
	VGPU_IOCTL(GEM_VA, gem_va),
	VGPU_IOCTL(CTX, ctx),
	VGPU_IOCTL(VM, vm),
	DRM_IOCTL_DEF_DRV(AMDGPU_SCHED, vgpu_sched_ioctl, DRM_MASTER),
	VGPU_IOCTL(BO_LIST, bo_list),
	VGPU_IOCTL(CS, cs),
	VGPU_IOCTL(WAIT_CS, wait_cs),
	VGPU_IOCTL(WAIT_FENCES, wait_fences),
	VGPU_IOCTL(FENCE_TO_HANDLE, fence_to_handle),
	VGPU_IOCTL(GEM_USERPTR, gem_userptr),
};

/*
 * Return true for ioctls that may wait for user space without limit. The device's removal
 * must not wait for these ioctls.
 */
static bool vgpu_ioctl_waits(unsigned int nr)
{
	switch (nr - DRM_COMMAND_BASE) {
	case DRM_AMDGPU_CS:
	case DRM_AMDGPU_GEM_WAIT_IDLE:
	case DRM_AMDGPU_WAIT_CS:
	case DRM_AMDGPU_WAIT_FENCES:
		return true;
	default:
		return false;
	}
}

/*
 * Call the driver's ioctls inside drm_dev_enter(), so that drm_dev_unplug() waits for them. The
 * ioctls of vgpu_ioctl_waits() call drm_dev_enter() themselves.
 */
static long vgpu_drm_ioctl(struct file *filp, unsigned int cmd,
			   unsigned long arg)
{
	struct drm_file *file = filp->private_data;
	unsigned int nr = DRM_IOCTL_NR(cmd);
	long ret;
	int idx;

	if (nr < DRM_COMMAND_BASE || nr >= DRM_COMMAND_END ||
	    vgpu_ioctl_waits(nr))
		return drm_ioctl(filp, cmd, arg);
	if (!drm_dev_enter(file->minor->dev, &idx))
		return -ENODEV;
	ret = drm_ioctl(filp, cmd, arg);
	drm_dev_exit(idx);
	return ret;
}

#ifdef CONFIG_COMPAT
/* The driver's structures have the same layout in 32-bit programs, so the driver converts none. */
static long vgpu_drm_compat_ioctl(struct file *filp, unsigned int cmd,
				  unsigned long arg)
{
	unsigned int nr = DRM_IOCTL_NR(cmd);

	if (nr < DRM_COMMAND_BASE || nr >= DRM_COMMAND_END)
		return drm_compat_ioctl(filp, cmd, arg);
	return vgpu_drm_ioctl(filp, cmd, arg);
}
#endif

/*
 * Free the contexts before drm_release() closes handles, because such a close may wait for jobs.
 * Freeing a context ends jobs that cannot start (vgpu_ctx_put()).
 */
static int vgpu_drm_release(struct inode *inode, struct file *filp)
{
	vgpu_file_stop_jobs(filp->private_data);
	return drm_release(inode, filp);
}

static const struct file_operations vgpu_drm_fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = vgpu_drm_release,
	.unlocked_ioctl = vgpu_drm_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = vgpu_drm_compat_ioctl,
#endif
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.show_fdinfo = drm_show_fdinfo,
	.mmap = drm_gem_mmap,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

/**
 * vgpu_drm_file_of() - return the struct drm_file of an open file
 * @filp: any file
 * @vdev: device
 *
 * Return: the structure, valid while the caller holds a reference on @filp; NULL unless @filp is
 * an open primary or render node of @vdev.
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
	.driver_features = DRIVER_GEM | DRIVER_RENDER | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.name = VGPU_DRV_NAME,
	.desc = VGPU_DRV_DESC,
	.date = "20261121",
	.major = VGPU_DRV_MAJOR,
	.minor = VGPU_DRV_MINOR,
	.fops = &vgpu_drm_fops,
	.open = vgpu_file_open,
	.postclose = vgpu_file_close,
	.ioctls = vgpu_ioctls,
	.num_ioctls = ARRAY_SIZE(vgpu_ioctls),
	.gem_prime_import = vgpu_gem_import,
	.show_fdinfo = vgpu_show_fdinfo,
	.debugfs_init = vgpu_debugfs_init,
};
