/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests the destruction of SDMA queues in each of their states. */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/sdma/suite.h"

#define VMID        5
#define UNMAPPED    0x123456000ull

typedef enum State {
    IDLE,
    POLLING,
    HALF_PACKET,            /* the packet's end is not in the ring yet */
    LOOPING,                /* a CMPSWAP in loop mode that does not swap */
    SKIPPING,               /* COND_EXE skips beyond the write pointer */
    COPYING,
    NO_PAGE,                /* retry fault in a copy */
    NO_RING,                /* retry fault on the ring */
    BROKEN,                 /* stopped with an exception */
    FROZEN,
    STATES,
} State;

static const char *const names[STATES] = {
    "idle", "polling", "half packet", "looping", "skipping", "copying",
    "no page", "no ring", "broken", "frozen",
};

/*
 * The test's machine, and memory that its queues share. @at is the CPU address
 * of this memory, @va the GPU address in the queues' address space.
 */
typedef struct Life {
    QVGPU *v;
    QVGPUSpace space;
    uint64_t at, va;
    uint64_t src_va, dst_va;
} Life;

#define COPY_BYTES  (24 * MiB)

/* Bring the loaded queue @q into @state. */
static void enter(Life *l, QVGPUSdma *q, State state)
{
    QVGPU *v = l->v;
    uint64_t before;

    switch (state) {
    case POLLING:
        qvgpu_pkt_poll_mem(q, QVGPU_POLL_EQ, l->va, 1, UINT32_MAX,
                           QVGPU_POLL_FOREVER);
        break;
    case HALF_PACKET:
        QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_FENCE, 0), QVGPU_LO(l->va + 4),
                   QVGPU_HI(l->va + 4));
        qvgpu_sdma_kick(q);
        return;
    case LOOPING:
        QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_ATOMIC, 0) | SDMA_ATOMIC__LOOP |
                   VGPU_PREP(SDMA_ATOMIC__OP, (uint32_t)SDMA_ATOMIC_CMPSWAP),
                   QVGPU_LO(l->va), QVGPU_HI(l->va), 0, 0, 1, 0, 10);
        break;
    case SKIPPING:
        QVGPU_EMIT(q, SDMA_PKT(SDMA_OP_COND_EXE, 0), QVGPU_LO(l->va),
                   QVGPU_HI(l->va), 1, 100);
        break;
    case COPYING:
        before = qvgpu_counter(v, VGPU_CNT_BYTES_COPIED);
        qvgpu_pkt_copy(q, l->src_va, l->dst_va, COPY_BYTES);
        qvgpu_sdma_kick(q);
        qvgpu_wait_until(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED) != before);
        return;
    case NO_PAGE:
        qvgpu_pkt_copy(q, l->va, UNMAPPED, 4);
        break;
    case BROKEN:
        QVGPU_EMIT(q, 0xffffffff);
        break;
    case FROZEN:
        qvgpu_wr(v, SDMA_ENGINE(q->engine) + SDMA_FREEZE, SDMA_FREEZE__FREEZE);
        qvgpu_wait_until(qvgpu_rd(v, SDMA_ENGINE(q->engine) + SDMA_FREEZE) &
                         SDMA_FREEZE__FROZEN);
        break;
    default:
        break;
    }
    if (state != IDLE) {
        /* test_destroy() checks that the queue never executes this FENCE. */
        qvgpu_pkt_fence(q, l->va + 4, 0xdead);
    }
    if (state == BROKEN) {
        qvgpu_sdma_kick(q);
        qvgpu_wait_until(qvgpu_sdma_exception(q));
    } else if (state == NO_PAGE || state == NO_RING) {
        before = qvgpu_counter(v, VGPU_CNT_FAULTS_RETRY);
        qvgpu_sdma_kick(q);
        qvgpu_wait_until(qvgpu_counter(v, VGPU_CNT_FAULTS_RETRY) != before);
    } else {
        qvgpu_sdma_kick(q);
    }
}

/* Take all pending interrupts, and free the CAM slots of faults. */
static void drain(QVGPU *v)
{
    QVGPUIrq irq;

    while (qvgpu_ih_pending(v)) {
        qvgpu_ih_next(v, &irq);
        if (irq.client == IH_CLIENT_VMC) {
            qvgpu_cam_ack(v, irq.data[2] & IH_FAULT_D2__CAM_INDEX);
        }
    }
}

/*
 * Catches: a queue cannot be destroyed in one of its states; a destroyed queue
 * executes packets, or affects the RLC's next queue or other queues.
 */
