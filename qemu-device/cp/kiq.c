/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: packets that map and unmap queues and invalidate translations. Only
 * the kernel interface queue (KIQ), which RLC_CP_SCHEDULERS selects, and a
 * queue that was mapped as HIQ may execute these packets.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

/* INVALIDATE_TLBS uses this invalidation engine. Drivers use other engines. */
#define KIQ_INV_ENGINE  3
#define NUM_SDMA        (SDMA_NUM_ENGINES * SDMA_NUM_QUEUES)

VGPUStep vgpu_cp_map_queues(VGPUCp *cp, CpQueue *kiq)
{
    VGPUExec *x = &kiq->queue.exec;
    bool full;
    VGPUStep step = vgpu_cp_hqd_map(cp, x, x->dw, -1, &full);

    if (step == VGPU_STEP_DONE && full) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: MAP_QUEUES finds no free HQD "
                      "(0x%08x)\n", cp->s->id, x->dw[1]);
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    return step;
}

/*
 * Return true if the UNMAP_QUEUES in x->dw selects the queue that the other
 * parameters describe. @pasid is 0 for a queue in VMID 0. @fixed is true if
 * MAP_QUEUES mapped the queue as static.
 */
static bool kiq_selects(const VGPUExec *x, uint32_t doorbell, uint32_t pasid,
                        bool fixed)
{
    unsigned i;

    switch (VGPU_GET(x->dw[1], PM4_UNMAP_DW1__QUEUE_SEL)) {
    case PM4_SEL_DOORBELLS:
        for (i = 0; i < MIN(VGPU_GET(x->dw[1], PM4_UNMAP_DW1__NUM_QUEUES), 4);
             i++) {
            if (!((doorbell ^ x->dw[2 + i]) &
                  CP_HQD_PQ_DOORBELL_CONTROL__OFFSET)) {
                return true;
            }
        }
        return false;
    case PM4_SEL_PASID:
        return pasid && pasid == (x->dw[2] & 0xffff);
    case PM4_SEL_ALL:
        return true;
    default:
        return !fixed;
    }
}

static uint32_t kiq_pasid_of(VGPUState *s, bool mm, unsigned vmid)
{
    return vmid ? vgpu_ih_pasid(s, vmid, mm) : 0;
}

static VGPUStep kiq_unmap_hqd(VGPUCp *cp, CpQueue *kiq, CpQueue *q, bool reset)
{
    VGPUExec *x = &kiq->queue.exec;
    unsigned vmid = VGPU_GET(qatomic_read(&q->regs[CP_HQD_VMID]),
                             CP_HQD_VMID__VMID);
    bool meant;

    WITH_QEMU_LOCK_GUARD(&cp->w.lock) {
        meant = q != kiq && q->mapped && vgpu_cp_queue_active(q) &&
                !(q->hiq && VGPU_GET(x->dw[1], PM4_UNMAP_DW1__QUEUE_SEL) !=
                            PM4_SEL_DOORBELLS) &&
                kiq_selects(x, q->regs[CP_HQD_PQ_DOORBELL_CONTROL],
                            kiq_pasid_of(cp->s, false, vmid), q->fixed);
    }
    return meant || q->unsaved ? vgpu_cp_hqd_unmap(cp, x, q, reset)
                               : VGPU_STEP_DONE;
}

static VGPUStep kiq_unmap_sdma(VGPUCp *cp, VGPUExec *x, unsigned engine,
                               unsigned queue, bool reset)
{
    VGPUSdmaMapping m = vgpu_sdma_mapping(cp->s, engine, queue);
    int named = vgpu_cp_sdma_engine(x->dw[1]);

    if (m.unmapping ||
        (m.mapped && (named < 0 || named == engine) &&
         kiq_selects(x, m.doorbell, kiq_pasid_of(cp->s, true, m.vmid),
                     m.fixed))) {
        return vgpu_cp_sdma_unmap(cp, x, engine, queue, reset);
    }
    return VGPU_STEP_DONE;
}

