/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DOC: resource cursor
 *
 * Walks a BO's memory by runs of consecutive addresses, under the reservation or a pin of the BO:
 *
 *	vgpu_res_first(res, offset, size, &cur);
 *	while (cur.remaining) {
 *		use(cur.start, cur.size);
 *		vgpu_res_next(&cur, cur.size);
 *	}
 */
#ifndef VGPU_RES_CURSOR_H
#define VGPU_RES_CURSOR_H

#include <drm/ttm/ttm_range_manager.h>

#include "vgpu_bo.h"
#include "vgpu_res_mgr.h"

/**
 * struct vgpu_res_cursor - position in a resource
 *
 * The GPU has no addresses for a resource in TTM_PL_SYSTEM, or in TTM_PL_TT without a range of the
 * GART. Below, such a resource is called "without addresses".
 */
struct vgpu_res_cursor {
	/**
	 * @start: start of the current run:
	 *
	 * * bus address, in a walk of DMA addresses (vgpu_res_first_dma())
	 * * offset in the resource, for a resource without addresses
	 * * otherwise offset in VRAM, in the GART, in the doorbell BAR or in the MMIO page
	 */
	u64 start;
	/** @size: bytes of the current run, at most @remaining */
	u64 size;
	/** @remaining: bytes from @start to the end of the walk; 0 if the walk has ended */
	u64 remaining;
	/**
	 * @node:
	 *
	 * * after vgpu_res_first_dma(): array element at which the next run begins
	 * * after vgpu_res_first(), in VRAM: struct gpu_buddy_block of the current run
	 * * after vgpu_res_first(), in the GART, the doorbell BAR or the MMIO page: struct
	 *   drm_mm_node of the current run
	 * * after vgpu_res_first(), if the GPU has no addresses for the resource: NULL
	 */
	const void *node;
	/**
	 * @mem_type: memory type of the resource. TTM_PL_SYSTEM in a walk of DMA addresses and for
	 * a resource without addresses
	 */
	u32 mem_type;
	/** @mm: allocator of the buddy blocks, if @mem_type is TTM_PL_VRAM */
	struct gpu_buddy *mm;
};

/* Returns the address of the memory of cur->node; *@bytes receives the memory's length. */
static inline u64 vgpu_res_node(const struct vgpu_res_cursor *cur, u64 *bytes)
{
	const struct drm_mm_node *node = cur->node;

	if (cur->mem_type == TTM_PL_VRAM) {
		struct gpu_buddy_block *block = (void *)cur->node;

		*bytes = gpu_buddy_block_size(cur->mm, block);
		return gpu_buddy_block_offset(block);
	}
	*bytes = node->size << PAGE_SHIFT;
	return node->start << PAGE_SHIFT;
}

static inline void vgpu_res_next_node(struct vgpu_res_cursor *cur)
{
	if (cur->mem_type == TTM_PL_VRAM)
		cur->node = list_next_entry((struct gpu_buddy_block *)cur->node,
					    link);
	else
		cur->node = (const struct drm_mm_node *)cur->node + 1;
}

/*
 * Set start and size of the run that begins @offset bytes after the start of cur->node. If this is
 * beyond the end of cur->node, advance cur->node.
 */
static inline void vgpu_res_set_run(struct vgpu_res_cursor *cur, u64 offset)
{
	u64 bytes, first = vgpu_res_node(cur, &bytes);

	while (offset >= bytes) {
		offset -= bytes;
		vgpu_res_next_node(cur);
		first = vgpu_res_node(cur, &bytes);
	}
	cur->start = first + offset;
	cur->size = min(bytes - offset, cur->remaining);
}

/*
 * Set start and size of the run that begins @offset bytes into the page at *cur->node. Advance
 * cur->node to the page after the run.
 */
static inline void vgpu_res_set_run_dma(struct vgpu_res_cursor *cur, u64 offset)
{
	const dma_addr_t *page = cur->node;
	u64 size = PAGE_SIZE - offset;

	cur->start = *page++ + offset;
	while (size < cur->remaining && *page == cur->start + size) {
		size += PAGE_SIZE;
		page++;
	}
	cur->node = page;
	cur->size = min(size, cur->remaining);
}

