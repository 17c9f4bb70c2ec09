/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests that faults are repaired, acknowledged and replayed: no byte
 * may be lost, and no byte may be written twice.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/queue/suite.h"
#include "tests/qtest/vgpu-kfd/queue/replay-fixture.h"

static void ack_by_doorbell(QVGPU *v, unsigned slot)
{
    qtest_writel(v->qts, v->bar[VGPU_BAR_DOORBELL] +
                 4 * DOORBELL_IH_RETRY_CAM_DW, slot);
}

/*
 * Catches: the acknowledge of a fault does not wake the stalled queue; a replay
 * does not continue exactly where the access faulted.
 */
static void test_acknowledge(void)
{
    void (*const ack[])(QVGPU *, unsigned) = {
        qvgpu_cam_ack, ack_by_doorbell,
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(ack); i++) {
        Replay r;
        unsigned slot;

        replay_start(&r);
        replay_map_src(&r);
        qvgpu_pkt_copy(&r.q, SRC + 5, DST + 7, 3000);
        qvgpu_sdma_kick(&r.q);
        slot = qvgpu_ih_next_fault(r.v, VMID, DST, true, true);
        replay_map_dst(&r);
        /* Without the acknowledge, the access is not replayed. */
        qvgpu_sdma_pass(&r.kq);
        qvgpu_expect_byte(r.v, r.dst, 0, QVGPU_PAGE);
        ack[i](r.v, slot);
        qvgpu_sdma_finish(&r.q);
        qvgpu_expect_byte(r.v, r.dst, 0, 7);
        qvgpu_expect(r.v, r.dst + 7, 1, 5, 3000);
        qvgpu_expect_byte(r.v, r.dst + 3007, 0, QVGPU_PAGE - 3007);
        g_assert_cmpuint(qvgpu_counter(r.v, VGPU_CNT_REPLAYS), ==, 1);
        g_assert_false(qvgpu_ih_pending(r.v));
        qvgpu_stop(r.v);
    }
}

/*
 * Catches: an invalidation does not wake a stalled queue, or frees a page's CAM
 * slot. Correct: only the driver's acknowledge frees the slot.
 */
static void test_invalidation(void)
{
    Replay r;
    unsigned slot;

    replay_start(&r);
    replay_map_src(&r);
    qvgpu_pkt_copy(&r.q, SRC, DST, QVGPU_PAGE);
    qvgpu_sdma_kick(&r.q);
    slot = qvgpu_ih_next_fault(r.v, VMID, DST, true, true);

    /*
     * This invalidation makes the queue repeat the access. The access has a
     * second fault, because the page is not mapped yet. The second fault sends
     * no interrupt entry, because the page's CAM slot is in use.
     */
    qvgpu_invalidate(r.v, 1u << VMID);
    qvgpu_sdma_pass(&r.kq);
    g_assert_false(qvgpu_ih_pending(r.v));
    qvgpu_invalidate(r.v, 0xffff & ~(1u << VMID));
    replay_map_dst(&r);
    qvgpu_invalidate(r.v, 1u << VMID);
    qvgpu_sdma_finish(&r.q);
    qvgpu_expect(r.v, r.dst, 1, 0, QVGPU_PAGE);

    /*
     * Unmap the page again. The next fault of the page sends no interrupt
     * entry, because the page's CAM slot is still in use.
     */
    qvgpu_space_set(&r.space, DST, VGPU_LEVEL_PTB, 0);
    qvgpu_invalidate(r.v, 1u << VMID);
    qvgpu_pkt_copy(&r.q, SRC + 1, DST, QVGPU_PAGE);
    qvgpu_sdma_kick(&r.q);
    qvgpu_sdma_pass(&r.kq);
    g_assert_false(qvgpu_ih_pending(r.v));
    /*
     * The test acknowledges the fault, but has not mapped the page. So the
     * fault is reported again.
     */
    qvgpu_cam_ack(r.v, slot);
    slot = qvgpu_ih_next_fault(r.v, VMID, DST, true, true);
    replay_map_dst(&r);
    qvgpu_cam_ack(r.v, slot);
    qvgpu_sdma_finish(&r.q);
    qvgpu_expect(r.v, r.dst, 1, 1, QVGPU_PAGE);
    g_assert_cmpuint(qvgpu_counter(r.v, VGPU_CNT_FAULTS_RETRY), ==, 2);
    qvgpu_stop(r.v);
}

/*
 * Catches: a fault is not reported again after an acknowledge without repair.
 */
