/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arithmetic on page intervals and GPU timestamps. No locks, no allocation, no
 * device: KUnit tests it alone (tests/svm/svm_interval_test.c).
 */
#ifndef SVM_INTERVAL_H
#define SVM_INTERVAL_H

#include <linux/types.h>

/**
 * struct svm_interval - pages @first to @last, both included
 */
struct svm_interval {
	unsigned long first;
	unsigned long last;
};

static inline unsigned long svm_interval_pages(struct svm_interval iv)
{
	return iv.last - iv.first + 1;
}

static inline bool svm_interval_has(struct svm_interval iv, unsigned long page)
{
	return page >= iv.first && page <= iv.last;
}

#define SVM_UNMAP_LOG_LEN	4

/**
 * struct svm_unmap_log - what was unmapped from a range since the last look
 * @n: entries used
 * @inexact: more than @iv could hold: @iv[0] is the hull, and only the memory
 *           map knows which pages of it are gone
 * @iv: intervals that neither overlap nor touch
 *
 * A notifier writes it, so it has a fixed size.
 */
struct svm_unmap_log {
	unsigned int n;
	bool inexact;
	struct svm_interval iv[SVM_UNMAP_LOG_LEN];
};

/**
 * svm_window - the aligned block around a page
 * @page: page number
 * @order: log2 of the block's pages; BITS_PER_LONG and more mean everything
 * @bounds: contains @page
 *
 * Returns the block of 2^@order pages that @page lies in, cut at @bounds.
 */
struct svm_interval svm_window(unsigned long page, unsigned int order,
			       struct svm_interval bounds);

/**
 * svm_window_avoid - make room for a neighbour
 * @win: contains @page
 * @page: page number
 * @other: does not contain @page
 *
 * Returns the part of @win around @page that does not overlap @other.
 */
struct svm_interval svm_window_avoid(struct svm_interval win,
				     unsigned long page,
				     struct svm_interval other);

/**
 * svm_unmap_log_add - note that pages were unmapped
 * @log: the log
 * @iv: pages
 *
 * Intervals that overlap or touch are joined.
 */
void svm_unmap_log_add(struct svm_unmap_log *log, struct svm_interval iv);

/**
 * svm_ts_after - order of two 48-bit GPU timestamps
 * @a: timestamp; higher bits do not matter
 * @b: timestamp; higher bits do not matter
 *
 * Returns true if @a is later than @b, wrap-around considered: right while they
 * are less than 2^47 ticks (16 days at 100 MHz) apart.
 */
bool svm_ts_after(u64 a, u64 b);

#endif /* SVM_INTERVAL_H */
