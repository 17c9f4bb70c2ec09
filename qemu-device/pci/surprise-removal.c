/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: surprise removal. After a removal, reads of BARs and configuration
 * space return ones, and writes are dropped. The device accesses no memory and
 * sends no MSI. QEMU's device object remains until device_del.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/pci.h"
#include "migration/blocker.h"
#include "hw/misc/vgpu-kfd/core/trace.h"
#include "hw/misc/vgpu-kfd/core/vgpu-kfd.h"
#include "hw/misc/vgpu-kfd/cp/cp.h"
#include "hw/misc/vgpu-kfd/ih/fault.h"
#include "hw/misc/vgpu-kfd/ih/ih.h"
#include "hw/misc/vgpu-kfd/memory/memory.h"
#include "hw/misc/vgpu-kfd/memory/xgmi.h"
#include "hw/misc/vgpu-kfd/pci/internal.h"
#include "hw/misc/vgpu-kfd/pci/removal.h"
#include "hw/misc/vgpu-kfd/sdma/sdma.h"

static uint64_t absent_read(void *opaque, hwaddr addr, unsigned size)
{
    return UINT64_MAX;
}

static void absent_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
}

static const MemoryRegionOps absent_ops = {
    .read = absent_read,
    .write = absent_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

uint32_t vgpu_pci_config_read(PCIDevice *pci, uint32_t addr, int len)
{
    return VGPU_KFD(pci)->removed ? UINT32_MAX
                                  : pci_default_read_config(pci, addr, len);
}

bool vgpu_surprise_remove(VGPUState *s, Error **errp)
{
    if (s->removed) {
        error_setg(errp, "the device is removed already");
        return false;
    }
    error_setg(&s->pci->removed_blocker,
               "device %s was removed by an injection", s->id);
    if (migrate_add_blocker(&s->pci->removed_blocker, errp) < 0) {
        return false;
    }
    memory_region_init_io(&s->pci->absent, OBJECT(s), &absent_ops, s,
                          "vgpu-kfd.absent", s->vram_size);
    memory_region_transaction_begin();
    memory_region_del_subregion(&s->pci->vram_bar, &s->pci->vram_alias);
    memory_region_add_subregion(&s->pci->vram_bar, 0, &s->pci->absent);
    memory_region_transaction_commit();
    qatomic_set(&s->removed, true);
    /*
     * Wait until the engines have stopped, and no XGMI peer accesses VRAM. Then
     * cancel all interrupt entries and invalidations that are delayed or
     * queued, and the MSI.
     */
    vgpu_sdma_pause(s, true);
    vgpu_cp_pause(s, true);
    vgpu_xgmi_remove(s);
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        vgpu_fault_inject_reset(s);
        vgpu_invalidate_inject_reset(s);
        vgpu_ih_cancel(s);
    }
    trace_vgpu_removed(s->id);
    return true;
}

void vgpu_surprise_remove_exit(VGPUState *s)
{
    if (s->removed) {
        migrate_del_blocker(&s->pci->removed_blocker);
    }
}
