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
 */
struct kfd_process_device {
	/** @node: the GPU */
	struct kfd_node *node;
	/** @process: the process; owns this structure */
	struct kfd_process *process;
	/**
	 * @gpu_id: the GPU's id in ioctls of this process: kfd_node.gpu_id, or the id that CRIU has
	 * restored from a checkpoint. Written under kfd_process.mutex, read without a lock
	 */
	u32 gpu_id;
	/**
	 * @drm_file: file of the DRM node, from ACQUIRE_VM; NULL before ACQUIRE_VM. This structure
	 * holds a reference to the file. A writer holds both kfd_process.mutex and
	 * kfd_processes_mutex, a reader holds one of the two
	 */
	struct file *drm_file;
	/** @drm_priv: struct drm_file of @drm_file, through which the process may mmap its BOs */
	struct drm_file *drm_priv;
	/**
	 * @vm: address space, NULL before ACQUIRE_VM; set once, with release semantics, for readers
	 * without kfd_process.mutex
	 */
	struct vgpu_vm *vm;
	/**
	 * @alloc_idr: the process's struct kgd_mem on the GPU, indexed by the low half of the
	 * handle; protected by kfd_process.mutex
	 */
	struct idr alloc_idr;
	/**
	 * @attachments: list of the struct kfd_mem_attachment of every BO in @vm; protected by
	 * kfd_process.mutex
	 */
	struct list_head attachments;
	/**
	 * @doorbells: the process's slice of the doorbell BAR, NULL until the first queue or
	 * mapping needs it; set once, with release semantics
	 */
	struct vgpu_bo *doorbells;
	/** @qpd: queues of the process on the GPU; kfd_qpd_init() allocates it */
	struct qcm_process_device *qpd;
	/**
	 * @evicted: number of reasons that keep the queues off the hardware; if 0, the queues may
	 * run. Protected by kfd_process.queue_lock
	 */
	unsigned int evicted;
	/** @flags: bits KFD_PDD_*, accessed by atomic bit operations */
	unsigned long flags;
	/**
	 * @lost_reported: true if the last recovery found the page tables in @vm lost. The process
	 * got a report, so the next recovery does not report the same loss again. Used by recovery
	 * only
	 */
	bool lost_reported;
	/**
	 * @dbg: exceptions of the process on the GPU, for a debugger; kfd_dbg_device_init()
	 * allocates it
	 */
	struct kfd_dbg_device *dbg;
	/**
	 * @sh_hidden_private_base: address of the shaders' scratch memory; protected by
	 * kfd_process.mutex
	 */
	u64 sh_hidden_private_base;
	/** @tba_addr: address of the trap handler; protected by kfd_process.mutex */
	u64 tba_addr;
	/** @tma_addr: address of the trap handler's memory; protected by kfd_process.mutex */
	u64 tma_addr;
	/**
	 * @vram_usage: bytes of VRAM allocated by ALLOC_MEMORY_OF_GPU. Changed under
	 * kfd_process.mutex, read by sysfs without a lock
	 */
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
 */
struct kfd_process {
	/** @kfd_processes: node in the hash by @mm; written under kfd_processes_mutex */
	struct hlist_node kfd_processes;
	/**
	 * @mm: struct mm_struct of the address space; key of the hash. The registration of
	 * @mmu_notifier holds a reference (mm_count) to the structure, but none to the memory of
	 * the address space
	 */
	void *mm;
	/** @lead_thread: main thread, referenced */
	struct task_struct *lead_thread;
	/** @pasid: id of the address space in the hardware, the same on every GPU */
	u16 pasid;
	/**
	 * @ref: reference count. @mmu_notifier owns a reference until after mmu_notifier_put(). The
	 * process leaves the hash before mmu_notifier_put(). So the count is not 0 while the
	 * process is in the hash
	 */
	struct kref ref;
	/** @release_work: tears the process down after the last reference */
	struct work_struct release_work;
	/** @rcu: frees the structure after all lookups that may still read it */
	struct rcu_head rcu;
	/**
	 * @mutex: protects BOs, VMs, and the creation and removal of queues. Never taken in a
	 * notifier, in reclaim or in the fault path
	 */
	struct mutex mutex;
	/**
	 * @queue_lock: protects the state that decides whether a queue runs. Taken after @mutex.
	 * Notifiers take @queue_lock to evict queues, so the holder neither allocates nor waits for
	 * reclaim
	 */
	struct mutex queue_lock;
	/**
	 * @pdds: state on each GPU that existed when the process was created; the array does not
	 * change
	 */
	struct kfd_process_device *pdds[KFD_MAX_GPU_INSTANCE];
	/** @n_pdds: number of GPUs in @pdds; may be 0; does not change */
	u32 n_pdds;
	/** @pqm: queue ids */
	struct process_queue_manager pqm;
	/**
	 * @kgd_process_info: BOs of the process, and their eviction and restore
	 * (kfd_evict_priv.h); the pointer does not change
	 */
	struct amdkfd_process_info *kgd_process_info;
	/**
	 * @ef: newest eviction fence of the BOs, or NULL while the process has no queues. Written
	 * under @mutex and @queue_lock, read under either
	 */
	struct dma_fence *ef;
	/**
	 * @eviction_work: takes the queues off the hardware and signals @ef; queued when a task
	 * first waits for @ef
	 */
	struct work_struct eviction_work;
	/** @restore_work: restores the BOs, then the queues */
	struct delayed_work restore_work;
	/** @events: HSA events; kfd_events_init() allocates it */
	struct kfd_events *events;
	/**
	 * @dbg: debug sessions of the process, and the arguments of the last RUNTIME_ENABLE;
	 * kfd_dbg_init() allocates it
	 */
	struct kfd_dbg *dbg;
	/**
	 * @debug_trap_enabled: true if a debugger has a session on the process. Written by
	 * kfd/debug/ under @queue_lock, read with or without this lock
	 */
	bool debug_trap_enabled;
	/** @svms: SVM ranges; svm_range_list_init() allocates it */
	struct svm_range_list *svms;
	/**
	 * @xnack_enabled: true if page faults of the process are repaired. Written by
	 * svm_set_xnack() under @mutex; the fault path and notifiers read it without a lock
	 */
	bool xnack_enabled;
	/**
	 * @criu_state: state of a checkpoint or restore. In any state except KFD_CRIU_NONE, the
	 * queues are off the hardware. Protected by @mutex
	 */
	enum kfd_criu_state criu_state;
	/**
	 * @criu_owner: current->files of the process that has paused this process for a checkpoint,
	 * or NULL. Written under @mutex, read without a lock
	 */
	fl_owner_t criu_owner;
	/**
	 * @suspended: true if the queues are off the hardware because the system sleeps; protected
	 * by @mutex
	 */
	bool suspended;
	/** @mmu_notifier: notifier of @mm; called when the memory of @mm is about to be freed */
	struct mmu_notifier mmu_notifier;
	/**
	 * @kobj: sysfs folder kfd/proc/<pid>, or NULL; removed when the process leaves the hash.
	 * Protected by kfd_procfs_mutex
	 */
	struct kobject *kobj;
	/**
	 * @procfs: files of @kobj, or NULL; kfd_procfs.c allocates and frees them with @kobj.
	 * Protected by kfd_procfs_mutex
	 */
	struct kfd_procfs_files *procfs;
	/**
	 * @debugfs: debugfs folder kfd/proc/<pid>; created after the process has entered the hash,
	 * and removed after the process has left the hash
	 */
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
 * Protects the process hash, the list of nodes, and kfd_process_device.drm_file. Taken after
 * kfd_process.mutex. A holder never waits for an mmap_lock: all processes would wait.
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
 */
struct kfd_process_ops {
	/**
	 * @sync_queues: load or unload a process's queues on a GPU, as kfd_process_device.evicted
	 * and queue states require. Allocates nothing: kfd_process.queue_lock is held. Return: 0,
	 * -ETIME (hardware timeout)
	 */
	int (*sync_queues)(struct kfd_process_device *pdd);
	/**
	 * @map_wptrs: map the write pointers of a process's SDMA queues again. Called after BOs may
	 * have moved, and before the queues run. If a write pointer has no memory, stops the queue.
	 * The caller holds kfd_process.mutex
	 */
	void (*map_wptrs)(struct kfd_process *p);
	/**
	 * @stop_queues: stop all queues of a process on a GPU for good. @ran is NULL or a bitmap of
	 * queue ids; the function sets the bits of queues that were on the hardware. Takes
	 * kfd_process.queue_lock
	 */
	void (*stop_queues)(struct kfd_process_device *pdd, unsigned long *ran);
	/**
	 * @memory_exception: report a memory fault to the debugger that has subscribed to memory
	 * faults or, without such a debugger, to the process. Called by the fault worker
	 */
	void (*memory_exception)(struct kfd_process_device *pdd, u64 va,
				 bool not_present, bool write);
};

/* Set by kfd_process_life_init() before the first process is created. */
extern const struct kfd_process_ops *kfd_process_ops;

/**
 * struct kfd_render_ops - functions of drm/ that process/ calls
 */
struct kfd_render_ops {
	/**
	 * @file_of: return the struct drm_file of an open file, or NULL if the file is not a
	 * primary or render node of @vdev. The result is valid while the caller holds a reference
	 * to the file
	 */
	struct drm_file *(*file_of)(struct file *filp, struct vgpu_device *vdev);
	/**
	 * @acquire: let a file use the address space of the process with @pasid until the file is
	 * closed. Return: 0, or -EINVAL if the file has an address space already
	 */
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
