// SPDX-License-Identifier: GPL-2.0
/*
 * Creates and submits jobs of the render node.
 *
 * job_prepare() and job_run() must not allocate memory or take a reservation: memory reclaim and
 * the reservation's holder may wait for the job's fence.
 */
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include <kunit/visibility.h>

#include "vgpu/bits.h"
#include "vgpu/sdma_packets.h"
#include "hw/sdma/vgpu_sdma.h"
#include "hw/sdma/vgpu_sdma_sched.h"
#include "hw/vgpu_hw.h"
#include "mm/vgpu_mm.h"
#include "vm/vgpu_vm.h"
#include "vgpu_drm.h"
#include "vgpu_file.h"
#include "vgpu_sched.h"

/* Dwords of a job's user fence: two FENCE packets, one for each half of the 64-bit value. */
#define USER_FENCE_DWORDS	(2 * SDMA_FENCE_DWORDS)

static struct vgpu_job *to_job(struct vgpu_sdma_job *base)
{
	return container_of(base, struct vgpu_job, base);
}

static unsigned int job_engine(const struct vgpu_job *job)
{
	return vgpu_sdma_job_engine(&job->base);
}

/* Return the fence of a job that keeps the VMID busy, or NULL. The caller holds vmid_lock. */
static struct dma_fence *slot_busy(const struct vgpu_vmid_slot *slot)
{
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		if (slot->claim[i])
			return slot->claim[i];
		if (slot->used[i] && !dma_fence_is_signaled(slot->used[i]))
			return slot->used[i];
	}
	return NULL;
}

static void slot_forget(struct vgpu_vmid_slot *slot)
{
	unsigned int i;

	for (i = 0; i < VGPU_NUM_SDMA; i++) {
		dma_fence_put(slot->used[i]);
		slot->used[i] = NULL;
	}
	slot->vm = NULL;
	slot->wanted = false;
}

/*
 * Take an idle VMID from its address space, so that vgpu_vm_get_vmid() finds a free VMID. Returns a
 * fence to wait for if no VMID is idle, else NULL. The caller holds vmid_lock.
 */
static struct dma_fence *sched_free_vmid(struct vgpu_sched *sched)
{
	struct vgpu_vmid_slot *victim = NULL;
	struct dma_fence *wait = NULL;
	unsigned int i, pass;

	/*
	 * Pass 0 skips reserved VMIDs (vgpu_vm.vmid_reserved). Pass 1 runs only if all VMIDs are
	 * reserved.
	 */
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < VGPU_NUM_GFX_VMIDS; i++) {
			struct vgpu_vmid_slot *slot;
			struct dma_fence *busy;

			slot = &sched->vmid[(sched->next_vmid + i) %
					    VGPU_NUM_GFX_VMIDS];
			if (!slot->vm ||
			    (!pass && READ_ONCE(slot->vm->vmid_reserved)))
				continue;
			busy = slot_busy(slot);
			if (!busy) {
				vgpu_vm_put_vmid(slot->vm);
				slot_forget(slot);
				return NULL;
			}
			if (!victim) {
				victim = slot;
				wait = busy;
			}
		}
		if (victim)
			break;
	}
	if (!victim)
		return NULL;
	sched->next_vmid = victim - sched->vmid + 1;
	victim->wanted = true;
	return dma_fence_get(wait);
}

/*
 * Claim a VMID for the job. Returns a fence to wait for, or NULL if the function has set
 * job->slot or job->error.
 */
static struct dma_fence *job_claim_vmid(struct vgpu_job *job)
{
	struct vgpu_sched *sched = job->vdev->sched;
	unsigned int engine = job_engine(job);
	struct vgpu_vm *vm = job->vm;
	struct vgpu_vmid_slot *slot;
	struct dma_fence *busy;

	lockdep_assert_held(&sched->vmid_lock);

	if (vm->vmid) {
		slot = &sched->vmid[vm->vmid - 1];
		busy = slot_busy(slot);
		if (busy && slot->wanted)
			return dma_fence_get(busy);
		slot->wanted = false;
	} else {
		int ret = vgpu_vm_get_vmid(vm);

		if (ret == -ENOSPC) {
			busy = sched_free_vmid(sched);
			if (busy)
				return busy;
			ret = vgpu_vm_get_vmid(vm);
		}
		if (ret) {
			job->error = ret;
			return NULL;
		}
		slot = &sched->vmid[vm->vmid - 1];
		slot->vm = vm;
	}
	slot->claim[engine] = dma_fence_get(&job->base.base.s_fence->finished);
	job->slot = slot;
	return NULL;
}

