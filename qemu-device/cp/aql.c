/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: AQL packets of compute queues. The packets of a queue are executed
 * one after the other, so barrier bits need no action. The model has no caches,
 * so fences need no action.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "vgpu/aql.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"

/*
 * q->phase, the progress of the packet at rptr. A dequeue saves q->phase, so
 * that the completion signal is decremented only once.
 */
enum {
    AQL_PHASE_WORK,             /* execute the packet and its IB, if any */
    AQL_PHASE_SIGNAL,           /* decrement the completion signal */
    AQL_PHASE_MAILBOX,          /* send the event of the completion signal */
    AQL_PHASE_RETIRE,           /* mark the packet invalid, advance rptr */
};

static uint64_t aql_dw64(const VGPUExec *x, unsigned n)
{
    return x->dw[n] | (uint64_t)x->dw[n + 1] << 32;
}

/*
 * Wait until all signals of the packet are 0, or with @any, until one signal is
 * 0.
 */
static VGPUStep aql_barrier(VGPUExec *x, bool any)
{
    bool all = true, one = false, none = true;
    unsigned i;

    for (i = 0; i < AQL_BARRIER_SIGNALS; i++) {
        uint64_t signal = aql_dw64(x, AQL_BARRIER_SIGNAL(i)), value;
        VGPUStep step;

        if (!signal) {
            continue;
        }
        none = false;
        /*
         * A signal that was 0 in an earlier try is in x->done, and counts as 0.
         */
        if (!(x->done & (1u << i))) {
            step = vgpu_cp_load(x, signal + AMD_SIGNAL_VALUE, &value, 8);
            if (step != VGPU_STEP_DONE) {
                return step;
            }
            if (value) {
                all = false;
                continue;
            }
            x->done |= 1u << i;
        }
        one = true;
    }
    return none || (any ? one : all) ? VGPU_STEP_DONE : vgpu_cp_poll(x);
}

static VGPUStep aql_barrier_value(VGPUExec *x)
{
    uint64_t signal = aql_dw64(x, AQL_VALUE_SIGNAL), value;
    int64_t want = aql_dw64(x, AQL_VALUE_VALUE), is;
    VGPUStep step;
    bool holds;

    if (!signal) {
        return VGPU_STEP_DONE;
    }
    step = vgpu_cp_load(x, signal + AMD_SIGNAL_VALUE, &value, 8);
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    is = value & aql_dw64(x, AQL_VALUE_MASK);
    switch (x->dw[AQL_VALUE_COND]) {
    case 0:
        holds = is == want;
        break;
    case 1:
        holds = is != want;
        break;
    case 2:
        holds = is < want;
        break;
    case 3:
        holds = is >= want;
        break;
    default:
        return vgpu_cp_packet_error(x, CP_ERROR_VENDOR_UNSUPPORTED);
    }
    return holds ? VGPU_STEP_DONE : vgpu_cp_poll(x);
}

static VGPUStep aql_pm4_ib(VGPUExec *x)
{
    const uint32_t *pkt = &x->dw[AQL_PM4_IB_PACKET];

    if (pkt[0] >> 30 != 3 ||
        VGPU_GET(pkt[0], PM4_HDR__OPCODE) != PM4_INDIRECT_BUFFER) {
        return vgpu_cp_packet_error(x, CP_ERROR_VENDOR_UNSUPPORTED);
    }
    x->ib[0] = (VGPUIndirect) {
        .base = (pkt[1] & PM4_IB_DW1__BASE_LO) |
                (uint64_t)(pkt[2] & PM4_IB_DW2__BASE_HI) << 32,
        .size = VGPU_GET(pkt[3], PM4_IB_DW3__SIZE),
        .vmid = x->ring_vmid ?: VGPU_GET(pkt[3], PM4_IB_DW3__VMID),
    };
    x->ib_depth = 1;
    x->packet = false;
    return VGPU_STEP_DONE;
}

static VGPUStep aql_execute(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;

    switch (VGPU_GET(x->dw[0], AQL_DW0__TYPE)) {
    case AQL_VENDOR:
        switch (VGPU_GET(x->dw[0], AQL_DW0__AMD_FORMAT)) {
        case AQL_AMD_PM4_IB:
            return aql_pm4_ib(x);
        case AQL_AMD_BARRIER_VALUE:
            return aql_barrier_value(x);
        default:
            return vgpu_cp_packet_error(x, CP_ERROR_VENDOR_UNSUPPORTED);
        }
    case AQL_BARRIER_AND:
        return aql_barrier(x, false);
    case AQL_BARRIER_OR:
        return aql_barrier(x, true);
    case AQL_KERNEL_DISPATCH:
        return vgpu_cp_dispatch(cp, q);
    case AQL_AGENT_DISPATCH:
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
    default:
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_RESERVED);
    }
}

