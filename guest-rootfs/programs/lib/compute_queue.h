/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User-mode compute queues, PM4 and AQL, and their packets.
 */
#ifndef VG_COMPUTE_QUEUE_H
#define VG_COMPUTE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/kfd_ioctl.h>

#include "bo.h"
#include "device.h"

/**
 * struct vg_cq - a user-mode compute queue
 * @ring: GTT BO, a power of two bytes
 * @ptrs: one page of GTT: rptr, wptr, fence (VG_QUEUE_*)
 * @eop: end-of-pipe buffer
 * @save: context save area; queues may share one, as nothing is saved
 * @aql: packets are AQL's, else PM4
 * @id: KFD's
 * @doorbell: 64-bit doorbell
 * @wptr: dwords written so far, submitted or not; AQL: packets
 * @seq: last fence value emitted
 */
struct vg_cq {
	struct vg *vg;
	struct vg_gpu *gpu;
	struct vg_bo ring, ptrs, eop, *save;
	bool aql;
	uint32_t id;
	void *doorbell_page;
	volatile uint64_t *doorbell;
	uint64_t wptr;
	uint32_t seq;
};

/*
 * A context save area of the size that KFD asks for, mapped. @kind:
 * KFD_IOC_ALLOC_MEM_FLAGS_VRAM or _GTT.
 */
int vg_save_area(struct vg *vg, struct vg_gpu *gpu, uint32_t kind,
		 struct vg_bo *bo);
int vg_cq_create(struct vg *vg, struct vg_gpu *gpu, struct vg_bo *save,
		 uint32_t ring_bytes, bool aql, struct vg_cq *q);
/* Also frees its BOs, but @save; safe on a zeroed structure. */
int vg_cq_destroy(struct vg_cq *q);
/* The BOs only, and what CREATE_QUEUE is to be asked for. */
int vg_cq_prepare(struct vg *vg, struct vg_gpu *gpu, struct vg_bo *save,
		  uint32_t ring_bytes, bool aql, struct vg_cq *q);
int vg_cq_release(struct vg_cq *q);
void vg_cq_args(struct vg_cq *q, struct kfd_ioctl_create_queue_args *args);
/* UPDATE_QUEUE; without @ring it stops. */
int vg_cq_update(struct vg_cq *q, const struct vg_bo *ring,
		 uint32_t percentage);
/*
 * Space for a PM4 packet of @dwords in one piece, or for an AQL packet, which is
 * INVALID and zero: its first dword is to be written last. As
 * vg_queue_reserve().
 */
uint32_t *vg_cq_reserve(struct vg_cq *q, unsigned int dwords);
void vg_cq_submit(struct vg_cq *q);
/* Dwords in the ring; AQL: packets done. */
uint64_t vg_cq_rptr(const struct vg_cq *q);

/* PM4 packets. */
int vg_pm4_write(struct vg_cq *q, uint64_t dst, const uint32_t *data,
		 unsigned int dwords);
/* The queue waits until the dword at @at is @value. */
int vg_pm4_wait(struct vg_cq *q, uint64_t at, uint32_t value);
/* @data_sel, @int_sel: PM4_DATA_*, PM4_INT_* */
int vg_pm4_release(struct vg_cq *q, uint64_t dst, uint64_t data,
		   unsigned int data_sel, unsigned int int_sel, uint32_t ctxid);
int vg_cq_emit_fence(struct vg_cq *q);
/* Until the last fence is in memory. 0 or -ETIMEDOUT. */
int vg_cq_wait(struct vg_cq *q, unsigned int timeout_ms);
int vg_cq_finish(struct vg_cq *q, unsigned int timeout_ms);
/* Until a dword of memory is @value. 0 or -ETIMEDOUT. */
int vg_wait_word(volatile void *word, uint32_t value, unsigned int timeout_ms);

#endif /* VG_COMPUTE_QUEUE_H */
