/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Eviction and restore of a process's BOs; functions that take its queues off the hardware and
 * put them back. Functions are documented in kfd_evict.c.
 */
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
 * @kfd_bo_list: list of every struct kgd_mem, linked by validate_list; protected by
 *               kfd_process.mutex
 * @resident: the process has queues, so its mapped BOs carry kfd_process.ef. Written under
 *            kfd_process.mutex, read in eviction decisions
 * @evicted: an eviction has taken the queues off the hardware, and kfd_process.restore_work has
 *           not succeeded yet; protected by kfd_process.queue_lock
 * @fence_context: dma_fence context of all eviction fences
 * @fence_seqno: sequence number of the newest fence; protected by kfd_process.mutex
 * @restorer: the thread that runs kfd_process.restore_work, during an attempt to restore;
 *            otherwise NULL
 * @migrating_task: task that moves pages of the process to VRAM, set by
 *                  kfd_process_set_migrating(), or NULL; read without a lock
 * @restore_delay_ms: delay before the next run of kfd_process.restore_work
 * @restore_busy: consecutive runs of restore_work that found kfd_process.mutex locked
 * @evicted_at: jiffies when @evicted was set; protected by kfd_process.queue_lock
 * @timeslice: for how long evictions spare the BOs of the process
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

int kfd_process_make_resident(struct kfd_process *p);
void kfd_process_release_resident(struct kfd_process *p);
bool kfd_process_is_own(struct amdkfd_process_info *info);
bool kfd_process_keeps(struct amdkfd_process_info *info, u32 mem_type);
unsigned long kfd_process_kept(struct amdkfd_process_info *info);
int kfd_evict_fence_add(struct amdkfd_process_info *info, struct vgpu_bo *bo);
void kfd_evict_fence_remove(struct amdkfd_process_info *info,
			    struct vgpu_bo *bo);
bool kfd_evict_signalled(struct amdkfd_process_info *info);
void kfd_evict_resume(struct amdkfd_process_info *info);
void kfd_process_info_init(struct kfd_process *p);
void kfd_process_info_fini(struct kfd_process *p);
void kfd_evict_now(struct amdkfd_process_info *info,
		   enum KFD_QUEUE_EVICTION_TRIGGERS why);
int kfd_process_evict_queues(struct kfd_process_device *pdd);
int kfd_process_restore_queues(struct kfd_process_device *pdd);
void kfd_process_set_migrating(struct kfd_process *p, struct task_struct *task);

int kfd_evict_init(void);
void kfd_evict_exit(void);

#endif /* KFD_EVICT_H */
