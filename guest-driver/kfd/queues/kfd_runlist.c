// SPDX-License-Identifier: GPL-2.0
/*
 * Submits run lists to the CP. A run list contains all compute queues that may run, of all
 * processes. The CP assigns VMIDs and hardware queues. If there are too few, the CP runs processes
 * or queues in time slices.
 */
#include <linux/sched/mm.h>

#include "hw/cp/vgpu_cp.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "kfd_queue.h"
#include "kfd_queue_priv.h"

void kfd_sched_init(struct kfd_sched *sched)
{
	mutex_init(&sched->lock);
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&sched->lock);
	fs_reclaim_release(GFP_KERNEL);
	INIT_LIST_HEAD(&sched->qpds);
}

void kfd_sched_fini(struct kfd_sched *sched)
{
	mutex_destroy(&sched->lock);
}

int kfd_sched_reserve(struct kfd_process_device *pdd)
{
	struct kfd_sched *sched = &pdd->node->dqm->sched;
	u32 dwords = VGPU_CP_QUEUE_DWORDS +
		     (pdd->qpd->n_cp ? 0 : VGPU_CP_PROCESS_DWORDS);
	int ret = 0;

	mutex_lock(&sched->lock);
	if (sched->dwords + dwords > VGPU_CP_LIST_DWORDS) {
		ret = -EPERM;
	} else {
		sched->dwords += dwords;
		pdd->qpd->n_cp++;
	}
	mutex_unlock(&sched->lock);
	return ret;
}

void kfd_sched_unreserve(struct kfd_process_device *pdd)
{
	struct kfd_sched *sched = &pdd->node->dqm->sched;

	mutex_lock(&sched->lock);
	pdd->qpd->n_cp--;
	sched->dwords -= VGPU_CP_QUEUE_DWORDS +
			 (pdd->qpd->n_cp ? 0 : VGPU_CP_PROCESS_DWORDS);
	mutex_unlock(&sched->lock);
}

void kfd_sched_mark(struct kfd_queue *q, bool run)
{
	struct kfd_process_device *pdd = q->pdd;
	struct kfd_sched *sched = &pdd->node->dqm->sched;

	lockdep_assert_held(&pdd->process->queue_lock);

	mutex_lock(&sched->lock);
	q->loaded = run;
	if (run) {
		q->lost = vgpu_cp_lost(pdd->node->vdev);
		if (list_empty(&pdd->qpd->run_queues))
			list_add_tail(&pdd->qpd->run_link, &sched->qpds);
		list_add_tail(&q->run_link, &pdd->qpd->run_queues);
	} else {
		list_del(&q->run_link);
		if (list_empty(&pdd->qpd->run_queues))
			list_del(&pdd->qpd->run_link);
	}
	mutex_unlock(&sched->lock);
}

/*
 * Return the number of global wave sync (GWS) entries that the run list gives to a process. As in
 * amdkfd, this is all or none.
 */
static u32 kfd_sched_gws(struct kfd_process_device *pdd, u32 lost)
{
	struct kfd_queue *q;

	/* Skip the queues that kfd_sched_emit() leaves out of the list. */
	list_for_each_entry(q, &pdd->qpd->run_queues, run_link)
		if (q->lost == lost && q->cp.gws)
			return VGPU_CP_NUM_GWS;
	return 0;
}

/*
 * Append a process and its queues to the run list at @dw; return the number of dwords appended.
 * @lost is the present value of vgpu_cp_lost().
 */
static u32 kfd_sched_emit(struct kfd_process_device *pdd, u32 lost, __le32 *dw)
{
	struct kfd_queue *q;
	u32 n = 0;

	list_for_each_entry(q, &pdd->qpd->run_queues, run_link) {
		/*
		 * kfd_sched_mark() stored vgpu_cp_lost() in q->lost. If vgpu_cp_lost() has changed,
		 * the queue's state is lost, so the queue must not run again.
		 * kfd_queues_recovered() may not have stopped the queue yet.
		 */
		if (q->lost != lost)
			continue;
		if (!n) {
			vgpu_cp_emit_process(dw, pdd->process->pasid,
					     pdd->qpd->root_pde,
					     kfd_sched_gws(pdd, lost));
			n = VGPU_CP_PROCESS_DWORDS;
		}
		vgpu_cp_emit_queue(dw + n, &q->cp);
		n += VGPU_CP_QUEUE_DWORDS;
	}
	return n;
}

int kfd_sched_submit(struct kfd_node *node)
{
	struct kfd_sched *sched = &node->dqm->sched;
	struct qcm_process_device *qpd;
	u32 lost, n;
	__le32 *dw;
	int ret;

	/* Held until the list is submitted, so that an older list cannot replace a newer one. */
	mutex_lock(&sched->lock);
	/*
	 * -EAGAIN: a reset has changed vgpu_cp_lost() and dropped the CP's run list. The second try
	 * cannot return -EAGAIN, because resets without a run list do not change vgpu_cp_lost().
	 */
	do {
		lost = vgpu_cp_lost(node->vdev);
		dw = vgpu_cp_next_list(node->vdev);
		n = 0;
		list_for_each_entry(qpd, &sched->qpds, run_link)
			n += kfd_sched_emit(qpd->pdd, lost, dw + n);
		ret = vgpu_cp_run(node->vdev, n, lost);
	} while (ret == -EAGAIN);
	mutex_unlock(&sched->lock);
	return ret;
}
