/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the hardware scheduler, which executes a run list in slices. All
 * queues of a slice are mapped at the same time.
 *
 *                  queues unmapped          queues mapped
 *   RUN_LIST ----> SAVE -----------> MAP -----------> RUN
 *                   ^                                  |
 *                   +----------------------------------+
 *                               end of slice
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/log.h"
#include "qemu/timer.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "vgpu/gmc.h"
#include "vgpu/sdma.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

#define HWS_STEP_PACKETS    16  /* maximum number of list packets in a step */
#define HWS_MAX_CHAINS      16  /* maximum number of chains in a slice */

static bool hws_decode_list(const uint32_t *dw, VGPUIndirect *list)
{
    *list = (VGPUIndirect) {
        .base = (dw[1] & PM4_RUN_DW1__BASE_LO) | (uint64_t)dw[2] << 32,
        .size = VGPU_GET(dw[3], PM4_RUN_DW3__SIZE),
    };
    return dw[3] & PM4_RUN_DW3__VALID;
}

VGPUStep vgpu_cp_run_list(VGPUCp *cp, CpQueue *kiq)
{
    VGPUExec *x = &kiq->queue.exec;
    CpHws *hws = &cp->hws;

    if (!x->done) {
        VGPUIndirect list;

        if (!hws_decode_list(x->dw, &list) || (x->dw[3] & PM4_RUN_DW3__CHAIN)) {
            return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
        }
        QEMU_LOCK_GUARD(&cp->w.lock);
        hws->list = list;
        hws->max_processes = VGPU_GET(x->dw[3], PM4_RUN_DW3__PROCESS_CNT);
        hws->owner = cp_queue_number(cp, kiq);
        hws->process.valid = false;
        hws->starved = false;
        hws->phase = CP_HWS_SAVE;
        hws->queue.wait = VGPU_WAIT_NONE;
        x->done = 1;
        trace_vgpu_hws_list(cp->s->id, hws->owner, list.base, list.size,
                            hws->max_processes);
    }
    /* The RUN_LIST completes when the first slice runs. */
    return hws->phase == CP_HWS_SAVE || hws->phase == CP_HWS_MAP ?
           vgpu_cp_poll_device(x) : VGPU_STEP_DONE;
}

static void hws_set_pasid(VGPUState *s, unsigned vmid, uint16_t pasid,
                          bool valid)
{
    vgpu_ih_set_pasid(s, vmid, pasid);
    vgpu_athub_set_pasid(s, vmid, pasid, valid);
}

/* Return the mask of VMIDs of the queues that the run list has mapped. */
static uint32_t hws_vmids_used(VGPUCp *cp)
{
    uint32_t used = 0;
    unsigned n;

    WITH_QEMU_LOCK_GUARD(&cp->w.lock) {
        for (n = 0; n < CP_NUM_HQDS; n++) {
            const CpQueue *q = &cp->queues[n];

            if (q->listed && vgpu_cp_queue_active(q)) {
                used |= 1u << VGPU_GET(q->regs[CP_HQD_VMID],
                                       CP_HQD_VMID__VMID);
            }
        }
    }
    return used | vgpu_sdma_listed_vmids(cp->s);
}

void vgpu_cp_hws_release(VGPUCp *cp)
{
    CpHws *hws = &cp->hws;
    uint32_t left = hws->vmids & ~hws_vmids_used(cp);
    unsigned v;

    for (v = 1; v < VGPU_NUM_VMIDS; v++) {
        if (left & (1u << v)) {
            hws->vmids &= ~(1u << v);
            hws_set_pasid(cp->s, v, 0, false);
            vgpu_cp_gws_revoke(cp, v);
            trace_vgpu_hws_release(cp->s->id, v, hws->pasids[v]);
        }
    }
}

/*
 * Set the registers of @vmid for the process of the last MAP_PROCESS. No mapped
 * queue uses @vmid.
 */
static void hws_program_vmid(VGPUCp *cp, unsigned vmid)
{
    const CpProcess *p = &cp->hws.process;
    VGPUState *s = cp->s;

    qatomic_set(&cp->sh_mem_bases[vmid], p->sh_mem_bases);
    qatomic_set(&cp->sh_mem_config[vmid], p->sh_mem_config);
    hws_set_pasid(s, vmid, p->pasid, true);
    trace_vgpu_hws_process(s->id, vmid, p->pasid, p->page_table);
    vgpu_hub_set_root(s, vmid, p->page_table);
}

