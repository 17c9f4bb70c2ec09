// SPDX-License-Identifier: GPL-2.0
/*
 * Compare allocations of mm/vgpu_vram_mgr.c with a map of pages. Test which BOs are marked after a
 * loss of VRAM.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>
#include <kunit/static_stub.h>

#include "tests/lib/vgpu_mock.h"

#define VRAM_PAGES	(VGPU_MOCK_VRAM >> PAGE_SHIFT)
#define MAX_RES		128
#define ROUNDS		3000

static const struct ttm_place anywhere = { .mem_type = TTM_PL_VRAM };

/*
 * Resources of a test, an array for the pages of one resource, and a bitmap of the allocated
 * pages.
 */
struct vram_map {
	struct ttm_resource *res[MAX_RES];
	u64 pages[VRAM_PAGES];
	DECLARE_BITMAP(used, VRAM_PAGES);
};

static struct vram_map *vram_map_new(struct kunit *test)
{
	struct vram_map *map = kunit_kzalloc(test, sizeof(*map), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, map);
	return map;
}

static struct ttm_resource_manager *vram_man(struct vgpu_mock *mock)
{
	return &mock->vdev.mman->vram.manager;
}

/*
 * Add a resource to the map. Check that the resource has @n_pages pages, is in the range of @place,
 * and overlaps no other resource.
 */
static void vram_map_take(struct kunit *test, struct vgpu_mock *mock,
			  struct vram_map *map, struct ttm_resource *res,
			  u64 n_pages, const struct ttm_place *place)
{
	u64 limit = place->lpfn ?: VRAM_PAGES;
	bool adjacent = true;
	u64 i, n;

	n = vgpu_mock_vram_pages(mock, res, map->pages);
	KUNIT_ASSERT_EQ(test, n, n_pages);
	for (i = 0; i < n; i++) {
		u64 pfn = map->pages[i] >> PAGE_SHIFT;

		KUNIT_ASSERT_GE(test, pfn, place->fpfn);
		KUNIT_ASSERT_LT(test, pfn, limit);
		KUNIT_ASSERT_FALSE_MSG(test, test_bit(pfn, map->used),
				       "page %llu handed out twice", pfn);
		__set_bit(pfn, map->used);
		if (i && map->pages[i] != map->pages[i - 1] + PAGE_SIZE)
			adjacent = false;
	}
	if (res->placement & TTM_PL_FLAG_CONTIGUOUS)
		KUNIT_ASSERT_TRUE(test, adjacent);
	if (place->flags & TTM_PL_FLAG_CONTIGUOUS)
		KUNIT_ASSERT_TRUE(test, adjacent);
}

static void vram_map_give(struct vgpu_mock *mock, struct vram_map *map,
			  struct ttm_resource *res)
{
	u64 i, n = vgpu_mock_vram_pages(mock, res, map->pages);

	for (i = 0; i < n; i++)
		__clear_bit(map->pages[i] >> PAGE_SHIFT, map->used);
	vgpu_mock_free(mock, res);
}

static void check_usage(struct kunit *test, struct vgpu_mock *mock,
			struct vram_map *map)
{
	u64 used = (u64)bitmap_weight(map->used, VRAM_PAGES) << PAGE_SHIFT;

	KUNIT_ASSERT_EQ(test, vgpu_mock_usage(mock, TTM_PL_VRAM), used);
	KUNIT_ASSERT_EQ(test, vgpu_vram_mgr_usage(&mock->vdev), used);
}

static struct ttm_place random_place(struct vgpu_mock *mock)
{
	struct ttm_place place = anywhere;

	if (!vgpu_mock_random(mock, 4))
		place.flags |= TTM_PL_FLAG_CONTIGUOUS;
	if (!vgpu_mock_random(mock, 4))
		place.flags |= TTM_PL_FLAG_TOPDOWN;
	if (!vgpu_mock_random(mock, 4)) {
		place.fpfn = vgpu_mock_random(mock, VRAM_PAGES / 2);
		place.lpfn = VRAM_PAGES / 2 +
			     vgpu_mock_random(mock, VRAM_PAGES / 2);
	}
	return place;
}

/*
 * Allocate and free at random. Catches: memory is allocated twice or outside of the place; the
 * usage is wrong; a fragmented resource is marked contiguous.
 */
