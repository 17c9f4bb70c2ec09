// SPDX-License-Identifier: GPL-2.0
/*
 * Removes the GPU entries of all ranges of a process before the system sleeps, and after VRAM
 * was lost.
 */
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

/**
 * svm_suspend() - unmap all ranges of a process before the system sleeps
 * @p: process; its user space is frozen and its queues are off the hardware
 *
 * Context: process context; takes the locks of svm/.
 */
void svm_suspend(struct kfd_process *p)
{
	svm_unmap_all(p->svms);
}

void svm_lost_work(struct work_struct *work)
{
	svm_unmap_all(container_of(work, struct svm_range_list, lost_work));
}

/**
 * svm_vram_lost() - unmap all ranges of a process after a reset lost the VRAM of a GPU
 * @p: process, to which the caller has a reference
 *
 * Only queues the work item that unmaps the ranges. A later access to a page faults, and is denied
 * if the page's content was lost.
 *
 * Context: process context; does not wait.
 */
void svm_vram_lost(struct kfd_process *p)
{
	queue_work(p->svms->wq, &p->svms->lost_work);
}

/**
 * svm_resume() - ignore faults that a GPU raised before the system slept
 * @p: process
 * @vdev: device
 *
 * Sets svm_gpu.birth_ts and svm_gpu.unmap_ts to the present time. If the GPU clock has restarted,
 * the old times could be later than new faults, which would then be ignored, too.
 *
 * Context: process context.
 */
void svm_resume(struct kfd_process *p, struct vgpu_device *vdev)
{
	int gpu = kfd_process_gpuidx(p, vdev);
	u64 now = vgpu_clock_read(vdev);

	if (gpu < 0)
		return;
	/* From here on, a fault is stale if its timestamp is not later than @now. */
	p->svms->gpus[gpu].birth_ts = now;
	WRITE_ONCE(p->svms->gpus[gpu].unmap_ts, now);
}
