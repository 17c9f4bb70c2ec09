/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: reset of the chip. The chip is reset when the machine or the bus is
 * reset, at a function-level reset, and when the driver requests a reset
 * through the PSP's mailbox (psp/psp.c). SDMA_F32_CNTL.RESET, which resets one
 * SDMA engine, is in sdma/regs.c.
 */
#include "qemu/osdep.h"
#include "vgpu/device_info.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"
#include "hw/misc/vgpu-kfd/memory/vram.h"
#include "hw/misc/vgpu-kfd/pci/internal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

/*
 * Hold the workers of the CP and of all SDMA engines during the whole reset.
 * Otherwise the CP's thread could map an SDMA queue to an engine that is
 * already reset.
 *
 * Hold the CP's worker first. vgpu_cp_hold() waits until the CP's thread has
 * ended its step, and that step may need the lock of an SDMA engine. If
 * vgpu_sdma_hold() had taken the engines' locks before, both threads would wait
 * for ever.
 */
static void hold_workers(VGPUState *s)
{
    vgpu_cp_hold(s);
    vgpu_sdma_hold(s);
}

static void release_workers(VGPUState *s)
{
    vgpu_sdma_release(s);
    vgpu_cp_release(s);
}

void vgpu_chip_reset(VGPUState *s)
{
    unsigned i;

    trace_vgpu_chip_reset(s->id);
    hold_workers(s);
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        vgpu_sdma_engine_reset(s, i);
    }
    vgpu_cp_reset(s);
    vgpu_reg_reset(s);
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        vgpu_hub_reset(s);
        vgpu_ih_reset(s);
        vgpu_fault_inject_reset(s);
        vgpu_invalidate_inject_reset(s);
    }
    s->pci->counter_latched = 0;
    for (i = 0; i < VGPU_NUM_COUNTERS; i++) {
        stat64_set(&s->counters[i], 0);
    }
    if (s->vram_lost_on_reset) {
        vgpu_vram_lose(s);
    }
    vgpu_vram_inject_reset(s);
    release_workers(s);
}
