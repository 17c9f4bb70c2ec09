/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: state of the interrupt handler, private to ih/. The state has the
 * rings, the retry CAM, and interrupt entries that are not in a ring yet. Such
 * an entry waits for the IOMMU, or is delayed by fault injection.
 */
#ifndef HW_MISC_VGPU_KFD_IH_INTERNAL_H
#define HW_MISC_VGPU_KFD_IH_INTERNAL_H

#include "qemu/queue.h"
#include "vgpu/ih.h"
#include "hw/misc/vgpu-kfd/core/timer.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/memory/iommu.h"

#define VGPU_RATELIMIT_SLOTS    64
#define VGPU_LATE_IRQS          64
/*
 * Interval between tries of an access with a retry fault while the CAM is off.
 */
#define VGPU_RETRY_INTERVAL_NS  SCALE_MS
#define VGPU_IH_SPAN            (IH_CLIENT_CFG_DATA - OSSSYS_BASE + 1)

/*
 * A slot of the retry CAM: a page with a retry fault that was reported but not
 * acknowledged by the driver yet. Guarded by s->lock.
 */
typedef struct VGPUCamSlot {
    bool used;
    uint8_t hub;                /* VGPU_HUB_* */
    uint8_t vmid;
    uint64_t page;              /* GPU address >> VGPU_PAGE_SHIFT */
    uint32_t serial;            /* serial number in the interrupt entry */
    /*
     * When to send the interrupt entry again: ns, QEMU_CLOCK_VIRTUAL. The entry
     * is sent when a queue next tries to access the page at or after this time.
     */
    int64_t due;
    /*
     * Time in ns from the last interrupt entry to @due; 0 if @due is not set.
     */
    int64_t interval;
} VGPUCamSlot;

/*
 * Rate limit of the interrupt entries for one page while the CAM is off: no
 * entry is pushed before @due. Guarded by s->lock.
 */
typedef struct VGPUFaultRateLimit {
    uint8_t hub;                /* VGPU_HUB_* */
    uint8_t vmid;
    uint64_t page;              /* GPU address >> VGPU_PAGE_SHIFT */
    /* Time of the last try to access the page; ns, QEMU_CLOCK_VIRTUAL. */
    int64_t tried;
    /* Earliest time of the next entry; ns, QEMU_CLOCK_VIRTUAL. */
    int64_t due;
    /* Time in ns from the last entry to @due; 0 if the slot is unused. */
    int64_t interval;
    uint32_t serial;            /* fault serial number in the last entry */
} VGPUFaultRateLimit;

/* An interrupt ring. Guarded by s->lock. */
typedef struct VGPUIhRing {
    uint32_t rptr;              /* read pointer: bytes from start of the ring */
    uint32_t wptr;              /* write pointer, in the same unit */
    bool overflow;              /* IH_RB_WPTR.RB_OVERFLOW */
    /* True after logging that there is no memory at the ring's address. */
    bool lost;
} VGPUIhRing;

/*
 * An interrupt entry that waits for the IOMMU's translation of its ring. The
 * entry holds the PASID that its VMID had at the push. Guarded by s->lock.
 */
typedef struct VGPUIhDeferred {
    QSIMPLEQ_ENTRY(VGPUIhDeferred) next;
    uint8_t ring;               /* 0 to IH_NUM_RINGS - 1 */
    /*
     * Value of VGPUIh.full when the entry was queued. VGPUIh.full gets this
     * value again when the entry is stored in the ring.
     */
    bool full;
    uint32_t entry[IH_ENTRY_DWORDS];    /* without its timestamp */
} VGPUIhDeferred;

/* A VM fault's interrupt entry, delayed by an injection of kind fault-delay. */
typedef struct VGPULateIrq {
    /*
     * When to push the entry: ns, QEMU_CLOCK_VIRTUAL. 0 if the slot is unused.
     */
    int64_t due;
    /* This member and those below are the arguments of vgpu_ih_push_fault(). */
    unsigned hub;
    unsigned vmid;
    uint8_t ring;
    uint32_t data[4];
} VGPULateIrq;

/* Entries that injections delay, not sorted. Guarded by s->lock. */
typedef struct VGPULateIrqs {
    VGPUTimer timer;            /* expires at the earliest due time */
    VGPULateIrq irqs[VGPU_LATE_IRQS];
} VGPULateIrqs;

