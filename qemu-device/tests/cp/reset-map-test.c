/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests resets of the chip while the KIQ maps and unmaps queues, and
 * a reset of an SDMA engine while UNMAP_QUEUES saves a queue of the engine.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "vgpu/psp.h"
#include "tests/qtest/vgpu-kfd/cp/suite.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/hws.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define ROUNDS      30
#define KIQ_ME      2
#define KIQ_DWORDS  (32 * KiB)
/*
 * The KIQ maps each SDMA queue of Maps.u. Before each of these queues, the KIQ
 * maps and unmaps the compute queue (Maps.c) PAIRS times.
 */
#define PAIRS       100
/* Copies per queue. emit_copies() makes them so slow that they take minutes. */
#define COPIES      20
#define COPY_BYTES  (32 * KiB)  /* size of Maps.src and of Maps.dst */

typedef struct Maps {
    QVGPU *v;
    uint64_t src, dst;
    QVGPUSdma busy;             /* copying queue; not mapped by the KIQ */
    uint64_t busy_wptr;
    QVGPUCompute kiq;
    uint32_t kiq_dwords;        /* dwords of packets in the KIQ's ring */
    QVGPUCompute c;             /* queue in HQD 0 with an endless IB */
    QVGPUUserSdma u[SDMA_NUM_RLC];
    uint8_t mqd[SDMA_NUM_RLC][SDMA_MQD_DWORDS * 4];
} Maps;

/*
 * Emit copies of 2^25 rows of one byte each. The engine copies row by row, in
 * chunks of 8192 rows.
 */
static void emit_copies(Maps *m, QVGPUSdma *q)
{
    uint64_t src = qvgpu_mc(m->v, m->src), dst = qvgpu_mc(m->v, m->dst);
    unsigned i;

    for (i = 0; i < COPIES; i++) {
        QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR_RECT),
                   QVGPU_LO(src), QVGPU_HI(src), 0, 0, 0,
                   QVGPU_LO(dst), QVGPU_HI(dst), 0, 0, 0,
                   SDMA_COPY_RECT_XY__Y, SDMA_COPY_RECT_Z__Z);
    }
}

/*
 * Set up a compute queue that executes packets endlessly and never waits.
 * Returns the GPU address of its MQD.
 */
static uint64_t init_compute(Maps *m)
{
    QVGPU *v = m->v;
    uint64_t mqd = qvgpu_ram_page(v), ib = qvgpu_ram_page(v);
    uint64_t va = qvgpu_mc(v, ib);
    const uint32_t chain[] = {
        PM4_HEADER(PM4_INDIRECT_BUFFER, 4u), QVGPU_LO(va), QVGPU_HI(va),
        4 | PM4_IB_DW3__CHAIN | PM4_IB_DW3__VALID,
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(chain); i++) {
        qtest_writel(v->qts, ib + 4 * i, chain[i]);
    }
    qvgpu_compute_init(&m->c, v, 1, 0, 0, NULL);
    QVGPU_PM4(&m->c, PM4_INDIRECT_BUFFER, QVGPU_LO(va), QVGPU_HI(va),
              4 | PM4_IB_DW3__VALID);
    qtest_writeq(v->qts, m->c.wptr_mem, m->c.wptr);
    qvgpu_mqd_fill(&m->c, mqd);
    return qvgpu_mc(v, mqd);
}

