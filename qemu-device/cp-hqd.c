/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: hardware queue descriptors of the MECs: the thread that serves
 * them and whose turn it is.
 *
 * A queue is ready while it is active and has something to do, current while
 * the thread is at it, and waiting if it stalled; only that queue waits. A
 * dequeue takes effect between two steps of a packet. An unfinished packet is
 * then forgotten: rptr is at its start, and it begins again with the queue.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "cp.h"
#include "trace.h"

#define TURN_STEPS      256
#define RING_LOG2_MAX   27              /* dwords */

/* Everything from here to the thread: cp->lock held. */

bool vgpu_cp_queue_active(const CpQueue *q)
{
    return qatomic_read(&q->regs[CP_HQD_ACTIVE]) & CP_HQD_ACTIVE__ACTIVE;
}

static uint64_t ring_dwords(const CpQueue *q)
{
    uint32_t log2 = 1 + VGPU_GET(qatomic_read(&q->regs[CP_HQD_PQ_CONTROL]),
                                 CP_HQD_PQ_CONTROL__QUEUE_SIZE);

    return 1ull << MIN(log2, RING_LOG2_MAX);
}

void vgpu_cp_queue_kick(VGPUCp *cp, CpQueue *q)
{
    if (q->wait == VGPU_WAIT_WPTR) {
        q->wait = VGPU_WAIT_NONE;
    }
    qemu_cond_signal(&cp->wake);
}

void vgpu_cp_queue_start(VGPUCp *cp, CpQueue *q)
{
    CpExec *x = &q->exec;
    uint32_t ib = q->regs[CP_HQD_IB_CONTROL];
    uint32_t vmid = q->regs[CP_HQD_VMID];

    memset(x, 0, sizeof(*x));
    q->wptr = cp_hqd64(q, CP_HQD_PQ_WPTR_LO);
    q->rptr = q->wptr - ((q->wptr - q->regs[CP_HQD_PQ_RPTR]) &
                         (ring_dwords(q) - 1));
    if (ib & CP_HQD_IB_CONTROL__PROCESSING_IB) {
        x->in_ib = true;
        x->ib = (VGPUIndirect) {
            .base = cp_hqd64(q, CP_HQD_IB_BASE_ADDR) & ~3ull,
            .size = VGPU_GET(ib, CP_HQD_IB_CONTROL__IB_SIZE),
            .vmid = VGPU_GET(vmid, CP_HQD_VMID__IB_VMID),
        };
        x->ib.pos = MIN(q->regs[CP_HQD_IB_RPTR], x->ib.size);
    }
    q->phase = q->regs[CP_HQD_HQ_STATUS1];
    q->error = false;
    q->dequeue = false;
    q->wait = VGPU_WAIT_NONE;
    qatomic_set(&q->regs[CP_HQD_DEQUEUE_REQUEST], 0);
    trace_vgpu_cp_start(cp->s->id, cp_number(cp, q),
                        VGPU_GET(vmid, CP_HQD_VMID__VMID), q->rptr, q->wptr);
    qemu_cond_signal(&cp->wake);
}

/* The queue leaves: registers tell where it was. */
static void queue_stop(VGPUCp *cp, CpQueue *q)
{
    CpExec *x = &q->exec;
    uint32_t ib = 0;

    if (x->in_ib) {
        ib = CP_HQD_IB_CONTROL__PROCESSING_IB | x->ib.size;
        qatomic_set(&q->regs[CP_HQD_IB_BASE_ADDR], x->ib.base);
        qatomic_set(&q->regs[CP_HQD_IB_BASE_ADDR_HI], x->ib.base >> 32);
        qatomic_set(&q->regs[CP_HQD_IB_RPTR], x->ib.pos);
        qatomic_set(&q->regs[CP_HQD_VMID],
                    VGPU_SET(q->regs[CP_HQD_VMID], CP_HQD_VMID__IB_VMID,
                             x->ib.vmid));
    }
    qatomic_set(&q->regs[CP_HQD_IB_CONTROL], ib);
    qatomic_set(&q->regs[CP_HQD_HQ_STATUS1], q->phase);
    qatomic_set(&q->regs[CP_HQD_PQ_RPTR], q->rptr & (ring_dwords(q) - 1));
    qatomic_set(&q->regs[CP_HQD_PQ_WPTR_LO], q->wptr);
    qatomic_set(&q->regs[CP_HQD_PQ_WPTR_HI], q->wptr >> 32);
    qatomic_set(&q->regs[CP_HQD_ACTIVE], 0);
    qatomic_set(&q->regs[CP_HQD_DEQUEUE_REQUEST], 0);
    memset(x, 0, sizeof(*x));
    q->dequeue = false;
    q->error = false;
    q->wait = VGPU_WAIT_NONE;
    trace_vgpu_cp_stop(cp->s->id, cp_number(cp, q), q->rptr, q->wptr, ib);
    qemu_cond_broadcast(&cp->parked);
}

