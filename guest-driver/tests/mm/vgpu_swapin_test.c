// SPDX-License-Identifier: GPL-2.0
/*
 * Test mm/vgpu_swapin.c with simulated time, and its use by eviction_valuable() (mm/vgpu_ttm.c).
 * Catches: a BO is swapped out as soon as a CPU fault has brought it back; a BO is never swapped
 * out again; a BO is spared when TTM needs room in GTT; a comparison of times is wrong when jiffies
 * wrap.
 */
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <kunit/static_stub.h>

#include "tests/lib/vgpu_mock.h"

/* Start of the simulated time, shortly before jiffies wrap. */
#define START	(-msecs_to_jiffies(700))

#define MS(ms)	msecs_to_jiffies(ms)

#define SWAPIN_PAGES	8u

/* Check the time for swap-ins of different duration. */
static void swapin_until(struct kunit *test)
{
	static const struct {
		unsigned int took, spared;
	} want[] = {
		{ 0, 0 }, { 20, 640 }, { 100, 3200 }, { 400, 10000 }, { 100000, 10000 },
	};
	unsigned long now;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		now = START + MS(want[i].took);
		KUNIT_EXPECT_EQ(test, vgpu_swapin_until(START, now) - now, MS(want[i].spared));
	}
}

static bool swapin_is_ours(const struct ttm_buffer_object *tbo)
{
	return true;
}

static void swapin_fini(void *arg)
{
	struct vgpu_mock *mock = arg;
	struct ttm_buffer_object *tbo = &mock->bo.base.tbo;

	vgpu_mock_free(mock, tbo->resource);
	dma_resv_fini(tbo->base.resv);
}

/* Create a device with a BO in GTT. */
static struct vgpu_mock *swapin_mock_new(struct kunit *test)
{
	static const struct ttm_place gtt = { .mem_type = TTM_PL_TT };
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_buffer_object *tbo = &mock->bo.base.tbo;

	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, SWAPIN_PAGES, 1, &gtt, &tbo->resource), 0);
	dma_resv_init(&tbo->base._resv);
	tbo->base.resv = &tbo->base._resv;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, swapin_fini, mock), 0);
	kunit_activate_static_stub(test, vgpu_bo_is_ours, swapin_is_ours);
	return mock;
}

static bool swapin_valuable(struct vgpu_mock *mock)
{
	struct ttm_buffer_object *tbo = &mock->bo.base.tbo;
	struct ttm_place place = { .mem_type = tbo->resource->mem_type };

	return vgpu_ttm_funcs.eviction_valuable(tbo, &place);
}

static void swapin_spares(struct kunit *test)
{
	struct vgpu_mock *mock = swapin_mock_new(test);
	struct ttm_buffer_object *tbo = &mock->bo.base.tbo;
	struct ttm_resource *gtt = tbo->resource;
	struct ttm_resource system = { .mem_type = TTM_PL_SYSTEM };
	unsigned long until;

	dma_resv_lock(tbo->base.resv, NULL);
	vgpu_swapin_done(&mock->bo.base, START, START + MS(100));
	until = mock->bo.spared_until;
	KUNIT_EXPECT_EQ(test, until, START + MS(3300));
	KUNIT_EXPECT_FALSE(test, vgpu_swapin_spares(&mock->bo.base, until - 1));

	tbo->resource = &system;
	KUNIT_EXPECT_TRUE(test, vgpu_swapin_spares(&mock->bo.base, START + MS(100)));
	KUNIT_EXPECT_TRUE(test, vgpu_swapin_spares(&mock->bo.base, until - 1));
	KUNIT_EXPECT_FALSE(test, vgpu_swapin_spares(&mock->bo.base, until));

	mock->bo.spared_until = jiffies + 3600 * HZ;
	KUNIT_EXPECT_FALSE(test, swapin_valuable(mock));
	tbo->deleted = true;
	KUNIT_EXPECT_TRUE(test, swapin_valuable(mock));
	tbo->deleted = false;
	mock->bo.spared_until = jiffies - 1;
	KUNIT_EXPECT_TRUE(test, swapin_valuable(mock));

	tbo->resource = gtt;
	mock->bo.spared_until = jiffies + 3600 * HZ;
	KUNIT_EXPECT_TRUE(test, swapin_valuable(mock));
	dma_resv_unlock(tbo->base.resv);
}

static struct kunit_case swapin_cases[] = {
	KUNIT_CASE(swapin_until),
	KUNIT_CASE(swapin_spares),
	{}
};

static struct kunit_suite swapin_suite = {
	.name = "vgpu_swapin",
	.test_cases = swapin_cases,
};

kunit_test_suite(swapin_suite);
