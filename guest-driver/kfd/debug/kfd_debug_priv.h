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
 */
struct kfd_dbg_session {
	/** @ref: references to the session: one in kfd_dbg.session, one while @notify is queued */
	struct kref ref;
	/** @target: debugged process; the pointer is valid until kfd_dbg_end() ends the session */
	struct kfd_process *target;
	/** @debugger: debugger process; pointer valid until kfd_dbg_end() ends the session */
	struct kfd_process *debugger;
	/** @link: link in kfd_dbg.debugging of @debugger, until kfd_dbg_end() ends the session */
	struct list_head link;
	/** @file: pipe, FIFO or socket that the debugger reads; a byte reports new exceptions */
	struct file *file;
	/** @notify: work item that writes a byte to @file */
	struct work_struct notify;
	/** @mask: exceptions that the debugger has subscribed to, KFD_EC_MASK() */
	u64 mask;
};

enum kfd_runtime_call {
	KFD_RUNTIME_NO_CALL,
	KFD_RUNTIME_ON,
	KFD_RUNTIME_OFF,
};

/**
 * struct kfd_dbg - sessions of a process, as target and as debugger
 *
 * kfd_dbg_lock protects all members except @wait. @closed, @asked and @runtime.runtime_state may be
 * read without kfd_dbg_lock.
 */
struct kfd_dbg {
	/**
	 * @session: session whose target is the process, or NULL. Changed together with
	 * kfd_process.debug_trap_enabled, with kfd_process.queue_lock and kfd_dbg_lock held
	 */
	struct kfd_dbg_session *session;
	/** @debugging: list of the sessions in which the process is the debugger */
	struct list_head debugging;
	/** @closed: the process is detached from KFD; no session of the process begins any more */
	bool closed;
	/** @exceptions: KFD_EC_MASK_PROCESS exceptions that were raised and not cleared */
	u64 exceptions;
	/** @runtime: state of the process's runtime, set by RUNTIME_ENABLE or by RESTORE of CRIU */
	struct kfd_runtime_info runtime;
	/** @asked: RUNTIME_ENABLE has asked for a debugger's reply, which has not come yet */
	bool asked;
	/**
	 * @interrupted: kind of the last RUNTIME_ENABLE call (enable or disable), if a signal
	 * interrupted this call before the debugger's reply; otherwise KFD_RUNTIME_NO_CALL
	 */
	enum kfd_runtime_call interrupted;
	/** @wait: woken by the debugger's reply, when queues are resumed, and when @session ends */
	wait_queue_head_t wait;
};

/**
 * struct kfd_dbg_device - exceptions of a process on a GPU
 *
 * kfd_dbg_lock protects all members.
 */
struct kfd_dbg_device {
	/** @exceptions: KFD_EC_MASK_DEVICE exceptions that were raised and not cleared */
	u64 exceptions;
	/** @fault_known: @fault is valid */
	bool fault_known;
	/** @fault_held: a memory fault was reported to the debugger, and not yet to the process */
	bool fault_held;
	/**
	 * @fault: description of the first memory fault since the session began, or since
	 * QUERY_EXCEPTION_INFO last cleared EC_DEVICE_MEMORY_VIOLATION
	 */
	struct kfd_hsa_memory_exception_data fault;
};

/* kfd_debug.c */

/*
 * Protects all sessions and kfd_queue.exceptions. Taken inside kfd_process.queue_lock, never in
 * interrupt handlers. The holder may take no driver lock except that of kfd_events.all.
 */
extern spinlock_t kfd_dbg_lock;

/* kfd_dbg_begin() and kfd_dbg_end() take kfd_process.queue_lock of @target. */

/*
 * Begin a session of @debugger on @target. After success, the session owns the reference to @file.
 * Returns 0, -ENOMEM or:
 *
 * - -EALREADY: @target has a session
 * - -ESRCH: @target is detached
 * - -ENODEV: @debugger is detached
 */
int kfd_dbg_begin(struct kfd_process *debugger, struct kfd_process *target,
		  struct file *file, u64 mask, struct kfd_runtime_info *info);
/*
 * End the session of @target or, if @debugger is not NULL, only a session that @debugger owns.
 * Takes no kfd_process.mutex, because MMU notifiers call kfd_dbg_end().
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
 * The next two functions implement SUSPEND_QUEUES and RESUME_QUEUES. The caller holds no locks.
 * Parameter @ids is the address of an array in user space. The array has @n queue ids.
 */

/*
 * Suspend queues, and clear their exceptions @clear. Returns the number of suspended queues;
 * -EINVAL: no session, or bad @ids or @n; -EFAULT, -ENOMEM.
 */
int kfd_dbg_suspend(struct kfd_process *target, u64 ids, u32 n, u64 clear);
/*
 * Resume the queues in the array or, if @ids is 0, all queues of @target. Returns the number of
 * resumed queues, or an error as kfd_dbg_suspend().
 */
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

/* kfd_debug_runtime.c; callers hold no locks. */

/*
 * Read or, if @write, write memory of @p. If @fault is false, fail at a page fault. Returns 0, or
 * -EFAULT if not all @bytes were accessed.
 */
int kfd_dbg_access(struct kfd_process *p, u64 va, void *buf, unsigned int bytes,
		   bool write, bool fault);
/* Implement SEND_RUNTIME_EVENT. Returns 0, or -ENODEV if there is no such GPU. */
int kfd_dbg_send(struct kfd_process *target,
		 const struct kfd_ioctl_dbg_trap_send_runtime_event_args *args);

#endif /* KFD_DEBUG_PRIV_H */
