/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Debugging of processes.
 *
 * A session is one process's (the debugger's) on another (the target), which may
 * be itself. It ends with DISABLE, or when one of the two loses KFD. Nothing of
 * it takes kfd_process.mutex, so that it can end in a notifier.
 *
 * Functions without a comment here are documented where they are defined.
 */
#ifndef KFD_DEBUG_H
#define KFD_DEBUG_H

#include <linux/kfd_ioctl.h>
#include <linux/types.h>

struct kfd_node;
struct kfd_process;
struct kfd_process_device;
struct kfd_queue;

int kfd_dbg_module_init(void);
/* After the last process. */
void kfd_dbg_module_exit(void);
int kfd_dbg_init(struct kfd_process *p);
void kfd_dbg_fini(struct kfd_process *p);
int kfd_dbg_device_init(struct kfd_process_device *pdd);
void kfd_dbg_device_fini(struct kfd_process_device *pdd);
bool kfd_dbg_is_debugged(struct kfd_process *p);
/*
 * The process loses KFD: its session ends, and those in which it is the
 * debugger; nobody waits any more. Takes queue_lock of those processes. Safe in
 * an MMU notifier.
 */
void kfd_dbg_close(struct kfd_process *p);
/*
 * Exceptions, KFD_EC_MASK(): remembered if the process is debugged. They return
 * whether the debugger wants to hear of one. No lock needed but what keeps @q
 * (process mutex or queue_lock).
 */
bool kfd_dbg_raise_queue(struct kfd_queue *q, u64 mask);
bool kfd_dbg_raise_device(struct kfd_process_device *pdd, u64 mask);
/* A fault that nobody could repair. True: do not tell the process. */
bool kfd_dbg_raise_fault(struct kfd_process_device *pdd, u64 va,
			 bool not_present, bool write);
/*
 * The GPU is taken away: debuggers of the processes that know it are told, before
 * the first of these loses KFD. No locks held.
 */
void kfd_dbg_device_gone(struct kfd_node *node);

/*
 * Before a queue is destroyed: wait until it is not suspended, and keep it from
 * being so again. Process mutex held; given up meanwhile. 0, -EBUSY somebody
 * else destroys it, -ERESTARTSYS.
 */
int kfd_dbg_wait_resumed(struct kfd_queue *q);
void kfd_dbg_signal_runtime(struct kfd_process *p, u32 queue_id, u64 mask,
			    bool fault);
bool kfd_dbg_is_debugger(struct kfd_process *p, struct kfd_process *target);
int kfd_dbg_trap(struct kfd_process *p, struct kfd_process *target,
		 struct kfd_ioctl_dbg_trap_args *args);

/* RUNTIME_ENABLE. Whether the process has a runtime that takes exceptions. Any context. */
bool kfd_runtime_enabled(struct kfd_process *p);
void kfd_runtime_get(struct kfd_process *p, struct kfd_runtime_info *info);
void kfd_runtime_set(struct kfd_process *p, const struct kfd_runtime_info *info);
int kfd_ioctl_runtime_enable(struct kfd_process *p, void *data);

#endif /* KFD_DEBUG_H */
