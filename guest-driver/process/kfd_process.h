/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes that use the GPUs, their state on each GPU, and the functions that find them.
 * Functions are documented where they are defined.
 */
#ifndef KFD_PROCESS_H
#define KFD_PROCESS_H

#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/kfd_ioctl.h>
#include <linux/kobject.h>
#include <linux/kref.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "kfd_evict.h"
#include "kfd_node.h"

#define KFD_MAX_NUM_OF_QUEUES_PER_PROCESS	1024

struct dma_fence;
struct drm_file;
struct kfd_dbg;
struct kfd_dbg_device;
struct kfd_events;
struct kfd_process;
struct kfd_procfs_files;
struct qcm_process_device;
struct svm_range_list;
struct task_struct;
struct vgpu_bo;
struct vgpu_device;
struct vgpu_vm;

/*
 * Number of the bit in kfd_process_device.flags that is set if a queue of the process on this
 * GPU has read poisoned memory.
 */
#define KFD_PDD_POISONED	0

/**
 * struct kfd_process_device - a process's state on one GPU
 * @node: the GPU
 * @process: the process; owns this structure
 * @gpu_id: the GPU's id in ioctls of this process: kfd_node.gpu_id, except in a process that
 *          was restored from a checkpoint of a machine where the GPU had another id.
 *          Written under kfd_process.mutex, read without a lock
 * @drm_file: the render node's file that ACQUIRE_VM named, referenced; NULL before that.
 *            Written under kfd_process.mutex and kfd_processes_mutex, read under either
 * @drm_priv: struct drm_file of @drm_file, through which the process may mmap its BOs
 * @vm: address space, NULL before ACQUIRE_VM; set once, with release semantics, for
 *      readers without kfd_process.mutex
 * @alloc_idr: the process's struct kgd_mem on the GPU, indexed by the low half of the handle;
 *             protected by kfd_process.mutex
 * @attachments: list of the struct kfd_mem_attachment of every BO in @vm; protected by
 *               kfd_process.mutex
 * @doorbells: the process's slice of the doorbell BAR, NULL until the first queue or mapping
 *             needs it; set once, with release semantics
 * @qpd: queues of the process on the GPU; kfd_qpd_init() allocates it
 * @evicted: number of reasons that keep the queues off the hardware; if 0, the queues may run.
 *           Protected by kfd_process.queue_lock
 * @flags: bits KFD_PDD_*, accessed by atomic bit operations
 * @lost_reported: the loss of the page tables in @vm (with VRAM) was reported to the process, so
 *                 the next recovery does not report it again. Each recovery sets this member to
 *                 whether the page tables are lost; used by recovery only
 * @dbg: exceptions of the process on the GPU, for a debugger; kfd_dbg_device_init() allocates it
 * @sh_hidden_private_base: address of the shaders' scratch memory; protected by kfd_process.mutex
 * @tba_addr: address of the trap handler; protected by kfd_process.mutex
 * @tma_addr: address of the trap handler's memory; protected by kfd_process.mutex
 * @vram_usage: bytes of VRAM allocated by ALLOC_MEMORY_OF_GPU. Changed with kfd_process.mutex
 *              held, read by sysfs without a lock
 */
struct kfd_process_device {
	struct kfd_node *node;
	struct kfd_process *process;
	u32 gpu_id;
	struct file *drm_file;
	struct drm_file *drm_priv;
	struct vgpu_vm *vm;
	struct idr alloc_idr;
	struct list_head attachments;
	struct vgpu_bo *doorbells;
	struct qcm_process_device *qpd;
	unsigned int evicted;
	unsigned long flags;
	bool lost_reported;
	struct kfd_dbg_device *dbg;
	u64 sh_hidden_private_base;
	u64 tba_addr;
	u64 tma_addr;
	atomic64_t vram_usage;
};

/**
 * struct process_queue_manager - the queues of a process, on all GPUs
 * @queue_slot_bitmap: bitmap of the queue ids in use
 * @n_queues: number of ids in use
 *
 * Protected by kfd_process.mutex.
 */
