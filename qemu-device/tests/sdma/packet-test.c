/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests the effect of each SDMA packet, on a kernel queue. */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/sdma/suite.h"

typedef struct Sdma {
    QVGPU *v;
    QVGPUSdma q;
} Sdma;

static void sdma_start(Sdma *s)
{
    s->v = qvgpu_start();
    qvgpu_sdma_open(&s->q, s->v, 0, SDMA_QUEUE_GFX, NULL);
}

static uint64_t ram(Sdma *s, uint64_t size)
{
    return qvgpu_alloc(s->v, QVGPU_RAM, size, QVGPU_PAGE);
}

/*
 * Catches: with some size, alignment or kind of memory, a copy has a byte too
 * many or too few, or changes memory around the destination.
 */
static void test_copy_sizes(void)
{
    static const uint32_t sizes[] = {
        1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 255, 4095, 4096, 4097, 8191, 65537,
    };
    const uint64_t span = 80 * KiB;
    Sdma s;
    unsigned i, dir, n = 0;

    sdma_start(&s);
    for (dir = 0; dir < 4; dir++) {
        uint64_t src = qvgpu_alloc(s.v, dir & 1, span, QVGPU_PAGE);
        uint64_t dst = qvgpu_alloc(s.v, dir >> 1, span, QVGPU_PAGE);

        qvgpu_fill(s.v, src, 1, 0, span);
        for (i = 0; i < ARRAY_SIZE(sizes); i++) {
            uint64_t from = (n * 7) % 67, to = 64 + (n * 13) % 71;

            qvgpu_fill(s.v, dst, 2, 0, span);
            qvgpu_pkt_copy(&s.q, qvgpu_mc(s.v, src + from),
                           qvgpu_mc(s.v, dst + to), sizes[i]);
            qvgpu_sdma_finish(&s.q);
            qvgpu_expect(s.v, dst, 2, 0, to);
            qvgpu_expect(s.v, dst + to, 1, from, sizes[i]);
            qvgpu_expect(s.v, dst + to + sizes[i], 2, to + sizes[i],
                         span - to - sizes[i]);
            n++;
        }
    }
    qvgpu_stop(s.v);
}

/*
 * Catches: a copy that the engine does in chunks loses or repeats a chunk, or
 * counts a wrong number of bytes.
 */
static void test_copy_large(void)
{
    const uint64_t len = 24 * MiB + 12345;
    Sdma s;
    uint64_t a, b;

    sdma_start(&s);
    a = qvgpu_alloc(s.v, QVGPU_VRAM, len, QVGPU_PAGE);
    b = ram(&s, len);
    qvgpu_fill(s.v, b, 3, 0, len);
    qvgpu_pkt_copy(&s.q, qvgpu_mc(s.v, b), qvgpu_mc(s.v, a), len);
    qvgpu_sdma_finish(&s.q);
    qvgpu_expect(s.v, a, 3, 0, len);
    g_assert_cmpuint(qvgpu_counter(s.v, VGPU_CNT_BYTES_COPIED), ==, len);
    qvgpu_stop(s.v);
}

/*
 * Source and destination are unbacked (PRT), so that 1 GiB needs no memory.
 * Catches: the byte count of 30 bits is cut or overflows.
 */
static void test_copy_largest(void)
{
    QVGPU *v = qvgpu_start();
    const uint64_t src = 1 * TiB, dst = 2 * TiB;
    QVGPUSpace space;
    QVGPUSdma q;

    qvgpu_space_init(&space, v, 1, QVGPU_VRAM);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    qvgpu_space_set(&space, src, VGPU_LEVEL_PDB2,
                    VGPU_PDE_PTE | VGPU_PTE_PRT);
    qvgpu_space_set(&space, dst, VGPU_LEVEL_PDB2,
                    VGPU_PDE_PTE | VGPU_PTE_PRT);
    qvgpu_pkt_copy(&q, src, dst, 1 * GiB);
    qvgpu_sdma_finish(&q);
    g_assert_cmphex(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED), ==, 1 * GiB);
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_stop(v);
}

/*
 * Catches: a byte fill writes dwords; the pattern starts with a wrong byte; a
 * fill writes outside of its range.
 */
