// SPDX-License-Identifier: GPL-2.0
/*
 * Address spaces: page tables with their locks and memory, VMIDs.
 *
 * Entries are written by the CPU, through the VRAM BAR. What was written is
 * made visible to the device (HDP flush) before pt_lock is dropped, and old
 * translations are gone by then as well: whoever gets the lock next finds
 * tables and hardware in agreement.
 */
#include <linux/bitops.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>

#include "vgpu_vm_priv.h"

/* An address space of one small mapping needs 4 tables. */
#define POOL_BYTES_FIRST	SZ_64K
#define POOL_BYTES		SZ_256K

/**
 * struct vgpu_vm_pool - VRAM that is handed out table by table
 * @link: in vm->pool, newest first
 * @bo: the memory, pinned and zero
 * @cpu: its address for the CPU
 * @size: bytes
 * @used: bytes handed out
 */
struct vgpu_vm_pool {
	struct list_head link;
	struct vgpu_bo *bo;
	void __iomem *cpu;
	u32 size;
	u32 used;
};

static struct vgpu_vm *pt_to_vm(struct vgpu_pt *pt)
{
	return container_of(pt, struct vgpu_vm, pt);
}

static struct vgpu_vm_pool *vm_pool_new(struct vgpu_vm *vm)
{
	struct vgpu_vm_pool *pool;
	void *cpu;
	int ret;

	pool = kzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	pool->size = list_empty(&vm->pool) ? POOL_BYTES_FIRST : POOL_BYTES;
	ret = vgpu_bo_create_kernel(vm->vdev, pool->size,
				    AMDGPU_GEM_DOMAIN_VRAM, &pool->bo, NULL,
				    &cpu);
	if (ret) {
		kfree(pool);
		return ERR_PTR(ret);
	}
	pool->cpu = (void __iomem __force *)cpu;
	list_add(&pool->link, &vm->pool);
	return pool;
}

static int vm_pt_alloc(struct vgpu_pt *pt, struct vgpu_pt_mem *mem)
{
	struct vgpu_vm *vm = pt_to_vm(pt);
	struct vgpu_vm_pool *pool;

	lockdep_assert_held(&vm->alloc_lock);

	pool = list_first_entry_or_null(&vm->pool, struct vgpu_vm_pool, link);
	if (!pool || pool->used == pool->size) {
		pool = vm_pool_new(vm);
		if (IS_ERR(pool))
			return PTR_ERR(pool);
	}
	mem->entries = pool->cpu + pool->used;
	mem->addr = vgpu_bo_vram_offset(pool->bo) + pool->used;
	pool->used += VGPU_PAGE_SIZE;
	return 0;
}

static void vm_pt_lock(struct vgpu_pt *pt)
{
	mutex_lock(&pt_to_vm(pt)->pt_lock);
}

static void vm_pt_unlock(struct vgpu_pt *pt)
{
	mutex_unlock(&pt_to_vm(pt)->pt_lock);
}

static const struct vgpu_pt_ops vm_pt_ops = {
	.alloc = vm_pt_alloc,
	.lock = vm_pt_lock,
	.unlock = vm_pt_unlock,
};

static void vm_free_pool(struct vgpu_vm *vm)
{
	struct vgpu_vm_pool *pool, *next;

	list_for_each_entry_safe(pool, next, &vm->pool, link) {
		vgpu_bo_free_kernel(&pool->bo);
		kfree(pool);
	}
}

/**
 * vgpu_vmm_init() - start to hand out VMIDs
 * @vdev: device; mm/ is up
 *
 * Return: 0.
 */
int vgpu_vmm_init(struct vgpu_device *vdev)
{
	mutex_init(&vdev->vmm.lock);
	vdev->mman.move_notify = vgpu_vm_bo_move_notify;
	return 0;
}

/**
 * vgpu_vmm_fini() - undo vgpu_vmm_init()
 * @vdev: device; it has no address spaces any more
 */
void vgpu_vmm_fini(struct vgpu_device *vdev)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vdev->vmm.vmid_owner); i++)
		WARN_ON_ONCE(vdev->vmm.vmid_owner[i]);
	vdev->mman.move_notify = NULL;
	mutex_destroy(&vdev->vmm.lock);
}

/**
 * vgpu_vm_create() - an empty address space
 * @vdev: device
 * @pasid: whose
 *
 * Return: it, or ERR_PTR(-ENOMEM).
 */
