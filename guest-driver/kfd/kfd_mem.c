// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of ALLOC_MEMORY_OF_GPU.
 *
 * DOC: where a BO may be
 *
 * Everything may be evicted; the page-table entries are cleared then. The
 * engines may touch what a process with queues has mapped at any time, so
 * such a BO carries the eviction fence (kfd_evict.c): the queues go first, and
 * come back when all mapped BOs have a place again. What finds none in VRAM is
 * left in system memory and mapped there. A process does not evict its own
 * BOs while it has queues. Which process goes, and when, is in kfd_turn.c.
 *
 * The decision and the return meet at the BO's reservation: resident is set
 * before the first reservation is taken. Whoever evicts a BO either had its
 * reservation before, so that the return finds it moved, or sees the fence.
 */
#include <linux/dma-buf.h>
#include <linux/iommu.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>
#include <kunit/visibility.h>

#include "vgpu/bits.h"
#include "vgpu/doorbell.h"
#include "vgpu/pte.h"
#include "vgpu_bo.h"
#include "vgpu_res_mgr.h"
#include "vgpu_userptr.h"
#include "vgpu_vm_bo.h"
#include "kfd_mem.h"
#include "kfd_room.h"

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
		/* In system memory: evicted already, to be swapped out now. */
		if (mem_type != TTM_PL_SYSTEM && kfd_process_is_own(info))
			return false;
	}
	return true;
}

static bool kgd_mem_users_stay(struct vgpu_bo *bo)
{
	struct kgd_mem *mem;

	list_for_each_entry(mem, &bo->users, bo_link)
		if (mem->mapped_to_gpu_memory &&
		    READ_ONCE(mem->process_info->resident) &&
		    kfd_turn_left(&mem->process_info->turn, jiffies))
			return true;
	return false;
}

static void kgd_mem_bo_release(struct vgpu_bo *bo)
{
	kfd_mem_limit_unreserve(bo->vdev, bo->charged, bo->tbo.base.size);
}

const struct vgpu_bo_owner_ops kgd_mem_owner_ops = {
	.evict_ok = kgd_mem_evict_ok,
	.users_stay = kgd_mem_users_stay,
	.release = kgd_mem_bo_release,
};

/* BOs that are not ours. */
static const struct vgpu_bo_owner_ops kgd_mem_import_ops = {
	.evict_ok = kgd_mem_evict_ok,
	.users_stay = kgd_mem_users_stay,
};

void kgd_mem_link(struct kgd_mem *mem)
{
	struct vgpu_bo *bo = mem->bo;

	/* Uninterruptible, and no ticket: cannot fail. */
	ttm_bo_reserve(&bo->tbo, false, false, NULL);
	if (!bo->owner_ops)
		bo->owner_ops = &kgd_mem_import_ops;
	list_add_tail(&mem->bo_link, &bo->users);
	ttm_bo_unreserve(&bo->tbo);
}

void kgd_mem_unlink(struct kgd_mem *mem)
{
	ttm_bo_reserve(&mem->bo->tbo, false, false, NULL);
	list_del(&mem->bo_link);
	ttm_bo_unreserve(&mem->bo->tbo);
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
 * Other threads may take the room that an allocation makes. The allocation gives up after
 * this number of tries, but not before this time has passed.
 */
#define KGD_MEM_CREATE_TRIES	16u
#define KGD_MEM_CREATE_TIME	(2 * HZ)

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
		made = vgpu_vram_mgr_make_room(vdev, params->size, frees);
		if (made)
			return made == -ENOENT ? ret : made;
	}
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

/* Every such allocation is the process's one slice, or the GPU's one page. */
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

/* The kind, as amdgpu decides when several are asked for. */
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

u32 kgd_mem_gem_domain(const struct vgpu_bo *bo)
{
	u32 domains = READ_ONCE(bo->domains);

	return domains & AMDGPU_GEM_DOMAIN_VRAM ?:
	       domains & AMDGPU_GEM_DOMAIN_GTT;
}

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
	mem->process_info = &pdd->process->kgd_process_info;
	return mem;
}

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
	list_add_tail(&mem->validate_list, &mem->process_info->kfd_bo_list);
	*out = mem;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kgd_mem_create);

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

