/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the four-level tree of VMIDs 1-15.
 *
 * The probe is a copy by a user queue. Faults are no-retry here, so that each
 * shows as a latched status; retries are in fault-test.c.
 */
#include "qemu/osdep.h"
#include "vgpu-qos.h"

#define VMID        7
/* A page at which all four indices are the last of their tables. */
#define VA          0x123000000000ull
#define LEAF(flags) (QVGPU_PTE_RW | (flags))

typedef struct Walker {
    QVGPU *v;
    QVGPUSpace space;
    QVGPUQueue q;
    uint64_t dst, dst_va;       /* 64 KiB to copy to */
} Walker;

static void walker_start_in(Walker *w, QVGPUKind tables)
{
    w->v = qvgpu_start();
    qvgpu_space_init(&w->space, w->v, VMID, tables);
    qvgpu_space_set_retry(&w->space, false);
    qvgpu_queue_open(&w->q, w->v, 0, SDMA_QUEUE_RLC(0), &w->space);
    w->dst = qvgpu_alloc(w->v, QVGPU_RAM, 64 * KiB, QVGPU_PAGE);
    w->dst_va = qvgpu_space_place(&w->space, w->dst, 64 * KiB);
}

static void walker_start(Walker *w)
{
    walker_start_in(w, QVGPU_VRAM);
}

static void copy(Walker *w, uint64_t src, uint64_t dst, uint64_t len)
{
    qvgpu_pkt_copy(&w->q, src, dst, len);
    qvgpu_finish(&w->q);
}

/* What is at @va is bytes @from.. of pattern @seed, and no fault comes. */
static void expect_at(Walker *w, uint64_t va, uint64_t seed, uint64_t from,
                      uint64_t len)
{
    copy(w, va, w->dst_va, len);
    g_assert_cmphex(qvgpu_mm_rd(w->v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);
    qvgpu_expect(w->v, w->dst, seed, from, len);
}

/* A no-retry fault of a 4-byte access at @va; the queue goes on. */
static void expect_fault(Walker *w, uint64_t va, bool write, unsigned walker)
{
    uint32_t status;

    if (write) {
        copy(w, w->dst_va, va, 4);
    } else {
        copy(w, va, w->dst_va, 4);
        qvgpu_expect_byte(w->v, w->dst, 0, 4);
    }
    status = qvgpu_mm_rd(w->v, VM_L2_PROTECTION_FAULT_STATUS);
    g_assert_cmpuint(VGPU_GET(status, VM_L2_PROTECTION_FAULT_STATUS__VMID),
                     ==, VMID);
    g_assert_cmpuint(VGPU_GET(status, VM_L2_PROTECTION_FAULT_STATUS__RW), ==,
                     write);
    g_assert_cmpuint(VGPU_GET(status,
                              VM_L2_PROTECTION_FAULT_STATUS__WALKER_ERROR),
                     ==, walker);
    g_assert_cmphex(qvgpu_mm_rd64(w->v, VM_L2_PROTECTION_FAULT_ADDR_LO32), ==,
                    va >> 12);
    qvgpu_ih_next_fault(w->v, VMID, va, write, false);
    g_assert_false(qvgpu_ih_pending(w->v));
    qvgpu_mm_wr(w->v, VM_L2_PROTECTION_FAULT_CNTL, 0x3ffc |
                VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR);
}

/* Catches: a wrong index, address or S bit of the simplest mapping. */
static void test_small_pages(void)
{
    Walker w;
    uint64_t vram, ram;

    walker_start(&w);
    vram = qvgpu_alloc(w.v, QVGPU_VRAM, 8 * QVGPU_PAGE, QVGPU_PAGE);
    ram = qvgpu_alloc(w.v, QVGPU_RAM, 8 * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA, vram, 8 * QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA + 8 * QVGPU_PAGE, ram, 8 * QVGPU_PAGE);
    qvgpu_fill(w.v, vram, 1, 0, 8 * QVGPU_PAGE);
    qvgpu_fill(w.v, ram, 1, 8 * QVGPU_PAGE, 8 * QVGPU_PAGE);
    expect_at(&w, VA, 1, 0, 16 * QVGPU_PAGE);
    expect_at(&w, VA + 4099, 1, 4099, 10001);

    qvgpu_fill(w.v, w.dst, 2, 0, 64 * KiB);
    copy(&w, w.dst_va, VA, 16 * QVGPU_PAGE);
    qvgpu_expect(w.v, vram, 2, 0, 8 * QVGPU_PAGE);
    qvgpu_expect(w.v, ram, 2, 8 * QVGPU_PAGE, 8 * QVGPU_PAGE);
    qvgpu_stop(w.v);
}

/*
 * Catches: an index of the wrong width at any level. Two pages on either side
 * of a boundary of each level; the copy goes across.
 */
static void test_crossing_levels(void)
{
    static const uint64_t boundary[] = {
        0x001000201000ull,      /* PTB entry */
        0x001000400000ull,      /* PDB0 entry */
        0x001040000000ull,      /* PDB1 entry */
        0x028000000000ull,      /* PDB2 entry */
        0x800000000000ull,      /* the sign bit of a CPU's address */
    };
    Walker w;
    unsigned i;

    walker_start(&w);
    for (i = 0; i < ARRAY_SIZE(boundary); i++) {
        /* Back to front, so that contiguous VA is not contiguous memory. */
        uint64_t high = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
        uint64_t low = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);

        qvgpu_space_map(&w.space, boundary[i] - QVGPU_PAGE, low, QVGPU_PAGE);
        qvgpu_space_map(&w.space, boundary[i], high, QVGPU_PAGE);
        qvgpu_fill(w.v, low, 10 + i, 0, QVGPU_PAGE);
        qvgpu_fill(w.v, high, 10 + i, QVGPU_PAGE, QVGPU_PAGE);
    }
    for (i = 0; i < ARRAY_SIZE(boundary); i++) {
        expect_at(&w, boundary[i] - QVGPU_PAGE, 10 + i, 0, 2 * QVGPU_PAGE);
    }
    /* The very last page: nothing wraps around behind it. */
    qvgpu_space_map(&w.space, (1ull << 48) - QVGPU_PAGE,
                    qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE),
                    QVGPU_PAGE);
    expect_fault(&w, 1ull << 48, false, VGPU_WALKER_RANGE);
    qvgpu_stop(w.v);
}

