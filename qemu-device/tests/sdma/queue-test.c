/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests rings, doorbells, indirect buffers and life cycle of SDMA
 * queues.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/sdma/suite.h"

#define VMID    2

/*
 * The pointers start just below 4 GiB; the ring wraps many times. Catches: a
 * packet is cut at the end of the ring; a pointer is cut to 32 bits.
 */
static void test_wraparound(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), i;
    uint32_t junk[40];
    QVGPUSdma q;

    qvgpu_sdma_init(&q, v, 0, SDMA_QUEUE_RLC(0), NULL);
    q.doorbell = qvgpu_sdma_doorbell(0, 0, 0);
    q.wptr = 4 * GiB - 2 * KiB;
    qvgpu_sdma_load(&q);
    for (i = 0; i < 400; i++) {
        /*
         * The length of the NOP changes from round to round. Therefore the end
         * of the ring is sometimes within an ATOMIC packet, not always within a
         * NOP.
         */
        qvgpu_pkt_add64(&q, qvgpu_mc(v, at), 1);
        memset(junk, 0xff, sizeof(junk));
        QVGPU_EMIT(&q, VGPU_PREP(SDMA_NOP__COUNT, (uint32_t)(i % 40)));
        qvgpu_sdma_emit(&q, junk, i % 40);
        if (i % 7 == 0) {
            qvgpu_sdma_finish(&q);
            g_assert_cmpuint(qtest_readq(v->qts, at), ==, i + 1);
            g_assert_cmphex(qtest_readq(v->qts, q.rptr), ==, q.wptr);
        }
    }
    g_assert_cmphex(q.wptr, >, 4 * GiB + 3 * q.bytes);
    qvgpu_stop(v);
}

/*
 * Catches: the write-back of RPTR is cut to 32 bits, is late, or is done while
 * write-back is disabled.
 */
static void test_rptr_writeback(void)
{
    QVGPU *v = qvgpu_start();
    QVGPUSdma q;

    qvgpu_sdma_init(&q, v, 1, SDMA_QUEUE_GFX, NULL);
    q.wptr = 0x123456789000ull;
    qvgpu_sdma_load(&q);
    QVGPU_EMIT(&q, 0, 0, 0);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qtest_readq(v->qts, q.rptr), ==, 0x12345678900cull);

    qvgpu_sdma_disable(&q);
    q.cntl &= ~SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE;
    qvgpu_sdma_load(&q);
    QVGPU_EMIT(&q, 0);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qtest_readq(v->qts, q.rptr), ==, 0x12345678900cull);
    qvgpu_stop(v);
}

/* Catches: the device does not support a ring size that a driver may use. */
static void test_ring_sizes(void)
{
    static const uint64_t sizes[] = { 256, 4 * KiB, 1 * MiB };
    QVGPU *v = qvgpu_start();
    unsigned i, n;

    for (i = 0; i < ARRAY_SIZE(sizes); i++) {
        uint64_t at = qvgpu_ram_page(v);
        QVGPUSdma q;

        qvgpu_sdma_init_ring(&q, v, 0, SDMA_QUEUE_RLC(i), NULL, i & 1,
                             sizes[i]);
        qvgpu_sdma_load(&q);
        for (n = 0; n < 50; n++) {
            qvgpu_pkt_add64(&q, qvgpu_mc(v, at), 1);
            qvgpu_sdma_finish(&q);
        }
        g_assert_cmpuint(qtest_readq(v->qts, at), ==, 50);
        /*
         * Fill the ring with NOPs to the last dword, or with 4 KiB of NOPs if
         * the ring is larger.
         */
        while (q.wptr - qvgpu_sdma_rptr(&q) < MIN(q.bytes, 4096)) {
            QVGPU_EMIT(&q, 0);
        }
        qvgpu_sdma_finish(&q);
    }
    qvgpu_stop(v);
}

