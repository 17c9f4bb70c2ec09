/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of svm/ (shared virtual memory) that other folders call. Each function is
 * documented where it is defined.
 */
#ifndef VGPU_SVM_H
#define VGPU_SVM_H

#include <linux/fs.h>
#include <linux/kfd_ioctl.h>

struct kfd_node;
struct kfd_process;
struct vgpu_device;

/* svm_node.c */
int svm_node_init(struct kfd_node *node);
void svm_node_fini(struct kfd_node *node);
bool svm_supported(const struct kfd_node *node);
bool svm_vram_epoch_changed(struct kfd_node *node);

/* migrate/svm_pagemap.c */
#if IS_ENABLED(CONFIG_DEVICE_PRIVATE)
int svm_node_evict(struct kfd_node *node, bool all);
#else
static inline int svm_node_evict(struct kfd_node *node, bool all)
{
	return 0;
}
#endif

/* svm_suspend.c */
void svm_suspend(struct kfd_process *p);
void svm_resume(struct kfd_process *p, struct vgpu_device *vdev);
void svm_vram_lost(struct kfd_process *p);

/* svm_range.c */
int svm_module_init(void);
void svm_module_exit(void);
int svm_range_list_init(struct kfd_process *p);
/* svm_fault_queue.c */
void svm_drain_faults(struct kfd_process *p);
/* svm_range.c */
void svm_range_list_fini(struct kfd_process *p);

/* svm_attr.c */
int svm_ioctl(struct kfd_process *p, enum kfd_ioctl_svm_op op, u64 start,
	      u64 size, u32 nattrs, struct kfd_ioctl_svm_attribute *attrs);

/* svm_claim.c */
bool svm_range_overlaps(struct kfd_process *p, u64 start, u64 size);
int svm_claim(struct kfd_process *p, u64 start, u64 size);
void svm_unclaim(struct kfd_process *p);

/* svm_attr.c */
bool svm_always_mapped(struct kfd_process *p, struct vgpu_device *vdev, u64 start,
		       u64 size);

/* svm_debugfs.c: the file kfd/proc/<pid>/svm in debugfs; inode.i_private is the process. */
extern const struct file_operations svm_print_fops;

/* svm_xnack.c */
int svm_set_xnack(struct kfd_process *p, bool on);

#endif /* VGPU_SVM_H */
