/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests time slices of run lists that do not fit the HQDs or VMIDs.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "tests/qtest/vgpu-kfd/cp/suite.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/hws.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "vgpu/aql.h"

/* GPU address of a page that all processes share */
#define SHARED      0x111100000000ull
/* GPU address at which each process has a page of its own */
#define OWN         0x222200000000ull
#define PASID(i)    (0x500 + (i))
#define MAX_QUEUES  48
#define ROUNDS      3
/* Maximum number of chains in a slice */
#define MAX_CHAINS  16
/* Dwords of a run list with one process, one queue and a chain packet */
#define CIRCLE_DWORDS \
    (PM4_MAP_PROCESS_DWORDS + PM4_MAP_QUEUES_DWORDS + PM4_RUN_LIST_DWORDS)

typedef struct Fixture {
    QVGPU *v;
    QVGPUHws h;
    unsigned processes, queues;         /* queues is a multiple of processes */
    uint64_t shared;
    /*
     * For each process: guest-physical address of the page that is mapped at
     * GPU address OWN.
     */
    uint64_t own[MAX_QUEUES];
    QVGPUProcess p[MAX_QUEUES];
    QVGPUUserCompute q[MAX_QUEUES];
} Fixture;

static unsigned process_of(Fixture *f, unsigned i)
{
    return i / (f->queues / f->processes);
}

/* Set up a run list that chains to its start, with time slices of 1 ms. */
static void setup_on(Fixture *f, QVGPU *v, unsigned processes, unsigned queues,
                     uint32_t vmids, uint64_t hqds)
{
    unsigned i;

    f->v = v;
    f->processes = processes;
    f->queues = queues;
    qvgpu_hws_init(&f->h, f->v);
    qvgpu_hws_resources(&f->h, vmids, hqds);
    f->shared = qvgpu_ram_page(f->v);
    qvgpu_list_begin(&f->h);
    for (i = 0; i < queues; i++) {
        unsigned n = process_of(f, i);

        if (i == 0 || n != process_of(f, i - 1)) {
            qvgpu_process_init(&f->p[n], f->v, PASID(n));
            f->own[n] = qvgpu_ram_page(f->v);
            qvgpu_space_map(&f->p[n].space, SHARED, f->shared, QVGPU_PAGE);
            qvgpu_space_map(&f->p[n].space, OWN, f->own[n], QVGPU_PAGE);
            qvgpu_list_process(&f->h, &f->p[n], 1);
        }
        qvgpu_user_compute_init(&f->q[i], f->v, &f->p[n], i);
        qvgpu_list_compute(&f->h, &f->q[i], 0);
    }
    qvgpu_list_chain(&f->h);
}

static void setup(Fixture *f, unsigned processes, unsigned queues,
                  uint32_t vmids, uint64_t hqds)
{
    setup_on(f, qvgpu_start(), processes, queues, vmids, hqds);
    qvgpu_time_passes(f->v);
}

static void wait_value(QVGPUCompute *c, uint64_t va, uint32_t val)
{
    QVGPU_PM4(c, PM4_WAIT_REG_MEM, PM4_WAIT_DW1__MEM_SPACE | QVGPU_POLL_EQ,
              QVGPU_LO(va), QVGPU_HI(va), val, UINT32_MAX, 10);
}

/*
 * Pass a token, the value of SHARED, from the last queue to the first. The
 * scheduler maps the queues from first to last. So the token often has to wait
 * for a later time slice, in which the next queue is mapped.
 */
static void relay(Fixture *f)
{
    unsigned round, i;

    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < f->queues; i++) {
            unsigned step = round * f->queues + f->queues - 1 - i;
            QVGPUCompute *c = &f->q[i].c;

            wait_value(c, SHARED, step);
            /* relay_finish() checks these writes to the queue's own page. */
            qvgpu_pm4_write(c, OWN + 8 * i, step << 8 | i);
            qvgpu_pm4_write(c, OWN + 8 * i + 4, ~step);
            qvgpu_pm4_write(c, SHARED, step + 1);
        }
    }
    for (i = 0; i < f->queues; i++) {
        qvgpu_user_compute_kick(&f->q[i]);
    }
}

