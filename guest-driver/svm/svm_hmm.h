/* SPDX-License-Identifier: GPL-2.0 */
/* Find the CPU's pages of an interval with HMM. */
#ifndef SVM_HMM_H
#define SVM_HMM_H

#include <linux/hmm.h>
#include <linux/types.h>

struct svm_range_list;

/*
 * Return true if @pfn, an answer of HMM, does not satisfy @request. HMM_PFN_REQ_FAULT and
 * HMM_PFN_REQ_WRITE are the same bits as HMM_PFN_VALID and HMM_PFN_WRITE of the answer.
 */
static inline bool svm_hmm_missing(unsigned long pfn, unsigned long request)
{
	return (pfn & (request | HMM_PFN_ERROR)) != request;
}

/**
 * svm_hmm_fault() - find the pages of an interval, and fault missing pages in
 * @svms: ranges of the process
 * @hmm: interval within one VMA and one page table; has HMM_PFN_REQ_FAULT in default_flags, 0 in
 *	pfn_flags_mask, and the sequence number of the notifier in notifier_seq
 *
 * As hmm_range_fault(), but pages that the GPU can use where they are, in VRAM of
 * hmm->dev_private_owner for instance, stay there if their neighbours are faulted in.
 *
 * Success does not say that the pages are still there: the caller has to test hmm->notifier_seq,
 * and to repeat the call if the number is outdated.
 *
 * Context: the caller holds mmap_lock and svm_range_list.lock. Sleeps, and migrates pages.
 * Return: 0, or an error of hmm_range_fault().
 */
int svm_hmm_fault(struct svm_range_list *svms, struct hmm_range *hmm);

#endif /* SVM_HMM_H */
