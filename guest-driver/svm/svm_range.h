/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Defines the SVM state of a process: the interval tree of its ranges, their locks, and the state
 * of each GPU. Declares the functions that lock, search and change the tree.
 */
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

/* Policies, which decide where faults migrate memory (svm_policy.c). */
enum svm_policy {
	SVM_POLICY_AMDGPU,
	SVM_POLICY_IN_PLACE,
	SVM_POLICY_ADAPTIVE,
};

/**
 * struct svm_pull - pages that a fault migrated to a GPU's VRAM
 * @iv: pages that were migrated
 * @until: ktime in ns until which the pull counts as recent; 0 for an unused entry
 * @contested: a fault of another GPU has migrated the pages away
 */
struct svm_pull {
	struct svm_interval iv;
	u64 until;
	bool contested;
};

#define SVM_PULLS	16

/**
 * struct svm_gpu - SVM's state of one process on one GPU
 * @birth_ts: GPU clock when the process was created; older faults belong to an earlier
 *            process with the same PASID
 * @unmap_ts: GPU clock of the last change that removed access to memory (munmap, mprotect,
 *            attributes). An older fault is never denied, because its access may have been
 *            allowed at the time of the fault. If an older fault cannot be repaired, it is only
 *            acknowledged, and the engine repeats the access
 * @dma: DMA addresses of mapped system pages, in chunks of 512 indexed by page >> 9; see
 *       svm_dma.c
 * @pulls: last migrations by faults into the GPU's VRAM. svm_range_list.lock protects @pulls,
 *         @next_pull and @full_faults
 * @next_pull: number of pulls recorded so far; the next pull is recorded at index
 *             @next_pull % SVM_PULLS of @pulls
 * @full_faults: number of faults that found the GPU's VRAM full
 * @faults: faults of the process's queues that have not been handled yet
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
 * @lock: protects @objects, @list, @claim, @map_buf and the ranges' attributes; serialises fault
 *        handling, attribute changes and @restore_work. Holders may sleep and allocate. Order:
 *        mmap_lock -> lock -> vgpu_vm_state.alloc_lock -> range.lock. Never taken in a notifier or
 *        in migrate_to_ram
 * @mm: address space, with an mm_count reference
 * @objects: interval tree of struct svm_range, keyed by page numbers
 * @list: the same ranges, in order of address
 * @claim: pages at which a BO is being mapped; no range is created at these pages. There is only
 *         one such BO at a time, since kfd_process.mutex is held from svm_claim() to svm_unclaim()
 * @claimed: @claim is valid
 * @wq: ordered workqueue that runs the work items of the process: faults, @deferred_list_work,
 *      @restore_work, @lost_work. The process can delay each of them without limit (@lock,
 *      mmap_lock, page-ins), so processes share no workqueue
 * @deferred_list_work: applies munmaps to the tree
 * @deferred_range_list: ranges with pending munmaps; protected by @deferred_list_lock
 * @deferred_list_lock: protects @deferred_range_list and svm_range.unmapped; a spinlock
 * @evict_lock: serialises eviction and restore of the queues; order: inside
 *              range.lock, outside kfd_process.queue_lock; holders do not allocate
 * @evicted_ranges: number of calls of svm_evict_queues() since @restore_work last put the queues
 *                  back; 0 if the queues are not evicted; written under @evict_lock
 * @cleared: a notifier has reported MMU_NOTIFY_CLEAR since svm_fault_judge() last reset this flag.
 *           The event may be the truncation of a file, which makes earlier faults stale. So
 *           svm_fault_judge() updates svm_gpu.unmap_ts before it denies a fault. Written without a
 *           lock
 * @drain_pagefaults: unless 0, faults are acknowledged and not repaired, since the process
 *                    ends or loses a GPU
 * @restore_work: maps invalidated ranges again and puts the queues back on the hardware
 * @restore_delay_ms: delay before the next run of @restore_work; doubles after each failure
 * @lost_work: unmaps all ranges after a GPU has lost its VRAM
 * @criu_svm_metadata_list: saved ranges, which the CRIU operation RESUME will create, or NULL;
 *                          protected by kfd_process.mutex
 * @bitmap_supported: GPUs (index in kfd_process.pdds) that support SVM
 * @policy: where faults migrate memory; fixed when the process is created
 * @default_granularity: granularity of memory for which SET_ATTR has set none, log2 of pages
 * @gpus: state of each GPU, by index in kfd_process.pdds
 * @n_gpus: length of @gpus
 * @map_buf: scratch memory of svm_map_pages()
 */
