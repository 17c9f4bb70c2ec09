// SPDX-License-Identifier: GPL-2.0
/*
 * KFD's address spaces, in which the render node has mappings by address
 * (vgpu_vm_va.c) beside those that KFD keeps. Theirs is what this is about:
 * queues may run at any time, so entries are written before anybody is told that
 * there is a mapping.
 */
#include "mm/vgpu_bo.h"
#include "vgpu_vm_priv.h"

/**
 * vgpu_vm_bo_count() - how often is a BO mapped by address?
 * @vm: address space
 * @bo: BO, its reservation held
 *
 * Return: the number of its mappings, those of KFD's own not counted.
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
 * vgpu_vm_bo_update_all() - write the entries of a BO that is mapped by address
 * @vm: address space
 * @bo: BO, its reservation held
 *
 * Those of its mappings that have none, or stale ones; KFD's own are left out. Waits
 * until the BO's memory holds what it should.
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
 * vgpu_vm_has_va() - is anything mapped by address?
 * @vm: address space
 *
 * Takes alloc_lock.
 *
 * Return: true for a BO or a PRT mapping that is not KFD's own.
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
