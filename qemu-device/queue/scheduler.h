/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: workers: threads that serve queues round-robin. Each SDMA engine
 * has a worker, and the MECs share one. A stalled queue does not stop the
 * worker's other queues.
 */
#ifndef HW_MISC_VGPU_KFD_QUEUE_SCHEDULER_H
#define HW_MISC_VGPU_KFD_QUEUE_SCHEDULER_H

#include "qemu/thread.h"
#include "qapi/qapi-types-vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/queue/queue.h"

typedef struct VGPUClient VGPUClient;
typedef struct VGPUState VGPUState;
typedef struct VGPUWorkerThread VGPUWorkerThread;

/*
 * The states of a queue:
 *
 *          1           2
 *   idle ----> ready ----> current
 *    ^         ^   ^   3    | | |
 *    |         |   +--------+ | |
 *    |         |     5      4 | |
 *    |         +--- waiting <-+ |
 *    |                          |
 *    +--------------------------+
 *                  6
 *
 * 1. The queue is kicked or enabled, and has work.
 * 2. The queue is next.
 * 3. The time slice ends.
 * 4. The queue stalls.
 * 5. The wait (VGPUWait) ends.
 * 6. No work is left.
 */

/*
 * Functions and constants of an engine, for the engine's worker. The functions
 * are called with w->lock held, except for queue(). @n is the number of a
 * queue, below num_queues.
 */
typedef struct VGPUWorkerOps {
    unsigned num_queues;        /* constant */
    /* Whether the thread may spin, for at most poll-ns, before it sleeps. */
    bool spin;
    VGPUQueue *(*queue)(VGPUWorker *w, unsigned n);
    /*
     * Return true if registers and the state of the worker allow queue @n to
     * run.
     */
    bool (*runnable)(VGPUWorker *w, unsigned n);
    /* Return true if queue @n has work, such as a packet in execution. */
    bool (*pending)(VGPUWorker *w, unsigned n);
    /*
     * Run a time slice of queue @n. The function drops the lock while packets
     * run, and checks runnable() and pending() before each step.
     */
    void (*timeslice)(VGPUWorker *w, unsigned n);
    /*
     * As timeslice(), but with at most s->inline_bytes of payload and few
     * packets: see vgpu_worker_run_here(). The function may do nothing, and so
     * leave the queue to the thread.
     */
    void (*short_timeslice)(VGPUWorker *w, unsigned n);
    /* Trace a register write that the main loop does for queue @n. */
    void (*trace_reg)(VGPUWorker *w, unsigned n, uint32_t reg, uint32_t val);
    /*
     * Report to the engine whether @w has a queue that can run. Called after
     * each search for such a queue, except while @w is paused; and with @busy
     * false when the thread ends. May be NULL.
     */
    void (*busy)(VGPUWorker *w, bool busy);
    /*
     * Called before a time slice. Wait while this engine is too many bytes
     * ahead of others (sdma/share.c). Return true if w->lock was dropped. May
     * be NULL.
     */
    bool (*yield)(VGPUWorker *w);
} VGPUWorkerOps;

/* A thread and its queues. Guarded by @lock, except as noted. */
struct VGPUWorker {
    const VGPUWorkerOps *ops;   /* constant */
    VGPUState *s;               /* constant */
    unsigned client;            /* VGPUClient.index; constant */
    VGPUWorkerThread *thread;   /* private to scheduler.c; constant */
    QemuMutex lock;             /* guards the members and the queues */
    unsigned next;              /* number of the queue to try first */
    VGPUQueue *current;         /* queue whose time slice runs, or NULL */
    /*
     * Queue for which the main loop is writing a register, or NULL. @lock is
     * not held during the write, so this member shows that the queue is in use.
     */
    VGPUQueue *writing;
};

