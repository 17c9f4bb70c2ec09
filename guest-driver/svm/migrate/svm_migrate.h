/* SPDX-License-Identifier: GPL-2.0 */
/* Migrate pages to and from VRAM, and find out how a GPU can access a page in VRAM. */
#ifndef SVM_MIGRATE_H
#define SVM_MIGRATE_H

#include <linux/kconfig.h>
#include <linux/types.h>

#include "svm/svm_interval.h"

struct kfd_node;
struct page;
struct svm_range_list;

/* Location of a page from the view of a GPU. */
enum svm_place {
	SVM_IN_SYSTEM,
	SVM_IN_VRAM,		/* VRAM of the GPU */
	SVM_IN_PEER,		/* VRAM of another GPU, with an XGMI link that is up */
	SVM_OUT_OF_REACH,	/* VRAM of another GPU, without such a link */
};

/**
 * struct svm_view - state that svm_page_place() keeps from one page of a chunk to the next
 */
struct svm_view {
	/** @node: the GPU that is to access the pages */
	struct kfd_node *node;
	/**
	 * @home: GPU in whose VRAM svm_page_place() last found a page, or NULL. @place and @offset
	 * are valid for pages in the VRAM of @home
	 */
	struct kfd_node *home;
	/** @place: location of pages in @home's VRAM, from the view of @node */
	enum svm_place place;
	/**
	 * @offset: distance in bytes from @node's VRAM to @home's VRAM (vgpu_xgmi_offset()) if
	 * @place is SVM_IN_PEER, else 0
	 */
	u64 offset;
	/**
	 * @lost: a page may have lost its content in a reset, so the caller has to test each page
	 * with svm_page_in_use_lost()
	 */
	bool lost;
};

/* Functions in svm_pagemap.c and svm_migrate.c. */
#if IS_ENABLED(CONFIG_DEVICE_PRIVATE)
int svm_vram_init(struct kfd_node *node);
void svm_vram_fini(struct kfd_node *node);
/*
 * svm_migrate_to_vram() and svm_migrate_to_system(): the caller holds svm_lock(). @trigger is
 * KFD_MIGRATE_TRIGGER_*. Both add the number of moved pages to *@moved, also if they fail: pages
 * that have moved before the failure do not move back. Both return 0, -ENOMEM, -EIO (failed copy)
 * or an error of vgpu_mm_copy_pages().
 */

/*
 * Migrate pages of @iv to @node's VRAM, also pages that do not exist yet. @granularity is for
 * svm_bo.granularity. Returns -ENOMEM also if VRAM is full.
 */
int svm_migrate_to_vram(struct kfd_node *node, struct svm_range_list *svms,
			struct svm_interval iv, u8 granularity,
			unsigned int trigger, unsigned long *moved);
/*
 * Migrate pages of @iv to system memory, except from @except's VRAM (@except may be NULL). Returns
 * -EIO also if a reset lost a page's content.
 */
int svm_migrate_to_system(struct svm_range_list *svms, struct svm_interval iv,
			  const struct kfd_node *except, unsigned int trigger,
			  unsigned long *moved);
/*
 * svm_page_is_vram() returns true if @page is in @node's VRAM. If so, svm_page_vram_offset()
 * returns the page's offset in this VRAM, in bytes.
 */
bool svm_page_is_vram(struct kfd_node *node, struct page *page);
u64 svm_page_vram_offset(struct kfd_node *node, struct page *page);

/*
 * svm_hive.c: svm_peer_enter() delays the removal of GPUs until svm_peer_leave(). A task may sleep
 * between the two calls. After svm_peer_enter(), call mmu_interval_check_retry() before you use
 * pages from hmm_range_fault(). If the result is true, do not use the pages: their GPU may be
 * removed already.
 */
void svm_peer_enter(int *token) __acquires(svm_peers);
void svm_peer_leave(int token) __releases(svm_peers);
/*
 * Return the location of @page as seen by view->node; the caller has called svm_peer_enter(). For
 * SVM_IN_VRAM and SVM_IN_PEER, *@addr receives the value for vgpu_vm_span.addr.
 */
enum svm_place svm_page_place(struct svm_view *view, struct page *page,
			      u64 *addr);
/*
 * Return true if a reset lost @page's content in VRAM. The caller holds svm_range.lock, and under
 * this lock mmu_interval_read_retry() returned false. So @page is not freed before the unlock.
 */
bool svm_page_in_use_lost(struct page *page);
#else
static inline int svm_vram_init(struct kfd_node *node)
{
	return -EOPNOTSUPP;
}

static inline void svm_vram_fini(struct kfd_node *node)
{
}

static inline int svm_migrate_to_vram(struct kfd_node *node,
				      struct svm_range_list *svms,
				      struct svm_interval iv, u8 granularity,
				      unsigned int trigger, unsigned long *moved)
{
	return -EOPNOTSUPP;
}

static inline int svm_migrate_to_system(struct svm_range_list *svms,
					struct svm_interval iv,
					const struct kfd_node *except,
					unsigned int trigger, unsigned long *moved)
{
	return 0;
}

static inline void svm_peer_enter(int *token)
{
	*token = 0;
}

static inline void svm_peer_leave(int token)
{
}

static inline enum svm_place svm_page_place(struct svm_view *view,
					    struct page *page, u64 *addr)
{
	return SVM_IN_SYSTEM;
}

static inline bool svm_page_in_use_lost(struct page *page)
{
	return false;
}
#endif

#endif /* SVM_MIGRATE_H */
