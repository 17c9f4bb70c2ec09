/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: address translation. VMID 0 has apertures and a flat table, VMIDs
 * 1-15 the four-level tree of include/vgpu/pte.h.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "vgpu-kfd.h"
#include "trace.h"

/* What a walk found: a leaf, or a span of kind fault. */
typedef struct VGPULeaf {
    VGPUSpanKind kind;
    uint64_t pa;                /* of the first byte of the leaf */
    uint8_t shift;
    uint8_t perm;
    uint32_t error;
} VGPULeaf;

static uint64_t hub_reg64(const VGPUHub *hub, unsigned lo)
{
    return hub->regs[lo] | (uint64_t)hub->regs[lo + 1] << 32;
}

static void leaf_fault(VGPULeaf *leaf, VGPUSpanKind kind, uint32_t error)
{
    *leaf = (VGPULeaf) { .kind = kind, .error = error,
                         .shift = VGPU_PAGE_SHIFT };
}

/* What an invalid entry means in context @v. */
static void leaf_invalid(VGPUState *s, unsigned v, VGPULeaf *leaf,
                         uint32_t error)
{
    uint32_t cntl = s->hubs[VGPU_HUB_MM].regs[VM_CONTEXT_CNTL(v)];

    if (cntl & VM_CONTEXT_CNTL__RETRY_PERMISSION_OR_INVALID) {
        leaf_fault(leaf, VGPU_SPAN_FAULT_RETRY, error);
    } else {
        leaf_fault(leaf, VGPU_SPAN_FAULT, error);
    }
}

/* Interpret @pte as a leaf of 1 << @shift bytes. */
static void leaf_from_pte(VGPUState *s, unsigned vmid, uint64_t pte,
                          unsigned shift, VGPULeaf *leaf)
{
    uint64_t mask = (1ull << shift) - 1;

    if (vmid && (pte & VGPU_PTE_NORETRY) == VGPU_PTE_NORETRY) {
        leaf_fault(leaf, VGPU_SPAN_FAULT, VGPU_WALKER_OK);
        return;
    }
    if (!(pte & VGPU_PTE_VALID)) {
        if (pte & VGPU_PTE_PRT) {
            *leaf = (VGPULeaf) {
                .kind = VGPU_SPAN_NONE, .shift = shift,
                .perm = VGPU_PTE_READABLE | VGPU_PTE_WRITEABLE,
            };
        } else {
            leaf_invalid(s, vmid, leaf, VGPU_WALKER_OK);
        }
        return;
    }
    *leaf = (VGPULeaf) {
        .kind = pte & VGPU_PTE_SYSTEM ? VGPU_SPAN_BUS : VGPU_SPAN_VRAM,
        .pa = pte & VGPU_PTE_ADDR & ~mask,
        .shift = shift,
        .perm = pte & (VGPU_PTE_READABLE | VGPU_PTE_WRITEABLE |
                       VGPU_PTE_EXECUTABLE),
    };
    if (leaf->kind == VGPU_SPAN_VRAM) {
        uint64_t off = (uint64_t)s->hubs[VGPU_HUB_MM].regs[MC_VM_FB_OFFSET]
                       << 24;

        if (leaf->pa < off || leaf->pa - off >= s->vram_size) {
            leaf_fault(leaf, VGPU_SPAN_FAULT, VGPU_WALKER_NACK);
            return;
        }
        leaf->pa -= off;
    }
}

