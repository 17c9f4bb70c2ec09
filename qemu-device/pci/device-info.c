/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: the registers that no real chip has: identity, hive, counters. */
#include "qemu/osdep.h"
#include "vgpu/device_info.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/memory/xgmi.h"
#include "hw/misc/vgpu-kfd/pci/internal.h"

#define DEVICE_INFO_SPAN        (VGPU_COUNTER(VGPU_NUM_COUNTERS) - VGPU_BASE)
#define OFF(reg)                ((reg) - VGPU_BASE)

static uint32_t identity_read(VGPUState *s, unsigned inst, unsigned off)
{
    switch (off + VGPU_BASE) {
    case VGPU_MAGIC:
        return VGPU_MAGIC_VALUE;
    case VGPU_VERSION:
        return VGPU_VERSION_VALUE;
    case VGPU_SDMA_COUNT:
        return SDMA_NUM_ENGINES;
    case VGPU_XGMI_LINKS:
        return vgpu_xgmi_read_links(s);
    case VGPU_XGMI_HIVE_LO:
        return vgpu_xgmi_hive_id(s);
    case VGPU_XGMI_HIVE_HI:
        return vgpu_xgmi_hive_id(s) >> 32;
    default:
        return vgpu_fault_serial(s);
    }
}

/* A read of the low half of a counter latches the high half. */
static uint32_t counter_read(VGPUState *s, unsigned inst, unsigned off)
{
    unsigned i = (off - OFF(VGPU_COUNTER(0))) / 2;
    uint64_t n;

    if ((off - OFF(VGPU_COUNTER(0))) % 2) {
        return s->pci->counter_latched;
    }
    if (i == VGPU_CNT_INVALIDATIONS) {
        vgpu_invalidate_complete(s);
    }
    n = stat64_get(&s->counters[i]);
    s->pci->counter_latched = n >> 32;
    return n;
}

static const VGPUReg device_info_regs[DEVICE_INFO_SPAN] = {
    [OFF(VGPU_MAGIC) ... OFF(VGPU_XGMI_HIVE_HI)] =
        VGPU_REG_READ(identity_read),
    [OFF(VGPU_COUNTER(0)) ... DEVICE_INFO_SPAN - 1] =
        VGPU_REG_READ(counter_read),
};

const VGPUBlock vgpu_device_info_block = {
    .base = VGPU_BASE,
    .span = DEVICE_INFO_SPAN,
    .count = 1,
    .regs = device_info_regs,
};
