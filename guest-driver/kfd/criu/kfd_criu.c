// SPDX-License-Identifier: GPL-2.0
/*
 * Implements CRIU_OP, with which CRIU's amdgpu plugin saves and restores a process.
 *
 *	PROCESS_INFO ─► paused: queues off ─► CHECKPOINT ─► UNPAUSE ─► queues run
 *	                    └── or the caller of PROCESS_INFO exits ──► queues run
 *	RESTORE (in a new process) ─► restored: queues off ─► RESUME ─► queues run
 */
#include <linux/capability.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "kfd/events/kfd_events.h"
#include "kfd/events/kfd_events_criu.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_evict.h"
#include "process/kfd_process.h"
#include "svm/svm_criu.h"
#include "kfd_criu.h"
#include "kfd_criu_image.h"
#include "kfd_criu_priv.h"

int kfd_criu_stop(struct kfd_process *p, enum kfd_criu_state state,
		  enum KFD_QUEUE_EVICTION_TRIGGERS why)
{
	int ret = 0, r;
	u32 i;

	for (i = 0; i < p->n_pdds; i++) {
		r = kfd_process_evict_queues(p->pdds[i]);
		ret = ret ?: r;
	}
	p->criu_state = state;
	kfd_process_report_eviction(p, why);
	return ret;
}

static void criu_let_run(struct kfd_process *p)
{
	u32 i;

	p->criu_state = KFD_CRIU_NONE;
	WRITE_ONCE(p->criu_owner, NULL);
	for (i = 0; i < p->n_pdds; i++)
		kfd_process_restore_queues(p->pdds[i]);
}

void kfd_criu_unpause(struct kfd_process *p)
{
	criu_let_run(p);
	kfd_process_report_restore(p, true);
}

/**
 * kfd_criu_owner_ends() - end the pause of a process when the process that paused it exits
 * @mm: address space of the process that may be paused
 * @owner: files_struct of the exiting process
 *
 * Does nothing unless the exiting process has paused the process of @mm.
 *
 * Context: takes kfd_process.mutex of the process of @mm. Sleeps.
 */
void kfd_criu_owner_ends(const struct mm_struct *mm, fl_owner_t owner)
{
	struct kfd_process *p = kfd_lookup_process_by_mm(mm);

	if (!p)
		return;
	if (READ_ONCE(p->criu_owner) == owner) {
		mutex_lock(&p->mutex);
		if (p->criu_owner == owner)
			kfd_criu_unpause(p);
		mutex_unlock(&p->mutex);
	}
	kfd_unref_process(p);
}

u64 kfd_criu_bytes(const struct kfd_criu_head *h)
{
	return sizeof(*h) +
	       (u64)h->n_devices * sizeof(struct kfd_criu_device) +
	       (u64)h->n_bos * sizeof(struct kfd_criu_bo) +
	       (u64)h->n_queues * sizeof(struct kfd_criu_queue) +
	       (u64)h->n_events * sizeof(struct kfd_saved_event) +
	       (u64)h->n_ranges * sizeof(struct svm_saved_range);
}

u64 kfd_criu_objects(const struct kfd_criu_head *h)
{
	return (u64)h->n_queues + h->n_events + h->n_ranges;
}

struct kfd_criu_image kfd_criu_image_of(void *data)
{
	struct kfd_criu_image img = { .head = data };

	img.devices = (void *)(img.head + 1);
	img.bos = (void *)(img.devices + img.head->n_devices);
	img.queues = (void *)(img.bos + img.head->n_bos);
	img.events = (void *)(img.queues + img.head->n_queues);
	img.ranges = (void *)(img.events + img.head->n_events);
	return img;
}

void kfd_criu_free(struct kfd_criu_buffers *b)
{
	kvfree(b->files);
	kvfree(b->bos);
	kvfree(b->devices);
	kvfree(b->data);
}

int kfd_criu_count(struct kfd_process *p, struct kfd_criu_head *h)
{
	int n, ranges;

	if (READ_ONCE(p->debug_trap_enabled)) {
		pr_warn("vgpu_kfd: pid %d cannot be checkpointed: it is debugged\n",
			p->lead_thread->pid);
		return -EBUSY;
	}
	n = kfd_criu_count_bos(p);
	if (n < 0)
		return n;
	ranges = svm_criu_count(p);
	if (ranges < 0)
		return ranges;
	*h = (struct kfd_criu_head) {
		.magic = KFD_CRIU_MAGIC,
		.version = KFD_CRIU_VERSION,
		.n_devices = p->n_pdds,
		.n_bos = n,
		.n_queues = p->pqm.n_queues,
		.n_events = kfd_events_criu_count(p),
		.n_ranges = ranges,
	};
	h->bytes = kfd_criu_bytes(h);
	return h->bytes > KFD_CRIU_MAX_BYTES ? -ENOMEM : 0;
}

static int criu_process_info(struct kfd_process *p,
			     struct kfd_ioctl_criu_args *args)
{
	bool paused = p->criu_state == KFD_CRIU_PAUSED;
	struct kfd_criu_head h;
	int ret = 0;

