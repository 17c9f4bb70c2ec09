// SPDX-License-Identifier: GPL-2.0
/*
 * Evicts and restores the queues and BOs of processes.
 *
 * DOC: eviction fence
 *
 * All mapped BOs of a process with queues carry the process's eviction fence:
 *
 *	first queue ────► queues run ──► a task waits for the fence
 *	                      ▲                      │ eviction_work: queues off,
 *	                      │                      ▼ fence signalled
 *	   queues on ◄── restore_work ◄───────── evicted
 */
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <kunit/visibility.h>

#include "mm/vgpu_bo.h"
#include "kfd_evict.h"
#include "kfd_evict_priv.h"
#include "kfd_mem.h"
#include "kfd_node.h"
#include "kfd_process.h"
#include "kfd_process_trace.h"
#include "kfd_restore_order.h"
#include "kfd_timeslice.h"

#define KFD_RESTORE_MS		10u
#define KFD_RESTORE_MAX_MS	640u
/*
 * Number of processes that may be restored at the same time. The restore of one such process does
 * not evict VRAM of another.
 */
#define KFD_RESTORE_ACTIVE	3
/* Number of attempts to restore a process before its slot goes to the next process. */
#define KFD_RESTORE_TRIES	4u
/*
 * After this number of failed trylocks of kfd_process.mutex, restore_work sleeps until it gets the
 * mutex. The trylocks are KFD_RESTORE_MS apart.
 */
#define KFD_RESTORE_BUSY	16u

static struct workqueue_struct *kfd_evict_wq;
static struct workqueue_struct *kfd_restore_wq;
/*
 * Slots for restores of processes. restore_work holds no slot during waits that the process can
 * prolong: kfd_process.mutex, mmap_lock, page-ins.
 */
static struct kfd_restore_order kfd_restore_order;

/**
 * struct kfd_eviction_fence - fence of a process's BOs; a wait for the fence evicts the queues
 */
struct kfd_eviction_fence {
	/** @base: the fence; first member, because dma_fence_free() frees this address */
	struct dma_fence base;
	/** @lock: lock of @base */
	spinlock_t lock;
	/** @process: the process; alive until the fence has signalled */
	struct kfd_process *process;
};

static_assert(!offsetof(struct kfd_eviction_fence, base));

static const char *kfd_fence_driver_name(struct dma_fence *fence)
{
	return "vgpu_kfd";
}

static const char *kfd_fence_timeline_name(struct dma_fence *fence)
{
	return "kfd_eviction";
}

/*
 * Implements dma_fence_ops.enable_signaling: queues eviction_work. Any context; the fence's
 * lock is held.
 */
static bool kfd_fence_enable_signaling(struct dma_fence *fence)
{
	struct kfd_process *p =
		container_of(fence, struct kfd_eviction_fence, base)->process;

	queue_work(kfd_evict_wq, &p->eviction_work);
	return true;
}

static const struct dma_fence_ops kfd_eviction_fence_ops = {
	.get_driver_name = kfd_fence_driver_name,
	.get_timeline_name = kfd_fence_timeline_name,
	.enable_signaling = kfd_fence_enable_signaling,
};

/*
 * Replace the eviction fence and signal the old one. The caller holds queue_lock, and no queue of
 * the process is on the hardware.
 */
static void kfd_fence_replace(struct kfd_process *p,
			      struct kfd_eviction_fence *new)
{
	struct dma_fence *old = p->ef;

	lockdep_assert_held(&p->queue_lock);

	p->ef = new ? &new->base : NULL;
	if (old)
		dma_fence_signal(old);
	dma_fence_put(old);
}

/*
 * Replace the eviction fence with a new one, which no BO carries yet. The caller holds
 * kfd_process.mutex.
 */
static int kfd_fence_renew(struct kfd_process *p)
{
	struct amdkfd_process_info *info = p->kgd_process_info;
	struct kfd_eviction_fence *fence;
	bool cookie;

	lockdep_assert_held(&p->mutex);

	fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	if (!fence)
		return -ENOMEM;
	spin_lock_init(&fence->lock);
	fence->process = p;
	dma_fence_init(&fence->base, &kfd_eviction_fence_ops, &fence->lock,
		       info->fence_context, ++info->fence_seqno);
	/*
	 * Enter the signalling section before queue_lock, as kfd_eviction_work() does, because
	 * lockdep would report two different orders as a possible deadlock.
	 */
	cookie = dma_fence_begin_signalling();
	mutex_lock(&p->queue_lock);
	kfd_fence_replace(p, fence);
	mutex_unlock(&p->queue_lock);
	dma_fence_end_signalling(cookie);
	return 0;
}

