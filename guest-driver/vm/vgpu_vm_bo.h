/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mappings of BOs, or of parts of BOs, in address spaces. KFD holds a pointer to each of its
 * mappings; the render node names a mapping by its address (GEM_VA). Functions are documented
 * where they are defined.
 */
#ifndef VGPU_VM_BO_H
#define VGPU_VM_BO_H

#include <linux/types.h>

struct dma_fence;
struct drm_exec;
struct vgpu_bo;
struct vgpu_device;
struct vgpu_vm;
struct vgpu_vm_bo;
struct ww_acquire_ctx;

/**
 * enum vgpu_peer_way - how a GPU reaches VRAM or registers of another GPU
 */
enum vgpu_peer_way {
	/** @VGPU_PEER_NONE: not at all; also used for own VRAM, own registers, and system memory */
	VGPU_PEER_NONE,
	/** @VGPU_PEER_XGMI: by XGMI, in the hive's address space; VRAM only */
	VGPU_PEER_XGMI,
	/** @VGPU_PEER_PCIE: by PCIe, at bus addresses in the BARs of the other GPU */
	VGPU_PEER_PCIE,
};

/* vgpu_vm_peer.c */
enum vgpu_peer_way vgpu_peer_find(struct vgpu_device *vdev,
				  const struct vgpu_device *owner, bool vram);

/* vgpu_vm_bo.c */
int vgpu_vm_bo_claim(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va, u64 offset,
		     u64 size, u64 pte_flags, enum vgpu_peer_way peer,
		     struct vgpu_vm_bo **out);
bool vgpu_vm_bo_has_moved(const struct vgpu_vm_bo *vbo);
int vgpu_vm_bo_update(struct vgpu_vm_bo *const *vbos, unsigned int n);
void vgpu_vm_bo_unmap(struct vgpu_vm_bo *vbo);
bool vgpu_vm_va_busy(struct vgpu_vm *vm, u64 first, u64 last);

/*
 * vgpu_vm_va.c: mappings that GEM_VA creates. Callers name such a mapping by its GPU address,
 * because they keep no pointer to its struct vgpu_vm_bo.
 */
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
unsigned int vgpu_vm_bo_count(struct vgpu_vm *vm, const struct vgpu_bo *bo);

/* vgpu_vm_va_kfd.c: mappings that GEM_VA creates in KFD's address spaces */
int vgpu_vm_bo_update_all(struct vgpu_vm *vm, struct vgpu_bo *bo);
bool vgpu_vm_has_va(struct vgpu_vm *vm);

#endif /* VGPU_VM_BO_H */
