/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: declarations shared by the files of ih/. */
#ifndef HW_MISC_VGPU_KFD_IH_INTERNAL_H
#define HW_MISC_VGPU_KFD_IH_INTERNAL_H

#include "qemu/queue.h"
#include "qemu/timer.h"
#include "vgpu/ih.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/memory/iommu.h"

#define VGPU_RATELIMIT_SLOTS    64
#define VGPU_LATE_IRQS          64
/* Interval of the tries of an access with a retry fault, without the CAM. */
#define VGPU_RETRY_INTERVAL_NS  SCALE_MS
#define VGPU_IH_SPAN            (IH_CLIENT_CFG_DATA - OSSSYS_BASE + 1)

/*
 * A slot of the retry CAM: a page with a reported retry fault that the driver
 * has not acknowledged yet. s->lock.
 */
typedef struct VGPUCamSlot {
    bool used;
    uint8_t hub;                /* VGPU_HUB_* */
    uint8_t vmid;
    uint64_t page;              /* GPU address >> VGPU_PAGE_SHIFT */
    uint32_t serial;            /* of the fault, as in its entry */
    int64_t due;                /* next resend; ns, QEMU_CLOCK_VIRTUAL */
    int64_t interval;           /* ns from the last entry to @due; 0: not set */
} VGPUCamSlot;

/*
 * Rate limit of the entries for a page with retry faults, without the CAM: the
 * next entry is not pushed before @due. s->lock.
 */
typedef struct VGPUFaultRateLimit {
    uint8_t hub;                /* VGPU_HUB_* */
    uint8_t vmid;
    uint64_t page;              /* GPU address >> VGPU_PAGE_SHIFT */
    int64_t tried;              /* last access; ns, QEMU_CLOCK_VIRTUAL */
    int64_t due;                /* next entry; the same clock */
    int64_t interval;           /* from the last entry to @due; 0: unused */
    uint32_t serial;            /* of the last entry */
} VGPUFaultRateLimit;

/* An interrupt ring. s->lock. */
typedef struct VGPUIhRing {
    uint32_t rptr;              /* bytes from the start of the ring */
    uint32_t wptr;              /* the same */
    bool overflow;              /* IH_RB_WPTR.RB_OVERFLOW */
    bool lost;                  /* no memory at the ring: already logged */
} VGPUIhRing;

/*
 * An entry that waits for the IOMMU's translation of a ring. The PASID is the
 * one at the time of the push. s->lock.
 */
typedef struct VGPUIhDeferred {
    QSIMPLEQ_ENTRY(VGPUIhDeferred) next;
    uint8_t ring;               /* 0 to IH_NUM_RINGS - 1 */
    bool full;                  /* as VGPUIh.full */
    uint32_t entry[IH_ENTRY_DWORDS];    /* without its timestamp */
} VGPUIhDeferred;

/* Injected: a delayed interrupt entry of a VM fault. */
typedef struct VGPULateIrq {
    int64_t due;                /* ns, QEMU_CLOCK_VIRTUAL; 0: unused */
    unsigned hub;               /* from here on: as vgpu_ih_push_fault() */
    unsigned vmid;
    uint8_t ring;
    uint32_t data[4];
} VGPULateIrq;

/* Injected: delayed entries, not sorted. s->lock. */
typedef struct VGPULateIrqs {
    QEMUTimer *timer;           /* QEMU_CLOCK_VIRTUAL: the first that is due */
    VGPULateIrq irqs[VGPU_LATE_IRQS];
} VGPULateIrqs;

/* The interrupt handler. s->lock, except as noted. */
struct VGPUIh {
    /* BQL; the CP's thread also writes PASIDs of VMIDs. Read atomically. */
    uint32_t regs[VGPU_IH_SPAN];
    /* IH_CLIENT_CFG_DATA, by client: BQL; read atomically. */
    uint32_t client_cfg[IH_NUM_CLIENTS];
    VGPUIhRing rings[IH_NUM_RINGS];
    uint64_t last_timestamp;    /* of all rings; ticks of vgpu_clock() */
    bool full;                  /* injected: the ring is full for this entry */
    uint8_t unannounced;        /* rings whose entry in ring 0 was dropped */
    /* Entries that wait for a translation, oldest first. */
    QSIMPLEQ_HEAD(, VGPUIhDeferred) deferred;
    unsigned num_deferred;
    bool pointer_deferred;      /* write-back of ring 0's pointer is due */
    bool flushing;              /* vgpu_ih_flush() runs */
    VGPUIotlb iotlb;            /* for rings and pointer */
    QEMUBH *irq_bh;             /* sends the MSI: ring.c; constant */
    bool irq_due;               /* irq_bh has not run yet; atomic */
    VGPUCamSlot cam[VGPU_RETRY_CAM_SLOTS];
    QEMUTimer *cam_timer;       /* earliest VGPUCamSlot.due */
    /* The name is part of the saved state. */
    VGPUFaultRateLimit pace[VGPU_RATELIMIT_SLOTS];
    uint32_t fault_serial;      /* of the last fault; read atomically */
    VGPULateIrqs late_irqs;
};

/* Read a register of the interrupt handler; dword offset. Any thread. */
static inline uint32_t vgpu_ih_reg(VGPUState *s, uint32_t reg)
{
    return qatomic_read(&s->ih->regs[reg - OSSSYS_BASE]);
}

