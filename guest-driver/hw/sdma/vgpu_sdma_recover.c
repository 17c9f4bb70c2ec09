// SPDX-License-Identifier: GPL-2.0
/*
 * Detects SDMA engines that fail, and implements the steps of their recovery, which reset/ calls.
 * Fences depend on the functions of this file, so these functions do not allocate.
 */
#include <linux/iopoll.h>
#include <linux/moduleparam.h>

#include <kunit/visibility.h>

#include "vgpu/doorbell.h"
#include "hw/vgpu_hw_priv.h"
#include "vgpu_sdma.h"
#include "vgpu_sdma_priv.h"

/*
 * Limit of vgpu_sdma_ring.resets, the number of engine resets since a job last finished. At the
 * limit the device is reset instead of the engine.
 */
#define SDMA_MAX_RESETS		4u
/* Number of failures of a job, including faults of VMID 0, after which the CPU executes the job. */
#define SDMA_MAX_FAILURES	2u
/* Longest interval of the watchdog, in jiffies. Limits the delay after a lost interrupt. */
#define SDMA_LOOK_MAX		(HZ / 4ul)
/* Time limit for an engine to stop using the kernel's ring. */
#define SDMA_PARK_US		(200 * USEC_PER_MSEC)
#define SDMA_PARK_POLL_US	50

static unsigned int lockup_timeout = 10000;
module_param(lockup_timeout, uint, 0644);
MODULE_PARM_DESC(lockup_timeout,
		 "ms without progress after which an SDMA engine is reset (default 10000)");

static unsigned long sdma_timeout(void)
{
	return clamp(msecs_to_jiffies(READ_ONCE(lockup_timeout)), 1ul,
		     3600ul * HZ);
}

/**
 * vgpu_sdma_look_interval() - interval of the watchdog of a busy engine
 *
 * Return: jiffies, at least 1.
 */
unsigned long vgpu_sdma_look_interval(void)
{
	return clamp(sdma_timeout() / 4, 1ul, SDMA_LOOK_MAX);
}

static struct vgpu_sdma_fence *ring_oldest(struct vgpu_sdma_ring *ring)
{
	lockdep_assert_held(&ring->fence_lock);
	return list_first_entry_or_null(&ring->pending, struct vgpu_sdma_fence,
					link);
}

static void ring_need_recovery(struct vgpu_sdma_ring *ring)
{
	struct vgpu_device *vdev = ring->vdev;

	if (!vgpu_hw_recover(vdev, VGPU_RECOVER_ENGINE(ring->engine)))
		vgpu_sdma_ring_down(ring);
}

/*
 * If a fault is latched and STATUS has not changed since the last run of the watchdog, the
 * interrupt entry of the fault was lost: handle the fault here.
 */
static void ring_look_for_fault(struct vgpu_sdma_ring *ring)
{
	struct vgpu_device *vdev = ring->vdev;
	u32 status = vgpu_rreg_sync(vdev, VGPU_FAULT_STATUS_REG);

	if (status && status == ring->seen_fault)
		vgpu_ih_poll(vdev, true);
	ring->seen_fault = status;
}

static bool ring_stands_still(struct vgpu_sdma_ring *ring, u64 seqno, u64 rptr)
{
	if (seqno != ring->seen_seqno || rptr != ring->seen_rptr) {
		ring->seen_seqno = seqno;
		ring->seen_rptr = rptr;
		ring->seen_since = jiffies;
	}
	return time_after_eq(jiffies, ring->seen_since + sdma_timeout());
}

/**
 * vgpu_sdma_watchdog() - test whether an engine makes progress
 * @work: vgpu_sdma_ring.watchdog
 *
 * Context: work item; sleeps.
 */