static void relay_finish(Fixture *f)
{
    unsigned i;

    for (i = 0; i < f->queues; i++) {
        unsigned step = (ROUNDS - 1) * f->queues + f->queues - 1 - i;
        uint64_t own = f->own[process_of(f, i)] + 8 * i;

        qvgpu_user_compute_finish(&f->q[i]);
        g_assert_cmphex(qtest_readl(f->v->qts, own), ==, step << 8 | i);
        g_assert_cmphex(qtest_readl(f->v->qts, own + 4), ==, ~step);
    }
    g_assert_cmpuint(qtest_readl(f->v->qts, f->shared), ==,
                     ROUNDS * f->queues);
    g_assert_cmpuint(qvgpu_counter(f->v, VGPU_CNT_QUEUE_ERRORS), ==, 0);
    g_assert_false(qvgpu_ih_pending(f->v));
    qvgpu_hws_unmap(&f->h, PM4_UNMAP_PREEMPT, PM4_SEL_ALL, 0);
    qvgpu_hws_sync(&f->h);
    for (i = 0; i < f->queues; i++) {
        g_assert_cmphex(qvgpu_mqd_rd(&f->q[i], CP_HQD_PQ_RPTR), ==,
                        f->q[i].c.wptr);
    }
    qvgpu_stop(f->v);
}

/*
 * Catches: a queue gets no time slice, loses its position in the ring when it
 * is preempted, or writes to the address space of another process.
 */
static void test_queues(void)
{
    Fixture f;

    setup(&f, 1, 24, QVGPU_HWS_VMIDS, 0xf0f0);
    relay(&f);
    qvgpu_list_run(&f.h, 0);
    relay_finish(&f);
}

/* As test_queues(), with more processes than VMIDs. */
static void test_processes(void)
{
    Fixture f;

    setup(&f, 24, 24, QVGPU_HWS_VMIDS, UINT64_MAX);
    relay(&f);
    qvgpu_list_run(&f.h, 0);
    relay_finish(&f);
}

/* Return the number of HQDs to which queues of process @n are mapped. */
static unsigned mapped_queues(Fixture *f, unsigned n)
{
    QDict *info = qvgpu_query(f->v);
    QDict *compute = qdict_get_qdict(info, "compute");
    QListEntry *entry;
    unsigned mapped = 0;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(compute, "queues"), entry) {
        QDict *queue = qobject_to(QDict, qlist_entry_obj(entry));
        unsigned vmid = qdict_get_int(queue, "vmid");

        mapped += qvgpu_rd(f->v, ATC_VMID_PASID_MAPPING(vmid)) ==
                  (PASID(n) | ATC_VMID_PASID_MAPPING__VALID);
    }
    qobject_unref(info);
    return mapped;
}

/*
 * Run the list with PROCESS_CNT @count. Return in its first time slice, which
 * does not end before qvgpu_time_passes().
 */
static void run_first_slice(Fixture *f, unsigned count)
{
    relay(f);
    qvgpu_list_run(&f->h, count);
    qvgpu_hws_sync(&f->h);
}

/*
 * As test_queues(), with ten HQDs for twelve processes of four queues each. In
 * the first time slice, the third process has HQDs for only two queues. The
 * other two queues of this process run in a later slice.
 */
static void test_both(void)
{
    Fixture f;

    setup_on(&f, qvgpu_start(), 12, 48, QVGPU_HWS_VMIDS, 0x3ff);
    run_first_slice(&f, 3);
    g_assert_cmpuint(mapped_queues(&f, 0), ==, 4);
    g_assert_cmpuint(mapped_queues(&f, 1), ==, 4);
    g_assert_cmpuint(mapped_queues(&f, 2), ==, 2);
    g_assert_cmpuint(mapped_queues(&f, 3), ==, 0);
    qvgpu_time_passes(f.v);
    relay_finish(&f);
}

/*
 * As test_queues(), with VMIDs and HQDs for all processes. Catches: PROCESS_CNT
 * of RUN_LIST has no effect, or is off by one; the processes above PROCESS_CNT
 * get no time slice.
 */