struct vgpu_vm *vgpu_vm_create(struct vgpu_device *vdev, u16 pasid)
{
	struct vgpu_vm *vm;
	int ret;

	vm = kzalloc(sizeof(*vm), GFP_KERNEL);
	if (!vm)
		return ERR_PTR(-ENOMEM);
	vm->vdev = vdev;
	vm->pasid = pasid;
	vm->bos = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&vm->pool);
	mutex_init(&vm->alloc_lock);
	mutex_init(&vm->pt_lock);

	/* Teach lockdep: notifiers take pt_lock while memory is reclaimed. */
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&vm->pt_lock);
	fs_reclaim_release(GFP_KERNEL);

	mutex_lock(&vm->alloc_lock);
	ret = vgpu_pt_init(&vm->pt, &vm_pt_ops, vdev->hw.fb_offset);
	mutex_unlock(&vm->alloc_lock);
	if (ret) {
		vm_free_pool(vm);
		kfree(vm);
		return ERR_PTR(ret);
	}
	return vm;
}

/**
 * vgpu_vm_destroy() - free an address space
 * @vm: address space; no BO is mapped, no queue runs in it
 */
void vgpu_vm_destroy(struct vgpu_vm *vm)
{
	WARN_ON_ONCE(!RB_EMPTY_ROOT(&vm->bos.rb_root));

	vgpu_vm_put_vmid(vm);
	vgpu_pt_fini(&vm->pt);
	vm_free_pool(vm);
	mutex_destroy(&vm->pt_lock);
	mutex_destroy(&vm->alloc_lock);
	kfree(vm);
}

static int vmm_take_vmid(struct vgpu_vm_manager *vmm, struct vgpu_vm *vm)
{
	int vmid;

	mutex_lock(&vmm->lock);
	for (vmid = VGPU_FIRST_KFD_VMID; vmid <= VGPU_LAST_KFD_VMID; vmid++)
		if (!vmm->vmid_owner[vmid])
			break;
	if (vmid <= VGPU_LAST_KFD_VMID)
		vmm->vmid_owner[vmid] = vm;
	else
		vmid = -ENOSPC;
	mutex_unlock(&vmm->lock);
	return vmid;
}

/**
 * vgpu_vm_get_vmid() - let the hardware use an address space
 * @vm: address space
 *
 * Gives it a VMID, if it has none.
 *
 * Return: 0, or -ENOSPC when all are taken.
 */
int vgpu_vm_get_vmid(struct vgpu_vm *vm)
{
	struct vgpu_device *vdev = vm->vdev;
	int ret = 0;

	mutex_lock(&vm->pt_lock);
	if (vm->vmid)
		goto unlock;
	ret = vmm_take_vmid(&vdev->vmm, vm);
	if (ret < 0)
		goto unlock;

	vgpu_hdp_flush(vdev);
	vgpu_gmc_set_pasid(vdev, ret, vm->pasid);
	vgpu_gmc_set_context(vdev, ret, vgpu_pt_root_addr(&vm->pt));
	WRITE_ONCE(vm->vmid, ret);
	ret = 0;
unlock:
	mutex_unlock(&vm->pt_lock);
	return ret;
}

/**
 * vgpu_vm_put_vmid() - take the address space from the hardware
 * @vm: address space; no queue runs in it. Without a VMID nothing happens
 */
void vgpu_vm_put_vmid(struct vgpu_vm *vm)
{
	struct vgpu_device *vdev = vm->vdev;
	u8 vmid;

	mutex_lock(&vm->pt_lock);
	vmid = vm->vmid;
	if (vmid) {
		WRITE_ONCE(vm->vmid, 0);
		vgpu_gmc_clear_context(vdev, vmid);
		vgpu_gmc_set_pasid(vdev, vmid, 0);
		mutex_lock(&vdev->vmm.lock);
		vdev->vmm.vmid_owner[vmid] = NULL;
		mutex_unlock(&vdev->vmm.lock);
	}
	mutex_unlock(&vm->pt_lock);
}

/**
 * vgpu_vm_flush() - drop the hardware's translations of an address space
 * @vm: address space; without a VMID there are none
 *
 * pt_lock held or not. MMU notifiers and reclaim may call it.
 */
