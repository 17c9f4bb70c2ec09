/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: tests valid translations in the four-level page tables of VMIDs
 * 1-15.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"
#include "tests/qtest/vgpu-kfd/memory/page-walk-fixture.h"

/* Catches: a mapping of 4 KiB pages uses a wrong index, address or S bit. */
static void test_small_pages(void)
{
    PageWalk w;
    uint64_t vram, ram;

    page_walk_start(&w);
    vram = qvgpu_alloc(w.v, QVGPU_VRAM, 8 * QVGPU_PAGE, QVGPU_PAGE);
    ram = qvgpu_alloc(w.v, QVGPU_RAM, 8 * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA, vram, 8 * QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA + 8 * QVGPU_PAGE, ram, 8 * QVGPU_PAGE);
    qvgpu_fill(w.v, vram, 1, 0, 8 * QVGPU_PAGE);
    qvgpu_fill(w.v, ram, 1, 8 * QVGPU_PAGE, 8 * QVGPU_PAGE);
    page_walk_expect_at(&w, VA, 1, 0, 16 * QVGPU_PAGE);
    page_walk_expect_at(&w, VA + 4099, 1, 4099, 10001);

    qvgpu_fill(w.v, w.dst, 2, 0, 64 * KiB);
    page_walk_copy(&w, w.dst_va, VA, 16 * QVGPU_PAGE);
    qvgpu_expect(w.v, vram, 2, 0, 8 * QVGPU_PAGE);
    qvgpu_expect(w.v, ram, 2, 8 * QVGPU_PAGE, 8 * QVGPU_PAGE);
    qvgpu_stop(w.v);
}

/*
 * Catches: the index of some level has a wrong width. A copy crosses a boundary
 * of each level, with a page on each side.
 */
static void test_crossing_levels(void)
{
    static const uint64_t boundary[] = {
        0x001000201000ull,      /* between two PTB entries */
        0x001000400000ull,      /* between two PDB0 entries */
        0x001040000000ull,      /* between two PDB1 entries */
        0x028000000000ull,      /* between two PDB2 entries */
        0x800000000000ull,      /* bit 47: sign of x86 addresses */
    };
    PageWalk w;
    unsigned i;

    page_walk_start(&w);
    for (i = 0; i < ARRAY_SIZE(boundary); i++) {
        /*
         * Allocate the page for the higher GPU address first, so that the two
         * pages are in the reverse order in memory.
         */
        uint64_t high = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
        uint64_t low = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);

        qvgpu_space_map(&w.space, boundary[i] - QVGPU_PAGE, low, QVGPU_PAGE);
        qvgpu_space_map(&w.space, boundary[i], high, QVGPU_PAGE);
        qvgpu_fill(w.v, low, 10 + i, 0, QVGPU_PAGE);
        qvgpu_fill(w.v, high, 10 + i, QVGPU_PAGE, QVGPU_PAGE);
    }
    for (i = 0; i < ARRAY_SIZE(boundary); i++) {
        page_walk_expect_at(&w, boundary[i] - QVGPU_PAGE, 10 + i, 0,
                            2 * QVGPU_PAGE);
    }
    /* After the last page, the address does not wrap to 0. */
    qvgpu_space_map(&w.space, (1ull << 48) - QVGPU_PAGE,
                    qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE),
                    QVGPU_PAGE);
    page_walk_expect_fault(&w, 1ull << 48, false, VGPU_WALKER_RANGE);
    qvgpu_stop(w.v);
}

/*
 * Catches: a leaf of 2 MiB is taken for a pointer to a table; only the low 12
 * bits of the offset in the leaf are used.
 */
