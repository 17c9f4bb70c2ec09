// SPDX-License-Identifier: GPL-2.0
/* Maps memory (struct kgd_mem) in the VMs of its process; a mapping is a kfd_mem_attachment. */
#include <linux/dma-buf.h>
#include <linux/iommu.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>

#include "vgpu/bits.h"
#include "vgpu/pte.h"
#include "mm/vgpu_bo.h"
#include "mm/vgpu_res_mgr.h"
#include "mm/vgpu_userptr.h"
#include "vm/vgpu_vm_bo.h"
#include "kfd_evict.h"
#include "kfd_evict_priv.h"
#include "kfd_mem.h"
#include "kfd_node.h"
#include "kfd_process.h"

/*
 * Returns the PTE flags of a mapping. The MTYPE (caching) is the one that amdgpu's gmc_v9
 * chooses for this chip.
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

/*
 * Return true if @pdd's GPU can address the BO's memory. If this memory is VRAM or a BAR of another
 * GPU, *@peer receives the way to it. *@peer receives VGPU_PEER_NONE for other memory, and if the
 * result is false.
 */
static bool kgd_mem_reachable(const struct kgd_mem *mem,
			      const struct kfd_process_device *pdd,
			      enum vgpu_peer_way *peer)
{
	struct vgpu_device *vdev = pdd->node->vdev, *home = mem->bo->vdev;
	struct dma_buf_attachment *attach = mem->bo->tbo.base.import_attach;

	*peer = VGPU_PEER_NONE;
	if (vdev == home)
		return true;
	/*
	 * The imported memory may be VRAM of a third device. The import has mapped this VRAM for
	 * @home only.
	 */
	if (attach && attach->peer2peer)
		return false;
	if (mem->domain != AMDGPU_GEM_DOMAIN_GTT) {
		*peer = vgpu_peer_find(vdev, home, mem->domain ==
				       AMDGPU_GEM_DOMAIN_VRAM);
		return *peer != VGPU_PEER_NONE;
	}
	/* Without an IOMMU, system memory has the same bus address for both devices. */
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

/*
 * Create one mapping. The caller writes the page-table entries of the mapping with
 * kgd_mem_update().
 */
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

/* Return true if the process has mapped any memory that shares the reservation of @mem. */
static bool kgd_mem_resv_mapped(const struct kgd_mem *mem)
{
	struct kgd_mem *other;

	if (mem->mapped_to_gpu_memory)
		return true;
	/*
	 * Without a search, return false if @mem has neither a dma-buf nor a GEM_VA mapping. Then
	 * @mem shares no reservation with other memory, or @mem is doorbells or the MMIO page.
	 * Doorbells and the MMIO page are pinned and need no eviction fence.
	 */
	if (!mem->dmabuf && !mem->gem)
		return false;
	list_for_each_entry(other, &mem->process_info->kfd_bo_list,
			    validate_list)
		if (other->mapped_to_gpu_memory &&
		    other->bo->tbo.base.resv == mem->bo->tbo.base.resv)
			return true;
	return false;
}

/**
 * kgd_mem_unfence() - remove the eviction fence of a BO after its last unmapping
 * @mem: memory of which a mapping has been removed
 *
 * Does nothing while the process still maps memory that shares the BO's reservation.
 *
 * Context: kfd_process.mutex and the BO's reservation are held.
 */
void kgd_mem_unfence(struct kgd_mem *mem)
{
	if (!kgd_mem_resv_mapped(mem))
		kfd_evict_fence_remove(mem->process_info, mem->bo);
}

/*
 * Remove the mappings in the VM of @pdd. If @pdd is NULL, remove the new mappings in all VMs
 * (kfd_mem_attachment.fresh). The caller holds the reservation.
 */
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
 * Map @mem in VMs, from pdds[*@done] on. Set *@done to the index that fails, or to @n. The caller
 * has reserved and validated the BO.
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
	/* Even if a VM has failed, write the page-table entries of the other new mappings. */
	r = kgd_mem_update(mem);
	if (r) {
		/* Page-table entries are missing: remove all new mappings. */
		kgd_mem_detach(mem, NULL);
		*done = before;
		return r;
	}
	list_for_each_entry(att, &mem->attachments, mem_link)
		att->fresh = false;
	return ret;
}

