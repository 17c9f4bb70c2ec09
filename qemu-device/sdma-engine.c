/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the threads of the SDMA engines and whose turn it is.
 *
 *         kick, enable           turn
 *   idle ---------------> ready --------> current
 *    ^                    ^   ^            |  | |
 *    |                    |   +------------+  | |
 *    |         wptr, time |    quantum over   | | stall
 *    |   acknowledgement, |                   | v
 *    |       invalidation +------------ waiting |
 *    +------------------------------------------+
 *                   nothing left
 *
 * A queue that is disabled stops at its next step and keeps its place; one
 * with an exception stays where it is until it was disabled.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/processor.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "vgpu/sdma_packets.h"
#include "vgpu-kfd.h"
#include "trace.h"

#define RING_MIN            256ull
#define RING_MAX            (1 * GiB)
/* A turn: so many bytes, and so many packets at most. */
#define TURN_BYTES          VGPU_CHUNK
#define TURN_PACKETS        1024

/*
 * Engines share the host's cores. One that is ahead of another that also has
 * work waits for it, but not for ever: it may be the host that keeps it.
 */
#define LEAD_KIB            (8 * KiB)
#define LEAD_WAIT_MS        1
#define LEAD_WAITS          100

/* What follows at once is waited for awake: to wake a thread takes longer. */
#define AWAKE_NS            (50 * SCALE_US)

bool vgpu_queue_enabled(const VGPUQueue *q)
{
    return qatomic_read(&q->regs[SDMA_RB_CNTL]) & SDMA_RB_CNTL__RB_ENABLE;
}

bool vgpu_queue_pending(const VGPUQueue *q)
{
    const VGPUExec *x = &q->exec;

    return x->packet || x->writeback || x->ib_depth || q->rptr != q->wptr;
}

void vgpu_queue_kick(VGPUEngine *e, VGPUQueue *q)
{
    if (q->wait == VGPU_WAIT_WPTR) {
        q->wait = VGPU_WAIT_NONE;
    }
    qatomic_set(&e->kicked, true);
    qemu_cond_signal(&e->wake);
}

void vgpu_queue_restart(VGPUEngine *e, VGPUQueue *q)
{
    if (e->current == q) {
        q->restart = true;
    } else {
        memset(&q->exec, 0, sizeof(q->exec));
        q->wait = VGPU_WAIT_NONE;
        qemu_cond_signal(&e->wake);
    }
}

/* Everything from here to the thread: e->lock held. */

static bool engine_runs(const VGPUEngine *e)
{
    return !e->quit && !e->paused && !e->hung &&
           !qatomic_read(&e->s->removed) &&
           !(qatomic_read(&e->regs[SDMA_FREEZE]) & SDMA_FREEZE__FREEZE) &&
           !(qatomic_read(&e->regs[SDMA_F32_CNTL]) &
             (SDMA_F32_CNTL__HALT | SDMA_F32_CNTL__RESET));
}

static void queue_error(VGPUEngine *e, VGPUQueue *q, uint32_t exception)
{
    unsigned vmid = q->exec.ring_vmid;
    unsigned n = q - e->queues;
    uint32_t data[4] = {
        exception == VGPU_SDMA_EXC_PACKET ? q->exec.dw[0] : 0, exception,
    };
    VGPUState *s = e->s;

    q->exception = exception;
    q->exec.packet = false;
    vgpu_count(s, VGPU_CNT_QUEUE_ERRORS, 1);
    trace_vgpu_queue_error(s->id, e->index, n, vmid, exception, data[0]);
    qemu_log_mask(LOG_GUEST_ERROR,
                  "%s: sdma%u queue %u (vmid %u) stops: %s, header 0x%08x, "
                  "rptr 0x%" PRIx64 " wptr 0x%" PRIx64 "\n",
                  s->id, e->index, n, vmid,
                  exception == VGPU_SDMA_EXC_RING ? "impossible ring" :
                  exception == VGPU_SDMA_EXC_POISON ? "poison" : "bad packet",
                  data[0], q->rptr, q->wptr);
    QEMU_LOCK_GUARD(&s->lock);
    vgpu_ih_push(s, IH_CLIENT_SDMA(e->index),
                 exception == VGPU_SDMA_EXC_POISON ? IH_SRC_SDMA_ECC
                                                   : IH_SRC_SDMA_ILLEGAL,
                 vgpu_queue_ih_ring(e, q), vmid, true, data);
}

