/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: saved state of the hubs. pci/vmstate.c describes the whole saved
 * state. The generations of VMIDs are saved, but not the entries of TLBs. TLBs
 * are empty after a load.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "hw/misc/vgpu-kfd/memory/internal.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"

/*
 * Clear @waiting, so that pending requests can be acknowledged: during a load,
 * workers are paused, and no access uses old translations.
 */
static int invalidation_post_load(void *opaque, int version_id)
{
    VGPUInvalidation *inv = opaque;

    inv->pending &= VM_INVALIDATE_ENG_REQ__PER_VMID;
    inv->no_ack = 0;
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

const VMStateDescription vmstate_vgpu_hubs = {
    .name = "vgpu-kfd/hubs",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(hubs, VGPUMemory, VGPU_NUM_HUBS, 1,
                             vmstate_vgpu_hub, VGPUHub),
        VMSTATE_END_OF_LIST()
    },
};

QEMU_BUILD_BUG_ON(VGPU_NUM_HUBS != 2);

const VMStateDescription vmstate_vgpu_generations = {
    .name = "vgpu-kfd/generations",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(hubs[0].gen, VGPUMemory, VGPU_NUM_VMIDS),
        VMSTATE_UINT32_ARRAY(hubs[1].gen, VGPUMemory, VGPU_NUM_VMIDS),
        VMSTATE_UINT32_ARRAY(hubs[0].invs, VGPUMemory, VGPU_NUM_VMIDS),
        VMSTATE_UINT32_ARRAY(hubs[1].invs, VGPUMemory, VGPU_NUM_VMIDS),
        VMSTATE_END_OF_LIST()
    },
};

const VMStateDescription vmstate_vgpu_athub = {
    .name = "vgpu-kfd/athub",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(athub, VGPUMemory, VGPU_ATHUB_SPAN),
        VMSTATE_END_OF_LIST()
    },
};

/*
 * The guest uses addresses that depend on the node number. The number is a
 * property and constant after realize, so refuse a state with a different node
 * number.
 */
static int get_node(QEMUFile *f, void *pv, size_t size,
                    const VMStateField *field)
{
    const uint8_t *node = pv;
    uint8_t saved = qemu_get_byte(f);

    if (saved == *node) {
        return 0;
    }
    error_report("this state is of node %u of a hive, not of node %u: "
                 "start the device with node=%u, and with hive= the id of a "
                 "vgpu-hive object", saved, *node, saved);
    return -EINVAL;
}

static int put_node(QEMUFile *f, void *pv, size_t size,
                    const VMStateField *field, JSONWriter *vmdesc)
{
    const uint8_t *node = pv;

    qemu_put_byte(f, *node);
    return 0;
}

static const VMStateInfo vmstate_info_node = {
    .name = "vgpu-kfd/node",
    .get = get_node,
    .put = put_node,
};

const VMStateDescription vmstate_vgpu_xgmi = {
    .name = "vgpu-kfd/xgmi",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_SINGLE(xgmi_node, VGPUMemory, 1, vmstate_info_node, uint8_t),
        VMSTATE_END_OF_LIST()
    },
};
