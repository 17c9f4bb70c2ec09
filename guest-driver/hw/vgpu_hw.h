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
 * struct vgpu_hw - what other folders may read of the hardware's state
 *
 * vgpu_hw_init() sets all members but @vram_epoch; none needs a lock.
 *
 * @vram: BAR 0, whole, write-combined
 * @vram_base: bus address of BAR 0
 * @doorbell_base: bus address of BAR 2
 * @remap_base: bus address of the page of BAR 5 with the HDP flush registers,
 *              and nothing else
 * @vram_size: bytes of VRAM, the reserved part included
 * @vram_reserved: bytes at the end of VRAM that belong to hw/
 * @xgmi: place in the hive
 * @fb_base: MC address of VRAM offset 0
 * @fb_offset: what is added to a VRAM offset in page-table entries: this node's
 *             place in the hive included
 * @sched: schedulers of the kernel's rings, in the form that entities take
 * @vram_epoch: how often VRAM was lost; vgpu_hw_reset() counts
 */
struct vgpu_hw {
	void __iomem *vram;
	resource_size_t vram_base;
	resource_size_t doorbell_base;
	resource_size_t remap_base;
	u64 vram_size;
	u64 vram_reserved;
	struct vgpu_xgmi xgmi;
	u64 fb_base;
	u64 fb_offset;
	struct drm_gpu_scheduler *sched[VGPU_NUM_SDMA];
	atomic_t vram_epoch;
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
