// SPDX-License-Identifier: GPL-2.0
/*
 * Test mm/vgpu_gtt_mgr.c: addresses in the GART. Catches: a resource gets addresses in a transfer
 * window; an address is not aligned; a failed allocation changes the usage counts; a size
 * overflows.
 */
#include <drm/drm_print.h>

#include "tests/lib/vgpu_mock.h"

#define WINDOWS		(VGPU_GTT_WINDOW_PAGES * VGPU_GTT_NUM_WINDOWS)
#define TOP		VGPU_MOCK_GART_PAGES
#define MAX_RES		64
#define ROUNDS		2000

static void gtt_free(struct vgpu_mock *mock, struct ttm_resource **res)
{
	if (*res)
		vgpu_mock_free(mock, *res);
	*res = NULL;
}

/*
 * Request a place (struct ttm_place) within the transfer windows, and then a place that crosses the
 * end of the windows. Catches: an allocation gets pages of the windows.
 */
static void gtt_windows(struct kunit *test)
{
	struct ttm_place place = { .lpfn = WINDOWS, .mem_type = TTM_PL_TT };
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *res, *next;

	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 1, 1, &place, &res),
			-ENOSPC);
	place.fpfn = 1;
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 1, 1, &place, &res),
			-ENOSPC);
	place.lpfn = WINDOWS + 2;
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 3, 1, &place, &res),
			-ENOSPC);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 2, 1, &place, &res), 0);
	KUNIT_EXPECT_EQ(test, res->start, WINDOWS);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 1, 1, &place, &next),
			-ENOSPC);
	vgpu_mock_free(mock, res);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(mock, TTM_PL_TT), 0);
}

static void gtt_aligned(struct kunit *test)
{
	const struct ttm_place place = { .lpfn = TOP, .mem_type = TTM_PL_TT };
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *res[MAX_RES] = {};
	unsigned int round, i, fits = 0;

	for (round = 0; round < ROUNDS; round++) {
		u32 align = 1 << vgpu_mock_random(mock, 10);
		u64 pages = 1 + vgpu_mock_random(mock, 100);

		i = vgpu_mock_random(mock, MAX_RES);
		if (res[i]) {
			gtt_free(mock, &res[i]);
		} else if (!vgpu_mock_alloc(mock, pages, align, &place,
					    &res[i])) {
			KUNIT_ASSERT_EQ(test, res[i]->start % align, 0);
			KUNIT_ASSERT_GE(test, res[i]->start, WINDOWS);
			KUNIT_ASSERT_LE(test, res[i]->start + pages, TOP);
			fits++;
		} else {
			res[i] = NULL;
		}
	}
	KUNIT_EXPECT_GT(test, fits, ROUNDS / 10);
	for (i = 0; i < MAX_RES; i++)
		gtt_free(mock, &res[i]);
}

static void gtt_top_down(struct kunit *test)
{
	const struct ttm_place place = {
		.lpfn = TOP, .mem_type = TTM_PL_TT,
		.flags = TTM_PL_FLAG_TOPDOWN,
	};
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *res[8];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(res); i++) {
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 100, 1, &place,
						      &res[i]), 0);
		KUNIT_EXPECT_EQ(test, res[i]->start, TOP - 100 * (i + 1));
	}
	for (i = 0; i < ARRAY_SIZE(res); i++)
		vgpu_mock_free(mock, res[i]);
}

/*
 * Catches: a temporary placement fails because the limit of GTT memory is reached; a temporary
 * placement succeeds although no GART address is free.
 */
static void gtt_stopover(struct kunit *test)
{
	const struct ttm_place memory = { .mem_type = TTM_PL_TT };
	const struct ttm_place stopover = {
		.lpfn = TOP, .mem_type = TTM_PL_TT,
		.flags = TTM_PL_FLAG_TEMPORARY,
	};
	struct vgpu_mock *mock = vgpu_mock_new(test);
	u64 all = VGPU_MOCK_GTT >> PAGE_SHIFT;
	struct ttm_resource *full, *res, *more;

	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, all, 1, &memory, &full), 0);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, TOP - WINDOWS, 1, &stopover,
					      &res), 0);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 1, 1, &stopover, &more),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(mock, TTM_PL_TT),
			VGPU_MOCK_GTT + (u64)(TOP - WINDOWS) * PAGE_SIZE);
	vgpu_mock_free(mock, res);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(mock, TTM_PL_TT), VGPU_MOCK_GTT);
	vgpu_mock_free(mock, full);
}

