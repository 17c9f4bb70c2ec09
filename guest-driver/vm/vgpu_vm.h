/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vm/: GPU address spaces. Page tables in VRAM, VMIDs, PASIDs.
 */
#ifndef VGPU_VM_H
#define VGPU_VM_H

#include <linux/idr.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "vgpu/pte.h"

struct vgpu_bo;
struct vgpu_device;
struct vgpu_vm_pt;
struct ttm_resource;

#define VGPU_FIRST_KFD_VMID	3
#define VGPU_LAST_KFD_VMID	15

/**
 * struct vgpu_vm_manager - VMIDs of a device
 * @lock: protects @vmid_owner; innermost sleeping lock
 */
struct vgpu_vm_manager {
	struct mutex lock;
	struct vgpu_vm *vmid_owner[16];
};

/**
 * struct vgpu_vm - one GPU address space
 * @alloc_lock: serialises growth of the tree (allocates; never in reclaim or
 *              in a notifier)
 * @pt_lock: protects entries and @vmid; taken in MMU notifiers, so nothing
 *           under it allocates or waits for reclaim. Order: alloc_lock ->
 *           pt_lock -> hw.inv_lock. Tables are freed only with the VM, so
 *           clearing entries needs @pt_lock alone.
 * @vmid: 0 while none is assigned
 * @bos: struct vgpu_vm_bo of this VM, under @alloc_lock
 */
struct vgpu_vm {
	struct vgpu_device *vdev;
	struct mutex alloc_lock;
	struct mutex pt_lock;
	struct vgpu_vm_pt *root;
	struct list_head bos;
	u16 pasid;
	u8 vmid;
	bool retry_denied;
};

/**
 * struct vgpu_vm_bo - a BO mapped at an address
 * @va: first byte; @size: bytes; both page aligned
 * @pte_flags: VGPU_PTE_* without V, S and address
 * @moved: the BO moved since the entries were written (they are clear)
 */
struct vgpu_vm_bo {
	struct vgpu_vm *vm;
	struct vgpu_bo *bo;
	struct list_head vm_link;	/* vm->bos */
	struct list_head bo_link;	/* bo->vm_mappings, reservation held */
	u64 va;
	u64 size;
	u64 offset;
	u64 pte_flags;
	bool mapped;
	bool moved;
};

int vgpu_vmm_init(struct vgpu_device *vdev);
void vgpu_vmm_fini(struct vgpu_device *vdev);

/* PASIDs are global over all devices: 1..0xffff. */
int vgpu_pasid_alloc(void);
void vgpu_pasid_free(u16 pasid);

struct vgpu_vm *vgpu_vm_create(struct vgpu_device *vdev, u16 pasid);
void vgpu_vm_destroy(struct vgpu_vm *vm);

/*
 * Assign a hardware VMID and program it; 0 or -ENOSPC. Idempotent. Released
 * when the process's last queue goes.
 */
int vgpu_vm_get_vmid(struct vgpu_vm *vm);
void vgpu_vm_put_vmid(struct vgpu_vm *vm);

/* Map a BO; its reservation held, placement valid. Flushes nothing: new entries. */
int vgpu_vm_bo_map(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va, u64 offset,
		   u64 size, u64 pte_flags, struct vgpu_vm_bo **out);
/* Write the entries again after a move. Reservation held. */
int vgpu_vm_bo_update(struct vgpu_vm_bo *vbo);
/* Clear the entries, flush, free @vbo. Reservation held. */
void vgpu_vm_bo_unmap(struct vgpu_vm_bo *vbo);

/*
 * Make sure page tables exist for [first, last] (page numbers), so that a
 * later vgpu_vm_write_pages() cannot fail. May allocate and sleep.
 */
int vgpu_vm_reserve_tables(struct vgpu_vm *vm, u64 first, u64 last);

/**
 * struct vgpu_vm_span - contiguous memory for the writer
 * @addr: bus address (system) or VRAM offset
 * @npages: length
 */
struct vgpu_vm_span {
	u64 addr;
	u64 npages;
	u64 pte_flags;		/* VGPU_PTE_* without address; V and S included */
};

/*
 * Write entries for consecutive spans from page @first. Tables must be
 * reserved. Huge leaves and fragments are chosen from the spans. Caller holds
 * pt_lock (vgpu_vm_lock_pt), so that it can check its notifier sequence
 * before. Flushes the TLB if an entry that was valid changed.
 */
void vgpu_vm_write_spans(struct vgpu_vm *vm, u64 first,
			 const struct vgpu_vm_span *spans, unsigned int n);
/*
 * Clear entries of [first, last] and flush if any was valid. Callable from
 * MMU notifiers. Takes pt_lock itself. With @noretry the entries become
 * VGPU_PTE_NORETRY where tables exist (reserve first for an exact range).
 */
void vgpu_vm_clear_range(struct vgpu_vm *vm, u64 first, u64 last, bool noretry);
void vgpu_vm_lock_pt(struct vgpu_vm *vm);
void vgpu_vm_unlock_pt(struct vgpu_vm *vm);
/* Flush this VM's translations, if it has a VMID. pt_lock held or not. */
void vgpu_vm_flush(struct vgpu_vm *vm);
/* The VM that owns @vmid now, or NULL; takes vmm.lock. */
struct vgpu_vm *vgpu_vm_of_vmid(struct vgpu_device *vdev, unsigned int vmid);

#endif /* VGPU_VM_H */
