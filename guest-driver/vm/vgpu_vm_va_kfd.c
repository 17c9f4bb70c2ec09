// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings by address (vgpu_vm_va.c) that the render node has in KFD's address
 * spaces, beside KFD's own mappings. Queues may run at any time, so entries are
 * written before user space gets the result of the call that maps.
 */
#include "mm/vgpu_bo.h"
#include "vgpu_vm_priv.h"

/**
 * vgpu_vm_bo_count() - count a BO's mappings by address
 * @vm: address space
 * @bo: BO, its reservation held
 *
 * Return: the number of its mappings, without KFD's own.
 */
unsigned int vgpu_vm_bo_count(struct vgpu_vm *vm, const struct vgpu_bo *bo)
{
	struct vgpu_vm_bo *vbo;
	unsigned int n = 0;

	list_for_each_entry(vbo, &bo->vm_mappings, bo_link)
		n += vgpu_vbo_is_va(vbo, vm);
	return n;
}

/**
 * vgpu_vm_bo_update_all() - write the entries of a BO's mappings by address
 * @vm: address space
 * @bo: BO, its reservation held
 *
 * Writes the mappings that have no entries, or stale ones; KFD's own mappings are
 * left out. Waits for the BO's moves and clears.
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
 * vgpu_vm_has_va() - whether anything is mapped by address
 * @vm: address space
 *
 * Context: takes alloc_lock.
 *
 * Return: true if there is a mapping, of a BO or PRT, that is not KFD's own.
 */
bool vgpu_vm_has_va(struct vgpu_vm *vm)
{
	struct interval_tree_node *node;
	bool has = false;

	mutex_lock(&vm->alloc_lock);
	for (node = interval_tree_iter_first(&vm->bos, 0, ULONG_MAX);
	     node && !has; node = interval_tree_iter_next(node, 0, ULONG_MAX))
		has = !container_of(node, struct vgpu_vm_bo,
				    pages)->claimed;
	mutex_unlock(&vm->alloc_lock);
	return has;
}
