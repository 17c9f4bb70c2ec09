// SPDX-License-Identifier: GPL-2.0
/*
 * Loads and unloads SDMA user queues (RLC). Specification: docs/hardware.md and
 * include/vgpu/sdma.h.
 *
 * The caller serialises the calls for one queue, and has set the page tables of the VMID
 * before it loads the queue.
 */
#include <linux/bitops.h>
#include <linux/iopoll.h>
#include <linux/log2.h>
#include <linux/sched/mm.h>

#include <kunit/visibility.h>

#include "hw/vgpu_hw_priv.h"
#include "vgpu_sdma_priv.h"
#include "vgpu_sdma_queue.h"

#define QUEUE_IDLE_POLL_US	50
/*
 * Time limit for a queue to stop when its engine is parked. The queue first ends a chunk of a
 * packet (up to 2 MiB, some milliseconds).
 */
#define QUEUE_PARK_US		(500 * USEC_PER_MSEC)
/* Value of RPTR_WRITEBACK_TIMER: the chip's default. */
#define QUEUE_WRITEBACK_TIMER	6u
/*
 * Limit of the loop in queue_write_wptr(). The loop repeats only if user space changes the write
 * pointer in user memory between two reads, which are a few register accesses apart.
 */
#define QUEUE_WPTR_TRIES	64u

static u32 queue_reg(unsigned int engine, unsigned int queue, u32 reg)
{
	return SDMA_ENGINE(engine) + SDMA_QUEUE(SDMA_QUEUE_RLC(queue)) + reg;
}

static bool queue_exists(unsigned int engine, unsigned int queue)
{
	return engine < SDMA_NUM_ENGINES && queue < SDMA_NUM_RLC;
}

static u64 queue_rreg64(struct vgpu_device *vdev, u32 lo)
{
	return vgpu_rreg(vdev, lo) | (u64)vgpu_rreg(vdev, lo + 1) << 32;
}

static void queue_wreg64(struct vgpu_device *vdev, u32 lo, u64 value)
{
	vgpu_wreg(vdev, lo, lower_32_bits(value));
	vgpu_wreg(vdev, lo + 1, upper_32_bits(value));
}

/* Wait until the engine has stopped using the disabled queue. */
static int queue_wait_idle(struct vgpu_device *vdev, unsigned int engine,
			   unsigned int queue, unsigned long timeout_us)
{
	u32 reg = queue_reg(engine, queue, SDMA_CONTEXT_STATUS);
	u32 status;
	int ret;

	ret = read_poll_timeout(vgpu_rreg, status,
				status & SDMA_CONTEXT_STATUS__IDLE,
				QUEUE_IDLE_POLL_US, timeout_us, false, vdev,
				reg);
	if (ret) {
		drm_err(&vdev->drm, "sdma%u rlc%u stays busy, status %#x\n",
			engine, queue, status);
		return -ETIME;
	}
	return 0;
}

/*
 * Stop a user queue and store its read pointer in ring->rlc. The caller holds rlc_lock.
 * Returns 0, or -ETIME if the queue does not stop.
 */
static int queue_stop(struct vgpu_sdma_ring *ring, unsigned int queue,
		      unsigned long timeout_us)
{
	struct vgpu_device *vdev = ring->vdev;
	unsigned int engine = ring->engine;
	u32 cntl;
	int ret;

	cntl = vgpu_rreg(vdev, queue_reg(engine, queue, SDMA_RB_CNTL));
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_RB_CNTL),
		  cntl & ~SDMA_RB_CNTL__RB_ENABLE);
	ret = queue_wait_idle(vdev, engine, queue, timeout_us);
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_DOORBELL), 0);
	ring->rlc[queue].rptr =
		queue_rreg64(vdev, queue_reg(engine, queue, SDMA_RB_RPTR));
	return ret;
}

/* Wake queue_wait_reset(). The caller holds rlc_lock and has reset the engine. */
static void queue_clear_stuck(struct vgpu_sdma_ring *ring)
{
	WRITE_ONCE(ring->rlc_stuck, 0);
	wake_up_all(&ring->rlc_reset);
}

/*
 * Request a reset of the engine, because @queue does not stop. If refused (device removal),
 * reset the engine here. The caller holds rlc_lock.
 */
