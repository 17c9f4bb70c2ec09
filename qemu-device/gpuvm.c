/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: address translation through a client's hub: the client's TLB, and
 * spans of what it finds.
 */
#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/trace.h"

#define CLASS(name)     VM_L2_PROTECTION_FAULT_CNTL__ ## name ## _DEFAULT

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
    uint64_t shifts;
    unsigned w;

    for (shifts = c->tlb_shifts; shifts; shifts &= shifts - 1) {
        uint64_t key = tlb_key(vmid, va, ctz64(shifts));
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
    c->tlb_shifts |= 1ull << leaf->shift;
    set->way[w] = (VGPUTlbEntry) {
        .key = key, .addr = leaf->addr, .gen = gen, .shift = leaf->shift,
        .kind = leaf->kind, .flags = leaf->flags,
    };
}

static void tlb_drop(VGPUClient *c, const VGPURange *r)
{
    unsigned i, w;

    for (i = 0; i < 1u << VGPU_TLB_SETS_LOG2; i++) {
        for (w = 0; w < VGPU_TLB_WAYS; w++) {
            VGPUTlbEntry *t = &c->tlb[i].way[w];
            unsigned vmid = t->key & (VGPU_NUM_VMIDS - 1);
            unsigned order;
            uint64_t first;

            if (!t->key) {
                continue;
            }
            order = t->shift - VGPU_PAGE_SHIFT;
            first = t->key >> 10 << order;
            if ((r->vmids & (1u << vmid)) && first <= r->last &&
                first + (1ull << order) > r->first) {
                t->key = 0;
            }
        }
    }
}

/* Drop what was invalidated by range since the last time. */
static void tlb_catch_up(VGPUClient *c)
{
    VGPUState *s = c->s;
    VGPUHub *hub = &s->hubs[c->hub];
    VGPURange ranges[VGPU_RANGE_LOG];
    uint32_t i, n, from = c->ranges_done;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        c->ranges_done = hub->num_ranges;
        n = c->ranges_done - from;
        for (i = 0; i < MIN(n, VGPU_RANGE_LOG); i++) {
            ranges[i] = hub->ranges[(from + i) % VGPU_RANGE_LOG];
        }
    }
    if (n > VGPU_RANGE_LOG) {
        /* Who knows: everything. */
        ranges[0] = (VGPURange) { .last = UINT64_MAX, .vmids = UINT32_MAX };
        n = 1;
    }
    trace_vgpu_inv_catch_up(s->id, c->hub, c->index, n);
    c->peek.valid = false;
    for (i = 0; i < n; i++) {
        tlb_drop(c, &ranges[i]);
    }
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
                            .shift = t->shift, .flags = t->flags };
    }
    leaf = vgpu_walk(c, vmid, va);
    if (leaf.left || leaf.kind == VGPU_TARGET_WAIT) {
        return leaf;
    }
    c->tlb_misses++;
    trace_vgpu_walk(s->id, vmid, va, leaf.kind, leaf.addr, leaf.shift,
                    leaf.flags, leaf.error);
    if (leaf.kind < VGPU_TARGET_RETRY) {
        tlb_insert(c, vmid, va, gen, &leaf);
    }
    return leaf;
}

/* Translate @va as far as one leaf goes. */
static void translate(VGPUClient *c, unsigned vmid, uint64_t va,
                      VGPUAccessType type, VGPUSpan *span)
{
    static const struct {
        uint16_t needs;
        uint16_t fault;
    } types[] = {
        [VGPU_READ] = { VGPU_PTE_READABLE, CLASS(READ) },
        [VGPU_WRITE] = { VGPU_PTE_WRITEABLE, CLASS(WRITE) },
        [VGPU_EXECUTE] = { VGPU_PTE_EXECUTABLE, CLASS(EXECUTE) },
    };
    VGPULeaf leaf = lookup(c, vmid, va);
    uint64_t mask = (1ull << leaf.shift) - 1;

    *span = (VGPUSpan) {
        .kind = leaf.kind, .write = type == VGPU_WRITE,
        .walker_error = leaf.error, .fault = leaf.fault, .flags = leaf.flags,
    };
    if (leaf.left) {
        span->addr = leaf.addr;
        span->len = leaf.left;
    } else if (leaf.kind < VGPU_TARGET_RETRY) {
        if (leaf.flags & types[type].needs) {
            span->addr = leaf.addr + (va & mask);
            span->len = mask + 1 - (va & mask);
        } else {
            span->kind = vgpu_walk_refusal(c, vmid);
            span->fault = types[type].fault;
        }
    }
}

void vgpu_client_init(VGPUState *s, VGPUClient *c, unsigned index, unsigned hub,
                      unsigned cid,
                      void (*retry)(VGPUClient *c, uint32_t vmids, int slot))
{
    *c = (VGPUClient) {
        .s = s, .index = index, .hub = hub, .cid = cid, .retry = retry,
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
            c->retry(c, vmids, slot);
        }
    }
}

