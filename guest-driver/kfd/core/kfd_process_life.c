// SPDX-License-Identifier: GPL-2.0
/*
 * Creates, detaches and tears down processes.
 *
 * DOC: life of a process
 *
 * The first open of /dev/kfd creates the kfd_process of an mm. A close does not end the
 * kfd_process.
 *
 * States:
 *
 * - hashed: in kfd_processes_table, with an MMU notifier
 * - detached: the mm has ended, or a GPU was removed; the queues are evicted
 * - freed by release_work, after the last reference was dropped
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/pid.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "kfd/debug/kfd_debug.h"
#include "kfd/events/kfd_events.h"
#include "kfd/memory/kfd_memory.h"
#include "kfd/queues/kfd_queue.h"
#include "process/kfd_evict.h"
#include "process/kfd_mem.h"
#include "process/kfd_node.h"
#include "process/kfd_pasid.h"
#include "process/kfd_process.h"
#include "process/kfd_procfs.h"
#include "svm/svm.h"
#include "vm/vgpu_vm.h"
#include "kfd_core.h"
#include "kfd_core_priv.h"

static int kfd_process_add_pdd(struct kfd_process *p, struct kfd_node *node)
{
	struct kfd_process_device *pdd;

	pdd = kzalloc(sizeof(*pdd), GFP_KERNEL);
	if (!pdd)
		return -ENOMEM;
	if (kfd_dbg_device_init(pdd))
		goto err_free;
	if (kfd_qpd_init(pdd))
		goto err_dbg;
	pdd->node = node;
	pdd->process = p;
	pdd->gpu_id = node->gpu_id;
	idr_init(&pdd->alloc_idr);
	INIT_LIST_HEAD(&pdd->attachments);
	atomic_inc(&node->n_pdds);
	p->pdds[p->n_pdds++] = pdd;
	return 0;

err_dbg:
	kfd_dbg_device_fini(pdd);
err_free:
	kfree(pdd);
	return -ENOMEM;
}

static void kfd_process_free_pdd(struct kfd_process_device *pdd)
{
	atomic_t *n_pdds = &pdd->node->n_pdds;

	if (pdd->vm)
		vgpu_vm_destroy(pdd->vm);
	kfd_doorbell_zap(pdd);
	kfd_doorbell_free(pdd);
	kfd_mmio_zap(pdd->node);
	if (pdd->drm_file)
		fput(pdd->drm_file);
	idr_destroy(&pdd->alloc_idr);
	kfd_qpd_fini(pdd);
	kfd_dbg_device_fini(pdd);
	kfree(pdd);
	/*
	 * Once *n_pdds is zero, the node may be freed, and n_pdds with it. The wake-up is still
	 * safe, because wake_up_var() uses the address of n_pdds only as a key.
	 */
	if (atomic_dec_and_test(n_pdds))
		wake_up_var(n_pdds);
}

/* Tear a process down, after its last reference was dropped or its creation has failed. */
static void kfd_process_destroy(struct kfd_process *p)
{
	mutex_lock(&p->mutex);
	kfd_queues_destroy(p);
	mutex_unlock(&p->mutex);
	kfd_process_info_fini(p);
	kfd_events_fini(p);
	svm_range_list_fini(p);
	mutex_lock(&p->mutex);
	kgd_mem_free_all(p);
	mutex_unlock(&p->mutex);
	while (p->n_pdds)
		kfd_process_free_pdd(p->pdds[--p->n_pdds]);
	if (p->pasid)
		kfd_pasid_free(p->pasid);
	kfd_dbg_fini(p);
	kfd_process_free(p);
}

static void kfd_process_release_work(struct work_struct *work)
{
	kfd_process_destroy(release_work_to_process(work));
}

/*
 * Unhash the process, take its queues off the GPUs, and end its debug sessions and event waits.
 * Further calls for @p do nothing.
 */
static void kfd_process_detach(struct kfd_process *p)
{
	u32 i;

	if (!kfd_process_unhash(p))
		return;

	/*
	 * The process's memory is about to be freed. Take the queues off the GPUs, so that the GPUs
	 * do not access this memory.
	 */
	for (i = 0; i < p->n_pdds; i++)
		kfd_process_evict_queues(p->pdds[i]);
	svm_drain_faults(p);
	kfd_dbg_close(p);
	kfd_events_close(p);
	kfd_debugfs_remove(p);
	kfd_procfs_remove(p);
	mmu_notifier_put(&p->mmu_notifier);
}

static void kfd_process_mm_release(struct mmu_notifier *mn,
				   struct mm_struct *mm)
{
	kfd_process_detach(mmu_notifier_to_process(mn));
}

/*
 * Called an SRCU grace period after mmu_notifier_put(). Drops the notifier's reference to the
 * process.
 */
static void kfd_process_free_notifier(struct mmu_notifier *mn)
{
	kfd_unref_process(mmu_notifier_to_process(mn));
}

static const struct mmu_notifier_ops kfd_process_mmu_notifier_ops = {
	.release = kfd_process_mm_release,
	.free_notifier = kfd_process_free_notifier,
};

