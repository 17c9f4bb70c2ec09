/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: surprise removal. */
#ifndef HW_MISC_VGPU_KFD_PCI_REMOVAL_H
#define HW_MISC_VGPU_KFD_PCI_REMOVAL_H

typedef struct VGPUState VGPUState;

/**
 * vgpu_surprise_remove: for an injection, make the device absent on its bus
 * @s: device
 * @errp: set if the device is removed already, or migration cannot be blocked
 *
 * The device stays absent until device_del. On return no engine executes a
 * step, and no peer accesses VRAM.
 *
 * Context: BQL held.
 * Return: true; false with @errp set on an error.
 */
bool vgpu_surprise_remove(VGPUState *s, Error **errp);

#endif /* HW_MISC_VGPU_KFD_PCI_REMOVAL_H */
