// SPDX-License-Identifier: GPL-2.0
/*
 * Creates a GPU's KFD node at probe. At removal, detaches all processes that use the node, then
 * frees the node.
 */
#include <linux/device.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "kfd/memory/kfd_memory.h"
#include "kfd/queues/kfd_queue.h"
#include "kfd/topology/kfd_topology.h"
#include "process/kfd_mem.h"
#include "process/kfd_node.h"
#include "svm/svm.h"
#include "kfd_core.h"
#include "kfd_core_priv.h"

/*
 * Keep new processes from using the node, detach the processes that use it, and wait until the
 * state of each of these processes on the node is freed.
 */
static void kfd_device_detach(struct kfd_node *node)
{
	kfd_node_unregister(node);
	kfd_process_detach_all(node);
	wait_var_event(&node->n_pdds, !atomic_read(&node->n_pdds));
}

/**
 * kfd_device_init() - create a GPU's KFD node and let processes use it
 * @vdev: GPU; its render node is registered
 *
 * Context: probe. Sleeps; no locks are held.
 *
 * Return: 0; -ENOMEM; -ENOSPC if there are too many GPUs or interrupt handlers; or an error of
 * sysfs or of the BO of the MMIO page.
 */
int kfd_device_init(struct vgpu_device *vdev)
{
	struct kfd_node *node;
	int ret;

	node = kzalloc(sizeof(*node), GFP_KERNEL);
	if (!node)
		return -ENOMEM;
	node->vdev = vdev;
	ret = kfd_dqm_init(node);
	if (ret)
		goto err_free;
	kfd_smi_init(&node->smi);
	vdev->kfd = node;

	ret = kfd_mmio_init(node);
	if (ret)
		goto err_dqm;
	ret = svm_node_init(node);
	if (ret)
		goto err_mmio;
	ret = kfd_interrupt_init(node);
	if (ret)
		goto err_svm;
	ret = kfd_node_register(node);
	if (ret)
		goto err_interrupt;
	ret = kfd_topology_add(node);
	if (ret)
		goto err_detach;
	kfd_reset_init(node);
	dev_info(vdev->drm.dev, "KFD node, GPU id %u\n", node->gpu_id);
	return 0;

err_detach:
	kfd_device_detach(node);
err_interrupt:
	kfd_interrupt_fini(node);
err_svm:
	svm_node_fini(node);
err_mmio:
	kfd_mmio_fini(node);
err_dqm:
	kfd_mem_limit_detach(node);
	kfd_dqm_fini(node);
err_free:
	kfree(node);
	return ret;
}

/**
 * kfd_device_fini() - remove a GPU's KFD node
 * @vdev: GPU; nothing is done if kfd_device_init() was not called or has failed
 *
 * Detaches every process that uses the GPU. A detached process cannot use KFD on other GPUs
 * either. Waits until the state of these processes on this GPU is freed.
 *
 * Context: remove. Sleeps; no locks are held.
 */
void kfd_device_fini(struct vgpu_device *vdev)
{
	struct kfd_node *node = vdev->kfd;

	if (!node)
		return;
	kfd_topology_remove(node);
	kfd_device_detach(node);
	kfd_smi_fini(&node->smi);
	kfd_interrupt_fini(node);
	svm_node_fini(node);
	kfd_mmio_fini(node);
	kfd_mem_limit_detach(node);
	kfd_dqm_fini(node);
	kfree(node);
}
