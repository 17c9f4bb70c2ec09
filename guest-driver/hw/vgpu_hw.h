/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hw/: registers, rings, interrupts, GART table. This folder drives the chip; reset/
 * decides what is recovered. This header has the state that other folders may read, and the
 * functions that start and stop the hardware. Each block has its own header. Functions
 * are documented where they are defined.
 */
#ifndef VGPU_HW_H
#define VGPU_HW_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "vgpu/sdma.h"
#include "vgpu_recover.h"
#include "vgpu_xgmi.h"

struct drm_gpu_scheduler;
struct vgpu_device;

/**
 * struct vgpu_hw - hardware state that other folders may read
 *
 * vgpu_hw_init() sets all members except @vram_epoch. Reading a member needs no lock.
 *
 * @vram: CPU mapping of the whole BAR 0, write-combined
 * @vram_base: bus address of BAR 0
 * @doorbell_base: bus address of BAR 2
 * @remap_base: bus address of the page of BAR 5 that has the HDP flush registers and
 *              nothing else
 * @vram_size: bytes of VRAM, including the reserved part
 * @vram_reserved: bytes at the end of VRAM that hw/ uses
 * @xgmi: the device's place in its hive
 * @fb_base: MC address of VRAM offset 0
 * @fb_offset: number to add to a VRAM offset to get the address in a page-table entry;
 *             includes the offset of this node's VRAM in the hive
 * @sched: schedulers of the kernel's rings; an array of pointers, because
 *         drm_sched_entity_init() expects one
 * @vram_epoch: number of losses of VRAM; vgpu_hw_reset() increments it
 */
struct vgpu_hw {
	void __iomem *vram;
	resource_size_t vram_base;
	resource_size_t doorbell_base;
	resource_size_t remap_base;
	u64 vram_size;
	u64 vram_reserved;
	struct vgpu_xgmi xgmi;
	u64 fb_base;
	u64 fb_offset;
	struct drm_gpu_scheduler *sched[VGPU_NUM_SDMA];
	atomic_t vram_epoch;
};

/* vgpu_hw.c */
int vgpu_hw_init(struct vgpu_device *vdev, vgpu_recover_fn recover);
void vgpu_hw_fini(struct vgpu_device *vdev);
void vgpu_hw_quiesce(struct vgpu_device *vdev);
bool vgpu_hw_present(struct vgpu_device *vdev);

/* vgpu_hw_suspend.c */
void vgpu_hw_suspend(struct vgpu_device *vdev);
int vgpu_hw_resume(struct vgpu_device *vdev);
void vgpu_hw_resume_engines(struct vgpu_device *vdev);

#endif /* VGPU_HW_H */
