/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: memory: begin, end and reset. */
#ifndef HW_MISC_VGPU_KFD_MEMORY_MEMORY_H
#define HW_MISC_VGPU_KFD_MEMORY_MEMORY_H

#include "block/aio.h"

typedef struct VGPUState VGPUState;

/* Parts of the saved state: each of VGPUMemory. */
extern const VMStateDescription vmstate_vgpu_xgmi;
extern const VMStateDescription vmstate_vgpu_athub;
extern const VMStateDescription vmstate_vgpu_hubs;
extern const VMStateDescription vmstate_vgpu_generations;

/* Allocate and free s->memory: instance_init, instance_finalize. */
void vgpu_memory_alloc(VGPUState *s);
void vgpu_memory_free(VGPUState *s);

/* Before the first access and after the last one. BQL held. */
void vgpu_phys_init(VGPUState *s);
void vgpu_phys_exit(VGPUState *s);
/*
 * Before vgpu_phys_init(). @serve: bottom half that serves all requests for
 * translations; its argument is @s. BQL held.
 */
void vgpu_iommu_init(VGPUState *s, QEMUBHFunc *serve);
/* After vgpu_phys_exit(). BQL held. */
void vgpu_iommu_exit(VGPUState *s);
/* Injections into invalidations. BQL held. */
void vgpu_invalidate_inject_init(VGPUState *s);
void vgpu_invalidate_inject_destroy(VGPUState *s);
/* Cancel delayed drops of translations. s->lock held. */
void vgpu_invalidate_inject_reset(VGPUState *s);
/* Cancel invalidations, drop every translation. Engines parked, s->lock. */
void vgpu_hub_reset(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_MEMORY_MEMORY_H */
