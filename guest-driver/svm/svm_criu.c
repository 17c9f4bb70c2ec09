// SPDX-License-Identifier: GPL-2.0
/*
 * Saves and restores the SVM ranges of a checkpoint. The checkpoint has only the attributes of the
 * ranges, because CRIU itself saves the content of memory with CPU accesses, which migrate VRAM to
 * system memory.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm_attr.h"
#include "svm_criu.h"
#include "svm_fault.h"
#include "svm_node.h"
#include "svm_range.h"

/**
 * struct svm_criu_metadata_list - copy of the ranges of a checkpoint
 * @n: number of ranges
 * @ranges: the ranges, sorted by address
 *
 * All ranges share one allocation. With an allocation for each range, a large checkpoint would need
 * millions of allocations.
 */
struct svm_criu_metadata_list {
	u32 n;
	struct svm_saved_range ranges[] __counted_by(n);
};

/*
 * Wait until all queued faults are handled, then take svm_lock(). Returns 0, or -ESRCH if the
 * process's address space has ended.
 */
static int svm_criu_lock(struct svm_range_list *svms)
{
	/*
	 * Wait for faults that the process's queues raised before they were stopped, because
	 * the fault handler may create a range.
	 */
	if (!bitmap_empty(svms->bitmap_supported, SVM_MAX_GPU))
		svm_fault_flush(svms);
	return svm_lock_alive(svms) ? 0 : -ESRCH;
}

/**
 * svm_criu_count() - count the ranges of a process
 * @p: process whose queues are off the hardware
 *
 * Context: kfd_process.mutex is held. Takes the locks of svm/.
 *
 * Return: number of ranges, or -ESRCH if the process's address space has ended.
 */
int svm_criu_count(struct kfd_process *p)
{
	struct svm_range_list *svms = p->svms;
	int n;

	n = svm_criu_lock(svms);
	if (n)
		return n;
	n = list_count_nodes(&svms->list);
	svm_unlock_alive(svms);
	return n;
}

static void svm_criu_save_one(const struct svm_range *r,
			      struct svm_saved_range *s)
{
	const struct svm_attrs *a = &r->attrs;

	s->first = r->iv.first;
	s->pages = svm_interval_pages(r->iv);
	bitmap_to_arr64(&s->bitmap_access, a->bitmap_access, SVM_MAX_GPU);
	bitmap_to_arr64(&s->bitmap_aip, a->bitmap_aip, SVM_MAX_GPU);
	s->preferred_loc = a->preferred_loc;
	s->prefetch_loc = a->prefetch_loc;
	s->flags = a->flags;
	s->granularity = a->granularity;
}

/**
 * svm_criu_save() - copy the attributes of all ranges of a process
 * @p: process whose queues are off the hardware
 * @ranges: array for @n ranges
 * @n: result of svm_criu_count()
 *
 * Context: kfd_process.mutex is held. Takes the locks of svm/.
 *
 * Return: 0; -ESRCH if the process's address space has ended; -EINVAL if the process does
 * not have @n ranges.
 */
int svm_criu_save(struct kfd_process *p, struct svm_saved_range *ranges, u32 n)
{
	struct svm_range_list *svms = p->svms;
	struct svm_range *r;
	u32 i = 0;
	int ret;

	ret = svm_criu_lock(svms);
	if (ret)
		return ret;
	list_for_each_entry(r, &svms->list, list) {
		if (i < n)
			svm_criu_save_one(r, &ranges[i]);
		i++;
	}
	svm_unlock_alive(svms);
	return i == n ? 0 : -EINVAL;
}

/* Return true if @loc is a GPU that supports SVM, or KFD_IOCTL_SVM_LOCATION_*. */
static bool svm_criu_loc_ok(struct kfd_process *p, u32 loc)
{
	struct kfd_process_device *pdd;

	if (loc == KFD_IOCTL_SVM_LOCATION_SYSMEM ||
	    loc == KFD_IOCTL_SVM_LOCATION_UNDEFINED)
		return true;
	pdd = kfd_process_device_by_gpu_id(p, loc);
	return pdd && pdd->node->svm->supported;
}

