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

/* Number of dwords that vgpu_nbio_block and vgpu_pcie_block occupy. */
#define VGPU_NBIO_SPAN          (BIF_SDMA4_DOORBELL_RANGE - NBIO_BASE + 1)
#define VGPU_PCIE_SPAN          (PCIE_DATA2 - MM_INDEX + 1)

/*
 * The PCI function. A member without a lock in its comment is constant from
 * realize to unrealize.
 */
struct VGPUPci {
    /* BAR 0: a container region, as large as the BAR. Guarded by the BQL. */
    MemoryRegion vram_bar;
    /* Alias of all of VRAM, in @vram_bar. Guarded by the BQL. */
    MemoryRegion vram_alias;
    /* Replaces @vram_alias after a surprise removal. Guarded by the BQL. */
    MemoryRegion absent;
    MemoryRegion doorbell;      /* BAR 2 */
    MemoryRegion mmio;          /* BAR 5 */
    VMChangeStateEntry *vmstate_entry;
    /* Registers of vgpu_pcie_block. Guarded by the BQL. */
    uint32_t pcie[VGPU_PCIE_SPAN];
    /*
     * Registers of vgpu_nbio_block. Guarded by the BQL, except that any thread
     * accesses GPU_HDP_FLUSH_REQ atomically.
     */
    uint32_t nbio[VGPU_NBIO_SPAN];
    /*
     * High half of the counter whose low half was read last. Guarded by the
     * BQL.
     */
    uint32_t counter_latched;
    /* Blocks migration after a surprise removal. Guarded by the BQL. */
    Error *removed_blocker;
};

/* mmio.c: the register window, BAR 5 */

extern const MemoryRegionOps vgpu_mmio_ops;

/*
 * Initialise s->regs with the blocks of registers in BAR 5. The caller holds
 * the BQL.
 */
void vgpu_mmio_init(VGPUState *s);

/* doorbell.c */

extern const MemoryRegionOps vgpu_doorbell_ops;

/* Registers in nbio.c: ranges of doorbells, VRAM size, HDP flush. */

extern const VGPUBlock vgpu_pcie_block, vgpu_nbio_block;

/*
 * Return true if @reg is an offset to which the driver has remapped one of the
 * two HDP flush registers. The caller holds the BQL.
 */
bool vgpu_nbio_is_hdp_remap(VGPUState *s, uint32_t reg);

/* Registers in device-info.c: identity of the device, counters. */

extern const VGPUBlock vgpu_device_info_block;

/* reset.c */

/*
 * Reset the device, except the PCI configuration space. The caller holds the
 * BQL.
 */
void vgpu_chip_reset(VGPUState *s);

/*
 * Functions in vram-bar.c for BAR 0, the CPU's access to VRAM. The caller holds
 * the BQL.
 */

/*
 * Check property visible-vram and initialise the region of BAR 0. Return false
 * with @errp set if the size is not allowed.
 */
bool vgpu_vram_bar_check(VGPUState *s, Error **errp);
/* Undo vgpu_vram_bar_check(), after BAR 0 was unmapped. */
void vgpu_vram_bar_exit(VGPUState *s);
/* Register BAR 0 and add the Resizable BAR capability. */
void vgpu_vram_bar_init(VGPUState *s);
/*
 * Called when the guest has written @len bytes at @addr of the configuration
 * space. Resize BAR 0 if the write requests a new size.
 */
void vgpu_vram_bar_config_written(VGPUState *s, uint32_t addr, int len);
/* At a reset: resize BAR 0 to the size in property visible-vram. */
void vgpu_vram_bar_reset(VGPUState *s);
/*
 * Resize BAR 0 to the size in the loaded configuration space. Return false if
 * that size is not allowed.
 */
bool vgpu_vram_bar_load(VGPUState *s);

/* vmstate.c: saved state of the device */

extern const VMStateDescription vmstate_vgpu;

/* surprise-removal.c */

/*
 * At unrealize: remove the migration blocker that a surprise removal has added,
 * if any. The caller holds the BQL.
 */
void vgpu_surprise_remove_exit(VGPUState *s);
/*
 * Implementation of PCIDeviceClass.config_read. A read of a removed device
 * returns all ones. The caller holds the BQL.
 */
uint32_t vgpu_pci_config_read(PCIDevice *pci, uint32_t addr, int len);

#endif /* HW_MISC_VGPU_KFD_PCI_INTERNAL_H */
