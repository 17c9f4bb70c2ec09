// SPDX-License-Identifier: GPL-2.0
/*
 * Returns the BOs of a process and the size of its page tables, for fdinfo. Prints the address
 * spaces of all processes in debugfs.
 */
#include <drm/drm_print.h>

#include "mm/vgpu_bo.h"
#include "vm/vgpu_vm.h"
#include "kfd_evict_priv.h"
#include "kfd_mem.h"
#include "kfd_node.h"
#include "kfd_process.h"

static int kfd_pdd_memory(struct kfd_process_device *pdd,
			  struct drm_file *file, struct vgpu_bo_set *set,
			  u64 *tables)
{
	struct kfd_process *p = pdd->process;
	struct vgpu_device *vdev = pdd->node->vdev;
	struct kgd_mem *mem;
	int ret;

	ret = mutex_lock_interruptible(&p->mutex);
	if (ret)
		return ret;
	if (pdd->vm && pdd->drm_priv == file) {
		list_for_each_entry(mem, &p->kgd_process_info->kfd_bo_list,
				    validate_list) {
			if (mem->bo->vdev == vdev)
				ret = vgpu_bo_set_add(set, mem->bo);
			if (ret)
				break;
		}
		*tables = vgpu_vm_table_bytes(pdd->vm);
		if (!ret)
			ret = p->pasid;
	}
	mutex_unlock(&p->mutex);
	return ret;
}

/**
 * kfd_file_memory() - collect the BOs of the process that has acquired a render-node file
 * @vdev: device
 * @file: file of the render node
 * @set: receives the process's BOs on @vdev
 * @tables: set to the bytes of the process's page tables on @vdev, if the result is a PASID
 *
 * Context: no lock held; takes kfd_process.mutex of one process at a time.
 *
 * Return:
 * * the PASID of the process
 * * 0: no process has acquired @file
 * * -ENOMEM, -EINTR
 */
int kfd_file_memory(struct vgpu_device *vdev, struct drm_file *file,
		    struct vgpu_bo_set *set, u64 *tables)
{
	struct kfd_process *p, *next;
	int ret = 0;

	for (p = kfd_lookup_process_after(0); p; p = next) {
		struct kfd_process_device *pdd;

		pdd = kfd_process_device_of(p, vdev);
		if (pdd)
			ret = kfd_pdd_memory(pdd, file, set, tables);
		next = ret ? NULL : kfd_lookup_process_after(p->pasid);
		kfd_unref_process(p);
	}
	return ret;
}

/**
 * kfd_print_vms() - print every process's address space on a device
 * @vdev: device
 * @printer: output
 *
 * Context: process context, no lock held; takes kfd_process.mutex of one process at a time.
 */
void kfd_print_vms(struct vgpu_device *vdev, struct drm_printer *printer)
{
	struct kfd_process *p, *next;

	for (p = kfd_lookup_process_after(0); p; p = next) {
		struct kfd_process_device *pdd;

		pdd = kfd_process_device_of(p, vdev);
		mutex_lock(&p->mutex);
		if (pdd && pdd->vm) {
			drm_printf(printer, "kfd process %d %s\n",
				   p->lead_thread->pid, p->lead_thread->comm);
			vgpu_vm_print(pdd->vm, printer);
		}
		mutex_unlock(&p->mutex);
		next = kfd_lookup_process_after(p->pasid);
		kfd_unref_process(p);
	}
}
