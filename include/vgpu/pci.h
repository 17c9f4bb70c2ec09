/* SPDX-License-Identifier: MIT */
/*
 * PCI identity of the device, and its three BARs.
 *
 * Sources: Linux include/drm/amd/amdgpu PCI tables (ids of gfx90a), QEMU
 * docs/specs/pci-ids.rst (subsystem ids).
 */
#ifndef VGPU_PCI_H
#define VGPU_PCI_H

#define VGPU_PCI_VENDOR_ID		0x1002	/* AMD/ATI */
#define VGPU_PCI_DEVICE_ID		0x740f	/* Aldebaran, MI210 */
#define VGPU_PCI_REVISION		0x02
#define VGPU_PCI_CLASS			0x1200	/* processing accelerator */
#define VGPU_PCI_SUBVENDOR_ID		0x1af4	/* QEMU; no card has this id */
#define VGPU_PCI_SUBDEVICE_ID		0x1100

#define VGPU_BAR_VRAM			0	/* VRAM: 64-bit, prefetchable, resizable */
#define VGPU_BAR_DOORBELL		2	/* 64-bit, prefetchable */
#define VGPU_BAR_MMIO			5	/* 32-bit */

#define VGPU_DOORBELL_BAR_SIZE		0x200000u
#define VGPU_MMIO_BAR_SIZE		0x80000u
#define VGPU_MMIO_DWORDS		(VGPU_MMIO_BAR_SIZE / 4)

#endif /* VGPU_PCI_H */
