/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the shader unit, which executes the waves of a dispatch. */
#ifndef HW_MISC_VGPU_KFD_SHADER_SHADER_H
#define HW_MISC_VGPU_KFD_SHADER_SHADER_H

#include "hw/misc/vgpu-kfd/queue/dma.h"

/* A dispatch of a compute queue. Accessed by the queue's thread only. */
typedef struct VGPUDispatch {
    /*
     * Array of PM4_SH_COMPUTE_COUNT registers of the queue. The registers hold
     * the program, its resources and the user data.
     */
    const uint32_t *regs;
    const uint32_t *packet;     /* the dispatch packet, with its header */
    bool aql;                   /* @packet is an AQL packet, not PM4 */
    /* The waves access memory through this view. */
    VGPUView *mem;
} VGPUDispatch;

typedef enum VGPUDispatchStep {
    VGPU_DISPATCH_DONE,         /* all waves have ended */
    VGPU_DISPATCH_AGAIN,        /* waves still run: call in next time slice */
    /* An access stalled: call again when the wait in mem->stall has ended. */
    VGPU_DISPATCH_STALL,
    VGPU_DISPATCH_UNSUPPORTED,  /* refused: the queue stops with an error */
} VGPUDispatchStep;

/**
 * vgpu_shader_dispatch: execute a dispatch (not implemented)
 * @d: dispatch
 *
 * Refuses each dispatch. A future implementation must return after a bounded
 * number of instructions, with VGPU_DISPATCH_AGAIN if waves still run.
 *
 * Context: the queue's thread, no lock held.
 * Return: VGPU_DISPATCH_UNSUPPORTED.
 */
VGPUDispatchStep vgpu_shader_dispatch(const VGPUDispatch *d);

#endif /* HW_MISC_VGPU_KFD_SHADER_SHADER_H */