static struct dma_fence *job_prepare(struct vgpu_sdma_job *base)
{
	struct vgpu_job *job = to_job(base);
	struct vgpu_sched *sched = job->vdev->sched;
	struct dma_fence *busy;
	int idx;

	if (!drm_dev_enter(&job->vdev->drm, &idx)) {
		job->error = -ENODEV;
		return NULL;
	}
	mutex_lock(&sched->vmid_lock);
	busy = job_claim_vmid(job);
	mutex_unlock(&sched->vmid_lock);
	drm_dev_exit(idx);
	return busy;
}

/*
 * Release the job's claim of a VMID. @fence is the job's hardware fence, or NULL if the job was
 * not submitted to a ring.
 */
static void job_release_claim(struct vgpu_job *job, struct dma_fence *fence)
{
	struct vgpu_sched *sched = job->vdev->sched;
	struct vgpu_vmid_slot *slot = job->slot;
	unsigned int engine = job_engine(job);

	if (!slot)
		return;
	mutex_lock(&sched->vmid_lock);
	dma_fence_put(slot->claim[engine]);
	slot->claim[engine] = NULL;
	if (fence) {
		dma_fence_put(slot->used[engine]);
		slot->used[engine] = dma_fence_get(fence);
	}
	mutex_unlock(&sched->vmid_lock);
	job->slot = NULL;
}

/*
 * Called before the hardware fence of a job signals with @error. @arg is the state of the job's
 * context.
 */
static void job_failed(void *arg, int error)
{
	struct vgpu_ctx_state *state = arg;

	/* -ETIME: the engine failed in this job. */
	if (error == -ETIME)
		atomic_set(&state->guilty, 1);
}

static int job_check(struct vgpu_job *job)
{
	int vram_epoch = atomic_read(&job->vdev->hw->vram_epoch);
	int error = job->base.base.s_fence->finished.error;

	if (error)
		return error;	/* drm_sched sets an error for a guilty context */
	if (job->error)
		return job->error;
	return READ_ONCE(job->vm->vram_epoch) == vram_epoch ? 0 : -ECANCELED;
}

/*
 * Write the job into the ring. Only drm_dev_enter() keeps the device's removal from freeing the
 * ring: the removal does not wait for the scheduler's worker.
 */
static struct dma_fence *job_submit(struct vgpu_job *job)
{
	struct dma_fence *fence;
	unsigned int i;
	int idx;

	if (!drm_dev_enter(&job->vdev->drm, &idx))
		return ERR_PTR(-ENODEV);
	for (i = 0; i < job->num_ibs; i++)
		job->dw[i * SDMA_INDIRECT_DWORDS] |=
			VGPU_PREP(SDMA_INDIRECT__VMID, (u32)job->vm->vmid);
	fence = vgpu_sdma_submit_with(job->vdev, job_engine(job), job->dw,
				      job->ndw, &job->hw_fence);
	drm_dev_exit(idx);
	return fence;
}

/* Wait for earlier jobs of the address space on this engine, before job_run() returns an error. */
static void job_wait_earlier(struct vgpu_job *job)
{
	struct vgpu_sched *sched = job->vdev->sched;
	struct dma_fence *last = NULL;

	/*
	 * When job_run() returns an error, drm_sched signals @job's finished fence. A thread that
	 * waits for this fence may free memory that the earlier jobs use, so these must end first.
	 */
	mutex_lock(&sched->vmid_lock);
	if (job->vm->vmid) {
		struct vgpu_vmid_slot *slot = &sched->vmid[job->vm->vmid - 1];

		last = dma_fence_get(slot->used[job_engine(job)]);
	}
	mutex_unlock(&sched->vmid_lock);
	if (last)
		dma_fence_wait(last, false);
	dma_fence_put(last);
}

static struct dma_fence *job_run(struct vgpu_sdma_job *base)
{
	struct vgpu_job *job = to_job(base);
	struct dma_fence *fence;
	int ret;

	ret = job_check(job);
	fence = ret ? ERR_PTR(ret) : job_submit(job);
	/*
	 * After an error, drm_sched signals the job's finished fence. Earlier jobs must end first:
	 * see job_wait_earlier(). The wait blocks drm_sched's worker, but cannot deadlock: the
	 * hardware fences of the earlier jobs signal without the worker.
	 */
	if (IS_ERR(fence))
		job_wait_earlier(job);
	job_release_claim(job, IS_ERR(fence) ? NULL : fence);
	return fence;
}

static void job_free(struct vgpu_sdma_job *base)
{
	vgpu_job_destroy(to_job(base));
}

static const struct vgpu_sdma_job_ops vgpu_job_ops = {
	.prepare = job_prepare,
	.run = job_run,
	.free = job_free,
};

