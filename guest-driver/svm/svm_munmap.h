/* SPDX-License-Identifier: GPL-2.0 */
/* Apply munmaps to the tree of a process's ranges. */
#ifndef SVM_MUNMAP_H
#define SVM_MUNMAP_H

struct svm_range_list;

/**
 * svm_deferred_run() - remove all unmapped pages from the tree
 * @svms: ranges of the process
 *
 * Applies and empties svm_range.unmapped of all ranges in svm_range_list.deferred_range_list.
 *
 * Context: the caller holds mmap_lock for writing and svm_range_list.lock. Sleeps.
 */
void svm_deferred_run(struct svm_range_list *svms);

#endif /* SVM_MUNMAP_H */
