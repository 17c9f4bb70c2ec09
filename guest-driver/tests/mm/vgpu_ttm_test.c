// SPDX-License-Identifier: GPL-2.0
/*
 * Test the callbacks of mm/vgpu_ttm.c that evict or move a BO. The test calls these callbacks in
 * place of TTM:
 *
 * - vacate_*(): move() calls vacate(), which must take all pages out of the BO. The test supplies
 *   vacate() in place of SVM.
 * - used_*(): move() to VRAM, of a BO that a user queue uses
 * - left_*(): move() out of VRAM, while the copy of the BO is pending
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <drm/drm_vma_manager.h>
#include <kunit/static_stub.h>

#include "tests/lib/vgpu_mock.h"

#define VACATE_PAGES	8u
#define VACATE_BYTES	((u64)VACATE_PAGES << PAGE_SHIFT)

static const struct ttm_place vacate_vram = { .mem_type = TTM_PL_VRAM };

/**
 * struct vacate_mock - a BO in VRAM, and its owner
 * @mock: device and BO
 * @evict_ok: result of vgpu_bo_owner_ops.evict_ok()
 * @can_leave: result of vgpu_bo_owner_ops.vacate()
 * @vacated: number of calls of vgpu_bo_owner_ops.vacate()
 * @system: resource in system memory, to which the BO moves
 */
struct vacate_mock {
	struct vgpu_mock *mock;
	bool evict_ok;
	bool can_leave;
	unsigned int vacated;
	struct ttm_resource system;
};

static bool vacate_is_ours(const struct ttm_buffer_object *tbo)
{
	return true;
}

static bool vacate_evict_ok(struct vgpu_bo *bo)
{
	struct vacate_mock *m = bo->owner;

	return m->evict_ok;
}

static bool vacate_vacate(struct vgpu_bo *bo)
{
	struct vacate_mock *m = bo->owner;

	m->vacated++;
	return m->can_leave;
}

static const struct vgpu_bo_owner_ops vacate_ops = {
	.evict_ok = vacate_evict_ok,
	.vacate = vacate_vacate,
};

static struct ttm_buffer_object *vacate_tbo(struct vacate_mock *m)
{
	return &m->mock->bo.base.tbo;
}

static void vacate_fini(void *arg)
{
	struct vacate_mock *m = arg;
	struct ttm_buffer_object *tbo = vacate_tbo(m);

	if (tbo->resource && tbo->resource != &m->system)
		vgpu_mock_free(m->mock, tbo->resource);
	dma_resv_fini(tbo->base.resv);
}

static struct vacate_mock *vacate_new(struct kunit *test)
{
	struct vacate_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct ttm_buffer_object *tbo;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	m->system.mem_type = TTM_PL_SYSTEM;
	m->mock->bo.base.owner = m;
	m->mock->bo.base.owner_ops = &vacate_ops;
	tbo = vacate_tbo(m);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(m->mock, VACATE_PAGES, 1,
					      &vacate_vram, &tbo->resource), 0);
	dma_resv_init(&tbo->base._resv);
	tbo->base.resv = &tbo->base._resv;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, vacate_fini, m), 0);
	kunit_activate_static_stub(test, vgpu_bo_is_ours, vacate_is_ours);
	return m;
}

static bool vacate_valuable(struct vacate_mock *m)
{
	struct ttm_buffer_object *tbo = vacate_tbo(m);
	bool valuable;

	dma_resv_lock(tbo->base.resv, NULL);
	valuable = vgpu_ttm_funcs.eviction_valuable(tbo, &vacate_vram);
	dma_resv_unlock(tbo->base.resv);
	return valuable;
}

static struct ttm_placement vacate_placement(struct vacate_mock *m)
{
	struct ttm_buffer_object *tbo = vacate_tbo(m);
	struct ttm_placement placement = { };

	dma_resv_lock(tbo->base.resv, NULL);
	vgpu_ttm_funcs.evict_flags(tbo, &placement);
	dma_resv_unlock(tbo->base.resv);
	return placement;
}

