/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests that invalid accesses fault, with the four-level page tables
 * of VMIDs 1-15.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"
#include "tests/qtest/vgpu-kfd/memory/page-walk-fixture.h"

/* Catches: a write-only page can be read; a read-only page can be written. */
static void test_permissions(void)
{
    PageWalk w;
    uint64_t page;
    uint32_t status;

    page_walk_start(&w);
    page = qvgpu_alloc(w.v, QVGPU_VRAM, 2 * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(w.v, page, 8, 0, 2 * QVGPU_PAGE);
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PTB, qvgpu_entry(w.v, page,
                    VGPU_PTE_VALID | VGPU_PTE_READABLE));
    qvgpu_space_set(&w.space, VA + QVGPU_PAGE, VGPU_LEVEL_PTB,
                    qvgpu_entry(w.v, page + QVGPU_PAGE,
                                VGPU_PTE_VALID | VGPU_PTE_WRITEABLE));
    page_walk_expect_at(&w, VA, 8, 0, QVGPU_PAGE);
    qvgpu_fill(w.v, w.dst, 9, 0, QVGPU_PAGE);
    page_walk_copy(&w, w.dst_va, VA + QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_expect(w.v, page + QVGPU_PAGE, 9, 0, QVGPU_PAGE);
    g_assert_cmphex(qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);

    page_walk_copy(&w, w.dst_va, VA, 4);
    status = qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS);
    g_assert_cmphex(status & VM_L2_PROTECTION_FAULT_STATUS__PERMISSION, !=,
                    0);
    qvgpu_expect(w.v, page, 8, 0, QVGPU_PAGE);
    qvgpu_ih_next_fault(w.v, PAGE_WALK_VMID, VA, true, false);
    page_walk_clear_fault(&w);
    page_walk_expect_fault(&w, VA + QVGPU_PAGE, false, VGPU_WALKER_OK);
    /* The entry is valid, but neither readable nor writable. */
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PTB,
                    qvgpu_entry(w.v, page, VGPU_PTE_VALID));
    qvgpu_invalidate(w.v, 1u << PAGE_WALK_VMID);
    page_walk_expect_fault(&w, VA, false, VGPU_WALKER_OK);
    page_walk_expect_fault(&w, VA, true, VGPU_WALKER_OK);
    qvgpu_stop(w.v);
}

/* Catches: the walk follows an invalid page-table entry at some level. */
static void test_invalid_at_each_level(void)
{
    PageWalk w;
    unsigned level;

    page_walk_start(&w);
    for (level = VGPU_LEVEL_PTB; level <= VGPU_LEVEL_PDB2; level++) {
        uint64_t va = VA + (level << 12) + (1ull << 40) * level;
        uint64_t page = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
        uint64_t slot, entry;

        qvgpu_fill(w.v, page, 20 + level, 0, QVGPU_PAGE);
        qvgpu_space_map(&w.space, va, page, QVGPU_PAGE);
        slot = qvgpu_space_slot(&w.space, va, level);
        entry = qtest_readq(w.v->qts, slot);
        qtest_writeq(w.v->qts, slot, entry & ~VGPU_PTE_VALID);
        page_walk_expect_fault(&w, va + 8, false, VGPU_WALKER_OK);
        page_walk_expect_fault(&w, va + 8, true, VGPU_WALKER_OK);
        qtest_writeq(w.v->qts, slot, entry);
        qvgpu_invalidate(w.v, 1u << PAGE_WALK_VMID);
        page_walk_expect_at(&w, va, 20 + level, 0, QVGPU_PAGE);
    }
    qvgpu_stop(w.v);
}

/* Catches: the walk reads a table at an address without memory. */
static void test_tables_nowhere(void)
{
    /* Table addresses without memory: two beyond VRAM, and two on the bus. */
    static const uint64_t nowhere[] = {
        64 * MiB, 0x0000fffffffff000ull,
        VGPU_PTE_SYSTEM | 0x0000fffffffff000ull,
        VGPU_PTE_SYSTEM | 0x000080000000ull,
    };
    PageWalk w;
    unsigned level, i;

    page_walk_start(&w);
    for (level = VGPU_LEVEL_PDB0; level <= VGPU_LEVEL_PDB2; level++) {
        uint64_t va = VA + (1ull << 40) * level;
        uint64_t slot, entry;

        slot = qvgpu_space_slot(&w.space, va, VGPU_LEVEL_PTB);
        slot = qvgpu_space_slot(&w.space, va, level);
        entry = qtest_readq(w.v->qts, slot) & ~VGPU_PTE_ADDR;
        for (i = 0; i < ARRAY_SIZE(nowhere); i++) {
            qtest_writeq(w.v->qts, slot, entry | nowhere[i]);
            qvgpu_invalidate(w.v, 1u << PAGE_WALK_VMID);
            page_walk_expect_fault(&w, va, false, level == VGPU_LEVEL_PDB0 ?
                         VGPU_WALKER_NACK : VGPU_WALKER_PDE);
            page_walk_expect_fault(&w, va, true, level == VGPU_LEVEL_PDB0 ?
                         VGPU_WALKER_NACK : VGPU_WALKER_PDE);
        }
    }
    qvgpu_stop(w.v);
}

