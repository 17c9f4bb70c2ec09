// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of ALLOC_MEMORY_OF_GPU.
 *
 * DOC: where a BO may be
 *
 * A process that has queues is resident: its mapped BOs stay where they are,
 * since the engines may touch them at any time (kgd_mem_evict_ok()). Without
 * queues everything may be evicted; the page-table entries are cleared then.
 * The first queue brings all mapped BOs back, or, when VRAM is full of what
 * must stay, leaves them in system memory, and writes their entries again
 * before the hardware knows the queue.
 *
 * The eviction decision and the return meet at the BO's reservation: resident
 * is set before the first reservation is taken. Whoever evicts a BO either
 * had its reservation before, so that the return finds it moved, or sees
 * resident set.
 */
#include <linux/iommu.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>

#include "vgpu/bits.h"
#include "vgpu/doorbell.h"
#include "kfd_mem.h"
#include "kfd_room.h"

static bool kgd_mem_evict_ok(struct vgpu_bo *bo)
{
	struct kgd_mem *mem = bo->upper;

	return !mem || !mem->mapped_to_gpu_memory ||
	       !READ_ONCE(mem->process_info->resident);
}

static void kgd_mem_bo_release(struct vgpu_bo *bo)
{
	kfd_mem_limit_unreserve(bo->vdev, bo->domains, bo->tbo.base.size);
}

static const struct vgpu_bo_owner_ops kgd_mem_owner_ops = {
	.evict_ok = kgd_mem_evict_ok,
	.release = kgd_mem_bo_release,
};

static void kgd_mem_set_upper(struct vgpu_bo *bo, struct kgd_mem *mem)
{
	/* Uninterruptible, and no ticket: cannot fail. */
	ttm_bo_reserve(&bo->tbo, false, false, NULL);
	bo->upper = mem;
	ttm_bo_unreserve(&bo->tbo);
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

/* A BO of its own, with its share of the limit, which it returns itself. */
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
	ret = vgpu_bo_create(pdd->node->vdev, &params, &bo);
	if (ret) {
		kfd_mem_limit_unreserve(pdd->node->vdev, mem->domain, size);
		return ret == -ENOSPC ? -ENOMEM : ret;
	}
	bo->owner_ops = &kgd_mem_owner_ops;
	ret = drm_vma_node_allow(&bo->tbo.base.vma_node, pdd->drm_priv);
	if (ret) {
		vgpu_bo_put(bo);
		return ret;
	}
	mem->bo = bo;
	kgd_mem_set_upper(bo, mem);
	return 0;
}

/* Every such allocation is the process's one slice. */
static int kgd_mem_share_doorbells(struct kfd_process_device *pdd,
				   struct kgd_mem *mem)
{
	int ret = kfd_doorbell_alloc(pdd);

	if (ret)
		return ret;
	mem->bo = pdd->doorbells;
	drm_gem_object_get(&mem->bo->tbo.base);
	return 0;
}

/* The kind, as amdgpu decides when several are asked for. */
static int kgd_mem_domain(u32 flags, u64 size, u32 *domain)
{
	if (flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) {
		*domain = AMDGPU_GEM_DOMAIN_VRAM;
	} else if (flags & KFD_IOC_ALLOC_MEM_FLAGS_GTT) {
		*domain = AMDGPU_GEM_DOMAIN_GTT;
	} else if (flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) {
		/* What amdgpu says in a kernel without HMM. */
		return -ENODEV;
	} else if (flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) {
		if (size != DOORBELL_SLICE_SIZE)
			return -EINVAL;
		*domain = AMDGPU_GEM_DOMAIN_DOORBELL;
	} else if (flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) {
		/* What amdgpu says of a chip without the page. */
		return size == PAGE_SIZE ? -ENOMEM : -EINVAL;
	} else {
		return -EINVAL;
	}
	return 0;
}

int kgd_mem_create(struct kfd_process_device *pdd, u64 va, u64 size, u32 flags,
		   struct kgd_mem **out)
{
	struct kgd_mem *mem;
	u32 domain;
	int ret;

	lockdep_assert_held(&pdd->process->mutex);

	ret = kgd_mem_domain(flags, size, &domain);
	if (ret)
		return ret;
	if (flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM)
		size >>= 1;
	size = PAGE_ALIGN(size);
	if (!size)
		return -EINVAL;

	mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return -ENOMEM;
	INIT_LIST_HEAD(&mem->attachments);
	mem->domain = domain;
	mem->va = va;
	mem->alloc_flags = flags;
	mem->aql_queue = flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM;
	mem->process_info = &pdd->process->kgd_process_info;

