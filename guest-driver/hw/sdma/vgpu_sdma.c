// SPDX-License-Identifier: GPL-2.0
/*
 * Starts the SDMA engines (docs/hardware.md), submits jobs, and signals their fences.
 *
 * Packets stay in the ring until the job's fence signals: vgpu_sdma_recover.c may rerun the job.
 */
#include <linux/dma-mapping.h>
#include <drm/drm_managed.h>

#include <kunit/visibility.h>

#include "vgpu/doorbell.h"
#include "vgpu/sdma_packets.h"
#include "hw/vgpu_hw_priv.h"
#include "hw/vgpu_hw_trace.h"
#include "vgpu_sdma.h"
#include "vgpu_sdma_priv.h"

#define SDMA_SELFTEST_TIMEOUT	(5 * HZ)

/* Value of RD_XNACK_LIMIT and WR_XNACK_LIMIT in SDMA_UTCL1_TIMEOUT: the chip's default. */
#define SDMA_XNACK_LIMIT	0x80u

/* Two of the largest jobs fit into the ring, so that one can be written while the other runs. */
static_assert(2 * (VGPU_SDMA_MAX_JOB_DWORDS + SDMA_EPILOGUE_DWORDS) <=
	      SDMA_RING_DWORDS);

static const char *sdma_fence_driver_name(struct dma_fence *fence)
{
	return "vgpu_kfd";
}

static const char *sdma_fence_timeline_name(struct dma_fence *fence)
{
	return container_of(fence, struct vgpu_sdma_fence, base)->engine ?
	       "sdma1" : "sdma0";
}

static const struct dma_fence_ops vgpu_sdma_fence_ops = {
	.use_64bit_seqno = true,
	.get_driver_name = sdma_fence_driver_name,
	.get_timeline_name = sdma_fence_timeline_name,
};

/*
 * A TRAP carries only the low bits of a job number. A shift by SEQNO_SHIFT makes the highest of
 * these bits the sign bit.
 */
#define SEQNO_SHIFT	(32 - const_ilog2(SDMA_TRAP_DW1__CONTEXT + 1))

/*
 * Returns true if job @seqno is done, given that @last is the last job done. Only the bits
 * that a TRAP carries are compared.
 */
static bool seqno_reached(u32 last, u64 seqno)
{
	return (s32)((last - lower_32_bits(seqno)) << SEQNO_SHIFT) >= 0;
}

/**
 * vgpu_sdma_ring_pop() - end the oldest pending job
 * @ring: ring
 * @fence: fence of the oldest pending job
 * @error: error of the job, a negative errno; 0 if the job is done
 *
 * After the signal, sets the ops pointer of @fence to @ring->ended_ops. drm_sched may hold @fence
 * after this module was unloaded, and the code of @ring->ended_ops is not in this module.
 *
 * Context: any; the caller holds @ring->fence_lock.
 */
void vgpu_sdma_ring_pop(struct vgpu_sdma_ring *ring,
			struct vgpu_sdma_fence *fence, int error)
{
	lockdep_assert_held(&ring->fence_lock);

	trace_vgpu_sdma_done(ring->engine, fence->base.seqno, error);
	list_del(&fence->link);
	WRITE_ONCE(ring->done, fence->end);
	if (error)
		dma_fence_set_error(&fence->base, error);
	dma_fence_signal_locked(&fence->base);
	WRITE_ONCE(fence->base.ops, ring->ended_ops);
	dma_fence_put(&fence->base);
}

/**
 * vgpu_sdma_ring_pop_until() - end the pending jobs that are done
 * @ring: ring
 * @last: number of the last job done; only the bits that a TRAP carries are compared
 *
 * Context: any; the caller holds @ring->fence_lock.
 *
 * Return: true if any job was ended.
 */
bool vgpu_sdma_ring_pop_until(struct vgpu_sdma_ring *ring, u32 last)
{
	struct vgpu_sdma_fence *fence, *next;
	bool any = false;

	list_for_each_entry_safe(fence, next, &ring->pending, link) {
		if (!seqno_reached(last, fence->base.seqno))
			break;
		vgpu_sdma_ring_pop(ring, fence, 0);
		any = true;
	}
	return any;
}

