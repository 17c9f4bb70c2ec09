/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests interrupt entries of VM faults, the retry CAM, and no-retry
 * faults.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/ih/suite.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define VMID    9
/*
 * An interrupt entry holds the page number in two data words. The page number
 * of VA has more than 32 bits, so that the tests check both words.
 */
#define VA      0xa56780000000ull

typedef struct Fault {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q;                /* user queue, engine 0 */
    QVGPUSdma kq;               /* kernel queue, engine 0 */
    /* 64 KiB of RAM at buf, with pattern 1 of qvgpu_fill(), mapped at buf_va */
    uint64_t buf, buf_va;
} Fault;

static void fault_start(Fault *f)
{
    f->v = qvgpu_start();
    qvgpu_space_init(&f->space, f->v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&f->q, f->v, 0, SDMA_QUEUE_RLC(0), &f->space);
    qvgpu_sdma_open(&f->kq, f->v, 0, SDMA_QUEUE_GFX, NULL);
    f->buf = qvgpu_alloc(f->v, QVGPU_RAM, 64 * KiB, QVGPU_PAGE);
    f->buf_va = qvgpu_space_place(&f->space, f->buf, 64 * KiB);
    qvgpu_fill(f->v, f->buf, 1, 0, 64 * KiB);
}

static uint64_t page(Fault *f)
{
    return qvgpu_alloc(f->v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
}

/*
 * Catches: the entry of a retry fault has a wrong VMID, address, access or
 * serial.
 */
static void test_retry_entry(void)
{
    Fault f;
    unsigned n;

    fault_start(&f);
    for (n = 0; n < 2; n++) {
        bool write = n;
        uint64_t va = VA + n * (1ull << 44) + 0x123;
        uint64_t at = page(&f);
        unsigned slot;
        QVGPUIrq irq;

        if (write) {
            qvgpu_pkt_copy(&f.q, f.buf_va, va, 16);
        } else {
            qvgpu_pkt_copy(&f.q, va, f.buf_va, 16);
        }
        qvgpu_sdma_kick(&f.q);
        qvgpu_wait_until(qvgpu_ih_pending(f.v));
        qvgpu_ih_decode(f.v, f.v->ih.rptr, &irq);
        g_assert_cmpuint(irq.data[3], ==, n + 1);
        g_assert_cmpuint(qvgpu_rd(f.v, VGPU_FAULT_SERIAL), ==, n + 1);
        slot = qvgpu_ih_next_fault(f.v, VMID, va, write, true);
        /* Only no-retry faults write the status registers. */
        g_assert_cmphex(qvgpu_mm_rd(f.v, VM_L2_PROTECTION_FAULT_STATUS), ==,
                        0);
        g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_FAULTS_RETRY), ==,
                         n + 1);
        g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_FAULTS_NORETRY), ==, 0);
        qvgpu_space_map(&f.space, va & ~0xfffull, at, QVGPU_PAGE);
        qvgpu_cam_ack(f.v, slot);
        qvgpu_sdma_finish(&f.q);
    }
    qvgpu_stop(f.v);
}

/*
 * Catches: a stalled queue blocks another queue of its VMID, a queue of another
 * VMID, or a queue of another engine.
 */
