// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's SDMA ring of each engine, and the fences of its jobs.
 * Specification: docs/hardware.md, include/vgpu/sdma.h and sdma_packets.h.
 *
 * A job is a run of packets followed by FENCE, which writes the job's number
 * to memory, and TRAP, which raises an interrupt. The interrupt handler
 * compares that number with the pending jobs, signals their dma_fences and
 * so knows how much of the ring is free: the read pointer is not needed.
 *
 * Every fence signals. A watchdog looks at an engine with pending jobs; one
 * that stopped on an error or made no progress between two looks is taken
 * down: its queue is stopped, pending fences signal with -ENODEV, and further
 * jobs are refused.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "vgpu/doorbell.h"
#include "vgpu/sdma_packets.h"
#include "vgpu_hw_priv.h"
#include "vgpu_hw_trace.h"

#define SDMA_RING_BYTES		SZ_128K
#define SDMA_RING_DWORDS	(SDMA_RING_BYTES / 4)
#define SDMA_EPILOGUE_DWORDS	(SDMA_FENCE_DWORDS + SDMA_TRAP_DWORDS)
#define SDMA_WATCHDOG_PERIOD	(10 * HZ)
#define SDMA_SELFTEST_TIMEOUT	(5 * HZ)

/* Chip default: how long a translation may be retried, reads and writes. */
#define SDMA_XNACK_LIMIT	0x80u

/* Two of the largest jobs fit, so that one is written while one runs. */
static_assert(2 * (VGPU_SDMA_MAX_JOB_DWORDS + SDMA_EPILOGUE_DWORDS) <=
	      SDMA_RING_DWORDS);

/**
 * struct vgpu_sdma_fence - a job that has been submitted
 * @base: first member: dma_fence_free() frees the whole
 * @link: in the ring's pending list
 * @end: the ring's write pointer behind the job
 */
struct vgpu_sdma_fence {
	struct dma_fence base;
	struct list_head link;
	u64 end;
};

static struct vgpu_sdma_ring *fence_ring(struct dma_fence *fence)
{
	return container_of(fence->lock, struct vgpu_sdma_ring, fence_lock);
}

static const char *sdma_fence_driver_name(struct dma_fence *fence)
{
	return "vgpu_kfd";
}

static const char *sdma_fence_timeline_name(struct dma_fence *fence)
{
	return fence_ring(fence)->engine ? "sdma1" : "sdma0";
}

static const struct dma_fence_ops vgpu_sdma_fence_ops = {
	.use_64bit_seqno = true,
	.get_driver_name = sdma_fence_driver_name,
	.get_timeline_name = sdma_fence_timeline_name,
};

/**
 * vgpu_sdma_emit_copy() - write a COPY_LINEAR packet
 * @dw: room for SDMA_COPY_LINEAR_DWORDS
 * @src: MC address
 * @dst: MC address
 * @bytes: 1 to VGPU_SDMA_MAX_COPY
 *
 * Returns the number of dwords written.
 */
unsigned int vgpu_sdma_emit_copy(u32 *dw, u64 src, u64 dst, u32 bytes)
{
	WARN_ON_ONCE(!bytes || bytes > VGPU_SDMA_MAX_COPY);

	dw[0] = SDMA_PKT(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR);
	dw[1] = VGPU_PREP(SDMA_COPY_LINEAR_DW1__COUNT, bytes - 1);
	dw[2] = 0;
	dw[3] = lower_32_bits(src);
	dw[4] = upper_32_bits(src);
	dw[5] = lower_32_bits(dst);
	dw[6] = upper_32_bits(dst);
	return SDMA_COPY_LINEAR_DWORDS;
}

/**
 * vgpu_sdma_emit_fill() - write a CONST_FILL packet
 * @dw: room for SDMA_CONST_FILL_DWORDS
 * @dst: MC address, a multiple of 4
 * @value: the dword to fill with
 * @bytes: 4 to VGPU_SDMA_MAX_COPY, a multiple of 4
 *
 * Returns the number of dwords written.
 */
unsigned int vgpu_sdma_emit_fill(u32 *dw, u64 dst, u32 value, u32 bytes)
{
	WARN_ON_ONCE(!bytes || bytes > VGPU_SDMA_MAX_COPY ||
		     (dst | bytes) % 4);

	dw[0] = SDMA_OP_CONST_FILL | VGPU_PREP(SDMA_CONST_FILL__SIZE, 2u);
	dw[1] = lower_32_bits(dst);
	dw[2] = upper_32_bits(dst);
	dw[3] = value;
	dw[4] = VGPU_PREP(SDMA_CONST_FILL_DW4__COUNT, bytes - 1);
	return SDMA_CONST_FILL_DWORDS;
}

