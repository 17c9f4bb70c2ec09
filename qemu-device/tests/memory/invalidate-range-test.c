/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests invalidations of a range and the lifetime of translations. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"

#define VMID    4
#define ENGINE  5
#define PAGES   32
#define VA      0x200000120000ull       /* aligned to PAGES pages */
#define BIG_VA  0x300000000000ull
#define LEAVES  (VM_INVALIDATE_ENG_REQ__L2_PTES | \
                 VM_INVALIDATE_ENG_REQ__L1_PTES)

/*
 * PAGES virtual pages from VA on. Each page can be mapped to memory at @old or
 * at @new, whose contents differ.
 */
typedef struct Range {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q;
    uint64_t old, new;
    uint64_t dst, dst_va;
} Range;

static void request(QVGPU *v, uint64_t range, uint32_t req)
{
    qvgpu_mm_wr64(v, VM_INVALIDATE_ENG_ADDR_RANGE_LO32(ENGINE), range);
    qvgpu_mm_wr(v, VM_INVALIDATE_ENG_REQ(ENGINE), req);
    req &= VM_INVALIDATE_ENG_REQ__PER_VMID;
    qvgpu_wait_until((qvgpu_mm_rd(v, VM_INVALIDATE_ENG_ACK(ENGINE)) & req) ==
                     req);
}

static void read_all(Range *t)
{
    unsigned i;

    for (i = 0; i < PAGES; i++) {
        qvgpu_pkt_copy(&t->q, VA + i * QVGPU_PAGE, t->dst_va + 8 * i, 8);
    }
    qvgpu_sdma_finish(&t->q);
}

/*
 * Map all pages to the memory at @t->old, and let the TLB hold these
 * translations. Then map the pages to the memory at @t->new, without an
 * invalidation.
 */
static void moved(Range *t)
{
    qvgpu_space_map(&t->space, VA, t->old, PAGES * QVGPU_PAGE);
    qvgpu_invalidate(t->v, 1u << VMID);
    read_all(t);
    qvgpu_space_map(&t->space, VA, t->new, PAGES * QVGPU_PAGE);
}

static void range_start(Range *t)
{
    unsigned i;

    t->v = qvgpu_start();
    qvgpu_space_init(&t->space, t->v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&t->q, t->v, 0, SDMA_QUEUE_RLC(0), &t->space);
    t->old = qvgpu_alloc(t->v, QVGPU_VRAM, PAGES * QVGPU_PAGE, QVGPU_PAGE);
    t->new = qvgpu_alloc(t->v, QVGPU_VRAM, PAGES * QVGPU_PAGE, QVGPU_PAGE);
    t->dst = qvgpu_ram_page(t->v);
    t->dst_va = qvgpu_space_place(&t->space, t->dst, QVGPU_PAGE);
    for (i = 0; i < PAGES; i++) {
        qtest_writeq(t->v->qts, t->old + i * QVGPU_PAGE, 0x100 + i);
        qtest_writeq(t->v->qts, t->new + i * QVGPU_PAGE, 0x200 + i);
    }
}

/*
 * Fail the test unless the engine reads pages @first to @last from the memory
 * at @t->new, and all other pages from the memory at @t->old.
 */
static void expect_new(Range *t, unsigned first, unsigned last)
{
    unsigned i;

    read_all(t);
    for (i = 0; i < PAGES; i++) {
        g_assert_cmphex(qtest_readq(t->v->qts, t->dst + 8 * i), ==,
                        (i >= first && i <= last ? 0x200 : 0x100) + i);
    }
}

/*
 * Catches: an invalidation of a range affects too many pages, too few pages, or
 * other pages.
 */
