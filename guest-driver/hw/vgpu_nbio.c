// SPDX-License-Identifier: GPL-2.0
/*
 * Sets up NBIO, the bus interface: size of VRAM, enable bits of BAR 0, doorbell routing,
 * and the page of BAR 5 that has the HDP flush registers. Specification: docs/hardware.md
 * and include/vgpu/nbio.h.
 */
#include "vgpu/doorbell.h"
#include "vgpu/nbio.h"
#include "vgpu/pci.h"
#include "vgpu_hw_priv.h"

/* The IH has four 64-bit doorbells: the read pointers of rings 0 to 2, and the retry CAM. */
#define IH_DOORBELL_RANGE_DWORDS	8

static void nbio_route_doorbells(struct vgpu_device *vdev, u32 reg,
				 u32 index, u32 dwords)
{
	vgpu_wreg(vdev, reg,
		  VGPU_PREP(BIF_DOORBELL_RANGE__OFFSET, index << 1) |
		  VGPU_PREP(BIF_DOORBELL_RANGE__SIZE, dwords));
}

/**
 * vgpu_nbio_start() - write the registers of NBIO
 * @vdev: device
 *
 * Called at bring-up and after a reset.
 *
 * Context: any.
 */
void vgpu_nbio_start(struct vgpu_device *vdev)
{
	unsigned int i;

	vgpu_wreg(vdev, BIF_FB_EN,
		  BIF_FB_EN__FB_READ_EN | BIF_FB_EN__FB_WRITE_EN);

	vgpu_wreg(vdev, REMAP_HDP_MEM_FLUSH_CNTL, VGPU_REMAP_PAGE);
	vgpu_wreg(vdev, REMAP_HDP_REG_FLUSH_CNTL, VGPU_REMAP_PAGE + 4);

	for (i = 0; i < SDMA_NUM_ENGINES; i++)
		nbio_route_doorbells(vdev, BIF_SDMA_DOORBELL_RANGE(i),
				     DOORBELL_SDMA(i),
				     DOORBELL_SDMA_RANGE_DWORDS);
	nbio_route_doorbells(vdev, BIF_IH_DOORBELL_RANGE, DOORBELL_IH,
			     IH_DOORBELL_RANGE_DWORDS);
	vgpu_wreg(vdev, RCC_DOORBELL_APER_EN,
		  RCC_DOORBELL_APER_EN__BIF_DOORBELL_APER_EN);
}

/**
 * vgpu_nbio_init() - enable access to VRAM and doorbells
 * @vdev: device
 *
 * Sets vgpu_hw.vram_size.
 *
 * Return: 0, or -ENODEV if the size of VRAM is invalid.
 */
int vgpu_nbio_init(struct vgpu_device *vdev)
{
	struct vgpu_hw *hw = vdev->hw;
	u64 bar = pci_resource_len(vdev->pdev, VGPU_BAR_VRAM);

	hw->vram_size = (u64)vgpu_rreg(vdev, RCC_CONFIG_MEMSIZE) << 20;
	if (hw->vram_size < VGPU_VRAM_MIN || hw->vram_size > bar ||
	    !IS_ALIGNED(hw->vram_size, VGPU_VRAM_RESERVED)) {
		drm_err(&vdev->drm, "VRAM of %llu bytes behind a BAR of %llu\n",
			hw->vram_size, bar);
		return -ENODEV;
	}

	vgpu_nbio_start(vdev);
	return 0;
}

/**
 * vgpu_nbio_fini() - let the device ignore all later doorbells
 * @vdev: device
 */
void vgpu_nbio_fini(struct vgpu_device *vdev)
{
	vgpu_wreg(vdev, RCC_DOORBELL_APER_EN, 0);
}
