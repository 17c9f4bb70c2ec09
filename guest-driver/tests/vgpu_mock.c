// SPDX-License-Identifier: GPL-2.0
/* See vgpu_mock.h. */
#include <linux/module.h>
#include <linux/version.h>

#include "vgpu_mock.h"

static void vgpu_mock_fini(void *arg)
{
	struct vgpu_mock *mock = arg;

	vgpu_gtt_mgr_fini(&mock->vdev);
	vgpu_vram_mgr_fini(&mock->vdev);
}

struct vgpu_mock *vgpu_mock_new(struct kunit *test)
{
	struct vgpu_mock *mock;
	struct ttm_device *bdev;

	mock = kunit_kzalloc(test, sizeof(*mock), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mock);
	prandom_seed_state(&mock->rnd, VGPU_MOCK_SEED);

	/* As much of TTM's device as resource managers touch. */
	bdev = &mock->vdev.mman.bdev;
	spin_lock_init(&bdev->lru_lock);
	INIT_LIST_HEAD(&bdev->pinned);
	mock->bo.vdev = &mock->vdev;
	mock->bo.tbo.bdev = bdev;
	mock->vdev.hw.gart.pages = VGPU_MOCK_GART_PAGES;

	KUNIT_ASSERT_EQ(test, vgpu_vram_mgr_init(&mock->vdev, VGPU_MOCK_VRAM),
			0);
	KUNIT_ASSERT_EQ(test, vgpu_gtt_mgr_init(&mock->vdev, VGPU_MOCK_GTT), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, vgpu_mock_fini,
							mock), 0);
	return mock;
}

u64 vgpu_mock_random(struct vgpu_mock *mock, u64 bound)
{
	u64 value = (u64)prandom_u32_state(&mock->rnd) << 32 |
		    prandom_u32_state(&mock->rnd);

	return value % bound;
}

int vgpu_mock_alloc(struct vgpu_mock *mock, u64 pages, u32 align,
		    const struct ttm_place *place, struct ttm_resource **res)
{
	struct ttm_resource_manager *man;

	man = ttm_manager_type(&mock->vdev.mman.bdev, place->mem_type);
	mock->bo.tbo.base.size = pages << PAGE_SHIFT;
	mock->bo.tbo.page_alignment = align;
	return man->func->alloc(man, &mock->bo.tbo, place, res);
}

void vgpu_mock_free(struct vgpu_mock *mock, struct ttm_resource *res)
{
	struct ttm_resource_manager *man;

	man = ttm_manager_type(&mock->vdev.mman.bdev, res->mem_type);
	man->func->free(man, res);
}

u64 vgpu_mock_usage(struct vgpu_mock *mock, u32 mem_type)
{
	struct ttm_device *bdev = &mock->vdev.mman.bdev;

	return ttm_resource_manager_usage(ttm_manager_type(bdev, mem_type));
}

u64 vgpu_mock_vram_pages(struct vgpu_mock *mock, struct ttm_resource *res,
			 u64 *pages)
{
	struct vgpu_vram_resource *vres = to_vgpu_vram_resource(res);
	struct gpu_buddy_block *block;
	u64 n = 0, total = PFN_UP(res->size);

	list_for_each_entry(block, &vres->blocks, link) {
		u64 at = gpu_buddy_block_offset(block);
		u64 left = gpu_buddy_block_size(&mock->vdev.mman.vram.mm,
						block);

		for (; left && n < total; left -= PAGE_SIZE, at += PAGE_SIZE)
			pages[n++] = at;
	}
	return n;
}

MODULE_DESCRIPTION("vgpu-kfd: unit tests");
MODULE_LICENSE("GPL");
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
#else
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
#endif
