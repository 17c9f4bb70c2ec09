/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: functions that load a compute queue from its image in memory (MQD)
 * into an HQD, and save the queue to the image. MQDs belong to the driver, so
 * their addresses are in VMID 0.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "vgpu/bits.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"

/* Number of dwords that are read from an MQD. */
#define MQD_USED        (CP_MQD_HQD + CP_HQD_SPAN)
#define PIPE_QUEUES     (CP_NUM_PIPES * CP_NUM_QUEUES)

static VGPUStep mqd_read(VGPUExec *x, uint64_t va, uint32_t *mqd)
{
    unsigned i;

    x->mem.vmid = 0;
    if (cp_dma_stalls(vgpu_dma_read(&x->mem, va, mqd, MQD_USED * 4))) {
        return VGPU_STEP_STALL;
    }
    for (i = 0; i < MQD_USED; i++) {
        mqd[i] = le32_to_cpu(mqd[i]);
    }
    return VGPU_STEP_DONE;
}

/*
 * Write the parts of the image that may have changed: SH registers and HQD
 * registers.
 */
static VGPUStep mqd_write(VGPUExec *x, CpQueue *q)
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
        if (cp_dma_stalls(vgpu_dma_write(&x->mem, va + 4 * i, &val, 4))) {
            return VGPU_STEP_STALL;
        }
    }
    return VGPU_STEP_DONE;
}

static bool hqd_is_free(const CpQueue *q)
{
    return !vgpu_cp_queue_active(q) && !q->unsaved;
}

/*
 * Return the HQD that the packet selects, or any free HQD of cp->queue_mask if
 * the packet allows any. Return NULL if no such HQD is free.
 */
static CpQueue *hqd_find_free(VGPUCp *cp, uint32_t dw1)
{
    unsigned n;

    if (VGPU_GET(dw1, PM4_MAP_DW1__QUEUE_SEL) == 0) {
        n = VGPU_GET(dw1, PM4_MAP_DW1__ME) * PIPE_QUEUES +
            VGPU_GET(dw1, PM4_MAP_DW1__PIPE) * CP_NUM_QUEUES +
            VGPU_GET(dw1, PM4_MAP_DW1__QUEUE);
        return hqd_is_free(&cp->queues[n]) ? &cp->queues[n] : NULL;
    }
    for (n = 0; n < CP_NUM_HQDS; n++) {
        if ((cp->queue_mask & (1ull << n)) && hqd_is_free(&cp->queues[n])) {
            return &cp->queues[n];
        }
    }
    return NULL;
}

static bool mqd_is_listed(const VGPUCp *cp, uint64_t mqd_va)
{
    unsigned n;

    for (n = 0; n < CP_NUM_HQDS; n++) {
        const CpQueue *q = &cp->queues[n];

        if (q->listed && vgpu_cp_queue_active(q) &&
            cp_hqd64(q, CP_MQD_BASE_ADDR) == mqd_va) {
            return true;
        }
    }
    return false;
}

VGPUStep vgpu_cp_hqd_map(VGPUCp *cp, VGPUExec *x, const uint32_t *dw, int vmid,
                         bool *full)
{
    uint64_t mqd_va = (dw[3] | (uint64_t)dw[4] << 32) & ~3ull;
    uint64_t wptr_va = (dw[5] | (uint64_t)dw[6] << 32) & ~7ull;
    unsigned engine = VGPU_GET(dw[1], PM4_MAP_DW1__ENGINE_SEL);
    uint32_t mqd[MQD_USED];
    CpQueue *q;
    VGPUStep step;

    *full = false;
    if (VGPU_GET(dw[1], PM4_MAP_DW1__NUM_QUEUES) == 1 &&
        vgpu_cp_sdma_engine(dw[1]) >= 0) {
        return vgpu_cp_sdma_map(cp, x, dw, vmid, full);
    }
    if (VGPU_GET(dw[1], PM4_MAP_DW1__NUM_QUEUES) != 1 ||
        VGPU_GET(dw[1], PM4_MAP_DW1__EXT_ENGINE_SEL) ||
        engine > (vmid < 0 ? PM4_ENGINE_HIQ : PM4_ENGINE_COMPUTE)) {
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    step = mqd_read(x, mqd_va, mqd);
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    QEMU_LOCK_GUARD(&cp->w.lock);
    /*
     * If @vmid >= 0, the queue is from a run list. A static queue may still be
     * mapped since an earlier slice. Do not map the queue twice.
     */
    if (vmid >= 0 && mqd_is_listed(cp, mqd_va)) {
        return VGPU_STEP_DONE;
    }
    q = hqd_find_free(cp, dw[1]);
    if (!q) {
        *full = true;
        return VGPU_STEP_DONE;
    }
    memcpy(q->sh, mqd + CP_MQD_SH, sizeof(q->sh));
    memcpy(q->regs, mqd + CP_MQD_HQD, sizeof(q->regs));
    if (vmid >= 0) {
        q->regs[CP_HQD_VMID] = VGPU_PREP(CP_HQD_VMID__VMID, (uint32_t)vmid) |
                               VGPU_PREP(CP_HQD_VMID__IB_VMID, (uint32_t)vmid);
    }
    q->regs[CP_MQD_BASE_ADDR] = mqd_va;
    q->regs[CP_MQD_BASE_ADDR_HI] = mqd_va >> 32;
    q->regs[CP_HQD_PQ_WPTR_POLL_ADDR] = wptr_va;
    q->regs[CP_HQD_PQ_WPTR_POLL_ADDR_HI] = wptr_va >> 32;
    q->regs[CP_HQD_PQ_DOORBELL_CONTROL] =
        CP_HQD_PQ_DOORBELL_CONTROL__EN |
        (dw[2] & CP_HQD_PQ_DOORBELL_CONTROL__OFFSET);
    q->regs[CP_HQD_ACTIVE] = CP_HQD_ACTIVE__ACTIVE;
    q->hiq = engine == PM4_ENGINE_HIQ;
    q->fixed = VGPU_GET(dw[1], PM4_MAP_DW1__QUEUE_TYPE) >= 2;
    q->mapped = true;
    q->listed = vmid >= 0;
    vgpu_cp_queue_start(cp, q);
    q->queue.poll_wptr = wptr_va;
    trace_vgpu_cp_map(cp->s->id, cp_queue_number(cp, q),
                      VGPU_GET(q->regs[CP_HQD_VMID], CP_HQD_VMID__VMID),
                      mqd_va, dw[2]);
    return VGPU_STEP_DONE;
}

VGPUStep vgpu_cp_hqd_unmap(VGPUCp *cp, VGPUExec *x, CpQueue *q, bool reset)
{
    VGPUStep step = VGPU_STEP_DONE;

    WITH_QEMU_LOCK_GUARD(&cp->w.lock) {
        if (vgpu_cp_queue_active(q)) {
            vgpu_cp_queue_dequeue(cp, q);
            qatomic_and(&q->regs[CP_HQD_PQ_DOORBELL_CONTROL],
                        ~CP_HQD_PQ_DOORBELL_CONTROL__EN);
            q->mapped = false;
            q->listed = false;
            q->unsaved = !reset;
            trace_vgpu_cp_unmap(cp->s->id, cp_queue_number(cp, q), reset);
        }
    }
    if (q->unsaved) {
        step = mqd_write(x, q);
        if (step == VGPU_STEP_DONE) {
            q->unsaved = false;
        }
    }
    return step;
}
