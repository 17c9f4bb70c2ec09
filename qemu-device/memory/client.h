/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: clients of the hubs: engines that translate GPU addresses.
 */
#ifndef HW_MISC_VGPU_KFD_MEMORY_CLIENT_H
#define HW_MISC_VGPU_KFD_MEMORY_CLIENT_H

#include "vgpu/cp.h"
#include "vgpu/gmc.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/iommu.h"
#include "hw/misc/vgpu-kfd/memory/span.h"

typedef struct VGPUState VGPUState;
typedef struct VGPUClient VGPUClient;
typedef struct VGPUHub VGPUHub;
typedef struct VGPUTlbSet VGPUTlbSet;

#define VGPU_CLIENT_CP          SDMA_NUM_ENGINES
#define VGPU_NUM_CLIENTS        (SDMA_NUM_ENGINES + 1)
#define VGPU_TLB_SETS_LOG2      9
#define VGPU_TLB_WAYS           4

/* What a client's thread does for others. Constant. */
typedef struct VGPUClientOps {
    /*
     * Look again at work that stalled on a fault: of VMIDs in mask @vmids, for
     * what was in CAM slot @slot or a free one (-1: whatever it waits for). No
     * device lock held.
     */
    void (*retry)(VGPUClient *c, uint32_t vmids, int slot);
    /*
     * Wait until the thread has left the access that it is in. BQL held, no
     * device lock held.
     */
    void (*drain)(VGPUClient *c);
} VGPUClientOps;

/*
 * A client of a hub: an engine whose thread translates GPU addresses. Members
 * before @access are constant from vgpu_client_init() on. Only the thread
 * touches @queue and the members after it; while the thread is at rest, the
 * caller that holds the worker does.
 */
struct VGPUClient {
    VGPUState *s;
    VGPUHub *vmhub;             /* number @hub; memory/internal.h */
    unsigned index;             /* SDMA engine's number, or VGPU_CLIENT_CP */
    uint8_t hub;                /* VGPU_HUB_* */
    uint16_t cid;               /* as VM_L2_PROTECTION_FAULT_STATUS.CID says */
    const VGPUClientOps *ops;
    unsigned access;            /* odd: translations in use; atomic */
    uint8_t queue;              /* number of the queue that accesses memory */
    VGPUIotlb *iotlb;           /* that queue's */
    VGPUTlbSet *tlb;            /* 1 << VGPU_TLB_SETS_LOG2 sets */
    uint64_t tlb_shifts;        /* mask: log2 sizes of leaves in the TLB */
    /* The next translation, made to see how far the one before goes. */
    struct {
        bool valid;
        uint8_t vmid;
        VGPUAccessType type;
        uint32_t gen;           /* vmhub->gen[vmid] before the translation */
        uint64_t va;
        VGPUSpan span;          /* not mapped */
    } peek;
    uint32_t ranges_done;       /* of vmhub->num_ranges, done in the TLB */
    uint32_t tlb_hits;          /* not added to s->counters yet */
    uint32_t tlb_misses;        /* the same */
};

/* Make @c client @index, of @hub, with CID @cid. BQL held. */
void vgpu_client_init(VGPUState *s, VGPUClient *c, unsigned index, unsigned hub,
                      unsigned cid, const VGPUClientOps *ops);
/* Free the TLB. All threads of the device have ended. BQL held. */
void vgpu_client_destroy(VGPUClient *c);
/* Call ops->retry() of the clients of the hubs in mask @hub_mask. */
void vgpu_clients_wake(VGPUState *s, unsigned hub_mask, uint32_t vmids,
                       int slot);
/* Translations may be used from begin to end. The client's thread. */
void vgpu_client_begin(VGPUClient *c);
void vgpu_client_end(VGPUClient *c);
/* Number of invalidations of any page of @vmid in @c's hub. Any thread. */
uint32_t vgpu_client_invalidations(const VGPUClient *c, unsigned vmid);
/* Drop every translation of all clients. Their threads are at rest. */
void vgpu_clients_flush_tlb(VGPUState *s);
/* Entries of the TLB that are in force. The client's thread is at rest. */
unsigned vgpu_client_tlb_used(VGPUClient *c);

/* These by the client's thread, between begin and end. */

/*
 * The longest span at @va, at most @len bytes, as host memory. A fault, or
 * VGPU_TARGET_WAIT, is the span's kind, nothing is reported. Undone by
 * vgpu_phys_unmap().
 */
void vgpu_gpuvm_map(VGPUClient *c, unsigned vmid, uint64_t va, uint64_t len,
                    VGPUAccessType type, VGPUSpan *span);
/*
 * Where the no-retry fault in @span, at @va, is redirected: to the default
 * page, or nowhere; VGPU_TARGET_WAIT if that is not known yet.
 */
void vgpu_gpuvm_map_default(VGPUClient *c, unsigned vmid, uint64_t va,
                            uint64_t len, VGPUSpan *span);

/* @queue of @c, a compute queue's number or an engine's, does something. */
static inline VGPUSite vgpu_queue_site(unsigned client, unsigned queue,
                                       unsigned vmid, uint64_t va)
{
    bool compute = client == VGPU_CLIENT_CP;

    return (VGPUSite) {
        .hub = compute ? VGPU_HUB_GFX : VGPU_HUB_MM, .vmid = vmid, .va = va,
        .engine = compute ? VGPU_SITE_NONE : (int)client,
        .queue = compute ? queue % CP_NUM_QUEUES : queue,
        .pipe = compute ? queue / CP_NUM_QUEUES % CP_NUM_PIPES : 0,
        .me = compute ? queue / CP_NUM_QUEUES / CP_NUM_PIPES + 1 : 0,
    };
}

/* The queue that @c serves does something in @vmid at @va. @c's thread. */
static inline VGPUSite vgpu_client_site(const VGPUClient *c, unsigned vmid,
                                        uint64_t va)
{
    return vgpu_queue_site(c->index, c->queue, vmid, va);
}

#endif /* HW_MISC_VGPU_KFD_MEMORY_CLIENT_H */
