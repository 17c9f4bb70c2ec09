/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vgpu-kfd: surprise removal. */
#ifndef HW_MISC_VGPU_KFD_PCI_REMOVAL_H
#define HW_MISC_VGPU_KFD_PCI_REMOVAL_H

typedef struct VGPUState VGPUState;

/* Take the device off its bus, for ever. BQL held. */
bool vgpu_surprise_remove(VGPUState *s, Error **errp);

#endif /* HW_MISC_VGPU_KFD_PCI_REMOVAL_H */