static void test_acknowledge_without_repair(void)
{
    Replay r;
    uint32_t serial = 0;
    unsigned i;

    replay_start(&r);
    replay_map_dst(&r);
    qvgpu_pkt_copy(&r.q, SRC, DST, QVGPU_PAGE);
    qvgpu_sdma_kick(&r.q);
    for (i = 0; i < 10; i++) {
        QVGPUIrq irq;

        qvgpu_wait_until(qvgpu_ih_pending(r.v));
        qvgpu_ih_decode(r.v, r.v->ih.rptr, &irq);
        g_assert_cmpuint(irq.data[3], >, serial);
        serial = irq.data[3];
        qvgpu_cam_ack(r.v, qvgpu_ih_next_fault(r.v, VMID, SRC, false, true));
    }
    /*
     * The fault is reported once more, because no repair preceded the last
     * acknowledge.
     */
    qvgpu_wait_until(qvgpu_ih_pending(r.v));
    replay_map_src(&r);
    qvgpu_cam_ack(r.v, qvgpu_ih_next_fault(r.v, VMID, SRC, false, true));
    qvgpu_sdma_finish(&r.q);
    qvgpu_expect(r.v, r.dst, 1, 0, QVGPU_PAGE);
    g_assert_cmpuint(qvgpu_counter(r.v, VGPU_CNT_FAULTS_RETRY), ==, 11);
    qvgpu_stop(r.v);
}

/*
 * Catches: a copy that faults at every page loses, repeats or reorders bytes.
 */
static void test_fault_through(void)
{
    const uint64_t skew = 1234, len = (PAGES - 1) * QVGPU_PAGE;
    Replay r;
    uint64_t done = 0;
    unsigned faults = 0;

    replay_start(&r);
    qvgpu_pkt_copy(&r.q, SRC + skew, DST, len);
    qvgpu_sdma_kick(&r.q);
    while (done < len) {
        /*
         * Address of the fault: the next byte of the source, or of the
         * destination if the interrupt entry reports a write (below).
         */
        uint64_t at = SRC + skew + done;
        bool write = false;
        uint64_t next, base;
        unsigned slot;
        QVGPUIrq irq;

        qvgpu_wait_until(qvgpu_ih_pending(r.v));
        qvgpu_ih_decode(r.v, r.v->ih.rptr, &irq);
        if (irq.data[1] & IH_FAULT_D1__WRITE) {
            write = true;
            at = DST + done;
        }
        slot = qvgpu_ih_next_fault(r.v, VMID, at, write, true);
        faults++;
        /*
         * Overwrite the completed bytes. If the engine copied them again, the
         * comparison at the end of this round would fail.
         */
        qtest_memset(r.v->qts, r.src, 0xee, (skew + done) / 4096 * 4096);
        qtest_memset(r.v->qts, r.dst, 0x44, done);

        base = at & ~(QVGPU_PAGE - 1);
        qvgpu_space_map(&r.space, base,
                        write ? r.dst + (base - DST) : r.src + (base - SRC),
                        QVGPU_PAGE);
        /*
         * The copy will stop at the end of the pages that are mapped in the
         * source and in the destination.
         */
        next = done;
        while (next < len &&
               qtest_readq(r.v->qts, qvgpu_space_slot(&r.space,
                           SRC + skew + next, VGPU_LEVEL_PTB)) &&
               qtest_readq(r.v->qts, qvgpu_space_slot(&r.space, DST + next,
                           VGPU_LEVEL_PTB))) {
            uint64_t src_left = QVGPU_PAGE - (skew + next) % QVGPU_PAGE;
            uint64_t dst_left = QVGPU_PAGE - next % QVGPU_PAGE;

            next += MIN(len - next, MIN(src_left, dst_left));
        }
        qvgpu_cam_ack(r.v, slot);
        if (next == len) {
            qvgpu_sdma_finish(&r.q);
        } else {
            qvgpu_wait_until(qvgpu_ih_pending(r.v));
        }
        qvgpu_expect_byte(r.v, r.dst, 0x44, done);
        qvgpu_expect(r.v, r.dst + done, 1, skew + done, next - done);
        qvgpu_expect_byte(r.v, r.dst + next, 0,
                          PAGES * QVGPU_PAGE - next);
        done = next;
    }
    /*
     * Each accessed page faults once: 16 pages of the source, because the copy
     * starts within a page, and 15 pages of the destination.
     */
    g_assert_cmpuint(faults, ==, 2 * PAGES - 1);
    g_assert_cmpuint(qvgpu_counter(r.v, VGPU_CNT_BYTES_COPIED), ==, len);
    g_assert_cmpuint(qvgpu_counter(r.v, VGPU_CNT_FAULTS_MERGED), ==, 0);
    qvgpu_stop(r.v);
}

