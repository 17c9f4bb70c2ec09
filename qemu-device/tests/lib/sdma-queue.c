/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test-side driver of vgpu-kfd: sets up SDMA queues and emits packets. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

uint32_t qvgpu_sdma_rd(QVGPUSdma *q, uint32_t reg)
{
    return qvgpu_rd(q->v, SDMA_ENGINE(q->engine) + SDMA_QUEUE(q->index) + reg);
}

void qvgpu_sdma_wr(QVGPUSdma *q, uint32_t reg, uint32_t val)
{
    qvgpu_wr(q->v, SDMA_ENGINE(q->engine) + SDMA_QUEUE(q->index) + reg, val);
}

uint64_t qvgpu_sdma_rptr(QVGPUSdma *q)
{
    uint32_t hi, lo;

    do {
        hi = qvgpu_sdma_rd(q, SDMA_RB_RPTR_HI);
        lo = qvgpu_sdma_rd(q, SDMA_RB_RPTR);
    } while (hi != qvgpu_sdma_rd(q, SDMA_RB_RPTR_HI));
    return lo | (uint64_t)hi << 32;
}

bool qvgpu_sdma_idle(QVGPUSdma *q)
{
    return qvgpu_sdma_rd(q, SDMA_CONTEXT_STATUS) & SDMA_CONTEXT_STATUS__IDLE;
}

unsigned qvgpu_sdma_exception(QVGPUSdma *q)
{
    return VGPU_GET(qvgpu_sdma_rd(q, SDMA_CONTEXT_STATUS),
                    SDMA_CONTEXT_STATUS__EXCEPTION);
}

/*
 * Return a GPU address with which the queue can access the @len bytes at CPU
 * address @addr. If the queue has an address space, map the returned address.
 */
static uint64_t place(QVGPUSdma *q, uint64_t addr, uint64_t len)
{
    return q->space ? qvgpu_space_place(q->space, addr, len)
                    : qvgpu_mc(q->v, addr);
}

void qvgpu_sdma_init_ring(QVGPUSdma *q, QVGPU *v, unsigned engine,
                          unsigned index, QVGPUSpace *s, QVGPUKind kind,
                          uint64_t bytes)
{
    *q = (QVGPUSdma) {
        .v = v,
        .space = s,
        .engine = engine,
        .index = index,
        .bytes = bytes,
        .cntl = SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE |
                VGPU_PREP(SDMA_RB_CNTL__RB_SIZE, ctz64(bytes / 4)) |
                VGPU_PREP(SDMA_RB_CNTL__RB_VMID, s ? s->vmid : 0) |
                (s ? 0 : SDMA_RB_CNTL__RB_PRIV),
    };
    q->ring = qvgpu_alloc(v, kind, bytes, MAX(bytes, QVGPU_PAGE));
    q->ring_va = place(q, q->ring, bytes);
    q->rptr = qvgpu_alloc(v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    q->rptr_va = place(q, q->rptr, 8);
}

void qvgpu_sdma_init(QVGPUSdma *q, QVGPU *v, unsigned engine,
                     unsigned index, QVGPUSpace *s)
{
    qvgpu_sdma_init_ring(q, v, engine, index, s, QVGPU_RAM, 4 * KiB);
}

/*
 * The registers are written in the order that amdgpu uses without a hardware
 * scheduler.
 */
void qvgpu_sdma_load(QVGPUSdma *q)
{
    qvgpu_sdma_wr(q, SDMA_RB_CNTL, q->cntl);
    qvgpu_wait_until(qvgpu_sdma_idle(q));
    qvgpu_sdma_wr(q, SDMA_DOORBELL_OFFSET, q->doorbell);
    qvgpu_sdma_wr(q, SDMA_DOORBELL,
                  q->doorbell ? SDMA_DOORBELL__ENABLE : 0);
    qvgpu_sdma_wr(q, SDMA_RB_RPTR, q->wptr);
    qvgpu_sdma_wr(q, SDMA_RB_RPTR_HI, q->wptr >> 32);
    qvgpu_sdma_wr(q, SDMA_MINOR_PTR_UPDATE, 1);
    qvgpu_sdma_wr(q, SDMA_RB_WPTR, q->wptr);
    qvgpu_sdma_wr(q, SDMA_RB_WPTR_HI, q->wptr >> 32);
    qvgpu_sdma_wr(q, SDMA_MINOR_PTR_UPDATE, 0);
    qvgpu_sdma_wr(q, SDMA_RB_BASE, q->ring_va >> 8);
    qvgpu_sdma_wr(q, SDMA_RB_BASE_HI, q->ring_va >> 40);
    qvgpu_sdma_wr(q, SDMA_RB_RPTR_ADDR_LO, q->rptr_va);
    qvgpu_sdma_wr(q, SDMA_RB_RPTR_ADDR_HI, q->rptr_va >> 32);
    qvgpu_sdma_wr(q, SDMA_IB_CNTL, SDMA_IB_CNTL__IB_ENABLE);
    qvgpu_sdma_enable(q);
}

void qvgpu_sdma_open(QVGPUSdma *q, QVGPU *v, unsigned engine,
                     unsigned index, QVGPUSpace *s)
{
    qvgpu_sdma_init(q, v, engine, index, s);
    qvgpu_sdma_load(q);
}

void qvgpu_sdma_open_vram(QVGPUSdma *q, QVGPU *v, unsigned engine,
                          unsigned index, QVGPUSpace *s, uint64_t bytes)
{
    qvgpu_sdma_init_ring(q, v, engine, index, s, QVGPU_VRAM, bytes);
    q->cntl &= ~SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE;
    qvgpu_sdma_load(q);
}

void qvgpu_sdma_enable(QVGPUSdma *q)
{
    qvgpu_sdma_wr(q, SDMA_RB_CNTL, q->cntl | SDMA_RB_CNTL__RB_ENABLE);
}

void qvgpu_sdma_disable(QVGPUSdma *q)
{
    qvgpu_sdma_wr(q, SDMA_RB_CNTL, q->cntl);
    qvgpu_wait_until(qvgpu_sdma_idle(q));
}

void qvgpu_sdma_emit(QVGPUSdma *q, const uint32_t *dw, unsigned n)
{
    g_autofree uint32_t *le = g_new(uint32_t, n);
    unsigned i, done = 0;

    for (i = 0; i < n; i++) {
        le[i] = cpu_to_le32(dw[i]);
    }
    while (done < n) {
        uint64_t at = q->wptr & (q->bytes - 1);
        unsigned now = MIN(n - done, (q->bytes - at) / 4);

        qtest_bufwrite(q->v->qts, q->ring + at, le + done, now * 4);
        done += now;
        q->wptr += now * 4;
    }
}

void qvgpu_sdma_kick(QVGPUSdma *q)
{
    if (q->doorbell) {
        qtest_writeq(q->v->qts, q->v->bar[VGPU_BAR_DOORBELL] + q->doorbell,
                     q->wptr);
        return;
    }
    /*
     * Write the low half only. If the high half would change, fail: two writes
     * would be needed, and wptr would be wrong between them.
     */
    g_assert_cmphex(qvgpu_sdma_rd(q, SDMA_RB_WPTR_HI), ==, q->wptr >> 32);
    qvgpu_sdma_wr(q, SDMA_RB_WPTR, q->wptr);
}

void qvgpu_sdma_finish(QVGPUSdma *q)
{
    qvgpu_sdma_kick(q);
    qvgpu_wait_until(qvgpu_sdma_idle(q));
    g_assert_cmpuint(qvgpu_sdma_exception(q), ==, VGPU_SDMA_EXC_NONE);
    g_assert_cmphex(qvgpu_sdma_rptr(q), ==, q->wptr);
}

void qvgpu_sdma_pass(QVGPUSdma *q)
{
    unsigned i;

    for (i = 0; i < 2; i++) {
        QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_NOP, 0));
        qvgpu_sdma_finish(q);
    }
}

