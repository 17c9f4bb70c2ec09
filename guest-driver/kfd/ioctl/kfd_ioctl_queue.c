// SPDX-License-Identifier: GPL-2.0
/*
 * Implements CREATE_QUEUE, DESTROY_QUEUE, UPDATE_QUEUE, SET_CU_MASK, GET_QUEUE_WAVE_STATE and
 * ALLOC_QUEUE_GWS, with the arguments and errors of amdkfd.
 */
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/uaccess.h>

#include "hw/cp/vgpu_mqd.h"
#include "kfd/debug/kfd_debug.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "process/kfd_uapi.h"
#include "kfd_ioctl.h"

/* Number of bits of SET_CU_MASK's mask that are used; further bits are ignored. */
#define KFD_MAX_CU_MASK		1024u

static bool kfd_user_va_ok(u64 va, size_t bytes)
{
	return access_ok((const void __user *)va, bytes);
}

/* Check the arguments that CREATE_QUEUE and UPDATE_QUEUE have in common. */
static int kfd_queue_check(u32 percentage, u32 priority, u64 ring_va,
			   u32 *ring_bytes)
{
	/*
	 * Ignore bits 15:8 of the percentage, which select a compute partition, because there is
	 * only one partition.
	 */
	if ((percentage & 0xff) > KFD_MAX_QUEUE_PERCENTAGE ||
	    priority > KFD_MAX_QUEUE_PRIORITY)
		return -EINVAL;
	if (ring_va && !kfd_user_va_ok(ring_va, sizeof(u64)))
		return -EFAULT;
	if (*ring_bytes && !is_power_of_2(*ring_bytes))
		return -EINVAL;
	*ring_bytes = max_t(u32, *ring_bytes, KFD_MIN_QUEUE_RING_SIZE);
	return 0;
}

static int kfd_queue_check_pointers(struct kfd_ioctl_create_queue_args *args)
{
	if (!kfd_user_va_ok(args->read_pointer_address, sizeof(u32)) ||
	    !kfd_user_va_ok(args->write_pointer_address, sizeof(u32)))
		return -EFAULT;
	/*
	 * Only compute queues use the two buffers below. As in amdkfd, check the buffers for every
	 * queue, because ROCr passes them for every queue.
	 */
	if (args->eop_buffer_address &&
	    !kfd_user_va_ok(args->eop_buffer_address, sizeof(u32)))
		return -EFAULT;
	if (args->ctx_save_restore_address &&
	    !kfd_user_va_ok(args->ctx_save_restore_address, sizeof(u32)))
		return -EFAULT;
	return 0;
}

/*
 * Set kind and SDMA engines of @props from the queue type. Returns -EINVAL if the engine is
 * unknown. The caller has rejected unknown types.
 */
static int kfd_queue_type(struct kfd_ioctl_create_queue_args *args,
			  struct kfd_queue_properties *props)
{
	switch (args->queue_type) {
	case KFD_IOC_QUEUE_TYPE_COMPUTE:
	case KFD_IOC_QUEUE_TYPE_COMPUTE_AQL:
		props->kind = KFD_QUEUE_COMPUTE;
		props->aql = args->queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
		return 0;
	case KFD_IOC_QUEUE_TYPE_SDMA:
		props->engines = KFD_SDMA_PCIE;
		return 0;
	case KFD_IOC_QUEUE_TYPE_SDMA_XGMI:
		props->engines = KFD_SDMA_XGMI;
		return 0;
	case KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID:
		if (args->sdma_engine_id >= SDMA_NUM_ENGINES)
			return -EINVAL;
		props->engines = BIT(args->sdma_engine_id);
		return 0;
	default:
		return -EBUSY;
	}
}

int kfd_ioctl_create_queue(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_create_queue_args *args = data;
	struct kfd_queue_properties props;
	struct kfd_process_device *pdd;
	struct kfd_queue *q;
	int ret;

	ret = kfd_queue_check(args->queue_percentage, args->queue_priority,
			      args->ring_base_address, &args->ring_size);
	if (ret)
		return ret;
	ret = kfd_queue_check_pointers(args);
	if (ret)
		return ret;
	if (args->queue_type > KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID)
		return -ENOTSUPP;	/* amdkfd's error, although not part of the uAPI */
	pdd = kfd_process_device_by_gpu_id(p, args->gpu_id);
	if (!pdd)
		return -EINVAL;

	props = (struct kfd_queue_properties) {
		.ring_va = args->ring_base_address,
		.ring_bytes = args->ring_size,
		.rptr_va = args->read_pointer_address,
		.wptr_va = args->write_pointer_address,
		.eop_va = args->eop_buffer_address,
		.eop_bytes = args->eop_buffer_size,
		.save_va = args->ctx_save_restore_address,
		.save_bytes = args->ctx_save_restore_size,
		.stack_bytes = args->ctl_stack_size,
		.priority = args->queue_priority,
		.enabled = args->queue_percentage & 0xff,
	};
	mutex_lock(&p->mutex);
	if (!pdd->vm)
		ret = -ESRCH;
	else
		ret = kfd_queue_type(args, &props);
	if (!ret)
		ret = kfd_queue_create(pdd, &props, &q);
	if (!ret) {
		args->queue_id = q->id;
		args->doorbell_offset = KFD_MMAP_TYPE_DOORBELL |
			KFD_MMAP_GPU_ID(pdd->node->gpu_id) | q->doorbell;
		kfd_dbg_raise_queue(q, KFD_EC_MASK(EC_QUEUE_NEW));
	}
	mutex_unlock(&p->mutex);
	return ret;
}

