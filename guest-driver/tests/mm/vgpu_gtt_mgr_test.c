// SPDX-License-Identifier: GPL-2.0
/*
 * Test mm/vgpu_gtt_mgr.c: GART addresses of GTT memory, and the usage counts. Catches: pages
 * of the transfer windows are allocated; an address is allocated twice or lost; a limit is
 * exceeded; memory gets an address that was not requested.
 */
#include "tests/lib/vgpu_mock.h"

#define WINDOWS		(VGPU_GTT_WINDOW_PAGES * VGPU_GTT_NUM_WINDOWS)
#define GART_ROOM	(VGPU_MOCK_GART_PAGES - WINDOWS)
#define GTT_PAGES	(VGPU_MOCK_GTT >> PAGE_SHIFT)
#define MAX_RES		128
#define ROUNDS		3000

static const struct ttm_place memory = { .mem_type = TTM_PL_TT };
static const struct ttm_place address = {
	.lpfn = VGPU_MOCK_GART_PAGES, .mem_type = TTM_PL_TT,
};

/*
 * Allocated resources. @used is a bitmap of the GART pages of all resources. @memory is the
 * total size of the resources in bytes.
 */
struct gart_map {
	struct ttm_resource *res[MAX_RES];
	DECLARE_BITMAP(used, VGPU_MOCK_GART_PAGES);
	u64 memory;
};

static void gart_map_take(struct kunit *test, struct gart_map *map,
			  struct ttm_resource *res,
			  const struct ttm_place *place)
{
	u64 n = PFN_UP(res->size), i;

	map->memory += res->size;
	KUNIT_ASSERT_EQ(test, vgpu_gtt_mgr_has_gart_addr(res), !!place->lpfn);
	if (!place->lpfn)
		return;
	KUNIT_ASSERT_GE(test, res->start, max(place->fpfn, WINDOWS));
	KUNIT_ASSERT_LE(test, res->start + n, place->lpfn);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_FALSE_MSG(test, __test_and_set_bit(res->start + i,
								map->used),
				       "page %llu handed out twice",
				       res->start + i);
}

static void gart_map_give(struct vgpu_mock *mock, struct gart_map *map,
			  struct ttm_resource *res)
{
	if (vgpu_gtt_mgr_has_gart_addr(res))
		bitmap_clear(map->used, res->start, PFN_UP(res->size));
	map->memory -= res->size;
	vgpu_mock_free(mock, res);
}

static void gtt_random(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct gart_map *map;
	unsigned int round, i;

	map = kunit_kzalloc(test, sizeof(*map), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, map);
	for (round = 0; round < ROUNDS; round++) {
		struct ttm_place place = vgpu_mock_random(mock, 2) ? memory :
								     address;
		u64 pages = 1 + vgpu_mock_random(mock, 200);

		if (place.lpfn && !vgpu_mock_random(mock, 3)) {
			place.fpfn = vgpu_mock_random(mock, place.lpfn - 200);
			place.lpfn = place.fpfn + 200;
		}
		if (!vgpu_mock_random(mock, 3))
			place.flags |= TTM_PL_FLAG_TOPDOWN;
		i = vgpu_mock_random(mock, MAX_RES);
		if (map->res[i]) {
			gart_map_give(mock, map, map->res[i]);
			map->res[i] = NULL;
		} else if (!vgpu_mock_alloc(mock, pages, 1, &place,
					    &map->res[i])) {
			gart_map_take(test, map, map->res[i], &place);
		} else {
			map->res[i] = NULL;
		}
		KUNIT_ASSERT_EQ(test, vgpu_mock_usage(mock, TTM_PL_TT),
				map->memory);
		KUNIT_ASSERT_LE(test, map->memory, VGPU_MOCK_GTT);
	}
	for (i = 0; i < MAX_RES; i++)
		if (map->res[i])
			gart_map_give(mock, map, map->res[i]);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(mock, TTM_PL_TT), 0);
}

/*
 * Use up the limit of GTT memory. Catches: the limit is not enforced, or applies also to
 * temporary placements; a failed allocation changes the usage.
 */
static void gtt_limit(struct kunit *test)
{
	const struct ttm_place stopover = {
		.mem_type = TTM_PL_TT, .flags = TTM_PL_FLAG_TEMPORARY,
	};
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *all, *res;

	/* The size of the GART must not limit memory without GART addresses. */
	KUNIT_ASSERT_GT(test, GTT_PAGES, GART_ROOM);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, GTT_PAGES + 1, 1, &memory,
					      &res), -ENOSPC);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, GTT_PAGES, 1, &memory,
					      &all), 0);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 1, 1, &memory, &res),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 1, 1, &address, &res),
			-ENOSPC);
	/* A failed allocation does not change the usage. */
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(mock, TTM_PL_TT), VGPU_MOCK_GTT);
	/* A temporary placement during a move may exceed the limit. */
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 8, 1, &stopover, &res), 0);
	vgpu_mock_free(mock, res);
	vgpu_mock_free(mock, all);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 1, 1, &memory, &res), 0);
	vgpu_mock_free(mock, res);
}

