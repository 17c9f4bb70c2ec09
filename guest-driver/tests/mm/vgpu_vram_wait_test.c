// SPDX-License-Identifier: GPL-2.0
/*
 * Test vgpu_vram_mgr_wait_kept() (mm/vgpu_vram_evict.c). An allocation that has found no VRAM waits
 * in this function until a BO may have become evictable. The caller may hold reservations.
 */
#include <linux/dma-resv.h>
#include <linux/sched/signal.h>
#include <kunit/static_stub.h>

#include "tests/lib/vgpu_mock.h"

#define KEEP_PAGES	8u

/**
 * struct keep_mock - a BO in VRAM, and its owner
 * @mock: device and BO
 * @evict_ok: result of vgpu_bo_owner_ops.evict_ok()
 * @evict_in: result of vgpu_bo_owner_ops.evict_in(), in jiffies
 * @refusals: number of further calls of evict_ok() that return false even if @evict_ok is true
 */
struct keep_mock {
	struct vgpu_mock *mock;
	bool evict_ok;
	unsigned long evict_in;
	unsigned int refusals;
};

static bool keep_is_ours(const struct ttm_buffer_object *tbo)
{
	return true;
}

static bool keep_evict_ok(struct vgpu_bo *bo)
{
	struct keep_mock *m = bo->owner;

	if (m->refusals) {
		m->refusals--;
		return false;
	}
	return m->evict_ok;
}

static unsigned long keep_evict_in(struct vgpu_bo *bo)
{
	struct keep_mock *m = bo->owner;

	return m->evict_in;
}

static const struct vgpu_bo_owner_ops keep_ops = {
	.evict_ok = keep_evict_ok,
	.evict_in = keep_evict_in,
};

static void keep_fini(void *arg)
{
	struct keep_mock *m = arg;
	struct ttm_buffer_object *tbo = &m->mock->bo.base.tbo;

	vgpu_mock_free(m->mock, tbo->resource);
	dma_resv_fini(tbo->base.resv);
}

static struct keep_mock *keep_new(struct kunit *test)
{
	static const struct ttm_place vram = { .mem_type = TTM_PL_VRAM };
	struct keep_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct ttm_buffer_object *tbo;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	m->mock->bo.base.owner = m;
	m->mock->bo.base.owner_ops = &keep_ops;
	tbo = &m->mock->bo.base.tbo;
	tbo->type = ttm_bo_type_device;
	kref_init(&tbo->kref);
	dma_resv_init(&tbo->base._resv);
	tbo->base.resv = &tbo->base._resv;
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(m->mock, KEEP_PAGES, 1, &vram,
					      &tbo->resource), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, keep_fini, m), 0);
	kunit_activate_static_stub(test, vgpu_bo_is_ours, keep_is_ours);
	return m;
}

static void keep_expect(struct kunit *test, struct keep_mock *m, int want)
{
	struct vgpu_device *vdev = &m->mock->vdev;

	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_wait_kept(vdev, vgpu_vram_mgr_frees(vdev)),
			want);
}

static void keep_waits(struct kunit *test)
{
	struct keep_mock *m = keep_new(test);
	struct dma_resv *resv = m->mock->bo.base.tbo.base.resv;

	/*
	 * m->evict_in is 0: it is not known when the BO becomes evictable. A wait might never end,
	 * so vgpu_vram_mgr_wait_kept() must return -ENOENT at once.
	 */
	keep_expect(test, m, -ENOENT);
	/* The BO may become evictable after one jiffy. Expect 0 (try again) after this time. */
	m->evict_in = 1;
	keep_expect(test, m, 0);
	/*
	 * The BO can be evicted, so vgpu_vram_mgr_wait_kept() pauses for a jiffy and returns 1.
	 * Unlike 0, the result 1 counts against the caller's limit of tries.
	 */
	m->evict_ok = true;
	keep_expect(test, m, 1);
	/*
	 * The BO is reserved, so evict_ok() and evict_in() must not be called. Expect 1 again,
	 * because the BO may be evictable after the reservation ends.
	 */
	m->evict_ok = false;
	m->evict_in = 0;
	dma_resv_lock(resv, NULL);
	keep_expect(test, m, 1);
	dma_resv_unlock(resv);
}

/*
 * The BO becomes evictable while vgpu_vram_mgr_wait_kept() looks at the BO. Catches:
 * vgpu_vram_mgr_wait_kept() returns -ENOENT (nothing to wait for). Correct is 1: the caller tries
 * the allocation again.
 */
static void keep_ends(struct kunit *test)
{
	struct keep_mock *m = keep_new(test);

	/*
	 * The first evict_ok() returns false (m->refusals). evict_in() then returns 0: the BO may
	 * have become evictable. Expect a second call of evict_ok(), which returns true.
	 */
	m->evict_ok = true;
	m->refusals = 1;
	keep_expect(test, m, 1);
}

/*
 * VRAM has been freed since @frees was read. Catches: vgpu_vram_mgr_wait_kept() waits for
 * m->evict_in jiffies. Correct: return 1 (try the allocation again) after one jiffy.
 */
static void keep_freed(struct kunit *test)
{
	struct keep_mock *m = keep_new(test);
	struct vgpu_device *vdev = &m->mock->vdev;
	unsigned int frees = vgpu_vram_mgr_frees(vdev) - 1;

	m->evict_in = MAX_SCHEDULE_TIMEOUT;
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_wait_kept(vdev, frees), 1);
}

/*
 * A fatal signal is pending. Catches: vgpu_vram_mgr_wait_kept() waits, or returns 1 for an
 * evictable BO. Correct: -EINTR at once.
 */
static void keep_killed(struct kunit *test)
{
	struct keep_mock *m = keep_new(test);

	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
	m->evict_in = MAX_SCHEDULE_TIMEOUT;
	keep_expect(test, m, -EINTR);
	m->evict_ok = true;
	keep_expect(test, m, -EINTR);
	flush_signals(current);
	disallow_signal(SIGKILL);
}

static struct kunit_case keep_cases[] = {
	KUNIT_CASE(keep_waits),
	KUNIT_CASE(keep_ends),
	KUNIT_CASE(keep_freed),
	KUNIT_CASE(keep_killed),
	{}
};

static struct kunit_suite keep_suite = {
	.name = "vgpu_vram_wait",
	.test_cases = keep_cases,
};

kunit_test_suite(keep_suite);
