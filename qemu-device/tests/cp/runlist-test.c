/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests how the queues of a run list are mapped and unmapped. Each
 * list fits the HQDs and VMIDs.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "tests/qtest/vgpu-kfd/cp/suite.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hws.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"

/* GPU address at which each process has a page of its own */
#define VA          0x123456000ull
#define PASID(i)    (0x400 + (i))
#define PROCESSES   3
#define QUEUES      2                   /* queues of each process */
#define ALL_HQDS    UINT32_MAX          /* mask of all HQDs of ME 1 */

typedef struct Fixture {
    QVGPU *v;
    QVGPUHws h;
    QVGPUProcess p[PROCESSES];
    uint64_t page[PROCESSES];           /* CPU address of the page at VA */
    QVGPUUserCompute q[PROCESSES][QUEUES];
} Fixture;

static void setup(Fixture *f)
{
    unsigned i, j;

    f->v = qvgpu_start();
    qvgpu_hws_init(&f->h, f->v);
    qvgpu_hws_resources(&f->h, QVGPU_HWS_VMIDS, ALL_HQDS);
    qvgpu_list_begin(&f->h);
    for (i = 0; i < PROCESSES; i++) {
        qvgpu_process_init(&f->p[i], f->v, PASID(i));
        f->page[i] = qvgpu_ram_page(f->v);
        qvgpu_space_map(&f->p[i].space, VA, f->page[i], QVGPU_PAGE);
        qvgpu_list_process(&f->h, &f->p[i], 10);
        for (j = 0; j < QUEUES; j++) {
            qvgpu_user_compute_init(&f->q[i][j], f->v, &f->p[i],
                                    QUEUES * i + j);
            /* The queues of the last process are static. */
            qvgpu_list_compute(&f->h, &f->q[i][j],
                               i == PROCESSES - 1 ? 2 : 0);
        }
    }
}

static void work(Fixture *f, unsigned i, uint32_t val)
{
    unsigned j;

    for (j = 0; j < QUEUES; j++) {
        qvgpu_pm4_write(&f->q[i][j].c, VA + 4 * j, val + j);
        qvgpu_user_compute_kick(&f->q[i][j]);
    }
}

static void expect_work(Fixture *f, unsigned i, uint32_t val)
{
    unsigned j;

    for (j = 0; j < QUEUES; j++) {
        qvgpu_user_compute_finish(&f->q[i][j]);
        g_assert_cmphex(qtest_readl(f->v->qts, f->page[i] + 4 * j), ==,
                        val + j);
    }
}

/*
 * Return the VMID that has the PASID of process @i, or 0 if none has. Fails the
 * test unless all registers of this VMID have the values for the process.
 */
static unsigned vmid_of(Fixture *f, unsigned i)
{
    QVGPU *v = f->v;
    uint64_t root = qvgpu_entry(v, f->p[i].space.root, VGPU_PDE_VALID);
    unsigned vmid, found = 0;

    for (vmid = 8; vmid < VGPU_NUM_VMIDS; vmid++) {
        if (qvgpu_rd(v, IH_VMID_LUT(vmid)) != PASID(i)) {
            continue;
        }
        g_assert_cmpuint(found, ==, 0);
        found = vmid;
        g_assert_cmphex(qvgpu_rd(v, IH_VMID_LUT_MM(vmid)), ==, PASID(i));
        g_assert_cmphex(qvgpu_rd(v, ATC_VMID_PASID_MAPPING(vmid)), ==,
                        PASID(i) | ATC_VMID_PASID_MAPPING__VALID);
        g_assert_cmphex(qvgpu_rd(v, ATC_VMID_PASID_MAPPING(vmid + 16)), ==,
                        PASID(i) | ATC_VMID_PASID_MAPPING__VALID);
        g_assert_cmphex(qvgpu_mm_rd64(v,
                        VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid)), ==, root);
        g_assert_cmphex(qvgpu_gfx_rd(v,
                        VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid)), ==,
                        QVGPU_LO(root));
        qvgpu_wr(v, GRBM_GFX_CNTL, VGPU_PREP(GRBM_GFX_CNTL__VMID, vmid));
        g_assert_cmphex(qvgpu_rd(v, SH_MEM_CONFIG), ==,
                        f->p[i].sh_mem_config);
        g_assert_cmphex(qvgpu_rd(v, SH_MEM_BASES), ==, PASID(i));
    }
    return found;
}

/*
 * Catches: a queue runs in another process's VMID; a register of a VMID is not
 * set; a fence is written before earlier work.
 */
