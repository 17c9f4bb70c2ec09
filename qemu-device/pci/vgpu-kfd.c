/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: the PCI device. It models an AMD gfx90a (MI200) GPU without the
 * shaders: VRAM, page tables, SDMA engines, compute queues and interrupts.
 * docs/hardware.md of the vgpu-kfd project specifies the device and its
 * properties.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "hw/pci/msi.h"
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "system/runstate.h"
#include "vgpu/pci.h"
#include "hw/misc/vgpu-kfd/core/delay.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/inject/inject.h"
#include "hw/misc/vgpu-kfd/memory/hive.h"
#include "hw/misc/vgpu-kfd/memory/iommu.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"
#include "hw/misc/vgpu-kfd/memory/vram.h"
#include "hw/misc/vgpu-kfd/memory/xgmi.h"
#include "hw/misc/vgpu-kfd/pci/internal.h"
#include "hw/misc/vgpu-kfd/psp/psp.h"
#include "hw/misc/vgpu-kfd/queue/scheduler.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

#define PCIE_CAP        0x80
/*
 * Default of poll-ns: longer than a TCG guest takes between two packets.
 * Medians of vgpu-bench on two CPUs:
 *
 *   poll-ns              0      25 us    50 us    100 us
 *   sdma-first-byte     17 us   14 us   1.7 us    1.3 us
 *   sdma-round-trip     19 us   16 us     7 us      3 us
 */
#define POLL_NS         (50 * SCALE_US)

/*
 * Default of property inline-bytes: a page, the largest packet in the repair of
 * a fault. The host copies it in less than a wake-up of the thread takes.
 * Larger values were not faster, and hold the BQL for longer.
 */
#define INLINE_BYTES    4096

static void vgpu_kfd_reset_hold(Object *obj, ResetType type)
{
    VGPUState *s = VGPU_KFD(obj);

    vgpu_chip_reset(s);
    vgpu_vram_bar_reset(s);
}

static void vgpu_kfd_config_write(PCIDevice *pci, uint32_t addr, uint32_t val,
                                  int len)
{
    VGPUState *s = VGPU_KFD(pci);

    if (s->removed) {
        return;
    }
    /*
     * If this write disables bus mastering, the memory map of the bus changes.
     * QEMU then calls bus_commit() (memory/phys.c), which waits until the
     * device's memory accesses in progress have ended.
     */
    pci_default_write_config(pci, addr, val, len);
    vgpu_vram_bar_config_written(s, addr, len);
    pcie_cap_flr_write_config(pci, addr, val, len);
}

static void vgpu_kfd_vm_state(void *opaque, bool running, RunState state)
{
    VGPUState *s = opaque;

    vgpu_sdma_pause(s, !running);
    vgpu_cp_pause(s, !running);
    if (!running) {
        /*
         * Write queued interrupt entries now, since guest memory may be saved
         * next.
         */
        vgpu_ih_flush(s, true);
        return;
    }
    vgpu_iommu_schedule(s);
    vgpu_ih_resume(s);
}

static bool vgpu_kfd_init_pci(VGPUState *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    int ret;

    ret = pcie_endpoint_cap_init(pci, PCIE_CAP);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot add the PCI Express capability");
        return false;
    }
    pcie_cap_flr_init(pci);
    if (msi_init(pci, 0, 1, true, false, errp)) {
        pcie_cap_exit(pci);
        return false;
    }
    pci_config_set_interrupt_pin(pci->config, 0);

    memory_region_init_io(&s->pci->doorbell, OBJECT(s), &vgpu_doorbell_ops, s,
                          "vgpu-kfd.doorbell", VGPU_DOORBELL_BAR_SIZE);
    memory_region_init_io(&s->pci->mmio, OBJECT(s), &vgpu_mmio_ops, s,
                          "vgpu-kfd.mmio", VGPU_MMIO_BAR_SIZE);
    vgpu_vram_bar_init(s);
    pci_register_bar(pci, VGPU_BAR_DOORBELL, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->pci->doorbell);
    pci_register_bar(pci, VGPU_BAR_MMIO, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &s->pci->mmio);
    return true;
}

