// SPDX-License-Identifier: GPL-2.0
/*
 * Returns the addresses of a BO for the kernel, for mmap() by user space and for VMID 0, and
 * implements the VMA operations of CPU mappings.
 */
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_drv.h>
#include <drm/drm_vma_manager.h>
#include <kunit/visibility.h>

#include "hw/vgpu_gart.h"
#include "hw/vgpu_hw.h"
#include "hw/vgpu_io.h"
#include "vgpu_mm_priv.h"
#include "vgpu_res_cursor.h"

/**
 * vgpu_bo_kmap() - map a BO for the kernel
 * @bo: BO, reservation held, pinned until vgpu_bo_kunmap()
 *
 * Waits for moves. Calls nest, and all of them return the same address.
 *
 * Return: the address, in I/O memory if the BO is in a BAR; or ERR_PTR():
 *
 * * -EINVAL: the BO has no memory, or is in VRAM that is not contiguous
 * * -ENOMEM
 */
void *vgpu_bo_kmap(struct vgpu_bo *bo)
{
	struct vgpu_bo_state *bs = to_bo_state(bo);
	struct ttm_resource *res = bo->tbo.resource;
	int ret;

	dma_resv_assert_held(bo->tbo.base.resv);
	WARN_ON_ONCE(!bo->tbo.pin_count);

	if (bs->kmaps) {
		bs->kmaps++;
		return bs->kmap.virtual;
	}
	if (!res || (res->mem_type == TTM_PL_VRAM &&
		     !(res->placement & TTM_PL_FLAG_CONTIGUOUS)))
		return ERR_PTR(-EINVAL);
	dma_resv_wait_timeout(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL, false,
			      MAX_SCHEDULE_TIMEOUT);
	ret = ttm_bo_kmap(&bo->tbo, 0, PFN_UP(bo->tbo.base.size), &bs->kmap);
	if (ret) {
		bs->kmap.virtual = NULL;
		return ERR_PTR(ret);
	}
	bs->kmaps = 1;
	return bs->kmap.virtual;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_bo_kmap);

/**
 * vgpu_bo_kunmap() - undo one vgpu_bo_kmap()
 * @bo: BO, reservation held; the caller has kept the BO pinned since vgpu_bo_kmap()
 */
void vgpu_bo_kunmap(struct vgpu_bo *bo)
{
	struct vgpu_bo_state *bs = to_bo_state(bo);

	dma_resv_assert_held(bo->tbo.base.resv);

	if (!WARN_ON_ONCE(!bs->kmaps) && !--bs->kmaps)
		ttm_bo_kunmap(&bs->kmap);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_bo_kunmap);

/**
 * vgpu_bo_cpu_addr() - get the kernel's address of one byte of a BO
 * @bo: BO, reservation held, in VRAM or populated system memory
 * @offset: offset of the byte in the BO
 * @is_io: receives true for I/O memory
 *
 * Does not wait for moves. Use the address only up to the end of the page, and only until the BO
 * moves.
 *
 * Return: the address; ERR_PTR(-EINVAL) if @offset is not in the BO, or if @bo is in other memory.
 */
void *vgpu_bo_cpu_addr(struct vgpu_bo *bo, u64 offset, bool *is_io)
{
	struct ttm_buffer_object *tbo = &bo->tbo;
	struct vgpu_res_cursor cur;

	dma_resv_assert_held(tbo->base.resv);

	if (offset >= tbo->base.size || !tbo->resource)
		return ERR_PTR(-EINVAL);
	*is_io = tbo->resource->mem_type == TTM_PL_VRAM;
	if (*is_io) {
		vgpu_res_first(tbo->resource, offset, 1, &cur);
		return (void __force *)bo->vdev->hw->vram + cur.start;
	}
	if (tbo->resource->mem_type >= TTM_PL_PRIV || !tbo->ttm ||
	    !tbo->ttm->pages || !ttm_tt_is_populated(tbo->ttm))
		return ERR_PTR(-EINVAL);
	return page_address(tbo->ttm->pages[offset >> PAGE_SHIFT]) +
	       offset_in_page(offset);
}

/**
 * vgpu_bo_mc_addr() - get the address of a BO for VMID 0
 * @bo: BO; the caller keeps the BO from moving
 *
 * Return: the address if the BO is in contiguous VRAM, or if the BO is in GTT and has a GART
 * address; else VGPU_MC_NONE.
 */
