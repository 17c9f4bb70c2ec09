// SPDX-License-Identifier: GPL-2.0
/*
 * Page tables that are empty are freed later.
 *
 * Notifiers only leave them on a list (vgpu_pt.empty). A worker takes them out
 * of the tree a little later, or whoever needs room for tables does before it
 * takes more VRAM: one TLB flush for all, then they are pieces of the pool
 * again. The worker also gives back BOs of the pool that are empty. Tables that
 * a mapping has, or that somebody has reserved, stay.
 */
#include <drm/drm_drv.h>

#include <kunit/visibility.h>

#include "vgpu_vm_priv.h"

/* Time to come back for what was unmapped. */
#define TRIM_DELAY	msecs_to_jiffies(100)

static bool trim_keep(struct vgpu_pt *pt, u64 first, u64 last)
{
	struct vgpu_vm *vm = container_of(pt, struct vgpu_vm, pt);

	return interval_tree_iter_first(&vm->bos, first, last);
}

/**
 * vgpu_vm_trim() - free tables that are empty
 * @vm: address space, alloc_lock held
 *
 * Nothing happens while somebody has tables reserved. Takes pt_lock.
 */
void vgpu_vm_trim(struct vgpu_vm *vm)
{
	LIST_HEAD(out);
	int idx;

	lockdep_assert_held(&vm->alloc_lock);

	if (atomic_read(&vm->reserved) || !drm_dev_enter(&vm->vdev->drm, &idx))
		return;
	vgpu_vm_lock_cpu(vm);
	vgpu_pt_trim(&vm->pt, trim_keep, &out);
	/* The hardware caches pointers, too. */
	if (!list_empty(&out))
		vgpu_vm_publish(vm, true);
	mutex_unlock(&vm->pt_lock);
	vgpu_pt_free(&vm->pt, &out);
	drm_dev_exit(idx);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_trim);

static void trim_work(struct work_struct *work)
{
	struct vgpu_vm *vm = container_of(to_delayed_work(work),
					  struct vgpu_vm, trim_work);
	LIST_HEAD(idle);

	mutex_lock(&vm->alloc_lock);
	if (atomic_read(&vm->reserved))
		vgpu_vm_trim_later(vm);
	else
		vgpu_vm_trim(vm);
	vgpu_vm_pool_take_idle(vm, &idle);
	mutex_unlock(&vm->alloc_lock);
	/* Their reservations are outside alloc_lock. */
	vgpu_vm_pool_delete(&idle);
}

/**
 * vgpu_vm_trim_later() - have the worker look for empty tables
 * @vm: address space
 *
 * Any context.
 */
void vgpu_vm_trim_later(struct vgpu_vm *vm)
{
	/* Not while the system sleeps. */
	queue_delayed_work(system_freezable_wq, &vm->trim_work, TRIM_DELAY);
}

/**
 * vgpu_vm_make_room() - before tables are made: use empty ones rather than VRAM
 * @vm: address space, alloc_lock held
 */
void vgpu_vm_make_room(struct vgpu_vm *vm)
{
	if (!vgpu_vm_pool_has_room(vm) && !list_empty(&vm->pt.empty))
		vgpu_vm_trim(vm);
}

/**
 * vgpu_vm_trim_init() - before the first table
 * @vm: address space
 */
void vgpu_vm_trim_init(struct vgpu_vm *vm)
{
	atomic_set(&vm->reserved, 0);
	INIT_DELAYED_WORK(&vm->trim_work, trim_work);
}

/**
 * vgpu_vm_trim_fini() - no worker any more
 * @vm: address space
 */
void vgpu_vm_trim_fini(struct vgpu_vm *vm)
{
	cancel_delayed_work_sync(&vm->trim_work);
}