/*
 * Signal the fences of jobs up to number @last. Any context.
 *
 * @restarts: NULL if @last comes from a TRAP: only a job that is done raises a TRAP. If @last was
 * read from memory, @restarts points to the value of ring->restarts before that read. If
 * ring->restarts has changed since, @last is ignored: job @last may be running again.
 */
static void ring_signal(struct vgpu_sdma_ring *ring, u32 last, const u32 *restarts)
{
	unsigned long flags;
	bool cookie;

	cookie = dma_fence_begin_signalling();
	spin_lock_irqsave(&ring->fence_lock, flags);
	/*
	 * Ignore @last if the ring was restarted since vgpu_sdma_ring_poll() read @last: job @last
	 * may not be done. vgpu_sdma_ring_poll() reads @last, and then tests whether a fault is
	 * latched. The test finds no fault if a recovery has cleared the fault before the test.
	 * A recovery clears the fault before it restarts the ring. If the ring was restarted since
	 * @last was read, job @last may be the faulted job, which runs again.
	 */
	if (!restarts || *restarts == ring->restarts) {
		if (!seqno_reached(ring->finished, last))
			ring->finished = last;
		if (!ring->frozen && vgpu_sdma_ring_pop_until(ring, last))
			ring->resets = 0;
	}
	spin_unlock_irqrestore(&ring->fence_lock, flags);
	dma_fence_end_signalling(cookie);

	wake_up(&ring->space);
}

/**
 * vgpu_sdma_ring_poll() - signal finished jobs without an interrupt
 * @ring: ring
 *
 * Context: any.
 */
void vgpu_sdma_ring_poll(struct vgpu_sdma_ring *ring)
{
	/* Pairs with the store in vgpu_sdma_ring_unpark(). */
	u32 restarts = smp_load_acquire(&ring->restarts);
	u32 last = le32_to_cpu(READ_ONCE(*ring->fence_wb));

	/* Read the job's number before its results and faults. */
	dma_rmb();
	/*
	 * In states above VGPU_FAULT_USERS, the last job may have faulted. So do not count this job
	 * as done. The job's number in memory is no proof: each job first writes its number, and
	 * then waits until no fault is latched or examined ("DOC: the gate").
	 */
	if (vgpu_sdma_fault_state(ring->vdev) > VGPU_FAULT_USERS)
		last--;
	ring_signal(ring, last, &restarts);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_ring_poll);

/**
 * vgpu_sdma_poll_fences() - signal finished jobs of all engines
 * @vdev: device
 *
 * Called when interrupts may have been lost.
 *
 * Context: any.
 */
void vgpu_sdma_poll_fences(struct vgpu_device *vdev)
{
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++)
		if (READ_ONCE(to_hw_state(vdev)->sdma[i].ready))
			vgpu_sdma_ring_poll(&to_hw_state(vdev)->sdma[i]);
}

static void ring_write(struct vgpu_sdma_ring *ring, const u32 *dw,
		       unsigned int ndw)
{
	unsigned int i;

	for (i = 0; i < ndw; i++) {
		ring->ring[ring->wptr / 4 % SDMA_RING_DWORDS] =
			cpu_to_le32(dw[i]);
		ring->wptr += 4;
	}
}

/* Wait until @bytes more fit into the ring. Returns false if the ring is down. */
static bool ring_wait_space(struct vgpu_sdma_ring *ring, u32 bytes)
{
	wait_event(ring->space, !READ_ONCE(ring->ready) ||
		   ring->wptr + bytes - READ_ONCE(ring->done) <=
		   SDMA_RING_BYTES);
	return READ_ONCE(ring->ready);
}

/*
 * Make the job pending and ring the doorbell. On error, remove the packets from the ring.
 * Returns -ENODEV if the ring is down, or -ECANCELED if VRAM has lost content that the job needs.
 */
static int ring_add_fence(struct vgpu_sdma_ring *ring,
			  struct vgpu_sdma_fence *fence)
{
	struct vgpu_hw *hw = ring->vdev->hw;
	int ret = 0;

