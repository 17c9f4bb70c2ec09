/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the device's event counters, VGPU_CNT_* of vgpu/model.h. */
#ifndef HW_MISC_VGPU_KFD_CORE_COUNTERS_H
#define HW_MISC_VGPU_KFD_CORE_COUNTERS_H

#include "migration/vmstate.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"

extern const VMStateInfo vgpu_vmstate_info_stat64;

/* Add @n to counter VGPU_CNT_@counter. Any thread. */
static inline void vgpu_count(VGPUState *s, unsigned counter, uint64_t n)
{
    stat64_add(&s->counters[counter], n);
}

#endif /* HW_MISC_VGPU_KFD_CORE_COUNTERS_H */
