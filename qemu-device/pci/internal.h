/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: what the files of pci/ share. */
#ifndef HW_MISC_VGPU_KFD_PCI_INTERNAL_H
#define HW_MISC_VGPU_KFD_PCI_INTERNAL_H

#include "exec/memory.h"
#include "hw/pci/pci_device.h"
#include "migration/vmstate.h"
#include "system/runstate.h"
#include "vgpu/nbio.h"
#include "hw/misc/vgpu-kfd/core/regs.h"

/* Blocks of registers that are kept as arrays, in dwords. */
#define VGPU_NBIO_SPAN          (BIF_SDMA4_DOORBELL_RANGE - NBIO_BASE + 1)
#define VGPU_PCIE_SPAN          (PCIE_DATA2 - MM_INDEX + 1)

/*
 * The PCI function. A member without a lock in its comment is constant from
 * realize to unrealize.
 */
struct VGPUPci {
    MemoryRegion vram_bar;      /* BAR 0: container, cuts what is in it; BQL */
    MemoryRegion vram_alias;    /* in vram_bar: all of VRAM; BQL */
    MemoryRegion absent;        /* the same after a surprise removal; BQL */
    MemoryRegion doorbell;      /* BAR 2 */
    MemoryRegion mmio;          /* BAR 5 */
    VMChangeStateEntry *vmstate_entry;
    uint32_t pcie[VGPU_PCIE_SPAN];      /* registers; BQL */
    /* Registers; BQL. GPU_HDP_FLUSH_REQ: any thread, atomic. */
    uint32_t nbio[VGPU_NBIO_SPAN];
    uint32_t counter_latched;   /* high half of the counter read last; BQL */
    Error *removed_blocker;     /* of migration, after a removal; BQL */
};

/* mmio.c: the register window */

extern const MemoryRegionOps vgpu_mmio_ops;

/* Register the blocks of registers: vgpu_regs_init(). BQL held. */
void vgpu_mmio_init(VGPUState *s);

/* doorbell.c */

extern const MemoryRegionOps vgpu_doorbell_ops;

/* nbio.c: ranges of doorbells, VRAM size, HDP flush */

extern const VGPUBlock vgpu_pcie_block, vgpu_nbio_block;

/* Is @reg in the remapped page that flushes the HDP? BQL held. */
bool vgpu_nbio_is_hdp_remap(VGPUState *s, uint32_t reg);

/* device-info.c: identity of the device, counters */

extern const VGPUBlock vgpu_model_block;

/* reset.c */

/* Bring everything but PCI's configuration to its reset state. BQL held. */
void vgpu_chip_reset(VGPUState *s);

/* vram-bar.c: the BAR of VRAM. BQL held. */

/* Have BAR 0's region as the properties say. */
bool vgpu_vram_bar_check(VGPUState *s, Error **errp);
/* Undo vgpu_vram_bar_check(), with the BAR not mapped. */
void vgpu_vram_bar_exit(VGPUState *s);
/* Register BAR 0, add the capability that resizes it. */
void vgpu_vram_bar_init(VGPUState *s);
/* The guest wrote these bytes of the configuration space. */
void vgpu_vram_bar_config_written(VGPUState *s, uint32_t addr, int len);
/* Give BAR 0 its first size again. */
void vgpu_vram_bar_reset(VGPUState *s);
/* Give BAR 0 the size that the loaded configuration has, if it can be. */
bool vgpu_vram_bar_load(VGPUState *s);

/* vmstate.c: what is saved and migrated */

extern const VMStateDescription vmstate_vgpu;

/* surprise-removal.c */

/* Unrealize's part. */
void vgpu_surprise_remove_exit(VGPUState *s);
/* PCIDeviceClass's: there is no configuration space to a removed device. */
uint32_t vgpu_config_read(PCIDevice *pci, uint32_t addr, int len);

#endif /* HW_MISC_VGPU_KFD_PCI_INTERNAL_H */
