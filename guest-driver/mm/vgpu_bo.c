// SPDX-License-Identifier: GPL-2.0
/*
 * Creates, places, pins and frees buffer objects (BOs), those of user space and those of the
 * driver itself.
 */
#include <linux/dma-buf.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_gem_ttm_helper.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "vgpu/pci.h"
#include "hw/vgpu_gart.h"
#include "vgpu_mm_priv.h"
#include "vgpu_mm_trace.h"

static void vgpu_bo_destroy(struct ttm_buffer_object *tbo)
{
	struct vgpu_bo *bo = to_vgpu_bo(tbo);

	WARN_ON_ONCE(!list_empty(&bo->vm_mappings));
	trace_vgpu_bo_destroy(bo);
	if (bo->import)
		vgpu_import_destroy(bo);
	if (bo->userptr)
		vgpu_userptr_destroy(bo);
	drm_gem_object_release(&tbo->base);
	if (bo->root)
		drm_gem_object_put(bo->root);
	kfree(bo->metadata);
	vgpu_vram_mgr_forget_lost(bo);
	kfree(to_bo_state(bo));
}

/**
 * vgpu_bo_is_ours() - whether a TTM object is a struct vgpu_bo
 * @tbo: TTM object
 *
 * Return: false for objects that TTM creates for itself while it moves memory.
 */
bool vgpu_bo_is_ours(const struct ttm_buffer_object *tbo)
{
	KUNIT_STATIC_STUB_REDIRECT(vgpu_bo_is_ours, tbo);
	return tbo->destroy == vgpu_bo_destroy;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_bo_is_ours);

/**
 * vgpu_bo_wants_zeros() - whether new memory of the BO must read as zero
 * @tbo: TTM object
 *
 * Return: true if user space can access the memory, or the BO's creator requested zeros.
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
	struct vgpu_bo *bo = gem_to_vgpu_bo(gem);

	if (bo->userptr)
		vgpu_userptr_stop(bo);
	ttm_bo_put(&bo->tbo);
}

static int vgpu_gem_mmap(struct drm_gem_object *gem, struct vm_area_struct *vma)
{
	struct vgpu_bo *bo = gem_to_vgpu_bo(gem);

	if (bo->flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS || bo->userptr)
		return -EPERM;
	if (bo->import)
		return vgpu_import_mmap(bo, vma);
	/*
	 * ROCm's thunk creates mappings with MAP_PRIVATE and PROT_NONE. TTM refuses a mapping that
	 * may need COW, so clear VM_MAYWRITE: the mapping can never become writable.
	 */
	if (is_cow_mapping(vma->vm_flags) && !(vma->vm_flags & VM_ACCESS_FLAGS))
		vm_flags_clear(vma, VM_MAYWRITE);
	return drm_gem_ttm_mmap(gem, vma);
}

static int vgpu_gem_open(struct drm_gem_object *gem, struct drm_file *file)
{
	return gem_to_vgpu_bo(gem)->vdev->mman->handle_ops->open(gem, file);
}

static void vgpu_gem_close(struct drm_gem_object *gem, struct drm_file *file)
{
	gem_to_vgpu_bo(gem)->vdev->mman->handle_ops->close(gem, file);
}

static const struct drm_gem_object_funcs vgpu_gem_funcs = {
	.open = vgpu_gem_open,
	.close = vgpu_gem_close,
	.free = vgpu_gem_free,
	.print_info = drm_gem_ttm_print_info,
	.export = vgpu_gem_export,
	.mmap = vgpu_gem_mmap,
	.vm_ops = &vgpu_bo_vm_ops,
};

/**
 * vgpu_bo_set_placement() - translate a domain to vgpu_bo_state.placement
 * @bo: BO whose placement is set
 * @domain: AMDGPU_GEM_DOMAIN_*, as in struct vgpu_bo_params
 * @gart_addr: true if memory in GTT needs an address for VMID 0 (a GART address)
 *
 * An unknown domain results in an empty placement.
 *
 * Context: reservation held, or no other thread has a reference to the BO.
 */