/*
 * Take the process's queues off the hardware of every GPU: count one more reason in
 * kfd_process_device.evicted. The caller holds queue_lock.
 */
static void kfd_evict_all(struct kfd_process *p)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (!p->pdds[i]->evicted++)
			kfd_process_ops->sync_queues(p->pdds[i]);
}

/* Undo kfd_evict_all(). The caller holds queue_lock. */
static void kfd_restore_all(struct kfd_process *p)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (!WARN_ON_ONCE(!p->pdds[i]->evicted) &&
		    !--p->pdds[i]->evicted)
			kfd_process_ops->sync_queues(p->pdds[i]);
}

/*
 * restore_work needs no reference to @p: kfd_process_info_fini() cancels restore_work before @p is
 * freed.
 */
static void kfd_restore_schedule(struct kfd_process *p)
{
	unsigned int ms = READ_ONCE(p->kgd_process_info->restore_delay_ms);

	queue_delayed_work(kfd_restore_wq, &p->restore_work,
			   msecs_to_jiffies(ms));
}

/*
 * Take the queues off the hardware, schedule the restore and signal the eviction fence. The caller
 * holds queue_lock; p->ef is not NULL.
 */
static void kfd_evict_locked(struct kfd_process *p,
			     enum KFD_QUEUE_EVICTION_TRIGGERS why)
{
	struct amdkfd_process_info *info = p->kgd_process_info;

	lockdep_assert_held(&p->queue_lock);

	if (!info->evicted) {
		kfd_evict_all(p);
		WRITE_ONCE(info->evicted, true);
		kfd_timeslice_off(&info->timeslice, jiffies);
		vgpu_stat_add(p->pdds[0]->node->vdev, VGPU_STAT_PROCESS_EVICTIONS, 1);
		trace_vgpu_process_evict(p->lead_thread->pid);
		kfd_process_report_eviction(p, why);
	}
	kfd_restore_schedule(p);
	dma_fence_signal(p->ef);
}

/**
 * kfd_evict_now() - take a process's queues off the hardware, until all BOs are valid again
 * @info: BOs of the process; the caller needs no reference to the process
 * @why: trigger, for the SMI event
 *
 * Does nothing if the process is not resident.
 *
 * Context: process context, also in MMU notifiers and reclaim. Takes kfd_process.queue_lock, but no
 * reservation; does not allocate.
 */
void kfd_evict_now(struct amdkfd_process_info *info,
		   enum KFD_QUEUE_EVICTION_TRIGGERS why)
{
	struct kfd_process *p = info->process;
	bool cookie = dma_fence_begin_signalling();

	mutex_lock(&p->queue_lock);
	if (p->ef)
		kfd_evict_locked(p, why);
	mutex_unlock(&p->queue_lock);
	dma_fence_end_signalling(cookie);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_evict_now);

/*
 * Return true if a task waits for the newest eviction fence. If not, nothing is to be evicted:
 * eviction_work was queued for an older fence, which was signalled when a new fence replaced it.
 * The caller holds queue_lock.
 */
static bool kfd_evict_wanted(const struct kfd_process *p)
{
	return p->ef && test_bit(DMA_FENCE_FLAG_ENABLE_SIGNAL_BIT, &p->ef->flags);
}

/*
 * Take the queues off the hardware. Reclaim may wait for this, so take queue_lock only. Do not
 * allocate, and do not wait for a reservation or for the end of a time slice (kfd_timeslice.c).
 */
static void kfd_eviction_work(struct work_struct *work)
{
	struct kfd_process *p = container_of(work, struct kfd_process,
					     eviction_work);
	bool cookie = dma_fence_begin_signalling();

	mutex_lock(&p->queue_lock);
	if (kfd_evict_wanted(p))
		kfd_evict_locked(p, KFD_QUEUE_EVICTION_TRIGGER_TTM);
	mutex_unlock(&p->queue_lock);
	dma_fence_end_signalling(cookie);
}

/*
 * Put the queues on the hardware. Returns -EAGAIN if the newest eviction fence has signalled.
 * queue_lock prevents signalling until the queues are loaded.
 */
