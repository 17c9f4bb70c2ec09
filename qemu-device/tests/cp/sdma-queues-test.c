/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests SDMA queues that the scheduler maps. */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/cp/suite.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hws.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define SRC         0x111100000000ull
#define DST         0x222200000000ull   /* queue n uses DST + n * STRIDE */
#define SUMS        0x333300000000ull   /* queue n uses SUMS + 8 * n */
#define STRIDE      (1 * GiB)
#define PASID(i)    (0x600 + (i))

/*
 * UNMAP_QUEUES saves a queue to its MQD. Catches: the queue has lost a
 * register, a pointer or unfinished work when it is mapped again.
 */
static void test_ring(void)
{
    unsigned engine, round;
    QVGPUSpace space;
    QVGPUUserSdma u;
    uint64_t src, dst;
    QVGPUHws h;

    QVGPU *v = qvgpu_start();

    qvgpu_space_init(&space, v, 5, QVGPU_RAM);
    qvgpu_hws_init(&h, v);
    src = qvgpu_ram_page(v);
    dst = qvgpu_ram_page(v);
    qvgpu_space_map(&space, SRC, src, QVGPU_PAGE);
    qvgpu_space_map(&space, DST, dst, QVGPU_PAGE);
    for (engine = 0; engine < SDMA_NUM_ENGINES; engine++) {
        uint32_t dw[7], cntl = SDMA_ENGINE(engine) +
                               SDMA_QUEUE(SDMA_QUEUE_RLC(0)) + SDMA_RB_CNTL;

        qvgpu_user_sdma_init(&u, v, &space, engine, 0);
        qvgpu_user_sdma_map(&u, 0, dw);
        for (round = 1; round < 4; round++) {
            unsigned seed = 16 * engine + round;

            qvgpu_fill(v, src, seed, 0, QVGPU_PAGE);
            qvgpu_pkt_copy(&u.q, SRC, DST, QVGPU_PAGE);
            qvgpu_user_sdma_kick(&u);   /* the queue is not mapped yet */
            qvgpu_pm4(&h.hiq, dw, ARRAY_SIZE(dw));
            qvgpu_hws_sync(&h);
            g_assert_cmphex(qvgpu_rd(v, cntl), ==,
                            u.q.cntl | SDMA_RB_CNTL__RB_ENABLE);
            qvgpu_user_sdma_finish(&u);
            qvgpu_expect(v, dst, seed, 0, QVGPU_PAGE);
            qvgpu_pkt_fill(&u.q, DST, round, QVGPU_PAGE, 2);
            qvgpu_user_sdma_kick(&u);
            qvgpu_user_sdma_finish(&u);
            g_assert_cmphex(qtest_readl(v->qts, dst + 8), ==, round);
            if (round == 2) {
                /* UNMAP_QUEUES for another engine has no effect. */
                QVGPU_PM4(&h.hiq, PM4_UNMAP_QUEUES,
                          VGPU_PREP(PM4_UNMAP_DW1__QUEUE_SEL, PM4_SEL_ALL) |
                          VGPU_PREP(PM4_MAP_DW1__EXT_ENGINE_SEL, 1u) |
                          VGPU_PREP(PM4_MAP_DW1__ENGINE_SEL,
                                    (engine + 1) % SDMA_NUM_ENGINES),
                          0, 0, 0, 0);
                qvgpu_hws_sync(&h);
                g_assert_cmphex(qvgpu_rd(v, cntl), ==,
                                u.q.cntl | SDMA_RB_CNTL__RB_ENABLE);
            }
            qvgpu_hws_unmap(&h, PM4_UNMAP_PREEMPT, PM4_SEL_DOORBELLS,
                            u.q.doorbell);
            qvgpu_hws_sync(&h);
            g_assert_cmphex(qvgpu_rd(v, cntl), ==, u.q.cntl);
            g_assert_cmphex(qtest_readq(v->qts, u.mqd + 4 * SDMA_RB_RPTR), ==,
                            u.q.wptr);
            g_assert_cmphex(qtest_readl(v->qts, u.mqd + 4 * SDMA_RB_CNTL), ==,
                            u.q.cntl);
        }
    }
    qvgpu_stop(v);
}

