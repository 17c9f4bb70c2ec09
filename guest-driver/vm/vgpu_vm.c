// SPDX-License-Identifier: GPL-2.0
/*
 * Creates and destroys address spaces (page tables with their locks), and writes and clears
 * entries for SVM.
 */
#include <linux/bitops.h>
#include <linux/dma-fence.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>

#include <kunit/visibility.h>

#include "hw/sdma/vgpu_sdma.h"
#include "hw/vgpu_hw.h"
#include "vgpu_vm_job.h"
#include "vgpu_vm_priv.h"
#include "vgpu_vm_trace.h"

/* Bit of vm_update_mode: the CPU, not SDMA, writes the tables of new render-node address spaces. */
#define UPDATE_GFX_CPU		BIT(0)
/* Bit of vm_update_mode: the CPU, not SDMA, writes the tables of new KFD address spaces. */
#define UPDATE_COMPUTE_CPU	BIT(1)

static int vm_update_mode = -1;
module_param(vm_update_mode, int, 0644);
MODULE_PARM_DESC(vm_update_mode,
		 "Writer of the page tables of new address spaces: 0 SDMA; 1 CPU for the render node; 2 CPU for compute; 3 CPU for both (-1 default: 3)");

/**
 * vgpu_vm_setup() - initialise an address space
 * @vm: structure filled with zeros
 * @vdev: device
 * @ops: backend of the page tables
 *
 * Return: as vgpu_pt_init().
 */
int vgpu_vm_setup(struct vgpu_vm *vm, struct vgpu_device *vdev,
		  const struct vgpu_pt_ops *ops)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	int ret;

	vm->vdev = vdev;
	vgpu_vm_trim_init(vm);
	vs->bos = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&vs->pool);
	INIT_LIST_HEAD(&vs->moved);
	spin_lock_init(&vs->moved_lock);
	mutex_init(&vm->push_lock);
	mutex_init(&vm->va_lock);
	mutex_init(&vs->alloc_lock);
	mutex_init(&vs->pt_lock);

	/* Declare to lockdep that reclaim waits for MMU notifiers, which take pt_lock. */
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&vs->pt_lock);
	fs_reclaim_release(GFP_KERNEL);

	mutex_lock(&vs->alloc_lock);
	ret = vgpu_pt_init(&vs->pt, ops, vdev->hw->fb_offset);
	mutex_unlock(&vs->alloc_lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_setup);

/* If SDMA writes the tables of @vm, allocate vgpu_vm_state.job for the SDMA packets. */
static int vm_job_init(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	int mode = READ_ONCE(vm_update_mode);

	if (mode < 0)
		mode = UPDATE_GFX_CPU | UPDATE_COMPUTE_CPU;
	if (mode & (vs->compute ? UPDATE_COMPUTE_CPU : UPDATE_GFX_CPU))
		return 0;
	vs->job = vgpu_vm_job_new(VGPU_SDMA_MAX_JOB_DWORDS);
	return vs->job ? 0 : -ENOMEM;
}

/**
 * vgpu_vm_create() - create an empty address space
 * @vdev: device
 * @pasid: PASID that faults of the address space carry
 * @compute: true for an address space of KFD, false for one of the render node
 *
 * Return: the address space, or ERR_PTR(-ENOMEM).
 */
struct vgpu_vm *vgpu_vm_create(struct vgpu_device *vdev, u16 pasid,
			       bool compute)
{
	struct vgpu_vm_state *vs;
	struct vgpu_vm *vm;
	int ret;

	vs = kzalloc(sizeof(*vs), GFP_KERNEL);
	if (!vs)
		return ERR_PTR(-ENOMEM);
	vm = &vs->base;
	vm->vram_epoch = atomic_read(&vdev->hw->vram_epoch);
	vs->pasid = pasid;
	vs->compute = compute;
	ret = vm_job_init(vm);
	if (ret)
		goto err_free;
	ret = vgpu_vm_setup(vm, vdev, &vgpu_vm_pt_ops);
	if (ret)
		goto err_pool;
	return vm;

err_pool:
	vgpu_vm_pool_delete(&vs->pool);
	kvfree(vs->job);
err_free:
	kfree(vs);
	return ERR_PTR(ret);
}

