// SPDX-License-Identifier: GPL-2.0
/* All BOs that there are, and: the device has gone, none keeps memory that DMA reaches. */
#include <kunit/visibility.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "vgpu_mm_priv.h"

static void mm_hold_list(struct vgpu_mm_held *held, struct list_head *list)
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

void vgpu_mm_hold(struct vgpu_mm_held *held, struct ttm_device *bdev, u32 types,
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
			mm_hold_list(held, &bdev->pinned);
		for (i = 0; i < TTM_NUM_MEM_TYPES; i++) {
			man = types & BIT(i) ? ttm_manager_type(bdev, i) : NULL;
			for (j = 0; man && j < ARRAY_SIZE(man->lru); j++)
				mm_hold_list(held, &man->lru[j]);
		}
		spin_unlock(&bdev->lru_lock);
		want = held->num + held->no_room + held->going;
		if (!held->no_room)
			return;
		vgpu_mm_let_go(held);
		held->bos = kvmalloc_array(want, sizeof(*held->bos),
					   GFP_KERNEL | __GFP_NOFAIL);
		held->max = want;
	}
}

void vgpu_mm_let_go(struct vgpu_mm_held *held)
{
	while (held->num)
		ttm_bo_put(held->bos[--held->num]);
	kvfree(held->bos);
	held->bos = NULL;
	held->max = 0;
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
	struct vgpu_mm_held held = { };
	u32 types = 0;
	unsigned int i;

	for (i = 0; i < TTM_NUM_MEM_TYPES; i++)
		if (ttm_manager_type(bdev, i) && ttm_manager_type(bdev, i)->use_tt)
			types |= BIT(i);
	for (;;) {
		vgpu_mm_hold(&held, bdev, types, true);
		if (!held.going)
			break;
		vgpu_mm_let_go(&held);
		/* TTM has nothing that tells when a release is done. */
		schedule_timeout_uninterruptible(1);
	}
	flush_workqueue(bdev->wq);
	ttm_device_clear_dma_mappings(bdev);
	vgpu_mm_let_go(&held);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mm_unmap_dma);
