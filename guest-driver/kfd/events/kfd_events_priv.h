/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of events share. */
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
 * struct kfd_event - something a process can wait for
 * @id: what user space names it by; of a signal: its slot in the page, too
 * @type: KFD_IOC_EVENT_*
 * @auto_reset: who is woken by it takes it away
 * @signaled: it has happened, and nobody has taken it
 * @age: 1, and one more with each time that it happens
 * @waits: struct kfd_wait_entry of the calls that wait for the event, woken ones
 *         included; one for each call
 * @n_waits: their number
 * @memory: of KFD_IOC_EVENT_MEMORY: the last one
 * @hw: of KFD_IOC_EVENT_HW_EXCEPTION: the last one
 *
 * All but the first three under the lock of kfd_events.all.
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
 * @all: struct kfd_event by id. Its lock is held while all waiting calls of an
 *       event are woken; the interrupt handler only tries the lock
 * @closed: the process has lost KFD: nobody waits any more; lock of @all
 * @signal_page: slots of the signal page, as the kernel reaches them, or NULL: the GPU
 *               writes what is not KFD_EVENT_UNSIGNALED into an event's slot and
 *               interrupts. Set once, with release semantics, under kfd_process.mutex
 * @signal_bo: BO of the page, referenced and pinned, if user space brought it, or NULL;
 *             kfd_process.mutex. Set before @signal_page, and then fixed
 * @signal_handle: handle of @signal_bo; likewise
 * @scan_work: signals the events of slots that no interrupt named, or that the
 *             interrupt handler left to it
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

/* kfd_event_wait.c; the lock of kfd_events.all held for the first two. */
/* It has happened. */
void kfd_event_set(struct kfd_event *ev);
/* It goes: whoever waits for it is told. */
void kfd_event_abandon(struct kfd_event *ev);

#endif /* KFD_EVENTS_PRIV_H */
