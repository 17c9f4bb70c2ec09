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
	SVM_IN_PEER,		/* VRAM of another GPU of the hive, with the link up */
	SVM_OUT_OF_REACH,	/* VRAM of another GPU of the hive, with the link down */
};

/**
 * struct svm_view - state that svm_page_place() keeps from one page of a chunk to the next
 */
struct svm_view {
	/** @node: the GPU that is to access the pages */
	struct kfd_node *node;
	/**
	 * @home: GPU to whose VRAM @place and @offset apply; NULL before the first page in VRAM. If
	 * a page is in the VRAM of another GPU, svm_page_place() updates all three members
	 */
	struct kfd_node *home;
	/** @place: what the VRAM of @home is for @node: SVM_IN_VRAM, _IN_PEER or _OUT_OF_REACH */
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
 * Migrate to @node's VRAM those pages of @iv that are in system memory or do not exist yet. Pages
 * that cannot move stay. The caller holds svm_lock(). @granularity is for svm_bo.granularity,
 * @trigger is KFD_MIGRATE_TRIGGER_*.
 *
 * Returns the number of moved pages; -ENOMEM, also if VRAM is full; -EIO if a copy failed; or an
 * error of vgpu_mm_copy_pages().
 */
long svm_migrate_to_vram(struct kfd_node *node, struct svm_range_list *svms,
			 struct svm_interval iv, u8 granularity,
			 unsigned int trigger);
/*
 * Migrate pages of @iv from VRAM to system memory. Pages in the VRAM of @except, which may be NULL,
 * stay. Locks, @trigger and return value: as for svm_migrate_to_vram(), with -EIO also if a reset
 * lost the content of a page.
 */
long svm_migrate_to_system(struct svm_range_list *svms, struct svm_interval iv,
			   const struct kfd_node *except,
			   unsigned int trigger);
/*
 * svm_page_is_vram() returns true if @page is in @node's VRAM. If so, svm_page_vram_offset()
 * returns the page's offset in this VRAM, in bytes.
 */
bool svm_page_is_vram(struct kfd_node *node, struct page *page);
u64 svm_page_vram_offset(struct kfd_node *node, struct page *page);

/*
 * svm_hive.c. Rules for access to struct page of a page that HMM has returned, and to struct
 * kfd_node of the page's GPU:
 *
 * - Call svm_peer_enter() first. Sleeping is allowed until svm_peer_leave().
 * - Then, if the sequence number of the range's MMU notifier has changed, access neither structure.
 * - Call svm_peer_leave() after the last access.
 */
void svm_peer_enter(int *token) __acquires(svm_peers);
void svm_peer_leave(int token) __releases(svm_peers);
/*
 * Return the location of @page, as seen by the GPU view->node. If the location is SVM_IN_VRAM or
 * SVM_IN_PEER, sets *@addr to the value for vgpu_vm_span.addr. The caller has called
 * svm_peer_enter().
 */
enum svm_place svm_page_place(struct svm_view *view, struct page *page,
			      u64 *addr);
/*
 * Return true if @page is in VRAM and a reset lost its content. The page must be in use. To ensure
 * this, the caller holds the range's lock, and has tested the sequence number of the range's
 * notifier.
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

static inline long svm_migrate_to_vram(struct kfd_node *node,
				       struct svm_range_list *svms,
				       struct svm_interval iv, u8 granularity,
				       unsigned int trigger)
{
	return -EOPNOTSUPP;
}

static inline long svm_migrate_to_system(struct svm_range_list *svms,
					 struct svm_interval iv,
					 const struct kfd_node *except,
					 unsigned int trigger)
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
