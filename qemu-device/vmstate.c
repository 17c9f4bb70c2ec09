/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the state that moves with the machine, a description a block.
 *
 * Engines are parked when it is saved and when it is loaded: the machine is
 * stopped (vgpu_engine_pause()). A queue may be in the middle of a packet, or
 * wait for a fault; what it waits for is not saved but looked for again. TLBs
 * start empty, so that what is saved of translations is their generation.
 * VRAM is a RAM block of the device and moves by itself.
 *
 * A stream may be anything. What is used as an index, a count or a kind is
 * checked here; registers are not, where a guest could have written the value.
 * If loading fails, for whatever reason, the chip is reset.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "hw/pci/pci_device.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/core/trace.h"

/* The longest packet: a payload or a skipped stretch with its fixed part. */
#define NDW_MAX         (VGPU_PKT_MAX_DWORDS + (1u << 20))
#define IB_SIZE_MAX     (1u << 20)

static int stall_post_load(void *opaque, int version_id)
{
    VGPUStall *stall = opaque;

    if (stall->why > VGPU_WAIT_RETRY || stall->hub >= VGPU_NUM_HUBS ||
        stall->vmid >= VGPU_NUM_VMIDS || stall->cam >= VGPU_CAM_SLOTS) {
        return -EINVAL;
    }
    stall->until = 0;           /* another host's clock */
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

/* Also for other clients than SDMA engines. */
const VMStateDescription vmstate_vgpu_view = {
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

/* A buffer that is done was left: retire(). */
bool vgpu_exec_valid(const VGPUExec *x)
{
    unsigned i;

    if (x->ib_depth > ARRAY_SIZE(x->ib) || x->ndw > NDW_MAX ||
        x->ring_ndw > NDW_MAX) {
        return false;
    }
    for (i = 0; i < x->ib_depth; i++) {
        if (!indirect_valid(&x->ib[i]) || x->ib[i].pos > x->ib[i].size ||
            (i + 1 == x->ib_depth && x->ib[i].pos == x->ib[i].size)) {
            return false;
        }
    }
    return !x->packet || vgpu_packet_valid(x);
}

static int exec_post_load(void *opaque, int version_id)
{
    VGPUExec *x = opaque;

    if (!vgpu_exec_valid(x)) {
        return -EINVAL;
    }
    x->slow = 0;                /* injections stay where they are */
    x->wrong_xor = 0;
    x->began = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
    return 0;
}

/* What queue_load() takes from registers is not here. */
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

static int queue_post_load(void *opaque, int version_id)
{
    VGPUQueue *q = opaque;

    if (q->exception & ~VGPU_GET(UINT32_MAX, SDMA_CONTEXT_STATUS__EXCEPTION)) {
        return -EINVAL;
    }
    if (q->mapped > VGPU_SDMA_RESETS) {
        return -EINVAL;
    }
    q->restart = false;
    q->wait = VGPU_WAIT_NONE;           /* look again */
    return 0;
}

static const VMStateDescription vmstate_vgpu_queue = {
    .name = "vgpu-kfd/queue",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = queue_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, VGPUQueue, VGPU_SDMA_QUEUE_SPAN),
        VMSTATE_UINT64(rptr, VGPUQueue),
        VMSTATE_UINT64(wptr, VGPUQueue),
        VMSTATE_UINT32(exception, VGPUQueue),
        VMSTATE_BOOL(poll_wptr, VGPUQueue),
        VMSTATE_SINGLE(mapped, VGPUQueue, 1, vmstate_info_uint32,
                       VGPUSdmaMapped),
        VMSTATE_BOOL(listed, VGPUQueue),
        VMSTATE_BOOL(fixed, VGPUQueue),
        VMSTATE_UINT64(mqd, VGPUQueue),
        VMSTATE_STRUCT(exec, VGPUQueue, 1, vmstate_vgpu_exec, VGPUExec),
        VMSTATE_END_OF_LIST()
    },
};

static int engine_post_load(void *opaque, int version_id)
{
    const VGPUEngine *e = opaque;

    return e->w.next <= SDMA_NUM_QUEUES ? 0 : -EINVAL;
}

