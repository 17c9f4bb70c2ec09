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
 */
struct svm_node {
	/** @node: the GPU */
	struct kfd_node *node;
	/** @pgmap: device-private pages for VRAM; @pgmap.type is 0 without SVM support */
	struct dev_pagemap pgmap;
	/** @vram_work: makes the device-private pages of VRAM, after svm_node_init(); on @wq */
	struct work_struct vram_work;
	/** @pending: @vram_work has not ended. Use svm_supported(), which waits for the end */
	bool pending;
	/** @supported: VRAM has device-private pages; constant while @pending is false */
	bool supported;
	/** @vram_pages: number of pages of @pgmap in use; wake_up_var() is called at 0 */
	atomic_long_t vram_pages;
	/** @vram_epoch: value of vgpu_hw.vram_epoch at the last svm_vram_epoch_changed() */
	int vram_epoch;
	/** @dead_bos: list of struct svm_bo without references; @reap_work frees them */
	struct llist_head dead_bos;
	/** @reap_work: returns VRAM of @dead_bos to the VRAM manager */
	struct work_struct reap_work;
	/**
	 * @fault_lock: protects @slots, @cam_owners and all fault queues of the GPU; taken in the
	 * interrupt handler
	 */
	spinlock_t fault_lock;
	/**
	 * @slots: retry faults, indexed by slot of the retry CAM. An element is free, or is linked
	 * in a list of a fault queue (struct svm_fault_queue)
	 */
	struct svm_fault slots[VGPU_RETRY_CAM_SLOTS];
	/**
	 * @cam_owners: for each slot of the retry CAM, the fault queue that must acknowledge the
	 * slot, or NULL if the slot is free
	 */
	struct svm_fault_queue *cam_owners[VGPU_RETRY_CAM_SLOTS];
	/** @cam_work: svm_cam_work(); queued when no slot of the retry CAM is free */
	struct delayed_work cam_work;
	/**
	 * @faults: queue of faults that belong to no process, for example faults of the kernel;
	 * @faults.svms is NULL
	 */
	struct svm_fault_queue faults;
	/**
	 * @wq: ordered workqueue of @faults, @cam_work and @vram_work. Faults of a process are
	 * handled in workqueues of the process instead, so that slow repairs delay only this
	 * process
	 */
	struct workqueue_struct *wq;
};

/*
 * svm_node.c: end of svm_node.vram_work. Set svm_node.supported, and wake the tasks that wait in
 * svm_supported(). Only svm_node.c and tests call this function.
 */
void svm_node_ready(struct svm_node *sn, bool supported);

/*
 * Return dev_pagemap.owner, for HMM and migrate_vma. All GPUs of a hive have the same owner
 * (svm_hive.c).
 */
static inline void *svm_pgmap_owner(const struct kfd_node *node)
{
	return node->svm->pgmap.owner;
}

#endif /* SVM_NODE_H */
