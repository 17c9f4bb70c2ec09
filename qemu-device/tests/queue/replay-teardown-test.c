/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests queues that are disabled while they wait for the repair of a
 * fault.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/queue/suite.h"
#include "tests/qtest/vgpu-kfd/queue/replay-fixture.h"

/*
 * Catches: a stalled queue cannot be disabled, runs while it is disabled, or
 * copies bytes again when it is enabled again.
 */
static void test_disable_while_stalled(void)
{
    Replay r;
    unsigned slot;

    replay_start(&r);
    replay_map_src(&r);
    qvgpu_space_map(&r.space, DST, r.dst, QVGPU_PAGE);
    qvgpu_pkt_copy(&r.q, SRC, DST, 2 * QVGPU_PAGE);
    qvgpu_pkt_add64(&r.q, DST + 2 * QVGPU_PAGE, 1);
    qvgpu_sdma_kick(&r.q);
    slot = qvgpu_ih_next_fault(r.v, VMID, DST + QVGPU_PAGE, true, true);
    qvgpu_sdma_disable(&r.q);
    g_assert_cmphex(qvgpu_sdma_rptr(&r.q), ==, 0);

    /* The repair and the acknowledge do not start the disabled queue. */
    replay_map_dst(&r);
    qtest_memset(r.v->qts, r.dst, 0x44, QVGPU_PAGE);
    qvgpu_cam_ack(r.v, slot);
    qvgpu_sdma_pass(&r.kq);
    qvgpu_expect_byte(r.v, r.dst + QVGPU_PAGE, 0, QVGPU_PAGE);
    qvgpu_sdma_enable(&r.q);
    qvgpu_sdma_finish(&r.q);
    /*
     * Queue r.q continued in the middle of the packet. It did not copy the
     * first page again, so this page still contains 0x44.
     */
    qvgpu_expect_byte(r.v, r.dst, 0x44, QVGPU_PAGE);
    qvgpu_expect(r.v, r.dst + QVGPU_PAGE, 1, QVGPU_PAGE, QVGPU_PAGE);
    g_assert_cmphex(qtest_readq(r.v->qts, r.dst + 2 * QVGPU_PAGE), ==, 1);
    qvgpu_stop(r.v);
}

/*
 * Catches: the repair of a fault resumes a destroyed queue; a destroyed queue
 * keeps its CAM slot.
 */
static void test_destroy_while_stalled(void)
{
    Replay r;
    QVGPUSdma next;
    unsigned slot;

    replay_start(&r);
    replay_map_src(&r);
    qvgpu_pkt_copy(&r.q, SRC, DST, QVGPU_PAGE);
    qvgpu_sdma_kick(&r.q);
    slot = qvgpu_ih_next_fault(r.v, VMID, DST, true, true);
    qvgpu_sdma_disable(&r.q);
    qvgpu_sdma_open(&next, r.v, 0, SDMA_QUEUE_RLC(0), &r.space);
    qvgpu_pkt_fence(&next, SRC + QVGPU_PAGE, 1);
    qvgpu_sdma_finish(&next);

    replay_map_dst(&r);
    qvgpu_invalidate(r.v, 1u << VMID);
    qvgpu_cam_ack(r.v, slot);
    qvgpu_sdma_pass(&r.kq);
    qvgpu_expect_byte(r.v, r.dst, 0, PAGES * QVGPU_PAGE);

    /* The next fault of the page is reported as a new fault. */
    qvgpu_space_set(&r.space, DST, VGPU_LEVEL_PTB, 0);
    qvgpu_invalidate(r.v, 1u << VMID);
    qvgpu_pkt_fence(&next, DST, 2);
    qvgpu_sdma_kick(&next);
    slot = qvgpu_ih_next_fault(r.v, VMID, DST, true, true);
    replay_map_dst(&r);
    qvgpu_cam_ack(r.v, slot);
    qvgpu_sdma_finish(&next);
    g_assert_cmphex(qtest_readl(r.v->qts, r.dst), ==, 2);
    qvgpu_stop(r.v);
}

void qvgpu_add_replay_teardown_tests(void)
{
    qtest_add_func("/vgpu-kfd/replay/disable-while-stalled",
                   test_disable_while_stalled);
    qtest_add_func("/vgpu-kfd/replay/destroy-while-stalled",
                   test_destroy_while_stalled);
}
