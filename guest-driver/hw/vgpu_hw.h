/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hw/: registers, rings, interrupts, GART table. Knows the chip, decides
 * nothing. This header is the room's whole public face.
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

#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "vgpu/sdma.h"

struct vgpu_device;

/* Counters that the driver keeps and shows beside the device's own. */
enum vgpu_counter {
	VGPU_STAT_FAULTS_RETRY,		/* retry entries taken from the IH ring */
	VGPU_STAT_FAULTS_NORETRY,
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

/* Called in hard interrupt context; must not sleep. */
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
 */
struct vgpu_ih {
	spinlock_t lock;
	struct vgpu_iv_slot slots[VGPU_MAX_IV_HANDLERS];
	__le32 *ring;
	__le32 *wptr_wb;
	dma_addr_t ring_dma;
	dma_addr_t wb_dma;
	u32 ring_bytes;
	u32 rptr;
	int irq;
};

/**
 * struct vgpu_gart - the flat table of VMID 0
 * @start: MC address of the first page
 * @pages: number of entries
 * @table: CPU mapping of the table (in VRAM)
 */
struct vgpu_gart {
	u64 start;
	u64 pages;
	u64 table_vram;
	__le64 __iomem *table;
};

/**
 * struct vgpu_sdma_ring - the kernel's ring of one engine
 * @lock: one submission at a time; sleeping; never held across a fence wait
 *        by the same ring's consumer; order: after every mm/ lock
 * @fence_lock: lock of the fences of @context
 */
struct vgpu_sdma_ring {
	struct vgpu_device *vdev;
	struct mutex lock;
	spinlock_t fence_lock;
	struct list_head pending;
	wait_queue_head_t space;
	unsigned int engine;
	u32 *ring;
	dma_addr_t ring_dma;
	u64 ring_mc;
	u32 ring_bytes;
	u64 wptr;
	u64 fence_context;
	u64 fence_seq;
	/* write-back page: rptr at 0, last fence value at 64 */
	void *wb;
	dma_addr_t wb_dma;
	u64 wb_mc;
	bool ready;
};

/**
 * struct vgpu_hw - per-device hardware state
 * @inv_lock: one invalidation at a time on each hub; irq-safe spinlock, so
 *            that MMU notifiers and reclaim may flush
 */
struct vgpu_hw {
	void __iomem *mmio;
	void __iomem *doorbell;
	void __iomem *vram;		/* BAR 0, write-combined, whole */
	resource_size_t vram_base;	/* bus address of BAR 0 */
	resource_size_t doorbell_base;
	u64 vram_size;
	u64 fb_base;			/* MC address of VRAM offset 0 */
	u64 vram_reserved;		/* bytes at the end of VRAM: GART table, default page */
	spinlock_t inv_lock;
	struct vgpu_gart gart;
	struct vgpu_ih ih;
	struct vgpu_sdma_ring sdma[VGPU_NUM_SDMA];
	u32 wb_used;
	atomic64_t stats[VGPU_NUM_STATS];
};

/* vgpu_mmio.c: @reg is a dword offset of include/vgpu. */
u32 vgpu_rreg(struct vgpu_device *vdev, u32 reg);
void vgpu_wreg(struct vgpu_device *vdev, u32 reg, u32 value);
u64 vgpu_counter_read(struct vgpu_device *vdev, unsigned int index);
u64 vgpu_clock_read(struct vgpu_device *vdev);
void vgpu_hdp_flush(struct vgpu_device *vdev);
void vgpu_wdoorbell32(struct vgpu_device *vdev, u32 dword, u32 value);
void vgpu_wdoorbell64(struct vgpu_device *vdev, u32 byte_offset, u64 value);

int vgpu_hw_init(struct vgpu_device *vdev);	/* BARs, NBIO, GMC, GART, IH, SDMA */
void vgpu_hw_fini(struct vgpu_device *vdev);

static inline void vgpu_stat_add(struct vgpu_hw *hw, enum vgpu_counter c, s64 n)
{
	atomic64_add(n, &hw->stats[c]);
}

/* vgpu_gmc.c: hubs. */
/* Root directory of @vmid on both hubs: VRAM offset of PDB2. Flushes. */
void vgpu_gmc_set_context(struct vgpu_device *vdev, unsigned int vmid,
			  u64 root_vram_offset);
void vgpu_gmc_clear_context(struct vgpu_device *vdev, unsigned int vmid);
/* PASID of @vmid for faults and interrupts; 0 unbinds. */
void vgpu_gmc_set_pasid(struct vgpu_device *vdev, unsigned int vmid, u16 pasid);
/*
 * Drop every translation of the VMIDs in @vmid_mask on both hubs and wait for
 * the acknowledge. Any context, MMU notifiers included. Returns 0 or
 * -ETIMEDOUT (logged; the device is hung).
 */
int vgpu_gmc_flush_tlb(struct vgpu_device *vdev, u32 vmid_mask);

/* vgpu_gart.c: entries of VMID 0's flat table; page numbers within it. */
void vgpu_gart_bind(struct vgpu_device *vdev, u64 page, u64 npages,
		    const dma_addr_t *addrs);
void vgpu_gart_unbind(struct vgpu_device *vdev, u64 page, u64 npages);
void vgpu_gart_flush(struct vgpu_device *vdev);

/* vgpu_ih.c */
int vgpu_ih_register(struct vgpu_device *vdev, u8 client, u8 source,
		     vgpu_iv_handler fn, void *arg);
void vgpu_ih_unregister(struct vgpu_device *vdev, u8 client, u8 source);
/* Free a retry CAM slot: its stalled accesses replay. Any context. */
void vgpu_ih_cam_ack(struct vgpu_device *vdev, u32 cam_index);

/* vgpu_sdma.c: the kernel's rings. Addresses are MC addresses (VMID 0). */
#define VGPU_SDMA_MAX_COPY	(1u << 30)	/* bytes per COPY_LINEAR */
unsigned int vgpu_sdma_emit_copy(u32 *dw, u64 src, u64 dst, u32 bytes);	/* returns dwords */
unsigned int vgpu_sdma_emit_fill(u32 *dw, u64 dst, u32 value, u32 bytes);
unsigned int vgpu_sdma_emit_ptepde(u32 *dw, u64 dst, u64 flags, u64 addr,
				   u64 incr, u32 count);
/*
 * Put @ndw dwords on the ring of @engine, followed by a fence and a trap.
 * Sleeps for ring space. Returns a fence reference or ERR_PTR(-ENODEV) when
 * the engine is down, -EINVAL when @ndw cannot fit.
 */
struct dma_fence *vgpu_sdma_submit(struct vgpu_device *vdev,
				   unsigned int engine, const u32 *dw,
				   unsigned int ndw);

/* vgpu_sdma_queue.c: user queues (RLC). */
/**
 * struct vgpu_sdma_queue_regs - what a user queue is loaded with
 * @ring_va: ring base in the VMID's address space, 256-byte aligned
 * @ring_bytes: power of two
 * @rptr: read pointer to start from
 * @doorbell_offset: byte offset in the doorbell BAR
 */
struct vgpu_sdma_queue_regs {
	u64 ring_va;
	u64 rptr_va;
	u64 wptr;
	u64 rptr;
	u32 ring_bytes;
	u32 doorbell_offset;
	u8 vmid;
};

int vgpu_sdma_queue_load(struct vgpu_device *vdev, unsigned int engine,
			 unsigned int queue,
			 const struct vgpu_sdma_queue_regs *regs);
/*
 * Stop the queue; *@rptr receives where it stopped, *@wptr the last doorbell.
 * 0 or -ETIME.
 */
int vgpu_sdma_queue_unload(struct vgpu_device *vdev, unsigned int engine,
			   unsigned int queue, u64 *rptr, u64 *wptr);
/* CONTEXT_STATUS.EXCEPTION of the queue: VGPU_SDMA_EXC_*. */
u32 vgpu_sdma_queue_exception(struct vgpu_device *vdev, unsigned int engine,
			      unsigned int queue);

#endif /* VGPU_HW_H */
