// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the render node's jobs (drm/vgpu_sched.c) and contexts (drm/vgpu_ctx.c). No engine reads
 * the ring.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <kunit/static_stub.h>

#include "vgpu/sdma_packets.h"
#include "drm/vgpu_file.h"
#include "drm/vgpu_sched.h"
#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

/**
 * struct job_mock - a context with one job
 */
struct job_mock {
	/** @mock: device */
	struct vgpu_mock *mock;
	/** @ring: kernel's ring of engine 0, which runs the job */
	struct vgpu_sdma_ring *ring;
	/** @fence_wb: number of the last job that has completed on @ring */
	__le32 fence_wb;
	/** @vm: address space of the job, with VMID 1 */
	struct vgpu_vm_state vm;
	/** @state: state of the context; the test has a reference */
	struct vgpu_ctx_state state;
	/** @entity: entity of @job; its only scheduler is that of @ring */
	struct drm_sched_entity entity;
	/** @job: job that is armed but not pushed, or NULL */
	struct vgpu_job *job;
	/** @fence: fence that vgpu_sdma_job_ops.run() returned for @job, or NULL */
	struct dma_fence *fence;
	/** @earlier: fence of an earlier job on @ring */
	struct dma_fence *earlier;
	/** @late: runs job_complete_late() or job_free_late(), as the test case chooses */
	struct delayed_work late;
};

static const struct drm_sched_backend_ops job_mock_ops = {};

static void job_mock_sched_fini(void *arg)
{
	drm_sched_fini(arg);
}

static void job_mock_fini(void *arg)
{
	struct job_mock *m = arg;

	/* Signal the fence before the job is freed. */
	m->fence_wb = cpu_to_le32(lower_32_bits(m->ring->fence_seqno));
	vgpu_sdma_ring_poll(m->ring);
	dma_fence_put(m->fence);
	if (m->job)
		vgpu_job_destroy(m->job);
	drm_sched_entity_destroy(&m->entity);
}

static struct job_mock *job_mock_new(struct kunit *test)
{
	struct drm_sched_init_args args = {
		.ops = &job_mock_ops,
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
		.credit_limit = 1,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = "job_mock",
	};
	struct job_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct drm_gpu_scheduler *sched;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	m->ring = vgpu_mock_ring(test, m->mock, &m->fence_wb, SZ_4K);
	m->vm.base.vdev = &m->mock->vdev;
	m->vm.base.vmid = 1;
	mutex_init(&m->mock->vdev.sched->vmid_lock);
	kref_init(&m->state.ref);

	sched = &m->ring->sched;
	KUNIT_ASSERT_EQ(test, drm_sched_init(sched, &args), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, job_mock_sched_fini,
							sched), 0);
	KUNIT_ASSERT_EQ(test, drm_sched_entity_init(&m->entity,
						    DRM_SCHED_PRIORITY_NORMAL,
						    &sched, 1, NULL), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, job_mock_fini, m),
			0);
	return m;
}

static void job_mock_arm(struct kunit *test, struct job_mock *m)
{
	struct vgpu_job *job;

	job = vgpu_job_create(&m->mock->vdev, &m->vm.base, &m->state, &m->entity, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(job));
	m->job = job;
	vgpu_job_add_ib(job, SZ_1M, 16);
	drm_sched_job_arm(&job->base.base);
}

/*
 * Run the job as its scheduler would do. No engine reads the ring, so the job's fence does not
 * signal until job_mock_fini() completes the job.
 */
static void job_mock_run(struct kunit *test, struct job_mock *m)
{
	struct dma_fence *fence;

	job_mock_arm(test, m);
	fence = m->job->base.ops->run(&m->job->base);
	KUNIT_ASSERT_FALSE(test, IS_ERR(fence));
	m->fence = fence;
}

/*
 * Catches: a callback of the ring's fence is in the job's memory, which drm_sched may free before
 * the callback has run.
 */
static void job_callbacks(struct kunit *test)
{
	struct job_mock *m = job_mock_new(test);

	job_mock_run(test, m);
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(m->fence));
	KUNIT_EXPECT_TRUE(test, list_empty(&m->fence->cb_list));
}

/*
 * Catches: the error -ECANCELED marks the context as guilty; the error -ETIME leaves the context
 * unmarked.
 */
static void job_guilty(struct kunit *test)
{
	struct job_mock *m = job_mock_new(test);
	struct vgpu_sdma_fence *fence;

	job_mock_run(test, m);
	fence = container_of(m->fence, struct vgpu_sdma_fence, base);
	KUNIT_ASSERT_NOT_NULL(test, fence->failed);
	fence->failed(fence->arg, -ECANCELED);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->state.guilty), 0);
	fence->failed(fence->arg, -ETIME);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->state.guilty), 1);
}

/*
 * The device is unplugged after the job's dependencies have signalled. Catches: the job is written
 * to the ring, which the removal of the device frees.
 */
