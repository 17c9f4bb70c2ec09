/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: routing of doorbell writes (BAR 2) to the blocks. */
#include "qemu/osdep.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/pci/internal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

#define OFF(reg)    ((reg) - NBIO_BASE)

/*
 * Return true if the doorbell at @addr is in @range, the value of a doorbell
 * range register. Only the low 12 bits of @addr are compared.
 */
static bool doorbell_in_range(uint32_t range, hwaddr addr)
{
    uint32_t low = addr & 0xfff;
    uint32_t off = range & BIF_DOORBELL_RANGE__OFFSET;
    uint32_t bytes = 4 * VGPU_GET(range, BIF_DOORBELL_RANGE__SIZE);

    return low >= off && low - off < bytes;
}

static uint64_t doorbell_read(void *opaque, hwaddr addr, unsigned size)
{
    VGPUState *s = opaque;

    return s->removed ? UINT64_MAX : 0;
}

/* Route a doorbell to its block. Return false if no block has the doorbell. */
static bool doorbell_route(VGPUState *s, hwaddr addr, uint64_t val,
                           unsigned size)
{
    unsigned i;

    vgpu_count(s, VGPU_CNT_DOORBELLS, 1);
    if (doorbell_in_range(s->pci->nbio[OFF(BIF_IH_DOORBELL_RANGE)], addr)) {
        VGPUSite site = {
            .vmid = VGPU_SITE_NONE, .engine = VGPU_SITE_NONE,
            .queue = VGPU_SITE_NONE, .va = addr,
        };

        if (!vgpu_inject_doorbell_lost(s, site)) {
            vgpu_ih_doorbell(s, addr / 4, val);
        }
        return true;
    }
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        if (doorbell_in_range(s->pci->nbio[OFF(BIF_SDMA_DOORBELL_RANGE(i))],
                              addr) &&
            vgpu_sdma_doorbell(s, i, addr, val, size)) {
            return true;
        }
    }
    return vgpu_cp_doorbell(s, addr, val, size);
}

static void doorbell_write(void *opaque, hwaddr addr, uint64_t val,
                           unsigned size)
{
    VGPUState *s = opaque;

    if (s->removed || !s->pci->nbio[OFF(RCC_DOORBELL_APER_EN)]) {
        trace_vgpu_doorbell_lost(s->id, addr, val);
        return;
    }
    vgpu_ih_write_begin(s);
    if (!doorbell_route(s, addr, val, size)) {
        trace_vgpu_doorbell_lost(s->id, addr, val);
    }
    vgpu_ih_write_end(s);
}

const MemoryRegionOps vgpu_doorbell_ops = {
    .read = doorbell_read,
    .write = doorbell_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 8 },
};
