/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: interrupts and errors of compute queues.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"

void vgpu_cp_interrupt(VGPUCp *cp, CpQueue *q, unsigned source,
                       uint32_t enable, uint32_t data0)
{
    unsigned n = cp_queue_number(cp, q);
    unsigned me = 1 + n / (CP_NUM_PIPES * CP_NUM_QUEUES);
    unsigned pipe = n / CP_NUM_QUEUES % CP_NUM_PIPES;
    uint32_t data[4] = { data0 };
    VGPUState *s = cp->s;

    if (!(qatomic_read(&cp->regs[CP_PIPE_INT_CNTL(me, pipe) - CP_GC_FIRST]) &
          enable)) {
        return;
    }
    QEMU_LOCK_GUARD(&s->lock);
    vgpu_ih_push(s, IH_CLIENT_CP, source,
                 VGPU_PREP(IH_RING_CP_PIPE, pipe) |
                 VGPU_PREP(IH_RING_CP_ME, me) |
                 VGPU_PREP(IH_RING_CP_QUEUE, n % CP_NUM_QUEUES),
                 q->queue.exec.ring_vmid, false, data);
}

void vgpu_cp_queue_error(VGPUCp *cp, CpQueue *q)
{
    uint32_t doorbell = q->regs[CP_HQD_PQ_DOORBELL_CONTROL];
    VGPUExec *x = &q->queue.exec;
    bool privilege = x->error_bits & CP_HQD_ERROR__SUA_ERROR;
    VGPUState *s = cp->s;

    q->error = true;
    x->packet = false;
    qatomic_set(&q->regs[CP_HQD_ERROR],
                q->regs[CP_HQD_ERROR] | x->error_bits);
    vgpu_count(s, VGPU_CNT_QUEUE_ERRORS, 1);
    trace_vgpu_cp_error(s->id, cp_queue_number(cp, q), x->ring_vmid, x->error,
                        x->error_bits, x->dw[0]);
    qemu_log_mask(LOG_GUEST_ERROR,
                  "%s: compute queue %u (vmid %u) stops: error %u (0x%x), "
                  "header 0x%08x, rptr 0x%" PRIx64 " wptr 0x%" PRIx64 "\n",
                  s->id, cp_queue_number(cp, q), x->ring_vmid, x->error,
                  x->error_bits, x->dw[0], q->queue.rptr, q->queue.wptr);
    if (x->error) {
        vgpu_cp_interrupt(cp, q, privilege ? IH_SRC_CP_PRIV_REG
                                           : IH_SRC_CP_BAD_OPCODE,
                          privilege ? CP_INT_CNTL__PRIV_REG
                                    : CP_INT_CNTL__OPCODE_ERROR,
                          VGPU_PREP(IH_CP_ERROR__CODE, x->error) |
                          (VGPU_GET(doorbell,
                                    CP_HQD_PQ_DOORBELL_CONTROL__OFFSET) / 2 &
                           IH_CP_ERROR__DOORBELL));
    }
}
