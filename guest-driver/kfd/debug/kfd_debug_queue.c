// SPDX-License-Identifier: GPL-2.0
/*
 * Suspends, resumes and describes queues for a debugger. A suspended queue is off the hardware
 * even if its process enables it. DESTROY_QUEUE waits until the queue is resumed or the session
 * ends.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "hw/cp/vgpu_mqd.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "kfd_debug.h"
#include "kfd_debug_priv.h"

#define KFD_DBG_INVALID	BIT(KFD_DBG_QUEUE_INVALID_BIT)
#define KFD_DBG_ERROR	BIT(KFD_DBG_QUEUE_ERROR_BIT)

/*
 * Return true if @p has a session. The caller holds queue_lock, so that no session begins or ends
 * before the caller uses the result.
 */
static bool kfd_dbg_active(struct kfd_process *p)
{
	lockdep_assert_held(&p->queue_lock);

	return p->debug_trap_enabled;
}

void kfd_dbg_resume_all(struct kfd_process *p)
{
	struct kfd_queue *q;
	u32 i;

	lockdep_assert_held(&p->queue_lock);

	for (i = 0; i < p->n_pdds; i++) {
		bool any = false;

		list_for_each_entry(q, &p->pdds[i]->qpd->queues, link) {
			any |= q->suspended;
			WRITE_ONCE(q->suspended, false);
		}
		/*
		 * Ignore errors: kfd_sdma_load() and vgpu_cp_run() log a queue that does not
		 * start.
		 */
		if (any)
			kfd_queues_sync(p->pdds[i]);
	}
}

/**
 * kfd_dbg_wait_resumed() - before a queue is destroyed, wait until the queue is not suspended
 * @q: queue. After success @q cannot be suspended again, and the caller destroys @q
 *
 * Context: kfd_process.mutex is held; the function drops the mutex while waiting. @q stays valid.
 *
 * Return: 0; -EBUSY if another call destroys the queue; -ERESTARTSYS after a signal.
 */
int kfd_dbg_wait_resumed(struct kfd_queue *q)
{
	struct kfd_process *p = q->pdd->process;
	bool suspended;
	int ret;

	lockdep_assert_held(&p->mutex);

	if (q->dying)
		return -EBUSY;
	mutex_lock(&p->queue_lock);
	q->dying = true;
	suspended = q->suspended;
	mutex_unlock(&p->queue_lock);
	if (!suspended)
		return 0;

	/* q->dying keeps other calls from destroying the queue. */
	mutex_unlock(&p->mutex);
	ret = wait_event_interruptible(p->dbg->wait, !READ_ONCE(q->suspended));
	mutex_lock(&p->mutex);
	if (ret) {
		mutex_lock(&p->queue_lock);
		q->dying = false;
		mutex_unlock(&p->queue_lock);
	}
	return ret;
}

/**
 * struct kfd_dbg_ids - queue ids of SUSPEND_QUEUES and RESUME_QUEUES
 */
