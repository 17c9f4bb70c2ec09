// SPDX-License-Identifier: GPL-2.0
/*
 * Suspends processes during the system's sleep: kfd_suspend() suspends all processes of a GPU, and
 * kfd_resume() resumes these processes. The queues of a suspended process are off the hardware of
 * all GPUs, and restore_work does not bring the process's BOs back to VRAM.
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
		/*
		 * Undo the evictions of kfd_process_suspend(). If BOs were evicted, too, the queues
		 * stay off the hardware until restore_work has restored the BOs.
		 */
		for (i = 0; i < p->n_pdds; i++)
			kfd_process_restore_queues(p->pdds[i]);
		kfd_process_report_restore(p, true);
		kfd_evict_resume(p->kgd_process_info);
	}
	mutex_unlock(&p->mutex);
}

/**
 * kfd_suspend() - take queues and SVM pages off a GPU before the system's sleep
 * @vdev: GPU
 * @frozen: user space is frozen. If false, running processes may move SVM pages to VRAM again
 *
 * The caller must call kfd_resume() later, even after an error.
 *
 * Context: takes kfd_process.mutex. Sleeps.
 *
 * Return: 0, or an error of svm_node_evict() if @frozen is true and SVM pages stay in VRAM whose
 * content is not lost.
 */
int kfd_suspend(struct vgpu_device *vdev, bool frozen)
{
	struct kfd_process *p;
	u32 pasid = 0;

	while ((p = kfd_lookup_process_after(pasid))) {
		pasid = p->pasid;
		if (kfd_process_device_of(p, vdev)) {
			/* This takes the process's queues off other GPUs, too. */
			kfd_process_suspend(p);
			if (frozen)
				svm_suspend(p);
		}
		kfd_unref_process(p);
	}
	return svm_node_evict(vdev->kfd, frozen);
}

/**
 * kfd_resume_device() - let all processes ignore faults that a GPU raised before the system slept
 * @vdev: GPU
 *
 * Context: before the GPU raises its first fault. Sleeps.
 */
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

/**
 * kfd_resume() - undo kfd_suspend(): let the queues run again
 * @vdev: GPU
 *
 * For a process whose BOs were evicted, restore_work loads the queues after it has restored the
 * BOs.
 *
 * Context: takes kfd_process.mutex. Sleeps.
 */
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