/* Take over what registers say. False if the ring cannot be. */
static bool queue_load(VGPUEngine *e, VGPUQueue *q)
{
    uint32_t cntl = qatomic_read(&q->regs[SDMA_RB_CNTL]);
    VGPUExec *x = &q->exec;

    x->ring_base = (qatomic_read(&q->regs[SDMA_RB_BASE]) |
                    (uint64_t)qatomic_read(&q->regs[SDMA_RB_BASE_HI]) << 32)
                   << 8;
    x->ring_bytes = 4ull << VGPU_GET(cntl, SDMA_RB_CNTL__RB_SIZE);
    x->ring_vmid = VGPU_GET(cntl, SDMA_RB_CNTL__RB_VMID);
    x->priv = cntl & SDMA_RB_CNTL__RB_PRIV;
    x->rptr_writeback = cntl & SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE;
    x->rptr_addr = qatomic_read(&q->regs[SDMA_RB_RPTR_ADDR_LO]) |
                   (uint64_t)qatomic_read(&q->regs[SDMA_RB_RPTR_ADDR_HI]) << 32;
    x->trap_enable = qatomic_read(&e->regs[SDMA_CNTL]) & SDMA_CNTL__TRAP_ENABLE;
    x->rptr = q->rptr;
    x->wptr = q->wptr;
    x->mem.client = &e->client;
    x->mem.queue = q - e->queues;
    return x->ring_bytes >= RING_MIN && x->ring_bytes <= RING_MAX &&
           !(x->rptr & 3) && !(x->wptr & 3) &&
           x->wptr - x->rptr <= x->ring_bytes;
}

/* Is what the stalled queue waits for still to come? */
static bool stall_lasts(VGPUEngine *e, VGPUQueue *q)
{
    switch (q->exec.mem.stall.why) {
    case VGPU_WAIT_NONE:
        return false;
    case VGPU_WAIT_WPTR:
        return q->wptr == q->exec.wptr;
    case VGPU_WAIT_POLL:
    case VGPU_WAIT_REG:
        return true;
    default:
        return vgpu_fault_pending(e->s, &q->exec.mem.stall);
    }
}

/* Drops the lock while packets run. */
static void queue_run(VGPUEngine *e, VGPUQueue *q)
{
    VGPUStep step = VGPU_STEP_DONE;
    unsigned n;

    e->current = q;
    q->wait = VGPU_WAIT_NONE;
    q->exec.budget = TURN_BYTES;
    for (n = 0; n < TURN_PACKETS && q->exec.budget > 0 &&
         step == VGPU_STEP_DONE && engine_runs(e) &&
         vgpu_queue_enabled(q) && vgpu_queue_pending(q); n++) {
        if (!queue_load(e, q)) {
            step = VGPU_STEP_BAD_RING;
            break;
        }
        qemu_mutex_unlock(&e->lock);
        step = vgpu_packet_step(e, q);
        qemu_mutex_lock(&e->lock);
        if (q->restart) {
            q->restart = false;
            memset(&q->exec, 0, sizeof(q->exec));
            step = VGPU_STEP_AGAIN;
            break;
        }
        q->rptr = q->exec.rptr;
    }
    e->current = NULL;
    qatomic_set(&e->spent,
                e->spent + (TURN_BYTES - q->exec.budget) / KiB);

    switch (step) {
    case VGPU_STEP_BAD_PACKET:
        queue_error(e, q, VGPU_SDMA_EXC_PACKET);
        break;
    case VGPU_STEP_BAD_RING:
        queue_error(e, q, VGPU_SDMA_EXC_RING);
        break;
    case VGPU_STEP_HANG:
        e->hung = 1 + (q - e->queues);
        break;
    case VGPU_STEP_STALL:
        if (q->exec.mem.stall.why == VGPU_WAIT_POISON) {
            q->exec.mem.stall.why = VGPU_WAIT_NONE;
            queue_error(e, q, VGPU_SDMA_EXC_POISON);
            break;
        }
        /* Who would wake us may have come before we said that we wait. */
        if (stall_lasts(e, q)) {
            q->wait = q->exec.mem.stall.why;
        }
        if (q->wait == VGPU_WAIT_REG) {
            qemu_bh_schedule(e->reg_bh);
        }
        break;
    default:
        break;
    }
    qemu_cond_broadcast(&e->parked);
}

