/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: declarations shared by the files of memory/. */
#ifndef HW_MISC_VGPU_KFD_MEMORY_INTERNAL_H
#define HW_MISC_VGPU_KFD_MEMORY_INTERNAL_H

#include "qemu/queue.h"
#include "qemu/thread.h"
#include "exec/memory.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/core/timer.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/xgmi.h"

/* Number of entries in the log VGPUHub.ranges; a power of two. */
#define VGPU_RANGE_LOG          64
/* Number of windows that a device has at a time: see VGPUMemory.windows. */
#define VGPU_BUS_WINDOWS        4
#define VGPU_ATHUB_SPAN         (ATC_VMID_PASID_MAPPING(32) - ATHUB_BASE)

/*
 * Value of VGPUSpan.fault for no-retry faults of class @name, such as PDE0. The
 * value is a bit of register VM_L2_PROTECTION_FAULT_CNTL. If the bit is set in
 * the register, reads with such a fault get the default page.
 */
#define VGPU_FAULT_CLASS(name) \
    VM_L2_PROTECTION_FAULT_CNTL__ ## name ## _DEFAULT

/*
 * Result of a page walk. The result is one of:
 * - a leaf of the tables
 * - a range in an aperture, which needs no tables
 * - a fault
 * - VGPU_TARGET_WAIT: a table entry could not be read, because the IOMMU has
 *   not yet translated the bus address of the entry
 */
typedef struct VGPULeaf {
    VGPUTargetKind kind;
    /* Log2 of the size of the leaf in bytes; 0 for an aperture. */
    uint8_t shift;
    uint8_t error;              /* VGPU_WALKER_* */
    uint16_t flags;             /* VGPU_LEAF_* */
    uint16_t fault;             /* class of a fault: see VGPUSpan.fault */
    /*
     * Address in memory of @kind. For a leaf: address of the leaf's first byte.
     * For an aperture: address to which the va of the page walk translates.
     */
    uint64_t addr;
    /*
     * For an aperture: number of bytes, counted from the va of the page walk,
     * that are contiguous in memory of @kind. 0 for all other results.
     */
    uint64_t left;
} VGPULeaf;

/* An invalidation of pages @first to @last of the VMIDs in mask @vmids. */
typedef struct VGPURange {
    uint64_t first;             /* page number: address >> VGPU_PAGE_SHIFT */
    uint64_t last;
    uint32_t vmids;
} VGPURange;

/* State of an invalidation engine. Guarded by s->lock. */
typedef struct VGPUInvalidation {
    /* Mask of VMIDs with a request that is not acknowledged yet. */
    uint32_t pending;
    /*
     * Mask of VMIDs whose last request is never acknowledged, because of an
     * injection.
     */
    uint32_t no_ack;
    /*
     * For each client, mask of VMIDs. The client's access in progress may still
     * use old translations of these VMIDs.
     */
    uint32_t waiting[VGPU_NUM_CLIENTS];
    /*
     * For each client with a nonzero mask in @waiting: VGPUTlb.access at the
     * last invalidation request. The access has ended once VGPUTlb.access
     * differs.
     */
    unsigned seen[VGPU_NUM_CLIENTS];
} VGPUInvalidation;

/* A VM hub. */
typedef struct VGPUHub {
    /*
     * Registers, read atomically by any thread. Written:
     * - fault status and acknowledges: under s->lock
     * - roots of page tables: under the BQL, or by the CP's thread
     * - others: under the BQL
     */
    uint32_t regs[HUB_SPAN];
    VGPUInvalidation inv[VGPU_NUM_INV_ENGINES];
    /* Log of invalidated ranges, a ring buffer. Guarded by s->lock. */
    VGPURange ranges[VGPU_RANGE_LOG];
    /*
     * Number of ranges that were logged since realize. Written under s->lock,
     * read atomically.
     */
    uint32_t num_ranges;
    /*
     * For each VMID, number of invalidations that cover all pages of the VMID.
     * Written under s->lock, read atomically.
     */
    uint32_t gen[VGPU_NUM_VMIDS];
    /*
     * For each VMID, number of all its invalidations, both of ranges and of all
     * pages. Written under s->lock, read atomically.
     */
    uint32_t invs[VGPU_NUM_VMIDS];
} VGPUHub;

/*
 * Invalidations that an injection acknowledges early, before they take effect.
 * Guarded by s->lock.
 */
