/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the shader unit: executes the waves of a dispatch. */
#ifndef HW_MISC_VGPU_KFD_SHADER_SHADER_H
#define HW_MISC_VGPU_KFD_SHADER_SHADER_H

#include "hw/misc/vgpu-kfd/queue/dma.h"

/* A dispatch. Belongs to the thread of the queue that has the packet. */
typedef struct VGPUDispatch {
    /* PM4_SH_COMPUTE_COUNT registers: program, resources, user data. */
    const uint32_t *regs;
    const uint32_t *packet;     /* the dispatch packet, from its header on */
    bool aql;                   /* @packet is an AQL packet, not PM4 */
    VGPUView *mem;              /* memory as the waves see it */
} VGPUDispatch;

typedef enum VGPUDispatchStep {
    VGPU_DISPATCH_DONE,         /* all waves have ended */
    VGPU_DISPATCH_AGAIN,        /* call again, after other queues */
    VGPU_DISPATCH_STALL,        /* an access stalled: see mem->stall */
    VGPU_DISPATCH_UNSUPPORTED,  /* the queue stops with an error */
} VGPUDispatchStep;

/*
 * The shader unit's place. A call is to run the waves of @d a bounded number of
 * instructions. The caller calls again after VGPU_DISPATCH_AGAIN, and after
 * VGPU_DISPATCH_STALL when the fault is resolved. There is no unit yet: every
 * dispatch is unsupported. The queue's thread, no lock held.
 */
VGPUDispatchStep vgpu_shader_dispatch(const VGPUDispatch *d);

#endif /* HW_MISC_VGPU_KFD_SHADER_SHADER_H */
