// SPDX-License-Identifier: GPL-2.0
/*
 * Allocates, finds and frees memory of ALLOC_MEMORY_OF_GPU.
 *
 * Mapped BOs of a process with queues carry the eviction fence (kfd_evict.c). A BO is evicted or
 * restored only while the BO's reservation is held.
 */
#include <linux/dma-buf.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>
#include <kunit/visibility.h>

#include "vgpu/doorbell.h"
#include "mm/vgpu_bo.h"
#include "mm/vgpu_res_mgr.h"
#include "mm/vgpu_userptr.h"
#include "kfd_evict.h"
#include "kfd_evict_priv.h"
#include "kfd_mem.h"
#include "kfd_node.h"
#include "kfd_process.h"

/*
 * Implements vgpu_bo_owner_ops.evict_ok. Only processes that map the BO and have queues can forbid
 * the eviction.
 */
static bool kgd_mem_evict_ok(struct vgpu_bo *bo)
{
	u32 mem_type = bo->tbo.resource->mem_type;
	struct amdkfd_process_info *info;
	struct kgd_mem *mem;

	list_for_each_entry(mem, &bo->users, bo_link) {
		info = mem->process_info;
		if (!mem->mapped_to_gpu_memory || !READ_ONCE(info->resident))
			continue;
		if (kfd_process_keeps(info, mem_type))
			return false;
		/*
		 * A process must not evict its own BOs, because its queues need these BOs. BOs in
		 * TTM_PL_SYSTEM are evicted already and may be swapped out.
		 */
		if (mem_type != TTM_PL_SYSTEM && kfd_process_is_own(info))
			return false;
	}
	return true;
}

/*
 * Implements vgpu_bo_owner_ops.evict_in. Only processes that map the BO and have queues can forbid
 * the eviction. Returns the jiffies until all these processes allow it (kfd_process_kept()), or 0
 * if the number is not known.
 */
static unsigned long kgd_mem_evict_in(struct vgpu_bo *bo)
{
	struct amdkfd_process_info *info;
	unsigned long left = 0;
	struct kgd_mem *mem;

	list_for_each_entry(mem, &bo->users, bo_link) {
		info = mem->process_info;
		if (!mem->mapped_to_gpu_memory || !READ_ONCE(info->resident))
			continue;
		/*
		 * A task cannot evict BOs of its own process as long as the process has queues
		 * (kgd_mem_evict_ok()). The driver cannot know when that ends.
		 */
		if (kfd_process_is_own(info))
			return 0;
		left = max(left, kfd_process_kept(info));
	}
	return left;
}

static void kgd_mem_bo_release(struct vgpu_bo *bo)
{
	kfd_mem_limit_unreserve(bo->vdev, bo->charged, bo->tbo.base.size);
}

const struct vgpu_bo_owner_ops kgd_mem_owner_ops = {
	.evict_ok = kgd_mem_evict_ok,
	.evict_in = kgd_mem_evict_in,
	.release = kgd_mem_bo_release,
};

/*
 * Owner functions for imported BOs and BOs of the render node, without .release, because the memory
 * limit does not count these BOs.
 */
static const struct vgpu_bo_owner_ops kgd_mem_import_ops = {
	.evict_ok = kgd_mem_evict_ok,
	.evict_in = kgd_mem_evict_in,
};

/**
 * kgd_mem_link() - add a struct kgd_mem to vgpu_bo.users
 * @mem: memory that has a BO already, and is neither doorbells nor the MMIO page
 *
 * Context: kfd_process.mutex is held; takes the BO's reservation.
 */
void kgd_mem_link(struct kgd_mem *mem)
{
	struct vgpu_bo *bo = mem->bo;

	/* ttm_bo_reserve() cannot fail, because it is not interruptible and has no ticket. */
	ttm_bo_reserve(&bo->tbo, false, false, NULL);
	if (!bo->owner_ops)
		bo->owner_ops = &kgd_mem_import_ops;
	list_add_tail(&mem->bo_link, &bo->users);
	ttm_bo_unreserve(&bo->tbo);
}

