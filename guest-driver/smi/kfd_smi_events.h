/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SMI events: reports about a GPU for user space (kfd_smi_open()). Senders may hold other driver
 * locks, so smi/ calls no function of another folder.
 */
#ifndef KFD_SMI_EVENTS_H
#define KFD_SMI_EVENTS_H

#include <linux/kfd_ioctl.h>
#include <linux/list.h>
#include <linux/types.h>

/**
 * struct kfd_smi - event log of a GPU
 */
struct kfd_smi {
	/** @clients: open files; protected by kfd_smi_lock */
	struct list_head clients;
	/**
	 * @gpu_id: GPU id in the lines of the events; kfd_node_register() sets the id before the
	 * first client exists
	 */
	u32 gpu_id;
	/** @reset_seq: number of started device resets; accessed by the recovery's worker only */
	u32 reset_seq;
};

/*
 * Each function from kfd_smi_vm_fault() to kfd_smi_post_reset() sends one event (see
 * kfd_smi_event()). Any context except interrupts. A client with a full FIFO misses the event.
 * Addresses are page numbers.
 */

void kfd_smi_vm_fault(struct kfd_smi *smi, pid_t pid, const char *comm);
void kfd_smi_queue_eviction(struct kfd_smi *smi, pid_t pid,
			    enum KFD_QUEUE_EVICTION_TRIGGERS trigger);
void kfd_smi_queue_restore(struct kfd_smi *smi, pid_t pid, bool on);
void kfd_smi_fault_start(struct kfd_smi *smi, pid_t pid, unsigned long page,
			 bool write);
void kfd_smi_fault_end(struct kfd_smi *smi, pid_t pid, unsigned long page,
		       bool moved);
void kfd_smi_unmap(struct kfd_smi *smi, pid_t pid, unsigned long page,
		   unsigned long npages, enum KFD_SVM_UNMAP_TRIGGERS trigger);

/**
 * struct kfd_smi_move - a migration, as its events describe it
 */
struct kfd_smi_move {
	/** @smi: event log of the GPU */
	struct kfd_smi *smi;
	/** @pid: process whose memory migrates */
	pid_t pid;
	/** @page: number of the first page */
	unsigned long page;
	/** @npages: number of pages, including those that fail to migrate */
	unsigned long npages;
	/** @to_vram: true: system memory to VRAM; false: VRAM to system memory */
	bool to_vram;
	/** @trigger: KFD_MIGRATE_TRIGGER_* */
	unsigned int trigger;
};

void kfd_smi_move_start(const struct kfd_smi_move *m, u32 prefetch_loc,
			u32 preferred_loc);
void kfd_smi_move_end(const struct kfd_smi_move *m);
void kfd_smi_pre_reset(struct kfd_smi *smi, const char *cause);
void kfd_smi_post_reset(struct kfd_smi *smi, const char *cause);

void kfd_smi_init(struct kfd_smi *smi);
void kfd_smi_fini(struct kfd_smi *smi);
int kfd_smi_open(struct kfd_smi *smi);

#endif /* KFD_SMI_EVENTS_H */
