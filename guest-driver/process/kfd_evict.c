// SPDX-License-Identifier: GPL-2.0
/*
 * Eviction of a process from its memory, and its return.
 *
 * DOC: eviction fence
 *
 * User queues are no jobs that end: whoever wants the memory of a BO that they
 * may touch has to stop them. So each BO that a process with queues has mapped
 * carries the process's eviction fence (usage BOOKKEEP: nobody else waits for
 * it). The first to wait for it has eviction_work take all queues of the process
 * off the hardware and signal the fence, at once: that takes as long as the hardware
 * takes to preempt the queues, and waits for no allocation, reservation or policy. Some
 * time later restore_work brings every mapped BO to a place again, each with a new
 * fence, and puts the queues back; if the new fence has signalled meanwhile, it tries
 * again. Whose memory is taken, so that all get on, is decided before anybody waits for
 * a fence: kfd_timeslice.c.
 *
 *	make resident ──► queues run ──► somebody waits for the fence
 *	                      ▲                      │ eviction_work: queues off,
 *	                      │                      ▼ fence signalled
 *	   queues on ◄── restore_work ◄───────── evicted
 *
 * eviction_work is what memory waits for: it takes queue_lock only. Queues are
 * on the hardware only while the newest fence is on all mapped BOs and has not
 * signalled; queue_lock makes that one step with loading them. A process never
 * evicts itself (kgd_mem_evict_ok()): it would wait for what it is about to
 * use.
 */
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <kunit/visibility.h>

#include "mm/vgpu_bo.h"
#include "kfd_evict.h"
#include "kfd_mem.h"
#include "kfd_node.h"
#include "kfd_process.h"
#include "kfd_process_trace.h"
#include "kfd_timeslice.h"

#define KFD_RESTORE_MS		10u
#define KFD_RESTORE_MAX_MS	640u
/*
 * Processes on their way back at a time, those first that have been away
 * longest. Each is kept from the memory of the others.
 */
#define KFD_RESTORE_ACTIVE	3
/* Attempts, until the slot goes to another process. */
#define KFD_RESTORE_TRIES	4u
/* Attempts to get a mutex, before restore_work waits for it: some 150 ms. */
#define KFD_RESTORE_BUSY	16u

static struct workqueue_struct *kfd_evict_wq;
static struct workqueue_struct *kfd_restore_wq;
/*
 * Slots for processes that are being restored, granted in FIFO order. restore_work holds
 * no slot while it waits for what a process can hold for any time: kfd_process.mutex,
 * mmap_lock, page-ins.
 */
static DEFINE_SEMAPHORE(kfd_restore_slots, KFD_RESTORE_ACTIVE);

/**
 * struct kfd_eviction_fence - see above
 * @base: first, since the default release frees the structure by it
 * @lock: the fence's
 * @process: whose; alive until the fence has signalled
 */
struct kfd_eviction_fence {
	struct dma_fence base;
	spinlock_t lock;	/* fence */
	struct kfd_process *process;
};

static_assert(!offsetof(struct kfd_eviction_fence, base));

static struct kfd_process *info_process(struct amdkfd_process_info *info)
{
	return container_of(info, struct kfd_process, kgd_process_info);
}

static const char *kfd_fence_driver_name(struct dma_fence *fence)
{
	return "vgpu_kfd";
}

static const char *kfd_fence_timeline_name(struct dma_fence *fence)
{
	return "kfd_eviction";
}

/* Any context, the fence's lock held. */
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

/* queue_lock held; no queue is on the hardware, or the process has none. */
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

/* A fence that no BO has yet. kfd_process.mutex held. */
static int kfd_fence_renew(struct kfd_process *p)
{
	struct amdkfd_process_info *info = &p->kgd_process_info;
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
	/* For lockdep, as kfd_eviction_work() has it: signalling is outside. */
	cookie = dma_fence_begin_signalling();
	mutex_lock(&p->queue_lock);
	kfd_fence_replace(p, fence);
	mutex_unlock(&p->queue_lock);
	dma_fence_end_signalling(cookie);
	return 0;
}

