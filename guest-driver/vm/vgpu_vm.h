/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vm/: GPU address spaces. Page tables in VRAM, VMIDs. vgpu_vm_bo.h has the mappings of
 * BOs. Functions are documented where they are defined.
 */
#ifndef VGPU_VM_H
#define VGPU_VM_H

#include <linux/interval_tree.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "hw/vgpu_vmid.h"
#include "vgpu_pt.h"

struct dma_fence;
struct dma_resv;
struct drm_printer;
struct vgpu_device;
struct vgpu_vm_job;

/**
 * struct vgpu_vm - one GPU address space
 * @vdev: device
 * @compute: true: address space of KFD; false: of the render node
 * @va_lock: if not @compute: protects the mappings and @last_update. If @compute, the
 *           mutex of the KFD process protects the mappings; for mappings by address
 *           this lock is taken as well. Outside BO reservations
 * @alloc_lock: serialises growth of the tree and protects @bos and @pool. Memory is
 *              allocated under it: never taken in reclaim or a notifier. Inside BO
 *              reservations. Entries of pages that leave @bos are cleared before the
 *              lock is dropped: svm/ writes entries of pages that are not in @bos
 * @pt_lock: protects @pt and changes of @vmid. Taken in MMU notifiers, so nothing under
 *           it allocates or waits for reclaim. Inside @alloc_lock. Clearing entries
 *           needs only this lock; tables are freed with both held
 * @pt: page tables
 * @pool: struct vgpu_vm_pool, VRAM of the tables
 * @reserved: number of calls of vgpu_vm_reserve_tables() that have not been undone;
 *            raised with @alloc_lock held
 * @trim_work: frees empty tables
 * @bos: struct vgpu_vm_bo by page; if not @compute, changes need @va_lock as well
 * @push_lock: a job is pushed only while @stale is 0, and @stale is raised only with
 *             this lock held. Inside reservations; nothing under it allocates or waits
 * @moved_lock: protects @moved and @stale; innermost
 * @moved: struct vgpu_vm_bo whose entries are to be written
 * @stale: number of struct vgpu_vm_bo in @moved with stale entries
 * @jobs: reservation with the fence of every job that runs in the address space; NULL
 *        if @compute
 * @last_update: fence that jobs depend on, or NULL
 * @job: packets by which SDMA will write entries; NULL: the CPU writes all entries.
 *       @pt_lock protects @job, @job_fence, @by_sdma and @tlb_dirty
 * @job_fence: fence of the last job submitted, or NULL
 * @by_sdma: entries that are written now are collected in @job
 * @tlb_dirty: the TLB may hold stale translations: the next publication of entries
 *             flushes
 * @pasid: PASID that faults of the address space carry
 * @vmid: VMID; 0: none assigned
 * @scheduled: run lists may name the address space, which then has any of
 *             VGPU_HWS_VMIDS; never cleared
 * @vmid_reserved: drm/ takes VMIDs from other address spaces first
 * @vram_epoch: vgpu_hw.vram_epoch when the tables were created
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
u64 vgpu_vm_table_bytes(struct vgpu_vm *vm);

/* vgpu_vm_debugfs.c */
void vgpu_vm_print(struct vgpu_vm *vm, struct drm_printer *p);

/* vgpu_vm_restore.c */
void vgpu_vm_restore_tables(struct vgpu_vm *vm);

#endif /* VGPU_VM_H */
