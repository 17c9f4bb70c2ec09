/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests the translation in VMID 0: apertures, AGP window, GART. */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"

/* GPU address of the GART in these tests. */
#define GART_AT         (16 * GiB)
#define GART_PAGES      1024

typedef struct Gart {
    QVGPU *v;
    uint64_t table;
    QVGPUSdma q;
} Gart;

static void gart_start(Gart *g, QVGPUKind table)
{
    g->v = qvgpu_start();
    g->table = qvgpu_alloc(g->v, table, GART_PAGES * 8, QVGPU_PAGE);
    qvgpu_mm_wr64(g->v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(0),
                  qvgpu_entry(g->v, g->table, VGPU_PDE_VALID));
    qvgpu_mm_wr64(g->v, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(0),
                  GART_AT >> 12);
    qvgpu_mm_wr64(g->v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(0),
                  (GART_AT >> 12) + GART_PAGES - 1);
    qvgpu_mm_wr(g->v, VM_CONTEXT_CNTL(0), VM_CONTEXT_CNTL__ENABLE_CONTEXT |
                VM_CONTEXT_CNTL__ALL_INTERRUPTS);
    qvgpu_sdma_open(&g->q, g->v, 0, SDMA_QUEUE_GFX, NULL);
}

static void gart_set(Gart *g, unsigned i, uint64_t addr)
{
    qtest_writeq(g->v->qts, g->table + 8 * i,
                 qvgpu_entry(g->v, addr, QVGPU_PTE_RW));
}

static void copy(Gart *g, uint64_t src, uint64_t dst, uint64_t len)
{
    qvgpu_pkt_copy(&g->q, src, dst, len);
    qvgpu_sdma_finish(&g->q);
}

/*
 * Fail the test unless a no-retry fault of VMID 0 at @va is latched with walker
 * error @walker, and an interrupt reports it. Clears the fault.
 */
