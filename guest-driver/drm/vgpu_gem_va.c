// SPDX-License-Identifier: GPL-2.0
/*
 * Implements amdgpu's GEM_VA, which maps BOs in the address space of a file.
 *
 * For a file that KFD has acquired, vgpu_gem_va_kfd.c maps BOs in the address space of the KFD
 * process.
 */
#include <drm/amdgpu_drm.h>
#include <drm/drm_exec.h>

#include "vgpu/bits.h"
#include "mm/vgpu_bo.h"
#include "vm/vgpu_vm.h"
#include "vm/vgpu_vm_bo.h"
#include "vgpu_file.h"

/* Flags that amdgpu accepts for mappings of a BO, and for mappings without a BO. */
#define VA_FLAGS_BO	(AMDGPU_VM_DELAY_UPDATE | AMDGPU_VM_PAGE_READABLE | \
			 AMDGPU_VM_PAGE_WRITEABLE | \
			 AMDGPU_VM_PAGE_EXECUTABLE | AMDGPU_VM_MTYPE_MASK | \
			 AMDGPU_VM_PAGE_NOALLOC)
#define VA_FLAGS_PRT	(AMDGPU_VM_DELAY_UPDATE | AMDGPU_VM_PAGE_PRT)

static u64 va_pte_flags(u32 flags)
{
	u64 mtype = VGPU_MTYPE_NC, pte = 0;

	if (flags & AMDGPU_VM_PAGE_EXECUTABLE)
		pte |= VGPU_PTE_EXECUTABLE;
	if (flags & AMDGPU_VM_PAGE_READABLE)
		pte |= VGPU_PTE_READABLE;
	if (flags & AMDGPU_VM_PAGE_WRITEABLE)
		pte |= VGPU_PTE_WRITEABLE;
	switch (flags & AMDGPU_VM_MTYPE_MASK) {
	case AMDGPU_VM_MTYPE_RW:
		mtype = VGPU_MTYPE_RW;
		break;
	case AMDGPU_VM_MTYPE_CC:
		mtype = VGPU_MTYPE_CC;
		break;
	case AMDGPU_VM_MTYPE_UC:
		mtype = VGPU_MTYPE_UC;
		break;
	}
	return pte | VGPU_PREP(VGPU_PTE_MTYPE, mtype);
}

static int va_check(const struct drm_amdgpu_gem_va *args)
{
	const u64 end = VGPU_VA_HOLE - VGPU_VA_RESERVED_TOP;

	if (args->va_address < VGPU_VA_RESERVED_BOTTOM ||
	    args->va_address >= end || args->map_size > end - args->va_address)
		return -EINVAL;
	if ((args->flags & ~VA_FLAGS_BO) && (args->flags & ~VA_FLAGS_PRT))
		return -EINVAL;

	switch (args->operation) {
	case AMDGPU_VA_OP_MAP:
	case AMDGPU_VA_OP_UNMAP:
	case AMDGPU_VA_OP_CLEAR:
	case AMDGPU_VA_OP_REPLACE:
		return 0;
	default:
		return -EINVAL;
	}
}

/*
 * Check the range of an operation. As in amdgpu, an invalid range is rejected before the operation
 * removes any mapping.
 */
static int va_check_range(const struct drm_amdgpu_gem_va *args,
			  const struct vgpu_bo *bo)
{
	u64 size = args->map_size;

	if (!size || (args->va_address | args->offset_in_bo | size) &
		     (VGPU_PAGE_SIZE - 1))
		return -EINVAL;
	if (args->offset_in_bo > U64_MAX - size ||
	    (bo && args->offset_in_bo + size > bo->tbo.base.size))
		return -EINVAL;
	return 0;
}

/* Lock the reservations that va_apply() needs. */
static int va_lock(struct vgpu_vm *vm, const struct drm_amdgpu_gem_va *args,
		   struct vgpu_bo *bo, struct drm_exec *exec)
{
	bool range = args->operation == AMDGPU_VA_OP_CLEAR ||
		     args->operation == AMDGPU_VA_OP_REPLACE;
	int ret = 0;

	drm_exec_until_all_locked(exec) {
		if (bo) {
			ret = drm_exec_lock_obj(exec, &bo->tbo.base);
			drm_exec_retry_on_contention(exec);
			if (ret)
				return ret;
		}
		if (range) {
			ret = vgpu_vm_lock_range(vm, args->va_address,
						 args->map_size, exec);
			drm_exec_retry_on_contention(exec);
			if (ret)
				return ret;
		}
	}
	return ret;
}

