/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the memory side of an AMD gfx90a GPU.
 *
 * What the device does is written down in docs/hardware.md; register names
 * and formats are in include/vgpu/.
 *
 * Threads and locks, outermost first:
 *
 *   BQL         register and doorbell access, realize, reset
 *   sdma->lock  an engine's registers and queues
 *   s->lock     hubs' fault state, retry CAM, interrupt ring
 *
 * Each SDMA engine has a thread. It never takes the BQL: interrupts leave
 * through a bottom half. It executes packets with no lock held; while it does,
 * queue->running is set and only the thread touches queue->exec.
 *
 * Translations: every engine has a TLB of its own, which only its thread
 * touches. An entry carries the generation of its VMID; an invalidation
 * increments the generation. sdma->access is odd while the engine uses
 * translations, so that an invalidation can tell when old ones are gone.
 */
#ifndef HW_MISC_VGPU_KFD_H
#define HW_MISC_VGPU_KFD_H

#include "hw/pci/pci_device.h"
#include "qemu/stats64.h"
#include "qemu/thread.h"
#include "qom/object.h"

#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "vgpu/model.h"
#include "vgpu/pci.h"
#include "vgpu/pte.h"
#include "vgpu/sdma.h"

#define TYPE_VGPU_KFD "vgpu-kfd"
OBJECT_DECLARE_SIMPLE_TYPE(VGPUState, VGPU_KFD)

#define VGPU_CAM_SLOTS          16
#define VGPU_CAM_NONE           UINT32_MAX
#define VGPU_TLB_ORDER          11
#define VGPU_TLB_SETS           (1 << VGPU_TLB_ORDER)
#define VGPU_CHUNK              (2 * MiB)   /* bytes between quiescent points */
#define VGPU_PKT_MAX_DWORDS     16          /* longest fixed part of a packet */

typedef struct VGPUSdma VGPUSdma;

/* Where a span of GPU addresses leads. */
typedef enum VGPUSpanKind {
    VGPU_SPAN_VRAM,             /* addr: offset in VRAM */
    VGPU_SPAN_BUS,              /* addr: guest bus address */
    VGPU_SPAN_NONE,             /* reads zero, writes vanish (PRT) */
    VGPU_SPAN_DEFAULT,          /* reads the default page, writes vanish */
    VGPU_SPAN_FAULT_RETRY,
    VGPU_SPAN_FAULT,            /* no-retry */
} VGPUSpanKind;

typedef struct VGPUSpan {
    VGPUSpanKind kind;
    uint64_t addr;
    uint64_t len;               /* bytes, at least 1 unless a fault */
    uint32_t walker_error;      /* VGPU_WALKER_*, faults only */
    bool permission;            /* fault: the entry is valid, the access not */
} VGPUSpan;

typedef struct VGPUTlbEntry {
    uint64_t tag;               /* va >> shift, + 1; 0: empty */
    uint64_t pa;
    uint32_t gen;
    uint8_t vmid;
    uint8_t shift;
    uint8_t kind;               /* VGPUSpanKind */
    uint8_t perm;               /* VGPU_PTE_* bits 4..6 */
} VGPUTlbEntry;

typedef struct VGPUCamSlot {
    bool used;
    uint8_t hub;
    uint8_t vmid;
    uint64_t page;
    uint32_t serial;
} VGPUCamSlot;

/* The packet in execution, kept over stalls. Owner: the engine's thread. */
typedef struct VGPUExec {
    bool valid;
    bool fault_reported;        /* a no-retry fault of this packet */
    bool stalled;               /* by a retry fault of the access below */
    bool stall_write;
    uint64_t stall_va;
    bool enter_ib;              /* on retiring the packet */
    bool writeback;             /* rptr is to be written back */
    uint8_t ib_depth;
    uint32_t dw[VGPU_PKT_MAX_DWORDS];
    uint32_t ndw;               /* total length of the packet, dwords */
    uint32_t ring_ndw;          /* of the ring packet that led here */
    uint64_t done;              /* payload bytes (or entries) finished */
    uint64_t polls;
    int64_t poll_at;            /* ns: next look */
    struct {
        uint64_t base;
        uint32_t size;          /* dwords */
        uint32_t pos;
    } ib[2];
    struct {
        uint64_t base;
        uint32_t size;
    } pending_ib;
} VGPUExec;

