// SPDX-License-Identifier: GPL-2.0
/*
 * RUNTIME_ENABLE: the runtime of a process registers itself and its r_debug, the address at which
 * debuggers find the runtime's state. If the process is debugged, the call waits for the
 * debugger's reply.
 */
#include <linux/mm.h>

#include "process/kfd_process.h"
#include "kfd_debug.h"
#include "kfd_debug_priv.h"

#define KFD_RUNTIME_MODES	(KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK | \
				 KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK)

/**
 * kfd_runtime_enabled() - whether a process has registered its runtime for debuggers
 * @p: process
 *
 * RUNTIME_ENABLE and RESTORE of CRIU change the result; both hold kfd_process.mutex.
 *
 * Context: any.
 *
 * Return: true after RUNTIME_ENABLE or RESTORE has enabled the runtime, until RUNTIME_ENABLE
 * disables the runtime.
 */
bool kfd_runtime_enabled(struct kfd_process *p)
{
	return READ_ONCE(p->dbg->runtime.runtime_state) ==
	       DEBUG_RUNTIME_STATE_ENABLED;
}

/**
 * kfd_runtime_get() - read the state that RUNTIME_ENABLE has set
 * @p: process
 * @info: set to the state
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
 * kfd_runtime_set() - restore the state of RUNTIME_ENABLE from a checkpoint
 * @p: process that is being restored
 * @info: state in the checkpoint
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

/*
 * Raise EC_PROCESS_RUNTIME, and record that a call of RUNTIME_ENABLE waits for the debugger's
 * reply. Return false if the process has no debugger. The caller holds kfd_dbg_lock.
 */
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
 * Record the process's runtime as enabled. The caller holds kfd_process.mutex and kfd_dbg_lock.
 * Returns 0; 1 if the caller has to wait for the debugger's reply; -EBUSY, -EEXIST.
 */
static int kfd_runtime_on(struct kfd_process *p,
			  const struct kfd_ioctl_runtime_enable_args *args)
{
	struct kfd_runtime_info *info = &p->dbg->runtime;

	/*
	 * A signal interrupted an earlier call that enabled the runtime, and user space repeats the
	 * call: only wait for the debugger's reply.
	 */
	if (p->dbg->interrupted == KFD_RUNTIME_ON &&
	    info->runtime_state == DEBUG_RUNTIME_STATE_ENABLED)
		return 1;
	if (info->runtime_state != DEBUG_RUNTIME_STATE_DISABLED)
		return -EBUSY;
	if (p->pqm.n_queues)
		return -EEXIST;
	WRITE_ONCE(info->runtime_state, DEBUG_RUNTIME_STATE_ENABLED);
	info->r_debug = args->r_debug;
	/* ttmp_setup is stored for debuggers. The device runs no waves, so no TTMPs are set up. */
	info->ttmp_setup = !!(args->mode_mask &
			      KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK);
	return kfd_runtime_ask(p);
}

/*
 * Record the process's runtime as disabled. The caller holds kfd_process.mutex and kfd_dbg_lock.
 * Returns 0, or 1 if the caller has to wait for the debugger's reply.
 */
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

/*
 * Wait for the debugger's reply. The caller holds no locks. Returns 0; -EINTR after a signal; or
 * -ENODEV if the process is detached from KFD.
 */
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
		return -EINTR;	/* as in amdkfd; -ERESTARTSYS would restart the call */
	return closed ? -ENODEV : 0;
}

/**
 * kfd_ioctl_runtime_enable() - AMDKFD_IOC_RUNTIME_ENABLE
 * @p: process
 * @data: struct kfd_ioctl_runtime_enable_args
 *
 * Context: no locks are held. Waits for the debugger's reply.
 *
 * Return: 0 or:
 *
 * * -EINVAL: unknown mode (amdkfd ignores unknown modes)
 * * -EBUSY: the runtime is enabled already
 * * -EEXIST: the runtime cannot be enabled while the process has queues
 * * -EINTR: signal before the debugger's reply; a repeated call waits for the same reply
 * * -ENODEV: the process was detached during the wait
 */
int kfd_ioctl_runtime_enable(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_runtime_enable_args *args = data;
	bool on = args->mode_mask & KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK;
	int ret;

	if (args->mode_mask & ~KFD_RUNTIME_MODES)
		return -EINVAL;
	args->capabilities_mask = 0;

	mutex_lock(&p->mutex);		/* keep queues from being created */
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
