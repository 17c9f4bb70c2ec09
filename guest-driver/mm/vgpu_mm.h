/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mm/: buffer objects on TTM, the VRAM (buddy), GTT (drm_mm) and doorbell
 * managers, moves and clears by SDMA. This is the room's public face, besides
 * vgpu_res_cursor.h; functions are documented where they are defined.
 */
#ifndef VGPU_MM_H
#define VGPU_MM_H

#include <drm/drm_gem.h>
#include <drm/drm_mm.h>
#include <drm/gpu_scheduler.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>

#include <linux/notifier.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "vgpu/sdma.h"
#include "vgpu_buddy.h"

struct dma_buf;
struct dma_fence;
struct dma_resv;
struct drm_printer;
struct shrinker;
struct vgpu_bo;
struct vgpu_device;
struct vgpu_userptr;

#define VGPU_PL_DOORBELL	(TTM_PL_PRIV + 0)
#define VGPU_PL_MMIO_REMAP	(TTM_PL_PRIV + 1)

/* The name of a memory type, for TP_printk(). */
#define vgpu_trace_place(type)						\
	__print_symbolic(type, { TTM_PL_SYSTEM, "system" },		\
			 { TTM_PL_TT, "gtt" }, { TTM_PL_VRAM, "vram" },	\
			 { VGPU_PL_DOORBELL, "doorbell" },		\
			 { VGPU_PL_MMIO_REMAP, "mmio-remap" })

/*
 * The page with the HDP flush registers (vgpu_hw.remap_base). The value is
 * newer amdgpu's; GEM_CREATE does not take it.
 */
#define VGPU_GEM_DOMAIN_MMIO_REMAP	0x80

/* No address for VMID 0. */
#define VGPU_MC_NONE		(~0ull)

/**
 * struct vgpu_vram_mgr - VRAM
 * @manager: face to TTM; size and usage in bytes
 * @mm: free and used blocks
 * @resources: every struct vgpu_vram_resource, the oldest first
 * @next: number of the next resource
 * @lost: struct vgpu_bo whose content was lost with VRAM, by lost_link
 * @leaving: struct vgpu_bo that were moved out of VRAM, by leaving_link; oldest
 *           move first
 * @frees: how often memory was freed, modulo 2^32; written under @lock
 * @freed: who waits for @frees to go on
 * @distrust: VRAM was lost once: no block is known to be clear any more
 * @lock: protects @mm, @resources, @next, @lost and @leaving
 */
struct vgpu_vram_mgr {
	struct ttm_resource_manager manager;
	struct gpu_buddy mm;
	struct list_head resources;
	u64 next;
	struct list_head lost;
	struct list_head leaving;
	unsigned int frees;
	wait_queue_head_t freed;
	bool distrust;
	struct mutex lock;	/* blocks */
};

/**
 * struct vgpu_vram_resource - some blocks of VRAM
 * @base: what TTM knows; bit TTM_PL_FLAG_CONTIGUOUS of its placement is set
 *        whenever the blocks are adjacent and in order
 * @link: in vgpu_vram_mgr.resources
 * @number: position in the order of allocation
 * @blocks: struct gpu_buddy_block, in the order of the BO's bytes
 * @wiped: the job that clears it before it is freed, or NULL
 */
struct vgpu_vram_resource {
	struct ttm_resource base;
	struct list_head link;
	u64 number;
	struct list_head blocks;
	struct dma_fence *wiped;
};

/**
 * struct vgpu_gtt_mgr - system memory that the GPU may use
 * @manager: face to TTM; size and usage in bytes, of memory and not of @mm
 * @mm: page ranges of the GART behind the transfer windows
 * @bound: struct vgpu_tt whose pages the GART table points to
 * @lock: protects @mm and @bound
 */
struct vgpu_gtt_mgr {
	struct ttm_resource_manager manager;
	struct drm_mm mm;
	struct list_head bound;
	spinlock_t lock;	/* GART addresses */
};

