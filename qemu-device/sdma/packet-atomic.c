/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the ATOMIC packet of SDMA: one operation on 32 or 64 bits.
 * Operations "with return" store the old value in a register of the engine.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "hw/misc/vgpu-kfd/core/clock.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/sdma/packet.h"

static uint64_t sdma_atomic_swap(uint64_t old, uint64_t src, uint64_t cmp,
                                 unsigned bits)
{
    return src;
}

static uint64_t sdma_atomic_cmpswap(uint64_t old, uint64_t src, uint64_t cmp,
                                    unsigned bits)
{
    return old == cmp ? src : old;
}

static uint64_t sdma_atomic_add(uint64_t old, uint64_t src, uint64_t cmp,
                                unsigned bits)
{
    return old + src;
}

static uint64_t sdma_atomic_sub(uint64_t old, uint64_t src, uint64_t cmp,
                                unsigned bits)
{
    return old - src;
}

static uint64_t sdma_atomic_smin(uint64_t old, uint64_t src, uint64_t cmp,
                                 unsigned bits)
{
    return sextract64(old, 0, bits) < sextract64(src, 0, bits) ? old : src;
}

static uint64_t sdma_atomic_umin(uint64_t old, uint64_t src, uint64_t cmp,
                                 unsigned bits)
{
    return MIN(old, src);
}

static uint64_t sdma_atomic_smax(uint64_t old, uint64_t src, uint64_t cmp,
                                 unsigned bits)
{
    return sextract64(old, 0, bits) > sextract64(src, 0, bits) ? old : src;
}

static uint64_t sdma_atomic_umax(uint64_t old, uint64_t src, uint64_t cmp,
                                 unsigned bits)
{
    return MAX(old, src);
}

static uint64_t sdma_atomic_and(uint64_t old, uint64_t src, uint64_t cmp,
                                unsigned bits)
{
    return old & src;
}

static uint64_t sdma_atomic_or(uint64_t old, uint64_t src, uint64_t cmp,
                               unsigned bits)
{
    return old | src;
}

static uint64_t sdma_atomic_xor(uint64_t old, uint64_t src, uint64_t cmp,
                                unsigned bits)
{
    return old ^ src;
}

static uint64_t sdma_atomic_inc(uint64_t old, uint64_t src, uint64_t cmp,
                                unsigned bits)
{
    return old >= src ? 0 : old + 1;
}

static uint64_t sdma_atomic_dec(uint64_t old, uint64_t src, uint64_t cmp,
                                unsigned bits)
{
    return !old || old > src ? src : old - 1;
}

static VGPUAtomicFn *const sdma_atomic_ops[SDMA_ATOMIC_OP_64] = {
    [SDMA_ATOMIC_SWAP] = sdma_atomic_swap,
    [SDMA_ATOMIC_CMPSWAP] = sdma_atomic_cmpswap,
    [SDMA_ATOMIC_ADD] = sdma_atomic_add,
    [SDMA_ATOMIC_SUB] = sdma_atomic_sub,
    [SDMA_ATOMIC_SMIN] = sdma_atomic_smin,
    [SDMA_ATOMIC_UMIN] = sdma_atomic_umin,
    [SDMA_ATOMIC_SMAX] = sdma_atomic_smax,
    [SDMA_ATOMIC_UMAX] = sdma_atomic_umax,
    [SDMA_ATOMIC_AND] = sdma_atomic_and,
    [SDMA_ATOMIC_OR] = sdma_atomic_or,
    [SDMA_ATOMIC_XOR] = sdma_atomic_xor,
    [SDMA_ATOMIC_INC] = sdma_atomic_inc,
    [SDMA_ATOMIC_DEC] = sdma_atomic_dec,
};

static void sdma_atomic_return(VGPUSdmaEngine *e, VGPUQueue *q, uint64_t old)
{
    qatomic_set(&e->regs[SDMA_ATOMIC_PREOP_LO], old);
    qatomic_set(&e->regs[SDMA_ATOMIC_PREOP_HI], old >> 32);
    if (qatomic_read(&e->regs[SDMA_ATOMIC_CNTL]) &
        SDMA_ATOMIC_CNTL__ATOMIC_RTN_INT_ENABLE) {
        vgpu_sdma_interrupt(e, q, IH_SRC_SDMA_ATOMIC_RTN_DONE, old, old >> 32);
    }
}

/*
 * Return true if a CMPSWAP loop that has not swapped yet has exceeded
 * LOOP_TIMER. The time starts at the first call for the packet.
 */
static bool sdma_atomic_loop_expired(VGPUSdmaEngine *e, VGPUExec *x)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint32_t limit = VGPU_GET(qatomic_read(&e->regs[SDMA_ATOMIC_CNTL]),
                              SDMA_ATOMIC_CNTL__LOOP_TIMER);

    if (!x->polls) {
        x->began = now;
    }
    return limit && now - x->began >= (int64_t)limit * VGPU_CLOCK_NS;
}

VGPUStep vgpu_sdma_atomic(VGPUSdmaEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    unsigned op = VGPU_GET(x->dw[0], SDMA_ATOMIC__OP);
    unsigned size = op & SDMA_ATOMIC_OP_64 ? 8 : 4;
    VGPUAtomicFn *fn = sdma_atomic_ops[op & (SDMA_ATOMIC_OP_64 - 1)];
    bool loop = x->dw[0] & SDMA_ATOMIC__LOOP;
    uint64_t va = vgpu_dw64(&x->dw[1]);
    uint64_t src = vgpu_dw64(&x->dw[3]), cmp = vgpu_dw64(&x->dw[5]), old;

    if (!fn || !QEMU_IS_ALIGNED(va, size) ||
        (loop && fn != sdma_atomic_cmpswap)) {
        return VGPU_STEP_BAD_PACKET;
    }
    src = extract64(src, 0, 8 * size);
    cmp = extract64(cmp, 0, 8 * size);
    if (vgpu_dma_atomic(&x->mem, va, size, fn, src, cmp, &old) ==
        VGPU_DMA_STALL) {
        return VGPU_STEP_STALL;
    }
    if (loop && old != cmp) {
        if (!sdma_atomic_loop_expired(e, x)) {
            return vgpu_sdma_poll_again(x,
                VGPU_GET(x->dw[7], SDMA_ATOMIC_DW7__INTERVAL));
        }
        trace_vgpu_atomic_timeout(e->s->id, e->index, x->mem.queue,
                                  x->mem.vmid, va, old);
        vgpu_sdma_interrupt(e, q, IH_SRC_SDMA_ATOMIC_TIMEOUT, x->dw[0], 0);
    }
    if (!(op & SDMA_ATOMIC_OP_NO_RTN)) {
        sdma_atomic_return(e, q, old);
    }
    return VGPU_STEP_DONE;
}
