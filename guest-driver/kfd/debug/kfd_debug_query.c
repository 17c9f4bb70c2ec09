// SPDX-License-Identifier: GPL-2.0
/*
 * Answers the debugger's queries for exceptions, for information on an exception, and for the
 * process's GPUs. Exceptions of queues are reported first, then exceptions of GPUs, then
 * exceptions of the process.
 */
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd/queues/kfd_queue.h"
#include "kfd/topology/kfd_topology.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "process/kfd_uapi.h"
#include "kfd_debug_priv.h"

/* Take the locks that keep queues, sessions and exceptions unchanged. */
static void kfd_dbg_freeze(struct kfd_process *p)
	__acquires(&kfd_dbg_lock)
{
	mutex_lock(&p->queue_lock);
	spin_lock(&kfd_dbg_lock);
}

static void kfd_dbg_thaw(struct kfd_process *p)
	__releases(&kfd_dbg_lock)
{
	spin_unlock(&kfd_dbg_lock);
	mutex_unlock(&p->queue_lock);
}

/*
 * Return a queue with an exception of @mask, or NULL. Called between kfd_dbg_freeze() and
 * kfd_dbg_thaw().
 */
static struct kfd_queue *kfd_dbg_find_queue(struct kfd_process *p, u64 mask)
{
	struct kfd_queue *q;
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		list_for_each_entry(q, &p->pdds[i]->qpd->queues, link)
			if (q->exceptions & mask)
				return q;
	return NULL;
}

static struct kfd_process_device *kfd_dbg_find_device(struct kfd_process *p,
						      u64 mask)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (p->pdds[i]->dbg->exceptions & mask)
			return p->pdds[i];
	return NULL;
}

/*
 * Find the first source (queue, GPU or process) of a subscribed exception. Set the source's ids in
 * @args. Return the address of the source's exceptions, or NULL.
 */
static u64 *kfd_dbg_find(struct kfd_process *p,
			 struct kfd_ioctl_dbg_trap_query_debug_event_args *args)
{
	u64 mask = p->dbg->session->mask;
	struct kfd_process_device *pdd;
	struct kfd_queue *q;

	q = kfd_dbg_find_queue(p, mask);
	if (q) {
		args->queue_id = q->id;
		args->gpu_id = q->pdd->node->gpu_id;
		return &q->exceptions;
	}
	pdd = kfd_dbg_find_device(p, mask);
	if (pdd) {
		args->gpu_id = pdd->node->gpu_id;
		return &pdd->dbg->exceptions;
	}
	return p->dbg->exceptions & mask ? &p->dbg->exceptions : NULL;
}

/**
 * kfd_dbg_query_event() - QUERY_DEBUG_EVENT
 * @target: debugged process
 * @args: exception_mask: exceptions to clear. On return, queue_id and gpu_id name the source of
 *        the exceptions, and exception_mask has all exceptions of the source, also those that this
 *        call has cleared
 *
 * Return: 0; -EAGAIN if no subscribed exception was raised; -EINVAL if there is no session.
 */
int kfd_dbg_query_event(struct kfd_process *target,
			struct kfd_ioctl_dbg_trap_query_debug_event_args *args)
{
	u64 clear = args->exception_mask, *exceptions;
	int ret = -EAGAIN;

	kfd_dbg_freeze(target);
	if (!target->dbg->session) {
		kfd_dbg_thaw(target);
		return -EINVAL;
	}
	args->exception_mask = 0;
	args->queue_id = 0;
	args->gpu_id = 0;
	exceptions = kfd_dbg_find(target, args);
	if (exceptions) {
		args->exception_mask = *exceptions;
		*exceptions &= ~clear;
		ret = 0;
	}
	kfd_dbg_thaw(target);
	return ret;
}

/*
 * Return a pointer to the mask of pending exceptions of queue @source, of GPU @source, or of the
 * process. The type of exception @code decides which. Return NULL if @code or @source is unknown.
 */
