/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: packets of the kernel's interface queue, which maps other compute
 * queues to HQDs, from their images in memory (MQD), and takes them away. The
 * queue that RLC_CP_SCHEDULERS names takes them, and one that it mapped as HIQ.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "cp.h"
#include "trace.h"

#define MQD_USED        (CP_MQD_HQD + CP_HQD_SPAN)      /* dwords */
#define INV_ENGINE      3       /* drivers leave it to firmware */
#define PIPE_QUEUES     (CP_NUM_PIPES * CP_NUM_QUEUES)

/* The MQD is the driver's, hence in VMID 0. */
static CpStep mqd_read(VGPUCp *cp, CpExec *x, uint64_t va, uint32_t *mqd)
{
    unsigned i;

    x->mem.vmid = 0;
    if (cp_stalls(vgpu_access_read(&x->mem, va, mqd, MQD_USED * 4))) {
        return CP_STEP_STALL;
    }
    for (i = 0; i < MQD_USED; i++) {
        mqd[i] = le32_to_cpu(mqd[i]);
    }
    return CP_STEP_DONE;
}

/* Write what has changed since the image was read, and may be needed again. */
static CpStep mqd_write(VGPUCp *cp, CpExec *x, CpQueue *q)
{
    uint64_t va = cp_hqd64(q, CP_MQD_BASE_ADDR) & ~3ull;
    unsigned i;

    x->mem.vmid = 0;
    for (i = CP_MQD_SH; i < MQD_USED; i++) {
        bool sh = i < CP_MQD_SH + PM4_SH_COMPUTE_COUNT;
        uint32_t val;

        if (!sh && i < CP_MQD_HQD) {
            continue;
        }
        val = cpu_to_le32(sh ? q->sh[i - CP_MQD_SH]
                             : qatomic_read(&q->regs[i - CP_MQD_HQD]));
        if (cp_stalls(vgpu_access_write(&x->mem, va + 4 * i, &val, 4))) {
            return CP_STEP_STALL;
        }
    }
    return CP_STEP_DONE;
}

/* The HQD that the packet names, or the first that is free; NULL: none. */
static CpQueue *slot(VGPUCp *cp, uint32_t dw1)
{
    unsigned n;

    if (VGPU_GET(dw1, PM4_MAP_DW1__QUEUE_SEL) == 0) {
        n = VGPU_GET(dw1, PM4_MAP_DW1__ME) * PIPE_QUEUES +
            VGPU_GET(dw1, PM4_MAP_DW1__PIPE) * CP_NUM_QUEUES +
            VGPU_GET(dw1, PM4_MAP_DW1__QUEUE);
        return vgpu_cp_queue_active(&cp->queues[n]) ? NULL : &cp->queues[n];
    }
    for (n = 0; n < CP_NUM_HQDS; n++) {
        if ((cp->queue_mask & (1ull << n)) &&
            !vgpu_cp_queue_active(&cp->queues[n])) {
            return &cp->queues[n];
        }
    }
    return NULL;
}

