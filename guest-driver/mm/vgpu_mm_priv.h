/* SPDX-License-Identifier: GPL-2.0 */
/* State and functions that the files of mm/ share. No other folder includes this header. */
#ifndef VGPU_MM_PRIV_H
#define VGPU_MM_PRIV_H

#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/drm_mm.h>
#include <drm/gpu_scheduler.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_range_manager.h>
#include <drm/ttm/ttm_tt.h>

#include "device/vgpu_device.h"
#include "vgpu_bo.h"
#include "vgpu_copy_priv.h"
#include "vgpu_mm.h"
#include "vgpu_res_mgr.h"
#include "vgpu_userptr.h"

struct dma_buf_attachment;
struct shrinker;

/*
 * Number of doorbell pages of the kernel. They are the doorbell BAR's first slice of
 * DOORBELL_SLICE_SIZE bytes.
 */
#define VGPU_DOORBELL_KERNEL_PAGES	2u

/**
 * struct vgpu_gtt_mgr - system memory that the GPU may use
 */
struct vgpu_gtt_mgr {
	/**
	 * @manager: TTM's manager; counts bytes of system memory in GTT, with or without a GART
	 * address
	 */
	struct ttm_resource_manager manager;
	/**
	 * @mm: allocator of GART pages; does not contain the GART's first pages, the transfer
	 * windows
	 */
	struct drm_mm mm;
	/** @bound: list of the struct vgpu_tt whose pages have GART entries */
	struct list_head bound;
	/** @lock: protects @mm and @bound */
	spinlock_t lock;
};

/**
 * struct vgpu_shrink - state of the swap-out of BOs under memory pressure
 */
struct vgpu_shrink {
	/** @shrinker: queues @work when reclaim asks for pages, and does not wait for @work */
	struct shrinker *shrinker;
	/** @oom: OOM notifier, called before the kernel kills a process */
	struct notifier_block oom;
	/** @wq: runs @work; freezable, because @work must not run while the device sleeps */
	struct workqueue_struct *wq;
	/** @work: worker that swaps BOs out */
	struct work_struct work;
	/** @wanted: pages requested from @work and not yet swapped out */
	atomic_long_t wanted;
	/** @task: task that is running @work, or NULL */
	struct task_struct *task;
	/**
	 * @noreclaim: argument for memalloc_noreclaim_restore() while @task may use the memory
	 * reserves, else 0. Only @task accesses this member
	 */
	unsigned int noreclaim;
	/**
	 * @rest_until: time in jiffies. Until then the shrinker reports no pages, because a run of
	 * @work has swapped out nothing
	 */
	unsigned long rest_until;
	/** @runs: number of runs of @work */
	atomic_t runs;
	/** @ran: woken after each run of @work */
	wait_queue_head_t ran;
};

/**
 * struct vgpu_mman - state of mm/ for one device (vgpu_device.mman)
 */
struct vgpu_mman {
	/** @vdev: the device */
	struct vgpu_device *vdev;
	/** @bdev: TTM's device */
	struct ttm_device bdev;
	/** @vram: VRAM manager */
	struct vgpu_vram_mgr vram;
	/** @gtt: GTT manager */
	struct vgpu_gtt_mgr gtt;
	/** @vm_ops: functions of vm/, or NULL; set once, before user space can create BOs */
	const struct vgpu_mm_vm_ops *vm_ops;
	/** @handle_ops: functions of drm/; set once, before user space can open a file */
	const struct vgpu_mm_handle_ops *handle_ops;
	/**
	 * @copy_lock: protects @ready. Held from drm_sched_job_arm() to
	 * drm_sched_entity_push_job(), so that jobs are queued in the order of the sequence numbers
	 * of their fences
	 */
	struct mutex copy_lock;
	/** @copy_queue: queues of copies and clears */
	struct drm_sched_entity copy_queue[VGPU_NUM_COPY_QUEUES];
	/** @fill_pushed: vgpu_copy_job.fill of the last job pushed; written under @copy_lock */
	u64 fill_pushed;
	/** @fill_started: vgpu_copy_job.fill of the last job started; written by its scheduler */
	u64 fill_started;
	/** @copy_jobs: number of allocated struct vgpu_copy_job */
	atomic_t copy_jobs;
	/** @copy_idle: woken when @copy_jobs becomes 0 */
	wait_queue_head_t copy_idle;
	/** @saved: content of VRAM while the system sleeps (vgpu_mm_suspend.c) */
	struct list_head saved;
	/** @ready: true if the SDMA engines may be used; protected by @copy_lock */
	bool ready;
	/** @shrink: state of the swap-out of BOs under memory pressure */
	struct vgpu_shrink shrink;
	/** @swaps_until: time in jiffies up to which vgpu_mm_is_swapping() returns true */
	unsigned long swaps_until;
	/**
	 * @notifier_lock: while it is held, valid pages of user pointers stay valid; see
	 * vgpu_mm_notifier_lock()
	 */
	struct mutex notifier_lock;
};

