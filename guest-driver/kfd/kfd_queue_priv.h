/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of queues share: the hardware queues and run lists of a GPU. */
#ifndef KFD_QUEUE_PRIV_H
#define KFD_QUEUE_PRIV_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "vgpu/sdma.h"
#include "kfd_queue.h"

/**
 * struct kfd_sched - the compute queues of a GPU that may run
 * @lock: protects all below, run_queues of each process, and the order of run
 *        lists. Inside kfd_process.queue_lock; nothing under it allocates
 * @qpds: struct qcm_process_device that have some, by run_link
 * @dwords: what a run list of all queues there are would take
 */
struct kfd_sched {
	struct mutex lock;	/* who runs */
	struct list_head qpds;
	u32 dwords;
};

/**
 * struct device_queue_manager - queues of all processes on a GPU
 * @queue_lock: protects @sdma_busy; inside kfd_process.mutex
 * @sdma_busy: hardware queues in use, by engine
 * @sched: compute queues that may run
 */
struct device_queue_manager {
	struct mutex queue_lock;	/* @sdma_busy */
	unsigned long sdma_busy[SDMA_NUM_ENGINES];
	struct kfd_sched sched;
};

/* kfd_queue_sysfs.c. A queue's folder; it goes before the queue does. Mutex held. */
void kfd_queue_sysfs_add(struct kfd_queue *q);
void kfd_queue_sysfs_remove(struct kfd_queue *q);

/*
 * kfd_sched.c: run lists. mark says that the queue is to be in them or not
 * (queue_lock held); submit makes it so. 0 or -ETIME.
 */
void kfd_sched_init(struct kfd_sched *sched);
void kfd_sched_fini(struct kfd_sched *sched);
/* Room for one more queue in the lists. 0, -EPERM. */
int kfd_sched_reserve(struct kfd_process_device *pdd);
void kfd_sched_unreserve(struct kfd_process_device *pdd);
void kfd_sched_mark(struct kfd_queue *q, bool run);
int kfd_sched_submit(struct kfd_node *node);

#endif /* KFD_QUEUE_PRIV_H */
