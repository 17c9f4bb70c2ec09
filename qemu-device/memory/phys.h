/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: physical addresses: VRAM, the bus, VRAM of other nodes. All
 * accesses of queues and interrupts to memory are mapped here. Any thread.
 */
#ifndef HW_MISC_VGPU_KFD_MEMORY_PHYS_H
#define HW_MISC_VGPU_KFD_MEMORY_PHYS_H

#include "hw/misc/vgpu-kfd/memory/iommu.h"
#include "hw/misc/vgpu-kfd/memory/span.h"

/* Result of a mapping of a physical address. */
typedef enum VGPUPhys {
    VGPU_PHYS_NONE,             /* no memory */
    VGPU_PHYS_OK,
    VGPU_PHYS_WAIT,             /* no IOMMU translation yet: see iommu.c */
} VGPUPhys;

/**
 * vgpu_phys_map: map host memory
 * @s: device
 * @iotlb: IOTLB of the caller; may be NULL if the kind is not VGPU_TARGET_BUS
 * @span: in: kind (not a fault), addr, len and write; out: host, and len
 *        shortened to one piece of host memory
 *
 * Context: any thread. For VGPU_TARGET_BUS the RCU read lock is taken until
 * vgpu_phys_unmap().
 * Return: VGPU_PHYS_OK; VGPU_PHYS_NONE; VGPU_PHYS_WAIT: @iotlb has a request.
 */
VGPUPhys vgpu_phys_map(VGPUState *s, VGPUIotlb *iotlb, VGPUSpan *span);

/**
 * vgpu_phys_unmap: unmap host memory and mark written bytes dirty
 * @s: device
 * @span: span; nothing is done if it is not mapped
 * @used: number of bytes that were read or written, from the start
 *
 * Context: the thread that called vgpu_phys_map().
 */
void vgpu_phys_unmap(VGPUState *s, VGPUSpan *span, uint64_t used);

/**
 * vgpu_phys_load64: read 8 bytes atomically, little endian
 * @s: device
 * @iotlb: as for vgpu_phys_map()
 * @kind: kind of memory, not a fault
 * @addr: address; if it is not a multiple of 8, there is no memory
 * @val: set to the value
 *
 * Context: any thread.
 * Return: as vgpu_phys_map().
 */
VGPUPhys vgpu_phys_load64(VGPUState *s, VGPUIotlb *iotlb, VGPUTargetKind kind,
                          uint64_t addr, uint64_t *val);

#endif /* HW_MISC_VGPU_KFD_MEMORY_PHYS_H */
