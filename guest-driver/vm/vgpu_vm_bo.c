// SPDX-License-Identifier: GPL-2.0
/*
 * BOs in address spaces.
 *
 * A mapping follows its BO: when TTM is about to move it, the entries are
 * cleared (vgpu_vm_bo_move_notify()), and whoever lets queues run again writes
 * them anew (vgpu_vm_bo_update()). Both happen under the BO's reservation.
 */
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <drm/ttm/ttm_tt.h>

#include "../mm/vgpu_res_cursor.h"
#include "vgpu_vm_priv.h"

/* 2 MiB: what is larger is a leaf. */
#define BO_MAX_FRAG	VGPU_PT_SHIFT

static u64 vbo_first_page(const struct vgpu_vm_bo *vbo)
{
	return vbo->va >> VGPU_PAGE_SHIFT;
}

static u64 vbo_last_page(const struct vgpu_vm_bo *vbo)
{
	return (vbo->va + vbo->size - 1) >> VGPU_PAGE_SHIFT;
}

/*
 * Walk the BO's memory as @vbo maps it. *@base: what to add to the cursor's
 * addresses. Returns the entries' flags, or 0 if @vm does not reach it.
 */
static u64 vbo_first(const struct vgpu_vm_bo *vbo, struct vgpu_res_cursor *cur,
		     u64 *base)
{
	const u64 system = VGPU_PTE_SYSTEM | VGPU_PTE_SNOOPED;
	struct ttm_buffer_object *tbo = &vbo->bo->tbo;
	u32 type = tbo->resource ? tbo->resource->mem_type : TTM_PL_SYSTEM;
	u64 flags = vbo->pte_flags | VGPU_PTE_VALID;

	*base = 0;
	if (type == TTM_PL_TT) {
		/* A BO of another device is mapped at the same bus address. */
		vgpu_res_first_dma(tbo->ttm->dma_address, vbo->offset,
				   vbo->size, cur);
		return flags | system;
	}
	if (vbo->bo->vdev != vbo->vm->vdev)
		return 0;
	vgpu_res_first(tbo->resource, vbo->offset, vbo->size, cur);
	if (type == TTM_PL_VRAM)
		return flags;
	if (type == VGPU_PL_DOORBELL) {
		*base = vbo->vm->vdev->hw.doorbell_base;
		return flags | system;
	}
	return 0;
}

/**
 * vgpu_vm_bo_update() - write a mapping's entries
 * @vbo: mapping; its BO's reservation is held
 *
 * Waits until the BO's memory holds what it should.
 *
 * Return: 0, -EINVAL if the BO is where the GPU does not reach it,
 * -ERESTARTSYS.
 */
int vgpu_vm_bo_update(struct vgpu_vm_bo *vbo)
{
	struct dma_resv *resv = vbo->bo->tbo.base.resv;
	u64 page = vbo_first_page(vbo), flags, base;
	struct vgpu_vm *vm = vbo->vm;
	struct vgpu_res_cursor cur;
	bool changed = false;
	long left;

	dma_resv_assert_held(resv);

	left = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, true,
				     MAX_SCHEDULE_TIMEOUT);
	if (left < 0)
		return left;

	flags = vbo_first(vbo, &cur, &base);
	if (!flags)
		return -EINVAL;
	while (cur.remaining) {
		const struct vgpu_vm_span span = {
			.addr = base + cur.start,
			.npages = cur.size >> VGPU_PAGE_SHIFT,
			.pte_flags = flags,
		};

		/* Notifiers of the same address space wait for one run only. */
		mutex_lock(&vm->pt_lock);
		changed |= vgpu_pt_write(&vm->pt, page, &span, BO_MAX_FRAG);
		mutex_unlock(&vm->pt_lock);
		page += span.npages;
		vgpu_res_next(&cur, cur.size);
	}
	mutex_lock(&vm->pt_lock);
	vgpu_vm_publish(vm, changed);
	mutex_unlock(&vm->pt_lock);
	vbo->moved = false;
	return 0;
}

static bool vbo_range_ok(const struct vgpu_bo *bo, u64 va, u64 offset, u64 size)
{
	u64 bo_size = bo->tbo.base.size;

	return size && !((va | offset | size) & (VGPU_PAGE_SIZE - 1)) &&
	       offset <= bo_size && size <= bo_size - offset &&
	       va < BIT_ULL(VGPU_VA_BITS) && size <= BIT_ULL(VGPU_VA_BITS) - va;
}

