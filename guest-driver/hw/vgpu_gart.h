/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GART: the page table of VMID 0, and its transfer windows. Page numbers are counted from
 * the start of the GART. Functions are documented in vgpu_gart.c.
 */
#ifndef VGPU_HW_GART_H
#define VGPU_HW_GART_H

#include <linux/types.h>

#include "vgpu/pte.h"
#include "vgpu/sdma.h"

struct vgpu_device;

#define VGPU_GART_START		0ull		/* MC address of the GART's first page */
#define VGPU_GART_SIZE		0x20000000ull	/* bytes that the GART maps */
#define VGPU_GART_PAGES		(VGPU_GART_SIZE >> VGPU_PAGE_SHIFT)
#define VGPU_GART_TABLE_BYTES	(VGPU_GART_PAGES * sizeof(__le64))

/*
 * Transfer windows at the start of the GART. Jobs of SDMA engine n write the entries of window n,
 * to access memory without a GART address.
 */
#define VGPU_GTT_WINDOW_PAGES	4096u		/* pages of a window: 16 MiB */
/* One window for each SDMA engine that has a ring of the kernel. */
#define VGPU_GTT_NUM_WINDOWS	VGPU_NUM_SDMA

/* Dwords that vgpu_gart_emit_flush_tlb() writes. */
#define VGPU_GART_FLUSH_TLB_DWORDS	9u

u64 vgpu_gart_start(const struct vgpu_device *vdev);
u64 vgpu_gart_pages(const struct vgpu_device *vdev);
u64 vgpu_gart_size(const struct vgpu_device *vdev);
void vgpu_gart_bind(struct vgpu_device *vdev, u64 page, u64 npages,
		    const dma_addr_t *addrs);
void vgpu_gart_unbind(struct vgpu_device *vdev, u64 page, u64 npages);
void vgpu_gart_flush(struct vgpu_device *vdev);
int vgpu_gart_try_flush(struct vgpu_device *vdev);
u64 vgpu_gart_restore(struct vgpu_device *vdev);
unsigned int vgpu_gart_emit_bind(struct vgpu_device *vdev, u32 *dw,
				 unsigned int room, u64 page, u64 npages,
				 const dma_addr_t *addrs, u64 *bound);
unsigned int vgpu_gart_emit_flush_tlb(unsigned int engine, u32 *dw);

#endif /* VGPU_HW_GART_H */
