// SPDX-License-Identifier: GPL-2.0
/*
 * Implements GEM_VA in KFD's address spaces. Each BO that GEM_VA maps gets a struct kgd_mem with
 * kgd_mem.gem set, so that restores include the BO.
 */
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_exec.h>

#include "mm/vgpu_bo.h"
#include "mm/vgpu_res_mgr.h"
#include "vm/vgpu_vm.h"
#include "vm/vgpu_vm_bo.h"
#include "kfd_evict.h"
#include "kfd_evict_priv.h"
#include "kfd_mem.h"
#include "kfd_node.h"
#include "kfd_process.h"

/**
 * kfd_mem_gem_device() - find the kfd_process_device that uses a render-node file's address space
 * @vdev: device of the file
 * @file: file that ACQUIRE_VM named
 * @pasid: PASID of the process at the time of ACQUIRE_VM
 *
 * Context: any.
 *
 * Return: NULL if the process has ended, else the process's state on @vdev, with a reference to the
 * process. The caller drops this reference by kfd_unref_process().
 */
struct kfd_process_device *kfd_mem_gem_device(struct vgpu_device *vdev,
					      const struct drm_file *file,
					      u16 pasid)
{
	struct kfd_process *p = kfd_lookup_process_by_pasid(pasid);
	struct kfd_process_device *pdd;

	if (!p)
		return NULL;
	pdd = kfd_process_device_of(p, vdev);
	/*
	 * The PASID may belong to a later process now, so compare drm_priv.
	 * kfd_process_device_init_vm() sets drm_priv before vm, so read vm first, with acquire
	 * semantics.
	 */
	if (pdd && smp_load_acquire(&pdd->vm) && pdd->drm_priv == file)
		return pdd;
	kfd_unref_process(p);
	return NULL;
}

/*
 * Return the struct kgd_mem of @bo for GEM_VA mappings in @pdd's VM, or NULL. The caller holds
 * kfd_process.mutex and the reservation of @bo.
 */
static struct kgd_mem *gem_mem_find(const struct kfd_process_device *pdd,
				    const struct vgpu_bo *bo)
{
	struct kgd_mem *mem;

	list_for_each_entry(mem, &bo->users, bo_link)
		if (mem->gem == pdd)
			return mem;
	return NULL;
}

static struct kgd_mem *gem_mem_new(struct kfd_process_device *pdd,
				   struct vgpu_bo *bo)
{
	u32 domain = kgd_mem_gem_domain(bo);
	struct kgd_mem *mem;

	/*
	 * Refuse user pointers, because the pages of @bo may be memory of another process. If that
	 * process has ended, kgd_mem_find_pages() would fail in every restore of this process.
	 */
	if (!domain || bo->userptr)
		return ERR_PTR(-EINVAL);
	mem = kgd_mem_new(pdd, domain, 0, 0);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	drm_gem_object_get(&bo->tbo.base);
	mem->bo = bo;
	mem->gem = pdd;
	kgd_mem_link(mem);
	kgd_mem_add_to_process(mem);
	return mem;
}

/*
 * Count the mappings of the BO after a mapping was added or removed. If no mapping is left, remove
 * the eviction fence. The caller holds the reservation.
 */
static void gem_mem_count(struct kgd_mem *mem)
{
	mem->mapped_to_gpu_memory = vgpu_vm_bo_count(mem->gem->vm, mem->bo);
	kgd_mem_unfence(mem);
}

/* Free @mem if the BO is not mapped any more. The caller holds no reservation. */
static void gem_mem_put(struct kgd_mem *mem)
{
	if (!mem->mapped_to_gpu_memory)
		kgd_mem_destroy(mem->gem, mem);
}

/*
 * Map the BO, and write the page-table entries of the mapping. The caller holds the BO's
 * reservation. Returns 0 or an error, as kfd_mem_gem_va_locked() does.
 */
static int gem_map_reserved(struct kgd_mem *mem,
			    const struct drm_amdgpu_gem_va *args, u64 pte_flags)
{
	struct amdkfd_process_info *info = mem->process_info;
	struct vgpu_vm *vm = mem->gem->vm;
	int ret = 0;

	/*
	 * Validate the BO only before its first mapping, or while the queues cannot run. Otherwise
	 * engines may be accessing the BO through an earlier mapping.
	 */
	if (!mem->mapped_to_gpu_memory || !info->resident ||
	    READ_ONCE(info->evicted))
		ret = kgd_mem_validate(mem);
	if (!ret)
		ret = kfd_evict_fence_add(info, mem->bo);
	if (!ret)
		ret = vgpu_vm_bo_add(vm, mem->bo, args->va_address,
				     args->offset_in_bo, args->map_size,
				     pte_flags);
	if (!ret) {
		ret = kgd_mem_update(mem);
		if (ret)
			vgpu_vm_bo_unmap_va(vm, mem->bo, args->va_address);
	}
	gem_mem_count(mem);
	return ret;
}

