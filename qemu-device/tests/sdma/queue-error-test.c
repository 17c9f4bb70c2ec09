/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests that bad packets, indirect buffers and rings stop their own
 * queue, and no other queue.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/sdma/suite.h"

#define VMID    2

/*
 * Fail the test unless the queue has stopped at @rptr with @exception and sent
 * an interrupt entry. @header: first dword of a bad packet.
 */
static void expect_stopped(QVGPUSdma *q, unsigned exception, uint32_t header,
                           uint64_t rptr)
{
    QVGPUIrq irq;

    qvgpu_ih_next(q->v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_SDMA(q->engine));
    g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_ILLEGAL);
    g_assert_cmpuint(irq.vmid, ==, q->space ? q->space->vmid : 0);
    g_assert_cmphex(irq.pasid, ==,
                    q->space ? QVGPU_PASID(q->space->vmid) : 0);
    if (exception == VGPU_SDMA_EXC_PACKET) {
        g_assert_cmphex(irq.data[0], ==, header);
    }
    qvgpu_wait_until(qvgpu_sdma_idle(q));
    g_assert_cmpuint(qvgpu_sdma_exception(q), ==, exception);
    g_assert_cmphex(qvgpu_sdma_rptr(q), ==, rptr);
}

/*
 * Catches: an invalid packet is skipped or partly executed; the packet does not
 * stop its queue, or also stops other queues; the stopped queue cannot be
 * restarted.
 */
static void test_bad_packets(void)
{
    static const uint32_t bad[][2] = {
        { SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR_RECT) | 5u << 29 },
        { SDMA_PKT(SDMA_OP_COPY, 1) },          /* tiled */
        { SDMA_PKT(SDMA_OP_COPY, 3) }, { SDMA_PKT(SDMA_OP_COPY, 5) },
        { SDMA_PKT(SDMA_OP_WRITE, 1) },
        { 3 }, { 7 },
        { SDMA_PKT(SDMA_OP_COND_EXE, 1) }, { SDMA_PKT(SDMA_OP_PRE_EXE, 1) },
        { SDMA_PKT(SDMA_OP_PTEPDE, 1) }, { SDMA_PKT(SDMA_OP_PTEPDE, 2) },
        { SDMA_PKT(SDMA_OP_TIMESTAMP, 3) },
        { SDMA_PKT(SDMA_OP_POLL_REGMEM, 2) },
        { SDMA_PKT(SDMA_OP_SRBM_WRITE, 0) | 0xf0000000,
          HUB(VGPU_HUB_MM) + VM_L2_CNTL3 },     /* queue not privileged */
        { 16 }, { 17 }, { 0x7f }, { 0xff }, { 0xffffffff },
        /* Bits 31:25 are the atomic operation. Operation 0 does not exist. */
        { SDMA_PKT(SDMA_OP_ATOMIC, 0) },
        { SDMA_PKT(SDMA_OP_ATOMIC, 0) | 1u << 25 },     /* floating point */
        { SDMA_PKT(SDMA_OP_ATOMIC, 0) | 15u << 25, 0x1002 },
        { SDMA_PKT(SDMA_OP_ATOMIC, 0) | 0x1au << 25 },
        { SDMA_PKT(SDMA_OP_ATOMIC, 0) | 0x60u << 25 },
        { SDMA_PKT(SDMA_OP_ATOMIC, 0) | 47u << 25 | SDMA_ATOMIC__LOOP },
        { SDMA_PKT(SDMA_OP_ATOMIC, 0) | 47u << 25, 0x1004 },    /* unaligned */
        { SDMA_PKT(SDMA_OP_CONST_FILL, 0) | 3u << 30 },
        { SDMA_PKT(SDMA_OP_POLL_REGMEM, 0) | 7u << 28 },
        /* not the queue's VMID */
        { SDMA_PKT(SDMA_OP_INDIRECT, 0) | 5u << 16, 0 },
        { SDMA_PKT(SDMA_OP_INDIRECT, 0), 0x1002 },        /* unaligned */
        { VGPU_PREP(SDMA_NOP__COUNT, 0x3fffu) },  /* longer than the ring */
    };
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), va, start;
    QVGPUSpace space;
    QVGPUSdma q, kq;
    unsigned i;

    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    va = qvgpu_space_place(&space, at, QVGPU_PAGE);
    qvgpu_sdma_open(&kq, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        g_test_message("header 0x%08x", bad[i][0]);
        qtest_writel(v->qts, at, 0);
        start = q.wptr;
        QVGPU_EMIT(&q, bad[i][0], bad[i][1], 0, 0, 0, 0, 0, 0, 0, 0);
        qvgpu_pkt_fence(&q, va, 1);
        qvgpu_sdma_kick(&q);
        expect_stopped(&q, VGPU_SDMA_EXC_PACKET, bad[i][0], start);
        qvgpu_sdma_pass(&kq);
        g_assert_cmphex(qtest_readl(v->qts, at), ==, 0);
        g_assert_cmphex(qvgpu_mm_rd(v, VM_L2_CNTL3), ==, 0);

        /*
         * Restart the queue behind the 40 bytes of the bad packet:
         * qvgpu_sdma_load() sets RPTR and WPTR to q.wptr.
         */
        qvgpu_sdma_disable(&q);
        g_assert_cmpuint(qvgpu_sdma_exception(&q), ==, 0);
        q.wptr = start + 40;
        qvgpu_sdma_load(&q);
        qvgpu_pkt_fence(&q, va, 2);
        qvgpu_sdma_finish(&q);
        g_assert_cmphex(qtest_readl(v->qts, at), ==, 2);
    }
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_QUEUE_ERRORS), ==,
                     ARRAY_SIZE(bad));
    qvgpu_stop(v);
}

