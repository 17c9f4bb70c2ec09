/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the MECs: VGPUWorkerOps and VGPUQueueOps of compute queues, and
 * start, end and reset of the CP.
 */
#include "qemu/osdep.h"
#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"

/* Maximum number of steps in a time slice. Also the initial exec.budget. */
#define TIMESLICE_STEPS 256
/* Maximum number of steps that an acknowledge executes itself. */
#define INLINE_STEPS    16
#define HWS             CP_NUM_HQDS     /* queue number of the scheduler */

/*
 * The caller of the functions from here to mec_ops holds the worker's lock,
 * except for mec_queue_step(), whose caller holds no lock.
 */

static bool mec_queue_pending(const CpQueue *q)
{
    return vgpu_queue_pending(&q->queue) || q->clamped;
}

static bool mec_runnable(const VGPUCp *cp, const CpQueue *q)
{
    uint32_t halt = cp_queue_number(cp, q) < CP_NUM_HQDS / 2 ?
                    CP_MEC_CNTL__MEC_ME1_HALT : CP_MEC_CNTL__MEC_ME2_HALT;

    return vgpu_worker_may_run(&cp->w) && !(qatomic_read(&cp->mec_cntl) & halt);
}

static bool mec_queue_runnable(const VGPUCp *cp, const CpQueue *q)
{
    return mec_runnable(cp, q) && vgpu_cp_queue_active(q) && !q->error;
}

static VGPUCp *cp_of(VGPUWorker *w)
{
    return container_of(w, VGPUCp, w);
}

static bool mec_queue_load(VGPUWorker *w, unsigned n)
{
    VGPUCp *cp = cp_of(w);
    CpQueue *q = &cp->queues[n];
    uint32_t cntl = qatomic_read(&q->regs[CP_HQD_PQ_CONTROL]);
    VGPUExec *x = &q->queue.exec;

    x->ring_base = cp_hqd64(q, CP_HQD_PQ_BASE) << 8;
    x->ring_dwords = vgpu_cp_ring_dwords(q);
    x->ptr_shift = 0;
    x->ring_vmid = VGPU_GET(qatomic_read(&q->regs[CP_HQD_VMID]),
                            CP_HQD_VMID__VMID);
    x->priv = cntl & CP_HQD_PQ_CONTROL__PRIV_STATE;
    q->aql = qatomic_read(&q->regs[CP_HQD_AQL_CONTROL]) &
             CP_HQD_AQL_CONTROL__CONTROL0;
    x->rptr_addr = q->aql || !(cntl & CP_HQD_PQ_CONTROL__NO_UPDATE_RPTR) ?
                   cp_hqd64(q, CP_HQD_PQ_RPTR_REPORT_ADDR) & ~7ull : 0;
    x->rptr_writeback = x->rptr_addr;
    x->wptr_addr = cp_hqd64(q, CP_HQD_PQ_WPTR_POLL_ADDR) & ~7ull;
    x->mem.client = &cp->client;
    x->mem.queue = n;
    /*
     * An invalid wptr in the register is allowed if the next step reads wptr
     * from memory.
     */
    return x->poll_wptr || x->wptr - x->rptr <= x->ring_dwords;
}

static VGPUStep mec_queue_step(VGPUWorker *w, unsigned n)
{
    VGPUCp *cp = cp_of(w);
    CpQueue *q = &cp->queues[n];

    q->queue.exec.budget--;
    return q->aql ? vgpu_cp_aql_step(cp, q) : vgpu_cp_pm4_step(cp, q);
}

static void mec_queue_stopped(VGPUWorker *w, unsigned n, VGPUStep step)
{
    VGPUCp *cp = cp_of(w);
    CpQueue *q = &cp->queues[n];
    VGPUExec *x = &q->queue.exec;

    switch (step) {
    case VGPU_STEP_POISON:
        x->error = 0;
        x->error_bits = 0;
        vgpu_cp_interrupt(cp, q, IH_SRC_CP_ECC, UINT32_MAX, 0);
        break;
    case VGPU_STEP_BAD_RING:
        vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
        break;
    default:
        break;
    }
    if (x->error && !x->error_bits && q->aql) {
        x->error_bits = CP_HQD_ERROR__AQL_ERROR;
    }
    vgpu_cp_queue_error(cp, q);
}

static void mec_queue_dequeued(VGPUWorker *w, unsigned n)
{
    VGPUCp *cp = cp_of(w);

    vgpu_cp_queue_stop(cp, &cp->queues[n]);
}

static const VGPUQueueOps mec_queue_ops = {
    .steps = TIMESLICE_STEPS,
    .budget = TIMESLICE_STEPS,
    .load = mec_queue_load,
    .step = mec_queue_step,
    .stopped = mec_queue_stopped,
    .dequeued = mec_queue_dequeued,
};

