/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of checkpoints share. */
#ifndef KFD_CRIU_PRIV_H
#define KFD_CRIU_PRIV_H

#include <linux/kfd_ioctl.h>
#include <linux/types.h>

#include "process/kfd_process.h"
#include "kfd_criu_image.h"

struct file;

/* All that follows: kfd_process.mutex held, unless it says otherwise. */

/* kfd_criu.c. Of what a head says: bytes of the private data, objects. */
u64 kfd_criu_bytes(const struct kfd_criu_head *h);
u64 kfd_criu_objects(const struct kfd_criu_head *h);
/* The parts of private data whose head is right. */
struct kfd_criu_image kfd_criu_image_of(void *data);
void kfd_criu_free(struct kfd_criu_buffers *b);
/*
 * What there is to save, as a head. 0, -EBUSY the process is debugged, -EOPNOTSUPP
 * it has what cannot be saved (both logged), -ENOMEM too much.
 */
int kfd_criu_count(struct kfd_process *p, struct kfd_criu_head *h);
/* The process's queues are off, by one more count; 0 or -ETIME. And on again. */
int kfd_criu_stop(struct kfd_process *p, enum kfd_criu_state state,
		  enum KFD_QUEUE_EVICTION_TRIGGERS why);
void kfd_criu_unpause(struct kfd_process *p);

/* kfd_criu_checkpoint.c, kfd_criu_restore.c: mutex held by the first only. */
int kfd_criu_checkpoint(struct kfd_process *p,
			const struct kfd_ioctl_criu_args *args);
int kfd_criu_restore(struct kfd_process *p,
		     const struct kfd_ioctl_criu_args *args);

/* kfd_criu_mem.c */

/*
 * Number of the process's BOs, or -EOPNOTSUPP, with a line in the log, if it
 * shares one with somebody by a dma-buf.
 */
int kfd_criu_count_bos(struct kfd_process *p);
/*
 * @buckets, @bos, and @files: of dma-bufs, referenced, with their reserved
 * descriptors in the buckets; NULL for what has none. 0, -EMFILE, -ENOMEM; on
 * failure, too, the caller ends with kfd_criu_commit_files().
 */
int kfd_criu_save_bos(struct kfd_process *p,
		      struct kfd_criu_bo_bucket *buckets,
		      struct kfd_criu_bo *bos, struct file **files);
/*
 * As in the checkpoint: handles, addresses, mappings; a user pointer gets its
 * pages when the process resumes. The same about @files. 0, -ENODEV no such GPU,
 * -EINVAL, -ENOMEM no memory, or the handle is taken, -EMFILE, -ERESTARTSYS.
 */
int kfd_criu_restore_bos(struct kfd_process *p,
			 struct kfd_process_device *const *pdds, u32 n_pdds,
			 struct kfd_criu_bo_bucket *buckets,
			 const struct kfd_criu_bo *bos, u32 n,
			 struct file **files);
/* Descriptors get their files, or (@err) neither is kept. No locks needed. */
void kfd_criu_commit_files(struct file **files,
			   const struct kfd_criu_bo_bucket *buckets, u32 n,
			   int err);

/* kfd_criu_queue.c. 0, -EIO the hardware did not let go of one (logged). */
int kfd_criu_save_queues(struct kfd_process *p, struct kfd_criu_queue *queues);
/*
 * 0, -EINVAL, -ENOSPC the id is taken, -EBUSY the doorbell or the hardware queue
 * is, or another queue has global wave sync; else as kfd_queue_create(). It may
 * have made the queue then.
 */
int kfd_criu_restore_queue(struct kfd_process_device *const *pdds, u32 n_pdds,
			   const struct kfd_criu_queue *s);

#endif /* KFD_CRIU_PRIV_H */