/*
 * Catches: a write to a read-only page still faults after the page is mapped
 * writable.
 */
static void test_permission(void)
{
    Replay r;
    unsigned slot;

    replay_start(&r);
    replay_map_src(&r);
    qvgpu_fill(r.v, r.dst, 2, 0, QVGPU_PAGE);
    qvgpu_space_set(&r.space, DST, VGPU_LEVEL_PTB, qvgpu_entry(r.v, r.dst,
                    VGPU_PTE_VALID | VGPU_PTE_READABLE));
    /* Let the engine's TLB hold the page as readable only. */
    qvgpu_pkt_copy(&r.q, DST, SRC + QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_sdma_finish(&r.q);
    qvgpu_pkt_copy(&r.q, SRC, DST, QVGPU_PAGE);
    qvgpu_sdma_kick(&r.q);
    slot = qvgpu_ih_next_fault(r.v, VMID, DST, true, true);
    replay_map_dst(&r);
    qvgpu_invalidate(r.v, 1u << VMID);
    qvgpu_cam_ack(r.v, slot);
    qvgpu_sdma_finish(&r.q);
    qvgpu_expect(r.v, r.dst, 1, 0, QVGPU_PAGE);
    qvgpu_stop(r.v);
}

/*
 * Catches: for some level of the page table, a stall does not end after the
 * invalid entry is repaired.
 */
static void test_each_level(void)
{
    Replay r;
    unsigned level;

    replay_start(&r);
    replay_map_src(&r);
    for (level = VGPU_LEVEL_PTB; level <= VGPU_LEVEL_PDB2; level++) {
        uint64_t va = DST + level * TiB, slot_at, entry;
        unsigned slot;

        qvgpu_space_map(&r.space, va, r.dst, QVGPU_PAGE);
        slot_at = qvgpu_space_slot(&r.space, va, level);
        entry = qtest_readq(r.v->qts, slot_at);
        qtest_writeq(r.v->qts, slot_at, 0);
        qtest_memset(r.v->qts, r.dst, 0, QVGPU_PAGE);
        qvgpu_pkt_copy(&r.q, SRC + level, va, QVGPU_PAGE);
        qvgpu_sdma_kick(&r.q);
        slot = qvgpu_ih_next_fault(r.v, VMID, va, true, true);
        qtest_writeq(r.v->qts, slot_at, entry);
        qvgpu_cam_ack(r.v, slot);
        qvgpu_sdma_finish(&r.q);
        qvgpu_expect(r.v, r.dst, 1, level, QVGPU_PAGE);
    }
    qvgpu_stop(r.v);
}

/*
 * Map each page on which the queue faults, one by one, until the queue is idle.
 */
static void serve(Replay *r)
{
    while (!qvgpu_sdma_idle(&r->q)) {
        QVGPUIrq irq;
        uint64_t va;

        if (!qvgpu_ih_pending(r->v)) {
            continue;
        }
        qvgpu_ih_next(r->v, &irq);
        g_assert_cmphex(irq.data[1] & IH_FAULT_D1__RETRY, !=, 0);
        va = ((uint64_t)irq.data[0] |
              (uint64_t)(irq.data[1] & IH_FAULT_D1__VA_HI) << 32) << 12;
        qvgpu_space_map(&r->space, va, va >= DST ? r->dst + (va - DST)
                                                 : r->src + (va - SRC),
                        QVGPU_PAGE);
        qvgpu_cam_ack(r->v, irq.data[2]);
    }
    g_assert_cmpuint(qvgpu_sdma_exception(&r->q), ==, 0);
    g_assert_cmphex(qvgpu_sdma_rptr(&r->q), ==, r->q.wptr);
}

/* Catches: a replay repeats the effects of a packet other than COPY. */
static void test_other_packets(void)
{
    enum { DWORDS = 300 };
    uint32_t data[DWORDS];
    Replay r;
    unsigned i;

    replay_start(&r);
    for (i = 0; i < DWORDS; i++) {
        data[i] = 0x1000000 * i + i;
    }
    qtest_writeq(r.v->qts, r.dst, 5);
    qvgpu_pkt_add64(&r.q, DST, 3);
    qvgpu_pkt_fence(&r.q, DST + 1 * QVGPU_PAGE, 0xfe);
    QVGPU_EMIT(&r.q, SDMA_PKT(SDMA_OP_TIMESTAMP,
                              SDMA_SUBOP_TIMESTAMP_GET_GLOBAL),
               QVGPU_LO(DST + 2 * QVGPU_PAGE), QVGPU_HI(DST + 2 * QVGPU_PAGE));
    qvgpu_pkt_fill(&r.q, DST + 3 * QVGPU_PAGE + 17, 0xab, 2 * QVGPU_PAGE, 0);
    QVGPU_EMIT(&r.q, SDMA_PKT(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR),
               QVGPU_LO(DST + 7 * QVGPU_PAGE - 400),
               QVGPU_HI(DST + 7 * QVGPU_PAGE - 400), DWORDS - 1);
    qvgpu_sdma_emit(&r.q, data, DWORDS);
    QVGPU_EMIT(&r.q, SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN),
               QVGPU_LO(DST + 9 * QVGPU_PAGE - 80),
               QVGPU_HI(DST + 9 * QVGPU_PAGE - 80), 1, 0, 0, 0,
               0x1000, 0, 19);
    qtest_writel(r.v->qts, r.src, 7);
    qvgpu_pkt_poll_mem(&r.q, QVGPU_POLL_EQ, SRC, 7, UINT32_MAX,
                       QVGPU_POLL_FOREVER);
    qvgpu_pkt_fill(&r.q, DST + 11 * QVGPU_PAGE - 8, 0x11223344, 16, 2);
    qtest_clock_step(r.v->qts, 1000000);
    qvgpu_sdma_kick(&r.q);
    serve(&r);

    g_assert_cmphex(qtest_readq(r.v->qts, r.dst), ==, 8);
    g_assert_cmphex(qtest_readq(r.v->qts, r.dst + QVGPU_PAGE), ==, 0xfe);
    g_assert_cmphex(qtest_readq(r.v->qts, r.dst + 2 * QVGPU_PAGE), ==,
                    qvgpu_clock(r.v));
    qvgpu_expect_byte(r.v, r.dst + 3 * QVGPU_PAGE, 0, 17);
    qvgpu_expect_byte(r.v, r.dst + 3 * QVGPU_PAGE + 17, 0xab, 2 * QVGPU_PAGE);
    qvgpu_expect_byte(r.v, r.dst + 5 * QVGPU_PAGE + 17, 0, 100);
    for (i = 0; i < DWORDS; i++) {
        g_assert_cmphex(qtest_readl(r.v->qts, r.dst + 7 * QVGPU_PAGE - 400 +
                                    4 * i), ==, data[i]);
    }
    for (i = 0; i < 20; i++) {
        g_assert_cmphex(qtest_readq(r.v->qts, r.dst + 9 * QVGPU_PAGE - 80 +
                                    8 * i), ==, 0x1000 * i + 1);
    }
    for (i = 0; i < 4; i++) {
        g_assert_cmphex(qtest_readl(r.v->qts, r.dst + 11 * QVGPU_PAGE - 8 +
                                    4 * i), ==, 0x11223344);
    }
    g_assert_cmpuint(qvgpu_counter(r.v, VGPU_CNT_FAULTS_RETRY), ==,
                     qvgpu_counter(r.v, VGPU_CNT_REPLAYS));
    qvgpu_stop(r.v);
}

