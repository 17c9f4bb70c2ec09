// SPDX-License-Identifier: GPL-2.0
/*
 * Test the kernel's ring (hw/sdma/vgpu_sdma.c) with a model of an engine that reads one job at
 * a time. Catches: the doorbell value does not include a submitted job; a fence signals too early,
 * out of order or never.
 */
#include <linux/completion.h>
#include <linux/dma-fence.h>
#include <linux/kthread.h>
#include <linux/workqueue.h>
#include <kunit/static_stub.h>

#include "vgpu/doorbell.h"
#include "hw/vgpu_hw_priv.h"
#include "tests/lib/vgpu_mock.h"

#define FENCE_MC	0x1234567000ull
#define MAX_JOBS	64u
#define MAX_DWORDS	3000u

/**
 * struct ring_job - a job that is not done yet
 * @fence: fence that the submission returned
 * @ndw: length in dwords
 * @first: value of the first dword; the value of each further dword is greater by 1
 */
struct ring_job {
	struct dma_fence *fence;
	unsigned int ndw;
	u32 first;
};

/**
 * struct ring_mock - a ring and its engine
 */
struct ring_mock {
	/** @mock: device */
	struct vgpu_mock *mock;
	/** @ring: ring under test, of engine 0 */
	struct vgpu_sdma_ring *ring;
	/** @fence_wb: memory to which the engine writes the number of the last completed job */
	__le32 fence_wb;
	/** @ih_wptr: write pointer of the interrupt ring, which stays empty */
	__le32 ih_wptr;
	/** @rptr: number of bytes that the engine has read so far */
	u64 rptr;
	/** @jobs: jobs that are submitted and not done, oldest first */
	struct ring_job jobs[MAX_JOBS];
	/** @n: number of elements of @jobs in use */
	unsigned int n;
	/** @dw: packets of the next job */
	u32 dw[VGPU_SDMA_MAX_JOB_DWORDS];
};

static void ring_mock_fini(void *arg)
{
	struct ring_mock *m = arg;

	while (m->n)
		dma_fence_put(m->jobs[--m->n].fence);
}

static struct ring_mock *ring_mock_new(struct kunit *test)
{
	struct ring_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	m->ring = vgpu_mock_ring(test, m->mock, &m->fence_wb, FENCE_MC);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ring_mock_fini,
							m), 0);
	return m;
}

/*
 * Submit a job of @ndw dwords. The dwords are consecutive numbers, so that ring_read_job() can
 * check them.
 */
static void ring_submit(struct kunit *test, struct ring_mock *m,
			unsigned int ndw)
{
	struct ring_job *job = &m->jobs[m->n];
	unsigned int i;

	KUNIT_ASSERT_LT(test, m->n, MAX_JOBS);
	job->ndw = ndw;
	job->first = vgpu_mock_random(m->mock, BIT_ULL(32));
	for (i = 0; i < ndw; i++)
		m->dw[i] = job->first + i;
	job->fence = vgpu_sdma_submit(&m->mock->vdev, 0, m->dw, ndw);
	KUNIT_ASSERT_FALSE(test, IS_ERR(job->fence));
	m->n++;
	memset(m->dw, 0xee, ndw * sizeof(u32));
}

static u32 ring_take(struct ring_mock *m)
{
	u32 value = le32_to_cpu(m->ring->ring[m->rptr / 4 % SDMA_RING_DWORDS]);

	m->rptr += 4;
	return value;
}

/*
 * Act as the engine: read the oldest job, up to its TRAP. Returns the number that the job's FENCE
 * writes.
 */
static u32 ring_read_job(struct kunit *test, struct ring_mock *m)
{
	const struct ring_job *job = &m->jobs[0];
	u64 end = m->rptr + 4 * (job->ndw + SDMA_EPILOGUE_DWORDS);
	u64 doorbell = *(u64 *)&m->mock->doorbells[DOORBELL_SDMA(0) * 2];
	unsigned int i;
	u32 seqno;

	KUNIT_ASSERT_LE(test, end, doorbell);
	for (i = 0; i < job->ndw; i++)
		KUNIT_ASSERT_EQ(test, ring_take(m), job->first + i);
	KUNIT_ASSERT_EQ(test, ring_take(m), SDMA_OP_FENCE);
	KUNIT_ASSERT_EQ(test, ring_take(m), lower_32_bits(FENCE_MC));
	KUNIT_ASSERT_EQ(test, ring_take(m), upper_32_bits(FENCE_MC));
	seqno = ring_take(m);
	/* Skip two POLL_REGMEM packets. The last 8 bytes of the job are the TRAP packet. */
	m->rptr = end - 8;
	KUNIT_ASSERT_EQ(test, ring_take(m), SDMA_OP_TRAP);
	KUNIT_ASSERT_EQ(test, ring_take(m), seqno & SDMA_TRAP_DW1__CONTEXT);
	return seqno;
}

