/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests of run lists. The processes in the lists request global wave
 * sync (GWS).
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qemu/bswap.h"
#include "tests/qtest/vgpu-kfd/cp/suite.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hws.h"
#include "tests/qtest/vgpu-kfd/lib/migration.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "vgpu/psp.h"

/* GPU address of a page that all processes share */
#define SHARED      0x111100000000ull
#define PASID(i)    (0x600 + (i))
#define PROCESSES   3
#define ROUNDS      4
#define VMID        8                   /* first VMID of the scheduler */
#define ALL_HQDS    UINT32_MAX
#define ALL_GWS     UINT64_MAX

typedef struct Fixture {
    QVGPU *v;
    QVGPUHws h;
    uint64_t shared;
    QVGPUProcess p[PROCESSES];
    QVGPUUserCompute q[PROCESSES];
} Fixture;

/*
 * Set up processes with one queue each. Process i requests @num[i] resources of
 * GWS; the scheduler has the resources of mask @gws.
 */
static void setup(Fixture *f, const unsigned num[PROCESSES], uint64_t gws)
{
    unsigned i;

    f->v = qvgpu_start();
    qvgpu_time_passes(f->v);
    qvgpu_hws_init(&f->h, f->v);
    qvgpu_hws_resources_gws(&f->h, QVGPU_HWS_VMIDS, ALL_HQDS, gws);
    f->shared = qvgpu_ram_page(f->v);
    qvgpu_list_begin(&f->h);
    for (i = 0; i < PROCESSES; i++) {
        qvgpu_process_init(&f->p[i], f->v, PASID(i));
        f->p[i].num_gws = num[i];
        qvgpu_space_map(&f->p[i].space, SHARED, f->shared, QVGPU_PAGE);
        qvgpu_list_process(&f->h, &f->p[i], 1);
        qvgpu_user_compute_init(&f->q[i], f->v, &f->p[i], i);
        f->q[i].gws = num[i];
        qvgpu_list_compute(&f->h, &f->q[i], 0);
    }
    qvgpu_list_chain(&f->h);
}

static uint32_t gws(unsigned base, unsigned size)
{
    return VGPU_PREP(GDS_GWS_VMID__BASE, base) |
           VGPU_PREP(GDS_GWS_VMID__SIZE, size);
}

static void expect_gws(Fixture *f, unsigned vmid, unsigned base, unsigned size)
{
    g_assert_cmphex(qvgpu_rd(f->v, GDS_GWS_VMID(vmid)), ==, gws(base, size));
}

static void expect_reset(QVGPU *v)
{
    unsigned n;

    for (n = 0; n < VGPU_NUM_VMIDS; n++) {
        g_assert_cmphex(qvgpu_rd(v, GDS_GWS_VMID(n)), ==, GDS_GWS_VMID_RESET);
    }
}

/*
 * Catches: two processes hold the same GWS; a process gets GWS outside of the
 * scheduler's mask; an unmapped process keeps its GWS.
 */
static void test_grant(void)
{
    Fixture f;
    unsigned i;

    setup(&f, (unsigned[]) { 16, 0, 8 }, 0xffffff00fffffff0);
    expect_reset(f.v);
    qvgpu_list_run(&f.h, 0);
    qvgpu_hws_sync(&f.h);
    for (i = 0; i < 2; i++) {
        expect_gws(&f, VMID, 4, 16);
        expect_gws(&f, VMID + 1, 0, 0);
        expect_gws(&f, VMID + 2, 20, 8);
        g_assert_cmphex(qvgpu_rd(f.v, GDS_GWS_VMID(0)), ==,
                        GDS_GWS_VMID_RESET);
        /* Save and restore must keep the GWS of each process. */
        qvgpu_save_restore(f.v, false);
        qvgpu_cont(f.v);
    }

    /* When a process is unmapped, another process may get its GWS resources. */
    qvgpu_hws_unmap(&f.h, PM4_UNMAP_PREEMPT, PM4_SEL_PASID, PASID(0));
    qvgpu_hws_sync(&f.h);
    expect_gws(&f, VMID, 0, 0);
    expect_gws(&f, VMID + 2, 20, 8);
    f.p[1].num_gws = 20;
    f.p[0].num_gws = 1;
    qvgpu_list_begin(&f.h);
    for (i = PROCESSES; i--;) {
        qvgpu_list_process(&f.h, &f.p[i], 1);
        qvgpu_list_compute(&f.h, &f.q[i], 0);
    }
    qvgpu_list_run(&f.h, 0);
    qvgpu_hws_sync(&f.h);
    expect_gws(&f, VMID, 4, 8);
    expect_gws(&f, VMID + 1, 12, 20);
    expect_gws(&f, VMID + 2, 40, 1);

    qvgpu_hws_unmap(&f.h, PM4_UNMAP_PREEMPT, PM4_SEL_ALL, 0);
    qvgpu_hws_sync(&f.h);
    for (i = 0; i < PROCESSES; i++) {
        expect_gws(&f, VMID + i, 0, 0);
    }
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_QUEUE_ERRORS), ==, 0);
    qvgpu_wr(f.v, GDS_GWS_VMID(3), UINT32_MAX);
    g_assert_cmphex(qvgpu_rd(f.v, GDS_GWS_VMID(3)), ==, gws(63, 127));
    qvgpu_wr(f.v, MP0_SMN_C2PMSG_64, PSP_CMD_MODE1_RESET);
    expect_reset(f.v);
    qvgpu_stop(f.v);
}

