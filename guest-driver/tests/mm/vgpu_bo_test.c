// SPDX-License-Identifier: GPL-2.0
/*
 * Test mm/vgpu_bo.c and mm/vgpu_bo_addr.c: the TTM placement for every combination of domain bits,
 * and kernel mappings. Test mm/vgpu_dma_buf.c: imports whose exporter moves.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/vmalloc.h>
#include <drm/amdgpu_drm.h>
#include <drm/ttm/ttm_tt.h>
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>

#include "tests/lib/vgpu_mock.h"

/* Number of domain bits: bits 0 (CPU) to 7 (MMIO_REMAP), and bit 8 as an unknown domain. */
#define DOMAIN_BITS	9u

/* Fill the placement with garbage, as an earlier call could have left it. */
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

/* Catches: places are in the wrong order; an unknown domain gets a placement. */
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
		vgpu_bo_set_placement(&mock->bo.base, domain, false);
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

/* Catches: TTM_PL_FLAG_CONTIGUOUS is set in a place that is not in VRAM. */
static void bo_contiguous(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	const struct ttm_placement *p = &mock->bo.placement;

	mock->bo.base.flags = AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS;
	bo_soil(mock);
	vgpu_bo_set_placement(&mock->bo.base, AMDGPU_GEM_DOMAIN_VRAM |
			      AMDGPU_GEM_DOMAIN_GTT, false);
	KUNIT_EXPECT_TRUE(test, p->placement[0].flags & TTM_PL_FLAG_CONTIGUOUS);
	KUNIT_EXPECT_EQ(test, p->placement[1].flags, 0);
	bo_soil(mock);
	vgpu_bo_set_placement(&mock->bo.base, AMDGPU_GEM_DOMAIN_GTT, false);
	KUNIT_EXPECT_EQ(test, p->placement[0].flags, 0);
}

/*
 * The caller requests a GART address. Catches: a place in GTT is not limited to the pages of the
 * GART; a place in VRAM is limited to these pages.
 */
static void bo_gart_address(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	const struct ttm_placement *p = &mock->bo.placement;

	bo_soil(mock);
	vgpu_bo_set_placement(&mock->bo.base, AMDGPU_GEM_DOMAIN_GTT, true);
	KUNIT_EXPECT_EQ(test, p->placement[0].lpfn, VGPU_MOCK_GART_PAGES);
	bo_soil(mock);
	vgpu_bo_set_placement(&mock->bo.base, AMDGPU_GEM_DOMAIN_VRAM, true);
	KUNIT_EXPECT_EQ(test, p->placement[0].lpfn, 0);
}

/* Catches: a user's doorbell BO is placed in the first two pages, which the kernel uses. */
static void bo_doorbell(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);
	const struct ttm_placement *p = &mock->bo.placement;

	bo_soil(mock);
	vgpu_bo_set_placement(&mock->bo.base, AMDGPU_GEM_DOMAIN_DOORBELL, false);
	KUNIT_EXPECT_EQ(test, p->placement[0].fpfn, 2);
}

/* Catches: TTM may move an imported dma-buf or a user pointer to VRAM. */
static void bo_vram_ok(struct kunit *test)
{
	struct vgpu_mock *mock = vgpu_mock_new(test);

	INIT_LIST_HEAD(&mock->bo.attachments);
	mock->bo.base.tbo.type = ttm_bo_type_device;
	KUNIT_EXPECT_TRUE(test, vgpu_dma_buf_vram_ok(&mock->bo.base));
	mock->bo.base.tbo.type = ttm_bo_type_sg;
	KUNIT_EXPECT_FALSE(test, vgpu_dma_buf_vram_ok(&mock->bo.base));
}

/* Replaces vgpu_bo_validate(): the first two calls fail. Counts the calls. */
static int follow_validate(struct vgpu_bo *bo, u32 domain, bool interruptible)
{
	unsigned int *calls = kunit_get_current_test()->priv;

	switch ((*calls)++) {
	case 0:
		return -ENOMEM;
	case 1:
		return -EBUSY;
	default:
		return 0;
	}
}

/*
 * The exporter of an import moves, and memory is short. Catches: the page-table entries of the
 * import stay valid when the exporter gives the old memory to other users.
 */
