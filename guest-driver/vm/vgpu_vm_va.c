// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings by address: those of the render node.
 *
 * They belong to the address space: nobody keeps pointers to them, so a range
 * can be cleared whatever is mapped there, and a mapping that is cut in the
 * middle becomes two. Entries are written late, by vgpu_vm_update_moved(),
 * before a job runs. They are cleared at once.
 *
 * In an address space of KFD's (kfd_mem_gem.c) they lie beside those that are KFD's
 * (vgpu_vm_bo.claimed), which are left alone here. Entries are written at once
 * there, by vgpu_vm_bo_update_all(): queues may run at any time.
 */
#include <linux/dma-fence-unwrap.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <drm/drm_exec.h>

#include <kunit/visibility.h>

#include "mm/vgpu_bo.h"
#include "mm/vgpu_userptr.h"
#include "vgpu_vm_priv.h"

#define LEAF_PAGES	((u64)VGPU_PT_ENTRIES)	/* also the largest fragment */

static struct vgpu_vm_bo *node_to_vbo(struct interval_tree_node *node)
{
	return container_of(node, struct vgpu_vm_bo, pages);
}

/**
 * vgpu_vm_bo_add() - map a BO, from the next vgpu_vm_update_moved() on
 * @vm: address space, va_lock held
 * @bo: BO, its reservation held, wherever it is
 * @va: where; page aligned
 * @offset: first byte of the BO; page aligned
 * @size: bytes, whole pages
 * @pte_flags: VGPU_PTE_READABLE, _WRITEABLE, _EXECUTABLE, _MTYPE
 *
 * Allocates the tables.
 *
 * Return: 0, -EINVAL for addresses that cannot be or are mapped already, or
 * behind the BO's end, -ENOMEM.
 */
int vgpu_vm_bo_add(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va, u64 offset,
		   u64 size, u64 pte_flags)
{
	lockdep_assert_held(&vm->va_lock);

	return PTR_ERR_OR_ZERO(vgpu_vbo_new(vm, bo, va, offset, size,
					    pte_flags));
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_bo_add);

/**
 * vgpu_vm_bo_unmap_va() - unmap the mapping that begins at an address
 * @vm: address space, va_lock held
 * @bo: BO, its reservation held; NULL: it is a PRT mapping
 * @va: its first byte
 *
 * The GPU does not reach the memory on return.
 *
 * Return: 0, or -ENOENT if there is none.
 */
int vgpu_vm_bo_unmap_va(struct vgpu_vm *vm, struct vgpu_bo *bo, u64 va)
{
	u64 page = va >> VGPU_PAGE_SHIFT;
	struct interval_tree_node *node;

	lockdep_assert_held(&vm->va_lock);

	node = interval_tree_iter_first(&vm->bos, page, page);
	if (!IS_ALIGNED(va, VGPU_PAGE_SIZE) || !node || node->start != page ||
	    node_to_vbo(node)->bo != bo || node_to_vbo(node)->claimed)
		return -ENOENT;
	vgpu_vm_bo_unmap(node_to_vbo(node));
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_bo_unmap_va);

/**
 * vgpu_vm_bo_unmap_all() - unmap a BO
 * @vm: address space, va_lock held
 * @bo: BO, its reservation held
 *
 * All of its mappings, with one flush. The GPU does not reach the memory on
 * return.
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
 * vgpu_vm_lock_range() - reserve the BOs that are mapped in a range
 * @vm: address space, va_lock held
 * @va: first byte
 * @size: bytes
 * @exec: for BOs that may be in it already, DRM_EXEC_IGNORE_DUPLICATES
 *
 * For vgpu_vm_clear_mappings(), within drm_exec_until_all_locked() and before
 * drm_exec_retry_on_contention().
 *
 * Return: 0, -EINVAL for addresses that cannot be, or what KFD has mapped there,
 * or as drm_exec_lock_obj().
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
	for (node = interval_tree_iter_first(&vm->bos, first, last); node;
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

/* @vbo becomes its pages from @first to @last. alloc_lock held. */
static void vbo_trim(struct vgpu_vm_bo *vbo, u64 first, u64 last)
{
	interval_tree_remove(&vbo->pages, &vbo->vm->bos);
	if (vbo->bo)
		vbo->offset += (first - vbo->pages.start) << VGPU_PAGE_SHIFT;
	vbo->pages.start = first;
	vbo->pages.last = last;
	interval_tree_insert(&vbo->pages, &vbo->vm->bos);
}

/*
 * The pages of @vbo behind @last become @rest, a mapping of their own.
 * alloc_lock held.
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
	interval_tree_insert(&rest->pages, &rest->vm->bos);
}

/*
 * Fragments must not promise what is cleared next to them: write the entries
 * of @vbo anew that are near @page, which is @vbo's first page, or the one
 * behind its last.
 */