static void queue_is_stuck(struct vgpu_sdma_ring *ring, unsigned int queue)
{
	struct vgpu_device *vdev = ring->vdev;

	__set_bit(queue, &ring->rlc_stuck);
	if (vgpu_hw_recover(vdev, VGPU_RECOVER_ENGINE(ring->engine)))
		return;
	vgpu_sdma_engine_pulse(vdev, ring->engine);
	queue_clear_stuck(ring);
}

/*
 * Wait for the engine's reset, before kfd/ frees the queue's memory and VMID. The wait cannot
 * deadlock: the recovery takes no lock of kfd/.
 */
static void queue_wait_reset(struct vgpu_sdma_ring *ring, unsigned int queue)
{
	wait_event(ring->rlc_reset,
		   !(READ_ONCE(ring->rlc_stuck) & BIT(queue)));
}

/*
 * Copy the write pointer from user memory to the register of a disabled queue. The device dropped
 * doorbell writes while the queue's doorbell was disabled.
 */
static void queue_write_wptr(struct vgpu_device *vdev, unsigned int engine,
			     unsigned int queue,
			     const struct vgpu_sdma_queue_regs *regs)
{
	u32 reg = queue_reg(engine, queue, SDMA_RB_WPTR);
	unsigned int tries = QUEUE_WPTR_TRIES;
	u64 wptr, written;

	/* Read a register, so that the device has processed the earlier writes. */
	vgpu_rreg(vdev, queue_reg(engine, queue, SDMA_DOORBELL));
	wptr = regs->read_wptr(regs->owner);
	/*
	 * The write below may replace a newer pointer from a doorbell. So repeat until user memory
	 * holds the value that was written last.
	 */
	do {
		written = wptr;
		vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_MINOR_PTR_UPDATE),
			  1);
		queue_wreg64(vdev, reg, written);
		vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_MINOR_PTR_UPDATE),
			  0);
		vgpu_rreg(vdev, reg);
		/*
		 * The loop need not see a pointer that user space stores after this read: user
		 * space then writes the doorbell, which updates the register.
		 */
		wptr = regs->read_wptr(regs->owner);
	} while (wptr != written && --tries);
}

/* Load the settings @regs into hardware queue @queue, which is free. The caller holds rlc_lock. */
static int queue_write(struct vgpu_device *vdev, unsigned int engine,
		       unsigned int queue,
		       const struct vgpu_sdma_queue_regs *regs)
{
	u32 cntl;
	int ret;

	cntl = VGPU_PREP(SDMA_RB_CNTL__RB_SIZE,
			 (u32)ilog2(regs->ring_bytes / 4)) |
	       SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE |
	       VGPU_PREP(SDMA_RB_CNTL__RPTR_WRITEBACK_TIMER,
			 QUEUE_WRITEBACK_TIMER) |
	       VGPU_PREP(SDMA_RB_CNTL__RB_VMID, regs->vmid);

	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_RB_CNTL), cntl);
	ret = queue_wait_idle(vdev, engine, queue, VGPU_HW_TIMEOUT_US);
	if (ret)
		return ret;

	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_DOORBELL_OFFSET),
		  regs->doorbell_offset);
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_DOORBELL),
		  SDMA_DOORBELL__ENABLE);
	queue_wreg64(vdev, queue_reg(engine, queue, SDMA_RB_RPTR), regs->rptr);
	queue_wreg64(vdev, queue_reg(engine, queue, SDMA_RB_BASE),
		     regs->ring_va >> 8);
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_RB_RPTR_ADDR_LO),
		  lower_32_bits(regs->rptr_va));
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_RB_RPTR_ADDR_HI),
		  upper_32_bits(regs->rptr_va));
	queue_write_wptr(vdev, engine, queue, regs);
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_RB_CNTL),
		  cntl | SDMA_RB_CNTL__RB_ENABLE);
	return 0;
}

/**
 * vgpu_sdma_queue_load() - load a user queue into a hardware queue
 * @vdev: device
 * @engine: 0 to SDMA_NUM_ENGINES - 1
 * @queue: 0 to SDMA_NUM_RLC - 1, not loaded
 * @regs: settings of the user queue
 *
 * Context: sleeps, does not allocate.
 *
 * Return:
 * * 0
 * * -EINVAL: the registers cannot hold a value
 * * -ETIME: the hardware queue stayed busy, and the engine was reset or given up
 */
