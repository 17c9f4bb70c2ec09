/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: an SDMA queue's image in memory (MQD): registers, and progress of
 * the packet in execution. The guest may write any value to the MQD. Therefore
 * a load discards inconsistent progress: the packet at rptr starts again.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/core/clock.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/sdma/internal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

/*
 * Register that each dword of the image holds. The first dword holds
 * SDMA_RB_CNTL, whose number is 0. In other dwords, 0 means that the dword
 * holds no register.
 */
static const uint8_t mqd_regs[SDMA_MQD_REGS] = {
    [0] = SDMA_RB_CNTL, SDMA_RB_BASE, SDMA_RB_BASE_HI, SDMA_RB_RPTR,
    SDMA_RB_RPTR_HI, SDMA_RB_WPTR, SDMA_RB_WPTR_HI, SDMA_RB_WPTR_POLL_CNTL,
    SDMA_RB_RPTR_ADDR_HI, SDMA_RB_RPTR_ADDR_LO, SDMA_IB_CNTL,
    [18] = SDMA_DOORBELL, SDMA_STATUS, SDMA_DOORBELL_LOG, SDMA_WATERMARK,
    SDMA_DOORBELL_OFFSET, SDMA_CSA_ADDR_LO, SDMA_CSA_ADDR_HI,
    [27] = SDMA_DUMMY_REG, SDMA_RB_WPTR_POLL_ADDR_HI,
    SDMA_RB_WPTR_POLL_ADDR_LO,
    [31] = SDMA_MINOR_PTR_UPDATE,
};

/*
 * Fields of dword AT_FLAGS in the MQD: copies of members of VGPUExec. Like the
 * other AT_* dwords, AT_FLAGS saves the progress of the queue's packet.
 */
enum {
    WORK_PACKET = 1 << 0,
    WORK_WRITEBACK = 1 << 1,
    WORK_FAULTED = 1 << 2,
    WORK_DEPTH = 3 << 4,
};

/*
 * Offsets in dwords. AT_* are counted from SDMA_MQD_WORK, where the work begins
 * in the MQD.
 */
enum {
    AT_FLAGS, AT_NDW, AT_RING_NDW, AT_DONE, AT_DONE_HI, AT_DW,
    /* Start of the array of indirect buffers */
    AT_IB = AT_DW + VGPU_PKT_MAX_DWORDS,
    /* IB_* are counted from the start of an element of the array at AT_IB. */
    IB_BASE = 0, IB_BASE_HI, IB_SIZE, IB_POS, IB_VMID, IB_DWORDS,
    AT_POLLS = AT_IB + 2 * IB_DWORDS,
    /* Ticks of the GPU clock since the first try of the packet */
    AT_AGE,
};
QEMU_BUILD_BUG_ON(AT_AGE + 1 != SDMA_MQD_WORK_DWORDS);

/*
 * Return the time since the first try of the packet, in ticks of the GPU clock,
 * or 0 if the packet was not tried yet.
 */
static uint32_t sdma_atomic_loop_age(const VGPUExec *x)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    return x->polls ? MIN(MAX(now - x->began, 0) / VGPU_CLOCK_NS,
                          UINT32_MAX) : 0;
}

void vgpu_sdma_mqd_save(const VGPUSdmaQueue *q, uint32_t *mqd)
{
    const VGPUExec *x = &q->queue.exec;
    uint32_t *work = mqd + SDMA_MQD_WORK;
    unsigned i;

    for (i = 0; i < SDMA_MQD_REGS; i++) {
        if (i == 0 || mqd_regs[i]) {
            mqd[i] = qatomic_read(&q->regs[mqd_regs[i]]);
        }
    }
    mqd[SDMA_RB_RPTR] = q->queue.rptr;
    mqd[SDMA_RB_RPTR_HI] = q->queue.rptr >> 32;
    mqd[SDMA_RB_WPTR] = q->queue.wptr;
    mqd[SDMA_RB_WPTR_HI] = q->queue.wptr >> 32;
    work[AT_FLAGS] = (x->packet ? WORK_PACKET : 0) |
                     (x->writeback ? WORK_WRITEBACK : 0) |
                     (x->mem.faulted ? WORK_FAULTED : 0) |
                     VGPU_PREP(WORK_DEPTH, x->ib_depth);
    work[AT_NDW] = x->ndw;
    work[AT_RING_NDW] = x->ring_ndw;
    work[AT_DONE] = x->done;
    work[AT_DONE_HI] = x->done >> 32;
    work[AT_POLLS] = x->polls;
    work[AT_AGE] = sdma_atomic_loop_age(x);
    memcpy(work + AT_DW, x->dw, sizeof(x->dw));
    for (i = 0; i < ARRAY_SIZE(x->ib); i++) {
        uint32_t *ib = work + AT_IB + i * IB_DWORDS;

        ib[IB_BASE] = x->ib[i].base;
        ib[IB_BASE_HI] = x->ib[i].base >> 32;
        ib[IB_SIZE] = x->ib[i].size;
        ib[IB_POS] = x->ib[i].pos;
        ib[IB_VMID] = x->ib[i].vmid;
    }
}

