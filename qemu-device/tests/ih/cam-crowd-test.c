/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests the retry CAM while more queues fault than it has slots.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/ih/suite.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define VMID        9
#define VA          0xa56780000000ull
/* The threads of the engines execute all packets. */
#define BY_THREAD   "inline-bytes=0"
/* An acknowledge executes packets while the thread of the engine sleeps. */
#define INLINE      "inline-bytes=4096"

enum {
    SLOTS = VGPU_RETRY_CAM_SLOTS,
    /* All queues of all engines, except the kernel's. */
    QUEUES = SDMA_NUM_ENGINES * (SDMA_NUM_QUEUES - 1),
};

/*
 * A machine in which each queue can fault on a page of its own. The device logs
 * vgpu_cam_full each time an access faults and finds no free slot.
 */
typedef struct Crowd {
    QVGPUHold h;                /* log pipe and VRAM; no thread is held */
    QVGPU *v;
    QVGPUSpace space;
    /* Queue i is on engine i % SDMA_NUM_ENGINES. */
    QVGPUSdma q[QUEUES];
    /* CPU address of the pages that repair() maps from VA on, one a queue */
    uint64_t pages;
    unsigned full;              /* lines of vgpu_cam_full, see cam_full() */
} Crowd;

static void crowd_start(Crowd *c, const char *property)
{
    g_autofree char *device = g_strdup_printf(QVGPU_HOLD_VRAM ",poll-ns=0,%s",
                                              property);
    unsigned i;

    qvgpu_hold_init(&c->h);
    c->v = qvgpu_start_sized(device, c->h.args);
    c->full = 0;
    qvgpu_space_init(&c->space, c->v, VMID, QVGPU_VRAM);
    c->pages = qvgpu_alloc(c->v, QVGPU_VRAM, QUEUES * QVGPU_PAGE, QVGPU_PAGE);
    for (i = 0; i < QUEUES; i++) {
        qvgpu_sdma_open(&c->q[i], c->v, i % SDMA_NUM_ENGINES,
                        SDMA_QUEUE_PAGE + i / SDMA_NUM_ENGINES, &c->space);
    }
    qvgpu_trace(c->v, "vgpu_cam_full", true);
}

static void crowd_stop(Crowd *c)
{
    qvgpu_stop(c->v);
    qvgpu_hold_destroy(&c->h);
}

/* Let queue @i fault on its page. */
static void fault(Crowd *c, unsigned i)
{
    qvgpu_pkt_fence(&c->q[i], VA + i * QVGPU_PAGE, 1 + i);
    qvgpu_sdma_kick(&c->q[i]);
}

/* Map the page of queue @i. */
static void repair(Crowd *c, unsigned i)
{
    qvgpu_space_map(&c->space, VA + i * QVGPU_PAGE, c->pages + i * QVGPU_PAGE,
                    QVGPU_PAGE);
}

/*
 * Take the next interrupt entry. Returns the number of the entry's page, from
 * VA on. *@slot receives the CAM slot.
 */
static unsigned take(Crowd *c, unsigned *slot)
{
    QVGPUIrq irq;

    qvgpu_ih_next(c->v, &irq);
    *slot = VGPU_GET(irq.data[2], IH_FAULT_D2__CAM_INDEX);
    return irq.data[0] - (uint32_t)(VA >> VGPU_PAGE_SHIFT);
}

/* Repair and acknowledge the next fault, and wait until its queue is idle. */
static void serve(Crowd *c)
{
    unsigned slot, i = take(c, &slot);

    g_assert_cmpuint(i, <, QUEUES);
    repair(c, i);
    qvgpu_cam_ack(c->v, slot);
    qvgpu_sdma_finish(&c->q[i]);
    g_assert_cmphex(qtest_readl(c->v->qts, c->pages + i * QVGPU_PAGE), ==,
                    1 + i);
}

/* Return how often an access has found no free slot since c->full was set. */
static unsigned cam_full(Crowd *c)
{
    c->full += qvgpu_hold_release(&c->h);
    return c->full;
}

static uint64_t reported(Crowd *c)
{
    return qvgpu_counter(c->v, VGPU_CNT_FAULTS_RETRY);
}

/*
 * Catches: an acknowledge wakes all queues that wait for a slot, and all but
 * one of them walk the page table in vain; a queue gets no slot; the engines
 * try again and again while the CAM is full.
 */
static void test_one_try(void)
{
    QVGPUSdma kq[SDMA_NUM_ENGINES];
    unsigned i, slot;
    Crowd c;

    crowd_start(&c, BY_THREAD);
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        qvgpu_sdma_open(&kq[i], c.v, i, SDMA_QUEUE_GFX, NULL);
    }
    for (i = 0; i < QUEUES; i++) {
        fault(&c, i);
    }
    qvgpu_wait_until(cam_full(&c) == QUEUES - SLOTS);
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        qvgpu_sdma_pass(&kq[i]);
    }
    g_assert_cmpuint(cam_full(&c), ==, QUEUES - SLOTS);
    g_assert_cmpuint(reported(&c), ==, SLOTS);

    c.full = 0;
    i = take(&c, &slot);
    repair(&c, i);
    qvgpu_cam_ack(c.v, slot);
    qvgpu_sdma_finish(&c.q[i]);
    qvgpu_wait_until(reported(&c) == SLOTS + 1);
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        qvgpu_sdma_pass(&kq[i]);
    }
    /*
     * Each engine may have tried one queue before a queue of another engine
     * took the slot.
     */
    g_assert_cmpuint(cam_full(&c), <, SDMA_NUM_ENGINES);

    for (i = 1; i < QUEUES; i++) {
        serve(&c);
    }
    g_assert_cmpuint(reported(&c), ==, QUEUES);
    g_assert_false(qvgpu_ih_pending(c.v));
    crowd_stop(&c);
}