static int kfd_restore_queues(struct kfd_process *p)
{
	struct amdkfd_process_info *info = p->kgd_process_info;
	int ret = 0;

	mutex_lock(&p->queue_lock);
	if (kfd_evict_signalled(info)) {
		ret = -EAGAIN;
	} else {
		kfd_timeslice_end(&info->timeslice, jiffies, KFD_TIMESLICE_ON);
		WRITE_ONCE(info->evicted, false);
		kfd_restore_all(p);
		kfd_process_report_restore(p, true);
	}
	mutex_unlock(&p->queue_lock);
	return ret;
}

/* Wait for a slot of kfd_restore_order. */
static void kfd_restore_enter(struct kfd_process *p)
{
	struct kfd_restore_turn *turn = &p->kgd_process_info->turn;

	kfd_restore_turn_request(&kfd_restore_order, turn);
	kfd_restore_turn_wait(turn);
}

static void kfd_restore_leave(void)
{
	kfd_restore_turn_release(&kfd_restore_order);
}

/*
 * Look up changed pages of mapped user pointers. The caller holds kfd_process.mutex and a slot of
 * kfd_restore_order. This function releases the slot before the look-up, and takes a slot
 * afterwards.
 */
static int kfd_restore_find_pages(struct kfd_process *p)
{
	int ret;

	if (!kgd_mem_pages_missing(p))
		return 0;
	kfd_restore_leave();
	ret = kgd_mem_find_pages(p);
	kfd_restore_enter(p);
	return ret;
}

/*
 * Try once to restore BOs and queues, with kfd_process.mutex and a slot of kfd_restore_order held.
 * Returns -EAGAIN if the new eviction fence has signalled, or another error.
 */
static int kfd_restore_try(struct kfd_process *p)
{
	struct amdkfd_process_info *info = p->kgd_process_info;
	unsigned long off_at;
	int ret;

	WRITE_ONCE(info->restorer, current);
	ret = kfd_fence_renew(p);
	if (!ret)
		ret = kfd_restore_find_pages(p);
	/*
	 * From here on, evictions for other processes spare the BOs of this process
	 * (kfd_process_keeps()).
	 */
	kfd_timeslice_begin(&info->timeslice, jiffies);
	/* Once the queues run, an eviction may write off_at at any time. */
	off_at = info->timeslice.off_at;
	if (!ret)
		ret = kgd_mem_validate_all(p, true);
	if (!ret) {
		kfd_process_ops->map_wptrs(p);
		ret = kfd_restore_queues(p);
	}
	if (ret)
		kfd_timeslice_end(&info->timeslice, jiffies,
				  ret == -EAGAIN ? KFD_TIMESLICE_AGAIN : KFD_TIMESLICE_OFF);
	trace_vgpu_process_restore(p->lead_thread->pid, ret,
				   jiffies - info->timeslice.start,
				   jiffies - off_at);
	WRITE_ONCE(info->restorer, NULL);
	return ret;
}

/*
 * Take kfd_process.mutex and a slot of kfd_restore_order. Returns false, with neither held, if a
 * trylock of the mutex fails. After KFD_RESTORE_BUSY failed trylocks, sleeps on the mutex instead,
 * and returns true. Never sleeps on the mutex while holding a slot.
 */
static bool kfd_restore_lock(struct kfd_process *p)
{
	struct amdkfd_process_info *info = p->kgd_process_info;

	if (info->restore_busy >= KFD_RESTORE_BUSY) {
		mutex_lock(&p->mutex);
		kfd_restore_enter(p);
		return true;
	}
	kfd_restore_enter(p);
	if (mutex_trylock(&p->mutex))
		return true;
	kfd_restore_leave();
	info->restore_busy++;
	return false;
}

static void kfd_restore_work(struct work_struct *work)
{
	struct kfd_process *p = container_of(to_delayed_work(work),
					     struct kfd_process, restore_work);
	struct amdkfd_process_info *info = p->kgd_process_info;
	unsigned int tries = KFD_RESTORE_TRIES;
	int ret = 0;

	if (!kfd_restore_lock(p)) {
		queue_delayed_work(kfd_restore_wq, &p->restore_work,
				   msecs_to_jiffies(KFD_RESTORE_MS));
		return;
	}
	info->restore_busy = 0;
	/*
	 * Try again at once after -EAGAIN, because the next attempt need not copy the BOs that
	 * this attempt has copied to VRAM.
	 */
	do {
		/*
		 * Restore nothing during system sleep. In a process from a CRIU checkpoint, restore
		 * nothing before RESUME, because the process's memory may not exist yet.
		 */
		if (READ_ONCE(info->evicted) && !p->suspended &&
		    p->criu_state != KFD_CRIU_RESTORED)
			ret = kfd_restore_try(p);
	} while (ret == -EAGAIN && --tries);
	kfd_restore_turn_result(&info->turn, !ret);
	WRITE_ONCE(info->restore_delay_ms, !ret || ret == -EAGAIN ? KFD_RESTORE_MS :
		   min(2 * info->restore_delay_ms, KFD_RESTORE_MAX_MS));
	if (ret) {
		kfd_process_report_restore(p, false);
		kfd_restore_schedule(p);
	}
	mutex_unlock(&p->mutex);
	kfd_restore_leave();
}

