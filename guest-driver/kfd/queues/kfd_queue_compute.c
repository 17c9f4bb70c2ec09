// SPDX-License-Identifier: GPL-2.0
/*
 * Sets up PM4 and AQL compute queues: buffers of user space, doorbell, MQD. kfd_runlist.c
 * submits the queues to the CP.
 */
#include <linux/mm.h>
#include <drm/amdgpu_drm.h>

#include "vgpu/doorbell.h"
#include "device/vgpu_chip.h"
#include "hw/cp/vgpu_mqd.h"
#include "mm/vgpu_bo.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "vm/vgpu_vm.h"
#include "kfd_queue.h"
#include "kfd_queue_priv.h"

/* Maximum numbers of waves that the modelled GPU runs at the same time. */
#define CP_MAX_WAVES_PER_CU	40u
#define CP_MAX_WAVES_PER_SE	512u
/* Sizes of the parts of a context save area and of the debugger's area after it, in bytes. */
#define CP_STACK_PER_WAVE	8u
#define CP_STACK_HEADER		(40u + 8u)
#define CP_DEBUG_PER_WAVE	32u
#define CP_SAVE_PER_CU		(SZ_512K /* VGPRs */ + SZ_16K /* SGPRs */ + \
				 SZ_64K /* LDS */ + SZ_4K /* registers */)

static u32 kfd_cp_waves(void)
{
	return min(VGPU_CHIP_NUM_CU * CP_MAX_WAVES_PER_CU,
		   VGPU_CHIP_NUM_SE * CP_MAX_WAVES_PER_SE);
}

/**
 * kfd_cp_stack_bytes() - return the size of the control stack that user space allocates
 *
 * Return: the size in bytes, a multiple of PAGE_SIZE.
 */
u32 kfd_cp_stack_bytes(void)
{
	return PAGE_ALIGN(CP_STACK_HEADER + kfd_cp_waves() * CP_STACK_PER_WAVE);
}

/**
 * kfd_cp_save_bytes() - return the size of the context save area that user space allocates
 *
 * The result includes the control stack. The debugger's area, which follows in the same allocation,
 * is not included.
 *
 * Return: the size in bytes, a multiple of PAGE_SIZE.
 */
u32 kfd_cp_save_bytes(void)
{
	return kfd_cp_stack_bytes() +
	       PAGE_ALIGN(VGPU_CHIP_NUM_CU * CP_SAVE_PER_CU);
}

/*
 * Bytes of the debugger's area, which follows the context save area in user space's allocation.
 */
static u32 kfd_cp_debug_bytes(void)
{
	return ALIGN(kfd_cp_waves() * CP_DEBUG_PER_WAVE, 64);
}

/*
 * Check the sizes of the control stack and of the context save area. Check that the area is a
 * mapped BO, or consists of SVM ranges that are always mapped.
 */
static int kfd_cp_get_save_area(struct kfd_queue *q,
				const struct kfd_queue_properties *props)
{
	u64 bytes = PAGE_ALIGN((u64)props->save_bytes + kfd_cp_debug_bytes());

	if (props->stack_bytes != kfd_cp_stack_bytes() ||
	    props->save_bytes < kfd_cp_save_bytes())
		return -EINVAL;
	q->save = kfd_queue_get_buffer(q->pdd, props->save_va, bytes);
	/*
	 * If the queue is restored from a checkpoint (@props->saved), its context save area may be
	 * missing until the CRIU operation RESUME.
	 */
	if (q->save || props->saved)
		return 0;
	/*
	 * User space may unmap the SVM ranges later. This is harmless: the device runs no waves, so
	 * no context is ever saved to the area.
	 */
	return svm_always_mapped(q->pdd->process, q->pdd->node->vdev,
				 props->save_va, bytes) ? 0 : -EINVAL;
}

/**
 * kfd_cp_has_save_area() - whether the context save area of a restored queue is mapped
 * @q: compute or SDMA queue, created from a checkpoint
 *
 * Context: kfd_process.mutex is held; the caller holds a reference on mm_users. Takes the locks
 * of svm_always_mapped().
 *
 * Return: true if the area is mapped, or if @q is an SDMA queue, which needs no area.
 */
bool kfd_cp_has_save_area(struct kfd_queue *q)
{
	return q->kind != KFD_QUEUE_COMPUTE || q->save ||
	       svm_always_mapped(q->pdd->process, q->pdd->node->vdev,
				 q->cp.save_va,
				 PAGE_ALIGN((u64)q->cp.save_bytes +
					    kfd_cp_debug_bytes()));
}

