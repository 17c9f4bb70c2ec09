// SPDX-License-Identifier: GPL-2.0
/*
 * Creates, cuts and updates the mappings that GEM_VA requests. No caller keeps a pointer to such a
 * mapping, so GEM_VA can unmap any range of addresses. This file does not change the mappings that
 * KFD requests (vgpu_vm_bo.claimed).
 */
#include <linux/dma-fence-unwrap.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <drm/drm_exec.h>

#include <kunit/visibility.h>

#include "mm/vgpu_bo.h"
#include "mm/vgpu_userptr.h"
#include "vgpu_vm_priv.h"

/* Number of pages that a leaf entry of a PDB0 maps. No fragment has more pages. */
#define LEAF_PAGES	((u64)VGPU_PT_ENTRIES)

static struct vgpu_vm_bo *node_to_vbo(struct interval_tree_node *node)
{
	return container_of(node, struct vgpu_vm_bo, pages);
}

/**
 * vgpu_vm_bo_add() - map a BO, but write no entries yet
 * @vm: address space, va_lock held
 * @bo: BO, its reservation held
 * @va: address; page aligned
 * @offset: first byte of @bo to map; page aligned
 * @size: bytes, whole pages
 * @pte_flags: VGPU_PTE_READABLE, _WRITEABLE, _EXECUTABLE, _MTYPE
 *
 * Context: takes alloc_lock.
 *
 * Return: 0 or an error of vgpu_vbo_new().
 */
int vgpu_vm_bo_add(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va, u64 offset,
		   u64 size, u64 pte_flags)
{
	lockdep_assert_held(&vm->va_lock);

	/* vgpu_vm_update_moved() or vgpu_vm_bo_update_all() writes the entries later. */
	return PTR_ERR_OR_ZERO(vgpu_vbo_new(vm, bo, va, offset, size,
					    pte_flags));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_bo_add);

/**
 * vgpu_vm_bo_unmap_va() - unmap the mapping that starts at an address
 * @vm: address space, va_lock held
 * @bo: BO, its reservation held, or NULL for a PRT mapping
 * @va: first byte of the mapping
 *
 * On return the GPU does not reach the memory.
 *
 * Return: 0, or -ENOENT if no such mapping exists.
 */
int vgpu_vm_bo_unmap_va(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va)
{
	u64 page = va >> VGPU_PAGE_SHIFT;
	struct interval_tree_node *node;

	lockdep_assert_held(&vm->va_lock);

	node = interval_tree_iter_first(&to_vm_state(vm)->bos, page, page);
	if (!IS_ALIGNED(va, VGPU_PAGE_SIZE) || !node || node->start != page ||
	    node_to_vbo(node)->bo != bo || node_to_vbo(node)->claimed)
		return -ENOENT;
	vgpu_vm_bo_unmap(node_to_vbo(node));
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_bo_unmap_va);

/**
 * vgpu_vm_bo_unmap_all() - remove all of a BO's mappings that GEM_VA has created
 * @vm: address space, va_lock held
 * @bo: BO, its reservation held
 *
 * Flushes the TLB once; for a user pointer, once for each mapping. On return the GPU does not reach
 * the memory through these mappings.
 */
void vgpu_vm_bo_unmap_all(struct vgpu_vm *vm, struct vgpu_bo *bo)
{
	struct vgpu_vm_bo *vbo, *next;

	lockdep_assert_held(&vm->va_lock);
	dma_resv_assert_held(bo->tbo.base.resv);

	list_for_each_entry_safe(vbo, next, &bo->vm_mappings, bo_link) {
		if (!vgpu_vbo_is_va(vbo, vm))
			continue;
		vgpu_vbo_clear(vbo);
		vgpu_vbo_free(vbo);
	}
	vgpu_vm_publish_unlocked(vm);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_bo_unmap_all);

/**
 * vgpu_vm_bo_count() - count a BO's mappings that GEM_VA has created
 * @vm: address space
 * @bo: BO, its reservation held
 *
 * Return: the number of these mappings in @vm. Mappings that KFD has created are not counted.
 */
