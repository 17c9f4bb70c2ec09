/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: registers and doorbells of the command processor's compute side.
 * GRBM_GFX_CNTL selects the queue of the HQD registers, the pipe of
 * CPC_INT_CNTL and the VMID of the SH_MEM registers.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "vgpu/aql.h"
#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/core/regs.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"

#define GC(reg)     ((reg) - CP_GC_FIRST)

/*
 * Set *@pipe to the number of the selected pipe, counted over both MECs. Return
 * false if no MEC is selected.
 */
static bool grbm_selected_pipe(VGPUCp *cp, unsigned *pipe)
{
    unsigned me = VGPU_GET(cp->grbm_gfx_cntl, GRBM_GFX_CNTL__MEID);

    *pipe = (me - 1) * CP_NUM_PIPES +
            VGPU_GET(cp->grbm_gfx_cntl, GRBM_GFX_CNTL__PIPEID);
    return me >= 1 && me <= CP_NUM_MECS;
}

static CpQueue *grbm_selected_queue(VGPUCp *cp)
{
    unsigned pipe;

    if (!grbm_selected_pipe(cp, &pipe)) {
        return NULL;
    }
    return &cp->queues[pipe * CP_NUM_QUEUES +
                       VGPU_GET(cp->grbm_gfx_cntl, GRBM_GFX_CNTL__QUEUEID)];
}

static uint32_t *hqd_store(VGPUState *s, unsigned inst)
{
    CpQueue *q = grbm_selected_queue(s->cp);

    return q ? q->regs : s->cp->nowhere;
}

static uint32_t hqd_pointer_read(VGPUState *s, unsigned inst, unsigned off)
{
    VGPUCp *cp = s->cp;
    CpQueue *q = grbm_selected_queue(cp);

    if (!q) {
        return 0;
    }
    QEMU_LOCK_GUARD(&cp->w.lock);
    if (!vgpu_cp_queue_active(q)) {
        return q->regs[off];
    }
    switch (off) {
    case CP_HQD_PQ_WPTR_LO:
        return q->queue.wptr;
    case CP_HQD_PQ_WPTR_HI:
        return q->queue.wptr >> 32;
    default:
        return q->queue.rptr & (vgpu_cp_ring_dwords(q) - 1);
    }
}

static void hqd_wptr_written(VGPUState *s, unsigned inst, unsigned off,
                             uint32_t old, uint32_t val)
{
    VGPUCp *cp = s->cp;
    CpQueue *q = grbm_selected_queue(cp);

    if (!q) {
        cp->nowhere[off] = 0;
        return;
    }
    QEMU_LOCK_GUARD(&cp->w.lock);
    if (vgpu_cp_queue_active(q)) {
        q->queue.wptr = deposit64(q->queue.wptr,
                                  off == CP_HQD_PQ_WPTR_HI ? 32 : 0, 32,
                                  val);
        vgpu_cp_queue_kick(cp, q);
    }
}

/*
 * Set ACTIVE under cp->w.lock, so that the CP's thread does not run the queue
 * before vgpu_cp_queue_start().
 */
static void hqd_active_written(VGPUState *s, unsigned inst, unsigned off,
                               uint32_t old, uint32_t val)
{
    VGPUCp *cp = s->cp;
    CpQueue *q = grbm_selected_queue(cp);

    if (!q) {
        return;
    }
    QEMU_LOCK_GUARD(&cp->w.lock);
    if (!(val & CP_HQD_ACTIVE__ACTIVE)) {
        vgpu_cp_queue_dequeue(cp, q);
    } else if (!vgpu_cp_queue_active(q)) {
        qatomic_set(&q->regs[off], CP_HQD_ACTIVE__ACTIVE);
        q->mapped = false;
        q->listed = false;
        q->hiq = false;
        q->fixed = false;
        vgpu_cp_queue_start(cp, q);
    }
}

