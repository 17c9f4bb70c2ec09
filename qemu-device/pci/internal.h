/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: declarations shared by the files of pci/. */
#ifndef HW_MISC_VGPU_KFD_PCI_INTERNAL_H
#define HW_MISC_VGPU_KFD_PCI_INTERNAL_H

#include "exec/memory.h"
#include "hw/pci/pci_device.h"
#include "migration/vmstate.h"
#include "system/runstate.h"
#include "vgpu/nbio.h"
#include "hw/misc/vgpu-kfd/core/regs.h"

/* Sizes of blocks of registers, in dwords. */
#define VGPU_NBIO_SPAN          (BIF_SDMA4_DOORBELL_RANGE - NBIO_BASE + 1)
#define VGPU_PCIE_SPAN          (PCIE_DATA2 - MM_INDEX + 1)

/*
 * The PCI function. A member without a lock in its comment is constant from
 * realize to unrealize.
 */
struct VGPUPci {
    MemoryRegion vram_bar;      /* BAR 0: container of the BAR's size; BQL */
    MemoryRegion vram_alias;    /* in vram_bar: all of VRAM; BQL */
    MemoryRegion absent;        /* replaces vram_alias after a removal; BQL */
    MemoryRegion doorbell;      /* BAR 2 */
    MemoryRegion mmio;          /* BAR 5 */
    VMChangeStateEntry *vmstate_entry;
    uint32_t pcie[VGPU_PCIE_SPAN];      /* registers; BQL */
    /* Registers; BQL. GPU_HDP_FLUSH_REQ: any thread, atomic. */
    uint32_t nbio[VGPU_NBIO_SPAN];
    uint32_t counter_latched;   /* high half of the counter read last; BQL */
    Error *removed_blocker;     /* blocks migration after a removal; BQL */
};

/* mmio.c: the register window */

extern const MemoryRegionOps vgpu_mmio_ops;

/* Register the blocks of registers: vgpu_regs_init(). BQL held. */
void vgpu_mmio_init(VGPUState *s);

/* doorbell.c */

extern const MemoryRegionOps vgpu_doorbell_ops;

/* nbio.c: ranges of doorbells, VRAM size, HDP flush */

extern const VGPUBlock vgpu_pcie_block, vgpu_nbio_block;

/*
 * Return whether @reg is one of the two HDP flush registers at the address that
 * the driver has remapped them to. BQL held.
 */
bool vgpu_nbio_is_hdp_remap(VGPUState *s, uint32_t reg);

/* device-info.c: identity of the device, counters */

extern const VGPUBlock vgpu_model_block;

/* reset.c */

/* Reset the device, except the PCI configuration space. BQL held. */
void vgpu_chip_reset(VGPUState *s);

/* vram-bar.c: the BAR of VRAM. BQL held. */

/*
 * Check property visible-vram and initialise the region of BAR 0. Return false
 * with @errp set if the size is not allowed.
 */
bool vgpu_vram_bar_check(VGPUState *s, Error **errp);
/* Undo vgpu_vram_bar_check(). The BAR is not mapped. */
void vgpu_vram_bar_exit(VGPUState *s);
/* Register BAR 0 and add the Resizable BAR capability. */
void vgpu_vram_bar_init(VGPUState *s);
/*
 * Resize BAR 0 if the guest's write of @len bytes at @addr of the configuration
 * space requests another size.
 */
void vgpu_vram_bar_config_written(VGPUState *s, uint32_t addr, int len);
/* Resize BAR 0 to its size at reset: property visible-vram. */
void vgpu_vram_bar_reset(VGPUState *s);
/*
 * Resize BAR 0 to the size in the loaded configuration space. Return false if
 * that size is not allowed.
 */
bool vgpu_vram_bar_load(VGPUState *s);

/* vmstate.c: saved state of the device */

extern const VMStateDescription vmstate_vgpu;

/* surprise-removal.c */

/* At unrealize: remove the migration blocker. BQL held. */
void vgpu_surprise_remove_exit(VGPUState *s);
/* PCIDeviceClass.config_read: all ones from a removed device. BQL held. */
uint32_t vgpu_config_read(PCIDevice *pci, uint32_t addr, int len);

#endif /* HW_MISC_VGPU_KFD_PCI_INTERNAL_H */