void vgpu_sdma_watchdog(struct work_struct *work)
{
	struct vgpu_sdma_ring *ring =
		container_of(to_delayed_work(work), struct vgpu_sdma_ring,
			     watchdog);
	struct vgpu_device *vdev = ring->vdev;
	struct vgpu_sdma_fence *oldest;
	u64 rptr, seqno = 0;
	bool frozen;
	u32 status;

	if (!READ_ONCE(ring->ready))
		return;
	if (READ_ONCE(ring->helpless)) {
		drm_err(&vdev->drm, "sdma%u: fault of VMID 0, and no recovery\n",
			ring->engine);
		vgpu_sdma_ring_down(ring);
		return;
	}
	/*
	 * Handle pending interrupt entries and a latched fault, since an interrupt may have
	 * been lost.
	 */
	vgpu_ih_poll(vdev, false);
	ring_look_for_fault(ring);

	/* The device is not reset until vgpu_io_end(), so its registers can be read. */
	vgpu_io_begin(vdev);
	/*
	 * Do not poll a frozen ring. The recovery may have cleared a fault, and the poll would
	 * count the faulted job as done: a faulted job, too, writes its fence number to memory.
	 */
	if (!READ_ONCE(ring->frozen))
		vgpu_sdma_ring_poll(ring);
	status = vgpu_rreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_CONTEXT_STATUS));
	rptr = vgpu_sdma_ring_rptr(ring);
	spin_lock_irq(&ring->fence_lock);
	frozen = ring->frozen;
	oldest = ring_oldest(ring);
	if (oldest)
		seqno = oldest->base.seqno;
	spin_unlock_irq(&ring->fence_lock);
	vgpu_io_end(vdev);
	if (frozen)
		return;		/* the recovery restarts the ring */

	if (VGPU_GET(status, SDMA_CONTEXT_STATUS__EXCEPTION) &&
	    vgpu_sdma_fault_state(vdev) == VGPU_FAULT_KERNELS) {
		/*
		 * The engine is not broken: a fault of VMID 0 stopped the fetch of packets.
		 * vgpu_ih_poll() requests a recovery, even if the fault's interrupt entry was lost.
		 */
		vgpu_ih_poll(vdev, true);
	} else if (VGPU_GET(status, SDMA_CONTEXT_STATUS__EXCEPTION)) {
		drm_err(&vdev->drm,
			"sdma%u stopped with exception %u at %#llx\n",
			ring->engine,
			VGPU_GET(status, SDMA_CONTEXT_STATUS__EXCEPTION), rptr);
		ring_need_recovery(ring);
	} else if (oldest && ring_stands_still(ring, seqno, rptr)) {
		drm_err(&vdev->drm,
			"sdma%u hangs in job %llu at %#llx, status %#x\n",
			ring->engine, seqno, rptr, status);
		/*
		 * Mark the hanging job as suspect. vgpu_sdma_ring_park() does not mark the job if
		 * the engine becomes idle within SDMA_PARK_US. Without the mark, the recovery would
		 * run the job again after each hang.
		 */
		spin_lock_irq(&ring->fence_lock);
		ring->suspect = seqno;
		spin_unlock_irq(&ring->fence_lock);
		ring_need_recovery(ring);
	} else if (oldest) {
		schedule_delayed_work(&ring->watchdog,
				      vgpu_sdma_look_interval());
	}
}

/* Copy the packets of @fence, the oldest job, to @dw. Returns the number of dwords. */
static unsigned int ring_read_job(struct vgpu_sdma_ring *ring,
				  const struct vgpu_sdma_fence *fence, u32 *dw)
{
	unsigned int n, ndw;

	ndw = (fence->end - ring->done) / 4 - SDMA_EPILOGUE_DWORDS;
	for (n = 0; n < ndw; n++)
		dw[n] = le32_to_cpu(ring->ring[(ring->done / 4 + n) %
					       SDMA_RING_DWORDS]);
	return ndw;
}

static void ring_end_oldest(struct vgpu_sdma_ring *ring,
			    struct vgpu_sdma_fence *fence, int error)
{
	bool cookie = dma_fence_begin_signalling();

	if (error)
		vgpu_stat_add(ring->vdev, VGPU_STAT_JOBS_FAILED, 1);
	if (error && fence->failed)
		fence->failed(fence->arg, error);
	WRITE_ONCE(*ring->fence_wb, cpu_to_le32(fence->base.seqno));
	spin_lock_irq(&ring->fence_lock);
	vgpu_sdma_ring_pop(ring, fence, error);
	spin_unlock_irq(&ring->fence_lock);
	dma_fence_end_signalling(cookie);
	wake_up_all(&ring->space);
}