static void test_const_fill(void)
{
    static const struct {
        uint32_t offset;
        uint32_t bytes;
    } bytes[] = { { 0, 1 }, { 3, 5 }, { 4095, 2 }, { 77, 9999 }, { 0, 64 } };
    static const uint32_t dwords[] = { 4, 8, 100, 4096, 20000 };
    Sdma s;
    uint64_t buf;
    unsigned i, n;

    sdma_start(&s);
    buf = ram(&s, 64 * KiB);
    for (i = 0; i < ARRAY_SIZE(bytes); i++) {
        uint32_t end = bytes[i].offset + bytes[i].bytes;

        qvgpu_fill(s.v, buf, 4, 0, 64 * KiB);
        qvgpu_pkt_fill(&s.q, qvgpu_mc(s.v, buf) + bytes[i].offset, 0x123456a5,
                       bytes[i].bytes, 0);
        qvgpu_sdma_finish(&s.q);
        qvgpu_expect(s.v, buf, 4, 0, bytes[i].offset);
        qvgpu_expect_byte(s.v, buf + bytes[i].offset, 0xa5, bytes[i].bytes);
        qvgpu_expect(s.v, buf + end, 4, end, 64 * KiB - end);
    }
    /*
     * Fill with 16-bit words: the device aligns the address down and the length
     * up.
     */
    qvgpu_fill(s.v, buf, 4, 0, 64 * KiB);
    qvgpu_pkt_fill(&s.q, qvgpu_mc(s.v, buf) + 4097, 0x1234beef, 4095, 1);
    qvgpu_sdma_finish(&s.q);
    qvgpu_expect(s.v, buf, 4, 0, 4096);
    for (n = 4096; n < 8192; n += 2) {
        g_assert_cmphex(qtest_readw(s.v->qts, buf + n), ==, 0xbeef);
    }
    qvgpu_expect(s.v, buf + 8192, 4, 8192, 64);
    for (i = 0; i < ARRAY_SIZE(dwords); i++) {
        qvgpu_fill(s.v, buf, 4, 0, 64 * KiB);
        qvgpu_pkt_fill(&s.q, qvgpu_mc(s.v, buf) + 8, 0xdeadbeef, dwords[i],
                       2);
        qvgpu_sdma_finish(&s.q);
        qvgpu_expect(s.v, buf, 4, 0, 8);
        for (n = 0; n < dwords[i]; n += MAX(4, dwords[i] / 20 & ~3u)) {
            g_assert_cmphex(qtest_readl(s.v->qts, buf + 8 + n), ==,
                            0xdeadbeef);
        }
        g_assert_cmphex(qtest_readl(s.v->qts, buf + 4 + dwords[i]), ==,
                        0xdeadbeef);
        qvgpu_expect(s.v, buf + 8 + dwords[i], 4, 8 + dwords[i],
                     64 * KiB - 8 - dwords[i]);
    }
    qvgpu_stop(s.v);
}

/*
 * Catches: a fill restarts its pattern at a page boundary, or at a boundary of
 * the chunks in which the engine fills.
 */
static void test_fill_large(void)
{
    const uint64_t len = 5 * MiB;
    Sdma s;
    uint64_t buf, off;

    sdma_start(&s);
    buf = qvgpu_alloc(s.v, QVGPU_VRAM, len, QVGPU_PAGE);
    qvgpu_pkt_fill(&s.q, qvgpu_mc(s.v, buf), 0x44332211, len, 2);
    qvgpu_sdma_finish(&s.q);
    for (off = 0; off < len; off += 4092) {
        g_assert_cmphex(qtest_readl(s.v->qts, buf + off), ==, 0x44332211);
    }
    g_assert_cmpuint(qvgpu_counter(s.v, VGPU_CNT_BYTES_FILLED), ==, len);
    qvgpu_stop(s.v);
}

/*
 * Catches: WRITE reads its data from a wrong place in the ring, in particular
 * if the end of the ring is within the packet.
 */