/**
 * vgpu_sdma_emit_ptepde() - write a PTEPDE packet
 * @dw: room for SDMA_PTEPDE_DWORDS
 * @dst: MC address of the first entry
 * @flags: OR-ed into every entry
 * @addr: address in the first entry
 * @incr: what each next entry's address is greater by
 * @count: number of entries, 1 to 2^19
 *
 * Returns the number of dwords written.
 */
unsigned int vgpu_sdma_emit_ptepde(u32 *dw, u64 dst, u64 flags, u64 addr,
				   u64 incr, u32 count)
{
	WARN_ON_ONCE(!count || count > SDMA_PTEPDE_DW9__COUNT + 1);

	dw[0] = SDMA_PKT(SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN);
	dw[1] = lower_32_bits(dst);
	dw[2] = upper_32_bits(dst);
	dw[3] = lower_32_bits(flags);
	dw[4] = upper_32_bits(flags);
	dw[5] = lower_32_bits(addr);
	dw[6] = upper_32_bits(addr);
	dw[7] = lower_32_bits(incr);
	dw[8] = upper_32_bits(incr);
	dw[9] = VGPU_PREP(SDMA_PTEPDE_DW9__COUNT, count - 1);
	return SDMA_PTEPDE_DWORDS;
}

static u32 ring_reg(const struct vgpu_sdma_ring *ring, u32 reg)
{
	return SDMA_ENGINE(ring->engine) + SDMA_QUEUE(SDMA_QUEUE_GFX) + reg;
}

static u64 ring_rptr(struct vgpu_sdma_ring *ring)
{
	struct vgpu_device *vdev = ring->vdev;

	/* Only compared with itself: a torn read costs one watchdog period. */
	return vgpu_rreg(vdev, ring_reg(ring, SDMA_RB_RPTR)) |
	       (u64)vgpu_rreg(vdev, ring_reg(ring, SDMA_RB_RPTR_HI)) << 32;
}

/* Signal what the engine has finished. Any context. */
static void ring_poll_fences(struct vgpu_sdma_ring *ring)
{
	struct vgpu_sdma_fence *fence, *next;
	unsigned long flags;
	bool cookie;
	u32 last;

	cookie = dma_fence_begin_signalling();
	spin_lock_irqsave(&ring->fence_lock, flags);
	last = le32_to_cpu(READ_ONCE(*ring->fence_wb));
	/* What the job wrote must be read after its number. */
	dma_rmb();
	list_for_each_entry_safe(fence, next, &ring->pending, link) {
		if ((s32)(last - lower_32_bits(fence->base.seqno)) < 0)
			break;
		list_del(&fence->link);
		WRITE_ONCE(ring->done, fence->end);
		dma_fence_signal_locked(&fence->base);
		dma_fence_put(&fence->base);
	}
	spin_unlock_irqrestore(&ring->fence_lock, flags);
	dma_fence_end_signalling(cookie);

	wake_up(&ring->space);
}

/**
 * vgpu_sdma_poll_fences() - signal finished jobs of all engines
 * @vdev: device
 *
 * For when interrupts may have been lost. Any context.
 */
void vgpu_sdma_poll_fences(struct vgpu_device *vdev)
{
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++)
		if (READ_ONCE(vdev->hw.sdma[i].ready))
			ring_poll_fences(&vdev->hw.sdma[i]);
}