static int kfd_cp_get_buffers(struct kfd_queue *q,
			      const struct kfd_queue_properties *props)
{
	int ret;

	if (props->eop_va) {
		if (props->eop_bytes < KFD_EOP_BYTES ||
		    props->eop_bytes > U32_MAX || props->eop_va % 256)
			return -EINVAL;
		q->eop = kfd_queue_get_buffer(q->pdd, props->eop_va,
					      PAGE_ALIGN(props->eop_bytes));
		if (!q->eop)
			return -EINVAL;
	}
	ret = kfd_cp_get_save_area(q, props);
	if (ret)
		kfd_queue_put_buffer(&q->eop);
	return ret;
}

static void kfd_cp_put_buffers(struct kfd_queue *q)
{
	kfd_queue_put_buffer(&q->save);
	kfd_queue_put_buffer(&q->eop);
}

/*
 * Return true if doorbell @i of a process's slice of the doorbell BAR belongs to the CP, not to
 * another block (vgpu/doorbell.h).
 */
static bool kfd_cp_may_have_doorbell(unsigned long i)
{
	return i < KFD_DOORBELLS &&
	       (i % DOORBELL_MIRROR < DOORBELL_NON_CP_FIRST ||
		i % DOORBELL_MIRROR > DOORBELL_NON_CP_LAST);
}

static int kfd_cp_take_doorbell(struct kfd_queue *q, u32 offset)
{
	unsigned long i = offset / sizeof(u64);

	if (offset % sizeof(u64) || !kfd_cp_may_have_doorbell(i))
		return -EINVAL;
	if (__test_and_set_bit(i, q->pdd->qpd->doorbells_used))
		return -EBUSY;
	q->doorbell = offset;
	return 0;
}

static int kfd_cp_get_doorbell(struct kfd_queue *q)
{
	unsigned long *used = q->pdd->qpd->doorbells_used;
	unsigned long i;

	for_each_clear_bit(i, used, KFD_DOORBELLS) {
		if (!kfd_cp_may_have_doorbell(i))
			continue;
		__set_bit(i, used);
		q->doorbell = i * sizeof(u64);
		return 0;
	}
	return -ENOMEM;
}

static void kfd_cp_put_doorbell(struct kfd_queue *q)
{
	__clear_bit(q->doorbell / sizeof(u64), q->pdd->qpd->doorbells_used);
}

int kfd_cp_init(struct kfd_queue *q, const struct kfd_queue_properties *props)
{
	struct kfd_process_device *pdd = q->pdd;
	void *mqd;
	int ret;

	ret = kfd_cp_get_buffers(q, props);
	if (ret)
		return ret;
	ret = props->saved ? kfd_cp_take_doorbell(q, props->saved->doorbell) :
			     kfd_cp_get_doorbell(q);
	if (ret)
		goto err_buffers;
	ret = vgpu_vm_schedule(pdd->vm, &pdd->qpd->root_pde);
	if (ret)
		goto err_doorbell;
	ret = kfd_sched_reserve(pdd);
	if (ret)
		goto err_doorbell;
	ret = vgpu_bo_create_kernel(pdd->node->vdev, VGPU_CP_MQD_BYTES,
				    AMDGPU_GEM_DOMAIN_GTT, &q->mqd_bo,
				    &q->cp.mqd_mc, &mqd);
	if (ret)
		goto err_sched;

	q->mqd = mqd;
	q->cp.ring_va = props->ring_va;
	q->cp.ring_bytes = props->ring_bytes;
	q->cp.rptr_va = props->rptr_va;
	q->cp.wptr_va = props->wptr_va;
	q->cp.eop_va = props->eop_va;
	q->cp.eop_bytes = props->eop_bytes;
	q->cp.save_va = props->save_va;
	q->cp.save_bytes = props->save_bytes;
	q->cp.stack_bytes = props->stack_bytes;
	q->cp.priority = props->priority;
	q->cp.aql = props->aql;
	q->cp.doorbell_offset = vgpu_bo_doorbell_offset(pdd->doorbells) +
				q->doorbell;
	vgpu_mqd_init(q->mqd, &q->cp);
	if (props->saved) {
		ret = vgpu_mqd_set_state(q->mqd, props->saved->mqd);
		if (ret)
			goto err_mqd;
	}
	return 0;

err_mqd:
	vgpu_bo_free_kernel(&q->mqd_bo);
err_sched:
	kfd_sched_unreserve(pdd);
err_doorbell:
	kfd_cp_put_doorbell(q);
err_buffers:
	kfd_cp_put_buffers(q);
	return ret;
}

