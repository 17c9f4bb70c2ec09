/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: registers and doorbells of the SDMA engines and their queues. */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "vgpu/bits.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/sdma/internal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

#define RB_CNTL_BITS \
    (SDMA_RB_CNTL__RB_ENABLE | SDMA_RB_CNTL__RB_SIZE | \
     SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE | \
     SDMA_RB_CNTL__RPTR_WRITEBACK_TIMER | \
     SDMA_RB_CNTL__RB_PRIV | SDMA_RB_CNTL__RB_VMID)

/*
 * In sdma_engine_of(), sdma_queue_of() and the functions for queue registers,
 * @inst is the number of a queue, counted over all engines. In the functions
 * for engine registers, @inst is the number of an engine.
 */
static VGPUSdmaEngine *sdma_engine_of(VGPUState *s, unsigned inst)
{
    return &s->sdma->engines[inst / SDMA_NUM_QUEUES];
}

static VGPUSdmaQueue *sdma_queue_of(VGPUState *s, unsigned inst)
{
    return &sdma_engine_of(s, inst)->queues[inst % SDMA_NUM_QUEUES];
}

static uint32_t *engine_store(VGPUState *s, unsigned inst)
{
    return s->sdma->engines[inst].regs;
}

static uint32_t *queue_store(VGPUState *s, unsigned inst)
{
    return sdma_queue_of(s, inst)->regs;
}

/*
 * Return true if @q is not in execution and has no work that can run. The
 * caller holds e->w.lock.
 */
static bool sdma_queue_idle(const VGPUSdmaEngine *e, const VGPUSdmaQueue *q)
{
    return e->w.current != &q->queue &&
           e->hung != 1 + vgpu_sdma_queue_number(e, q) &&
           (!vgpu_sdma_enabled(q) || q->exception ||
            !vgpu_queue_pending(&q->queue));
}

static uint32_t status_read(VGPUState *s, unsigned inst, unsigned off)
{
    VGPUSdmaEngine *e = &s->sdma->engines[inst];
    unsigned n;

    QEMU_LOCK_GUARD(&e->w.lock);
    for (n = 0; n < SDMA_NUM_QUEUES; n++) {
        if (!sdma_queue_idle(e, &e->queues[n])) {
            return 0;
        }
    }
    return SDMA_STATUS_REG__IDLE;
}

static uint32_t freeze_read(VGPUState *s, unsigned inst, unsigned off)
{
    VGPUSdmaEngine *e = &s->sdma->engines[inst];
    uint32_t val = e->regs[off];

    QEMU_LOCK_GUARD(&e->w.lock);
    if ((val & SDMA_FREEZE__FREEZE) && !e->w.current && !e->hung) {
        val |= SDMA_FREEZE__FROZEN;
    }
    return val;
}

/* Wake the engine's thread after a write of FREEZE, HALT or RESET. */
static void run_written(VGPUState *s, unsigned inst, unsigned off,
                        uint32_t old, uint32_t val)
{
    VGPUSdmaEngine *e = &s->sdma->engines[inst];

    QEMU_LOCK_GUARD(&e->w.lock);
    vgpu_worker_kick(&e->w);
}

static void f32_written(VGPUState *s, unsigned inst, unsigned off,
                        uint32_t old, uint32_t val)
{
    VGPUWorker *w = &s->sdma->engines[inst].w;

    if (val & ~old & SDMA_F32_CNTL__RESET) {
        trace_vgpu_engine_reset(s->id, inst);
        vgpu_worker_hold(w);
        vgpu_sdma_engine_reset(s, inst);
        vgpu_worker_release(w);
    }
    run_written(s, inst, off, old, val);
}

static const VGPUReg engine_regs[VGPU_SDMA_ENGINE_SPAN] = {
    [SDMA_POWER_CNTL ... SDMA_CLK_CTRL] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_CNTL] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_CHICKEN_BITS ... SDMA_GB_ADDR_CONFIG_READ] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_STATUS_REG] = VGPU_REG_READ(status_read),
    [SDMA_F32_CNTL] = VGPU_REG_WRITTEN(SDMA_F32_CNTL__HALT |
                                       SDMA_F32_CNTL__RESET, f32_written),
    [SDMA_FREEZE] = {
        .exists = true,
        .mask = SDMA_FREEZE__FREEZE,
        .read = freeze_read,
        .written = run_written,
    },
    [SDMA_PHASE0_QUANTUM ... SDMA_PHASE1_QUANTUM] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_VERSION] = VGPU_REG_RO,
    [SDMA_ATOMIC_CNTL] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_ATOMIC_PREOP_LO ... SDMA_ATOMIC_PREOP_HI] = VGPU_REG_RO,
    [SDMA_UTCL1_CNTL ... SDMA_UTCL1_WATERMK] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_UTCL1_TIMEOUT] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_UTCL1_PAGE] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_CHICKEN_BITS_2] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_PHASE2_QUANTUM] = VGPU_REG_RW(UINT32_MAX),
};

