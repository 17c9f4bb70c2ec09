/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: page-table walks. VMID 0 has apertures and a flat table. VMIDs 1 to
 * 15 have the four levels of tables in include/vgpu/pte.h.
 */
#include "qemu/osdep.h"
#include "vgpu/bits.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/phys.h"
#include "hw/misc/vgpu-kfd/memory/span.h"
#include "hw/misc/vgpu-kfd/memory/tlb-priv.h"

#define ACCESS_BITS \
    (VGPU_PTE_EXECUTABLE | VGPU_PTE_READABLE | VGPU_PTE_WRITEABLE)
/* log2 of the number of PTEs in a cache line */
#define LINE_SHIFT      3

/* walk_coalesce() multiplies blocks by a line, up to the entries of a PTB. */
QEMU_BUILD_BUG_ON(VGPU_PT_SHIFT % LINE_SHIFT);

static uint32_t hub_reg(VGPUClient *c, unsigned off)
{
    return vgpu_hub_load(c->tlb->hub, off);
}

static uint64_t hub_reg64(VGPUClient *c, unsigned lo)
{
    return vgpu_hub_load64(c->tlb->hub, lo);
}

static uint64_t hub_reg_mb16(VGPUClient *c, unsigned off)
{
    return (uint64_t)hub_reg(c, off) << 24;
}

static VGPULeaf walk_fault(VGPUTargetKind kind, unsigned error, uint16_t fault)
{
    return (VGPULeaf) {
        .kind = kind, .error = error, .fault = fault, .shift = VGPU_PAGE_SHIFT,
    };
}

/*
 * Return the class of a fault at an entry of a table of @level. With "translate
 * further", the chip reports PDB0 faults as PTE faults.
 */
static uint16_t walk_fault_class(unsigned level)
{
    switch (level) {
    case VGPU_LEVEL_PDB2:
        return VGPU_FAULT_CLASS(PDE1);
    case VGPU_LEVEL_PDB1:
        return VGPU_FAULT_CLASS(PDE0);
    default:
        return VGPU_FAULT_CLASS(VALID);
    }
}

VGPUTargetKind vgpu_page_walk_fault_kind(VGPUClient *c, unsigned vmid)
{
    return vmid && (hub_reg(c, VM_CONTEXT_CNTL(vmid)) &
                    VM_CONTEXT_CNTL__RETRY_PERMISSION_OR_INVALID) ?
           VGPU_TARGET_RETRY : VGPU_TARGET_FAULT;
}

/*
 * Convert *@addr from an offset in the hive's VRAM to an offset in this
 * device's VRAM, and return VGPU_TARGET_VRAM. Exception: in a hive, if some of
 * the @len bytes are not in this device's VRAM, return VGPU_TARGET_PEER and
 * leave *@addr unchanged.
 */
static VGPUTargetKind walk_vram_target(VGPUState *s, uint64_t *addr,
                                       uint64_t len)
{
    const VGPUMemory *m = s->memory;
    uint64_t off = *addr - m->vram_base;

    if (m->hive && (*addr < m->vram_base || off >= s->vram_size ||
                    len > s->vram_size - off)) {
        return VGPU_TARGET_PEER;
    }
    /* Without a hive, vram_base is 0, so *@addr does not change. */
    *addr = off;
    return VGPU_TARGET_VRAM;
}

/*
 * Set *@kind to the kind of memory to which @entry points, for an access to
 * @len bytes at *@addr. Convert *@addr to the address that VGPUTargetKind
 * describes for this kind. Return false if @entry points to VRAM and *@addr is
 * below VRAM.
 */
static bool walk_entry_target(VGPUClient *c, uint64_t entry, uint64_t len,
                              uint64_t *addr, VGPUTargetKind *kind)
{
    uint64_t fb_offset = hub_reg_mb16(c, MC_VM_FB_OFFSET);

    if (entry & VGPU_PTE_SYSTEM) {
        *kind = VGPU_TARGET_BUS;
        return true;
    }
    if (*addr < fb_offset) {
        *kind = VGPU_TARGET_VRAM;
        return false;
    }
    /* phys.c detects addresses above VRAM. */
    *addr -= fb_offset;
    *kind = walk_vram_target(c->s, addr, len);
    return true;
}

/*
 * Return true if a walk ends at @entry of a table of @level, with a leaf or a
 * fault.
 */
static bool walk_entry_is_leaf(unsigned level, uint64_t entry)
{
    switch (level) {
    case VGPU_LEVEL_PTB:
        return true;
    case VGPU_LEVEL_PDB0:
        /*
         * Entries of PDB0 have the format of a PTE. The walk ends at an entry
         * that is invalid, that has no TF (translate further), or that is a
         * no-retry entry.
         */
        return !(entry & VGPU_PTE_VALID) || !(entry & VGPU_PTE_TF) ||
               (entry & VGPU_PTE_NORETRY) == VGPU_PTE_NORETRY;
    default:
        return !(entry & VGPU_PDE_VALID) || (entry & VGPU_PDE_PTE);
    }
}

