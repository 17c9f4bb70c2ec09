/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: clients of the hubs. This file has the start and end of an access,
 * the wait for accesses in progress, and the wake-up of stalled queues.
 */
#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "vgpu/device_info.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/tlb-priv.h"

void vgpu_client_init(VGPUState *s, VGPUClient *c, unsigned index, unsigned hub,
                      unsigned cid, const VGPUClientOps *ops)
{
    *c = (VGPUClient) {
        .s = s, .tlb = g_new0(VGPUTlb, 1), .index = index, .hub = hub,
        .ops = ops,
    };
    c->tlb->hub = &s->memory->hubs[hub];
    c->tlb->cid = cid;
    s->memory->clients[index] = c;
}

void vgpu_client_destroy(VGPUClient *c)
{
    c->s->memory->clients[c->index] = NULL;
    g_clear_pointer(&c->tlb, g_free);
}

void vgpu_clients_wake(VGPUState *s, unsigned hub_mask, uint32_t vmids,
                       int slot)
{
    unsigned i;

    for (i = 0; i < VGPU_NUM_CLIENTS; i++) {
        VGPUClient *c = s->memory->clients[i];

        if (hub_mask & (1u << c->hub)) {
            c->ops->retry(c, vmids, slot);
        }
    }
}

void vgpu_clients_slot_freed(VGPUState *s)
{
    VGPUMemory *m = s->memory;
    unsigned i, first = m->slot_turn;

    m->slot_turn = (first + 1) % VGPU_NUM_CLIENTS;
    for (i = 0; i < VGPU_NUM_CLIENTS; i++) {
        VGPUClient *c = m->clients[(first + i) % VGPU_NUM_CLIENTS];

        if (!c->ops->slot_freed(c)) {
            break;
        }
    }
}

/*
 * Wait for accesses in progress. synchronize_rcu() could deadlock: vCPUs wait
 * for the BQL in RCU critical sections, and the caller may be in one.
 */
void vgpu_clients_drain(VGPUState *s)
{
    unsigned i;

    /*
     * Order the caller's change of a mapping before the check for accesses in
     * progress: pairs with the barrier in vgpu_client_begin().
     */
    smp_mb();
    for (i = 0; i < VGPU_NUM_CLIENTS; i++) {
        VGPUClient *c = s->memory->clients[i];

        /*
         * Skip clients without an access in progress: there is nothing to wait
         * for, and drain() would delay the client's time slice.
         */
        if (c && (qatomic_load_acquire(&c->tlb->access) & 1)) {
            /*
             * drain() waits for the client's worker. No deadlock: the caller
             * holds the BQL, but workers never take the BQL.
             */
            c->ops->drain(c);
        }
    }
}

uint32_t vgpu_client_invalidations(const VGPUClient *c, unsigned vmid)
{
    return qatomic_read(&c->tlb->hub->invs[vmid]);
}

void vgpu_client_begin(VGPUClient *c)
{
    VGPUTlb *tlb = c->tlb;

    /*
     * Take the RCU read lock once for all mappings of the access, because an
     * outermost rcu_read_lock() has a barrier and a nested one has none.
     */
    rcu_read_lock();
    tlb->last_ptb.valid = false;
    qatomic_set(&tlb->access, tlb->access + 1);
    /*
     * Order the store to tlb->access before the reads of num_ranges and gen:
     * pairs with the barriers in vgpu_invalidate_req_written() and
     * vgpu_clients_drain().
     */
    smp_mb();
    if (unlikely(qatomic_load_acquire(&tlb->hub->num_ranges) !=
                 tlb->ranges_done)) {
        vgpu_tlb_apply_invalidations(c);
    }
}

void vgpu_client_end(VGPUClient *c)
{
    VGPUTlb *tlb = c->tlb;

    rcu_read_unlock();
    qatomic_store_release(&tlb->access, tlb->access + 1);
    if (tlb->hits) {
        vgpu_count(c->s, VGPU_CNT_TLB_HITS, tlb->hits);
        tlb->hits = 0;
    }
    if (tlb->misses) {
        vgpu_count(c->s, VGPU_CNT_TLB_MISSES, tlb->misses);
        tlb->misses = 0;
    }
}
