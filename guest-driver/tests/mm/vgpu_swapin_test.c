// SPDX-License-Identifier: GPL-2.0
/*
 * Test mm/vgpu_swapin.c with simulated time, and its use by eviction_valuable() (mm/vgpu_ttm.c) and
 * by the handler of CPU faults (mm/vgpu_bo_addr.c).
 * Catches: a BO is swapped out as soon as a CPU fault has brought it back; a BO is never swapped
 * out again; a BO is spared when TTM needs room in GTT; a comparison of times is wrong when jiffies
 * wrap.
 */
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <kunit/static_stub.h>

#include "tests/lib/vgpu_mock.h"

/* Start of the simulated time, shortly before jiffies wrap. */
#define START	(-msecs_to_jiffies(700))

#define MS(ms)	msecs_to_jiffies(ms)

#define SWAPIN_PAGES	8u
/* Duration of a swap-in in jiffies. */
#define SWAPIN_TIME	2

static const struct ttm_place swapin_gtt = { .mem_type = TTM_PL_TT };

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
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_buffer_object *tbo = &mock->bo.base.tbo;

	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, SWAPIN_PAGES, 1, &swapin_gtt,
					      &tbo->resource), 0);
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

/* Simulate a swap-in. TTM copies nothing from swap, because it finds the flag cleared. */
static int swapin_populate(struct ttm_device *bdev, struct ttm_tt *ttm,
			   struct ttm_operation_ctx *ctx)
{
	schedule_timeout_uninterruptible(SWAPIN_TIME);
	ttm->page_flags &= ~TTM_TT_FLAG_SWAPPED;
	return 0;
}

static bool swapin_fault_succeeds(struct ttm_buffer_object *tbo)
{
	/* This VMA is empty, so TTM inserts no PTE. The result is VM_FAULT_NOPAGE all the same. */
	struct vm_area_struct vma = {
		.vm_flags = VM_PFNMAP,
		.vm_private_data = tbo,
	};
	struct vm_fault vmf = {
		.vma = &vma,
	};

	return vgpu_bo_vm_ops.fault(&vmf) == VM_FAULT_NOPAGE;
}

/*
 * A CPU fault brings a BO back from swap. Catches: the handler does not spare the BO, or computes
 * the duration of the swap-in wrongly; the BO stays at the head of its LRU list; the handler spares
 * a BO that was not swapped out.
 */
static void swapin_fault(struct kunit *test)
{
	static const struct ttm_device_funcs funcs = { .ttm_tt_populate = swapin_populate };
	struct vgpu_mock *mock = swapin_mock_new(test);
	struct list_head *lru = &mock->mman.gtt.manager.lru[0];
	struct ttm_buffer_object *tbo = &mock->bo.base.tbo;
	struct page *pages[SWAPIN_PAGES] = { ZERO_PAGE(0) };
	struct ttm_tt ttm = {
		.pages = pages,
		.num_pages = SWAPIN_PAGES,
		.caching = ttm_cached,
		/* TTM does not count external pages. */
		.page_flags = TTM_TT_FLAG_EXTERNAL | TTM_TT_FLAG_EXTERNAL_MAPPABLE |
			      TTM_TT_FLAG_SWAPPED,
	};
	struct ttm_resource *newer;
	unsigned long start;

	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, SWAPIN_PAGES, 1, &swapin_gtt, &newer), 0);
	mock->mman.bdev.funcs = &funcs;
	tbo->base.dev = &mock->vdev.drm;
	tbo->ttm = &ttm;

	start = jiffies;
	KUNIT_EXPECT_TRUE(test, swapin_fault_succeeds(tbo));
	KUNIT_EXPECT_TRUE(test, time_after_eq(mock->bo.spared_until, start + 33 * SWAPIN_TIME));
	KUNIT_EXPECT_TRUE(test, list_is_last(&tbo->resource->lru.link, lru));

	mock->bo.spared_until = 0;
	KUNIT_EXPECT_TRUE(test, swapin_fault_succeeds(tbo));
	KUNIT_EXPECT_EQ(test, mock->bo.spared_until, 0);
	tbo->ttm = NULL;
	vgpu_mock_free(mock, newer);
}

static struct kunit_case swapin_cases[] = {
	KUNIT_CASE(swapin_until),
	KUNIT_CASE(swapin_spares),
	KUNIT_CASE(swapin_fault),
	{}
};

static struct kunit_suite swapin_suite = {
	.name = "vgpu_swapin",
	.test_cases = swapin_cases,
};

kunit_test_suite(swapin_suite);
