/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests property inline-bytes: a doorbell or an acknowledge executes
 * packets itself while the thread of the engine sleeps.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/queue/suite.h"

#define VMID        6
#define VA          0x111100000000ull
#define ON          "inline-bytes=4096"
#define OFF         "inline-bytes=0"
#define COPY_BYTES  (8 * QVGPU_PAGE)
/* GPU clocks between two tries of a poll */
#define INTERVAL    1000
#define INTERVAL_NS (INTERVAL * (1000000000 / VGPU_CLOCK_HZ))

/*
 * A machine with a user queue that has a doorbell. The device logs
 * vgpu_inline each time a doorbell or an acknowledge executes packets.
 */
typedef struct Inline {
    QVGPUHold h;                /* log pipe and VRAM; no thread is held */
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q;
    /* CPU and GPU addresses of memory that packets access */
    uint64_t page, page_va;
    uint64_t src, src_va, dst, dst_va;
    unsigned rounds;
} Inline;

static void inline_start(Inline *t, const char *property)
{
    g_autofree char *device = g_strdup_printf(QVGPU_HOLD_VRAM ",poll-ns=0,%s",
                                              property);

    qvgpu_hold_init(&t->h);
    t->v = qvgpu_start_sized(device, t->h.args);
    t->rounds = 0;
    qvgpu_space_init(&t->space, t->v, VMID, QVGPU_VRAM);
    qvgpu_sdma_init(&t->q, t->v, 0, SDMA_QUEUE_RLC(0), &t->space);
    t->q.doorbell = qvgpu_sdma_doorbell(0, 0, 0);
    qvgpu_sdma_load(&t->q);
    t->page = qvgpu_ram_page(t->v);
    t->page_va = qvgpu_space_place(&t->space, t->page, QVGPU_PAGE);
    t->src = qvgpu_alloc(t->v, QVGPU_RAM, COPY_BYTES, QVGPU_PAGE);
    t->src_va = qvgpu_space_place(&t->space, t->src, COPY_BYTES);
    t->dst = qvgpu_alloc(t->v, QVGPU_VRAM, COPY_BYTES, QVGPU_PAGE);
    t->dst_va = qvgpu_space_place(&t->space, t->dst, COPY_BYTES);
    qvgpu_trace(t->v, "vgpu_inline", true);
}

static void inline_stop(Inline *t)
{
    qvgpu_stop(t->v);
    qvgpu_hold_destroy(&t->h);
}

/*
 * Give the engine's thread, which has no work, the time to fall asleep. No test
 * relies on this: a doorbell that finds the thread awake wakes the thread, and
 * the test tries again.
 */
static void settle(Inline *t)
{
    g_usleep(2 * 1000);
    qvgpu_hold_release(&t->h);
}

/* Return true if packets were executed in place since settle(). */
static bool ran_here(Inline *t)
{
    return qvgpu_hold_release(&t->h);
}

/* Run a fence. Return true if the doorbell has executed it. */
static bool fence_here(Inline *t)
{
    uint32_t value = ++t->rounds;

    settle(t);
    qvgpu_pkt_fence(&t->q, t->page_va, value);
    qvgpu_sdma_kick(&t->q);
    if (!ran_here(t)) {
        qvgpu_sdma_finish(&t->q);
        return false;
    }
    g_assert_cmphex(qtest_readl(t->v->qts, t->page), ==, value);
    g_assert_true(qvgpu_sdma_idle(&t->q));
    g_assert_cmphex(qvgpu_sdma_rptr(&t->q), ==, t->q.wptr);
    return true;
}

/*
 * Catches: with inline-bytes, the doorbell of a sleeping engine leaves a packet
 * to the engine's thread, or returns before the packet is complete.
 */
static void test_doorbell(void)
{
    Inline t;

    inline_start(&t, ON);
    qvgpu_wait_until(fence_here(&t));
    inline_stop(&t);
}

/* Catches: a doorbell executes packets although inline-bytes is 0. */
static void test_off(void)
{
    unsigned i;
    Inline t;

    inline_start(&t, OFF);
    for (i = 0; i < 20; i++) {
        g_assert_false(fence_here(&t));
    }
    inline_stop(&t);
}

