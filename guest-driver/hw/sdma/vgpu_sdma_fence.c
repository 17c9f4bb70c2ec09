// SPDX-License-Identifier: GPL-2.0
/*
 * Prepares a job's fence for vgpu_sdma_submit_with(): allocates the fence, sets a callback for
 * the failure of the job, and makes the submission of the job fail if VRAM has been lost.
 */
#include <linux/slab.h>

#include "vgpu_sdma.h"
#include "vgpu_sdma_priv.h"

/**
 * vgpu_sdma_fence_alloc() - allocate a fence for vgpu_sdma_submit_with()
 * @gfp: GFP_KERNEL, or the flags that the caller's locks allow
 *
 * Return: the fence, or NULL.
 */
struct vgpu_sdma_fence *vgpu_sdma_fence_alloc(gfp_t gfp)
{
	return kzalloc(sizeof(struct vgpu_sdma_fence), gfp);
}

/**
 * vgpu_sdma_fence_on_failure() - set a callback for the failure of a job
 * @fence: from vgpu_sdma_fence_alloc(), not submitted
 * @failed: called once, before the job's fence signals with an error; not called if the
 *          submission itself fails
 * @arg: argument of @failed, valid until the fence has signalled
 */
void vgpu_sdma_fence_on_failure(struct vgpu_sdma_fence *fence,
				vgpu_sdma_failed_fn failed, void *arg)
{
	fence->failed = failed;
	fence->arg = arg;
}

/**
 * vgpu_sdma_fence_needs_vram() - make the submission fail if VRAM has been lost
 * @fence: from vgpu_sdma_fence_alloc(), not submitted
 * @vram_epoch: vgpu_hw.vram_epoch at a time when VRAM held the content that the job needs
 *
 * The submission fails with -ECANCELED if VRAM has been lost since that time.
 */
void vgpu_sdma_fence_needs_vram(struct vgpu_sdma_fence *fence, int vram_epoch)
{
	fence->needs_vram = true;
	fence->vram_epoch = vram_epoch;
}

/**
 * vgpu_sdma_fence_free() - free a fence that was not submitted
 * @fence: from vgpu_sdma_fence_alloc(), or NULL
 */
void vgpu_sdma_fence_free(struct vgpu_sdma_fence *fence)
{
	kfree(fence);
}
