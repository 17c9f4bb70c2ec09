/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: describe the SDMA engines for the QMP command query-vgpu. The
 * engine's worker is held (vgpu_worker_hold()) while its queues are read, so
 * that the stall and the pointers of a queue are consistent.
 */
#include "qemu/osdep.h"
#include "vgpu/bits.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/sdma/internal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

/*
 * Return the description of a queue, or NULL if the queue is disabled, has no
 * work and has no exception. The caller has called vgpu_worker_hold() for the
 * engine's worker.
 */
static VgpuQueueInfo *sdma_queue_info(const VGPUSdmaEngine *e, unsigned n)
{
    const VGPUSdmaQueue *q = &e->queues[n];
    bool pending = vgpu_queue_pending(&q->queue);
    VgpuQueueInfo *info;

    if (!vgpu_sdma_enabled(q) && !pending && !q->exception) {
        return NULL;
    }
    info = g_new0(VgpuQueueInfo, 1);
    info->queue = n;
    info->vmid = VGPU_GET(qatomic_read(&q->regs[SDMA_RB_CNTL]),
                          SDMA_RB_CNTL__RB_VMID);
    info->rptr = q->queue.rptr;
    info->wptr = q->queue.wptr;
    info->indirect = q->queue.exec.ib_depth;
    info->has_exception = q->exception;
    info->exception = q->exception;
    if (q->exception) {
        info->state = VGPU_QUEUE_STATE_ERROR;
    } else if (!vgpu_sdma_enabled(q)) {
        info->state = VGPU_QUEUE_STATE_DISABLED;
    } else if (q->queue.wait != VGPU_WAIT_NONE) {
        info->state = VGPU_QUEUE_STATE_STALLED;
        info->stall = vgpu_query_stall(&q->queue.exec.mem.stall);
    } else {
        info->state = pending ? VGPU_QUEUE_STATE_READY : VGPU_QUEUE_STATE_IDLE;
    }
    return info;
}

VgpuEngineInfo *vgpu_query_sdma_engine(VGPUState *s, unsigned i)
{
    VgpuEngineInfo *info = g_new0(VgpuEngineInfo, 1);
    VgpuQueueInfoList **tail = &info->queues;
    VGPUSdmaEngine *e = &s->sdma->engines[i];
    unsigned n;

    vgpu_worker_hold(&e->w);
    info->engine = i;
    info->halted = (e->regs[SDMA_FREEZE] & SDMA_FREEZE__FREEZE) ||
                   (e->regs[SDMA_F32_CNTL] & SDMA_F32_CNTL__HALT);
    info->hung = e->hung;
    info->tlb_used = vgpu_client_tlb_used(&e->client);
    info->tlb_size = VGPU_TLB_WAYS << VGPU_TLB_SETS_LOG2;
    for (n = 0; n < SDMA_NUM_QUEUES; n++) {
        VgpuQueueInfo *q = sdma_queue_info(e, n);

        if (q) {
            QAPI_LIST_APPEND(tail, q);
        }
    }
    vgpu_worker_release(&e->w);
    return info;
}
