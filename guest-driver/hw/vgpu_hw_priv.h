/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of hw/ share. Nobody outside the room includes it. */
#ifndef VGPU_HW_PRIV_H
#define VGPU_HW_PRIV_H

#include <linux/build_bug.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <drm/drm_print.h>

#include "vgpu_device.h"
#include "vgpu_hw.h"
#include "vgpu/bits.h"
#include "vgpu/pci.h"
#include "vgpu/pte.h"
#include "vgpu/sdma_packets.h"

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
/* Offset of the words that tell whether VRAM was lost. */
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

/*
 * Request a recovery (VGPU_RECOVER_*). Returns false if there is none, as while the device
 * is being removed: the caller ends what it can. Any context.
 */
static inline bool vgpu_hw_recover(struct vgpu_device *vdev, unsigned long what)
{
	return vdev->hw->recover && vdev->hw->recover(vdev, what);
}

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