#define PROCESSES   3
#define QUEUES      12                  /* queues of each process */
#define LINKS       30
#define BYTES       (256 * KiB)

/*
 * Catches: a queue gets no time slice if RLCs and VMIDs do not suffice; a
 * preempted copy or atomic addition is done twice or never.
 */
static void test_timeslices(void)
{
    QVGPUProcess p[PROCESSES];
    QVGPUUserSdma u[PROCESSES][QUEUES];
    uint64_t src[PROCESSES], dst[PROCESSES][QUEUES], sums[PROCESSES];
    unsigned i, j, n;
    QVGPUHws h;

    QVGPU *v = qvgpu_start();

    qvgpu_time_passes(v);
    qvgpu_hws_init(&h, v);
    qvgpu_hws_resources(&h, 1u << 12, 1);
    qvgpu_list_begin(&h);
    for (i = 0; i < PROCESSES; i++) {
        qvgpu_process_init(&p[i], v, PASID(i));
        src[i] = qvgpu_alloc(v, QVGPU_RAM, BYTES, QVGPU_PAGE);
        sums[i] = qvgpu_ram_page(v);
        qvgpu_fill(v, src[i], 100 + i, 0, BYTES);
        qvgpu_space_map(&p[i].space, SRC, src[i], BYTES);
        qvgpu_space_map(&p[i].space, SUMS, sums[i], QVGPU_PAGE);
        qvgpu_list_process(&h, &p[i], 1);
        for (j = 0; j < QUEUES; j++) {
            /* All 36 queues are on engine 1, which has only 8 RLCs. */
            qvgpu_user_sdma_init(&u[i][j], v, &p[i].space, 1, QUEUES * i + j);
            dst[i][j] = qvgpu_alloc(v, QVGPU_RAM, BYTES, QVGPU_PAGE);
            qvgpu_space_map(&p[i].space, DST + j * STRIDE, dst[i][j], BYTES);
            for (n = 0; n < LINKS; n++) {
                qvgpu_pkt_copy(&u[i][j].q, SRC, DST + j * STRIDE, BYTES);
                qvgpu_pkt_add64(&u[i][j].q, SUMS + 8 * j, 1 + n);
            }
            qvgpu_user_sdma_kick(&u[i][j]);
            qvgpu_list_sdma(&h, &u[i][j]);
        }
    }
    qvgpu_list_chain(&h);
    qvgpu_list_run(&h, 0);
    for (i = 0; i < PROCESSES; i++) {
        for (j = 0; j < QUEUES; j++) {
            qvgpu_user_sdma_finish(&u[i][j]);
            qvgpu_expect(v, dst[i][j], 100 + i, 0, BYTES);
            g_assert_cmpuint(qtest_readq(v->qts, sums[i] + 8 * j), ==,
                             LINKS * (LINKS + 1) / 2);
        }
    }
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED), ==,
                     (uint64_t)PROCESSES * QUEUES * LINKS * BYTES);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_QUEUE_ERRORS), ==, 0);
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_stop(v);
}

/*
 * Take and acknowledge the next fault, and return true; if none is pending,
 * return false. Fails the test unless the fault has @pasid and @va.
 */
static bool take_fault(QVGPU *v, unsigned pasid, uint64_t va)
{
    QVGPUIrq irq;

    if (!qvgpu_ih_pending(v)) {
        return false;
    }
    qvgpu_ih_next(v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_VMC);
    g_assert_cmphex(irq.pasid, ==, pasid);
    g_assert_cmphex(irq.data[0], ==, (uint32_t)(va >> 12));
    qvgpu_cam_ack(v, irq.data[2]);
    return true;
}

/*
 * Catches: a stalled queue is not preempted; a stalled queue resumes at a wrong
 * position in its indirect buffer.
 */