struct kfd_dbg_ids {
	/** @id: queue ids; copied back with the flags KFD_DBG_INVALID and KFD_DBG_ERROR */
	u32 *id;
	/** @n: length of @id */
	u32 n;
	/** @mine: bit i is set if queue @id[i] is on the GPU that is being handled */
	DECLARE_BITMAP(mine, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
};

/*
 * Copy the queue ids from user space, and mark each id as invalid until kfd_dbg_mark() finds the
 * queue.
 */
static int kfd_dbg_get_ids(struct kfd_dbg_ids *ids, u64 user, u32 n)
{
	u32 i;

	ids->n = n;
	ids->id = NULL;
	if (!n)
		return 0;
	if (!user || n > KFD_MAX_NUM_OF_QUEUES_PER_PROCESS)
		return -EINVAL;
	ids->id = memdup_array_user(u64_to_user_ptr(user), n, sizeof(u32));
	if (IS_ERR(ids->id))
		return PTR_ERR(ids->id);
	for (i = 0; i < n; i++)
		ids->id[i] |= KFD_DBG_INVALID;
	return 0;
}

/*
 * Copy the ids to user space, and free them. As in amdkfd, ignore a fault of this copy: the queues
 * are suspended or resumed already.
 */
static void kfd_dbg_put_ids(struct kfd_dbg_ids *ids, u64 user)
{
	if (ids->n && copy_to_user(u64_to_user_ptr(user), ids->id,
				   array_size(ids->n, sizeof(u32))))
		pr_debug("cannot copy queue ids to the debugger\n");
	kfree(ids->id);
}

/* Ignore the flag KFD_DBG_INVALID: kfd_dbg_get_ids() has set this flag in each id. */
static int kfd_dbg_id_index(const struct kfd_dbg_ids *ids, u32 id)
{
	u32 i;

	for (i = 0; i < ids->n; i++)
		if ((ids->id[i] & ~KFD_DBG_INVALID) == id)
			return i;
	return -1;
}

/*
 * Return false if DESTROY_QUEUE was called for the queue, or the debugger has not cleared
 * EC_QUEUE_NEW of the queue yet.
 */
static bool kfd_dbg_may_suspend(const struct kfd_queue *q)
{
	bool is_new;

	spin_lock(&kfd_dbg_lock);
	is_new = q->exceptions & KFD_EC_MASK(EC_QUEUE_NEW);
	spin_unlock(&kfd_dbg_lock);
	return !q->dying && !is_new;
}

/*
 * Set kfd_queue.suspended to @suspend for each queue of @pdd in @ids, and return how many queues
 * were set. But if @suspend is true, skip each queue that is not suspended yet and for which
 * kfd_dbg_may_suspend() returns false. queue_lock is held.
 */
static int kfd_dbg_mark(struct kfd_process_device *pdd, struct kfd_dbg_ids *ids,
			bool suspend)
{
	struct kfd_queue *q;
	int i, n = 0;

	bitmap_zero(ids->mine, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
	list_for_each_entry(q, &pdd->qpd->queues, link) {
		i = kfd_dbg_id_index(ids, q->id);
		if (i < 0)
			continue;
		__set_bit(i, ids->mine);
		if (suspend && !q->suspended && !kfd_dbg_may_suspend(q))
			continue;
		WRITE_ONCE(q->suspended, suspend);
		ids->id[i] &= ~KFD_DBG_INVALID;
		n++;
	}
	return n;
}

/*
 * Clear the exceptions @mask of the queues of @pdd that are in @ids, even of queues that
 * kfd_dbg_mark() skipped. The caller holds queue_lock.
 */
static void kfd_dbg_clear(struct kfd_process_device *pdd,
			  const struct kfd_dbg_ids *ids, u64 mask)
{
	struct kfd_queue *q;

	spin_lock(&kfd_dbg_lock);
	list_for_each_entry(q, &pdd->qpd->queues, link)
		if (kfd_dbg_id_index(ids, q->id) >= 0)
			q->exceptions &= ~mask;
	spin_unlock(&kfd_dbg_lock);
}

/*
 * Suspend or resume the queues of @pdd in @ids, and clear their exceptions @clear. Return the
 * number of queues, 0 after an error. queue_lock is held.
 */
static int kfd_dbg_apply(struct kfd_process_device *pdd,
			 struct kfd_dbg_ids *ids, bool suspend, u64 clear)
{
	int n = kfd_dbg_mark(pdd, ids, suspend);
	unsigned long i;

	if (!n)
		return 0;
	if (!kfd_queues_sync(pdd)) {
		if (clear)
			kfd_dbg_clear(pdd, ids, clear);
		return n;
	}
	/* kfd_queues_sync() failed: set KFD_DBG_ERROR, but leave kfd_queue.suspended as it is. */
	for_each_set_bit(i, ids->mine, ids->n)
		ids->id[i] |= KFD_DBG_ERROR;
	return 0;
}

static int kfd_dbg_apply_all(struct kfd_process *p, struct kfd_dbg_ids *ids,
			     bool suspend, u64 clear)
{
	u32 i;
	int n = 0;

	for (i = 0; i < p->n_pdds; i++)
		n += kfd_dbg_apply(p->pdds[i], ids, suspend, clear);
	return n;
}

/**
 * struct kfd_dbg_saved - values to write to the header of a context save area
 */
struct kfd_dbg_saved {
	/** @va: address of the context save area in the process */
	u64 va;
	/** @saved: offsets and sizes of the control stack and of the wave state in the area */
	struct vgpu_cp_saved saved;
};

/* Fill @saved for the suspended compute queues of @ids. Return the number of these queues. */
static u32 kfd_dbg_collect(struct kfd_process *p, const struct kfd_dbg_ids *ids,
			   struct kfd_dbg_saved *saved)
{
	struct kfd_queue *q;
	u32 i, n = 0;

	for (i = 0; i < p->n_pdds; i++) {
		list_for_each_entry(q, &p->pdds[i]->qpd->queues, link) {
			if (q->kind != KFD_QUEUE_COMPUTE || !q->suspended ||
			    q->loaded || kfd_dbg_id_index(ids, q->id) < 0)
				continue;
			saved[n].va = q->cp.save_va;
			vgpu_mqd_saved(q->mqd, &saved[n].saved);
			n++;
		}
	}
	return n;
}

/*
 * Write offsets and sizes to the header of the context save area, where the debugger reads them. If
 * no memory is mapped at the header's address, drop the write.
 */
static void kfd_dbg_write_saved(struct kfd_process *p,
				const struct kfd_dbg_saved *s)
{
	struct kfd_context_save_area_header header = {
		.wave_state.control_stack_offset = s->saved.stack_offset,
		.wave_state.control_stack_size = s->saved.stack_bytes,
		.wave_state.wave_state_offset = s->saved.wave_offset,
		.wave_state.wave_state_size = s->saved.wave_bytes,
	};

	kfd_dbg_access(p, s->va, &header.wave_state, sizeof(header.wave_state),
		       true, true);
}

int kfd_dbg_suspend(struct kfd_process *target, u64 user, u32 n, u64 clear)
{
	struct kfd_dbg_saved *saved;
	struct kfd_dbg_ids ids;
	u32 i, n_saved = 0;
	int ret;

	ret = kfd_dbg_get_ids(&ids, user, n);
	if (ret)
		return ret;
	saved = kvcalloc(n, sizeof(*saved), GFP_KERNEL);
	if (n && !saved) {
		kfree(ids.id);
		return -ENOMEM;
	}

	mutex_lock(&target->queue_lock);
	if (kfd_dbg_active(target)) {
		ret = kfd_dbg_apply_all(target, &ids, true, clear);
		n_saved = kfd_dbg_collect(target, &ids, saved);
	} else {
		ret = -EINVAL;
	}
	mutex_unlock(&target->queue_lock);

	for (i = 0; i < n_saved; i++)
		kfd_dbg_write_saved(target, &saved[i]);
	kvfree(saved);
	kfd_dbg_put_ids(&ids, user);
	return ret;
}

/*
 * RESUME_QUEUES without ids: resume all queues, and return the number of queues. The caller holds
 * queue_lock.
 */
static int kfd_dbg_resume_every(struct kfd_process *p)
{
	u32 i;
	int n = 0;

	for (i = 0; i < p->n_pdds; i++)
		n += list_count_nodes(&p->pdds[i]->qpd->queues);
	kfd_dbg_resume_all(p);
	return n;
}

int kfd_dbg_resume(struct kfd_process *target, u64 user, u32 n)
{
	struct kfd_dbg_ids ids = { };
	int ret = 0;

	if (user)
		ret = kfd_dbg_get_ids(&ids, user, n);
	if (ret)
		return ret;

	mutex_lock(&target->queue_lock);
	if (!kfd_dbg_active(target))
		ret = -EINVAL;
	else if (!user)
		ret = kfd_dbg_resume_every(target);
	else
		ret = kfd_dbg_apply_all(target, &ids, false, 0);
	mutex_unlock(&target->queue_lock);

	wake_up_all(&target->dbg->wait);
	if (user)
		kfd_dbg_put_ids(&ids, user);
	return ret;
}

static u32 kfd_dbg_queue_type(const struct kfd_queue *q)
{
	if (q->kind == KFD_QUEUE_SDMA)
		return kfd_sdma_type(q);
	return q->aql ? KFD_IOC_QUEUE_TYPE_COMPUTE_AQL :
			KFD_IOC_QUEUE_TYPE_COMPUTE;
}

/*
 * Fill @e with a description of @q, and clear the exceptions of @q that are in @clear. The caller
 * holds queue_lock.
 */
static void kfd_dbg_queue_entry(struct kfd_queue *q, u64 clear,
				struct kfd_queue_snapshot_entry *e)
{
	bool cp = q->kind == KFD_QUEUE_COMPUTE;

	*e = (struct kfd_queue_snapshot_entry) {
		.ring_base_address = cp ? q->cp.ring_va : q->regs.ring_va,
		.write_pointer_address = q->wptr_va,
		.read_pointer_address = cp ? q->cp.rptr_va : q->regs.rptr_va,
		.queue_id = q->id,
		.gpu_id = q->pdd->node->gpu_id,
		.ring_size = cp ? q->cp.ring_bytes : q->regs.ring_bytes,
		.queue_type = kfd_dbg_queue_type(q),
	};
	if (cp) {
		e->ctx_save_restore_address = q->cp.save_va;
		e->ctx_save_restore_area_size = q->cp.save_bytes;
	}
	spin_lock(&kfd_dbg_lock);
	e->exception_status = q->exceptions;
	q->exceptions &= ~clear;
	spin_unlock(&kfd_dbg_lock);
}

/*
 * Describe up to @max queues of @p in @entry. In each described queue, clear the exceptions of mask
 * @clear. Return the number of all queues of @p, which may exceed @max. queue_lock is held.
 */
static u32 kfd_dbg_queue_entries(struct kfd_process *p, u64 clear,
				 struct kfd_queue_snapshot_entry *entry,
				 u32 max)
{
	struct kfd_queue *q;
	u32 i, n = 0;

	for (i = 0; i < p->n_pdds; i++)
		list_for_each_entry(q, &p->pdds[i]->qpd->queues, link) {
			if (n < max)
				kfd_dbg_queue_entry(q, clear, &entry[n]);
			n++;
		}
	return n;
}

int kfd_dbg_queue_snapshot(struct kfd_process *target,
			   struct kfd_ioctl_dbg_trap_queue_snapshot_args *args)
{
	u32 max = min_t(u32, args->num_queues,
			KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
	char __user *out = u64_to_user_ptr(args->snapshot_buf_ptr);
	struct kfd_queue_snapshot_entry *entry;
	u32 stride = args->entry_size, i;
	int ret = -EINVAL;

	args->num_queues = 0;
	if (!stride)
		return -EINVAL;
	args->entry_size = min_t(u32, stride, sizeof(*entry));
	entry = kvcalloc(max, sizeof(*entry), GFP_KERNEL);
	if (max && !entry)
		return -ENOMEM;

	mutex_lock(&target->queue_lock);
	if (kfd_dbg_active(target)) {
		args->num_queues = kfd_dbg_queue_entries(target,
							 args->exception_mask,
							 entry, max);
		ret = 0;
	}
	mutex_unlock(&target->queue_lock);

	for (i = 0; !ret && i < min(max, args->num_queues); i++)
		if (copy_to_user(out + (u64)i * stride, &entry[i],
				 args->entry_size))
			ret = -EFAULT;
	kvfree(entry);
	return ret;
}
