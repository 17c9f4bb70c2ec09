/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: tests cached translations and their invalidation. */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/hold.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"
#include "tests/qtest/vgpu-kfd/memory/suite.h"

#define VMID    4
#define INV_ENG 3               /* invalidation engine */
#define BIG_VA  0x300000000000ull       /* GPU address for leaves of 2 MiB */
/*
 * The low bits of VA's page number differ from those of the ring's page, so
 * that a small TLB can hold both translations.
 */
#define VA      0x200000123000ull

typedef struct Tlb {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUSdma q;
    uint64_t old_page, new_page;
    uint64_t dst, dst_va;
} Tlb;

/*
 * Use machine @v. Map VA to old_page, and let the TLB hold the translation.
 */
static void tlb_start_on(Tlb *t, QVGPU *v)
{
    t->v = v;
    qvgpu_space_init(&t->space, t->v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&t->q, t->v, 0, SDMA_QUEUE_RLC(0), &t->space);
    t->old_page = qvgpu_alloc(t->v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    t->new_page = qvgpu_alloc(t->v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    t->dst = qvgpu_alloc(t->v, QVGPU_RAM, QVGPU_PAGE, QVGPU_PAGE);
    t->dst_va = qvgpu_space_place(&t->space, t->dst, QVGPU_PAGE);
    qvgpu_fill(t->v, t->old_page, 1, 0, QVGPU_PAGE);
    qvgpu_fill(t->v, t->new_page, 2, 0, QVGPU_PAGE);
    qvgpu_space_map(&t->space, VA, t->old_page, QVGPU_PAGE);
    qvgpu_pkt_copy(&t->q, VA, t->dst_va, QVGPU_PAGE);
    qvgpu_sdma_finish(&t->q);
    qvgpu_expect(t->v, t->dst, 1, 0, QVGPU_PAGE);
}

static void tlb_start(Tlb *t)
{
    tlb_start_on(t, qvgpu_start());
}

/*
 * Fail the test unless VA reads as pattern @seed. tlb_start() fills old_page
 * with pattern 1, and new_page with pattern 2.
 */
static void expect_page(Tlb *t, unsigned seed)
{
    qvgpu_pkt_copy(&t->q, VA, t->dst_va, QVGPU_PAGE);
    qvgpu_sdma_finish(&t->q);
    qvgpu_expect(t->v, t->dst, seed, 0, QVGPU_PAGE);
}

/*
 * Catches: the device uses a changed page-table entry before an invalidation,
 * or still uses the old entry after an invalidation. (The first bug would hide
 * a missing invalidation in the driver.)
 */
static void test_stale_until_invalidated(void)
{
    Tlb t;

    tlb_start(&t);
    qvgpu_space_map(&t.space, VA, t.new_page, QVGPU_PAGE);
    expect_page(&t, 1);
    qvgpu_invalidate(t.v, 1u << VMID);
    expect_page(&t, 2);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_TLB_HITS), >, 0);
    g_assert_cmpuint(qvgpu_counter(t.v, VGPU_CNT_TLB_MISSES), >, 0);
    qvgpu_stop(t.v);
}

/*
 * Catches: an invalidation of other VMIDs drops the translation of this VMID.
 */
static void test_other_vmids_stay(void)
{
    Tlb t;

    tlb_start(&t);
    qvgpu_space_map(&t.space, VA, t.new_page, QVGPU_PAGE);
    qvgpu_invalidate(t.v, 0xffff & ~(1u << VMID));
    expect_page(&t, 1);
    qvgpu_invalidate(t.v, 1u << VMID);
    expect_page(&t, 2);
    qvgpu_stop(t.v);
}

/*
 * Catches: an invalidation drops a cached leaf, but not the cached directories
 * above the leaf.
 */
static void test_directories(void)
{
    Tlb t;
    uint64_t slot, entry;
    QVGPUSpace other, third;

    tlb_start(&t);
    /*
     * Build other page tables that map VA to another page. Link the PDB1 of
     * these tables into the root table of the queue.
     */
    qvgpu_space_init(&other, t.v, VMID + 1, QVGPU_VRAM);
    qvgpu_space_map(&other, VA, t.new_page, QVGPU_PAGE);
    slot = qvgpu_space_slot(&other, VA, VGPU_LEVEL_PDB2);
    entry = qtest_readq(t.v->qts, slot);
    qvgpu_space_set(&t.space, VA, VGPU_LEVEL_PDB2, entry);
    qvgpu_invalidate(t.v, 1u << VMID);
    expect_page(&t, 2);

    /* Give the VMID a new root table with all mappings that the queue uses. */
    qvgpu_space_init(&third, t.v, VMID + 1, QVGPU_VRAM);
    qvgpu_space_map(&third, VA, t.old_page, QVGPU_PAGE);
    qvgpu_space_map(&third, t.q.ring_va, t.q.ring, QVGPU_PAGE);
    qvgpu_space_map(&third, t.q.rptr_va, t.q.rptr, QVGPU_PAGE);
    qvgpu_space_map(&third, t.dst_va, t.dst, QVGPU_PAGE);
    qvgpu_mm_wr64(t.v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(VMID),
                  qvgpu_entry(t.v, third.root, VGPU_PDE_VALID));
    qvgpu_invalidate(t.v, 1u << VMID);
    expect_page(&t, 1);
    qvgpu_stop(t.v);
}