static void test_stalled(void)
{
    const uint64_t missing = DST + 2 * QVGPU_PAGE;
    uint64_t src, dst, sums, ib, from;
    unsigned i, faults = 0;
    QVGPUUserSdma u[2];
    QVGPUProcess p[2];
    uint32_t dwords;
    QVGPUHws h;

    QVGPU *v = qvgpu_start();

    qvgpu_time_passes(v);
    qvgpu_hws_init(&h, v);
    qvgpu_hws_resources(&h, 1u << 12, 1);
    qvgpu_list_begin(&h);
    sums = qvgpu_ram_page(v);
    for (i = 0; i < 2; i++) {
        qvgpu_process_init(&p[i], v, PASID(i));
        qvgpu_user_sdma_init(&u[i], v, &p[i].space, 2, i);
        qvgpu_space_map(&p[i].space, SUMS, sums, QVGPU_PAGE);
        qvgpu_list_process(&h, &p[i], 1);
        qvgpu_list_sdma(&h, &u[i]);
    }
    qvgpu_list_chain(&h);
    src = qvgpu_alloc(v, QVGPU_RAM, 4 * QVGPU_PAGE, QVGPU_PAGE);
    dst = qvgpu_alloc(v, QVGPU_RAM, 4 * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(v, src, 9, 0, 4 * QVGPU_PAGE);
    qvgpu_space_map(&p[0].space, SRC, src, 4 * QVGPU_PAGE);
    qvgpu_space_map(&p[0].space, DST, dst, 2 * QVGPU_PAGE);

    from = u[0].q.wptr;
    qvgpu_pkt_add64(&u[0].q, SUMS, 1);
    qvgpu_pkt_copy(&u[0].q, SRC, DST, 4 * QVGPU_PAGE);
    qvgpu_pkt_add64(&u[0].q, SUMS, 0x100);
    ib = qvgpu_sdma_to_buffer(&u[0].q, from, &dwords);
    qvgpu_pkt_indirect(&u[0].q, 0,
                       qvgpu_space_place(&p[0].space, ib, dwords * 4), dwords);
    qvgpu_pkt_add64(&u[0].q, SUMS, 0x10000);
    qvgpu_user_sdma_kick(&u[0]);
    qvgpu_list_run(&h, 0);
    /*
     * While queue 0 is stalled, queue 1 gets work. The processes of both queues
     * share one VMID, in time slices.
     */
    for (i = 0; i < 8; i++) {
        qvgpu_pkt_add64(&u[1].q, SUMS + 8, 1);
        qvgpu_user_sdma_kick(&u[1]);
        qvgpu_wait_until(({
            faults += take_fault(v, PASID(0), missing);
            qtest_readq(v->qts, u[1].q.rptr) == u[1].q.wptr;
        }));
        qvgpu_wait_until(({
            faults += take_fault(v, PASID(0), missing);
            faults > i;
        }));
    }
    g_assert_cmphex(qtest_readq(v->qts, sums), ==, 1);
    qvgpu_space_map(&p[0].space, DST, dst, 4 * QVGPU_PAGE);
    qvgpu_wait_until(({
        take_fault(v, PASID(0), missing);
        qtest_readq(v->qts, u[0].q.rptr) == u[0].q.wptr;
    }));
    qvgpu_expect(v, dst, 9, 0, 4 * QVGPU_PAGE);
    g_assert_cmphex(qtest_readq(v->qts, sums), ==, 0x10101);
    g_assert_cmpuint(qtest_readq(v->qts, sums + 8), ==, 8);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED), ==,
                     4 * QVGPU_PAGE);
    qvgpu_stop(v);
}