/*
 * Catches: the doorbell of a user queue has no effect; a doorbell write of 32
 * bits changes the upper half of the write pointer.
 */
static void test_doorbell(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), va;
    QVGPUSpace space;
    QVGPUSdma q;

    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    va = qvgpu_space_place(&space, at, QVGPU_PAGE);
    qvgpu_sdma_init(&q, v, 0, SDMA_QUEUE_RLC(3), &space);
    q.doorbell = qvgpu_sdma_doorbell(5, 0, 3);
    q.wptr = 0x500000000ull;
    qvgpu_sdma_load(&q);
    qvgpu_pkt_fence(&q, va, 1);
    g_assert_cmphex(qvgpu_sdma_rd(&q, SDMA_DOORBELL) &
                    SDMA_DOORBELL__CAPTURED, ==, 0);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qtest_readl(v->qts, at), ==, 1);
    g_assert_cmphex(qvgpu_sdma_rd(&q, SDMA_DOORBELL) &
                    SDMA_DOORBELL__CAPTURED, !=, 0);
    g_assert_cmphex(qvgpu_sdma_rd(&q, SDMA_RB_WPTR_HI), ==, 5);

    /* A write of 32 bits sets the low half of the pointer. */
    qvgpu_pkt_fence(&q, va, 2);
    qtest_writel(v->qts, v->bar[VGPU_BAR_DOORBELL] + q.doorbell, q.wptr);
    qvgpu_wait_until(qtest_readl(v->qts, at) == 2);
    g_assert_cmphex(qvgpu_sdma_rd(&q, SDMA_RB_WPTR_HI), ==, 5);
    g_assert_cmphex(qtest_readq(v->qts,
                                v->bar[VGPU_BAR_DOORBELL] + q.doorbell), ==,
                    0);
    qvgpu_stop(v);
}

/*
 * Catches: a write to another doorbell changes the queue's write pointer; the
 * queue's own doorbell works while disabled or outside of the doorbell range.
 */
static void test_doorbell_strangers(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), bar = v->bar[VGPU_BAR_DOORBELL];
    uint32_t range = qvgpu_rd(v, BIF_SDMA0_DOORBELL_RANGE), off;
    QVGPUSdma q, kq;

    qvgpu_sdma_open(&kq, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_sdma_init(&q, v, 0, SDMA_QUEUE_RLC(0), NULL);
    q.doorbell = qvgpu_sdma_doorbell(3, 0, 2);
    qvgpu_sdma_load(&q);
    qvgpu_pkt_fence(&q, qvgpu_mc(v, at), 1);

    /*
     * Write to almost every dword of slice 3 (8 KiB), but not to the queue's
     * doorbell there. In each 4 KiB page outside of slice 3, write to one
     * dword.
     */
    for (off = 0; off < VGPU_DOORBELL_BAR_SIZE;
         off += off >> 13 == 3 ? 4 : 4096 + 4) {
        if (off != q.doorbell) {
            qtest_writel(v->qts, bar + off, q.wptr);
        }
    }
    g_assert_cmphex(qvgpu_sdma_rd(&q, SDMA_RB_WPTR), ==, 0);

    qvgpu_wr(v, RCC_DOORBELL_APER_EN, 0);
    qvgpu_sdma_kick(&q);
    qvgpu_wr(v, RCC_DOORBELL_APER_EN, 1);
    qvgpu_wr(v, BIF_SDMA0_DOORBELL_RANGE, range & ~BIF_DOORBELL_RANGE__SIZE);
    qvgpu_sdma_kick(&q);
    /*
     * Ring the doorbell while the engine's doorbell range ends before the
     * doorbell, and while the range starts after the doorbell.
     */
    qvgpu_wr(v, BIF_SDMA0_DOORBELL_RANGE,
             VGPU_SET(range, BIF_DOORBELL_RANGE__SIZE, 2u));
    qvgpu_sdma_kick(&q);
    qvgpu_wr(v, BIF_SDMA0_DOORBELL_RANGE, range + 16);
    qvgpu_sdma_kick(&q);
    qvgpu_wr(v, BIF_SDMA0_DOORBELL_RANGE, range);
    qvgpu_sdma_wr(&q, SDMA_DOORBELL, 0);
    qvgpu_sdma_kick(&q);
    qvgpu_sdma_wr(&q, SDMA_DOORBELL, SDMA_DOORBELL__ENABLE);
    g_assert_cmphex(qvgpu_sdma_rd(&q, SDMA_RB_WPTR), ==, 0);
    qvgpu_sdma_pass(&kq);
    g_assert_cmphex(qtest_readl(v->qts, at), ==, 0);

    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qtest_readl(v->qts, at), ==, 1);
    qvgpu_stop(v);
}

