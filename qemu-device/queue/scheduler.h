/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: workers: threads that serve queues round-robin. Each SDMA engine
 * has one, the MECs share one.
 *
 *         kick, enable          is next
 *   idle ---------------> ready --------> current
 *    ^                    ^   ^            |  | |
 *    |                    |   +------------+  | |
 *    |         wptr, time |   time slice ends | | stall
 *    |   acknowledgement, |                   | v
 *    |       invalidation +------------ waiting |
 *    +------------------------------------------+
 *                   nothing left
 *
 * A stall does not stop the other queues of the worker. VGPUWorkerOps.timeslice
 * executes a queue; most queues hold packets: queue.h.
 *
 * Each client of a hub has a worker. A pool of threads for all clients would
 * gain nothing: engines are independent (docs/hardware.md), a client's TLB and
 * access counter belong to one thread, and a thread without work sleeps.
 * Threads have names (-name debug-threads=on), so that a user can pin them:
 * vgpu-sdma0 to vgpu-sdma4, vgpu-cp.
 */
#ifndef HW_MISC_VGPU_KFD_QUEUE_SCHEDULER_H
#define HW_MISC_VGPU_KFD_QUEUE_SCHEDULER_H

#include "qemu/thread.h"
#include "qemu/timer.h"
#include "qapi/qapi-types-vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/queue/queue.h"

typedef struct VGPUClient VGPUClient;
typedef struct VGPUState VGPUState;

/* Called with w->lock held. @n is below num_queues. */
typedef struct VGPUWorkerOps {
    unsigned num_queues;        /* constant */
    bool spin;                  /* spin for new work before sleeping: poll-ns */
    VGPUQueue *(*queue)(VGPUWorker *w, unsigned n);
    /* Return whether registers and the state of the worker let it run. */
    bool (*runnable)(VGPUWorker *w, unsigned n);
    /* Return whether it has work, in execution or new. */
    bool (*pending)(VGPUWorker *w, unsigned n);
    /*
     * Run a time slice. Drops the lock while packets run; checks runnable() and
     * pending() before each step.
     */
    void (*timeslice)(VGPUWorker *w, unsigned n);
    /* Trace the register write that the main loop does for the queue. */
    void (*trace_reg)(VGPUWorker *w, unsigned n, uint32_t reg, uint32_t val);
    /*
     * NULL, or: called with whether a queue can run, after each choice of a
     * queue unless the worker is paused, and with false when the thread ends.
     */
    void (*busy)(VGPUWorker *w, bool busy);
    /*
     * NULL, or: called before a time slice, to let other threads go first.
     * Return true if the lock was dropped for that.
     */
    bool (*yield)(VGPUWorker *w);
} VGPUWorkerOps;

/* A thread and its queues. @lock, except as noted. */
struct VGPUWorker {
    const VGPUWorkerOps *ops;   /* constant */
    VGPUState *s;               /* constant */
    unsigned client;            /* VGPUClient.index; constant */
    QemuThread thread;          /* BQL */
    QemuMutex lock;             /* guards the queues, too; see the ops */
    QemuCond wake;              /* wakes the thread: vgpu_worker_kick() */
    QemuCond parked;            /* the thread left its current queue */
    QEMUBH *reg_bh;             /* writes registers for queues; constant */
    QEMUTimer *timer;           /* QEMU_CLOCK_VIRTUAL, wakes the thread */
    int64_t armed;              /* expiry of @timer; INT64_MAX: not armed */
    bool quit;                  /* the thread ends */
    bool paused;                /* the machine is stopped */
    bool kicked;                /* since the thread began to spin; atomic */
    unsigned spins_in_vain;     /* failed spins in a row; thread only */
    unsigned spin_skips;        /* pauses not to spin in; thread only */
    unsigned next;              /* number of the queue to try first */
    uint32_t waits;             /* VGPUStall.number of the last wait */
    VGPUQueue *current;         /* in its time slice; NULL: none */
    VGPUQueue *writing;         /* its register write is in progress, or NULL */
};

