// SPDX-License-Identifier: GPL-2.0
/*
 * Runs copies and clears as jobs in queues, or directly on an SDMA ring. A queue (drm_sched entity)
 * runs jobs in the order of their push. A job that waits for a dependency blocks the queue.
 */
#include <linux/mm.h>
#include <linux/overflow.h>

#include "vgpu/sdma_packets.h"
#include "hw/sdma/vgpu_sdma.h"
#include "hw/sdma/vgpu_sdma_sched.h"
#include "hw/vgpu_hw.h"
#include "vgpu_mm_priv.h"

static struct vgpu_copy_job *to_copy_job(struct vgpu_sdma_job *base)
{
	return container_of(base, struct vgpu_copy_job, base);
}

/* Returns true if the job is void, that is, if the content of its source in VRAM was lost. */
static bool copy_is_void(const struct vgpu_copy_job *job)
{
	return job->vram_epoch >= 0 &&
	       job->vram_epoch != atomic_read(&job->vdev->hw->vram_epoch);
}

/*
 * Clear the destination of a failed job. Readers ignore the job's error, and must not see old
 * content. No engine writes to the destination any more.
 */
static void copy_clear_dst(void *arg, int error)
{
	struct vgpu_copy_job *job = arg;
	u64 at = job->dst_at, end = at + job->dst_bytes;
	size_t bytes;

	for (; at < end; at += bytes) {
		bytes = min_t(u64, end - at, PAGE_SIZE - offset_in_page(at));
		memset(page_address(job->dst_pages[at >> PAGE_SHIFT]) +
		       offset_in_page(at), 0, bytes);
		cond_resched();
	}
}

/*
 * Submit @job and return its fence. If VRAM was lost (copy_is_void()), also during this function,
 * wait until the engine has ended all earlier jobs, and return ERR_PTR(-ECANCELED).
 */
static struct dma_fence *copy_submit(struct vgpu_copy_job *job)
{
	static const u32 nop = SDMA_OP_NOP;
	bool is_void = copy_is_void(job);
	struct dma_fence *fence;

	fence = vgpu_sdma_submit_with(job->vdev,
				      vgpu_sdma_job_engine(&job->base),
				      is_void ? &nop : job->dw,
				      is_void ? 1 : job->ndw, &job->hw_fence);
	if (!copy_is_void(job))
		return fence;
	/*
	 * VRAM was lost. The error returned below signals the job's fence at once. But this fence
	 * must not signal before earlier jobs of the operation have ended. The engine runs jobs in
	 * order, so wait for the packets just submitted.
	 */
	if (!IS_ERR(fence)) {
		dma_fence_wait(fence, false);
		dma_fence_put(fence);
	}
	return ERR_PTR(-ECANCELED);
}

/*
 * Run a job. Errors of the job's fence:
 * -ECANCELED: VRAM was lost
 * -ETIME: the engine failed in the job, and the CPU could not run the job
 * -ENODEV: the engine is down, and the CPU could not run the job
 */
static struct dma_fence *copy_run(struct vgpu_sdma_job *base)
{
	struct vgpu_copy_job *job = to_copy_job(base);
	struct dma_fence *fence;

	/* Before the submission: a recovery that cancels the job then reads this number. */
	if (job->fill)
		WRITE_ONCE(job->vdev->mman->fill_started, job->fill);
	fence = copy_submit(job);
	if (IS_ERR(fence))
		copy_clear_dst(job, PTR_ERR(fence));
	return fence;
}

/**
 * vgpu_copy_job_fills() - tell a job which system memory is its destination
 * @job: from vgpu_copy_job_new(), not pushed
 * @pages: pages of the BO; the caller keeps them until the job's fence has signalled
 * @at: offset in @pages of the destination, in bytes
 * @bytes: length of the destination
 *
 * If the job fails, the destination is cleared before the job's fence signals.
 */
