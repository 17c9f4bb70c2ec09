/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests that a machine can be saved, restored and migrated while its
 * engines work.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hws.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/migration.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/pci/suite.h"

#define VMID        6
#define SRC         0x111100000000ull
#define DST         0x222200000000ull
#define PAGES       4
#define OFF         0x123               /* offset of the copy in SRC and DST */

/* A copy that has completed its first pages and is stalled on the next page. */
typedef struct Stalled {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q;
    QVGPUSdma kq;                       /* kernel queue of the same engine */
    /* guest-physical addresses of source and destination, PAGES pages each */
    uint64_t src, dst;
    unsigned slot;                      /* slot in the retry CAM */
} Stalled;

static void stalled_start(Stalled *t)
{
    QVGPU *v = t->v = qvgpu_start();

    qvgpu_space_init(&t->space, v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&t->q, v, 1, SDMA_QUEUE_RLC(2), &t->space);
    qvgpu_sdma_open(&t->kq, v, 1, SDMA_QUEUE_GFX, NULL);
    t->src = qvgpu_alloc(v, QVGPU_VRAM, PAGES * QVGPU_PAGE, QVGPU_PAGE);
    t->dst = qvgpu_alloc(v, QVGPU_RAM, PAGES * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(v, t->src, 1, 0, PAGES * QVGPU_PAGE);
    qvgpu_space_map(&t->space, SRC, t->src, PAGES * QVGPU_PAGE);
    qvgpu_space_map(&t->space, DST, t->dst, 2 * QVGPU_PAGE);
    qvgpu_pkt_copy(&t->q, SRC + OFF, DST + OFF, 3 * QVGPU_PAGE);
    qvgpu_sdma_kick(&t->q);
    t->slot = qvgpu_ih_next_fault(v, VMID, DST + 2 * QVGPU_PAGE, true, true);
}

/*
 * Let the machine run, check the stall and complete the copy. @due_ns: virtual
 * time until the interrupt entry of the fault is sent again.
 */
static void stalled_finish(Stalled *t, int64_t due_ns)
{
    QVGPU *v = t->v;

    qvgpu_cont(v);
    /* Let the stalled queue repeat its access, which must fault again. */
    qvgpu_sdma_pass(&t->kq);
    /*
     * The queue still waits, without a second interrupt entry. Below, the test
     * checks that the queue still has the same CAM slot.
     */
    g_assert_false(qvgpu_sdma_idle(&t->q));
    g_assert_cmphex(qvgpu_sdma_rptr(&t->q), ==, 0);
    g_assert_false(qvgpu_ih_pending(v));
    /*
     * The device must repeat the unacknowledged entry after @due_ns, and not
     * 1 ns earlier.
     */
    qtest_clock_step(v->qts, due_ns - 1);
    qvgpu_sdma_pass(&t->kq);
    g_assert_false(qvgpu_ih_pending(v));
    qtest_clock_step(v->qts, 1);
    g_assert_cmpuint(qvgpu_ih_next_fault(v, VMID, DST + 2 * QVGPU_PAGE, true,
                                         true), ==, t->slot);
    qvgpu_space_map(&t->space, DST, t->dst, PAGES * QVGPU_PAGE);
    qvgpu_cam_ack(v, t->slot);
    qvgpu_sdma_finish(&t->q);
    qvgpu_expect_byte(v, t->dst, 0, OFF);
    qvgpu_expect(v, t->dst + OFF, 1, OFF, 3 * QVGPU_PAGE);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_FAULTS_RETRY), ==, 1);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_FAULTS_MERGED), ==, 0);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_REPLAYS), ==, 1);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED), ==,
                     3 * QVGPU_PAGE);
    g_assert_false(qvgpu_ih_pending(v));
    qvgpu_stop(v);
}

/*
 * Catches: a restored machine lacks a stall, the stall's CAM slot or a partly
 * executed packet; the next report of the fault is late because of the restore.
 */
static void test_stalled_file(void)
{
    Stalled t;

    stalled_start(&t);
    qtest_clock_step(t.v->qts, QVGPU_RESEND_NS / 4);
    qvgpu_save_restore(t.v, false);
    stalled_finish(&t, QVGPU_RESEND_NS / 4 * 3);
}

/* As test_stalled_file(), in a live migration. */
static void test_stalled_live(void)
{
    Stalled t;

    stalled_start(&t);
    qvgpu_migrate_live(t.v, NULL, NULL);
    stalled_finish(&t, QVGPU_RESEND_NS);
}

