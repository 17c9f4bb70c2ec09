/* SPDX-License-Identifier: GPL-2.0 */
/* Check and change the attributes of SVM memory. The functions are in svm_attr.c. */
#ifndef SVM_ATTR_H
#define SVM_ATTR_H

#include <linux/kfd_ioctl.h>
#include <linux/types.h>

#include "svm_interval.h"

struct kfd_process;
struct svm_attrs;
struct svm_range_list;

/* Return the value of svm_range_list.default_granularity for a process that is created now. */
u8 svm_default_granularity_now(void);
/* Set *@attrs to the attributes of memory for which SET_ATTR has not been called. */
void svm_default_attrs(struct svm_range_list *svms, struct svm_attrs *attrs);
/* Return the GPU index of @gpu_id, or -EINVAL if @p has no GPU with this id that supports SVM. */
int svm_gpu_index(struct kfd_process *p, u32 gpu_id);
/*
 * Return 0, or -EINVAL if an attribute is unknown, or names a GPU that does not support SVM or
 * does not exist.
 */
int svm_attr_check(struct kfd_process *p, u32 nattrs,
		   const struct kfd_ioctl_svm_attribute *attrs);
/* Apply the attributes @attrs, which svm_attr_check() has accepted, to @a. */
void svm_attr_apply(struct kfd_process *p, struct svm_attrs *a, u32 nattrs,
		    const struct kfd_ioctl_svm_attribute *attrs);
/*
 * Implement KFD_IOCTL_SVM_OP_SET_ATTR for the pages of @iv, which is below TASK_SIZE. Takes
 * svm_lock(). Returns 0 or an error of svm_ioctl().
 */
int svm_attr_set(struct kfd_process *p, struct svm_interval iv, u32 nattrs,
		 const struct kfd_ioctl_svm_attribute *attrs);

#endif /* SVM_ATTR_H */