	spin_lock_irq(&ring->fence_lock);
	if (!ring->ready)
		ret = -ENODEV;
	else if (fence->needs_vram &&
		 fence->vram_epoch != atomic_read(&hw->vram_epoch))
		ret = -ECANCELED;
	if (!ret) {
		dma_fence_init(&fence->base, &vgpu_sdma_fence_ops,
			       &ring->fence_lock, ring->fence_context,
			       ring->fence_seqno);
		/*
		 * The fence points to fence_lock and may exist longer than this lock. That is safe,
		 * because dma_fence_put() of a signalled fence does not take the lock.
		 */
		trace_vgpu_sdma_submit(ring->engine, ring->fence_seqno,
				       (ring->wptr - ring->submitted) / 4);
		fence->end = ring->wptr;
		fence->engine = ring->engine;
		/*
		 * Hold fence_lock until the doorbell is rung, as vgpu_sdma_ring_unpark() does. So
		 * the doorbell's value never decreases.
		 */
		ring->submitted = ring->wptr;
		/*
		 * A reset that loses VRAM changes vram_epoch, then ends the listed jobs under
		 * fence_lock. So either the check above rejects this job, or the reset ends this
		 * job.
		 */
		list_add_tail(&fence->link, &ring->pending);
		dma_fence_get(&fence->base);	/* the list holds a reference */
		/* writeq() orders the doorbell after the packets. */
		vgpu_wdoorbell64(ring->vdev, DOORBELL_SDMA(ring->engine) * 8,
				 ring->wptr);
	} else {
		ring->wptr = ring->submitted;
	}
	spin_unlock_irq(&ring->fence_lock);
	return ret;
}

/**
 * vgpu_sdma_submit() - submit a job to an engine
 * @vdev: device
 * @engine: 0 to VGPU_NUM_SDMA - 1
 * @dw: packets, with addresses of VMID 0
 * @ndw: 1 to VGPU_SDMA_MAX_JOB_DWORDS
 *
 * Jobs of an engine run in order. The caller updates VGPU_STAT_BYTES_*.
 *
 * Context: sleeps for ring space and allocates.
 *
 * Return: a reference to the job's fence, or ERR_PTR():
 * * -EINVAL: invalid @engine or @ndw
 * * -ENODEV: the engine is down, and the CPU cannot run the job
 * * -ENOMEM
 *
 * Errors of the fence:
 *
 * * -ETIME: the engine failed in the job
 * * -ECANCELED: VRAM was lost
 * * -ENODEV: the engine went down, and the CPU could not run the job
 */
struct dma_fence *vgpu_sdma_submit(struct vgpu_device *vdev,
				   unsigned int engine, const u32 *dw,
				   unsigned int ndw)
{
	struct vgpu_sdma_fence *fence = vgpu_sdma_fence_alloc(GFP_KERNEL);
	struct dma_fence *done;

	if (!fence)
		return ERR_PTR(-ENOMEM);
	done = vgpu_sdma_submit_with(vdev, engine, dw, ndw, &fence);
	vgpu_sdma_fence_free(fence);
	return done;
}

/**
 * vgpu_sdma_submit_with() - vgpu_sdma_submit() that does not allocate
 * @vdev: device
 * @engine: as for vgpu_sdma_submit()
 * @dw: as for vgpu_sdma_submit()
 * @ndw: as for vgpu_sdma_submit()
 * @memory: fence from vgpu_sdma_fence_alloc(); set to NULL if the fence was used
 *
 * Context: sleeps for ring space.
 *
 * Return: as vgpu_sdma_submit(), without -ENOMEM; also ERR_PTR(-ECANCELED), see
 * vgpu_sdma_fence_needs_vram().
 */
struct dma_fence *vgpu_sdma_submit_with(struct vgpu_device *vdev,
					unsigned int engine, const u32 *dw,
					unsigned int ndw,
					struct vgpu_sdma_fence **memory)
{
	struct vgpu_sdma_fence *fence = *memory;
	u32 epilogue[SDMA_EPILOGUE_DWORDS];
	struct vgpu_sdma_ring *ring;
	int ret;