static int vacate_move(struct vacate_mock *m)
{
	struct ttm_buffer_object *tbo = vacate_tbo(m);
	struct ttm_operation_ctx ctx = { };
	struct ttm_place hop = { };
	int ret;

	dma_resv_lock(tbo->base.resv, NULL);
	ret = vgpu_ttm_funcs.move(tbo, true, &ctx, &m->system, &hop);
	dma_resv_unlock(tbo->base.resv);
	return ret;
}

/*
 * TTM may ask eviction_valuable() and evict_flags() about a BO, and then evict another BO. Catches:
 * one of these calls moves pages.
 */
static void vacate_query(struct kunit *test)
{
	struct vacate_mock *m = vacate_new(test);
	struct ttm_resource *res = vacate_tbo(m)->resource;
	struct ttm_placement placement;

	m->can_leave = true;
	KUNIT_EXPECT_FALSE(test, vacate_valuable(m));
	m->evict_ok = true;
	KUNIT_EXPECT_TRUE(test, vacate_valuable(m));
	placement = vacate_placement(m);
	KUNIT_EXPECT_EQ(test, placement.num_placement, 1);
	KUNIT_EXPECT_EQ(test, placement.placement[0].mem_type, TTM_PL_SYSTEM);
	KUNIT_EXPECT_EQ(test, m->vacated, 0);
	KUNIT_EXPECT_PTR_EQ(test, vacate_tbo(m)->resource, res);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(m->mock, TTM_PL_VRAM), VACATE_BYTES);
}

/* Catches: a BO loses VRAM although vacate() fails; a BO keeps VRAM although vacate() succeeds. */
static void vacate_moves(struct kunit *test)
{
	struct vacate_mock *m = vacate_new(test);
	struct ttm_resource *res = vacate_tbo(m)->resource;

	/* After -EBUSY, TTM tries to evict the next BO. After most other errors, TTM does not. */
	KUNIT_EXPECT_EQ(test, vacate_move(m), -EBUSY);
	KUNIT_EXPECT_EQ(test, m->vacated, 1);
	KUNIT_EXPECT_PTR_EQ(test, vacate_tbo(m)->resource, res);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(m->mock, TTM_PL_VRAM), VACATE_BYTES);

	m->can_leave = true;
	KUNIT_EXPECT_EQ(test, vacate_move(m), 0);
	KUNIT_EXPECT_EQ(test, m->vacated, 2);
	KUNIT_EXPECT_PTR_EQ(test, vacate_tbo(m)->resource, &m->system);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(m->mock, TTM_PL_VRAM), 0);
}

/**
 * struct used_mock - a BO in GTT that a user queue uses
 */
struct used_mock {
	/** @mock: device and BO */
	struct vgpu_mock *mock;
	/** @vram: memory to which the BO is to move */
	struct ttm_resource *vram;
	/** @queue: fence of the queue, in the BO's reservation */
	struct dma_fence *queue;
	/** @lock: lock of @queue */
	spinlock_t lock;
	/** @later: number of calls of vgpu_mm_vm_ops.move_later() */
	unsigned int later;
};

static const char *used_fence_name(struct dma_fence *fence)
{
	return "vgpu_ttm_test";
}

/* A wait for the fence takes the queue off the hardware, as for an eviction fence. */
static long used_fence_wait(struct dma_fence *fence, bool intr, long timeout)
{
	dma_fence_signal(fence);
	return timeout;
}

static const struct dma_fence_ops used_fence_ops = {
	.get_driver_name = used_fence_name,
	.get_timeline_name = used_fence_name,
	.wait = used_fence_wait,
};

static void used_move_later(struct vgpu_bo *bo)
{
	struct used_mock *m = bo->owner;

	m->later++;
}

static const struct vgpu_mm_vm_ops used_vm_ops = {
	.move_later = used_move_later,
};

