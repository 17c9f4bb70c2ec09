/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: brings up the scheduler and builds run lists.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hws.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define KIQ_ME          2
#define HIQ_DOORBELL    8
#define DOORBELLS       0x8000          /* byte offset of user doorbell 0 */

static void mqd_wr(QVGPU *v, uint64_t mqd, unsigned reg, uint32_t val)
{
    qtest_writel(v->qts, mqd + 4 * (CP_MQD_HQD + reg), val);
}

void qvgpu_mqd_fill(QVGPUCompute *c, uint64_t mqd)
{
    mqd_wr(c->v, mqd, CP_HQD_PQ_CONTROL, c->control);
    mqd_wr(c->v, mqd, CP_HQD_AQL_CONTROL, c->aql);
    mqd_wr(c->v, mqd, CP_HQD_PQ_BASE, c->ring_va >> 8);
    mqd_wr(c->v, mqd, CP_HQD_PQ_BASE_HI, c->ring_va >> 40);
    mqd_wr(c->v, mqd, CP_HQD_PQ_RPTR_REPORT_ADDR, c->rptr_va);
    mqd_wr(c->v, mqd, CP_HQD_PQ_RPTR_REPORT_ADDR_HI, c->rptr_va >> 32);
}

void qvgpu_hws_init(QVGPUHws *h, QVGPU *v)
{
    uint64_t mqd = qvgpu_ram_page(v), mc = qvgpu_mc(v, mqd);
    unsigned vmid;

    *h = (QVGPUHws) { .v = v };
    for (vmid = 8; vmid < VGPU_NUM_VMIDS; vmid++) {
        QVGPUSpace nothing;

        qvgpu_space_init(&nothing, v, vmid, QVGPU_RAM);
    }
    qvgpu_cp_setup(v);
    qvgpu_compute_init(&h->kiq, v, KIQ_ME, 1, 0, NULL);
    h->kiq.doorbell = 0;
    qvgpu_compute_load(&h->kiq);
    qvgpu_wr(v, RLC_CP_SCHEDULERS, RLC_CP_SCHEDULERS__VALID |
             VGPU_PREP(RLC_CP_SCHEDULERS__ME, KIQ_ME) |
             VGPU_PREP(RLC_CP_SCHEDULERS__PIPE, 1u));
    qvgpu_compute_init(&h->hiq, v, KIQ_ME, 0, 0, NULL);
    h->hiq.doorbell = HIQ_DOORBELL;
    qvgpu_mqd_fill(&h->hiq, mqd);
    QVGPU_PM4(&h->kiq, PM4_MAP_QUEUES,
              VGPU_PREP(PM4_MAP_DW1__NUM_QUEUES, 1u) | PM4_MAP_DW1__ME |
              VGPU_PREP(PM4_MAP_DW1__ENGINE_SEL, PM4_ENGINE_HIQ),
              HIQ_DOORBELL, QVGPU_LO(mc), QVGPU_HI(mc), 0, 0);
    qvgpu_compute_finish(&h->kiq);
    h->fence = qvgpu_ram_page(v);
    h->list = qvgpu_alloc(v, QVGPU_RAM, QVGPU_HWS_LIST, QVGPU_PAGE);
}

void qvgpu_hws_resources(QVGPUHws *h, uint32_t vmids, uint64_t queues)
{
    qvgpu_hws_resources_gws(h, vmids, queues, 0);
}

void qvgpu_hws_resources_gws(QVGPUHws *h, uint32_t vmids, uint64_t queues,
                             uint64_t gws)
{
    QVGPU_PM4(&h->hiq, PM4_SET_RESOURCES, vmids, QVGPU_LO(queues),
              QVGPU_HI(queues), QVGPU_LO(gws), QVGPU_HI(gws), 0, 0);
}

void qvgpu_hws_sync(QVGPUHws *h)
{
    uint64_t va = qvgpu_mc(h->v, h->fence);
    uint64_t number = ++h->fences << 32 | 0x5a5a;

    QVGPU_PM4(&h->hiq, PM4_QUERY_STATUS,
              VGPU_PREP(PM4_QUERY_DW1__COMMAND, PM4_QUERY_FENCE_ACK), 0,
              QVGPU_LO(va), QVGPU_HI(va), QVGPU_LO(number), QVGPU_HI(number));
    qvgpu_compute_kick(&h->hiq);
    qvgpu_wait_until(qtest_readq(h->v->qts, h->fence) == number);
}

