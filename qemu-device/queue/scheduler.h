/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: a thread that serves queues round-robin: an SDMA engine, the MECs.
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
 * Only the queue that stalls waits. What a queue does in its time slice is in
 * VGPUWorkerOps; most are queues of packets: queue.h.
 *
 * There is a worker for each client of a hub. A number of threads to choose,
 * which share the clients, would gain nothing: each engine works by itself
 * (docs/hardware.md), a client's TLB and access counter belong to one thread,
 * and a thread without work sleeps. Threads have names (-name debug-threads=on)
 * by which a user can pin them: vgpu-sdma0 to vgpu-sdma4, vgpu-cp.
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

/* With w->lock held, unless they say otherwise. @n is below num_queues. */
typedef struct VGPUWorkerOps {
    unsigned num_queues;        /* constant */
    bool spin;                  /* spin for new work before sleeping: poll-ns */
    VGPUQueue *(*queue)(VGPUWorker *w, unsigned n);
    /* May it run, if it has something to do and does not wait? */
    bool (*runnable)(VGPUWorker *w, unsigned n);
    /* Has it something to do? */
    bool (*pending)(VGPUWorker *w, unsigned n);
    /*
     * Its time slice. Drops the lock while packets run, looks at runnable() and
     * pending() at least once a chunk.
     */
    void (*timeslice)(VGPUWorker *w, unsigned n);
    /* Trace the register write that it waits for, which is done now. */
    void (*trace_reg)(VGPUWorker *w, unsigned n, uint32_t reg, uint32_t val);
    /*
     * NULL or: there are queues that can run, or none. Not while paused; none
     * when the thread ends.
     */
    void (*busy)(VGPUWorker *w, bool busy);
    /*
     * NULL or: before a time slice, wait while other threads go first. True:
     * it did, with the lock dropped.
     */
    bool (*yield)(VGPUWorker *w);
} VGPUWorkerOps;

/* A thread and its queues. @lock, unless a member says otherwise. */
struct VGPUWorker {
    const VGPUWorkerOps *ops;   /* constant */
    VGPUState *s;               /* constant */
    unsigned client;            /* VGPUClient.index; constant */
    QemuThread thread;          /* BQL */
    QemuMutex lock;             /* guards the queues, too; see the ops */
    QemuCond wake;              /* the thread has something to look at */
    QemuCond parked;            /* the thread left its current queue */
    QEMUBH *reg_bh;             /* writes registers for queues; constant */
    QEMUTimer *timer;           /* QEMU_CLOCK_VIRTUAL, wakes the thread */
    int64_t armed;              /* expiry of @timer; INT64_MAX: not armed */
    bool quit;                  /* the thread ends */
    bool paused;                /* the machine is stopped */
    bool kicked;                /* since the thread began to spin; atomic */
    unsigned spins_in_vain;     /* in a row; thread only */
    unsigned spin_skips;        /* pauses without a spin to come; thread only */
    unsigned next;              /* number of the queue to look at first */
    uint32_t waits;             /* VGPUStall.number of the last wait */
    VGPUQueue *current;         /* in its time slice; NULL: none */
    VGPUQueue *writing;         /* whose register is written; NULL: none */
};

/* Allocate and free s->workers: instance_init, instance_finalize. */
void vgpu_workers_alloc(VGPUState *s);
void vgpu_workers_free(VGPUState *s);
/*
 * Run a thread of @name for the queues of @ops, which access memory
 * as client @client. BQL held.
 */
void vgpu_worker_start(VGPUWorker *w, VGPUState *s, const VGPUWorkerOps *ops,
                       unsigned client, const char *name);
/* End the thread, between two chunks of work. BQL held. */
void vgpu_worker_stop(VGPUWorker *w);
/*
 * Free what the thread had. No thread of the device runs any more, since other
 * workers' threads take w->lock, too. BQL held.
 */
void vgpu_worker_destroy(VGPUWorker *w);
/*
 * The machine stops or goes on. Does not wait: vgpu_worker_park() does. BQL
 * held.
 */
void vgpu_worker_pause(VGPUWorker *w, bool paused);
/*
 * Have the thread at rest, between two chunks of work, until the release. BQL
 * held; w->lock is taken.
 */
void vgpu_worker_hold(VGPUWorker *w);
void vgpu_worker_release(VGPUWorker *w);
/* Of a client whose queues a worker executes. */
extern const struct VGPUClientOps vgpu_worker_client_ops;
/* Bottom half, @opaque: VGPUState. Serve requests of queues and interrupts. */
void vgpu_worker_serve_iommu(void *opaque);

/*
 * There is something to look at. Better without w->lock, which the thread needs
 * to look.
 */
void vgpu_worker_kick(VGPUWorker *w);

/* These with w->lock held. */

/*
 * Wait until the thread has left its current queue. The caller has set quit or
 * paused: a queue that another thread maps meanwhile would run next, and the
 * wait would not end.
 */
void vgpu_worker_park(VGPUWorker *w);
/* Is there no reason why no queue may run? */
bool vgpu_worker_may_run(const VGPUWorker *w);
/*
 * For timeslice(): queue @n waits for what its stall says, if that is still to
 * come.
 * @wptr_moved: since the time slice read it.
 */
void vgpu_worker_stall(VGPUWorker *w, unsigned n, bool wptr_moved);

/* query.c: what a queue waits for. Its worker is held. */
VgpuStall *vgpu_query_stall(const VGPUStall *stall);

#endif /* HW_MISC_VGPU_KFD_QUEUE_SCHEDULER_H */
