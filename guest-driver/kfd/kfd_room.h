/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of kfd/ share among themselves. */
#ifndef KFD_ROOM_H
#define KFD_ROOM_H

#include <linux/mm_types.h>

struct device;
struct kfd_node;
struct kfd_process;
struct kfd_process_device;
struct task_struct;

/* kfd_chardev.c */
extern struct device *kfd_device;
int kfd_chardev_init(void);
void kfd_chardev_exit(void);

/*
 * An ioctl: @data is the kernel's copy of the argument, at least as large as
 * the structure of the ioctl; what user space did not give is zero. Neither a
 * lock nor anything else is held; @p is the caller's own process.
 */
typedef int (*kfd_ioctl_fn)(struct kfd_process *p, void *data);

/* kfd_ioctl.c */
int kfd_ioctl_get_version(struct kfd_process *p, void *data);
int kfd_ioctl_set_memory_policy(struct kfd_process *p, void *data);
int kfd_ioctl_get_clock_counters(struct kfd_process *p, void *data);
int kfd_ioctl_get_process_apertures(struct kfd_process *p, void *data);
int kfd_ioctl_get_process_apertures_new(struct kfd_process *p, void *data);
int kfd_ioctl_acquire_vm(struct kfd_process *p, void *data);
int kfd_ioctl_set_scratch_backing_va(struct kfd_process *p, void *data);
int kfd_ioctl_get_tile_config(struct kfd_process *p, void *data);
int kfd_ioctl_set_trap_handler(struct kfd_process *p, void *data);
int kfd_ioctl_set_xnack_mode(struct kfd_process *p, void *data);
int kfd_ioctl_svm(struct kfd_process *p, void *data);
int kfd_ioctl_smi_events(struct kfd_process *p, void *data);

/* kfd_mem_ioctl.c */
int kfd_ioctl_alloc_memory_of_gpu(struct kfd_process *p, void *data);
int kfd_ioctl_free_memory_of_gpu(struct kfd_process *p, void *data);
int kfd_ioctl_map_memory_to_gpu(struct kfd_process *p, void *data);
int kfd_ioctl_unmap_memory_from_gpu(struct kfd_process *p, void *data);
int kfd_ioctl_get_available_memory(struct kfd_process *p, void *data);

/* kfd_queue_ioctl.c */
int kfd_ioctl_create_queue(struct kfd_process *p, void *data);
int kfd_ioctl_destroy_queue(struct kfd_process *p, void *data);
int kfd_ioctl_update_queue(struct kfd_process *p, void *data);
int kfd_ioctl_set_cu_mask(struct kfd_process *p, void *data);
int kfd_ioctl_alloc_queue_gws(struct kfd_process *p, void *data);
int kfd_ioctl_get_queue_wave_state(struct kfd_process *p, void *data);

/* kfd_ioctl_debug.c */
/* Is the caller the tracer of @task? */
bool kfd_dbg_traces(struct task_struct *task);
int kfd_ioctl_dbg_trap(struct kfd_process *p, void *data);

/* kfd_process_life.c */
/*
 * Make @thread and its @mm, of which the caller has a reference, a process of
 * KFD's, if they are none. 0, -EINVAL other processes share @mm, -ESRCH @thread has
 * ended, -ENOSPC no PASID, -ENOMEM, -EINTR. No locks held; waits for mmap_lock.
 */
int kfd_process_open(struct task_struct *thread, struct mm_struct *mm);
/* Take KFD away from every process that knows @node, or from all if NULL. */
void kfd_process_detach_all(struct kfd_node *node);
/* Before the first process: set kfd_process_ops. */
void kfd_process_life_init(void);

/* kfd_exception.c; kfd_exception_memory() is kfd_process_ops.memory_exception. */
void kfd_exception_memory(struct kfd_process_device *pdd, u64 va,
			  bool not_present, bool write);
/*
 * A queue of the process read memory with an uncorrectable error: its queues on the GPU
 * stop for good, and it gets SIGBUS. Takes queue_lock only.
 */
void kfd_process_poisoned(struct kfd_process_device *pdd);
/*
 * An interrupt of GPU clock @at says that a compute queue met a packet that it
 * cannot do: it is stopped for good, debugger (exception @code) or runtime and
 * process told. Takes queue_lock; no other lock held.
 */
void kfd_queue_bad_packet(struct kfd_process_device *pdd, u32 doorbell, u64 at,
			  unsigned int code, const char *why);

/* kfd_debugfs.c: /sys/kernel/debug/kfd */
void kfd_debugfs_init(void);
void kfd_debugfs_exit(void);
/* A process's folder there. remove: waits for readers, who take mmap_lock. */
void kfd_debugfs_add(struct kfd_process *p, const char *name);
void kfd_debugfs_remove(struct kfd_process *p);

/* kfd_interrupt.c: bad packets. 0, -ENOMEM or -ENOSPC. */
int kfd_interrupt_init(struct kfd_node *node);
void kfd_interrupt_fini(struct kfd_node *node);

/* kfd_reset.c: user queues and SMI events in a recovery. */
void kfd_reset_init(struct kfd_node *node);

#endif /* KFD_ROOM_H */