void vgpu_copy_job_fills(struct vgpu_copy_job *job, struct page *const *pages,
			 u64 at, u64 bytes)
{
	job->dst_pages = pages;
	job->dst_at = at;
	job->dst_bytes = bytes;
	vgpu_sdma_fence_on_failure(job->hw_fence, copy_clear_dst, job);
}

/**
 * vgpu_copy_job_free() - free a job
 * @job: job that was not pushed, has ended, or is from vgpu_copy_job_unqueued()
 */
void vgpu_copy_job_free(struct vgpu_copy_job *job)
{
	struct vgpu_mman *mman = job->vdev->mman;

	if (job->base.ops)
		vgpu_sdma_job_cleanup(&job->base);
	vgpu_sdma_fence_free(job->hw_fence);
	kvfree(job);
	if (atomic_dec_and_test(&mman->copy_jobs))
		wake_up_all(&mman->copy_idle);
}

static void copy_free(struct vgpu_sdma_job *base)
{
	vgpu_copy_job_free(to_copy_job(base));
}

static const struct vgpu_sdma_job_ops copy_job_ops = {
	.run = copy_run,
	.free = copy_free,
};

/**
 * vgpu_copy_job_unqueued() - allocate a job for vgpu_copy_job_submit()
 * @vdev: device
 * @ndw: capacity for packets, 1 to VGPU_SDMA_MAX_JOB_DWORDS
 *
 * The job goes directly to an SDMA ring. In a queue of drm_sched, copies of SVM pages would wait
 * for moves of BOs.
 *
 * Context: may allocate with reclaim.
 *
 * Return: the job, or ERR_PTR(-ENOMEM).
 */
struct vgpu_copy_job *vgpu_copy_job_unqueued(struct vgpu_device *vdev,
					     unsigned int ndw)
{
	struct vgpu_copy_job *job;

	job = kvmalloc(struct_size(job, dw, ndw), GFP_KERNEL);
	if (!job)
		return ERR_PTR(-ENOMEM);
	job->hw_fence = vgpu_sdma_fence_alloc(GFP_KERNEL);
	if (!job->hw_fence) {
		kvfree(job);
		return ERR_PTR(-ENOMEM);
	}
	job->base.ops = NULL;
	job->vdev = vdev;
	job->vram_epoch = -1;
	job->fill = 0;
	job->copied = 0;
	job->filled = 0;
	job->flushes = 0;
	job->dst_pages = NULL;
	job->dst_at = 0;
	job->dst_bytes = 0;
	job->size = ndw;
	job->ndw = 0;
	atomic_inc(&vdev->mman->copy_jobs);
	return job;
}

/**
 * vgpu_copy_job_new() - allocate a job for a queue
 * @vdev: device
 * @queue: queue of the job
 * @ndw: capacity for packets, 1 to VGPU_SDMA_MAX_JOB_DWORDS
 *
 * A loss of VRAM makes the job void only if the caller sets vram_epoch.
 *
 * Context: may allocate with reclaim.
 *
 * Return: the job, without packets, or ERR_PTR(-ENOMEM).
 */
struct vgpu_copy_job *vgpu_copy_job_new(struct vgpu_device *vdev,
					enum vgpu_copy_queue queue,
					unsigned int ndw)
{
	struct vgpu_mman *mman = vdev->mman;
	struct vgpu_copy_job *job;
	int ret;

	job = vgpu_copy_job_unqueued(vdev, ndw);
	if (IS_ERR(job))
		return job;
	ret = vgpu_sdma_job_init(&job->base, &copy_job_ops,
				 &mman->copy_queue[queue], ndw, mman);
	if (ret) {
		job->base.ops = NULL;
		vgpu_copy_job_free(job);
		return ERR_PTR(ret);
	}
	return job;
}