/*
 * Return the VMID of hws->process; assign a VMID if necessary. Return 0 if the
 * process can get no VMID or not enough GWS resources.
 */
static unsigned hws_assign_vmid(VGPUCp *cp)
{
    CpHws *hws = &cp->hws;
    uint32_t spare = cp->vmid_mask & ~hws->vmids;
    unsigned v;

    for (v = 1; v < VGPU_NUM_VMIDS; v++) {
        if ((hws->vmids & (1u << v)) && hws->pasids[v] == hws->process.pasid) {
            return vgpu_cp_gws_grant(cp, v, hws->process.num_gws) ? v : 0;
        }
    }
    if (!spare || (hws->max_processes &&
                   ctpop16(hws->vmids) >= hws->max_processes)) {
        return 0;
    }
    v = ctz32(spare);
    if (!vgpu_cp_gws_grant(cp, v, hws->process.num_gws)) {
        return 0;
    }
    hws->vmids |= 1u << v;
    hws->pasids[v] = hws->process.pasid;
    hws_program_vmid(cp, v);
    return v;
}

/*
 * Start the slice. The caller has mapped the slice's queues. @whole_list: no
 * packets of the list are left for a later slice.
 */
static void hws_start_slice(VGPUCp *cp, bool whole_list)
{
    CpHws *hws = &cp->hws;

    hws->whole_list = whole_list;
    hws->phase = CP_HWS_RUN;
    trace_vgpu_hws_slice(cp->s->id, hws->list.base, hws->list.pos, hws->vmids,
                         hws->quantum, whole_list);
    if (!whole_list && !hws->starved && hws->list.base == hws->slice.base &&
        hws->list.pos == hws->slice.pos) {
        hws->starved = true;
        qemu_log_mask(LOG_GUEST_ERROR, "%s: run list stalls: no resource of "
                      "SET_RESOURCES for the packet at 0x%" PRIx64 "\n",
                      cp->s->id, hws->list.base + hws->list.pos * 4);
    }
}

static VGPUStep hws_map_process(VGPUCp *cp, const uint32_t *dw, bool *full)
{
    CpHws *hws = &cp->hws;
    uint32_t num_gws = VGPU_GET(dw[13], PM4_PROCESS_DW13__NUM_GWS);

    if (num_gws > GWS_NUM) {
        hws->process.valid = false;
        return vgpu_cp_packet_error(&hws->queue.exec,
                                    CP_ERROR_PACKET_UNSUPPORTED);
    }
    hws->process = (CpProcess) {
        .valid = true,
        .pasid = VGPU_GET(dw[1], PM4_PROCESS_DW1__PASID),
        .quantum = VGPU_GET(dw[1], PM4_PROCESS_DW1__QUANTUM),
        .page_table = dw[2] | (uint64_t)dw[3] << 32,
        .sh_mem_bases = dw[4],
        .sh_mem_config = dw[5],
        .num_gws = num_gws,
    };
    *full = !hws_assign_vmid(cp);
    return VGPU_STEP_DONE;
}

static VGPUStep hws_map_queues(VGPUCp *cp, const uint32_t *dw, bool *full)
{
    CpHws *hws = &cp->hws;
    unsigned vmid;

    if (!hws->process.valid ||
        ((dw[1] & PM4_MAP_DW1__GWS_CONTROL) && !hws->process.num_gws)) {
        return vgpu_cp_packet_error(&hws->queue.exec,
                                    CP_ERROR_PACKET_UNSUPPORTED);
    }
    /*
     * If a new slice has started since the MAP_PROCESS, the process may have
     * lost its VMID: assign a VMID again.
     */
    vmid = hws_assign_vmid(cp);
    if (!vmid) {
        *full = true;
        return VGPU_STEP_DONE;
    }
    hws->quantum = MAX(hws->quantum, hws->process.quantum);
    return vgpu_cp_hqd_map(cp, &hws->queue.exec, dw, vmid, full);
}

/*
 * Return true if chains have led back to the first packet of the slice, so that
 * the slice has mapped the whole loop of lists.
 */
static bool hws_loop_mapped(const CpHws *hws)
{
    return hws->chains && hws->list.base == hws->slice.base &&
           hws->list.pos == hws->slice.pos;
}