/**
 * vgpu_res_first() - start to walk a resource
 * @res: resource, or NULL
 * @start: first byte, relative to the resource
 * @size: bytes to walk. If the range exceeds @res, the function warns, and the walk is empty
 * @cur: cursor to set up
 *
 * If @res is NULL or without addresses (see struct vgpu_res_cursor), the walk has one run: @size
 * bytes from @start.
 */
static inline void vgpu_res_first(struct ttm_resource *res, u64 start, u64 size,
				  struct vgpu_res_cursor *cur)
{
	*cur = (struct vgpu_res_cursor) {
		.start = start,
		.size = size,
		.remaining = size,
		.mem_type = TTM_PL_SYSTEM,
	};

	if (!res || !size)
		return;
	if (WARN_ON_ONCE(start > res->size || size > res->size - start)) {
		cur->size = 0;
		cur->remaining = 0;
		return;
	}

	switch (res->mem_type) {
	case TTM_PL_VRAM: {
		struct vgpu_vram_resource *vres =
			container_of(res, struct vgpu_vram_resource, base);

		cur->mm = &container_of(ttm_manager_type(res->bo->bdev,
							 TTM_PL_VRAM),
					struct vgpu_vram_mgr, manager)->mm;
		cur->node = list_first_entry(&vres->blocks,
					     struct gpu_buddy_block, link);
		break;
	}
	case TTM_PL_TT:
		if (!vgpu_gtt_mgr_has_gart_addr(res))
			return;
		fallthrough;
	case VGPU_PL_DOORBELL:
	case VGPU_PL_MMIO_REMAP:
		cur->node = to_ttm_range_mgr_node(res)->mm_nodes;
		break;
	default:
		return;
	}
	cur->mem_type = res->mem_type;
	vgpu_res_set_run(cur, start);
}

/**
 * vgpu_res_first_dma() - start to walk pages by their DMA addresses
 * @pages: address of each page
 * @start: first byte, relative to @pages
 * @size: bytes to walk; @pages covers them
 * @cur: cursor to set up
 */
static inline void vgpu_res_first_dma(const dma_addr_t *pages, u64 start,
				      u64 size, struct vgpu_res_cursor *cur)
{
	*cur = (struct vgpu_res_cursor) {
		.remaining = size,
		.node = pages + (start >> PAGE_SHIFT),
		.mem_type = TTM_PL_SYSTEM,
	};
	if (size)
		vgpu_res_set_run_dma(cur, offset_in_page(start));
}

/**
 * vgpu_res_next() - advance a cursor
 * @cur: cursor
 * @size: bytes to advance by, at most @cur->remaining; may span runs
 */
static inline void vgpu_res_next(struct vgpu_res_cursor *cur, u64 size)
{
	if (WARN_ON_ONCE(size > cur->remaining))
		size = cur->remaining;

	while (size) {
		u64 step = min(size, cur->size);

		size -= step;
		cur->start += step;
		cur->size -= step;
		cur->remaining -= step;
		if (cur->size || !cur->remaining)
			continue;
		if (cur->mem_type == TTM_PL_SYSTEM) {
			vgpu_res_set_run_dma(cur, 0);
		} else {
			vgpu_res_next_node(cur);
			vgpu_res_set_run(cur, 0);
		}
	}
}

/**
 * vgpu_res_cleared() - whether the current run is known to be zero
 * @cur: cursor
 *
 * The result is valid until the resource is first written, because the allocator records the
 * state of a block only at its allocation.
 *
 * Return: true if the run is in VRAM and was clear; false for other memory.
 */
static inline bool vgpu_res_cleared(const struct vgpu_res_cursor *cur)
{
	return cur->mem_type == TTM_PL_VRAM &&
	       gpu_buddy_block_is_clear((void *)cur->node);
}

#endif /* VGPU_RES_CURSOR_H */
