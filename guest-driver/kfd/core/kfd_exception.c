// SPDX-License-Identifier: GPL-2.0
/*
 * Exceptions of queues: what stops them for good, and who is told: a debugger that asked
 * for it, else the process, by its events.
 */
#include <linux/kfd_ioctl.h>
#include <linux/sched/signal.h>

#include "kfd/debug/kfd_debug.h"
#include "kfd/events/kfd_events.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "kfd_core_priv.h"

void kfd_exception_memory(struct kfd_process_device *pdd, u64 va,
			  bool not_present, bool write)
{
	/* A debugger who wants to know says when the process shall. */
	if (!kfd_dbg_raise_fault(pdd, va, not_present, write))
		kfd_events_memory_exception(pdd, va, not_present, write);
}

void kfd_process_poisoned(struct kfd_process_device *pdd)
{
	kfd_process_stopped_for(pdd, "poison read");
	vgpu_stat_add(pdd->node->vdev, VGPU_STAT_POISONED, 1);
	kfd_events_poison(pdd);
	send_sig(SIGBUS, pdd->process->lead_thread, 0);
}

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
		/* Of 48 bits; an older one was told of the doorbell's last owner. */
		if (q->kind != KFD_QUEUE_COMPUTE || q->doorbell != doorbell ||
		    q->faulted || (s64)((at - q->born) << 16) < 0)
			continue;
		kfd_queue_stop(q, why);
		heard = kfd_dbg_raise_queue(q, mask);
		id = q->id;
		died = true;
	}
	mutex_unlock(&p->queue_lock);
	if (!died)
		return;
	if (!heard && kfd_runtime_enabled(p))
		kfd_dbg_signal_runtime(p, id, mask, false);
	kfd_events_reset(pdd, true, false);
}