	if (domain == AMDGPU_GEM_DOMAIN_DOORBELL)
		ret = kgd_mem_share_doorbells(pdd, mem);
	else
		ret = kgd_mem_create_bo(pdd, mem, size);
	if (ret) {
		kfree(mem);
		return ret;
	}
	list_add_tail(&mem->validate_list, &mem->process_info->kfd_bo_list);
	*out = mem;
	return 0;
}

void kgd_mem_destroy(struct kfd_process_device *owner, struct kgd_mem *mem)
{
	lockdep_assert_held(&owner->process->mutex);
	WARN_ON_ONCE(mem->mapped_to_gpu_memory);

	list_del(&mem->validate_list);
	if (mem->domain != AMDGPU_GEM_DOMAIN_DOORBELL) {
		kgd_mem_set_upper(mem->bo, NULL);
		drm_vma_node_revoke(&mem->bo->tbo.base.vma_node,
				    owner->drm_priv);
	}
	vgpu_bo_put(mem->bo);
	kfree(mem);
}

/* Bring the BO to a place, wait for its contents, repair its mappings. */
static int kgd_mem_validate(struct kgd_mem *mem)
{
	struct vgpu_bo *bo = mem->bo;
	struct kfd_mem_attachment *att;
	long left;
	int ret;

	dma_resv_assert_held(bo->tbo.base.resv);

	ret = vgpu_bo_validate(bo, mem->domain, true);
	if ((ret == -ENOMEM || ret == -ENOSPC) &&
	    mem->domain == AMDGPU_GEM_DOMAIN_VRAM)
		ret = vgpu_bo_validate(bo, AMDGPU_GEM_DOMAIN_GTT, true);
	if (ret)
		return ret == -ENOSPC ? -ENOMEM : ret;
	left = dma_resv_wait_timeout(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL,
				     true, MAX_SCHEDULE_TIMEOUT);
	if (left < 0)
		return left;
	list_for_each_entry(att, &mem->attachments, mem_link) {
		if (!att->vbo->moved)
			continue;
		ret = vgpu_vm_bo_update(att->vbo);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * gmc_v9 for this chip: local VRAM is cached read-write, system memory is
 * snooped and not cached; coherent and uncached memory bypasses the caches.
 */
static u64 kgd_mem_pte_flags(const struct kgd_mem *mem)
{
	const u32 bypass = KFD_IOC_ALLOC_MEM_FLAGS_COHERENT |
			   KFD_IOC_ALLOC_MEM_FLAGS_EXT_COHERENT |
			   KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED;
	u64 mtype = VGPU_MTYPE_NC, flags = VGPU_PTE_READABLE;

	if (mem->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
		flags |= VGPU_PTE_WRITEABLE;
	if (mem->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE)
		flags |= VGPU_PTE_EXECUTABLE;
	if (mem->domain == AMDGPU_GEM_DOMAIN_DOORBELL)
		mtype = VGPU_MTYPE_UC;
	else if (mem->domain == AMDGPU_GEM_DOMAIN_VRAM)
		mtype = mem->alloc_flags & bypass ? VGPU_MTYPE_CC :
						    VGPU_MTYPE_RW;
	else if (mem->alloc_flags & bypass)
		mtype = VGPU_MTYPE_UC;
	return flags | VGPU_PREP(VGPU_PTE_MTYPE, mtype);
}

/* Is the BO's memory one that this GPU can address? */
static bool kgd_mem_reachable(const struct kgd_mem *mem,
			      const struct kfd_process_device *pdd)
{
	struct vgpu_device *vdev = pdd->node->vdev, *home = mem->bo->vdev;

	if (vdev == home)
		return true;
	/* System memory has one address for all where nothing translates. */
	return mem->domain == AMDGPU_GEM_DOMAIN_GTT &&
	       !device_iommu_mapped(vdev->drm.dev) &&
	       !device_iommu_mapped(home->drm.dev);
}

static bool kgd_mem_attached(const struct kgd_mem *mem,
			     const struct kfd_process_device *pdd)
{
	struct kfd_mem_attachment *att;

	list_for_each_entry(att, &mem->attachments, mem_link)
		if (att->pdd == pdd)
			return true;
	return false;
}

static int kgd_mem_attach(struct kgd_mem *mem, struct kfd_process_device *pdd,
			  u64 va)
{
	struct kfd_mem_attachment *att;
	int ret;

	att = kzalloc(sizeof(*att), GFP_KERNEL);
	if (!att)
		return -ENOMEM;
	att->mem = mem;
	att->pdd = pdd;
	att->va = va;
	att->size = mem->bo->tbo.base.size;
	ret = vgpu_vm_bo_map(pdd->vm, mem->bo, va, 0, att->size,
			     kgd_mem_pte_flags(mem), &att->vbo);
	if (ret) {
		kfree(att);
		return ret;
	}
	list_add_tail(&att->mem_link, &mem->attachments);
	list_add_tail(&att->vm_link, &pdd->attachments);
	mem->mapped_to_gpu_memory++;
	return 0;
}

static void kgd_mem_detach(struct kgd_mem *mem, struct kfd_process_device *pdd)
{
	struct kfd_mem_attachment *att, *next;

	dma_resv_assert_held(mem->bo->tbo.base.resv);

	list_for_each_entry_safe(att, next, &mem->attachments, mem_link) {
		if (att->pdd != pdd)
			continue;
		vgpu_vm_bo_unmap(att->vbo);
		list_del(&att->mem_link);
		list_del(&att->vm_link);
		mem->mapped_to_gpu_memory--;
		kfree(att);
	}
}

int kgd_mem_map(struct kgd_mem *mem, struct kfd_process_device *pdd)
{
	struct ttm_buffer_object *tbo = &mem->bo->tbo;
	int ret;

	lockdep_assert_held(&pdd->process->mutex);

	if (!mem->va)
		return -EINVAL;
	if (kgd_mem_attached(mem, pdd))
		return 0;
	if (!kgd_mem_reachable(mem, pdd))
		return -EINVAL;

	ret = ttm_bo_reserve(tbo, true, false, NULL);
	if (ret)
		return ret;
	/* Engines may be using it through another mapping. */
	if (!mem->mapped_to_gpu_memory || !mem->process_info->resident)
		ret = kgd_mem_validate(mem);
	if (!ret)
		ret = kgd_mem_attach(mem, pdd, mem->va);
	if (!ret && mem->aql_queue)
		ret = kgd_mem_attach(mem, pdd, mem->va + tbo->base.size);
	if (ret)
		kgd_mem_detach(mem, pdd);
	ttm_bo_unreserve(tbo);
	return ret;
}

int kgd_mem_unmap(struct kgd_mem *mem, struct kfd_process_device *pdd)
{
	struct kfd_mem_attachment *att;

	lockdep_assert_held(&pdd->process->mutex);

	if (!kgd_mem_attached(mem, pdd))
		return -EINVAL;
	list_for_each_entry(att, &mem->attachments, mem_link)
		if (att->pdd == pdd && att->queue_refcount)
			return -EBUSY;
	ttm_bo_reserve(&mem->bo->tbo, false, false, NULL);
	kgd_mem_detach(mem, pdd);
	ttm_bo_unreserve(&mem->bo->tbo);
	return 0;
}

static void kgd_mem_free(struct kfd_process_device *owner, struct kgd_mem *mem)
{
	struct kfd_process *p = owner->process;
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		kgd_mem_unmap(mem, p->pdds[i]);
	kgd_mem_destroy(owner, mem);
}

void kgd_mem_free_all(struct kfd_process *p)
{
	struct kgd_mem *mem;
	int id;
	u32 i;

	lockdep_assert_held(&p->mutex);

	for (i = 0; i < p->n_pdds; i++) {
		idr_for_each_entry(&p->pdds[i]->alloc_idr, mem, id)
			kgd_mem_free(p->pdds[i], mem);
		idr_destroy(&p->pdds[i]->alloc_idr);
	}
}

int kgd_mem_make_resident(struct kfd_process *p)
{
	struct amdkfd_process_info *info = &p->kgd_process_info;
	struct kgd_mem *mem;
	int ret = 0;

	lockdep_assert_held(&p->mutex);

	if (info->resident)
		return 0;
	WRITE_ONCE(info->resident, true);
	list_for_each_entry(mem, &info->kfd_bo_list, validate_list) {
		if (!mem->mapped_to_gpu_memory)
			continue;
		ret = ttm_bo_reserve(&mem->bo->tbo, true, false, NULL);
		if (ret)
			break;
		ret = kgd_mem_validate(mem);
		ttm_bo_unreserve(&mem->bo->tbo);
		if (ret)
			break;
	}
	if (ret)
		WRITE_ONCE(info->resident, false);
	return ret;
}

void kgd_mem_release_resident(struct kfd_process *p)
{
	lockdep_assert_held(&p->mutex);
	WRITE_ONCE(p->kgd_process_info.resident, false);
}

struct kfd_mem_attachment *kgd_mem_find(struct kfd_process_device *pdd, u64 va)
{
	struct kfd_mem_attachment *att;

	lockdep_assert_held(&pdd->process->mutex);

	list_for_each_entry(att, &pdd->attachments, vm_link)
		if (va - att->va < att->size)
			return att;
	return NULL;
}
