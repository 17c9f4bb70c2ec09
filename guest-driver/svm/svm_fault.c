// SPDX-License-Identifier: GPL-2.0
/*
 * Handles GPU faults: svm_fault_service() repairs or denies a retry fault, svm_fault_report()
 * reports a no-retry fault. docs/faults.md shows the life of a retry fault.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <drm/drm_print.h>
#include <kunit/visibility.h>

#include "hw/vgpu_mmio.h"
#include "process/kfd_evict.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "smi/kfd_smi_events.h"
#include "svm/migrate/svm_migrate.h"
#include "vm/vgpu_vm.h"
#include "svm_attr.h"
#include "svm_fault.h"
#include "svm_fault_ahead.h"
#include "svm_fault_entry.h"
#include "svm_map.h"
#include "svm_policy.h"
#include "svm_range.h"
#include "svm_trace.h"

/* svm_fault_checkpoint() for one GPU. */
static void svm_fault_checkpoint_gpu(struct svm_range_list *svms, unsigned int gpu)
{
	WRITE_ONCE(svms->gpus[gpu].unmap_ts,
		   vgpu_clock_read(svm_gpu_vdev(svms, gpu)));
}

void svm_fault_checkpoint(struct svm_range_list *svms)
{
	unsigned int i;

	for (i = 0; i < svms->n_gpus; i++)
		svm_fault_checkpoint_gpu(svms, i);
}

void svm_fault_note_clear(struct svm_range_list *svms)
{
	unsigned int i;

	for (i = 0; i < svms->n_gpus; i++)
		WRITE_ONCE(svms->gpus[i].cleared, true);
}
EXPORT_SYMBOL_IF_KUNIT(svm_fault_note_clear);

struct vm_area_struct *svm_fault_vma(struct mm_struct *mm, const struct svm_fault *f)
{
	struct vm_area_struct *vma = vma_lookup(mm, f->page << PAGE_SHIFT);
	unsigned long need = VM_READ | (f->write ? VM_WRITE : 0);

	if (!vma || (vma->vm_flags & need) != need ||
	    vma->vm_flags & (VM_IO | VM_PFNMAP | VM_MIXEDMAP))
		return NULL;
	return vma;
}

/*
 * Create a range around @page for memory for which no attribute was set. The caller holds
 * svm_lock_write(). Returns the range, or ERR_PTR(-EADDRINUSE) or ERR_PTR(-ENOMEM).
 */
static struct svm_range *svm_fault_create_range(struct svm_range_list *svms,
						const struct vm_area_struct *vma,
						unsigned long page)
{
	struct svm_interval bounds = {
		vma->vm_start >> PAGE_SHIFT, (vma->vm_end >> PAGE_SHIFT) - 1,
	};
	struct svm_interval win = svm_window(page, svms->default_granularity,
					     bounds);
	struct svm_interval one = { page, page };
	struct svm_attrs attrs;
	struct ma_state mas;
	struct svm_range *r;

	if (svm_va_busy(svms, one))
		return ERR_PTR(-EADDRINUSE);
	svm_for_each_range(r, &mas, svms, win.first, win.last)
		win = svm_window_avoid(win, page, svm_range_interval(r));
	/* If a BO is mapped at another page of the window, create a range of one page. */
	if (svm_va_busy(svms, win))
		win = one;

	svm_default_attrs(svms, &attrs);
	if (vma_is_initial_heap(vma) || vma_is_initial_stack(vma))
		attrs.preferred_loc = KFD_IOCTL_SVM_LOCATION_SYSMEM;
	return svm_range_create(svms, win, &attrs);
}

/*
 * Find or create the range of a fault. If successful, returns with svm_lock() held. Errors:
 *
 * - ERR_PTR(-EFAULT) or ERR_PTR(-EADDRINUSE): the access is not allowed
 * - ERR_PTR(-ENOMEM)
 */
static struct svm_range *svm_fault_get_range(struct svm_range_list *svms,
					     const struct svm_fault *f,
					     struct vm_area_struct **vma)
{
	struct svm_range *r;

