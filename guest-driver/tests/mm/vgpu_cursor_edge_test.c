// SPDX-License-Identifier: GPL-2.0
/*
 * Test mm/vgpu_res_cursor.h at the ends of contiguous runs, and with memory types that
 * vgpu_cursor_test.c omits.
 */
#include <linux/dma-fence.h>

#include "mm/vgpu_res_cursor.h"
#include "tests/lib/vgpu_mock.h"

#define PAGES		400u
#define BYTES		((u64)PAGES << PAGE_SHIFT)
#define ROUNDS		400

static const struct ttm_place vram = { .mem_type = TTM_PL_VRAM };

/**
 * struct edge_state - a resource in fragmented VRAM
 */
struct edge_state {
	/** @mock: device */
	struct vgpu_mock *mock;
	/** @holes: allocations of one page each; every other one is freed (NULL) */
	struct ttm_resource *holes[2 * PAGES];
	/** @res: resource under test, which uses the freed pages */
	struct ttm_resource *res;
	/** @pages: address of each page of @res */
	u64 pages[PAGES];
};

static struct edge_state *edge_new(struct kunit *test)
{
	struct edge_state *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	const struct ttm_place place = {
		.lpfn = 2 * PAGES, .mem_type = TTM_PL_VRAM,
	};
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->mock = vgpu_mock_new(test);
	for (i = 0; i < 2 * PAGES; i++)
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, 1, 1, &place,
						      &s->holes[i]), 0);
	for (i = 0; i < 2 * PAGES; i += 2) {
		vgpu_mock_free(s->mock, s->holes[i]);
		s->holes[i] = NULL;
	}
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(s->mock, PAGES, 1, &place,
					      &s->res), 0);
	KUNIT_ASSERT_EQ(test, vgpu_mock_vram_pages(s->mock, s->res, s->pages),
			PAGES);
	return s;
}

static void edge_end(struct edge_state *s)
{
	unsigned int i;

	vgpu_mock_free(s->mock, s->res);
	for (i = 0; i < 2 * PAGES; i++)
		if (s->holes[i])
			vgpu_mock_free(s->mock, s->holes[i]);
}

/* Walk single bytes: the first byte of every page, the byte before it, and the byte after it. */
static void edge_bytes(struct kunit *test)
{
	struct edge_state *s = edge_new(test);
	struct vgpu_res_cursor cur;
	unsigned int i;
	int k;

	for (i = 0; i < PAGES; i++) {
		for (k = i ? -1 : 0; k <= 1; k++) {
			u64 at = ((u64)i << PAGE_SHIFT) + k;

			vgpu_res_first(s->res, at, 1, &cur);
			KUNIT_ASSERT_EQ(test, cur.start,
					s->pages[at >> PAGE_SHIFT] +
					offset_in_page(at));
			KUNIT_ASSERT_EQ(test, cur.size, 1);
			vgpu_res_next(&cur, 1);
			KUNIT_ASSERT_EQ(test, cur.remaining, 0);
		}
	}
	edge_end(s);
}

/* Catches: a run continues beyond contiguous memory, or ends before the end of its first page. */
static void edge_runs(struct kunit *test)
{
	struct edge_state *s = edge_new(test);
	struct vgpu_res_cursor cur;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		u64 at = vgpu_mock_random(s->mock, BYTES);
		u64 size = 1 + vgpu_mock_random(s->mock, BYTES - at);
		u64 first = at >> PAGE_SHIFT, last = first, end;

		while (last + 1 < PAGES &&
		       s->pages[last + 1] == s->pages[last] + PAGE_SIZE)
			last++;
		end = min((last + 1) << PAGE_SHIFT, at + size);
		vgpu_res_first(s->res, at, size, &cur);
		/* The run may end early: the cursor may report adjacent blocks as two runs. */
		KUNIT_ASSERT_LE(test, cur.size, end - at);
		KUNIT_ASSERT_GE(test, cur.size,
				min(size, PAGE_SIZE - offset_in_page(at)));
		KUNIT_ASSERT_EQ(test, cur.remaining, size);
	}
	edge_end(s);
}