/* Catches: queues use each other's state when all 50 queues are busy. */
static void test_all_queues(void)
{
    enum { QUEUES = SDMA_NUM_ENGINES * SDMA_NUM_QUEUES, LEN = 8192 };
    QVGPU *v = qvgpu_start();
    QVGPUSpace space[4];
    QVGPUSdma q[QUEUES];
    uint64_t src[QUEUES], dst[QUEUES];
    unsigned i, n;

    for (i = 0; i < ARRAY_SIZE(space); i++) {
        qvgpu_space_init(&space[i], v, 3 + i, QVGPU_VRAM);
    }
    for (i = 0; i < QUEUES; i++) {
        unsigned engine = i / SDMA_NUM_QUEUES, index = i % SDMA_NUM_QUEUES;
        QVGPUSpace *s = index < SDMA_QUEUE_RLC(0) ? NULL : &space[i % 4];
        uint64_t src_va, dst_va;

        qvgpu_sdma_init(&q[i], v, engine, index, s);
        if (s) {
            q[i].doorbell = qvgpu_sdma_doorbell(1 + i % 4, engine,
                                                index - SDMA_QUEUE_RLC(0));
        }
        src[i] = qvgpu_alloc(v, i & 1, LEN, QVGPU_PAGE);
        dst[i] = qvgpu_alloc(v, i >> 1 & 1, LEN, QVGPU_PAGE);
        qvgpu_fill(v, src[i], i, 0, LEN);
        src_va = s ? qvgpu_space_place(s, src[i], LEN) : qvgpu_mc(v, src[i]);
        dst_va = s ? qvgpu_space_place(s, dst[i], LEN) : qvgpu_mc(v, dst[i]);
        qvgpu_sdma_load(&q[i]);
        for (n = 0; n < 8; n++) {
            qvgpu_pkt_copy(&q[i], src_va + n * 1024, dst_va + n * 1024, 1024);
        }
    }
    for (i = 0; i < QUEUES; i++) {
        qvgpu_sdma_kick(&q[i]);
    }
    for (i = 0; i < QUEUES; i++) {
        qvgpu_sdma_finish(&q[i]);
        qvgpu_expect(v, dst[i], i, 0, LEN);
    }
    qvgpu_stop(v);
}

/*
 * Catches: the doorbell range of an engine routes to another engine; the
 * doorbell of a kernel queue has no effect.
 */
static void test_kernel_doorbells(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), mc = qvgpu_mc(v, at);
    QVGPUSdma q[SDMA_NUM_ENGINES][2];
    unsigned n, i;

    for (n = 0; n < SDMA_NUM_ENGINES; n++) {
        for (i = 0; i < 2; i++) {
            qvgpu_sdma_init(&q[n][i], v, n, i ? SDMA_QUEUE_PAGE
                                              : SDMA_QUEUE_GFX, NULL);
            q[n][i].doorbell = 8 * (DOORBELL_SDMA(n) + i * DOORBELL_MIRROR);
            qvgpu_sdma_load(&q[n][i]);
            qvgpu_pkt_fence(&q[n][i], mc + 8 * n + 4 * i, 1 + 2 * n + i);
        }
    }
    for (n = 0; n < SDMA_NUM_ENGINES; n++) {
        for (i = 0; i < 2; i++) {
            g_assert_cmphex(qtest_readl(v->qts, at + 8 * n + 4 * i), ==, 0);
            qvgpu_sdma_finish(&q[n][i]);
            g_assert_cmphex(qtest_readl(v->qts, at + 8 * n + 4 * i), ==,
                            1 + 2 * n + i);
        }
    }
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_DOORBELLS), ==,
                     2 * SDMA_NUM_ENGINES);
    qvgpu_stop(v);
}

