// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps SVM ranges and mappings of BOs from overlapping. Before a BO is mapped, this file tests
 * whether an SVM range is at the addresses, and claims the addresses for the BO.
 */
#include <linux/overflow.h>
#include <kunit/visibility.h>

#include "process/kfd_process.h"
#include "svm.h"
#include "svm_range.h"
#include "svm_tree.h"

/*
 * Set *@iv to the pages of the @size bytes at @start. Return false if @size is 0 or the end wraps
 * around.
 */
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
	return svm_tree_first(svms, iv);
}

/*
 * Take svms->lock, which the caller has to release. Return true if a range overlaps @iv. May take
 * and release mmap_lock.
 */
static bool svm_lock_has_range(struct svm_range_list *svms,
			       struct svm_interval iv)
{
	mutex_lock(&svms->lock);
	if (!svm_has_range(svms, iv))
		return false;
	if (list_empty_careful(&svms->deferred_range_list))
		return true;
	/* A pending munmap may remove the range, so let svm_lock() apply all pending munmaps. */
	mutex_unlock(&svms->lock);
	svm_lock(svms);
	mmap_read_unlock(svms->mm);
	return svm_has_range(svms, iv);
}

/**
 * svm_range_overlaps() - whether an SVM range overlaps addresses
 * @p: process
 * @start: first byte
 * @size: bytes
 *
 * Only a hint: another thread may create a range right after the call. svm_claim() prevents this.
 *
 * Context: the mm is alive. Takes svm_range_list.lock, and mmap_lock if munmaps are pending.
 *
 * Return: true if a range overlaps; false also if @size is 0 or the end wraps around.
 */
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

/**
 * svm_claim() - keep SVM ranges off addresses until svm_unclaim()
 * @p: process
 * @start: first byte
 * @size: bytes
 *
 * The caller maps a BO at the addresses, and holds kfd_process.mutex until svm_unclaim().
 *
 * Context: the mm is alive; no reservation is held. Takes svm_range_list.lock and mmap_lock.
 *
 * Return: 0; -EADDRINUSE if a range overlaps; -EINVAL if @size is 0 or the end wraps around.
 */
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

/**
 * svm_unclaim() - let SVM ranges be created again at the addresses of svm_claim()
 * @p: process
 *
 * Context: kfd_process.mutex has been held since svm_claim(). Takes svm_range_list.lock.
 */
void svm_unclaim(struct kfd_process *p)
{
	lockdep_assert_held(&p->mutex);

	mutex_lock(&p->svms->lock);
	p->svms->claimed = false;
	mutex_unlock(&p->svms->lock);
}
EXPORT_SYMBOL_IF_KUNIT(svm_unclaim);
