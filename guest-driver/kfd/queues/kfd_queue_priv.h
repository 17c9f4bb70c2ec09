/* SPDX-License-Identifier: GPL-2.0 */
/* Structures and functions shared by the files of queues/. */
#ifndef KFD_QUEUE_PRIV_H
#define KFD_QUEUE_PRIV_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "vgpu/sdma.h"
#include "kfd_queue.h"

/**
 * struct kfd_sched - compute queues that may run on a GPU
 */
struct kfd_sched {
	/**
	 * @lock: protects the members below, qcm_process_device.run_queues of each process, and the
	 * submission of run lists. Taken inside kfd_process.queue_lock; holders of @lock do not
	 * allocate memory
	 */
	struct mutex lock;
	/** @qpds: list of the struct qcm_process_device with non-empty run_queues */
	struct list_head qpds;
	/** @dwords: length in dwords that a run list of all compute queues of the GPU would have */
	u32 dwords;
};

/**
 * struct device_queue_manager - queues of all processes on a GPU
 * @queue_lock: protects @sdma_busy; taken inside kfd_process.mutex
 * @sdma_busy: for each engine, bitmap of the hardware queues in use
 * @sched: compute queues that may run
 */
struct device_queue_manager {
	struct mutex queue_lock;	/* protects sdma_busy */
	unsigned long sdma_busy[SDMA_NUM_ENGINES];
	struct kfd_sched sched;
};

/*
 * Load or unload one queue, as its state requires. The caller holds kfd_process.queue_lock. Returns
 * 0, or -ETIME if the hardware did not release or did not start the queue.
 */
int kfd_queue_sync(struct kfd_queue *q);

/*
 * kfd_queue_buffer.c: buffers that user space has allocated. kfd_queue_get_buffer() keeps a buffer
 * from being unmapped until kfd_queue_put_buffer(). The caller holds kfd_process.mutex.
 */
struct kfd_mem_attachment *
kfd_queue_get_buffer(struct kfd_process_device *pdd, u64 va, u64 bytes);
void kfd_queue_put_buffer(struct kfd_mem_attachment **att);
/*
 * Returns -EINVAL if the ring, the read pointer or the write pointer is not aligned, or if
 * kfd_queue_get_buffer() returns NULL for one of these three buffers.
 */
int kfd_queue_get_buffers(struct kfd_queue *q,
			  const struct kfd_queue_properties *props);
void kfd_queue_put_buffers(struct kfd_queue *q);

/* kfd_queue_sdma.c */
/*
 * Reserve a hardware queue and a VMID. The caller holds kfd_process.mutex. Returns 0, an error of
 * kfd_sdma_map_wptr() or vgpu_vm_get_vmid(), or:
 *
 * - -ENOMEM: no hardware queue is free
 * - -EBUSY: the hardware queue in @props->saved is in use
 * - -EINVAL: @props->saved is not valid
 */
int kfd_sdma_init(struct kfd_queue *q,
		  const struct kfd_queue_properties *props);
/* Undo kfd_sdma_init(). The caller holds kfd_process.mutex. */
void kfd_sdma_fini(struct kfd_queue *q);
/* Callers of kfd_sdma_load() and kfd_sdma_unload() hold kfd_process.queue_lock. */
int kfd_sdma_load(struct kfd_queue *q);
int kfd_sdma_unload(struct kfd_queue *q);
/*
 * Called after a reset of the engine, with kfd_process.queue_lock held. Returns false in two cases:
 *
 * - the queue hung
 * - the queue was loaded before the reset, and the recovery has not loaded it again
 */
bool kfd_sdma_recovered(struct kfd_queue *q);
/*
 * Map the write pointer in the kernel until the next eviction. The caller holds kfd_process.mutex.
 * Returns 0, or -EINVAL if the write pointer is in one of these:
 *
 * - the MMIO page
 * - an import from another device
 * - a userptr BO that user space has unmapped
 *
 * For an evicted process, returns 0 in these cases, too: restore_work will call the function again.
 */
int kfd_sdma_map_wptr(struct kfd_queue *q);

/* kfd_queue_compute.c */
/*
 * Reserve a doorbell, space in run lists and the queue's buffers. The caller holds
 * kfd_process.mutex. Returns 0, an error of kfd_sched_reserve() or vgpu_vm_schedule(), or:
 *
 * - -EBUSY: the doorbell in @props->saved is in use
 * - -EINVAL: bad end-of-pipe buffer, context save area or @props->saved
 * - -ENOMEM: no doorbell or no memory
 */
int kfd_cp_init(struct kfd_queue *q, const struct kfd_queue_properties *props);
void kfd_cp_fini(struct kfd_queue *q);
/* Set ring and priority in the MQD of a queue that is not loaded. The caller holds queue_lock. */
void kfd_cp_set_ring(struct kfd_queue *q, u64 ring_va, u32 ring_bytes,
		     u8 priority);
#define KFD_EOP_BYTES		4096u

/*
 * kfd_queue_sysfs.c: create and remove a queue's folder in sysfs. The folder must be removed before
 * the queue is freed. The caller holds kfd_process.mutex.
 */
void kfd_queue_sysfs_add(struct kfd_queue *q);
void kfd_queue_sysfs_remove(struct kfd_queue *q);

/* kfd_runlist.c: run lists */
void kfd_sched_init(struct kfd_sched *sched);
void kfd_sched_fini(struct kfd_sched *sched);
/* Reserve space for one more queue in run lists. Returns 0, or -EPERM if there is no space. */
int kfd_sched_reserve(struct kfd_process_device *pdd);
void kfd_sched_unreserve(struct kfd_process_device *pdd);
/*
 * Add a queue to all later run lists or, if @run is false, remove the queue from them. The caller
 * holds queue_lock.
 */
void kfd_sched_mark(struct kfd_queue *q, bool run);
/* Submit a new run list. Returns 0 or -ETIME. */
int kfd_sched_submit(struct kfd_node *node);

#endif /* KFD_QUEUE_PRIV_H */