/* Catches: a 2 MiB leaf taken for a pointer, or its offset cut to a page. */
static void test_2m_leaf(void)
{
    Walker w;
    uint64_t vram, ram;

    walker_start(&w);
    vram = qvgpu_alloc(w.v, QVGPU_VRAM, 2 * MiB, 2 * MiB);
    ram = qvgpu_alloc(w.v, QVGPU_RAM, 2 * MiB, 2 * MiB);
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PDB0,
                    qvgpu_entry(w.v, vram, LEAF(0)));
    qvgpu_space_set(&w.space, VA + 2 * MiB, VGPU_LEVEL_PDB0,
                    qvgpu_entry(w.v, ram, LEAF(0)));
    qvgpu_fill(w.v, vram, 3, 0, 2 * MiB);
    qvgpu_fill(w.v, ram, 3, 2 * MiB, 2 * MiB);
    expect_at(&w, VA, 3, 0, 64 * KiB);
    expect_at(&w, VA + 1 * MiB + 12345, 3, 1 * MiB + 12345, 64 * KiB);
    expect_at(&w, VA + 2 * MiB - 3333, 3, 2 * MiB - 3333, 64 * KiB);
    expect_at(&w, VA + 4 * MiB - 100, 3, 4 * MiB - 100, 100);
    qvgpu_stop(w.v);
}

/* Catches: larger leaves (bit 54) that are not known or of the wrong size. */
static void test_huge_leaves(void)
{
    static const unsigned levels[] = { VGPU_LEVEL_PDB1, VGPU_LEVEL_PDB2 };
    Walker w;
    unsigned i;

    walker_start(&w);
    for (i = 0; i < ARRAY_SIZE(levels); i++) {
        /* Of a space of its own: the leaf leads to address 0. */
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
        expect_at(&w, va + ram, 4 + i, 0, 64 * KiB);
        expect_at(&w, va + ram + 5001, 4 + i, 5001, 8000);
        expect_at(&w, va + size + off, 8 + i, 0, 64 * KiB);
        /* The leaf is larger than VRAM; what is behind VRAM is nothing. */
        expect_fault(&w, va + size + w.v->vram_size, false,
                     VGPU_WALKER_NACK);
    }
    qvgpu_stop(w.v);
}