void vgpu_bo_set_placement(struct vgpu_bo *bo, u32 domain, bool gart_addr)
{
	struct vgpu_bo_state *bs = to_bo_state(bo);
	unsigned int n = 0;

	memset(bs->places, 0, sizeof(bs->places));
	if (domain & AMDGPU_GEM_DOMAIN_VRAM) {
		bs->places[n].mem_type = TTM_PL_VRAM;
		if (bo->flags & AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS)
			bs->places[n].flags |= TTM_PL_FLAG_CONTIGUOUS;
		n++;
	}
	if (domain & AMDGPU_GEM_DOMAIN_GTT) {
		bs->places[n].mem_type = TTM_PL_TT;
		if (gart_addr)
			bs->places[n].lpfn = vgpu_gart_pages(bo->vdev);
		n++;
	}
	if (!n && domain == AMDGPU_GEM_DOMAIN_DOORBELL) {
		bs->places[n].mem_type = VGPU_PL_DOORBELL;
		bs->places[n].fpfn = VGPU_DOORBELL_KERNEL_PAGES;
		n++;
	}
	if (!n && domain == VGPU_GEM_DOMAIN_MMIO_REMAP)
		bs->places[n++].mem_type = VGPU_PL_MMIO_REMAP;
	if (!n && domain == AMDGPU_GEM_DOMAIN_CPU)
		bs->places[n++].mem_type = TTM_PL_SYSTEM;
	bs->placement.num_placement = n;
	bs->placement.placement = bs->places;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_bo_set_placement);

/*
 * Reject a BO that can never fit, because waiting for free memory would not help. System
 * memory and GTT have the same limit: TTM's limit for all pages.
 */
static int vgpu_bo_check_size(struct vgpu_device *vdev, u64 size, u32 domain)
{
	u64 limit = 0;

	if (domain & AMDGPU_GEM_DOMAIN_VRAM)
		limit = max(limit, vdev->mman->vram.manager.size);
	if (domain & (AMDGPU_GEM_DOMAIN_GTT | AMDGPU_GEM_DOMAIN_CPU))
		limit = max(limit, vdev->mman->gtt.manager.size);
	if (domain & AMDGPU_GEM_DOMAIN_DOORBELL)
		limit = VGPU_DOORBELL_BAR_SIZE;
	if (domain & VGPU_GEM_DOMAIN_MMIO_REMAP)
		limit = PAGE_SIZE;
	return size > limit ? -ENOMEM : 0;
}

/* On success, returns with the BO's reservation held. */
static int vgpu_bo_create_reserved(struct vgpu_device *vdev,
				   const struct vgpu_bo_params *p,
				   bool gart_addr, struct vgpu_bo **out)
{
	struct ttm_operation_ctx ctx = {
		.interruptible = p->type != ttm_bo_type_kernel,
	};
	u64 align = p->align ?: PAGE_SIZE;
	struct dma_resv *resv = NULL;
	struct vgpu_bo_state *bs;
	struct vgpu_bo *bo;
	int ret;

	if (!p->size || p->size > U64_MAX - PAGE_SIZE ||
	    !is_power_of_2(align) || align < PAGE_SIZE || align > SZ_1G)
		return -EINVAL;
	ret = vgpu_bo_check_size(vdev, PAGE_ALIGN(p->size), p->domain);
	if (ret)
		return ret;

	bs = kzalloc(sizeof(*bs), GFP_KERNEL);
	if (!bs)
		return -ENOMEM;
	bo = &bs->base;
	drm_gem_private_object_init(&vdev->drm, &bo->tbo.base,
				    PAGE_ALIGN(p->size));
	bo->tbo.base.funcs = &vgpu_gem_funcs;
	bo->vdev = vdev;
	bo->domains = p->domain;
	bo->flags = p->flags;
	INIT_LIST_HEAD(&bo->vm_mappings);
	INIT_LIST_HEAD(&bo->users);
	INIT_LIST_HEAD(&bs->attachments);
	vgpu_bo_set_placement(bo, p->domain, gart_addr);
	if (!bs->placement.num_placement) {
		drm_gem_object_release(&bo->tbo.base);
		kfree(bs);
		return -EINVAL;
	}
	if (p->root) {
		drm_gem_object_get(p->root);
		bo->root = p->root;
		resv = p->root->resv;
		dma_resv_lock(resv, NULL);
	}
	if (p->import) {
		/*
		 * Keep a reference, because the destruction of the BO takes the reservation of
		 * the dma-buf.
		 */
		get_dma_buf(p->import);
		bo->import = p->import;
		resv = p->import->resv;
	}
	/* On failure, ttm_bo_init_reserved() destroys the BO, so do not free the BO below. */
	ret = ttm_bo_init_reserved(&vdev->mman->bdev, &bo->tbo, p->type,
				   &bs->placement, align >> PAGE_SHIFT, &ctx,
				   NULL, resv, vgpu_bo_destroy);
	if (ret) {
		if (p->root)
			dma_resv_unlock(resv);
		return ret == -ENOSPC ? -ENOMEM : ret;
	}
	trace_vgpu_bo_create(bo);
	*out = bo;
	return 0;
}

