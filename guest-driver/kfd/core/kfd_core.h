/* SPDX-License-Identifier: GPL-2.0 */
/* GPUs and processes come to KFD, sleep, and go. */
#ifndef KFD_CORE_H
#define KFD_CORE_H

#include <linux/types.h>

struct kfd_node;
struct mm_struct;
struct task_struct;
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

/*
 * Make @thread and its @mm, of which the caller has a reference, a process of
 * KFD's, if they are none. 0, -EINVAL other processes share @mm, -ESRCH @thread has
 * ended, -ENOSPC no PASID, -ENOMEM, -EINTR. No locks held; waits for mmap_lock.
 */
int kfd_process_open(struct task_struct *thread, struct mm_struct *mm);
/* Take KFD away from every process that knows @node, or from all if NULL. */
void kfd_process_detach_all(struct kfd_node *node);
/* Documented in kfd_process_life.c. */
void kfd_process_life_init(void);

/* /sys/kernel/debug/kfd */
void kfd_debugfs_init(void);
void kfd_debugfs_exit(void);

#endif /* KFD_CORE_H */