/*
 * Two neighbouring pages at BIG_VA, and two page tables for these pages. The
 * first table maps the first half of the memory at @t.pages, the second table
 * the other half.
 */
typedef struct Tables {
    Tlb t;
    uint64_t pages;             /* CPU address of four pages */
    uint64_t second;            /* entry of PDB0 for the second table */
    uint64_t dst, dst_va;       /* two pages */
} Tables;

static void tables_start(Tables *m, QVGPU *v)
{
    QVGPUSpace other;

    tlb_start_on(&m->t, v);
    m->pages = qvgpu_alloc(v, QVGPU_VRAM, 4 * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(v, m->pages, 3, 0, 4 * QVGPU_PAGE);
    m->dst = qvgpu_alloc(v, QVGPU_RAM, 2 * QVGPU_PAGE, QVGPU_PAGE);
    m->dst_va = qvgpu_space_place(&m->t.space, m->dst, 2 * QVGPU_PAGE);
    qvgpu_space_map(&m->t.space, BIG_VA, m->pages, 2 * QVGPU_PAGE);
    qvgpu_space_init(&other, v, VMID + 1, QVGPU_VRAM);
    qvgpu_space_map(&other, BIG_VA, m->pages + 2 * QVGPU_PAGE, 2 * QVGPU_PAGE);
    m->second = qtest_readq(v->qts, qvgpu_space_slot(&other, BIG_VA,
                                                     VGPU_LEVEL_PDB0));
}

/*
 * Catches: a walk uses a page table that a walk of an earlier access has found.
 */
static void test_table_in_next_access(void)
{
    Tables m;

    tables_start(&m, qvgpu_start());
    qvgpu_pkt_copy(&m.t.q, BIG_VA, m.dst_va, QVGPU_PAGE);
    qvgpu_sdma_finish(&m.t.q);
    qvgpu_expect(m.t.v, m.dst, 3, 0, QVGPU_PAGE);
    /*
     * Without an invalidation, the TLB keeps the first page's leaf. The second
     * page has no leaf in the TLB, so its walk reads the directories again.
     */
    qvgpu_space_set(&m.t.space, BIG_VA, VGPU_LEVEL_PDB0, m.second);
    qvgpu_pkt_copy(&m.t.q, BIG_VA, m.dst_va, 2 * QVGPU_PAGE);
    qvgpu_sdma_finish(&m.t.q);
    qvgpu_expect(m.t.v, m.dst, 3, 0, QVGPU_PAGE);
    qvgpu_expect(m.t.v, m.dst + QVGPU_PAGE, 3, 3 * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_stop(m.t.v);
}

/*
 * Return true if an engine is in an access. The access delays the acknowledge
 * of any VMID, here of one that no queue uses.
 */
static bool access_lasts(QVGPU *v)
{
    uint32_t unused = 1u << (VMID + 1);

    qvgpu_mm_wr(v, VM_INVALIDATE_ENG_REQ(INV_ENG), unused);
    g_usleep(10 * 1000);
    return !(qvgpu_mm_rd(v, VM_INVALIDATE_ENG_ACK(INV_ENG)) & unused);
}

/*
 * During an access, the test replaces a page table and invalidates. Catches:
 * after the acknowledge, the TLB has a leaf that a walk of this access has read
 * from the old table after the invalidation.
 */
static void test_table_replaced_in_access(void)
{
    QVGPUHold h;
    Tables m;
    QVGPU *v;

    qvgpu_hold_init(&h);
    v = qvgpu_start_sized(QVGPU_HOLD_VRAM, h.args);
    tables_start(&m, v);
    /* Hold the engine after the walk of the first page. */
    qvgpu_hold_arm(&h, v, "vgpu_walk", false);
    qvgpu_pkt_copy(&m.t.q, BIG_VA, m.dst_va, 2 * QVGPU_PAGE);
    qvgpu_sdma_kick(&m.t.q);
    qvgpu_wait_until(access_lasts(v));
    qvgpu_space_set(&m.t.space, BIG_VA, VGPU_LEVEL_PDB0, m.second);
    qvgpu_mm_wr64(v, VM_INVALIDATE_ENG_ADDR_RANGE_LO32(INV_ENG),
                  VM_INVALIDATE_ENG_ADDR_RANGE__PAGE |
                  VM_INVALIDATE_ENG_ADDR_RANGE__S);
    qvgpu_mm_wr(v, VM_INVALIDATE_ENG_REQ(INV_ENG),
                1u << VMID | VM_INVALIDATE_ENG_REQ__L2_PTES |
                VM_INVALIDATE_ENG_REQ__L1_PTES);
    g_assert_cmphex(qvgpu_mm_rd(v, VM_INVALIDATE_ENG_ACK(INV_ENG)) &
                    (1u << VMID), ==, 0);
    qvgpu_hold_release(&h);
    qvgpu_wait_until(qvgpu_mm_rd(v, VM_INVALIDATE_ENG_ACK(INV_ENG)) &
                     (1u << VMID));
    qvgpu_sdma_finish(&m.t.q);
    qvgpu_trace(v, "vgpu_walk", false);

    qvgpu_pkt_copy(&m.t.q, BIG_VA, m.dst_va, 2 * QVGPU_PAGE);
    qvgpu_sdma_finish(&m.t.q);
    qvgpu_expect(v, m.dst, 3, 2 * QVGPU_PAGE, 2 * QVGPU_PAGE);
    qvgpu_stop(v);
    qvgpu_hold_destroy(&h);
}

/*
 * Catches: the TLB still holds a large leaf after the leaf has been split and
 * invalidated.
 */
static void test_split(void)
{
    Tlb t;
    uint64_t big, va = BIG_VA;
    unsigned i;

    tlb_start(&t);
    big = qvgpu_alloc(t.v, QVGPU_VRAM, 2 * MiB, 2 * MiB);
    qvgpu_fill(t.v, big, 5, 0, 2 * MiB);
    qvgpu_space_set(&t.space, va, VGPU_LEVEL_PDB0,
                    qvgpu_entry(t.v, big, QVGPU_PTE_RW));
    qvgpu_pkt_copy(&t.q, va + 9 * QVGPU_PAGE, t.dst_va, QVGPU_PAGE);
    qvgpu_sdma_finish(&t.q);
    qvgpu_expect(t.v, t.dst, 5, 9 * QVGPU_PAGE, QVGPU_PAGE);

    qvgpu_space_set(&t.space, va, VGPU_LEVEL_PDB0, 0);
    qvgpu_space_map(&t.space, va, big, 2 * MiB);
    qvgpu_space_map(&t.space, va + 9 * QVGPU_PAGE, t.new_page, QVGPU_PAGE);
    qvgpu_invalidate(t.v, 1u << VMID);
    for (i = 8; i <= 10; i++) {
        qvgpu_pkt_copy(&t.q, va + i * QVGPU_PAGE, t.dst_va, QVGPU_PAGE);
        qvgpu_sdma_finish(&t.q);
        if (i == 9) {
            qvgpu_expect(t.v, t.dst, 2, 0, QVGPU_PAGE);
        } else {
            qvgpu_expect(t.v, t.dst, 5, i * QVGPU_PAGE, QVGPU_PAGE);
        }
    }
    qvgpu_stop(t.v);
}

/*
 * Catches: an acknowledge has a wrong VMID, engine or hub; the counter of
 * invalidations is wrong.
 */
static void test_acknowledge(void)
{
    QVGPU *v = qvgpu_start();
    unsigned h, e;
    uint64_t before = qvgpu_counter(v, VGPU_CNT_INVALIDATIONS);

    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        for (e = 0; e < VGPU_NUM_INV_ENGINES; e++) {
            uint32_t ack = HUB(h) + VM_INVALIDATE_ENG_ACK(e);
            uint32_t req = HUB(h) + VM_INVALIDATE_ENG_REQ(e);

            g_assert_cmphex(qvgpu_rd(v, ack), ==, 0);
            qvgpu_wr(v, req, 0x8003);
            qvgpu_wait_until((qvgpu_rd(v, ack) & 0xffff) == 0x8003);
            qvgpu_wr(v, req, 0x0100);
            qvgpu_wait_until((qvgpu_rd(v, ack) & 0xffff) == 0x8103);
            /* A request without a VMID has no acknowledge. ACK is read-only. */
            qvgpu_wr(v, req, VM_INVALIDATE_ENG_REQ__L2_PTES);
            qvgpu_wr(v, ack, 0);
            g_assert_cmphex(qvgpu_rd(v, ack) & 0xffff, ==, 0x8103);
        }
    }
    g_assert_cmpuint(qvgpu_counter(v, VGPU_CNT_INVALIDATIONS) - before, ==,
                     VGPU_NUM_HUBS * VGPU_NUM_INV_ENGINES * 4);
    qvgpu_stop(v);
}

/*
 * Catches: CLEAR_FAULT has no effect; the fault is cleared without CLEAR_FAULT.
 */
static void test_clear_fault(void)
{
    Tlb t;

    tlb_start(&t);
    qvgpu_space_set_retry(&t.space, false);
    qvgpu_pkt_fence(&t.q, VA + QVGPU_PAGE, 0);
    qvgpu_sdma_finish(&t.q);
    g_assert_cmphex(qvgpu_mm_rd(t.v, VM_L2_PROTECTION_FAULT_STATUS), !=, 0);
    qvgpu_invalidate(t.v, 1u << VMID);
    g_assert_cmphex(qvgpu_mm_rd(t.v, VM_L2_PROTECTION_FAULT_STATUS), !=, 0);
    qvgpu_invalidate(t.v, 1u << VMID | VM_INVALIDATE_ENG_REQ__CLEAR_FAULT);
    g_assert_cmphex(qvgpu_mm_rd(t.v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);
    g_assert_cmphex(qvgpu_mm_rd64(t.v, VM_L2_PROTECTION_FAULT_ADDR_LO32), ==,
                    0);
    qvgpu_stop(t.v);
}

/*
 * Catches: an invalidation is acknowledged while an engine still writes through
 * the old translation, to a page that may have a new owner.
 */
static void test_acknowledge_waits(void)
{
    enum { PACKETS = 100, BYTES = 2 * MiB, ROUNDS = 8 };
    QVGPU *v = qvgpu_start();
    uint64_t src = qvgpu_alloc(v, QVGPU_VRAM, BYTES, BYTES), src_va;
    uint64_t page[2];
    QVGPUSpace space;
    QVGPUSdma q;
    unsigned i, round;

    qvgpu_space_init(&space, v, VMID, QVGPU_VRAM);
    qvgpu_sdma_open(&q, v, 0, SDMA_QUEUE_RLC(0), &space);
    page[0] = qvgpu_alloc(v, QVGPU_VRAM, BYTES, BYTES);
    page[1] = qvgpu_alloc(v, QVGPU_VRAM, BYTES, BYTES);
    src_va = BIG_VA + 1 * GiB;
    qvgpu_space_set(&space, src_va, VGPU_LEVEL_PDB0,
                    qvgpu_entry(v, src, QVGPU_PTE_RW));
    qvgpu_fill(v, src, 6, 0, BYTES);
    for (round = 0; round < ROUNDS; round++) {
        uint64_t gone = page[round & 1], now = page[!(round & 1)];

        qvgpu_space_set(&space, BIG_VA, VGPU_LEVEL_PDB0,
                        qvgpu_entry(v, gone, QVGPU_PTE_RW));
        qvgpu_invalidate(v, 1u << VMID);
        for (i = 0; i < PACKETS; i++) {
            qvgpu_pkt_copy(&q, src_va, BIG_VA, BYTES);
        }
        qvgpu_sdma_kick(&q);
        qvgpu_wait_until(qvgpu_sdma_rptr(&q) != q.wptr - PACKETS * 28);

        qvgpu_space_set(&space, BIG_VA, VGPU_LEVEL_PDB0,
                        qvgpu_entry(v, now, QVGPU_PTE_RW));
        qvgpu_invalidate(v, 1u << VMID);
        /* The test reuses the memory: a late write of the engine would show. */
        qtest_memset(v->qts, gone, 0x77, BYTES);
        qvgpu_sdma_finish(&q);
        qvgpu_expect_byte(v, gone, 0x77, BYTES);
    }
    qvgpu_stop(v);
}

void qvgpu_add_tlb_tests(void)
{
    qtest_add_func("/vgpu-kfd/tlb/stale-until-invalidated",
                   test_stale_until_invalidated);
    qtest_add_func("/vgpu-kfd/tlb/other-vmids-stay", test_other_vmids_stay);
    qtest_add_func("/vgpu-kfd/tlb/directories", test_directories);
    qtest_add_func("/vgpu-kfd/tlb/table-in-next-access",
                   test_table_in_next_access);
    qtest_add_func("/vgpu-kfd/tlb/table-replaced-in-access",
                   test_table_replaced_in_access);
    qtest_add_func("/vgpu-kfd/tlb/split", test_split);
    qtest_add_func("/vgpu-kfd/tlb/acknowledge", test_acknowledge);
    qtest_add_func("/vgpu-kfd/tlb/clear-fault", test_clear_fault);
    qtest_add_func("/vgpu-kfd/tlb/acknowledge-waits", test_acknowledge_waits);
}
