// SPDX-License-Identifier: GPL-2.0
/*
 * XGMI: the VRAM of all devices (nodes) of a hive forms one address range, with a segment for each
 * node. Specification: docs/hardware.md "Hives".
 */
#include <linux/bits.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "vgpu/bits.h"
#include "vgpu_hw_priv.h"

/**
 * vgpu_xgmi_init() - read the device's place in its hive
 * @vdev: device; the caller has set vgpu_hw.vram_size
 *
 * Return: 0, or -ENODEV if the registers contradict each other.
 */
int vgpu_xgmi_init(struct vgpu_device *vdev)
{
	struct vgpu_xgmi *xgmi = &vdev->hw->xgmi;
	u32 cntl[VGPU_NUM_HUBS], size[VGPU_NUM_HUBS];
	unsigned int hub, last;

	for (hub = 0; hub < VGPU_NUM_HUBS; hub++) {
		cntl[hub] = vgpu_rreg(vdev, HUB(hub) + MC_VM_XGMI_LFB_CNTL);
		size[hub] = vgpu_rreg(vdev, HUB(hub) + MC_VM_XGMI_LFB_SIZE);
	}
	*xgmi = (struct vgpu_xgmi) {
		.hive = vgpu_rreg(vdev, VGPU_XGMI_HIVE_LO) |
			(u64)vgpu_rreg(vdev, VGPU_XGMI_HIVE_HI) << 32,
		.segment = (u64)size[VGPU_HUB_MM] << 24,
		.node = VGPU_GET(cntl[VGPU_HUB_MM],
				 MC_VM_XGMI_LFB_CNTL__PF_LFB_REGION),
	};
	last = VGPU_GET(cntl[VGPU_HUB_MM],
			MC_VM_XGMI_LFB_CNTL__PF_MAX_REGION);
	if (!xgmi->hive && !xgmi->segment && !xgmi->node)
		return 0;
	if (cntl[VGPU_HUB_GFX] != cntl[VGPU_HUB_MM] ||
	    size[VGPU_HUB_GFX] != size[VGPU_HUB_MM] || !xgmi->hive ||
	    xgmi->segment < vdev->hw->vram_size || xgmi->node > last) {
		drm_err(&vdev->drm,
			"no place in a hive: %#llx, node %u of %u, segment %#llx\n",
			xgmi->hive, xgmi->node, last + 1, xgmi->segment);
		return -ENODEV;
	}
	drm_info(&vdev->drm, "node %u of hive %#llx\n", xgmi->node,
		 xgmi->hive);
	return 0;
}

/**
 * vgpu_xgmi_base() - get the offset of the device's VRAM in its hive's VRAM
 * @vdev: device
 *
 * Addresses of VRAM in page-table entries and in the aperture of VMID 0 include this offset.
 *
 * Return: bytes from the first byte of node 0; 0 if the device is in no hive.
 */
u64 vgpu_xgmi_base(const struct vgpu_device *vdev)
{
	return vdev->hw->xgmi.node * vdev->hw->xgmi.segment;
}

/**
 * vgpu_xgmi_same_hive() - whether two devices are in one hive
 * @a: device, initialised
 * @b: another device, initialised
 *
 * Context: any.
 *
 * Return: true if the devices are different nodes of the same hive, with the same segment size;
 * false if a device is in no hive.
 */
bool vgpu_xgmi_same_hive(const struct vgpu_device *a,
			 const struct vgpu_device *b)
{
	const struct vgpu_xgmi *x = &a->hw->xgmi, *y = &b->hw->xgmi;

	return x->hive && x->hive == y->hive && x->segment == y->segment &&
	       x->node != y->node;
}

/**
 * vgpu_xgmi_linked() - whether a device can reach the VRAM of a peer through XGMI
 * @vdev: device
 * @peer: another device, initialised
 *
 * Context: sleeps; takes io_lock. May be called in MMU notifiers, reclaim and the recovery's
 * worker.
 *
 * Return: false if the devices are in no common hive, or while the link is down.
 */
bool vgpu_xgmi_linked(struct vgpu_device *vdev, const struct vgpu_device *peer)
{
	KUNIT_STATIC_STUB_REDIRECT(vgpu_xgmi_linked, vdev, peer);
	return vgpu_xgmi_same_hive(vdev, peer) &&
	       vgpu_rreg_sync(vdev, VGPU_XGMI_LINKS) & BIT(peer->hw->xgmi.node);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_xgmi_linked);

/**
 * vgpu_xgmi_offset() - get the distance of a peer's VRAM from the device's own VRAM
 * @vdev: device
 * @peer: another device of the same hive
 *
 * Return: bytes from the start of @vdev's VRAM to the start of @peer's VRAM, in the address
 * range of the hive. A negative distance is in two's complement.
 */
u64 vgpu_xgmi_offset(const struct vgpu_device *vdev,
		     const struct vgpu_device *peer)
{
	return vgpu_xgmi_base(peer) - vgpu_xgmi_base(vdev);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_xgmi_offset);
