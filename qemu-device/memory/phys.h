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
 * @iotlb: IOTLB of the caller; may be NULL unless the kind is VGPU_TARGET_BUS
 * @span: memory to map. The caller sets the members kind (to a value below
 *        VGPU_TARGET_RETRY), addr, len and write. On success, host is set, and
 *        len is reduced to the bytes that are contiguous in host memory
 *
 * Context: any thread. After success with kind VGPU_TARGET_BUS, the RCU read
 * lock is held until vgpu_phys_unmap().
 * Return: VGPU_PHYS_*. If it is VGPU_PHYS_WAIT, @iotlb contains the request to
 * the IOMMU to translate the address.
 */
VGPUPhys vgpu_phys_map(VGPUState *s, VGPUIotlb *iotlb, VGPUSpan *span);

/**
 * vgpu_phys_unmap: unmap host memory and mark written bytes dirty
 * @s: device
 * @span: span; the function does nothing if the span is not mapped
 * @used: number of bytes, from the start of @span, that were read or written
 *
 * Context: the thread that called vgpu_phys_map().
 */
void vgpu_phys_unmap(VGPUState *s, VGPUSpan *span, uint64_t used);

/**
 * vgpu_phys_load64: read 8 bytes atomically, little endian
 * @s: device
 * @iotlb: as for vgpu_phys_map()
 * @kind: kind of memory: VGPU_TARGET_VRAM, VGPU_TARGET_BUS, VGPU_TARGET_PEER or
 *        VGPU_TARGET_ZERO
 * @addr: address; if it is no multiple of 8, the result is VGPU_PHYS_NONE
 * @val: set to the value
 *
 * Context: any thread.
 * Return: as vgpu_phys_map().
 */
VGPUPhys vgpu_phys_load64(VGPUState *s, VGPUIotlb *iotlb, VGPUTargetKind kind,
                          uint64_t addr, uint64_t *val);

#endif /* HW_MISC_VGPU_KFD_MEMORY_PHYS_H */
