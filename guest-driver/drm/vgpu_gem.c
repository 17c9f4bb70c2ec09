// SPDX-License-Identifier: GPL-2.0
/*
 * Implements amdgpu's GEM_CREATE, GEM_MMAP, GEM_OP, GEM_METADATA and GEM_WAIT_IDLE.
 *
 * GEM_CREATE does not pin the BO, so TTM may evict the BO.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_gem.h>

#include "mm/vgpu_bo.h"
#include "vgpu_file.h"

#define GEM_DOMAINS_PLAIN	(AMDGPU_GEM_DOMAIN_CPU | \
				 AMDGPU_GEM_DOMAIN_GTT | \
				 AMDGPU_GEM_DOMAIN_VRAM)
#define GEM_DOMAINS_ON_CHIP	(AMDGPU_GEM_DOMAIN_GDS | \
				 AMDGPU_GEM_DOMAIN_GWS | \
				 AMDGPU_GEM_DOMAIN_OA)

#define GEM_CREATE_FLAGS	(AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED | \
				 AMDGPU_GEM_CREATE_NO_CPU_ACCESS | \
				 AMDGPU_GEM_CREATE_CPU_GTT_USWC | \
				 AMDGPU_GEM_CREATE_VRAM_CLEARED | \
				 AMDGPU_GEM_CREATE_VM_ALWAYS_VALID | \
				 AMDGPU_GEM_CREATE_EXPLICIT_SYNC | \
				 AMDGPU_GEM_CREATE_GFX12_DCC | \
				 AMDGPU_GEM_CREATE_DISCARDABLE)

/*
 * Create a BO. If only VRAM was requested and is full, allow GTT, too. The BO shares the
 * reservation of @root, unless @root is NULL.
 */
static int vgpu_gem_create_bo(struct vgpu_device *vdev,
			      const struct drm_amdgpu_gem_create_in *in,
			      struct drm_gem_object *root, struct vgpu_bo **out)
{
	struct vgpu_bo_params params = {
		.size = in->bo_size,
		.domain = in->domains ?: AMDGPU_GEM_DOMAIN_CPU,
		.flags = in->domain_flags | AMDGPU_GEM_CREATE_VRAM_CLEARED,
		.type = ttm_bo_type_device,
		.root = root,
	};
	int ret;

	if (in->alignment > SZ_1G)
		return -EINVAL;
	params.align = PAGE_ALIGN(in->alignment);

	ret = vgpu_bo_create(vdev, &params, out);
	if (ret == -ENOMEM && params.domain == AMDGPU_GEM_DOMAIN_VRAM) {
		params.domain |= AMDGPU_GEM_DOMAIN_GTT;
		ret = vgpu_bo_create(vdev, &params, out);
	}
	/*
	 * GEM_OP reports the domains that user space requested. If user space requested none,
	 * remove the default (CPU) from the report.
	 */
	if (!ret && !in->domains)
		(*out)->domains = 0;
	return ret;
}

/**
 * vgpu_gem_create_ioctl() - DRM_AMDGPU_GEM_CREATE
 * @drm: DRM device
 * @data: union drm_amdgpu_gem_create
 * @file: file that gets the handle
 *
 * Return:
 * * 0
 * * -EINVAL: invalid size, alignment, domain or flag
 * * -EINVAL: VM_ALWAYS_VALID, and a KFD process has acquired @file
 * * -ENOSPC: no handle or no PASID is free
 * * -ERESTARTSYS: a signal interrupted a wait
 * * -ENOMEM
 */
int vgpu_gem_create_ioctl(struct drm_device *drm, void *data,
			  struct drm_file *file)
{
	union drm_amdgpu_gem_create *args = data;
	u64 domains = args->in.domains;
	struct drm_gem_object *root = NULL;
	struct vgpu_bo *bo;
	u32 handle;
	int ret;

	if (args->in.domain_flags & ~(u64)GEM_CREATE_FLAGS)
		return -EINVAL;
	if (domains & ~(u64)(GEM_DOMAINS_PLAIN | GEM_DOMAINS_ON_CHIP))
		return -EINVAL;
	/* The device has no on-chip memory (GDS, GWS, OA). */
	if (domains & GEM_DOMAINS_ON_CHIP) {
		if (hweight64(domains) > 1 ||
		    args->in.domain_flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID)
			return -EINVAL;
		return -ENOMEM;
	}