typedef struct VGPULateDrops {
    /*
     * Expires at the smallest nonzero time in @due, or before: an injection
     * that replaces a time in @due by a later one does not delay the timer.
     */
    VGPUTimer timer;
    /*
     * Time at which the invalidation of a VMID takes effect: ns,
     * QEMU_CLOCK_VIRTUAL. 0 if no invalidation of the VMID is delayed.
     */
    int64_t due[VGPU_NUM_HUBS][VGPU_NUM_VMIDS];
} VGPULateDrops;

/* An XGMI hive. */
struct VGPUHive {
    Object parent_obj;

    uint64_t id;                /* property hive-id; constant once complete */
    /* True if @id was checked and cannot change. Guarded by the BQL. */
    bool complete;
    QemuMutex lock;             /* innermost lock */
    /*
     * The device of each node number, or NULL. Changed with @lock and the BQL
     * held, read with one of them held.
     */
    VGPUState *node[VGPU_XGMI_NODES];
};

/*
 * The memory of a device, its hubs and their clients. For the locks of @hubs
 * and @late_drops, see their types. A member whose comment names no lock or
 * other rule of access is constant from the end of realize to unrealize.
 */
struct VGPUMemory {
    VGPUState *s;
    VGPUHub hubs[VGPU_NUM_HUBS];
    VGPUClient *clients[VGPU_NUM_CLIENTS];      /* set when the engines start */
    /*
     * Index of the client that is offered the next free CAM slot first. Guarded
     * by the BQL.
     */
    unsigned slot_turn;
    /*
     * Registers of ATHUB. Written under the BQL or by the CP's thread,
     * atomically.
     */
    uint32_t athub[VGPU_ATHUB_SPAN];
    VGPULateDrops late_drops;

    VGPUHive *hive;             /* hive that the device has joined, or NULL */
    uint8_t xgmi_node;          /* number of this device in the hive */
    uint64_t vram_base;         /* offset of this device's VRAM in the hive */
    MemoryRegion *vram;         /* memory of memdev, or own_vram */
    MemoryRegion own_vram;
    uint8_t *vram_ptr;          /* host address of vram */
    MemoryRegion vram_whole;    /* alias of vram, root of vram_as */
    AddressSpace vram_as;       /* has VRAM from address 0 on */
    MemoryRegionCache vram_cache;       /* marks written VRAM dirty */

    /*
     * Drops @windows and updates @iommu_notifiers when the memory map of the
     * bus changes.
     */
    MemoryListener bus_listener;
    /* Serves requests to the IOMMU in the main loop: queue/iommu-requests.c. */
    QEMUBH *iommu_bh;
    /*
     * Incremented when an IOMMU notifies an unmapping, and when the memory map
     * of the bus changes. Accessed atomically.
     */
    uint32_t bus_drops;
    /* Notifiers registered by iommu.c. Guarded by the BQL. */
    QLIST_HEAD(, VGPUIommuNotifier) iommu_notifiers;
    QemuMutex window_lock;      /* innermost lock */
    /*
     * Cached ranges of RAM on the bus: see VGPUWindow in phys.c. Changed under
     * window_lock, read under RCU.
     */
    struct VGPUWindow *windows[VGPU_BUS_WINDOWS];
    /*
     * Index of the window to replace next, modulo VGPU_BUS_WINDOWS. Guarded by
     * window_lock.
     */
    unsigned next_window;
};

/* Return the stored value of a register of @hub. Any thread. */
static inline uint32_t vgpu_hub_load(const VGPUHub *hub, unsigned off)
{
    return qatomic_read(&hub->regs[off]);
}

/*
 * Return the value of a pair of registers of @hub; @lo is the low half. Any
 * thread.
 */
static inline uint64_t vgpu_hub_load64(const VGPUHub *hub, unsigned lo)
{
    return vgpu_hub_load(hub, lo) | (uint64_t)vgpu_hub_load(hub, lo + 1) << 32;
}

/*
 * Functions in page-walk.c. The client's thread calls them between
 * vgpu_client_begin() and vgpu_client_end().
 */

/*
 * Translate @va through apertures and page tables, without the TLB. @gen is the
 * value of VGPUHub.gen[vmid] before the call.
 */
VGPULeaf vgpu_page_walk(VGPUClient *c, unsigned vmid, uint64_t va,
                        uint32_t gen);
