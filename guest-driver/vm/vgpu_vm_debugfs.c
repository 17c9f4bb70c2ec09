// SPDX-License-Identifier: GPL-2.0
/* Prints an address space to a file in debugfs. */
#include <linux/dma-resv.h>
#include <drm/drm_print.h>

#include "mm/vgpu_bo.h"
#include "mm/vgpu_res_cursor.h"
#include "vgpu_vm_priv.h"

static const char *vm_place_name(u32 mem_type)
{
	switch (mem_type) {
	case TTM_PL_VRAM:
		return "vram";
	case TTM_PL_TT:
		return "gtt";
	case VGPU_PL_MMIO_REMAP:
		return "mmio-remap";
	case VGPU_PL_DOORBELL:
		return "doorbell";
	default:
		return "system";
	}
}

/* Returns the number of contiguous runs of a BO's VRAM. The caller holds the BO's reservation. */
static unsigned int vm_vram_runs(struct ttm_buffer_object *tbo)
{
	struct vgpu_res_cursor cur;
	unsigned int n = 0;
	u64 next = U64_MAX;

	if (!tbo->resource || tbo->resource->mem_type != TTM_PL_VRAM)
		return 0;
	vgpu_res_first(tbo->resource, 0, tbo->base.size, &cur);
	while (cur.remaining) {
		n += cur.start != next;
		next = cur.start + cur.size;
		vgpu_res_next(&cur, cur.size);
	}
	return n;
}

/* Print the BO of a mapping. A BO that another thread has reserved is printed as moving. */
static void vm_print_bo(struct vgpu_vm_bo *vbo, struct drm_printer *p)
{
	struct ttm_buffer_object *tbo = &vbo->bo->tbo;
	const char *place = "moving";
	unsigned int runs = 0;
	bool moved = false;

	/* Only trylock: the caller holds alloc_lock, which is taken after reservations. */
	if (dma_resv_trylock(tbo->base.resv)) {
		place = tbo->resource ? vm_place_name(tbo->resource->mem_type) :
					"nowhere";
		moved = vbo->moved;
		runs = vm_vram_runs(tbo);
		dma_resv_unlock(tbo->base.resv);
	}
	drm_printf(p, " bo=%p size=%zu offset=%llu in %s%s", vbo->bo,
		   tbo->base.size, vbo->offset, place,
		   moved ? " not written" : "");
	if (runs)
		drm_printf(p, ", %u run%s", runs, runs > 1 ? "s" : "");
}

/**
 * vgpu_vm_print() - print an address space
 * @vm: address space
 * @p: output
 *
 * Prints the PASID, the VMID (0 if none is assigned) and the size of the page tables in bytes.
 * Then prints each mapping: pages, flags, BO, and for a BO in VRAM the number of contiguous runs.
 *
 * Context: takes alloc_lock; takes reservations only by trylock.
 */
void vgpu_vm_print(struct vgpu_vm *vm, struct drm_printer *p)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct interval_tree_node *node;

	drm_printf(p, "pasid=%u vmid=%u tables=%llu\n", vs->pasid,
		   READ_ONCE(vm->vmid), vgpu_vm_table_bytes(vm));
	mutex_lock(&vs->alloc_lock);
	for (node = interval_tree_iter_first(&vs->bos, 0, ULONG_MAX); node;
	     node = interval_tree_iter_next(node, 0, ULONG_MAX)) {
		struct vgpu_vm_bo *vbo = container_of(node, struct vgpu_vm_bo,
						      pages);

		drm_printf(p, "  [%#lx %#lx] flags=%#llx", node->start,
			   node->last, vbo->pte_flags);
		if (vbo->bo)
			vm_print_bo(vbo, p);
		drm_puts(p, "\n");
	}
	mutex_unlock(&vs->alloc_lock);
}
