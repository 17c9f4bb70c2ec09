/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SDMA engines: state and functions that the files of hw/ and its subfolders share. Files of
 * other folders do not include this header directly.
 */
#ifndef VGPU_SDMA_PRIV_H
#define VGPU_SDMA_PRIV_H

#include <linux/build_bug.h>
#include <linux/dma-fence.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/gpu_scheduler.h>

#include "vgpu/sdma.h"
#include "vgpu/sdma_packets.h"
#include "hw/vgpu_mmio.h"
#include "vgpu_sdma.h"
#include "vgpu_sdma_queue.h"

struct vgpu_device;
struct vgpu_iv_entry;

#define SDMA_RING_BYTES		SZ_128K
#define SDMA_RING_DWORDS	(SDMA_RING_BYTES / 4)
static_assert(!(SDMA_RING_BYTES & (SDMA_RING_BYTES - 1)));
#define SDMA_EPILOGUE_DWORDS	(SDMA_FENCE_DWORDS + SDMA_TRAP_DWORDS + \
				 2 * SDMA_POLL_REGMEM_DWORDS)

/**
 * struct vgpu_sdma_ring - an engine: the kernel's ring, and user queues
 *
 * The first VGPU_NUM_SDMA engines have a ring of the kernel. The others have user queues
 * only: no job is ever pending, and @ready is never set. These engines do not use @ring,
 * @ring_dma, @ring_mc, @fence_wb, @fence_dma, @fence_mc, @scratch and @sched.
 *
 * @vdev: device
 * @lock: serialises submissions; held while waiting for ring space. Callers outside of hw/
 *        may hold any of their own locks when they submit
 * @fence_lock: protects @pending, @ready, @frozen, @suspect, @fault, @finished, @submitted
 *              and @done; also the lock of the dma_fences. Taken in hard interrupt context
 * @end_lock: A thread holds it to end pending jobs of a frozen ring, and to restart the ring.
 *            The recovery, @watchdog and the removal do so. Protects @scratch. The fences of a
 *            frozen ring signal only when the holder makes progress, so the holder does not
 *            allocate with reclaim, which may wait for fences
 * @rlc_lock: protects @rlc, @rlc_loaded, @rlc_stuck, @rlc_off and the user queues'
 *            registers
 * @pending: list of struct vgpu_sdma_fence that have not signalled, oldest first
 * @ended_ops: operations that a fence gets when it has signalled. A signalled fence may
 *             outlive this module, so these operations are not part of the module
 * @space: woken when @done advances and when the ring goes down
 * @watchdog: detects an engine that makes no progress
 * @seen_seqno: number of the oldest pending job at the last run of @watchdog
 * @seen_rptr: read pointer at the last run of @watchdog
 * @seen_since: time, in jiffies, at which @watchdog first read @seen_seqno and @seen_rptr
 * @seen_fault: value of VGPU_FAULT_STATUS_REG at the last run of @watchdog
 * @engine: engine number
 * @ring: packets, coherent memory
 * @ring_dma: bus address of @ring
 * @ring_mc: MC address of @ring, for the engine
 * @fence_wb: memory to which the engine writes the number of the last finished job
 * @fence_dma: bus address of @fence_wb
 * @fence_mc: MC address of @fence_wb, for the engine
 * @wptr: bytes written to the ring since creation; protected by @lock
 * @submitted: bytes of whole jobs written since creation
 * @done: bytes of finished jobs since creation: the oldest pending job starts at this offset
 * @resets: number of resets of the engine since a job last finished
 * @scratch: buffer for a job's packets, VGPU_SDMA_MAX_JOB_DWORDS; protected by @end_lock
 * @rlc: settings of the loaded user queues, indexed by hardware queue
 * @rlc_loaded: bitmap of loaded user queues
 * @rlc_stuck: bitmap of user queues that did not stop when they were disabled; cleared when
 *             the engine is reset
 * @rlc_reset: woken when @rlc_stuck is cleared
 * @rlc_off: the engine is being reset: loads and unloads change @rlc and @rlc_loaded, but write
 *           no register
 * @finished: low half of the number of the last job known to be done. While @frozen is set,
 *            it is possible that the fence of this job has not signalled yet
 * @frozen: the engine is being recovered: interrupts and polls signal no job
 * @suspect: number of the job in which the engine hangs or stopped; 0: none
 * @fault: VMID 0 had a fault, perhaps in the oldest pending job
 * @helpless: the request for a recovery was not accepted, so @watchdog takes the ring down
 * @fence_context: dma_fence context
 * @fence_seqno: number of the last job that was written to the ring; protected by @lock
 * @ready: the kernel's ring takes jobs
 * @sched: scheduler that selects the next job for the ring
 */
