// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/class/kfd/kfd/proc/<pid>: what user space may know of a process.
 *
 *	pasid		the process's address space id
 *	vram_<gpu id>	bytes of VRAM it has allocated on that GPU
 */
#include <linux/device.h>
#include <linux/kernfs.h>
#include <linux/sched.h>

#include "kfd_room.h"

static struct kobject *kfd_procfs;

static ssize_t kfd_procfs_pasid(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	struct kfd_process *p = container_of(attr, struct kfd_process,
					     attr_pasid);

	return sysfs_emit(buf, "%u\n", p->pasid);
}

static ssize_t kfd_procfs_vram(struct kobject *kobj,
			       struct kobj_attribute *attr, char *buf)
{
	struct kfd_process_device *pdd =
		container_of(attr, struct kfd_process_device, attr_vram);

	return sysfs_emit(buf, "%lld\n", atomic64_read(&pdd->vram_usage));
}

static void kfd_procfs_file(struct kobject *dir, struct kobj_attribute *attr,
			    const char *name,
			    ssize_t (*show)(struct kobject *kobj,
					    struct kobj_attribute *attr,
					    char *buf))
{
	sysfs_attr_init(&attr->attr);
	attr->attr.name = name;
	attr->attr.mode = 0444;
	attr->show = show;
	if (sysfs_create_file(dir, &attr->attr))
		pr_warn("kfd: no file %s in %s\n", name, kobject_name(dir));
}

/* The folder is information only: a process lives without it. */
void kfd_procfs_add(struct kfd_process *p)
{
	struct kernfs_node *taken;
	char name[16];
	u32 i;

	snprintf(name, sizeof(name), "%d", p->lead_thread->pid);
	/* After exec(), the old program's mm may still be on its way out. */
	taken = sysfs_get_dirent(kfd_procfs->sd, name);
	if (taken) {
		sysfs_put(taken);
		return;
	}
	p->kobj = kobject_create_and_add(name, kfd_procfs);
	if (!p->kobj)
		return;
	kfd_procfs_file(p->kobj, &p->attr_pasid, "pasid", kfd_procfs_pasid);
	for (i = 0; i < p->n_pdds; i++) {
		struct kfd_process_device *pdd = p->pdds[i];

		snprintf(pdd->vram_filename, sizeof(pdd->vram_filename),
			 "vram_%u", pdd->node->gpu_id);
		kfd_procfs_file(p->kobj, &pdd->attr_vram, pdd->vram_filename,
				kfd_procfs_vram);
	}
}

/* When this returns nobody reads the files any more. */
void kfd_procfs_remove(struct kfd_process *p)
{
	if (!p->kobj)
		return;
	kobject_del(p->kobj);
	kobject_put(p->kobj);
	p->kobj = NULL;
}

int kfd_procfs_init(void)
{
	kfd_procfs = kobject_create_and_add("proc", &kfd_device->kobj);
	return kfd_procfs ? 0 : -ENOMEM;
}

void kfd_procfs_exit(void)
{
	kobject_put(kfd_procfs);
}