static void vram_random(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct vram_map *map = vram_map_new(test);
	unsigned int round, i;

	for (round = 0; round < ROUNDS; round++) {
		struct ttm_place place = random_place(mock);
		u64 pages = 1 + vgpu_mock_random(mock, 512);

		i = vgpu_mock_random(mock, MAX_RES);
		if (map->res[i]) {
			vram_map_give(mock, map, map->res[i]);
			map->res[i] = NULL;
		} else if (!vgpu_mock_alloc(mock, pages, 1, &place,
					    &map->res[i])) {
			vram_map_take(test, mock, map, map->res[i], pages,
				      &place);
		} else {
			map->res[i] = NULL;
		}
		check_usage(test, mock, map);
	}
	for (i = 0; i < MAX_RES; i++)
		if (map->res[i])
			vram_map_give(mock, map, map->res[i]);
	check_usage(test, mock, map);
}

/*
 * Allocate all VRAM, free it in pieces, and allocate it as one contiguous resource. Catches:
 * memory is lost; a fragmented resource is marked as contiguous.
 */
static void vram_exhaust(struct kunit *test)
{
	struct ttm_place contiguous = anywhere;
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct vram_map *map = vram_map_new(test);
	struct ttm_resource *more;
	unsigned int i;

	contiguous.flags |= TTM_PL_FLAG_CONTIGUOUS;
	for (i = 0; i < MAX_RES; i++) {
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock,
						      VRAM_PAGES / MAX_RES, 1,
						      &anywhere, &map->res[i]),
				0);
		vram_map_take(test, mock, map, map->res[i],
			      VRAM_PAGES / MAX_RES, &anywhere);
	}
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 1, 1, &anywhere, &more),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(mock, TTM_PL_VRAM), VGPU_MOCK_VRAM);

	/*
	 * Free every other resource, so that half of VRAM is free without a contiguous range
	 * of that size.
	 */
	for (i = 0; i < MAX_RES; i += 2)
		vram_map_give(mock, map, map->res[i]);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, VRAM_PAGES / 2, 1,
					      &contiguous, &more), -ENOSPC);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, VRAM_PAGES / 2, 1,
					      &anywhere, &more), 0);
	KUNIT_EXPECT_FALSE(test, more->placement & TTM_PL_FLAG_CONTIGUOUS);
	vgpu_mock_free(mock, more);

	for (i = 1; i < MAX_RES; i += 2)
		vram_map_give(mock, map, map->res[i]);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, VRAM_PAGES, 1, &contiguous,
					      &more), 0);
	KUNIT_EXPECT_TRUE(test, more->placement & TTM_PL_FLAG_CONTIGUOUS);
	vgpu_mock_free(mock, more);
}

static void vram_too_large(struct kunit *test)
{
	const struct ttm_place window = {
		.fpfn = 16, .lpfn = 32, .mem_type = TTM_PL_VRAM,
	};
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *res;

	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, VRAM_PAGES + 1, 1,
					      &anywhere, &res), -ENOSPC);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 1ull << 40, 1, &anywhere,
					      &res), -ENOSPC);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 17, 1, &window, &res),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(mock, TTM_PL_VRAM), 0);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 16, 1, &window, &res), 0);
	KUNIT_EXPECT_EQ(test, res->start, 16);
	vgpu_mock_free(mock, res);
}

/*
 * ttm_resource_init() adds the allocation to TTM's usage count, although the allocation may still
 * fail. Catches: vgpu_vram_mgr_usage() counts an allocation that has not succeeded yet.
 */
static void vram_usage_of_tries(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *res, tried;

	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, VRAM_PAGES - 1, 1,
					      &anywhere, &res), 0);
	mock->bo.base.tbo.base.size = 16 << PAGE_SHIFT;
	ttm_resource_init(&mock->bo.base.tbo, &anywhere, &tried);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_usage(&mock->vdev),
			VGPU_MOCK_VRAM - PAGE_SIZE);
	ttm_resource_fini(vram_man(mock), &tried);
	vgpu_mock_free(mock, res);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_usage(&mock->vdev), 0);
}

static void vram_aligned(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *odd, *res;
	u32 align;

	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 3, 1, &anywhere, &odd), 0);
	for (align = 1; align <= 2048; align *= 2) {
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, align, align,
						      &anywhere, &res), 0);
		KUNIT_EXPECT_EQ_MSG(test, res->start % align, 0,
				    "start %lu, alignment %u", res->start,
				    align);
		vgpu_mock_free(mock, res);
	}
	vgpu_mock_free(mock, odd);
}