/* Catches: a translation of one size that answers for its neighbour. */
static void test_mixed_sizes(void)
{
    Walker w;
    uint64_t big, small;

    walker_start(&w);
    big = qvgpu_alloc(w.v, QVGPU_VRAM, 2 * MiB, 2 * MiB);
    small = qvgpu_alloc(w.v, QVGPU_RAM, 32 * KiB, QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA - 16 * KiB, small, 16 * KiB);
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PDB0,
                    qvgpu_entry(w.v, big, LEAF(0)));
    qvgpu_space_map(&w.space, VA + 2 * MiB, small + 16 * KiB, 16 * KiB);
    qvgpu_fill(w.v, small, 5, 0, 16 * KiB);
    qvgpu_fill(w.v, big, 5, 16 * KiB, 2 * MiB);
    qvgpu_fill(w.v, small + 16 * KiB, 5, 16 * KiB + 2 * MiB, 16 * KiB);
    expect_at(&w, VA - 16 * KiB, 5, 0, 64 * KiB);
    expect_at(&w, VA + 2 * MiB - 16 * KiB, 5, 2 * MiB, 32 * KiB);
    qvgpu_stop(w.v);
}

/* Catches: low address bits of a leaf that are added instead of ignored. */
static void test_unaligned_leaf(void)
{
    Walker w;
    uint64_t vram;

    walker_start(&w);
    vram = qvgpu_alloc(w.v, QVGPU_VRAM, 2 * MiB, 2 * MiB);
    qvgpu_fill(w.v, vram, 6, 0, 64 * KiB);
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PDB0,
                    qvgpu_entry(w.v, vram + 5 * QVGPU_PAGE, LEAF(0)));
    expect_at(&w, VA, 6, 0, 64 * KiB);
    qvgpu_stop(w.v);
}

/* Catches: directories whose S bit or whose 64-byte alignment is not kept. */
static void test_tables_in_ram(void)
{
    Walker w;
    uint64_t ram;

    walker_start_in(&w, QVGPU_RAM);
    ram = qvgpu_alloc(w.v, QVGPU_VRAM, 64 * KiB, QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA, ram, 64 * KiB);
    qvgpu_fill(w.v, ram, 7, 0, 64 * KiB);
    expect_at(&w, VA, 7, 0, 64 * KiB);
    qvgpu_stop(w.v);
}

/* Catches: one VMID that sees another's pages. All use the same address. */
static void test_vmids_apart(void)
{
    QVGPU *v = qvgpu_start();
    uint64_t page[VGPU_NUM_VMIDS], dst[VGPU_NUM_VMIDS];
    QVGPUSpace space[VGPU_NUM_VMIDS];
    QVGPUQueue q[VGPU_NUM_VMIDS];
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
        qvgpu_queue_init(&q[i], v, i / 8, SDMA_QUEUE_RLC(i % 8), &space[i]);
        qvgpu_queue_load(&q[i]);
    }
    for (round = 0; round < 3; round++) {
        for (i = 1; i < VGPU_NUM_VMIDS; i++) {
            qvgpu_pkt_copy(&q[i], VA, VA + QVGPU_PAGE, QVGPU_PAGE);
            qvgpu_kick(&q[i]);
        }
        for (i = 1; i < VGPU_NUM_VMIDS; i++) {
            qvgpu_finish(&q[i]);
            qvgpu_expect(v, dst[i], i, 0, QVGPU_PAGE);
            qvgpu_fill(v, dst[i], 99, 0, QVGPU_PAGE);
        }
    }
    qvgpu_stop(v);
}

