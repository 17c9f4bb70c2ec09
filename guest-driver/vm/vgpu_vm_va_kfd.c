// SPDX-License-Identifier: GPL-2.0
/*
 * Updates the mappings by address (vgpu_vm_va.c) that the render node has created in address spaces
 * of KFD, beside KFD's own mappings. Queues may run at any time, so the ioctl that creates a
 * mapping writes the entries of the mapping before it returns to user space.
 */
#include "mm/vgpu_bo.h"
#include "vgpu_vm_priv.h"

/**
 * vgpu_vm_bo_update_all() - write the entries of a BO's mappings by address
 * @vm: address space
 * @bo: BO, its reservation held
 *
 * Writes the entries of mappings that have none, or stale ones. Skips KFD's own mappings. Waits
 * for the BO's moves and clears.
 *
 * Return: as vgpu_vm_bo_update().
 */
int vgpu_vm_bo_update_all(struct vgpu_vm *vm, struct vgpu_bo *bo)
{
	struct vgpu_vm_bo *vbo;
	int ret = 0;

	list_for_each_entry(vbo, &bo->vm_mappings, bo_link) {
		if (!vgpu_vbo_is_va(vbo, vm) || !vbo->moved)
			continue;
		ret = vgpu_vm_bo_update(&vbo, 1);
		if (ret)
			break;
	}
	return ret;
}

/**
 * vgpu_vm_has_va() - whether an address space has mappings by address
 * @vm: address space
 *
 * Context: takes alloc_lock.
 *
 * Return: true if @vm has a mapping, of a BO or PRT, that is not a mapping of KFD.
 */
bool vgpu_vm_has_va(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct interval_tree_node *node;
	bool has = false;

	mutex_lock(&vs->alloc_lock);
	for (node = interval_tree_iter_first(&vs->bos, 0, ULONG_MAX);
	     node && !has; node = interval_tree_iter_next(node, 0, ULONG_MAX))
		has = !container_of(node, struct vgpu_vm_bo,
				    pages)->claimed;
	mutex_unlock(&vs->alloc_lock);
	return has;
}
