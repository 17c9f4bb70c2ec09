/* SPDX-License-Identifier: GPL-2.0 */
/* State and functions that the files of hw/ share. No other folder includes this header. */
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
#include "vgpu/device_info.h"
#include "vgpu/gmc.h"
#include "vgpu/ih.h"
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

/* Time limit for the device to answer a request (register or packet). A job may take longer. */
#define VGPU_HW_TIMEOUT_US	(2 * USEC_PER_SEC)
/* Time limit for a hub that has not answered an earlier request (vgpu_hw_state.inv_stuck). */
#define VGPU_HW_STUCK_US	USEC_PER_MSEC
/* vgpu_hw_poll() spins for SPIN_US, then sleeps for at most POLL_US before each further read. */
#define VGPU_HW_SPIN_US		100
#define VGPU_HW_POLL_US		100

/*
 * Bytes at the end of VRAM that hw/ uses: the GART's table, the default page of the system
 * aperture, and the words at VGPU_VRAM_MAGIC_AT().
 */
#define VGPU_VRAM_RESERVED	0x200000ull
#define VGPU_VRAM_MIN		0x4000000ull
/* Number of random words in VRAM. If the words have changed, VRAM was lost. */
#define VGPU_VRAM_MAGIC_WORDS	8
/* Byte offset of these words from the start of VRAM. */
#define VGPU_VRAM_MAGIC_AT(hw) \
	((hw)->gart.table_vram + VGPU_GART_TABLE_BYTES + VGPU_PAGE_SIZE)

static_assert(VGPU_GART_TABLE_BYTES + VGPU_PAGE_SIZE +
	      VGPU_VRAM_MAGIC_WORDS * sizeof(u64) <= VGPU_VRAM_RESERVED);
/*
 * mm/ manages all VRAM except the last VGPU_VRAM_RESERVED bytes. The size of the managed part is a
 * multiple of 2 MiB for two reasons:
 *
 * - VGPU_VRAM_RESERVED is a multiple of 2 MiB. The next line checks this.
 * - The size of VRAM is a multiple of VGPU_VRAM_RESERVED. vgpu_nbio_init() checks this.
 */
static_assert(VGPU_VRAM_RESERVED && !(VGPU_VRAM_RESERVED % SZ_2M));
static_assert(VGPU_VRAM_RESERVED < VGPU_VRAM_MIN);
/* The GART has pages besides the windows, for the kernel's rings and for mm/. */
static_assert(VGPU_GTT_WINDOW_PAGES * VGPU_GTT_NUM_WINDOWS < VGPU_GART_PAGES);
/* Rings and the default page are allocated in CPU pages and mapped in GPU pages. */
static_assert(VGPU_PAGE_SIZE == PAGE_SIZE);

/* Byte offset in BAR 5 of the page with the HDP flush registers. */
#define VGPU_REMAP_PAGE		0x7e000u
static_assert(VGPU_REMAP_PAGE + PAGE_SIZE <= VGPU_MMIO_BAR_SIZE);

/*
 * Bitmap of the invalidation engines that the CPU uses, on both hubs (vgpu_gmc_flush.c). The other
 * engines are:
 *
 * - 0 to 2: not used by the driver, because firmware uses them on the real GPU
 * - 3 to 5 and 16: defined below
 */
#define VGPU_INV_ENGINES	(GENMASK(15, 6) | BIT(17))
/* Invalidation engine that is left to the CP, on both hubs. */
#define VGPU_INV_ENGINE_CP	3

/*
 * Invalidation engine that the jobs of SDMA engine n use, on the MM hub only. Its range is the
 * transfer window of SDMA engine n.
 */
#define VGPU_INV_ENGINE_SDMA(n)	(4 + (n))

/*
 * This invalidation engine of the MM hub never flushes. The driver uses only its range register, as
 * VGPU_GATE_REG.
 */
#define VGPU_INV_ENGINE_GATE	16
/* The gate: at the end of each kernel job, the SDMA engine waits until this register is 0. */
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
 */
