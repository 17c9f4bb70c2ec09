// SPDX-License-Identifier: GPL-2.0
/*
 * Tests in which TTM manages BOs, but a move of a BO copies no content:
 * - create_*(): allocations in VRAM that is full of BOs (process/kfd_mem.c, mm/vgpu_vram_evict.c)
 * - validate_*(): moves of a process's BOs to their domains (process/kfd_mem_validate.c)
 */
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched/task.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_drv.h>
#include <drm/drm_vma_manager.h>

#include "process/kfd_evict.h"
#include "process/kfd_evict_priv.h"
#include "process/kfd_mem.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "tests/lib/vgpu_mock.h"

#define CREATE_BOS	20u
/*
 * Number of evictions that create_lets_go() refuses, at least one in each failed try. The number is
 * less than KGD_MEM_CREATE_TRIES (16), so the allocation succeeds.
 */
#define CREATE_REFUSALS	8u
#define VALIDATE_BOS	3u

/**
 * struct create_mock - a device whose VRAM is full, and a process
 */
struct create_mock {
	/** @mock: device */
	struct vgpu_mock *mock;
	/** @node: vgpu_device.kfd of @mock */
	struct kfd_node node;
	/** @p: process that allocates */
	struct kfd_process p;
	/** @pdd: state of @p on the device */
	struct kfd_process_device pdd;
	/** @vma: manager of the BOs' offsets for mmap() */
	struct drm_vma_offset_manager vma;
	/** @mapping: address_space of the device; it has no CPU mappings */
	struct address_space mapping;
	/** @funcs: the driver's TTM functions, with a move that copies nothing */
	struct ttm_device_funcs funcs;
	/** @man_funcs: copy of @driver_funcs in which create_alloc() replaces alloc() */
	struct ttm_resource_manager_func man_funcs;
	/** @driver_funcs: original functions of the VRAM manager */
	const struct ttm_resource_manager_func *driver_funcs;
	/** @filler: allocation of all the VRAM that the BOs in @bo do not use */
	struct ttm_resource *filler;
	/** @bo: BOs that fill VRAM */
	struct vgpu_bo *bo[CREATE_BOS];
	/** @n: number of @bo */
	unsigned int n;
	/** @refusals: create_lets_go() refuses this number of further evictions */
	unsigned int refusals;
	/** @tries: number of tries to create a BO; counted only while @holder exists */
	unsigned int tries;
	/** @holder: thread that holds the reservations of @bo during each try, or NULL */
	struct task_struct *holder;
	/** @hold: completed to make @holder take the reservations */
	struct completion hold;
	/** @held: completed when @holder has taken the reservations */
	struct completion held;
	/** @drop: completed to make @holder drop the reservations */
	struct completion drop;
	/**
	 * @holding: true from the completion of @hold to the completion of @drop. Used only by the
	 * test's thread
	 */
	bool holding;
	/** @stop: if true, @holder exits when @hold is completed */
	bool stop;
	/** @moved: BOs in the order of their moves */
	struct vgpu_bo *moved[CREATE_BOS];
	/** @n_moved: number of moves recorded in @moved; moves of @stuck are not recorded */
	unsigned int n_moved;
	/** @stuck: BO whose moves fail with -EIO, or NULL */
	struct vgpu_bo *stuck;
};

static struct create_mock *create_of(struct ttm_device *bdev)
{
	return container_of(bdev->funcs, struct create_mock, funcs);
}

static struct ttm_tt *create_tt(struct ttm_buffer_object *tbo, u32 page_flags)
{
	struct ttm_tt *tt = kzalloc(sizeof(*tt), GFP_KERNEL);

	if (tt && ttm_tt_init(tt, tbo, page_flags, ttm_cached, 0)) {
		kfree(tt);
		tt = NULL;
	}
	return tt;
}

static void create_tt_destroy(struct ttm_device *bdev, struct ttm_tt *tt)
{
	ttm_tt_fini(tt);
	kfree(tt);
}

static int create_move(struct ttm_buffer_object *tbo, bool evict,
		       struct ttm_operation_ctx *ctx, struct ttm_resource *new,
		       struct ttm_place *hop)
{
	const struct vgpu_bo_owner_ops *ops = to_vgpu_bo(tbo)->owner_ops;
	struct create_mock *m = create_of(tbo->bdev);

	if (m->stuck == to_vgpu_bo(tbo))
		return -EIO;
	if (m->n_moved < ARRAY_SIZE(m->moved))
		m->moved[m->n_moved++] = to_vgpu_bo(tbo);
	/*
	 * If the BO's owner has vacate(), call the driver's move function, which lets vacate() move
	 * the content.
	 */
	if (ops && ops->vacate)
		return vgpu_ttm_funcs.move(tbo, evict, ctx, new, hop);
	ttm_bo_move_null(tbo, new);
	return 0;
}

