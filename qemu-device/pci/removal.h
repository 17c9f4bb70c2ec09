/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: surprise removal. */
#ifndef HW_MISC_VGPU_KFD_PCI_REMOVAL_H
#define HW_MISC_VGPU_KFD_PCI_REMOVAL_H

typedef struct VGPUState VGPUState;

/**
 * vgpu_surprise_remove: make the device absent until device_del
 * @s: device
 * @errp: set if already absent, or migration cannot be blocked
 *
 * Waits for engines, and for peers that access VRAM.
 *
 * Context: BQL held.
 * Return: true; false with @errp set.
 */
bool vgpu_surprise_remove(VGPUState *s, Error **errp);

#endif /* HW_MISC_VGPU_KFD_PCI_REMOVAL_H */
