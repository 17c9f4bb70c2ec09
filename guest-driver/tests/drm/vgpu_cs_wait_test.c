// SPDX-License-Identifier: GPL-2.0
/*
 * Test how drm/vgpu_cs_wait.c removes duplicates from the fences of a WAIT_FENCES call. Catches: a
 * fence that is named twice gets two callbacks; a fence is lost; a fence is put too often.
 */
#include <linux/dma-fence.h>

#include "drm/vgpu_drm_priv.h"
#include "tests/lib/vgpu_mock.h"

#define MAX_NAMES	65536u
#define N_FENCES	50u
#define ROUNDS		200u

static const char *wait_fence_name(struct dma_fence *fence)
{
	return "test";
}

static const struct dma_fence_ops wait_fence_ops = {
	.get_driver_name = wait_fence_name,
	.get_timeline_name = wait_fence_name,
};

/**
 * struct wait_mock - fences, and a list in which a fence may occur several times
 */
struct wait_mock {
	/** @fence: N_FENCES different fences; elements of @name point to these fences */
	struct dma_fence *fence[N_FENCES];
	/** @lock: lock of all fences in @fence */
	spinlock_t lock;
	/** @name: list of pointers to fences of @fence; vgpu_wait_unique() removes duplicates */
	struct dma_fence *name[MAX_NAMES];
	/**
	 * @index: result of vgpu_wait_unique(): for each fence that remains in @name, the fence's
	 * lowest index in the original @name
	 */
	u32 index[MAX_NAMES];
	/**
	 * @first: indices that the test expects in @index. Element i belongs to @fence[i]: the
	 * fence's lowest index in the original @name, or U32_MAX if @name does not have the fence
	 */
	u32 first[N_FENCES];
};

static void wait_mock_fini(void *arg)
{
	struct wait_mock *m = arg;
	unsigned int i;

	for (i = 0; i < N_FENCES; i++)
		dma_fence_put(m->fence[i]);
	kvfree(m);
}

static struct wait_mock *wait_mock_new(struct kunit *test)
{
	struct wait_mock *m = kvzalloc(sizeof(*m), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, wait_mock_fini, m),
			0);
	spin_lock_init(&m->lock);
	for (i = 0; i < N_FENCES; i++) {
		struct dma_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, fence);
		dma_fence_init(fence, &wait_fence_ops, &m->lock,
			       dma_fence_context_alloc(1), 1);
		m->fence[i] = fence;
	}
	return m;
}

static void wait_name(struct wait_mock *m, u32 at, unsigned int which)
{
	m->name[at] = dma_fence_get(m->fence[which]);
	m->first[which] = min(m->first[which], at);
}

/*
 * Check the list after vgpu_wait_unique(): @left fences, each once, in the order of first
 * occurrence, with one reference for the list.
 */
static void wait_check(struct kunit *test, struct wait_mock *m, u32 left)
{
	unsigned int i, k, named = 0;

	for (i = 0; i < left; i++) {
		if (i)
			KUNIT_ASSERT_GT(test, m->index[i], m->index[i - 1]);
		for (k = 0; k < N_FENCES && m->fence[k] != m->name[i]; k++)
			;
		KUNIT_ASSERT_LT(test, k, N_FENCES);
		KUNIT_ASSERT_EQ(test, m->index[i], m->first[k]);
		KUNIT_ASSERT_EQ(test, kref_read(&m->fence[k]->refcount), 2);
	}
	for (k = 0; k < N_FENCES; k++)
		named += m->first[k] != U32_MAX;
	KUNIT_ASSERT_EQ(test, left, named);
	for (i = 0; i < left; i++)
		dma_fence_put(m->name[i]);
	for (k = 0; k < N_FENCES; k++)
		KUNIT_ASSERT_EQ(test, kref_read(&m->fence[k]->refcount), 1);
}

/*
 * A list names one fence 65,536 times. Catches: WAIT_FENCES adds 65,536 callbacks to the fence.
 * (The interrupt that signals the fence would run all these callbacks.)
 */
static void wait_one_fence(struct kunit *test)
{
	struct wait_mock *m = wait_mock_new(test);
	u32 i, left;

	memset(m->first, 0xff, sizeof(m->first));
	for (i = 0; i < MAX_NAMES; i++)
		wait_name(m, i, 7);
	left = vgpu_wait_unique(m->name, m->index, MAX_NAMES);
	KUNIT_EXPECT_EQ(test, left, 1);
	wait_check(test, m, left);
}

/*
 * Remove the duplicates from random lists. Catches: a fence is missing afterwards, or is still
 * there twice; the number of dropped references is wrong; m->index has a wrong index.
 */
static void wait_random(struct kunit *test)
{
	struct wait_mock *m = wait_mock_new(test);
	struct rnd_state rnd;
	unsigned int round;
	u32 i, n, left;

	vgpu_test_rnd(test, &rnd);
	for (round = 0; round < ROUNDS; round++) {
		u64 few = 1 + vgpu_test_random(&rnd, N_FENCES);

		memset(m->first, 0xff, sizeof(m->first));
		n = 1 + vgpu_test_random(&rnd, 3 * N_FENCES);
		for (i = 0; i < n; i++)
			wait_name(m, i, vgpu_test_random(&rnd, few));
		left = vgpu_wait_unique(m->name, m->index, n);
		wait_check(test, m, left);
	}
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE(wait_one_fence),
	KUNIT_CASE(wait_random),
	{}
};

static struct kunit_suite wait_suite = {
	.name = "vgpu_cs_wait",
	.test_cases = wait_cases,
};

kunit_test_suite(wait_suite);
