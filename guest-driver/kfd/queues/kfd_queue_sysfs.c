// SPDX-License-Identifier: GPL-2.0
/*
 * Creates the files of a queue in /sys/class/kfd/kfd/proc/<pid>/queues/<id>:
 *
 *	gpuid	id of the GPU
 *	size	bytes of the ring
 *	type	KFD_IOC_QUEUE_TYPE_*
 */
#include <linux/kfd_ioctl.h>
#include <linux/sysfs.h>

#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "process/kfd_procfs.h"
#include "kfd_queue.h"
#include "kfd_queue_priv.h"

static ssize_t kfd_queue_show_gpuid(struct kobject *kobj,
				    struct kobj_attribute *attr, char *buf)
{
	struct kfd_queue *q = container_of(attr, struct kfd_queue, attrs[0]);

	return sysfs_emit(buf, "%u\n", q->pdd->node->gpu_id);
}

static ssize_t kfd_queue_show_size(struct kobject *kobj,
				   struct kobj_attribute *attr, char *buf)
{
	struct kfd_queue *q = container_of(attr, struct kfd_queue, attrs[1]);

	return sysfs_emit(buf, "%u\n", q->kind == KFD_QUEUE_COMPUTE ?
			  READ_ONCE(q->cp.ring_bytes) :
			  READ_ONCE(q->regs.ring_bytes));
}

static ssize_t kfd_queue_show_type(struct kobject *kobj,
				   struct kobj_attribute *attr, char *buf)
{
	struct kfd_queue *q = container_of(attr, struct kfd_queue, attrs[2]);

	/* As in amdkfd, show the same type for PM4 and AQL queues. */
	return sysfs_emit(buf, "%u\n", q->kind == KFD_QUEUE_COMPUTE ?
			  KFD_IOC_QUEUE_TYPE_COMPUTE :
			  kfd_sdma_type(q));
}

static const struct kfd_procfs_entry kfd_queue_files[KFD_QUEUE_FILES] = {
	{ "gpuid", kfd_queue_show_gpuid },
	{ "size", kfd_queue_show_size },
	{ "type", kfd_queue_show_type },
};

void kfd_queue_sysfs_add(struct kfd_queue *q)
{
	q->kobj = kfd_procfs_add_queue(q->pdd->process, q->id, q->attrs,
				       kfd_queue_files,
				       ARRAY_SIZE(kfd_queue_files));
}

/*
 * Waits for readers of the queue's files. These readers take no lock, so free the queue only
 * afterwards.
 */
void kfd_queue_sysfs_remove(struct kfd_queue *q)
{
	kfd_procfs_remove_queue(&q->kobj);
}