static int create_holder(void *arg)
{
	struct create_mock *m = arg;
	unsigned int i;

	for (;;) {
		wait_for_completion(&m->hold);
		if (m->stop)
			return 0;
		/*
		 * No trylock fails, because the test's thread waits for m->held and holds none of
		 * these reservations.
		 */
		for (i = 0; i < m->n; i++)
			WARN_ON(!dma_resv_trylock(m->bo[i]->tbo.base.resv));
		complete(&m->held);
		wait_for_completion(&m->drop);
		for (i = 0; i < m->n; i++)
			dma_resv_unlock(m->bo[i]->tbo.base.resv);
	}
}

/*
 * Replaces alloc() of the VRAM manager. In each try to create a BO, the first call waits until
 * m->holder holds the reservations of m->bo.
 */
static int create_alloc(struct ttm_resource_manager *man,
			struct ttm_buffer_object *tbo,
			const struct ttm_place *place, struct ttm_resource **res)
{
	struct create_mock *m = create_of(man->bdev);

	if (m->holder && !m->holding) {
		m->tries++;
		m->holding = true;
		complete(&m->hold);
		wait_for_completion(&m->held);
	}
	return m->driver_funcs->alloc(man, tbo, place, res);
}

/*
 * Replaces ttm_device_funcs.release_notify(). If a try to create a BO has failed, completes
 * m->drop, for which the thread m->holder waits.
 */
static void create_release(struct ttm_buffer_object *tbo)
{
	struct create_mock *m = create_of(tbo->bdev);

	/*
	 * A BO is released without memory if its creation has failed. Let the thread m->holder drop
	 * the reservations. In the next try, create_alloc() makes m->holder take them again.
	 */
	if (m->holding && !tbo->resource) {
		m->holding = false;
		complete(&m->drop);
	}
	/* Do not wipe the memory, because the mock has no engine that could do so. */
	to_vgpu_bo(tbo)->flags &= ~AMDGPU_GEM_CREATE_VRAM_WIPE_ON_RELEASE;
	vgpu_ttm_funcs.release_notify(tbo);
}

static bool create_stays(struct vgpu_bo *bo)
{
	return false;
}

static const struct vgpu_bo_owner_ops create_stay_ops = {
	.evict_ok = create_stays,
};

static bool create_lets_go(struct vgpu_bo *bo)
{
	struct create_mock *m = create_of(bo->tbo.bdev);

	if (!m->refusals)
		return true;
	m->refusals--;
	return false;
}

static unsigned long create_a_jiffy(struct vgpu_bo *bo)
{
	return 1;
}

static const struct vgpu_bo_owner_ops create_vacate_ops = {
	.vacate = create_lets_go,
};

static const struct vgpu_bo_owner_ops create_keep_ops = {
	.evict_ok = create_lets_go,
	.evict_in = create_a_jiffy,
};

static void create_set_owner(struct vgpu_bo *bo, const struct vgpu_bo_owner_ops *ops)
{
	dma_resv_lock(bo->tbo.base.resv, NULL);
	bo->owner_ops = ops;
	dma_resv_unlock(bo->tbo.base.resv);
}

static void create_mock_fini(void *arg)
{
	struct create_mock *m = arg;
	unsigned int i;

	for (i = 0; i < m->n; i++)
		vgpu_bo_put(m->bo[i]);
	if (m->filler)
		vgpu_mock_free(m->mock, m->filler);
	ttm_device_fini(&m->mock->vdev.mman->bdev);
	drm_vma_offset_manager_destroy(&m->vma);
}

static void create_init_ttm(struct kunit *test, struct create_mock *m)
{
	static const struct drm_driver driver;
	struct vgpu_device *vdev = &m->mock->vdev;

	vdev->drm.driver = &driver;
	vdev->drm.vma_offset_manager = &m->vma;
	drm_vma_offset_manager_init(&m->vma, DRM_FILE_PAGE_OFFSET_START,
				    DRM_FILE_PAGE_OFFSET_SIZE);
	address_space_init_once(&m->mapping);
	m->funcs = vgpu_ttm_funcs;
	m->funcs.ttm_tt_create = create_tt;
	m->funcs.ttm_tt_populate = NULL;
	m->funcs.ttm_tt_unpopulate = NULL;
	m->funcs.ttm_tt_destroy = create_tt_destroy;
	m->funcs.move = create_move;
	m->funcs.release_notify = create_release;
	m->funcs.swap_notify = NULL;
	KUNIT_ASSERT_EQ(test,
			ttm_device_init(&vdev->mman->bdev, &m->funcs, NULL,
					&m->mapping, &m->vma, false, false), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, create_mock_fini,
							m), 0);
}