/**
 * kgd_mem_unlink() - undo kgd_mem_link()
 * @mem: memory
 *
 * Context: kfd_process.mutex is held; takes the BO's reservation.
 */
void kgd_mem_unlink(struct kgd_mem *mem)
{
	ttm_bo_reserve(&mem->bo->tbo, false, false, NULL);
	list_del(&mem->bo_link);
	ttm_bo_unreserve(&mem->bo->tbo);
}

/**
 * kgd_mem_add_to_process() - add memory to the list of the BOs of its process
 * @mem: memory; kgd_mem.bo is set already
 *
 * kgd_mem_destroy() removes @mem from the list.
 *
 * Context: kfd_process.mutex is held.
 */
void kgd_mem_add_to_process(struct kgd_mem *mem)
{
	list_add_tail(&mem->validate_list, &mem->process_info->kfd_bo_list);
}

static u32 kgd_mem_gem_flags(u32 domain, u32 flags)
{
	u32 gem = 0;

	if (domain == AMDGPU_GEM_DOMAIN_VRAM) {
		gem |= AMDGPU_GEM_CREATE_VRAM_CLEARED |
		       AMDGPU_GEM_CREATE_VRAM_WIPE_ON_RELEASE;
		if (flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC)
			gem |= AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED;
		if (flags & KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS)
			gem |= AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS;
	}
	if (flags & KFD_IOC_ALLOC_MEM_FLAGS_COHERENT)
		gem |= AMDGPU_GEM_CREATE_COHERENT;
	if (flags & KFD_IOC_ALLOC_MEM_FLAGS_EXT_COHERENT)
		gem |= AMDGPU_GEM_CREATE_EXT_COHERENT;
	if (flags & KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED)
		gem |= AMDGPU_GEM_CREATE_UNCACHED;
	return gem;
}

/*
 * Minimum number of tries to allocate VRAM before the time limit KGD_MEM_CREATE_TIME applies.
 * Several tries may be needed, because other threads may take the VRAM that was freed for a try.
 */
#define KGD_MEM_CREATE_TRIES	16u
/*
 * Minimum time in jiffies for which a failing allocation of VRAM is retried. After a restore, BOs
 * cannot be evicted for some time (kfd_timeslice.c).
 */
#define KGD_MEM_CREATE_TIME	(10 * HZ)
/*
 * Bytes of VRAM that kgd_mem_make_table_room() makes free after an allocation of page tables has
 * failed.
 */
#define KGD_MEM_TABLES_ROOM	SZ_2M

static int kgd_mem_create_patiently(struct vgpu_device *vdev,
				    const struct vgpu_bo_params *params,
				    struct vgpu_bo **bo)
{
	unsigned long until = jiffies + KGD_MEM_CREATE_TIME;
	unsigned int tries = 0;

	for (;;) {
		unsigned int frees = vgpu_vram_mgr_frees(vdev);
		int made, ret;

		ret = vgpu_bo_create(vdev, params, bo);
		if (ret != -ENOMEM || params->domain != AMDGPU_GEM_DOMAIN_VRAM ||
		    params->size > vgpu_vram_mgr_size(vdev) ||
		    (++tries >= KGD_MEM_CREATE_TRIES && time_after(jiffies, until)))
			return ret;
		/*
		 * Test for signals here: vgpu_vram_mgr_make_room() notices a signal only while it
		 * sleeps, and it need not sleep if other tasks free and take VRAM all the time.
		 */
		if (signal_pending(current))
			return -ERESTARTSYS;
		made = vgpu_vram_mgr_make_room(vdev, params->size, frees);
		/*
		 * A signal, a lack of BOs to evict (-ENOENT), or another error ends the tries
		 * early.
		 */
		if (made)
			return made == -ENOENT ? ret : made;
	}
}

