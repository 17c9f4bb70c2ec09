// SPDX-License-Identifier: GPL-2.0
/*
 * Implements what SDMA queues (kfd_queue_sdma.c) and compute queues (kfd_queue_compute.c) have
 * in common.
 *
 * "Loaded" means that a queue is on the hardware. kfd_queue_prepare() checks the conditions for
 * this. After a condition has changed, kfd_queue_sync() loads or unloads the queue.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "hw/cp/vgpu_cp.h"
#include "hw/vgpu_mmio.h"
#include "hw/vgpu_recover.h"
#include "process/kfd_evict.h"
#include "process/kfd_mem.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "kfd_queue.h"
#include "kfd_queue_priv.h"

static struct device *kfd_queue_dev(const struct kfd_queue *q)
{
	return q->pdd->node->vdev->drm.dev;
}

/*
 * Load or unload an SDMA queue. For a compute queue, set *@listed, so that the caller submits a
 * run list, which loads or unloads the queue.
 */
static int kfd_queue_prepare(struct kfd_queue *q, bool *listed)
{
	bool run = q->enabled && !q->faulted && !q->hung && !q->suspended &&
		   !q->pdd->evicted;

	lockdep_assert_held(&q->pdd->process->queue_lock);

	if (run == q->loaded)
		return 0;
	if (q->kind == KFD_QUEUE_SDMA)
		return run ? kfd_sdma_load(q) : kfd_sdma_unload(q);
	kfd_sched_mark(q, run);
	*listed = true;
	return 0;
}

int kfd_queue_sync(struct kfd_queue *q)
{
	bool listed = false;
	int ret = kfd_queue_prepare(q, &listed);

	return listed ? kfd_sched_submit(q->pdd->node) : ret;
}

/**
 * kfd_queues_sync() - load or unload queues of a process on a GPU, as each queue's state requires
 * @pdd: state of the process on the GPU
 *
 * Context: kfd_process.queue_lock is held. Does not allocate.
 *
 * Return: 0, or -ETIME if the hardware did not release or did not start a queue. The other queues
 * are handled nevertheless.
 */
int kfd_queues_sync(struct kfd_process_device *pdd)
{
	bool listed = false;
	struct kfd_queue *q;
	int r, ret = 0;

	list_for_each_entry(q, &pdd->qpd->queues, link) {
		r = kfd_queue_prepare(q, &listed);
		ret = ret ?: r;
	}
	if (listed) {
		r = kfd_sched_submit(pdd->node);
		ret = ret ?: r;
	}
	return ret;
}

/**
 * kfd_queues_stop() - stop all queues of a process on a GPU for good
 * @pdd: state of the process on the GPU
 * @ran: bitmap of queue ids, or NULL; the bits of queues that were loaded are set
 *
 * Does not destroy the queues.
 *
 * Context: takes kfd_process.queue_lock. Does not allocate.
 */
void kfd_queues_stop(struct kfd_process_device *pdd, unsigned long *ran)
{
	struct kfd_process *p = pdd->process;
	struct kfd_queue *q;

	mutex_lock(&p->queue_lock);
	list_for_each_entry(q, &pdd->qpd->queues, link) {
		if (ran && q->loaded)
			__set_bit(q->id, ran);
		q->faulted = true;
	}
	kfd_queues_sync(pdd);
	mutex_unlock(&p->queue_lock);
}

static unsigned int kfd_queue_engine(const struct kfd_queue *q)
{
	return q->kind == KFD_QUEUE_SDMA ? q->engine : VGPU_ENGINE_CP;
}

/*
 * Returns true if @q can continue after a reset: @q was not loaded, or the state of @q was not
 * lost. An SDMA queue that hung can never continue.
 */
static bool kfd_queue_recovered(struct kfd_queue *q)
{
	if (q->kind == KFD_QUEUE_SDMA)
		return kfd_sdma_recovered(q);
	return !q->loaded || q->lost == vgpu_cp_lost(q->pdd->node->vdev);
}

/**
 * kfd_queue_stop() - stop a queue until it is destroyed, and log the reason
 * @q: queue; kfd_process.queue_lock is held
 * @why: reason, for the message
 */
