/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: saved state of the SDMA engines. See pci/vmstate.c. A load
 * continues timed waits (is_timed()). All other waits end: the queue tries its
 * packet again.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "migration/vmstate.h"
#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/core/clock.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/sdma/internal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

/*
 * Maximum length of a packet in dwords: the fixed part, plus the largest
 * payload (SDMA_WRITE_LINEAR_DW3__COUNT + 1).
 */
#define NDW_MAX         (VGPU_PKT_MAX_DWORDS + (1u << 20))
#define IB_SIZE_MAX     (1u << 20)
/* The earliest exec.began that sdma_mqd_load_work() can compute. */
#define BEGAN_MIN       (-(int64_t)UINT32_MAX * VGPU_CLOCK_NS)

static int stall_post_load(void *opaque, int version_id)
{
    VGPUStall *stall = opaque;

    if (stall->why > VGPU_WAIT_RETRY || stall->hub >= VGPU_NUM_HUBS ||
        stall->vmid >= VGPU_NUM_VMIDS || stall->cam >= VGPU_RETRY_CAM_SLOTS) {
        return -EINVAL;
    }
    /* vmstate_queue_times is loaded later, and may set stall->until. */
    stall->until = 0;
    return 0;
}

static const VMStateDescription vmstate_vgpu_stall = {
    .name = "vgpu-kfd/stall",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = stall_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_SINGLE(why, VGPUStall, 1, vmstate_info_uint32, VGPUWait),
        VMSTATE_UINT8(hub, VGPUStall),
        VMSTATE_UINT8(vmid, VGPUStall),
        VMSTATE_UINT8(cam, VGPUStall),
        VMSTATE_BOOL(write, VGPUStall),
        VMSTATE_UINT64(va, VGPUStall),
        VMSTATE_UINT32(serial, VGPUStall),
        VMSTATE_UINT32(invs, VGPUStall),
        VMSTATE_END_OF_LIST()
    },
};

static int view_post_load(void *opaque, int version_id)
{
    const VGPUView *v = opaque;

    return v->vmid < VGPU_NUM_VMIDS ? 0 : -EINVAL;
}

static const VMStateDescription vmstate_vgpu_view = {
    .name = "vgpu-kfd/view",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = view_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT8(vmid, VGPUView),
        VMSTATE_BOOL(faulted, VGPUView),
        VMSTATE_STRUCT(stall, VGPUView, 1, vmstate_vgpu_stall, VGPUStall),
        VMSTATE_END_OF_LIST()
    },
};

static bool indirect_valid(const VGPUIndirect *ib)
{
    return ib->vmid < VGPU_NUM_VMIDS && ib->size < IB_SIZE_MAX &&
           ib->pos < IB_SIZE_MAX + NDW_MAX;
}

static int indirect_post_load(void *opaque, int version_id)
{
    return indirect_valid(opaque) ? 0 : -EINVAL;
}

static const VMStateDescription vmstate_vgpu_indirect = {
    .name = "vgpu-kfd/indirect",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = indirect_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(base, VGPUIndirect),
        VMSTATE_UINT32(size, VGPUIndirect),
        VMSTATE_UINT32(pos, VGPUIndirect),
        VMSTATE_UINT8(vmid, VGPUIndirect),
        VMSTATE_END_OF_LIST()
    },
};

bool vgpu_sdma_exec_valid(const VGPUExec *x)
{
    unsigned i;

    if (x->ib_depth > ARRAY_SIZE(x->ib) || x->ndw > NDW_MAX ||
        x->ring_ndw > NDW_MAX) {
        return false;
    }
    for (i = 0; i < x->ib_depth; i++) {
        /*
         * Refuse a position at the end of the innermost indirect buffer:
         * sdma_packet_retire() would have left that buffer.
         */
        if (!indirect_valid(&x->ib[i]) || x->ib[i].pos > x->ib[i].size ||
            (i + 1 == x->ib_depth && x->ib[i].pos == x->ib[i].size)) {
            return false;
        }
    }
    return !x->packet || vgpu_sdma_packet_valid(x);
}

