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

/* Verdict on a retry fault, see svm_fault.c; trace_svm_service() prints these numbers. */
enum svm_verdict {
	SVM_FAULT_REPAIRED,
	SVM_FAULT_STALE,
	SVM_FAULT_BUSY,
	SVM_FAULT_DENIED,
	SVM_FAULT_DYING,	/* denied without a report, because the mm has ended */
};

/*
 * Functions in svm_fault_queue.c. svm_fault_init() registers the interrupt handler. Returns 0,
 * -ENOMEM, or an error of vgpu_ih_register(). Before svm_fault_fini() the caller makes sure that no
 * process uses the GPU any more.
 */
int svm_fault_init(struct kfd_node *node);
void svm_fault_fini(struct kfd_node *node);
/*
 * Wait until all faults of the process that were queued before the call are handled. On return, the
 * retry faults among them have been acknowledged, too.
 */
void svm_fault_flush(struct svm_range_list *svms);

/*
 * svm_fault.c. Record that access to memory was removed. A fault that is older than this call, and
 * cannot be repaired, counts as stale: it is acknowledged, but not denied. Sleeps in
 * vgpu_clock_read(). Callable in MMU notifiers.
 */
void svm_fault_checkpoint(struct svm_range_list *svms);
/*
 * Repair or deny a retry fault, and return the verdict. @p: the process that has the fault's PASID,
 * or NULL if no process has this PASID.
 * @win: set to the mapped pages, if the verdict is SVM_FAULT_REPAIRED. The caller acknowledges the
 * fault afterwards. Called in the worker of the process, and the worker holds a reference to @p.
 * The function takes mmap_lock and waits for page-ins.
 */
enum svm_verdict svm_fault_service(struct kfd_node *node, struct kfd_process *p,
				   const struct svm_fault *f,
				   struct svm_interval *win);
/* Report a no-retry fault. Called in the same context as svm_fault_service(). */
void svm_fault_report(struct kfd_node *node, struct kfd_process *p,
		      const struct svm_fault *f);

#endif /* SVM_FAULT_H */
