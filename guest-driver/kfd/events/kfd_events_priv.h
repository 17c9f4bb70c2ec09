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
 * @id: id that user space uses; for KFD_IOC_EVENT_SIGNAL and KFD_IOC_EVENT_DEBUG_EVENT also the
 *      index of the event's slot in the signal page
 * @type: KFD_IOC_EVENT_*
 * @auto_reset: true if a call of WAIT_EVENTS that consumes a signal clears @signaled
 * @signaled: the event was signalled and has not been reset since
 * @age: starts at 1, incremented by each signal
 * @waits: list of struct kfd_wait_entry, one for each call that waits for the event, including
 *         calls that were woken
 * @n_waits: length of @waits
 * @memory: data of the last signal of a KFD_IOC_EVENT_MEMORY event
 * @hw: data of the last signal of a KFD_IOC_EVENT_HW_EXCEPTION event
 *
 * @id, @type and @auto_reset are fixed; the lock of kfd_events.all protects all other members.
 */
struct kfd_event {
	u32 id;
	u32 type;
	bool auto_reset;
	bool signaled;
	u64 age;
	struct list_head waits;
	u32 n_waits;
	union {
		struct kfd_hsa_memory_exception_data memory;
		struct kfd_hsa_hw_exception_data hw;
	};
};

/**
 * struct kfd_events - the events of a process
 * @all: all struct kfd_event, by id. A thread that signals an event holds the xarray's lock while
 *       it walks through the calls of WAIT_EVENTS that wait for the event, and wakes those that
 *       need no further event. This may take long, so the interrupt handler does not spin: the
 *       handler only tries to take the lock
 * @closed: the process is detached, and WAIT_EVENTS fails; protected by the lock of @all
 * @signal_page: kernel mapping of the signal page's slots, or NULL. The GPU writes a value other
 *               than KFD_EVENT_UNSIGNALED into an event's slot and raises an interrupt. Set once,
 *               with release semantics, under kfd_process.mutex
 * @signal_bo: if user space allocated the signal page, its BO, with a reference and a pin;
 *             otherwise NULL. Set once, before @signal_page, under kfd_process.mutex
 * @signal_handle: handle of @signal_bo; protected like @signal_bo
 * @scan_work: signals the events of all signalled slots. The interrupt handler queues @scan_work
 *             instead of signalling an event in these cases: another thread holds the lock of @all;
 *             more than KFD_WAKE_AT_ONCE calls wait for the event; no event has the interrupt's id;
 *             the slot with this id is not signalled. RESUME of CRIU also queues @scan_work
 */
struct kfd_events {
	struct xarray all;
	bool closed;
	u64 *signal_page;
	struct vgpu_bo *signal_bo;
	u64 signal_handle;
	struct work_struct scan_work;
};

#define KFD_EVENT_UNSIGNALED	(~0ull)
#define KFD_EVENT_PAGE_BYTES	(KFD_SIGNAL_EVENT_LIMIT * sizeof(u64))

/* kfd_events.c */
int kfd_event_publish(struct kfd_process *p, struct kfd_event *ev,
		      struct xa_limit limit, u32 *id);

/* Functions in kfd_event_wait.c. The caller holds the lock of kfd_events.all. */

/*
 * Signal the event: mark the WAIT_EVENTS calls that wait for the event, and wake those of the calls
 * that need no further event.
 */
void kfd_event_set(struct kfd_event *ev);
/*
 * Called when the event is destroyed: make the WAIT_EVENTS calls that wait for the event fail with
 * -EIO (in one case -EINVAL: see wait_do()).
 */
void kfd_event_abandon(struct kfd_event *ev);

#endif /* KFD_EVENTS_PRIV_H */
