// SPDX-License-Identifier: GPL-2.0
/* Test mm/vgpu_vram_mgr.c: placement of memory, and the tracking of clear memory. */
#include <linux/dma-fence.h>

#include "mm/vgpu_res_cursor.h"
#include "tests/lib/vgpu_mock.h"

#define VRAM_PAGES	(VGPU_MOCK_VRAM >> PAGE_SHIFT)
#define SMALL		1024u
#define MAX_RES		96
#define ROUNDS		1500

static const struct ttm_place anywhere = { .mem_type = TTM_PL_VRAM };
static const struct ttm_place contiguous = {
	.mem_type = TTM_PL_VRAM, .flags = TTM_PL_FLAG_CONTIGUOUS,
};

/**
 * struct place_state - a mock device and the VRAM that a test has allocated from it
 */
struct place_state {
	/** @mock: device */
	struct vgpu_mock *mock;
	/** @res: allocated resources, or NULL */
	struct ttm_resource *res[MAX_RES];
	/** @pages: buffer for the page addresses of one resource */
	u64 pages[VRAM_PAGES];
	/**
	 * @zero: pages that were wiped after their last use; the manager may report them as clear
	 */
	DECLARE_BITMAP(zero, VRAM_PAGES);
	/** @lock: lock of the test's fences */
	spinlock_t lock;
};

static struct place_state *place_new(struct kunit *test)
{
	struct place_state *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->mock = vgpu_mock_new(test);
	spin_lock_init(&s->lock);
	return s;
}

static void place_free_all(struct place_state *s)
{
	unsigned int i;

	for (i = 0; i < MAX_RES; i++)
		if (s->res[i])
			vgpu_mock_free(s->mock, s->res[i]);
}

/*
 * Free @res. If @wiped is true, mark its memory as wiped, so that the manager can report the memory
 * as clear later. Otherwise the manager must not do so.
 */
static void place_free(struct place_state *s, struct ttm_resource *res,
		       bool wiped)
{
	if (wiped)
		to_vgpu_vram_resource(res)->wiped = dma_fence_get_stub();
	vgpu_mock_free(s->mock, res);
}

/*
 * Catches: while VRAM fills up, a contiguous allocation has a gap or lacks the requested
 * alignment.
 */
static void place_contiguous(struct kunit *test)
{
	struct place_state *s = place_new(test);
	unsigned int round, fits = 0;

	for (round = 0; round < ROUNDS; round++) {
		struct ttm_resource **res = &s->res[vgpu_mock_random(s->mock,
								     MAX_RES)];
		u64 pages = 1 + vgpu_mock_random(s->mock, 700), i;
		u32 align = 1 << vgpu_mock_random(s->mock, 10);

		if (*res) {
			vgpu_mock_free(s->mock, *res);
			*res = NULL;
			continue;
		}
		if (vgpu_mock_alloc(s->mock, pages, align, &contiguous, res)) {
			*res = NULL;
			continue;
		}
		fits++;
		KUNIT_ASSERT_EQ(test, vgpu_mock_vram_pages(s->mock, *res,
							   s->pages), pages);
		KUNIT_ASSERT_EQ_MSG(test, (*res)->start % align, 0,
				    "%llu pages at %lu, alignment %u", pages,
				    (*res)->start, align);
		KUNIT_ASSERT_EQ(test, s->pages[0] >> PAGE_SHIFT, (*res)->start);
		for (i = 1; i < pages; i++)
			KUNIT_ASSERT_EQ(test, s->pages[i],
					s->pages[i - 1] + PAGE_SIZE);
	}
	KUNIT_EXPECT_GT(test, fits, ROUNDS / 10);
	place_free_all(s);
}

/* Catches: a block of a resource does not begin at a multiple of the alignment. */
static void place_aligned(struct kunit *test)
{
	struct place_state *s = place_new(test);
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		struct ttm_resource **res = &s->res[vgpu_mock_random(s->mock,
								     MAX_RES)];
		u32 align = 1 << vgpu_mock_random(s->mock, 8);
		u64 n = 1 + vgpu_mock_random(s->mock, 512 / align);
		u64 i;

		if (*res) {
			vgpu_mock_free(s->mock, *res);
			*res = NULL;
			continue;
		}
		if (vgpu_mock_alloc(s->mock, n * align, align, &anywhere, res)) {
			*res = NULL;
			continue;
		}
		vgpu_mock_vram_pages(s->mock, *res, s->pages);
		for (i = 0; i < n * align; i++)
			KUNIT_ASSERT_EQ((test), (s->pages[i] >> PAGE_SHIFT) %
					align, i % align);
	}
	place_free_all(s);
}

/*
 * Catches: an allocation of contiguous pages succeeds although no two adjacent pages are free; an
 * allocation of scattered pages fails; VRAM stays fragmented after all of it is freed.
 */