/* Can @q run now? If only later, *@next is lowered to that time. */
static bool queue_ready(VGPUEngine *e, VGPUQueue *q, int64_t now, int64_t *next)
{
    if (!vgpu_queue_enabled(q) || q->exception) {
        return false;
    }
    switch (q->wait) {
    case VGPU_WAIT_NONE:
        return vgpu_queue_pending(q);
    case VGPU_WAIT_POLL:
    case VGPU_WAIT_RETRY:
        if (now < q->exec.mem.stall.until) {
            *next = MIN(*next, q->exec.mem.stall.until);
            return false;
        }
        return true;
    default:
        return false;
    }
}

/* The next queue in turn that can run; NULL, and when to look again. */
static VGPUQueue *pick(VGPUEngine *e, int64_t now, int64_t *next)
{
    unsigned i;

    for (i = 0; i < SDMA_NUM_QUEUES && engine_runs(e); i++) {
        unsigned n = (e->next + i) % SDMA_NUM_QUEUES;

        if (queue_ready(e, &e->queues[n], now, next)) {
            e->next = n + 1;
            return &e->queues[n];
        }
    }
    return NULL;
}

/* Has @e got more than another engine with work? */
static bool engine_leads(VGPUEngine *e)
{
    unsigned i;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        const VGPUEngine *o = &e->s->engines[i];

        if (o != e && qatomic_read(&o->busy) &&
            (int)(e->spent - qatomic_read(&o->spent)) > (int)LEAD_KIB) {
            return true;
        }
    }
    return false;
}

/* An engine that was idle starts where the last of the others is. */
static void engine_set_busy(VGPUEngine *e, bool busy)
{
    bool alone = true;
    unsigned i;

    if (e->busy == busy) {
        return;
    }
    for (i = 0; i < SDMA_NUM_ENGINES && busy; i++) {
        const VGPUEngine *o = &e->s->engines[i];
        unsigned spent = qatomic_read(&o->spent);

        if (o != e && qatomic_read(&o->busy) &&
            (alone || (int)(spent - e->spent) < 0)) {
            qatomic_set(&e->spent, spent);
            alone = false;
        }
    }
    qatomic_set(&e->busy, busy);
}

/* Until @until, or something was kicked. Drops the lock. */
static void engine_watch(VGPUEngine *e, int64_t until)
{
    qatomic_set(&e->kicked, false);
    qemu_mutex_unlock(&e->lock);
    while (!qatomic_read(&e->kicked) &&
           qemu_clock_get_ns(QEMU_CLOCK_REALTIME) < until) {
        cpu_relax();
    }
    qemu_mutex_lock(&e->lock);
}

static void *engine_thread(void *opaque)
{
    VGPUEngine *e = opaque;
    int64_t awake = 0;
    unsigned waits = 0;

    rcu_register_thread();
    qemu_mutex_lock(&e->lock);
    while (!e->quit) {
        int64_t now = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
        int64_t next = INT64_MAX;
        VGPUQueue *q = pick(e, now, &next);

        if (!e->paused) {
            engine_set_busy(e, q);
        }
        if (q && engine_leads(e) && waits < LEAD_WAITS) {
            waits++;
            e->next = q - e->queues;
            qemu_cond_timedwait(&e->wake, &e->lock, LEAD_WAIT_MS);
        } else if (q) {
            waits = 0;
            queue_run(e, q);
            if (q->wait == VGPU_WAIT_NONE) {
                awake = qemu_clock_get_ns(QEMU_CLOCK_REALTIME) + AWAKE_NS;
            }
        } else if (now < awake && !e->paused) {
            engine_watch(e, MIN(awake, next));
        } else if (next == INT64_MAX) {
            qemu_cond_wait(&e->wake, &e->lock);
        } else {
            qemu_cond_timedwait(&e->wake, &e->lock,
                                DIV_ROUND_UP(next - now, SCALE_MS));
        }
    }
    qemu_mutex_unlock(&e->lock);
    rcu_unregister_thread();
    return NULL;
}

/* Wait until the thread has left its current queue: a chunk at most. */
static void engine_park(VGPUEngine *e)
{
    while (e->current) {
        qemu_cond_wait(&e->parked, &e->lock);
    }
}

/* VGPUClient.wake */
static void wake_faults(VGPUClient *c, uint32_t vmids, int slot)
{
    VGPUEngine *e = container_of(c, VGPUEngine, client);
    bool woken = false;
    unsigned n;

    QEMU_LOCK_GUARD(&e->lock);
    for (n = 0; n < SDMA_NUM_QUEUES; n++) {
        VGPUQueue *q = &e->queues[n];
        const VGPUStall *stall = &q->exec.mem.stall;

        if ((q->wait == VGPU_WAIT_CAM_FREE || q->wait == VGPU_WAIT_RETRY ||
             (q->wait == VGPU_WAIT_CAM && (slot < 0 || stall->cam == slot))) &&
            (vmids & (1u << stall->vmid))) {
            q->wait = VGPU_WAIT_NONE;
            woken = true;
        }
    }
    if (woken) {
        qemu_cond_signal(&e->wake);
    }
}

