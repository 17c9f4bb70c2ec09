/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: SDMA queues that MAP_QUEUES brings to the engines, and that leave
 * them. An engine has a thread of its own: a queue has left when that is
 * done with it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"
#include "hw/misc/vgpu-kfd/core/trace.h"

static CpStep image_read(CpExec *x, uint64_t va, uint32_t *mqd)
{
    unsigned i;

    x->mem.vmid = 0;
    if (cp_stalls(vgpu_access_read(&x->mem, va, mqd, SDMA_MQD_DWORDS * 4))) {
        return CP_STEP_STALL;
    }
    for (i = 0; i < SDMA_MQD_DWORDS; i++) {
        mqd[i] = le32_to_cpu(mqd[i]);
    }
    return CP_STEP_DONE;
}

static CpStep image_write(CpExec *x, uint64_t va, const uint32_t *mqd)
{
    unsigned i;

    x->mem.vmid = 0;
    for (i = 0; i < SDMA_MQD_DWORDS; i++) {
        uint32_t val = cpu_to_le32(mqd[i]);

        /* Between the two there is what is not ours. */
        if (i >= SDMA_MQD_REGS && i < SDMA_MQD_WORK) {
            continue;
        }
        if (cp_stalls(vgpu_access_write(&x->mem, va + 4 * i, &val, 4))) {
            return CP_STEP_STALL;
        }
    }
    return CP_STEP_DONE;
}

int vgpu_cp_sdma_engine(uint32_t dw1)
{
    unsigned sel = VGPU_GET(dw1, PM4_MAP_DW1__ENGINE_SEL);

    switch (VGPU_GET(dw1, PM4_MAP_DW1__EXT_ENGINE_SEL)) {
    case 0:
        return sel == PM4_ENGINE_SDMA0 || sel == PM4_ENGINE_SDMA1 ?
               (int)sel - PM4_ENGINE_SDMA0 : -1;
    case 1:
        return sel < SDMA_NUM_ENGINES ? (int)sel : -1;
    default:
        return -1;
    }
}

/*
 * Has the engine's thread, or an injected hang, still to do with it, or the
 * main loop, which writes a register for it? The image of such a queue has the
 * write as done: elsewhere the packets after it would run before it.
 */
static bool held(const VGPUEngine *e, const VGPUQueue *q)
{
    return e->w.current == q || e->w.writing == q ||
           e->hung == 1 + (q - e->queues);
}

/* Lock held. The RLC that the packet names, or a free one. NULL: none. */
static VGPUQueue *slot(VGPUEngine *e, uint32_t dw1)
{
    bool any = VGPU_GET(dw1, PM4_MAP_DW1__QUEUE_SEL);
    unsigned first = SDMA_QUEUE_RLC(any ? 0 :
                                    VGPU_GET(dw1, PM4_MAP_DW1__QUEUE));
    unsigned n;

    for (n = first; n < SDMA_NUM_QUEUES && (any || n == first); n++) {
        VGPUQueue *q = &e->queues[n];

        if (q->mapped == VGPU_SDMA_UNMAPPED && !vgpu_queue_enabled(q) &&
            !held(e, q)) {
            return q;
        }
    }
    return NULL;
}

static bool listed_already(const VGPUEngine *e, uint64_t mqd_va)
{
    unsigned n;

    for (n = 0; n < SDMA_NUM_QUEUES; n++) {
        const VGPUQueue *q = &e->queues[n];

        if (q->listed && q->mapped != VGPU_SDMA_UNMAPPED &&
            q->mqd == mqd_va) {
            return true;
        }
    }
    return false;
}

CpStep vgpu_cp_sdma_map(VGPUCp *cp, CpExec *x, const uint32_t *dw, int vmid,
                        bool *full)
{
    VGPUEngine *e = &cp->s->engines[vgpu_cp_sdma_engine(dw[1])];
    uint64_t mqd_va = (dw[3] | (uint64_t)dw[4] << 32) & ~3ull;
    uint64_t wptr_va = (dw[5] | (uint64_t)dw[6] << 32) & ~7ull;
    uint32_t mqd[SDMA_MQD_DWORDS];
    CpStep step = image_read(x, mqd_va, mqd);
    VGPUQueue *q;

    if (step != CP_STEP_DONE) {
        return step;
    }
    QEMU_LOCK_GUARD(&e->w.lock);
    if (vmid >= 0 && listed_already(e, mqd_va)) {
        return CP_STEP_DONE;
    }
    q = slot(e, dw[1]);
    if (!q) {
        *full = true;
        return CP_STEP_DONE;
    }
    vgpu_sdma_mqd_load(e, q, mqd, vmid);
    q->regs[SDMA_RB_WPTR_POLL_ADDR_LO] = wptr_va;
    q->regs[SDMA_RB_WPTR_POLL_ADDR_HI] = wptr_va >> 32;
    q->regs[SDMA_DOORBELL_OFFSET] = dw[2] & SDMA_DOORBELL_OFFSET__OFFSET;
    q->regs[SDMA_DOORBELL] = SDMA_DOORBELL__ENABLE;
    q->mapped = VGPU_SDMA_MAPPED;
    q->listed = vmid >= 0;
    q->fixed = VGPU_GET(dw[1], PM4_MAP_DW1__QUEUE_TYPE) >= 2;
    q->mqd = mqd_va;
    q->poll_wptr = wptr_va;
    vgpu_queue_more(q);
    trace_vgpu_cp_sdma_map(cp->s->id, e->index, q - e->queues,
                           VGPU_GET(q->regs[SDMA_RB_CNTL],
                                    SDMA_RB_CNTL__RB_VMID),
                           mqd_va, dw[2], q->rptr, q->exec.done);
    vgpu_worker_kick(&e->w);
    return CP_STEP_DONE;
}

CpStep vgpu_cp_sdma_unmap(VGPUCp *cp, CpExec *x, VGPUEngine *e, VGPUQueue *q,
                          bool reset)
{
    uint32_t mqd[SDMA_MQD_DWORDS] = { 0 };
    CpStep step = CP_STEP_DONE;
    uint64_t va;
    bool save;

    WITH_QEMU_LOCK_GUARD(&e->w.lock) {
        if (q->mapped == VGPU_SDMA_MAPPED) {
            q->mapped = reset ? VGPU_SDMA_RESETS : VGPU_SDMA_LEAVES;
            qatomic_and(&q->regs[SDMA_RB_CNTL], ~SDMA_RB_CNTL__RB_ENABLE);
            q->regs[SDMA_DOORBELL] = 0;
        }
        if (held(e, q)) {
            return vgpu_cp_wait(x);
        }
        va = q->mqd;
        save = q->mapped == VGPU_SDMA_LEAVES;
        vgpu_sdma_mqd_save(q, mqd);
        trace_vgpu_cp_sdma_unmap(cp->s->id, e->index, q - e->queues, !save,
                                 q->rptr, q->exec.done);
    }
    if (save) {
        step = image_write(x, va, mqd);
    }
    if (step == CP_STEP_DONE) {
        QEMU_LOCK_GUARD(&e->w.lock);
        /* After a reset of the engine the RLC may have the driver's queue. */
        if (q->mapped > VGPU_SDMA_MAPPED) {
            q->mapped = VGPU_SDMA_UNMAPPED;
            q->listed = false;
            vgpu_queue_restart(e, q);
        }
        x->tries = 0;
    }
    return step;
}