static void job_unplugged(struct kunit *test)
{
	struct job_mock *m = job_mock_new(test);
	struct dma_fence *fence;

	job_mock_arm(test, m);
	m->mock->vdev.drm.unplugged = true;
	fence = m->job->base.ops->run(&m->job->base);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(fence), -ENODEV);
	if (!IS_ERR(fence))
		m->fence = fence;
	KUNIT_EXPECT_EQ(test, m->ring->wptr, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->ring->pending));
}

/*
 * Run a job. VRAM was lost after the job's creation, or is lost during the run. Check that the job
 * fails with -ECANCELED and leaves nothing on the ring.
 */
static void job_run_lost(struct kunit *test, struct job_mock *m)
{
	struct dma_fence *fence;

	fence = m->job->base.ops->run(&m->job->base);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(fence), -ECANCELED);
	if (!IS_ERR(fence))
		m->fence = fence;
	KUNIT_EXPECT_EQ(test, m->ring->wptr, m->ring->submitted);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->ring->pending));
}

/*
 * VRAM is lost while a job waits, and another CS rebuilds the page tables. Catches: the job runs
 * with a vgpu_ctx older than the loss.
 */
static void job_vram_lost(struct kunit *test)
{
	struct job_mock *m = job_mock_new(test);

	job_mock_arm(test, m);
	atomic_inc(&m->mock->vdev.hw->vram_epoch);
	m->vm.base.vram_epoch++;
	job_run_lost(test, m);
}

/* Replaces vgpu_sdma_emit_end(): VRAM is lost while the job is written to the ring. */
static void job_loses_vram(const struct vgpu_sdma_ring *ring, u32 *dw)
{
	atomic_inc(&ring->vdev->hw->vram_epoch);
	memset(dw, 0, SDMA_EPILOGUE_DWORDS * sizeof(*dw));
}

/*
 * After job_check(), VRAM is lost, and the recovery ends all jobs on the ring. Catches: the job is
 * submitted afterwards, and runs with lost page tables.
 */
static void job_vram_lost_in_submission(struct kunit *test)
{
	struct job_mock *m = job_mock_new(test);

	job_mock_arm(test, m);
	kunit_activate_static_stub(test, vgpu_sdma_emit_end, job_loses_vram);
	job_run_lost(test, m);
	kunit_deactivate_static_stub(test, vgpu_sdma_emit_end);
}

static void job_complete_late(struct work_struct *work)
{
	struct job_mock *m = container_of(to_delayed_work(work),
					  struct job_mock, late);

	dma_fence_signal(m->earlier);
}

/*
 * A job fails while an earlier job of the same address space runs. Catches: the failed job's fence
 * signals before the earlier job ends.
 */
static void job_ends_in_order(struct kunit *test)
{
	struct job_mock *m = job_mock_new(test);
	struct vgpu_vmid_slot *slot = &m->mock->vdev.sched->vmid[0];
	static const u32 nop = SDMA_OP_NOP;
	struct dma_fence *fence;

	m->earlier = vgpu_sdma_submit(&m->mock->vdev, 0, &nop, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m->earlier));
	slot->used[0] = m->earlier;
	job_mock_arm(test, m);
	m->job->error = -ENOMEM;
	INIT_DELAYED_WORK(&m->late, job_complete_late);
	schedule_delayed_work(&m->late, HZ / 20);
	fence = m->job->base.ops->run(&m->job->base);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(fence), -ENOMEM);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(m->earlier));
	flush_delayed_work(&m->late);
	slot->used[0] = NULL;
	dma_fence_put(m->earlier);
}

/*
 * The device is unplugged while a job runs. Catches: vgpu_sched_wait_vm() returns before the job is
 * done, so that the caller unmaps memory in use.
 */
static void job_waited_for(struct kunit *test)
{
	struct job_mock *m = job_mock_new(test);
	struct vgpu_vmid_slot *slot = &m->mock->vdev.sched->vmid[0];
	static const u32 nop = SDMA_OP_NOP;

	m->earlier = vgpu_sdma_submit(&m->mock->vdev, 0, &nop, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m->earlier));
	slot->used[0] = m->earlier;
	m->mock->vdev.drm.unplugged = true;
	INIT_DELAYED_WORK(&m->late, job_complete_late);
	schedule_delayed_work(&m->late, HZ / 20);
	vgpu_sched_wait_vm(&m->vm.base);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(m->earlier));
	flush_delayed_work(&m->late);
	slot->used[0] = NULL;
	dma_fence_put(m->earlier);
}

static void job_free_late(struct work_struct *work)
{
	struct job_mock *m = container_of(to_delayed_work(work),
					  struct job_mock, late);

	vgpu_job_destroy(m->job);
	m->job = NULL;
}

/*
 * A worker of drm_sched frees the job while the device is released. Catches: vgpu_sched_release()
 * does not wait for the worker.
 */
