// SPDX-License-Identifier: GPL-2.0
/*
 * User-mode SDMA queues.
 *
 * A queue owns a hardware queue from its creation to its destruction. It is
 * on the hardware ("loaded") while user space has it enabled, no fault has
 * stopped it and nobody holds it evicted; kfd_queue_settle() brings the
 * hardware in line with that. Doorbells that ring while it is off are lost,
 * so loading takes the write pointer from user memory, as amdkfd does.
 */
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "vgpu/doorbell.h"
#include "kfd_mem.h"
#include "kfd_queue.h"
#include "kfd_room.h"

/* Each takes a submission of user space, in the few instructions it matters. */
#define KFD_CATCH_UP_TRIES	64

/* The hardware. */

static struct device *kfd_queue_dev(const struct kfd_queue *q)
{
	return q->pdd->node->vdev->drm.dev;
}

static u64 kfd_queue_read_wptr(const struct kfd_queue *q)
{
	return q->wptr_is_io ? readq(q->wptr_io) : READ_ONCE(*q->wptr_cpu);
}

/*
 * A doorbell that rang after the write pointer was read for loading, but
 * before the hardware listened, rings again. Ours may race with newer ones of
 * user space, hence the second look at what it announced.
 */
static void kfd_queue_catch_up(struct kfd_queue *q)
{
	u64 wptr, rung = q->regs.wptr;
	unsigned int i;

	for (i = 0; i < KFD_CATCH_UP_TRIES; i++) {
		mb();	/* the hardware listens, or has heard, before we look */
		wptr = kfd_queue_read_wptr(q);
		if (wptr == rung)
			break;
		vgpu_wdoorbell64(q->pdd->node->vdev, q->regs.doorbell_offset,
				 wptr);
		rung = wptr;
	}
}

static int kfd_queue_load(struct kfd_queue *q)
{
	int ret;

	q->regs.wptr = kfd_queue_read_wptr(q);
	ret = vgpu_sdma_queue_load(q->pdd->node->vdev, q->engine, q->hw_queue,
				   &q->regs);
	if (ret) {
		dev_err(kfd_queue_dev(q), "SDMA%u queue %u does not start: %d\n",
			q->engine, q->hw_queue, ret);
		return ret;
	}
	q->loaded = true;
	kfd_queue_catch_up(q);
	return 0;
}

static int kfd_queue_unload(struct kfd_queue *q)
{
	u64 doorbell;
	int ret;

	ret = vgpu_sdma_queue_unload(q->pdd->node->vdev, q->engine,
				     q->hw_queue, &q->regs.rptr, &doorbell);
	q->loaded = false;
	if (ret) {
		/* Nobody else shall have it. */
		q->hung = true;
		dev_err(kfd_queue_dev(q), "SDMA%u queue %u does not stop: %d\n",
			q->engine, q->hw_queue, ret);
	}
	return ret;
}

static int kfd_queue_settle(struct kfd_queue *q)
{
	bool run = q->enabled && !q->faulted && !q->hung && !q->pdd->evicted;

	lockdep_assert_held(&q->pdd->process->queue_lock);

	if (run == q->loaded)
		return 0;
	return run ? kfd_queue_load(q) : kfd_queue_unload(q);
}

void kfd_queue_lock_teach(struct kfd_process *p)
{
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&p->queue_lock);
	fs_reclaim_release(GFP_KERNEL);
}

static int kfd_process_settle_queues(struct kfd_process_device *pdd)
{
	struct kfd_queue *q;
	int r, ret = 0;

	list_for_each_entry(q, &pdd->queues, link) {
		r = kfd_queue_settle(q);
		ret = ret ?: r;
	}
	return ret;
}

int kfd_process_evict_queues(struct kfd_process_device *pdd)
{
	struct kfd_process *p = pdd->process;
	int ret = 0;

	mutex_lock(&p->queue_lock);
	if (!pdd->evicted++)
		ret = kfd_process_settle_queues(pdd);
	mutex_unlock(&p->queue_lock);
	return ret;
}

int kfd_process_restore_queues(struct kfd_process_device *pdd)
{
	struct kfd_process *p = pdd->process;
	int ret = 0;

	mutex_lock(&p->queue_lock);
	if (!WARN_ON_ONCE(!pdd->evicted) && !--pdd->evicted)
		ret = kfd_process_settle_queues(pdd);
	mutex_unlock(&p->queue_lock);
	return ret;
}

