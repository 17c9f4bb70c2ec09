// SPDX-License-Identifier: GPL-2.0
/*
 * Computes page intervals and compares GPU timestamps. Functions are documented in
 * svm_interval.h.
 */
#include <linux/bits.h>
#include <linux/minmax.h>

#include "svm_interval.h"

#define SVM_TS_BITS	48

struct svm_interval svm_window(unsigned long page, unsigned int order,
			       struct svm_interval bounds)
{
	unsigned long mask;

	mask = order < BITS_PER_LONG ? (1UL << order) - 1 : ULONG_MAX;
	return (struct svm_interval){
		.first = max(page & ~mask, bounds.first),
		.last = min(page | mask, bounds.last),
	};
}

struct svm_interval svm_window_avoid(struct svm_interval win,
				     unsigned long page,
				     struct svm_interval other)
{
	if (other.last < page)
		win.first = max(win.first, other.last + 1);
	else if (other.first > page)
		win.last = min(win.last, other.first - 1);
	return win;
}

unsigned int svm_interval_cut(struct svm_interval whole, struct svm_interval iv,
			      struct svm_interval part[SVM_INTERVAL_PARTS])
{
	unsigned int n = 0;

	if (whole.first < iv.first) {
		part[n++] = (struct svm_interval){ whole.first, iv.first - 1 };
		whole.first = iv.first;
	}
	if (iv.last < whole.last) {
		part[n++] = (struct svm_interval){ whole.first, iv.last };
		whole.first = iv.last + 1;
	}
	part[n++] = whole;
	return n;
}

/* Return true if the intervals overlap or are adjacent. */
static bool svm_interval_touch(struct svm_interval a, struct svm_interval b)
{
	return (a.last == ULONG_MAX || b.first <= a.last + 1) &&
	       (b.last == ULONG_MAX || a.first <= b.last + 1);
}

static struct svm_interval svm_interval_hull(struct svm_interval a,
					     struct svm_interval b)
{
	return (struct svm_interval){
		.first = min(a.first, b.first),
		.last = max(a.last, b.last),
	};
}

void svm_unmap_log_add(struct svm_unmap_log *log, struct svm_interval iv)
{
	unsigned int i = 0;

	/*
	 * Join @iv with each interval of the log that touches @iv. The joined interval may touch
	 * more intervals of the log, so start again.
	 */
	while (i < log->n) {
		if (svm_interval_touch(log->iv[i], iv)) {
			iv = svm_interval_hull(log->iv[i], iv);
			log->iv[i] = log->iv[--log->n];
			i = 0;
		} else {
			i++;
		}
	}

	if (log->inexact || log->n == SVM_UNMAP_LOG_LEN) {
		while (log->n)
			iv = svm_interval_hull(log->iv[--log->n], iv);
		log->inexact = true;
	}
	log->iv[log->n++] = iv;
}

bool svm_ts_after(u64 a, u64 b)
{
	return (s64)((a - b) << (64 - SVM_TS_BITS)) > 0;
}
