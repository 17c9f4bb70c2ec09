/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: address translation through a client's hub. VMID 0 has apertures
 * and a flat table, VMIDs 1-15 have the tree of include/vgpu/pte.h.
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

static uint32_t hub_reg(VGPUClient *c, unsigned off)
{
    return vgpu_hub_reg(c->s, c->hub, off);
}

static uint64_t hub_reg64(VGPUClient *c, unsigned lo)
{
    return vgpu_hub_reg64(c->s, c->hub, lo);
}

static uint64_t hub_reg_mb16(VGPUClient *c, unsigned off)
{
    return (uint64_t)hub_reg(c, off) << 24;
}

static VGPULeaf leaf_fault(VGPUTargetKind kind, unsigned error)
{
    return (VGPULeaf) {
        .kind = kind, .error = error, .shift = VGPU_PAGE_SHIFT,
    };
}

/* What an entry that does not allow the access means. */
static VGPUTargetKind fault_kind(VGPUClient *c, unsigned vmid)
{
    return vmid && (hub_reg(c, VM_CONTEXT_CNTL(vmid)) &
                    VM_CONTEXT_CNTL__RETRY_PERMISSION_OR_INVALID) ?
           VGPU_TARGET_RETRY : VGPU_TARGET_FAULT;
}

/*
 * An address in an entry is an offset in VRAM plus FB_OFFSET, or a bus address.
 * False if it lies below VRAM; phys knows whether it lies above.
 */
static bool entry_target(VGPUClient *c, uint64_t entry, uint64_t *addr,
                         VGPUTargetKind *kind)
{
    uint64_t fb_offset = hub_reg_mb16(c, MC_VM_FB_OFFSET);

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

/* Is @entry of a table of @level a leaf, or what faults? */
static bool ends_walk(unsigned level, uint64_t entry)
{
    switch (level) {
    case VGPU_LEVEL_PTB:
        return true;
    case VGPU_LEVEL_PDB0:
        /* In PTE format: without "translate further" it is a leaf. */
        return !(entry & VGPU_PTE_VALID) || !(entry & VGPU_PTE_TF) ||
               (entry & VGPU_PTE_NORETRY) == VGPU_PTE_NORETRY;
    default:
        return !(entry & VGPU_PDE_VALID) || (entry & VGPU_PDE_PTE);
    }
}

/*
 * Entry @index of the table of @level that directory entry @pde points at, on
 * the way to @va.
 */
static bool load_entry(VGPUClient *c, unsigned vmid, uint64_t va,
                       unsigned level, uint64_t pde, uint64_t index,
                       uint64_t *entry)
{
    uint64_t addr = pde & VGPU_PDE_ADDR;
    VGPUTargetKind kind;

    if (!entry_target(c, pde, &addr, &kind) ||
        !vgpu_phys_load64(c->s, kind, addr + index * 8, entry)) {
        return false;
    }
    if (vgpu_inject_armed(c->s, VGPU_INJECT_ENTRIES)) {
        VGPUSite site = vgpu_client_site(c, vmid, va);

        *entry = vgpu_inject_entry(c->s, &site, kind, addr + index * 8, *entry,
                                   ends_walk(level, *entry));
    }
    return true;
}

/* Interpret @pte as a leaf of 1 << @shift bytes. */
static VGPULeaf leaf_from_pte(VGPUClient *c, unsigned vmid, uint64_t pte,
                              unsigned shift)
{
    VGPULeaf leaf = { .shift = shift };

    if (vmid && (pte & VGPU_PTE_NORETRY) == VGPU_PTE_NORETRY) {
        return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_OK);
    }
    if (!(pte & VGPU_PTE_VALID)) {
        if (!(pte & VGPU_PTE_PRT)) {
            return leaf_fault(fault_kind(c, vmid), VGPU_WALKER_OK);
        }
        leaf.kind = VGPU_TARGET_ZERO;
        leaf.perm = ACCESS_BITS;
        return leaf;
    }
    leaf.addr = pte & VGPU_PTE_ADDR & ~((1ull << shift) - 1);
    leaf.perm = pte & ACCESS_BITS;
    if (!entry_target(c, pte, &leaf.addr, &leaf.kind)) {
        return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_NACK);
    }
    return leaf;
}

/* The depth is fixed, so a walk ends whatever the tables say. */
static VGPULeaf walk_tree(VGPUClient *c, unsigned vmid, uint64_t va)
{
    uint64_t entry = hub_reg64(c, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid));
    unsigned level = VGPU_LEVEL_PDB2;

    if (!(entry & VGPU_PDE_VALID)) {
        return leaf_fault(fault_kind(c, vmid), VGPU_WALKER_PDE);
    }
    for (;; level--) {
        unsigned shift = VGPU_LEVEL_SHIFT(level);

        if (!load_entry(c, vmid, va, level, entry,
                        (va >> shift) & (VGPU_PT_ENTRIES - 1), &entry)) {
            return leaf_fault(VGPU_TARGET_FAULT,
                              level == VGPU_LEVEL_PTB ? VGPU_WALKER_NACK
                                                      : VGPU_WALKER_PDE);
        }
        if (ends_walk(level, entry)) {
            return leaf_from_pte(c, vmid, entry, shift);
        }
        if (level == VGPU_LEVEL_PDB1 &&
            VGPU_GET(entry, VGPU_PDE_BFS) != VGPU_PT_SHIFT) {
            return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_PDE);
        }
    }
}