/*
 * Catches: a page beyond VRAM, or a root table beyond memory, can be accessed.
 */
static void test_pages_nowhere(void)
{
    PageWalk w;
    QVGPUSpace other;
    QVGPUSdma q;
    QVGPUIrq irq;

    page_walk_start(&w);
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PTB,
                    LEAF(w.v->vram_size));
    qvgpu_space_set(&w.space, VA + QVGPU_PAGE, VGPU_LEVEL_PTB,
                    LEAF(VGPU_PTE_ADDR));
    page_walk_expect_fault(&w, VA + QVGPU_PAGE - 8, false, VGPU_WALKER_NACK);
    page_walk_expect_fault(&w, VA, true, VGPU_WALKER_NACK);
    page_walk_expect_fault(&w, VA + QVGPU_PAGE, false, VGPU_WALKER_NACK);

    /*
     * VMID 3 gets a root table at an address without memory. The engine then
     * cannot read the ring.
     */
    qvgpu_space_init(&other, w.v, 3, QVGPU_VRAM);
    qvgpu_sdma_init(&q, w.v, 1, SDMA_QUEUE_RLC(0), &other);
    qvgpu_mm_wr64(w.v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(3),
                  VGPU_PDE_VALID | VGPU_PTE_ADDR);
    qvgpu_sdma_load(&q);
    qvgpu_pkt_fence(&q, q.ring_va, 1);
    qvgpu_sdma_kick(&q);
    qvgpu_ih_next_fault(w.v, 3, q.ring_va, false, false);
    /* The queue stops, because no packet can be read. Other queues continue. */
    qvgpu_wait_until(qvgpu_sdma_exception(&q) == VGPU_SDMA_EXC_RING);
    qvgpu_wait_until(qvgpu_sdma_idle(&q));
    while (qvgpu_ih_pending(w.v)) {
        qvgpu_ih_next(w.v, &irq);
        g_assert_cmpuint(irq.vmid, ==, 3);
    }
    page_walk_clear_fault(&w);
    page_walk_expect_fault(&w, VA, true, VGPU_WALKER_NACK);
    qvgpu_stop(w.v);
}

/* Catches: the walk of a table that refers to itself never ends. */
static void test_self_reference(void)
{
    PageWalk w;
    uint64_t table, va = 0x550000000000ull;
    unsigned i;

    page_walk_start(&w);
    table = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    /*
     * Each entry points to @table, so @table is PDB1, PDB0 and PTB. BFS is
     * needed in PDB1, TF in PDB0. The PTB ignores both.
     */
    for (i = 0; i < VGPU_PT_ENTRIES; i++) {
        qtest_writeq(w.v->qts, table + 8 * i,
                     qvgpu_entry(w.v, table, LEAF(VGPU_PTE_TF) |
                                 VGPU_PREP(VGPU_PDE_BFS, (uint64_t)9)));
    }
    qvgpu_space_set(&w.space, va, VGPU_LEVEL_PDB2,
                    qvgpu_entry(w.v, table, VGPU_PDE_VALID));
    page_walk_copy(&w, va + 0x7654321000, w.dst_va, QVGPU_PAGE);
    /*
     * All entries that the walk used point to @table, also the last one. So the
     * copy must have read @table itself.
     */
    for (i = 0; i < VGPU_PT_ENTRIES; i++) {
        g_assert_cmphex(qtest_readq(w.v->qts, w.dst + 8 * i), ==,
                        qtest_readq(w.v->qts, table + 8 * i));
    }
    qvgpu_stop(w.v);
}

/* Catches: the walk accepts a PDB1 entry without "block fragment size". */
static void test_pdb1_without_bfs(void)
{
    PageWalk w;
    uint64_t slot, entry, page;

    page_walk_start(&w);
    page = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA, page, QVGPU_PAGE);
    slot = qvgpu_space_slot(&w.space, VA, VGPU_LEVEL_PDB1);
    entry = qtest_readq(w.v->qts, slot);
    qtest_writeq(w.v->qts, slot, entry & ~VGPU_PDE_BFS);
    page_walk_expect_fault(&w, VA, false, VGPU_WALKER_PDE);
    qtest_writeq(w.v->qts, slot, entry);
    qvgpu_fill(w.v, page, 12, 0, QVGPU_PAGE);
    page_walk_expect_at(&w, VA, 12, 0, QVGPU_PAGE);
    qvgpu_stop(w.v);
}

/*
 * Catches: START or END of a context is ignored, or is off by one page; the
 * engine reads a ring beyond END.
 */