/**
 * vgpu_workers_alloc: allocate s->workers, the table of workers
 * @s: device
 *
 * The table is empty at first. vgpu_worker_start() adds a worker to the table:
 * the worker of an SDMA engine, or of the CP.
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
 * @client: VGPUClient.index of the queues' client
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
 * Context: BQL held. All threads of the device must have ended, because threads
 * of other workers also take w->lock.
 */
void vgpu_worker_destroy(VGPUWorker *w);

/**
 * vgpu_worker_pause: pause or resume a worker when the machine stops or runs
 * @w: worker
 * @paused: true: the worker starts no more steps; false: the worker runs again
 *
 * Context: BQL held. Does not wait for the current step; vgpu_worker_park()
 * does.
 */
void vgpu_worker_pause(VGPUWorker *w, bool paused);

/**
 * vgpu_worker_hold: stop the thread between two steps, until
 * vgpu_worker_release()
 * @w: worker
 *
 * Context: BQL held. Waits for the current step. Returns with w->lock held.
 */
void vgpu_worker_hold(VGPUWorker *w);

/**
 * vgpu_worker_release: let the thread run after vgpu_worker_hold()
 * @w: worker
 *
 * Context: BQL held. Releases w->lock.
 */
void vgpu_worker_release(VGPUWorker *w);

/*
 * Pass this as @ops to vgpu_client_init() if a worker executes the client's
 * queues.
 */
extern const struct VGPUClientOps vgpu_worker_client_ops;

/**
 * vgpu_worker_serve_iommu: call the IOMMU for queues in VGPU_WAIT_IOMMU and for
 * queued interrupt entries
 * @opaque: VGPUState
 *
 * While the machine is stopped, queues are not served, but interrupt entries
 * are.
 *
 * Context: bottom half, BQL held.
 */
void vgpu_worker_serve_iommu(void *opaque);

/**
 * vgpu_worker_kick: wake the thread, so that it checks its queues for work
 * @w: worker
 *
 * Context: any thread. A call with w->lock held is allowed, but slower, because
 * the thread takes w->lock when it wakes up.
 */
void vgpu_worker_kick(VGPUWorker *w);

/**
 * vgpu_worker_run_here: run a short time slice in place of the worker's thread
 * @w: worker
 * @n: number of a queue that may have got work
 *
 * While the thread sleeps, its wake-up takes longer than a few packets do. So a
 * doorbell or an acknowledge executes the first packets itself, usually in the
 * thread of a virtual CPU. Nothing is executed if the thread does not sleep, or
 * if property inline-bytes is 0.
 *
 * Context: BQL and w->lock held; w->lock is dropped during each step.
 * Return: true if the worker has nothing to do for queue @n; false: the caller
 * kicks the worker.
 */
bool vgpu_worker_run_here(VGPUWorker *w, unsigned n);

/**
 * vgpu_worker_park: wait until the thread has left its current queue
 * @w: worker, which ends or is paused, so no other queue starts
 *
 * Context: w->lock held; dropped during the wait.
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
 * vgpu_worker_stall: make a queue wait for the event in its exec.mem.stall
 * @w: worker
 * @n: number of the queue
 * @wptr_moved: true if the guest has changed wptr, or has requested a read of
 *              wptr from memory, since the queue's last step began
 *
 * The queue does not wait if the event has already occurred. For
 * VGPU_WAIT_WPTR, the event has occurred if @wptr_moved is true.
 *
 * Context: VGPUWorkerOps.timeslice(), w->lock held.
 */
void vgpu_worker_stall(VGPUWorker *w, unsigned n, bool wptr_moved);

/**
 * vgpu_query_stall: describe a queue's wait for query-vgpu (query.c)
 * @stall: exec.mem.stall of the queue
 *
 * Context: BQL held, and the queue's worker held by vgpu_worker_hold().
 * Return: description, which the caller frees.
 */
VgpuStall *vgpu_query_stall(const VGPUStall *stall);

#endif /* HW_MISC_VGPU_KFD_QUEUE_SCHEDULER_H */