/**
 * kgd_mem_make_table_room() - free VRAM for page tables after a call failed with -ENOMEM
 * @vdev: device of the page tables
 * @frees: vgpu_vram_mgr_frees() before the failed call
 * @until: time limit in jiffies
 *
 * Context: kfd_process.mutex may be held, but no reservation; sleeps.
 *
 * Return:
 * * 0: try the failed call again
 * * -ENOMEM: @until has passed, VRAM was not short, or no BO can be evicted
 * * -ERESTARTSYS, or another error of vgpu_vram_mgr_make_room()
 */
int kgd_mem_make_table_room(struct vgpu_device *vdev, unsigned int frees,
			    unsigned long until)
{
	int ret;

	if (signal_pending(current))
		return -ERESTARTSYS;
	if (time_after_eq(jiffies, until))
		return -ENOMEM;
	if (vgpu_vram_mgr_frees(vdev) != frees)
		return 0;
	/*
	 * No VRAM was freed since the failed call began. If enough VRAM is free now, it was free
	 * during that call, too, so the call lacked other memory.
	 */
	if (vgpu_vram_mgr_usage(vdev) + KGD_MEM_TABLES_ROOM <= vgpu_vram_mgr_size(vdev))
		return -ENOMEM;
	ret = vgpu_vram_mgr_make_room(vdev, KGD_MEM_TABLES_ROOM, frees);
	return ret == -ENOENT ? -ENOMEM : ret;
}

/*
 * Create the BO of @mem and charge it to the memory limit. The release of the BO undoes the
 * charge (kgd_mem_bo_release()).
 */
static int kgd_mem_create_bo(struct kfd_process_device *pdd,
			     struct kgd_mem *mem, u64 size)
{
	const struct vgpu_bo_params params = {
		.size = size,
		.domain = mem->domain,
		.flags = kgd_mem_gem_flags(mem->domain, mem->alloc_flags),
		.type = ttm_bo_type_device,
	};
	struct vgpu_bo *bo;
	int ret;

	ret = kfd_mem_limit_reserve(pdd->node, mem->domain, size);
	if (ret)
		return ret;
	ret = kgd_mem_create_patiently(pdd->node->vdev, &params, &bo);
	if (ret) {
		kfd_mem_limit_unreserve(pdd->node->vdev, mem->domain, size);
		return ret;
	}
	bo->charged = mem->domain;
	bo->owner_ops = &kgd_mem_owner_ops;
	ret = drm_vma_node_allow(&bo->tbo.base.vma_node, pdd->drm_priv);
	if (ret) {
		vgpu_bo_put(bo);
		return ret;
	}
	mem->bo = bo;
	kgd_mem_link(mem);
	return 0;
}

/*
 * Set mem->bo to the process's doorbell slice, or to the GPU's MMIO page. Several struct kgd_mem
 * may share this BO.
 */
static int kgd_mem_share_bar(struct kfd_process_device *pdd,
			     struct kgd_mem *mem)
{
	int ret;

	if (mem->domain == AMDGPU_GEM_DOMAIN_DOORBELL) {
		ret = kfd_doorbell_alloc(pdd);
		if (ret)
			return ret;
		mem->bo = pdd->doorbells;
	} else {
		mem->bo = pdd->node->mmio;
	}
	drm_gem_object_get(&mem->bo->tbo.base);
	return 0;
}

/**
 * kgd_mem_is_bar() - whether memory is in the doorbell or register BAR
 * @mem: memory
 *
 * The BO of such memory is pinned, and several struct kgd_mem may share the BO.
 *
 * Context: any.
 *
 * Return: true for doorbells and the MMIO page.
 */
bool kgd_mem_is_bar(const struct kgd_mem *mem)
{
	return mem->domain == AMDGPU_GEM_DOMAIN_DOORBELL ||
	       mem->domain == VGPU_GEM_DOMAIN_MMIO_REMAP;
}

