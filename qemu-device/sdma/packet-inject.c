/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: injections into SDMA packets: sdma-hang, sdma-slow and
 * sdma-wrong-byte. The injections of a packet are chosen once, when the packet
 * starts, and not again in each step.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "vgpu/bits.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/sdma/packet.h"

#define WAIT_MAX_NS     (3600 * NANOSECONDS_PER_SECOND)

static bool is_copy(const VGPUExec *x)
{
    return (x->dw[0] & SDMA_PKT__OP) == SDMA_OP_COPY;
}

static bool is_linear_copy(const VGPUExec *x)
{
    return (x->dw[0] & (SDMA_PKT__OP | SDMA_PKT__SUB_OP |
                        SDMA_COPY_LINEAR__BROADCAST)) ==
           SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR);
}

VGPUStep vgpu_sdma_inject_begin(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUState *s = e->s;
    VGPUExec *x = &q->exec;
    VGPUSdmaInjected *injected = vgpu_sdma_injected(e, q);
    uint64_t left;
    VGPUSite site = {
        .hub = e->client.hub, .vmid = vgpu_exec_vmid(x), .engine = e->index,
        .queue = x->mem.queue, .va = vgpu_exec_address(x, 0, &left),
    };
    VGPUInjectHit hit;

    if (vgpu_inject_fires(s, VGPU_INJECT_KIND_SDMA_HANG, &site, &hit)) {
        return VGPU_STEP_HANG;
    }
    if (!is_copy(x)) {
        return VGPU_STEP_DONE;
    }
    site.va = vgpu_dw64(&x->dw[(x->dw[0] & SDMA_PKT__SUB_OP) ==
                               SDMA_PKT(0, SDMA_SUBOP_COPY_LINEAR) ?
                               5 : SDMA_COPY_RECT_DST_DW]);
    if (vgpu_inject_fires(s, VGPU_INJECT_KIND_SDMA_SLOW, &site, &hit)) {
        injected->slow = hit.arg;
    }
    if (is_linear_copy(x) &&
        vgpu_inject_fires(s, VGPU_INJECT_KIND_SDMA_WRONG_BYTE, &site, &hit)) {
        uint64_t len = VGPU_GET(x->dw[1], SDMA_COPY_LINEAR_DW1__COUNT) + 1ull;

        injected->wrong_at = (hit.random >> 8) % len;
        injected->wrong_xor = hit.arg ?: hit.random % 255 + 1;
    }
    return VGPU_STEP_DONE;
}

VGPUStep vgpu_sdma_inject_wrong_byte(VGPUSdmaEngine *e, VGPUQueue *q,
                                     uint64_t before, VGPUStep step)
{
    VGPUExec *x = &q->exec;
    const VGPUSdmaInjected *injected = vgpu_sdma_injected(e, q);
    uint64_t src = vgpu_dw64(&x->dw[3]) + injected->wrong_at;
    uint64_t dst = vgpu_dw64(&x->dw[5]) + injected->wrong_at;
    uint64_t done;
    uint8_t byte;

    if (injected->wrong_at < before || injected->wrong_at >= x->done) {
        return step;
    }
    if (vgpu_dma_read(&x->mem, src, &byte, 1) == VGPU_DMA_STALL ||
        vgpu_dma_fill(&x->mem, dst, byte ^ injected->wrong_xor, 0, 1,
                      &done) == VGPU_DMA_STALL) {
        /* The translation was invalidated after the copy: repeat this step. */
        x->done = before;
        return VGPU_STEP_STALL;
    }
    return step;
}

VGPUStep vgpu_sdma_inject_slow(VGPUExec *x, uint64_t slow, uint64_t bytes)
{
    /*
     * The product does not overflow: @bytes were copied in one time slice, and
     * are fewer than 2^32.
     */
    uint64_t ns = bytes * NANOSECONDS_PER_SECOND / slow;

    return vgpu_exec_sleep(x, MIN(ns, WAIT_MAX_NS));
}
