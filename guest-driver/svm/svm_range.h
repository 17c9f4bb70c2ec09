/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Defines the SVM state of a process: the tree of its ranges, their locks, and the state of each
 * GPU. Declares the functions that lock the tree, and that find, create and split ranges.
 */
#ifndef SVM_RANGE_H
#define SVM_RANGE_H

#include <linux/maple_tree.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "process/kfd_process.h"
#include "svm_fault.h"
#include "svm_fault_ahead.h"
#include "svm_fault_queue.h"
#include "svm_interval.h"

struct svm_criu_metadata_list;
struct svm_dma_chunk;
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
 */
struct svm_gpu {
	/**
	 * @birth_ts: GPU clock when the process was created, or when the GPU last resumed. Older
	 * faults are stale: they may belong to an earlier process with the same PASID
	 */
	u64 birth_ts;
	/**
	 * @unmap_ts: GPU clock of the last change that removed access to memory, such as munmap or
	 * mprotect. An older fault is never denied, since its access may have been allowed at the
	 * time of the fault
	 */
	u64 unmap_ts;
	/**
	 * @cleared: a notifier has reported MMU_NOTIFY_CLEAR, perhaps the truncation of a file,
	 * since the worker of @faults last reset this flag. Written without a lock
	 */
	bool cleared;
	/** @dma: DMA addresses of mapped system pages, in chunks of 512 pages (svm_dma.c) */
	struct xarray dma;
	/**
	 * @dma_spare: chunk that is not in @dma, or NULL. The next svm_dma_reserve() that needs a
	 * chunk takes it. Only the worker of @faults sets it, without a lock
	 */
	struct svm_dma_chunk *dma_spare;
	/**
	 * @pulls: ring buffer of the last SVM_PULLS pulls. A fault that migrates pages to VRAM of
	 * this GPU is a pull. Under svm_range_list.lock
	 */
	struct svm_pull pulls[SVM_PULLS];
	/**
	 * @next_pull: number of elements written to @pulls so far; the next one gets the index
	 * @next_pull % SVM_PULLS. Under svm_range_list.lock
	 */
	unsigned int next_pull;
	/** @full_faults: number of faults that found the VRAM full; under svm_range_list.lock */
	unsigned int full_faults;
	/** @failures: failed repairs for lack of memory; used by svm_fault_service() only */
	struct svm_fault_failures failures;
	/** @ahead: streams of read faults ([0]) and write faults ([1]); used by the worker only */
	struct svm_ahead ahead[2];
	/** @faults: queued faults of the process on the GPU */
	struct svm_fault_queue faults;
};

/**
 * struct svm_range_list - all ranges of a process
 *
 * Order of locks, outermost first: mmap_lock, @lock, vgpu_vm_state.alloc_lock, svm_range.lock,
 * @evict_lock, kfd_process.queue_lock.
 */