/* Complete the oldest job. Check that its fence signals, and that the next job's fence does not. */
static void ring_run(struct kunit *test, struct ring_mock *m)
{
	u32 seqno = ring_read_job(test, m);

	KUNIT_ASSERT_FALSE(test, dma_fence_is_signaled(m->jobs[0].fence));
	m->fence_wb = cpu_to_le32(seqno);
	vgpu_sdma_ring_poll(m->ring);
	KUNIT_ASSERT_EQ(test, dma_fence_get_status(m->jobs[0].fence), 1);
	if (m->n > 1)
		KUNIT_ASSERT_FALSE(test,
				   dma_fence_is_signaled(m->jobs[1].fence));
	KUNIT_ASSERT_EQ(test, m->ring->done, m->rptr);
	dma_fence_put(m->jobs[0].fence);
	m->n--;
	memmove(m->jobs, m->jobs + 1, m->n * sizeof(m->jobs[0]));
}

static u64 ring_room(const struct ring_mock *m)
{
	return SDMA_RING_BYTES - (m->ring->wptr - m->rptr);
}

/*
 * Submit random jobs until the engine has read 20 times the ring's length. Catches: unread packets
 * are overwritten; packets are corrupted at the ring's end.
 */
static void ring_random(struct kunit *test)
{
	struct ring_mock *m = ring_mock_new(test);

	while (m->rptr < 20 * SDMA_RING_BYTES) {
		unsigned int ndw = 1 + vgpu_mock_random(m->mock, MAX_DWORDS);

		if (m->n < MAX_JOBS &&
		    4 * (ndw + SDMA_EPILOGUE_DWORDS) <= ring_room(m) &&
		    vgpu_mock_random(m->mock, 4))
			ring_submit(test, m, ndw);
		else if (m->n)
			ring_run(test, m);
	}
	while (m->n)
		ring_run(test, m);
	KUNIT_EXPECT_EQ(test, m->rptr, m->ring->wptr);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->ring->pending));
}

/* Catches: a submission waits for free space although the job fits exactly. */
static void ring_full(struct kunit *test)
{
	struct ring_mock *m = ring_mock_new(test);
	unsigned int round;

	for (round = 0; round < 5; round++) {
		ring_submit(test, m, 1 + vgpu_mock_random(m->mock, 1000));
		while (ring_room(m) > 4 * (VGPU_SDMA_MAX_JOB_DWORDS +
					   2 * SDMA_EPILOGUE_DWORDS))
			ring_submit(test, m, VGPU_SDMA_MAX_JOB_DWORDS);
		ring_submit(test, m, ring_room(m) / 4 - SDMA_EPILOGUE_DWORDS);
		KUNIT_ASSERT_EQ(test, ring_room(m), 0);
		while (m->n)
			ring_run(test, m);
	}
}

/*
 * Let job numbers pass 2^28 and 2^32. A TRAP has only the low 28 bits of a job's number, a FENCE
 * the low 32 bits.
 */
static void ring_numbers_wrap(struct kunit *test)
{
	static const u64 first[] = {
		BIT_ULL(28) - 4, BIT_ULL(32) - 4, 5 * BIT_ULL(32) - 4,
	};
	struct ring_mock *m = ring_mock_new(test);
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(first); i++) {
		m->ring->fence_seqno = first[i];
		m->ring->finished = lower_32_bits(first[i]);
		for (k = 0; k < 8; k++)
			ring_submit(test, m, 10);
		KUNIT_EXPECT_EQ(test, m->jobs[7].fence->seqno, first[i] + 8);
		while (m->n)
			ring_run(test, m);
	}
}

/*
 * A job number in fence_wb completes all jobs up to this number. Catches: only the fence of the job
 * with this number signals.
 */
static void ring_many_at_once(struct kunit *test)
{
	struct ring_mock *m = ring_mock_new(test);
	unsigned int i;

	for (i = 0; i < 10; i++)
		ring_submit(test, m, 5);
	m->fence_wb = cpu_to_le32(7);
	vgpu_sdma_ring_poll(m->ring);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, dma_fence_get_status(m->jobs[i].fence),
				i < 7);
	/* If the job number in memory goes backwards, no fence changes. */
	m->fence_wb = cpu_to_le32(3);
	vgpu_sdma_ring_poll(m->ring);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(m->jobs[6].fence), 1);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(m->jobs[7].fence), 0);
}