void qvgpu_hws_unmap(QVGPUHws *h, unsigned action, unsigned sel,
                     uint32_t what)
{
    QVGPU_PM4(&h->hiq, PM4_UNMAP_QUEUES,
              VGPU_PREP(PM4_UNMAP_DW1__NUM_QUEUES, 1u) |
              VGPU_PREP(PM4_UNMAP_DW1__QUEUE_SEL, sel) | action,
              what, 0, 0, 0);
}

void qvgpu_process_init(QVGPUProcess *p, QVGPU *v, unsigned pasid)
{
    *p = (QVGPUProcess) {
        .pasid = pasid,
        .sh_mem_config = pasid ^ 0x55,
        .space = {
            .v = v, .tables = QVGPU_RAM, .next_va = 0x7f0000000000ull,
            .root = qvgpu_ram_page(v),
        },
    };
}

void qvgpu_user_compute_init(QVGPUUserCompute *q, QVGPU *v, QVGPUProcess *p,
                             unsigned number)
{
    qvgpu_compute_init(&q->c, v, 0, 0, 0, &p->space);
    q->c.doorbell = DOORBELLS + 8 * number;
    q->mqd = qvgpu_ram_page(v);
    q->gws = false;
    qvgpu_mqd_fill(&q->c, q->mqd);
}

void qvgpu_user_compute_kick(QVGPUUserCompute *q)
{
    qtest_writeq(q->c.v->qts, q->c.wptr_mem, q->c.wptr);
    qvgpu_compute_kick(&q->c);
}

void qvgpu_user_compute_finish(QVGPUUserCompute *q)
{
    qvgpu_wait_until(qtest_readl(q->c.v->qts, q->c.rptr) ==
                     (q->c.wptr & (q->c.dwords - 1)));
}

uint32_t qvgpu_mqd_rd(QVGPUUserCompute *q, unsigned reg)
{
    return qtest_readl(q->c.v->qts, q->mqd + 4 * (CP_MQD_HQD + reg));
}

void qvgpu_user_sdma_init(QVGPUUserSdma *u, QVGPU *v, QVGPUSpace *s,
                          unsigned engine, unsigned number)
{
    qvgpu_sdma_init(&u->q, v, engine, 0, s);
    u->q.doorbell = qvgpu_sdma_doorbell(8 + number / 8, engine, number % 8);
    u->wptr_mem = u->q.rptr + 8;
    u->wptr_va = u->q.rptr_va + 8;
    u->mqd = qvgpu_ram_page(v);
    qtest_writel(v->qts, u->mqd + 4 * SDMA_RB_CNTL, u->q.cntl);
    qtest_writeq(v->qts, u->mqd + 4 * SDMA_RB_BASE, u->q.ring_va >> 8);
    qtest_writel(v->qts, u->mqd + 4 * SDMA_RB_RPTR_ADDR_LO, u->q.rptr_va);
    qtest_writel(v->qts, u->mqd + 4 * SDMA_RB_RPTR_ADDR_HI,
                 u->q.rptr_va >> 32);
}

void qvgpu_user_sdma_kick(QVGPUUserSdma *u)
{
    qtest_writeq(u->q.v->qts, u->wptr_mem, u->q.wptr);
    qvgpu_sdma_kick(&u->q);
}

void qvgpu_user_sdma_finish(QVGPUUserSdma *u)
{
    qvgpu_wait_until(qtest_readq(u->q.v->qts, u->q.rptr) == u->q.wptr);
}

void qvgpu_user_sdma_map(QVGPUUserSdma *u, unsigned type, uint32_t *dw)
{
    uint64_t mqd = qvgpu_mc(u->q.v, u->mqd);
    unsigned engine = u->q.engine;

    dw[0] = PM4_HEADER(PM4_MAP_QUEUES, 7u);
    dw[1] = VGPU_PREP(PM4_MAP_DW1__NUM_QUEUES, 1u) |
            VGPU_PREP(PM4_MAP_DW1__QUEUE_SEL, 1u) |
            VGPU_PREP(PM4_MAP_DW1__QUEUE_TYPE, type) |
            /* KFD selects engines 0 and 1 without EXT_ENGINE_SEL. */
            (engine < 2 ? VGPU_PREP(PM4_MAP_DW1__ENGINE_SEL,
                                    PM4_ENGINE_SDMA0 + engine) :
             VGPU_PREP(PM4_MAP_DW1__ENGINE_SEL, engine) |
             VGPU_PREP(PM4_MAP_DW1__EXT_ENGINE_SEL, 1u));
    dw[2] = u->q.doorbell;
    dw[3] = mqd;
    dw[4] = mqd >> 32;
    dw[5] = u->wptr_va;
    dw[6] = u->wptr_va >> 32;
}

