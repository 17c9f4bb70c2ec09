/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: saved state. The stream is not trusted: a load checks each value
 * that is used as an index, a count or a kind. A register to which a guest can
 * write any value is not checked, because the device handles all values.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_device.h"
#include "migration/vmstate.h"
#include "vgpu/device_info.h"
#include "hw/misc/vgpu-kfd/core/counters.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/hub.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"
#include "hw/misc/vgpu-kfd/pci/internal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

/*
 * At save and at load, the machine is stopped and the engines are paused: no
 * engine executes a step.
 */
static int vgpu_pre_save(void *opaque)
{
    VGPUState *s = opaque;

    vgpu_invalidate_complete(s);
    trace_vgpu_state_save(s->id);
    return 0;
}

static int vgpu_post_load(void *opaque, int version_id)
{
    VGPUState *s = opaque;

    if (!vgpu_vram_bar_load(s)) {
        return -EINVAL;
    }
    /*
     * Drop translations from before the load: a TLB entry would count as valid
     * if its generation happened to equal the loaded generation.
     */
    vgpu_clients_flush_tlb(s);
    trace_vgpu_state_load(s->id);
    return 0;
}

static const VMStateDescription vmstate_nbio = {
    .name = "vgpu-kfd/nbio",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(pcie, VGPUPci, VGPU_PCIE_SPAN),
        VMSTATE_UINT32_ARRAY(nbio, VGPUPci, VGPU_NBIO_SPAN),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_counter_latch = {
    .name = "vgpu-kfd/counter-latch",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(counter_latched, VGPUPci),
        VMSTATE_END_OF_LIST()
    },
};

/*
 * QEMU saves and loads the fields in this order, so another order would be
 * another stream format. QEMU migrates VRAM separately.
 */
static const VMStateDescription vmstate_vgpu_chip = {
    .name = "vgpu-kfd/chip",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = vgpu_pre_save,
    .post_load = vgpu_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, VGPUState),
        VMSTATE_STRUCT_POINTER(memory, VGPUState, vmstate_vgpu_xgmi,
                               VGPUMemory),
        VMSTATE_STRUCT_POINTER(ih, VGPUState, vmstate_vgpu_irq, VGPUIh),
        VMSTATE_STRUCT_POINTER(pci, VGPUState, vmstate_nbio, VGPUPci),
        VMSTATE_STRUCT_POINTER(memory, VGPUState, vmstate_vgpu_athub,
                               VGPUMemory),
        VMSTATE_STRUCT_POINTER(cp, VGPUState, vmstate_vgpu_clock, VGPUCp),
        VMSTATE_STRUCT_POINTER(pci, VGPUState, vmstate_counter_latch, VGPUPci),
        VMSTATE_ARRAY(counters, VGPUState, VGPU_NUM_COUNTERS, 1,
                      vgpu_vmstate_info_stat64, Stat64),
        VMSTATE_STRUCT_POINTER(memory, VGPUState, vmstate_vgpu_hubs,
                               VGPUMemory),
        VMSTATE_STRUCT_POINTER(ih, VGPUState, vmstate_vgpu_ih, VGPUIh),
        VMSTATE_STRUCT_POINTER(ih, VGPUState, vmstate_vgpu_faults, VGPUIh),
        VMSTATE_STRUCT_POINTER(memory, VGPUState, vmstate_vgpu_generations,
                               VGPUMemory),
        VMSTATE_STRUCT_POINTER(sdma, VGPUState, vmstate_vgpu_sdma, VGPUSdma),
        VMSTATE_STRUCT_POINTER(cp, VGPUState, vmstate_vgpu_cp, VGPUCp),
        VMSTATE_END_OF_LIST()
    },
};

/*
 * Load the state. After an error, reset the chip: some loaded fields may be
 * unchecked, and the user may resume the machine.
 */
static int get_chip(QEMUFile *f, void *pv, size_t size,
                    const VMStateField *field)
{
    VGPUState *s = pv;
    int ret = vmstate_load_state(f, &vmstate_vgpu_chip, s,
                                 vmstate_vgpu_chip.version_id);

    if (ret) {
        vgpu_chip_reset(s);
        vgpu_vram_bar_reset(s);
        vgpu_clients_flush_tlb(s);
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
