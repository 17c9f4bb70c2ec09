// SPDX-License-Identifier: GPL-2.0
/*
 * Buffer objects: creation, placement, CPU access.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_gem_ttm_helper.h>

#include "vgpu/pci.h"
#include "vgpu_mm_priv.h"

static void vgpu_bo_destroy(struct ttm_buffer_object *tbo)
{
	struct vgpu_bo *bo = to_vgpu_bo(tbo);

	WARN_ON_ONCE(!list_empty(&bo->vm_mappings));
	drm_gem_object_release(&tbo->base);
	kfree(bo->metadata);
	kfree(bo);
}

/**
 * vgpu_bo_is_ours() - is it a struct vgpu_bo?
 * @tbo: TTM object
 *
 * Return: false for what TTM makes for itself while it moves memory.
 */
bool vgpu_bo_is_ours(const struct ttm_buffer_object *tbo)
{
	return tbo->destroy == vgpu_bo_destroy;
}

/**
 * vgpu_bo_wants_zeros() - must new memory of the BO read as zero?
 * @tbo: TTM object
 *
 * Return: true if user space may see it or its creator asked for it.
 */
bool vgpu_bo_wants_zeros(const struct ttm_buffer_object *tbo)
{
	const struct vgpu_bo *bo = container_of(tbo, struct vgpu_bo, tbo);

	return tbo->type == ttm_bo_type_device ||
	       (vgpu_bo_is_ours(tbo) &&
		bo->flags & AMDGPU_GEM_CREATE_VRAM_CLEARED);
}

static void vgpu_gem_free(struct drm_gem_object *gem)
{
	ttm_bo_put(&gem_to_vgpu_bo(gem)->tbo);
}

static int vgpu_gem_mmap(struct drm_gem_object *gem, struct vm_area_struct *vma)
{
	struct vgpu_bo *bo = gem_to_vgpu_bo(gem);

	if (bo->flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS)
		return -EPERM;
	/*
	 * The thunk maps memory that the CPU does not use private and without
	 * access. Keep it from ever being written, and it needs no copies.
	 */
	if (is_cow_mapping(vma->vm_flags) && !(vma->vm_flags & VM_ACCESS_FLAGS))
		vm_flags_clear(vma, VM_MAYWRITE);
	return drm_gem_ttm_mmap(gem, vma);
}

static const struct drm_gem_object_funcs vgpu_gem_funcs = {
	.free = vgpu_gem_free,
	.print_info = drm_gem_ttm_print_info,
	.mmap = vgpu_gem_mmap,
};

/**
 * vgpu_bo_set_placement() - translate a domain for TTM
 * @bo: BO; bo->placement is set
 * @domain: AMDGPU_GEM_DOMAIN_*, as in struct vgpu_bo_params
 * @gart_addr: in GTT, VMID 0 shall reach it
 *
 * An unknown domain leaves no place. Reservation held, or nobody knows the BO.
 */
void vgpu_bo_set_placement(struct vgpu_bo *bo, u32 domain, bool gart_addr)
{
	unsigned int n = 0;

	memset(bo->places, 0, sizeof(bo->places));
	if (domain & AMDGPU_GEM_DOMAIN_VRAM) {
		bo->places[n].mem_type = TTM_PL_VRAM;
		if (bo->flags & AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS)
			bo->places[n].flags |= TTM_PL_FLAG_CONTIGUOUS;
		n++;
	}
	if (domain & AMDGPU_GEM_DOMAIN_GTT) {
		bo->places[n].mem_type = TTM_PL_TT;
		if (gart_addr)
			bo->places[n].lpfn = bo->vdev->hw.gart.pages;
		n++;
	}
	if (!n && domain == AMDGPU_GEM_DOMAIN_DOORBELL) {
		bo->places[n].mem_type = VGPU_PL_DOORBELL;
		bo->places[n].fpfn = VGPU_DOORBELL_KERNEL_PAGES;
		n++;
	}
	if (!n && domain == AMDGPU_GEM_DOMAIN_CPU)
		bo->places[n++].mem_type = TTM_PL_SYSTEM;
	bo->placement.num_placement = n;
	bo->placement.placement = bo->places;
}