/*
 * The machine is saved and restored, and then migrated. Catches: an unread
 * interrupt entry, an unacknowledged CAM slot or a second stalled queue is
 * lost.
 */
static void test_stalled_twice(void)
{
    Stalled t;
    QVGPUSdma q2, kq2;
    uint64_t dst2;

    stalled_start(&t);
    dst2 = qvgpu_ram_page(t.v);
    qvgpu_sdma_open(&q2, t.v, 0, SDMA_QUEUE_RLC(0), &t.space);
    qvgpu_sdma_open(&kq2, t.v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_pkt_copy(&q2, SRC, DST + 3 * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_sdma_kick(&q2);
    qvgpu_wait_until(qvgpu_ih_pending(t.v));
    qvgpu_save_restore(t.v, false);
    qvgpu_cont(t.v);
    qvgpu_migrate_live(t.v, NULL, NULL);
    qvgpu_cont(t.v);
    qvgpu_sdma_pass(&t.kq);
    qvgpu_sdma_pass(&kq2);

    g_assert_true(qvgpu_ih_pending(t.v));
    qvgpu_ih_next_fault(t.v, VMID, DST + 3 * QVGPU_PAGE, true, true);
    qvgpu_space_map(&t.space, DST + 3 * QVGPU_PAGE, dst2, QVGPU_PAGE);
    /*
     * The invalidation wakes both queues. Queue t.q faults again at
     * DST + 2 * QVGPU_PAGE, where stalled_start() has mapped no page. This
     * repeated fault causes no interrupt entry.
     */
    qvgpu_invalidate(t.v, 1u << VMID);
    qvgpu_wait_until(qvgpu_sdma_idle(&q2));
    qvgpu_expect(t.v, dst2, 1, 0, QVGPU_PAGE);
    g_assert_false(qvgpu_sdma_idle(&t.q));
    g_assert_false(qvgpu_ih_pending(t.v));
    qvgpu_stop(t.v);
}

/*
 * A link of a Chain is three packets: wait for the gate, copy one buffer to the
 * other, increment the copy's first quadword. The first link is link 1.
 */
/* links that chain_feed() keeps in the ring: about 1 s of work */
#define LINKS       3000
#define LINK_BYTES  (3 * MiB)
#define LINK_DWORDS (SDMA_POLL_REGMEM_DWORDS + SDMA_COPY_LINEAR_DWORDS + \
                     SDMA_ATOMIC_DWORDS)
#define RING        (256 * KiB)

typedef struct Chain {
    QVGPU *v;
    QVGPUSdma q;
    uint64_t buf[2];
    /* CPU address of a dword; link n waits until this dword is n or more */
    uint64_t gate;
    unsigned links;
} Chain;

/*
 * Emit links until LINKS of them are pending. Then set the gate so that every
 * link except the last one can run.
 */
static void chain_feed(void *opaque)
{
    Chain *c = opaque;
    unsigned done = qvgpu_sdma_rptr(&c->q) / (4 * LINK_DWORDS);

    while (c->links < done + LINKS) {
        uint64_t from = qvgpu_mc(c->v, c->buf[c->links % 2]);
        uint64_t to = qvgpu_mc(c->v, c->buf[++c->links % 2]);

        qvgpu_pkt_poll_mem(&c->q, QVGPU_POLL_GE, qvgpu_mc(c->v, c->gate),
                           c->links, UINT32_MAX, QVGPU_POLL_FOREVER);
        qvgpu_pkt_copy(&c->q, from, to, LINK_BYTES);
        qvgpu_pkt_add64(&c->q, to, 1);
    }
    /*
     * Kick the queue before the gate opens. Otherwise the queue could complete
     * the old links, and be idle when the machine is migrated.
     */
    qvgpu_sdma_kick(&c->q);
    qtest_writel(c->v->qts, c->gate, c->links - 1);
}

static void chain_start(Chain *c)
{
    QVGPU *v = c->v = qvgpu_start();

    qvgpu_time_passes(v);
    qvgpu_sdma_init_ring(&c->q, v, 0, SDMA_QUEUE_GFX, NULL, QVGPU_RAM, RING);
    qvgpu_sdma_load(&c->q);
    c->buf[0] = qvgpu_alloc(v, QVGPU_VRAM, LINK_BYTES, QVGPU_PAGE);
    c->buf[1] = qvgpu_alloc(v, QVGPU_RAM, LINK_BYTES, QVGPU_PAGE);
    qvgpu_fill(v, c->buf[0], 3, 0, LINK_BYTES);
    qtest_writeq(v->qts, c->buf[0], 0);
    c->gate = qvgpu_ram_page(v);
    c->links = 0;
    chain_feed(c);
    qvgpu_wait_until(qvgpu_sdma_rptr(&c->q) > 0);
}

static void chain_finish(Chain *c)
{
    /*
     * chain_feed() may have emitted links after the machine had stopped. These
     * links were not migrated, so count the links up to the migrated WPTR.
     */
    c->q.wptr = qvgpu_sdma_rd(&c->q, SDMA_RB_WPTR);
    c->links = c->q.wptr / (4 * LINK_DWORDS);
    g_assert_cmphex(qvgpu_sdma_rptr(&c->q), <, c->q.wptr);
    qtest_writel(c->v->qts, c->gate, c->links);
    qvgpu_cont(c->v);
    qvgpu_sdma_finish(&c->q);
    /* The quadword was 0 before link 1, and each link has added 1. */
    g_assert_cmpuint(qtest_readq(c->v->qts, c->buf[c->links % 2]), ==,
                     c->links);
    qvgpu_expect(c->v, c->buf[0] + 8, 3, 8, LINK_BYTES - 8);
    qvgpu_expect(c->v, c->buf[1] + 8, 3, 8, LINK_BYTES - 8);
    g_assert_cmpuint(qvgpu_counter(c->v, VGPU_CNT_BYTES_COPIED), ==,
                     (uint64_t)c->links * LINK_BYTES);
    qvgpu_stop(c->v);
}

/*
 * Catches: the engine executes a link of the chain (three packets) twice or
 * never; VRAM or RAM is not transferred.
 */
static void test_copying_file(void)
{
    Chain c;

    chain_start(&c);
    qvgpu_save_restore(c.v, false);
    chain_finish(&c);
}

/*
 * Catches: the engine executes a link of the chain (three packets) twice or
 * never; VRAM or RAM is not transferred; memory that an engine wrote is not
 * marked dirty.
 */
static void test_copying_live(void)
{
    Chain c;

    chain_start(&c);
    qvgpu_migrate_live(c.v, chain_feed, &c);
    chain_finish(&c);
}

/*
 * test_slices_file() and test_slices_live() have more queues than HQDs and more
 * processes than VMIDs, so that queues and processes get time slices.
 */

/* GPU address of a page that all processes share */
#define SHARED      0x333300000000ull
/* the test writes 1 to this address after the migration */
#define GATE        (SHARED + 40)
/* GPU addresses in process 0 */
#define SLICES_SRC  0x444400000000ull
#define SLICES_DST  0x555500000000ull
#define PASID(i)    (0x700 + (i))
#define PROCESSES   3
/* number of compute queues of all processes, not counting Slices.stalled */
#define QUEUES      9
#define ROUNDS      40
#define SLICES_PAGES 4

typedef struct Slices {
    QVGPU *v;
    QVGPUHws h;
    uint64_t shared, src, dst;
    QVGPUProcess p[PROCESSES];
    QVGPUUserCompute q[QUEUES];
    /* queue of process 0; a write faults on page 2 of SLICES_DST */
    QVGPUUserCompute stalled;
    /* queue of process 0; the copy packet faults on page 2 of SLICES_DST */
    QVGPUUserSdma copy;
    /* bit 0: MM hub has faulted; bit 1: GFX hub */
    unsigned faults;
} Slices;

static void slices_wait(QVGPUUserCompute *q, uint64_t addr, uint32_t value)
{
    QVGPU_PM4(&q->c, PM4_WAIT_REG_MEM, PM4_WAIT_DW1__MEM_SPACE | QVGPU_POLL_EQ,
              QVGPU_LO(addr), QVGPU_HI(addr), value, UINT32_MAX, 1);
}

/*
 * Start the queues. Packets pass a token ROUNDS times through all queues: each
 * queue waits for a number at SHARED, then writes the next number.
 */
static void slices_relay(Slices *f)
{
    unsigned round, i;

    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < QUEUES; i++) {
            uint32_t step = round * QUEUES + QUEUES - 1 - i;

            slices_wait(&f->q[i], SHARED, step);
            /*
             * The last round starts when the test writes 1 to GATE, after the
             * migration. So the queues have work during the migration.
             */
            if (step == (ROUNDS - 1) * QUEUES) {
                slices_wait(&f->q[i], GATE, 1);
            }
            qvgpu_pm4_write(&f->q[i].c, SHARED + 64 + 4 * i, ~step);
            qvgpu_pm4_write(&f->q[i].c, SHARED, step + 1);
        }
    }
    for (i = 0; i < QUEUES; i++) {
        qvgpu_user_compute_kick(&f->q[i]);
    }
}

