/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vm/: GPU address spaces. Page tables in VRAM, VMIDs, PASIDs. This is the
 * room's public face; functions are documented where they are defined.
 */
#ifndef VGPU_VM_H
#define VGPU_VM_H

#include <linux/interval_tree.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "vgpu_pt.h"
#include "vgpu_vmid.h"

struct dma_fence;
struct dma_resv;
struct drm_printer;
struct drm_exec;
struct drm_sched_job;
struct ttm_resource;
struct vgpu_bo;
struct vgpu_device;
struct vgpu_vm_job;
struct ww_acquire_ctx;

/**
 * struct vgpu_vm - one GPU address space
 * @vdev: device
 * @compute: KFD's; else the render node's
 * @va_lock: what is mapped where, and @last_update, if not @compute (KFD has
 *           its process's mutex, and takes this as well for what is mapped by
 *           address). Outside BO reservations
 * @alloc_lock: serialises growth of the tree and protects @bos and @pool.
 *              Allocates under it, so never taken in reclaim or a notifier.
 *              Inside BO reservations. Entries of pages that leave @bos are
 *              cleared before the lock is dropped: svm/ writes entries
 *              where it finds pages free
 * @pt_lock: protects @pt and, to change it, @vmid. Taken in MMU notifiers, so
 *           nothing under it allocates or waits for reclaim. Inside
 *           @alloc_lock. Clearing entries needs it alone; tables are freed
 *           with both held
 * @pt: page tables
 * @pool: struct vgpu_vm_pool, VRAM that the tables are made of
 * @reserved: users of vgpu_vm_reserve_tables(); from 0 with @alloc_lock held
 * @trim_work: frees tables that are empty
 * @bos: struct vgpu_vm_bo by page; changed with @va_lock held too, if not
 *       @compute
 * @push_lock: a job is pushed only while @stale is 0, which grows with this
 *             held. Inside reservations; nothing under it allocates or waits
 * @moved_lock: protects @moved and @stale; innermost
 * @moved: struct vgpu_vm_bo whose entries are to be written
 * @stale: how many of them have old ones
 * @jobs: has the fence of every job that runs in it; NULL if @compute
 * @last_update: what jobs wait for, or NULL
 * @job: entries that SDMA is to write; NULL: the CPU writes them all. This and
 *       the next three: @pt_lock
 * @job_fence: the last one submitted, or NULL
 * @by_sdma: entries go into @job for now
 * @tlb_dirty: the TLB may hold what the tables say no more. Whoever publishes
 *             entries flushes
 * @pasid: whose faults the hardware says they are
 * @vmid: 0 while none is assigned
 * @scheduled: run lists name it: any of VGPU_HWS_VMIDS may be its; never reset
 * @vmid_reserved: drm/ displaces it last
 * @vram_epoch: vgpu_hw.vram_epoch when the tables were made
 */
struct vgpu_vm {
	struct vgpu_device *vdev;
	bool compute;
	struct mutex va_lock;		/* mappings by address */
	struct mutex alloc_lock;	/* growth */
	struct mutex pt_lock;		/* entries */
	struct vgpu_pt pt;
	struct list_head pool;
	atomic_t reserved;
	struct delayed_work trim_work;
	struct rb_root_cached bos;
	struct mutex push_lock;		/* jobs against stale entries */
	spinlock_t moved_lock;		/* mappings to write */
	struct list_head moved;
	unsigned int stale;
	struct dma_resv *jobs;
	struct dma_fence *last_update;
	struct vgpu_vm_job *job;
	struct dma_fence *job_fence;
	bool by_sdma;
	bool tlb_dirty;
	u16 pasid;
	u8 vmid;
	bool scheduled;
	bool vmid_reserved;
	int vram_epoch;
};

/**
 * enum vgpu_peer_way - how a GPU reaches another one's memory
 * @VGPU_PEER_NONE: it does not, or it is its own
 * @VGPU_PEER_XGMI: VRAM at the other's place in the hive
 * @VGPU_PEER_PCIE: what is behind the other's BARs, as bus addresses
 */
enum vgpu_peer_way {
	VGPU_PEER_NONE,
	VGPU_PEER_XGMI,
	VGPU_PEER_PCIE,
};

/**
 * struct vgpu_vm_bo - a BO, or a part of it, mapped at an address
 * @vm: address space
 * @bo: BO; its owner keeps it alive. NULL: a PRT mapping
 * @bo_link: in bo->vm_mappings; the BO's reservation, vgpu_userptr_lock()
 * @moved_link: in vm->moved while @moved; vm->moved_lock
 * @pages: in vm->bos, first and last page; vm->alloc_lock,
 *         vgpu_userptr_lock()
 * @offset: of the first byte in the BO; page aligned
 * @pte_flags: VGPU_PTE_* without V, S, SNOOPED and address
 * @claimed: by vgpu_vm_bo_claim(): somebody has a pointer to it, so it goes by
 *           vgpu_vm_bo_unmap() alone, whole; does not change
 * @peer: how @vm's GPU reaches VRAM or registers of the BO's, if that is another
 *        one; does not change: a link that goes down makes faults
 * @moved: the BO moved since the entries were written, or they never were: they
 *         are clear, but if @stale, as may be those of a user pointer that has
 *         not moved yet. This and @stale: the BO's reservation
 * @stale: they lead to where the BO was, since its users may not be done with
 *         that (docs/driver.md, "Life of a move")
 */
