/* SPDX-License-Identifier: GPL-2.0 */
/* Declares struct kfd_node, which is KFD's state of a GPU, and the list of nodes (kfd_node.c). */
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
 * struct kfd_node - KFD's state of a GPU
 */
struct kfd_node {
	/** @vdev: the device; outlives the node */
	struct vgpu_device *vdev;
	/** @gpu_id: id of the GPU in the uAPI; 16 bits, not zero, unique */
	u32 gpu_id;
	/**
	 * @topology_id: number of the GPU's folder in the topology. Written under
	 * kfd_topology_mutex when any GPU is added or removed. Readers without this mutex use
	 * READ_ONCE()
	 */
	u32 topology_id;
	/** @dqm: queues of all processes; kfd_dqm_init() allocates it */
	struct device_queue_manager *dqm;
	/** @irq: interrupt work; kfd_interrupt_init() allocates it */
	struct kfd_interrupts *irq;
	/**
	 * @vram_used: total size in bytes of KFD's BOs that request VRAM, including evicted BOs;
	 * protected by kfd_mem_limit_lock
	 */
	u64 vram_used;
	/** @mmio: pinned BO of the page with the HDP flush registers; see kfd_mmio.c */
	struct vgpu_bo *mmio;
	/**
	 * @n_pdds: number of struct kfd_process_device that point to this node; kfd_device_fini()
	 * waits until the number is 0
	 */
	atomic_t n_pdds;
	/** @svm: state of svm/; svm_node_init() allocates it */
	struct svm_node *svm;
	/** @smi: SMI event log */
	struct kfd_smi smi;
	/** @list: link in kfd_nodes; protected by kfd_processes_mutex */
	struct list_head list;
};

/* All nodes, linked by kfd_node.list; protected by kfd_processes_mutex. */
extern struct list_head kfd_nodes;
int kfd_node_register(struct kfd_node *node);
void kfd_node_unregister(struct kfd_node *node);

#endif /* KFD_NODE_H */