typedef enum VGPUQueueWait {
    VGPU_WAIT_NONE,
    VGPU_WAIT_CAM,              /* for slot @cam */
    VGPU_WAIT_CAM_FREE,         /* for any slot */
    VGPU_WAIT_TIMER,            /* until exec.poll_at */
    VGPU_WAIT_WPTR,             /* the last packet is not whole */
} VGPUQueueWait;

typedef struct VGPUQueue {
    uint32_t regs[SDMA_QUEUE(1) - SDMA_QUEUE(0)];
    uint64_t rptr;
    uint64_t wptr;
    bool running;
    bool stop;                  /* disabled while running; atomic */
    bool reload;                /* pointers written while running */
    unsigned gen_seen;          /* of the VMID, at the last access */
    uint32_t exception;
    VGPUQueueWait wait;
    uint32_t cam;
    uint32_t cam_serial;
    VGPUExec exec;
} VGPUQueue;

struct VGPUSdma {
    VGPUState *s;
    unsigned index;
    QemuThread thread;
    QemuMutex lock;
    QemuCond cond;
    bool quit;
    bool frozen;
    unsigned next;
    unsigned access;            /* odd: translations in use; atomic */
    uint32_t regs[SDMA_QUEUE(0)];
    VGPUQueue queues[SDMA_NUM_QUEUES];
    VGPUTlbEntry *tlb;
};

typedef struct VGPUHub {
    uint32_t regs[HUB_SPAN];
    struct {
        uint32_t waiting[VGPU_NUM_SDMA];    /* VMIDs, by engine */
        unsigned seen[VGPU_NUM_SDMA];
        uint32_t pending;                   /* VMIDs not acknowledged */
    } inv[VGPU_NUM_INV_ENGINES];
} VGPUHub;

typedef struct VGPUIh {
    uint32_t cntl;
    uint64_t base;
    uint32_t rptr;
    uint32_t wptr;
    bool overflow;
    uint64_t wptr_addr;
    uint32_t doorbell;
    uint32_t cam_doorbell;
    uint32_t cam_cntl;
    uint32_t lut[32];
    uint64_t last_ts;
} VGPUIh;

struct VGPUState {
    PCIDevice parent_obj;

    uint64_t vram_size;
    MemoryRegion vram;
    MemoryRegion doorbell;
    MemoryRegion mmio;
    uint8_t *vram_ptr;
    QEMUBH *irq_bh;
    char *id;

    QemuMutex lock;
    VGPUHub hubs[VGPU_NUM_HUBS];
    VGPUIh ih;
    VGPUCamSlot cam[VGPU_CAM_SLOTS];
    uint32_t serial;
    unsigned gen[VGPU_NUM_VMIDS];           /* atomic */

    VGPUSdma sdma[VGPU_NUM_SDMA];

    uint32_t nbio_aper_en;
    uint32_t nbio_fb_en;
    uint32_t nbio_hdp_req;
    uint32_t nbio_remap[2];
    uint32_t nbio_range[3];                 /* SDMA0, SDMA1, IH */
    uint32_t pcie_index;
    uint32_t atc_pasid[32];
    uint32_t atc_status;
    uint64_t clock_capture;
    uint32_t counter_hi;
    Stat64 counters[VGPU_NUM_COUNTERS];
    unsigned long *guest_errors;            /* dwords complained about */
};

/* vgpu-kfd.c */
static inline void vgpu_count(VGPUState *s, unsigned counter, uint64_t n)
{
    stat64_add(&s->counters[counter], n);
}
/* GPU clock, VGPU_CLOCK_HZ; any thread. */
uint64_t vgpu_clock(void);

/* mmio.c: @reg is a dword offset; BQL held. */
uint32_t vgpu_reg_read(VGPUState *s, uint32_t reg);
void vgpu_reg_write(VGPUState *s, uint32_t reg, uint32_t val);
/* For POLL_REGMEM; registers an engine cannot see read zero. Engine thread. */
uint32_t vgpu_reg_poll(VGPUState *s, uint32_t reg);
/* POLL_REGMEM's HDP flush: only that request can be made. Engine thread. */
void vgpu_reg_poll_request(VGPUState *s, uint32_t reg, uint32_t val);
extern const MemoryRegionOps vgpu_mmio_ops;
extern const MemoryRegionOps vgpu_doorbell_ops;

