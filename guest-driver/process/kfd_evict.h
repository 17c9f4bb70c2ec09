/* SPDX-License-Identifier: GPL-2.0 */
/* Eviction of a process from its memory, and its return: kfd_evict.c. */
#ifndef KFD_EVICT_H
#define KFD_EVICT_H

#include <linux/kfd_ioctl.h>
#include <linux/list.h>
#include <linux/types.h>

#include "kfd_timeslice.h"

struct kfd_process;
struct kfd_process_device;
struct task_struct;
struct vgpu_bo;

/**
 * struct amdkfd_process_info - the BOs of a process
 * @kfd_bo_list: every struct kgd_mem, by validate_list; kfd_process.mutex
 * @resident: the process has queues: its mapped BOs carry kfd_process.ef. Written
 *            under kfd_process.mutex, read in eviction decisions
 * @evicted: kfd_process.ef was waited for, and the queues are off the hardware until
 *           kfd_process.restore_work has been successful; queue_lock
 * @fence_context: dma_fence context of all eviction fences
 * @fence_seqno: of the newest; kfd_process.mutex
 * @restorer: the thread of kfd_process.restore_work while it is at it
 * @migrating_task: see kfd_process_set_migrating(), or NULL; read without a lock
 * @restore_delay_ms: how long kfd_process.restore_work waits before it runs
 * @restore_busy: how often in a row it did not get kfd_process.mutex
 * @evicted_at: since when it is @evicted, jiffies; queue_lock
 * @timeslice: how long the queues may stay
 */
struct amdkfd_process_info {
	struct list_head kfd_bo_list;
	bool resident;
	bool evicted;
	u64 fence_context;
	u64 fence_seqno;
	struct task_struct *restorer;
	struct task_struct *migrating_task;
	unsigned int restore_delay_ms;
	unsigned int restore_busy;
	unsigned long evicted_at;
	struct kfd_timeslice timeslice;
};

/*
 * For the first queue: bring all mapped BOs to a place; who wants their memory
 * from now on has the queues taken off first. 0 or -ENOMEM, -ERESTARTSYS; then
 * nothing has changed. Mutex held.
 */
int kfd_process_make_resident(struct kfd_process *p);
/* The last queue is gone: BOs may be evicted at any time. Mutex held. */
void kfd_process_release_resident(struct kfd_process *p);
/* Does the caller act for the process itself? Any context. */
bool kfd_process_is_own(struct amdkfd_process_info *info);
/*
 * Shall a BO of a process with queues stay in @mem_type (TTM_PL_*), so that the
 * caller finds another one or goes elsewhere? Atomic.
 */
bool kfd_process_keeps(struct amdkfd_process_info *info, u32 mem_type);
/*
 * For how many jiffies more kfd_process_keeps() keeps VRAM of the process from an
 * allocation. Atomic.
 */
unsigned long kfd_process_kept(struct amdkfd_process_info *info);
/*
 * Put the eviction fence on a BO that is mapped, or take it off one that is not
 * any more. Reservation and mutex held. 0 or -ENOMEM.
 */
int kfd_evict_fence_add(struct amdkfd_process_info *info, struct vgpu_bo *bo);
void kfd_evict_fence_remove(struct amdkfd_process_info *info,
			    struct vgpu_bo *bo);
/*
 * Has the newest eviction fence signalled, so that its BOs are wherever somebody
 * who wanted their memory puts them? The process has queues; mutex held.
 */
bool kfd_evict_signalled(struct amdkfd_process_info *info);
/* The system does not sleep any more: what was evicted may return. Mutex held. */
void kfd_evict_resume(struct amdkfd_process_info *info);
/* kfd_process.kgd_process_info and the work items of eviction. */
void kfd_process_info_init(struct kfd_process *p);
/* The process is not resident. Waits for what is under way; mutex not held. */
void kfd_process_info_fini(struct kfd_process *p);
/*
 * Queues off at once, to come back when everything is mapped. For notifiers:
 * takes queue_lock only, does not allocate.
 */
void kfd_evict_now(struct amdkfd_process_info *info,
		   enum KFD_QUEUE_EVICTION_TRIGGERS why);
/*
 * Take the process's queues off the hardware of @pdd / put them back; nested,
 * a counter. On return from the first no queue of the process reads or writes
 * memory on this GPU. Safe in MMU notifiers and in the fault worker. 0, or
 * -ETIME if the hardware did not obey (logged; the queue counts as stopped).
 */
int kfd_process_evict_queues(struct kfd_process_device *pdd);
int kfd_process_restore_queues(struct kfd_process_device *pdd);

/* Documented in kfd_evict.c. */
void kfd_process_set_migrating(struct kfd_process *p, struct task_struct *task);

/* Before the first process, after the last one. 0 or -ENOMEM. */
int kfd_evict_init(void);
void kfd_evict_exit(void);

#endif /* KFD_EVICT_H */
