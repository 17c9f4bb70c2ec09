/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests the interrupt ring and the MSI. */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/ih/suite.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

/* log2 of the ring's dwords; 8 entries */
#define SMALL   6
#define ENTRIES 8

typedef struct Ih {
    QVGPU *v;
    QVGPUSdma q;
} Ih;

static void ih_start_on(Ih *t, QVGPU *v)
{
    t->v = v;
    qvgpu_sdma_open(&t->q, t->v, 0, SDMA_QUEUE_GFX, NULL);
}

static void ih_start(Ih *t)
{
    ih_start_on(t, qvgpu_start());
}

/*
 * Run @n TRAPs with contexts @first, @first + 1 and so on. Each TRAP adds one
 * entry to the interrupt ring.
 */
static void traps(Ih *t, uint32_t first, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        qvgpu_pkt_trap(&t->q, first + i);
        qvgpu_sdma_finish(&t->q);
    }
}

static void expect_trap(Ih *t, uint32_t context)
{
    QVGPUIrq irq;

    qvgpu_ih_next(t->v, &irq);
    g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_TRAP);
    g_assert_cmphex(irq.data[0], ==, context);
}

/* Catches: an entry has the client, queue, VMID or PASID of another queue. */
static void test_entry(void)
{
    static const unsigned clients[SDMA_NUM_ENGINES] = { 8, 9, 1, 4, 5 };
    Ih t;
    QVGPUSpace space;
    unsigned engine, i;

    ih_start(&t);
    qvgpu_space_init(&space, t.v, 13, QVGPU_VRAM);
    for (engine = 0; engine < SDMA_NUM_ENGINES; engine++) {
        for (i = 0; i < SDMA_NUM_RLC; i++) {
            QVGPUSdma q;
            QVGPUIrq irq;

            qvgpu_sdma_open(&q, t.v, engine, SDMA_QUEUE_RLC(i), &space);
            qvgpu_pkt_trap(&q, 0x100 + i);
            qvgpu_sdma_finish(&q);
            qvgpu_ih_next(t.v, &irq);
            g_assert_cmphex(irq.client, ==, clients[engine]);
            g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_TRAP);
            g_assert_cmpuint(irq.ring & 0xf, ==, i);
            g_assert_cmpuint(irq.vmid, ==, 13);
            g_assert_true(irq.mm_hub);
            g_assert_cmphex(irq.pasid, ==, QVGPU_PASID(13));
            g_assert_cmphex(irq.data[0], ==, 0x100 + i);
            qvgpu_sdma_disable(&q);
        }
    }
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_ENTRIES), ==,
                     SDMA_NUM_ENGINES * SDMA_NUM_RLC);
    qvgpu_stop(t.v);
}

/* Catches: an entry or a pointer is wrong where the ring wraps. */
static void test_ring_wraps(void)
{
    Ih t;
    unsigned i;

    ih_start(&t);
    qvgpu_ih_init(t.v, SMALL, 0);
    for (i = 0; i < 5 * ENTRIES; i++) {
        traps(&t, i, 1);
        g_assert_cmphex(qvgpu_ih_writeback(t.v), ==,
                        (i + 1) % ENTRIES * IH_ENTRY_BYTES);
        g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR), ==,
                        (i + 1) % ENTRIES * IH_ENTRY_BYTES);
        expect_trap(&t, i);
    }
    qvgpu_stop(t.v);
}

/* Catches: WPTR is written back although the write-back is disabled. */
static void test_no_writeback(void)
{
    Ih t;

    ih_start(&t);
    qvgpu_wr(t.v, IH_RB_CNTL, qvgpu_rd(t.v, IH_RB_CNTL) &
             ~IH_RB_CNTL__WPTR_WRITEBACK_ENABLE);
    traps(&t, 1, 2);
    g_assert_cmphex(qvgpu_ih_writeback(t.v), ==, 0);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR), ==, 2 * IH_ENTRY_BYTES);
    qvgpu_stop(t.v);
}

/*
 * Catches: an MSI for a new entry is missing; an MSI is sent while interrupts
 * are disabled or while the driver has not handled the previous MSI.
 */
