// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the cursor (mm/vgpu_res_cursor.h) with a list of pages. The tests walk random parts of a
 * resource in random steps. A walk must visit each byte once, in order, at the address in the list.
 */
#include <linux/dma-fence.h>

#include "mm/vgpu_res_cursor.h"
#include "tests/lib/vgpu_mock.h"

#define ROUNDS	400

static const struct ttm_place vram_place = { .mem_type = TTM_PL_VRAM };

/* Resources of 1 to 8 pages, which fragment VRAM and take about half of VRAM. */
struct fragments {
	struct ttm_resource *res[4096];
	unsigned int n;
};

static struct fragments *fragment_vram(struct kunit *test,
				       struct vgpu_mock *mock)
{
	struct fragments *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	unsigned int i, kept = 0;

	KUNIT_ASSERT_NOT_NULL(test, f);
	while (f->n < ARRAY_SIZE(f->res) &&
	       !vgpu_mock_alloc(mock, 1 + vgpu_mock_random(mock, 8), 1,
				&vram_place, &f->res[f->n]))
		f->n++;
	for (i = 0; i < f->n; i++) {
		if (vgpu_mock_random(mock, 2))
			vgpu_mock_free(mock, f->res[i]);
		else
			f->res[kept++] = f->res[i];
	}
	f->n = kept;
	return f;
}

static void free_fragments(struct vgpu_mock *mock, struct fragments *f)
{
	while (f->n)
		vgpu_mock_free(mock, f->res[--f->n]);
}

/*
 * Walk @size bytes from @start of a resource with page addresses @pages. Catches: a wrong address;
 * a run (contiguous bytes) includes memory of another resource; the walk leaves out bytes.
 */
static void check_walk(struct kunit *test, struct vgpu_mock *mock,
		       struct vgpu_res_cursor *cur, const u64 *pages,
		       u64 start, u64 size)
{
	u64 done = 0;

	while (cur->remaining) {
		u64 step = cur->size, at;

		KUNIT_ASSERT_EQ(test, cur->remaining, size - done);
		KUNIT_ASSERT_GT(test, cur->size, 0);
		KUNIT_ASSERT_LE(test, cur->size, cur->remaining);
		/*
		 * The next @cur->size bytes are contiguous: a run. In each page of the run, check
		 * the first byte that belongs to the run.
		 */
		for (at = start + done; at < start + done + cur->size;
		     at = ALIGN_DOWN(at, PAGE_SIZE) + PAGE_SIZE)
			KUNIT_ASSERT_EQ_MSG(test,
					    cur->start + at - start - done,
					    pages[at >> PAGE_SHIFT] +
					    offset_in_page(at),
					    "walk of %llu bytes from %llu, at %llu",
					    size, start, at);
		/* Choose how many bytes to skip. If no case matches, skip exactly this run. */
		switch (vgpu_mock_random(mock, 3)) {
		case 0:
			/* at most this run */
			step = 1 + vgpu_mock_random(mock, cur->size);
			break;
		case 1:
			/* at most all remaining bytes: the step may end in a later run */
			step = 1 + vgpu_mock_random(mock, cur->remaining);
			break;
		}
		vgpu_res_next(cur, step);
		done += step;
	}
	KUNIT_ASSERT_EQ(test, done, size);
}

static void check_random_walks(struct kunit *test, struct vgpu_mock *mock,
			       struct ttm_resource *res, const u64 *pages)
{
	struct vgpu_res_cursor cur;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		u64 start = vgpu_mock_random(mock, res->size);
		u64 size = 1 + vgpu_mock_random(mock, res->size - start);

		if (!i) {
			start = 0;
			size = res->size;
		}
		vgpu_res_first(res, start, size, &cur);
		check_walk(test, mock, &cur, pages, start, size);
	}
}

static void cursor_vram(struct kunit *test)
{
	static const u32 sizes[] = { 1, 7, 300, 2048, 4000 };
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct fragments *f = fragment_vram(test, mock);
	struct ttm_resource *res;
	unsigned int i;
	u64 *pages;

	pages = kunit_kcalloc(test, 4000, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, sizes[i], 1,
						      &vram_place, &res), 0);
		KUNIT_ASSERT_EQ(test, vgpu_mock_vram_pages(mock, res, pages),
				sizes[i]);
		check_random_walks(test, mock, res, pages);
		vgpu_mock_free(mock, res);
	}
	free_fragments(mock, f);
}

static void cursor_gart(struct kunit *test)
{
	const struct ttm_place place = {
		.lpfn = VGPU_MOCK_GART_PAGES, .mem_type = TTM_PL_TT,
	};
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *first, *res;
	u64 *pages;
	u64 i;

	pages = kunit_kcalloc(test, 64, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 3, 1, &place, &first), 0);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 64, 1, &place, &res), 0);
	for (i = 0; i < 64; i++)
		pages[i] = (res->start + i) << PAGE_SHIFT;
	check_random_walks(test, mock, res, pages);
	vgpu_mock_free(mock, res);
	vgpu_mock_free(mock, first);
}