static void test_destroy(void)
{
    Life l = { .v = qvgpu_start() };
    QVGPUSdma kq;
    State state;

    l.at = qvgpu_ram_page(l.v);
    qvgpu_space_init(&l.space, l.v, VMID, QVGPU_VRAM);
    l.va = qvgpu_space_place(&l.space, l.at, QVGPU_PAGE);
    l.src_va = qvgpu_space_place(&l.space, qvgpu_alloc(l.v, QVGPU_RAM,
                                                       COPY_BYTES, QVGPU_PAGE),
                                 COPY_BYTES);
    l.dst_va = qvgpu_space_place(&l.space, qvgpu_alloc(l.v, QVGPU_VRAM,
                                                       COPY_BYTES, QVGPU_PAGE),
                                 COPY_BYTES);
    qvgpu_sdma_open(&kq, l.v, 3, SDMA_QUEUE_GFX, NULL);
    for (state = 0; state < STATES; state++) {
        QVGPUSdma q, next;
        uint64_t rptr;

        g_test_message("%s", names[state]);
        qtest_writeq(l.v->qts, l.at, 0);
        qvgpu_sdma_init(&q, l.v, 3, SDMA_QUEUE_RLC(5), &l.space);
        q.doorbell = qvgpu_sdma_doorbell(2, 3, 5);
        if (state == NO_RING) {
            q.ring_va = UNMAPPED + 0x100000;
        }
        qvgpu_sdma_load(&q);
        enter(&l, &q, state);
        if (state != FROZEN) {
            qvgpu_sdma_pass(&kq);
        }
        /* Destroy the queue as KFD does without a hardware scheduler. */
        qvgpu_sdma_disable(&q);
        g_assert_cmpuint(qvgpu_sdma_exception(&q), ==, 0);
        qvgpu_sdma_wr(&q, SDMA_DOORBELL, 0);
        rptr = qvgpu_sdma_rptr(&q);
        g_assert_cmphex(rptr, ==, state == IDLE ? q.wptr : rptr);
        qvgpu_wr(l.v, SDMA_ENGINE(3) + SDMA_FREEZE, 0);

        /*
         * In states POLLING, LOOPING and SKIPPING, the queue waited for the
         * value 1 at l.at. The destroyed queue must not continue.
         */
        qtest_writel(l.v->qts, l.at, 1);
        qtest_clock_step(l.v->qts, 1000000);
        drain(l.v);
        qvgpu_sdma_pass(&kq);
        g_assert_cmphex(qvgpu_sdma_rptr(&q), ==, rptr);
        g_assert_cmphex(qtest_readl(l.v->qts, l.at + 4), ==, 0);

        qvgpu_sdma_init(&next, l.v, 3, SDMA_QUEUE_RLC(5), &l.space);
        next.doorbell = qvgpu_sdma_doorbell(4, 3, 5);
        qvgpu_sdma_load(&next);
        qvgpu_pkt_fence(&next, l.va + 8, state + 1);
        qvgpu_sdma_finish(&next);
        g_assert_cmphex(qtest_readl(l.v->qts, l.at + 8), ==, state + 1);
        g_assert_cmphex(qtest_readl(l.v->qts, l.at + 4), ==, 0);
        g_assert_false(qvgpu_ih_pending(l.v));
        qvgpu_sdma_disable(&next);
    }
    qvgpu_stop(l.v);
}

/*
 * Catches: CONTEXT_STATUS shows a queue as idle while it waits, or as busy
 * after it has stopped.
 */
static void test_context_status(void)
{
    static const bool idle[STATES] = {
        [IDLE] = true, [BROKEN] = true,
    };
    Life l = { .v = qvgpu_start() };
    QVGPUSdma kq;
    State state;

    l.at = qvgpu_ram_page(l.v);
    qvgpu_space_init(&l.space, l.v, VMID, QVGPU_VRAM);
    l.va = qvgpu_space_place(&l.space, l.at, QVGPU_PAGE);
    qvgpu_sdma_open(&kq, l.v, 4, SDMA_QUEUE_GFX, NULL);
    for (state = 0; state < STATES; state++) {
        QVGPUSdma q;

        if (state == COPYING) {
            continue;           /* the copy may end before the check */
        }
        g_test_message("%s", names[state]);
        qvgpu_sdma_init(&q, l.v, 4, SDMA_QUEUE_RLC(0), &l.space);
        if (state == NO_RING) {
            q.ring_va = UNMAPPED + 0x100000;
        }
        qvgpu_sdma_load(&q);
        enter(&l, &q, state);
        if (state != FROZEN) {
            qvgpu_sdma_pass(&kq);
        }
        g_assert_cmpuint(qvgpu_sdma_idle(&q), ==, idle[state]);
        g_assert_cmpuint(qvgpu_sdma_exception(&q), ==,
                         state == BROKEN ? VGPU_SDMA_EXC_PACKET : 0);
        g_assert_cmphex(qvgpu_rd(l.v, SDMA_ENGINE(4) + SDMA_STATUS_REG) &
                        SDMA_STATUS_REG__IDLE, ==, idle[state]);
        qvgpu_sdma_disable(&q);
        qvgpu_wr(l.v, SDMA_ENGINE(4) + SDMA_FREEZE, 0);
        drain(l.v);
    }
    qvgpu_stop(l.v);
}

/* Catches: a comparison of 64-bit pointers is wrong when the pointers wrap. */
static void test_pointer_wrap(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t at = qvgpu_ram_page(v), mc = qvgpu_mc(v, at);
    QVGPUSdma q;
    unsigned i;

    qvgpu_sdma_init(&q, v, 2, SDMA_QUEUE_RLC(7), NULL);
    q.doorbell = qvgpu_sdma_doorbell(0, 2, 7);
    q.wptr = -(uint64_t)300;
    qvgpu_sdma_load(&q);
    for (i = 1; i <= 20; i++) {
        /* The write pointer wraps to 0 within one of these packets. */
        qvgpu_pkt_add64(&q, mc, 1);
        qvgpu_sdma_finish(&q);
        g_assert_cmpuint(qtest_readq(v->qts, at), ==, i);
        g_assert_cmphex(qtest_readq(v->qts, q.rptr), ==, q.wptr);
    }
    g_assert_cmpuint(q.wptr, ==, 20 * 32 - 300);
    qvgpu_stop(v);
}

void qvgpu_add_queue_teardown_tests(void)
{
    qtest_add_func("/vgpu-kfd/sdma-life/destroy", test_destroy);
    qtest_add_func("/vgpu-kfd/sdma-life/context-status", test_context_status);
    qtest_add_func("/vgpu-kfd/sdma-life/pointer-wrap", test_pointer_wrap);
}
