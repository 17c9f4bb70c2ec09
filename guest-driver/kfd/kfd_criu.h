/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checkpoints of processes: what is in the private data of AMDKFD_IOC_CRIU_OP,
 * and what the files kfd_criu*.c share.
 *
 * The private data is: head, then arrays of devices, BOs, queues, events and SVM
 * ranges, each as long as the head says. A device is named by its place in the
 * first array. Whatever comes back from user space is checked: it may be anything.
 */
#ifndef KFD_CRIU_H
#define KFD_CRIU_H

#include <linux/fs.h>
#include <linux/kfd_ioctl.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "vgpu_mqd.h"
#include "kfd_process.h"
#include "kfd_queue.h"

struct file;
struct kfd_process;
struct kfd_saved_event;
struct mm_struct;
struct svm_saved_range;

/**
 * struct kfd_criu - checkpoint and restore of a process
 * @owner: the files of who has paused it; written under the process mutex
 * @ranges: SVM ranges that it gets when it is resumed; process mutex
 * @n_ranges: their number
 */
struct kfd_criu {
	fl_owner_t owner;
	struct svm_saved_range *ranges;
	u32 n_ranges;
};

#define KFD_CRIU_MAGIC		0x75524356u
#define KFD_CRIU_VERSION	1
/* More is no process; it must not have us allocate without end. */
#define KFD_CRIU_MAX_BYTES	SZ_256M
#define KFD_CRIU_NO_FD		0xffffffffu	/* dmabuf_fd, as amdkfd has it */

#define KFD_CRIU_XNACK		BIT(0)	/* page faults are repaired */
#define KFD_CRIU_EVENT_PAGE	BIT(1)	/* there is a signal page of the kernel's */
#define KFD_CRIU_HEAD_FLAGS	(KFD_CRIU_XNACK | KFD_CRIU_EVENT_PAGE)

/**
 * struct kfd_criu_head - what is in the rest; the process itself
 * @magic: KFD_CRIU_MAGIC
 * @version: KFD_CRIU_VERSION: of all these structures
 * @bytes: length of the private data
 * @n_devices: length of the arrays; also below
 * @n_bos: buffers
 * @n_queues: queues
 * @n_events: events
 * @n_ranges: SVM ranges
 * @flags: KFD_CRIU_HEAD_FLAGS
 * @event_page: handle of user space's signal page, if it has @has_page
 * @has_page: 0 or 1
 * @runtime_state: of RUNTIME_ENABLE, as the next two
 * @r_debug: where a debugger looks
 * @ttmp_setup: 0 or 1
 * @pad: 0
 */
struct kfd_criu_head {
	u32 magic;
	u32 version;
	u64 bytes;
	u32 n_devices;
	u32 n_bos;
	u32 n_queues;
	u32 n_events;
	u32 n_ranges;
	u32 flags;
	u64 event_page;
	u32 has_page;
	u32 runtime_state;
	u64 r_debug;
	u32 ttmp_setup;
	u32 pad;
};

#define KFD_CRIU_HAS_VM		BIT(0)
#define KFD_CRIU_HAS_DOORBELLS	BIT(1)
#define KFD_CRIU_DEVICE_FLAGS	(KFD_CRIU_HAS_VM | KFD_CRIU_HAS_DOORBELLS)

/**
 * struct kfd_criu_device - a process's state on a GPU
 * @scratch: SET_SCRATCH_BACKING_VA
 * @tba: SET_TRAP_HANDLER
 * @tma: and its memory
 * @flags: KFD_CRIU_DEVICE_FLAGS
 * @pad: 0
 */
struct kfd_criu_device {
	u64 scratch;
	u64 tba;
	u64 tma;
	u32 flags;
	u32 pad;
};

/**
 * struct kfd_criu_bo - what the bucket does not say of a buffer
 * @user_addr: of a user pointer
 * @mapped: bit n: mapped on device n
 * @id: low half of its handle
 * @pad: 0
 */
struct kfd_criu_bo {
	u64 user_addr;
	u64 mapped;
	u32 id;
	u32 pad;
};

#define KFD_CRIU_ENABLED	BIT(0)
#define KFD_CRIU_FAULTED	BIT(1)
#define KFD_CRIU_AQL		BIT(2)
#define KFD_CRIU_GWS		BIT(3)
#define KFD_CRIU_QUEUE_FLAGS	(KFD_CRIU_ENABLED | KFD_CRIU_FAULTED | \
				 KFD_CRIU_AQL | KFD_CRIU_GWS)

/**
 * struct kfd_criu_queue - a queue; fields as in struct kfd_queue_properties
 * @device: number of its GPU
 * @kind: enum kfd_queue_kind
 * @flags: KFD_CRIU_QUEUE_FLAGS
 * @id: what user space names it by
 * @ring_va: ring
 * @rptr_va: its read pointer
 * @wptr_va: its write pointer
 * @eop_va: compute: end-of-pipe buffer
 * @eop_bytes: its length
 * @save_va: compute: context save area
 * @save_bytes: its length
 * @stack_bytes: of that, the control stack; of which nothing is ever in use
 * @ring_bytes: length of the ring
 * @priority: compute
 * @doorbell: byte offset in the slice
 * @engine: SDMA
 * @hw_queue: SDMA: hardware queue
 * @pad: 0
 * @rptr: SDMA: where it stopped
 * @mqd: compute: how far it has come
 */
struct kfd_criu_queue {
	u32 device;
	u32 kind;
	u32 flags;
	u32 id;
	u64 ring_va;
	u64 rptr_va;
	u64 wptr_va;
	u64 eop_va;
	u64 eop_bytes;
	u64 save_va;
	u32 save_bytes;
	u32 stack_bytes;
	u32 ring_bytes;
	u32 priority;
	u32 doorbell;
	u32 engine;
	u32 hw_queue;
	u32 pad;
	u64 rptr;
	struct vgpu_mqd_state mqd;
};

/**
 * struct kfd_criu_image - private data in the kernel's memory
 * @head: its beginning
 * @devices: arrays in it
 * @bos: buffers
 * @queues: queues
 * @events: events
 * @ranges: SVM ranges
 */
struct kfd_criu_image {
	struct kfd_criu_head *head;
	struct kfd_criu_device *devices;
	struct kfd_criu_bo *bos;
	struct kfd_criu_queue *queues;
	struct kfd_saved_event *events;
	struct svm_saved_range *ranges;
};

/**
 * struct kfd_criu_buffers - what comes from user space, or goes there
 * @data: private data
 * @devices: buckets
 * @bos: buckets
 * @files: of dma-bufs
 */
struct kfd_criu_buffers {
	void *data;
	struct kfd_criu_device_bucket *devices;
	struct kfd_criu_bo_bucket *bos;
	struct file **files;
};

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
/* Ranges that a restored process was to get. */
void kfd_criu_forget_ranges(struct kfd_process *p);

/* kfd_criu_save.c, kfd_criu_restore.c: mutex held by the first only. */
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

/*
 * kfd_criu.c. Allocate kfd_process.criu: 0 or -ENOMEM; and free it, at the end of the
 * process. No mutex.
 */
int kfd_criu_init(struct kfd_process *p);
void kfd_criu_fini(struct kfd_process *p);
/*
 * A file of /dev/kfd of @mm's process is closed by its last user in the process
 * with the files @owner, which ends: if it has paused the other one, that goes
 * on. Takes the other's mutex; not held.
 */
void kfd_criu_owner_ends(const struct mm_struct *mm, fl_owner_t owner);

#endif /* KFD_CRIU_H */