/* Catches: an index or a length in an MQD is used unchecked. */
static void test_hostile(void)
{
    static const uint32_t odd[] = { 0, 1, 3, 0x31, 0x7f, UINT32_MAX };
    uint32_t x = 0x9e3779b9, dw[7];
    QVGPUProcess p;
    QVGPUUserSdma u, good;
    unsigned round, i;
    uint64_t page;
    QVGPUHws h;

    QVGPU *v = qvgpu_start();

    qvgpu_hws_init(&h, v);
    qvgpu_hws_resources(&h, 1u << 12, 1);
    qvgpu_process_init(&p, v, PASID(0));
    page = qvgpu_ram_page(v);
    qvgpu_space_map(&p.space, DST, page, QVGPU_PAGE);
    qvgpu_user_sdma_init(&u, v, &p.space, 3, 0);
    qvgpu_user_sdma_init(&good, v, &p.space, 3, 1);
    qvgpu_list_begin(&h);
    qvgpu_list_process(&h, &p, 1);
    qvgpu_list_sdma(&h, &u);
    qvgpu_list_sdma(&h, &good);
    for (round = 0; round < 200; round++) {
        for (i = SDMA_MQD_WORK; i < SDMA_MQD_DWORDS; i++) {
            x = x * 1664525 + 1013904223;
            qtest_writel(v->qts, u.mqd + 4 * i,
                         x & 0x10000 ? odd[(x >> 20) % ARRAY_SIZE(odd)] : x);
        }
        qvgpu_list_run(&h, 0);
        qvgpu_pkt_fence(&good.q, DST, round);
        qvgpu_user_sdma_kick(&good);
        qvgpu_user_sdma_finish(&good);
        g_assert_cmpuint(qtest_readl(v->qts, page), ==, round);
        qvgpu_hws_unmap(&h, PM4_UNMAP_RESET, PM4_SEL_DOORBELLS,
                        u.q.doorbell);
        qvgpu_hws_unmap(&h, PM4_UNMAP_PREEMPT, PM4_SEL_ALL, 0);
        qvgpu_hws_sync(&h);
        while (qvgpu_ih_pending(v)) {
            QVGPUIrq irq;

            qvgpu_ih_next(v, &irq);
            if (irq.client == IH_CLIENT_VMC && (irq.data[1] & 0x80)) {
                qvgpu_cam_ack(v, irq.data[2]);
            }
        }
    }
    /* MAP_QUEUES for an engine that does not exist is an error of the HIQ. */
    qvgpu_user_sdma_map(&u, 0, dw);
    dw[1] |= PM4_MAP_DW1__ENGINE_SEL | PM4_MAP_DW1__EXT_ENGINE_SEL;
    qvgpu_pm4(&h.hiq, dw, ARRAY_SIZE(dw));
    qvgpu_compute_kick(&h.hiq);
    qvgpu_compute_irq(&h.hiq, IH_SRC_CP_BAD_OPCODE,
                      VGPU_PREP(IH_CP_ERROR__CODE,
                                CP_ERROR_PACKET_UNSUPPORTED) |
                      (h.hiq.doorbell / 8 & IH_CP_ERROR__DOORBELL));
    qvgpu_stop(v);
}

/*
 * Catches: the engine resumes, from an MQD, a WRITE packet that exceeds its
 * indirect buffer. The packet would never end.
 */
static void test_overlong(void)
{
    /* The payload has @payload dwords. The buffer holds only @room of them. */
    static const uint32_t payload = 8, room = 4;
    uint32_t work[SDMA_MQD_WORK_DWORDS] = {
        /* flags: packet in execution (1), one indirect buffer (1 << 4) */
        [0] = 1 | 1 << 4,
        [1] = SDMA_WRITE_LINEAR_DWORDS + payload,
        [2] = SDMA_INDIRECT_DWORDS,
        [5] = SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR),
        QVGPU_LO(DST), QVGPU_HI(DST), payload - 1,
        [21] = QVGPU_LO(SRC), QVGPU_HI(SRC), SDMA_WRITE_LINEAR_DWORDS + room,
        0, 5,
    };
    uint64_t src, dst, sums;
    QVGPUSpace space;
    QVGPUUserSdma u;
    uint32_t dw[7];
    QVGPUHws h;
    unsigned i;

    QVGPU *v = qvgpu_start();

    qvgpu_space_init(&space, v, 5, QVGPU_RAM);
    qvgpu_hws_init(&h, v);
    src = qvgpu_ram_page(v);
    dst = qvgpu_ram_page(v);
    sums = qvgpu_ram_page(v);
    qvgpu_fill(v, src, 3, 0, QVGPU_PAGE);
    qvgpu_space_map(&space, SRC, src, QVGPU_PAGE);
    qvgpu_space_map(&space, DST, dst, QVGPU_PAGE);
    qvgpu_space_map(&space, SUMS, sums, QVGPU_PAGE);
    qvgpu_user_sdma_init(&u, v, &space, 2, 0);
    for (i = 0; i < ARRAY_SIZE(work); i++) {
        qtest_writel(v->qts, u.mqd + 4 * (SDMA_MQD_WORK + i), work[i]);
    }
    qvgpu_pkt_add64(&u.q, SUMS, 1);
    qvgpu_user_sdma_kick(&u);
    qvgpu_user_sdma_map(&u, 0, dw);
    qvgpu_pm4(&h.hiq, dw, ARRAY_SIZE(dw));
    qvgpu_hws_sync(&h);
    /*
     * The test has put an unfinished WRITE packet (array @work) into the MQD.
     * The engine must not resume this packet, but must execute the ring.
     */
    qvgpu_user_sdma_finish(&u);
    g_assert_cmpuint(qtest_readq(v->qts, sums), ==, 1);
    qvgpu_expect_byte(v, dst, 0, QVGPU_PAGE);
    qvgpu_stop(v);
}