/*
 * Test random places. intersects() must be true if the place contains some page of the resource;
 * compatible() must be true if the place contains all pages of the resource.
 */
static void vram_places(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct vram_map *map = vram_map_new(test);
	struct ttm_resource_manager *man = vram_man(mock);
	struct ttm_resource *holes[32], *res;
	unsigned int i;

	/* Fragment VRAM. */
	for (i = 0; i < ARRAY_SIZE(holes); i++)
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 100, 1, &anywhere,
						      &holes[i]), 0);
	for (i = 0; i < ARRAY_SIZE(holes); i += 2)
		vgpu_mock_free(mock, holes[i]);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 700, 1, &anywhere, &res),
			0);
	vgpu_mock_vram_pages(mock, res, map->pages);

	for (i = 0; i < ROUNDS; i++) {
		u64 a = vgpu_mock_random(mock, VRAM_PAGES);
		u64 b = vgpu_mock_random(mock, VRAM_PAGES);
		const struct ttm_place place = {
			.fpfn = min(a, b), .lpfn = max(a, b) + 1,
			.mem_type = TTM_PL_VRAM,
		};
		bool some = false, all = true;
		unsigned int k;

		for (k = 0; k < 700; k++) {
			u64 pfn = map->pages[k] >> PAGE_SHIFT;
			bool in = pfn >= place.fpfn && pfn < place.lpfn;

			some |= in;
			all &= in;
		}
		KUNIT_ASSERT_EQ(test, man->func->intersects(man, res, &place,
							    res->size), some);
		KUNIT_ASSERT_EQ(test, man->func->compatible(man, res, &place,
							    res->size), all);
	}
	vgpu_mock_free(mock, res);
	for (i = 1; i < ARRAY_SIZE(holes); i += 2)
		vgpu_mock_free(mock, holes[i]);
}

static DEFINE_SPINLOCK(lost_fence_lock);

static const char *lost_fence_name(struct dma_fence *fence)
{
	return "vgpu_vram_mgr_test";
}

static const struct dma_fence_ops lost_fence_ops = {
	.get_driver_name = lost_fence_name,
	.get_timeline_name = lost_fence_name,
};

/* Replaces vgpu_bo_is_ours(), because the mock's BO was not created by vgpu_bo_create(). */
static bool lost_is_ours(const struct ttm_buffer_object *tbo)
{
	return true;
}

static struct vgpu_mock *lost_mock_new(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);

	kunit_activate_static_stub(test, vgpu_bo_is_ours, lost_is_ours);
	return mock;
}

static struct dma_fence *lost_fence_new(struct kunit *test)
{
	struct dma_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fence);
	dma_fence_init(fence, &lost_fence_ops, &lost_fence_lock,
		       dma_fence_context_alloc(1), 1);
	return fence;
}

/* Give VRAM to the mock's BO. Returns this memory. */
static struct ttm_resource *vram_enter(struct kunit *test, struct vgpu_mock *mock)
{
	struct ttm_resource *res;

	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 4, 1, &anywhere, &res), 0);
	mock->bo.base.tbo.resource = res;
	return res;
}

static void vram_free(struct vgpu_mock *mock, struct ttm_resource *res)
{
	mock->bo.base.tbo.resource = NULL;
	vgpu_mock_free(mock, res);
}

/* Move the mock's BO from @res to system memory by a copy that succeeds, as mm/vgpu_ttm.c does. */
static void vram_leave(struct kunit *test, struct vgpu_mock *mock, struct ttm_resource *res)
{
	struct dma_fence *fence = lost_fence_new(test);

	dma_fence_signal(fence);
	vgpu_vram_mgr_leaves(&mock->bo.base, fence, vgpu_vram_mgr_content_epoch(res),
			     atomic_read(&mock->hw.base.vram_epoch));
	dma_fence_put(fence);
	vram_free(mock, res);
}

/* A reset loses VRAM. The caller has to call vgpu_vram_mgr_mark_lost() later. */
static void vram_reset(struct vgpu_mock *mock)
{
	atomic_inc(&mock->hw.base.vram_epoch);
	vgpu_vram_mgr_distrust(&mock->vdev);
	vgpu_vram_mgr_loss_over(&mock->vdev);
}

