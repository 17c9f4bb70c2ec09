// SPDX-License-Identifier: GPL-2.0
/*
 * Passes exceptions to the runtime of a process: exceptions that its debugger sends, and
 * exceptions that its queues raise when no debugger has subscribed to them.
 */
#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>

#include "kfd/events/kfd_events.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_process.h"
#include "kfd_debug.h"
#include "kfd_debug_priv.h"

int kfd_dbg_access(struct kfd_process *p, u64 va, void *buf, unsigned int bytes,
		   bool write, bool fault)
{
	unsigned int flags = (write ? FOLL_WRITE : 0) |
			     (fault ? 0 : FOLL_NOFAULT);
	struct task_struct *task = p->lead_thread;
	unsigned int done = 0;

	/* Exclude exec(), which could give the task another mm between the check and the access. */
	if (!down_read_trylock(&task->signal->exec_update_lock))
		return -EFAULT;
	if (READ_ONCE(task->mm) == p->mm && !READ_ONCE(p->dbg->closed))
		done = access_process_vm(task, va, buf, bytes, flags);
	up_read(&task->signal->exec_update_lock);
	return done == bytes ? 0 : -EFAULT;
}

/*
 * Set *@va to the address of the context save area of compute queue @queue_id. Returns 0, or
 * -EINVAL if there is no such queue.
 */
static int kfd_dbg_save_area(struct kfd_process *p, u32 queue_id, u64 *va)
{
	struct kfd_queue *q;
	int ret = -EINVAL;
	u32 i;

	mutex_lock(&p->queue_lock);
	for (i = 0; i < p->n_pdds; i++)
		list_for_each_entry(q, &p->pdds[i]->qpd->queues, link)
			if (q->id == queue_id &&
			    q->kind == KFD_QUEUE_COMPUTE) {
				*va = q->cp.save_va;
				ret = 0;
			}
	mutex_unlock(&p->queue_lock);
	return ret;
}

/**
 * kfd_dbg_signal_runtime() - signal an exception to a process's runtime
 * @p: process
 * @queue_id: compute queue
 * @mask: exceptions to add to the runtime's exception word, KFD_EC_MASK()
 * @fault: allow page faults of the CPU on the process's memory. Such a fault may wait for a file
 *         system in user space. So pass false in work items that serve several processes: the wait
 *         would delay the other processes
 *
 * As in amdkfd, signals no event if the exception word cannot be accessed.
 *
 * Context: sleeps; no locks are held.
 */
void kfd_dbg_signal_runtime(struct kfd_process *p, u32 queue_id, u64 mask,
			    bool fault)
{
	struct kfd_context_save_area_header header;
	u64 va, word;

	/*
	 * The header of the context save area has the address of the runtime's exception word, and
	 * the id of the event to signal.
	 */
	if (kfd_dbg_save_area(p, queue_id, &va) ||
	    kfd_dbg_access(p, va, &header, sizeof(header), false, fault) ||
	    kfd_dbg_access(p, header.err_payload_addr, &word, sizeof(word),
			   false, fault))
		return;
	word |= mask;
	if (!kfd_dbg_access(p, header.err_payload_addr, &word, sizeof(word),
			    true, fault))
		kfd_events_signal(p, header.err_event_id);
}

/*
 * Handle SEND_RUNTIME_EVENT for a memory fault: stop the process's queues on the GPU, and report
 * the fault to the process.
 */
static void kfd_dbg_send_fault(struct kfd_process_device *pdd)
{
	struct kfd_hsa_memory_exception_data fault = {
		.gpu_id = pdd->gpu_id,
		.failure.imprecise = 1,
	};

	spin_lock(&kfd_dbg_lock);
	pdd->dbg->fault_held = false;
	if (pdd->dbg->fault_known)
		fault = pdd->dbg->fault;
	spin_unlock(&kfd_dbg_lock);
	kfd_queues_stop(pdd, NULL);
	kfd_events_memory(pdd, &fault);
}

/* Record the debugger's reply, and wake the call of RUNTIME_ENABLE that waits for the reply. */
static void kfd_dbg_answer(struct kfd_process *p)
{
	spin_lock(&kfd_dbg_lock);
	WRITE_ONCE(p->dbg->asked, false);
	spin_unlock(&kfd_dbg_lock);
	wake_up_all(&p->dbg->wait);
}

int kfd_dbg_send(struct kfd_process *target,
		 const struct kfd_ioctl_dbg_trap_send_runtime_event_args *args)
{
	u64 mask = args->exception_mask;
	struct kfd_process_device *pdd;

	if (mask & KFD_EC_MASK(EC_DEVICE_MEMORY_VIOLATION)) {
		pdd = kfd_process_device_by_node_id(target, args->gpu_id);
		if (!pdd)
			return -ENODEV;
		kfd_dbg_send_fault(pdd);
		mask &= ~KFD_EC_MASK(EC_DEVICE_MEMORY_VIOLATION);
	}
	if (mask & KFD_EC_MASK(EC_PROCESS_RUNTIME)) {
		kfd_dbg_answer(target);
		mask &= ~KFD_EC_MASK(EC_PROCESS_RUNTIME);
	}
	if (mask)
		kfd_dbg_signal_runtime(target, args->queue_id, mask, true);
	return 0;
}
