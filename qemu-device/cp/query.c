/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: describe the compute queues for the QMP command query-vgpu. */
#include "qemu/osdep.h"
#include "vgpu/bits.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"

static VgpuComputeRole cp_queue_role(const VGPUCp *cp, unsigned n)
{
    uint32_t kiq = qatomic_read(&cp->schedulers);
    unsigned pipe = n / CP_NUM_QUEUES;

    if ((kiq & RLC_CP_SCHEDULERS__VALID) &&
        VGPU_GET(kiq, RLC_CP_SCHEDULERS__ME) == 1 + pipe / CP_NUM_PIPES &&
        VGPU_GET(kiq, RLC_CP_SCHEDULERS__PIPE) == pipe % CP_NUM_PIPES &&
        VGPU_GET(kiq, RLC_CP_SCHEDULERS__QUEUE) == n % CP_NUM_QUEUES) {
        return VGPU_COMPUTE_ROLE_KIQ;
    }
    return cp->queues[n].hiq ? VGPU_COMPUTE_ROLE_HIQ : VGPU_COMPUTE_ROLE_USER;
}

/*
 * Return the description of an HQD, or NULL if the HQD is inactive and has no
 * error. The caller holds the CP's worker (vgpu_worker_hold()).
 */
static VgpuComputeQueueInfo *cp_queue_info(VGPUCp *cp, unsigned n)
{
    const CpQueue *q = &cp->queues[n];
    uint32_t doorbell = q->regs[CP_HQD_PQ_DOORBELL_CONTROL];
    bool active = vgpu_cp_queue_active(q);
    VgpuComputeQueueInfo *info;

    if (!active && !q->error) {
        return NULL;
    }
    info = g_new0(VgpuComputeQueueInfo, 1);
    info->me = n / CP_NUM_QUEUES / CP_NUM_PIPES + 1;
    info->pipe = n / CP_NUM_QUEUES % CP_NUM_PIPES;
    info->queue = n % CP_NUM_QUEUES;
    info->role = cp_queue_role(cp, n);
    info->vmid = VGPU_GET(q->regs[CP_HQD_VMID], CP_HQD_VMID__VMID);
    info->rptr = q->queue.rptr;
    info->wptr = q->queue.wptr;
    info->has_doorbell = doorbell & CP_HQD_PQ_DOORBELL_CONTROL__EN;
    info->doorbell = doorbell & CP_HQD_PQ_DOORBELL_CONTROL__OFFSET;
    info->aql = q->regs[CP_HQD_AQL_CONTROL] & CP_HQD_AQL_CONTROL__CONTROL0;
    info->mapped = q->mapped;
    info->indirect = q->queue.exec.ib_depth;
    if (q->error) {
        info->state = VGPU_QUEUE_STATE_ERROR;
    } else if (q->queue.wait != VGPU_WAIT_NONE) {
        info->state = VGPU_QUEUE_STATE_STALLED;
        info->stall = vgpu_query_stall(&q->queue.exec.mem.stall);
    } else {
        info->state = cp->w.ops->pending(&cp->w, n) ? VGPU_QUEUE_STATE_READY
                                                    : VGPU_QUEUE_STATE_IDLE;
    }
    return info;
}

VgpuComputeInfo *vgpu_query_compute(VGPUState *s)
{
    const uint32_t halt = CP_MEC_CNTL__MEC_ME1_HALT | CP_MEC_CNTL__MEC_ME2_HALT;
    VgpuComputeInfo *info = g_new0(VgpuComputeInfo, 1);
    VgpuComputeQueueInfoList **tail = &info->queues;
    VGPUCp *cp = s->cp;
    unsigned n;

    vgpu_worker_hold(&cp->w);
    info->halted = (qatomic_read(&cp->mec_cntl) & halt) == halt;
    info->tlb_used = vgpu_client_tlb_used(&cp->client);
    info->tlb_size = VGPU_TLB_WAYS << VGPU_TLB_SETS_LOG2;
    for (n = 0; n < CP_NUM_HQDS; n++) {
        VgpuComputeQueueInfo *q = cp_queue_info(cp, n);

        if (q) {
            QAPI_LIST_APPEND(tail, q);
        }
    }
    vgpu_worker_release(&cp->w);
    return info;
}
