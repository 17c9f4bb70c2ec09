// SPDX-License-Identifier: GPL-2.0
/*
 * Validates a process's BOs: gives each BO a place in memory, then writes the page-table entries
 * of its mappings. kgd_mem_validate_all() does this in a restore.
 */
#include <linux/dma-resv.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_exec.h>
#include <kunit/visibility.h>

#include "mm/vgpu_bo.h"
#include "mm/vgpu_mm.h"
#include "mm/vgpu_userptr.h"
#include "vm/vgpu_vm_bo.h"
#include "kfd_evict.h"
#include "kfd_evict_priv.h"
#include "kfd_mem.h"
#include "kfd_process.h"

/* One call of vgpu_vm_bo_update() writes the entries of at most this many mappings of a BO. */
#define UPDATE_AT_ONCE	16

/*
 * Move the BO to its domain or, if VRAM has no room, to GTT. The caller holds the reservation,
 * without a ticket.
 */
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

/**
 * kgd_mem_update() - write the page-table entries of a BO's mappings
 * @mem: memory
 *
 * Skips each mapping that has got its entries since the BO last moved.
 *
 * Context: the BO's reservation is held; sleeps.
 *
 * Return: 0; -EINVAL if one of the GPUs does not reach the place of the BO; -ERESTARTSYS.
 */
