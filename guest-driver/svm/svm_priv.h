/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of svm/ share. Nobody outside the room includes it. */
#ifndef SVM_PRIV_H
#define SVM_PRIV_H

#include <linux/dma-mapping.h>
#include <linux/interval_tree.h>
#include <linux/kfifo.h>
#include <linux/llist.h>
#include <linux/memremap.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "kfd_node.h"
#include "kfd_process.h"
#include "svm.h"
#include "svm_interval.h"
#include "vgpu_ih.h"

struct svm_map_buf;

#define SVM_CHUNK_ORDER		9
#define SVM_CHUNK_PAGES		BIT(SVM_CHUNK_ORDER)	/* one page table */
/* A fault maps at most this much, whatever the granularity says: 64 MiB. */
#define SVM_FAULT_MAX_ORDER	14

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
 */
struct svm_gpu {
	u64 birth_ts;
	u64 unmap_ts;
	struct xarray dma;
	struct svm_pull pulls[SVM_PULLS];
	unsigned int next_pull;
	unsigned int full_faults;
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
 * @deferred_list_work: applies munmaps to the tree
 * @deferred_range_list: ranges that munmap touched; @deferred_list_lock
 * @evict_lock: serialises eviction and restore of the queues; order: inside
 *              range.lock, outside kfd_process.queue_lock; nothing under it
 *              allocates
 * @evicted_ranges: invalidations since the queues were evicted, 0 while they
 *                  run; written under @evict_lock
 * @cleared: pages were cleared that may not come back (truncation) since a fault
 *           was last denied; written without a lock
 * @drain_pagefaults: not 0 while faults are acknowledged unrepaired (exit)
 * @restore_work: maps invalidated ranges again and restores the queues
 * @restore_delay_ms: back-off of @restore_work
 * @lost_work: unmaps everything after some GPU has lost its VRAM
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
	DECLARE_BITMAP(bitmap_supported, SVM_MAX_GPU);
	enum svm_policy policy;
	u8 default_granularity;
	struct svm_gpu *gpus;
	unsigned int n_gpus;
	struct svm_map_buf *map_buf;
};

/**
 * struct svm_node - SVM's state of one GPU
 * @node: the GPU
 * @pgmap: device-private pages that stand for VRAM; type 0 when the kernel
 *         has no CONFIG_DEVICE_PRIVATE: then no SVM capability is reported
 * @supported: the GPU does SVM
 * @vram_pages: device-private pages in use; who waits for 0 is woken
 * @vram_epoch: vgpu_hw.vram_epoch at the last svm_vram_epoch_changed()
 * @dead_bos: VRAM whose last page was freed
 * @reap_work: returns @dead_bos to the VRAM manager
 * @fifo: faults from the interrupt handler (one producer) to @fault_work (one
 *        consumer)
 * @fault_work: serves faults
 * @wq: ordered; runs @fault_work
 */
