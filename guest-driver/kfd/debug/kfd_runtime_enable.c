// SPDX-License-Identifier: GPL-2.0
/*
 * RUNTIME_ENABLE: a process's runtime says that it is there, and where a debugger
 * finds what it has to tell. If there is a debugger, it waits for his answer.
 */
#include <linux/mm.h>

#include "process/kfd_process.h"
#include "kfd_debug.h"
#include "kfd_debug_priv.h"

#define KFD_RUNTIME_MODES	(KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK | \
				 KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK)

bool kfd_runtime_enabled(struct kfd_process *p)
{
	return READ_ONCE(p->dbg->runtime.runtime_state) ==
	       DEBUG_RUNTIME_STATE_ENABLED;
}

/**
 * kfd_runtime_get() - read what RUNTIME_ENABLE has set
 * @p: process
 * @info: set to it
 *
 * Context: takes kfd_dbg_lock.
 */
void kfd_runtime_get(struct kfd_process *p, struct kfd_runtime_info *info)
{
	spin_lock(&kfd_dbg_lock);
	*info = p->dbg->runtime;
	spin_unlock(&kfd_dbg_lock);
}

/**
 * kfd_runtime_set() - set what RUNTIME_ENABLE had set before a checkpoint
 * @p: process that is being restored
 * @info: from the checkpoint
 *
 * Context: takes kfd_dbg_lock.
 */
void kfd_runtime_set(struct kfd_process *p, const struct kfd_runtime_info *info)
{
	struct kfd_runtime_info *runtime = &p->dbg->runtime;

	spin_lock(&kfd_dbg_lock);
	WRITE_ONCE(runtime->runtime_state, info->runtime_state);
	runtime->r_debug = info->r_debug;
	runtime->ttmp_setup = info->ttmp_setup;
	spin_unlock(&kfd_dbg_lock);
}

/* Ask the debugger. kfd_dbg_lock held. True: there is one, who shall answer. */
static bool kfd_runtime_ask(struct kfd_process *p)
{
	const u64 mask = KFD_EC_MASK(EC_PROCESS_RUNTIME);
	struct kfd_dbg_session *s = p->dbg->session;

	p->dbg->interrupted = KFD_RUNTIME_NO_CALL;
	if (!s)
		return false;
	p->dbg->exceptions |= mask;
	if (s->mask & mask)
		kfd_dbg_notify(s);
	WRITE_ONCE(p->dbg->asked, true);
	return true;
}

/*
 * As those below: mutex and kfd_dbg_lock held; 0 done, 1 a debugger has to
 * answer, or negative.
 */
static int kfd_runtime_on(struct kfd_process *p,
			  const struct kfd_ioctl_runtime_enable_args *args)
{
	struct kfd_runtime_info *info = &p->dbg->runtime;

	/* After a signal: the same call again, only the answer is missing. */
	if (p->dbg->interrupted == KFD_RUNTIME_ON &&
	    info->runtime_state == DEBUG_RUNTIME_STATE_ENABLED)
		return 1;
	if (info->runtime_state != DEBUG_RUNTIME_STATE_DISABLED)
		return -EBUSY;
	if (p->pqm.n_queues)
		return -EEXIST;
	WRITE_ONCE(info->runtime_state, DEBUG_RUNTIME_STATE_ENABLED);
	info->r_debug = args->r_debug;
	info->ttmp_setup = !!(args->mode_mask &
			      KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK);
	return kfd_runtime_ask(p);
}

static int kfd_runtime_off(struct kfd_process *p)
{
	struct kfd_runtime_info *info = &p->dbg->runtime;

	if (p->dbg->interrupted == KFD_RUNTIME_OFF &&
	    info->runtime_state == DEBUG_RUNTIME_STATE_DISABLED)
		return 1;
	WRITE_ONCE(info->runtime_state, DEBUG_RUNTIME_STATE_DISABLED);
	info->r_debug = 0;
	info->ttmp_setup = 0;
	return kfd_runtime_ask(p);
}

/* No locks held. 0, -EINTR, or -ENODEV the GPU was taken away. */
static int kfd_runtime_wait(struct kfd_process *p, enum kfd_runtime_call call)
{
	bool closed;
	int ret;

	ret = wait_event_interruptible(p->dbg->wait, !READ_ONCE(p->dbg->asked));
	spin_lock(&kfd_dbg_lock);
	p->dbg->interrupted = ret ? call : KFD_RUNTIME_NO_CALL;
	closed = p->dbg->closed;
	spin_unlock(&kfd_dbg_lock);
	if (ret)
		return -EINTR;	/* not restarted, as in amdkfd */
	return closed ? -ENODEV : 0;
}

/**
 * kfd_ioctl_runtime_enable() - AMDKFD_IOC_RUNTIME_ENABLE
 * @p: process
 * @data: struct kfd_ioctl_runtime_enable_args. There are no capabilities to
 *        tell: capabilities_mask becomes 0
 *
 * What the runtime says is kept for debuggers; of ttmp_setup nothing else comes,
 * since there are no waves. When it is disabled, queues that a debugger has
 * suspended go on.
 *
 * Return: 0; -EINVAL unknown mode (amdkfd ignores those), -EBUSY enabled already,
 * -EEXIST there are queues, -EINTR while the debugger did not answer: the same
 * call goes on waiting; -ENODEV.
 */
int kfd_ioctl_runtime_enable(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_runtime_enable_args *args = data;
	bool on = args->mode_mask & KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK;
	int ret;

	if (args->mode_mask & ~KFD_RUNTIME_MODES)
		return -EINVAL;
	args->capabilities_mask = 0;

	mutex_lock(&p->mutex);		/* no queue comes */
	mutex_lock(&p->queue_lock);
	spin_lock(&kfd_dbg_lock);
	ret = on ? kfd_runtime_on(p, args) : kfd_runtime_off(p);
	spin_unlock(&kfd_dbg_lock);
	if (!on)
		kfd_dbg_resume_all(p);
	mutex_unlock(&p->queue_lock);
	mutex_unlock(&p->mutex);
	if (!on)
		wake_up_all(&p->dbg->wait);
	if (ret > 0)
		ret = kfd_runtime_wait(p, on ? KFD_RUNTIME_ON :
					       KFD_RUNTIME_OFF);
	return ret;
}
