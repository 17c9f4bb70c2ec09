/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The steps of the migration of a chunk (svm_migrate_chunk.c). The order is: migrate_vma_setup() or
 * migrate_device_range(); allocation of the new pages; svm_move_submit(); svm_move_finish();
 * finalization.
 */
#ifndef SVM_MOVE_H
#define SVM_MOVE_H

#include <linux/migrate.h>
#include <linux/types.h>

#include "smi/kfd_smi_events.h"
#include "svm/svm_map.h"

struct device;
struct dma_fence;
struct kfd_node;
struct page;
struct svm_bo;
struct vm_area_struct;

/**
 * struct svm_move - a chunk that is being migrated
 */
struct svm_move {
	/** @src: migrate_vma.src */
	unsigned long src[SVM_CHUNK_PAGES];
	/** @dst: migrate_vma.dst */
	unsigned long dst[SVM_CHUNK_PAGES];
	/**
	 * @sys: DMA addresses of the system pages. DMA_MAPPING_ERROR: the page does not migrate.
	 * 0: there is no source page, so the page in VRAM is cleared
	 */
	dma_addr_t sys[SVM_CHUNK_PAGES];
	/** @vram: offsets of the pages in VRAM, bytes */
	u64 vram[SVM_CHUNK_PAGES];
	/**
	 * @vram_epoch: value of vgpu_hw.vram_epoch; a loss of VRAM since this value was read makes
	 * the copy fail. To VRAM: svm_bo.vram_epoch of the BO that is filled. To system memory: the
	 * value with which svm_move_alloc_system() has compared the pages in VRAM
	 */
	int vram_epoch;
	/** @to_vram: true: system memory to VRAM; false: VRAM to system memory */
	bool to_vram;
	/** @npages: number of elements of @src, @dst, @sys and @vram in use */
	unsigned long npages;
	/** @args: argument of migrate_vma_setup(). args.vma is NULL in svm_move_leave() */
	struct migrate_vma args;
	/**
	 * @copies: number of pages that are copied, or cleared in VRAM; 0 or a negative errno if
	 * svm_move_submit() was not called
	 */
	long copies;
	/** @fence: fence of the copy or an ERR_PTR(), from svm_move_submit() to svm_move_wait() */
	struct dma_fence *fence;
	/** @sb: BO that the chunk fills, or NULL */
	struct svm_bo *sb;
	/** @event: the chunk in SMI events; not used by svm_move_leave() */
	struct kfd_smi_move event;
};

/*
 * Submit the copy of the pages of @m to or from VRAM. svm_move_wait() reports an error of the
 * submission.
 */
void svm_move_submit(struct kfd_node *node, struct svm_move *m);
/*
 * Wait for the copy that svm_move_submit() has submitted. Returns:
 *
 * - 0
 * - -EIO if the copy failed
 * - -ECANCELED if VRAM was lost since m->vram_epoch was read; to system memory, only if the copy
 *   was submitted after the loss
 * - another error of vgpu_mm_copy_pages()
 */
int svm_move_wait(struct kfd_node *node, struct svm_move *m);
/*
 * After a failed copy: free the destination pages and clear m->dst, so that the migration core maps
 * the source pages again.
 */
void svm_move_abort(struct svm_move *m);
/* Undo the DMA mappings of the system pages. */
void svm_move_dma_unmap(struct device *dev, struct svm_move *m);
/*
 * Set SVM_PAGE_LEFT in each VRAM page of m->src that was migrated to system memory. The VRAM pages
 * are still locked. Returns the number of these pages.
 */
unsigned long svm_move_left(const struct svm_move *m);
/*
 * Return the flags for the allocation of system pages by the current task. @evict: true for an
 * eviction.
 */
gfp_t svm_page_gfp(bool evict);
/*
 * Allocate @n system pages, the first for page number @page of @vma; for an eviction @vma is NULL.
 * Stores the pages in @pages. Returns the number of pages: at least 1, unless memory is short.
 */
unsigned long svm_page_alloc_many(struct vm_area_struct *vma, unsigned long page,
				  unsigned long n, struct page **pages);
/*
 * For each page of @m that migrates from @node's VRAM, allocate a system page and map it for DMA.
 * Sets m->vram_epoch.
 *
 * Returns the number of system pages. If there are none, returns:
 *
 * - 0 if no page is to be migrated
 * - -ENOMEM if memory is short: a later try may succeed, although other pages may be lost
 * - -EIO if a reset lost the content of all pages that are to be migrated
 */
long svm_move_alloc_system(struct kfd_node *node, struct svm_move *m);
/*
 * Allocate system pages and submit the copy of the pages of m->src to these pages. Pages that
 * cannot migrate or are lost stay. The caller has set m->npages and m->to_vram, has filled m->src
 * by migrate_vma_setup(&m->args), or by migrate_device_range() if m->args.vma is NULL, and
 * finalizes the migration in any case. Returns as svm_move_alloc_system().
 */
long svm_move_begin_system(struct kfd_node *node, struct svm_move *m);
/*
 * Wait for a copy, then migrate the pages, and undo their DMA mappings. If the copy failed, no page
 * migrates. The caller finalizes the migration next. Returns the number of migrated pages, or an
 * error of svm_move_wait().
 */
long svm_move_finish(struct kfd_node *node, struct svm_move *m);
/*
 * Complete the migration of a chunk of a VMA: call svm_move_finish() if a copy was submitted,
 * finalize the migration, unpin m->sb and report the end. The caller holds mmap_lock. Returns
 * m->copies, or the result of svm_move_finish().
 */
long svm_move_complete(struct kfd_node *node, struct svm_move *m);
/*
 * Migrate to system memory the pages of @node's VRAM from page frame @pfn on, and wait for the
 * copy. Pages that are free, locked, referenced or lost stay. Page locks are only tried, and no
 * mmap_lock is taken. Calls MMU notifiers.
 *
 * Returns the number of migrated pages, or an error of svm_move_alloc_system() or
 * svm_move_finish().
 */
long svm_move_leave(struct kfd_node *node, struct svm_move *m, unsigned long pfn,
		    unsigned long npages);

#endif /* SVM_MOVE_H */