/* Waiting for others to free memory does not help what never fits. */
static int vgpu_bo_check_size(struct vgpu_device *vdev, u64 size, u32 domain)
{
	u64 limit = 0;

	if (domain & AMDGPU_GEM_DOMAIN_VRAM)
		limit = max(limit, vdev->mman.vram.manager.size);
	if (domain & AMDGPU_GEM_DOMAIN_GTT)
		limit = max(limit, vdev->mman.gtt.manager.size);
	if (domain & AMDGPU_GEM_DOMAIN_DOORBELL)
		limit = VGPU_DOORBELL_BAR_SIZE;
	if (domain & AMDGPU_GEM_DOMAIN_CPU)
		limit = U32_MAX;
	return size > limit ? -ENOMEM : 0;
}

/* Returns with the reservation held. */
static int vgpu_bo_create_reserved(struct vgpu_device *vdev,
				   const struct vgpu_bo_params *p,
				   bool gart_addr, struct vgpu_bo **out)
{
	struct ttm_operation_ctx ctx = {
		.interruptible = p->type != ttm_bo_type_kernel,
		.gfp_retry_mayfail = true,
	};
	u64 align = p->align ?: PAGE_SIZE;
	struct vgpu_bo *bo;
	int ret;

	if (!p->size || p->size > U64_MAX - PAGE_SIZE ||
	    !is_power_of_2(align) || align < PAGE_SIZE || align > SZ_1G ||
	    p->type == ttm_bo_type_sg)
		return -EINVAL;
	ret = vgpu_bo_check_size(vdev, PAGE_ALIGN(p->size), p->domain);
	if (ret)
		return ret;

	bo = kzalloc(sizeof(*bo), GFP_KERNEL);
	if (!bo)
		return -ENOMEM;
	drm_gem_private_object_init(&vdev->drm, &bo->tbo.base,
				    PAGE_ALIGN(p->size));
	bo->tbo.base.funcs = &vgpu_gem_funcs;
	bo->vdev = vdev;
	bo->domains = p->domain;
	bo->flags = p->flags;
	INIT_LIST_HEAD(&bo->vm_mappings);
	vgpu_bo_set_placement(bo, p->domain, gart_addr);
	if (!bo->placement.num_placement) {
		drm_gem_object_release(&bo->tbo.base);
		kfree(bo);
		return -EINVAL;
	}

	/* Destroys the BO if it fails. */
	ret = ttm_bo_init_reserved(&vdev->mman.bdev, &bo->tbo, p->type,
				   &bo->placement, align >> PAGE_SHIFT, &ctx,
				   NULL, NULL, vgpu_bo_destroy);
	if (ret)
		return ret == -ENOSPC ? -ENOMEM : ret;
	*out = bo;
	return 0;
}

/**
 * vgpu_bo_create() - create a buffer object
 * @vdev: device
 * @p: what to create
 * @out: the BO, with one reference
 *
 * Memory that is mapped to user space (ttm_bo_type_device) or asked for with
 * VRAM_CLEARED reads as zero, after the fences of usage KERNEL in the BO's
 * reservation. May evict other BOs.
 *
 * Return: 0, -EINVAL for sizes or domains that cannot be, -ENOMEM when there
 * is no room or the BO would never fit, -ERESTARTSYS for ttm_bo_type_device.
 */
int vgpu_bo_create(struct vgpu_device *vdev, const struct vgpu_bo_params *p,
		   struct vgpu_bo **out)
{
	int ret = vgpu_bo_create_reserved(vdev, p, false, out);

	if (!ret)
		ttm_bo_unreserve(&(*out)->tbo);
	return ret;
}

/**
 * vgpu_bo_put() - drop a reference
 * @bo: BO
 *
 * Its memory is freed when the engines have done with it.
 */
void vgpu_bo_put(struct vgpu_bo *bo)
{
	drm_gem_object_put(&bo->tbo.base);
}