/*
 * For a resource without a GART address, the cursor must report offsets, as one run. Catches: the
 * cursor reports addresses, or several runs.
 */
static void cursor_no_address(struct kunit *test)
{
	const struct ttm_place place = { .mem_type = TTM_PL_TT };
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct vgpu_res_cursor cur;
	struct ttm_resource *res;

	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, 16, 1, &place, &res), 0);
	vgpu_res_first(res, 5000, 20000, &cur);
	KUNIT_EXPECT_EQ(test, cur.start, 5000);
	KUNIT_EXPECT_EQ(test, cur.size, 20000);
	vgpu_res_next(&cur, 1234);
	KUNIT_EXPECT_EQ(test, cur.start, 6234);
	KUNIT_EXPECT_EQ(test, cur.remaining, 20000 - 1234);
	vgpu_res_next(&cur, cur.size);
	KUNIT_EXPECT_EQ(test, cur.remaining, 0);
	KUNIT_EXPECT_FALSE(test, vgpu_res_cleared(&cur));
	vgpu_mock_free(mock, res);

	vgpu_res_first(NULL, 4096, 4096, &cur);
	KUNIT_EXPECT_EQ(test, cur.start, 4096);
	KUNIT_EXPECT_EQ(test, cur.size, 4096);
}

static void cursor_dma(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct vgpu_res_cursor cur;
	dma_addr_t *dma;
	unsigned int i;
	u64 *pages;

	dma = kunit_kcalloc(test, 200, sizeof(*dma), GFP_KERNEL);
	pages = kunit_kcalloc(test, 200, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dma);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < 200; i++) {
		/*
		 * Most pages continue a run. A run must end if the next page is anywhere else, even
		 * if it is directly before the previous page.
		 */
		if (i && vgpu_mock_random(mock, 4))
			dma[i] = dma[i - 1] + PAGE_SIZE;
		else if (i && vgpu_mock_random(mock, 2))
			dma[i] = dma[i - 1] - PAGE_SIZE;
		else
			dma[i] = (1000 + vgpu_mock_random(mock, 1 << 20)) <<
				 PAGE_SHIFT;
		pages[i] = dma[i];
	}
	for (i = 0; i < ROUNDS; i++) {
		u64 start = vgpu_mock_random(mock, 200 << PAGE_SHIFT);
		u64 size = 1 + vgpu_mock_random(mock,
						(200 << PAGE_SHIFT) - start);

		vgpu_res_first_dma(dma, start, size, &cur);
		check_walk(test, mock, &cur, pages, start, size);
	}
	vgpu_res_first_dma(dma, 0, 0, &cur);
	KUNIT_EXPECT_EQ(test, cur.remaining, 0);
}

static bool all_cleared(struct ttm_resource *res, bool cleared)
{
	struct vgpu_res_cursor cur;

	vgpu_res_first(res, 0, res->size, &cur);
	while (cur.remaining) {
		if (vgpu_res_cleared(&cur) != cleared)
			return false;
		vgpu_res_next(&cur, cur.size);
	}
	return true;
}

/*
 * Catches: memory is reported as clear before its first wipe, or after it was allocated again
 * and freed without a wipe; wiped memory is not reported as clear.
 */
static void cursor_cleared(struct kunit *test)
{
	const u64 all = VGPU_MOCK_VRAM >> PAGE_SHIFT;
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_resource *res;

	/* VRAM that was not wiped yet is not reported as clear. */
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, all, 1, &vram_place, &res),
			0);
	KUNIT_EXPECT_TRUE(test, all_cleared(res, false));
	to_vgpu_vram_resource(res)->wiped = dma_fence_get_stub();
	vgpu_mock_free(mock, res);

	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, all, 1, &vram_place, &res),
			0);
	KUNIT_EXPECT_TRUE(test, all_cleared(res, true));
	vgpu_mock_free(mock, res);

	/* VRAM that was freed without a wipe is not reported as clear. */
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, all, 1, &vram_place, &res),
			0);
	KUNIT_EXPECT_TRUE(test, all_cleared(res, false));
	vgpu_mock_free(mock, res);
}

static struct kunit_case cursor_cases[] = {
	KUNIT_CASE(cursor_vram),
	KUNIT_CASE(cursor_gart),
	KUNIT_CASE(cursor_no_address),
	KUNIT_CASE(cursor_dma),
	KUNIT_CASE(cursor_cleared),
	{}
};

static struct kunit_suite cursor_suite = {
	.name = "vgpu_res_cursor",
	.test_cases = cursor_cases,
};

kunit_test_suite(cursor_suite);
