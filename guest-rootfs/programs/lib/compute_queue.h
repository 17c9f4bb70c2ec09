/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions for user-mode compute queues (PM4 and AQL) and their packets. */
#ifndef VG_COMPUTE_QUEUE_H
#define VG_COMPUTE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/kfd_ioctl.h>

#include "bo.h"
#include "device.h"

/**
 * struct vg_cq - a user-mode compute queue
 */
struct vg_cq {
	/** @vg: the open KFD that owns the queue */
	struct vg *vg;
	struct vg_gpu *gpu;
	/** @ring: GTT BO; its size is a power of two */
	/** @ptrs: GTT BO of one page: rptr, wptr and the fence value, at offsets VG_QUEUE_* */
	/** @eop: VRAM BO, used as end-of-pipe buffer */
	/** @save: context save area; queues may share one, because the device saves no waves */
	struct vg_bo ring, ptrs, eop, *save;
	/** @aql: true if the queue takes AQL packets, false if it takes PM4 packets */
	bool aql;
	/** @id: queue ID of KFD */
	uint32_t id;
	/** @doorbell_page: mapping that contains @doorbell; vg_queue_end() unmaps it */
	void *doorbell_page;
	/** @doorbell: 64-bit doorbell */
	volatile uint64_t *doorbell;
	/** @wptr: number of dwords (AQL: packets) reserved so far, submitted or not; never wraps */
	uint64_t wptr;
	/** @seq: last fence value emitted */
	uint32_t seq;
};

/*
 * Allocate a context save area of the size that the topology reports, and map it on @gpu. @kind is
 * KFD_IOC_ALLOC_MEM_FLAGS_VRAM or KFD_IOC_ALLOC_MEM_FLAGS_GTT.
 */
int vg_save_area(struct vg *vg, struct vg_gpu *gpu, uint32_t kind,
		 struct vg_bo *bo);
/*
 * Create a queue with a ring of @ring_bytes (a power of two). The caller owns @save, and frees it
 * after the queue's destruction.
 */
int vg_cq_create(struct vg *vg, struct vg_gpu *gpu, struct vg_bo *save,
		 uint32_t ring_bytes, bool aql, struct vg_cq *q);
/*
 * Destroy the queue and free its BOs except the save area. Do nothing for a zeroed structure.
 * Return the first error.
 */
int vg_cq_destroy(struct vg_cq *q);
/*
 * For callers that call CREATE_QUEUE themselves instead of vg_cq_create(): vg_cq_prepare()
 * allocates the queue's BOs, vg_cq_args() fills @args, and vg_cq_release() frees the BOs.
 */
int vg_cq_prepare(struct vg *vg, struct vg_gpu *gpu, struct vg_bo *save,
		  uint32_t ring_bytes, bool aql, struct vg_cq *q);
int vg_cq_release(struct vg_cq *q);
void vg_cq_args(struct vg_cq *q, struct kfd_ioctl_create_queue_args *args);
/* Call UPDATE_QUEUE. A NULL @ring sets ring size 0, which stops the queue. */
int vg_cq_update(struct vg_cq *q, const struct vg_bo *ring,
		 uint32_t percentage);
/*
 * Reserve ring space: @dwords dwords (PM4), or one zeroed packet (AQL). Return NULL if the ring
 * stays full for VG_TIMEOUT_MS. The caller writes an AQL packet's first dword last.
 */
uint32_t *vg_cq_reserve(struct vg_cq *q, unsigned int dwords);
/* Publish the packets emitted so far: write wptr, then ring the doorbell. */
void vg_cq_submit(struct vg_cq *q);
/*
 * Return the read pointer. In a PM4 queue it counts dwords modulo the ring size; in an AQL queue it
 * counts the packets since the queue's creation.
 */
uint64_t vg_cq_rptr(const struct vg_cq *q);

/*
 * The functions below emit PM4 packets and return 0 or -ETIMEDOUT.
 *
 * vg_pm4_write() emits a WRITE_DATA of @dwords dwords to address @dst.
 */
int vg_pm4_write(struct vg_cq *q, uint64_t dst, const uint32_t *data,
		 unsigned int dwords);
/* Emit a WAIT_REG_MEM: the CP waits until the dword at address @at equals @value. */
int vg_pm4_wait(struct vg_cq *q, uint64_t at, uint32_t value);
/* Emit a RELEASE_MEM. @data_sel is a PM4_DATA_*, @int_sel a PM4_INT_*. */
int vg_pm4_release(struct vg_cq *q, uint64_t dst, uint64_t data,
		   unsigned int data_sel, unsigned int int_sel, uint32_t ctxid);
/* Emit a RELEASE_MEM that writes the next fence value to @q->ptrs. @q must be a PM4 queue. */
int vg_cq_emit_fence(struct vg_cq *q);
/*
 * vg_cq_wait() waits until memory holds the last fence value emitted. vg_cq_finish() emits a fence,
 * submits the queue's packets and then waits. The functions return 0 or -ETIMEDOUT.
 */
int vg_cq_wait(struct vg_cq *q, unsigned int timeout_ms);
int vg_cq_finish(struct vg_cq *q, unsigned int timeout_ms);
/* Wait until the dword at @word equals @value. Return 0 or -ETIMEDOUT. */
int vg_wait_word(volatile void *word, uint32_t value, unsigned int timeout_ms);

#endif /* VG_COMPUTE_QUEUE_H */
