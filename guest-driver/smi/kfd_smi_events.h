/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SMI events (AMDKFD_IOC_SMI_EVENTS): what happens on a GPU, as lines of text for those
 * who have opened the GPU's event log. One function for each event, and kfd_smi_open()
 * for readers; start reading at kfd_smi_event(). Uses nothing of the driver. Its one lock,
 * kfd_smi_lock (spin), is the innermost: events come from MMU notifiers and recovery, too.
 */
#ifndef KFD_SMI_EVENTS_H
#define KFD_SMI_EVENTS_H

#include <linux/kfd_ioctl.h>
#include <linux/list.h>
#include <linux/types.h>

/**
 * struct kfd_smi - event log of a GPU
 * @clients: open files; kfd_smi_lock
 * @gpu_id: GPU as lines name it; set by the owner before the first client
 * @reset_seq: resets of the device so far; recovery only
 */
struct kfd_smi {
	struct list_head clients;
	u32 gpu_id;
	u32 reset_seq;
};

/*
 * Each sends an event to the clients that asked for it and may see the process; a client
 * whose FIFO is full misses it. Any context but interrupts. @pid: whose memory or queues.
 * Addresses are numbers of pages.
 */

/* A fault that cannot be repaired, of the process called @comm. */
void kfd_smi_vm_fault(struct kfd_smi *smi, pid_t pid, const char *comm);
/* The queues of the process are off, for @trigger. */
void kfd_smi_queue_eviction(struct kfd_smi *smi, pid_t pid,
			    enum KFD_QUEUE_EVICTION_TRIGGERS trigger);
/* @on: the queues run again; else their restore will be tried again. */
void kfd_smi_queue_restore(struct kfd_smi *smi, pid_t pid, bool on);
/* Start and end of the repair of a retry fault; @moved: pages were migrated. */
void kfd_smi_fault_start(struct kfd_smi *smi, pid_t pid, unsigned long page,
			 bool write);
void kfd_smi_fault_end(struct kfd_smi *smi, pid_t pid, unsigned long page,
		       bool moved);
/* Entries of SVM were cleared. */
void kfd_smi_unmap(struct kfd_smi *smi, pid_t pid, unsigned long page,
		   unsigned long npages, enum KFD_SVM_UNMAP_TRIGGERS trigger);

/**
 * struct kfd_smi_move - a migration, as its events describe it
 * @smi: event log of the GPU
 * @pid: process whose memory it is
 * @page: first page
 * @npages: number of pages; some may stay where they are
 * @to_vram: direction
 * @trigger: KFD_MIGRATE_TRIGGER_*
 */
struct kfd_smi_move {
	struct kfd_smi *smi;
	pid_t pid;
	unsigned long page;
	unsigned long npages;
	bool to_vram;
	unsigned int trigger;
};

/* The first before GPUs lose any page; locations: the range's attributes, as GPU ids. */
void kfd_smi_move_start(const struct kfd_smi_move *m, u32 prefetch_loc,
			u32 preferred_loc);
void kfd_smi_move_end(const struct kfd_smi_move *m);
/* Start and end of a reset of the device, for @cause. */
void kfd_smi_pre_reset(struct kfd_smi *smi, const char *cause);
void kfd_smi_post_reset(struct kfd_smi *smi, const char *cause);

void kfd_smi_init(struct kfd_smi *smi);
/* Files that are still open get no events any more. */
void kfd_smi_fini(struct kfd_smi *smi);
int kfd_smi_open(struct kfd_smi *smi);

#endif /* KFD_SMI_EVENTS_H */