/* Run a copy that is longer than inline-bytes, and a fence. */
static bool copy_here(Inline *t)
{
    uint32_t value = ++t->rounds;
    bool here;

    qvgpu_fill(t->v, t->src, value, 0, COPY_BYTES);
    qtest_memset(t->v->qts, t->dst, 0, COPY_BYTES);
    settle(t);
    qvgpu_pkt_copy(&t->q, t->src_va, t->dst_va, COPY_BYTES);
    qvgpu_pkt_fence(&t->q, t->page_va, value);
    qvgpu_sdma_kick(&t->q);
    here = ran_here(t);
    /* A second doorbell could hide that the thread was not woken. */
    qvgpu_wait_until(qvgpu_sdma_idle(&t->q));
    qvgpu_expect(t->v, t->dst, value, 0, COPY_BYTES);
    g_assert_cmphex(qtest_readl(t->v->qts, t->page), ==, value);
    g_assert_cmpuint(qvgpu_counter(t->v, VGPU_CNT_BYTES_COPIED), ==,
                     t->rounds * COPY_BYTES);
    return here;
}

/*
 * Catches: the engine's thread is not woken for what exceeds inline-bytes, or
 * copies bytes again or not at all.
 */
static void test_long_copy(void)
{
    Inline t;

    inline_start(&t, ON);
    qvgpu_wait_until(copy_here(&t));
    inline_stop(&t);
}

/* Run more fences than a doorbell executes. */
static bool fences_here(Inline *t)
{
    enum { FENCES = 40 };
    bool here;
    unsigned i;

    settle(t);
    for (i = 0; i < FENCES; i++) {
        qvgpu_pkt_fence(&t->q, t->page_va + 4 * i, ++t->rounds);
    }
    qvgpu_sdma_kick(&t->q);
    here = ran_here(t);
    qvgpu_wait_until(qvgpu_sdma_idle(&t->q));
    for (i = 0; i < FENCES; i++) {
        g_assert_cmphex(qtest_readl(t->v->qts, t->page + 4 * i), ==,
                        t->rounds - FENCES + 1 + i);
    }
    return here;
}

/* Catches: the engine's thread is not woken for the rest of many packets. */
static void test_many_packets(void)
{
    Inline t;

    inline_start(&t, ON);
    qvgpu_wait_until(fences_here(&t));
    inline_stop(&t);
}

/*
 * Cause a retry fault and repair it. Return true if the doorbell has executed
 * the packet up to the fault, and the acknowledge the rest.
 */
static bool fault_here(Inline *t)
{
    uint32_t value = ++t->rounds;
    uint64_t va = VA + value * QVGPU_PAGE, page = qvgpu_ram_page(t->v);
    bool raised, replayed;
    unsigned slot;

    settle(t);
    qvgpu_pkt_fence(&t->q, va, value);
    qvgpu_sdma_kick(&t->q);
    raised = ran_here(t);
    if (raised) {
        g_assert_true(qvgpu_ih_pending(t->v));
    }
    qvgpu_msi_wait(t->v);
    slot = qvgpu_ih_next_fault(t->v, VMID, va, true, true);
    qvgpu_space_map(&t->space, va, page, QVGPU_PAGE);
    settle(t);
    qvgpu_cam_ack(t->v, slot);
    replayed = ran_here(t);
    if (replayed) {
        g_assert_true(qvgpu_sdma_idle(&t->q));
    }
    qvgpu_wait_until(qvgpu_sdma_idle(&t->q));
    g_assert_cmphex(qtest_readl(t->v->qts, page), ==, value);
    g_assert_cmpuint(qvgpu_counter(t->v, VGPU_CNT_FAULTS_RETRY), ==, t->rounds);
    g_assert_cmpuint(qvgpu_counter(t->v, VGPU_CNT_REPLAYS), ==, t->rounds);
    return raised && replayed;
}

/*
 * Catches: a fault of a packet that a doorbell executes sends no entry or no
 * MSI; the acknowledge of a fault leaves the replay to the engine's thread.
 */
static void test_fault(void)
{
    Inline t;

    inline_start(&t, ON);
    qvgpu_wait_until(fault_here(&t));
    inline_stop(&t);
}

/*
 * Let a compute queue fault, and repair the fault. Return true if the
 * acknowledge has replayed the access.
 */
