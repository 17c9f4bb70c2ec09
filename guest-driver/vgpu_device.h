/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One GPU: the DRM device and what each room keeps in it.
 *
 * Rooms call downwards only: kfd, svm, drm -> vm -> mm -> hw. What goes up
 * (interrupts, moves, faults) goes through handlers that the upper room
 * registered.
 */
#ifndef VGPU_DEVICE_H
#define VGPU_DEVICE_H

#include <drm/drm_device.h>
#include <linux/pci.h>

#include "hw/vgpu_hw.h"
#include "mm/vgpu_mm.h"
#include "vm/vgpu_vm.h"

struct kfd_node;

/**
 * struct vgpu_device - one GPU
 * @drm: DRM device, embedded; its release frees this structure
 * @pdev: PCI function
 * @hw: registers, rings, interrupts (hw/)
 * @mman: TTM device and its managers (mm/)
 * @vmm: VMIDs, PASIDs, VMs (vm/)
 * @kfd: KFD's view of the device, NULL until kfd has taken it on
 */
struct vgpu_device {
	struct drm_device drm;
	struct pci_dev *pdev;
	struct vgpu_hw hw;
	struct vgpu_mman mman;
	struct vgpu_vm_manager vmm;
	struct kfd_node *kfd;
};

static inline struct vgpu_device *to_vgpu(struct drm_device *drm)
{
	return container_of(drm, struct vgpu_device, drm);
}

#endif /* VGPU_DEVICE_H */
