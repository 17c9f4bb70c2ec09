/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: packets of the kernel's interface queue, which maps other compute
 * queues to HQDs and takes them away. The queue that RLC_CP_SCHEDULERS names
 * takes them, and one that it mapped as HIQ.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "cp.h"
#include "trace.h"

#define INV_ENGINE      3       /* drivers leave it to firmware */

CpStep vgpu_cp_map_queues(VGPUCp *cp, CpQueue *kiq)
{
    CpExec *x = &kiq->exec;
    bool full;
    CpStep step = vgpu_cp_map(cp, x, x->dw, -1, &full);

    if (step == CP_STEP_DONE && full) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: MAP_QUEUES finds no free HQD "
                      "(0x%08x)\n", cp->s->id, x->dw[1]);
        return vgpu_cp_bad(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    return step;
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
    unsigned sel = VGPU_GET(x->dw[1], PM4_UNMAP_DW1__QUEUE_SEL);
    CpStep step;

    if (action > PM4_UNMAP_RESET ||
        VGPU_GET(x->dw[1], PM4_MAP_DW1__ENGINE_SEL) != PM4_ENGINE_COMPUTE) {
        return vgpu_cp_bad(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    if (sel == PM4_SEL_ALL || sel == PM4_SEL_NON_STATIC) {
        QEMU_LOCK_GUARD(&cp->w.lock);
        vgpu_cp_hws_end(cp);
    }
    /* Not itself: x->done counts those that are saved. */
    for (; x->done < CP_NUM_HQDS; x->done++) {
        CpQueue *q = &cp->queues[x->done];
        bool meant;

        WITH_QEMU_LOCK_GUARD(&cp->w.lock) {
            meant = q->unsaved ||
                    (q != kiq && q->mapped && vgpu_cp_queue_active(q) &&
                     selected(cp, x, q));
        }
        step = meant ? vgpu_cp_unmap(cp, x, q, action == PM4_UNMAP_RESET)
                     : CP_STEP_DONE;
        if (step != CP_STEP_DONE) {
            return step;
        }
    }
    vgpu_cp_hws_release(cp);
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
    cp->vmid_mask = VGPU_GET(x->dw[1], PM4_RESOURCES_DW1__VMID_MASK) & ~1u;
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
