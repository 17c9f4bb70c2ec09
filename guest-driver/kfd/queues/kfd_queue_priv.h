/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of queues share: both kinds, buffers, hardware queues, run lists. */
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

/* Bring the hardware in line with one queue; queue_lock held. 0 or -ETIME. */
int kfd_queue_sync(struct kfd_queue *q);

/* kfd_queue_buffer.c: user space's buffers, which stay mapped. Mutex held. */
struct kfd_mem_attachment *
kfd_queue_get_buffer(struct kfd_process_device *pdd, u64 va, u64 bytes);
void kfd_queue_put_buffer(struct kfd_mem_attachment **att);
int kfd_queue_get_buffers(struct kfd_queue *q,
			  const struct kfd_queue_properties *props);
void kfd_queue_put_buffers(struct kfd_queue *q);

/*
 * kfd_queue_sdma.c. init and fini: mutex held; a hardware queue, and a VMID for
 * the address space. 0, -ENOMEM, -ENOSPC, -ECANCELED, -EINVAL. The rest, but
 * map_wptr: queue_lock held.
 */
int kfd_sdma_init(struct kfd_queue *q,
		  const struct kfd_queue_properties *props);
void kfd_sdma_fini(struct kfd_queue *q);
int kfd_sdma_load(struct kfd_queue *q);
int kfd_sdma_unload(struct kfd_queue *q);
/* After a reset of its engine: did it survive that? Then it runs. */
bool kfd_sdma_recovered(struct kfd_queue *q);
/*
 * Find the write pointer, for as long as the process is not evicted. Mutex held.
 * 0, if it is evicted already, too: restore_work looks again; -EINVAL if the
 * pointer was in a user pointer, whose memory is gone.
 */
int kfd_sdma_map_wptr(struct kfd_queue *q);

/*
 * kfd_queue_compute.c: compute queues. init and fini: mutex held; a doorbell, the MQD
 * and buffers. 0, -EINVAL, -EPERM, -ENOMEM, -ECANCELED.
 */
int kfd_cp_init(struct kfd_queue *q, const struct kfd_queue_properties *props);
void kfd_cp_fini(struct kfd_queue *q);
/* Not loaded; queue_lock held. */
void kfd_cp_set_ring(struct kfd_queue *q, u64 ring_va, u32 ring_bytes,
		     u8 priority);
#define KFD_EOP_BYTES		4096u

/* kfd_queue_sysfs.c. A queue's folder; it goes before the queue does. Mutex held. */
void kfd_queue_sysfs_add(struct kfd_queue *q);
void kfd_queue_sysfs_remove(struct kfd_queue *q);

/*
 * kfd_runlist.c: run lists. mark says that the queue is to be in them or not
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