struct vgpu_vm_bo {
	struct vgpu_vm *vm;
	struct vgpu_bo *bo;
	struct list_head bo_link;
	struct list_head moved_link;
	struct interval_tree_node pages;
	u64 offset;
	u64 pte_flags;
	bool claimed;
	enum vgpu_peer_way peer;
	bool moved;
	bool stale;
};

/* vgpu_vm_peer.c */
enum vgpu_peer_way vgpu_peer_find(struct vgpu_device *vdev,
				  const struct vgpu_device *owner, bool vram);

/* vgpu_vmid.c */
int vgpu_vmm_init(struct vgpu_device *vdev);
void vgpu_vmm_fini(struct vgpu_device *vdev);
void vgpu_vmm_set_wait_jobs(struct vgpu_device *vdev, void (*wait_jobs)(struct vgpu_vm *vm));
bool vgpu_vm_is_lost(struct vgpu_vm *vm);
int vgpu_vm_get_vmid(struct vgpu_vm *vm);
void vgpu_vm_put_vmid(struct vgpu_vm *vm);
unsigned int vgpu_vmids_in_use(struct vgpu_device *vdev);
int vgpu_vm_schedule(struct vgpu_vm *vm, u64 *root_pde);

/* vgpu_vm.c */
struct vgpu_vm *vgpu_vm_create(struct vgpu_device *vdev, u16 pasid,
			       bool compute);
void vgpu_vm_destroy(struct vgpu_vm *vm);
int vgpu_vm_reserve_tables(struct vgpu_vm *vm, u64 first, u64 last);
void vgpu_vm_unreserve_tables(struct vgpu_vm *vm);
void vgpu_vm_lock_pt(struct vgpu_vm *vm);
void vgpu_vm_unlock_pt(struct vgpu_vm *vm);
void vgpu_vm_write_spans(struct vgpu_vm *vm, u64 first,
			 const struct vgpu_vm_span *spans, unsigned int n);
void vgpu_vm_clear_range(struct vgpu_vm *vm, u64 first, u64 last, bool noretry);
void vgpu_vm_deny_page(struct vgpu_vm *vm, u64 page);
u64 vgpu_vm_read_pte(struct vgpu_vm *vm, u64 page);
void vgpu_vm_flush(struct vgpu_vm *vm);
u64 vgpu_vm_table_bytes(struct vgpu_vm *vm);

/* vgpu_vm_print.c */
void vgpu_vm_print(struct vgpu_vm *vm, struct drm_printer *p);

/* vgpu_vm_bo.c */
int vgpu_vm_bo_claim(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va, u64 offset,
		     u64 size, u64 pte_flags, enum vgpu_peer_way peer,
		     struct vgpu_vm_bo **out);
int vgpu_vm_bo_update(struct vgpu_vm_bo *const *vbos, unsigned int n);
void vgpu_vm_bo_unmap(struct vgpu_vm_bo *vbo);
void vgpu_vm_bo_move_notify(struct vgpu_bo *bo, struct ttm_resource *new);
void vgpu_vm_bo_move_later(struct vgpu_bo *bo);
int vgpu_vm_bo_move_users(struct vgpu_bo *bo, struct drm_sched_job *job);
void vgpu_vm_bo_unmap_notify(struct vgpu_bo *bo);
bool vgpu_vm_va_busy(struct vgpu_vm *vm, u64 first, u64 last);

/* vgpu_vm_va.c: mappings by address, the render node's */
int vgpu_vm_bo_add(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va, u64 offset,
		   u64 size, u64 pte_flags);
int vgpu_vm_bo_unmap_va(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va);
void vgpu_vm_bo_unmap_all(struct vgpu_vm *vm, struct vgpu_bo *bo);
int vgpu_vm_lock_range(struct vgpu_vm *vm, u64 va, u64 size,
		       struct drm_exec *exec);
int vgpu_vm_clear_mappings(struct vgpu_vm *vm, u64 va, u64 size);
int vgpu_vm_map_prt(struct vgpu_vm *vm, u64 va, u64 size);
int vgpu_vm_update_moved(struct vgpu_vm *vm, struct ww_acquire_ctx *ticket,
			 bool idle);
struct dma_fence *vgpu_vm_last_update(struct vgpu_vm *vm);
int vgpu_vm_settle(struct vgpu_vm *vm, bool idle);
bool vgpu_vm_is_settled(struct vgpu_vm *vm);

/* vgpu_vm_shared.c: the same in KFD's */
unsigned int vgpu_vm_bo_count(struct vgpu_vm *vm, const struct vgpu_bo *bo);
int vgpu_vm_bo_update_all(struct vgpu_vm *vm, struct vgpu_bo *bo);
bool vgpu_vm_has_va(struct vgpu_vm *vm);

/* vgpu_vm_revive.c */
void vgpu_vm_revive(struct vgpu_vm *vm);

#endif /* VGPU_VM_H */