/**
 * kfd_process_keeps() - whether an eviction has to spare a BO of a process with queues
 * @info: BOs of the process
 * @mem_type: TTM_PL_* of the BO
 *
 * The first of the cases below that applies decides.
 *
 * Context: atomic.
 *
 * Return:
 * * false if kfd_timeslice.state is KFD_TIMESLICE_OFF
 * * if @mem_type is TTM_PL_VRAM, and the current task does not run kfd_restore_work(): true until
 *   kfd_timeslice.active_until, but false if the state is KFD_TIMESLICE_AGAIN
 * * true if kfd_timeslice.state is KFD_TIMESLICE_RESTORING
 * * true until kfd_timeslice.slice_until otherwise
 */
bool kfd_process_keeps(struct amdkfd_process_info *info, u32 mem_type)
{
	struct work_struct *work = current_work();
	bool back = work && work->func == kfd_restore_work;

	return kfd_timeslice_keeps(&info->timeslice, jiffies, mem_type, back);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_keeps);

/**
 * kfd_process_kept() - how long kfd_process_keeps() will spare VRAM of a process
 * @info: BOs of the process
 *
 * Context: atomic.
 *
 * Return: jiffies until an allocation may evict the process's BOs from VRAM, or 0 if it may do
 * so now.
 */
unsigned long kfd_process_kept(struct amdkfd_process_info *info)
{
	return kfd_timeslice_left(&info->timeslice, jiffies);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_kept);

/**
 * kfd_process_is_own() - whether the current task acts for a process
 * @info: BOs of the process
 *
 * Context: any.
 *
 * Return: true in threads of the process, in the process's restore_work, and in the task that
 * kfd_process_set_migrating() has set.
 */
bool kfd_process_is_own(struct amdkfd_process_info *info)
{
	struct kfd_process *p = info->process;

	return current->mm == p->mm || READ_ONCE(info->restorer) == current ||
	       READ_ONCE(info->migrating_task) == current;
}

/**
 * kfd_process_set_migrating() - set the task that moves pages of a process to VRAM
 * @p: process
 * @task: the task, or NULL when the migration has ended
 *
 * Allocations of @task do not evict BOs of @p: see kfd_process_is_own().
 *
 * Context: svm_range_list.lock is held, so only one task of the process migrates at a time.
 */
void kfd_process_set_migrating(struct kfd_process *p, struct task_struct *task)
{
	WRITE_ONCE(p->kgd_process_info->migrating_task, task);
}

/**
 * kfd_evict_fence_add() - add the eviction fence to a BO that is mapped or about to be mapped
 * @info: BOs of the process
 * @bo: BO
 *
 * Does nothing for a process that is not resident.
 *
 * Context: kfd_process.mutex and the reservation of @bo are held.
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_evict_fence_add(struct amdkfd_process_info *info, struct vgpu_bo *bo)
{
	struct kfd_process *p = info->process;
	struct dma_resv *resv = bo->tbo.base.resv;
	int ret;

	lockdep_assert_held(&p->mutex);

	if (!info->resident)
		return 0;
	ret = dma_resv_reserve_fences(resv, 1);
	/* With the usage BOOKKEEP, only evictions wait for the fence. */
	if (!ret)
		dma_resv_add_fence(resv, p->ef, DMA_RESV_USAGE_BOOKKEEP);
	return ret;
}

/**
 * kfd_evict_signalled() - whether the newest eviction fence has signalled
 * @info: BOs of a resident process
 *
 * Context: kfd_process.mutex is held.
 *
 * Return: true if the fence has signalled. Then evictions do not wait for the process any more, and
 * may move the BOs at any time.
 */
