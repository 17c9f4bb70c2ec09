/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests interrupt rings 1 and 2, the routing of interrupts to rings,
 * and faults without the CAM. An entry of ring 0 with source IH_SRC_RING
 * announces a new entry of ring 1 or 2.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "tests/qtest/vgpu-kfd/ih/suite.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/migration.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

/* Log2 of a ring's dwords. The ring has ENTRIES entries of 8 dwords each. */
#define SMALL   6
#define ENTRIES 8
#define VMID    3
#define VA      0x4000000000ull

typedef struct Rings {
    QVGPU *v;
    QVGPUSdma q;
    /* CPU addresses of the rings. Only test_routing() sets and uses ring[0]. */
    uint64_t ring[IH_NUM_RINGS];
} Rings;

static void route(Rings *t, unsigned client, uint32_t ring)
{
    qvgpu_wr(t->v, IH_CLIENT_CFG_INDEX, client);
    qvgpu_wr(t->v, IH_CLIENT_CFG_DATA,
             VGPU_PREP(IH_CLIENT_CFG_DATA__RING_ID, ring));
}

static void ring_init(Rings *t, unsigned n, uint32_t cntl)
{
    uint32_t at = IH_RING(n);

    t->ring[n] = qvgpu_ram_page(t->v);
    qvgpu_wr(t->v, IH_RB_CNTL + at, 0);
    qvgpu_wr(t->v, IH_RB_BASE + at, t->ring[n] >> 8);
    qvgpu_wr(t->v, IH_RB_BASE_HI + at, t->ring[n] >> 40);
    qvgpu_wr(t->v, IH_RB_RPTR + at, 0);
    qvgpu_wr(t->v, IH_RB_WPTR + at, 0);
    qvgpu_wr(t->v, IH_RB_CNTL + at, IH_RB_CNTL__RB_ENABLE |
             VGPU_PREP(IH_RB_CNTL__RB_SIZE, (uint32_t)SMALL) |
             VGPU_PREP(IH_RB_CNTL__MC_SPACE, 2u) | cntl);
    qvgpu_wr(t->v, IH_DOORBELL_RPTR + at, IH_DOORBELL_RPTR__ENABLE |
             2 * (DOORBELL_IH + n));
}

/*
 * Start a machine with all three rings. Interrupts of SDMA0 go to ring @to.
 * @cntl: additional bits of RB_CNTL for rings 1 and 2.
 */
static void rings_start(Rings *t, unsigned to, uint32_t cntl)
{
    t->v = qvgpu_start();
    qvgpu_sdma_open(&t->q, t->v, 0, SDMA_QUEUE_GFX, NULL);
    ring_init(t, 1, cntl);
    ring_init(t, 2, cntl);
    route(t, IH_CLIENT_SDMA0, to);
}

static void traps(Rings *t, uint32_t first, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        qvgpu_pkt_trap(&t->q, first + i);
        qvgpu_sdma_finish(&t->q);
    }
}

/*
 * Fail the test unless entry @slot of ring @n is the trap with @context.
 * Returns the entry's timestamp.
 */
static uint64_t expect_trap_in(Rings *t, unsigned n, unsigned slot,
                               uint32_t context)
{
    QVGPUIrq irq;
    uint64_t own = t->v->ih.ring;

    t->v->ih.ring = t->ring[n];
    qvgpu_ih_decode(t->v, slot * IH_ENTRY_BYTES, &irq);
    t->v->ih.ring = own;
    g_assert_cmphex(irq.client, ==, IH_CLIENT_SDMA0);
    g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_TRAP);
    g_assert_cmphex(irq.data[0], ==, context);
    return irq.timestamp;
}

/*
 * Fail the test unless the next entry of ring 0 announces ring @n. Returns the
 * entry's timestamp.
 */
static uint64_t expect_kick(Rings *t, unsigned n)
{
    QVGPUIrq irq;

    qvgpu_ih_next(t->v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_IH);
    g_assert_cmpuint(irq.source, ==, IH_SRC_RING);
    g_assert_cmpuint(irq.ring, ==, n);
    return irq.timestamp;
}

