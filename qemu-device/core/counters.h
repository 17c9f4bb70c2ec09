/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: event counters of the device. include/vgpu/device_info.h numbers
 * the counters (VGPU_CNT_*).
 */
#ifndef HW_MISC_VGPU_KFD_CORE_COUNTERS_H
#define HW_MISC_VGPU_KFD_CORE_COUNTERS_H

#include "migration/vmstate.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"

/* Saves and loads a Stat64 as a 64-bit field. */
extern const VMStateInfo vgpu_vmstate_info_stat64;

/**
 * vgpu_count: add @n to a counter that the guest reads at VGPU_COUNTER()
 * @s: device
 * @counter: VGPU_CNT_*
 * @n: number in the unit of the counter: events, bytes, entries
 *
 * Context: any thread, no lock needed.
 */
static inline void vgpu_count(VGPUState *s, unsigned counter, uint64_t n)
{
    stat64_add(&s->counters[counter], n);
}

#endif /* HW_MISC_VGPU_KFD_CORE_COUNTERS_H */