/* Catches: reads through a write-only page, writes through a read-only one. */
static void test_permissions(void)
{
    Walker w;
    uint64_t page;
    uint32_t status;

    walker_start(&w);
    page = qvgpu_alloc(w.v, QVGPU_VRAM, 2 * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(w.v, page, 8, 0, 2 * QVGPU_PAGE);
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PTB, qvgpu_entry(w.v, page,
                    VGPU_PTE_VALID | VGPU_PTE_READABLE));
    qvgpu_space_set(&w.space, VA + QVGPU_PAGE, VGPU_LEVEL_PTB,
                    qvgpu_entry(w.v, page + QVGPU_PAGE,
                                VGPU_PTE_VALID | VGPU_PTE_WRITEABLE));
    expect_at(&w, VA, 8, 0, QVGPU_PAGE);
    qvgpu_fill(w.v, w.dst, 9, 0, QVGPU_PAGE);
    copy(&w, w.dst_va, VA + QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_expect(w.v, page + QVGPU_PAGE, 9, 0, QVGPU_PAGE);
    g_assert_cmphex(qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);

    copy(&w, w.dst_va, VA, 4);
    status = qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS);
    g_assert_cmphex(status & VM_L2_PROTECTION_FAULT_STATUS__PERMISSION, !=,
                    0);
    qvgpu_expect(w.v, page, 8, 0, QVGPU_PAGE);
    qvgpu_ih_next_fault(w.v, VMID, VA, true, false);
    qvgpu_mm_wr(w.v, VM_L2_PROTECTION_FAULT_CNTL, 0x3ffc |
                VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR);
    expect_fault(&w, VA + QVGPU_PAGE, false, VGPU_WALKER_OK);
    /* Neither right, though valid. */
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PTB,
                    qvgpu_entry(w.v, page, VGPU_PTE_VALID));
    qvgpu_invalidate(w.v, 1u << VMID);
    expect_fault(&w, VA, false, VGPU_WALKER_OK);
    expect_fault(&w, VA, true, VGPU_WALKER_OK);
    qvgpu_stop(w.v);
}

/* Catches: an unbacked page of a sparse buffer that faults or reads dirt. */
static void test_prt(void)
{
    Walker w;
    uint64_t page;

    walker_start(&w);
    page = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_fill(w.v, page, 10, 0, QVGPU_PAGE);
    /* The address that the entry happens to carry must not be used. */
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PTB,
                    VGPU_PTE_PRT | (page - w.v->bar[VGPU_BAR_VRAM]));
    qvgpu_space_set(&w.space, VA + 2 * MiB, VGPU_LEVEL_PDB0, VGPU_PTE_PRT);
    qvgpu_fill(w.v, w.dst, 11, 0, 2 * QVGPU_PAGE);

    copy(&w, VA, w.dst_va, QVGPU_PAGE);
    qvgpu_expect_byte(w.v, w.dst, 0, QVGPU_PAGE);
    copy(&w, VA + 3 * MiB, w.dst_va + QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_expect_byte(w.v, w.dst + QVGPU_PAGE, 0, QVGPU_PAGE);
    qvgpu_fill(w.v, w.dst, 11, 0, QVGPU_PAGE);
    copy(&w, w.dst_va, VA, QVGPU_PAGE);
    copy(&w, w.dst_va, VA + 3 * MiB, QVGPU_PAGE);
    copy(&w, VA, w.dst_va, QVGPU_PAGE);
    qvgpu_expect_byte(w.v, w.dst, 0, QVGPU_PAGE);
    qvgpu_expect(w.v, page, 10, 0, QVGPU_PAGE);
    g_assert_cmphex(qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS), ==, 0);
    g_assert_false(qvgpu_ih_pending(w.v));
    qvgpu_stop(w.v);
}

/* Catches: a level at which an invalid entry is followed. */
static void test_invalid_at_each_level(void)
{
    Walker w;
    unsigned level;

    walker_start(&w);
    for (level = VGPU_LEVEL_PTB; level <= VGPU_LEVEL_PDB2; level++) {
        uint64_t va = VA + (level << 12) + (1ull << 40) * level;
        uint64_t page = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
        uint64_t slot, entry;

        qvgpu_fill(w.v, page, 20 + level, 0, QVGPU_PAGE);
        qvgpu_space_map(&w.space, va, page, QVGPU_PAGE);
        slot = qvgpu_space_slot(&w.space, va, level);
        entry = qtest_readq(w.v->qts, slot);
        qtest_writeq(w.v->qts, slot, entry & ~VGPU_PTE_VALID);
        expect_fault(&w, va + 8, false, VGPU_WALKER_OK);
        expect_fault(&w, va + 8, true, VGPU_WALKER_OK);
        qtest_writeq(w.v->qts, slot, entry);
        qvgpu_invalidate(w.v, 1u << VMID);
        expect_at(&w, va, 20 + level, 0, QVGPU_PAGE);
    }
    qvgpu_stop(w.v);
}