static void bo_import_follows(struct kunit *test)
{
	struct ttm_resource res = { .mem_type = TTM_PL_TT };
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_buffer_object *tbo = &mock->bo.base.tbo;
	struct dma_buf_attachment attach = { .importer_priv = &tbo->base };
	unsigned int calls = 0;

	test->priv = &calls;
	tbo->resource = &res;
	kunit_activate_static_stub(test, vgpu_bo_validate, follow_validate);
	vgpu_import_move_notify(&attach);
	KUNIT_EXPECT_EQ(test, calls, 3);

	/* An import that is not in GTT has no entries. */
	res.mem_type = TTM_PL_SYSTEM;
	vgpu_import_move_notify(&attach);
	KUNIT_EXPECT_EQ(test, calls, 3);
	tbo->resource = NULL;
}

#define KMAP_PAGES	2u

/* Return a BO that has pages and is pinned in GTT. Returns with the BO's reservation held. */
static struct vgpu_bo *bo_with_pages(struct kunit *test, struct page **pages)
{
	static const struct ttm_place gtt = { .mem_type = TTM_PL_TT };
	static struct ttm_device_funcs no_funcs;
	struct vgpu_mock *mock = vgpu_mock_new(test);
	struct ttm_buffer_object *tbo = &mock->bo.base.tbo;
	unsigned int i;

	mock->vdev.mman->bdev.funcs = &no_funcs;
	tbo->ttm = kunit_kzalloc(test, sizeof(*tbo->ttm), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tbo->ttm);
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(mock, KMAP_PAGES, 1, &gtt,
					      &tbo->resource), 0);
	for (i = 0; i < KMAP_PAGES; i++) {
		pages[i] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, pages[i]);
	}
	tbo->ttm->pages = pages;
	tbo->ttm->num_pages = KMAP_PAGES;
	tbo->ttm->caching = ttm_cached;
	tbo->ttm->page_flags = TTM_TT_FLAG_PRIV_POPULATED;
	tbo->pin_count = 1;
	dma_resv_init(&tbo->base._resv);
	tbo->base.resv = &tbo->base._resv;
	dma_resv_lock(tbo->base.resv, NULL);
	return &mock->bo.base;
}

/*
 * Catches: the first vgpu_bo_kunmap() removes a mapping that a second user still needs, for example
 * the interrupt handler of KFD events.
 */
static void bo_kmap_nests(struct kunit *test)
{
	struct page *pages[KMAP_PAGES];
	struct vgpu_bo *bo = bo_with_pages(test, pages);
	void *first = vgpu_bo_kmap(bo);
	unsigned int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(first));
	KUNIT_EXPECT_PTR_EQ(test, vgpu_bo_kmap(bo), first);
	vgpu_bo_kunmap(bo);
	KUNIT_ASSERT_PTR_EQ(test, to_bo_state(bo)->kmap.virtual, first);
	for (i = 0; i < KMAP_PAGES; i++)
		KUNIT_EXPECT_PTR_EQ(test, vmalloc_to_page(first + i * PAGE_SIZE),
				    pages[i]);
	vgpu_bo_kunmap(bo);
	KUNIT_EXPECT_NULL(test, to_bo_state(bo)->kmap.virtual);

	dma_resv_unlock(bo->tbo.base.resv);
	dma_resv_fini(bo->tbo.base.resv);
	for (i = 0; i < KMAP_PAGES; i++)
		__free_page(pages[i]);
	vgpu_mock_free(container_of(bo, struct vgpu_mock, bo.base), bo->tbo.resource);
}

static struct kunit_case bo_cases[] = {
	KUNIT_CASE(bo_domains),
	KUNIT_CASE(bo_contiguous),
	KUNIT_CASE(bo_gart_address),
	KUNIT_CASE(bo_doorbell),
	KUNIT_CASE(bo_vram_ok),
	KUNIT_CASE(bo_import_follows),
	KUNIT_CASE(bo_kmap_nests),
	{}
};

static struct kunit_suite bo_suite = {
	.name = "vgpu_bo",
	.test_cases = bo_cases,
};

kunit_test_suite(bo_suite);
