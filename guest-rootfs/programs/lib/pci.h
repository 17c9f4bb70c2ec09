/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions for a GPU as a PCI device. @name is the device's name on the bus, such as
 * "0000:01:00.0".
 */
#ifndef VG_PCI_H
#define VG_PCI_H

#include <stdbool.h>

#include "device.h"

#define VG_PCI_NAME 16

/* Write @text to a file of sysfs, procfs or debugfs with one write(). */
int vg_put(const char *path, const char *text);
/*
 * Find the bus name of @gpu by the GPU's DRM minor, and store it in @name. Return 0 or -errno;
 * -ENOENT if no driver is bound to the GPU.
 */
int vg_pci_name(const struct vg_gpu *gpu, char name[VG_PCI_NAME]);
/* Unbind the device from the driver vgpu_kfd, or bind it to vgpu_kfd. Return 0 or -errno. */
int vg_pci_unbind(const char *name);
int vg_pci_bind(const char *name);
/* Remove the device from the kernel's PCI tree. */
int vg_pci_remove(const char *name);
/* Scan all PCI buses for new devices. */
int vg_pci_rescan(void);
/* Return true if a driver is bound to the device. */
bool vg_pci_bound(const char *name);
/* Return true if the device is in the kernel's PCI tree, with or without a driver. */
bool vg_pci_exists(const char *name);

#endif /* VG_PCI_H */
