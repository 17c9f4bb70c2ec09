// SPDX-License-Identifier: GPL-2.0
/*
 * Who writes the page tables, and when the hardware sees it.
 *
 * DOC: two writers
 *
 * The CPU writes entries through the VRAM BAR. What was written is made visible
 * to the device (HDP flush) when it is published, and old translations are gone
 * by then as well.
 *
 * SDMA, if the address space was made for it (vm_update_mode), writes what maps
 * memory; the bitmaps of vgpu_pt.c run ahead of it. Entries go as packets into
 * the address space's job, which is submitted when it is full and when they
 * are published; whoever publishes waits for it, or takes its fence. Jobs run
 * in order on an engine of the kernel's. Whoever unmaps is an MMU notifier, or
 * might be: there the CPU writes, after waiting for the job that is under way.
 * The fence needs neither memory nor locks to signal. Submitting does not
 * reclaim; without memory for the fence the CPU runs the packets.
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

/* Not the engine of moves and clears. */
#define PT_ENGINE	(VGPU_NUM_SDMA - 1)

static struct vgpu_vm *pt_to_vm(struct vgpu_pt *pt)
{
	return container_of(pt, struct vgpu_vm, pt);
}

/* Have the engine run what is in the job. pt_lock held; does not reclaim. */
static void vm_job_submit(struct vgpu_vm *vm)
{
	struct vgpu_vm_job *job = vm->job;
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
	if (IS_ERR(fence)) {
		if (vm->job_fence)
			dma_fence_wait(vm->job_fence, false);
		if (vgpu_sdma_cpu_run(vdev, job->dw, job->ndw))
			drm_err_ratelimited(&vdev->drm,
					    "page tables cannot be written\n");
	} else {
		dma_fence_put(vm->job_fence);
		vm->job_fence = fence;
	}
	vgpu_vm_job_reset(job);
	drm_dev_exit(idx);
}

/* What was written before is in the tables. pt_lock held; does not reclaim. */
static void vm_settle(struct vgpu_vm *vm)
{
	vm_job_submit(vm);
	if (!vm->job_fence)
		return;
	dma_fence_wait(vm->job_fence, false);
	dma_fence_put(vm->job_fence);
	vm->job_fence = NULL;
}

/**
 * vgpu_vm_lock_cpu() - take pt_lock for the CPU to write or read entries
 * @vm: address space
 *
 * Waits until SDMA has written what it was to write.
 */
void vgpu_vm_lock_cpu(struct vgpu_vm *vm)
{
	mutex_lock(&vm->pt_lock);
	vm_settle(vm);
}

static bool vm_pt_write(struct vgpu_pt *pt, const struct vgpu_pt_mem *mem,
			unsigned int index, unsigned int n, u64 value, u64 step)
{
	struct vgpu_vm *vm = pt_to_vm(pt);

	if (vm->by_sdma)
		vgpu_vm_job_write(vm->job, vm->vdev->hw->fb_base + mem->addr +
				  index * sizeof(u64), n, value, step);
	return vm->by_sdma;
}

static void vm_pt_room(struct vgpu_pt *pt)
{
	struct vgpu_vm *vm = pt_to_vm(pt);

	if (vm->by_sdma && vgpu_vm_job_full(vm->job))
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
	mutex_unlock(&pt_to_vm(pt)->pt_lock);
}

static void vm_pt_io_begin(const struct vgpu_pt *pt)
{
	vgpu_io_begin(container_of_const(pt, struct vgpu_vm, pt)->vdev);
}

static void vm_pt_io_end(const struct vgpu_pt *pt)
{
	vgpu_io_end(container_of_const(pt, struct vgpu_vm, pt)->vdev);
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
 * vgpu_vm_flush() - drop the hardware's translations of an address space
 * @vm: address space; without a VMID there are none
 *
 * pt_lock held or not. Context: as vgpu_gmc_flush_tlb().
 */
void vgpu_vm_flush(struct vgpu_vm *vm)
{
	u8 vmid = READ_ONCE(vm->vmid);
	u32 mask = vmid ? BIT(vmid) : 0;

	/* Which of them it has just now only the CP knows. */
	if (READ_ONCE(vm->scheduled))
		mask |= VGPU_HWS_VMIDS;
	if (!mask)
		return;
	trace_vgpu_vm_flush(vm, vmid);
	/* A device that does not answer has been reset when this returns. */
	vgpu_gmc_flush_tlb(vm->vdev, mask);
}

/* Entries that the CPU wrote are in VRAM, and everything is counted. */
static void vm_flush_writes(struct vgpu_vm *vm)
{
	struct vgpu_pt *pt = &vm->pt;

	vgpu_stat_add(vm->vdev, VGPU_STAT_PTES_WRITTEN, pt->written);
	pt->written = 0;
	if (!pt->by_cpu)
		return;
	vgpu_stat_add(vm->vdev, VGPU_STAT_PT_BYTES,
		      pt->by_cpu * sizeof(u64));
	pt->by_cpu = 0;
	wmb();	/* entries have left the CPU before the flush does */
	vgpu_hdp_flush(vm->vdev);
}

/**
 * vgpu_vm_begin_write() - have SDMA write entries, if it may
 * @vm: address space, pt_lock held
 *
 * Until vgpu_vm_publish(), or vm->by_sdma is reset. Only to map: what was there
 * is reached until the entries are published.
 */
void vgpu_vm_begin_write(struct vgpu_vm *vm)
{
	lockdep_assert_held(&vm->pt_lock);

	vm->by_sdma = vm->job;
}

/**
 * vgpu_vm_publish() - bring the hardware in line with the tables
 * @vm: address space, pt_lock held
 * @changed: a valid entry has changed
 *
 * Waits until SDMA has written what it was to write.
 */
void vgpu_vm_publish(struct vgpu_vm *vm, bool changed)
{
	lockdep_assert_held(&vm->pt_lock);

	vm->by_sdma = false;
	vm_flush_writes(vm);
	vm_settle(vm);
	if (changed || vm->tlb_dirty) {
		vm->tlb_dirty = false;
		vgpu_vm_flush(vm);
	}
}

/**
 * vgpu_vm_publish_unlocked() - vgpu_vm_publish() of what several steps left
 * @vm: address space
 *
 * Takes pt_lock.
 */
void vgpu_vm_publish_unlocked(struct vgpu_vm *vm)
{
	int idx;

	/* The TLB may still hold entries that an earlier step cleared. */
	if (!vgpu_vm_enter(vm, &idx))
		return;
	mutex_lock(&vm->pt_lock);
	vgpu_vm_publish(vm, false);
	mutex_unlock(&vm->pt_lock);
	drm_dev_exit(idx);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_publish_unlocked);

/**
 * vgpu_vm_publish_later() - publish entries, but let jobs wait for them
 * @vm: address space
 *
 * Takes pt_lock.
 *
 * Return: a reference to the fence behind which the hardware is in line with
 * the tables, or NULL if it is already.
 */
struct dma_fence *vgpu_vm_publish_later(struct vgpu_vm *vm)
{
	struct dma_fence *fence;

	mutex_lock(&vm->pt_lock);
	/* The flush comes behind the entries. */
	if (vm->tlb_dirty)
		vgpu_vm_publish(vm, false);
	vm_flush_writes(vm);
	vm_job_submit(vm);
	fence = dma_fence_get(vm->job_fence);
	mutex_unlock(&vm->pt_lock);
	return fence;
}
