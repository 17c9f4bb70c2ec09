/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of hw/ share. Nobody outside the room includes it. */
#ifndef VGPU_HW_PRIV_H
#define VGPU_HW_PRIV_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/dma-fence.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/drm_print.h>

#include "vgpu/bits.h"
#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "vgpu/model.h"
#include "vgpu/pci.h"
#include "vgpu/pte.h"
#include "vgpu/sdma.h"
#include "vgpu/sdma_packets.h"
#include "vgpu_device.h"
#include "vgpu_cp.h"
#include "vgpu_gart.h"
#include "vgpu_gmc.h"
#include "vgpu_hw.h"
#include "vgpu_ih.h"
#include "vgpu_mmio.h"
#include "vgpu_mqd.h"
#include "vgpu_recover.h"
#include "vgpu_sdma.h"
#include "vgpu_sdma_queue.h"
#include "vgpu_sdma_sched.h"
#include "vgpu_xgmi.h"

/* How long the device may take for a handshake (the GPU's own, not a copy). */
#define VGPU_HW_TIMEOUT_US	(2 * USEC_PER_SEC)

/*
 * The room's part of VRAM, at its end: GART table, then a page for accesses
 * outside the system aperture. A multiple of 2 MiB, so that the rest is one.
 */
#define VGPU_GART_START		0ull
#define VGPU_GART_SIZE		0x20000000ull
#define VGPU_GART_PAGES		(VGPU_GART_SIZE >> VGPU_PAGE_SHIFT)
#define VGPU_GART_TABLE_BYTES	(VGPU_GART_PAGES * sizeof(__le64))
#define VGPU_VRAM_RESERVED	0x200000ull
#define VGPU_VRAM_MIN		0x4000000ull
/* Words that tell whether VRAM was lost, and their offset. */
#define VGPU_VRAM_MAGIC_WORDS	8
#define VGPU_VRAM_MAGIC_AT(hw) \
	((hw)->gart.table_vram + VGPU_GART_TABLE_BYTES + VGPU_PAGE_SIZE)

static_assert(VGPU_GART_TABLE_BYTES + VGPU_PAGE_SIZE +
	      VGPU_VRAM_MAGIC_WORDS * sizeof(u64) <= VGPU_VRAM_RESERVED);
static_assert(VGPU_VRAM_RESERVED && !(VGPU_VRAM_RESERVED % SZ_2M));
static_assert(VGPU_VRAM_RESERVED < VGPU_VRAM_MIN);
/* The windows leave room for the kernel's rings and for mm/. */
static_assert(VGPU_GTT_WINDOW_PAGES * VGPU_GTT_NUM_WINDOWS < VGPU_GART_PAGES);
/* Rings and the default page are allocated in pages of the CPU. */
static_assert(VGPU_PAGE_SIZE == PAGE_SIZE);

/* Byte offset in BAR 5 of the page with the HDP flush registers. */
#define VGPU_REMAP_PAGE		0x7e000u
static_assert(VGPU_REMAP_PAGE + PAGE_SIZE <= VGPU_MMIO_BAR_SIZE);

/* The invalidation engine that belongs to the driver. */
#define VGPU_INV_ENGINE		17

/*
 * Those that jobs use, one for each SDMA engine: of the MM hub only, for the
 * pages of its window.
 */
#define VGPU_INV_ENGINE_SDMA(n)	(4 + (n))

/*
 * Invalidation engine 16 of the MM hub is nobody's: its range is a scratch
 * register that SDMA can poll. Not 0: jobs of the kernel wait at their end.
 */
#define VGPU_INV_ENGINE_GATE	16
#define VGPU_GATE_REG \
	(HUB(VGPU_HUB_MM) + \
	 VM_INVALIDATE_ENG_ADDR_RANGE_LO32(VGPU_INV_ENGINE_GATE))
static_assert(VGPU_INV_ENGINE_SDMA(VGPU_NUM_SDMA) <= VGPU_INV_ENGINE_GATE);
#define VGPU_FAULT_STATUS_REG \
	(HUB(VGPU_HUB_MM) + VM_L2_PROTECTION_FAULT_STATUS)

#define VGPU_MAX_IV_HANDLERS	32

struct vgpu_iv_slot {
	vgpu_iv_handler fn;
	void *arg;
	u8 client;
	u8 source;
};

/**
 * struct vgpu_ih - interrupt ring 0
 * @lock: protects @slots; taken in hard interrupt context
 * @poll_lock: one caller of the handler besides the interrupt
 * @slots: handlers; free where fn is NULL
 * @ring: the ring, coherent memory
 * @wptr_wb: where the device writes its write pointer
 * @ring_dma: bus address of @ring
 * @wb_dma: bus address of @wptr_wb
 * @rptr: byte offset of the next entry to read; interrupt handler only
 * @irq: Linux interrupt number, 0 while there is none
 */