/**
 * vgpu_job_create() - create a job
 * @vdev: device
 * @vm: address space of the job's buffers
 * @state: state of the job's context; a reference is taken
 * @entity: scheduler entity that the job will be pushed to
 * @max_ibs: number of buffers that will be added, 1 to VGPU_MAX_IBS
 *
 * Return: the job, or ERR_PTR(-ENOMEM), or ERR_PTR(-ENOENT) if there is no engine.
 */
struct vgpu_job *vgpu_job_create(struct vgpu_device *vdev, struct vgpu_vm *vm,
				 struct vgpu_ctx_state *state,
				 struct drm_sched_entity *entity,
				 unsigned int max_ibs)
{
	unsigned int ndw = max_ibs * SDMA_INDIRECT_DWORDS + USER_FENCE_DWORDS;
	struct vgpu_job *job;
	int ret;

	job = kzalloc(struct_size(job, dw, ndw), GFP_KERNEL);
	if (!job)
		return ERR_PTR(-ENOMEM);
	job->hw_fence = vgpu_sdma_fence_alloc(GFP_KERNEL);
	if (!job->hw_fence) {
		kfree(job);
		return ERR_PTR(-ENOMEM);
	}
	ret = vgpu_sdma_job_init(&job->base, &vgpu_job_ops, entity, ndw, vm);
	if (ret) {
		vgpu_sdma_fence_free(job->hw_fence);
		kfree(job);
		return ERR_PTR(ret);
	}
	job->vdev = vdev;
	job->vm = vm;
	job->state = state;
	kref_get(&state->ref);
	/* No dma_fence_cb in the job: drm_sched may free the job while such callbacks run. */
	vgpu_sdma_fence_on_failure(job->hw_fence, job_failed, state);
	/*
	 * Check the epoch of @state, not the epoch of @vm.
	 *
	 * A context created later may
	 * update the epoch of @vm (vgpu_vm_restore_tables()). With the updated epoch this job would
	 * run although VRAM has lost the content that the job needs.
	 */
	vgpu_sdma_fence_needs_vram(job->hw_fence, state->vram_epoch);
	atomic_inc(&vdev->sched->jobs);
	return job;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_job_create);

/**
 * vgpu_job_add_ib() - add an indirect buffer
 * @job: job to which vgpu_job_add_user_fence() has not been applied yet
 * @va: address of the buffer
 * @ndw: length of the buffer, up to 2^20 - 1 dwords
 */
void vgpu_job_add_ib(struct vgpu_job *job, u64 va, u32 ndw)
{
	u32 *dw = job->dw + job->ndw;

	job->ndw += SDMA_INDIRECT_DWORDS;
	job->num_ibs++;
	dw[0] = SDMA_OP_INDIRECT;
	dw[1] = lower_32_bits(va);
	dw[2] = upper_32_bits(va);
	dw[3] = VGPU_PREP(SDMA_INDIRECT_DW3__SIZE, ndw);
	/* There is no context save area, because jobs are not preempted. */
	dw[4] = 0;
	dw[5] = 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_job_add_ib);

static void job_emit_fence(struct vgpu_job *job, u64 mc, u32 value)
{
	u32 *dw = job->dw + job->ndw;

	job->ndw += SDMA_FENCE_DWORDS;
	dw[0] = SDMA_OP_FENCE;
	dw[1] = lower_32_bits(mc);
	dw[2] = upper_32_bits(mc);
	dw[3] = value;
}

/**
 * vgpu_job_add_user_fence() - write a number to memory when the job's indirect buffers are done
 * @job: job to which all indirect buffers have been added
 * @mc: address in VMID 0, 4-byte aligned
 * @value: number
 */
void vgpu_job_add_user_fence(struct vgpu_job *job, u64 mc, u64 value)
{
	job_emit_fence(job, mc, lower_32_bits(value));
	job_emit_fence(job, mc + 4, upper_32_bits(value));
}

/**
 * vgpu_job_destroy() - free a job
 * @job: job that was not pushed, or has finished
 */
void vgpu_job_destroy(struct vgpu_job *job)
{
	struct vgpu_sched *sched = job->vdev->sched;

	vgpu_sdma_job_cleanup(&job->base);
	vgpu_sdma_fence_free(job->hw_fence);
	vgpu_ctx_state_put(job->state);
	kfree(job);
	/*
	 * vgpu_sched_release() waits until the counter is zero, and then waits for this
	 * RCU section. So neither the device is freed nor the module is unloaded before
	 * the section ends.
	 */
	rcu_read_lock();
	if (atomic_dec_and_test(&sched->jobs))
		wake_up_var(&sched->jobs);
	rcu_read_unlock();
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_job_destroy);