/* The engine will do no more jobs: stop it, then tell those who wait. */
static void ring_down(struct vgpu_sdma_ring *ring)
{
	struct vgpu_device *vdev = ring->vdev;
	struct vgpu_sdma_fence *fence, *next;
	LIST_HEAD(lost);
	bool cookie;

	spin_lock_irq(&ring->fence_lock);
	if (!ring->ready) {
		spin_unlock_irq(&ring->fence_lock);
		return;
	}
	WRITE_ONCE(ring->ready, false);
	list_splice_init(&ring->pending, &lost);
	spin_unlock_irq(&ring->fence_lock);

	/* Memory may be reused as soon as the fences signal. */
	vgpu_wreg(vdev, ring_reg(ring, SDMA_RB_CNTL), 0);
	vgpu_wreg(vdev, ring_reg(ring, SDMA_DOORBELL), 0);
	if (!vgpu_hw_poll(vdev, ring_reg(ring, SDMA_CONTEXT_STATUS),
			  SDMA_CONTEXT_STATUS__IDLE,
			  SDMA_CONTEXT_STATUS__IDLE)) {
		drm_err(&vdev->drm, "sdma%u does not stop, halting it\n",
			ring->engine);
		vgpu_wreg(vdev, SDMA_ENGINE(ring->engine) + SDMA_F32_CNTL,
			  SDMA_F32_CNTL__HALT);
	}

	cookie = dma_fence_begin_signalling();
	list_for_each_entry_safe(fence, next, &lost, link) {
		list_del(&fence->link);
		dma_fence_set_error(&fence->base, -ENODEV);
		dma_fence_signal(&fence->base);
		dma_fence_put(&fence->base);
	}
	dma_fence_end_signalling(cookie);

	wake_up_all(&ring->space);
}

