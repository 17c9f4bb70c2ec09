// SPDX-License-Identifier: GPL-2.0
/*
 * Test the waits for copies of BOs that run in order: vgpu_mm_await_copies() (mm/vgpu_mm_evict.c)
 * after an eviction of all BOs, kgd_mem_await_sent() (process/kfd_mem_validate.c) in a restore.
 * Catches: the waiting task wakes up after each copy, so it takes time from the engine's thread
 * on a host with few CPUs; a copy is not waited for.
 */
#include <linux/list.h>
#include <drm/amdgpu_drm.h>

#include "process/kfd_evict_priv.h"
#include "process/kfd_mem.h"
#include "tests/lib/vgpu_fence_mock.h"
#include "tests/lib/vgpu_mock.h"

#define AWAIT_BOS	4u

/**
 * struct await_mock - BOs that are being copied
 */
struct await_mock {
	/** @queue: queue of the copies */
	struct vgpu_fence_mock *queue;
	/** @bo: BOs in the order of the copies */
	struct vgpu_bo bo[AWAIT_BOS];
	/** @tbo: TTM objects of @bo */
	struct ttm_buffer_object *tbo[AWAIT_BOS];
	/** @mem: memory of a process that consists of @bo */
	struct kgd_mem mem[AWAIT_BOS];
	/** @info: list of @mem */
	struct amdkfd_process_info info;
};

static struct await_mock *await_new(struct kunit *test)
{
	struct await_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->queue = vgpu_fence_mock_new(test);
	INIT_LIST_HEAD(&m->info.kfd_bo_list);
	for (i = 0; i < AWAIT_BOS; i++) {
		m->tbo[i] = &m->bo[i].tbo;
		m->tbo[i]->base.resv = &m->tbo[i]->base._resv;
		vgpu_fence_mock_add(test, m->queue, m->tbo[i]->base.resv);
		m->mem[i].bo = &m->bo[i];
		m->mem[i].domain = AMDGPU_GEM_DOMAIN_VRAM;
		m->mem[i].mapped_to_gpu_memory = 1;
		list_add_tail(&m->mem[i].validate_list, &m->info.kfd_bo_list);
	}
	return m;
}

static void await_check(struct kunit *test, const struct await_mock *m)
{
	unsigned int i;

	KUNIT_EXPECT_EQ(test, m->queue->waits, 1);
	for (i = 0; i < AWAIT_BOS; i++)
		KUNIT_EXPECT_TRUE(test, dma_resv_test_signaled(m->tbo[i]->base.resv,
							       DMA_RESV_USAGE_KERNEL));
}

static void await_copies(struct kunit *test)
{
	struct await_mock *m = await_new(test);

	KUNIT_EXPECT_EQ(test, vgpu_mm_await_copies(m->tbo, AWAIT_BOS, true), 0);
	await_check(test, m);
	KUNIT_EXPECT_EQ(test, vgpu_mm_await_copies(m->tbo, 0, true), 0);
}

static void await_sent(struct kunit *test)
{
	struct await_mock *m = await_new(test);

	KUNIT_EXPECT_EQ(test, kgd_mem_await_sent(&m->info), 0);
	await_check(test, m);
}

static struct kunit_case await_cases[] = {
	KUNIT_CASE(await_copies),
	KUNIT_CASE(await_sent),
	{}
};

static struct kunit_suite await_suite = {
	.name = "vgpu_await",
	.test_cases = await_cases,
};

kunit_test_suite(await_suite);