void vgpu_cp_queue_dequeue(VGPUCp *cp, CpQueue *q)
{
    if (!vgpu_cp_queue_active(q)) {
        return;
    }
    if (cp->current == q) {
        q->dequeue = true;
    } else {
        queue_stop(cp, q);
    }
}

static bool queue_pending(const CpQueue *q)
{
    const CpExec *x = &q->exec;

    return x->packet || x->in_ib || x->report || x->poll_wptr || x->clamped ||
           q->poll_wptr || q->rptr != q->wptr;
}

static bool mec_runs(const VGPUCp *cp, const CpQueue *q)
{
    uint32_t halt = cp_number(cp, q) < CP_NUM_HQDS / 2 ?
                    CP_MEC_CNTL__MEC_ME1_HALT : CP_MEC_CNTL__MEC_ME2_HALT;

    return !cp->quit && !cp->paused && !qatomic_read(&cp->s->removed) &&
           !(qatomic_read(&cp->mec_cntl) & halt);
}

static bool queue_runs(const VGPUCp *cp, const CpQueue *q)
{
    return mec_runs(cp, q) && vgpu_cp_queue_active(q) && !q->error;
}

/* Take over what registers say. False if the ring cannot be. */
static bool queue_load(VGPUCp *cp, CpQueue *q)
{
    uint32_t cntl = qatomic_read(&q->regs[CP_HQD_PQ_CONTROL]);
    CpExec *x = &q->exec;

    x->ring_base = cp_hqd64(q, CP_HQD_PQ_BASE) << 8;
    x->ring_dwords = ring_dwords(q);
    x->vmid = VGPU_GET(qatomic_read(&q->regs[CP_HQD_VMID]),
                       CP_HQD_VMID__VMID);
    x->priv = cntl & CP_HQD_PQ_CONTROL__PRIV_STATE;
    x->aql = qatomic_read(&q->regs[CP_HQD_AQL_CONTROL]) &
             CP_HQD_AQL_CONTROL__CONTROL0;
    x->rptr_addr = x->aql || !(cntl & CP_HQD_PQ_CONTROL__NO_UPDATE_RPTR) ?
                   cp_hqd64(q, CP_HQD_PQ_RPTR_REPORT_ADDR) & ~7ull : 0;
    x->wptr_addr = cp_hqd64(q, CP_HQD_PQ_WPTR_POLL_ADDR) & ~7ull;
    x->rptr = q->rptr;
    x->wptr = q->wptr;
    if (q->poll_wptr) {
        q->poll_wptr = false;
        x->poll_wptr = true;
    }
    x->mem.client = &cp->client;
    x->mem.queue = cp_number(cp, q);
    /* What memory says may put right what a register got wrong. */
    return x->poll_wptr || x->wptr - x->rptr <= x->ring_dwords;
}

void vgpu_cp_interrupt(VGPUCp *cp, CpQueue *q, unsigned source,
                       uint32_t enable, uint32_t data0)
{
    unsigned n = cp_number(cp, q);
    unsigned me = 1 + n / (CP_NUM_PIPES * CP_NUM_QUEUES);
    unsigned pipe = n / CP_NUM_QUEUES % CP_NUM_PIPES;
    uint32_t data[4] = { data0 };
    VGPUState *s = cp->s;

    if (!(qatomic_read(&cp->regs[CP_PIPE_INT_CNTL(me, pipe) - CP_GC_FIRST]) &
          enable)) {
        return;
    }
    QEMU_LOCK_GUARD(&s->lock);
    vgpu_ih_push(s, IH_CLIENT_CP, source,
                 VGPU_PREP(IH_RING_CP_PIPE, pipe) |
                 VGPU_PREP(IH_RING_CP_ME, me) |
                 VGPU_PREP(IH_RING_CP_QUEUE, n % CP_NUM_QUEUES),
                 q->exec.vmid, false, data);
}