static void test_2m_leaf(void)
{
    PageWalk w;
    uint64_t vram, ram;

    page_walk_start(&w);
    vram = qvgpu_alloc(w.v, QVGPU_VRAM, 2 * MiB, 2 * MiB);
    ram = qvgpu_alloc(w.v, QVGPU_RAM, 2 * MiB, 2 * MiB);
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PDB0,
                    qvgpu_entry(w.v, vram, LEAF(0)));
    qvgpu_space_set(&w.space, VA + 2 * MiB, VGPU_LEVEL_PDB0,
                    qvgpu_entry(w.v, ram, LEAF(0)));
    qvgpu_fill(w.v, vram, 3, 0, 2 * MiB);
    qvgpu_fill(w.v, ram, 3, 2 * MiB, 2 * MiB);
    page_walk_expect_at(&w, VA, 3, 0, 64 * KiB);
    page_walk_expect_at(&w, VA + 1 * MiB + 12345, 3, 1 * MiB + 12345, 64 * KiB);
    page_walk_expect_at(&w, VA + 2 * MiB - 3333, 3, 2 * MiB - 3333, 64 * KiB);
    page_walk_expect_at(&w, VA + 4 * MiB - 100, 3, 4 * MiB - 100, 100);
    qvgpu_stop(w.v);
}

/*
 * Catches: a leaf of PDB1 or PDB2 (bit 54 set) is taken for a pointer to a
 * table, or has a wrong size.
 */
static void test_huge_leaves(void)
{
    static const unsigned levels[] = { VGPU_LEVEL_PDB1, VGPU_LEVEL_PDB2 };
    PageWalk w;
    unsigned i;

    page_walk_start(&w);
    for (i = 0; i < ARRAY_SIZE(levels); i++) {
        /*
         * Use a separate virtual address for each level. Each leaf maps memory
         * from address 0 on.
         */
        uint64_t va = 0x300000000000ull + i * 0x100000000000ull;
        uint64_t vram = qvgpu_alloc(w.v, QVGPU_VRAM, 64 * KiB, QVGPU_PAGE);
        uint64_t ram = qvgpu_alloc(w.v, QVGPU_RAM, 64 * KiB, QVGPU_PAGE);
        uint64_t size = 1ull << VGPU_LEVEL_SHIFT(levels[i]);
        uint64_t off = vram - w.v->bar[VGPU_BAR_VRAM];

        qvgpu_space_set(&w.space, va, levels[i],
                        LEAF(VGPU_PDE_PTE | VGPU_PTE_SYSTEM));
        qvgpu_space_set(&w.space, va + size, levels[i], LEAF(VGPU_PDE_PTE));
        qvgpu_fill(w.v, ram, 4 + i, 0, 64 * KiB);
        qvgpu_fill(w.v, vram, 8 + i, 0, 64 * KiB);
        page_walk_expect_at(&w, va + ram, 4 + i, 0, 64 * KiB);
        page_walk_expect_at(&w, va + ram + 5001, 4 + i, 5001, 8000);
        page_walk_expect_at(&w, va + size + off, 8 + i, 0, 64 * KiB);
        /* The leaf is larger than VRAM, and there is no memory after VRAM. */
        page_walk_expect_fault(&w, va + size + w.v->vram_size, false,
                     VGPU_WALKER_NACK);
    }
    qvgpu_stop(w.v);
}

/*
 * Catches: the translation of a large page is used for the small page next to
 * it, or vice versa.
 */
static void test_mixed_sizes(void)
{
    PageWalk w;
    uint64_t big, small;

    page_walk_start(&w);
    big = qvgpu_alloc(w.v, QVGPU_VRAM, 2 * MiB, 2 * MiB);
    small = qvgpu_alloc(w.v, QVGPU_RAM, 32 * KiB, QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA - 16 * KiB, small, 16 * KiB);
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PDB0,
                    qvgpu_entry(w.v, big, LEAF(0)));
    qvgpu_space_map(&w.space, VA + 2 * MiB, small + 16 * KiB, 16 * KiB);
    qvgpu_fill(w.v, small, 5, 0, 16 * KiB);
    qvgpu_fill(w.v, big, 5, 16 * KiB, 2 * MiB);
    qvgpu_fill(w.v, small + 16 * KiB, 5, 16 * KiB + 2 * MiB, 16 * KiB);
    page_walk_expect_at(&w, VA - 16 * KiB, 5, 0, 64 * KiB);
    page_walk_expect_at(&w, VA + 2 * MiB - 16 * KiB, 5, 2 * MiB, 32 * KiB);
    qvgpu_stop(w.v);
}