/**
 * vgpu_copy_job_after_users() - make a job depend on all users of a BO
 * @job: job, not pushed
 * @bo: BO, its reservation held; vgpu_mm_vm_ops.move_later has been called
 *
 * Users are moves of the BO, queues, and jobs, including jobs that may use the BO without listing
 * the BO.
 *
 * Context: may allocate.
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_copy_job_after_users(struct vgpu_copy_job *job, struct vgpu_bo *bo)
{
	struct drm_sched_job *base = &job->base.base;
	int ret;

	ret = drm_sched_job_add_resv_dependencies(base, bo->tbo.base.resv,
						  DMA_RESV_USAGE_BOOKKEEP);
	if (!ret && job->vdev->mman->vm_ops)
		ret = job->vdev->mman->vm_ops->move_users(bo, base);
	return ret;
}

static void copy_count(const struct vgpu_copy_job *job)
{
	struct vgpu_device *vdev = job->vdev;

	vgpu_stat_add(vdev, VGPU_STAT_BYTES_COPIED, job->copied);
	vgpu_stat_add(vdev, VGPU_STAT_BYTES_FILLED, job->filled);
	vgpu_stat_add(vdev, VGPU_STAT_INVALIDATIONS, job->flushes);
}

/**
 * vgpu_copy_job_push() - queue a job
 * @job: job with its packets and dependencies; on an error, the caller keeps @job
 * @fence: fence of an earlier job of the same queue, or NULL; replaced by the fence of @job
 *
 * Context: takes copy_lock.
 *
 * Return: 0; -ENODEV if the hardware is being removed; -EINVAL if the packets exceed the job's
 * capacity.
 */
int vgpu_copy_job_push(struct vgpu_copy_job *job, struct dma_fence **fence)
{
	struct vgpu_device *vdev = job->vdev;
	struct vgpu_mman *mman = vdev->mman;

	if (WARN_ON_ONCE(job->ndw > job->size))
		return -EINVAL;
	mutex_lock(&mman->copy_lock);
	if (!mman->ready) {
		mutex_unlock(&mman->copy_lock);
		return -ENODEV;
	}
	copy_count(job);
	if (job->base.base.entity == &mman->copy_queue[VGPU_COPY_IN]) {
		job->fill = mman->fill_pushed + 1;
		WRITE_ONCE(mman->fill_pushed, job->fill);
	}
	drm_sched_job_arm(&job->base.base);
	dma_fence_put(*fence);
	*fence = dma_fence_get(&job->base.base.s_fence->finished);
	drm_sched_entity_push_job(&job->base.base);
	mutex_unlock(&mman->copy_lock);
	return 0;
}

/**
 * vgpu_copy_job_submit() - submit a job to an engine's ring, without a queue
 * @job: from vgpu_copy_job_unqueued(); the caller frees @job
 * @engine: 0 to VGPU_NUM_SDMA - 1
 * @fence: fence of an earlier job of @engine, or NULL; replaced by the fence of @job
 *
 * Context: sleeps for ring space; takes copy_lock.
 *
 * Return: 0; -ENODEV or -EINVAL as vgpu_copy_job_push(); or an error of vgpu_sdma_submit_with().
 */
int vgpu_copy_job_submit(struct vgpu_copy_job *job, unsigned int engine,
			 struct dma_fence **fence)
{
	struct vgpu_device *vdev = job->vdev;
	struct dma_fence *done;
	bool ready;

	if (WARN_ON_ONCE(job->ndw > job->size))
		return -EINVAL;
	/*
	 * vgpu_copy_job_unqueued() has counted this job in mman->copy_jobs. So if mman->ready is
	 * set here, a later vgpu_copy_stop() waits until the job is freed.
	 */
	mutex_lock(&vdev->mman->copy_lock);
	ready = vdev->mman->ready;
	mutex_unlock(&vdev->mman->copy_lock);
	if (!ready)
		return -ENODEV;
	done = vgpu_sdma_submit_with(vdev, engine, job->dw, job->ndw,
				     &job->hw_fence);
	if (IS_ERR(done))
		return PTR_ERR(done);
	copy_count(job);
	dma_fence_put(*fence);
	*fence = done;
	return 0;
}

