// SPDX-License-Identifier: GPL-2.0
/*
 * Test vgpu_mm_unmap_dma() (mm/vgpu_mm_evict.c) with BOs that are released while the device is
 * removed. Catches: the wait for a BO's release holds the lock that the release needs
 * (deadlock); a BO is skipped; a reference is leaked.
 */
#include <linux/kthread.h>
#include <kunit/resource.h>

#include "tests/lib/vgpu_mock.h"

#define UNMAP_BOS	5u

static const struct ttm_place unmap_gtt = { .mem_type = TTM_PL_TT };

struct unmap {
	struct vgpu_mock *mock;
	struct ttm_buffer_object bos[UNMAP_BOS];
	struct ttm_resource *res[UNMAP_BOS];
	struct task_struct *task;
	struct completion done;
};

KUNIT_DEFINE_ACTION_WRAPPER(unmap_destroy_wq, destroy_workqueue,
			    struct workqueue_struct *);

/* Create BOs in GTT without pages. The BO with index 1 is pinned. */
static struct unmap *unmap_new(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_device *bdev = &mock->vdev.mman->bdev;
	struct unmap *u;
	unsigned int i;

	u = kunit_kzalloc(test, sizeof(*u), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, u);
	u->mock = mock;
	init_completion(&u->done);
	bdev->wq = alloc_workqueue("vgpu-unmap-test", 0, 0);
	KUNIT_ASSERT_NOT_NULL(test, bdev->wq);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, unmap_destroy_wq,
						  bdev->wq), 0);
	for (i = 0; i < UNMAP_BOS; i++) {
		struct ttm_buffer_object *tbo = &u->bos[i];
		struct ttm_resource_manager *man;

		tbo->bdev = bdev;
		tbo->base.size = PAGE_SIZE;
		tbo->pin_count = i == 1;
		kref_init(&tbo->kref);
		man = ttm_manager_type(bdev, TTM_PL_TT);
		KUNIT_ASSERT_EQ(test, man->func->alloc(man, tbo, &unmap_gtt,
						       &u->res[i]), 0);
		tbo->resource = u->res[i];
	}
	return u;
}

static bool unmap_listed(struct unmap *u, unsigned int i)
{
	struct ttm_device *bdev = &u->mock->vdev.mman->bdev;
	bool listed;

	spin_lock(&bdev->lru_lock);
	listed = !list_empty(&u->res[i]->lru.link);
	spin_unlock(&bdev->lru_lock);
	return listed;
}

static void unmap_check(struct kunit *test, struct unmap *u, unsigned int i)
{
	KUNIT_EXPECT_FALSE_MSG(test, unmap_listed(u, i), "BO %u", i);
	KUNIT_EXPECT_EQ_MSG(test, kref_read(&u->bos[i].kref), 1, "BO %u", i);
}

static void unmap_free(struct unmap *u, unsigned int i)
{
	vgpu_mock_free(u->mock, u->res[i]);
}

static void unmap_all(struct kunit *test)
{
	struct unmap *u = unmap_new(test);
	unsigned int i;

	vgpu_mm_unmap_dma(u->mock->vdev.mman);
	for (i = 0; i < UNMAP_BOS; i++) {
		unmap_check(test, u, i);
		unmap_free(u, i);
	}
}

static int unmap_thread(void *arg)
{
	struct unmap *u = arg;

	vgpu_mm_unmap_dma(u->mock->vdev.mman);
	complete(&u->done);
	return 0;
}

/*
 * The last two BOs are being released: they have no references any more, but are still in TTM's
 * lists. Catches: vgpu_mm_unmap_dma() does not wait for both releases.
 */
static void unmap_released(struct kunit *test)
{
	struct unmap *u = unmap_new(test);
	const unsigned int late = UNMAP_BOS - 2;
	unsigned int i;

	for (i = late; i < UNMAP_BOS; i++)
		refcount_set(&u->bos[i].kref.refcount, 0);
	u->task = kthread_run(unmap_thread, u, "vgpu-unmap-test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(u->task));

	/*
	 * In the other thread, vgpu_mm_unmap_dma() now waits for the release of bos[late] and of
	 * bos[late + 1]. During this wait, vgpu_mm_unmap_dma() must not hold lru_lock. Otherwise
	 * unmap_listed() hangs below, because unmap_listed() takes lru_lock.
	 */
	KUNIT_EXPECT_FALSE(test, wait_for_completion_timeout(&u->done, HZ / 20));
	for (i = 0; i < UNMAP_BOS; i++)
		KUNIT_EXPECT_TRUE_MSG(test, unmap_listed(u, i), "BO %u", i);
	/*
	 * End the first release, of bos[late]: free the BO's memory. vgpu_mm_unmap_dma() still
	 * waits for the second release, of bos[late + 1].
	 */
	unmap_free(u, late);
	KUNIT_EXPECT_FALSE(test, wait_for_completion_timeout(&u->done, HZ / 20));
	/*
	 * Turn the second release into a delayed delete: as TTM does, set the reference count to 1.
	 * Now vgpu_mm_unmap_dma() must return, because it waits only for BOs without references.
	 */
	kref_init(&u->bos[late + 1].kref);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&u->done, 10 * HZ));

	for (i = 0; i < UNMAP_BOS; i++) {
		if (i == late)
			continue;
		unmap_check(test, u, i);
		unmap_free(u, i);
	}
}

static struct kunit_case unmap_cases[] = {
	KUNIT_CASE(unmap_all),
	KUNIT_CASE(unmap_released),
	{}
};

static struct kunit_suite unmap_suite = {
	.name = "vgpu_unmap",
	.test_cases = unmap_cases,
};

kunit_test_suite(unmap_suite);
