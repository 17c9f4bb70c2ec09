// SPDX-License-Identifier: GPL-2.0
/*
 * Processes.
 *
 * DOC: life of a process
 *
 * A kfd_process belongs to an mm. It comes with the first open of /dev/kfd
 * and goes with the mm (exit, exec, a kill at any point), not with the file:
 * an open file holds nothing but the identity of the mm, and every call looks
 * the process up. A child that inherited the file has another mm: -EBADF.
 *
 *	open ──► notifier registered ──► hashed
 *	                                    │ mm ends, or a GPU goes
 *	                                    ▼
 *	                                 detached
 *	                                    │ queues evicted, notifier put
 *	                                    ▼
 *	freed ◄── release_work ◄── last reference
 *
 * An mm that opens /dev/kfd again while its process is detached gets another
 * kfd_process, with a notifier of its own.
 *
 * Detaching takes it out of the hash, so nobody finds it any more; the GPU
 * stops at once. The hash's reference goes when the MMU notifier's SRCU grace
 * period is over. Whoever looked the process up before keeps it whole until
 * then. The teardown runs from a work item, in this order:
 *
 *	queues, SVM (drained first), BOs, address spaces, PASID
 */
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "kfd_pasid.h"
#include "vgpu_drv.h"
#include "vgpu_vm.h"
#include "kfd_criu.h"
#include "kfd_dbg.h"
#include "kfd_events.h"
#include "kfd_mem.h"
#include "kfd_queue.h"
#include "kfd_room.h"

/* The hash, the list of nodes and pdd->drm_file; see kfd_room.h. */
DEFINE_MUTEX(kfd_processes_mutex);

static DEFINE_HASHTABLE(kfd_processes_table, 5);
static struct workqueue_struct *kfd_process_wq;
static atomic_t kfd_n_processes = ATOMIC_INIT(0);

unsigned int kfd_processes_in_use(void)
{
	return atomic_read(&kfd_n_processes);
}

/* Under RCU or kfd_processes_mutex. */
static struct kfd_process *kfd_process_find(const struct mm_struct *mm)
{
	struct kfd_process *p;

	hash_for_each_possible_rcu(kfd_processes_table, p, kfd_processes,
				   (uintptr_t)mm,
				   lockdep_is_held(&kfd_processes_mutex))
		if (p->mm == mm)
			return p;
	return NULL;
}

struct kfd_process *kfd_lookup_process_by_mm(const struct mm_struct *mm)
{
	struct kfd_process *p;

	rcu_read_lock();
	p = kfd_process_find(mm);
	if (p && !kref_get_unless_zero(&p->ref))
		p = NULL;
	rcu_read_unlock();
	return p;
}

struct kfd_process *kfd_lookup_process_by_pasid(u16 pasid)
{
	struct kfd_process *p, *found = NULL;
	int bucket;

	rcu_read_lock();
	hash_for_each_rcu(kfd_processes_table, bucket, p, kfd_processes) {
		if (p->pasid != pasid)
			continue;
		if (kref_get_unless_zero(&p->ref))
			found = p;
		break;
	}
	rcu_read_unlock();
	return found;
}

struct kfd_process *kfd_lookup_process_after(u32 pasid)
{
	struct kfd_process *p, *next = NULL;
	int bucket;

	rcu_read_lock();
	hash_for_each_rcu(kfd_processes_table, bucket, p, kfd_processes) {
		if (p->pasid <= pasid || (next && p->pasid > next->pasid) ||
		    !kref_get_unless_zero(&p->ref))
			continue;
		if (next)
			kfd_unref_process(next);
		next = p;
	}
	rcu_read_unlock();
	return next;
}

static void kfd_process_last_ref(struct kref *ref)
{
	struct kfd_process *p = container_of(ref, struct kfd_process, ref);

	queue_work(kfd_process_wq, &p->release_work);
}

void kfd_unref_process(struct kfd_process *p)
{
	kref_put(&p->ref, kfd_process_last_ref);
}

