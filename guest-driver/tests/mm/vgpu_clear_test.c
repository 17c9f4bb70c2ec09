// SPDX-License-Identifier: GPL-2.0
/*
 * Test vgpu_mm_clear_res() (mm/vgpu_copy.c), which clears new memory of a BO, or wipes memory of a
 * BO before the memory is freed. Check for which fences in the BO's reservation these two
 * operations wait.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/wait.h>
#include <drm/gpu_scheduler.h>
#include <drm/spsc_queue.h>

#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

#define CLEAR_PAGES	4u
#define CLEAR_TIMEOUT	(10 * HZ)

/**
 * struct clear_mock - a mock device with the arguments of vgpu_mm_clear_res()
 */
struct clear_mock {
	/** @mock: device */
	struct vgpu_mock *mock;
	/** @fence_wb: memory for the ring's fences; not used, because the ring gets no job */
	__le32 fence_wb;
	/** @resv: reservation of the BO */
	struct dma_resv resv;
	/** @res: VRAM of the BO */
	struct ttm_resource *res;
	/** @lock: lock of the fences in @resv */
	spinlock_t lock;
};

static const char *clear_fence_name(struct dma_fence *fence)
{
	return "vgpu_clear_test";
}

static const struct dma_fence_ops clear_fence_ops = {
	.get_driver_name = clear_fence_name,
	.get_timeline_name = clear_fence_name,
};

/* run_job() of the mock's scheduler. The result NULL means that the job has completed. */
static struct dma_fence *clear_run(struct drm_sched_job *job)
{
	return NULL;
}

static void clear_free(struct drm_sched_job *base)
{
	struct vgpu_sdma_job *job = container_of(base, struct vgpu_sdma_job, base);

	job->ops->free(job);
}

static const struct drm_sched_backend_ops clear_sched_ops = {
	.run_job = clear_run,
	.free_job = clear_free,
};

static struct drm_sched_entity *clear_queue(struct clear_mock *m)
{
	return &m->mock->vdev.mman->copy_queue[VGPU_COPY_IN];
}

static void clear_mock_fini(void *arg)
{
	struct clear_mock *m = arg;

	vgpu_mock_free(m->mock, m->res);
	dma_resv_fini(&m->resv);
	drm_sched_entity_destroy(clear_queue(m));
	drm_sched_fini(&m->mock->hw.sdma[0].sched);
}

static struct clear_mock *clear_mock_new(struct kunit *test)
{
	static const struct ttm_place vram = { .mem_type = TTM_PL_VRAM };
	struct drm_sched_init_args args = {
		.ops = &clear_sched_ops,
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
		.credit_limit = 64,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = "clear_mock",
	};
	struct clear_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct drm_gpu_scheduler *sched;
	struct vgpu_mman *mman;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	sched = &vgpu_mock_ring(test, m->mock, &m->fence_wb, SZ_4K)->sched;
	spin_lock_init(&m->lock);
	mman = m->mock->vdev.mman;
	mutex_init(&mman->copy_lock);
	init_waitqueue_head(&mman->copy_idle);
	mman->ready = true;
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(m->mock, CLEAR_PAGES, 1, &vram,
					      &m->res), 0);
	KUNIT_ASSERT_EQ(test, drm_sched_init(sched, &args), 0);
	KUNIT_ASSERT_EQ(test, drm_sched_entity_init(clear_queue(m),
						    DRM_SCHED_PRIORITY_KERNEL,
						    &sched, 1, NULL), 0);
	dma_resv_init(&m->resv);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, clear_mock_fini,
							m), 0);
	return m;
}

/*
 * Add an unsignalled fence to @m->resv. The caller holds this reservation, and puts the returned
 * fence.
 */
static struct dma_fence *clear_add_user(struct kunit *test, struct clear_mock *m,
					enum dma_resv_usage usage)
{
	struct dma_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fence);
	dma_fence_init(fence, &clear_fence_ops, &m->lock,
		       dma_fence_context_alloc(1), 1);
	KUNIT_ASSERT_EQ(test, dma_resv_reserve_fences(&m->resv, 1), 0);
	dma_resv_add_fence(&m->resv, fence, usage);
	return fence;
}

/*
 * Return true if the first job in the queue depends on @fence. The caller has stopped the
 * scheduler.
 */
static bool clear_depends(struct clear_mock *m, const struct dma_fence *fence)
{
	struct spsc_node *node = spsc_queue_peek(&clear_queue(m)->job_queue);
	struct dma_fence *dependency;
	struct drm_sched_job *job;
	unsigned long index;

	if (!node)
		return false;
	job = container_of(node, struct drm_sched_job, queue_node);
	xa_for_each(&job->dependencies, index, dependency)
		if (dependency == fence)
			return true;
	return false;
}

static void clear_check(struct kunit *test, struct clear_mock *m,
			enum dma_resv_usage usage, bool fresh)
{
	struct drm_gpu_scheduler *sched = &m->mock->hw.sdma[0].sched;
	struct vgpu_mman *mman = m->mock->vdev.mman;
	u64 pushed = mman->fill_pushed;
	struct dma_fence *user, *fence;

	drm_sched_wqueue_stop(sched);
	dma_resv_lock(&m->resv, NULL);
	user = clear_add_user(test, m, usage);
	fence = vgpu_mm_clear_res(&m->mock->vdev, &m->resv, m->res, fresh);
	dma_resv_unlock(&m->resv);
	/* Catches: jobs that fill VRAM are not numbered (vgpu_vram_mgr_mark_lost()). */
	KUNIT_EXPECT_EQ(test, mman->fill_pushed, pushed + 1);
	if (IS_ERR(fence))
		KUNIT_FAIL(test, "no clear: %ld", PTR_ERR(fence));
	else
		KUNIT_EXPECT_EQ_MSG(test, clear_depends(m, user),
				    !fresh || usage == DMA_RESV_USAGE_KERNEL,
				    "usage %d, %s", usage,
				    fresh ? "new memory" : "wipe");
	dma_fence_signal(user);
	dma_fence_put(user);
	drm_sched_wqueue_start(sched);
	KUNIT_ASSERT_GT(test,
			wait_event_timeout(mman->copy_idle,
					   !atomic_read(&mman->copy_jobs),
					   CLEAR_TIMEOUT), 0);
	if (!IS_ERR(fence)) {
		KUNIT_EXPECT_EQ(test, dma_fence_get_status(fence), 1);
		dma_fence_put(fence);
	}
}

static const enum dma_resv_usage clear_usages[] = {
	DMA_RESV_USAGE_KERNEL, DMA_RESV_USAGE_WRITE, DMA_RESV_USAGE_READ,
	DMA_RESV_USAGE_BOOKKEEP,
};

/*
 * Catches: the wipe does not wait for all fences in the BO's reservation. (A job could then write
 * to VRAM that counts as clear.)
 */
static void clear_wipe(struct kunit *test)
{
	struct clear_mock *m = clear_mock_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(clear_usages); i++)
		clear_check(test, m, clear_usages[i], false);
}

/*
 * Catches: the clear of new memory does not wait for a fence of usage KERNEL, or waits for a fence
 * of another usage.
 */
static void clear_new(struct kunit *test)
{
	struct clear_mock *m = clear_mock_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(clear_usages); i++)
		clear_check(test, m, clear_usages[i], true);
}

static struct kunit_case clear_cases[] = {
	KUNIT_CASE(clear_wipe),
	KUNIT_CASE(clear_new),
	{}
};

static struct kunit_suite clear_suite = {
	.name = "vgpu_clear",
	.test_cases = clear_cases,
};

kunit_test_suite(clear_suite);