VGPUStep vgpu_cp_unmap_queues(VGPUCp *cp, CpQueue *kiq)
{
    VGPUExec *x = &kiq->queue.exec;
    unsigned action = VGPU_GET(x->dw[1], PM4_UNMAP_DW1__ACTION);
    unsigned sel = VGPU_GET(x->dw[1], PM4_UNMAP_DW1__QUEUE_SEL);
    bool all = !(x->dw[1] & (PM4_MAP_DW1__ENGINE_SEL |
                             PM4_MAP_DW1__EXT_ENGINE_SEL));
    VGPUStep step;

    if (action > PM4_UNMAP_RESET ||
        (!all && vgpu_cp_sdma_engine(x->dw[1]) < 0)) {
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    if (all && (sel == PM4_SEL_ALL || sel == PM4_SEL_NON_STATIC)) {
        QEMU_LOCK_GUARD(&cp->w.lock);
        vgpu_cp_hws_end(cp);
    }
    /* x->done counts the queues processed: HQDs first, then SDMA queues. */
    for (; x->done < CP_NUM_HQDS + NUM_SDMA; x->done++) {
        if (x->done < CP_NUM_HQDS) {
            step = all ? kiq_unmap_hqd(cp, kiq, &cp->queues[x->done], action)
                       : VGPU_STEP_DONE;
        } else {
            unsigned n = x->done - CP_NUM_HQDS;

            step = kiq_unmap_sdma(cp, x, n / SDMA_NUM_QUEUES,
                                  n % SDMA_NUM_QUEUES, action);
        }
        if (step != VGPU_STEP_DONE) {
            return step;
        }
    }
    vgpu_cp_hws_release(cp);
    return VGPU_STEP_DONE;
}

VGPUStep vgpu_cp_query_status(VGPUCp *cp, CpQueue *kiq)
{
    VGPUExec *x = &kiq->queue.exec;
    unsigned command = VGPU_GET(x->dw[1], PM4_QUERY_DW1__COMMAND);
    uint64_t va = (x->dw[3] | (uint64_t)x->dw[4] << 32) & ~7ull;
    uint64_t val = cpu_to_le64(x->dw[5] | (uint64_t)x->dw[6] << 32);

    /* Packets are executed in order, so all earlier packets have completed. */
    if (command != PM4_QUERY_INTERRUPT_ONLY &&
        cp_dma_stalls(vgpu_dma_write(&x->mem, va, &val, 8))) {
        return VGPU_STEP_STALL;
    }
    if (command == PM4_QUERY_INTERRUPT_ONLY ||
        command == PM4_QUERY_FENCE_INTERRUPT) {
        vgpu_cp_interrupt(cp, kiq, IH_SRC_CP_END_OF_PIPE,
                          CP_INT_CNTL__TIME_STAMP,
                          x->dw[1] & PM4_QUERY_DW1__CONTEXT_ID);
    }
    return VGPU_STEP_DONE;
}

VGPUStep vgpu_cp_set_resources(VGPUCp *cp, CpQueue *kiq)
{
    VGPUExec *x = &kiq->queue.exec;

    QEMU_LOCK_GUARD(&cp->w.lock);
    cp->vmid_mask = VGPU_GET(x->dw[1], PM4_RESOURCES_DW1__VMID_MASK) & ~1u;
    cp->queue_mask = x->dw[2] | (uint64_t)x->dw[3] << 32;
    cp->gws_mask = x->dw[4] | (uint64_t)x->dw[5] << 32;
    return VGPU_STEP_DONE;
}

/*
 * Invalidate the VMIDs that have the packet's PASID, in one hub after the
 * other. x->done counts steps, four for each hub.
 */
VGPUStep vgpu_cp_invalidate_tlbs(VGPUCp *cp, CpQueue *kiq)
{
    VGPUExec *x = &kiq->queue.exec;
    unsigned hubs = x->dw[1] & PM4_INVALIDATE_DW1__ALL_HUB ? 2 : 1;
    uint32_t pasid = VGPU_GET(x->dw[1], PM4_INVALIDATE_DW1__PASID);
    uint32_t vmids = 0, requested, ack = 0, vmid;

    for (vmid = 1; vmid < VGPU_NUM_VMIDS; vmid++) {
        if (vgpu_ih_pasid(cp->s, vmid, false) == pasid) {
            vmids |= 1u << vmid;
        }
    }
    while (x->done < 4 * hubs && (vmids || x->done % 4 == 3)) {
        uint32_t hub = HUB(x->done < 4 ? VGPU_HUB_GFX : VGPU_HUB_MM);

        switch (x->done % 4) {
        case 0:
            return vgpu_cp_write_reg(
                x, hub + VM_INVALIDATE_ENG_ADDR_RANGE_LO32(KIQ_INV_ENGINE),
                UINT32_MAX);
        case 1:
            return vgpu_cp_write_reg(
                x, hub + VM_INVALIDATE_ENG_ADDR_RANGE_HI32(KIQ_INV_ENGINE),
                0x1f);
        case 2:
            return vgpu_cp_write_reg(
                x, hub + VM_INVALIDATE_ENG_REQ(KIQ_INV_ENGINE),
                vmids | VM_INVALIDATE_ENG_REQ__L2_PTES |
                VM_INVALIDATE_ENG_REQ__L2_PDE0 |
                VM_INVALIDATE_ENG_REQ__L2_PDE1 |
                VM_INVALIDATE_ENG_REQ__L2_PDE2 |
                VM_INVALIDATE_ENG_REQ__L1_PTES);
        /*
         * Wait for the ACK of the VMIDs in the request (x->reg_val). Do not
         * wait for @vmids, which each call computes again: a VMID that got the
         * PASID after the request is never in the ACK. (vgpu_hub_set_root() has
         * already invalidated that VMID.)
         */
        default:
            vgpu_reg_engine_read(
                cp->s, hub + VM_INVALIDATE_ENG_ACK(KIQ_INV_ENGINE), &ack);
            requested = x->reg_val & VM_INVALIDATE_ENG_REQ__PER_VMID;
            if ((ack & requested) != requested) {
                return vgpu_cp_poll_device(x);
            }
            x->polls = 0;
            x->done++;
        }
    }
    return VGPU_STEP_DONE;
}