static void cntl_written(VGPUState *s, unsigned inst, unsigned off,
                         uint32_t old, uint32_t val)
{
    VGPUSdmaEngine *e = sdma_engine_of(s, inst);
    VGPUSdmaQueue *q = sdma_queue_of(s, inst);

    QEMU_LOCK_GUARD(&e->w.lock);
    trace_vgpu_queue(s->id, e->index, inst % SDMA_NUM_QUEUES,
                     VGPU_GET(val, SDMA_RB_CNTL__RB_VMID), val, q->queue.rptr,
                     q->queue.wptr);
    if ((val ^ old) & SDMA_RB_CNTL__RB_ENABLE) {
        q->exception = VGPU_SDMA_EXC_NONE;
    }
    if (val & ~old & SDMA_RB_CNTL__RB_ENABLE) {
        q->queue.wait = VGPU_WAIT_NONE; /* the queue tries its packet again */
        vgpu_worker_kick(&e->w);
    }
}

static void base_written(VGPUState *s, unsigned inst, unsigned off,
                         uint32_t old, uint32_t val)
{
    VGPUSdmaEngine *e = sdma_engine_of(s, inst);

    QEMU_LOCK_GUARD(&e->w.lock);
    vgpu_queue_restart(&e->w, &sdma_queue_of(s, inst)->queue);
}

static uint32_t pointer_read(VGPUState *s, unsigned inst, unsigned off)
{
    VGPUSdmaEngine *e = sdma_engine_of(s, inst);
    VGPUQueue *q = &sdma_queue_of(s, inst)->queue;

    QEMU_LOCK_GUARD(&e->w.lock);
    switch (off) {
    case SDMA_RB_RPTR:
        return q->rptr;
    case SDMA_RB_RPTR_HI:
        return q->rptr >> 32;
    case SDMA_RB_WPTR:
        return q->wptr;
    default:
        return q->wptr >> 32;
    }
}

static void pointer_written(VGPUState *s, unsigned inst, unsigned off,
                            uint32_t old, uint32_t val)
{
    VGPUSdmaEngine *e = sdma_engine_of(s, inst);
    VGPUQueue *q = &sdma_queue_of(s, inst)->queue;

    QEMU_LOCK_GUARD(&e->w.lock);
    switch (off) {
    case SDMA_RB_RPTR:
        q->rptr = deposit64(q->rptr, 0, 32, val);
        vgpu_queue_restart(&e->w, q);
        break;
    case SDMA_RB_RPTR_HI:
        q->rptr = deposit64(q->rptr, 32, 32, val);
        vgpu_queue_restart(&e->w, q);
        break;
    case SDMA_RB_WPTR:
        q->wptr = deposit64(q->wptr, 0, 32, val);
        vgpu_queue_wptr_moved(q);
        vgpu_worker_kick(&e->w);
        break;
    default:
        q->wptr = deposit64(q->wptr, 32, 32, val);
        vgpu_queue_wptr_moved(q);
        vgpu_worker_kick(&e->w);
        break;
    }
}

static uint32_t context_status_read(VGPUState *s, unsigned inst, unsigned off)
{
    VGPUSdmaEngine *e = sdma_engine_of(s, inst);
    VGPUSdmaQueue *q = sdma_queue_of(s, inst);
    uint32_t val = SDMA_CONTEXT_STATUS__CTXSW_ABLE;

    QEMU_LOCK_GUARD(&e->w.lock);
    if (sdma_queue_idle(e, q)) {
        val |= SDMA_CONTEXT_STATUS__IDLE;
    }
    if (e->w.current == &q->queue) {
        val |= SDMA_CONTEXT_STATUS__SELECTED;
    }
    return VGPU_SET(val, SDMA_CONTEXT_STATUS__EXCEPTION, q->exception);
}

static void doorbell_written(VGPUState *s, unsigned inst, unsigned off,
                             uint32_t old, uint32_t val)
{
    VGPUSdmaQueue *q = sdma_queue_of(s, inst);

    /* A register write clears CAPTURED, which only a doorbell sets. */
    q->regs[off] &= SDMA_DOORBELL__ENABLE;
}

