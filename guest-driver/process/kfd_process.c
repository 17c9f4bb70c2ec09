// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps the hash of processes, looks processes up, reports faults that cannot be repaired, and
 * implements ACQUIRE_VM. kfd/core/kfd_process_life.c creates and destroys processes.
 */
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <kunit/visibility.h>

#include "vm/vgpu_vm.h"
#include "kfd_evict.h"
#include "kfd_node.h"
#include "kfd_process.h"
#include "kfd_process_trace.h"

/* Documented in kfd_process.h. */
const struct kfd_process_ops *kfd_process_ops;

static const struct kfd_render_ops *kfd_render_ops;

/* Documented in kfd_process.h. */
DEFINE_MUTEX(kfd_processes_mutex);
EXPORT_SYMBOL_IF_KUNIT(kfd_processes_mutex);

static DEFINE_HASHTABLE(kfd_processes_table, 5);
static struct workqueue_struct *kfd_process_wq;
static atomic_t kfd_n_processes = ATOMIC_INIT(0);

/**
 * kfd_processes_in_use() - count the processes
 *
 * Context: any.
 *
 * Return: number of processes on all GPUs, including those whose teardown has not ended.
 */
unsigned int kfd_processes_in_use(void)
{
	return atomic_read(&kfd_n_processes);
}

/*
 * Reclaim waits for p->queue_lock, because MMU notifiers take it. Declare this order to
 * lockdep before the first reclaim.
 */
static void kfd_process_lockdep_init(struct kfd_process *p)
{
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&p->queue_lock);
	fs_reclaim_release(GFP_KERNEL);
}

/**
 * kfd_process_alloc() - allocate a process
 * @mm: address space; the caller holds a reference until the MMU notifier is registered
 * @leader: main thread of the process
 *
 * The new process has no PASID and no GPU, and is not in the hash of processes.
 *
 * Context: sleeps.
 *
 * Return: the process with one reference, or NULL.
 */
struct kfd_process *kfd_process_alloc(struct mm_struct *mm,
				      struct task_struct *leader)
{
	struct kfd_process *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	if (kfd_process_info_init(p)) {
		kfree(p);
		return NULL;
	}
	atomic_inc(&kfd_n_processes);
	p->mm = mm;
	p->lead_thread = get_task_struct(leader);
	kref_init(&p->ref);
	mutex_init(&p->mutex);
	mutex_init(&p->queue_lock);
	kfd_process_lockdep_init(p);
	INIT_HLIST_NODE(&p->kfd_processes);
	trace_vgpu_process_alloc(leader->pid);
	return p;
}

/**
 * kfd_process_free() - free a process
 * @p: process without references; only what kfd_process_alloc() has allocated is left
 *
 * Context: process context.
 */
void kfd_process_free(struct kfd_process *p)
{
	trace_vgpu_process_free(p->lead_thread->pid);
	put_task_struct(p->lead_thread);
	mutex_destroy(&p->queue_lock);
	mutex_destroy(&p->mutex);
	kfd_process_info_free(p);
	/* Lookups may still read the structure. */
	kfree_rcu(p, rcu);
	/* kfd_process_exit() waits until no process is left. */
	if (atomic_dec_and_test(&kfd_n_processes))
		wake_up_var(&kfd_n_processes);
}

/*
 * Find the process with the address space @mm in the hash, or return NULL. The caller is in an RCU
 * read-side section or holds kfd_processes_mutex.
 */
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

/**
 * kfd_process_is_known() - whether the hash of processes has a process of an address space
 * @mm: address space
 *
 * Context: any. The result stays valid while the caller holds kfd_processes_mutex.
 *
 * Return: true if the hash has a process of @mm.
 */
bool kfd_process_is_known(const struct mm_struct *mm)
{
	bool known;

	rcu_read_lock();
	known = kfd_process_find(mm);
	rcu_read_unlock();
	return known;
}

/**
 * kfd_process_hash() - add a process to the hash, so that lookups find it
 * @p: process with PASID and GPUs
 *
 * Context: kfd_processes_mutex is held.
 */