struct vgpu_ih {
	spinlock_t lock;	/* slots */
	struct mutex poll_lock;	/* vgpu_ih_poll() */
	struct vgpu_iv_slot slots[VGPU_MAX_IV_HANDLERS];
	__le32 *ring;
	__le32 *wptr_wb;
	dma_addr_t ring_dma;
	dma_addr_t wb_dma;
	u32 rptr;
	int irq;
};

/**
 * struct vgpu_gart - the flat table of VMID 0
 * @start: MC address of the first page
 * @pages: entries that mm/ may use, from entry 0 on; what lies behind them
 *         belongs to the kernel's rings
 * @total: all entries
 * @windows: entries from 0 on that belong to jobs: nobody else knows what they
 *           say
 * @table_vram: offset of the table in VRAM
 * @table: CPU mapping of the table
 * @shadow: what the table should say, in system memory; of windows, what a job
 *          wrote that the CPU ran
 */
struct vgpu_gart {
	u64 start;
	u64 pages;
	u64 total;
	u64 windows;
	u64 table_vram;
	__le64 __iomem *table;
	u64 *shadow;
};

/**
 * struct vgpu_sdma_ring - an engine: the kernel's ring, and user queues
 *
 * The first VGPU_NUM_SDMA engines have a ring of the kernel's. The others have
 * user queues only: no job is ever pending, @ready is never set, and what @ring to
 * @fence_mc, @scratch and @sched say is nothing.
 *
 * @vdev: device
 * @lock: one submission at a time; held while waiting for ring space. Inside
 *        every lock of the rooms above
 * @fence_lock: protects @pending, @ready, @frozen, @suspect, @fault, @finished,
 *              @submitted and @done; the fences' own lock. Taken in hard
 *              interrupt context
 * @end_lock: held by the thread that ends pending jobs while @frozen is set, or restarts
 *            the ring: recovery, @watchdog or removal. Protects @scratch. Fence signalling
 *            path: nothing under it allocates with reclaim
 * @rlc_lock: protects @rlc, @rlc_loaded, @rlc_stuck, @rlc_off and the user
 *            queues' registers
 * @pending: struct vgpu_sdma_fence that have not signalled, oldest first
 * @ended_ops: operations of fences that have signalled; part of the kernel, not of this
 *             module
 * @space: woken when @done advances and when the ring goes down
 * @watchdog: notices an engine that makes no progress
 * @seen_seqno: oldest pending fence at the last look of @watchdog
 * @seen_rptr: read pointer at the last look of @watchdog
 * @seen_since: when @watchdog saw these two first, jiffies
 * @seen_fault: what was latched at the last look of @watchdog
 * @engine: engine number
 * @ring: packets, coherent memory
 * @ring_dma: bus address of @ring
 * @ring_mc: address of @ring for the engine
 * @fence_wb: where the engine writes the number of the last finished job
 * @fence_dma: bus address of @fence_wb
 * @fence_mc: address of @fence_wb for the engine
 * @wptr: bytes ever written; @lock
 * @submitted: bytes of whole jobs ever written
 * @done: bytes ever known to be consumed: the oldest pending job begins there
 * @resets: resets of the engine without a finished job in between
 * @scratch: room for a job's packets, VGPU_SDMA_MAX_JOB_DWORDS; @end_lock
 * @rlc: what the user queues were loaded with, by hardware queue
 * @rlc_loaded: which are
 * @rlc_stuck: which did not stop when they were to, until the engine is reset
 * @rlc_reset: woken when @rlc_stuck is cleared
 * @rlc_off: the engine is being reset: @rlc stands for the hardware
 * @finished: low half of the number of the last job known to be done, while
 *            @frozen keeps it from being signalled
 * @frozen: the engine is being recovered: no job is signalled as done
 * @suspect: number of the job that the engine hangs or stopped in; 0: none
 * @fault: a fault of VMID 0, perhaps in the oldest pending job
 * @helpless: nobody recovers it: the watchdog takes it down
 * @fence_context: dma_fence context
 * @fence_seqno: number of the last job; @lock
 * @ready: the engine takes jobs
 * @sched: which of the jobs that wait comes next
 */