/*
 * Three queues wait for a slot. The first one is disabled. The page of the
 * second one, which is on the same engine, is mapped, so that it needs no slot.
 * Catches: a free slot is kept for one of these two queues, so that the third
 * one waits without end.
 */
static void test_handed_on(void)
{
    static const char *const property[] = { BY_THREAD, INLINE };
    enum {
        DISABLED = SLOTS,
        MAPPED = DISABLED + SDMA_NUM_ENGINES,
        THIRD = DISABLED + 2,
    };
    static const unsigned waiting[] = { DISABLED, MAPPED, THIRD };
    unsigned i, n, slot;

    for (n = 0; n < ARRAY_SIZE(property); n++) {
        Crowd c;

        crowd_start(&c, property[n]);
        for (i = 0; i < SLOTS; i++) {
            fault(&c, i);
        }
        qvgpu_wait_until(reported(&c) == SLOTS);
        for (i = 0; i < ARRAY_SIZE(waiting); i++) {
            fault(&c, waiting[i]);
            qvgpu_wait_until(cam_full(&c) == i + 1);
        }
        qvgpu_sdma_disable(&c.q[DISABLED]);
        repair(&c, MAPPED);

        i = take(&c, &slot);
        repair(&c, i);
        qvgpu_cam_ack(c.v, slot);
        qvgpu_sdma_finish(&c.q[i]);
        qvgpu_wait_until(reported(&c) == SLOTS + 1);

        qvgpu_sdma_enable(&c.q[DISABLED]);
        /* The other faults of the first queues, THIRD and DISABLED */
        for (i = 0; i < SLOTS - 1 + 2; i++) {
            serve(&c);
        }
        /*
         * If the thread of THIRD's engine was faster than that of MAPPED's, the
         * slot was taken before MAPPED has looked. Then MAPPED has waited for
         * the next acknowledge.
         */
        qvgpu_sdma_finish(&c.q[MAPPED]);
        g_assert_cmphex(qtest_readl(c.v->qts, c.pages + MAPPED * QVGPU_PAGE),
                        ==, 1 + MAPPED);
        g_assert_cmpuint(reported(&c), ==, SLOTS + 2);
        crowd_stop(&c);
    }
}

/*
 * Queue A faults, and queue B of the same engine waits for a slot. Acknowledge
 * A's fault, after which A faults on another page. Return true if B's fault is
 * reported first. The CAM has one slot for the two queues.
 */
static bool offered_first(Crowd *c, unsigned round)
{
    QVGPUSdma *a = &c->q[0], *b = &c->q[SDMA_NUM_ENGINES];
    unsigned slot, first, page = QUEUES + 3 * round;
    uint64_t va = VA + page * QVGPU_PAGE, mem = qvgpu_ram_page(c->v);

    cam_full(c);
    c->full = 0;
    qvgpu_pkt_fence(a, va, 1);
    qvgpu_pkt_fence(a, va + QVGPU_PAGE, 1);
    qvgpu_sdma_kick(a);
    g_assert_cmpuint(take(c, &slot), ==, page);
    qvgpu_pkt_fence(b, va + 2 * QVGPU_PAGE, 1);
    qvgpu_sdma_kick(b);
    qvgpu_wait_until(cam_full(c));
    qvgpu_space_map(&c->space, va, mem, QVGPU_PAGE);
    /*
     * Give the engine's thread the time to fall asleep. If it is awake, A may
     * be first, and the caller tries again.
     */
    g_usleep(2 * 1000);
    qvgpu_cam_ack(c->v, slot);

    first = take(c, &slot);
    qvgpu_space_map(&c->space, va + QVGPU_PAGE, mem, QVGPU_PAGE);
    qvgpu_space_map(&c->space, va + 2 * QVGPU_PAGE, mem, QVGPU_PAGE);
    qvgpu_cam_ack(c->v, slot);
    qvgpu_wait_until(({
        if (qvgpu_ih_pending(c->v)) {
            take(c, &slot);
            qvgpu_cam_ack(c->v, slot);
        }
        qvgpu_sdma_idle(a) && qvgpu_sdma_idle(b);
    }));
    return first == page + 2;
}

/*
 * Catches: a queue that replays an access and faults again keeps its slot, so
 * that other queues get no slot while that queue faults.
 */
static void test_offer_first(void)
{
    unsigned i, slot, round = 0;
    Crowd c;

    crowd_start(&c, INLINE);
    /* Take all slots but one, by queues that offered_first() does not use. */
    for (i = 1; i < SLOTS; i++) {
        fault(&c, SDMA_NUM_ENGINES + i);
        take(&c, &slot);
    }
    qvgpu_wait_until(offered_first(&c, round++));
    crowd_stop(&c);
}

void qvgpu_add_ih_cam_crowd_tests(void)
{
    qtest_add_func("/vgpu-kfd/cam-crowd/one-try", test_one_try);
    qtest_add_func("/vgpu-kfd/cam-crowd/handed-on", test_handed_on);
    qtest_add_func("/vgpu-kfd/cam-crowd/offer-first", test_offer_first);
}