/*
 * Return the oldest pending job, or NULL. Submissions may add jobs to a frozen ring, but only
 * the holder of end_lock removes jobs from it.
 */
static struct vgpu_sdma_fence *ring_peek(struct vgpu_sdma_ring *ring)
{
	struct vgpu_sdma_fence *fence;

	spin_lock_irq(&ring->fence_lock);
	fence = ring_oldest(ring);
	spin_unlock_irq(&ring->fence_lock);
	return fence;
}

static void ring_freeze(struct vgpu_sdma_ring *ring)
{
	spin_lock_irq(&ring->fence_lock);
	ring->frozen = true;
	spin_unlock_irq(&ring->fence_lock);
}

/*
 * Let the CPU execute the oldest job, @fence. If the CPU cannot, the job ends with @error. The
 * caller holds end_lock.
 */
static void ring_end_by_cpu(struct vgpu_sdma_ring *ring,
			    struct vgpu_sdma_fence *fence, int error)
{
	unsigned int ndw = ring_read_job(ring, fence, ring->scratch);

	if (!vgpu_sdma_cpu_run(ring->vdev, ring->scratch, ndw))
		error = 0;
	ring_end_oldest(ring, fence, error);
}

/* End the jobs that were done before the engine stopped. The caller has frozen the ring. */
static void ring_end_finished(struct vgpu_sdma_ring *ring)
{
	bool cookie;

	vgpu_ih_poll(ring->vdev, false);
	vgpu_sdma_ring_poll(ring);
	cookie = dma_fence_begin_signalling();
	spin_lock_irq(&ring->fence_lock);
	vgpu_sdma_ring_pop_until(ring, ring->finished);
	spin_unlock_irq(&ring->fence_lock);
	dma_fence_end_signalling(cookie);
}

/* Freeze the ring, stop it, and end the jobs that were done before. The caller holds end_lock. */
static void ring_stop(struct vgpu_sdma_ring *ring)
{
	struct vgpu_device *vdev = ring->vdev;

	ring_freeze(ring);
	/* Stop the ring first, since memory may be reused as soon as the fences signal. */
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_RB_CNTL), 0);
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_DOORBELL), 0);
	if (!vgpu_hw_poll(vdev, vgpu_sdma_ring_reg(ring, SDMA_CONTEXT_STATUS),
			  SDMA_CONTEXT_STATUS__IDLE,
			  SDMA_CONTEXT_STATUS__IDLE)) {
		drm_err(&vdev->drm, "sdma%u does not stop, halting it\n",
			ring->engine);
		vgpu_wreg(vdev, SDMA_ENGINE(ring->engine) + SDMA_F32_CNTL,
			  SDMA_F32_CNTL__HALT);
	}
	ring_end_finished(ring);
}

/* Stop the ring and cancel its jobs: VRAM was lost, so the CPU must not execute copies from it. */
static void ring_cancel(struct vgpu_sdma_ring *ring)
{
	struct vgpu_sdma_fence *fence;

	mutex_lock(&ring->end_lock);
	if (READ_ONCE(ring->ready))
		ring_stop(ring);
	while ((fence = ring_peek(ring)))
		ring_end_oldest(ring, fence, -ECANCELED);
	mutex_unlock(&ring->end_lock);
}

/* Stop the ring, end all pending jobs, and mark the ring as down. The caller holds end_lock. */
static void ring_take_down(struct vgpu_sdma_ring *ring)
{
	struct vgpu_sdma_fence *fence;
	bool down;

	ring_stop(ring);
	do {
		while ((fence = ring_peek(ring)))
			ring_end_by_cpu(ring, fence, -ENODEV);
		spin_lock_irq(&ring->fence_lock);
		down = list_empty(&ring->pending);
		if (down)
			WRITE_ONCE(ring->ready, false);
		spin_unlock_irq(&ring->fence_lock);
	} while (!down);
	wake_up_all(&ring->space);
}

