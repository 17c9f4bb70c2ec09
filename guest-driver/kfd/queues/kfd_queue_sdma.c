// SPDX-License-Identifier: GPL-2.0
/*
 * Sets up, loads and unloads SDMA queues. Each SDMA queue owns one hardware queue, from creation to
 * destruction of the SDMA queue.
 */
#include <linux/kfd_ioctl.h>

#include "vgpu/doorbell.h"
#include "hw/sdma/vgpu_sdma_queue.h"
#include "mm/vgpu_bo.h"
#include "process/kfd_evict.h"
#include "process/kfd_mem.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "vm/vgpu_vm.h"
#include "kfd_queue.h"
#include "kfd_queue_priv.h"

static struct device *kfd_sdma_dev(const struct kfd_queue *q)
{
	return q->pdd->node->vdev->drm.dev;
}

/*
 * Called while a queue is being loaded. Reads the queue's write pointer from the process's memory,
 * as amdkfd does, because doorbell writes before the load are lost.
 */
static u64 kfd_sdma_read_wptr(const void *owner)
{
	const struct kfd_queue *q = owner;

	return q->wptr_is_io ? readq(q->wptr_io) : READ_ONCE(*q->wptr_cpu);
}

int kfd_sdma_load(struct kfd_queue *q)
{
	int ret;

	ret = vgpu_sdma_queue_load(q->pdd->node->vdev, q->engine, q->hw_queue,
				   &q->regs);
	if (ret) {
		dev_err(kfd_sdma_dev(q), "SDMA%u queue %u does not start: %d\n",
			q->engine, q->hw_queue, ret);
		return ret;
	}
	q->loaded = true;
	return 0;
}

int kfd_sdma_unload(struct kfd_queue *q)
{
	int ret;

	ret = vgpu_sdma_queue_unload(q->pdd->node->vdev, q->engine,
				     q->hw_queue, &q->regs.rptr);
	q->loaded = false;
	if (ret) {
		q->hung = true;
		dev_err(kfd_sdma_dev(q), "SDMA%u queue %u did not stop: %d\n",
			q->engine, q->hw_queue, ret);
	}
	return ret;
}

int kfd_sdma_map_wptr(struct kfd_queue *q)
{
	struct amdkfd_process_info *info = q->wptr->mem->process_info;
	struct vgpu_bo *bo = q->wptr->mem->bo;
	void *cpu;
	int ret;

	ret = ttm_bo_reserve(&bo->tbo, false, false, NULL);
	if (ret)
		return ret;
	cpu = vgpu_bo_cpu_addr(bo, q->wptr_va - q->wptr->va, &q->wptr_is_io);
	/* While the process is evicted, return 0: restore_work calls this function again. */
	if (IS_ERR(cpu))
		ret = kfd_evict_signalled(info) ? 0 : PTR_ERR(cpu);
	else if (q->wptr_is_io)
		q->wptr_io = (void __iomem __force *)cpu;
	else
		q->wptr_cpu = cpu;
	ttm_bo_unreserve(&bo->tbo);
	return ret;
}

static u32 kfd_sdma_doorbell(unsigned int engine, unsigned int slot)
{
	return 8 * (DOORBELL_SDMA(engine) + (slot & 1) * DOORBELL_MIRROR +
		    (slot >> 1));
}

/*
 * Reserve the hardware queue that the checkpoint names. The restored process rings the doorbell of
 * this hardware queue, and each hardware queue has its own doorbell.
 */
static int kfd_sdma_take_slot(struct kfd_queue *q,
			      const struct kfd_queue_saved *saved)
{
	unsigned int engine = saved->engine, slot = saved->hw_queue;
	struct device_queue_manager *dqm = q->pdd->node->dqm;
	bool taken;

	if (engine >= SDMA_NUM_ENGINES || slot >= SDMA_NUM_RLC ||
	    saved->doorbell != kfd_sdma_doorbell(engine, slot))
		return -EINVAL;
	mutex_lock(&dqm->queue_lock);
	taken = __test_and_set_bit(slot, &dqm->sdma_busy[engine]);
	mutex_unlock(&dqm->queue_lock);
	if (taken)
		return -EBUSY;
	q->engine = engine;
	q->hw_queue = slot;
	q->doorbell = saved->doorbell;
	q->regs.rptr = saved->rptr;
	return 0;
}

