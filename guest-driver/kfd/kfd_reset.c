// SPDX-License-Identifier: GPL-2.0
/*
 * User queues after a recovery of the hardware below them. hw/ has put back
 * those that may run; what does not run any more is told.
 */
#include "vgpu_hw.h"
#include "kfd_queue.h"
#include "kfd_room.h"

void kfd_pre_reset(struct vgpu_device *vdev, const char *cause)
{
	if (vdev->kfd)
		kfd_smi_pre_reset(&vdev->kfd->smi, cause);
}

void kfd_post_reset(struct vgpu_device *vdev, const char *cause)
{
	if (vdev->kfd)
		kfd_smi_post_reset(&vdev->kfd->smi, cause);
}

void kfd_engine_recovered(struct vgpu_device *vdev, unsigned int engine)
{
	struct kfd_node *node = vdev->kfd;
	int epoch = atomic_read(&vdev->hw->vram_epoch);
	struct kfd_process *p;
	u32 pasid = 0;
	bool lost;

	if (!node)
		return;
	lost = node->svm.vram_epoch != epoch;
	node->svm.vram_epoch = epoch;

	while ((p = kfd_lookup_process_after(pasid))) {
		struct kfd_process_device *pdd = kfd_process_device_of(p, vdev);

		pasid = p->pasid;
		/* A peer may have it mapped, and know nothing of this GPU. */
		if (lost)
			svm_vram_lost(p);
		if (pdd)
			kfd_queues_recovered(pdd, engine);
		kfd_unref_process(p);
	}
}
