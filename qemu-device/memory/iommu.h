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
 * At least as many as one packet can need: source and destination of two
 * copies, with the page-table entries in RAM that translate them.
 */
#define VGPU_IOMMU_REPLIES      24

/* Values of the counters that make a request and its reply stale. */
typedef struct VGPUIommuStamp {
    uint32_t drops;             /* VGPUMemory.bus_drops */
    uint32_t invs;              /* VGPUHub.invs[vmid] of @hub */
    uint8_t hub;                /* VGPU_NUM_HUBS: access by bus address */
    uint8_t vmid;               /* of the access */
} VGPUIommuStamp;

/* The IOMMU's translation of a range of bus addresses. */
typedef struct VGPUIommuReply {
    hwaddr start;               /* first bus address */
    hwaddr last;                /* last bus address */
    bool write;                 /* the request was for a write */
    bool denied;                /* the IOMMU does not allow the access */
    AddressSpace *as;           /* target address space */
    hwaddr addr;                /* address of @start in @as */
    VGPUIommuStamp stamp;       /* of the request */
    int64_t until;              /* stale after this: ns, QEMU_CLOCK_VIRTUAL */
} VGPUIommuReply;

/*
 * The IOTLB of a queue, or of the interrupt handler: the IOMMU's replies, and
 * the open request. Owned by the thread that executes the queue; while the
 * queue waits, guarded by w->lock. The interrupt handler's: s->lock.
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

/**
 * vgpu_iommu_begin: record the state of invalidations before an access
 * @s: device
 * @iotlb: IOTLB of the access
 * @hub: hub of the access; VGPU_NUM_HUBS: access by bus address
 * @vmid: VMID of the access
 *
 * A request for a translation that is invalidated already must not count as
 * newer than the invalidation: the call comes before vgpu_client_begin().
 *
 * Context: the owner of @iotlb.
 */
void vgpu_iommu_begin(VGPUState *s, VGPUIotlb *iotlb, unsigned hub,
                      unsigned vmid);

/**
 * vgpu_iommu_is_current: check whether a request or reply is valid
 * @s: device
 * @stamp: stamp of the request or reply
 *
 * Context: any thread.
 * Return: false if a change of the bus or an invalidation made it stale.
 */
bool vgpu_iommu_is_current(VGPUState *s, const VGPUIommuStamp *stamp);

/**
 * vgpu_iommu_schedule: schedule the bottom half that serves requests
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
 * @r: reply, except stamp and until
 *
 * The IOMMU may run code of any device.
 *
 * Context: BQL held, no lock of the device.
 * Return: false if that code unplugged this device: @s may be freed.
 */
bool vgpu_iommu_request(VGPUState *s, hwaddr addr, bool write,
                        VGPUIommuReply *r);

/**
 * vgpu_iommu_put_reply: add the reply to the open request to an IOTLB
 * @s: device
 * @iotlb: IOTLB with the request
 * @r: reply
 *
 * Context: BQL held since vgpu_iommu_request(), and the lock of @iotlb.
 */
void vgpu_iommu_put_reply(VGPUState *s, VGPUIotlb *iotlb,
                          const VGPUIommuReply *r);

#endif /* HW_MISC_VGPU_KFD_MEMORY_IOMMU_H */