/**
 * vgpu_bo_validate() - bring a BO to a place
 * @bo: BO, reservation held
 * @domain: as in struct vgpu_bo_params
 * @interruptible: signals may end the wait
 *
 * The move may still be under way: see the fences of usage KERNEL.
 *
 * Return: 0, -EINVAL for a domain that cannot be or a pinned BO elsewhere,
 * -ENOMEM, -ERESTARTSYS.
 */
int vgpu_bo_validate(struct vgpu_bo *bo, u32 domain, bool interruptible)
{
	struct ttm_operation_ctx ctx = {
		.interruptible = interruptible,
		.gfp_retry_mayfail = true,
	};
	int ret;

	vgpu_bo_set_placement(bo, domain, false);
	if (!bo->placement.num_placement)
		return -EINVAL;
	ret = ttm_bo_validate(&bo->tbo, &bo->placement, &ctx);
	return ret == -ENOSPC ? -ENOMEM : ret;
}

/**
 * vgpu_bo_pin() - bring a BO to a place and keep it there
 * @bo: BO, reservation held
 * @domain: as in struct vgpu_bo_params
 *
 * Nests.
 *
 * Return: as vgpu_bo_validate(), but not interruptible.
 */
int vgpu_bo_pin(struct vgpu_bo *bo, u32 domain)
{
	int ret = vgpu_bo_validate(bo, domain, false);

	if (!ret)
		ttm_bo_pin(&bo->tbo);
	return ret;
}

/**
 * vgpu_bo_unpin() - undo one vgpu_bo_pin()
 * @bo: BO, reservation held
 */
void vgpu_bo_unpin(struct vgpu_bo *bo)
{
	ttm_bo_unpin(&bo->tbo);
}

/**
 * vgpu_bo_kmap() - map a BO for the kernel
 * @bo: BO, reservation held
 *
 * Waits until its memory holds what it should. The address is valid until the
 * BO moves, is unmapped or freed; a second call returns the same one. Whether
 * it is I/O memory says ttm_kmap_obj_virtual() of @bo->kmap.
 *
 * Return: the address, or ERR_PTR(-EINVAL) when VRAM is in several pieces,
 * ERR_PTR(-ENOMEM).
 */
void *vgpu_bo_kmap(struct vgpu_bo *bo)
{
	struct ttm_resource *res = bo->tbo.resource;
	int ret;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (bo->kmap.virtual)
		return bo->kmap.virtual;
	if (!res || (res->mem_type == TTM_PL_VRAM &&
		     !(res->placement & TTM_PL_FLAG_CONTIGUOUS)))
		return ERR_PTR(-EINVAL);
	dma_resv_wait_timeout(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL, false,
			      MAX_SCHEDULE_TIMEOUT);
	ret = ttm_bo_kmap(&bo->tbo, 0, PFN_UP(bo->tbo.base.size), &bo->kmap);
	if (ret) {
		bo->kmap.virtual = NULL;
		return ERR_PTR(ret);
	}
	return bo->kmap.virtual;
}

/**
 * vgpu_bo_kunmap() - undo vgpu_bo_kmap()
 * @bo: BO, reservation held or nobody knows it any more; mapped or not
 */
void vgpu_bo_kunmap(struct vgpu_bo *bo)
{
	if (bo->kmap.virtual)
		ttm_bo_kunmap(&bo->kmap);
}

/**
 * vgpu_bo_create_kernel() - a BO for the driver itself
 * @vdev: device
 * @size: bytes
 * @domain: AMDGPU_GEM_DOMAIN_VRAM (contiguous and zero) or _GTT (not cleared)
 * @out: the BO
 * @mc_addr: its address for VMID 0; may be NULL
 * @cpu: its address for the CPU (I/O memory in VRAM); may be NULL
 *
 * Pinned and mapped. Takes no reservation that others may hold, so callers may
 * hold any lock that is inside reservations.
 *
 * Return: 0 or -ENOMEM, -EINVAL.
 */
