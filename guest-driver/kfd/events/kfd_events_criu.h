/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Saves a process's events in a CRIU checkpoint, and restores them. Functions are documented in
 * kfd_events_criu.c.
 */
#ifndef KFD_EVENTS_CRIU_H
#define KFD_EVENTS_CRIU_H

#include <linux/bits.h>
#include <linux/kfd_ioctl.h>
#include <linux/types.h>

struct kfd_process;

#define KFD_SAVED_EVENT_AUTO_RESET	BIT(0)
#define KFD_SAVED_EVENT_SIGNALED	BIT(1)
#define KFD_SAVED_EVENT_FLAGS		\
	(KFD_SAVED_EVENT_AUTO_RESET | KFD_SAVED_EVENT_SIGNALED)

/**
 * struct kfd_saved_event - an event in a checkpoint
 * @id: event id that user space uses
 * @type: KFD_IOC_EVENT_*
 * @flags: KFD_SAVED_EVENT_FLAGS
 * @pad: 0
 * @age: kfd_event.age
 * @memory: kfd_event.memory of a KFD_IOC_EVENT_MEMORY event
 * @hw: kfd_event.hw of a KFD_IOC_EVENT_HW_EXCEPTION event
 */
struct kfd_saved_event {
	u32 id;
	u32 type;
	u32 flags;
	u32 pad;
	u64 age;
	union {
		struct kfd_hsa_memory_exception_data memory;
		struct kfd_hsa_hw_exception_data hw;
	};
};

u32 kfd_events_criu_count(struct kfd_process *p);
int kfd_events_criu_save(struct kfd_process *p, struct kfd_saved_event *events,
			 u32 n);
int kfd_events_criu_restore(struct kfd_process *p,
			    const struct kfd_saved_event *s);
void kfd_events_criu_drop(struct kfd_process *p);

#endif /* KFD_EVENTS_CRIU_H */