	if (args->in.domain_flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID) {
		ret = vgpu_file_vm(to_vgpu_file(file));
		if (ret)
			return ret;
		root = to_vgpu_file(file)->root;
	}
	ret = vgpu_gem_create_bo(to_vgpu(drm), &args->in, root, &bo);
	if (ret)
		return ret;
	ret = drm_gem_handle_create(file, &bo->tbo.base, &handle);
	vgpu_bo_put(bo);
	if (ret)
		return ret;
	memset(args, 0, sizeof(*args));
	args->out.handle = handle;
	return 0;
}

static struct vgpu_bo *vgpu_gem_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *gem = drm_gem_object_lookup(file, handle);

	return gem ? gem_to_vgpu_bo(gem) : NULL;
}

/**
 * vgpu_gem_mmap_ioctl() - DRM_AMDGPU_GEM_MMAP
 * @drm: DRM device
 * @data: union drm_amdgpu_gem_mmap
 * @file: file of the handle
 *
 * Return: 0; -ENOENT for an unknown handle; -EPERM for a BO without CPU access and for a user
 * pointer.
 */
int vgpu_gem_mmap_ioctl(struct drm_device *drm, void *data,
			struct drm_file *file)
{
	union drm_amdgpu_gem_mmap *args = data;
	struct vgpu_bo *bo;
	int ret = 0;

	bo = vgpu_gem_lookup(file, args->in.handle);
	if (!bo)
		return -ENOENT;
	memset(args, 0, sizeof(*args));
	if (bo->flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS || bo->userptr)
		ret = -EPERM;
	else
		args->out.addr_ptr = vgpu_bo_mmap_offset(bo);
	vgpu_bo_put(bo);
	return ret;
}

static int vgpu_gem_create_info(struct vgpu_bo *bo, u64 user)
{
	struct drm_amdgpu_gem_create_in info = {
		.bo_size = bo->tbo.base.size,
		.alignment = (u64)bo->tbo.page_alignment << PAGE_SHIFT,
		.domains = READ_ONCE(bo->domains),
		.domain_flags = bo->flags,
	};

	return copy_to_user(u64_to_user_ptr(user), &info, sizeof(info)) ?
	       -EFAULT : 0;
}

/*
 * Set the domains of a BO; the next validation moves the BO. An import cannot be placed in VRAM.
 * The domains of a user pointer cannot be set.
 */
static int vgpu_gem_set_placement(struct vgpu_bo *bo, u64 domains)
{
	int ret;

	if (bo->userptr)
		return -EPERM;
	if (bo->import && domains & AMDGPU_GEM_DOMAIN_VRAM)
		return -EINVAL;
	ret = ttm_bo_reserve(&bo->tbo, true, false, NULL);
	if (ret)
		return ret;
	WRITE_ONCE(bo->domains, domains & GEM_DOMAINS_PLAIN);
	ttm_bo_unreserve(&bo->tbo);
	return 0;
}

/**
 * vgpu_gem_op_ioctl() - DRM_AMDGPU_GEM_OP
 * @drm: DRM device
 * @data: struct drm_amdgpu_gem_op
 * @file: file of the handle
 *
 * Return:
 * * 0 on success
 * * -ENOENT: unknown handle
 * * -EINVAL: unknown operation, or SET_PLACEMENT with VRAM for an import
 * * -EPERM: SET_PLACEMENT for a user pointer
 * * -EFAULT: GET_GEM_CREATE_INFO cannot write to the address that user space gave
 * * -ERESTARTSYS: a signal arrived
 */
int vgpu_gem_op_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_amdgpu_gem_op *args = data;
	struct vgpu_bo *bo;
	int ret;

	bo = vgpu_gem_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;
	switch (args->op) {
	case AMDGPU_GEM_OP_GET_GEM_CREATE_INFO:
		ret = vgpu_gem_create_info(bo, args->value);
		break;
	case AMDGPU_GEM_OP_SET_PLACEMENT:
		ret = vgpu_gem_set_placement(bo, args->value);
		break;
	default:
		ret = -EINVAL;
	}
	vgpu_bo_put(bo);
	return ret;
}