static bool compute_fault_here(Inline *t, QVGPUCompute *c)
{
    uint32_t value = ++t->rounds;
    uint64_t va = VA + value * QVGPU_PAGE, page = qvgpu_ram_page(t->v);
    QVGPUIrq irq;
    bool here;

    qvgpu_pm4_write(c, va, value);
    qvgpu_compute_kick(c);
    qvgpu_ih_next(t->v, &irq);
    g_assert_cmphex(irq.client, ==, IH_CLIENT_UTCL2);
    qvgpu_space_map(&t->space, va, page, QVGPU_PAGE);
    settle(t);
    qvgpu_cam_ack(t->v, VGPU_GET(irq.data[2], IH_FAULT_D2__CAM_INDEX));
    here = ran_here(t);
    if (here) {
        g_assert_cmphex(qtest_readl(t->v->qts, page), ==, value);
    }
    qvgpu_compute_finish(c);
    g_assert_cmphex(qtest_readl(t->v->qts, page), ==, value);
    g_assert_cmpuint(qvgpu_counter(t->v, VGPU_CNT_FAULTS_RETRY), ==, t->rounds);
    g_assert_cmpuint(qvgpu_counter(t->v, VGPU_CNT_REPLAYS), ==, t->rounds);
    return here;
}

/*
 * Catches: the acknowledge of a compute queue's fault leaves the replay to the
 * CP's thread, which has to be woken.
 */
static void test_compute_fault(void)
{
    QVGPUCompute c;
    Inline t;

    inline_start(&t, ON);
    qvgpu_cp_setup(t.v);
    qvgpu_compute_init(&c, t.v, 1, 0, 0, &t.space);
    qvgpu_compute_load(&c);
    qvgpu_wait_until(compute_fault_here(&t, &c));
    inline_stop(&t);
}

/* Run a POLL_REGMEM whose condition becomes true between two tries. */
static bool poll_here(Inline *t)
{
    QVGPU *before;
    bool here;

    qtest_writel(t->v->qts, t->page, 0);
    settle(t);
    QVGPU_EMIT(&t->q, SDMA_PKT(SDMA_OP_POLL_REGMEM, 0) | SDMA_POLL_REGMEM__MEM |
               VGPU_PREP(SDMA_POLL_REGMEM__FUNC, (uint32_t)QVGPU_POLL_EQ),
               QVGPU_LO(t->page_va), QVGPU_HI(t->page_va), 1, UINT32_MAX,
               VGPU_PREP(SDMA_POLL_REGMEM_DW5__RETRY, QVGPU_POLL_FOREVER) |
               VGPU_PREP(SDMA_POLL_REGMEM_DW5__INTERVAL, (uint32_t)INTERVAL));
    qvgpu_sdma_kick(&t->q);
    here = ran_here(t);
    g_assert_false(qvgpu_sdma_idle(&t->q));
    qtest_writel(t->v->qts, t->page, 1);
    before = qvgpu_time_passes(t->v);
    qtest_clock_step(t->v->qts, INTERVAL_NS);
    qvgpu_wait_until(qvgpu_sdma_idle(&t->q));
    qvgpu_time_passes(before);
    return here;
}

/*
 * Catches: no timer ends the wait of a queue whose packet a doorbell has
 * executed.
 */
static void test_poll(void)
{
    Inline t;

    inline_start(&t, ON);
    qvgpu_wait_until(poll_here(&t));
    inline_stop(&t);
}

/* Catches: a doorbell executes packets while the machine is stopped. */
static void test_stopped(void)
{
    Inline t;

    inline_start(&t, ON);
    settle(&t);
    qtest_qmp_assert_success(t.v->qts, "{ 'execute': 'stop' }");
    qvgpu_pkt_fence(&t.q, t.page_va, 7);
    qvgpu_sdma_kick(&t.q);
    g_assert_false(ran_here(&t));
    g_assert_cmphex(qtest_readl(t.v->qts, t.page), ==, 0);
    qtest_qmp_assert_success(t.v->qts, "{ 'execute': 'cont' }");
    qvgpu_wait_until(qvgpu_sdma_idle(&t.q));
    g_assert_cmphex(qtest_readl(t.v->qts, t.page), ==, 7);
    inline_stop(&t);
}

void qvgpu_add_inline_tests(void)
{
    qtest_add_func("/vgpu-kfd/inline/doorbell", test_doorbell);
    qtest_add_func("/vgpu-kfd/inline/off", test_off);
    qtest_add_func("/vgpu-kfd/inline/long-copy", test_long_copy);
    qtest_add_func("/vgpu-kfd/inline/many-packets", test_many_packets);
    qtest_add_func("/vgpu-kfd/inline/fault", test_fault);
    qtest_add_func("/vgpu-kfd/inline/compute-fault", test_compute_fault);
    qtest_add_func("/vgpu-kfd/inline/poll", test_poll);
    qtest_add_func("/vgpu-kfd/inline/stopped", test_stopped);
}
