// SPDX-License-Identifier: GPL-2.0
/*
 * VRAM or GTT is emptied: once, while everybody goes on working (vgpu_mm_evict_once()),
 * or for good (vgpu_mm_evict_all()). When the device goes, no BO keeps memory that DMA
 * reaches (vgpu_mm_unmap_dma()).
 */
#include <kunit/visibility.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "vgpu_mm_priv.h"

/* Time for the next BO to leave, after which the others are said to be unable to. */
#define MM_EVICT_PATIENCE	(2 * HZ)

/**
 * struct mm_bos - references to BOs
 * @bos: BOs
 * @num: how many
 * @max: room in @bos
 * @no_room: how many did not fit
 * @going: how many had no reference any more
 */
struct mm_bos {
	struct ttm_buffer_object **bos;
	size_t num;
	size_t max;
	size_t no_room;
	size_t going;
};

static void mm_get_list(struct mm_bos *held, struct list_head *list)
{
	struct ttm_buffer_object *tbo;
	struct ttm_lru_item *item;

	list_for_each_entry(item, list, link) {
		if (!ttm_lru_item_is_res(item))
			continue;
		tbo = ttm_lru_item_to_res(item)->bo;
		if (held->num == held->max)
			held->no_room++;
		else if (!ttm_bo_get_unless_zero(tbo))
			held->going++;
		else
			held->bos[held->num++] = tbo;
	}
}

/* Drops the references and frees what held them. */
static void mm_put_bos(struct mm_bos *held)
{
	while (held->num)
		ttm_bo_put(held->bos[--held->num]);
	kvfree(held->bos);
	held->bos = NULL;
	held->max = 0;
}

/*
 * Takes a reference of each BO that is in the memory @types (a bit each) now, and if
 * @pinned of those that are pinned, of any type. @held is empty. Sleeps, cannot fail.
 */
static void mm_get_bos(struct mm_bos *held, struct ttm_device *bdev, u32 types,
		       bool pinned)
{
	struct ttm_resource_manager *man;
	unsigned int i, j;

	for (;;) {
		size_t want;

		held->no_room = 0;
		held->going = 0;
		spin_lock(&bdev->lru_lock);
		if (pinned)
			mm_get_list(held, &bdev->pinned);
		for (i = 0; i < TTM_NUM_MEM_TYPES; i++) {
			man = types & BIT(i) ? ttm_manager_type(bdev, i) : NULL;
			for (j = 0; man && j < ARRAY_SIZE(man->lru); j++)
				mm_get_list(held, &man->lru[j]);
		}
		spin_unlock(&bdev->lru_lock);
		want = held->num + held->no_room + held->going;
		if (!held->no_room)
			return;
		mm_put_bos(held);
		held->bos = kvmalloc_array(want, sizeof(*held->bos),
					   GFP_KERNEL | __GFP_NOFAIL);
		held->max = want;
	}
}

/*
 * Take @tbo out of the memory @mem_type. What a BO is, is looked at under its reservation:
 * it may have been pinned or moved since it was listed.
 *
 * Return: 0 it is not there, or is pinned; -EBUSY it cannot leave just now; -ERESTARTSYS
 * if @interruptible; another negative errno.
 */
static int mm_evict_bo(struct ttm_buffer_object *tbo, u32 mem_type, bool interruptible)
{
	struct ttm_operation_ctx ctx = { .interruptible = interruptible };
	struct ttm_placement placement = { };
	int ret;

	ret = ttm_bo_reserve(tbo, interruptible, false, NULL);
	if (ret)
		return ret;
	if (tbo->pin_count) {
		/* To the list of pinned BOs, if it is not there yet. */
		ttm_bo_move_to_lru_tail_unlocked(tbo);
	} else if (vgpu_bo_is_ours(tbo) && !tbo->deleted && tbo->resource &&
		   tbo->resource->mem_type == mem_type) {
		vgpu_ttm_evict_flags(tbo, &placement);
		ret = ttm_bo_validate(tbo, &placement, &ctx);
	}
	ttm_bo_unreserve(tbo);
	return ret;
}

static int mm_evict_patiently(struct ttm_buffer_object *tbo, u32 mem_type,
			      bool interruptible, unsigned long until)
{
	int ret;

	for (;;) {
		ret = mm_evict_bo(tbo, mem_type, interruptible);
		if (ret != -EBUSY)
			return ret;
		if (interruptible && signal_pending(current))
			return -ERESTARTSYS;
		if (time_after(jiffies, until))
			return -EBUSY;
		/* The holder of a page of the BO does not signal when it lets go. */
		if (interruptible)
			schedule_timeout_interruptible(1);
		else
			schedule_timeout_uninterruptible(1);
	}
}