/*
 * Run a list of only process @i and its queue. @type (QUEUE_TYPE): 0 is a
 * normal queue, 2 a static queue.
 */
static void run_alone(Fixture *f, unsigned i, unsigned type)
{
    qvgpu_list_begin(&f->h);
    qvgpu_list_process(&f->h, &f->p[i], 1);
    qvgpu_list_compute(&f->h, &f->q[i], type);
    qvgpu_list_run(&f->h, 0);
}

/*
 * Catches: a mapped process requests another number of GWS resources, but still
 * has the old GWS. (The static queue keeps the process mapped between the two
 * lists.)
 */
static void test_change(void)
{
    Fixture f;

    setup(&f, (unsigned[]) { 64, 0, 0 }, ALL_GWS);
    run_alone(&f, 0, 2);
    qvgpu_hws_sync(&f.h);
    expect_gws(&f, VMID, 0, 64);

    f.p[0].num_gws = 3;
    run_alone(&f, 0, 2);
    qvgpu_hws_sync(&f.h);
    expect_gws(&f, VMID, 0, 3);
    qvgpu_stop(f.v);
}

/* Return 1 << i if @vmid is assigned to process i, or 0. */
static unsigned holder(Fixture *f, unsigned vmid)
{
    unsigned i = qvgpu_rd(f->v, IH_VMID_LUT(vmid)) - PASID(0);

    return i < PROCESSES ? 1u << i : 0;
}

/*
 * Catches: if the scheduler's GWS mask was cleared while process 0 held GWS, a
 * migration loses this GWS. (With this bug, process 1 gets the same GWS
 * after the migration.)
 */
static void test_mask_cleared(void)
{
    Fixture f;

    setup(&f, (unsigned[]) { 64, 64, 0 }, ALL_GWS);
    run_alone(&f, 0, 2);
    qvgpu_compute_kick(&f.h.hiq);
    qvgpu_wait_until(holder(&f, VMID) == 1u << 0);
    /* Process 0 keeps all GWS, because its static queue stays mapped. */
    qvgpu_hws_resources_gws(&f.h, QVGPU_HWS_VMIDS, ALL_HQDS, 0);
    qvgpu_hws_sync(&f.h);
    expect_gws(&f, VMID, 0, 64);
    qvgpu_save_restore(f.v, false);
    qvgpu_cont(f.v);
    expect_gws(&f, VMID, 0, 64);

    qvgpu_hws_resources_gws(&f.h, QVGPU_HWS_VMIDS, ALL_HQDS, ALL_GWS);
    qvgpu_pm4_write(&f.q[1].c, SHARED, 0x1234);
    qvgpu_user_compute_kick(&f.q[1]);
    run_alone(&f, 1, 0);
    qvgpu_hws_sync(&f.h);
    g_assert_cmphex(holder(&f, VMID), ==, 1u << 0);
    g_assert_cmphex(holder(&f, VMID + 1), ==, 0);
    g_assert_cmphex(qtest_readl(f.v->qts, f.shared), ==, 0);

    qvgpu_hws_unmap(&f.h, PM4_UNMAP_PREEMPT, PM4_SEL_PASID, PASID(0));
    qvgpu_compute_kick(&f.h.hiq);
    qvgpu_user_compute_finish(&f.q[1]);
    g_assert_cmphex(qtest_readl(f.v->qts, f.shared), ==, 0x1234);
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_QUEUE_ERRORS), ==, 0);
    qvgpu_stop(f.v);
}

