/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests AQL packets in compute queues: headers, barriers, signals,
 * faults, refused packets, and a full ring.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/cp/suite.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/migration.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "vgpu/aql.h"

typedef struct Fixture {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUCompute c;
    uint64_t page, va;          /* CPU and GPU address of a page of signals */
    uint64_t index;             /* number of packets emitted */
} Fixture;

#define SIGNAL(f, i)    ((f)->va + 64 * (i))

static void setup(Fixture *f)
{
    unsigned i;

    f->v = qvgpu_start();
    qvgpu_time_passes(f->v);
    f->index = 0;
    qvgpu_space_init(&f->space, f->v, 4, QVGPU_VRAM);
    qvgpu_cp_setup(f->v);
    qvgpu_compute_init(&f->c, f->v, 1, 1, 1, &f->space);
    f->c.aql = 1;
    f->c.control |= CP_HQD_PQ_CONTROL__NO_UPDATE_RPTR;
    f->page = qvgpu_ram_page(f->v);
    f->va = qvgpu_compute_place(&f->c, f->page, QVGPU_PAGE);
    for (i = 0; i < f->c.dwords; i += AQL_PACKET_DWORDS) {
        qtest_writel(f->v->qts, f->c.ring + 4 * i, AQL_INVALID);
    }
    qvgpu_compute_load(&f->c);
}

static int64_t value(Fixture *f, unsigned signal)
{
    return qtest_readq(f->v->qts, f->page + 64 * signal + AMD_SIGNAL_VALUE);
}

static void set_value(Fixture *f, unsigned signal, int64_t val)
{
    qtest_writeq(f->v->qts, f->page + 64 * signal + AMD_SIGNAL_VALUE, val);
}

static uint64_t slot(Fixture *f, uint64_t index)
{
    return f->c.ring + 64 * (index % (f->c.dwords / AQL_PACKET_DWORDS));
}

/* Write the packet's body first, then its header, as an HSA producer does. */
static void put(Fixture *f, uint64_t index, uint32_t header,
                const uint64_t *body, uint64_t completion)
{
    unsigned i;

    for (i = 0; i < 6; i++) {
        qtest_writeq(f->v->qts, slot(f, index) + 8 + 8 * i,
                     body ? body[i] : 0);
    }
    qtest_writeq(f->v->qts, slot(f, index) + 56, completion);
    qtest_writel(f->v->qts, slot(f, index), header);
}

static void emit(Fixture *f, uint32_t header, const uint64_t *body,
                 uint64_t completion)
{
    put(f, f->index++, header, body, completion);
    qtest_writeq(f->v->qts, f->c.wptr_mem, f->index);
}

/*
 * Ring the doorbell. As HSA defines, the doorbell value is the index of the
 * last packet, not the write index.
 */
static void ring(Fixture *f, uint64_t index)
{
    qtest_writeq(f->v->qts, f->v->bar[VGPU_BAR_DOORBELL] + f->c.doorbell,
                 index);
}

static void finish(Fixture *f)
{
    ring(f, f->index - 1);
    qvgpu_wait_until(qtest_readq(f->v->qts, f->c.rptr) == f->index);
}

/*
 * Catches: a barrier packet completes early, or waits for a null signal; the
 * queue does not continue at the start of the ring.
 */
static void test_barrier(void)
{
    const unsigned slots = 1024 / AQL_PACKET_DWORDS;
    uint64_t body[6] = { 0 };
    unsigned i;
    Fixture f;

    setup(&f);
    for (i = 0; i < 3; i++) {
        set_value(&f, i, 1);
        body[i + 1] = SIGNAL(&f, i);
    }
    set_value(&f, 5, 10);
    emit(&f, AQL_BARRIER_OR, body, SIGNAL(&f, 5));
    emit(&f, AQL_BARRIER_AND | AQL_DW0__BARRIER, body, SIGNAL(&f, 5));
    emit(&f, AQL_BARRIER_AND, NULL, SIGNAL(&f, 5));
    ring(&f, 2);
    set_value(&f, 1, 0);
    qvgpu_wait_until(value(&f, 5) == 9);
    /*
     * Set signal 1 again. The AND packet waits for signals 0 and 2, and for
     * signal 1 unless the packet has already seen the value 0.
     */
    set_value(&f, 1, 1);
    set_value(&f, 0, 0);
    /* The read index must be the number of completed packets. */
    qvgpu_wait_until(qtest_readq(f.v->qts, f.c.rptr) == 1);
    g_assert_cmpint(value(&f, 5), ==, 9);
    set_value(&f, 1, 0);
    set_value(&f, 2, 0);
    qvgpu_wait_until(qtest_readq(f.v->qts, f.c.rptr) == 3);
    g_assert_cmpint(value(&f, 5), ==, 7);
    /* The headers of completed packets must be invalid. */
    for (i = 0; i < 3; i++) {
        g_assert_cmphex(qtest_readl(f.v->qts, slot(&f, i)) & 0xffff, ==,
                        AQL_INVALID);
    }

    for (i = 0; i < 2 * slots; i++) {
        emit(&f, AQL_BARRIER_AND, NULL, SIGNAL(&f, 5));
        finish(&f);
    }
    g_assert_cmpint(value(&f, 5), ==, 7 - 2 * (int)slots);
    g_assert_cmphex(qvgpu_hqd_rd(&f.c, CP_HQD_ERROR), ==, 0);
    qvgpu_stop(f.v);
}