void kfd_cp_fini(struct kfd_queue *q)
{
	vgpu_bo_free_kernel(&q->mqd_bo);
	kfd_sched_unreserve(q->pdd);
	kfd_cp_put_doorbell(q);
	kfd_cp_put_buffers(q);
}

void kfd_cp_set_ring(struct kfd_queue *q, u64 ring_va, u32 ring_bytes,
		     u8 priority)
{
	q->cp.ring_va = ring_va;
	q->cp.ring_bytes = ring_bytes;
	q->cp.priority = priority;
	vgpu_mqd_set_ring(q->mqd, &q->cp);
}

/**
 * kfd_cp_set_cu_mask() - restrict a compute queue to a set of compute units
 * @q: compute queue
 * @mask: bit n stands for compute unit n / VGPU_CP_NUM_SE of shader engine n % VGPU_CP_NUM_SE;
 *        bits beyond the last unit are ignored
 * @bits: number of bits in @mask
 *
 * Context: kfd_process.mutex is held. Takes kfd_process.queue_lock.
 *
 * Return: 0 or -ETIME.
 */
int kfd_cp_set_cu_mask(struct kfd_queue *q, const u32 *mask, u32 bits)
{
	struct kfd_process *p = q->pdd->process;
	u32 se_mask[VGPU_CP_NUM_SE] = { };
	bool enabled;
	u32 i;
	int ret;

	BUILD_BUG_ON(VGPU_CHIP_NUM_SE != VGPU_CP_NUM_SE);

	for (i = 0; i < min_t(u32, bits, VGPU_CHIP_NUM_CU); i++)
		if (mask[i / 32] & BIT(i % 32))
			se_mask[i % VGPU_CP_NUM_SE] |= BIT(i / VGPU_CP_NUM_SE);

	mutex_lock(&p->queue_lock);
	enabled = q->enabled;
	q->enabled = false;
	ret = kfd_queue_sync(q);
	vgpu_mqd_set_cu_mask(q->mqd, se_mask);
	q->enabled = enabled;
	ret = kfd_queue_sync(q) ?: ret;
	mutex_unlock(&p->queue_lock);
	return ret;
}

/**
 * kfd_queue_set_gws() - give all global wave sync (GWS) of the GPU to a queue, or take it back
 * @q: compute or SDMA queue
 * @want: true to give, false to take back
 *
 * Context: kfd_process.mutex is held. Takes kfd_process.queue_lock.
 *
 * Return:
 * * 0
 * * -EBUSY: @want is true, and a queue of the process already has the GWS of the GPU
 * * -EINVAL: @q has no GWS to take back
 * * -ETIME: the CP hung; the change stays
 */
int kfd_queue_set_gws(struct kfd_queue *q, bool want)
{
	struct kfd_process_device *pdd = q->pdd;
	struct kfd_process *p = pdd->process;
	bool enabled;
	int ret;

	lockdep_assert_held(&p->mutex);

	/*
	 * Check only the queues of this process. A queue of another process may have GWS at the
	 * same time, because the CP runs the two processes in separate time slices.
	 */
	if (want && pdd->qpd->gws_queue)
		return -EBUSY;
	if (!want && pdd->qpd->gws_queue != q)
		return -EINVAL;
	pdd->qpd->gws_queue = want ? q : NULL;
	/* SDMA queues have no waves, so the hardware needs no setting. */
	if (q->kind != KFD_QUEUE_COMPUTE)
		return 0;

	mutex_lock(&p->queue_lock);
	enabled = q->enabled;
	q->enabled = false;
	ret = kfd_queue_sync(q);
	q->cp.gws = want;
	vgpu_mqd_set_gws(q->mqd, want);
	q->enabled = enabled;
	ret = kfd_queue_sync(q) ?: ret;
	mutex_unlock(&p->queue_lock);
	return ret;
}

/**
 * kfd_cp_saved() - describe the contents of a compute queue's context save area
 * @q: queue
 * @saved: set to the offsets and sizes of the control stack and of the wave state
 *
 * Context: kfd_process.mutex is held. Takes kfd_process.queue_lock.
 *
 * Return: 0, or -EINVAL for an SDMA queue or a queue that is loaded.
 */
int kfd_cp_saved(struct kfd_queue *q, struct vgpu_cp_saved *saved)
{
	struct kfd_process *p = q->pdd->process;
	int ret = -EINVAL;

	if (q->kind != KFD_QUEUE_COMPUTE)
		return -EINVAL;
	mutex_lock(&p->queue_lock);
	if (!q->loaded) {
		vgpu_mqd_saved(q->mqd, saved);
		ret = 0;
	}
	mutex_unlock(&p->queue_lock);
	return ret;
}
