/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues of faults between the interrupt handler and the worker of a process
 * (svm_fault_queue.c), and their slots of the retry CAM (svm_fault_cam.c).
 */
#ifndef SVM_FAULT_QUEUE_H
#define SVM_FAULT_QUEUE_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include "svm_fault_entry.h"

struct kfd_node;
struct svm_range_list;

/* No-retry faults of a process on a GPU that may be queued; more are dropped. */
#define SVM_FAULT_REPORTS	16

/**
 * struct svm_fault_queue - faults of a process on a GPU, or of a GPU without a process
 * @node: the GPU
 * @svms: SVM of the process; NULL: faults with a PASID that no process has, and faults of
 *        the kernel
 * @wq: ordered; runs @work
 * @pending: faults since the last run of @work, oldest first; svm_node.fault_lock
 * @batch: faults that the current run of @work has to serve; svm_node.fault_lock
 * @reports: no-retry faults, free or in @pending or @batch; svm_node.fault_lock. Retry
 *           faults are in svm_node.slots
 * @serving: retry fault that was taken from @batch and is not acknowledged yet, or NULL;
 *           svm_node.fault_lock
 * @since: jiffies when a fault of the queue was last acknowledged or, if later, when the
 *         queue, without CAM slots, got one; svm_node.fault_lock
 * @off: svm_cam_work() has taken the process's queues off the GPU, until the end of the
 *       current or next run of @work; svm_node.fault_lock
 * @work: serves the faults; holds a reference to the process while queued or running
 */
struct svm_fault_queue {
	struct kfd_node *node;
	struct svm_range_list *svms;
	struct workqueue_struct *wq;
	struct list_head pending;
	struct list_head batch;
	struct svm_fault reports[SVM_FAULT_REPORTS];
	struct svm_fault *serving;
	unsigned long since;
	bool off;
	struct work_struct work;
};

/* Initialise a queue. Before it frees the queue, the owner calls flush_work(&q->work). */
void svm_fault_queue_init(struct svm_fault_queue *q, struct kfd_node *node,
			  struct svm_range_list *svms, struct workqueue_struct *wq);

/*
 * svm_fault_cam.c. A queue owns the CAM slot of a fault until the fault is acknowledged.
 * The caller of svm_cam_own() and svm_cam_disown() holds svm_node.fault_lock.
 */
void svm_cam_own(struct svm_fault_queue *q, const struct svm_fault *f);
void svm_cam_disown(struct svm_fault_queue *q, const struct svm_fault *f);
/* End of a run of q->work: put the queues back, if svm_cam_work() has taken them off. */
void svm_cam_resume(struct svm_fault_queue *q);
/* svm_node.cam_work: take the queues of stalled processes off, and acknowledge their faults. */
void svm_cam_work(struct work_struct *work);

#endif /* SVM_FAULT_QUEUE_H */
