/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hw/: registers, rings, interrupts, GART table. Knows the chip, decides
 * nothing. This header is the room's whole public face; the functions are
 * documented where they are defined.
 */
#ifndef VGPU_HW_H
#define VGPU_HW_H

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "vgpu/model.h"
#include "vgpu/sdma.h"

struct vgpu_device;

/* Counters that the driver keeps and shows beside the device's own. */
enum vgpu_counter {
	VGPU_STAT_FAULTS_RETRY,		/* retry entries taken from the IH ring */
	VGPU_STAT_FAULTS_NORETRY,
	VGPU_STAT_FAULTS_UNREPAIRED,	/* retry faults that ended the queues' work */
	VGPU_STAT_CAM_ACKS,
	VGPU_STAT_INVALIDATIONS,	/* (request, VMID) pairs acknowledged */
	VGPU_STAT_BYTES_COPIED,		/* by the kernel's SDMA rings */
	VGPU_STAT_BYTES_FILLED,
	VGPU_STAT_PTES_WRITTEN,		/* by CPU or SDMA */
	VGPU_STAT_IH_ENTRIES,
	VGPU_STAT_IH_OVERFLOWS,
	VGPU_STAT_PAGES_TO_VRAM,	/* SVM migration */
	VGPU_STAT_PAGES_TO_SYSTEM,
	VGPU_STAT_EVICTIONS,		/* BO moves out of VRAM */
	VGPU_NUM_STATS
};

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

#define VGPU_MAX_IV_HANDLERS	16

struct vgpu_iv_slot {
	vgpu_iv_handler fn;
	void *arg;
	u8 client;
	u8 source;
};

/**
 * struct vgpu_ih - interrupt ring 0
 * @lock: protects @slots; taken in hard interrupt context
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
 * @table_vram: offset of the table in VRAM
 * @table: CPU mapping of the table
 */
struct vgpu_gart {
	u64 start;
	u64 pages;
	u64 total;
	u64 table_vram;
	__le64 __iomem *table;
};

/**
 * struct vgpu_sdma_ring - the kernel's ring of one engine
 * @vdev: device
 * @lock: one submission at a time; held while waiting for ring space. Inside
 *        every lock of the rooms above
 * @fence_lock: protects @pending, @ready and @done; the fences' own lock.
 *              Taken in hard interrupt context
 * @pending: struct vgpu_sdma_fence that have not signalled, oldest first
 * @space: woken when @done advances and when the ring goes down
 * @watchdog: notices an engine that makes no progress
 * @seen_seqno: oldest pending fence at the last look of @watchdog
 * @seen_rptr: read pointer at the last look of @watchdog
 * @engine: engine number
 * @ring: packets, coherent memory
 * @ring_dma: bus address of @ring
 * @ring_mc: address of @ring for the engine
 * @fence_wb: where the engine writes the number of the last finished job
 * @fence_dma: bus address of @fence_wb
 * @fence_mc: address of @fence_wb for the engine
 * @wptr: bytes ever written; @lock
 * @done: bytes ever known to be consumed
 * @fence_context: dma_fence context
 * @fence_seqno: number of the last job; @lock
 * @ready: the engine takes jobs
 */
struct vgpu_sdma_ring {
	struct vgpu_device *vdev;
	struct mutex lock;	/* submission */
	spinlock_t fence_lock;
	struct list_head pending;
	wait_queue_head_t space;
	struct delayed_work watchdog;
	u64 seen_seqno;
	u64 seen_rptr;
	unsigned int engine;
	__le32 *ring;
	dma_addr_t ring_dma;
	u64 ring_mc;
	__le32 *fence_wb;
	dma_addr_t fence_dma;
	u64 fence_mc;
	u64 wptr;
	u64 done;
	u64 fence_context;
	u64 fence_seqno;
	bool ready;
};

