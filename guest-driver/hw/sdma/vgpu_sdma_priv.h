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
 * Engines from number VGPU_NUM_SDMA on have user queues only: @pending stays empty, @ready stays
 * false, and @ring, @fence_wb, @scratch and @sched are not used.
 */
struct vgpu_sdma_ring {
	/** @vdev: device */
	struct vgpu_device *vdev;
	/**
	 * @lock: serialises submissions; held while waiting for ring space. Callers outside of hw/
	 * may hold any of their own locks when they submit
	 */
	struct mutex lock;
	/**
	 * @fence_lock: protects @pending, @ready, @frozen, @suspect, @fault, @finished, @submitted
	 * and @done. Also the lock of the jobs' fences; taken in hard interrupt context
	 */
	spinlock_t fence_lock;
	/**
	 * @end_lock: held to end jobs of a frozen ring and to restart the ring; protects @scratch.
	 * Fences depend on the holder, so the holder does not allocate with reclaim, which may wait
	 * for fences
	 */
	struct mutex end_lock;
	/**
	 * @rlc_lock: protects @rlc, @rlc_loaded, @rlc_stuck, @rlc_off and the registers of the user
	 * queues
	 */
	struct mutex rlc_lock;
	/** @pending: list of struct vgpu_sdma_fence that have not signalled, oldest first */
	struct list_head pending;
	/**
	 * @ended_ops: operations that a fence gets when it has signalled. They are not part of this
	 * module, because the fence may outlive the module
	 */
	const struct dma_fence_ops *ended_ops;
	/** @space: woken when @done advances and when the ring goes down */
	wait_queue_head_t space;
	/** @watchdog: detects an engine that makes no progress */
	struct delayed_work watchdog;
	/** @seen_seqno: number of the oldest pending job at the last run of @watchdog */
	u64 seen_seqno;
	/** @seen_rptr: read pointer at the last run of @watchdog */
	u64 seen_rptr;
	/** @seen_since: time, in jiffies, of the last progress or restart of the ring */
	unsigned long seen_since;
	/** @seen_fault: value of VGPU_FAULT_STATUS_REG at the last run of @watchdog */
	u32 seen_fault;
	/**
	 * @finished: number of the last job known to be done; only the bits that a TRAP carries are
	 * valid. While @frozen is set, the fence of this job may not have signalled yet
	 */
	u32 finished;
	/**
	 * @restarts: number of restarts of the kernel's ring (vgpu_sdma_ring_unpark()); written
	 * under @fence_lock
	 */
	u32 restarts;
	/** @engine: engine number */
	unsigned int engine;
	/** @ring: packets, coherent memory */
	__le32 *ring;
	/** @ring_dma: bus address, to free @ring; the engine uses @ring_mc */
	dma_addr_t ring_dma;
	/** @ring_mc: address of @ring for the engine; the GART maps this address to @ring_dma */
	u64 ring_mc;
	/**
	 * @fence_wb: memory to which the FENCE packet of each job writes the job's number. The
	 * number does not prove that the job is done: after FENCE, the job still waits while a
	 * fault is latched or examined ("DOC: the gate" in vgpu_sdma_fault.c)
	 */
	__le32 *fence_wb;
	/** @fence_dma: bus address of @fence_wb */
	dma_addr_t fence_dma;
	/** @fence_mc: MC address of @fence_wb, for the engine */
	u64 fence_mc;
	/** @wptr: write pointer, in bytes since creation of the ring; protected by @lock */
	u64 wptr;
	/** @submitted: value of @wptr after the last submitted job */
	u64 submitted;
	/** @done: start of the oldest pending job, in bytes since creation of the ring */
	u64 done;
	/** @fence_context: timeline of the jobs' fences, which signal in the order of submission */
	u64 fence_context;
	/** @fence_seqno: number of the last job written to the ring; protected by @lock */
	u64 fence_seqno;
	/**
	 * @resets: number of resets of the engine while a job was pending. Set to 0 when the
	 * running engine finishes a job, when a job is given up, and at a reset without a pending
	 * job
	 */
	unsigned int resets;
	/** @scratch: buffer for a job's packets, VGPU_SDMA_MAX_JOB_DWORDS */
	u32 *scratch;
	/** @rlc: settings of the loaded user queues, indexed by hardware queue */
	struct vgpu_sdma_queue_regs rlc[SDMA_NUM_RLC];
	/** @rlc_loaded: bitmap of hardware queues on which a user queue is loaded */
	unsigned long rlc_loaded;
	/**
	 * @rlc_stuck: bitmap of hardware queues that did not become idle when a user queue was
	 * loaded or stopped; cleared when the engine is reset
	 */
	unsigned long rlc_stuck;
	/** @rlc_reset: woken when @rlc_stuck is cleared */
	wait_queue_head_t rlc_reset;
	/**
	 * @rlc_off: the engine is being reset: loads and unloads of user queues change @rlc and
	 * @rlc_loaded, but write no register
	 */
	bool rlc_off;
	/** @frozen: the engine is being recovered: interrupts and polls signal no job */
	bool frozen;
	/** @suspect: number of the job in which the engine hung or raised an exception; 0: none */
	u64 suspect;
	/** @fault: VMID 0 had a fault, perhaps in the oldest pending job */
	bool fault;
	/** @helpless: a request for a recovery was refused, so @watchdog takes the ring down */
	bool helpless;
	/** @ready: the kernel's ring takes jobs */
	bool ready;
	/** @sched: serves only jobs with an entity; other jobs go directly to the ring */
	struct drm_gpu_scheduler sched;
};

