/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests query-vgpu and info vgpu. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qstring.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/qmp.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/qapi/suite.h"

#define VMID    6
#define VA      0x123456789000ull

/* Catches: query-vgpu shows state that a device after reset does not have. */
static void test_cold(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    QDict *info = qvgpu_query(v);
    QListEntry *entry;
    unsigned n = 0;

    g_assert_cmpuint(qdict_get_int(info, "vram-size"), ==, 64 * MiB);
    g_assert_cmpuint(qdict_get_int(info, "fault-serial"), ==, 0);
    g_assert_false(qdict_haskey(info, "id"));
    g_assert_true(qlist_empty(qdict_get_qlist(info, "vmids")));
    g_assert_true(qlist_empty(qdict_get_qlist(info, "cam")));
    g_assert_true(qlist_empty(qdict_get_qlist(info, "invalidations")));
    g_assert_false(qdict_get_bool(qdict_get_qdict(info, "interrupts"),
                                  "enabled"));
    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "engines"), entry) {
        QDict *engine = qobject_to(QDict, qlist_entry_obj(entry));

        g_assert_cmpuint(qdict_get_int(engine, "engine"), ==, n++);
        g_assert_cmpuint(qdict_get_int(engine, "tlb-used"), ==, 0);
        g_assert_true(qlist_empty(qdict_get_qlist(engine, "queues")));
    }
    g_assert_cmpuint(n, ==, SDMA_NUM_ENGINES);
    qobject_unref(info);
    qvgpu_stop(v);
}

/* Catches: query-vgpu does not show the fault and the CAM slot of a stall. */
static void test_stall(void)
{
    QVGPU *v = qvgpu_start();
    QVGPUSpace space;
    QVGPUSdma q;
    QDict *info, *queue, *stall, *cam, *vmid;
    uint64_t at, base;
    unsigned slot;

    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&q, v, 1, SDMA_QUEUE_RLC(2), &space);
    at = qvgpu_ram_page(v);
    qvgpu_pkt_fence(&q, VA + 16, 1);
    qvgpu_sdma_kick(&q);
    slot = qvgpu_ih_next_fault(v, VMID, VA, true, true);

    info = qvgpu_query(v);
    queue = qvgpu_query_queue(info, 1, SDMA_QUEUE_RLC(2));
    g_assert_nonnull(queue);
    g_assert_cmpstr(qdict_get_str(queue, "state"), ==, "stalled");
    g_assert_cmpuint(qdict_get_int(queue, "vmid"), ==, VMID);
    g_assert_cmpuint(qdict_get_int(queue, "rptr"), ==, 0);
    g_assert_cmpuint(qdict_get_int(queue, "wptr"), ==, 16);
    stall = qdict_get_qdict(queue, "stall");
    g_assert_cmpstr(qdict_get_str(stall, "why"), ==, "cam");
    g_assert_cmphex(qdict_get_int(stall, "va"), ==, VA + 16);
    g_assert_cmpuint(qdict_get_int(stall, "vmid"), ==, VMID);
    g_assert_true(qdict_get_bool(stall, "write"));
    g_assert_cmpuint(qdict_get_int(stall, "serial"), ==, 1);
    g_assert_cmpuint(qdict_get_int(stall, "cam"), ==, slot);

    cam = qobject_to(QDict, qlist_peek(qdict_get_qlist(info, "cam")));
    g_assert_cmpuint(qlist_size(qdict_get_qlist(info, "cam")), ==, 1);
    g_assert_cmpuint(qdict_get_int(cam, "slot"), ==, slot);
    g_assert_cmphex(qdict_get_int(cam, "va"), ==, VA);
    g_assert_cmpuint(qdict_get_int(cam, "serial"), ==, 1);
    g_assert_cmpstr(qdict_get_str(cam, "hub"), ==, "mm");

    vmid = qvgpu_query_vmid(info, "mm", VMID);
    g_assert_nonnull(vmid);
    g_assert_cmphex(qdict_get_int(vmid, "pasid"), ==, QVGPU_PASID(VMID));
    g_assert_true(qdict_get_bool(vmid, "retry"));
    base = qvgpu_mm_rd64(v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(VMID));
    g_assert_cmphex(qdict_get_int(vmid, "page-table-base"), ==, base);
    g_assert_cmpuint(qvgpu_query_counter(info, "faults-retry"), ==, 1);
    g_assert_cmpuint(qvgpu_query_counter(info, "ih-entries"), ==, 1);
    qobject_unref(info);

    /* After the stall has ended, the query shows no stall. */
    qvgpu_space_map(&space, VA, at, QVGPU_PAGE);
    qvgpu_cam_ack(v, slot);
    qvgpu_sdma_finish(&q);
    info = qvgpu_query(v);
    queue = qvgpu_query_queue(info, 1, SDMA_QUEUE_RLC(2));
    g_assert_cmpstr(qdict_get_str(queue, "state"), ==, "idle");
    g_assert_false(qdict_haskey(queue, "stall"));
    g_assert_cmpuint(qdict_get_int(queue, "rptr"), ==, 16);
    g_assert_true(qlist_empty(qdict_get_qlist(info, "cam")));
    g_assert_cmpuint(qvgpu_query_counter(info, "replays"), ==, 1);
    qobject_unref(info);
    qvgpu_stop(v);
}

