/* SPDX-License-Identifier: GPL-2.0 */
/*
 * svm/: shared virtual memory. Ranges, faults, migration, policy. This header
 * is the room's public face; it is included by kfd/kfd_priv.h.
 */
#ifndef VGPU_SVM_H
#define VGPU_SVM_H

#include <linux/interval_tree.h>
#include <linux/kfd_ioctl.h>
#include <linux/kfifo.h>
#include <linux/memremap.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "../hw/vgpu_hw.h"

struct kfd_node;
struct kfd_process;
struct vgpu_device;

#define SVM_MAX_GPU	64
#define SVM_DEFAULT_GRANULARITY	9	/* 2^9 pages: 2 MiB */

/**
 * struct svm_range_list - all ranges of a process
 * @objects: interval tree of struct svm_range, keyed by page numbers
 * @list: the same ranges, by address
 * @lock: protects @objects, @list and the ranges' attributes; sleeping; order:
 *        mmap_lock -> lock -> range.migrate_mutex -> range.lock; never taken
 *        in a notifier or in migrate_to_ram
 */
struct svm_range_list {
	struct mutex lock;
	struct rb_root_cached objects;
	struct list_head list;
	struct work_struct deferred_list_work;
	struct list_head deferred_range_list;
	spinlock_t deferred_list_lock;
	atomic_t evicted_ranges;
	atomic_t drain_pagefaults;
	struct delayed_work restore_work;
	DECLARE_BITMAP(bitmap_supported, SVM_MAX_GPU);
	u8 default_granularity;
	struct list_head criu_svm_metadata_list;
};

/**
 * struct svm_node - SVM's state of one GPU
 * @pgmap: device-private pages that stand for VRAM; type 0 when the kernel
 *         has no CONFIG_DEVICE_PRIVATE: then no SVM capability is reported
 * @fifo: retry faults from the interrupt handler to @fault_work
 */
struct svm_node {
	struct dev_pagemap pgmap;
	bool supported;
	spinlock_t fifo_lock;
	DECLARE_KFIFO_PTR(fifo, struct vgpu_iv_entry);
	struct work_struct fault_work;
	struct workqueue_struct *fault_wq;
};

/* Device: registers the pagemap and the VM fault handlers. */
int svm_node_init(struct kfd_node *node);
void svm_node_fini(struct kfd_node *node);

/* Process. fini drains faults and deferred work before it frees anything. */
int svm_range_list_init(struct kfd_process *p);
void svm_range_list_fini(struct kfd_process *p);

/*
 * AMDKFD_IOC_SVM. @start and @size page aligned (checked). Errors as amdgpu:
 * -EINVAL, -EFAULT, -EPERM, -ENOMEM, -EBUSY.
 */
int svm_ioctl(struct kfd_process *p, enum kfd_ioctl_svm_op op, u64 start,
	      u64 size, u32 nattrs, struct kfd_ioctl_svm_attribute *attrs);

/* A change of the process's XNACK mode: drain, unmap, map as the new mode asks. */
int svm_xnack_changed(struct kfd_process *p);

#endif /* VGPU_SVM_H */