struct kfd_process_device *kfd_process_device_by_gpu_id(struct kfd_process *p,
							u32 gpu_id)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (READ_ONCE(p->pdds[i]->gpu_id) == gpu_id)
			return p->pdds[i];
	return NULL;
}

struct kfd_process_device *kfd_process_device_by_node_id(struct kfd_process *p,
							 u32 gpu_id)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (p->pdds[i]->node->gpu_id == gpu_id)
			return p->pdds[i];
	return NULL;
}

int kfd_process_gpuidx(struct kfd_process *p, struct vgpu_device *vdev)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (p->pdds[i]->node->vdev == vdev)
			return i;
	return -EINVAL;
}

struct kfd_process_device *kfd_process_device_of(struct kfd_process *p,
						 struct vgpu_device *vdev)
{
	int i = kfd_process_gpuidx(p, vdev);

	return i < 0 ? NULL : p->pdds[i];
}

void kfd_process_report_eviction(struct kfd_process *p,
				 enum KFD_QUEUE_EVICTION_TRIGGERS trigger)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		kfd_smi_queue_eviction(&p->pdds[i]->node->smi,
				       p->lead_thread->pid, trigger);
}

void kfd_process_report_restore(struct kfd_process *p, bool on)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		kfd_smi_queue_restore(&p->pdds[i]->node->smi,
				      p->lead_thread->pid, on);
}

/* Creation and destruction. */

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
	kfd_doorbell_free(pdd);
	kfd_mmio_zap(pdd->node);
	if (pdd->drm_file)
		fput(pdd->drm_file);
	idr_destroy(&pdd->alloc_idr);
	kfd_qpd_fini(pdd);
	kfd_dbg_device_fini(pdd);
	kfree(pdd);
	/* The node may be gone once the count is zero; its address will do. */
	if (atomic_dec_and_test(n_pdds))
		wake_up_var(n_pdds);
}

void kfd_process_destroy_queues(struct kfd_process *p)
{
	struct kfd_queue *q, *next;
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		list_for_each_entry_safe(q, next, &p->pdds[i]->qpd->queues, link)
			kfd_queue_destroy(q);
}

/* Nobody else has the process, or ever had: a creation that failed. */
static void kfd_process_destroy(struct kfd_process *p)
{
	mutex_lock(&p->mutex);
	kfd_process_destroy_queues(p);
	mutex_unlock(&p->mutex);
	kfd_process_info_fini(&p->kgd_process_info);
	kfd_events_fini(p);
	svm_range_list_fini(p);
	mutex_lock(&p->mutex);
	kgd_mem_free_all(p);
	mutex_unlock(&p->mutex);
	kfd_criu_fini(p);
	while (p->n_pdds)
		kfd_process_free_pdd(p->pdds[--p->n_pdds]);
	if (p->pasid)
		kfd_pasid_free(p->pasid);
	put_task_struct(p->lead_thread);
	mutex_destroy(&p->queue_lock);
	mutex_destroy(&p->mutex);
	kfd_dbg_fini(p);
	kfree_rcu(p, rcu);
	if (atomic_dec_and_test(&kfd_n_processes))
		wake_up_var(&kfd_n_processes);
}

static void kfd_process_release_work(struct work_struct *work)
{
	kfd_process_destroy(container_of(work, struct kfd_process,
					 release_work));
}

/*
 * End the process for all but those who hold a reference. Once; further calls
 * do nothing.
 */
static void kfd_process_detach(struct kfd_process *p)
{
	bool hashed;
	u32 i;

	mutex_lock(&kfd_processes_mutex);
	hashed = hash_hashed(&p->kfd_processes);
	hash_del_rcu(&p->kfd_processes);
	mutex_unlock(&kfd_processes_mutex);
	if (!hashed)
		return;

	/* Its memory is about to go, and nobody waits for its results. */
	for (i = 0; i < p->n_pdds; i++)
		kfd_process_evict_queues(p->pdds[i]);
	kfd_dbg_close(p);
	kfd_events_close(p);
	kfd_procfs_remove(p);
	mmu_notifier_put(&p->mmu_notifier);
}