static bool kgd_mem_is_userptr(u32 flags)
{
	return flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR &&
	       !(flags & (KFD_IOC_ALLOC_MEM_FLAGS_VRAM |
			  KFD_IOC_ALLOC_MEM_FLAGS_GTT));
}

/*
 * Set *@domain to the domain that @flags request. If several flags are set, the same flag takes
 * precedence as in amdgpu. Returns 0 or -EINVAL.
 */
static int kgd_mem_domain(u32 flags, u64 size, u32 *domain)
{
	if (flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) {
		*domain = AMDGPU_GEM_DOMAIN_VRAM;
	} else if (flags & KFD_IOC_ALLOC_MEM_FLAGS_GTT) {
		*domain = AMDGPU_GEM_DOMAIN_GTT;
	} else if (flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) {
		*domain = AMDGPU_GEM_DOMAIN_GTT;
	} else if (flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) {
		if (size != DOORBELL_SLICE_SIZE)
			return -EINVAL;
		*domain = AMDGPU_GEM_DOMAIN_DOORBELL;
	} else if (flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) {
		if (size != PAGE_SIZE)
			return -EINVAL;
		*domain = VGPU_GEM_DOMAIN_MMIO_REMAP;
	} else {
		return -EINVAL;
	}
	return 0;
}

/**
 * kgd_mem_gem_domain() - return the domain of a BO that KFD has not created
 * @bo: BO
 *
 * Context: any.
 *
 * Return: AMDGPU_GEM_DOMAIN_VRAM or _GTT; 0 if the BO belongs to neither.
 */
u32 kgd_mem_gem_domain(const struct vgpu_bo *bo)
{
	u32 domains = READ_ONCE(bo->domains);

	return domains & AMDGPU_GEM_DOMAIN_VRAM ?:
	       domains & AMDGPU_GEM_DOMAIN_GTT;
}

/**
 * kgd_mem_new() - allocate a struct kgd_mem without a BO
 * @pdd: state of the process on the GPU
 * @domain: domain of the BO, AMDGPU_GEM_DOMAIN_* or VGPU_GEM_DOMAIN_MMIO_REMAP
 * @va: GPU address
 * @flags: KFD_IOC_ALLOC_MEM_FLAGS_*
 *
 * The caller sets kgd_mem.bo, then calls kgd_mem_link() and kgd_mem_add_to_process().
 *
 * Context: sleeps.
 *
 * Return: the structure, or NULL if no memory is left.
 */
struct kgd_mem *kgd_mem_new(struct kfd_process_device *pdd, u32 domain, u64 va,
			    u32 flags)
{
	struct kgd_mem *mem;

	mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return NULL;
	INIT_LIST_HEAD(&mem->attachments);
	mem->domain = domain;
	mem->va = va;
	mem->alloc_flags = flags;
	mem->process_info = pdd->process->kgd_process_info;
	return mem;
}

/**
 * kgd_mem_create() - allocate memory, or create a user pointer
 * @pdd: state of the process on the GPU, with an address space
 * @va: GPU address
 * @size: bytes to map
 * @flags: KFD_IOC_ALLOC_MEM_FLAGS_*
 * @user_addr: address of a user pointer
 * @later: true to leave the look-up of a user pointer's pages to restore_work
 * @out: set to the memory on success
 *
 * Context: kfd_process.mutex is held, no reservation; sleeps.
 *
 * Return:
 * * 0, -ENOMEM, -ERESTARTSYS
 * * -EINVAL: invalid @flags, @size or @user_addr
 * * another error of vgpu_vram_mgr_make_room() or kfd_userptr_create()
 */