/* Is @va in the pages that context @vmid translates? */
static bool in_context(VGPUClient *c, unsigned vmid, uint64_t va)
{
    uint64_t page = va >> VGPU_PAGE_SHIFT;

    return (hub_reg(c, VM_CONTEXT_CNTL(vmid)) &
            VM_CONTEXT_CNTL__ENABLE_CONTEXT) &&
           !(hub_reg(c, VM_CONTEXTS_DISABLE) & (1u << vmid)) &&
           page >= hub_reg64(c, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(vmid)) &&
           page <= hub_reg64(c, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(vmid));
}

static VGPULeaf walk_vmid0(VGPUClient *c, uint64_t va)
{
    uint64_t fb = hub_reg_mb16(c, MC_VM_FB_LOCATION_BASE);
    uint64_t fb_last = hub_reg_mb16(c, MC_VM_FB_LOCATION_TOP) | 0xffffff;
    uint64_t agp = hub_reg_mb16(c, MC_VM_AGP_BOT);
    uint64_t agp_last = hub_reg_mb16(c, MC_VM_AGP_TOP) | 0xffffff;
    uint64_t start, table, entry;

    if (va >= fb && va <= fb_last) {
        if (va - fb >= c->s->vram_size) {
            return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_NACK);
        }
        return (VGPULeaf) {
            .kind = VGPU_TARGET_VRAM,
            .addr = va - fb,
            .left = MIN(fb_last - va + 1, c->s->vram_size - (va - fb)),
        };
    }
    if (va >= agp && va <= agp_last) {
        return (VGPULeaf) {
            .kind = VGPU_TARGET_BUS,
            .addr = hub_reg_mb16(c, MC_VM_AGP_BASE) + (va - agp),
            .left = agp_last - va + 1,
        };
    }
    if (!in_context(c, 0, va)) {
        return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_RANGE);
    }
    start = hub_reg64(c, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(0));
    table = hub_reg64(c, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(0));
    if (!(table & VGPU_PDE_VALID) ||
        !load_entry(c, 0, va, VGPU_LEVEL_PTB, table,
                    (va >> VGPU_PAGE_SHIFT) - start, &entry)) {
        return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_PDE);
    }
    return leaf_from_pte(c, 0, entry, VGPU_PAGE_SHIFT);
}

static VGPULeaf walk(VGPUClient *c, unsigned vmid, uint64_t va)
{
    if (!vmid) {
        return walk_vmid0(c, va);
    }
    if (va >> VGPU_VA_BITS || !in_context(c, vmid, va)) {
        return leaf_fault(VGPU_TARGET_FAULT, VGPU_WALKER_RANGE);
    }
    return walk_tree(c, vmid, va);
}

/* What tells a leaf from all others; never 0. */
static uint64_t tlb_key(unsigned vmid, uint64_t va, unsigned shift)
{
    return va >> shift << 10 | shift << 4 | vmid;
}

static VGPUTlbSet *tlb_set(VGPUClient *c, uint64_t key)
{
    /* Fibonacci hashing: neighbours, and far strides, spread over the sets. */
    return &c->tlb[(key * 0x9e3779b97f4a7c15ull) >> (64 - VGPU_TLB_SETS_LOG2)];
}

static VGPUTlbEntry *tlb_find(VGPUClient *c, unsigned vmid, uint64_t va,
                              uint32_t gen)
{
    unsigned level, w;

    for (level = VGPU_LEVEL_PTB; level <= VGPU_LEVEL_PDB2; level++) {
        uint64_t key = tlb_key(vmid, va, VGPU_LEVEL_SHIFT(level));
        VGPUTlbSet *set = tlb_set(c, key);

        for (w = 0; w < VGPU_TLB_WAYS; w++) {
            if (set->way[w].key == key && set->way[w].gen == gen) {
                return &set->way[w];
            }
        }
    }
    return NULL;
}