static void walk_tree(VGPUState *s, unsigned vmid, uint64_t va, VGPULeaf *leaf)
{
    const VGPUHub *hub = &s->hubs[VGPU_HUB_MM];
    uint64_t fb_off = (uint64_t)hub->regs[MC_VM_FB_OFFSET] << 24;
    uint64_t entry = hub_reg64(hub, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid));
    int level;

    if (!(entry & VGPU_PDE_VALID)) {
        leaf_invalid(s, vmid, leaf, VGPU_WALKER_PDE);
        return;
    }

    for (level = VGPU_LEVEL_PDB2; level >= VGPU_LEVEL_PTB; level--) {
        unsigned shift = VGPU_LEVEL_SHIFT(level);
        bool system = entry & VGPU_PDE_SYSTEM;
        uint64_t table = entry & VGPU_PDE_ADDR;
        uint64_t index = (va >> shift) & (VGPU_PT_ENTRIES - 1);

        if (!system) {
            if (table < fb_off) {
                leaf_fault(leaf, VGPU_SPAN_FAULT, VGPU_WALKER_PDE);
                return;
            }
            table -= fb_off;
        }
        if (!vgpu_phys_read_entry(s, system, table + index * 8, &entry)) {
            leaf_fault(leaf, VGPU_SPAN_FAULT,
                       level ? VGPU_WALKER_PDE : VGPU_WALKER_NACK);
            return;
        }

        switch (level) {
        case VGPU_LEVEL_PTB:
            leaf_from_pte(s, vmid, entry, shift, leaf);
            return;
        case VGPU_LEVEL_PDB0:
            /* In PTE format: without "translate further" it is a leaf. */
            if (!(entry & VGPU_PTE_VALID) || !(entry & VGPU_PTE_TF) ||
                (entry & VGPU_PTE_NORETRY) == VGPU_PTE_NORETRY) {
                leaf_from_pte(s, vmid, entry, shift, leaf);
                return;
            }
            break;
        default:
            if (entry & VGPU_PDE_PTE) {
                leaf_from_pte(s, vmid, entry & ~VGPU_PDE_PTE, shift, leaf);
                return;
            }
            if (!(entry & VGPU_PDE_VALID)) {
                if (entry & VGPU_PTE_PRT) {
                    leaf_from_pte(s, vmid, entry, shift, leaf);
                } else {
                    leaf_invalid(s, vmid, leaf, VGPU_WALKER_OK);
                }
                return;
            }
            if (level == VGPU_LEVEL_PDB1 &&
                VGPU_GET(entry, VGPU_PDE_BFS) != VGPU_PT_SHIFT) {
                leaf_fault(leaf, VGPU_SPAN_FAULT, VGPU_WALKER_PDE);
                return;
            }
            break;
        }
    }
}

/* VMID 0. Sets span->len for apertures; the flat table has single pages. */
static void walk_vmid0(VGPUState *s, uint64_t va, VGPULeaf *leaf,
                       uint64_t *aperture_left)
{
    const VGPUHub *hub = &s->hubs[VGPU_HUB_MM];
    uint64_t fb_lo = (uint64_t)hub->regs[MC_VM_FB_LOCATION_BASE] << 24;
    uint64_t fb_hi = (uint64_t)hub->regs[MC_VM_FB_LOCATION_TOP] << 24 |
                     0xffffff;
    uint64_t agp_lo = (uint64_t)hub->regs[MC_VM_AGP_BOT] << 24;
    uint64_t agp_hi = (uint64_t)hub->regs[MC_VM_AGP_TOP] << 24 | 0xffffff;
    uint64_t page = va >> VGPU_PAGE_SHIFT;
    uint64_t start = hub_reg64(hub, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(0));
    uint64_t end = hub_reg64(hub, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(0));
    uint64_t base, entry;

    *aperture_left = 0;
    if (va >= fb_lo && va <= fb_hi) {
        if (va - fb_lo >= s->vram_size) {
            leaf_fault(leaf, VGPU_SPAN_FAULT, VGPU_WALKER_NACK);
            return;
        }
        *leaf = (VGPULeaf) { .kind = VGPU_SPAN_VRAM, .pa = va - fb_lo };
        *aperture_left = s->vram_size - (va - fb_lo);
        return;
    }
    if (va >= agp_lo && va <= agp_hi) {
        *leaf = (VGPULeaf) {
            .kind = VGPU_SPAN_BUS,
            .pa = ((uint64_t)hub->regs[MC_VM_AGP_BASE] << 24) + (va - agp_lo),
        };
        *aperture_left = agp_hi - va + 1;
        return;
    }
    if (!(hub->regs[VM_CONTEXT_CNTL(0)] & VM_CONTEXT_CNTL__ENABLE_CONTEXT) ||
        page < start || page > end) {
        leaf_fault(leaf, VGPU_SPAN_FAULT, VGPU_WALKER_RANGE);
        return;
    }
    base = hub_reg64(hub, VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(0));
    if (!(base & VGPU_PDE_VALID) ||
        !vgpu_phys_read_entry(s, base & VGPU_PDE_SYSTEM,
                              (base & VGPU_PDE_ADDR) + (page - start) * 8,
                              &entry)) {
        leaf_fault(leaf, VGPU_SPAN_FAULT, VGPU_WALKER_PDE);
        return;
    }
    leaf_from_pte(s, 0, entry, VGPU_PAGE_SHIFT, leaf);
}

static void walk(VGPUState *s, unsigned vmid, uint64_t va, VGPULeaf *leaf,
                 uint64_t *aperture_left)
{
    const VGPUHub *hub = &s->hubs[VGPU_HUB_MM];
    uint64_t page = va >> VGPU_PAGE_SHIFT;

    *aperture_left = 0;
    if (!vmid) {
        walk_vmid0(s, va, leaf, aperture_left);
        return;
    }
    if (!(hub->regs[VM_CONTEXT_CNTL(vmid)] & VM_CONTEXT_CNTL__ENABLE_CONTEXT) ||
        (hub->regs[VM_CONTEXTS_DISABLE] & (1u << vmid)) ||
        va >> VGPU_VA_BITS ||
        page < hub_reg64(hub, VM_CONTEXT_PAGE_TABLE_START_ADDR_LO32(vmid)) ||
        page > hub_reg64(hub, VM_CONTEXT_PAGE_TABLE_END_ADDR_LO32(vmid))) {
        leaf_fault(leaf, VGPU_SPAN_FAULT, VGPU_WALKER_RANGE);
        return;
    }
    walk_tree(s, vmid, va, leaf);
}

