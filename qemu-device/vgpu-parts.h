/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: what each file of the device offers the others. Part of
 * vgpu-kfd.h, which has the state that all of it is about, and the order of
 * locks.
 */
#ifndef HW_MISC_VGPU_PARTS_H
#define HW_MISC_VGPU_PARTS_H

/* mmio.c: the register window */

extern const MemoryRegionOps vgpu_mmio_ops;

/* nbio.c: doorbells, VRAM size, HDP flush */

extern const VGPUBlock vgpu_pcie_block, vgpu_nbio_block;
extern const MemoryRegionOps vgpu_doorbell_ops;

/* Is @reg in the remapped page that flushes the HDP? BQL held. */
bool vgpu_nbio_is_hdp_remap(VGPUState *s, uint32_t reg);
/* Write GPU_HDP_FLUSH_REQ, read GPU_HDP_FLUSH_DONE. Any thread. */
void vgpu_nbio_hdp_request(VGPUState *s, uint32_t val);
uint32_t vgpu_nbio_hdp_done(VGPUState *s);

/* model.c: identity of the model, counters */

extern const VGPUBlock vgpu_model_block;

/* reset.c: the chip's resets, and the PSP that a driver asks for one */

extern const VGPUBlock vgpu_psp_block;

/* Bring everything but PCI's configuration to its reset state. BQL held. */
void vgpu_chip_reset(VGPUState *s);
/* vram.c: VRAM and its BAR. BQL held. */

/* Register BAR 0, add the capability that resizes it. */
void vgpu_vram_init_bar(VGPUState *s);
/* The guest wrote these bytes of the configuration space. */
void vgpu_vram_config_written(VGPUState *s, uint32_t addr, int len);
/* Give BAR 0 its first size again. */
void vgpu_vram_reset_bar(VGPUState *s);
/* Give BAR 0 the size that the loaded configuration asks for, if it can be. */
bool vgpu_vram_load_bar(VGPUState *s);

/* vmstate.c: what is saved and migrated */

extern const VMStateDescription vmstate_vgpu;

#endif /* HW_MISC_VGPU_PARTS_H */
