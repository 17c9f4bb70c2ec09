// SPDX-License-Identifier: GPL-2.0
/* Finds how a GPU reaches memory of another GPU: VRAM of the same hive by XGMI, BARs by PCIe. */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/pci-p2pdma.h>

#include "hw/vgpu_hw.h"
#include "hw/vgpu_xgmi.h"
#include "vgpu_vm_priv.h"

/* Returns true if @vdev reaches the BARs of @owner by PCIe. */
static bool peer_pcie(struct vgpu_device *vdev, const struct vgpu_device *owner)
{
	/* Bus address of VRAM's last byte. The probe has tested that BAR 0 covers all VRAM. */
	u64 last = owner->hw->vram_base + owner->hw->vram_size - 1;

	return pci_p2pdma_distance(owner->pdev, vdev->drm.dev, false) >= 0 &&
	       !(last & ~dma_get_mask(vdev->drm.dev));
}

/**
 * vgpu_peer_find() - find how a GPU reaches memory of another GPU
 * @vdev: GPU that accesses the memory; initialised
 * @owner: GPU that has the memory; initialised
 * @vram: true for VRAM, false for registers in a BAR
 *
 * Context: may allocate.
 *
 * Return: the way, or VGPU_PEER_NONE.
 */
enum vgpu_peer_way vgpu_peer_find(struct vgpu_device *vdev,
				  const struct vgpu_device *owner, bool vram)
{
	/*
	 * All GPUs use the bus addresses that are valid for the BO's own GPU. Behind an IOMMU,
	 * these addresses may be invalid for another GPU, so refuse the access. This includes XGMI,
	 * because a BO may move from VRAM to system memory.
	 */
	if (device_iommu_mapped(vdev->drm.dev) ||
	    device_iommu_mapped(owner->drm.dev))
		return VGPU_PEER_NONE;
	/* XGMI before PCIe, as in amdgpu. */
	if (vram && vgpu_xgmi_linked(vdev, owner))
		return VGPU_PEER_XGMI;
	return peer_pcie(vdev, owner) ? VGPU_PEER_PCIE : VGPU_PEER_NONE;
}
