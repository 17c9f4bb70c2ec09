/* SPDX-License-Identifier: GPL-2.0 */
/* Functions shared by the files of core/. */
#ifndef KFD_CORE_PRIV_H
#define KFD_CORE_PRIV_H

#include <linux/types.h>

struct kfd_node;
struct kfd_process;
struct kfd_process_device;

/* kfd_exception.c; the functions are documented there. */
void kfd_exception_memory(struct kfd_process_device *pdd, u64 va,
			  bool not_present, bool write);
void kfd_process_poisoned(struct kfd_process_device *pdd);
void kfd_queue_bad_packet(struct kfd_process_device *pdd, u32 doorbell, u64 at,
			  unsigned int code, const char *why);

/* kfd_debugfs.c: create a process's folder in /sys/kernel/debug/kfd/proc. */
void kfd_debugfs_add(struct kfd_process *p, const char *name);
/*
 * Remove the folder; waits until no task reads a file of the folder. A read takes mmap_lock, so the
 * caller must not hold mmap_lock.
 */
void kfd_debugfs_remove(struct kfd_process *p);

/*
 * kfd_interrupt.c: register and remove the handlers of a GPU's interrupts. kfd_interrupt_init()
 * returns 0, -ENOMEM or -ENOSPC.
 */
int kfd_interrupt_init(struct kfd_node *node);
void kfd_interrupt_fini(struct kfd_node *node);

/* kfd_reset.c: register the functions that a recovery of the GPU calls. */
void kfd_reset_init(struct kfd_node *node);

#endif /* KFD_CORE_PRIV_H */