static void test_range(void)
{
    PageWalk w;
    uint64_t page;
    /* @high is above the queue's ring and above the destination of copies. */
    const uint64_t first = VA, high = 0x7ff000000000ull;
    const uint64_t beyond = high + 4 * QVGPU_PAGE;
    QVGPUSdma kq;

    page_walk_start(&w);
    page = qvgpu_alloc(w.v, QVGPU_VRAM, 10 * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA - QVGPU_PAGE, page, 10 * QVGPU_PAGE);
    qvgpu_space_map(&w.space, high, page, 10 * QVGPU_PAGE);
    qvgpu_fill(w.v, page, 13, 0, 10 * QVGPU_PAGE);
    page_walk_expect_at(&w, VA - QVGPU_PAGE, 13, 0, 10 * QVGPU_PAGE);
    page_walk_expect_at(&w, high, 13, 0, 10 * QVGPU_PAGE);
    /*
     * Set START to @first. The queue's ring and the destination of its copies
     * are above @first, so the queue still reaches them.
     */
    qvgpu_sdma_disable(&w.q);
    qvgpu_mm_wr64(w.v, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(PAGE_WALK_VMID),
                  first >> 12);
    qvgpu_invalidate(w.v, 1u << PAGE_WALK_VMID);
    qvgpu_sdma_load(&w.q);
    page_walk_expect_at(&w, first, 13, QVGPU_PAGE, 8 * QVGPU_PAGE);
    page_walk_expect_fault(&w, first - 8, false, VGPU_WALKER_RANGE);
    page_walk_expect_fault(&w, first - 8, true, VGPU_WALKER_RANGE);

    /* Set END to the last page before @beyond. */
    qvgpu_mm_wr64(w.v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(PAGE_WALK_VMID),
                  (beyond >> 12) - 1);
    qvgpu_invalidate(w.v, 1u << PAGE_WALK_VMID);
    page_walk_expect_at(&w, high, 13, 0, beyond - high);
    page_walk_expect_fault(&w, beyond, false, VGPU_WALKER_RANGE);
    page_walk_expect_fault(&w, beyond, true, VGPU_WALKER_RANGE);

    /*
     * The new END, @first, is below the queue's ring, so reads of the ring
     * fault. Queue @kq, in VMID 0, must still run.
     */
    qvgpu_mm_wr64(w.v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(PAGE_WALK_VMID),
                  first >> 12);
    qvgpu_invalidate(w.v, 1u << PAGE_WALK_VMID);
    qvgpu_pkt_fence(&w.q, VA, 0);
    qvgpu_sdma_kick(&w.q);
    qvgpu_ih_next_fault(w.v, PAGE_WALK_VMID, w.q.ring_va, false, false);
    qvgpu_wait_until(qvgpu_sdma_exception(&w.q) == VGPU_SDMA_EXC_RING);
    qvgpu_sdma_open(&kq, w.v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_sdma_pass(&kq);
    qvgpu_expect(w.v, page, 13, 0, 10 * QVGPU_PAGE);
    qvgpu_stop(w.v);
}

/* Catches: a context translates while it is disabled. */
static void test_context_off(void)
{
    static const uint32_t off[][2] = {
        { VM_CONTEXT_CNTL(PAGE_WALK_VMID), VM_CONTEXT_CNTL__ALL_INTERRUPTS },
        { VM_CONTEXTS_DISABLE, 1u << PAGE_WALK_VMID },
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(off); i++) {
        PageWalk w;
        uint32_t status;

        page_walk_start(&w);
        qvgpu_fill(w.v, w.dst, 14, 0, QVGPU_PAGE);
        qvgpu_mm_wr(w.v, off[i][0], off[i][1]);
        qvgpu_invalidate(w.v, 1u << PAGE_WALK_VMID);
        qvgpu_pkt_fence(&w.q, w.dst_va, 0);
        qvgpu_sdma_kick(&w.q);
        qvgpu_ih_next_fault(w.v, PAGE_WALK_VMID, w.q.ring_va, false, false);
        status = qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS);
        g_assert_cmpuint(VGPU_GET(status,
                         VM_L2_PROTECTION_FAULT_STATUS__WALKER_ERROR), ==,
                         VGPU_WALKER_RANGE);
        qvgpu_wait_until(qvgpu_sdma_exception(&w.q) == VGPU_SDMA_EXC_RING);
        qvgpu_expect(w.v, w.dst, 14, 0, QVGPU_PAGE);
        qvgpu_stop(w.v);
    }
}

void qvgpu_add_page_walk_fault_tests(void)
{
    qtest_add_func("/vgpu-kfd/walker/permissions",
                   test_permissions);
    qtest_add_func("/vgpu-kfd/walker/invalid-at-each-level",
                   test_invalid_at_each_level);
    qtest_add_func("/vgpu-kfd/walker/tables-nowhere",
                   test_tables_nowhere);
    qtest_add_func("/vgpu-kfd/walker/pages-nowhere",
                   test_pages_nowhere);
    qtest_add_func("/vgpu-kfd/walker/self-reference",
                   test_self_reference);
    qtest_add_func("/vgpu-kfd/walker/pdb1-without-bfs",
                   test_pdb1_without_bfs);
    qtest_add_func("/vgpu-kfd/walker/range",
                   test_range);
    qtest_add_func("/vgpu-kfd/walker/context-off",
                   test_context_off);
}