static u64 *kfd_dbg_exceptions(struct kfd_process *p, u32 code, u32 source)
{
	struct kfd_process_device *pdd;
	struct kfd_queue *q;
	u32 i;

	/* The caller keeps queues and exceptions unchanged (kfd_dbg_freeze()). */
	if (KFD_DBG_EC_TYPE_IS_QUEUE(code)) {
		for (i = 0; i < p->n_pdds; i++)
			list_for_each_entry(q, &p->pdds[i]->qpd->queues, link)
				if (q->id == source)
					return &q->exceptions;
	} else if (KFD_DBG_EC_TYPE_IS_DEVICE(code)) {
		pdd = kfd_process_device_by_node_id(p, source);
		if (pdd)
			return &pdd->dbg->exceptions;
	} else if (KFD_DBG_EC_TYPE_IS_PROCESS(code)) {
		return &p->dbg->exceptions;
	}
	return NULL;
}

/**
 * struct kfd_dbg_info - information on an exception
 * @bytes: length of the information; 0 if there is none
 * @fault: information on EC_DEVICE_MEMORY_VIOLATION
 * @runtime: information on EC_PROCESS_RUNTIME
 */
struct kfd_dbg_info {
	u32 bytes;
	union {
		struct kfd_hsa_memory_exception_data fault;
		struct kfd_runtime_info runtime;
	};
};

/*
 * Fill @info for exception @code, and clear the exception in *@exceptions if @clear. Called
 * between kfd_dbg_freeze() and kfd_dbg_thaw().
 */
static void kfd_dbg_take_info(struct kfd_process *p, u32 code, u32 source,
			      u64 *exceptions, bool clear,
			      struct kfd_dbg_info *info)
{
	struct kfd_process_device *pdd;

	if (code == EC_DEVICE_MEMORY_VIOLATION) {
		pdd = kfd_process_device_by_node_id(p, source);
		if (pdd->dbg->fault_known) {
			info->fault = pdd->dbg->fault;
			info->bytes = sizeof(info->fault);
		}
		if (clear)
			pdd->dbg->fault_known = false;
	} else if (code == EC_PROCESS_RUNTIME) {
		info->runtime = p->dbg->runtime;
		info->bytes = sizeof(info->runtime);
	}
	if (clear)
		*exceptions &= ~KFD_EC_MASK(code);
}

/* After a failed copy to user space, raise the exception again, unless the session has ended. */
static void kfd_dbg_put_back(struct kfd_process *p, u32 code, u32 source)
{
	struct kfd_process_device *pdd;
	u64 *exceptions;

	kfd_dbg_freeze(p);
	exceptions = kfd_dbg_exceptions(p, code, source);
	if (p->dbg->session && exceptions) {
		*exceptions |= KFD_EC_MASK(code);
		if (code == EC_DEVICE_MEMORY_VIOLATION) {
			pdd = kfd_process_device_by_node_id(p, source);
			pdd->dbg->fault_known = true;
		}
	}
	kfd_dbg_thaw(p);
}

/**
 * kfd_dbg_query_info() - QUERY_EXCEPTION_INFO
 * @target: debugged process
 * @args: source_id is a queue id or a GPU id. info_size is the length of the buffer in bytes, and
 *        on return the length of the information
 *
 * Return:
 * * 0
 * * -EINVAL: no session, unknown exception or source, or info_ptr is NULL
 * * -ENODATA: the exception was not raised
 * * -EFAULT: bad buffer; the exception is not cleared
 */
int kfd_dbg_query_info(struct kfd_process *target,
		       struct kfd_ioctl_dbg_trap_query_exception_info_args *args)
{
	u32 code = args->exception_code, source = args->source_id;
	struct kfd_dbg_info info = { };
	u64 *exceptions;
	int ret = 0;

	if (!args->info_ptr)
		return -EINVAL;
	kfd_dbg_freeze(target);
	exceptions = kfd_dbg_exceptions(target, code, source);
	if (!target->dbg->session || !exceptions)
		ret = -EINVAL;
	else if (!(*exceptions & KFD_EC_MASK(code)))
		ret = -ENODATA;
	else
		kfd_dbg_take_info(target, code, source, exceptions,
				  args->clear_exception, &info);
	kfd_dbg_thaw(target);
	if (ret)
		return ret;

