/* SPDX-License-Identifier: GPL-2.0 */
/* Ranges of a process: their list, their locks, what is kept of each GPU. */
#ifndef SVM_RANGE_H
#define SVM_RANGE_H

#include <linux/interval_tree.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "process/kfd_process.h"
#include "svm_fault_queue.h"
#include "svm_interval.h"

struct svm_criu_metadata_list;
struct svm_map_buf;

#define SVM_MAX_GPU	64
#define SVM_DEFAULT_GRANULARITY	9	/* 2^9 pages: 2 MiB */

/* Where faults bring memory: svm_policy.c. */
enum svm_policy {
	SVM_POLICY_AMDGPU,
	SVM_POLICY_IN_PLACE,
	SVM_POLICY_ADAPTIVE,
};

/**
 * struct svm_pull - pages that a fault brought to a GPU's VRAM
 * @iv: pages
 * @until: when that is long ago; 0: never was
 * @contested: another GPU's fault has taken them away
 */
struct svm_pull {
	struct svm_interval iv;
	u64 until;
	bool contested;
};

#define SVM_PULLS	16

/**
 * struct svm_gpu - what SVM keeps of one process on one GPU
 * @birth_ts: GPU clock when the process came; older faults belong to an
 *            earlier owner of the PASID
 * @unmap_ts: GPU clock of the last change that took memory away (munmap,
 *            mprotect, lost access); an older fault must not be held against
 *            the process
 * @dma: DMA addresses of mapped system pages, chunks of 512 by page >> 9;
 *       see svm_dma.c
 * @pulls: the last pulls into its VRAM; svm_range_list.lock, as the next two
 * @next_pull: which of them is next, modulo SVM_PULLS
 * @full_faults: faults that found its VRAM full
 * @faults: of its queues that wait to be served
 */
struct svm_gpu {
	u64 birth_ts;
	u64 unmap_ts;
	struct xarray dma;
	struct svm_pull pulls[SVM_PULLS];
	unsigned int next_pull;
	unsigned int full_faults;
	struct svm_fault_queue faults;
};

/**
 * struct svm_range_list - all ranges of a process
 * @process: the process
 * @lock: protects @objects, @list, @claim, @map_buf and the ranges' attributes; one
 *        fault service, attribute change or restore at a time. Sleeps and
 *        allocates. Order: mmap_lock -> lock -> vm.alloc_lock -> range.lock.
 *        Never taken in a notifier or in migrate_to_ram.
 * @mm: address space; holds an mm_count reference
 * @objects: interval tree of struct svm_range, keyed by page numbers
 * @list: the same ranges, by address
 * @claim: pages of a BO that is being mapped: no range is created there. There is
 *         one at a time: kfd_process.mutex is held from svm_claim() to
 *         svm_unclaim()
 * @claimed: there is such a BO
 * @wq: ordered; runs the work items of the process: faults, @deferred_list_work,
 *      @restore_work, @lost_work. Each may wait as long as the process likes, for @lock,
 *      mmap_lock or page-ins, and so shares no queue with work of others. One worker at
 *      most
 * @deferred_list_work: applies munmaps to the tree
 * @deferred_range_list: ranges that munmap touched; @deferred_list_lock
 * @evict_lock: serialises eviction and restore of the queues; order: inside
 *              range.lock, outside kfd_process.queue_lock; nothing under it
 *              allocates
 * @evicted_ranges: invalidations since the queues were evicted, 0 while they
 *                  run; written under @evict_lock
 * @cleared: pages were cleared that may not come back (truncation) since a fault
 *           was last denied; written without a lock
 * @drain_pagefaults: not 0 when faults are acknowledged unrepaired: the process ends,
 *                    or loses a GPU
 * @restore_work: maps invalidated ranges again and restores the queues
 * @restore_delay_ms: back-off of @restore_work
 * @lost_work: unmaps everything after some GPU has lost its VRAM
 * @criu_svm_metadata_list: ranges of a checkpoint that the process gets when it is
 *                          resumed, or NULL; kfd_process.mutex
 * @bitmap_supported: GPUs (index in kfd_process.pdds) that do SVM
 * @policy: where faults bring memory; as it was when the process came
 * @default_granularity: of ranges that nobody registered, log2 of pages
 * @gpus: one for each kfd_process.pdds[]
 * @n_gpus: length of @gpus
 * @map_buf: scratch of the mapper
 */
struct svm_range_list {
	struct kfd_process *process;
	struct mutex lock;		/* the tree and its attributes */
	struct mm_struct *mm;
	struct rb_root_cached objects;
	struct list_head list;
	struct svm_interval claim;
	bool claimed;
	struct workqueue_struct *wq;
	struct work_struct deferred_list_work;
	struct list_head deferred_range_list;
	spinlock_t deferred_list_lock;	/* list and logs of munmaps */
	struct mutex evict_lock;	/* queues on or off */
	atomic_t evicted_ranges;
	bool cleared;
	atomic_t drain_pagefaults;
	struct delayed_work restore_work;
	unsigned int restore_delay_ms;
	struct work_struct lost_work;
	struct svm_criu_metadata_list *criu_svm_metadata_list;
	DECLARE_BITMAP(bitmap_supported, SVM_MAX_GPU);
	enum svm_policy policy;
	u8 default_granularity;
	struct svm_gpu *gpus;
	unsigned int n_gpus;
	struct svm_map_buf *map_buf;
};

/**
 * struct svm_attrs - what SET_ATTR sets
 * @preferred_loc: gpu_id, 0 (system memory) or KFD_IOCTL_SVM_LOCATION_UNDEFINED
 * @prefetch_loc: the same; the last prefetch
 * @flags: KFD_IOCTL_SVM_FLAG_*
 * @granularity: log2 of the pages that move together
 * @bitmap_access: GPUs that may access, wherever the memory is
 * @bitmap_aip: GPUs that access it in place
 */
