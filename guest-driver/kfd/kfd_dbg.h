/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Debugging: what the files of kfd/ see of it.
 *
 * A session is one process's (the debugger's) on another (the target), which may
 * be itself. It ends with DISABLE, or when one of the two loses KFD. Nothing of
 * it takes kfd_process.mutex, so that it can end in a notifier.
 */
#ifndef KFD_DBG_H
#define KFD_DBG_H

#include <linux/kfd_ioctl.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct file;
struct kfd_node;
struct kfd_process;
struct kfd_process_device;
struct kfd_queue;
struct mm_struct;
struct task_struct;

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

int kfd_dbg_module_init(void);
/* After the last process. */
void kfd_dbg_module_exit(void);
/*
 * Allocate kfd_process.dbg, and what it has for a GPU, kfd_process_device.dbg. 0 or
 * -ENOMEM. fini: kfd_dbg_close() has been called, or the process was never found.
 */
int kfd_dbg_init(struct kfd_process *p);
void kfd_dbg_fini(struct kfd_process *p);
int kfd_dbg_device_init(struct kfd_process_device *pdd);
void kfd_dbg_device_fini(struct kfd_process_device *pdd);
/* Somebody debugs the process. */
bool kfd_dbg_is_debugged(struct kfd_process *p);
/*
 * The process loses KFD: its session ends, and those in which it is the
 * debugger; nobody waits any more. Takes queue_lock of those processes. Safe in
 * an MMU notifier.
 */
void kfd_dbg_close(struct kfd_process *p);
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

/*
 * Exceptions, KFD_EC_MASK(): remembered if the process is debugged. They return
 * whether the debugger wants to hear of one. No lock needed but what keeps @q
 * (process mutex or queue_lock).
 */
bool kfd_dbg_raise_queue(struct kfd_queue *q, u64 mask);
bool kfd_dbg_raise_device(struct kfd_process_device *pdd, u64 mask);
bool kfd_dbg_raise_process(struct kfd_process *p, u64 mask);
/* A fault that nobody could repair. True: do not tell the process. */
bool kfd_dbg_raise_fault(struct kfd_process_device *pdd, u64 va,
			 bool not_present, bool write);
/*
 * The GPU is taken away: debuggers of the processes that know it are told, before
 * the first of these loses KFD. No locks held.
 */
void kfd_dbg_device_gone(struct kfd_node *node);

/* kfd_debug_queue.c */

/*
 * Let all queues go on that were suspended. queue_lock held, kfd_dbg_lock not;
 * the caller wakes kfd_dbg.wait.
 */
void kfd_dbg_resume_all(struct kfd_process *p);
/*
 * Before a queue is destroyed: wait until it is not suspended, and keep it from
 * being so again. Process mutex held; given up meanwhile. 0, -EBUSY somebody
 * else destroys it, -ERESTARTSYS.
 */
int kfd_dbg_wait_resumed(struct kfd_queue *q);
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

/* kfd_debug_tell.c */

/*
 * Access the memory of a process at one of its own addresses, whoever runs. Page
 * faults happen if the caller can @fault; who works for all must not, since a
 * file system of user space may be behind them. All of it (0), or -EFAULT. No
 * locks held.
 */
int kfd_dbg_access(struct kfd_process *p, u64 va, void *buf, unsigned int bytes,
		   bool write, bool fault);
/*
 * Tell the process's runtime: @mask is added to the word that the header of the
 * queue's context save area names, and its event is set. No locks held. What
 * cannot be written is lost, as in amdkfd; without @fault, what is not there.
 */
void kfd_dbg_tell_runtime(struct kfd_process *p, u32 queue_id, u64 mask,
			  bool fault);
/* SEND_RUNTIME_EVENT. 0, -ENODEV no such GPU, -EINVAL no session. */
int kfd_dbg_send(struct kfd_process *target,
		 const struct kfd_ioctl_dbg_trap_send_runtime_event_args *args);

/* kfd_debug_ioctl.c */
/* @target is debugged by @p already. */
bool kfd_dbg_is_debugger(struct kfd_process *p, struct kfd_process *target);
/*
 * An operation of DBG_TRAP, which @p asks for and may do. Number of queues for
 * SUSPEND_QUEUES and RESUME_QUEUES, else 0; -EINVAL @target is not debugged, or unknown
 * operation; -EPERM it has no runtime; or what the operation gives. No locks held; the
 * caller keeps @target's memory.
 */
int kfd_dbg_trap(struct kfd_process *p, struct kfd_process *target,
		 struct kfd_ioctl_dbg_trap_args *args);

/* kfd_runtime.c */
/* Is there a runtime that wants to hear of exceptions? Any context. */
bool kfd_runtime_enabled(struct kfd_process *p);
/* What RUNTIME_ENABLE said; of a process that is made anew, what it is to have said. */
void kfd_runtime_get(struct kfd_process *p, struct kfd_runtime_info *info);
void kfd_runtime_set(struct kfd_process *p, const struct kfd_runtime_info *info);
int kfd_ioctl_runtime_enable(struct kfd_process *p, void *data);

/* kfd_ioctl_debug.c */
/* Is the caller the tracer of @task? */
bool kfd_dbg_traces(struct task_struct *task);
int kfd_ioctl_dbg_trap(struct kfd_process *p, void *data);

#endif /* KFD_DBG_H */
