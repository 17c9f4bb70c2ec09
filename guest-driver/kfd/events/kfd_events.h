/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Create, signal and destroy events of a process, and manage its signal page. Functions are
 * documented where they are defined.
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
void kfd_events_close(struct kfd_process *p);
void kfd_events_fini(struct kfd_process *p);

/*
 * Signal events after the GPU has written their slots in the signal page. kfd_events_scan_later()
 * only queues a work item, which scans all slots and signals the events.
 */
void kfd_events_interrupt(struct vgpu_device *vdev, u16 pasid, u32 id);
void kfd_events_interrupt_process(struct vgpu_device *vdev,
				  struct kfd_process *p, u32 id);
void kfd_events_scan_later(struct kfd_process *p);

/*
 * Exceptions of the hardware: these functions signal the events of type MEMORY or HW_EXCEPTION, or
 * prepare the data of such events.
 */
void kfd_events_memory_exception(struct kfd_process_device *pdd, u64 va,
				 bool not_present, bool write);
void kfd_events_fill_memory(struct kfd_process_device *pdd, u64 va,
			    bool not_present, bool write,
			    struct kfd_hsa_memory_exception_data *data);
void kfd_events_memory(struct kfd_process_device *pdd,
		       const struct kfd_hsa_memory_exception_data *data);
void kfd_events_reset(struct kfd_process_device *pdd, bool engine,
		      bool memory_lost);
void kfd_events_poison(struct kfd_process_device *pdd);

/*
 * Functions for the signal page. Either user space allocates the page (kfd_events_take_page()), or
 * the kernel does (kfd_events_make_page()).
 */
void kfd_events_scan(struct kfd_process *p);
int kfd_events_take_page(struct kfd_process *p, u64 handle);
int kfd_events_make_page(struct kfd_process *p);
bool kfd_events_has_page(const struct kfd_process *p);
bool kfd_events_user_page(const struct kfd_process *p, u64 *handle);
bool kfd_events_holds(const struct kfd_process *p, u64 handle);
int kfd_events_mmap(struct kfd_process *p, struct vm_area_struct *vma);

int kfd_events_signal(struct kfd_process *p, u32 id);

/* Handlers of ioctls, in kfd_events.c; kfd_ioctl_wait_events() is in kfd_event_wait.c. */
int kfd_ioctl_create_event(struct kfd_process *p, void *data);
int kfd_ioctl_destroy_event(struct kfd_process *p, void *data);
int kfd_ioctl_set_event(struct kfd_process *p, void *data);
int kfd_ioctl_reset_event(struct kfd_process *p, void *data);
int kfd_ioctl_wait_events(struct kfd_process *p, void *data);

#endif /* KFD_EVENTS_H */
