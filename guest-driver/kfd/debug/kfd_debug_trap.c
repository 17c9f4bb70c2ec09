// SPDX-License-Identifier: GPL-2.0
/*
 * Implements the operations of DBG_TRAP, with the arguments and errors of amdkfd. Operations on
 * waves fail, since the device runs no waves. kfd_ioctl_debug.c checks permissions.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/uaccess.h>

#include "process/kfd_process.h"
#include "kfd_debug.h"
#include "kfd_debug_priv.h"

/**
 * kfd_dbg_is_debugger() - whether one process debugs another
 * @p: debugger
 * @target: debugged process
 *
 * Context: takes kfd_dbg_lock.
 *
 * Return: true if @p is the debugger in the session of @target.
 */
bool kfd_dbg_is_debugger(struct kfd_process *p, struct kfd_process *target)
{
	bool is;

	spin_lock(&kfd_dbg_lock);
	is = target->dbg->session && target->dbg->session->debugger == p;
	spin_unlock(&kfd_dbg_lock);
	return is;
}

/*
 * Return the file of @fd, with a reference taken. Return NULL unless the file is a writable pipe,
 * FIFO or socket.
 */
static struct file *kfd_dbg_get_file(u32 fd)
{
	struct file *file = fget(fd);
	umode_t mode;

	if (!file)
		return NULL;
	mode = file_inode(file)->i_mode;
	/* A write with IOCB_NOWAIT to such a file does not wait for space (kfd_dbg_write()). */
	if ((S_ISFIFO(mode) || S_ISSOCK(mode)) && file->f_mode & FMODE_WRITE)
		return file;
	fput(file);
	return NULL;
}

static int kfd_dbg_op_enable(struct kfd_process *p, struct kfd_process *target,
			     struct kfd_ioctl_dbg_trap_enable_args *args)
{
	struct kfd_runtime_info info;
	struct file *file;
	u32 bytes = min_t(u32, args->rinfo_size, sizeof(info));
	int ret;

	if (READ_ONCE(target->debug_trap_enabled))
		return -EALREADY;
	file = kfd_dbg_get_file(args->dbg_fd);
	if (!file)
		return -EBADF;
	ret = kfd_dbg_begin(p, target, file, args->exception_mask, &info);
	if (ret) {
		fput(file);
		return ret;
	}
	args->rinfo_size = sizeof(info);
	if (!copy_to_user(u64_to_user_ptr(args->rinfo_ptr), &info, bytes))
		return 0;
	kfd_dbg_end(target, p);
	return -EFAULT;
}

/*
 * SET_WAVE_LAUNCH_OVERRIDE: the device supports no override, so report an empty mask of supported
 * overrides, and refuse any request.
 */
static int
kfd_dbg_op_override(struct kfd_ioctl_dbg_trap_set_wave_launch_override_args *args)
{
	u32 request = args->support_request_mask;

	if (args->override_mode != KFD_DBG_TRAP_OVERRIDE_OR &&
	    args->override_mode != KFD_DBG_TRAP_OVERRIDE_REPLACE)
		return -EPERM;
	args->support_request_mask = 0;
	if (request)
		return -EACCES;
	args->enable_mask = 0;
	return 0;
}

static int kfd_dbg_op_launch_mode(u32 mode)
{
	switch (mode) {
	case KFD_DBG_TRAP_WAVE_LAUNCH_MODE_NORMAL:
		return 0;
	case KFD_DBG_TRAP_WAVE_LAUNCH_MODE_HALT:
	case KFD_DBG_TRAP_WAVE_LAUNCH_MODE_DEBUG:
		return -ENODEV;
	default:
		return -EINVAL;
	}
}

/*
 * The device has no watch points, so the operation fails. Return -ENODEV for an unknown GPU,
 * otherwise @err, the error of the operation.
 */
static int kfd_dbg_op_watch(struct kfd_process *target, u32 gpu_id, int err)
{
	return kfd_process_device_by_node_id(target, gpu_id) ? err : -ENODEV;
}

static int kfd_dbg_op_flags(struct kfd_ioctl_dbg_trap_set_flags_args *args)
{
	u32 flags = args->flags;

	args->flags = 0;
	return flags ? -EACCES : 0;
}

/* Return true if @op is allowed only while the target's runtime is enabled. */
static bool kfd_dbg_needs_runtime(u32 op)
{
	return op >= KFD_IOC_DBG_TRAP_SET_WAVE_LAUNCH_OVERRIDE &&
	       op <= KFD_IOC_DBG_TRAP_SET_FLAGS;
}