/* Free PRT mappings. They have no BO, so the caller's unmap of all BOs has not freed them. */
static void vm_free_prt(struct vgpu_vm *vm)
{
	struct interval_tree_node *node;

	while ((node = interval_tree_iter_first(&to_vm_state(vm)->bos, 0, ULONG_MAX))) {
		struct vgpu_vm_bo *vbo = container_of(node, struct vgpu_vm_bo,
						      pages);

		if (WARN_ON_ONCE(vbo->bo))
			break;
		vgpu_vbo_free(vbo);
	}
}

/**
 * vgpu_vm_teardown() - undo vgpu_vm_setup()
 * @vm: address space. The caller has unmapped all BOs, and no hardware walks the tables any more
 */
void vgpu_vm_teardown(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);

	vm_free_prt(vm);
	vgpu_vm_trim_fini(vm);
	dma_fence_put(vs->last_update);
	vgpu_pt_fini(&vs->pt);
	mutex_destroy(&vs->pt_lock);
	mutex_destroy(&vs->alloc_lock);
	mutex_destroy(&vm->va_lock);
	mutex_destroy(&vm->push_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_teardown);

/**
 * vgpu_vm_destroy() - free an address space
 * @vm: address space; no BO is mapped, no queue or job runs in it
 */
void vgpu_vm_destroy(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);

	vgpu_vm_put_vmid(vm);
	vgpu_vm_lock_cpu(vm);
	mutex_unlock(&vs->pt_lock);
	vgpu_vm_teardown(vm);
	vgpu_vm_pool_delete(&vs->pool);
	kvfree(vs->job);
	kfree(vs);
}

/**
 * vgpu_vm_enter() - prepare to clear page-table entries
 * @vm: address space
 * @idx: receives the argument for drm_dev_exit()
 *
 * After an unplug, entries cannot be cleared. The function then waits until the render node's jobs
 * in @vm have ended, and returns false. KFD's queues have stopped already.
 *
 * Context: sleeps; no lock that a job needs (such as pt_lock) is held.
 *
 * Return: true if the device is present: drm_dev_exit() must follow.
 */
bool vgpu_vm_enter(struct vgpu_vm *vm, int *idx)
{
	struct vgpu_vm_manager *vmm = vm->vdev->vmm;

	if (drm_dev_enter(&vm->vdev->drm, idx))
		return true;
	if (!to_vm_state(vm)->compute && vmm->wait_jobs)
		vmm->wait_jobs(vm);
	return false;
}

/**
 * vgpu_vm_clear_pages() - clear entries without a flush
 * @vm: address space
 * @first: first page
 * @last: last page
 * @value: as for vgpu_pt_clear()
 *
 * The caller calls vgpu_vm_publish() next. Until then the device may still reach the memory that
 * was mapped at these pages.
 *
 * Context: takes pt_lock; the rules of vgpu_vm_enter() apply.
 */
void vgpu_vm_clear_pages(struct vgpu_vm *vm, u64 first, u64 last, u64 value)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	int idx;

	if (!vgpu_vm_enter(vm, &idx))
		return;
	vgpu_vm_lock_cpu(vm);
	vs->tlb_dirty |= vgpu_pt_clear(&vs->pt, first, last, value);
	if (!list_empty(&vs->pt.empty))
		vgpu_vm_trim_later(vm);
	mutex_unlock(&vs->pt_lock);
	drm_dev_exit(idx);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_clear_pages);

/*
 * Do the work of vgpu_vm_reserve_tables() or, if @pool_only is true, of
 * vgpu_vm_try_reserve_tables(). The caller holds alloc_lock.
 */