u64 vgpu_bo_mc_addr(struct vgpu_bo *bo)
{
	struct ttm_resource *res = bo->tbo.resource;
	u64 offset;

	if (!res)
		return VGPU_MC_NONE;
	offset = (u64)res->start << PAGE_SHIFT;
	if (res->mem_type == TTM_PL_VRAM &&
	    res->placement & TTM_PL_FLAG_CONTIGUOUS)
		return bo->vdev->hw->fb_base + offset;
	if (res->mem_type == TTM_PL_TT && vgpu_gtt_mgr_has_gart_addr(res))
		return vgpu_gart_start(bo->vdev) + offset;
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
 * vgpu_bo_vram_offset() - offset of a contiguous BO in VRAM
 * @bo: contiguous BO in VRAM that cannot move
 *
 * Return: bytes from the start of VRAM.
 */
u64 vgpu_bo_vram_offset(struct vgpu_bo *bo)
{
	return vgpu_bo_start(bo, TTM_PL_VRAM);
}

/**
 * vgpu_bo_doorbell_offset() - offset of a BO in the doorbell BAR
 * @bo: BO of AMDGPU_GEM_DOMAIN_DOORBELL that cannot move
 *
 * Return: bytes from the start of BAR 2.
 */
u64 vgpu_bo_doorbell_offset(struct vgpu_bo *bo)
{
	return vgpu_bo_start(bo, VGPU_PL_DOORBELL);
}

/**
 * vgpu_bo_mmap_offset() - get the offset at which mmap() of the render node maps a BO
 * @bo: BO of ttm_bo_type_device
 *
 * Return: the offset, in bytes.
 */
u64 vgpu_bo_mmap_offset(struct vgpu_bo *bo)
{
	return drm_vma_node_offset_addr(&bo->tbo.base.vma_node);
}

/*
 * Returns true if the BO is in a BAR, which the CPU cannot reach during a reset. The caller holds
 * the reservation.
 */
static bool bo_is_in_bar(const struct ttm_buffer_object *tbo)
{
	return tbo->resource && tbo->resource->mem_type != TTM_PL_SYSTEM &&
	       tbo->resource->mem_type != TTM_PL_TT;
}

/*
 * Wait until the BO's moves are done. The caller holds the reservation. Returns 0 with the
 * reservation held, or a value for the fault handler to return, with the reservation dropped.
 */
static vm_fault_t bo_fault_idle(struct ttm_buffer_object *tbo, struct vm_fault *vmf)
{
	struct dma_resv *resv = tbo->base.resv;
	bool unlock = fault_flag_allow_retry_first(vmf->flags);
	vm_fault_t ret = unlock ? VM_FAULT_RETRY : 0;
	long left;

	if (dma_resv_test_signaled(resv, DMA_RESV_USAGE_KERNEL))
		return 0;
	if (unlock && vmf->flags & FAULT_FLAG_RETRY_NOWAIT) {
		dma_resv_unlock(resv);
		return ret;
	}
	if (unlock) {
		/*
		 * Take a TTM reference, because after the fault lock is dropped another thread may
		 * unmap the VMA, which drops the VMA's reference to the BO.
		 */
		ttm_bo_get(tbo);
		release_fault_lock(vmf);
	}
	left = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, true,
				     MAX_SCHEDULE_TIMEOUT);
	if (!unlock && left < 0)
		ret = VM_FAULT_NOPAGE;	/* user space handles the signal, then repeats the access */
	if (ret)
		dma_resv_unlock(resv);
	if (unlock)
		ttm_bo_put(tbo);
	return ret;
}

/*
 * Insert the faulting page and some pages after it. If the device was unplugged, insert a dummy
 * page instead. The caller holds the reservation.
 */
static vm_fault_t bo_fault_insert(struct ttm_buffer_object *tbo, struct vm_fault *vmf)
{
	bool swapped = vgpu_swapin_needed(tbo);
	pgprot_t prot = vmf->vma->vm_page_prot;
	unsigned long start = jiffies;
	vm_fault_t ret;
	int idx;

	if (!drm_dev_enter(tbo->base.dev, &idx))
		return ttm_bo_vm_dummy_page(vmf, prot);
	ret = ttm_bo_vm_fault_reserved(vmf, prot, TTM_BO_VM_NUM_PREFAULT);
	/* With VM_FAULT_NOPAGE, TTM has inserted pages and keeps the reservation. */
	if (swapped && ret == VM_FAULT_NOPAGE && !vgpu_swapin_needed(tbo))
		vgpu_swapin_done(to_vgpu_bo(tbo), start, jiffies);
	drm_dev_exit(idx);
	return ret;
}