/* Fill the KIQ's ring with packets that keep the KIQ busy until the reset. */
static void init_kiq(Maps *m, uint64_t mqd)
{
    const uint32_t pair[] = {
        PM4_HEADER(PM4_MAP_QUEUES, 7u),
        VGPU_PREP(PM4_MAP_DW1__NUM_QUEUES, 1u), m->c.doorbell,
        QVGPU_LO(mqd), QVGPU_HI(mqd),
        QVGPU_LO(m->c.wptr_va), QVGPU_HI(m->c.wptr_va),
        PM4_HEADER(PM4_UNMAP_QUEUES, 6u),
        VGPU_PREP(PM4_UNMAP_DW1__NUM_QUEUES, 1u) |
        VGPU_PREP(PM4_UNMAP_DW1__QUEUE_SEL, PM4_SEL_DOORBELLS) |
        PM4_UNMAP_RESET,
        m->c.doorbell, 0, 0, 0,
    };
    g_autofree uint32_t *dw = g_new(uint32_t, KIQ_DWORDS);
    QVGPU *v = m->v;
    uint32_t n = 0;
    unsigned i, j;

    for (i = 0; i < ARRAY_SIZE(m->u); i++) {
        for (j = 0; j < PAIRS; j++, n += ARRAY_SIZE(pair)) {
            memcpy(dw + n, pair, sizeof(pair));
        }
        qvgpu_user_sdma_map(&m->u[i], 0, dw + n);
        n += 7;
    }
    g_assert_cmpuint(n, <, KIQ_DWORDS);
    for (i = 0; i < n; i++) {
        dw[i] = cpu_to_le32(dw[i]);
    }
    qvgpu_compute_init(&m->kiq, v, KIQ_ME, 1, 0, NULL);
    m->kiq.doorbell = 0;
    m->kiq.dwords = KIQ_DWORDS;
    m->kiq.control = CP_HQD_PQ_CONTROL__PRIV_STATE |
                     VGPU_PREP(CP_HQD_PQ_CONTROL__QUEUE_SIZE,
                               ctz32(KIQ_DWORDS) - 1u);
    m->kiq.ring = qvgpu_alloc(v, QVGPU_RAM, 4 * KIQ_DWORDS, QVGPU_PAGE);
    m->kiq.ring_va = qvgpu_mc(v, m->kiq.ring);
    qtest_bufwrite(v->qts, m->kiq.ring, dw, 4 * n);
    m->kiq_dwords = n;
}

/*
 * Start the machine and write all packets, but start no queue.
 * @busy: engine of queue Maps.busy
 * @mapped: engine of the queues Maps.u
 * @work: the queues Maps.u have copy packets
 */
static void maps_start(Maps *m, unsigned busy, unsigned mapped, bool work)
{
    QVGPU *v = m->v = qvgpu_start();
    unsigned i;

    m->src = qvgpu_alloc(v, QVGPU_VRAM, COPY_BYTES, QVGPU_PAGE);
    m->dst = qvgpu_alloc(v, QVGPU_VRAM, COPY_BYTES, QVGPU_PAGE);
    qvgpu_sdma_init(&m->busy, v, busy, SDMA_QUEUE_GFX, NULL);
    emit_copies(m, &m->busy);
    m->busy_wptr = m->busy.wptr;
    for (i = 0; i < ARRAY_SIZE(m->u); i++) {
        QVGPUUserSdma *u = &m->u[i];

        qvgpu_user_sdma_init(u, v, NULL, mapped, i);
        if (work) {
            emit_copies(m, &u->q);
        }
        qtest_writeq(v->qts, u->wptr_mem, u->q.wptr);
        qtest_bufread(v->qts, u->mqd, m->mqd[i], sizeof(m->mqd[i]));
    }
    init_kiq(m, init_compute(m));
}

/* Load the KIQ. Its read and write pointers are both @dword. */
static void load_kiq(Maps *m, uint32_t dword)
{
    qvgpu_cp_setup(m->v);
    m->kiq.wptr = dword;
    qvgpu_compute_load(&m->kiq);
    qvgpu_wr(m->v, RLC_CP_SCHEDULERS, RLC_CP_SCHEDULERS__VALID |
             VGPU_PREP(RLC_CP_SCHEDULERS__ME, KIQ_ME) |
             VGPU_PREP(RLC_CP_SCHEDULERS__PIPE, 1u));
}

static void too_long(int sig)
{
    static const char say[] = "# the reset does not end\n";

    if (write(STDERR_FILENO, say, sizeof(say) - 1) < 0) {
        /* Ignore the error, because abort() follows. */
    }
    abort();
}