/* fault.c */

/* Free all CAM slots, reset rate limit and serial number. s->lock held. */
void vgpu_fault_reset(VGPUState *s);

/* fault-entry.c. s->lock held. */

/* Push the entry of the fault at @site; @cam: its slot, or 0. */
void vgpu_fault_send_entry(VGPUState *s, VGPUSite site, bool write, bool retry,
                           unsigned cam, uint32_t serial);
/* As vgpu_fault_send_entry(), for a fault that was not reported before. */
void vgpu_fault_send_first_entry(VGPUState *s, VGPUSite site, bool write,
                                 bool retry, unsigned cam, uint32_t serial);

/* retry-cam.c */

/* Return whether the driver has enabled the CAM. Any thread. */
bool vgpu_cam_enabled(VGPUState *s);
/* Return a free slot, or VGPU_RETRY_CAM_SLOTS. s->lock held. */
unsigned vgpu_cam_free_slot(VGPUState *s);
/* Return the slot of a page, or VGPU_RETRY_CAM_SLOTS. s->lock held. */
unsigned vgpu_cam_find(VGPUState *s, unsigned hub, unsigned vmid,
                       uint64_t page);
/*
 * Have the access at @site wait for the acknowledge of @slot: fill in @stall.
 * If the acknowledge takes long, a timer wakes the queue, and the first access
 * that calls this function again after the slot's due time sends the entry
 * again. s->lock held.
 */
void vgpu_cam_wait(VGPUState *s, unsigned slot, VGPUSite site, bool write,
                   VGPUStall *stall);
/*
 * Free @slot and wake queues that wait for it or for a free slot. An invalid
 * number is a guest error. BQL held.
 */
void vgpu_cam_ack(VGPUState *s, uint32_t slot);
/*
 * Free all slots and wake all queues that wait for the CAM, since the driver
 * has disabled it. BQL held.
 */
void vgpu_cam_flush(VGPUState *s);
/* Saved state: times of resends; of VGPUIh. */
extern const VMStateDescription vmstate_vgpu_cam_times;

/* fault-ratelimit.c */

/*
 * Account for a retry fault without the CAM, at time @now (ns,
 * QEMU_CLOCK_VIRTUAL). Return whether to push an entry; if not, set *@serial to
 * that of the last entry for the page. s->lock held.
 */
bool vgpu_fault_ratelimit(VGPUState *s, unsigned hub, unsigned vmid,
                          uint64_t page, int64_t now, uint32_t *serial);
/* Saved state of the rate limit; of VGPUIh. */
extern const VMStateDescription vmstate_vgpu_fault_ratelimit;

/* fault-inject.c */

#define VGPU_INJECT_FAULT_IRQS \
    (1u << VGPU_INJECT_KIND_FAULT_DROP | \
     1u << VGPU_INJECT_KIND_FAULT_DUPLICATE | \
     1u << VGPU_INJECT_KIND_FAULT_DELAY)
/*
 * Push the entry of a fault at @site as injections require: once, twice, later
 * or not at all. s->lock held.
 */
void vgpu_fault_inject_entry(VGPUState *s, const VGPUSite *site, uint8_t ring,
                             const uint32_t *data);

/* ring.c */

/* Return the size of the ring in bytes (IH_RB_CNTL); 0: not a valid size. */
uint32_t vgpu_ih_ring_bytes(VGPUState *s, unsigned ring);
/* Return the value of IH_RB_WPTR. s->lock held. */
uint32_t vgpu_ih_wptr(const VGPUIhRing *r);
/*
 * Set the read pointer to @val, up to which the driver has read. If entries are
 * left, raise the interrupt again. BQL held.
 */
void vgpu_ih_set_rptr(VGPUState *s, unsigned ring, uint32_t val);
/* Set the write pointer to @val and clear the overflow. BQL held. */
void vgpu_ih_set_wptr(VGPUState *s, unsigned ring, uint32_t val);
/* Act on a write of @val to IH_RB_CNTL. BQL held. */
void vgpu_ih_cntl_written(VGPUState *s, unsigned ring, uint32_t val);

/* The caller of the functions below holds s->lock. */

/* Push the entry of a fault with this ring field and these four dwords. */
void vgpu_ih_push_fault(VGPUState *s, unsigned hub, unsigned vmid, uint8_t ring,
                        const uint32_t *data);

/*
 * The next two functions return false if an IOMMU translation is missing: then
 * nothing is written, and s->ih->iotlb has the request.
 */

/* Put @entry, complete except the timestamp, into @ring, or drop it. */
bool vgpu_ih_store_entry(VGPUState *s, unsigned ring, const uint32_t *entry);
/* Write back ring 0's pointer. */
bool vgpu_ih_wptr_writeback(VGPUState *s);

/*
 * Count @entry as dropped. If it announces ring 1 or 2, remember to announce
 * that ring again.
 */
void vgpu_ih_drop_entry(VGPUState *s, const uint32_t *entry);

/* deferred.c */

/* Drop all queued entries. */
void vgpu_ih_drop_deferred(VGPUState *s);
/* Queue @entry at the tail; drop it if DEFERRED_MAX entries are queued. */
void vgpu_ih_defer(VGPUState *s, unsigned ring, const uint32_t *entry);

#endif /* HW_MISC_VGPU_KFD_IH_INTERNAL_H */