/*
 * Return the kind of fault that a page-table entry causes if the entry is
 * invalid or does not permit the access: VGPU_TARGET_RETRY or
 * VGPU_TARGET_FAULT.
 */
VGPUTargetKind vgpu_page_walk_fault_kind(VGPUClient *c, unsigned vmid);

/* fault-status.c */

/*
 * Return the bit of VM_CONTEXT_CNTL that permits redirection of faults of class
 * @fault to the default page. 0: VM_L2_PROTECTION_FAULT_CNTL alone decides.
 */
uint32_t vgpu_fault_redirect_bit(uint16_t fault);
/* Clear fault status and fault address of @hub. The caller holds s->lock. */
void vgpu_hub_clear_fault(VGPUState *s, unsigned hub);

/*
 * Functions in invalidate.c for accesses to registers, called through VGPUReg.
 * The caller holds the BQL, except as noted.
 */

/*
 * Start the invalidation that @val, written to REQ, requests. A request for
 * only PDEs is just acknowledged, since TLBs hold only leaves.
 */
void vgpu_invalidate_req_written(VGPUState *s, unsigned hub, unsigned off,
                                 uint32_t old, uint32_t val);
/*
 * Acknowledge requests to the invalidation engine that have completed. Return
 * the value of ACK. Any thread.
 */
uint32_t vgpu_invalidate_ack_read(VGPUState *s, unsigned hub, unsigned off);

/* invalidate-inject.c */

#define VGPU_INJECT_INVALIDATIONS \
    (1u << VGPU_INJECT_KIND_INV_NO_ACK | 1u << VGPU_INJECT_KIND_INV_EARLY_ACK)

/*
 * Apply injections to a request to invalidation engine @eng for the VMIDs in
 * *@vmids. If inv-early-ack delays the invalidation of a VMID, remove the VMID
 * from *@vmids. Return the mask of VMIDs that inv-no-ack leaves unacknowledged.
 * s->lock held.
 */
uint32_t vgpu_invalidate_inject(VGPUState *s, unsigned hub, unsigned eng,
                                uint32_t *vmids);

/* iommu.c */

/* Callbacks of VGPUMemory.bus_listener. The caller holds the BQL. */
void vgpu_iommu_region_add(MemoryListener *l, MemoryRegionSection *section);
void vgpu_iommu_region_del(MemoryListener *l, MemoryRegionSection *section);
/*
 * Return the valid reply in @iotlb that translates @addr. If there is no such
 * reply, store a request in @iotlb and return NULL. The caller owns @iotlb.
 */
const VGPUIommuReply *vgpu_iommu_reply(VGPUState *s, VGPUIotlb *iotlb,
                                       hwaddr addr, bool write);
/*
 * Wait for bus accesses in progress: those of clients, and the device's writes
 * of interrupt entries. The caller holds the BQL and no lock of the device.
 */
void vgpu_bus_quiesce(VGPUState *s);

/* client.c */

/*
 * Wait for clients' accesses in progress. The caller holds the BQL and no lock
 * of the device, since VGPUClientOps.drain() takes locks of workers.
 */
void vgpu_clients_drain(VGPUState *s);

/* xgmi.c */

/* Return the mask of nodes to which the link is up. Any thread. */
uint32_t vgpu_xgmi_links(VGPUState *s);
/*
 * Map host memory as vgpu_phys_map() does, for VGPU_TARGET_PEER. Return false
 * if there is no memory or the link is down. Any thread.
 */
bool vgpu_xgmi_map(VGPUState *s, VGPUSpan *span);
/*
 * Return the size of the hive's VRAM in bytes: from offset 0 to the end of the
 * last node's VRAM. Without a hive: the size of this device's VRAM. Any thread.
 */
uint64_t vgpu_xgmi_span(VGPUState *s);
/*
 * Find the node that has offset @site.va of the hive's VRAM. Apply xgmi-down
 * injections to the link to this node. If the node is this device, do nothing.
 * Any thread.
 */
void vgpu_xgmi_inject_down(VGPUState *s, VGPUSite site);
/*
 * Return the values of MC_VM_XGMI_LFB_CNTL and MC_VM_XGMI_LFB_SIZE. The caller
 * holds the BQL.
 */
uint32_t vgpu_xgmi_lfb_cntl(VGPUState *s);
uint32_t vgpu_xgmi_lfb_size(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_MEMORY_INTERNAL_H */
