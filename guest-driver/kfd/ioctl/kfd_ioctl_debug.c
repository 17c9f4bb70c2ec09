// SPDX-License-Identifier: GPL-2.0
/* Checks whether the caller of DBG_TRAP may debug the target. The errors are those of amdkfd. */
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>

#include "kfd/core/kfd_core.h"
#include "kfd/debug/kfd_debug.h"
#include "process/kfd_process.h"
#include "kfd_ioctl.h"

bool kfd_dbg_traces(struct task_struct *task)
{
	bool traces;

	rcu_read_lock();
	traces = ptrace_parent(task) == current;
	rcu_read_unlock();
	return traces;
}

/*
 * Return the KFD process of @mm, with a reference taken, or ERR_PTR(): -ESRCH (none), -EPERM (@p
 * may not debug it), an error of kfd_process_open().
 */
static struct kfd_process *kfd_dbg_target(struct kfd_process *p,
					  struct task_struct *thread,
					  struct mm_struct *mm, u32 op)
{
	struct kfd_process *target;
	int ret;

	/* ENABLE by the tracer of @thread creates the KFD process of @mm if there is none. */
	if (op == KFD_IOC_DBG_TRAP_ENABLE && thread != current &&
	    kfd_dbg_traces(thread)) {
		ret = kfd_process_open(thread, mm);
		if (ret)
			return ERR_PTR(ret);
	}
	target = kfd_lookup_process_by_mm(mm);
	if (!target)
		return ERR_PTR(-ESRCH);
	if (target == p || kfd_dbg_traces(target->lead_thread) ||
	    kfd_dbg_is_debugger(p, target))
		return target;
	kfd_unref_process(target);
	return ERR_PTR(-EPERM);
}

/*
 * Do the DBG_TRAP operation in @args on the KFD process of @mm. The caller holds a reference on
 * mm_users, so that @mm stays.
 */
static int kfd_dbg_trap_thread(struct kfd_process *p, struct task_struct *thread,
			       struct mm_struct *mm,
			       struct kfd_ioctl_dbg_trap_args *args)
{
	struct kfd_process *target = kfd_dbg_target(p, thread, mm, args->op);
	int ret;

	if (IS_ERR(target))
		return PTR_ERR(target);
	ret = kfd_dbg_trap(p, target, args);
	kfd_unref_process(target);
	return ret;
}

/**
 * kfd_ioctl_dbg_trap() - AMDKFD_IOC_DBG_TRAP
 * @p: process of the caller
 * @data: struct kfd_ioctl_dbg_trap_args
 *
 * Context: no locks are held.
 *
 * Return:
 * * result of kfd_dbg_trap()
 * * -ESRCH: no process has the pid, or the process has no KFD process
 * * -EPERM: @p is neither target nor debugger, and the calling thread is no tracer of the target
 * * for ENABLE: an error of kfd_process_open()
 */
int kfd_ioctl_dbg_trap(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_dbg_trap_args *args = data;
	struct task_struct *thread;
	struct mm_struct *mm;
	int ret;

	thread = kfd_get_thread(args->pid, &mm);
	if (!thread)
		return -ESRCH;
	ret = kfd_dbg_trap_thread(p, thread, mm, args);
	mmput(mm);
	put_task_struct(thread);
	return ret;
}