static void vgpu_kfd_realize(PCIDevice *pci, Error **errp)
{
    VGPUState *s = VGPU_KFD(pci);

    if (!vgpu_vram_init(s, errp)) {
        return;
    }
    if (!vgpu_vram_bar_check(s, errp)) {
        vgpu_vram_exit(s);
        return;
    }
    if (!vgpu_delay_init(s, errp)) {
        vgpu_vram_bar_exit(s);
        vgpu_vram_exit(s);
        return;
    }
    if (!vgpu_kfd_init_pci(s, errp)) {
        vgpu_delay_destroy(s);
        vgpu_vram_bar_exit(s);
        vgpu_vram_exit(s);
        return;
    }
    if (!vgpu_xgmi_join(s, errp)) {
        msi_uninit(pci);
        pcie_cap_exit(pci);
        vgpu_delay_destroy(s);
        vgpu_vram_bar_exit(s);
        vgpu_vram_exit(s);
        return;
    }
    g_free(s->id);
    s->id = g_strdup(object_get_canonical_path_component(OBJECT(s)));
    qatomic_set(&s->removed, false);
    vgpu_mmio_init(s);
    vgpu_psp_init(s, vgpu_chip_reset);
    qemu_mutex_init(&s->lock);
    vgpu_cam_init(s);
    vgpu_inject_init(s);
    vgpu_invalidate_inject_init(s);
    vgpu_fault_inject_init(s);
    vgpu_ih_init(s);
    vgpu_iommu_init(s, vgpu_worker_serve_iommu);
    vgpu_phys_init(s);
    vgpu_sdma_start(s);
    vgpu_cp_start(s);
    vgpu_sdma_pause(s, !runstate_is_running());
    vgpu_cp_pause(s, !runstate_is_running());
    s->pci->vmstate_entry =
        qemu_add_vm_change_state_handler(vgpu_kfd_vm_state, s);
}

static void vgpu_kfd_exit(PCIDevice *pci)
{
    VGPUState *s = VGPU_KFD(pci);

    qemu_del_vm_change_state_handler(s->pci->vmstate_entry);
    vgpu_surprise_remove_exit(s);
    /* Stop the CP first, since the CP's thread maps queues to SDMA engines. */
    vgpu_cp_stop(s);
    vgpu_sdma_stop(s);
    /*
     * All threads of this device have ended. Only now leave the hive and
     * destroy the workers and clients, because the threads use all of these.
     */
    vgpu_xgmi_leave(s);
    vgpu_cp_destroy(s);
    vgpu_sdma_destroy(s);
    vgpu_phys_exit(s);
    vgpu_iommu_exit(s);
    vgpu_ih_exit(s);
    vgpu_fault_inject_destroy(s);
    vgpu_invalidate_inject_destroy(s);
    vgpu_inject_destroy(s);
    vgpu_cam_destroy(s);
    qemu_mutex_destroy(&s->lock);
    vgpu_delay_destroy(s);
    vgpu_regs_exit(s);
    msi_uninit(pci);
    pcie_cap_exit(pci);
    vgpu_vram_bar_exit(s);
    vgpu_vram_exit(s);
    /*
     * A vCPU may have begun an access to a BAR before the BAR was unmapped, and
     * wait for the BQL. Such an access reads ones or is dropped.
     */
    qatomic_set(&s->removed, true);
}

static void vgpu_kfd_instance_init(Object *obj)
{
    VGPUState *s = VGPU_KFD(obj);

    vgpu_inject_alloc(s);
    vgpu_memory_alloc(s);
    vgpu_ih_alloc(s);
    vgpu_workers_alloc(s);
    vgpu_sdma_alloc(s);
    vgpu_cp_alloc(s);
    vgpu_psp_alloc(s);
    s->pci = g_new0(VGPUPci, 1);
}

