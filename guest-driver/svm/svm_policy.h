/* SPDX-License-Identifier: GPL-2.0 */
/* Where memory should be, and the attributes that say so. */
#ifndef SVM_POLICY_H
#define SVM_POLICY_H

#include <linux/kfd_ioctl.h>
#include <linux/types.h>

#include "svm_interval.h"
#include "svm_range.h"

struct kfd_process;

/* svm_policy.c: where memory should be. svms->lock held. */
/* Of processes to come; no lock. */
enum svm_policy svm_policy_now(void);
/* As the module's parameter has it; no lock. */
const char *svm_policy_name(enum svm_policy policy);
/*
 * GPU index @gpu faulted at @page, and @win would move. 0 and *@loc: gpu_id to
 * migrate to, 0: system memory, KFD_IOCTL_SVM_LOCATION_UNDEFINED: where it is.
 * -EACCES: no access at all. Counts; may read registers.
 */
int svm_policy_fault(struct svm_range *r, unsigned int gpu, unsigned long page,
		     struct svm_interval win, u32 *loc);
/* A fault has brought pages of @iv to VRAM of GPU index @home. */
void svm_policy_pulled(struct svm_range_list *svms, unsigned int home,
		       struct svm_interval iv);
/* gpu_id, or 0, that a prefetch to r->attrs.prefetch_loc should use. */
u32 svm_policy_prefetch(const struct svm_range *r);
/* GPUs that SET_ATTR maps at once; @placed: gpu_id just prefetched to, or 0. */
void svm_policy_map_now(const struct svm_range *r, u32 placed,
			unsigned long *gpus);

/* svm_attr.c */
/* GPU index of @gpu_id, or -EINVAL if it is no GPU that does SVM. */
int svm_gpu_index(struct kfd_process *p, u32 gpu_id);
/* 0, or -EINVAL: some attribute is unknown or names no GPU that does SVM. */
int svm_attr_check(struct kfd_process *p, u32 nattrs,
		   const struct kfd_ioctl_svm_attribute *attrs);
/* The attributes, checked before, on top of @a. */
void svm_attr_apply(struct kfd_process *p, struct svm_attrs *a, u32 nattrs,
		    const struct kfd_ioctl_svm_attribute *attrs);
int svm_attr_set(struct kfd_process *p, struct svm_interval iv, u32 nattrs,
		 const struct kfd_ioctl_svm_attribute *attrs);

#endif /* SVM_POLICY_H */