int vgpu_sdma_queue_load(struct vgpu_device *vdev, unsigned int engine,
			 unsigned int queue,
			 const struct vgpu_sdma_queue_regs *regs)
{
	struct vgpu_sdma_ring *ring;
	int ret = 0;

	if (!queue_exists(engine, queue) || !regs->vmid ||
	    regs->vmid >= VGPU_NUM_VMIDS || regs->ring_bytes < 256 ||
	    !is_power_of_2(regs->ring_bytes) || regs->ring_va % 256 ||
	    regs->rptr_va % 8 ||
	    regs->doorbell_offset & ~SDMA_DOORBELL_OFFSET__OFFSET)
		return -EINVAL;

	ring = &to_hw_state(vdev)->sdma[engine];
	mutex_lock(&ring->rlc_lock);
	/* During a reset of the engine, vgpu_sdma_rlc_restore() loads the queue later. */
	if (!ring->rlc_off)
		ret = queue_write(vdev, engine, queue, regs);
	if (ret) {
		queue_is_stuck(ring, queue);
	} else {
		ring->rlc[queue] = *regs;
		__set_bit(queue, &ring->rlc_loaded);
	}
	mutex_unlock(&ring->rlc_lock);
	if (ret)
		queue_wait_reset(ring, queue);
	return ret;
}

/**
 * vgpu_sdma_queue_unload() - unload a user queue
 * @vdev: device
 * @engine: 0 to SDMA_NUM_ENGINES - 1
 * @queue: 0 to SDMA_NUM_RLC - 1
 * @rptr: receives the read pointer on success; an interrupted packet counts as unread
 *
 * On return the engine accesses no memory for the queue.
 *
 * Context: sleeps, does not allocate. Allowed in MMU notifiers.
 *
 * Return:
 * * 0
 * * -EINVAL: wrong @engine or @queue
 * * -ETIME: the queue did not stop; the engine was reset or given up
 */
int vgpu_sdma_queue_unload(struct vgpu_device *vdev, unsigned int engine,
			   unsigned int queue, u64 *rptr)
{
	struct vgpu_sdma_ring *ring;
	int ret = 0;

	if (!queue_exists(engine, queue))
		return -EINVAL;

	ring = &to_hw_state(vdev)->sdma[engine];
	mutex_lock(&ring->rlc_lock);
	if (!ring->rlc_off && test_bit(queue, &ring->rlc_loaded))
		ret = queue_stop(ring, queue, VGPU_HW_TIMEOUT_US);
	__clear_bit(queue, &ring->rlc_loaded);
	*rptr = ring->rlc[queue].rptr;
	if (ret)
		queue_is_stuck(ring, queue);
	else if (test_bit(queue, &ring->rlc_stuck))
		ret = -ETIME;	/* the queue did not stop when the engine was parked */
	mutex_unlock(&ring->rlc_lock);
	if (ret)
		queue_wait_reset(ring, queue);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_queue_unload);

/**
 * vgpu_sdma_queue_is_loaded() - whether a user queue was loaded again after a reset
 * @vdev: device
 * @engine: 0 to SDMA_NUM_ENGINES - 1
 * @queue: 0 to SDMA_NUM_RLC - 1; a queue that was loaded before the reset
 *
 * Context: sleeps.
 *
 * Return: true if the queue is loaded; false if the recovery stopped the queue for good.
 */
bool vgpu_sdma_queue_is_loaded(struct vgpu_device *vdev, unsigned int engine,
			       unsigned int queue)
{
	struct vgpu_sdma_ring *ring = &to_hw_state(vdev)->sdma[engine];
	bool loaded;

	mutex_lock(&ring->rlc_lock);
	loaded = test_bit(queue, &ring->rlc_loaded);
	mutex_unlock(&ring->rlc_lock);
	return loaded;
}

/**
 * vgpu_sdma_lockdep_init() - declare to lockdep that reclaim takes the ring's locks
 * @ring: ring
 */
void vgpu_sdma_lockdep_init(struct vgpu_sdma_ring *ring)
{
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&ring->lock);
	might_lock(&ring->end_lock);
	might_lock(&ring->rlc_lock);
	fs_reclaim_release(GFP_KERNEL);
}

/**
 * vgpu_sdma_rlc_park() - stop the user queues of an engine that will be reset
 * @ring: the engine
 *
 * Context: sleeps; the caller holds @ring->rlc_lock.
 *
 * Return: bitmap of the queues that did not stop, or that had stopped on an error.
 */
