// SPDX-License-Identifier: GPL-2.0
/*
 * Maps the MMIO page, which is the page of BAR 5 that has the HDP flush registers and no other
 * register (docs/hardware.md, REMAP_HDP_*). All processes of a GPU share the BO of its MMIO
 * page.
 */
#include <linux/mm.h>

#include "hw/vgpu_hw.h"
#include "mm/vgpu_bo.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "process/kfd_uapi.h"
#include "kfd_memory.h"

/**
 * kfd_mmio_init() - create and pin the BO of a GPU's MMIO page
 * @node: GPU
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_mmio_init(struct kfd_node *node)
{
	const struct vgpu_bo_params params = {
		.size = PAGE_SIZE,
		.domain = VGPU_GEM_DOMAIN_MMIO_REMAP,
		.type = ttm_bo_type_kernel,
	};
	struct vgpu_bo *bo;
	int ret;

	ret = vgpu_bo_create(node->vdev, &params, &bo);
	if (ret)
		return ret;
	ret = ttm_bo_reserve(&bo->tbo, false, false, NULL);
	if (!ret) {
		ret = vgpu_bo_pin(bo, VGPU_GEM_DOMAIN_MMIO_REMAP);
		ttm_bo_unreserve(&bo->tbo);
	}
	if (ret) {
		vgpu_bo_put(bo);
		return ret;
	}
	node->mmio = bo;
	return 0;
}

/**
 * kfd_mmio_fini() - undo kfd_mmio_init()
 * @node: GPU that no process uses
 */
void kfd_mmio_fini(struct kfd_node *node)
{
	ttm_bo_reserve(&node->mmio->tbo, false, false, NULL);
	vgpu_bo_unpin(node->mmio);
	ttm_bo_unreserve(&node->mmio->tbo);
	vgpu_bo_put(node->mmio);
	node->mmio = NULL;
}

/**
 * kfd_mmio_mmap_offset() - return the offset at which mmap of /dev/kfd maps a GPU's MMIO page
 * @node: GPU
 *
 * Context: any.
 *
 * Return: offset in bytes; the same for all processes.
 */
u64 kfd_mmio_mmap_offset(const struct kfd_node *node)
{
	return KFD_MMAP_TYPE_MMIO | KFD_MMAP_GPU_ID(node->gpu_id);
}

/**
 * kfd_mmio_zap() - unmap a GPU's MMIO page in all processes
 * @node: GPU
 *
 * Processes of the GPU map the page again on their next page fault.
 *
 * Context: sleeps.
 */
void kfd_mmio_zap(const struct kfd_node *node)
{
	kfd_mmap_zap(kfd_mmio_mmap_offset(node), KFD_MMAP_SPAN);
}

/* Look the process up at each fault, because the process may have been detached since mmap(). */
static vm_fault_t kfd_mmio_fault(struct vm_fault *vmf)
{
	vm_fault_t ret = VM_FAULT_SIGBUS;
	struct kfd_process_device *pdd;
	struct kfd_process *p;
	u64 offset;

	p = kfd_lookup_process_by_mm(vmf->vma->vm_mm);
	if (!p)
		return VM_FAULT_SIGBUS;
	offset = (u64)vmf->pgoff << PAGE_SHIFT;
	pdd = kfd_process_device_by_node_id(p, KFD_MMAP_GET_GPU_ID(offset));
	if (pdd)
		ret = kfd_fault_insert(vmf, pdd->node,
				       pdd->node->vdev->hw->remap_base);
	kfd_unref_process(p);
	return ret;
}

static const struct vm_operations_struct kfd_mmio_vm_ops = {
	.fault = kfd_mmio_fault,
};

/**
 * kfd_mmio_mmap() - map a GPU's MMIO page
 * @pdd: state of the process on the GPU
 * @vma: mapping
 *
 * Context: mmap_lock is held.
 *
 * Return: 0, or -EINVAL unless @vma is shared and has one page.
 */
int kfd_mmio_mmap(struct kfd_process_device *pdd, struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != PAGE_SIZE ||
	    is_cow_mapping(vma->vm_flags))
		return -EINVAL;
	vm_flags_set(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_NORESERVE |
		     VM_DONTDUMP | VM_PFNMAP);
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_ops = &kfd_mmio_vm_ops;
	return 0;
}
