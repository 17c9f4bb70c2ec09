/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests every operation of SDMA's ATOMIC packet. */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/sdma/suite.h"

static void pkt_atomic(QVGPUSdma *q, uint32_t op, uint32_t flags,
                       uint64_t addr, uint64_t src, uint64_t cmp)
{
    QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_ATOMIC, 0) | flags |
               VGPU_PREP(SDMA_ATOMIC__OP, op), QVGPU_LO(addr), QVGPU_HI(addr),
               QVGPU_LO(src), QVGPU_HI(src), QVGPU_LO(cmp), QVGPU_HI(cmp), 10);
}

static uint64_t preop(QVGPU *v)
{
    return qvgpu_rd(v, SDMA_ENGINE(0) + SDMA_ATOMIC_PREOP_LO) |
           (uint64_t)qvgpu_rd(v, SDMA_ENGINE(0) + SDMA_ATOMIC_PREOP_HI) << 32;
}

#define M1  UINT64_MAX
#define TOP (1ull << 63)

/*
 * Cases with 64-bit values. Each case also runs with 32 bits: SWAP and CMPSWAP
 * then use the lower halves of these values, other operations use the upper
 * halves.
 */
static const struct {
    uint32_t op;
    uint64_t old, src, cmp, want;
} truths[] = {
    { SDMA_ATOMIC_SWAP, 1, 2, 3, 2 },
    { SDMA_ATOMIC_CMPSWAP, 5, 6, 5, 6 },
    { SDMA_ATOMIC_CMPSWAP, 5, 6, 7, 5 },
    { SDMA_ATOMIC_ADD, M1 << 32, 1ull << 33, 0, 1ull << 32 },
    { SDMA_ATOMIC_SUB, 0, 1ull << 32, 0, M1 << 32 },
    { SDMA_ATOMIC_SMIN, TOP, 0, 0, TOP },
    { SDMA_ATOMIC_SMIN, 0, TOP, 0, TOP },
    { SDMA_ATOMIC_UMIN, TOP, 3ull << 32, 0, 3ull << 32 },
    { SDMA_ATOMIC_UMIN, 3ull << 32, TOP, 0, 3ull << 32 },
    { SDMA_ATOMIC_SMAX, TOP, 0, 0, 0 },
    { SDMA_ATOMIC_SMAX, 0, TOP, 0, 0 },
    { SDMA_ATOMIC_UMAX, TOP, 3ull << 32, 0, TOP },
    { SDMA_ATOMIC_UMAX, 3ull << 32, TOP, 0, TOP },
    { SDMA_ATOMIC_AND, 0xcull << 32, 0xaull << 32, 0, 0x8ull << 32 },
    { SDMA_ATOMIC_OR, 0xcull << 32, 0xaull << 32, 0, 0xeull << 32 },
    { SDMA_ATOMIC_XOR, 0xcull << 32, 0xaull << 32, 0, 0x6ull << 32 },
};

/* Cases of INC and DEC. The 64-bit and 32-bit runs use the same values. */
static const struct {
    uint32_t op;
    uint64_t old, src, want;
} steps[] = {
    { SDMA_ATOMIC_INC, 4, 9, 5 }, { SDMA_ATOMIC_INC, 9, 9, 0 },
    { SDMA_ATOMIC_INC, 10, 9, 0 }, { SDMA_ATOMIC_INC, 0, 0, 0 },
    { SDMA_ATOMIC_DEC, 4, 9, 3 }, { SDMA_ATOMIC_DEC, 0, 9, 9 },
    { SDMA_ATOMIC_DEC, 10, 9, 9 }, { SDMA_ATOMIC_DEC, 9, 9, 8 },
};

/*
 * Run one operation. Fail the test unless the operand becomes @want and the
 * memory around the operand is unchanged.
 */
static void check(QVGPUSdma *q, uint64_t at, uint32_t op, unsigned size,
                  uint64_t old, uint64_t src, uint64_t cmp, uint64_t want)
{
    QVGPU *v = q->v;
    uint64_t junk = 0x1122334455667788ull, before = preop(v);

    g_test_message("operation 0x%02x of %u bytes", op, size);
    qtest_memset(v->qts, at - 8, 0xee, 24);
    if (size == 8) {
        op |= SDMA_ATOMIC_OP_64;
        qtest_writeq(v->qts, at, old);
    } else {
        /* The upper 32 bits of the operands must have no effect. */
        src = deposit64(junk, 0, 32, src);
        cmp = deposit64(junk, 0, 32, cmp);
        qtest_writel(v->qts, at, old);
    }
    pkt_atomic(q, op, 0, qvgpu_mc(v, at), src, cmp);
    qvgpu_sdma_finish(q);
    g_assert_cmphex(size == 8 ? qtest_readq(v->qts, at)
                              : qtest_readl(v->qts, at), ==, want);
    qvgpu_expect_byte(v, at - 8, 0xee, 8);
    qvgpu_expect_byte(v, at + size, 0xee, 16 - size);
    g_assert_cmphex(preop(v), ==, op & SDMA_ATOMIC_OP_NO_RTN ? before : old);
}