/*
 * Return true if the first two queues of engine 0 are stalled. Only in this
 * case, *@info is the query's result, which the caller unrefs.
 */
static bool both_stall(QVGPU *v, QDict **info)
{
    *info = qvgpu_query(v);
    if (qdict_haskey(qvgpu_query_queue(*info, 0, SDMA_QUEUE_GFX), "stall") &&
        qdict_haskey(qvgpu_query_queue(*info, 0, SDMA_QUEUE_PAGE), "stall")) {
        return true;
    }
    qobject_unref(*info);
    return false;
}

/* Catches: a stall is reported with a wrong reason. */
static void test_reasons(void)
{
    QVGPU *v = qvgpu_start();
    QVGPUSdma poll, part, bad;
    uint64_t at = qvgpu_ram_page(v);
    QDict *info, *queue;

    qvgpu_sdma_open(&poll, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_sdma_open(&part, v, 0, SDMA_QUEUE_PAGE, NULL);
    qvgpu_sdma_open(&bad, v, 1, SDMA_QUEUE_GFX, NULL);
    qvgpu_pkt_poll_mem(&poll, QVGPU_POLL_EQ, qvgpu_mc(v, at), 1, UINT32_MAX,
                       QVGPU_POLL_FOREVER);
    qvgpu_sdma_kick(&poll);
    QVGPU_EMIT(&part, SDMA_PKT(SDMA_OP_FENCE, 0));
    qvgpu_sdma_kick(&part);
    QVGPU_EMIT(&bad, 0xff);
    qvgpu_sdma_kick(&bad);
    qvgpu_wait_until(qvgpu_sdma_exception(&bad));
    qvgpu_wait_until(both_stall(v, &info));
    queue = qvgpu_query_queue(info, 0, SDMA_QUEUE_PAGE);
    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(queue, "stall"), "why"), ==,
                    "wptr");
    queue = qvgpu_query_queue(info, 0, SDMA_QUEUE_GFX);
    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(queue, "stall"), "why"), ==,
                    "poll");
    queue = qvgpu_query_queue(info, 1, SDMA_QUEUE_GFX);
    g_assert_cmpstr(qdict_get_str(queue, "state"), ==, "error");
    g_assert_cmpuint(qdict_get_int(queue, "exception"), ==,
                     qvgpu_sdma_exception(&bad));
    qobject_unref(info);
    qvgpu_stop(v);
}

/*
 * Catches: the occupancy of a TLB is always 0, or does not drop at an
 * invalidation.
 */
static void test_tlb(void)
{
    QVGPU *v = qvgpu_start();
    QVGPUSpace space;
    QVGPUSdma q;
    uint64_t at = qvgpu_alloc(v, QVGPU_VRAM, 16 * QVGPU_PAGE, QVGPU_PAGE);
    unsigned before;

    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    qvgpu_space_map(&space, VA, at, 16 * QVGPU_PAGE);
    qvgpu_pkt_fence(&q, VA, 1);
    qvgpu_sdma_finish(&q);
    before = qvgpu_query_tlb(v, 0);
    g_assert_cmpuint(before, >=, 1);
    qvgpu_pkt_fill(&q, VA, 0, 16 * QVGPU_PAGE, 2);
    qvgpu_sdma_finish(&q);
    g_assert_cmpuint(qvgpu_query_tlb(v, 0), ==, before + 15);
    g_assert_cmpuint(qvgpu_query_tlb(v, 1), ==, 0);
    qvgpu_invalidate(v, 1u << VMID);
    g_assert_cmpuint(qvgpu_query_tlb(v, 0), ==, 0);
    qvgpu_stop(v);
}