/*
 * Return 0 if @op is allowed. Otherwise return -EINVAL (@target has no session) or -EPERM (the
 * runtime of @target is not enabled).
 */
static int kfd_dbg_check(struct kfd_process *target, u32 op)
{
	int ret = 0;

	if (op == KFD_IOC_DBG_TRAP_ENABLE)
		return 0;
	spin_lock(&kfd_dbg_lock);
	if (!target->dbg->session)
		ret = -EINVAL;
	else if (kfd_dbg_needs_runtime(op) &&
		 target->dbg->runtime.runtime_state !=
		 DEBUG_RUNTIME_STATE_ENABLED)
		ret = -EPERM;
	spin_unlock(&kfd_dbg_lock);
	return ret;
}

static int kfd_dbg_do(struct kfd_process *p, struct kfd_process *target,
		      struct kfd_ioctl_dbg_trap_args *args)
{
	switch (args->op) {
	case KFD_IOC_DBG_TRAP_ENABLE:
		return kfd_dbg_op_enable(p, target, &args->enable);
	case KFD_IOC_DBG_TRAP_DISABLE:
		kfd_dbg_end(target, NULL);
		return 0;
	case KFD_IOC_DBG_TRAP_SEND_RUNTIME_EVENT:
		return kfd_dbg_send(target, &args->send_runtime_event);
	case KFD_IOC_DBG_TRAP_SET_EXCEPTIONS_ENABLED:
		return kfd_dbg_set_mask(target,
				args->set_exceptions_enabled.exception_mask);
	case KFD_IOC_DBG_TRAP_SET_WAVE_LAUNCH_OVERRIDE:
		return kfd_dbg_op_override(&args->launch_override);
	case KFD_IOC_DBG_TRAP_SET_WAVE_LAUNCH_MODE:
		return kfd_dbg_op_launch_mode(args->launch_mode.launch_mode);
	case KFD_IOC_DBG_TRAP_SUSPEND_QUEUES:
		return kfd_dbg_suspend(target,
				       args->suspend_queues.queue_array_ptr,
				       args->suspend_queues.num_queues,
				       args->suspend_queues.exception_mask);
	case KFD_IOC_DBG_TRAP_RESUME_QUEUES:
		return kfd_dbg_resume(target,
				      args->resume_queues.queue_array_ptr,
				      args->resume_queues.num_queues);
	case KFD_IOC_DBG_TRAP_SET_NODE_ADDRESS_WATCH:
		return kfd_dbg_op_watch(target,
					args->set_node_address_watch.gpu_id,
					-ENOMEM);
	case KFD_IOC_DBG_TRAP_CLEAR_NODE_ADDRESS_WATCH:
		return kfd_dbg_op_watch(target,
					args->clear_node_address_watch.gpu_id,
					-EINVAL);
	case KFD_IOC_DBG_TRAP_SET_FLAGS:
		return kfd_dbg_op_flags(&args->set_flags);
	case KFD_IOC_DBG_TRAP_QUERY_DEBUG_EVENT:
		return kfd_dbg_query_event(target, &args->query_debug_event);
	case KFD_IOC_DBG_TRAP_QUERY_EXCEPTION_INFO:
		return kfd_dbg_query_info(target, &args->query_exception_info);
	case KFD_IOC_DBG_TRAP_GET_QUEUE_SNAPSHOT:
		return kfd_dbg_queue_snapshot(target, &args->queue_snapshot);
	case KFD_IOC_DBG_TRAP_GET_DEVICE_SNAPSHOT:
		return kfd_dbg_device_snapshot(target, &args->device_snapshot);
	default:
		return -EINVAL;
	}
}

/**
 * kfd_dbg_trap() - do an operation of DBG_TRAP
 * @p: process of the caller, permitted to debug @target
 * @target: process to debug; the caller holds a reference on its mm_users
 * @args: arguments of the ioctl
 *
 * Context: no locks are held.
 *
 * Return:
 * * 0, or the number of queues (SUSPEND_QUEUES, RESUME_QUEUES)
 * * -EINVAL: no session, or unknown operation
 * * -EPERM: the runtime of @target is not enabled
 * * an error of the operation
 */
int kfd_dbg_trap(struct kfd_process *p, struct kfd_process *target,
		 struct kfd_ioctl_dbg_trap_args *args)
{
	return kfd_dbg_check(target, args->op) ?: kfd_dbg_do(p, target, args);
}
