/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: reset of the chip. Causes: a reset of the machine or the bus, a
 * function-level reset, a request to the PSP (psp/psp.c), and a failed load of
 * saved state. The reset of a single SDMA engine is in sdma/regs.c.
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
 * Hold all workers. Otherwise the CP could map a queue to an SDMA engine that
 * has already been reset. Hold the CP first: vgpu_cp_hold() waits for the CP's
 * current step, and this step may need locks that vgpu_sdma_hold() takes.
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
