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

/* 1 and 2; those behind are KFD's. */
#define VGPU_NUM_GFX_VMIDS	2

/* As many as amdgpu takes for an engine of this kind. */
#define VGPU_MAX_IBS		49u

/**
 * struct vgpu_vmid_slot - a VMID of the render node
 * @vm: who has it, or NULL
 * @used: the last job in it, by engine, or NULL
 * @claim: job that is about to be given to an engine, by engine, or NULL
 * @wanted: somebody waits until it is idle: its owner's next job waits, too
 */
struct vgpu_vmid_slot {
	struct vgpu_vm *vm;
	struct dma_fence *used[VGPU_NUM_SDMA];
	struct dma_fence *claim[VGPU_NUM_SDMA];
	bool wanted;
};

/**
 * struct vgpu_sched - what runs the jobs of a device's render node
 * @vmid_lock: protects @vmid and @next_vmid. On the way to fences
 * @vmid: who runs in which VMID
 * @files: struct vgpu_file by PASID, those with an address space; its own lock
 *         also protects vgpu_file.fault. Taken in hard interrupt context
 * @next_vmid: which one to take next when none is idle
 * @jobs: number of jobs that are not freed; vgpu_job_destroy() calls wake_up_var() on it
 *        when it becomes zero
 */
struct vgpu_sched {
	struct mutex vmid_lock;	/* VMIDs of jobs */
	struct vgpu_vmid_slot vmid[VGPU_NUM_GFX_VMIDS];
	unsigned int next_vmid;
	struct xarray files;
	atomic_t jobs;
};

void vgpu_sched_release(struct drm_device *drm, void *arg);
void vgpu_sched_vm_gone(struct vgpu_vm *vm);
void vgpu_sched_wait_vm(struct vgpu_vm *vm);

#endif /* VGPU_SCHED_H */
