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
    VGPU_PHYS_WAIT,             /* no IOMMU translation yet: see bus.c */
} VGPUPhys;

/*
 * Host memory for span->kind (no fault) and ->addr, at most ->len bytes.
 * Shortens ->len. @bus: the caller's; NULL if the kind is not VGPU_TARGET_BUS.
 * VGPU_PHYS_WAIT: nothing is mapped, @bus has the request.
 */
VGPUPhys vgpu_phys_map(VGPUState *s, VGPUBus *bus, VGPUSpan *span);
/*
 * The first @used bytes were read or written. By the thread that mapped; does
 * nothing if the span is not mapped.
 */
void vgpu_phys_unmap(VGPUState *s, VGPUSpan *span, uint64_t used);
/* A quadword at an aligned address. @bus: as above. */
VGPUPhys vgpu_phys_load64(VGPUState *s, VGPUBus *bus, VGPUTargetKind kind,
                          uint64_t addr, uint64_t *val);

#endif /* HW_MISC_VGPU_KFD_MEMORY_PHYS_H */
