/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs of the render node, and the VMIDs that they run in. Functions are
 * documented where they are defined.
 */
#ifndef VGPU_SCHED_H
#define VGPU_SCHED_H

#include <linux/xarray.h>
#include <drm/gpu_scheduler.h>

#include "vgpu/sdma.h"

struct drm_device;
struct vgpu_vm;

/* Number of the render node's VMIDs, which are 1 and 2. KFD uses the higher VMIDs. */
#define VGPU_NUM_GFX_VMIDS	2

/* Limit of IBs in a job. amdgpu has the same limit for SDMA engines. */
#define VGPU_MAX_IBS		49u

/**
 * struct vgpu_vmid_slot - a VMID of the render node
 */
struct vgpu_vmid_slot {
	/** @vm: address space that has the VMID, or NULL */
	struct vgpu_vm *vm;
	/** @used: for each engine, the hardware fence of the last job in the VMID, or NULL */
	struct dma_fence *used[VGPU_NUM_SDMA];
	/**
	 * @claim: for each engine, drm_sched_fence.finished of the job that will be submitted next
	 * in the VMID, or NULL
	 */
	struct dma_fence *claim[VGPU_NUM_SDMA];
	/**
	 * @wanted: true if a job of another address space waits until the VMID is idle; then new
	 * jobs of @vm also wait
	 */
	bool wanted;
};

/**
 * struct vgpu_sched - VMIDs and jobs of a device's render node
 */
struct vgpu_sched {
	/**
	 * @vmid_lock: protects @vmid and @next_vmid. Fences depend on this lock, so its holders do
	 * not allocate.
	 */
	struct mutex vmid_lock;
	/** @vmid: owner and jobs of each VMID */
	struct vgpu_vmid_slot vmid[VGPU_NUM_GFX_VMIDS];
	/**
	 * @next_vmid: sched_free_vmid() starts its search at this index of @vmid, modulo
	 * VGPU_NUM_GFX_VMIDS
	 */
	unsigned int next_vmid;
	/**
	 * @files: struct vgpu_file with an address space, by PASID. The xarray's lock also
	 * protects vgpu_file.fault, and is taken in hard interrupt context.
	 */
	struct xarray files;
	/**
	 * @jobs: number of jobs that are not freed. vgpu_job_destroy() calls wake_up_var() on @jobs
	 * when the number becomes zero.
	 */
	atomic_t jobs;
};

void vgpu_sched_release(struct drm_device *drm, void *arg);
void vgpu_sched_vm_gone(struct vgpu_vm *vm);
void vgpu_sched_wait_vm(struct vgpu_vm *vm);

#endif /* VGPU_SCHED_H */
