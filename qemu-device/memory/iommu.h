/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: bus addresses behind an IOMMU: requests for translations, and the
 * IOMMU's replies. See iommu.c.
 */
#ifndef HW_MISC_VGPU_KFD_MEMORY_IOMMU_H
#define HW_MISC_VGPU_KFD_MEMORY_IOMMU_H

#include "exec/hwaddr.h"

typedef struct VGPUState VGPUState;
typedef struct VGPUIotlb VGPUIotlb;

/*
 * No fewer than one packet can need: two copies' source and destination, with
 * the entries of tables in RAM that lead to them.
 */
#define VGPU_IOMMU_REPLIES      24

/* Values of the counters that make a request and its reply stale. */
typedef struct VGPUIommuStamp {
    uint32_t drops;             /* VGPUMemory.bus_drops */
    uint32_t invs;              /* VGPUHub.invs[vmid] of @hub */
    uint8_t hub;                /* VGPU_NUM_HUBS: access by bus address */
    uint8_t vmid;               /* of the access */
} VGPUIommuStamp;

/* The IOMMU's translation of a stretch of bus addresses. */
typedef struct VGPUIommuReply {
    hwaddr start;               /* first bus address */
    hwaddr last;                /* last bus address */
    bool write;                 /* the request was for a write */
    bool denied;                /* the IOMMU does not allow the access */
    AddressSpace *as;           /* where @start leads ... */
    hwaddr addr;                /* ... and at which address of @as */
    VGPUIommuStamp stamp;       /* the request's */
    int64_t until;              /* stale after this: ns, QEMU_CLOCK_VIRTUAL */
} VGPUIommuReply;

/*
 * The IOTLB of a queue, or of the interrupt handler: the IOMMU's replies, and
 * the open request. Used by the thread that executes the queue; w->lock while
 * the queue waits (s->lock: interrupt handler).
 */
struct VGPUIotlb {
    unsigned used;              /* valid entries of replies */
    unsigned next;              /* reply to replace when all are used */
    hwaddr addr;                /* the request: a bus address */
    bool write;                 /* the request is for a write */
    VGPUIommuStamp began;       /* of the access in progress */
    VGPUIommuStamp stamp;       /* @began of the access that made the request */
    VGPUIommuReply replies[VGPU_IOMMU_REPLIES];
};

/*
 * An access through @iotlb begins, in @vmid of @hub, or (VGPU_NUM_HUBS) by bus
 * address. Called by the owner of @iotlb, before vgpu_client_begin(): a request
 * for an address of a translation that is invalidated already must not count
 * as newer than the invalidation.
 */
void vgpu_iommu_begin(VGPUState *s, VGPUIotlb *iotlb, unsigned hub,
                      unsigned vmid);
/* Return whether nothing has made the stamped request or reply stale. */
bool vgpu_iommu_is_current(VGPUState *s, const VGPUIommuStamp *stamp);
/* Have requests served: schedule the bottom half. Any thread. */
void vgpu_iommu_schedule(VGPUState *s);
/*
 * Call the IOMMU, which may run code of any device. False: that code unplugged
 * this device, and @s may be freed. BQL held, no lock of the device.
 */
bool vgpu_iommu_request(VGPUState *s, hwaddr addr, bool write,
                        VGPUIommuReply *r);
/*
 * Put the reply @r to the request of @iotlb into @iotlb. BQL held since
 * vgpu_iommu_request().
 */
void vgpu_iommu_put_reply(VGPUState *s, VGPUIotlb *iotlb,
                          const VGPUIommuReply *r);

#endif /* HW_MISC_VGPU_KFD_MEMORY_IOMMU_H */
