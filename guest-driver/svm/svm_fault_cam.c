// SPDX-License-Identifier: GPL-2.0
/*
 * Records which process owns each slot of a GPU's retry CAM. While no slot is free, a queue that
 * faults stalls. So svm_cam_work() then frees the slots of processes that make no progress.
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
 * A process that owns CAM slots has stalled if none of its faults was acknowledged for this time.
 * Most repairs take less time.
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
 * Return a fault queue that owns slots and has stalled, or NULL. The caller drops the reference to
 * the queue's process.
 */
static struct svm_fault_queue *svm_cam_find_stalled(struct svm_node *sn)
{
	unsigned long limit = jiffies - msecs_to_jiffies(SVM_CAM_STALL_MS);
	struct svm_fault_queue *found = NULL;
	unsigned int i;

	/*
	 * The process of a queue is alive: while the queue owns slots, svm_fault_irq() or the
	 * queue's work item holds a reference to the process.
	 */
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
 * Take all slots from @q, and drop the slots' queued faults. The caller holds svm_node.fault_lock,
 * and acknowledges the slots of the returned mask.
 */
static unsigned long svm_cam_take(struct svm_fault_queue *q)
{
	struct svm_node *sn = q->node->svm;
	unsigned long slots = svm_cam_owned(sn, q);
	unsigned int i;

	for_each_set_bit(i, &slots, VGPU_RETRY_CAM_SLOTS) {
		sn->cam_owners[i] = NULL;
		/*
		 * After a reset has freed the slot, @q may have two faults with this slot: an older
		 * fault that is being served, and a queued fault. Here, drop the queued fault.
		 */
		if (!list_empty(&sn->slots[i].link))
			list_del_init(&sn->slots[i].link);
		/* The caller acknowledges the slot, so svm_fault_ack() must not do so again. */
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
	 * Keep the eviction if @q owned slots: the worker of @q will undo one eviction
	 * (svm_cam_resume()). If @q->off is already true, an earlier eviction is kept, so do not
	 * keep a second one.
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
		/* Undo the eviction above, because svm_cam_resume() will not undo it. */
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
