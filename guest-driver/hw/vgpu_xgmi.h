/* SPDX-License-Identifier: GPL-2.0 */
/* XGMI links to the other GPUs of the hive. Functions are documented in vgpu_xgmi.c. */
#ifndef VGPU_HW_XGMI_H
#define VGPU_HW_XGMI_H

#include <linux/types.h>

struct vgpu_device;

/**
 * struct vgpu_xgmi - place of a device in its hive; constant after vgpu_xgmi_init()
 *
 * If the device is in no hive, all members are 0.
 */
struct vgpu_xgmi {
	/** @hive: id that all GPUs of the hive share */
	u64 hive;
	/** @segment: bytes per node in the hive's address range */
	u64 segment;
	/** @node: number of this device in the hive */
	unsigned int node;
};

bool vgpu_xgmi_same_hive(const struct vgpu_device *a,
			 const struct vgpu_device *b);
bool vgpu_xgmi_linked(struct vgpu_device *vdev,
		      const struct vgpu_device *peer);
u64 vgpu_xgmi_offset(const struct vgpu_device *vdev,
		     const struct vgpu_device *peer);

#endif /* VGPU_HW_XGMI_H */