struct vgpu_sdma_ring {
	struct vgpu_device *vdev;
	struct mutex lock;	/* submission */
	spinlock_t fence_lock;
	struct mutex end_lock;	/* jobs of a frozen ring */
	struct mutex rlc_lock;	/* user queues */
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
 * struct vgpu_dump - the next dump of the device (vgpu_dump.c)
 * @lock: protects @fault; taken in hard interrupt context
 * @fault: last fault in the MM hub, of VMID 0 and of users
 * @work: hands @text over
 * @dev: whose dump it is
 * @busy: bit 0: @text waits for @work
 * @text: where it is written
 * @len: its length
 */
struct vgpu_dump {
	spinlock_t lock;	/* fault */
	struct vgpu_iv_entry fault[2];
	struct work_struct work;
	struct device *dev;
	unsigned long busy;
	char *text;
	size_t len;
};

/**
 * struct vgpu_cp_ring - a queue of the kernel to the CP
 * @dw: packets
 * @mc: their MC address
 * @wptr_wb: write pointer in memory
 * @wptr_mc: its MC address
 * @rptr_mc: where the CP writes its read pointer
 * @wptr: dwords ever written
 * @doorbell: byte offset in BAR 2
 */
struct vgpu_cp_ring {
	__le32 *dw;
	u64 mc;
	__le64 *wptr_wb;
	u64 wptr_mc;
	u64 rptr_mc;
	u64 wptr;
	u32 doorbell;
};

/**
 * struct vgpu_cp - command processor (vgpu_cp.c)
 * @lock: one step at a time; protects all below
 * @kiq: kernel's interface queue
 * @hiq: takes run lists
 * @control: coherent memory of the rings, the HIQ's MQD and @fence
 * @control_dma: its bus address
 * @control_mc: its MC address
 * @fence: the CP writes here how far it got
 * @fence_mc: its MC address
 * @fence_seq: what was asked for last
 * @lists: run lists; the one in use is @list
 * @list_dma: bus addresses
 * @list_mc: MC addresses
 * @list: 0 or 1
 * @list_dwords: length of the one in use; 0: no queue runs
 * @off: being reset, asleep, gone: the list waits
 * @hangs: the CP did not answer and has not been reset since; it may still run queues
 * @reset: woken when @hangs is cleared
 * @lost: how often the state of queues was lost
 */
struct vgpu_cp {
	struct mutex lock;	/* steps of the CP */
	struct vgpu_cp_ring kiq;
	struct vgpu_cp_ring hiq;
	void *control;
	dma_addr_t control_dma;
	u64 control_mc;
	__le64 *fence;
	u64 fence_mc;
	u64 fence_seq;
	__le32 *lists[2];
	dma_addr_t list_dma[2];
	u64 list_mc[2];
	unsigned int list;
	u32 list_dwords;
	bool off;
	bool hangs;
	wait_queue_head_t reset;
	atomic_t lost;
};

/* vgpu_hw_state.gart_cam has a bit for each slot. */
static_assert(VGPU_RETRY_CAM_SLOTS <= 32);

/**
 * struct vgpu_hw_state - hardware state of a device, as hw/ sees it
 * @base: what other folders may read; struct vgpu_device points to it
 * @vdev: the device
 * @mmio: BAR 5, registers
 * @doorbell: BAR 2, doorbells
 * @default_page: page of zeros that accesses with a no-retry fault meet
 * @default_page_dma: its bus address
 * @latch_lock: protects register pairs of which one read latches the other
 * @inv_lock: protects invalidation engine 17 of both hubs; innermost. A
 *            spinlock, so that MMU notifiers and reclaim may flush
 * @gart: VMID 0's table
 * @ih: interrupt ring
 * @sdma: SDMA engines, with the kernel's rings
 * @cp: compute queues
 * @recover: the argument of vgpu_hw_init()
 * @gart_cam: CAM slots that wait for a recovery of the GART, a bit each
 * @gate_lock: protects @gate and the register that shows it; innermost, taken
 *             in hard interrupt context
 * @gate: why no job of the kernel may end now (vgpu_sdma_fault.c)
 * @fault_work: looks for faults of users that no interrupt tells of
 * @dump: what user space is told of failures
 * @vram_magic: what the reserved VRAM holds unless it was lost
 * @root_pde: root directory of each VMID, 0 none
 * @pasid: PASID of each VMID
 * @lost: the device does not answer any more; never reset
 */
struct vgpu_hw_state {
	struct vgpu_hw base;
	struct vgpu_device *vdev;
	void __iomem *mmio;
	void __iomem *doorbell;
	void *default_page;
	dma_addr_t default_page_dma;
	spinlock_t latch_lock;	/* latched register pairs */
	spinlock_t inv_lock;	/* invalidation engine */
	struct vgpu_gart gart;
	struct vgpu_ih ih;
	struct vgpu_sdma_ring sdma[SDMA_NUM_ENGINES];
	struct vgpu_cp cp;
	vgpu_recover_fn recover;
	atomic_t gart_cam;
	spinlock_t gate_lock;	/* gate */
	unsigned long gate;
	struct delayed_work fault_work;
	struct vgpu_dump dump;
	u64 vram_magic[VGPU_VRAM_MAGIC_WORDS];
	u64 root_pde[VGPU_NUM_VMIDS];
	u16 pasid[VGPU_NUM_VMIDS];
	bool lost;
};

static inline struct vgpu_hw_state *to_hw_state(const struct vgpu_device *vdev)
{
	return container_of(vdev->hw, struct vgpu_hw_state, base);
}

/*
 * Request a recovery (VGPU_RECOVER_*). Returns false if there is none, as while the device
 * is being removed: the caller ends what it can. Any context.
 */
static inline bool vgpu_hw_recover(struct vgpu_device *vdev, unsigned long what)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);

	return hw->recover && hw->recover(vdev, what);
}

