// SPDX-License-Identifier: GPL-2.0
/* Resets the whole device (mode-1 reset). Specification: docs/hardware.md "Resets". */
#include <kunit/visibility.h>

#include "vgpu/psp.h"
#include "hw/sdma/vgpu_sdma_priv.h"
#include "vgpu_hw_priv.h"

/*
 * The caller holds io_lock for writing, has called vgpu_ih_hold(), and has removed the
 * mappings of the BARs in user space (vgpu_io.c). Returns 0 or -ENODEV.
 */
static int hw_mode1_reset(struct vgpu_device *vdev)
{
	/* Flush earlier CPU stores to VRAM, so that they arrive before the reset. */
	vgpu_hdp_flush(vdev);
	vgpu_wreg(vdev, MP0_SMN_C2PMSG_64, PSP_CMD_MODE1_RESET);
	if (!vgpu_hw_poll(vdev, MP0_SMN_C2PMSG_33, MP0_SMN_C2PMSG__READY,
			  MP0_SMN_C2PMSG__READY) ||
	    vgpu_rreg(vdev, VGPU_MAGIC) != VGPU_MAGIC_VALUE)
		return -ENODEV;

	vgpu_nbio_start(vdev);
	vgpu_ih_start(vdev);
	return vgpu_gmc_start(vdev);
}

/* Returns whether the content of VRAM was lost. If it was, writes the words of the test again. */
static bool hw_vram_is_lost(struct vgpu_hw_state *hw)
{
	void __iomem *at = hw->base.vram + VGPU_VRAM_MAGIC_AT(hw);
	u64 magic[VGPU_VRAM_MAGIC_WORDS];

	memcpy_fromio(magic, at, sizeof(magic));
	if (!memcmp(magic, hw->vram_magic, sizeof(magic)))
		return false;
	memcpy_toio(at, hw->vram_magic, sizeof(hw->vram_magic));
	return true;
}

/*
 * As vgpu_hw_restart(). If @count is true and VRAM was lost, increments vram_epoch while io_lock is
 * held: a CPU that waits for io_lock to copy from VRAM compares the epoch after its copy.
 */
static int hw_restart(struct vgpu_device *vdev, bool *vram_lost, bool count)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	int ret;

	*vram_lost = false;
	if (!vgpu_hw_present(vdev))
		return -ENODEV;
	down_write(&hw->io_lock);
	vgpu_ih_hold(vdev);
	ret = hw_mode1_reset(vdev);
	/* A device that does not work after the reset may have lost VRAM, too. */
	*vram_lost = vgpu_rreg(vdev, VGPU_MAGIC) == VGPU_MAGIC_VALUE && hw_vram_is_lost(hw);
	if (*vram_lost && count)
		atomic_inc(&hw->base.vram_epoch);
	if (!ret) {
		vgpu_sdma_faults_drop(vdev);
		vgpu_gmc_reset_end(vdev, true);
	}
	vgpu_ih_release(vdev);
	up_write(&hw->io_lock);

	if (ret)
		return ret;
	vgpu_gart_close_windows(vdev);
	return 0;
}

/**
 * vgpu_hw_restart() - reset the device and start all blocks but the engines
 * @vdev: device with parked engines. User space cannot map pages of the BARs: either the caller has
 *        called vgpu_io_map_close(), or user space is frozen
 * @vram_lost: receives whether the content of VRAM was lost, also if the function fails; false if
 *             the device does not answer
 *
 * On success, earlier faults of VMID 0 are forgotten, and the caller next calls vgpu_gart_rewrite()
 * and flushes the TLB.
 *
 * Context: sleeps; takes io_lock for writing.
 *
 * Return: 0, or -ENODEV if the device does not come back.
 */
int vgpu_hw_restart(struct vgpu_device *vdev, bool *vram_lost)
{
	return hw_restart(vdev, vram_lost, false);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_hw_restart);

/**
 * vgpu_hw_reset() - reset the device and start it again, except its engines
 * @vdev: device with parked engines and closed BARs (vgpu_io_map_close())
 * @vram_lost: as for vgpu_hw_restart()
 *
 * If VRAM was lost, increments vgpu_hw.vram_epoch before it releases io_lock, also if the function
 * fails. On success, all VMIDs have their page tables and PASIDs again.
 *
 * Context: sleeps; takes io_lock; one caller at a time.
 *
 * Return: 0, or -ENODEV if the device does not come back.
 */
int vgpu_hw_reset(struct vgpu_device *vdev, bool *vram_lost)
{
	int ret = hw_restart(vdev, vram_lost, true);

	if (*vram_lost)
		vgpu_stat_add(vdev, VGPU_STAT_VRAM_LOST, 1);
	if (ret)
		return ret;
	vgpu_gart_restore(vdev);
	if (vgpu_gart_try_flush(vdev))
		return -ENODEV;
	vgpu_stat_add(vdev, VGPU_STAT_DEVICE_RESETS, 1);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_hw_reset);
