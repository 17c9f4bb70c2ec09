// SPDX-License-Identifier: GPL-2.0
/*
 * Creates and removes the device-private pages that stand for VRAM. The CPU cannot access these
 * pages (MEMORY_DEVICE_PRIVATE). svm_node_evict() migrates them to system memory before the system
 * sleeps, svm_vram_fini() before their removal.
 */
#include <linux/highmem.h>
#include <linux/memremap.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include <drm/drm_print.h>
#include <kunit/visibility.h>

#include "hw/vgpu_hw.h"
#include "hw/vgpu_io.h"
#include "process/kfd_node.h"
#include "svm/svm.h"
#include "svm/svm_map.h"
#include "svm/svm_node.h"
#include "svm_migrate.h"
#include "svm_migrate_priv.h"
#include "svm_move.h"

/*
 * svm_evict() gives up if no page was freed for this time, in jiffies. Page faults and exiting
 * processes block the migration of a page only for a shorter time.
 */
#define SVM_EVICT_PATIENCE	(2 * HZ)

bool svm_page_is_vram(struct kfd_node *node, struct page *page)
{
	return is_device_private_page(page) && svm_page_node(page) == node;
}

u64 svm_page_vram_offset(struct kfd_node *node, struct page *page)
{
	return ((u64)page_to_pfn(page) << PAGE_SHIFT) -
	       node->svm->pgmap.range.start;
}
EXPORT_SYMBOL_IF_KUNIT(svm_page_vram_offset);

void svm_page_reserve(struct svm_bo *sb, unsigned long n)
{
	/* kref has no function that takes several references. */
	refcount_add(n, &sb->ref.refcount);
	atomic_long_add(n, &sb->node->svm->vram_pages);
}
EXPORT_SYMBOL_IF_KUNIT(svm_page_reserve);

struct page *svm_page_get(struct svm_bo *sb, u64 offset)
{
	struct page *page;

	page = pfn_to_page((sb->node->svm->pgmap.range.start + offset) >> PAGE_SHIFT);
	page->zone_device_data = sb;
	zone_device_page_init(page);
	return page;
}
EXPORT_SYMBOL_IF_KUNIT(svm_page_get);

/* dev_pagemap_ops.page_free: drop the page's reference to its BO. Called in any context. */
static void svm_page_free(struct page *page)
{
	struct svm_bo *sb = svm_page_bo(page);
	struct svm_node *sn = sb->node->svm;

	page->zone_device_data = NULL;
	if (atomic_long_dec_and_test(&sn->vram_pages))
		wake_up_var(&sn->vram_pages);
	svm_bo_put(sb);
}

bool svm_page_is_lost(const struct page *page)
{
	return svm_bo_content_lost(svm_page_bo(page));
}

static const struct dev_pagemap_ops svm_pagemap_ops = {
	.page_free = svm_page_free,
	.migrate_to_ram = svm_migrate_to_ram,
};

/*
 * Copy the VRAM of page @src to the system page @dst. If the content of @src is lost (@lost), clear
 * @dst instead.
 */
static void svm_save_page(struct kfd_node *node, struct page *src,
			  struct page *dst, bool lost)
{
	struct svm_bo *sb = svm_page_bo(src);
	void *p;

	if (lost) {
		clear_highpage(dst);
		/*
		 * No later access can raise SIGBUS, because @src is about to be removed. So signal
		 * the process from which @src was migrated. Forked children that share @src get no
		 * signal.
		 */
		kill_pid(sb->owner, SIGBUS, 1);
		return;
	}
	vgpu_io_begin(node->vdev);
	p = kmap_local_page(dst);
	memcpy_fromio(p, node->vdev->hw->vram + svm_page_vram_offset(node, src),
		      PAGE_SIZE);
	kunmap_local(p);
	vgpu_io_end(node->vdev);
}

/*
 * Before the removal of the pages: migrate all pages in VRAM to system memory, except pages that
 * are locked or referenced. No reset runs any more, so the content of a page cannot be lost after
 * the test of the page.
 */
