/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declares the objects of an open file of the render node: address space, GEM handles,
 * contexts, BO lists. Functions are documented where they are defined.
 */
#ifndef VGPU_FILE_H
#define VGPU_FILE_H

#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <drm/amdgpu_drm.h>
#include <drm/ttm/ttm_resource.h>

#include "vgpu_drm_priv.h"
#include "vgpu_job.h"

/* Bytes that amdgpu reserves at the bottom and at the top of an address space. */
#define VGPU_VA_RESERVED_BOTTOM	SZ_64K
#define VGPU_VA_RESERVED_TOP	(SZ_2M + SZ_2M + SZ_64K)
/* First non-canonical address. Engines do not accept sign-extended (higher) addresses. */
#define VGPU_VA_HOLE		BIT_ULL(VGPU_VA_BITS - 1)

/* Number of rings of the DMA IP in a context, as in amdgpu. */
#define VGPU_CTX_RINGS		2
/* Number of fences that a context keeps for each ring, as in amdgpu. */
#define VGPU_CTX_FENCES		32u

/**
 * struct vgpu_file - an open file of the device's DRM nodes
 */
struct vgpu_file {
	/** @vdev: device */
	struct vgpu_device *vdev;
	/** @lock: protects @handles, @ctxs and @lists; also held while @vm is created */
	struct mutex lock;
	/**
	 * @vm: address space; NULL until an ioctl needs it (vgpu_file_vm()). Stays NULL if
	 * @kfd_pasid is set.
	 */
	struct vgpu_vm *vm;
	/** @pasid: PASID of @vm */
	u16 pasid;
	/**
	 * @kfd_pasid: PASID of the KFD process that has acquired the file (ACQUIRE_VM), even after
	 * that process has ended; otherwise 0. Written with @lock held.
	 */
	u16 kfd_pasid;
	/**
	 * @root: GEM object without memory; NULL while @vm is NULL. Its reservation holds the
	 * fences of all jobs of the file, and is shared by all VM_ALWAYS_VALID BOs.
	 */
	struct drm_gem_object *root;
	/**
	 * @always: list of the struct vgpu_handle of VM_ALWAYS_VALID BOs; protected by the
	 * reservation of @root
	 */
	struct list_head always;
	/**
	 * @bulk: consecutive entries of VM_ALWAYS_VALID BOs in TTM's LRU lists; protected by
	 * bdev.lru_lock
	 */
	struct ttm_lru_bulk_move bulk;
	/** @handles: tree of struct vgpu_handle, by BO */
	struct rb_root handles;
	/** @ctxs: IDR of the struct vgpu_ctx, by id */
	struct idr ctxs;
	/** @lists: IDR of the struct vgpu_bo_list, by handle */
	struct idr lists;
	/** @fault: last fault of the file's jobs; protected by the lock of vgpu_sched.files */
	struct drm_amdgpu_info_gpuvm_fault fault;
};

/**
 * struct vgpu_ctx_ring - a ring of a context
 * @entity: scheduler entity
 * @next_seq: number of the next job; the first job has 1
 * @fences: for each of the last jobs, drm_sched_fence.finished; job n has index n %
 *          VGPU_CTX_FENCES. Protected by vgpu_ctx.ring_lock
 */
struct vgpu_ctx_ring {
	struct drm_sched_entity entity;
	u64 next_seq;
	struct dma_fence *fences[VGPU_CTX_FENCES];
};

/**
 * struct vgpu_ctx - a context that user space allocated with DRM_AMDGPU_CTX
 */
struct vgpu_ctx {
	/** @ref: reference count; vgpu_file.ctxs and users hold references */
	struct kref ref;
	/** @vdev: device */
	struct vgpu_device *vdev;
	/** @state: state shared with the context's jobs */
	struct vgpu_ctx_state *state;
	/** @ring_lock: protects vgpu_ctx_ring.next_seq and .fences */
	spinlock_t ring_lock;
	/** @ring: rings of the DMA IP */
	struct vgpu_ctx_ring ring[VGPU_CTX_RINGS];
	/** @priority: AMDGPU_CTX_PRIORITY_* at creation of the context */
	s32 priority;
	/** @resets: number of recoveries at creation of the context */
	u64 resets;
	/**
	 * @resets_seen: number of recoveries that QUERY_STATE has reported; protected by
	 * vgpu_file.lock
	 */
	u64 resets_seen;
	/** @rcu: frees the context after an RCU grace period; ctx_free() has the reason */
	struct rcu_head rcu;
};

/**
 * struct vgpu_bo_list - BOs of a job
 * @ref: reference count; vgpu_file.lists and users hold references
 * @n: number of BOs
 * @bo: BOs, referenced
 */
struct vgpu_bo_list {
	struct kref ref;
	u32 n;
	struct vgpu_bo *bo[] __counted_by(n);
};

static inline struct vgpu_file *to_vgpu_file(struct drm_file *file)
{
	return file->driver_priv;
}

typedef int (*vgpu_bo_fn)(struct vgpu_bo *bo);

/* vgpu_file.c */
int vgpu_file_vm(struct vgpu_file *vf);
int vgpu_file_wait_idle(struct vgpu_file *vf, bool interruptible);
bool vgpu_file_busy(struct vgpu_file *vf);
bool vgpu_file_has_bo(struct vgpu_file *vf, struct vgpu_bo *bo);
bool vgpu_file_has_bo_kfd(struct vgpu_file *vf, struct vgpu_bo *bo);
void vgpu_file_used(struct vgpu_file *vf);
int vgpu_file_do_always(struct vgpu_file *vf, vgpu_bo_fn fn);

/* vgpu_job_fault.c */
int vgpu_fault_add_file(struct vgpu_file *vf);
void vgpu_fault_del_file(struct vgpu_file *vf);
void vgpu_fault_last(struct vgpu_file *vf,
		     struct drm_amdgpu_info_gpuvm_fault *fault);
int vgpu_fault_init(struct vgpu_device *vdev);
void vgpu_fault_fini(struct vgpu_device *vdev);

/* vgpu_ctx.c */
struct vgpu_ctx *vgpu_ctx_get(struct vgpu_file *vf, u32 id);
void vgpu_ctx_put(struct vgpu_ctx *ctx);
int vgpu_ctx_ring(struct vgpu_ctx *ctx, u32 ip, u32 instance, u32 ring,
		  struct vgpu_ctx_ring **out);
struct dma_fence *vgpu_ctx_fence(struct vgpu_ctx *ctx,
				 struct vgpu_ctx_ring *ring, u64 seq);
u64 vgpu_ctx_next_seq(struct vgpu_ctx *ctx, struct vgpu_ctx_ring *ring);
int vgpu_ctx_throttle(struct vgpu_ctx *ctx, struct vgpu_ctx_ring *ring);
u64 vgpu_ctx_add_fence(struct vgpu_ctx *ctx, struct vgpu_ctx_ring *ring,
		       struct dma_fence *fence);
void vgpu_ctx_free_all(struct vgpu_file *vf);

/* vgpu_bo_list.c */
struct vgpu_bo_list *vgpu_bo_list_read(struct drm_file *file,
				       const struct drm_amdgpu_bo_list_in *in);
struct vgpu_bo_list *vgpu_bo_list_get(struct vgpu_file *vf, u32 handle);
void vgpu_bo_list_put(struct vgpu_bo_list *list);
void vgpu_bo_list_free_all(struct vgpu_file *vf);

#endif /* VGPU_FILE_H */