void kfd_process_vm_fault(struct kfd_process_device *pdd, u64 va, bool write)
{
	DECLARE_BITMAP(stopped, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
	struct kfd_process *p = pdd->process;
	char comm[TASK_COMM_LEN];
	struct kfd_queue *q;

	bitmap_zero(stopped, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
	mutex_lock(&p->queue_lock);
	list_for_each_entry(q, &pdd->queues, link) {
		if (q->loaded)
			__set_bit(q->id, stopped);
		q->faulted = true;
	}
	kfd_process_settle_queues(pdd);
	mutex_unlock(&p->queue_lock);

	get_task_comm(comm, p->lead_thread);
	dev_err_ratelimited(pdd->node->vdev->drm.dev,
			    "GPU memory fault: %s of 0x%llx by pid %d (%s), pasid %u; queues stopped: %*pbl\n",
			    write ? "write" : "read", va, p->lead_thread->pid,
			    comm, p->pasid,
			    KFD_MAX_NUM_OF_QUEUES_PER_PROCESS, stopped);
}

/* Hardware queues. */

/* Engines take turns, as amdkfd has it. */
static int kfd_queue_get_slot(struct kfd_queue *q, int want)
{
	struct kfd_node *node = q->pdd->node;
	unsigned int slot, engine;

	mutex_lock(&node->queue_lock);
	for (slot = 0; slot < SDMA_NUM_RLC; slot++) {
		for (engine = 0; engine < VGPU_NUM_SDMA; engine++) {
			if (want >= 0 && want != engine)
				continue;
			if (__test_and_set_bit(slot, &node->sdma_busy[engine]))
				continue;
			mutex_unlock(&node->queue_lock);
			q->engine = engine;
			q->hw_queue = slot;
			q->doorbell = 8 * (DOORBELL_SDMA(engine) +
					   (slot & 1) * DOORBELL_MIRROR +
					   (slot >> 1));
			return 0;
		}
	}
	mutex_unlock(&node->queue_lock);
	return -ENOMEM;
}

static void kfd_queue_put_slot(struct kfd_queue *q)
{
	struct kfd_node *node = q->pdd->node;

	if (q->hung)
		return;
	mutex_lock(&node->queue_lock);
	__clear_bit(q->hw_queue, &node->sdma_busy[q->engine]);
	mutex_unlock(&node->queue_lock);
}

/* User buffers. */

/*
 * amdgpu's rule: the buffer begins where a mapped BO begins, and has its size
 * in whole pages; a ring of less than a page may have a larger BO.
 */
static struct kfd_mem_attachment *
kfd_queue_get_buffer(struct kfd_process_device *pdd, u64 va, u64 bytes)
{
	struct kfd_mem_attachment *att = kgd_mem_find(pdd, va);

	if (!att || att->va != ALIGN_DOWN(va, PAGE_SIZE))
		return NULL;
	if (bytes >= PAGE_SIZE && bytes != att->size)
		return NULL;
	att->queue_refcount++;
	return att;
}

static void kfd_queue_put_buffer(struct kfd_mem_attachment **att)
{
	if (*att)
		(*att)->queue_refcount--;
	*att = NULL;
}

static void kfd_queue_put_buffers(struct kfd_queue *q)
{
	kfd_queue_put_buffer(&q->ring);
	kfd_queue_put_buffer(&q->rptr);
	kfd_queue_put_buffer(&q->wptr);
}

static int kfd_queue_get_buffers(struct kfd_queue *q,
				 const struct kfd_queue_properties *props)
{
	/* No hardware pointer may cross a page; the ring has no fraction. */
	if (!IS_ALIGNED(props->wptr_va | props->rptr_va, sizeof(u64)) ||
	    !IS_ALIGNED(props->ring_va, PAGE_SIZE))
		return -EINVAL;
	q->wptr = kfd_queue_get_buffer(q->pdd, props->wptr_va, PAGE_SIZE);
	q->rptr = kfd_queue_get_buffer(q->pdd, props->rptr_va, PAGE_SIZE);
	q->ring = kfd_queue_get_buffer(q->pdd, props->ring_va,
				       props->ring_bytes);
	if (!q->wptr || !q->rptr || !q->ring) {
		kfd_queue_put_buffers(q);
		return -EINVAL;
	}
	return 0;
}

/* The process is resident, so the mapping holds as long as the queue. */
static int kfd_queue_map_wptr(struct kfd_queue *q, u64 va)
{
	struct vgpu_bo *bo = q->wptr->mem->bo;
	void *cpu;
	int ret;

	ret = ttm_bo_reserve(&bo->tbo, true, false, NULL);
	if (ret)
		return ret;
	cpu = vgpu_bo_kmap(bo);
	if (IS_ERR(cpu)) {
		ret = PTR_ERR(cpu);
	} else {
		ttm_kmap_obj_virtual(&bo->kmap, &q->wptr_is_io);
		cpu += offset_in_page(va);
		if (q->wptr_is_io)
			q->wptr_io = (void __iomem __force *)cpu;
		else
			q->wptr_cpu = cpu;
	}
	ttm_bo_unreserve(&bo->tbo);
	return ret;
}

/* Queues. */

static int kfd_queue_get_id(struct kfd_queue *q)
{
	struct process_queue_manager *pqm = &q->pdd->process->pqm;
	unsigned long id;

	id = find_first_zero_bit(pqm->queue_slot_bitmap,
				 KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
	if (id >= KFD_MAX_NUM_OF_QUEUES_PER_PROCESS)
		return -ENOMEM;
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
		kgd_mem_release_resident(q->pdd->process);
}

/* The address space has a VMID while it has queues. */
static void kfd_queue_put_vmid(struct kfd_process_device *pdd)
{
	if (list_empty(&pdd->queues))
		vgpu_vm_put_vmid(pdd->vm);
}

static int kfd_queue_start(struct kfd_queue *q)
{
	struct kfd_process *p = q->pdd->process;
	int ret;

	q->regs.vmid = q->pdd->vm->vmid;
	q->regs.doorbell_offset =
		vgpu_bo_doorbell_offset(q->pdd->doorbells) + q->doorbell;
	mutex_lock(&p->queue_lock);
	list_add_tail(&q->link, &q->pdd->queues);
	ret = kfd_queue_settle(q);
	if (ret)
		list_del(&q->link);
	mutex_unlock(&p->queue_lock);
	return ret;
}

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
	q->enabled = props->enabled;
	q->regs.ring_va = props->ring_va;
	q->regs.ring_bytes = props->ring_bytes;
	q->regs.rptr_va = props->rptr_va;

	ret = kfd_queue_get_buffers(q, props);
	if (ret)
		goto err_free;
	ret = kfd_queue_get_id(q);
	if (ret)
		goto err_buffers;
	ret = kgd_mem_make_resident(pdd->process);
	if (ret)
		goto err_id;
	ret = kfd_queue_map_wptr(q, props->wptr_va);
	if (ret)
		goto err_id;
	ret = vgpu_vm_get_vmid(pdd->vm);
	if (ret)
		goto err_id;
	ret = kfd_queue_get_slot(q, props->engine);
	if (ret)
		goto err_vmid;
	ret = kfd_queue_start(q);
	if (ret)
		goto err_slot;
	*out = q;
	return 0;

err_slot:
	kfd_queue_put_slot(q);
err_vmid:
	kfd_queue_put_vmid(pdd);
err_id:
	kfd_queue_put_id(q);
err_buffers:
	kfd_queue_put_buffers(q);
err_free:
	kfree(q);
	return ret;
}

void kfd_queue_destroy(struct kfd_queue *q)
{
	struct kfd_process_device *pdd = q->pdd;
	struct kfd_process *p = pdd->process;

	lockdep_assert_held(&p->mutex);

	mutex_lock(&p->queue_lock);
	q->enabled = false;
	kfd_queue_settle(q);
	list_del(&q->link);
	mutex_unlock(&p->queue_lock);

	kfd_queue_put_slot(q);
	kfd_queue_put_vmid(pdd);
	kfd_queue_put_id(q);
	kfd_queue_put_buffers(q);
	kfree(q);
}

int kfd_queue_update(struct kfd_queue *q, u64 ring_va, u32 ring_bytes,
		     bool enabled)
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
	ret = kfd_queue_settle(q);
	if (ring) {
		q->regs.ring_va = ring_va;
		q->regs.ring_bytes = ring_bytes;
	}
	q->enabled = enabled && ring;
	ret = kfd_queue_settle(q) ?: ret;
	mutex_unlock(&p->queue_lock);

	/* A queue without a ring keeps its last one from being unmapped. */
	if (ring) {
		kfd_queue_put_buffer(&q->ring);
		q->ring = ring;
	}
	return ret;
}

struct kfd_queue *kfd_queue_by_id(struct kfd_process *p, u32 id)
{
	struct kfd_queue *q;
	u32 i;

	lockdep_assert_held(&p->mutex);

	for (i = 0; i < p->n_pdds; i++)
		list_for_each_entry(q, &p->pdds[i]->queues, link)
			if (q->id == id)
				return q;
	return NULL;
}
