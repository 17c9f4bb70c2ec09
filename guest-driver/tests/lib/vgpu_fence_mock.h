/* SPDX-License-Identifier: GPL-2.0 */
/* Fences of a queue whose jobs run in order. A wait for a fence runs the jobs up to its job. */
#ifndef VGPU_FENCE_MOCK_H
#define VGPU_FENCE_MOCK_H

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/spinlock.h>
#include <kunit/test.h>

#define VGPU_FENCE_MOCK_JOBS	8u

/**
 * struct vgpu_fence_mock - a queue
 */
struct vgpu_fence_mock {
	/** @lock: lock of the fences */
	spinlock_t lock;
	/** @context: dma_fence context of the fences */
	u64 context;
	/** @fence: fences of the jobs, in the order of the jobs */
	struct dma_fence *fence[VGPU_FENCE_MOCK_JOBS];
	/** @n: number of @fence */
	unsigned int n;
	/** @waits: number of waits for a fence that had not signalled */
	unsigned int waits;
};

/* Create a queue without jobs. The end of the test signals and frees the fences. */
struct vgpu_fence_mock *vgpu_fence_mock_new(struct kunit *test);

/*
 * Initialise @resv, and add the fence of the queue's next job to it with usage KERNEL. The end of
 * the test undoes this.
 */
void vgpu_fence_mock_add(struct kunit *test, struct vgpu_fence_mock *queue,
			 struct dma_resv *resv);

#endif /* VGPU_FENCE_MOCK_H */
