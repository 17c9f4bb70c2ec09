// SPDX-License-Identifier: GPL-2.0
/* Fences of a queue; documented in vgpu_fence_mock.h. */
#include <linux/slab.h>

#include "vgpu_fence_mock.h"

/**
 * struct fence_mock_job - fence of a job
 * @base: the fence; first member, because dma_fence_free() frees this address
 * @queue: queue of the job
 */
struct fence_mock_job {
	struct dma_fence base;
	struct vgpu_fence_mock *queue;
};

static_assert(!offsetof(struct fence_mock_job, base));

static const char *fence_mock_name(struct dma_fence *fence)
{
	return "vgpu_fence_mock";
}

static long fence_mock_wait(struct dma_fence *fence, bool intr, long timeout)
{
	struct vgpu_fence_mock *queue = container_of(fence, struct fence_mock_job, base)->queue;
	unsigned int i;

	queue->waits++;
	for (i = 0; i < fence->seqno; i++)
		dma_fence_signal(queue->fence[i]);
	return timeout;
}

static const struct dma_fence_ops fence_mock_ops = {
	.get_driver_name = fence_mock_name,
	.get_timeline_name = fence_mock_name,
	.wait = fence_mock_wait,
};

static void fence_mock_fini(void *arg)
{
	struct vgpu_fence_mock *queue = arg;

	while (queue->n--) {
		dma_fence_signal(queue->fence[queue->n]);
		dma_fence_put(queue->fence[queue->n]);
	}
}

struct vgpu_fence_mock *vgpu_fence_mock_new(struct kunit *test)
{
	struct vgpu_fence_mock *queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, queue);
	spin_lock_init(&queue->lock);
	queue->context = dma_fence_context_alloc(1);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, fence_mock_fini, queue), 0);
	return queue;
}

static void fence_mock_resv_fini(void *arg)
{
	dma_resv_fini(arg);
}

void vgpu_fence_mock_add(struct kunit *test, struct vgpu_fence_mock *queue,
			 struct dma_resv *resv)
{
	struct fence_mock_job *job;
	int ret;

	KUNIT_ASSERT_LT(test, queue->n, VGPU_FENCE_MOCK_JOBS);
	job = kzalloc(sizeof(*job), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, job);
	job->queue = queue;
	dma_fence_init(&job->base, &fence_mock_ops, &queue->lock, queue->context,
		       queue->n + 1);
	queue->fence[queue->n++] = &job->base;

	dma_resv_init(resv);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, fence_mock_resv_fini, resv), 0);
	dma_resv_lock(resv, NULL);
	ret = dma_resv_reserve_fences(resv, 1);
	if (!ret)
		dma_resv_add_fence(resv, &job->base, DMA_RESV_USAGE_KERNEL);
	dma_resv_unlock(resv);
	KUNIT_ASSERT_EQ(test, ret, 0);
}
