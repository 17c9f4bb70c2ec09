/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: invalidation of translations: requests to the invalidation engines
 * of the hubs, and their acknowledges. Clients drop invalidated translations
 * from their TLBs at the start of the next access (tlb.c).
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "vgpu/pte.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/delay.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/tlb-priv.h"

#define LAST_PAGE               ((1ull << (VGPU_VA_BITS - VGPU_PAGE_SHIFT)) - 1)
#define INV_REQ_LEAVES \
    (VM_INVALIDATE_ENG_REQ__L2_PTES | VM_INVALIDATE_ENG_REQ__L1_PTES)

/*
 * Acknowledge the complete requests to invalidation engine @eng. The caller
 * holds s->lock.
 */
static void invalidate_complete(VGPUState *s, unsigned h, unsigned eng)
{
    VGPUHub *hub = &s->memory->hubs[h];
    uint32_t waiting = 0, done;
    unsigned i;

    /* A request is complete when no access uses old translations any more. */
    for (i = 0; i < VGPU_NUM_CLIENTS; i++) {
        if (hub->inv[eng].waiting[i] &&
            qatomic_load_acquire(&s->memory->clients[i]->tlb->access) !=
            hub->inv[eng].seen[i]) {
            hub->inv[eng].waiting[i] = 0;
        }
        waiting |= hub->inv[eng].waiting[i];
    }
    done = hub->inv[eng].pending & ~waiting & ~hub->inv[eng].no_ack;
    if (done) {
        uint32_t *ack = &hub->regs[VM_INVALIDATE_ENG_ACK(eng)];

        hub->inv[eng].pending &= ~done;
        qatomic_set(ack, *ack | done);
        vgpu_count(s, VGPU_CNT_INVALIDATIONS, ctpop32(done));
        trace_vgpu_inv_ack(s->id, h, eng, done);
    }
}

/*
 * Count an invalidation of each VMID in mask @vmids. The caller holds s->lock.
 */
static void invalidate_count(VGPUState *s, unsigned h, uint32_t vmids)
{
    unsigned i;

    for (i = 0; i < VGPU_NUM_VMIDS; i++) {
        if (vmids & (1u << i)) {
            qatomic_inc(&s->memory->hubs[h].invs[i]);
        }
    }
}

void vgpu_invalidate_vmids(VGPUState *s, unsigned h, uint32_t vmids)
{
    unsigned i;

    for (i = 0; i < VGPU_NUM_VMIDS; i++) {
        if (vmids & (1u << i)) {
            qatomic_inc(&s->memory->hubs[h].gen[i]);
        }
    }
    invalidate_count(s, h, vmids);
}

/* Return the range of pages in the ADDR_RANGE of invalidation engine @eng. */
static VGPURange invalidate_range_of(VGPUState *s, unsigned h, unsigned eng)
{
    uint64_t val = vgpu_hub_reg64(s, h,
                                  VM_INVALIDATE_ENG_ADDR_RANGE_LO32(eng));
    uint64_t page = VGPU_GET(val, VM_INVALIDATE_ENG_ADDR_RANGE__PAGE);
    uint64_t mask = 0;

    if (val & VM_INVALIDATE_ENG_ADDR_RANGE__S) {
        mask = MAKE_64BIT_MASK(0, cto64(page) + 1);
    }
    return (VGPURange) { .first = page & ~mask, .last = page | mask };
}

/*
 * Invalidate the translations of the VMIDs in mask @vmids for the pages in the
 * ADDR_RANGE of invalidation engine @eng. The caller holds s->lock.
 */
static void invalidate_drop(VGPUState *s, unsigned h, unsigned eng,
                            uint32_t vmids)
{
    VGPUHub *hub = &s->memory->hubs[h];
    VGPURange range = invalidate_range_of(s, h, eng);
    uint32_t n = hub->num_ranges;

    trace_vgpu_inv_range(s->id, h, eng, vmids, range.first, range.last);
    if (!range.first && range.last >= LAST_PAGE) {
        vgpu_invalidate_vmids(s, h, vmids);
        return;
    }
    range.vmids = vmids;
    hub->ranges[n % VGPU_RANGE_LOG] = range;
    qatomic_store_release(&hub->num_ranges, n + 1);
    invalidate_count(s, h, vmids);
}