CpStep vgpu_cp_map_queues(VGPUCp *cp, CpQueue *kiq)
{
    CpExec *x = &kiq->exec;
    uint64_t mqd_va = (x->dw[3] | (uint64_t)x->dw[4] << 32) & ~3ull;
    uint64_t wptr_va = (x->dw[5] | (uint64_t)x->dw[6] << 32) & ~7ull;
    unsigned engine = VGPU_GET(x->dw[1], PM4_MAP_DW1__ENGINE_SEL);
    uint32_t mqd[MQD_USED];
    CpQueue *q;
    CpStep step;

    if (engine > PM4_ENGINE_HIQ ||
        VGPU_GET(x->dw[1], PM4_MAP_DW1__NUM_QUEUES) != 1) {
        return vgpu_cp_bad(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    step = mqd_read(cp, x, mqd_va, mqd);
    if (step != CP_STEP_DONE) {
        return step;
    }
    QEMU_LOCK_GUARD(&cp->w.lock);
    q = slot(cp, x->dw[1]);
    if (!q) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: MAP_QUEUES finds no free HQD "
                      "(0x%08x)\n", cp->s->id, x->dw[1]);
        return vgpu_cp_bad(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    memcpy(q->sh, mqd + CP_MQD_SH, sizeof(q->sh));
    memcpy(q->regs, mqd + CP_MQD_HQD, sizeof(q->regs));
    q->regs[CP_MQD_BASE_ADDR] = mqd_va;
    q->regs[CP_MQD_BASE_ADDR_HI] = mqd_va >> 32;
    q->regs[CP_HQD_PQ_WPTR_POLL_ADDR] = wptr_va;
    q->regs[CP_HQD_PQ_WPTR_POLL_ADDR_HI] = wptr_va >> 32;
    q->regs[CP_HQD_PQ_DOORBELL_CONTROL] =
        CP_HQD_PQ_DOORBELL_CONTROL__EN |
        (x->dw[2] & CP_HQD_PQ_DOORBELL_CONTROL__OFFSET);
    q->regs[CP_HQD_ACTIVE] = CP_HQD_ACTIVE__ACTIVE;
    q->hiq = engine == PM4_ENGINE_HIQ;
    q->fixed = VGPU_GET(x->dw[1], PM4_MAP_DW1__QUEUE_TYPE) >= 2;
    q->mapped = true;
    q->poll_wptr = wptr_va;
    vgpu_cp_queue_start(cp, q);
    trace_vgpu_cp_map(cp->s->id, cp_number(cp, q), mqd_va, x->dw[2]);
    return CP_STEP_DONE;
}

/* Does the packet mean @q? */
static bool selected(VGPUCp *cp, const CpExec *x, const CpQueue *q)
{
    uint32_t vmid = VGPU_GET(q->regs[CP_HQD_VMID], CP_HQD_VMID__VMID);
    unsigned i;

    switch (VGPU_GET(x->dw[1], PM4_UNMAP_DW1__QUEUE_SEL)) {
    case PM4_SEL_DOORBELLS:
        for (i = 0; i < MIN(VGPU_GET(x->dw[1], PM4_UNMAP_DW1__NUM_QUEUES), 4);
             i++) {
            if (!((q->regs[CP_HQD_PQ_DOORBELL_CONTROL] ^ x->dw[2 + i]) &
                  CP_HQD_PQ_DOORBELL_CONTROL__OFFSET)) {
                return true;
            }
        }
        return false;
    case PM4_SEL_PASID:
        return vmid && (vgpu_ih_reg(cp->s, IH_VMID_LUT(vmid)) & 0xffff) ==
                       (x->dw[2] & 0xffff);
    case PM4_SEL_ALL:
        return !q->hiq;
    default:
        return !q->hiq && !q->fixed;
    }
}

CpStep vgpu_cp_unmap_queues(VGPUCp *cp, CpQueue *kiq)
{
    CpExec *x = &kiq->exec;
    unsigned action = VGPU_GET(x->dw[1], PM4_UNMAP_DW1__ACTION);
    CpStep step;
    unsigned n;

    if (action > PM4_UNMAP_RESET ||
        VGPU_GET(x->dw[1], PM4_MAP_DW1__ENGINE_SEL) != PM4_ENGINE_COMPUTE) {
        return vgpu_cp_bad(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    /* Not itself: x->done counts those that are saved. */
    for (; x->done < CP_NUM_HQDS; x->done++) {
        CpQueue *q = &cp->queues[x->done];

        n = x->done;
        WITH_QEMU_LOCK_GUARD(&cp->w.lock) {
            if (q != kiq && q->mapped && vgpu_cp_queue_active(q) &&
                selected(cp, x, q)) {
                vgpu_cp_queue_dequeue(cp, q);
                qatomic_and(&q->regs[CP_HQD_PQ_DOORBELL_CONTROL],
                            ~CP_HQD_PQ_DOORBELL_CONTROL__EN);
                q->mapped = false;
                q->unsaved = action != PM4_UNMAP_RESET;
                trace_vgpu_cp_unmap(cp->s->id, n, action);
            }
        }
        if (q->unsaved) {
            step = mqd_write(cp, x, q);
            if (step != CP_STEP_DONE) {
                return step;
            }
            q->unsaved = false;
        }
    }
    return CP_STEP_DONE;
}

CpStep vgpu_cp_query_status(VGPUCp *cp, CpQueue *kiq)
{
    CpExec *x = &kiq->exec;
    unsigned command = VGPU_GET(x->dw[1], PM4_QUERY_DW1__COMMAND);
    uint64_t va = (x->dw[3] | (uint64_t)x->dw[4] << 32) & ~7ull;
    uint64_t val = cpu_to_le64(x->dw[5] | (uint64_t)x->dw[6] << 32);

    /* Whatever came before is done by now. */
    if (command != PM4_QUERY_INTERRUPT_ONLY &&
        cp_stalls(vgpu_access_write(&x->mem, va, &val, 8))) {
        return CP_STEP_STALL;
    }
    if (command == PM4_QUERY_INTERRUPT_ONLY ||
        command == PM4_QUERY_FENCE_INTERRUPT) {
        vgpu_cp_interrupt(cp, kiq, IH_SRC_CP_END_OF_PIPE,
                          CP_INT_CNTL__TIME_STAMP,
                          x->dw[1] & PM4_QUERY_DW1__CONTEXT_ID);
    }
    return CP_STEP_DONE;
}

CpStep vgpu_cp_set_resources(VGPUCp *cp, CpQueue *kiq)
{
    CpExec *x = &kiq->exec;

    QEMU_LOCK_GUARD(&cp->w.lock);
    cp->queue_mask = x->dw[2] | (uint64_t)x->dw[3] << 32;
    return CP_STEP_DONE;
}

/* The VMIDs that have the PASID now: one hub after the other. */
CpStep vgpu_cp_invalidate_tlbs(VGPUCp *cp, CpQueue *kiq)
{
    CpExec *x = &kiq->exec;
    unsigned hubs = x->dw[1] & PM4_INVALIDATE_DW1__ALL_HUB ? 2 : 1;
    uint32_t pasid = VGPU_GET(x->dw[1], PM4_INVALIDATE_DW1__PASID);
    uint32_t vmids = 0, ack = 0, vmid;

    for (vmid = 1; vmid < VGPU_NUM_VMIDS; vmid++) {
        if ((vgpu_ih_reg(cp->s, IH_VMID_LUT(vmid)) & 0xffff) == pasid) {
            vmids |= 1u << vmid;
        }
    }
    while (vmids && x->done < 4 * hubs) {
        uint32_t hub = HUB(x->done < 4 ? VGPU_HUB_GFX : VGPU_HUB_MM);

        switch (x->done % 4) {
        case 0:
            return vgpu_cp_write_reg(
                x, hub + VM_INVALIDATE_ENG_ADDR_RANGE_LO32(INV_ENGINE),
                UINT32_MAX);
        case 1:
            return vgpu_cp_write_reg(
                x, hub + VM_INVALIDATE_ENG_ADDR_RANGE_HI32(INV_ENGINE), 0x1f);
        case 2:
            return vgpu_cp_write_reg(
                x, hub + VM_INVALIDATE_ENG_REQ(INV_ENGINE),
                vmids | VM_INVALIDATE_ENG_REQ__L2_PTES |
                VM_INVALIDATE_ENG_REQ__L2_PDE0 |
                VM_INVALIDATE_ENG_REQ__L2_PDE1 |
                VM_INVALIDATE_ENG_REQ__L2_PDE2 |
                VM_INVALIDATE_ENG_REQ__L1_PTES);
        default:
            vgpu_gmc_poll(cp->s, hub + VM_INVALIDATE_ENG_ACK(INV_ENGINE), &ack);
            if ((ack & vmids) != vmids) {
                return vgpu_cp_wait(x);
            }
            x->tries = 0;
            x->done++;
        }
    }
    return CP_STEP_DONE;
}