static VGPUTlbEntry *tlb_slot(VGPUSdma *e, unsigned vmid, uint64_t tag,
                              unsigned shift)
{
    /* Multiplicative: round addresses must not share a set. */
    uint64_t h = (tag << 12 | shift << 4 | vmid) * 0x9e3779b97f4a7c15ull;

    return &e->tlb[h >> (64 - VGPU_TLB_ORDER)];
}

static VGPUTlbEntry *tlb_find(VGPUSdma *e, unsigned vmid, uint64_t va,
                              uint32_t gen)
{
    static const uint8_t shifts[] = { 12, 21, 30, 39 };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(shifts); i++) {
        uint64_t tag = (va >> shifts[i]) + 1;
        VGPUTlbEntry *t = tlb_slot(e, vmid, tag, shifts[i]);

        if (t->tag == tag && t->shift == shifts[i] && t->vmid == vmid &&
            t->gen == gen) {
            return t;
        }
    }
    return NULL;
}

/* One leaf at @va. */
static void translate_one(VGPUSdma *e, unsigned vmid, uint64_t va, bool write,
                          VGPUSpan *span)
{
    VGPUState *s = e->s;
    uint32_t gen = qatomic_read(&s->gen[vmid]);
    uint32_t need = write ? VGPU_PTE_WRITEABLE : VGPU_PTE_READABLE;
    VGPUTlbEntry *t = tlb_find(e, vmid, va, gen);
    uint64_t left, mask;
    VGPULeaf leaf;

    if (t) {
        vgpu_count(s, VGPU_CNT_TLB_HITS, 1);
        leaf = (VGPULeaf) { .kind = t->kind, .pa = t->pa, .shift = t->shift,
                            .perm = t->perm };
    } else {
        walk(s, vmid, va, &leaf, &left);
        if (left) {
            *span = (VGPUSpan) { .kind = leaf.kind, .addr = leaf.pa,
                                 .len = left };
            return;
        }
        vgpu_count(s, VGPU_CNT_TLB_MISSES, 1);
        trace_vgpu_walk(s->id, vmid, va, leaf.kind, leaf.pa, leaf.shift);
        if (leaf.kind < VGPU_SPAN_DEFAULT) {
            uint64_t tag = (va >> leaf.shift) + 1;

            *tlb_slot(e, vmid, tag, leaf.shift) = (VGPUTlbEntry) {
                .tag = tag, .pa = leaf.pa, .gen = gen, .vmid = vmid,
                .shift = leaf.shift, .kind = leaf.kind, .perm = leaf.perm,
            };
        }
    }

    *span = (VGPUSpan) { .kind = leaf.kind, .walker_error = leaf.error };
    if (leaf.kind >= VGPU_SPAN_DEFAULT) {
        return;
    }
    if ((leaf.perm & need) != need) {
        leaf_invalid(s, vmid, &leaf, VGPU_WALKER_OK);
        span->kind = vmid ? leaf.kind : VGPU_SPAN_FAULT;
        span->permission = true;
        return;
    }
    mask = (1ull << leaf.shift) - 1;
    span->addr = leaf.pa + (va & mask);
    span->len = mask + 1 - (va & mask);
    if (leaf.kind == VGPU_SPAN_VRAM) {
        if (span->addr >= s->vram_size) {
            *span = (VGPUSpan) { .kind = VGPU_SPAN_FAULT,
                                 .walker_error = VGPU_WALKER_NACK };
            return;
        }
        span->len = MIN(span->len, s->vram_size - span->addr);
    }
}

void vgpu_translate(VGPUSdma *e, unsigned vmid, uint64_t va, uint64_t len,
                    bool write, VGPUSpan *span)
{
    VGPUSpan next;

    translate_one(e, vmid, va, write, span);
    while (span->kind < VGPU_SPAN_DEFAULT && span->len < len &&
           va + span->len > va) {
        translate_one(e, vmid, va + span->len, write, &next);
        if (next.kind != span->kind ||
            (span->kind != VGPU_SPAN_NONE &&
             next.addr != span->addr + span->len)) {
            break;
        }
        span->len += next.len;
    }
    span->len = MIN(span->len, len);
}