static void test_run(void)
{
    unsigned i, j, vmids = 0;
    Fixture f;

    setup(&f);
    for (i = 0; i < PROCESSES; i++) {
        work(&f, i, 0x1000 * (i + 1));      /* the process is not mapped yet */
    }
    qvgpu_list_run(&f.h, 0);
    for (i = 0; i < PROCESSES; i++) {
        expect_work(&f, i, 0x1000 * (i + 1));
    }
    for (i = 0; i < PROCESSES; i++) {
        g_assert_cmpuint(vmid_of(&f, i), !=, 0);
        vmids |= 1u << vmid_of(&f, i);
        work(&f, i, 0x2000 * (i + 1));
        expect_work(&f, i, 0x2000 * (i + 1));
    }
    g_assert_cmpuint(ctpop32(vmids), ==, PROCESSES);

    qvgpu_hws_unmap(&f.h, PM4_UNMAP_PREEMPT, PM4_SEL_ALL, 0);
    qvgpu_hws_sync(&f.h);
    for (i = 0; i < PROCESSES; i++) {
        g_assert_cmpuint(vmid_of(&f, i), ==, 0);
        for (j = 0; j < QUEUES; j++) {
            QVGPUUserCompute *q = &f.q[i][j];

            g_assert_cmphex(qvgpu_mqd_rd(q, CP_HQD_PQ_RPTR), ==, q->c.wptr);
            g_assert_cmphex(qvgpu_mqd_rd(q, CP_HQD_PQ_WPTR_LO), ==,
                            q->c.wptr);
        }
        work(&f, i, 0x3000);
    }
    /* The work has no effect until the queues are mapped again. */
    qvgpu_hws_sync(&f.h);
    g_assert_cmphex(qtest_readl(f.v->qts, f.page[0]), ==, 0x2000);
    qvgpu_list_run(&f.h, 0);
    for (i = 0; i < PROCESSES; i++) {
        expect_work(&f, i, 0x3000);
    }
    qvgpu_stop(f.v);
}

/*
 * Catches: UNMAP_QUEUES unmaps other queues than selected, or none; action
 * RESET saves the queue to its MQD.
 */
static void test_unmap(void)
{
    unsigned j;
    Fixture f;

    setup(&f);
    qvgpu_list_run(&f.h, 0);
    qvgpu_hws_sync(&f.h);

    qvgpu_hws_unmap(&f.h, PM4_UNMAP_PREEMPT, PM4_SEL_PASID, PASID(0));
    qvgpu_hws_sync(&f.h);
    work(&f, 0, 0x100);
    work(&f, 1, 0x200);
    expect_work(&f, 1, 0x200);
    g_assert_cmphex(qtest_readl(f.v->qts, f.page[0]), ==, 0);
    g_assert_cmpuint(vmid_of(&f, 0), ==, 0);
    g_assert_cmpuint(vmid_of(&f, 1), !=, 0);

    qvgpu_hws_unmap(&f.h, PM4_UNMAP_RESET, PM4_SEL_DOORBELLS,
                    f.q[1][0].c.doorbell);
    qvgpu_hws_sync(&f.h);
    g_assert_cmphex(qvgpu_mqd_rd(&f.q[1][0], CP_HQD_PQ_WPTR_LO), ==, 0);
    work(&f, 1, 0x300);
    qvgpu_user_compute_finish(&f.q[1][1]);
    g_assert_cmphex(qtest_readl(f.v->qts, f.page[1]), ==, 0x200);
    g_assert_cmphex(qtest_readl(f.v->qts, f.page[1] + 4), ==, 0x301);

    qvgpu_hws_unmap(&f.h, PM4_UNMAP_PREEMPT, PM4_SEL_NON_STATIC, 0);
    qvgpu_hws_sync(&f.h);
    work(&f, 1, 0x400);
    work(&f, 2, 0x500);
    expect_work(&f, 2, 0x500);
    for (j = 0; j < QUEUES; j++) {
        g_assert_cmphex(qtest_readl(f.v->qts, f.page[1] + 4 * j), <, 0x400);
    }
    g_assert_cmpuint(vmid_of(&f, 1), ==, 0);
    g_assert_cmpuint(vmid_of(&f, 2), !=, 0);
    qvgpu_stop(f.v);
}

/*
 * Catches: a VMID keeps a translation of the process that had the VMID before.
 */