/*
 * Acknowledge all pending faults. Fails the test if a fault is not one of the
 * two expected faults.
 */
static void slices_faults(Slices *f)
{
    while (qvgpu_ih_pending(f->v)) {
        QVGPUIrq irq;

        qvgpu_ih_next(f->v, &irq);
        g_assert_cmphex(irq.pasid, ==, PASID(0));
        g_assert_cmphex(irq.data[0], ==,
                        (uint32_t)((SLICES_DST + 2 * QVGPU_PAGE) >> 12));
        qvgpu_cam_ack(f->v, irq.data[2]);
        f->faults |= irq.client == IH_CLIENT_VMC ? 1 : 2;
        /*
         * The page is not mapped, so the access faults again at once. Step the
         * clock: the faults stop when process 0's time slice ends.
         */
        qvgpu_waited();
    }
}

/*
 * Start three processes with their queues. Wait until f->stalled and f->copy
 * have faulted, and at least five queues of f->q have written to SHARED.
 */
static void slices_start(Slices *f)
{
    QVGPU *v = f->v = qvgpu_start();
    unsigned i;

    qvgpu_time_passes(v);
    f->faults = 0;
    qvgpu_hws_init(&f->h, v);
    /* All processes share one VMID, and all compute queues share four HQDs. */
    qvgpu_hws_resources(&f->h, 1u << 13, 0xf);
    f->shared = qvgpu_ram_page(v);
    f->src = qvgpu_alloc(v, QVGPU_VRAM, SLICES_PAGES * QVGPU_PAGE, QVGPU_PAGE);
    f->dst = qvgpu_alloc(v, QVGPU_RAM, SLICES_PAGES * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(v, f->src, 5, 0, SLICES_PAGES * QVGPU_PAGE);
    qvgpu_list_begin(&f->h);
    for (i = 0; i < QUEUES; i++) {
        QVGPUProcess *p = &f->p[i / (QUEUES / PROCESSES)];

        if (i % (QUEUES / PROCESSES) == 0) {
            qvgpu_process_init(p, v, PASID(i / (QUEUES / PROCESSES)));
            qvgpu_space_map(&p->space, SHARED, f->shared, QVGPU_PAGE);
            qvgpu_list_process(&f->h, p, 1);
        }
        qvgpu_user_compute_init(&f->q[i], v, p, i);
        qvgpu_list_compute(&f->h, &f->q[i], 0);
        if (i == 0) {
            qvgpu_space_map(&p->space, SLICES_SRC, f->src,
                            SLICES_PAGES * QVGPU_PAGE);
            qvgpu_space_map(&p->space, SLICES_DST, f->dst, 2 * QVGPU_PAGE);
            qvgpu_user_compute_init(&f->stalled, v, p, QUEUES);
            qvgpu_list_compute(&f->h, &f->stalled, 0);
            qvgpu_user_sdma_init(&f->copy, v, &p->space, 0, 0);
            qvgpu_list_sdma(&f->h, &f->copy);
        }
    }
    qvgpu_list_chain(&f->h);

    qvgpu_pm4_write(&f->stalled.c, SHARED + 16, 1);
    qvgpu_pm4_write(&f->stalled.c, SLICES_DST + 2 * QVGPU_PAGE, 0xbad);
    qvgpu_pm4_write(&f->stalled.c, SHARED + 16, 2);
    qvgpu_user_compute_kick(&f->stalled);
    qvgpu_pkt_add64(&f->copy.q, SHARED + 24, 1);
    qvgpu_pkt_copy(&f->copy.q, SLICES_SRC, SLICES_DST,
                   SLICES_PAGES * QVGPU_PAGE);
    qvgpu_pkt_add64(&f->copy.q, SHARED + 24, 0x100);
    qvgpu_user_sdma_kick(&f->copy);
    slices_relay(f);
    qvgpu_list_run(&f->h, 0);
    qvgpu_wait_until(({
        slices_faults(f);
        f->faults == 3 && qtest_readl(v->qts, f->shared) > 4;
    }));
}

static void slices_finish(Slices *f)
{
    QVGPU *v = f->v;
    unsigned i;

    g_assert_cmpuint(qtest_readl(v->qts, f->shared), <=,
                     (ROUNDS - 1) * QUEUES);
    g_assert_cmpuint(qtest_readl(v->qts, f->shared + 16), ==, 1);
    g_assert_cmpuint(qtest_readq(v->qts, f->shared + 24), ==, 1);
    qtest_writel(v->qts, f->shared + GATE - SHARED, 1);
    qvgpu_cont(v);
    qvgpu_wait_until(({
        slices_faults(f);
        qtest_readl(v->qts, f->shared) == ROUNDS * QUEUES;
    }));
    for (i = 0; i < QUEUES; i++) {
        qvgpu_wait_until(({
            slices_faults(f);
            qtest_readl(v->qts, f->q[i].c.rptr) == f->q[i].c.wptr;
        }));
        g_assert_cmphex(qtest_readl(v->qts, f->shared + 64 + 4 * i), ==,
                        ~((ROUNDS - 1) * QUEUES + QUEUES - 1 - i));
    }
    /*
     * The copy and the stalled compute queue write the same word of page 2 of
     * SLICES_DST, in any order. The compute queue writes 0xbad: let the copy
     * write 0xbad, too.
     */
    qtest_writel(v->qts, f->src + 2 * QVGPU_PAGE, 0xbad);
    qvgpu_space_map(&f->p[0].space, SLICES_DST, f->dst,
                    SLICES_PAGES * QVGPU_PAGE);
    qvgpu_wait_until(({
        slices_faults(f);
        qtest_readl(v->qts, f->stalled.c.rptr) == f->stalled.c.wptr &&
        qtest_readq(v->qts, f->copy.q.rptr) == f->copy.q.wptr;
    }));
    g_assert_cmpuint(qtest_readl(v->qts, f->shared + 16), ==, 2);
    g_assert_cmphex(qtest_readq(v->qts, f->shared + 24), ==, 0x101);
    g_assert_cmphex(qtest_readl(v->qts, f->dst + 2 * QVGPU_PAGE), ==, 0xbad);
    qvgpu_expect(v, f->dst, 5, 0, 2 * QVGPU_PAGE);
    qvgpu_expect(v, f->dst + 2 * QVGPU_PAGE + 4, 5, 2 * QVGPU_PAGE + 4,
                 2 * QVGPU_PAGE - 4);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_BYTES_COPIED), ==,
                     SLICES_PAGES * QVGPU_PAGE);
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_QUEUE_ERRORS), ==, 0);
    qvgpu_stop(v);
}