/**
 * vgpu_sdma_ring_down() - stop the kernel's ring of an engine for good
 * @ring: ring
 *
 * The CPU executes the pending jobs. If the CPU cannot execute a job, the fence of this job
 * signals with -ENODEV. The CPU executes later jobs at submission.
 *
 * Context: sleeps.
 */
void vgpu_sdma_ring_down(struct vgpu_sdma_ring *ring)
{
	mutex_lock(&ring->end_lock);
	if (READ_ONCE(ring->ready))
		ring_take_down(ring);
	mutex_unlock(&ring->end_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_ring_down);

/* Wait until the engine stops using the disabled ring. Returns false on timeout. */
static bool ring_wait_idle(struct vgpu_sdma_ring *ring)
{
	u32 status;

	return !read_poll_timeout(vgpu_rreg, status,
				  status & SDMA_CONTEXT_STATUS__IDLE,
				  SDMA_PARK_POLL_US, SDMA_PARK_US, false,
				  ring->vdev,
				  vgpu_sdma_ring_reg(ring, SDMA_CONTEXT_STATUS));
}

/**
 * vgpu_sdma_ring_park() - stop the kernel's ring of an engine
 * @vdev: device
 * @engine: 0 to VGPU_NUM_SDMA - 1
 *
 * No job is signalled until vgpu_sdma_ring_unpark() or vgpu_sdma_ring_down(). User queues run on.
 *
 * Context: the recovery's worker or suspend; sleeps.
 *
 * Return: false if the engine needs a reset: timeout (SDMA_PARK_US), or exception that no fault of
 * VMID 0 explains.
 */
bool vgpu_sdma_ring_park(struct vgpu_device *vdev, unsigned int engine)
{
	struct vgpu_sdma_ring *ring = &to_hw_state(vdev)->sdma[engine];
	struct vgpu_sdma_fence *oldest;
	u64 running = 0;
	u32 exception;
	bool failed;

	mutex_lock(&ring->end_lock);
	ring_freeze(ring);
	ring_end_finished(ring);
	oldest = ring_peek(ring);
	if (oldest)
		running = oldest->base.seqno;
	exception = VGPU_GET(vgpu_rreg(vdev, vgpu_sdma_ring_reg(ring,
								SDMA_CONTEXT_STATUS)),
			     SDMA_CONTEXT_STATUS__EXCEPTION);
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_RB_CNTL), 0);
	failed = !ring_wait_idle(ring);
	ring_end_finished(ring);

	spin_lock_irq(&ring->fence_lock);
	oldest = ring_oldest(ring);
	/* EXC_RING is no failure if a fault of VMID 0 (ring->fault) may have caused EXC_RING. */
	if (exception && !(exception == VGPU_SDMA_EXC_RING && ring->fault))
		failed = true;
	else if (oldest && oldest->base.seqno != running)
		/*
		 * At the freeze, @oldest was not the oldest job yet. So the engine may have only
		 * just started @oldest. Do not mark @oldest as suspect.
		 */
		oldest = NULL;
	if (failed && oldest)
		ring->suspect = oldest->base.seqno;
	spin_unlock_irq(&ring->fence_lock);
	mutex_unlock(&ring->end_lock);
	return !failed;
}

/**
 * vgpu_sdma_park() - stop all queues of an engine before a reset
 * @vdev: device
 * @engine: 0 to SDMA_NUM_ENGINES - 1
 * @dead: receives a bitmap of the user queues that do not stop, or had stopped on an error
 *
 * After the call no job is signalled until vgpu_sdma_unpark() or vgpu_sdma_ring_down().
 *
 * Context: the recovery's worker or suspend; sleeps.
 */
void vgpu_sdma_park(struct vgpu_device *vdev, unsigned int engine,
		    unsigned long *dead)
{
	struct vgpu_sdma_ring *ring = &to_hw_state(vdev)->sdma[engine];

	if (vgpu_sdma_is_kernels(ring))
		vgpu_sdma_ring_park(vdev, engine);
	mutex_lock(&ring->rlc_lock);
	*dead = vgpu_sdma_rlc_park(ring);
	/* Until vgpu_sdma_unpark(), loads and unloads of user queues write no register. */
	ring->rlc_off = true;
	mutex_unlock(&ring->rlc_lock);
}

