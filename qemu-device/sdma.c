/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: SDMA engines: registers, queues, scheduling. What packets do is in
 * sdma-packet.c.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/timer.h"
#include "vgpu-kfd.h"
#include "trace.h"

#define SDMA_ENGINE_SPAN    0x400
#define SDMA_RING_MIN       256ull
#define SDMA_RING_MAX       (1ull << 30)
#define SDMA_QUANTUM        32          /* packets before others get a turn */

static uint32_t *qreg(VGPUQueue *q, unsigned off)
{
    return &q->regs[off];
}

/* There is something under way, or something new in the ring. */
static bool queue_pending(const VGPUQueue *q)
{
    return q->exec.valid || q->exec.writeback || q->exec.ib_depth ||
           q->rptr != q->wptr;
}

static bool queue_enabled(const VGPUQueue *q)
{
    return q->regs[SDMA_RB_CNTL] & SDMA_RB_CNTL__RB_ENABLE;
}

uint64_t vgpu_sdma_ring_bytes(const VGPUQueue *q)
{
    return 4ull << VGPU_GET(q->regs[SDMA_RB_CNTL], SDMA_RB_CNTL__RB_SIZE);
}

/* e->lock held. The queue has something to do now. */
static bool queue_ready(VGPUSdma *e, VGPUQueue *q, int64_t now, int64_t *next)
{
    if (!queue_enabled(q) || q->exception || q->running) {
        return false;
    }
    switch (q->wait) {
    case VGPU_WAIT_NONE:
        return queue_pending(q);
    case VGPU_WAIT_TIMER:
        if (now >= q->exec.poll_at) {
            return true;
        }
        *next = MIN(*next, q->exec.poll_at);
        return false;
    default:
        return false;
    }
}

static void queue_error(VGPUSdma *e, VGPUQueue *q, uint32_t exception)
{
    unsigned vmid = VGPU_GET(q->regs[SDMA_RB_CNTL], SDMA_RB_CNTL__RB_VMID);
    uint32_t data[4] = { q->exec.valid ? q->exec.dw[0] : 0, exception };
    VGPUState *s = e->s;

    q->exception = exception;
    vgpu_count(s, VGPU_CNT_QUEUE_ERRORS, 1);
    trace_vgpu_queue_error(s->id, e->index, q - e->queues, vmid, exception,
                           data[0]);
    qemu_log_mask(LOG_GUEST_ERROR,
                  "%s: sdma%u queue %d (vmid %u) stops: %s, header 0x%08x, "
                  "rptr 0x%" PRIx64 " wptr 0x%" PRIx64 "\n",
                  s->id, e->index, (int)(q - e->queues), vmid,
                  exception == VGPU_SDMA_EXC_RING ? "impossible ring"
                                                  : "bad packet",
                  data[0], q->rptr, q->wptr);
    QEMU_LOCK_GUARD(&s->lock);
    vgpu_ih_push(s, IH_CLIENT_SDMA0 + e->index, IH_SRC_SDMA_ILLEGAL,
                 q - e->queues, vmid, true, data);
}

/* e->lock held, dropped while packets run. */
static void queue_run(VGPUSdma *e, VGPUQueue *q)
{
    uint64_t bytes = vgpu_sdma_ring_bytes(q);
    VGPUStep step = VGPU_STEP_DONE;
    unsigned n;

    if (bytes < SDMA_RING_MIN || bytes > SDMA_RING_MAX ||
        (q->wptr & 3) || (q->rptr & 3) || q->wptr - q->rptr > bytes) {
        queue_error(e, q, VGPU_SDMA_EXC_RING);
        return;
    }

    q->running = true;
    q->wait = VGPU_WAIT_NONE;
    for (n = 0; n < SDMA_QUANTUM; n++) {
        if (!queue_pending(q)) {
            break;
        }
        qemu_mutex_unlock(&e->lock);
        step = vgpu_sdma_step(e, q);
        qemu_mutex_lock(&e->lock);
        if (step != VGPU_STEP_DONE || qatomic_read(&q->stop)) {
            break;
        }
        if (q->wptr - q->rptr > bytes) {
            queue_error(e, q, VGPU_SDMA_EXC_RING);
            break;
        }
    }
    if (step == VGPU_STEP_BAD) {
        queue_error(e, q, VGPU_SDMA_EXC_PACKET);
        q->exec.valid = false;
    } else if (step == VGPU_STEP_EMPTY && q->wait == VGPU_WAIT_NONE) {
        /* Wait for the doorbell: nothing to do before wptr moves. */
        q->wait = VGPU_WAIT_WPTR;
    } else if (step == VGPU_STEP_WAIT && q->wait == VGPU_WAIT_CAM &&
               !vgpu_gmc_cam_holds(e->s, q->cam, q->cam_serial)) {
        q->wait = VGPU_WAIT_NONE;       /* acknowledged meanwhile */
    }
    if (q->wait != VGPU_WAIT_NONE && q->gen_seen !=
        qatomic_read(&e->s->gen[VGPU_GET(q->regs[SDMA_RB_CNTL],
                                         SDMA_RB_CNTL__RB_VMID)]) &&
        (q->wait == VGPU_WAIT_CAM || q->wait == VGPU_WAIT_CAM_FREE)) {
        q->wait = VGPU_WAIT_NONE;       /* invalidated meanwhile */
    }
    q->running = false;
    qatomic_set(&q->stop, false);
    if (q->reload) {
        q->reload = false;
        memset(&q->exec, 0, sizeof(q->exec));
    }
    qemu_cond_broadcast(&e->cond);
}

