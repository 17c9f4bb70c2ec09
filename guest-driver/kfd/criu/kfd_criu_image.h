/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layout of the private data of AMDKFD_IOC_CRIU_OP, the checkpoint of a process: a head, then
 * arrays of devices, BOs, queues, events and SVM ranges. RESTORE gets the private data from user
 * space and checks each field.
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
/*
 * Maximum size of the private data, more than any process needs. User space passes the size to
 * RESTORE, so the maximum limits how much memory RESTORE allocates.
 */
#define KFD_CRIU_MAX_BYTES	SZ_256M
/* Value of kfd_criu_bo_bucket.dmabuf_fd for a BO without dma-buf, as in amdkfd. */
#define KFD_CRIU_NO_FD		0xffffffffu

#define KFD_CRIU_XNACK		BIT(0)	/* kfd_process.xnack_enabled is set */
#define KFD_CRIU_EVENT_PAGE	BIT(1)	/* the kernel has allocated the signal page */
#define KFD_CRIU_HEAD_FLAGS	(KFD_CRIU_XNACK | KFD_CRIU_EVENT_PAGE)

/**
 * struct kfd_criu_head - lengths of the arrays, and state of the process that is not in an array
 */
struct kfd_criu_head {
	/** @magic: KFD_CRIU_MAGIC */
	u32 magic;
	/** @version: KFD_CRIU_VERSION, the version of all structures of the private data */
	u32 version;
	/** @bytes: length of the private data, this head included */
	u64 bytes;
	/** @n_devices: number of the process's GPUs, GPUs without a VM included */
	u32 n_devices;
	/** @n_bos: number of allocations on all devices, doorbells and the MMIO page included */
	u32 n_bos;
	/** @n_queues: number of queues on all devices */
	u32 n_queues;
	/** @n_events: number of events of all types */
	u32 n_events;
	/** @n_ranges: number of SVM ranges */
	u32 n_ranges;
	/** @flags: bits of the mask KFD_CRIU_HEAD_FLAGS */
	u32 flags;
	/** @event_page: if @has_page: handle of the BO that user space allocated as signal page */
	u64 event_page;
	/** @has_page: 1 if user space allocated the signal page, otherwise 0 */
	u32 has_page;
	/** @runtime_state: DEBUG_RUNTIME_STATE_* of the runtime, from struct kfd_runtime_info */
	u32 runtime_state;
	/** @r_debug: address of the runtime's r_debug, from struct kfd_runtime_info */
	u64 r_debug;
	/** @ttmp_setup: 1 if the runtime has requested TTMP setup, otherwise 0 */
	u32 ttmp_setup;
	/** @pad: 0 */
	u32 pad;
};

#define KFD_CRIU_HAS_VM		BIT(0)
#define KFD_CRIU_HAS_DOORBELLS	BIT(1)
#define KFD_CRIU_DEVICE_FLAGS	(KFD_CRIU_HAS_VM | KFD_CRIU_HAS_DOORBELLS)

/**
 * struct kfd_criu_device - a process's state on a GPU
 * @scratch: address that was set with SET_SCRATCH_BACKING_VA
 * @tba: address of the trap handler, set with SET_TRAP_HANDLER
 * @tma: address of the trap handler's memory, set with SET_TRAP_HANDLER
 * @flags: bits of the mask KFD_CRIU_DEVICE_FLAGS
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
 * struct kfd_criu_bo - state of a BO, in addition to the fields of struct kfd_criu_bo_bucket
 */
struct kfd_criu_bo {
	/** @user_addr: address of a userptr BO's memory; 0 for other BOs */
	u64 user_addr;
	/** @mapped: mask of the devices that map the BO, by index in the array of devices */
	u64 mapped;
	/** @id: low half of the BO's handle; the high half is kfd_criu_bo_bucket.gpu_id */
	u32 id;
	/** @pad: 0 */
	u32 pad;
};

#define KFD_CRIU_ENABLED	BIT(0)
#define KFD_CRIU_FAULTED	BIT(1)
#define KFD_CRIU_AQL		BIT(2)
#define KFD_CRIU_GWS		BIT(3)
#define KFD_CRIU_QUEUE_FLAGS	(KFD_CRIU_ENABLED | KFD_CRIU_FAULTED | \
				 KFD_CRIU_AQL | KFD_CRIU_GWS)

/**
 * struct kfd_criu_queue - a queue in the private data
 *
 * Members marked "compute" or "SDMA" are used only for queues of that kind.
 */
struct kfd_criu_queue {
	/** @device: index of the GPU in the array of devices */
	u32 device;
	/** @kind: enum kfd_queue_kind */
	u32 kind;
	/** @flags: bits of the mask KFD_CRIU_QUEUE_FLAGS */
	u32 flags;
	/** @id: queue id that user space uses */
	u32 id;
	/** @ring_va: GPU address in the process's address space, page aligned */
	u64 ring_va;
	/** @rptr_va: address of the read pointer in user memory */
	u64 rptr_va;
	/** @wptr_va: address of the write pointer in user memory */
	u64 wptr_va;
	/** @eop_va: compute: address of the end-of-pipe buffer, or 0 */
	u64 eop_va;
	/** @eop_bytes: compute: length of the end-of-pipe buffer */
	u64 eop_bytes;
	/** @save_va: compute: address of the context save area */
	u64 save_va;
	/** @save_bytes: compute: length of the context save area */
	u32 save_bytes;
	/**
	 * @stack_bytes: compute: length of the control stack, a part of the context save area. The
	 * content of the control stack is not saved, because the device never writes it.
	 */
	u32 stack_bytes;
	/** @ring_bytes: length of the ring, a power of two */
	u32 ring_bytes;
	/** @priority: compute: 0 to KFD_MAX_QUEUE_PRIORITY */
	u32 priority;
	/** @doorbell: byte offset of the doorbell in the process's slice */
	u32 doorbell;
	/** @engine: SDMA: index of the engine */
	u32 engine;
	/** @hw_queue: SDMA: index of the hardware queue in @engine */
	u32 hw_queue;
	/** @pad: 0 */
	u32 pad;
	/** @rptr: SDMA: read pointer where the queue stopped */
	u64 rptr;
	/** @mqd: compute: progress of the queue, from its MQD */
	struct vgpu_mqd_state mqd;
};

/**
 * struct kfd_criu_image - pointers into the kernel's copy of the private data
 *
 * The head and the five arrays follow each other without gaps, in this order.
 */
struct kfd_criu_image {
	/** @head: start of the private data */
	struct kfd_criu_head *head;
	/** @devices: @head->n_devices elements */
	struct kfd_criu_device *devices;
	/** @bos: @head->n_bos elements */
	struct kfd_criu_bo *bos;
	/** @queues: @head->n_queues elements */
	struct kfd_criu_queue *queues;
	/** @events: @head->n_events elements */
	struct kfd_saved_event *events;
	/** @ranges: @head->n_ranges elements */
	struct svm_saved_range *ranges;
};

/**
 * struct kfd_criu_buffers - kernel copies of the ioctl's buffers
 * @data: private data
 * @devices: device buckets
 * @bos: BO buckets
 * @files: file of each BO's dma-buf or NULL, by index of the BO; used by the kernel only
 */
struct kfd_criu_buffers {
	void *data;
	struct kfd_criu_device_bucket *devices;
	struct kfd_criu_bo_bucket *bos;
	struct file **files;
};

#endif /* KFD_CRIU_IMAGE_H */