static void test_write_linear(void)
{
    static const unsigned counts[] = { 1, 2, 17, 500, 900 };
    Sdma s;
    uint64_t buf;
    unsigned i, n, round;

    sdma_start(&s);
    buf = ram(&s, 8 * KiB);
    for (round = 0; round < 3; round++) {
        for (i = 0; i < ARRAY_SIZE(counts); i++) {
            g_autofree uint32_t *data = g_new(uint32_t, counts[i]);
            uint64_t dst = buf + QVGPU_PAGE - 8;

            qvgpu_fill(s.v, buf, 5, 0, 8 * KiB);
            for (n = 0; n < counts[i]; n++) {
                data[n] = round << 24 | i << 16 | n;
            }
            QVGPU_EMIT(&s.q, SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR),
                       QVGPU_LO(qvgpu_mc(s.v, dst)),
                       QVGPU_HI(qvgpu_mc(s.v, dst)), counts[i] - 1);
            qvgpu_sdma_emit(&s.q, data, counts[i]);
            qvgpu_sdma_finish(&s.q);
            qvgpu_expect(s.v, buf, 5, 0, QVGPU_PAGE - 8);
            for (n = 0; n < counts[i]; n++) {
                g_assert_cmphex(qtest_readl(s.v->qts, dst + 4 * n), ==,
                                data[n]);
            }
            qvgpu_expect(s.v, dst + 4 * n, 5, QVGPU_PAGE - 8 + 4 * n, 64);
        }
    }
    qvgpu_stop(s.v);
}

/*
 * Catches: a fence is written before earlier packets are done; a fence writes
 * more than 32 bits.
 */
static void test_fence(void)
{
    Sdma s;
    uint64_t fence, buf;

    sdma_start(&s);
    fence = ram(&s, QVGPU_PAGE);
    buf = qvgpu_alloc(s.v, QVGPU_VRAM, 8 * MiB, QVGPU_PAGE);
    qtest_memset(s.v->qts, fence, 0xee, 16);
    qvgpu_pkt_fill(&s.q, qvgpu_mc(s.v, buf), 0x5b, 8 * MiB, 0);
    qvgpu_pkt_fence(&s.q, qvgpu_mc(s.v, fence) + 4, 0x12345678);
    qvgpu_sdma_kick(&s.q);
    qvgpu_wait_until(qtest_readl(s.v->qts, fence + 4) == 0x12345678);
    qvgpu_expect_byte(s.v, buf, 0x5b, 8 * MiB);
    qvgpu_expect_byte(s.v, fence, 0xee, 4);
    qvgpu_expect_byte(s.v, fence + 8, 0xee, 8);
    qvgpu_stop(s.v);
}

/*
 * Catches: the context of a trap has more than 28 bits; a trap is raised while
 * traps are disabled.
 */
static void test_trap(void)
{
    Sdma s;
    QVGPUIrq irq;

    sdma_start(&s);
    qvgpu_pkt_trap(&s.q, 0xfabcdef1);
    qvgpu_sdma_finish(&s.q);
    qvgpu_ih_next(s.v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_SDMA0);
    g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_TRAP);
    g_assert_cmpuint(irq.vmid, ==, 0);
    g_assert_cmphex(irq.data[0], ==, 0x0abcdef1);

    qvgpu_wr(s.v, SDMA_ENGINE(0) + SDMA_CNTL, 0);
    qvgpu_pkt_trap(&s.q, 2);
    qvgpu_sdma_finish(&s.q);
    qvgpu_wr(s.v, SDMA_ENGINE(0) + SDMA_CNTL, SDMA_CNTL__TRAP_ENABLE);
    qvgpu_pkt_trap(&s.q, 3);
    qvgpu_sdma_finish(&s.q);
    qvgpu_ih_next(s.v, &irq);
    g_assert_cmphex(irq.data[0], ==, 3);
    qvgpu_stop(s.v);
}

/* Catches: a timestamp differs from the register of the GPU clock. */
static void test_timestamp(void)
{
    Sdma s;
    uint64_t buf, now;

    sdma_start(&s);
    buf = ram(&s, QVGPU_PAGE);
    qtest_memset(s.v->qts, buf, 0xee, 32);
    qtest_clock_step(s.v->qts, 100ll * 1000000000);
    QVGPU_EMIT(&s.q, SDMA_PKT(SDMA_OP_TIMESTAMP,
                              SDMA_SUBOP_TIMESTAMP_GET_GLOBAL),
               QVGPU_LO(qvgpu_mc(s.v, buf + 8)),
               QVGPU_HI(qvgpu_mc(s.v, buf + 8)));
    qvgpu_sdma_finish(&s.q);
    now = qvgpu_clock(s.v);
    g_assert_cmpuint(now, >, UINT32_MAX);
    g_assert_cmpuint(qtest_readq(s.v->qts, buf + 8), ==, now);
    qvgpu_expect_byte(s.v, buf, 0xee, 8);
    qvgpu_expect_byte(s.v, buf + 16, 0xee, 16);
    qvgpu_stop(s.v);
}

