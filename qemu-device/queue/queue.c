/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: execution of queues. The packet code of all engines calls
 * vgpu_exec_*(). A packet continues after a stall: exec->dw still has the fixed
 * part of the packet, and exec->done counts the work that is done.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/timer.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/queue/dma.h"
#include "hw/misc/vgpu-kfd/queue/queue.h"
#include "hw/misc/vgpu-kfd/queue/scheduler.h"

#define POLL_INTERVAL_NS    SCALE_MS

bool vgpu_queue_pending(const VGPUQueue *q)
{
    const VGPUExec *x = &q->exec;

    return x->packet || x->writeback || x->ib_depth || x->poll_wptr ||
           q->poll_wptr || q->rptr != q->wptr;
}

void vgpu_queue_wptr_moved(VGPUQueue *q)
{
    if (q->wait == VGPU_WAIT_WPTR) {
        q->wait = VGPU_WAIT_NONE;
    }
}

void vgpu_queue_discard(VGPUQueue *q)
{
    /* Keep a pending request to read the write pointer from memory. */
    q->poll_wptr |= q->exec.poll_wptr;
    memset(&q->exec, 0, sizeof(q->exec));
    q->wait = VGPU_WAIT_NONE;
}

void vgpu_queue_restart(VGPUWorker *w, VGPUQueue *q)
{
    if (w->current == q) {
        q->restart = true;
    } else {
        vgpu_queue_discard(q);
        vgpu_worker_kick(w);
    }
}

/*
 * Run one step of a time slice. The caller holds w->lock, which is dropped
 * while the step runs.
 */
static VGPUStep queue_timeslice_step(VGPUWorker *w, unsigned n, VGPUQueue *q,
                                     const VGPUQueueOps *ops)
{
    VGPUExec *x = &q->exec;
    uint64_t wptr = q->wptr;
    bool poll_wptr;
    VGPUStep step;

    x->rptr = q->rptr;
    x->wptr = q->wptr;
    if (q->poll_wptr) {
        q->poll_wptr = false;
        x->poll_wptr = true;
    }
    poll_wptr = x->poll_wptr;
    if (!ops->load(w, n)) {
        return VGPU_STEP_BAD_RING;
    }
    qemu_mutex_unlock(&w->lock);
    step = ops->step(w, n);
    qemu_mutex_lock(&w->lock);
    if (q->restart) {
        q->restart = false;
        /*
         * If poll_wptr is true, this step may have read the write pointer from
         * memory to x->wptr. vgpu_queue_discard() clears *x, so let the next
         * step read the write pointer again.
         */
        q->poll_wptr |= poll_wptr;
        vgpu_queue_discard(q);
        return VGPU_STEP_AGAIN;
    }
    q->rptr = x->rptr;
    /*
     * The step may have read a new write pointer from memory to x->wptr. Use
     * this value unless q->wptr has changed during the step, by a doorbell or a
     * register write.
     */
    if (q->wptr == wptr) {
        q->wptr = x->wptr;
    }
    if (step == VGPU_STEP_STALL && x->mem.stall.why == VGPU_WAIT_POISON) {
        x->mem.stall.why = VGPU_WAIT_NONE;
        return VGPU_STEP_POISON;
    }
    return step;
}

void vgpu_queue_timeslice(VGPUWorker *w, unsigned n, const VGPUQueueOps *ops)
{
    vgpu_queue_run(w, n, ops, ops->steps, ops->budget);
}

void vgpu_queue_run(VGPUWorker *w, unsigned n, const VGPUQueueOps *ops,
                    unsigned steps, int64_t budget)
{
    VGPUQueue *q = w->ops->queue(w, n);
    VGPUExec *x = &q->exec;
    VGPUStep step = VGPU_STEP_DONE;
    unsigned i;

    x->budget = budget;
    for (i = 0; i < steps && x->budget > 0 && step == VGPU_STEP_DONE &&
         !q->dequeue && w->ops->runnable(w, n) && w->ops->pending(w, n); i++) {
        step = queue_timeslice_step(w, n, q, ops);
    }
    if (step >= VGPU_STEP_BAD_PACKET) {
        ops->stopped(w, n, step);
    }
    if (q->dequeue) {
        ops->dequeued(w, n);
    } else if (step == VGPU_STEP_STALL) {
        vgpu_worker_stall(w, n, q->wptr != x->wptr || q->poll_wptr);
    }
}