struct vgpu_ih {
	/** @lock: protects @slots; taken in hard interrupt context */
	spinlock_t lock;
	/** @poll_lock: held from vgpu_ih_hold() to vgpu_ih_release(); serialises vgpu_ih_poll() */
	struct mutex poll_lock;
	/**
	 * @slots: handlers; a slot is free if its fn is NULL. The interrupt handler also reads
	 * client and source without @lock
	 */
	struct vgpu_iv_slot slots[VGPU_MAX_IV_HANDLERS];
	/** @ring: memory of the ring, coherent */
	__le32 *ring;
	/** @wptr_wb: memory to which the device writes the ring's write pointer */
	__le32 *wptr_wb;
	/** @ring_dma: bus address; the device uses it, because the GART does not map @ring */
	dma_addr_t ring_dma;
	/** @wb_dma: bus address of @wptr_wb */
	dma_addr_t wb_dma;
	/**
	 * @rptr: byte offset of the next entry to read; changed by vgpu_ih_service(), and by
	 * vgpu_ih_start() while the interrupt handler does not run
	 */
	u32 rptr;
	/** @irq: Linux interrupt number; 0 if no interrupt is requested */
	int irq;
};

/**
 * struct vgpu_gart - the flat page table of VMID 0
 *
 * Parts of the table, in this order:
 *
 * 1. transfer windows: entries that jobs write
 * 2. entries for BOs of mm/
 * 3. entries for memory of hw/
 */
struct vgpu_gart {
	/** @start: MC address of the GART's first page */
	u64 start;
	/**
	 * @pages: number of entries for the transfer windows and for BOs, without the entries for
	 * memory that the code in hw/ allocates (for example, rings)
	 */
	u64 pages;
	/** @total: number of entries in the whole table */
	u64 total;
	/** @windows: number of entries of the transfer windows */
	u64 windows;
	/** @table_vram: byte offset of the table in VRAM */
	u64 table_vram;
	/** @table: CPU mapping of the table */
	__le64 __iomem *table;
	/**
	 * @shadow: intended content of the table, in system memory. Of the entries of transfer
	 * windows, @shadow has only those that the CPU wrote in place of an SDMA engine
	 * (vgpu_gart_note())
	 */
	u64 *shadow;
};

/**
 * struct vgpu_dump - the next dump of the device (vgpu_devcoredump.c)
 */
struct vgpu_dump {
	/** @lock: protects @fault; taken in hard interrupt context */
	spinlock_t lock;
	/** @fault: last faults in the MM hub: [0] of VMID 0, [1] of another VMID */
	struct vgpu_iv_entry fault[2];
	/** @work: work item that hands a copy of @text to devcoredump */
	struct work_struct work;
	/** @dev: device that is dumped */
	struct device *dev;
	/** @busy: bit 0 is set from the start of a dump until @work has copied @text */
	unsigned long busy;
	/** @text: buffer of the dump */
	char *text;
	/** @len: bytes in @text */
	size_t len;
};

/* vgpu_hw_state.gart_cam has a bit for each slot of the retry CAM. */
static_assert(VGPU_RETRY_CAM_SLOTS <= 32);

/**
 * struct vgpu_hw_state - hardware state of a device, as hw/ uses it
 */
