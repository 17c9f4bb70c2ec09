// SPDX-License-Identifier: GPL-2.0
/*
 * GART: the flat page table of VMID 0, in the reserved part of VRAM. One
 * entry a page; an entry that is not bound is invalid, so that a stray access
 * is a fault that is seen and not a write to somebody's memory.
 *
 * There is no lock: an entry belongs to whoever got its page number from the
 * GTT manager, or to this room.
 */
#include "vgpu_hw_priv.h"

#define GART_PTE_FLAGS \
	(VGPU_PTE_VALID | VGPU_PTE_SYSTEM | VGPU_PTE_SNOOPED | \
	 VGPU_PTE_EXECUTABLE | VGPU_PTE_READABLE | VGPU_PTE_WRITEABLE)

/**
 * vgpu_gart_init() - place the table
 * @vdev: device; vram_reserved is set, the table's memory is cleared
 */
void vgpu_gart_init(struct vgpu_device *vdev)
{
	struct vgpu_hw *hw = &vdev->hw;
	struct vgpu_gart *gart = &hw->gart;

	gart->start = VGPU_GART_START;
	gart->total = VGPU_GART_PAGES;
	gart->pages = gart->total;
	gart->table_vram = hw->vram_size - hw->vram_reserved;
	gart->table = hw->vram + gart->table_vram;
}

static bool gart_range_ok(const struct vgpu_gart *gart, u64 page, u64 npages)
{
	return page <= gart->total && npages <= gart->total - page;
}

/**
 * vgpu_gart_bind() - point entries at system memory
 * @vdev: device
 * @page: first entry
 * @npages: number of entries
 * @addrs: bus address for each, page aligned
 *
 * The engines see them after vgpu_gart_flush(). Any context.
 */
void vgpu_gart_bind(struct vgpu_device *vdev, u64 page, u64 npages,
		    const dma_addr_t *addrs)
{
	struct vgpu_gart *gart = &vdev->hw.gart;
	u64 i;

	if (WARN_ON_ONCE(!gart_range_ok(gart, page, npages)))
		return;

	for (i = 0; i < npages; i++)
		writeq((addrs[i] & VGPU_PTE_ADDR) | GART_PTE_FLAGS,
		       &gart->table[page + i]);
}

/**
 * vgpu_gart_unbind() - make entries invalid
 * @vdev: device
 * @page: first entry
 * @npages: number of entries
 *
 * The pages may be freed after vgpu_gart_flush(). Any context.
 */
void vgpu_gart_unbind(struct vgpu_device *vdev, u64 page, u64 npages)
{
	struct vgpu_gart *gart = &vdev->hw.gart;

	if (WARN_ON_ONCE(!gart_range_ok(gart, page, npages)))
		return;

	memset_io(&gart->table[page], 0, npages * sizeof(*gart->table));
}

/**
 * vgpu_gart_flush() - make changes of the table effective
 * @vdev: device
 *
 * Any context but interrupts. A device that does not answer is logged.
 */
void vgpu_gart_flush(struct vgpu_device *vdev)
{
	vgpu_hdp_flush(vdev);
	vgpu_gmc_flush_tlb(vdev, BIT(0));
}

/**
 * vgpu_gart_bind_reserved() - bind the room's own memory at the end of the GART
 * @vdev: device; mm/ has not been initialised
 * @addr: bus address, page aligned
 * @bytes: length, whole pages
 *
 * Takes the pages from what mm/ will be given. Returns the MC address.
 */
u64 vgpu_gart_bind_reserved(struct vgpu_device *vdev, dma_addr_t addr,
			    size_t bytes)
{
	struct vgpu_gart *gart = &vdev->hw.gart;
	u64 npages = bytes >> VGPU_PAGE_SHIFT;
	u64 i;

	gart->pages -= npages;
	for (i = 0; i < npages; i++) {
		dma_addr_t page = addr + (i << VGPU_PAGE_SHIFT);

		vgpu_gart_bind(vdev, gart->pages + i, 1, &page);
	}
	vgpu_gart_flush(vdev);
	return gart->start + (gart->pages << VGPU_PAGE_SHIFT);
}