struct svm_attrs {
	u32 preferred_loc;
	u32 prefetch_loc;
	u32 flags;
	u8 granularity;
	DECLARE_BITMAP(bitmap_access, SVM_MAX_GPU);
	DECLARE_BITMAP(bitmap_aip, SVM_MAX_GPU);
};

/**
 * struct svm_range - pages with common attributes
 * @svms: the process's ranges
 * @it_node: first and last page, in svms->objects
 * @list: in svms->list
 * @deferred_list: in svms->deferred_range_list; svms->deferred_list_lock
 * @unmapped: what munmap took since then; svms->deferred_list_lock
 * @attrs: svms->lock; notifiers read @flags without it
 * @leader: GPU index that has faulted most (adaptive policy); svms->lock
 * @lead: how much more often than all others, 0: there is no leader; svms->lock
 * @notifier: covers exactly this range
 * @lock: serialises writing of GPU entries with @notifier; taken in notifiers,
 *        so nothing under it allocates. Order: see struct svm_range_list
 * @mapped: GPUs that may have entries for the range; @lock
 * @complete: GPUs that have entries for all of it, as the attributes ask; @lock
 * @invalidations: how often entries were cleared; @lock
 * @invalid: entries that must stay (XNACK off) were cleared: restore_work maps
 *           them again; @lock
 */
struct svm_range {
	struct svm_range_list *svms;
	struct interval_tree_node it_node;
	struct list_head list;
	struct list_head deferred_list;
	struct svm_unmap_log unmapped;
	struct svm_attrs attrs;
	u8 leader;
	u8 lead;
	struct mmu_interval_notifier notifier;
	struct mutex lock;	/* GPU entries against the notifier */
	DECLARE_BITMAP(mapped, SVM_MAX_GPU);
	DECLARE_BITMAP(complete, SVM_MAX_GPU);
	unsigned long invalidations;
	bool invalid;
};

static inline struct kfd_process *svm_process(struct svm_range_list *svms)
{
	return svms->process;
}

static inline struct svm_interval svm_range_interval(const struct svm_range *r)
{
	return (struct svm_interval){ r->it_node.start, r->it_node.last };
}

/* The VM of GPU index @gpu, or NULL while the process has acquired none. */
static inline struct vgpu_vm *svm_gpu_vm(struct svm_range_list *svms,
					 unsigned int gpu)
{
	/* Pairs with the release when kfd sets it. */
	return smp_load_acquire(&svm_process(svms)->pdds[gpu]->vm);
}

static inline struct vgpu_device *svm_gpu_vdev(struct svm_range_list *svms,
					       unsigned int gpu)
{
	return svm_process(svms)->pdds[gpu]->node->vdev;
}

#define svm_for_each_range(r, node, svms, first, last)			\
	for ((node) = interval_tree_iter_first(&(svms)->objects,	\
					       (first), (last));	\
	     (node) && ((r) = container_of((node), struct svm_range,	\
					   it_node));			\
	     (node) = interval_tree_iter_next((node), (first), (last)))

/*
 * svm_range.c: the tree. Locking: svm_lock() takes mmap_lock for reading,
 * svm_lock_write() for writing, then svms->lock; both return with every munmap
 * applied to the tree. The caller holds a reference on the mm.
 */
void svm_lock(struct svm_range_list *svms);
void svm_lock_write(struct svm_range_list *svms);
void svm_downgrade(struct svm_range_list *svms);
void svm_unlock(struct svm_range_list *svms);	/* after svm_lock or downgrade */
/*
 * svm_lock() for who is not the process itself and has no reference on its mm:
 * false, and nothing is locked, if the address space is gone.
 */
bool svm_lock_alive(struct svm_range_list *svms);
void svm_unlock_alive(struct svm_range_list *svms);
void svm_unlock_write(struct svm_range_list *svms);

void svm_default_attrs(struct svm_range_list *svms, struct svm_attrs *attrs);
/* svms->lock held. */
struct svm_range *svm_range_find(struct svm_range_list *svms,
				 unsigned long page);
/*
 * Add a range where none is; svm_lock_write() held. Entries that a GPU may
 * have there (no-retry verdicts of the past) are cleared. ERR_PTR(-ENOMEM).
 */
struct svm_range *svm_range_create(struct svm_range_list *svms,
				   struct svm_interval iv,
				   const struct svm_attrs *attrs);
/* Let a range start at @page, if one lies across it. 0 or -ENOMEM. */
int svm_range_split_at(struct svm_range_list *svms, unsigned long page);
/*
 * A BO of a GPU VM overlaps @iv, or is about to be mapped there (svm_claim()).
 * svms->lock held. After false, ranges may be created in @iv until the caller gives
 * that lock back. May sleep.
 */
bool svm_va_busy(struct svm_range_list *svms, struct svm_interval iv);

/* svm_queue_evict.c: XNACK off, or GPU_ALWAYS_MAPPED. */
/* The GPU must never see a hole in @r: queues are evicted meanwhile. */
bool svm_range_stays_mapped(const struct svm_range *r);
/*
 * Take the process's queues off the GPUs, until restore_work has mapped
 * everything again. Callable in notifiers.
 */
void svm_evict_queues(struct svm_range_list *svms);
void svm_restore_work(struct work_struct *work);

/* svm_suspend.c: svm_range_list.lost_work. */
void svm_lost_work(struct work_struct *work);

#endif /* SVM_RANGE_H */