void kfd_queue_stop(struct kfd_queue *q, const char *why)
{
	struct kfd_process *p = q->pdd->process;

	if (!q->faulted)
		dev_err(kfd_queue_dev(q),
			"queue %u of pid %d, pasid %u, is stopped for good: %s\n",
			q->id, p->lead_thread->pid, p->pasid, why);
	q->hung = false;
	q->faulted = true;
	kfd_queue_sync(q);
}

/**
 * kfd_queues_recovered() - after a reset, stop the queues that cannot continue
 * @pdd: state of the process on the GPU
 * @engine: SDMA engine that was reset, or VGPU_ENGINE_CP for the command processor
 * @vm_lost: the reset lost the page tables of the process, so stop all queues of @engine
 *
 * Context: takes kfd_process.queue_lock. Does not allocate.
 *
 * Return: true if a queue was stopped.
 */
bool kfd_queues_recovered(struct kfd_process_device *pdd, unsigned int engine,
			  bool vm_lost)
{
	struct kfd_process *p = pdd->process;
	struct kfd_queue *q;
	bool died = false;

	mutex_lock(&p->queue_lock);
	list_for_each_entry(q, &pdd->qpd->queues, link) {
		if (kfd_queue_engine(q) != engine)
			continue;
		if (!q->faulted && vm_lost) {
			kfd_queue_stop(q, "VRAM was lost");
			died = true;
		} else if (!kfd_queue_recovered(q)) {
			kfd_queue_stop(q, engine == VGPU_ENGINE_CP ?
				       "not restored after a CP reset" :
				       "not restored after an SDMA reset");
			died = true;
		}
	}
	mutex_unlock(&p->queue_lock);
	return died;
}

/*
 * Stop a queue that has lost the memory of its write pointer: user space has unmapped the memory,
 * which belongs to a userptr BO.
 */
static void kfd_queue_no_wptr(struct kfd_queue *q)
{
	struct kfd_process *p = q->pdd->process;

	mutex_lock(&p->queue_lock);
	kfd_queue_stop(q, "its write pointer has no memory");
	mutex_unlock(&p->queue_lock);
}

/**
 * kfd_queues_map_wptr() - map the write pointers of a process's SDMA queues again after an eviction
 * @p: process; BOs of @p may have moved, and queues of @p do not run yet
 *
 * Stops each queue whose write pointer cannot be mapped.
 *
 * Context: kfd_process.mutex is held. Takes reservations and kfd_process.queue_lock.
 */
void kfd_queues_map_wptr(struct kfd_process *p)
{
	struct kfd_queue *q;
	u32 i;

	lockdep_assert_held(&p->mutex);

	for (i = 0; i < p->n_pdds; i++)
		list_for_each_entry(q, &p->pdds[i]->qpd->queues, link)
			if (q->kind == KFD_QUEUE_SDMA && kfd_sdma_map_wptr(q))
				kfd_queue_no_wptr(q);
}

/**
 * kfd_dqm_init() - prepare a GPU for the queues of processes
 * @node: GPU that no process uses yet
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_dqm_init(struct kfd_node *node)
{
	struct device_queue_manager *dqm = kzalloc(sizeof(*dqm), GFP_KERNEL);

	if (!dqm)
		return -ENOMEM;
	mutex_init(&dqm->queue_lock);
	kfd_sched_init(&dqm->sched);
	node->dqm = dqm;
	return 0;
}

/**
 * kfd_dqm_fini() - undo kfd_dqm_init()
 * @node: GPU that no process uses
 */
void kfd_dqm_fini(struct kfd_node *node)
{
	struct device_queue_manager *dqm = node->dqm;

	kfd_sched_fini(&dqm->sched);
	mutex_destroy(&dqm->queue_lock);
	node->dqm = NULL;
	kfree(dqm);
}

/**
 * kfd_qpd_init() - let a process have queues on a GPU
 * @pdd: state of the process on the GPU; the function sets @pdd->qpd
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_qpd_init(struct kfd_process_device *pdd)
{
	struct qcm_process_device *qpd = kzalloc(sizeof(*qpd), GFP_KERNEL);

	if (!qpd)
		return -ENOMEM;
	qpd->pdd = pdd;
	INIT_LIST_HEAD(&qpd->queues);
	INIT_LIST_HEAD(&qpd->run_queues);
	pdd->qpd = qpd;
	return 0;
}

/**
 * kfd_qpd_fini() - undo kfd_qpd_init()
 * @pdd: state of the process on the GPU; no queue is left
 */