/*
 * Catches: an entry goes to the wrong ring, or ring 0 does not announce a new
 * entry of ring 1 or 2.
 */
static void test_routing(void)
{
    unsigned n;

    for (n = 1; n < IH_NUM_RINGS; n++) {
        Rings t;
        uint64_t time[3], kick;
        unsigned i;

        rings_start(&t, n, 0);
        traps(&t, 50, 3);
        g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR + IH_RING(n)), ==,
                        3 * IH_ENTRY_BYTES);
        g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR + IH_RING(3 - n)), ==, 0);
        for (i = 0; i < 3; i++) {
            time[i] = expect_trap_in(&t, n, i, 50 + i);
        }
        /*
         * Ring 0 announces the three entries only once, because the driver has
         * not written RPTR of ring n since the first entry.
         */
        kick = expect_kick(&t, n);
        g_assert_false(qvgpu_ih_pending(t.v));
        /* Timestamps increase with each event, whichever ring has the entry. */
        g_assert_cmpuint(time[0], <, kick);
        g_assert_cmpuint(kick, <, time[1]);
        g_assert_cmpuint(time[1], <, time[2]);

        /*
         * The doorbell advances RPTR by one entry. Because two entries remain,
         * ring 0 announces ring n again.
         */
        qtest_writel(t.v->qts, t.v->bar[VGPU_BAR_DOORBELL] +
                     8 * (DOORBELL_IH + n), IH_ENTRY_BYTES);
        g_assert_cmphex(qvgpu_rd(t.v, IH_RB_RPTR + IH_RING(n)), ==,
                        IH_ENTRY_BYTES);
        expect_kick(&t, n);
        qvgpu_wr(t.v, IH_RB_RPTR + IH_RING(n), 3 * IH_ENTRY_BYTES);
        g_assert_false(qvgpu_ih_pending(t.v));
        traps(&t, 53, 1);
        expect_kick(&t, n);
        expect_trap_in(&t, n, 3, 53);

        route(&t, IH_CLIENT_SDMA0, 0);
        traps(&t, 54, 1);
        t.ring[0] = t.v->ih.ring;
        expect_trap_in(&t, 0, t.v->ih.rptr / IH_ENTRY_BYTES, 54);
        qvgpu_stop(t.v);
    }
}

/*
 * Catches: an overflow sets the overflow flag of another ring; the flag stays
 * set after the driver has cleared it.
 */
static void test_overflow(void)
{
    unsigned n;

    for (n = 1; n < IH_NUM_RINGS; n++) {
        uint32_t at = IH_RING(n);
        Rings t;
        unsigned i;

        rings_start(&t, n, IH_RB_CNTL__WPTR_OVERFLOW_ENABLE);
        traps(&t, 0, ENTRIES - 1);
        g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR + at), ==,
                        (ENTRIES - 1) * IH_ENTRY_BYTES);
        traps(&t, ENTRIES - 1, 3);
        g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR + at), ==,
                        2 * IH_ENTRY_BYTES | IH_RB_WPTR__RB_OVERFLOW);
        g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR) & IH_RB_WPTR__RB_OVERFLOW,
                        ==, 0);
        /*
         * Entries 0 and 1 are overwritten, and the write pointer is at entry 2.
         * The driver continues at entry 3: equal pointers would mean that the
         * ring is empty.
         */
        for (i = 3; i < ENTRIES + 2; i++) {
            expect_trap_in(&t, n, i % ENTRIES, i);
        }
        qvgpu_wr(t.v, IH_RB_CNTL + at, qvgpu_rd(t.v, IH_RB_CNTL + at) |
                 IH_RB_CNTL__WPTR_OVERFLOW_CLEAR);
        g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR + at), ==,
                        2 * IH_ENTRY_BYTES);
        qvgpu_wr(t.v, IH_RB_RPTR + at, 2 * IH_ENTRY_BYTES);
        traps(&t, 100, 1);
        expect_trap_in(&t, n, 2, 100);
        g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR + at), ==,
                        3 * IH_ENTRY_BYTES);
        qvgpu_stop(t.v);
    }
}

