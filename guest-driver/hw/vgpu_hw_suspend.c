// SPDX-License-Identifier: GPL-2.0
/*
 * Stops the hardware for the system's sleep, and starts it again. Resume always resets the
 * device, even if the device kept its state.
 */
#include <kunit/visibility.h>

#include "hw/sdma/vgpu_sdma_priv.h"
#include "vgpu_hw_priv.h"

/**
 * vgpu_hw_suspend() - stop the hardware
 * @vdev: device; the caller has unloaded the user queues, emptied the kernel's rings,
 *        and stopped jobs and recoveries
 *
 * Waits for running interrupt handlers, and cancels fault_work and the watchdogs.
 *
 * Context: sleeps.
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
	/*
	 * The interrupt handler may have queued fault_work, and both may have queued a watchdog,
	 * because no recovery is accepted now. vgpu_sdma_faults_drop() opens the gate at resume.
	 */
	cancel_delayed_work_sync(&to_hw_state(vdev)->fault_work);
	for (i = 0; i < VGPU_NUM_SDMA; i++)
		cancel_delayed_work_sync(&to_hw_state(vdev)->sdma[i].watchdog);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_hw_suspend);

/**
 * vgpu_hw_resume() - start the hardware again, except its engines
 * @vdev: device; its PCI configuration has been restored
 * @vram_lost: receives whether the content of VRAM was lost (also true if the kernel that loaded
 *             the hibernation image used VRAM)
 *
 * Writes the GART's table from vgpu_gart.shadow. If the content of VRAM was lost, zeroes all
 * VRAM except the reserved part (vgpu_hw.vram_reserved). The caller writes back what was saved
 * before the sleep, so the function counts a loss (vgpu_hw.vram_epoch) only if it fails. A device
 * that does not answer may have lost VRAM, so @vram_lost is true then.
 *
 * Return: 0, or -ENODEV if the device does not come back.
 */
int vgpu_hw_resume(struct vgpu_device *vdev, bool *vram_lost)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	int ret;

	ret = vgpu_hw_restart(vdev, vram_lost);
	if (ret) {
		if (vgpu_rreg(vdev, VGPU_MAGIC) != VGPU_MAGIC_VALUE)
			*vram_lost = true;
		if (*vram_lost) {
			atomic_inc(&hw->base.vram_epoch);
			vgpu_stat_add(vdev, VGPU_STAT_VRAM_LOST, 1);
		}
		return ret;
	}
	if (*vram_lost)
		/* mm/ has marked some free blocks as clear, and expects zeros in these blocks. */
		memset_io(hw->base.vram, 0, hw->gart.table_vram);
	vgpu_gart_rewrite(vdev);
	vgpu_gart_flush(vdev);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_hw_resume);

/**
 * vgpu_hw_resume_engines() - start the engines
 * @vdev: device; the content of VRAM has been restored
 */
void vgpu_hw_resume_engines(struct vgpu_device *vdev)
{
	unsigned int i;

	vgpu_gmc_flush_tlb(vdev, GENMASK(VGPU_NUM_VMIDS - 1, 0));
	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		vgpu_sdma_unpark(vdev, i, 0, false);
	vgpu_cp_unpark(vdev, false);
}
