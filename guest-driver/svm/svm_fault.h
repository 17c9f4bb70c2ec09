/* SPDX-License-Identifier: GPL-2.0 */
/* Faults of GPUs, as other files see their service: svm_fault_queue.c, svm_fault.c. */
#ifndef SVM_FAULT_H
#define SVM_FAULT_H

struct kfd_node;
struct kfd_process;
struct svm_fault;
struct svm_interval;
struct svm_range_list;

/* A fault maps at most this much, whatever the granularity says: 64 MiB. */
#define SVM_FAULT_MAX_ORDER	14

/* What becomes of a retry fault; the numbers are those of trace_svm_service(). */
enum svm_verdict {
	SVM_FAULT_REPAIRED,
	SVM_FAULT_STALE,
	SVM_FAULT_BUSY,
	SVM_FAULT_DENIED,
	SVM_FAULT_DYING,	/* denied, but nobody is left to be told */
};

/* svm_fault_queue.c. init: 0, -ENOMEM, or as vgpu_ih_register(). */
int svm_fault_init(struct kfd_node *node);
/* No process knows the GPU any more. */
void svm_fault_fini(struct kfd_node *node);
/* Every fault entry that the process's worker has by now is acknowledged on return. */
void svm_fault_flush(struct svm_range_list *svms);

/* svm_fault.c. Memory goes away: what faulted before is no error of the process. */
void svm_fault_checkpoint(struct svm_range_list *svms);
/*
 * Serve a retry fault of process @p (NULL: nobody's), which is not acknowledged yet.
 * @win: what was mapped, if the verdict is SVM_FAULT_REPAIRED. Worker of the process,
 * which has a reference to it; takes mmap_lock and waits for page-ins.
 */
enum svm_verdict svm_fault_service(struct kfd_node *node, struct kfd_process *p,
				   const struct svm_fault *f,
				   struct svm_interval *win);
/* Report a fault that the engine does not retry. Context as svm_fault_service(). */
void svm_fault_report(struct kfd_node *node, struct kfd_process *p,
		      const struct svm_fault *f);

#endif /* SVM_FAULT_H */
