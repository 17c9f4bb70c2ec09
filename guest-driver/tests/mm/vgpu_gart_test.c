// SPDX-License-Identifier: GPL-2.0
/*
 * Bind and unbind BOs, lose and recover the table of the GART, and compare the table with entries
 * that the test builds from include/vgpu/pte.h.
 */
#include "vgpu/gmc.h"
#include "vgpu/pci.h"
#include "tests/lib/vgpu_mock.h"

#define N_BOS		24
#define MAX_PAGES	40u
#define ENGINE		17
#define LOST		0xdeaddeaddeaddeadull
#define FLAGS		(VGPU_PTE_VALID | VGPU_PTE_SYSTEM | VGPU_PTE_SNOOPED | \
			 VGPU_PTE_EXECUTABLE | VGPU_PTE_READABLE | \
			 VGPU_PTE_WRITEABLE)

struct gart_bo {
	struct vgpu_tt tt;
	struct ttm_resource *res;
	dma_addr_t pages[MAX_PAGES];
};

/**
 * struct gart_mock - a device with a GART table
 * @mock: device with memory managers
 * @mmio: registers, which are plain memory
 * @table: the GART table
 * @want: expected entries of @table
 * @bos: BOs in system memory; some have a GART address, others have none
 */
struct gart_mock {
	struct vgpu_mock *mock;
	u32 *mmio;
	u64 *table;
	u64 *want;
	struct gart_bo bos[N_BOS];
};

static u32 *gart_reg(struct gart_mock *m, unsigned int hub, u32 reg)
{
	return &m->mmio[HUB(hub) + reg];
}

static struct gart_mock *gart_mock_new(struct kunit *test)
{
	struct gart_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct vgpu_hw_state *hw;
	unsigned int hub;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	m->mmio = kunit_kzalloc(test, VGPU_MMIO_BAR_SIZE, GFP_KERNEL);
	m->table = kunit_kcalloc(test, VGPU_MOCK_GART_PAGES, sizeof(u64),
				 GFP_KERNEL);
	m->want = kunit_kcalloc(test, VGPU_MOCK_GART_PAGES, sizeof(u64),
				GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, m->mmio && m->table && m->want);
	/* The acknowledge of the invalidation engine always reads as "all VMIDs done". */
	for (hub = 0; hub < VGPU_NUM_HUBS; hub++)
		*gart_reg(m, hub, VM_INVALIDATE_ENG_ACK(ENGINE)) =
			VM_INVALIDATE_ENG_ACK__PER_VMID;

	hw = &m->mock->hw;
	hw->mmio = (void __iomem __force *)m->mmio;
	hw->gart.table = (__le64 __iomem __force *)m->table;
	hw->gart.total = VGPU_MOCK_GART_PAGES;
	hw->gart.shadow = kunit_kcalloc(test, VGPU_MOCK_GART_PAGES, sizeof(u64),
					GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, hw->gart.shadow);
	return m;
}

/* Return true if VMID 0 was flushed on both hubs since the last call. */
static bool gart_flushed(struct gart_mock *m)
{
	bool flushed = true;
	unsigned int hub;

	for (hub = 0; hub < VGPU_NUM_HUBS; hub++) {
		u32 *req = gart_reg(m, hub, VM_INVALIDATE_ENG_REQ(ENGINE));

		flushed &= (*req & VM_INVALIDATE_ENG_REQ__PER_VMID) == BIT(0) &&
			   (*req & VM_INVALIDATE_ENG_REQ__L1_PTES);
		*req = 0;
	}
	return flushed;
}

static void gart_expect_table(struct kunit *test, struct gart_mock *m)
{
	u64 i;

	for (i = 0; i < VGPU_MOCK_GART_PAGES; i++)
		if (m->table[i] != m->want[i])
			break;
	KUNIT_ASSERT_EQ_MSG(test, i, VGPU_MOCK_GART_PAGES,
			    "entry %llu is %#llx, should be %#llx", i,
			    m->table[i], m->want[i]);
}