uint64_t vgpu_exec_pos(const VGPUExec *x)
{
    return x->ib_depth ? x->ib[x->ib_depth - 1].pos : x->rptr >> x->ptr_shift;
}

uint64_t vgpu_exec_available(const VGPUExec *x)
{
    return x->ib_depth ? x->ib[x->ib_depth - 1].size - vgpu_exec_pos(x)
                       : (x->wptr - x->rptr) >> x->ptr_shift;
}

unsigned vgpu_exec_vmid(const VGPUExec *x)
{
    return x->ib_depth ? x->ib[x->ib_depth - 1].vmid : x->ring_vmid;
}

uint64_t vgpu_exec_address(const VGPUExec *x, uint64_t at, uint64_t *left)
{
    uint64_t pos = vgpu_exec_pos(x) + at;

    if (x->ib_depth) {
        const VGPUIndirect *ib = &x->ib[x->ib_depth - 1];

        *left = ib->size - pos;
        return ib->base + pos * 4;
    }
    pos &= x->ring_dwords - 1;
    *left = x->ring_dwords - pos;
    return x->ring_base + pos * 4;
}

VGPUDmaResult vgpu_exec_fetch(VGPUExec *x, uint64_t at, uint32_t *dw,
                              unsigned n)
{
    VGPUDmaResult ret = VGPU_DMA_OK;

    while (n && ret == VGPU_DMA_OK) {
        uint64_t left;
        uint64_t va = vgpu_exec_address(x, at, &left);
        unsigned i, part = MIN(n, left);

        ret = vgpu_dma_read(&x->mem, va, dw, part * 4);
        for (i = 0; i < part && ret == VGPU_DMA_OK; i++) {
            dw[i] = le32_to_cpu(dw[i]);
        }
        at += part;
        dw += part;
        n -= part;
    }
    return ret;
}

VGPUStep vgpu_exec_wait_wptr(VGPUExec *x)
{
    x->mem.stall = (VGPUStall) { .why = VGPU_WAIT_WPTR };
    return VGPU_STEP_STALL;
}

static VGPUStep exec_sleep(VGPUExec *x, VGPUWait why, QEMUClockType clock,
                           int64_t ns)
{
    x->mem.stall = (VGPUStall) {
        .why = why,
        .until = qemu_clock_get_ns(clock) + ns,
    };
    return VGPU_STEP_STALL;
}

/*
 * Count a try of the packet. Return true after @eager tries: the packet
 * must then sleep for POLL_INTERVAL_NS or more, to spare the host CPU.
 */
static bool exec_count_try(VGPUExec *x, unsigned eager)
{
    if (x->polls < UINT32_MAX) {
        x->polls++;
    }
    return x->polls > eager;
}

VGPUStep vgpu_exec_sleep(VGPUExec *x, int64_t ns)
{
    return exec_sleep(x, VGPU_WAIT_POLL, QEMU_CLOCK_VIRTUAL, ns);
}

VGPUStep vgpu_exec_poll(VGPUExec *x, unsigned eager, int64_t ns)
{
    if (exec_count_try(x, eager)) {
        ns = MAX(ns, POLL_INTERVAL_NS);
    }
    return ns ? vgpu_exec_sleep(x, ns) : VGPU_STEP_AGAIN;
}

VGPUStep vgpu_exec_poll_device(VGPUExec *x, unsigned eager)
{
    return exec_count_try(x, eager) ?
           exec_sleep(x, VGPU_WAIT_DEVICE, QEMU_CLOCK_REALTIME,
                      POLL_INTERVAL_NS) : VGPU_STEP_AGAIN;
}

VGPUStep vgpu_exec_write_reg(VGPUExec *x, uint32_t reg, uint32_t val)
{
    x->reg = reg;
    x->reg_val = val;
    x->mem.stall = (VGPUStall) { .why = VGPU_WAIT_REG };
    return VGPU_STEP_STALL;
}

bool vgpu_exec_compare(unsigned function, uint32_t val, uint32_t ref)
{
    switch (function) {
    case 1:
        return val < ref;
    case 2:
        return val <= ref;
    case 3:
        return val == ref;
    case 4:
        return val != ref;
    case 5:
        return val >= ref;
    case 6:
        return val > ref;
    default:
        return true;
    }
}
