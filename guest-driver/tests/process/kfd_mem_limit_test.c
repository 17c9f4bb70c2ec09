// SPDX-License-Identifier: GPL-2.0
/*
 * Test process/kfd_mem_limit.c. The test uses the module's counters, so no process may use KFD
 * while the test runs.
 */
#include <linux/mm.h>
#include <drm/amdgpu_drm.h>

#include "process/kfd_mem.h"
#include "process/kfd_node.h"
#include "tests/lib/vgpu_mock.h"

#define GTT	AMDGPU_GEM_DOMAIN_GTT
#define VRAM	AMDGPU_GEM_DOMAIN_VRAM
#define N_BOS	64
#define ROUNDS	3000

/* Two GPUs, and the limit of system memory in bytes. */
struct limit_mock {
	struct vgpu_mock *mock[2];
	struct kfd_node node[2];
	u64 limit;
};

static struct limit_mock *limit_mock_new(struct kunit *test)
{
	struct limit_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	for (i = 0; i < 2; i++) {
		m->mock[i] = vgpu_mock_new(test);
		m->node[i].vdev = &m->mock[i]->vdev;
		m->mock[i]->vdev.kfd = &m->node[i];
	}
	m->limit = (u64)totalram_pages() * PAGE_SIZE;
	m->limit -= m->limit / 4;
	return m;
}

static void limit_gtt(struct kunit *test)
{
	struct limit_mock *m = limit_mock_new(test);
	struct kfd_node *node = &m->node[0];

	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(node, GTT, m->limit + 1),
			-ENOMEM);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(node, GTT, U64_MAX),
			-ENOMEM);
	KUNIT_ASSERT_EQ(test, kfd_mem_limit_reserve(node, GTT, m->limit), 0);
	/* The limit of system memory is common to all GPUs. */
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(&m->node[1], GTT, 1),
			-ENOMEM);
	kfd_mem_limit_unreserve(node->vdev, GTT, 4096);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(node, GTT, 4097), -ENOMEM);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(node, GTT, 4096), 0);
	kfd_mem_limit_unreserve(node->vdev, GTT, m->limit);
}

/*
 * Check that a single reservation larger than VRAM fails. Check that if the reservations in VRAM
 * together are larger than VRAM, the excess is counted as system memory.
 */
static void limit_vram(struct kunit *test)
{
	struct limit_mock *m = limit_mock_new(test);
	struct kfd_node *node = &m->node[0];

	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(node, VRAM,
						    VGPU_MOCK_VRAM + 1),
			-ENOMEM);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(node, VRAM, U64_MAX),
			-ENOMEM);
	KUNIT_ASSERT_EQ(test, kfd_mem_limit_reserve(node, GTT, m->limit), 0);
	KUNIT_ASSERT_EQ(test, kfd_mem_limit_reserve(node, VRAM, VGPU_MOCK_VRAM),
			0);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(node, VRAM, 1), -ENOMEM);
	/* The VRAM of the other GPU is counted separately. */
	KUNIT_ASSERT_EQ(test, kfd_mem_limit_reserve(&m->node[1], VRAM, 4096),
			0);
	kfd_mem_limit_unreserve(node->vdev, GTT, 4096);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(node, VRAM, 4097), -ENOMEM);
	KUNIT_ASSERT_EQ(test, kfd_mem_limit_reserve(node, VRAM, 4096), 0);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(node, GTT, 1), -ENOMEM);

	kfd_mem_limit_unreserve(node->vdev, VRAM, VGPU_MOCK_VRAM + 4096);
	kfd_mem_limit_unreserve(m->node[1].vdev, VRAM, 4096);
	kfd_mem_limit_unreserve(node->vdev, GTT, m->limit - 4096);
}

/* Check that doorbells are not counted. */
static void limit_others(struct kunit *test)
{
	struct limit_mock *m = limit_mock_new(test);

	KUNIT_ASSERT_EQ(test, kfd_mem_limit_reserve(&m->node[0], GTT, m->limit),
			0);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(&m->node[0],
						    AMDGPU_GEM_DOMAIN_DOORBELL,
						    8192), 0);
	kfd_mem_limit_unreserve(m->node[0].vdev, AMDGPU_GEM_DOMAIN_DOORBELL,
				8192);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(&m->node[0], GTT, 1),
			-ENOMEM);
	kfd_mem_limit_unreserve(m->node[0].vdev, GTT, m->limit);
}

struct limit_bo {
	u64 size;
	u32 domain;
	unsigned int gpu;
};

/*
 * Return the bytes of system memory that all reservations use. If the VRAM reservations of a GPU
 * exceed the size of its VRAM, the excess needs system memory, too.
 */