static void used_fini(void *arg)
{
	struct used_mock *m = arg;
	struct ttm_buffer_object *tbo = &m->mock->bo.base.tbo;

	vgpu_mock_free(m->mock, tbo->resource);
	vgpu_mock_free(m->mock, m->vram);
	dma_fence_signal(m->queue);
	dma_resv_fini(tbo->base.resv);
	dma_fence_put(m->queue);
}

static struct used_mock *used_new(struct kunit *test)
{
	static const struct ttm_place gtt = { .mem_type = TTM_PL_TT };
	struct used_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct ttm_buffer_object *tbo;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	m->mock->mman.vm_ops = &used_vm_ops;
	m->mock->bo.base.owner = m;
	INIT_LIST_HEAD(&m->mock->bo.attachments);
	tbo = &m->mock->bo.base.tbo;
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(m->mock, VACATE_PAGES, 1, &gtt,
					      &tbo->resource), 0);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(m->mock, VACATE_PAGES, 1,
					      &vacate_vram, &m->vram), 0);
	spin_lock_init(&m->lock);
	m->queue = kzalloc(sizeof(*m->queue), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->queue);
	dma_fence_init(m->queue, &used_fence_ops, &m->lock,
		       dma_fence_context_alloc(1), 1);
	dma_resv_init(&tbo->base._resv);
	tbo->base.resv = &tbo->base._resv;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, used_fini, m), 0);
	dma_resv_lock(tbo->base.resv, NULL);
	ret = dma_resv_reserve_fences(tbo->base.resv, 1);
	if (!ret)
		dma_resv_add_fence(tbo->base.resv, m->queue,
				   DMA_RESV_USAGE_BOOKKEEP);
	dma_resv_unlock(tbo->base.resv);
	KUNIT_ASSERT_EQ(test, ret, 0);
	kunit_activate_static_stub(test, vgpu_bo_is_ours, vacate_is_ours);
	return m;
}

/*
 * A move fails after move_later() has marked the mappings as stale. Catches: move() returns before
 * the queue is off the hardware. MAP_MEMORY_TO_GPU or GEM_VA could then clear the entries that the
 * queue uses, because they wait for fences of usage KERNEL only, and a failed move adds none.
 */
static void used_move_fails(struct kunit *test)
{
	struct used_mock *m = used_new(test);
	struct ttm_buffer_object *tbo = &m->mock->bo.base.tbo;
	struct ttm_resource *old = tbo->resource;
	struct ttm_operation_ctx ctx = { };
	struct ttm_place hop = { };
	int ret;

	dma_resv_lock(tbo->base.resv, NULL);
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(m->queue));
	/* The BO has no DMA addresses (struct ttm_tt), so the copy fails before its first job. */
	ret = vgpu_ttm_funcs.move(tbo, false, &ctx, m->vram, &hop);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	KUNIT_EXPECT_EQ(test, m->later, 1);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(m->queue));
	KUNIT_EXPECT_PTR_EQ(test, tbo->resource, old);
	dma_resv_unlock(tbo->base.resv);
}

/* A reset loses VRAM. Jobs that are created later fill VRAM with valid content. */
static void used_lose_vram(struct used_mock *m)
{
	atomic_inc(&m->mock->hw.base.vram_epoch);
	vgpu_vram_mgr_distrust(&m->mock->vdev);
	vgpu_vram_mgr_loss_over(&m->mock->vdev);
}

/*
 * A reset loses VRAM between the allocation of VRAM and the move to this VRAM. Catches: the content
 * that the move writes counts as lost.
 */
