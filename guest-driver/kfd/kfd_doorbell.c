// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells: each process has a slice of 8 KiB in the doorbell BAR of every
 * GPU it has queues on. The place of a queue's doorbell in it follows from the
 * hardware queue (vgpu/doorbell.h).
 */
#include <linux/mm.h>
#include <drm/amdgpu_drm.h>

#include "vgpu/doorbell.h"
#include "vgpu_bo.h"
#include "vgpu_hw.h"
#include "kfd_room.h"

int kfd_doorbell_alloc(struct kfd_process_device *pdd)
{
	const struct vgpu_bo_params params = {
		.size = DOORBELL_SLICE_SIZE,
		.domain = AMDGPU_GEM_DOMAIN_DOORBELL,
		.type = ttm_bo_type_kernel,
	};
	struct vgpu_bo *bo;
	int ret;

	lockdep_assert_held(&pdd->process->mutex);

	if (pdd->doorbells)
		return 0;
	ret = vgpu_bo_create(pdd->node->vdev, &params, &bo);
	if (ret)
		return ret == -ENOSPC ? -ENOMEM : ret;
	ret = ttm_bo_reserve(&bo->tbo, false, false, NULL);
	if (!ret) {
		ret = vgpu_bo_pin(bo, AMDGPU_GEM_DOMAIN_DOORBELL);
		ttm_bo_unreserve(&bo->tbo);
	}
	if (ret) {
		vgpu_bo_put(bo);
		return ret;
	}
	/* kfd_doorbell_mmap() looks without the mutex. */
	smp_store_release(&pdd->doorbells, bo);
	return 0;
}

void kfd_doorbell_free(struct kfd_process_device *pdd)
{
	struct vgpu_bo *bo = pdd->doorbells;

	if (!bo)
		return;
	/* The mm may live on. Others' mappings come back when they are used. */
	kfd_chardev_zap(KFD_MMAP_TYPE_DOORBELL |
			KFD_MMAP_GPU_ID(pdd->node->gpu_id), KFD_MMAP_SPAN);
	ttm_bo_reserve(&bo->tbo, false, false, NULL);
	vgpu_bo_unpin(bo);
	ttm_bo_unreserve(&bo->tbo);
	vgpu_bo_put(bo);
	pdd->doorbells = NULL;
}

/*
 * The process is looked up anew: it may have lost the GPU, and its slice, since
 * mmap. Who tears it down waits for our reference, and zaps the mapping after.
 */
static vm_fault_t kfd_doorbell_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	struct kfd_process_device *pdd;
	struct kfd_process *p;
	struct vgpu_bo *bo;
	phys_addr_t addr;
	u64 offset;

	p = kfd_lookup_process_by_mm(vma->vm_mm);
	if (!p)
		return VM_FAULT_SIGBUS;
	offset = (u64)vmf->pgoff << PAGE_SHIFT;
	pdd = kfd_process_device_by_node_id(p, KFD_MMAP_GET_GPU_ID(offset));
	/* Pairs with kfd_doorbell_alloc(). */
	bo = pdd ? smp_load_acquire(&pdd->doorbells) : NULL;
	if (bo) {
		addr = pdd->node->vdev->hw->doorbell_base +
		       vgpu_bo_doorbell_offset(bo) +
		       offset % DOORBELL_SLICE_SIZE;
		ret = vmf_insert_pfn(vma, vmf->address, PHYS_PFN(addr));
	}
	kfd_unref_process(p);
	return ret;
}

static const struct vm_operations_struct kfd_doorbell_vm_ops = {
	.fault = kfd_doorbell_fault,
};

/* Under mmap_lock. The whole slice, shared, or nothing. */
int kfd_doorbell_mmap(struct kfd_process_device *pdd,
		      struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != DOORBELL_SLICE_SIZE ||
	    is_cow_mapping(vma->vm_flags))
		return -EINVAL;
	/* Pairs with kfd_doorbell_alloc(). */
	if (!smp_load_acquire(&pdd->doorbells))
		return -ENOMEM;
	/* A child has no process here: it must not ring for its parent. */
	vm_flags_set(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_NORESERVE |
		     VM_DONTDUMP | VM_PFNMAP);
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_ops = &kfd_doorbell_vm_ops;
	return 0;
}