/**
 * vgpu_bo_create() - create a buffer object
 * @vdev: device
 * @p: parameters
 * @out: receives the BO, with one reference
 *
 * May evict other BOs. If vgpu_bo_wants_zeros(), VRAM reads as zero once the fences of usage KERNEL
 * have signalled.
 *
 * Context: sleeps; no reservation is held, except that of @p->import.
 *
 * Return: 0; -EINVAL for invalid parameters; -ENOMEM; -ERESTARTSYS, except for ttm_bo_type_kernel.
 */
int vgpu_bo_create(struct vgpu_device *vdev, const struct vgpu_bo_params *p,
		   struct vgpu_bo **out)
{
	int ret = vgpu_bo_create_reserved(vdev, p, false, out);

	if (!ret && !p->import)
		ttm_bo_unreserve(&(*out)->tbo);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_bo_create);

/**
 * vgpu_bo_put() - drop a reference to a BO
 * @bo: BO
 *
 * If this was the last reference, the memory is freed when the engines have stopped using it.
 */
void vgpu_bo_put(struct vgpu_bo *bo)
{
	drm_gem_object_put(&bo->tbo.base);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_bo_put);

static int bo_bring(struct vgpu_bo *bo, bool interruptible)
{
	struct ttm_operation_ctx ctx = {
		.interruptible = interruptible,
	};
	int ret = ttm_bo_validate(&bo->tbo, &to_bo_state(bo)->placement, &ctx);

	return ret == -ENOSPC ? -ENOMEM : ret;
}

/**
 * vgpu_bo_validate() - move a BO to a domain
 * @bo: BO, reservation held
 * @domain: as in struct vgpu_bo_params; GTT replaces VRAM if vgpu_dma_buf_vram_ok() forbids VRAM
 * @interruptible: signals may end the wait
 *
 * The move may go on after the return, until the fences of usage KERNEL have signalled.
 *
 * Return: 0; -EINVAL for an invalid domain or a BO that is pinned elsewhere; -ENOMEM; -ERESTARTSYS.
 */
int vgpu_bo_validate(struct vgpu_bo *bo, u32 domain, bool interruptible)
{
	KUNIT_STATIC_STUB_REDIRECT(vgpu_bo_validate, bo, domain, interruptible);
	if (domain & AMDGPU_GEM_DOMAIN_VRAM && !vgpu_dma_buf_vram_ok(bo))
		domain = AMDGPU_GEM_DOMAIN_GTT;
	vgpu_bo_set_placement(bo, domain, false);
	if (!to_bo_state(bo)->placement.num_placement)
		return -EINVAL;
	return bo_bring(bo, interruptible);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_bo_validate);

/**
 * vgpu_bo_validate_no_evict() - move a BO to VRAM if VRAM has free space
 * @bo: BO, reservation held
 *
 * Evicts no other BO from VRAM. If VRAM has too little free space, the BO stays in GTT or moves to
 * GTT.
 *
 * Return: as vgpu_bo_validate(), interruptible.
 */
int vgpu_bo_validate_no_evict(struct vgpu_bo *bo)
{
	struct vgpu_bo_state *bs = to_bo_state(bo);

	if (!vgpu_dma_buf_vram_ok(bo))
		return vgpu_bo_validate(bo, AMDGPU_GEM_DOMAIN_GTT, true);
	vgpu_bo_set_placement(bo, AMDGPU_GEM_DOMAIN_VRAM |
			      AMDGPU_GEM_DOMAIN_GTT, false);
	/* With these flags TTM first tries free space in VRAM, evicting no BO, then GTT. */
	bs->places[0].flags |= TTM_PL_FLAG_DESIRED;
	bs->places[1].flags |= TTM_PL_FLAG_FALLBACK;
	return bo_bring(bo, true);
}

/**
 * vgpu_bo_validate_gart() - give a BO an address for VMID 0
 * @bo: BO, reservation held
 *
 * A BO without an address for VMID 0 (vgpu_bo_mc_addr()) moves to GTT and gets a GART address.
 *
 * Return: as vgpu_bo_validate(), interruptible.
 */
int vgpu_bo_validate_gart(struct vgpu_bo *bo)
{
	if (vgpu_bo_mc_addr(bo) != VGPU_MC_NONE)
		return 0;
	vgpu_bo_set_placement(bo, AMDGPU_GEM_DOMAIN_GTT, true);
	return bo_bring(bo, true);
}

