// SPDX-License-Identifier: GPL-2.0
/* Implements struct svm_range_list: the ranges of a process, their MMU notifiers, their locks. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <kunit/visibility.h>

#include "hw/vgpu_mmio.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "smi/kfd_smi_events.h"
#include "vm/vgpu_vm.h"
#include "vm/vgpu_vm_bo.h"
#include "svm.h"
#include "svm_attr.h"
#include "svm_criu.h"
#include "svm_fault.h"
#include "svm_map.h"
#include "svm_munmap.h"
#include "svm_node.h"
#include "svm_policy.h"
#include "svm_range.h"
#include "svm_trace.h"
#include "svm_tree.h"

/*
 * On munmap, the notifier of a range clears the GPU entries, and records the unmapped pages in
 * svm_range.unmapped. Later, svm_lock() removes the range from the tree, and inserts new ranges for
 * the pages that remain.
 */
static const struct mmu_interval_notifier_ops svm_range_notifier_ops;

/* Memory of all ranges. In a cache of their own, a range takes 320 bytes instead of 512. */
static struct kmem_cache *svm_range_cache;

/**
 * svm_module_init() - create the cache for ranges
 *
 * Context: module init, before the first process.
 *
 * Return: 0 or -ENOMEM.
 */
int svm_module_init(void)
{
	svm_range_cache = KMEM_CACHE(svm_range, SLAB_HWCACHE_ALIGN);
	return svm_range_cache ? 0 : -ENOMEM;
}

/**
 * svm_module_exit() - undo svm_module_init()
 *
 * Context: module exit, after the teardown of the last process. Sleeps.
 */
void svm_module_exit(void)
{
	kmem_cache_destroy(svm_range_cache);
}

struct svm_range *svm_range_find(struct svm_range_list *svms,
				 unsigned long page)
{
	lockdep_assert_held(&svms->lock);
	return mtree_load(&svms->objects, page);
}
EXPORT_SYMBOL_IF_KUNIT(svm_range_find);