int kfd_ioctl_destroy_queue(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_destroy_queue_args *args = data;
	struct kfd_process_device *pdd;
	struct kfd_queue *q;
	int ret;

	mutex_lock(&p->mutex);
	q = kfd_queue_by_id(p, args->queue_id);
	ret = q ? kfd_dbg_wait_resumed(q) : -EINVAL;
	if (!ret) {
		pdd = q->pdd;
		kfd_queue_destroy(q);
		kfd_dbg_raise_device(pdd, KFD_EC_MASK(EC_DEVICE_QUEUE_DELETE));
	}
	mutex_unlock(&p->mutex);
	return ret;
}

int kfd_ioctl_update_queue(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_update_queue_args *args = data;
	struct kfd_queue *q;
	int ret;

	ret = kfd_queue_check(args->queue_percentage, args->queue_priority,
			      args->ring_base_address, &args->ring_size);
	if (ret)
		return ret;
	mutex_lock(&p->mutex);
	q = kfd_queue_by_id(p, args->queue_id);
	if (q)
		ret = kfd_queue_update(q, args->ring_base_address,
				       args->ring_size, args->queue_priority,
				       args->queue_percentage & 0xff);
	else
		ret = -EFAULT;
	mutex_unlock(&p->mutex);
	return ret;
}

int kfd_ioctl_set_cu_mask(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_set_cu_mask_args *args = data;
	u32 mask[KFD_MAX_CU_MASK / 32];
	struct kfd_queue *q;
	u32 bits;
	int ret;

	if (!args->num_cu_mask || args->num_cu_mask % 32)
		return -EINVAL;
	bits = min(args->num_cu_mask, KFD_MAX_CU_MASK);
	if (copy_from_user(mask, u64_to_user_ptr(args->cu_mask_ptr), bits / 8))
		return -EFAULT;
	mutex_lock(&p->mutex);
	q = kfd_queue_by_id(p, args->queue_id);
	if (!q)
		ret = -EFAULT;
	else if (q->kind == KFD_QUEUE_COMPUTE)
		ret = kfd_cp_set_cu_mask(q, mask, bits);
	else
		ret = 0;	/* SDMA queues have no CU mask */
	mutex_unlock(&p->mutex);
	return ret;
}

int kfd_ioctl_get_queue_wave_state(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_get_queue_wave_state_args *args = data;
	struct kfd_context_save_area_header header = { };
	struct vgpu_cp_saved saved;
	struct kfd_queue *q;
	int ret;

	mutex_lock(&p->mutex);
	q = kfd_queue_by_id(p, args->queue_id);
	ret = q ? kfd_cp_saved(q, &saved) : -EFAULT;
	mutex_unlock(&p->mutex);
	if (ret)
		return ret;

	/*
	 * Copy only the header to user space. The control stack and the wave state are always
	 * empty, because the device refuses each dispatch and so never has waves to save.
	 */
	header.wave_state.control_stack_offset = saved.stack_offset;
	header.wave_state.control_stack_size = saved.stack_bytes;
	header.wave_state.wave_state_offset = saved.wave_offset;
	header.wave_state.wave_state_size = saved.wave_bytes;
	if (copy_to_user(u64_to_user_ptr(args->ctl_stack_address),
			 &header.wave_state, sizeof(header.wave_state)))
		return -EFAULT;
	args->ctl_stack_used_size = saved.stack_bytes;
	args->save_area_used_size = saved.wave_bytes;
	return 0;
}

int kfd_ioctl_alloc_queue_gws(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_alloc_queue_gws_args *args = data;
	struct kfd_queue *q;
	int ret;

	mutex_lock(&p->mutex);
	q = kfd_queue_by_id(p, args->queue_id);
	if (q) {
		/*
		 * A queue gets all of the GPU's global wave sync (GWS) or none, so any num_gws
		 * other than 0 gives the queue all of the GWS.
		 */
		ret = kfd_queue_set_gws(q, args->num_gws);
		args->first_gws = 0;
	} else {
		ret = -EINVAL;
	}
	mutex_unlock(&p->mutex);
	return ret;
}