/* Fill VRAM: create @n BOs of @size bytes each, and give the rest to one pinned BO. */
static void create_fill(struct kunit *test, struct create_mock *m, unsigned int n,
			u64 size, enum ttm_bo_type type)
{
	static const struct ttm_place vram = { .mem_type = TTM_PL_VRAM };
	const struct vgpu_bo_params params = {
		.size = size,
		.domain = AMDGPU_GEM_DOMAIN_VRAM,
		.type = type,
	};
	struct ttm_buffer_object *pinned = &m->mock->bo.base.tbo;

	kref_init(&pinned->kref);
	pinned->pin_count = 1;
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(m->mock, (VGPU_MOCK_VRAM - n * size) >>
					      PAGE_SHIFT, 1, &vram, &m->filler), 0);
	for (; m->n < n; m->n++)
		KUNIT_ASSERT_EQ(test, vgpu_bo_create(&m->mock->vdev, &params,
						     &m->bo[m->n]), 0);
}

static void create_free_info(void *p)
{
	kfd_process_info_free(p);
}

static struct create_mock *create_mock_new(struct kunit *test, unsigned int n, u64 size,
					   enum ttm_bo_type type)
{
	struct create_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct ttm_resource_manager *man;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	m->mock->vdev.kfd = &m->node;
	m->node.vdev = &m->mock->vdev;
	m->pdd.node = &m->node;
	m->pdd.process = &m->p;
	mutex_init(&m->p.mutex);
	mutex_init(&m->p.queue_lock);
	KUNIT_ASSERT_EQ(test, kfd_process_info_init(&m->p), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, create_free_info,
							&m->p), 0);
	init_completion(&m->hold);
	init_completion(&m->held);
	init_completion(&m->drop);
	create_init_ttm(test, m);
	create_fill(test, m, n, size, type);
	man = &m->mock->vdev.mman->vram.manager;
	m->driver_funcs = man->func;
	m->man_funcs = *man->func;
	m->man_funcs.alloc = create_alloc;
	man->func = &m->man_funcs;
	return m;
}

/*
 * Start the thread m->holder, which holds the reservations of all m->bo during each try to create a
 * BO. The caller must call create_stop_holder().
 */
static void create_start_holder(struct kunit *test, struct create_mock *m)
{
	struct task_struct *thread = kthread_run(create_holder, m, "vgpu-create-test");

	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	m->holder = get_task_struct(thread);
}

static void create_stop_holder(struct create_mock *m)
{
	/*
	 * create_release() makes m->holder drop the reservations after a failed try to create a BO.
	 * After a successful try, m->holder still holds the reservations.
	 */
	if (m->holding)
		complete(&m->drop);
	m->holding = false;
	m->stop = true;
	complete(&m->hold);
	kthread_stop(m->holder);
	put_task_struct(m->holder);
	m->holder = NULL;
}

/* Allocate @size bytes of VRAM, check the result, and free the memory. */
static void create_and_destroy(struct kunit *test, struct create_mock *m, u64 size,
			       int want)
{
	struct kgd_mem *mem;
	int ret;

	mutex_lock(&m->p.mutex);
	ret = kgd_mem_create(&m->pdd, 0, size, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, 0, false,
			     &mem);
	KUNIT_EXPECT_EQ(test, ret, want);
	if (!ret) {
		KUNIT_EXPECT_EQ(test, mem->bo->tbo.resource->mem_type, TTM_PL_VRAM);
		kgd_mem_destroy(&m->pdd, mem);
	}
	mutex_unlock(&m->p.mutex);
}

static void create_check_place(struct kunit *test, struct vgpu_bo *bo, u32 mem_type)
{
	KUNIT_ASSERT_NOT_NULL(test, bo->tbo.resource);
	KUNIT_EXPECT_EQ(test, bo->tbo.resource->mem_type, mem_type);
}

/*
 * VRAM is full, so the driver must evict m->bo[0] to create a BO. During each try to create the BO,
 * m->holder holds the reservation of m->bo[0]. After a failed try, m->holder drops the reservation.
 * Catches: the driver does not evict m->bo[0] after a failed try.
 */