/*
 * All GART addresses are in use. Catches: an allocation fails although it needs no GART
 * address; a freed range of addresses is not allocated again.
 */
static void gtt_addresses_run_out(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *half[2], *res;

	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, GART_ROOM + 1, 1, &address,
					      &res), -ENOSPC);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, GART_ROOM / 2, 1, &address,
					      &half[0]), 0);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, GART_ROOM / 2, 1, &address,
					      &half[1]), 0);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 1, 1, &address, &res),
			-ENOSPC);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 1, 1, &memory, &res), 0);
	vgpu_mock_free(mock, res);
	vgpu_mock_free(mock, half[0]);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, GART_ROOM / 2, 1, &address,
					      &half[0]), 0);
	vgpu_mock_free(mock, half[0]);
	vgpu_mock_free(mock, half[1]);
}

/*
 * Fragment the GART, so that it has enough free pages but no free range of the requested
 * length. Catches: the allocation succeeds; adjacent free ranges are not merged.
 */
static void gtt_fragmented(struct kunit *test)
{
	struct ttm_resource *piece[GART_ROOM / 64], *res;
	struct vgpu_mock *mock = vgpu_mock_new(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(piece); i++)
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 64, 1, &address,
						      &piece[i]), 0);
	for (i = 0; i < ARRAY_SIZE(piece); i += 2)
		vgpu_mock_free(mock, piece[i]);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(mock, 65, 1, &address, &res),
			-ENOSPC);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 64, 1, &address, &res), 0);
	vgpu_mock_free(mock, res);
	for (i = 1; i < ARRAY_SIZE(piece); i += 2)
		vgpu_mock_free(mock, piece[i]);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, GART_ROOM, 1, &address,
					      &res), 0);
	vgpu_mock_free(mock, res);
}

static bool intersects(struct vgpu_mock *mock, struct ttm_resource *res,
		       const struct ttm_place *place)
{
	struct ttm_resource_manager *man = &mock->vdev.mman->gtt.manager;

	return man->func->intersects(man, res, place, res->size);
}

static bool compatible(struct vgpu_mock *mock, struct ttm_resource *res,
		       const struct ttm_place *place)
{
	struct ttm_resource_manager *man = &mock->vdev.mman->gtt.manager;

	return man->func->compatible(man, res, place, res->size);
}

static void gtt_places(struct kunit *test)
{
	const struct ttm_place elsewhere = {
		.fpfn = WINDOWS + 1000, .lpfn = WINDOWS + 1100,
		.mem_type = TTM_PL_TT,
	};
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *with, *without;
	struct ttm_place place = address;

	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 10, 1, &address, &with),
			0);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 10, 1, &memory, &without),
			0);
	/*
	 * The place @memory requires no GART address. So the place intersects both resources, and
	 * both resources are compatible with the place.
	 */
	KUNIT_EXPECT_TRUE(test, intersects(mock, with, &memory));
	KUNIT_EXPECT_TRUE(test, intersects(mock, without, &memory));
	KUNIT_EXPECT_TRUE(test, compatible(mock, with, &memory));
	KUNIT_EXPECT_TRUE(test, compatible(mock, without, &memory));
	/*
	 * The place @address requires a GART address. The resource @without has none, so TTM must
	 * move the BO (not compatible).
	 */
	KUNIT_EXPECT_TRUE(test, compatible(mock, with, &address));
	KUNIT_EXPECT_FALSE(test, compatible(mock, without, &address));
	/*
	 * An eviction of @without frees no GART address, so @without does not intersect the place.
	 */
	KUNIT_EXPECT_FALSE(test, intersects(mock, without, &address));
	KUNIT_EXPECT_FALSE(test, intersects(mock, with, &elsewhere));
	KUNIT_EXPECT_FALSE(test, compatible(mock, with, &elsewhere));
	/*
	 * A place that starts at the last page of the resource intersects the resource, but is not
	 * compatible. A place that starts after this page does not intersect the resource.
	 */
	place.fpfn = with->start + 9;
	KUNIT_EXPECT_TRUE(test, intersects(mock, with, &place));
	KUNIT_EXPECT_FALSE(test, compatible(mock, with, &place));
	place.fpfn = with->start + 10;
	KUNIT_EXPECT_FALSE(test, intersects(mock, with, &place));
	vgpu_mock_free(mock, with);
	vgpu_mock_free(mock, without);
}

static struct kunit_case gtt_mgr_cases[] = {
	KUNIT_CASE(gtt_random),
	KUNIT_CASE(gtt_limit),
	KUNIT_CASE(gtt_addresses_run_out),
	KUNIT_CASE(gtt_fragmented),
	KUNIT_CASE(gtt_places),
	{}
};

static struct kunit_suite gtt_mgr_suite = {
	.name = "vgpu_gtt_mgr",
	.test_cases = gtt_mgr_cases,
};

kunit_test_suite(gtt_mgr_suite);
