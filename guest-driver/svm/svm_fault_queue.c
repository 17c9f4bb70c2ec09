// SPDX-License-Identifier: GPL-2.0
/*
 * Queues faults between the interrupt handler and the workers. Each process has workqueues of its
 * own (svm_wqs_init()), so a process can delay only its own faults. Faults that belong to no
 * process are handled by a worker of the GPU (svm_node.wq).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "hw/vgpu_ih.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "svm.h"
#include "svm_fault.h"
#include "svm_fault_ahead.h"
#include "svm_fault_queue.h"
#include "svm_map.h"
#include "svm_node.h"
#include "svm_range.h"
#include "svm_trace.h"

/*
 * Sleep of the worker before it acknowledges a fault that could not be repaired for lack of memory,
 * in microseconds.
 */
#define SVM_FAULT_BACKOFF_US	10000u

/* Return true if the IH entry of @b repeats the entry of @a. */
static bool svm_fault_same(const struct svm_fault *a, const struct svm_fault *b)
{
	return a->retry == b->retry && a->cam == b->cam &&
	       a->pasid == b->pasid && a->vmid == b->vmid &&
	       a->page == b->page && a->serial == b->serial;
}

/*
 * Return the element of svm_node.slots or of @q->reports in which to store a fault, or NULL if no
 * element is free. The caller holds svm_node.fault_lock.
 */
static struct svm_fault *svm_fault_slot(struct svm_fault_queue *q,
					const struct svm_fault *f)
{
	struct svm_node *sn = q->node->svm;
	unsigned int i;

	if (f->retry)
		return f->cam < VGPU_RETRY_CAM_SLOTS ? &sn->slots[f->cam] : NULL;
	for (i = 0; i < SVM_FAULT_REPORTS; i++)
		if (list_empty(&q->reports[i].link))
			return &q->reports[i];
	return NULL;
}

/*
 * Add a fault to @q->pending. Called in hard interrupt context.
 *
 * Return: true if the caller must call svm_fault_start(). False if the worker is scheduled already,
 * or the fault is known already, or dropped.
 */
static bool svm_fault_add(struct svm_fault_queue *q, const struct svm_fault *f)
{
	struct vgpu_device *vdev = q->node->vdev;
	struct svm_node *sn = q->node->svm;
	struct svm_fault *slot;
	bool waits = false;
	bool known = false;
	bool start = false;

	spin_lock(&sn->fault_lock);
	slot = svm_fault_slot(q, f);
	if (slot) {
		waits = !list_empty(&slot->link);
		known = (waits && svm_fault_same(slot, f)) ||
			(q->serving && svm_fault_same(q->serving, f));
	}
	if (slot && !known) {
		/*
		 * If another fault with this CAM slot is queued, replace that fault: a reset or a
		 * ring overflow must have freed the slot after that fault was queued.
		 */
		if (waits)
			list_del(&slot->link);
		*slot = *f;
		list_add_tail(&slot->link, &q->pending);
		if (f->retry)
			svm_cam_own(q, f);
		start = !q->scheduled;
		q->scheduled = true;
	}
	spin_unlock(&sn->fault_lock);

	/*
	 * If this entry repeats (@known) or replaces (@waits) an earlier fault, one acknowledgment
	 * answers both. So count only the earlier fault.
	 */
	if (!waits && !known)
		vgpu_stat_add(vdev, f->retry ? VGPU_STAT_FAULTS_RETRY :
					       VGPU_STAT_FAULTS_NORETRY, 1);
	/* Log a dropped report only if it belongs to a process or to the kernel. */
	if (!slot && (q->svms || !f->pasid))
		dev_warn_ratelimited(vdev->drm.dev,
				     "fault report lost, pasid %u\n", f->pasid);
	return start;
}

/**
 * svm_fault_cpu_idle() - whether a worker that is queued on this CPU can start at once
 *
 * Context: hard interrupt context.
 *
 * Return: true if the interrupt has come while the CPU was idle, and no task waits for the CPU.
 */
bool svm_fault_cpu_idle(void)
{
	KUNIT_STATIC_STUB_REDIRECT(svm_fault_cpu_idle);
	return is_idle_task(current) && !need_resched();
}
EXPORT_SYMBOL_IF_KUNIT(svm_fault_cpu_idle);

