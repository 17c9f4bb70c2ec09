/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: saved state of the compute queues and of the scheduler (HWS). Of
 * the progress of a packet in execution, only q->phase is saved.
 */
#include "qemu/osdep.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/cp/internal.h"

static int queue_pre_save(void *opaque)
{
    CpQueue *q = opaque;

    /*
     * q->clamped is not saved. If q->clamped is set, the write pointer in
     * memory is beyond the ring, and is to be read again after the load.
     */
    q->queue.poll_wptr |= q->queue.exec.poll_wptr || q->clamped;
    return 0;
}

static int queue_post_load(void *opaque, int version_id)
{
    CpQueue *q = opaque;
    const VGPUExec *x = &q->queue.exec;
    VGPUExec kept = {
        .writeback = x->writeback, .ib_depth = x->ib_depth, .ib[0] = x->ib[0],
    };

    if (kept.ib[0].vmid >= VGPU_NUM_VMIDS || kept.ib[0].pos > kept.ib[0].size ||
        kept.ib[0].size > PM4_IB_DW3__SIZE) {
        return -EINVAL;
    }
    q->queue.exec = kept;
    q->queue.wait = VGPU_WAIT_NONE;     /* the packet is executed again */
    q->queue.dequeue = false;
    q->clamped = false;
    return 0;
}

/* The depth of indirect buffers is 0 or 1, and is saved as a bool. */
static int get_in_ib(QEMUFile *f, void *pv, size_t size,
                     const VMStateField *field)
{
    unsigned *depth = pv;

    *depth = qemu_get_byte(f) != 0;
    return 0;
}

static int put_in_ib(QEMUFile *f, void *pv, size_t size,
                     const VMStateField *field, JSONWriter *vmdesc)
{
    const unsigned *depth = pv;

    qemu_put_byte(f, *depth);
    return 0;
}

static const VMStateInfo vmstate_info_in_ib = {
    .name = "vgpu-kfd/in-ib",
    .get = get_in_ib,
    .put = put_in_ib,
};

static const VMStateDescription vmstate_cp_queue = {
    .name = "vgpu-kfd/cp-queue",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = queue_pre_save,
    .post_load = queue_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, CpQueue, CP_HQD_SPAN),
        VMSTATE_UINT32_ARRAY(sh, CpQueue, PM4_SH_COMPUTE_COUNT),
        VMSTATE_UINT64(queue.rptr, CpQueue),
        VMSTATE_UINT64(queue.wptr, CpQueue),
        VMSTATE_BOOL(queue.poll_wptr, CpQueue),
        VMSTATE_BOOL(error, CpQueue),
        VMSTATE_BOOL(mapped, CpQueue),
        VMSTATE_BOOL(listed, CpQueue),
        VMSTATE_BOOL(hiq, CpQueue),
        VMSTATE_BOOL(fixed, CpQueue),
        VMSTATE_BOOL(unsaved, CpQueue),
        VMSTATE_UINT32(phase, CpQueue),
        VMSTATE_BOOL(queue.exec.writeback, CpQueue),
        VMSTATE_SINGLE(queue.exec.ib_depth, CpQueue, 1, vmstate_info_in_ib,
                       unsigned),
        VMSTATE_UINT64(queue.exec.ib[0].base, CpQueue),
        VMSTATE_UINT32(queue.exec.ib[0].size, CpQueue),
        VMSTATE_UINT32(queue.exec.ib[0].pos, CpQueue),
        VMSTATE_UINT8(queue.exec.ib[0].vmid, CpQueue),
        VMSTATE_END_OF_LIST()
    },
};

static bool hws_list_bad(const VGPUIndirect *list)
{
    return list->size > PM4_RUN_DW3__SIZE || list->pos > list->size;
}

static int hws_post_load(void *opaque, int version_id)
{
    CpHws *hws = opaque;

    if (hws->phase > CP_HWS_RUN || hws->owner >= CP_NUM_HQDS ||
        hws_list_bad(&hws->list) || hws_list_bad(&hws->slice) ||
        (hws->vmids & 1)) {
        return -EINVAL;
    }
    /* slice_post_load() runs later, and may then set VGPU_WAIT_POLL. */
    hws->queue.wait = VGPU_WAIT_NONE;
    return 0;
}