/**
 * struct vgpu_shrink - memory for a system that runs out of it
 * @shrinker: what reclaim asks
 * @oom: who is asked before a process is killed
 * @wq: of @work
 * @work: swaps BOs out
 * @wanted: pages that were asked for
 * @task: who runs @work, or NULL
 * @noreclaim: for memalloc_noreclaim_restore() if @task may use the memory
 *             reserves, or 0; only @task reads and writes it
 * @rest_until: jiffies; before that no BO is worth looking at
 * @runs: of @work
 * @ran: woken after each
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
 * struct vgpu_mm_vm_ops - what mm/ tells the page tables
 *
 * None may allocate with reclaim or wait for it, but @move_users.
 *
 * @move_notify: the placement of @bo is about to change to @new; NULL: the BO goes
 *               away. Drop or note its mappings. Reservation held
 * @move_later: as @move_notify, but the move comes after users of @bo, which may
 *              still need its mappings. Reservation held
 * @move_users: add a dependency on each user of @bo to @job, the first of a move that
 *              @move_later told of. Reservation held, may allocate. Return: 0 or
 *              -ENOMEM
 * @unmap_notify: the pages of the user pointer @bo go: no entry leads to them on
 *                return. Called with vgpu_mm_notifier_lock() held
 */
struct vgpu_mm_vm_ops {
	void (*move_notify)(struct vgpu_bo *bo, struct ttm_resource *new);
	void (*move_later)(struct vgpu_bo *bo);
	int (*move_users)(struct vgpu_bo *bo, struct drm_sched_job *job);
	void (*unmap_notify)(struct vgpu_bo *bo);
};

/**
 * struct vgpu_mm_handle_ops - what mm/ tells the render node
 * @open: a file gets a handle of a BO. Reservation not held. Return: 0 or the error of
 *        the ioctl
 * @close: a handle is closed
 */
struct vgpu_mm_handle_ops {
	int (*open)(struct drm_gem_object *gem, struct drm_file *file);
	void (*close)(struct drm_gem_object *gem, struct drm_file *file);
};

/**
 * enum vgpu_copy_queue - where moves and clears wait; also the engine's number
 * @VGPU_COPY_OUT: moves of BOs out of VRAM
 * @VGPU_COPY_IN: moves into it, and clears
 * @VGPU_NUM_COPY_QUEUES: how many there are
 */
enum vgpu_copy_queue {
	VGPU_COPY_OUT,
	VGPU_COPY_IN,
	VGPU_NUM_COPY_QUEUES
};

/**
 * struct vgpu_mman - a device's memory
 * @vdev: the device
 * @bdev: TTM's device
 * @vram: VRAM manager
 * @gtt: GTT manager
 * @vm_ops: operations of vm/, or NULL; set once, before there is a BO of a user
 * @handle_ops: operations of drm/; set once, before there is a file
 * @copy_lock: protects @ready; jobs are numbered and queued in one step
 * @copy_queue: where jobs wait
 * @copy_jobs: that there are
 * @copy_idle: there are none
 * @saved: VRAM's contents while the system sleeps (vgpu_mm_pm.c)
 * @ready: the SDMA engine may be used
 * @shrink: what the system's reclaim asks for memory
 * @swaps_until: jiffies; see vgpu_mm_swaps()
 * @notifier_lock: whether user pointers are valid. Notifiers take it: nothing
 *                 under it allocates or waits for reclaim. Inside reservations
 */
struct vgpu_mman {
	struct vgpu_device *vdev;
	struct ttm_device bdev;
	struct vgpu_vram_mgr vram;
	struct vgpu_gtt_mgr gtt;
	const struct vgpu_mm_vm_ops *vm_ops;
	const struct vgpu_mm_handle_ops *handle_ops;
	struct mutex copy_lock;	/* numbering of jobs */
	struct drm_sched_entity copy_queue[VGPU_NUM_COPY_QUEUES];
	atomic_t copy_jobs;
	wait_queue_head_t copy_idle;
	struct list_head saved;
	bool ready;
	struct vgpu_shrink shrink;
	unsigned long swaps_until;
	struct mutex notifier_lock;	/* validity of user pointers */
};

