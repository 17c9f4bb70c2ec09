/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checkpoints of processes: what is in the private data of AMDKFD_IOC_CRIU_OP.
 *
 * The private data is: head, then arrays of devices, BOs, queues, events and SVM
 * ranges, each as long as the head says. A device is named by its place in the
 * first array. Whatever comes back from user space is checked: it may be anything.
 */
#ifndef KFD_CRIU_IMAGE_H
#define KFD_CRIU_IMAGE_H

#include <linux/bits.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "hw/cp/vgpu_mqd.h"

struct file;
struct kfd_criu_bo_bucket;
struct kfd_criu_device_bucket;
struct kfd_saved_event;
struct svm_saved_range;

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

#endif /* KFD_CRIU_IMAGE_H */