static void kfd_process_mm_release(struct mmu_notifier *mn,
				   struct mm_struct *mm)
{
	kfd_process_detach(container_of(mn, struct kfd_process, mmu_notifier));
}

static void kfd_process_free_notifier(struct mmu_notifier *mn)
{
	kfd_unref_process(container_of(mn, struct kfd_process, mmu_notifier));
}

static const struct mmu_notifier_ops kfd_process_mmu_notifier_ops = {
	.release = kfd_process_mm_release,
	.free_notifier = kfd_process_free_notifier,
};

/*
 * Allocate the process's PASID and its state for each GPU, and hash it. After an
 * error kfd_process_destroy() frees them. kfd_processes_mutex held.
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
	hash_add_rcu(kfd_processes_table, &p->kfd_processes, (uintptr_t)p->mm);
	kfd_procfs_add(p);
	return 0;
}

static struct kfd_process *kfd_process_alloc(struct mm_struct *mm,
					     struct task_struct *leader)
{
	struct kfd_process *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	if (kfd_events_init(p))
		goto err_free;
	if (kfd_dbg_init(p))
		goto err_events;
	if (kfd_criu_init(p))
		goto err_dbg;
	atomic_inc(&kfd_n_processes);
	p->mm = mm;
	p->lead_thread = get_task_struct(leader);
	kref_init(&p->ref);
	INIT_WORK(&p->release_work, kfd_process_release_work);
	mutex_init(&p->mutex);
	mutex_init(&p->queue_lock);
	kfd_queue_lockdep_init(p);
	kfd_process_info_init(&p->kgd_process_info);
	INIT_HLIST_NODE(&p->kfd_processes);
	p->mmu_notifier.ops = &kfd_process_mmu_notifier_ops;
	return p;

err_dbg:
	kfd_dbg_fini(p);
err_events:
	kfd_events_fini(p);
err_free:
	kfree(p);
	return NULL;
}

/*
 * Register the process's own MMU notifier. A notifier that the mm already has may
 * belong to a process that kfd_process_detach() is ending, so none is reused. The
 * caller holds a reference on mm_users and no lock: another thread may hold
 * mmap_lock for any time. Killable.
 */
static int kfd_process_register(struct kfd_process *p)
{
	struct mm_struct *mm = p->mm;
	int ret = mmap_write_lock_killable(mm);

	if (ret)
		return ret;
	ret = __mmu_notifier_register(&p->mmu_notifier, mm);
	mmap_write_unlock(mm);
	return ret;
}

static int kfd_process_create(struct mm_struct *mm, struct task_struct *leader)
{
	struct kfd_process *p = kfd_process_alloc(mm, leader);
	int ret;

	if (!p)
		return -ENOMEM;
	ret = kfd_process_register(p);
	if (ret) {
		kfd_unref_process(p);
		return ret;
	}
	mutex_lock(&kfd_processes_mutex);
	/* Another thread of the process may have hashed it meanwhile. */
	ret = kfd_process_find(mm) ? -EEXIST : kfd_process_publish(p);
	mutex_unlock(&kfd_processes_mutex);
	/* The reference goes with the notifier. */
	if (ret)
		mmu_notifier_put(&p->mmu_notifier);
	return ret == -EEXIST ? 0 : ret;
}

struct task_struct *kfd_get_thread(pid_t pid, struct mm_struct **mm)
{
	struct task_struct *thread;
	struct pid *ref;

	ref = find_get_pid(pid);
	thread = get_pid_task(ref, PIDTYPE_PID);
	put_pid(ref);
	if (!thread)
		return NULL;
	*mm = get_task_mm(thread);
	if (*mm)
		return thread;
	put_task_struct(thread);
	return NULL;
}