void kfd_process_hash(struct kfd_process *p)
{
	lockdep_assert_held(&kfd_processes_mutex);

	hash_add_rcu(kfd_processes_table, &p->kfd_processes, (uintptr_t)p->mm);
	trace_vgpu_process_hash(p->lead_thread->pid);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_hash);

/**
 * kfd_process_unhash() - remove a process from the hash
 * @p: process
 *
 * Context: takes kfd_processes_mutex.
 *
 * Return: true if the process was in the hash, false if it was not.
 */
bool kfd_process_unhash(struct kfd_process *p)
{
	bool hashed;

	mutex_lock(&kfd_processes_mutex);
	hashed = hash_hashed(&p->kfd_processes);
	hash_del_rcu(&p->kfd_processes);
	mutex_unlock(&kfd_processes_mutex);
	if (hashed)
		trace_vgpu_process_unhash(p->lead_thread->pid);
	return hashed;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_process_unhash);

/**
 * kfd_lookup_process_by_mm() - find the process of an address space
 * @mm: address space
 *
 * Context: any, interrupts included.
 *
 * Return: a process with a reference that the caller drops by kfd_unref_process();
 * NULL if there is no such process or its mm has ended.
 */
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

/**
 * kfd_lookup_process_by_pasid() - find the process with a PASID
 * @pasid: PASID
 *
 * Context: any, interrupts included.
 *
 * Return: as kfd_lookup_process_by_mm().
 */
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

/**
 * kfd_lookup_process_after() - find the process with the next higher PASID
 * @pasid: PASID of the process that the previous call returned, or 0 in the first call
 *
 * For loops that visit all processes and hold no lock between two visits.
 *
 * Context: any. Does not allocate.
 *
 * Return: a process with a reference that the caller drops by kfd_unref_process(); NULL after the
 * last process.
 */
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

/**
 * kfd_unref_process() - drop a reference to a process
 * @p: process
 *
 * Dropping the last reference queues the teardown of the process, which never runs in the caller's
 * context.
 *
 * Context: any, interrupts included.
 */
void kfd_unref_process(struct kfd_process *p)
{
	kref_put(&p->ref, kfd_process_last_ref);
}

/**
 * kfd_process_device_by_gpu_id() - find a process's state on a GPU by the GPU's id in ioctls
 * @p: process
 * @gpu_id: kfd_process_device.gpu_id, the GPU's id in ioctls of this process
 *
 * Context: any; takes no lock, since kfd_process.pdds does not change.
 *
 * Return: the state, or NULL if no GPU of @p has this id.
 */
struct kfd_process_device *kfd_process_device_by_gpu_id(struct kfd_process *p,
							u32 gpu_id)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (READ_ONCE(p->pdds[i]->gpu_id) == gpu_id)
			return p->pdds[i];
	return NULL;
}

/**
 * kfd_process_device_by_node_id() - find a process's state on a GPU by the GPU's global id
 * @p: process
 * @gpu_id: kfd_node.gpu_id, the same for all processes. User space passes this id in the offset of
 *          mmap(), and a debugger passes it in ioctls
 *
 * Context: any; takes no lock.
 *
 * Return: as kfd_process_device_by_gpu_id().
 */
struct kfd_process_device *kfd_process_device_by_node_id(struct kfd_process *p,
							 u32 gpu_id)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (p->pdds[i]->node->gpu_id == gpu_id)
			return p->pdds[i];
	return NULL;
}

/**
 * kfd_process_gpuidx() - find the index of a device in kfd_process.pdds
 * @p: process
 * @vdev: device
 *
 * Context: any; takes no lock.
 *
 * Return: the index, or -EINVAL if @p was created without the device.
 */
int kfd_process_gpuidx(struct kfd_process *p, struct vgpu_device *vdev)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (p->pdds[i]->node->vdev == vdev)
			return i;
	return -EINVAL;
}

