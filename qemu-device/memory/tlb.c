/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the TLB of a client. An invalidation of all pages of a VMID changes
 * VGPUHub.gen, so that older TLB entries are not used. An invalidation of a
 * range is logged in VGPUHub.ranges, for vgpu_tlb_apply_invalidations().
 */
#include "qemu/osdep.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/tlb-priv.h"

void vgpu_tlb_insert(VGPUTlb *tlb, unsigned vmid, uint64_t va, uint32_t gen,
                     const VGPULeaf *leaf)
{
    uint64_t key = vgpu_tlb_key(vmid, va, leaf->shift);
    VGPUTlbSet *set = vgpu_tlb_set(tlb, key);
    unsigned w;

    /*
     * Use an empty entry, or a stale entry with this key. No entry with this
     * key is current, or vgpu_tlb_find() would have found it.
     */
    for (w = 0; w < VGPU_TLB_WAYS; w++) {
        if (!set->way[w].key || set->way[w].key == key) {
            break;
        }
    }
    if (w == VGPU_TLB_WAYS) {
        w = set->victim++ % VGPU_TLB_WAYS;
    }
    tlb->shifts |= 1ull << leaf->shift;
    set->way[w] = (VGPUTlbEntry) {
        .key = key, .addr = leaf->addr, .gen = gen, .shift = leaf->shift,
        .kind = leaf->kind, .flags = leaf->flags,
    };
}

static void tlb_invalidate_range(VGPUTlb *tlb, const VGPURange *r)
{
    unsigned i, w;

    for (i = 0; i < 1u << VGPU_TLB_SETS_LOG2; i++) {
        for (w = 0; w < VGPU_TLB_WAYS; w++) {
            VGPUTlbEntry *t = &tlb->set[i].way[w];
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

void vgpu_tlb_apply_invalidations(VGPUClient *c)
{
    VGPUState *s = c->s;
    VGPUTlb *tlb = c->tlb;
    VGPUHub *hub = tlb->hub;
    VGPURange ranges[VGPU_RANGE_LOG];
    uint32_t i, n, from = tlb->ranges_done;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        tlb->ranges_done = hub->num_ranges;
        n = tlb->ranges_done - from;
        for (i = 0; i < MIN(n, VGPU_RANGE_LOG); i++) {
            ranges[i] = hub->ranges[(from + i) % VGPU_RANGE_LOG];
        }
    }
    if (n > VGPU_RANGE_LOG) {
        /*
         * The log has overwritten ranges that were not applied: drop all TLB
         * entries.
         */
        ranges[0] = (VGPURange) { .last = UINT64_MAX, .vmids = UINT32_MAX };
        n = 1;
    }
    trace_vgpu_inv_catch_up(s->id, c->hub, c->index, n);
    memset(tlb->peek, 0, sizeof(tlb->peek));
    for (i = 0; i < n; i++) {
        tlb_invalidate_range(tlb, &ranges[i]);
    }
}

static void tlb_drop_all(VGPUTlb *tlb)
{
    memset(tlb->set, 0, sizeof(tlb->set));
    tlb->ranges_done = qatomic_read(&tlb->hub->num_ranges);
    memset(tlb->peek, 0, sizeof(tlb->peek));
}

void vgpu_clients_flush_tlb(VGPUState *s)
{
    unsigned i;

    for (i = 0; i < VGPU_NUM_CLIENTS; i++) {
        tlb_drop_all(s->memory->clients[i]->tlb);
    }
}

unsigned vgpu_client_tlb_used(VGPUClient *c)
{
    const VGPUTlb *tlb = c->tlb;
    unsigned used = 0, i, w;

    vgpu_tlb_apply_invalidations(c);
    for (i = 0; i < 1u << VGPU_TLB_SETS_LOG2; i++) {
        for (w = 0; w < VGPU_TLB_WAYS; w++) {
            const VGPUTlbEntry *t = &tlb->set[i].way[w];
            unsigned vmid = t->key & (VGPU_NUM_VMIDS - 1);

            used += t->key && t->gen == qatomic_read(&tlb->hub->gen[vmid]);
        }
    }
    return used;
}