static void ring_watchdog(struct work_struct *work)
{
	struct vgpu_sdma_ring *ring =
		container_of(to_delayed_work(work), struct vgpu_sdma_ring,
			     watchdog);
	struct vgpu_device *vdev = ring->vdev;
	struct vgpu_sdma_fence *oldest;
	u64 rptr, seqno = 0;
	u32 status;

	if (!READ_ONCE(ring->ready))
		return;
	ring_poll_fences(ring);

	spin_lock_irq(&ring->fence_lock);
	oldest = list_first_entry_or_null(&ring->pending,
					  struct vgpu_sdma_fence, link);
	if (oldest)
		seqno = oldest->base.seqno;
	spin_unlock_irq(&ring->fence_lock);

	status = vgpu_rreg(vdev, ring_reg(ring, SDMA_CONTEXT_STATUS));
	rptr = ring_rptr(ring);
	if (VGPU_GET(status, SDMA_CONTEXT_STATUS__EXCEPTION)) {
		drm_err(&vdev->drm,
			"sdma%u stopped with exception %u at %#llx\n",
			ring->engine,
			VGPU_GET(status, SDMA_CONTEXT_STATUS__EXCEPTION), rptr);
		ring_down(ring);
	} else if (oldest && seqno == ring->seen_seqno &&
		   rptr == ring->seen_rptr) {
		drm_err(&vdev->drm,
			"sdma%u hangs in job %llu at %#llx, status %#x\n",
			ring->engine, seqno, rptr, status);
		ring_down(ring);
	} else if (oldest) {
		ring->seen_seqno = seqno;
		ring->seen_rptr = rptr;
		schedule_delayed_work(&ring->watchdog, SDMA_WATCHDOG_PERIOD);
	}
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

/* Waits until @bytes more fit. Returns false if the ring is down. */
static bool ring_wait_space(struct vgpu_sdma_ring *ring, u32 bytes)
{
	wait_event(ring->space, !READ_ONCE(ring->ready) ||
		   ring->wptr + bytes - READ_ONCE(ring->done) <=
		   SDMA_RING_BYTES);
	return READ_ONCE(ring->ready);
}

/* Makes the job pending; after that its fence signals, whatever happens. */
static bool ring_add_fence(struct vgpu_sdma_ring *ring,
			   struct vgpu_sdma_fence *fence)
{
	bool ready;

	spin_lock_irq(&ring->fence_lock);
	ready = ring->ready;
	if (ready) {
		dma_fence_init(&fence->base, &vgpu_sdma_fence_ops,
			       &ring->fence_lock, ring->fence_context,
			       ring->fence_seqno);
		fence->end = ring->wptr;
		list_add_tail(&fence->link, &ring->pending);
		dma_fence_get(&fence->base);	/* the list's */
	}
	spin_unlock_irq(&ring->fence_lock);
	return ready;
}

/**
 * vgpu_sdma_submit() - have an engine run packets
 * @vdev: device
 * @engine: 0 to VGPU_NUM_SDMA - 1
 * @dw: packets, addresses in VMID 0
 * @ndw: their length, 1 to VGPU_SDMA_MAX_JOB_DWORDS
 *
 * Jobs of one engine run in the order of submission. Sleeps for ring space
 * and allocates. Bytes copied or filled are counted by the caller.
 *
 * Returns a reference to a fence, which signals when all packets are done
 * (with -ENODEV as its error if the engine failed), or an ERR_PTR: -ENODEV
 * when the engine is down, -EINVAL for an impossible length, -ENOMEM.
 */
struct dma_fence *vgpu_sdma_submit(struct vgpu_device *vdev,
				   unsigned int engine, const u32 *dw,
				   unsigned int ndw)
{
	u32 epilogue[SDMA_EPILOGUE_DWORDS];
	struct vgpu_sdma_fence *fence;
	struct vgpu_sdma_ring *ring;

	if (WARN_ON_ONCE(engine >= VGPU_NUM_SDMA || !ndw ||
			 ndw > VGPU_SDMA_MAX_JOB_DWORDS))
		return ERR_PTR(-EINVAL);
	ring = &vdev->hw.sdma[engine];

	fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	if (!fence)
		return ERR_PTR(-ENOMEM);

	mutex_lock(&ring->lock);
	if (!ring_wait_space(ring, (ndw + SDMA_EPILOGUE_DWORDS) * 4))
		goto err_down;

	ring->fence_seqno++;
	epilogue[0] = SDMA_OP_FENCE;
	epilogue[1] = lower_32_bits(ring->fence_mc);
	epilogue[2] = upper_32_bits(ring->fence_mc);
	epilogue[3] = lower_32_bits(ring->fence_seqno);
	epilogue[4] = SDMA_OP_TRAP;
	epilogue[5] = 0;
	ring_write(ring, dw, ndw);
	ring_write(ring, epilogue, ARRAY_SIZE(epilogue));

	if (!ring_add_fence(ring, fence))
		goto err_down;
	trace_vgpu_sdma_submit(engine, ring->fence_seqno, ndw);
	/* writeq() orders the doorbell behind the packets. */
	vgpu_wdoorbell64(vdev, DOORBELL_SDMA(engine) * 8, ring->wptr);
	schedule_delayed_work(&ring->watchdog, SDMA_WATCHDOG_PERIOD);
	mutex_unlock(&ring->lock);

	return &fence->base;

err_down:
	mutex_unlock(&ring->lock);
	kfree(fence);
	return ERR_PTR(-ENODEV);
}

/* TRAP of any queue of the engine; ours are those of VMID 0. */
static void sdma_trap(struct vgpu_device *vdev, const struct vgpu_iv_entry *iv,
		      void *arg)
{
	if (!iv->vmid)
		ring_poll_fences(arg);
}

/* A bad packet stopped a queue; ours is that of VMID 0. */
static void sdma_illegal(struct vgpu_device *vdev,
			 const struct vgpu_iv_entry *iv, void *arg)
{
	struct vgpu_sdma_ring *ring = arg;

	if (!iv->vmid)
		mod_delayed_work(system_wq, &ring->watchdog, 0);
}

static u8 sdma_client(unsigned int engine)
{
	return engine ? IH_CLIENT_SDMA1 : IH_CLIENT_SDMA0;
}

static void ring_start(struct vgpu_sdma_ring *ring)
{
	struct vgpu_device *vdev = ring->vdev;
	u32 engine = SDMA_ENGINE(ring->engine);
	u32 cntl = VGPU_PREP(SDMA_RB_CNTL__RB_SIZE,
			     (u32)ilog2(SDMA_RING_DWORDS)) |
		   SDMA_RB_CNTL__RB_PRIV;

	vgpu_wreg(vdev, engine + SDMA_UTCL1_TIMEOUT,
		  VGPU_PREP(SDMA_UTCL1_TIMEOUT__RD_XNACK_LIMIT,
			    SDMA_XNACK_LIMIT) |
		  VGPU_PREP(SDMA_UTCL1_TIMEOUT__WR_XNACK_LIMIT,
			    SDMA_XNACK_LIMIT));
	vgpu_wreg(vdev, engine + SDMA_CNTL,
		  SDMA_CNTL__TRAP_ENABLE | SDMA_CNTL__UTC_L1_ENABLE |
		  SDMA_CNTL__AUTO_CTXSW_ENABLE);

	vgpu_wreg(vdev, ring_reg(ring, SDMA_RB_CNTL), cntl);
	vgpu_wreg(vdev, ring_reg(ring, SDMA_RB_BASE),
		  lower_32_bits(ring->ring_mc >> 8));
	vgpu_wreg(vdev, ring_reg(ring, SDMA_RB_BASE_HI),
		  upper_32_bits(ring->ring_mc >> 8));
	vgpu_wreg(vdev, ring_reg(ring, SDMA_RB_RPTR), 0);
	vgpu_wreg(vdev, ring_reg(ring, SDMA_RB_RPTR_HI), 0);
	vgpu_wreg(vdev, ring_reg(ring, SDMA_MINOR_PTR_UPDATE), 1);
	vgpu_wreg(vdev, ring_reg(ring, SDMA_RB_WPTR), 0);
	vgpu_wreg(vdev, ring_reg(ring, SDMA_RB_WPTR_HI), 0);
	vgpu_wreg(vdev, ring_reg(ring, SDMA_MINOR_PTR_UPDATE), 0);
	vgpu_wreg(vdev, ring_reg(ring, SDMA_DOORBELL_OFFSET),
		  DOORBELL_SDMA(ring->engine) * 8);
	vgpu_wreg(vdev, ring_reg(ring, SDMA_DOORBELL), SDMA_DOORBELL__ENABLE);
	vgpu_wreg(vdev, ring_reg(ring, SDMA_IB_CNTL), SDMA_IB_CNTL__IB_ENABLE);
	vgpu_wreg(vdev, ring_reg(ring, SDMA_RB_CNTL),
		  cntl | SDMA_RB_CNTL__RB_ENABLE);

	vgpu_wreg(vdev, engine + SDMA_F32_CNTL, 0);
}

/* One job: ring, GART, write-back, interrupt and fence must all work. */
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
	if (left > 0)
		return 0;

	drm_err(&vdev->drm,
		"sdma%u does not run its ring: rptr %#llx, wptr %#llx, fence %u, status %#x\n",
		ring->engine, ring_rptr(ring), ring->wptr,
		le32_to_cpu(READ_ONCE(*ring->fence_wb)),
		vgpu_rreg(vdev, ring_reg(ring, SDMA_CONTEXT_STATUS)));
	return -EIO;
}

