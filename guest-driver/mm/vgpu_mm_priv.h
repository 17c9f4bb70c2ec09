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

struct shrinker;

/*
 * Number of doorbell pages of the kernel. They are the doorbell BAR's first slice of
 * DOORBELL_SLICE_SIZE bytes.
 */
#define VGPU_DOORBELL_KERNEL_PAGES	2u

/**
 * struct vgpu_gtt_mgr - system memory that the GPU may use
 * @manager: TTM's manager; counts bytes of system memory in GTT, with or without a GART address
 * @mm: allocator of GART pages; does not contain the GART's first pages, the transfer windows
 * @bound: list of the struct vgpu_tt whose pages have GART entries
 * @lock: protects @mm and @bound
 */
struct vgpu_gtt_mgr {
	struct ttm_resource_manager manager;
	struct drm_mm mm;
	struct list_head bound;
	spinlock_t lock;	/* protects mm and bound */
};

/**
 * struct vgpu_shrink - state of the swap-out of BOs under memory pressure
 * @shrinker: called by reclaim
 * @oom: OOM notifier, called before the kernel kills a process
 * @wq: workqueue of @work
 * @work: swaps BOs out
 * @wanted: pages requested and not yet swapped out
 * @task: task that is running @work, or NULL
 * @noreclaim: argument for memalloc_noreclaim_restore() while @task may use the memory
 *             reserves, else 0; only @task accesses this member
 * @rest_until: time in jiffies up to which the shrinker reports no pages, because a run of @work
 *              has swapped out nothing
 * @runs: number of runs of @work
 * @ran: woken after each run
 */
struct vgpu_shrink {
	struct shrinker *shrinker;
	struct notifier_block oom;
	struct workqueue_struct *wq;
	struct work_struct work;
	atomic_long_t wanted;
	struct task_struct *task;
	unsigned int noreclaim;
	unsigned long rest_until;
	atomic_t runs;
	wait_queue_head_t ran;
};

/**
 * struct vgpu_mman - memory manager of a device
 * @vdev: the device
 * @bdev: TTM's device
 * @vram: VRAM manager
 * @gtt: GTT manager
 * @vm_ops: functions of vm/, or NULL; set once, before user space can create
 *          BOs
 * @handle_ops: functions of drm/; set once, before user space can open a file
 * @copy_lock: protects @ready; held from the step that gives a job's fence its sequence number
 *             until the job is queued, so that jobs are queued in the order of these numbers
 * @copy_queue: queues of copies and clears
 * @copy_jobs: number of allocated struct vgpu_copy_job
 * @copy_idle: woken when @copy_jobs becomes 0
 * @saved: content of VRAM while the system sleeps (vgpu_mm_suspend.c)
 * @ready: true if the SDMA engines may be used; protected by @copy_lock
 * @shrink: state of the swap-out of BOs under memory pressure
 * @swaps_until: time in jiffies up to which vgpu_mm_is_swapping() returns true
 * @notifier_lock: protects the validity of user pointers, see vgpu_mm_notifier_lock()
 */
struct vgpu_mman {
	struct vgpu_device *vdev;
	struct ttm_device bdev;
	struct vgpu_vram_mgr vram;
	struct vgpu_gtt_mgr gtt;
	const struct vgpu_mm_vm_ops *vm_ops;
	const struct vgpu_mm_handle_ops *handle_ops;
	struct mutex copy_lock;	/* protects ready and the order of jobs */
	struct drm_sched_entity copy_queue[VGPU_NUM_COPY_QUEUES];
	atomic_t copy_jobs;
	wait_queue_head_t copy_idle;
	struct list_head saved;
	bool ready;
	struct vgpu_shrink shrink;
	unsigned long swaps_until;
	struct mutex notifier_lock;	/* while held, valid user pages stay valid */
};

/**
 * struct vgpu_tt - system pages of a BO
 * @ttm: pages and their DMA addresses
 * @bound_link: link in vgpu_gtt_mgr.bound, or empty; protected by vgpu_gtt_mgr.lock
 * @gart_page: number of the first GART page while the pages are bound; protected by
 *             vgpu_gtt_mgr.lock
 * @bo: the BO, if it is an import or a user pointer; else NULL
 * @swappable: true if VGPU_STAT_SWAPPABLE counts the pages; protected by the reservation
 */
struct vgpu_tt {
	struct ttm_tt ttm;
	struct list_head bound_link;
	u64 gart_page;
	struct vgpu_bo *bo;
	bool swappable;
};

/**
 * struct vgpu_bo_state - a buffer object, with the members that only mm/ uses
 * @base: members that other folders use
 * @places: array to which @placement points; protected by the reservation
 * @placement: the placement that was requested last; protected by the reservation
 * @kmap: CPU mapping of vgpu_bo_kmap(); protected by the reservation
 * @kmaps: number of users of @kmap, each of which pins the BO; protected by the reservation
 * @vram_lost: true if a reset lost VRAM while the BO was in VRAM or was being copied out of VRAM;
 *             never cleared. vgpu_vram_mgr.lock protects the members from @vram_lost to
 *             @leaving_epoch
 * @lost_epoch: value of vgpu_hw.vram_epoch after the last loss of VRAM that affected the BO; valid
 *              if @vram_lost is true. Used to count the BO in VGPU_STAT_BOS_LOST once for each loss
 * @lost_link: link in vgpu_vram_mgr.lost if @vram_lost is true
 * @leaving_link: link in vgpu_vram_mgr.leaving if @leaving is not NULL
 * @leaving: fence of the last copy of the BO out of VRAM, or NULL
 * @leaving_epoch: value of vgpu_hw.vram_epoch before the start of the copy that signals @leaving
 * @attachments: list of the importers of the BO (vgpu_dma_buf.c); protected by the reservation
 */
struct vgpu_bo_state {
	struct vgpu_bo base;
	struct ttm_place places[2];
	struct ttm_placement placement;
	struct ttm_bo_kmap_obj kmap;
	unsigned int kmaps;
	bool vram_lost;
	int lost_epoch;
	struct list_head lost_link;
	struct list_head leaving_link;
	struct dma_fence *leaving;
	int leaving_epoch;
	struct list_head attachments;
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
void vgpu_mm_unmap_dma(struct vgpu_mman *mman);

/* vgpu_dma_buf.c */
bool vgpu_dma_buf_vram_ok(struct vgpu_bo *bo);
void vgpu_dma_buf_moved(struct vgpu_bo *bo);
int vgpu_import_bind(struct vgpu_bo *bo, struct ttm_tt *ttm);
void vgpu_import_unbind(struct ttm_tt *ttm);
int vgpu_import_mmap(struct vgpu_bo *bo, struct vm_area_struct *vma);
void vgpu_import_destroy(struct vgpu_bo *bo);

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
void vgpu_vram_mgr_leaves(struct vgpu_bo *bo, struct dma_fence *fence,
			  int vram_epoch);
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