static void test_msi(void)
{
    unsigned i;
    Ih t;

    ih_start(&t);
    g_assert_false(qvgpu_msi_take(t.v));
    traps(&t, 1, 1);
    qvgpu_msi_wait(t.v);
    /*
     * The device sends no MSI while the ring is not empty, because the driver
     * has not handled the previous MSI yet.
     */
    traps(&t, 2, 3);
    g_assert_false(qvgpu_msi_take(t.v));
    /*
     * If entries remain when the driver writes RPTR, the device sends an MSI.
     */
    for (i = 1; i <= 3; i++) {
        expect_trap(&t, i);
        qvgpu_msi_wait(t.v);
    }
    expect_trap(&t, 4);
    g_assert_false(qvgpu_msi_take(t.v));
    traps(&t, 5, 1);
    qvgpu_msi_wait(t.v);
    expect_trap(&t, 5);

    qvgpu_wr(t.v, IH_RB_CNTL,
             qvgpu_rd(t.v, IH_RB_CNTL) & ~IH_RB_CNTL__ENABLE_INTR);
    traps(&t, 6, 1);
    g_assert_false(qvgpu_msi_take(t.v));
    /*
     * If the ring has entries when interrupts are enabled, the device sends an
     * MSI immediately.
     */
    qvgpu_wr(t.v, IH_RB_CNTL,
             qvgpu_rd(t.v, IH_RB_CNTL) | IH_RB_CNTL__ENABLE_INTR);
    qvgpu_msi_wait(t.v);
    qvgpu_stop(t.v);
}

/*
 * The driver writes RPTR with entries left, by the register and by the
 * doorbell. Catches: the MSI waits until the main loop runs a bottom half,
 * although the write could send the MSI.
 */
static void test_msi_in_write(void)
{
    /* A random delay would take the MSI out of the write. */
    g_autofree char *device = g_strconcat(QVGPU_HOLD_VRAM, qvgpu_has_delays() ?
                                          ",x-delays=0" : "", NULL);
    uint64_t at[2];
    QVGPUHold h;
    unsigned i;
    Ih t;

    qvgpu_hold_init(&h);
    ih_start_on(&t, qvgpu_start_sized(device, h.args));
    at[0] = t.v->bar[VGPU_BAR_MMIO] + 4 * IH_RB_RPTR;
    at[1] = t.v->bar[VGPU_BAR_DOORBELL] + 8 * DOORBELL_IH;
    traps(&t, 1, 3);
    qvgpu_msi_wait(t.v);
    for (i = 0; i < 2; i++) {
        /*
         * QEMU replies to the write when the access has ended. The MSI is held
         * in its trace event, so the reply waits if the access sends the MSI.
         */
        qvgpu_hold_arm(&h, t.v, "vgpu_msi", false);
        qvgpu_hold_release_later(&h, t.v);
        qtest_writel(t.v->qts, at[i], (i + 1) * IH_ENTRY_BYTES);
        g_assert_true(qvgpu_hold_waited(&h));
        qvgpu_trace(t.v, "vgpu_msi", false);
        g_assert_true(qvgpu_msi_take(t.v));
    }
    qvgpu_stop(t.v);
    qvgpu_hold_destroy(&h);
}

/*
 * Catches: the RPTR doorbell has no effect, or has an effect while it is
 * disabled.
 */
static void test_rptr_doorbell(void)
{
    Ih t;
    uint64_t bell;

    ih_start(&t);
    bell = t.v->bar[VGPU_BAR_DOORBELL] + 8 * DOORBELL_IH;
    traps(&t, 1, 3);
    qvgpu_msi_wait(t.v);
    qtest_writel(t.v->qts, bell, IH_ENTRY_BYTES);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_RPTR), ==, IH_ENTRY_BYTES);
    qvgpu_msi_wait(t.v);
    qtest_writel(t.v->qts, bell, 3 * IH_ENTRY_BYTES);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_RPTR), ==, 3 * IH_ENTRY_BYTES);
    g_assert_false(qvgpu_msi_take(t.v));
    qvgpu_wr(t.v, IH_DOORBELL_RPTR, DOORBELL_IH * 2);
    qtest_writel(t.v->qts, bell, 0);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_RPTR), ==, 3 * IH_ENTRY_BYTES);
    qvgpu_stop(t.v);
}

/*
 * Catches: an overflow is not reported, or the ring does not keep the newest
 * entries.
 */
