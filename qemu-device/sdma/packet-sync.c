/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: SDMA packets that signal, wait, or access a clock: fences, traps,
 * polls and timestamps.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/timer.h"
#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "vgpu/nbio.h"
#include "hw/misc/vgpu-kfd/core/clock.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/sdma/packet.h"

/*
 * A packet that polls has a field for the interval between polls. This interval
 * applies to the first POLL_EAGER polls. Later polls are at least 1 ms apart.
 */
#define POLL_EAGER          8

VGPUStep vgpu_sdma_fence(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint32_t data = cpu_to_le32(x->dw[3]);

    /* Order the writes of earlier packets before the fence. */
    smp_wmb();
    return vgpu_sdma_dma_step(
        vgpu_dma_write(&x->mem, vgpu_dw64(&x->dw[1]) & ~3ull, &data,
                       sizeof(data)));
}

VGPUStep vgpu_sdma_trap(VGPUSdmaEngine *e, VGPUQueue *q)
{
    if (qatomic_read(&e->regs[SDMA_CNTL]) & SDMA_CNTL__TRAP_ENABLE) {
        vgpu_sdma_interrupt(e, q, IH_SRC_SDMA_TRAP,
                            q->exec.dw[1] & SDMA_TRAP_DW1__CONTEXT, 0);
    }
    return VGPU_STEP_DONE;
}

/*
 * Return the value of a register, or 0 if engines cannot read the register.
 * Engines can read the hubs' registers and GPU_HDP_FLUSH_DONE.
 */
static uint32_t sdma_read_reg(VGPUState *s, uint32_t reg)
{
    uint32_t val = 0;

    vgpu_reg_engine_read(s, reg, &val);
    return val;
}

VGPUStep vgpu_sdma_poll_again(VGPUExec *x, unsigned clocks)
{
    return vgpu_exec_poll(x, POLL_EAGER, clocks * VGPU_CLOCK_NS);
}

VGPUStep vgpu_sdma_poll_regmem(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    unsigned func = VGPU_GET(x->dw[0], SDMA_POLL_REGMEM__FUNC);
    unsigned retry = VGPU_GET(x->dw[5], SDMA_POLL_REGMEM_DW5__RETRY);
    uint32_t val;

    if (func > SDMA_POLL_FUNC_MAX) {
        return VGPU_STEP_BAD_PACKET;
    }
    if (func == SDMA_POLL_FUNC_ALWAYS) {
        /*
         * The condition is always true, so nothing is read. ROCr uses such a
         * packet to flush HDP. A flush needs no work, because VRAM is coherent.
         */
        return VGPU_STEP_DONE;
    }
    if (!(x->dw[0] & SDMA_POLL_REGMEM__MEM)) {
        /*
         * A packet that requests an HDP flush writes the request register only
         * once, before its first poll.
         */
        if ((x->dw[0] & SDMA_POLL_REGMEM__HDP_FLUSH) && !x->polls &&
            x->dw[2] / 4 == GPU_HDP_FLUSH_REQ) {
            vgpu_reg_engine_write(e->s, GPU_HDP_FLUSH_REQ, x->dw[3]);
        }
        val = sdma_read_reg(e->s, x->dw[1] / 4);
    } else if (vgpu_dma_read(&x->mem, vgpu_dw64(&x->dw[1]) & ~3ull, &val,
                             sizeof(val)) == VGPU_DMA_STALL) {
        return VGPU_STEP_STALL;
    } else {
        val = le32_to_cpu(val);
    }
    if (vgpu_exec_compare(func, val & x->dw[4], x->dw[3])) {
        return VGPU_STEP_DONE;
    }
    if (retry != SDMA_POLL_RETRY_FOREVER && x->polls >= retry) {
        trace_vgpu_poll_timeout(e->s->id, e->index, x->mem.queue, x->mem.vmid,
                                vgpu_dw64(&x->dw[1]), val);
        vgpu_sdma_interrupt(e, q, IH_SRC_SDMA_POLL_TIMEOUT, x->dw[0], 0);
        return VGPU_STEP_DONE;
    }
    return vgpu_sdma_poll_again(x, VGPU_GET(x->dw[5],
                                            SDMA_POLL_REGMEM_DW5__INTERVAL));
}

VGPUStep vgpu_sdma_poll_reg_write_mem(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    uint32_t val = cpu_to_le32(sdma_read_reg(e->s, x->dw[1] / 4));

    return vgpu_sdma_dma_step(
        vgpu_dma_write(&x->mem, vgpu_dw64(&x->dw[2]) & ~3ull, &val,
                       sizeof(val)));
}

static VGPUStep sdma_write_timestamp(VGPUExec *x, uint64_t time)
{
    time = cpu_to_le64(time);
    return vgpu_sdma_dma_step(
        vgpu_dma_write(&x->mem, vgpu_dw64(&x->dw[1]) & ~7ull, &time,
                       sizeof(time)));
}

VGPUStep vgpu_sdma_timestamp_get_global(VGPUSdmaEngine *e, VGPUQueue *q)
{
    return sdma_write_timestamp(&q->exec, vgpu_clock());
}

/* The engine has a clock of its own, which any queue of the engine may set. */
VGPUStep vgpu_sdma_timestamp_get(VGPUSdmaEngine *e, VGPUQueue *q)
{
    return sdma_write_timestamp(&q->exec, vgpu_clock() + e->clock_offset);
}

VGPUStep vgpu_sdma_timestamp_set(VGPUSdmaEngine *e, VGPUQueue *q)
{
    e->clock_offset = vgpu_dw64(&q->exec.dw[1]) - vgpu_clock();
    return VGPU_STEP_DONE;
}