/*
 * The queries run during copies. Catches: a query returns an inconsistent state
 * of a running engine, or deadlocks with the engine.
 */
static void test_while_running(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t buf = qvgpu_alloc(v, QVGPU_VRAM, 32 * MiB, 2 * MiB);
    unsigned i, looks = 0;
    QVGPUSdma q;
    QDict *info;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    for (i = 0; i < 16; i++) {
        qvgpu_pkt_copy(&q, qvgpu_mc(v, buf), qvgpu_mc(v, buf + 16 * MiB),
                       16 * MiB);
    }
    qvgpu_sdma_kick(&q);
    do {
        QDict *queue;

        info = qvgpu_query(v);
        queue = qvgpu_query_queue(info, 0, SDMA_QUEUE_GFX);
        g_assert_cmpuint(qdict_get_int(queue, "rptr") % 28, ==, 0);
        g_assert_cmpstr(qdict_get_str(queue, "state"), ==,
                        qdict_get_int(queue, "rptr") == 16 * 28 ? "idle"
                                                                : "ready");
        i = qdict_get_int(queue, "rptr") / 28;
        looks++;
        qobject_unref(info);
    } while (i < 16);
    g_assert_cmpuint(looks, >=, 1);
    qvgpu_sdma_finish(&q);
    qvgpu_stop(v);
}

/* Return the entry of query-vgpu for the compute queue @c, or NULL. */
static QDict *compute(QDict *info, const QVGPUCompute *c)
{
    QDict *mecs = qdict_get_qdict(info, "compute");
    QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(mecs, "queues"), entry) {
        QDict *q = qobject_to(QDict, qlist_entry_obj(entry));

        if (qdict_get_int(q, "me") == c->me &&
            qdict_get_int(q, "pipe") == c->pipe &&
            qdict_get_int(q, "queue") == c->queue) {
            return q;
        }
    }
    return NULL;
}

/*
 * Catches: the reply has the data of a compute queue, or its stall, in the
 * entry of another queue.
 */
static void test_compute(void)
{
    QVGPU *v = qvgpu_start();
    g_autofree char *text = NULL;
    QVGPUCompute c, kiq;
    QDict *info, *q, *stall;
    QVGPUSpace space;
    QVGPUIrq irq;

    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_compute_init(&c, v, 2, 1, 3, &space);
    qvgpu_compute_init(&kiq, v, 1, 0, 0, NULL);
    qvgpu_cp_setup(v);
    info = qvgpu_query(v);
    g_assert_true(qlist_empty(qdict_get_qlist(qdict_get_qdict(info, "compute"),
                                              "queues")));
    qobject_unref(info);
    qvgpu_compute_load(&c);
    qvgpu_compute_load(&kiq);
    qvgpu_wr(v, RLC_CP_SCHEDULERS, RLC_CP_SCHEDULERS__VALID |
             VGPU_PREP(RLC_CP_SCHEDULERS__ME, 1u));
    qvgpu_pm4_write(&c, VA + 8, 1);
    qvgpu_compute_kick(&c);
    qvgpu_ih_next(v, &irq);

    info = qvgpu_query(v);
    q = compute(info, &c);
    g_assert_nonnull(q);
    g_assert_cmpstr(qdict_get_str(q, "role"), ==, "user");
    g_assert_cmpstr(qdict_get_str(q, "state"), ==, "stalled");
    g_assert_cmpuint(qdict_get_int(q, "vmid"), ==, VMID);
    g_assert_cmpuint(qdict_get_int(q, "rptr"), ==, 0);
    g_assert_cmpuint(qdict_get_int(q, "wptr"), ==, c.wptr);
    g_assert_cmphex(qdict_get_int(q, "doorbell"), ==, c.doorbell);
    g_assert_false(qdict_get_bool(q, "aql"));
    g_assert_false(qdict_get_bool(q, "mapped"));
    stall = qdict_get_qdict(q, "stall");
    g_assert_cmpstr(qdict_get_str(stall, "why"), ==, "cam");
    g_assert_cmphex(qdict_get_int(stall, "va"), ==, VA + 8);
    g_assert_true(qdict_get_bool(stall, "write"));
    q = compute(info, &kiq);
    g_assert_nonnull(q);
    g_assert_cmpstr(qdict_get_str(q, "role"), ==, "kiq");
    g_assert_cmpstr(qdict_get_str(q, "state"), ==, "idle");
    qobject_unref(info);
    text = qtest_hmp(v->qts, "info vgpu");
    g_assert_nonnull(strstr(text, "queue 2.1.3 (user): VMID 6"));
    g_assert_nonnull(strstr(text, "queue 1.0.0 (kiq): VMID 0"));
    qvgpu_stop(v);
}