/*
 * Let a worker run svm_fault_run(). Only one caller at a time: the one that has set @q->scheduled.
 *
 * If this CPU was idle, the worker runs here. The scheduler would place a worker that is not bound
 * to a CPU on the CPU of its last run, even if that CPU sleeps, too: the engine would wait for two
 * CPUs to wake up. On a busy CPU, a bound worker might wait for the running task, a real-time task
 * for example. So let the scheduler choose the CPU then.
 */
static void svm_fault_start(struct svm_fault_queue *q)
{
	if (q->local_wq && svm_fault_cpu_idle())
		queue_work(q->local_wq, &q->local_work);
	else
		queue_work(q->wq, &q->work);
}

/*
 * Return the queue of @p on the GPU. If @p is NULL, or was created without the GPU, return the
 * queue of faults that belong to no process.
 */
static struct svm_fault_queue *svm_fault_queue_of(struct kfd_node *node,
						  struct kfd_process *p)
{
	int gpu = p ? kfd_process_gpuidx(p, node->vdev) : -1;

	return gpu < 0 ? &node->svm->faults : &p->svms->gpus[gpu].faults;
}

/* Interrupt handler of fault entries. Called in hard interrupt context. */
static void svm_fault_irq(struct vgpu_device *vdev,
			  const struct vgpu_iv_entry *iv, void *arg)
{
	struct kfd_node *node = arg;
	struct svm_fault_queue *q;
	struct kfd_process *p;
	struct svm_fault f;

	svm_fault_decode(&f, iv);
	/* Retry faults of VMID 0 are handled in hw/sdma/vgpu_sdma_fault.c. */
	if (f.retry && !f.vmid && iv->mm_hub)
		return;
	p = kfd_lookup_process_by_pasid(f.pasid);
	q = svm_fault_queue_of(node, p);
	if (svm_fault_add(q, &f)) {
		svm_fault_start(q);
		/*
		 * The worker takes over the reference to the process. The worker of svm_node.faults
		 * (q->svms is NULL) holds no reference.
		 */
		if (q->svms)
			return;
	}
	if (p)
		kfd_unref_process(p);
}

/* The repair of fault @by has mapped @win. Return true if this also allows the access of @f. */
static bool svm_fault_covered(const struct svm_fault *f,
			      const struct svm_fault *by,
			      const struct svm_interval *win)
{
	return f->retry && svm_interval_has(*win, f->page) &&
	       (by->write || !f->write);
}

static void svm_fault_trace(const struct svm_fault_queue *q, const struct svm_fault *f)
{
	trace_svm_fault(q->node->gpu_id, f->pasid, f->vmid, f->page,
			f->write, f->retry, f->serial, f->cam, f->ts);
}

/*
 * The service of a fault has ended: its CAM slot belongs to no fault queue any more. The caller
 * holds svm_node.fault_lock, and acknowledges the slots of the returned mask: the slot of @f,
 * unless svm_cam_work() has acknowledged it.
 */
static unsigned long svm_fault_release(struct svm_fault_queue *q, const struct svm_fault *f)
{
	svm_cam_disown(q, f);
	if (q->serving == f)
		q->serving = NULL;
	return f->acked ? 0 : BIT(f->cam);
}

/*
 * Take the faults that svm_fault_covered() accepts from @list. Returns the mask of their slots; the
 * duties of the caller are those of svm_fault_release().
 */
static unsigned long svm_fault_release_covered(struct svm_fault_queue *q, struct list_head *list,
					       const struct svm_fault *by,
					       const struct svm_interval *win)
{
	struct svm_fault *f, *next;
	unsigned long slots = 0;

	list_for_each_entry_safe(f, next, list, link) {
		if (!svm_fault_covered(f, by, win))
			continue;
		list_del_init(&f->link);
		svm_fault_trace(q, f);
		slots |= svm_fault_release(q, f);
	}
	return slots;
}

/**
 * svm_fault_ack() - acknowledge a retry fault, and those that its repair has resolved
 * @q: fault queue
 * @f: fault whose service has ended
 * @win: pages that the repair has mapped, or NULL if the fault was not repaired
 *
 * A queue that replays its access may fault again at once. Interrupts stay disabled between the
 * acknowledgments, so that one interrupt reports these faults, and the worker takes them in one
 * batch.
 *
 * Context: worker of @q; enables interrupts.
 */