bool vgpu_hw_poll(struct vgpu_device *vdev, u32 reg, u32 mask, u32 want);

/* vgpu_nbio.c */
int vgpu_nbio_init(struct vgpu_device *vdev);
void vgpu_nbio_start(struct vgpu_device *vdev);
void vgpu_nbio_fini(struct vgpu_device *vdev);

/* vgpu_gmc.c */
int vgpu_gmc_init(struct vgpu_device *vdev);
int vgpu_gmc_start(struct vgpu_device *vdev);
void vgpu_gmc_clear_fault(struct vgpu_device *vdev);
void vgpu_gmc_fini(struct vgpu_device *vdev);

/* vgpu_xgmi.c */
int vgpu_xgmi_init(struct vgpu_device *vdev);
u64 vgpu_xgmi_base(const struct vgpu_device *vdev);

/* vgpu_gart.c */
int vgpu_gart_init(struct vgpu_device *vdev);
void vgpu_gart_fini(struct vgpu_device *vdev);
u64 vgpu_gart_bind_reserved(struct vgpu_device *vdev, dma_addr_t addr,
			    size_t bytes);
void vgpu_gart_close_windows(struct vgpu_device *vdev);
u64 vgpu_gart_rewrite(struct vgpu_device *vdev);
void vgpu_gart_note(struct vgpu_device *vdev, const void __iomem *entry,
		    u64 pte);
unsigned int vgpu_gart_is_flush(const u32 *dw, unsigned int ndw);

/* vgpu_dump.c */
int vgpu_dump_init(struct vgpu_device *vdev);
void vgpu_dump_fini(struct vgpu_device *vdev);
void vgpu_dump_note_fault(struct vgpu_device *vdev,
			  const struct vgpu_iv_entry *iv);

/* vgpu_ih.c */
#define IH_RING_BYTES		SZ_256K
#define IH_RING_MASK		(IH_RING_BYTES - 1)
static_assert(!(IH_RING_BYTES & IH_RING_MASK));
/* IH_RB_WPTR has room for each offset. */
static_assert(!((IH_RING_MASK & ~3u) & ~IH_RB_WPTR__OFFSET));
int vgpu_ih_init(struct vgpu_device *vdev);
void vgpu_ih_start(struct vgpu_device *vdev);
void vgpu_ih_fini(struct vgpu_device *vdev);
void vgpu_ih_stop(struct vgpu_device *vdev);
void vgpu_ih_sync(struct vgpu_device *vdev);
void vgpu_ih_poll(struct vgpu_device *vdev, bool fault_lost);
void vgpu_ih_service(struct vgpu_device *vdev);

/* vgpu_sdma.c */
#define SDMA_RING_BYTES		SZ_128K
#define SDMA_RING_DWORDS	(SDMA_RING_BYTES / 4)
static_assert(!(SDMA_RING_BYTES & (SDMA_RING_BYTES - 1)));
#define SDMA_EPILOGUE_DWORDS	(SDMA_FENCE_DWORDS + SDMA_TRAP_DWORDS + \
				 2 * SDMA_POLL_REGMEM_DWORDS)

