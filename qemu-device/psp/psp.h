/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the PSP, of which a driver requests resets of the chip. */
#ifndef HW_MISC_VGPU_KFD_PSP_PSP_H
#define HW_MISC_VGPU_KFD_PSP_PSP_H

#include "hw/misc/vgpu-kfd/core/regs.h"

extern const VGPUBlock vgpu_psp_block;

#endif /* HW_MISC_VGPU_KFD_PSP_PSP_H */