/*
 * Check that the fence of the last completed job does not signal while a fault of VMID 0 is
 * latched, because this job may be the one that faulted.
 */
static void ring_fault(struct kunit *test)
{
	struct ring_mock *m = ring_mock_new(test);
	u32 *status = &m->mock->regs[HUB(VGPU_HUB_MM) +
				     VM_L2_PROTECTION_FAULT_STATUS];
	unsigned int i;

	for (i = 0; i < 4; i++)
		ring_submit(test, m, 5);
	m->fence_wb = cpu_to_le32(2);
	*status = 0x10;			/* a fault of VMID 0 */
	vgpu_sdma_ring_poll(m->ring);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(m->jobs[0].fence), 1);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(m->jobs[1].fence), 0);
	*status = 5 << 20 | 0x10;	/* a user's fault does not concern the ring */
	vgpu_sdma_ring_poll(m->ring);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(m->jobs[1].fence), 1);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(m->jobs[2].fence), 0);
}

/* Check that the CPU runs the packets of submitted jobs while the ring is down (not ready). */
static void ring_down(struct kunit *test)
{
	struct ring_mock *m = ring_mock_new(test);
	u32 trap[SDMA_TRAP_DWORDS] = { SDMA_OP_TRAP };
	u32 nop = SDMA_OP_NOP;
	struct dma_fence *fence;

	m->ring->ready = false;
	/*
	 * The ring takes no jobs, so the CPU must run them. It cannot run a TRAP packet: the
	 * submission fails, and the ring stays empty.
	 */
	fence = vgpu_sdma_submit(&m->mock->vdev, 0, trap, SDMA_TRAP_DWORDS);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(fence), -ENODEV);
	KUNIT_EXPECT_EQ(test, m->ring->wptr, 0);
	/* The CPU can run a NOP packet: the returned fence has signalled. */
	fence = vgpu_sdma_submit(&m->mock->vdev, 0, &nop, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(fence));
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(fence), 1);
	dma_fence_put(fence);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->ring->pending));
}

/*
 * Replaces vgpu_sdma_emit_end(). Gives up the engine, as a recovery that runs at the same time may
 * do at this point.
 */
static void ring_goes_down(const struct vgpu_sdma_ring *ring, u32 *dw)
{
	WRITE_ONCE(to_hw_state(ring->vdev)->sdma[ring->engine].ready, false);
	memset(dw, 0, SDMA_EPILOGUE_DWORDS * sizeof(*dw));
}

/*
 * The ring goes down during a submission, so the CPU runs the job. Catches: the engine runs the job
 * again after a reset.
 */
static void ring_down_in_submission(struct kunit *test)
{
	struct ring_mock *m = ring_mock_new(test);
	static const u32 nop = SDMA_OP_NOP;
	struct dma_fence *fence;

	ring_submit(test, m, 5);
	ring_run(test, m);
	kunit_activate_static_stub(test, vgpu_sdma_emit_end, ring_goes_down);
	fence = vgpu_sdma_submit(&m->mock->vdev, 0, &nop, 1);
	kunit_deactivate_static_stub(test, vgpu_sdma_emit_end);
	KUNIT_ASSERT_FALSE(test, IS_ERR(fence));
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(fence), 1);
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, m->ring->wptr, m->rptr);

	m->ring->ready = true;
	ring_submit(test, m, 5);
	ring_run(test, m);
	KUNIT_EXPECT_EQ(test, m->ring->wptr, m->rptr);
}

/*
 * A signalled fence may be kept after this module is unloaded. Catches: the fence still calls
 * functions of this module, instead of the operations of the kernel's stub fence.
 */
static void ring_fence_kept(struct kunit *test)
{
	struct ring_mock *m = ring_mock_new(test);
	struct dma_fence *stub, *fence;

	ring_submit(test, m, 5);
	fence = dma_fence_get(m->jobs[0].fence);
	KUNIT_EXPECT_STREQ(test, fence->ops->get_driver_name(fence), "vgpu_kfd");
	ring_run(test, m);
	stub = dma_fence_get_stub();
	KUNIT_EXPECT_PTR_EQ(test, fence->ops, stub->ops);
	dma_fence_put(stub);
	dma_fence_put(fence);
}

/**
 * struct ring_enders - two threads, the test's thread and @other, take a ring down
 *
 * Both threads call vgpu_sdma_ring_down(), but only one of them may end the pending job. A thread
 * calls ring_job_ends() just before it ends the job.
 */