uint32_t qvgpu_sdma_doorbell(unsigned slice, unsigned n, unsigned i)
{
    return slice * DOORBELL_SLICE_SIZE +
           8 * (DOORBELL_SDMA(n) + (i & 1) * DOORBELL_MIRROR + (i >> 1));
}

uint64_t qvgpu_sdma_to_buffer(QVGPUSdma *q, uint64_t from, uint32_t *dwords)
{
    uint64_t ib = qvgpu_ram_page(q->v), len = q->wptr - from;
    uint64_t at = from & (q->bytes - 1);
    g_autofree uint8_t *buf = g_malloc(len);

    g_assert_cmpuint(at + len, <=, q->bytes);
    qtest_bufread(q->v->qts, q->ring + at, buf, len);
    qtest_bufwrite(q->v->qts, ib, buf, len);
    q->wptr = from;
    *dwords = len / 4;
    return ib;
}

void qvgpu_pkt_copy(QVGPUSdma *q, uint64_t src, uint64_t dst, uint64_t bytes)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR), bytes - 1, 0,
               QVGPU_LO(src), QVGPU_HI(src), QVGPU_LO(dst), QVGPU_HI(dst));
}

void qvgpu_pkt_fill(QVGPUSdma *q, uint64_t dst, uint32_t data,
                    uint64_t bytes, unsigned size)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_CONST_FILL, 0) |
               VGPU_PREP(SDMA_CONST_FILL__SIZE, size), QVGPU_LO(dst),
               QVGPU_HI(dst), data, bytes - 1);
}

void qvgpu_pkt_fence(QVGPUSdma *q, uint64_t dst, uint32_t data)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_FENCE, 0), QVGPU_LO(dst),
               QVGPU_HI(dst), data);
}

void qvgpu_pkt_trap(QVGPUSdma *q, uint32_t context)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_TRAP, 0), context);
}

void qvgpu_pkt_poll_mem(QVGPUSdma *q, unsigned func, uint64_t addr,
                        uint32_t value, uint32_t mask, unsigned retry)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_POLL_REGMEM, 0) |
               SDMA_POLL_REGMEM__MEM |
               VGPU_PREP(SDMA_POLL_REGMEM__FUNC, func), QVGPU_LO(addr),
               QVGPU_HI(addr), value, mask,
               VGPU_PREP(SDMA_POLL_REGMEM_DW5__RETRY, retry) |
               VGPU_PREP(SDMA_POLL_REGMEM_DW5__INTERVAL, 10));
}

void qvgpu_pkt_add64(QVGPUSdma *q, uint64_t addr, uint64_t add)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_ATOMIC, 0) |
               VGPU_PREP(SDMA_ATOMIC__OP, (uint32_t)SDMA_ATOMIC_ADD64),
               QVGPU_LO(addr), QVGPU_HI(addr), QVGPU_LO(add),
               QVGPU_HI(add), 0, 0, 0);
}

void qvgpu_pkt_indirect(QVGPUSdma *q, unsigned vmid, uint64_t base,
                        uint32_t dwords)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_INDIRECT, 0) |
               VGPU_PREP(SDMA_INDIRECT__VMID, vmid), QVGPU_LO(base),
               QVGPU_HI(base), dwords, 0, 0);
}
