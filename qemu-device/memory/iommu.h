/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: requests to an IOMMU for the translation of bus addresses, and the
 * IOMMU's replies. See iommu.c.
 */
#ifndef HW_MISC_VGPU_KFD_MEMORY_IOMMU_H
#define HW_MISC_VGPU_KFD_MEMORY_IOMMU_H

#include "exec/hwaddr.h"

typedef struct VGPUState VGPUState;
typedef struct VGPUIotlb VGPUIotlb;

/*
 * Maximum number of replies in a VGPUIotlb. Enough for the four addresses of a
 * broadcast copy, and the page-table entries in RAM that translate them.
 */
#define VGPU_IOMMU_REPLIES      24

/*
 * Values of two counters before the access that made a request. If a counter
 * has changed since, the request and its reply are stale.
 */
typedef struct VGPUIommuStamp {
    uint32_t drops;             /* value of VGPUMemory.bus_drops */
    /*
     * Value of VGPUHub.invs[vmid]. Before the driver removes a page of @vmid
     * from the IOMMU, the driver invalidates @vmid. This makes earlier requests
     * and replies stale, so invalidations of other VMIDs need not be counted.
     */
    uint32_t invs;
    uint8_t hub;                /* hub of the access; VGPU_NUM_HUBS: no hub */
    uint8_t vmid;               /* VMID of the access */
} VGPUIommuStamp;

/*
 * The IOMMU's translation of a range of bus addresses. Only memory/ accesses
 * the members. This header defines them because VGPUView, in queue/, embeds a
 * VGPUIotlb with replies.
 */
typedef struct VGPUIommuReply {
    hwaddr start;               /* first bus address */
    hwaddr last;                /* last bus address */
    bool write;                 /* true: reply for writes; false: for reads */
    bool denied;                /* true: @as and @addr are not set */
    /* The IOMMU translates @start to address @addr of address space @as. */
    AddressSpace *as;
    hwaddr addr;
    /* Copy of VGPUIotlb.stamp. Shows later whether the reply is stale. */
    VGPUIommuStamp stamp;
    /* The reply is stale from this time on (ns, QEMU_CLOCK_VIRTUAL). */
    int64_t until;
} VGPUIommuReply;

/*
 * The IOMMU's replies to one queue or to the interrupt handler, and the last
 * request. Access:
 * - IOTLB of the worker's current queue: by the worker's thread
 * - IOTLB of any other queue: under the worker's lock
 * - IOTLB of the interrupt handler: under s->lock
 */
struct VGPUIotlb {
    unsigned used;              /* number of valid entries of @replies */
    unsigned next;              /* entry to replace when all are valid */
    hwaddr addr;                /* bus address of the request */
    bool write;                 /* the request is for a write access */
    /* Stamp of the access in progress, taken by vgpu_iommu_begin(). */
    VGPUIommuStamp began;
    /*
     * Stamp of the request: copy of @began from the access that made the
     * request. The stamp shows later whether the request is stale.
     */
    VGPUIommuStamp stamp;
    /*
     * Recent replies. A queue drops them after a time slice, unless the queue
     * waits for a new reply: the repeated access may need the older ones.
     */
    VGPUIommuReply replies[VGPU_IOMMU_REPLIES];
};

/**
 * vgpu_iommu_begin: at the start of an access, store the current counters in
 * @iotlb->began
 * @s: device
 * @iotlb: IOTLB
 * @hub: hub; VGPU_NUM_HUBS: access by bus address
 * @vmid: VMID
 *
 * Context: see VGPUIotlb. A client calls vgpu_iommu_begin() before
 * vgpu_client_begin().
 */
void vgpu_iommu_begin(VGPUState *s, VGPUIotlb *iotlb, unsigned hub,
                      unsigned vmid);

/**
 * vgpu_iommu_is_current: compare a stamp with the current counters
 * @s: device
 * @stamp: stamp of a request or reply
 *
 * Context: any thread. Ignores VGPUIommuReply.until.
 * Return: false if the request or reply is stale.
 */
bool vgpu_iommu_is_current(VGPUState *s, const VGPUIommuStamp *stamp);

/**
 * vgpu_iommu_schedule: schedule the bottom half that serves requests to the
 * IOMMU
 * @s: device
 *
 * Context: any thread.
 */
void vgpu_iommu_schedule(VGPUState *s);

/**
 * vgpu_iommu_request: have the IOMMU translate a bus address
 * @s: device
 * @addr: bus address
 * @write: the access is a write
 * @r: set to the reply, except stamp and until
 *
 * Context: BQL held, no lock of the device.
 * Return: true; false if @s was unplugged meanwhile, and so freed unless the
 * caller holds a reference.
 */
bool vgpu_iommu_request(VGPUState *s, hwaddr addr, bool write,
                        VGPUIommuReply *r);

/**
 * vgpu_iommu_put_reply: store the reply to an IOTLB's open request
 * @s: device
 * @iotlb: IOTLB with the request
 * @r: reply
 *
 * Context: the caller has held the BQL since vgpu_iommu_request(), and holds
 * the lock of @iotlb.
 */
void vgpu_iommu_put_reply(VGPUState *s, VGPUIotlb *iotlb,
                          const VGPUIommuReply *r);

#endif /* HW_MISC_VGPU_KFD_MEMORY_IOMMU_H */