	if (WARN_ON_ONCE(engine >= VGPU_NUM_SDMA || !ndw ||
			 ndw > VGPU_SDMA_MAX_JOB_DWORDS))
		return ERR_PTR(-EINVAL);
	ring = &to_hw_state(vdev)->sdma[engine];

	mutex_lock(&ring->lock);
	ret = -ENODEV;
	if (!ring_wait_space(ring, (ndw + SDMA_EPILOGUE_DWORDS) * 4))
		goto err;

	ring->fence_seqno++;
	vgpu_sdma_emit_end(ring, epilogue);
	ring_write(ring, dw, ndw);
	ring_write(ring, epilogue, ARRAY_SIZE(epilogue));

	ret = ring_add_fence(ring, fence);
	if (ret)
		goto err;
	*memory = NULL;
	schedule_delayed_work(&ring->watchdog, vgpu_sdma_look_interval());
	mutex_unlock(&ring->lock);

	return &fence->base;

err:
	if (ret == -ENODEV && !vgpu_sdma_cpu_run(vdev, dw, ndw))
		ret = 0;
	mutex_unlock(&ring->lock);
	return ret ? ERR_PTR(ret) : dma_fence_get_stub();
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_submit);

/* Handles TRAPs of all queues of the engine; a TRAP of VMID 0 comes from the kernel's ring. */
static void sdma_trap(struct vgpu_device *vdev, const struct vgpu_iv_entry *iv,
		      void *arg)
{
	if (!iv->vmid) {
		/* Order later reads of the job's results after the read of the interrupt entry. */
		dma_rmb();
		ring_signal(arg, iv->data[0] & SDMA_TRAP_DW1__CONTEXT, NULL);
	}
}

/*
 * Handle the interrupt entry @iv of a bad packet, which stopped a queue of the engine. If @iv
 * has VMID 0, this queue is the kernel's ring.
 */
static void sdma_illegal(struct vgpu_device *vdev,
			 const struct vgpu_iv_entry *iv, void *arg)
{
	struct vgpu_sdma_ring *ring = arg;

	if (!iv->vmid)
		mod_delayed_work(system_wq, &ring->watchdog, 0);
}

static u8 sdma_client(unsigned int engine)
{
	return IH_CLIENT_SDMA(engine);
}

static void ring_wreg64(struct vgpu_sdma_ring *ring, u32 reg, u64 value)
{
	vgpu_wreg(ring->vdev, vgpu_sdma_ring_reg(ring, reg),
		  lower_32_bits(value));
	vgpu_wreg(ring->vdev, vgpu_sdma_ring_reg(ring, reg) + 1,
		  upper_32_bits(value));
}

static void engine_setup(struct vgpu_sdma_ring *ring)
{
	u32 engine = SDMA_ENGINE(ring->engine);

	vgpu_wreg(ring->vdev, engine + SDMA_UTCL1_TIMEOUT,
		  VGPU_PREP(SDMA_UTCL1_TIMEOUT__RD_XNACK_LIMIT,
			    SDMA_XNACK_LIMIT) |
		  VGPU_PREP(SDMA_UTCL1_TIMEOUT__WR_XNACK_LIMIT,
			    SDMA_XNACK_LIMIT));
	vgpu_wreg(ring->vdev, engine + SDMA_CNTL,
		  SDMA_CNTL__TRAP_ENABLE | SDMA_CNTL__UTC_L1_ENABLE |
		  SDMA_CNTL__AUTO_CTXSW_ENABLE);
}

/**
 * vgpu_sdma_engine_start() - start an engine that has user queues only
 * @ring: structure of the engine, which is in its reset state or halted
 */
void vgpu_sdma_engine_start(struct vgpu_sdma_ring *ring)
{
	engine_setup(ring);
	vgpu_wreg(ring->vdev, SDMA_ENGINE(ring->engine) + SDMA_F32_CNTL, 0);
}

/**
 * vgpu_sdma_ring_start() - start the kernel's ring at the first job that is not done
 * @ring: ring; its engine is in its reset state or halted
 */
