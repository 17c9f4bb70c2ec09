// SPDX-License-Identifier: GPL-2.0
/*
 * Begins and ends debug sessions, and raises exceptions of debugged processes.
 *
 * The debugger passes a file (pipe, FIFO or socket) to ENABLE. If there are new exceptions, the
 * driver writes a byte to this file. The debugger then queries the exceptions.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "kfd/events/kfd_events.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "kfd_debug.h"
#include "kfd_debug_priv.h"

DEFINE_SPINLOCK(kfd_dbg_lock);

static struct workqueue_struct *kfd_dbg_wq;

static void kfd_dbg_free(struct kref *ref)
{
	struct kfd_dbg_session *s = container_of(ref, struct kfd_dbg_session,
						 ref);

	fput(s->file);
	kfree(s);
}

static void kfd_dbg_put(struct kfd_dbg_session *s)
{
	kref_put(&s->ref, kfd_dbg_free);
}

/*
 * Write a byte to the debugger's file (kfd_dbg_session.notify). If the file is full, unread bytes
 * remain, so no further byte is needed.
 *
 * IOCB_NOWAIT excludes a wait for space, but not for the lock of the pipe or socket. A task in user
 * space may hold this lock during a page fault, without limit. So the write is done in a workqueue
 * of its own, without a lock, and nothing but the unload of the module waits for it.
 */
static void kfd_dbg_write(struct work_struct *work)
{
	struct kfd_dbg_session *s = container_of(work, struct kfd_dbg_session,
						 notify);
	char dot = '.';
	struct kvec vec = { .iov_base = &dot, .iov_len = 1 };
	struct iov_iter iter;
	struct kiocb iocb;

	init_sync_kiocb(&iocb, s->file);
	iocb.ki_flags |= IOCB_NOWAIT;
	iov_iter_kvec(&iter, ITER_SOURCE, &vec, 1, 1);
	vfs_iocb_iter_write(s->file, &iocb, &iter);
	kfd_dbg_put(s);
}

void kfd_dbg_notify(struct kfd_dbg_session *s)
{
	lockdep_assert_held(&kfd_dbg_lock);

	kref_get(&s->ref);
	if (!queue_work(kfd_dbg_wq, &s->notify))
		kfd_dbg_put(s);		/* the work is queued already, and has a reference */
}

/* Raise exceptions. */

/*
 * If the process is debugged, set @mask in *@exceptions. Return true if the debugger has subscribed
 * to an exception of @mask.
 */
static bool kfd_dbg_raise(struct kfd_process *p, u64 *exceptions, u64 mask)
{
	struct kfd_dbg_session *s;
	bool wanted = false;

	/*
	 * This test needs no kfd_dbg_lock. A session that begins during the test may miss the
	 * exception. This is correct, too: the session could as well have begun after the
	 * exception.
	 */
	if (!READ_ONCE(p->debug_trap_enabled))
		return false;
	spin_lock(&kfd_dbg_lock);
	s = p->dbg->session;
	if (s) {
		*exceptions |= mask;
		wanted = s->mask & mask;
		if (wanted)
			kfd_dbg_notify(s);
	}
	spin_unlock(&kfd_dbg_lock);
	return wanted;
}

/**
 * kfd_dbg_raise_queue() - raise exceptions of a queue, if its process is debugged
 * @q: queue
 * @mask: exceptions, KFD_EC_MASK()
 *
 * Context: kfd_process.mutex or kfd_process.queue_lock is held. Takes kfd_dbg_lock.
 *
 * Return: true if the debugger has subscribed to one of the exceptions.
 */
bool kfd_dbg_raise_queue(struct kfd_queue *q, u64 mask)
{
	return kfd_dbg_raise(q->pdd->process, &q->exceptions, mask);
}

/**
 * kfd_dbg_raise_device() - raise exceptions of a process on a GPU, if the process is debugged
 * @pdd: state of the process on the GPU
 * @mask: exceptions, KFD_EC_MASK()
 *
 * Context: takes kfd_dbg_lock.
 *
 * Return: true if the debugger has subscribed to one of the exceptions.
 */
bool kfd_dbg_raise_device(struct kfd_process_device *pdd, u64 mask)
{
	return kfd_dbg_raise(pdd->process, &pdd->dbg->exceptions, mask);
}

static bool kfd_dbg_raise_process(struct kfd_process *p, u64 mask)
{
	return kfd_dbg_raise(p, &p->dbg->exceptions, mask);
}