static void test_others_go_on(void)
{
    Fault f;
    QVGPUSpace other_space;
    QVGPUSdma same_vmid, other_vmid, other_engine;
    uint64_t at;

    fault_start(&f);
    qvgpu_space_init(&other_space, f.v, 1, QVGPU_VRAM);
    qvgpu_sdma_open(&same_vmid, f.v, 0, SDMA_QUEUE_RLC(1), &f.space);
    qvgpu_sdma_open(&other_vmid, f.v, 0, SDMA_QUEUE_RLC(2), &other_space);
    qvgpu_sdma_open(&other_engine, f.v, 1, SDMA_QUEUE_RLC(0), &f.space);
    at = page(&f);
    qvgpu_pkt_fence(&f.q, VA, 1);
    qvgpu_sdma_kick(&f.q);
    qvgpu_ih_next_fault(f.v, VMID, VA, true, true);

    qvgpu_pkt_fence(&same_vmid, qvgpu_space_place(&f.space, at, 4), 1);
    qvgpu_pkt_fence(&other_vmid, qvgpu_space_place(&other_space, at + 4, 4),
                    2);
    qvgpu_pkt_fence(&other_engine, qvgpu_space_place(&f.space, at + 8, 4), 3);
    qvgpu_sdma_finish(&same_vmid);
    qvgpu_sdma_finish(&other_vmid);
    qvgpu_sdma_finish(&other_engine);
    g_assert_cmphex(qtest_readl(f.v->qts, at), ==, 1);
    g_assert_cmphex(qtest_readl(f.v->qts, at + 4), ==, 2);
    g_assert_cmphex(qtest_readl(f.v->qts, at + 8), ==, 3);
    g_assert_cmphex(qvgpu_sdma_rptr(&f.q), ==, 0);
    g_assert_false(qvgpu_sdma_idle(&f.q));
    g_assert_false(qvgpu_ih_pending(f.v));
    qvgpu_stop(f.v);
}

/*
 * Catches: faults of several queues on one page send several interrupt entries;
 * the acknowledge of the page's CAM slot does not wake all of these queues.
 */
static void test_same_page_once(void)
{
    Fault f;
    QVGPUSdma q[6];
    uint64_t at;
    unsigned i, slot;

    fault_start(&f);
    at = page(&f);
    for (i = 0; i < ARRAY_SIZE(q); i++) {
        qvgpu_sdma_open(&q[i], f.v, i & 1, SDMA_QUEUE_RLC(1 + i / 2),
                        &f.space);
        qvgpu_pkt_fence(&q[i], VA + 8 * i, i + 1);
        qvgpu_sdma_kick(&q[i]);
    }
    qvgpu_wait_until(qvgpu_counter(f.v, VGPU_CNT_FAULTS_MERGED) ==
                     ARRAY_SIZE(q) - 1);
    slot = qvgpu_ih_next_fault(f.v, VMID, VA, true, true);
    g_assert_false(qvgpu_ih_pending(f.v));
    qvgpu_space_map(&f.space, VA, at, QVGPU_PAGE);
    qvgpu_cam_ack(f.v, slot);
    for (i = 0; i < ARRAY_SIZE(q); i++) {
        qvgpu_sdma_finish(&q[i]);
        g_assert_cmphex(qtest_readq(f.v->qts, at + 8 * i), ==, i + 1);
    }
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_FAULTS_RETRY), ==, 1);
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_REPLAYS), ==, ARRAY_SIZE(q));
    g_assert_false(qvgpu_ih_pending(f.v));
    qvgpu_stop(f.v);
}