/*
 * Catches: an indirect buffer is accepted although the buffer ends within a
 * packet, calls itself endlessly, or contains a bad packet.
 */
static void test_bad_indirect(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), ib, start;
    uint32_t len, ih = SDMA_PKT(SDMA_OP_INDIRECT, 0);
    QVGPUSdma q;
    unsigned i;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    for (i = 0; i < 3; i++) {
        uint32_t header = SDMA_PKT(SDMA_OP_FENCE, 0);

        start = q.wptr;
        switch (i) {
        case 0:                 /* the buffer ends within a packet */
            qvgpu_pkt_fence(&q, qvgpu_mc(v, at), 1);
            ib = qvgpu_sdma_to_buffer(&q, start, &len);
            len--;
            break;
        case 1:                 /* the buffer calls itself endlessly */
            header = ih;
            QVGPU_EMIT(&q, 0, 0, 0, 0, 0, 0);
            ib = qvgpu_sdma_to_buffer(&q, start, &len);
            qtest_writel(v->qts, ib, ih);
            qtest_writeq(v->qts, ib + 4, qvgpu_mc(v, ib));
            qtest_writel(v->qts, ib + 12, len);
            break;
        default:                /* a bad packet after a good one */
            header = 0xff;
            qvgpu_pkt_fence(&q, qvgpu_mc(v, at) + 4, 1);
            QVGPU_EMIT(&q, 0xff);
            qvgpu_pkt_fence(&q, qvgpu_mc(v, at), 1);
            ib = qvgpu_sdma_to_buffer(&q, start, &len);
            break;
        }
        qvgpu_pkt_indirect(&q, 0, qvgpu_mc(v, ib), len);
        qvgpu_pkt_fence(&q, qvgpu_mc(v, at), 1);
        qvgpu_sdma_kick(&q);
        qvgpu_wait_until(qvgpu_sdma_exception(&q));
        expect_stopped(&q, VGPU_SDMA_EXC_PACKET, header,
                       qvgpu_sdma_rptr(&q));
        g_assert_cmphex(qtest_readl(v->qts, at), ==, 0);
        qvgpu_sdma_disable(&q);
        qvgpu_sdma_load(&q);
    }
    g_assert_cmphex(qtest_readl(v->qts, at + 4), ==, 1);
    qvgpu_stop(v);
}

/*
 * Catches: a packet in an indirect buffer of a user VMID writes a register,
 * runs an indirect buffer of another VMID, or raises an interrupt with VMID 0.
 */