struct svm_range_list {
	/** @process: the process */
	struct kfd_process *process;
	/**
	 * @lock: protects @objects, @list, @claim, @map_buf and the ranges' attributes. Serialises
	 * fault handling, attribute changes and @restore_work. Holders may sleep and allocate.
	 * Never taken in a notifier or in migrate_to_ram
	 */
	struct mutex lock;
	/** @mm: address space, with an mm_count reference */
	struct mm_struct *mm;
	/** @objects: tree of struct svm_range, keyed by page numbers (svm_tree.c) */
	struct maple_tree objects;
	/** @list: the ranges in @objects, in order of address */
	struct list_head list;
	/**
	 * @claim: pages at which a BO is being mapped; no range is created there. There is only one
	 * such BO at a time, since kfd_process.mutex is held from svm_claim() to svm_unclaim()
	 */
	struct svm_interval claim;
	/** @claimed: @claim is valid */
	bool claimed;
	/**
	 * @wq: ordered workqueue of @deferred_list_work, @restore_work, @lost_work, and of faults
	 * whose interrupt has come on a busy CPU. Processes share no workqueue: the work items of
	 * one process may wait without limit for @lock, mmap_lock or a page-in, and would block the
	 * work items of other processes
	 */
	struct workqueue_struct *wq;
	/**
	 * @local_wq: workqueue of faults whose interrupt has come on an idle CPU
	 * (svm_fault_queue.local_work). @lock excludes these workers from each other and from the
	 * work items of @wq
	 */
	struct workqueue_struct *local_wq;
	/** @deferred_list_work: applies munmaps to the tree */
	struct work_struct deferred_list_work;
	/** @deferred_range_list: ranges with pending munmaps; under @deferred_list_lock */
	struct list_head deferred_range_list;
	/** @deferred_list_lock: protects @deferred_range_list and svm_range.unmapped */
	spinlock_t deferred_list_lock;
	/** @evict_lock: serialises eviction and restore of the queues; holders do not allocate */
	struct mutex evict_lock;
	/**
	 * @evicted_ranges: number of calls of svm_evict_queues() since @restore_work last put the
	 * queues back; 0 if the queues are not evicted. Written under @evict_lock
	 */
	atomic_t evicted_ranges;
	/** @drain_pagefaults: unless 0, faults are only acknowledged; see svm_drain_faults() */
	atomic_t drain_pagefaults;
	/** @restore_work: maps invalidated ranges again and puts the queues back on the hardware */
	struct delayed_work restore_work;
	/** @restore_delay_ms: delay of the next run of @restore_work; doubles after a failure */
	unsigned int restore_delay_ms;
	/** @lost_work: unmaps all ranges after a GPU has lost its VRAM */
	struct work_struct lost_work;
	/**
	 * @criu_svm_metadata_list: saved ranges, which the CRIU operation RESUME will create, or
	 * NULL; protected by kfd_process.mutex
	 */
	struct svm_criu_metadata_list *criu_svm_metadata_list;
	/** @bitmap_supported: GPUs (index in kfd_process.pdds) that support SVM */
	DECLARE_BITMAP(bitmap_supported, SVM_MAX_GPU);
	/** @policy: where faults migrate memory; fixed when the process is created */
	enum svm_policy policy;
	/** @default_granularity: initial value of svm_attrs.granularity, log2 of pages */
	u8 default_granularity;
	/** @gpus: state of each GPU, by index in kfd_process.pdds */
	struct svm_gpu *gpus;
	/** @n_gpus: kfd_process.n_pdds; does not change after svm_range_list_init() */
	unsigned int n_gpus;
	/** @map_buf: scratch memory of svm_map_pages() */
	struct svm_map_buf *map_buf;
};

/**
 * struct svm_attrs - attributes of a range, set by KFD_IOCTL_SVM_OP_SET_ATTR
 */
struct svm_attrs {
	/** @preferred_loc: kfd_process_device.gpu_id or KFD_IOCTL_SVM_LOCATION_* */
	u32 preferred_loc;
	/** @prefetch_loc: location of the last prefetch, encoded like @preferred_loc */
	u32 prefetch_loc;
	/** @flags: KFD_IOCTL_SVM_FLAG_* */
	u32 flags;
	/** @granularity: log2 of the number of pages that migrate together */
	u8 granularity;
	/** @bitmap_access: GPUs with plain ACCESS; a fault of such a GPU may migrate pages */
	DECLARE_BITMAP(bitmap_access, SVM_MAX_GPU);
	/** @bitmap_aip: GPUs with ACCESS_IN_PLACE */
	DECLARE_BITMAP(bitmap_aip, SVM_MAX_GPU);
};

/**
 * struct svm_range - pages with common attributes
 *
 * Unlike amdkfd's structure, this one has no member actual_loc: pages of a range migrate one by
 * one, and a CPU fault, which also migrates pages, cannot update this structure.
 */
