/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buffer objects (BOs) on TTM: creation, placement, addresses, dma-buf. Functions are
 * documented where they are defined.
 */
#ifndef VGPU_BO_H
#define VGPU_BO_H

#include <linux/list.h>
#include <linux/types.h>
#include <drm/drm_gem.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

struct dma_buf;
struct drm_device;
struct vgpu_bo;
struct vgpu_device;
struct vgpu_userptr;

#define VGPU_PL_DOORBELL	(TTM_PL_PRIV + 0)
#define VGPU_PL_MMIO_REMAP	(TTM_PL_PRIV + 1)

/* Name of a memory type, for TP_printk(). */
#define vgpu_trace_place(type)						\
	__print_symbolic(type, { TTM_PL_SYSTEM, "system" },		\
			 { TTM_PL_TT, "gtt" }, { TTM_PL_VRAM, "vram" },	\
			 { VGPU_PL_DOORBELL, "doorbell" },		\
			 { VGPU_PL_MMIO_REMAP, "mmio-remap" })

/*
 * Domain of the page with the HDP flush registers (vgpu_hw.remap_base). The value is
 * that of newer amdgpu versions; GEM_CREATE does not accept it.
 */
#define VGPU_GEM_DOMAIN_MMIO_REMAP	0x80

/* Value of vgpu_bo_mc_addr() if VMID 0 has no address for the BO. */
#define VGPU_MC_NONE		(~0ull)

/**
 * struct vgpu_bo_owner_ops - functions of a BO's owner that mm/ calls; each may be NULL
 */
struct vgpu_bo_owner_ops {
	/**
	 * @evict_ok: return true if the calling task may evict or swap out the BO now. Called with
	 * the reservation held; must not sleep. If NULL, every task may always evict the BO
	 */
	bool (*evict_ok)(struct vgpu_bo *bo);
	/**
	 * @evict_in: return the number of jiffies after which @evict_ok may return true to the
	 * calling task, or 0 if the time is unknown. Called in the same context as @evict_ok. If
	 * NULL, the time is always unknown
	 */
	unsigned long (*evict_in)(struct vgpu_bo *bo);
	/**
	 * @vacate: move the content out of VRAM, or return false. The reservation is held; may
	 * allocate, but not wait for page locks or locks that precede reservations
	 */
	bool (*vacate)(struct vgpu_bo *bo);
	/**
	 * @lost: return true if a reset lost the content in VRAM, so that @vacate fails until the
	 * owner has freed the content. Called with the reservation held; must not sleep. If NULL,
	 * the BO can always leave VRAM
	 */
	bool (*lost)(struct vgpu_bo *bo);
	/**
	 * @release: called after the last reference was dropped and before the memory is freed;
	 * must not take a reservation
	 */
	void (*release)(struct vgpu_bo *bo);
};

/**
 * struct vgpu_bo - a buffer object; first member of mm/'s struct vgpu_bo_state
 */
