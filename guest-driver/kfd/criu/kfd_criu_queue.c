// SPDX-License-Identifier: GPL-2.0
/*
 * Saves and restores the queues of a checkpoint. No queue is loaded while these functions run:
 * CHECKPOINT needs a paused process, and RESTORE keeps the queues off the hardware until RESUME.
 */
#include <linux/log2.h>

#include "hw/cp/vgpu_mqd.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "kfd_criu_image.h"
#include "kfd_criu_priv.h"

/* Fill @s with a description of @q. The caller holds queue_lock. Returns 0 or -EIO. */
static int queue_save(struct kfd_queue *q, u32 device, struct kfd_criu_queue *s)
{
	if (WARN_ON_ONCE(q->loaded))
		return -EIO;
	if (q->hung) {
		dev_warn(q->pdd->node->vdev->drm.dev,
			 "queue %u of pid %d cannot be checkpointed: the engine did not release it\n",
			 q->id, q->pdd->process->lead_thread->pid);
		return -EIO;
	}
	s->device = device;
	s->kind = q->kind;
	s->flags = (q->enabled ? KFD_CRIU_ENABLED : 0) |
		   (q->faulted ? KFD_CRIU_FAULTED : 0) |
		   (q->aql ? KFD_CRIU_AQL : 0) |
		   (q->pdd->qpd->gws_queue == q ? KFD_CRIU_GWS : 0);
	s->id = q->id;
	s->doorbell = q->doorbell;
	s->wptr_va = q->wptr_va;
	if (q->kind == KFD_QUEUE_SDMA) {
		s->ring_va = q->regs.ring_va;
		s->ring_bytes = q->regs.ring_bytes;
		s->rptr_va = q->regs.rptr_va;
		s->rptr = q->regs.rptr;
		s->engine = q->engine;
		s->hw_queue = q->hw_queue;
		return 0;
	}
	s->ring_va = q->cp.ring_va;
	s->ring_bytes = q->cp.ring_bytes;
	s->rptr_va = q->cp.rptr_va;
	s->eop_va = q->cp.eop_va;
	s->eop_bytes = q->cp.eop_bytes;
	s->save_va = q->cp.save_va;
	s->save_bytes = q->cp.save_bytes;
	s->stack_bytes = q->cp.stack_bytes;
	s->priority = q->cp.priority;
	vgpu_mqd_get_state(q->mqd, &s->mqd);
	return 0;
}

int kfd_criu_save_queues(struct kfd_process *p, struct kfd_criu_queue *queues)
{
	struct kfd_queue *q;
	int ret = 0;
	u32 i;

	mutex_lock(&p->queue_lock);
	for (i = 0; i < p->n_pdds; i++) {
		list_for_each_entry(q, &p->pdds[i]->qpd->queues, link) {
			ret = queue_save(q, i, queues++);
			if (ret)
				break;
		}
		if (ret)
			break;
	}
	mutex_unlock(&p->queue_lock);
	return ret;
}

/*
 * Return true if @s passes the checks of CREATE_QUEUE's arguments. kfd_queue_create() checks the
 * buffers.
 */
static bool queue_ok(const struct kfd_criu_queue *s, u32 n_pdds)
{
	bool compute = s->kind == KFD_QUEUE_COMPUTE;

	return s->device < n_pdds && (compute || s->kind == KFD_QUEUE_SDMA) &&
	       !(s->flags & ~KFD_CRIU_QUEUE_FLAGS) && !s->pad &&
	       s->id < KFD_MAX_NUM_OF_QUEUES_PER_PROCESS &&
	       s->ring_bytes >= KFD_MIN_QUEUE_RING_SIZE &&
	       is_power_of_2(s->ring_bytes) &&
	       s->priority <= KFD_MAX_QUEUE_PRIORITY &&
	       s->doorbell % sizeof(u64) == 0 &&
	       s->doorbell / sizeof(u64) < KFD_DOORBELLS &&
	       (compute || !(s->flags & KFD_CRIU_AQL)) &&
	       (compute || (s->engine < SDMA_NUM_ENGINES &&
			    s->hw_queue <= U8_MAX && s->rptr % 4 == 0));
}

int kfd_criu_restore_queue(struct kfd_process_device *const *pdds, u32 n_pdds,
			   const struct kfd_criu_queue *s)
{
	const struct kfd_queue_saved saved = {
		.id = s->id,
		.doorbell = s->doorbell,
		.engine = s->engine,
		.hw_queue = s->hw_queue,
		.faulted = s->flags & KFD_CRIU_FAULTED,
		.rptr = s->rptr,
		.mqd = &s->mqd,
	};
	const struct kfd_queue_properties props = {
		.kind = s->kind,
		.aql = s->flags & KFD_CRIU_AQL,
		.ring_va = s->ring_va,
		.ring_bytes = s->ring_bytes,
		.rptr_va = s->rptr_va,
		.wptr_va = s->wptr_va,
		.eop_va = s->eop_va,
		.eop_bytes = s->eop_bytes,
		.save_va = s->save_va,
		.save_bytes = s->save_bytes,
		.stack_bytes = s->stack_bytes,
		.priority = s->priority,
		.enabled = s->flags & KFD_CRIU_ENABLED,
		.saved = &saved,
	};
	struct kfd_queue *q;
	int ret;

	if (!queue_ok(s, n_pdds) || !pdds[s->device]->vm)
		return -EINVAL;
	ret = kfd_queue_create(pdds[s->device], &props, &q);
	if (ret || !(s->flags & KFD_CRIU_GWS))
		return ret;
	return kfd_queue_set_gws(q, true);
}