/* Walk 0 bytes. Catches: the cursor reports memory (cur.size or cur.remaining is not 0). */
static void edge_nothing(struct kunit *test)
{
	struct edge_state *s = edge_new(test);
	struct vgpu_res_cursor cur;
	u64 at;

	for (at = 0; at <= BYTES; at += BYTES / 8) {
		memset(&cur, 0xff, sizeof(cur));
		vgpu_res_first(s->res, at, 0, &cur);
		KUNIT_EXPECT_EQ(test, cur.remaining, 0);
		KUNIT_EXPECT_EQ(test, cur.size, 0);
		vgpu_res_next(&cur, 0);
		KUNIT_EXPECT_EQ(test, cur.remaining, 0);
	}
	edge_end(s);
}

/* Walk a resource in steps of a fixed size, and check the address after each step. */
static void edge_steps(struct kunit *test)
{
	static const u32 steps[] = { 1, 511, 4095, 4096, 4097, 65536, 999983 };
	struct edge_state *s = edge_new(test);
	struct vgpu_res_cursor cur;
	unsigned int i;
	u64 at;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		u64 size = min(BYTES, 20000ull * steps[i]);

		vgpu_res_first(s->res, 0, size, &cur);
		for (at = 0; cur.remaining; at += steps[i]) {
			KUNIT_ASSERT_EQ(test, cur.start,
					s->pages[at >> PAGE_SHIFT] +
					offset_in_page(at));
			KUNIT_ASSERT_EQ(test, cur.remaining, size - at);
			vgpu_res_next(&cur, min_t(u64, steps[i],
						  cur.remaining));
		}
		KUNIT_ASSERT_GE(test, at, size);
	}
	edge_end(s);
}

/*
 * Walk a doorbell resource. TTM's range manager allocates doorbells, so the resource is one
 * drm_mm node. Catches: a walk of such a resource is not a single run.
 */
static void edge_doorbell(struct kunit *test)
{
	const struct ttm_place place = {
		.fpfn = 2, .mem_type = VGPU_PL_DOORBELL,
	};
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_device *bdev = &mock->vdev.mman->bdev;
	struct vgpu_res_cursor cur;
	struct ttm_resource *res;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, ttm_range_man_init(bdev, VGPU_PL_DOORBELL, false,
						 512), 0);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 64, 1, &place, &res), 0);
	KUNIT_EXPECT_GE(test, res->start, 2);
	for (i = 0; i < ROUNDS; i++) {
		u64 at = vgpu_mock_random(mock, res->size);
		u64 size = 1 + vgpu_mock_random(mock, res->size - at);

		vgpu_res_first(res, at, size, &cur);
		KUNIT_ASSERT_EQ(test, cur.start,
				((u64)res->start << PAGE_SHIFT) + at);
		KUNIT_ASSERT_EQ(test, cur.size, size);
		KUNIT_ASSERT_EQ(test, cur.mem_type, VGPU_PL_DOORBELL);
		KUNIT_ASSERT_FALSE(test, vgpu_res_cleared(&cur));
	}
	vgpu_mock_free(mock, res);
	KUNIT_EXPECT_EQ(test, ttm_range_man_fini(bdev, VGPU_PL_DOORBELL), 0);
}

/*
 * Walk to the end of a list of pages. Catches: the cursor reads beyond the list (detected by
 * KASAN).
 */
static void edge_dma_end(struct kunit *test)
{
	struct vgpu_res_cursor cur;
	struct rnd_state rnd;
	dma_addr_t *pages;
	unsigned int i;

	vgpu_test_rnd(test, &rnd);
	pages = kunit_kcalloc(test, 32, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < 32; i++)
		pages[i] = (100 + i) << PAGE_SHIFT;
	for (i = 0; i < ROUNDS; i++) {
		u64 at = vgpu_test_random(&rnd, 32 << PAGE_SHIFT);
		u64 size = 1 + vgpu_test_random(&rnd, (32 << PAGE_SHIFT) - at);

		vgpu_res_first_dma(pages, at, size, &cur);
		KUNIT_ASSERT_EQ(test, cur.start, (100 << PAGE_SHIFT) + at);
		/* The walk is one run, because the addresses of the pages are consecutive. */
		KUNIT_ASSERT_EQ(test, cur.size, size);
		vgpu_res_next(&cur, size);
		KUNIT_ASSERT_EQ(test, cur.remaining, 0);
	}
}