static void create_held(struct kunit *test)
{
	struct create_mock *m = create_mock_new(test, 1, SZ_2M, ttm_bo_type_device);

	create_start_holder(test, m);
	create_and_destroy(test, m, SZ_2M, 0);
	KUNIT_EXPECT_GT(test, m->tries, 1);
	create_stop_holder(m);
	create_check_place(test, m->bo[0], TTM_PL_TT);
}

/*
 * VRAM is full; only m->bo[1] may be evicted. m->holder reserves both BOs only during a try to
 * allocate. Catches: the driver does not evict m->bo[1] between tries.
 */
static void create_held_behind(struct kunit *test)
{
	struct create_mock *m = create_mock_new(test, 2, SZ_1M, ttm_bo_type_device);

	create_set_owner(m->bo[0], &create_stay_ops);
	create_start_holder(test, m);
	create_and_destroy(test, m, SZ_1M, 0);
	create_stop_holder(m);
	create_check_place(test, m->bo[0], TTM_PL_VRAM);
	create_check_place(test, m->bo[1], TTM_PL_TT);
}

/*
 * The allocation needs the memory of all BOs. While the driver tries to allocate, m->holder holds
 * all reservations, so BOs can be evicted only between tries. Catches: the driver evicts fewer BOs
 * after a failed try than the allocation needs. Further tries may hide this, as tries are not
 * limited in the first ten seconds.
 */
static void create_held_many(struct kunit *test)
{
	struct create_mock *m = create_mock_new(test, CREATE_BOS, SZ_128K,
						ttm_bo_type_device);
	unsigned int i;

	create_start_holder(test, m);
	create_and_destroy(test, m, CREATE_BOS * SZ_128K, 0);
	KUNIT_EXPECT_EQ(test, m->tries, 2);
	create_stop_holder(m);
	for (i = 0; i < CREATE_BOS; i++)
		create_check_place(test, m->bo[i], TTM_PL_TT);
}

/* Catches: an allocation tries again, or evicts a BO, although no BO may be evicted. */
static void create_held_stays(struct kunit *test)
{
	struct create_mock *m = create_mock_new(test, 1, SZ_2M, ttm_bo_type_device);

	create_set_owner(m->bo[0], &create_stay_ops);
	create_start_holder(test, m);
	create_and_destroy(test, m, SZ_2M, -ENOMEM);
	KUNIT_EXPECT_EQ(test, m->tries, 1);
	create_stop_holder(m);
	create_check_place(test, m->bo[0], TTM_PL_VRAM);
}

/*
 * A kernel BO's owner refuses to vacate the BO CREATE_REFUSALS times, as SVM does for locked pages.
 * Catches: the allocation fails instead of trying again.
 */
static void create_vacated_later(struct kunit *test)
{
	struct create_mock *m = create_mock_new(test, 1, SZ_2M, ttm_bo_type_kernel);

	create_set_owner(m->bo[0], &create_vacate_ops);
	m->refusals = CREATE_REFUSALS;
	create_and_destroy(test, m, SZ_2M, 0);
	KUNIT_EXPECT_EQ(test, m->refusals, 0);
	create_check_place(test, m->bo[0], TTM_PL_SYSTEM);
}

/*
 * The owner of a BO keeps the BO in VRAM for a limited time. Catches: an allocation fails although
 * the BO becomes evictable soon.
 */
static void create_kept(struct kunit *test)
{
	struct create_mock *m = create_mock_new(test, 1, SZ_2M, ttm_bo_type_device);

	create_set_owner(m->bo[0], &create_keep_ops);
	m->refusals = CREATE_REFUSALS;
	create_and_destroy(test, m, SZ_2M, 0);
	KUNIT_EXPECT_EQ(test, m->refusals, 0);
	create_check_place(test, m->bo[0], TTM_PL_TT);
}

/*
 * Map each BO in the process, as if BO i had been allocated in @domain[i]. Clear m->moved, and
 * make vgpu_mm_is_swapping() return false.
 */
static void validate_map(struct kunit *test, struct create_mock *m, const u32 *domain)
{
	struct amdkfd_process_info *info = m->p.kgd_process_info;
	struct kgd_mem *mem;
	unsigned int i;

	mem = kunit_kcalloc(test, m->n, sizeof(*mem), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mem);
	for (i = 0; i < m->n; i++) {
		mem[i].bo = m->bo[i];
		mem[i].domain = domain[i];
		mem[i].mapped_to_gpu_memory = 1;
		mem[i].process_info = info;
		INIT_LIST_HEAD(&mem[i].attachments);
		list_add_tail(&mem[i].validate_list, &info->kfd_bo_list);
	}
	m->mock->mman.swaps_until = jiffies;
	m->n_moved = 0;
}