static void vgpu_kfd_instance_finalize(Object *obj)
{
    VGPUState *s = VGPU_KFD(obj);

    g_free(s->id);
    g_free(s->pci);
    vgpu_psp_free(s);
    vgpu_cp_free(s);
    vgpu_sdma_free(s);
    vgpu_workers_free(s);
    vgpu_ih_free(s);
    vgpu_memory_free(s);
    vgpu_inject_free(s);
}

static const Property vgpu_kfd_properties[] = {
    DEFINE_PROP_SIZE("vram", VGPUState, vram_size, 1 * GiB),
    DEFINE_PROP_LINK("memdev", VGPUState, memdev, TYPE_MEMORY_BACKEND,
                     HostMemoryBackend *),
    DEFINE_PROP_SIZE("visible-vram", VGPUState, visible_vram, 0),
    DEFINE_PROP_VGPU_HIVE("hive", VGPUState, hive),
    DEFINE_PROP_INT32("node", VGPUState, node, VGPU_NODE_AUTO),
    DEFINE_PROP_BOOL("vram-lost-on-reset", VGPUState, vram_lost_on_reset,
                     false),
    DEFINE_PROP_UINT32("poll-ns", VGPUState, poll_ns, POLL_NS),
    DEFINE_PROP_UINT32("inline-bytes", VGPUState, inline_bytes,
                       INLINE_BYTES),
#ifdef VGPU_KFD_DELAYS
    DEFINE_PROP_UINT64("x-delays", VGPUState, delays.seed, 0),
    DEFINE_PROP_STRING("x-delay-point", VGPUState, delays.point_name),
#endif
};

static void vgpu_kfd_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    k->realize = vgpu_kfd_realize;
    k->exit = vgpu_kfd_exit;
    k->config_read = vgpu_pci_config_read;
    k->config_write = vgpu_kfd_config_write;
    k->vendor_id = VGPU_PCI_VENDOR_ID;
    k->device_id = VGPU_PCI_DEVICE_ID;
    k->subsystem_vendor_id = VGPU_PCI_SUBVENDOR_ID;
    k->subsystem_id = VGPU_PCI_SUBDEVICE_ID;
    k->revision = VGPU_PCI_REVISION;
    k->class_id = VGPU_PCI_CLASS;
    rc->phases.hold = vgpu_kfd_reset_hold;
    dc->vmsd = &vmstate_vgpu;
    dc->desc = "memory side of an AMD gfx90a GPU";
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    device_class_set_props(dc, vgpu_kfd_properties);
    object_class_property_set_description(klass, "vram",
        "size of VRAM: a power of two from 64 MiB to 64 GiB");
    object_class_property_set_description(klass, "memdev",
        "memory backend for VRAM; its size is that of VRAM");
    object_class_property_set_description(klass, "visible-vram",
        "size of BAR 0 after reset: a power of two from 1 MiB to all of VRAM");
    object_class_property_set_description(klass, "node",
        "number of the device in its hive; -1: the lowest free one");
    object_class_property_set_description(klass, "vram-lost-on-reset",
        "whether any reset of the chip fills VRAM with zeros");
    object_class_property_set_description(klass, "poll-ns",
        "ns of host time that an idle SDMA engine's thread spins for new work "
        "before it sleeps; 0: it sleeps at once");
    object_class_property_set_description(klass, "inline-bytes",
        "bytes of payload that a doorbell or an acknowledge executes itself, "
        "while the engine's thread sleeps, before it wakes that thread; "
        "0: it executes nothing");
}

static const TypeInfo vgpu_kfd_info = {
    .name = TYPE_VGPU_KFD,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(VGPUState),
    .instance_init = vgpu_kfd_instance_init,
    .instance_finalize = vgpu_kfd_instance_finalize,
    .class_init = vgpu_kfd_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { }
    },
};

static void vgpu_kfd_register_types(void)
{
    type_register_static(&vgpu_kfd_info);
}

type_init(vgpu_kfd_register_types)