/*
 * Allocate the process's PASID and its state for each GPU, and add the process to the hash. After
 * an error kfd_process_destroy() frees PASID and state. The caller holds kfd_processes_mutex.
 */
static int kfd_process_publish(struct kfd_process *p)
{
	struct kfd_node *node;
	int ret;

	ret = kfd_pasid_alloc();
	if (ret < 0)
		return ret;
	p->pasid = ret;
	list_for_each_entry(node, &kfd_nodes, list) {
		ret = kfd_process_add_pdd(p, node);
		if (ret)
			return ret;
	}
	ret = svm_range_list_init(p);
	if (ret)
		return ret;
	kfd_process_hash(p);
	kfd_procfs_add(p);
	if (p->kobj)
		kfd_debugfs_add(p, kobject_name(p->kobj));
	return 0;
}

static struct kfd_process *kfd_process_new(struct mm_struct *mm,
					   struct task_struct *leader)
{
	struct kfd_process *p = kfd_process_alloc(mm, leader);

	if (!p)
		return NULL;
	if (kfd_events_init(p))
		goto err_free;
	if (kfd_dbg_init(p))
		goto err_events;
	INIT_WORK(&p->release_work, kfd_process_release_work);
	p->mmu_notifier.ops = &kfd_process_mmu_notifier_ops;
	return p;

err_events:
	kfd_events_fini(p);
err_free:
	kfd_process_free(p);
	return NULL;
}

/*
 * Register a new MMU notifier. mmu_notifier_get() could return the notifier of an older
 * kfd_process that is being detached. The caller holds a reference on mm_users.
 */
static int kfd_process_register(struct kfd_process *p)
{
	struct mm_struct *mm = p->mm;
	/* The wait for mmap_lock may be long, so the caller holds no locks. */
	int ret = mmap_write_lock_killable(mm);

	if (ret)
		return ret;
	ret = __mmu_notifier_register(&p->mmu_notifier, mm);
	mmap_write_unlock(mm);
	return ret;
}

static int kfd_process_create(struct mm_struct *mm, struct task_struct *leader)
{
	struct kfd_process *p = kfd_process_new(mm, leader);
	int ret;

	if (!p)
		return -ENOMEM;
	ret = kfd_process_register(p);
	if (ret) {
		kfd_unref_process(p);
		return ret;
	}
	mutex_lock(&kfd_processes_mutex);
	/* Another thread may have hashed a process of this mm before this thread took the mutex. */
	ret = kfd_process_is_known(mm) ? -EEXIST : kfd_process_publish(p);
	mutex_unlock(&kfd_processes_mutex);
	/*
	 * The notifier now owns the reference from kfd_process_new(), so do not drop this reference
	 * here. kfd_process_free_notifier() drops it after mmu_notifier_put().
	 */
	if (ret)
		mmu_notifier_put(&p->mmu_notifier);
	return ret == -EEXIST ? 0 : ret;
}

/**
 * kfd_process_open() - create the KFD process of an mm, unless there is one
 * @thread: thread that uses @mm
 * @mm: address space; the caller holds a reference on mm_users
 *
 * Context: no locks are held. Takes mmap_lock and kfd_processes_mutex.
 *
 * Return: 0, -ENOMEM or:
 *
 * * -EINVAL: @thread's group leader does not use @mm
 * * -ESRCH: @thread's group has ended
 * * -ENOSPC: no free PASID
 * * -EINTR: fatal signal
 */
int kfd_process_open(struct task_struct *thread, struct mm_struct *mm)
{
	struct pid *pid = get_task_pid(thread, PIDTYPE_TGID);
	struct task_struct *leader = get_pid_task(pid, PIDTYPE_TGID);
	int ret = 0;

	put_pid(pid);
	if (!leader)
		return -ESRCH;

	/* As in amdkfd, the leader must use @mm. A leader that has exited has no mm. */
	if (READ_ONCE(leader->mm) != mm)
		ret = -EINVAL;
	else if (!kfd_process_is_known(mm))
		ret = kfd_process_create(mm, leader);
	put_task_struct(leader);
	return ret;
}

/**
 * kfd_process_detach_all() - detach every process that uses a GPU
 * @node: GPU, or NULL to detach all processes
 *
 * If @node is not NULL, debuggers of the processes get EC_PROCESS_DEVICE_REMOVE first. The function
 * does not wait until the processes are torn down.
 *
 * Context: sleeps; no locks are held.
 */
void kfd_process_detach_all(struct kfd_node *node)
{
	struct kfd_process *p;

	if (node)
		kfd_dbg_device_gone(node);
	while ((p = kfd_process_next_user(node))) {
		kfd_process_detach(p);
		kfd_unref_process(p);
	}
}

static const struct kfd_process_ops kfd_process_life_ops = {
	.sync_queues = kfd_queues_sync,
	.map_wptrs = kfd_queues_map_wptr,
	.stop_queues = kfd_queues_stop,
	.memory_exception = kfd_exception_memory,
};

/**
 * kfd_process_life_init() - set the operations that process/ calls
 *
 * Context: module init, before the first process.
 */
void kfd_process_life_init(void)
{
	kfd_process_ops = &kfd_process_life_ops;
}
