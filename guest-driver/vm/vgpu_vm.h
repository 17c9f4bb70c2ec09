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
#include <linux/types.h>

#include "vgpu_pt.h"

struct ttm_resource;
struct vgpu_bo;
struct vgpu_device;

/* 1 and 2 are left to graphics, as amdgpu does. */
#define VGPU_FIRST_KFD_VMID	3
#define VGPU_LAST_KFD_VMID	15

/**
 * struct vgpu_vm_manager - VMIDs of a device
 * @lock: protects @vmid_owner; innermost sleeping lock
 * @vmid_owner: the VM that has each VMID, or NULL
 */
struct vgpu_vm_manager {
	struct mutex lock;	/* who has which VMID */
	struct vgpu_vm *vmid_owner[VGPU_LAST_KFD_VMID + 1];
};

/**
 * struct vgpu_vm - one GPU address space
 * @vdev: device
 * @alloc_lock: serialises growth of the tree and protects @bos and @pool.
 *              Allocates under it, so never taken in reclaim or a notifier.
 *              Inside BO reservations
 * @pt_lock: protects @pt and, to change it, @vmid. Taken in MMU notifiers, so
 *           nothing under it allocates or waits for reclaim. Inside
 *           @alloc_lock. Tables are freed only with the VM: clearing entries
 *           needs @pt_lock alone
 * @pt: page tables
 * @pool: struct vgpu_vm_pool, VRAM that the tables are made of
 * @bos: struct vgpu_vm_bo by page
 * @pasid: whose faults the hardware says they are
 * @vmid: 0 while none is assigned
 */
struct vgpu_vm {
	struct vgpu_device *vdev;
	struct mutex alloc_lock;	/* growth */
	struct mutex pt_lock;		/* entries */
	struct vgpu_pt pt;
	struct list_head pool;
	struct rb_root_cached bos;
	u16 pasid;
	u8 vmid;
};

/**
 * struct vgpu_vm_bo - a BO mapped at an address
 * @vm: address space
 * @bo: BO; its owner keeps it alive
 * @bo_link: in bo->vm_mappings; the BO's reservation
 * @pages: in vm->bos, first and last page; vm->alloc_lock
 * @va: first byte; page aligned
 * @size: bytes, whole pages
 * @offset: of the first byte in the BO; page aligned
 * @pte_flags: VGPU_PTE_* without V, S, SNOOPED and address
 * @moved: the BO moved since the entries were written: they are clear. The
 *         BO's reservation
 */
struct vgpu_vm_bo {
	struct vgpu_vm *vm;
	struct vgpu_bo *bo;
	struct list_head bo_link;
	struct interval_tree_node pages;
	u64 va;
	u64 size;
	u64 offset;
	u64 pte_flags;
	bool moved;
};

/* vgpu_pasid.c */
int vgpu_pasid_alloc(void);
void vgpu_pasid_free(u16 pasid);

/* vgpu_vm.c */
int vgpu_vmm_init(struct vgpu_device *vdev);
void vgpu_vmm_fini(struct vgpu_device *vdev);
struct vgpu_vm *vgpu_vm_create(struct vgpu_device *vdev, u16 pasid);
void vgpu_vm_destroy(struct vgpu_vm *vm);
int vgpu_vm_get_vmid(struct vgpu_vm *vm);
void vgpu_vm_put_vmid(struct vgpu_vm *vm);
int vgpu_vm_reserve_tables(struct vgpu_vm *vm, u64 first, u64 last);
void vgpu_vm_lock_pt(struct vgpu_vm *vm);
void vgpu_vm_unlock_pt(struct vgpu_vm *vm);
void vgpu_vm_write_spans(struct vgpu_vm *vm, u64 first,
			 const struct vgpu_vm_span *spans, unsigned int n);
void vgpu_vm_clear_range(struct vgpu_vm *vm, u64 first, u64 last, bool noretry);
u64 vgpu_vm_read_pte(struct vgpu_vm *vm, u64 page);
void vgpu_vm_flush(struct vgpu_vm *vm);

/* vgpu_vm_bo.c */
int vgpu_vm_bo_map(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va, u64 offset,
		   u64 size, u64 pte_flags, struct vgpu_vm_bo **out);
int vgpu_vm_bo_update(struct vgpu_vm_bo *vbo);
void vgpu_vm_bo_unmap(struct vgpu_vm_bo *vbo);
void vgpu_vm_bo_move_notify(struct vgpu_bo *bo, struct ttm_resource *new);
bool vgpu_vm_va_busy(struct vgpu_vm *vm, u64 first, u64 last, u64 *bo_first,
		     u64 *bo_last);

#endif /* VGPU_VM_H */
