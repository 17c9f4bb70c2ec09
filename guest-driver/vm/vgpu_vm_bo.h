/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BOs, or parts of them, mapped in address spaces: by KFD, one mapping at a time, and
 * by address (GEM_VA). Functions are documented where they are defined.
 */
#ifndef VGPU_VM_BO_H
#define VGPU_VM_BO_H

#include <linux/interval_tree.h>
#include <linux/list.h>
#include <linux/types.h>

struct dma_fence;
struct drm_exec;
struct vgpu_bo;
struct vgpu_device;
struct vgpu_vm;
struct ww_acquire_ctx;

/**
 * enum vgpu_peer_way - how a GPU reaches VRAM or registers of another GPU
 * @VGPU_PEER_NONE: not at all; also for memory of the GPU itself
 * @VGPU_PEER_XGMI: VRAM, at the other GPU's place in the hive
 * @VGPU_PEER_PCIE: by bus addresses in BARs of the other GPU
 */
enum vgpu_peer_way {
	VGPU_PEER_NONE,
	VGPU_PEER_XGMI,
	VGPU_PEER_PCIE,
};

/**
 * struct vgpu_vm_bo - a BO, or a part of it, mapped at an address
 * @vm: address space
 * @bo: BO; the owner of the mapping keeps it alive. NULL: a PRT mapping
 * @bo_link: in bo->vm_mappings; protected by the BO's reservation and vgpu_userptr_lock()
 * @moved_link: in vm->moved while @moved; protected by vm->moved_lock
 * @pages: in vm->bos: first and last page; protected by vm->alloc_lock and
 *         vgpu_userptr_lock()
 * @offset: offset of the first byte in the BO; page aligned
 * @pte_flags: VGPU_PTE_* of the entries, without VALID, SYSTEM, SNOOPED and the address
 * @claimed: created by vgpu_vm_bo_claim(): its creator has a pointer to it, so only
 *           vgpu_vm_bo_unmap() removes it, as a whole; constant
 * @peer: how the GPU of @vm reaches VRAM or registers of the BO's GPU, if that is another
 *        GPU. Constant: accesses fault after an XGMI link goes down
 * @moved: the BO moved since the entries were written, or they were never written. The
 *         entries are clear, except if @stale; a user pointer may have entries until it
 *         moves. @moved and @stale are protected by the BO's reservation
 * @stale: the entries translate to the BO's previous memory, which its users may still
 *         need (docs/driver.md, "Life of a move")
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

/* vgpu_vm_bo.c */
int vgpu_vm_bo_claim(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va, u64 offset,
		     u64 size, u64 pte_flags, enum vgpu_peer_way peer,
		     struct vgpu_vm_bo **out);
int vgpu_vm_bo_update(struct vgpu_vm_bo *const *vbos, unsigned int n);
void vgpu_vm_bo_unmap(struct vgpu_vm_bo *vbo);
bool vgpu_vm_va_busy(struct vgpu_vm *vm, u64 first, u64 last);

/* vgpu_vm_va.c: mappings by address, of the render node */
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
int vgpu_vm_clear_stale(struct vgpu_vm *vm, bool idle);
bool vgpu_vm_has_stale(struct vgpu_vm *vm);

/* vgpu_vm_va_kfd.c: mappings by address in KFD's address spaces */
unsigned int vgpu_vm_bo_count(struct vgpu_vm *vm, const struct vgpu_bo *bo);
int vgpu_vm_bo_update_all(struct vgpu_vm *vm, struct vgpu_bo *bo);
bool vgpu_vm_has_va(struct vgpu_vm *vm);

#endif /* VGPU_VM_BO_H */
