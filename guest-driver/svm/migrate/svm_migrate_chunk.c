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
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "hw/vgpu_hw.h"
#include "mm/vgpu_mm.h"
#include "process/kfd_node.h"
#include "smi/kfd_smi_events.h"
#include "svm/svm_map.h"
#include "svm_migrate.h"
#include "svm_migrate_priv.h"
#include "svm_move.h"

/* Maximum number of system pages that one call of svm_page_alloc_many() allocates. */
#define SVM_STOCK_PAGES		32ul

/**
 * struct svm_stock - system pages that are allocated for a chunk and not used yet
 */
struct svm_stock {
	/** @pages: the pages */
	struct page *pages[SVM_STOCK_PAGES];
	/** @next: index in @pages of the next page to use */
	unsigned long next;
	/** @end: number of elements of @pages in use */
	unsigned long end;
	/** @wanted: number of calls of svm_stock_take() that are still to come */
	unsigned long wanted;
};

void svm_move_submit(struct kfd_node *node, struct svm_move *m)
{
	m->fence = vgpu_mm_copy_pages(node->vdev, m->to_vram, m->sys, m->vram, m->npages,
				      m->vram_epoch);
}
EXPORT_SYMBOL_IF_KUNIT(svm_move_submit);

int svm_move_wait(struct kfd_node *node, struct svm_move *m)
{
	struct dma_fence *fence = m->fence;
	int ret;

	m->fence = NULL;
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	dma_fence_wait(fence, false);
	ret = fence->error ? -EIO : 0;
	dma_fence_put(fence);
	/*
	 * VRAM may have been lost since the copy to VRAM ended. The system pages still have the
	 * content, so the migration fails and the content stays.
	 */
	if (!ret && m->to_vram && m->vram_epoch != atomic_read(&node->vdev->hw->vram_epoch))
		ret = -ECANCELED;
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(svm_move_wait);

void svm_move_abort(struct svm_move *m)
{
	unsigned long i;

	for (i = 0; i < m->npages; i++) {
		struct page *page = migrate_pfn_to_page(m->dst[i]);

		if (page) {
			unlock_page(page);
			put_page(page);
		}
		m->dst[i] = 0;
	}
}
EXPORT_SYMBOL_IF_KUNIT(svm_move_abort);

void svm_move_dma_unmap(struct device *dev, struct svm_move *m)
{
	unsigned long i;

	for (i = 0; i < m->npages; i++)
		if (m->sys[i] && m->sys[i] != DMA_MAPPING_ERROR)
			svm_dma_unmap(dev, m->sys[i]);
}
EXPORT_SYMBOL_IF_KUNIT(svm_move_dma_unmap);

/* Return the number of source pages that were migrated. */
static unsigned long svm_move_count(const struct svm_move *m)
{
	unsigned long i, n = 0;

	for (i = 0; i < m->npages; i++)
		if (m->src[i] & MIGRATE_PFN_MIGRATE)
			n++;
	return n;
}

unsigned long svm_move_left(const struct svm_move *m)
{
	unsigned long i;

	for (i = 0; i < m->npages; i++) {
		struct page *page = migrate_pfn_to_page(m->src[i]);

		if (page && m->src[i] & MIGRATE_PFN_MIGRATE)
			page->zone_device_data =
				(void *)((uintptr_t)page->zone_device_data |
					 SVM_PAGE_LEFT);
	}
	return svm_move_count(m);
}

/*
 * Return true if @vma (may be NULL) or the task has a NUMA policy. alloc_pages_bulk_array() follows
 * the default policy only: local memory first.
 */
static bool svm_has_numa_policy(const struct vm_area_struct *vma)
{
#ifdef CONFIG_NUMA
	if (current->mempolicy)
		return true;
	return vma && (vma_policy(vma) || (vma->vm_ops && vma->vm_ops->get_policy));
#else
	return false;
#endif
}

gfp_t svm_page_gfp(bool evict)
{
	/*
	 * alloc_pages_bulk_array() does not call current_gfp_context() for the pages that it takes
	 * from the per-CPU list. A CPU fault of a long-term pin must not get movable pages, because
	 * the pin would have to migrate each of them again.
	 */
	gfp_t gfp = current_gfp_context(GFP_HIGHUSER_MOVABLE);

	/*
	 * An eviction may fail, so its allocation must neither invoke the OOM killer nor print a
	 * warning.
	 */
	return evict ? gfp | __GFP_RETRY_MAYFAIL | __GFP_NOWARN : gfp;
}
EXPORT_SYMBOL_IF_KUNIT(svm_page_gfp);

unsigned long svm_page_alloc_many(struct vm_area_struct *vma, unsigned long page,
				  unsigned long n, struct page **pages)
{
	gfp_t gfp = svm_page_gfp(!vma);

	KUNIT_STATIC_STUB_REDIRECT(svm_page_alloc_many, vma, page, n, pages);
	if (n > 1 && !svm_has_numa_policy(vma)) {
		/* alloc_pages_bulk_array() fills only elements that are NULL. */
		memset(pages, 0, n * sizeof(*pages));
		return alloc_pages_bulk_array(gfp, n, pages);
	}
	*pages = vma ? alloc_page_vma(gfp, vma, page << PAGE_SHIFT) : alloc_page(gfp);
	return *pages ? 1 : 0;
}
EXPORT_SYMBOL_IF_KUNIT(svm_page_alloc_many);

/*
 * Return the next page of @stock, for page number @page of @vma. Returns NULL if memory is short.
 * Each refill allocates at most as many pages as later calls take, so no page is left at the end.
 */
static struct page *svm_stock_take(struct svm_stock *stock, struct vm_area_struct *vma,
				   unsigned long page)
{
	if (stock->next == stock->end) {
		stock->next = 0;
		stock->end = svm_page_alloc_many(vma, page,
						 min(stock->wanted, SVM_STOCK_PAGES),
						 stock->pages);
	}
	stock->wanted--;
	return stock->next < stock->end ? stock->pages[stock->next++] : NULL;
}

/*
 * For svm_move_alloc_system(): set m->sys to 0 for each page that migrates, and to
 * DMA_MAPPING_ERROR for the others. Sets *@ret to -EIO if a page does not migrate because its
 * content is lost. Returns the number of pages that migrate.
 */
static unsigned long svm_move_select(struct kfd_node *node, struct svm_move *m, int *ret)
{
	unsigned long i, n = 0;

	for (i = 0; i < m->npages; i++) {
		struct page *src = migrate_pfn_to_page(m->src[i]);

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
			*ret = -EIO;
			continue;
		}
		m->vram[i] = svm_page_vram_offset(node, src);
		m->sys[i] = 0;
		n++;
	}
	return n;
}

