// SPDX-License-Identifier: GPL-2.0
/*
 * Removes unmapped memory from the tree of a process's ranges. The notifier of a range has cleared
 * the GPU entries before, and has recorded the pages in svm_range.unmapped.
 */
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "svm_map.h"
#include "svm_munmap.h"
#include "svm_range.h"
#include "svm_tree.h"

/* Remove pages from the tree. The caller holds mmap_lock for writing and svms->lock. */
static void svm_range_cut(struct svm_range_list *svms, struct svm_interval iv)
{
	struct svm_range *r;

	/*
	 * If a split fails, the loop below removes the whole range: no GPU may keep an entry for
	 * @iv. Pages outside @iv lose their attributes.
	 */
	r = svm_range_find(svms, iv.first);
	if (r)
		svm_range_split(r, iv);
	r = svm_range_find(svms, iv.last);
	if (r)
		svm_range_split(r, iv);

	while ((r = svm_tree_first(svms, iv))) {
		svm_tree_erase(r);
		svm_range_remove(r);
	}
	svm_dma_trim(svms, iv);
}

/* Remove from the tree the pages of @hull that no VMA covers. */
static void svm_range_cut_holes(struct svm_range_list *svms,
				struct svm_interval hull)
{
	unsigned long page = hull.first;

	while (page <= hull.last) {
		struct vm_area_struct *vma = find_vma(svms->mm,
						      page << PAGE_SHIFT);
		unsigned long start = vma ? vma->vm_start >> PAGE_SHIFT :
					    hull.last + 1;

		if (start > page)
			svm_range_cut(svms, (struct svm_interval){
				page, min(start - 1, hull.last) });
		if (!vma)
			break;
		page = vma->vm_end >> PAGE_SHIFT;
	}
}

/* Apply the munmaps in @log, which is a copy of r->unmapped, to the tree. @r may be freed. */
static void svm_deferred_apply(struct svm_range *r, const struct svm_unmap_log *log)
{
	struct svm_range_list *svms = r->svms;
	struct svm_interval iv = r->iv;
	unsigned int i;

	/* Most munmaps remove whole ranges, which need neither a split nor a search. */
	if (!log->inexact && log->n == 1 && log->iv[0].first == iv.first &&
	    log->iv[0].last == iv.last) {
		svm_tree_erase(r);
		svm_range_remove(r);
		svm_dma_trim(svms, iv);
		return;
	}
	for (i = 0; i < log->n; i++) {
		if (log->inexact)
			svm_range_cut_holes(svms, log->iv[i]);
		else
			svm_range_cut(svms, log->iv[i]);
	}
}

void svm_deferred_run(struct svm_range_list *svms)
{
	struct svm_range *r;

	mmap_assert_write_locked(svms->mm);

	spin_lock(&svms->deferred_list_lock);
	while ((r = list_first_entry_or_null(&svms->deferred_range_list,
					     struct svm_range,
					     deferred_list))) {
		struct svm_unmap_log log = r->unmapped;

		list_del_init(&r->deferred_list);
		memset(&r->unmapped, 0, sizeof(r->unmapped));
		spin_unlock(&svms->deferred_list_lock);

		svm_deferred_apply(r, &log);

		spin_lock(&svms->deferred_list_lock);
	}
	spin_unlock(&svms->deferred_list_lock);
}
