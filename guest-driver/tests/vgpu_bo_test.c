// SPDX-License-Identifier: GPL-2.0
/*
 * mm/vgpu_bo.c: what a domain becomes for TTM, for every combination of bits.
 * Would catch places in the wrong order, flags that leak from one to the next,
 * and a domain nobody knows that ends up somewhere.
 */
#include <drm/amdgpu_drm.h>

#include "vgpu_mock.h"

#define DOMAIN_BITS	9u	/* CPU to MMIO_REMAP, and one that is none */

/* Leave what an earlier call might have left. */
static void bo_soil(struct vgpu_mock *mock)
{
	memset(mock->bo.places, 0xff, sizeof(mock->bo.places));
	mock->bo.placement.num_placement = 77;
}

static u32 bo_first_place(u32 domain)
{
	if (domain & AMDGPU_GEM_DOMAIN_VRAM)
		return TTM_PL_VRAM;
	if (domain & AMDGPU_GEM_DOMAIN_GTT)
		return TTM_PL_TT;
	if (domain == AMDGPU_GEM_DOMAIN_CPU)
		return TTM_PL_SYSTEM;
	return domain == AMDGPU_GEM_DOMAIN_DOORBELL ? VGPU_PL_DOORBELL :
						      VGPU_PL_MMIO_REMAP;
}

static void bo_domains(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	const struct ttm_placement *p = &mock->bo.placement;
	u32 domain;

	for (domain = 0; domain < BIT(DOMAIN_BITS); domain++) {
		bool vram = domain & AMDGPU_GEM_DOMAIN_VRAM;
		bool gtt = domain & AMDGPU_GEM_DOMAIN_GTT;
		unsigned int n = vram + gtt;

		if (domain == AMDGPU_GEM_DOMAIN_DOORBELL ||
		    domain == VGPU_GEM_DOMAIN_MMIO_REMAP ||
		    domain == AMDGPU_GEM_DOMAIN_CPU)
			n = 1;
		bo_soil(mock);
		vgpu_bo_set_placement(&mock->bo, domain, false);
		KUNIT_ASSERT_EQ_MSG(test, p->num_placement, n, "domain %#x",
				    domain);
		if (!n)
			continue;
		KUNIT_ASSERT_EQ_MSG(test, p->placement[0].mem_type,
				    bo_first_place(domain), "domain %#x",
				    domain);
		if (n == 2)
			KUNIT_ASSERT_EQ(test, p->placement[1].mem_type,
					TTM_PL_TT);
		KUNIT_ASSERT_EQ(test, p->placement[0].flags, 0);
		KUNIT_ASSERT_EQ(test, p->placement[0].lpfn, 0);
	}
}

/* Contiguous is VRAM's alone. */
static void bo_contiguous(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	const struct ttm_placement *p = &mock->bo.placement;

	mock->bo.flags = AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS;
	bo_soil(mock);
	vgpu_bo_set_placement(&mock->bo, AMDGPU_GEM_DOMAIN_VRAM |
			      AMDGPU_GEM_DOMAIN_GTT, false);
	KUNIT_EXPECT_TRUE(test, p->placement[0].flags & TTM_PL_FLAG_CONTIGUOUS);
	KUNIT_EXPECT_EQ(test, p->placement[1].flags, 0);
	bo_soil(mock);
	vgpu_bo_set_placement(&mock->bo, AMDGPU_GEM_DOMAIN_GTT, false);
	KUNIT_EXPECT_EQ(test, p->placement[0].flags, 0);
}

/* Only who asks for an address gets one, and only in what mm/ may use. */
static void bo_gart_address(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	const struct ttm_placement *p = &mock->bo.placement;

	bo_soil(mock);
	vgpu_bo_set_placement(&mock->bo, AMDGPU_GEM_DOMAIN_GTT, true);
	KUNIT_EXPECT_EQ(test, p->placement[0].lpfn, VGPU_MOCK_GART_PAGES);
	bo_soil(mock);
	vgpu_bo_set_placement(&mock->bo, AMDGPU_GEM_DOMAIN_VRAM, true);
	KUNIT_EXPECT_EQ(test, p->placement[0].lpfn, 0);
}

/* The kernel's doorbells are nobody else's. */
static void bo_doorbell(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	const struct ttm_placement *p = &mock->bo.placement;

	bo_soil(mock);
	vgpu_bo_set_placement(&mock->bo, AMDGPU_GEM_DOMAIN_DOORBELL, false);
	KUNIT_EXPECT_EQ(test, p->placement[0].fpfn, 2);
}

static struct kunit_case bo_cases[] = {
	KUNIT_CASE(bo_domains),
	KUNIT_CASE(bo_contiguous),
	KUNIT_CASE(bo_gart_address),
	KUNIT_CASE(bo_doorbell),
	{}
};

static struct kunit_suite bo_suite = {
	.name = "vgpu_bo",
	.test_cases = bo_cases,
};

kunit_test_suite(bo_suite);