/*
 * Catches: interrupt rings 1 and 2 are not reported, or are reported with the
 * state of ring 0.
 */
static void test_rings(void)
{
    QVGPU *v = qvgpu_start();
    QDict *info, *ring;
    QListEntry *entry;
    unsigned n = 0;

    qvgpu_wr(v, IH_RB_CNTL + IH_RING(2), IH_RB_CNTL__RB_ENABLE |
             VGPU_PREP(IH_RB_CNTL__RB_SIZE, 8u));
    qvgpu_wr(v, IH_RB_RPTR + IH_RING(2), 64);
    info = qvgpu_query(v);
    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "interrupt-rings"), entry) {
        ring = qobject_to(QDict, qlist_entry_obj(entry));
        g_assert_cmpuint(qdict_get_int(ring, "ring"), ==, n);
        g_assert_cmpint(qdict_get_bool(ring, "enabled"), ==, n != 1);
        g_assert_cmpuint(qdict_get_int(ring, "rptr"), ==, n == 2 ? 64 : 0);
        n++;
    }
    g_assert_cmpuint(n, ==, IH_NUM_RINGS);
    ring = qdict_get_qdict(info, "interrupts");
    g_assert_cmpuint(qdict_get_int(ring, "ring"), ==, 0);
    g_assert_true(qdict_get_bool(ring, "enabled"));
    qobject_unref(info);
    qvgpu_stop(v);
}

/* Catches: the monitor lacks `info vgpu`, or `info vgpu` shows no state. */
static void test_info(void)
{
    QVGPU *v = qvgpu_start();
    g_autofree char *text = qtest_hmp(v->qts, "info vgpu");

    g_assert_nonnull(strstr(text, "64 MiB of VRAM"));
    g_assert_nonnull(strstr(text, "SDMA0"));
    g_assert_nonnull(strstr(text, "interrupt ring: on"));
    g_assert_nonnull(strstr(text, "faults-retry: 0"));
    qvgpu_stop(v);
}

/* Catches: query-vgpu fails if there is no device. */
static void test_none(void)
{
    QTestState *qts = qtest_init("-machine q35 -nodefaults");
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'query-vgpu' }");
    g_autofree char *text = qtest_hmp(qts, "info vgpu");

    g_assert_true(qlist_empty(qdict_get_qlist(rsp, "return")));
    g_assert_nonnull(strstr(text, "no vgpu-kfd device"));
    qobject_unref(rsp);
    qtest_quit(qts);
}

void qvgpu_add_query_tests(void)
{
    qtest_add_func("/vgpu-kfd/query/cold", test_cold);
    qtest_add_func("/vgpu-kfd/query/stall", test_stall);
    qtest_add_func("/vgpu-kfd/query/reasons", test_reasons);
    qtest_add_func("/vgpu-kfd/query/tlb", test_tlb);
    qtest_add_func("/vgpu-kfd/query/while-running", test_while_running);
    qtest_add_func("/vgpu-kfd/query/compute", test_compute);
    qtest_add_func("/vgpu-kfd/query/rings", test_rings);
    qtest_add_func("/vgpu-kfd/query/info", test_info);
    qtest_add_func("/vgpu-kfd/query/none", test_none);
}