struct vgpu_sdma_ring {
	struct vgpu_device *vdev;
	struct mutex lock;	/* serialises submissions */
	spinlock_t fence_lock;
	struct mutex end_lock;	/* serialises threads that end jobs of a frozen ring */
	struct mutex rlc_lock;	/* protects the user queues */
	struct list_head pending;
	const struct dma_fence_ops *ended_ops;
	wait_queue_head_t space;
	struct delayed_work watchdog;
	u64 seen_seqno;
	u64 seen_rptr;
	unsigned long seen_since;
	u32 seen_fault;
	u32 finished;
	unsigned int engine;
	__le32 *ring;
	dma_addr_t ring_dma;
	u64 ring_mc;
	__le32 *fence_wb;
	dma_addr_t fence_dma;
	u64 fence_mc;
	u64 wptr;
	u64 submitted;
	u64 done;
	u64 fence_context;
	u64 fence_seqno;
	unsigned int resets;
	u32 *scratch;
	struct vgpu_sdma_queue_regs rlc[SDMA_NUM_RLC];
	unsigned long rlc_loaded;
	unsigned long rlc_stuck;
	wait_queue_head_t rlc_reset;
	bool rlc_off;
	bool frozen;
	u64 suspect;
	bool fault;
	bool helpless;
	bool ready;
	struct drm_gpu_scheduler sched;
};

/**
 * struct vgpu_sdma_fence - a job and its fence; allocated before the submission
 * @base: first member, because dma_fence_free() frees this structure by the address of
 *        @base
 * @link: element of vgpu_sdma_ring.pending
 * @end: value of vgpu_sdma_ring.wptr after the job
 * @failures: number of engine failures in the job; accessed by the recovery only
 * @engine: engine number; a copy, because the fence may outlive the device
 * @failed: function that is called with @arg before @base signals with an error, or NULL
 * @arg: argument of @failed
 * @needs_vram: submission fails if VRAM was lost since @vram_epoch
 * @vram_epoch: value of vgpu_hw.vram_epoch when VRAM held the content that the job needs
 */
struct vgpu_sdma_fence {
	struct dma_fence base;
	struct list_head link;
	u64 end;
	unsigned int failures;
	unsigned int engine;
	vgpu_sdma_failed_fn failed;
	void *arg;
	bool needs_vram;
	int vram_epoch;
};

/**
 * enum vgpu_fault_state - whether a job of the kernel may have had a fault
 * @VGPU_FAULT_NONE: no fault is latched, or the device does not answer
 * @VGPU_FAULT_USERS: no job had a fault: the latched fault is of a user, and no other fault has
 *                    followed it
 * @VGPU_FAULT_UNKNOWN: a job may have had a fault. Either other faults, with unknown VMIDs, have
 *                      followed the latched fault of a user. Or a user's fault is being cleared,
 *                      and the interrupt entries of the faults after it are not handled yet
 * @VGPU_FAULT_KERNELS: a job had a fault (VMID 0)
 */
enum vgpu_fault_state {
	VGPU_FAULT_NONE,
	VGPU_FAULT_USERS,
	VGPU_FAULT_UNKNOWN,
	VGPU_FAULT_KERNELS,
};

/*
 * Returns operations for signalled fences, which may outlive this module. The function takes
 * the operations of the kernel's stub fence, because they are not part of the module.
 */
static inline const struct dma_fence_ops *vgpu_sdma_ended_ops(void)
{
	struct dma_fence *stub = dma_fence_get_stub();
	const struct dma_fence_ops *ops = stub->ops;

	dma_fence_put(stub);
	return ops;
}