	svm_lock(svms);
	*vma = svm_fault_vma(svms->mm, f);
	r = svm_range_find(svms, f->page);
	if (*vma && r)
		return r;
	svm_unlock(svms);

	/*
	 * munmap() may have removed the VMA, but not yet called svm_range_invalidate(), which sets
	 * unmap_ts for svm_fault_judge(). svm_lock_write() waits until munmap() has ended.
	 */
	svm_lock_write(svms);
	*vma = svm_fault_vma(svms->mm, f);
	r = *vma ? svm_range_find(svms, f->page) : ERR_PTR(-EFAULT);
	if (!r)
		r = svm_fault_create_range(svms, *vma, f->page);
	if (IS_ERR(r))
		svm_unlock_write(svms);
	else
		svm_downgrade(svms);
	return r;
}

/*
 * Migrate the pages of @win to @loc, the result of svm_policy_fault(). Pages that cannot move
 * stay. Returns true if a page moved.
 */
static bool svm_fault_place(struct svm_range *r, struct svm_interval win,
			    u32 loc)
{
	struct svm_range_list *svms = r->svms;
	struct kfd_node *node = NULL;
	unsigned long out = 0, in = 0;
	int home = 0;

	if (loc == KFD_IOCTL_SVM_LOCATION_UNDEFINED)
		return false;
	if (loc) {
		home = svm_gpu_index(svm_process(svms), loc);
		if (home < 0)
			return false;
		node = svm_process(svms)->pdds[home]->node;
	}
	/* Without space or memory only a part moves; the fault is then repaired all the same. */
	svm_migrate_to_system(svms, win, node, KFD_MIGRATE_TRIGGER_PAGEFAULT_GPU, &out);
	if (node)
		svm_migrate_to_vram(node, svms, win, r->attrs.granularity,
				    KFD_MIGRATE_TRIGGER_PAGEFAULT_GPU, &in);
	if (in)
		svm_policy_pulled(svms, home, win);
	return out || in;
}

/*
 * Migrate and map the faulting page and its neighbours. Sets *@win to the mapped pages. The
 * caller holds svm_lock().
 */
static enum svm_verdict svm_fault_map(struct svm_range *r,
				      struct vm_area_struct *vma,
				      unsigned int gpu,
				      const struct svm_fault *f,
				      struct svm_interval *win)
{
	struct kfd_node *node = svm_process(r->svms)->pdds[gpu]->node;
	struct svm_interval bounds = {
		max(r->iv.first, vma->vm_start >> PAGE_SHIFT),
		min(r->iv.last, (vma->vm_end >> PAGE_SHIFT) - 1),
	};
	pid_t pid = svm_process(r->svms)->lead_thread->pid;
	bool moved;
	u32 loc;
	int ret;

	if (f->write && (r->attrs.flags & KFD_IOCTL_SVM_FLAG_GPU_RO))
		return SVM_FAULT_DENIED;
	*win = svm_window(f->page, min_t(u8, r->attrs.granularity,
					 SVM_FAULT_MAX_ORDER), bounds);
	if (svm_policy_fault(r, gpu, f->page, *win, &loc))
		return SVM_FAULT_DENIED;

	kfd_smi_fault_start(&node->smi, pid, f->page, f->write);
	moved = svm_fault_place(r, *win, loc);
	ret = svm_map_in_vma(r, gpu, *win, f->write);
	if (ret && win->first < win->last) {
		/*
		 * Perhaps only a neighbouring page has no memory (-EFAULT), keeps changing
		 * (-EAGAIN), cannot be mapped for DMA (-EIO), or needs another page table
		 * (-ENOMEM). Map the faulting page alone. -EPERM is handled like -EFAULT, but is
		 * not expected, because svm_fault_vma() has tested the permissions.
		 */
		win->first = f->page;
		win->last = f->page;
		ret = svm_map_in_vma(r, gpu, *win, f->write);
	}
	kfd_smi_fault_end(&node->smi, pid, f->page, moved);
	switch (ret) {
	case 0:
		return SVM_FAULT_REPAIRED;
	case -EFAULT:
	case -EPERM:
		return SVM_FAULT_DENIED;
	case -ENOMEM:
	case -EIO:
		return SVM_FAULT_NO_MEMORY;
	default:
		return SVM_FAULT_BUSY;
	}
}

