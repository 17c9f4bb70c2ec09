/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Defines struct svm_fault_queue. The interrupt handler adds faults to a fault queue, and a worker
 * handles them (svm_fault_queue.c). svm_fault_cam.c records which fault queue owns each slot of the
 * retry CAM.
 */
#ifndef SVM_FAULT_QUEUE_H
#define SVM_FAULT_QUEUE_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include "svm_fault_entry.h"

struct kfd_node;
struct svm_range_list;

/* Limit of queued no-retry faults of a process on a GPU; further faults are dropped. */
#define SVM_FAULT_REPORTS	16

/**
 * struct svm_fault_queue - queue of faults on a GPU that belong to one process, or to no process
 * @node: the GPU
 * @svms: SVM of the process. NULL in svm_node.faults; this queue receives faults of the kernel,
 *        faults with a PASID that no process has, and faults of a process that was created without
 *        the GPU
 * @wq: ordered workqueue that runs @work
 * @pending: faults since the last run of @work, oldest first
 * @batch: faults that the current run of @work has to serve
 * @reports: memory for no-retry faults; an element is in @pending, in @batch, or free. Retry
 *           faults are stored in svm_node.slots
 * @serving: retry fault that was taken from @batch and is not acknowledged yet, or NULL
 * @since: time in jiffies when the last fault of the queue was acknowledged or, if that was later,
 *         when the queue began to own CAM slots; see SVM_CAM_STALL_MS
 * @off: svm_cam_work() has taken the process's user queues off the GPU; the current run of @work,
 *       or the next one, puts these queues back on the GPU at the end of the run
 * @work: serves the faults; holds a reference to the process while queued or running
 *
 * svm_node.fault_lock protects @pending, @batch, @reports, @serving, @since and @off.
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

/* Initialise a queue. The owner calls flush_work(&q->work) before it frees the queue. */
void svm_fault_queue_init(struct svm_fault_queue *q, struct kfd_node *node,
			  struct svm_range_list *svms, struct workqueue_struct *wq);

/*
 * Functions in svm_fault_cam.c. A fault queue owns the CAM slot of a fault until the fault is
 * acknowledged. The caller of svm_cam_own() and svm_cam_disown() holds svm_node.fault_lock.
 */
void svm_cam_own(struct svm_fault_queue *q, const struct svm_fault *f);
void svm_cam_disown(struct svm_fault_queue *q, const struct svm_fault *f);
/*
 * Called at the end of a run of q->work: put the process's queues back on the hardware, if
 * svm_cam_work() has taken them off.
 */
void svm_cam_resume(struct svm_fault_queue *q);
/*
 * Work function of svm_node.cam_work. If no CAM slot is free, takes the user queues of processes
 * with stalled fault queues off the hardware, and acknowledges the faults of these processes.
 */
void svm_cam_work(struct work_struct *work);

#endif /* SVM_FAULT_QUEUE_H */
