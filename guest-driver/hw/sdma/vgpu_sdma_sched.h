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
 * struct vgpu_sdma_job - a job that a scheduler submits to an SDMA ring
 * @base: job of drm_sched
 * @ops: functions of the job's owner
 */
struct vgpu_sdma_job {
	struct drm_sched_job base;
	const struct vgpu_sdma_job_ops *ops;
};

/**
 * struct vgpu_sdma_job_ops - functions by which a scheduler calls the owner of a job
 *
 * Fences depend on @prepare and @run, so these functions neither allocate nor take a
 * reservation.
 */
struct vgpu_sdma_job_ops {
	/** @prepare: returns a fence to wait for, or NULL if the job may run; optional */
	struct dma_fence *(*prepare)(struct vgpu_sdma_job *job);
	/**
	 * @run: submits the job to the ring; returns the ring's fence, or an ERR_PTR with the error
	 * of the job
	 */
	struct dma_fence *(*run)(struct vgpu_sdma_job *job);
	/** @free: frees the job, which has ended */
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
