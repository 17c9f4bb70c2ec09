// SPDX-License-Identifier: GPL-2.0
/* The device has gone: no BO keeps memory that DMA reaches. */
#include <kunit/visibility.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "vgpu_mm_priv.h"

/* References to BOs; @missed are those for which there was none, or no room. */
struct mm_held {
	struct ttm_buffer_object **bos;
	size_t num;
	size_t max;
	size_t missed;
};

static void mm_hold_list(struct mm_held *held, struct list_head *list)
{
	struct ttm_buffer_object *tbo;
	struct ttm_lru_item *item;

	list_for_each_entry(item, list, link) {
		if (!ttm_lru_item_is_res(item))
			continue;
		tbo = ttm_lru_item_to_res(item)->bo;
		if (held->num == held->max || !ttm_bo_get_unless_zero(tbo))
			held->missed++;
		else
			held->bos[held->num++] = tbo;
	}
}

static void mm_hold(struct mm_held *held, struct ttm_device *bdev)
{
	struct ttm_resource_manager *man;
	unsigned int i, j;

	spin_lock(&bdev->lru_lock);
	mm_hold_list(held, &bdev->pinned);
	for (i = 0; i < TTM_NUM_MEM_TYPES; i++) {
		man = ttm_manager_type(bdev, i);
		for (j = 0; man && man->use_tt && j < ARRAY_SIZE(man->lru); j++)
			mm_hold_list(held, &man->lru[j]);
	}
	spin_unlock(&bdev->lru_lock);
}

static void mm_let_go(struct mm_held *held)
{
	while (held->num)
		ttm_bo_put(held->bos[--held->num]);
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
	struct mm_held held = { };

	for (mm_hold(&held, bdev); held.missed; mm_hold(&held, bdev)) {
		size_t want = held.num + held.missed;

		mm_let_go(&held);
		if (want > held.max) {
			kvfree(held.bos);
			held.bos = kvmalloc_array(want, sizeof(*held.bos),
						  GFP_KERNEL | __GFP_NOFAIL);
			held.max = want;
		} else {
			/* TTM has nothing that tells when a release is done. */
			schedule_timeout_uninterruptible(1);
		}
		held.missed = 0;
	}
	flush_workqueue(bdev->wq);
	ttm_device_clear_dma_mappings(bdev);
	mm_let_go(&held);
	kvfree(held.bos);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mm_unmap_dma);
