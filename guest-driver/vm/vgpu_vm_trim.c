// SPDX-License-Identifier: GPL-2.0
/*
 * Frees empty page tables. A table that becomes empty is put on the list vgpu_pt.empty. After
 * TRIM_DELAY, trim_work() frees the listed tables, and then the BOs of the pool (vgpu_vm_pool.c)
 * that hold no table.
 */
#include <drm/drm_drv.h>

#include <kunit/visibility.h>

#include "vgpu_vm_priv.h"

/*
 * Delay of the worker trim_work(), which frees empty tables. A table that stays empty this long is
 * unlikely to be needed soon.
 */
#define TRIM_DELAY	msecs_to_jiffies(100)

/*
 * Returns true if a BO mapping has pages in the range of an empty table, @first to @last. This
 * table must stay: the mapping's entries may be written later, without allocating tables.
 */
static bool trim_keep(struct vgpu_pt *pt, u64 first, u64 last)
{
	struct vgpu_vm_state *vs = container_of(pt, struct vgpu_vm_state, pt);

	return interval_tree_iter_first(&vs->bos, first, last);
}

/**
 * vgpu_vm_trim() - free empty tables, and the table of vgpu_vm_prepare_table()
 * @vm: address space, alloc_lock held
 *
 * Does nothing between vgpu_vm_reserve_tables() and vgpu_vm_unreserve_tables(), or if the device is
 * unplugged.
 *
 * Context: takes pt_lock.
 */
void vgpu_vm_trim(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	LIST_HEAD(out);
	int idx;

	lockdep_assert_held(&vs->alloc_lock);

	if (atomic_read(&vs->reserved) || !drm_dev_enter(&vm->vdev->drm, &idx))
		return;
	vgpu_vm_lock_cpu(vm);
	vgpu_pt_trim(&vs->pt, trim_keep, &out);
	/* Flush before the tables are freed, since the TLB also caches pointers to tables. */
	if (!list_empty(&out))
		vgpu_vm_publish(vm, true);
	mutex_unlock(&vs->pt_lock);
	vgpu_pt_free(&vs->pt, &out);
	/* The spare table may be the last one in its BO. */
	vgpu_pt_drop_spare(&vs->pt);
	drm_dev_exit(idx);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_trim);

static void trim_work(struct work_struct *work)
{
	struct vgpu_vm_state *vs = container_of(to_delayed_work(work),
						struct vgpu_vm_state, trim_work);
	struct vgpu_vm *vm = &vs->base;
	LIST_HEAD(idle);

	mutex_lock(&vs->alloc_lock);
	if (atomic_read(&vs->reserved))
		vgpu_vm_trim_later(vm);
	else
		vgpu_vm_trim(vm);
	vgpu_vm_pool_take_idle(vm, &idle);
	mutex_unlock(&vs->alloc_lock);
	/*
	 * Free the BOs only after alloc_lock was dropped: the free of a BO takes its reservation,
	 * and a reservation must not be taken while alloc_lock is held.
	 */
	vgpu_vm_pool_delete(&idle);
}

/**
 * vgpu_vm_trim_later() - queue the worker that frees empty tables
 * @vm: address space
 *
 * Context: any.
 */
void vgpu_vm_trim_later(struct vgpu_vm *vm)
{
	/* The workqueue is freezable, so that the worker does not run while the system sleeps. */
	queue_delayed_work(system_freezable_wq, &to_vm_state(vm)->trim_work, TRIM_DELAY);
}

/**
 * vgpu_vm_make_room() - free empty tables if the pool has no free piece
 * @vm: address space, alloc_lock held
 *
 * Called before tables are created, so that the memory of empty tables is used before more VRAM is
 * allocated.
 */
void vgpu_vm_make_room(struct vgpu_vm *vm)
{
	if (!list_empty(&to_vm_state(vm)->pt.empty) && !vgpu_vm_pool_has_room(vm))
		vgpu_vm_trim(vm);
}

/**
 * vgpu_vm_trim_init() - initialise trimming, before the first table is created
 * @vm: address space
 */
void vgpu_vm_trim_init(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);

	atomic_set(&vs->reserved, 0);
	INIT_DELAYED_WORK(&vs->trim_work, trim_work);
}

/**
 * vgpu_vm_trim_fini() - end trimming, before the tables are freed
 * @vm: address space
 *
 * Context: sleeps; waits for the worker, which takes alloc_lock and reservations.
 */
void vgpu_vm_trim_fini(struct vgpu_vm *vm)
{
	cancel_delayed_work_sync(&to_vm_state(vm)->trim_work);
}
