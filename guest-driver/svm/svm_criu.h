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
 * @access: bit n: the process's GPU n may access it
 * @in_place: bit n: where it is
 * @preferred: what the process calls the GPU, or as in the uAPI; as the next
 * @prefetch: last prefetched to
 * @flags: KFD_IOCTL_SVM_FLAG_*
 * @granularity: log2 of pages
 */
struct svm_saved_range {
	u64 first;
	u64 pages;
	u64 access;
	u64 in_place;
	u32 preferred;
	u32 prefetch;
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
 * The first before anything is restored: 0, -EINVAL what no process can have, -EPERM
 * no device-private memory. Then one after the other, when the memory is there,
 * which is held by the caller: errors of svm_ioctl().
 */
int svm_criu_check(struct kfd_process *p, const struct svm_saved_range *ranges,
		   u32 n);
int svm_criu_restore(struct kfd_process *p, const struct svm_saved_range *s);

#endif /* SVM_CRIU_H */
