// SPDX-License-Identifier: GPL-2.0
/*
 * System sleep: suspend to idle, to memory, to disk. During the sleep the device may lose all
 * its state, including VRAM (docs/driver.md, "Sleep"). Order of the calls: vgpu_pm_notify(),
 * vgpu_prepare(), vgpu_suspend(), vgpu_resume(), vgpu_pm_notify().
 */
#include <linux/notifier.h>
#include <linux/suspend.h>
#include <drm/drm_managed.h>
#include <drm/ttm/ttm_placement.h>

#include "device/vgpu_device.h"
#include "drm/vgpu_drm.h"
#include "hw/sdma/vgpu_sdma_sched.h"
#include "hw/vgpu_hw.h"
#include "kfd/core/kfd_core.h"
#include "mm/vgpu_mm.h"
#include "mm/vgpu_res_mgr.h"
#include "reset/vgpu_reset.h"
#include "vgpu_pm.h"

/* Time in jiffies for which a suspend or hibernation waits for the render node's jobs. */
#define VGPU_PM_JOBS_TIMEOUT	(60 * HZ)

/**
 * struct vgpu_pm - state of suspend and resume
 * @vdev: the device
 * @nb: PM notifier, called before processes are frozen and after they are thawed
 * @asleep: true between suspend and resume: the hardware is stopped
 */
struct vgpu_pm {
	struct vgpu_device *vdev;
	struct notifier_block nb;
	bool asleep;
};

/* Before the sleep, evict queues and empty VRAM. After the sleep, restore BOs, then queues. */
static int vgpu_pm_notify(struct notifier_block *nb, unsigned long event, void *data)
{
	struct vgpu_device *vdev = container_of(nb, struct vgpu_pm, nb)->vdev;

	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		/*
		 * Now memory can still be reclaimed, and the size of a hibernation image is not yet
		 * computed.
		 */
		kfd_suspend(vdev, false);
		/* On failure vgpu_prepare() tries again, with all processes frozen. */
		if (vgpu_mm_evict_all(vdev, TTM_PL_VRAM))
			drm_warn(&vdev->drm, "VRAM cannot be emptied yet\n");
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		kfd_resume(vdev);
		break;
	}
	return NOTIFY_DONE;
}

/*
 * Evict again what processes have used since vgpu_pm_notify(). All GPUs still work, so page tables
 * that map memory of another GPU can be updated.
 */
static int vgpu_prepare(struct device *dev)
{
	struct vgpu_device *vdev = dev_get_drvdata(dev);
	int ret;

	if (!vgpu_hw_present(vdev))
		return 0;
	/*
	 * No error path undoes kfd_suspend(): vgpu_pm_notify() calls kfd_resume() after the sleep,
	 * and also if the sleep is aborted.
	 */
	ret = kfd_suspend(vdev, true);
	if (ret)
		return ret;
	/*
	 * The wait needs a time limit: the recovery ends jobs that hang, but not jobs that wait
	 * for another driver's fence.
	 */
	if (!vgpu_sched_wait_idle(vdev, VGPU_PM_JOBS_TIMEOUT)) {
		drm_err(&vdev->drm, "jobs still running: sleep refused\n");
		return -EBUSY;
	}
	ret = vgpu_mm_evict_all(vdev, TTM_PL_VRAM);
	if (ret)
		drm_err(&vdev->drm, "VRAM cannot be emptied: %d\n", ret);
	return ret;
}

static int vgpu_suspend(struct device *dev)
{
	struct vgpu_device *vdev = dev_get_drvdata(dev);
	int ret;

	if (!vgpu_hw_present(vdev))
		return 0;
	vgpu_mm_drain(vdev);
	vgpu_sdma_sched_pause(vdev);
	ret = vgpu_mm_suspend(vdev);
	if (ret) {
		drm_err(&vdev->drm, "VRAM cannot be saved: %d\n", ret);
		vgpu_sdma_sched_resume(vdev);
		return ret;
	}
	vgpu_reset_stop(vdev);
	vgpu_hw_suspend(vdev);
	vdev->pm->asleep = true;
	return 0;
}

static int vgpu_resume(struct device *dev)
{
	struct vgpu_device *vdev = dev_get_drvdata(dev);
	bool lost;
	int ret;

	if (!vdev->pm->asleep)
		return 0;
	vdev->pm->asleep = false;
	ret = vgpu_hw_resume(vdev, &lost);
	if (ret) {
		drm_err(&vdev->drm, "resume failed, VRAM %s\n", lost ? "lost" : "kept");
		if (lost)
			vgpu_vram_mgr_distrust(vdev);
		vgpu_reset_give_up(vdev, lost);
		vgpu_mm_resume(vdev, false);
		vgpu_sdma_sched_resume(vdev);
		return ret;
	}
	vgpu_gtt_mgr_recover(vdev);
	vgpu_mm_resume(vdev, true);
	vgpu_hw_resume_engines(vdev);
	kfd_resume_device(vdev);
	vgpu_reset_start(vdev);
	vgpu_sdma_sched_resume(vdev);
	return 0;
}

const struct dev_pm_ops vgpu_pm_ops = {
	.prepare = pm_sleep_ptr(vgpu_prepare),
	SYSTEM_SLEEP_PM_OPS(vgpu_suspend, vgpu_resume)
};

/**
 * vgpu_pm_init() - allocate vgpu_device.pm, and register the PM notifier
 * @vdev: device; all its other parts are initialised
 *
 * Return: 0, -ENOMEM or the error of register_pm_notifier().
 */
int vgpu_pm_init(struct vgpu_device *vdev)
{
	struct vgpu_pm *pm;

	pm = drmm_kzalloc(&vdev->drm, sizeof(*pm), GFP_KERNEL);
	if (!pm)
		return -ENOMEM;
	pm->vdev = vdev;
	pm->nb.notifier_call = vgpu_pm_notify;
	vdev->pm = pm;
	return register_pm_notifier(&pm->nb);
}

/**
 * vgpu_pm_fini() - undo vgpu_pm_init()
 * @vdev: device; if it was removed while asleep, the content that vgpu_mm_suspend()
 *        saved is dropped
 */
void vgpu_pm_fini(struct vgpu_device *vdev)
{
	unregister_pm_notifier(&vdev->pm->nb);
	if (vdev->pm->asleep) {
		vgpu_mm_resume(vdev, false);
		vgpu_sdma_sched_resume(vdev);
	}
}