/*
 * Catches: an injected overflow of ring 1 also overflows ring 0. (Ring 0
 * correctly receives an entry that announces the new entry in ring 1.)
 */
static void test_injected_overflow(void)
{
    Rings t;

    rings_start(&t, 1, IH_RB_CNTL__WPTR_OVERFLOW_ENABLE);
    qvgpu_inject(t.v, "'kind': 'ih-overflow', 'client': %u, "
                 "'source': %u, 'count': 1", IH_CLIENT_SDMA0,
                 IH_SRC_SDMA_TRAP);
    traps(&t, 70, 1);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR + IH_RING(1)), ==,
                    IH_ENTRY_BYTES | IH_RB_WPTR__RB_OVERFLOW);
    expect_trap_in(&t, 1, 0, 70);
    expect_kick(&t, 1);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR), ==, IH_ENTRY_BYTES);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_DROPPED), ==, 0);
    qvgpu_stop(t.v);
}

/*
 * Catches: an injected overflow of a ring that is off strikes a later entry,
 * here the announcement of ring 1 in ring 0.
 */
static void test_injected_overflow_off(void)
{
    uint32_t reg = IH_RB_CNTL + IH_RING(1);
    uint32_t cntl;
    Rings t;

    rings_start(&t, 1, 0);
    traps(&t, 80, 1);
    expect_kick(&t, 1);
    cntl = qvgpu_rd(t.v, reg);
    qvgpu_wr(t.v, reg, cntl & ~IH_RB_CNTL__RB_ENABLE);
    qvgpu_inject(t.v, "'kind': 'ih-overflow', 'client': %u, "
                 "'source': %u, 'count': 1", IH_CLIENT_SDMA0,
                 IH_SRC_SDMA_TRAP);
    traps(&t, 81, 1);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_DROPPED), ==, 1);
    qvgpu_wr(t.v, reg, cntl);
    expect_kick(&t, 1);
    expect_trap_in(&t, 1, 0, 80);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR), ==, 2 * IH_ENTRY_BYTES);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_DROPPED), ==, 1);
    qvgpu_stop(t.v);
}

/* Run @n TRAPs on @q, a queue of SDMA1. Interrupts of SDMA1 go to ring 0. */
static void other_traps(QVGPUSdma *q, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        qvgpu_pkt_trap(q, i);
        qvgpu_sdma_finish(q);
    }
}

/*
 * Catches: if ring 0 is full when ring 1 or 2 receives its first entry, ring 0
 * never announces that ring.
 */
static void test_ring0_full(void)
{
    unsigned n;

    for (n = 1; n < IH_NUM_RINGS; n++) {
        QVGPUSdma other;
        Rings t;

        rings_start(&t, n, 0);
        qvgpu_ih_init(t.v, SMALL, IH_RB_CNTL__ENABLE_INTR);
        qvgpu_sdma_open(&other, t.v, 1, SDMA_QUEUE_GFX, NULL);
        other_traps(&other, ENTRIES - 1);
        traps(&t, 60, 1);
        g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_DROPPED), ==, 1);
        qvgpu_msi_wait(t.v);
        if (n == 2) {
            /*
             * Ring 0 had no space to announce ring n. Catches: a migration
             * loses this pending announcement.
             */
            qvgpu_save_restore(t.v, false);
            qvgpu_cont(t.v);
        }
        t.v->ih.rptr = (ENTRIES - 1) * IH_ENTRY_BYTES;
        qvgpu_wr(t.v, IH_RB_RPTR, t.v->ih.rptr);
        qvgpu_msi_wait(t.v);
        expect_kick(&t, n);
        expect_trap_in(&t, n, 0, 60);
        g_assert_false(qvgpu_ih_pending(t.v));
        qvgpu_stop(t.v);
    }
}

/*
 * Ring 0 announces a new entry of ring 1. Then an overflow of ring 0 overwrites
 * the announcement. Catches: ring 0 does not announce ring 1 again.
 */
