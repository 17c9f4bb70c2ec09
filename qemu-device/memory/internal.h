/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: declarations shared by the files of memory/. */
#ifndef HW_MISC_VGPU_KFD_MEMORY_INTERNAL_H
#define HW_MISC_VGPU_KFD_MEMORY_INTERNAL_H

#include "qemu/host-utils.h"
#include "qemu/queue.h"
#include "qemu/thread.h"
#include "exec/memory.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/xgmi.h"

#define VGPU_RANGE_LOG          64          /* entries; a power of two */
#define VGPU_BUS_WINDOWS        4           /* windows of RAM kept at once */
#define VGPU_ATHUB_SPAN         (ATC_VMID_PASID_MAPPING(32) - ATHUB_BASE)

/* A class of no-retry faults (VGPUSpan.fault): RANGE, PDE0, VALID, ... */
#define VGPU_FAULT_CLASS(name) \
    VM_L2_PROTECTION_FAULT_CNTL__ ## name ## _DEFAULT

/* Result of a page walk: a leaf, an aperture, or a fault. */
typedef struct VGPULeaf {
    VGPUTargetKind kind;
    uint8_t shift;              /* log2 of the size; 0: aperture, see left */
    uint8_t error;              /* VGPU_WALKER_* */
    uint16_t flags;             /* VGPU_LEAF_* */
    uint16_t fault;             /* VGPUSpan.fault */
    uint64_t addr;              /* of the leaf's first byte; aperture: of va */
    uint64_t left;              /* aperture: bytes from va on */
} VGPULeaf;

/* A leaf in a TLB. */
typedef struct VGPUTlbEntry {
    uint64_t key;               /* page, size and VMID; 0: empty */
    uint64_t addr;              /* VGPULeaf.addr */
    uint32_t gen;               /* VGPUHub.gen[vmid] before the walk */
    uint8_t shift;              /* VGPULeaf.shift */
    uint8_t kind;               /* VGPUTargetKind, no fault */
    uint16_t flags;             /* VGPU_LEAF_* */
} VGPUTlbEntry;

/* A set of a client's TLB. Accessed by the client's thread only. */
struct VGPUTlbSet {
    VGPUTlbEntry way[VGPU_TLB_WAYS];
    unsigned victim;            /* way to replace next, modulo VGPU_TLB_WAYS */
};

/* An invalidation of pages @first to @last of the VMIDs in mask @vmids. */
typedef struct VGPURange {
    uint64_t first;             /* page number: address >> VGPU_PAGE_SHIFT */
    uint64_t last;
    uint32_t vmids;
} VGPURange;

/* Requests to an invalidation engine, as masks of VMIDs. s->lock. */
typedef struct VGPUInvalidation {
    uint32_t pending;                   /* not acknowledged */
    uint32_t no_ack;                    /* injected: never acknowledged */
    /* By client: VMIDs whose old translations an access may still use. */
    uint32_t waiting[VGPU_NUM_CLIENTS];
    /* By client: client->access when the request was made. */
    unsigned seen[VGPU_NUM_CLIENTS];
} VGPUInvalidation;

/* A VM hub. */
struct VGPUHub {
    /*
     * Written under the BQL; fault status and acknowledges under s->lock; roots
     * of page tables also by the CP's thread. Read by any thread, atomically.
     */
    uint32_t regs[HUB_SPAN];
    VGPUInvalidation inv[VGPU_NUM_INV_ENGINES];
    VGPURange ranges[VGPU_RANGE_LOG];   /* log, a ring buffer; s->lock */
    uint32_t num_ranges;                /* logged since realize; atomic */
    /* Number of invalidations of all pages of a VMID. s->lock, atomic. */
    uint32_t gen[VGPU_NUM_VMIDS];
    /* Number of invalidations of any page of a VMID. s->lock, atomic. */
    uint32_t invs[VGPU_NUM_VMIDS];
};

/* Injected: invalidations acknowledged before they take effect. s->lock. */
typedef struct VGPULateDrops {
    QEMUTimer *timer;           /* QEMU_CLOCK_VIRTUAL: the first that is due */
    int64_t due[VGPU_NUM_HUBS][VGPU_NUM_VMIDS];     /* ns; 0: none */
} VGPULateDrops;

/* An XGMI hive. */
struct VGPUHive {
    Object parent_obj;

