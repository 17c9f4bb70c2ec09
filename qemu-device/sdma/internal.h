/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: what the files of sdma/ share. */
#ifndef HW_MISC_VGPU_KFD_SDMA_INTERNAL_H
#define HW_MISC_VGPU_KFD_SDMA_INTERNAL_H

#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/queue/queue.h"
#include "hw/misc/vgpu-kfd/queue/scheduler.h"

#define VGPU_SDMA_ENGINE_SPAN   SDMA_QUEUE(0)
#define VGPU_SDMA_QUEUE_SPAN    (SDMA_QUEUE(1) - SDMA_QUEUE(0))

/* Whether MAP_QUEUES has mapped an SDMA queue. */
typedef enum VGPUSdmaMapped {
    VGPU_SDMA_UNMAPPED,
    VGPU_SDMA_MAPPED,
    VGPU_SDMA_UNMAPPING,        /* to be saved in its MQD */
    VGPU_SDMA_RESETTING,        /* to be dropped */
} VGPUSdmaMapped;

/* What is injected into the packet: packet-inject.c. */
typedef struct VGPUSdmaInjected {
    uint64_t slow;              /* bytes/s; 0: full speed */
    uint64_t wrong_at;          /* offset of the wrong byte in the payload */
    uint8_t wrong_xor;          /* 0: none */
} VGPUSdmaInjected;

/*
 * A queue of an SDMA engine. engine->w.lock, unless a member says otherwise.
 */
typedef struct VGPUSdmaQueue {
    VGPUQueue queue;            /* rptr, wptr: bytes; exec.done: bytes */
    uint32_t regs[VGPU_SDMA_QUEUE_SPAN];    /* read atomically */
    uint32_t exception;         /* VGPU_SDMA_EXC_* */
    VGPUSdmaMapped mapped;
    bool listed;                /* by a run list */
    bool fixed;                 /* static: stays when others are unmapped */
    uint64_t mqd;               /* GPU address of its MQD, in VMID 0 */
    VGPUSdmaInjected injected;  /* as queue.exec */
    int64_t saved_until;        /* vmstate.c: end of a timed wait; 0: none */
} VGPUSdmaQueue;

/* An SDMA engine. */
typedef struct VGPUSdmaEngine {
    VGPUClient client;
    VGPUState *s;               /* constant, as index */
    unsigned index;             /* number of the engine */
    VGPUWorker w;
    uint8_t hung;               /* injected: 1 + queue that hangs; w.lock */
    /* share.c; the thread writes them. */
    bool busy;                  /* has queues that can run; atomic */
    unsigned charged;           /* KiB, to compare busy engines; atomic */
    bool yields;                /* waits for others; atomic */
    bool yielded;               /* has waited for its next slice; thread only */
    uint64_t clock_offset;      /* to vgpu_clock(), in ticks; thread only */
    uint32_t regs[VGPU_SDMA_ENGINE_SPAN];   /* BQL; read atomically */
    VGPUSdmaQueue queues[SDMA_NUM_QUEUES];  /* w.lock */
} VGPUSdmaEngine;

struct VGPUSdma {
    VGPUSdmaEngine engines[SDMA_NUM_ENGINES];
    /* share.c; a worker's lock may be held, nothing is taken inside it. */
    QemuMutex share_lock;
    QemuCond share_changed;     /* an engine need not wait any more */
    bool share_off;             /* no engine yields; share_lock */
};

/* Number of a queue: its place in e->queues. */
static inline unsigned vgpu_sdma_queue_number(const VGPUSdmaEngine *e,
                                              const VGPUSdmaQueue *q)
{
    return q - e->queues;
}

/* engine.c: registers allow the queue to run. engine->w.lock held. */
bool vgpu_sdma_enabled(const VGPUSdmaQueue *q);

/* share.c: shares of the engines. */

/* @off: no engine yields any more, since the threads end. BQL held. */
void vgpu_sdma_share_set_off(VGPUSdma *sdma, bool off);

/* These by the engine's thread, engine->w.lock held. */

/* A time slice moved @kib. */
void vgpu_sdma_share_charge(VGPUSdmaEngine *e, unsigned kib);
/* The engine has queues that can run, or none. */
void vgpu_sdma_share_set_busy(VGPUSdmaEngine *e, bool busy);
/*
 * Before a time slice: wait while the engine is ahead of others. True: it did,
 * with the lock dropped.
 */
bool vgpu_sdma_share_yield(VGPUSdmaEngine *e);

/* packet.c: what packets do. Engine thread, no lock held. */

/* Do a packet of the queue, or a part of it. */
VGPUStep vgpu_sdma_packet_step(VGPUSdmaEngine *e, VGPUQueue *q);
/*
 * Can exec->dw be a packet in execution? Its length is the header's, and the
 * indirect buffer, whose pos is not past its size, holds all of it. The ring's
 * pointers are not in @x, and not looked at. Any thread.
 */
bool vgpu_sdma_packet_valid(const VGPUExec *x);
/* payload.c: the ring field of a queue's interrupts. Any thread. */
uint8_t vgpu_sdma_ih_ring(unsigned queue);

/* mqd.c: a queue's image, SDMA_MQD_DWORDS. engine->w.lock held. */

void vgpu_sdma_mqd_save(const VGPUSdmaQueue *q, uint32_t *mqd);
/*
 * Registers and work of a queue that is not enabled, then enable it; in @vmid,
 * or (negative) in the image's.
 */
void vgpu_sdma_mqd_load(VGPUSdmaEngine *e, VGPUSdmaQueue *q,
                        const uint32_t *mqd, int vmid);

/* vmstate.c */

/* Can this be a queue's work? It may come from anywhere. */
bool vgpu_sdma_exec_valid(const VGPUExec *x);

#endif /* HW_MISC_VGPU_KFD_SDMA_INTERNAL_H */