/**
 * kgd_mem_map_check() - find the first GPU on which memory is not mapped yet
 * @mem: memory
 * @pdds: state of one process on each GPU; each has an address space
 * @n: number of @pdds, at least one
 * @done: set to the index of that GPU, or to @n
 *
 * Context: kfd_process.mutex is held.
 *
 * Return: 0; -EINVAL if @mem has no GPU address, or if that GPU cannot reach @mem.
 */
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

static int kgd_mem_map_try(struct kgd_mem *mem, struct kfd_process_device **pdds,
			   u32 n, u32 *done)
{
	struct ttm_buffer_object *tbo = &mem->bo->tbo;
	int ret;

	ret = ttm_bo_reserve(tbo, true, false, NULL);
	if (ret)
		return ret;
	/*
	 * Do not validate a mapped BO while the process's queues may run (resident and not
	 * evicted): engines may be accessing the BO.
	 */
	if (!mem->mapped_to_gpu_memory || !mem->process_info->resident ||
	    READ_ONCE(mem->process_info->evicted))
		ret = kgd_mem_validate(mem);
	if (!ret)
		ret = kfd_evict_fence_add(mem->process_info, mem->bo);
	if (!ret)
		ret = kgd_mem_map_each(mem, pdds, n, done);
	else
		kgd_mem_detach(mem, NULL);
	ttm_bo_unreserve(tbo);
	return ret;
}

/**
 * kgd_mem_map() - map memory in the address spaces of GPUs
 * @mem: memory
 * @pdds: as for kgd_mem_map_check()
 * @n: number of @pdds
 * @done: index from kgd_mem_map_check(), below @n; advanced for each mapped GPU, also on failure
 *
 * Context: kfd_process.mutex is held, no reservation; svm_claim() was called. Sleeps.
 *
 * Return:
 * * 0, -ENOMEM, -ERESTARTSYS
 * * -EINVAL: the address is taken, or a GPU cannot reach @mem
 * * an error of vgpu_userptr_prepare()
 */
int kgd_mem_map(struct kgd_mem *mem, struct kfd_process_device **pdds, u32 n,
		u32 *done)
{
	unsigned long until = jiffies + KGD_MEM_TABLES_PATIENCE;
	struct vgpu_device *vdev;
	unsigned int frees;
	int ret;

	lockdep_assert_held(&pdds[0]->process->mutex);

	/*
	 * In a process that was created from a checkpoint, do not look up pages before the CRIU
	 * operation RESUME. restore_work looks the pages up after RESUME.
	 */
	if (mem->bo->userptr &&
	    pdds[0]->process->criu_state != KFD_CRIU_RESTORED) {
		ret = vgpu_userptr_prepare(mem->bo);
		if (ret)
			return ret;
		mem->invalid = false;
	}
	/*
	 * Try again after -ENOMEM. For page tables, TTM evicts only BOs that no other task has
	 * reserved, and a later try may find more.
	 */
	do {
		vdev = pdds[*done]->node->vdev;
		frees = vgpu_vram_mgr_frees(vdev);
		ret = kgd_mem_map_try(mem, pdds, n, done);
		if (ret != -ENOMEM)
			return ret;
		/*
		 * The mapping on @vdev succeeded, but the mapping on a later GPU failed. @frees
		 * counts the frees of VRAM on @vdev only. So do not make room yet: the next try
		 * begins at the later GPU, and reads the count there.
		 */
		if (pdds[*done]->node->vdev != vdev) {
			ret = 0;
			continue;
		}
		ret = kgd_mem_make_table_room(vdev, frees, until);
	} while (!ret);
	return ret;
}

/**
 * kgd_mem_unmap() - unmap memory from the address space of a GPU
 * @mem: memory
 * @pdd: state of the process on the GPU
 *
 * On return the GPU does not reach the memory.
 *
 * Context: kfd_process.mutex is held; takes the BO's reservation.
 *
 * Return: 0; -EINVAL if @mem is not mapped there; -EBUSY if a queue uses the mapping.
 */
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

/**
 * kgd_mem_find() - find the mapping at a GPU address
 * @pdd: state of the process on the GPU
 * @va: GPU address, of any byte of the mapping
 *
 * Context: kfd_process.mutex is held.
 *
 * Return: the mapping, or NULL.
 */
struct kfd_mem_attachment *kgd_mem_find(struct kfd_process_device *pdd, u64 va)
{
	struct kfd_mem_attachment *att;

	lockdep_assert_held(&pdd->process->mutex);

	list_for_each_entry(att, &pdd->attachments, vm_link)
		if (va - att->va < att->size)
			return att;
	return NULL;
}
