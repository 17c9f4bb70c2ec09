/* SPDX-License-Identifier: GPL-2.0 */
/* Declares jobs of the render node, which CS creates and the scheduler runs. */
#ifndef VGPU_JOB_H
#define VGPU_JOB_H

#include <linux/kref.h>

#include "hw/sdma/vgpu_sdma_sched.h"
#include "vgpu_sched.h"

/**
 * struct vgpu_ctx_state - the part of a context that its jobs use; may outlive the context
 */
struct vgpu_ctx_state {
	/** @ref: reference count; the context and its jobs hold references */
	struct kref ref;
	/** @guilty: not 0 after an engine failed in a job of the context */
	atomic_t guilty;
	/**
	 * @vram_epoch: value of vgpu_hw.vram_epoch at creation of the context. After
	 * vgpu_hw.vram_epoch has changed, jobs of the context end with -ECANCELED
	 */
	int vram_epoch;
};

/**
 * struct vgpu_job - indirect buffers to run
 */
struct vgpu_job {
	/** @base: job of the SDMA ring's scheduler; contains the struct drm_sched_job */
	struct vgpu_sdma_job base;
	/** @vdev: device */
	struct vgpu_device *vdev;
	/** @vm: address space of the indirect buffers; not destroyed before the job is done */
	struct vgpu_vm *vm;
	/** @state: state of the job's context, referenced */
	struct vgpu_ctx_state *state;
	/** @hw_fence: memory for the fence on the engine's ring; NULL once it is used */
	struct vgpu_sdma_fence *hw_fence;
	/** @slot: VMID that the job has claimed, or NULL */
	struct vgpu_vmid_slot *slot;
	/** @error: error that keeps the job from running, or 0 */
	int error;
	/** @num_ibs: number of INDIRECT packets at the beginning of @dw */
	unsigned int num_ibs;
	/** @ndw: dwords of all packets in @dw */
	unsigned int ndw;
	/** @dw: packets for the kernel's ring */
	u32 dw[];
};

struct vgpu_job *vgpu_job_create(struct vgpu_device *vdev, struct vgpu_vm *vm,
				 struct vgpu_ctx_state *state,
				 struct drm_sched_entity *entity,
				 unsigned int max_ibs);
void vgpu_job_add_ib(struct vgpu_job *job, u64 va, u32 ndw);
void vgpu_job_add_user_fence(struct vgpu_job *job, u64 mc, u64 value);
void vgpu_job_destroy(struct vgpu_job *job);

/* vgpu_ctx.c */
void vgpu_ctx_state_put(struct vgpu_ctx_state *state);

#endif /* VGPU_JOB_H */
