/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User queues of the SDMA engines (RLC). Functions are documented in vgpu_sdma_queue.c.
 */
#ifndef VGPU_HW_SDMA_QUEUE_H
#define VGPU_HW_SDMA_QUEUE_H

#include <linux/types.h>

struct vgpu_device;

/**
 * struct vgpu_sdma_queue_regs - settings of a user queue
 */
struct vgpu_sdma_queue_regs {
	/** @ring_va: address of the ring in the VMID's address space, 256-byte aligned */
	u64 ring_va;
	/**
	 * @rptr_va: address, in the VMID's address space, to which the engine writes the queue's
	 * read pointer; 8-byte aligned
	 */
	u64 rptr_va;
	/** @rptr: read pointer to start from, in bytes since creation of the queue */
	u64 rptr;
	/**
	 * @read_wptr: Returns the write pointer in user memory, in bytes since creation of the
	 * queue. Each load of the queue, also the one after a reset, calls this function with
	 * vgpu_sdma_ring.rlc_lock held.
	 */
	u64 (*read_wptr)(const void *owner);
	/** @owner: argument of @read_wptr */
	const void *owner;
	/** @ring_bytes: length of the ring, a power of two, at least 256 */
	u32 ring_bytes;
	/** @doorbell_offset: byte offset of the queue's doorbell in BAR 2 */
	u32 doorbell_offset;
	/** @vmid: 1 to 15 */
	u8 vmid;
};

int vgpu_sdma_queue_load(struct vgpu_device *vdev, unsigned int engine,
			 unsigned int queue,
			 const struct vgpu_sdma_queue_regs *regs);
int vgpu_sdma_queue_unload(struct vgpu_device *vdev, unsigned int engine,
			   unsigned int queue, u64 *rptr);
bool vgpu_sdma_queue_is_loaded(struct vgpu_device *vdev, unsigned int engine,
			       unsigned int queue);

#endif /* VGPU_HW_SDMA_QUEUE_H */
