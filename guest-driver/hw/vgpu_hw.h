/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hw/: registers, rings, interrupts, GART table. Knows the chip, decides
 * nothing. This header is the room's whole public face; the functions are
 * documented where they are defined.
 */
#ifndef VGPU_HW_H
#define VGPU_HW_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/dma-fence.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/gpu_scheduler.h>

#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "vgpu/model.h"
#include "vgpu/sdma.h"
#include "vgpu_cp.h"

struct drm_printer;
struct vgpu_device;
struct vgpu_sdma_fence;

/* What a recovery is asked for: some engines, the GART, or all there is. */
#define VGPU_RECOVER_ENGINE(n)	BIT(n)
#define VGPU_RECOVER_ENGINES	GENMASK(SDMA_NUM_ENGINES - 1, 0)
/* Those with a ring of the kernel's. */
#define VGPU_RECOVER_KERNELS	GENMASK(VGPU_NUM_SDMA - 1, 0)
/* Compute queues, in what is told of a recovery. */
#define VGPU_ENGINE_CP		SDMA_NUM_ENGINES
#define VGPU_RECOVER_GART	BIT(8)
#define VGPU_RECOVER_DEVICE	BIT(9)
/* The kernel's rings, whose engines are well: start them again. */
#define VGPU_RECOVER_RINGS	BIT(10)
static_assert(VGPU_RECOVER_ENGINE(VGPU_ENGINE_CP) < VGPU_RECOVER_GART);

/*
 * Request a recovery of @what, VGPU_RECOVER_*. Any context. Returns false if
 * requests are not taken: nothing will be recovered.
 */
typedef bool (*vgpu_recover_fn)(struct vgpu_device *vdev, unsigned long what);

#define VGPU_VRAM_MAGIC_WORDS	8

/* vgpu_hw.gart_cam has a bit for each slot. */
static_assert(VGPU_RETRY_CAM_SLOTS <= 32);

/*
 * Transfer windows at the start of the GART, one for each SDMA engine. Their
 * entries are written by the jobs that use them.
 */
#define VGPU_GTT_WINDOW_PAGES	4096u		/* 16 MiB each */
#define VGPU_GTT_NUM_WINDOWS	VGPU_NUM_SDMA

/**
 * struct vgpu_iv_entry - a decoded interrupt vector
 * @timestamp: 48-bit GPU clock
 * @data: source data, by source
 * @pasid: process, 0 for the kernel's own work
 * @client: IH_CLIENT_*
 * @source: IH_SRC_*
 * @ring: ring or queue within the client
 * @vmid: VMID, of the MM hub if @mm_hub, else of the GFX hub
 * @node: die, 0 here
 * @mm_hub: which hub's VMID
 */
struct vgpu_iv_entry {
	u64 timestamp;
	u32 data[4];
	u16 pasid;
	u8 client;
	u8 source;
	u8 ring;
	u8 vmid;
	u8 node;
	bool mm_hub;
};

/* Called in hard interrupt context. */
typedef void (*vgpu_iv_handler)(struct vgpu_device *vdev,
				const struct vgpu_iv_entry *iv, void *arg);

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
 * struct vgpu_sdma_queue_regs - what a user queue is loaded with
 * @ring_va: ring base in the VMID's address space, 256-byte aligned
 * @rptr_va: where the engine writes its read pointer, same address space
 * @rptr: read pointer to start from, monotonic bytes
 * @read_wptr: the write pointer in user memory, monotonic bytes; called with
 *             rlc_lock held while the queue is loaded, also after a reset
 * @owner: its argument
 * @ring_bytes: power of two
 * @doorbell_offset: byte offset of the doorbell in BAR 2
 * @vmid: VMID, 1 to 15
 */
