/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the PSP, of which a driver requests resets of the chip. */
#ifndef HW_MISC_VGPU_KFD_PSP_PSP_H
#define HW_MISC_VGPU_KFD_PSP_PSP_H

#include "hw/misc/vgpu-kfd/core/regs.h"

extern const VGPUBlock vgpu_psp_block;

/* Allocate and free s->psp: instance_init, instance_finalize. */
void vgpu_psp_alloc(VGPUState *s);
void vgpu_psp_free(VGPUState *s);
/* @reset: bring the chip to its reset state. BQL held, as for the call. */
void vgpu_psp_init(VGPUState *s, void (*reset)(VGPUState *s));

#endif /* HW_MISC_VGPU_KFD_PSP_PSP_H */
