/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mm/: buffer objects on TTM, the VRAM (buddy), GTT (drm_mm) and doorbell
 * managers, the resource cursor, moves and clears by SDMA.
 */
#ifndef VGPU_MM_H
#define VGPU_MM_H

#include <drm/drm_buddy.h>
#include <drm/drm_gem.h>
#include <drm/drm_mm.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_range_manager.h>
#include <drm/ttm/ttm_resource.h>

struct vgpu_device;
struct vgpu_bo;

#define VGPU_PL_DOORBELL	(TTM_PL_PRIV + 0)

/* Transfer windows at the start of the GART, never handed out by the manager. */
#define VGPU_GTT_WINDOW_PAGES	512u		/* 2 MiB each */
#define VGPU_GTT_NUM_WINDOWS	8u

struct vgpu_vram_mgr {
	struct ttm_resource_manager manager;
	struct drm_buddy mm;
	struct mutex lock;		/* protects @mm and @used */
	u64 used;
};

struct vgpu_vram_resource {
	struct ttm_resource base;
	struct list_head blocks;
	unsigned long flags;
};

/**
 * struct vgpu_gtt_mgr - GTT address space
 * @mm: page ranges of the GART behind the transfer windows
 * @lock: protects @mm
 */
struct vgpu_gtt_mgr {
	struct ttm_resource_manager manager;
	struct drm_mm mm;
	spinlock_t lock;
};

/*
 * Called when a BO's placement is about to change (@new may be NULL: the BO
 * goes away), with its reservation held: the upper rooms drop or note their
 * mappings. Must not allocate or wait for reclaim.
 */
typedef void (*vgpu_move_notify_fn)(struct vgpu_bo *bo,
				    struct ttm_resource *new);

struct vgpu_mman {
	struct ttm_device bdev;
	struct vgpu_vram_mgr vram;
	struct vgpu_gtt_mgr gtt;
	struct ttm_resource_manager doorbell;	/* range manager's own */
	vgpu_move_notify_fn move_notify;
	struct mutex window_lock;		/* transfer windows, one user each */
	unsigned long windows_busy;
	wait_queue_head_t window_wait;
	bool initialized;
};

/**
 * struct vgpu_bo - a buffer object
 * @tbo: TTM object; its base is the GEM object
 * @domains: preferred domains, AMDGPU_GEM_DOMAIN_*
 * @flags: AMDGPU_GEM_CREATE_* of the creation
 * @vm_mappings: struct vgpu_vm_bo of each VM that maps it; reservation held
 * @upper: the owner in an upper room (kgd_mem, svm), or NULL
 * @evict_ok: asked before eviction; NULL: may always be evicted. Must not sleep.
 */
struct vgpu_bo {
	struct ttm_buffer_object tbo;
	struct vgpu_device *vdev;
	u32 domains;
	u32 flags;
	struct ttm_place places[3];
	struct ttm_placement placement;
	struct list_head vm_mappings;
	struct ttm_bo_kmap_obj kmap;
	void *upper;
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
 * @align: bytes, 0 = page
 * @domain: AMDGPU_GEM_DOMAIN_VRAM, _GTT, _DOORBELL, _CPU
 * @flags: AMDGPU_GEM_CREATE_* (VRAM_CLEARED, CPU_ACCESS_REQUIRED, ...)
 * @type: ttm_bo_type_kernel or ttm_bo_type_device
 * @resv: shared reservation object (a VM's), or NULL
 * @sg: for ttm_bo_type_sg
 */
struct vgpu_bo_params {
	u64 size;
	u64 align;
	u32 domain;
	u32 flags;
	enum ttm_bo_type type;
	struct dma_resv *resv;
	struct sg_table *sg;
};

int vgpu_mm_init(struct vgpu_device *vdev);
void vgpu_mm_fini(struct vgpu_device *vdev);

/* vgpu_bo.c. New VRAM and GTT memory is always zero when user space sees it. */
int vgpu_bo_create(struct vgpu_device *vdev, const struct vgpu_bo_params *p,
		   struct vgpu_bo **out);
void vgpu_bo_put(struct vgpu_bo *bo);
/* Reservation held. Moves to @domain first. */
int vgpu_bo_pin(struct vgpu_bo *bo, u32 domain);
void vgpu_bo_unpin(struct vgpu_bo *bo);
/* Reservation held. Moves the BO where @domain says (validate). */
int vgpu_bo_validate(struct vgpu_bo *bo, u32 domain, bool interruptible);
void *vgpu_bo_kmap(struct vgpu_bo *bo);		/* pinned or reserved; ERR_PTR */
void vgpu_bo_kunmap(struct vgpu_bo *bo);
/* A kernel BO: created, pinned, mapped. */
int vgpu_bo_create_kernel(struct vgpu_device *vdev, u64 size, u32 domain,
			  struct vgpu_bo **bo, u64 *mc_addr, void **cpu);
void vgpu_bo_free_kernel(struct vgpu_bo **bo);
/* Address for VMID 0: FB or GART. Placement must not change meanwhile. */
u64 vgpu_bo_mc_addr(struct vgpu_bo *bo);
/* Offset in VRAM of a contiguous VRAM BO. */
u64 vgpu_bo_vram_offset(struct vgpu_bo *bo);
u64 vgpu_bo_mmap_offset(struct vgpu_bo *bo);

/* vgpu_vram_mgr.c, vgpu_gtt_mgr.c */
int vgpu_vram_mgr_init(struct vgpu_device *vdev, u64 size);
void vgpu_vram_mgr_fini(struct vgpu_device *vdev);
u64 vgpu_vram_mgr_usage(struct vgpu_device *vdev);	/* bytes */
int vgpu_gtt_mgr_init(struct vgpu_device *vdev, u64 size);
void vgpu_gtt_mgr_fini(struct vgpu_device *vdev);
u64 vgpu_gtt_mgr_usage(struct vgpu_device *vdev);
bool vgpu_gtt_mgr_has_gart_addr(struct ttm_resource *res);
void vgpu_gtt_mgr_recover(struct vgpu_device *vdev);

/*
 * vgpu_copy.c: SDMA moves. Addresses of system pages are DMA addresses; they
 * are reached through a transfer window, in chunks, pipelined. The caller
 * waits on the returned fence (ERR_PTR on failure).
 */
struct dma_fence *vgpu_mm_copy_res(struct vgpu_device *vdev,
				   struct ttm_buffer_object *bo,
				   struct ttm_resource *src, u64 src_off,
				   struct ttm_resource *dst, u64 dst_off,
				   u64 size);
struct dma_fence *vgpu_mm_clear_res(struct vgpu_device *vdev,
				    struct ttm_resource *res, u64 off, u64 size);
/*
 * Copy @npages pages between system memory (@sys[i], DMA address) and VRAM
 * (@vram[i], offset in VRAM); pairs may be scattered, runs are merged.
 * Entries with sys[i] == DMA_MAPPING_ERROR are skipped; so are those with
 * @sys[i] == 0 on the way to VRAM: their VRAM page is cleared instead.
 */
struct dma_fence *vgpu_mm_copy_pages(struct vgpu_device *vdev, bool to_vram,
				     const dma_addr_t *sys, const u64 *vram,
				     unsigned long npages);

#endif /* VGPU_MM_H */