/* queue_lock held. */
static void kfd_evict_all(struct kfd_process *p)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (!p->pdds[i]->evicted++)
			kfd_process_ops->sync_queues(p->pdds[i]);
}

/* queue_lock held. */
static void kfd_restore_all(struct kfd_process *p)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (!WARN_ON_ONCE(!p->pdds[i]->evicted) &&
		    !--p->pdds[i]->evicted)
			kfd_process_ops->sync_queues(p->pdds[i]);
}

static void kfd_restore_schedule(struct kfd_process *p)
{
	unsigned int ms = READ_ONCE(p->kgd_process_info.restore_delay_ms);

	queue_delayed_work(kfd_restore_wq, &p->restore_work,
			   msecs_to_jiffies(ms));
}

/* queue_lock held; there is an eviction fence. */
static void kfd_evict_locked(struct kfd_process *p,
			     enum KFD_QUEUE_EVICTION_TRIGGERS why)
{
	struct amdkfd_process_info *info = &p->kgd_process_info;

	lockdep_assert_held(&p->queue_lock);

	if (!info->evicted) {
		kfd_evict_all(p);
		WRITE_ONCE(info->evicted, true);
		kfd_timeslice_off(&info->timeslice);
		info->evicted_at = jiffies;
		vgpu_stat_add(p->pdds[0]->node->vdev, VGPU_STAT_PROCESS_EVICTIONS, 1);
		trace_vgpu_process_evict(p->lead_thread->pid);
		kfd_process_report_eviction(p, why);
	}
	kfd_restore_schedule(p);
	dma_fence_signal(p->ef);
}

/*
 * Memory waits for this: no allocation, no reservation, no process mutex. Also
 * called by MMU notifiers without a reference to the process: restore_work is queued
 * under queue_lock, so never after kfd_process_release_resident(), and
 * kfd_process_info_fini() finds it.
 */
void kfd_evict_now(struct amdkfd_process_info *info,
		   enum KFD_QUEUE_EVICTION_TRIGGERS why)
{
	struct kfd_process *p = info_process(info);
	bool cookie = dma_fence_begin_signalling();

	mutex_lock(&p->queue_lock);
	if (p->ef)
		kfd_evict_locked(p, why);
	mutex_unlock(&p->queue_lock);
	dma_fence_end_signalling(cookie);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_evict_now);

/*
 * Does somebody wait for the newest eviction fence? The one that eviction_work was queued
 * for may have signalled otherwise, and the process be back with another. queue_lock held.
 */
static bool kfd_evict_wanted(const struct kfd_process *p)
{
	return p->ef && test_bit(DMA_FENCE_FLAG_ENABLE_SIGNAL_BIT, &p->ef->flags);
}

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

/* 0, or -EAGAIN: somebody wants the memory already. */
static int kfd_restore_queues(struct kfd_process *p)
{
	struct amdkfd_process_info *info = &p->kgd_process_info;
	int ret = 0;

	mutex_lock(&p->queue_lock);
	if (kfd_evict_signalled(info)) {
		ret = -EAGAIN;
	} else {
		kfd_timeslice_end(&info->timeslice, jiffies, true);
		WRITE_ONCE(info->evicted, false);
		kfd_restore_all(p);
		kfd_process_report_restore(p, true);
	}
	mutex_unlock(&p->queue_lock);
	return ret;
}

/* Interruptible, so that a long wait is not reported as a hung task; no signals here. */
static void kfd_restore_enter(void)
{
	while (down_interruptible(&kfd_restore_slots))
		;
}

static void kfd_restore_leave(void)
{
	up(&kfd_restore_slots);
}

