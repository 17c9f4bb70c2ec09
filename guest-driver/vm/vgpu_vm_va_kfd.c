// SPDX-License-Identifier: GPL-2.0
/*
 * Updates the mappings that GEM_VA, an ioctl of the render node, has created in address spaces of
 * KFD. Queues may run at any time, so GEM_VA writes the entries of a new mapping before it returns
 * to user space.
 */
#include "mm/vgpu_bo.h"
#include "vgpu_vm_priv.h"

/**
 * vgpu_vm_bo_update_all() - write missing and stale page-table entries of a BO
 * @vm: address space
 * @bo: BO, its reservation held
 *
 * Updates only mappings that GEM_VA has created. Waits for the moves and clears of @bo before
 * each write.
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
 * vgpu_vm_has_va() - whether GEM_VA has created mappings in an address space
 * @vm: address space
 *
 * Context: takes alloc_lock.
 *
 * Return: true if @vm has a mapping that KFD has not created: a mapping of a BO or a PRT mapping.
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