static void test_foreign_buffer(void)
{
    const uint32_t srbm[] = {
        SDMA_PKT(SDMA_OP_SRBM_WRITE, 0) | SDMA_SRBM_WRITE__BYTE_EN,
        HUB(VGPU_HUB_MM) + VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(9), 7,
    };
    const uint32_t other[] = { SDMA_PKT(SDMA_OP_INDIRECT, 0) | 5u << 16, 0, 0,
                               1, 0, 0 };
    QVGPU *v = qvgpu_start();
    uint64_t outer = qvgpu_ram_page(v), inner = qvgpu_ram_page(v);
    uint64_t va, inner_va;
    QVGPUSpace space;
    QVGPUSdma q;
    QVGPUIrq irq;
    unsigned i;

    qvgpu_space_init(&space, v, VMID, QVGPU_RAM);
    va = qvgpu_space_place(&space, outer, QVGPU_PAGE);
    inner_va = qvgpu_space_place(&space, inner, QVGPU_PAGE);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    for (i = 0; i < 2; i++) {
        qtest_bufwrite(v->qts, outer, i ? other : srbm,
                       i ? sizeof(other) : sizeof(srbm));
        qvgpu_pkt_indirect(&q, VMID, va, i ? 6 : 3);
        qvgpu_sdma_kick(&q);
        qvgpu_wait_until(qvgpu_sdma_exception(&q));
        expect_stopped(&q, VGPU_SDMA_EXC_PACKET, i ? other[0] : srbm[0],
                       qvgpu_sdma_rptr(&q));
        qvgpu_sdma_disable(&q);
        qvgpu_sdma_load(&q);
    }
    g_assert_cmphex(qvgpu_rd(v, srbm[1]), !=, 7);

    {
        /*
         * In an indirect buffer, an INDIRECT packet with VMID 0 selects the
         * buffer's own address space, not the kernel's.
         */
        const uint32_t call[] = {
            SDMA_PKT(SDMA_OP_INDIRECT, 0), QVGPU_LO(inner_va),
            QVGPU_HI(inner_va), 6, 0, 0,
        };
        const uint32_t fence[] = {
            SDMA_PKT(SDMA_OP_FENCE, 0), QVGPU_LO(va + 256),
            QVGPU_HI(va + 256), 0x5a, SDMA_PKT(SDMA_OP_TRAP, 0), 0x77,
        };

        qtest_bufwrite(v->qts, outer, call, sizeof(call));
        qtest_bufwrite(v->qts, inner, fence, sizeof(fence));
        qvgpu_pkt_indirect(&q, VMID, va, 6);
        qvgpu_sdma_finish(&q);
        g_assert_cmphex(qtest_readl(v->qts, outer + 256), ==, 0x5a);
        qvgpu_ih_next(v, &irq);
        g_assert_cmpuint(irq.source, ==, IH_SRC_SDMA_TRAP);
        g_assert_cmpuint(irq.vmid, ==, VMID);
        g_assert_cmphex(irq.data[0], ==, 0x77);
    }
    qvgpu_stop(v);
}

/* Catches: the engine uses an invalid ring size or pointer. */
static void test_bad_rings(void)
{
    static const struct {
        uint64_t wptr;
        unsigned size;          /* log2 of the ring's dwords; 0: default */
        uint64_t rptr;
    } bad[] = {
        { 4097, 0, 0 }, { 2, 0, 0 }, { 4100, 0, 0 },
        { 0xfffffffffffffffcull, 0, 0 }, { 8, 0, 16 }, { 8, 0, 1 },
        { 64, 5, 0 }, { 64, 1, 0 }, { 64, 29, 0 }, { 64, 31, 0 },
    };
    QVGPU *v = qvgpu_start();
    QVGPUSdma q, kq;
    unsigned i;

    qvgpu_sdma_open(&kq, v, 0, SDMA_QUEUE_GFX, NULL);
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        qvgpu_sdma_init(&q, v, 0, SDMA_QUEUE_RLC(i % 8), NULL);
        if (bad[i].size) {
            q.cntl = VGPU_SET(q.cntl, SDMA_RB_CNTL__RB_SIZE, bad[i].size);
        }
        q.wptr = bad[i].rptr;
        q.doorbell = qvgpu_sdma_doorbell(1, 0, i % 8);
        qvgpu_sdma_load(&q);
        q.wptr = bad[i].wptr;
        qvgpu_sdma_kick(&q);
        expect_stopped(&q, VGPU_SDMA_EXC_RING, 0, bad[i].rptr);
        qvgpu_sdma_pass(&kq);
        qvgpu_sdma_disable(&q);
    }
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_stop(v);
}

void qvgpu_add_queue_error_tests(void)
{
    qtest_add_func("/vgpu-kfd/queue-error/bad-packets", test_bad_packets);
    qtest_add_func("/vgpu-kfd/queue-error/bad-indirect", test_bad_indirect);
    qtest_add_func("/vgpu-kfd/queue-error/foreign-buffer", test_foreign_buffer);
    qtest_add_func("/vgpu-kfd/queue-error/bad-rings", test_bad_rings);
}