static void place_fragmented(struct kunit *test)
{
	struct place_state *s = place_new(test);
	struct ttm_resource **all, *rest, *res;
	unsigned int i;

	all = kunit_kcalloc(test, SMALL, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, all);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, VRAM_PAGES - SMALL, 1,
					      &anywhere, &rest), 0);
	for (i = 0; i < SMALL; i++)
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, 1, 1, &anywhere,
						      &all[i]), 0);
	/* Free the pages with an even number, so that no two adjacent pages are free. */
	for (i = 0; i < SMALL; i++) {
		if (all[i]->start % 2)
			continue;
		vgpu_mock_free(s->mock, all[i]);
		all[i] = NULL;
	}
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(s->mock, 2, 1, &contiguous, &res),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(s->mock, 2, 2, &anywhere, &res),
			-ENOSPC);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, SMALL / 2, 1, &anywhere,
					      &res), 0);
	KUNIT_EXPECT_FALSE(test, res->placement & TTM_PL_FLAG_CONTIGUOUS);
	vgpu_mock_free(s->mock, res);
	for (i = 0; i < SMALL; i++)
		if (all[i])
			vgpu_mock_free(s->mock, all[i]);
	vgpu_mock_free(s->mock, rest);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, VRAM_PAGES, 1,
					      &contiguous, &res), 0);
	vgpu_mock_free(s->mock, res);
}

static void place_top_down(struct kunit *test)
{
	const struct ttm_place top = {
		.mem_type = TTM_PL_VRAM, .flags = TTM_PL_FLAG_TOPDOWN,
	};
	struct place_state *s = place_new(test);
	unsigned int i;

	for (i = 0; i < 16; i++) {
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, 256, 1, &top,
						      &s->res[i]), 0);
		KUNIT_EXPECT_EQ(test, s->res[i]->start,
				VRAM_PAGES - 256 * (i + 1));
	}
	place_free_all(s);
}

/*
 * Catches: a place that ends beyond VRAM is not cut at the end of VRAM; an allocation succeeds in a
 * place that includes no page of VRAM.
 */
static void place_limits(struct kunit *test)
{
	struct ttm_place place = { .mem_type = TTM_PL_VRAM };
	struct place_state *s = place_new(test);
	struct ttm_resource *res;

	place.fpfn = VRAM_PAGES - 8;
	place.lpfn = VRAM_PAGES + 1000;
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(s->mock, 9, 1, &place, &res),
			-ENOSPC);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, 8, 1, &place, &res), 0);
	KUNIT_EXPECT_EQ(test, res->start, VRAM_PAGES - 8);
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(s->mock, 1, 1, &place,
					      &s->res[0]), -ENOSPC);
	vgpu_mock_free(s->mock, res);
	s->res[0] = NULL;

	place.fpfn = VRAM_PAGES;
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(s->mock, 1, 1, &place, &res),
			-ENOSPC);
	place.fpfn = 100;
	place.lpfn = 100;
	KUNIT_EXPECT_EQ(test, vgpu_mock_alloc(s->mock, 1, 1, &place, &res),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(s->mock, TTM_PL_VRAM), 0);
}

/* Return the number of pages that the manager reports as clear. */
static u64 known_zero(struct ttm_resource *res)
{
	struct vgpu_res_cursor cur;
	u64 n = 0;

	vgpu_res_first(res, 0, res->size, &cur);
	while (cur.remaining) {
		if (vgpu_res_cleared(&cur))
			n += cur.size >> PAGE_SHIFT;
		vgpu_res_next(&cur, cur.size);
	}
	return n;
}

/*
 * Half of VRAM is clear, half is dirty. Catches: an allocation that needs clear memory does not get
 * clear pages first; another allocation gets clear pages.
 */
static void place_clear_first(struct kunit *test)
{
	struct place_state *s = place_new(test);
	struct ttm_resource *half[2], *res;

	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, VRAM_PAGES / 2, 1,
					      &contiguous, &half[0]), 0);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, VRAM_PAGES / 2, 1,
					      &contiguous, &half[1]), 0);
	place_free(s, half[0], true);
	place_free(s, half[1], false);

	/*
	 * A kernel BO without AMDGPU_GEM_CREATE_VRAM_CLEARED needs no clear memory, so it gets
	 * pages of the dirty half.
	 */
	s->mock->bo.base.tbo.type = ttm_bo_type_kernel;
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, VRAM_PAGES / 4, 1,
					      &anywhere, &res), 0);
	KUNIT_EXPECT_EQ(test, known_zero(res), 0);
	place_free(s, res, false);

	s->mock->bo.base.tbo.type = ttm_bo_type_device;
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, VRAM_PAGES / 4, 1,
					      &anywhere, &res), 0);
	KUNIT_EXPECT_EQ(test, known_zero(res), VRAM_PAGES / 4);
	place_free(s, res, true);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, VRAM_PAGES / 4 * 3, 1,
					      &anywhere, &res), 0);
	KUNIT_EXPECT_EQ(test, known_zero(res), VRAM_PAGES / 2);
	place_free(s, res, false);
}