static void sdma_mqd_load_work(VGPUExec *x, const uint32_t *work)
{
    unsigned i;

    memset(x, 0, sizeof(*x));
    x->packet = work[AT_FLAGS] & WORK_PACKET;
    x->writeback = work[AT_FLAGS] & WORK_WRITEBACK;
    x->mem.faulted = work[AT_FLAGS] & WORK_FAULTED;
    x->ib_depth = VGPU_GET(work[AT_FLAGS], WORK_DEPTH);
    x->polls = work[AT_POLLS];
    x->began = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) -
               (int64_t)work[AT_AGE] * VGPU_CLOCK_NS;
    x->ndw = work[AT_NDW];
    x->ring_ndw = work[AT_RING_NDW];
    x->done = work[AT_DONE] | (uint64_t)work[AT_DONE_HI] << 32;
    memcpy(x->dw, work + AT_DW, sizeof(x->dw));
    /*
     * Unused elements of x->ib stay
     * zero, because they may later be part of a saved state: the load of this
     * state refuses invalid values in any element.
     */
    for (i = 0; i < MIN(x->ib_depth, ARRAY_SIZE(x->ib)); i++) {
        const uint32_t *ib = work + AT_IB + i * IB_DWORDS;

        x->ib[i] = (VGPUIndirect) {
            .base = ib[IB_BASE] | (uint64_t)ib[IB_BASE_HI] << 32,
            .size = ib[IB_SIZE],
            .pos = ib[IB_POS],
            .vmid = MIN(ib[IB_VMID], VGPU_NUM_VMIDS),
        };
    }
    if (!vgpu_sdma_exec_valid(x)) {
        memset(x, 0, sizeof(*x));
    }
}

void vgpu_sdma_mqd_load(VGPUSdmaEngine *e, VGPUSdmaQueue *q,
                        const uint32_t *mqd, int vmid)
{
    const VGPUReg *regs = vgpu_sdma_queue_blocks[e->index].regs;
    VGPUExec *x = &q->queue.exec;
    unsigned i;

    for (i = 0; i < SDMA_MQD_REGS; i++) {
        if (i == 0 || mqd_regs[i]) {
            qatomic_set(&q->regs[mqd_regs[i]],
                        mqd[i] & regs[mqd_regs[i]].mask);
        }
    }
    q->queue.rptr = mqd[SDMA_RB_RPTR] | (uint64_t)mqd[SDMA_RB_RPTR_HI] << 32;
    q->queue.wptr = mqd[SDMA_RB_WPTR] | (uint64_t)mqd[SDMA_RB_WPTR_HI] << 32;
    q->exception = VGPU_SDMA_EXC_NONE;
    q->queue.restart = false;
    q->queue.wait = VGPU_WAIT_NONE;
    q->injected = (VGPUSdmaInjected) { 0 };
    sdma_mqd_load_work(x, mqd + SDMA_MQD_WORK);
    if (vmid >= 0) {
        qatomic_set(&q->regs[SDMA_RB_CNTL],
                    VGPU_SET(q->regs[SDMA_RB_CNTL], SDMA_RB_CNTL__RB_VMID,
                             (uint32_t)vmid));
        for (i = 0; i < ARRAY_SIZE(x->ib); i++) {
            x->ib[i].vmid = vmid;
        }
    }
    qatomic_or(&q->regs[SDMA_RB_CNTL], SDMA_RB_CNTL__RB_ENABLE);
}
