/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: builds page tables, invalidates translations.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"

/* the invalidation engine that amdgpu uses */
#define INV_ENGINE      17
#define PLACE_AT        0x7f0000000000ull

uint64_t qvgpu_entry(QVGPU *v, uint64_t addr, uint64_t flags)
{
    if (qvgpu_is_vram(v, addr)) {
        return flags | (addr - v->bar[VGPU_BAR_VRAM] +
                        ((uint64_t)qvgpu_mm_rd(v, MC_VM_FB_OFFSET) << 24));
    }
    return flags | VGPU_PTE_SYSTEM | VGPU_PTE_SNOOPED | addr;
}

void qvgpu_mm_wr64(QVGPU *v, uint32_t lo, uint64_t val)
{
    qvgpu_mm_wr(v, lo, val);
    qvgpu_mm_wr(v, lo + 1, val >> 32);
}

uint64_t qvgpu_mm_rd64(QVGPU *v, uint32_t lo)
{
    return qvgpu_mm_rd(v, lo) | (uint64_t)qvgpu_mm_rd(v, lo + 1) << 32;
}

void qvgpu_space_set_retry(QVGPUSpace *s, bool retry)
{
    qvgpu_mm_wr(s->v, VM_CONTEXT_CNTL(s->vmid),
                VM_CONTEXT_CNTL__ENABLE_CONTEXT |
                VGPU_PREP(VM_CONTEXT_CNTL__PAGE_TABLE_DEPTH, 2u) |
                VM_CONTEXT_CNTL__ALL_INTERRUPTS |
                VM_CONTEXT_CNTL__ALL_DEFAULTS |
                (retry ? VM_CONTEXT_CNTL__RETRY_PERMISSION_OR_INVALID : 0));
}

void qvgpu_space_init(QVGPUSpace *s, QVGPU *v, unsigned vmid,
                      QVGPUKind tables)
{
    *s = (QVGPUSpace) {
        .v = v,
        .vmid = vmid,
        .tables = tables,
        .root = qvgpu_alloc(v, tables, QVGPU_PAGE, QVGPU_PAGE),
        .next_va = PLACE_AT,
    };
    qvgpu_mm_wr64(v, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid),
                  qvgpu_entry(v, s->root, VGPU_PDE_VALID));
    qvgpu_mm_wr64(v, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(vmid), 0);
    qvgpu_mm_wr64(v, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(vmid),
                  (1ull << (VGPU_VA_BITS - VGPU_PAGE_SHIFT)) - 1);
    qvgpu_space_set_retry(s, true);
}

/*
 * Return the flags of an entry at @level that points to the table of the next
 * lower level.
 */
static uint64_t directory_flags(unsigned level)
{
    switch (level) {
    case VGPU_LEVEL_PDB1:
        return VGPU_PDE_VALID | VGPU_PREP(VGPU_PDE_BFS, (uint64_t)9);
    case VGPU_LEVEL_PDB0:
        return VGPU_PTE_VALID | VGPU_PTE_TF;
    default:
        return VGPU_PDE_VALID;
    }
}

static uint64_t slot_in(uint64_t table, uint64_t va, unsigned level)
{
    return table + (va >> VGPU_LEVEL_SHIFT(level)) % VGPU_PT_ENTRIES * 8;
}

/* Return the CPU address of the page table to which @entry points. */
static uint64_t table_of(QVGPU *v, uint64_t entry)
{
    uint64_t addr = entry & VGPU_PTE_ADDR;

    if (entry & VGPU_PTE_SYSTEM) {
        return addr;
    }
    return addr - ((uint64_t)qvgpu_mm_rd(v, MC_VM_FB_OFFSET) << 24) +
           v->bar[VGPU_BAR_VRAM];
}

uint64_t qvgpu_space_slot(QVGPUSpace *s, uint64_t va, unsigned level)
{
    uint64_t table = s->root;
    unsigned l;

    for (l = VGPU_LEVEL_PDB2; l > level; l--) {
        uint64_t slot = slot_in(table, va, l);
        uint64_t entry = qtest_readq(s->v->qts, slot);

        if (!(entry & VGPU_PTE_VALID)) {
            entry = qvgpu_entry(s->v,
                                qvgpu_alloc(s->v, s->tables, QVGPU_PAGE,
                                            QVGPU_PAGE),
                                directory_flags(l));
            qtest_writeq(s->v->qts, slot, entry);
        }
        table = table_of(s->v, entry);
    }
    return slot_in(table, va, level);
}

void qvgpu_space_set(QVGPUSpace *s, uint64_t va, unsigned level,
                     uint64_t entry)
{
    qtest_writeq(s->v->qts, qvgpu_space_slot(s, va, level), entry);
}

void qvgpu_space_map(QVGPUSpace *s, uint64_t va, uint64_t addr, uint64_t len)
{
    uint64_t off = ROUND_UP(len, QVGPU_PAGE);

    /*
     * Map the last page first. A copy that stalls on the first page may
     * continue as soon as that page is mapped, and must not fault on a later
     * page.
     */
    while (off) {
        off -= QVGPU_PAGE;
        qvgpu_space_set(s, va + off, VGPU_LEVEL_PTB,
                        qvgpu_entry(s->v, addr + off, QVGPU_PTE_RW));
    }
}

uint64_t qvgpu_space_place(QVGPUSpace *s, uint64_t addr, uint64_t len)
{
    uint64_t first = QEMU_ALIGN_DOWN(addr, QVGPU_PAGE);
    uint64_t span = ROUND_UP(addr + len, QVGPU_PAGE) - first;
    uint64_t va = s->next_va;

    qvgpu_space_map(s, va, first, span);
    /* Leave an unmapped page between this mapping and the next. */
    s->next_va += span + QVGPU_PAGE;
    return va + addr - first;
}

static void invalidate(QVGPU *v, uint64_t range, uint32_t vmids)
{
    qvgpu_mm_wr64(v, VM_INVALIDATE_ENG_ADDR_RANGE_LO32(INV_ENGINE), range);
    qvgpu_mm_wr(v, VM_INVALIDATE_ENG_REQ(INV_ENGINE),
                vmids | VM_INVALIDATE_ENG_REQ__L2_PTES |
                VM_INVALIDATE_ENG_REQ__L2_PDE0 |
                VM_INVALIDATE_ENG_REQ__L2_PDE1 |
                VM_INVALIDATE_ENG_REQ__L2_PDE2 |
                VM_INVALIDATE_ENG_REQ__L1_PTES);
    vmids &= VM_INVALIDATE_ENG_REQ__PER_VMID;
    qvgpu_wait_until((qvgpu_mm_rd(v, VM_INVALIDATE_ENG_ACK(INV_ENGINE)) &
                      vmids) == vmids);
}

void qvgpu_invalidate(QVGPU *v, uint32_t vmids)
{
    invalidate(v, VM_INVALIDATE_ENG_ADDR_RANGE__PAGE |
               VM_INVALIDATE_ENG_ADDR_RANGE__S, vmids);
}

void qvgpu_invalidate_range(QVGPU *v, uint32_t vmids, uint64_t va,
                            unsigned order)
{
    uint64_t range = va >> VGPU_PAGE_SHIFT << 1;

    if (order) {
        /*
         * Set field S (bit 0) and the low @order - 1 bits of field PAGE (from
         * bit 1). Such a range has 2^@order pages.
         */
        range |= ((1ull << order) - 1);
    }
    invalidate(v, range, vmids);
}