struct ring_enders {
	/**
	 * @test: the running test. The thread @other needs it as current->kunit_test to access the
	 * registers of the mock
	 */
	struct kunit *test;
	/** @ring: ring with one pending job */
	struct vgpu_sdma_ring *ring;
	/** @other: the other thread; the first call of ring_job_ends() starts it */
	struct task_struct *other;
	/** @ends: number of calls of ring_job_ends() */
	atomic_t ends;
	/** @again: completed by a second call of ring_job_ends(), in which case the test fails */
	struct completion again;
	/** @gone: completed when @other ends */
	struct completion gone;
};

static int ring_down_too(void *arg)
{
	struct ring_enders *e = arg;

	current->kunit_test = e->test;
	vgpu_sdma_ring_down(e->ring);
	current->kunit_test = NULL;
	kthread_complete_and_exit(&e->gone, 0);
}

/*
 * Callback vgpu_sdma_fence.failed of the job: the driver calls ring_job_ends() just before it ends
 * the job. The job must end only once, so a second call is a bug.
 */
static void ring_job_ends(void *arg, int error)
{
	struct ring_enders *e = arg;

	/* Before the first end of the job, give @other 200 ms to end the same job (the bug). */
	if (atomic_inc_return(&e->ends) == 1) {
		wake_up_process(e->other);
		wait_for_completion_timeout(&e->again, HZ / 5);
		return;
	}
	/*
	 * A second thread is about to end the same job, so the test has failed. Exit this thread
	 * here, because a second end of the job would free the fence twice.
	 */
	complete(&e->again);
	dma_fence_end_signalling(false);
	current->kunit_test = NULL;
	kthread_complete_and_exit(&e->gone, 0);
}

/* Prepare the mock for vgpu_sdma_ring_down(), so that the engine stops immediately. */
static void ring_can_go_down(struct kunit *test, struct ring_mock *m)
{
	struct vgpu_ih *ih = &m->mock->hw.ih;

	m->mock->regs[vgpu_sdma_ring_reg(m->ring, SDMA_CONTEXT_STATUS)] =
		SDMA_CONTEXT_STATUS__IDLE;
	m->ring->scratch = kunit_kcalloc(test, VGPU_SDMA_MAX_JOB_DWORDS,
					 sizeof(u32), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->ring->scratch);
	spin_lock_init(&ih->lock);
	mutex_init(&ih->poll_lock);
	ih->wptr_wb = &m->ih_wptr;
	/* INT_MAX is not a valid IRQ, so disable_irq() and enable_irq() do nothing. */
	ih->irq = INT_MAX;
}

/*
 * The watchdog and the removal of the device take the ring down at the same time. Catches: both end
 * the same job.
 */
static void ring_down_twice(struct kunit *test)
{
	struct ring_enders *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	struct ring_mock *m = ring_mock_new(test);
	u32 trap[SDMA_TRAP_DWORDS] = { SDMA_OP_TRAP };
	struct vgpu_sdma_fence *job;
	struct dma_fence *fence;

	KUNIT_ASSERT_NOT_NULL(test, e);
	ring_can_go_down(test, m);
	e->test = test;
	e->ring = m->ring;
	init_completion(&e->again);
	init_completion(&e->gone);
	/*
	 * vgpu_sdma_ring_down() lets the CPU run the pending job. The CPU cannot run a TRAP packet,
	 * so the job fails, and ring_job_ends() is called.
	 */
	fence = vgpu_sdma_submit(&m->mock->vdev, 0, trap, SDMA_TRAP_DWORDS);
	KUNIT_ASSERT_FALSE(test, IS_ERR(fence));
	m->jobs[m->n++].fence = fence;
	job = container_of(fence, struct vgpu_sdma_fence, base);
	job->failed = ring_job_ends;
	job->arg = e;
	e->other = kthread_create(ring_down_too, e, "vgpu_ring_down");
	KUNIT_ASSERT_FALSE(test, IS_ERR(e->other));

	vgpu_sdma_ring_down(m->ring);
	if (atomic_read(&e->ends))
		wait_for_completion(&e->gone);
	else
		kthread_stop(e->other);
	KUNIT_EXPECT_EQ(test, atomic_read(&e->ends), 1);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(fence), -ENODEV);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->ring->pending));
	KUNIT_EXPECT_FALSE(test, m->ring->ready);
}

/*
 * Replaces vgpu_sdma_fault_state(), which vgpu_sdma_ring_poll() calls. Acts as if a recovery ended
 * during the poll: restarts the ring, and returns that there is no fault.
 */
static enum vgpu_fault_state ring_recovers(struct vgpu_device *vdev)
{
	vgpu_sdma_ring_unpark(vdev, 0, false);
	return VGPU_FAULT_NONE;
}