static void *sdma_thread(void *opaque)
{
    VGPUSdma *e = opaque;

    qemu_mutex_lock(&e->lock);
    while (!e->quit) {
        int64_t now = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
        int64_t next = INT64_MAX;
        VGPUQueue *q = NULL;
        unsigned i;

        e->frozen = e->regs[SDMA_FREEZE] & SDMA_FREEZE__FREEZE;
        if (!e->frozen && !(e->regs[SDMA_F32_CNTL] & SDMA_F32_CNTL__HALT)) {
            for (i = 0; i < SDMA_NUM_QUEUES && !q; i++) {
                unsigned n = (e->next + i) % SDMA_NUM_QUEUES;

                if (queue_ready(e, &e->queues[n], now, &next)) {
                    q = &e->queues[n];
                    e->next = n + 1;
                }
            }
        }
        if (q) {
            queue_run(e, q);
        } else if (next == INT64_MAX) {
            qemu_cond_wait(&e->cond, &e->lock);
        } else {
            /* Round up: a poll never comes early. */
            qemu_cond_timedwait(&e->cond, &e->lock,
                                (next - now) / SCALE_MS + 1);
        }
    }
    qemu_mutex_unlock(&e->lock);
    return NULL;
}

void vgpu_sdma_start(VGPUState *s)
{
    unsigned i;

    for (i = 0; i < VGPU_NUM_SDMA; i++) {
        VGPUSdma *e = &s->sdma[i];
        g_autofree char *name = g_strdup_printf("vgpu-sdma%u", i);

        e->s = s;
        e->index = i;
        e->quit = false;
        e->tlb = g_new0(VGPUTlbEntry, VGPU_TLB_SETS);
        qemu_mutex_init(&e->lock);
        qemu_cond_init(&e->cond);
        qemu_thread_create(&e->thread, name, sdma_thread, e,
                           QEMU_THREAD_JOINABLE);
    }
}

void vgpu_sdma_stop(VGPUState *s)
{
    unsigned i, n;

    for (i = 0; i < VGPU_NUM_SDMA; i++) {
        VGPUSdma *e = &s->sdma[i];

        WITH_QEMU_LOCK_GUARD(&e->lock) {
            e->quit = true;
            for (n = 0; n < SDMA_NUM_QUEUES; n++) {
                qatomic_set(&e->queues[n].stop, true);
            }
            qemu_cond_broadcast(&e->cond);
        }
        qemu_thread_join(&e->thread);
        qemu_cond_destroy(&e->cond);
        qemu_mutex_destroy(&e->lock);
        g_free(e->tlb);
    }
}

/* e->lock held. Wait until the thread is out of @q: a chunk at most. */
static void queue_quiesce(VGPUSdma *e, VGPUQueue *q)
{
    while (q->running) {
        qatomic_set(&q->stop, true);
        qemu_cond_wait(&e->cond, &e->lock);
    }
}

void vgpu_sdma_reset(VGPUState *s)
{
    unsigned i, n;

    for (i = 0; i < VGPU_NUM_SDMA; i++) {
        VGPUSdma *e = &s->sdma[i];

        QEMU_LOCK_GUARD(&e->lock);
        for (n = 0; n < SDMA_NUM_QUEUES; n++) {
            e->queues[n].regs[SDMA_RB_CNTL] = 0;
        }
        for (n = 0; n < SDMA_NUM_QUEUES; n++) {
            queue_quiesce(e, &e->queues[n]);
            memset(&e->queues[n], 0, sizeof(e->queues[n]));
        }
        memset(e->regs, 0, sizeof(e->regs));
    }
}

