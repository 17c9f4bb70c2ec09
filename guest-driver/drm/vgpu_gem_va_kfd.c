// SPDX-License-Identifier: GPL-2.0
/* GEM_VA of a file whose address space KFD has taken: it is the process's. */
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <drm/amdgpu_drm.h>

#include "process/kfd_mem.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "vm/vgpu_vm.h"
#include "vgpu_file.h"

/* The caller holds kfd_process.mutex, and no lock inside it. */
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
	/* Whoever closes the last handle comes behind us, or was here. */
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
 * vgpu_gem_va_kfd() - GEM_VA of a file whose address space a KFD process has taken
 * @file: file
 * @pasid: the process's
 * @bo: what @args name, or NULL
 * @args: checked
 * @pte_flags: of a mapping
 *
 * Context: no locks held.
 *
 * Return: 0, -ESRCH the process has ended, -EADDRINUSE SVM range, -ENOENT no handle (any
 * more), or not mapped; else as kfd_mem_gem_va_locked().
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
	/* The file may be another process's as well: SVM's locks need the mm. */
	if (!mmget_not_zero(p->mm))
		goto unref;
	ret = -ERESTARTSYS;
	if (mutex_lock_interruptible(&p->mutex))
		goto put_mm;
	ret = va_kfd_locked(pdd, vf, bo, args, pte_flags);
	mutex_unlock(&p->mutex);
put_mm:
	mmput_async(p->mm);	/* the last one would tear it down here */
unref:
	kfd_unref_process(p);
	return ret;
}