static void test_process_count(void)
{
    unsigned i;
    Fixture f;

    setup_on(&f, qvgpu_start(), 6, 12, QVGPU_HWS_VMIDS, 0xfff);
    run_first_slice(&f, 2);
    for (i = 0; i < f.processes; i++) {
        g_assert_cmpuint(mapped_queues(&f, i), ==, i < 2 ? 2 : 0);
    }
    qvgpu_time_passes(f.v);
    relay_finish(&f);
}

/* Catches: queues are preempted although HQDs and VMIDs suffice for all. */
static void test_whole_list(void)
{
    unsigned i;
    Fixture f;

    setup(&f, 8, 16, QVGPU_HWS_VMIDS, 0xffff);
    relay(&f);
    qvgpu_list_run(&f.h, 0);
    for (i = 0; i < f.queues; i++) {
        qvgpu_user_compute_finish(&f.q[i]);
    }
    for (i = 0; i < f.queues; i++) {
        /* A preemption would have saved a nonzero wptr to the MQD. */
        g_assert_cmphex(qvgpu_mqd_rd(&f.q[i], CP_HQD_PQ_WPTR_LO), ==, 0);
    }
    relay_finish(&f);
}

/*
 * Set up @n run lists with one queue each, all of one process. Each list chains
 * to the next one, and the last list chains to the first one.
 */
static void setup_circle(Fixture *f, unsigned n)
{
    unsigned i;

    f->v = qvgpu_start();
    f->processes = 1;
    f->queues = n;
    qvgpu_hws_init(&f->h, f->v);
    qvgpu_hws_resources(&f->h, QVGPU_HWS_VMIDS, UINT32_MAX);
    f->shared = qvgpu_ram_page(f->v);
    f->own[0] = qvgpu_ram_page(f->v);
    qvgpu_process_init(&f->p[0], f->v, PASID(0));
    qvgpu_space_map(&f->p[0].space, SHARED, f->shared, QVGPU_PAGE);
    qvgpu_space_map(&f->p[0].space, OWN, f->own[0], QVGPU_PAGE);
    qvgpu_list_begin(&f->h);
    for (i = 0; i < n; i++) {
        uint64_t next = qvgpu_mc(f->v, f->h.list +
                                 4 * CIRCLE_DWORDS * ((i + 1) % n));
        uint32_t chain[] = {
            PM4_HEADER(PM4_RUN_LIST, 4u), QVGPU_LO(next), QVGPU_HI(next),
            CIRCLE_DWORDS | PM4_RUN_DW3__VALID | PM4_RUN_DW3__CHAIN,
        };

        qvgpu_user_compute_init(&f->q[i], f->v, &f->p[0], i);
        qvgpu_list_process(&f->h, &f->p[0], 1);
        qvgpu_list_compute(&f->h, &f->q[i], 0);
        qvgpu_list_emit(&f->h, chain, ARRAY_SIZE(chain));
    }
}

/* Return the number of active HQDs of ME 1. KIQ and HIQ are queues of ME 2. */
static unsigned active_hqds(QVGPU *v)
{
    QVGPUCompute c = { .v = v, .me = 1 };
    unsigned n = 0;

    for (c.pipe = 0; c.pipe < CP_NUM_PIPES; c.pipe++) {
        for (c.queue = 0; c.queue < CP_NUM_QUEUES; c.queue++) {
            n += !!(qvgpu_hqd_rd(&c, CP_HQD_ACTIVE) & CP_HQD_ACTIVE__ACTIVE);
        }
    }
    return n;
}

/*
 * Catches: a slice maps more lists than the specification allows; the last
 * chain that is allowed ends the slice, although it closes the circle, so that
 * queues are preempted without need.
 */
