/* SPDX-License-Identifier: GPL-2.0 */
/* SVM ranges in a checkpoint. */
#ifndef SVM_CRIU_H
#define SVM_CRIU_H

#include <linux/types.h>

struct kfd_process;

/**
 * struct svm_saved_range - a range in a checkpoint
 * @first: first page
 * @pages: their number
 * @bitmap_access: bit n: the process's GPU n may access it
 * @bitmap_aip: bit n: the process's GPU n accesses it in place
 * @preferred_loc: what the process calls the GPU, or as in the uAPI; as the next
 * @prefetch_loc: last prefetched to
 * @flags: KFD_IOCTL_SVM_FLAG_*
 * @granularity: log2 of pages
 */
struct svm_saved_range {
	u64 first;
	u64 pages;
	u64 bitmap_access;
	u64 bitmap_aip;
	u32 preferred_loc;
	u32 prefetch_loc;
	u32 flags;
	u32 granularity;
};

/*
 * All with kfd_process.mutex held. Number of ranges, or -ESRCH
 * the process's memory has gone. save: 0, -ESRCH, -EINVAL if there are not @n.
 */
int svm_criu_count(struct kfd_process *p);
int svm_criu_save(struct kfd_process *p, struct svm_saved_range *ranges, u32 n);
/*
 * Copy the ranges of a checkpoint for svm_criu_resume(); none are kept yet. Returns 0,
 * -EINVAL what no process can have, -EPERM no device-private memory, -ENOMEM.
 */
int svm_criu_keep(struct kfd_process *p, const struct svm_saved_range *ranges,
		  u32 n);
/*
 * Create the ranges that are kept; their memory is there, and the caller has a reference
 * on the mm. They stay kept. Returns 0, or an error of svm_ioctl(), after which the
 * function may be called again.
 */
int svm_criu_resume(struct kfd_process *p);
/* Free what is kept. Without references to the process, the mutex is not held. */
void svm_criu_forget(struct kfd_process *p);

#endif /* SVM_CRIU_H */
