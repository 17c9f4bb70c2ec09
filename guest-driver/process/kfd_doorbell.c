// SPDX-License-Identifier: GPL-2.0
/*
 * Allocates the doorbells of a process: a slice of 8 KiB in the doorbell BAR of each GPU on which
 * the process creates queues. kfd/queues/ selects the doorbell of a queue in the slice.
 */
#include <drm/amdgpu_drm.h>

#include "vgpu/doorbell.h"
#include "mm/vgpu_bo.h"
#include "kfd_mem.h"
#include "kfd_node.h"
#include "kfd_process.h"

/**
 * kfd_doorbell_alloc() - allocate a process's slice of the doorbell BAR, if it has none
 * @pdd: state of the process on the GPU
 *
 * Context: kfd_process.mutex is held; sleeps.
 *
 * Return: 0, or -ENOMEM if memory is used up or no slice is free.
 */
int kfd_doorbell_alloc(struct kfd_process_device *pdd)
{
	const struct vgpu_bo_params params = {
		.size = DOORBELL_SLICE_SIZE,
		.domain = AMDGPU_GEM_DOMAIN_DOORBELL,
		.type = ttm_bo_type_kernel,
	};
	struct vgpu_bo *bo;
	int ret;

	lockdep_assert_held(&pdd->process->mutex);

	if (pdd->doorbells)
		return 0;
	ret = vgpu_bo_create(pdd->node->vdev, &params, &bo);
	if (ret)
		return ret == -ENOSPC ? -ENOMEM : ret;
	ret = ttm_bo_reserve(&bo->tbo, false, false, NULL);
	if (!ret) {
		ret = vgpu_bo_pin(bo, AMDGPU_GEM_DOMAIN_DOORBELL);
		ttm_bo_unreserve(&bo->tbo);
	}
	if (ret) {
		vgpu_bo_put(bo);
		return ret;
	}
	/* kfd_doorbell_mmap() reads pdd->doorbells without kfd_process.mutex. */
	smp_store_release(&pdd->doorbells, bo);
	return 0;
}

/**
 * kfd_doorbell_free() - free a process's slice of the doorbell BAR, if it has one
 * @pdd: state of the process on the GPU
 *
 * Context: teardown of the process, after kfd_doorbell_zap() has removed the slice from all
 * address spaces; sleeps.
 */
void kfd_doorbell_free(struct kfd_process_device *pdd)
{
	struct vgpu_bo *bo = pdd->doorbells;

	if (!bo)
		return;
	ttm_bo_reserve(&bo->tbo, false, false, NULL);
	vgpu_bo_unpin(bo);
	ttm_bo_unreserve(&bo->tbo);
	vgpu_bo_put(bo);
	pdd->doorbells = NULL;
}