/*
 * Decide what happens to the oldest job, @fence, after a failure or a fault of VMID 0. No later
 * job has started.
 */
static void ring_judge(struct vgpu_sdma_ring *ring,
		       struct vgpu_sdma_fence *fence)
{
	unsigned int ndw = ring_read_job(ring, fence, ring->scratch);

	/*
	 * The engine hung or stopped in job ring->suspect. This job may run again only if
	 * vgpu_sdma_cpu_can() is true: the second run of such a job writes the same data. Any other
	 * job is here because of a fault of VMID 0, and may run again: the driver assumes that the
	 * GART's table was wrong, not the job.
	 */
	if (ring->suspect == fence->base.seqno &&
	    !vgpu_sdma_cpu_can(ring->scratch, ndw)) {
		drm_err(&ring->vdev->drm, "sdma%u: job %llu is given up\n",
			ring->engine, fence->base.seqno);
		ring_end_oldest(ring, fence, -ETIME);
		/*
		 * Count the end of this job as progress: bad jobs of users must not lead to a
		 * reset of the device.
		 */
		ring->resets = 0;
	} else if (++fence->failures >= SDMA_MAX_FAILURES) {
		ring_end_by_cpu(ring, fence, -ETIME);
	}
}

/**
 * vgpu_sdma_ring_unpark() - restart the kernel's ring
 * @vdev: device; the GART works
 * @engine: 0 to VGPU_NUM_SDMA - 1; the engine is parked or in its reset state
 * @vram_lost: the content of VRAM was lost: pending jobs end with -ECANCELED
 *
 * After a failure or a fault of VMID 0, ring_judge() decides whether the oldest job is run again.
 *
 * Context: the recovery's worker or resume; sleeps.
 */