static void ring_fini(struct vgpu_sdma_ring *ring)
{
	struct vgpu_device *vdev = ring->vdev;
	struct device *dev = &vdev->pdev->dev;
	u8 client = sdma_client(ring->engine);

	ring_down(ring);
	vgpu_ih_unregister(vdev, client, IH_SRC_SDMA_ILLEGAL, sdma_illegal);
	vgpu_ih_unregister(vdev, client, IH_SRC_SDMA_TRAP, sdma_trap);
	cancel_delayed_work_sync(&ring->watchdog);
	vgpu_sdma_stop_engine(vdev, ring->engine);

	dma_free_coherent(dev, PAGE_SIZE, ring->fence_wb, ring->fence_dma);
	dma_free_coherent(dev, SDMA_RING_BYTES, ring->ring, ring->ring_dma);
}

static int ring_init(struct vgpu_sdma_ring *ring, struct vgpu_device *vdev,
		     unsigned int engine)
{
	struct device *dev = &vdev->pdev->dev;
	u8 client = sdma_client(engine);
	int ret;

	ring->vdev = vdev;
	ring->engine = engine;
	mutex_init(&ring->lock);
	spin_lock_init(&ring->fence_lock);
	INIT_LIST_HEAD(&ring->pending);
	init_waitqueue_head(&ring->space);
	INIT_DELAYED_WORK(&ring->watchdog, ring_watchdog);
	ring->fence_context = dma_fence_context_alloc(1);

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
	ring_start(ring);
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
 * vgpu_sdma_init() - start and try the kernel's ring of every engine
 * @vdev: device; GART and interrupts work
 *
 * Returns 0, -ENOMEM, or -EIO when an engine does not work.
 */
int vgpu_sdma_init(struct vgpu_device *vdev)
{
	unsigned int i;
	int ret;

	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		ret = ring_init(&vdev->hw.sdma[i], vdev, i);
		if (ret)
			goto err;
	}
	return 0;

err:
	while (i--)
		ring_fini(&vdev->hw.sdma[i]);
	return ret;
}

/**
 * vgpu_sdma_fini() - stop the engines
 * @vdev: device
 *
 * Fences that are still pending signal with -ENODEV.
 */
void vgpu_sdma_fini(struct vgpu_device *vdev)
{
	unsigned int i;

	for (i = VGPU_NUM_SDMA; i--;)
		ring_fini(&vdev->hw.sdma[i]);
}
