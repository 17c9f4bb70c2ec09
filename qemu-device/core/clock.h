/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the GPU's clock. */
#ifndef HW_MISC_VGPU_KFD_CORE_CLOCK_H
#define HW_MISC_VGPU_KFD_CORE_CLOCK_H

/* GPU clock in ticks of 1 / VGPU_CLOCK_HZ s. Any thread. */
uint64_t vgpu_clock(void);

#endif /* HW_MISC_VGPU_KFD_CORE_CLOCK_H */
