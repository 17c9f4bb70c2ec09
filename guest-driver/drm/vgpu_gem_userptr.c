// SPDX-License-Identifier: GPL-2.0
/* Implements GEM_USERPTR, which creates handles of BOs that use memory of the process. */
#include <linux/mm.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_gem.h>

#include "mm/vgpu_bo.h"
#include "mm/vgpu_userptr.h"
#include "vgpu_drm_priv.h"

#define USERPTR_FLAGS	(AMDGPU_GEM_USERPTR_READONLY | \
			 AMDGPU_GEM_USERPTR_ANONONLY | \
			 AMDGPU_GEM_USERPTR_VALIDATE | \
			 AMDGPU_GEM_USERPTR_REGISTER)

/**
 * vgpu_gem_userptr_ioctl() - DRM_AMDGPU_GEM_USERPTR
 * @drm: DRM device
 * @data: struct drm_amdgpu_gem_userptr
 * @file: file that gets the handle
 *
 * Return:
 * * 0
 * * -EINVAL: invalid address, size or flag
 * * -EACCES: neither READONLY nor REGISTER is set
 * * -EOVERFLOW: the last address exceeds 64 bits
 * * -EFAULT: the size exceeds TASK_SIZE_MAX
 * * -ENOSPC: no handle is free
 * * -ENOMEM, -EINTR, -ERESTARTSYS
 * * an error of vgpu_userptr_populate(), if VALIDATE is set
 */
int vgpu_gem_userptr_ioctl(struct drm_device *drm, void *data,
			   struct drm_file *file)
{
	struct drm_amdgpu_gem_userptr *args = data;
	u64 addr = untagged_addr(args->addr);
	struct vgpu_bo *bo;
	u32 handle;
	int ret;

	if (args->flags & ~USERPTR_FLAGS)
		return -EINVAL;
	if (offset_in_page(addr | args->size))
		return -EINVAL;
	/*
	 * Memory that the GPU writes needs an MMU notifier, which user space requests by
	 * REGISTER.
	 */
	if (!(args->flags & (AMDGPU_GEM_USERPTR_READONLY |
			     AMDGPU_GEM_USERPTR_REGISTER)))
		return -EACCES;

	ret = vgpu_userptr_create(to_vgpu(drm), addr, args->size, args->flags,
				  NULL, NULL, &bo);
	if (ret)
		return ret;
	if (args->flags & AMDGPU_GEM_USERPTR_VALIDATE)
		ret = vgpu_userptr_populate(bo);
	if (!ret)
		ret = drm_gem_handle_create(file, &bo->tbo.base, &handle);
	vgpu_bo_put(bo);
	if (!ret)
		args->handle = handle;
	return ret;
}
