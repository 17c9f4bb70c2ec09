/* SPDX-License-Identifier: GPL-2.0 */
/* Map memory ahead of faults at ascending addresses (svm_fault_ahead.c). */
#ifndef SVM_FAULT_AHEAD_H
#define SVM_FAULT_AHEAD_H

#include "svm_fault.h"
#include "svm_interval.h"

struct svm_fault_queue;

/*
 * Limit of svm_ahead.run. At most 2^(SVM_AHEAD_RUN - 1) chunks of SVM_CHUNK_PAGES pages are mapped
 * ahead of a fault (16 MiB).
 */
#define SVM_AHEAD_RUN	4u

/**
 * struct svm_ahead - a stream: faults of a process on a GPU at ascending addresses
 */
struct svm_ahead {
	/** @first: first page after the last window that a fault has mapped */
	unsigned long first;
	/** @next: first page after the pages that are mapped. Pages from @first on are ahead */
	unsigned long next;
	/** @until: svm_fault_ahead() maps pages up to this one, which is not included */
	unsigned long until;
	/** @run: number of successive faults that have continued the stream; see SVM_AHEAD_RUN */
	unsigned int run;
};

/*
 * Record the verdict on a fault at @page, and decide how far to map ahead (svm_ahead.until). @win:
 * pages that a repair has mapped. Only the worker of the process and GPU calls this function.
 */
void svm_ahead_note(struct svm_ahead *a, unsigned long page, enum svm_verdict verdict,
		    struct svm_interval win);
/*
 * Map memory ahead as svm_ahead_note() has decided, while no fault waits. Called by the worker of
 * @q after each fault, without locks. Does not wait for a page-in, for VRAM, or for mmap_lock,
 * svm_range_list.lock or vgpu_vm_state.alloc_lock. Does wait for an invalidation of the range that
 * is in flight.
 */
void svm_fault_ahead(struct svm_fault_queue *q);

#endif /* SVM_FAULT_AHEAD_H */