    uint64_t id;                /* property hive-id; constant once complete */
    bool complete;              /* properties are checked and constant; BQL */
    QemuMutex lock;             /* no lock is taken under it */
    /* The devices. Changed with lock and BQL held, read with one of them. */
    VGPUState *node[VGPU_XGMI_NODES];
};

/*
 * The memory of a device, its hubs and their clients. A member without a lock
 * in its comment is constant from realize to unrealize.
 */
struct VGPUMemory {
    VGPUState *s;
    VGPUHub hubs[VGPU_NUM_HUBS];
    VGPUClient *clients[VGPU_NUM_CLIENTS];      /* set as the engines start */
    /* Registers. Written under the BQL or by the CP's thread; atomic. */
    uint32_t athub[VGPU_ATHUB_SPAN];
    VGPULateDrops late_drops;

    VGPUHive *hive;             /* joined hive; NULL: none */
    uint8_t xgmi_node;          /* number of this device in the hive */
    uint64_t vram_base;         /* offset of this device's VRAM in the hive */
    MemoryRegion *vram;         /* of memdev, or own_vram */
    MemoryRegion own_vram;
    uint8_t *vram_ptr;          /* host address of vram */
    MemoryRegion vram_whole;    /* alias of vram, root of vram_as */
    AddressSpace vram_as;       /* VRAM from address 0 on */
    MemoryRegionCache vram_cache;       /* of vram_as: marks writes dirty */

    MemoryListener bus_listener;        /* of the device's bus */
    QEMUBH *iommu_bh;           /* calls the IOMMU: queue/iommu-requests.c */
    uint32_t bus_drops;         /* IOMMU unmaps and bus changes; atomic */
    QLIST_HEAD(, VGPUIommuNotifier) iommu_notifiers;    /* iommu.c; BQL */
    QemuMutex window_lock;      /* no lock is taken under it */
    /* Windows of RAM on the bus (phys.c): window_lock; read under RCU. */
    struct VGPUWindow *windows[VGPU_BUS_WINDOWS];
    unsigned next_window;       /* to replace next; window_lock */
};

/* Read a register of a hub. Any thread. */
static inline uint32_t vgpu_hub_load(const VGPUHub *hub, unsigned off)
{
    return qatomic_read(&hub->regs[off]);
}

/* Read a pair of registers of a hub, the low half at @lo. Any thread. */
static inline uint64_t vgpu_hub_load64(const VGPUHub *hub, unsigned lo)
{
    return vgpu_hub_load(hub, lo) | (uint64_t)vgpu_hub_load(hub, lo + 1) << 32;
}

/*
 * page-walk.c. Called by the client's thread between vgpu_client_begin() and
 * vgpu_client_end().
 */

/* Translate @va by apertures and page tables, without the TLB. */
VGPULeaf vgpu_page_walk(VGPUClient *c, unsigned vmid, uint64_t va);
/*
 * Return the kind of a fault at an entry that is invalid or does not permit the
 * access: VGPU_TARGET_RETRY or VGPU_TARGET_FAULT.
 */
VGPUTargetKind vgpu_page_walk_fault_kind(VGPUClient *c, unsigned vmid);

/* tlb.c. Called by the client's thread. */

/* Return the key of a leaf: unique, never 0. */
static inline uint64_t vgpu_tlb_key(unsigned vmid, uint64_t va, unsigned shift)
{
    return va >> shift << 10 | shift << 4 | vmid;
}

static inline VGPUTlbSet *vgpu_tlb_set(VGPUClient *c, uint64_t key)
{
    /* Fibonacci hashing spreads neighbours and far strides over the sets. */
    return &c->tlb[(key * 0x9e3779b97f4a7c15ull) >> (64 - VGPU_TLB_SETS_LOG2)];
}

/*
 * Return the entry of generation @gen that translates @va, or NULL. Inline,
 * since each access calls this function.
 */
static inline const VGPUTlbEntry *vgpu_tlb_find(VGPUClient *c, unsigned vmid,
                                                uint64_t va, uint32_t gen)
{
    uint64_t shifts;
    unsigned w;

    for (shifts = c->tlb_shifts; shifts; shifts &= shifts - 1) {
        uint64_t key = vgpu_tlb_key(vmid, va, ctz64(shifts));
        VGPUTlbSet *set = vgpu_tlb_set(c, key);

        for (w = 0; w < VGPU_TLB_WAYS; w++) {
            if (set->way[w].key == key && set->way[w].gen == gen) {
                return &set->way[w];
            }
        }
    }
    return NULL;
}