/* As ttm_bo_vm_fault(), but inserts no pages of a BAR while the device is being reset. */
static vm_fault_t vgpu_bo_vm_fault(struct vm_fault *vmf)
{
	struct ttm_buffer_object *tbo = vmf->vma->vm_private_data;
	struct vgpu_device *vdev = bdev_to_vgpu(tbo->bdev);
	bool closed = false;
	vm_fault_t ret;
	int token;

	ret = ttm_bo_vm_reserve(tbo, vmf);
	if (ret)
		return ret;
	if (bo_is_in_bar(tbo)) {
		/*
		 * Wait for moves before vgpu_io_map_begin(). A later wait could deadlock: fences of
		 * moves may wait for a reset, and the reset waits for vgpu_io_map_end().
		 */
		ret = bo_fault_idle(tbo, vmf);
		if (ret)
			return ret;
		vgpu_io_map_begin(&token);
		closed = vgpu_io_map_is_closed(vdev);
		if (!closed)
			ret = bo_fault_insert(tbo, vmf);
		vgpu_io_map_end(token);
	} else {
		ret = bo_fault_insert(tbo, vmf);
	}
	if (closed) {
		dma_resv_unlock(tbo->base.resv);
		return vgpu_io_map_wait(vdev, vmf);
	}
	/*
	 * If TTM waited for a move, it has dropped the reservation and returned
	 * VM_FAULT_RETRY. With FAULT_FLAG_RETRY_NOWAIT, TTM returns VM_FAULT_RETRY without a
	 * wait and keeps the reservation.
	 */
	if (ret != VM_FAULT_RETRY || vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		dma_resv_unlock(tbo->base.resv);
	return ret;
}

/* Access system memory of a BO, even if it was swapped out. The caller holds the reservation. */
static int bo_access_pages(struct ttm_buffer_object *tbo, unsigned long offset,
			   void *buf, int len, int write)
{
	struct ttm_bo_kmap_obj map;
	int done, n, ret;
	bool is_io;
	void *p;

	for (done = 0; done < len; done += n, offset += n) {
		n = min_t(unsigned long, len - done,
			  PAGE_SIZE - offset_in_page(offset));
		ret = ttm_bo_kmap(tbo, offset >> PAGE_SHIFT, 1, &map);
		if (ret)
			return ret;
		p = ttm_kmap_obj_virtual(&map, &is_io) + offset_in_page(offset);
		if (write)
			memcpy(p, buf + done, n);
		else
			memcpy(buf + done, p, n);
		ttm_bo_kunmap(&map);
	}
	return len;
}

/*
 * Wait until the BO's moves are done. The reservation is held. Only a fatal signal interrupts the
 * wait. If other signals did so, accesses by a debugger would fail with -EIO.
 */
static int bo_await_moves(struct ttm_buffer_object *tbo)
{
	long left = 0;

	while (!left) {
		if (fatal_signal_pending(current))
			return -EINTR;
		/* dma_resv has no killable wait, so test for a fatal signal every 100 ms. */
		left = dma_resv_wait_timeout(tbo->base.resv,
					     DMA_RESV_USAGE_KERNEL, false,
					     HZ / 10);
	}
	return left < 0 ? left : 0;
}

/*
 * Wait for moves, then access the BO's memory. The caller holds the reservation and has called
 * drm_dev_enter().
 */
static int bo_access(struct ttm_buffer_object *tbo, unsigned long offset,
		     void *buf, int len, int write)
{
	int ret = bo_await_moves(tbo);

	if (ret)
		return ret;
	if (!tbo->resource)
		return -EIO;
	if (tbo->resource->mem_type == TTM_PL_SYSTEM ||
	    tbo->resource->mem_type == TTM_PL_TT)
		return bo_access_pages(tbo, offset, buf, len, write);
	return tbo->bdev->funcs->access_memory(tbo, offset, buf, len, write);
}

/*
 * Handles accesses by ptrace and /proc/PID/mem. ttm_bo_vm_access() would not wait for moves, and
 * could read pages that are not filled yet.
 */
static int vgpu_bo_vm_access(struct vm_area_struct *vma, unsigned long addr,
			     void *buf, int len, int write)
{
	struct ttm_buffer_object *tbo = vma->vm_private_data;
	unsigned long page = vma->vm_pgoff -
			     drm_vma_node_start(&tbo->base.vma_node);
	unsigned long offset = addr - vma->vm_start + (page << PAGE_SHIFT);
	int idx, ret;

	if (len < 1 || offset > tbo->base.size || len > tbo->base.size - offset)
		return -EIO;
	if (!drm_dev_enter(tbo->base.dev, &idx))
		return -EIO;
	ret = ttm_bo_reserve(tbo, true, false, NULL);
	if (!ret) {
		ret = bo_access(tbo, offset, buf, len, write);
		ttm_bo_unreserve(tbo);
	}
	drm_dev_exit(idx);
	return ret;
}

const struct vm_operations_struct vgpu_bo_vm_ops = {
	.fault = vgpu_bo_vm_fault,
	.open = ttm_bo_vm_open,
	.close = ttm_bo_vm_close,
	.access = vgpu_bo_vm_access,
};
EXPORT_SYMBOL_IF_KUNIT(vgpu_bo_vm_ops);
