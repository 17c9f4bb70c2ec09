/* SPDX-License-Identifier: GPL-2.0 */
/* SMI events: what happens on a GPU, for whoever watches. */
#ifndef KFD_SMI_H
#define KFD_SMI_H

#include <linux/kfd_ioctl.h>
#include <linux/types.h>

struct kfd_node;
struct kfd_process;
struct vgpu_device;

/*
 * Each tells those who watch the GPU, and whom it concerns; who has no room for
 * it misses it. Any context but interrupts. @pid: whose memory or queues.
 * Addresses are numbers of pages.
 */

/* A fault that cannot be repaired, of the process called @comm. */
void kfd_smi_vm_fault(struct kfd_node *node, pid_t pid, const char *comm);
/* The queues went off, for @trigger, on all GPUs of the process. */
void kfd_smi_queues_off(struct kfd_process *p,
			enum KFD_QUEUE_EVICTION_TRIGGERS trigger);
/* They are on again, or, if not @on: a way back has to be tried again. */
void kfd_smi_queues_on(struct kfd_process *p, bool on);
/* The repair of a retry fault begins; it is over, @moved: by a migration. */
void kfd_smi_fault_start(struct kfd_node *node, pid_t pid, unsigned long page,
			 bool write);
void kfd_smi_fault_end(struct kfd_node *node, pid_t pid, unsigned long page,
		       bool moved);
/* Entries of SVM were cleared. */
void kfd_smi_unmap(struct kfd_node *node, pid_t pid, unsigned long page,
		   unsigned long npages, enum KFD_SVM_UNMAP_TRIGGERS trigger);

/**
 * struct kfd_smi_move - a migration, as watchers are told of it
 * @node: GPU
 * @pid: whose memory
 * @page: the first
 * @npages: their number; some may stay where they are
 * @to_vram: direction
 * @trigger: KFD_MIGRATE_TRIGGER_*
 */
struct kfd_smi_move {
	struct kfd_node *node;
	pid_t pid;
	unsigned long page;
	unsigned long npages;
	bool to_vram;
	unsigned int trigger;
};

/* Before anything is taken from the GPUs; locations: the range's, as gpu ids. */
void kfd_smi_move_start(const struct kfd_smi_move *m, u32 prefetch_loc,
			u32 preferred_loc);
void kfd_smi_move_end(const struct kfd_smi_move *m);
/* A reset of the device begins, for @cause, or, if @over, is over. */
void kfd_smi_reset(struct vgpu_device *vdev, bool over, const char *cause);

void kfd_smi_init(struct kfd_node *node);
/* Files that are still open hear of nothing any more. */
void kfd_smi_fini(struct kfd_node *node);
int kfd_ioctl_smi_events(struct kfd_process *p, void *data);

#endif /* KFD_SMI_H */