static bool sdma_decode(uint32_t reg, unsigned *engine, int *queue,
                        unsigned *off)
{
    unsigned i;

    for (i = 0; i < VGPU_NUM_SDMA; i++) {
        uint32_t base = SDMA_ENGINE(i);

        if (reg < base || reg >= base + SDMA_ENGINE_SPAN) {
            continue;
        }
        *engine = i;
        *off = reg - base;
        *queue = -1;
        if (*off >= SDMA_QUEUE(0)) {
            *queue = (*off - SDMA_QUEUE(0)) / (SDMA_QUEUE(1) - SDMA_QUEUE(0));
            *off = (*off - SDMA_QUEUE(0)) % (SDMA_QUEUE(1) - SDMA_QUEUE(0));
            return *queue < SDMA_NUM_QUEUES;
        }
        return true;
    }
    return false;
}

static uint32_t context_status(VGPUSdma *e, VGPUQueue *q)
{
    bool idle = !q->running &&
                (!queue_enabled(q) || q->exception ||
                 !queue_pending(q));
    uint32_t val = SDMA_CONTEXT_STATUS__CTXSW_ABLE;

    if (idle) {
        val |= SDMA_CONTEXT_STATUS__IDLE;
    }
    if (q->running) {
        val |= SDMA_CONTEXT_STATUS__SELECTED;
    }
    return VGPU_SET(val, SDMA_CONTEXT_STATUS__EXCEPTION, q->exception);
}

bool vgpu_sdma_read(VGPUState *s, uint32_t reg, uint32_t *val)
{
    unsigned engine, off;
    VGPUSdma *e;
    VGPUQueue *q;
    int queue;

    if (!sdma_decode(reg, &engine, &queue, &off)) {
        return false;
    }
    e = &s->sdma[engine];
    QEMU_LOCK_GUARD(&e->lock);
    if (queue < 0) {
        *val = e->regs[off];
        if (off == SDMA_FREEZE) {
            *val = VGPU_SET(*val, SDMA_FREEZE__FROZEN, (uint32_t)e->frozen);
        } else if (off == SDMA_STATUS_REG) {
            unsigned n;

            *val = SDMA_STATUS_REG__IDLE;
            for (n = 0; n < SDMA_NUM_QUEUES; n++) {
                if (!(context_status(e, &e->queues[n]) &
                      SDMA_CONTEXT_STATUS__IDLE)) {
                    *val = 0;
                }
            }
        }
        return true;
    }
    q = &e->queues[queue];
    switch (off) {
    case SDMA_RB_RPTR:
        *val = q->rptr;
        break;
    case SDMA_RB_RPTR_HI:
        *val = q->rptr >> 32;
        break;
    case SDMA_RB_WPTR:
        *val = q->wptr;
        break;
    case SDMA_RB_WPTR_HI:
        *val = q->wptr >> 32;
        break;
    case SDMA_CONTEXT_STATUS:
        *val = context_status(e, q);
        break;
    default:
        *val = q->regs[off];
        break;
    }
    return true;
}

/* e->lock held: wptr moved. */
static void queue_kick(VGPUSdma *e, VGPUQueue *q)
{
    if (q->wait == VGPU_WAIT_WPTR) {
        q->wait = VGPU_WAIT_NONE;
    }
    qemu_cond_broadcast(&e->cond);
}

/* e->lock held: the driver says where to go on; forget what was under way. */
static void queue_restart(VGPUQueue *q)
{
    if (q->running) {
        q->reload = true;
    } else {
        memset(&q->exec, 0, sizeof(q->exec));
        q->wait = VGPU_WAIT_NONE;
    }
}