static void hqd_dequeue_written(VGPUState *s, unsigned inst, unsigned off,
                                uint32_t old, uint32_t val)
{
    VGPUCp *cp = s->cp;
    CpQueue *q = grbm_selected_queue(cp);

    if (!q) {
        cp->nowhere[off] = 0;
        return;
    }
    QEMU_LOCK_GUARD(&cp->w.lock);
    if (val & CP_HQD_DEQUEUE_REQUEST__REQ) {
        vgpu_cp_queue_dequeue(cp, q);
    }
}

/*
 * Callback after a write to an HQD register without side effects. The CP's
 * thread reads the register before its next step, so the write need not wake
 * the thread.
 */
static void hqd_plain_written(VGPUState *s, unsigned inst, unsigned off,
                              uint32_t old, uint32_t val)
{
    /* Without an HQD, the write went to nowhere[], which must read as 0. */
    if (!grbm_selected_queue(s->cp)) {
        s->cp->nowhere[off] = 0;
    }
}

#define HQD_PLAIN VGPU_REG_WRITTEN(UINT32_MAX, hqd_plain_written)

static const VGPUReg hqd_regs[CP_HQD_SPAN] = {
    [CP_MQD_BASE_ADDR ... CP_MQD_BASE_ADDR_HI] = HQD_PLAIN,
    [CP_HQD_ACTIVE] = VGPU_REG_WRITTEN(0, hqd_active_written),
    [CP_HQD_VMID ... CP_HQD_PQ_BASE] = HQD_PLAIN,
    [CP_HQD_PQ_BASE_HI] = VGPU_REG_WRITTEN(0xff, hqd_plain_written),
    [CP_HQD_PQ_RPTR] = {
        .exists = true, .mask = UINT32_MAX, .read = hqd_pointer_read,
        .written = hqd_plain_written,
    },
    [CP_HQD_PQ_RPTR_REPORT_ADDR ... CP_HQD_PQ_DOORBELL_CONTROL] = HQD_PLAIN,
    [CP_HQD_PQ_CONTROL ... CP_HQD_DEQUEUE_REQUEST - 1] = HQD_PLAIN,
    [CP_HQD_DEQUEUE_REQUEST] =
        VGPU_REG_WRITTEN(CP_HQD_DEQUEUE_REQUEST__INT, hqd_dequeue_written),
    [CP_HQD_DEQUEUE_REQUEST + 1 ... CP_HQD_PQ_WPTR_LO - 1] = HQD_PLAIN,
    [CP_HQD_PQ_WPTR_LO ... CP_HQD_PQ_WPTR_HI] = {
        .exists = true, .mask = UINT32_MAX, .read = hqd_pointer_read,
        .written = hqd_wptr_written,
    },
};

static uint32_t *gc_store(VGPUState *s, unsigned inst)
{
    return s->cp->regs;
}

/*
 * Bit n of @val selects queue n of ME 1. Let each selected queue read its wptr
 * from memory once.
 */
static void wptr_poll_written(VGPUState *s, unsigned inst, unsigned off,
                              uint32_t old, uint32_t val)
{
    VGPUCp *cp = s->cp;
    unsigned n;

    QEMU_LOCK_GUARD(&cp->w.lock);
    for (n = 0; n < 32; n++) {
        if (val & (1u << n)) {
            cp->queues[n].queue.poll_wptr = true;
            vgpu_cp_queue_kick(cp, &cp->queues[n]);
        }
    }
}

static uint32_t cpc_int_read(VGPUState *s, unsigned inst, unsigned off)
{
    unsigned pipe;

    return grbm_selected_pipe(s->cp, &pipe) ?
           s->cp->regs[GC(CP_ME1_PIPE0_INT_CNTL) + pipe] : 0;
}

static void cpc_int_written(VGPUState *s, unsigned inst, unsigned off,
                            uint32_t old, uint32_t val)
{
    unsigned pipe;

    if (grbm_selected_pipe(s->cp, &pipe)) {
        qatomic_set(&s->cp->regs[GC(CP_ME1_PIPE0_INT_CNTL) + pipe], val);
    }
}