/*
 * If the completion signal has an event mailbox, write the event id to the
 * mailbox and send an interrupt to the driver.
 */
static VGPUStep aql_notify(VGPUCp *cp, CpQueue *q, uint64_t signal)
{
    VGPUExec *x = &q->queue.exec;
    uint64_t mailbox, event;
    VGPUStep step = vgpu_cp_load(x, signal + AMD_SIGNAL_EVENT_MAILBOX_PTR,
                                 &mailbox, 8);

    if (step != VGPU_STEP_DONE || !mailbox) {
        return step;
    }
    step = vgpu_cp_load(x, signal + AMD_SIGNAL_EVENT_ID, &event, 8);
    if (step == VGPU_STEP_DONE) {
        uint64_t id = cpu_to_le64((uint32_t)event);

        if (cp_dma_stalls(vgpu_dma_write(&x->mem, mailbox & ~7ull, &id, 8))) {
            return VGPU_STEP_STALL;
        }
        vgpu_cp_interrupt(cp, q, IH_SRC_CP_END_OF_PIPE, CP_INT_CNTL__TIME_STAMP,
                          event);
    }
    return step;
}

/*
 * Complete the packet after its work: do phase q->phase and all later phases. A
 * phase that stalls stays in q->phase. A later call of aql_retire() then starts
 * with this phase.
 */
static VGPUStep aql_retire(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    uint64_t signal = aql_dw64(x, AQL_COMPLETION_SIGNAL) & ~7ull;
    uint64_t va = x->ring_base + (x->rptr & (x->ring_dwords - 1)) * 4;
    uint32_t header = cpu_to_le32((x->dw[0] & ~AQL_DW0__HEADER) | AQL_INVALID);
    VGPUStep step = VGPU_STEP_DONE;

    if (q->phase == AQL_PHASE_SIGNAL) {
        if (signal && cp_dma_stalls(vgpu_dma_add64(&x->mem, signal +
                                                   AMD_SIGNAL_VALUE, -1))) {
            return VGPU_STEP_STALL;
        }
        q->phase = AQL_PHASE_MAILBOX;
    }
    if (q->phase == AQL_PHASE_MAILBOX) {
        step = signal ? aql_notify(cp, q, signal) : VGPU_STEP_DONE;
        if (step != VGPU_STEP_DONE) {
            return step;
        }
        q->phase = AQL_PHASE_RETIRE;
    }
    if (cp_dma_stalls(vgpu_dma_write(&x->mem, va, &header, 4))) {
        return VGPU_STEP_STALL;
    }
    q->phase = AQL_PHASE_WORK;
    x->packet = false;
    x->polls = 0;
    x->rptr += AQL_PACKET_DWORDS;
    x->writeback = true;
    vgpu_count(cp->s, VGPU_CNT_PACKETS, 1);
    return VGPU_STEP_DONE;
}

VGPUStep vgpu_cp_aql_step(VGPUCp *cp, CpQueue *q)
{
    VGPUExec *x = &q->queue.exec;
    VGPUStep step;

    if (x->ib_depth) {
        step = vgpu_cp_pm4_step(cp, q);
        if (step == VGPU_STEP_DONE && !x->ib_depth) {
            q->phase = AQL_PHASE_SIGNAL;
        }
        return step;
    }
    if (!x->packet && (x->poll_wptr || x->writeback)) {
        return vgpu_cp_sync_pointers(q);
    }
    x->mem.vmid = x->ring_vmid;
    if (!x->packet) {
        if (x->wptr - x->rptr < AQL_PACKET_DWORDS) {
            x->poll_wptr = q->clamped;
            q->clamped = false;
            if (!x->poll_wptr && x->wptr != x->rptr) {
                return vgpu_exec_wait_wptr(x);
            }
            return VGPU_STEP_DONE;
        }
        x->mem.faulted = false;
        x->dw[0] = 0;
        step = vgpu_cp_fetch(x, 0, x->dw, AQL_PACKET_DWORDS);
        if (step != VGPU_STEP_DONE) {
            return step;
        }
        if (q->phase == AQL_PHASE_WORK &&
            VGPU_GET(x->dw[0], AQL_DW0__TYPE) == AQL_INVALID) {
            /*
             * User space has not written the packet's header yet. User space
             * rings the doorbell after it has written the header. The doorbell
             * ends this wait.
             */
            return vgpu_exec_wait_wptr(x);
        }
        x->packet = true;
        x->done = 0;
        trace_vgpu_cp_aql(cp->s->id, x->mem.queue, x->ring_vmid,
                          x->rptr / AQL_PACKET_DWORDS, x->dw[0], q->phase);
    }
    if (q->phase == AQL_PHASE_WORK) {
        step = aql_execute(cp, q);
        if (step != VGPU_STEP_DONE || x->ib_depth) {
            return step;
        }
        q->phase = AQL_PHASE_SIGNAL;
    }
    return aql_retire(cp, q);
}