static const VMStateDescription vmstate_vgpu_engine = {
    .name = "vgpu-kfd/engine",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = engine_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(w.next, VGPUEngine),
        VMSTATE_UINT64(clock_offset, VGPUEngine),
        VMSTATE_UINT32_ARRAY(regs, VGPUEngine, VGPU_SDMA_ENGINE_SPAN),
        VMSTATE_STRUCT_ARRAY(queues, VGPUEngine, SDMA_NUM_QUEUES, 1,
                             vmstate_vgpu_queue, VGPUQueue),
        VMSTATE_END_OF_LIST()
    },
};

/* Nobody is inside a translation: what is pending is only to be noticed. */
static int invalidation_post_load(void *opaque, int version_id)
{
    VGPUInvalidation *inv = opaque;

    inv->pending &= VM_INVALIDATE_ENG_REQ__PER_VMID;
    inv->mute = 0;
    memset(inv->waiting, 0, sizeof(inv->waiting));
    return 0;
}

static const VMStateDescription vmstate_vgpu_invalidation = {
    .name = "vgpu-kfd/invalidation",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = invalidation_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(pending, VGPUInvalidation),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_vgpu_hub = {
    .name = "vgpu-kfd/hub",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, VGPUHub, HUB_SPAN),
        VMSTATE_STRUCT_ARRAY(inv, VGPUHub, VGPU_NUM_INV_ENGINES, 1,
                             vmstate_vgpu_invalidation, VGPUInvalidation),
        VMSTATE_END_OF_LIST()
    },
};

static int ih_ring_post_load(void *opaque, int version_id)
{
    const VGPUIhRing *r = opaque;
    uint32_t bad = ~IH_RB_WPTR__OFFSET | (IH_ENTRY_BYTES - 1);

    return (r->rptr & bad) || (r->wptr & bad) ? -EINVAL : 0;
}

static const VMStateDescription vmstate_vgpu_ih_ring = {
    .name = "vgpu-kfd/ih-ring",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = ih_ring_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(rptr, VGPUIhRing),
        VMSTATE_UINT32(wptr, VGPUIhRing),
        VMSTATE_BOOL(overflow, VGPUIhRing),
        VMSTATE_BOOL(lost, VGPUIhRing),
        VMSTATE_END_OF_LIST()
    },
};

static bool unannounced_needed(void *opaque)
{
    const VGPUIh *ih = opaque;

    return ih->unannounced;
}

static int unannounced_post_load(void *opaque, int version_id)
{
    const VGPUIh *ih = opaque;
    uint8_t rings = (1u << IH_NUM_RINGS) - 2;

    return ih->unannounced & ~rings ? -EINVAL : 0;
}

static const VMStateDescription vmstate_vgpu_ih_unannounced = {
    .name = "vgpu-kfd/ih/unannounced",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = unannounced_needed,
    .post_load = unannounced_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT8(unannounced, VGPUIh),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_vgpu_ih = {
    .name = "vgpu-kfd/ih",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, VGPUIh, VGPU_IH_SPAN),
        VMSTATE_UINT32_ARRAY(client_cfg, VGPUIh, IH_NUM_CLIENTS),
        VMSTATE_STRUCT_ARRAY(rings, VGPUIh, IH_NUM_RINGS, 1,
                             vmstate_vgpu_ih_ring, VGPUIhRing),
        VMSTATE_UINT64(last_timestamp, VGPUIh),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_vgpu_ih_unannounced,
        NULL
    },
};

static int cam_post_load(void *opaque, int version_id)
{
    const VGPUCamSlot *c = opaque;

    return c->hub < VGPU_NUM_HUBS && c->vmid < VGPU_NUM_VMIDS ? 0 : -EINVAL;
}

static const VMStateDescription vmstate_vgpu_cam = {
    .name = "vgpu-kfd/cam",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = cam_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(used, VGPUCamSlot),
        VMSTATE_UINT8(hub, VGPUCamSlot),
        VMSTATE_UINT8(vmid, VGPUCamSlot),
        VMSTATE_UINT64(page, VGPUCamSlot),
        VMSTATE_UINT32(serial, VGPUCamSlot),
        VMSTATE_END_OF_LIST()
    },
};

static int get_stat64(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field)
{
    stat64_set(pv, qemu_get_be64(f));
    return 0;
}

static int put_stat64(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, JSONWriter *vmdesc)
{
    qemu_put_be64(f, stat64_get(pv));
    return 0;
}