static void svm_evict_for_removal(struct kfd_node *node, struct svm_move *m)
{
	struct svm_node *sn = node->svm;
	unsigned long start = PHYS_PFN(sn->pgmap.range.start);
	unsigned long end = PHYS_PFN(sn->pgmap.range.end + 1);
	bool present = vgpu_hw_present(node->vdev);
	unsigned long pfn, i;

	m->npages = SVM_CHUNK_PAGES;
	for (pfn = start; pfn < end; pfn += SVM_CHUNK_PAGES) {
		migrate_device_range(m->src, pfn, SVM_CHUNK_PAGES);
		for (i = 0; i < SVM_CHUNK_PAGES; i++) {
			struct page *src = migrate_pfn_to_page(m->src[i]);
			struct page *page;

			m->dst[i] = 0;
			if (!src || !(m->src[i] & MIGRATE_PFN_MIGRATE) ||
			    svm_page_has_left(src))
				continue;
			page = alloc_page(GFP_HIGHUSER | __GFP_NOFAIL);
			lock_page(page);
			svm_save_page(node, src, page,
				      !present || svm_page_is_lost(src));
			m->dst[i] = migrate_pfn(page_to_pfn(page));
		}
		migrate_device_pages(m->src, m->dst, SVM_CHUNK_PAGES);
		svm_move_left(m);
		migrate_device_finalize(m->src, m->dst, SVM_CHUNK_PAGES);
		cond_resched();
	}
}

/*
 * Before a sleep: migrate all pages in VRAM to system memory, except pages that are locked,
 * referenced or lost. If a migration fails, its pages stay. Returns the error of the last migration
 * that failed, or 0.
 */
static int svm_evict_for_sleep(struct kfd_node *node, struct svm_move *m)
{
	struct svm_node *sn = node->svm;
	unsigned long pfn = PHYS_PFN(sn->pgmap.range.start);
	unsigned long end = PHYS_PFN(sn->pgmap.range.end + 1);
	int error = 0;
	long ret;

	for (; pfn < end; pfn += SVM_CHUNK_PAGES) {
		ret = svm_move_leave(node, m, pfn, SVM_CHUNK_PAGES);
		/* After a loss of VRAM, ignore -EIO: it may mean lost pages, which may stay. */
		if (ret < 0 && (ret != -EIO || !atomic_read(&node->vdev->hw->vram_epoch)))
			error = ret;
		cond_resched();
	}
	return error;
}

/*
 * Return the first page in use from page frame *@pfn on, with a reference, or NULL. Skip lost pages
 * unless @lost is true. *@pfn becomes the page frame after the page.
 */
static struct page *svm_evict_next(struct kfd_node *node, unsigned long *pfn,
				   bool lost)
{
	unsigned long end = PHYS_PFN(node->svm->pgmap.range.end + 1);
	struct page *page;

	while (*pfn < end) {
		page = pfn_to_page((*pfn)++);
		if (!(*pfn % SVM_CHUNK_PAGES))
			cond_resched();
		if (!get_page_unless_zero(page))
			continue;
		if (lost || !svm_page_is_lost(page))
			return page;
		put_page(page);
	}
	return NULL;
}

/* Return the number of pages in VRAM. Lost pages count only if @lost is true. */
static long svm_evict_left(struct kfd_node *node, bool lost)
{
	unsigned long pfn = PHYS_PFN(node->svm->pgmap.range.start);
	struct page *page;
	long left = 0;

	/* If no reset has ever lost the content of VRAM, no page is lost. */
	if (lost || !atomic_read(&node->vdev->hw->vram_epoch))
		return atomic_long_read(&node->svm->vram_pages);
	while ((page = svm_evict_next(node, &pfn, false))) {
		put_page(page);
		left++;
	}
	return left;
}

/*
 * Log the number of pages that cannot leave VRAM, the first of these pages, and the error of a
 * migration (0: the pages are locked or referenced).
 */
static void svm_evict_failed(struct kfd_node *node, long left, bool lost, int error)
{
	unsigned long pfn = PHYS_PFN(node->svm->pgmap.range.start);
	struct page *page = svm_evict_next(node, &pfn, lost);

	if (page) {
		struct svm_bo *sb = svm_page_bo(page);

		drm_err(&node->vdev->drm,
			"%ld pages of SVM cannot leave VRAM (error %d); offset %#llx: process %d, %d references, %d mappings%s\n",
			left, error, svm_page_vram_offset(node, page),
			pid_nr(sb->owner), page_ref_count(page) - 1,
			folio_mapcount(page_folio(page)),
			PageLocked(page) ? ", locked" : "");
		put_page(page);
	} else {
		drm_err(&node->vdev->drm,
			"%ld pages of SVM are in VRAM, but none is in use\n",
			left);
	}
}

/*
 * Migrate the pages in VRAM to system memory. If @removal is true, lost pages become zeros;
 * otherwise lost pages stay in VRAM, and do not count as left. If @all is true, repeat until no
 * page is left. Returns 0; if @all is true and pages are left, the error of a migration, or -EBUSY
 * if the pages are locked or referenced.
 */