void vgpu_client_begin(VGPUClient *c)
{
    /* Once for all that follows: entering and leaving RCU waits for stores. */
    rcu_read_lock();
    qatomic_set(&c->access, c->access + 1);
    /*
     * Say so, then look at what is dropped: pairs with
     * vgpu_invalidate_req_written().
     */
    smp_mb();
    if (unlikely(qatomic_load_acquire(&c->s->hubs[c->hub].num_ranges) !=
                 c->ranges_done)) {
        tlb_catch_up(c);
    }
}

void vgpu_client_end(VGPUClient *c)
{
    rcu_read_unlock();
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

/*
 * Map @span, or make it VGPU_TARGET_WAIT if the IOMMU's translation is missing.
 * False: there is no memory.
 */
static bool map_or_wait(VGPUClient *c, VGPUSpan *span)
{
    VGPUPhys found = vgpu_phys_map(c->s, c->bus, span);

    if (found == VGPU_PHYS_WAIT) {
        span->kind = VGPU_TARGET_WAIT;
    }
    return found != VGPU_PHYS_NONE;
}

void vgpu_gpuvm_map(VGPUClient *c, unsigned vmid, uint64_t va, uint64_t len,
                    VGPUAccessType type, VGPUSpan *span)
{
    uint32_t gen = qatomic_read(&c->s->gen[c->hub][vmid]);
    VGPUSpan next;

    if (c->peek.valid && c->peek.va == va && c->peek.vmid == vmid &&
        c->peek.gen == gen && c->peek.type == type) {
        *span = c->peek.span;
        c->tlb_hits++;
    } else {
        translate(c, vmid, va, type, span);
    }
    c->peek.valid = false;
    while (span->kind < VGPU_TARGET_RETRY && span->len < len &&
           va + span->len > va) {
        translate(c, vmid, va + span->len, type, &next);
        if (next.kind != span->kind ||
            (span->kind != VGPU_TARGET_ZERO &&
             next.addr != span->addr + span->len)) {
            c->peek.valid = vmid && next.kind < VGPU_TARGET_RETRY;
            c->peek.vmid = vmid;
            c->peek.gen = gen;
            c->peek.type = type;
            c->peek.va = va + span->len;
            c->peek.span = next;
            break;
        }
        span->len += next.len;
    }
    if (span->kind < VGPU_TARGET_RETRY) {
        span->len = MIN(span->len, len);
        if (span->kind == VGPU_TARGET_PEER) {
            vgpu_xgmi_use(c->s, vgpu_client_site(c, vmid, span->addr));
        }
        if (!map_or_wait(c, span)) {
            span->kind = VGPU_TARGET_FAULT;
            span->walker_error = VGPU_WALKER_NACK;
            span->fault = CLASS(NACK);
        }
    }
    trace_vgpu_translate(c->s->id, c->hub, vmid, va, len, type, span->kind,
                         span->addr, span->len,
                         span->flags);
}

/* Does the fault in @span go to the default page? */
static bool redirected(VGPUClient *c, unsigned vmid, const VGPUSpan *span)
{
    uint32_t context = vgpu_fault_redirects(span->fault);

    return (vgpu_hub_reg(c->s, c->hub, VM_L2_PROTECTION_FAULT_CNTL) &
            span->fault) &&
           (!context || (vgpu_hub_reg(c->s, c->hub, VM_CONTEXT_CNTL(vmid)) &
                         context));
}

void vgpu_gpuvm_map_default(VGPUClient *c, unsigned vmid, uint64_t va,
                            uint64_t len, VGPUSpan *span)
{
    bool to_page = !span->write && redirected(c, vmid, span);
    uint64_t off = va & (VGPU_PAGE_SIZE - 1);
    uint64_t page = vgpu_hub_reg64(c->s, c->hub,
                                   VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32)
                    << VGPU_PAGE_SHIFT;

    *span = (VGPUSpan) {
        .kind = VGPU_TARGET_BUS, .write = span->write, .addr = page + off,
        .len = MIN(len, VGPU_PAGE_SIZE - off),
    };
    if (!to_page || !page || !map_or_wait(c, span)) {
        span->kind = VGPU_TARGET_ZERO;
        vgpu_phys_map(c->s, NULL, span);
    }
}

void vgpu_client_forget(VGPUClient *c)
{
    memset(c->tlb, 0, sizeof(*c->tlb) << VGPU_TLB_SETS_LOG2);
    c->ranges_done = qatomic_read(&c->s->hubs[c->hub].num_ranges);
    c->peek.valid = false;
}

unsigned vgpu_client_tlb_used(VGPUClient *c)
{
    unsigned used = 0, i, w;

    tlb_catch_up(c);
    for (i = 0; i < 1u << VGPU_TLB_SETS_LOG2; i++) {
        for (w = 0; w < VGPU_TLB_WAYS; w++) {
            const VGPUTlbEntry *t = &c->tlb[i].way[w];
            unsigned vmid = t->key & (VGPU_NUM_VMIDS - 1);

            used += t->key && t->gen == qatomic_read(&c->s->gen[c->hub][vmid]);
        }
    }
    return used;
}
