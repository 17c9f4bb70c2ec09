/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: start and dequeue of queues in the MECs' hardware queue descriptors
 * (HQDs). If a dequeue interrupts a packet, the next start executes the packet
 * again.
 */
#include "qemu/osdep.h"
#include "vgpu/bits.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"

/* Log2 of the maximum size of a ring in dwords. */
#define RING_LOG2_MAX   27

/*
 * The caller of the functions below holds the worker's lock, except where
 * internal.h allows any thread.
 */

bool vgpu_cp_queue_active(const CpQueue *q)
{
    return qatomic_read(&q->regs[CP_HQD_ACTIVE]) & CP_HQD_ACTIVE__ACTIVE;
}

uint64_t vgpu_cp_ring_dwords(const CpQueue *q)
{
    uint32_t log2 = 1 + VGPU_GET(qatomic_read(&q->regs[CP_HQD_PQ_CONTROL]),
                                 CP_HQD_PQ_CONTROL__QUEUE_SIZE);

    return 1ull << MIN(log2, RING_LOG2_MAX);
}

void vgpu_cp_queue_kick(VGPUCp *cp, CpQueue *q)
{
    vgpu_queue_wptr_moved(&q->queue);
    vgpu_worker_kick(&cp->w);
}

void vgpu_cp_queue_start(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    uint32_t ib = q->regs[CP_HQD_IB_CONTROL];
    uint32_t vmid = q->regs[CP_HQD_VMID];
    uint32_t status = q->regs[CP_HQD_HQ_STATUS1];

    memset(x, 0, sizeof(*x));
    q->queue.wptr = cp_hqd64(q, CP_HQD_PQ_WPTR_LO);
    q->queue.rptr = q->queue.wptr - ((q->queue.wptr - q->regs[CP_HQD_PQ_RPTR]) &
                                     (vgpu_cp_ring_dwords(q) - 1));
    if (q->queue.rptr == q->queue.wptr && (status & CP_HQD_HQ_STATUS1__FULL)) {
        q->queue.rptr -= vgpu_cp_ring_dwords(q);
    }
    x->writeback = status & CP_HQD_HQ_STATUS1__REPORT;
    if (ib & CP_HQD_IB_CONTROL__PROCESSING_IB) {
        x->ib_depth = 1;
        x->ib[0] = (VGPUIndirect) {
            .base = cp_hqd64(q, CP_HQD_IB_BASE_ADDR) & ~3ull,
            .size = VGPU_GET(ib, CP_HQD_IB_CONTROL__IB_SIZE),
            .vmid = VGPU_GET(vmid, CP_HQD_VMID__IB_VMID),
        };
        x->ib[0].pos = MIN(q->regs[CP_HQD_IB_RPTR], x->ib[0].size);
    }
    q->clamped = false;
    /*
     * If an AQL packet was interrupted, the packet continues with this phase.
     * An interrupted PM4 packet is executed again from the start.
     */
    q->phase = VGPU_GET(status, CP_HQD_HQ_STATUS1__PHASE);
    q->error = false;
    q->queue.dequeue = false;
    q->queue.wait = VGPU_WAIT_NONE;
    qatomic_set(&q->regs[CP_HQD_DEQUEUE_REQUEST], 0);
    trace_vgpu_cp_start(cp->s->id, cp_queue_number(cp, q),
                        VGPU_GET(vmid, CP_HQD_VMID__VMID), q->queue.rptr,
                        q->queue.wptr);
    vgpu_worker_kick(&cp->w);
}

void vgpu_cp_hws_end(VGPUCp *cp)
{
    if (cp->hws.phase != CP_HWS_NONE) {
        trace_vgpu_hws_end(cp->s->id, cp->hws.phase);
        cp->hws.phase = CP_HWS_NONE;
        cp->hws.queue.wait = VGPU_WAIT_NONE;
    }
}

/*
 * End the run list if @q submitted the list. While hws.queue is the worker's
 * current queue, only the worker's thread may call this function.
 */
static void hqd_end_run_list(VGPUCp *cp, const CpQueue *q)
{
    if (cp->hws.owner == cp_queue_number(cp, q)) {
        vgpu_cp_hws_end(cp);
    }
}

void vgpu_cp_queue_stop(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    uint32_t status = VGPU_PREP(CP_HQD_HQ_STATUS1__PHASE, q->phase);
    uint32_t ib = 0;

    if (x->writeback) {
        status |= CP_HQD_HQ_STATUS1__REPORT;
    }
    if (q->queue.wptr - q->queue.rptr == vgpu_cp_ring_dwords(q)) {
        status |= CP_HQD_HQ_STATUS1__FULL;
    }
    /* Save the indirect buffer that the queue is executing. */
    if (x->ib_depth) {
        ib = CP_HQD_IB_CONTROL__PROCESSING_IB | x->ib[0].size;
        qatomic_set(&q->regs[CP_HQD_IB_BASE_ADDR], x->ib[0].base);
        qatomic_set(&q->regs[CP_HQD_IB_BASE_ADDR_HI], x->ib[0].base >> 32);
        qatomic_set(&q->regs[CP_HQD_IB_RPTR], x->ib[0].pos);
        qatomic_set(&q->regs[CP_HQD_VMID],
                    VGPU_SET(q->regs[CP_HQD_VMID], CP_HQD_VMID__IB_VMID,
                             x->ib[0].vmid));
    }
    qatomic_set(&q->regs[CP_HQD_IB_CONTROL], ib);
    qatomic_set(&q->regs[CP_HQD_HQ_STATUS1], status);
    qatomic_set(&q->regs[CP_HQD_PQ_RPTR],
                q->queue.rptr & (vgpu_cp_ring_dwords(q) - 1));
    qatomic_set(&q->regs[CP_HQD_PQ_WPTR_LO], q->queue.wptr);
    qatomic_set(&q->regs[CP_HQD_PQ_WPTR_HI], q->queue.wptr >> 32);
    qatomic_set(&q->regs[CP_HQD_ACTIVE], 0);
    qatomic_set(&q->regs[CP_HQD_DEQUEUE_REQUEST], 0);
    memset(x, 0, sizeof(*x));
    q->clamped = false;
    q->queue.dequeue = false;
    q->error = false;
    q->queue.wait = VGPU_WAIT_NONE;
    hqd_end_run_list(cp, q);
    trace_vgpu_cp_stop(cp->s->id, cp_queue_number(cp, q), q->queue.rptr,
                       q->queue.wptr, ib);
}

/*
 * Return true if only the worker's thread may stop @q now. This is true while
 * the thread executes @q. It is also true while the thread executes a run list
 * that @q submitted, because a stop of @q ends this list.
 */
static bool hqd_is_current(const VGPUCp *cp, const CpQueue *q)
{
    return cp->w.current == &q->queue ||
           (cp->w.current == &cp->hws.queue &&
            cp->hws.owner == cp_queue_number(cp, q));
}

void vgpu_cp_queue_dequeue(VGPUCp *cp, CpQueue *q)
{
    if (!vgpu_cp_queue_active(q)) {
        return;
    }
    if (hqd_is_current(cp, q)) {
        q->queue.dequeue = true;
    } else {
        vgpu_cp_queue_stop(cp, q);
    }
}
