/* SPDX-License-Identifier: GPL-2.0 */
/* Structures and functions that the files of migrate/ share. */
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
 * struct svm_bo - BO whose VRAM holds device-private pages
 */
struct svm_bo {
	/** @ref: references: one for each page in use, one for the migration that fills the BO */
	struct kref ref;
	/** @node: GPU */
	struct kfd_node *node;
	/**
	 * @bo: contiguous BO in VRAM. Pinned until svm_bo_filled(). Afterwards, an eviction first
	 * migrates the pages until @ref is 0 (svm_bo_vacate())
	 */
	struct vgpu_bo *bo;
	/** @offset: offset of @bo in VRAM, bytes */
	u64 offset;
	/** @npages: number of pages of @bo */
	unsigned long npages;
	/**
	 * @iv: interval of @owner's address space from which the pages were migrated, in page
	 * numbers. Since then, @owner may have unmapped the pages or moved them elsewhere
	 */
	struct svm_interval iv;
	/** @vram_epoch: value of vgpu_hw.vram_epoch before the pages got their content */
	int vram_epoch;
	/** @granularity: log2 of the number of pages that a CPU fault migrates back together */
	u8 granularity;
	/** @owner: process whose memory was migrated, with a reference */
	struct pid *owner;
	/** @dead: link in svm_node.dead_bos after the last reference was dropped */
	struct llist_node dead;
	/** @touches: list of the struct svm_touch of CPU faults in progress */
	struct list_head touches;
	/** @touch_lock: protects @touches and their waiters; innermost lock */
	spinlock_t touch_lock;
};

/**
 * struct svm_touch - a CPU fault that migrates a page out of VRAM; see svm_migrate.c
 * @link: link in svm_bo.touches
 * @page: the page, to which the fault has a reference
 * @waiters: list of the struct svm_touch_waiter of later faults of @page
 */
struct svm_touch {
	struct list_head link;
	struct page *page;
	struct list_head waiters;
};

/**
 * struct svm_touch_waiter - a CPU fault of a page that an earlier fault migrates
 *
 * The fault waits without a reference to the page, because a reference would keep the page from
 * moving.
 */
struct svm_touch_waiter {
	/** @link: link in svm_touch.waiters while the fault has no page reference, then empty */
	struct list_head link;
	/** @done: completed by svm_touch_end() after it took a page reference for the fault */
	struct completion done;
};

/* svm_bo.c */
void svm_bo_node_init(struct svm_node *sn);
/*
 * Allocate a pinned BO for @npages migrating pages of @iv, with one reference; may evict other BOs.
 * The caller holds svms->lock. Returns the BO or ERR_PTR(-ENOMEM).
 */
struct svm_bo *svm_bo_alloc(struct kfd_node *node, struct svm_range_list *svms,
			    struct svm_interval iv, unsigned long npages,
			    u8 granularity);
/*
 * Unpin the BO, and drop the migration's reference. The migration of a chunk calls this function at
 * its end, also if it has failed. The pages of the BO are unlocked; those of the next chunk may be
 * locked (svm_pipe.c).
 */
void svm_bo_filled(struct svm_bo *sb);
/*
 * vgpu_bo_owner_ops.evict_ok: return true if svm_bo_vacate() is likely to migrate a page, false
 * if all pages are locked or referenced, or a reset lost their content. Does not sleep.
 */
bool svm_bo_evict_ok(struct vgpu_bo *bo);
/*
 * vgpu_bo_owner_ops.vacate: migrate all pages of the BO to system memory. Returns false if memory
 * is short, or a page is locked, referenced or lost.
 */
bool svm_bo_vacate(struct vgpu_bo *bo);
/* Drop a reference. Callable in any context. */
void svm_bo_put(struct svm_bo *sb);
/* Take @n references to @sb, for @n calls of svm_page_get(). The caller has a reference to @sb. */
void svm_page_reserve(struct svm_bo *sb, unsigned long n);
/*
 * Return the device-private page at @offset of VRAM, locked and referenced. The page uses one of
 * the references that svm_page_reserve() has taken. svm_page_free() drops this reference.
 */
struct page *svm_page_get(struct svm_bo *sb, u64 offset);
/* Return the GPU whose VRAM a device-private page stands for. */
static inline struct kfd_node *svm_page_node(struct page *page)
{
	return container_of(page->pgmap, struct svm_node, pgmap)->node;
}

/* svm_bo.c: return true if a reset lost the content of the BO's pages. */
bool svm_bo_content_lost(const struct svm_bo *sb);
/* Return true if a reset lost the content of a device-private page. */
bool svm_page_is_lost(const struct page *page);

/*
 * Bit of page.zone_device_data, protected by the page lock: the content and memory cgroup have
 * moved to a new page. Do not migrate this page again.
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
 * svm_hive.c. Get and put the value of dev_pagemap.owner for a GPU. All GPUs of a hive have the
 * same owner. svm_owner_get() returns NULL if an allocation of kernel memory fails.
 */
void *svm_owner_get(struct vgpu_device *vdev);
void svm_owner_put(struct vgpu_device *vdev, void *owner);
/*
 * Wait until each task that has called svm_peer_enter() has called svm_peer_leave(). Called during
 * the removal of a GPU, after the last page of the GPU's VRAM was freed.
 */
void svm_peer_wait(void);

/*
 * svm_migrate.c: start a CPU fault of @page. The caller has a reference to @page. Returns:
 *
 * - true: migrate @page, then call svm_touch_end() with @touch
 * - false: the reference was dropped; the caller has one again when @waiter->done completes
 */
bool svm_touch_begin(struct svm_bo *sb, struct svm_touch *touch, struct page *page,
		     struct svm_touch_waiter *waiter);
/*
 * End a fault for which svm_touch_begin() returned true. For each waiter, take a page reference in
 * place of the one that svm_touch_begin() dropped, then wake the waiter.
 */
void svm_touch_end(struct svm_bo *sb, struct svm_touch *touch);
/*
 * dev_pagemap_ops.migrate_to_ram: CPU fault of a page in VRAM. A forked child without KFD state may
 * fault, too. The caller holds mmap_lock (read) and a page reference.
 */
vm_fault_t svm_migrate_to_ram(struct vm_fault *vmf);

#endif /* SVM_MIGRATE_PRIV_H */