static int vm_reserve_tables(struct vgpu_vm *vm, u64 first, u64 last, bool pool_only)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	int ret;

	if (last < first || last >= BIT_ULL(VGPU_VA_BITS - VGPU_PAGE_SHIFT))
		return -EINVAL;
	if (!pool_only)
		vgpu_vm_make_room(vm);
	vs->pool_only = pool_only;
	ret = vgpu_pt_reserve(&vs->pt, first, last);
	vs->pool_only = false;
	if (ret)
		vgpu_vm_trim_later(vm);
	else
		atomic_inc(&vs->reserved);
	return ret;
}

/**
 * vgpu_vm_reserve_tables() - create page tables and keep them
 * @vm: address space
 * @first: first page
 * @last: last page
 *
 * Entries of these pages can be written without allocating, until
 * vgpu_vm_unreserve_tables().
 *
 * Context: may sleep and allocate; takes alloc_lock.
 *
 * Return: 0, -ENOMEM, or -EINVAL for pages outside of the address space.
 */
int vgpu_vm_reserve_tables(struct vgpu_vm *vm, u64 first, u64 last)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	int ret;

	mutex_lock(&vs->alloc_lock);
	ret = vm_reserve_tables(vm, first, last, false);
	mutex_unlock(&vs->alloc_lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_reserve_tables);

/**
 * vgpu_vm_try_reserve_tables() - vgpu_vm_reserve_tables() for tables that are perhaps not needed
 * @vm: address space
 * @first: first page
 * @last: last page
 *
 * Waits neither for alloc_lock nor for VRAM, and evicts nothing from VRAM: new tables come from
 * the free pieces of the pool.
 *
 * Context: may sleep and allocate system memory.
 *
 * Return: 0; -ENOMEM; -EBUSY if another task holds alloc_lock; -EINVAL for pages outside of the
 * address space.
 */
int vgpu_vm_try_reserve_tables(struct vgpu_vm *vm, u64 first, u64 last)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	int ret;

	if (!mutex_trylock(&vs->alloc_lock))
		return -EBUSY;
	ret = vm_reserve_tables(vm, first, last, true);
	mutex_unlock(&vs->alloc_lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_try_reserve_tables);

/**
 * vgpu_vm_prepare_table() - allocate a page table for a later reservation
 * @vm: address space
 *
 * The next vgpu_vm_reserve_tables() that needs a PTB then allocates none. The memory comes from the
 * free pieces of the pool, as for vgpu_vm_try_reserve_tables(). Does nothing without memory, or if
 * another task holds alloc_lock. vgpu_vm_trim() frees the table if it is still unused then.
 *
 * Context: waits for nothing.
 */
void vgpu_vm_prepare_table(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);

	/* Test without the lock first: most repairs of faults need no new table. */
	if (READ_ONCE(vs->pt.spare) || !mutex_trylock(&vs->alloc_lock))
		return;
	vs->pool_only = true;
	vgpu_pt_prepare(&vs->pt);
	vs->pool_only = false;
	mutex_unlock(&vs->alloc_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_prepare_table);

/**
 * vgpu_vm_unreserve_tables() - undo one reservation of tables
 * @vm: address space
 *
 * Called once for each vgpu_vm_reserve_tables() or vgpu_vm_try_reserve_tables() that returned 0,
 * after the last write of entries for the reserved pages. When no reservation is left, empty tables
 * may be freed.
 */
void vgpu_vm_unreserve_tables(struct vgpu_vm *vm)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);

	if (atomic_dec_and_test(&vs->reserved) && !list_empty(&vs->pt.empty))
		vgpu_vm_trim_later(vm);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_unreserve_tables);

/**
 * vgpu_vm_lock_pt() - take the lock under which entries are written
 * @vm: address space
 *
 * The callers of vgpu_vm_write_spans() need the lock.
 */