int kgd_mem_update(struct kgd_mem *mem)
{
	struct vgpu_vm_bo *vbos[UPDATE_AT_ONCE];
	struct kfd_mem_attachment *att;
	unsigned int n = 0;
	int ret;

	dma_resv_assert_held(mem->bo->tbo.base.resv);

	if (mem->gem)
		return vgpu_vm_bo_update_all(mem->gem->vm, mem->bo);
	if (mem->invalid)
		return 0;
	list_for_each_entry(att, &mem->attachments, mem_link) {
		if (!vgpu_vm_bo_has_moved(att->vbo))
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

/* Wait until moves of the BO are done, then write its page-table entries. */
static int kgd_mem_wait_update(struct kgd_mem *mem)
{
	long left = dma_resv_wait_timeout(mem->bo->tbo.base.resv,
					  DMA_RESV_USAGE_KERNEL, true,
					  MAX_SCHEDULE_TIMEOUT);

	return left < 0 ? left : kgd_mem_update(mem);
}

/**
 * kgd_mem_validate() - move a BO to its place, and write its page-table entries
 * @mem: memory
 *
 * Waits until the move is done.
 *
 * Context: the BO's reservation is held, without a ticket; sleeps.
 *
 * Return: 0; -EAGAIN if a user pointer has no pages; -EINVAL, -EIO, -ENOMEM, -ERESTARTSYS.
 */
int kgd_mem_validate(struct kgd_mem *mem)
{
	int ret;

	dma_resv_assert_held(mem->bo->tbo.base.resv);

	ret = kgd_mem_place(mem);
	return ret ?: kgd_mem_wait_update(mem);
}

/* Return true if a restore moves @mem. Doorbells and the MMIO page are pinned. */
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
 * Reserve all BOs that a restore moves (kgd_mem_moves()), and call @fn. Other tasks cannot evict
 * these BOs meanwhile. Returns -ENOMEM, -ERESTARTSYS or @fn's result.
 */
static int kgd_mem_locked(struct amdkfd_process_info *info, bool again,
			  int (*fn)(struct amdkfd_process_info *info, bool again))
{
	struct drm_exec exec;
	int ret = 0;

	/*
	 * @exec has a ww ticket. With a ticket, TTM waits for a BO that another task has reserved,
	 * instead of skipping the BO.
	 */
	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT |
			     DRM_EXEC_IGNORE_DUPLICATES, 0);
	drm_exec_until_all_locked(&exec) {
		ret = kgd_mem_lock_each(info, &exec);
		drm_exec_retry_on_contention(&exec);
		/*
		 * Call @fn inside this loop, because TTM may reserve more BOs with the ticket.
		 * After the loop, ww_acquire_done() would forbid this.
		 */
		if (!ret)
			ret = fn(info, again);
		if (ret)
			break;
	}
	drm_exec_fini(&exec);
	return ret;
}

/*
 * Complete the placement of a BO: update the LRU list, and add the eviction fence. The BO's copy
 * may still run.
 */
static int kgd_mem_placed(struct amdkfd_process_info *info, struct kgd_mem *mem)
{
	ttm_bo_move_to_lru_tail_unlocked(&mem->bo->tbo);
	return kfd_evict_fence_add(info, mem->bo);
}

/*
 * Start the copies of BOs to VRAM, evicting BOs of other processes, until TTM finds no more VRAM. A
 * BO is copied while the next BO gets its VRAM.
 */
static int kgd_mem_send_ahead(struct amdkfd_process_info *info, bool again)
{
	struct kgd_mem *mem;
	int ret;

	list_for_each_entry(mem, &info->kfd_bo_list, validate_list) {
		if (!kgd_mem_sent_ahead(mem))
			continue;
		/*
		 * Start no copy if a BO was swapped out recently: evictions for the copy could
		 * cause another swap-out. TTM holds a global mutex during swap-outs, so other tasks
		 * would wait.
		 */
		if (vgpu_mm_is_swapping(mem->bo->vdev) || kfd_evict_signalled(info))
			break;
		ret = vgpu_bo_validate(mem->bo, mem->domain, true);
		/*
		 * Add the eviction fence now. If the BO is evicted before the restore ends, the
		 * fence signals, and the restore starts again.
		 */
		if (!ret)
			ret = kgd_mem_placed(info, mem);
		/*
		 * Stop also after -ENOMEM: ttm_bo_validate() of Linux 6.12 turns -EDEADLK into
		 * -ENOMEM. After -EDEADLK, all reservations must be dropped before another BO is
		 * locked.
		 */
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * kgd_mem_await_sent() - wait for the copies that kgd_mem_validate_all() has started
 * @info: BOs of the process
 *
 * Waits for the last BO first. The copies into VRAM run in order, so the calling task wakes up
 * once, and not after each copy.
 *
 * Context: kfd_process.mutex is held, and no reservation, because CPU faults and allocations may
 * need the reservations.
 *
 * Return: 0 or -ERESTARTSYS.
 */
int kgd_mem_await_sent(struct amdkfd_process_info *info)
{
	struct kgd_mem *mem;
	long left;

	list_for_each_entry_reverse(mem, &info->kfd_bo_list, validate_list) {
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
EXPORT_SYMBOL_IF_KUNIT(kgd_mem_await_sent);

/*
 * Move one BO to its place, and write its page-table entries. If VRAM has no free space, the BO
 * uses GTT.
 */
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
	/*
	 * Wait until the BO is copied. The BO's system pages are freed only after the copy, so
	 * parallel copies would need more system memory.
	 */
	if (!ret)
		ret = kgd_mem_wait_update(mem);
	return ret ?: kgd_mem_placed(info, mem);
}

/*
 * Call kgd_mem_bring() for each BO that a restore moves. If @again is true, return -EAGAIN as soon
 * as the eviction fence has signalled.
 */
static int kgd_mem_bring_all(struct amdkfd_process_info *info, bool again)
{
	struct kgd_mem *mem;
	int ret;

	list_for_each_entry(mem, &info->kfd_bo_list, validate_list) {
		if (!kgd_mem_moves(mem))
			continue;
		/*
		 * Once the eviction fence has signalled, BOs may be evicted again, so the restore
		 * must start from the beginning.
		 */
		if (again && kfd_evict_signalled(info))
			return -EAGAIN;
		ret = kgd_mem_bring(info, mem);
		/*
		 * Stop also after -ENOMEM: TTM may turn -EDEADLK into -ENOMEM. After -EDEADLK, all
		 * reservations must be dropped before another BO is locked (kgd_mem_send_ahead()).
		 */
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Return true if @mem is a mapped user pointer that may be looked up now. Before the CRIU operation
 * RESUME, its memory may not exist.
 */
static bool kgd_mem_needs_pages(struct kfd_process *p, struct kgd_mem *mem)
{
	return mem->mapped_to_gpu_memory && mem->bo->userptr &&
	       p->criu_state != KFD_CRIU_RESTORED;
}

/**
 * kgd_mem_pages_missing() - whether kgd_mem_find_pages() has pages to look up
 * @p: process
 *
 * Context: kfd_process.mutex is held. Does not wait.
 *
 * Return: true if pages of a mapped user pointer have changed.
 */
bool kgd_mem_pages_missing(struct kfd_process *p)
{
	struct kgd_mem *mem;

	lockdep_assert_held(&p->mutex);

	list_for_each_entry(mem, &p->kgd_process_info->kfd_bo_list,
			    validate_list)
		if (kgd_mem_needs_pages(p, mem) &&
		    !vgpu_userptr_current(mem->bo))
			return true;
	return false;
}

/**
 * kgd_mem_find_pages() - look up the pages of all mapped user pointers of a process
 * @p: process
 *
 * May wait without limit for mmap_lock and page-ins. So the caller holds no slot of
 * kfd_restore_order, and no lock that other processes need.
 *
 * Context: kfd_process.mutex is held.
 *
 * Return: 0 or an error of kfd_userptr_prepare().
 */
int kgd_mem_find_pages(struct kfd_process *p)
{
	struct kgd_mem *mem;
	int ret = 0;

	lockdep_assert_held(&p->mutex);

	list_for_each_entry(mem, &p->kgd_process_info->kfd_bo_list,
			    validate_list) {
		if (kgd_mem_needs_pages(p, mem))
			ret = kfd_userptr_prepare(mem);
		if (ret)
			break;
	}
	return ret;
}

/**
 * kgd_mem_validate_all() - validate and fence all mapped BOs of a process
 * @p: process
 * @again: true to stop with -EAGAIN when the eviction fence has signalled
 *
 * Before the call, the caller creates a new eviction fence, and then calls kgd_mem_find_pages(). In
 * this order, any invalidation of the found pages signals the fence.
 *
 * Context: kfd_process.mutex is held; sleeps.
 *
 * Return:
 * * 0, -ENOMEM, -ERESTARTSYS
 * * -EAGAIN: @again is true and the eviction fence has signalled, or a user pointer has no pages
 *   to bind
 * * -EINVAL: a BO is pinned elsewhere, or a GPU does not reach a BO
 * * -EIO: the device cannot address the pages of a user pointer
 */
int kgd_mem_validate_all(struct kfd_process *p, bool again)
{
	struct amdkfd_process_info *info = p->kgd_process_info;
	int ret;

	lockdep_assert_held(&p->mutex);

	ret = kgd_mem_locked(info, again, kgd_mem_send_ahead);
	/* Continue after -ENOMEM, since kgd_mem_bring_all() can use GTT. */
	if (!ret || ret == -ENOMEM)
		ret = kgd_mem_await_sent(info);
	return ret ?: kgd_mem_locked(info, again, kgd_mem_bring_all);
}