/*
 * Catches: the restored machine has lost
 * - the position in the run list,
 * - a process's VMID,
 * - the state "stalled by a fault" of a queue, or
 * - a queue that was being written to its MQD.
 */
static void test_slices_file(void)
{
    Slices f;

    slices_start(&f);
    qvgpu_save_restore(f.v, false);
    slices_finish(&f);
}

/* As test_slices_file(), in a live migration. */
static void test_slices_live(void)
{
    Slices f;

    slices_start(&f);
    qvgpu_migrate_live(f.v, NULL, NULL);
    slices_finish(&f);
}

/* Registers that keep a written value until the next write. */
static const struct {
    uint32_t first, count;
} blocks[] = {
    { HUB(VGPU_HUB_GFX), VM_INVALIDATE_ENG_REQ(0) },
    { HUB(VGPU_HUB_MM), VM_INVALIDATE_ENG_REQ(0) },
    { HUB(VGPU_HUB_GFX) + VM_INVALIDATE_ENG_ADDR_RANGE_LO32(0),
      HUB_SPAN - VM_INVALIDATE_ENG_ADDR_RANGE_LO32(0) },
    { HUB(VGPU_HUB_MM) + VM_INVALIDATE_ENG_ADDR_RANGE_LO32(0),
      HUB_SPAN - VM_INVALIDATE_ENG_ADDR_RANGE_LO32(0) },
    { IH_VMID_LUT(0), 32 },
    { IH_RB_BASE, 2 },
    { BIF_SDMA0_DOORBELL_RANGE, 16 },
    { REMAP_HDP_MEM_FLUSH_CNTL, 2 },
    { ATC_VMID_PASID_MAPPING(0), 32 },
    { PCIE_INDEX2, 1 },
    { RLC_GPU_CLOCK_COUNT_LSB, 2 },
    { SDMA_ENGINE(3) + SDMA_QUEUE(9) + SDMA_RB_BASE, 9 },
    { SDMA_ENGINE(3) + SDMA_QUEUE(9) + SDMA_DOORBELL_OFFSET, 1 },
    { SDMA_ENGINE(4) + SDMA_UTCL1_CNTL, 1 },
};