/* The caller holds the reservation of @bo. */
static int vgpu_gem_metadata_set(struct vgpu_bo *bo,
				 const struct drm_amdgpu_gem_metadata *args)
{
	u32 size = args->data.data_size_bytes;
	void *metadata = NULL;

	if (size > sizeof(args->data.data))
		return -EINVAL;
	if (size) {
		metadata = kmemdup(args->data.data, size, GFP_KERNEL);
		if (!metadata)
			return -ENOMEM;
		bo->metadata_flags = args->data.flags;
	}
	kfree(bo->metadata);
	bo->metadata = metadata;
	bo->metadata_size = size;
	bo->tiling_flags = args->data.tiling_info;
	return 0;
}

/* The caller holds the reservation of @bo. */
static void vgpu_gem_metadata_get(struct vgpu_bo *bo,
				  struct drm_amdgpu_gem_metadata *args)
{
	if (bo->metadata_size)
		memcpy(args->data.data, bo->metadata, bo->metadata_size);
	args->data.data_size_bytes = bo->metadata_size;
	args->data.flags = bo->metadata_flags;
	args->data.tiling_info = bo->tiling_flags;
}

/**
 * vgpu_gem_metadata_ioctl() - DRM_AMDGPU_GEM_METADATA
 * @drm: DRM device
 * @data: struct drm_amdgpu_gem_metadata
 * @file: file of the handle
 *
 * Stores or returns data of user space, which the driver does not interpret.
 *
 * Return:
 * * 0
 * * -ENOENT: unknown handle
 * * -EINVAL: too much data
 * * -EINVAL: unknown operation (amdgpu ignores unknown operations)
 * * -ENOMEM, -ERESTARTSYS
 */
int vgpu_gem_metadata_ioctl(struct drm_device *drm, void *data,
			    struct drm_file *file)
{
	struct drm_amdgpu_gem_metadata *args = data;
	struct vgpu_bo *bo;
	int ret;

	bo = vgpu_gem_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;
	ret = ttm_bo_reserve(&bo->tbo, true, false, NULL);
	if (ret)
		goto put;
	switch (args->op) {
	case AMDGPU_GEM_METADATA_OP_SET_METADATA:
		ret = vgpu_gem_metadata_set(bo, args);
		break;
	case AMDGPU_GEM_METADATA_OP_GET_METADATA:
		vgpu_gem_metadata_get(bo, args);
		break;
	default:
		ret = -EINVAL;
	}
	ttm_bo_unreserve(&bo->tbo);
put:
	vgpu_bo_put(bo);
	return ret;
}

/**
 * vgpu_gem_timeout() - convert a deadline to a timeout
 * @deadline: CLOCK_MONOTONIC in ns; no deadline if greater than S64_MAX
 *
 * The timeout may end before the deadline, because jiffies may lag and then advance by several
 * ticks at once. So call this function again after the timeout.
 *
 * Return: timeout in jiffies, or 0 after the deadline.
 */
long vgpu_gem_timeout(u64 deadline)
{
	s64 left;

	if (deadline > S64_MAX)
		return MAX_SCHEDULE_TIMEOUT;
	left = deadline - ktime_get_ns();
	if (left <= 0)
		return 0;
	return min_t(u64, nsecs_to_jiffies64(left) + 1,
		     MAX_SCHEDULE_TIMEOUT - 1);
}

/**
 * vgpu_gem_wait_idle_ioctl() - DRM_AMDGPU_GEM_WAIT_IDLE
 * @drm: DRM device
 * @data: union drm_amdgpu_gem_wait_idle
 * @file: file of the handle
 *
 * Waits for moves and clears of the BO, and for jobs that use the BO. Sets the status to 1 if the
 * deadline passes first, otherwise to 0.
 *
 * Return: 0, -ENOENT for an unknown handle, -ERESTARTSYS.
 */
int vgpu_gem_wait_idle_ioctl(struct drm_device *drm, void *data,
			     struct drm_file *file)
{
	union drm_amdgpu_gem_wait_idle *args = data;
	u64 deadline = args->in.timeout;
	struct vgpu_bo *bo;
	long left;

	bo = vgpu_gem_lookup(file, args->in.handle);
	if (!bo)
		return -ENOENT;
	do {
		left = dma_resv_wait_timeout(bo->tbo.base.resv,
					     DMA_RESV_USAGE_READ, true,
					     vgpu_gem_timeout(deadline));
	} while (!left && vgpu_gem_timeout(deadline));
	vgpu_bo_put(bo);
	if (left < 0)
		return left;
	memset(args, 0, sizeof(*args));
	args->out.status = !left;
	return 0;
}
