/* SPDX-License-Identifier: GPL-2.0 */
/* Create and update /sys/class/kfd/kfd/topology. Functions are documented in kfd_topology.c. */
#ifndef KFD_TOPOLOGY_H
#define KFD_TOPOLOGY_H

struct kfd_dbg_device_info_entry;
struct kfd_node;
struct kobject;

int kfd_topology_init(struct kobject *parent);
void kfd_topology_exit(void);
int kfd_topology_add(struct kfd_node *node);
void kfd_topology_remove(struct kfd_node *node);
void kfd_topology_describe(const struct kfd_node *node,
			   struct kfd_dbg_device_info_entry *entry);

#endif /* KFD_TOPOLOGY_H */
