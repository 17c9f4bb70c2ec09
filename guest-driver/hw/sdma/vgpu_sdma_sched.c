// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler (drm_sched) for each SDMA engine with a ring of the kernel. A job waits in an entity
 * of the scheduler until the job's dependencies have signalled. Then the scheduler submits the job
 * to the ring.
 */
#include <linux/kmemleak.h>
#include <linux/slab.h>
#include <drm/drm_managed.h>

#include "hw/vgpu_hw_priv.h"
#include "vgpu_sdma.h"
#include "vgpu_sdma_priv.h"
#include "vgpu_sdma_sched.h"

/* Dwords of ring space that one credit stands for. */
#define CREDIT_DWORDS	256u
/* A quarter of the ring is left for jobs that bypass the scheduler, such as page-table jobs. */
#define CREDIT_LIMIT	(SDMA_RING_DWORDS / CREDIT_DWORDS / 4 * 3)

static_assert(VGPU_SDMA_MAX_JOB_DWORDS + SDMA_EPILOGUE_DWORDS <=
	      CREDIT_LIMIT * CREDIT_DWORDS / 2);

static const char * const sched_names[VGPU_NUM_SDMA] = { "sdma0", "sdma1" };

/**
 * struct sched_stub - substitute for the scheduler in the fences of jobs that have ended
 *
 * Before Linux 6.17, the timeline name of a signalled fence is read from the fence's scheduler.
 * The fence may outlive the scheduler.
 */
struct sched_stub {
	/** @sched: only the name is set */
	struct drm_gpu_scheduler sched;
	/** @name: name in @sched; a copy, because sched_names is freed with the module */
	char name[8];
};

/*
 * Array of stubs, indexed by engine. The array is never freed, not even when the module is
 * unloaded: fences may exist longer than the module, and refer to the stubs.
 */
static struct sched_stub *sched_stubs;

static struct vgpu_sdma_job *to_sdma_job(struct drm_sched_job *base)
{
	return container_of(base, struct vgpu_sdma_job, base);
}

static struct dma_fence *sched_prepare(struct drm_sched_job *base,
				       struct drm_sched_entity *entity)
{
	struct vgpu_sdma_job *job = to_sdma_job(base);

	return job->ops->prepare ? job->ops->prepare(job) : NULL;
}

static struct dma_fence *sched_run(struct drm_sched_job *base)
{
	struct vgpu_sdma_job *job = to_sdma_job(base);

	return job->ops->run(job);
}

static void sched_free(struct drm_sched_job *base)
{
	struct vgpu_sdma_job *job = to_sdma_job(base);

	job->ops->free(job);
}

static const struct drm_sched_backend_ops sdma_sched_ops = {
	.prepare_job = sched_prepare,
	.run_job = sched_run,
	.free_job = sched_free,
};

/**
 * vgpu_sdma_job_init() - prepare a job for drm_sched_job_arm()
 * @job: job
 * @ops: functions of the job's owner
 * @entity: entity in which the job will be queued
 * @ndw: length of the job's packets in dwords, at most VGPU_SDMA_MAX_JOB_DWORDS
 * @owner: passed to drm_sched_job_init() as owner of the job's fences
 *
 * May allocate. vgpu_sdma_job_cleanup() undoes this call.
 *
 * Return: 0, -ENOMEM, or -ENOENT if the entity has no scheduler.
 */
int vgpu_sdma_job_init(struct vgpu_sdma_job *job,
		       const struct vgpu_sdma_job_ops *ops,
		       struct drm_sched_entity *entity, unsigned int ndw,
		       void *owner)
{
	u32 credits = DIV_ROUND_UP(ndw + SDMA_EPILOGUE_DWORDS, CREDIT_DWORDS);

	job->ops = ops;
	return drm_sched_job_init(&job->base, entity, credits, owner, 0);
}

/**
 * vgpu_sdma_job_cleanup() - undo vgpu_sdma_job_init()
 * @job: job that is not armed, or has ended
 */
void vgpu_sdma_job_cleanup(struct vgpu_sdma_job *job)
{
	struct drm_sched_fence *s_fence = job->base.s_fence;

	/*
	 * The fences of an armed job may outlive the scheduler, so let them refer to a stub. The
	 * fences of a job that is not armed are not initialised.
	 */
	if (kref_read(&s_fence->finished.refcount))
		WRITE_ONCE(s_fence->sched,
			   &sched_stubs[vgpu_sdma_job_engine(job)].sched);
	drm_sched_job_cleanup(&job->base);
}

/**
 * vgpu_sdma_job_engine() - get the engine on which a job runs
 * @job: job that is armed
 *
 * Return: 0 to VGPU_NUM_SDMA - 1.
 */
