// SPDX-License-Identifier: GPL-2.0
/*
 * Records which process owns each slot of the retry CAM, which all processes on a GPU share. A
 * queue that faults needs a free slot, and stalls until it gets one.
 *
 * A process whose worker waits for a page-in keeps the slots of its faults. With as many queues as
 * there are slots, one process can keep all slots, and so stall the queues of all other processes.
 * So when all slots are taken, svm_cam_work() looks for processes that own slots and have had no
 * fault acknowledged for SVM_CAM_STALL_MS, takes their queues off the GPU, then acknowledges their
 * slots. When the worker of such a process ends its current run, it calls svm_cam_resume(), which
 * puts the process's queues back on the GPU. The queues then repeat their accesses. If a page table
 * entry is still missing, the access raises a new fault.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/sched.h>

#include "hw/vgpu_ih.h"
#include "process/kfd_evict.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "smi/kfd_smi_events.h"
#include "svm_fault_queue.h"
#include "svm_node.h"
#include "svm_range.h"

/*
 * A process that owns slots, and has had no fault acknowledged for this time, has stalled: its
 * queues may be taken off the GPU. The time is longer than most repairs, so that this does not
 * happen to a process whose worker makes progress.
 */
#define SVM_CAM_STALL_MS	250u

/* Return a mask of the slots that @q owns or, if @q is NULL, of the free slots. */
static unsigned long svm_cam_owned(const struct svm_node *sn,
				   const struct svm_fault_queue *q)
{
	unsigned long slots = 0;
	unsigned int i;

	lockdep_assert_held(&sn->fault_lock);

	for (i = 0; i < VGPU_RETRY_CAM_SLOTS; i++)
		if (sn->cam_owners[i] == q)
			slots |= BIT(i);
	return slots;
}

/* Return true if no slot is free. The caller holds svm_node.fault_lock. */
static bool svm_cam_full(const struct svm_node *sn)
{
	return !svm_cam_owned(sn, NULL);
}

void svm_cam_own(struct svm_fault_queue *q, const struct svm_fault *f)
{
	struct svm_node *sn = q->node->svm;

	if (!svm_cam_owned(sn, q))
		q->since = jiffies;
	sn->cam_owners[f->cam] = q;
	if (svm_cam_full(sn))
		queue_delayed_work(sn->wq, &sn->cam_work,
				   msecs_to_jiffies(SVM_CAM_STALL_MS));
}

void svm_cam_disown(struct svm_fault_queue *q, const struct svm_fault *f)
{
	struct svm_node *sn = q->node->svm;

	lockdep_assert_held(&sn->fault_lock);

	q->since = jiffies;
	/*
	 * Clear the owner only if it is @q: after a reset, the slot may belong to another fault
	 * queue.
	 */
	if (!f->acked && sn->cam_owners[f->cam] == q)
		sn->cam_owners[f->cam] = NULL;
}

/*
 * Return a fault queue that owns slots and has stalled, or NULL. Takes a reference to the process
 * of the fault queue; the caller drops this reference. The process is still alive here, because
 * there is another reference while the fault queue owns slots: svm_fault_irq() holds it until it
 * has queued the queue's work item, then the work item holds it until the end of the run.
 */
static struct svm_fault_queue *svm_cam_find_stalled(struct svm_node *sn)
{
	unsigned long limit = jiffies - msecs_to_jiffies(SVM_CAM_STALL_MS);
	struct svm_fault_queue *found = NULL;
	unsigned int i;

	spin_lock_irq(&sn->fault_lock);
	for (i = 0; i < VGPU_RETRY_CAM_SLOTS; i++) {
		struct svm_fault_queue *q = sn->cam_owners[i];

		if (q && q->svms && time_before_eq(q->since, limit)) {
			kref_get(&svm_process(q->svms)->ref);
			found = q;
			break;
		}
	}
	spin_unlock_irq(&sn->fault_lock);
	return found;
}

/*
 * End the ownership of all slots of a queue, and drop the queued faults of these slots. The
 * caller holds svm_node.fault_lock.
 *
 * Return: a mask of the slots; the caller acknowledges them.
 */
