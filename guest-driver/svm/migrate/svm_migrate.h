/* SPDX-License-Identifier: GPL-2.0 */
/* Pages in VRAM: how they come and go, and how GPUs see them. */
#ifndef SVM_MIGRATE_H
#define SVM_MIGRATE_H

#include <linux/kconfig.h>
#include <linux/types.h>

#include "svm/svm_interval.h"

struct kfd_node;
struct page;
struct svm_range_list;

/* Where a page is, as one GPU sees it. */
enum svm_place {
	SVM_IN_SYSTEM,
	SVM_IN_VRAM,		/* its own */
	SVM_IN_PEER,		/* VRAM of another one of its hive */
	SVM_OUT_OF_REACH,	/* likewise, but the link is down */
};

/**
 * struct svm_view - VRAM as a GPU sees it
 * @node: the GPU
 * @home: whose page was seen last, or NULL
 * @place: of the pages of @home
 * @offset: of these, what makes an offset in its VRAM one in that of @node
 * @lost: some page may have lost its content; svm_page_in_use_lost() knows
 */
struct svm_view {
	struct kfd_node *node;
	struct kfd_node *home;
	enum svm_place place;
	u64 offset;
	bool lost;
};

/* svm_pagemap.c, svm_migrate.c */
#if IS_ENABLED(CONFIG_DEVICE_PRIVATE)
int svm_vram_init(struct kfd_node *node);
void svm_vram_fini(struct kfd_node *node);
/*
 * Move pages of @iv that are in system memory or absent to @node's VRAM.
 * svm_lock() held. Returns the pages moved (pages that cannot move stay), or
 * -ENOMEM (VRAM or memory is full), -EIO (copy failed).
 */
long svm_migrate_to_vram(struct kfd_node *node, struct svm_range_list *svms,
			 struct svm_interval iv, u8 granularity,
			 unsigned int trigger);
/*
 * Move pages of @iv from VRAM to system memory, from every GPU but @except
 * (may be NULL). Locking, result as above.
 */
long svm_migrate_to_system(struct svm_range_list *svms, struct svm_interval iv,
			   const struct kfd_node *except,
			   unsigned int trigger);
/* Offset in VRAM if @page is @node's; svm_page_is_vram() tells. */
bool svm_page_is_vram(struct kfd_node *node, struct page *page);
u64 svm_page_vram_offset(struct kfd_node *node, struct page *page);

/*
 * svm_hive.c. What HMM told may be looked at between enter and leave, if the
 * range's sequence is what it was after enter. Sleeping is allowed.
 */
void svm_peer_enter(int *token) __acquires(svm_peers);
void svm_peer_leave(int token) __releases(svm_peers);
/*
 * Where @page is for view->node. *@addr: its offset in VRAM, as struct
 * vgpu_vm_span wants it, unless it is in system memory. Entered.
 */
enum svm_place svm_page_place(struct svm_view *view, struct page *page,
			      u64 *addr);
/*
 * This is a page of VRAM, and a reset lost what was in it. It is in a CPU page
 * table: the range's lock held, sequence compared.
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
