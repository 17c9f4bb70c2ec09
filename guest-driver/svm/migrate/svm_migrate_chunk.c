// SPDX-License-Identifier: GPL-2.0
/*
 * Implements the steps that all migrations of chunks have in common: allocation of system pages,
 * copy of the content, cleanup after a failed copy. svm_move_leave() is a complete migration of the
 * pages of a part of VRAM, for evictions.
 */
#include <linux/dma-fence.h>
#include <linux/gfp.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include <kunit/visibility.h>

#include "hw/vgpu_hw.h"
#include "mm/vgpu_mm.h"
#include "process/kfd_node.h"
#include "svm/svm_map.h"
#include "svm_migrate.h"
#include "svm_migrate_priv.h"

int svm_move_copy(struct kfd_node *node, bool to_vram, const struct svm_move *m,
		  unsigned long npages)
{
	struct dma_fence *fence;
	int ret;

	fence = vgpu_mm_copy_pages(node->vdev, to_vram, m->sys, m->vram, npages,
				   m->vram_epoch);
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	dma_fence_wait(fence, false);
	ret = fence->error ? -EIO : 0;
	dma_fence_put(fence);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(svm_move_copy);

void svm_move_abort(struct svm_move *m, unsigned long npages)
{
	unsigned long i;

	for (i = 0; i < npages; i++) {
		struct page *page = migrate_pfn_to_page(m->dst[i]);

		if (page) {
			unlock_page(page);
			put_page(page);
		}
		m->dst[i] = 0;
	}
}
EXPORT_SYMBOL_IF_KUNIT(svm_move_abort);

void svm_move_dma_unmap(struct device *dev, struct svm_move *m,
			unsigned long npages)
{
	unsigned long i;

	for (i = 0; i < npages; i++)
		if (m->sys[i] && m->sys[i] != DMA_MAPPING_ERROR)
			svm_dma_unmap(dev, m->sys[i]);
}
EXPORT_SYMBOL_IF_KUNIT(svm_move_dma_unmap);

unsigned long svm_move_count(const struct svm_move *m, unsigned long npages)
{
	unsigned long i, n = 0;

	for (i = 0; i < npages; i++)
		if (m->src[i] & MIGRATE_PFN_MIGRATE)
			n++;
	return n;
}

unsigned long svm_move_left(const struct svm_move *m, unsigned long npages)
{
	unsigned long i;

	for (i = 0; i < npages; i++) {
		struct page *page = migrate_pfn_to_page(m->src[i]);

		if (page && m->src[i] & MIGRATE_PFN_MIGRATE)
			page->zone_device_data =
				(void *)((uintptr_t)page->zone_device_data |
					 SVM_PAGE_LEFT);
	}
	return svm_move_count(m, npages);
}

/*
 * Allocate a system page. For an eviction, @vma is NULL. An eviction may fail, so its
 * allocation must neither invoke the OOM killer nor print a warning.
 */
static struct page *svm_alloc_page(struct vm_area_struct *vma,
				   unsigned long page)
{
	if (vma)
		return alloc_page_vma(GFP_HIGHUSER_MOVABLE, vma,
				      page << PAGE_SHIFT);
	return alloc_page(GFP_HIGHUSER_MOVABLE | __GFP_RETRY_MAYFAIL |
			  __GFP_NOWARN);
}

long svm_move_alloc_system(struct kfd_node *node, struct vm_area_struct *vma,
			   unsigned long first, struct svm_move *m,
			   unsigned long npages)
{
	struct device *dev = node->vdev->drm.dev;
	unsigned long i, n = 0;
	int ret = 0;

	/*
	 * Read the epoch once, before the pages are tested. The copy fails if the epoch has
	 * changed since, because a reset may have lost the content of a page after its test.
	 */
	m->vram_epoch = atomic_read(&node->vdev->hw->vram_epoch);
	for (i = 0; i < npages; i++) {
		struct page *src = migrate_pfn_to_page(m->src[i]);
		struct page *page;

		m->dst[i] = 0;
		m->vram[i] = 0;
		m->sys[i] = DMA_MAPPING_ERROR;
		/*
		 * Skip pages in the VRAM of other GPUs. migrate_vma_setup() selects these pages as
		 * well, because all GPUs of a hive have the same page owner.
		 */
		if (!src || !(m->src[i] & MIGRATE_PFN_MIGRATE) ||
		    !svm_page_is_vram(node, src) || svm_page_has_left(src))
			continue;
		if (svm_page_bo(src)->vram_epoch != m->vram_epoch) {
			ret = -EIO;
			continue;
		}
		page = svm_alloc_page(vma, first + i);
		if (page)
			m->sys[i] = svm_dma_map(dev, page, true);
		if (m->sys[i] == DMA_MAPPING_ERROR) {
			if (page)
				__free_page(page);
			ret = ret ?: -ENOMEM;
			continue;
		}
		lock_page(page);
		m->dst[i] = migrate_pfn(page_to_pfn(page));
		m->vram[i] = svm_page_vram_offset(node, src);
		n++;
	}
	return n ?: ret;
}
EXPORT_SYMBOL_IF_KUNIT(svm_move_alloc_system);

long svm_move_to_system(struct kfd_node *node, struct svm_move *m, unsigned long npages,
			struct migrate_vma *args)
{
	long moved = svm_move_alloc_system(node, args ? args->vma : NULL,
					   args ? PHYS_PFN(args->start) : 0, m, npages);
	int ret;

	if (moved <= 0)
		return moved;
	ret = svm_move_copy(node, false, m, npages);
	if (ret) {
		svm_move_abort(m, npages);
		moved = ret;
	} else {
		if (args)
			migrate_vma_pages(args);
		else
			migrate_device_pages(m->src, m->dst, npages);
		moved = svm_move_left(m, npages);
		vgpu_stat_add(node->vdev, VGPU_STAT_PAGES_TO_SYSTEM,
			      moved);
	}
	svm_move_dma_unmap(node->vdev->drm.dev, m, npages);
	return moved;
}

long svm_move_leave(struct kfd_node *node, struct svm_move *m, unsigned long pfn,
		    unsigned long npages)
{
	long moved;

	migrate_device_range(m->src, pfn, npages);
	moved = svm_move_to_system(node, m, npages, NULL);
	migrate_device_finalize(m->src, m->dst, npages);
	return moved;
}