/*
 * Catches: the queue does not recover from a fault on its ring, an indirect
 * buffer or the write-back of its read pointer.
 */
static void test_ring_faults(void)
{
    Replay r;
    QVGPUSdma q;
    uint32_t fence[4] = {
        SDMA_PKT(SDMA_OP_FENCE, 0), QVGPU_LO(DST + 4), QVGPU_HI(DST + 4), 0x1b,
    };

    replay_start(&r);
    qvgpu_sdma_disable(&r.q);
    qvgpu_sdma_init(&q, r.v, 0, SDMA_QUEUE_RLC(0), &r.space);
    /*
     * Put ring, indirect buffer and rptr on pages of SRC. These pages are not
     * mapped, so that the first access to each of them faults.
     */
    q.ring = r.src + 3 * QVGPU_PAGE;
    q.ring_va = SRC + 3 * QVGPU_PAGE;
    q.rptr = r.src + 9 * QVGPU_PAGE;
    q.rptr_va = SRC + 9 * QVGPU_PAGE;
    qtest_bufwrite(r.v->qts, r.src + 4 * QVGPU_PAGE, fence, sizeof(fence));
    qtest_memset(r.v->qts, q.rptr, 0, 8);
    qvgpu_sdma_load(&q);
    qvgpu_pkt_fence(&q, DST, 0x2b);
    qvgpu_pkt_indirect(&q, VMID, SRC + 4 * QVGPU_PAGE, 4);
    r.q = q;
    qvgpu_sdma_kick(&q);
    serve(&r);
    g_assert_cmphex(qtest_readq(r.v->qts, r.dst), ==, 0x1b0000002bull);
    g_assert_cmphex(qtest_readq(r.v->qts, q.rptr), ==, q.wptr);
    g_assert_cmpuint(qvgpu_counter(r.v, VGPU_CNT_FAULTS_RETRY), ==, 4);
    qvgpu_stop(r.v);
}

