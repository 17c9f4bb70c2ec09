/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests of injected errors in interrupts (fault-*, ih-overflow) and
 * in TLB invalidations (inv-*). Another test raises an interrupt during a
 * surprise removal.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "tests/qtest/vgpu-kfd/inject/suite.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define VMID    11
#define VA      UINT64_C(0x600000000000)
#define DELAY   1000000         /* ns */
/*
 * Invalidation engine. If you change this number, also change 17 in the
 * arguments of test_no_ack().
 */
#define INV_ENG 17

typedef struct Irq {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q;
    QVGPUSdma kq;
    uint64_t page;
} Irq;

static void irq_start(Irq *t)
{
    t->v = qvgpu_start();
    qvgpu_space_init(&t->space, t->v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&t->q, t->v, 0, SDMA_QUEUE_RLC(0), &t->space);
    qvgpu_sdma_open(&t->kq, t->v, 0, SDMA_QUEUE_GFX, NULL);
    t->page = qvgpu_alloc(t->v, QVGPU_VRAM, 2 * QVGPU_PAGE, QVGPU_PAGE);
}

/*
 * Cause a retry fault at VA. On return, the engine has pushed the interrupt
 * entry of the fault, or an injection has dropped or delayed the entry.
 */
static void fault(Irq *t)
{
    qvgpu_pkt_fence(&t->q, VA, 1);
    qvgpu_sdma_kick(&t->q);
    qvgpu_wait_until(qvgpu_counter(t->v, VGPU_CNT_FAULTS_RETRY) == 1);
    /*
     * Wait for a packet of kq, another queue of the engine. The engine pushes
     * the fault's entry before it serves kq.
     */
    qvgpu_sdma_pass(&t->kq);
}

static void repair(Irq *t, unsigned slot)
{
    qvgpu_space_map(&t->space, VA, t->page, QVGPU_PAGE);
    qvgpu_cam_ack(t->v, slot);
    qvgpu_sdma_finish(&t->q);
    g_assert_cmphex(qtest_readl(t->v->qts, t->page), ==, 1);
}

/* Catches: a spurious entry differs from the entry of a real fault. */
static void test_spurious(void)
{
    QVGPU *v = qvgpu_start();
    uint32_t id;
    QDict *info;
    unsigned i, slot;

    id = qvgpu_inject(v, "'kind': 'fault-spurious', 'vmid': %u, "
                      "'va': %" PRIu64 ", 'write': true, 'retry': true",
                      VMID, VA);
    g_assert_cmpuint(qvgpu_inject_fired(v, id), ==, 1);
    slot = qvgpu_ih_next_fault(v, VMID, VA, true, true);
    info = qvgpu_query(v);
    g_assert_cmpuint(qlist_size(qdict_get_qlist(info, "cam")), ==, 1);
    qobject_unref(info);
    /*
     * Until the spurious fault is acknowledged, a fault of the same page uses
     * the same CAM slot.
     */
    qvgpu_inject(v, "'kind': 'fault-spurious', 'vmid': %u, "
                 "'va': %" PRIu64 ", 'write': true, 'retry': true", VMID, VA);
    g_assert_cmpuint(qvgpu_ih_next_fault(v, VMID, VA, true, true), ==, slot);
    /* Catches: a repeated spurious entry is counted as another fault. */
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_FAULTS_RETRY), ==, 1);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_FAULTS_MERGED), ==, 1);
    /*
     * Catches: the CAM slot of a spurious entry stays in use after the
     * acknowledge.
     */
    qvgpu_cam_ack(v, slot);
    info = qvgpu_query(v);
    g_assert_true(qlist_empty(qdict_get_qlist(info, "cam")));
    qobject_unref(info);

    id = qvgpu_inject(v, "'kind': 'fault-spurious', 'vmid': %u, "
                      "'va': %" PRIu64 ", 'count': 3", VMID, VA);
    g_assert_cmpuint(qvgpu_inject_fired(v, id), ==, 3);
    for (i = 0; i < 3; i++) {
        qvgpu_ih_next_fault(v, VMID, VA, false, false);
    }
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_inject_refused(v, "'kind': 'fault-spurious', 'skip': 1");
    qvgpu_inject_refused(v, "'kind': 'fault-spurious', 'count': 100000");
    qvgpu_stop(v);
}