static void test_exact(void)
{
    static const struct {
        unsigned first, order;
    } ranges[] = {
        { 0, 0 }, { 7, 0 }, { 31, 0 }, { 0, 1 }, { 6, 1 }, { 30, 1 }, { 4, 2 },
        { 8, 3 }, { 16, 4 }, { 0, 5 },
    };
    Range t;
    unsigned i;

    range_start(&t);
    for (i = 0; i < ARRAY_SIZE(ranges); i++) {
        moved(&t);
        qvgpu_invalidate_range(t.v, 1u << VMID,
                               VA + ranges[i].first * QVGPU_PAGE,
                               ranges[i].order);
        expect_new(&t, ranges[i].first,
                   ranges[i].first + (1u << ranges[i].order) - 1);
    }
    /*
     * A request has no effect on the pages if it is for another VMID, for
     * another range, or only for directory entries. The last request is for all
     * pages.
     */
    moved(&t);
    qvgpu_invalidate_range(t.v, 1u << (VMID + 1), VA, 5);
    qvgpu_invalidate_range(t.v, 1u << VMID, VA + PAGES * QVGPU_PAGE, 5);
    request(t.v, VA >> 11 | 0x1f, 1u << VMID |
            VM_INVALIDATE_ENG_REQ__L2_PDE0 | VM_INVALIDATE_ENG_REQ__L2_PDE1);
    expect_new(&t, PAGES, 0);
    request(t.v, 0x1fffffffffull, 1u << VMID | LEAVES);
    expect_new(&t, 0, PAGES - 1);
    qvgpu_stop(t.v);
}

/*
 * Catches: an invalidation is lost if the driver requests many invalidations
 * while the engine is idle.
 */
static void test_many(void)
{
    Range t;
    unsigned i, n;

    range_start(&t);
    for (n = 1; n <= 256; n *= 4) {
        moved(&t);
        qvgpu_invalidate_range(t.v, 1u << VMID, VA + 3 * QVGPU_PAGE, 0);
        for (i = 1; i < n; i++) {
            qvgpu_invalidate_range(t.v, 1u << VMID, BIG_VA + i * QVGPU_PAGE,
                                   0);
        }
        /*
         * The device tracks up to 64 ranges exactly. With more ranges, the
         * device may also drop translations of other pages.
         */
        if (n <= 64) {
            expect_new(&t, 3, 3);
        } else {
            read_all(&t);
            g_assert_cmphex(qtest_readq(t.v->qts, t.dst + 8 * 3), ==, 0x203);
        }
    }
    qvgpu_stop(t.v);
}

/*
 * Catches: the TLB keeps a large leaf after an invalidation of one page of the
 * leaf.
 */
static void test_large_leaf(void)
{
    Range t;
    uint64_t old, new;

    range_start(&t);
    old = qvgpu_alloc(t.v, QVGPU_VRAM, 2 * MiB, 2 * MiB);
    new = qvgpu_alloc(t.v, QVGPU_VRAM, 2 * MiB, 2 * MiB);
    qvgpu_fill(t.v, old, 1, 0, 2 * MiB);
    qvgpu_fill(t.v, new, 2, 0, 2 * MiB);
    qvgpu_space_set(&t.space, BIG_VA, VGPU_LEVEL_PDB0,
                    qvgpu_entry(t.v, old, QVGPU_PTE_RW));
    qvgpu_pkt_copy(&t.q, BIG_VA + 5, t.dst_va, 100);
    qvgpu_sdma_finish(&t.q);
    qvgpu_expect(t.v, t.dst, 1, 5, 100);
    qvgpu_space_set(&t.space, BIG_VA, VGPU_LEVEL_PDB0,
                    qvgpu_entry(t.v, new, QVGPU_PTE_RW));
    qvgpu_invalidate_range(t.v, 1u << VMID, BIG_VA + 511 * QVGPU_PAGE, 0);
    qvgpu_pkt_copy(&t.q, BIG_VA + 5, t.dst_va, 100);
    qvgpu_sdma_finish(&t.q);
    qvgpu_expect(t.v, t.dst, 2, 5, 100);
    qvgpu_stop(t.v);
}

/*
 * Catches: an invalidation of one page does not wake a queue that is stalled on
 * this page.
 */
static void test_wakes(void)
{
    Range t;

    range_start(&t);
    qvgpu_pkt_fence(&t.q, VA, 0x777);
    qvgpu_sdma_kick(&t.q);
    qvgpu_ih_next_fault(t.v, VMID, VA, true, true);
    qvgpu_space_map(&t.space, VA, t.new, QVGPU_PAGE);
    qvgpu_invalidate_range(t.v, 1u << VMID, VA, 0);
    qvgpu_sdma_finish(&t.q);
    g_assert_cmphex(qtest_readl(t.v->qts, t.new), ==, 0x777);
    qvgpu_stop(t.v);
}

