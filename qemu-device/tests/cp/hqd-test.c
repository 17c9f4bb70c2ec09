/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests hardware queue descriptors (HQDs) of the command processor.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/cp/suite.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"

static uint32_t stamp(unsigned me, unsigned pipe, unsigned queue)
{
    return 0x10000 | me << 8 | pipe << 4 | queue;
}

/* Catches: two queues, pipes or VMIDs share a register. */
static void test_select(void)
{
    QVGPU *v = qvgpu_start_cold("64M");
    unsigned me, pipe, queue, vmid, pass;
    QVGPUCompute c = { .v = v };

    for (pass = 0; pass < 2; pass++) {
        for (me = 1; me <= CP_NUM_MECS; me++) {
            for (pipe = 0; pipe < CP_NUM_PIPES; pipe++) {
                for (queue = 0; queue < CP_NUM_QUEUES; queue++) {
                    c.me = me;
                    c.pipe = pipe;
                    c.queue = queue;
                    if (pass) {
                        g_assert_cmphex(qvgpu_hqd_rd(&c, CP_HQD_PQ_BASE), ==,
                                        stamp(me, pipe, queue));
                    } else {
                        qvgpu_hqd_wr(&c, CP_HQD_PQ_BASE,
                                     stamp(me, pipe, queue));
                    }
                }
                if (pass) {
                    g_assert_cmphex(qvgpu_rd(v, CP_PIPE_INT_CNTL(me, pipe)),
                                    ==, stamp(me, pipe, 7));
                } else {
                    qvgpu_wr(v, CPC_INT_CNTL, stamp(me, pipe, 7));
                }
            }
        }
    }
    /* ME 0 and 3 have no HQDs. */
    for (me = 0; me <= 3; me += 3) {
        c.me = me;
        qvgpu_hqd_wr(&c, CP_HQD_PQ_BASE, 1);
        qvgpu_hqd_wr(&c, CP_HQD_ACTIVE, 1);
        g_assert_cmphex(qvgpu_hqd_rd(&c, CP_HQD_PQ_BASE), ==, 0);
        g_assert_cmphex(qvgpu_hqd_rd(&c, CP_HQD_ACTIVE), ==, 0);
    }
    for (vmid = 0; vmid < VGPU_NUM_VMIDS; vmid++) {
        qvgpu_wr(v, GRBM_GFX_CNTL, VGPU_PREP(GRBM_GFX_CNTL__VMID, vmid));
        qvgpu_wr(v, SH_MEM_CONFIG, 0x100 + vmid);
        qvgpu_wr(v, SH_MEM_BASES, 0x200 + vmid);
    }
    for (vmid = 0; vmid < VGPU_NUM_VMIDS; vmid++) {
        qvgpu_wr(v, GRBM_GFX_CNTL, VGPU_PREP(GRBM_GFX_CNTL__VMID, vmid));
        g_assert_cmphex(qvgpu_rd(v, SH_MEM_CONFIG), ==, 0x100 + vmid);
        g_assert_cmphex(qvgpu_rd(v, SH_MEM_BASES), ==, 0x200 + vmid);
    }
    qvgpu_stop(v);
}

/*
 * The queues' new write pointers are only in memory. The test requests a poll
 * for c[1]. Catches: c[1] does not start, or c[0] starts.
 */
