/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: clients of the hubs: engines that access memory by GPU address.
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
typedef struct VGPUTlb VGPUTlb;

#define VGPU_CLIENT_CP          SDMA_NUM_ENGINES
#define VGPU_NUM_CLIENTS        (SDMA_NUM_ENGINES + 1)
#define VGPU_TLB_SETS_LOG2      9
#define VGPU_TLB_WAYS           4

/* Operations that wake the thread of a client, or wait for the thread. */
typedef struct VGPUClientOps {
    /*
     * Wake queues that wait because of a retry fault in a VMID of mask @vmids.
     * If @slot is -1, wake all these queues. Otherwise wake only queues with a
     * fault in CAM slot @slot, and queues that wait for a time. Called without
     * device locks.
     */
    void (*retry)(VGPUClient *c, uint32_t vmids, int slot);
    /*
     * A CAM slot was freed. If queues of the client wait for a free slot, let
     * the one that has waited longest try its access again. Return false if
     * queues of the client go on waiting, because no slot is free any more. The
     * caller holds the BQL and no other lock of the device.
     */
    bool (*slot_freed)(VGPUClient *c);
    /*
     * Wait until the thread has completed its current access. The caller holds
     * the BQL and no other lock of the device.
     */
    void (*drain)(VGPUClient *c);
} VGPUClientOps;

/*
 * A client of a hub: an engine that translates GPU addresses in a thread. The
 * members before @queue are constant after vgpu_client_init().
 */
struct VGPUClient {
    VGPUState *s;
    VGPUTlb *tlb;               /* private to memory/ */
    unsigned index;             /* number of SDMA engine, or VGPU_CLIENT_CP */
    uint8_t hub;                /* VGPU_HUB_* */
    const VGPUClientOps *ops;
    /*
     * @queue and @iotlb are accessed by the client's thread, or by a caller
     * that holds the client's worker (vgpu_worker_hold()).
     */
    uint8_t queue;              /* number of the queue that accesses memory */
    VGPUIotlb *iotlb;           /* IOTLB of @queue */
};

/**
 * vgpu_client_init: initialise a client and add it to the device
 * @s: device
 * @c: client
 * @index: number of the SDMA engine, or VGPU_CLIENT_CP
 * @hub: VGPU_HUB_*
 * @cid: client id in VM_L2_PROTECTION_FAULT_STATUS
 * @ops: callbacks that wake, or wait for, the client's thread
 *
 * Context: BQL held.
 */
void vgpu_client_init(VGPUState *s, VGPUClient *c, unsigned index, unsigned hub,
                      unsigned cid, const VGPUClientOps *ops);

/**
 * vgpu_client_destroy: remove a client from the device and free its TLB
 * @c: client
 *
 * Context: BQL held. All threads of the device have ended.
 */
void vgpu_client_destroy(VGPUClient *c);

/**
 * vgpu_clients_wake: call VGPUClientOps.retry() of the clients of some hubs
 * @s: device
 * @hub_mask: mask of 1 << VGPU_HUB_*
 * @vmids: argument of retry()
 * @slot: argument of retry()
 *
 * If the caller holds the BQL, the call may execute packets of a queue whose
 * engine sleeps: see vgpu_worker_run_here().
 *
 * Context: any thread, no device lock held.
 */
void vgpu_clients_wake(VGPUState *s, unsigned hub_mask, uint32_t vmids,
                       int slot);

/**
 * vgpu_clients_slot_freed: offer a free CAM slot to queues that wait for one
 * @s: device
 *
 * Calls VGPUClientOps.slot_freed() of the clients, each time beginning with
 * another client, until no slot is free. As vgpu_clients_wake(), the call may
 * execute packets.
 *
 * Context: BQL held, no device lock held.
 */
void vgpu_clients_slot_freed(VGPUState *s);

/**
 * vgpu_client_begin: start an access, and apply invalidations to the TLB
 * @c: client
 *
 * Later invalidations are not acknowledged before vgpu_client_end().
 *
 * Context: the client's thread, no device lock held. Takes the RCU read lock.
 */
void vgpu_client_begin(VGPUClient *c);

/**
 * vgpu_client_end: end an access
 * @c: client
 *
 * Context: the client's thread. Releases the RCU read lock.
 */
void vgpu_client_end(VGPUClient *c);

/**
 * vgpu_client_invalidations: read the number of invalidations of a VMID
 * @c: client
 * @vmid: VMID
 *
 * Context: any thread.
 * Return: number of all invalidations of @vmid in @c's hub, both of ranges and
 * of all pages. The number wraps.
 */
uint32_t vgpu_client_invalidations(const VGPUClient *c, unsigned vmid);

/**
 * vgpu_clients_flush_tlb: drop all translations of all clients
 * @s: device
 *
 * Context: BQL held. The worker of each client runs no step: the caller has
 * paused the worker, or holds the worker (vgpu_worker_hold()).
 */
void vgpu_clients_flush_tlb(VGPUState *s);

/**
 * vgpu_client_tlb_used: count the valid entries of the TLB
 * @c: client
 *
 * Context: the caller holds the client's worker.
 * Return: number of entries that translations may use.
 */
unsigned vgpu_client_tlb_used(VGPUClient *c);

/*
 * The client's thread calls the functions below between vgpu_client_begin() and
 * vgpu_client_end().
 */

/**
 * vgpu_gpuvm_map: translate a GPU address and map the memory
 * @c: client
 * @vmid: VMID
 * @va: GPU address
 * @len: bytes, at least 1
 * @type: kind of access
 * @span: out: memory of at most @len bytes, an unreported fault, or
 *        VGPU_TARGET_WAIT
 *
 * If @span is memory, release @span with vgpu_phys_unmap().
 */
void vgpu_gpuvm_map(VGPUClient *c, unsigned vmid, uint64_t va, uint64_t len,
                    VGPUAccessType type, VGPUSpan *span);

/**
 * vgpu_gpuvm_map_default: redirect an access that had a no-retry fault
 * @c: client
 * @vmid: VMID
 * @va: GPU address
 * @len: bytes, at least 1
 * @span: in: the no-retry fault that vgpu_gpuvm_map() returned;
 *        out: memory of at most @len bytes, or VGPU_TARGET_WAIT
 *
 * A read gets the default page or zeros, as the registers select. A write is
 * dropped.
 */
void vgpu_gpuvm_map_default(VGPUClient *c, unsigned vmid, uint64_t va,
                            uint64_t len, VGPUSpan *span);

/**
 * vgpu_queue_site: build a VGPUSite from a queue and an address
 * @client: VGPUClient.index
 * @queue: number of the SDMA queue or HQD
 * @vmid: VMID
 * @va: GPU address or other value of VGPUSite.va
 *
 * Context: any thread.
 * Return: site, for comparison with the filters of injections.
 */
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

/**
 * vgpu_client_site: call vgpu_queue_site() for the queue in execution
 * @c: client that executes the queue
 * @vmid: VMID
 * @va: GPU address
 *
 * Context: the client's thread, because c->queue is read without a lock.
 * Return: as vgpu_queue_site().
 */
static inline VGPUSite vgpu_client_site(const VGPUClient *c, unsigned vmid,
                                        uint64_t va)
{
    return vgpu_queue_site(c->index, c->queue, vmid, va);
}

#endif /* HW_MISC_VGPU_KFD_MEMORY_CLIENT_H */