struct vgpu_sdma_queue_regs {
	u64 ring_va;
	u64 rptr_va;
	u64 rptr;
	u64 (*read_wptr)(const void *owner);
	const void *owner;
	u32 ring_bytes;
	u32 doorbell_offset;
	u8 vmid;
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
 * struct vgpu_xgmi - place in the hive; never changes
 * @hive: number of the hive, 0: the device is in none, and all is 0
 * @segment: bytes of a node in the hive's address space
 * @node: which node the device is
 */
struct vgpu_xgmi {
	u64 hive;
	u64 segment;
	unsigned int node;
};

/**
 * struct vgpu_hw - per-device hardware state
 * @vdev: the device
 * @mmio: BAR 5, registers
 * @doorbell: BAR 2, doorbells
 * @vram: BAR 0, whole, write-combined
 * @vram_base: bus address of BAR 0
 * @doorbell_base: bus address of BAR 2
 * @remap_base: bus address of the page of BAR 5 with the HDP flush registers,
 *              and nothing else
 * @vram_size: bytes of VRAM, the reserved part included
 * @vram_reserved: bytes at the end of VRAM that belong to this room
 * @xgmi: place in the hive
 * @fb_base: MC address of VRAM offset 0
 * @fb_offset: what is added to a VRAM offset in page-table entries: this node's
 *             place in the hive included
 * @default_page: page of zeros that accesses with a no-retry fault meet
 * @default_page_dma: its bus address
 * @latch_lock: protects register pairs of which one read latches the other
 * @inv_lock: protects invalidation engine 17 of both hubs; innermost. A
 *            spinlock, so that MMU notifiers and reclaim may flush
 * @gart: VMID 0's table
 * @ih: interrupt ring
 * @sdma: SDMA engines, with the kernel's rings
 * @sched: the rings' schedulers, as entities want them
 * @cp: compute queues
 * @recover: the argument of vgpu_hw_init()
 * @gart_cam: CAM slots that wait for a recovery of the GART, a bit each
 * @gate_lock: protects @gate and the register that shows it; innermost, taken
 *             in hard interrupt context
 * @gate: why no job of the kernel may end now (vgpu_sdma_fault.c)
 * @fault_work: looks for faults of users that no interrupt tells of
 * @dump: what user space is told of failures
 * @vram_magic: what the reserved VRAM holds unless it was lost
 * @vram_epoch: how often VRAM was lost
 * @root_pde: root directory of each VMID, 0 none
 * @pasid: PASID of each VMID
 * @lost: the device does not answer any more; never reset
 */
struct vgpu_hw {
	struct vgpu_device *vdev;
	void __iomem *mmio;
	void __iomem *doorbell;
	void __iomem *vram;
	resource_size_t vram_base;
	resource_size_t doorbell_base;
	resource_size_t remap_base;
	u64 vram_size;
	u64 vram_reserved;
	struct vgpu_xgmi xgmi;
	u64 fb_base;
	u64 fb_offset;
	void *default_page;
	dma_addr_t default_page_dma;
	spinlock_t latch_lock;	/* latched register pairs */
	spinlock_t inv_lock;	/* invalidation engine */
	struct vgpu_gart gart;
	struct vgpu_ih ih;
	struct vgpu_sdma_ring sdma[SDMA_NUM_ENGINES];
	struct drm_gpu_scheduler *sched[VGPU_NUM_SDMA];
	struct vgpu_cp cp;
	vgpu_recover_fn recover;
	atomic_t gart_cam;
	spinlock_t gate_lock;	/* gate */
	unsigned long gate;
	struct delayed_work fault_work;
	struct vgpu_dump dump;
	u64 vram_magic[VGPU_VRAM_MAGIC_WORDS];
	atomic_t vram_epoch;
	u64 root_pde[VGPU_NUM_VMIDS];
	u16 pasid[VGPU_NUM_VMIDS];
	bool lost;
};

/* vgpu_hw.c */
int vgpu_hw_init(struct vgpu_device *vdev, vgpu_recover_fn recover);
void vgpu_hw_fini(struct vgpu_device *vdev);
void vgpu_hw_quiesce(struct vgpu_device *vdev);
bool vgpu_hw_present(struct vgpu_device *vdev);

/* vgpu_mmio.c; @reg is a dword offset of include/vgpu */
u32 vgpu_rreg(struct vgpu_device *vdev, u32 reg);
void vgpu_wreg(struct vgpu_device *vdev, u32 reg, u32 value);
u64 vgpu_counter_read(struct vgpu_device *vdev, unsigned int index);
u64 vgpu_clock_read(struct vgpu_device *vdev);
void vgpu_hdp_flush(struct vgpu_device *vdev);
void vgpu_wdoorbell32(struct vgpu_device *vdev, u32 dword, u32 value);
void vgpu_wdoorbell64(struct vgpu_device *vdev, u32 byte_offset, u64 value);

/* vgpu_gmc.c */
void vgpu_gmc_set_context(struct vgpu_device *vdev, unsigned int vmid,
			  u64 root_vram_offset);
void vgpu_gmc_clear_context(struct vgpu_device *vdev, unsigned int vmid);
u64 vgpu_gmc_root_pde(struct vgpu_device *vdev, u64 root_vram_offset);
void vgpu_gmc_set_pasid(struct vgpu_device *vdev, unsigned int vmid, u16 pasid);
int vgpu_gmc_flush_tlb(struct vgpu_device *vdev, u32 vmid_mask);

/* vgpu_xgmi.c */
bool vgpu_xgmi_same_hive(const struct vgpu_device *a,
			 const struct vgpu_device *b);
bool vgpu_xgmi_linked(struct vgpu_device *vdev,
		      const struct vgpu_device *peer);
u64 vgpu_xgmi_offset(const struct vgpu_device *vdev,
		     const struct vgpu_device *peer);

/* vgpu_gart.c; page numbers within the GART */
u64 vgpu_gart_start(const struct vgpu_device *vdev);
u64 vgpu_gart_pages(const struct vgpu_device *vdev);
u64 vgpu_gart_size(const struct vgpu_device *vdev);
void vgpu_gart_bind(struct vgpu_device *vdev, u64 page, u64 npages,
		    const dma_addr_t *addrs);
void vgpu_gart_unbind(struct vgpu_device *vdev, u64 page, u64 npages);
void vgpu_gart_flush(struct vgpu_device *vdev);
u64 vgpu_gart_restore(struct vgpu_device *vdev);
u64 vgpu_gart_rewrite(struct vgpu_device *vdev);
unsigned int vgpu_gart_emit_bind(struct vgpu_device *vdev, u32 *dw,
				 unsigned int room, u64 page, u64 npages,
				 const dma_addr_t *addrs, u64 *bound);
#define VGPU_GART_FLUSH_DWORDS		9u
unsigned int vgpu_gart_emit_flush(unsigned int engine, u32 *dw);

/* vgpu_hw_pm.c */
void vgpu_sdma_drain(struct vgpu_device *vdev);
void vgpu_hw_suspend(struct vgpu_device *vdev);
int vgpu_hw_resume(struct vgpu_device *vdev);
void vgpu_hw_resume_engines(struct vgpu_device *vdev);

/* vgpu_hw_reset.c */
int vgpu_hw_reset(struct vgpu_device *vdev, bool *vram_lost);

/* vgpu_sdma_recover.c */
bool vgpu_sdma_ring_park(struct vgpu_device *vdev, unsigned int engine);
void vgpu_sdma_ring_unpark(struct vgpu_device *vdev, unsigned int engine,
			   bool vram_lost);
void vgpu_sdma_park(struct vgpu_device *vdev, unsigned int engine,
		    unsigned long *dead);
unsigned long vgpu_sdma_unpark(struct vgpu_device *vdev, unsigned int engine,
			       unsigned long dead, bool vram_lost);
int vgpu_sdma_engine_reset(struct vgpu_device *vdev, unsigned int engine);
void vgpu_sdma_give_up(struct vgpu_device *vdev);

/* vgpu_sdma_fault.c */
void vgpu_sdma_suspect(struct vgpu_device *vdev);
unsigned long vgpu_sdma_take_gart_cam(struct vgpu_device *vdev);
void vgpu_sdma_faults_over(struct vgpu_device *vdev);

/* vgpu_dump.c */
void vgpu_dump_take(struct vgpu_device *vdev, const char *why);

/* vgpu_ih.c */
int vgpu_ih_register(struct vgpu_device *vdev, u8 client, u8 source,
		     vgpu_iv_handler fn, void *arg);
void vgpu_ih_unregister(struct vgpu_device *vdev, u8 client, u8 source,
			vgpu_iv_handler fn);
void vgpu_ih_cam_ack(struct vgpu_device *vdev, u32 cam_index);

/* vgpu_sdma.c: the kernel's rings. Addresses are MC addresses (VMID 0). */
#define VGPU_SDMA_MAX_COPY		BIT(30)	/* bytes per packet */
#define VGPU_SDMA_MAX_JOB_DWORDS	8192u
unsigned int vgpu_sdma_emit_copy(u32 *dw, u64 src, u64 dst, u32 bytes);
unsigned int vgpu_sdma_emit_fill(u32 *dw, u64 dst, u32 value, u32 bytes);
unsigned int vgpu_sdma_emit_ptepde(u32 *dw, u64 dst, u64 flags, u64 addr,
				   u64 incr, u32 count);
bool vgpu_sdma_ring_ready(const struct vgpu_device *vdev, unsigned int engine);
struct dma_fence *vgpu_sdma_submit(struct vgpu_device *vdev,
				   unsigned int engine, const u32 *dw,
				   unsigned int ndw);
/*
 * Called when a job has failed, before its fence signals with @error, a negative
 * errno. May sleep; must not allocate with reclaim (fence signalling path).
 */
typedef void (*vgpu_sdma_failed_fn)(void *arg, int error);

struct vgpu_sdma_fence *vgpu_sdma_fence_alloc(gfp_t gfp);
void vgpu_sdma_fence_on_failure(struct vgpu_sdma_fence *fence,
				vgpu_sdma_failed_fn failed, void *arg);
void vgpu_sdma_fence_needs_vram(struct vgpu_sdma_fence *fence, int vram_epoch);
void vgpu_sdma_fence_free(struct vgpu_sdma_fence *fence);
struct dma_fence *vgpu_sdma_submit_with(struct vgpu_device *vdev,
					unsigned int engine, const u32 *dw,
					unsigned int ndw,
					struct vgpu_sdma_fence **fence);

/**
 * struct vgpu_sdma_job - a job that waits for its turn
 * @base: the scheduler's part
 * @ops: what its owner does with it
 */
struct vgpu_sdma_job {
	struct drm_sched_job base;
	const struct vgpu_sdma_job_ops *ops;
};

/**
 * struct vgpu_sdma_job_ops - what a scheduler does with a job
 *
 * The first two are on the way to fences: they do not allocate, and take no
 * reservation.
 *
 * @prepare: a fence to wait for, or NULL: all that it depends on is done. May
 *           be NULL
 * @run: gives it to the ring. The ring's fence, or an ERR_PTR, which becomes
 *       the job's
 * @free: it has ended
 */
struct vgpu_sdma_job_ops {
	struct dma_fence *(*prepare)(struct vgpu_sdma_job *job);
	struct dma_fence *(*run)(struct vgpu_sdma_job *job);
	void (*free)(struct vgpu_sdma_job *job);
};

/* vgpu_sdma_sched.c */
int vgpu_sdma_job_init(struct vgpu_sdma_job *job,
		       const struct vgpu_sdma_job_ops *ops,
		       struct drm_sched_entity *entity, unsigned int ndw,
		       void *owner);
void vgpu_sdma_job_cleanup(struct vgpu_sdma_job *job);
unsigned int vgpu_sdma_job_engine(const struct vgpu_sdma_job *job);
void vgpu_sdma_sched_pause(struct vgpu_device *vdev);
void vgpu_sdma_sched_resume(struct vgpu_device *vdev);
int vgpu_sdma_module_init(void);

/* vgpu_sdma_print.c */
void vgpu_sdma_print_fences(struct vgpu_device *vdev, struct drm_printer *p);
void vgpu_sdma_print_rings(struct vgpu_device *vdev, struct drm_printer *p);

/* vgpu_sdma_cpu.c */
int vgpu_sdma_cpu_run(struct vgpu_device *vdev, const u32 *dw,
		      unsigned int ndw);

/* vgpu_sdma_queue.c: user queues (RLC) */
int vgpu_sdma_queue_load(struct vgpu_device *vdev, unsigned int engine,
			 unsigned int queue,
			 const struct vgpu_sdma_queue_regs *regs);
int vgpu_sdma_queue_unload(struct vgpu_device *vdev, unsigned int engine,
			   unsigned int queue, u64 *rptr);
bool vgpu_sdma_queue_is_loaded(struct vgpu_device *vdev, unsigned int engine,
			       unsigned int queue);
u32 vgpu_sdma_queue_exception(struct vgpu_device *vdev, unsigned int engine,
			      unsigned int queue);

#endif /* VGPU_HW_H */