/**
 * vgpu_bo_pin() - move a BO to a domain and keep it there
 * @bo: BO, reservation held
 * @domain: as in struct vgpu_bo_params
 *
 * Calls nest: each needs one vgpu_bo_unpin().
 *
 * Return: as vgpu_bo_validate(), but never -ERESTARTSYS.
 */
int vgpu_bo_pin(struct vgpu_bo *bo, u32 domain)
{
	int ret = vgpu_bo_validate(bo, domain, false);

	if (ret)
		return ret;
	ttm_bo_pin(&bo->tbo);
	vgpu_shrink_bo(bo);
	/* Takes the pinned BO off the LRU. TTM would do so only when the BO is unreserved. */
	ttm_bo_move_to_lru_tail_unlocked(&bo->tbo);
	return 0;
}

/**
 * vgpu_bo_unpin() - undo one vgpu_bo_pin()
 * @bo: BO, reservation held
 */
void vgpu_bo_unpin(struct vgpu_bo *bo)
{
	ttm_bo_unpin(&bo->tbo);
	vgpu_shrink_bo(bo);
	ttm_bo_move_to_lru_tail_unlocked(&bo->tbo);
}

/* Time after which a kernel allocation of VRAM no longer waits for free VRAM, in jiffies. */
#define BO_KERNEL_KEPT	(3 * HZ)
/*
 * Maximum number of one-jiffy pauses (vgpu_vram_mgr_wait_kept()) in such an allocation. The limit
 * ends a deadlock if a reservation's holder waits for a lock of the caller.
 */
#define BO_KERNEL_HELD	(HZ / 4)

/*
 * As vgpu_bo_create_reserved(), but waits for free VRAM. A fatal signal ends the wait with -ENOMEM,
 * since callers that create page tables cannot return -ERESTARTSYS.
 */
static int bo_create_patiently(struct vgpu_device *vdev,
			       const struct vgpu_bo_params *p, struct vgpu_bo **out)
{
	unsigned long until = jiffies + BO_KERNEL_KEPT;
	unsigned int frees, held = BO_KERNEL_HELD;
	int ret, waited;

	for (;;) {
		frees = vgpu_vram_mgr_frees(vdev);
		ret = vgpu_bo_create_reserved(vdev, p, true, out);
		if (ret != -ENOMEM || p->domain != AMDGPU_GEM_DOMAIN_VRAM ||
		    time_after(jiffies, until))
			return ret;
		waited = vgpu_vram_mgr_wait_kept(vdev, frees);
		if (waited < 0 || (waited && !--held))
			return ret;
	}
}

/**
 * vgpu_bo_create_kernel() - create a pinned and mapped BO for the driver itself
 * @vdev: device
 * @size: bytes
 * @domain: AMDGPU_GEM_DOMAIN_VRAM (contiguous and zero) or _GTT (not cleared)
 * @out: receives the BO
 * @mc_addr: receives the address for VMID 0, if not NULL
 * @cpu: receives the CPU address (I/O memory if in VRAM), if not NULL
 *
 * Context: sleeps. If VRAM is full, waits and tries again. Gives up at the latest when a try fails
 * more than 3 s after the call began. Reserves other BOs only by trylock, so the caller may hold
 * locks that are taken under reservations.
 *
 * Return: 0, -EINVAL or -ENOMEM.
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

	ret = bo_create_patiently(vdev, &params, &bo);
	if (ret)
		return ret;
	ttm_bo_pin(&bo->tbo);
	virtual = vgpu_bo_kmap(bo);
	if (IS_ERR(virtual))
		ttm_bo_unpin(&bo->tbo);
	else if (mc_addr)
		*mc_addr = vgpu_bo_mc_addr(bo);
	vgpu_shrink_bo(bo);
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
 * @bo: pointer to the BO; *@bo is set to NULL. If *@bo is NULL already, nothing is done
 *
 * The caller ensures that no engine uses the BO any more.
 */
void vgpu_bo_free_kernel(struct vgpu_bo **bo)
{
	if (!*bo)
		return;
	/*
	 * ttm_bo_reserve() cannot fail, because it is neither interruptible nor called with a
	 * ticket.
	 */
	ttm_bo_reserve(&(*bo)->tbo, false, false, NULL);
	vgpu_bo_kunmap(*bo);
	ttm_bo_unpin(&(*bo)->tbo);
	vgpu_shrink_bo(*bo);
	ttm_bo_unreserve(&(*bo)->tbo);
	vgpu_bo_put(*bo);
	*bo = NULL;
}