/*
 * Catches: a table address that the device follows out of its memory. Each
 * level in turn leads behind VRAM, to the end of the bus, and to no memory.
 */
static void test_tables_nowhere(void)
{
    static const uint64_t nowhere[] = {
        64 * MiB, 0x0000fffffffff000ull,
        VGPU_PTE_SYSTEM | 0x0000fffffffff000ull,
        VGPU_PTE_SYSTEM | 0x000080000000ull,
    };
    Walker w;
    unsigned level, i;

    walker_start(&w);
    for (level = VGPU_LEVEL_PDB0; level <= VGPU_LEVEL_PDB2; level++) {
        uint64_t va = VA + (1ull << 40) * level;
        uint64_t slot, entry;

        slot = qvgpu_space_slot(&w.space, va, VGPU_LEVEL_PTB);
        slot = qvgpu_space_slot(&w.space, va, level);
        entry = qtest_readq(w.v->qts, slot) & ~VGPU_PTE_ADDR;
        for (i = 0; i < ARRAY_SIZE(nowhere); i++) {
            qtest_writeq(w.v->qts, slot, entry | nowhere[i]);
            qvgpu_invalidate(w.v, 1u << VMID);
            expect_fault(&w, va, false, level == VGPU_LEVEL_PDB0 ?
                         VGPU_WALKER_NACK : VGPU_WALKER_PDE);
            expect_fault(&w, va, true, level == VGPU_LEVEL_PDB0 ?
                         VGPU_WALKER_NACK : VGPU_WALKER_PDE);
        }
    }
    qvgpu_stop(w.v);
}

/* Catches: a page behind VRAM's end, or a root that is no memory. */
static void test_pages_nowhere(void)
{
    Walker w;
    QVGPUSpace other;
    QVGPUQueue q;
    QVGPUIrq irq;

    walker_start(&w);
    qvgpu_space_set(&w.space, VA, VGPU_LEVEL_PTB,
                    LEAF(w.v->vram_size));
    qvgpu_space_set(&w.space, VA + QVGPU_PAGE, VGPU_LEVEL_PTB,
                    LEAF(VGPU_PTE_ADDR));
    expect_fault(&w, VA + QVGPU_PAGE - 8, false, VGPU_WALKER_NACK);
    expect_fault(&w, VA, true, VGPU_WALKER_NACK);
    expect_fault(&w, VA + QVGPU_PAGE, false, VGPU_WALKER_NACK);

    /* A root that leads nowhere: the ring itself cannot be read. */
    qvgpu_space_init(&other, w.v, 3, QVGPU_VRAM);
    qvgpu_queue_init(&q, w.v, 1, SDMA_QUEUE_RLC(0), &other);
    qvgpu_mm_wr64(w.v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(3),
                  VGPU_PDE_VALID | VGPU_PTE_ADDR);
    qvgpu_queue_load(&q);
    qvgpu_pkt_fence(&q, q.ring_va, 1);
    qvgpu_kick(&q);
    qvgpu_ih_next_fault(w.v, 3, q.ring_va, false, false);
    /* It reads NOPs, and the rest of the device goes on. */
    qvgpu_wait_until(qvgpu_queue_idle(&q));
    while (qvgpu_ih_pending(w.v)) {
        qvgpu_ih_next(w.v, &irq);
        g_assert_cmpuint(irq.vmid, ==, 3);
    }
    qvgpu_mm_wr(w.v, VM_L2_PROTECTION_FAULT_CNTL, 0x3ffc |
                VM_L2_PROTECTION_FAULT_CNTL__CLEAR_STATUS_ADDR);
    expect_fault(&w, VA, true, VGPU_WALKER_NACK);
    qvgpu_stop(w.v);
}

