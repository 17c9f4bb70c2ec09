// SPDX-License-Identifier: GPL-2.0
/*
 * Finds how a GPU reaches memory of another GPU: VRAM of the same hive by XGMI, BARs by PCIe.
 *
 * Neither GPU may be behind an IOMMU, because both must use the same bus addresses for system
 * memory. When a BO is evicted to system memory, only its own GPU maps the pages for DMA. The page
 * tables of all GPUs then contain the bus addresses of this mapping.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/pci-p2pdma.h>

#include "hw/vgpu_hw.h"
#include "hw/vgpu_xgmi.h"
#include "vgpu_vm_priv.h"

/*
 * Returns true if @vdev reaches the BARs of @owner by PCIe. The probe has tested that BAR 0 covers
 * all of VRAM, so VRAM's last byte has a bus address, which the DMA mask of @vdev must cover.
 */
static bool peer_pcie(struct vgpu_device *vdev, const struct vgpu_device *owner)
{
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
 * Return: the first that applies (XGMI before PCIe, as in amdgpu):
 * * VGPU_PEER_NONE: one of the GPUs is behind an IOMMU
 * * VGPU_PEER_XGMI: @vram is true, and the link in the hive is up
 * * VGPU_PEER_PCIE: @vdev reaches the BARs of @owner
 * * VGPU_PEER_NONE: otherwise
 */
enum vgpu_peer_way vgpu_peer_find(struct vgpu_device *vdev,
				  const struct vgpu_device *owner, bool vram)
{
	if (device_iommu_mapped(vdev->drm.dev) ||
	    device_iommu_mapped(owner->drm.dev))
		return VGPU_PEER_NONE;
	if (vram && vgpu_xgmi_linked(vdev, owner))
		return VGPU_PEER_XGMI;
	return peer_pcie(vdev, owner) ? VGPU_PEER_PCIE : VGPU_PEER_NONE;
}
