// SPDX-License-Identifier: GPL-2.0
/*
 * Maps BOs in address spaces, and updates entries when BOs move. Writers of entries hold the BO's
 * reservation and, against the MMU notifiers of user pointers, vgpu_userptr_lock().
 */
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <drm/gpu_scheduler.h>
#include <drm/ttm/ttm_tt.h>

#include <kunit/visibility.h>

#include "hw/vgpu_hw.h"
#include "hw/vgpu_xgmi.h"
#include "mm/vgpu_bo.h"
#include "mm/vgpu_res_cursor.h"
#include "mm/vgpu_userptr.h"
#include "vgpu_vm_priv.h"
#include "vgpu_vm_trace.h"

/*
 * Argument @max_frag of vgpu_pt_write(): log2 of the pages in a PTB (2 MiB). No fragment in a PTB
 * can be larger.
 */
#define BO_MAX_FRAG	VGPU_PT_SHIFT

/*
 * Returns the flags of a mapping's entries, or 0 if the GPU does not reach the
 * memory. *@base receives the number to add to the addresses that vbo_walk() finds.
 */
static u64 vbo_flags(const struct vgpu_vm_bo *vbo, u64 *base)
{
	const u64 system = VGPU_PTE_SYSTEM | VGPU_PTE_SNOOPED;
	struct ttm_buffer_object *tbo = &vbo->bo->tbo;
	struct vgpu_device *home = vbo->bo->vdev;
	u32 type = tbo->resource ? tbo->resource->mem_type : TTM_PL_SYSTEM;
	u64 flags = vbo->pte_flags | VGPU_PTE_VALID;

	if (vgpu_bo_readonly(vbo->bo))
		flags &= ~VGPU_PTE_WRITEABLE;
	*base = 0;
	/*
	 * System memory of another GPU's BO has the same bus address for this GPU, since neither
	 * GPU is behind an IOMMU (vgpu_vm_peer.c).
	 */
	if (type == TTM_PL_TT)
		return flags | system;
	if (home == vbo->vm->vdev) {
		if (type == TTM_PL_VRAM)
			return flags;
	} else if (type == TTM_PL_VRAM && vbo->peer == VGPU_PEER_XGMI) {
		*base = vgpu_xgmi_offset(vbo->vm->vdev, home);
		return flags | VGPU_PTE_SNOOPED;
	} else if (vbo->peer != VGPU_PEER_PCIE) {
		return 0;
	}
	if (type == TTM_PL_VRAM)
		*base = home->hw->vram_base;
	else if (type == VGPU_PL_DOORBELL)
		*base = home->hw->doorbell_base;
	else if (type == VGPU_PL_MMIO_REMAP)
		*base = home->hw->remap_base;
	else
		return 0;
	return flags | system;
}

/*
 * Set up a walk through the memory of @npages pages of the mapping @vbo, starting at page @skip of
 * the mapping.
 */
static void vbo_walk(const struct vgpu_vm_bo *vbo, u64 skip, u64 npages,
		     struct vgpu_res_cursor *cur)
{
	struct ttm_buffer_object *tbo = &vbo->bo->tbo;
	u64 offset = vbo->offset + (skip << VGPU_PAGE_SHIFT);
	u64 size = npages << VGPU_PAGE_SHIFT;

	if (tbo->resource->mem_type == TTM_PL_TT)
		vgpu_res_first_dma(tbo->ttm->dma_address, offset, size, cur);
	else
		vgpu_res_first(tbo->resource, offset, size, cur);
}

/* Write entries of @vbo from its page @skip on, for the contiguous memory at the cursor @cur. */
static void vbo_write_run(struct vgpu_vm_bo *vbo, u64 skip,
			  const struct vgpu_res_cursor *cur)
{
	struct vgpu_vm *vm = vbo->vm;
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct vgpu_vm_span span;
	u64 base;

	span.pte_flags = vbo_flags(vbo, &base);
	span.addr = base + cur->start;
	span.npages = cur->size >> VGPU_PAGE_SHIFT;

	/* Take the lock for each run of memory, so that MMU notifiers do not wait for all runs. */
	mutex_lock(&vs->pt_lock);
	vgpu_vm_begin_write(vm);
	vs->tlb_dirty |= vgpu_pt_write(&vs->pt, vbo->pages.start + skip, &span,
				       BO_MAX_FRAG);
	vs->by_sdma = false;
	mutex_unlock(&vs->pt_lock);
}