/*
 * Catches: a size is accepted, or changes the usage, because its number of bytes or pages wraps in
 * a 32-bit or 64-bit integer.
 */
static void gtt_overflow(struct kunit *test)
{
	static const u64 pages[] = {
		BIT_ULL(20), BIT_ULL(31), BIT_ULL(32), BIT_ULL(32) + 1,
		BIT_ULL(40), BIT_ULL(51), BIT_ULL(52) - 1,
	};
	struct ttm_place place = { .mem_type = TTM_PL_TT };
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *res;
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(pages); i++) {
		place.lpfn = i % 2 ? TOP : 0;
		KUNIT_EXPECT_EQ_MSG(test, vgpu_mock_alloc(mock, pages[i / 2], 1,
							  &place, &res),
				    -ENOSPC, "%#llx pages", pages[i / 2]);
		KUNIT_ASSERT_EQ(test, vgpu_mock_usage(mock, TTM_PL_TT), 0);
	}
}

/* Catches: the manager accepts a GART in which the transfer windows occupy all pages. */
static void gtt_small_gart(struct kunit *test)
{
	struct vgpu_mock *mock = kunit_kzalloc(test, sizeof(*mock), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mock);
	mock->vdev.mman = &mock->mman;
	mock->vdev.hw = &mock->hw.base;
	spin_lock_init(&mock->vdev.mman->bdev.lru_lock);
	mock->hw.gart.pages = WINDOWS;
	KUNIT_EXPECT_EQ(test, vgpu_gtt_mgr_init(&mock->vdev, SZ_1M), -ENODEV);
	mock->hw.gart.pages = WINDOWS + 1;
	KUNIT_ASSERT_EQ(test, vgpu_gtt_mgr_init(&mock->vdev, SZ_1M), 0);
	vgpu_gtt_mgr_fini(&mock->vdev);
}

/* Catches: gtt_mm in debugfs omits an address that is allocated. */
static void gtt_debug(struct kunit *test)
{
	const struct ttm_place place = {
		.fpfn = WINDOWS + 77, .lpfn = TOP, .mem_type = TTM_PL_TT,
	};
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource_manager *man = &mock->vdev.mman->gtt.manager;
	char *text = kunit_kzalloc(test, SZ_16K, GFP_KERNEL);
	struct drm_print_iterator iter = { .data = text, .remain = SZ_16K };
	struct drm_printer p = drm_coredump_printer(&iter);
	struct ttm_resource *res[5];
	char start[64];
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, text);
	for (i = 0; i < ARRAY_SIZE(res); i++)
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 10 + i, 1, &place,
						      &res[i]), 0);
	man->func->debug(man, &p);
	for (i = 0; i < ARRAY_SIZE(res); i++) {
		snprintf(start, sizeof(start), "%#018llx-%#018llx:",
			 (u64)res[i]->start, (u64)res[i]->start + 10 + i);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, start),
					  "no %s in %s", start, text);
		vgpu_mock_free(mock, res[i]);
	}
}

static struct kunit_case gtt_place_cases[] = {
	KUNIT_CASE(gtt_windows),
	KUNIT_CASE(gtt_aligned),
	KUNIT_CASE(gtt_top_down),
	KUNIT_CASE(gtt_stopover),
	KUNIT_CASE(gtt_overflow),
	KUNIT_CASE(gtt_small_gart),
	KUNIT_CASE(gtt_debug),
	{}
};

static struct kunit_suite gtt_place_suite = {
	.name = "vgpu_gtt_place",
	.test_cases = gtt_place_cases,
};

kunit_test_suite(gtt_place_suite);