	if (!p->n_pdds)
		return -ENODEV;
	if (p->criu_state == KFD_CRIU_RESTORED)
		return -EINVAL;
	if (!paused)
		ret = kfd_criu_stop(p, KFD_CRIU_PAUSED,
				    KFD_QUEUE_EVICTION_CRIU_CHECKPOINT);
	if (!ret)
		ret = kfd_criu_count(p, &h);
	if (ret) {
		if (!paused)
			kfd_criu_unpause(p);
		return ret;
	}
	WRITE_ONCE(p->criu_owner, current->files);
	args->pid = task_pid_nr_ns(p->lead_thread,
				   task_active_pid_ns(p->lead_thread));
	args->num_devices = h.n_devices;
	args->num_bos = h.n_bos;
	args->num_objects = kfd_criu_objects(&h);
	args->priv_data_size = h.bytes;
	return 0;
}

static int criu_op_unpause(struct kfd_process *p)
{
	if (p->criu_state != KFD_CRIU_PAUSED)
		return -EINVAL;
	kfd_criu_unpause(p);
	return 0;
}

/*
 * Create the SVM ranges from the attributes that RESTORE has stored. After an error, user space may
 * call RESUME again.
 */
static int criu_resume_ranges(struct kfd_process *p)
{
	struct kfd_queue *q;
	int ret;
	u32 i;

	ret = svm_criu_resume(p);
	if (ret)
		return ret;
	/* The context save area of a queue may consist of these SVM ranges. */
	for (i = 0; i < p->n_pdds; i++)
		list_for_each_entry(q, &p->pdds[i]->qpd->queues, link)
			if (!kfd_cp_has_save_area(q))
				return -EINVAL;
	return 0;
}

/*
 * Resume a restored process: restore_work loads the process's queues, as after an eviction. The
 * caller holds kfd_process.mutex and a reference on mm_users.
 */
static int criu_do_resume(struct kfd_process *p)
{
	struct amdkfd_process_info *info = p->kgd_process_info;
	int ret;

	if (p->criu_state != KFD_CRIU_RESTORED)
		return -EINVAL;
	ret = criu_resume_ranges(p);
	if (ret)
		return ret;
	svm_criu_forget(p);
	/*
	 * Evict the process, so that restore_work runs. restore_work looks up the pages of userptr
	 * BOs, because RESTORE has not looked them up.
	 */
	kfd_evict_now(info, KFD_QUEUE_EVICTION_CRIU_RESTORE);
	criu_let_run(p);
	kfd_evict_resume(info);
	/*
	 * The checkpoint may have been taken when slots of the signal page were signalled but not
	 * handled yet, so scan the restored page.
	 */
	if (kfd_events_has_page(p))
		kfd_events_scan_later(p);
	return 0;
}

/*
 * Resume the process with pid args->pid. The calling process needs CAP_CHECKPOINT_RESTORE or
 * CAP_SYS_ADMIN, and need not trace the resumed process.
 */
static int criu_resume(const struct kfd_ioctl_criu_args *args)
{
	struct task_struct *thread;
	struct kfd_process *target;
	struct mm_struct *mm;
	int ret = -ESRCH;

	thread = kfd_get_thread(args->pid, &mm);
	if (!thread)
		return -ESRCH;
	put_task_struct(thread);
	target = kfd_lookup_process_by_mm(mm);
	if (target) {
		mutex_lock(&target->mutex);
		ret = criu_do_resume(target);
		mutex_unlock(&target->mutex);
		kfd_unref_process(target);
	}
	mmput(mm);
	return ret;
}

/**
 * kfd_ioctl_criu() - AMDKFD_IOC_CRIU_OP
 * @p: process of the file: the caller's process, or one that the caller traces
 * @data: struct kfd_ioctl_criu_args
 *
 * Context: no locks are held. Takes kfd_process.mutex.
 *
 * Return: 0, -EMFILE, -EFAULT, -ENOMEM or:
 *
 * * -EACCES: neither CAP_CHECKPOINT_RESTORE nor CAP_SYS_ADMIN
 * * -EINVAL: bad arguments, private data or state
 * * -EINVAL: RESTORE of a process with objects
 * * -EBUSY: the process is debugged
 * * -EBUSY: doorbell, hardware queue or global wave sync is taken
 * * -EOPNOTSUPP: memory that cannot be saved (logged)
 * * -EIO, -ETIME: queues did not stop
 * * -ESRCH: no such process, or its address space has ended
 * * -ENODEV: no such GPU
 * * -ENOSPC: queue id or event id is taken
 * * -ENOSPC: no VMID is free
 * * -EPERM: no device-private memory for SVM ranges
 * * -EPERM: a GPU cannot repair faults
 * * -EPERM: too many compute queues
 */
int kfd_ioctl_criu(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_criu_args *args = data;
	int ret;

	if (!capable(CAP_CHECKPOINT_RESTORE) && !capable(CAP_SYS_ADMIN))
		return -EACCES;
	if (args->op == KFD_CRIU_OP_RESTORE)
		return kfd_criu_restore(p, args);
	if (args->op == KFD_CRIU_OP_RESUME)
		return criu_resume(args);

	mutex_lock(&p->mutex);
	switch (args->op) {
	case KFD_CRIU_OP_PROCESS_INFO:
		ret = criu_process_info(p, args);
		break;
	case KFD_CRIU_OP_CHECKPOINT:
		ret = kfd_criu_checkpoint(p, args);
		break;
	case KFD_CRIU_OP_UNPAUSE:
		ret = criu_op_unpause(p);
		break;
	default:
		ret = -EINVAL;
		break;
	}
	mutex_unlock(&p->mutex);
	return ret;
}