/*
 * Catches: a packet runs before its header is valid; a packet does not run
 * after its header has become valid.
 */
static void test_invalid_header(void)
{
    Fixture f;

    setup(&f);
    set_value(&f, 0, 5);
    f.index = 2;
    qtest_writeq(f.v->qts, f.c.wptr_mem, 2);
    put(&f, 1, AQL_BARRIER_AND, NULL, SIGNAL(&f, 0));
    ring(&f, 1);
    qvgpu_wait_until(qvgpu_hqd_rd(&f.c, CP_HQD_PQ_WPTR_LO) == 32);
    g_assert_cmpint(value(&f, 0), ==, 5);
    put(&f, 0, AQL_BARRIER_AND, NULL, SIGNAL(&f, 0));
    ring(&f, 0);
    qvgpu_wait_until(qtest_readq(f.v->qts, f.c.rptr) == 2);
    g_assert_cmpint(value(&f, 0), ==, 3);
    qvgpu_stop(f.v);
}

/*
 * Catches: the queue stops permanently if its write index is more than a ring's
 * length ahead of its read index. (Producers may reserve packets while the ring
 * is full.)
 */
static void test_overrun(void)
{
    const unsigned slots = 1024 / AQL_PACKET_DWORDS;
    unsigned i;
    Fixture f;

    setup(&f);
    for (i = 0; i < slots; i++) {
        emit(&f, AQL_BARRIER_AND, NULL, SIGNAL(&f, 0));
    }
    /* Producers have reserved three packets more than the ring holds. */
    qtest_writeq(f.v->qts, f.c.wptr_mem, slots + 3);
    ring(&f, slots - 1);
    qvgpu_wait_until(qtest_readq(f.v->qts, f.c.rptr) == slots);
    for (i = 0; i < 3; i++) {
        emit(&f, AQL_BARRIER_AND, NULL, SIGNAL(&f, 0));
    }
    finish(&f);
    g_assert_cmpint(value(&f, 0), ==, -(int)slots - 3);
    qvgpu_stop(f.v);
}

/*
 * Catches: after a save and load with a full ring, the queue ignores the write
 * index in memory, and never executes later packets.
 */
static void test_overrun_moved(void)
{
    const unsigned slots = 1024 / AQL_PACKET_DWORDS;
    uint64_t first[6] = { 0 }, last[6] = { 0 };
    unsigned i;
    Fixture f;

    setup(&f);
    set_value(&f, 1, 1);
    set_value(&f, 2, 1);
    first[1] = SIGNAL(&f, 1);
    last[1] = SIGNAL(&f, 2);
    for (i = 0; i < slots; i++) {
        emit(&f, AQL_BARRIER_AND, i == 0 ? first :
                                  i == slots - 1 ? last : NULL, 0);
    }
    /* Producers have reserved three packets more than the ring holds. */
    qtest_writeq(f.v->qts, f.c.wptr_mem, slots + 3);
    ring(&f, slots - 1);
    qvgpu_wait_until(qvgpu_hqd_rd(&f.c, CP_HQD_PQ_WPTR_LO) ==
                     AQL_PACKET_DWORDS * slots);
    /* Save and load while the first packet in the ring waits. */
    qvgpu_save_restore(f.v, false);
    qvgpu_cont(f.v);
    set_value(&f, 1, 0);
    /*
     * Wait until the queue comes to packet @slots - 1. Then write the three
     * reserved packets, but do not ring the doorbell. The write index in memory
     * already includes these packets: the queue must read the write index.
     */
    qvgpu_wait_until(qtest_readq(f.v->qts, f.c.rptr) == slots - 1);
    for (i = 0; i < 3; i++) {
        put(&f, slots + i, AQL_BARRIER_AND, NULL, 0);
    }
    set_value(&f, 2, 0);
    qvgpu_wait_until(qtest_readq(f.v->qts, f.c.rptr) == slots + 3);
    qvgpu_stop(f.v);
}