/*
 * Catches: low bits of a leaf's address are added to the page offset instead of
 * ignored.
 */
static void test_unaligned_leaf(void)
{
    PageWalk w;
    uint64_t vram;

    page_walk_start(&w);
    vram = qvgpu_alloc(w.v, QVGPU_VRAM, 2 * MiB, 2 * MiB);
    qvgpu_fill(w.v, vram, 6, 0, 64 * KiB);
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PDB0,
                    qvgpu_entry(w.v, vram + 5 * QVGPU_PAGE, LEAF(0)));
    page_walk_expect_at(&w, VA, 6, 0, 64 * KiB);
    qvgpu_stop(w.v);
}

/* Catches: the S bit of a directory entry for a table in RAM is ignored. */
static void test_tables_in_ram(void)
{
    PageWalk w;
    uint64_t ram;

    page_walk_start_in(&w, QVGPU_RAM);
    ram = qvgpu_alloc(w.v, QVGPU_VRAM, 64 * KiB, QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA, ram, 64 * KiB);
    qvgpu_fill(w.v, ram, 7, 0, 64 * KiB);
    page_walk_expect_at(&w, VA, 7, 0, 64 * KiB);
    qvgpu_stop(w.v);
}

/*
 * All VMIDs use the same address. Catches: a VMID accesses the page of another
 * VMID.
 */
