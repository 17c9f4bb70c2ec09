/* SPDX-License-Identifier: GPL-2.0 */
/* Sessions, and what the files of debugging share. */
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
 * struct kfd_dbg_session - somebody debugs a process
 * @ref: kfd_dbg.session is one, @notify another while it is queued
 * @target: whom; alive while this is its kfd_dbg.session
 * @debugger: who; alive while @link is linked
 * @link: in his kfd_dbg.debugging, as long as this is @target's session
 * @file: what he is told by, a byte at a time: pipe, FIFO or socket
 * @notify: writes the byte
 * @mask: of which exceptions he is told
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
 * struct kfd_dbg - debugging of a process, and by it
 * @session: it is debugged. Changed under kfd_process.queue_lock, too
 * @debugging: sessions in which it is the debugger
 * @closed: it has lost KFD: no more sessions
 * @exceptions: KFD_EC_MASK_PROCESS: what has happened since they were cleared
 * @runtime: what RUNTIME_ENABLE said
 * @asked: the debugger has to answer a call of RUNTIME_ENABLE
 * @interrupted: a call that a signal ended before the answer
 * @wait: for the answer, and for queues to be resumed
 *
 * All under kfd_dbg_lock.
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
 * struct kfd_dbg_device - debugging of a process on a GPU
 * @exceptions: KFD_EC_MASK_DEVICE
 * @fault_known: @fault is the first since it was cleared
 * @fault_held: the process has not been told: the debugger decides
 * @fault: access that nobody could repair
 *
 * All under kfd_dbg_lock.
 */
struct kfd_dbg_device {
	u64 exceptions;
	bool fault_known;
	bool fault_held;
	struct kfd_hsa_memory_exception_data fault;
};

/* kfd_debug.c */

/*
 * Everything of all sessions, and kfd_queue.exceptions. Inside
 * kfd_process.queue_lock; inside it are the lock of events and wait queues only.
 * Not taken by interrupt handlers.
 */
extern spinlock_t kfd_dbg_lock;

/*
 * @debugger, who told @file's reference to, debugs @target. 0, and *@info is
 * what the runtime said; -EALREADY somebody does, -ESRCH, -ENODEV one of them
 * loses KFD, -ENOMEM. Takes over @file on success.
 */
int kfd_dbg_begin(struct kfd_process *debugger, struct kfd_process *target,
		  struct file *file, u64 mask, struct kfd_runtime_info *info);
/*
 * End @target's session, if it has one and (@debugger not NULL) it is his.
 * Queues go on, exceptions are forgotten, who waited for an answer goes on; a
 * fault that the process has not been told of is told. Takes queue_lock.
 */
void kfd_dbg_end(struct kfd_process *target, struct kfd_process *debugger);
/* Tell the debugger by a byte, some time soon. kfd_dbg_lock held. */
void kfd_dbg_notify(struct kfd_dbg_session *s);

/* kfd_debug_queue.c */

/*
 * Let all queues go on that were suspended. queue_lock held, kfd_dbg_lock not;
 * the caller wakes kfd_dbg.wait.
 */
void kfd_dbg_resume_all(struct kfd_process *p);
/*
 * SUSPEND_QUEUES and RESUME_QUEUES; @ids: of user space. No locks held. Number of
 * queues, or -EINVAL too many, no session, -EFAULT, -ENOMEM.
 */
int kfd_dbg_suspend(struct kfd_process *target, u64 ids, u32 n, u64 clear);
int kfd_dbg_resume(struct kfd_process *target, u64 ids, u32 n);
/* GET_QUEUE_SNAPSHOT. 0, -EINVAL, -EFAULT, -ENOMEM. No locks held. */
int kfd_dbg_queue_snapshot(struct kfd_process *target,
			   struct kfd_ioctl_dbg_trap_queue_snapshot_args *args);

/* kfd_debug_query.c. No locks held. */
int kfd_dbg_query_event(struct kfd_process *target,
			struct kfd_ioctl_dbg_trap_query_debug_event_args *args);
int kfd_dbg_query_info(struct kfd_process *target,
		       struct kfd_ioctl_dbg_trap_query_exception_info_args *args);
int kfd_dbg_set_mask(struct kfd_process *target, u64 mask);
int kfd_dbg_device_snapshot(struct kfd_process *target,
			    struct kfd_ioctl_dbg_trap_device_snapshot_args *args);

/* kfd_debug_runtime.c */

/*
 * Access the memory of a process at one of its own addresses, whoever runs. Page
 * faults happen if the caller can @fault; who works for all must not, since a
 * file system of user space may be behind them. All of it (0), or -EFAULT. No
 * locks held.
 */
int kfd_dbg_access(struct kfd_process *p, u64 va, void *buf, unsigned int bytes,
		   bool write, bool fault);
/* SEND_RUNTIME_EVENT. 0, -ENODEV no such GPU, -EINVAL no session. */
int kfd_dbg_send(struct kfd_process *target,
		 const struct kfd_ioctl_dbg_trap_send_runtime_event_args *args);

#endif /* KFD_DEBUG_PRIV_H */