/*
 * Catches: the invalidation of a range is acknowledged while an engine still
 * writes through the old translation; after the acknowledge, an engine finds
 * the old translation in its TLB.
 */
static void test_acknowledge_waits(void)
{
    enum { PACKETS = 12, BYTES = PAGES * VGPU_PAGE_SIZE, ROUNDS = 40 };
    Range t;
    uint64_t src_va, place[2];
    unsigned i, round;

    range_start(&t);
    place[0] = t.old;
    place[1] = t.new;
    src_va = qvgpu_space_place(&t.space,
                               qvgpu_alloc(t.v, QVGPU_VRAM, BYTES, QVGPU_PAGE),
                               BYTES);
    qvgpu_space_map(&t.space, VA, t.old, BYTES);
    for (round = 0; round < ROUNDS; round++) {
        uint64_t off = round % PAGES * QVGPU_PAGE;
        uint64_t gone = place[round / PAGES & 1] + off;
        uint64_t now = place[!(round / PAGES & 1)] + off;
        uint64_t from = t.q.wptr;

        for (i = 0; i < PACKETS; i++) {
            qvgpu_pkt_copy(&t.q, src_va, VA, BYTES);
        }
        qvgpu_sdma_kick(&t.q);
        qvgpu_wait_until(qvgpu_sdma_rptr(&t.q) != from);
        qvgpu_space_map(&t.space, VA + off, now, QVGPU_PAGE);
        qvgpu_invalidate_range(t.v, 1u << VMID, VA + off, 0);
        /* The test reuses the page: a late write of the engine would show. */
        qtest_memset(t.v->qts, gone, 0x77, QVGPU_PAGE);
        qvgpu_pkt_copy(&t.q, src_va, VA, BYTES);
        qvgpu_sdma_finish(&t.q);
        qvgpu_expect_byte(t.v, gone, 0x77, QVGPU_PAGE);
        qvgpu_expect_byte(t.v, now, 0, QVGPU_PAGE);
    }
    qvgpu_stop(t.v);
}

/*
 * Catches: the TLB drops a translation after some time or some packets, and so
 * hides that a driver lacks an invalidation.
 */
static void test_capacity(void)
{
    enum { OTHERS = 8192 };
    Range t;
    uint64_t page, entries[VGPU_PT_ENTRIES];
    unsigned i;

    range_start(&t);
    moved(&t);
    qtest_clock_step(t.v->qts, 3600ll * 1000000000);
    for (i = 0; i < 100; i++) {
        qvgpu_pkt_fence(&t.q, t.dst_va, i);
    }
    qvgpu_sdma_finish(&t.q);
    expect_new(&t, PAGES, 0);

    page = qvgpu_alloc(t.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    for (i = 0; i < VGPU_PT_ENTRIES; i++) {
        entries[i] = cpu_to_le64(qvgpu_entry(t.v, page, QVGPU_PTE_RW));
    }
    for (i = 0; i < OTHERS; i += VGPU_PT_ENTRIES) {
        uint64_t at = qvgpu_space_slot(&t.space, BIG_VA + i * QVGPU_PAGE,
                                       VGPU_LEVEL_PTB);

        qtest_bufwrite(t.v->qts, at, entries, sizeof(entries));
    }
    /*
     * This copy needs OTHERS new translations, which replace all old
     * translations in the TLB.
     */
    qvgpu_pkt_copy(&t.q, BIG_VA, BIG_VA, OTHERS * QVGPU_PAGE);
    qvgpu_sdma_finish(&t.q);
    expect_new(&t, 0, PAGES - 1);
    qvgpu_stop(t.v);
}

void qvgpu_add_invalidate_range_tests(void)
{
    qtest_add_func("/vgpu-kfd/tlb-range/exact", test_exact);
    qtest_add_func("/vgpu-kfd/tlb-range/many", test_many);
    qtest_add_func("/vgpu-kfd/tlb-range/large-leaf", test_large_leaf);
    qtest_add_func("/vgpu-kfd/tlb-range/wakes", test_wakes);
    qtest_add_func("/vgpu-kfd/tlb-range/acknowledge-waits",
                   test_acknowledge_waits);
    qtest_add_func("/vgpu-kfd/tlb-range/capacity", test_capacity);
}
