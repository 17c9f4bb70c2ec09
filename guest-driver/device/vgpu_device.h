/* SPDX-License-Identifier: GPL-2.0 */
/*
 * struct vgpu_device, and the order of the folders: kfd, drm -> svm -> process -> vm -> mm -> hw.
 * A folder calls folders to its left only through registered handlers.
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
 *
 * Each part except kfd/ allocates its structure with drmm_kzalloc() before it adds drmm actions,
 * because DRM releases in reverse order.
 */
struct vgpu_device {
	/** @drm: DRM device; struct vgpu_device is freed when @drm is released */
	struct drm_device drm;
	/** @pdev: PCI function */
	struct pci_dev *pdev;
	/** @stats: the driver's counters, indexed by enum vgpu_counter */
	atomic64_t stats[VGPU_NUM_STATS];
	/** @hw: registers, rings, interrupts (hw/) */
	struct vgpu_hw *hw;
	/** @mman: TTM device and its managers (mm/) */
	struct vgpu_mman *mman;
	/** @vmm: VMIDs, address spaces (vm/) */
	struct vgpu_vm_manager *vmm;
	/** @sched: jobs of the render node (drm/) */
	struct vgpu_sched *sched;
	/** @reset: recovery (reset/) */
	struct vgpu_reset *reset;
	/** @pm: state of suspend and resume (vgpu_pm.c) */
	struct vgpu_pm *pm;
	/**
	 * @kfd: KFD's view of the device (process/), allocated and freed by kfd/; NULL before
	 * kfd_device_init(), and after the removal of the device
	 */
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