	if (copy_to_user(u64_to_user_ptr(args->info_ptr), &info.fault,
			 min(args->info_size, info.bytes))) {
		if (args->clear_exception)
			kfd_dbg_put_back(target, code, source);
		return -EFAULT;
	}
	args->info_size = info.bytes;
	return 0;
}

/**
 * kfd_dbg_set_mask() - SET_EXCEPTIONS_ENABLED
 * @target: debugged process
 * @mask: exceptions that the debugger subscribes to, KFD_EC_MASK()
 *
 * Notifies the debugger if an exception in @mask was raised before the call and is not cleared.
 *
 * Return: 0, or -EINVAL if there is no session.
 */
int kfd_dbg_set_mask(struct kfd_process *target, u64 mask)
{
	struct kfd_ioctl_dbg_trap_query_debug_event_args whose;
	struct kfd_dbg_session *s;

	kfd_dbg_freeze(target);
	s = target->dbg->session;
	if (s) {
		s->mask = mask;
		if (kfd_dbg_find(target, &whose))
			kfd_dbg_notify(s);
	}
	kfd_dbg_thaw(target);
	return s ? 0 : -EINVAL;
}

static void kfd_dbg_device_entry(struct kfd_process_device *pdd, u64 clear,
				 struct kfd_dbg_device_info_entry *e)
{
	struct pci_dev *pdev = pdd->node->vdev->pdev;

	*e = (struct kfd_dbg_device_info_entry) {
		.lds_base = KFD_LDS_BASE,
		.lds_limit = KFD_LDS_BASE + KFD_PRIVATE_LIMIT,
		.scratch_base = KFD_SCRATCH_BASE,
		.scratch_limit = KFD_SCRATCH_BASE + KFD_PRIVATE_LIMIT,
		.gpuvm_base = KFD_GPUVM_BASE,
		.gpuvm_limit = KFD_GPUVM_LIMIT,
		.gpu_id = pdd->node->gpu_id,
		.location_id = pci_dev_id(pdev),
		.vendor_id = pdev->vendor,
		.device_id = pdev->device,
		.revision_id = pdev->revision,
		.subsystem_vendor_id = pdev->subsystem_vendor,
		.subsystem_device_id = pdev->subsystem_device,
	};
	kfd_topology_describe(pdd->node, e);
	e->exception_status = pdd->dbg->exceptions;
	pdd->dbg->exceptions &= ~clear;
}

/**
 * kfd_dbg_device_snapshot() - GET_DEVICE_SNAPSHOT
 * @target: debugged process
 * @args: num_devices: number of entries in the buffer; on return, number of GPUs of the process.
 *        entry_size: distance between entries, in bytes; on return, bytes written per entry
 *
 * Return: 0; -EINVAL if there is no session or no buffer; -EFAULT, -ENOMEM.
 */
int kfd_dbg_device_snapshot(struct kfd_process *target,
			    struct kfd_ioctl_dbg_trap_device_snapshot_args *args)
{
	char __user *out = u64_to_user_ptr(args->snapshot_buf_ptr);
	u32 n = min(args->num_devices, target->n_pdds), i;
	struct kfd_dbg_device_info_entry *entry;
	u32 stride = args->entry_size;
	int ret = 0;

	if (!out)
		return -EINVAL;
	args->num_devices = target->n_pdds;
	args->entry_size = min_t(u32, stride, sizeof(*entry));
	entry = kcalloc(n, sizeof(*entry), GFP_KERNEL);
	if (n && !entry)
		return -ENOMEM;

	kfd_dbg_freeze(target);
	if (!target->dbg->session)
		ret = -EINVAL;
	for (i = 0; !ret && i < n; i++)
		kfd_dbg_device_entry(target->pdds[i], args->exception_mask,
				     &entry[i]);
	kfd_dbg_thaw(target);

	for (i = 0; !ret && i < n; i++)
		if (copy_to_user(out + (u64)i * stride, &entry[i],
				 args->entry_size))
			ret = -EFAULT;
	kfree(entry);
	return ret;
}
