/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Debug sessions. A session connects a debugger process to a target process; the two may be the
 * same process. The session ends with DISABLE, or when one of the two processes is detached from
 * KFD. Functions are documented where they are defined.
 */
#ifndef KFD_DEBUG_H
#define KFD_DEBUG_H

#include <linux/kfd_ioctl.h>
#include <linux/types.h>

struct kfd_node;
struct kfd_process;
struct kfd_process_device;
struct kfd_queue;

/* kfd_debug.c */
int kfd_dbg_module_init(void);
void kfd_dbg_module_exit(void);
int kfd_dbg_init(struct kfd_process *p);
void kfd_dbg_fini(struct kfd_process *p);
int kfd_dbg_device_init(struct kfd_process_device *pdd);
void kfd_dbg_device_fini(struct kfd_process_device *pdd);
void kfd_dbg_close(struct kfd_process *p);
bool kfd_dbg_raise_queue(struct kfd_queue *q, u64 mask);
bool kfd_dbg_raise_device(struct kfd_process_device *pdd, u64 mask);
bool kfd_dbg_raise_fault(struct kfd_process_device *pdd, u64 va,
			 bool not_present, bool write);
void kfd_dbg_device_gone(struct kfd_node *node);

/* kfd_debug_queue.c */
int kfd_dbg_wait_resumed(struct kfd_queue *q);

/* kfd_debug_runtime.c */
void kfd_dbg_signal_runtime(struct kfd_process *p, u32 queue_id, u64 mask,
			    bool fault);

/* kfd_debug_trap.c */
bool kfd_dbg_is_debugger(struct kfd_process *p, struct kfd_process *target);
int kfd_dbg_trap(struct kfd_process *p, struct kfd_process *target,
		 struct kfd_ioctl_dbg_trap_args *args);

/* kfd_runtime_enable.c */
bool kfd_runtime_enabled(struct kfd_process *p);
void kfd_runtime_get(struct kfd_process *p, struct kfd_runtime_info *info);
void kfd_runtime_set(struct kfd_process *p, const struct kfd_runtime_info *info);
int kfd_ioctl_runtime_enable(struct kfd_process *p, void *data);

#endif /* KFD_DEBUG_H */