/**
 * kfd_dbg_raise_fault() - raise a memory fault that was not repaired
 * @pdd: state of the process on the GPU
 * @va: address of the access
 * @not_present: the page-table entry was not valid
 * @write: the access was a write
 *
 * Context: takes kfd_dbg_lock. Does not sleep.
 *
 * Return: true if a debugger has subscribed to memory faults. The caller then must not report the
 * fault to the process.
 */
bool kfd_dbg_raise_fault(struct kfd_process_device *pdd, u64 va,
			 bool not_present, bool write)
{
	const u64 mask = KFD_EC_MASK(EC_DEVICE_MEMORY_VIOLATION);
	struct kfd_process *p = pdd->process;
	struct kfd_dbg_session *s;
	bool wanted = false;

	if (!READ_ONCE(p->debug_trap_enabled))
		return false;
	spin_lock(&kfd_dbg_lock);
	s = p->dbg->session;
	if (s) {
		if (!pdd->dbg->fault_known)
			kfd_events_fill_memory(pdd, va, not_present, write,
					       &pdd->dbg->fault);
		pdd->dbg->fault_known = true;
		pdd->dbg->exceptions |= mask;
		wanted = s->mask & mask;
		if (wanted) {
			/*
			 * Notify only the debugger now. SEND_RUNTIME_EVENT or the end of the debug
			 * session will report the fault to the process.
			 */
			pdd->dbg->fault_held = true;
			kfd_dbg_notify(s);
		}
	}
	spin_unlock(&kfd_dbg_lock);
	return wanted;
}

/**
 * kfd_dbg_device_gone() - raise EC_PROCESS_DEVICE_REMOVE in all processes that use a GPU
 * @node: GPU that is being removed
 *
 * Context: before the first of these processes is detached; no locks are held.
 */
void kfd_dbg_device_gone(struct kfd_node *node)
{
	const u64 mask = KFD_EC_MASK(EC_PROCESS_DEVICE_REMOVE);
	struct kfd_process *p;
	u32 pasid = 0;

	while ((p = kfd_lookup_process_after(pasid))) {
		pasid = p->pasid;
		if (kfd_process_device_of(p, node->vdev))
			kfd_dbg_raise_process(p, mask);
		kfd_unref_process(p);
	}
}

/* The functions from here to kfd_dbg_close() begin and end sessions. */

int kfd_dbg_begin(struct kfd_process *debugger, struct kfd_process *target,
		  struct file *file, u64 mask, struct kfd_runtime_info *info)
{
	struct kfd_dbg_session *s;
	int ret = 0;

	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return -ENOMEM;
	kref_init(&s->ref);
	INIT_WORK(&s->notify, kfd_dbg_write);
	s->target = target;
	s->debugger = debugger;
	s->file = file;
	s->mask = mask;

	mutex_lock(&target->queue_lock);
	spin_lock(&kfd_dbg_lock);
	if (target->dbg->session) {
		ret = -EALREADY;
	} else if (target->dbg->closed) {
		ret = -ESRCH;
	} else if (debugger->dbg->closed) {
		ret = -ENODEV;
	} else {
		target->dbg->session = s;
		WRITE_ONCE(target->debug_trap_enabled, true);
		list_add_tail(&s->link, &debugger->dbg->debugging);
		*info = target->dbg->runtime;
	}
	spin_unlock(&kfd_dbg_lock);
	mutex_unlock(&target->queue_lock);
	if (ret)
		kfree(s);
	return ret;
}

/*
 * Clear the exceptions of a process on a GPU and of its queues on this GPU. The caller holds
 * kfd_dbg_lock.
 */
static void kfd_dbg_forget_device(struct kfd_process_device *pdd)
{
	struct kfd_queue *q;

	/* A memory fault was reported only to the debugger: report it to the process. */
	if (pdd->dbg->fault_held)
		kfd_events_memory(pdd, &pdd->dbg->fault);
	*pdd->dbg = (struct kfd_dbg_device) { };
	list_for_each_entry(q, &pdd->qpd->queues, link)
		q->exceptions = 0;
}