/**
 * struct vgpu_sdma_fence - a job and its fence; allocated before the submission
 */
struct vgpu_sdma_fence {
	/** @base: first member: dma_fence_free() frees this structure by the address of @base */
	struct dma_fence base;
	/** @link: element of vgpu_sdma_ring.pending */
	struct list_head link;
	/** @end: value of vgpu_sdma_ring.wptr after the job */
	u64 end;
	/** @failures: number of engine failures in the job; accessed by the recovery only */
	unsigned int failures;
	/** @engine: engine number; a copy, because the fence may outlive the device */
	unsigned int engine;
	/** @failed: called before @base signals with an error, or NULL */
	vgpu_sdma_failed_fn failed;
	/** @arg: first argument of @failed; valid until @base has signalled */
	void *arg;
	/** @needs_vram: the submission fails if VRAM was lost since @vram_epoch */
	bool needs_vram;
	/** @vram_epoch: vgpu_hw.vram_epoch when VRAM held the content that the job needs */
	int vram_epoch;
};

/**
 * enum vgpu_fault_state - whether a job of the kernel may have had a fault
 */
enum vgpu_fault_state {
	/** @VGPU_FAULT_NONE: no fault is latched, or the device does not answer */
	VGPU_FAULT_NONE,
	/** @VGPU_FAULT_USERS: only a user's fault has occurred, and is latched */
	VGPU_FAULT_USERS,
	/**
	 * @VGPU_FAULT_UNKNOWN: a kernel job may have had a fault that STATUS does not show. Either
	 * STATUS reports further faults without their VMIDs, or the driver is clearing a user's
	 * fault and has not handled all interrupt entries
	 */
	VGPU_FAULT_UNKNOWN,
	/** @VGPU_FAULT_KERNELS: a job of the kernel had a fault (VMID 0) */
	VGPU_FAULT_KERNELS,
};

/*
 * Returns the operations of the kernel's stub fence, for signalled fences. Signalled fences may
 * outlive this module, and the stub's operations are not part of the module.
 */
static inline const struct dma_fence_ops *vgpu_sdma_ended_ops(void)
{
	struct dma_fence *stub = dma_fence_get_stub();
	const struct dma_fence_ops *ops = stub->ops;

	dma_fence_put(stub);
	return ops;
}

/*
 * Returns true if the kernel submits jobs to engine @ring->engine. Engines from number
 * VGPU_NUM_SDMA on run only user queues.
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
 * Returns the engine's read pointer. The pointer may change between the two reads, so use the
 * value only for debug output and to detect progress.
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
void vgpu_sdma_user_gate_recheck(struct vgpu_device *vdev);
void vgpu_sdma_faults_drop(struct vgpu_device *vdev);

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
void vgpu_sdma_rlc_give_up(struct vgpu_sdma_ring *ring, bool vram_lost);

#endif /* VGPU_SDMA_PRIV_H */