static void test_poll_wptr(void)
{
    QVGPU *v = qvgpu_start();
    QVGPUCompute c[2];
    uint64_t page = qvgpu_ram_page(v);
    unsigned i;

    qvgpu_cp_setup(v);
    for (i = 0; i < 2; i++) {
        qvgpu_compute_init(&c[i], v, 1, i, 3, NULL);
        c[i].wptr = 0xffffffff0ull;
        qvgpu_compute_load(&c[i]);
        qvgpu_pm4_write(&c[i], qvgpu_mc(v, page) + 4 * i, 7);
        QVGPU_PM4(&c[i], PM4_NOP, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        qtest_writeq(v->qts, c[i].wptr_mem, c[i].wptr);
    }
    qvgpu_wr(v, CP_PQ_WPTR_POLL_CNTL1, 1u << (1 * 8 + 3));
    qvgpu_wait_until(qtest_readl(v->qts, page + 4) == 7);
    qvgpu_wait_until(qtest_readl(v->qts, c[1].rptr) == (c[1].wptr & 1023));
    g_assert_cmphex(qvgpu_hqd_rd(&c[1], CP_HQD_PQ_WPTR_LO), ==,
                    (uint32_t)c[1].wptr);
    g_assert_cmphex(qvgpu_hqd_rd(&c[1], CP_HQD_PQ_WPTR_HI), ==,
                    c[1].wptr >> 32);
    g_assert_cmphex(qtest_readl(v->qts, page), ==, 0);
    qvgpu_compute_finish(&c[0]);
    g_assert_cmphex(qtest_readl(v->qts, page), ==, 7);
    qvgpu_stop(v);
}

/* Catches: a queue runs although its MEC is halted or the queue is inactive. */
static void test_halt(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t page = qvgpu_ram_page(v);
    QVGPUCompute c[3];
    unsigned i;

    qvgpu_cp_setup(v);
    qvgpu_wr(v, CP_MEC_CNTL, CP_MEC_CNTL__MEC_ME1_HALT);
    for (i = 0; i < 3; i++) {
        qvgpu_compute_init(&c[i], v, 1 + i % 2, i, 0, NULL);
        if (i < 2) {
            qvgpu_compute_load(&c[i]);
        }
        qvgpu_pm4_write(&c[i], qvgpu_mc(v, page) + 4 * i, 7);
        if (i != 1) {
            qvgpu_compute_kick(&c[i]);
        }
    }
    qvgpu_compute_finish(&c[1]);
    g_assert_cmphex(qtest_readl(v->qts, page), ==, 0);
    g_assert_cmphex(qtest_readl(v->qts, page + 8), ==, 0);
    qvgpu_wr(v, CP_MEC_CNTL, 0);
    qvgpu_compute_finish(&c[0]);
    g_assert_cmphex(qtest_readl(v->qts, page), ==, 7);
    qvgpu_stop(v);
}

/*
 * Catches: a doorbell outside of the doorbell range of the MECs starts a queue.
 */
static void test_doorbell_range(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t page = qvgpu_ram_page(v);
    QVGPUCompute c, seen;

    qvgpu_cp_setup(v);
    qvgpu_wr(v, CP_MEC_DOORBELL_RANGE_LOWER, 0x18);
    qvgpu_wr(v, CP_MEC_DOORBELL_RANGE_UPPER, 0x50);
    qvgpu_compute_init(&c, v, 1, 0, 0, NULL);
    c.doorbell = 0x58;
    qvgpu_compute_load(&c);
    qvgpu_compute_init(&seen, v, 1, 0, 1, NULL);
    seen.doorbell = 0x50;
    qvgpu_compute_load(&seen);
    qvgpu_pm4_write(&c, qvgpu_mc(v, page), 1);
    qvgpu_compute_kick(&c);
    qvgpu_pm4_write(&seen, qvgpu_mc(v, page) + 4, 1);
    qvgpu_compute_finish(&seen);
    g_assert_cmphex(qtest_readl(v->qts, page), ==, 0);
    g_assert_cmphex(qvgpu_hqd_rd(&c, CP_HQD_PQ_DOORBELL_CONTROL), ==,
                    CP_HQD_PQ_DOORBELL_CONTROL__EN | 0x58);
    g_assert_cmphex(qvgpu_hqd_rd(&seen, CP_HQD_PQ_DOORBELL_CONTROL) &
                    CP_HQD_PQ_DOORBELL_CONTROL__HIT, !=, 0);
    qvgpu_stop(v);
}

/*
 * A dequeue by register leaves the doorbell of the HQD enabled. Catches: a
 * doorbell reaches this inactive HQD instead of the active HQD with the same
 * doorbell.
 */
static void test_doorbell_left(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t page = qvgpu_ram_page(v);
    QVGPUCompute left, c;

    qvgpu_cp_setup(v);
    qvgpu_compute_init(&left, v, 1, 0, 0, NULL);
    qvgpu_compute_load(&left);
    qvgpu_compute_dequeue(&left);
    qvgpu_compute_init(&c, v, 1, 0, 1, NULL);
    c.doorbell = left.doorbell;
    qvgpu_compute_load(&c);
    g_assert_cmphex(qvgpu_hqd_rd(&left, CP_HQD_PQ_DOORBELL_CONTROL), ==,
                    CP_HQD_PQ_DOORBELL_CONTROL__EN | left.doorbell);
    qvgpu_pm4_write(&c, qvgpu_mc(v, page), 1);
    qvgpu_compute_finish(&c);
    g_assert_cmphex(qtest_readl(v->qts, page), ==, 1);
    qvgpu_stop(v);
}

/*
 * Catches: an activated queue runs before its position in an indirect buffer is
 * restored, and so executes the packets after INDIRECT_BUFFER.
 */
static void test_come_and_go(void)
{
    enum { ROUNDS = 3000 };
    QVGPU *v = qvgpu_start();
    uint64_t page = qvgpu_ram_page(v), buffer = qvgpu_ram_page(v);
    uint64_t ib = qvgpu_mc(v, buffer);
    QVGPUCompute c, busy;
    unsigned i;

    qvgpu_cp_setup(v);
    qvgpu_compute_init(&c, v, 1, 0, 0, NULL);
    qvgpu_compute_init(&busy, v, 2, 0, 0, NULL);
    qvgpu_compute_load(&c);
    qvgpu_compute_load(&busy);
    qtest_writel(v->qts, buffer, PM4_HEADER(PM4_INDIRECT_BUFFER, 4));
    qtest_writel(v->qts, buffer + 4, QVGPU_LO(ib));
    qtest_writel(v->qts, buffer + 8, QVGPU_HI(ib));
    qtest_writel(v->qts, buffer + 12, 4 | PM4_IB_DW3__CHAIN);
    /* Queue @busy only keeps the worker thread busy. */
    QVGPU_PM4(&busy, PM4_INDIRECT_BUFFER, QVGPU_LO(ib), QVGPU_HI(ib), 4);
    qvgpu_compute_kick(&busy);
    QVGPU_PM4(&c, PM4_INDIRECT_BUFFER, QVGPU_LO(ib), QVGPU_HI(ib), 4);
    /*
     * A correct device never reaches the packets below: the indirect buffer
     * above chains to itself, so it never ends.
     */
    for (i = 0; i < 100; i++) {
        qvgpu_pm4_write(&c, qvgpu_mc(v, page), 1);
    }
    qvgpu_compute_kick(&c);
    qvgpu_wait_until(qvgpu_hqd_rd(&c, CP_HQD_PQ_RPTR) == 4);
    for (i = 0; i < ROUNDS; i++) {
        qvgpu_compute_dequeue(&c);
        g_assert_cmphex(qvgpu_hqd_rd(&c, CP_HQD_PQ_RPTR), ==, 4);
        qvgpu_hqd_wr(&c, CP_HQD_ACTIVE, CP_HQD_ACTIVE__ACTIVE);
    }
    g_assert_cmphex(qtest_readl(v->qts, page), ==, 0);
    qvgpu_compute_dequeue(&c);
    qvgpu_compute_dequeue(&busy);
    qvgpu_stop(v);
}

/*
 * Catches: with a QUEUE_SIZE above 26, CP_HQD_PQ_RPTR of an active queue is not
 * reduced modulo 2^27. (QUEUE_SIZE 26 and all larger values select the largest
 * ring, which has 2^27 dwords.)
 */
static void test_ring_size(void)
{
    static const unsigned sizes[] = { 26, 27, 63 };
    QVGPU *v = qvgpu_start();
    QVGPUCompute c;
    unsigned i;

    qvgpu_cp_setup(v);
    qvgpu_compute_init(&c, v, 1, 0, 0, NULL);
    c.wptr = (1ull << 27) + 5;
    for (i = 0; i < ARRAY_SIZE(sizes); i++) {
        c.control = VGPU_SET(c.control, CP_HQD_PQ_CONTROL__QUEUE_SIZE,
                             sizes[i]);
        qvgpu_compute_load(&c);
        g_assert_cmphex(qvgpu_hqd_rd(&c, CP_HQD_PQ_RPTR), ==, 5);
        qvgpu_compute_dequeue(&c);
        g_assert_cmphex(qvgpu_hqd_rd(&c, CP_HQD_PQ_RPTR), ==, 5);
    }
    qvgpu_stop(v);
}

void qvgpu_add_cp_hqd_tests(void)
{
    qtest_add_func("/vgpu-kfd/cp/come-and-go", test_come_and_go);
    qtest_add_func("/vgpu-kfd/cp/select", test_select);
    qtest_add_func("/vgpu-kfd/cp/poll-wptr", test_poll_wptr);
    qtest_add_func("/vgpu-kfd/cp/halt", test_halt);
    qtest_add_func("/vgpu-kfd/cp/ring-size", test_ring_size);
    qtest_add_func("/vgpu-kfd/cp/doorbell-range", test_doorbell_range);
    qtest_add_func("/vgpu-kfd/cp/doorbell-left", test_doorbell_left);
    qvgpu_add_cp_aql_tests();
    qvgpu_add_cp_kiq_tests();
    qvgpu_add_cp_runlist_tests();
}
