// SPDX-License-Identifier: GPL-2.0
/*
 * Processes over the system's sleep: their queues are off from before it until
 * after it, on all GPUs, and nobody brings their BOs back to VRAM meanwhile.
 */
#include "process/kfd_evict.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "kfd_core.h"

static void kfd_process_suspend(struct kfd_process *p)
{
	u32 i;

	mutex_lock(&p->mutex);
	if (!p->suspended) {
		for (i = 0; i < p->n_pdds; i++)
			kfd_process_evict_queues(p->pdds[i]);
		kfd_process_report_eviction(p, KFD_QUEUE_EVICTION_TRIGGER_SUSPEND);
	}
	p->suspended = true;
	mutex_unlock(&p->mutex);
}

static void kfd_process_resume(struct kfd_process *p)
{
	u32 i;

	mutex_lock(&p->mutex);
	if (p->suspended) {
		p->suspended = false;
		/* Those whose BOs have moved wait for restore_work as well. */
		for (i = 0; i < p->n_pdds; i++)
			kfd_process_restore_queues(p->pdds[i]);
		kfd_process_report_restore(p, true);
		kfd_evict_resume(&p->kgd_process_info);
	}
	mutex_unlock(&p->mutex);
}

int kfd_suspend(struct vgpu_device *vdev, bool frozen)
{
	struct kfd_process *p;
	u32 pasid = 0;

	while ((p = kfd_lookup_process_after(pasid))) {
		pasid = p->pasid;
		if (kfd_process_device_of(p, vdev)) {
			kfd_process_suspend(p);
			if (frozen)
				svm_suspend(p);
		}
		kfd_unref_process(p);
	}
	return svm_node_evict(vdev->kfd, frozen);
}

void kfd_resume_device(struct vgpu_device *vdev)
{
	struct kfd_process *p;
	u32 pasid = 0;

	while ((p = kfd_lookup_process_after(pasid))) {
		pasid = p->pasid;
		svm_resume(p, vdev);
		kfd_unref_process(p);
	}
}

void kfd_resume(struct vgpu_device *vdev)
{
	struct kfd_process *p;
	u32 pasid = 0;

	while ((p = kfd_lookup_process_after(pasid))) {
		pasid = p->pasid;
		if (kfd_process_device_of(p, vdev))
			kfd_process_resume(p);
		kfd_unref_process(p);
	}
}
