// SPDX-License-Identifier: GPL-2.0
/*
 * Sets the XNACK mode of a process. The mode decides whether the process's page faults are
 * repaired.
 */
#include <linux/sched/mm.h>

#include "process/kfd_process.h"
#include "svm.h"
#include "svm_fault.h"
#include "svm_map.h"
#include "svm_policy.h"
#include "svm_range.h"

/*
 * Return true if XNACK can be switched on: the process has GPUs, and all of them can repair faults.
 */
static bool svm_xnack_possible(struct kfd_process *p)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (!svm_supported(p->pdds[i]->node))
			return false;
	return p->n_pdds;
}

/*
 * Handle all queued faults, then unmap all ranges and map them as the new mode requires. Returns 0
 * or the first error.
 */
static int svm_xnack_remap(struct kfd_process *p)
{
	struct svm_range_list *svms = p->svms;
	struct svm_range *r;
	int ret = 0;

	if (bitmap_empty(svms->bitmap_supported, SVM_MAX_GPU))
		return 0;
	if (!mmget_not_zero(svms->mm))
		return -ESRCH;

	svm_fault_checkpoint(svms);
	svm_fault_flush(svms);

	svm_lock(svms);
	list_for_each_entry(r, &svms->list, list) {
		DECLARE_BITMAP(gpus, SVM_MAX_GPU);
		int err;

		svm_unmap_range(r);
		svm_policy_map_now(r, 0, gpus);
		err = svm_map_range(r, gpus, true);
		if (err && !ret)
			ret = err;
	}
	svm_unlock(svms);
	mmput(svms->mm);
	return ret;
}

/**
 * svm_set_xnack() - set whether a process's faults are repaired
 * @p: process without queues
 * @on: true to repair faults
 *
 * Context: kfd_process.mutex is held. Takes the locks of svm/.
 *
 * Return: 0; -EPERM if @p has no GPU or a GPU that cannot repair faults. After the mode has
 * changed: -ESRCH if the address space has ended, or the first error of svm_map_range().
 */
int svm_set_xnack(struct kfd_process *p, bool on)
{
	lockdep_assert_held(&p->mutex);

	if (on == p->xnack_enabled)
		return 0;
	if (on && !svm_xnack_possible(p))
		return -EPERM;
	WRITE_ONCE(p->xnack_enabled, on);
	return svm_xnack_remap(p);
}