static void validate_evict(struct kunit *test, struct vgpu_bo *bo)
{
	struct ttm_operation_ctx ctx = {};

	dma_resv_lock(bo->tbo.base.resv, NULL);
	vgpu_bo_set_placement(bo, AMDGPU_GEM_DOMAIN_GTT, false);
	KUNIT_EXPECT_EQ(test, ttm_bo_validate(&bo->tbo, &to_bo_state(bo)->placement,
					      &ctx), 0);
	dma_resv_unlock(bo->tbo.base.resv);
}

/*
 * Check that no task has reserved the BO, and that the BO has an eviction fence if and only if
 * @fenced is true.
 */
static void validate_check(struct kunit *test, struct vgpu_bo *bo, bool fenced)
{
	struct dma_resv *resv = bo->tbo.base.resv;

	KUNIT_ASSERT_TRUE(test, dma_resv_trylock(resv));
	KUNIT_EXPECT_NE(test, dma_resv_test_signaled(resv, DMA_RESV_USAGE_BOOKKEEP),
			fenced);
	dma_resv_unlock(resv);
}

/*
 * Catches: the BO for VRAM is not moved first; the BOs for GTT are moved in the wrong order; a BO
 * gets no eviction fence.
 */
static void validate_order(struct kunit *test)
{
	static const u32 domain[VALIDATE_BOS] = {
		AMDGPU_GEM_DOMAIN_GTT, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_DOMAIN_GTT,
	};
	struct create_mock *m = create_mock_new(test, VALIDATE_BOS, SZ_1M,
						ttm_bo_type_device);
	unsigned int i;

	validate_evict(test, m->bo[1]);
	validate_map(test, m, domain);
	mutex_lock(&m->p.mutex);
	KUNIT_EXPECT_EQ(test, kfd_process_make_resident(&m->p), 0);
	KUNIT_EXPECT_EQ(test, m->n_moved, 3);
	KUNIT_EXPECT_PTR_EQ(test, m->moved[0], m->bo[1]);
	KUNIT_EXPECT_PTR_EQ(test, m->moved[1], m->bo[0]);
	KUNIT_EXPECT_PTR_EQ(test, m->moved[2], m->bo[2]);
	create_check_place(test, m->bo[0], TTM_PL_TT);
	create_check_place(test, m->bo[1], TTM_PL_VRAM);
	create_check_place(test, m->bo[2], TTM_PL_TT);
	for (i = 0; i < VALIDATE_BOS; i++)
		validate_check(test, m->bo[i], true);
	kfd_process_release_resident(&m->p);
	mutex_unlock(&m->p.mutex);
	kfd_process_info_fini(&m->p);
}

/*
 * The second BO cannot be moved. Catches: the error is lost; the third BO is moved; a BO stays
 * reserved or keeps the eviction fence.
 */
static void validate_fails(struct kunit *test)
{
	static const u32 domain[VALIDATE_BOS] = {
		AMDGPU_GEM_DOMAIN_GTT, AMDGPU_GEM_DOMAIN_GTT, AMDGPU_GEM_DOMAIN_GTT,
	};
	struct create_mock *m = create_mock_new(test, VALIDATE_BOS, SZ_1M,
						ttm_bo_type_device);
	unsigned int i;

	validate_map(test, m, domain);
	m->stuck = m->bo[1];
	mutex_lock(&m->p.mutex);
	KUNIT_EXPECT_EQ(test, kfd_process_make_resident(&m->p), -EIO);
	KUNIT_EXPECT_EQ(test, m->n_moved, 1);
	create_check_place(test, m->bo[0], TTM_PL_TT);
	create_check_place(test, m->bo[1], TTM_PL_VRAM);
	create_check_place(test, m->bo[2], TTM_PL_VRAM);
	for (i = 0; i < VALIDATE_BOS; i++)
		validate_check(test, m->bo[i], false);
	/* If the process counted as resident, a retry would move no BO. */
	KUNIT_EXPECT_FALSE(test, m->p.kgd_process_info->resident);
	mutex_unlock(&m->p.mutex);
	kfd_process_info_fini(&m->p);
}

static struct kunit_case create_cases[] = {
	KUNIT_CASE(create_held),
	KUNIT_CASE(create_held_behind),
	KUNIT_CASE(create_held_many),
	KUNIT_CASE(create_held_stays),
	KUNIT_CASE(create_vacated_later),
	KUNIT_CASE(create_kept),
	KUNIT_CASE(validate_order),
	KUNIT_CASE(validate_fails),
	{}
};

static struct kunit_suite create_suite = {
	.name = "kfd_mem_create",
	.test_cases = create_cases,
};

kunit_test_suite(create_suite);
