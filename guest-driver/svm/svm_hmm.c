// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the CPU's pages of an interval with HMM, and faults missing pages in. If a part of the
 * interval is in VRAM, that part stays in VRAM.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>

#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm_hmm.h"
#include "svm_node.h"
#include "svm_range.h"

/* Return true if a GPU of the process has pages of any process in VRAM. */
static bool svm_any_in_vram(struct svm_range_list *svms)
{
	struct kfd_process *p = svm_process(svms);
	unsigned int i;

	for (i = 0; i < svms->n_gpus; i++)
		if (atomic_long_read(&p->pdds[i]->node->svm->vram_pages))
			return true;
	return false;
}

/* Fault in the pages @first to @end - 1 of @hmm, all of which are missing. */
static int svm_hmm_fault_run(const struct hmm_range *hmm, unsigned long first, unsigned long end)
{
	struct hmm_range run = *hmm;
	int ret;

	run.start = hmm->start + (first << PAGE_SHIFT);
	run.end = hmm->start + (end << PAGE_SHIFT);
	run.hmm_pfns = hmm->hmm_pfns + first;
	/*
	 * A fault of an earlier run may have called the notifier, for instance to copy a page on
	 * write. With hmm->notifier_seq, HMM would return -EBUSY for each later run.
	 */
	run.notifier_seq = mmu_interval_read_begin(run.notifier);
	ret = hmm_range_fault(&run);
	/* The caller's test of hmm->notifier_seq notices the change, too. */
	return ret == -EBUSY ? 0 : ret;
}

int svm_hmm_fault(struct svm_range_list *svms, struct hmm_range *hmm)
{
	unsigned long npages = (hmm->end - hmm->start) >> PAGE_SHIFT;
	unsigned long request = hmm->default_flags;
	unsigned long first, end;
	int ret;

	if (npages == 1 || !svm_any_in_vram(svms))
		return hmm_range_fault(hmm);
	/*
	 * From the first missing page on, HMM faults all pages up to the end of the page table. A
	 * fault of a page in VRAM migrates the page to system memory. So first look only, and then
	 * fault the missing pages.
	 */
	hmm->default_flags = 0;
	ret = hmm_range_fault(hmm);
	hmm->default_flags = request;
	for (first = 0; first < npages && !ret; first = end) {
		bool missing = svm_hmm_missing(hmm->hmm_pfns[first], request);

		end = first + 1;
		while (end < npages && svm_hmm_missing(hmm->hmm_pfns[end], request) == missing)
			end++;
		if (missing)
			ret = svm_hmm_fault_run(hmm, first, end);
	}
	return ret;
}
