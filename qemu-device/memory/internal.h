/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: what the files of memory/ share. */
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
#define VGPU_BUS_WINDOWS        4           /* pieces of RAM known at once */
#define VGPU_ATHUB_SPAN         (ATC_VMID_PASID_MAPPING(32) - ATHUB_BASE)

/* A class of no-retry faults (VGPUSpan.fault): RANGE, PDE0, VALID... */
#define VGPU_FAULT_CLASS(name) \
    VM_L2_PROTECTION_FAULT_CNTL__ ## name ## _DEFAULT

/* What a walk finds: a stretch of the address space, or a fault. */
typedef struct VGPULeaf {
    VGPUTargetKind kind;
    uint8_t shift;              /* of its size; 0: an aperture, see left */
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

/* A set of a client's TLB. Only the client's thread touches it. */
struct VGPUTlbSet {
    VGPUTlbEntry way[VGPU_TLB_WAYS];
    unsigned victim;            /* way to replace next, modulo VGPU_TLB_WAYS */
};

/* Pages @first to @last of the VMIDs in mask @vmids are invalid. */
typedef struct VGPURange {
    uint64_t first;             /* page number: address >> VGPU_PAGE_SHIFT */
    uint64_t last;
    uint32_t vmids;
} VGPURange;

/* Requests of an invalidation engine; masks of VMIDs. s->lock. */
typedef struct VGPUInvalidation {
    uint32_t pending;                   /* not acknowledged */
    uint32_t no_ack;                    /* injected: never acknowledged */
    /* By client: those that its access in progress may still use. */
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
    VGPURange ranges[VGPU_RANGE_LOG];   /* the last ones; s->lock */
    uint32_t num_ranges;                /* since realize; atomic */
    /* Invalidations of all pages of a VMID. s->lock; read atomically. */
    uint32_t gen[VGPU_NUM_VMIDS];
    uint32_t invs[VGPU_NUM_VMIDS];      /* of any page of it; the same */
};

/* Injected: drops of translations after their acknowledge. s->lock. */
typedef struct VGPULateDrops {
    QEMUTimer *timer;           /* QEMU_CLOCK_VIRTUAL: the first that is due */
    int64_t due[VGPU_NUM_HUBS][VGPU_NUM_VMIDS];     /* ns; 0: none */
} VGPULateDrops;

/* An XGMI hive. */
struct VGPUHive {
    Object parent_obj;

    uint64_t id;                /* property hive-id; constant once complete */
    bool complete;              /* its properties are checked; BQL */
    QemuMutex lock;             /* no lock is taken under it */
    /* The devices. Changed with lock and BQL held, read with one of them. */
    VGPUState *node[VGPU_XGMI_NODES];
};

/*
 * The memory of a device, and how clients reach it. A member without a lock in
 * its comment is constant from realize to unrealize.
 */
struct VGPUMemory {
    VGPUState *s;
    VGPUHub hubs[VGPU_NUM_HUBS];
    VGPUClient *clients[VGPU_NUM_CLIENTS];      /* set as the engines start */
    /* Registers; BQL, and the CP's thread; atomic. */
    uint32_t athub[VGPU_ATHUB_SPAN];
    VGPULateDrops late_drops;

    VGPUHive *hive;             /* that it has joined; NULL: none */
    uint8_t xgmi_node;          /* our number in the hive */
    uint64_t vram_base;         /* offset of our VRAM in the hive's */
    MemoryRegion *vram;         /* memdev's or own_vram */
    MemoryRegion own_vram;
    uint8_t *vram_ptr;          /* host address of vram */
    MemoryRegion vram_whole;    /* alias of vram, which starts at address 0 */
    AddressSpace vram_as;       /* of vram_whole ... */
    MemoryRegionCache vram_cache;       /* ... to mark writes to VRAM dirty */

    MemoryListener bus_listener;        /* of the device's bus */
    QEMUBH *iommu_bh;           /* calls the IOMMU: queue/iommu-requests.c */
    uint32_t bus_drops;         /* unmappings, changes of the bus; atomic */
    QLIST_HEAD(, VGPUIommuNotifier) iommu_notifiers;    /* iommu.c; BQL */
    QemuMutex window_lock;      /* phys.c; nothing is taken inside it */
    /* Pieces of RAM that are mapped: window_lock; read under RCU. */
    struct VGPUWindow *windows[VGPU_BUS_WINDOWS];
    unsigned next_window;       /* to replace next; window_lock */
};

/* A register of a hub. Any thread. */
static inline uint32_t vgpu_hub_load(const VGPUHub *hub, unsigned off)
{
    return qatomic_read(&hub->regs[off]);
}

/* A pair of registers of a hub, the low half at @lo. Any thread. */
static inline uint64_t vgpu_hub_load64(const VGPUHub *hub, unsigned lo)
{
    return vgpu_hub_load(hub, lo) | (uint64_t)vgpu_hub_load(hub, lo + 1) << 32;
}

/* page-walk.c. The client's thread, between begin and end. */

/* Where the tables say that @va leads. */
VGPULeaf vgpu_page_walk(VGPUClient *c, unsigned vmid, uint64_t va);
/* What an entry that does not allow the access means: which fault. */
VGPUTargetKind vgpu_page_walk_fault_kind(VGPUClient *c, unsigned vmid);

/* tlb.c. The client's thread. */

/* Key of a leaf, which no other has; never 0. */
static inline uint64_t vgpu_tlb_key(unsigned vmid, uint64_t va, unsigned shift)
{
    return va >> shift << 10 | shift << 4 | vmid;
}

static inline VGPUTlbSet *vgpu_tlb_set(VGPUClient *c, uint64_t key)
{
    /* Fibonacci hashing: neighbours, and far strides, spread over the sets. */
    return &c->tlb[(key * 0x9e3779b97f4a7c15ull) >> (64 - VGPU_TLB_SETS_LOG2)];
}

/*
 * The entry in force for @va, of generation @gen; NULL: none. Inline: each
 * access begins with it.
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

/* Keep @leaf, which a walk found at @va after it read generation @gen. */
void vgpu_tlb_insert(VGPUClient *c, unsigned vmid, uint64_t va, uint32_t gen,
                     const VGPULeaf *leaf);
/* Drop what was invalidated by range since the last call. */
void vgpu_tlb_apply_invalidations(VGPUClient *c);

/* fault-status.c */

/*
 * Bit of VM_CONTEXT_CNTL that redirects accesses with a no-retry fault of class
 * @fault (see VGPUSpan). 0: there is no bit, the access is redirected.
 */
uint32_t vgpu_fault_redirect_bit(uint16_t fault);
/* Clear fault status and fault address of @hub. s->lock held. */
void vgpu_hub_clear_fault(VGPUState *s, unsigned hub);

/* invalidate.c: functions of VGPUReg. BQL held. */

/*
 * Drop translations of the VMIDs that @val, the value of an engine's REQ,
 * names. There are no directories in a TLB: leaves, or nothing.
 */
void vgpu_invalidate_req_written(VGPUState *s, unsigned hub, unsigned off,
                                 uint32_t old, uint32_t val);
/* An engine's ACK. Any thread. */
uint32_t vgpu_invalidate_ack_read(VGPUState *s, unsigned hub, unsigned off);

/* invalidate-inject.c */

#define VGPU_INJECT_INVALIDATIONS \
    (1u << VGPU_INJECT_KIND_INV_NO_ACK | 1u << VGPU_INJECT_KIND_INV_EARLY_ACK)

/*
 * Of the VMIDs in *@vmids that a request to invalidation engine @eng names,
 * those that are acknowledged at once and dropped later (taken out of *@vmids),
 * and those that never are acknowledged (the result). s->lock held.
 */
uint32_t vgpu_invalidate_inject(VGPUState *s, unsigned hub, unsigned eng,
                                uint32_t *vmids);

/* iommu.c */

/* For the listener of the device's bus. BQL held. */
void vgpu_iommu_region_add(MemoryListener *l, MemoryRegionSection *section);
void vgpu_iommu_region_del(MemoryListener *l, MemoryRegionSection *section);
/*
 * The reply in @iotlb that translates @addr. NULL: there is none, and @iotlb
 * has the request now. Called by the owner of @iotlb.
 */
const VGPUIommuReply *vgpu_iommu_reply(VGPUState *s, VGPUIotlb *iotlb,
                                       hwaddr addr, bool write);
/*
 * The bus has changed, or a translation is dropped: wait until nothing that
 * began before this call uses what there was. BQL held, no lock of the device.
 */
void vgpu_bus_quiesce(VGPUState *s);

/* client.c */

/*
 * Wait until no client of @s is inside an access that began before this call.
 * BQL held, no device lock: drain() takes those of workers.
 */
void vgpu_clients_drain(VGPUState *s);

/* xgmi.c */

/* Nodes that answer. Any thread. */
uint32_t vgpu_xgmi_links(VGPUState *s);
/* As vgpu_phys_map(), for VGPU_TARGET_PEER. False: no memory. Any thread. */
bool vgpu_xgmi_map(VGPUState *s, VGPUSpan *span);
/* Bytes from the first node's VRAM to the end of the last one's. Any thread. */
uint64_t vgpu_xgmi_span(VGPUState *s);
/* An access at site.va, an address in the hive, may be what a link fails at. */
void vgpu_xgmi_inject_down(VGPUState *s, VGPUSite site);
/* Values of registers. BQL held. */
uint32_t vgpu_xgmi_lfb_cntl(VGPUState *s);
uint32_t vgpu_xgmi_lfb_size(VGPUState *s);

#endif /* HW_MISC_VGPU_KFD_MEMORY_INTERNAL_H */