void svm_fault_ack(struct svm_fault_queue *q, const struct svm_fault *f,
		   const struct svm_interval *win)
{
	struct vgpu_device *vdev = q->node->vdev;
	struct svm_node *sn = q->node->svm;
	unsigned long slots, covered = 0;
	unsigned int cam;

	spin_lock_irq(&sn->fault_lock);
	slots = svm_fault_release(q, f);
	if (win) {
		covered = svm_fault_release_covered(q, &q->batch, f, win);
		/* Faults that have arrived during the repair. */
		covered |= svm_fault_release_covered(q, &q->pending, f, win);
	}
	spin_unlock(&sn->fault_lock);
	if (covered)
		vgpu_stat_add(vdev, VGPU_STAT_FAULTS_COVERED, hweight_long(covered));
	slots |= covered;
	for_each_set_bit(cam, &slots, VGPU_RETRY_CAM_SLOTS)
		vgpu_ih_cam_ack(vdev, cam);
	local_irq_enable();
}
EXPORT_SYMBOL_IF_KUNIT(svm_fault_ack);

/* Move the next fault from @q->batch into @f. Returns false if there is none. */
static bool svm_fault_take(struct svm_fault_queue *q, struct svm_fault *f)
{
	struct svm_node *sn = q->node->svm;
	struct svm_fault *slot;

	spin_lock_irq(&sn->fault_lock);
	slot = list_first_entry_or_null(&q->batch, struct svm_fault, link);
	if (slot) {
		list_del_init(&slot->link);
		*f = *slot;
		if (f->retry)
			q->serving = f;
	}
	spin_unlock_irq(&sn->fault_lock);
	if (slot)
		svm_fault_trace(q, f);
	return slot;
}

/*
 * Report a no-retry fault, or handle and acknowledge a retry fault. Return true if the fault was
 * repaired.
 */
static bool svm_fault_handle(struct svm_fault_queue *q, struct svm_fault *f)
{
	struct kfd_process *p = q->svms ? svm_process(q->svms) : NULL;
	struct svm_interval win;
	enum svm_verdict verdict;

	if (!f->retry) {
		svm_fault_report(q->node, p, f);
		return false;
	}
	verdict = svm_fault_service(q->node, p, f, &win);
	/*
	 * The engine replays the access as soon as the fault is acknowledged, and faults again. The
	 * sleep only limits the rate of these retries. The worker holds no lock, and no reference
	 * except the one to the process.
	 */
	if (verdict == SVM_FAULT_NO_MEMORY)
		fsleep(SVM_FAULT_BACKOFF_US);
	svm_fault_ack(q, f, verdict == SVM_FAULT_REPAIRED ? &win : NULL);
	return verdict == SVM_FAULT_REPAIRED;
}

/*
 * Called after a repair, when its engine runs again: allocate memory for the next repair. @q
 * belongs to a process.
 */
static void svm_fault_prepare(struct svm_fault_queue *q)
{
	struct svm_gpu *g = container_of(q, struct svm_gpu, faults);

	svm_map_prepare(q->svms, g - q->svms->gpus);
}

/* Move the faults that have arrived to @q->batch. */
static void svm_fault_next_batch(struct svm_fault_queue *q)
{
	struct svm_node *sn = q->node->svm;
	bool any;

	spin_lock_irq(&sn->fault_lock);
	list_splice_tail_init(&q->pending, &q->batch);
	any = !list_empty(&q->batch);
	spin_unlock_irq(&sn->fault_lock);
	if (any)
		vgpu_stat_add(q->node->vdev, VGPU_STAT_FAULT_BATCHES, 1);
}

bool svm_fault_waits(struct svm_fault_queue *q)
{
	struct svm_node *sn = q->node->svm;
	bool waits;

	spin_lock_irq(&sn->fault_lock);
	waits = !list_empty(&q->pending) || !list_empty(&q->batch) || q->off;
	spin_unlock_irq(&sn->fault_lock);
	return waits;
}