/**
 * vgpu_workers_alloc: allocate s->workers
 * @s: device
 *
 * Context: instance_init.
 */
void vgpu_workers_alloc(VGPUState *s);

/**
 * vgpu_workers_free: free s->workers
 * @s: device
 *
 * Context: instance_finalize.
 */
void vgpu_workers_free(VGPUState *s);

/**
 * vgpu_worker_start: initialise a worker and start its thread
 * @w: worker
 * @s: device
 * @ops: operations on the queues
 * @client: VGPUClient.index of the client as which the queues access memory
 * @name: name of the thread
 *
 * Context: BQL held.
 */
void vgpu_worker_start(VGPUWorker *w, VGPUState *s, const VGPUWorkerOps *ops,
                       unsigned client, const char *name);

/**
 * vgpu_worker_stop: end the thread after its current step
 * @w: worker
 *
 * Context: BQL held. Waits for the thread.
 */
void vgpu_worker_stop(VGPUWorker *w);

/**
 * vgpu_worker_destroy: free the resources of a worker
 * @w: worker
 *
 * Context: BQL held. All threads of the device have ended: a thread of another
 * worker may take w->lock, too.
 */
void vgpu_worker_destroy(VGPUWorker *w);

/**
 * vgpu_worker_pause: pause or resume a worker when the machine stops or runs
 * @w: worker
 * @paused: the worker starts no step
 *
 * Context: BQL held. Does not wait: see vgpu_worker_park().
 */
void vgpu_worker_pause(VGPUWorker *w, bool paused);

/**
 * vgpu_worker_hold: stop the thread between two steps until the release
 * @w: worker
 *
 * Context: BQL held. Waits for the current step. On return w->lock is held.
 */
void vgpu_worker_hold(VGPUWorker *w);

/**
 * vgpu_worker_release: let the thread run after vgpu_worker_hold()
 * @w: worker
 *
 * Context: BQL held. Releases w->lock.
 */
void vgpu_worker_release(VGPUWorker *w);

/* Operations of a client whose queues a worker executes. */
extern const struct VGPUClientOps vgpu_worker_client_ops;

/**
 * vgpu_worker_serve_iommu: serve requests to the IOMMU of all queues and of the
 * interrupt handler
 * @opaque: VGPUState
 *
 * Context: bottom half, BQL held.
 */
void vgpu_worker_serve_iommu(void *opaque);

/**
 * vgpu_worker_kick: have the thread check its queues
 * @w: worker
 *
 * Context: any thread. Preferably without w->lock, which the thread takes.
 */
void vgpu_worker_kick(VGPUWorker *w);

/* The caller of the functions below holds w->lock. */

/**
 * vgpu_worker_park: wait until the thread has left its current queue
 * @w: worker; the caller has set quit or paused: otherwise the thread might
 *     take the next queue before the wait ends
 *
 * Context: w->lock held; dropped while waiting.
 */
void vgpu_worker_park(VGPUWorker *w);

/**
 * vgpu_worker_may_run: check whether queues may run
 * @w: worker
 *
 * Context: w->lock held.
 * Return: false if the worker ends or is paused, or the device was removed.
 */
bool vgpu_worker_may_run(const VGPUWorker *w);

/**
 * vgpu_worker_stall: make queue @n wait, for VGPUWorkerOps.timeslice()
 * @w: worker
 * @n: number of the queue; exec.mem.stall is the reason
 * @wptr_moved: the write pointer has moved since the step read it
 *
 * Does nothing if the event has occurred already.
 *
 * Context: w->lock held.
 */
void vgpu_worker_stall(VGPUWorker *w, unsigned n, bool wptr_moved);

/**
 * vgpu_query_stall: describe a wait for query-vgpu (query.c)
 * @stall: reason
 *
 * Context: BQL held; the queue's worker is held.
 * Return: description, which the caller frees.
 */
VgpuStall *vgpu_query_stall(const VGPUStall *stall);

#endif /* HW_MISC_VGPU_KFD_QUEUE_SCHEDULER_H */
