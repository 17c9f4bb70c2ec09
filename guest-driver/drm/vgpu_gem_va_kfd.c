// SPDX-License-Identifier: GPL-2.0
/*
 * Implements GEM_VA for a file that KFD has acquired: changes mappings in the process's
 * address space.
 */
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <drm/amdgpu_drm.h>

#include "process/kfd_mem.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "vm/vgpu_vm.h"
#include "vgpu_file.h"

/* The caller holds kfd_process.mutex, and no lock that comes after this mutex in the lock order. */
static int va_kfd_locked(struct kfd_process_device *pdd, struct vgpu_file *vf,
			 struct vgpu_bo *bo,
			 const struct drm_amdgpu_gem_va *args, u64 pte_flags)
{
	bool maps = args->operation == AMDGPU_VA_OP_MAP ||
		    args->operation == AMDGPU_VA_OP_REPLACE;
	int ret = 0;

	if (maps)
		ret = svm_claim(pdd->process, args->va_address, args->map_size);
	if (ret)
		return ret;
	mutex_lock(&pdd->vm->va_lock);
	/*
	 * Fail if another thread has closed the last handle of @bo. If a thread closes this handle
	 * later, that thread waits for kfd_process.mutex (held here), and then removes the new
	 * mapping.
	 */
	if (bo && !vgpu_file_has_bo_kfd(vf, bo))
		ret = -ENOENT;
	else
		ret = kfd_mem_gem_va_locked(pdd, bo, args, pte_flags);
	mutex_unlock(&pdd->vm->va_lock);
	if (maps)
		svm_unclaim(pdd->process);
	return ret;
}

/**
 * vgpu_gem_va_kfd() - do GEM_VA for a file that a KFD process has acquired
 * @file: file
 * @pasid: PASID of the process
 * @bo: BO, or NULL
 * @args: checked arguments
 * @pte_flags: VGPU_PTE_* of the mapping
 *
 * Context: no locks.
 *
 * Return:
 * * 0, -ERESTARTSYS, or an error of kfd_mem_gem_va_locked()
 * * -ESRCH: the process has ended
 * * -EADDRINUSE: an SVM range overlaps
 * * -ENOENT: @file has no handle of @bo
 */
int vgpu_gem_va_kfd(struct drm_file *file, u16 pasid, struct vgpu_bo *bo,
		    const struct drm_amdgpu_gem_va *args, u64 pte_flags)
{
	struct vgpu_file *vf = to_vgpu_file(file);
	struct kfd_process_device *pdd = kfd_mem_gem_device(vf->vdev, file, pasid);
	struct kfd_process *p;
	int ret = -ESRCH;

	if (!pdd)
		return ret;
	p = pdd->process;
	/*
	 * The caller may be another process that shares the file. So take a reference on the KFD
	 * process's mm, because SVM takes the mmap_lock of this mm.
	 */
	if (!mmget_not_zero(p->mm))
		goto unref;
	ret = -ERESTARTSYS;
	if (mutex_lock_interruptible(&p->mutex))
		goto put_mm;
	ret = va_kfd_locked(pdd, vf, bo, args, pte_flags);
	mutex_unlock(&p->mutex);
put_mm:
	mmput_async(p->mm);	/* mmput() of the last reference would tear the mm down here */
unref:
	kfd_unref_process(p);
	return ret;
}
