/* SPDX-License-Identifier: GPL-2.0 */
/* Events of a process: what the files of kfd/ see of them. */
#ifndef KFD_EVENTS_H
#define KFD_EVENTS_H

#include <linux/kfd_ioctl.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

struct kfd_process;
struct kfd_process_device;
struct vgpu_bo;
struct vgpu_device;
struct vm_area_struct;

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
 * @slots: the signal page, for the kernel, or NULL: the GPU writes what is not
 *         KFD_EVENT_UNSIGNALED into an event's slot and interrupts. Set once,
 *         with release semantics, under kfd_process.mutex
 * @bo: the page, referenced and pinned, if user space brought it
 * @handle: its handle
 * @scan_work: signals the events of slots that no interrupt named, or that the
 *             interrupt handler left to it
 */
struct kfd_events {
	struct xarray all;
	bool closed;
	u64 *slots;
	struct vgpu_bo *bo;
	u64 handle;
	struct work_struct scan_work;
};

#define KFD_EVENT_UNSIGNALED	(~0ull)
#define KFD_EVENT_PAGE_BYTES	(KFD_SIGNAL_EVENT_LIMIT * sizeof(u64))

/* kfd_events.c */
/* Allocate kfd_process.events. 0 or -ENOMEM. */
int kfd_events_init(struct kfd_process *p);
/* Whoever waits is told that it is over; nobody will wait again. */
void kfd_events_close(struct kfd_process *p);
/* After that. No queue of the process is left. */
void kfd_events_fini(struct kfd_process *p);

/*
 * Signal event @id of process @pasid, or, if @id is no event, all events whose slots
 * the GPU has written. Called by @vdev's interrupt handler; takes bounded time.
 */
void kfd_events_interrupt(struct vgpu_device *vdev, u16 pasid, u32 id);
/* The same for a process to which the caller holds a reference. */
void kfd_events_interrupt_process(struct vgpu_device *vdev,
				  struct kfd_process *p, u32 id);
/* Look at all slots soon. Any context; the caller has a reference to @p. */
void kfd_events_scan_later(struct kfd_process *p);
/*
 * A fault that cannot be repaired. As all below: process context, spinlocks may be
 * held.
 */
void kfd_events_memory_exception(struct kfd_process_device *pdd, u64 va,
				 bool not_present, bool write);
/* The same in two steps: what there is to tell, and telling it. */
void kfd_events_fill_memory(struct kfd_process_device *pdd, u64 va,
			    bool not_present, bool write,
			    struct kfd_hsa_memory_exception_data *data);
void kfd_events_memory(struct kfd_process_device *pdd,
		       const struct kfd_hsa_memory_exception_data *data);
/*
 * The GPU, or (@engine) one of its engines, was reset, and the process has lost
 * queues, or (@memory_lost) VRAM.
 */
void kfd_events_reset(struct kfd_process_device *pdd, bool engine,
		      bool memory_lost);
/*
 * The process has read memory with an uncorrectable error: MEMORY events say
 * POISON_CONSUMED, HW_EXCEPTION events ECC.
 */
void kfd_events_poison(struct kfd_process_device *pdd);
/*
 * Slots that are set are taken note of at once, and unset. Nothing of the process
 * runs that sets others.
 */
void kfd_events_scan(struct kfd_process *p);
/*
 * The signal page, once and for all: memory that @handle names, or the kernel's.
 * Mutex held. 0, -EINVAL no such memory, imported memory, or a second page; -ENOMEM,
 * -ERESTARTSYS.
 */
int kfd_events_take_page(struct kfd_process *p, u64 handle);
int kfd_events_make_page(struct kfd_process *p);
/* There is a signal page. Mutex held. */
bool kfd_events_has_page(const struct kfd_process *p);
/* User space brought it; *@handle names it then. Mutex held. */
bool kfd_events_user_page(const struct kfd_process *p, u64 *handle);
/* @handle names the signal page that user space brought. Mutex held. */
bool kfd_events_holds(const struct kfd_process *p, u64 handle);
/* The signal page that user space did not bring. mmap_lock held. */
int kfd_events_mmap(struct kfd_process *p, struct vm_area_struct *vma);

/* SIGNAL event @id happens. 0 or -EINVAL. */
int kfd_events_signal(struct kfd_process *p, u32 id);

int kfd_event_publish(struct kfd_process *p, struct kfd_event *ev,
		      struct xa_limit limit, u32 *id);
int kfd_ioctl_create_event(struct kfd_process *p, void *data);
int kfd_ioctl_destroy_event(struct kfd_process *p, void *data);
int kfd_ioctl_set_event(struct kfd_process *p, void *data);
int kfd_ioctl_reset_event(struct kfd_process *p, void *data);

/* kfd_event_wait.c; the lock of kfd_events.all held for the first two. */
/* It has happened. */
void kfd_event_set(struct kfd_event *ev);
/* It goes: whoever waits for it is told. */
void kfd_event_abandon(struct kfd_event *ev);
int kfd_ioctl_wait_events(struct kfd_process *p, void *data);

#endif /* KFD_EVENTS_H */