/*
 * Reserve a free hardware queue of an engine in mask @want. As in amdkfd, queues are spread over
 * these engines.
 */
static int kfd_sdma_get_slot(struct kfd_queue *q, u32 want)
{
	struct device_queue_manager *dqm = q->pdd->node->dqm;
	unsigned int slot, engine;

	mutex_lock(&dqm->queue_lock);
	for (slot = 0; slot < SDMA_NUM_RLC; slot++) {
		for (engine = 0; engine < SDMA_NUM_ENGINES; engine++) {
			if (!(want & BIT(engine)))
				continue;
			if (__test_and_set_bit(slot, &dqm->sdma_busy[engine]))
				continue;
			mutex_unlock(&dqm->queue_lock);
			q->engine = engine;
			q->hw_queue = slot;
			q->doorbell = kfd_sdma_doorbell(engine, slot);
			return 0;
		}
	}
	mutex_unlock(&dqm->queue_lock);
	return -ENOMEM;
}

static void kfd_sdma_put_slot(struct kfd_queue *q)
{
	struct device_queue_manager *dqm = q->pdd->node->dqm;

	mutex_lock(&dqm->queue_lock);
	__clear_bit(q->hw_queue, &dqm->sdma_busy[q->engine]);
	mutex_unlock(&dqm->queue_lock);
}

/*
 * All SDMA queues of a process on a GPU share one VMID. Release the VMID if no such queue is left.
 */
static void kfd_sdma_put_vmid(struct kfd_process_device *pdd)
{
	if (!--pdd->qpd->n_sdma)
		vgpu_vm_put_vmid(pdd->vm);
}

int kfd_sdma_init(struct kfd_queue *q, const struct kfd_queue_properties *props)
{
	struct kfd_process_device *pdd = q->pdd;
	int ret;

	/*
	 * From the CRIU operation RESTORE until RESUME (KFD_CRIU_RESTORED), the memory of the write
	 * pointer is not mapped yet. restore_work looks the write pointer up after RESUME.
	 */
	if (pdd->process->criu_state != KFD_CRIU_RESTORED) {
		ret = kfd_sdma_map_wptr(q);
		if (ret)
			return ret;
	}
	ret = vgpu_vm_get_vmid(pdd->vm);
	if (ret)
		return ret;
	pdd->qpd->n_sdma++;
	ret = props->saved ? kfd_sdma_take_slot(q, props->saved) :
			     kfd_sdma_get_slot(q, props->engines);
	if (ret) {
		kfd_sdma_put_vmid(pdd);
		return ret;
	}
	q->regs.read_wptr = kfd_sdma_read_wptr;
	q->regs.owner = q;
	q->regs.vmid = pdd->vm->vmid;
	q->regs.doorbell_offset =
		vgpu_bo_doorbell_offset(pdd->doorbells) + q->doorbell;
	return 0;
}

void kfd_sdma_fini(struct kfd_queue *q)
{
	kfd_sdma_put_slot(q);
	kfd_sdma_put_vmid(q->pdd);
}

/**
 * kfd_sdma_type() - return the type of an SDMA queue, as user space sees it
 * @q: SDMA queue
 *
 * The type depends only on the queue's engine, even if user space chose the engine by its number.
 *
 * Context: any.
 *
 * Return: KFD_IOC_QUEUE_TYPE_SDMA or KFD_IOC_QUEUE_TYPE_SDMA_XGMI.
 */
u32 kfd_sdma_type(const struct kfd_queue *q)
{
	return KFD_SDMA_XGMI & BIT(q->engine) ? KFD_IOC_QUEUE_TYPE_SDMA_XGMI :
						KFD_IOC_QUEUE_TYPE_SDMA;
}

bool kfd_sdma_recovered(struct kfd_queue *q)
{
	return !q->hung && (!q->loaded ||
			    vgpu_sdma_queue_is_loaded(q->pdd->node->vdev,
						      q->engine, q->hw_queue));
}