bool kfd_evict_signalled(struct amdkfd_process_info *info)
{
	struct kfd_process *p = info->process;

	lockdep_assert_held(&p->mutex);

	return dma_fence_is_signaled(p->ef);
}

/**
 * kfd_evict_fence_remove() - remove the eviction fence from a BO that is not mapped any more
 * @info: BOs of the process
 * @bo: BO
 *
 * Context: kfd_process.mutex and the reservation of @bo are held.
 */
void kfd_evict_fence_remove(struct amdkfd_process_info *info,
			    struct vgpu_bo *bo)
{
	struct dma_fence *stub = dma_fence_get_stub();

	dma_resv_replace_fences(bo->tbo.base.resv, info->fence_context, stub,
				DMA_RESV_USAGE_BOOKKEEP);
	dma_fence_put(stub);
}

/**
 * kfd_process_make_resident() - validate all mapped BOs, before the first queue of a process
 * @p: process
 *
 * After success, an eviction of one of these BOs takes the queues off the hardware first.
 *
 * Context: kfd_process.mutex is held; sleeps.
 *
 * Return: 0, -ENOMEM, or an error of kgd_mem_find_pages() or kgd_mem_validate_all(). After an
 * error the process is not resident.
 */
int kfd_process_make_resident(struct kfd_process *p)
{
	struct amdkfd_process_info *info = p->kgd_process_info;
	int ret;

	lockdep_assert_held(&p->mutex);

	if (info->resident)
		return 0;
	/* The process has no fence, so no other task writes info->timeslice now. */
	mutex_lock(&p->queue_lock);
	kfd_timeslice_off(&info->timeslice, jiffies);
	mutex_unlock(&p->queue_lock);
	ret = kfd_fence_renew(p);
	if (ret)
		return ret;
	/*
	 * Set info->resident before kgd_mem_validate_all() reserves the BOs. Otherwise
	 * kfd_evict_fence_add() would add no fence, and an eviction of a BO would not take the
	 * queues off the hardware.
	 */
	WRITE_ONCE(info->resident, true);
	ret = kgd_mem_find_pages(p);
	kfd_timeslice_begin(&info->timeslice, jiffies);
	if (!ret)
		ret = kgd_mem_validate_all(p, false);
	if (ret) {
		kfd_process_release_resident(p);
		return ret;
	}
	mutex_lock(&p->queue_lock);
	/*
	 * If the process was evicted after kfd_fence_renew(), the queues must not run yet. In this
	 * case, tell kfd_timeslice_end() that the restore failed. The process gets no time slice.
	 */
	kfd_timeslice_end(&info->timeslice, jiffies,
			  info->evicted ? KFD_TIMESLICE_OFF : KFD_TIMESLICE_ON);
	mutex_unlock(&p->queue_lock);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_make_resident);

/**
 * kfd_process_release_resident() - let the BOs of a process without queues be evicted freely
 * @p: process whose last queue has been destroyed
 *
 * Context: kfd_process.mutex is held. Takes kfd_process.queue_lock.
 */
void kfd_process_release_resident(struct kfd_process *p)
{
	struct amdkfd_process_info *info = p->kgd_process_info;
	bool cookie;

	lockdep_assert_held(&p->mutex);

	cookie = dma_fence_begin_signalling();
	mutex_lock(&p->queue_lock);
	kfd_fence_replace(p, NULL);
	WRITE_ONCE(info->resident, false);
	kfd_timeslice_off(&info->timeslice, jiffies);
	if (info->evicted) {
		WRITE_ONCE(info->evicted, false);
		kfd_restore_all(p);
	}
	mutex_unlock(&p->queue_lock);
	dma_fence_end_signalling(cookie);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_release_resident);

/**
 * kfd_evict_resume() - start the restore of an evicted process without delay
 * @info: BOs of the process
 *
 * Called at the end of a system sleep or of the state KFD_CRIU_RESTORED. Until then, restore_work
 * has restored nothing, and has not queued itself again.
 *
 * Context: kfd_process.mutex is held.
 */
void kfd_evict_resume(struct amdkfd_process_info *info)
{
	struct kfd_process *p = info->process;

	lockdep_assert_held(&p->mutex);

	if (READ_ONCE(info->evicted))
		mod_delayed_work(kfd_restore_wq, &p->restore_work, 0);
}