/* The interrupt handler. Guarded by s->lock, except as noted. */
struct VGPUIh {
    /*
     * IH registers. Written by threads that hold the BQL. The CP's thread also
     * writes the PASIDs, without the BQL. Read atomically.
     */
    uint32_t regs[VGPU_IH_SPAN];
    /*
     * IH_CLIENT_CFG_DATA of each client. Written under the BQL, read
     * atomically.
     */
    uint32_t client_cfg[IH_NUM_CLIENTS];
    VGPUIhRing rings[IH_NUM_RINGS];
    /* Timestamp of the last entry in any ring; ticks of vgpu_clock(). */
    uint64_t last_timestamp;
    /* Set by an injection: the next push treats its ring as full. */
    bool full;
    /*
     * Mask of rings 1 and 2 that must be announced in ring 0 again, because the
     * entry that announced them was dropped or overwritten.
     */
    uint8_t unannounced;
    /* Entries that wait for an IOMMU translation, oldest first. */
    QSIMPLEQ_HEAD(, VGPUIhDeferred) deferred;
    unsigned num_deferred;
    /* The write-back of ring 0's wptr waits for the IOMMU. */
    bool pointer_deferred;
    bool flushing;              /* vgpu_ih_flush() is running */
    VGPUIotlb iotlb;            /* IOTLB for rings and pointer write-back */
    QEMUBH *irq_bh;             /* ih_irq_bh(), which sends the MSI; constant */
    /* True if an MSI is still to be sent. Accessed atomically. */
    bool irq_due;
    /*
     * A write to a BAR is in progress. Accessed by threads that hold the BQL.
     */
    bool in_write;
    /*
     * The end of the write to the BAR has to send the MSI. Accessed by threads
     * that hold the BQL.
     */
    bool irq_in_write;
    VGPUCamSlot cam[VGPU_RETRY_CAM_SLOTS];
    /*
     * A queue may wait for a free slot of @cam. vgpu_fault_pending() sets this
     * member for each queue that has to wait, and vgpu_cam_ack() clears it.
     */
    bool slot_wanted;
    VGPUTimer cam_timer;        /* expires at the earliest VGPUCamSlot.due */
    /* Each element is the rate limit of one page's interrupt entries. */
    VGPUFaultRateLimit pace[VGPU_RATELIMIT_SLOTS];
    /* Serial number of the last reported fault. Read atomically. */
    uint32_t fault_serial;
    VGPULateIrqs late_irqs;
};

/*
 * Return the stored value of the IH register at dword offset @reg in BAR 5. Any
 * thread.
 */
static inline uint32_t vgpu_ih_reg(VGPUState *s, uint32_t reg)
{
    return qatomic_read(&s->ih->regs[reg - OSSSYS_BASE]);
}

/* fault.c */

/*
 * Free all CAM slots, and reset the rate limits and the serial number of the
 * last fault. The caller holds s->lock.
 */
void vgpu_fault_reset(VGPUState *s);

/* Functions in fault-entry.c. The caller holds s->lock. */

/*
 * Push the interrupt entry of the fault at @site. @cam: CAM slot of a retry
 * fault, otherwise 0. @serial: serial number of the fault.
 */
void vgpu_fault_send_entry(VGPUState *s, VGPUSite site, bool write, bool retry,
                           unsigned cam, uint32_t serial);
/*
 * Like vgpu_fault_send_entry(), but for a fault that was not reported before.
 * The function also traces the fault.
 */
void vgpu_fault_send_first_entry(VGPUState *s, VGPUSite site, bool write,
                                 bool retry, unsigned cam, uint32_t serial);

/* retry-cam.c */

/* Return true if the driver has enabled the CAM. Any thread. */
bool vgpu_cam_enabled(VGPUState *s);
/*
 * Return a free slot, or VGPU_RETRY_CAM_SLOTS if all slots are in use. The
 * caller holds s->lock.
 */
unsigned vgpu_cam_free_slot(VGPUState *s);
/*
 * Return the slot of a page, or VGPU_RETRY_CAM_SLOTS if the page has no slot.
 * The caller holds s->lock.
 */
unsigned vgpu_cam_find(VGPUState *s, unsigned hub, unsigned vmid,
                       uint64_t page);
/*
 * Fill in @stall: the access at @site waits until the driver acknowledges
 * @slot. At or after VGPUCamSlot.due, also push the slot's interrupt entry
 * again. The caller holds s->lock.
 */
void vgpu_cam_wait(VGPUState *s, unsigned slot, VGPUSite site, bool write,
                   VGPUStall *stall);
