// SPDX-License-Identifier: GPL-2.0
/*
 * Test mm/vgpu_shrinker.c: the count of pages that may be swapped out, and which swap-outs may use
 * the system's memory reserves (PF_MEMALLOC) for the copy of a BO.
 */
#include "tests/lib/vgpu_mock.h"

#define SHRINK_TTS	16u
#define SHRINK_STEPS	10000u

struct shrink_tt {
	struct vgpu_bo bo;
	struct vgpu_tt tt;
};

static u64 shrink_count(struct vgpu_mock *mock)
{
	return vgpu_stat_read(&mock->vdev, VGPU_STAT_SWAPPABLE);
}

static u64 shrink_oracle(const struct shrink_tt *t)
{
	u64 pages = 0;
	unsigned int i;

	for (i = 0; i < SHRINK_TTS; i++)
		if (t[i].tt.ttm.page_flags == TTM_TT_FLAG_PRIV_POPULATED &&
		    !t[i].bo.tbo.pin_count)
			pages += t[i].tt.ttm.num_pages;
	return pages;
}

/*
 * Randomly pin or unpin the BO, or change whether its pages are populated. The pages of a pinned
 * BO stay as they are.
 */
static void shrink_step(struct vgpu_mock *mock, struct shrink_tt *t)
{
	struct ttm_tt *ttm = &t->tt.ttm;
	bool external = ttm->page_flags & TTM_TT_FLAG_EXTERNAL;

	switch (vgpu_mock_random(mock, 3)) {
	case 0:
		if (t->bo.tbo.pin_count)
			break;
		ttm->page_flags ^= TTM_TT_FLAG_PRIV_POPULATED;
		if (!external)
			vgpu_shrink_tt(&mock->vdev, ttm,
				       ttm_tt_is_populated(ttm));
		break;
	case 1:
		t->bo.tbo.pin_count++;
		vgpu_shrink_bo(&t->bo);
		break;
	default:
		if (!t->bo.tbo.pin_count)
			break;
		t->bo.tbo.pin_count--;
		vgpu_shrink_bo(&t->bo);
	}
}

/*
 * Catches: pages are counted twice, or are still counted after they are freed; pinned or imported
 * pages are counted.
 */
static void shrink_counts(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct shrink_tt *t = kunit_kcalloc(test, SHRINK_TTS, sizeof(*t),
					    GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (i = 0; i < SHRINK_TTS; i++) {
		t[i].bo.vdev = &mock->vdev;
		t[i].bo.tbo.ttm = &t[i].tt.ttm;
		t[i].tt.ttm.num_pages = 1 + vgpu_mock_random(mock, 1000);
		if (!(i % 4))
			t[i].tt.ttm.page_flags = TTM_TT_FLAG_EXTERNAL;
	}
	for (i = 0; i < SHRINK_STEPS; i++) {
		shrink_step(mock, &t[vgpu_mock_random(mock, SHRINK_TTS)]);
		KUNIT_ASSERT_EQ_MSG(test, shrink_count(mock), shrink_oracle(t),
				    "step %u", i);
	}
}

/* Catches: a BO without system memory is counted. */
static void shrink_no_tt(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);

	mock->bo.base.vdev = &mock->vdev;
	mock->bo.base.tbo.ttm = NULL;
	vgpu_shrink_bo(&mock->bo.base);
	KUNIT_EXPECT_EQ(test, shrink_count(mock), 0);
}

/* Catches: PF_MEMALLOC is set for a task other than the shrinker's worker, or for a large BO. */
static void shrink_reserves(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct vgpu_shrink *s = &mock->vdev.mman->shrink;
	struct ttm_tt ttm = { .num_pages = SZ_2M >> PAGE_SHIFT };

	vgpu_shrink_copies(&mock->vdev, &ttm);
	KUNIT_EXPECT_FALSE(test, current->flags & PF_MEMALLOC);
	s->task = current;
	vgpu_shrink_copies(&mock->vdev, &ttm);
	KUNIT_EXPECT_TRUE(test, current->flags & PF_MEMALLOC);
	ttm.num_pages++;
	vgpu_shrink_copies(&mock->vdev, &ttm);
	KUNIT_EXPECT_FALSE(test, current->flags & PF_MEMALLOC);
	s->task = NULL;
}

static struct kunit_case shrink_cases[] = {
	KUNIT_CASE(shrink_counts),
	KUNIT_CASE(shrink_no_tt),
	KUNIT_CASE(shrink_reserves),
	{}
};

static struct kunit_suite shrink_suite = {
	.name = "vgpu_shrink",
	.test_cases = shrink_cases,
};

kunit_test_suite(shrink_suite);