/*
 * Set *@entry to entry @index of the table of @level to which @pde points. The
 * walk translates @va. Return VGPU_PHYS_OK, or why there is no entry.
 */
static VGPUPhys walk_load_entry(VGPUClient *c, unsigned vmid, uint64_t va,
                                unsigned level, uint64_t pde, uint64_t index,
                                uint64_t *entry)
{
    uint64_t addr = pde & VGPU_PDE_ADDR;
    VGPUTargetKind kind;
    VGPUPhys found;

    if (!walk_entry_target(c, pde, VGPU_PAGE_SIZE, &addr, &kind)) {
        return VGPU_PHYS_NONE;
    }
    if (kind == VGPU_TARGET_PEER) {
        vgpu_xgmi_inject_down(c->s,
                              vgpu_client_site(c, vmid, addr + index * 8));
    }
    found = vgpu_phys_load64(c->s, c->iotlb, kind, addr + index * 8, entry);
    if (found != VGPU_PHYS_OK) {
        return found;
    }
    if (vgpu_inject_armed(c->s, VGPU_INJECT_PTES)) {
        VGPUSite site = vgpu_client_site(c, vmid, va);

        *entry = vgpu_inject_pte(c->s, &site, kind, addr + index * 8, *entry,
                                 walk_entry_is_leaf(level, *entry));
    }
    return VGPU_PHYS_OK;
}

/*
 * Return the result of a walk that could not read a page-table entry. @found
 * is the reason.
 */
static VGPULeaf walk_no_entry(VGPUPhys found, unsigned error, uint16_t fault)
{
    return walk_fault(found == VGPU_PHYS_WAIT ? VGPU_TARGET_WAIT
                                              : VGPU_TARGET_FAULT,
                      error, fault);
}

/*
 * The walk ends at the page-table entry @pte. @level is the level of the table
 * that holds @pte. Return the leaf or the fault that @pte gives.
 */
static VGPULeaf walk_leaf_from_pte(VGPUClient *c, unsigned vmid, uint64_t pte,
                                   unsigned level)
{
    VGPULeaf leaf = { .shift = VGPU_LEVEL_SHIFT(level) };

    if (vmid && (pte & VGPU_PTE_NORETRY) == VGPU_PTE_NORETRY) {
        return walk_fault(VGPU_TARGET_FAULT, VGPU_WALKER_OK,
                          walk_fault_class(level));
    }
    if (!(pte & VGPU_PTE_VALID)) {
        if (!(pte & VGPU_PTE_PRT)) {
            return walk_fault(vgpu_page_walk_fault_kind(c, vmid),
                              VGPU_WALKER_OK, walk_fault_class(level));
        }
        leaf.kind = VGPU_TARGET_ZERO;
        leaf.flags = ACCESS_BITS;
        return leaf;
    }
    leaf.addr = pte & VGPU_PTE_ADDR & ~((1ull << leaf.shift) - 1);
    leaf.flags = (pte & VGPU_LEAF_ENTRY) |
                 VGPU_PREP(VGPU_LEAF_MTYPE,
                           (uint16_t)VGPU_GET(pte, VGPU_PTE_MTYPE));
    if (!walk_entry_target(c, pte, 1ull << leaf.shift, &leaf.addr,
                           &leaf.kind)) {
        return walk_fault(VGPU_TARGET_FAULT, VGPU_WALKER_NACK,
                          VGPU_FAULT_CLASS(NACK));
    }
    return leaf;
}

/*
 * Return true if tlb->last_ptb has the PTB that translates @va. Return false
 * while an injection may act on a read of a table: each walk then has to read
 * all tables.
 */
static bool walk_has_ptb(VGPUClient *c, unsigned vmid, uint64_t va,
                         uint32_t gen)
{
    const VGPULastPtb *last = &c->tlb->last_ptb;

    return last->valid && last->vmid == vmid && last->gen == gen &&
           last->number == va >> VGPU_LEVEL_SHIFT(VGPU_LEVEL_PDB0) &&
           !vgpu_inject_armed(c->s, VGPU_INJECT_PTES |
                                    1u << VGPU_INJECT_KIND_XGMI_DOWN);
}

/*
 * Walk the page tables of @vmid. For VMID 0, use walk_vmid0(). The walk ends at
 * the PTB at the latest, even if tables point to each other. @gen is the value
 * of VGPUHub.gen[vmid] before the walk.
 */