/* Catches: a walk that follows a table into itself for ever. */
static void test_self_reference(void)
{
    Walker w;
    uint64_t table, va = 0x550000000000ull;
    unsigned i;

    walker_start(&w);
    table = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    /* Every entry is good as a PDE, as a PDB0 entry and, alas, as a PTE. */
    for (i = 0; i < VGPU_PT_ENTRIES; i++) {
        qtest_writeq(w.v->qts, table + 8 * i,
                     qvgpu_entry(w.v, table, LEAF(VGPU_PTE_TF) |
                                 VGPU_PREP(VGPU_PDE_BFS, (uint64_t)9)));
    }
    qvgpu_space_set(&w.space, va, VGPU_LEVEL_PDB2,
                    qvgpu_entry(w.v, table, VGPU_PDE_VALID));
    copy(&w, va + 0x7654321000, w.dst_va, QVGPU_PAGE);
    /* Four steps end in the table itself, read as a page. */
    for (i = 0; i < VGPU_PT_ENTRIES; i++) {
        g_assert_cmphex(qtest_readq(w.v->qts, w.dst + 8 * i), ==,
                        qtest_readq(w.v->qts, table + 8 * i));
    }
    qvgpu_stop(w.v);
}

/* Catches: a PDB1 without "block fragment size" that is taken all the same. */
static void test_pdb1_without_bfs(void)
{
    Walker w;
    uint64_t slot, entry, page;

    walker_start(&w);
    page = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA, page, QVGPU_PAGE);
    slot = qvgpu_space_slot(&w.space, VA, VGPU_LEVEL_PDB1);
    entry = qtest_readq(w.v->qts, slot);
    qtest_writeq(w.v->qts, slot, entry & ~VGPU_PDE_BFS);
    expect_fault(&w, VA, false, VGPU_WALKER_PDE);
    qtest_writeq(w.v->qts, slot, entry);
    qvgpu_fill(w.v, page, 12, 0, QVGPU_PAGE);
    expect_at(&w, VA, 12, 0, QVGPU_PAGE);
    qvgpu_stop(w.v);
}

/* Catches: START or END that is not looked at, or is off by one page. */
static void test_range(void)
{
    Walker w;
    uint64_t page;
    const uint64_t first = VA, last = VA + 7 * QVGPU_PAGE;
    QVGPUQueue kq;

    walker_start(&w);
    page = qvgpu_alloc(w.v, QVGPU_VRAM, 10 * QVGPU_PAGE, QVGPU_PAGE);
    qvgpu_space_map(&w.space, VA - QVGPU_PAGE, page, 10 * QVGPU_PAGE);
    qvgpu_fill(w.v, page, 13, 0, 10 * QVGPU_PAGE);
    expect_at(&w, VA - QVGPU_PAGE, 13, 0, 10 * QVGPU_PAGE);
    /* Ring and destination inside of the range now. */
    qvgpu_queue_disable(&w.q);
    qvgpu_mm_wr64(w.v, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(VMID),
                  first >> 12);
    qvgpu_invalidate(w.v, 1u << VMID);
    qvgpu_queue_load(&w.q);
    expect_at(&w, first, 13, QVGPU_PAGE, 8 * QVGPU_PAGE);
    expect_fault(&w, first - 8, false, VGPU_WALKER_RANGE);
    expect_fault(&w, first - 8, true, VGPU_WALKER_RANGE);

    /* END below the ring: even the ring is out; VMID 0 is not concerned. */
    qvgpu_mm_wr64(w.v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(VMID), last >> 12);
    qvgpu_invalidate(w.v, 1u << VMID);
    qvgpu_pkt_fence(&w.q, VA, 0);
    qvgpu_kick(&w.q);
    qvgpu_ih_next_fault(w.v, VMID, w.q.ring_va, false, false);
    qvgpu_queue_open(&kq, w.v, 0, SDMA_QUEUE_GFX, NULL);
    qvgpu_engine_pass(&kq);
    qvgpu_expect(w.v, page, 13, 0, 10 * QVGPU_PAGE);
    qvgpu_stop(w.v);
}

