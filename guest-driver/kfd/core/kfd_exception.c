// SPDX-License-Identifier: GPL-2.0
/*
 * Raises exceptions of a process, and stops its queues after a bad packet or a read of poisoned
 * memory. A debugger that has subscribed to an exception gets the exception. Without such a
 * debugger, the process gets the exception as an event.
 */
#include <linux/kfd_ioctl.h>
#include <linux/sched/signal.h>

#include "kfd/debug/kfd_debug.h"
#include "kfd/events/kfd_events.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "kfd_core_priv.h"

/**
 * kfd_exception_memory() - raise a memory fault
 * @pdd: state of the process on the GPU
 * @va: address of the access
 * @not_present: the page-table entry was not valid
 * @write: the access was a write
 *
 * Implements kfd_process_ops.memory_exception. The fault goes to the process, or to a debugger
 * that has subscribed to memory faults (kfd_dbg_raise_fault()).
 *
 * Context: fault worker. Takes spinlocks.
 */
void kfd_exception_memory(struct kfd_process_device *pdd, u64 va,
			  bool not_present, bool write)
{
	if (!kfd_dbg_raise_fault(pdd, va, not_present, write))
		kfd_events_memory_exception(pdd, va, not_present, write);
}

/**
 * kfd_process_poisoned() - stop a process's queues on a GPU after the GPU read poisoned memory
 * @pdd: state of the process on the GPU
 *
 * The process gets MEMORY and HW_EXCEPTION events, and SIGBUS.
 *
 * Context: takes kfd_process.queue_lock.
 */
void kfd_process_poisoned(struct kfd_process_device *pdd)
{
	kfd_process_stopped_for(pdd, "poison read");
	vgpu_stat_add(pdd->node->vdev, VGPU_STAT_POISONED, 1);
	kfd_events_poison(pdd);
	send_sig(SIGBUS, pdd->process->lead_thread, 0);
}

/**
 * kfd_queue_bad_packet() - stop a compute queue after a bad packet
 * @pdd: state of the process on the GPU
 * @doorbell: byte offset of the queue's doorbell in the process's slice
 * @at: GPU clock of the interrupt
 * @code: exception for the debugger
 * @why: reason, for the message
 *
 * Does nothing if the queue is stopped already, or was created after @at.
 *
 * Context: takes kfd_process.queue_lock. The caller holds no lock.
 */
void kfd_queue_bad_packet(struct kfd_process_device *pdd, u32 doorbell, u64 at,
			  unsigned int code, const char *why)
{
	u64 mask = KFD_DBG_EC_TYPE_IS_PACKET(code) ? KFD_EC_MASK(code) : 0;
	struct kfd_process *p = pdd->process;
	bool died = false, heard = false;
	struct kfd_queue *q;
	u32 id = 0;

	mutex_lock(&p->queue_lock);
	list_for_each_entry(q, &pdd->qpd->queues, link) {
		/*
		 * An interrupt from before q->born is for an earlier queue with this doorbell. The
		 * shift makes bit 47 of the 48-bit difference the sign.
		 */
		if (q->kind != KFD_QUEUE_COMPUTE || q->doorbell != doorbell ||
		    q->faulted || (s64)((at - q->born) << 16) < 0)
			continue;
		/* Without this call, the CP would start the queue again in its next time slice. */
		kfd_queue_stop(q, why);
		heard = kfd_dbg_raise_queue(q, mask);
		id = q->id;
		died = true;
	}
	mutex_unlock(&p->queue_lock);
	if (!died)
		return;
	/*
	 * Do not notify the runtime if a debugger has subscribed to the exception: the debugger may
	 * notify the runtime itself.
	 */
	if (!heard && kfd_runtime_enabled(p))
		kfd_dbg_signal_runtime(p, id, mask, false);
	/* Signal the process's HW_EXCEPTION events. */
	kfd_events_reset(pdd, true, false);
}
