/* SPDX-License-Identifier: GPL-2.0 */
/* Data that eviction and restore keep for a process. No other folder includes this header. */
#ifndef KFD_EVICT_PRIV_H
#define KFD_EVICT_PRIV_H

#include <linux/list.h>
#include <linux/types.h>

#include "kfd_evict.h"
#include "kfd_timeslice.h"

/**
 * struct amdkfd_process_info - the BOs of a process
 * @process: the process, which owns this structure
 * @kfd_bo_list: list of every struct kgd_mem, linked by validate_list; protected by
 *               kfd_process.mutex
 * @resident: true if the process has queues, so that its mapped BOs carry kfd_process.ef.
 *            Written under kfd_process.mutex; eviction decisions read it without this mutex
 * @evicted: true if an eviction has taken the queues off the hardware and
 *           kfd_process.restore_work has not succeeded since; protected by
 *           kfd_process.queue_lock
 * @fence_context: dma_fence context of all eviction fences; constant
 * @fence_seqno: sequence number of the newest fence; protected by kfd_process.mutex
 * @restorer: thread that runs kfd_process.restore_work during an attempt to restore, otherwise
 *            NULL. Written under kfd_process.mutex, read without a lock
 * @migrating_task: task that moves pages of the process to VRAM, set by
 *                  kfd_process_set_migrating(), or NULL; read without a lock
 * @restore_delay_ms: delay before the next run of kfd_process.restore_work. Written under
 *                    kfd_process.mutex, read without a lock
 * @restore_busy: number of consecutive runs of restore_work that found kfd_process.mutex locked;
 *                used by restore_work only
 * @evicted_at: time in jiffies when @evicted was set; protected by kfd_process.queue_lock
 * @timeslice: the time for which evictions spare the BOs of the process
 */
struct amdkfd_process_info {
	struct kfd_process *process;
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

#endif /* KFD_EVICT_PRIV_H */
