/* SPDX-License-Identifier: GPL-2.0 */
/* Functions shared by the files of criu/. */
#ifndef KFD_CRIU_PRIV_H
#define KFD_CRIU_PRIV_H

#include <linux/kfd_ioctl.h>
#include <linux/types.h>

#include "process/kfd_process.h"
#include "kfd_criu_image.h"

struct file;

/*
 * The caller of these functions holds kfd_process.mutex, except where a comment states otherwise.
 */

/* kfd_criu.c */

/*
 * From the array lengths in @h, kfd_criu_bytes() computes the size of the private data, and
 * kfd_criu_objects() computes the total number of queues, events and SVM ranges.
 */
u64 kfd_criu_bytes(const struct kfd_criu_head *h);
u64 kfd_criu_objects(const struct kfd_criu_head *h);
/* Return pointers to the arrays in private data. The caller has checked the head. */
struct kfd_criu_image kfd_criu_image_of(void *data);
void kfd_criu_free(struct kfd_criu_buffers *b);
/*
 * Fill @h with the number of objects to save. Returns 0 or:
 *
 * - -EBUSY: the process is debugged (logged)
 * - -EOPNOTSUPP: memory that cannot be saved (logged)
 * - -ENOMEM: more than KFD_CRIU_MAX_BYTES
 * - -ESRCH: the address space has ended
 */
int kfd_criu_count(struct kfd_process *p, struct kfd_criu_head *h);
/*
 * Evict the process's queues on each GPU, and set kfd_process.criu_state to @state. Returns 0, or
 * -ETIME if a queue did not stop in time.
 */
int kfd_criu_stop(struct kfd_process *p, enum kfd_criu_state state,
		  enum KFD_QUEUE_EVICTION_TRIGGERS why);
/* Undo kfd_criu_stop(), also after -ETIME. */
void kfd_criu_unpause(struct kfd_process *p);

/* kfd_criu_checkpoint.c, kfd_criu_restore.c */
int kfd_criu_checkpoint(struct kfd_process *p,
			const struct kfd_ioctl_criu_args *args);
/*
 * Called without kfd_process.mutex. After an error, new address spaces and doorbells stay. Then
 * each later RESTORE in the process fails.
 */
int kfd_criu_restore(struct kfd_process *p,
		     const struct kfd_ioctl_criu_args *args);

/* kfd_criu_mem.c */

/*
 * Return the number of the process's BOs; or -EOPNOTSUPP (logged) if a BO is shared by a dma-buf,
 * or if the process has mapped memory through the render node.
 */
int kfd_criu_count_bos(struct kfd_process *p);
/*
 * Write descriptions of all BOs of @p to @buckets and @bos. For each BO that can have a dma-buf,
 * store the dma-buf's file in @files, and reserve a file descriptor. Returns 0, -EMFILE if no file
 * descriptor is free, or -ENOMEM.
 */
int kfd_criu_save_bos(struct kfd_process *p,
		      struct kfd_criu_bo_bucket *buckets,
		      struct kfd_criu_bo *bos, struct file **files);
/*
 * Create the BOs of a checkpoint, and fill @files as kfd_criu_save_bos() does. Returns 0, an error
 * of kgd_mem_create(), kfd_memory_map() or kgd_mem_export(), or:
 *
 * - -ENODEV: no such GPU
 * - -EINVAL: bad description of a BO
 * - -ENOMEM: also if the handle of a BO is in use
 * - -EMFILE: too many open files
 */
int kfd_criu_restore_bos(struct kfd_process *p,
			 struct kfd_process_device *const *pdds, u32 n_pdds,
			 struct kfd_criu_bo_bucket *buckets,
			 const struct kfd_criu_bo *bos, u32 n,
			 struct file **files);
/*
 * Install the files at their reserved descriptors or, if @err, release both. Must follow
 * kfd_criu_save_bos() or kfd_criu_restore_bos(), even after an error. No lock is needed.
 */
void kfd_criu_commit_files(struct file **files,
			   const struct kfd_criu_bo_bucket *buckets, u32 n,
			   int err);

/* kfd_criu_queue.c */

/*
 * Fill @queues with a description of each queue of the process. Returns 0, or -EIO if the hardware
 * did not release a queue (logged).
 */
int kfd_criu_save_queues(struct kfd_process *p, struct kfd_criu_queue *queues);
/*
 * Create a queue of a checkpoint. Returns 0, an error of kfd_queue_create(), or:
 *
 * - -EINVAL: bad description of the queue, or the device has no VM
 * - -ETIME: global wave sync could not be set; the queue stays
 * - -EBUSY: global wave sync is taken; the queue stays
 */
int kfd_criu_restore_queue(struct kfd_process_device *const *pdds, u32 n_pdds,
			   const struct kfd_criu_queue *s);

#endif /* KFD_CRIU_PRIV_H */