/*
 * Free @slot. Offer it to a queue that waits for any free slot, and wake the
 * queues that wait for @slot. An invalid @slot only logs a guest error. The
 * caller holds the BQL.
 */
void vgpu_cam_ack(VGPUState *s, uint32_t slot);
/*
 * The driver has disabled the CAM: free all slots and wake all queues that wait
 * for the CAM. The caller holds the BQL.
 */
void vgpu_cam_flush(VGPUState *s);
/*
 * Saved state of the CAM's resend times. The opaque pointer points to VGPUIh.
 */
extern const VMStateDescription vmstate_vgpu_cam_times;

/* fault-ratelimit.c */

/*
 * Return true if an entry for @page may be pushed at @now (ns,
 * QEMU_CLOCK_VIRTUAL). Otherwise set *@serial to the serial number of the last
 * fault that was reported for @page. The caller holds s->lock.
 */
bool vgpu_fault_ratelimit(VGPUState *s, unsigned hub, unsigned vmid,
                          uint64_t page, int64_t now, uint32_t *serial);
/* Saved state of the rate limits. The opaque pointer points to VGPUIh. */
extern const VMStateDescription vmstate_vgpu_fault_ratelimit;

/* fault-inject.c */

#define VGPU_INJECT_FAULT_IRQS \
    (1u << VGPU_INJECT_KIND_FAULT_DROP | \
     1u << VGPU_INJECT_KIND_FAULT_DUPLICATE | \
     1u << VGPU_INJECT_KIND_FAULT_DELAY)
/*
 * Push the interrupt entry of a fault at @site once, twice, later or not at
 * all, as injections decide. The caller holds s->lock.
 */
void vgpu_fault_inject_entry(VGPUState *s, const VGPUSite *site, uint8_t ring,
                             const uint32_t *data);

/* ring.c */

/*
 * Return the size of the ring in bytes, or 0 if the size in IH_RB_CNTL is not
 * valid.
 */
uint32_t vgpu_ih_ring_bytes(VGPUState *s, unsigned ring);
/* Return the value of IH_RB_WPTR. The caller holds s->lock. */
uint32_t vgpu_ih_wptr(const VGPUIhRing *r);
/*
 * Set the read pointer to @val. Notify the driver again if unread entries are
 * left: see ih_ring_notify(). The caller holds the BQL.
 */
void vgpu_ih_set_rptr(VGPUState *s, unsigned ring, uint32_t val);
/*
 * Set the write pointer to @val and clear the overflow flag. The caller holds
 * the BQL.
 */
void vgpu_ih_set_wptr(VGPUState *s, unsigned ring, uint32_t val);
/*
 * Execute the effects of a write of @val to IH_RB_CNTL. The caller holds the
 * BQL.
 */
void vgpu_ih_cntl_written(VGPUState *s, unsigned ring, uint32_t val);

/* The caller of the functions below holds s->lock. */

/*
 * Push the entry of a fault. @ring is the value of the entry's RING field.
 * @data has four dwords.
 */
void vgpu_ih_push_fault(VGPUState *s, unsigned hub, unsigned vmid, uint8_t ring,
                        const uint32_t *data);

/*
 * vgpu_ih_store_entry() and vgpu_ih_wptr_writeback() return false if an IOMMU
 * translation is missing. Then nothing was written, and s->ih->iotlb has the
 * request.
 */

/*
 * Write @entry with a timestamp to @ring. Drop @entry if the ring is off, is
 * full or has no memory.
 */
bool vgpu_ih_store_entry(VGPUState *s, unsigned ring, const uint32_t *entry);
/* Write ring 0's write pointer to memory, if the write-back is enabled. */
bool vgpu_ih_wptr_writeback(VGPUState *s);

/*
 * Count @entry as dropped. Some entries of ring 0 only announce that ring 1 or
 * ring 2 has entries. If @entry announces a ring, mark the announced ring in
 * VGPUIh.unannounced. ih_announce_rings() will announce that ring later.
 */
void vgpu_ih_drop_entry(VGPUState *s, const uint32_t *entry);

/* deferred.c */

/* Drop all entries that wait for an IOMMU translation. */
void vgpu_ih_drop_deferred(VGPUState *s);
/*
 * Queue @entry until a bottom half has the IOMMU's translation. Drop @entry if
 * DEFERRED_MAX entries are queued.
 */
void vgpu_ih_defer(VGPUState *s, unsigned ring, const uint32_t *entry);

#endif /* HW_MISC_VGPU_KFD_IH_INTERNAL_H */