/*
 * Catches: a division by 0, because the number of pages in a range overflows.
 */
static void test_spurious_everywhere(void)
{
    /*
     * In bytes. The first length is 2^39 pages. The other two lengths, rounded
     * up to pages, are 2^64 bytes: 2^52 pages.
     */
    static const uint64_t lengths[] = {
        1ull << 51, UINT64_MAX - VGPU_PAGE_SIZE + 2, UINT64_MAX,
    };
    QVGPU *v = qvgpu_start();
    uint32_t page = 0;
    QVGPUIrq irq;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(lengths); i++) {
        /* All rounds have the same seed and thus the same random number R. */
        qvgpu_inject(v, "'kind': 'fault-spurious', 'vmid': %u, "
                     "'length': %" PRIu64, VMID, lengths[i]);
        qvgpu_ih_next(v, &irq);
        /*
         * The chosen page's number is R modulo the number of pages. The number
         * of pages is a multiple of 2^32. So data[0] (bits 31:0) is the same
         * in all rounds.
         */
        page = i ? page : irq.data[0];
        g_assert_cmphex(irq.data[0], ==, page);
    }
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_stop(v);
}

/*
 * Catches: the duplicate entry differs from the first entry; there is a third
 * entry.
 */
static void test_duplicate(void)
{
    QVGPUIrq a, b;
    uint32_t id;
    Irq t;

    irq_start(&t);
    id = qvgpu_inject(t.v, "'kind': 'fault-duplicate', 'vmid': %u", VMID);
    fault(&t);
    qvgpu_ih_next(t.v, &a);
    qvgpu_ih_next(t.v, &b);
    g_assert_false(qvgpu_ih_pending(t.v));
    g_assert_true(!memcmp(a.data, b.data, sizeof(a.data)));
    g_assert_cmpuint(b.timestamp, >, a.timestamp);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    repair(&t, VGPU_GET(a.data[2], IH_FAULT_D2__CAM_INDEX));
    qvgpu_stop(t.v);
}

/*
 * The injection "fault-drop" suppresses the interrupt entry of a fault. The
 * engine must send the entry later. Catches: the device loses the fault itself;
 * the entry never comes; the entry comes with the serial of a new fault.
 */
static void test_drop(void)
{
    QVGPUIrq again;
    uint32_t id;
    QDict *info;
    Irq t;

    irq_start(&t);
    id = qvgpu_inject(t.v, "'kind': 'fault-drop', 'va': %" PRIu64 ", "
                      "'count': 1", VA);
    fault(&t);
    g_assert_false(qvgpu_ih_pending(t.v));
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    info = qvgpu_query(t.v);
    g_assert_cmpuint(qlist_size(qdict_get_qlist(info, "cam")), ==, 1);
    qobject_unref(info);
    /*
     * After QVGPU_RESEND_NS, the engine sends the entry again. The entry still
     * has serial 1, because the fault is not a new one.
     */
    qtest_clock_step(t.v->qts, QVGPU_RESEND_NS - 1);
    qvgpu_sdma_pass(&t.kq);
    g_assert_false(qvgpu_ih_pending(t.v));
    qtest_clock_step(t.v->qts, 1);
    qvgpu_ih_next(t.v, &again);
    g_assert_cmphex(again.data[0], ==, (uint32_t)(VA >> VGPU_PAGE_SHIFT));
    g_assert_cmpuint(again.data[3], ==, 1);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_FAULTS_RETRY), ==, 1);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_FAULTS_MERGED), ==, 0);
    repair(&t, VGPU_GET(again.data[2], IH_FAULT_D2__CAM_INDEX));
    qvgpu_stop(t.v);

    /*
     * This time, repair the page before the device sends the dropped entry
     * again. Catches: the queue does not continue without the entry.
     */
    irq_start(&t);
    qvgpu_inject(t.v, "'kind': 'fault-drop', 'va': %" PRIu64, VA);
    fault(&t);
    repair(&t, 0);
    g_assert_false(qvgpu_ih_pending(t.v));
    qvgpu_stop(t.v);
}