static int svm_evict(struct kfd_node *node, bool all, bool removal)
{
	long left = svm_evict_left(node, removal), least = left;
	unsigned long until = jiffies + SVM_EVICT_PATIENCE;
	struct svm_move *m;
	int error = 0;

	if (!left)
		return 0;
	m = kvmalloc(sizeof(*m), GFP_KERNEL | __GFP_NOFAIL);
	for (;;) {
		if (removal)
			svm_evict_for_removal(node, m);
		else
			error = svm_evict_for_sleep(node, m);
		left = svm_evict_left(node, removal);
		if (left < least) {
			least = left;
			until = jiffies + SVM_EVICT_PATIENCE;
		}
		if (!all || !left || !time_before(jiffies, until))
			break;
		/* Poll, because no event is raised when a page can be migrated again. */
		schedule_timeout_uninterruptible(1);
	}
	kvfree(m);
	/* Wait until reap_work has freed the BOs of the freed pages. */
	flush_work(&node->svm->reap_work);
	if (!all || !left)
		return 0;
	/* The pages that are left in VRAM stay valid. */
	svm_evict_failed(node, left, removal, error);
	return error ?: -EBUSY;
}

/**
 * svm_node_evict() - migrate the pages in a GPU's VRAM to system memory, before a sleep
 * @node: GPU
 * @all: repeat until no page is left in VRAM; the caller prevents new pages in VRAM
 *
 * Pages whose content was lost in a reset stay in VRAM, so that CPU accesses to them raise SIGBUS
 * after the sleep, too.
 *
 * Context: sleeps. Calls MMU notifiers, which take locks of svm/.
 *
 * Return: 0. If @all is true and pages that are not lost are left in VRAM: -EBUSY if the pages are
 * locked or referenced; otherwise an error of a migration, such as -ENOMEM.
 */
int svm_node_evict(struct kfd_node *node, bool all)
{
	/*
	 * While svm_node.vram_work makes the pages, none is in use, and svm_evict() must not look
	 * at them. Do not wait for the work item: it does not run while workqueues are frozen.
	 * Pairs with smp_store_release() in svm_node_ready().
	 */
	if (smp_load_acquire(&node->svm->pending))
		return 0;
	return svm_evict(node, all, false);
}
EXPORT_SYMBOL_IF_KUNIT(svm_node_evict);

int svm_vram_init(struct kfd_node *node)
{
	struct vgpu_device *vdev = node->vdev;
	struct svm_node *sn = node->svm;
	struct dev_pagemap *pgmap = &sn->pgmap;
	u64 size = ALIGN(vdev->hw->vram_size, SVM_CHUNK_PAGES << PAGE_SHIFT);
	struct resource *res;
	void *ret, *owner;

	atomic_long_set(&sn->vram_pages, 0);
	svm_bo_node_init(sn);

	owner = svm_owner_get(vdev);
	if (!owner)
		return -ENOMEM;
	res = request_free_mem_region(&iomem_resource, size, "vgpu-kfd svm");
	if (IS_ERR(res)) {
		svm_owner_put(vdev, owner);
		return PTR_ERR(res);
	}

	pgmap->type = MEMORY_DEVICE_PRIVATE;
	pgmap->range.start = res->start;
	pgmap->range.end = res->end;
	pgmap->nr_range = 1;
	pgmap->ops = &svm_pagemap_ops;
	pgmap->owner = owner;
	ret = memremap_pages(pgmap, dev_to_node(vdev->drm.dev));
	if (IS_ERR(ret)) {
		release_mem_region(res->start, size);
		svm_owner_put(vdev, owner);
		memset(pgmap, 0, sizeof(*pgmap));
		return PTR_ERR(ret);
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(svm_vram_init);

void svm_vram_fini(struct kfd_node *node)
{
	struct svm_node *sn = node->svm;
	struct dev_pagemap *pgmap = &sn->pgmap;

	if (!pgmap->type)
		return;
	if (atomic_long_read(&sn->vram_pages) && !vgpu_hw_present(node->vdev))
		drm_err(&node->vdev->drm, "device removed: %ld pages of SVM in VRAM are lost\n",
			atomic_long_read(&sn->vram_pages));
	svm_evict(node, true, true);
	/*
	 * svm_evict() may have failed to migrate some pages. Wait until the users of these pages
	 * have freed them.
	 */
	wait_var_event(&sn->vram_pages, !atomic_long_read(&sn->vram_pages));
	svm_peer_wait();
	memunmap_pages(pgmap);
	release_mem_region(pgmap->range.start, range_len(&pgmap->range));
	svm_owner_put(node->vdev, pgmap->owner);
	flush_work(&sn->reap_work);
}
EXPORT_SYMBOL_IF_KUNIT(svm_vram_fini);