/*
 * Catches: a completion does not send the event of its signal; an event is sent
 * for a signal that has no event mailbox.
 */
static void test_event(void)
{
    Fixture f;

    setup(&f);
    set_value(&f, 0, 1);
    qtest_writeq(f.v->qts, f.page + AMD_SIGNAL_EVENT_MAILBOX_PTR,
                 f.va + 0x800);
    qtest_writel(f.v->qts, f.page + AMD_SIGNAL_EVENT_ID, 0x123);
    qtest_writel(f.v->qts, f.page + AMD_SIGNAL_EVENT_ID + 4, 0xbad);
    emit(&f, AQL_BARRIER_AND, NULL, SIGNAL(&f, 0));
    emit(&f, AQL_BARRIER_AND, NULL, SIGNAL(&f, 1));
    finish(&f);
    g_assert_cmpint(value(&f, 0), ==, 0);
    g_assert_cmphex(qtest_readq(f.v->qts, f.page + 0x800), ==, 0x123);
    qvgpu_compute_irq(&f.c, IH_SRC_CP_END_OF_PIPE, 0x123);
    g_assert_false(qvgpu_ih_pending(f.v));
    qvgpu_stop(f.v);
}

/*
 * Catches: BARRIER_VALUE ignores its condition or mask; a dequeue completes a
 * BARRIER_VALUE that still waits.
 */
static void test_barrier_value(void)
{
    static const struct {
        int64_t before, after, value, mask;
        unsigned cond;
    } cases[] = {
        { 0xf1, 0xf7, 7, 0xf, 0 },
        { 7, 6, 7, -1, 1 },
        { 5, -6, -5, -1, 2 },
        { -5, 1, 0, -1, 3 },
    };
    unsigned i;
    Fixture f;

    setup(&f);
    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t body[6] = {
            SIGNAL(&f, 0), cases[i].value, cases[i].mask, cases[i].cond,
        };

        set_value(&f, 0, cases[i].before);
        emit(&f, AQL_VENDOR | AQL_AMD_BARRIER_VALUE << 16, body,
             SIGNAL(&f, 1));
        ring(&f, i);
        qvgpu_wait_until(qvgpu_hqd_rd(&f.c, CP_HQD_PQ_WPTR_LO) ==
                         16 * f.index);
        qvgpu_compute_dequeue(&f.c);
        g_assert_cmpint(value(&f, 1), ==, -(int)i);
        set_value(&f, 0, cases[i].after);
        qvgpu_hqd_wr(&f.c, CP_HQD_ACTIVE, 1);
        qvgpu_wait_until(qtest_readq(f.v->qts, f.c.rptr) == f.index);
        g_assert_cmpint(value(&f, 1), ==, -(int)i - 1);
    }
    qvgpu_stop(f.v);
}

/*
 * A vendor packet refers to an indirect buffer with PM4 packets.
 *
 * Catches: the PM4 packets do not run; the vendor packet completes twice.
 */
static void test_pm4_ib(void)
{
    uint32_t pkt[] = {
        PM4_HEADER(PM4_WRITE_DATA, 5),
        VGPU_PREP(PM4_WRITE_DATA_DW1__DST_SEL, PM4_DST_MEM), 0, 0, 0x4711,
    };
    uint64_t buf, va;
    unsigned i;
    Fixture f;

    setup(&f);
    buf = qvgpu_ram_page(f.v);
    va = qvgpu_compute_place(&f.c, buf, QVGPU_PAGE);
    pkt[2] = f.va + 0x900;
    pkt[3] = f.va >> 32;
    for (i = 0; i < ARRAY_SIZE(pkt); i++) {
        qtest_writel(f.v->qts, buf + 4 * i, pkt[i]);
    }
    put(&f, 0, AQL_INVALID, NULL, SIGNAL(&f, 0));
    qtest_writel(f.v->qts, slot(&f, 0) + 4, PM4_HEADER(PM4_INDIRECT_BUFFER, 4));
    qtest_writel(f.v->qts, slot(&f, 0) + 8, QVGPU_LO(va));
    qtest_writel(f.v->qts, slot(&f, 0) + 12, QVGPU_HI(va));
    qtest_writel(f.v->qts, slot(&f, 0) + 16,
                 ARRAY_SIZE(pkt) | PM4_IB_DW3__VALID);
    qtest_writel(f.v->qts, slot(&f, 0) + 20, 10);
    qtest_writel(f.v->qts, slot(&f, 0), AQL_VENDOR | AQL_AMD_PM4_IB << 16);
    f.index = 1;
    qtest_writeq(f.v->qts, f.c.wptr_mem, 1);
    finish(&f);
    g_assert_cmphex(qtest_readl(f.v->qts, f.page + 0x900), ==, 0x4711);
    g_assert_cmpint(value(&f, 0), ==, -1);
    qvgpu_stop(f.v);
}

