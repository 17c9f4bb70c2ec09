/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: start, end and reset of the SDMA engines, and their VGPUWorkerOps
 * and VGPUQueueOps.
 *
 * A disabled queue stops after the current step and keeps its progress. A queue
 * with an exception stays stopped until that queue is disabled and enabled.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "vgpu/sdma_packets.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/sdma/internal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

#define RING_MIN            256ull
#define RING_MAX            (1 * GiB)
/* Limits of a time slice: bytes of payload, and number of packets. */
#define TIMESLICE_BYTES     (2 * MiB)
#define TIMESLICE_PACKETS   1024
/* Maximum number of packets that a doorbell executes itself. */
#define INLINE_PACKETS      16

bool vgpu_sdma_enabled(const VGPUSdmaQueue *q)
{
    return qatomic_read(&q->regs[SDMA_RB_CNTL]) & SDMA_RB_CNTL__RB_ENABLE;
}

static VGPUSdmaEngine *sdma_engine_of(VGPUWorker *w)
{
    return container_of(w, VGPUSdmaEngine, w);
}

/*
 * The caller of the functions from here to sdma_engine_ops holds the worker's
 * lock. Exception: the caller of sdma_queue_step() holds no lock.
 */

static bool sdma_engine_runnable(const VGPUSdmaEngine *e)
{
    return vgpu_worker_may_run(&e->w) && !e->hung &&
           !(qatomic_read(&e->regs[SDMA_FREEZE]) & SDMA_FREEZE__FREEZE) &&
           !(qatomic_read(&e->regs[SDMA_F32_CNTL]) &
             (SDMA_F32_CNTL__HALT | SDMA_F32_CNTL__RESET));
}

static void sdma_queue_error(VGPUSdmaEngine *e, VGPUSdmaQueue *q,
                             uint32_t exception)
{
    VGPUExec *x = &q->queue.exec;
    unsigned vmid = x->ring_vmid;
    unsigned n = vgpu_sdma_queue_number(e, q);
    uint32_t data[4] = {
        exception == VGPU_SDMA_EXC_PACKET ? x->dw[0] : 0, exception,
    };
    VGPUState *s = e->s;

    q->exception = exception;
    x->packet = false;
    vgpu_count(s, VGPU_CNT_QUEUE_ERRORS, 1);
    trace_vgpu_queue_error(s->id, e->index, n, vmid, exception, data[0]);
    qemu_log_mask(LOG_GUEST_ERROR,
                  "%s: sdma%u queue %u (vmid %u) stops: %s, header 0x%08x, "
                  "rptr 0x%" PRIx64 " wptr 0x%" PRIx64 "\n",
                  s->id, e->index, n, vmid,
                  exception == VGPU_SDMA_EXC_RING ? "invalid ring" :
                  exception == VGPU_SDMA_EXC_POISON ? "poison" : "bad packet",
                  data[0], q->queue.rptr, q->queue.wptr);
    QEMU_LOCK_GUARD(&s->lock);
    vgpu_ih_push(s, IH_CLIENT_SDMA(e->index),
                 exception == VGPU_SDMA_EXC_POISON ? IH_SRC_SDMA_ECC
                                                   : IH_SRC_SDMA_ILLEGAL,
                 vgpu_sdma_ih_ring(n), vmid, true, data);
}

