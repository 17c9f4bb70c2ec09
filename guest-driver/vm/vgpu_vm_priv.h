/* SPDX-License-Identifier: GPL-2.0 */
/* State and functions that the files of vm/ share. No other folder includes this header. */
#ifndef VGPU_VM_PRIV_H
#define VGPU_VM_PRIV_H

#include <linux/container_of.h>
#include <linux/interval_tree.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "device/vgpu_device.h"
#include "vgpu_pt.h"
#include "vgpu_vm.h"
#include "vgpu_vm_bo.h"

struct dma_fence;
struct drm_sched_job;
struct ttm_resource;
struct vgpu_vm_job;

/**
 * struct vgpu_vm_manager - VMIDs of a device
 * @lock: protects @vmid_owner; innermost of the sleeping locks
 * @vmid_owner: address space of each VMID, or NULL
 * @wait_jobs: function set by vgpu_vmm_set_wait_jobs(), or NULL; set once
 */
struct vgpu_vm_manager {
	struct mutex lock;	/* protects vmid_owner */
	struct vgpu_vm *vmid_owner[VGPU_LAST_KFD_VMID + 1];
	void (*wait_jobs)(struct vgpu_vm *vm);
};

/**
 * struct vgpu_vm_state - an address space, with the members that only vm/ uses
 */
struct vgpu_vm_state {
	/** @base: members that other folders use, too */
	struct vgpu_vm base;
	/**
	 * @compute: true for an address space of KFD, false for one of the render node; constant
	 * since the creation
	 */
	bool compute;
	/**
	 * @alloc_lock: serialises growth of @pt, and protects @bos and @pool. Taken after
	 * reservations of BOs, but never in reclaim or in a notifier, because the holder may
	 * allocate
	 */
	struct mutex alloc_lock;
	/**
	 * @pt_lock: protects @pt, changes of vgpu_vm.vmid, and the members from @job to @tlb_dirty.
	 * Taken after @alloc_lock. MMU notifiers take @pt_lock, so the holder does not reclaim
	 * memory. A task that removes a table holds @alloc_lock, too
	 */
	struct mutex pt_lock;
	/** @pt: page tables */
	struct vgpu_pt pt;
	/** @pool: list of the struct vgpu_vm_pool, which hold the VRAM of the tables */
	struct list_head pool;
	/**
	 * @reserved: number of reservations of tables (vgpu_vm_reserve_tables(),
	 * vgpu_vm_try_reserve_tables()) that have not been undone; incremented only with
	 * @alloc_lock held
	 */
	atomic_t reserved;
	/**
	 * @pool_only: vgpu_vm_pool_alloc() takes only free pieces of @pool, and fails if there are
	 * none; protected by @alloc_lock
	 */
	bool pool_only;
	/** @trim_work: worker that frees empty tables */
	struct delayed_work trim_work;
	/**
	 * @bos: interval tree of the mappings (struct vgpu_vm_bo), by page. Changes need
	 * @alloc_lock, and vgpu_vm.va_lock if @compute is false
	 */
	struct rb_root_cached bos;
	/** @moved_lock: protects @moved and @stale; innermost */
	spinlock_t moved_lock;
	/** @moved: list of the struct vgpu_vm_bo whose entries are to be written */
	struct list_head moved;
	/**
	 * @stale: number of mappings in @moved that have stale entries (vgpu_vm_bo.stale).
	 * Incremented only with vgpu_vm.push_lock held
	 */
	unsigned int stale;
	/** @last_update: fence on which later jobs depend, or NULL; protected by vgpu_vm.va_lock */
	struct dma_fence *last_update;
	/**
	 * @job: packets by which SDMA will write entries; NULL if the CPU writes all entries of the
	 * address space
	 */
	struct vgpu_vm_job *job;
	/** @job_fence: fence of the last submission of packets from @job, or NULL */
	struct dma_fence *job_fence;
	/**
	 * @by_sdma: true if the update in progress adds packets to @job (vgpu_vm_begin_write()),
	 * false if the CPU writes the entries
	 */
	bool by_sdma;
	/**
	 * @tlb_dirty: true if the TLB may hold stale translations; the next vgpu_vm_publish()
	 * flushes the TLB
	 */
	bool tlb_dirty;
	/** @pasid: PASID that faults of the address space carry; constant since the creation */
	u16 pasid;
	/**
	 * @scheduled: true if run lists may name the address space, so that the CP may assign any
	 * of VGPU_HWS_VMIDS to it. Set with @pt_lock held, never cleared
	 */
	bool scheduled;
};

#define to_vm_state(vm)	container_of_const(vm, struct vgpu_vm_state, base)

/**
 * struct vgpu_vm_bo - a BO, or a part of it, mapped at an address
 */