void qvgpu_list_begin(QVGPUHws *h)
{
    h->dwords = 0;
}

void qvgpu_list_emit(QVGPUHws *h, const uint32_t *dw, unsigned n)
{
    unsigned i;

    g_assert_cmpuint(4 * (h->dwords + n), <=, QVGPU_HWS_LIST);
    for (i = 0; i < n; i++) {
        qtest_writel(h->v->qts, h->list + 4 * h->dwords++, dw[i]);
    }
}

void qvgpu_list_process(QVGPUHws *h, QVGPUProcess *p, unsigned ms)
{
    uint64_t root = qvgpu_entry(h->v, p->space.root, VGPU_PDE_VALID);
    uint32_t dw[PM4_MAP_PROCESS_DWORDS] = {
        PM4_HEADER(PM4_MAP_PROCESS, PM4_MAP_PROCESS_DWORDS),
        p->pasid | VGPU_PREP(PM4_PROCESS_DW1__QUANTUM, ms),
        root, root >> 32, p->pasid, p->sh_mem_config,
        [13] = VGPU_PREP(PM4_PROCESS_DW13__NUM_GWS, p->num_gws),
    };

    qvgpu_list_emit(h, dw, ARRAY_SIZE(dw));
}

void qvgpu_list_compute(QVGPUHws *h, QVGPUUserCompute *q, unsigned type)
{
    uint64_t mqd = qvgpu_mc(h->v, q->mqd);
    uint32_t dw[] = {
        PM4_HEADER(PM4_MAP_QUEUES, 7u),
        VGPU_PREP(PM4_MAP_DW1__NUM_QUEUES, 1u) |
        VGPU_PREP(PM4_MAP_DW1__QUEUE_SEL, 1u) |
        VGPU_PREP(PM4_MAP_DW1__QUEUE_TYPE, type) |
        (q->gws ? PM4_MAP_DW1__GWS_CONTROL : 0),
        q->c.doorbell, QVGPU_LO(mqd), QVGPU_HI(mqd),
        QVGPU_LO(q->c.wptr_va), QVGPU_HI(q->c.wptr_va),
    };

    qvgpu_list_emit(h, dw, ARRAY_SIZE(dw));
}

void qvgpu_list_sdma(QVGPUHws *h, QVGPUUserSdma *u)
{
    uint32_t dw[7];

    qvgpu_user_sdma_map(u, 0, dw);
    qvgpu_list_emit(h, dw, ARRAY_SIZE(dw));
}

/*
 * Return DW3 of a RUN_LIST packet: the list's length in dwords and flags. If
 * @chain is true, the length includes 4 dwords for a chain packet at the end.
 */
static uint32_t run_control(QVGPUHws *h, bool chain)
{
    return (h->dwords + (chain ? 4 : 0)) | PM4_RUN_DW3__VALID |
           (chain ? PM4_RUN_DW3__CHAIN : 0);
}

void qvgpu_list_chain(QVGPUHws *h)
{
    uint64_t mc = qvgpu_mc(h->v, h->list);
    uint32_t dw[] = {
        PM4_HEADER(PM4_RUN_LIST, 4u), QVGPU_LO(mc), QVGPU_HI(mc),
        run_control(h, true),
    };

    qvgpu_list_emit(h, dw, ARRAY_SIZE(dw));
}

void qvgpu_list_run(QVGPUHws *h, unsigned processes)
{
    uint64_t mc = qvgpu_mc(h->v, h->list);

    QVGPU_PM4(&h->hiq, PM4_RUN_LIST, QVGPU_LO(mc), QVGPU_HI(mc),
              run_control(h, false) |
              VGPU_PREP(PM4_RUN_DW3__PROCESS_CNT, processes));
    qvgpu_compute_kick(&h->hiq);
}