/*
 * Catches: ADD64 adds 32 bits only, loses the carry, or is done twice or never.
 */
static void test_atomic(void)
{
    unsigned kind;
    Sdma s;

    sdma_start(&s);
    for (kind = QVGPU_VRAM; kind <= QVGPU_RAM; kind++) {
        uint64_t at = qvgpu_alloc(s.v, kind, QVGPU_PAGE, QVGPU_PAGE) + 8;
        uint64_t mc = qvgpu_mc(s.v, at);

        qtest_writeq(s.v->qts, at, 0xffffffff);
        qvgpu_pkt_add64(&s.q, mc, 1);
        qvgpu_sdma_finish(&s.q);
        g_assert_cmphex(qtest_readq(s.v->qts, at), ==, 0x100000000);
        qvgpu_pkt_add64(&s.q, mc, -2);
        qvgpu_sdma_finish(&s.q);
        g_assert_cmphex(qtest_readq(s.v->qts, at), ==, 0xfffffffe);
        qvgpu_pkt_add64(&s.q, mc, 0x123456789abcdef0);
        qvgpu_sdma_finish(&s.q);
        g_assert_cmphex(qtest_readq(s.v->qts, at), ==, 0x123456799abcdeee);
        g_assert_cmphex(qtest_readq(s.v->qts, at - 8), ==, 0);
        g_assert_cmphex(qtest_readq(s.v->qts, at + 8), ==, 0);
    }
    qvgpu_stop(s.v);
}

/* Catches: additions are lost when two engines add to one quadword. */
static void test_atomic_races(void)
{
    enum { ADDS = 100 };
    Sdma s;
    QVGPUSdma other;
    uint64_t at;
    unsigned i;

    sdma_start(&s);
    qvgpu_sdma_open(&other, s.v, 1, SDMA_QUEUE_GFX, NULL);
    at = ram(&s, QVGPU_PAGE);
    for (i = 0; i < ADDS; i++) {
        qvgpu_pkt_add64(&s.q, qvgpu_mc(s.v, at), 1);
        qvgpu_pkt_add64(&other, qvgpu_mc(s.v, at), 1ull << 32);
    }
    qvgpu_sdma_kick(&s.q);
    qvgpu_sdma_kick(&other);
    qvgpu_sdma_finish(&s.q);
    qvgpu_sdma_finish(&other);
    g_assert_cmphex(qtest_readq(s.v->qts, at), ==, ADDS * 0x100000001ull);
    qvgpu_stop(s.v);
}

/*
 * Catches: a comparison is inverted, has the wrong width or sign, or ignores
 * the mask. Each case has a value on which the poll waits and a value that ends
 * the poll.
 */
static void test_poll_functions(void)
{
    static const struct {
        unsigned func;
        uint32_t waits, passes;
    } cases[] = {
        { QVGPU_POLL_LT, 0x80, 0x7f }, { QVGPU_POLL_LT, 0xff, 0 },
        { QVGPU_POLL_LE, 0x81, 0x80 }, { QVGPU_POLL_LE, 0x90, 0x10 },
        { QVGPU_POLL_EQ, 0x7f, 0x80 }, { QVGPU_POLL_NE, 0x80, 0x81 },
        { QVGPU_POLL_GE, 0x7f, 0x80 }, { QVGPU_POLL_GE, 0, 0xff },
        { QVGPU_POLL_GT, 0x80, 0x81 },
    };
    Sdma s;
    QVGPUSdma other;
    uint64_t at;
    unsigned i;

    sdma_start(&s);
    qvgpu_time_passes(s.v);
    qvgpu_sdma_open(&other, s.v, 0, SDMA_QUEUE_PAGE, NULL);
    at = ram(&s, QVGPU_PAGE);
    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        qtest_writel(s.v->qts, at, 0xabcd0000 | cases[i].waits);
        qtest_writel(s.v->qts, at + 4, 0);
        qvgpu_pkt_poll_mem(&s.q, cases[i].func, qvgpu_mc(s.v, at), 0x80, 0xff,
                           QVGPU_POLL_FOREVER);
        qvgpu_pkt_fence(&s.q, qvgpu_mc(s.v, at) + 4, 1);
        qvgpu_sdma_kick(&s.q);
        /* The queue waits, and the engine serves other queues. */
        qvgpu_sdma_pass(&other);
        g_assert_false(qvgpu_sdma_idle(&s.q));
        g_assert_cmphex(qtest_readl(s.v->qts, at + 4), ==, 0);
        qtest_writel(s.v->qts, at, 0x12340000 | cases[i].passes);
        qvgpu_sdma_finish(&s.q);
        g_assert_cmphex(qtest_readl(s.v->qts, at + 4), ==, 1);
    }
    qvgpu_pkt_poll_mem(&s.q, QVGPU_POLL_ALWAYS, qvgpu_mc(s.v, at), 1, 0,
                       QVGPU_POLL_FOREVER);
    qvgpu_sdma_finish(&s.q);
    qvgpu_stop(s.v);
}