/* Create a BO of scattered pages; every third BO has no GART address. */
static void gart_bo_new(struct kunit *test, struct gart_mock *m, unsigned int n)
{
	const struct ttm_place place = {
		.lpfn = n % 3 ? VGPU_MOCK_GART_PAGES : 0,
		.mem_type = TTM_PL_TT,
	};
	struct gart_bo *bo = &m->bos[n];
	u64 i, pages = 1 + vgpu_mock_random(m->mock, MAX_PAGES);

	for (i = 0; i < pages; i++)
		bo->pages[i] = vgpu_mock_random(m->mock, BIT_ULL(36)) <<
			       PAGE_SHIFT;
	INIT_LIST_HEAD(&bo->tt.bound_link);
	bo->tt.ttm.num_pages = pages;
	bo->tt.ttm.dma_address = bo->pages;
	KUNIT_ASSERT_EQ(test, vgpu_mock_alloc(m->mock, pages, 0, &place,
					      &bo->res), 0);
}

static void gart_bo_bind(struct kunit *test, struct gart_mock *m,
			 struct gart_bo *bo)
{
	bool has_addr = vgpu_gtt_mgr_has_gart_addr(bo->res);
	u64 i;

	gart_flushed(m);
	vgpu_gtt_mgr_bind(&m->mock->vdev, &bo->tt.ttm, bo->res);
	KUNIT_EXPECT_EQ(test, gart_flushed(m), has_addr);
	for (i = 0; has_addr && i < bo->tt.ttm.num_pages; i++)
		m->want[bo->res->start + i] = bo->pages[i] | FLAGS;
}

static void gart_bo_unbind(struct kunit *test, struct gart_mock *m,
			   struct gart_bo *bo)
{
	bool has_addr = vgpu_gtt_mgr_has_gart_addr(bo->res);
	u64 i;

	gart_flushed(m);
	vgpu_gtt_mgr_unbind(&m->mock->vdev, &bo->tt.ttm);
	KUNIT_EXPECT_EQ(test, gart_flushed(m), has_addr);
	for (i = 0; has_addr && i < bo->tt.ttm.num_pages; i++)
		m->want[bo->res->start + i] = 0;
}

/*
 * Catches: an entry is in the wrong place; an unbind leaves entries; the recovery omits bound BOs,
 * or writes entries for unbound BOs; a flush is missing.
 */
static void gart_recover(struct kunit *test)
{
	struct gart_mock *m = gart_mock_new(test);
	unsigned int i;

	for (i = 0; i < N_BOS; i++) {
		gart_bo_new(test, m, i);
		gart_bo_bind(test, m, &m->bos[i]);
	}
	gart_expect_table(test, m);
	for (i = 0; i < N_BOS; i += 2)
		gart_bo_unbind(test, m, &m->bos[i]);
	gart_expect_table(test, m);

	/* The whole table is lost; the recovery restores the entries of bound BOs. */
	for (i = 0; i < VGPU_MOCK_GART_PAGES; i++) {
		m->table[i] = LOST;
		m->want[i] = m->want[i] ?: LOST;
	}
	gart_flushed(m);
	vgpu_gtt_mgr_recover(&m->mock->vdev);
	KUNIT_EXPECT_TRUE(test, gart_flushed(m));
	gart_expect_table(test, m);

	for (i = 1; i < N_BOS; i += 2)
		gart_bo_unbind(test, m, &m->bos[i]);
	gart_expect_table(test, m);
	for (i = 0; i < N_BOS; i++)
		vgpu_mock_free(m->mock, m->bos[i].res);
}

static struct kunit_case gart_cases[] = {
	KUNIT_CASE(gart_recover),
	{}
};

static struct kunit_suite gart_suite = {
	.name = "vgpu_gart",
	.test_cases = gart_cases,
};

kunit_test_suite(gart_suite);
