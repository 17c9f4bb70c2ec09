// SPDX-License-Identifier: GPL-2.0
/* Mock of a GPU whose VRAM has device-private pages; documented in svm_vram_mock.h. */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "svm/migrate/svm_migrate.h"
#include "svm/svm.h"
#include "svm_vram_mock.h"

#define MOCK_FB_BASE	0x8000000000ull
#define MOCK_TABLE	SZ_1M		/* offset of the GART's table in VRAM */

static_assert(MOCK_TABLE + SVM_MOCK_GART_PAGES * sizeof(u64) <= SVM_MOCK_VRAM);

static void svm_vram_mock_fini(void *arg)
{
	struct svm_vram_mock *m = arg;

	svm_vram_fini(&m->node);
	vfree(m->vram);
}

struct svm_vram_mock *svm_vram_mock_of(struct kunit *test, u64 hive, unsigned int node)
{
	struct svm_vram_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct vgpu_device *vdev;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	set_dev_node(&m->dev, NUMA_NO_NODE);
	vdev = &m->mock->vdev;
	vdev->drm.dev = &m->dev;
	m->vram = vzalloc(SVM_MOCK_VRAM);
	KUNIT_ASSERT_NOT_NULL(test, m->vram);
	vdev->hw->vram = (void __iomem __force *)m->vram;
	vdev->hw->vram_size = SVM_MOCK_VRAM;
	if (hive)
		vdev->hw->xgmi = (struct vgpu_xgmi) {
			.hive = hive, .segment = SVM_MOCK_SEGMENT, .node = node,
		};
	m->node.vdev = vdev;
	m->node.svm = &m->sn;
	m->sn.node = &m->node;
	ret = svm_vram_init(&m->node);
	if (ret)
		vfree(m->vram);
	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, svm_vram_mock_fini, m), 0);
	INIT_LIST_HEAD(&m->node.smi.clients);
	kref_init(&m->sb.ref);
	INIT_LIST_HEAD(&m->sb.touches);
	spin_lock_init(&m->sb.touch_lock);
	m->sb.node = &m->node;
	m->sb.npages = SVM_MOCK_VRAM >> PAGE_SHIFT;
	svm_page_reserve(&m->sb, 1);
	m->page = svm_page_get(&m->sb, SVM_MOCK_OFFSET);
	return m;
}

struct svm_vram_mock *svm_vram_mock_new(struct kunit *test)
{
	return svm_vram_mock_of(test, 0, 0);
}

void svm_vram_mock_check(struct kunit *test, struct svm_vram_mock *m, int want)
{
	struct svm_node *sn = &m->sn;

	/* A single try must return 0, even if pages stay in VRAM. */
	KUNIT_EXPECT_EQ(test, svm_node_evict(&m->node, false), 0);
	KUNIT_EXPECT_EQ(test, svm_node_evict(&m->node, true), want);
	if (!want)
		return;
	/* Check that the page is still in VRAM. */
	KUNIT_EXPECT_EQ(test, atomic_long_read(&sn->vram_pages), 1);
	KUNIT_EXPECT_EQ(test, page_ref_count(m->page), 1);
	KUNIT_EXPECT_PTR_EQ(test, m->page->zone_device_data, (void *)&m->sb);
	KUNIT_EXPECT_EQ(test, kref_read(&m->sb.ref), 2);
	KUNIT_EXPECT_EQ(test, svm_page_vram_offset(&m->node, m->page),
			SVM_MOCK_OFFSET);
}

void svm_vram_mock_release(struct kunit *test, struct svm_vram_mock *m)
{
	put_page(m->page);
	svm_vram_mock_check(test, m, 0);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&m->sn.vram_pages), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&m->sb.ref), 1);
}

struct svm_move_mock *svm_move_mock_new(struct kunit *test)
{
	struct svm_move_mock *mv = kunit_kzalloc(test, sizeof(*mv), GFP_KERNEL);
	struct vgpu_hw_state *hw;
	struct svm_vram_mock *m;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, mv);
	m = svm_vram_mock_new(test);
	mv->m = m;
	m->dev.coherent_dma_mask = DMA_BIT_MASK(64);
	m->dev.dma_mask = &m->dev.coherent_dma_mask;
	hw = &m->mock->hw;
	hw->base.fb_base = MOCK_FB_BASE;
	hw->gart.total = SVM_MOCK_GART_PAGES;
	hw->gart.windows = SVM_MOCK_GART_PAGES;
	hw->gart.table_vram = MOCK_TABLE;
	hw->gart.table = hw->base.vram + MOCK_TABLE;
	hw->gart.shadow = mv->shadow;
	for (i = 0; i < VGPU_NUM_SDMA; i++)
		mutex_init(&hw->sdma[i].lock);
	mutex_init(&m->mock->mman.copy_lock);
	init_waitqueue_head(&m->mock->mman.copy_idle);
	m->mock->mman.ready = true;
	return mv;
}