void vgpu_sdma_ring_start(struct vgpu_sdma_ring *ring)
{
	struct vgpu_device *vdev = ring->vdev;
	u32 engine = SDMA_ENGINE(ring->engine);
	u32 cntl = VGPU_PREP(SDMA_RB_CNTL__RB_SIZE,
			     (u32)ilog2(SDMA_RING_DWORDS)) |
		   SDMA_RB_CNTL__RB_PRIV;

	engine_setup(ring);
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_RB_CNTL), cntl);
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_RB_BASE),
		  lower_32_bits(ring->ring_mc >> 8));
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_RB_BASE_HI),
		  upper_32_bits(ring->ring_mc >> 8));
	ring_wreg64(ring, SDMA_RB_RPTR, READ_ONCE(ring->done));
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_MINOR_PTR_UPDATE), 1);
	ring_wreg64(ring, SDMA_RB_WPTR, READ_ONCE(ring->submitted));
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_MINOR_PTR_UPDATE), 0);
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_DOORBELL_OFFSET),
		  DOORBELL_SDMA(ring->engine) * 8);
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_DOORBELL), SDMA_DOORBELL__ENABLE);
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_IB_CNTL), SDMA_IB_CNTL__IB_ENABLE);
	vgpu_wreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_RB_CNTL),
		  cntl | SDMA_RB_CNTL__RB_ENABLE);

	vgpu_wreg(vdev, engine + SDMA_F32_CNTL, 0);
}

/* Run one job. This tests the ring, the GART, the write-back, the interrupt and the fence. */
static int ring_selftest(struct vgpu_sdma_ring *ring)
{
	static const u32 nop = SDMA_OP_NOP;
	struct vgpu_device *vdev = ring->vdev;
	struct dma_fence *fence;
	long left;

	fence = vgpu_sdma_submit(vdev, ring->engine, &nop, 1);
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	left = dma_fence_wait_timeout(fence, false, SDMA_SELFTEST_TIMEOUT);
	dma_fence_put(fence);
	if (left > 0 && READ_ONCE(ring->ready))
		return 0;

	drm_err(&vdev->drm,
		"sdma%u does not run its ring: rptr %#llx, wptr %#llx, fence %u, status %#x\n",
		ring->engine, vgpu_sdma_ring_rptr(ring), ring->wptr,
		le32_to_cpu(READ_ONCE(*ring->fence_wb)),
		vgpu_rreg(vdev, vgpu_sdma_ring_reg(ring, SDMA_CONTEXT_STATUS)));
	return -EIO;
}

static void ring_fini(struct vgpu_sdma_ring *ring)
{
	struct vgpu_device *vdev = ring->vdev;
	struct device *dev = &vdev->pdev->dev;
	u8 client = sdma_client(ring->engine);

	vgpu_sdma_ring_down(ring);
	vgpu_ih_unregister(vdev, client, IH_SRC_SDMA_ILLEGAL, sdma_illegal);
	vgpu_ih_unregister(vdev, client, IH_SRC_SDMA_TRAP, sdma_trap);
	cancel_delayed_work_sync(&ring->watchdog);
	vgpu_sdma_engine_stop(vdev, ring->engine);

	dma_free_coherent(dev, PAGE_SIZE, ring->fence_wb, ring->fence_dma);
	dma_free_coherent(dev, SDMA_RING_BYTES, ring->ring, ring->ring_dma);
}

/* Initialise the members that every engine needs, even if it has user queues only. */
static void engine_init(struct vgpu_sdma_ring *ring, struct vgpu_device *vdev,
			unsigned int engine)
{
	ring->vdev = vdev;
	ring->engine = engine;
	mutex_init(&ring->lock);
	mutex_init(&ring->end_lock);
	mutex_init(&ring->rlc_lock);
	vgpu_sdma_lockdep_init(ring);
	spin_lock_init(&ring->fence_lock);
	INIT_LIST_HEAD(&ring->pending);
	ring->ended_ops = vgpu_sdma_ended_ops();
	init_waitqueue_head(&ring->space);
	init_waitqueue_head(&ring->rlc_reset);
	INIT_DELAYED_WORK(&ring->watchdog, vgpu_sdma_watchdog);
}

