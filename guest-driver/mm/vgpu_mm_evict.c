// SPDX-License-Identifier: GPL-2.0
/* VRAM or GTT is emptied: for good, or once, while everybody goes on working. */
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

#include "vgpu_mm_priv.h"

/* How long BOs are asked again that cannot leave, since another one has left. */
#define MM_EVICT_PATIENCE	(2 * HZ)

/* 0 it is not there any more, -EINTR it cannot leave just now, -ERESTARTSYS, … */
static int mm_evict_bo(struct ttm_buffer_object *tbo, u32 mem_type)
{
	struct ttm_operation_ctx ctx = { .interruptible = true };
	struct ttm_placement placement = { };
	int ret;

	ret = ttm_bo_reserve(tbo, true, false, NULL);
	if (ret)
		return ret;
	if (vgpu_bo_is_ours(tbo) && !tbo->deleted && !tbo->pin_count &&
	    tbo->resource && tbo->resource->mem_type == mem_type) {
		vgpu_ttm_evict_flags(tbo, &placement);
		ret = ttm_bo_validate(tbo, &placement, &ctx);
	}
	ttm_bo_unreserve(tbo);
	return ret;
}

static int mm_evict_patiently(struct ttm_buffer_object *tbo, u32 mem_type,
			      unsigned long until)
{
	int ret;

	for (;;) {
		ret = mm_evict_bo(tbo, mem_type);
		if (ret != -EINTR)
			return ret;
		if (signal_pending(current))
			return -ERESTARTSYS;
		if (time_after(jiffies, until))
			return -EBUSY;
		/* Somebody is at work there, of whose end nobody tells. */
		schedule_timeout_interruptible(1);
	}
}

static int mm_await_copies(const struct vgpu_mm_held *held)
{
	long left = 0;
	size_t i;

	for (i = 0; i < held->num && left >= 0; i++)
		left = dma_resv_wait_timeout(held->bos[i]->base.resv,
					     DMA_RESV_USAGE_KERNEL, true,
					     MAX_SCHEDULE_TIMEOUT);
	return left < 0 ? left : 0;
}

/**
 * vgpu_mm_evict_once() - empty VRAM or GTT of what is in it now
 * @vdev: device
 * @mem_type: TTM_PL_VRAM or TTM_PL_TT
 *
 * What is not pinned leaves, of processes with queues as well, which then come
 * back: also while the rest is leaving. Waits until the memory has been copied.
 *
 * Return: 0; -EBUSY some of it could not leave, or another negative errno: the rest
 * has left; -ERESTARTSYS.
 */
int vgpu_mm_evict_once(struct vgpu_device *vdev, u32 mem_type)
{
	unsigned long until = jiffies + MM_EVICT_PATIENCE;
	struct vgpu_mm_held held = { };
	int r, ret = 0;
	size_t i;

	vgpu_mm_hold(&held, &vdev->mman->bdev, BIT(mem_type), false);
	for (i = 0; i < held.num && ret != -ERESTARTSYS; i++) {
		r = mm_evict_patiently(held.bos[i], mem_type, until);
		if (!r)
			until = jiffies + MM_EVICT_PATIENCE;
		if (r == -ERESTARTSYS || !ret)
			ret = r;
	}
	if (ret != -ERESTARTSYS) {
		r = mm_await_copies(&held);
		ret = r ?: ret;
	}
	vgpu_mm_let_go(&held);
	return ret;
}

/**
 * vgpu_mm_evict_all() - empty VRAM or GTT
 * @vdev: device; nobody brings anything back meanwhile, or there is no end
 * @mem_type: TTM_PL_VRAM or TTM_PL_TT
 *
 * Evicts what is not pinned. Waits until the memory has been copied.
 *
 * Return: 0, -EBUSY if some of it cannot leave just now, or another negative errno.
 */
int vgpu_mm_evict_all(struct vgpu_device *vdev, u32 mem_type)
{
	struct ttm_device *bdev = &vdev->mman->bdev;
	struct ttm_resource_manager *man = ttm_manager_type(bdev, mem_type);
	unsigned long until = jiffies + MM_EVICT_PATIENCE;
	u64 before;
	int ret;

	/*
	 * One was pinned meanwhile (vgpu_ttm_move()): on with the others. Or its
	 * owner has not let go of it: somebody is at work there, of whose end
	 * nobody tells.
	 */
	for (;;) {
		before = ttm_resource_manager_usage(man);
		ret = ttm_resource_manager_evict_all(bdev, man);
		if (ret != -EINTR)
			break;
		if (ttm_resource_manager_usage(man) < before) {
			until = jiffies + MM_EVICT_PATIENCE;
			continue;
		}
		if (time_after(jiffies, until))
			break;
		schedule_timeout_uninterruptible(1);
	}
	return ret == -EINTR ? -EBUSY : ret;
}