static void queue_write(VGPUSdma *e, VGPUQueue *q, unsigned off, uint32_t val)
{
    uint32_t old = q->regs[off];

    switch (off) {
    case SDMA_RB_CNTL:
        q->regs[off] = val;
        trace_vgpu_queue(e->s->id, e->index, q - e->queues, val, q->rptr,
                         q->wptr);
        if (!(val & SDMA_RB_CNTL__RB_ENABLE)) {
            q->exception = 0;
            if (q->running) {
                qatomic_set(&q->stop, true);
            }
        } else if (!(old & SDMA_RB_CNTL__RB_ENABLE)) {
            if (q->wait == VGPU_WAIT_WPTR || q->wait == VGPU_WAIT_CAM_FREE ||
                q->wait == VGPU_WAIT_CAM) {
                q->wait = VGPU_WAIT_NONE;   /* look again */
            }
            qemu_cond_broadcast(&e->cond);
        }
        break;
    case SDMA_RB_BASE:
    case SDMA_RB_BASE_HI:
        q->regs[off] = val;
        queue_restart(q);
        break;
    case SDMA_RB_RPTR:
        q->rptr = deposit64(q->rptr, 0, 32, val);
        queue_restart(q);
        break;
    case SDMA_RB_RPTR_HI:
        q->rptr = deposit64(q->rptr, 32, 32, val);
        queue_restart(q);
        break;
    case SDMA_RB_WPTR:
        q->wptr = deposit64(q->wptr, 0, 32, val);
        queue_kick(e, q);
        break;
    case SDMA_RB_WPTR_HI:
        q->wptr = deposit64(q->wptr, 32, 32, val);
        queue_kick(e, q);
        break;
    case SDMA_CONTEXT_STATUS:
    case SDMA_STATUS:
    case SDMA_DOORBELL_LOG:
        break;                          /* read-only */
    case SDMA_DOORBELL:
        q->regs[off] = val & SDMA_DOORBELL__ENABLE;
        break;
    case SDMA_DOORBELL_OFFSET:
        q->regs[off] = val & SDMA_DOORBELL_OFFSET__OFFSET;
        break;
    default:
        *qreg(q, off) = val;
        break;
    }
}

bool vgpu_sdma_write(VGPUState *s, uint32_t reg, uint32_t val)
{
    unsigned engine, off;
    VGPUSdma *e;
    int queue;

    if (!sdma_decode(reg, &engine, &queue, &off)) {
        return false;
    }
    e = &s->sdma[engine];
    QEMU_LOCK_GUARD(&e->lock);
    if (queue >= 0) {
        queue_write(e, &e->queues[queue], off, val);
        return true;
    }
    switch (off) {
    case SDMA_STATUS_REG:
    case SDMA_VERSION:
        break;
    case SDMA_FREEZE:
    case SDMA_F32_CNTL:
        e->regs[off] = val;
        qemu_cond_broadcast(&e->cond);
        break;
    default:
        e->regs[off] = val;
        break;
    }
    return true;
}

bool vgpu_sdma_doorbell(VGPUState *s, unsigned engine, uint32_t offset,
                        uint64_t val, unsigned size)
{
    VGPUSdma *e = &s->sdma[engine];
    unsigned i;

    QEMU_LOCK_GUARD(&e->lock);
    for (i = 0; i < SDMA_NUM_QUEUES; i++) {
        VGPUQueue *q = &e->queues[i];

        if (!(q->regs[SDMA_DOORBELL] & SDMA_DOORBELL__ENABLE) ||
            q->regs[SDMA_DOORBELL_OFFSET] != offset) {
            continue;
        }
        q->wptr = size == 8 ? val : deposit64(q->wptr, 0, 32, val);
        q->regs[SDMA_DOORBELL] |= SDMA_DOORBELL__CAPTURED;
        trace_vgpu_doorbell(s->id, engine, i, offset, q->wptr);
        queue_kick(e, q);
        return true;
    }
    return false;
}

void vgpu_sdma_wake_cam(VGPUState *s, uint32_t slot)
{
    unsigned i, n;

    for (i = 0; i < VGPU_NUM_SDMA; i++) {
        VGPUSdma *e = &s->sdma[i];

        QEMU_LOCK_GUARD(&e->lock);
        for (n = 0; n < SDMA_NUM_QUEUES; n++) {
            VGPUQueue *q = &e->queues[n];

            if ((q->wait == VGPU_WAIT_CAM && q->cam == slot) ||
                q->wait == VGPU_WAIT_CAM_FREE) {
                q->wait = VGPU_WAIT_NONE;
            }
        }
        qemu_cond_broadcast(&e->cond);
    }
}

void vgpu_sdma_wake_vmids(VGPUState *s, uint32_t vmids)
{
    unsigned i, n;

    for (i = 0; i < VGPU_NUM_SDMA; i++) {
        VGPUSdma *e = &s->sdma[i];
        bool woken = false;

        QEMU_LOCK_GUARD(&e->lock);
        for (n = 0; n < SDMA_NUM_QUEUES; n++) {
            VGPUQueue *q = &e->queues[n];
            unsigned vmid = VGPU_GET(q->regs[SDMA_RB_CNTL],
                                     SDMA_RB_CNTL__RB_VMID);

            if ((vmids & (1u << vmid)) &&
                (q->wait == VGPU_WAIT_CAM || q->wait == VGPU_WAIT_CAM_FREE)) {
                q->wait = VGPU_WAIT_NONE;
                woken = true;
            }
        }
        if (woken) {
            qemu_cond_broadcast(&e->cond);
        }
    }
}
