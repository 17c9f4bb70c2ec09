/* SPDX-License-Identifier: GPL-2.0 */
/* Handle GPU faults (svm_fault_queue.c and svm_fault.c). */
#ifndef SVM_FAULT_H
#define SVM_FAULT_H

#include <linux/types.h>

#include "svm_interval.h"

struct kfd_node;
struct kfd_process;
struct mm_struct;
struct svm_fault;
struct svm_range_list;
struct vm_area_struct;

/*
 * log2 of the maximum number of pages that the repair of one fault maps (64 MiB). The limit applies
 * even if the granularity is larger.
 */
#define SVM_FAULT_MAX_ORDER	14

/*
 * A fault is denied if repairs of its page have failed for lack of memory this often, and the first
 * of these failures was this long ago.
 */
#define SVM_FAULT_MAX_FAILURES	16u
#define SVM_FAULT_GIVE_UP_MS	30000u
/*
 * The failures of a page are forgotten if the page has not failed for this time, multiplied by the
 * number of GPUs of the process. Repairs of a process exclude each other, so a fault of each CAM
 * slot of each of these GPUs may be served between two faults of the page. Each repair may wait
 * twice for VRAM, for about 3 s each time (vgpu_bo_create_kernel()).
 */
#define SVM_FAULT_FORGET_MS	120000u

/**
 * struct svm_fault_failures - failed repairs of a page, for lack of memory
 *
 * One page for each process and GPU is enough: if the fault of this page is denied, all queues of
 * the process on the GPU stop, so no other page faults again.
 */
struct svm_fault_failures {
	/** @page: page number; no meaning if @count is 0 */
	unsigned long page;
	/** @count: number of failures */
	unsigned int count;
	/** @first: time of the first failure, in jiffies */
	unsigned long first;
	/** @last: time of the last failure, in jiffies */
	unsigned long last;
};

/* Verdict on a retry fault. trace_svm_service() prints these numbers. */
enum svm_verdict {
	/* Page table entries were written. svm_fault_service() sets *@win to their pages. */
	SVM_FAULT_REPAIRED,
	/*
	 * Outdated fault; the replay may raise a new fault. Causes:
	 *
	 * - The PTE now allows the access or is no-retry.
	 * - The access is not allowed now, but may have been when the fault was raised
	 *   (svm_fault_checkpoint()).
	 * - No process needs the repair.
	 */
	SVM_FAULT_STALE,
	/*
	 * No repair now: the memory map keeps changing. The replay raises a new fault, again and
	 * again while the cause lasts.
	 */
	SVM_FAULT_BUSY,
	/*
	 * The access is not allowed, or repairs have failed too often for lack of memory
	 * (svm_fault_failures_add()). The process's queues are stopped, and the PTE is no-retry.
	 */
	SVM_FAULT_DENIED,
	/* The mm has ended. Handled like SVM_FAULT_DENIED, but without a report. */
	SVM_FAULT_DYING,
	/*
	 * No repair now: there is no memory for a range, a page table or DMA addresses, or a page's
	 * DMA mapping fails. The replay raises a new fault, so the caller sleeps before it
	 * acknowledges this one.
	 */
	SVM_FAULT_NO_MEMORY,
};

/*
 * Functions in svm_fault_queue.c. svm_fault_init() registers the interrupt handler; returns 0,
 * -ENOMEM, or an error of vgpu_ih_register(). At svm_fault_fini(), no process uses the GPU.
 */
int svm_fault_init(struct kfd_node *node);
void svm_fault_fini(struct kfd_node *node);
/*
 * Wait until all faults of the process that were queued before the call are handled. On return, the
 * retry faults among them have been acknowledged, too.
 */
void svm_fault_flush(struct svm_range_list *svms);

/*
 * svm_fault.c. Record a removal of access. Older faults that cannot be repaired are then stale, not
 * denied. Sleeps; callable in MMU notifiers that may block.
 */
void svm_fault_checkpoint(struct svm_range_list *svms);
/*
 * Record that pages were cleared, perhaps by the truncation of a file, which removes access. Each
 * GPU then reads its clock only if one of its faults would be denied. Any context.
 */
void svm_fault_note_clear(struct svm_range_list *svms);
/*
 * Return the VMA of the fault's page if the VMA allows the access, otherwise NULL. The caller
 * holds mmap_lock.
 */
struct vm_area_struct *svm_fault_vma(struct mm_struct *mm, const struct svm_fault *f);
/*
 * Repair or deny a retry fault of @p (NULL: unknown PASID). The caller holds a reference to @p and
 * acknowledges the fault. Takes mmap_lock; waits for page-ins.
 */
enum svm_verdict svm_fault_service(struct kfd_node *node, struct kfd_process *p,
				   const struct svm_fault *f,
				   struct svm_interval *win);
/* Report a no-retry fault. Called in the same context as svm_fault_service(). */
void svm_fault_report(struct kfd_node *node, struct kfd_process *p,
		      const struct svm_fault *f);
/* Documented in svm_fault.c. Only svm_fault_service() and tests call these two functions. */
bool svm_fault_failures_add(struct svm_fault_failures *fails, unsigned long page,
			    unsigned long now, unsigned int n_gpus);
void svm_fault_failures_forget(struct svm_fault_failures *fails, struct svm_interval pages);

#endif /* SVM_FAULT_H */