static void test_overflow(void)
{
    Ih t;
    uint32_t wptr, rptr;
    unsigned i;

    ih_start(&t);
    qvgpu_ih_init(t.v, SMALL, IH_RB_CNTL__WPTR_OVERFLOW_ENABLE);
    traps(&t, 0, ENTRIES - 1);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR) & IH_RB_WPTR__RB_OVERFLOW, ==,
                    0);
    /* Catches: a later entry clears the overflow flag. */
    traps(&t, ENTRIES - 1, 5);
    wptr = qvgpu_rd(t.v, IH_RB_WPTR);
    g_assert_cmphex(wptr, ==, 4 * IH_ENTRY_BYTES | IH_RB_WPTR__RB_OVERFLOW);
    g_assert_cmphex(qvgpu_ih_writeback(t.v), ==, wptr);

    /*
     * Recover as amdgpu does: skip to the oldest intact entry, then clear the
     * overflow flag.
     */
    rptr = ((wptr & IH_RB_WPTR__OFFSET) + IH_ENTRY_BYTES) %
           (ENTRIES * IH_ENTRY_BYTES);
    t.v->ih.rptr = rptr;
    qvgpu_wr(t.v, IH_RB_RPTR, rptr);
    qvgpu_wr(t.v, IH_RB_CNTL, qvgpu_rd(t.v, IH_RB_CNTL) |
             IH_RB_CNTL__WPTR_OVERFLOW_CLEAR);
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_CNTL) &
                    IH_RB_CNTL__WPTR_OVERFLOW_CLEAR, ==, 0);
    /*
     * IH_RB_WPTR also contains the overflow flag. Catches: the flag stays set
     * after the clear.
     */
    g_assert_cmphex(qvgpu_rd(t.v, IH_RB_WPTR), ==, 4 * IH_ENTRY_BYTES);
    for (i = 5; i < ENTRIES + 4; i++) {
        expect_trap(&t, i);
    }
    g_assert_false(qvgpu_ih_pending(t.v));
    traps(&t, 100, 1);
    g_assert_cmphex(qvgpu_ih_writeback(t.v), ==, 5 * IH_ENTRY_BYTES);
    expect_trap(&t, 100);
    qvgpu_stop(t.v);
}

/* Catches: while overflow is disabled, a new entry overwrites an unread one. */
static void test_full_without_overflow(void)
{
    Ih t;
    unsigned i;

    ih_start(&t);
    qvgpu_ih_init(t.v, SMALL, 0);
    traps(&t, 0, ENTRIES + 3);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_DROPPED), ==, 4);
    g_assert_cmphex(qvgpu_ih_writeback(t.v), ==,
                    (ENTRIES - 1) * IH_ENTRY_BYTES);
    for (i = 0; i < ENTRIES - 1; i++) {
        expect_trap(&t, i);
    }
    g_assert_false(qvgpu_ih_pending(t.v));
    traps(&t, 50, 1);
    expect_trap(&t, 50);
    qvgpu_stop(t.v);
}

/*
 * Catches: a retry fault is lost if an overflow has overwritten its entry.
 * (When the driver then acknowledges every CAM slot, the device must report the
 * fault again.)
 */
static void test_fault_lost_in_overflow(void)
{
    const uint64_t va = 0x4000000000ull;
    Ih t;
    QVGPUSpace space;
    QVGPUSdma q;
    uint32_t rptr;
    unsigned i;

    ih_start(&t);
    qvgpu_ih_init(t.v, SMALL, IH_RB_CNTL__WPTR_OVERFLOW_ENABLE);
    qvgpu_space_init(&space, t.v, 3, QVGPU_VRAM);
    qvgpu_sdma_open(&q, t.v, 1, SDMA_QUEUE_RLC(0), &space);
    qvgpu_pkt_fence(&q, va, 1);
    qvgpu_sdma_kick(&q);
    qvgpu_wait_until(qvgpu_ih_pending(t.v));
    traps(&t, 0, 2 * ENTRIES);
    rptr = (qvgpu_rd(t.v, IH_RB_WPTR) & IH_RB_WPTR__OFFSET) + IH_ENTRY_BYTES;
    t.v->ih.rptr = rptr % (ENTRIES * IH_ENTRY_BYTES);
    qvgpu_wr(t.v, IH_RB_RPTR, t.v->ih.rptr);
    qvgpu_wr(t.v, IH_RB_CNTL, qvgpu_rd(t.v, IH_RB_CNTL) |
             IH_RB_CNTL__WPTR_OVERFLOW_CLEAR);
    for (i = 0; i < ENTRIES - 1; i++) {
        expect_trap(&t, ENTRIES + 1 + i);
    }
    for (i = 0; i < VGPU_RETRY_CAM_SLOTS; i++) {
        qvgpu_cam_ack(t.v, i);
    }
    i = qvgpu_ih_next_fault(t.v, 3, va, true, true);
    qvgpu_space_map(&space, va, qvgpu_alloc(t.v, QVGPU_RAM, 4096, 4096),
                    4096);
    qvgpu_cam_ack(t.v, i);
    qvgpu_sdma_finish(&q);
    qvgpu_stop(t.v);
}

/*
 * Catches: two entries have equal timestamps. A driver recognises stale entries
 * by their timestamps, which must therefore differ.
 */
