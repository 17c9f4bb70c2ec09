/* SPDX-License-Identifier: GPL-2.0 */
/* What SVM keeps of a GPU. */
#ifndef SVM_NODE_H
#define SVM_NODE_H

#include <linux/atomic.h>
#include <linux/kfifo.h>
#include <linux/llist.h>
#include <linux/memremap.h>
#include <linux/workqueue.h>

#include "hw/vgpu_ih.h"
#include "process/kfd_node.h"

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
 * @fifo: faults from the interrupt handler (one producer) to @fault_work (one
 *        consumer)
 * @fault_work: serves faults
 * @wq: ordered; runs @fault_work
 */
struct svm_node {
	struct kfd_node *node;
	struct dev_pagemap pgmap;
	bool supported;
	atomic_long_t vram_pages;
	int vram_epoch;
	struct llist_head dead_bos;
	struct work_struct reap_work;
	DECLARE_KFIFO_PTR(fifo, struct vgpu_iv_entry);
	struct work_struct fault_work;
	struct workqueue_struct *wq;
};

/* Whose pages HMM and migrate_vma take for this GPU's: svm_hive.c. */
static inline void *svm_pgmap_owner(const struct kfd_node *node)
{
	return node->svm->pgmap.owner;
}

#endif /* SVM_NODE_H */
