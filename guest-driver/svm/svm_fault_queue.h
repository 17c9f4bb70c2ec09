/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fault entries between the interrupt handler and the worker of their process:
 * svm_fault_queue.c, and the slots of the retry CAM that they keep: svm_fault_cam.c.
 */
#ifndef SVM_FAULT_QUEUE_H
#define SVM_FAULT_QUEUE_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include "svm_fault_entry.h"

struct kfd_node;
struct svm_range_list;

/* No-retry faults of a process on a GPU that wait to be reported; more are dropped. */
#define SVM_FAULT_REPORTS	16

/**
 * struct svm_fault_queue - faults of a process on a GPU, or of a GPU without a process
 * @node: the GPU
 * @svms: the process; NULL: entries with a PASID that no process has, and the kernel's
 * @wq: ordered; runs @work
 * @pending: faults since the last run of @work, the oldest first; svm_node.fault_lock
 * @batch: faults that the current run of @work is to serve; svm_node.fault_lock
 * @reports: no-retry faults, free or in @pending or @batch; svm_node.fault_lock. Retry
 *           faults are in svm_node.slots
 * @serving: retry fault that was in @batch and is not acknowledged yet, or NULL;
 *           svm_node.fault_lock
 * @since: jiffies when a fault was acknowledged last, or, after a time without faults,
 *         when the first one came; svm_node.fault_lock
 * @off: the process's queues are off the GPU until the end of the current or next run of
 *       @work; svm_node.fault_lock
 * @work: serves faults. Holds a reference to the process from being queued to its end
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

/* Before the first fault. The queue ends with flush_work(&q->work). */
void svm_fault_queue_init(struct svm_fault_queue *q, struct kfd_node *node,
			  struct svm_range_list *svms, struct workqueue_struct *wq);

/*
 * svm_fault_cam.c. A queue owns the slot of a fault until that is acknowledged.
 * svm_cam_own(), svm_cam_disown(): svm_node.fault_lock held.
 */
void svm_cam_own(struct svm_fault_queue *q, const struct svm_fault *f);
void svm_cam_disown(struct svm_fault_queue *q, const struct svm_fault *f);
/* The end of a run of q->work: the queues go on, if svm_cam_work() took them off. */
void svm_cam_resume(struct svm_fault_queue *q);
/* svm_node.cam_work. */
void svm_cam_work(struct work_struct *work);

#endif /* SVM_FAULT_QUEUE_H */
