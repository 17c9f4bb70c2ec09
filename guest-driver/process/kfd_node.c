// SPDX-License-Identifier: GPL-2.0
/* Keeps the list of struct kfd_node, and assigns the ids of GPUs. */
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/pci.h>

#include "hw/vgpu_hw.h"
#include "kfd_node.h"
#include "kfd_process.h"

LIST_HEAD(kfd_nodes);

static bool kfd_gpu_id_taken(u32 id)
{
	struct kfd_node *node;

	list_for_each_entry(node, &kfd_nodes, list)
		if (node->gpu_id == id)
			return true;
	return false;
}

/*
 * Choose an id that depends on PCI slot and VRAM size, so that a GPU has the same id after a
 * reboot.
 */
static u32 kfd_gpu_id_pick(struct vgpu_device *vdev)
{
	u32 place[] = {
		pci_domain_nr(vdev->pdev->bus),
		pci_dev_id(vdev->pdev),
		lower_32_bits(vdev->hw->vram_size),
		upper_32_bits(vdev->hw->vram_size),
	};
	u32 id = jhash2(place, ARRAY_SIZE(place), 0) & 0xffff;

	while (!id || kfd_gpu_id_taken(id))
		id = (id + 1) & 0xffff;
	return id;
}

/**
 * kfd_node_register() - assign a GPU its id, and let new processes use the GPU
 * @node: GPU
 *
 * Context: takes kfd_processes_mutex.
 *
 * Return: 0, or -ENOSPC if KFD_MAX_GPU_INSTANCE GPUs are registered.
 */
int kfd_node_register(struct kfd_node *node)
{
	int ret = 0;

	mutex_lock(&kfd_processes_mutex);
	if (list_count_nodes(&kfd_nodes) >= KFD_MAX_GPU_INSTANCE) {
		ret = -ENOSPC;
	} else {
		node->gpu_id = kfd_gpu_id_pick(node->vdev);
		node->smi.gpu_id = node->gpu_id;
		list_add_tail(&node->list, &kfd_nodes);
	}
	mutex_unlock(&kfd_processes_mutex);
	return ret;
}

/**
 * kfd_node_unregister() - keep new processes from using a GPU
 * @node: GPU
 *
 * Processes that use the GPU already are not affected.
 *
 * Context: takes kfd_processes_mutex.
 */
void kfd_node_unregister(struct kfd_node *node)
{
	mutex_lock(&kfd_processes_mutex);
	list_del(&node->list);
	mutex_unlock(&kfd_processes_mutex);
}
