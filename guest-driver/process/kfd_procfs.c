// SPDX-License-Identifier: GPL-2.0
/*
 * Creates and removes the sysfs folder of a process, /sys/class/kfd/kfd/proc/<pid>:
 *
 *	pasid		PASID of the process
 *	vram_<gpu id>	bytes of VRAM on that GPU
 *	queues/<id>/	folder of a queue (kfd_queue_sysfs.c)
 */
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "kfd_node.h"
#include "kfd_process.h"
#include "kfd_procfs.h"

/**
 * struct kfd_procfs_vram_file - file "vram_<gpu id>" of a process
 * @pdd: state of the process on the GPU
 * @attr: attribute, which refers to @name
 * @name: name of the file
 */
struct kfd_procfs_vram_file {
	struct kfd_process_device *pdd;
	struct kobj_attribute attr;
	char name[16];
};

/**
 * struct kfd_procfs_files - files of a process's folder; exists as long as kfd_process.kobj
 * @process: the process
 * @queues: folder "queues", or NULL
 * @pasid: file "pasid"
 * @vram: a file for each of kfd_process.pdds
 *
 * kfd_procfs_mutex protects @queues; the other members do not change.
 */
struct kfd_procfs_files {
	struct kfd_process *process;
	struct kobject *queues;
	struct kobj_attribute pasid;
	struct kfd_procfs_vram_file vram[];
};

static struct kobject *kfd_procfs;
/*
 * Protects the folders. kfd_process.mutex cannot do this: kfd_process_detach() removes a folder in
 * an MMU notifier, which must not wait for kfd_process.mutex.
 */
static DEFINE_MUTEX(kfd_procfs_mutex);

static ssize_t kfd_procfs_pasid(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	struct kfd_procfs_files *files = container_of(attr, struct kfd_procfs_files, pasid);

	return sysfs_emit(buf, "%u\n", files->process->pasid);
}

static ssize_t kfd_procfs_vram(struct kobject *kobj,
			       struct kobj_attribute *attr, char *buf)
{
	struct kfd_procfs_vram_file *vram = container_of(attr, struct kfd_procfs_vram_file, attr);

	return sysfs_emit(buf, "%lld\n", atomic64_read(&vram->pdd->vram_usage));
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
		pr_warn("kfd: cannot create sysfs file %s in %s\n", name, kobject_name(dir));
}

static void kfd_procfs_fill(struct kfd_process *p)
{
	struct kfd_procfs_files *files = p->procfs;
	u32 i;

	files->process = p;
	kfd_procfs_file(p->kobj, &files->pasid, "pasid", kfd_procfs_pasid);
	for (i = 0; i < p->n_pdds; i++) {
		struct kfd_procfs_vram_file *vram = &files->vram[i];

		vram->pdd = p->pdds[i];
		snprintf(vram->name, sizeof(vram->name), "vram_%u",
			 vram->pdd->node->gpu_id);
		kfd_procfs_file(p->kobj, &vram->attr, vram->name, kfd_procfs_vram);
	}
	files->queues = kobject_create_and_add("queues", p->kobj);
}

/**
 * kfd_procfs_add() - create the folder of a process
 * @p: process with its PASID and GPUs
 *
 * A failure is not reported, because the folder is only information.
 *
 * Context: process context; takes kfd_procfs_mutex.
 */
void kfd_procfs_add(struct kfd_process *p)
{
	struct kfd_procfs_files *files = NULL;
	struct kernfs_node *taken;
	char name[16];

	snprintf(name, sizeof(name), "%d", p->lead_thread->pid);
	mutex_lock(&kfd_procfs_mutex);
	/*
	 * After exec() the old program's mm, and so the old folder with this PID, may still exist.
	 * Create no folder in this case.
	 */
	taken = sysfs_get_dirent(kfd_procfs->sd, name);
	sysfs_put(taken);
	if (!taken)
		files = kzalloc(struct_size(files, vram, p->n_pdds), GFP_KERNEL);
	if (files)
		p->kobj = kobject_create_and_add(name, kfd_procfs);
	if (p->kobj) {
		p->procfs = files;
		kfd_procfs_fill(p);
	} else {
		kfree(files);
	}
	mutex_unlock(&kfd_procfs_mutex);
}

static void kfd_procfs_drop(struct kobject **kobj)
{
	/* kobject_del() waits for readers of the files, so the readers need no lock. */
	kobject_del(*kobj);
	kobject_put(*kobj);
	*kobj = NULL;
}

/**
 * kfd_procfs_remove() - remove the folder of a process, if it has one
 * @p: process
 *
 * Waits for readers of the files. Further calls do nothing.
 *
 * Context: process context; takes kfd_procfs_mutex.
 */
void kfd_procfs_remove(struct kfd_process *p)
{
	mutex_lock(&kfd_procfs_mutex);
	if (p->procfs)
		kfd_procfs_drop(&p->procfs->queues);
	kfd_procfs_drop(&p->kobj);
	kfree(p->procfs);
	p->procfs = NULL;
	mutex_unlock(&kfd_procfs_mutex);
}

/**
 * kfd_procfs_add_queue() - create a queue's folder
 * @p: process
 * @id: the queue's id, name of the folder
 * @attrs: memory for @n attributes, valid until kfd_procfs_remove_queue()
 * @entries: name and content of each file
 * @n: number of files
 *
 * Context: kfd_process.mutex is held. Takes kfd_procfs_mutex.
 *
 * Return: the folder, or NULL if @p has no folder or there is no memory.
 */
struct kobject *kfd_procfs_add_queue(struct kfd_process *p, u32 id,
				     struct kobj_attribute *attrs,
				     const struct kfd_procfs_entry *entries,
				     unsigned int n)
{
	struct kobject *kobj = NULL;
	unsigned int i;
	char name[16];

	snprintf(name, sizeof(name), "%u", id);
	mutex_lock(&kfd_procfs_mutex);
	if (p->procfs && p->procfs->queues)
		kobj = kobject_create_and_add(name, p->procfs->queues);
	for (i = 0; kobj && i < n; i++)
		kfd_procfs_file(kobj, &attrs[i], entries[i].name,
				entries[i].show);
	mutex_unlock(&kfd_procfs_mutex);
	return kobj;
}

/**
 * kfd_procfs_remove_queue() - remove a queue's folder
 * @kobj: pointer to the folder or to NULL; the function sets *@kobj to NULL
 *
 * Waits for readers of the files.
 *
 * Context: kfd_process.mutex is held. Takes kfd_procfs_mutex.
 */
void kfd_procfs_remove_queue(struct kobject **kobj)
{
	mutex_lock(&kfd_procfs_mutex);
	kfd_procfs_drop(kobj);
	mutex_unlock(&kfd_procfs_mutex);
}

/**
 * kfd_procfs_init() - create the folder that holds the folders of processes
 * @parent: /sys/class/kfd/kfd
 *
 * Context: module init.
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_procfs_init(struct kobject *parent)
{
	kfd_procfs = kobject_create_and_add("proc", parent);
	return kfd_procfs ? 0 : -ENOMEM;
}

/**
 * kfd_procfs_exit() - undo kfd_procfs_init()
 *
 * Context: module exit; the folders of processes have been removed.
 */
void kfd_procfs_exit(void)
{
	kobject_put(kfd_procfs);
}
