/* SPDX-License-Identifier: GPL-2.0 */
/* Defines the SVM state of a GPU. */
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
 * @pgmap: device-private pages that stand for VRAM; @pgmap.type is 0 if the GPU does not support
 *         SVM
 * @supported: the GPU supports SVM
 * @vram_pages: number of device-private pages in use; wake_up_var() is called when it becomes 0
 * @vram_epoch: value of vgpu_hw.vram_epoch at the last svm_vram_epoch_changed()
 * @dead_bos: list of the struct svm_bo whose last page was freed
 * @reap_work: returns VRAM of @dead_bos to the VRAM manager
 * @fault_lock: protects the queued faults of all processes on the GPU; taken in the
 *              interrupt handler
 * @slots: retry faults, indexed by CAM slot; an element is free or linked in a list of one struct
 *         svm_fault_queue; protected by @fault_lock
 * @cam_owners: for each CAM slot, the fault queue that has to acknowledge the slot, or NULL;
 *              protected by @fault_lock
 * @cam_work: svm_cam_work(); queued while each CAM slot has an owner in @cam_owners. In that state
 *            user queues cannot raise retry faults, since each new fault needs a free slot. The
 *            work frees the slots of each process that has had no fault acknowledged for 250 ms
 *            (SVM_CAM_STALL_MS)
 * @faults: faults of the kernel, and faults that belong to no process with this GPU; see
 *          svm_fault_queue.svms
 * @wq: ordered workqueue that runs the work of @faults and @cam_work; this work never waits for a
 *      process
 */
struct svm_node {
	struct kfd_node *node;
	struct dev_pagemap pgmap;
	bool supported;
	atomic_long_t vram_pages;
	int vram_epoch;
	struct llist_head dead_bos;
	struct work_struct reap_work;
	spinlock_t fault_lock;		/* protects slots, cam_owners and all fault queues */
	struct svm_fault slots[VGPU_RETRY_CAM_SLOTS];
	struct svm_fault_queue *cam_owners[VGPU_RETRY_CAM_SLOTS];
	struct delayed_work cam_work;
	struct svm_fault_queue faults;
	struct workqueue_struct *wq;
};

/*
 * Return dev_pagemap.owner, for HMM and migrate_vma. All GPUs of a hive have the same owner
 * (svm_hive.c).
 */
static inline void *svm_pgmap_owner(const struct kfd_node *node)
{
	return node->svm->pgmap.owner;
}

#endif /* SVM_NODE_H */