static void used_move_after_loss(struct kunit *test)
{
	struct used_mock *m = used_new(test);
	struct ttm_buffer_object *tbo = &m->mock->bo.base.tbo;
	struct ttm_resource *gtt = tbo->resource;
	struct ttm_operation_ctx ctx = { };
	struct ttm_place hop = { };

	dma_resv_lock(tbo->base.resv, NULL);
	used_lose_vram(m);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_content_epoch(m->vram), 0);
	/* The copy fails, as in used_move_fails(), but only after the epoch was recorded. */
	KUNIT_EXPECT_EQ(test, vgpu_ttm_funcs.move(tbo, false, &ctx, m->vram, &hop), -EINVAL);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_content_epoch(m->vram), 1);

	/* Move a BO that has no memory. A BO of this type needs no zeros. */
	used_lose_vram(m);
	tbo->type = ttm_bo_type_kernel;
	tbo->resource = NULL;
	KUNIT_EXPECT_EQ(test, vgpu_ttm_funcs.move(tbo, false, &ctx, m->vram, &hop), 0);
	KUNIT_EXPECT_PTR_EQ(test, tbo->resource, m->vram);
	KUNIT_EXPECT_EQ(test, vgpu_vram_mgr_content_epoch(m->vram), 2);
	/* used_fini() frees both resources. */
	tbo->resource = gtt;
	dma_resv_unlock(tbo->base.resv);
}

/**
 * struct left_mock - a BO in VRAM
 */
struct left_mock {
	/** @mock: device and BO */
	struct vgpu_mock *mock;
	/** @vma: manager of offsets for mmap(), which TTM needs to release an object */
	struct drm_vma_offset_manager vma;
	/** @gtt: memory to which the BO moves */
	struct ttm_resource *gtt;
	/** @copy: fence of the copy */
	struct dma_fence *copy;
	/** @user: fence of a job that uses the BO, or NULL */
	struct dma_fence *user;
	/** @lock: lock of @copy and @user */
	spinlock_t lock;
};

static const struct dma_fence_ops left_fence_ops = {
	.get_driver_name = used_fence_name,
	.get_timeline_name = used_fence_name,
};

static struct dma_fence *left_fence(struct kunit *test, struct left_mock *m)
{
	struct dma_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fence);
	dma_fence_init(fence, &left_fence_ops, &m->lock, dma_fence_context_alloc(1), 1);
	return fence;
}

static struct dma_fence *left_copy_res(struct vgpu_device *vdev, struct dma_resv *resv,
				       struct vgpu_bo *used, struct ttm_tt *ttm,
				       struct ttm_resource *src, struct ttm_resource *dst,
				       u64 size)
{
	struct vgpu_mock *mock = container_of(vdev, struct vgpu_mock, vdev);
	struct left_mock *m = mock->bo.base.owner;

	return dma_fence_get(m->copy);
}

/* Signal the fences, and let TTM's workers free the memory that waits for these fences. */
static void left_end_copy(struct left_mock *m)
{
	if (m->user)
		dma_fence_signal(m->user);
	dma_fence_signal(m->copy);
	flush_workqueue(m->mock->vdev.mman->bdev.wq);
}

static void left_fini(void *arg)
{
	struct left_mock *m = arg;
	struct vgpu_bo_state *bs = &m->mock->bo;
	struct ttm_buffer_object *tbo = &bs->base.tbo;

	left_end_copy(m);
	if (bs->leaving) {
		list_del(&bs->leaving_link);
		dma_fence_put(bs->leaving);
	}
	if (tbo->resource != m->gtt)
		vgpu_mock_free(m->mock, tbo->resource);
	vgpu_mock_free(m->mock, m->gtt);
	dma_resv_fini(tbo->base.resv);
	dma_fence_put(m->copy);
	dma_fence_put(m->user);
}

static void left_fini_ttm(void *arg)
{
	struct left_mock *m = arg;

	ttm_device_fini(&m->mock->vdev.mman->bdev);
	drm_vma_offset_manager_destroy(&m->vma);
}

static void left_init_ttm(struct kunit *test, struct left_mock *m)
{
	static const struct ttm_device_funcs funcs;

	drm_vma_offset_manager_init(&m->vma, DRM_FILE_PAGE_OFFSET_START,
				    DRM_FILE_PAGE_OFFSET_SIZE);
	KUNIT_ASSERT_EQ(test, ttm_device_init(&m->mock->vdev.mman->bdev, &funcs, NULL, NULL,
					      &m->vma, false, false), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, left_fini_ttm, m), 0);
}