unsigned long vgpu_sdma_rlc_park(struct vgpu_sdma_ring *ring)
{
	unsigned long bad = 0;
	unsigned int q;

	for_each_set_bit(q, &ring->rlc_loaded, SDMA_NUM_RLC) {
		if (vgpu_sdma_queue_exception(ring->vdev, ring->engine, q))
			__set_bit(q, &bad);
		if (queue_stop(ring, q, QUEUE_PARK_US)) {
			__set_bit(q, &bad);
			__set_bit(q, &ring->rlc_stuck);
		}
	}
	return bad;
}

/**
 * vgpu_sdma_rlc_restore() - load the user queues again after a reset
 * @ring: the engine; a queue that was stopped inside a packet repeats this packet
 * @dead: bitmap of queues that must not run again
 *
 * Context: sleeps; the caller holds @ring->rlc_lock.
 *
 * Return: bitmap of the queues that stay stopped:
 *
 * * queues in @dead
 * * queues that could not be loaded
 * * queues that did not stop before the reset
 */
unsigned long vgpu_sdma_rlc_restore(struct vgpu_sdma_ring *ring,
				    unsigned long dead)
{
	unsigned int q;

	for_each_set_bit(q, &ring->rlc_loaded, SDMA_NUM_RLC)
		if (!test_bit(q, &dead) &&
		    queue_write(ring->vdev, ring->engine, q, &ring->rlc[q]))
			__set_bit(q, &dead);
	dead &= ring->rlc_loaded;
	dead |= ring->rlc_stuck;
	ring->rlc_loaded &= ~dead;
	queue_clear_stuck(ring);
	return dead;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_rlc_restore);

/**
 * vgpu_sdma_rlc_give_up() - halt an engine that has a stuck user queue or has lost VRAM
 * @ring: the engine, parked; the recovery has failed
 * @vram_lost: the content of VRAM was lost, so no user queue can continue
 *
 * Does nothing if @vram_lost is false and no user queue is stuck (vgpu_sdma_ring.rlc_stuck).
 * Otherwise no user queue of the engine runs again, also not after a later reset that succeeds.
 *
 * Context: sleeps.
 */
void vgpu_sdma_rlc_give_up(struct vgpu_sdma_ring *ring, bool vram_lost)
{
	mutex_lock(&ring->rlc_lock);
	if (ring->rlc_stuck || vram_lost) {
		vgpu_sdma_engine_pulse(ring->vdev, ring->engine);
		ring->rlc_loaded = 0;
		queue_clear_stuck(ring);
	}
	mutex_unlock(&ring->rlc_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sdma_rlc_give_up);

/**
 * vgpu_sdma_queue_exception() - get the error on which a user queue stopped
 * @vdev: device
 * @engine: 0 to SDMA_NUM_ENGINES - 1
 * @queue: 0 to SDMA_NUM_RLC - 1
 *
 * Return: VGPU_SDMA_EXC_*; VGPU_SDMA_EXC_NONE if the queue had no error.
 */
u32 vgpu_sdma_queue_exception(struct vgpu_device *vdev, unsigned int engine,
			      unsigned int queue)
{
	u32 status;

	if (WARN_ON_ONCE(!queue_exists(engine, queue)))
		return VGPU_SDMA_EXC_NONE;

	status = vgpu_rreg(vdev, queue_reg(engine, queue,
					   SDMA_CONTEXT_STATUS));
	return VGPU_GET(status, SDMA_CONTEXT_STATUS__EXCEPTION);
}

/**
 * vgpu_sdma_engine_stop() - disable every queue of an engine and halt the engine
 * @vdev: device, registers mapped
 * @engine: 0 to SDMA_NUM_ENGINES - 1
 */
void vgpu_sdma_engine_stop(struct vgpu_device *vdev, unsigned int engine)
{
	unsigned int q;

	vgpu_wreg(vdev, SDMA_ENGINE(engine) + SDMA_F32_CNTL,
		  SDMA_F32_CNTL__HALT);
	for (q = 0; q < SDMA_NUM_QUEUES; q++) {
		u32 queue = SDMA_ENGINE(engine) + SDMA_QUEUE(q);

		vgpu_wreg(vdev, queue + SDMA_RB_CNTL, 0);
		vgpu_wreg(vdev, queue + SDMA_DOORBELL, 0);
	}
}