static void test_vmids_apart(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t page[VGPU_NUM_VMIDS], dst[VGPU_NUM_VMIDS];
    QVGPUSpace space[VGPU_NUM_VMIDS];
    QVGPUSdma q[VGPU_NUM_VMIDS];
    unsigned i, round;

    for (i = 1; i < VGPU_NUM_VMIDS; i++) {
        qvgpu_space_init(&space[i], v, i, QVGPU_VRAM);
        qvgpu_space_set_retry(&space[i], false);
        page[i] = qvgpu_alloc(v, i & 1 ? QVGPU_RAM : QVGPU_VRAM, QVGPU_PAGE,
                              QVGPU_PAGE);
        dst[i] = qvgpu_alloc(v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
        qvgpu_fill(v, page[i], i, 0, QVGPU_PAGE);
        qvgpu_space_map(&space[i], VA, page[i], QVGPU_PAGE);
        qvgpu_space_map(&space[i], VA + QVGPU_PAGE, dst[i], QVGPU_PAGE);
        qvgpu_sdma_init(&q[i], v, i / 8, SDMA_QUEUE_RLC(i % 8), &space[i]);
        qvgpu_sdma_load(&q[i]);
    }
    for (round = 0; round < 3; round++) {
        for (i = 1; i < VGPU_NUM_VMIDS; i++) {
            qvgpu_pkt_copy(&q[i], VA, VA + QVGPU_PAGE, QVGPU_PAGE);
            qvgpu_sdma_kick(&q[i]);
        }
        for (i = 1; i < VGPU_NUM_VMIDS; i++) {
            qvgpu_sdma_finish(&q[i]);
            qvgpu_expect(v, dst[i], i, 0, QVGPU_PAGE);
            qvgpu_fill(v, dst[i], 99, 0, QVGPU_PAGE);
        }
    }
    qvgpu_stop(v);
}

/*
 * Catches: an unbacked page of a sparse buffer (PRT) faults, or does not read
 * as 0.
 */
static void test_prt(void)
{
    PageWalk w;
    uint64_t page;

    page_walk_start(&w);
    page = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(w.v, page, 10, 0, QVGPU_PAGE);
    /*
     * The device must ignore the address in a PRT entry, here the address of
     * @page.
     */
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PTB,
                    VGPU_PTE_PRT | (page - w.v->bar[VGPU_BAR_VRAM]));
    qvgpu_space_set(&w.space, VA + 2 * MiB, VGPU_LEVEL_PDB0, VGPU_PTE_PRT);
    qvgpu_fill(w.v, w.dst, 11, 0, 2 * QVGPU_PAGE);

    page_walk_copy(&w, VA, w.dst_va, QVGPU_PAGE);
    qvgpu_expect_byte(w.v, w.dst, 0, QVGPU_PAGE);
    page_walk_copy(&w, VA + 3 * MiB, w.dst_va + QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_expect_byte(w.v, w.dst + QVGPU_PAGE, 0, QVGPU_PAGE);
    qvgpu_fill(w.v, w.dst, 11, 0, QVGPU_PAGE);
    page_walk_copy(&w, w.dst_va, VA, QVGPU_PAGE);
    page_walk_copy(&w, w.dst_va, VA + 3 * MiB, QVGPU_PAGE);
    page_walk_copy(&w, VA, w.dst_va, QVGPU_PAGE);
    qvgpu_expect_byte(w.v, w.dst, 0, QVGPU_PAGE);
    qvgpu_expect(w.v, page, 10, 0, QVGPU_PAGE);
    g_assert_cmphex(qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);
    g_assert_false(qvgpu_ih_pending(w.v));
    qvgpu_stop(w.v);
}

/* Catches: FB_OFFSET is ignored in directory entries or in leaves. */
static void test_fb_offset(void)
{
    PageWalk w;
    uint64_t page;
    QVGPUSpace space;

    page_walk_start(&w);
    qvgpu_sdma_disable(&w.q);
    qvgpu_mm_wr(w.v, MC_VM_FB_OFFSET, 0x10);
    qvgpu_invalidate(w.v, 0xffff);
    /* Build new tables, whose entries include the offset. */
    qvgpu_space_init(&space, w.v, PAGE_WALK_VMID, QVGPU_VRAM);
    qvgpu_space_set_retry(&space, false);
    w.space = space;
    qvgpu_sdma_open(&w.q, w.v, 0, SDMA_QUEUE_RLC(0), &w.space);
    w.dst_va = qvgpu_space_place(&w.space, w.dst, 64 * KiB);
    page = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    g_assert_cmphex(qvgpu_entry(w.v, page, 0), >, 0x10000000);
    qvgpu_space_map(&w.space, VA, page, QVGPU_PAGE);
    qvgpu_fill(w.v, page, 15, 0, QVGPU_PAGE);
    page_walk_expect_at(&w, VA, 15, 0, QVGPU_PAGE);
    /*
     * In page tables, VRAM now begins at address FB_OFFSET, 0x10000000. There
     * is no memory at the addresses below.
     */
    qvgpu_space_set(&w.space, VA + QVGPU_PAGE, VGPU_LEVEL_PTB,
                    LEAF(0x10000000 - QVGPU_PAGE));
    page_walk_expect_fault(&w, VA + QVGPU_PAGE, false, VGPU_WALKER_NACK);
    qvgpu_stop(w.v);
}

void qvgpu_add_page_walk_tests(void)
{
    qtest_add_func("/vgpu-kfd/walker/small-pages", test_small_pages);
    qtest_add_func("/vgpu-kfd/walker/crossing-levels", test_crossing_levels);
    qtest_add_func("/vgpu-kfd/walker/2m-leaf", test_2m_leaf);
    qtest_add_func("/vgpu-kfd/walker/huge-leaves", test_huge_leaves);
    qtest_add_func("/vgpu-kfd/walker/mixed-sizes", test_mixed_sizes);
    qtest_add_func("/vgpu-kfd/walker/unaligned-leaf", test_unaligned_leaf);
    qtest_add_func("/vgpu-kfd/walker/tables-in-ram", test_tables_in_ram);
    qtest_add_func("/vgpu-kfd/walker/vmids-apart", test_vmids_apart);
    qtest_add_func("/vgpu-kfd/walker/prt", test_prt);
    qtest_add_func("/vgpu-kfd/walker/fb-offset", test_fb_offset);
}
