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
 *
 * DOC: reservations of a process that comes back
 *
 * All BOs are reserved under one ww ticket, twice: to send those of VRAM ahead, and to give
 * each BO its place and its entries. Between the two, copies are waited for without
 * reservations, so that CPU faults and allocations do not wait for them. With the ticket
 * TTM waits for the reservation of a BO that others hold just now, where without a ticket
 * it passes the BO over; and nobody takes one BO of the process while the next is placed.
 *
 * A ticket is of no more use when TTM has not found room: TTM 6.12 returns -ENOSPC also
 * after -EDEADLK, after which nothing may be locked with the ticket before all is unlocked.
 * So the first BO that finds no room in VRAM ends the sending ahead, and those that are not
 * in VRAM then get what is free there, or a place in GTT.
 */
#include <linux/dma-resv.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_exec.h>

#include "mm/vgpu_bo.h"
#include "mm/vgpu_mm.h"
#include "mm/vgpu_userptr.h"
#include "vm/vgpu_vm_bo.h"
#include "kfd_evict.h"
#include "kfd_mem.h"
#include "kfd_process.h"

/* Mappings of a BO whose entries are written together. */
#define UPDATE_AT_ONCE	16

/* Where the BO belongs, or GTT. No ticket held. */
static int kgd_mem_place(struct kgd_mem *mem)
{
	bool vram = mem->domain == AMDGPU_GEM_DOMAIN_VRAM;
	struct vgpu_bo *bo = mem->bo;
	int ret;

	if (bo->userptr)
		return kfd_userptr_place(mem);
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

/* The BO has a place: wait for its contents, and write its entries. */
static int kgd_mem_settle(struct kgd_mem *mem)
{
	long left = dma_resv_wait_timeout(mem->bo->tbo.base.resv,
					  DMA_RESV_USAGE_KERNEL, true,
					  MAX_SCHEDULE_TIMEOUT);

	return left < 0 ? left : kgd_mem_update(mem);
}

int kgd_mem_validate(struct kgd_mem *mem)
{
	int ret;

	dma_resv_assert_held(mem->bo->tbo.base.resv);

	ret = kgd_mem_place(mem);
	return ret ?: kgd_mem_settle(mem);
}

/* Does it go and come back with the process? Registers in a BAR stay where they are. */
static bool kgd_mem_moves(const struct kgd_mem *mem)
{
	return mem->mapped_to_gpu_memory && !kgd_mem_is_bar(mem);
}

static bool kgd_mem_sent_ahead(const struct kgd_mem *mem)
{
	return kgd_mem_moves(mem) && mem->domain == AMDGPU_GEM_DOMAIN_VRAM;
}

static int kgd_mem_lock_each(struct amdkfd_process_info *info, struct drm_exec *exec)
{
	struct kgd_mem *mem;
	int ret = 0;

	list_for_each_entry(mem, &info->kfd_bo_list, validate_list) {
		if (!kgd_mem_moves(mem))
			continue;
		ret = drm_exec_lock_obj(exec, &mem->bo->tbo.base);
		if (ret)
			break;
	}
	return ret == -EINTR ? -ERESTARTSYS : ret;
}

/*
 * Call @fn(@info, @again) with the reservations of all BOs that move. Within the loop, since
 * TTM may take more locks with the ticket. -ENOMEM, -ERESTARTSYS or what @fn returns.
 */
static int kgd_mem_locked(struct amdkfd_process_info *info, bool again,
			  int (*fn)(struct amdkfd_process_info *info, bool again))
{
	struct drm_exec exec;
	int ret = 0;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT |
			     DRM_EXEC_IGNORE_DUPLICATES, 0);
	drm_exec_until_all_locked(&exec) {
		ret = kgd_mem_lock_each(info, &exec);
		drm_exec_retry_on_contention(&exec);
		if (!ret)
			ret = fn(info, again);
		if (ret)
			break;
	}
	drm_exec_fini(&exec);
	return ret;
}

/* The BO is in its place, or on the way: with the eviction fence, and last on TTM's list. */
static int kgd_mem_placed(struct amdkfd_process_info *info, struct kgd_mem *mem)
{
	ttm_bo_move_to_lru_tail_unlocked(&mem->bo->tbo);
	return kfd_evict_fence_add(info, mem->bo);
}

/*
 * Have BOs on their way back to VRAM, as many as there is room for: one is copied while the
 * next is given its memory. Each has its fence at once, so that nobody gets its new memory
 * for nothing.
 */
static int kgd_mem_send_ahead(struct amdkfd_process_info *info, bool again)
{
	struct kgd_mem *mem;
	int ret;

	list_for_each_entry(mem, &info->kfd_bo_list, validate_list) {
		if (!kgd_mem_sent_ahead(mem))
			continue;
		if (vgpu_mm_swaps(mem->bo->vdev) || kfd_evict_signalled(info))
			break;
		ret = vgpu_bo_validate(mem->bo, mem->domain, true);
		if (!ret)
			ret = kgd_mem_placed(info, mem);
		if (ret)
			return ret;
	}
	return 0;
}

/* 0 or -ERESTARTSYS. */
static int kgd_mem_await_sent(struct amdkfd_process_info *info)
{
	struct kgd_mem *mem;
	long left;

	list_for_each_entry(mem, &info->kfd_bo_list, validate_list) {
		if (!kgd_mem_sent_ahead(mem))
			continue;
		left = dma_resv_wait_timeout(mem->bo->tbo.base.resv,
					     DMA_RESV_USAGE_KERNEL, true,
					     MAX_SCHEDULE_TIMEOUT);
		if (left < 0)
			return left;
	}
	return 0;
}

static int kgd_mem_bring(struct amdkfd_process_info *info, struct kgd_mem *mem)
{
	struct vgpu_bo *bo = mem->bo;
	int ret;

	if (bo->userptr)
		ret = kfd_userptr_place(mem);
	else if (mem->domain == AMDGPU_GEM_DOMAIN_VRAM)
		ret = vgpu_bo_validate_no_evict(bo);
	else
		ret = vgpu_bo_validate(bo, mem->domain, true);
	if (!ret)
		ret = kgd_mem_settle(mem);
	return ret ?: kgd_mem_placed(info, mem);
}

/* Until each is there, with its entries. */
static int kgd_mem_bring_all(struct amdkfd_process_info *info, bool again)
{
	struct kgd_mem *mem;
	int ret;

	list_for_each_entry(mem, &info->kfd_bo_list, validate_list) {
		if (!kgd_mem_moves(mem))
			continue;
		/* In vain: others may have what is there already. Begin anew. */
		if (again && kfd_evict_signalled(info))
			return -EAGAIN;
		ret = kgd_mem_bring(info, mem);
		if (ret)
			return ret;
	}
	return 0;
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
	int ret;

	lockdep_assert_held(&p->mutex);

	ret = kgd_mem_locked(info, again, kgd_mem_send_ahead);
	if (!ret || ret == -ENOMEM)
		ret = kgd_mem_await_sent(info);
	return ret ?: kgd_mem_locked(info, again, kgd_mem_bring_all);
}