/*
 * Catches: a packet whose last dwords are not in the ring yet is executed with
 * the old contents of the ring.
 */
static void test_packet_in_parts(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_ram_page(v), dst = qvgpu_ram_page(v), end;
    QVGPUSdma q, kq;

    qvgpu_sdma_open(&kq, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_PAGE, NULL);
    qvgpu_fill(v, src, 1, 0, QVGPU_PAGE);
    qvgpu_pkt_copy(&q, qvgpu_mc(v, src), qvgpu_mc(v, dst), QVGPU_PAGE);
    end = q.wptr;
    for (q.wptr = 4; q.wptr < end; q.wptr += 4) {
        qvgpu_sdma_kick(&q);
        qvgpu_sdma_pass(&kq);
        g_assert_cmphex(qvgpu_sdma_rptr(&q), ==, 0);
        g_assert_cmpuint(qvgpu_sdma_exception(&q), ==, 0);
        qvgpu_expect_byte(v, dst, 0, QVGPU_PAGE);
    }
    qvgpu_sdma_finish(&q);
    qvgpu_expect(v, dst, 1, 0, QVGPU_PAGE);
    qvgpu_stop(v);
}

/*
 * Catches: packets of an indirect buffer are lost, done twice or out of order.
 */
static void test_indirect(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), inner, outer, mc = qvgpu_mc(v, at);
    uint32_t inner_len, outer_len;
    QVGPUSdma q;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_pkt_add64(&q, mc, 0x100);
    qvgpu_pkt_poll_mem(&q, QVGPU_POLL_EQ, mc, 0x101, UINT32_MAX,
                       QVGPU_POLL_FOREVER);
    inner = qvgpu_sdma_to_buffer(&q, 0, &inner_len);
    /* Call the inner buffer from an outer buffer, between two other packets. */
    qvgpu_pkt_add64(&q, mc, 1);
    qvgpu_pkt_indirect(&q, 0, qvgpu_mc(v, inner), inner_len);
    qvgpu_pkt_add64(&q, mc, 0x10000);
    outer = qvgpu_sdma_to_buffer(&q, 0, &outer_len);

    qvgpu_pkt_indirect(&q, 0, qvgpu_mc(v, outer), outer_len);
    qvgpu_pkt_poll_mem(&q, QVGPU_POLL_EQ, mc, 0x10101, UINT32_MAX,
                       QVGPU_POLL_FOREVER);
    qvgpu_pkt_indirect(&q, 0, qvgpu_mc(v, outer), 0);   /* empty buffer */
    qvgpu_pkt_add64(&q, mc, 0x1000000);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qtest_readq(v->qts, at), ==, 0x1010101);
    qvgpu_stop(v);
}