unsigned int vgpu_sdma_job_engine(const struct vgpu_sdma_job *job)
{
	return container_of(job->base.sched, struct vgpu_sdma_ring,
			    sched)->engine;
}

/**
 * vgpu_sdma_ring_ready() - whether an engine takes jobs of the kernel
 * @vdev: device
 * @engine: SDMA engine
 *
 * Context: any. A ring may go down at any time, so the result may be outdated.
 *
 * Return: false for an engine that is down or has no ring of the kernel.
 */
bool vgpu_sdma_ring_ready(const struct vgpu_device *vdev, unsigned int engine)
{
	return READ_ONCE(to_hw_state(vdev)->sdma[engine].ready);
}

/**
 * vgpu_sdma_sched_pause() - submit no more jobs to the rings
 * @vdev: device
 *
 * Jobs on a ring stay there; jobs in entities wait until vgpu_sdma_sched_resume().
 *
 * Context: sleeps.
 */
void vgpu_sdma_sched_pause(struct vgpu_device *vdev)
{
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++)
		drm_sched_wqueue_stop(vdev->hw->sched[i]);
}

/**
 * vgpu_sdma_sched_resume() - undo vgpu_sdma_sched_pause()
 * @vdev: device
 */
void vgpu_sdma_sched_resume(struct vgpu_device *vdev)
{
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++)
		drm_sched_wqueue_start(vdev->hw->sched[i]);
}

/*
 * Wait until no job is pending. Repeat the wait: a thread that waited for an earlier job may
 * have submitted another job.
 */
static void ring_drain(struct vgpu_sdma_ring *ring)
{
	struct vgpu_sdma_fence *last;
	struct dma_fence *fence;

	do {
		spin_lock_irq(&ring->fence_lock);
		fence = NULL;
		if (!list_empty(&ring->pending)) {
			last = list_last_entry(&ring->pending,
					       struct vgpu_sdma_fence, link);
			fence = dma_fence_get(&last->base);
		}
		spin_unlock_irq(&ring->fence_lock);
		if (fence)
			dma_fence_wait(fence, false);
		dma_fence_put(fence);
	} while (fence);
}

/**
 * vgpu_sdma_drain() - wait until the kernel's rings are empty
 * @vdev: device
 *
 * If an engine fails, the recovery or vgpu_sdma_ring_down() ends the jobs of this engine.
 *
 * Context: sleeps.
 */
void vgpu_sdma_drain(struct vgpu_device *vdev)
{
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++)
		ring_drain(&to_hw_state(vdev)->sdma[i]);
}

/*
 * Called at the release of the DRM device, after the last file is closed, because entities
 * of files point to schedulers.
 */
static void sched_fini(struct drm_device *drm, void *arg)
{
	drm_sched_fini(arg);
}

/**
 * vgpu_sdma_sched_init() - create the schedulers
 * @vdev: device; its engines have been started
 *
 * The release of the DRM device frees the schedulers.
 *
 * Return: 0, -ENOMEM or the error of drm_sched_init().
 */
int vgpu_sdma_sched_init(struct vgpu_device *vdev)
{
	/*
	 * Fences depend on the scheduler's workqueue. submit_wq stays NULL, so that
	 * drm_sched_init() creates a workqueue with WQ_MEM_RECLAIM.
	 */
	struct drm_sched_init_args args = {
		.ops = &sdma_sched_ops,
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
		/* With this limit, the next job always fits into the ring, without a wait. */
		.credit_limit = CREDIT_LIMIT,
		/* No timeout, because vgpu_sdma_watchdog() detects hangs. */
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.dev = &vdev->pdev->dev,
	};
	unsigned int i;
	int ret;

	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		struct drm_gpu_scheduler *sched = &to_hw_state(vdev)->sdma[i].sched;

		args.name = sched_names[i];
		ret = drm_sched_init(sched, &args);
		if (ret)
			return ret;
		ret = drmm_add_action_or_reset(&vdev->drm, sched_fini, sched);
		if (ret)
			return ret;
		vdev->hw->sched[i] = sched;
	}
	return 0;
}

/**
 * vgpu_sdma_module_init() - allocate the stubs that replace the schedulers in fences
 *
 * The stubs are never freed, because fences may exist longer than the module.
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_sdma_module_init(void)
{
	unsigned int i;

	sched_stubs = kcalloc(VGPU_NUM_SDMA, sizeof(*sched_stubs), GFP_KERNEL);
	if (!sched_stubs)
		return -ENOMEM;
	kmemleak_not_leak(sched_stubs);
	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		strscpy(sched_stubs[i].name, sched_names[i]);
		sched_stubs[i].sched.name = sched_stubs[i].name;
	}
	return 0;
}