struct svm_range_list {
	struct kfd_process *process;
	struct mutex lock;		/* protects the tree and the ranges' attributes */
	struct mm_struct *mm;
	struct rb_root_cached objects;
	struct list_head list;
	struct svm_interval claim;
	bool claimed;
	struct workqueue_struct *wq;
	struct work_struct deferred_list_work;
	struct list_head deferred_range_list;
	spinlock_t deferred_list_lock;	/* protects deferred_range_list, svm_range.unmapped */
	struct mutex evict_lock;	/* serialises eviction and restore of the queues */
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
 * struct svm_attrs - attributes of a range, set by KFD_IOCTL_SVM_OP_SET_ATTR
 * @preferred_loc: gpu_id, 0 (system memory) or KFD_IOCTL_SVM_LOCATION_UNDEFINED
 * @prefetch_loc: location of the last prefetch, encoded like @preferred_loc
 * @flags: KFD_IOCTL_SVM_FLAG_*
 * @granularity: log2 of the number of pages that migrate together
 * @bitmap_access: GPUs that have plain ACCESS to the range; a fault of such a GPU may migrate pages
 *                 of the range
 * @bitmap_aip: GPUs that have ACCESS_IN_PLACE to the range
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
 * @it_node: node in svms->objects, with first and last page
 * @list: link in svms->list
 * @deferred_list: link in svms->deferred_range_list; protected by svms->deferred_list_lock
 * @unmapped: munmaps that are not applied to the tree yet; protected by svms->deferred_list_lock
 * @attrs: attributes; protected by svms->lock, but notifiers read attrs.flags without a lock
 * @leader: index of the GPU that is ahead in faults (adaptive policy); protected by svms->lock
 * @lead: lead of @leader: a fault of @leader increments it, a fault of another GPU decrements it
 *        (svm_policy_count()); 0 if there is no leader; protected by svms->lock
 * @notifier: MMU interval notifier of exactly this range
 * @lock: serialises writes of GPU entries with @notifier; taken in notifiers, so holders do
 *        not allocate. Order: see struct svm_range_list
 * @mapped: GPUs that may have entries for the range; protected by @lock
 * @complete: GPUs that have an entry for each page of the range, with the flags that the
 *            attributes require; protected by @lock
 * @invalidations: number of times that GPU entries of the range were cleared; protected by @lock
 * @invalid: entries were cleared although svm_range_stays_mapped() is true, so restore_work has to
 *           map the range again; protected by @lock
 *
 * Unlike amdkfd's structure, this one has no member actual_loc, for two reasons: a range has no
 * single location, since its pages migrate one by one; and a CPU fault, which also migrates pages,
 * cannot update the struct svm_range. svm_debugfs.c counts the pages at each location.
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
	struct mutex lock;	/* serialises writes of GPU entries with the notifier */
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

/* Return the VM of GPU index @gpu, or NULL before ACQUIRE_VM. */
static inline struct vgpu_vm *svm_gpu_vm(struct svm_range_list *svms,
					 unsigned int gpu)
{
	/* Pairs with smp_store_release() in kfd_process_device_init_vm(). */
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
 * svm_range.c: locks of the tree. svm_lock() takes mmap_lock for reading, svm_lock_write() takes
 * mmap_lock for writing. Then both functions take svms->lock and apply all pending munmaps to the
 * tree. svm_downgrade() downgrades mmap_lock to reading. The caller holds a reference to the mm.
 */
void svm_lock(struct svm_range_list *svms);
void svm_lock_write(struct svm_range_list *svms);
void svm_downgrade(struct svm_range_list *svms);
/* Undo svm_lock(), or svm_lock_write() after svm_downgrade(). */
void svm_unlock(struct svm_range_list *svms);
/*
 * svm_lock() for callers without a reference to the mm, such as work items. Returns false, with
 * no lock held, if the address space has ended. svm_unlock_alive() undoes svm_lock_alive().
 */
bool svm_lock_alive(struct svm_range_list *svms);
void svm_unlock_alive(struct svm_range_list *svms);
void svm_unlock_write(struct svm_range_list *svms);

/* Return the range that contains @page, or NULL. The caller holds svms->lock. */
struct svm_range *svm_range_find(struct svm_range_list *svms,
				 unsigned long page);
/*
 * Create the range of @iv. No other range may overlap @iv. Denied faults may have left no-retry
 * entries of @iv in the GPU page tables; the function clears these entries. The caller holds
 * svm_lock_write(). Returns the range; ERR_PTR(-ENOMEM); or ERR_PTR(-EINTR) if a signal is pending
 * and the mm has no MMU interval notifier yet.
 */
struct svm_range *svm_range_create(struct svm_range_list *svms,
				   struct svm_interval iv,
				   const struct svm_attrs *attrs);
/*
 * Split the range that contains both @page - 1 and @page, if there is one. The caller holds
 * svm_lock_write(). Returns 0 or -ENOMEM.
 */
int svm_range_split_at(struct svm_range_list *svms, unsigned long page);
/*
 * Return true if a BO is mapped in @iv on any GPU, or is being mapped there (svm_claim()). The
 * caller holds svms->lock; the function may sleep. If the function returns false, the caller may
 * create ranges in @iv until the caller drops svms->lock.
 */
bool svm_va_busy(struct svm_range_list *svms, struct svm_interval iv);

/*
 * svm_queue_evict.c. Return true if queues must be off the hardware while GPU page table entries of
 * @r are missing. This is so if XNACK is off, or if @r has the flag GPU_ALWAYS_MAPPED. Any context.
 */
bool svm_range_stays_mapped(const struct svm_range *r);
/*
 * Take the process's queues off the hardware of all GPUs until svm_restore_work() has mapped
 * all invalid ranges again. Callable in notifiers.
 */
void svm_evict_queues(struct svm_range_list *svms);
/*
 * Work function of svm_range_list.restore_work: maps invalid ranges again, then puts the queues
 * back on the hardware.
 */
void svm_restore_work(struct work_struct *work);

/* svm_suspend.c: work function of svm_range_list.lost_work, which unmaps all ranges. */
void svm_lost_work(struct work_struct *work);

#endif /* SVM_RANGE_H */