static void tlb_insert(VGPUClient *c, unsigned vmid, uint64_t va, uint32_t gen,
                       const VGPULeaf *leaf)
{
    uint64_t key = tlb_key(vmid, va, leaf->shift);
    VGPUTlbSet *set = tlb_set(c, key);
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
static VGPULeaf lookup(VGPUClient *c, unsigned vmid, uint64_t va)
{
    VGPUState *s = c->s;
    /* Before the walk: what is invalidated during it is not kept. */
    uint32_t gen = qatomic_read(&s->gen[c->hub][vmid]);
    VGPUTlbEntry *t = tlb_find(c, vmid, va, gen);
    VGPULeaf leaf;

    if (t) {
        c->tlb_hits++;
        return (VGPULeaf) { .kind = t->kind, .addr = t->addr,
                            .shift = t->shift, .perm = t->perm };
    }
    leaf = walk(c, vmid, va);
    if (leaf.left) {
        return leaf;
    }
    c->tlb_misses++;
    trace_vgpu_walk(s->id, vmid, va, leaf.kind, leaf.addr, leaf.shift,
                    leaf.error);
    if (leaf.kind < VGPU_TARGET_RETRY) {
        tlb_insert(c, vmid, va, gen, &leaf);
    }
    return leaf;
}

/* Translate @va as far as one leaf goes. */
static void translate(VGPUClient *c, unsigned vmid, uint64_t va, bool write,
                      VGPUSpan *span)
{
    VGPULeaf leaf = lookup(c, vmid, va);
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
            span->kind = fault_kind(c, vmid);
            span->permission = true;
        }
    }
}

void vgpu_client_init(VGPUState *s, VGPUClient *c, unsigned index, unsigned hub,
                      unsigned cid, void (*wake)(VGPUClient *, uint32_t, int))
{
    *c = (VGPUClient) {
        .s = s, .index = index, .hub = hub, .cid = cid, .wake = wake,
        .tlb = g_new0(VGPUTlbSet, 1 << VGPU_TLB_SETS_LOG2),
    };
    s->clients[index] = c;
}

void vgpu_client_destroy(VGPUClient *c)
{
    c->s->clients[c->index] = NULL;
    g_clear_pointer(&c->tlb, g_free);
}

void vgpu_clients_wake(VGPUState *s, unsigned hub_mask, uint32_t vmids,
                       int slot)
{
    unsigned i;

    for (i = 0; i < VGPU_NUM_CLIENTS; i++) {
        VGPUClient *c = s->clients[i];

        if (hub_mask & (1u << c->hub)) {
            c->wake(c, vmids, slot);
        }
    }
}

void vgpu_client_begin(VGPUClient *c)
{
    qatomic_set(&c->access, c->access + 1);
    /* Say so, then look at generations: pairs with req_written(). */
    smp_mb();
}

void vgpu_client_end(VGPUClient *c)
{
    qatomic_store_release(&c->access, c->access + 1);
    if (c->tlb_hits) {
        vgpu_count(c->s, VGPU_CNT_TLB_HITS, c->tlb_hits);
        c->tlb_hits = 0;
    }
    if (c->tlb_misses) {
        vgpu_count(c->s, VGPU_CNT_TLB_MISSES, c->tlb_misses);
        c->tlb_misses = 0;
    }
}

void vgpu_gpuvm_map(VGPUClient *c, unsigned vmid, uint64_t va, uint64_t len,
                    bool write, VGPUSpan *span)
{
    VGPUSpan next;

    translate(c, vmid, va, write, span);
    while (span->kind < VGPU_TARGET_RETRY && span->len < len &&
           va + span->len > va) {
        translate(c, vmid, va + span->len, write, &next);
        if (next.kind != span->kind ||
            (span->kind != VGPU_TARGET_ZERO &&
             next.addr != span->addr + span->len)) {
            break;
        }
        span->len += next.len;
    }
    if (span->kind < VGPU_TARGET_RETRY) {
        span->len = MIN(span->len, len);
        if (!vgpu_phys_map(c->s, span)) {
            span->kind = VGPU_TARGET_FAULT;
            span->walker_error = VGPU_WALKER_NACK;
        }
    }
    trace_vgpu_translate(c->s->id, vmid, va, len, write, span->kind,
                         span->addr, span->len);
}

void vgpu_gpuvm_map_default(VGPUClient *c, uint64_t va, uint64_t len,
                            VGPUSpan *span)
{
    uint64_t off = va & (VGPU_PAGE_SIZE - 1);
    uint64_t page = hub_reg64(c, VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32)
                    << VGPU_PAGE_SHIFT;

    *span = (VGPUSpan) {
        .kind = VGPU_TARGET_BUS, .write = span->write, .addr = page + off,
        .len = MIN(len, VGPU_PAGE_SIZE - off),
    };
    if (span->write || !page || !vgpu_phys_map(c->s, span)) {
        span->kind = VGPU_TARGET_ZERO;
        vgpu_phys_map(c->s, span);
    }
}

unsigned vgpu_client_tlb_used(VGPUClient *c)
{
    unsigned used = 0, i, w;

    for (i = 0; i < 1u << VGPU_TLB_SETS_LOG2; i++) {
        for (w = 0; w < VGPU_TLB_WAYS; w++) {
            const VGPUTlbEntry *t = &c->tlb[i].way[w];
            unsigned vmid = t->key & (VGPU_NUM_VMIDS - 1);

            used += t->key && t->gen == qatomic_read(&c->s->gen[c->hub][vmid]);
        }
    }
    return used;
}