static void job_outlives_users(struct kunit *test)
{
	struct job_mock *m = job_mock_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;

	job_mock_arm(test, m);
	KUNIT_ASSERT_EQ(test, atomic_read(&vdev->sched->jobs), 1);
	INIT_DELAYED_WORK(&m->late, job_free_late);
	schedule_delayed_work(&m->late, HZ / 20);
	vgpu_sched_release(&vdev->drm, NULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&vdev->sched->jobs), 0);
	flush_delayed_work(&m->late);
}

/*
 * A sync file keeps the fence of a job after the device is freed. Catches: the fence still points
 * to the job's scheduler, which is part of the device.
 */
static void job_fence_kept(struct kunit *test)
{
	struct job_mock *m = job_mock_new(test);
	struct dma_fence *fence;

	job_mock_arm(test, m);
	fence = dma_fence_get(&m->job->base.base.s_fence->finished);
	dma_fence_signal(fence);
	vgpu_job_destroy(m->job);
	m->job = NULL;
	KUNIT_EXPECT_PTR_NE(test, to_drm_sched_fence(fence)->sched,
			    &m->ring->sched);
	KUNIT_EXPECT_STREQ(test, fence->ops->get_timeline_name(fence), "sdma0");
	dma_fence_put(fence);
}

#define CTX_PRIORITY	5

/**
 * struct ctx_reader - a fence callback that reads a context
 * @ctx: context
 * @inside: the callback has begun
 * @put: the last reference to the context was dropped
 * @priority: vgpu_ctx.priority that the callback read after @put
 * @done: the callback has returned
 */
struct ctx_reader {
	struct vgpu_ctx *ctx;
	bool inside, put;
	s32 priority;
	struct completion done;
};

static int ctx_read(void *arg)
{
	struct ctx_reader *r = arg;
	unsigned int us;

	/*
	 * ctx_free() frees the context by kfree_rcu(), so not before rcu_read_unlock(). The real
	 * callback, drm_sched_entity_wakeup(), holds the fence's spinlock instead. kfree_rcu()
	 * waits until such a spinlock is released, too.
	 */
	rcu_read_lock();
	WRITE_ONCE(r->inside, true);
	for (us = 0; us < USEC_PER_SEC && !READ_ONCE(r->put); us++)
		udelay(1);
	r->priority = READ_ONCE(r->ctx->priority);
	rcu_read_unlock();
	kthread_complete_and_exit(&r->done, 0);
}

static struct vgpu_ctx *ctx_new(struct kunit *test, struct job_mock *m)
{
	struct drm_gpu_scheduler *sched = &m->ring->sched;
	struct vgpu_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	kref_init(&ctx->ref);
	kref_get(&m->state.ref);
	ctx->state = &m->state;
	ctx->priority = CTX_PRIORITY;
	for (i = 0; i < VGPU_CTX_RINGS; i++)
		KUNIT_ASSERT_EQ(test,
				drm_sched_entity_init(&ctx->ring[i].entity,
						      DRM_SCHED_PRIORITY_NORMAL,
						      &sched, 1, NULL), 0);
	return ctx;
}

/*
 * drm_sched_entity_wakeup() clears entity->dependency before its last access to the entity.
 * Catches: vgpu_ctx_put() frees the context, with the entity, before that access.
 */
static void ctx_outlives_callback(struct kunit *test)
{
	struct ctx_reader *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct job_mock *m = job_mock_new(test);

	KUNIT_ASSERT_NOT_NULL(test, r);
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs: callback and put run at the same time");
	r->ctx = ctx_new(test, m);
	init_completion(&r->done);

	vgpu_test_start_elsewhere(test, ctx_read, r);
	while (!READ_ONCE(r->inside))
		usleep_range(50, 100);
	vgpu_ctx_put(r->ctx);
	vgpu_test_reuse(test, sizeof(*r->ctx), GFP_KERNEL);
	WRITE_ONCE(r->put, true);
	wait_for_completion(&r->done);
	migrate_enable();
	KUNIT_EXPECT_EQ(test, r->priority, CTX_PRIORITY);
}

static struct kunit_case sched_cases[] = {
	KUNIT_CASE(job_callbacks),
	KUNIT_CASE(job_guilty),
	KUNIT_CASE(job_unplugged),
	KUNIT_CASE(job_vram_lost),
	KUNIT_CASE(job_vram_lost_in_submission),
	KUNIT_CASE(job_ends_in_order),
	KUNIT_CASE(job_waited_for),
	KUNIT_CASE(job_outlives_users),
	KUNIT_CASE(job_fence_kept),
	KUNIT_CASE(ctx_outlives_callback),
	{}
};

static struct kunit_suite sched_suite = {
	.name = "vgpu_sched",
	.test_cases = sched_cases,
};

kunit_test_suite(sched_suite);