/* Catches: a delayed entry comes immediately, never, or twice. */
static void test_delay(void)
{
    uint32_t id;
    Irq t;

    irq_start(&t);
    id = qvgpu_inject(t.v, "'kind': 'fault-delay', 'delay-ns': %u", DELAY);
    fault(&t);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    qtest_clock_step(t.v->qts, DELAY - 1);
    g_assert_false(qvgpu_ih_pending(t.v));
    qtest_clock_step(t.v->qts, 1);
    repair(&t, qvgpu_ih_next_fault(t.v, VMID, VA, true, true));
    qtest_clock_step(t.v->qts, DELAY);
    g_assert_false(qvgpu_ih_pending(t.v));
    qvgpu_stop(t.v);
}

/*
 * Catches: an injected overflow does not set the overflow bit of WPTR; the
 * injection acts on an entry of another source, or also on the next entry.
 */
static void test_overflow(const void *where)
{
    uint32_t id;
    Irq t;

    irq_start(&t);
    id = qvgpu_inject(t.v, "'kind': 'ih-overflow', 'count': 1, %s",
                      (const char *)where);
    qvgpu_ih_init(t.v, 10, IH_RB_CNTL__WPTR_OVERFLOW_ENABLE);
    /* An entry of another source does not match this injection. */
    qvgpu_pkt_trap(&t.kq, 1);
    qvgpu_sdma_finish(&t.kq);
    g_assert_cmphex(qvgpu_ih_writeback(t.v) & IH_RB_WPTR__RB_OVERFLOW, ==, 0);
    fault(&t);
    g_assert_cmphex(qvgpu_ih_writeback(t.v) & IH_RB_WPTR__RB_OVERFLOW, !=, 0);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    qvgpu_wr(t.v, IH_RB_CNTL, qvgpu_rd(t.v, IH_RB_CNTL) |
             IH_RB_CNTL__WPTR_OVERFLOW_CLEAR);
    g_assert_cmphex(qvgpu_ih_writeback(t.v) & IH_RB_WPTR__RB_OVERFLOW, ==, 0);
    /*
     * The injection has a count of 1 and has acted once, so the next entry
     * causes no overflow.
     */
    qvgpu_pkt_trap(&t.kq, 2);
    qvgpu_sdma_finish(&t.kq);
    g_assert_cmphex(qvgpu_ih_writeback(t.v) & IH_RB_WPTR__RB_OVERFLOW, ==, 0);
    qvgpu_stop(t.v);
}

static void map(Irq *t, unsigned page)
{
    qvgpu_space_map(&t->space, VA, t->page + page * QVGPU_PAGE, QVGPU_PAGE);
}

/* Return the index, 0 or 1, of the page that the engine finds at VA. */
static unsigned found(Irq *t)
{
    static uint32_t n;

    qvgpu_pkt_fence(&t->q, VA, ++n);
    qvgpu_sdma_finish(&t->q);
    if (qtest_readl(t->v->qts, t->page) == n) {
        return 0;
    }
    g_assert_cmphex(qtest_readl(t->v->qts, t->page + QVGPU_PAGE), ==, n);
    return 1;
}

static void request(Irq *t, uint32_t vmids)
{
    qvgpu_mm_wr64(t->v, VM_INVALIDATE_ENG_ADDR_RANGE_LO32(INV_ENG),
                  0x1fffffffffull);
    qvgpu_mm_wr(t->v, VM_INVALIDATE_ENG_REQ(INV_ENG), vmids |
                VM_INVALIDATE_ENG_REQ__L2_PTES |
                VM_INVALIDATE_ENG_REQ__L2_PDE0 |
                VM_INVALIDATE_ENG_REQ__L2_PDE1 |
                VM_INVALIDATE_ENG_REQ__L2_PDE2 |
                VM_INVALIDATE_ENG_REQ__L1_PTES);
}

static uint32_t acknowledged(Irq *t)
{
    return qvgpu_mm_rd(t->v, VM_INVALIDATE_ENG_ACK(INV_ENG));
}

/*
 * Catches: inv-no-ack does not suppress the acknowledge; inv-no-ack also
 * suppresses the invalidation, the acknowledge of another VMID, or the
 * acknowledge of the next request.
 */
