/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /sys/class/kfd/kfd/proc: sysfs folders of processes and of their queues. Functions are
 * documented in kfd_procfs.c.
 */
#ifndef KFD_PROCFS_H
#define KFD_PROCFS_H

#include <linux/kobject.h>
#include <linux/sysfs.h>
#include <linux/types.h>

struct kfd_process;

/**
 * struct kfd_procfs_entry - a file of a queue's folder
 * @name: file name
 * @show: writes the content of the file into @buf, at most one page; returns the length
 */
struct kfd_procfs_entry {
	const char *name;
	ssize_t (*show)(struct kobject *kobj, struct kobj_attribute *attr,
			char *buf);
};

int kfd_procfs_init(struct kobject *parent);
void kfd_procfs_exit(void);
void kfd_procfs_add(struct kfd_process *p);
void kfd_procfs_remove(struct kfd_process *p);
struct kobject *kfd_procfs_add_queue(struct kfd_process *p, u32 id,
				     struct kobj_attribute *attrs,
				     const struct kfd_procfs_entry *entries,
				     unsigned int n);
void kfd_procfs_remove_queue(struct kobject **kobj);

#endif /* KFD_PROCFS_H */