/*
 * Catches: a register is not saved, and has its reset value after the restore.
 */
static void test_registers(void)
{
    g_autoptr(GArray) want = g_array_new(false, false, sizeof(uint32_t));
    QVGPU *v = qvgpu_start_cold("64M");
    uint32_t x = 0x9e3779b9, n = 0, r;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(blocks); i++) {
        for (r = 0; r < blocks[i].count; r++) {
            x = x * 1664525 + 1013904223;
            qvgpu_wr(v, blocks[i].first + r, x);
        }
    }
    qvgpu_clock(v);
    for (i = 0; i < ARRAY_SIZE(blocks); i++) {
        for (r = 0; r < blocks[i].count; r++) {
            x = qvgpu_rd(v, blocks[i].first + r);
            g_array_append_val(want, x);
        }
    }
    qvgpu_save_restore(v, false);
    for (i = 0; i < ARRAY_SIZE(blocks); i++) {
        for (r = 0; r < blocks[i].count; r++) {
            g_assert_cmphex(qvgpu_rd(v, blocks[i].first + r), ==,
                            g_array_index(want, uint32_t, n));
            n++;
        }
    }
    qvgpu_stop(v);
}

/* Catches: an index in the saved state is used unchecked. */
static void test_hostile(void)
{
    static const struct {
        /*
         * Offset of the byte to change, from the start of the saved
         * VGPUStall.va. The offset is negative for fields that sdma/vmstate.c
         * saves before va.
         */
        int at;
        uint8_t byte;
    } bad[] = {
        /* reason of the stall, 4 bytes: change the first or the last byte */
        { -8, 0x80 }, { -5, 0x07 },
        { -4, 2 },                      /* hub */
        { -3, 16 },                     /* VMID */
        { -2, 16 },                     /* CAM slot */
        { -10, 0xff },                  /* VGPUView.vmid of the queue */
        /* VGPUExec.ib_depth, 4 bytes: change the first or the last byte */
        { 18, 0x01 }, { 21, 0x03 },
        /*
         * The two elements of VGPUExec.ib (17 bytes each) begin at 22. The
         * packet's first dword follows. The last byte of this dword is the
         * opcode.
         */
        { 22 + 2 * 17 + 3, 0xff },
    };
    g_autofree char *file = NULL, *buf = NULL;
    Stalled t;
    size_t len, at;
    unsigned i;

    stalled_start(&t);
    file = qvgpu_save_restore(t.v, true);
    g_assert_true(g_file_get_contents(file, &buf, &len, NULL));
    at = qvgpu_state_find(buf, len, DST + 2 * QVGPU_PAGE);
    g_assert_true(qvgpu_loads(t.v, file));
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        char *p = &buf[at + bad[i].at];
        char good = *p;

        *p = bad[i].byte;
        g_assert_true(g_file_set_contents(file, buf, len, NULL));
        if (qvgpu_loads(t.v, file)) {
            g_error("byte %d = 0x%02x is loaded", bad[i].at, bad[i].byte);
        }
        *p = good;
    }
    g_unlink(file);
    stalled_finish(&t, QVGPU_RESEND_NS);
}

void qvgpu_add_migration_tests(void)
{
    qtest_add_func("/vgpu-kfd/state/registers", test_registers);
    qtest_add_func("/vgpu-kfd/state/stalled/file", test_stalled_file);
    qtest_add_func("/vgpu-kfd/state/stalled/live", test_stalled_live);
    qtest_add_func("/vgpu-kfd/state/stalled/twice", test_stalled_twice);
    qtest_add_func("/vgpu-kfd/state/copying/file", test_copying_file);
    qtest_add_func("/vgpu-kfd/state/copying/live", test_copying_live);
    qtest_add_func("/vgpu-kfd/state/turns/file", test_slices_file);
    qtest_add_func("/vgpu-kfd/state/turns/live", test_slices_live);
    qtest_add_func("/vgpu-kfd/state/hostile", test_hostile);
}