static int exec_post_load(void *opaque, int version_id)
{
    VGPUExec *x = opaque;

    if (!vgpu_sdma_exec_valid(x)) {
        return -EINVAL;
    }
    /*
     * The saved state does not contain exec.poll_wptr. If exec.poll_wptr was
     * set, queue_pre_save() set VGPUQueue.poll_wptr, which is saved.
     */
    x->poll_wptr = false;
    x->began = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    return 0;
}

/*
 * Members that are copies of registers are not saved, because
 * VGPUQueueOps.load() sets them.
 */
static const VMStateDescription vmstate_vgpu_exec = {
    .name = "vgpu-kfd/exec",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = exec_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT(mem, VGPUExec, 1, vmstate_vgpu_view, VGPUView),
        VMSTATE_BOOL(packet, VGPUExec),
        VMSTATE_BOOL(writeback, VGPUExec),
        VMSTATE_UINT32(ib_depth, VGPUExec),
        VMSTATE_STRUCT_ARRAY(ib, VGPUExec, 2, 1, vmstate_vgpu_indirect,
                             VGPUIndirect),
        VMSTATE_UINT32_ARRAY(dw, VGPUExec, VGPU_PKT_MAX_DWORDS),
        VMSTATE_UINT32(ndw, VGPUExec),
        VMSTATE_UINT32(ring_ndw, VGPUExec),
        VMSTATE_UINT64(done, VGPUExec),
        VMSTATE_UINT32(polls, VGPUExec),
        VMSTATE_END_OF_LIST()
    },
};

static int queue_pre_save(void *opaque)
{
    VGPUQueue *q = &((VGPUSdmaQueue *)opaque)->queue;

    /*
     * A time slice moves q->poll_wptr (a request to read wptr) to
     * exec.poll_wptr. exec.poll_wptr is not saved, so copy the request back.
     */
    q->poll_wptr |= q->exec.poll_wptr;
    return 0;
}

static int queue_post_load(void *opaque, int version_id)
{
    VGPUSdmaQueue *q = opaque;

    if (q->exception & ~VGPU_GET(UINT32_MAX, SDMA_CONTEXT_STATUS__EXCEPTION)) {
        return -EINVAL;
    }
    if (q->mapped > VGPU_SDMA_RESETTING) {
        return -EINVAL;
    }
    q->queue.restart = false;
    q->queue.wait = VGPU_WAIT_NONE;     /* the packet is tried again */
    /* Effects of injections are not part of the saved state. */
    q->injected = (VGPUSdmaInjected) { 0 };
    return 0;
}

static const VMStateDescription vmstate_vgpu_queue = {
    .name = "vgpu-kfd/queue",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = queue_pre_save,
    .post_load = queue_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, VGPUSdmaQueue, VGPU_SDMA_QUEUE_SPAN),
        VMSTATE_UINT64(queue.rptr, VGPUSdmaQueue),
        VMSTATE_UINT64(queue.wptr, VGPUSdmaQueue),
        VMSTATE_UINT32(exception, VGPUSdmaQueue),
        VMSTATE_BOOL(queue.poll_wptr, VGPUSdmaQueue),
        VMSTATE_SINGLE(mapped, VGPUSdmaQueue, 1, vmstate_info_uint32,
                       VGPUSdmaMapped),
        VMSTATE_BOOL(listed, VGPUSdmaQueue),
        VMSTATE_BOOL(fixed, VGPUSdmaQueue),
        VMSTATE_UINT64(mqd, VGPUSdmaQueue),
        VMSTATE_STRUCT(queue.exec, VGPUSdmaQueue, 1, vmstate_vgpu_exec,
                       VGPUExec),
        VMSTATE_END_OF_LIST()
    },
};