void vgpu_vm_flush(struct vgpu_vm *vm)
{
	u8 vmid = READ_ONCE(vm->vmid);

	/* A device that does not answer is logged there. */
	if (vmid)
		vgpu_gmc_flush_tlb(vm->vdev, BIT(vmid));
}

/**
 * vgpu_vm_publish() - bring the hardware in line with the tables
 * @vm: address space, pt_lock held
 * @changed: a valid entry has changed
 */
void vgpu_vm_publish(struct vgpu_vm *vm, bool changed)
{
	struct vgpu_hw *hw = &vm->vdev->hw;

	lockdep_assert_held(&vm->pt_lock);

	if (vm->pt.written) {
		vgpu_stat_add(hw, VGPU_STAT_PTES_WRITTEN, vm->pt.written);
		vm->pt.written = 0;
		wmb();	/* entries have left the CPU before the flush does */
		vgpu_hdp_flush(vm->vdev);
	}
	if (changed)
		vgpu_vm_flush(vm);
}

/**
 * vgpu_vm_reserve_tables() - make page tables
 * @vm: address space
 * @first: first page
 * @last: last page
 *
 * Entries of these pages can be written later without allocating. May sleep
 * and allocate; takes alloc_lock.
 *
 * Return: 0, -ENOMEM, or -EINVAL for pages that are not in the address space.
 */
int vgpu_vm_reserve_tables(struct vgpu_vm *vm, u64 first, u64 last)
{
	int ret;

	if (last < first || last >= BIT_ULL(VGPU_VA_BITS - VGPU_PAGE_SHIFT))
		return -EINVAL;
	mutex_lock(&vm->alloc_lock);
	ret = vgpu_pt_reserve(&vm->pt, first, last);
	mutex_unlock(&vm->alloc_lock);
	return ret;
}

/**
 * vgpu_vm_lock_pt() - keep the entries as they are
 * @vm: address space
 *
 * For callers that must check something between this and writing.
 */
void vgpu_vm_lock_pt(struct vgpu_vm *vm)
{
	mutex_lock(&vm->pt_lock);
}

/**
 * vgpu_vm_unlock_pt() - undo vgpu_vm_lock_pt()
 * @vm: address space
 */
void vgpu_vm_unlock_pt(struct vgpu_vm *vm)
{
	mutex_unlock(&vm->pt_lock);
}

/**
 * vgpu_vm_write_spans() - map consecutive pages
 * @vm: address space, pt_lock held; the pages' tables are reserved
 * @first: first page
 * @spans: what to map, one behind the other
 * @n: their number
 *
 * Single pages of them may be changed or cleared later. 2 MiB leaves are made
 * where addresses allow. The device sees all of it on return, and nothing of
 * what was mapped there before.
 */
void vgpu_vm_write_spans(struct vgpu_vm *vm, u64 first,
			 const struct vgpu_vm_span *spans, unsigned int n)
{
	bool changed = false;
	unsigned int i;

	lockdep_assert_held(&vm->pt_lock);

	for (i = 0; i < n; i++) {
		changed |= vgpu_pt_write(&vm->pt, first, &spans[i], 0);
		first += spans[i].npages;
	}
	vgpu_vm_publish(vm, changed);
}

/**
 * vgpu_vm_clear_range() - unmap pages
 * @vm: address space
 * @first: first page
 * @last: last page
 * @noretry: accesses end with a no-retry fault from now on; where there are no
 *           tables nothing changes
 *
 * The device does not reach what was mapped there on return. Takes pt_lock;
 * MMU notifiers and reclaim may call it.
 */
void vgpu_vm_clear_range(struct vgpu_vm *vm, u64 first, u64 last, bool noretry)
{
	mutex_lock(&vm->pt_lock);
	vgpu_vm_publish(vm, vgpu_pt_clear(&vm->pt, first, last,
					  noretry ? VGPU_PTE_NORETRY : 0));
	mutex_unlock(&vm->pt_lock);
}

/**
 * vgpu_vm_read_pte() - how a page is translated now
 * @vm: address space
 * @page: page
 *
 * Takes pt_lock.
 *
 * Return: the entry, a 2 MiB leaf as it stands, or 0.
 */
u64 vgpu_vm_read_pte(struct vgpu_vm *vm, u64 page)
{
	u64 pte;

	mutex_lock(&vm->pt_lock);
	pte = vgpu_pt_read(&vm->pt, page);
	mutex_unlock(&vm->pt_lock);
	return pte;
}