static void test_timestamps(void)
{
    Ih t;
    uint64_t last = 0, now;
    QVGPUIrq irq;
    unsigned i;

    ih_start(&t);
    qtest_clock_step(t.v->qts, 1000000);
    /*
     * The clock stands still, but each timestamp is greater than the previous
     * timestamp.
     */
    for (i = 0; i < 20; i++) {
        traps(&t, i, 1);
        qvgpu_ih_next(t.v, &irq);
        g_assert_cmpuint(irq.timestamp, >, last);
        last = irq.timestamp;
    }
    /* Timestamps follow the clock and have more than 32 bits. */
    qtest_clock_step(t.v->qts, 60ll * 1000000000);
    now = qvgpu_clock(t.v);
    traps(&t, 0, 1);
    qvgpu_ih_next(t.v, &irq);
    g_assert_cmpuint(irq.timestamp, ==, now);
    g_assert_cmpuint(irq.timestamp, >, UINT32_MAX);
    qvgpu_stop(t.v);
}

/*
 * Catches: an entry is written to a ring that is disabled or has an invalid
 * size.
 */
static void test_bad_rings(void)
{
    static const unsigned orders[] = { 0, 1, 5, 17, 24, 31 };
    Ih t;
    unsigned i, dropped = 0;

    ih_start(&t);
    qvgpu_ih_init(t.v, SMALL, 0);
    qvgpu_wr(t.v, IH_RB_CNTL, 0);
    traps(&t, 1, 1);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_DROPPED), ==, ++dropped);
    for (i = 0; i < ARRAY_SIZE(orders); i++) {
        qvgpu_wr(t.v, IH_RB_CNTL, IH_RB_CNTL__RB_ENABLE |
                 VGPU_PREP(IH_RB_CNTL__RB_SIZE, orders[i]) |
                 VGPU_PREP(IH_RB_CNTL__MC_SPACE, 2u));
        traps(&t, 1, 1);
        g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_DROPPED), ==,
                         ++dropped);
    }
    qvgpu_expect_byte(t.v, t.v->ih.ring, 0, QVGPU_PAGE);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_ENTRIES), ==, 0);

    /* RPTR is taken modulo the size of the ring. */
    qvgpu_ih_init(t.v, SMALL, 0);
    qvgpu_wr(t.v, IH_RB_RPTR, 0xffffffff);
    g_assert_cmpuint(qvgpu_rd(t.v, IH_RB_RPTR), <, ENTRIES * IH_ENTRY_BYTES);
    qvgpu_wr(t.v, IH_RB_RPTR, 0);
    traps(&t, 9, 1);
    expect_trap(&t, 9);
    qvgpu_stop(t.v);
}

/*
 * Catches: entries of a ring in VRAM (address space 4) are not written to the
 * ring, or are written beyond the end of VRAM.
 */
static void test_ring_in_vram(void)
{
    Ih t;
    uint64_t ring;

    ih_start(&t);
    qvgpu_ih_init(t.v, SMALL, 0);
    ring = qvgpu_alloc(t.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    t.v->ih.ring = ring;
    qvgpu_wr(t.v, IH_RB_BASE, qvgpu_mc(t.v, ring) >> 8);
    qvgpu_wr(t.v, IH_RB_BASE_HI, qvgpu_mc(t.v, ring) >> 40);
    qvgpu_wr(t.v, IH_RB_CNTL, VGPU_SET(qvgpu_rd(t.v, IH_RB_CNTL),
                                       IH_RB_CNTL__MC_SPACE, 4u));
    traps(&t, 21, 1);
    expect_trap(&t, 21);

    qvgpu_wr(t.v, IH_RB_BASE,
             (qvgpu_mc(t.v, t.v->bar[VGPU_BAR_VRAM]) + t.v->vram_size) >> 8);
    traps(&t, 22, 1);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_IH_DROPPED), ==, 1);
    qvgpu_stop(t.v);
}

void qvgpu_add_ih_ring_tests(void)
{
    qtest_add_func("/vgpu-kfd/ih/entry", test_entry);
    qtest_add_func("/vgpu-kfd/ih/ring-wraps", test_ring_wraps);
    qtest_add_func("/vgpu-kfd/ih/no-writeback", test_no_writeback);
    qtest_add_func("/vgpu-kfd/ih/msi", test_msi);
    qtest_add_func("/vgpu-kfd/ih/msi-in-write", test_msi_in_write);
    qtest_add_func("/vgpu-kfd/ih/rptr-doorbell", test_rptr_doorbell);
    qtest_add_func("/vgpu-kfd/ih/overflow", test_overflow);
    qtest_add_func("/vgpu-kfd/ih/full-without-overflow",
                   test_full_without_overflow);
    qtest_add_func("/vgpu-kfd/ih/fault-lost-in-overflow",
                   test_fault_lost_in_overflow);
    qtest_add_func("/vgpu-kfd/ih/timestamps", test_timestamps);
    qtest_add_func("/vgpu-kfd/ih/bad-rings", test_bad_rings);
    qtest_add_func("/vgpu-kfd/ih/ring-in-vram", test_ring_in_vram);
}
