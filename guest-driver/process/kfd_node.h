/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GPUs as KFD sees them, and the list of them. Functions are documented in kfd_node.c.
 */
#ifndef KFD_NODE_H
#define KFD_NODE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>

#include "device/vgpu_device.h"
#include "smi/kfd_smi_events.h"

#define KFD_MAX_GPU_INSTANCE	64

struct device_queue_manager;
struct kfd_interrupts;
struct svm_node;
struct vgpu_bo;

/**
 * struct kfd_node - a GPU as KFD sees it
 * @vdev: the GPU; alive as long as the node is
 * @gpu_id: what user space names it by; 16 bits, not zero, unique
 * @topology_id: number of its folder in the topology; under the topology's lock
 * @dqm: queues of all processes; kfd_dqm_init() allocates it
 * @irq: work of interrupts; kfd_interrupt_init() allocates it
 * @vram_used: bytes of VRAM that BOs of KFD ask for, evicted ones included;
 *             see kfd_mem_limit.c
 * @mmio: the page of the HDP flush registers, pinned; see kfd_mmio.c
 * @n_pdds: processes that know the node; kfd_device_fini() waits for none
 * @svm: state of svm/; svm_node_init() allocates it
 * @smi: event log
 * @list: in the list of nodes; kfd_processes_mutex
 */
struct kfd_node {
	struct vgpu_device *vdev;
	u32 gpu_id;
	u32 topology_id;
	struct device_queue_manager *dqm;
	struct kfd_interrupts *irq;
	u64 vram_used;
	struct vgpu_bo *mmio;
	atomic_t n_pdds;
	struct svm_node *svm;
	struct kfd_smi smi;
	struct list_head list;
};

/* All GPUs; kfd_processes_mutex. */
extern struct list_head kfd_nodes;
int kfd_node_register(struct kfd_node *node);
void kfd_node_unregister(struct kfd_node *node);

#endif /* KFD_NODE_H */