static VGPULeaf walk_page_tables(VGPUClient *c, unsigned vmid, uint64_t va,
                                 uint32_t gen)
{
    uint64_t entry = hub_reg64(c, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid));
    unsigned level = VGPU_LEVEL_PDB2;

    if (walk_has_ptb(c, vmid, va, gen)) {
        entry = c->tlb->last_ptb.pde;
        level = VGPU_LEVEL_PTB;
    } else if (!(entry & VGPU_PDE_VALID)) {
        return walk_fault(vgpu_page_walk_fault_kind(c, vmid), VGPU_WALKER_PDE,
                          VGPU_FAULT_CLASS(PDE2));
    }
    for (;; level--) {
        uint64_t index = va >> VGPU_LEVEL_SHIFT(level) & (VGPU_PT_ENTRIES - 1);
        VGPUPhys found = walk_load_entry(c, vmid, va, level, entry, index,
                                         &entry);

        if (found != VGPU_PHYS_OK) {
            return walk_no_entry(found, level == VGPU_LEVEL_PTB ?
                                        VGPU_WALKER_NACK : VGPU_WALKER_PDE,
                                 VGPU_FAULT_CLASS(NACK));
        }
        if (walk_entry_is_leaf(level, entry)) {
            return walk_leaf_from_pte(c, vmid, entry, level);
        }
        if (level == VGPU_LEVEL_PDB1 &&
            VGPU_GET(entry, VGPU_PDE_BFS) != VGPU_PT_SHIFT) {
            return walk_fault(VGPU_TARGET_FAULT, VGPU_WALKER_PDE,
                              VGPU_FAULT_CLASS(PDE0));
        }
        if (level == VGPU_LEVEL_PDB0) {
            c->tlb->last_ptb = (VGPULastPtb) {
                .valid = true, .vmid = vmid, .gen = gen, .pde = entry,
                .number = va >> VGPU_LEVEL_SHIFT(VGPU_LEVEL_PDB0),
            };
        }
    }
}

/* Return true if context @vmid is enabled and translates the page of @va. */
static bool walk_in_context(VGPUClient *c, unsigned vmid, uint64_t va)
{
    uint64_t page = va >> VGPU_PAGE_SHIFT;

    return (hub_reg(c, VM_CONTEXT_CNTL(vmid)) &
            VM_CONTEXT_CNTL__ENABLE_CONTEXT) &&
           !(hub_reg(c, VM_CONTEXTS_DISABLE) & (1u << vmid)) &&
           page >= hub_reg64(c, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(vmid)) &&
           page <= hub_reg64(c, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(vmid));
}

/*
 * Return true if any of the @len bytes at @va is in the system aperture.
 * Accesses of VMID 0 to that aperture, outside of VRAM and the AGP window, go
 * to the aperture's default page.
 */
static bool walk_meets_system_aperture(VGPUClient *c, uint64_t va,
                                       uint64_t len)
{
    uint64_t low = hub_reg(c, MC_VM_SYSTEM_APERTURE_LOW_ADDR);
    uint64_t high = hub_reg(c, MC_VM_SYSTEM_APERTURE_HIGH_ADDR);

    return high > low && va + (len - 1) >= low << 18 && va < (high + 1) << 18;
}

/*
 * Return true if the @n entries at offset @block of VRAM map contiguous bus
 * addresses from @base on, and have the flags of @entry.
 */
static bool walk_block_is_contiguous(VGPUState *s, uint64_t block, unsigned n,
                                     uint64_t base, uint64_t entry)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        /*
         * Test the first entry, then the others from the last one on. In a
         * block of several runs, the ends are the likeliest to differ.
         */
        unsigned k = i ? n - i : 0;
        uint64_t other;

        if (vgpu_phys_load64(s, NULL, VGPU_TARGET_VRAM,
                             block + k * sizeof(other), &other) !=
            VGPU_PHYS_OK ||
            (other ^ entry) & ~VGPU_PTE_ADDR ||
            (other & VGPU_PTE_ADDR) != base + k * VGPU_PAGE_SIZE) {
            return false;
        }
    }
    return true;
}

/*
 * Extend @leaf, from entry @index of VMID 0's @table, to an aligned block of 8,
 * 64 or 512 entries if these map contiguous bus addresses with equal flags.
 * This saves walks and TLB entries. The table has entries 0 to @last; @start
 * is the page number of the first one.
 */
