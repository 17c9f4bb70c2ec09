// SPDX-License-Identifier: GPL-2.0
/*
 * Sleep of the system: to idle, to memory, to disk. The device may lose
 * everything meanwhile, its VRAM too (docs/driver.md, "Sleep").
 *
 *	PM notifier	queues off, VRAM emptied while there is memory to be had:
 *			the image of a hibernation is measured afterwards
 *	prepare		once more, as processes may have gone on until they were
 *			frozen: jobs end, VRAM is emptied. All GPUs work yet, for
 *			what leaves one may be in the page tables of another
 *	suspend		what has to stay in VRAM is saved; hardware off
 *	resume		hardware from its reset state, what was saved is written
 *			back, the kernel's rings run
 *	PM notifier	processes get their queues back, and before that their BOs
 *
 * Freezing and thawing for a hibernation's image, and its restoring, are the
 * same as suspend and resume.
 */
#include <linux/notifier.h>
#include <linux/suspend.h>
#include <drm/drm_managed.h>

#include "device/vgpu_device.h"
#include "drm/vgpu_drm.h"
#include "hw/sdma/vgpu_sdma_sched.h"
#include "hw/vgpu_gmc.h"
#include "hw/vgpu_hw.h"
#include "hw/vgpu_recover.h"
#include "kfd/core/kfd_core.h"
#include "mm/vgpu_mm.h"
#include "mm/vgpu_res_mgr.h"
#include "reset/vgpu_reset.h"
#include "vgpu_pm.h"

/* How long the render node's jobs may take before a sleep. */
#define VGPU_PM_JOBS_TIMEOUT	(60 * HZ)

/**
 * struct vgpu_pm - the system's sleep
 * @vdev: the device
 * @nb: called before processes are frozen and after they are thawed
 * @asleep: the hardware is off
 */
struct vgpu_pm {
	struct vgpu_device *vdev;
	struct notifier_block nb;
	bool asleep;
};

static int vgpu_pm_notify(struct notifier_block *nb, unsigned long event, void *data)
{
	struct vgpu_device *vdev = container_of(nb, struct vgpu_pm, nb)->vdev;

	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		kfd_suspend(vdev, false);
		/* What does not go now may go when all stand still. */
		if (vgpu_mm_evict(vdev))
			drm_warn(&vdev->drm, "VRAM cannot be emptied yet\n");
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		kfd_resume(vdev);
		break;
	}
	return NOTIFY_DONE;
}

/* What it does is undone by the notifier's last call, also if others fail. */
static int vgpu_prepare(struct device *dev)
{
	struct vgpu_device *vdev = dev_get_drvdata(dev);
	int ret;

	if (!vgpu_hw_present(vdev))
		return 0;
	ret = kfd_suspend(vdev, true);
	if (ret)
		return ret;
	/* Those that hang are recovered; others may wait for a foreign fence. */
	if (!vgpu_sched_wait_idle(vdev, VGPU_PM_JOBS_TIMEOUT)) {
		drm_err(&vdev->drm, "jobs do not end: no sleep\n");
		return -EBUSY;
	}
	ret = vgpu_mm_evict(vdev);
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
	int ret;

	if (!vdev->pm->asleep)
		return 0;
	vdev->pm->asleep = false;
	ret = vgpu_hw_resume(vdev);
	if (ret) {
		drm_err(&vdev->drm,
			"device did not wake up: SDMA engines are given up\n");
		vgpu_sdma_give_up(vdev);
		vgpu_cp_give_up(vdev);
		vgpu_gmc_reset_end(vdev, false);
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
 * vgpu_pm_init() - be ready for the system's sleep
 * @vdev: device that is up, but for this
 *
 * Return: 0 or a negative errno.
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
 * @vdev: device; if it went while it slept, what was saved goes with it
 */
void vgpu_pm_fini(struct vgpu_device *vdev)
{
	unregister_pm_notifier(&vdev->pm->nb);
	if (vdev->pm->asleep) {
		vgpu_mm_resume(vdev, false);
		vgpu_sdma_sched_resume(vdev);
	}
}