/**
 * struct vgpu_sdma_fence - a job that has been submitted
 * @base: first member: dma_fence_free() frees the whole
 * @link: in the ring's pending list
 * @end: the ring's write pointer behind the job
 * @failures: how often the engine failed in it; recovery only
 * @engine: engine number; the fence may outlive the device
 * @failed: called with @arg before @base signals with an error, or NULL
 * @arg: argument of @failed
 * @needs_vram: the job is not submitted unless VRAM is as it was at @vram_epoch
 * @vram_epoch: value of vgpu_hw.vram_epoch
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

/* Operations of the kernel's own signalled fence. */
static inline const struct dma_fence_ops *vgpu_sdma_ended_ops(void)
{
	struct dma_fence *stub = dma_fence_get_stub();
	const struct dma_fence_ops *ops = stub->ops;

	dma_fence_put(stub);
	return ops;
}

/* Does the engine have a ring of the kernel's? */
static inline bool vgpu_sdma_is_kernels(const struct vgpu_sdma_ring *ring)
{
	return ring->engine < VGPU_NUM_SDMA;
}

static inline u32 vgpu_sdma_ring_reg(const struct vgpu_sdma_ring *ring, u32 reg)
{
	return SDMA_ENGINE(ring->engine) + SDMA_QUEUE(SDMA_QUEUE_GFX) + reg;
}

/* Only to be compared and shown: may be torn. */
static inline u64 vgpu_sdma_ring_rptr(struct vgpu_sdma_ring *ring)
{
	return vgpu_rreg(ring->vdev, vgpu_sdma_ring_reg(ring, SDMA_RB_RPTR)) |
	       (u64)vgpu_rreg(ring->vdev,
			      vgpu_sdma_ring_reg(ring, SDMA_RB_RPTR_HI)) << 32;
}

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

/* vgpu_hw_reset.c */
int vgpu_hw_restart(struct vgpu_device *vdev, bool *vram_lost);

/* vgpu_sdma_recover.c */
unsigned long vgpu_sdma_look_interval(void);
void vgpu_sdma_watchdog(struct work_struct *work);
void vgpu_sdma_ring_down(struct vgpu_sdma_ring *ring);
void vgpu_sdma_engine_pulse(struct vgpu_device *vdev, unsigned int engine);

/* vgpu_sdma_fault.c */

/**
 * enum vgpu_fault_state - what is known of faults of the kernel's work
 * @VGPU_FAULT_NONE: there is none
 * @VGPU_FAULT_USERS: there is none, but one of a user is latched
 * @VGPU_FAULT_UNKNOWN: there may be one behind a user's, of which only its
 *                      interrupt entry tells
 * @VGPU_FAULT_KERNELS: there is one
 */
enum vgpu_fault_state {
	VGPU_FAULT_NONE,
	VGPU_FAULT_USERS,
	VGPU_FAULT_UNKNOWN,
	VGPU_FAULT_KERNELS,
};

enum vgpu_fault_state vgpu_sdma_fault_state(struct vgpu_device *vdev);
void vgpu_sdma_fault_irq(struct vgpu_device *vdev,
			 const struct vgpu_iv_entry *iv, void *arg);
void vgpu_sdma_fault_lost(struct vgpu_device *vdev);
void vgpu_sdma_fault_overflow(struct vgpu_device *vdev);
void vgpu_sdma_fault_work(struct work_struct *work);
bool vgpu_sdma_gate_unsettled(struct vgpu_device *vdev);
void vgpu_sdma_gate_settle(struct vgpu_device *vdev);

/* vgpu_sdma_cpu.c */
bool vgpu_sdma_cpu_can(const u32 *dw, unsigned int ndw);

/* vgpu_sdma_queue.c */
void vgpu_sdma_stop_engine(struct vgpu_device *vdev, unsigned int engine);
u32 vgpu_sdma_queue_exception(struct vgpu_device *vdev, unsigned int engine,
			      unsigned int queue);
void vgpu_sdma_teach_locks(struct vgpu_sdma_ring *ring);
unsigned long vgpu_sdma_rlc_park(struct vgpu_sdma_ring *ring);
unsigned long vgpu_sdma_rlc_restore(struct vgpu_sdma_ring *ring,
				    unsigned long dead);
void vgpu_sdma_rlc_give_up(struct vgpu_sdma_ring *ring);

/* vgpu_cp.c */
int vgpu_cp_init(struct vgpu_device *vdev);
void vgpu_cp_fini(struct vgpu_device *vdev);

/* vgpu_cp_hqd.c */
void vgpu_cp_stop(struct vgpu_device *vdev);
void vgpu_cp_select(struct vgpu_device *vdev, unsigned int me,
		    unsigned int pipe, unsigned int queue);

/* vgpu_cp_emit.c */
void vgpu_mqd_write(__le32 *mqd, u32 reg, u32 value);
void vgpu_mqd_write64(__le32 *mqd, u32 lo, u64 value);

#endif /* VGPU_HW_PRIV_H */