/* Catches: an unacknowledged fault is reported again too early, or never. */
static void test_resend(void)
{
    const int64_t second = QVGPU_RESEND_NS / 5;
    Fault f;
    QVGPUSdma joins, late, kq1;
    uint64_t at[2];
    unsigned slot[2];

    fault_start(&f);
    at[0] = page(&f);
    at[1] = page(&f);
    qvgpu_sdma_open(&late, f.v, 0, SDMA_QUEUE_RLC(1), &f.space);
    qvgpu_sdma_open(&joins, f.v, 1, SDMA_QUEUE_RLC(0), &f.space);
    qvgpu_sdma_open(&kq1, f.v, 1, SDMA_QUEUE_GFX, NULL);
    qvgpu_pkt_fence(&f.q, VA, 1);
    qvgpu_sdma_kick(&f.q);
    slot[0] = qvgpu_ih_next_fault(f.v, VMID, VA, true, true);
    qvgpu_pkt_fence(&joins, VA + 8, 2);
    qvgpu_sdma_kick(&joins);
    qvgpu_wait_until(qvgpu_counter(f.v, VGPU_CNT_FAULTS_MERGED) == 1);
    qtest_clock_step(f.v->qts, 2 * second);
    qvgpu_pkt_fence(&late, VA + QVGPU_PAGE, 3);
    qvgpu_sdma_kick(&late);
    slot[1] = qvgpu_ih_next_fault(f.v, VMID, VA + QVGPU_PAGE, true, true);
    qvgpu_sdma_pass(&f.kq);

    qtest_clock_step(f.v->qts, 3 * second - 1);
    qvgpu_sdma_pass(&f.kq);
    qvgpu_sdma_pass(&kq1);
    g_assert_false(qvgpu_ih_pending(f.v));
    qtest_clock_step(f.v->qts, 1);
    /* The device reports the first fault again after QVGPU_RESEND_NS. */
    g_assert_cmpuint(qvgpu_ih_next_fault(f.v, VMID, VA, true, true), ==,
                     slot[0]);
    /* Catches: the fault is reported once for each queue that waits for it. */
    qvgpu_sdma_pass(&f.kq);
    qvgpu_sdma_pass(&kq1);
    g_assert_false(qvgpu_ih_pending(f.v));
    qtest_clock_step(f.v->qts, 2 * second);
    g_assert_cmpuint(qvgpu_ih_next_fault(f.v, VMID, VA + QVGPU_PAGE, true,
                                         true), ==, slot[1]);
    /* Each report of a fault doubles the interval to its next report. */
    qtest_clock_step(f.v->qts, 8 * second - 1);
    qvgpu_sdma_pass(&f.kq);
    qvgpu_sdma_pass(&kq1);
    g_assert_false(qvgpu_ih_pending(f.v));
    qtest_clock_step(f.v->qts, 1);
    g_assert_cmpuint(qvgpu_ih_next_fault(f.v, VMID, VA, true, true), ==,
                     slot[0]);

    qvgpu_space_map(&f.space, VA, at[0], QVGPU_PAGE);
    qvgpu_space_map(&f.space, VA + QVGPU_PAGE, at[1], QVGPU_PAGE);
    qvgpu_cam_ack(f.v, slot[0]);
    qvgpu_cam_ack(f.v, slot[1]);
    qvgpu_sdma_finish(&f.q);
    qvgpu_sdma_finish(&joins);
    qvgpu_sdma_finish(&late);
    qtest_clock_step(f.v->qts, 60 * second);
    qvgpu_sdma_pass(&f.kq);
    g_assert_false(qvgpu_ih_pending(f.v));
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_FAULTS_RETRY), ==, 2);
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_FAULTS_MERGED), ==, 1);
    qvgpu_stop(f.v);
}

/* Catches: faults of two VMIDs at the same address share a CAM slot. */
static void test_same_page_two_vmids(void)
{
    Fault f;
    QVGPUSpace other;
    QVGPUSdma q;
    unsigned slot[2];

    fault_start(&f);
    qvgpu_space_init(&other, f.v, VMID + 1, QVGPU_VRAM);
    qvgpu_sdma_open(&q, f.v, 0, SDMA_QUEUE_RLC(1), &other);
    qvgpu_pkt_fence(&f.q, VA, 1);
    qvgpu_sdma_kick(&f.q);
    slot[0] = qvgpu_ih_next_fault(f.v, VMID, VA, true, true);
    qvgpu_pkt_fence(&q, VA, 1);
    qvgpu_sdma_kick(&q);
    slot[1] = qvgpu_ih_next_fault(f.v, VMID + 1, VA, true, true);
    g_assert_cmpuint(slot[0], !=, slot[1]);
    qvgpu_space_map(&f.space, VA, page(&f), QVGPU_PAGE);
    qvgpu_cam_ack(f.v, slot[0]);
    qvgpu_sdma_finish(&f.q);
    g_assert_false(qvgpu_sdma_idle(&q));
    qvgpu_stop(f.v);
}

/*
 * 18 queues fault on one page each; the CAM has 16 slots. Catches: a fault is
 * lost, or overwrites a CAM slot.
 */
