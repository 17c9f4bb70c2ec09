// SPDX-License-Identifier: GPL-2.0
/*
 * Handles user queues and SMI events when the GPU or an engine is reset. If a queue can continue,
 * hw/ loads the queue on the hardware again. This file then stops and reports all other queues.
 */
#include "kfd/events/kfd_events.h"
#include "kfd/memory/kfd_memory.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "reset/vgpu_reset.h"
#include "svm/svm.h"
#include "vm/vgpu_vm.h"
#include "kfd_core_priv.h"

static void kfd_reset_pre(struct vgpu_device *vdev, const char *cause)
{
	kfd_smi_pre_reset(&vdev->kfd->smi, cause);
}

static void kfd_reset_post(struct vgpu_device *vdev, const char *cause)
{
	kfd_smi_post_reset(&vdev->kfd->smi, cause);
}

static void kfd_reset_zap_mappings(struct vgpu_device *vdev)
{
	kfd_mmap_zap_node(vdev->kfd);
}

static void kfd_reset_process(struct kfd_process_device *pdd,
			      unsigned int engine)
{
	/*
	 * Do not take kfd_process.mutex: a holder may wait for a recovery. Pairs with
	 * smp_store_release() in kfd_process_device_init_vm().
	 */
	struct vgpu_vm *vm = smp_load_acquire(&pdd->vm);
	bool vm_lost = vm && vgpu_vm_is_lost(vm);
	bool memory_reported = pdd->lost_reported;
	bool died = kfd_queues_recovered(pdd, engine, vm_lost);

	pdd->lost_reported = vm_lost;
	if (died || vm_lost != memory_reported)
		kfd_events_reset(pdd, !vm_lost, vm_lost);
}

/*
 * vgpu_reset_client.engine_recovered: stop and report the queues of @engine that cannot continue
 * after the reset. A reset that has lost VRAM may have failed, so that no engine runs. Takes
 * kfd_process.queue_lock; does not allocate.
 */
static void kfd_reset_engine_recovered(struct vgpu_device *vdev,
				       unsigned int engine)
{
	bool lost = svm_vram_epoch_changed(vdev->kfd);
	struct kfd_process *p;
	u32 pasid = 0;

	while ((p = kfd_lookup_process_after(pasid))) {
		struct kfd_process_device *pdd = kfd_process_device_of(p, vdev);

		pasid = p->pasid;
		/*
		 * Also handle processes without state on this GPU: a peer GPU may map this GPU's
		 * VRAM for such a process.
		 */
		if (lost)
			svm_vram_lost(p);
		if (pdd)
			kfd_reset_process(pdd, engine);
		kfd_unref_process(p);
	}
}

static const struct vgpu_reset_client kfd_reset_client = {
	.pre_reset = kfd_reset_pre,
	.zap_mappings = kfd_reset_zap_mappings,
	.post_reset = kfd_reset_post,
	.engine_recovered = kfd_reset_engine_recovered,
};

void kfd_reset_init(struct kfd_node *node)
{
	vgpu_reset_set_client(node->vdev, &kfd_reset_client);
}
