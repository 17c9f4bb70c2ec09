// SPDX-License-Identifier: GPL-2.0
/* A GPU sleeps, or loses its VRAM: no GPU keeps entries of the ranges of a process. */
#include "hw/vgpu_mmio.h"
#include "process/kfd_process.h"
#include "svm.h"
#include "svm_map.h"
#include "svm_range.h"

static void svm_unmap_all(struct svm_range_list *svms)
{
	struct svm_range *r;

	if (!svm_lock_alive(svms))
		return;
	list_for_each_entry(r, &svms->list, list)
		svm_unmap_range(r);
	svm_unlock_alive(svms);
}

void svm_suspend(struct kfd_process *p)
{
	svm_unmap_all(p->svms);
}

void svm_lost_work(struct work_struct *work)
{
	svm_unmap_all(container_of(work, struct svm_range_list, lost_work));
}

void svm_vram_lost(struct kfd_process *p)
{
	queue_work(p->svms->wq, &p->svms->lost_work);
}

void svm_resume(struct kfd_process *p, struct vgpu_device *vdev)
{
	int gpu = kfd_process_gpuidx(p, vdev);
	u64 now = vgpu_clock_read(vdev);

	if (gpu < 0)
		return;
	/* What the device told before it slept is history. */
	p->svms->gpus[gpu].birth_ts = now;
	WRITE_ONCE(p->svms->gpus[gpu].unmap_ts, now);
}