static void test_vmid_again(void)
{
    unsigned i, round;
    Fixture f;

    setup(&f);
    qvgpu_hws_resources(&f.h, 1u << 9, ALL_HQDS);
    for (round = 0; round < 2; round++) {
        for (i = 0; i < PROCESSES; i++) {
            unsigned val = 0x10000 * round + 0x100 * i + 1;

            qvgpu_list_begin(&f.h);
            qvgpu_list_process(&f.h, &f.p[i], 1);
            qvgpu_list_compute(&f.h, &f.q[i][0], 0);
            qvgpu_list_compute(&f.h, &f.q[i][1], 0);
            work(&f, i, val);
            /* The scheduler first unmaps the queues of the previous list. */
            qvgpu_list_run(&f.h, 0);
            expect_work(&f, i, val);
            g_assert_cmpuint(vmid_of(&f, i), ==, 9);
        }
    }
    qvgpu_stop(f.v);
}

/*
 * Fail the test unless the HIQ stops with @bits in CP_HQD_ERROR and raises an
 * interrupt with the error @code. If @code is 0, do not expect an interrupt.
 * Quits QEMU.
 */
static void expect_error(Fixture *f, unsigned code, uint32_t bits)
{
    if (code) {
        qvgpu_compute_irq(&f->h.hiq, IH_SRC_CP_BAD_OPCODE,
                          VGPU_PREP(IH_CP_ERROR__CODE, code) |
                          (f->h.hiq.doorbell / 8 & IH_CP_ERROR__DOORBELL));
    } else {
        qvgpu_wait_until(qvgpu_counter(f->v, VGPU_CNT_QUEUE_ERRORS) == 1);
    }
    g_assert_cmphex(qvgpu_hqd_rd(&f->h.hiq, CP_HQD_ERROR), ==, bits);
    g_assert_cmphex(qvgpu_hqd_rd(&f->h.hiq, CP_HQD_ACTIVE), ==, 1);
    g_assert_cmpuint(qvgpu_counter(f->v, VGPU_CNT_QUEUE_ERRORS), ==, 1);
    qvgpu_stop(f->v);
}

/* Catches: an invalid run list is executed. */
static void test_errors(void)
{
    static const struct {
        uint32_t header, dw1;
        unsigned code;
    } bad[] = {
        /* MAP_QUEUES that no MAP_PROCESS precedes */
        { PM4_HEADER(PM4_MAP_QUEUES, 7u), 1u << 29,
          CP_ERROR_PACKET_UNSUPPORTED },
        /* not a scheduling packet */
        { PM4_HEADER(PM4_WRITE_DATA, 5u), 0, CP_ERROR_PACKET_UNSUPPORTED },
        /* RUN_LIST without CHAIN */
        { PM4_HEADER(PM4_RUN_LIST, 4u), 0, CP_ERROR_PACKET_UNSUPPORTED },
        /* MAP_PROCESS with too few dwords */
        { PM4_HEADER(PM4_MAP_PROCESS, 16u), 0, CP_ERROR_PACKET_RESERVED },
        /* longer than the rest of the run list */
        { PM4_HEADER(PM4_NOP, 0x3000u), 0, CP_ERROR_PACKET_RESERVED },
        /* type 0, not a PM4 packet of type 3 */
        { 0, 0, CP_ERROR_PACKET_UNSUPPORTED },
    };
    unsigned i;
    Fixture f;

    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        uint32_t dw[PM4_MAP_PROCESS_DWORDS] = { bad[i].header, bad[i].dw1 };

        setup(&f);
        qvgpu_list_begin(&f.h);
        qvgpu_list_emit(&f.h, dw, ARRAY_SIZE(dw));
        qvgpu_list_run(&f.h, 0);
        expect_error(&f, bad[i].code, 0);
    }
    /* MAP_PROCESS in the ring, instead of in a run list, is an error. */
    setup(&f);
    QVGPU_PM4(&f.h.hiq, PM4_MAP_PROCESS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
              0, 0, 0, 0, 0, 0, 0);
    qvgpu_compute_kick(&f.h.hiq);
    expect_error(&f, CP_ERROR_PACKET_UNSUPPORTED, 0);
    /* The run list is at an address without memory. */
    setup(&f);
    QVGPU_PM4(&f.h.hiq, PM4_RUN_LIST, 0, 0x7000, PM4_RUN_DW3__VALID | 64);
    qvgpu_compute_kick(&f.h.hiq);
    expect_error(&f, 0, CP_HQD_ERROR__IB_UTCL1_ERROR);
}

void qvgpu_add_cp_runlist_tests(void)
{
    qtest_add_func("/vgpu-kfd/hws/run", test_run);
    qtest_add_func("/vgpu-kfd/hws/unmap", test_unmap);
    qtest_add_func("/vgpu-kfd/hws/vmid-again", test_vmid_again);
    qtest_add_func("/vgpu-kfd/hws/errors", test_errors);
    qvgpu_add_cp_gws_tests();
    qvgpu_add_cp_timeslice_tests();
    qvgpu_add_cp_sdma_queues_tests();
}