/* Catches: a poll never times out, or cannot read registers. */
static void test_poll_others(void)
{
    Sdma s;
    QVGPUIrq irq;
    uint64_t at;

    sdma_start(&s);
    qvgpu_time_passes(s.v);
    at = ram(&s, QVGPU_PAGE);
    /* When the retry count has run out, the next packet runs. */
    qvgpu_pkt_poll_mem(&s.q, QVGPU_POLL_EQ, qvgpu_mc(s.v, at), 1, UINT32_MAX,
                       5);
    qvgpu_pkt_fence(&s.q, qvgpu_mc(s.v, at) + 4, 1);
    qvgpu_sdma_finish(&s.q);
    g_assert_cmphex(qtest_readl(s.v->qts, at + 4), ==, 1);
    qvgpu_ih_next(s.v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_SDMA0);
    g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_POLL_TIMEOUT);
    g_assert_cmphex(irq.data[0] & SDMA_PKT__OP, ==, SDMA_OP_POLL_REGMEM);

    /* Poll FLUSH_DONE, which changes when the CPU writes FLUSH_REQ. */
    QVGPU_EMIT(&s.q, SDMA_PKT(SDMA_OP_POLL_REGMEM, 0) |
               VGPU_PREP(SDMA_POLL_REGMEM__FUNC, (uint32_t)QVGPU_POLL_EQ),
               4 * GPU_HDP_FLUSH_DONE, 0, GPU_HDP_FLUSH__SDMA0,
               GPU_HDP_FLUSH__SDMA0,
               VGPU_PREP(SDMA_POLL_REGMEM_DW5__RETRY, 0xfffu) | 10);
    qvgpu_sdma_kick(&s.q);
    qvgpu_wr(s.v, GPU_HDP_FLUSH_REQ, GPU_HDP_FLUSH__SDMA0);
    qvgpu_sdma_finish(&s.q);

    /*
     * Execute the packet that amdgpu sends. With this packet, the engine itself
     * writes REQ and then polls DONE.
     */
    QVGPU_EMIT(&s.q, SDMA_PKT(SDMA_OP_POLL_REGMEM, 0) |
               SDMA_POLL_REGMEM__HDP_FLUSH |
               VGPU_PREP(SDMA_POLL_REGMEM__FUNC, (uint32_t)QVGPU_POLL_EQ),
               4 * GPU_HDP_FLUSH_DONE, 4 * GPU_HDP_FLUSH_REQ,
               GPU_HDP_FLUSH__SDMA1, GPU_HDP_FLUSH__SDMA1,
               VGPU_PREP(SDMA_POLL_REGMEM_DW5__RETRY, 0xfffu) | 10);
    qvgpu_sdma_finish(&s.q);

    /*
     * Execute the packet that ROCr sends. Its condition is always true, so the
     * engine does not read the address.
     */
    QVGPU_EMIT(&s.q, SDMA_PKT(SDMA_OP_POLL_REGMEM, 0), 0, 0x80000000, 0, 0,
               0);
    qvgpu_sdma_finish(&s.q);
    g_assert_false(qvgpu_ih_pending(s.v));
    qvgpu_stop(s.v);
}

/*
 * Catches: PTEPDE writes entries that are off by one increment, or cut to 32
 * bits.
 */
