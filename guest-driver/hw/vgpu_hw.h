/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of hw/ that other folders may read, and the functions that start and stop the
 * hardware. Each block of the hardware has its own header in hw/. Functions are documented where
 * they are defined.
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
 */
struct vgpu_hw {
	/** @vram: CPU mapping of the whole BAR 0, write-combined */
	void __iomem *vram;
	/** @vram_base: bus address of BAR 0 */
	resource_size_t vram_base;
	/** @doorbell_base: bus address of BAR 2 */
	resource_size_t doorbell_base;
	/** @remap_base: bus address of the page of BAR 5 that has only the HDP flush registers */
	resource_size_t remap_base;
	/** @vram_size: bytes of VRAM, including the reserved part */
	u64 vram_size;
	/** @vram_reserved: bytes at the end of VRAM that hw/ uses */
	u64 vram_reserved;
	/** @xgmi: the device's place in its hive */
	struct vgpu_xgmi xgmi;
	/** @fb_base: MC address of VRAM offset 0 */
	u64 fb_base;
	/**
	 * @fb_offset: number to add to a VRAM offset to get the address in a page-table entry;
	 * includes the offset of this device's VRAM in the hive
	 */
	u64 fb_offset;
	/**
	 * @sched: schedulers of the kernel's rings; an array of pointers, because
	 * drm_sched_entity_init() expects one
	 */
	struct drm_gpu_scheduler *sched[VGPU_NUM_SDMA];
	/**
	 * @vram_epoch: number of losses of VRAM, in resets and in resumes that fail;
	 * vgpu_hw_reset() and vgpu_hw_resume() increment it
	 */
	atomic_t vram_epoch;
};

/* vgpu_hw.c */
int vgpu_hw_init(struct vgpu_device *vdev, vgpu_recover_fn recover);
void vgpu_hw_fini(struct vgpu_device *vdev);
void vgpu_hw_quiesce(struct vgpu_device *vdev);
bool vgpu_hw_present(struct vgpu_device *vdev);

/* vgpu_hw_suspend.c */
void vgpu_hw_suspend(struct vgpu_device *vdev);
int vgpu_hw_resume(struct vgpu_device *vdev, bool *vram_lost);
void vgpu_hw_resume_engines(struct vgpu_device *vdev);

#endif /* VGPU_HW_H */