int vgpu_bo_create_kernel(struct vgpu_device *vdev, u64 size, u32 domain,
			  struct vgpu_bo **out, u64 *mc_addr, void **cpu)
{
	const struct vgpu_bo_params params = {
		.size = size,
		.domain = domain,
		.flags = AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS |
			 AMDGPU_GEM_CREATE_VRAM_CLEARED |
			 AMDGPU_GEM_CREATE_NO_CPU_ACCESS,
		.type = ttm_bo_type_kernel,
	};
	struct vgpu_bo *bo;
	void *virtual;
	int ret;

	ret = vgpu_bo_create_reserved(vdev, &params, true, &bo);
	if (ret)
		return ret;
	ttm_bo_pin(&bo->tbo);
	virtual = vgpu_bo_kmap(bo);
	if (IS_ERR(virtual))
		ttm_bo_unpin(&bo->tbo);
	else if (mc_addr)
		*mc_addr = vgpu_bo_mc_addr(bo);
	ttm_bo_unreserve(&bo->tbo);

	if (IS_ERR(virtual)) {
		vgpu_bo_put(bo);
		return PTR_ERR(virtual);
	}
	if (cpu)
		*cpu = virtual;
	*out = bo;
	return 0;
}

/**
 * vgpu_bo_free_kernel() - undo vgpu_bo_create_kernel()
 * @bo: the BO, or NULL; set to NULL. No engine uses it.
 */
void vgpu_bo_free_kernel(struct vgpu_bo **bo)
{
	if (!*bo)
		return;
	/* Uninterruptible and without ticket: cannot fail. */
	ttm_bo_reserve(&(*bo)->tbo, false, false, NULL);
	vgpu_bo_kunmap(*bo);
	ttm_bo_unpin(&(*bo)->tbo);
	ttm_bo_unreserve(&(*bo)->tbo);
	vgpu_bo_put(*bo);
	*bo = NULL;
}

/**
 * vgpu_bo_mc_addr() - address for VMID 0
 * @bo: BO; contiguous VRAM, or GTT with an address; cannot move meanwhile
 *
 * Return: the address, or VGPU_MC_NONE.
 */
u64 vgpu_bo_mc_addr(struct vgpu_bo *bo)
{
	struct ttm_resource *res = bo->tbo.resource;
	struct vgpu_hw *hw = &bo->vdev->hw;
	u64 offset;

	if (!res)
		return VGPU_MC_NONE;
	offset = (u64)res->start << PAGE_SHIFT;
	if (res->mem_type == TTM_PL_VRAM &&
	    res->placement & TTM_PL_FLAG_CONTIGUOUS)
		return hw->fb_base + offset;
	if (res->mem_type == TTM_PL_TT && vgpu_gtt_mgr_has_gart_addr(res))
		return hw->gart.start + offset;
	return VGPU_MC_NONE;
}

static u64 vgpu_bo_start(struct vgpu_bo *bo, u32 mem_type)
{
	struct ttm_resource *res = bo->tbo.resource;

	if (WARN_ON_ONCE(!res || res->mem_type != mem_type))
		return 0;
	return (u64)res->start << PAGE_SHIFT;
}

/**
 * vgpu_bo_vram_offset() - where a contiguous BO is in VRAM
 * @bo: contiguous BO in VRAM that cannot move
 *
 * Return: bytes from the beginning of VRAM.
 */
u64 vgpu_bo_vram_offset(struct vgpu_bo *bo)
{
	return vgpu_bo_start(bo, TTM_PL_VRAM);
}

/**
 * vgpu_bo_doorbell_offset() - where a BO is among the doorbells
 * @bo: BO of AMDGPU_GEM_DOMAIN_DOORBELL that cannot move
 *
 * Return: bytes from the beginning of BAR 2.
 */
u64 vgpu_bo_doorbell_offset(struct vgpu_bo *bo)
{
	return vgpu_bo_start(bo, VGPU_PL_DOORBELL);
}

/**
 * vgpu_bo_mmap_offset() - offset for mmap of the render node
 * @bo: BO of ttm_bo_type_device
 *
 * Return: the offset.
 */
u64 vgpu_bo_mmap_offset(struct vgpu_bo *bo)
{
	return drm_vma_node_offset_addr(&bo->tbo.base.vma_node);
}
