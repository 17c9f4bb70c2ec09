/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: initialisation, destruction and reset of the state in memory/. */
#ifndef HW_MISC_VGPU_KFD_MEMORY_MEMORY_H
#define HW_MISC_VGPU_KFD_MEMORY_MEMORY_H

#include "block/aio.h"

typedef struct VGPUState VGPUState;

/*
 * Parts of the device's saved state. The opaque pointer points to VGPUMemory.
 */
extern const VMStateDescription vmstate_vgpu_xgmi;
extern const VMStateDescription vmstate_vgpu_athub;
extern const VMStateDescription vmstate_vgpu_hubs;
extern const VMStateDescription vmstate_vgpu_generations;

/**
 * vgpu_memory_alloc: allocate s->memory
 * @s: device
 *
 * Context: instance_init.
 */
void vgpu_memory_alloc(VGPUState *s);

/**
 * vgpu_memory_free: free s->memory
 * @s: device
 *
 * Context: instance_finalize.
 */
void vgpu_memory_free(VGPUState *s);

/**
 * vgpu_phys_init: initialise access to VRAM and to the bus
 * @s: device
 *
 * Context: BQL held, before the first access.
 */
void vgpu_phys_init(VGPUState *s);

/**
 * vgpu_phys_exit: end access to VRAM and to the bus
 * @s: device
 *
 * Context: BQL held, after the last access.
 */
void vgpu_phys_exit(VGPUState *s);

/**
 * vgpu_iommu_init: create the bottom half that serves requests to the IOMMU
 * @s: device, the argument of @serve
 * @serve: function of the bottom half
 *
 * Context: BQL held, before vgpu_phys_init().
 */
void vgpu_iommu_init(VGPUState *s, QEMUBHFunc *serve);

/**
 * vgpu_iommu_exit: delete the bottom half that serves requests to the IOMMU
 * @s: device
 *
 * Context: BQL held, after vgpu_phys_exit().
 */
void vgpu_iommu_exit(VGPUState *s);

/**
 * vgpu_invalidate_inject_init: create the timer of delayed invalidations
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_invalidate_inject_init(VGPUState *s);

/**
 * vgpu_invalidate_inject_destroy: free the timer of delayed invalidations
 * @s: device
 *
 * Context: BQL held.
 */
void vgpu_invalidate_inject_destroy(VGPUState *s);

/**
 * vgpu_invalidate_inject_reset: cancel delayed invalidations
 * @s: device
 *
 * Context: s->lock held.
 */
void vgpu_invalidate_inject_reset(VGPUState *s);

/**
 * vgpu_hub_reset: cancel invalidations, drop all translations, and set
 * MC_VM_FB_LOCATION_TOP
 * @s: device
 *
 * MC_VM_FB_LOCATION_TOP becomes the end of the hive's VRAM or, without a hive,
 * of the device's VRAM.
 *
 * Context: BQL and s->lock held. The caller has stopped all workers with
 * vgpu_worker_hold().
 */
void vgpu_hub_reset(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_MEMORY_MEMORY_H */