/*
 * Let the queues pass a token, the value of SHARED, from one to the next. Only
 * the queue that holds the token needs to be mapped.
 */
static void relay(Fixture *f)
{
    unsigned step, steps = ROUNDS * PROCESSES;

    for (step = 0; step < steps; step++) {
        QVGPUCompute *c = &f->q[step % PROCESSES].c;

        QVGPU_PM4(c, PM4_WAIT_REG_MEM, PM4_WAIT_DW1__MEM_SPACE | QVGPU_POLL_EQ,
                  QVGPU_LO(SHARED), QVGPU_HI(SHARED), step, UINT32_MAX, 10);
        qvgpu_pm4_write(c, SHARED, step + 1);
    }
    for (step = 0; step < PROCESSES; step++) {
        qvgpu_user_compute_kick(&f->q[step]);
    }
}

/*
 * Catches: two processes hold all of GWS at the same time; a process gets no
 * time slice.
 */
static void test_alone(void)
{
    unsigned n, seen = 0;
    Fixture f;

    setup(&f, (unsigned[]) { 64, 64, 64 }, ALL_GWS);
    relay(&f);
    qvgpu_list_run(&f.h, 0);
    qvgpu_wait_until(({
        /*
         * Only one process may be mapped at a time, because each process
         * requests all of GWS. VMIDs are assigned in order: a second mapped
         * process would have VMID + 1.
         */
        g_assert_cmphex(holder(&f, VMID + 1), ==, 0);
        g_assert_cmphex(qvgpu_rd(f.v, GDS_GWS_VMID(VMID + 1)), ==,
                        GDS_GWS_VMID_RESET);
        seen |= holder(&f, VMID);
        qtest_readl(f.v->qts, f.shared) == ROUNDS * PROCESSES &&
        seen == (1u << PROCESSES) - 1;
    }));
    qvgpu_save_restore(f.v, false);
    qvgpu_cont(f.v);
    for (n = 0; n < PROCESSES; n++) {
        qvgpu_user_compute_finish(&f.q[n]);
        g_assert_cmphex(qvgpu_mqd_rd(&f.q[n], CP_HQD_PQ_WPTR_LO), !=, 0);
    }
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_QUEUE_ERRORS), ==, 0);
    qvgpu_stop(f.v);
}

/* Catches: queues are preempted although there is enough GWS for all. */
static void test_together(void)
{
    unsigned i;
    Fixture f;

    setup(&f, (unsigned[]) { 32, 0, 32 }, ALL_GWS);
    relay(&f);
    qvgpu_list_run(&f.h, 0);
    for (i = 0; i < PROCESSES; i++) {
        qvgpu_user_compute_finish(&f.q[i]);
        g_assert_cmphex(qvgpu_mqd_rd(&f.q[i], CP_HQD_PQ_WPTR_LO), ==, 0);
    }
    expect_gws(&f, VMID + 2, 32, 32);
    qvgpu_stop(f.v);
}

/*
 * Process 1 requests more GWS than the scheduler can grant. The run list must
 * wait, but the HIQ must not.
 *
 * Catches: the HIQ stops too.
 * Catches: the run list still waits after SET_RESOURCES has added enough GWS.
 */
static void test_starved(void)
{
    unsigned i;
    Fixture f;

    setup(&f, (unsigned[]) { 0, 33, 1 }, ~(1ull << 32));
    relay(&f);
    qvgpu_list_run(&f.h, 0);
    qvgpu_hws_sync(&f.h);
    qvgpu_wait_until(qtest_readl(f.v->qts, f.shared) == 1);
    g_assert_cmphex(qvgpu_rd(f.v, GDS_GWS_VMID(VMID + 1)), ==,
                    GDS_GWS_VMID_RESET);
    qvgpu_hws_resources_gws(&f.h, QVGPU_HWS_VMIDS, ALL_HQDS, ALL_GWS);
    qvgpu_hws_sync(&f.h);
    for (i = 0; i < PROCESSES; i++) {
        qvgpu_user_compute_finish(&f.q[i]);
    }
    g_assert_cmpuint(qvgpu_counter(f.v, VGPU_CNT_QUEUE_ERRORS), ==, 0);
    qvgpu_stop(f.v);
}