static int engine_post_load(void *opaque, int version_id)
{
    const VGPUSdmaEngine *e = opaque;

    return e->w.next <= SDMA_NUM_QUEUES ? 0 : -EINVAL;
}

static const VMStateDescription vmstate_vgpu_engine = {
    .name = "vgpu-kfd/engine",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = engine_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(w.next, VGPUSdmaEngine),
        VMSTATE_UINT64(clock_offset, VGPUSdmaEngine),
        VMSTATE_UINT32_ARRAY(regs, VGPUSdmaEngine, VGPU_SDMA_ENGINE_SPAN),
        VMSTATE_STRUCT_ARRAY(queues, VGPUSdmaEngine, SDMA_NUM_QUEUES, 1,
                             vmstate_vgpu_queue, VGPUSdmaQueue),
        VMSTATE_END_OF_LIST()
    },
};

/*
 * Return true if the saved state must contain exec.mem.stall.until, the time
 * when the queue's wait ends. Effects of injections are not saved, so return
 * false if the injection sdma-slow acts on the packet.
 */
static bool is_timed(const VGPUSdmaQueue *q)
{
    VGPUWait wait = q->queue.wait;

    return (wait == VGPU_WAIT_POLL || wait == VGPU_WAIT_RETRY) &&
           !q->injected.slow;
}

static int queue_times_pre_save(void *opaque)
{
    VGPUSdmaQueue *q = opaque;

    q->saved_until = is_timed(q) ? q->queue.exec.mem.stall.until : 0;
    return 0;
}

static int queue_times_post_load(void *opaque, int version_id)
{
    VGPUSdmaQueue *q = opaque;
    VGPUStall *stall = &q->queue.exec.mem.stall;

    if (q->queue.exec.began < BEGAN_MIN || q->saved_until < 0) {
        return -EINVAL;
    }
    if (q->saved_until) {
        stall->until = q->saved_until;
        q->queue.wait = stall->why;
        return is_timed(q) ? 0 : -EINVAL;
    }
    return 0;
}

/*
 * The times of a queue are in QEMU_CLOCK_VIRTUAL. QEMU migrates this clock, so
 * the times are valid after a load.
 */
static const VMStateDescription vmstate_queue_times = {
    .name = "vgpu-kfd/queue-times",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = queue_times_pre_save,
    .post_load = queue_times_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_INT64(saved_until, VGPUSdmaQueue),
        VMSTATE_INT64(queue.exec.began, VGPUSdmaQueue),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_engine_times = {
    .name = "vgpu-kfd/engine-times",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(queues, VGPUSdmaEngine, SDMA_NUM_QUEUES, 1,
                             vmstate_queue_times, VGPUSdmaQueue),
        VMSTATE_END_OF_LIST()
    },
};

static bool times_needed(void *opaque)
{
    const VGPUSdma *sdma = opaque;
    unsigned i, n;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        for (n = 0; n < SDMA_NUM_QUEUES; n++) {
            const VGPUSdmaQueue *q = &sdma->engines[i].queues[n];
            const VGPUExec *x = &q->queue.exec;

            if (is_timed(q) || (x->packet && x->polls)) {
                return true;
            }
        }
    }
    return false;
}

/*
 * One subsection holds all times. A subsection after each queue would be
 * unsafe: a load could mistake the next queue's guest-controlled registers for
 * a subsection.
 */
static const VMStateDescription vmstate_sdma_times = {
    .name = "vgpu-kfd/sdma/times",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = times_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(engines, VGPUSdma, SDMA_NUM_ENGINES, 1,
                             vmstate_engine_times, VGPUSdmaEngine),
        VMSTATE_END_OF_LIST()
    },
};

const VMStateDescription vmstate_vgpu_sdma = {
    .name = "vgpu-kfd/sdma",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(engines, VGPUSdma, SDMA_NUM_ENGINES, 1,
                             vmstate_vgpu_engine, VGPUSdmaEngine),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_sdma_times,
        NULL
    },
};