struct vgpu_bo {
	/** @tbo: TTM object; its base is the GEM object */
	struct ttm_buffer_object tbo;
	/** @vdev: device */
	struct vgpu_device *vdev;
	/** @domains: preferred places, AMDGPU_GEM_DOMAIN_*; changed with the reservation held */
	u32 domains;
	/** @flags: AMDGPU_GEM_CREATE_* of the creation */
	u32 flags;
	/** @root: object whose reservation the BO shares, or NULL; referenced by the BO */
	struct drm_gem_object *root;
	/**
	 * @vm_mappings: list of the BO's mappings (struct vgpu_vm_bo) in all VMs; protected by the
	 * reservation. If the BO is a user pointer, changes also need vgpu_userptr_lock()
	 */
	struct list_head vm_mappings;
	/**
	 * @users: list of the struct kgd_mem that use the BO, of all processes; protected by the
	 * reservation
	 */
	struct list_head users;
	/**
	 * @owner_ops: functions of the owner, or NULL; set once, by the creator of the BO or with
	 * the reservation held
	 */
	const struct vgpu_bo_owner_ops *owner_ops;
	/** @owner: data of the owner, for @owner_ops; protected by the reservation */
	void *owner;
	/**
	 * @charged: AMDGPU_GEM_DOMAIN_* under which KFD's memory limit counts the BO; set with
	 * @owner_ops. May differ from @domains, which user space can change
	 */
	u32 charged;
	/** @import: dma-buf of another device whose memory the BO uses, referenced, or NULL */
	struct dma_buf *import;
	/** @userptr: process memory that the BO uses (mm/vgpu_userptr.c), or NULL */
	struct vgpu_userptr *userptr;
	/**
	 * @metadata: data that user space attaches to the BO, or NULL; freed with the BO; protected
	 * by the reservation
	 */
	void *metadata;
	/** @metadata_size: bytes of @metadata; protected by the reservation */
	u32 metadata_size;
	/**
	 * @metadata_flags: flags of @metadata from user space, which the driver does not interpret;
	 * protected by the reservation
	 */
	u64 metadata_flags;
	/**
	 * @tiling_flags: flags from user space, which the driver does not interpret; protected by
	 * the reservation
	 */
	u64 tiling_flags;
};

/* @tbo must be part of a struct vgpu_bo: vgpu_bo_is_ours() tests whether this is true. */
static inline struct vgpu_bo *to_vgpu_bo(struct ttm_buffer_object *tbo)
{
	return container_of(tbo, struct vgpu_bo, tbo);
}

static inline struct vgpu_bo *gem_to_vgpu_bo(struct drm_gem_object *gem)
{
	return container_of(gem, struct vgpu_bo, tbo.base);
}

/**
 * struct vgpu_bo_params - arguments of vgpu_bo_create()
 */
struct vgpu_bo_params {
	/** @size: bytes, rounded up to pages */
	u64 size;
	/** @align: power of two from PAGE_SIZE to 1 GiB, in bytes; 0 stands for PAGE_SIZE */
	u64 align;
	/**
	 * @domain: AMDGPU_GEM_DOMAIN_VRAM, _GTT, _DOORBELL or _CPU; VRAM and GTT may be combined
	 * and are tried in this order. VGPU_GEM_DOMAIN_MMIO_REMAP is for the one BO that KFD
	 * creates for each GPU
	 */
	u32 domain;
	/**
	 * @flags: AMDGPU_GEM_CREATE_VRAM_CLEARED, _VRAM_CONTIGUOUS, _VRAM_WIPE_ON_RELEASE,
	 * _NO_CPU_ACCESS, _CPU_GTT_USWC. vgpu_bo_create() stores other flags in vgpu_bo.flags
	 * without using them
	 */
	u32 flags;
	/**
	 * @type: ttm_bo_type_kernel or ttm_bo_type_device; ttm_bo_type_sg for an import or a user
	 * pointer. A BO of ttm_bo_type_sg has no memory while it is in domain _CPU
	 */
	enum ttm_bo_type type;
	/**
	 * @root: object whose reservation the BO will share, or NULL; the caller does not hold that
	 * reservation
	 */
	struct drm_gem_object *root;
	/**
	 * @import: dma-buf that a BO of ttm_bo_type_sg imports, or NULL. The BO shares the
	 * dma-buf's reservation. The caller of vgpu_bo_create() holds this reservation, and
	 * vgpu_bo_create() does not drop it
	 */
	struct dma_buf *import;
};

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

/**
 * struct vgpu_bo_set - a list of BOs, each referenced
 * @bo: BOs
 * @n: number of BOs
 * @room: capacity of @bo
 */
struct vgpu_bo_set {
	struct vgpu_bo **bo;
	size_t n;
	size_t room;
};

/* vgpu_bo_set.c */
int vgpu_bo_set_add(struct vgpu_bo_set *set, struct vgpu_bo *bo);
void vgpu_bo_set_free(struct vgpu_bo_set *set);

#endif /* VGPU_BO_H */