/* kfd_process.mutex and a slot held; the slot is released meanwhile. */
static int kfd_restore_find_pages(struct kfd_process *p)
{
	int ret;

	if (!kgd_mem_pages_missing(p))
		return 0;
	kfd_restore_leave();
	ret = kgd_mem_find_pages(p);
	kfd_restore_enter();
	return ret;
}

/* kfd_process.mutex and a slot held. 0, -EAGAIN as above, -ENOMEM, … */
static int kfd_restore_try(struct kfd_process *p)
{
	struct amdkfd_process_info *info = &p->kgd_process_info;
	int ret;

	WRITE_ONCE(info->restorer, current);
	ret = kfd_fence_renew(p);
	if (!ret)
		ret = kfd_restore_find_pages(p);
	/* From here on the process keeps its memory from others. */
	kfd_timeslice_begin(&info->timeslice, jiffies);
	if (!ret)
		ret = kgd_mem_validate_all(p, true);
	if (!ret) {
		kfd_process_ops->map_wptrs(p);
		ret = kfd_restore_queues(p);
	}
	if (ret)
		kfd_timeslice_end(&info->timeslice, jiffies, false);
	trace_vgpu_process_restore(p->lead_thread->pid, ret,
				   jiffies - info->timeslice.start,
				   jiffies - info->evicted_at);
	WRITE_ONCE(info->restorer, NULL);
	return ret;
}

/*
 * Get a slot and kfd_process.mutex. With a slot the mutex is only tried. The slot is
 * waited for with the mutex held if the mutex was busy each time.
 *
 * Return: false if the mutex is busy; neither is held.
 */
static bool kfd_restore_lock(struct kfd_process *p)
{
	struct amdkfd_process_info *info = &p->kgd_process_info;

	if (info->restore_busy >= KFD_RESTORE_BUSY) {
		mutex_lock(&p->mutex);
		kfd_restore_enter();
		return true;
	}
	kfd_restore_enter();
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
	struct amdkfd_process_info *info = &p->kgd_process_info;
	unsigned int tries = KFD_RESTORE_TRIES;
	int ret = 0;

	if (!kfd_restore_lock(p)) {
		queue_delayed_work(kfd_restore_wq, &p->restore_work,
				   msecs_to_jiffies(KFD_RESTORE_MS));
		return;
	}
	info->restore_busy = 0;
	/* What is in its place already costs the next attempt nothing. */
	do {
		/*
		 * Nothing comes back before the system's sleep is over, or
		 * before the memory of a restored process is there.
		 */
		if (READ_ONCE(info->evicted) && !p->suspended &&
		    p->criu_state != KFD_CRIU_RESTORED)
			ret = kfd_restore_try(p);
	} while (ret == -EAGAIN && --tries);
	info->restore_delay_ms = !ret || ret == -EAGAIN ? KFD_RESTORE_MS :
				 min(2 * info->restore_delay_ms,
				     KFD_RESTORE_MAX_MS);
	if (ret) {
		kfd_process_report_restore(p, false);
		kfd_restore_schedule(p);
	}
	mutex_unlock(&p->mutex);
	kfd_restore_leave();
}

bool kfd_process_keeps(struct amdkfd_process_info *info, u32 mem_type)
{
	struct work_struct *work = current_work();
	bool back = work && work->func == kfd_restore_work;

	return kfd_timeslice_keeps(&info->timeslice, jiffies, mem_type, back);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_keeps);

unsigned long kfd_process_kept(struct amdkfd_process_info *info)
{
	return kfd_timeslice_left(&info->timeslice, jiffies);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_kept);

bool kfd_process_is_own(struct amdkfd_process_info *info)
{
	struct kfd_process *p = info_process(info);

	return current->mm == p->mm || READ_ONCE(info->restorer) == current ||
	       READ_ONCE(info->migrating_task) == current;
}

/**
 * kfd_process_set_migrating() - say which task moves pages of a process to VRAM
 * @p: process
 * @task: the task, or NULL when the migration has ended
 *
 * What @task allocates does not evict the BOs of the process itself: see
 * kfd_process_is_own().
 *
 * Context: svm_range_list.lock is held, so there is one task at a time.
 */