static bool sdma_queue_load(VGPUWorker *w, unsigned n)
{
    VGPUSdmaEngine *e = sdma_engine_of(w);
    const VGPUSdmaQueue *q = &e->queues[n];
    uint32_t cntl = qatomic_read(&q->regs[SDMA_RB_CNTL]);
    VGPUExec *x = &e->queues[n].queue.exec;

    x->ring_base = (qatomic_read(&q->regs[SDMA_RB_BASE]) |
                    (uint64_t)qatomic_read(&q->regs[SDMA_RB_BASE_HI]) << 32)
                   << 8;
    x->ring_dwords = 1ull << VGPU_GET(cntl, SDMA_RB_CNTL__RB_SIZE);
    x->ptr_shift = 2;
    x->ring_vmid = VGPU_GET(cntl, SDMA_RB_CNTL__RB_VMID);
    x->priv = cntl & SDMA_RB_CNTL__RB_PRIV;
    x->rptr_writeback = cntl & SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE;
    x->rptr_addr = qatomic_read(&q->regs[SDMA_RB_RPTR_ADDR_LO]) |
                   (uint64_t)qatomic_read(&q->regs[SDMA_RB_RPTR_ADDR_HI]) << 32;
    x->wptr_addr = qatomic_read(&q->regs[SDMA_RB_WPTR_POLL_ADDR_LO]) |
                   (uint64_t)qatomic_read(&q->regs[SDMA_RB_WPTR_POLL_ADDR_HI])
                   << 32;
    x->mem.client = &e->client;
    x->mem.queue = n;
    return x->ring_dwords * 4 >= RING_MIN && x->ring_dwords * 4 <= RING_MAX &&
           !(x->rptr & 3) &&
           /*
            * An invalid wptr from the MQD is allowed if the next step reads
            * wptr from memory.
            */
           (x->poll_wptr ||
            (!(x->wptr & 3) && x->wptr - x->rptr <= x->ring_dwords * 4));
}

static VGPUStep sdma_queue_step(VGPUWorker *w, unsigned n)
{
    VGPUSdmaEngine *e = sdma_engine_of(w);

    return vgpu_sdma_packet_step(e, &e->queues[n].queue);
}

static void sdma_queue_stopped(VGPUWorker *w, unsigned n, VGPUStep step)
{
    VGPUSdmaEngine *e = sdma_engine_of(w);
    VGPUSdmaQueue *q = &e->queues[n];

    switch (step) {
    case VGPU_STEP_HANG:
        e->hung = 1 + n;
        break;
    case VGPU_STEP_POISON:
        sdma_queue_error(e, q, VGPU_SDMA_EXC_POISON);
        break;
    case VGPU_STEP_BAD_RING:
        sdma_queue_error(e, q, VGPU_SDMA_EXC_RING);
        break;
    default:
        sdma_queue_error(e, q, VGPU_SDMA_EXC_PACKET);
        break;
    }
}

static const VGPUQueueOps sdma_queue_ops = {
    .steps = TIMESLICE_PACKETS,
    .budget = TIMESLICE_BYTES,
    .load = sdma_queue_load,
    .step = sdma_queue_step,
    .stopped = sdma_queue_stopped,
};

static void sdma_queue_timeslice(VGPUWorker *w, unsigned n)
{
    VGPUSdmaEngine *e = sdma_engine_of(w);

    vgpu_queue_timeslice(w, n, &sdma_queue_ops);
    vgpu_sdma_share_charge(
        e, (TIMESLICE_BYTES - e->queues[n].queue.exec.budget) / KiB);
}

/*
 * The work is not charged to the engine: an engine whose thread sleeps is not
 * busy, and an engine that becomes busy gets the charge of the others.
 */
static void sdma_queue_short_timeslice(VGPUWorker *w, unsigned n)
{
    vgpu_queue_run(w, n, &sdma_queue_ops, INLINE_PACKETS,
                   MIN(w->s->inline_bytes, TIMESLICE_BYTES));
}

static VGPUQueue *sdma_queue_at(VGPUWorker *w, unsigned n)
{
    return &sdma_engine_of(w)->queues[n].queue;
}

static bool sdma_queue_runnable(VGPUWorker *w, unsigned n)
{
    VGPUSdmaEngine *e = sdma_engine_of(w);
    const VGPUSdmaQueue *q = &e->queues[n];

    return sdma_engine_runnable(e) && vgpu_sdma_enabled(q) && !q->exception;
}

