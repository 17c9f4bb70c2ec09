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
    VGPU_DISPATCH_STALL,        /* an access stalled: see mem->stall */
    VGPU_DISPATCH_UNSUPPORTED,  /* refused: the queue stops with an error */
} VGPUDispatchStep;

/**
 * vgpu_shader_dispatch: execute a dispatch, or a part of it
 * @d: dispatch
 *
 * Not implemented: the function refuses each dispatch. An implementation runs
 * the waves for a bounded number of instructions in each call. After
 * VGPU_DISPATCH_AGAIN the caller calls again in the next time slice. After
 * VGPU_DISPATCH_STALL the caller calls again when the wait has ended.
 *
 * Context: the queue's thread, no lock held.
 * Return: VGPU_DISPATCH_UNSUPPORTED.
 */
VGPUDispatchStep vgpu_shader_dispatch(const VGPUDispatch *d);

#endif /* HW_MISC_VGPU_KFD_SHADER_SHADER_H */