struct process_queue_manager {
	DECLARE_BITMAP(queue_slot_bitmap, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
	unsigned int n_queues;
};

enum kfd_criu_state {
	KFD_CRIU_NONE,
	KFD_CRIU_PAUSED,	/* the CRIU operation PROCESS_INFO has stopped the queues */
	KFD_CRIU_RESTORED,	/* created from a checkpoint, before the CRIU operation RESUME */
};

/**
 * struct kfd_process - an address space that uses the GPUs
 * @kfd_processes: node in the hash by @mm; written under kfd_processes_mutex
 * @mm: struct mm_struct of the address space; key of the hash. The registration of @mmu_notifier
 *      holds a reference to @mm (mm_count). The reference keeps struct mm_struct allocated, but
 *      not the memory of the address space
 * @lead_thread: main thread, referenced
 * @pasid: id of the address space in the hardware, the same on every GPU
 * @ref: reference count. The hash holds a reference until @mmu_notifier reports the end of the
 *       mm
 * @release_work: tears the process down after the last reference
 * @rcu: frees the structure after all lookups that may still read it
 * @mutex: protects the BOs, queues and VMs of this process. Never taken in a notifier, in
 *         reclaim or in the fault path
 * @queue_lock: protects the state of the queues, which notifiers and the fault path change
 *              when they evict queues. So the holder neither allocates nor waits for reclaim.
 *              Taken after @mutex
 * @pdds: state on each GPU that existed when the process was created; the array does not change
 * @n_pdds: number of @pdds
 * @pqm: queue ids
 * @kgd_process_info: BOs of the process, and their eviction and restore (kfd_evict_priv.h);
 *                    constant
 * @ef: newest eviction fence of the BOs, or NULL while the process has no queues (see
 *      amdkfd_process_info.resident). Written with @mutex and @queue_lock held, read with either
 *      held
 * @eviction_work: takes the queues off the hardware and signals @ef; queued when a task first
 *                 waits for @ef
 * @restore_work: restores the BOs, then the queues
 * @events: HSA events; kfd_events_init() allocates it
 * @dbg: debug sessions of the process, and the arguments of the last RUNTIME_ENABLE; kfd_dbg_init()
 *       allocates it
 * @debug_trap_enabled: true if a debugger has a session on the process. Written by kfd/debug/
 *                      with @queue_lock held, read with or without the lock
 * @svms: SVM ranges; svm_range_list_init() allocates it
 * @xnack_enabled: true if page faults of the process are repaired. Written by svm_set_xnack()
 *                 with @mutex held; the fault path and notifiers read it without a lock
 * @criu_state: state of a checkpoint or restore; in any state except KFD_CRIU_NONE, the queues
 *              are off the hardware. Protected by @mutex
 * @criu_owner: current->files of the process that has paused this process for a checkpoint, or
 *              NULL. Written under @mutex, read without a lock
 * @suspended: true if the queues are off the hardware because the system sleeps; protected by
 *             @mutex
 * @mmu_notifier: its release callback reports the end of the mm
 * @kobj: sysfs folder kfd/proc/<pid>, or NULL; removed when the process leaves the hash.
 *        kfd_procfs_mutex protects @kobj and @procfs
 * @procfs: files of @kobj, or NULL; allocated and freed with @kobj by kfd_procfs.c
 * @debugfs: debugfs folder kfd/proc/<pid>; created after the process has entered the hash, and
 *           removed after it has left the hash
 *
 * Members of amdkfd's struct kfd_process that this driver does without:
 *
 * * context_id: the uAPI has one context for each process.
 * * is_32bit_user_mode: open() of /dev/kfd refuses 32-bit programs.
 * * event_idr: kfd_events.all has the events by id.
 */
struct kfd_process {
	struct hlist_node kfd_processes;
	void *mm;
	struct task_struct *lead_thread;
	u16 pasid;
	struct kref ref;
	struct work_struct release_work;
	struct rcu_head rcu;
	struct mutex mutex;		/* protects BOs, VMs, and creation and removal of queues */
	struct mutex queue_lock;	/* protects the state that decides whether a queue runs */
	struct kfd_process_device *pdds[KFD_MAX_GPU_INSTANCE];
	u32 n_pdds;
	struct process_queue_manager pqm;
	struct amdkfd_process_info *kgd_process_info;
	struct dma_fence *ef;
	struct work_struct eviction_work;
	struct delayed_work restore_work;
	struct kfd_events *events;
	struct kfd_dbg *dbg;
	bool debug_trap_enabled;
	struct svm_range_list *svms;
	bool xnack_enabled;
	enum kfd_criu_state criu_state;
	fl_owner_t criu_owner;
	bool suspended;
	struct mmu_notifier mmu_notifier;
	struct kobject *kobj;
	struct kfd_procfs_files *procfs;
	struct dentry *debugfs;
};

static inline struct kfd_process *release_work_to_process(struct work_struct *work)
{
	return container_of(work, struct kfd_process, release_work);
}

static inline struct kfd_process *mmu_notifier_to_process(struct mmu_notifier *mn)
{
	return container_of(mn, struct kfd_process, mmu_notifier);
}

/*
 * Protects the hash of processes, the list of nodes, and kfd_process_device.drm_file.
 * Taken after kfd_process.mutex. The holder takes neither an mmap_lock nor kfd_process.mutex,
 * because a process can hold these two locks for a long time. If the holder waited for such a lock,
 * operations of other processes would meanwhile wait for kfd_processes_mutex: the first open,
 * ACQUIRE_VM and the exit of any process. The removal of a GPU would wait, too.
 */
extern struct mutex kfd_processes_mutex;

int kfd_process_init(void);
void kfd_process_exit(void);

struct kfd_process *kfd_lookup_process_by_pasid(u16 pasid);
struct kfd_process *kfd_lookup_process_by_mm(const struct mm_struct *mm);
void kfd_unref_process(struct kfd_process *p);
struct kfd_process *kfd_lookup_process_after(u32 pasid);

struct kfd_process_device *kfd_process_device_by_gpu_id(struct kfd_process *p,
							u32 gpu_id);
struct kfd_process_device *kfd_process_device_by_node_id(struct kfd_process *p,
							 u32 gpu_id);
struct kfd_process_device *kfd_process_device_of(struct kfd_process *p,
						 struct vgpu_device *vdev);
int kfd_process_gpuidx(struct kfd_process *p, struct vgpu_device *vdev);

/**
 * struct kfd_process_ops - functions of kfd/ that process/ calls
 * @sync_queues: load the queues of a process on a GPU into the hardware, or unload them, as
 *               required by kfd_process_device.evicted and the state of each queue. The caller
 *               holds kfd_process.queue_lock; the function does not allocate. Return: 0, or
 *               -ETIME if the hardware did not complete the preemption in time
 * @map_wptrs: look up the write pointers of a process's queues again, after BOs may have
 *             moved and before the queues run; stop each queue whose write pointer is not
 *             mapped any more. The caller holds kfd_process.mutex
 * @stop_queues: stop all queues of a process on a GPU for good: afterwards user space can only
 *               destroy these queues. @ran is NULL or a bitmap of queue ids. In the bitmap, set
 *               the bit of each queue that was on the hardware. Takes kfd_process.queue_lock
 * @memory_exception: raise a memory fault in the debugger of the process or, without a
 *                    debugger, in the process. Called by the fault worker
 */
struct kfd_process_ops {
	int (*sync_queues)(struct kfd_process_device *pdd);
	void (*map_wptrs)(struct kfd_process *p);
	void (*stop_queues)(struct kfd_process_device *pdd, unsigned long *ran);
	void (*memory_exception)(struct kfd_process_device *pdd, u64 va,
				 bool not_present, bool write);
};

/* Set by kfd_process_life_init() before the first process is created. */
extern const struct kfd_process_ops *kfd_process_ops;

/**
 * struct kfd_render_ops - functions of drm/ that process/ calls
 * @file_of: return the struct drm_file of an open file, or NULL if the file is not a
 *           primary or render node of the device. Valid while the caller holds a reference
 *           to the file
 * @acquire: let a file use the address space of the process with @pasid until the file is
 *           closed. Return: 0, or -EINVAL if the file has an address space already
 */
struct kfd_render_ops {
	struct drm_file *(*file_of)(struct file *filp, struct vgpu_device *vdev);
	int (*acquire)(struct drm_file *file, u16 pasid);
};

void kfd_process_set_render_ops(const struct kfd_render_ops *ops);

__printf(2, 3)
void kfd_process_stopped_for(struct kfd_process_device *pdd, const char *fmt, ...);
void kfd_process_vm_fault(struct kfd_process_device *pdd, unsigned long page,
			  bool write);
void kfd_process_report_vm_fault(struct kfd_process_device *pdd,
				 unsigned long page, bool not_present,
				 bool write);
void kfd_process_report_eviction(struct kfd_process *p,
				 enum KFD_QUEUE_EVICTION_TRIGGERS trigger);
void kfd_process_report_restore(struct kfd_process *p, bool on);
unsigned int kfd_processes_in_use(void);

struct task_struct *kfd_get_thread(pid_t pid, struct mm_struct **mm);
int kfd_process_device_init_vm(struct kfd_process_device *pdd,
			       struct file *drm_file);

/* Only kfd_process_life.c calls the functions below. */
struct kfd_process *kfd_process_alloc(struct mm_struct *mm,
				      struct task_struct *leader);
void kfd_process_free(struct kfd_process *p);
bool kfd_process_is_known(const struct mm_struct *mm);
void kfd_process_hash(struct kfd_process *p);
bool kfd_process_unhash(struct kfd_process *p);
struct kfd_process *kfd_process_next_user(struct kfd_node *node);

#endif /* KFD_PROCESS_H */
