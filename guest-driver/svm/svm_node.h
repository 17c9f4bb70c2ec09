/* SPDX-License-Identifier: GPL-2.0 */
/* What SVM keeps of a GPU. */
#ifndef SVM_NODE_H
#define SVM_NODE_H

#include <linux/atomic.h>
#include <linux/llist.h>
#include <linux/memremap.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "process/kfd_node.h"
#include "svm_fault_queue.h"

/**
 * struct svm_node - SVM's state of one GPU
 * @node: the GPU
 * @pgmap: device-private pages that stand for VRAM; type 0 when the kernel
 *         has no CONFIG_DEVICE_PRIVATE: then no SVM capability is reported
 * @supported: the GPU does SVM
 * @vram_pages: device-private pages in use; who waits for 0 is woken
 * @vram_epoch: vgpu_hw.vram_epoch at the last svm_vram_epoch_changed()
 * @dead_bos: VRAM whose last page was freed
 * @reap_work: returns @dead_bos to the VRAM manager
 * @fault_lock: queued faults of all processes on the GPU; taken in the interrupt handler
 * @slots: retry faults by their slot of the CAM: free, or in a list of the queue of
 *         their process; @fault_lock
 * @cam_owners: who has not acknowledged a slot of the CAM, or NULL; @fault_lock
 * @cam_work: queued while all slots are owned: no other process can fault
 * @faults: those of no process
 * @wq: ordered; runs the work of @faults and @cam_work, which wait for no process
 */
struct svm_node {
	struct kfd_node *node;
	struct dev_pagemap pgmap;
	bool supported;
	atomic_long_t vram_pages;
	int vram_epoch;
	struct llist_head dead_bos;
	struct work_struct reap_work;
	spinlock_t fault_lock;		/* queued faults */
	struct svm_fault slots[VGPU_RETRY_CAM_SLOTS];
	struct svm_fault_queue *cam_owners[VGPU_RETRY_CAM_SLOTS];
	struct delayed_work cam_work;
	struct svm_fault_queue faults;
	struct workqueue_struct *wq;
};

/* Whose pages HMM and migrate_vma take for this GPU's: svm_hive.c. */
static inline void *svm_pgmap_owner(const struct kfd_node *node)
{
	return node->svm->pgmap.owner;
}

#endif /* SVM_NODE_H */