/*
 * Catches: a page that was not wiped since its last allocation is reported as clear, in particular
 * after the page was merged with clear neighbours.
 */
static void place_clear_random(struct kunit *test)
{
	struct place_state *s = place_new(test);
	unsigned int round;
	u64 clear = 0;

	for (round = 0; round < ROUNDS; round++) {
		struct ttm_resource **res = &s->res[vgpu_mock_random(s->mock,
								     MAX_RES)];
		u64 pages = 1 + vgpu_mock_random(s->mock, 300), i;
		struct vgpu_res_cursor cur;

		if (*res) {
			bool wiped = vgpu_mock_random(s->mock, 2);
			u64 n = vgpu_mock_vram_pages(s->mock, *res, s->pages);

			for (i = 0; i < n; i++)
				assign_bit(s->pages[i] >> PAGE_SHIFT, s->zero,
					   wiped);
			place_free(s, *res, wiped);
			*res = NULL;
			continue;
		}
		s->mock->bo.base.tbo.type = vgpu_mock_random(s->mock, 2) ?
				       ttm_bo_type_device : ttm_bo_type_kernel;
		if (vgpu_mock_alloc(s->mock, pages, 1, &anywhere, res)) {
			*res = NULL;
			continue;
		}
		vgpu_res_first(*res, 0, (*res)->size, &cur);
		while (cur.remaining) {
			u64 first = cur.start >> PAGE_SHIFT;
			u64 n = cur.size >> PAGE_SHIFT;

			if (vgpu_res_cleared(&cur)) {
				i = find_next_zero_bit(s->zero, VRAM_PAGES,
						       first);
				KUNIT_ASSERT_GE(test, i, first + n);
				clear += n;
			}
			bitmap_clear(s->zero, first, n);
			vgpu_res_next(&cur, cur.size);
		}
	}
	/* Without enough clear pages, the test would check nothing. */
	KUNIT_EXPECT_GT(test, clear, 1000);
	place_free_all(s);
}

static const char *place_fence_name(struct dma_fence *fence)
{
	return "vgpu_mock";
}

static const struct dma_fence_ops place_fence_ops = {
	.get_driver_name = place_fence_name,
	.get_timeline_name = place_fence_name,
};

/* Catches: memory is reported as clear after its wipe has failed, or before the wipe is done. */
static void place_wipe_failed(struct kunit *test)
{
	struct place_state *s = place_new(test);
	struct ttm_resource *res;
	struct dma_fence *fence;
	unsigned int failed;

	for (failed = 0; failed < 2; failed++) {
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, VRAM_PAGES, 1,
						      &anywhere, &res), 0);
		fence = kzalloc(sizeof(*fence), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, fence);
		dma_fence_init(fence, &place_fence_ops, &s->lock,
			       dma_fence_context_alloc(1), 1);
		if (failed) {
			dma_fence_set_error(fence, -EIO);
			dma_fence_signal(fence);
		}
		to_vgpu_vram_resource(res)->wiped = dma_fence_get(fence);
		vgpu_mock_free(s->mock, res);
		if (!failed)
			dma_fence_signal(fence);
		dma_fence_put(fence);

		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, VRAM_PAGES, 1,
						      &anywhere, &res), 0);
		KUNIT_EXPECT_EQ(test, known_zero(res), 0);
		vgpu_mock_free(s->mock, res);
	}
}

/* Catches: clear and dirty neighbours are not merged when an allocation needs the whole range. */
static void place_merge(struct kunit *test)
{
	struct place_state *s = place_new(test);
	struct ttm_resource *res;
	unsigned int i;

	for (i = 0; i < 64; i++)
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, VRAM_PAGES / 64,
						      1, &anywhere,
						      &s->res[i]), 0);
	for (i = 0; i < 64; i++) {
		place_free(s, s->res[i], i % 2);
		s->res[i] = NULL;
	}
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, VRAM_PAGES, 1,
					      &contiguous, &res), 0);
	/* Only half of the resources were wiped, so at most half of the pages may be clear. */
	KUNIT_EXPECT_LE(test, known_zero(res), VRAM_PAGES / 2);
	vgpu_mock_free(s->mock, res);
}

static struct kunit_case place_cases[] = {
	KUNIT_CASE(place_contiguous),
	KUNIT_CASE(place_aligned),
	KUNIT_CASE(place_fragmented),
	KUNIT_CASE(place_top_down),
	KUNIT_CASE(place_limits),
	KUNIT_CASE(place_clear_first),
	KUNIT_CASE(place_clear_random),
	KUNIT_CASE(place_wipe_failed),
	KUNIT_CASE(place_merge),
	{}
};

static struct kunit_suite place_suite = {
	.name = "vgpu_vram_place",
	.test_cases = place_cases,
};

kunit_test_suite(place_suite);