static const VMStateDescription vmstate_cp_process = {
    .name = "vgpu-kfd/cp-process",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(valid, CpProcess),
        VMSTATE_UINT16(pasid, CpProcess),
        VMSTATE_UINT8(quantum, CpProcess),
        VMSTATE_UINT64(page_table, CpProcess),
        VMSTATE_UINT32(sh_mem_bases, CpProcess),
        VMSTATE_UINT32(sh_mem_config, CpProcess),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_cp_hws = {
    .name = "vgpu-kfd/cp-hws",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = hws_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_SINGLE(phase, CpHws, 1, vmstate_info_uint32, CpHwsPhase),
        VMSTATE_UINT8(owner, CpHws),
        VMSTATE_UINT8(max_processes, CpHws),
        VMSTATE_UINT8(chains, CpHws),
        VMSTATE_UINT8(quantum, CpHws),
        VMSTATE_BOOL(whole_list, CpHws),
        VMSTATE_BOOL(starved, CpHws),
        VMSTATE_UINT64(list.base, CpHws),
        VMSTATE_UINT32(list.size, CpHws),
        VMSTATE_UINT32(list.pos, CpHws),
        VMSTATE_UINT64(slice.base, CpHws),
        VMSTATE_UINT32(slice.size, CpHws),
        VMSTATE_UINT32(slice.pos, CpHws),
        VMSTATE_STRUCT(process, CpHws, 1, vmstate_cp_process, CpProcess),
        VMSTATE_UINT16(vmids, CpHws),
        VMSTATE_UINT16_ARRAY(pasids, CpHws, VGPU_NUM_VMIDS),
        VMSTATE_END_OF_LIST()
    },
};

static bool slice_needed(void *opaque)
{
    const VGPUCp *cp = opaque;

    return cp->hws.phase == CP_HWS_RUN &&
           cp->hws.queue.wait == VGPU_WAIT_POLL;
}

static int slice_post_load(void *opaque, int version_id)
{
    VGPUCp *cp = opaque;
    VGPUStall *stall = &cp->hws.queue.exec.mem.stall;

    if (cp->hws.phase != CP_HWS_RUN || cp->hws.whole_list || stall->until < 0) {
        return -EINVAL;
    }
    stall->why = VGPU_WAIT_POLL;
    cp->hws.queue.wait = VGPU_WAIT_POLL;
    return 0;
}

/*
 * While a slice with a time limit runs, the scheduler's queue is stalled.
 * stall.until is the end of the slice (ns, QEMU_CLOCK_VIRTUAL).
 */
static const VMStateDescription vmstate_cp_slice = {
    .name = "vgpu-kfd/cp/slice",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = slice_needed,
    .post_load = slice_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_INT64(hws.queue.exec.mem.stall.until, VGPUCp),
        VMSTATE_END_OF_LIST()
    },
};

/*
 * Reject values that a running device never has: w.next above the number of the
 * worker's queues (HQDs and scheduler), and VMID 0 in vmid_mask.
 */
static int cp_post_load(void *opaque, int version_id)
{
    const VGPUCp *cp = opaque;

    /* VMID 0 belongs to the driver, so SET_RESOURCES excludes VMID 0. */
    return cp->w.next <= CP_NUM_HQDS + 1 && !(cp->vmid_mask & 1) ? 0 : -EINVAL;
}

const VMStateDescription vmstate_vgpu_cp = {
    .name = "vgpu-kfd/cp",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = cp_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(w.next, VGPUCp),
        VMSTATE_UINT32(grbm_gfx_cntl, VGPUCp),
        VMSTATE_UINT32(mec_cntl, VGPUCp),
        VMSTATE_UINT32(schedulers, VGPUCp),
        VMSTATE_UINT64(queue_mask, VGPUCp),
        VMSTATE_UINT16(vmid_mask, VGPUCp),
        VMSTATE_STRUCT(hws, VGPUCp, 1, vmstate_cp_hws, CpHws),
        VMSTATE_UINT32_ARRAY(regs, VGPUCp, CP_NUM_GC_REGS),
        VMSTATE_UINT32_ARRAY(sh_mem_bases, VGPUCp, VGPU_NUM_VMIDS),
        VMSTATE_UINT32_ARRAY(sh_mem_config, VGPUCp, VGPU_NUM_VMIDS),
        VMSTATE_STRUCT_ARRAY(queues, VGPUCp, CP_NUM_HQDS, 1, vmstate_cp_queue,
                             CpQueue),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_vgpu_cp_gws,
        &vmstate_cp_slice,
        NULL
    },
};

const VMStateDescription vmstate_vgpu_clock = {
    .name = "vgpu-kfd/clock",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(clock_captured, VGPUCp),
        VMSTATE_END_OF_LIST()
    },
};
