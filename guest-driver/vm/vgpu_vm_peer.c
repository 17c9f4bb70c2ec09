// SPDX-License-Identifier: GPL-2.0
/*
 * GPUs that reach each other's memory: by XGMI, VRAM of the same hive; by PCIe,
 * what is behind another one's BARs.
 *
 * The same entries may lead to the BO's pages when it has left VRAM, at the
 * addresses that its own GPU has for them. So neither may be behind an IOMMU that
 * translates, whichever the way to VRAM is.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/pci-p2pdma.h>

#include "hw/vgpu_hw.h"
#include "hw/vgpu_xgmi.h"
#include "vgpu_vm_priv.h"

/* All of VRAM is behind BAR 0, or probe would have failed. */
static bool peer_pcie(struct vgpu_device *vdev, const struct vgpu_device *owner)
{
	u64 last = owner->hw->vram_base + owner->hw->vram_size - 1;

	return pci_p2pdma_distance(owner->pdev, vdev->drm.dev, false) >= 0 &&
	       !(last & ~dma_get_mask(vdev->drm.dev));
}

/**
 * vgpu_peer_find() - how does a GPU reach what another one has?
 * @vdev: the GPU; up
 * @owner: the other one; up
 * @vram: its VRAM, else registers behind a BAR
 *
 * The rules are amdgpu's: VRAM of the same hive by XGMI, if the link is up; else
 * by PCIe, where Linux knows that the bridges between them let it through.
 * Registers always by PCIe. May allocate.
 *
 * Return: the way, for vgpu_vm_bo.peer, or VGPU_PEER_NONE.
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