struct svm_node {
	struct kfd_node *node;
	struct dev_pagemap pgmap;
	bool supported;
	atomic_long_t vram_pages;
	int vram_epoch;
	struct llist_head dead_bos;
	struct work_struct reap_work;
	DECLARE_KFIFO_PTR(fifo, struct vgpu_iv_entry);
	struct work_struct fault_work;
	struct workqueue_struct *wq;
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

/* Whose pages HMM and migrate_vma take for this GPU's: svm_peer.c. */
static inline void *svm_pgmap_owner(const struct kfd_node *node)
{
	return node->svm->pgmap.owner;
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

/* svm_map.c: CPU memory into GPU page tables. svm_lock() held. */
enum svm_map_access {
	SVM_MAP_READ,		/* at least readable */
	SVM_MAP_WRITE,		/* writable */
	SVM_MAP_VMA,		/* as the VMA and the range's flags allow */
};

int svm_map_buf_init(struct svm_range_list *svms);
void svm_map_buf_fini(struct svm_range_list *svms);
/*
 * Map pages of @r for GPU index @gpu, faulting them in for the CPU first.
 * 0, or what stopped it, pages before that being mapped:
 * -EFAULT no memory there, -EPERM access not allowed, -ENOMEM,
 * -EAGAIN the memory map keeps changing.
 */
int svm_map_pages(struct svm_range *r, unsigned int gpu,
		  struct svm_interval iv, enum svm_map_access access);
/*
 * Map all of @r for the GPUs of @gpus; nothing to do for those that have it all.
 * @lenient: leave out what no CPU access could reach either, instead of failing.
 * Errors as svm_map_pages().
 */
int svm_map_range(struct svm_range *r, const unsigned long *gpus, bool lenient);
/* Clear the entries of all GPUs. r->lock held; notifiers call it. */
void svm_unmap_pages(struct svm_range *r, struct svm_interval iv);
/*
 * Clear no-retry entries that past faults left where no range was. There is
 * nothing else to clear: no range, no mapping.
 */
void svm_clear_verdicts(struct svm_range_list *svms, struct svm_interval iv);
/* The attributes changed: clear everything, evicting queues if need be. */
void svm_unmap_range(struct svm_range *r);
/*
 * The engine of GPU index @gpu was told that there is no such memory. If that was
 * a peer's VRAM, which is within reach no more, the range's entries go, so that
 * who comes next is served from system memory. Takes svm_lock().
 */
void svm_unmap_unreachable(struct svm_range_list *svms, unsigned int gpu,
			   unsigned long page);

/*
 * svm_dma.c: DMA addresses of mapped system pages. What is kept is a *slot*:
 * the address, with SVM_DMA_RO if the device may only read; 0: none.
 */
#define SVM_DMA_RO	1ul
#define SVM_DMA_ADDR(slot)	((slot) & ~(dma_addr_t)SVM_DMA_RO)

/* A slot, or DMA_MAPPING_ERROR. */
dma_addr_t svm_dma_map(struct device *dev, struct page *page, bool writable);
void svm_dma_unmap(struct device *dev, dma_addr_t slot);
void svm_dma_init(struct svm_gpu *gpu);
void svm_dma_fini(struct svm_gpu *gpu, struct device *dev);
/* Room for @iv, so that svm_dma_set() cannot fail. 0 or -ENOMEM. */
int svm_dma_reserve(struct svm_gpu *gpu, struct svm_interval iv);
/*
 * Remember the slots of @iv; what was there is unmapped. The
 * GPU does not use it any more. Room reserved; the range's lock held.
 */
void svm_dma_set(struct svm_gpu *gpu, struct device *dev,
		 struct svm_interval iv, const dma_addr_t *addrs);
/* Unmap what is there. The range's lock held. */
void svm_dma_clear(struct svm_gpu *gpu, struct device *dev,
		   struct svm_interval iv);
/* Free chunks of @iv that no range needs any more. svms->lock held. */
void svm_dma_trim(struct svm_range_list *svms, struct svm_interval iv);

/* svm_evict.c: XNACK off, or GPU_ALWAYS_MAPPED. */
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

/* svm_policy.c: where memory should be. svms->lock held. */
/* Of processes to come; no lock. */
enum svm_policy svm_policy_now(void);
/* As the module's parameter has it; no lock. */
const char *svm_policy_name(enum svm_policy policy);
/*
 * GPU index @gpu faulted at @page, and @win would move. 0 and *@loc: gpu_id to
 * migrate to, 0: system memory, KFD_IOCTL_SVM_LOCATION_UNDEFINED: where it is.
 * -EACCES: no access at all. Counts; may read registers.
 */
int svm_policy_fault(struct svm_range *r, unsigned int gpu, unsigned long page,
		     struct svm_interval win, u32 *loc);
/* A fault has brought pages of @iv to VRAM of GPU index @home. */
void svm_policy_pulled(struct svm_range_list *svms, unsigned int home,
		       struct svm_interval iv);
/* gpu_id, or 0, that a prefetch to r->attrs.prefetch_loc should use. */
u32 svm_policy_prefetch(const struct svm_range *r);
/* GPUs that SET_ATTR maps at once; @placed: gpu_id just prefetched to, or 0. */
void svm_policy_map_now(const struct svm_range *r, u32 placed,
			unsigned long *gpus);

/* svm_attr.c */
/* GPU index of @gpu_id, or -EINVAL if it is no GPU that does SVM. */
int svm_gpu_index(struct kfd_process *p, u32 gpu_id);
/* 0, or -EINVAL: some attribute is unknown or names no GPU that does SVM. */
int svm_attr_check(struct kfd_process *p, u32 nattrs,
		   const struct kfd_ioctl_svm_attribute *attrs);
/* The attributes, checked before, on top of @a. */
void svm_attr_apply(struct kfd_process *p, struct svm_attrs *a, u32 nattrs,
		    const struct kfd_ioctl_svm_attribute *attrs);
int svm_attr_set(struct kfd_process *p, struct svm_interval iv, u32 nattrs,
		 const struct kfd_ioctl_svm_attribute *attrs);
int svm_attr_get(struct kfd_process *p, struct svm_interval iv, u32 nattrs,
		 struct kfd_ioctl_svm_attribute *attrs);

/* svm_fault.c */
int svm_fault_init(struct kfd_node *node);
void svm_fault_fini(struct kfd_node *node);
/* Memory goes away: what faulted before is no error of the process. */
void svm_fault_checkpoint(struct svm_range_list *svms);
/* Every fault entry that the worker has by now is acknowledged on return. */
void svm_fault_flush(struct svm_range_list *svms);

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

/* svm_vram.c, svm_migrate.c */
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
 * svm_peer.c. What HMM told may be looked at between enter and leave, if the
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

#endif /* SVM_PRIV_H */