void vgpu_invalidate_complete(VGPUState *s)
{
    unsigned h, eng;

    QEMU_LOCK_GUARD(&s->lock);
    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        for (eng = 0; eng < VGPU_NUM_INV_ENGINES; eng++) {
            if (s->memory->hubs[h].inv[eng].pending) {
                invalidate_complete(s, h, eng);
            }
        }
    }
}

void vgpu_invalidate_req_written(VGPUState *s, unsigned h, unsigned off,
                                 uint32_t old, uint32_t val)
{
    unsigned eng = off - VM_INVALIDATE_ENG_REQ(0);
    uint32_t vmids = val & VM_INVALIDATE_ENG_REQ__PER_VMID;
    VGPUHub *hub = &s->memory->hubs[h];
    uint32_t *ack = &hub->regs[VM_INVALIDATE_ENG_ACK(eng)];
    unsigned i;

    trace_vgpu_inv_req(s->id, h, eng, val);
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        qatomic_set(ack, *ack & ~vmids);
        if (val & VM_INVALIDATE_ENG_REQ__CLEAR_FAULT) {
            vgpu_hub_clear_fault(s, h);
        }
        /*
         * If a VMID has an older pending request, the next acknowledge ends
         * both requests. But invalidate_complete() counts only one invalidation
         * for this acknowledge. So count the older request here.
         */
        vgpu_count(s, VGPU_CNT_INVALIDATIONS,
                   ctpop32(hub->inv[eng].pending & vmids));
        hub->inv[eng].pending |= vmids;
        hub->inv[eng].no_ack &= ~vmids;
        if (vgpu_inject_armed(s, VGPU_INJECT_INVALIDATIONS)) {
            hub->inv[eng].no_ack |= vgpu_invalidate_inject(s, h, eng, &vmids);
        }
        if (val & INV_REQ_LEAVES) {
            invalidate_drop(s, h, eng, vmids);
        } else {
            invalidate_count(s, h, vmids);
        }
        /*
         * Order the invalidation before the test for accesses in progress:
         * pairs with the barrier in vgpu_client_begin().
         */
        smp_mb();
        for (i = 0; i < VGPU_NUM_CLIENTS; i++) {
            const VGPUClient *c = s->memory->clients[i];
            unsigned access = qatomic_read(&c->tlb->access);

            if (c->hub == h && (access & 1)) {
                hub->inv[eng].waiting[i] |= vmids;
                hub->inv[eng].seen[i] = access;
            }
        }
        if (!vgpu_delay_ack(s, true)) {
            invalidate_complete(s, h, eng);
        }
    }
    vgpu_clients_wake(s, 1u << h, vmids, -1);
}

uint32_t vgpu_invalidate_ack_read(VGPUState *s, unsigned h, unsigned off)
{
    QEMU_LOCK_GUARD(&s->lock);
    if (!vgpu_delay_ack(s, false)) {
        invalidate_complete(s, h, off - VM_INVALIDATE_ENG_ACK(0));
    }
    return s->memory->hubs[h].regs[off];
}

VgpuInvalidationInfoList *vgpu_query_invalidations(VGPUState *s)
{
    VgpuInvalidationInfoList *list = NULL, **tail = &list;
    unsigned h, eng;

    for (h = 0; h < VGPU_NUM_HUBS; h++) {
        for (eng = 0; eng < VGPU_NUM_INV_ENGINES; eng++) {
            if (s->memory->hubs[h].inv[eng].pending) {
                VgpuInvalidationInfo *info = g_new0(VgpuInvalidationInfo, 1);

                info->hub = vgpu_hub_kind(h);
                info->engine = eng;
                info->vmids = s->memory->hubs[h].inv[eng].pending;
                QAPI_LIST_APPEND(tail, info);
            }
        }
    }
    return list;
}