void kfd_process_set_migrating(struct kfd_process *p, struct task_struct *task)
{
	WRITE_ONCE(p->kgd_process_info.migrating_task, task);
}

int kfd_evict_fence_add(struct amdkfd_process_info *info, struct vgpu_bo *bo)
{
	struct kfd_process *p = info_process(info);
	struct dma_resv *resv = bo->tbo.base.resv;
	int ret;

	lockdep_assert_held(&p->mutex);

	if (!info->resident)
		return 0;
	ret = dma_resv_reserve_fences(resv, 1);
	if (!ret)
		dma_resv_add_fence(resv, p->ef, DMA_RESV_USAGE_BOOKKEEP);
	return ret;
}

bool kfd_evict_signalled(struct amdkfd_process_info *info)
{
	struct kfd_process *p = info_process(info);

	lockdep_assert_held(&p->mutex);

	return dma_fence_is_signaled(p->ef);
}

void kfd_evict_fence_remove(struct amdkfd_process_info *info,
			    struct vgpu_bo *bo)
{
	struct dma_fence *stub = dma_fence_get_stub();

	dma_resv_replace_fences(bo->tbo.base.resv, info->fence_context, stub,
				DMA_RESV_USAGE_BOOKKEEP);
	dma_fence_put(stub);
}

int kfd_process_make_resident(struct kfd_process *p)
{
	struct amdkfd_process_info *info = &p->kgd_process_info;
	int ret;

	lockdep_assert_held(&p->mutex);

	if (info->resident)
		return 0;
	ret = kfd_fence_renew(p);
	if (ret)
		return ret;
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
	/* Who has asked for the memory meanwhile has it. */
	kfd_timeslice_end(&info->timeslice, jiffies, !info->evicted);
	mutex_unlock(&p->queue_lock);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_make_resident);

void kfd_process_release_resident(struct kfd_process *p)
{
	struct amdkfd_process_info *info = &p->kgd_process_info;
	bool cookie;

	lockdep_assert_held(&p->mutex);

	cookie = dma_fence_begin_signalling();
	mutex_lock(&p->queue_lock);
	kfd_fence_replace(p, NULL);
	WRITE_ONCE(info->resident, false);
	kfd_timeslice_off(&info->timeslice);
	if (info->evicted) {
		WRITE_ONCE(info->evicted, false);
		kfd_restore_all(p);
	}
	mutex_unlock(&p->queue_lock);
	dma_fence_end_signalling(cookie);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_release_resident);

void kfd_evict_resume(struct amdkfd_process_info *info)
{
	struct kfd_process *p = info_process(info);

	lockdep_assert_held(&p->mutex);

	if (READ_ONCE(info->evicted))
		mod_delayed_work(kfd_restore_wq, &p->restore_work, 0);
}

void kfd_process_info_init(struct kfd_process *p)
{
	struct amdkfd_process_info *info = &p->kgd_process_info;

	INIT_LIST_HEAD(&info->kfd_bo_list);
	INIT_WORK(&p->eviction_work, kfd_eviction_work);
	INIT_DELAYED_WORK(&p->restore_work, kfd_restore_work);
	info->fence_context = dma_fence_context_alloc(1);
	info->restore_delay_ms = KFD_RESTORE_MS;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_info_init);

void kfd_process_info_fini(struct kfd_process *p)
{
	WARN_ON_ONCE(p->kgd_process_info.resident);
	cancel_work_sync(&p->eviction_work);
	cancel_delayed_work_sync(&p->restore_work);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_info_fini);

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

int kfd_evict_init(void)
{
	/* Reclaim may wait for a fence. */
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

void kfd_evict_exit(void)
{
	destroy_workqueue(kfd_restore_wq);
	destroy_workqueue(kfd_evict_wq);
}
