/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: registers of the graphics core (GC) that are not part of the CP:
 * the GPU clock of the RLC, and GB_ADDR_CONFIG.
 */
#include "qemu/osdep.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/core/clock.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"

/*
 * Value of GB_ADDR_CONFIG on a gfx90a: numbers of pipes and banks. User space
 * reads this register.
 */
#define GB_ADDR_CONFIG_GFX90A   0x2a114042

static uint32_t clock_read(VGPUState *s, unsigned inst, unsigned off)
{
    return off ? s->cp->clock_captured >> 32 : s->cp->clock_captured;
}

static uint32_t capture_read(VGPUState *s, unsigned inst, unsigned off)
{
    return 0;
}

static void capture_written(VGPUState *s, unsigned inst, unsigned off,
                            uint32_t old, uint32_t val)
{
    if (val & 1) {
        s->cp->clock_captured = vgpu_clock();
    }
}

static const VGPUReg clock_regs[] = {
    [0 ... 1] = VGPU_REG_READ(clock_read),
    [2] = {
        .exists = true,
        .read = capture_read,
        .written = capture_written,
    },
};

const VGPUBlock vgpu_clock_block = {
    .base = RLC_GPU_CLOCK_COUNT_LSB,
    .span = ARRAY_SIZE(clock_regs),
    .count = 1,
    .regs = clock_regs,
};

static uint32_t addr_config_read(VGPUState *s, unsigned inst, unsigned off)
{
    return GB_ADDR_CONFIG_GFX90A;
}

static const VGPUReg gc_regs[] = {
    VGPU_REG_READ(addr_config_read),
};

const VGPUBlock vgpu_gc_block = {
    .base = GB_ADDR_CONFIG,
    .span = ARRAY_SIZE(gc_regs),
    .count = 1,
    .regs = gc_regs,
};