static void test_ring0_overflow(void)
{
    QVGPUSdma other;
    QVGPUIrq irq;
    unsigned i;
    Rings t;

    rings_start(&t, 1, 0);
    qvgpu_ih_init(t.v, SMALL, IH_RB_CNTL__WPTR_OVERFLOW_ENABLE);
    qvgpu_sdma_open(&other, t.v, 1, SDMA_QUEUE_GFX, NULL);
    traps(&t, 60, 1);
    other_traps(&other, ENTRIES + 2);
    t.v->ih.rptr = ((qvgpu_rd(t.v, IH_RB_WPTR) & IH_RB_WPTR__OFFSET) +
                    IH_ENTRY_BYTES) % (ENTRIES * IH_ENTRY_BYTES);
    qvgpu_wr(t.v, IH_RB_RPTR, t.v->ih.rptr);
    qvgpu_wr(t.v, IH_RB_CNTL, qvgpu_rd(t.v, IH_RB_CNTL) |
             IH_RB_CNTL__WPTR_OVERFLOW_CLEAR);
    for (i = 3; i < ENTRIES + 2; i++) {
        qvgpu_ih_next(t.v, &irq);
        g_assert_cmphex(irq.client, ==, IH_CLIENT_SDMA(1));
        g_assert_cmphex(irq.data[0], ==, i);
    }
    expect_kick(&t, 1);
    expect_trap_in(&t, 1, 0, 60);
    g_assert_false(qvgpu_ih_pending(t.v));
    qvgpu_stop(t.v);
}

/*
 * Catches: an entry is written to a disabled ring, or to a ring that does not
 * exist.
 */
static void test_no_such_ring(void)
{
    Rings t;

    rings_start(&t, 1, 0);
    qvgpu_wr(t.v, IH_RB_CNTL + IH_RING(1), 0);
    traps(&t, 1, 1);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_DROPPED), ==, 1);
    route(&t, IH_CLIENT_SDMA0, 3);
    traps(&t, 2, 1);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_DROPPED), ==, 2);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_ENTRIES), ==, 0);
    qvgpu_expect_byte(t.v, t.ring[1], 0, QVGPU_PAGE);

    /*
     * In CNTL of rings 1 and 2, the bits that exist only for ring 0 read as 0.
     */
    qvgpu_wr(t.v, IH_RB_CNTL + IH_RING(2), UINT32_MAX);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_CNTL + IH_RING(2)) &
                    (IH_RB_CNTL__WPTR_WRITEBACK_ENABLE |
                     IH_RB_CNTL__ENABLE_INTR), ==, 0);
    /*
     * The device takes the client number modulo IH_NUM_CLIENTS. Each client has
     * its own routing entry, which keeps the ring number that is written to it.
     */
    route(&t, IH_CLIENT_VMC, 2);
    route(&t, IH_NUM_CLIENTS + IH_CLIENT_SDMA1, 1);
    qvgpu_wr(t.v, IH_CLIENT_CFG_INDEX, IH_CLIENT_VMC);
    g_assert_cmphex(VGPU_GET(qvgpu_rd(t.v, IH_CLIENT_CFG_DATA),
                             IH_CLIENT_CFG_DATA__RING_ID), ==, 2);
    qvgpu_wr(t.v, IH_CLIENT_CFG_INDEX, IH_CLIENT_SDMA1);
    g_assert_cmphex(VGPU_GET(qvgpu_rd(t.v, IH_CLIENT_CFG_DATA),
                             IH_CLIENT_CFG_DATA__RING_ID), ==, 1);
    qvgpu_stop(t.v);
}

/*
 * Catches: the intervals between the entries for a faulting page do not grow.
 */
