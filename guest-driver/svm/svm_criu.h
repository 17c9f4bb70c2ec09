/* SPDX-License-Identifier: GPL-2.0 */
/* Save and restore the SVM ranges of a checkpoint. Functions are documented in svm_criu.c. */
#ifndef SVM_CRIU_H
#define SVM_CRIU_H

#include <linux/types.h>

struct kfd_process;

/**
 * struct svm_saved_range - a range in a checkpoint
 * @first: number of the first page
 * @pages: number of pages
 * @bitmap_access: bit n is set if the GPU of kfd_process.pdds[n] has ACCESS to the range, but not
 *                 ACCESS_IN_PLACE
 * @bitmap_aip: bit n is set if the GPU of kfd_process.pdds[n] has ACCESS_IN_PLACE to the range
 * @preferred_loc: preferred location: kfd_process_device.gpu_id or
 *                 KFD_IOCTL_SVM_LOCATION_*
 * @prefetch_loc: location of the last prefetch, encoded like @preferred_loc
 * @flags: KFD_IOCTL_SVM_FLAG_*
 * @granularity: log2 of the number of pages that migrate together
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

int svm_criu_count(struct kfd_process *p);
int svm_criu_save(struct kfd_process *p, struct svm_saved_range *ranges, u32 n);
int svm_criu_keep(struct kfd_process *p, const struct svm_saved_range *ranges,
		  u32 n);
int svm_criu_resume(struct kfd_process *p);
void svm_criu_forget(struct kfd_process *p);

#endif /* SVM_CRIU_H */
