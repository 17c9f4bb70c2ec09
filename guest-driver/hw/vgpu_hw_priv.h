/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of hw/ share. Nobody outside the room includes it. */
#ifndef VGPU_HW_PRIV_H
#define VGPU_HW_PRIV_H

#include <linux/ktime.h>

#include "../vgpu_device.h"
#include "vgpu/bits.h"

/* How long the device may take for a handshake (the GPU's own, not a copy). */
#define VGPU_HW_TIMEOUT_US	(2 * USEC_PER_SEC)

/*
 * The room's part of VRAM, at its end: GART table, then a page for accesses
 * outside the system aperture. A multiple of 2 MiB, so that the rest is one.
 */
#define VGPU_GART_START		0ull
#define VGPU_GART_SIZE		0x20000000ull
#define VGPU_GART_PAGES		(VGPU_GART_SIZE >> VGPU_PAGE_SHIFT)
#define VGPU_GART_TABLE_BYTES	(VGPU_GART_PAGES * sizeof(__le64))
#define VGPU_VRAM_RESERVED	0x200000ull
#define VGPU_VRAM_MIN		0x4000000ull

/* Byte offset in BAR 5 of the page with the HDP flush registers. */
#define VGPU_REMAP_PAGE		0x7e000u

/* The invalidation engine that belongs to the driver. */
#define VGPU_INV_ENGINE		17

bool vgpu_hw_poll(struct vgpu_device *vdev, u32 reg, u32 mask, u32 want);

/* vgpu_nbio.c */
int vgpu_nbio_init(struct vgpu_device *vdev);
void vgpu_nbio_fini(struct vgpu_device *vdev);

/* vgpu_gmc.c */
int vgpu_gmc_init(struct vgpu_device *vdev);
void vgpu_gmc_fini(struct vgpu_device *vdev);

/* vgpu_gart.c */
void vgpu_gart_init(struct vgpu_device *vdev);
u64 vgpu_gart_bind_reserved(struct vgpu_device *vdev, dma_addr_t addr,
			    size_t bytes);

/* vgpu_ih.c */
int vgpu_ih_init(struct vgpu_device *vdev);
void vgpu_ih_fini(struct vgpu_device *vdev);
void vgpu_ih_stop(struct vgpu_device *vdev);

/* vgpu_sdma.c */
int vgpu_sdma_init(struct vgpu_device *vdev);
void vgpu_sdma_fini(struct vgpu_device *vdev);
void vgpu_sdma_poll_fences(struct vgpu_device *vdev);

/* vgpu_sdma_queue.c */
void vgpu_sdma_stop_engine(struct vgpu_device *vdev, unsigned int engine);

#endif /* VGPU_HW_PRIV_H */
