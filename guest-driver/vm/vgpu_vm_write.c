// SPDX-License-Identifier: GPL-2.0
/*
 * Writes page-table entries and publishes them to the device. Only the CPU, not SDMA, clears
 * entries, so that MMU notifiers need no memory for SDMA jobs.
 */
#include <linux/bitops.h>
#include <drm/drm_drv.h>

#include <kunit/visibility.h>

#include "hw/sdma/vgpu_sdma.h"
#include "hw/vgpu_gmc.h"
#include "hw/vgpu_hw.h"
#include "hw/vgpu_io.h"
#include "hw/vgpu_mmio.h"
#include "hw/vgpu_vmid.h"
#include "vgpu_vm_job.h"
#include "vgpu_vm_priv.h"
#include "vgpu_vm_trace.h"

/*
 * SDMA engine for page-table jobs. The same engine clears BOs and copies BOs into VRAM; engine 0
 * copies BOs out of VRAM.
 */
#define PT_ENGINE	(VGPU_NUM_SDMA - 1)

static struct vgpu_vm *pt_to_vm(struct vgpu_pt *pt)
{
	return &container_of(pt, struct vgpu_vm_state, pt)->base;
}

/*
 * Submit the collected packets. The caller holds pt_lock. Allocations here must not reclaim memory,
 * because reclaim waits for MMU notifiers, which take pt_lock.
 */
static void vm_job_submit(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_vm_job *job = vs->job;
	struct vgpu_device *vdev = vm->vdev;
	struct dma_fence *fence = ERR_PTR(-ENOMEM);
	struct vgpu_sdma_fence *memory;
	int idx;

	if (!job || !job->ndw)
		return;
	if (!drm_dev_enter(&vdev->drm, &idx)) {
		vgpu_vm_job_reset(job);
		return;
	}
	vgpu_stat_add(vdev, VGPU_STAT_PT_BYTES, job->ndw * sizeof(u32));
	memory = vgpu_sdma_fence_alloc(GFP_NOWAIT | __GFP_NOWARN);
	if (memory)
		fence = vgpu_sdma_submit_with(vdev, PT_ENGINE, job->dw,
					      job->ndw, &memory);
	vgpu_sdma_fence_free(memory);
	/* If SDMA cannot take the job, the CPU executes the packets after all earlier jobs. */
	if (IS_ERR(fence)) {
		if (vs->job_fence)
			dma_fence_wait(vs->job_fence, false);
		if (vgpu_sdma_cpu_run(vdev, job->dw, job->ndw))
			drm_err_ratelimited(&vdev->drm,
					    "page tables cannot be written\n");
	} else {
		/* PT_ENGINE runs jobs in order, so @fence covers the earlier jobs. */
		dma_fence_put(vs->job_fence);
		vs->job_fence = fence;
	}
	vgpu_vm_job_reset(job);
	drm_dev_exit(idx);
}

/*
 * Submit the collected packets and wait for SDMA. The wait always ends, because a submitted job
 * needs neither memory nor locks. The caller holds pt_lock.
 */
static void vm_job_submit_wait(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);

	vm_job_submit(vm);
	if (!vs->job_fence)
		return;
	dma_fence_wait(vs->job_fence, false);
	dma_fence_put(vs->job_fence);
	vs->job_fence = NULL;
}

/**
 * vgpu_vm_lock_cpu() - take pt_lock for the CPU to write or read entries
 * @vm: address space
 *
 * Waits until SDMA has written all entries that were collected in vgpu_vm_state.job.
 *
 * Context: sleeps; does not reclaim memory.
 */
void vgpu_vm_lock_cpu(struct vgpu_vm *vm)
{
	mutex_lock(&to_vm_state(vm)->pt_lock);
	vm_job_submit_wait(vm);
}

/*
 * Let SDMA write entries, or return false if the CPU must write them. SDMA writes the entries
 * later. So the CPU may access entries only after vm_job_submit_wait().
 */
static bool vm_pt_write(struct vgpu_pt *pt, const struct vgpu_pt_mem *mem,
			unsigned int index, unsigned int n, u64 value, u64 step)
{
	struct vgpu_vm *vm = pt_to_vm(pt);
	struct vgpu_vm_state *vs = to_vm_state(vm);

	if (vs->by_sdma)
		vgpu_vm_job_write(vs->job, vm->vdev->hw->fb_base + mem->addr +
				  index * sizeof(u64), n, value, step);
	return vs->by_sdma;
}

static void vm_pt_room(struct vgpu_pt *pt)
{
	struct vgpu_vm *vm = pt_to_vm(pt);
	struct vgpu_vm_state *vs = to_vm_state(vm);

	if (vs->by_sdma && vgpu_vm_job_full(vs->job))
		vm_job_submit(vm);
}

static int vm_pt_alloc(struct vgpu_pt *pt, struct vgpu_pt_mem *mem)
{
	return vgpu_vm_pool_alloc(pt_to_vm(pt), mem);
}

static void vm_pt_free(struct vgpu_pt *pt, const struct vgpu_pt_mem *mem)
{
	vgpu_vm_pool_free(pt_to_vm(pt), mem);
}

static void vm_pt_lock(struct vgpu_pt *pt)
{
	vgpu_vm_lock_cpu(pt_to_vm(pt));
}

static void vm_pt_unlock(struct vgpu_pt *pt)
{
	mutex_unlock(&container_of(pt, struct vgpu_vm_state, pt)->pt_lock);
}