/* gmc.c */
void vgpu_gmc_reset(VGPUState *s);
bool vgpu_gmc_read(VGPUState *s, uint32_t reg, uint32_t *val);
bool vgpu_gmc_write(VGPUState *s, uint32_t reg, uint32_t val);
/* Settle acknowledges of invalidations that engines have passed. */
void vgpu_gmc_settle(VGPUState *s);
/*
 * Report a no-retry fault: status, address, interrupt. With @quiet only
 * MORE_FAULTS is noted. Engine thread.
 */
void vgpu_gmc_fault(VGPUState *s, unsigned hub, unsigned vmid, uint64_t va,
                    bool write, const VGPUSpan *span, unsigned cid, bool quiet);
/*
 * Enter a retry fault into the CAM. Returns the slot and its serial, or
 * VGPU_CAM_NONE if the CAM is full.
 */
uint32_t vgpu_gmc_retry(VGPUState *s, unsigned hub, unsigned vmid, uint64_t va,
                        bool write, uint32_t *serial);
bool vgpu_gmc_cam_holds(VGPUState *s, uint32_t slot, uint32_t serial);
void vgpu_gmc_cam_ack(VGPUState *s, uint32_t slot);

/* gpuvm.c: engine thread only. */
/* The longest span at @va, at most @len bytes, that leads to one place. */
void vgpu_translate(VGPUSdma *e, unsigned vmid, uint64_t va, uint64_t len,
                    bool write, VGPUSpan *span);

/* phys.c: the only code that touches memory. Engine thread. */
void vgpu_phys_read(VGPUState *s, const VGPUSpan *span, void *buf,
                    uint64_t len);
void vgpu_phys_write(VGPUState *s, const VGPUSpan *span, const void *buf,
                     uint64_t len);
void vgpu_phys_copy(VGPUState *s, const VGPUSpan *dst, const VGPUSpan *src,
                    uint64_t len);
void vgpu_phys_fill(VGPUState *s, const VGPUSpan *dst, uint32_t data,
                    unsigned phase, uint64_t len);
/* False if memory of that kind cannot do it. */
bool vgpu_phys_add64(VGPUState *s, const VGPUSpan *span, uint64_t add);
bool vgpu_phys_read_entry(VGPUState *s, bool system, uint64_t addr,
                          uint64_t *entry);

/* ih.c */
void vgpu_ih_reset(VGPUState *s);
bool vgpu_ih_read(VGPUState *s, uint32_t reg, uint32_t *val);
bool vgpu_ih_write(VGPUState *s, uint32_t reg, uint32_t val);
/* A doorbell by dword index. */
void vgpu_ih_doorbell(VGPUState *s, uint32_t dword, uint32_t val);
/* s->lock held; any thread. @data: four dwords. */
void vgpu_ih_push(VGPUState *s, uint8_t client, uint8_t source, uint8_t ring,
                  unsigned vmid, bool mm_hub, const uint32_t *data);
void vgpu_ih_bh(void *opaque);

/* sdma.c */
uint64_t vgpu_sdma_ring_bytes(const VGPUQueue *q);
void vgpu_sdma_start(VGPUState *s);
void vgpu_sdma_stop(VGPUState *s);
void vgpu_sdma_reset(VGPUState *s);
bool vgpu_sdma_read(VGPUState *s, uint32_t reg, uint32_t *val);
bool vgpu_sdma_write(VGPUState *s, uint32_t reg, uint32_t val);
/* A doorbell within an engine's range. True if a queue took it. */
bool vgpu_sdma_doorbell(VGPUState *s, unsigned engine, uint32_t offset,
                        uint64_t val, unsigned size);
/* Wake queues waiting for CAM @slot (or for a free one), or of VMIDs. */
void vgpu_sdma_wake_cam(VGPUState *s, uint32_t slot);
void vgpu_sdma_wake_vmids(VGPUState *s, uint32_t vmids);

/* sdma-packet.c */
typedef enum VGPUStep {
    VGPU_STEP_DONE,             /* the packet is finished */
    VGPU_STEP_AGAIN,            /* give others a turn, then go on */
    VGPU_STEP_WAIT,             /* queue->wait says for what */
    VGPU_STEP_EMPTY,            /* not whole yet: wait for wptr */
    VGPU_STEP_BAD,              /* malformed */
} VGPUStep;

VGPUStep vgpu_sdma_step(VGPUSdma *e, VGPUQueue *q);

#endif /* HW_MISC_VGPU_KFD_H */
