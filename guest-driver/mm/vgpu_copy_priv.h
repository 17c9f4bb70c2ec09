/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declares the functions by which the files of mm/ copy and clear memory with
 * SDMA. No other folder includes this header.
 */
#ifndef VGPU_COPY_PRIV_H
#define VGPU_COPY_PRIV_H

#include <linux/types.h>

#include "hw/sdma/vgpu_sdma_sched.h"

struct dma_fence;
struct dma_resv;
struct page;
struct ttm_resource;
struct ttm_tt;
struct vgpu_bo;
struct vgpu_device;
struct vgpu_sdma_fence;

/**
 * enum vgpu_copy_queue - queue of moves and clears; the value is also the engine's number
 * @VGPU_COPY_OUT: moves of BOs out of VRAM
 * @VGPU_COPY_IN: moves into VRAM, and clears
 * @VGPU_NUM_COPY_QUEUES: number of queues
 */
enum vgpu_copy_queue {
	VGPU_COPY_OUT,
	VGPU_COPY_IN,
	VGPU_NUM_COPY_QUEUES
};

/**
 * struct vgpu_copy_job - packets that copy or clear
 */
struct vgpu_copy_job {
	/** @base: scheduler job; base.ops is NULL in a job that bypasses the scheduler */
	struct vgpu_sdma_job base;
	/** @vdev: device */
	struct vgpu_device *vdev;
	/**
	 * @hw_fence: memory for the fence on the engine's ring; NULL after the submission has used
	 * the memory
	 */
	struct vgpu_sdma_fence *hw_fence;
	/**
	 * @vram_epoch: vgpu_hw.vram_epoch at the start of the operation. If VRAM is lost later,
	 * the job is void. A negative value means that a loss of VRAM does not make the job void.
	 */
	int vram_epoch;
	/**
	 * @fill: number of the job among all jobs of VGPU_COPY_IN, from 1 on; 0 before the push,
	 * and in all other jobs
	 */
	u64 fill;
	/** @copied: bytes that the job copies */
	u64 copied;
	/** @filled: bytes that the job fills with zeros */
	u64 filled;
	/** @flushes: number of TLB flushes for the engine's transfer window */
	unsigned int flushes;
	/**
	 * @dst_pages: system memory that the job copies to, or NULL. If the job fails,
	 * copy_clear_dst() clears the job's range of this memory.
	 */
	struct page *const *dst_pages;
	/** @dst_at: offset in @dst_pages of the range that the job copies to, in bytes */
	u64 dst_at;
	/** @dst_bytes: length of the range in @dst_pages that the job copies to, in bytes */
	u64 dst_bytes;
	/** @size: capacity of @dw, in dwords */
	unsigned int size;
	/** @ndw: number of dwords in @dw */
	unsigned int ndw;
	/** @dw: packets */
	u32 dw[] __counted_by(size);
};

/* vgpu_copy_job.c */
int vgpu_copy_init(struct vgpu_device *vdev);
int vgpu_copy_start(struct vgpu_device *vdev);
void vgpu_copy_stop(struct vgpu_device *vdev);
void vgpu_copy_fini(struct vgpu_device *vdev);
void vgpu_copy_drain(struct vgpu_device *vdev);
struct vgpu_copy_job *vgpu_copy_job_new(struct vgpu_device *vdev,
					enum vgpu_copy_queue queue,
					unsigned int ndw);
struct vgpu_copy_job *vgpu_copy_job_unqueued(struct vgpu_device *vdev,
					     unsigned int ndw);
void vgpu_copy_job_free(struct vgpu_copy_job *job);
void vgpu_copy_job_fills(struct vgpu_copy_job *job, struct page *const *pages,
			 u64 at, u64 bytes);
int vgpu_copy_job_after_users(struct vgpu_copy_job *job, struct vgpu_bo *bo);
int vgpu_copy_job_push(struct vgpu_copy_job *job, struct dma_fence **fence);
int vgpu_copy_job_submit(struct vgpu_copy_job *job, unsigned int engine,
			 struct dma_fence **fence);

/* vgpu_copy.c */
struct dma_fence *vgpu_mm_copy_res(struct vgpu_device *vdev,
				   struct dma_resv *resv, struct vgpu_bo *used,
				   struct ttm_tt *ttm,
				   struct ttm_resource *src,
				   struct ttm_resource *dst, u64 size);
struct dma_fence *vgpu_mm_clear_res(struct vgpu_device *vdev,
				    struct dma_resv *resv,
				    struct ttm_resource *res, bool fresh);

#endif /* VGPU_COPY_PRIV_H */
