/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: address translation through the MM hub. VMID 0 has apertures and a
 * flat table, VMIDs 1-15 have the tree of include/vgpu/pte.h.
 */
#include "qemu/osdep.h"
#include "vgpu-kfd.h"
#include "trace.h"

#define ACCESS_BITS     (VGPU_PTE_READABLE | VGPU_PTE_WRITEABLE)

/* Where an address leads: a stretch of the address space, or a fault. */
typedef struct VGPULeaf {
    VGPUTargetKind kind;
    uint8_t shift;              /* of its size; 0: an aperture, see left */
    uint8_t perm;
    uint8_t error;              /* VGPU_WALKER_* */
    uint64_t addr;              /* of the leaf's first byte; aperture: of va */
    uint64_t left;              /* aperture: bytes from va on */
} VGPULeaf;

static uint32_t mm_reg(VGPUState *s, unsigned off)
{
    return vgpu_hub_reg(s, VGPU_HUB_MM, off);
}

static uint64_t mm_reg64(VGPUState *s, unsigned lo)
{
    return vgpu_hub_reg64(s, VGPU_HUB_MM, lo);
}

static uint64_t mm_reg_mb16(VGPUState *s, unsigned off)
{
    return (uint64_t)mm_reg(s, off) << 24;
}

static VGPULeaf leaf_fault(VGPUTargetKind kind, unsigned error)
{
    return (VGPULeaf) {
        .kind = kind, .error = error, .shift = VGPU_PAGE_SHIFT,
    };
}

/* What an entry that does not allow the access means. */
static VGPUTargetKind fault_kind(VGPUState *s, unsigned vmid)
{
    return vmid && (mm_reg(s, VM_CONTEXT_CNTL(vmid)) &
                    VM_CONTEXT_CNTL__RETRY_PERMISSION_OR_INVALID) ?
           VGPU_TARGET_RETRY : VGPU_TARGET_FAULT;
}

/*
 * An address in an entry is an offset in VRAM plus FB_OFFSET, or a bus address.
 * False if it lies below VRAM; phys knows whether it lies above.
 */
static bool entry_target(VGPUState *s, uint64_t entry, uint64_t *addr,
                         VGPUTargetKind *kind)
{
    uint64_t fb_offset = mm_reg_mb16(s, MC_VM_FB_OFFSET);

    if (entry & VGPU_PTE_SYSTEM) {
        *kind = VGPU_TARGET_BUS;
        return true;
    }
    *kind = VGPU_TARGET_VRAM;
    if (*addr < fb_offset) {
        return false;
    }
    *addr -= fb_offset;
    return true;
}

/* Entry @index of the table that directory entry @pde points at. */
static bool load_entry(VGPUState *s, uint64_t pde, uint64_t index,
                       uint64_t *entry)
{
    uint64_t addr = pde & VGPU_PDE_ADDR;
    VGPUTargetKind kind;

    return entry_target(s, pde, &addr, &kind) &&
           vgpu_phys_load64(s, kind, addr + index * 8, entry);
}

/* Interpret @pte as a leaf of 1 << @shift bytes. */
static VGPULeaf leaf_from_pte(VGPUState *s, unsigned vmid, uint64_t pte,
                              unsigned shift)
{
    VGPULeaf leaf = { .shift = shift };

    if (vmid && (pte & VGPU_PTE_NORETRY) == VGPU_PTE_NORETRY) {
        return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_OK);
    }
    if (!(pte & VGPU_PTE_VALID)) {
        if (!(pte & VGPU_PTE_PRT)) {
            return leaf_fault(fault_kind(s, vmid), VGPU_WALKER_OK);
        }
        leaf.kind = VGPU_TARGET_ZERO;
        leaf.perm = ACCESS_BITS;
        return leaf;
    }
    leaf.addr = pte & VGPU_PTE_ADDR & ~((1ull << shift) - 1);
    leaf.perm = pte & ACCESS_BITS;
    if (!entry_target(s, pte, &leaf.addr, &leaf.kind)) {
        return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_NACK);
    }
    return leaf;
}

