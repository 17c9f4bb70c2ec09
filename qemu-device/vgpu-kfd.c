/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the memory side of an AMD gfx90a (MI200) GPU.
 *
 * Specification: docs/hardware.md of the vgpu-kfd project.
 *
 *   -device vgpu-kfd,vram=1G
 *
 * Properties:
 *   vram   size of VRAM and of BAR 0: a power of two, 64 MiB to 16 GiB
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bitmap.h"
#include "qemu/host-utils.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "hw/pci/msi.h"
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "vgpu-kfd.h"

#define VGPU_VRAM_MIN   (64 * MiB)
#define VGPU_VRAM_MAX   (16 * GiB)
#define VGPU_PCIE_CAP   0x80

uint64_t vgpu_clock(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) /
           (NANOSECONDS_PER_SECOND / VGPU_CLOCK_HZ);
}

static void vgpu_reset_hold(Object *obj, ResetType type)
{
    VGPUState *s = VGPU_KFD(obj);
    unsigned i;

    vgpu_sdma_reset(s);
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        vgpu_gmc_reset(s);
        vgpu_ih_reset(s);
        s->serial = 0;
    }
    s->nbio_aper_en = 0;
    s->nbio_fb_en = 3;
    s->nbio_hdp_req = 0;
    s->pcie_index = 0;
    memset(s->nbio_remap, 0, sizeof(s->nbio_remap));
    memset(s->nbio_range, 0, sizeof(s->nbio_range));
    s->clock_capture = 0;
    for (i = 0; i < VGPU_NUM_COUNTERS; i++) {
        stat64_set(&s->counters[i], 0);
    }
    bitmap_zero(s->guest_errors, VGPU_MMIO_DWORDS);
}

static void vgpu_realize(PCIDevice *pci, Error **errp)
{
    VGPUState *s = VGPU_KFD(pci);
    ERRP_GUARD();

    if (s->vram_size < VGPU_VRAM_MIN || s->vram_size > VGPU_VRAM_MAX ||
        !is_power_of_2(s->vram_size)) {
        error_setg(errp, "vram=%" PRIu64 " must be a power of two "
                   "from 64 MiB to 16 GiB", s->vram_size);
        return;
    }
    if (!memory_region_init_ram(&s->vram, OBJECT(s), "vgpu-kfd.vram",
                                s->vram_size, errp)) {
        return;
    }
    if (pcie_endpoint_cap_init(pci, VGPU_PCIE_CAP) < 0) {
        error_setg(errp, "cannot add the PCI Express capability");
        return;
    }
    if (msi_init(pci, 0, 1, true, false, errp)) {
        pcie_cap_exit(pci);
        return;
    }
    pci_config_set_interrupt_pin(pci->config, 0);

    s->vram_ptr = memory_region_get_ram_ptr(&s->vram);
    s->id = g_strdup(DEVICE(s)->id ?: "vgpu-kfd");
    s->guest_errors = bitmap_new(VGPU_MMIO_DWORDS);
    s->irq_bh = qemu_bh_new_guarded(vgpu_ih_bh, s,
                                    &DEVICE(s)->mem_reentrancy_guard);
    qemu_mutex_init(&s->lock);

    memory_region_init_io(&s->doorbell, OBJECT(s), &vgpu_doorbell_ops, s,
                          "vgpu-kfd.doorbell", VGPU_DOORBELL_BAR_SIZE);
    memory_region_init_io(&s->mmio, OBJECT(s), &vgpu_mmio_ops, s,
                          "vgpu-kfd.mmio", VGPU_MMIO_BAR_SIZE);
    pci_register_bar(pci, VGPU_BAR_VRAM, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->vram);
    pci_register_bar(pci, VGPU_BAR_DOORBELL, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->doorbell);
    pci_register_bar(pci, VGPU_BAR_MMIO, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &s->mmio);

    vgpu_sdma_start(s);
}

static void vgpu_exit(PCIDevice *pci)
{
    VGPUState *s = VGPU_KFD(pci);

    vgpu_sdma_stop(s);
    qemu_bh_delete(s->irq_bh);
    qemu_mutex_destroy(&s->lock);
    g_free(s->guest_errors);
    g_free(s->id);
    msi_uninit(pci);
    pcie_cap_exit(pci);
}

static const Property vgpu_properties[] = {
    DEFINE_PROP_SIZE("vram", VGPUState, vram_size, 1 * GiB),
};

static const VMStateDescription vmstate_vgpu = {
    .name = TYPE_VGPU_KFD,
    .unmigratable = 1,
};

static void vgpu_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    k->realize = vgpu_realize;
    k->exit = vgpu_exit;
    k->vendor_id = VGPU_PCI_VENDOR_ID;
    k->device_id = VGPU_PCI_DEVICE_ID;
    k->subsystem_vendor_id = VGPU_PCI_SUBVENDOR_ID;
    k->subsystem_id = VGPU_PCI_SUBDEVICE_ID;
    k->revision = VGPU_PCI_REVISION;
    k->class_id = VGPU_PCI_CLASS;
    rc->phases.hold = vgpu_reset_hold;
    dc->vmsd = &vmstate_vgpu;
    dc->desc = "memory system of an AMD gfx90a GPU";
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    device_class_set_props(dc, vgpu_properties);
    object_class_property_set_description(klass, "vram",
        "size of VRAM: a power of two from 64 MiB to 16 GiB (default: 1 GiB)");
}

static const TypeInfo vgpu_info = {
    .name = TYPE_VGPU_KFD,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(VGPUState),
    .class_init = vgpu_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { }
    },
};

static void vgpu_register_types(void)
{
    type_register_static(&vgpu_info);
}

type_init(vgpu_register_types)