unsigned int vgpu_vm_bo_count(struct vgpu_vm *vm, const struct vgpu_bo *bo)
{
	struct vgpu_vm_bo *vbo;
	unsigned int n = 0;

	list_for_each_entry(vbo, &bo->vm_mappings, bo_link)
		n += vgpu_vbo_is_va(vbo, vm);
	return n;
}

/**
 * vgpu_vm_lock_range() - reserve the BOs that are mapped in a range
 * @vm: address space, va_lock held
 * @va: first byte
 * @size: bytes
 * @exec: takes the reservations; needs DRM_EXEC_IGNORE_DUPLICATES if it may hold some already
 *
 * Called inside drm_exec_until_all_locked(), directly before drm_exec_retry_on_contention().
 *
 * Return: 0; -EINVAL if the range is invalid or KFD has a mapping in it; an error of
 * drm_exec_lock_obj().
 */
int vgpu_vm_lock_range(struct vgpu_vm *vm, u64 va, u64 size,
		       struct drm_exec *exec)
{
	struct interval_tree_node *node;
	u64 first, last;

	lockdep_assert_held(&vm->va_lock);

	if (!vgpu_vm_range_ok(va, size))
		return -EINVAL;
	first = va >> VGPU_PAGE_SHIFT;
	last = (va + size - 1) >> VGPU_PAGE_SHIFT;
	for (node = interval_tree_iter_first(&to_vm_state(vm)->bos, first, last); node;
	     node = interval_tree_iter_next(node, first, last)) {
		struct vgpu_bo *bo = node_to_vbo(node)->bo;
		int ret;

		if (node_to_vbo(node)->claimed)
			return -EINVAL;
		if (!bo)
			continue;
		ret = drm_exec_lock_obj(exec, &bo->tbo.base);
		if (ret)
			return ret;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_lock_range);

/* Reduce @vbo to its pages from @first to @last. The caller holds alloc_lock. */
static void vbo_trim(struct vgpu_vm_bo *vbo, u64 first, u64 last)
{
	interval_tree_remove(&vbo->pages, &to_vm_state(vbo->vm)->bos);
	if (vbo->bo)
		vbo->offset += (first - vbo->pages.start) << VGPU_PAGE_SHIFT;
	vbo->pages.start = first;
	vbo->pages.last = last;
	interval_tree_insert(&vbo->pages, &to_vm_state(vbo->vm)->bos);
}

/*
 * Move the pages of @vbo after @last to @rest, which becomes a new mapping. The caller holds
 * alloc_lock.
 */
static void vbo_split(struct vgpu_vm_bo *vbo, u64 last, struct vgpu_vm_bo *rest)
{
	*rest = *vbo;
	INIT_LIST_HEAD(&rest->moved_link);
	if (rest->bo) {
		rest->offset += (last + 1 - vbo->pages.start) <<
				VGPU_PAGE_SHIFT;
		list_add_tail(&rest->bo_link, &rest->bo->vm_mappings);
		vgpu_vbo_set_moved(rest, vbo->moved);
	}
	rest->pages.start = last + 1;
	vbo_trim(vbo, vbo->pages.start, last);
	interval_tree_insert(&rest->pages, &to_vm_state(rest->vm)->bos);
}

/*
 * A cut directly before @page has shortened @vbo. Replace the leaves and fragments that cross the
 * cut by smaller ones. The caller then clears the removed pages.
 */
static void vbo_mend(struct vgpu_vm_bo *vbo, u64 page)
{
	/* No leaf or fragment crosses a multiple of LEAF_PAGES. */
	u64 first = max_t(u64, vbo->pages.start, ALIGN_DOWN(page, LEAF_PAGES));
	u64 last = min_t(u64, vbo->pages.last, ALIGN(page, LEAF_PAGES) - 1);

	if (vbo->bo && !vbo->moved && first <= last)
		WARN_ON_ONCE(vgpu_vbo_write(vbo, first, last));
}

/*
 * Remove the pages @first to @last from @vbo. If pages remain on both sides, use *@spare for the
 * pages after @last, and set *@spare to NULL.
 */
static void vbo_cut(struct vgpu_vm_bo *vbo, u64 first, u64 last,
		    struct vgpu_vm_bo **spare)
{
	bool head = vbo->pages.start < first, tail = vbo->pages.last > last;
	struct vgpu_vm_bo *behind = tail ? vbo : NULL;
	struct vgpu_vm *vm = vbo->vm;
	struct vgpu_vm_state *vs = to_vm_state(vm);
	bool right_pages = true;