static void expect_fault(QVGPU *v, uint64_t va, bool write, unsigned walker)
{
    uint32_t status = qvgpu_mm_rd(v, VM_L2_PROTECTION_FAULT_STATUS);

    g_assert_cmpuint(VGPU_GET(status,
                              VM_L2_PROTECTION_FAULT_STATUS__WALKER_ERROR),
                     ==, walker);
    g_assert_cmpuint(VGPU_GET(status, VM_L2_PROTECTION_FAULT_STATUS__VMID),
                     ==, 0);
    g_assert_cmpuint(VGPU_GET(status, VM_L2_PROTECTION_FAULT_STATUS__RW), ==,
                     write);
    g_assert_cmphex(VGPU_GET(status, VM_L2_PROTECTION_FAULT_STATUS__CID), ==,
                    VGPU_CID_SDMA(0));
    g_assert_cmphex(qvgpu_mm_rd64(v, VM_L2_PROTECTION_FAULT_ADDR_LO32), ==,
                    va >> 12);
    qvgpu_ih_next_fault(v, 0, va, write, false);
    qvgpu_mm_wr(v, VM_L2_PROTECTION_FAULT_CNTL, 0x3ffc |
                VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR);
    g_assert_cmphex(qvgpu_mm_rd(v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);
}

/* Catches: the FB aperture is off after a reset, or ends before VRAM does. */
static void test_fb_aperture(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t first = v->bar[VGPU_BAR_VRAM];
    uint64_t last = first + v->vram_size - 5000;
    QVGPUSdma q;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_fill(v, first, 1, 0, 5000);
    qvgpu_pkt_copy(&q, qvgpu_mc(v, first), qvgpu_mc(v, last), 5000);
    qvgpu_sdma_finish(&q);
    qvgpu_expect(v, last, 1, 0, 5000);
    g_assert_cmphex(qvgpu_mm_rd(v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);
    qvgpu_stop(v);
}

/* Catches: a write to MC_VM_FB_LOCATION_BASE does not move the FB aperture. */
static void test_fb_aperture_moves(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    uint64_t dst = qvgpu_alloc(v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    QVGPUSdma q;

    qvgpu_mm_wr(v, MC_VM_FB_LOCATION_BASE, 0x40);
    qvgpu_mm_wr(v, MC_VM_FB_LOCATION_TOP, 0x43);
    g_assert_cmphex(qvgpu_mc(v, v->bar[VGPU_BAR_VRAM]), ==, 0x40ull << 24);
    qvgpu_invalidate(v, 1);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_fill(v, src, 2, 0, QVGPU_PAGE);
    qvgpu_pkt_copy(&q, qvgpu_mc(v, src), qvgpu_mc(v, dst), QVGPU_PAGE);
    qvgpu_sdma_finish(&q);
    qvgpu_expect(v, dst, 2, 0, QVGPU_PAGE);
    qvgpu_stop(v);
}

/* Catches: an aperture larger than VRAM gives access to other host memory. */
static void test_fb_beyond_vram(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_alloc(v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    uint64_t end = v->bar[VGPU_BAR_VRAM] + v->vram_size;
    QVGPUSdma q;
    QVGPUIrq irq;

    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_mm_wr(v, MC_VM_FB_LOCATION_TOP, 0xffff);
    qvgpu_fill(v, src, 3, 0, QVGPU_PAGE);
    qvgpu_pkt_copy(&q, qvgpu_mc(v, src), qvgpu_mc(v, end) - 100, 200);
    qvgpu_sdma_finish(&q);
    qvgpu_expect(v, end - 100, 3, 0, 100);
    qvgpu_ih_next(v, &irq);
    g_assert_cmphex(irq.data[0], ==, (uint32_t)(qvgpu_mc(v, end) >> 12));
    qvgpu_stop(v);
}

/*
 * Catches: the AGP window has a wrong base, or a limit that is off by a page.
 */
static void test_agp_window(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_alloc(v, QVGPU_RAM, 16 * MiB, 16 * MiB);
    uint64_t dst = qvgpu_alloc(v, QVGPU_VRAM, 2 * QVGPU_PAGE, QVGPU_PAGE);
    uint64_t at = 2 * TiB;
    QVGPUSdma q;

    /*
     * The ring is in VRAM. If it were in guest RAM, the queue would access the
     * ring through the AGP window, which the test moves.
     */
    qvgpu_sdma_open_vram(&q, v, 0, SDMA_QUEUE_GFX, NULL, 4 * KiB);
    qvgpu_mm_wr(v, MC_VM_AGP_BOT, at >> 24);
    qvgpu_mm_wr(v, MC_VM_AGP_TOP, at >> 24);
    qvgpu_mm_wr(v, MC_VM_AGP_BASE, src >> 24);

    qvgpu_fill(v, src, 4, 0, 100);
    qvgpu_fill(v, src + 16 * MiB - 100, 4, 100, 100);
    qvgpu_pkt_copy(&q, at, qvgpu_mc(v, dst), 100);
    qvgpu_pkt_copy(&q, at + 16 * MiB - 100, qvgpu_mc(v, dst) + 100, 100);
    qvgpu_sdma_finish(&q);
    qvgpu_expect(v, dst, 4, 0, 200);
    g_assert_false(qvgpu_ih_pending(v));

    /* A read beyond the window causes a fault and returns zeros. */
    qvgpu_fill(v, dst, 4, 300, 200);
    qvgpu_pkt_copy(&q, at + 16 * MiB - 100, qvgpu_mc(v, dst), 200);
    qvgpu_sdma_finish(&q);
    qvgpu_expect(v, dst, 4, 100, 100);
    qvgpu_expect_byte(v, dst + 100, 0, 100);
    expect_fault(v, at + 16 * MiB, false, VGPU_WALKER_RANGE);
    qvgpu_stop(v);
}

/*
 * Catches: GART pages are accessed in the wrong order; pages that are not
 * contiguous in memory are accessed as one span.
 */
static void test_scattered(void)
{
    enum { PAGES = 64 };
    Gart g;
    uint64_t page[PAGES], dst;
    unsigned i;

    gart_start(&g, QVGPU_VRAM);
    dst = qvgpu_alloc(g.v, QVGPU_RAM, PAGES * QVGPU_PAGE, QVGPU_PAGE);
    for (i = 0; i < PAGES; i++) {
        page[i] = qvgpu_alloc(g.v, i % 3 ? QVGPU_RAM : QVGPU_VRAM,
                              QVGPU_PAGE, QVGPU_PAGE);
    }
    /*
     * 37 is coprime to PAGES, so each page is used once, and neighbours are not
     * in order.
     */
    for (i = 0; i < PAGES; i++) {
        gart_set(&g, 100 + i, page[i * 37 % PAGES]);
        qvgpu_fill(g.v, page[i * 37 % PAGES], 5, i * QVGPU_PAGE, QVGPU_PAGE);
    }
    copy(&g, GART_AT + 100 * QVGPU_PAGE + 77, qvgpu_mc(g.v, dst),
         PAGES * QVGPU_PAGE - 177);
    qvgpu_expect(g.v, dst, 5, 77, PAGES * QVGPU_PAGE - 177);
    qvgpu_expect_byte(g.v, dst + PAGES * QVGPU_PAGE - 177, 0, 177);

    /* Also write through the GART. */
    qvgpu_fill(g.v, dst, 6, 0, PAGES * QVGPU_PAGE);
    copy(&g, qvgpu_mc(g.v, dst), GART_AT + 100 * QVGPU_PAGE,
         PAGES * QVGPU_PAGE);
    for (i = 0; i < PAGES; i++) {
        qvgpu_expect(g.v, page[i * 37 % PAGES], 6, i * QVGPU_PAGE,
                     QVGPU_PAGE);
    }
    qvgpu_stop(g.v);
}

/*
 * Catches: eight GART entries are taken for one contiguous range although one
 * entry points elsewhere, is invalid or is beyond END.
 */
static void test_lines(void)
{
    enum { WHOLE = 8, BROKEN = 16, HOLE = 24, CUT = 32, END = 38, PAGES = 40 };
    uint64_t ram, other, dst, mc, misses;
    unsigned i;
    Gart g;

    gart_start(&g, QVGPU_VRAM);
    ram = qvgpu_alloc(g.v, QVGPU_RAM, PAGES * QVGPU_PAGE, QVGPU_PAGE);
    other = qvgpu_alloc(g.v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    dst = qvgpu_alloc(g.v, QVGPU_VRAM, PAGES * QVGPU_PAGE, QVGPU_PAGE);
    mc = qvgpu_mc(g.v, dst);
    qvgpu_fill(g.v, ram, 10, 0, PAGES * QVGPU_PAGE);
    qvgpu_fill(g.v, other, 11, 0, QVGPU_PAGE);
    for (i = 0; i < PAGES; i++) {
        gart_set(&g, i, i == BROKEN + 4 ? other : ram + i * QVGPU_PAGE);
    }
    qtest_writeq(g.v->qts, g.table + 8 * (HOLE + 3), 0);
    qvgpu_mm_wr64(g.v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(0),
                  (GART_AT >> 12) + END - 1);

    misses = qvgpu_counter(g.v, VGPU_CNT_TLB_MISSES);
    copy(&g, GART_AT + (WHOLE + 3) * QVGPU_PAGE, mc,
         (HOLE - WHOLE - 3) * QVGPU_PAGE);
    g_assert_cmpuint(qvgpu_counter(g.v, VGPU_CNT_TLB_MISSES) - misses, ==,
                     1 + 8);
    qvgpu_expect(g.v, dst, 10, (WHOLE + 3) * QVGPU_PAGE,
                 (BROKEN + 4 - WHOLE - 3) * QVGPU_PAGE);
    qvgpu_expect(g.v, dst + (BROKEN + 4 - WHOLE - 3) * QVGPU_PAGE, 11, 0,
                 QVGPU_PAGE);
    qvgpu_expect(g.v, dst + (BROKEN + 5 - WHOLE - 3) * QVGPU_PAGE, 10,
                 (BROKEN + 5) * QVGPU_PAGE, 3 * QVGPU_PAGE);
    copy(&g, GART_AT + HOLE * QVGPU_PAGE, mc, 3 * QVGPU_PAGE);
    qvgpu_expect(g.v, dst, 10, HOLE * QVGPU_PAGE, 3 * QVGPU_PAGE);
    g_assert_false(qvgpu_ih_pending(g.v));
    copy(&g, GART_AT + (HOLE + 3) * QVGPU_PAGE, mc, 4);
    expect_fault(g.v, GART_AT + (HOLE + 3) * QVGPU_PAGE, false,
                 VGPU_WALKER_OK);
    copy(&g, GART_AT + CUT * QVGPU_PAGE, mc, (END - CUT) * QVGPU_PAGE);
    qvgpu_expect(g.v, dst, 10, CUT * QVGPU_PAGE, (END - CUT) * QVGPU_PAGE);
    copy(&g, GART_AT + END * QVGPU_PAGE, mc, 4);
    expect_fault(g.v, GART_AT + END * QVGPU_PAGE, false, VGPU_WALKER_RANGE);

    /*
     * Change a page whose neighbours are in the TLB. Catches: the TLB keeps the
     * contiguous range after the invalidation.
     */
    gart_set(&g, WHOLE + 1, other);
    qvgpu_invalidate(g.v, 1);
    copy(&g, GART_AT + WHOLE * QVGPU_PAGE, mc, 2 * QVGPU_PAGE);
    qvgpu_expect(g.v, dst, 10, WHOLE * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_expect(g.v, dst + QVGPU_PAGE, 11, 0, QVGPU_PAGE);
    qvgpu_stop(g.v);
}

/* Copy @n pages from GART page @first to @dst, and return the TLB misses. */
static uint64_t copy_misses(Gart *g, unsigned first, unsigned n, uint64_t dst)
{
    uint64_t misses = qvgpu_counter(g->v, VGPU_CNT_TLB_MISSES);

    copy(g, GART_AT + first * QVGPU_PAGE, qvgpu_mc(g->v, dst), n * QVGPU_PAGE);
    return qvgpu_counter(g->v, VGPU_CNT_TLB_MISSES) - misses;
}

/*
 * Catches: contiguous entries cost a walk for each line; entries of a block are
 * taken for contiguous although one of them points elsewhere; the TLB keeps a
 * block after an invalidation of one of its pages.
 */
static void test_blocks(void)
{
    enum { BLOCK = 64, HALF = GART_PAGES / 2, BROKEN = BLOCK + 36 };
    uint64_t ram, other, dst;
    unsigned i;
    Gart g;

    QEMU_BUILD_BUG_ON(HALF != VGPU_PT_ENTRIES);
    gart_start(&g, QVGPU_VRAM);
    ram = qvgpu_alloc(g.v, QVGPU_RAM, GART_PAGES * QVGPU_PAGE, QVGPU_PAGE);
    other = qvgpu_alloc(g.v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    dst = qvgpu_alloc(g.v, QVGPU_VRAM, HALF * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(g.v, ram, 12, 0, GART_PAGES * QVGPU_PAGE);
    qvgpu_fill(g.v, other, 13, 0, QVGPU_PAGE);
    for (i = 0; i < GART_PAGES; i++) {
        gart_set(&g, i, i == BROKEN ? other : ram + i * QVGPU_PAGE);
    }

    /* 512 contiguous entries are one leaf. */
    g_assert_cmpuint(copy_misses(&g, HALF, HALF, dst), ==, 1);
    qvgpu_expect(g.v, dst, 12, HALF * QVGPU_PAGE, HALF * QVGPU_PAGE);
    /* 64 contiguous entries are one leaf. */
    g_assert_cmpuint(copy_misses(&g, 0, BLOCK, dst), ==, 1);
    /*
     * Entry BROKEN is in the second block: 4 lines before its line, the 8
     * entries of its line, 3 lines after its line.
     */
    g_assert_cmpuint(copy_misses(&g, BLOCK, BLOCK, dst), ==, 4 + 8 + 3);
    qvgpu_expect(g.v, dst, 12, BLOCK * QVGPU_PAGE,
                 (BROKEN - BLOCK) * QVGPU_PAGE);
    qvgpu_expect(g.v, dst + (BROKEN - BLOCK) * QVGPU_PAGE, 13, 0, QVGPU_PAGE);
    qvgpu_expect(g.v, dst + (BROKEN + 1 - BLOCK) * QVGPU_PAGE, 12,
                 (BROKEN + 1) * QVGPU_PAGE,
                 (2 * BLOCK - BROKEN - 1) * QVGPU_PAGE);
    g_assert_cmpuint(copy_misses(&g, 2 * BLOCK, HALF - 2 * BLOCK, dst), ==,
                     HALF / BLOCK - 2);
    qvgpu_expect(g.v, dst, 12, 2 * BLOCK * QVGPU_PAGE,
                 (HALF - 2 * BLOCK) * QVGPU_PAGE);

    /*
     * Change an entry in the leaf of 512 entries, and invalidate only the page
     * of this entry.
     */
    gart_set(&g, HALF + 300, other);
    qvgpu_invalidate_range(g.v, 1, GART_AT + (HALF + 300) * QVGPU_PAGE, 0);
    copy_misses(&g, HALF + 299, 2, dst);
    qvgpu_expect(g.v, dst, 12, (HALF + 299) * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_expect(g.v, dst + QVGPU_PAGE, 13, 0, QVGPU_PAGE);
    g_assert_false(qvgpu_ih_pending(g.v));
    qvgpu_stop(g.v);
}

/*
 * Catches: a leaf of 512 GART entries covers pages of the system aperture, so
 * that accesses to the aperture reach the pages of the GART.
 */
static void test_block_at_aperture(void)
{
    enum { BLOCK = VGPU_PT_ENTRIES, HALF = BLOCK / 2 };
    /* The aperture is the second half of the block. */
    const uint64_t at = GART_AT + HALF * QVGPU_PAGE;
    const uint64_t bytes = HALF * QVGPU_PAGE;
    uint64_t ram, page, dst;
    unsigned i;
    Gart g;

    gart_start(&g, QVGPU_VRAM);
    ram = qvgpu_alloc(g.v, QVGPU_RAM, BLOCK * QVGPU_PAGE, QVGPU_PAGE);
    page = qvgpu_alloc(g.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    dst = qvgpu_alloc(g.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(g.v, ram, 14, 0, BLOCK * QVGPU_PAGE);
    qvgpu_fill(g.v, page, 15, 0, QVGPU_PAGE);
    for (i = 0; i < BLOCK; i++) {
        gart_set(&g, i, ram + i * QVGPU_PAGE);
    }
    qvgpu_mm_wr64(g.v, MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB,
                  qvgpu_entry(g.v, page, 0) >> 12);
    qvgpu_mm_wr(g.v, MC_VM_SYSTEM_APERTURE_LOW_ADDR, at >> 18);
    qvgpu_mm_wr(g.v, MC_VM_SYSTEM_APERTURE_HIGH_ADDR, (at + bytes - 1) >> 18);

    copy(&g, GART_AT, qvgpu_mc(g.v, dst), QVGPU_PAGE);
    qvgpu_expect(g.v, dst, 14, 0, QVGPU_PAGE);
    copy(&g, at, qvgpu_mc(g.v, dst), QVGPU_PAGE);
    qvgpu_expect(g.v, dst, 15, 0, QVGPU_PAGE);
    g_assert_false(qvgpu_ih_pending(g.v));
    qvgpu_stop(g.v);
}

/*
 * Catches: the GART table is indexed from address 0 instead of START; the page
 * at END is not part of the GART.
 */
static void test_range(void)
{
    Gart g;
    uint64_t first, last, dst;

    gart_start(&g, QVGPU_VRAM);
    first = qvgpu_alloc(g.v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    last = qvgpu_alloc(g.v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    dst = qvgpu_alloc(g.v, QVGPU_VRAM, 4 * QVGPU_PAGE, QVGPU_PAGE);
    gart_set(&g, 0, first);
    gart_set(&g, GART_PAGES - 1, last);
    qvgpu_fill(g.v, first, 7, 0, QVGPU_PAGE);
    qvgpu_fill(g.v, last, 8, 0, QVGPU_PAGE);

    copy(&g, GART_AT, qvgpu_mc(g.v, dst), QVGPU_PAGE);
    copy(&g, GART_AT + (GART_PAGES - 1) * QVGPU_PAGE,
         qvgpu_mc(g.v, dst) + QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_expect(g.v, dst, 7, 0, QVGPU_PAGE);
    qvgpu_expect(g.v, dst + QVGPU_PAGE, 8, 0, QVGPU_PAGE);
    g_assert_false(qvgpu_ih_pending(g.v));

    copy(&g, GART_AT - 1, qvgpu_mc(g.v, dst), 1);
    expect_fault(g.v, GART_AT - 1, false, VGPU_WALKER_RANGE);
    copy(&g, qvgpu_mc(g.v, dst), GART_AT + GART_PAGES * QVGPU_PAGE, 1);
    expect_fault(g.v, GART_AT + GART_PAGES * QVGPU_PAGE, true,
                 VGPU_WALKER_RANGE);
    /* An address of more than 48 bits faults. */
    copy(&g, qvgpu_mc(g.v, dst), UINT64_MAX, 1);
    g_assert_cmphex(qvgpu_mm_rd(g.v, VM_L2_PROTECTION_FAULT_STATUS), !=, 0);
    qvgpu_stop(g.v);
}

/*
 * Catches: GART entries are cut to 32 bits; a GART table in RAM is not
 * accepted.
 */
static void test_table_in_ram(void)
{
    Gart g;
    uint64_t src, dst;

    gart_start(&g, QVGPU_RAM);
    src = qvgpu_alloc(g.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    dst = qvgpu_alloc(g.v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    gart_set(&g, 513, src);
    gart_set(&g, 514, dst);
    qvgpu_fill(g.v, src, 9, 0, QVGPU_PAGE);
    copy(&g, GART_AT + 513 * QVGPU_PAGE, GART_AT + 514 * QVGPU_PAGE,
         QVGPU_PAGE);
    qvgpu_expect(g.v, dst, 9, 0, QVGPU_PAGE);
    qvgpu_stop(g.v);
}

/*
 * Catches: an access to an unbound GART page stalls the kernel's queue
 * endlessly.
 */
static void test_invalid_entry(void)
{
    Gart g;
    uint64_t src;

    gart_start(&g, QVGPU_VRAM);
    src = qvgpu_alloc(g.v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    copy(&g, qvgpu_mc(g.v, src), GART_AT + 3 * QVGPU_PAGE, QVGPU_PAGE);
    expect_fault(g.v, GART_AT + 3 * QVGPU_PAGE, true, VGPU_WALKER_OK);

    /* A disabled context translates nothing. */
    gart_set(&g, 3, src);
    qvgpu_mm_wr(g.v, VM_CONTEXT_CNTL(0), VM_CONTEXT_CNTL__ALL_INTERRUPTS);
    qvgpu_invalidate(g.v, 1);
    copy(&g, qvgpu_mc(g.v, src), GART_AT + 3 * QVGPU_PAGE, QVGPU_PAGE);
    expect_fault(g.v, GART_AT + 3 * QVGPU_PAGE, true, VGPU_WALKER_RANGE);
    qvgpu_stop(g.v);
}

/* Catches: a later fault overwrites the status of the first fault. */
static void test_first_fault_is_kept(void)
{
    Gart g;
    uint64_t dst;
    uint32_t status;

    gart_start(&g, QVGPU_VRAM);
    dst = qvgpu_alloc(g.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    copy(&g, GART_AT + 5 * QVGPU_PAGE, qvgpu_mc(g.v, dst), 4);
    status = qvgpu_mm_rd(g.v, VM_L2_PROTECTION_FAULT_STATUS);
    g_assert_cmphex(status & VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS, ==,
                    0);
    copy(&g, qvgpu_mc(g.v, dst), GART_AT + 6 * QVGPU_PAGE, 4);
    g_assert_cmphex(qvgpu_mm_rd(g.v, VM_L2_PROTECTION_FAULT_STATUS), ==,
                    status | VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS);
    g_assert_cmphex(qvgpu_mm_rd64(g.v, VM_L2_PROTECTION_FAULT_ADDR_LO32), ==,
                    (GART_AT >> 12) + 5);
    /* Unlike the status register, the interrupts report both faults. */
    qvgpu_ih_next_fault(g.v, 0, GART_AT + 5 * QVGPU_PAGE, false, false);
    qvgpu_ih_next_fault(g.v, 0, GART_AT + 6 * QVGPU_PAGE, true, false);
    g_assert_cmpuint(qvgpu_counter(g.v, VGPU_CNT_FAULTS_NORETRY), ==, 2);
    qvgpu_stop(g.v);
}

void qvgpu_add_gart_tests(void)
{
    qtest_add_func("/vgpu-kfd/gart/fb-aperture", test_fb_aperture);
    qtest_add_func("/vgpu-kfd/gart/fb-aperture-moves",
                   test_fb_aperture_moves);
    qtest_add_func("/vgpu-kfd/gart/fb-beyond-vram", test_fb_beyond_vram);
    qtest_add_func("/vgpu-kfd/gart/agp-window", test_agp_window);
    qtest_add_func("/vgpu-kfd/gart/scattered", test_scattered);
    qtest_add_func("/vgpu-kfd/gart/lines", test_lines);
    qtest_add_func("/vgpu-kfd/gart/blocks", test_blocks);
    qtest_add_func("/vgpu-kfd/gart/block-at-aperture", test_block_at_aperture);
    qtest_add_func("/vgpu-kfd/gart/range", test_range);
    qtest_add_func("/vgpu-kfd/gart/table-in-ram", test_table_in_ram);
    qtest_add_func("/vgpu-kfd/gart/invalid-entry", test_invalid_entry);
    qtest_add_func("/vgpu-kfd/gart/first-fault-is-kept",
                   test_first_fault_is_kept);
}