/* Take the addresses and make their tables. */
static int vbo_claim(struct vgpu_vm_bo *vbo)
{
	struct vgpu_vm *vm = vbo->vm;
	int ret = -EINVAL;

	vbo->pages.start = vbo_first_page(vbo);
	vbo->pages.last = vbo_last_page(vbo);

	mutex_lock(&vm->alloc_lock);
	if (!interval_tree_iter_first(&vm->bos, vbo->pages.start,
				      vbo->pages.last))
		ret = vgpu_pt_reserve(&vm->pt, vbo->pages.start,
				      vbo->pages.last);
	if (!ret)
		interval_tree_insert(&vbo->pages, &vm->bos);
	mutex_unlock(&vm->alloc_lock);
	return ret;
}

/**
 * vgpu_vm_bo_map() - map a BO
 * @vm: address space
 * @bo: BO, its reservation held, in VRAM, GTT or doorbells
 * @va: where; page aligned
 * @offset: first byte of the BO; page aligned
 * @size: bytes, whole pages
 * @pte_flags: VGPU_PTE_READABLE, _WRITEABLE, _EXECUTABLE, _MTYPE
 * @out: the mapping
 *
 * Return: 0, -EINVAL for addresses that cannot be or are taken by another BO,
 * or memory that the GPU does not reach, -ENOMEM, -ERESTARTSYS.
 */
int vgpu_vm_bo_map(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va, u64 offset,
		   u64 size, u64 pte_flags, struct vgpu_vm_bo **out)
{
	struct vgpu_vm_bo *vbo;
	int ret;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (!vbo_range_ok(bo, va, offset, size))
		return -EINVAL;
	vbo = kzalloc(sizeof(*vbo), GFP_KERNEL);
	if (!vbo)
		return -ENOMEM;
	vbo->vm = vm;
	vbo->bo = bo;
	vbo->va = va;
	vbo->size = size;
	vbo->offset = offset;
	vbo->pte_flags = pte_flags;

	ret = vbo_claim(vbo);
	if (ret) {
		kfree(vbo);
		return ret;
	}
	list_add_tail(&vbo->bo_link, &bo->vm_mappings);
	ret = vgpu_vm_bo_update(vbo);
	if (ret) {
		vgpu_vm_bo_unmap(vbo);
		return ret;
	}
	*out = vbo;
	return 0;
}

static void vbo_clear(struct vgpu_vm_bo *vbo)
{
	vgpu_vm_clear_range(vbo->vm, vbo_first_page(vbo), vbo_last_page(vbo),
			    false);
}

/**
 * vgpu_vm_bo_unmap() - undo vgpu_vm_bo_map()
 * @vbo: mapping, freed; its BO's reservation is held
 *
 * The GPU does not reach the memory on return.
 */
void vgpu_vm_bo_unmap(struct vgpu_vm_bo *vbo)
{
	struct vgpu_vm *vm = vbo->vm;

	dma_resv_assert_held(vbo->bo->tbo.base.resv);

	vbo_clear(vbo);
	list_del(&vbo->bo_link);
	mutex_lock(&vm->alloc_lock);
	interval_tree_remove(&vbo->pages, &vm->bos);
	mutex_unlock(&vm->alloc_lock);
	kfree(vbo);
}

/**
 * vgpu_vm_bo_move_notify() - a BO is about to move
 * @bo: BO, its reservation held
 * @new: where to; NULL: it goes away
 *
 * For mm/. The GPU does not reach the old memory on return.
 */
void vgpu_vm_bo_move_notify(struct vgpu_bo *bo, struct ttm_resource *new)
{
	struct vgpu_vm_bo *vbo;

	list_for_each_entry(vbo, &bo->vm_mappings, bo_link) {
		if (vbo->moved)
			continue;
		vbo_clear(vbo);
		vbo->moved = true;
	}
}

/**
 * vgpu_vm_va_busy() - is a BO mapped somewhere in these pages?
 * @vm: address space
 * @first: first page
 * @last: last page
 * @bo_first: first page of one that is
 * @bo_last: its last page
 *
 * Takes alloc_lock.
 *
 * Return: true, with one such BO, or false.
 */
bool vgpu_vm_va_busy(struct vgpu_vm *vm, u64 first, u64 last, u64 *bo_first,
		     u64 *bo_last)
{
	struct interval_tree_node *node;

	mutex_lock(&vm->alloc_lock);
	node = interval_tree_iter_first(&vm->bos, first, last);
	if (node) {
		*bo_first = node->start;
		*bo_last = node->last;
	}
	mutex_unlock(&vm->alloc_lock);
	return node;
}
