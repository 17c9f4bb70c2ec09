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
 * svm_policy_now() and svm_policy_name() need no lock. The caller of any other function holds
 * svms->lock. svm_policy_fault() and svm_policy_prefetch() also take vgpu_hw_state.io_lock, to
 * read registers.
 */

/*
 * A location is a gpu_id (VRAM of this GPU), 0 (system memory) or KFD_IOCTL_SVM_LOCATION_UNDEFINED
 * (none).
 */

/* Return the policy for processes that are created now. */
enum svm_policy svm_policy_now(void);
/* Return the name of a policy, as in the module parameter. */
const char *svm_policy_name(enum svm_policy policy);
/*
 * GPU index @gpu has faulted at @page. Set *@loc to the location to which the pages of @win, around
 * @page, are to move. Call once per fault. Returns 0, or -EACCES if the GPU has no access.
 */
int svm_policy_fault(struct svm_range *r, unsigned int gpu, unsigned long page,
		     struct svm_interval win, u32 *loc);
/*
 * Return true if a fault of GPU index @gpu may access @r, migrates no page from system memory, and
 * is not counted. The fault may still mark a pull of another GPU as contested (struct svm_pull): if
 * the fault is avoided, that GPU may pull the pages once more.
 */
bool svm_policy_stays(const struct svm_range *r, unsigned int gpu);
/* Record that a fault has migrated pages of @iv to VRAM of GPU index @home. */
void svm_policy_pulled(struct svm_range_list *svms, unsigned int home,
		       struct svm_interval iv);
/*
 * Return the location to which a prefetch moves the range: r->attrs.prefetch_loc, or 0 if this is
 * VRAM in which the range may not be placed.
 */
u32 svm_policy_prefetch(const struct svm_range *r);
/*
 * Set *@gpus to the GPUs for which SET_ATTR maps the range without a fault. @placed: gpu_id to
 * which a prefetch migrated the range, or 0.
 */
void svm_policy_map_now(const struct svm_range *r, u32 placed,
			unsigned long *gpus);

#endif /* SVM_POLICY_H */