static int ring_init(struct vgpu_sdma_ring *ring, struct vgpu_device *vdev,
		     unsigned int engine)
{
	struct device *dev = &vdev->pdev->dev;
	u8 client = sdma_client(engine);
	int ret;

	engine_init(ring, vdev, engine);
	ring->fence_context = dma_fence_context_alloc(1);

	ring->scratch = drmm_kmalloc(&vdev->drm,
				     VGPU_SDMA_MAX_JOB_DWORDS * sizeof(u32),
				     GFP_KERNEL);
	if (!ring->scratch)
		return -ENOMEM;
	ring->ring = dma_alloc_coherent(dev, SDMA_RING_BYTES, &ring->ring_dma,
					GFP_KERNEL);
	if (!ring->ring)
		return -ENOMEM;
	ring->fence_wb = dma_alloc_coherent(dev, PAGE_SIZE, &ring->fence_dma,
					    GFP_KERNEL);
	if (!ring->fence_wb) {
		ret = -ENOMEM;
		goto err_ring;
	}
	ring->ring_mc = vgpu_gart_bind_reserved(vdev, ring->ring_dma,
						SDMA_RING_BYTES);
	ring->fence_mc = vgpu_gart_bind_reserved(vdev, ring->fence_dma,
						 PAGE_SIZE);

	ret = vgpu_ih_register(vdev, client, IH_SRC_SDMA_TRAP, sdma_trap, ring);
	if (ret)
		goto err_wb;
	ret = vgpu_ih_register(vdev, client, IH_SRC_SDMA_ILLEGAL, sdma_illegal,
			       ring);
	if (ret)
		goto err_trap;

	ring->ready = true;
	vgpu_sdma_ring_start(ring);
	ret = ring_selftest(ring);
	if (ret)
		goto err_started;
	return 0;

err_started:
	ring_fini(ring);
	return ret;
err_trap:
	vgpu_ih_unregister(vdev, client, IH_SRC_SDMA_TRAP, sdma_trap);
err_wb:
	dma_free_coherent(dev, PAGE_SIZE, ring->fence_wb, ring->fence_dma);
err_ring:
	dma_free_coherent(dev, SDMA_RING_BYTES, ring->ring, ring->ring_dma);
	return ret;
}

/**
 * vgpu_sdma_init() - start the engines, and test the kernel's rings
 * @vdev: device; GART and interrupts work
 *
 * Return: 0, -ENOMEM, -ENOSPC, or -EIO if an engine does not work.
 */
int vgpu_sdma_init(struct vgpu_device *vdev)
{
	unsigned int i;
	int ret;

	INIT_DELAYED_WORK(&to_hw_state(vdev)->fault_work, vgpu_sdma_fault_work);
	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		ret = ring_init(&to_hw_state(vdev)->sdma[i], vdev, i);
		if (ret)
			goto err;
	}
	ret = vgpu_ih_register(vdev, IH_CLIENT_VMC, IH_SRC_VM_FAULT,
			       vgpu_sdma_fault_irq, NULL);
	if (ret)
		goto err;
	for (; i < SDMA_NUM_ENGINES; i++) {
		engine_init(&to_hw_state(vdev)->sdma[i], vdev, i);
		vgpu_sdma_engine_start(&to_hw_state(vdev)->sdma[i]);
	}
	return 0;

err:
	while (i--)
		ring_fini(&to_hw_state(vdev)->sdma[i]);
	return ret;
}

/**
 * vgpu_sdma_fini() - stop the engines
 * @vdev: device
 *
 * The CPU executes jobs that are still pending. If the CPU cannot execute a job, the fence of
 * this job signals with -ENODEV.
 */
void vgpu_sdma_fini(struct vgpu_device *vdev)
{
	unsigned int i;

	vgpu_ih_unregister(vdev, IH_CLIENT_VMC, IH_SRC_VM_FAULT,
			   vgpu_sdma_fault_irq);
	cancel_delayed_work_sync(&to_hw_state(vdev)->fault_work);
	for (i = SDMA_NUM_ENGINES; i-- > VGPU_NUM_SDMA;)
		vgpu_sdma_engine_stop(vdev, i);
	for (i = VGPU_NUM_SDMA; i--;)
		ring_fini(&to_hw_state(vdev)->sdma[i]);
}
