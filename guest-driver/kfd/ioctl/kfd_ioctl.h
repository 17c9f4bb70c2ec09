/* SPDX-License-Identifier: GPL-2.0 */
/* Declares the character device /dev/kfd and the handlers of its ioctls. */
#ifndef KFD_IOCTL_H
#define KFD_IOCTL_H

#include <linux/types.h>

struct device;
struct kfd_process;
struct task_struct;

/* kfd_chardev.c */
extern struct device *kfd_device;
int kfd_chardev_init(void);
void kfd_chardev_exit(void);

/*
 * Handler of an ioctl, called without locks. @p is from kfd_file_process(). @data has the full
 * structure; bytes that user space did not pass are zero.
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

/* kfd_ioctl_memory.c */
int kfd_ioctl_alloc_memory_of_gpu(struct kfd_process *p, void *data);
int kfd_ioctl_free_memory_of_gpu(struct kfd_process *p, void *data);
int kfd_ioctl_map_memory_to_gpu(struct kfd_process *p, void *data);
int kfd_ioctl_unmap_memory_from_gpu(struct kfd_process *p, void *data);
int kfd_ioctl_get_available_memory(struct kfd_process *p, void *data);

/* kfd_ioctl_queue.c */
int kfd_ioctl_create_queue(struct kfd_process *p, void *data);
int kfd_ioctl_destroy_queue(struct kfd_process *p, void *data);
int kfd_ioctl_update_queue(struct kfd_process *p, void *data);
int kfd_ioctl_set_cu_mask(struct kfd_process *p, void *data);
int kfd_ioctl_alloc_queue_gws(struct kfd_process *p, void *data);
int kfd_ioctl_get_queue_wave_state(struct kfd_process *p, void *data);

/* kfd_ioctl_debug.c */
/* Return true if the current task is the tracer of @task. */
bool kfd_dbg_traces(struct task_struct *task);
int kfd_ioctl_dbg_trap(struct kfd_process *p, void *data);

#endif /* KFD_IOCTL_H */
