/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compute page intervals and compare GPU timestamps. The functions need no locks, no memory and no
 * device. tests/svm/svm_interval_test.c tests them.
 */
#ifndef SVM_INTERVAL_H
#define SVM_INTERVAL_H

#include <linux/types.h>

/**
 * struct svm_interval - an interval of pages
 * @first: number of the first page
 * @last: number of the last page, which is part of the interval
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

#define SVM_INTERVAL_PARTS	3	/* maximum number of parts of svm_interval_cut() */

#define SVM_UNMAP_LOG_LEN	4

/**
 * struct svm_unmap_log - unmapped pages that are not removed from their range yet
 *
 * The size is fixed, because MMU notifiers write the log and cannot allocate memory.
 */
struct svm_unmap_log {
	/** @n: number of elements of @iv in use */
	unsigned int n;
	/**
	 * @inexact: the log overflowed. The only interval in @iv reaches from the first to the last
	 * unmapped page. It also contains mapped pages: look the VMAs up to exclude them
	 */
	bool inexact;
	/** @iv: intervals that neither overlap nor touch */
	struct svm_interval iv[SVM_UNMAP_LOG_LEN];
};

/**
 * svm_window() - the aligned block around a page
 * @page: page number
 * @order: log2 of the number of pages of the block; with BITS_PER_LONG or more, the block has
 *         all pages
 * @bounds: interval at which the block is cut; contains @page
 *
 * Context: any.
 *
 * Return: the aligned block of 2^@order pages that contains @page, cut at @bounds.
 */
struct svm_interval svm_window(unsigned long page, unsigned int order,
			       struct svm_interval bounds);

/**
 * svm_window_avoid() - cut a window at another interval
 * @win: window to cut; contains @page
 * @page: page number
 * @other: interval that does not contain @page
 *
 * Context: any.
 *
 * Return: the part of @win around @page that does not overlap @other.
 */
struct svm_interval svm_window_avoid(struct svm_interval win,
				     unsigned long page,
				     struct svm_interval other);

/**
 * svm_interval_cut() - divide an interval at the bounds of another interval
 * @whole: interval to divide
 * @iv: interval that overlaps @whole
 * @part: the function writes the parts here, in order of address
 *
 * Context: any.
 *
 * Return: the number of parts, at most SVM_INTERVAL_PARTS. It is 1 if no bound of @iv is inside
 * @whole.
 */
unsigned int svm_interval_cut(struct svm_interval whole, struct svm_interval iv,
			      struct svm_interval part[SVM_INTERVAL_PARTS]);

/**
 * svm_unmap_log_add() - add unmapped pages to a log
 * @log: log
 * @iv: unmapped pages
 *
 * Joins intervals of the log that overlap or touch.
 *
 * Context: the caller holds the lock of the log.
 */
void svm_unmap_log_add(struct svm_unmap_log *log, struct svm_interval iv);

/**
 * svm_ts_after() - compare two 48-bit GPU timestamps
 * @a: timestamp; higher bits are ignored
 * @b: timestamp; higher bits are ignored
 *
 * Context: any.
 *
 * Return: true if @a is later than @b, also if the clock wrapped around in between. Correct for
 * timestamps less than 2^47 ticks (16 days at 100 MHz) apart.
 */
bool svm_ts_after(u64 a, u64 b);

#endif /* SVM_INTERVAL_H */