/**
 * vgpu_sched_vm_gone() - give back the VMID of an address space that is being destroyed
 * @vm: address space whose jobs are done
 */
void vgpu_sched_vm_gone(struct vgpu_vm *vm)
{
	struct vgpu_sched *sched = vm->vdev->sched;

	mutex_lock(&sched->vmid_lock);
	if (vm->vmid) {
		struct vgpu_vmid_slot *slot = &sched->vmid[vm->vmid - 1];

		WARN_ON_ONCE(slot_busy(slot));
		vgpu_vm_put_vmid(vm);
		slot_forget(slot);
	}
	mutex_unlock(&sched->vmid_lock);
}

/**
 * vgpu_sched_wait_vm() - wait until no job of an address space is on an engine
 * @vm: address space of the render node; the device has been unplugged
 *
 * After the unplug, no further job can reach an engine.
 *
 * Context: takes sched.vmid_lock and sleeps; does not allocate, so MMU notifiers and reclaim may
 * call this function.
 */
void vgpu_sched_wait_vm(struct vgpu_vm *vm)
{
	struct vgpu_sched *sched = vm->vdev->sched;
	struct dma_fence *busy;

	do {
		busy = NULL;
		mutex_lock(&sched->vmid_lock);
		/*
		 * job_prepare() sets vm->vmid and claims the VMID before job_submit(). So
		 * slot_busy() finds each job of @vm that is on an engine.
		 */
		if (vm->vmid)
			busy = slot_busy(&sched->vmid[vm->vmid - 1]);
		dma_fence_get(busy);
		mutex_unlock(&sched->vmid_lock);
		if (busy)
			dma_fence_wait(busy, false);
		dma_fence_put(busy);
	} while (busy);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sched_wait_vm);

/**
 * vgpu_sched_wait_idle() - wait until all jobs are done and freed
 * @vdev: device; the caller keeps user space from submitting jobs
 * @timeout: time limit in jiffies
 *
 * Context: sleeps.
 *
 * Return: true if all jobs are freed, false after the timeout.
 */
bool vgpu_sched_wait_idle(struct vgpu_device *vdev, unsigned long timeout)
{
	struct vgpu_sched *sched = vdev->sched;

	return wait_var_event_timeout(&sched->jobs, !atomic_read(&sched->jobs),
				      timeout);
}

/**
 * vgpu_sched_release() - wait until drm_sched has finished with all jobs of a device
 * @drm: device whose last reference has been dropped
 * @arg: unused
 *
 * Waits until every job is freed, and then for an RCU grace period, because the fence callback
 * drm_sched_entity_wakeup() may still run.
 */
void vgpu_sched_release(struct drm_device *drm, void *arg)
{
	struct vgpu_sched *sched = to_vgpu(drm)->sched;

	wait_var_event(&sched->jobs, !atomic_read(&sched->jobs));
	synchronize_rcu();
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_sched_release);

static const struct vgpu_mm_handle_ops handle_ops = {
	.open = vgpu_file_open_bo,
	.close = vgpu_file_close_bo,
};

/**
 * vgpu_sched_init() - initialise VMIDs and the fault handler of jobs
 * @vdev: device; its engines have been started
 *
 * Context: probe. Sleeps.
 *
 * Return: 0, -ENOMEM, or an error of vgpu_ih_register().
 */
int vgpu_sched_init(struct vgpu_device *vdev)
{
	struct vgpu_sched *sched;
	int ret;

	sched = drmm_kzalloc(&vdev->drm, sizeof(*sched), GFP_KERNEL);
	if (!sched)
		return -ENOMEM;
	vdev->sched = sched;
	atomic_set(&sched->jobs, 0);
	vgpu_mm_set_handle_ops(vdev, &handle_ops);
	ret = drmm_mutex_init(&vdev->drm, &sched->vmid_lock);
	if (ret)
		return ret;
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&sched->vmid_lock);
	fs_reclaim_release(GFP_KERNEL);
	vgpu_vmm_set_wait_jobs(vdev, vgpu_sched_wait_vm);
	ret = drmm_add_action_or_reset(&vdev->drm, vgpu_sched_release, NULL);
	if (ret)
		return ret;
	return vgpu_fault_init(vdev);
}

/**
 * vgpu_sched_fini() - unregister the fault handler of jobs
 * @vdev: device; has been unplugged, so that later jobs end with -ENODEV
 *
 * Context: remove. Sleeps.
 */
void vgpu_sched_fini(struct vgpu_device *vdev)
{
	vgpu_fault_fini(vdev);
}