/**
 * struct vgpu_tt - system pages of a BO
 */
struct vgpu_tt {
	/** @ttm: TTM's object for the pages; see to_vgpu_tt() */
	struct ttm_tt ttm;
	/** @bound_link: link in vgpu_gtt_mgr.bound, or empty; protected by vgpu_gtt_mgr.lock */
	struct list_head bound_link;
	/**
	 * @gart_page: number of the first GART page while the pages are bound; protected by
	 * vgpu_gtt_mgr.lock
	 */
	u64 gart_page;
	/** @bo: the BO, if it is an import or a user pointer; else NULL */
	struct vgpu_bo *bo;
	/**
	 * @swappable: true if VGPU_STAT_SWAPPABLE counts the pages; protected by the reservation
	 */
	bool swappable;
};

/**
 * struct vgpu_bo_state - a buffer object, with the members that only mm/ uses
 *
 * vgpu_vram_mgr.lock protects the members from @vram_lost to @leaving_epoch. The reservation of
 * the BO protects the others, except @base.
 */
struct vgpu_bo_state {
	/** @base: members that other folders use */
	struct vgpu_bo base;
	/** @places: array to which @placement points */
	struct ttm_place places[2];
	/** @placement: the placement that was requested last */
	struct ttm_placement placement;
	/** @kmap: CPU mapping of vgpu_bo_kmap() */
	struct ttm_bo_kmap_obj kmap;
	/** @kmaps: number of users of @kmap, each of which pins the BO */
	unsigned int kmaps;
	/**
	 * @vram_lost: true if a reset lost VRAM while the BO was in VRAM or was being copied out of
	 * VRAM. Never cleared
	 */
	bool vram_lost;
	/**
	 * @lost_epoch: value of vgpu_hw.vram_epoch after the last loss of VRAM that affected the
	 * BO; valid if @vram_lost is true. Prevents VGPU_STAT_BOS_LOST from counting the BO twice
	 * for one loss
	 */
	int lost_epoch;
	/** @lost_link: link in vgpu_vram_mgr.lost if @vram_lost is true */
	struct list_head lost_link;
	/** @leaving_link: link in vgpu_vram_mgr.leaving if @leaving is not NULL */
	struct list_head leaving_link;
	/** @leaving: fence of the last copy of the BO out of VRAM, or NULL */
	struct dma_fence *leaving;
	/**
	 * @leaving_epoch: value of vgpu_hw.vram_epoch after the creation of the copy that signals
	 * @leaving
	 */
	int leaving_epoch;
	/** @attachments: list of the importers of the BO (vgpu_dma_buf.c) */
	struct list_head attachments;
	/**
	 * @spared_until: time in jiffies until which vgpu_swapin_spares() returns true, or 0 before
	 * the first vgpu_swapin_done()
	 */
	unsigned long spared_until;
};

static inline struct vgpu_bo_state *to_bo_state(const struct vgpu_bo *bo)
{
	return container_of(bo, struct vgpu_bo_state, base);
}

static inline struct vgpu_tt *to_vgpu_tt(struct ttm_tt *ttm)
{
	return container_of(ttm, struct vgpu_tt, ttm);
}

static inline struct vgpu_vram_resource *
to_vgpu_vram_resource(struct ttm_resource *res)
{
	return container_of(res, struct vgpu_vram_resource, base);
}

static inline struct vgpu_device *bdev_to_vgpu(struct ttm_device *bdev)
{
	return container_of(bdev, struct vgpu_mman, bdev)->vdev;
}

