// SPDX-License-Identifier: GPL-2.0
/*
 * The hardware before and after the system's sleep. Whatever the device keeps,
 * it is reset and brought up from there.
 */
#include "hw/sdma/vgpu_sdma_priv.h"
#include "vgpu_hw_priv.h"

/**
 * vgpu_hw_suspend() - stop the hardware
 * @vdev: device; no user queue is loaded, the kernel's rings are empty, and
 *        neither jobs nor recoveries come
 */
void vgpu_hw_suspend(struct vgpu_device *vdev)
{
	unsigned long dead;
	unsigned int i;

	for (i = 0; i < SDMA_NUM_ENGINES; i++) {
		cancel_delayed_work_sync(&to_hw_state(vdev)->sdma[i].watchdog);
		vgpu_sdma_park(vdev, i, &dead);
	}
	vgpu_cp_park(vdev);
	vgpu_hw_quiesce(vdev);
	vgpu_ih_sync(vdev);
}

/**
 * vgpu_hw_resume() - bring the hardware up again, but its engines
 * @vdev: device; PCI's configuration is as it was
 *
 * VRAM that was lost, or written by another kernel, is zero but for the GART's
 * table. Returns 0 or -ENODEV.
 */
int vgpu_hw_resume(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	bool lost;
	int ret;

	ret = vgpu_hw_restart(vdev, &lost);
	if (ret)
		return ret;
	if (lost)
		/* Free memory may count as clear. */
		memset_io(hw->base.vram, 0, hw->gart.table_vram);
	vgpu_gart_rewrite(vdev);
	vgpu_gart_flush(vdev);
	return 0;
}

/**
 * vgpu_hw_resume_engines() - let the engines work
 * @vdev: device, its memory as it was
 */
void vgpu_hw_resume_engines(struct vgpu_device *vdev)
{
	unsigned int i;

	vgpu_gmc_flush_tlb(vdev, GENMASK(VGPU_NUM_VMIDS - 1, 0));
	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		vgpu_sdma_unpark(vdev, i, 0, false);
	vgpu_cp_unpark(vdev, false);
}