static int svm_criu_check(struct kfd_process *p,
			  const struct svm_saved_range *ranges, u32 n)
{
	const u64 end = TASK_SIZE >> PAGE_SHIFT;
	struct svm_range_list *svms = p->svms;
	u64 supported, after = 0;
	u32 i;

	bitmap_to_arr64(&supported, svms->bitmap_supported, SVM_MAX_GPU);
	for (i = 0; i < n; i++) {
		const struct svm_saved_range *s = &ranges[i];

		if (s->first < after || s->first >= end || !s->pages ||
		    s->pages > end - s->first || s->granularity > 0x3f ||
		    s->bitmap_access & s->bitmap_aip ||
		    (s->bitmap_access | s->bitmap_aip) & ~supported ||
		    !svm_criu_loc_ok(p, s->preferred_loc) ||
		    !svm_criu_loc_ok(p, s->prefetch_loc))
			return -EINVAL;
		after = s->first + s->pages;
	}
	if (n && !IS_ENABLED(CONFIG_DEVICE_PRIVATE))
		return -EPERM;
	return 0;
}

/**
 * svm_criu_keep() - copy the ranges of a checkpoint for svm_criu_resume()
 * @p: process that is being restored; no ranges are kept for it yet
 * @ranges: ranges, from user space
 * @n: number of ranges
 *
 * Context: kfd_process.mutex is held; sleeps.
 *
 * Return: 0; -EINVAL if no process can have such ranges; -EPERM if the kernel has no
 * device-private memory; -ENOMEM.
 */
int svm_criu_keep(struct kfd_process *p, const struct svm_saved_range *ranges,
		  u32 n)
{
	struct svm_criu_metadata_list *kept;
	int ret;

	ret = svm_criu_check(p, ranges, n);
	if (ret || !n)
		return ret;
	kept = kvmalloc(struct_size(kept, ranges, n), GFP_KERNEL);
	if (!kept)
		return -ENOMEM;
	kept->n = n;
	memcpy(kept->ranges, ranges, flex_array_size(kept, ranges, n));
	p->svms->criu_svm_metadata_list = kept;
	return 0;
}

static int svm_criu_restore(struct kfd_process *p, const struct svm_saved_range *s)
{
	struct kfd_ioctl_svm_attribute attrs[5 + SVM_MAX_GPU];
	const struct svm_interval iv = { s->first, s->first + s->pages - 1 };
	struct svm_range_list *svms = p->svms;
	unsigned int gpu;
	u32 type, n = 0;

	attrs[n++] = (struct kfd_ioctl_svm_attribute) {
		KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, s->preferred_loc };
	attrs[n++] = (struct kfd_ioctl_svm_attribute) {
		KFD_IOCTL_SVM_ATTR_SET_FLAGS, s->flags };
	attrs[n++] = (struct kfd_ioctl_svm_attribute) {
		KFD_IOCTL_SVM_ATTR_CLR_FLAGS, ~s->flags };
	attrs[n++] = (struct kfd_ioctl_svm_attribute) {
		KFD_IOCTL_SVM_ATTR_GRANULARITY, s->granularity };
	/* Setting this attribute repeats the last prefetch of the range. amdkfd does so, too. */
	if (s->prefetch_loc != KFD_IOCTL_SVM_LOCATION_UNDEFINED)
		attrs[n++] = (struct kfd_ioctl_svm_attribute) {
			KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, s->prefetch_loc };
	for_each_set_bit(gpu, svms->bitmap_supported, svms->n_gpus) {
		type = s->bitmap_access & BIT_ULL(gpu) ? KFD_IOCTL_SVM_ATTR_ACCESS :
		       s->bitmap_aip & BIT_ULL(gpu) ?
		       KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE :
		       KFD_IOCTL_SVM_ATTR_NO_ACCESS;
		attrs[n++] = (struct kfd_ioctl_svm_attribute) {
			type, p->pdds[gpu]->gpu_id };
	}
	return svm_attr_set(p, iv, n, attrs);
}

/**
 * svm_criu_resume() - create the ranges that svm_criu_keep() has copied
 * @p: restored process, whose memory CRIU has mapped
 *
 * The copied ranges are kept, so the caller may repeat the call after an error.
 *
 * Context: the caller holds kfd_process.mutex and a reference to the mm. Takes the locks of svm/.
 *
 * Return: 0, or an error of svm_ioctl().
 */
int svm_criu_resume(struct kfd_process *p)
{
	struct svm_criu_metadata_list *kept = p->svms->criu_svm_metadata_list;
	int ret;
	u32 i;

	for (i = 0; kept && i < kept->n; i++) {
		ret = svm_criu_restore(p, &kept->ranges[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * svm_criu_forget() - free the ranges that svm_criu_keep() has copied
 * @p: process
 *
 * Context: kfd_process.mutex is held, or @p has no references any more.
 */
void svm_criu_forget(struct kfd_process *p)
{
	kvfree(p->svms->criu_svm_metadata_list);
	p->svms->criu_svm_metadata_list = NULL;
}
