/* SPDX-License-Identifier: GPL-2.0 */
/* State of the hardware: structures and functions that only the files of hw/ use. */
#ifndef VGPU_HW_PRIV_H
#define VGPU_HW_PRIV_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
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
#include "device/vgpu_device.h"
#include "hw/cp/vgpu_cp_priv.h"
#include "hw/sdma/vgpu_sdma_priv.h"
#include "vgpu_gart.h"
#include "vgpu_gmc.h"
#include "vgpu_hw.h"
#include "vgpu_ih.h"
#include "vgpu_io.h"
#include "vgpu_mmio.h"
#include "vgpu_recover.h"
#include "vgpu_xgmi.h"

/* How long the device may take for a handshake (the GPU's own, not a copy). */
#define VGPU_HW_TIMEOUT_US	(2 * USEC_PER_SEC)
/* After how much of that the CPU does something else between two looks. */
#define VGPU_HW_SPIN_US		100
#define VGPU_HW_POLL_US		100

/*
 * VRAM of hw/, at the end: GART table, then a page for accesses
 * outside the system aperture. A multiple of 2 MiB, so that the rest is one.
 */
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

/*
 * Invalidation engines that the CPU uses, on both hubs (vgpu_gmc_flush.c). 0 to 2 are
 * firmware's on the chip, 3 is the CP's.
 */
#define VGPU_INV_ENGINES	(GENMASK(15, 6) | BIT(17))
#define VGPU_INV_ENGINE_CP	3

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
 * @windows: number of entries, from entry 0 on, that jobs write by SDMA
 * @table_vram: offset of the table in VRAM
 * @table: CPU mapping of the table
 * @shadow: expected contents of the table, in system memory; for @windows, only
 *          entries of jobs whose packets the CPU executed
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
 * struct vgpu_dump - the next dump of the device (vgpu_devcoredump.c)
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
 * @inv_free: invalidation engines of VGPU_INV_ENGINES that nobody uses; atomic
 * @inv_wait: woken when one becomes free, and when @inv_epoch has changed
 * @inv_lock: protects the next three
 * @inv_epoch: how often a reset, or the end of all engines, has emptied the TLBs
 * @inv_hung: a hub did not acknowledge, or the device is being reset: @inv_epoch will change
 * @inv_given_up: no engine works any more: nothing is flushed, no reset is requested
 * @gart: VMID 0's table
 * @ih: interrupt ring
 * @sdma: SDMA engines, with the kernel's rings
 * @cp: compute queues
 * @recover: the argument of vgpu_hw_init()
 * @gart_cam: CAM slots that wait for a recovery of the GART, a bit each
 * @gate_lock: protects @gate and the register that shows it; innermost, taken
 *             in hard interrupt context
 * @gate: why no job of the kernel may end now (vgpu_sdma_fault.c)
 * @fault_work: looks for faults of user queues that raised no interrupt
 * @dump: the next devcoredump
 * @io_lock: held for reading by whoever uses the BARs and may sleep, for writing while the
 *           device is reset (vgpu_io.c). Innermost of the locks that sleep, but for
 *           vgpu_ih.poll_lock, which the reset takes inside
 * @map_closed: the device is being reset: fault handlers insert no pages of its BARs; set by
 *              the recovery's worker (vgpu_io.c)
 * @map_wait: woken when @map_closed is cleared
 * @vram_magic: what the reserved VRAM holds unless it was lost
 * @root_pde: root directory of each VMID, 0 none; its owner writes it between
 *            vgpu_io_begin() and vgpu_io_end()
 * @pasid: PASID of each VMID, likewise
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
	unsigned long inv_free;
	wait_queue_head_t inv_wait;
	spinlock_t inv_lock;	/* resets that flushes wait for */
	unsigned int inv_epoch;
	bool inv_hung;
	bool inv_given_up;
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
	struct rw_semaphore io_lock;
	bool map_closed;
	wait_queue_head_t map_wait;
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

/* vgpu_io.c */
void vgpu_io_init(struct vgpu_hw_state *hw);

/* vgpu_nbio.c */
int vgpu_nbio_init(struct vgpu_device *vdev);
void vgpu_nbio_start(struct vgpu_device *vdev);
void vgpu_nbio_fini(struct vgpu_device *vdev);

/* vgpu_gmc.c */
int vgpu_gmc_init(struct vgpu_device *vdev);
int vgpu_gmc_start(struct vgpu_device *vdev);
void vgpu_gmc_clear_fault(struct vgpu_device *vdev);
void vgpu_gmc_fini(struct vgpu_device *vdev);

/* vgpu_gmc_flush.c */
void vgpu_gmc_inv_init(struct vgpu_hw_state *hw);
int vgpu_gmc_invalidate(struct vgpu_device *vdev, u32 vmid_mask);

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

/* vgpu_devcoredump.c */
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
void vgpu_ih_hold(struct vgpu_device *vdev);
void vgpu_ih_release(struct vgpu_device *vdev);
void vgpu_ih_poll(struct vgpu_device *vdev, bool fault_lost);
void vgpu_ih_service(struct vgpu_device *vdev);

/* vgpu_hw_reset.c */
int vgpu_hw_restart(struct vgpu_device *vdev, bool *vram_lost);

#endif /* VGPU_HW_PRIV_H */