/* Catches: FREEZE or HALT lets a packet run, or loses a packet. */
static void test_freeze(void)
{
    static const uint32_t stop[][3] = {
        { SDMA_FREEZE, SDMA_FREEZE__FREEZE, SDMA_FREEZE__FROZEN },
        { SDMA_F32_CNTL, SDMA_F32_CNTL__HALT, 0 },
    };
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v);
    uint32_t base = SDMA_ENGINE(0);
    QVGPUSdma q, other;
    unsigned i;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_sdma_open(&other, v, 1, SDMA_QUEUE_GFX, NULL);
    for (i = 0; i < ARRAY_SIZE(stop); i++) {
        qtest_writel(v->qts, at, 0);
        qvgpu_wr(v, base + stop[i][0], stop[i][1]);
        qvgpu_wait_until((qvgpu_rd(v, base + stop[i][0]) & stop[i][2]) ==
                         stop[i][2]);
        qvgpu_pkt_fence(&q, qvgpu_mc(v, at), 1);
        qvgpu_sdma_kick(&q);
        /* The other engine is not affected. */
        qvgpu_sdma_pass(&other);
        g_assert_cmphex(qtest_readl(v->qts, at), ==, 0);
        g_assert_false(qvgpu_sdma_idle(&q));
        qvgpu_wr(v, base + stop[i][0], 0);
        qvgpu_wait_until(!(qvgpu_rd(v, base + stop[i][0]) & stop[i][2]));
        qvgpu_sdma_finish(&q);
        g_assert_cmphex(qtest_readl(v->qts, at), ==, 1);
    }
    qvgpu_stop(v);
}

/* Catches: a disable waits for the end of a poll; an enable repeats packets. */
static void test_disable_in_poll(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), mc = qvgpu_mc(v, at);
    QVGPUSdma q, kq;

    qvgpu_sdma_open(&kq, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_PAGE, NULL);
    qvgpu_pkt_add64(&q, mc + 8, 1);
    qvgpu_pkt_poll_mem(&q, QVGPU_POLL_EQ, mc, 1, UINT32_MAX,
                       QVGPU_POLL_FOREVER);
    qvgpu_pkt_add64(&q, mc + 8, 0x100);
    qvgpu_sdma_kick(&q);
    qvgpu_wait_until(qtest_readq(v->qts, at + 8) == 1);
    qvgpu_sdma_disable(&q);

    /* The condition becomes true while the queue is disabled. */
    qtest_writel(v->qts, at, 1);
    qtest_clock_step(v->qts, 1000000);
    qvgpu_sdma_pass(&kq);
    g_assert_cmphex(qtest_readq(v->qts, at + 8), ==, 1);
    qvgpu_sdma_enable(&q);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qtest_readq(v->qts, at + 8), ==, 0x101);
    qvgpu_stop(v);
}

/*
 * Within a copy, the queue is disabled and enabled again. Catches: after that,
 * the remaining bytes are not copied, or completed bytes are copied again.
 */
static void test_disable_in_copy(void)
{
    const uint64_t len = 48 * MiB;
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_alloc(v, QVGPU_RAM, len, QVGPU_PAGE);
    uint64_t dst = qvgpu_alloc(v, QVGPU_VRAM, len, QVGPU_PAGE);
    unsigned n, offs = 0;
    QVGPUSdma q;

    qvgpu_fill(v, src, 1, 0, len);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_PAGE, NULL);
    qvgpu_pkt_copy(&q, qvgpu_mc(v, src), qvgpu_mc(v, dst), len);
    qvgpu_sdma_kick(&q);
    qvgpu_wait_until(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED) ||
                     qvgpu_sdma_idle(&q));
    for (n = 0; n < 20; n++) {
        qvgpu_sdma_disable(&q);
        offs += qvgpu_sdma_rptr(&q) != q.wptr;
        qvgpu_sdma_enable(&q);
    }
    qvgpu_sdma_finish(&q);
    g_test_message("taken off in mid-copy %u times", offs);
    qvgpu_expect(v, dst, 1, 0, len);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED), ==, len);
    qvgpu_stop(v);
}