static void test_circle(void)
{
    unsigned lists, i;
    Fixture f;

    for (lists = MAX_CHAINS; lists <= MAX_CHAINS + 1; lists++) {
        setup_circle(&f, lists);
        qvgpu_list_run(&f.h, 0);
        qvgpu_hws_sync(&f.h);
        /* The virtual clock stands, so this is the first slice. */
        g_assert_cmpuint(active_hqds(f.v), ==, MAX_CHAINS);
        qvgpu_time_passes(f.v);
        relay(&f);
        for (i = 0; i < lists; i++) {
            qvgpu_user_compute_finish(&f.q[i]);
        }
        for (i = 0; lists == MAX_CHAINS && i < lists; i++) {
            /* A preemption would have saved a nonzero wptr to the MQD. */
            g_assert_cmphex(qvgpu_mqd_rd(&f.q[i], CP_HQD_PQ_WPTR_LO), ==, 0);
        }
        relay_finish(&f);
    }
}

/*
 * Take and acknowledge the next fault, and return true; if none is pending,
 * return false. Fails the test unless the fault is of process 2 at @va.
 */
static bool take_fault(Fixture *f, uint64_t va)
{
    QVGPUIrq irq;

    if (!qvgpu_ih_pending(f->v)) {
        return false;
    }
    qvgpu_ih_next(f->v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_UTCL2);
    g_assert_cmphex(irq.pasid, ==, PASID(2));
    g_assert_cmphex(irq.data[0], ==, (uint32_t)(va >> 12));
    qvgpu_cam_ack(f->v, irq.data[2]);
    return true;
}

/*
 * Catches: a stalled queue is not preempted, or does not resume at its fault;
 * the fault's interrupt entry names another process.
 */
static void test_stalled(void)
{
    const uint64_t va = OWN + QVGPU_PAGE;
    unsigned i, faults = 0;
    uint64_t page;
    Fixture f;

    setup(&f, 6, 6, 3u << 10, 3);
    page = qvgpu_ram_page(f.v);
    qvgpu_pm4_write(&f.q[2].c, va, 0x600d);
    relay(&f);
    qvgpu_list_run(&f.h, 0);
    /*
     * Queues 5, 4 and 3 each add 1 to f.shared. Queue 2 would be next, but its
     * first packet faults until @va is mapped.
     */
    qvgpu_wait_until(({
        faults += take_fault(&f, va);
        faults >= 4 && qtest_readl(f.v->qts, f.shared) == 3;
    }));
    g_assert_cmphex(qtest_readl(f.v->qts, page), ==, 0);
    qvgpu_space_map(&f.p[2].space, va, page, QVGPU_PAGE);
    for (i = 0; i < f.queues; i++) {
        qvgpu_wait_until(({
            take_fault(&f, va);
            qtest_readl(f.v->qts, f.q[i].c.rptr) == f.q[i].c.wptr;
        }));
    }
    g_assert_cmphex(qtest_readl(f.v->qts, page), ==, 0x600d);
    qvgpu_hws_unmap(&f.h, PM4_UNMAP_PREEMPT, PM4_SEL_ALL, 0);
    qvgpu_hws_sync(&f.h);
    while (take_fault(&f, va)) {
        /* Take the faults that were reported before the page was mapped. */
    }
    relay_finish(&f);
}

/*
 * Catches: a signal is decremented twice, or never, because the packet that
 * decrements the signal was preempted; a full ring is taken for an empty one.
 */
