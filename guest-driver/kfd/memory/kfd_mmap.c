// SPDX-License-Identifier: GPL-2.0
/*
 * Maps doorbells through /dev/kfd, and creates the address_space that all files of /dev/kfd
 * share. kfd_mmio.c maps the page of the HDP flush registers, and kfd_events.c maps the signal
 * page.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>

#include "vgpu/doorbell.h"
#include "hw/vgpu_hw.h"
#include "hw/vgpu_io.h"
#include "mm/vgpu_bo.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "process/kfd_uapi.h"
#include "kfd_memory.h"

/*
 * /dev/kfd may be opened through several inodes. All open files of /dev/kfd use the address_space
 * of kfd_mappings, so that kfd_mmap_zap() finds all mappings.
 */
static struct file *kfd_mappings;
static const struct file_operations kfd_mappings_fops;

/**
 * kfd_mmap_adopt() - let a file of /dev/kfd use the shared address_space
 * @filp: file that is being opened
 */
void kfd_mmap_adopt(struct file *filp)
{
	filp->f_mapping = kfd_mappings->f_mapping;
}

/**
 * kfd_mmap_zap() - unmap a range of offsets of /dev/kfd in all processes
 * @offset: offset of the first byte in /dev/kfd, as for mmap()
 * @size: length in bytes
 *
 * Context: sleeps.
 */
void kfd_mmap_zap(u64 offset, u64 size)
{
	unmap_mapping_range(kfd_mappings->f_mapping, offset, size, 1);
}

/*
 * Unmap the GPU's doorbells in all processes. One call is enough, because all processes map the
 * doorbells at the same offsets in /dev/kfd.
 */
static void kfd_doorbell_zap_node(const struct kfd_node *node)
{
	kfd_mmap_zap(KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(node->gpu_id),
		     KFD_MMAP_SPAN);
}

/**
 * kfd_doorbell_zap() - unmap a GPU's doorbells in all processes
 * @pdd: state of a process on the GPU. The process is being torn down, and the caller calls
 *       kfd_doorbell_free() next
 *
 * The other processes map their doorbells again on their next page fault.
 *
 * Context: sleeps.
 */
void kfd_doorbell_zap(struct kfd_process_device *pdd)
{
	/*
	 * Unmap the doorbells, because the mm may outlive its kfd_process. Threads of the mm
	 * could then ring doorbells of the slice's next owner.
	 */
	if (pdd->doorbells)
		kfd_doorbell_zap_node(pdd->node);
}

/**
 * kfd_mmap_zap_node() - unmap a GPU's doorbells and MMIO page in all processes
 * @node: GPU
 *
 * Processes of the GPU map the pages again on their next page fault.
 *
 * Context: sleeps.
 */
void kfd_mmap_zap_node(const struct kfd_node *node)
{
	kfd_doorbell_zap_node(node);
	kfd_mmio_zap(node);
}

/**
 * kfd_fault_insert() - insert a page of a BAR for a page fault
 * @vmf: fault
 * @node: GPU
 * @addr: the page's physical address
 *
 * While the GPU is being reset, inserts nothing and waits for the end of the reset.
 *
 * Context: fault handler; mmap_lock or the VMA's lock is held. Waiting may drop this lock.
 *
 * Return: result of the fault handler.
 */
vm_fault_t kfd_fault_insert(struct vm_fault *vmf, struct kfd_node *node, phys_addr_t addr)
{
	vm_fault_t ret = VM_FAULT_NOPAGE;
	bool closed;
	int token;

	vgpu_io_map_begin(&token);
	closed = vgpu_io_map_is_closed(node->vdev);
	if (!closed)
		ret = vmf_insert_pfn(vmf->vma, vmf->address, PHYS_PFN(addr));
	vgpu_io_map_end(token);
	return closed ? vgpu_io_map_wait(node->vdev, vmf) : ret;
}

/* Insert the page of a doorbell slice. */
static vm_fault_t kfd_doorbell_fault(struct vm_fault *vmf)
{
	vm_fault_t ret = VM_FAULT_SIGBUS;
	struct kfd_process_device *pdd;
	struct kfd_process *p;
	struct vgpu_bo *bo;
	phys_addr_t addr;
	u64 offset;

	/*
	 * Look the process up at each fault, because the process may have been detached since
	 * mmap(). The reference keeps the slice allocated until the fault handler returns.
	 */
	p = kfd_lookup_process_by_mm(vmf->vma->vm_mm);
	if (!p)
		return VM_FAULT_SIGBUS;
	offset = (u64)vmf->pgoff << PAGE_SHIFT;
	pdd = kfd_process_device_by_node_id(p, KFD_MMAP_GET_GPU_ID(offset));
	/* Pairs with smp_store_release() in kfd_doorbell_alloc(). */
	bo = pdd ? smp_load_acquire(&pdd->doorbells) : NULL;
	if (bo) {
		addr = pdd->node->vdev->hw->doorbell_base +
		       vgpu_bo_doorbell_offset(bo) +
		       offset % DOORBELL_SLICE_SIZE;
		ret = kfd_fault_insert(vmf, pdd->node, addr);
	}
	kfd_unref_process(p);
	return ret;
}

static const struct vm_operations_struct kfd_doorbell_vm_ops = {
	.fault = kfd_doorbell_fault,
};

/**
 * kfd_doorbell_mmap() - map a process's slice of a GPU's doorbells
 * @pdd: state of the process on the GPU
 * @vma: mapping
 *
 * Context: mmap_lock is held.
 *
 * Return: 0; -EINVAL unless @vma is shared and has the size of the slice; -ENOMEM if the process
 * has no slice yet.
 */
int kfd_doorbell_mmap(struct kfd_process_device *pdd,
		      struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != DOORBELL_SLICE_SIZE ||
	    is_cow_mapping(vma->vm_flags))
		return -EINVAL;
	/* Pairs with smp_store_release() in kfd_doorbell_alloc(). */
	if (!smp_load_acquire(&pdd->doorbells))
		return -ENOMEM;
	/* Set VM_DONTCOPY, so that a child cannot ring its parent's doorbells. */
	vm_flags_set(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_NORESERVE |
		     VM_DONTDUMP | VM_PFNMAP);
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_ops = &kfd_doorbell_vm_ops;
	return 0;
}

/**
 * kfd_mmap_init() - create the file whose address_space all files of /dev/kfd use
 *
 * Context: module init, before /dev/kfd exists.
 *
 * Return: 0, or an error of anon_inode_create_getfile().
 */
int kfd_mmap_init(void)
{
	/*
	 * kfd_mappings_fops has no owner. With an owner, the file would keep this module from being
	 * unloaded.
	 */
	kfd_mappings = anon_inode_create_getfile("[kfd]", &kfd_mappings_fops,
						 NULL, O_RDWR, NULL);
	return PTR_ERR_OR_ZERO(kfd_mappings);
}

/**
 * kfd_mmap_exit() - undo kfd_mmap_init()
 *
 * Context: module exit, after /dev/kfd was removed.
 */
void kfd_mmap_exit(void)
{
	/* Free the file at once, because kfd_mappings_fops disappears with the module. */
	__fput_sync(kfd_mappings);
}