static void test_storm(void)
{
    enum { SEEN = 7 }; /* entry 7 is due 63 ms (1 + 2 + 4 ...) after entry 1 */
    uint64_t page, began;
    Rings t;
    QVGPUSpace space;
    QVGPUSdma q[2];
    QVGPUIrq irq;
    unsigned i;

    rings_start(&t, 0, IH_RB_CNTL__WPTR_OVERFLOW_ENABLE);
    /*
     * As amdgpu does on older chips, route VM faults to ring 1, and disable the
     * CAM.
     */
    route(&t, IH_CLIENT_VMC, 1);
    qvgpu_time_passes(t.v);
    qvgpu_wr(t.v, IH_RETRY_INT_CAM_CNTL, 0);
    qvgpu_space_init(&space, t.v, VMID, QVGPU_VRAM);
    for (i = 0; i < ARRAY_SIZE(q); i++) {
        qvgpu_sdma_open(&q[i], t.v, i, SDMA_QUEUE_RLC(0), &space);
        qvgpu_pkt_fence(&q[i], VA + 8 * i, 0x77);
    }
    began = qvgpu_clock(t.v);
    qvgpu_sdma_kick(&q[0]);
    /*
     * Catches: when a second queue faults on the same page, the intervals
     * between the page's interrupt entries become short again.
     */
    qvgpu_sdma_kick(&q[1]);
    qvgpu_wait_until(qvgpu_rd(t.v, IH_RB_WPTR + IH_RING(1)) >=
                     SEEN * IH_ENTRY_BYTES);
    g_assert_cmpuint(qvgpu_clock(t.v) - began, >=,
                     ((1 << (SEEN - 1)) - 1) * (VGPU_CLOCK_HZ / 1000));
    expect_kick(&t, 1);
    t.v->ih.ring = t.ring[1];
    for (i = 0; i < SEEN; i++) {
        qvgpu_ih_decode(t.v, i * IH_ENTRY_BYTES, &irq);
        g_assert_cmphex(irq.client, ==, IH_CLIENT_VMC);
        g_assert_cmphex(irq.data[0], ==, VA >> 12);
        g_assert_cmphex(irq.data[1] & IH_FAULT_D1__RETRY, !=, 0);
    }
    page = qvgpu_ram_page(t.v);
    qvgpu_space_map(&space, VA, page, QVGPU_PAGE);
    qvgpu_sdma_finish(&q[0]);
    qvgpu_sdma_finish(&q[1]);
    g_assert_cmphex(qtest_readl(t.v->qts, page), ==, 0x77);
    g_assert_cmphex(qtest_readl(t.v->qts, page + 8), ==, 0x77);
    qvgpu_stop(t.v);
}

/* Catches: the PASID of an SDMA interrupt entry is not from IH_VMID_LUT_MM. */
static void test_pasid(void)
{
    static const struct {
        uint32_t mm, gfx;
    } luts[] = { { 0x8123, 0x8456 }, { 0, 0x8456 }, { 0xffff0001, 0 } };
    QVGPU *v = qvgpu_start();
    QVGPUSpace space;
    QVGPUSdma q;
    QVGPUIrq irq;
    unsigned i;

    qvgpu_wr(v, ATC_VMID_PASID_MAPPING(VMID),
             ATC_VMID_PASID_MAPPING__VALID | 0x8789);
    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    for (i = 0; i < ARRAY_SIZE(luts); i++) {
        qvgpu_wr(v, IH_VMID_LUT_MM(VMID), luts[i].mm);
        qvgpu_wr(v, IH_VMID_LUT(VMID), luts[i].gfx);
        qvgpu_pkt_trap(&q, i);
        qvgpu_sdma_finish(&q);
        qvgpu_ih_next(v, &irq);
        g_assert_cmphex(irq.pasid, ==, luts[i].mm & IH_DW3__PASID);
    }
    qvgpu_stop(v);
}

void qvgpu_add_ih_secondary_rings_tests(void)
{
    qtest_add_func("/vgpu-kfd/ih-ring/pasid", test_pasid);
    qtest_add_func("/vgpu-kfd/ih-ring/routing", test_routing);
    qtest_add_func("/vgpu-kfd/ih-ring/overflow", test_overflow);
    qtest_add_func("/vgpu-kfd/ih-ring/injected-overflow",
                   test_injected_overflow);
    qtest_add_func("/vgpu-kfd/ih-ring/injected-overflow-off",
                   test_injected_overflow_off);
    qtest_add_func("/vgpu-kfd/ih-ring/ring0-full", test_ring0_full);
    qtest_add_func("/vgpu-kfd/ih-ring/ring0-overflow", test_ring0_overflow);
    qtest_add_func("/vgpu-kfd/ih-ring/no-such-ring", test_no_such_ring);
    qtest_add_func("/vgpu-kfd/ih-ring/storm", test_storm);
}
