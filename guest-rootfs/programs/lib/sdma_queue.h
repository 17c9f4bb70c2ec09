/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User-mode SDMA queues and their packets; doorbells of queues of any type.
 */
#ifndef VG_SDMA_QUEUE_H
#define VG_SDMA_QUEUE_H

#include <stdint.h>

#include "bo.h"
#include "device.h"

/**
 * struct vg_queue - a user-mode SDMA queue
 * @ring: GTT BO, a power of two bytes
 * @ptrs: one page of GTT: rptr, wptr, fence and timestamps (VG_QUEUE_*)
 * @id: KFD's
 * @doorbell: 64-bit doorbell
 * @wptr: bytes written so far, submitted or not
 * @seq: last fence value emitted
 */
struct vg_queue {
	struct vg *vg;
	struct vg_gpu *gpu;
	struct vg_bo ring, ptrs;
	uint32_t id;
	void *doorbell_page;
	volatile uint64_t *doorbell;
	uint64_t wptr;
	uint32_t seq;
};

/* Byte offsets in @ptrs. */
#define VG_QUEUE_RPTR		0x000
#define VG_QUEUE_WPTR		0x040
#define VG_QUEUE_FENCE		0x080
#define VG_QUEUE_TIMES		0x100	/* VG_QUEUE_NUM_TIMES of 8 bytes */
#define VG_QUEUE_NUM_TIMES	128

int vg_queue_create(struct vg *vg, struct vg_gpu *gpu, uint32_t ring_bytes,
		    struct vg_queue *q);
/* The same of another type, KFD_IOC_QUEUE_TYPE_SDMA_*; @engine: of _BY_ENG_ID. */
int vg_queue_create_on(struct vg *vg, struct vg_gpu *gpu, uint32_t ring_bytes,
		       uint32_t type, uint32_t engine, struct vg_queue *q);
/* Also frees its BOs; safe on a zeroed structure. First error is returned. */
int vg_queue_destroy(struct vg_queue *q);

/*
 * Of queues of any type. The doorbell at @offset as CREATE_QUEUE told it, or
 * NULL; @page is what vg_queue_end() unmaps when it destroys queue @id.
 */
void *vg_doorbell_map(struct vg *vg, uint64_t offset, void **page);
int vg_queue_end(struct vg *vg, uint32_t id, void *page);

/*
 * Space for a packet of @dwords in one piece (the end of the ring is filled
 * with NOPs if need be), with the pointer moved on. Submits and waits when
 * the ring is full; NULL when that takes too long.
 */
uint32_t *vg_queue_reserve(struct vg_queue *q, unsigned int dwords);
/* Makes what was emitted visible to the engine: wptr, then doorbell. */
void vg_queue_submit(struct vg_queue *q);
uint64_t vg_queue_rptr(const struct vg_queue *q);
uint32_t vg_queue_fence_value(const struct vg_queue *q);

/* Packets (sdma_packets.c). Sizes in bytes; large ones are split. 0 or -errno. */
int vg_emit_copy(struct vg_queue *q, uint64_t dst, uint64_t src,
		 uint64_t bytes);
/* @value is a dword, @dst and @bytes multiples of 4. */
int vg_emit_fill(struct vg_queue *q, uint64_t dst, uint32_t value,
		 uint64_t bytes);
int vg_emit_write(struct vg_queue *q, uint64_t dst, const uint32_t *data,
		  unsigned int dwords);
int vg_emit_atomic_add(struct vg_queue *q, uint64_t addr, uint64_t value);
/* Stores the GPU clock in time slot @slot. */
int vg_emit_timestamp(struct vg_queue *q, unsigned int slot);
uint64_t vg_timestamp(const struct vg_queue *q, unsigned int slot);
/* Emits the next fence value; returns it in @seq. */
int vg_emit_fence(struct vg_queue *q, uint32_t *seq);

/* Waits until fence @seq is in memory: 0 or -ETIMEDOUT. */
int vg_wait(struct vg_queue *q, uint32_t seq, unsigned int timeout_ms);
/* Fence, submit, wait. */
int vg_queue_finish(struct vg_queue *q, unsigned int timeout_ms);
/* Copy, fence, submit, wait with VG_TIMEOUT_MS. */
int vg_copy(struct vg_queue *q, void *dst, const void *src, uint64_t bytes);
int vg_fill(struct vg_queue *q, void *dst, uint32_t value, uint64_t bytes);

#endif /* VG_SDMA_QUEUE_H */