/* The depth is fixed, so a walk ends whatever the tables say. */
static VGPULeaf walk_tree(VGPUState *s, unsigned vmid, uint64_t va)
{
    uint64_t entry = mm_reg64(s, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid));
    unsigned level = VGPU_LEVEL_PDB2;

    if (!(entry & VGPU_PDE_VALID)) {
        return leaf_fault(fault_kind(s, vmid), VGPU_WALKER_PDE);
    }
    for (;; level--) {
        unsigned shift = VGPU_LEVEL_SHIFT(level);
        bool leaf;

        if (!load_entry(s, entry, (va >> shift) & (VGPU_PT_ENTRIES - 1),
                        &entry)) {
            return leaf_fault(VGPU_TARGET_FAULT,
                              level == VGPU_LEVEL_PTB ? VGPU_WALKER_NACK
                                                      : VGPU_WALKER_PDE);
        }
        switch (level) {
        case VGPU_LEVEL_PTB:
            leaf = true;
            break;
        case VGPU_LEVEL_PDB0:
            /* In PTE format: without "translate further" it is a leaf. */
            leaf = !(entry & VGPU_PTE_VALID) || !(entry & VGPU_PTE_TF) ||
                   (entry & VGPU_PTE_NORETRY) == VGPU_PTE_NORETRY;
            break;
        default:
            leaf = !(entry & VGPU_PDE_VALID) || (entry & VGPU_PDE_PTE);
            break;
        }
        if (leaf) {
            return leaf_from_pte(s, vmid, entry, shift);
        }
        if (level == VGPU_LEVEL_PDB1 &&
            VGPU_GET(entry, VGPU_PDE_BFS) != VGPU_PT_SHIFT) {
            return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_PDE);
        }
    }
}

/* Is @va in the pages that context @vmid translates? */
static bool in_context(VGPUState *s, unsigned vmid, uint64_t va)
{
    uint64_t page = va >> VGPU_PAGE_SHIFT;

    return (mm_reg(s, VM_CONTEXT_CNTL(vmid)) &
            VM_CONTEXT_CNTL__ENABLE_CONTEXT) &&
           !(mm_reg(s, VM_CONTEXTS_DISABLE) & (1u << vmid)) &&
           page >= mm_reg64(s, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(vmid)) &&
           page <= mm_reg64(s, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(vmid));
}

static VGPULeaf walk_vmid0(VGPUState *s, uint64_t va)
{
    uint64_t fb = mm_reg_mb16(s, MC_VM_FB_LOCATION_BASE);
    uint64_t fb_last = mm_reg_mb16(s, MC_VM_FB_LOCATION_TOP) | 0xffffff;
    uint64_t agp = mm_reg_mb16(s, MC_VM_AGP_BOT);
    uint64_t agp_last = mm_reg_mb16(s, MC_VM_AGP_TOP) | 0xffffff;
    uint64_t start, table, entry;

    if (va >= fb && va <= fb_last) {
        if (va - fb >= s->vram_size) {
            return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_NACK);
        }
        return (VGPULeaf) {
            .kind = VGPU_TARGET_VRAM,
            .addr = va - fb,
            .left = MIN(fb_last - va + 1, s->vram_size - (va - fb)),
        };
    }
    if (va >= agp && va <= agp_last) {
        return (VGPULeaf) {
            .kind = VGPU_TARGET_BUS,
            .addr = mm_reg_mb16(s, MC_VM_AGP_BASE) + (va - agp),
            .left = agp_last - va + 1,
        };
    }
    if (!in_context(s, 0, va)) {
        return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_RANGE);
    }
    start = mm_reg64(s, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(0));
    table = mm_reg64(s, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(0));
    if (!(table & VGPU_PDE_VALID) ||
        !load_entry(s, table, (va >> VGPU_PAGE_SHIFT) - start, &entry)) {
        return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_PDE);
    }
    return leaf_from_pte(s, 0, entry, VGPU_PAGE_SHIFT);
}

static VGPULeaf walk(VGPUState *s, unsigned vmid, uint64_t va)
{
    if (!vmid) {
        return walk_vmid0(s, va);
    }
    if (va >> VGPU_VA_BITS || !in_context(s, vmid, va)) {
        return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_RANGE);
    }
    return walk_tree(s, vmid, va);
}

/* What tells a leaf from all others; never 0. */
static uint64_t tlb_key(unsigned vmid, uint64_t va, unsigned shift)
{
    return va >> shift << 10 | shift << 4 | vmid;
}

static VGPUTlbSet *tlb_set(VGPUEngine *e, uint64_t key)
{
    /* Fibonacci hashing: neighbours, and far strides, spread over the sets. */
    return &e->tlb[(key * 0x9e3779b97f4a7c15ull) >> (64 - VGPU_TLB_SETS_LOG2)];
}

static VGPUTlbEntry *tlb_find(VGPUEngine *e, unsigned vmid, uint64_t va,
                              uint32_t gen)
{
    unsigned level, w;

    for (level = VGPU_LEVEL_PTB; level <= VGPU_LEVEL_PDB2; level++) {
        uint64_t key = tlb_key(vmid, va, VGPU_LEVEL_SHIFT(level));
        VGPUTlbSet *set = tlb_set(e, key);

        for (w = 0; w < VGPU_TLB_WAYS; w++) {
            if (set->way[w].key == key && set->way[w].gen == gen) {
                return &set->way[w];
            }
        }
    }
    return NULL;
}