/* Catches: a context that translates while it is off. */
static void test_context_off(void)
{
    static const uint32_t off[][2] = {
        { VM_CONTEXT_CNTL(VMID), 0 },
        { VM_CONTEXTS_DISABLE, 1u << VMID },
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(off); i++) {
        Walker w;
        uint32_t status;

        walker_start(&w);
        qvgpu_fill(w.v, w.dst, 14, 0, QVGPU_PAGE);
        qvgpu_mm_wr(w.v, off[i][0], off[i][1]);
        qvgpu_invalidate(w.v, 1u << VMID);
        qvgpu_pkt_fence(&w.q, w.dst_va, 0);
        qvgpu_kick(&w.q);
        qvgpu_ih_next_fault(w.v, VMID, w.q.ring_va, false, false);
        status = qvgpu_mm_rd(w.v, VM_L2_PROTECTION_FAULT_STATUS);
        g_assert_cmpuint(VGPU_GET(status,
                         VM_L2_PROTECTION_FAULT_STATUS__WALKER_ERROR), ==,
                         VGPU_WALKER_RANGE);
        qvgpu_expect(w.v, w.dst, 14, 0, QVGPU_PAGE);
        qvgpu_stop(w.v);
    }
}

/* Catches: FB_OFFSET that is forgotten in directories or in leaves. */
static void test_fb_offset(void)
{
    Walker w;
    uint64_t page;
    QVGPUSpace space;

    walker_start(&w);
    qvgpu_queue_disable(&w.q);
    qvgpu_mm_wr(w.v, MC_VM_FB_OFFSET, 0x10);
    qvgpu_invalidate(w.v, 0xffff);
    /* Tables anew: entries carry the offset now. */
    qvgpu_space_init(&space, w.v, VMID, QVGPU_VRAM);
    qvgpu_space_set_retry(&space, false);
    w.space = space;
    qvgpu_queue_open(&w.q, w.v, 0, SDMA_QUEUE_RLC(0), &w.space);
    w.dst_va = qvgpu_space_place(&w.space, w.dst, 64 * KiB);
    page = qvgpu_alloc(w.v, QVGPU_VRAM, QVGPU_PAGE, QVGPU_PAGE);
    g_assert_cmphex(qvgpu_entry(w.v, page, 0), >, 0x10000000);
    qvgpu_space_map(&w.space, VA, page, QVGPU_PAGE);
    qvgpu_fill(w.v, page, 15, 0, QVGPU_PAGE);
    expect_at(&w, VA, 15, 0, QVGPU_PAGE);
    /* Below the offset there is nothing. */
    qvgpu_space_set(&w.space, VA + QVGPU_PAGE, VGPU_LEVEL_PTB,
                    LEAF(0x10000000 - QVGPU_PAGE));
    expect_fault(&w, VA + QVGPU_PAGE, false, VGPU_WALKER_NACK);
    qvgpu_stop(w.v);
}

void qvgpu_add_walker_tests(void)
{
    qtest_add_func("/vgpu-kfd/walker/small-pages", test_small_pages);
    qtest_add_func("/vgpu-kfd/walker/crossing-levels", test_crossing_levels);
    qtest_add_func("/vgpu-kfd/walker/2m-leaf", test_2m_leaf);
    qtest_add_func("/vgpu-kfd/walker/huge-leaves", test_huge_leaves);
    qtest_add_func("/vgpu-kfd/walker/mixed-sizes", test_mixed_sizes);
    qtest_add_func("/vgpu-kfd/walker/unaligned-leaf", test_unaligned_leaf);
    qtest_add_func("/vgpu-kfd/walker/tables-in-ram", test_tables_in_ram);
    qtest_add_func("/vgpu-kfd/walker/vmids-apart", test_vmids_apart);
    qtest_add_func("/vgpu-kfd/walker/permissions", test_permissions);
    qtest_add_func("/vgpu-kfd/walker/prt", test_prt);
    qtest_add_func("/vgpu-kfd/walker/invalid-at-each-level",
                   test_invalid_at_each_level);
    qtest_add_func("/vgpu-kfd/walker/tables-nowhere", test_tables_nowhere);
    qtest_add_func("/vgpu-kfd/walker/pages-nowhere", test_pages_nowhere);
    qtest_add_func("/vgpu-kfd/walker/self-reference", test_self_reference);
    qtest_add_func("/vgpu-kfd/walker/pdb1-without-bfs",
                   test_pdb1_without_bfs);
    qtest_add_func("/vgpu-kfd/walker/range", test_range);
    qtest_add_func("/vgpu-kfd/walker/context-off", test_context_off);
    qtest_add_func("/vgpu-kfd/walker/fb-offset", test_fb_offset);
}