/**
 * kfd_process_device_of() - find a process's state on a device
 * @p: process
 * @vdev: device
 *
 * Context: any; takes no lock.
 *
 * Return: the state, or NULL if @p was created without the device.
 */
struct kfd_process_device *kfd_process_device_of(struct kfd_process *p,
						 struct vgpu_device *vdev)
{
	int i = kfd_process_gpuidx(p, vdev);

	return i < 0 ? NULL : p->pdds[i];
}

/**
 * kfd_process_report_eviction() - send each GPU's SMI clients the event of an eviction
 * @p: process whose queues have been taken off the hardware
 * @trigger: reason of the eviction
 *
 * Context: any except interrupts.
 */
void kfd_process_report_eviction(struct kfd_process *p,
				 enum KFD_QUEUE_EVICTION_TRIGGERS trigger)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		kfd_smi_queue_eviction(&p->pdds[i]->node->smi,
				       p->lead_thread->pid, trigger);
}

/**
 * kfd_process_report_restore() - send each GPU's SMI clients the event of a restore
 * @p: process
 * @on: true if the queues may run again, false if the restore failed and will be repeated
 *
 * Context: any except interrupts.
 */
void kfd_process_report_restore(struct kfd_process *p, bool on)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		kfd_smi_queue_restore(&p->pdds[i]->node->smi,
				      p->lead_thread->pid, on);
}

/**
 * kfd_process_stopped_for() - stop the queues of a process on a GPU, and log the reason
 * @pdd: state of the process on the GPU
 * @fmt: printf format of the reason, followed by its arguments
 *
 * A stopped queue does not run again; user space can only destroy it.
 *
 * Context: takes kfd_process.queue_lock. Process context.
 */