static const VGPUReg gc_regs[CP_NUM_GC_REGS] = {
    [GC(CP_MEC_DOORBELL_RANGE_LOWER) ... GC(CP_MEC_DOORBELL_RANGE_UPPER)] =
        VGPU_REG_RW(CP_MEC_DOORBELL_RANGE__OFFSET),
    [GC(CP_PQ_WPTR_POLL_CNTL1)] = VGPU_REG_WRITTEN(UINT32_MAX,
                                                   wptr_poll_written),
    [GC(CP_ME1_PIPE0_INT_CNTL) ... GC(CP_ME1_PIPE0_INT_CNTL) + 7] =
        VGPU_REG_RW(UINT32_MAX),
    [GC(CPC_INT_CNTL)] = {
        .exists = true, .read = cpc_int_read, .written = cpc_int_written,
    },
};

static uint32_t *grbm_store(VGPUState *s, unsigned inst)
{
    return &s->cp->grbm_gfx_cntl;
}

static const VGPUReg grbm_regs[] = { VGPU_REG_RW(0x7ff) };

static uint32_t *mec_store(VGPUState *s, unsigned inst)
{
    return &s->cp->mec_cntl;
}

static void mec_written(VGPUState *s, unsigned inst, unsigned off,
                        uint32_t old, uint32_t val)
{
    QEMU_LOCK_GUARD(&s->cp->w.lock);
    vgpu_worker_kick(&s->cp->w);
}

static const VGPUReg mec_regs[] = {
    VGPU_REG_WRITTEN(CP_MEC_CNTL__MEC_ME1_HALT | CP_MEC_CNTL__MEC_ME2_HALT,
                     mec_written),
};

static uint32_t *schedulers_store(VGPUState *s, unsigned inst)
{
    return &s->cp->schedulers;
}

static const VGPUReg schedulers_regs[] = { VGPU_REG_RW(UINT32_MAX) };

static uint32_t *sh_mem_of(VGPUState *s, unsigned off)
{
    unsigned vmid = VGPU_GET(s->cp->grbm_gfx_cntl, GRBM_GFX_CNTL__VMID);

    return off ? &s->cp->sh_mem_config[vmid] : &s->cp->sh_mem_bases[vmid];
}

static uint32_t sh_mem_read(VGPUState *s, unsigned inst, unsigned off)
{
    return *sh_mem_of(s, off);
}

static void sh_mem_written(VGPUState *s, unsigned inst, unsigned off,
                           uint32_t old, uint32_t val)
{
    qatomic_set(sh_mem_of(s, off), val);
}

#define SH_MEM { \
    .exists = true, .read = sh_mem_read, .written = sh_mem_written, \
}

static const VGPUReg sh_mem_regs[] = {
    [0] = SH_MEM,
    [SH_MEM_CONFIG - SH_MEM_BASES] = SH_MEM,
};

static uint32_t *gws_store(VGPUState *s, unsigned inst)
{
    return s->cp->gws_vmid;
}

static const VGPUReg gws_regs[VGPU_NUM_VMIDS] = {
    [0 ... VGPU_NUM_VMIDS - 1] = {
        .exists = true, .mask = GDS_GWS_VMID__BASE | GDS_GWS_VMID__SIZE,
        .reset = GDS_GWS_VMID_RESET,
    },
};

