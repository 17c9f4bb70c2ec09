/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes, what each has on a GPU, and how they are found. Functions without a comment
 * here are documented where they are defined.
 */
#ifndef KFD_PROCESS_H
#define KFD_PROCESS_H

#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/kfd_ioctl.h>
#include <linux/kref.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>
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
struct qcm_process_device;
struct svm_range_list;
struct task_struct;
struct vgpu_bo;
struct vgpu_device;
struct vgpu_vm;

/* Bits of kfd_process_device.flags: one of its queues has read poison. */
#define KFD_PDD_POISONED	0

/**
 * struct kfd_process_device - a process's state on one GPU
 * @node: the GPU
 * @process: the process; owns this structure
 * @gpu_id: what the process calls the GPU: as everybody else does, unless it was
 *          restored from a checkpoint, where the GPU had another id. Written
 *          under the process mutex, read without
 * @drm_file: the render node's file that ACQUIRE_VM brought, referenced; NULL
 *            before. kfd_process.mutex and, to set it, kfd_processes_mutex
 * @drm_priv: DRM's side of @drm_file; may map this process's BOs
 * @vm: address space, NULL before ACQUIRE_VM; set once, with release
 *      semantics, for readers without the mutex
 * @alloc_idr: struct kgd_mem by the low half of its handle; process mutex
 * @attachments: struct kfd_mem_attachment of every BO in @vm; process mutex
 * @doorbells: the process's slice of the doorbell BAR, NULL before it is
 *             needed; set once, with release semantics
 * @qpd: its queues; kfd_qpd_init() allocates it
 * @evicted: > 0 while the queues are off the hardware; queue_lock
 * @flags: KFD_PDD_*, atomic
 * @lost_reported: events have reported the loss of its VRAM; recovery only
 * @dbg: debugging; kfd_dbg_device_init() allocates it
 * @sh_hidden_private_base: scratch memory of the process's shaders; process
 *                          mutex, as the next two
 * @tba_addr: their trap handler
 * @tma_addr: and its memory
 * @vram_usage: bytes of VRAM allocated by ALLOC_MEMORY_OF_GPU
 * @attr_vram: "vram_<gpu id>" in kfd/proc/<pid>
 * @vram_filename: its name
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
	struct kobj_attribute attr_vram;
	char vram_filename[16];
};

/**
 * struct process_queue_manager - the queues of a process, on all GPUs
 * @queue_slot_bitmap: queue ids in use
 * @n_queues: their number
 *
 * Both under kfd_process.mutex.
 */