/* Add @leaf at @va. @gen: VGPUHub.gen[vmid] read before the walk. */
void vgpu_tlb_insert(VGPUClient *c, unsigned vmid, uint64_t va, uint32_t gen,
                     const VGPULeaf *leaf);
/* Drop entries in the ranges that were invalidated since the last call. */
void vgpu_tlb_apply_invalidations(VGPUClient *c);

/* fault-status.c */

/*
 * Return the bit of VM_CONTEXT_CNTL that redirects accesses with a no-retry
 * fault of class @fault (VGPUSpan.fault) to the default page; 0: the register
 * has no bit for this class, and the access is redirected.
 */
uint32_t vgpu_fault_redirect_bit(uint16_t fault);
/* Clear fault status and fault address of @hub. s->lock held. */
void vgpu_hub_clear_fault(VGPUState *s, unsigned hub);

/* invalidate.c: functions of VGPUReg. BQL held. */

/*
 * Start the invalidation that @val, written to an engine's REQ, requests. TLBs
 * hold leaves only: a request for directories alone drops no translation.
 */
void vgpu_invalidate_req_written(VGPUState *s, unsigned hub, unsigned off,
                                 uint32_t old, uint32_t val);
/* Read an engine's ACK. Any thread. */
uint32_t vgpu_invalidate_ack_read(VGPUState *s, unsigned hub, unsigned off);

/* invalidate-inject.c */

#define VGPU_INJECT_INVALIDATIONS \
    (1u << VGPU_INJECT_KIND_INV_NO_ACK | 1u << VGPU_INJECT_KIND_INV_EARLY_ACK)

/*
 * Offer the VMIDs in *@vmids, which a request to invalidation engine @eng
 * names, to injections. Remove from *@vmids those whose translations are to be
 * dropped after the acknowledge. Return the mask of those that are never to be
 * acknowledged. s->lock held.
 */
uint32_t vgpu_invalidate_inject(VGPUState *s, unsigned hub, unsigned eng,
                                uint32_t *vmids);

/* iommu.c */

/* Callbacks of the listener of the device's bus. BQL held. */
void vgpu_iommu_region_add(MemoryListener *l, MemoryRegionSection *section);
void vgpu_iommu_region_del(MemoryListener *l, MemoryRegionSection *section);
/*
 * Return the reply in @iotlb that translates @addr. If there is no valid one,
 * put the request into @iotlb and return NULL. Called by the owner of @iotlb.
 */
const VGPUIommuReply *vgpu_iommu_reply(VGPUState *s, VGPUIotlb *iotlb,
                                       hwaddr addr, bool write);
/*
 * After a change of the bus or of a translation: wait until all accesses that
 * began before this call have completed. BQL held, no lock of the device.
 */
void vgpu_bus_quiesce(VGPUState *s);

/* client.c */

/*
 * Wait until all accesses of @s's clients that began before this call have
 * completed. BQL held, no device lock: drain() takes the locks of workers.
 */
void vgpu_clients_drain(VGPUState *s);

/* xgmi.c */

/* Return the mask of nodes to which the link is up. Any thread. */
uint32_t vgpu_xgmi_links(VGPUState *s);
/*
 * As vgpu_phys_map(), for VGPU_TARGET_PEER. Return false if there is no memory
 * or the link is down. Any thread.
 */
bool vgpu_xgmi_map(VGPUState *s, VGPUSpan *span);
/*
 * Return the bytes from the start of node 0's VRAM to the end of the last
 * node's; without a hive, the size of VRAM. Any thread.
 */
uint64_t vgpu_xgmi_span(VGPUState *s);
/*
 * Offer an access at site.va, an address in the hive, to injections that take
 * down a link. Any thread.
 */
void vgpu_xgmi_inject_down(VGPUState *s, VGPUSite site);
/* Read MC_VM_XGMI_LFB_CNTL and MC_VM_XGMI_LFB_SIZE. BQL held. */
uint32_t vgpu_xgmi_lfb_cntl(VGPUState *s);
uint32_t vgpu_xgmi_lfb_size(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_MEMORY_INTERNAL_H */
