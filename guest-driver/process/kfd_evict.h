/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declares the functions that take a process's queues off the hardware before its BOs are
 * evicted, and those that restore BOs and queues. Functions are documented in kfd_evict.c.
 */
#ifndef KFD_EVICT_H
#define KFD_EVICT_H

#include <linux/kfd_ioctl.h>
#include <linux/types.h>

struct amdkfd_process_info;
struct kfd_process;
struct kfd_process_device;
struct task_struct;
struct vgpu_bo;

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
int kfd_process_info_init(struct kfd_process *p);
void kfd_process_info_fini(struct kfd_process *p);
void kfd_process_info_free(struct kfd_process *p);
void kfd_evict_now(struct amdkfd_process_info *info,
		   enum KFD_QUEUE_EVICTION_TRIGGERS why);
int kfd_process_evict_queues(struct kfd_process_device *pdd);
int kfd_process_restore_queues(struct kfd_process_device *pdd);
void kfd_process_set_migrating(struct kfd_process *p, struct task_struct *task);

int kfd_evict_init(void);
void kfd_evict_exit(void);

#endif /* KFD_EVICT_H */
