// SPDX-License-Identifier: GPL-2.0
/* Addresses of buffer objects: no range is there, and none comes while one is mapped. */
#include <linux/interval_tree.h>
#include <linux/overflow.h>
#include <kunit/visibility.h>

#include "process/kfd_process.h"
#include "svm.h"
#include "svm_range.h"

/* The pages of these bytes. False: there are no such bytes. */
static bool svm_interval_of(u64 start, u64 size, struct svm_interval *iv)
{
	u64 last;

	if (!size || check_add_overflow(start, size - 1, &last))
		return false;
	iv->first = start >> PAGE_SHIFT;
	iv->last = last >> PAGE_SHIFT;
	return true;
}

static bool svm_has_range(struct svm_range_list *svms, struct svm_interval iv)
{
	return interval_tree_iter_first(&svms->objects, iv.first, iv.last);
}

/*
 * Is there a range in @iv? svms->lock is held on return. mmap_lock is taken only
 * if a munmap may have taken the range that is found.
 */
static bool svm_lock_has_range(struct svm_range_list *svms,
			       struct svm_interval iv)
{
	mutex_lock(&svms->lock);
	if (!svm_has_range(svms, iv))
		return false;
	if (list_empty_careful(&svms->deferred_range_list))
		return true;
	mutex_unlock(&svms->lock);
	svm_lock(svms);
	mmap_read_unlock(svms->mm);
	return svm_has_range(svms, iv);
}

bool svm_range_overlaps(struct kfd_process *p, u64 start, u64 size)
{
	struct svm_range_list *svms = p->svms;
	struct svm_interval iv;
	bool overlaps;

	if (!svm_interval_of(start, size, &iv))
		return false;
	overlaps = svm_lock_has_range(svms, iv);
	mutex_unlock(&svms->lock);
	return overlaps;
}

int svm_claim(struct kfd_process *p, u64 start, u64 size)
{
	struct svm_range_list *svms = p->svms;
	struct svm_interval iv;
	bool taken;

	lockdep_assert_held(&p->mutex);

	if (!svm_interval_of(start, size, &iv))
		return -EINVAL;
	taken = svm_lock_has_range(svms, iv);
	if (!taken) {
		WARN_ON_ONCE(svms->claimed);
		svms->claim = iv;
		svms->claimed = true;
	}
	mutex_unlock(&svms->lock);
	return taken ? -EADDRINUSE : 0;
}
EXPORT_SYMBOL_IF_KUNIT(svm_claim);

void svm_unclaim(struct kfd_process *p)
{
	lockdep_assert_held(&p->mutex);

	mutex_lock(&p->svms->lock);
	p->svms->claimed = false;
	mutex_unlock(&p->svms->lock);
}
EXPORT_SYMBOL_IF_KUNIT(svm_unclaim);