/*
 * Map the BO. If there is no VRAM for page tables, make room and try again, as kgd_mem_map()
 * does.
 */
static int gem_map_patiently(struct kgd_mem *mem,
			     const struct drm_amdgpu_gem_va *args, u64 pte_flags)
{
	unsigned long until = jiffies + KGD_MEM_TABLES_PATIENCE;
	struct vgpu_device *vdev = mem->gem->node->vdev;
	unsigned int frees;
	int ret;

	do {
		frees = vgpu_vram_mgr_frees(vdev);
		ret = ttm_bo_reserve(&mem->bo->tbo, true, false, NULL);
		if (ret)
			return ret;
		ret = gem_map_reserved(mem, args, pte_flags);
		ttm_bo_unreserve(&mem->bo->tbo);
		if (ret != -ENOMEM)
			return ret;
		ret = kgd_mem_make_table_room(vdev, frees, until);
	} while (!ret);
	return ret;
}

static int gem_map(struct kfd_process_device *pdd, struct vgpu_bo *bo,
		   const struct drm_amdgpu_gem_va *args, u64 pte_flags)
{
	struct kgd_mem *mem;
	int ret;

	ret = ttm_bo_reserve(&bo->tbo, true, false, NULL);
	if (ret)
		return ret;
	mem = gem_mem_find(pdd, bo);
	ttm_bo_unreserve(&bo->tbo);
	/*
	 * While kfd_process.mutex is held, @mem is not freed, and no other task creates a kgd_mem
	 * for the BO.
	 */
	if (!mem)
		mem = gem_mem_new(pdd, bo);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	ret = gem_map_patiently(mem, args, pte_flags);
	gem_mem_put(mem);
	return ret;
}

static int gem_unmap(struct kfd_process_device *pdd, struct vgpu_bo *bo, u64 va)
{
	struct kgd_mem *mem;
	int ret;

	if (!bo)
		return vgpu_vm_bo_unmap_va(pdd->vm, NULL, va);
	ret = ttm_bo_reserve(&bo->tbo, true, false, NULL);
	if (ret)
		return ret;
	mem = gem_mem_find(pdd, bo);
	ret = vgpu_vm_bo_unmap_va(pdd->vm, bo, va);
	if (mem)
		gem_mem_count(mem);
	ttm_bo_unreserve(&bo->tbo);
	if (mem)
		gem_mem_put(mem);
	return ret;
}

static int gem_lock_range(struct vgpu_vm *vm, u64 va, u64 size,
			  struct drm_exec *exec)
{
	struct drm_gem_object *gem;
	long left;
	int ret;

	drm_exec_until_all_locked(exec) {
		ret = vgpu_vm_lock_range(vm, va, size, exec);
		drm_exec_retry_on_contention(exec);
		if (ret)
			return ret;
	}
	/*
	 * Wait until no BO moves. During a move, queues use the BO's old entries
	 * (vgpu_vm_bo.stale). vgpu_vm_clear_mappings() would clear all old entries of a mapping,
	 * even entries that queues still need for pages outside of the range.
	 */
	drm_exec_for_each_locked_object(exec, gem) {
		left = dma_resv_wait_timeout(gem->resv, DMA_RESV_USAGE_KERNEL,
					     true, MAX_SCHEDULE_TIMEOUT);
		if (left < 0)
			return left;
	}
	return 0;
}

static int gem_clear(struct kfd_process_device *pdd, u64 va, u64 size)
{
	struct kgd_mem *mem, *next;
	struct drm_gem_object *gem;
	struct drm_exec exec;
	int ret;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT |
			     DRM_EXEC_IGNORE_DUPLICATES, 0);
	ret = gem_lock_range(pdd->vm, va, size, &exec);
	if (!ret)
		ret = vgpu_vm_clear_mappings(pdd->vm, va, size);
	if (ret) {
		drm_exec_fini(&exec);
		return ret;
	}
	drm_exec_for_each_locked_object(&exec, gem)
		gem_mem_count(gem_mem_find(pdd, gem_to_vgpu_bo(gem)));
	drm_exec_fini(&exec);
	list_for_each_entry_safe(mem, next,
				 &pdd->process->kgd_process_info->kfd_bo_list,
				 validate_list)
		if (mem->gem)
			gem_mem_put(mem);
	return 0;
}

