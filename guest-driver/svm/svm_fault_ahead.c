// SPDX-License-Identifier: GPL-2.0
/*
 * Maps memory ahead of faults: if the faults of a process on a GPU go through memory at ascending
 * addresses, the worker maps the next pages while the engine uses those of the last repair. Entry
 * points: svm_ahead_note(), svm_fault_ahead(). Rules: docs/faults.md, "Ahead of faults".
 */
#include <linux/align.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <kunit/visibility.h>

#include "process/kfd_process.h"
#include "vm/vgpu_vm.h"
#include "svm_fault_ahead.h"
#include "svm_fault_entry.h"
#include "svm_map.h"
#include "svm_policy.h"
#include "svm_range.h"

void svm_ahead_note(struct svm_ahead *a, unsigned long page, enum svm_verdict verdict,
		    struct svm_interval win)
{
	unsigned long from;

	if (verdict == SVM_FAULT_REPAIRED) {
		from = win.last + 1;
		/*
		 * A window that ends elsewhere was cut by the end of the range or VMA, or the
		 * granularity of the range is below 2 MiB. The driver then maps nothing ahead,
		 * because the granularity limits how many pages a fault maps.
		 */
		if (win.first == a->next && IS_ALIGNED(from, SVM_CHUNK_PAGES))
			a->run = min(a->run + 1, SVM_AHEAD_RUN);
		else
			a->run = 0;
		a->first = from;
		a->next = from;
	} else if (verdict == SVM_FAULT_STALE && page >= a->first && page < a->next) {
		/* The engine has raised this fault before the page was mapped ahead. */
		from = ALIGN(page + 1, SVM_CHUNK_PAGES);
		a->run = min(a->run + 1, SVM_AHEAD_RUN);
	} else {
		return;
	}
	a->until = a->run ? from + (SVM_CHUNK_PAGES << (a->run - 1)) : from;
}
EXPORT_SYMBOL_IF_KUNIT(svm_ahead_note);

/*
 * Map the pages from a->next on, up to the end of the page table, range and VMA. Returns false if
 * they cannot be mapped without a fault. The caller holds svm_lock().
 */
static bool svm_ahead_map_chunk(struct svm_range_list *svms, unsigned int gpu, bool write)
{
	struct svm_ahead *a = &svms->gpus[gpu].ahead[write];
	const struct svm_fault f = { .page = a->next, .write = write };
	struct vgpu_vm *vm = svm_gpu_vm(svms, gpu);
	struct svm_range *r = svm_range_find(svms, f.page);
	struct vm_area_struct *vma = svm_fault_vma(svms->mm, &f);
	struct svm_interval iv;

	/*
	 * If a granule has several chunks, the fault after those mapped here would map the whole
	 * granule, and replace their entries.
	 */
	if (!READ_ONCE(svm_process(svms)->xnack_enabled) || !vm || !vma || !r ||
	    r->attrs.granularity != SVM_CHUNK_ORDER || !svm_policy_stays(r, gpu) ||
	    (write && (r->attrs.flags & KFD_IOCTL_SVM_FLAG_GPU_RO)))
		return false;
	iv.first = max(r->iv.first, vma->vm_start >> PAGE_SHIFT);
	iv.last = min(r->iv.last, (vma->vm_end >> PAGE_SHIFT) - 1);
	iv = svm_window(f.page, SVM_CHUNK_ORDER, iv);
	iv.first = f.page;
	/* To replace valid entries would need a TLB flush, for which engines stop. */
	if (vgpu_vm_read_pte(vm, f.page) & VGPU_PTE_VALID)
		return false;
	if (!svm_map_present(r, gpu, iv, write))
		return false;
	a->next = iv.last + 1;
	return true;
}

/* As svm_lock(), but without waiting. Returns false, with no lock held, instead. */
static bool svm_ahead_lock(struct svm_range_list *svms)
{
	if (!mmap_read_trylock(svms->mm))
		return false;
	if (mutex_trylock(&svms->lock)) {
		if (list_empty_careful(&svms->deferred_range_list))
			return true;
		mutex_unlock(&svms->lock);
	}
	mmap_read_unlock(svms->mm);
	return false;
}

/* Take the locks and call svm_ahead_map_chunk(). Returns false if no pages were mapped. */
static bool svm_ahead_map(struct svm_range_list *svms, unsigned int gpu, bool write)
{
	bool mapped = false;

	if (atomic_read(&svms->drain_pagefaults) || !mmget_not_zero(svms->mm))
		return false;
	if (svm_ahead_lock(svms)) {
		mapped = svm_ahead_map_chunk(svms, gpu, write);
		svm_unlock(svms);
	}
	mmput_async(svms->mm);	/* as in svm_fault_repair() */
	return mapped;
}

void svm_fault_ahead(struct svm_fault_queue *q)
{
	struct svm_gpu *g;
	unsigned int write;

	/* Faults without a process are never repaired. */
	if (!q->svms)
		return;
	g = container_of(q, struct svm_gpu, faults);
	for (write = 0; write < ARRAY_SIZE(g->ahead); write++) {
		struct svm_ahead *a = &g->ahead[write];

		while (a->next < a->until && !svm_fault_waits(q)) {
			if (!svm_ahead_map(q->svms, g - q->svms->gpus, write)) {
				/* If the next fault continues the stream, try one chunk again. */
				a->run = 0;
				break;
			}
			cond_resched();
		}
		a->until = a->next;
	}
}
EXPORT_SYMBOL_IF_KUNIT(svm_fault_ahead);
