// SPDX-License-Identifier: GPL-2.0
/*
 * Creates the topology's links, in their source nodes:
 *
 *	io_links	PCIe between the CPUs and a GPU; XGMI in a hive
 *	p2p_links	PCIe between GPUs without a common hive
 */
#include <linux/kfd_sysfs.h>

#include "hw/vgpu_xgmi.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_node.h"
#include "vm/vgpu_vm_bo.h"
#include "kfd_topology_priv.h"

/* Weights of links, as in amdkfd. */
#define KFD_PCIE_WEIGHT		20
#define KFD_XGMI_WEIGHT		15	/* weight of a link of one hop */

struct kfd_io_link {
	u32 type;
	u32 from;
	u32 to;
	u32 weight;
	u32 engines;
	u32 flags;
};

static void kfd_fill_io_link(struct kfd_props *props, const void *arg)
{
	const struct kfd_io_link *link = arg;

	kfd_prop(props, "type", link->type);
	kfd_prop(props, "version_major", 0);
	kfd_prop(props, "version_minor", 0);
	kfd_prop(props, "node_from", link->from);
	kfd_prop(props, "node_to", link->to);
	kfd_prop(props, "weight", link->weight);
	kfd_prop(props, "min_latency", 0);	/* latency and bandwidth are not modelled */
	kfd_prop(props, "max_latency", 0);
	kfd_prop(props, "min_bandwidth", 0);
	kfd_prop(props, "max_bandwidth", 0);
	kfd_prop(props, "recommended_transfer_size", 0);
	kfd_prop(props, "recommended_sdma_engine_id_mask", link->engines);
	kfd_prop(props, "flags", link->flags);
}

static int kfd_make_pcie(struct kobject *dir, unsigned int *count, u32 from,
			 u32 to, u32 weight, u32 flags)
{
	const struct kfd_io_link link = {
		.type = HSA_IOLINK_TYPE_PCIEXPRESS,
		.from = from,
		.to = to,
		.weight = weight,
		.engines = KFD_SDMA_PCIE,
		.flags = HSA_IOLINK_FLAGS_ENABLED | flags,
	};

	return kfd_topology_item(dir, (*count)++, kfd_fill_io_link, &link);
}

static int kfd_make_xgmi(struct kobject *dir, unsigned int *count, u32 from,
			 u32 to)
{
	const struct kfd_io_link link = {
		.type = HSA_IOLINK_TYPE_XGMI,
		.from = from,
		.to = to,
		.weight = KFD_XGMI_WEIGHT,
		.engines = KFD_SDMA_XGMI,
		.flags = HSA_IOLINK_FLAGS_ENABLED,
	};

	return kfd_topology_item(dir, (*count)++, kfd_fill_io_link, &link);
}

static int kfd_cpu_links(struct kobject *dir, struct kfd_node *const *gpus,
			 unsigned int n, unsigned int *count)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = kfd_make_pcie(dir, count, 0, gpus[i]->topology_id,
				    KFD_PCIE_WEIGHT,
				    HSA_IOLINK_FLAGS_NON_COHERENT);
	return ret;
}

int kfd_topology_io_links(struct kobject *dir, const struct kfd_node *node,
			  struct kfd_node *const *gpus, unsigned int n,
			  unsigned int *count)
{
	unsigned int i;
	int ret;

	*count = 0;
	if (!node)
		return kfd_cpu_links(dir, gpus, n, count);
	ret = kfd_make_pcie(dir, count, node->topology_id, 0, KFD_PCIE_WEIGHT,
			    0);
	/* XGMI links are listed even while they are down. */
	for (i = 0; i < n && !ret; i++)
		if (vgpu_xgmi_same_hive(node->vdev, gpus[i]->vdev))
			ret = kfd_make_xgmi(dir, count, node->topology_id,
					    gpus[i]->topology_id);
	return ret;
}

int kfd_topology_p2p_links(struct kobject *dir, const struct kfd_node *node,
			   struct kfd_node *const *gpus, unsigned int n,
			   unsigned int *count)
{
	unsigned int i;
	int ret = 0;

	*count = 0;
	for (i = 0; i < n && !ret; i++) {
		struct vgpu_device *peer = gpus[i]->vdev;

		if (peer == node->vdev ||
		    vgpu_xgmi_same_hive(node->vdev, peer) ||
		    vgpu_peer_find(node->vdev, peer, false) != VGPU_PEER_PCIE)
			continue;
		/*
		 * The route between the two GPUs goes through the CPU node, so the route has the
		 * weight of two PCIe links.
		 */
		ret = kfd_make_pcie(dir, count, node->topology_id,
				    gpus[i]->topology_id, 2 * KFD_PCIE_WEIGHT,
				    HSA_IOLINK_FLAGS_NON_COHERENT);
	}
	return ret;
}
