/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Schedulers of the kernel's SDMA rings, and their jobs. Functions are documented in
 * vgpu_sdma_sched.c.
 */
#ifndef VGPU_HW_SDMA_SCHED_H
#define VGPU_HW_SDMA_SCHED_H

#include <drm/gpu_scheduler.h>

struct vgpu_device;

/**
 * struct vgpu_sdma_job - a job that waits for its turn
 * @base: the scheduler's part
 * @ops: what its owner does with it
 */
struct vgpu_sdma_job {
	struct drm_sched_job base;
	const struct vgpu_sdma_job_ops *ops;
};

/**
 * struct vgpu_sdma_job_ops - what a scheduler does with a job
 *
 * The first two are on the way to fences: they do not allocate, and take no
 * reservation.
 *
 * @prepare: a fence to wait for, or NULL: all that it depends on is done. May
 *           be NULL
 * @run: gives it to the ring. The ring's fence, or an ERR_PTR, which becomes
 *       the job's
 * @free: it has ended
 */
struct vgpu_sdma_job_ops {
	struct dma_fence *(*prepare)(struct vgpu_sdma_job *job);
	struct dma_fence *(*run)(struct vgpu_sdma_job *job);
	void (*free)(struct vgpu_sdma_job *job);
};

int vgpu_sdma_job_init(struct vgpu_sdma_job *job,
		       const struct vgpu_sdma_job_ops *ops,
		       struct drm_sched_entity *entity, unsigned int ndw,
		       void *owner);
void vgpu_sdma_job_cleanup(struct vgpu_sdma_job *job);
unsigned int vgpu_sdma_job_engine(const struct vgpu_sdma_job *job);
bool vgpu_sdma_ring_ready(const struct vgpu_device *vdev, unsigned int engine);
void vgpu_sdma_sched_pause(struct vgpu_device *vdev);
void vgpu_sdma_drain(struct vgpu_device *vdev);
void vgpu_sdma_sched_resume(struct vgpu_device *vdev);
int vgpu_sdma_module_init(void);

#endif /* VGPU_HW_SDMA_SCHED_H */