const VGPUBlock vgpu_cp_blocks[VGPU_NUM_CP_BLOCKS] = {
    [VGPU_CP_GRBM] = {
        .base = GRBM_GFX_CNTL, .span = 1, .count = 1,
        .regs = grbm_regs, .store = grbm_store,
    },
    [VGPU_CP_MEC] = {
        .base = CP_MEC_CNTL, .span = 1, .count = 1,
        .regs = mec_regs, .store = mec_store,
    },
    [VGPU_CP_SH_MEM] = {
        .base = SH_MEM_BASES, .span = ARRAY_SIZE(sh_mem_regs), .count = 1,
        .regs = sh_mem_regs,
    },
    [VGPU_CP_GC] = {
        .base = CP_GC_FIRST, .span = CP_NUM_GC_REGS, .count = 1,
        .regs = gc_regs, .store = gc_store,
    },
    [VGPU_CP_HQD] = {
        .base = CP_HQD, .span = CP_HQD_SPAN, .count = 1,
        .regs = hqd_regs, .store = hqd_store,
    },
    [VGPU_CP_GWS] = {
        .base = GDS_GWS_VMID0, .span = VGPU_NUM_VMIDS, .count = 1,
        .regs = gws_regs, .store = gws_store,
    },
    [VGPU_CP_SCHEDULERS] = {
        .base = RLC_CP_SCHEDULERS, .span = 1, .count = 1,
        .regs = schedulers_regs, .store = schedulers_store,
    },
};

/*
 * Return the queue with the doorbell at @offset, or NULL. Prefer an active
 * queue: a dequeue leaves the old doorbell enabled. The caller holds
 * cp->w.lock.
 */
static CpQueue *hqd_of_doorbell(VGPUCp *cp, uint32_t offset)
{
    CpQueue *inactive = NULL;
    unsigned n;

    for (n = 0; n < CP_NUM_HQDS; n++) {
        CpQueue *q = &cp->queues[n];
        uint32_t cntl = q->regs[CP_HQD_PQ_DOORBELL_CONTROL];

        if (!(cntl & CP_HQD_PQ_DOORBELL_CONTROL__EN) ||
            (cntl & CP_HQD_PQ_DOORBELL_CONTROL__OFFSET) != offset) {
            continue;
        }
        if (vgpu_cp_queue_active(q)) {
            return q;
        }
        inactive = inactive ?: q;
    }
    return inactive;
}

bool vgpu_cp_doorbell(VGPUState *s, uint32_t offset, uint64_t val,
                      unsigned size)
{
    uint32_t low = offset & 0xfff;
    VGPUCp *cp = s->cp;
    uint32_t *cntl;
    CpQueue *q;
    unsigned n;

    if (low < cp->regs[GC(CP_MEC_DOORBELL_RANGE_LOWER)] ||
        low > (cp->regs[GC(CP_MEC_DOORBELL_RANGE_UPPER)] | 7)) {
        return false;
    }
    QEMU_LOCK_GUARD(&cp->w.lock);
    q = hqd_of_doorbell(cp, offset);
    if (!q) {
        return false;
    }
    n = cp_queue_number(cp, q);
    cntl = &q->regs[CP_HQD_PQ_DOORBELL_CONTROL];
    if (vgpu_inject_doorbell_lost(s, vgpu_queue_site(VGPU_CLIENT_CP, n,
            VGPU_GET(q->regs[CP_HQD_VMID], CP_HQD_VMID__VMID), offset))) {
        return true;
    }
    qatomic_set(cntl, *cntl | CP_HQD_PQ_DOORBELL_CONTROL__HIT);
    if (!(q->regs[CP_HQD_AQL_CONTROL] & CP_HQD_AQL_CONTROL__CONTROL0)) {
        q->queue.wptr = size == 8 ? val : deposit64(q->queue.wptr, 0, 32, val);
    } else if (cp_hqd64(q, CP_HQD_PQ_WPTR_POLL_ADDR)) {
        q->queue.poll_wptr = true;
    } else {
        /*
         * @val is the number of the last packet. Doorbells may arrive in any
         * order, so wptr only increases.
         */
        val = (val + 1) * AQL_PACKET_DWORDS;
        q->queue.poll_wptr = true;
        if ((int64_t)(val - q->queue.wptr) > 0) {
            q->queue.wptr = val;
        }
    }
    trace_vgpu_cp_doorbell(s->id, n, offset, val, q->queue.wptr);
    vgpu_cp_queue_kick(cp, q);
    return true;
}
