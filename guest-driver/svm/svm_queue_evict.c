// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps a process's queues off the hardware while ranges that must stay mapped
 * (svm_range_stays_mapped()) are not mapped. Without XNACK, a GPU cannot retry accesses.
 */
#include "process/kfd_evict.h"
#include "process/kfd_process.h"
#include "svm_map.h"
#include "svm_range.h"

#define SVM_RESTORE_DELAY_MS		1u
#define SVM_RESTORE_MAX_DELAY_MS	512u

bool svm_range_stays_mapped(const struct svm_range *r)
{
	return !READ_ONCE(svm_process(r->svms)->xnack_enabled) ||
	       (READ_ONCE(r->attrs.flags) &
		KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED);
}

static void svm_restore_schedule(struct svm_range_list *svms)
{
	queue_delayed_work(svms->wq, &svms->restore_work,
			   msecs_to_jiffies(READ_ONCE(svms->restore_delay_ms)));
}

void svm_evict_queues(struct svm_range_list *svms)
{
	struct kfd_process *p = svm_process(svms);
	unsigned int i;

	/*
	 * A second caller must not return before the queues are off the hardware, so evict_lock
	 * covers both the counter and the eviction.
	 */
	mutex_lock(&svms->evict_lock);
	if (atomic_inc_return(&svms->evicted_ranges) == 1) {
		for (i = 0; i < svms->n_gpus; i++)
			kfd_process_evict_queues(p->pdds[i]);
		kfd_process_report_eviction(p, KFD_QUEUE_EVICTION_TRIGGER_SVM);
		WRITE_ONCE(svms->restore_delay_ms, SVM_RESTORE_DELAY_MS);
		svm_restore_schedule(svms);
	}
	mutex_unlock(&svms->evict_lock);
}

/*
 * Put the queues back on the hardware, unless page table entries were invalidated since the caller
 * read @seen from svms->evicted_ranges.
 */
static bool svm_restore_queues(struct svm_range_list *svms, int seen)
{
	struct kfd_process *p = svm_process(svms);
	bool done;
	unsigned int i;

	mutex_lock(&svms->evict_lock);
	done = atomic_cmpxchg(&svms->evicted_ranges, seen, 0) == seen;
	for (i = 0; done && i < svms->n_gpus; i++)
		kfd_process_restore_queues(p->pdds[i]);
	kfd_process_report_restore(p, done);
	mutex_unlock(&svms->evict_lock);
	return done;
}

static int svm_restore_ranges(struct svm_range_list *svms)
{
	struct svm_range *r;

	list_for_each_entry(r, &svms->list, list) {
		DECLARE_BITMAP(gpus, SVM_MAX_GPU);
		int ret;

		if (!READ_ONCE(r->invalid))
			continue;
		bitmap_or(gpus, r->attrs.bitmap_access, r->attrs.bitmap_aip,
			  SVM_MAX_GPU);
		ret = svm_map_range(r, gpus, true);
		if (ret)
			return ret;
		if (READ_ONCE(r->invalid))
			return -EAGAIN;
	}
	return 0;
}

void svm_restore_work(struct work_struct *work)
{
	struct svm_range_list *svms =
		container_of(to_delayed_work(work), struct svm_range_list,
			     restore_work);
	int seen = atomic_read(&svms->evicted_ranges);
	int ret;

	/* If the mm has ended, restore nothing: the teardown of the process destroys the queues. */
	if (!seen || !svm_lock_alive(svms))
		return;
	ret = svm_restore_ranges(svms);
	svm_unlock_alive(svms);

	if (ret)
		kfd_process_report_restore(svm_process(svms), false);
	if (ret || !svm_restore_queues(svms, seen)) {
		WRITE_ONCE(svms->restore_delay_ms,
			   min(2 * svms->restore_delay_ms,
			       SVM_RESTORE_MAX_DELAY_MS));
		svm_restore_schedule(svms);
	}
}