/*
 * Reset the chip while the KIQ maps and unmaps queues. The slow copies of
 * Maps.busy make the reset take milliseconds.
 */
static void reset_at_work(Maps *m)
{
    QVGPU *v = m->v;
    unsigned i;

    m->busy.wptr = 0;
    qvgpu_sdma_load(&m->busy);
    m->busy.wptr = m->busy_wptr;
    qvgpu_sdma_kick(&m->busy);
    load_kiq(m, 0);
    qvgpu_wait_until(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED));
    m->kiq.wptr = m->kiq_dwords;
    qvgpu_compute_kick(&m->kiq);

    /* Bound the wait for the reset, because qtest has no timeout. */
    sigaction(SIGALRM, &(struct sigaction) { .sa_handler = too_long }, NULL);
    alarm(qvgpu_wait_us() / G_USEC_PER_SEC);
    qvgpu_wr(v, MP0_SMN_C2PMSG_64, PSP_CMD_MODE1_RESET);
    alarm(0);

    g_assert_cmphex(qvgpu_hqd_rd(&m->kiq, CP_HQD_ACTIVE), ==, 0);
    g_assert_cmphex(qvgpu_hqd_rd(&m->c, CP_HQD_ACTIVE), ==, 0);
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        g_assert_cmphex(qvgpu_rd(v, SDMA_ENGINE(i) + SDMA_STATUS_REG), ==,
                        SDMA_STATUS_REG__IDLE);
    }
    qvgpu_bring_up(v);
}

/*
 * Catches: a reset never ends, because the KIQ still maps busy queues to a
 * worker while the reset waits until this worker is idle.
 */
static void test_ends(void)
{
    unsigned i;
    Maps m;

    maps_start(&m, 1, 1, true);
    for (i = 0; i < ROUNDS; i++) {
        reset_at_work(&m);
    }
    qvgpu_stop(m.v);
}

/*
 * Catches: during a reset, the CP maps a queue to an engine that is already
 * reset. The next UNMAP_QUEUES then overwrites the MQD.
 */
static void test_forgets(void)
{
    uint8_t mqd[SDMA_MQD_DWORDS * 4];
    unsigned i, j;
    Maps m;

    /*
     * The bug: the device resets engine 0, then waits for the busy last engine.
     * Queues mapped to engine 0 during this wait survive the reset.
     */
    maps_start(&m, SDMA_NUM_ENGINES - 1, 0, false);
    for (i = 0; i < ROUNDS; i++) {
        reset_at_work(&m);
        load_kiq(&m, m.kiq_dwords);
        qtest_writel(m.v->qts, m.kiq.rptr, 0);
        QVGPU_PM4(&m.kiq, PM4_UNMAP_QUEUES,
                  VGPU_PREP(PM4_UNMAP_DW1__QUEUE_SEL, PM4_SEL_ALL) |
                  PM4_UNMAP_PREEMPT, 0, 0, 0, 0);
        qvgpu_compute_finish(&m.kiq);
        for (j = 0; j < ARRAY_SIZE(m.u); j++) {
            qtest_bufread(m.v->qts, m.u[j].mqd, mqd, sizeof(mqd));
            g_assert_false(memcmp(mqd, m.mqd[j], sizeof(mqd)));
        }
        qvgpu_wr(m.v, MP0_SMN_C2PMSG_64, PSP_CMD_MODE1_RESET);
        qvgpu_bring_up(m.v);
    }
    qvgpu_stop(m.v);
}

#define ENGINE      2
#define RLC0        (SDMA_ENGINE(ENGINE) + SDMA_QUEUE(SDMA_QUEUE_RLC(0)))
#define FB_UNIT     (16 * MiB)

/*
 * While the CP unmaps a queue, the driver resets the engine and starts a new
 * queue on the same RLC. Catches: the CP discards the new queue's work.
 */