struct svm_range {
	/**
	 * @notifier: MMU interval notifier of exactly this range. It is the first member, so that
	 * a search of the kernel's tree of notifiers reads one cache line of each range
	 */
	struct mmu_interval_notifier notifier;
	/** @attrs: protected by svms->lock, but notifiers read attrs.flags without a lock */
	struct svm_attrs attrs;
	/** @svms: the process's ranges */
	struct svm_range_list *svms;
	/** @iv: the pages; never changes */
	struct svm_interval iv;
	/** @list: link in svms->list */
	struct list_head list;
	/** @deferred_list: link in svms->deferred_range_list; under svms->deferred_list_lock */
	struct list_head deferred_list;
	/** @unmapped: munmaps not yet applied to the tree; under svms->deferred_list_lock */
	struct svm_unmap_log unmapped;
	/** @leader: index of the GPU that is ahead in faults (adaptive policy); under svms->lock */
	u8 leader;
	/**
	 * @lead: how far @leader is ahead, in faults. A fault of @leader adds to @lead, and one of
	 * another GPU subtracts from it. 0: no GPU is ahead. Under svms->lock
	 */
	u8 lead;
	/**
	 * @lock: serialises writes of GPU entries with @notifier. Taken in notifiers, so holders do
	 * not allocate. Order: see struct svm_range_list
	 */
	struct mutex lock;
	/** @mapped: GPUs that may have entries for the range; protected by @lock */
	DECLARE_BITMAP(mapped, SVM_MAX_GPU);
	/**
	 * @complete: GPUs that have an entry for each page of the range, with the flags that the
	 * attributes require; protected by @lock
	 */
	DECLARE_BITMAP(complete, SVM_MAX_GPU);
	/** @invalidations: number of times that GPU entries were cleared; protected by @lock */
	unsigned long invalidations;
	/**
	 * @invalid: entries were cleared although svm_range_stays_mapped() is true, so
	 * svms->restore_work must map the range again; protected by @lock
	 */
	bool invalid;
};

static inline struct kfd_process *svm_process(struct svm_range_list *svms)
{
	return svms->process;
}

static inline struct svm_interval svm_range_interval(const struct svm_range *r)
{
	return r->iv;
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

/*
 * Iterate @r over the ranges that overlap the pages from @first to @last, in order of address.
 * @mas points to a struct ma_state. The loop must not change the tree.
 */
#define svm_for_each_range(r, mas, svms, first, last)			\
	for (mas_init((mas), &(svms)->objects, (first)),		\
	     (r) = mas_find((mas), (last));				\
	     (r); (r) = mas_find((mas), (last)))

/*
 * svm_range.c: take mmap_lock, for reading or for writing, and svms->lock. Then apply all pending
 * munmaps. The caller holds a reference to the mm.
 */
void svm_lock(struct svm_range_list *svms);
void svm_lock_write(struct svm_range_list *svms);
/* Downgrade mmap_lock from writing to reading. */
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
 * Create the range of @iv; no other range overlaps @iv. The caller holds svm_lock_write(). Returns
 * ERR_PTR(-ENOMEM), or ERR_PTR(-EINTR) if a signal is pending.
 */
struct svm_range *svm_range_create(struct svm_range_list *svms,
				   struct svm_interval iv,
				   const struct svm_attrs *attrs);
/*
 * Split @r, which overlaps @iv, at each bound of @iv that is inside @r. If there is such a bound,
 * new ranges replace @r, and @r is freed. The caller holds svm_lock_write(). Returns 0, or an error
 * of svm_range_create(); then @r is unchanged.
 */
int svm_range_split(struct svm_range *r, struct svm_interval iv);
/*
 * Clear the GPU entries of a range, then remove the range from list and notifiers, and free it. The
 * notifier must exist as long as the range has GPU entries. The caller holds svms->lock, and has
 * removed the range from the tree.
 */
void svm_range_remove(struct svm_range *r);
/*
 * Return true if a BO is mapped, or about to be mapped, in @iv. A false result is valid while the
 * caller holds svms->lock. May sleep.
 */
bool svm_va_busy(struct svm_range_list *svms, struct svm_interval iv);

/*
 * svm_queue_evict.c. Return true if queues must be off the hardware while entries of @r are
 * missing: XNACK is off or @r has GPU_ALWAYS_MAPPED. Any context.
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