/**
 * struct vgpu_bo_owner_ops - what mm/ asks the owner of a BO
 * @evict_ok: may the BO be evicted or swapped out now? Reservation held, must
 *            not sleep. NULL: always
 * @users_stay: may users of the BO stay for a while when they are asked to
 *              leave? As @evict_ok. NULL: no
 * @vacate: bring what is in the BO elsewhere, as its VRAM is wanted: true if
 *          that can be freed, false if it cannot now. Such a BO does not move.
 *          Reservation held; sleeps and allocates, takes no lock that is outside
 *          reservations and waits for no page. NULL: the BO moves
 * @release: the last reference is gone, the memory not yet. Must not take a
 *           reservation. NULL: nothing to do
 */
struct vgpu_bo_owner_ops {
	bool (*evict_ok)(struct vgpu_bo *bo);
	bool (*users_stay)(struct vgpu_bo *bo);
	bool (*vacate)(struct vgpu_bo *bo);
	void (*release)(struct vgpu_bo *bo);
};

/**
 * struct vgpu_bo - a buffer object
 * @tbo: TTM object; its base is the GEM object
 * @vdev: the device whose memory it is
 * @domains: where it belongs, AMDGPU_GEM_DOMAIN_*; to change it, reservation
 *           held
 * @flags: AMDGPU_GEM_CREATE_* of the creation
 * @places: storage of @placement; reservation held
 * @placement: the last one asked for; reservation held
 * @root: whose reservation it shares, or NULL; freed with the BO
 * @vm_mappings: struct vgpu_vm_bo of each VM that maps it; reservation held.
 *               A user pointer's change under vgpu_userptr_lock() as well
 * @kmap: CPU mapping of vgpu_bo_kmap(); reservation held
 * @kmaps: number of users of @kmap; each user pins the BO. Reservation held
 * @vram_lost: it was in VRAM when a reset lost that; never reset
 * @lost_link: in vgpu_vram_mgr.lost if @vram_lost
 * @leaving_link: in vgpu_vram_mgr.leaving if @leaving
 * @leaving: the copy by which it left VRAM; vgpu_vram_mgr.lock
 * @leaving_epoch: vgpu_hw.vram_epoch before that; vgpu_vram_mgr.lock
 * @users: struct kgd_mem of each process that knows it; reservation held
 * @owner_ops: the upper room's, or NULL. Set once, reservation held
 * @owner: for @owner_ops->vacate; reservation held
 * @charged: AMDGPU_GEM_DOMAIN_* that KFD's memory limit counts it in, for
 *           @owner_ops->release; set with @owner_ops. User space may change
 *           @domains, so that does not tell
 * @import: another device's dma-buf that it stands for, referenced, or NULL
 * @attachments: who has imported it (mm/vgpu_dma_buf.c); reservation held
 * @userptr: of what process its memory is (mm/vgpu_userptr.c), or NULL
 * @metadata: what user space keeps here, or NULL; freed with the BO. This and
 *            the next three: reservation held
 * @metadata_size: bytes
 * @metadata_flags: user space's
 * @tiling_flags: user space's
 */
struct vgpu_bo {
	struct ttm_buffer_object tbo;
	struct vgpu_device *vdev;
	u32 domains;
	u32 flags;
	struct ttm_place places[2];
	struct ttm_placement placement;
	struct drm_gem_object *root;
	struct list_head vm_mappings;
	struct ttm_bo_kmap_obj kmap;
	unsigned int kmaps;
	bool vram_lost;
	struct list_head lost_link;
	struct list_head leaving_link;
	struct dma_fence *leaving;
	int leaving_epoch;
	struct list_head users;
	const struct vgpu_bo_owner_ops *owner_ops;
	void *owner;
	u32 charged;
	struct dma_buf *import;
	struct list_head attachments;
	struct vgpu_userptr *userptr;
	void *metadata;
	u32 metadata_size;
	u64 metadata_flags;
	u64 tiling_flags;
};

static inline struct vgpu_bo *to_vgpu_bo(struct ttm_buffer_object *tbo)
{
	return container_of(tbo, struct vgpu_bo, tbo);
}

static inline struct vgpu_bo *gem_to_vgpu_bo(struct drm_gem_object *gem)
{
	return container_of(gem, struct vgpu_bo, tbo.base);
}