	if (vbo->bo)
		dma_resv_assert_held(vbo->bo->tbo.base.resv);
	/*
	 * Clear all stale entries of @vbo, even those of pages that remain mapped. No job or queue
	 * uses stale entries now (vgpu_vm_clear_mappings()). The remaining pages get new entries
	 * before the next job or queue runs.
	 */
	if (vbo->stale)
		vgpu_vbo_clear(vbo);
	first = max_t(u64, first, vbo->pages.start);
	last = min_t(u64, last, vbo->pages.last);

	mutex_lock(&vs->alloc_lock);
	if (vbo->bo)
		right_pages = vgpu_userptr_lock(vbo->bo);
	if (head && tail) {
		behind = *spare;
		*spare = NULL;
		vbo_split(vbo, last, behind);
	}
	if (head)
		vbo_trim(vbo, vbo->pages.start, first - 1);
	else if (tail)
		vbo_trim(vbo, last + 1, vbo->pages.last);

	if (head && right_pages)
		vbo_mend(vbo, first);
	if (behind && right_pages)
		vbo_mend(behind, last + 1);
	if (!vbo->moved)
		vgpu_vm_clear_pages(vm, first, last, 0);
	if (vbo->bo)
		vgpu_userptr_unlock(vbo->bo);
	/*
	 * Drop alloc_lock only after the clear: without the lock, a fault or SET_ATTR may create
	 * an SVM range at these pages (vgpu_vm_va_busy()) and write the entries of this range.
	 * Clearing the pages later would remove the entries of the SVM range.
	 */
	mutex_unlock(&vs->alloc_lock);
	if (!head && !tail)
		vgpu_vbo_free(vbo);
}

/**
 * vgpu_vm_clear_mappings() - cut a range of addresses out of all mappings of GEM_VA
 * @vm: address space, va_lock held
 * @va: first byte; page aligned
 * @size: bytes, whole pages
 *
 * Context: BOs in the range are reserved (vgpu_vm_lock_range()). On the render node, no job is in
 * flight in @vm. In KFD, no move of these BOs is in flight.
 *
 * Return: 0, -ENOMEM, or -EINVAL if the range is invalid.
 */
int vgpu_vm_clear_mappings(struct vgpu_vm *vm, u64 va, u64 size)
{
	struct interval_tree_node *node, *next;
	struct vgpu_vm_bo *spare;
	u64 first, last;

	lockdep_assert_held(&vm->va_lock);

	if (!vgpu_vm_range_ok(va, size))
		return -EINVAL;
	/*
	 * A single spare mapping suffices, because at most one mapping extends beyond both ends of
	 * the range.
	 */
	spare = kmalloc(sizeof(*spare), GFP_KERNEL);
	if (!spare)
		return -ENOMEM;
	first = va >> VGPU_PAGE_SHIFT;
	last = (va + size - 1) >> VGPU_PAGE_SHIFT;
	for (node = interval_tree_iter_first(&to_vm_state(vm)->bos, first, last); node;
	     node = next) {
		next = interval_tree_iter_next(node, first, last);
		vbo_cut(node_to_vbo(node), first, last, &spare);
	}
	kfree(spare);
	/* After this call the GPU does not reach the removed pages. */
	vgpu_vm_publish_unlocked(vm);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_clear_mappings);

/**
 * vgpu_vm_map_prt() - create a PRT mapping: reads return zeros, writes are dropped
 * @vm: address space, va_lock held
 * @va: first byte; page aligned
 * @size: bytes, whole pages
 *
 * Return: 0, -EINVAL for addresses that are invalid or already mapped, -ENOMEM.
 */
int vgpu_vm_map_prt(struct vgpu_vm *vm, u64 va, u64 size)
{
	struct vgpu_vm_bo *vbo;

	lockdep_assert_held(&vm->va_lock);

	vbo = vgpu_vbo_new(vm, NULL, va, 0, size, 0);
	if (IS_ERR(vbo))
		return PTR_ERR(vbo);
	vgpu_vm_clear_pages(vm, vbo->pages.start, vbo->pages.last,
			    VGPU_PTE_PRT);
	vgpu_vm_publish_unlocked(vm);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_map_prt);

/* Add @fence to vgpu_vm_state.last_update, on which later jobs depend. The caller holds va_lock. */
static void vm_add_last_update(struct vgpu_vm *vm, struct dma_fence *fence)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct dma_fence *both;