/*
 * Called after a batch. Return true if the worker has to run again. Return false if it has nothing
 * to do: then the next fault starts a worker. The worker has something to do without faults, too:
 * if svm_cam_work() has dropped them, the worker must call svm_cam_resume().
 */
static bool svm_fault_again(struct svm_fault_queue *q)
{
	struct svm_node *sn = q->node->svm;
	bool again;

	spin_lock_irq(&sn->fault_lock);
	again = !list_empty(&q->pending) || q->off;
	q->scheduled = again;
	spin_unlock_irq(&sn->fault_lock);
	return again;
}

/*
 * Serve a batch of faults. Return true if the caller must queue the worker again. Faults may arrive
 * without end, so a worker that served them all would block the other work items of
 * svm_range_list.wq. After the return of false, @q may be freed.
 */
static bool svm_fault_run(struct svm_fault_queue *q)
{
	struct svm_fault f;

	svm_fault_next_batch(q);
	while (svm_fault_take(q, &f)) {
		bool repaired = svm_fault_handle(q, &f);

		svm_fault_ahead(q);
		if (repaired)
			svm_fault_prepare(q);
		cond_resched();
	}
	svm_cam_resume(q);
	if (svm_fault_again(q))
		return true;
	if (q->svms)
		kfd_unref_process(svm_process(q->svms));
	return false;
}

static void svm_fault_work(struct work_struct *work)
{
	struct svm_fault_queue *q = container_of(work, struct svm_fault_queue, work);

	if (svm_fault_run(q))
		queue_work(q->wq, &q->work);
}

static void svm_fault_local_work(struct work_struct *work)
{
	struct svm_fault_queue *q = container_of(work, struct svm_fault_queue, local_work);

	if (svm_fault_run(q))
		queue_work(q->local_wq, &q->local_work);
}

void svm_fault_queue_init(struct svm_fault_queue *q, struct kfd_node *node,
			  struct svm_range_list *svms, struct workqueue_struct *wq,
			  struct workqueue_struct *local_wq)
{
	unsigned int i;

	q->node = node;
	q->svms = svms;
	q->wq = wq;
	q->local_wq = local_wq;
	INIT_LIST_HEAD(&q->pending);
	INIT_LIST_HEAD(&q->batch);
	for (i = 0; i < SVM_FAULT_REPORTS; i++)
		INIT_LIST_HEAD(&q->reports[i].link);
	INIT_WORK(&q->work, svm_fault_work);
	INIT_WORK(&q->local_work, svm_fault_local_work);
}

static bool svm_fault_is_scheduled(struct svm_fault_queue *q)
{
	struct svm_node *sn = q->node->svm;
	bool scheduled;

	spin_lock_irq(&sn->fault_lock);
	scheduled = q->scheduled;
	spin_unlock_irq(&sn->fault_lock);
	return scheduled;
}

void svm_fault_flush(struct svm_range_list *svms)
{
	unsigned int i;

	for (i = 0; i < svms->n_gpus; i++) {
		struct svm_fault_queue *q = &svms->gpus[i].faults;
		bool again;

		/*
		 * A worker that was scheduled before the flush may be queued late, by
		 * svm_fault_start() or by itself: repeat the flush. A worker that was not scheduled
		 * any more may still run: the flush waits for its end.
		 */
		do {
			again = svm_fault_is_scheduled(q);
			flush_work(&q->work);
			flush_work(&q->local_work);
		} while (again);
	}
}
EXPORT_SYMBOL_IF_KUNIT(svm_fault_flush);

/*
 * Allocate svm_range_list.wq. Engines stall until a workqueue has handled the faults of the
 * process, so use WQ_HIGHPRI, as amdkfd does for its interrupt work.
 */
static struct workqueue_struct *svm_wq_alloc(u16 pasid)
{
	const unsigned int flags = WQ_HIGHPRI | WQ_FREEZABLE;
#ifdef CONFIG_LOCKDEP
	/* Lockdep's tables have a fixed size, too small for one map per process. */
	static struct lockdep_map map = { .name = "vgpu_svm" };

	return alloc_ordered_workqueue_lockdep_map("vgpu_svm_%u", flags, &map,
						   pasid);
#else
	return alloc_ordered_workqueue("vgpu_svm_%u", flags, pasid);
#endif
}

