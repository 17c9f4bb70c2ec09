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
 * @ring_va: address of the ring in the VMID's address space, 256-byte aligned
 * @rptr_va: address in the VMID's address space to which the engine writes its read pointer
 * @rptr: read pointer to start from, bytes since creation of the queue
 * @read_wptr: function that returns the write pointer in user memory, in bytes since
 *             creation of the queue; called with rlc_lock held whenever the queue is
 *             loaded, also after a reset
 * @owner: argument of @read_wptr
 * @ring_bytes: bytes of the ring, a power of two
 * @doorbell_offset: byte offset of the doorbell in BAR 2
 * @vmid: VMID, 1 to 15
 */
struct vgpu_sdma_queue_regs {
	u64 ring_va;
	u64 rptr_va;
	u64 rptr;
	u64 (*read_wptr)(const void *owner);
	const void *owner;
	u32 ring_bytes;
	u32 doorbell_offset;
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