static const VMStateInfo vmstate_info_stat64 = {
    .name = "stat64",
    .get = get_stat64,
    .put = put_stat64,
};

static int vgpu_pre_save(void *opaque)
{
    VGPUState *s = opaque;

    vgpu_gmc_settle(s);
    trace_vgpu_state_save(s->id);
    return 0;
}

/* Loaded generations may be those of translations from before the load. */
static void forget_translations(VGPUState *s)
{
    unsigned i;

    for (i = 0; i < VGPU_NUM_CLIENTS; i++) {
        vgpu_client_forget(s->clients[i]);
    }
}

static int vgpu_post_load(void *opaque, int version_id)
{
    VGPUState *s = opaque;

    if (!vgpu_vram_load_bar(s)) {
        return -EINVAL;
    }
    vgpu_fault_post_load(s);
    forget_translations(s);
    trace_vgpu_state_load(s->id);
    return 0;
}

static const VMStateDescription vmstate_vgpu_chip = {
    .name = "vgpu-kfd/chip",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = vgpu_pre_save,
    .post_load = vgpu_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, VGPUState),
        VMSTATE_UINT8_EQUAL(xgmi_node, VGPUState, "another place in the hive"),
        VMSTATE_BOOL(irq_due, VGPUState),
        VMSTATE_UINT32_ARRAY(pcie, VGPUState, VGPU_PCIE_SPAN),
        VMSTATE_UINT32_ARRAY(nbio, VGPUState, VGPU_NBIO_SPAN),
        VMSTATE_UINT32_ARRAY(athub, VGPUState, VGPU_ATHUB_SPAN),
        VMSTATE_UINT64(clock_captured, VGPUState),
        VMSTATE_UINT32(counter_latched, VGPUState),
        VMSTATE_ARRAY(counters, VGPUState, VGPU_NUM_COUNTERS, 1,
                      vmstate_info_stat64, Stat64),
        VMSTATE_STRUCT_ARRAY(hubs, VGPUState, VGPU_NUM_HUBS, 1,
                             vmstate_vgpu_hub, VGPUHub),
        VMSTATE_STRUCT(ih, VGPUState, 1, vmstate_vgpu_ih, VGPUIh),
        VMSTATE_STRUCT_ARRAY(cam, VGPUState, VGPU_CAM_SLOTS, 1,
                             vmstate_vgpu_cam, VGPUCamSlot),
        VMSTATE_UINT32(fault_serial, VGPUState),
        VMSTATE_UINT32_2DARRAY(gen, VGPUState, VGPU_NUM_HUBS, VGPU_NUM_VMIDS),
        VMSTATE_UINT32_2DARRAY(invs, VGPUState, VGPU_NUM_HUBS, VGPU_NUM_VMIDS),
        VMSTATE_STRUCT_ARRAY(engines, VGPUState, SDMA_NUM_ENGINES, 1,
                             vmstate_vgpu_engine, VGPUEngine),
        VMSTATE_STRUCT_POINTER(cp, VGPUState, vmstate_vgpu_cp, VGPUCp),
        VMSTATE_END_OF_LIST()
    },
};

/*
 * A stream that is refused, or ends, leaves fields that no post_load() has
 * checked, and the machine may be continued: reset the chip.
 */
static int get_chip(QEMUFile *f, void *pv, size_t size,
                    const VMStateField *field)
{
    VGPUState *s = pv;
    int ret = vmstate_load_state(f, &vmstate_vgpu_chip, s,
                                 vmstate_vgpu_chip.version_id);

    if (ret) {
        vgpu_chip_reset(s);
        vgpu_vram_reset_bar(s);
        forget_translations(s);
    }
    return ret;
}

static int put_chip(QEMUFile *f, void *pv, size_t size,
                    const VMStateField *field, JSONWriter *vmdesc)
{
    return vmstate_save_state(f, &vmstate_vgpu_chip, pv, vmdesc);
}

static const VMStateInfo vmstate_info_chip = {
    .name = "vgpu-kfd/chip",
    .get = get_chip,
    .put = put_chip,
};

const VMStateDescription vmstate_vgpu = {
    .name = "vgpu-kfd",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        {
            .name = "chip",
            .info = &vmstate_info_chip,
            .size = sizeof(VGPUState),
            .flags = VMS_SINGLE,
        },
        VMSTATE_END_OF_LIST()
    },
};