static void vbo_mend(struct vgpu_vm_bo *vbo, u64 page)
{
	u64 first = max_t(u64, vbo->pages.start, ALIGN_DOWN(page, LEAF_PAGES));
	u64 last = min_t(u64, vbo->pages.last, ALIGN(page, LEAF_PAGES) - 1);

	if (vbo->bo && !vbo->moved && first <= last)
		WARN_ON_ONCE(vgpu_vbo_write(vbo, first, last));
}

/*
 * Take pages @first to @last, some of which are @vbo's, from it. Uses *@spare
 * if something is left on both sides.
 */
static void vbo_cut(struct vgpu_vm_bo *vbo, u64 first, u64 last,
		    struct vgpu_vm_bo **spare)
{
	bool head = vbo->pages.start < first, tail = vbo->pages.last > last;
	struct vgpu_vm_bo *behind = tail ? vbo : NULL;
	struct vgpu_vm *vm = vbo->vm;
	bool right_pages = true;

	if (vbo->bo)
		dma_resv_assert_held(vbo->bo->tbo.base.resv);
	/*
	 * No job runs, and no queue: whoever clears a range waits for the move.
	 * What stays is written before the next one does.
	 */
	if (vbo->stale)
		vgpu_vbo_clear(vbo);
	first = max_t(u64, first, vbo->pages.start);
	last = min_t(u64, last, vbo->pages.last);

	mutex_lock(&vm->alloc_lock);
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
	 * From here on a fault or SET_ATTR may create an SVM range at the pages
	 * that were cut off (vgpu_vm_va_busy()) and write its entries.
	 */
	mutex_unlock(&vm->alloc_lock);
	if (!head && !tail)
		vgpu_vbo_free(vbo);
}

/**
 * vgpu_vm_clear_mappings() - unmap a range, whatever is mapped there
 * @vm: address space, va_lock held, and the reservations of all BOs mapped in
 *      the range (vgpu_vm_lock_range()); KFD's: their moves are done
 * @va: first byte; page aligned
 * @size: bytes, whole pages
 *
 * Mappings that reach out of the range keep what is outside. One flush; the GPU
 * does not reach the memory on return.
 *
 * Return: 0, -EINVAL for addresses that cannot be, -ENOMEM: nothing is changed.
 */
int vgpu_vm_clear_mappings(struct vgpu_vm *vm, u64 va, u64 size)
{
	struct interval_tree_node *node, *next;
	struct vgpu_vm_bo *spare;
	u64 first, last;

	lockdep_assert_held(&vm->va_lock);

	if (!vgpu_vm_range_ok(va, size))
		return -EINVAL;
	/* At most one mapping lies on both sides of the range. */
	spare = kmalloc(sizeof(*spare), GFP_KERNEL);
	if (!spare)
		return -ENOMEM;
	first = va >> VGPU_PAGE_SHIFT;
	last = (va + size - 1) >> VGPU_PAGE_SHIFT;
	for (node = interval_tree_iter_first(&vm->bos, first, last); node;
	     node = next) {
		next = interval_tree_iter_next(node, first, last);
		vbo_cut(node_to_vbo(node), first, last, &spare);
	}
	kfree(spare);
	vgpu_vm_publish_unlocked(vm);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_clear_mappings);

/**
 * vgpu_vm_map_prt() - map nothing: reads give zeros, writes vanish
 * @vm: address space, va_lock held
 * @va: first byte; page aligned
 * @size: bytes, whole pages
 *
 * Return: 0, -EINVAL for addresses that cannot be or are mapped already,
 * -ENOMEM.
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

/* Jobs wait for @fence as well. va_lock held. */
static void vm_add_last_update(struct vgpu_vm *vm, struct dma_fence *fence)
{
	struct dma_fence *both;

	if (dma_fence_is_signaled(fence))
		return;
	if (!vm->last_update) {
		vm->last_update = dma_fence_get(fence);
		return;
	}
	both = dma_fence_unwrap_merge(vm->last_update, fence);
	if (!both) {
		/* Out of memory: wait instead of the jobs. */
		dma_fence_wait(fence, false);
		return;
	}
	dma_fence_put(vm->last_update);
	vm->last_update = both;
}

/*
 * Its BO's reservation is held. Where the GPU does not reach the BO, or a user
 * pointer's pages are not the right ones: nothing.
 */
