/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the ATOMIC packet of SDMA: one operation of the texture cache on 32
 * or 64 bits. Those "with return" leave the old value in a register of the
 * engine.
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

static uint64_t do_swap(uint64_t old, uint64_t src, uint64_t cmp,
                        unsigned bits)
{
    return src;
}

static uint64_t do_cmpswap(uint64_t old, uint64_t src, uint64_t cmp,
                           unsigned bits)
{
    return old == cmp ? src : old;
}

static uint64_t do_add(uint64_t old, uint64_t src, uint64_t cmp, unsigned bits)
{
    return old + src;
}

static uint64_t do_sub(uint64_t old, uint64_t src, uint64_t cmp, unsigned bits)
{
    return old - src;
}

static uint64_t do_smin(uint64_t old, uint64_t src, uint64_t cmp,
                        unsigned bits)
{
    return sextract64(old, 0, bits) < sextract64(src, 0, bits) ? old : src;
}

static uint64_t do_umin(uint64_t old, uint64_t src, uint64_t cmp,
                        unsigned bits)
{
    return MIN(old, src);
}

static uint64_t do_smax(uint64_t old, uint64_t src, uint64_t cmp,
                        unsigned bits)
{
    return sextract64(old, 0, bits) > sextract64(src, 0, bits) ? old : src;
}

static uint64_t do_umax(uint64_t old, uint64_t src, uint64_t cmp,
                        unsigned bits)
{
    return MAX(old, src);
}

static uint64_t do_and(uint64_t old, uint64_t src, uint64_t cmp, unsigned bits)
{
    return old & src;
}

static uint64_t do_or(uint64_t old, uint64_t src, uint64_t cmp, unsigned bits)
{
    return old | src;
}

static uint64_t do_xor(uint64_t old, uint64_t src, uint64_t cmp, unsigned bits)
{
    return old ^ src;
}

static uint64_t do_inc(uint64_t old, uint64_t src, uint64_t cmp, unsigned bits)
{
    return old >= src ? 0 : old + 1;
}

static uint64_t do_dec(uint64_t old, uint64_t src, uint64_t cmp, unsigned bits)
{
    return !old || old > src ? src : old - 1;
}

static VGPUAtomicFn *const operations[SDMA_ATOMIC_OP_64] = {
    [SDMA_ATOMIC_SWAP] = do_swap,
    [SDMA_ATOMIC_CMPSWAP] = do_cmpswap,
    [SDMA_ATOMIC_ADD] = do_add,
    [SDMA_ATOMIC_SUB] = do_sub,
    [SDMA_ATOMIC_SMIN] = do_smin,
    [SDMA_ATOMIC_UMIN] = do_umin,
    [SDMA_ATOMIC_SMAX] = do_smax,
    [SDMA_ATOMIC_UMAX] = do_umax,
    [SDMA_ATOMIC_AND] = do_and,
    [SDMA_ATOMIC_OR] = do_or,
    [SDMA_ATOMIC_XOR] = do_xor,
    [SDMA_ATOMIC_INC] = do_inc,
    [SDMA_ATOMIC_DEC] = do_dec,
};

static void return_value(VGPUEngine *e, VGPUQueue *q, uint64_t old)
{
    qatomic_set(&e->regs[SDMA_ATOMIC_PREOP_LO], old);
    qatomic_set(&e->regs[SDMA_ATOMIC_PREOP_HI], old >> 32);
    if (qatomic_read(&e->regs[SDMA_ATOMIC_CNTL]) &
        SDMA_ATOMIC_CNTL__ATOMIC_RTN_INT_ENABLE) {
        vgpu_sdma_interrupt(e, q, IH_SRC_SDMA_ATOMIC_RTN_DONE, old, old >> 32);
    }
}

/* A loop that has not swapped yet: has its time passed? */
static bool loop_expired(VGPUEngine *e, VGPUExec *x)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint32_t limit = VGPU_GET(qatomic_read(&e->regs[SDMA_ATOMIC_CNTL]),
                              SDMA_ATOMIC_CNTL__LOOP_TIMER);

    if (!x->polls) {
        x->began = now;
    }
    return limit && now - x->began >= (int64_t)limit * VGPU_CLOCK_NS;
}

VGPUStep vgpu_sdma_atomic(VGPUEngine *e, VGPUQueue *q)
{
    VGPUExec *x = &q->exec;
    unsigned op = VGPU_GET(x->dw[0], SDMA_ATOMIC__OP);
    unsigned size = op & SDMA_ATOMIC_OP_64 ? 8 : 4;
    VGPUAtomicFn *fn = operations[op & (SDMA_ATOMIC_OP_64 - 1)];
    bool loop = x->dw[0] & SDMA_ATOMIC__LOOP;
    uint64_t va = vgpu_dw64(&x->dw[1]);
    uint64_t src = vgpu_dw64(&x->dw[3]), cmp = vgpu_dw64(&x->dw[5]), old;

    if (!fn || !QEMU_IS_ALIGNED(va, size) || (loop && fn != do_cmpswap)) {
        return VGPU_STEP_BAD_PACKET;
    }
    src = extract64(src, 0, 8 * size);
    cmp = extract64(cmp, 0, 8 * size);
    if (vgpu_dma_atomic(&x->mem, va, size, fn, src, cmp, &old) ==
        VGPU_DMA_STALL) {
        return VGPU_STEP_STALL;
    }
    if (loop && old != cmp) {
        if (!loop_expired(e, x)) {
            return vgpu_sdma_poll_again(x,
                VGPU_GET(x->dw[7], SDMA_ATOMIC_DW7__INTERVAL));
        }
        trace_vgpu_atomic_timeout(e->s->id, e->index, x->mem.queue,
                                  x->mem.vmid, va, old);
        vgpu_sdma_interrupt(e, q, IH_SRC_SDMA_ATOMIC_TIMEOUT, x->dw[0], 0);
    }
    if (!(op & SDMA_ATOMIC_OP_NO_RTN)) {
        return_value(e, q, old);
    }
    return VGPU_STEP_DONE;
}
