/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: end of the waits that retry faults cause. A queue waits for the
 * acknowledge of its CAM slot (VGPU_WAIT_CAM), for any free slot
 * (VGPU_WAIT_CAM_FREE), or for a time (VGPU_WAIT_RETRY). Entry points:
 * vgpu_worker_client_ops.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/queue/internal.h"
#include "hw/misc/vgpu-kfd/queue/queue.h"
#include "hw/misc/vgpu-kfd/queue/scheduler.h"

/*
 * Return true if @q waits because of a retry fault that @vmids and @slot
 * select: see VGPUClientOps.retry(). The caller holds w->lock.
 */
static bool worker_retry_due(VGPUWorker *w, const VGPUQueue *q, uint32_t vmids,
                             int slot)
{
    const VGPUStall *stall = &q->exec.mem.stall;

    switch (q->wait) {
    case VGPU_WAIT_RETRY:
        break;
    case VGPU_WAIT_CAM_FREE:
        /* worker_client_slot_freed() offers a freed slot to one queue. */
        if (slot >= 0) {
            return false;
        }
        break;
    case VGPU_WAIT_CAM:
        /*
         * A newer fault of this queue may use the same CAM slot as the
         * acknowledged fault did. vgpu_fault_pending() then returns true: do
         * not wake the queue.
         */
        if (slot >= 0 && (stall->cam != slot ||
                          vgpu_fault_pending(w->s, stall))) {
            return false;
        }
        break;
    default:
        return false;
    }
    return vmids & (1u << stall->vmid);
}

static void worker_client_retry(VGPUClient *c, uint32_t vmids, int slot)
{
    VGPUWorker *w = c->s->workers->by_client[c->index];
    unsigned n, woken = 0, last = 0;
    bool kick = false;

    WITH_QEMU_LOCK_GUARD(&w->lock) {
        for (n = 0; n < w->ops->num_queues; n++) {
            VGPUQueue *q = w->ops->queue(w, n);

            if (worker_retry_due(w, q, vmids, slot)) {
                q->wait = VGPU_WAIT_NONE;
                woken++;
                last = n;
            }
        }
        kick = woken && !(woken == 1 && bql_locked() &&
                          vgpu_worker_run_here(w, last));
    }
    if (kick) {
        vgpu_worker_kick(w);
    }
}

/*
 * Return the number of the queue that has waited longest for a free CAM slot,
 * of those queues that may run, or -1 if there is none. The caller holds
 * w->lock.
 */
static int worker_longest_wait(VGPUWorker *w)
{
    uint32_t oldest = 0;
    int found = -1;
    unsigned n;

    for (n = 0; n < w->ops->num_queues; n++) {
        const VGPUQueue *q = w->ops->queue(w, n);

        if (q->wait != VGPU_WAIT_CAM_FREE || !w->ops->runnable(w, n)) {
            continue;
        }
        if (found < 0 || (int32_t)(q->exec.mem.stall.number - oldest) < 0) {
            oldest = q->exec.mem.stall.number;
            found = n;
        }
    }
    return found;
}

/*
 * Return true if queue @n, which waits for a free CAM slot, can try its access
 * again. The caller holds w->lock.
 */
static bool worker_wait_over(VGPUWorker *w, unsigned n)
{
    return !vgpu_fault_pending(w->s, &w->ops->queue(w, n)->exec.mem.stall);
}

static bool worker_client_slot_freed(VGPUClient *c)
{
    VGPUWorker *w = c->s->workers->by_client[c->index];
    bool kick = false, left = true;
    int n;

    WITH_QEMU_LOCK_GUARD(&w->lock) {
        n = worker_longest_wait(w);
        left = n < 0 || worker_wait_over(w, n);
        if (n >= 0 && left) {
            kick = !vgpu_worker_run_here(w, n);
            /*
             * The thread has to serve the other queues, and @n if it did not
             * run here. The queue that ran here may not have needed the slot.
             */
            n = worker_longest_wait(w);
            left = n < 0 || worker_wait_over(w, n);
            kick |= n >= 0 && left;
        }
    }
    if (kick) {
        vgpu_worker_kick(w);
    }
    return left;
}

/*
 * Wait until the thread of @c's worker has completed its current step, and so
 * all memory accesses of that step.
 */
static void worker_client_drain(VGPUClient *c)
{
    VGPUWorker *w = c->s->workers->by_client[c->index];

    vgpu_worker_hold(w);
    vgpu_worker_release(w);
}

const VGPUClientOps vgpu_worker_client_ops = {
    .retry = worker_client_retry,
    .slot_freed = worker_client_slot_freed,
    .drain = worker_client_drain,
};
