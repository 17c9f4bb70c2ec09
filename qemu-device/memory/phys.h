/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: physical addresses in VRAM, on the bus, and in VRAM of other nodes.
 * Queues and the device's interrupt handler (ih/) use these functions for all
 * their memory accesses, in any thread.
 */
#ifndef HW_MISC_VGPU_KFD_MEMORY_PHYS_H
#define HW_MISC_VGPU_KFD_MEMORY_PHYS_H

#include "hw/misc/vgpu-kfd/memory/iommu.h"
#include "hw/misc/vgpu-kfd/memory/span.h"

/* Result of a mapping of a physical address. */
typedef enum VGPUPhys {
    VGPU_PHYS_NONE,             /* there is no memory at the address */
    VGPU_PHYS_OK,
    VGPU_PHYS_WAIT,             /* the caller must wait for the IOMMU's reply */
} VGPUPhys;

/**
 * vgpu_phys_map: map host memory
 * @s: device
 * @iotlb: IOTLB; may be NULL unless the kind is VGPU_TARGET_BUS
 * @span: The caller sets kind, addr, len and write. The kind is
 *        VGPU_TARGET_VRAM, _BUS, _PEER or _ZERO. vgpu_phys_map() sets host, and
 *        reduces len to what is contiguous.
 *
 * Context: any thread. On success with VGPU_TARGET_BUS, the RCU read lock is
 * held until vgpu_phys_unmap().
 * Return: VGPU_PHYS_*. If VGPU_PHYS_WAIT, @iotlb has the request.
 */
VGPUPhys vgpu_phys_map(VGPUState *s, VGPUIotlb *iotlb, VGPUSpan *span);

/**
 * vgpu_phys_unmap: unmap host memory and mark written bytes dirty
 * @s: device
 * @span: span, mapped or not
 * @used: bytes accessed, from the start of @span
 *
 * Context: the thread that called vgpu_phys_map().
 */
void vgpu_phys_unmap(VGPUState *s, VGPUSpan *span, uint64_t used);

/**
 * vgpu_phys_load64: read 8 bytes atomically, little endian
 * @s: device
 * @iotlb: as in vgpu_phys_map()
 * @kind: below VGPU_TARGET_RETRY
 * @addr: multiple of 8, else VGPU_PHYS_NONE
 * @val: set to the value
 *
 * Context: any thread.
 * Return: as vgpu_phys_map().
 */
VGPUPhys vgpu_phys_load64(VGPUState *s, VGPUIotlb *iotlb, VGPUTargetKind kind,
                          uint64_t addr, uint64_t *val);

#endif /* HW_MISC_VGPU_KFD_MEMORY_PHYS_H */
