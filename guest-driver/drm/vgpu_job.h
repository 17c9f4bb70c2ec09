/* SPDX-License-Identifier: GPL-2.0 */
/* A job of the render node: between CS, which makes it, and its scheduler. */
#ifndef VGPU_JOB_H
#define VGPU_JOB_H

#include <linux/kref.h>

#include "hw/sdma/vgpu_sdma_sched.h"
#include "vgpu_sched.h"

/**
 * struct vgpu_ctx_state - what outlives a context while its jobs run
 * @ref: the context's and its jobs'
 * @guilty: the engine failed in a job of it
 * @vram_epoch: vgpu_hw.vram_epoch when the context was made. Its jobs end with
 *              -ECANCELED when that has changed
 */
struct vgpu_ctx_state {
	struct kref ref;
	atomic_t guilty;
	int vram_epoch;
};

/**
 * struct vgpu_job - indirect buffers to run
 * @base: the scheduler's part
 * @vdev: device
 * @vm: whose addresses they use; waits for the job before it goes
 * @state: of its context
 * @hw_fence: memory of the fence on the engine's ring, or NULL: in use
 * @slot: VMID that it has claimed, or NULL
 * @error: why it cannot run, or 0
 * @num_ibs: INDIRECT packets at the beginning of @dw
 * @ndw: all packets
 * @dw: packets of the kernel's ring
 */
struct vgpu_job {
	struct vgpu_sdma_job base;
	struct vgpu_device *vdev;
	struct vgpu_vm *vm;
	struct vgpu_ctx_state *state;
	struct vgpu_sdma_fence *hw_fence;
	struct vgpu_vmid_slot *slot;
	int error;
	unsigned int num_ibs;
	unsigned int ndw;
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