static void test_aql(void)
{
    const unsigned packets = 1024 / AQL_PACKET_DWORDS;
    unsigned i, n;
    Fixture f;

    setup(&f, 1, 12, 1u << 15, 0xf);
    for (i = 0; i < f.queues; i++) {
        QVGPUCompute *c = &f.q[i].c;

        qtest_writel(f.v->qts, f.q[i].mqd +
                     4 * (CP_MQD_HQD + CP_HQD_AQL_CONTROL), 1);
        qtest_writeq(f.v->qts, f.own[0] + 64 * i + AMD_SIGNAL_VALUE, packets);
        for (n = 0; n < packets; n++) {
            uint64_t at = c->ring + 64 * n;

            /*
             * The first packet waits for the shared signal. Each packet
             * decrements the queue's own signal.
             */
            if (n == 0) {
                qtest_writeq(f.v->qts, at + 8, SHARED);
            }
            qtest_writeq(f.v->qts, at + 4 * AQL_COMPLETION_SIGNAL,
                         OWN + 64 * i);
            qtest_writel(f.v->qts, at, AQL_BARRIER_AND);
        }
        qtest_writeq(f.v->qts, c->wptr_mem, packets);
    }
    qtest_writeq(f.v->qts, f.shared + AMD_SIGNAL_VALUE, 1);
    qvgpu_list_run(&f.h, 0);
    /*
     * Wait until each queue has had a time slice and was saved. No packet is
     * completed yet, because the shared signal is 1.
     */
    for (i = 0; i < f.queues; i++) {
        qvgpu_wait_until(qvgpu_mqd_rd(&f.q[i], CP_HQD_PQ_WPTR_LO) == 1024);
    }
    qtest_writeq(f.v->qts, f.shared + AMD_SIGNAL_VALUE, 0);
    for (i = 0; i < f.queues; i++) {
        qvgpu_wait_until(qtest_readq(f.v->qts, f.q[i].c.rptr) == packets);
        g_assert_cmpint((int64_t)qtest_readq(f.v->qts, f.own[0] + 64 * i +
                                             AMD_SIGNAL_VALUE), ==, 0);
    }
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_QUEUE_ERRORS), ==, 0);
    qvgpu_stop(f.v);
}

/*
 * Catches: a run list stops the HIQ if none of the list's queues can be mapped.
 */
static void test_starved(void)
{
    Fixture f;

    /* The scheduler has only VMID 0, which it cannot use, and no HQD. */
    setup(&f, 2, 2, 1, 0);
    relay(&f);
    qvgpu_list_run(&f.h, 0);
    qvgpu_hws_sync(&f.h);
    qvgpu_hws_resources(&f.h, 1u << 8, 1);
    qvgpu_hws_sync(&f.h);
    relay_finish(&f);
}

/*
 * Catches: after a dequeue request, the HIQ reads as inactive although the
 * scheduler can still map queues of the run list.
 */
static void test_owner_leaves(void)
{
    QVGPUHold h;
    Fixture f;

    qvgpu_hold_init(&h);
    setup_on(&f, qvgpu_start_sized(QVGPU_HOLD_VRAM, h.args), 2, 2,
             QVGPU_HWS_VMIDS, UINT32_MAX);
    /* Hold the scheduler before it maps the second process of the run list. */
    qvgpu_hold_arm(&h, f.v, "vgpu_hws_process", true);
    qvgpu_list_run(&f.h, 0);
    qvgpu_wait_until(qvgpu_hold_logged(&h));
    qvgpu_hqd_wr(&f.h.hiq, CP_HQD_DEQUEUE_REQUEST, 1);
    g_assert_cmphex(qvgpu_hqd_rd(&f.h.hiq, CP_HQD_ACTIVE), ==,
                    CP_HQD_ACTIVE__ACTIVE);
    g_assert_true(qvgpu_hold_logged(&h));
    qvgpu_hold_release(&h);
    qvgpu_wait_until(!qvgpu_hqd_rd(&f.h.hiq, CP_HQD_ACTIVE));
    qvgpu_trace(f.v, "vgpu_hws_process", false);
    qvgpu_stop(f.v);
    qvgpu_hold_destroy(&h);
}

void qvgpu_add_cp_timeslice_tests(void)
{
    qtest_add_func("/vgpu-kfd/hws/turns/queues", test_queues);
    qtest_add_func("/vgpu-kfd/hws/turns/processes", test_processes);
    qtest_add_func("/vgpu-kfd/hws/turns/both", test_both);
    qtest_add_func("/vgpu-kfd/hws/turns/process-count", test_process_count);
    qtest_add_func("/vgpu-kfd/hws/turns/settled", test_whole_list);
    qtest_add_func("/vgpu-kfd/hws/turns/circle", test_circle);
    qtest_add_func("/vgpu-kfd/hws/turns/stalled", test_stalled);
    qtest_add_func("/vgpu-kfd/hws/turns/aql", test_aql);
    qtest_add_func("/vgpu-kfd/hws/turns/starved", test_starved);
    qtest_add_func("/vgpu-kfd/hws/turns/owner-leaves", test_owner_leaves);
}