/*
 * Catches: pages with descending bus addresses, or a page that is listed twice, are joined to
 * one run.
 */
static void edge_dma_breaks(struct kunit *test)
{
	struct vgpu_res_cursor cur;
	dma_addr_t pages[16];
	unsigned int i, runs;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		pages[i] = (100 - i) << PAGE_SHIFT;
	vgpu_res_first_dma(pages, 0, sizeof(pages) / 8 << PAGE_SHIFT, &cur);
	for (runs = 0; cur.remaining; runs++) {
		KUNIT_ASSERT_EQ(test, cur.size, PAGE_SIZE);
		KUNIT_ASSERT_EQ(test, cur.start, pages[runs]);
		vgpu_res_next(&cur, cur.size);
	}
	KUNIT_EXPECT_EQ(test, runs, ARRAY_SIZE(pages));

	/* The same page twice makes two runs. */
	pages[1] = pages[0];
	vgpu_res_first_dma(pages, 100, 2 * PAGE_SIZE - 100, &cur);
	KUNIT_EXPECT_EQ(test, cur.size, PAGE_SIZE - 100);
	vgpu_res_next(&cur, cur.size);
	KUNIT_EXPECT_EQ(test, cur.start, pages[0]);
	KUNIT_EXPECT_EQ(test, cur.size, PAGE_SIZE);
}

/*
 * Wipe about half of the blocks. Catches: a block that was not wiped is reported as clear, or a
 * block that was wiped is not reported as clear.
 */
static void edge_cleared(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	u64 all = VGPU_MOCK_VRAM >> PAGE_SHIFT, i, known = 0;
	struct ttm_resource *res[64], *whole;
	struct vgpu_res_cursor cur;
	unsigned long *zero;

	zero = kunit_kcalloc(test, BITS_TO_LONGS(all), sizeof(long),
			     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, zero);
	for (i = 0; i < ARRAY_SIZE(res); i++)
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, all / 64, 1, &vram,
						      &res[i]), 0);
	for (i = 0; i < ARRAY_SIZE(res); i++) {
		if (vgpu_mock_random(mock, 2)) {
			to_vgpu_vram_resource(res[i])->wiped =
				dma_fence_get_stub();
			bitmap_set(zero, res[i]->start, all / 64);
		}
		vgpu_mock_free(mock, res[i]);
	}
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, all - 1, 1, &vram, &whole),
			0);
	vgpu_res_first(whole, 0, whole->size, &cur);
	while (cur.remaining) {
		u64 page = cur.start >> PAGE_SHIFT;

		/*
		 * Test vgpu_res_cleared() at each page, not only at the start of each block: for a
		 * page inside a block, vgpu_res_cleared() must give the state of the block.
		 */
		KUNIT_ASSERT_TRUE(test, !vgpu_res_cleared(&cur) ||
				  test_bit(page, zero));
		if (vgpu_res_cleared(&cur))
			known++;
		vgpu_res_next(&cur, PAGE_SIZE);
	}
	/*
	 * @known counts the clear pages in the resource, @i those in all of VRAM. One page of VRAM
	 * is outside the resource.
	 */
	i = bitmap_weight(zero, all);
	KUNIT_EXPECT_GE(test, known + 1, i);
	KUNIT_EXPECT_LE(test, known, i);
	vgpu_mock_free(mock, whole);
}

static struct kunit_case edge_cases[] = {
	KUNIT_CASE(edge_bytes),
	KUNIT_CASE(edge_runs),
	KUNIT_CASE(edge_nothing),
	KUNIT_CASE(edge_steps),
	KUNIT_CASE(edge_doorbell),
	KUNIT_CASE(edge_dma_end),
	KUNIT_CASE(edge_dma_breaks),
	KUNIT_CASE(edge_cleared),
	{}
};

static struct kunit_suite edge_suite = {
	.name = "vgpu_cursor_edge",
	.test_cases = edge_cases,
};

kunit_test_suite(edge_suite);