void kfd_dbg_end(struct kfd_process *target, struct kfd_process *debugger)
{
	struct kfd_dbg *dbg = target->dbg;
	struct kfd_dbg_session *s;
	u32 i;

	mutex_lock(&target->queue_lock);
	spin_lock(&kfd_dbg_lock);
	s = dbg->session;
	if (s && debugger && s->debugger != debugger)
		s = NULL;
	if (s) {
		dbg->session = NULL;
		WRITE_ONCE(target->debug_trap_enabled, false);
		list_del(&s->link);
		WRITE_ONCE(dbg->asked, false);
		dbg->exceptions = 0;
		for (i = 0; i < target->n_pdds; i++)
			kfd_dbg_forget_device(target->pdds[i]);
	}
	spin_unlock(&kfd_dbg_lock);
	if (s)
		kfd_dbg_resume_all(target);
	mutex_unlock(&target->queue_lock);
	if (!s)
		return;
	wake_up_all(&dbg->wait);
	kfd_dbg_put(s);
}

/* Return a process that @p debugs, with a reference taken, or NULL if @p debugs no process. */
static struct kfd_process *kfd_dbg_next_target(struct kfd_process *p)
{
	struct kfd_process *target = NULL;
	struct kfd_dbg_session *s;

	spin_lock(&kfd_dbg_lock);
	s = list_first_entry_or_null(&p->dbg->debugging, struct kfd_dbg_session,
				     link);
	if (s) {
		/*
		 * kref_get() is safe, because a session ends before the last reference to the
		 * session's target is dropped.
		 */
		target = s->target;
		kref_get(&target->ref);
	}
	spin_unlock(&kfd_dbg_lock);
	return target;
}

/**
 * kfd_dbg_close() - end all sessions of a process that leaves KFD
 * @p: target or debugger of the sessions. No session of @p begins afterwards
 *
 * Context: MMU notifiers may call this function. Takes kfd_process.queue_lock of @p and of the
 * processes that @p debugs.
 */
void kfd_dbg_close(struct kfd_process *p)
{
	struct kfd_process *target;

	spin_lock(&kfd_dbg_lock);
	p->dbg->closed = true;
	spin_unlock(&kfd_dbg_lock);
	kfd_dbg_end(p, NULL);
	while ((target = kfd_dbg_next_target(p))) {
		kfd_dbg_end(target, p);
		kfd_unref_process(target);
	}
}

/**
 * kfd_dbg_init() - allocate struct kfd_dbg of a process, without sessions
 * @p: process, not hashed yet
 *
 * Context: sleeps.
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_dbg_init(struct kfd_process *p)
{
	struct kfd_dbg *dbg = kzalloc(sizeof(*dbg), GFP_KERNEL);

	if (!dbg)
		return -ENOMEM;
	INIT_LIST_HEAD(&dbg->debugging);
	init_waitqueue_head(&dbg->wait);
	p->dbg = dbg;
	return 0;
}

/**
 * kfd_dbg_fini() - undo kfd_dbg_init()
 * @p: process without references. Either kfd_dbg_close() was called for the process, or the process
 *     was never in the hash table
 */
void kfd_dbg_fini(struct kfd_process *p)
{
	kfree(p->dbg);
	p->dbg = NULL;
}

/**
 * kfd_dbg_device_init() - allocate pdd->dbg, with no exception pending
 * @pdd: state of the process on the GPU, not in kfd_process.pdds yet
 *
 * Context: sleeps.
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_dbg_device_init(struct kfd_process_device *pdd)
{
	pdd->dbg = kzalloc(sizeof(*pdd->dbg), GFP_KERNEL);
	return pdd->dbg ? 0 : -ENOMEM;
}

/**
 * kfd_dbg_device_fini() - undo kfd_dbg_device_init()
 * @pdd: state of the process on the GPU; either the process has no references any more, or
 *       kfd_process_hash() was never called for the process
 */
void kfd_dbg_device_fini(struct kfd_process_device *pdd)
{
	kfree(pdd->dbg);
	pdd->dbg = NULL;
}

/**
 * kfd_dbg_module_init() - allocate the workqueue that notifies debuggers
 *
 * Context: module init, before the first process.
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_dbg_module_init(void)
{
	kfd_dbg_wq = alloc_workqueue("kfd_dbg", WQ_UNBOUND, 0);
	return kfd_dbg_wq ? 0 : -ENOMEM;
}

/**
 * kfd_dbg_module_exit() - undo kfd_dbg_module_init()
 *
 * Context: module exit, after the last process.
 */
void kfd_dbg_module_exit(void)
{
	destroy_workqueue(kfd_dbg_wq);
}