	if (dma_fence_is_signaled(fence))
		return;
	if (!vs->last_update) {
		vs->last_update = dma_fence_get(fence);
		return;
	}
	both = dma_fence_unwrap_merge(vs->last_update, fence);
	if (!both) {
		/*
		 * There is no memory for a merged fence: wait here instead of letting later
		 * jobs wait.
		 */
		dma_fence_wait(fence, false);
		return;
	}
	dma_fence_put(vs->last_update);
	vs->last_update = both;
}

/*
 * Write the entries of a mapping, and make later jobs depend on the BO's moves. The caller holds
 * the BO's reservation.
 */
static void vbo_update_moved(struct vgpu_vm_bo *vbo)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	/* Fails if the GPU does not reach the BO, or if a user pointer has no valid pages. */
	if (vgpu_vbo_write_all(vbo))
		return;
	dma_resv_for_each_fence(&cursor, vbo->bo->tbo.base.resv,
				DMA_RESV_USAGE_KERNEL, fence)
		vm_add_last_update(vbo->vm, fence);
	vgpu_vbo_set_moved(vbo, false);
}

static void vbo_try_update_moved(struct vgpu_vm_bo *vbo,
				 struct ww_acquire_ctx *ticket, bool idle)
{
	struct dma_resv *resv = vbo->bo->tbo.base.resv;
	bool held = ticket && dma_resv_locking_ctx(resv) == ticket;

	/*
	 * Do not wait for the reservation: the caller may hold other reservations, so a wait could
	 * deadlock. The mapping stays marked as moved, so a later call writes the entries.
	 */
	if (!held && !dma_resv_trylock(resv))
		return;
	/*
	 * Jobs in flight may use stale entries. So clear these only if no job is in flight (@idle),
	 * or after all jobs and moves of the BO.
	 */
	if (vbo->stale &&
	    (idle || dma_resv_test_signaled(resv, DMA_RESV_USAGE_READ)))
		vgpu_vbo_clear(vbo);
	/*
	 * A job in flight may use new entries before SDMA has copied or zeroed the BO's new memory.
	 * So write entries only if no job is in flight (@idle), or if SDMA has finished.
	 */
	if (!vbo->stale &&
	    (idle || dma_resv_test_signaled(resv, DMA_RESV_USAGE_KERNEL)))
		vbo_update_moved(vbo);
	if (!held)
		dma_resv_unlock(resv);
}

/**
 * vgpu_vm_update_moved() - write the entries of all mappings marked as moved
 * @vm: address space, va_lock held
 * @ticket: ticket of the caller's reservations, or NULL
 * @idle: true if no job is in flight in @vm during this call
 *
 * Later jobs must depend on vgpu_vm_last_update().
 *
 * Return: 0, always.
 */
int vgpu_vm_update_moved(struct vgpu_vm *vm, struct ww_acquire_ctx *ticket,
			 bool idle)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	struct dma_fence *written;
	struct vgpu_vm_bo *vbo;
	LIST_HEAD(todo);

	lockdep_assert_held(&vm->va_lock);

	/*
	 * Walk a private list, because more mappings may be marked as moved during the walk. While
	 * va_lock is held, no mapping is removed.
	 */
	spin_lock(&vs->moved_lock);
	list_splice_init(&vs->moved, &todo);
	while ((vbo = list_first_entry_or_null(&todo, struct vgpu_vm_bo,
					       moved_link))) {
		list_move_tail(&vbo->moved_link, &vs->moved);
		spin_unlock(&vs->moved_lock);
		/* If the entries cannot be written now, the mapping stays marked as moved. */
		vbo_try_update_moved(vbo, ticket, idle);
		spin_lock(&vs->moved_lock);
	}
	spin_unlock(&vs->moved_lock);
	written = vgpu_vm_publish_later(vm);
	if (written)
		vm_add_last_update(vm, written);
	dma_fence_put(written);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_update_moved);