/*
 * As vgpu_vbo_write(), for @n mappings with the same offset in one BO. Writes entries of @npages
 * pages of each mapping, from page @skip on.
 */
static int vbos_write(struct vgpu_vm_bo *const *vbos, unsigned int n, u64 skip,
		      u64 npages)
{
	struct vgpu_res_cursor cur;
	unsigned int i;
	u64 base, first;

	dma_resv_assert_held(vbos[0]->bo->tbo.base.resv);

	for (i = 0; i < n; i++)
		if (!vbo_flags(vbos[i], &base))
			return -EINVAL;
	for (i = 0; i < n; i++) {
		first = vbos[i]->pages.start + skip;
		trace_vgpu_vm_update(vbos[i], first, first + npages - 1);
	}
	vbo_walk(vbos[0], skip, npages, &cur);
	while (cur.remaining) {
		for (i = 0; i < n; i++)
			vbo_write_run(vbos[i], skip, &cur);
		skip += cur.size >> VGPU_PAGE_SHIFT;
		vgpu_res_next(&cur, cur.size);
	}
	return 0;
}

/**
 * vgpu_vbo_write() - write entries of a mapping
 * @vbo: mapping of a BO
 * @first: first page
 * @last: last page, within the mapping
 *
 * The caller publishes the entries (vgpu_vm_publish()).
 *
 * Context: takes pt_lock. The caller holds the BO's reservation, and vgpu_userptr_lock() has
 * returned true.
 *
 * Return: 0, or -EINVAL if the GPU does not reach the BO's memory.
 */
int vgpu_vbo_write(struct vgpu_vm_bo *vbo, u64 first, u64 last)
{
	return vbos_write(&vbo, 1, first - vbo->pages.start, last - first + 1);
}

static int vbos_write_all(struct vgpu_vm_bo *const *vbos, unsigned int n)
{
	const struct vgpu_vm_bo *vbo = vbos[0];
	int ret = -EAGAIN;

	if (vgpu_userptr_lock(vbo->bo))
		ret = vbos_write(vbos, n, 0,
				 vbo->pages.last - vbo->pages.start + 1);
	vgpu_userptr_unlock(vbo->bo);
	return ret;
}

/**
 * vgpu_vbo_write_all() - write all entries of a mapping
 * @vbo: mapping of a BO; the BO's reservation is held
 *
 * As vgpu_vbo_write(), but calls vgpu_userptr_lock() itself.
 *
 * Return: as vgpu_vbo_write(); or -EAGAIN, without a write, if the BO is a user pointer without
 * valid pages.
 */
int vgpu_vbo_write_all(struct vgpu_vm_bo *vbo)
{
	return vbos_write_all(&vbo, 1);
}

/**
 * vgpu_vbo_set_moved() - set whether the entries of a mapping have to be written
 * @vbo: mapping; its BO's reservation is held
 * @moved: true if the entries have to be written (vgpu_vm_bo.moved). False after they have been
 *         written, or before the mapping is freed
 *
 * Clears vgpu_vm_bo.stale in either case.
 */
void vgpu_vbo_set_moved(struct vgpu_vm_bo *vbo, bool moved)
{
	struct vgpu_vm_state *vs = to_vm_state(vbo->vm);

	spin_lock(&vs->moved_lock);
	vbo->moved = moved;
	vs->stale -= vbo->stale;
	vbo->stale = false;
	if (moved)
		list_move_tail(&vbo->moved_link, &vs->moved);
	else
		list_del_init(&vbo->moved_link);
	spin_unlock(&vs->moved_lock);
}

static void vbo_set_stale(struct vgpu_vm_bo *vbo)
{
	struct vgpu_vm *vm = vbo->vm;
	struct vgpu_vm_state *vs = to_vm_state(vm);

	mutex_lock(&vm->push_lock);
	spin_lock(&vs->moved_lock);
	vbo->moved = true;
	WRITE_ONCE(vbo->stale, true);
	vs->stale++;
	list_move_tail(&vbo->moved_link, &vs->moved);
	spin_unlock(&vs->moved_lock);
	mutex_unlock(&vm->push_lock);
}

/**
 * vgpu_vbo_clear() - clear the entries of a mapping, if it has any
 * @vbo: mapping; its BO's reservation is held
 *
 * The caller publishes the change (vgpu_vm_publish()).
 *
 * Context: takes pt_lock.
 */
void vgpu_vbo_clear(struct vgpu_vm_bo *vbo)
{
	if (!vgpu_vbo_has_entries(vbo))
		return;
	vgpu_vm_clear_pages(vbo->vm, vbo->pages.start, vbo->pages.last, 0);
	vgpu_vbo_set_moved(vbo, true);
}