/**
 * struct vgpu_hw - per-device hardware state
 * @mmio: BAR 5, registers
 * @doorbell: BAR 2, doorbells
 * @vram: BAR 0, whole, write-combined
 * @vram_base: bus address of BAR 0
 * @doorbell_base: bus address of BAR 2
 * @vram_size: bytes of VRAM, the reserved part included
 * @vram_reserved: bytes at the end of VRAM that belong to this room
 * @fb_base: MC address of VRAM offset 0
 * @fb_offset: what hardware adds to a VRAM offset in page-table entries
 * @default_page: page of zeros that accesses with a no-retry fault meet
 * @default_page_dma: its bus address
 * @latch_lock: protects register pairs of which one read latches the other
 * @inv_lock: protects invalidation engine 17 of both hubs; innermost. A
 *            spinlock, so that MMU notifiers and reclaim may flush
 * @gart: VMID 0's table
 * @ih: interrupt ring
 * @sdma: the kernel's rings
 * @stats: the driver's counters
 */
struct vgpu_hw {
	void __iomem *mmio;
	void __iomem *doorbell;
	void __iomem *vram;
	resource_size_t vram_base;
	resource_size_t doorbell_base;
	u64 vram_size;
	u64 vram_reserved;
	u64 fb_base;
	u64 fb_offset;
	void *default_page;
	dma_addr_t default_page_dma;
	spinlock_t latch_lock;	/* latched register pairs */
	spinlock_t inv_lock;	/* invalidation engine */
	struct vgpu_gart gart;
	struct vgpu_ih ih;
	struct vgpu_sdma_ring sdma[VGPU_NUM_SDMA];
	atomic64_t stats[VGPU_NUM_STATS];
};

static inline void vgpu_stat_add(struct vgpu_hw *hw, enum vgpu_counter c, s64 n)
{
	atomic64_add(n, &hw->stats[c]);
}

/* vgpu_hw.c */
int vgpu_hw_init(struct vgpu_device *vdev);
void vgpu_hw_fini(struct vgpu_device *vdev);
void vgpu_hw_quiesce(struct vgpu_device *vdev);

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
void vgpu_gmc_set_pasid(struct vgpu_device *vdev, unsigned int vmid, u16 pasid);
int vgpu_gmc_flush_tlb(struct vgpu_device *vdev, u32 vmid_mask);

/* vgpu_gart.c; page numbers within the GART */
void vgpu_gart_bind(struct vgpu_device *vdev, u64 page, u64 npages,
		    const dma_addr_t *addrs);
void vgpu_gart_unbind(struct vgpu_device *vdev, u64 page, u64 npages);
void vgpu_gart_flush(struct vgpu_device *vdev);

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
struct dma_fence *vgpu_sdma_submit(struct vgpu_device *vdev,
				   unsigned int engine, const u32 *dw,
				   unsigned int ndw);

/* vgpu_sdma_queue.c: user queues (RLC) */
/**
 * struct vgpu_sdma_queue_regs - what a user queue is loaded with
 * @ring_va: ring base in the VMID's address space, 256-byte aligned
 * @rptr_va: where the engine writes its read pointer, same address space
 * @rptr: read pointer to start from, monotonic bytes
 * @wptr: write pointer to start from, monotonic bytes
 * @ring_bytes: power of two
 * @doorbell_offset: byte offset of the doorbell in BAR 2
 * @vmid: VMID, 1 to 15
 */
struct vgpu_sdma_queue_regs {
	u64 ring_va;
	u64 rptr_va;
	u64 rptr;
	u64 wptr;
	u32 ring_bytes;
	u32 doorbell_offset;
	u8 vmid;
};

int vgpu_sdma_queue_load(struct vgpu_device *vdev, unsigned int engine,
			 unsigned int queue,
			 const struct vgpu_sdma_queue_regs *regs);
int vgpu_sdma_queue_unload(struct vgpu_device *vdev, unsigned int engine,
			   unsigned int queue, u64 *rptr, u64 *wptr);
u32 vgpu_sdma_queue_exception(struct vgpu_device *vdev, unsigned int engine,
			      unsigned int queue);

#endif /* VGPU_HW_H */
