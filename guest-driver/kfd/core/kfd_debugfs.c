// SPDX-License-Identifier: GPL-2.0
/*
 * Files in /sys/kernel/debug/kfd, named as in amdkfd. drm/vgpu_debugfs.c makes dri/N/kfd a symbolic
 * link to /sys/kernel/debug/kfd.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "hw/cp/vgpu_cp.h"
#include "hw/cp/vgpu_mqd.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm/svm.h"
#include "kfd_core.h"
#include "kfd_core_priv.h"

static struct dentry *kfd_debugfs;
static struct dentry *kfd_debugfs_proc;

static void kfd_mqds_show_queue(struct seq_file *m, struct kfd_queue *q)
{
	seq_printf(m, "    Compute queue %u on device %u, %s%s\n", q->id,
		   q->pdd->node->gpu_id, q->aql ? "AQL" : "PM4",
		   q->loaded ? "" : ", off");
	seq_hex_dump(m, "    ", DUMP_PREFIX_OFFSET, 32, 4, q->mqd,
		     VGPU_CP_MQD_BYTES, false);
}

/* File mqds: the MQD of every compute queue, by process. */
static int kfd_mqds_show(struct seq_file *m, void *data)
{
	struct kfd_process *p;
	struct kfd_queue *q;
	u32 pasid = 0;
	u32 i;

	while ((p = kfd_lookup_process_after(pasid))) {
		pasid = p->pasid;
		seq_printf(m, "Process %d PASID 0x%x:\n", p->lead_thread->tgid,
			   pasid);
		/* queue_lock keeps queues from being created, destroyed or loaded. */
		mutex_lock(&p->queue_lock);
		for (i = 0; i < p->n_pdds; i++)
			list_for_each_entry(q, &p->pdds[i]->qpd->queues, link)
				if (q->kind == KFD_QUEUE_COMPUTE)
					kfd_mqds_show_queue(m, q);
		mutex_unlock(&p->queue_lock);
		kfd_unref_process(p);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kfd_mqds);

static int kfd_show_nodes(struct seq_file *m,
			  void (*print)(struct vgpu_device *vdev,
					struct drm_printer *p))
{
	struct drm_printer p = drm_seq_file_printer(m);
	struct kfd_node *node;
	int idx;

	mutex_lock(&kfd_processes_mutex);
	list_for_each_entry(node, &kfd_nodes, list) {
		/*
		 * topology_id is read without kfd_topology_mutex. Even with the mutex, topology_id
		 * could change before user space reads the output.
		 */
		seq_printf(m, "Node %u, gpu_id %u:\n", READ_ONCE(node->topology_id),
			   node->gpu_id);
		if (!drm_dev_enter(&node->vdev->drm, &idx))
			continue;
		print(node->vdev, &p);
		drm_dev_exit(idx);
	}
	mutex_unlock(&kfd_processes_mutex);
	return 0;
}

/* File hqds: the active hardware queues of each GPU. */
static int kfd_hqds_show(struct seq_file *m, void *data)
{
	return kfd_show_nodes(m, vgpu_cp_print_hqds);
}
DEFINE_SHOW_ATTRIBUTE(kfd_hqds);

/* File rls: the run list of each GPU. */
static int kfd_rls_show(struct seq_file *m, void *data)
{
	return kfd_show_nodes(m, vgpu_cp_print_list);
}
DEFINE_SHOW_ATTRIBUTE(kfd_rls);

/**
 * kfd_debugfs_init() - create /sys/kernel/debug/kfd and its files
 *
 * Errors are ignored: the driver works without debugfs.
 *
 * Context: module init. Sleeps.
 */
void kfd_debugfs_init(void)
{
	kfd_debugfs = debugfs_create_dir("kfd", NULL);
	debugfs_create_file("mqds", 0444, kfd_debugfs, NULL, &kfd_mqds_fops);
	debugfs_create_file("hqds", 0444, kfd_debugfs, NULL, &kfd_hqds_fops);
	debugfs_create_file("rls", 0444, kfd_debugfs, NULL, &kfd_rls_fops);
	kfd_debugfs_proc = debugfs_create_dir("proc", kfd_debugfs);
}

/**
 * kfd_debugfs_exit() - remove /sys/kernel/debug/kfd
 *
 * Context: module exit, after the last kfd_debugfs_remove(). Sleeps.
 */
void kfd_debugfs_exit(void)
{
	debugfs_remove_recursive(kfd_debugfs);
}

/* File proc/<pid>/svm: the SVM ranges of the process (svm/svm_debugfs.c). */
void kfd_debugfs_add(struct kfd_process *p, const char *name)
{
	p->debugfs = debugfs_create_dir(name, kfd_debugfs_proc);
	/* Readable for root only, as the file shows addresses of the process. */
	debugfs_create_file("svm", 0400, p->debugfs, p, &svm_print_fops);
}

void kfd_debugfs_remove(struct kfd_process *p)
{
	debugfs_remove(p->debugfs);
	p->debugfs = NULL;
}