static void tlb_insert(VGPUEngine *e, unsigned vmid, uint64_t va, uint32_t gen,
                       const VGPULeaf *leaf)
{
    uint64_t key = tlb_key(vmid, va, leaf->shift);
    VGPUTlbSet *set = tlb_set(e, key);
    unsigned w;

    /* Its own stale entry, or an empty one, or whose turn it is. */
    for (w = 0; w < VGPU_TLB_WAYS; w++) {
        if (!set->way[w].key || set->way[w].key == key) {
            break;
        }
    }
    if (w == VGPU_TLB_WAYS) {
        w = set->victim++ % VGPU_TLB_WAYS;
    }
    set->way[w] = (VGPUTlbEntry) {
        .key = key, .addr = leaf->addr, .gen = gen, .shift = leaf->shift,
        .kind = leaf->kind, .perm = leaf->perm,
    };
}

/* The leaf at @va, from the TLB if possible. Apertures are not kept there. */
static VGPULeaf lookup(VGPUEngine *e, unsigned vmid, uint64_t va)
{
    VGPUState *s = e->s;
    /* Before the walk: what is invalidated during it is not kept. */
    uint32_t gen = qatomic_read(&s->gen[vmid]);
    VGPUTlbEntry *t = tlb_find(e, vmid, va, gen);
    VGPULeaf leaf;

    if (t) {
        e->tlb_hits++;
        return (VGPULeaf) { .kind = t->kind, .addr = t->addr,
                            .shift = t->shift, .perm = t->perm };
    }
    leaf = walk(s, vmid, va);
    if (leaf.left) {
        return leaf;
    }
    e->tlb_misses++;
    trace_vgpu_walk(s->id, vmid, va, leaf.kind, leaf.addr, leaf.shift,
                    leaf.error);
    if (leaf.kind < VGPU_TARGET_RETRY) {
        tlb_insert(e, vmid, va, gen, &leaf);
    }
    return leaf;
}

/* Translate @va as far as one leaf goes. */
static void translate(VGPUEngine *e, unsigned vmid, uint64_t va, bool write,
                      VGPUSpan *span)
{
    VGPULeaf leaf = lookup(e, vmid, va);
    uint64_t mask = (1ull << leaf.shift) - 1;

    *span = (VGPUSpan) {
        .kind = leaf.kind, .write = write, .walker_error = leaf.error,
    };
    if (leaf.left) {
        span->addr = leaf.addr;
        span->len = leaf.left;
    } else if (leaf.kind < VGPU_TARGET_RETRY) {
        if (leaf.perm & (write ? VGPU_PTE_WRITEABLE : VGPU_PTE_READABLE)) {
            span->addr = leaf.addr + (va & mask);
            span->len = mask + 1 - (va & mask);
        } else {
            span->kind = fault_kind(e->s, vmid);
            span->permission = true;
        }
    }
}

void vgpu_gpuvm_map(VGPUEngine *e, unsigned vmid, uint64_t va, uint64_t len,
                    bool write, VGPUSpan *span)
{
    VGPUSpan next;

    translate(e, vmid, va, write, span);
    while (span->kind < VGPU_TARGET_RETRY && span->len < len &&
           va + span->len > va) {
        translate(e, vmid, va + span->len, write, &next);
        if (next.kind != span->kind ||
            (span->kind != VGPU_TARGET_ZERO &&
             next.addr != span->addr + span->len)) {
            break;
        }
        span->len += next.len;
    }
    if (span->kind < VGPU_TARGET_RETRY) {
        span->len = MIN(span->len, len);
        if (!vgpu_phys_map(e->s, span)) {
            span->kind = VGPU_TARGET_FAULT;
            span->walker_error = VGPU_WALKER_NACK;
        }
    }
    trace_vgpu_translate(e->s->id, vmid, va, len, write, span->kind,
                         span->addr, span->len);
}

void vgpu_gpuvm_map_default(VGPUEngine *e, uint64_t va, uint64_t len,
                            VGPUSpan *span)
{
    uint64_t off = va & (VGPU_PAGE_SIZE - 1);
    uint64_t page = mm_reg64(e->s, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32)
                    << VGPU_PAGE_SHIFT;

    *span = (VGPUSpan) {
        .kind = VGPU_TARGET_BUS, .write = span->write, .addr = page + off,
        .len = MIN(len, VGPU_PAGE_SIZE - off),
    };
    if (span->write || !page || !vgpu_phys_map(e->s, span)) {
        span->kind = VGPU_TARGET_ZERO;
        vgpu_phys_map(e->s, span);
    }
}