/*
 * Do the SRBM_WRITEs that queues wait for. What could forget a queue's work
 * (vgpu_queue_restart()) takes the BQL, as we do.
 */
static void reg_bh(void *opaque)
{
    VGPUEngine *e = opaque;
    VGPUState *s = e->s;
    unsigned n;

    for (n = 0; n < SDMA_NUM_QUEUES; n++) {
        VGPUQueue *q = &e->queues[n];
        uint32_t reg, val;
        bool due;

        WITH_QEMU_LOCK_GUARD(&e->lock) {
            due = q->wait == VGPU_WAIT_REG && vgpu_queue_enabled(q);
            reg = VGPU_GET(q->exec.dw[1], SDMA_SRBM_WRITE_DW1__REG);
            val = q->exec.dw[2];
        }
        if (!due) {
            continue;
        }
        trace_vgpu_srbm_write(s->id, e->index, n, reg, val);
        vgpu_reg_write(s, reg, val);
        WITH_QEMU_LOCK_GUARD(&e->lock) {
            q->exec.done = 1;
            q->wait = VGPU_WAIT_NONE;
            qemu_cond_signal(&e->wake);
        }
    }
}

void vgpu_engine_start(VGPUState *s)
{
    unsigned i;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        VGPUEngine *e = &s->engines[i];
        g_autofree char *name = g_strdup_printf("vgpu-sdma%u", i);

        e->s = s;
        e->index = i;
        e->quit = false;
        vgpu_client_init(s, &e->client, i, VGPU_HUB_MM, VGPU_CID_SDMA(i),
                         wake_faults);
        e->reg_bh = qemu_bh_new_guarded(reg_bh, e,
                                        &DEVICE(s)->mem_reentrancy_guard);
        qemu_mutex_init(&e->lock);
        qemu_cond_init(&e->wake);
        qemu_cond_init(&e->parked);
        qemu_thread_create(&e->thread, name, engine_thread, e,
                           QEMU_THREAD_JOINABLE);
    }
}

void vgpu_engine_stop(VGPUState *s)
{
    unsigned i;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        VGPUEngine *e = &s->engines[i];

        WITH_QEMU_LOCK_GUARD(&e->lock) {
            e->quit = true;
            qemu_cond_signal(&e->wake);
        }
        qemu_thread_join(&e->thread);
        qemu_bh_delete(e->reg_bh);
        qemu_cond_destroy(&e->parked);
        qemu_cond_destroy(&e->wake);
        qemu_mutex_destroy(&e->lock);
        vgpu_client_destroy(&e->client);
    }
}

void vgpu_engine_reset(VGPUState *s, unsigned engine)
{
    VGPUEngine *e = &s->engines[engine];
    unsigned n;

    QEMU_LOCK_GUARD(&e->lock);
    for (n = 0; n < SDMA_NUM_QUEUES; n++) {
        qatomic_set(&e->queues[n].regs[SDMA_RB_CNTL], 0);
    }
    engine_park(e);
    memset(e->queues, 0, sizeof(e->queues));
    e->hung = 0;
    e->next = 0;
    e->clock_offset = 0;
}

void vgpu_engine_pause(VGPUState *s, bool paused)
{
    unsigned i;

    for (i = 0; i < SDMA_NUM_ENGINES; i++) {
        VGPUEngine *e = &s->engines[i];

        QEMU_LOCK_GUARD(&e->lock);
        e->paused = paused;
        qemu_cond_signal(&e->wake);
    }
    /* Not before all were told: those that run on would be ahead. */
    for (i = 0; i < SDMA_NUM_ENGINES && paused; i++) {
        VGPUEngine *e = &s->engines[i];

        QEMU_LOCK_GUARD(&e->lock);
        engine_park(e);
    }
}

void vgpu_engine_hold(VGPUEngine *e)
{
    bool paused;

    qemu_mutex_lock(&e->lock);
    paused = e->paused;
    e->paused = true;
    engine_park(e);
    /* From here it is the lock that holds the thread. */
    e->paused = paused;
}

void vgpu_engine_release(VGPUEngine *e)
{
    qemu_cond_signal(&e->wake);
    qemu_mutex_unlock(&e->lock);
}