/*
 * Return true if the PTE now allows the access or is no-retry. Such a PTE causes no retry fault, so
 * the fault is outdated.
 */
static bool svm_fault_is_resolved(struct vgpu_vm *vm, const struct svm_fault *f)
{
	u64 pte = vgpu_vm_read_pte(vm, f->page);
	u64 need = VGPU_PTE_VALID | VGPU_PTE_READABLE |
		   (f->write ? VGPU_PTE_WRITEABLE : 0);

	return (pte & need) == need ||
	       (pte & VGPU_PTE_NORETRY) == VGPU_PTE_NORETRY;
}

/*
 * Repair a fault of a process that has XNACK on. The caller holds a reference to the mm. Sets *@win
 * to the mapped pages.
 */
static enum svm_verdict svm_fault_serve(struct svm_range_list *svms,
					unsigned int gpu,
					const struct svm_fault *f,
					struct svm_interval *win)
{
	struct vm_area_struct *vma;
	enum svm_verdict verdict;
	struct svm_range *r;

	r = svm_fault_get_range(svms, f, &vma);
	if (IS_ERR(r))
		return PTR_ERR(r) == -ENOMEM ? SVM_FAULT_NO_MEMORY : SVM_FAULT_DENIED;
	verdict = svm_fault_map(r, vma, gpu, f, win);
	svm_unlock(svms);
	return verdict;
}

/*
 * Repair a fault if possible. SVM_FAULT_DENIED is not final: svm_fault_judge() changes this result
 * to SVM_FAULT_STALE if access was removed after the fault.
 */
static enum svm_verdict svm_fault_repair(struct svm_range_list *svms,
					 unsigned int gpu,
					 const struct svm_fault *f,
					 struct svm_interval *win)
{
	struct vgpu_vm *vm = svm_gpu_vm(svms, gpu);
	enum svm_verdict verdict;

	if (!vm || atomic_read(&svms->drain_pagefaults) ||
	    !svm_ts_after(f->ts, svms->gpus[gpu].birth_ts) ||
	    svm_fault_is_resolved(vm, f))
		return SVM_FAULT_STALE;
	/*
	 * The address space has ended, so the fault cannot be repaired. Queues may still run.
	 * SVM_FAULT_DYING makes svm_fault_judge() stop the queues.
	 */
	if (!mmget_not_zero(svms->mm))
		return SVM_FAULT_DYING;
	if (READ_ONCE(svm_process(svms)->xnack_enabled) &&
	    test_bit(gpu, svms->bitmap_supported))
		verdict = svm_fault_serve(svms, gpu, f, win);
	else
		verdict = SVM_FAULT_DENIED;
	/*
	 * Do not use mmput(): if this is the last reference, mmput() would tear down the mm in this
	 * worker.
	 */
	mmput_async(svms->mm);
	return verdict;
}

/**
 * svm_fault_failures_add() - count a failed repair, and decide whether the fault is denied
 * @fails: earlier failures of the process on the GPU
 * @page: page whose repair has failed for lack of memory
 * @now: time in jiffies
 * @n_gpus: number of GPUs of the process, whose repairs exclude each other; at least 1
 *
 * If @fails has another page whose last failure is not to be forgotten yet (SVM_FAULT_FORGET_MS),
 * nothing is counted: queues that fault on two pages in turn would otherwise replace each other's
 * failures.
 *
 * Context: any; the caller serialises calls with the same @fails.
 *
 * Return: true if the fault must be denied. Then @fails starts anew. False if the fault may be
 * raised again.
 */