/**
 * vgpu_vm_bo_has_moved() - whether the entries of a mapping have to be written
 * @vbo: mapping; its BO's reservation is held
 *
 * Return: true if vgpu_vm_bo_update() is needed before the GPU may use the mapping.
 */
bool vgpu_vm_bo_has_moved(const struct vgpu_vm_bo *vbo)
{
	return vbo->moved;
}

/**
 * vgpu_vm_bo_update() - write the entries of a BO's mappings
 * @vbos: mappings of one reserved BO, with the same offset and size
 * @n: number of mappings, at least one
 *
 * Return: 0, -ERESTARTSYS, or -EINVAL if a GPU does not reach the BO. After an error, no mapping
 * has new entries.
 */
int vgpu_vm_bo_update(struct vgpu_vm_bo *const *vbos, unsigned int n)
{
	unsigned int i;
	long left;
	int ret;

	/* The BO's memory has its content only after these fences. */
	left = dma_resv_wait_timeout(vbos[0]->bo->tbo.base.resv,
				     DMA_RESV_USAGE_KERNEL, true,
				     MAX_SCHEDULE_TIMEOUT);
	if (left < 0)
		return left;
	for (i = 0; i < n; i++)
		if (vbos[i]->stale)
			vgpu_vbo_clear(vbos[i]);
	ret = vbos_write_all(vbos, n);
	/*
	 * -EAGAIN: the BO is a user pointer without valid pages. This is no error: the mappings
	 * stay marked as moved.
	 */
	if (ret)
		return ret == -EAGAIN ? 0 : ret;
	for (i = 0; i < n; i++) {
		vgpu_vm_publish_unlocked(vbos[i]->vm);
		vgpu_vbo_set_moved(vbos[i], false);
	}
	return 0;
}

/**
 * vgpu_vm_range_ok() - whether an address range can be mapped
 * @va: first byte
 * @size: bytes
 *
 * Return: true if the range consists of one or more whole pages of the address space.
 */
bool vgpu_vm_range_ok(u64 va, u64 size)
{
	return size && !((va | size) & (VGPU_PAGE_SIZE - 1)) &&
	       va < BIT_ULL(VGPU_VA_BITS) && size <= BIT_ULL(VGPU_VA_BITS) - va;
}

static bool vbo_part_ok(const struct vgpu_bo *bo, u64 offset, u64 size)
{
	u64 bo_size = bo->tbo.base.size;

	return IS_ALIGNED(offset, VGPU_PAGE_SIZE) && offset <= bo_size &&
	       size <= bo_size - offset;
}

/*
 * Insert the mapping into vgpu_vm_state.bos and create its tables. Returns 0, -EINVAL if the
 * addresses are in use, or -ENOMEM.
 */
static int vbo_claim(struct vgpu_vm_bo *vbo)
{
	struct vgpu_vm *vm = vbo->vm;
	struct vgpu_vm_state *vs = to_vm_state(vm);
	int ret = -EINVAL;

	mutex_lock(&vs->alloc_lock);
	if (!interval_tree_iter_first(&vs->bos, vbo->pages.start,
				      vbo->pages.last)) {
		vgpu_vm_make_room(vm);
		ret = vgpu_pt_reserve(&vs->pt, vbo->pages.start,
				      vbo->pages.last);
	}
	if (!ret)
		interval_tree_insert(&vbo->pages, &vs->bos);
	else
		vgpu_vm_trim_later(vm);
	mutex_unlock(&vs->alloc_lock);
	return ret;
}

/**
 * vgpu_vbo_new() - create a mapping without entries
 * @vm: address space
 * @bo: BO, its reservation held, or NULL for a PRT mapping
 * @va: first byte
 * @offset: offset in @bo
 * @size: bytes
 * @pte_flags: flags of the entries
 *
 * Context: takes alloc_lock.
 *
 * Return: the mapping, or ERR_PTR: -EINVAL if a range is invalid or in use, or an error of
 * vgpu_pt_reserve().
 */