int kgd_mem_create(struct kfd_process_device *pdd, u64 va, u64 size, u32 flags,
		   u64 user_addr, bool later, struct kgd_mem **out)
{
	struct kgd_mem *mem;
	u32 domain;
	int ret;

	lockdep_assert_held(&pdd->process->mutex);

	ret = kgd_mem_domain(flags, size, &domain);
	if (ret)
		return ret;
	/* Each VM maps the BO of an AQL queue twice, so the BO has half of @size. */
	if (flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM)
		size >>= 1;
	size = PAGE_ALIGN(size);
	if (!size)
		return -EINVAL;

	mem = kgd_mem_new(pdd, domain, va, flags);
	if (!mem)
		return -ENOMEM;
	mem->aql_queue = flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM;
	if (kgd_mem_is_bar(mem))
		ret = kgd_mem_share_bar(pdd, mem);
	else if (kgd_mem_is_userptr(flags))
		ret = kfd_userptr_create(pdd, mem, user_addr, size, later);
	else
		ret = kgd_mem_create_bo(pdd, mem, size);
	if (ret) {
		kfree(mem);
		return ret;
	}
	kgd_mem_add_to_process(mem);
	*out = mem;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kgd_mem_create);

/**
 * kgd_mem_destroy() - free memory that is not mapped any more
 * @owner: state of the process on a GPU, the same as in the call of kgd_mem_new() for @mem
 * @mem: memory; the structure is freed, and the reference to the BO is dropped
 *
 * Context: kfd_process.mutex is held, no reservation; sleeps.
 */
void kgd_mem_destroy(struct kfd_process_device *owner, struct kgd_mem *mem)
{
	lockdep_assert_held(&owner->process->mutex);
	WARN_ON_ONCE(mem->mapped_to_gpu_memory);

	if (mem->bo->userptr)
		vgpu_userptr_stop(mem->bo);
	list_del(&mem->validate_list);
	if (!kgd_mem_is_bar(mem)) {
		kgd_mem_unlink(mem);
		if (!mem->gem)
			drm_vma_node_revoke(&mem->bo->tbo.base.vma_node,
					    owner->drm_priv);
	}
	if (mem->dmabuf)
		dma_buf_put(mem->dmabuf);
	vgpu_bo_put(mem->bo);
	kfree(mem);
}
EXPORT_SYMBOL_IF_KUNIT(kgd_mem_destroy);

static void kgd_mem_free(struct kfd_process_device *owner, struct kgd_mem *mem)
{
	struct kfd_process *p = owner->process;
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		kgd_mem_unmap(mem, p->pdds[i]);
	kgd_mem_destroy(owner, mem);
}

/**
 * kgd_mem_free_all() - unmap and free all memory of a process
 * @p: process without queues, at its teardown
 *
 * Context: kfd_process.mutex is held; sleeps.
 */
void kgd_mem_free_all(struct kfd_process *p)
{
	struct kgd_mem *mem;
	int id;
	u32 i;

	lockdep_assert_held(&p->mutex);

	kfd_gem_free_all(p);
	for (i = 0; i < p->n_pdds; i++) {
		idr_for_each_entry(&p->pdds[i]->alloc_idr, mem, id)
			kgd_mem_free(p->pdds[i], mem);
		idr_destroy(&p->pdds[i]->alloc_idr);
	}
}

/**
 * kfd_mem_by_handle() - find memory by its handle
 * @p: process
 * @handle: KFD_HANDLE()
 * @mem: set to the memory, or to NULL if no memory has that handle; not written if the function
 *       returns NULL
 *
 * Context: kfd_process.mutex is held.
 *
 * Return: the process's state on the GPU that @handle names, or NULL if there is no such GPU.
 */
struct kfd_process_device *
kfd_mem_by_handle(struct kfd_process *p, u64 handle, struct kgd_mem **mem)
{
	struct kfd_process_device *pdd;

	pdd = kfd_process_device_by_gpu_id(p, handle >> 32);
	if (pdd)
		*mem = idr_find(&pdd->alloc_idr, lower_32_bits(handle));
	return pdd;
}