void vgpu_sdma_ring_unpark(struct vgpu_device *vdev, unsigned int engine,
			   bool vram_lost)
{
	struct vgpu_sdma_ring *ring = &to_hw_state(vdev)->sdma[engine];
	struct vgpu_sdma_fence *fence;
	unsigned int rerun;

	mutex_lock(&ring->end_lock);
	fence = ring_peek(ring);
	if (vram_lost)
		for (; fence; fence = ring_peek(ring))
			ring_end_oldest(ring, fence, -ECANCELED);
	else if (fence && (ring->suspect == fence->base.seqno || ring->fault))
		ring_judge(ring, fence);
	/*
	 * The oldest job will be run again, so set the job number in memory (fence_wb) back to
	 * the number of the job before the oldest.
	 */
	fence = ring_peek(ring);
	if (fence)
		WRITE_ONCE(*ring->fence_wb,
			   cpu_to_le32(lower_32_bits(fence->base.seqno) - 1));

	vgpu_sdma_ring_start(ring);
	spin_lock_irq(&ring->fence_lock);
	rerun = list_count_nodes(&ring->pending);
	ring->seen_since = jiffies;
	/*
	 * The oldest job runs again, so it is not done. After a fault, vgpu_sdma_ring_poll() may
	 * have stored the number of this job in ring->finished.
	 */
	fence = ring_oldest(ring);
	if (fence)
		ring->finished = lower_32_bits(fence->base.seqno) - 1;
	/*
	 * Order the store to ring->fence_wb above before this store to ring->restarts:
	 * vgpu_sdma_ring_poll() reads ring->restarts first.
	 */
	smp_store_release(&ring->restarts, ring->restarts + 1);
	ring->frozen = false;
	ring->suspect = 0;
	ring->fault = false;
	ring->ready = true;
	/* This doorbell also starts jobs that were submitted while the engine was parked. */
	vgpu_wdoorbell64(vdev, DOORBELL_SDMA(engine) * 8, ring->submitted);
	spin_unlock_irq(&ring->fence_lock);
	vgpu_stat_add(vdev, VGPU_STAT_JOBS_RERUN, rerun);
	if (rerun)
		mod_delayed_work(system_wq, &ring->watchdog,
				 vgpu_sdma_look_interval());
	mutex_unlock(&ring->end_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_ring_unpark);

/**
 * vgpu_sdma_unpark() - restart an engine after a reset
 * @vdev: device; the GART works
 * @engine: 0 to SDMA_NUM_ENGINES - 1, in its reset state
 * @dead: bitmap of user queues that must not run again
 * @vram_lost: end pending jobs with -ECANCELED, and stop all user queues
 *
 * Context: the recovery's worker or resume; sleeps.
 *
 * Return: bitmap of the user queues stopped for good.
 */
unsigned long vgpu_sdma_unpark(struct vgpu_device *vdev, unsigned int engine,
			       unsigned long dead, bool vram_lost)
{
	struct vgpu_sdma_ring *ring = &to_hw_state(vdev)->sdma[engine];

	if (vgpu_sdma_is_kernels(ring))
		vgpu_sdma_ring_unpark(vdev, engine, vram_lost);
	else
		vgpu_sdma_engine_start(ring);
	mutex_lock(&ring->rlc_lock);
	ring->rlc_off = false;
	if (vram_lost)
		dead = GENMASK(SDMA_NUM_RLC - 1, 0);
	dead = vgpu_sdma_rlc_restore(ring, dead);
	mutex_unlock(&ring->rlc_lock);
	return dead;
}

/**
 * vgpu_sdma_engine_pulse() - put an engine into its reset state, halted
 * @vdev: device
 * @engine: 0 to SDMA_NUM_ENGINES - 1
 *
 * On return no queue of the engine accesses memory.
 */
void vgpu_sdma_engine_pulse(struct vgpu_device *vdev, unsigned int engine)
{
	u32 reg = SDMA_ENGINE(engine) + SDMA_F32_CNTL;

	vgpu_wreg(vdev, reg, SDMA_F32_CNTL__HALT);
	vgpu_wreg(vdev, reg, SDMA_F32_CNTL__HALT | SDMA_F32_CNTL__RESET);
	vgpu_wreg(vdev, reg, SDMA_F32_CNTL__HALT);
}

/**
 * vgpu_sdma_engine_reset() - reset one engine
 * @vdev: device
 * @engine: 0 to SDMA_NUM_ENGINES - 1, parked
 *
 * Context: the recovery's worker.
 *
 * Return: 0, or -EIO after SDMA_MAX_RESETS resets without a finished job. On -EIO the
 * function has not reset the engine, and the caller resets the device.
 */
int vgpu_sdma_engine_reset(struct vgpu_device *vdev, unsigned int engine)
{
	struct vgpu_sdma_ring *ring = &to_hw_state(vdev)->sdma[engine];

	/*
	 * If no kernel job is pending, a user queue has caused this reset. Such resets must not
	 * lead to a reset of the device, so set the count to 0.
	 */
	if (!ring_peek(ring))
		ring->resets = 0;
	else if (ring->resets++ >= SDMA_MAX_RESETS)
		return -EIO;
	/* The engine stays halted until vgpu_sdma_unpark(). */
	vgpu_sdma_engine_pulse(vdev, engine);
	vgpu_stat_add(vdev, VGPU_STAT_ENGINE_RESETS, 1);
	return 0;
}

/**
 * vgpu_sdma_give_up() - stop using all engines
 * @vdev: device, its engines parked
 * @vram_lost: VRAM was lost: pending jobs end with -ECANCELED, and user queues end for good
 *
 * From now on the CPU executes the kernel's jobs, and user queues do not run.
 *
 * Context: sleeps.
 */
void vgpu_sdma_give_up(struct vgpu_device *vdev, bool vram_lost)
{
	struct vgpu_sdma_ring *ring = to_hw_state(vdev)->sdma;
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		if (vram_lost)
			ring_cancel(&ring[i]);
		vgpu_sdma_ring_down(&ring[i]);
	}
	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		vgpu_sdma_rlc_give_up(&ring[i], vram_lost);
}