bool svm_va_busy(struct svm_range_list *svms, struct svm_interval iv)
{
	unsigned int i;

	lockdep_assert_held(&svms->lock);

	if (svms->claimed && svms->claim.first <= iv.last &&
	    iv.first <= svms->claim.last)
		return true;
	for (i = 0; i < svms->n_gpus; i++) {
		struct vgpu_vm *vm = svm_gpu_vm(svms, i);

		if (vm && vgpu_vm_va_busy(vm, iv.first, iv.last))
			return true;
	}
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(svm_va_busy);

/*
 * Memory reclaim calls MMU notifiers, which take @lock, so a holder of @lock must not wait for
 * reclaim. Teach lockdep this order before the first reclaim.
 */
static void svm_lockdep_init(struct mutex *lock)
{
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(lock);
	fs_reclaim_release(GFP_KERNEL);
}

static void svm_range_free(struct svm_range *r)
{
	mutex_destroy(&r->lock);
	kmem_cache_free(svm_range_cache, r);
}

/*
 * Allocate a range and insert its notifier. The range is neither in the tree nor in the list yet.
 * The caller holds mmap_lock for writing and svms->lock.
 */
static struct svm_range *svm_range_new(struct svm_range_list *svms,
				       struct svm_interval iv,
				       const struct svm_attrs *attrs)
{
	struct svm_range *r;
	int ret;

	lockdep_assert_held(&svms->lock);

	r = kmem_cache_zalloc(svm_range_cache, GFP_KERNEL);
	if (!r)
		return ERR_PTR(-ENOMEM);
	r->svms = svms;
	r->iv = iv;
	r->attrs = *attrs;
	mutex_init(&r->lock);
	INIT_LIST_HEAD(&r->list);
	INIT_LIST_HEAD(&r->deferred_list);
	svm_lockdep_init(&r->lock);

	ret = mmu_interval_notifier_insert_locked(&r->notifier, svms->mm,
						  iv.first << PAGE_SHIFT,
						  svm_interval_pages(iv)
							<< PAGE_SHIFT,
						  &svm_range_notifier_ops);
	if (ret) {
		svm_range_free(r);
		return ERR_PTR(ret);
	}
	trace_svm_range_insert(svm_process(svms)->pasid, iv.first, iv.last);
	return r;
}

/*
 * Remove a range from list and notifiers. The caller holds svms->lock, has removed the range from
 * the tree, and frees the range.
 */
static void svm_range_unlink(struct svm_range *r)
{
	struct svm_range_list *svms = r->svms;

	lockdep_assert_held(&svms->lock);

	list_del(&r->list);
	mmu_interval_notifier_remove(&r->notifier);
	/* The notifier is removed, so no callback queues the range again. */
	spin_lock(&svms->deferred_list_lock);
	list_del(&r->deferred_list);
	spin_unlock(&svms->deferred_list_lock);
	trace_svm_range_unlink(svm_process(svms)->pasid, r->iv.first,
			       r->iv.last);
}

void svm_range_remove(struct svm_range *r)
{
	mutex_lock(&r->lock);
	svm_unmap_pages(r, svm_range_interval(r));
	mutex_unlock(&r->lock);
	svm_range_unlink(r);
	svm_range_free(r);
}

struct svm_range *svm_range_create(struct svm_range_list *svms,
				   struct svm_interval iv,
				   const struct svm_attrs *attrs)
{
	struct svm_range *r = svm_range_new(svms, iv, attrs);
	struct svm_range *next;
	int ret;

	if (IS_ERR(r))
		return r;
	next = svm_tree_first(svms, (struct svm_interval){ iv.first, ULONG_MAX });
	ret = svm_tree_store(r);
	if (ret) {
		svm_range_unlink(r);
		svm_range_free(r);
		return ERR_PTR(ret);
	}
	/* The list is ordered by address, so insert before the next range. */
	list_add_tail(&r->list, next ? &next->list : &svms->list);
	/* Clear no-retry entries in @iv, which the driver wrote when it denied faults. */
	svm_clear_noretry(svms, iv);
	return r;
}
EXPORT_SYMBOL_IF_KUNIT(svm_range_create);

/*
 * Merge the state of @old into @r. Repeat this after @old's notifier was removed: until then, the
 * notifier may change @old.
 */
static void svm_range_inherit(struct svm_range *r, const struct svm_range *old)
{
	mutex_lock(&r->lock);
	bitmap_or(r->mapped, r->mapped, old->mapped, SVM_MAX_GPU);
	r->invalid |= old->invalid;
	r->leader = old->leader;
	r->lead = old->lead;
	mutex_unlock(&r->lock);
}

int svm_range_split(struct svm_range *r, struct svm_interval iv)
{
	struct svm_interval part[SVM_INTERVAL_PARTS];
	struct svm_range *new[SVM_INTERVAL_PARTS];
	unsigned int n = svm_interval_cut(r->iv, iv, part);
	unsigned int i;
	int ret;

	if (n == 1)
		return 0;

	/* Insert the new notifiers before r is removed, so that each invalidation finds one. */
	for (i = 0; i < n; i++) {
		new[i] = svm_range_new(r->svms, part[i], &r->attrs);
		if (IS_ERR(new[i])) {
			ret = PTR_ERR(new[i]);
			goto err;
		}
	}
	ret = svm_tree_replace(new, n);
	if (ret)
		goto err;
	for (i = 0; i < n; i++)
		list_add_tail(&new[i]->list, &r->list);
	/*
	 * From svm_range_unlink() on, only the notifiers of the new ranges clear GPU entries. These
	 * notifiers skip GPUs outside svm_range.mapped, so copy r->mapped first.
	 */
	for (i = 0; i < n; i++)
		svm_range_inherit(new[i], r);
	svm_range_unlink(r);
	/* Repeat this, because the notifier of r may have set r->invalid after the first copy. */
	for (i = 0; i < n; i++)
		svm_range_inherit(new[i], r);
	svm_range_free(r);
	return 0;

err:
	while (i--) {
		svm_range_unlink(new[i]);
		svm_range_free(new[i]);
	}
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(svm_range_split);

/* Apply pending munmaps to the tree, if no other task has done so. */
static void svm_deferred_list_work(struct work_struct *work)
{
	struct svm_range_list *svms = container_of(work, struct svm_range_list,
						   deferred_list_work);

	if (!mmget_not_zero(svms->mm))
		return;
	svm_lock_write(svms);
	svm_unlock_write(svms);
	mmput_async(svms->mm);
}

void svm_lock_write(struct svm_range_list *svms)
{
	mmap_write_lock(svms->mm);
	mutex_lock(&svms->lock);
	svm_deferred_run(svms);
}

void svm_downgrade(struct svm_range_list *svms)
{
	mmap_write_downgrade(svms->mm);
}

void svm_unlock_write(struct svm_range_list *svms)
{
	mutex_unlock(&svms->lock);
	mmap_write_unlock(svms->mm);
}

void svm_lock(struct svm_range_list *svms)
{
	mmap_read_lock(svms->mm);
	mutex_lock(&svms->lock);
	if (list_empty_careful(&svms->deferred_range_list))
		return;
	svm_unlock(svms);
	svm_lock_write(svms);
	svm_downgrade(svms);
}

void svm_unlock(struct svm_range_list *svms)
{
	mutex_unlock(&svms->lock);
	mmap_read_unlock(svms->mm);
}

bool svm_lock_alive(struct svm_range_list *svms)
{
	if (!mmget_not_zero(svms->mm))
		return false;
	svm_lock(svms);
	return true;
}

void svm_unlock_alive(struct svm_range_list *svms)
{
	svm_unlock(svms);
	mmput_async(svms->mm);	/* the last mmput() tears the mm down, which must not happen here */
}

/*
 * Log the munmap of pages of @r, for svm_deferred_run(). Called by the MMU notifier of @r, which
 * can neither allocate memory nor take svms->lock to change the tree.
 */
static void svm_defer_unmap(struct svm_range *r, struct svm_interval iv)
{
	struct svm_range_list *svms = r->svms;

	spin_lock(&svms->deferred_list_lock);
	svm_unmap_log_add(&r->unmapped, iv);
	if (list_empty(&r->deferred_list))
		list_add_tail(&r->deferred_list, &svms->deferred_range_list);
	spin_unlock(&svms->deferred_list_lock);
	queue_work(svms->wq, &svms->deferred_list_work);
}

/*
 * Send an SMI unmap event for each GPU whose page tables have entries for @r. The caller holds
 * r->lock.
 */
static void svm_range_report_unmap(struct svm_range *r, struct svm_interval iv,
				   enum mmu_notifier_event event)
{
	struct kfd_process *p = svm_process(r->svms);
	enum KFD_SVM_UNMAP_TRIGGERS why;
	unsigned int gpu;

	if (event == MMU_NOTIFY_UNMAP)
		why = KFD_SVM_UNMAP_TRIGGER_UNMAP_FROM_CPU;
	else if (event == MMU_NOTIFY_MIGRATE)
		why = KFD_SVM_UNMAP_TRIGGER_MMU_NOTIFY_MIGRATE;
	else
		why = KFD_SVM_UNMAP_TRIGGER_MMU_NOTIFY;
	for_each_set_bit(gpu, r->mapped, r->svms->n_gpus)
		kfd_smi_unmap(&p->pdds[gpu]->node->smi, p->lead_thread->pid,
			      iv.first, svm_interval_pages(iv), why);
}

/*
 * mmu_interval_notifier_ops.invalidate: the CPU's page tables change. On return no GPU
 * reaches the pages. Called under mmap_lock, under rmap locks, or from reclaim.
 */
static bool svm_range_invalidate(struct mmu_interval_notifier *mni,
				 const struct mmu_notifier_range *nr,
				 unsigned long seq)
{
	struct svm_range *r = container_of(mni, struct svm_range, notifier);
	struct svm_interval iv = {
		max(r->iv.first, nr->start >> PAGE_SHIFT),
		min(r->iv.last, (nr->end - 1) >> PAGE_SHIFT),
	};
	/* If the memory is unmapped, do not evict queues: there is nothing to map again. */
	bool gone = nr->event == MMU_NOTIFY_UNMAP ||
		    nr->event == MMU_NOTIFY_RELEASE;

	/* Do not wait for the GPU if the caller must not sleep: the OOM reaper retries later. */
	if (!mmu_notifier_range_blockable(nr))
		return false;

	mutex_lock(&r->lock);
	mmu_interval_set_seq(mni, seq);
	if (!bitmap_empty(r->mapped, SVM_MAX_GPU)) {
		if (!gone && svm_range_stays_mapped(r)) {
			svm_evict_queues(r->svms);
			r->invalid = true;
		}
		r->invalidations++;
		svm_unmap_pages(r, iv);
		svm_range_report_unmap(r, iv, nr->event);
		trace_svm_unmap(svm_process(r->svms)->pasid, iv.first, iv.last,
				nr->event);
	}
	mutex_unlock(&r->lock);

	if (nr->event == MMU_NOTIFY_UNMAP ||
	    nr->event == MMU_NOTIFY_PROTECTION_VMA)
		svm_fault_checkpoint(r->svms);
	/*
	 * MMU_NOTIFY_CLEAR may be a truncation. A truncation removes access, as a munmap does, so
	 * svm_fault_checkpoint() must run. But MMU_NOTIFY_CLEAR is too frequent to read the GPU
	 * clocks each time. So only set flags: svm_fault_judge() reads the clock of its GPU before
	 * it denies a fault.
	 */
	if (nr->event == MMU_NOTIFY_CLEAR)
		svm_fault_note_clear(r->svms);
	if (nr->event == MMU_NOTIFY_UNMAP)
		svm_defer_unmap(r, iv);
	return true;
}

static const struct mmu_interval_notifier_ops svm_range_notifier_ops = {
	.invalidate = svm_range_invalidate,
};

/**
 * svm_range_list_init() - initialise SVM of a new process
 * @p: process with its mm, PASID and GPUs
 *
 * Context: sleeps; neither in a notifier nor with mmap_lock held. Waits until the device-private
 * pages of the GPUs are made (svm_supported()).
 *
 * Return: 0 or -ENOMEM.
 */
int svm_range_list_init(struct kfd_process *p)
{
	struct svm_range_list *svms = kzalloc(sizeof(*svms), GFP_KERNEL);
	unsigned int i;
	int ret;

	if (!svms)
		return -ENOMEM;
	svms->process = p;
	mutex_init(&svms->lock);
	svm_tree_init(svms);
	mutex_init(&svms->evict_lock);
	svm_lockdep_init(&svms->evict_lock);
	INIT_LIST_HEAD(&svms->list);
	atomic_set(&svms->evicted_ranges, 0);
	atomic_set(&svms->drain_pagefaults, 0);
	INIT_DELAYED_WORK(&svms->restore_work, svm_restore_work);
	INIT_WORK(&svms->lost_work, svm_lost_work);
	INIT_WORK(&svms->deferred_list_work, svm_deferred_list_work);
	INIT_LIST_HEAD(&svms->deferred_range_list);
	spin_lock_init(&svms->deferred_list_lock);
	bitmap_zero(svms->bitmap_supported, SVM_MAX_GPU);
	svms->policy = svm_policy_now();
	svms->default_granularity = svm_default_granularity_now();

	ret = svm_wqs_init(svms);
	if (ret)
		goto err_free;

	svms->n_gpus = 0;
	svms->gpus = kvcalloc(max(p->n_pdds, 1u), sizeof(*svms->gpus),
			      GFP_KERNEL);
	if (!svms->gpus) {
		ret = -ENOMEM;
		goto err;
	}
	ret = svm_map_buf_init(svms);
	if (ret)
		goto err;

	svms->n_gpus = p->n_pdds;
	for (i = 0; i < svms->n_gpus; i++) {
		struct kfd_node *node = p->pdds[i]->node;

		svm_dma_init(&svms->gpus[i]);
		svm_fault_queue_init(&svms->gpus[i].faults, node, svms, svms->wq,
				     svms->local_wq);
		svms->gpus[i].birth_ts = vgpu_clock_read(node->vdev);
		svms->gpus[i].unmap_ts = svms->gpus[i].birth_ts;
		if (svm_supported(node))
			__set_bit(i, svms->bitmap_supported);
	}

	svms->mm = p->mm;
	mmgrab(svms->mm);
	p->svms = svms;
	pr_debug("pid %d: range list created: pasid %u, default granularity %u, GPUs with SVM %*pbl\n",
		 p->lead_thread->pid, p->pasid, svms->default_granularity,
		 SVM_MAX_GPU, svms->bitmap_supported);
	trace_svm_list_init(p->lead_thread->pid, p->pasid);
	return 0;

err:
	kvfree(svms->gpus);
	svm_wqs_fini(svms);
err_free:
	kfree(svms);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(svm_range_list_init);

/**
 * svm_range_list_fini() - free all ranges of a process
 * @p: process at its teardown; its queues are destroyed, its VMs still exist
 *
 * Waits for faults and deferred work. Does nothing if svm_range_list_init() was not called.
 *
 * Context: sleeps; neither in a notifier nor with mmap_lock held.
 */
void svm_range_list_fini(struct kfd_process *p)
{
	struct svm_range_list *svms = p->svms;
	struct svm_range *r, *next;
	unsigned int i, removed = 0;

	if (!svms)
		return;

	pr_debug("pid %d: range list teardown begins\n", p->lead_thread->pid);
	trace_svm_list_fini(p->lead_thread->pid, p->pasid);
	cancel_work_sync(&svms->lost_work);
	cancel_delayed_work_sync(&svms->restore_work);
	/* All ranges are removed below, so pending munmaps need not be applied. */
	cancel_work_sync(&svms->deferred_list_work);
	/*
	 * No worker of a fault queue is scheduled: it would hold a reference to the process. But a
	 * worker that has dropped its reference may still run.
	 */
	svm_fault_flush(svms);
	pr_debug("pid %d: no work item of the range list runs\n",
		 p->lead_thread->pid);
	trace_svm_list_idle(p->lead_thread->pid, p->pasid);

	mutex_lock(&svms->lock);
	/* All ranges go, so empty the tree at once. No task searches it while the lock is held. */
	svm_tree_destroy(svms);
	list_for_each_entry_safe(r, next, &svms->list, list) {
		svm_range_remove(r);
		removed++;
	}
	mutex_unlock(&svms->lock);
	pr_debug("pid %d: ranges removed: %u\n", p->lead_thread->pid, removed);
	trace_svm_list_empty(p->lead_thread->pid, p->pasid);

	/* All notifiers are removed now, so these two work items are not queued again. */
	cancel_work_sync(&svms->deferred_list_work);
	cancel_delayed_work_sync(&svms->restore_work);

	for (i = 0; i < svms->n_gpus; i++)
		svm_dma_fini(&svms->gpus[i], svm_gpu_vdev(svms, i)->drm.dev);
	svm_wqs_fini(svms);
	svm_map_buf_fini(svms);
	svm_criu_forget(p);
	kvfree(svms->gpus);
	mmdrop(svms->mm);
	mutex_destroy(&svms->evict_lock);
	mutex_destroy(&svms->lock);
	p->svms = NULL;
	kfree(svms);
	pr_debug("pid %d: range list freed\n", p->lead_thread->pid);
	trace_svm_list_free(p->lead_thread->pid, p->pasid);
}
EXPORT_SYMBOL_IF_KUNIT(svm_range_list_fini);
