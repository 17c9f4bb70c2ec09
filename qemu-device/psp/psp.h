/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the PSP, through which a driver requests resets of the chip. */
#ifndef HW_MISC_VGPU_KFD_PSP_PSP_H
#define HW_MISC_VGPU_KFD_PSP_PSP_H

#include "hw/misc/vgpu-kfd/core/regs.h"

extern const VGPUBlock vgpu_psp_block;

/**
 * vgpu_psp_alloc: allocate the state of the PSP, for vgpu_psp_init()
 * @s: device
 *
 * Context: instance_init.
 */
void vgpu_psp_alloc(VGPUState *s);

/**
 * vgpu_psp_free: free s->psp
 * @s: device
 *
 * Context: instance_finalize.
 */
void vgpu_psp_free(VGPUState *s);

/**
 * vgpu_psp_init: initialise the PSP
 * @s: device
 * @reset: function that resets the chip; called with the BQL held
 *
 * Context: BQL held.
 */
void vgpu_psp_init(VGPUState *s, void (*reset)(VGPUState *s));

#endif /* HW_MISC_VGPU_KFD_PSP_PSP_H */
