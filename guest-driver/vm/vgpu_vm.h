/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GPU address spaces: page tables in VRAM, and VMIDs. For mappings of BOs see vgpu_vm_bo.h.
 * Functions are documented where they are defined.
 */
#ifndef VGPU_VM_H
#define VGPU_VM_H

#include <linux/mutex.h>
#include <linux/types.h>

#include "vgpu/pte.h"
#include "hw/vgpu_vmid.h"

struct dma_resv;
struct drm_printer;
struct vgpu_device;

/**
 * struct vgpu_vm - one GPU address space; first member of vm/'s struct vgpu_vm_state
 */
struct vgpu_vm {
	/** @vdev: device */
	struct vgpu_device *vdev;
	/**
	 * @va_lock: protects mappings of GEM_VA, and the fence of vgpu_vm_last_update(). In KFD's
	 * address spaces, a change of a GEM_VA mapping needs @va_lock and kfd_process.mutex, and a
	 * change of any other mapping needs kfd_process.mutex only. Taken before reservations
	 */
	struct mutex va_lock;
	/**
	 * @push_lock: held while drm/ tests for stale entries (vgpu_vm_has_stale()) and pushes a
	 * job, and while entries become stale. Taken after reservations; the holder neither
	 * allocates nor waits for fences
	 */
	struct mutex push_lock;
	/**
	 * @jobs: reservation with the fence of every job that runs in the address space; NULL in
	 * address spaces of KFD. Set by drm/ before other threads find the address space
	 */
	struct dma_resv *jobs;
	/**
	 * @vmid: VMID, or 0 if none is assigned. Changed with vgpu_vm_state.pt_lock held, read
	 * without a lock
	 */
	u8 vmid;
	/**
	 * @vmid_reserved: if true, drm/ takes @vmid away only if all VMIDs of the render node are
	 * reserved. Set and read by drm/ without a lock
	 */
	bool vmid_reserved;
	/**
	 * @vram_epoch: value of vgpu_hw.vram_epoch when the page tables were created, or rewritten
	 * after a loss of VRAM (vgpu_vm_restore_tables()). Read without a lock
	 */
	int vram_epoch;
};

/**
 * struct vgpu_vm_span - contiguous memory to map
 */
struct vgpu_vm_span {
	/**
	 * @addr: bus address if @pte_flags has VGPU_PTE_SYSTEM, else offset from the start of this
	 * GPU's VRAM. A hive peer's VRAM lies above or below this GPU's VRAM in the hive's address
	 * range. For VRAM below, the offset is negative (modulo 2^64)
	 */
	u64 addr;
	/** @npages: size in pages of VGPU_PAGE_SIZE */
	u64 npages;
	/**
	 * @pte_flags: VGPU_PTE_* of the entries, including VGPU_PTE_VALID, without address and
	 * fragment
	 */
	u64 pte_flags;
};

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
int vgpu_vm_try_reserve_tables(struct vgpu_vm *vm, u64 first, u64 last);
void vgpu_vm_prepare_table(struct vgpu_vm *vm);
void vgpu_vm_unreserve_tables(struct vgpu_vm *vm);
void vgpu_vm_lock_pt(struct vgpu_vm *vm);
void vgpu_vm_unlock_pt(struct vgpu_vm *vm);
void vgpu_vm_write_spans(struct vgpu_vm *vm, u64 first,
			 const struct vgpu_vm_span *spans, unsigned int n);
void vgpu_vm_clear_range(struct vgpu_vm *vm, u64 first, u64 last, bool noretry);
void vgpu_vm_deny_page(struct vgpu_vm *vm, u64 page);
u64 vgpu_vm_read_pte(struct vgpu_vm *vm, u64 page);
u64 vgpu_vm_table_bytes(struct vgpu_vm *vm);

/* vgpu_vm_debugfs.c */
void vgpu_vm_print(struct vgpu_vm *vm, struct drm_printer *p);

/* vgpu_vm_restore.c */
void vgpu_vm_restore_tables(struct vgpu_vm *vm);

#endif /* VGPU_VM_H */
