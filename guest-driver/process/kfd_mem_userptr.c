// SPDX-License-Identifier: GPL-2.0
/*
 * Creates user pointers, and looks up and binds their pages. When the process's memory changes, the
 * queues stop until restore_work has found the new pages.
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

/* Implements vgpu_userptr_invalidate_fn: takes the process's queues off the hardware. */
static void kfd_userptr_invalidate(void *owner)
{
	struct kgd_mem *mem = owner;

	kfd_evict_now(mem->process_info, KFD_QUEUE_EVICTION_TRIGGER_USERPTR);
}

/**
 * kfd_userptr_create() - create the BO of a user pointer, and charge it to the memory limit
 * @pdd: state of the process on the GPU
 * @mem: memory without a BO
 * @addr: user address, page aligned; may be tagged
 * @size: bytes, whole pages
 * @later: true to leave the look-up of the pages to restore_work
 *
 * Context: kfd_process.mutex is held, no reservation; takes mmap_lock.
 *
 * Return:
 * * 0, -ENOMEM
 * * -EINVAL: @addr is 0
 * * an error of vgpu_userptr_create() or vgpu_userptr_populate()
 */
int kfd_userptr_create(struct kfd_process_device *pdd, struct kgd_mem *mem,
		       u64 addr, u64 size, bool later)
{
	struct kfd_node *node = pdd->node;
	struct vgpu_bo *bo;
	int ret;

	addr = untagged_addr(addr);
	if (!addr)
		return -EINVAL;
	/* All user pages of the BO must fit into GTT. Test this before the pages are looked up. */
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
	/*
	 * From here on, the release of the BO (kgd_mem_bo_release()) undoes the charge to the
	 * memory limit.
	 */
	bo->charged = AMDGPU_GEM_DOMAIN_GTT;
	bo->owner_ops = &kgd_mem_owner_ops;
	mem->bo = bo;
	kgd_mem_link(mem);
	/*
	 * If the look-up is left to restore_work, set mem->invalid, so that no page-table entries
	 * are written before kfd_userptr_prepare() has found the pages.
	 */
	mem->invalid = later;
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

/**
 * kfd_userptr_prepare() - look up the pages of a user pointer
 * @mem: user pointer
 *
 * Context: kfd_process.mutex is held, no reservation; takes mmap_lock.
 *
 * Return: 0, also if there is no memory at the address (sets kgd_mem.invalid); an error of
 * vgpu_userptr_prepare() other than -EFAULT.
 */
int kfd_userptr_prepare(struct kgd_mem *mem)
{
	int ret = vgpu_userptr_prepare(mem->bo);

	/*
	 * -EFAULT: the memory was unmapped. As in amdgpu, this is no error: the queues run, and GPU
	 * accesses to the memory fault.
	 */
	mem->invalid = ret == -EFAULT;
	/*
	 * Other errors keep the queues off the hardware, as in amdgpu. Example: -EPERM while
	 * mprotect() forbids writes.
	 */
	return mem->invalid ? 0 : ret;
}

/**
 * kfd_userptr_place() - bind the pages that kfd_userptr_prepare() found
 * @mem: user pointer
 *
 * If kgd_mem.invalid is set, unbinds the BO instead.
 *
 * Context: the BO's reservation is held.
 *
 * Return:
 * * 0, -ENOMEM, -ERESTARTSYS
 * * -EAGAIN if there are neither bound pages nor found ones: call kfd_userptr_prepare() again
 * * -EIO if the device cannot address the pages
 */
int kfd_userptr_place(struct kgd_mem *mem)
{
	return mem->invalid ? vgpu_userptr_unbind(mem->bo) :
			      vgpu_userptr_bind(mem->bo);
}
