/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the shader unit: executes the waves of a dispatch. */
#ifndef HW_MISC_VGPU_KFD_SHADER_SHADER_H
#define HW_MISC_VGPU_KFD_SHADER_SHADER_H

#include "hw/misc/vgpu-kfd/queue/dma.h"

/* A dispatch. Accessed by the queue's thread only. */
typedef struct VGPUDispatch {
    /* PM4_SH_COMPUTE_COUNT registers: program, resources, user data. */
    const uint32_t *regs;
    const uint32_t *packet;     /* the dispatch packet, from its header on */
    bool aql;                   /* @packet is an AQL packet, not PM4 */
    VGPUView *mem;              /* the waves' view of memory */
} VGPUDispatch;

typedef enum VGPUDispatchStep {
    VGPU_DISPATCH_DONE,         /* all waves have ended */
    VGPU_DISPATCH_AGAIN,        /* call again in the next time slice */
    VGPU_DISPATCH_STALL,        /* an access stalled: see mem->stall */
    VGPU_DISPATCH_UNSUPPORTED,  /* the queue stops with an error */
} VGPUDispatchStep;

/**
 * vgpu_shader_dispatch: execute a dispatch, or a part of it
 * @d: dispatch
 *
 * A call is to run the waves for a bounded number of instructions. The caller
 * calls again after VGPU_DISPATCH_AGAIN, and after VGPU_DISPATCH_STALL when the
 * fault is resolved. Not implemented: each dispatch is unsupported.
 *
 * Context: the queue's thread, no lock held.
 * Return: how far the dispatch is.
 */
VGPUDispatchStep vgpu_shader_dispatch(const VGPUDispatch *d);

#endif /* HW_MISC_VGPU_KFD_SHADER_SHADER_H */
