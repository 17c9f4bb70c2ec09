/* SPDX-License-Identifier: GPL-2.0 */
/* Migration and VRAM: what the files of migrate/ share. */
#ifndef SVM_MIGRATE_PRIV_H
#define SVM_MIGRATE_PRIV_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/spinlock.h>

#include "svm/svm_interval.h"
#include "svm/svm_map.h"
#include "svm/svm_node.h"

struct kfd_node;
struct svm_range_list;
struct vgpu_bo;

/**
 * struct svm_bo - VRAM under device-private pages
 * @ref: one for each page in use, one for the migration in progress
 * @node: GPU
 * @bo: contiguous; in VRAM as long as there is a reference; pinned until it has
 *      all its pages
 * @offset: in VRAM
 * @npages: of @bo
 * @iv: addresses that the pages had in the process that they were @owner's
 * @vram_epoch: vgpu_hw.vram_epoch before it had content
 * @granularity: log2 of the pages that a CPU touch brings back together
 * @owner: process whose memory it was, referenced
 * @dead: in svm_node.dead_bos after the last reference
 * @touches: struct svm_touch under way; @touch_lock
 * @touch_lock: innermost
 */
struct svm_bo {
	struct kref ref;
	struct kfd_node *node;
	struct vgpu_bo *bo;
	u64 offset;
	unsigned long npages;
	struct svm_interval iv;
	int vram_epoch;
	u8 granularity;
	struct pid *owner;
	struct llist_node dead;
	struct list_head touches;
	spinlock_t touch_lock;	/* touches and their waiters */
};

/**
 * struct svm_touch - a CPU fault that moves a page out of VRAM; see svm_migrate.c
 * @link: in svm_bo.touches
 * @page: the page, referenced by the fault
 * @waiters: struct svm_touch_waiter of other faults of @page
 */
struct svm_touch {
	struct list_head link;
	struct page *page;
	struct list_head waiters;
};

/**
 * struct svm_touch_waiter - a CPU fault of a page that another one moves
 * @link: in svm_touch.waiters while it has lent its reference, else empty
 * @done: the reference is back
 */
struct svm_touch_waiter {
	struct list_head link;
	struct completion done;
};

/**
 * struct svm_move - one chunk on its way
 * @src: of struct migrate_vma
 * @dst: of struct migrate_vma
 * @sys: DMA addresses; DMA_MAPPING_ERROR: page does not take part; 0: clear
 *       instead of copy
 * @vram: offsets
 */
struct svm_move {
	unsigned long src[SVM_CHUNK_PAGES];
	unsigned long dst[SVM_CHUNK_PAGES];
	dma_addr_t sys[SVM_CHUNK_PAGES];
	u64 vram[SVM_CHUNK_PAGES];
};

void svm_bo_node_init(struct svm_node *sn);
/*
 * A BO for @npages pages of @iv of a process, in VRAM, with one reference, or
 * ERR_PTR(-ENOMEM). svms->lock held; may evict BOs, of this process too.
 */
struct svm_bo *svm_bo_alloc(struct kfd_node *node, struct svm_range_list *svms,
			    struct svm_interval iv, unsigned long npages,
			    u8 granularity);
/* The migration is over, well or not: no page is locked. Drops its reference. */
void svm_bo_filled(struct svm_bo *sb);
/*
 * vgpu_bo_owner_ops.evict_ok: does it look as if pages of the BO could become system memory
 * now? False if all are locked or referenced, or a reset lost what was in the BO. Changes
 * nothing; atomic.
 */
bool svm_bo_evict_ok(struct vgpu_bo *bo);
/*
 * vgpu_bo_owner_ops.vacate: pages of the BO become system memory. False if one
 * stays: somebody holds it, there is no memory, or a reset lost what was in it.
 */
bool svm_bo_vacate(struct vgpu_bo *bo);
/* Any context. */
void svm_bo_put(struct svm_bo *sb);
/* A device-private page, locked and referenced, at @offset of VRAM. */
struct page *svm_page_get(struct svm_bo *sb, u64 offset);
/* Whose VRAM a device-private page is. */
static inline struct kfd_node *svm_page_node(struct page *page)
{
	return container_of(page->pgmap, struct svm_node, pgmap)->node;
}

/* A reset lost what was in the page. */
bool svm_page_is_lost(struct kfd_node *node, struct page *page);

/*
 * In zone_device_data, with the page's lock: what was in the page has moved, and
 * it goes with the references that are left. Its memory cgroup has gone with what
 * was in it, so it must not be moved once more.
 */
#define SVM_PAGE_LEFT	1ul

static inline struct svm_bo *svm_page_bo(const struct page *page)
{
	return (void *)((uintptr_t)page->zone_device_data & ~SVM_PAGE_LEFT);
}

static inline bool svm_page_has_left(const struct page *page)
{
	return (uintptr_t)page->zone_device_data & SVM_PAGE_LEFT;
}

/*
 * svm_hive.c. Owner of the pages of a GPU: all of a hive have one. get: NULL if
 * there is no memory.
 */
void *svm_owner_get(struct vgpu_device *vdev);
void svm_owner_put(struct vgpu_device *vdev, void *owner);
/* No page of VRAM is in use any more: until nobody looks at one either. */
void svm_peer_wait(void);

/* svm_migrate_chunk.c */
/* Copy what @m says, and wait. 0 or a negative errno. */
int svm_move_copy(struct kfd_node *node, bool to_vram, const struct svm_move *m,
		  unsigned long npages);
/* Give the destination pages back: what they were for stays where it is. */
void svm_move_abort(struct svm_move *m, unsigned long npages);
void svm_move_dma_unmap(struct device *dev, struct svm_move *m,
			unsigned long npages);
/* How many source pages have moved. */
unsigned long svm_move_count(const struct svm_move *m, unsigned long npages);
/* The same for pages of VRAM, which are still locked: they have left. */
unsigned long svm_move_left(const struct svm_move *m, unsigned long npages);
/*
 * System pages for what was selected of @node's, at @first of @vma, or for an
 * eviction if that is NULL. Returns how many; what gets none stays in VRAM. If
 * none gets one: 0 as nothing of @node's was selected, or all of it is going
 * already; -ENOMEM; -EIO as a reset lost what was in VRAM.
 */
long svm_move_alloc_system(struct kfd_node *node, struct vm_area_struct *vma,
			   unsigned long first, struct svm_move *m,
			   unsigned long npages);

/*
 * svm_migrate.c. A CPU fault of @page, of @sb, begins. True: it is the first, moves the page
 * and then calls svm_touch_end(); @waiter is not used. False: it waits for @waiter->done, and
 * has no reference to the page until then; @touch is not used.
 */
bool svm_touch_begin(struct svm_bo *sb, struct svm_touch *touch, struct page *page,
		     struct svm_touch_waiter *waiter);
/* Wakes the waiters, each of which has its reference again. */
void svm_touch_end(struct svm_bo *sb, struct svm_touch *touch);
/*
 * svm_migrate.c: the CPU touched a page in VRAM. Called with mmap_lock held for
 * reading and a reference on vmf->page, in any process that maps the page (after
 * fork not only KFD's). Takes no lock of SVM or KFD but svm_bo.touch_lock.
 */
vm_fault_t svm_migrate_to_ram(struct vm_fault *vmf);

#endif /* SVM_MIGRATE_PRIV_H */