/*
 * Two queues copy while the test unmaps pages and repairs the faults. Catches:
 * a race with a map, unmap, invalidation or acknowledge loses data.
 */
static void test_unmap_storm(void)
{
    enum { ROUNDS = 60, COPIES = 60, PULLS = 6 };
    uint32_t random = 12345;
    Replay r;
    QVGPUSdma other;
    uint64_t dst2;
    unsigned i, n;

    replay_start(&r);
    qvgpu_sdma_open(&other, r.v, 1, SDMA_QUEUE_RLC(0), &r.space);
    dst2 = qvgpu_alloc(r.v, QVGPU_RAM, PAGES * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_space_map(&r.space, DST + 1 * GiB, dst2, PAGES * QVGPU_PAGE);
    for (i = 0; i < ROUNDS; i++) {
        for (n = 0; n < COPIES; n++) {
            qvgpu_pkt_copy(&r.q, SRC, DST, PAGES * QVGPU_PAGE);
            qvgpu_pkt_copy(&other, SRC, DST + 1 * GiB, PAGES * QVGPU_PAGE);
        }
        for (n = 0; n < PULLS; n++) {
            random = random * 1664525 + 1013904223;
            qvgpu_space_set(&r.space, (random >> 31 ? SRC : DST) +
                            (random >> 16) % PAGES * QVGPU_PAGE,
                            VGPU_LEVEL_PTB, 0);
            if (random >> 8 & 1) {
                qvgpu_invalidate(r.v, 1u << VMID);
            }
            /*
             * Some pages are unmapped before the engines start, the others
             * while the engines run.
             */
            if (n == PULLS / 2) {
                qvgpu_sdma_kick(&r.q);
                qvgpu_sdma_kick(&other);
            }
        }
        /*
         * After this invalidation, the test only maps pages. Each page then
         * stays mapped, so both queues must become idle.
         */
        qvgpu_invalidate(r.v, 1u << VMID);
        serve(&r);
        while (!qvgpu_sdma_idle(&other)) {
            QVGPUSdma mine = r.q;

            r.q = other;
            serve(&r);
            r.q = mine;
        }
        qvgpu_expect(r.v, r.dst, 1, 0, PAGES * QVGPU_PAGE);
        qvgpu_expect(r.v, dst2, 1, 0, PAGES * QVGPU_PAGE);
        qtest_memset(r.v->qts, r.dst, 0, PAGES * QVGPU_PAGE);
        qtest_memset(r.v->qts, dst2, 0, PAGES * QVGPU_PAGE);
    }
    g_assert_cmpuint(qvgpu_counter(r.v, VGPU_CNT_FAULTS_RETRY), >, ROUNDS);
    qvgpu_stop(r.v);
}

void qvgpu_add_replay_tests(void)
{
    qtest_add_func("/vgpu-kfd/replay/acknowledge", test_acknowledge);
    qtest_add_func("/vgpu-kfd/replay/invalidation", test_invalidation);
    qtest_add_func("/vgpu-kfd/replay/acknowledge-without-repair",
                   test_acknowledge_without_repair);
    qtest_add_func("/vgpu-kfd/replay/fault-through", test_fault_through);
    qtest_add_func("/vgpu-kfd/replay/permission", test_permission);
    qtest_add_func("/vgpu-kfd/replay/each-level", test_each_level);
    qtest_add_func("/vgpu-kfd/replay/other-packets", test_other_packets);
    qtest_add_func("/vgpu-kfd/replay/ring-faults", test_ring_faults);
    qvgpu_add_replay_teardown_tests();
    qtest_add_func("/vgpu-kfd/replay/unmap-storm", test_unmap_storm);
}
