// SPDX-License-Identifier: GPL-2.0
/*
 * XGMI: the VRAM of all devices of a hive stands side by side, one segment a
 * node, in VMID 0's aperture and in page-table entries. Specification:
 * docs/hardware.md "Hives".
 */
#include <linux/bits.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "vgpu/bits.h"
#include "vgpu_hw_priv.h"

/**
 * vgpu_xgmi_init() - find the device's place in its hive
 * @vdev: device, its vram_size known
 *
 * Returns 0, or -ENODEV when the registers do not agree with each other.
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
 * vgpu_xgmi_base() - where the device's VRAM begins in its hive
 * @vdev: device
 *
 * Returns bytes from node 0's first one; 0 without a hive.
 */
u64 vgpu_xgmi_base(const struct vgpu_device *vdev)
{
	return vdev->hw->xgmi.node * vdev->hw->xgmi.segment;
}

/**
 * vgpu_xgmi_same_hive() - are two devices in one hive?
 * @a: one, up
 * @b: another one, up
 *
 * Any context. Returns false where only one thinks so.
 */
bool vgpu_xgmi_same_hive(const struct vgpu_device *a,
			 const struct vgpu_device *b)
{
	const struct vgpu_xgmi *x = &a->hw->xgmi, *y = &b->hw->xgmi;

	return x->hive && x->hive == y->hive && x->segment == y->segment &&
	       x->node != y->node;
}

/**
 * vgpu_xgmi_linked() - does a device reach another one's VRAM by XGMI now?
 * @vdev: device
 * @peer: the other one, up
 *
 * Returns false without a hive, and while the link is down. Context: as
 * vgpu_io_begin().
 */
bool vgpu_xgmi_linked(struct vgpu_device *vdev, const struct vgpu_device *peer)
{
	KUNIT_STATIC_STUB_REDIRECT(vgpu_xgmi_linked, vdev, peer);
	return vgpu_xgmi_same_hive(vdev, peer) &&
	       vgpu_rreg_sync(vdev, VGPU_XGMI_LINKS) & BIT(peer->hw->xgmi.node);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_xgmi_linked);

/**
 * vgpu_xgmi_offset() - where a peer's VRAM stands, as a device sees it
 * @vdev: device
 * @peer: another one of its hive
 *
 * Returns what makes an offset in the peer's VRAM one from the device's own
 * first byte of VRAM; may be below zero, then it wraps.
 */
u64 vgpu_xgmi_offset(const struct vgpu_device *vdev,
		     const struct vgpu_device *peer)
{
	return vgpu_xgmi_base(peer) - vgpu_xgmi_base(vdev);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_xgmi_offset);