struct process_queue_manager {
	DECLARE_BITMAP(queue_slot_bitmap, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
	unsigned int n_queues;
};

enum kfd_criu_state {
	KFD_CRIU_NONE,
	KFD_CRIU_PAUSED,	/* by PROCESS_INFO */
	KFD_CRIU_RESTORED,	/* and not resumed yet */
};

/**
 * struct kfd_process - an mm that uses the GPUs
 * @kfd_processes: in the hash by @mm; kfd_processes_mutex to change it
 * @mm: key. @mmu_notifier keeps the structure (not the memory) from going
 * @lead_thread: main thread, referenced
 * @pasid: names the address space to the hardware, on every GPU
 * @ref: users; the hash's own reference goes with @mmu_notifier
 * @release_work: tears the process down after the last reference
 * @rcu: frees the structure when no lookup can see it
 * @mutex: protects the BOs, queues and VMs of this process. Never taken in a
 *         notifier, in reclaim or in the fault path
 * @queue_lock: protects the state of queues against eviction by notifiers and
 *              by the fault path; nothing under it allocates or waits for
 *              reclaim. Inside @mutex
 * @pdds: one for each GPU there was when the process came; fixed then
 * @n_pdds: their number
 * @pqm: queue ids
 * @kgd_process_info: BOs
 * @ef: eviction fence of the BOs: the newest; NULL if not kgd_process_info.resident.
 *      Changed with @mutex and @queue_lock held, read with either
 * @eviction_work: takes the queues off and signals @ef; queued by the first wait for it
 * @restore_work: brings the BOs and the queues back
 * @events: what can be waited for; kfd_events_init() allocates it
 * @dbg: debugging, the runtime; kfd_dbg_init() allocates it
 * @svms: SVM ranges; svm_range_list_init() allocates it
 * @xnack_enabled: page faults are repaired
 * @criu_state: the queues are off unless it is KFD_CRIU_NONE; @mutex
 * @criu_owner: files of the process that has paused this one for a checkpoint, or NULL.
 *              Written under @mutex, read without
 * @suspended: the queues are off over the system's sleep; @mutex
 * @mmu_notifier: tells when the mm goes
 * @kobj: kfd/proc/<pid>, or NULL; goes with the hash entry. This and the next
 *        under a lock of kfd_procfs.c
 * @kobj_queues: its folder "queues", or NULL
 * @attr_pasid: its file "pasid"
 * @debugfs: debugfs kfd/proc/<pid>, which is there when @kobj is; likewise
 */
struct kfd_process {
	struct hlist_node kfd_processes;
	void *mm;
	struct task_struct *lead_thread;
	u16 pasid;
	struct kref ref;
	struct work_struct release_work;
	struct rcu_head rcu;
	struct mutex mutex;		/* BOs, queues, VMs */
	struct mutex queue_lock;	/* queues on the hardware */
	struct kfd_process_device *pdds[KFD_MAX_GPU_INSTANCE];
	u32 n_pdds;
	struct process_queue_manager pqm;
	struct amdkfd_process_info kgd_process_info;
	struct dma_fence *ef;
	struct work_struct eviction_work;
	struct delayed_work restore_work;
	struct kfd_events *events;
	struct kfd_dbg *dbg;
	struct svm_range_list *svms;
	bool xnack_enabled;
	enum kfd_criu_state criu_state;
	fl_owner_t criu_owner;
	bool suspended;
	struct mmu_notifier mmu_notifier;
	struct kobject *kobj;
	struct kobject *kobj_queues;
	struct kobj_attribute attr_pasid;
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
 * Order: kfd_process.mutex -> kfd_processes_mutex. Each first open, exit and
 * removal takes it: no mmap_lock and no process's mutex is taken inside it.
 */
extern struct mutex kfd_processes_mutex;

/* Before the first process, after the last one. 0 or -ENOMEM. */
int kfd_process_init(void);
void kfd_process_exit(void);

/*
 * Each returns a referenced process that still has its mm, or NULL; pair with
 * kfd_unref_process(), which never tears down in the caller's context.
 */
struct kfd_process *kfd_lookup_process_by_pasid(u16 pasid);
struct kfd_process *kfd_lookup_process_by_mm(const struct mm_struct *mm);
void kfd_unref_process(struct kfd_process *p);
/*
 * Referenced, the process with the lowest PASID above @pasid, or NULL: to visit
 * all there are without a lock. Does not allocate.
 */
struct kfd_process *kfd_lookup_process_after(u32 pasid);

/*
 * NULL if the process does not know the GPU. No lock: @pdds is fixed. The first
 * by what the process calls it, the second by what everybody else does: in
 * offsets for mmap, and when a debugger asks.
 */
struct kfd_process_device *kfd_process_device_by_gpu_id(struct kfd_process *p,
							u32 gpu_id);
struct kfd_process_device *kfd_process_device_by_node_id(struct kfd_process *p,
							 u32 gpu_id);
struct kfd_process_device *kfd_process_device_of(struct kfd_process *p,
						 struct vgpu_device *vdev);
/* Index of the device in @p->pdds, or -EINVAL. */
int kfd_process_gpuidx(struct kfd_process *p, struct vgpu_device *vdev);

/**
 * struct kfd_process_ops - what kfd/ does for process/
 * @sync_queues: load or unload the queues of a process on a GPU, as their state asks.
 *               kfd_process.queue_lock is held; does not allocate. Return: 0 or -ETIME
 * @map_wptrs: find the write pointers of a process's queues again after BOs may have
 *             moved, before the queues run; a queue whose write pointer has gone is
 *             stopped. kfd_process.mutex is held
 * @stop_queues: stop all queues of a process on a GPU until each is destroyed; set the
 *               ids of those that ran in @ran, unless it is NULL. Takes
 *               kfd_process.queue_lock
 * @memory_exception: raise a memory fault in the debugger of the process, else in the
 *                    process. Called by the fault worker
 */
struct kfd_process_ops {
	int (*sync_queues)(struct kfd_process_device *pdd);
	void (*map_wptrs)(struct kfd_process *p);
	void (*stop_queues)(struct kfd_process_device *pdd, unsigned long *ran);
	void (*memory_exception)(struct kfd_process_device *pdd, u64 va,
				 bool not_present, bool write);
};

/* Set by kfd_process_life_init(), before the first process. */
extern const struct kfd_process_ops *kfd_process_ops;

/**
 * struct kfd_render_ops - what drm/ does for process/
 * @file_of: return the struct drm_file of an open file, or NULL if the file is not a
 *           primary or render node of the device. Valid while the caller has a reference
 *           to the file
 * @acquire: make the address space of a file that of the process with @pasid, until the
 *           file is closed. Return: 0, or -EINVAL if the file has an address space already
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

/*
 * The thread that the caller knows as @pid, and its *@mm, both referenced; NULL
 * none, or one that has ended.
 */
struct task_struct *kfd_get_thread(pid_t pid, struct mm_struct **mm);
int kfd_process_device_init_vm(struct kfd_process_device *pdd,
			       struct file *drm_file);

/* For kfd_process_life.c. */
struct kfd_process *kfd_process_alloc(struct mm_struct *mm,
				      struct task_struct *leader);
void kfd_process_free(struct kfd_process *p);
bool kfd_process_is_known(const struct mm_struct *mm);
void kfd_process_hash(struct kfd_process *p);
bool kfd_process_unhash(struct kfd_process *p);
struct kfd_process *kfd_process_next_user(struct kfd_node *node);

#endif /* KFD_PROCESS_H */