/*
 * Execute a RUN_LIST with CHAIN: continue at the start of the list that the
 * packet names. Usually this is the same list, which is then repeated.
 */
static VGPUStep hws_chain(VGPUCp *cp, const uint32_t *dw)
{
    CpHws *hws = &cp->hws;

    if (!(dw[3] & PM4_RUN_DW3__CHAIN) || !hws_decode_list(dw, &hws->list)) {
        return vgpu_cp_packet_error(&hws->queue.exec,
                                    CP_ERROR_PACKET_UNSUPPORTED);
    }
    hws->process.valid = false;
    hws->chains++;
    /* If the last allowed chain closes the loop, hws_map() starts the slice. */
    if (hws->chains >= HWS_MAX_CHAINS && !hws_loop_mapped(hws)) {
        hws_start_slice(cp, false);
    }
    return VGPU_STEP_DONE;
}

/*
 * Phase MAP: execute the next packet of the list, which maps a process or a
 * queue for the next slice.
 */
static VGPUStep hws_packet(VGPUCp *cp)
{
    CpHws *hws = &cp->hws;
    VGPUExec *x = &hws->queue.exec;
    uint32_t dw[PM4_MAP_PROCESS_DWORDS], left = hws->list.size - hws->list.pos;
    uint32_t opcode, n, want;
    bool full = false;
    VGPUStep step;

    /*
     * Check and execute the packet's copy in @dw: the driver may change the
     * packet in memory after the check.
     */
    step = vgpu_cp_fetch(x, 0, dw, 1);
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    x->dw[0] = dw[0];
    opcode = VGPU_GET(dw[0], PM4_HDR__OPCODE);
    n = VGPU_GET(dw[0], PM4_HDR__COUNT) + 2;
    if (opcode == PM4_NOP && n == PM4_COUNT_HEADER_ONLY + 2) {
        n = 1;
    }
    want = opcode == PM4_MAP_PROCESS ? PM4_MAP_PROCESS_DWORDS :
           opcode == PM4_MAP_QUEUES ? PM4_MAP_QUEUES_DWORDS :
           opcode == PM4_RUN_LIST ? PM4_RUN_LIST_DWORDS :
           opcode == PM4_NOP ? n : 0;
    if (dw[0] >> 30 != 3 || !want) {
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_UNSUPPORTED);
    }
    if (n != want || n > left) {
        return vgpu_cp_packet_error(x, CP_ERROR_PACKET_RESERVED);
    }
    if (opcode != PM4_NOP) {
        step = vgpu_cp_fetch(x, 0, dw, n);
    }
    if (step != VGPU_STEP_DONE) {
        return step;
    }
    switch (opcode) {
    case PM4_MAP_PROCESS:
        step = hws_map_process(cp, dw, &full);
        break;
    case PM4_MAP_QUEUES:
        step = hws_map_queues(cp, dw, &full);
        break;
    case PM4_RUN_LIST:
        return hws_chain(cp, dw);
    default:
        break;
    }
    /*
     * If a VMID, HQD or other resource is missing, run the slice without the
     * packet. The next slice then begins with this packet.
     */
    if (step == VGPU_STEP_DONE && full) {
        hws_start_slice(cp, false);
    } else if (step == VGPU_STEP_DONE) {
        hws->list.pos += n;
        vgpu_count(cp->s, VGPU_CNT_PACKETS, 1);
    }
    return step;
}

static VGPUStep hws_map(VGPUCp *cp)
{
    CpHws *hws = &cp->hws;
    VGPUExec *x = &hws->queue.exec;
    VGPUStep step = VGPU_STEP_DONE;
    unsigned i;

    for (i = 0; i < HWS_STEP_PACKETS && step == VGPU_STEP_DONE &&
         hws->phase == CP_HWS_MAP; i++) {
        if (hws_loop_mapped(hws) || hws->list.pos >= hws->list.size) {
            hws_start_slice(cp, true);
            break;
        }
        x->ib_depth = 1;
        x->ib[0] = hws->list;
        x->mem.vmid = 0;
        x->mem.faulted = false;
        step = hws_packet(cp);
    }
    return step;
}