/*
 * Returns true if the engine that @ring describes has a ring of the kernel. Engines from number
 * VGPU_NUM_SDMA on have user queues only.
 */
static inline bool vgpu_sdma_is_kernels(const struct vgpu_sdma_ring *ring)
{
	return ring->engine < VGPU_NUM_SDMA;
}

static inline u32 vgpu_sdma_ring_reg(const struct vgpu_sdma_ring *ring, u32 reg)
{
	return SDMA_ENGINE(ring->engine) + SDMA_QUEUE(SDMA_QUEUE_GFX) + reg;
}

/*
 * Returns the engine's read pointer. The value may be wrong if the pointer changes between the
 * reads of its two halves. So use the value only for debug output, and to see whether the
 * pointer has changed since an earlier call.
 */
static inline u64 vgpu_sdma_ring_rptr(struct vgpu_sdma_ring *ring)
{
	return vgpu_rreg(ring->vdev, vgpu_sdma_ring_reg(ring, SDMA_RB_RPTR)) |
	       (u64)vgpu_rreg(ring->vdev,
			      vgpu_sdma_ring_reg(ring, SDMA_RB_RPTR_HI)) << 32;
}

/* vgpu_sdma.c */
int vgpu_sdma_init(struct vgpu_device *vdev);
void vgpu_sdma_fini(struct vgpu_device *vdev);
void vgpu_sdma_poll_fences(struct vgpu_device *vdev);
void vgpu_sdma_ring_poll(struct vgpu_sdma_ring *ring);
void vgpu_sdma_ring_start(struct vgpu_sdma_ring *ring);
void vgpu_sdma_engine_start(struct vgpu_sdma_ring *ring);
void vgpu_sdma_ring_pop(struct vgpu_sdma_ring *ring,
			struct vgpu_sdma_fence *fence, int error);
bool vgpu_sdma_ring_pop_until(struct vgpu_sdma_ring *ring, u32 last);

/* vgpu_sdma_sched.c */
int vgpu_sdma_sched_init(struct vgpu_device *vdev);

/* vgpu_sdma_emit.c */
void vgpu_sdma_emit_poll(u32 *dw, u32 reg, u32 mask, u32 value, u32 clocks);
void vgpu_sdma_emit_end(const struct vgpu_sdma_ring *ring, u32 *dw);

/* vgpu_sdma_recover.c */
unsigned long vgpu_sdma_look_interval(void);
void vgpu_sdma_watchdog(struct work_struct *work);
void vgpu_sdma_ring_down(struct vgpu_sdma_ring *ring);
void vgpu_sdma_engine_pulse(struct vgpu_device *vdev, unsigned int engine);

/* vgpu_sdma_fault.c */
enum vgpu_fault_state vgpu_sdma_fault_state(struct vgpu_device *vdev);
void vgpu_sdma_fault_irq(struct vgpu_device *vdev,
			 const struct vgpu_iv_entry *iv, void *arg);
void vgpu_sdma_fault_lost(struct vgpu_device *vdev);
void vgpu_sdma_fault_overflow(struct vgpu_device *vdev);
void vgpu_sdma_fault_work(struct work_struct *work);
bool vgpu_sdma_user_gate_closed(struct vgpu_device *vdev);
void vgpu_sdma_user_gate_open(struct vgpu_device *vdev);

/* vgpu_sdma_cpu.c */
bool vgpu_sdma_cpu_can(const u32 *dw, unsigned int ndw);

/* vgpu_sdma_queue.c */
void vgpu_sdma_engine_stop(struct vgpu_device *vdev, unsigned int engine);
u32 vgpu_sdma_queue_exception(struct vgpu_device *vdev, unsigned int engine,
			      unsigned int queue);
void vgpu_sdma_lockdep_init(struct vgpu_sdma_ring *ring);
unsigned long vgpu_sdma_rlc_park(struct vgpu_sdma_ring *ring);
unsigned long vgpu_sdma_rlc_restore(struct vgpu_sdma_ring *ring,
				    unsigned long dead);
void vgpu_sdma_rlc_give_up(struct vgpu_sdma_ring *ring);

#endif /* VGPU_SDMA_PRIV_H */