/**
 * kfd_process_info_init() - allocate kgd_process_info, and initialise the work items of eviction
 * @p: new process
 *
 * Context: sleeps.
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_process_info_init(struct kfd_process *p)
{
	struct amdkfd_process_info *info = kzalloc(sizeof(*info), GFP_KERNEL);

	if (!info)
		return -ENOMEM;
	info->process = p;
	INIT_LIST_HEAD(&info->kfd_bo_list);
	kfd_restore_turn_init(&info->turn);
	INIT_WORK(&p->eviction_work, kfd_eviction_work);
	INIT_DELAYED_WORK(&p->restore_work, kfd_restore_work);
	info->fence_context = dma_fence_context_alloc(1);
	info->restore_delay_ms = KFD_RESTORE_MS;
	p->kgd_process_info = info;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_info_init);

/**
 * kfd_process_info_fini() - cancel the work items of eviction
 * @p: process that is not resident
 *
 * Waits for eviction_work and restore_work.
 *
 * Context: sleeps; kfd_process.mutex is not held.
 */
void kfd_process_info_fini(struct kfd_process *p)
{
	WARN_ON_ONCE(p->kgd_process_info->resident);
	cancel_work_sync(&p->eviction_work);
	cancel_delayed_work_sync(&p->restore_work);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_info_fini);

/**
 * kfd_process_info_free() - free kgd_process_info
 * @p: process without references
 *
 * Separate from kfd_process_info_fini(), because notifiers of user pointers may use
 * kgd_process_info between the two calls.
 *
 * Context: any.
 */
void kfd_process_info_free(struct kfd_process *p)
{
	/* No RCU grace period: a lookup that still finds @p does not use kgd_process_info. */
	kfree(p->kgd_process_info);
	p->kgd_process_info = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_info_free);

/**
 * kfd_process_evict_queues() - take a process's queues off the hardware of a GPU
 * @pdd: state of the process on the GPU
 *
 * Each call needs one kfd_process_restore_queues(). On return the queues access no memory.
 *
 * Context: process context, also in MMU notifiers. Takes kfd_process.queue_lock; does not allocate.
 *
 * Return: 0, or -ETIME (logged) if a queue was not preempted in time and counts as stopped.
 */
int kfd_process_evict_queues(struct kfd_process_device *pdd)
{
	struct kfd_process *p = pdd->process;
	int ret = 0;

	mutex_lock(&p->queue_lock);
	if (!pdd->evicted++)
		ret = kfd_process_ops->sync_queues(pdd);
	mutex_unlock(&p->queue_lock);
	return ret;
}

/**
 * kfd_process_restore_queues() - undo one kfd_process_evict_queues()
 * @pdd: state of the process on the GPU
 *
 * The call that undoes the last eviction puts the queues back on the hardware.
 *
 * Context: process context, also in MMU notifiers. Takes kfd_process.queue_lock; does not allocate.
 *
 * Return: 0, or -ETIME if the hardware did not start a queue in time.
 */
int kfd_process_restore_queues(struct kfd_process_device *pdd)
{
	struct kfd_process *p = pdd->process;
	int ret = 0;

	mutex_lock(&p->queue_lock);
	if (!WARN_ON_ONCE(!pdd->evicted) && !--pdd->evicted)
		ret = kfd_process_ops->sync_queues(pdd);
	mutex_unlock(&p->queue_lock);
	return ret;
}

/**
 * kfd_evict_init() - create the workqueues of eviction and restore, and the order of restores
 *
 * Context: module init, before the first process.
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_evict_init(void)
{
	kfd_restore_order_init(&kfd_restore_order, KFD_RESTORE_ACTIVE);
	/* The workqueue has WQ_MEM_RECLAIM, because reclaim may wait for an eviction fence. */
	kfd_evict_wq = alloc_workqueue("kfd_evict_wq",
				       WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM,
				       0);
	if (!kfd_evict_wq)
		return -ENOMEM;
	kfd_restore_wq = alloc_workqueue("kfd_restore_wq",
					 WQ_UNBOUND | WQ_HIGHPRI |
					 WQ_FREEZABLE, WQ_MAX_ACTIVE);
	if (!kfd_restore_wq) {
		destroy_workqueue(kfd_evict_wq);
		return -ENOMEM;
	}
	return 0;
}

/**
 * kfd_evict_exit() - undo kfd_evict_init()
 *
 * Context: module exit, after the last process.
 */
void kfd_evict_exit(void)
{
	destroy_workqueue(kfd_restore_wq);
	destroy_workqueue(kfd_evict_wq);
}