static const VGPUReg queue_regs[VGPU_SDMA_QUEUE_SPAN] = {
    [SDMA_RB_CNTL] = VGPU_REG_WRITTEN(RB_CNTL_BITS, cntl_written),
    [SDMA_RB_BASE] = VGPU_REG_WRITTEN(UINT32_MAX, base_written),
    [SDMA_RB_BASE_HI] = VGPU_REG_WRITTEN(0x00ffffff, base_written),
    [SDMA_RB_RPTR ... SDMA_RB_WPTR_HI] = {
        .exists = true, .read = pointer_read, .written = pointer_written,
    },
    [SDMA_RB_WPTR_POLL_CNTL] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_RB_RPTR_ADDR_HI] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_RB_RPTR_ADDR_LO] = VGPU_REG_RW(~7u),
    [SDMA_IB_CNTL] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_CONTEXT_STATUS] = VGPU_REG_READ(context_status_read),
    [SDMA_DOORBELL] = VGPU_REG_WRITTEN(SDMA_DOORBELL__ENABLE,
                                       doorbell_written),
    [SDMA_STATUS] = VGPU_REG_RO,
    [SDMA_DOORBELL_LOG] = VGPU_REG_RO,
    [SDMA_WATERMARK] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_CSA_ADDR_LO ... SDMA_CSA_ADDR_HI] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_DUMMY_REG] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_DOORBELL_OFFSET] = VGPU_REG_RW(SDMA_DOORBELL_OFFSET__OFFSET),
    [SDMA_RB_WPTR_POLL_ADDR_HI] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_RB_WPTR_POLL_ADDR_LO] = VGPU_REG_RW(UINT32_MAX),
    [SDMA_MINOR_PTR_UPDATE] = VGPU_REG_RW(1),
};

#define ENGINE_BLOCK(n) { \
    .base = SDMA_ENGINE(n), \
    .span = VGPU_SDMA_ENGINE_SPAN, \
    .count = 1, \
    .first = (n), \
    .regs = engine_regs, \
    .store = engine_store, \
}

#define QUEUE_BLOCK(n) { \
    .base = SDMA_ENGINE(n) + SDMA_QUEUE(0), \
    .span = VGPU_SDMA_QUEUE_SPAN, \
    .count = SDMA_NUM_QUEUES, \
    .first = (n) * SDMA_NUM_QUEUES, \
    .regs = queue_regs, \
    .store = queue_store, \
}

const VGPUBlock vgpu_sdma_engine_blocks[SDMA_NUM_ENGINES] = {
    ENGINE_BLOCK(0),
    ENGINE_BLOCK(1),
    ENGINE_BLOCK(2),
    ENGINE_BLOCK(3),
    ENGINE_BLOCK(4),
};

const VGPUBlock vgpu_sdma_queue_blocks[SDMA_NUM_ENGINES] = {
    QUEUE_BLOCK(0),
    QUEUE_BLOCK(1),
    QUEUE_BLOCK(2),
    QUEUE_BLOCK(3),
    QUEUE_BLOCK(4),
};

bool vgpu_sdma_doorbell(VGPUState *s, unsigned engine, uint32_t offset,
                        uint64_t val, unsigned size)
{
    VGPUSdmaEngine *e = &s->sdma->engines[engine];
    bool kick = false;
    VGPUSdmaQueue *q;
    unsigned i;

    WITH_QEMU_LOCK_GUARD(&e->w.lock) {
        for (i = 0; i < SDMA_NUM_QUEUES; i++) {
            q = &e->queues[i];
            if ((q->regs[SDMA_DOORBELL] & SDMA_DOORBELL__ENABLE) &&
                q->regs[SDMA_DOORBELL_OFFSET] == offset) {
                break;
            }
        }
        if (i == SDMA_NUM_QUEUES) {
            return false;
        }
        if (vgpu_inject_doorbell_lost(s, vgpu_queue_site(engine, i,
                VGPU_GET(q->regs[SDMA_RB_CNTL], SDMA_RB_CNTL__RB_VMID),
                offset))) {
            return true;
        }
        q->queue.wptr = size == 8 ? val : deposit64(q->queue.wptr, 0, 32, val);
        q->regs[SDMA_DOORBELL] |= SDMA_DOORBELL__CAPTURED;
        trace_vgpu_doorbell(s->id, engine, i,
                            VGPU_GET(q->regs[SDMA_RB_CNTL],
                                     SDMA_RB_CNTL__RB_VMID),
                            offset, q->queue.wptr);
        vgpu_queue_wptr_moved(&q->queue);
        kick = !vgpu_worker_run_here(&e->w, i);
    }
    if (kick) {
        vgpu_worker_kick(&e->w);
    }
    return true;
}