static void test_engine(void)
{
    uint64_t mqd, ib, sum, gate;
    uint32_t dw[7], dwords;
    QVGPUUserSdma u;
    QVGPUHold hold;
    QVGPUSdma q;
    QVGPUHws h;
    unsigned i;
    QVGPU *v;

    qvgpu_hold_init(&hold);
    v = qvgpu_start_sized(QVGPU_HOLD_VRAM, hold.args);
    qvgpu_hws_init(&h, v);
    qvgpu_user_sdma_init(&u, v, NULL, ENGINE, 0);
    qvgpu_alloc(v, QVGPU_VRAM, FB_UNIT, FB_UNIT);
    mqd = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    for (i = 0; i < SDMA_MQD_DWORDS; i++) {
        qtest_writel(v->qts, mqd + 4 * i, qtest_readl(v->qts, u.mqd + 4 * i));
    }
    u.mqd = mqd;
    qvgpu_user_sdma_map(&u, 0, dw);
    qvgpu_pm4(&h.hiq, dw, ARRAY_SIZE(dw));
    qvgpu_hws_sync(&h);
    g_assert_cmphex(qvgpu_rd(v, RLC0 + SDMA_RB_CNTL) &
                    SDMA_RB_CNTL__RB_ENABLE, !=, 0);

    /*
     * Make the VRAM aperture so small that the MQD is outside. The CP's write
     * of the MQD then faults. Hold the CP when it logs vgpu_fault_class for
     * this fault.
     */
    qvgpu_gfx_wr(v, MC_VM_FB_LOCATION_TOP,
                 qvgpu_gfx_rd(v, MC_VM_FB_LOCATION_BASE));
    qvgpu_hold_arm(&hold, v, "vgpu_fault_class", false);
    qvgpu_hws_unmap(&h, PM4_UNMAP_PREEMPT, PM4_SEL_DOORBELLS, u.q.doorbell);
    qvgpu_compute_kick(&h.hiq);
    qvgpu_wait_until(!(qvgpu_rd(v, RLC0 + SDMA_RB_CNTL) &
                       SDMA_RB_CNTL__RB_ENABLE));
    qvgpu_wr(v, SDMA_ENGINE(ENGINE) + SDMA_F32_CNTL, SDMA_F32_CNTL__RESET);
    qvgpu_wr(v, SDMA_ENGINE(ENGINE) + SDMA_F32_CNTL, 0);
    qvgpu_sdma_open(&q, v, ENGINE, SDMA_QUEUE_RLC(0), NULL);
    sum = qvgpu_ram_page(v);
    gate = qvgpu_ram_page(v);
    qvgpu_pkt_add64(&q, qvgpu_mc(v, sum), 1);
    qvgpu_pkt_poll_mem(&q, QVGPU_POLL_EQ, qvgpu_mc(v, gate), 1, UINT32_MAX,
                       QVGPU_POLL_FOREVER);
    ib = qvgpu_sdma_to_buffer(&q, 0, &dwords);
    qvgpu_pkt_indirect(&q, 0, qvgpu_mc(v, ib), dwords);
    qvgpu_sdma_kick(&q);
    qvgpu_wait_until(qtest_readq(v->qts, sum) == 1);

    qvgpu_hold_release(&hold);
    qvgpu_hws_sync(&h);
    qvgpu_trace(v, "vgpu_fault_class", false);
    qtest_writel(v->qts, gate, 1);
    qvgpu_time_passes(v);
    qvgpu_sdma_finish(&q);
    g_assert_cmpuint(qtest_readq(v->qts, sum), ==, 1);
    qvgpu_stop(v);
    qvgpu_hold_destroy(&hold);
}

void qvgpu_add_cp_reset_map_tests(void)
{
    qtest_add_func("/vgpu-kfd/reset/map/ends", test_ends);
    qtest_add_func("/vgpu-kfd/reset/map/forgets", test_forgets);
    qtest_add_func("/vgpu-kfd/reset/map/engine", test_engine);
}
