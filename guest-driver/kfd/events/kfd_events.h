/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of a process: what it can wait for, and who signals it. Functions without a
 * comment here are documented where they are defined.
 */
#ifndef KFD_EVENTS_H
#define KFD_EVENTS_H

#include <linux/kfd_ioctl.h>
#include <linux/types.h>

struct kfd_process;
struct kfd_process_device;
struct vgpu_device;
struct vm_area_struct;

int kfd_events_init(struct kfd_process *p);
/* Whoever waits is told that it is over; nobody will wait again. */
void kfd_events_close(struct kfd_process *p);
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
bool kfd_events_has_page(const struct kfd_process *p);
bool kfd_events_user_page(const struct kfd_process *p, u64 *handle);
bool kfd_events_holds(const struct kfd_process *p, u64 handle);
/* The signal page that user space did not bring. mmap_lock held. */
int kfd_events_mmap(struct kfd_process *p, struct vm_area_struct *vma);

/* SIGNAL event @id happens. 0 or -EINVAL. */
int kfd_events_signal(struct kfd_process *p, u32 id);

/* Ioctls; kfd_ioctl_wait_events() is in kfd_event_wait.c. */
int kfd_ioctl_create_event(struct kfd_process *p, void *data);
int kfd_ioctl_destroy_event(struct kfd_process *p, void *data);
int kfd_ioctl_set_event(struct kfd_process *p, void *data);
int kfd_ioctl_reset_event(struct kfd_process *p, void *data);
int kfd_ioctl_wait_events(struct kfd_process *p, void *data);

#endif /* KFD_EVENTS_H */