static void test_cam_full(void)
{
    enum { QUEUES = 18 };
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_alloc(v, QVGPU_VRAM, QUEUES * QVGPU_PAGE, QVGPU_PAGE);
    QVGPUSdma q[QUEUES], kq;
    uint32_t seen = 0;
    QVGPUSpace space;
    unsigned i;

    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&kq, v, 0, SDMA_QUEUE_GFX, NULL);
    for (i = 0; i < QUEUES; i++) {
        qvgpu_sdma_open(&q[i], v, i & 1, SDMA_QUEUE_PAGE + i / 2, &space);
        qvgpu_pkt_fence(&q[i], VA + i * QVGPU_PAGE, i);
        qvgpu_sdma_kick(&q[i]);
    }
    qvgpu_wait_until(qvgpu_counter(v, VGPU_CNT_FAULTS_RETRY) == 16);
    /*
     * Catches: the engine spins while the CAM is full, so that other queues do
     * not run.
     */
    qvgpu_sdma_pass(&kq);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_FAULTS_RETRY), ==, 16);

    for (i = 0; i < QUEUES; i++) {
        QVGPUIrq irq;
        unsigned n, slot;

        /*
         * There are two more faults than CAM slots. The entries of two faults
         * come only after qvgpu_cam_ack() below has freed slots.
         */
        qvgpu_ih_next(v, &irq);
        n = irq.data[0] - (uint32_t)(VA >> 12);
        g_assert_cmpuint(n, <, QUEUES);
        g_assert_cmphex(seen & (1u << n), ==, 0);
        seen |= 1u << n;
        slot = irq.data[2];
        qvgpu_space_map(&space, VA + n * QVGPU_PAGE, at + n * QVGPU_PAGE,
                        QVGPU_PAGE);
        qvgpu_cam_ack(v, slot);
        qvgpu_sdma_finish(&q[n]);
        g_assert_cmphex(qtest_readl(v->qts, at + n * QVGPU_PAGE), ==, n);
    }
    g_assert_cmphex(seen, ==, (1u << QUEUES) - 1);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_FAULTS_RETRY), ==, QUEUES);
    qvgpu_stop(v);
}

/*
 * Catches: an acknowledge of a free slot or of an index beyond the CAM wakes a
 * queue, or accesses memory out of bounds.
 */
static void test_stray_acks(void)
{
    static const uint32_t stray[] = { 0, 5, 15, 16, 255, 1023, 0xffffffff };
    Fault f;
    unsigned i, slot;

    fault_start(&f);
    for (i = 0; i < ARRAY_SIZE(stray); i++) {
        qvgpu_cam_ack(f.v, stray[i]);
        qtest_writel(f.v->qts, f.v->bar[VGPU_BAR_DOORBELL] +
                     4 * DOORBELL_IH_RETRY_CAM_DW, stray[i]);
    }
    qvgpu_pkt_fence(&f.q, VA, 1);
    qvgpu_sdma_kick(&f.q);
    slot = qvgpu_ih_next_fault(f.v, VMID, VA, true, true);
    for (i = 0; i < ARRAY_SIZE(stray); i++) {
        if ((stray[i] & IH_RETRY_CAM_ACK__INDEX) != slot) {
            qvgpu_cam_ack(f.v, stray[i]);
        }
    }
    qvgpu_sdma_pass(&f.kq);
    g_assert_false(qvgpu_ih_pending(f.v));
    g_assert_cmphex(qvgpu_sdma_rptr(&f.q), ==, 0);
    qvgpu_stop(f.v);
}

/* Catches: while the CAM is off, a queue retries only after an acknowledge. */
static void test_cam_off(void)
{
    Fault f;
    uint64_t at;
    unsigned i;

    fault_start(&f);
    at = page(&f);
    qvgpu_time_passes(f.v);
    qvgpu_wr(f.v, IH_RETRY_INT_CAM_CNTL, 0);
    qvgpu_pkt_copy(&f.q, f.buf_va, VA, QVGPU_PAGE);
    qvgpu_sdma_kick(&f.q);
    for (i = 0; i < 5; i++) {
        qvgpu_ih_next_fault(f.v, VMID, VA, true, true);
    }
    qvgpu_space_map(&f.space, VA, at, QVGPU_PAGE);
    qvgpu_sdma_finish(&f.q);
    qvgpu_expect(f.v, at, 1, 0, QVGPU_PAGE);
    qvgpu_stop(f.v);
}