static bool sdma_queue_pending(VGPUWorker *w, unsigned n)
{
    return vgpu_queue_pending(&sdma_engine_of(w)->queues[n].queue);
}

static void sdma_queue_trace_reg(VGPUWorker *w, unsigned n, uint32_t reg,
                                 uint32_t val)
{
    trace_vgpu_srbm_write(w->s->id, sdma_engine_of(w)->index, n, reg, val);
}

static bool sdma_engine_yield(VGPUWorker *w)
{
    return vgpu_sdma_share_yield(sdma_engine_of(w));
}

static void sdma_engine_busy(VGPUWorker *w, bool busy)
{
    vgpu_sdma_share_set_busy(sdma_engine_of(w), busy);
}

static const VGPUWorkerOps sdma_engine_ops = {
    .num_queues = SDMA_NUM_QUEUES,
    .spin = true,
    .queue = sdma_queue_at,
    .runnable = sdma_queue_runnable,
    .pending = sdma_queue_pending,
    .timeslice = sdma_queue_timeslice,
    .short_timeslice = sdma_queue_short_timeslice,
    .trace_reg = sdma_queue_trace_reg,
    .busy = sdma_engine_busy,
    .yield = sdma_engine_yield,
};

void vgpu_sdma_alloc(VGPUState *s)
{
    s->sdma = g_new0(VGPUSdma, 1);
    qemu_mutex_init(&s->sdma->share_lock);
    qemu_cond_init(&s->sdma->share_changed);
}

void vgpu_sdma_free(VGPUState *s)
{
    qemu_cond_destroy(&s->sdma->share_changed);
    qemu_mutex_destroy(&s->sdma->share_lock);
    g_free(s->sdma);
}

void vgpu_sdma_start(VGPUState *s)
{
    unsigned i;

    vgpu_sdma_share_set_off(s->sdma, false);
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        VGPUSdmaEngine *e = &s->sdma->engines[i];
        g_autofree char *name = g_strdup_printf("vgpu-sdma%u", i);

        e->s = s;
        e->index = i;
        vgpu_client_init(s, &e->client, i, VGPU_HUB_MM, VGPU_CID_SDMA(i),
                         &vgpu_worker_client_ops);
        vgpu_worker_start(&e->w, s, &sdma_engine_ops, i, name);
    }
}

void vgpu_sdma_stop(VGPUState *s)
{
    unsigned i;

    vgpu_sdma_share_set_off(s->sdma, true);
    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        vgpu_worker_stop(&s->sdma->engines[i].w);
    }
}

void vgpu_sdma_destroy(VGPUState *s)
{
    unsigned i;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        vgpu_worker_destroy(&s->sdma->engines[i].w);
        vgpu_client_destroy(&s->sdma->engines[i].client);
    }
}

void vgpu_sdma_engine_reset(VGPUState *s, unsigned engine)
{
    VGPUSdmaEngine *e = &s->sdma->engines[engine];

    memset(e->queues, 0, sizeof(e->queues));
    e->hung = 0;
    e->w.next = 0;
    e->clock_offset = 0;
}

void vgpu_sdma_hold(VGPUState *s)
{
    unsigned i;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        vgpu_worker_hold(&s->sdma->engines[i].w);
    }
}

void vgpu_sdma_release(VGPUState *s)
{
    unsigned i;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        vgpu_worker_release(&s->sdma->engines[i].w);
    }
}

void vgpu_sdma_pause(VGPUState *s, bool paused)
{
    unsigned i;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        vgpu_worker_pause(&s->sdma->engines[i].w, paused);
    }
    /*
     * Wait only now, in a second loop. If the first loop waited for each
     * engine, the other engines would run on and exceed their shares (share.c).
     */
    for (i = 0; i < SDMA_NUM_ENGINES && paused; i++) {
        VGPUWorker *w = &s->sdma->engines[i].w;

        QEMU_LOCK_GUARD(&w->lock);
        vgpu_worker_park(w);
    }
}
