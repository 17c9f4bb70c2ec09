/* SPDX-License-Identifier: GPL-2.0 */
/* Decide where SVM memory is placed. The functions are in svm_policy.c. */
#ifndef SVM_POLICY_H
#define SVM_POLICY_H

#include <linux/kfd_ioctl.h>
#include <linux/types.h>

#include "svm_interval.h"
#include "svm_range.h"

struct kfd_process;

/*
 * svm_policy_now() and svm_policy_name() need no lock; the caller of any other function holds
 * svms->lock.
 */

/* Return the policy for processes that are created now. */
enum svm_policy svm_policy_now(void);
/* Return the name of a policy, as in the module parameter. */
const char *svm_policy_name(enum svm_policy policy);
/*
 * GPU index @gpu has faulted at @page. Decide to which memory the pages @win of @r have to migrate.
 * Call once per fault, because the policy counts the calls. May read registers.
 * Sets *@loc to a gpu_id, 0 (system memory) or KFD_IOCTL_SVM_LOCATION_UNDEFINED (no migration).
 * Returns 0, or -EACCES if the GPU may not access @r.
 */
int svm_policy_fault(struct svm_range *r, unsigned int gpu, unsigned long page,
		     struct svm_interval win, u32 *loc);
/* Record that a fault has migrated pages of @iv to VRAM of GPU index @home. */
void svm_policy_pulled(struct svm_range_list *svms, unsigned int home,
		       struct svm_interval iv);
/*
 * Return where a prefetch to r->attrs.prefetch_loc goes: a gpu_id, 0 for system memory (also if the
 * pages may not be placed in the VRAM of the GPU), or KFD_IOCTL_SVM_LOCATION_UNDEFINED if no
 * location is set.
 */
u32 svm_policy_prefetch(const struct svm_range *r);
/*
 * Set *@gpus to the GPUs for which SET_ATTR itself maps the range, without waiting for a fault.
 * @placed is the gpu_id of the GPU to which a prefetch has migrated the range, or 0.
 */
void svm_policy_map_now(const struct svm_range *r, u32 placed,
			unsigned long *gpus);

#endif /* SVM_POLICY_H */