static void vbo_update_moved(struct vgpu_vm_bo *vbo)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

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

	if (!held && !dma_resv_trylock(resv))
		return;
	/* Jobs that run may use what it leads to, until the move. */
	if (vbo->stale &&
	    (idle || dma_resv_test_signaled(resv, DMA_RESV_USAGE_READ)))
		vgpu_vbo_clear(vbo);
	/* A job that runs would see what others left in this memory. */
	if (!vbo->stale &&
	    (idle || dma_resv_test_signaled(resv, DMA_RESV_USAGE_KERNEL)))
		vbo_update_moved(vbo);
	if (!held)
		dma_resv_unlock(resv);
}

/**
 * vgpu_vm_update_moved() - write the entries of all mappings that have none
 * @vm: address space, va_lock held
 * @ticket: whose reservations are held already, or NULL; others are tried
 * @idle: no job runs in @vm, nor will before the caller's next one
 *
 * Those of BOs that are new here, or moved. Entries stay clear, until next
 * time, where the BO is reserved by somebody else or where the GPU does not
 * reach it. Does not wait until the memory holds what it should: jobs to come
 * do (vgpu_vm_last_update()). For those that run, BOs whose memory is still to be
 * cleared or copied are left out, unless @idle.
 *
 * Return: 0.
 */
int vgpu_vm_update_moved(struct vgpu_vm *vm, struct ww_acquire_ctx *ticket,
			 bool idle)
{
	struct dma_fence *written;
	struct vgpu_vm_bo *vbo;
	LIST_HEAD(todo);

	lockdep_assert_held(&vm->va_lock);

	/* With va_lock held no mapping goes away, but more may come. */
	spin_lock(&vm->moved_lock);
	list_splice_init(&vm->moved, &todo);
	while ((vbo = list_first_entry_or_null(&todo, struct vgpu_vm_bo,
					       moved_link))) {
		list_move_tail(&vbo->moved_link, &vm->moved);
		spin_unlock(&vm->moved_lock);
		vbo_try_update_moved(vbo, ticket, idle);
		spin_lock(&vm->moved_lock);
	}
	spin_unlock(&vm->moved_lock);
	written = vgpu_vm_publish_later(vm);
	if (written)
		vm_add_last_update(vm, written);
	dma_fence_put(written);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_update_moved);

/* The first mapping from @page on that has stale entries, or NULL. */
static struct vgpu_vm_bo *vm_next_stale(struct vgpu_vm *vm, u64 page)
{
	struct interval_tree_node *node;

	for (node = interval_tree_iter_first(&vm->bos, page, ULONG_MAX); node;
	     node = interval_tree_iter_next(node, page, ULONG_MAX))
		if (READ_ONCE(node_to_vbo(node)->stale))
			return node_to_vbo(node);
	return NULL;
}

/* Whoever has used what the entries lead to is done. */
static int vbo_settle(struct vgpu_vm_bo *vbo, bool idle)
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
 * vgpu_vm_settle() - clear stale entries
 * @vm: address space of the render node, va_lock held, no reservation
 * @idle: no job runs in @vm, nor will before the caller's next one; else jobs
 *        and moves of the BOs in question are waited for
 *
 * More may become stale meanwhile: vgpu_vm_is_settled().
 *
 * Return: 0 or -ERESTARTSYS.
 */
int vgpu_vm_settle(struct vgpu_vm *vm, bool idle)
{
	struct vgpu_vm_bo *vbo;
	u64 page = 0;
	int ret = 0;

	lockdep_assert_held(&vm->va_lock);

	if (vgpu_vm_is_settled(vm))
		return 0;
	/* With va_lock held no mapping comes or goes. */
	while (!ret && (vbo = vm_next_stale(vm, page))) {
		page = vbo->pages.last + 1;
		ret = vbo_settle(vbo, idle);
	}
	vgpu_vm_publish_unlocked(vm);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_settle);

/**
 * vgpu_vm_is_settled() - are there no stale entries?
 * @vm: address space
 *
 * With push_lock held, none come before that is given back.
 */
bool vgpu_vm_is_settled(struct vgpu_vm *vm)
{
	bool settled;

	spin_lock(&vm->moved_lock);
	settled = !vm->stale;
	spin_unlock(&vm->moved_lock);
	return settled;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_is_settled);

/**
 * vgpu_vm_last_update() - what jobs must wait for
 * @vm: address space, va_lock held
 *
 * Return: a reference to a fence: all that is mapped can be used, and holds
 * what it should, when it signals.
 */
struct dma_fence *vgpu_vm_last_update(struct vgpu_vm *vm)
{
	lockdep_assert_held(&vm->va_lock);

	if (vm->last_update && dma_fence_is_signaled(vm->last_update)) {
		dma_fence_put(vm->last_update);
		vm->last_update = NULL;
	}
	return vm->last_update ? dma_fence_get(vm->last_update) :
				 dma_fence_get_stub();
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_last_update);
