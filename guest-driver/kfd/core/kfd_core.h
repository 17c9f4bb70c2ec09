/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Create and remove KFD's nodes and processes, and suspend them for system sleep. Functions are
 * documented where they are defined.
 */
#ifndef KFD_CORE_H
#define KFD_CORE_H

#include <linux/types.h>

struct kfd_node;
struct mm_struct;
struct task_struct;
struct vgpu_device;

/* kfd_device.c */
int kfd_device_init(struct vgpu_device *vdev);
void kfd_device_fini(struct vgpu_device *vdev);

/* kfd_suspend.c */
int kfd_suspend(struct vgpu_device *vdev, bool frozen);
void kfd_resume_device(struct vgpu_device *vdev);
void kfd_resume(struct vgpu_device *vdev);

/* kfd_process_life.c */
int kfd_process_open(struct task_struct *thread, struct mm_struct *mm);
void kfd_process_detach_all(struct kfd_node *node);
void kfd_process_life_init(void);

/* kfd_debugfs.c */
void kfd_debugfs_init(void);
void kfd_debugfs_exit(void);

#endif /* KFD_CORE_H */
