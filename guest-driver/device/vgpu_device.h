/* SPDX-License-Identifier: GPL-2.0 */
/*
 * struct vgpu_device: the DRM device, and pointers to the state of the driver's parts. The
 * source of each part is in a folder of its own, except suspend and resume (vgpu_pm.c).
 *
 * vgpu_pci_probe() initialises the parts in the order of their folders, from hw/ up to kfd/. The
 * init function of a part, except of kfd/, allocates its structure with drmm_kzalloc() before it
 * registers a drmm action that uses the structure. The release of the DRM device proceeds in
 * reverse order, so the action runs before the memory is freed. A folder calls only folders below
 * it: kfd, drm -> svm -> process -> vm -> mm -> hw. A lower folder calls an upper one (interrupts,
 * moves, faults) through handlers that the upper folder registered.
 */
#ifndef VGPU_DEVICE_H
#define VGPU_DEVICE_H

#include <drm/drm_device.h>
#include <linux/atomic.h>
#include <linux/pci.h>

#include "vgpu_stats.h"

struct kfd_node;
struct vgpu_hw;
struct vgpu_mman;
struct vgpu_pm;
struct vgpu_reset;
struct vgpu_sched;
struct vgpu_vm_manager;

/**
 * struct vgpu_device - one GPU
 * @drm: DRM device, embedded; its release frees this structure and the structures that the
 *       members from @hw to @pm point to
 * @pdev: PCI function
 * @stats: the driver's counters, indexed by enum vgpu_counter
 * @hw: registers, rings, interrupts (hw/)
 * @mman: TTM device and its managers (mm/)
 * @vmm: VMIDs, address spaces (vm/)
 * @sched: jobs of the render node (drm/)
 * @reset: recovery (reset/)
 * @pm: state of suspend and resume (vgpu_pm.c)
 * @kfd: KFD's view of the device (process/kfd_node.h), NULL until kfd_device_init() sets it
 */
struct vgpu_device {
	struct drm_device drm;
	struct pci_dev *pdev;
	atomic64_t stats[VGPU_NUM_STATS];
	struct vgpu_hw *hw;
	struct vgpu_mman *mman;
	struct vgpu_vm_manager *vmm;
	struct vgpu_sched *sched;
	struct vgpu_reset *reset;
	struct vgpu_pm *pm;
	struct kfd_node *kfd;
};

/**
 * to_vgpu() - get the driver's structure of a GPU
 * @drm: DRM device of this driver; the function cannot detect a device of another driver
 *
 * Context: any.
 *
 * Return: the structure, which lives as long as @drm.
 */
static inline struct vgpu_device *to_vgpu(struct drm_device *drm)
{
	return container_of(drm, struct vgpu_device, drm);
}

/**
 * vgpu_stat_add() - change one of the driver's counters without a lock
 * @vdev: device
 * @c: counter
 * @n: difference, in the unit of the counter (enum vgpu_counter); negative only for a gauge
 *
 * Context: any.
 */
static inline void vgpu_stat_add(struct vgpu_device *vdev, enum vgpu_counter c, s64 n)
{
	atomic64_add(n, &vdev->stats[c]);
}

/**
 * vgpu_stat_read() - read a counter without a lock
 * @vdev: device
 * @c: counter; enum vgpu_counter says what it counts
 *
 * Other threads may change counters meanwhile, so two reads do not give a consistent pair.
 *
 * Context: any.
 *
 * Return: current value, in the unit of the counter.
 */
static inline s64 vgpu_stat_read(const struct vgpu_device *vdev, enum vgpu_counter c)
{
	return atomic64_read(&vdev->stats[c]);
}

#endif /* VGPU_DEVICE_H */
