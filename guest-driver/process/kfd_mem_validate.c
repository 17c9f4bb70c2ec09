// SPDX-License-Identifier: GPL-2.0
/*
 * BOs on their way to where they belong, with the entries of their mappings.
 *
 * DOC: the way back when memory is short
 *
 * VRAM that others have is taken: what is in it is copied to system memory, and
 * freed there when it comes back. But when TTM is at its limit it swaps out for
 * each BO that needs system memory, whole BOs, copied by the CPU, one at a time
 * in the system; everybody waits in one line for that. So then:
 *
 * No process takes VRAM from others to come back. It has what is free there;
 * the rest of its BOs stay in system memory, or come there if they have been
 * swapped out, and are mapped where they are. Those of the others stay in VRAM.
 *
 * And no BO is sent ahead of the others: its pages count until it has arrived.
 */
#include <linux/dma-resv.h>
#include <drm/amdgpu_drm.h>

#include "mm/vgpu_bo.h"
#include "mm/vgpu_mm.h"
#include "mm/vgpu_userptr.h"
#include "vm/vgpu_vm_bo.h"
#include "kfd_evict.h"
#include "kfd_mem.h"
#include "kfd_process.h"

/* Mappings of a BO whose entries are written together. */
#define UPDATE_AT_ONCE	16

static int kgd_mem_place(struct kgd_mem *mem, bool back)
{
	bool vram = mem->domain == AMDGPU_GEM_DOMAIN_VRAM;
	struct vgpu_bo *bo = mem->bo;
	int ret = -ENOMEM;

	if (bo->userptr)
		return kfd_userptr_place(mem);
	if (vram && back && vgpu_mm_swaps(bo->vdev))
		ret = vgpu_bo_validate_no_evict(bo);
	if (ret == -ENOMEM)
		ret = vgpu_bo_validate(bo, mem->domain, true);
	if (ret == -ENOMEM && vram)
		ret = vgpu_bo_validate(bo, AMDGPU_GEM_DOMAIN_GTT, true);
	return ret;
}

int kgd_mem_update(struct kgd_mem *mem)
{
	struct vgpu_vm_bo *vbos[UPDATE_AT_ONCE];
	struct kfd_mem_attachment *att;
	unsigned int n = 0;
	int ret;

	dma_resv_assert_held(mem->bo->tbo.base.resv);

	if (mem->gem)
		return vgpu_vm_bo_update_all(mem->gem->vm, mem->bo);
	if (mem->gone)
		return 0;
	list_for_each_entry(att, &mem->attachments, mem_link) {
		if (!att->vbo->moved)
			continue;
		vbos[n++] = att->vbo;
		if (n < UPDATE_AT_ONCE)
			continue;
		ret = vgpu_vm_bo_update(vbos, n);
		if (ret)
			return ret;
		n = 0;
	}
	return n ? vgpu_vm_bo_update(vbos, n) : 0;
}

int kgd_mem_validate(struct kgd_mem *mem, bool back)
{
	struct dma_resv *resv = mem->bo->tbo.base.resv;
	long left;
	int ret;

	dma_resv_assert_held(resv);

	ret = kgd_mem_place(mem, back);
	if (ret)
		return ret;
	left = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, true,
				     MAX_SCHEDULE_TIMEOUT);
	return left < 0 ? left : kgd_mem_update(mem);
}

/* One BO with its fence. @wait: until it is there, with its entries. */
static int kgd_mem_bring(struct amdkfd_process_info *info, struct kgd_mem *mem,
			 bool wait)
{
	struct ttm_buffer_object *tbo = &mem->bo->tbo;
	int ret;

	ret = ttm_bo_reserve(tbo, true, false, NULL);
	if (ret)
		return ret;
	ret = wait ? kgd_mem_validate(mem, true) :
		     vgpu_bo_validate(mem->bo, mem->domain, true);
	if (!ret)
		ret = kfd_evict_fence_add(info, mem->bo);
	ttm_bo_unreserve(tbo);
	return ret;
}

/*
 * Have BOs on their way back to VRAM, as many as there is room for: one is
 * copied while the next is given its memory. Each has its fence at once, so that
 * nobody gets its new memory for nothing.
 */
static void kgd_mem_fetch_all(struct amdkfd_process_info *info)
{
	struct kgd_mem *mem;

	list_for_each_entry(mem, &info->kfd_bo_list, validate_list) {
		if (!mem->mapped_to_gpu_memory ||
		    mem->domain != AMDGPU_GEM_DOMAIN_VRAM)
			continue;
		if (vgpu_mm_swaps(mem->bo->vdev) ||
		    kfd_evict_signalled(info) ||
		    kgd_mem_bring(info, mem, false))
			return;
	}
}

/* When a restored process resumes, restore_work looks for the pages. */
static bool kgd_mem_needs_pages(struct kfd_process *p, struct kgd_mem *mem)
{
	return mem->mapped_to_gpu_memory && mem->bo->userptr &&
	       p->criu_state != KFD_CRIU_RESTORED;
}

bool kgd_mem_pages_missing(struct kfd_process *p)
{
	struct kgd_mem *mem;

	lockdep_assert_held(&p->mutex);

	list_for_each_entry(mem, &p->kgd_process_info.kfd_bo_list,
			    validate_list)
		if (kgd_mem_needs_pages(p, mem) &&
		    !vgpu_userptr_current(mem->bo))
			return true;
	return false;
}

int kgd_mem_find_pages(struct kfd_process *p)
{
	struct kgd_mem *mem;
	int ret = 0;

	lockdep_assert_held(&p->mutex);

	list_for_each_entry(mem, &p->kgd_process_info.kfd_bo_list,
			    validate_list) {
		if (kgd_mem_needs_pages(p, mem))
			ret = kfd_userptr_prepare(mem);
		if (ret)
			break;
	}
	return ret;
}

int kgd_mem_validate_all(struct kfd_process *p, bool again)
{
	struct amdkfd_process_info *info = &p->kgd_process_info;
	struct kgd_mem *mem;
	int ret = 0;

	lockdep_assert_held(&p->mutex);

	kgd_mem_fetch_all(info);
	list_for_each_entry(mem, &info->kfd_bo_list, validate_list) {
		if (!mem->mapped_to_gpu_memory)
			continue;
		/* In vain: others may have what is there already. Begin anew. */
		if (again && kfd_evict_signalled(info))
			return -EAGAIN;
		ret = kgd_mem_bring(info, mem, true);
		if (ret)
			break;
	}
	return ret;
}