static void mec_timeslice(VGPUWorker *w, unsigned n)
{
    VGPUCp *cp = cp_of(w);
    CpQueue *owner = &cp->queues[cp->hws.owner];

    if (n != HWS) {
        vgpu_queue_timeslice(w, n, &mec_queue_ops);
        return;
    }
    vgpu_cp_hws_step(cp);
    if (owner->queue.dequeue) {
        vgpu_cp_queue_stop(cp, owner);
    }
}

/*
 * Do nothing for the scheduler and for queues of VMID 0: their packets may take
 * locks of SDMA engines' workers. The CP's thread executes these packets.
 */
static void mec_short_timeslice(VGPUWorker *w, unsigned n)
{
    VGPUCp *cp = cp_of(w);

    if (n != HWS &&
        VGPU_GET(qatomic_read(&cp->queues[n].regs[CP_HQD_VMID]),
                 CP_HQD_VMID__VMID)) {
        vgpu_queue_run(w, n, &mec_queue_ops, INLINE_STEPS,
                       MIN(w->s->inline_bytes / 4, TIMESLICE_STEPS));
    }
}

static VGPUQueue *mec_worker_queue(VGPUWorker *w, unsigned n)
{
    VGPUCp *cp = cp_of(w);

    return n == HWS ? &cp->hws.queue : &cp->queues[n].queue;
}

static bool mec_worker_runnable(VGPUWorker *w, unsigned n)
{
    VGPUCp *cp = cp_of(w);

    /*
     * The scheduler may run if the queue that submitted the run list may run.
     */
    return mec_queue_runnable(cp, &cp->queues[n == HWS ? cp->hws.owner : n]);
}

static bool mec_worker_pending(VGPUWorker *w, unsigned n)
{
    VGPUCp *cp = cp_of(w);

    return n == HWS ? vgpu_cp_hws_pending(cp) :
           mec_queue_pending(&cp->queues[n]);
}

static void mec_trace_reg(VGPUWorker *w, unsigned n, uint32_t reg, uint32_t val)
{
    trace_vgpu_cp_reg_write(w->s->id, n, reg, val);
}

static const VGPUWorkerOps mec_ops = {
    .num_queues = HWS + 1,
    .queue = mec_worker_queue,
    .runnable = mec_worker_runnable,
    .pending = mec_worker_pending,
    .timeslice = mec_timeslice,
    .short_timeslice = mec_short_timeslice,
    .trace_reg = mec_trace_reg,
};

void vgpu_cp_alloc(VGPUState *s)
{
    s->cp = g_new0(VGPUCp, 1);
}

void vgpu_cp_free(VGPUState *s)
{
    g_free(s->cp);
}

void vgpu_cp_start(VGPUState *s)
{
    VGPUCp *cp = s->cp;

    /* Clear values that an earlier realize may have left. */
    memset(cp, 0, sizeof(*cp));
    cp->s = s;
    vgpu_client_init(s, &cp->client, VGPU_CLIENT_CP, VGPU_HUB_GFX,
                     VGPU_CID_CPC, &vgpu_worker_client_ops);
    vgpu_worker_start(&cp->w, s, &mec_ops, VGPU_CLIENT_CP, "vgpu-cp");
}

void vgpu_cp_stop(VGPUState *s)
{
    vgpu_worker_stop(&s->cp->w);
}

void vgpu_cp_destroy(VGPUState *s)
{
    VGPUCp *cp = s->cp;

    vgpu_worker_destroy(&cp->w);
    vgpu_client_destroy(&cp->client);
}

void vgpu_cp_reset(VGPUState *s)
{
    VGPUCp *cp = s->cp;

    memset(cp->queues, 0, sizeof(cp->queues));
    memset(cp->sh_mem_bases, 0, sizeof(cp->sh_mem_bases));
    memset(cp->sh_mem_config, 0, sizeof(cp->sh_mem_config));
    memset(&cp->hws, 0, sizeof(cp->hws));
    cp->queue_mask = 0;
    cp->vmid_mask = 0;
    cp->gws_mask = 0;
    cp->w.next = 0;
    cp->clock_captured = 0;
}

void vgpu_cp_hold(VGPUState *s)
{
    vgpu_worker_hold(&s->cp->w);
}

void vgpu_cp_release(VGPUState *s)
{
    vgpu_worker_release(&s->cp->w);
}

void vgpu_cp_pause(VGPUState *s, bool paused)
{
    VGPUWorker *w = &s->cp->w;

    vgpu_worker_pause(w, paused);
    QEMU_LOCK_GUARD(&w->lock);
    if (paused) {
        vgpu_worker_park(w);
    }
}
