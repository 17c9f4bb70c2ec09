// SPDX-License-Identifier: GPL-2.0
/*
 * User pointers of ALLOC_MEMORY_OF_GPU.
 *
 * When the process's memory changes, the queues are taken off in the notifier,
 * and restore_work (kfd_evict.c) finds the new pages and writes the entries
 * before the queues run again. Memory that is not there any more leaves no
 * entries: an access is a fault, as amdgpu has it, rather than a queue that never
 * runs again. Memory that may not be written (mprotect) is waited for: the queues
 * stay off until it may.
 */
#include <linux/mm.h>
#include <drm/amdgpu_drm.h>

#include "mm/vgpu_bo.h"
#include "mm/vgpu_res_mgr.h"
#include "mm/vgpu_userptr.h"
#include "kfd_evict.h"
#include "kfd_mem.h"
#include "kfd_node.h"
#include "kfd_process.h"

static void kfd_userptr_invalidate(void *owner)
{
	struct kgd_mem *mem = owner;

	WRITE_ONCE(mem->invalid, READ_ONCE(mem->invalid) + 1);
	kfd_evict_now(mem->process_info, KFD_QUEUE_EVICTION_TRIGGER_USERPTR);
}

int kfd_userptr_create(struct kfd_process_device *pdd, struct kgd_mem *mem,
		       u64 addr, u64 size, bool later)
{
	struct kfd_node *node = pdd->node;
	struct vgpu_bo *bo;
	int ret;

	addr = untagged_addr(addr);
	if (!addr)
		return -EINVAL;
	/* It would not fit when all its pages have been found. */
	if (size > vgpu_gtt_mgr_size(node->vdev))
		return -ENOMEM;
	ret = kfd_mem_limit_reserve(node, AMDGPU_GEM_DOMAIN_GTT, size);
	if (ret)
		return ret;
	ret = vgpu_userptr_create(node->vdev, addr, size, 0,
				  kfd_userptr_invalidate, mem, &bo);
	if (ret) {
		kfd_mem_limit_unreserve(node->vdev, AMDGPU_GEM_DOMAIN_GTT,
					size);
		return ret;
	}
	/* From now on the BO gives back its share itself. */
	bo->charged = AMDGPU_GEM_DOMAIN_GTT;
	bo->owner_ops = &kgd_mem_owner_ops;
	mem->bo = bo;
	kgd_mem_link(mem);
	mem->gone = later;
	if (later)
		return 0;
	ret = vgpu_userptr_populate(bo);
	if (ret) {
		vgpu_userptr_stop(bo);
		kgd_mem_unlink(mem);
		vgpu_bo_put(bo);
	}
	return ret;
}

int kfd_userptr_prepare(struct kgd_mem *mem)
{
	int ret = vgpu_userptr_prepare(mem->bo);

	mem->gone = ret == -EFAULT;
	return mem->gone ? 0 : ret;
}

int kfd_userptr_place(struct kgd_mem *mem)
{
	return mem->gone ? vgpu_userptr_unbind(mem->bo) :
			   vgpu_userptr_bind(mem->bo);
}
