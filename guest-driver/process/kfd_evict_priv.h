/* SPDX-License-Identifier: GPL-2.0 */
/* Data that eviction and restore keep for a process. No other folder includes this header. */
#ifndef KFD_EVICT_PRIV_H
#define KFD_EVICT_PRIV_H

#include <linux/list.h>
#include <linux/types.h>

#include "kfd_evict.h"
#include "kfd_restore_order.h"
#include "kfd_timeslice.h"

/**
 * struct amdkfd_process_info - BOs of a process, and data for their eviction and restore
 */
struct amdkfd_process_info {
	/** @process: the process, which owns this structure */
	struct kfd_process *process;
	/**
	 * @kfd_bo_list: list of every struct kgd_mem, linked by validate_list; protected by
	 * kfd_process.mutex
	 */
	struct list_head kfd_bo_list;
	/**
	 * @resident: true if the process has queues, so that its mapped BOs carry kfd_process.ef.
	 * Written under kfd_process.mutex; eviction decisions read it without this mutex
	 */
	bool resident;
	/**
	 * @evicted: true if an eviction has taken the queues off the hardware, and restore_work has
	 * not succeeded since. Written under kfd_process.queue_lock, read with or without this lock
	 */
	bool evicted;
	/** @fence_context: dma_fence context of all eviction fences; does not change */
	u64 fence_context;
	/** @fence_seqno: number of the newest eviction fence; protected by kfd_process.mutex */
	u64 fence_seqno;
	/**
	 * @restorer: thread that runs kfd_restore_try(), or NULL. Written under kfd_process.mutex,
	 * read without a lock
	 */
	struct task_struct *restorer;
	/**
	 * @migrating_task: task that moves pages of the process to VRAM, or NULL; written by
	 * kfd_process_set_migrating(), read without a lock
	 */
	struct task_struct *migrating_task;
	/**
	 * @restore_delay_ms: delay before the next run of restore_work. Written under
	 * kfd_process.mutex, read without a lock
	 */
	unsigned int restore_delay_ms;
	/**
	 * @restore_busy: number of consecutive runs of restore_work that found kfd_process.mutex
	 * locked; used by restore_work only
	 */
	unsigned int restore_busy;
	/** @turn: place of the process in the order of restores; used by restore_work only */
	struct kfd_restore_turn turn;
	/** @timeslice: the time for which evictions spare the BOs of the process */
	struct kfd_timeslice timeslice;
};

#endif /* KFD_EVICT_PRIV_H */