static unsigned long svm_cam_take(struct svm_fault_queue *q)
{
	struct svm_node *sn = q->node->svm;
	unsigned long slots = svm_cam_owned(sn, q);
	unsigned int i;

	for_each_set_bit(i, &slots, VGPU_RETRY_CAM_SLOTS) {
		sn->cam_owners[i] = NULL;
		/*
		 * Drop the queued fault that has this slot, if any. If the fault that is being
		 * served has this slot, record that the slot was acknowledged. These may be two
		 * different faults: if a reset or a ring overflow freed the slot while a fault was
		 * being served, a newer fault got the same slot, and was queued.
		 */
		if (!list_empty(&sn->slots[i].link))
			list_del_init(&sn->slots[i].link);
		if (q->serving && q->serving->cam == i)
			q->serving->acked = true;
	}
	return slots;
}

/* Take the user queues of @q's process off the GPU, then acknowledge the CAM slots that @q owns. */
static void svm_cam_release(struct svm_fault_queue *q)
{
	struct kfd_process *p = svm_process(q->svms);
	struct kfd_process_device *pdd = kfd_process_device_of(p, q->node->vdev);
	struct svm_node *sn = q->node->svm;
	unsigned long slots;
	unsigned int i;
	bool stays;

	/*
	 * Evict the queues before the acknowledgment, because queues that run would fault on the
	 * same pages again.
	 */
	kfd_process_evict_queues(pdd);
	spin_lock_irq(&sn->fault_lock);
	slots = svm_cam_take(q);
	/*
	 * Usually svm_cam_resume() undoes this eviction. In two cases it would not, so the end of
	 * this function undoes the eviction:
	 * - @q owned no slot any more: the worker has handled all faults of @q, and might not run
	 *   again to call svm_cam_resume().
	 * - @q->off is set already, by an earlier call: svm_cam_resume() will undo only one
	 *   eviction, the earlier one.
	 */
	stays = slots && !q->off;
	if (stays)
		q->off = true;
	spin_unlock_irq(&sn->fault_lock);

	for_each_set_bit(i, &slots, VGPU_RETRY_CAM_SLOTS)
		vgpu_ih_cam_ack(q->node->vdev, i);
	if (stays) {
		vgpu_stat_add(q->node->vdev, VGPU_STAT_CAM_STALLS, 1);
		kfd_smi_queue_eviction(&q->node->smi, p->lead_thread->pid,
				       KFD_QUEUE_EVICTION_TRIGGER_SVM);
	} else {
		kfd_process_restore_queues(pdd);
	}
}

void svm_cam_resume(struct svm_fault_queue *q)
{
	struct svm_node *sn = q->node->svm;
	struct kfd_process *p;
	bool off;

	spin_lock_irq(&sn->fault_lock);
	off = q->off;
	q->off = false;
	spin_unlock_irq(&sn->fault_lock);
	if (!off)
		return;
	p = svm_process(q->svms);
	kfd_process_restore_queues(kfd_process_device_of(p, q->node->vdev));
	kfd_smi_queue_restore(&q->node->smi, p->lead_thread->pid, true);
}

static bool svm_cam_is_full(struct svm_node *sn)
{
	bool full;

	spin_lock_irq(&sn->fault_lock);
	full = svm_cam_full(sn);
	spin_unlock_irq(&sn->fault_lock);
	return full;
}

void svm_cam_work(struct work_struct *work)
{
	struct svm_node *sn = container_of(to_delayed_work(work), struct svm_node,
					   cam_work);
	struct svm_fault_queue *q;

	if (!svm_cam_is_full(sn))
		return;
	while ((q = svm_cam_find_stalled(sn))) {
		svm_cam_release(q);
		kfd_unref_process(svm_process(q->svms));
	}
	/*
	 * If still no slot is free, check again later. The fault queues that own the slots have
	 * not stalled yet, but may have stalled by then.
	 */
	if (svm_cam_is_full(sn))
		queue_delayed_work(sn->wq, &sn->cam_work,
				   msecs_to_jiffies(SVM_CAM_STALL_MS));
}