static void test_ptepde(void)
{
    enum { COUNT = 700 };
    const uint64_t flags = VGPU_PTE_VALID | VGPU_PTE_TF | VGPU_PTE_READABLE;
    Sdma s;
    uint64_t dst, i;

    sdma_start(&s);
    dst = qvgpu_alloc(s.v, QVGPU_VRAM, 8 * KiB, QVGPU_PAGE);
    qvgpu_fill(s.v, dst, 6, 0, 8 * KiB);
    QVGPU_EMIT(&s.q, SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN),
               QVGPU_LO(qvgpu_mc(s.v, dst + 16)),
               QVGPU_HI(qvgpu_mc(s.v, dst + 16)),
               QVGPU_LO(flags), QVGPU_HI(flags), 0xfffff000, 0, 0x1000, 0,
               COUNT - 1);
    /* With increment 0, all entries are equal. */
    QVGPU_EMIT(&s.q, SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN),
               QVGPU_LO(qvgpu_mc(s.v, dst + 16 + COUNT * 8)),
               QVGPU_HI(qvgpu_mc(s.v, dst + 16 + COUNT * 8)),
               QVGPU_LO(VGPU_PTE_PRT), QVGPU_HI(VGPU_PTE_PRT), 0, 0, 0, 0, 1);
    qvgpu_sdma_finish(&s.q);
    qvgpu_expect(s.v, dst, 6, 0, 16);
    for (i = 0; i < COUNT; i++) {
        g_assert_cmphex(qtest_readq(s.v->qts, dst + 16 + 8 * i), ==,
                        flags | (0xfffff000ull + i * 0x1000));
    }
    g_assert_cmphex(qtest_readq(s.v->qts, dst + 16 + 8 * COUNT), ==,
                    VGPU_PTE_PRT);
    g_assert_cmphex(qtest_readq(s.v->qts, dst + 24 + 8 * COUNT), ==,
                    VGPU_PTE_PRT);
    qvgpu_expect(s.v, dst + 32 + 8 * COUNT, 6, 32 + 8 * COUNT, 64);
    g_assert_cmpuint(qvgpu_counter(s.v, VGPU_CNT_PTES_WRITTEN), ==,
                     COUNT + 2);
    qvgpu_stop(s.v);
}

/*
 * Catches: the payload of a NOP is executed; a zero dword is not taken for a
 * NOP.
 */
static void test_nop(void)
{
    static const uint32_t poison[5] = {
        SDMA_PKT(0xff, 0xff), SDMA_PKT(0xff, 0), 0xffffffff, 0xffffffff, 0xaa,
    };
    Sdma s;
    uint64_t at;
    unsigned i;

    sdma_start(&s);
    at = ram(&s, QVGPU_PAGE);
    for (i = 0; i < 300; i++) {
        QVGPU_EMIT(&s.q, VGPU_PREP(SDMA_NOP__COUNT, 5u));
        qvgpu_sdma_emit(&s.q, poison, 5);
        QVGPU_EMIT(&s.q, 0, 0, 0);
        qvgpu_pkt_add64(&s.q, qvgpu_mc(s.v, at), 1);
        qvgpu_sdma_finish(&s.q);
    }
    g_assert_cmpuint(qtest_readq(s.v->qts, at), ==, 300);
    qvgpu_stop(s.v);
}

void qvgpu_add_packet_tests(void)
{
    qtest_add_func("/vgpu-kfd/packet/copy-sizes", test_copy_sizes);
    qtest_add_func("/vgpu-kfd/packet/copy-large", test_copy_large);
    qtest_add_func("/vgpu-kfd/packet/copy-largest", test_copy_largest);
    qtest_add_func("/vgpu-kfd/packet/const-fill", test_const_fill);
    qtest_add_func("/vgpu-kfd/packet/fill-large", test_fill_large);
    qtest_add_func("/vgpu-kfd/packet/write-linear", test_write_linear);
    qtest_add_func("/vgpu-kfd/packet/fence", test_fence);
    qtest_add_func("/vgpu-kfd/packet/trap", test_trap);
    qtest_add_func("/vgpu-kfd/packet/timestamp", test_timestamp);
    qtest_add_func("/vgpu-kfd/packet/atomic", test_atomic);
    qtest_add_func("/vgpu-kfd/packet/atomic-races", test_atomic_races);
    qtest_add_func("/vgpu-kfd/packet/poll-functions", test_poll_functions);
    qtest_add_func("/vgpu-kfd/packet/poll-others", test_poll_others);
    qtest_add_func("/vgpu-kfd/packet/ptepde", test_ptepde);
    qtest_add_func("/vgpu-kfd/packet/nop", test_nop);
}
