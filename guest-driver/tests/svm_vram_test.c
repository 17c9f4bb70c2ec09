// SPDX-License-Identifier: GPL-2.0
/*
 * svm/svm_vram.c, svm_bo.c: a page of VRAM that somebody holds while all, or its
 * BO, have to go. Would catch an eviction that waits for ever, one that says all
 * is well, and one that takes the page from who holds it.
 */
#include <linux/dma-resv.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>

#include "../kfd/kfd_room.h"
#include "../svm/svm_priv.h"
#include "../svm/svm_vram.h"
#include "vgpu_mock.h"

#define STUCK_VRAM	SZ_2M
#define STUCK_OFFSET	(5 * PAGE_SIZE)

struct stuck_mock {
	struct vgpu_mock *mock;
	struct kfd_node node;
	struct device dev;
	struct svm_bo sb;
	struct vgpu_bo bo;
	struct page *page;
	void *vram;
};

static void stuck_fini(void *arg)
{
	struct stuck_mock *m = arg;

	svm_vram_fini(&m->node);
	vfree(m->vram);
}

/* A page in use. Its BO has a reference more, and so never goes. */
static struct stuck_mock *stuck_mock_new(struct kunit *test)
{
	struct stuck_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct vgpu_device *vdev;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	set_dev_node(&m->dev, NUMA_NO_NODE);
	vdev = &m->mock->vdev;
	vdev->drm.dev = &m->dev;
	m->vram = vzalloc(STUCK_VRAM);
	KUNIT_ASSERT_NOT_NULL(test, m->vram);
	vdev->hw.vram = (void __iomem __force *)m->vram;
	vdev->hw.vram_size = STUCK_VRAM;
	m->node.vdev = vdev;
	ret = svm_vram_init(&m->node);
	if (ret)
		vfree(m->vram);
	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stuck_fini, m),
			0);
	INIT_LIST_HEAD(&m->node.smi_clients);
	kref_init(&m->sb.ref);
	m->sb.node = &m->node;
	m->sb.npages = STUCK_VRAM >> PAGE_SHIFT;
	m->page = svm_page_get(&m->sb, STUCK_OFFSET);
	return m;
}

static void stuck_check(struct kunit *test, struct stuck_mock *m, int want)
{
	struct svm_node *sn = &m->node.svm;

	KUNIT_EXPECT_EQ(test, svm_node_evict(&m->node, false), 0);
	KUNIT_EXPECT_EQ(test, svm_node_evict(&m->node, true), want);
	if (!want)
		return;
	/* Nobody has taken it away. */
	KUNIT_EXPECT_EQ(test, atomic_long_read(&sn->vram_pages), 1);
	KUNIT_EXPECT_EQ(test, page_ref_count(m->page), 1);
	KUNIT_EXPECT_PTR_EQ(test, m->page->zone_device_data, (void *)&m->sb);
	KUNIT_EXPECT_EQ(test, kref_read(&m->sb.ref), 2);
	KUNIT_EXPECT_EQ(test, svm_page_vram_offset(&m->node, m->page),
			STUCK_OFFSET);
}

static void stuck_release(struct kunit *test, struct stuck_mock *m)
{
	put_page(m->page);
	stuck_check(test, m, 0);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&m->node.svm.vram_pages), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&m->sb.ref), 1);
}

static void stuck_locked(struct kunit *test)
{
	struct stuck_mock *m = stuck_mock_new(test);

	stuck_check(test, m, -EBUSY);
	KUNIT_EXPECT_TRUE(test, PageLocked(m->page));
	unlock_page(m->page);
	stuck_release(test, m);
}

static void stuck_referenced(struct kunit *test)
{
	struct stuck_mock *m = stuck_mock_new(test);

	unlock_page(m->page);
	stuck_check(test, m, -EBUSY);
	KUNIT_EXPECT_FALSE(test, PageLocked(m->page));
	stuck_release(test, m);
}

/* @want: is its VRAM free? Two calls, since the first must have changed nothing. */
static void stuck_vacate(struct kunit *test, struct stuck_mock *m, bool want)
{
	struct vgpu_bo *bo = &m->bo;

	dma_resv_lock(bo->tbo.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, svm_bo_vacate(bo), want);
	KUNIT_EXPECT_EQ(test, svm_bo_vacate(bo), want);
	dma_resv_unlock(bo->tbo.base.resv);
}

static void stuck_resv_fini(void *resv)
{
	dma_resv_fini(resv);
}

/* Its BO is wanted: refused, as long as there is a page or a migration. */
static void stuck_wanted(struct kunit *test)
{
	struct stuck_mock *m = stuck_mock_new(test);
	struct dma_resv *resv = &m->bo.tbo.base._resv;

	m->bo.tbo.base.resv = resv;
	dma_resv_init(resv);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stuck_resv_fini,
							resv), 0);
	m->bo.owner = &m->sb;

	stuck_vacate(test, m, false);
	KUNIT_EXPECT_TRUE(test, PageLocked(m->page));
	unlock_page(m->page);
	get_page(m->page);
	stuck_vacate(test, m, false);
	put_page(m->page);
	KUNIT_EXPECT_EQ(test, page_ref_count(m->page), 1);
	KUNIT_EXPECT_EQ(test, kref_read(&m->sb.ref), 2);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&m->node.svm.vram_pages), 1);
	put_page(m->page);
	/* One reference is the migration's. */
	stuck_vacate(test, m, false);
	refcount_set(&m->sb.ref.refcount, 0);
	stuck_vacate(test, m, true);
	m->bo.owner = NULL;
	stuck_vacate(test, m, true);
}

static struct kunit_case stuck_cases[] = {
	KUNIT_CASE_SLOW(stuck_locked),
	KUNIT_CASE_SLOW(stuck_referenced),
	KUNIT_CASE(stuck_wanted),
	{}
};

static struct kunit_suite stuck_suite = {
	.name = "svm_vram",
	.test_cases = stuck_cases,
};

kunit_test_suite(stuck_suite);