struct vgpu_hw_state {
	/** @base: members that other folders may read; vgpu_device.hw points to @base */
	struct vgpu_hw base;
	/** @vdev: the device */
	struct vgpu_device *vdev;
	/** @mmio: CPU mapping of BAR 5, registers */
	void __iomem *mmio;
	/** @doorbell: CPU mapping of BAR 2, doorbells */
	void __iomem *doorbell;
	/** @default_page: page of zeros to which reads with a no-retry fault are redirected */
	void *default_page;
	/** @default_page_dma: bus address of @default_page, for hub registers */
	dma_addr_t default_page_dma;
	/** @latch_lock: protects pairs of registers in which an access to one latches the other */
	spinlock_t latch_lock;
	/** @inv_free: bitmap of the free invalidation engines in VGPU_INV_ENGINES; atomic */
	unsigned long inv_free;
	/** @inv_wait: woken when an invalidation engine becomes free and when @inv_epoch changes */
	wait_queue_head_t inv_wait;
	/** @inv_lock: protects @inv_epoch, @inv_hung and @inv_given_up */
	spinlock_t inv_lock;
	/** @inv_epoch: number of device resets that have ended, failed resets included */
	unsigned int inv_epoch;
	/** @inv_hung: a flush has requested a device reset, or a device reset is running */
	bool inv_hung;
	/** @inv_given_up: the device was given up: flushes fail without a wait, request no reset */
	bool inv_given_up;
	/**
	 * @inv_stuck: a flush was not acknowledged, and no reset is going to come. Later flushes
	 * wait for VGPU_HW_STUCK_US only. Cleared by a flush that succeeds, and by a reset
	 */
	bool inv_stuck;
	/** @gart: page table of VMID 0 */
	struct vgpu_gart gart;
	/** @ih: interrupt ring */
	struct vgpu_ih ih;
	/** @sdma: SDMA engines, with the kernel's rings */
	struct vgpu_sdma_ring sdma[SDMA_NUM_ENGINES];
	/** @cp: command processor, with the compute queues */
	struct vgpu_cp cp;
	/** @recover: function, passed to vgpu_hw_init(), that requests a recovery */
	vgpu_recover_fn recover;
	/**
	 * @gart_cam: bitmap of the slots of the retry CAM that hold faults of VMID 0. The next
	 * recovery rewrites the GART's table, then acknowledges these slots
	 */
	atomic_t gart_cam;
	/**
	 * @gate_lock: protects @gate and VGPU_GATE_REG, which has the same value; innermost, taken
	 * in hard interrupt context
	 */
	spinlock_t gate_lock;
	/**
	 * @gate: bitmap of the reasons for which the gate is closed (vgpu_sdma_fault.c). Each job
	 * of the kernel waits at its end until the gate is open; only then the job is done
	 */
	unsigned long gate;
	/**
	 * @gate_since: time, in jiffies, at which a user's fault closed the gate; valid while the
	 * gate is closed because of a user's fault. Accessed by vgpu_ih_service() and the handlers
	 * that it calls, and by vgpu_sdma_fault_lost()
	 */
	unsigned long gate_since;
	/**
	 * @fault_work: handles a fault that was latched without an interrupt entry, and rechecks a
	 * gate that stays closed because interrupt entries wait for an IOMMU
	 */
	struct delayed_work fault_work;
	/** @dump: buffer and work item for the devcoredump of the next failure */
	struct vgpu_dump dump;
	/**
	 * @io_lock: Held for reading by users of the BARs that may sleep, for writing while the
	 * device is reset (vgpu_io.c). Innermost of the locks that sleep, except that the reset
	 * takes vgpu_ih.poll_lock inside io_lock.
	 */
	struct rw_semaphore io_lock;
	/**
	 * @map_closed: the device is being reset, so fault handlers insert no pages of the BARs;
	 * written by the recovery's worker
	 */
	bool map_closed;
	/** @map_wait: woken when @map_closed is cleared */
	wait_queue_head_t map_wait;
	/** @vram_magic: content of the words at VGPU_VRAM_MAGIC_AT() unless VRAM was lost */
	u64 vram_magic[VGPU_VRAM_MAGIC_WORDS];
	/**
	 * @root_pde: root PDE of each VMID, or 0. Only the current user of a VMID writes the VMID's
	 * element, between vgpu_io_begin() and vgpu_io_end()
	 */
	u64 root_pde[VGPU_NUM_VMIDS];
	/** @pasid: PASID of each VMID; written under the same rules as @root_pde */
	u16 pasid[VGPU_NUM_VMIDS];
	/** @lost: the device does not answer; never cleared */
	bool lost;
};

static inline struct vgpu_hw_state *to_hw_state(const struct vgpu_device *vdev)
{
	return container_of(vdev->hw, struct vgpu_hw_state, base);
}

/*
 * Request a recovery (VGPU_RECOVER_*). Returns false if requests are not accepted, for
 * instance while the device is being removed: the caller then ends the affected work itself.
 * Any context.
 */
static inline bool vgpu_hw_recover(struct vgpu_device *vdev, unsigned long what)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);

	return hw->recover && hw->recover(vdev, what);
}

bool vgpu_hw_poll(struct vgpu_device *vdev, u32 reg, u32 mask, u32 want);
bool vgpu_hw_poll_for(struct vgpu_device *vdev, u32 reg, u32 mask, u32 want,
		      unsigned long limit_us);

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
unsigned int vgpu_gart_is_flush_tlb(const u32 *dw, unsigned int ndw);

/* vgpu_devcoredump.c */
int vgpu_dump_init(struct vgpu_device *vdev);
void vgpu_dump_fini(struct vgpu_device *vdev);
void vgpu_dump_note_fault(struct vgpu_device *vdev,
			  const struct vgpu_iv_entry *iv);

/* vgpu_ih.c */
#define IH_RING_BYTES		SZ_256K
#define IH_RING_MASK		(IH_RING_BYTES - 1)
static_assert(!(IH_RING_BYTES & IH_RING_MASK));
/* IH_RB_WPTR can hold every offset in the ring. */
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