static struct left_mock *left_new(struct kunit *test)
{
	static const struct ttm_place gtt = { .mem_type = TTM_PL_TT };
	struct left_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct ttm_buffer_object *tbo;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	left_init_ttm(test, m);
	m->mock->bo.base.owner = m;
	INIT_LIST_HEAD(&m->mock->bo.attachments);
	tbo = &m->mock->bo.base.tbo;
	kref_init(&tbo->kref);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(m->mock, VACATE_PAGES, 1, &gtt, &m->gtt), 0);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(m->mock, VACATE_PAGES, 1, &vacate_vram,
					      &tbo->resource), 0);
	spin_lock_init(&m->lock);
	m->copy = left_fence(test, m);
	dma_resv_init(&tbo->base._resv);
	tbo->base.resv = &tbo->base._resv;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, left_fini, m), 0);
	kunit_activate_static_stub(test, vgpu_bo_is_ours, vacate_is_ours);
	kunit_activate_static_stub(test, vgpu_mm_copy_res, left_copy_res);
	return m;
}

/* Move the BO out of VRAM, as ttm_bo_validate() does (evict is false). The reservation is held. */
static int left_move(struct left_mock *m)
{
	struct ttm_buffer_object *tbo = &m->mock->bo.base.tbo;
	struct ttm_operation_ctx ctx = { };
	struct ttm_place hop = { };
	int ret;

	ret = dma_resv_reserve_fences(tbo->base.resv, 1);
	if (ret)
		return ret;
	return vgpu_ttm_funcs.move(tbo, false, &ctx, m->gtt, &hop);
}

/*
 * Move a BO that has no users. Catches: the VRAM is free only after the copy, and a task has to
 * wake up and free it.
 */
static void left_frees_vram(struct kunit *test)
{
	struct left_mock *m = left_new(test);
	struct ttm_buffer_object *tbo = &m->mock->bo.base.tbo;

	dma_resv_lock(tbo->base.resv, NULL);
	KUNIT_EXPECT_EQ(test, left_move(m), 0);
	KUNIT_EXPECT_PTR_EQ(test, tbo->resource, m->gtt);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(m->mock, TTM_PL_VRAM), 0);
	/* The BO's new memory has the content only after the copy. */
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(m->copy));
	KUNIT_EXPECT_FALSE(test, dma_resv_test_signaled(tbo->base.resv, DMA_RESV_USAGE_KERNEL));
	dma_resv_unlock(tbo->base.resv);
}

/*
 * Move a BO that a job of user space uses. Catches: the VRAM is free before the copy, so the next
 * owner of the VRAM waits for the job of another process, which may run for long.
 */
static void left_keeps_vram(struct kunit *test)
{
	struct left_mock *m = left_new(test);
	struct ttm_buffer_object *tbo = &m->mock->bo.base.tbo;
	int ret;

	m->user = left_fence(test, m);
	dma_resv_lock(tbo->base.resv, NULL);
	ret = dma_resv_reserve_fences(tbo->base.resv, 1);
	if (!ret) {
		dma_resv_add_fence(tbo->base.resv, m->user, DMA_RESV_USAGE_BOOKKEEP);
		ret = left_move(m);
	}
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_PTR_EQ(test, tbo->resource, m->gtt);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(m->mock, TTM_PL_VRAM), VACATE_BYTES);
	dma_resv_unlock(tbo->base.resv);

	left_end_copy(m);
	KUNIT_EXPECT_EQ(test, vgpu_mock_usage(m->mock, TTM_PL_VRAM), 0);
}

static struct kunit_case vacate_cases[] = {
	KUNIT_CASE(vacate_query),
	KUNIT_CASE(vacate_moves),
	KUNIT_CASE(used_move_fails),
	KUNIT_CASE(used_move_after_loss),
	KUNIT_CASE(left_frees_vram),
	KUNIT_CASE(left_keeps_vram),
	{}
};

static struct kunit_suite vacate_suite = {
	.name = "vgpu_ttm",
	.test_cases = vacate_cases,
};

kunit_test_suite(vacate_suite);