static VGPUStep hws_save_sdma(VGPUCp *cp, unsigned engine)
{
    VGPUStep step = VGPU_STEP_DONE;
    unsigned n;

    for (n = 0; n < SDMA_NUM_QUEUES && step == VGPU_STEP_DONE; n++) {
        VGPUSdmaMapping m = vgpu_sdma_mapping(cp->s, engine, n);

        if (m.unmapping || (m.mapped && m.listed && !m.fixed)) {
            step = vgpu_cp_sdma_unmap(cp, &cp->hws.queue.exec, engine, n,
                                      false);
        }
    }
    return step;
}

/* Unmap the queues that the list has mapped, except static ones. */
static VGPUStep hws_save(VGPUCp *cp)
{
    CpHws *hws = &cp->hws;
    VGPUStep step = VGPU_STEP_DONE;
    unsigned n;

    for (n = 0; n < CP_NUM_HQDS && step == VGPU_STEP_DONE; n++) {
        CpQueue *q = &cp->queues[n];
        bool leaves;

        WITH_QEMU_LOCK_GUARD(&cp->w.lock) {
            leaves = q->unsaved ||
                     (q->listed && !q->fixed && vgpu_cp_queue_active(q));
        }
        if (leaves) {
            step = vgpu_cp_hqd_unmap(cp, &hws->queue.exec, q, false);
        }
    }
    for (n = 0; n < SDMA_NUM_ENGINES && step == VGPU_STEP_DONE; n++) {
        step = hws_save_sdma(cp, n);
    }
    if (step == VGPU_STEP_DONE) {
        vgpu_cp_hws_release(cp);
        hws->slice = hws->list;
        hws->chains = 0;
        hws->quantum = 0;
        hws->phase = CP_HWS_MAP;
    }
    return step;
}

bool vgpu_cp_hws_pending(const VGPUCp *cp)
{
    const CpHws *hws = &cp->hws;

    return hws->phase != CP_HWS_NONE &&
           !(hws->phase == CP_HWS_RUN && hws->whole_list);
}

/*
 * Report an error in the list as an error of the queue that submitted the list.
 */
static void hws_error(VGPUCp *cp)
{
    CpQueue *owner = &cp->queues[cp->hws.owner];
    const VGPUExec *x = &cp->hws.queue.exec;

    vgpu_cp_hws_end(cp);
    if (vgpu_cp_queue_active(owner) && !owner->error) {
        owner->queue.exec.error = x->error;
        owner->queue.exec.error_bits = x->error_bits;
        owner->queue.exec.dw[0] = x->dw[0];
        vgpu_cp_queue_error(cp, owner);
    }
}

void vgpu_cp_hws_step(VGPUCp *cp)
{
    CpHws *hws = &cp->hws;
    VGPUExec *x = &hws->queue.exec;
    VGPUStep step;

    if (!vgpu_cp_hws_pending(cp)) {
        return;
    }
    x->mem.client = &cp->client;
    x->mem.queue = hws->owner;
    x->error = 0;
    x->error_bits = 0;
    x->dw[0] = 0;
    /*
     * In phase RUN, the scheduler sleeps until the slice's time has elapsed. It
     * is awake, so the next phase is due.
     */
    if (hws->phase == CP_HWS_RUN) {
        hws->phase = CP_HWS_SAVE;
    }
    qemu_mutex_unlock(&cp->w.lock);
    step = hws->phase == CP_HWS_SAVE ? hws_save(cp) : hws_map(cp);
    qemu_mutex_lock(&cp->w.lock);
    if (cp->queues[hws->owner].queue.dequeue) {
        /*
         * The queue that submitted the run list is to be dequeued.
         * mec_timeslice() stops that queue, which ends the run list.
         */
        return;
    }
    if (step == VGPU_STEP_STALL &&
        (x->mem.stall.iommu || x->mem.stall.why == VGPU_WAIT_DEVICE)) {
        vgpu_worker_stall(&cp->w, CP_NUM_HQDS, false);
    } else if (step == VGPU_STEP_BAD_PACKET || step == VGPU_STEP_STALL) {
        /*
         * The scheduler accesses memory with VMID 0, which has no retry faults.
         * Therefore a stall for another reason than the two above is due to
         * poisoned memory.
         */
        hws_error(cp);
    } else if (hws->phase == CP_HWS_RUN && !hws->whole_list) {
        vgpu_exec_sleep(x, MAX(hws->quantum, 1) * (int64_t)SCALE_MS);
        vgpu_worker_stall(&cp->w, CP_NUM_HQDS, false);
    }
}