struct vgpu_vm_bo *vgpu_vbo_new(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va,
				u64 offset, u64 size, u64 pte_flags)
{
	struct vgpu_vm_bo *vbo;
	int ret;

	if (!vgpu_vm_range_ok(va, size) || (bo && !vbo_part_ok(bo, offset, size)))
		return ERR_PTR(-EINVAL);
	vbo = kzalloc(sizeof(*vbo), GFP_KERNEL);
	if (!vbo)
		return ERR_PTR(-ENOMEM);
	vbo->vm = vm;
	vbo->bo = bo;
	vbo->offset = offset;
	vbo->pte_flags = pte_flags;
	vbo->pages.start = va >> VGPU_PAGE_SHIFT;
	vbo->pages.last = (va + size - 1) >> VGPU_PAGE_SHIFT;
	INIT_LIST_HEAD(&vbo->moved_link);

	ret = vbo_claim(vbo);
	if (ret) {
		kfree(vbo);
		return ERR_PTR(ret);
	}
	if (bo) {
		dma_resv_assert_held(bo->tbo.base.resv);
		vgpu_userptr_lock(bo);
		list_add_tail(&vbo->bo_link, &bo->vm_mappings);
		vgpu_userptr_unlock(bo);
		vgpu_vbo_set_moved(vbo, true);
	}
	trace_vgpu_vm_map(vbo);
	return vbo;
}

/**
 * vgpu_vbo_free() - remove and free a mapping
 * @vbo: mapping whose entries have been cleared; its BO's reservation is held
 *
 * Context: takes alloc_lock.
 */
void vgpu_vbo_free(struct vgpu_vm_bo *vbo)
{
	struct vgpu_vm *vm = vbo->vm;
	struct vgpu_vm_state *vs = to_vm_state(vm);

	trace_vgpu_vm_unmap(vbo);
	if (vbo->bo) {
		dma_resv_assert_held(vbo->bo->tbo.base.resv);
		vgpu_vbo_set_moved(vbo, false);
		/*
		 * Flush the TLB before list_del(). Afterwards the MMU notifier does not find this
		 * mapping, and so does not flush this address space.
		 */
		if (vbo->bo->userptr)
			vgpu_vm_publish_unlocked(vm);
		vgpu_userptr_lock(vbo->bo);
		list_del(&vbo->bo_link);
		vgpu_userptr_unlock(vbo->bo);
	}
	mutex_lock(&vs->alloc_lock);
	interval_tree_remove(&vbo->pages, &vs->bos);
	mutex_unlock(&vs->alloc_lock);
	vgpu_vm_trim_later(vm);
	kfree(vbo);
}

/**
 * vgpu_vm_bo_claim() - create a mapping of a BO for KFD
 * @vm: address space
 * @bo: BO, its reservation held
 * @va: address; page aligned
 * @offset: offset in @bo; page aligned
 * @size: bytes, whole pages
 * @pte_flags: VGPU_PTE_READABLE, _WRITEABLE, _EXECUTABLE, _MTYPE
 * @peer: vgpu_peer_find() for another GPU's BO, else VGPU_PEER_NONE
 * @out: receives the mapping; vgpu_vm_bo_update() writes the page-table entries later
 *
 * Return: 0 or an error of vgpu_vbo_new().
 */
int vgpu_vm_bo_claim(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va, u64 offset,
		     u64 size, u64 pte_flags, enum vgpu_peer_way peer,
		     struct vgpu_vm_bo **out)
{
	*out = vgpu_vbo_new(vm, bo, va, offset, size, pte_flags);
	if (IS_ERR(*out))
		return PTR_ERR(*out);
	/*
	 * Other threads can already find the mapping, but they do not use (*out)->peer yet: they
	 * would first have to take the BO's reservation, which the caller holds.
	 */
	(*out)->peer = peer;
	(*out)->claimed = true;
	return 0;
}

/**
 * vgpu_vm_bo_unmap() - undo vgpu_vm_bo_claim() and vgpu_vm_bo_update()
 * @vbo: mapping, which the function frees; its BO's reservation is held
 *
 * Clears the entries and flushes the TLB: on return the GPU does not reach the memory through this
 * mapping.
 */
void vgpu_vm_bo_unmap(struct vgpu_vm_bo *vbo)
{
	vgpu_vm_clear_range(vbo->vm, vbo->pages.start, vbo->pages.last, false);
	vgpu_vbo_free(vbo);
}

/**
 * vgpu_vm_bo_move_notify() - clear the entries of a BO that is about to move
 * @bo: BO, its reservation held
 * @new: new placement, or NULL if @bo is being freed; not used
 *
 * Called by mm/ when no job or queue uses @bo any more. Earlier moves of @bo may still be in
 * progress. On return no GPU reaches the old memory.
 */