static int mm_await_copies(const struct mm_bos *held, bool interruptible)
{
	long left = 0;
	size_t i;

	for (i = 0; i < held->num && left >= 0; i++)
		left = dma_resv_wait_timeout(held->bos[i]->base.resv,
					     DMA_RESV_USAGE_KERNEL, interruptible,
					     MAX_SCHEDULE_TIMEOUT);
	return left < 0 ? left : 0;
}

/*
 * Take each BO of @held out of @mem_type and wait for the copies. The BOs behind one that
 * cannot leave are tried as well.
 */
static int mm_evict_held(const struct mm_bos *held, u32 mem_type, bool interruptible)
{
	unsigned long until = jiffies + MM_EVICT_PATIENCE;
	int r, ret = 0;
	size_t i;

	for (i = 0; i < held->num && ret != -ERESTARTSYS; i++) {
		r = mm_evict_patiently(held->bos[i], mem_type, interruptible, until);
		if (!r)
			until = jiffies + MM_EVICT_PATIENCE;
		if (r == -ERESTARTSYS || !ret)
			ret = r;
	}
	if (ret != -ERESTARTSYS) {
		r = mm_await_copies(held, interruptible);
		ret = r ?: ret;
	}
	return ret;
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
	struct mm_bos held = { };
	int ret;

	mm_get_bos(&held, &vdev->mman->bdev, BIT(mem_type), false);
	ret = mm_evict_held(&held, mem_type, true);
	mm_put_bos(&held);
	return ret;
}

/**
 * vgpu_mm_evict_all() - empty VRAM or GTT
 * @vdev: device
 * @mem_type: TTM_PL_VRAM or TTM_PL_TT
 *
 * Evicts what is not pinned, also what others bring there meanwhile. Waits until what it
 * evicts has been copied. Not by ttm_resource_manager_evict_all(): that does not look again
 * whether a BO was pinned while it waited for the reservation, and stops at the first BO that
 * cannot leave.
 *
 * Return: 0; -EBUSY if something cannot leave, or others bring back as much as leaves;
 * another negative errno.
 */
int vgpu_mm_evict_all(struct vgpu_device *vdev, u32 mem_type)
{
	struct ttm_device *bdev = &vdev->mman->bdev;
	struct ttm_resource_manager *man = ttm_manager_type(bdev, mem_type);
	unsigned long until = jiffies + MM_EVICT_PATIENCE;
	struct mm_bos held = { };
	u64 usage, least = U64_MAX;
	int ret;

	for (;;) {
		mm_get_bos(&held, bdev, BIT(mem_type), false);
		if (!held.num && !held.going) {
			mm_put_bos(&held);
			return 0;
		}
		ret = mm_evict_held(&held, mem_type, false);
		mm_put_bos(&held);
		if (ret)
			return ret;
		/*
		 * BOs that are being destroyed are on the list until their memory is free,
		 * which TTM does not signal.
		 */
		schedule_timeout_uninterruptible(1);
		usage = ttm_resource_manager_usage(man);
		if (usage < least) {
			least = usage;
			until = jiffies + MM_EVICT_PATIENCE;
		} else if (time_after(jiffies, until)) {
			return -EBUSY;
		}
	}
}

/**
 * vgpu_mm_unmap_dma() - take away the memory that DMA reaches from every BO
 * @mman: of a device that runs nothing any more and gets no new BOs
 *
 * BOs may be released meanwhile, by processes that end. TTM's function neither
 * expects one whose last reference is gone, but which is on a list yet (it
 * waits for ever, with the lock that the other needs), nor one that the
 * workqueue destroys. So there is none while it runs: each has a reference.
 */
void vgpu_mm_unmap_dma(struct vgpu_mman *mman)
{
	struct ttm_device *bdev = &mman->bdev;
	struct mm_bos held = { };
	u32 types = 0;
	unsigned int i;

	for (i = 0; i < TTM_NUM_MEM_TYPES; i++)
		if (ttm_manager_type(bdev, i) && ttm_manager_type(bdev, i)->use_tt)
			types |= BIT(i);
	for (;;) {
		mm_get_bos(&held, bdev, types, true);
		if (!held.going)
			break;
		mm_put_bos(&held);
		/* TTM has nothing that tells when a release is done. */
		schedule_timeout_uninterruptible(1);
	}
	flush_workqueue(bdev->wq);
	ttm_device_clear_dma_mappings(bdev);
	mm_put_bos(&held);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mm_unmap_dma);