void kfd_process_stopped_for(struct kfd_process_device *pdd, const char *fmt, ...)
{
	DECLARE_BITMAP(stopped, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
	struct kfd_process *p = pdd->process;
	struct va_format what = { .fmt = fmt };
	char comm[TASK_COMM_LEN];
	va_list ap;

	bitmap_zero(stopped, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
	kfd_process_ops->stop_queues(pdd, stopped);

	get_task_comm(comm, p->lead_thread);
	va_start(ap, fmt);
	what.va = &ap;
	dev_err_ratelimited(pdd->node->vdev->drm.dev,
			    "%pV by pid %d (%s), pasid %u; queues stopped: %*pbl\n",
			    &what, p->lead_thread->pid, comm, p->pasid,
			    KFD_MAX_NUM_OF_QUEUES_PER_PROCESS, stopped);
	va_end(ap);
}

/**
 * kfd_process_vm_fault() - stop the queues of a process after a fault that cannot be repaired
 * @pdd: state of the process on the GPU
 * @page: page of the fault
 * @write: true if the access was a write
 *
 * The caller then reports the fault by kfd_process_report_vm_fault().
 *
 * Context: takes kfd_process.queue_lock. Process context.
 */
void kfd_process_vm_fault(struct kfd_process_device *pdd, unsigned long page,
			  bool write)
{
	kfd_process_stopped_for(pdd, "GPU memory fault: %s of 0x%llx",
				write ? "write" : "read",
				(u64)page << PAGE_SHIFT);
}

/**
 * kfd_process_report_vm_fault() - report a fault that cannot be repaired
 * @pdd: state of the process on the GPU; kfd_process_vm_fault() has stopped its queues
 * @page: page of the fault
 * @not_present: true if the hardware found no valid PTE
 * @write: true if the access was a write
 *
 * The report wakes user space, which may then map memory at @page. So the caller must not write the
 * PTE of @page after the report.
 *
 * Context: the fault worker.
 */
void kfd_process_report_vm_fault(struct kfd_process_device *pdd,
				 unsigned long page, bool not_present,
				 bool write)
{
	struct task_struct *task = pdd->process->lead_thread;
	u64 va = (u64)page << PAGE_SHIFT;
	char comm[TASK_COMM_LEN];

	get_task_comm(comm, task);
	kfd_smi_vm_fault(&pdd->node->smi, task->pid, comm);
	kfd_process_ops->memory_exception(pdd, va, not_present, write);
}

/**
 * kfd_get_thread() - find a thread and its address space
 * @pid: thread id in the current task's PID namespace
 * @mm: on success, set to the thread's address space, with a reference
 *
 * Context: process context.
 *
 * Return: the thread, with a reference; NULL if the thread or its address space does not exist. The
 * caller drops both references.
 */
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

static bool kfd_process_knows(struct kfd_process *p, struct kfd_node *node)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (p->pdds[i]->node == node)
			return true;
	return !node;
}

/**
 * kfd_process_next_user() - find a process that uses a GPU
 * @node: GPU, or NULL to find any process, even one without GPUs
 *
 * Context: takes kfd_processes_mutex.
 *
 * Return: a process with a reference that the caller drops, or NULL if there is none.
 */
struct kfd_process *kfd_process_next_user(struct kfd_node *node)
{
	struct kfd_process *p, *found = NULL;
	int bucket;

	mutex_lock(&kfd_processes_mutex);
	hash_for_each(kfd_processes_table, bucket, p, kfd_processes) {
		if (!kfd_process_knows(p, node))
			continue;
		/* The hash holds a reference, so the count is not 0. */
		kref_get(&p->ref);
		found = p;
		break;
	}
	mutex_unlock(&kfd_processes_mutex);
	return found;
}

/* Set @pdd->drm_file. Returns 0, or -EINVAL if a process has already acquired that file. */
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

/**
 * kfd_process_set_render_ops() - set the operations on files of the render node
 * @ops: operations, valid until the module is unloaded
 *
 * Context: module init, before the first device.
 */
void kfd_process_set_render_ops(const struct kfd_render_ops *ops)
{
	kfd_render_ops = ops;
}

/**
 * kfd_process_device_init_vm() - give a process its address space on a GPU
 * @pdd: state of the process on the GPU, without an address space
 * @drm_file: DRM file; on success, @pdd takes over the caller's reference
 *
 * Context: kfd_process.mutex is held. Takes kfd_processes_mutex; sleeps.
 *
 * Return:
 * * 0, -ENOMEM
 * * -EINVAL: @drm_file is not a file of this GPU, or has an address space already
 */
int kfd_process_device_init_vm(struct kfd_process_device *pdd,
			       struct file *drm_file)
{
	struct vgpu_device *vdev = pdd->node->vdev;
	struct drm_file *drm_priv;
	struct vgpu_vm *vm;
	int ret;

	lockdep_assert_held(&pdd->process->mutex);

	drm_priv = kfd_render_ops->file_of(drm_file, vdev);
	if (!drm_priv)
		return -EINVAL;
	ret = kfd_process_claim_drm_file(pdd, drm_file);
	if (ret)
		return ret;
	vm = vgpu_vm_create(vdev, pdd->process->pasid, true);
	ret = PTR_ERR_OR_ZERO(vm);
	if (!ret) {
		ret = kfd_render_ops->acquire(drm_priv, pdd->process->pasid);
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
	/*
	 * Set vm last, with release semantics, because svm/, kfd_mem_gem_device() and
	 * kfd_reset_process() read pdd->vm without kfd_process.mutex.
	 */
	smp_store_release(&pdd->vm, vm);
	return 0;
}

/**
 * kfd_process_init() - create the workqueues of processes and evictions
 *
 * Context: module init, before the first process.
 *
 * Return: 0 or -ENOMEM.
 */
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

/**
 * kfd_process_exit() - wait for the teardown of all processes, then undo kfd_process_init()
 *
 * Context: module exit; sleeps. No process can be created any more.
 */
void kfd_process_exit(void)
{
	wait_var_event(&kfd_n_processes, !atomic_read(&kfd_n_processes));
	/*
	 * Wait for the notifier callback and the work item that freed the last process: both may
	 * still run.
	 */
	mmu_notifier_synchronize();
	destroy_workqueue(kfd_process_wq);
	kfd_evict_exit();
}