/**
 * kfd_mem_gem_va_locked() - perform GEM_VA in a process's address space
 * @pdd: state of the process on the GPU
 * @bo: BO, or NULL for a PRT mapping or AMDGPU_VA_OP_CLEAR
 * @args: checked arguments; no SVM range overlaps the addresses to map
 * @pte_flags: VGPU_PTE_* of a mapping
 *
 * Context: kfd_process.mutex and vgpu_vm.va_lock are held; sleeps.
 *
 * Return:
 * * 0: new mappings work, and the GPU does not reach removed mappings
 * * -EINVAL: the addresses are in use
 * * -EINVAL: @bo is a user pointer, or belongs neither to VRAM nor to GTT
 * * -ENOENT: an UNMAP finds no mapping at its address
 * * -ENOMEM, -ERESTARTSYS
 */
int kfd_mem_gem_va_locked(struct kfd_process_device *pdd, struct vgpu_bo *bo,
			  const struct drm_amdgpu_gem_va *args, u64 pte_flags)
{
	u64 va = args->va_address, size = args->map_size;
	int ret;

	lockdep_assert_held(&pdd->process->mutex);
	lockdep_assert_held(&pdd->vm->va_lock);

	switch (args->operation) {
	case AMDGPU_VA_OP_UNMAP:
		return gem_unmap(pdd, bo, va);
	case AMDGPU_VA_OP_CLEAR:
		return gem_clear(pdd, va, size);
	}
	if (args->operation == AMDGPU_VA_OP_REPLACE) {
		ret = gem_clear(pdd, va, size);
		if (ret)
			return ret;
	}
	return bo ? gem_map(pdd, bo, args, pte_flags) :
		    vgpu_vm_map_prt(pdd->vm, va, size);
}

/* Remove all mappings of the BO, and free @mem. The caller holds kfd_process.mutex. */
static void gem_mem_unmap_all(struct kgd_mem *mem)
{
	struct vgpu_bo *bo = mem->bo;
	struct vgpu_vm *vm = mem->gem->vm;

	mutex_lock(&vm->va_lock);
	ttm_bo_reserve(&bo->tbo, false, false, NULL);
	vgpu_vm_bo_unmap_all(vm, bo);
	gem_mem_count(mem);
	ttm_bo_unreserve(&bo->tbo);
	mutex_unlock(&vm->va_lock);
	gem_mem_put(mem);
}

/**
 * kfd_gem_close() - unmap a BO when a file closes its last handle of the BO
 * @vdev: device of the file
 * @file: file that ACQUIRE_VM named
 * @pasid: PASID of the process at the time of ACQUIRE_VM
 * @bo: BO
 *
 * Context: no lock is held; takes kfd_process.mutex, vgpu_vm.va_lock and the reservation.
 */
void kfd_gem_close(struct vgpu_device *vdev, struct drm_file *file, u16 pasid,
		   struct vgpu_bo *bo)
{
	struct kfd_process_device *pdd = kfd_mem_gem_device(vdev, file, pasid);
	struct kgd_mem *mem;

	/* If the process has ended, its teardown unmaps all BOs. */
	if (!pdd)
		return;
	mutex_lock(&pdd->process->mutex);
	ttm_bo_reserve(&bo->tbo, false, false, NULL);
	mem = gem_mem_find(pdd, bo);
	ttm_bo_unreserve(&bo->tbo);
	if (mem)
		gem_mem_unmap_all(mem);
	mutex_unlock(&pdd->process->mutex);
	kfd_unref_process(pdd->process);
}

/**
 * kfd_gem_free_all() - remove all mappings of GEM_VA from a process's address spaces
 * @p: process without queues, at its teardown
 *
 * Context: kfd_process.mutex is held; takes vgpu_vm.va_lock and reservations.
 */
void kfd_gem_free_all(struct kfd_process *p)
{
	struct kgd_mem *mem, *next;

	lockdep_assert_held(&p->mutex);

	list_for_each_entry_safe(mem, next, &p->kgd_process_info->kfd_bo_list,
				 validate_list)
		if (mem->gem)
			gem_mem_unmap_all(mem);
}