void vgpu_vm_lock_pt(struct vgpu_vm *vm)
{
	mutex_lock(&to_vm_state(vm)->pt_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_lock_pt);

/**
 * vgpu_vm_unlock_pt() - let other threads and MMU notifiers change entries again
 * @vm: address space, pt_lock held
 */
void vgpu_vm_unlock_pt(struct vgpu_vm *vm)
{
	mutex_unlock(&to_vm_state(vm)->pt_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_unlock_pt);

static void vm_trace_spans(struct vgpu_vm *vm, u64 first,
			   const struct vgpu_vm_span *spans, unsigned int n)
{
	u64 page = first;

	if (!trace_vgpu_vm_write_enabled())
		return;
	while (n--)
		page += spans++->npages;
	trace_vgpu_vm_write(vm, first, page - 1);
}

/**
 * vgpu_vm_write_spans() - map consecutive pages
 * @vm: address space, pt_lock held; tables reserved (vgpu_vm_reserve_tables())
 * @first: first page
 * @spans: memory of the pages
 * @n: number of spans
 *
 * On return the device no longer uses old entries.
 */
void vgpu_vm_write_spans(struct vgpu_vm *vm, u64 first,
			 const struct vgpu_vm_span *spans, unsigned int n)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	bool changed;

	lockdep_assert_held(&vs->pt_lock);

	vgpu_vm_begin_write(vm);
	/*
	 * No fragments in PTBs: SVM later changes single pages, and writes only the entries of
	 * these pages, not of a whole fragment.
	 */
	changed = vgpu_pt_write_spans(&vs->pt, first, spans, n);
	vm_trace_spans(vm, first, spans, n);
	vgpu_vm_publish(vm, changed);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_write_spans);

/**
 * vgpu_vm_clear_range() - unmap pages
 * @vm: address space
 * @first: first page
 * @last: last page
 * @noretry: if true, the pages get no-retry entries, so that later accesses end with a no-retry
 *           fault. Pages without tables get no such entries
 *
 * On return the device does not reach the memory that was mapped.
 *
 * Context: takes pt_lock. MMU notifiers and reclaim may call vgpu_vm_clear_range().
 */
void vgpu_vm_clear_range(struct vgpu_vm *vm, u64 first, u64 last, bool noretry)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	int idx;

	if (!vgpu_vm_enter(vm, &idx))
		return;
	vgpu_vm_lock_cpu(vm);
	vgpu_vm_publish(vm, vgpu_pt_clear(&vs->pt, first, last,
					  noretry ? VGPU_PTE_NORETRY : 0));
	if (!list_empty(&vs->pt.empty))
		vgpu_vm_trim_later(vm);
	mutex_unlock(&vs->pt_lock);
	drm_dev_exit(idx);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_clear_range);

/**
 * vgpu_vm_deny_page() - let later accesses to a page fail with a no-retry fault
 * @vm: address space
 * @page: page; the caller has reserved its tables
 *
 * Does nothing if a BO is mapped at the page, because another thread may have mapped the BO
 * after the caller found the page unmapped.
 *
 * Context: takes alloc_lock and pt_lock.
 */
void vgpu_vm_deny_page(struct vgpu_vm *vm, u64 page)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);

	mutex_lock(&vs->alloc_lock);
	if (!interval_tree_iter_first(&vs->bos, page, page))
		vgpu_vm_clear_range(vm, page, page, true);
	mutex_unlock(&vs->alloc_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_deny_page);

/**
 * vgpu_vm_read_pte() - read the current entry of a page
 * @vm: address space
 * @page: page
 *
 * Context: takes pt_lock.
 *
 * Return: as vgpu_pt_read().
 */
u64 vgpu_vm_read_pte(struct vgpu_vm *vm, u64 page)
{
	struct vgpu_vm_state *vs = to_vm_state(vm);
	u64 pte;

	vgpu_vm_lock_cpu(vm);
	pte = vgpu_pt_read(&vs->pt, page);
	mutex_unlock(&vs->pt_lock);
	return pte;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_vm_read_pte);