long svm_move_alloc_system(struct kfd_node *node, struct svm_move *m)
{
	struct device *dev = node->vdev->drm.dev;
	struct vm_area_struct *vma = m->args.vma;
	unsigned long first = vma ? PHYS_PFN(m->args.start) : 0;
	struct svm_stock stock = { .wanted = 0 };
	unsigned long i, n = 0;
	int ret = 0;

	/*
	 * Read the epoch once, before the pages are tested. The copy fails if the epoch has
	 * changed since, because a reset may have lost the content of a page after its test.
	 */
	m->vram_epoch = atomic_read(&node->vdev->hw->vram_epoch);
	stock.wanted = svm_move_select(node, m, &ret);
	for (i = 0; i < m->npages; i++) {
		struct page *page;

		if (m->sys[i] == DMA_MAPPING_ERROR)
			continue;
		m->sys[i] = DMA_MAPPING_ERROR;
		page = svm_stock_take(&stock, vma, first + i);
		if (page)
			m->sys[i] = svm_dma_map(dev, page, true);
		if (m->sys[i] == DMA_MAPPING_ERROR) {
			if (page)
				__free_page(page);
			/* Replaces -EIO: pages that are not lost can still migrate later. */
			ret = -ENOMEM;
			continue;
		}
		/* Set the bit without an atomic operation: no other task uses the new page yet. */
		__SetPageLocked(page);
		m->dst[i] = migrate_pfn(page_to_pfn(page));
		n++;
	}
	return n ?: ret;
}
EXPORT_SYMBOL_IF_KUNIT(svm_move_alloc_system);

long svm_move_begin_system(struct kfd_node *node, struct svm_move *m)
{
	long n = svm_move_alloc_system(node, m);

	if (n > 0)
		svm_move_submit(node, m);
	return n;
}

long svm_move_finish(struct kfd_node *node, struct svm_move *m)
{
	int ret = svm_move_wait(node, m);
	long moved;

	if (ret) {
		svm_move_abort(m);
		moved = ret;
	} else {
		if (m->args.vma)
			migrate_vma_pages(&m->args);
		else
			migrate_device_pages(m->src, m->dst, m->npages);
		moved = m->to_vram ? svm_move_count(m) : svm_move_left(m);
		vgpu_stat_add(node->vdev, m->to_vram ? VGPU_STAT_PAGES_TO_VRAM :
						       VGPU_STAT_PAGES_TO_SYSTEM, moved);
	}
	svm_move_dma_unmap(node->vdev->drm.dev, m);
	return moved;
}

long svm_move_complete(struct kfd_node *node, struct svm_move *m)
{
	long ret = m->copies;

	if (ret > 0)
		ret = svm_move_finish(node, m);
	/* args.cpages is 0 if migrate_vma_setup() has failed or has collected no page. */
	if (m->args.cpages)
		migrate_vma_finalize(&m->args);
	if (m->sb)
		svm_bo_filled(m->sb);
	kfd_smi_move_end(&m->event);
	return ret;
}

long svm_move_leave(struct kfd_node *node, struct svm_move *m, unsigned long pfn,
		    unsigned long npages)
{
	long moved;

	m->args.vma = NULL;
	m->npages = npages;
	m->to_vram = false;
	migrate_device_range(m->src, pfn, npages);
	moved = svm_move_begin_system(node, m);
	if (moved > 0)
		moved = svm_move_finish(node, m);
	migrate_device_finalize(m->src, m->dst, npages);
	return moved;
}
