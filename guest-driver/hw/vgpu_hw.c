// SPDX-License-Identifier: GPL-2.0
/* Starts the hardware block by block, and stops the blocks in reverse order. */
#include <linux/dma-mapping.h>
#include <linux/pci.h>
#include <drm/drm_managed.h>

#include "vgpu/pci.h"
#include "hw/cp/vgpu_cp_priv.h"
#include "hw/sdma/vgpu_sdma_priv.h"
#include "vgpu_hw_priv.h"

static int hw_map(struct vgpu_device *vdev)
{
	struct pci_dev *pdev = vdev->pdev;
	struct vgpu_hw_state *hw = to_hw_state(vdev);
	int ret;

	if (pci_resource_len(pdev, VGPU_BAR_MMIO) < VGPU_MMIO_BAR_SIZE ||
	    pci_resource_len(pdev, VGPU_BAR_DOORBELL) < VGPU_DOORBELL_BAR_SIZE)
		return -ENODEV;

	ret = pcim_request_all_regions(pdev, "vgpu_kfd");
	if (ret)
		return ret;

	hw->mmio = pcim_iomap(pdev, VGPU_BAR_MMIO, 0);
	hw->doorbell = pcim_iomap(pdev, VGPU_BAR_DOORBELL, 0);
	hw->base.vram_base = pci_resource_start(pdev, VGPU_BAR_VRAM);
	hw->base.doorbell_base = pci_resource_start(pdev, VGPU_BAR_DOORBELL);
	hw->base.remap_base = pci_resource_start(pdev, VGPU_BAR_MMIO) +
			      VGPU_REMAP_PAGE;
	hw->base.vram = devm_ioremap_wc(&pdev->dev, hw->base.vram_base,
					pci_resource_len(pdev, VGPU_BAR_VRAM));
	if (!hw->mmio || !hw->doorbell || !hw->base.vram)
		return -ENOMEM;
	return 0;
}

/* Accept only QEMU's device model, because the driver has never run on a real card. */
static int hw_identify(struct vgpu_device *vdev)
{
	u32 magic = vgpu_rreg(vdev, VGPU_MAGIC);
	u32 version = vgpu_rreg(vdev, VGPU_VERSION);
	u32 engines = vgpu_rreg(vdev, VGPU_SDMA_COUNT);

	if (magic != VGPU_MAGIC_VALUE) {
		drm_err(&vdev->drm,
			"no vgpu-kfd model (magic %#x); this driver does not drive real cards\n",
			magic);
		return -ENODEV;
	}
	if (version != VGPU_VERSION_VALUE || engines < SDMA_NUM_ENGINES) {
		drm_err(&vdev->drm,
			"model of contract %u with %u SDMA engines; the driver speaks %u and needs %u\n",
			version, engines, VGPU_VERSION_VALUE, SDMA_NUM_ENGINES);
		return -ENODEV;
	}
	drm_info(&vdev->drm, "vgpu-kfd model, contract %u\n", version);
	return 0;
}

/**
 * vgpu_hw_quiesce() - stop the engines, the CP and interrupts
 * @vdev: device, registers mapped
 *
 * On return no engine runs and the device raises no interrupt. Called at shutdown, at
 * suspend, and at probe, to stop what an earlier kernel left running.
 */
void vgpu_hw_quiesce(struct vgpu_device *vdev)
{
	unsigned int i;

	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		vgpu_sdma_engine_stop(vdev, i);
	vgpu_cp_stop(vdev);
	vgpu_ih_stop(vdev);
}

/**
 * vgpu_hw_present() - whether the device still answers
 * @vdev: device, registers mapped
 *
 * Context: sleeps; takes io_lock. May be called in MMU notifiers, reclaim and the recovery's
 * worker.
 *
 * Return: false if the device has vanished (surprise removal). From then on all registers
 * read as ones, and register writes are dropped.
 */
bool vgpu_hw_present(struct vgpu_device *vdev)
{
	struct vgpu_hw_state *hw = to_hw_state(vdev);

	if (!READ_ONCE(hw->lost) &&
	    vgpu_rreg_sync(vdev, VGPU_MAGIC) != VGPU_MAGIC_VALUE)
		WRITE_ONCE(hw->lost, true);
	return !READ_ONCE(hw->lost);
}

/**
 * vgpu_hw_init() - map and start the hardware
 * @vdev: device; its PCI function is enabled
 * @recover: requests a recovery of an engine, the GART or the device
 *
 * On success VMID 0, interrupts and the kernel's SDMA rings work.
 *
 * Return: 0 or a negative errno, for instance -ENODEV if the device is not a supported version of
 * QEMU's device model.
 */
int vgpu_hw_init(struct vgpu_device *vdev, vgpu_recover_fn recover)
{
	struct vgpu_hw_state *hw;
	int ret;

	hw = drmm_kzalloc(&vdev->drm, sizeof(*hw), GFP_KERNEL);
	if (!hw)
		return -ENOMEM;
	hw->vdev = vdev;
	hw->recover = recover;
	spin_lock_init(&hw->latch_lock);
	spin_lock_init(&hw->gate_lock);
	vgpu_io_init(hw);
	vdev->hw = &hw->base;

	ret = dma_set_mask_and_coherent(&vdev->pdev->dev,
					DMA_BIT_MASK(VGPU_VA_BITS));
	if (ret)
		return ret;
	dma_set_max_seg_size(&vdev->pdev->dev, UINT_MAX);

	/*
	 * devres unmaps the BARs after the driver's remove callback, so the BARs are still
	 * accessible after vgpu_hw_fini().
	 */
	ret = hw_map(vdev);
	if (ret)
		return ret;
	ret = hw_identify(vdev);
	if (ret)
		return ret;

	vgpu_hw_quiesce(vdev);
	pci_set_master(vdev->pdev);

	ret = vgpu_dump_init(vdev);
	if (ret)
		goto err_master;
	ret = vgpu_nbio_init(vdev);
	if (ret)
		goto err_dump;
	ret = vgpu_gmc_init(vdev);
	if (ret)
		goto err_nbio;
	ret = vgpu_ih_init(vdev);
	if (ret)
		goto err_gmc;
	ret = vgpu_sdma_init(vdev);
	if (ret)
		goto err_ih;
	ret = vgpu_sdma_sched_init(vdev);
	if (ret)
		goto err_sdma;
	ret = vgpu_cp_init(vdev);
	if (ret)
		goto err_sdma;
	return 0;

err_sdma:
	vgpu_sdma_fini(vdev);
err_ih:
	vgpu_ih_fini(vdev);
err_gmc:
	vgpu_gmc_fini(vdev);
err_nbio:
	vgpu_nbio_fini(vdev);
err_dump:
	vgpu_dump_fini(vdev);
err_master:
	pci_clear_master(vdev->pdev);
	return ret;
}

/**
 * vgpu_hw_fini() - undo vgpu_hw_init()
 * @vdev: device; all users of the hardware have stopped
 */
void vgpu_hw_fini(struct vgpu_device *vdev)
{
	vgpu_cp_fini(vdev);
	vgpu_sdma_fini(vdev);
	vgpu_ih_fini(vdev);
	vgpu_gmc_fini(vdev);
	vgpu_nbio_fini(vdev);
	vgpu_dump_fini(vdev);
	pci_clear_master(vdev->pdev);
}
