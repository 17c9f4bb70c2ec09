/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the clock of timestamps in registers, packets and interrupts. */
#ifndef HW_MISC_VGPU_KFD_CORE_CLOCK_H
#define HW_MISC_VGPU_KFD_CORE_CLOCK_H

#include "qemu/timer.h"
#include "vgpu/gmc.h"

/* ns per tick of the GPU clock; the division has no remainder. */
#define VGPU_CLOCK_NS   (NANOSECONDS_PER_SECOND / VGPU_CLOCK_HZ)

/**
 * vgpu_clock: read the GPU clock
 *
 * The clock follows QEMU_CLOCK_VIRTUAL, which stops with the machine.
 *
 * Context: any thread.
 * Return: time in ticks of 1 / VGPU_CLOCK_HZ s.
 */
static inline uint64_t vgpu_clock(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) / VGPU_CLOCK_NS;
}

#endif /* HW_MISC_VGPU_KFD_CORE_CLOCK_H */