static void vm_pt_io_begin(const struct vgpu_pt *pt)
{
	vgpu_io_begin(container_of_const(pt, struct vgpu_vm_state, pt)->base.vdev);
}

static void vm_pt_io_end(const struct vgpu_pt *pt)
{
	vgpu_io_end(container_of_const(pt, struct vgpu_vm_state, pt)->base.vdev);
}

const struct vgpu_pt_ops vgpu_vm_pt_ops = {
	.alloc = vm_pt_alloc,
	.free = vm_pt_free,
	.lock = vm_pt_lock,
	.unlock = vm_pt_unlock,
	.write = vm_pt_write,
	.room = vm_pt_room,
	.io_begin = vm_pt_io_begin,
	.io_end = vm_pt_io_end,
};
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_pt_ops);

/**
 * vgpu_vm_flush() - flush the TLB entries of an address space
 * @vm: address space
 *
 * Does nothing if @vm has no VMID and vgpu_vm_schedule() has not been called for @vm.
 *
 * Context: as vgpu_gmc_flush_tlb(); pt_lock may be held.
 */
void vgpu_vm_flush(struct vgpu_vm *vm)
{
	u8 vmid = READ_ONCE(vm->vmid);
	u32 mask = vmid ? BIT(vmid) : 0;

	/* The CP may have assigned any of VGPU_HWS_VMIDS to the address space: flush them all. */
	if (READ_ONCE(to_vm_state(vm)->scheduled))
		mask |= VGPU_HWS_VMIDS;
	if (!mask)
		return;
	trace_vgpu_vm_flush(vm, vmid);
	/*
	 * Ignore the result: the flush fails only if the engines have stopped for good, or while
	 * the driver starts or stops the device.
	 */
	vgpu_gmc_flush_tlb(vm->vdev, mask);
}

/* Update the counters. If the CPU has written entries, let the device see them by an HDP flush. */
static void vm_flush_writes(struct vgpu_vm *vm)
{
	struct vgpu_pt *pt = &to_vm_state(vm)->pt;

	vgpu_stat_add(vm->vdev, VGPU_STAT_PTES_WRITTEN, pt->written);
	pt->written = 0;
	if (!pt->by_cpu)
		return;
	vgpu_stat_add(vm->vdev, VGPU_STAT_PT_BYTES,
		      pt->by_cpu * sizeof(u64));
	pt->by_cpu = 0;
	wmb();	/* write entries to VRAM before the flush */
	vgpu_hdp_flush(vm->vdev);
}

/**
 * vgpu_vm_begin_write() - let SDMA write the next entries, if the address space uses SDMA
 * @vm: address space, pt_lock held
 *
 * If vgpu_vm_state.job is not NULL, SDMA writes entries until the caller calls vgpu_vm_publish()
 * or sets vgpu_vm_state.by_sdma to false. Until then the caller must not unmap pages, because only
 * the CPU may unmap pages.
 */
void vgpu_vm_begin_write(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);

	lockdep_assert_held(&vs->pt_lock);

	vs->by_sdma = vs->job;
}

/**
 * vgpu_vm_publish() - let the device use all entries written so far
 * @vm: address space, pt_lock held
 * @changed: true if a valid entry was overwritten
 *
 * Waits until SDMA has written all collected entries. Flushes the TLB if @changed or
 * vgpu_vm_state.tlb_dirty is set.
 *
 * Context: sleeps; allocates without reclaim.
 */
void vgpu_vm_publish(struct vgpu_vm *vm, bool changed)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);

	lockdep_assert_held(&vs->pt_lock);

	vs->by_sdma = false;
	vm_flush_writes(vm);
	vm_job_submit_wait(vm);
	if (changed || vs->tlb_dirty) {
		vs->tlb_dirty = false;
		vgpu_vm_flush(vm);
	}
}

/**
 * vgpu_vm_publish_unlocked() - take pt_lock, and call vgpu_vm_publish()
 * @vm: address space
 *
 * Context: takes pt_lock; the rules of vgpu_vm_enter() apply.
 */
void vgpu_vm_publish_unlocked(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	int idx;

	/*
	 * After an unplug no TLB flush is needed: vgpu_vm_enter() returns false only after the jobs
	 * that may use old translations have ended.
	 */
	if (!vgpu_vm_enter(vm, &idx))
		return;
	mutex_lock(&vs->pt_lock);
	vgpu_vm_publish(vm, false);
	mutex_unlock(&vs->pt_lock);
	drm_dev_exit(idx);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_publish_unlocked);

/**
 * vgpu_vm_publish_later() - publish entries, and return a fence instead of waiting for SDMA
 * @vm: address space
 *
 * Jobs that use the entries must depend on the fence.
 *
 * Context: takes pt_lock; sleeps.
 *
 * Return: a reference to a fence after which the device uses all entries written so far, or NULL
 * if the device uses them already.
 */
struct dma_fence *vgpu_vm_publish_later(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct dma_fence *fence;

	mutex_lock(&vs->pt_lock);
	/*
	 * The CPU must flush the TLB after SDMA has written the entries. So if a flush is needed,
	 * wait for SDMA here.
	 */
	if (vs->tlb_dirty)
		vgpu_vm_publish(vm, false);
	vm_flush_writes(vm);
	vm_job_submit(vm);
	fence = dma_fence_get(vs->job_fence);
	mutex_unlock(&vs->pt_lock);
	return fence;
}
