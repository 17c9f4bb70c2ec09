/* SPDX-License-Identifier: GPL-2.0 */
/*
 * svm/: shared virtual memory: ranges, faults, migration, policy. What other folders
 * call.
 */
#ifndef VGPU_SVM_H
#define VGPU_SVM_H

#include <linux/fs.h>
#include <linux/kfd_ioctl.h>

struct kfd_node;
struct kfd_process;
struct vgpu_device;

/* svm_node.c, where they are documented. */
int svm_node_init(struct kfd_node *node);
void svm_node_fini(struct kfd_node *node);
bool svm_supported(const struct kfd_node *node);
bool svm_vram_epoch_changed(struct kfd_node *node);

/*
 * The system's sleep. svm_node_evict(): pages in VRAM become system memory; once
 * over, or, if it has to be @all, until none is left: 0, or -EBUSY after a
 * message, when none leaves any more; nothing is lost. It needs the processes
 * frozen, or no new pages. svm_suspend(): no GPU has entries of the process's
 * ranges; its user space is frozen. svm_resume(): the GPU's clock may have begun
 * anew.
 */
#if IS_ENABLED(CONFIG_DEVICE_PRIVATE)
int svm_node_evict(struct kfd_node *node, bool all);
#else
static inline int svm_node_evict(struct kfd_node *node, bool all)
{
	return 0;
}
#endif
void svm_suspend(struct kfd_process *p);
void svm_resume(struct kfd_process *p, struct vgpu_device *vdev);

/*
 * A reset lost some GPU's VRAM. Soon no GPU has entries of the process's ranges:
 * who comes to memory that is lost faults, and is denied. Process context; the
 * process is referenced.
 */
void svm_vram_lost(struct kfd_process *p);

/*
 * Process. init wants p->mm and p->pdds set; 0 or -ENOMEM. fini waits for faults
 * and deferred work before it frees anything; the queues are gone by then,
 * the VMs are not. Neither is called with mmap_lock or in a notifier.
 * svm_drain_faults(): the process has no queues on the hardware any more. Faults that
 * wait are acknowledged and not repaired. Does not sleep.
 */
int svm_range_list_init(struct kfd_process *p);
void svm_drain_faults(struct kfd_process *p);
void svm_range_list_fini(struct kfd_process *p);

/*
 * AMDKFD_IOC_SVM of the current process. @start and @size page aligned and
 * not zero (checked by the caller). Takes mmap_lock. 0 or
 * -EINVAL unknown operation, attribute or GPU; no VM acquired yet,
 * -EFAULT part of the range is no memory that can be shared,
 * -EADDRINUSE part of it belongs to a buffer object,
 * -EPERM the kernel lacks device-private memory,
 * -EOVERFLOW, -ENOMEM, -EAGAIN (memory map keeps changing).
 */
int svm_ioctl(struct kfd_process *p, enum kfd_ioctl_svm_op op, u64 start,
	      u64 size, u32 nattrs, struct kfd_ioctl_svm_attribute *attrs);

/*
 * Some range overlaps these bytes: they are not free for a buffer object. The
 * process's mm is alive; takes svm_range_list.lock, and mmap_lock if munmaps are
 * pending. Another thread may create such a range right after the call.
 */
bool svm_range_overlaps(struct kfd_process *p, u64 start, u64 size);

/*
 * svm_claim() checks that no range overlaps these bytes, and refuses new ranges there
 * until svm_unclaim(); meanwhile the caller maps a BO, which refuses them from
 * then on. kfd_process.mutex is held from svm_claim() to svm_unclaim(); no
 * reservation is held. Takes the locks of svm_range_overlaps(). Returns 0;
 * -EADDRINUSE: a range overlaps; -EINVAL: @size is 0 or the end wraps around.
 */
int svm_claim(struct kfd_process *p, u64 start, u64 size);
void svm_unclaim(struct kfd_process *p);

/*
 * These bytes are ranges that the GPU may access and has mapped always
 * (KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED). As svm_range_overlaps().
 */
bool svm_always_mapped(struct kfd_process *p, struct vgpu_device *vdev, u64 start,
		       u64 size);

/*
 * debugfs kfd/proc/<pid>/svm; i_private is the process. Reading looks at the CPU's
 * page tables under svm_range_list.lock, some ranges at a time. -ESRCH the
 * process's memory has gone.
 */
extern const struct file_operations svm_print_fops;

/* svm_xnack.c, where it is documented. */
int svm_set_xnack(struct kfd_process *p, bool on);

#endif /* VGPU_SVM_H */
