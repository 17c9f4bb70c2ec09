/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: saved state of the interrupt handler and of the retry CAM.
 * pci/vmstate.c describes the whole saved state.
 */
#include "qemu/osdep.h"
#include "migration/vmstate.h"
#include "vgpu/gmc.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/ih/internal.h"

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

const VMStateDescription vmstate_vgpu_ih = {
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

const VMStateDescription vmstate_vgpu_faults = {
    .name = "vgpu-kfd/faults",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(cam, VGPUIh, VGPU_RETRY_CAM_SLOTS, 1,
                             vmstate_vgpu_cam, VGPUCamSlot),
        VMSTATE_UINT32(fault_serial, VGPUIh),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_vgpu_cam_times,
        &vmstate_vgpu_fault_ratelimit,
        NULL
    },
};

const VMStateDescription vmstate_vgpu_irq = {
    .name = "vgpu-kfd/irq",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(irq_due, VGPUIh),
        VMSTATE_END_OF_LIST()
    },
};
