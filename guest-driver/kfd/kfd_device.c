// SPDX-License-Identifier: GPL-2.0
/*
 * GPUs as KFD sees them, and the life of the room.
 */
#include <linux/device.h>
#include <linux/jhash.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "vgpu_hw.h"
#include "kfd_dbg.h"
#include "kfd_mem.h"
#include "kfd_queue.h"
#include "kfd_room.h"

LIST_HEAD(kfd_nodes);

static bool kfd_gpu_id_taken(u32 id)
{
	struct kfd_node *node;

	list_for_each_entry(node, &kfd_nodes, list)
		if (node->gpu_id == id)
			return true;
	return false;
}

/* The same slot gets the same id at the next boot. */
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

static int kfd_node_register(struct kfd_node *node)
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

/* No process that comes from now on knows the node; those that do go. */
static void kfd_node_unregister(struct kfd_node *node)
{
	mutex_lock(&kfd_processes_mutex);
	list_del(&node->list);
	mutex_unlock(&kfd_processes_mutex);
	kfd_process_detach_all(node);
	wait_var_event(&node->n_pdds, !atomic_read(&node->n_pdds));
}

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
		goto err_unregister;
	kfd_reset_init(node);
	dev_info(vdev->drm.dev, "KFD node, GPU id %u, SVM %s\n", node->gpu_id,
		 svm_supported(node) ? "on" : "off (no device-private memory)");
	return 0;

err_unregister:
	kfd_node_unregister(node);
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

void kfd_device_fini(struct vgpu_device *vdev)
{
	struct kfd_node *node = vdev->kfd;

	if (!node)
		return;
	kfd_topology_remove(node);
	kfd_node_unregister(node);
	kfd_smi_fini(&node->smi);
	kfd_interrupt_fini(node);
	svm_node_fini(node);
	kfd_mmio_fini(node);
	kfd_mem_limit_detach(node);
	kfd_dqm_fini(node);
	kfree(node);
}

int kfd_init(void)
{
	int ret;

	ret = kfd_dbg_module_init();
	if (ret)
		return ret;
	kfd_process_life_init();
	ret = kfd_process_init();
	if (ret)
		goto err_dbg;
	ret = kfd_chardev_init();
	if (ret)
		goto err_process;
	ret = kfd_topology_init();
	if (ret)
		goto err_chardev;
	ret = kfd_procfs_init(&kfd_device->kobj);
	if (ret)
		goto err_topology;
	kfd_debugfs_init();
	return 0;

err_topology:
	kfd_topology_exit();
err_chardev:
	kfd_chardev_exit();
err_process:
	kfd_process_exit();
err_dbg:
	kfd_dbg_module_exit();
	return ret;
}

void kfd_exit(void)
{
	kfd_process_detach_all(NULL);
	kfd_procfs_exit();
	kfd_topology_exit();
	kfd_chardev_exit();
	kfd_process_exit();
	/* Each process has removed its own folder from it. */
	kfd_debugfs_exit();
	kfd_dbg_module_exit();
}