void kfd_qpd_fini(struct kfd_process_device *pdd)
{
	kfree(pdd->qpd);
	pdd->qpd = NULL;
}

/*
 * Returns -ENOMEM if no queue id is free. With @saved, returns -EINVAL if the saved id is out of
 * range, or -ENOSPC if the saved id is taken.
 */
static int kfd_queue_get_id(struct kfd_queue *q,
			    const struct kfd_queue_saved *saved)
{
	struct process_queue_manager *pqm = &q->pdd->process->pqm;
	unsigned long id;

	id = saved ? saved->id :
		     find_first_zero_bit(pqm->queue_slot_bitmap,
					 KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
	if (id >= KFD_MAX_NUM_OF_QUEUES_PER_PROCESS)
		return saved ? -EINVAL : -ENOMEM;
	if (test_bit(id, pqm->queue_slot_bitmap))
		return -ENOSPC;
	__set_bit(id, pqm->queue_slot_bitmap);
	pqm->n_queues++;
	q->id = id;
	return 0;
}

static void kfd_queue_put_id(struct kfd_queue *q)
{
	struct process_queue_manager *pqm = &q->pdd->process->pqm;

	__clear_bit(q->id, pqm->queue_slot_bitmap);
	if (!--pqm->n_queues)
		kfd_process_release_resident(q->pdd->process);
}

static int kfd_queue_start(struct kfd_queue *q)
{
	struct kfd_process *p = q->pdd->process;
	int ret;

	mutex_lock(&p->queue_lock);
	list_add_tail(&q->link, &q->pdd->qpd->queues);
	ret = kfd_queue_sync(q);
	if (ret) {
		q->enabled = false;
		kfd_queue_sync(q);
		list_del(&q->link);
	}
	mutex_unlock(&p->queue_lock);
	return ret;
}

static int kfd_queue_init_kind(struct kfd_queue *q,
			       const struct kfd_queue_properties *props)
{
	q->wptr_va = props->wptr_va;
	if (q->kind == KFD_QUEUE_COMPUTE)
		return kfd_cp_init(q, props);
	q->regs.ring_va = props->ring_va;
	q->regs.ring_bytes = props->ring_bytes;
	q->regs.rptr_va = props->rptr_va;
	return kfd_sdma_init(q, props);
}

static void kfd_queue_fini_kind(struct kfd_queue *q)
{
	if (q->kind == KFD_QUEUE_COMPUTE)
		kfd_cp_fini(q);
	else
		kfd_sdma_fini(q);
}

/**
 * kfd_queue_create() - create a queue, and load it if it may run
 * @pdd: state of the process on the GPU, with a VM
 * @props: properties of the queue
 * @out: set to the queue
 *
 * Context: kfd_process.mutex is held; no reservation is held.
 *
 * Return: 0, -ENOMEM, or an error of:
 * kfd_doorbell_alloc(), kfd_queue_get_buffers(), kfd_queue_get_id(), kfd_process_make_resident(),
 * kfd_cp_init(), kfd_sdma_init(), kfd_queue_sync().
 */
int kfd_queue_create(struct kfd_process_device *pdd,
		     const struct kfd_queue_properties *props,
		     struct kfd_queue **out)
{
	struct kfd_queue *q;
	int ret;

	lockdep_assert_held(&pdd->process->mutex);

	ret = kfd_doorbell_alloc(pdd);
	if (ret)
		return ret;
	q = kzalloc(sizeof(*q), GFP_KERNEL);
	if (!q)
		return -ENOMEM;
	q->pdd = pdd;
	q->kind = props->kind;
	q->aql = props->aql;
	q->enabled = props->enabled;
	q->faulted = props->saved && props->saved->faulted;
	q->exceptions = KFD_EC_MASK(EC_QUEUE_NEW);
	q->born = vgpu_clock_read(pdd->node->vdev);

	ret = kfd_queue_get_buffers(q, props);
	if (ret)
		goto err_free;
	ret = kfd_queue_get_id(q, props->saved);
	if (ret)
		goto err_buffers;
	ret = kfd_process_make_resident(pdd->process);
	if (ret)
		goto err_id;
	ret = kfd_queue_init_kind(q, props);
	if (ret)
		goto err_id;
	ret = kfd_queue_start(q);
	if (ret)
		goto err_kind;
	kfd_queue_sysfs_add(q);
	*out = q;
	return 0;

err_kind:
	kfd_queue_fini_kind(q);
err_id:
	kfd_queue_put_id(q);
err_buffers:
	kfd_queue_put_buffers(q);
err_free:
	kfree(q);
	return ret;
}

/**
 * kfd_queue_destroy() - unload and free a queue
 * @q: queue; freed
 *
 * After the last queue of a process is destroyed, the BOs of the process may be evicted at any
 * time.
 *
 * Context: kfd_process.mutex is held. Sleeps.
 */
void kfd_queue_destroy(struct kfd_queue *q)
{
	struct kfd_process_device *pdd = q->pdd;
	struct kfd_process *p = pdd->process;

	lockdep_assert_held(&p->mutex);

	kfd_queue_sysfs_remove(q);
	mutex_lock(&p->queue_lock);
	q->enabled = false;
	kfd_queue_sync(q);
	list_del(&q->link);
	mutex_unlock(&p->queue_lock);

	if (pdd->qpd->gws_queue == q)
		pdd->qpd->gws_queue = NULL;
	kfd_queue_fini_kind(q);
	kfd_queue_put_id(q);
	kfd_queue_put_buffers(q);
	kfree(q);
}

/**
 * kfd_queues_destroy() - destroy all queues of a process, on all GPUs
 * @p: process; kfd_process.mutex is held
 */
void kfd_queues_destroy(struct kfd_process *p)
{
	struct kfd_queue *q, *next;
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		list_for_each_entry_safe(q, next, &p->pdds[i]->qpd->queues, link)
			kfd_queue_destroy(q);
}

/**
 * kfd_queue_update() - change the ring, priority and state of a queue
 * @q: queue
 * @ring_va: new ring; 0 stops the queue and keeps the old ring
 * @ring_bytes: bytes of the new ring, a power of two
 * @priority: 0 to KFD_MAX_QUEUE_PRIORITY; compute queues only
 * @enabled: let the queue run, if @ring_va is not 0
 *
 * Context: kfd_process.mutex is held. Takes kfd_process.queue_lock.
 *
 * Return:
 * * 0, or an error of kfd_queue_sync()
 * * -EFAULT: the new ring is not page-aligned or not a mapped BO
 */
int kfd_queue_update(struct kfd_queue *q, u64 ring_va, u32 ring_bytes,
		     u8 priority, bool enabled)
{
	struct kfd_process *p = q->pdd->process;
	struct kfd_mem_attachment *ring = NULL;
	int ret;

	lockdep_assert_held(&p->mutex);

	if (ring_va) {
		if (!IS_ALIGNED(ring_va, PAGE_SIZE))
			return -EFAULT;
		ring = kfd_queue_get_buffer(q->pdd, ring_va, ring_bytes);
		if (!ring)
			return -EFAULT;
	}

	mutex_lock(&p->queue_lock);
	q->enabled = false;
	ret = kfd_queue_sync(q);
	if (q->kind == KFD_QUEUE_COMPUTE) {
		kfd_cp_set_ring(q, ring ? ring_va : q->cp.ring_va,
				ring ? ring_bytes : q->cp.ring_bytes, priority);
	} else if (ring) {
		q->regs.ring_va = ring_va;
		q->regs.ring_bytes = ring_bytes;
	}
	q->enabled = enabled && ring;
	ret = kfd_queue_sync(q) ?: ret;
	mutex_unlock(&p->queue_lock);

	/*
	 * If there is no new ring, the queue still has its old ring. So keep q->ring: this
	 * reference prevents user space from unmapping the old ring.
	 */
	if (ring) {
		kfd_queue_put_buffer(&q->ring);
		q->ring = ring;
	}
	return ret;
}

/**
 * kfd_queue_by_id() - look up a queue of a process, on all GPUs
 * @p: process
 * @id: queue id
 *
 * Context: kfd_process.mutex is held.
 *
 * Return: the queue, or NULL.
 */
struct kfd_queue *kfd_queue_by_id(struct kfd_process *p, u32 id)
{
	struct kfd_queue *q;
	u32 i;

	lockdep_assert_held(&p->mutex);

	for (i = 0; i < p->n_pdds; i++)
		list_for_each_entry(q, &p->pdds[i]->qpd->queues, link)
			if (q->id == id)
				return q;
	return NULL;
}
