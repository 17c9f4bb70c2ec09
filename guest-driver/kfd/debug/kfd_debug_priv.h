/* SPDX-License-Identifier: GPL-2.0 */
/* Structures of sessions, and functions shared by the files of debug/. */
#ifndef KFD_DEBUG_PRIV_H
#define KFD_DEBUG_PRIV_H

#include <linux/kfd_ioctl.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct file;
struct kfd_process;

/**
 * struct kfd_dbg_session - a debugger's session on a process
 * @ref: references: kfd_dbg.session holds one, and @notify holds one while it is queued
 * @target: debugged process; the pointer is valid until kfd_dbg_end() ends the session
 * @debugger: process of the debugger; the pointer is valid until kfd_dbg_end() ends the session
 * @link: link in kfd_dbg.debugging of @debugger, until kfd_dbg_end() ends the session
 * @file: pipe, FIFO or socket that the debugger reads; a byte in it reports new exceptions
 * @notify: writes a byte to @file
 * @mask: exceptions that the debugger has subscribed to, KFD_EC_MASK()
 */
struct kfd_dbg_session {
	struct kref ref;
	struct kfd_process *target;
	struct kfd_process *debugger;
	struct list_head link;
	struct file *file;
	struct work_struct notify;
	u64 mask;
};

enum kfd_runtime_call {
	KFD_RUNTIME_NO_CALL,
	KFD_RUNTIME_ON,
	KFD_RUNTIME_OFF,
};

/**
 * struct kfd_dbg - sessions of a process, as target and as debugger
 * @session: session whose target is the process, or NULL. Changed together with
 *           kfd_process.debug_trap_enabled, with both kfd_process.queue_lock and kfd_dbg_lock held
 * @debugging: list of the sessions in which the process is the debugger
 * @closed: the process is detached from KFD; no session begins any more
 * @exceptions: KFD_EC_MASK_PROCESS exceptions that were raised and not cleared
 * @runtime: arguments of the last RUNTIME_ENABLE
 * @asked: a call of RUNTIME_ENABLE has asked for a reply of the debugger, which has not come yet
 * @interrupted: kind of the call of RUNTIME_ENABLE (enable or disable) that a signal interrupted
 *               before the reply. KFD_RUNTIME_NO_CALL if the last call was not interrupted
 * @wait: woken by the debugger's reply, by the end of the session, and when queues are resumed
 *
 * kfd_dbg_lock protects all members.
 */
struct kfd_dbg {
	struct kfd_dbg_session *session;
	struct list_head debugging;
	bool closed;
	u64 exceptions;
	struct kfd_runtime_info runtime;
	bool asked;
	enum kfd_runtime_call interrupted;
	wait_queue_head_t wait;
};

/**
 * struct kfd_dbg_device - exceptions of a process on a GPU
 * @exceptions: KFD_EC_MASK_DEVICE exceptions that were raised and not cleared
 * @fault_known: @fault is valid
 * @fault_held: a fault was reported to the debugger, and the process has not got the fault yet
 * @fault: description of a memory fault, for the debugger and for MEMORY events: the first fault
 *         since the session began, or since QUERY_EXCEPTION_INFO last cleared
 *         EC_DEVICE_MEMORY_VIOLATION
 *
 * kfd_dbg_lock protects all members.
 */
struct kfd_dbg_device {
	u64 exceptions;
	bool fault_known;
	bool fault_held;
	struct kfd_hsa_memory_exception_data fault;
};

/* kfd_debug.c */

/*
 * Protects all sessions and kfd_queue.exceptions. Taken inside kfd_process.queue_lock. The holder
 * takes no locks other than the lock of kfd_events.all and locks of wait queues. Interrupt handlers
 * do not take kfd_dbg_lock.
 */
extern spinlock_t kfd_dbg_lock;

/*
 * Begin a session of @debugger on @target. @mask has the exceptions that the debugger
 * subscribes to. Sets *@info to the target's runtime information. Returns 0 and takes over the
 * caller's reference to @file; -EALREADY if @target has a session; -ESRCH if @target is
 * detached; -ENODEV if @debugger is detached; -ENOMEM. Takes queue_lock of @target.
 */
int kfd_dbg_begin(struct kfd_process *debugger, struct kfd_process *target,
		  struct file *file, u64 mask, struct kfd_runtime_info *info);
/*
 * End the session of @target. If @debugger is not NULL, end the session only if @debugger owns it.
 * The function resumes suspended queues, clears exceptions, and wakes calls of RUNTIME_ENABLE and
 * DESTROY_QUEUE that wait for the debugger. If a memory fault was reported to the debugger and not
 * yet to the process, the function reports the fault to the process. Takes queue_lock of @target.
 */
void kfd_dbg_end(struct kfd_process *target, struct kfd_process *debugger);
/* Queue the work item that writes a byte to the debugger's file. The caller holds kfd_dbg_lock. */
void kfd_dbg_notify(struct kfd_dbg_session *s);

/* kfd_debug_queue.c */

/*
 * Resume all suspended queues. The caller holds queue_lock and not kfd_dbg_lock, and wakes
 * kfd_dbg.wait afterwards.
 */
void kfd_dbg_resume_all(struct kfd_process *p);
/*
 * Implement SUSPEND_QUEUES and RESUME_QUEUES. @ids is the address in user space of an array of @n
 * queue ids. @clear is the mask of exceptions to clear in these queues. The caller holds no locks.
 * Returns the number of queues that were suspended or resumed; -EINVAL if @n is too large or there
 * is no session; -EFAULT, -ENOMEM.
 */
int kfd_dbg_suspend(struct kfd_process *target, u64 ids, u32 n, u64 clear);
int kfd_dbg_resume(struct kfd_process *target, u64 ids, u32 n);
/* Implement GET_QUEUE_SNAPSHOT. The caller holds no locks. Returns 0, -EINVAL, -EFAULT, -ENOMEM. */
int kfd_dbg_queue_snapshot(struct kfd_process *target,
			   struct kfd_ioctl_dbg_trap_queue_snapshot_args *args);

/* kfd_debug_query.c; the functions are documented there. The caller holds no locks. */
int kfd_dbg_query_event(struct kfd_process *target,
			struct kfd_ioctl_dbg_trap_query_debug_event_args *args);
int kfd_dbg_query_info(struct kfd_process *target,
		       struct kfd_ioctl_dbg_trap_query_exception_info_args *args);
int kfd_dbg_set_mask(struct kfd_process *target, u64 mask);
int kfd_dbg_device_snapshot(struct kfd_process *target,
			    struct kfd_ioctl_dbg_trap_device_snapshot_args *args);

/* kfd_debug_runtime.c */

/*
 * Read or, if @write, write the memory of process @p at address @va. Any thread may call the
 * function. If @fault is false, the function fails instead of handling a page fault. Work items
 * that handle several processes pass false, because a page fault of one process may wait for a file
 * system in user space, and would delay the other processes. Returns 0, or -EFAULT if not all
 * @bytes were accessed. The caller holds no locks.
 */
int kfd_dbg_access(struct kfd_process *p, u64 va, void *buf, unsigned int bytes,
		   bool write, bool fault);
/* Implement SEND_RUNTIME_EVENT. Returns 0, or -ENODEV if there is no such GPU. */
int kfd_dbg_send(struct kfd_process *target,
		 const struct kfd_ioctl_dbg_trap_send_runtime_event_args *args);

#endif /* KFD_DEBUG_PRIV_H */
