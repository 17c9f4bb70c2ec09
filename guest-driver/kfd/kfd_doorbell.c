// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells: each process has a slice of 8 KiB in the doorbell BAR of every
 * GPU it has queues on. The place of a queue's doorbell in it follows from the
 * hardware queue (vgpu/doorbell.h).
 */
#include <linux/mm.h>
#include <drm/amdgpu_drm.h>

#include "vgpu/doorbell.h"
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
	ttm_bo_reserve(&bo->tbo, false, false, NULL);
	vgpu_bo_unpin(bo);
	ttm_bo_unreserve(&bo->tbo);
	vgpu_bo_put(bo);
	pdd->doorbells = NULL;
}

/* Under mmap_lock. The whole slice or nothing, as amdkfd has it. */
int kfd_doorbell_mmap(struct kfd_process_device *pdd,
		      struct vm_area_struct *vma)
{
	struct vgpu_bo *bo;
	phys_addr_t addr;

	/* Pairs with kfd_doorbell_alloc(). */
	bo = smp_load_acquire(&pdd->doorbells);
	if (vma->vm_end - vma->vm_start != DOORBELL_SLICE_SIZE)
		return -EINVAL;
	if (!bo)
		return -ENOMEM;
	addr = pdd->node->vdev->hw.doorbell_base + vgpu_bo_doorbell_offset(bo);
	/* A child has no process here: it must not ring for its parent. */
	vm_flags_set(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_NORESERVE |
		     VM_DONTDUMP | VM_PFNMAP);
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	return io_remap_pfn_range(vma, vma->vm_start, addr >> PAGE_SHIFT,
				  DOORBELL_SLICE_SIZE, vma->vm_page_prot);
}
