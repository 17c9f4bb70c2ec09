/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions for user-mode SDMA queues and their packets, and for the doorbells of queues of
 * any type.
 */
#ifndef VG_SDMA_QUEUE_H
#define VG_SDMA_QUEUE_H

#include <stdint.h>

#include "bo.h"
#include "device.h"

/**
 * struct vg_queue - a user-mode SDMA queue
 */
struct vg_queue {
	/** @vg: the open KFD that owns the queue */
	struct vg *vg;
	struct vg_gpu *gpu;
	/** @ring: GTT BO; its size is a power of two */
	/** @ptrs: GTT BO of one page: rptr, wptr, fence value, timestamps, at offsets VG_QUEUE_* */
	struct vg_bo ring, ptrs;
	/** @id: queue ID of KFD */
	uint32_t id;
	/** @doorbell_page: mapping that contains @doorbell; vg_queue_end() unmaps it */
	void *doorbell_page;
	/** @doorbell: 64-bit doorbell */
	volatile uint64_t *doorbell;
	/** @wptr: number of bytes reserved so far, submitted or not */
	uint64_t wptr;
	/** @seq: last fence value emitted */
	uint32_t seq;
};

/* Byte offsets in the page of vg_queue.ptrs or vg_cq.ptrs. */
#define VG_QUEUE_RPTR		0x000
#define VG_QUEUE_WPTR		0x040
#define VG_QUEUE_FENCE		0x080
#define VG_QUEUE_TIMES		0x100	/* VG_QUEUE_NUM_TIMES 64-bit timestamps of the GPU */
#define VG_QUEUE_NUM_TIMES	128

/* Create an SDMA queue with a ring of @ring_bytes (a power of two). */
int vg_queue_create(struct vg *vg, struct vg_gpu *gpu, uint32_t ring_bytes,
		    struct vg_queue *q);
/*
 * As vg_queue_create(), for queue type @type (KFD_IOC_QUEUE_TYPE_SDMA_*). Only type
 * KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID uses @engine.
 */
int vg_queue_create_on(struct vg *vg, struct vg_gpu *gpu, uint32_t ring_bytes,
		       uint32_t type, uint32_t engine, struct vg_queue *q);
/*
 * Destroy the queue and free its BOs. Do nothing for a zeroed structure. Return the first
 * error.
 */
int vg_queue_destroy(struct vg_queue *q);

/*
 * Map the doorbell of a queue of any type. @offset is the doorbell_offset that CREATE_QUEUE
 * returned. *@page receives the start of the mapping. Return the doorbell's address or NULL.
 */
void *vg_doorbell_map(struct vg *vg, uint64_t offset, void **page);
/* For a queue of any type: destroy queue @id and, unless @page is NULL, unmap @page. */
int vg_queue_end(struct vg *vg, uint32_t id, void *page);

/*
 * Reserve ring space for a packet of @dwords. If the ring is full, submit and wait. Return NULL
 * after VG_TIMEOUT_MS, or if the packet exceeds the ring.
 */
uint32_t *vg_queue_reserve(struct vg_queue *q, unsigned int dwords);
/* Publish the packets emitted so far: write wptr, then ring the doorbell. */
void vg_queue_submit(struct vg_queue *q);
/*
 * vg_queue_rptr() returns the number of bytes that the engine has read since the queue's creation;
 * vg_queue_fence_value() returns the fence value that is in memory now.
 */
uint64_t vg_queue_rptr(const struct vg_queue *q);
uint32_t vg_queue_fence_value(const struct vg_queue *q);

/*
 * The functions below emit packets (sdma_packets.c) and return 0 or -errno. If @bytes exceeds the
 * limit of one packet, a copy or fill is split into several packets.
 */
int vg_emit_copy(struct vg_queue *q, uint64_t dst, uint64_t src,
		 uint64_t bytes);
/* Fill memory with the dword @value. @dst and @bytes are multiples of 4. */
int vg_emit_fill(struct vg_queue *q, uint64_t dst, uint32_t value,
		 uint64_t bytes);
int vg_emit_write(struct vg_queue *q, uint64_t dst, const uint32_t *data,
		  unsigned int dwords);
int vg_emit_atomic_add(struct vg_queue *q, uint64_t addr, uint64_t value);
/*
 * vg_emit_timestamp() emits a packet that stores the GPU clock in timestamp slot @slot (0 to
 * VG_QUEUE_NUM_TIMES - 1). vg_timestamp() reads this slot.
 */
int vg_emit_timestamp(struct vg_queue *q, unsigned int slot);
uint64_t vg_timestamp(const struct vg_queue *q, unsigned int slot);
/* Emit a fence with the next fence value, and store the value in *@seq. */
int vg_emit_fence(struct vg_queue *q, uint32_t *seq);

/* Wait until the fence value in memory has reached @seq. Return 0 or -ETIMEDOUT. */
int vg_wait(struct vg_queue *q, uint32_t seq, unsigned int timeout_ms);
/* Emit a fence, submit, and wait for the fence. */
int vg_queue_finish(struct vg_queue *q, unsigned int timeout_ms);
/* Emit a copy or fill, then call vg_queue_finish() with VG_TIMEOUT_MS. */
int vg_copy(struct vg_queue *q, void *dst, const void *src, uint64_t bytes);
int vg_fill(struct vg_queue *q, void *dst, uint32_t value, uint64_t bytes);

#endif /* VG_SDMA_QUEUE_H */