static void walk_coalesce(VGPUClient *c, uint64_t table, uint64_t start,
                          uint64_t last, uint64_t index, uint64_t entry,
                          VGPULeaf *leaf)
{
    uint64_t addr = entry & VGPU_PTE_ADDR;
    unsigned order;

    if (leaf->kind != VGPU_TARGET_BUS ||
        vgpu_inject_armed(c->s, VGPU_INJECT_PTES)) {
        return;
    }
    for (order = LINE_SHIFT; order <= VGPU_PT_SHIFT; order += LINE_SHIFT) {
        uint64_t mask = (1ull << order) - 1;
        uint64_t before = (index & mask) * VGPU_PAGE_SIZE;
        uint64_t va = (start + (index & ~mask)) << VGPU_PAGE_SHIFT;
        uint64_t block = (table & VGPU_PDE_ADDR) +
                         (index & ~mask) * sizeof(entry);
        VGPUTargetKind kind;

        /*
         * The TLB is searched before the apertures are compared, so a leaf must
         * not reach into one. VRAM and the AGP window have units of 16 MiB, so
         * no block extends over their ends. The system aperture has units of
         * 256 KiB.
         */
        if ((start & mask) || (index | mask) > last || addr < before ||
            walk_meets_system_aperture(c, va,
                                       (uint64_t)VGPU_PAGE_SIZE << order) ||
            !walk_entry_target(c, table & ~VGPU_PDE_ADDR,
                               sizeof(entry) << order, &block, &kind) ||
            kind != VGPU_TARGET_VRAM ||
            !walk_block_is_contiguous(c->s, block, 1u << order, addr - before,
                                      entry)) {
            return;
        }
        leaf->addr = addr - before;
        leaf->shift = VGPU_PAGE_SHIFT + order;
    }
}

static VGPULeaf walk_vmid0(VGPUClient *c, uint64_t va)
{
    uint64_t fb = hub_reg_mb16(c, MC_VM_FB_LOCATION_BASE);
    uint64_t fb_last = hub_reg_mb16(c, MC_VM_FB_LOCATION_TOP) | 0xffffff;
    uint64_t agp = hub_reg_mb16(c, MC_VM_AGP_BOT);
    uint64_t agp_last = hub_reg_mb16(c, MC_VM_AGP_TOP) | 0xffffff;
    uint64_t start, last, table, index, entry;
    VGPUPhys found = VGPU_PHYS_NONE;
    VGPULeaf leaf;

    if (va >= fb && va <= fb_last) {
        uint64_t size = c->s->vram_size, addr = va - fb;
        VGPUTargetKind kind = walk_vram_target(c->s, &addr, 1);

        if (kind == VGPU_TARGET_VRAM && addr >= size) {
            return walk_fault(VGPU_TARGET_FAULT, VGPU_WALKER_NACK,
                              VGPU_FAULT_CLASS(NACK));
        }
        return (VGPULeaf) {
            .kind = kind,
            .addr = addr,
            .left = MIN(fb_last - va + 1, size - addr % size),
        };
    }
    if (va >= agp && va <= agp_last) {
        return (VGPULeaf) {
            .kind = VGPU_TARGET_BUS,
            .addr = hub_reg_mb16(c, MC_VM_AGP_BASE) + (va - agp),
            .left = agp_last - va + 1,
        };
    }
    if (walk_meets_system_aperture(c, va, 1)) {
        uint64_t off = va & (VGPU_PAGE_SIZE - 1);

        leaf = (VGPULeaf) {
            .left = VGPU_PAGE_SIZE - off,
            .addr = (hub_reg64(c, MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB)
                     << VGPU_PAGE_SHIFT) + off,
        };

        if (!walk_entry_target(c, 0, VGPU_PAGE_SIZE, &leaf.addr, &leaf.kind)) {
            return walk_fault(VGPU_TARGET_FAULT, VGPU_WALKER_NACK,
                              VGPU_FAULT_CLASS(NACK));
        }
        return leaf;
    }
    if (!walk_in_context(c, 0, va)) {
        return walk_fault(VGPU_TARGET_FAULT, VGPU_WALKER_RANGE,
                          VGPU_FAULT_CLASS(RANGE));
    }
    start = hub_reg64(c, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(0));
    last = hub_reg64(c, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(0));
    table = hub_reg64(c, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(0));
    index = (va >> VGPU_PAGE_SHIFT) - start;
    if (table & VGPU_PDE_VALID) {
        found = walk_load_entry(c, 0, va, VGPU_LEVEL_PTB, table, index, &entry);
    }
    if (found != VGPU_PHYS_OK) {
        return walk_no_entry(found, VGPU_WALKER_PDE, VGPU_FAULT_CLASS(PDE0));
    }
    leaf = walk_leaf_from_pte(c, 0, entry, VGPU_LEVEL_PTB);
    walk_coalesce(c, table, start, last - start, index, entry, &leaf);
    return leaf;
}

VGPULeaf vgpu_page_walk(VGPUClient *c, unsigned vmid, uint64_t va,
                        uint32_t gen)
{
    if (!vmid) {
        return walk_vmid0(c, va);
    }
    if (va >> VGPU_VA_BITS || !walk_in_context(c, vmid, va)) {
        return walk_fault(VGPU_TARGET_FAULT, VGPU_WALKER_RANGE,
                          VGPU_FAULT_CLASS(RANGE));
    }
    return walk_page_tables(c, vmid, va, gen);
}