/* Catches: a write with a no-retry fault reaches memory or stops the engine. */
static void test_noretry_write(void)
{
    Fault f;
    uint64_t first, last;
    uint32_t status;

    fault_start(&f);
    qvgpu_space_set_retry(&f.space, false);
    first = page(&f);
    last = page(&f);
    /* The second of three pages is not mapped. */
    qvgpu_space_map(&f.space, VA, first, QVGPU_PAGE);
    qvgpu_space_map(&f.space, VA + 2 * QVGPU_PAGE, last, QVGPU_PAGE);
    qvgpu_pkt_copy(&f.q, f.buf_va, VA, 3 * QVGPU_PAGE);
    qvgpu_pkt_fence(&f.q, f.buf_va, 0x600d);
    qvgpu_sdma_finish(&f.q);
    g_assert_cmphex(qtest_readl(f.v->qts, f.buf), ==, 0x600d);
    qvgpu_expect(f.v, first, 1, 0, QVGPU_PAGE);
    qvgpu_expect(f.v, last, 1, 2 * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_ih_next_fault(f.v, VMID, VA + QVGPU_PAGE, true, false);
    g_assert_false(qvgpu_ih_pending(f.v));

    status = qvgpu_mm_rd(f.v, VM_L2_PROTECTION_FAULT_STATUS);
    g_assert_cmphex(VGPU_GET(status, VM_L2_PROTECTION_FAULT_STATUS__CID), ==,
                    VGPU_CID_SDMA(0));
    g_assert_cmphex(status & VM_L2_PROTECTION_FAULT_STATUS__RW, !=, 0);
    g_assert_cmphex(qvgpu_mm_rd64(f.v, VM_L2_PROTECTION_FAULT_ADDR_LO32), ==,
                    (VA >> 12) + 1);
    qvgpu_stop(f.v);
}

/*
 * Catches: a read with a no-retry fault does not return the default page; if no
 * default page is set, the read does not return zeros.
 */
static void test_default_page(void)
{
    Fault f;
    uint64_t dflt;

    fault_start(&f);
    qvgpu_space_set_retry(&f.space, false);
    qvgpu_pkt_copy(&f.q, VA + 100, f.buf_va, 2 * QVGPU_PAGE);
    qvgpu_sdma_finish(&f.q);
    qvgpu_expect_byte(f.v, f.buf, 0, 2 * QVGPU_PAGE);
    qvgpu_expect(f.v, f.buf + 2 * QVGPU_PAGE, 1, 2 * QVGPU_PAGE, 100);

    dflt = qvgpu_alloc(f.v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(f.v, dflt, 2, 0, QVGPU_PAGE);
    qvgpu_mm_wr64(f.v, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32, dflt >> 12);
    qvgpu_pkt_copy(&f.q, VA + 100, f.buf_va, 2 * QVGPU_PAGE);
    qvgpu_sdma_finish(&f.q);
    qvgpu_expect(f.v, f.buf, 2, 100, QVGPU_PAGE - 100);
    qvgpu_expect(f.v, f.buf + QVGPU_PAGE - 100, 2, 0, QVGPU_PAGE);
    qvgpu_expect(f.v, f.buf + 2 * QVGPU_PAGE - 100, 2, 0, 100);

    /* Writes never reach the default page. */
    qvgpu_pkt_fill(&f.q, VA, 0xdd, QVGPU_PAGE, 0);
    qvgpu_sdma_finish(&f.q);
    qvgpu_expect(f.v, dflt, 2, 0, QVGPU_PAGE);
    qvgpu_stop(f.v);
}

/*
 * Catches: a copy of 1 GiB of unmapped memory raises many interrupts, or copies
 * byte by byte and takes too long.
 */
static void test_noretry_flood(void)
{
    Fault f;

    fault_start(&f);
    qvgpu_space_set_retry(&f.space, false);
    qvgpu_pkt_copy(&f.q, VA, VA + 1 * TiB, 1 * GiB);
    qvgpu_pkt_fence(&f.q, f.buf_va, 0x600d);
    qvgpu_sdma_finish(&f.q);
    g_assert_cmphex(qtest_readl(f.v->qts, f.buf), ==, 0x600d);
    qvgpu_ih_next_fault(f.v, VMID, VA, false, false);
    g_assert_false(qvgpu_ih_pending(f.v));
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_FAULTS_NORETRY), ==, 1);
    g_assert_cmphex(qvgpu_mm_rd(f.v, VM_L2_PROTECTION_FAULT_STATUS) &
                    VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS, !=, 0);
    qvgpu_stop(f.v);
}

