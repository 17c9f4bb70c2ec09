// SPDX-License-Identifier: GPL-2.0
/*
 * Address spaces of the render node after VRAM was lost: what the tables held is
 * gone, but what is mapped where is known. (KFD's processes are told instead,
 * and their queues stopped.)
 */
#include <drm/drm_drv.h>

#include "hw/vgpu_hw.h"
#include "mm/vgpu_bo.h"
#include "vgpu_vm_priv.h"

static struct vgpu_vm_bo *vm_next_vbo(struct vgpu_vm *vm, u64 page)
{
	struct interval_tree_node *node;

	node = interval_tree_iter_first(&vm->bos, page, ULONG_MAX);
	return node ? container_of(node, struct vgpu_vm_bo, pages) : NULL;
}

/* BOs that move from now on find their entries clear. */
static void vm_forget_entries(struct vgpu_vm *vm)
{
	struct vgpu_vm_bo *vbo;
	u64 page = 0;

	while ((vbo = vm_next_vbo(vm, page))) {
		page = vbo->pages.last + 1;
		if (!vbo->bo)
			continue;
		ttm_bo_reserve(&vbo->bo->tbo, false, false, NULL);
		vgpu_vbo_set_moved(vbo, true);
		ttm_bo_unreserve(&vbo->bo->tbo);
	}
}

static void vm_write_prt(struct vgpu_vm *vm)
{
	struct vgpu_vm_bo *vbo;
	u64 page = 0;

	while ((vbo = vm_next_vbo(vm, page))) {
		page = vbo->pages.last + 1;
		if (!vbo->bo)
			vgpu_vm_clear_pages(vm, vbo->pages.start,
					    vbo->pages.last, VGPU_PTE_PRT);
	}
}

/**
 * vgpu_vm_restore_tables() - write the page tables anew if VRAM was lost
 * @vm: address space of the render node, va_lock held; no job runs in it, no
 *      reservation is held
 *
 * Entries of BOs are written by the next vgpu_vm_update_moved().
 */
void vgpu_vm_restore_tables(struct vgpu_vm *vm)
{
	struct vgpu_device *vdev = vm->vdev;
	int epoch = atomic_read(&vdev->hw->vram_epoch), idx;

	lockdep_assert_held(&vm->va_lock);

	if (vm->vram_epoch == epoch || !drm_dev_enter(&vdev->drm, &idx))
		return;
	vm_forget_entries(vm);

	mutex_lock(&vm->alloc_lock);
	vgpu_vm_lock_cpu(vm);
	vgpu_vm_pool_zero(vm);
	vgpu_pt_rebuild(&vm->pt);
	vgpu_vm_publish(vm, true);
	WRITE_ONCE(vm->vram_epoch, epoch);
	mutex_unlock(&vm->pt_lock);
	mutex_unlock(&vm->alloc_lock);

	vm_write_prt(vm);
	vgpu_vm_publish_unlocked(vm);
	vgpu_vm_trim_later(vm);
	drm_dev_exit(idx);
}