/*
 * A recovery restarts the ring after a poll has read the first job's number. Catches: the poll
 * signals the fence although the job runs again.
 */
static void ring_restarts_in_poll(struct kunit *test)
{
	struct ring_mock *m = ring_mock_new(test);

	ring_submit(test, m, 5);
	ring_submit(test, m, 5);
	m->fence_wb = cpu_to_le32(1);
	kunit_activate_static_stub(test, vgpu_sdma_fault_state, ring_recovers);
	vgpu_sdma_ring_poll(m->ring);
	kunit_deactivate_static_stub(test, vgpu_sdma_fault_state);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(m->jobs[0].fence), 0);
	ring_run(test, m);
	ring_run(test, m);
}

/*
 * A job has written its number to fence_wb, but has faulted and must run again. The ring goes down
 * before that. Catches: because of the number, the fence signals without an error.
 */
static void ring_polled_before_restart(struct kunit *test)
{
	struct ring_mock *m = ring_mock_new(test);
	u32 trap[SDMA_TRAP_DWORDS] = { SDMA_OP_TRAP };
	struct dma_fence *fence;

	ring_can_go_down(test, m);
	/* The CPU cannot run a TRAP in place of the engine, so this job must end with -ENODEV. */
	fence = vgpu_sdma_submit(&m->mock->vdev, 0, trap, SDMA_TRAP_DWORDS);
	KUNIT_ASSERT_FALSE(test, IS_ERR(fence));
	m->jobs[m->n++].fence = fence;
	/*
	 * A recovery has frozen the ring because of a fault of the job. The job has written number
	 * 1 to fence_wb in spite of the fault.
	 */
	m->ring->frozen = true;
	m->fence_wb = cpu_to_le32(1);
	vgpu_sdma_ring_poll(m->ring);
	/* The recovery restarts the ring, so that the engine runs the job again. */
	vgpu_sdma_ring_unpark(&m->mock->vdev, 0, false);
	vgpu_sdma_ring_down(m->ring);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(fence), -ENODEV);
}

/**
 * struct ring_stuck - a user queue that does not stop
 * @ring: ring of the queue's engine
 * @reset: the engine has been reset
 * @late: work that resets the engine
 */
struct ring_stuck {
	struct vgpu_sdma_ring *ring;
	bool reset;
	struct delayed_work late;
};

static void ring_reset_late(struct work_struct *work)
{
	struct ring_stuck *s = container_of(to_delayed_work(work),
					    struct ring_stuck, late);

	mutex_lock(&s->ring->rlc_lock);
	WRITE_ONCE(s->reset, true);
	vgpu_sdma_rlc_restore(s->ring, 0);
	mutex_unlock(&s->ring->rlc_lock);
}

/*
 * A user queue does not stop. Catches: vgpu_sdma_queue_unload() returns before the engine is reset,
 * so the engine may still use the queue's memory.
 */
static void ring_queue_stuck(struct kunit *test)
{
	struct ring_mock *m = ring_mock_new(test);
	struct ring_stuck *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct vgpu_sdma_ring *ring = m->ring;
	u64 rptr;

	KUNIT_ASSERT_NOT_NULL(test, s);
	mutex_init(&ring->rlc_lock);
	init_waitqueue_head(&ring->rlc_reset);
	ring->rlc_off = true;
	__set_bit(3, &ring->rlc_loaded);
	__set_bit(3, &ring->rlc_stuck);
	s->ring = ring;
	INIT_DELAYED_WORK(&s->late, ring_reset_late);
	schedule_delayed_work(&s->late, HZ / 20);
	KUNIT_EXPECT_EQ(test, vgpu_sdma_queue_unload(&m->mock->vdev, 0, 3, &rptr),
			-ETIME);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(s->reset));
	flush_delayed_work(&s->late);
	KUNIT_EXPECT_EQ(test, ring->rlc_stuck, 0);
	mutex_destroy(&ring->rlc_lock);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(ring_random),
	KUNIT_CASE(ring_full),
	KUNIT_CASE(ring_numbers_wrap),
	KUNIT_CASE(ring_many_at_once),
	KUNIT_CASE(ring_fault),
	KUNIT_CASE(ring_restarts_in_poll),
	KUNIT_CASE(ring_polled_before_restart),
	KUNIT_CASE(ring_down),
	KUNIT_CASE(ring_down_twice),
	KUNIT_CASE(ring_down_in_submission),
	KUNIT_CASE(ring_fence_kept),
	KUNIT_CASE(ring_queue_stuck),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "vgpu_sdma_ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
