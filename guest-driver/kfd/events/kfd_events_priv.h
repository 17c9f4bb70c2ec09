/* SPDX-License-Identifier: GPL-2.0 */
/* Structures and functions shared by the files of events/. */
#ifndef KFD_EVENTS_PRIV_H
#define KFD_EVENTS_PRIV_H

#include <linux/kfd_ioctl.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

struct kfd_process;
struct vgpu_bo;

/**
 * struct kfd_event - an event that a process can wait for
 *
 * @id, @type and @auto_reset are fixed. The lock of kfd_events.all protects all other members.
 */
struct kfd_event {
	/**
	 * @id: id that user space uses. If @type is SIGNAL or DEBUG_EVENT, @id is also the index of
	 * the event's slot in the signal page
	 */
	u32 id;
	/** @type: KFD_IOC_EVENT_* */
	u32 type;
	/** @auto_reset: a call of WAIT_EVENTS that consumes a signal clears @signaled */
	bool auto_reset;
	/** @signaled: the event was signalled and has not been reset since */
	bool signaled;
	/** @age: starts at 1, incremented by each signal */
	u64 age;
	/** @waits: struct kfd_wait_entry, one for each call of WAIT_EVENTS, until the call ends */
	struct list_head waits;
	/** @n_waits: length of @waits */
	u32 n_waits;
	union {
		/** @memory: data of the last signal, if @type is KFD_IOC_EVENT_MEMORY */
		struct kfd_hsa_memory_exception_data memory;
		/** @hw: data of the last signal, if @type is KFD_IOC_EVENT_HW_EXCEPTION */
		struct kfd_hsa_hw_exception_data hw;
	};
};

/**
 * struct kfd_events - HSA events and signal page of a process (kfd_process.events)
 */
struct kfd_events {
	/**
	 * @all: all struct kfd_event, by id. A thread that signals an event may hold the lock of
	 * @all for long, so interrupt handlers only try to take the lock
	 */
	struct xarray all;
	/** @closed: the process is detached, WAIT_EVENTS fails; protected by the lock of @all */
	bool closed;
	/**
	 * @signal_page: kernel mapping of the signal page's slots, or NULL. Set once, with release
	 * semantics, under kfd_process.mutex
	 */
	u64 *signal_page;
	/**
	 * @signal_bo: BO of the signal page, with a reference and a pin; NULL if user space has not
	 * allocated the page. Set once, before @signal_page, under kfd_process.mutex
	 */
	struct vgpu_bo *signal_bo;
	/** @signal_handle: handle of @signal_bo; protected like @signal_bo */
	u64 signal_handle;
	/**
	 * @scan_work: signals the events of all signalled slots. Queued by RESUME of CRIU, and if
	 * the interrupt handler cannot signal an event at once
	 */
	struct work_struct scan_work;
};

#define KFD_EVENT_UNSIGNALED	(~0ull)
#define KFD_EVENT_PAGE_BYTES	(KFD_SIGNAL_EVENT_LIMIT * sizeof(u64))

/* kfd_events.c */
int kfd_event_publish(struct kfd_process *p, struct kfd_event *ev,
		      struct xa_limit limit, u32 *id);

/* Functions in kfd_event_wait.c. The caller holds the lock of kfd_events.all. */

/*
 * Signal the event: count the event as signalled in each WAIT_EVENTS call that waits for the event.
 * Wake each of these calls that needs no other event.
 */
void kfd_event_set(struct kfd_event *ev);
/*
 * Called when the event is destroyed: make the WAIT_EVENTS calls that wait for the event fail with
 * -EIO (in one case -EINVAL: see wait_do()).
 */
void kfd_event_abandon(struct kfd_event *ev);

#endif /* KFD_EVENTS_PRIV_H */
