/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Defines struct svm_fault_queue. The interrupt handler adds faults to a fault queue, and a worker
 * handles them (svm_fault_queue.c). svm_fault_cam.c records which fault queue owns each slot of the
 * retry CAM.
 */
#ifndef SVM_FAULT_QUEUE_H
#define SVM_FAULT_QUEUE_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "svm_fault_entry.h"

struct kfd_node;
struct svm_interval;
struct svm_range_list;

/* Limit of queued no-retry faults of a process on a GPU; further faults are dropped. */
#define SVM_FAULT_REPORTS	16

/**
 * struct svm_fault_queue - queue of faults on a GPU that belong to one process, or to no process
 *
 * svm_node.fault_lock protects the members from @pending to @scheduled.
 */
struct svm_fault_queue {
	/** @node: the GPU */
	struct kfd_node *node;
	/**
	 * @svms: SVM of the process, or NULL if this queue is svm_node.faults. That queue has the
	 * faults of the kernel, of unknown PASIDs, and of processes created without the GPU
	 */
	struct svm_range_list *svms;
	/** @wq: ordered workqueue of @work, which runs on any CPU */
	struct workqueue_struct *wq;
	/**
	 * @local_wq: workqueue of @local_work, which runs on the CPU that has queued it; NULL if
	 * only @work is used
	 */
	struct workqueue_struct *local_wq;
	/** @pending: faults that the worker has not looked at yet, oldest first */
	struct list_head pending;
	/** @batch: faults that the worker takes next, before those in @pending */
	struct list_head batch;
	/**
	 * @reports: memory for no-retry faults; an element is in @pending, in @batch, or free.
	 * Retry faults are stored in svm_node.slots
	 */
	struct svm_fault reports[SVM_FAULT_REPORTS];
	/** @serving: retry fault taken from @batch and not acknowledged yet, or NULL */
	struct svm_fault *serving;
	/**
	 * @since: time in jiffies when the last fault of this queue was acknowledged or, if later,
	 * when this queue began to own CAM slots; see SVM_CAM_STALL_MS
	 */
	unsigned long since;
	/**
	 * @off: svm_cam_work() has taken the process's user queues off the GPU. The worker puts
	 * these user queues back on the GPU after @batch
	 */
	bool off;
	/**
	 * @scheduled: one of @work and @local_work is queued, or runs and will look at @pending
	 * again. Both serve the faults. At most one of them is scheduled, because only one worker
	 * at a time may serve a queue. The scheduled one holds a reference to the process
	 */
	bool scheduled;
	/** @work: serves the faults if the interrupted CPU was busy */
	struct work_struct work;
	/** @local_work: serves the faults on the interrupted CPU, if this CPU was idle */
	struct work_struct local_work;
};

/*
 * Initialise a queue. Before the owner frees the queue, it flushes both work items
 * (svm_fault_flush()) or destroys the workqueues.
 */
void svm_fault_queue_init(struct svm_fault_queue *q, struct kfd_node *node,
			  struct svm_range_list *svms, struct workqueue_struct *wq,
			  struct workqueue_struct *local_wq);
/*
 * Called by the worker. Return true if the worker has something more urgent to do than to map
 * memory ahead: faults are queued, or svm_cam_work() has taken user queues off the GPU.
 */
bool svm_fault_waits(struct svm_fault_queue *q);
/* Allocate svms->wq and svms->local_wq. Returns 0 or -ENOMEM. svm_wqs_fini() destroys them. */
int svm_wqs_init(struct svm_range_list *svms);
void svm_wqs_fini(struct svm_range_list *svms);
/* Documented in svm_fault_queue.c; only svm_fault_queue.c and tests use these two functions. */
bool svm_fault_cpu_idle(void);
void svm_fault_ack(struct svm_fault_queue *q, const struct svm_fault *f,
		   const struct svm_interval *win);

/*
 * Functions in svm_fault_cam.c. A fault queue owns the CAM slot of a fault until the fault is
 * acknowledged. The caller of svm_cam_own() and svm_cam_disown() holds svm_node.fault_lock.
 */
void svm_cam_own(struct svm_fault_queue *q, const struct svm_fault *f);
void svm_cam_disown(struct svm_fault_queue *q, const struct svm_fault *f);
/*
 * Called by the worker after each batch: put the process's queues back on the hardware, if
 * svm_cam_work() has taken them off.
 */
void svm_cam_resume(struct svm_fault_queue *q);
/*
 * Work function of svm_node.cam_work. If no CAM slot is free, takes the user queues of stalled
 * processes off the hardware and acknowledges these processes' faults.
 */
void svm_cam_work(struct work_struct *work);

#endif /* SVM_FAULT_QUEUE_H */
