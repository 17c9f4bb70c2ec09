/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: declarations shared by the files of sdma/. */
#ifndef HW_MISC_VGPU_KFD_SDMA_INTERNAL_H
#define HW_MISC_VGPU_KFD_SDMA_INTERNAL_H

#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/queue/queue.h"
#include "hw/misc/vgpu-kfd/queue/scheduler.h"

#define VGPU_SDMA_ENGINE_SPAN   SDMA_QUEUE(0)
#define VGPU_SDMA_QUEUE_SPAN    (SDMA_QUEUE(1) - SDMA_QUEUE(0))

/* State of an SDMA queue that MAP_QUEUES maps. */
typedef enum VGPUSdmaMapped {
    VGPU_SDMA_UNMAPPED,         /* not mapped, or used by the driver directly */
    VGPU_SDMA_MAPPED,
    VGPU_SDMA_UNMAPPING,        /* being unmapped, to be saved in its MQD */
    VGPU_SDMA_RESETTING,        /* being unmapped, work is dropped */
} VGPUSdmaMapped;

/* Injections into the packet in execution: packet-inject.c. */
typedef struct VGPUSdmaInjected {
    uint64_t slow;              /* bytes/s; 0: full speed */
    uint64_t wrong_at;          /* offset of the wrong byte in the payload */
    uint8_t wrong_xor;          /* 0: none */
} VGPUSdmaInjected;

/* A queue of an SDMA engine. engine->w.lock, except as noted. */
typedef struct VGPUSdmaQueue {
    VGPUQueue queue;            /* rptr, wptr: bytes; exec.done: bytes */
    uint32_t regs[VGPU_SDMA_QUEUE_SPAN];    /* read atomically */
    uint32_t exception;         /* VGPU_SDMA_EXC_* */
    VGPUSdmaMapped mapped;
    bool listed;                /* mapped by a run list */
    bool fixed;                 /* static: NON_STATIC and run lists keep it */
    uint64_t mqd;               /* GPU address of its MQD, in VMID 0 */
    VGPUSdmaInjected injected;  /* locking as queue.exec */
    int64_t saved_until;        /* vmstate.c: end of a timed wait; 0: none */
} VGPUSdmaQueue;

/* An SDMA engine. */
typedef struct VGPUSdmaEngine {
    VGPUClient client;
    VGPUState *s;               /* constant */
    unsigned index;             /* number of the engine; constant */
    VGPUWorker w;
    uint8_t hung;               /* injected: 1 + queue that hangs; w.lock */
    /* share.c; written by the thread. */
    bool busy;                  /* a queue can run; atomic */
    unsigned charged;           /* KiB moved; wraps; atomic */
    bool yields;                /* waits for other engines; atomic */
    bool yielded;               /* has waited before this slice; thread only */
    uint64_t clock_offset;      /* to vgpu_clock(), in ticks; thread only */
    uint32_t regs[VGPU_SDMA_ENGINE_SPAN];   /* BQL; read atomically */
    VGPUSdmaQueue queues[SDMA_NUM_QUEUES];  /* w.lock */
} VGPUSdmaEngine;

struct VGPUSdma {
    VGPUSdmaEngine engines[SDMA_NUM_ENGINES];
    /* share.c. Taken under a worker's lock; no lock is taken under it. */
    QemuMutex share_lock;
    QemuCond share_changed;     /* wakes engines that yield */
    bool share_off;             /* no engine yields; share_lock */
};

/* Number of a queue: its place in e->queues. */
static inline unsigned vgpu_sdma_queue_number(const VGPUSdmaEngine *e,
                                              const VGPUSdmaQueue *q)
{
    return q - e->queues;
}

/* engine.c: return whether RB_ENABLE is set. engine->w.lock held. */
bool vgpu_sdma_enabled(const VGPUSdmaQueue *q);

/* share.c: shares of the engines. */

/* With @off, end all waits, and do not wait again: threads end. BQL held. */
void vgpu_sdma_share_set_off(VGPUSdma *sdma, bool off);

/* Called by the engine's thread with engine->w.lock held: */

/* Charge @kib that a time slice has moved. */
void vgpu_sdma_share_charge(VGPUSdmaEngine *e, unsigned kib);
/* Set whether a queue of the engine can run. */
void vgpu_sdma_share_set_busy(VGPUSdmaEngine *e, bool busy);
/*
 * Before a time slice, wait while the engine is ahead of others. Return true if
 * the lock was dropped.
 */
bool vgpu_sdma_share_yield(VGPUSdmaEngine *e);

/* packet.c */

/* Execute a packet of the queue, or a part of it. Thread, no lock held. */
VGPUStep vgpu_sdma_packet_step(VGPUSdmaEngine *e, VGPUQueue *q);
/*
 * Return whether exec->dw can be a packet in execution: the length is that of
 * the header, and the indirect buffer, if @x is in one, holds all of the
 * packet. Does not check against the ring's pointers. Any thread.
 */
bool vgpu_sdma_packet_valid(const VGPUExec *x);
/* payload.c: return the ring field of a queue's interrupts. Any thread. */
uint8_t vgpu_sdma_ih_ring(unsigned queue);

/* mqd.c: a queue's image of SDMA_MQD_DWORDS. engine->w.lock held. */

void vgpu_sdma_mqd_save(const VGPUSdmaQueue *q, uint32_t *mqd);
/*
 * Load registers and work of a queue that is not enabled, then enable the
 * queue. @vmid: VMID of the queue; negative: the one in the image.
 */
void vgpu_sdma_mqd_load(VGPUSdmaEngine *e, VGPUSdmaQueue *q,
                        const uint32_t *mqd, int vmid);

/* vmstate.c */

/* Return whether @x, from an MQD or a saved state, is consistent. */
bool vgpu_sdma_exec_valid(const VGPUExec *x);

#endif /* HW_MISC_VGPU_KFD_SDMA_INTERNAL_H */