/* vgpu_bo.c */
bool vgpu_bo_is_ours(const struct ttm_buffer_object *tbo);
bool vgpu_bo_wants_zeros(const struct ttm_buffer_object *tbo);
void vgpu_bo_set_placement(struct vgpu_bo *bo, u32 domain, bool gart_addr);

/* vgpu_bo_addr.c */
extern const struct vm_operations_struct vgpu_bo_vm_ops;

/* vgpu_mm_evict.c */
int vgpu_mm_await_copies(struct ttm_buffer_object *const *bos, size_t num, bool interruptible);
void vgpu_mm_unmap_dma(struct vgpu_mman *mman);

/* vgpu_dma_buf.c */
bool vgpu_dma_buf_vram_ok(struct vgpu_bo *bo);
void vgpu_dma_buf_moved(struct vgpu_bo *bo);
void vgpu_import_move_notify(struct dma_buf_attachment *attach);
int vgpu_import_bind(struct vgpu_bo *bo, struct ttm_tt *ttm);
void vgpu_import_unbind(struct ttm_tt *ttm);
int vgpu_import_mmap(struct vgpu_bo *bo, struct vm_area_struct *vma);
void vgpu_import_destroy(struct vgpu_bo *bo);

/* vgpu_swapin.c */
unsigned long vgpu_swapin_until(unsigned long start, unsigned long now);
bool vgpu_swapin_needed(const struct ttm_buffer_object *tbo);
void vgpu_swapin_done(struct vgpu_bo *bo, unsigned long start, unsigned long now);
bool vgpu_swapin_spares(struct vgpu_bo *bo, unsigned long now);

/* vgpu_ttm.c */
void vgpu_ttm_evict_flags(struct ttm_buffer_object *tbo,
			  struct ttm_placement *placement);

/* vgpu_userptr.c */
int vgpu_userptr_tt_bind(struct vgpu_bo *bo, struct ttm_tt *ttm);
void vgpu_userptr_tt_unbind(struct vgpu_bo *bo, struct ttm_tt *ttm);
void vgpu_userptr_destroy(struct vgpu_bo *bo);

/* vgpu_vram_evict.c */
int vgpu_vram_mgr_wait_kept(struct vgpu_device *vdev, unsigned int frees);

/* vgpu_vram_mgr.c */
int vgpu_vram_mgr_init(struct vgpu_device *vdev, u64 size);
void vgpu_vram_mgr_fini(struct vgpu_device *vdev);
int vgpu_vram_mgr_content_epoch(struct ttm_resource *res);
void vgpu_vram_mgr_enters(struct vgpu_device *vdev, struct ttm_resource *to, bool copied);
void vgpu_vram_mgr_moves_within(struct vgpu_device *vdev, struct ttm_resource *from,
				struct ttm_resource *to);
void vgpu_vram_mgr_leaves(struct vgpu_bo *bo, struct dma_fence *fence, int content_epoch,
			  int copy_epoch);
void vgpu_vram_mgr_forget_lost(struct vgpu_bo *bo);

/* vgpu_gtt_mgr.c */
int vgpu_gtt_mgr_init(struct vgpu_device *vdev, u64 size);
void vgpu_gtt_mgr_fini(struct vgpu_device *vdev);
void vgpu_gtt_mgr_bind(struct vgpu_device *vdev, struct ttm_tt *ttm,
		       struct ttm_resource *res);
void vgpu_gtt_mgr_unbind(struct vgpu_device *vdev, struct ttm_tt *ttm);

/* vgpu_shrinker.c */
int vgpu_shrink_init(struct vgpu_device *vdev);
void vgpu_shrink_fini(struct vgpu_device *vdev);
bool vgpu_shrink_running(struct vgpu_device *vdev);
void vgpu_shrink_copies(struct vgpu_device *vdev, const struct ttm_tt *ttm);
void vgpu_shrink_tt(struct vgpu_device *vdev, struct ttm_tt *ttm, bool can);
void vgpu_shrink_bo(struct vgpu_bo *bo);

/* vgpu_ttm.c */
extern const struct ttm_device_funcs vgpu_ttm_funcs;

#endif /* VGPU_MM_PRIV_H */