/**
 * vgpu_mm_copy_ready() - whether copies and clears are accepted
 * @vdev: device
 *
 * Context: any.
 *
 * Return: false before vgpu_copy_start() and after vgpu_mm_fini().
 */
bool vgpu_mm_copy_ready(struct vgpu_device *vdev)
{
	return vdev->mman->ready;
}

/**
 * vgpu_copy_drain() - wait until no copy job exists and the SDMA rings are empty
 * @vdev: device whose schedulers run
 *
 * Context: sleeps.
 */
void vgpu_copy_drain(struct vgpu_device *vdev)
{
	struct vgpu_mman *mman = vdev->mman;

	wait_event(mman->copy_idle, !atomic_read(&mman->copy_jobs));
	vgpu_sdma_drain(vdev);
}

/**
 * vgpu_copy_stop() - accept no more jobs, since the hardware is being removed
 * @vdev: device
 *
 * On return no engine accesses memory for a copy or clear any more.
 *
 * Context: sleeps.
 */
void vgpu_copy_stop(struct vgpu_device *vdev)
{
	mutex_lock(&vdev->mman->copy_lock);
	vdev->mman->ready = false;
	mutex_unlock(&vdev->mman->copy_lock);
	vgpu_copy_drain(vdev);
}

/**
 * vgpu_copy_init() - create the queues of copies and clears
 * @vdev: device whose schedulers run already
 *
 * Return: 0, or an error of drm_sched_entity_init().
 */
int vgpu_copy_init(struct vgpu_device *vdev)
{
	struct vgpu_mman *mman = vdev->mman;
	unsigned int i;
	int ret;

	BUILD_BUG_ON(VGPU_NUM_COPY_QUEUES != VGPU_NUM_SDMA);
	mutex_init(&mman->copy_lock);
	atomic_set(&mman->copy_jobs, 0);
	init_waitqueue_head(&mman->copy_idle);
	for (i = 0; i < VGPU_NUM_COPY_QUEUES; i++) {
		ret = drm_sched_entity_init(&mman->copy_queue[i],
					    DRM_SCHED_PRIORITY_KERNEL,
					    &vdev->hw->sched[i],
					    1, NULL);
		if (ret)
			goto err;
	}
	return 0;

err:
	while (i--)
		drm_sched_entity_destroy(&mman->copy_queue[i]);
	mutex_destroy(&mman->copy_lock);
	return ret;
}

/**
 * vgpu_copy_start() - accept copies and clears
 * @vdev: device
 *
 * The caller has to call vgpu_copy_stop(), even after an error.
 *
 * Return: 0, or an error of vgpu_copy_job_new() or vgpu_copy_job_push().
 */
int vgpu_copy_start(struct vgpu_device *vdev)
{
	struct dma_fence *fence;
	unsigned int i;
	int ret = 0;

	vdev->mman->ready = true;
	/*
	 * Push a NOP to each queue, so that drm_sched counts each queue as load of its scheduler.
	 * Otherwise the load of the schedulers would be unequal until each queue has had a copy.
	 * The render node chooses the scheduler with the least load.
	 */
	for (i = 0; !ret && i < VGPU_NUM_COPY_QUEUES; i++) {
		struct vgpu_copy_job *job = vgpu_copy_job_new(vdev, i, 1);

		if (IS_ERR(job))
			return PTR_ERR(job);
		job->dw[job->ndw++] = SDMA_OP_NOP;
		fence = NULL;
		ret = vgpu_copy_job_push(job, &fence);
		if (ret)
			vgpu_copy_job_free(job);
		dma_fence_put(fence);
	}
	return ret;
}

/**
 * vgpu_copy_fini() - undo vgpu_copy_init()
 * @vdev: device without jobs
 */
void vgpu_copy_fini(struct vgpu_device *vdev)
{
	struct vgpu_mman *mman = vdev->mman;
	unsigned int i;

	for (i = 0; i < VGPU_NUM_COPY_QUEUES; i++)
		drm_sched_entity_destroy(&mman->copy_queue[i]);
	mutex_destroy(&mman->copy_lock);
}