/*
 * Catches: a request for more GWS than the device has is accepted; a queue that
 * uses GWS is accepted although its process has requested none.
 */
static void test_errors(void)
{
    static const struct {
        unsigned process, queue;
    } bad[] = {
        { 65, 0 }, { 127, 1 }, { 0, 1 },
    };
    unsigned i;
    Fixture f;

    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        setup(&f, (unsigned[]) { bad[i].process, 0, 0 }, ALL_GWS);
        f.q[0].gws = bad[i].queue;
        run_alone(&f, 0, 0);
        qvgpu_compute_irq(&f.h.hiq, IH_SRC_CP_BAD_OPCODE,
                          VGPU_PREP(IH_CP_ERROR__CODE,
                                    CP_ERROR_PACKET_UNSUPPORTED) |
                          (f.h.hiq.doorbell / 8 & IH_CP_ERROR__DOORBELL));
        g_assert_cmphex(qvgpu_rd(f.v, GDS_GWS_VMID(VMID)) &
                        GDS_GWS_VMID__BASE, ==, 0);
        /* After the refused packet, the saved state must still load. */
        qvgpu_save_restore(f.v, false);
        qvgpu_stop(f.v);
    }
}

/* Catches: a load accepts a saved state with invalid GWS resources. */
static void test_hostile(void)
{
    const uint64_t mask = 0xfffffffe7ffffffc, be = cpu_to_be64(mask);
    static const struct {
        /*
         * Byte offset in the saved state, counted from gws_mask. The saved
         * state has, in this order: gws_mask (8 bytes), gws_vmid (64 bytes),
         * hws.gws (8 bytes for each VMID) and num_gws.
         */
        unsigned at;
        uint8_t byte;
    } bad[] = {
        { 8 + 64 + 8 * VMID, 0x80 },    /* resources that are not contiguous */
        /* VMID + 2 holds a resource that VMID holds, too */
        { 8 + 64 + 8 * (VMID + 2) + 7, 0x04 },
        /* VMID + 5 cannot hold GWS, because it has no process */
        { 8 + 64 + 8 * (VMID + 5) + 7, 0x01 },
        { 8 + 64 + 7, 0x01 },                   /* VMID 0 cannot hold GWS */
        { 8 + 64 + 128, 65 },   /* num_gws of a process; only 64 exist */
    };
    g_autofree char *file = NULL, *buf = NULL;
    Fixture f;
    size_t len;
    unsigned i;
    char *at;

    setup(&f, (unsigned[]) { 2, 0, 2 }, mask);
    qvgpu_list_run(&f.h, 0);
    qvgpu_hws_sync(&f.h);
    expect_gws(&f, VMID + 2, 4, 2);
    file = qvgpu_save_restore(f.v, true);
    expect_gws(&f, VMID, 2, 2);
    g_assert_true(g_file_get_contents(file, &buf, &len, NULL));
    at = memmem(buf, len, &be, sizeof(be));
    g_assert_nonnull(at);
    g_assert_true(qvgpu_loads(f.v, file));
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        char good = at[bad[i].at];

        at[bad[i].at] = bad[i].byte;
        g_assert_true(g_file_set_contents(file, buf, len, NULL));
        if (qvgpu_loads(f.v, file)) {
            g_error("byte %u = 0x%02x is loaded", bad[i].at, bad[i].byte);
        }
        at[bad[i].at] = good;
    }
    g_unlink(file);
    qvgpu_stop(f.v);
}

void qvgpu_add_cp_gws_tests(void)
{
    qtest_add_func("/vgpu-kfd/hws/gws/grant", test_grant);
    qtest_add_func("/vgpu-kfd/hws/gws/change", test_change);
    qtest_add_func("/vgpu-kfd/hws/gws/mask-cleared", test_mask_cleared);
    qtest_add_func("/vgpu-kfd/hws/gws/alone", test_alone);
    qtest_add_func("/vgpu-kfd/hws/gws/together", test_together);
    qtest_add_func("/vgpu-kfd/hws/gws/starved", test_starved);
    qtest_add_func("/vgpu-kfd/hws/gws/errors", test_errors);
    qtest_add_func("/vgpu-kfd/hws/gws/hostile", test_hostile);
}