/*
 * Catches: an operation code of ATOMIC runs another operation; an operation has
 * the wrong width or sign, adds without carry, or returns the new value.
 */
static void test_operations(void)
{
    QVGPU *v = qvgpu_start();
    unsigned kind, i, rtn;
    QVGPUSdma q;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    for (kind = QVGPU_VRAM; kind <= QVGPU_RAM; kind++) {
        uint64_t at = qvgpu_alloc(v, kind, QVGPU_PAGE, QVGPU_PAGE) + 64;

        for (rtn = 0; rtn < 2; rtn++) {
            uint32_t flag = rtn ? 0 : SDMA_ATOMIC_OP_NO_RTN;

            for (i = 0; i < ARRAY_SIZE(truths); i++) {
                unsigned half = truths[i].op == SDMA_ATOMIC_SWAP ||
                                truths[i].op == SDMA_ATOMIC_CMPSWAP ? 0 : 32;

                check(&q, at, truths[i].op | flag, 8, truths[i].old,
                      truths[i].src, truths[i].cmp, truths[i].want);
                check(&q, at, truths[i].op | flag, 4, truths[i].old >> half,
                      truths[i].src >> half, truths[i].cmp >> half,
                      truths[i].want >> half);
            }
            for (i = 0; i < ARRAY_SIZE(steps); i++) {
                check(&q, at, steps[i].op | flag, 8, steps[i].old,
                      steps[i].src, 0, steps[i].want);
                check(&q, at + 4, steps[i].op | flag, 4, steps[i].old,
                      steps[i].src, 0, steps[i].want);
            }
        }
    }
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_stop(v);
}

/*
 * Catches: an operation that returns no value raises an interrupt; the
 * interrupt of an operation that returns a value contains a wrong value.
 */
static void test_return_interrupt(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), mc = qvgpu_mc(v, at);
    QVGPUSdma q;
    QVGPUIrq irq;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_wr(v, SDMA_ENGINE(0) + SDMA_ATOMIC_CNTL,
             SDMA_ATOMIC_CNTL__ATOMIC_RTN_INT_ENABLE);
    qtest_writeq(v->qts, at, 0x123456789abcdef0);
    pkt_atomic(&q, SDMA_ATOMIC_ADD64 | SDMA_ATOMIC_OP_NO_RTN, 0, mc, 1, 0);
    pkt_atomic(&q, SDMA_ATOMIC_ADD64, 0, mc, 1, 0);
    qvgpu_sdma_finish(&q);
    qvgpu_ih_next(v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_SDMA0);
    g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_ATOMIC_RTN_DONE);
    g_assert_cmphex(irq.data[0], ==, 0x9abcdef1);
    g_assert_cmphex(irq.data[1], ==, 0x12345678);
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_stop(v);
}

/*
 * Catches: an ATOMIC packet in loop mode ends after one try, blocks other
 * queues of its engine, or never ends although the loop timer is set.
 */
static void test_loop(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), mc = qvgpu_mc(v, at);
    QVGPUSdma q, kq;
    QVGPUIrq irq;

    qvgpu_time_passes(v);
    qvgpu_sdma_open(&kq, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_PAGE, NULL);
    qtest_writel(v->qts, at, 7);
    pkt_atomic(&q, SDMA_ATOMIC_CMPSWAP, SDMA_ATOMIC__LOOP, mc, 9, 8);
    qvgpu_pkt_fence(&q, mc + 8, 1);
    qvgpu_sdma_kick(&q);
    qvgpu_sdma_pass(&kq);
    g_assert_false(qvgpu_sdma_idle(&q));
    g_assert_cmphex(qtest_readl(v->qts, at), ==, 7);
    qtest_writel(v->qts, at, 8);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qtest_readl(v->qts, at), ==, 9);
    g_assert_cmphex(qtest_readl(v->qts, at + 8), ==, 1);
    g_assert_cmphex(preop(v), ==, 8);

    qvgpu_wr(v, SDMA_ENGINE(0) + SDMA_ATOMIC_CNTL, 1000);
    pkt_atomic(&q, SDMA_ATOMIC_CMPSWAP, SDMA_ATOMIC__LOOP, mc, 1, 2);
    qvgpu_pkt_fence(&q, mc + 8, 2);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qtest_readl(v->qts, at), ==, 9);
    g_assert_cmphex(qtest_readl(v->qts, at + 8), ==, 2);
    qvgpu_ih_next(v, &irq);
    g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_ATOMIC_TIMEOUT);
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_stop(v);
}

void qvgpu_add_packet_atomic_tests(void)
{
    qtest_add_func("/vgpu-kfd/sdma-atomic/operations", test_operations);
    qtest_add_func("/vgpu-kfd/sdma-atomic/return-interrupt",
                   test_return_interrupt);
    qtest_add_func("/vgpu-kfd/sdma-atomic/loop", test_loop);
}