/**
 * struct vgpu_bo_params - what to create
 * @size: bytes, rounded up to pages
 * @align: bytes, a power of two; 0 = page
 * @domain: AMDGPU_GEM_DOMAIN_VRAM, _GTT, _DOORBELL or _CPU; VRAM and GTT may
 *          be combined and are tried in this order. The one BO of
 *          VGPU_GEM_DOMAIN_MMIO_REMAP is KFD's
 * @flags: AMDGPU_GEM_CREATE_VRAM_CLEARED, _VRAM_CONTIGUOUS,
 *         _VRAM_WIPE_ON_RELEASE, _NO_CPU_ACCESS, _CPU_GTT_USWC; others are
 *         kept for their owner
 * @type: ttm_bo_type_kernel or ttm_bo_type_device; ttm_bo_type_sg: the memory
 *        is somebody else's, and the BO has none in @domain _CPU
 * @import: for ttm_bo_type_sg: the dma-buf, its reservation (which will be the
 *          BO's) held by the caller of vgpu_bo_create(), before and after
 * @root: object whose reservation it shall share, not held; or NULL
 */
struct vgpu_bo_params {
	u64 size;
	u64 align;
	u32 domain;
	u32 flags;
	enum ttm_bo_type type;
	struct drm_gem_object *root;
	struct dma_buf *import;
};

/* vgpu_mm.c */
int vgpu_mm_init(struct vgpu_device *vdev);
void vgpu_mm_fini(struct vgpu_device *vdev);
struct ttm_device *vgpu_mm_bdev(struct vgpu_device *vdev);
struct mutex *vgpu_mm_notifier_lock(struct vgpu_device *vdev);
void vgpu_mm_set_vm_ops(struct vgpu_device *vdev, const struct vgpu_mm_vm_ops *ops);
void vgpu_mm_set_handle_ops(struct vgpu_device *vdev,
			    const struct vgpu_mm_handle_ops *ops);

/* vgpu_mm_evict.c */
int vgpu_mm_evict_once(struct vgpu_device *vdev, u32 mem_type);
int vgpu_mm_evict_all(struct vgpu_device *vdev, u32 mem_type);

/* vgpu_ttm.c */
bool vgpu_mm_swaps(struct vgpu_device *vdev);

/* vgpu_copy_job.c */
bool vgpu_mm_copy_ready(struct vgpu_device *vdev);

/* vgpu_mm_pm.c */
int vgpu_mm_evict(struct vgpu_device *vdev);
void vgpu_mm_drain(struct vgpu_device *vdev);
int vgpu_mm_suspend(struct vgpu_device *vdev);
void vgpu_mm_resume(struct vgpu_device *vdev, bool write);

/* vgpu_bo.c */
int vgpu_bo_create(struct vgpu_device *vdev, const struct vgpu_bo_params *p,
		   struct vgpu_bo **out);
void vgpu_bo_put(struct vgpu_bo *bo);
int vgpu_bo_pin(struct vgpu_bo *bo, u32 domain);
void vgpu_bo_unpin(struct vgpu_bo *bo);
int vgpu_bo_validate(struct vgpu_bo *bo, u32 domain, bool interruptible);
int vgpu_bo_validate_no_evict(struct vgpu_bo *bo);
int vgpu_bo_validate_gart(struct vgpu_bo *bo);
int vgpu_bo_create_kernel(struct vgpu_device *vdev, u64 size, u32 domain,
			  struct vgpu_bo **bo, u64 *mc_addr, void **cpu);
void vgpu_bo_free_kernel(struct vgpu_bo **bo);

/* vgpu_bo_addr.c */
void *vgpu_bo_kmap(struct vgpu_bo *bo);
void vgpu_bo_kunmap(struct vgpu_bo *bo);
void *vgpu_bo_cpu_addr(struct vgpu_bo *bo, u64 offset, bool *is_io);
u64 vgpu_bo_mc_addr(struct vgpu_bo *bo);
u64 vgpu_bo_vram_offset(struct vgpu_bo *bo);
u64 vgpu_bo_doorbell_offset(struct vgpu_bo *bo);
u64 vgpu_bo_mmap_offset(struct vgpu_bo *bo);

/* vgpu_dma_buf.c */
struct dma_buf *vgpu_gem_export(struct drm_gem_object *gem, int flags);
struct drm_gem_object *vgpu_gem_import(struct drm_device *drm,
				       struct dma_buf *dma_buf);