static void refused(uint32_t header, unsigned code)
{
    Fixture f;

    setup(&f);
    set_value(&f, 0, 1);
    emit(&f, header, NULL, SIGNAL(&f, 0));
    emit(&f, AQL_BARRIER_AND, NULL, SIGNAL(&f, 0));
    ring(&f, 1);
    qvgpu_compute_irq(&f.c, IH_SRC_CP_BAD_OPCODE,
                      VGPU_PREP(IH_CP_ERROR__CODE, code) |
                      (f.c.doorbell / 8 & IH_CP_ERROR__DOORBELL));
    g_assert_cmphex(qvgpu_hqd_rd(&f.c, CP_HQD_ERROR), ==,
                    CP_HQD_ERROR__AQL_ERROR);
    g_assert_cmpint(value(&f, 0), ==, 1);
    g_assert_cmphex(qtest_readq(f.v->qts, f.c.rptr), ==, 0);
    qvgpu_stop(f.v);
}

/*
 * Catches: a dispatch packet completes, although the device cannot run kernels.
 */
static void test_refused(void)
{
    refused(AQL_KERNEL_DISPATCH, CP_ERROR_PACKET_UNSUPPORTED);
    refused(AQL_AGENT_DISPATCH, CP_ERROR_PACKET_UNSUPPORTED);
    refused(6, CP_ERROR_PACKET_RESERVED);
    refused(AQL_VENDOR, CP_ERROR_VENDOR_UNSUPPORTED);
}

/*
 * Catches: a signal is decremented twice if the write to its event mailbox
 * faults.
 */
static void test_fault(void)
{
    const uint64_t va = 0x23456000;
    QVGPUIrq irq;
    Fixture f;

    setup(&f);
    set_value(&f, 0, 1);
    qtest_writeq(f.v->qts, f.page + AMD_SIGNAL_EVENT_MAILBOX_PTR, va);
    qtest_writel(f.v->qts, f.page + AMD_SIGNAL_EVENT_ID, 7);
    emit(&f, AQL_BARRIER_AND, NULL, SIGNAL(&f, 0));
    ring(&f, 0);
    qvgpu_ih_next(f.v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_UTCL2);
    g_assert_cmpint(value(&f, 0), ==, 0);
    /*
     * Dequeue the queue while the packet's completion is stalled on the page of
     * the event mailbox. Map the page, then activate the queue again.
     */
    qvgpu_compute_dequeue(&f.c);
    qvgpu_space_map(&f.space, va, f.page, QVGPU_PAGE);
    qvgpu_gfx_invalidate(f.v, 1u << 4);
    qvgpu_cam_ack(f.v, VGPU_GET(irq.data[2], IH_FAULT_D2__CAM_INDEX));
    qvgpu_hqd_wr(&f.c, CP_HQD_ACTIVE, 1);
    qvgpu_wait_until(qtest_readq(f.v->qts, f.c.rptr) == 1);
    g_assert_cmpint(value(&f, 0), ==, 0);
    g_assert_cmphex(qtest_readq(f.v->qts, f.page), ==, 7);
    qvgpu_compute_irq(&f.c, IH_SRC_CP_END_OF_PIPE, 7);
    qvgpu_stop(f.v);
}

void qvgpu_add_cp_aql_tests(void)
{
    qtest_add_func("/vgpu-kfd/cp/aql/barrier", test_barrier);
    qtest_add_func("/vgpu-kfd/cp/aql/invalid-header", test_invalid_header);
    qtest_add_func("/vgpu-kfd/cp/aql/overrun", test_overrun);
    qtest_add_func("/vgpu-kfd/cp/aql/overrun-moved", test_overrun_moved);
    qtest_add_func("/vgpu-kfd/cp/aql/event", test_event);
    qtest_add_func("/vgpu-kfd/cp/aql/barrier-value", test_barrier_value);
    qtest_add_func("/vgpu-kfd/cp/aql/pm4-ib", test_pm4_ib);
    qtest_add_func("/vgpu-kfd/cp/aql/refused", test_refused);
    qtest_add_func("/vgpu-kfd/cp/aql/fault", test_fault);
}
