// SPDX-License-Identifier: GPL-2.0
/*
 * The retry CAM, which all processes on a GPU share: a queue that faults needs a slot,
 * and waits while there is none.
 *
 * A process whose worker stalls in a page-in keeps the slots of its faults, and can have
 * as many queues as there are slots. So when all slots have been taken, svm_cam_work()
 * looks for processes that have slots and got none of their faults done for
 * SVM_CAM_STALL_MS. Their queues leave the GPU, then their slots are acknowledged. The
 * queues go on, and fault again if need be, when the process's worker has finished the
 * fault that it serves (svm_cam_resume()).
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

/* Longer than most repairs: a process that is merely busy keeps its queues. */
#define SVM_CAM_STALL_MS	250u

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

/* No slot is free. */
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
	/* After a reset the slot may have another fault. */
	if (!f->acked && sn->cam_owners[f->cam] == q)
		sn->cam_owners[f->cam] = NULL;
}

/*
 * A queue that owns slots and got nothing done, or NULL. The process is referenced: the
 * owner of a slot has a worker that is queued or runs, or is about to be queued by the
 * interrupt handler.
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
 * Take all slots from a queue, and the faults that wait with them. fault_lock held.
 *
 * Return: the slots.
 */
static unsigned long svm_cam_take(struct svm_fault_queue *q)
{
	struct svm_node *sn = q->node->svm;
	unsigned long slots = svm_cam_owned(sn, q);
	unsigned int i;

	for_each_set_bit(i, &slots, VGPU_RETRY_CAM_SLOTS) {
		sn->cam_owners[i] = NULL;
		/* The fault waits, or is being served; both if the device has sent it again. */
		if (!list_empty(&sn->slots[i].link))
			list_del_init(&sn->slots[i].link);
		if (q->serving && q->serving->cam == i)
			q->serving->acked = true;
	}
	return slots;
}

static void svm_cam_release(struct svm_fault_queue *q)
{
	struct kfd_process *p = svm_process(q->svms);
	struct kfd_process_device *pdd = kfd_process_device_of(p, q->node->vdev);
	struct svm_node *sn = q->node->svm;
	unsigned long slots;
	unsigned int i;
	bool stays;

	/* First, or the queues would fault again at once. */
	kfd_process_evict_queues(pdd);
	spin_lock_irq(&sn->fault_lock);
	slots = svm_cam_take(q);
	/* Without slots the worker is through, and nobody would call svm_cam_resume(). */
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
	/* Those that are not stalled may be by then. */
	if (svm_cam_is_full(sn))
		queue_delayed_work(sn->wq, &sn->cam_work,
				   msecs_to_jiffies(SVM_CAM_STALL_MS));
}
