/* SPDX-License-Identifier: GPL-2.0 */
/* User-mode queues. */
#ifndef KFD_QUEUE_H
#define KFD_QUEUE_H

#include <linux/list.h>
#include <linux/types.h>

#include "../hw/vgpu_hw.h"

struct kfd_mem_attachment;
struct kfd_process;
struct kfd_process_device;

/**
 * struct kfd_queue - a user-mode SDMA queue
 * @link: in kfd_process_device.queues
 * @pdd: whose, on which GPU
 * @id: what user space names it by
 * @engine: SDMA engine
 * @hw_queue: hardware queue of the engine (RLC number)
 * @doorbell: byte offset of its doorbell in the process's slice
 * @ring: mapping of the ring
 * @rptr: mapping of the read pointer
 * @wptr: mapping of the write pointer
 * @wptr_cpu: the write pointer in user memory, as the kernel sees it
 * @wptr_is_io: ... through @wptr_io: it lies in VRAM
 * @enabled: user space wants it to run
 * @faulted: an unrepaired fault stopped it for good
 * @hung: the hardware did not let go of it
 * @loaded: on the hardware
 * @regs: what it is loaded with; rptr is where it stopped
 *
 * @enabled, @faulted, @hung, @loaded and @regs under kfd_process.queue_lock, the
 * rest fixed or under kfd_process.mutex.
 */
struct kfd_queue {
	struct list_head link;
	struct kfd_process_device *pdd;
	u32 id;
	u8 engine;
	u8 hw_queue;
	u32 doorbell;
	struct kfd_mem_attachment *ring;
	struct kfd_mem_attachment *rptr;
	struct kfd_mem_attachment *wptr;
	union {
		u64 *wptr_cpu;
		void __iomem *wptr_io;
	};
	bool wptr_is_io;
	bool enabled;
	bool faulted;
	bool hung;
	bool loaded;
	struct vgpu_sdma_queue_regs regs;
};

/**
 * struct kfd_queue_properties - what CREATE_QUEUE asks for
 * @ring_va: first byte of the ring
 * @ring_bytes: power of two
 * @rptr_va: read pointer, 8 bytes
 * @wptr_va: write pointer, 8 bytes
 * @engine: SDMA engine, or -1 for any
 * @enabled: runs at once
 */
struct kfd_queue_properties {
	u64 ring_va;
	u32 ring_bytes;
	u64 rptr_va;
	u64 wptr_va;
	int engine;
	bool enabled;
};

/*
 * All with kfd_process.mutex held.
 *
 * 0 or -EINVAL a buffer is no mapped BO of exactly that place and size,
 * -ENOSPC no queue id or VMID, -ENOMEM no hardware queue or memory, -ETIME.
 */
int kfd_queue_create(struct kfd_process_device *pdd,
		     const struct kfd_queue_properties *props,
		     struct kfd_queue **out);
void kfd_queue_destroy(struct kfd_queue *q);
/* Another ring, none, or stopped. 0, -EFAULT no such ring, -ETIME. */
int kfd_queue_update(struct kfd_queue *q, u64 ring_va, u32 ring_bytes,
		     bool enabled);
/* Reclaim waits for p->queue_lock, by way of notifiers: tell lockdep. */
void kfd_queue_lock_teach(struct kfd_process *p);
struct kfd_queue *kfd_queue_by_id(struct kfd_process *p, u32 id);

#endif /* KFD_QUEUE_H */
