/* SPDX-License-Identifier: GPL-2.0 */
/* GPUs come to KFD, sleep, and go. */
#ifndef KFD_CORE_H
#define KFD_CORE_H

#include <linux/types.h>

struct vgpu_device;

/*
 * Device life, from probe and remove; the DRM device has its render node. fini
 * takes the GPU away from every process that knows it and waits until none
 * does; such a process loses its KFD state, on all GPUs.
 */
int kfd_device_init(struct vgpu_device *vdev);
void kfd_device_fini(struct vgpu_device *vdev);

/*
 * The system's sleep. kfd_suspend(): the queues of every process that
 * knows the GPU are off, SVM's pages have left its VRAM; as far as that lasts
 * while processes run, for good if they are @frozen: 0, or -EBUSY if pages do not
 * leave. Undone by kfd_resume().
 * kfd_resume_device(): the device works again, and is about to fault.
 */
int kfd_suspend(struct vgpu_device *vdev, bool frozen);
void kfd_resume_device(struct vgpu_device *vdev);
void kfd_resume(struct vgpu_device *vdev);

#endif /* KFD_CORE_H */