int kfd_process_open(struct task_struct *thread, struct mm_struct *mm)
{
	struct pid *pid = get_task_pid(thread, PIDTYPE_TGID);
	struct task_struct *leader = get_pid_task(pid, PIDTYPE_TGID);
	bool known;
	int ret = 0;

	put_pid(pid);
	if (!leader)
		return -ESRCH;	/* it has ended */

	rcu_read_lock();
	known = kfd_process_find(mm);
	rcu_read_unlock();
	/* Only threads of one process share an mm (no vfork(), no CLONE_VM). */
	if (READ_ONCE(leader->mm) != mm)
		ret = -EINVAL;
	else if (!known)
		ret = kfd_process_create(mm, leader);
	put_task_struct(leader);
	return ret;
}

static bool kfd_process_knows(struct kfd_process *p, struct kfd_node *node)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (p->pdds[i]->node == node)
			return true;
	return !node;
}

/* A process that knows @node, referenced, or NULL. */
static struct kfd_process *kfd_process_next_user(struct kfd_node *node)
{
	struct kfd_process *p, *found = NULL;
	int bucket;

	mutex_lock(&kfd_processes_mutex);
	hash_for_each(kfd_processes_table, bucket, p, kfd_processes) {
		if (!kfd_process_knows(p, node))
			continue;
		/* The hash has a reference. */
		kref_get(&p->ref);
		found = p;
		break;
	}
	mutex_unlock(&kfd_processes_mutex);
	return found;
}

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

/* The address space comes with a DRM file, which serves one process only. */
static int kfd_process_claim_drm_file(struct kfd_process_device *pdd,
				      struct file *drm_file)
{
	struct kfd_process *p;
	int bucket, ret = 0;
	u32 i;

	mutex_lock(&kfd_processes_mutex);
	hash_for_each(kfd_processes_table, bucket, p, kfd_processes)
		for (i = 0; i < p->n_pdds; i++)
			if (p->pdds[i]->drm_file == drm_file)
				ret = -EINVAL;
	if (!ret)
		pdd->drm_file = drm_file;
	mutex_unlock(&kfd_processes_mutex);
	return ret;
}

int kfd_process_device_init_vm(struct kfd_process_device *pdd,
			       struct file *drm_file)
{
	struct vgpu_device *vdev = pdd->node->vdev;
	struct drm_file *drm_priv;
	struct vgpu_vm *vm;
	int ret;

	lockdep_assert_held(&pdd->process->mutex);

	drm_priv = vgpu_drm_file_of(drm_file, vdev);
	if (!drm_priv)
		return -EINVAL;
	ret = kfd_process_claim_drm_file(pdd, drm_file);
	if (ret)
		return ret;
	vm = vgpu_vm_create(vdev, pdd->process->pasid, true);
	ret = PTR_ERR_OR_ZERO(vm);
	if (!ret) {
		ret = vgpu_drm_file_acquire(drm_priv, pdd->process->pasid);
		if (ret)
			vgpu_vm_destroy(vm);
	}
	if (ret) {
		mutex_lock(&kfd_processes_mutex);
		pdd->drm_file = NULL;
		mutex_unlock(&kfd_processes_mutex);
		return ret;
	}
	pdd->drm_priv = drm_priv;
	/* svm/ looks without the mutex. */
	smp_store_release(&pdd->vm, vm);
	return 0;
}

int kfd_process_init(void)
{
	int ret = kfd_evict_init();

	if (ret)
		return ret;
	kfd_process_wq = alloc_workqueue("kfd_process_wq",
					 WQ_UNBOUND | WQ_FREEZABLE, 0);
	if (!kfd_process_wq) {
		kfd_evict_exit();
		return -ENOMEM;
	}
	return 0;
}

void kfd_process_exit(void)
{
	wait_var_event(&kfd_n_processes, !atomic_read(&kfd_n_processes));
	/* The last callback and the last work item may not have returned. */
	mmu_notifier_synchronize();
	destroy_workqueue(kfd_process_wq);
	kfd_evict_exit();
}
