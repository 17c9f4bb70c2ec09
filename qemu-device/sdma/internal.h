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

/* State of an RLC queue with respect to MAP_QUEUES. */
typedef enum VGPUSdmaMapped {
    VGPU_SDMA_UNMAPPED,         /* free, or used by the driver directly */
    VGPU_SDMA_MAPPED,
    /* Being unmapped; its work is saved to the MQD. */
    VGPU_SDMA_UNMAPPING,
    VGPU_SDMA_RESETTING,        /* being unmapped; its work is dropped */
} VGPUSdmaMapped;

/* Effects of injections on the packet in execution: packet-inject.c. */
typedef struct VGPUSdmaInjected {
    uint64_t slow;              /* maximum speed in bytes/s; 0 means no limit */
    uint64_t wrong_at;          /* payload offset of the byte to change */
    uint8_t wrong_xor;          /* bits to invert at @wrong_at, or 0 */
} VGPUSdmaInjected;

/* A queue of an SDMA engine. Guarded by engine->w.lock, except as noted. */
typedef struct VGPUSdmaQueue {
    VGPUQueue queue;            /* rptr, wptr and exec.done are in bytes */
    uint32_t regs[VGPU_SDMA_QUEUE_SPAN];    /* read atomically */
    uint32_t exception;         /* VGPU_SDMA_EXC_* */
    VGPUSdmaMapped mapped;
    bool listed;                /* mapped by a run list */
    /* Static queue: not unmapped when the run list's time slice ends */
    bool fixed;
    uint64_t mqd;               /* GPU address of the queue's MQD in VMID 0 */
    VGPUSdmaInjected injected;  /* guarded like queue.exec: see VGPUExec */
    /*
     * Used by vmstate.c only. If is_timed() is true: time at which the queue's
     * wait ends (ns, QEMU_CLOCK_VIRTUAL). Otherwise 0.
     */
    int64_t saved_until;
} VGPUSdmaQueue;

/* An SDMA engine. */
typedef struct VGPUSdmaEngine {
    VGPUClient client;
    VGPUState *s;               /* constant */
    unsigned index;             /* number of the engine; constant */
    VGPUWorker w;
    /*
     * 1 + number of the queue that an injection has made hang, or 0. Guarded by
     * w.lock.
     */
    uint8_t hung;
    /*
     * The members from @busy to @yielded are for share.c. The engine's thread
     * writes them. Other threads read @busy, @charged and @yields atomically,
     * and do not access @yielded.
     */
    bool busy;                  /* a queue of the engine can run */
    /*
     * Work charged, in KiB copied. An engine far ahead of another waits. An
     * engine that becomes busy gets the lowest charge of the other busy
     * engines. Wraps.
     */
    unsigned charged;
    bool yields;                /* waits until other engines catch up */
    bool yielded;               /* has waited; next, executes a time slice */
    /*
     * The engine's clock minus vgpu_clock(), in ticks. Accessed by the engine's
     * thread. Other threads access it only while they hold the worker
     * (vgpu_worker_hold()), or while the worker is paused.
     */
    uint64_t clock_offset;
    /*
     * Registers of the engine. Written under the BQL, except for the results of
     * ATOMIC, which the engine's thread writes. Read atomically.
     */
    uint32_t regs[VGPU_SDMA_ENGINE_SPAN];
    VGPUSdmaQueue queues[SDMA_NUM_QUEUES];  /* guarded by w.lock */
} VGPUSdmaEngine;

struct VGPUSdma {
    VGPUSdmaEngine engines[SDMA_NUM_ENGINES];
    /*
     * Lock of share.c. May be taken with a worker's lock held. No other lock is
     * taken while share_lock is held.
     */
    QemuMutex share_lock;
    QemuCond share_changed;     /* wakes engines with @yields set */
    /*
     * If true, no engine waits for other engines. Set by vgpu_sdma_stop().
     * Guarded by share_lock.
     */
    bool share_off;
};

/* Return the number of @q, a queue of @e: 0 to SDMA_NUM_QUEUES - 1. */
static inline unsigned vgpu_sdma_queue_number(const VGPUSdmaEngine *e,
                                              const VGPUSdmaQueue *q)
{
    return q - e->queues;
}

/*
 * engine.c: return true if RB_ENABLE is set. The caller holds engine->w.lock.
 */
bool vgpu_sdma_enabled(const VGPUSdmaQueue *q);

/*
 * share.c: functions that make an engine wait for other engines, so that busy
 * engines move equal numbers of bytes.
 */

/*
 * With @off true, end all waits and allow none: the engines' threads are to
 * end. With @off false, allow waits again. BQL held.
 */
void vgpu_sdma_share_set_off(VGPUSdma *sdma, bool off);

/* The engine's thread calls the functions below with engine->w.lock held. */

/*
 * Add @kib, the KiB that a time slice has moved, to @charged of the engine.
 * vgpu_sdma_share_yield() compares @charged of all busy engines.
 */
void vgpu_sdma_share_charge(VGPUSdmaEngine *e, unsigned kib);
/*
 * Record whether the engine is busy, that is, whether a queue of the engine can
 * run. Other engines wait for this engine only while it is busy.
 */
void vgpu_sdma_share_set_busy(VGPUSdmaEngine *e, bool busy);
/*
 * Called before a time slice. Wait while the engine is too far ahead of another
 * engine. Return true if engine->w.lock was dropped for the wait.
 */
bool vgpu_sdma_share_yield(VGPUSdmaEngine *e);

/* packet.c */

/*
 * Execute a packet of the queue, or a part of the packet. Called by the
 * engine's thread with no lock held.
 */
VGPUStep vgpu_sdma_packet_step(VGPUSdmaEngine *e, VGPUQueue *q);
/*
 * Return true if the packet in @x has a valid header and length, and fits in
 * its indirect buffer. Ring pointers are not checked. Any thread.
 */
bool vgpu_sdma_packet_valid(const VGPUExec *x);
/*
 * payload.c: return the value of the RING field in interrupt entries of queue
 * number @queue. Any thread.
 */
uint8_t vgpu_sdma_ih_ring(unsigned queue);

/*
 * mqd.c: functions that save and load a queue's image @mqd, which has
 * SDMA_MQD_DWORDS dwords. The caller holds engine->w.lock.
 */

void vgpu_sdma_mqd_save(const VGPUSdmaQueue *q, uint32_t *mqd);
/*
 * Load a disabled queue's registers and unfinished work from @mqd, and enable
 * the queue. If @vmid is not negative, @vmid replaces the VMID in @mqd.
 */
void vgpu_sdma_mqd_load(VGPUSdmaEngine *e, VGPUSdmaQueue *q,
                        const uint32_t *mqd, int vmid);

/* vmstate.c */

/*
 * Return true if @x, which was loaded from an MQD or a saved state, is
 * consistent.
 */
bool vgpu_sdma_exec_valid(const VGPUExec *x);

#endif /* HW_MISC_VGPU_KFD_SDMA_INTERNAL_H */