/* Catches: the walk ignores NORETRY in an entry of PTB or PDB0. */
static void test_noretry_entry(void)
{
    static const unsigned levels[] = { VGPU_LEVEL_PTB, VGPU_LEVEL_PDB0 };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(levels); i++) {
        Fault f;
        unsigned slot;

        fault_start(&f);
        /*
         * The first fault is a retry fault. The test then sets NORETRY in the
         * entry, as a driver does for a process without XNACK.
         */
        qvgpu_pkt_copy(&f.q, f.buf_va, VA, 64);
        qvgpu_pkt_copy(&f.q, VA, f.buf_va, 64);
        qvgpu_sdma_kick(&f.q);
        slot = qvgpu_ih_next_fault(f.v, VMID, VA, true, true);
        qvgpu_space_set(&f.space, VA, levels[i], VGPU_PTE_NORETRY);
        qvgpu_invalidate(f.v, 1u << VMID);
        qvgpu_cam_ack(f.v, slot);
        qvgpu_sdma_finish(&f.q);
        qvgpu_ih_next_fault(f.v, VMID, VA, true, false);
        qvgpu_ih_next_fault(f.v, VMID, VA, false, false);
        g_assert_false(qvgpu_ih_pending(f.v));
        qvgpu_expect_byte(f.v, f.buf, 0, 64);
        /*
         * The access failed after its stall. Only an access that succeeds after
         * its stall counts as a replay.
         */
        g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_REPLAYS), ==, 0);
        qvgpu_stop(f.v);
    }
}

/* Catches: a copy accesses its destination before it reads its source. */
static void test_read_comes_first(void)
{
    Fault f;
    unsigned slot;

    fault_start(&f);
    qvgpu_pkt_copy(&f.q, VA, VA + 1 * GiB, QVGPU_PAGE);
    qvgpu_sdma_kick(&f.q);
    slot = qvgpu_ih_next_fault(f.v, VMID, VA, false, true);
    qvgpu_space_map(&f.space, VA, page(&f), QVGPU_PAGE);
    qvgpu_cam_ack(f.v, slot);
    qvgpu_ih_next_fault(f.v, VMID, VA + 1 * GiB, true, true);
    qvgpu_stop(f.v);
}

void qvgpu_add_ih_fault_tests(void)
{
    qtest_add_func("/vgpu-kfd/fault/retry-entry", test_retry_entry);
    qtest_add_func("/vgpu-kfd/fault/others-go-on", test_others_go_on);
    qtest_add_func("/vgpu-kfd/fault/same-page-once", test_same_page_once);
    qtest_add_func("/vgpu-kfd/fault/resend", test_resend);
    qtest_add_func("/vgpu-kfd/fault/same-page-two-vmids",
                   test_same_page_two_vmids);
    qtest_add_func("/vgpu-kfd/fault/cam-full", test_cam_full);
    qtest_add_func("/vgpu-kfd/fault/stray-acks", test_stray_acks);
    qtest_add_func("/vgpu-kfd/fault/cam-off", test_cam_off);
    qtest_add_func("/vgpu-kfd/fault/noretry-write", test_noretry_write);
    qtest_add_func("/vgpu-kfd/fault/default-page", test_default_page);
    qtest_add_func("/vgpu-kfd/fault/noretry-flood", test_noretry_flood);
    qtest_add_func("/vgpu-kfd/fault/noretry-entry", test_noretry_entry);
    qtest_add_func("/vgpu-kfd/fault/read-comes-first",
                   test_read_comes_first);
}