/*
 * Allocate svm_range_list.local_wq. The workers of a CPU serve the workqueues of all processes. A
 * worker that sleeps delays none of them. With WQ_CPU_INTENSIVE, a worker that needs much CPU time,
 * for a large granule, does not delay other processes, either. The default limit of work items is
 * never reached: a process has one for each GPU.
 */
static struct workqueue_struct *svm_local_wq_alloc(u16 pasid)
{
	const unsigned int flags = WQ_HIGHPRI | WQ_FREEZABLE | WQ_CPU_INTENSIVE;
#ifdef CONFIG_LOCKDEP
	static struct lockdep_map map = { .name = "vgpu_svm_local" };

	return alloc_workqueue_lockdep_map("vgpu_svm_local_%u", flags, 0, &map,
					   pasid);
#else
	return alloc_workqueue("vgpu_svm_local_%u", flags, 0, pasid);
#endif
}

int svm_wqs_init(struct svm_range_list *svms)
{
	u16 pasid = svm_process(svms)->pasid;

	svms->wq = svm_wq_alloc(pasid);
	if (!svms->wq)
		return -ENOMEM;
	svms->local_wq = svm_local_wq_alloc(pasid);
	if (!svms->local_wq) {
		destroy_workqueue(svms->wq);
		return -ENOMEM;
	}
	return 0;
}

void svm_wqs_fini(struct svm_range_list *svms)
{
	destroy_workqueue(svms->local_wq);
	destroy_workqueue(svms->wq);
}

/**
 * svm_drain_faults() - stop repairs and reports of a process's faults
 * @p: process whose queues are off the hardware for good
 *
 * The worker acknowledges queued and later faults without repairing them.
 *
 * Context: any; does not sleep.
 */
void svm_drain_faults(struct kfd_process *p)
{
	atomic_set(&p->svms->drain_pagefaults, 1);
	pr_debug("pid %d: faults are acknowledged, not repaired\n",
		 p->lead_thread->pid);
	trace_svm_list_drain(p->lead_thread->pid, p->pasid);
}

int svm_fault_init(struct kfd_node *node)
{
	struct vgpu_device *vdev = node->vdev;
	struct svm_node *sn = node->svm;
	unsigned int i;
	int ret;

	spin_lock_init(&sn->fault_lock);
	for (i = 0; i < VGPU_RETRY_CAM_SLOTS; i++)
		INIT_LIST_HEAD(&sn->slots[i].link);
	sn->wq = alloc_ordered_workqueue("vgpu_svm", WQ_HIGHPRI | WQ_FREEZABLE);
	if (!sn->wq)
		return -ENOMEM;
	INIT_DELAYED_WORK(&sn->cam_work, svm_cam_work);
	/* No process waits for these faults, so they need no worker on the interrupted CPU. */
	svm_fault_queue_init(&sn->faults, node, NULL, sn->wq, NULL);
	ret = vgpu_ih_register(vdev, IH_CLIENT_VMC, IH_SRC_VM_FAULT,
			       svm_fault_irq, node);
	if (ret)
		goto err_wq;
	ret = vgpu_ih_register(vdev, IH_CLIENT_UTCL2, IH_SRC_VM_FAULT,
			       svm_fault_irq, node);
	if (ret)
		goto err_vmc;
	return 0;

err_vmc:
	vgpu_ih_unregister(vdev, IH_CLIENT_VMC, IH_SRC_VM_FAULT, svm_fault_irq);
err_wq:
	destroy_workqueue(sn->wq);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(svm_fault_init);

void svm_fault_fini(struct kfd_node *node)
{
	struct svm_node *sn = node->svm;

	vgpu_ih_unregister(node->vdev, IH_CLIENT_UTCL2, IH_SRC_VM_FAULT,
			   svm_fault_irq);
	vgpu_ih_unregister(node->vdev, IH_CLIENT_VMC, IH_SRC_VM_FAULT,
			   svm_fault_irq);
	cancel_delayed_work_sync(&sn->cam_work);
	destroy_workqueue(sn->wq);
}
EXPORT_SYMBOL_IF_KUNIT(svm_fault_fini);