struct vgpu_vm_bo {
	/** @vm: address space */
	struct vgpu_vm *vm;
	/** @bo: BO, which the owner of the mapping keeps alive, or NULL for a PRT mapping */
	struct vgpu_bo *bo;
	/**
	 * @bo_link: link in bo->vm_mappings. Changed only with the BO's reservation held and inside
	 * vgpu_userptr_lock(), so each of the two protects readers
	 */
	struct list_head bo_link;
	/**
	 * @moved_link: link in vgpu_vm_state.moved while @moved is true; protected by
	 * vgpu_vm_state.moved_lock
	 */
	struct list_head moved_link;
	/**
	 * @pages: first and last page, and node of vgpu_vm_state.bos; protected by
	 * vgpu_vm_state.alloc_lock. If @bo is a user pointer, changes of the first and last page
	 * also need vgpu_userptr_lock(), because the MMU notifier reads the two page numbers
	 */
	struct interval_tree_node pages;
	/** @offset: offset in @bo of the first mapped byte; page aligned */
	u64 offset;
	/** @pte_flags: VGPU_PTE_* of the entries, without VALID, SYSTEM, SNOOPED and the address */
	u64 pte_flags;
	/**
	 * @claimed: true if KFD created the mapping (vgpu_vm_bo_claim()). KFD keeps a pointer to
	 * such a mapping, so only vgpu_vm_bo_unmap() removes it, and only as a whole
	 */
	bool claimed;
	/**
	 * @peer: how the GPU of @vm reaches VRAM or registers of the BO's GPU, if that is another
	 * GPU. Does not change if an XGMI link goes down: accesses then fault
	 */
	enum vgpu_peer_way peer;
	/**
	 * @moved: true if the entries have to be written. Protected by the BO's reservation. MMU
	 * notifiers lack the reservation: they clear entries, and vgpu_vm_bo_move_notify() sets
	 * @moved later
	 */
	bool moved;
	/**
	 * @stale: true if the entries translate to the BO's previous memory (docs/driver.md, "Life
	 * of a move"). Implies @moved. Protected by the BO's reservation
	 */
	bool stale;
};

/* vgpu_vm.c */
extern const struct vgpu_pt_ops vgpu_vm_pt_ops;
int vgpu_vm_setup(struct vgpu_vm *vm, struct vgpu_device *vdev,
		  const struct vgpu_pt_ops *ops);
void vgpu_vm_teardown(struct vgpu_vm *vm);
void vgpu_vm_lock_cpu(struct vgpu_vm *vm);
void vgpu_vm_begin_write(struct vgpu_vm *vm);
void vgpu_vm_publish(struct vgpu_vm *vm, bool changed);
void vgpu_vm_publish_unlocked(struct vgpu_vm *vm);
struct dma_fence *vgpu_vm_publish_later(struct vgpu_vm *vm);
bool vgpu_vm_enter(struct vgpu_vm *vm, int *idx);
void vgpu_vm_flush(struct vgpu_vm *vm);
void vgpu_vm_clear_pages(struct vgpu_vm *vm, u64 first, u64 last, u64 value);

/* vgpu_vm_pool.c */
int vgpu_vm_pool_alloc(struct vgpu_vm *vm, struct vgpu_pt_mem *mem);
void vgpu_vm_pool_free(struct vgpu_vm *vm, const struct vgpu_pt_mem *mem);
void vgpu_vm_pool_zero(struct vgpu_vm *vm);
bool vgpu_vm_pool_has_room(struct vgpu_vm *vm);
void vgpu_vm_pool_take_idle(struct vgpu_vm *vm, struct list_head *idle);
void vgpu_vm_pool_delete(struct list_head *idle);

/* vgpu_vm_trim.c */
void vgpu_vm_trim_init(struct vgpu_vm *vm);
void vgpu_vm_trim_fini(struct vgpu_vm *vm);
void vgpu_vm_trim_later(struct vgpu_vm *vm);
void vgpu_vm_trim(struct vgpu_vm *vm);
void vgpu_vm_make_room(struct vgpu_vm *vm);

/* vgpu_vm_bo.c */
void vgpu_vm_bo_move_notify(struct vgpu_bo *bo, struct ttm_resource *new);
void vgpu_vm_bo_move_later(struct vgpu_bo *bo);
int vgpu_vm_bo_move_users(struct vgpu_bo *bo, struct drm_sched_job *job);
void vgpu_vm_bo_unmap_notify(struct vgpu_bo *bo);
bool vgpu_vm_range_ok(u64 va, u64 size);
struct vgpu_vm_bo *vgpu_vbo_new(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va,
				u64 offset, u64 size, u64 pte_flags);
void vgpu_vbo_free(struct vgpu_vm_bo *vbo);
void vgpu_vbo_set_moved(struct vgpu_vm_bo *vbo, bool moved);
void vgpu_vbo_clear(struct vgpu_vm_bo *vbo);
int vgpu_vbo_write(struct vgpu_vm_bo *vbo, u64 first, u64 last);
int vgpu_vbo_write_all(struct vgpu_vm_bo *vbo);

/*
 * Returns true if a mapping may have entries, current or stale. The caller holds the BO's
 * reservation.
 */
static inline bool vgpu_vbo_has_entries(const struct vgpu_vm_bo *vbo)
{
	return !vbo->moved || vbo->stale;
}

/*
 * Returns true if @vbo is a mapping in @vm that GEM_VA has made (a mapping by address), and not one
 * that KFD has made by vgpu_vm_bo_claim().
 */
static inline bool vgpu_vbo_is_va(const struct vgpu_vm_bo *vbo,
				  const struct vgpu_vm *vm)
{
	return vbo->vm == vm && !vbo->claimed;
}

#endif /* VGPU_VM_PRIV_H */