static u64 limit_sum(const struct limit_bo *bo)
{
	u64 gtt = 0, vram[2] = {};
	unsigned int i;

	for (i = 0; i < N_BOS; i++) {
		if (bo[i].domain == GTT)
			gtt += bo[i].size;
		else
			vram[bo[i].gpu] += bo[i].size;
	}
	for (i = 0; i < 2; i++)
		if (vram[i] > VGPU_MOCK_VRAM)
			gtt += vram[i] - VGPU_MOCK_VRAM;
	return gtt;
}

/*
 * Reserve and unreserve at random, and compare each result with limit_sum(). Catches: a reservation
 * is counted twice; a failed reservation changes a count.
 */
static void limit_random(struct kunit *test)
{
	struct limit_mock *m = limit_mock_new(test);
	struct limit_bo *bo = kunit_kcalloc(test, N_BOS, sizeof(*bo),
					    GFP_KERNEL);
	unsigned int round, i, refused = 0;
	u64 ballast;

	KUNIT_ASSERT_NOT_NULL(test, bo);
	/* Leave only 2 * VGPU_MOCK_VRAM bytes of system memory, so that the BOs reach the limit. */
	ballast = m->limit - 2 * VGPU_MOCK_VRAM;
	KUNIT_ASSERT_EQ(test, kfd_mem_limit_reserve(&m->node[0], GTT, ballast),
			0);
	for (round = 0; round < ROUNDS; round++) {
		struct limit_bo *b = &bo[vgpu_mock_random(m->mock[0], N_BOS)];
		struct kfd_node *node;
		int want;

		if (b->size) {
			kfd_mem_limit_unreserve(m->node[b->gpu].vdev, b->domain,
						b->size);
			b->size = 0;
			continue;
		}
		b->gpu = vgpu_mock_random(m->mock[0], 2);
		b->domain = vgpu_mock_random(m->mock[0], 2) ? GTT : VRAM;
		b->size = 1 + vgpu_mock_random(m->mock[0], VGPU_MOCK_VRAM / 4);
		node = &m->node[b->gpu];
		want = limit_sum(bo) > 2 * VGPU_MOCK_VRAM ? -ENOMEM : 0;
		KUNIT_ASSERT_EQ(test, kfd_mem_limit_reserve(node, b->domain,
							    b->size), want);
		if (want) {
			b->size = 0;
			refused++;
		}
	}
	KUNIT_EXPECT_GT(test, refused, 10);
	for (i = 0; i < N_BOS; i++)
		if (bo[i].size)
			kfd_mem_limit_unreserve(m->node[bo[i].gpu].vdev,
						bo[i].domain, bo[i].size);
	kfd_mem_limit_unreserve(m->node[0].vdev, GTT, ballast);
	/* Check that all reservations are undone. */
	KUNIT_ASSERT_EQ(test, kfd_mem_limit_reserve(&m->node[0], GTT, m->limit),
			0);
	kfd_mem_limit_unreserve(m->node[0].vdev, GTT, m->limit);
}

/*
 * A GPU is removed while it has BOs. Catches: the reservations of the BOs are not undone, or
 * are undone twice.
 */
static void limit_detach(struct kunit *test)
{
	struct limit_mock *m = limit_mock_new(test);
	struct kfd_node *node = &m->node[0];
	unsigned int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, kfd_mem_limit_reserve(node, VRAM,
							    VGPU_MOCK_VRAM), 0);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(&m->node[1], GTT,
						    m->limit), -ENOMEM);
	kfd_mem_limit_detach(node);
	KUNIT_EXPECT_NULL(test, m->mock[0]->vdev.kfd);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(&m->node[1], GTT,
						    m->limit), 0);
	for (i = 0; i < 3; i++)
		kfd_mem_limit_unreserve(&m->mock[0]->vdev, VRAM,
					VGPU_MOCK_VRAM);
	KUNIT_EXPECT_EQ(test, kfd_mem_limit_reserve(&m->node[1], GTT, 1),
			-ENOMEM);
	kfd_mem_limit_unreserve(m->node[1].vdev, GTT, m->limit);
}

static struct kunit_case limit_cases[] = {
	KUNIT_CASE(limit_gtt),
	KUNIT_CASE(limit_vram),
	KUNIT_CASE(limit_others),
	KUNIT_CASE(limit_random),
	KUNIT_CASE(limit_detach),
	{}
};

static struct kunit_suite limit_suite = {
	.name = "vgpu_kfd_mem_limit",
	.test_cases = limit_cases,
};

kunit_test_suite(limit_suite);
