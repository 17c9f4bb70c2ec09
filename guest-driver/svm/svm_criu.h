/* SPDX-License-Identifier: GPL-2.0 */
/* Save and restore the SVM ranges of a checkpoint. Functions are documented in svm_criu.c. */
#ifndef SVM_CRIU_H
#define SVM_CRIU_H

#include <linux/types.h>

struct kfd_process;

/**
 * struct svm_saved_range - a range in a checkpoint
 */
struct svm_saved_range {
	/** @first: number of the first page */
	u64 first;
	/** @pages: length of the range */
	u64 pages;
	/** @bitmap_access: bit n: GPU of kfd_process.pdds[n] has ACCESS, but not ACCESS_IN_PLACE */
	u64 bitmap_access;
	/** @bitmap_aip: bit n: GPU of kfd_process.pdds[n] has ACCESS_IN_PLACE */
	u64 bitmap_aip;
	/** @preferred_loc: kfd_process_device.gpu_id or KFD_IOCTL_SVM_LOCATION_* */
	u32 preferred_loc;
	/** @prefetch_loc: location of the last prefetch, encoded like @preferred_loc */
	u32 prefetch_loc;
	/** @flags: KFD_IOCTL_SVM_FLAG_* */
	u32 flags;
	/** @granularity: log2 of the number of pages that migrate together */
	u32 granularity;
};

int svm_criu_count(struct kfd_process *p);
int svm_criu_save(struct kfd_process *p, struct svm_saved_range *ranges, u32 n);
int svm_criu_keep(struct kfd_process *p, const struct svm_saved_range *ranges,
		  u32 n);
int svm_criu_resume(struct kfd_process *p);
void svm_criu_forget(struct kfd_process *p);

#endif /* SVM_CRIU_H */
