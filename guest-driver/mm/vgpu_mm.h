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
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>

#include "vgpu_buddy.h"

struct dma_fence;
struct vgpu_bo;
struct vgpu_device;

#define VGPU_PL_DOORBELL	(TTM_PL_PRIV + 0)

/* Transfer windows at the start of the GART, never handed out by the manager. */
#define VGPU_GTT_WINDOW_PAGES	512u		/* 2 MiB each */
#define VGPU_GTT_NUM_WINDOWS	8u

/* No address for VMID 0. */
#define VGPU_MC_NONE		(~0ull)

/**
 * struct vgpu_vram_mgr - VRAM
 * @manager: face to TTM; size and usage in bytes
 * @mm: free and used blocks
 * @lock: protects @mm
 */
struct vgpu_vram_mgr {
	struct ttm_resource_manager manager;
	struct gpu_buddy mm;
	struct mutex lock;	/* blocks */
};

/**
 * struct vgpu_vram_resource - some blocks of VRAM
 * @base: what TTM knows; bit TTM_PL_FLAG_CONTIGUOUS of its placement is set
 *        whenever the blocks are adjacent and in order
 * @blocks: struct gpu_buddy_block, in the order of the BO's bytes
 * @wiped: the job that clears it before it is freed, or NULL
 */
struct vgpu_vram_resource {
	struct ttm_resource base;
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

/*
 * Called when a BO's placement is about to change (@new may be NULL: the BO
 * goes away), with its reservation held: the upper rooms drop or note their
 * mappings. Must not allocate or wait for reclaim.
 */
typedef void (*vgpu_move_notify_fn)(struct vgpu_bo *bo,
				    struct ttm_resource *new);

/**
 * struct vgpu_mman - a device's memory
 * @bdev: TTM's device
 * @vram: VRAM manager
 * @gtt: GTT manager
 * @move_notify: handler of the room above, or NULL
 * @copy_lock: protects @job, @window_fence and @next_window; one job is built
 *             and submitted at a time
 * @job: packets of that job, VGPU_SDMA_MAX_JOB_DWORDS
 * @window_fence: last job that used each transfer window, or NULL
 * @next_window: windows are taken in turns
 * @ready: the SDMA engine may be used
 */
struct vgpu_mman {
	struct ttm_device bdev;
	struct vgpu_vram_mgr vram;
	struct vgpu_gtt_mgr gtt;
	vgpu_move_notify_fn move_notify;
	struct mutex copy_lock;	/* building of jobs */
	u32 *job;
	struct dma_fence *window_fence[VGPU_GTT_NUM_WINDOWS];
	unsigned int next_window;
	bool ready;
};

/**
 * struct vgpu_bo_owner_ops - what mm/ asks the owner of a BO
 * @evict_ok: may the BO be evicted or swapped out now? Reservation held, must
 *            not sleep. NULL: always
 * @release: the last reference is gone, the memory not yet. Must not take a
 *           reservation. NULL: nothing to do
 */
struct vgpu_bo_owner_ops {
	bool (*evict_ok)(struct vgpu_bo *bo);
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
 * @vm_mappings: struct vgpu_vm_bo of each VM that maps it; reservation held
 * @kmap: CPU mapping of vgpu_bo_kmap(); reservation held
 * @upper: the owner in an upper room (kgd_mem, svm), or NULL
 * @owner_ops: the owner's, or NULL
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
	struct list_head vm_mappings;
	struct ttm_bo_kmap_obj kmap;
	void *upper;
	const struct vgpu_bo_owner_ops *owner_ops;
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
 *          be combined and are tried in this order
 * @flags: AMDGPU_GEM_CREATE_VRAM_CLEARED, _VRAM_CONTIGUOUS,
 *         _VRAM_WIPE_ON_RELEASE, _NO_CPU_ACCESS, _CPU_GTT_USWC; others are
 *         kept for their owner
 * @type: ttm_bo_type_kernel or ttm_bo_type_device
 */
struct vgpu_bo_params {
	u64 size;
	u64 align;
	u32 domain;
	u32 flags;
	enum ttm_bo_type type;
};

/* vgpu_mm.c */
int vgpu_mm_init(struct vgpu_device *vdev);
void vgpu_mm_fini(struct vgpu_device *vdev);

/* vgpu_bo.c */
int vgpu_bo_create(struct vgpu_device *vdev, const struct vgpu_bo_params *p,
		   struct vgpu_bo **out);
void vgpu_bo_put(struct vgpu_bo *bo);
int vgpu_bo_pin(struct vgpu_bo *bo, u32 domain);
void vgpu_bo_unpin(struct vgpu_bo *bo);
int vgpu_bo_validate(struct vgpu_bo *bo, u32 domain, bool interruptible);
void *vgpu_bo_kmap(struct vgpu_bo *bo);
void vgpu_bo_kunmap(struct vgpu_bo *bo);
int vgpu_bo_create_kernel(struct vgpu_device *vdev, u64 size, u32 domain,
			  struct vgpu_bo **bo, u64 *mc_addr, void **cpu);
void vgpu_bo_free_kernel(struct vgpu_bo **bo);
u64 vgpu_bo_mc_addr(struct vgpu_bo *bo);
u64 vgpu_bo_vram_offset(struct vgpu_bo *bo);
u64 vgpu_bo_doorbell_offset(struct vgpu_bo *bo);
u64 vgpu_bo_mmap_offset(struct vgpu_bo *bo);

/* vgpu_vram_mgr.c, vgpu_gtt_mgr.c */
int vgpu_vram_mgr_init(struct vgpu_device *vdev, u64 size);
void vgpu_vram_mgr_fini(struct vgpu_device *vdev);
u64 vgpu_vram_mgr_usage(struct vgpu_device *vdev);
int vgpu_gtt_mgr_init(struct vgpu_device *vdev, u64 size);
void vgpu_gtt_mgr_fini(struct vgpu_device *vdev);
bool vgpu_gtt_mgr_has_gart_addr(struct ttm_resource *res);
void vgpu_gtt_mgr_recover(struct vgpu_device *vdev);

/* vgpu_copy.c */
struct dma_fence *vgpu_mm_copy_res(struct vgpu_device *vdev,
				   const dma_addr_t *sys,
				   struct ttm_resource *src, u64 src_off,
				   struct ttm_resource *dst, u64 dst_off,
				   u64 size);
struct dma_fence *vgpu_mm_clear_res(struct vgpu_device *vdev,
				    struct ttm_resource *res, bool fresh);
struct dma_fence *vgpu_mm_copy_pages(struct vgpu_device *vdev, bool to_vram,
				     const dma_addr_t *sys, const u64 *vram,
				     unsigned long npages);

#endif /* VGPU_MM_H */
