/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hw/: registers, rings, interrupts, GART table; reset/ decides what is recovered.
 * This header: state that other folders read, start and stop. Each block has a header
 * of its own; functions are documented where they are defined.
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
 * struct vgpu_hw - what other folders may read of the hardware's state
 *
 * vgpu_hw_init() sets all members but @vram_epoch; none needs a lock.
 *
 * @vram: BAR 0, whole, write-combined
 * @vram_base: bus address of BAR 0
 * @doorbell_base: bus address of BAR 2
 * @remap_base: bus address of the page of BAR 5 with the HDP flush registers,
 *              and nothing else
 * @vram_size: bytes of VRAM, the reserved part included
 * @vram_reserved: bytes at the end of VRAM that belong to hw/
 * @xgmi: place in the hive
 * @fb_base: MC address of VRAM offset 0
 * @fb_offset: what is added to a VRAM offset in page-table entries: this node's
 *             place in the hive included
 * @sched: schedulers of the kernel's rings, in the form that entities take
 * @vram_epoch: how often VRAM was lost; vgpu_hw_reset() counts
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