static void queue_error(VGPUCp *cp, CpQueue *q)
{
    uint32_t doorbell = q->regs[CP_HQD_PQ_DOORBELL_CONTROL];
    CpExec *x = &q->exec;
    VGPUState *s = cp->s;

    q->error = true;
    x->packet = false;
    qatomic_set(&q->regs[CP_HQD_ERROR],
                q->regs[CP_HQD_ERROR] | x->error_bits);
    vgpu_count(s, VGPU_CNT_QUEUE_ERRORS, 1);
    trace_vgpu_cp_error(s->id, cp_number(cp, q), x->vmid, x->error,
                        x->error_bits, x->dw[0]);
    qemu_log_mask(LOG_GUEST_ERROR,
                  "%s: compute queue %u (vmid %u) stops: error %u (0x%x), "
                  "header 0x%08x, rptr 0x%" PRIx64 " wptr 0x%" PRIx64 "\n",
                  s->id, cp_number(cp, q), x->vmid, x->error, x->error_bits,
                  x->dw[0], q->rptr, q->wptr);
    if (x->error) {
        vgpu_cp_interrupt(cp, q, x->priv_error ? IH_SRC_CP_PRIV_REG
                                               : IH_SRC_CP_BAD_OPCODE,
                          x->priv_error ? CP_INT_CNTL__PRIV_REG
                                        : CP_INT_CNTL__OPCODE_ERROR,
                          VGPU_PREP(IH_CP_ERROR__CODE, x->error) |
                          (VGPU_GET(doorbell,
                                    CP_HQD_PQ_DOORBELL_CONTROL__OFFSET) / 2 &
                           IH_CP_ERROR__DOORBELL));
    }
}

/* Is what the stalled queue waits for still to come? */
static bool stall_lasts(VGPUCp *cp, CpQueue *q)
{
    switch (q->exec.mem.stall.why) {
    case VGPU_WAIT_NONE:
        return false;
    case VGPU_WAIT_WPTR:
        return q->wptr == q->exec.wptr && !q->poll_wptr;
    case VGPU_WAIT_POLL:
    case VGPU_WAIT_REG:
        return true;
    default:
        return vgpu_fault_pending(cp->s, &q->exec.mem.stall);
    }
}

/* Drops the lock while packets run. */
static void queue_run(VGPUCp *cp, CpQueue *q)
{
    CpStep step = CP_STEP_DONE;
    CpExec *x = &q->exec;

    cp->current = q;
    q->wait = VGPU_WAIT_NONE;
    x->budget = TURN_STEPS;
    while (step == CP_STEP_DONE && x->budget-- > 0 && !q->dequeue &&
           queue_runs(cp, q) && queue_pending(q)) {
        uint64_t wptr = q->wptr;

        if (!queue_load(cp, q)) {
            step = vgpu_cp_bad(x, CP_ERROR_PACKET_UNSUPPORTED);
            break;
        }
        qemu_mutex_unlock(&cp->lock);
        step = x->aql ? vgpu_cp_aql_step(cp, q) : vgpu_cp_pm4_step(cp, q);
        qemu_mutex_lock(&cp->lock);
        q->rptr = x->rptr;
        /* Memory's word on wptr counts if no doorbell came meanwhile. */
        if (q->wptr == wptr) {
            q->wptr = x->wptr;
        }
    }
    cp->current = NULL;
    if (step == CP_STEP_STALL && x->mem.stall.why == VGPU_WAIT_POISON) {
        x->mem.stall.why = VGPU_WAIT_NONE;
        x->error = 0;
        x->error_bits = 0;
        vgpu_cp_interrupt(cp, q, IH_SRC_CP_ECC, UINT32_MAX, 0);
        step = CP_STEP_BAD;
    }
    if (step == CP_STEP_BAD) {
        queue_error(cp, q);
    }
    if (q->dequeue) {
        queue_stop(cp, q);
    } else if (step == CP_STEP_STALL && stall_lasts(cp, q)) {
        q->wait = x->mem.stall.why;
        if (q->wait == VGPU_WAIT_REG) {
            qemu_bh_schedule(cp->reg_bh);
        }
    }
    qemu_cond_broadcast(&cp->parked);
}