/* Returns the first mapping at or after @page that has stale entries, or NULL. */
static struct vgpu_vm_bo *vm_next_stale(struct vgpu_vm *vm, u64 page)
{
	struct interval_tree_node *node;

	for (node = interval_tree_iter_first(&to_vm_state(vm)->bos, page, ULONG_MAX); node;
	     node = interval_tree_iter_next(node, page, ULONG_MAX))
		if (READ_ONCE(node_to_vbo(node)->stale))
			return node_to_vbo(node);
	return NULL;
}

/*
 * Clear the entries of a mapping if they are stale (vgpu_vm_bo.stale). Unless @idle is true (see
 * vgpu_vm_clear_stale()), wait for the BO's jobs and moves first.
 */
static int vbo_clear_stale(struct vgpu_vm_bo *vbo, bool idle)
{
	struct dma_resv *resv = vbo->bo->tbo.base.resv;
	long left = 1;

	if (dma_resv_lock_interruptible(resv, NULL))
		return -ERESTARTSYS;
	if (!idle)
		left = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_READ, true,
					     MAX_SCHEDULE_TIMEOUT);
	if (left >= 0 && vbo->stale)
		vgpu_vbo_clear(vbo);
	dma_resv_unlock(resv);
	return left < 0 ? left : 0;
}

/**
 * vgpu_vm_clear_stale() - clear stale entries (vgpu_vm_bo.stale)
 * @vm: address space of the render node, va_lock held and no reservation
 * @idle: true if no job runs in @vm until the caller's next job
 *
 * Unless @idle is true, waits for the jobs and moves of each BO with stale entries. More entries
 * may become stale during the call (vgpu_vm_has_stale()).
 *
 * Return: 0 or -ERESTARTSYS.
 */
int vgpu_vm_clear_stale(struct vgpu_vm *vm, bool idle)
{
	struct vgpu_vm_bo *vbo;
	u64 page = 0;
	int ret = 0;

	lockdep_assert_held(&vm->va_lock);

	if (!vgpu_vm_has_stale(vm))
		return 0;
	/*
	 * With va_lock held, mappings are neither created nor removed, so the walk visits each
	 * mapping once.
	 */
	while (!ret && (vbo = vm_next_stale(vm, page))) {
		page = vbo->pages.last + 1;
		ret = vbo_clear_stale(vbo, idle);
	}
	vgpu_vm_publish_unlocked(vm);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_clear_stale);

/**
 * vgpu_vm_has_stale() - whether entries are stale
 * @vm: address space
 *
 * Context: any. If the caller holds push_lock, a result of false holds until the
 * lock is dropped.
 *
 * Return: true if a mapping has stale entries.
 */
bool vgpu_vm_has_stale(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	bool stale;

	spin_lock(&vs->moved_lock);
	stale = vs->stale;
	spin_unlock(&vs->moved_lock);
	return stale;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_has_stale);

/**
 * vgpu_vm_last_update() - get the fence that jobs must depend on
 * @vm: address space, va_lock held
 *
 * Return: a reference to a fence. When it signals, all entries are effective and
 * the mapped memory has its content.
 */
struct dma_fence *vgpu_vm_last_update(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);

	lockdep_assert_held(&vm->va_lock);

	if (vs->last_update && dma_fence_is_signaled(vs->last_update)) {
		dma_fence_put(vs->last_update);
		vs->last_update = NULL;
	}
	return vs->last_update ? dma_fence_get(vs->last_update) :
				 dma_fence_get_stub();
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_last_update);