/* Lose VRAM, and check that the BO is marked. */
static void vram_expect_lost(struct kunit *test, struct vgpu_mock *mock)
{
	vram_reset(mock);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_mark_lost(&mock->vdev), 1);
	KUNIT_EXPECT_TRUE(test, mock->bo.vram_lost);
}

/* Lose VRAM while the mock's BO is in VRAM. Returns the BO's memory. */
static struct ttm_resource *vram_lose(struct kunit *test, struct vgpu_mock *mock)
{
	struct ttm_resource *res = vram_enter(test, mock);

	vram_reset(mock);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_mark_lost(&mock->vdev), 1);
	return res;
}

/*
 * VRAM is lost while a BO is copied to system memory, and vgpu_vram_mgr_mark_lost() counts the BO
 * as lost. Catches: vgpu_vram_mgr_leaves() counts the BO again.
 */
static void vram_lost_once(struct kunit *test)
{
	struct vgpu_mock *mock = lost_mock_new(test);
	struct vgpu_device *vdev = &mock->vdev;
	struct dma_fence *fence = lost_fence_new(test);
	struct ttm_resource *res;

	res = vram_lose(test, mock);
	vgpu_vram_mgr_leaves(&mock->bo.base, fence, 0, 0);
	vram_free(mock, res);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(vdev, VGPU_STAT_BOS_LOST), 1);

	/* As the driver does after a loss of VRAM, cancel the copy (@fence is the copy's fence). */
	dma_fence_set_error(fence, -ECANCELED);
	dma_fence_signal(fence);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_mark_lost(vdev), 0);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(vdev, VGPU_STAT_BOS_LOST), 1);
	KUNIT_EXPECT_NULL(test, mock->bo.leaving);
	dma_fence_put(fence);

	/* Lose VRAM a second time. Catches: the second loss is not counted. */
	res = vram_lose(test, mock);
	vram_free(mock, res);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(vdev, VGPU_STAT_BOS_LOST), 2);
}

/*
 * A BO leaves VRAM after a loss, and before vgpu_vram_mgr_mark_lost() runs. Catches: the BO is not
 * marked, because its copy has succeeded, and the BO is not in VRAM any more.
 */
static void vram_lost_then_leaves(struct kunit *test)
{
	struct vgpu_mock *mock = lost_mock_new(test);
	struct ttm_resource *res = vram_enter(test, mock);

	vram_reset(mock);
	vram_leave(test, mock, res);
	KUNIT_EXPECT_TRUE(test, mock->bo.vram_lost);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&mock->mman.vram.lost));
	KUNIT_EXPECT_NULL(test, mock->bo.leaving);
	/* Catches: the BO is counted a second time. */
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_mark_lost(&mock->vdev), 0);
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(&mock->vdev, VGPU_STAT_BOS_LOST), 1);
}

/* Catches: a BO that got VRAM after the loss is marked, in VRAM or when it leaves VRAM. */
static void vram_enters_after_loss(struct kunit *test)
{
	struct vgpu_mock *mock = lost_mock_new(test);
	struct ttm_resource *res;

	vram_reset(mock);
	res = vram_enter(test, mock);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_mark_lost(&mock->vdev), 0);
	vram_leave(test, mock, res);
	KUNIT_EXPECT_FALSE(test, mock->bo.vram_lost);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->mman.vram.lost));
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(&mock->vdev, VGPU_STAT_BOS_LOST), 0);
}

/*
 * A BO gets VRAM after the loss, but before the recovery has ended the pending jobs. Catches: the
 * BO is not marked, although the job that fills it may have been cancelled.
 */
static void vram_enters_in_reset(struct kunit *test)
{
	struct vgpu_mock *mock = lost_mock_new(test);
	struct ttm_resource *res;

	atomic_inc(&mock->hw.base.vram_epoch);
	vgpu_vram_mgr_distrust(&mock->vdev);
	res = vram_enter(test, mock);
	vgpu_vram_mgr_enters(&mock->vdev, res, true);
	vgpu_vram_mgr_loss_over(&mock->vdev);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_mark_lost(&mock->vdev), 1);
	KUNIT_EXPECT_TRUE(test, mock->bo.vram_lost);
	vram_free(mock, res);
}

/*
 * A BO gets VRAM. Before its content is copied there, the move waits for a job, and a reset loses
 * VRAM and ends the job. Catches: the BO is marked when it leaves VRAM, although the copy into VRAM
 * was created after the loss.
 */