struct vgpu_bo *vgpu_dma_buf_bo(struct dma_buf *dma_buf);

/*
 * vgpu_userptr.c. Stops all use of a user pointer by @owner; on return no engine
 * touches its pages. Called in a notifier: no allocation, no reservation.
 */
typedef void (*vgpu_userptr_invalidate_fn)(void *owner);

int vgpu_userptr_create(struct vgpu_device *vdev, u64 addr, u64 size, u32 flags,
			vgpu_userptr_invalidate_fn invalidate, void *owner,
			struct vgpu_bo **out);
u64 vgpu_userptr_addr(const struct vgpu_bo *bo);
void vgpu_userptr_stop(struct vgpu_bo *bo);
bool vgpu_userptr_current(const struct vgpu_bo *bo);
int vgpu_userptr_prepare(struct vgpu_bo *bo);
int vgpu_userptr_bind(struct vgpu_bo *bo);
int vgpu_userptr_unbind(struct vgpu_bo *bo);
int vgpu_userptr_populate(struct vgpu_bo *bo);
bool vgpu_userptr_valid(struct vgpu_bo *bo);
bool vgpu_userptr_lock(struct vgpu_bo *bo);
void vgpu_userptr_unlock(struct vgpu_bo *bo);
bool vgpu_bo_readonly(const struct vgpu_bo *bo);

/* vgpu_written.c */
void vgpu_page_written(struct page *page);

/**
 * struct vgpu_bo_set - some BOs, each referenced
 * @bo: they
 * @n: their number
 * @room: how many fit
 */
struct vgpu_bo_set {
	struct vgpu_bo **bo;
	size_t n;
	size_t room;
};

/* vgpu_bo_set.c */
int vgpu_bo_set_add(struct vgpu_bo_set *set, struct vgpu_bo *bo);
void vgpu_bo_set_free(struct vgpu_bo_set *set);

/* vgpu_vram_mgr.c, vgpu_gtt_mgr.c */
int vgpu_vram_mgr_init(struct vgpu_device *vdev, u64 size);
void vgpu_vram_mgr_fini(struct vgpu_device *vdev);
u64 vgpu_vram_mgr_size(struct vgpu_device *vdev);
u64 vgpu_vram_mgr_usage(struct vgpu_device *vdev);
unsigned int vgpu_vram_mgr_mark_lost(struct vgpu_device *vdev);
void vgpu_vram_mgr_leaves(struct vgpu_bo *bo, struct dma_fence *fence,
			  int vram_epoch);
void vgpu_vram_mgr_forget_lost(struct vgpu_bo *bo);
void vgpu_vram_mgr_show_lost(struct vgpu_device *vdev, struct drm_printer *p);
unsigned int vgpu_vram_mgr_frees(struct vgpu_device *vdev);
int vgpu_vram_mgr_make_room(struct vgpu_device *vdev, u64 size,
			    unsigned int frees);
int vgpu_gtt_mgr_init(struct vgpu_device *vdev, u64 size);
void vgpu_gtt_mgr_fini(struct vgpu_device *vdev);
u64 vgpu_gtt_mgr_size(struct vgpu_device *vdev);
u64 vgpu_gtt_mgr_usage(struct vgpu_device *vdev);
bool vgpu_gtt_mgr_has_gart_addr(struct ttm_resource *res);
void vgpu_gtt_mgr_recover(struct vgpu_device *vdev);

/* vgpu_copy.c */
struct dma_fence *vgpu_mm_copy_res(struct vgpu_device *vdev,
				   struct dma_resv *resv, struct vgpu_bo *used,
				   struct ttm_tt *ttm,
				   struct ttm_resource *src,
				   struct ttm_resource *dst, u64 size);
struct dma_fence *vgpu_mm_clear_res(struct vgpu_device *vdev,
				    struct dma_resv *resv,
				    struct ttm_resource *res, bool fresh);
struct dma_fence *vgpu_mm_copy_pages(struct vgpu_device *vdev, bool to_vram,
				     const dma_addr_t *sys, const u64 *vram,
				     unsigned long npages);

#endif /* VGPU_MM_H */