static void test_no_ack(const void *where)
{
    uint32_t id;
    QDict *info, *inv;
    Irq t;

    irq_start(&t);
    map(&t, 0);
    g_assert_cmpuint(found(&t), ==, 0);
    id = qvgpu_inject(t.v, "'kind': 'inv-no-ack', 'vmid': %u, 'count': 1, %s",
                      VMID, (const char *)where);
    map(&t, 1);
    request(&t, 1u << VMID | 2);
    qvgpu_wait_until(acknowledged(&t) & 2);
    g_assert_cmpuint(found(&t), ==, 1);
    g_assert_cmphex(acknowledged(&t) & (1u << VMID), ==, 0);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    info = qvgpu_query(t.v);
    inv = qobject_to(QDict, qlist_peek(qdict_get_qlist(info,
                                                       "invalidations")));
    g_assert_nonnull(inv);
    g_assert_cmpuint(qdict_get_int(inv, "engine"), ==, INV_ENG);
    g_assert_cmphex(qdict_get_int(inv, "vmids"), ==, 1u << VMID);
    qobject_unref(info);

    request(&t, 1u << VMID);
    qvgpu_wait_until(acknowledged(&t) & (1u << VMID));
    qvgpu_stop(t.v);
}

/*
 * Catches: with inv-early-ack, the acknowledge still waits for the
 * invalidation; the invalidation is never done.
 */
static void test_early_ack(void)
{
    uint32_t id;
    Irq t;

    irq_start(&t);
    map(&t, 0);
    g_assert_cmpuint(found(&t), ==, 0);
    id = qvgpu_inject(t.v, "'kind': 'inv-early-ack', 'delay-ns': %u, "
                      "'vmid': %u", DELAY, VMID);
    map(&t, 1);
    request(&t, 1u << VMID);
    g_assert_cmphex(acknowledged(&t), ==, 1u << VMID);
    g_assert_cmpuint(qvgpu_inject_fired(t.v, id), ==, 1);
    g_assert_cmpuint(found(&t), ==, 0);
    qtest_clock_step(t.v->qts, DELAY - 1);
    g_assert_cmpuint(found(&t), ==, 0);
    qtest_clock_step(t.v->qts, 1);
    g_assert_cmpuint(found(&t), ==, 1);
    qvgpu_stop(t.v);
}

/* Catches: a removed device sends an MSI when a stopped machine continues. */
static void test_removal_msi(void)
{
    QVGPUHold h;
    unsigned i;
    QVGPU *v;

    qvgpu_hold_init(&h);
    v = qvgpu_start_sized(QVGPU_HOLD_VRAM, h.args);
    /* During the removal, the CP raises an interrupt, so that an MSI is due. */
    qvgpu_hold_removal(&h, v, 1);

    g_assert_true(qvgpu_ih_pending(v));
    for (i = 0; i < 2; i++) {
        g_assert_false(qvgpu_msi_take(v));
        qtest_qmp_assert_success(v->qts, "{ 'execute': 'stop' }");
        qtest_qmp_assert_success(v->qts, "{ 'execute': 'cont' }");
    }
    g_assert_false(qvgpu_msi_take(v));
    qvgpu_stop(v);
    qvgpu_hold_destroy(&h);
}

void qvgpu_add_inject_fault_irq_tests(void)
{
    qtest_add_func("/vgpu-kfd/inject/removal-msi", test_removal_msi);
    qtest_add_func("/vgpu-kfd/inject/fault-spurious", test_spurious);
    qtest_add_func("/vgpu-kfd/inject/fault-spurious-everywhere",
                   test_spurious_everywhere);
    qtest_add_func("/vgpu-kfd/inject/fault-duplicate", test_duplicate);
    qtest_add_func("/vgpu-kfd/inject/fault-drop", test_drop);
    qtest_add_func("/vgpu-kfd/inject/fault-delay", test_delay);
    /*
     * The "-start" cases use the deprecated arguments 'start' and 'length'. For
     * interrupts 'start' is client * 256 + source, here 18 * 256 + 0.
     */
    qtest_add_data_func("/vgpu-kfd/inject/ih-overflow",
                        "'client': 18, 'source': 0", test_overflow);
    qtest_add_data_func("/vgpu-kfd/inject/ih-overflow-start",
                        "'start': 4608, 'length': 1", test_overflow);
    qtest_add_data_func("/vgpu-kfd/inject/inv-no-ack", "'inv-engine': 17",
                        test_no_ack);
    qtest_add_data_func("/vgpu-kfd/inject/inv-no-ack-start",
                        "'start': 17, 'length': 1", test_no_ack);
    qtest_add_func("/vgpu-kfd/inject/inv-early-ack", test_early_ack);
}