static void vram_allocated_before_loss(struct kunit *test)
{
	struct vgpu_mock *mock = lost_mock_new(test);
	struct ttm_resource *res = vram_enter(test, mock);

	/* While the move waits, the BO is not in VRAM. */
	mock->bo.base.tbo.resource = NULL;
	vram_reset(mock);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_mark_lost(&mock->vdev), 0);
	vgpu_vram_mgr_enters(&mock->vdev, res, true);
	mock->bo.base.tbo.resource = res;
	vram_leave(test, mock, res);
	KUNIT_EXPECT_FALSE(test, mock->bo.vram_lost);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->mman.vram.lost));
	KUNIT_EXPECT_EQ(test, vgpu_stat_read(&mock->vdev, VGPU_STAT_BOS_LOST), 0);

	/* Catches: a loss after the creation of the copy is not noticed. */
	res = vram_enter(test, mock);
	vgpu_vram_mgr_enters(&mock->vdev, res, true);
	vram_expect_lost(test, mock);
	vram_free(mock, res);
}

/*
 * A BO moves to VRAM. The copy waits for users of the BO, and a reset loses VRAM. The copy runs
 * after the reset. Catches: the BO is marked as lost, although the content was still in GTT.
 */
static void vram_copied_after_loss(struct kunit *test)
{
	struct vgpu_mock *mock = lost_mock_new(test);
	struct ttm_resource *res = vram_enter(test, mock);

	/* Job 1 has started; the copy is job 2. */
	mock->mman.fill_started = 1;
	mock->mman.fill_pushed = 1;
	vgpu_vram_mgr_enters(&mock->vdev, res, true);
	mock->mman.fill_pushed = 2;
	vram_reset(mock);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_mark_lost(&mock->vdev), 0);
	KUNIT_EXPECT_FALSE(test, mock->bo.vram_lost);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_content_epoch(res), 1);

	/* Catches: a loss after the start of the copy is not noticed. */
	mock->mman.fill_started = 2;
	vram_expect_lost(test, mock);
	vram_free(mock, res);
}

/*
 * A BO gets VRAM that is clear, so no job fills it. Catches: a loss of VRAM is not noticed, because
 * no job has started since.
 */
static void vram_clear_lost(struct kunit *test)
{
	struct vgpu_mock *mock = lost_mock_new(test);
	struct ttm_resource *res = vram_enter(test, mock);

	mock->mman.fill_started = 1;
	mock->mman.fill_pushed = 1;
	vgpu_vram_mgr_enters(&mock->vdev, res, false);
	vram_expect_lost(test, mock);
	vram_free(mock, res);
}

/*
 * A BO moves to other VRAM after a loss, and before vgpu_vram_mgr_mark_lost() runs. Catches: the BO
 * is not marked, because its new VRAM was allocated after the loss.
 */
static void vram_lost_then_moves(struct kunit *test)
{
	struct vgpu_mock *mock = lost_mock_new(test);
	struct ttm_resource *from = vram_enter(test, mock), *to;

	vram_reset(mock);
	to = vram_enter(test, mock);
	vgpu_vram_mgr_moves_within(&mock->vdev, from, to);
	vgpu_mock_free(mock, from);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_mark_lost(&mock->vdev), 1);
	KUNIT_EXPECT_TRUE(test, mock->bo.vram_lost);
	vram_free(mock, to);
}

static struct kunit_case vram_mgr_cases[] = {
	KUNIT_CASE(vram_random),
	KUNIT_CASE(vram_exhaust),
	KUNIT_CASE(vram_too_large),
	KUNIT_CASE(vram_usage_of_tries),
	KUNIT_CASE(vram_aligned),
	KUNIT_CASE(vram_places),
	KUNIT_CASE(vram_lost_once),
	KUNIT_CASE(vram_lost_then_leaves),
	KUNIT_CASE(vram_enters_after_loss),
	KUNIT_CASE(vram_enters_in_reset),
	KUNIT_CASE(vram_allocated_before_loss),
	KUNIT_CASE(vram_copied_after_loss),
	KUNIT_CASE(vram_clear_lost),
	KUNIT_CASE(vram_lost_then_moves),
	{}
};

static struct kunit_suite vram_mgr_suite = {
	.name = "vgpu_vram_mgr",
	.test_cases = vram_mgr_cases,
};

kunit_test_suite(vram_mgr_suite);
