// SPDX-License-Identifier: GPL-2.0
/*
 * SDMA user queues (RLC): put on the hardware, taken off it. Specification:
 * docs/hardware.md and include/vgpu/sdma.h.
 *
 * The caller sees to it that one queue is handled by one thread at a time and
 * that the VMID has its page tables.
 */
#include <linux/iopoll.h>
#include <linux/log2.h>

#include "vgpu_hw_priv.h"

#define QUEUE_IDLE_POLL_US	50
/* RPTR_WRITEBACK_TIMER, chip default */
#define QUEUE_WRITEBACK_TIMER	6u

static u32 queue_reg(unsigned int engine, unsigned int queue, u32 reg)
{
	return SDMA_ENGINE(engine) + SDMA_QUEUE(SDMA_QUEUE_RLC(queue)) + reg;
}

static bool queue_exists(unsigned int engine, unsigned int queue)
{
	return engine < VGPU_NUM_SDMA && queue < SDMA_NUM_RLC;
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

/* The queue is disabled: wait until the engine has put it down. */
static int queue_wait_idle(struct vgpu_device *vdev, unsigned int engine,
			   unsigned int queue)
{
	u32 reg = queue_reg(engine, queue, SDMA_CONTEXT_STATUS);
	u32 status;
	int ret;

	ret = read_poll_timeout(vgpu_rreg, status,
				status & SDMA_CONTEXT_STATUS__IDLE,
				QUEUE_IDLE_POLL_US, VGPU_HW_TIMEOUT_US, false,
				vdev, reg);
	if (ret) {
		drm_err(&vdev->drm, "sdma%u rlc%u stays busy, status %#x\n",
			engine, queue, status);
		return -ETIME;
	}
	return 0;
}

/**
 * vgpu_sdma_queue_load() - put a user queue on the hardware
 * @vdev: device
 * @engine: 0 to VGPU_NUM_SDMA - 1
 * @queue: 0 to SDMA_NUM_RLC - 1, not loaded
 * @regs: what to load it with
 *
 * The engine starts at once if @regs has work. Sleeps. Returns 0, -EINVAL for
 * values that the registers cannot hold, or -ETIME when the hardware queue
 * does not become idle.
 */
int vgpu_sdma_queue_load(struct vgpu_device *vdev, unsigned int engine,
			 unsigned int queue,
			 const struct vgpu_sdma_queue_regs *regs)
{
	u32 cntl;
	int ret;

	if (!queue_exists(engine, queue) || !regs->vmid ||
	    regs->vmid >= VGPU_NUM_VMIDS || regs->ring_bytes < 256 ||
	    !is_power_of_2(regs->ring_bytes) || regs->ring_va % 256 ||
	    regs->rptr_va % 8 ||
	    regs->doorbell_offset & ~SDMA_DOORBELL_OFFSET__OFFSET)
		return -EINVAL;

	cntl = VGPU_PREP(SDMA_RB_CNTL__RB_SIZE,
			 (u32)ilog2(regs->ring_bytes / 4)) |
	       SDMA_RB_CNTL__RPTR_WRITEBACK_ENABLE |
	       VGPU_PREP(SDMA_RB_CNTL__RPTR_WRITEBACK_TIMER,
			 QUEUE_WRITEBACK_TIMER) |
	       VGPU_PREP(SDMA_RB_CNTL__RB_VMID, regs->vmid);

	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_RB_CNTL), cntl);
	ret = queue_wait_idle(vdev, engine, queue);
	if (ret)
		return ret;

	/*
	 * The doorbell before the write pointer: a ring of it in between is
	 * in regs->wptr, which was read from memory before.
	 */
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_DOORBELL_OFFSET),
		  regs->doorbell_offset);
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_DOORBELL),
		  SDMA_DOORBELL__ENABLE);
	queue_wreg64(vdev, queue_reg(engine, queue, SDMA_RB_RPTR), regs->rptr);
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_MINOR_PTR_UPDATE), 1);
	queue_wreg64(vdev, queue_reg(engine, queue, SDMA_RB_WPTR), regs->wptr);
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_MINOR_PTR_UPDATE), 0);
	queue_wreg64(vdev, queue_reg(engine, queue, SDMA_RB_BASE),
		     regs->ring_va >> 8);
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_RB_RPTR_ADDR_LO),
		  lower_32_bits(regs->rptr_va));
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_RB_RPTR_ADDR_HI),
		  upper_32_bits(regs->rptr_va));
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_RB_CNTL),
		  cntl | SDMA_RB_CNTL__RB_ENABLE);
	return 0;
}

/**
 * vgpu_sdma_queue_unload() - take a user queue off the hardware
 * @vdev: device
 * @engine: 0 to VGPU_NUM_SDMA - 1
 * @queue: 0 to SDMA_NUM_RLC - 1
 * @rptr: receives where it stopped: at the packet that it was in
 * @wptr: receives the write pointer that it last knew
 *
 * Sleeps; no allocation, so MMU notifiers may call it. Returns 0, or -ETIME
 * when the engine does not let go; the pointers are then not to be trusted.
 */
int vgpu_sdma_queue_unload(struct vgpu_device *vdev, unsigned int engine,
			   unsigned int queue, u64 *rptr, u64 *wptr)
{
	u32 cntl;
	int ret;

	if (!queue_exists(engine, queue))
		return -EINVAL;

	cntl = vgpu_rreg(vdev, queue_reg(engine, queue, SDMA_RB_CNTL));
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_RB_CNTL),
		  cntl & ~SDMA_RB_CNTL__RB_ENABLE);
	ret = queue_wait_idle(vdev, engine, queue);
	vgpu_wreg(vdev, queue_reg(engine, queue, SDMA_DOORBELL), 0);
	*rptr = queue_rreg64(vdev, queue_reg(engine, queue, SDMA_RB_RPTR));
	*wptr = queue_rreg64(vdev, queue_reg(engine, queue, SDMA_RB_WPTR));
	return ret;
}

/**
 * vgpu_sdma_queue_exception() - why a user queue stopped
 * @vdev: device
 * @engine: 0 to VGPU_NUM_SDMA - 1
 * @queue: 0 to SDMA_NUM_RLC - 1
 *
 * Returns VGPU_SDMA_EXC_*.
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
 * vgpu_sdma_stop_engine() - disable every queue of an engine and halt it
 * @vdev: device
 * @engine: 0 to VGPU_NUM_SDMA - 1
 *
 * Works at any time after the registers are mapped.
 */
void vgpu_sdma_stop_engine(struct vgpu_device *vdev, unsigned int engine)
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