/*
 * gmc_v9 for this chip: local VRAM is cached read-write, a peer's and system
 * memory are not; coherent and uncached memory bypasses the caches.
 */
static u64 kgd_mem_pte_flags(const struct kgd_mem *mem,
			     const struct vgpu_device *vdev)
{
	const u32 bypass = KFD_IOC_ALLOC_MEM_FLAGS_COHERENT |
			   KFD_IOC_ALLOC_MEM_FLAGS_EXT_COHERENT |
			   KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED;
	u64 mtype = VGPU_MTYPE_NC, flags = VGPU_PTE_READABLE;

	if (mem->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
		flags |= VGPU_PTE_WRITEABLE;
	if (mem->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE)
		flags |= VGPU_PTE_EXECUTABLE;
	if (kgd_mem_is_bar(mem))
		mtype = VGPU_MTYPE_UC;
	else if (mem->domain == AMDGPU_GEM_DOMAIN_VRAM && vdev == mem->bo->vdev)
		mtype = mem->alloc_flags & bypass ? VGPU_MTYPE_CC :
						    VGPU_MTYPE_RW;
	else if (mem->alloc_flags & bypass)
		mtype = VGPU_MTYPE_UC;
	return flags | VGPU_PREP(VGPU_PTE_MTYPE, mtype);
}

/* Can this GPU address the BO's memory? *@peer: how, if it is another one's. */
static bool kgd_mem_reachable(const struct kgd_mem *mem,
			      const struct kfd_process_device *pdd,
			      enum vgpu_peer_way *peer)
{
	struct vgpu_device *vdev = pdd->node->vdev, *home = mem->bo->vdev;
	struct dma_buf_attachment *attach = mem->bo->tbo.base.import_attach;

	*peer = VGPU_PEER_NONE;
	if (vdev == home)
		return true;
	/* It may be in the VRAM of a third device. */
	if (attach && attach->peer2peer)
		return false;
	if (mem->domain != AMDGPU_GEM_DOMAIN_GTT) {
		*peer = vgpu_peer_find(vdev, home, mem->domain ==
				       AMDGPU_GEM_DOMAIN_VRAM);
		return *peer != VGPU_PEER_NONE;
	}
	/* System memory has one address for all where nothing translates. */
	return !device_iommu_mapped(vdev->drm.dev) &&
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

/* Entries are written by kgd_mem_update(). */
static int kgd_mem_attach(struct kgd_mem *mem, struct kfd_process_device *pdd,
			  u64 va, enum vgpu_peer_way peer)
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
	att->fresh = true;
	ret = vgpu_vm_bo_claim(pdd->vm, mem->bo, va, 0, att->size,
			       kgd_mem_pte_flags(mem, pdd->node->vdev), peer,
			       &att->vbo);
	if (ret) {
		kfree(att);
		return ret;
	}
	list_add_tail(&att->mem_link, &mem->attachments);
	list_add_tail(&att->vm_link, &pdd->attachments);
	mem->mapped_to_gpu_memory++;
	return 0;
}

/* Has the process mapped anything that shares the reservation of @mem? */
static bool kgd_mem_resv_mapped(const struct kgd_mem *mem)
{
	struct kgd_mem *other;

	if (mem->mapped_to_gpu_memory)
		return true;
	/* Otherwise nobody knows its BO but @mem. */
	if (!mem->dmabuf && !mem->gem)
		return false;
	list_for_each_entry(other, &mem->process_info->kfd_bo_list,
			    validate_list)
		if (other->mapped_to_gpu_memory &&
		    other->bo->tbo.base.resv == mem->bo->tbo.base.resv)
			return true;
	return false;
}

void kgd_mem_unfence(struct kgd_mem *mem)
{
	if (!kgd_mem_resv_mapped(mem))
		kfd_evict_fence_remove(mem->process_info, mem->bo);
}

/* What is mapped in the VM of @pdd; NULL: what this call has mapped. */
static void kgd_mem_detach(struct kgd_mem *mem, struct kfd_process_device *pdd)
{
	struct kfd_mem_attachment *att, *next;

	dma_resv_assert_held(mem->bo->tbo.base.resv);

	list_for_each_entry_safe(att, next, &mem->attachments, mem_link) {
		if (pdd ? att->pdd != pdd : !att->fresh)
			continue;
		vgpu_vm_bo_unmap(att->vbo);
		list_del(&att->mem_link);
		list_del(&att->vm_link);
		mem->mapped_to_gpu_memory--;
		kfree(att);
	}
	kgd_mem_unfence(mem);
}

static int kgd_mem_map_one(struct kgd_mem *mem, struct kfd_process_device *pdd)
{
	enum vgpu_peer_way peer;
	int ret;

	if (kgd_mem_attached(mem, pdd))
		return 0;
	if (!kgd_mem_reachable(mem, pdd, &peer))
		return -EINVAL;
	ret = kgd_mem_attach(mem, pdd, mem->va, peer);
	if (!ret && mem->aql_queue)
		ret = kgd_mem_attach(mem, pdd,
				     mem->va + mem->bo->tbo.base.size, peer);
	return ret;
}

/*
 * From *@done on, as far as it goes; then the entries of all are written.
 * Reservation held, the BO in its place.
 */
static int kgd_mem_map_each(struct kgd_mem *mem,
			    struct kfd_process_device **pdds, u32 n, u32 *done)
{
	struct kfd_mem_attachment *att;
	u32 before = *done;
	int r, ret = 0;

	while (!ret && *done < n) {
		ret = kgd_mem_map_one(mem, pdds[*done]);
		*done += !ret;
	}
	if (ret)
		kgd_mem_detach(mem, pdds[*done]);
	r = kgd_mem_update(mem);
	if (r) {
		kgd_mem_detach(mem, NULL);
		*done = before;
		return r;
	}
	list_for_each_entry(att, &mem->attachments, mem_link)
		att->fresh = false;
	return ret;
}

int kgd_mem_map_check(struct kgd_mem *mem, struct kfd_process_device **pdds,
		      u32 n, u32 *done)
{
	enum vgpu_peer_way peer;

	lockdep_assert_held(&pdds[0]->process->mutex);

	*done = 0;
	if (!mem->va)
		return -EINVAL;
	while (*done < n && kgd_mem_attached(mem, pdds[*done]))
		++*done;
	if (*done == n || kgd_mem_reachable(mem, pdds[*done], &peer))
		return 0;
	return -EINVAL;
}

int kgd_mem_map(struct kgd_mem *mem, struct kfd_process_device **pdds, u32 n,
		u32 *done)
{
	struct ttm_buffer_object *tbo = &mem->bo->tbo;
	int ret;

	lockdep_assert_held(&pdds[0]->process->mutex);

	/* When the process resumes, restore_work looks for the pages. */
	if (mem->bo->userptr &&
	    pdds[0]->process->criu_state != KFD_CRIU_RESTORED) {
		ret = vgpu_userptr_prepare(mem->bo);
		if (ret)
			return ret;
		mem->gone = false;
	}
	ret = ttm_bo_reserve(tbo, true, false, NULL);
	if (ret)
		return ret;
	/* Engines may be using it through another mapping. */
	if (!mem->mapped_to_gpu_memory || !mem->process_info->resident ||
	    READ_ONCE(mem->process_info->evicted))
		ret = kgd_mem_validate(mem, false);
	if (!ret)
		ret = kfd_evict_fence_add(mem->process_info, mem->bo);
	if (!ret)
		ret = kgd_mem_map_each(mem, pdds, n, done);
	else
		kgd_mem_detach(mem, NULL);
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

	kfd_gem_free_all(p);
	for (i = 0; i < p->n_pdds; i++) {
		idr_for_each_entry(&p->pdds[i]->alloc_idr, mem, id)
			kgd_mem_free(p->pdds[i], mem);
		idr_destroy(&p->pdds[i]->alloc_idr);
	}
}

struct kfd_process_device *
kfd_mem_by_handle(struct kfd_process *p, u64 handle, struct kgd_mem **mem)
{
	struct kfd_process_device *pdd;

	pdd = kfd_process_device_by_gpu_id(p, handle >> 32);
	if (pdd)
		*mem = idr_find(&pdd->alloc_idr, lower_32_bits(handle));
	return pdd;
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