/*
 * Perform the operation. The caller holds the mutex vgpu_vm.va_lock, and the reservations that the
 * function va_lock() takes.
 */
static int va_apply(struct vgpu_file *vf, const struct drm_amdgpu_gem_va *args,
		    struct vgpu_bo *bo, struct drm_exec *exec)
{
	struct vgpu_vm *vm = vf->vm;
	int ret;

	switch (args->operation) {
	case AMDGPU_VA_OP_UNMAP:
		return vgpu_vm_bo_unmap_va(vm, bo, args->va_address);
	case AMDGPU_VA_OP_CLEAR:
		return vgpu_vm_clear_mappings(vm, args->va_address,
					      args->map_size);
	case AMDGPU_VA_OP_REPLACE:
		ret = vgpu_vm_clear_mappings(vm, args->va_address,
					     args->map_size);
		if (ret)
			return ret;
		break;
	}
	if (!bo)
		return vgpu_vm_map_prt(vm, args->va_address, args->map_size);
	ret = vgpu_vm_bo_add(vm, bo, args->va_address, args->offset_in_bo,
			     args->map_size, va_pte_flags(args->flags));
	if (ret || args->flags & AMDGPU_VM_DELAY_UPDATE)
		return ret;
	return vgpu_vm_update_moved(vm, &exec->ticket, !vgpu_file_busy(vf));
}

static int va_locked(struct vgpu_file *vf, const struct drm_amdgpu_gem_va *args,
		     struct vgpu_bo *bo)
{
	struct drm_exec exec;
	int ret;

	ret = mutex_lock_interruptible(&vf->vm->va_lock);
	if (ret)
		return -ERESTARTSYS;
	/*
	 * A concurrent close removes the BO's last handle, waits for va_lock, and then removes the
	 * BO's mappings. So no mapping outlives the handle.
	 */
	if (bo && !vgpu_file_has_bo(vf, bo))
		ret = -ENOENT;
	/*
	 * Wait until no job is in flight, because jobs may use the mappings that va_apply()
	 * removes. No thread submits a new job meanwhile, because a submission takes
	 * vgpu_vm.va_lock.
	 */
	if (!ret && args->operation != AMDGPU_VA_OP_MAP)
		ret = vgpu_file_wait_idle(vf, true);
	if (!ret) {
		drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT |
				     DRM_EXEC_IGNORE_DUPLICATES, 0);
		ret = va_lock(vf->vm, args, bo, &exec);
		if (!ret)
			ret = va_apply(vf, args, bo, &exec);
		drm_exec_fini(&exec);
	}
	mutex_unlock(&vf->vm->va_lock);
	return ret;
}

/**
 * vgpu_gem_va_ioctl() - DRM_AMDGPU_GEM_VA
 * @drm: DRM device
 * @data: struct drm_amdgpu_gem_va
 * @file: file of the address space and handles
 *
 * Return:
 * * 0
 * * -EINVAL: invalid address, range, flag or operation; or a MAP that overlaps a mapping
 * * -ENOENT: unknown handle; or UNMAP of an address without mapping
 * * -ENOSPC: no PASID is free
 * * -ENOMEM, -ERESTARTSYS
 * * an error of vgpu_gem_va_kfd(), if KFD has acquired @file
 */
int vgpu_gem_va_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vgpu_file *vf = to_vgpu_file(file);
	const struct drm_amdgpu_gem_va *args = data;
	struct drm_gem_object *gem = NULL;
	u16 kfd_pasid = READ_ONCE(vf->kfd_pasid);
	struct vgpu_bo *bo = NULL;
	int ret;

	ret = va_check(args);
	if (!ret && !kfd_pasid)
		ret = vgpu_file_vm(vf);
	if (ret)
		return ret;
	if (args->operation != AMDGPU_VA_OP_CLEAR &&
	    !(args->flags & AMDGPU_VM_PAGE_PRT)) {
		gem = drm_gem_object_lookup(file, args->handle);
		if (!gem)
			return -ENOENT;
		bo = gem_to_vgpu_bo(gem);
	}
	if (args->operation != AMDGPU_VA_OP_UNMAP)
		ret = va_check_range(args, bo);
	if (!ret && kfd_pasid)
		ret = vgpu_gem_va_kfd(file, kfd_pasid, bo, args,
				      va_pte_flags(args->flags));
	else if (!ret)
		ret = va_locked(vf, args, bo);
	if (gem)
		drm_gem_object_put(gem);
	return ret;
}
