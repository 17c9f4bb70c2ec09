// SPDX-License-Identifier: GPL-2.0
/*
 * Rewrites the page tables of a render-node address space after VRAM was lost. Address spaces of
 * KFD are not restored: their processes get an event, and their queues are stopped.
 */
#include <drm/drm_drv.h>

#include "hw/vgpu_hw.h"
#include "mm/vgpu_bo.h"
#include "vgpu_vm_priv.h"

static struct vgpu_vm_bo *vm_next_vbo(struct vgpu_vm *vm, u64 page)
{
	struct interval_tree_node *node;

	node = interval_tree_iter_first(&to_vm_state(vm)->bos, page, ULONG_MAX);
	return node ? container_of(node, struct vgpu_vm_bo, pages) : NULL;
}

/*
 * Mark all mappings of BOs as moved. The caller then rebuilds the tables without entries for BOs.
 * The mark makes the next vgpu_vm_update_moved() write the entries of the BOs.
 */
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
 * vgpu_vm_restore_tables() - write the page tables again if VRAM was lost
 * @vm: address space of the render node; no job runs in it
 *
 * Writes all directories, and the entries of PRT mappings. The next vgpu_vm_update_moved() writes
 * the entries of BOs.
 *
 * Context: sleeps; the caller holds va_lock and no reservation.
 */
void vgpu_vm_restore_tables(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_device *vdev = vm->vdev;
	int epoch = atomic_read(&vdev->hw->vram_epoch), idx;

	lockdep_assert_held(&vm->va_lock);

	if (vm->vram_epoch == epoch || !drm_dev_enter(&vdev->drm, &idx))
		return;
	vm_forget_entries(vm);

	mutex_lock(&vs->alloc_lock);
	vgpu_vm_lock_cpu(vm);
	vgpu_vm_pool_zero(vm);
	vgpu_pt_rebuild(&vs->pt);
	vgpu_vm_publish(vm, true);
	WRITE_ONCE(vm->vram_epoch, epoch);
	mutex_unlock(&vs->pt_lock);
	mutex_unlock(&vs->alloc_lock);

	vm_write_prt(vm);
	vgpu_vm_publish_unlocked(vm);
	vgpu_vm_trim_later(vm);
	drm_dev_exit(idx);
}