/*
 * Return true if the queue in the first RLC of @engine is stalled. The queue
 * executes only POLL_REGMEM, so a stalled queue waits for the next poll.
 */
static bool polls(QVGPU *v, unsigned engine)
{
    QDict *info = qvgpu_query(v);
    QDict *q = qvgpu_query_queue(info, engine, SDMA_QUEUE_RLC(0));
    bool waits = q && qdict_haskey(q, "stall");

    qobject_unref(info);
    return waits;
}

/*
 * Catches: POLL_REGMEM counts its tries from 0 after each preemption. A poll
 * with a retry limit then never times out if time slices are short.
 */
static void test_polls(void)
{
    enum { AT_POLLS = SDMA_MQD_WORK + 31, TRIES = 1000000, ENGINE = 2 };
    QVGPUSpace space;
    QVGPUUserSdma u;
    uint64_t page;
    uint32_t dw[7];
    QVGPUHws h;
    unsigned i;

    QVGPU *v = qvgpu_start();

    qvgpu_space_init(&space, v, 5, QVGPU_RAM);
    qvgpu_hws_init(&h, v);
    page = qvgpu_ram_page(v);
    qvgpu_space_map(&space, DST, page, QVGPU_PAGE);
    qvgpu_user_sdma_init(&u, v, &space, ENGINE, 0);
    qvgpu_pkt_poll_mem(&u.q, QVGPU_POLL_EQ, DST, 1, UINT32_MAX,
                       QVGPU_POLL_FOREVER);
    qvgpu_user_sdma_kick(&u);
    qvgpu_user_sdma_map(&u, 0, dw);
    for (i = 0; i < 2; i++) {
        qvgpu_pm4(&h.hiq, dw, ARRAY_SIZE(dw));
        qvgpu_hws_sync(&h);
        qvgpu_wait_until(polls(v, ENGINE));
        qvgpu_hws_unmap(&h, PM4_UNMAP_PREEMPT, PM4_SEL_DOORBELLS,
                        u.q.doorbell);
        qvgpu_hws_sync(&h);
        /*
         * The first unmap saves the tries so far, which the test replaces by
         * TRIES. The second unmap must save more than TRIES.
         */
        g_assert_cmpuint(qtest_readl(v->qts, u.mqd + 4 * AT_POLLS), >,
                         i ? TRIES : 0);
        qtest_writel(v->qts, u.mqd + 4 * AT_POLLS, TRIES);
    }
    qtest_writel(v->qts, page, 1);
    qvgpu_pm4(&h.hiq, dw, ARRAY_SIZE(dw));
    qvgpu_hws_sync(&h);
    qvgpu_user_sdma_finish(&u);
    qvgpu_stop(v);
}

void qvgpu_add_cp_sdma_queues_tests(void)
{
    qtest_add_func("/vgpu-kfd/hws/sdma/ring", test_ring);
    qtest_add_func("/vgpu-kfd/hws/sdma/turns", test_timeslices);
    qtest_add_func("/vgpu-kfd/hws/sdma/stalled", test_stalled);
    qtest_add_func("/vgpu-kfd/hws/sdma/hostile", test_hostile);
    qtest_add_func("/vgpu-kfd/hws/sdma/overlong", test_overlong);
    qtest_add_func("/vgpu-kfd/hws/sdma/polls", test_polls);
}