bool svm_fault_failures_add(struct svm_fault_failures *fails, unsigned long page,
			    unsigned long now, unsigned int n_gpus)
{
	unsigned long forget = n_gpus * msecs_to_jiffies(SVM_FAULT_FORGET_MS);

	if (fails->count && now - fails->last >= forget)
		fails->count = 0;
	if (fails->count && fails->page != page)
		return false;
	if (!fails->count) {
		fails->page = page;
		fails->first = now;
	}
	fails->last = now;
	fails->count++;
	if (fails->count < SVM_FAULT_MAX_FAILURES ||
	    now - fails->first < msecs_to_jiffies(SVM_FAULT_GIVE_UP_MS))
		return false;
	fails->count = 0;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(svm_fault_failures_add);

/**
 * svm_fault_failures_forget() - forget the failures of a page that needs no more repairs
 * @fails: failures of the process on the GPU
 * @pages: pages that need no more repairs
 *
 * Context: as for svm_fault_failures_add().
 */
void svm_fault_failures_forget(struct svm_fault_failures *fails, struct svm_interval pages)
{
	if (svm_interval_has(pages, fails->page))
		fails->count = 0;
}
EXPORT_SYMBOL_IF_KUNIT(svm_fault_failures_forget);

/*
 * Count the failure if @verdict is SVM_FAULT_NO_MEMORY, or forget the failures of pages that need
 * no more repairs. Returns @verdict, or SVM_FAULT_DENIED after too many failures. One worker at a
 * time serves a process on a GPU, so struct svm_fault_failures needs no lock.
 */
static enum svm_verdict svm_fault_count(struct svm_range_list *svms, unsigned int gpu,
					const struct svm_fault *f,
					const struct svm_interval *win,
					enum svm_verdict verdict)
{
	struct svm_fault_failures *fails = &svms->gpus[gpu].failures;
	struct vgpu_device *vdev = svm_gpu_vdev(svms, gpu);
	struct svm_interval one = { f->page, f->page };

	switch (verdict) {
	case SVM_FAULT_NO_MEMORY:
		if (!svm_fault_failures_add(fails, f->page, jiffies, svms->n_gpus))
			return verdict;
		drm_err_ratelimited(&vdev->drm,
				    "no memory to map page 0x%lx of pid %d for %u s\n",
				    f->page, svm_process(svms)->lead_thread->pid,
				    SVM_FAULT_GIVE_UP_MS / 1000);
		return SVM_FAULT_DENIED;
	case SVM_FAULT_BUSY:
		return verdict;
	case SVM_FAULT_REPAIRED:
		svm_fault_failures_forget(fails, *win);
		return verdict;
	default:
		svm_fault_failures_forget(fails, one);
		return verdict;
	}
}

/*
 * Make a page's PTE no-retry, so that an engine aborts later accesses instead of retrying. The
 * caller has taken the process's queues off the hardware.
 */
static void svm_fault_write_noretry(struct svm_range_list *svms,
				    unsigned int gpu, unsigned long page)
{
	struct vgpu_vm *vm = svm_gpu_vm(svms, gpu);
	struct svm_range *r;

	/*
	 * Without memory for a page table, keep the old PTE. This is harmless: the process's
	 * queues are off the hardware, and a new queue faults again.
	 */
	if (vgpu_vm_reserve_tables(vm, page, page))
		return;

	mutex_lock(&svms->lock);
	r = svm_range_find(svms, page);
	if (r) {
		/*
		 * vgpu_vm_clear_range() below writes the no-retry PTE. Set @gpu in r->mapped, so
		 * that an invalidation of the range clears this PTE.
		 */
		mutex_lock(&r->lock);
		set_bit(gpu, r->mapped);
		clear_bit(gpu, r->complete);
		vgpu_vm_clear_range(vm, page, page, true);
		mutex_unlock(&r->lock);
	} else {
		/* Does nothing if a BO has been mapped at @page since the fault. */
		vgpu_vm_deny_page(vm, page);
	}
	mutex_unlock(&svms->lock);
	vgpu_vm_unreserve_tables(vm);
}

/* Stop the process's queues on the GPU, make the page's PTE no-retry, and report the fault. */
static void svm_fault_deny(struct kfd_process_device *pdd, unsigned int gpu,
			   const struct svm_fault *f)
{
	kfd_process_vm_fault(pdd, f->page, f->write);
	/*
	 * Write the no-retry PTE before the report: afterwards, user space may map memory at the
	 * page, and the write would replace this mapping.
	 */
	svm_fault_write_noretry(pdd->process->svms, gpu, f->page);
	vgpu_stat_add(pdd->node->vdev, VGPU_STAT_FAULTS_UNREPAIRED, 1);
	kfd_process_report_vm_fault(pdd, f->page, f->not_present, f->write);
}

/* Repair a fault, drop it as stale, or deny it. Sets *@win to the mapped pages. */
static enum svm_verdict svm_fault_judge(struct kfd_process *p,
					struct kfd_node *node,
					const struct svm_fault *f,
					struct svm_interval *win)
{
	struct kfd_process_device *pdd = kfd_process_device_of(p, node->vdev);
	int gpu = kfd_process_gpuidx(p, node->vdev);
	struct svm_range_list *svms = p->svms;
	enum svm_verdict verdict;

	if (!pdd || gpu < 0)
		return SVM_FAULT_STALE;

	verdict = svm_fault_repair(svms, gpu, f, win);
	/*
	 * If svm_gpu.cleared is set, the truncation of a file may have removed memory after this
	 * fault was raised. svm_fault_checkpoint_gpu() sets unmap_ts to the current time, so that
	 * the test below finds the fault stale. Each GPU has a flag of its own, because faults of
	 * two GPUs may be judged at the same time: with one flag, the second one would find the
	 * flag reset, and its unmap_ts not written yet.
	 */
	if (verdict == SVM_FAULT_DENIED && xchg(&svms->gpus[gpu].cleared, false))
		svm_fault_checkpoint_gpu(svms, gpu);
	/*
	 * unmap_ts is the time of the last removal of access to memory. If this fault is older, the
	 * faulting access may have been allowed when the fault was raised. So the fault is stale.
	 */
	if (verdict == SVM_FAULT_DENIED &&
	    !svm_ts_after(f->ts, READ_ONCE(svms->gpus[gpu].unmap_ts)))
		verdict = SVM_FAULT_STALE;
	/*
	 * The tests above do not apply to a fault that is denied for lack of memory: the access is
	 * allowed now.
	 */
	verdict = svm_fault_count(svms, gpu, f, win, verdict);
	svm_ahead_note(&svms->gpus[gpu].ahead[f->write], f->page, verdict, *win);

	if (verdict == SVM_FAULT_DENIED) {
		svm_fault_deny(pdd, gpu, f);
	} else if (verdict == SVM_FAULT_DYING) {
		/*
		 * The queues stay off the hardware until the teardown of the process destroys
		 * them.
		 */
		kfd_process_evict_queues(pdd);
		svm_fault_write_noretry(svms, gpu, f->page);
	}
	return verdict;
}

enum svm_verdict svm_fault_service(struct kfd_node *node, struct kfd_process *p,
				   const struct svm_fault *f,
				   struct svm_interval *win)
{
	enum svm_verdict verdict = SVM_FAULT_STALE;

	*win = (struct svm_interval){ f->page, f->page };
	if (p)
		verdict = svm_fault_judge(p, node, f, win);
	trace_svm_service(f->pasid, f->serial, f->page, win->first, win->last,
			  verdict);
	return verdict;
}
EXPORT_SYMBOL_IF_KUNIT(svm_fault_service);

void svm_fault_report(struct kfd_node *node, struct kfd_process *p,
		      const struct svm_fault *f)
{
	struct kfd_process_device *pdd;
	int gpu;

	if (!f->pasid) {
		drm_err_ratelimited(&node->vdev->drm,
				    "no-retry %s fault of the kernel, vmid %u page 0x%lx\n",
				    f->write ? "write" : "read", f->vmid,
				    f->page);
		return;
	}
	if (!p || atomic_read(&p->svms->drain_pagefaults))
		return;
	pdd = kfd_process_device_of(p, node->vdev);
	gpu = kfd_process_gpuidx(p, node->vdev);
	if (pdd && gpu >= 0 &&
	    svm_ts_after(f->ts, p->svms->gpus[gpu].birth_ts) &&
	    mmget_not_zero(p->svms->mm)) {
		kfd_process_vm_fault(pdd, f->page, f->write);
		svm_unmap_unreachable(p->svms, gpu, f->page);
		kfd_process_report_vm_fault(pdd, f->page, f->not_present,
					    f->write);
		mmput_async(p->svms->mm);
	}
}
