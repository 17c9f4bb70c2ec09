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
 * @vm: address space that has the VMID, or NULL
 * @used: for each engine, the fence of the last job in the VMID, or NULL
 * @claim: for each engine, the finished fence of a job that is about to be submitted, or NULL
 * @wanted: true if a job of another address space waits until the VMID is idle; then new jobs
 *          of @vm also wait
 */
struct vgpu_vmid_slot {
	struct vgpu_vm *vm;
	struct dma_fence *used[VGPU_NUM_SDMA];
	struct dma_fence *claim[VGPU_NUM_SDMA];
	bool wanted;
};

/**
 * struct vgpu_sched - VMIDs and jobs of a device's render node
 * @vmid_lock: protects @vmid and @next_vmid. Fences depend on this lock, so its holders do not
 *             allocate
 * @vmid: owner and jobs of each VMID
 * @files: struct vgpu_file with an address space, by PASID; the xarray's lock
 *         also protects vgpu_file.fault, and is taken in hard interrupt context
 * @next_vmid: index at which the search for a VMID to take starts
 * @jobs: number of jobs that are not freed; vgpu_job_destroy() calls wake_up_var() on @jobs when
 *        the number becomes zero
 */
struct vgpu_sched {
	struct mutex vmid_lock;	/* protects vmid and next_vmid */
	struct vgpu_vmid_slot vmid[VGPU_NUM_GFX_VMIDS];
	unsigned int next_vmid;
	struct xarray files;
	atomic_t jobs;
};

void vgpu_sched_release(struct drm_device *drm, void *arg);
void vgpu_sched_vm_gone(struct vgpu_vm *vm);
void vgpu_sched_wait_vm(struct vgpu_vm *vm);

#endif /* VGPU_SCHED_H */
