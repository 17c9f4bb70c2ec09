/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: physical addresses: VRAM, the bus, VRAM of other nodes. phys.c is
 * the only code that touches memory. Any thread.
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

/*
 * Host memory for span->kind (no fault) and ->addr, at most ->len bytes.
 * Shortens ->len. @iotlb: the caller's; NULL if the kind is not
 * VGPU_TARGET_BUS. VGPU_PHYS_WAIT: nothing is mapped, @iotlb has the request.
 */
VGPUPhys vgpu_phys_map(VGPUState *s, VGPUIotlb *iotlb, VGPUSpan *span);
/*
 * The first @used bytes were read or written. By the thread that mapped; does
 * nothing if the span is not mapped.
 */
void vgpu_phys_unmap(VGPUState *s, VGPUSpan *span, uint64_t used);
/* A quadword at an aligned address. @iotlb: as above. */
VGPUPhys vgpu_phys_load64(VGPUState *s, VGPUIotlb *iotlb, VGPUTargetKind kind,
                          uint64_t addr, uint64_t *val);

#endif /* HW_MISC_VGPU_KFD_MEMORY_PHYS_H */
