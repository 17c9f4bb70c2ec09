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
 * Maximum number of replies in a VGPUIotlb. The limit is chosen for a broadcast
 * copy: two copies, with two sources and two destinations. Each of these four
 * addresses needs one reply for itself, and one for each page-table entry in
 * RAM that translates the address.
 */
#define VGPU_IOMMU_REPLIES      24

/*
 * @drops and @invs are the values of two counters before the access that made a
 * request. The request and its reply are stale if one of the counters has
 * changed since then.
 */
typedef struct VGPUIommuStamp {
    uint32_t drops;             /* value of VGPUMemory.bus_drops */
    /*
     * Value of VGPUHub.invs[vmid], for the hub and the VMID stored below. A
     * driver invalidates the VMID before it removes a page from the IOMMU. So
     * all earlier requests and replies are stale when the page is removed.
     * (Such a request would cause an IOMMU fault. Such a reply could lead to
     * the removed page.)
     */
    uint32_t invs;
    uint8_t hub;                /* hub of the access; VGPU_NUM_HUBS: no hub */
    /*
     * VMID of the access. @invs need not count invalidations of other VMIDs:
     * the driver removes the accessed page from the IOMMU only after an
     * invalidation of this VMID.
     */
    uint8_t vmid;
} VGPUIommuStamp;

/*
 * The IOMMU's reply: its translation of a range of bus addresses. The struct is
 * defined in this header because each queue contains a VGPUIotlb, which
 * contains replies. Only memory/ accesses the members.
 */
typedef struct VGPUIommuReply {
    hwaddr start;               /* first bus address */
    hwaddr last;                /* last bus address */
    bool write;                 /* true: reply for writes; false: for reads */
    bool denied;                /* the IOMMU does not allow the access */
    /* The IOMMU translates @start to address @addr of address space @as. */
    AddressSpace *as;
    hwaddr addr;
    /* Copy of VGPUIotlb.stamp. Shows later whether the reply is stale. */
    VGPUIommuStamp stamp;
    /* The reply is stale from this time on (ns, QEMU_CLOCK_VIRTUAL). */
    int64_t until;
} VGPUIommuReply;

/*
 * The IOTLB of a queue, or of the interrupt handler: the IOMMU's replies, and
 * the last request for a translation. Context of an access to the IOTLB:
 * - of a queue that a worker executes: the worker's thread
 * - of a waiting queue: any thread that holds the worker's lock
 * - of the interrupt handler: any thread that holds s->lock
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
     * Replies to recent requests. At the end of a time slice, a queue drops the
     * replies. A queue that waits for the reply to a new request keeps them:
     * later, the queue repeats the access that made the request, and this
     * access may need the older replies, too.
     */
    VGPUIommuReply replies[VGPU_IOMMU_REPLIES];
};

/**
 * vgpu_iommu_begin: take the stamp of an access, before the access
 * @s: device
 * @iotlb: IOTLB of the access; its member @began is set to the stamp
 * @hub: hub of the access, or VGPU_NUM_HUBS for an access by bus address
 * @vmid: VMID of the access
 *
 * Call this function before vgpu_client_begin(): see dma_begin() in
 * queue/dma.c.
 *
 * Context: a thread that may access @iotlb: see the list at VGPUIotlb.
 */
void vgpu_iommu_begin(VGPUState *s, VGPUIotlb *iotlb, unsigned hub,
                      unsigned vmid);

/**
 * vgpu_iommu_is_current: check whether a request or reply is valid
 * @s: device
 * @stamp: stamp of the request or reply
 *
 * Context: any thread.
 * Return: false if the request or reply is stale because the memory map of the
 * bus has changed, the IOMMU has notified an unmapping, or the VMID was
 * invalidated; otherwise true. VGPUIommuReply.until is not checked.
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
 * Return: true; false if this device was unplugged during the call. Then @s is
 * freed unless the caller holds a reference. (The IOMMU may report a fault by a
 * write to any address, even to a register that unplugs this device.)
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
