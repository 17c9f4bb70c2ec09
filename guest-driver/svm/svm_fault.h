/* SPDX-License-Identifier: GPL-2.0 */
/* Handle GPU faults (svm_fault_queue.c and svm_fault.c). */
#ifndef SVM_FAULT_H
#define SVM_FAULT_H

struct kfd_node;
struct kfd_process;
struct svm_fault;
struct svm_interval;
struct svm_range_list;

/*
 * log2 of the maximum number of pages that the repair of one fault maps (64 MiB). The limit applies
 * even if the granularity is larger.
 */
#define SVM_FAULT_MAX_ORDER	14

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
	 * No repair now: the memory map keeps changing, memory is short, or a page's DMA mapping
	 * fails. The replay raises a new fault, again and again while the cause lasts.
	 */
	SVM_FAULT_BUSY,
	/* The access is not allowed. The process's queues are stopped, and the PTE is no-retry. */
	SVM_FAULT_DENIED,
	/* The mm has ended. Handled like SVM_FAULT_DENIED, but without a report. */
	SVM_FAULT_DYING,
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
 * Repair or deny a retry fault of @p (NULL: unknown PASID). The caller holds a reference to @p and
 * acknowledges the fault. Takes mmap_lock; waits for page-ins.
 */
enum svm_verdict svm_fault_service(struct kfd_node *node, struct kfd_process *p,
				   const struct svm_fault *f,
				   struct svm_interval *win);
/* Report a no-retry fault. Called in the same context as svm_fault_service(). */
void svm_fault_report(struct kfd_node *node, struct kfd_process *p,
		      const struct svm_fault *f);

#endif /* SVM_FAULT_H */
