// SPDX-License-Identifier: GPL-2.0
/*
 * Finds how a GPU reaches memory of another GPU: VRAM of the same hive by XGMI, BARs by PCIe.
 *
 * A BO of another GPU may be evicted from VRAM to system memory. Then the entries of its mappings
 * get the bus addresses that the BO's own GPU uses for the system pages. With an IOMMU, the same
 * addresses may be other memory, or none, for the other GPU. So neither GPU may be behind an IOMMU,
 * even if one GPU reaches the other GPU's VRAM by XGMI.
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
 * @vdev: the GPU; initialised
 * @owner: the other GPU; initialised
 * @vram: true to find the way to VRAM, false to find the way to registers in a BAR
 *
 * If one of the GPUs is behind an IOMMU, there is no way (see the top of this file). Otherwise the
 * rules are those of amdgpu: VRAM of the same hive by XGMI, if the link is up; other VRAM, and
 * registers, by PCIe, if pci_p2pdma_distance() allows peer-to-peer traffic between the GPUs and
 * the DMA mask of @vdev covers the VRAM of @owner.
 *
 * Context: may allocate.
 *
 * Return: value for vgpu_vm_bo.peer; VGPU_PEER_NONE if the GPU does not reach the memory.
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