/* Catches: the last packet of a destroyed queue runs in the next queue. */
static void test_reuse(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), mc = qvgpu_mc(v, at);
    QVGPUSdma q, next;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), NULL);
    qvgpu_pkt_poll_mem(&q, QVGPU_POLL_EQ, mc, 1, UINT32_MAX,
                       QVGPU_POLL_FOREVER);
    qvgpu_pkt_fence(&q, mc + 4, 1);
    qvgpu_sdma_kick(&q);
    qvgpu_sdma_disable(&q);

    qvgpu_sdma_open(&next, v, 0, SDMA_QUEUE_RLC(0), NULL);
    qtest_writel(v->qts, at, 1);
    qtest_clock_step(v->qts, 1000000);
    qvgpu_pkt_fence(&next, mc + 8, 2);
    qvgpu_sdma_finish(&next);
    g_assert_cmphex(qtest_readl(v->qts, at + 8), ==, 2);
    g_assert_cmphex(qtest_readl(v->qts, at + 4), ==, 0);

    /*
     * Destroy the queue as amdgpu does: disable the queue and wait until the
     * queue is idle, disable the doorbell, enable the queue, read RPTR.
     */
    qvgpu_sdma_disable(&next);
    qvgpu_sdma_wr(&next, SDMA_DOORBELL, 0);
    qvgpu_sdma_enable(&next);
    g_assert_cmphex(qvgpu_sdma_rptr(&next), ==, next.wptr);
    qvgpu_stop(v);
}

/*
 * Catches: a doorbell is lost while a worker spins or goes to sleep; a worker
 * spins after the machine has stopped, or when QEMU quits.
 */
static void test_poll_ns(void)
{
    /*
     * An idle worker spins for 0 s in the first run, for up to 4 s in the
     * second run.
     */
    static const char *const sizes[] = {
        "64M,poll-ns=0", "64M,poll-ns=4294967295",
    };
    unsigned i, n;

    for (i = 0; i < ARRAY_SIZE(sizes); i++) {
        QVGPU *v = qvgpu_start_sized(sizes[i], "");
        uint64_t at = qvgpu_ram_page(v);
        QVGPUSdma q;

        qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), NULL);
        for (n = 1; n <= 100; n++) {
            qvgpu_pkt_fence(&q, qvgpu_mc(v, at), n);
            qvgpu_sdma_finish(&q);
            g_assert_cmphex(qtest_readl(v->qts, at), ==, n);
        }
        qtest_qmp_assert_success(v->qts, "{ 'execute': 'stop' }");
        qtest_qmp_assert_success(v->qts, "{ 'execute': 'cont' }");
        qvgpu_pkt_fence(&q, qvgpu_mc(v, at), n);
        qvgpu_sdma_finish(&q);
        g_assert_cmphex(qtest_readl(v->qts, at), ==, n);
        qvgpu_stop(v);
    }
}

void qvgpu_add_queue_tests(void)
{
    qtest_add_func("/vgpu-kfd/queue/wraparound", test_wraparound);
    qtest_add_func("/vgpu-kfd/queue/rptr-writeback", test_rptr_writeback);
    qtest_add_func("/vgpu-kfd/queue/ring-sizes", test_ring_sizes);
    qtest_add_func("/vgpu-kfd/queue/doorbell", test_doorbell);
    qtest_add_func("/vgpu-kfd/queue/doorbell-strangers",
                   test_doorbell_strangers);
    qtest_add_func("/vgpu-kfd/queue/all-queues", test_all_queues);
    qtest_add_func("/vgpu-kfd/queue/kernel-doorbells", test_kernel_doorbells);
    qtest_add_func("/vgpu-kfd/queue/packet-in-parts", test_packet_in_parts);
    qtest_add_func("/vgpu-kfd/queue/indirect", test_indirect);
    qtest_add_func("/vgpu-kfd/queue/freeze", test_freeze);
    qtest_add_func("/vgpu-kfd/queue/disable-in-poll", test_disable_in_poll);
    qtest_add_func("/vgpu-kfd/queue/disable-in-copy", test_disable_in_copy);
    qtest_add_func("/vgpu-kfd/queue/reuse", test_reuse);
    qtest_add_func("/vgpu-kfd/queue/poll-ns", test_poll_ns);
}