void vgpu_vm_bo_move_notify(struct vgpu_bo *bo, struct ttm_resource *new)
{
	struct vgpu_vm_bo *vbo;

	list_for_each_entry(vbo, &bo->vm_mappings, bo_link)
		if (vgpu_vbo_has_entries(vbo))
			vgpu_vm_clear_pages(vbo->vm, vbo->pages.start,
					    vbo->pages.last, 0);
	/*
	 * Publish after all clears. Then, if @bo has several mappings in an address space, only the
	 * first publish in this address space flushes the TLB.
	 */
	list_for_each_entry(vbo, &bo->vm_mappings, bo_link) {
		if (!vgpu_vbo_has_entries(vbo))
			continue;
		vgpu_vm_publish_unlocked(vbo->vm);
		vgpu_vbo_set_moved(vbo, true);
	}
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_bo_move_notify);

/**
 * vgpu_vm_bo_unmap_notify() - clear the entries of a user pointer that loses its
 * pages
 * @bo: user pointer; vgpu_mm_notifier_lock() held
 *
 * Called by mm/ after jobs and queues have stopped using the pages. On return no GPU reaches the
 * pages. vgpu_vm_bo_move_notify() will mark the mappings as moved when mm/ binds new pages.
 */
void vgpu_vm_bo_unmap_notify(struct vgpu_bo *bo)
{
	struct vgpu_vm_bo *vbo;

	list_for_each_entry(vbo, &bo->vm_mappings, bo_link)
		vgpu_vm_clear_pages(vbo->vm, vbo->pages.start, vbo->pages.last,
				    0);
	list_for_each_entry(vbo, &bo->vm_mappings, bo_link)
		vgpu_vm_publish_unlocked(vbo->vm);
}

/**
 * vgpu_vm_bo_move_later() - mark the entries of a BO as stale (vgpu_vm_bo.stale)
 * @bo: BO, its reservation held
 *
 * Called by mm/ before mm/ queues a move of @bo. The move starts after the jobs that use @bo have
 * completed and the queues that use @bo have been evicted. If the move fails, mm/ waits for these
 * jobs and queues before the reservation is dropped. So in either case, a later holder of the
 * reservation may clear the entries as soon as the fences of usage KERNEL have signalled.
 *
 * Context: takes push_lock.
 */
void vgpu_vm_bo_move_later(struct vgpu_bo *bo)
{
	struct vgpu_vm_bo *vbo;

	list_for_each_entry(vbo, &bo->vm_mappings, bo_link)
		if (!vbo->moved)
			vbo_set_stale(vbo);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_bo_move_later);

/**
 * vgpu_vm_bo_move_users() - make a move depend on jobs that may use stale entries
 * @bo: BO, its reservation held; vgpu_vm_bo_move_later() has been called
 * @job: the move's first job, not armed
 *
 * Makes @job depend on all jobs in the address spaces in which @bo has stale entries.
 *
 * Context: may allocate.
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_vm_bo_move_users(struct vgpu_bo *bo, struct drm_sched_job *job)
{
	struct dma_resv_iter cursor;
	struct vgpu_vm_bo *vbo;
	struct dma_fence *fence;
	int ret = 0;

	list_for_each_entry(vbo, &bo->vm_mappings, bo_link) {
		/*
		 * An address space of KFD has no jobs. The move waits for the eviction fence of
		 * the queues anyway, because this fence is in the BO's reservation.
		 */
		if (!vbo->stale || !vbo->vm->jobs)
			continue;
		/*
		 * The loop misses no job although vm->jobs is not locked: drm/ pushes no job while
		 * the address space has stale entries.
		 */
		dma_resv_iter_begin(&cursor, vbo->vm->jobs,
				    DMA_RESV_USAGE_BOOKKEEP);
		dma_resv_for_each_fence_unlocked(&cursor, fence) {
			dma_fence_get(fence);
			ret = drm_sched_job_add_dependency(job, fence);
			if (ret)
				break;
		}
		dma_resv_iter_end(&cursor);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * vgpu_vm_va_busy() - whether a range of pages has a mapping
 * @vm: address space
 * @first: first page
 * @last: last page
 *
 * Context: takes alloc_lock.
 *
 * Return: true if the range has a mapping of a BO or a PRT mapping.
 */
bool vgpu_vm_va_busy(struct vgpu_vm *vm, u64 first, u64 last)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	bool busy;

	mutex_lock(&vs->alloc_lock);
	busy = interval_tree_iter_first(&vs->bos, first, last);
	mutex_unlock(&vs->alloc_lock);
	return busy;
}