/* Can @q run now? If only later, *@next is lowered to that time. */
static bool queue_ready(VGPUCp *cp, CpQueue *q, int64_t now, int64_t *next)
{
    if (!queue_runs(cp, q)) {
        return false;
    }
    switch (q->wait) {
    case VGPU_WAIT_NONE:
        return queue_pending(q);
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
static CpQueue *pick(VGPUCp *cp, int64_t now, int64_t *next)
{
    unsigned i;

    for (i = 0; i < CP_NUM_HQDS; i++) {
        unsigned n = (cp->next + i) % CP_NUM_HQDS;

        if (queue_ready(cp, &cp->queues[n], now, next)) {
            cp->next = n + 1;
            return &cp->queues[n];
        }
    }
    return NULL;
}

static void *cp_thread(void *opaque)
{
    VGPUCp *cp = opaque;

    rcu_register_thread();
    qemu_mutex_lock(&cp->lock);
    while (!cp->quit) {
        int64_t now = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
        int64_t next = INT64_MAX;
        CpQueue *q = pick(cp, now, &next);

        if (q) {
            queue_run(cp, q);
        } else if (next == INT64_MAX) {
            qemu_cond_wait(&cp->wake, &cp->lock);
        } else {
            qemu_cond_timedwait(&cp->wake, &cp->lock,
                                DIV_ROUND_UP(next - now, SCALE_MS));
        }
    }
    qemu_mutex_unlock(&cp->lock);
    rcu_unregister_thread();
    return NULL;
}

/* Wait until the thread has left its current queue: a step at most. */
static void cp_park(VGPUCp *cp)
{
    while (cp->current) {
        qemu_cond_wait(&cp->parked, &cp->lock);
    }
}

/* VGPUClient.wake */
static void wake_faults(VGPUClient *c, uint32_t vmids, int slot)
{
    VGPUCp *cp = container_of(c, VGPUCp, client);
    unsigned n;

    QEMU_LOCK_GUARD(&cp->lock);
    for (n = 0; n < CP_NUM_HQDS; n++) {
        CpQueue *q = &cp->queues[n];
        const VGPUStall *stall = &q->exec.mem.stall;

        if ((q->wait == VGPU_WAIT_CAM_FREE || q->wait == VGPU_WAIT_RETRY ||
             (q->wait == VGPU_WAIT_CAM && (slot < 0 || stall->cam == slot))) &&
            (vmids & (1u << stall->vmid))) {
            q->wait = VGPU_WAIT_NONE;
            qemu_cond_signal(&cp->wake);
        }
    }
}

/* Write the registers that queues wait for. */
static void reg_bh(void *opaque)
{
    VGPUCp *cp = opaque;
    unsigned n;

    for (n = 0; n < CP_NUM_HQDS; n++) {
        CpQueue *q = &cp->queues[n];
        uint32_t reg, val;
        bool due;

        WITH_QEMU_LOCK_GUARD(&cp->lock) {
            due = q->wait == VGPU_WAIT_REG && vgpu_cp_queue_active(q);
            reg = q->exec.reg;
            val = q->exec.reg_val;
        }
        if (!due) {
            continue;
        }
        trace_vgpu_cp_reg_write(cp->s->id, n, reg, val);
        vgpu_reg_write(cp->s, reg, val);
        WITH_QEMU_LOCK_GUARD(&cp->lock) {
            /* The register may have been the one that stops this queue. */
            if (q->wait == VGPU_WAIT_REG) {
                q->exec.done++;
                q->wait = VGPU_WAIT_NONE;
                qemu_cond_signal(&cp->wake);
            }
        }
    }
}

void vgpu_cp_start(VGPUState *s)
{
    VGPUCp *cp = g_new0(VGPUCp, 1);

    s->cp = cp;
    cp->s = s;
    vgpu_client_init(s, &cp->client, VGPU_CLIENT_CP, VGPU_HUB_GFX,
                     VGPU_CID_CPC, wake_faults);
    cp->reg_bh = qemu_bh_new_guarded(reg_bh, cp,
                                     &DEVICE(s)->mem_reentrancy_guard);
    qemu_mutex_init(&cp->lock);
    qemu_cond_init(&cp->wake);
    qemu_cond_init(&cp->parked);
    qemu_thread_create(&cp->thread, "vgpu-cp", cp_thread, cp,
                       QEMU_THREAD_JOINABLE);
}

void vgpu_cp_stop(VGPUState *s)
{
    VGPUCp *cp = s->cp;

    WITH_QEMU_LOCK_GUARD(&cp->lock) {
        cp->quit = true;
        qemu_cond_signal(&cp->wake);
    }
    qemu_thread_join(&cp->thread);
    qemu_bh_delete(cp->reg_bh);
    qemu_cond_destroy(&cp->parked);
    qemu_cond_destroy(&cp->wake);
    qemu_mutex_destroy(&cp->lock);
    vgpu_client_destroy(&cp->client);
    g_clear_pointer(&s->cp, g_free);
}

void vgpu_cp_reset(VGPUState *s)
{
    VGPUCp *cp = s->cp;
    unsigned n;

    QEMU_LOCK_GUARD(&cp->lock);
    for (n = 0; n < CP_NUM_HQDS; n++) {
        qatomic_set(&cp->queues[n].regs[CP_HQD_ACTIVE], 0);
    }
    cp_park(cp);
    memset(cp->queues, 0, sizeof(cp->queues));
    memset(cp->sh_mem_bases, 0, sizeof(cp->sh_mem_bases));
    memset(cp->sh_mem_config, 0, sizeof(cp->sh_mem_config));
    cp->queue_mask = 0;
    cp->next = 0;
}

void vgpu_cp_pause(VGPUState *s, bool paused)
{
    VGPUCp *cp = s->cp;

    QEMU_LOCK_GUARD(&cp->lock);
    cp->paused = paused;
    qemu_cond_signal(&cp->wake);
    if (paused) {
        cp_park(cp);
    }
}
