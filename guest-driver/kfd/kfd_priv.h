/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kfd/: /dev/kfd, processes, topology, kgd_mem, queues. This is the face that
 * svm/ and drm/ see; what only the room's own files share is in kfd_room.h,
 * kfd_mem.h and kfd_queue.h.
 */
#ifndef KFD_PRIV_H
#define KFD_PRIV_H

#include <linux/idr.h>
#include <linux/kfd_ioctl.h>
#include <linux/kref.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "../vgpu_device.h"
#include "../svm/svm.h"

#define KFD_MAX_GPU_INSTANCE			64
#define KFD_MAX_NUM_OF_QUEUES_PER_PROCESS	1024

struct drm_file;
struct kfd_process;
struct kfd_process_device;

/**
 * struct kfd_node - a GPU as KFD sees it
 * @vdev: the GPU; alive as long as the node is
 * @gpu_id: what user space names it by; 16 bits, not zero, unique
 * @topology_id: number of its folder in the topology; under the topology's lock
 * @queue_lock: protects @sdma_busy; inside kfd_process.mutex
 * @sdma_busy: hardware queues in use, by engine
 * @vram_used: bytes of VRAM that BOs of KFD ask for, evicted ones included;
 *             see kfd_mem_limit.c
 * @n_pdds: processes that know the node; kfd_device_fini() waits for none
 * @svm: state of svm/
 * @list: in the list of nodes; kfd_processes_mutex
 */
struct kfd_node {
	struct vgpu_device *vdev;
	u32 gpu_id;
	u32 topology_id;
	struct mutex queue_lock;	/* @sdma_busy */
	unsigned long sdma_busy[VGPU_NUM_SDMA];
	u64 vram_used;
	atomic_t n_pdds;
	struct svm_node svm;
	struct list_head list;
};

/**
 * struct kfd_process_device - a process's state on one GPU
 * @node: the GPU
 * @process: the process; owns this structure
 * @drm_file: the render node's file that ACQUIRE_VM brought, referenced; NULL
 *            before. kfd_process.mutex and, to set it, kfd_processes_mutex
 * @drm_priv: DRM's side of @drm_file; may map this process's BOs
 * @vm: address space, NULL before ACQUIRE_VM; set once, with release
 *      semantics, for readers without the mutex
 * @alloc_idr: struct kgd_mem by the low half of its handle; process mutex
 * @attachments: struct kfd_mem_attachment of every BO in @vm; process mutex
 * @doorbells: the process's slice of the doorbell BAR, NULL before it is
 *             needed; set once, with release semantics
 * @queues: queues on this GPU; changed under kfd_process.mutex and
 *          kfd_process.queue_lock, so either serves to walk it
 * @evicted: > 0 while the queues are off the hardware; queue_lock
 * @vram_usage: bytes of VRAM allocated by ALLOC_MEMORY_OF_GPU
 * @attr_vram: "vram_<gpu id>" in kfd/proc/<pid>
 * @vram_filename: its name
 */
struct kfd_process_device {
	struct kfd_node *node;
	struct kfd_process *process;
	struct file *drm_file;
	struct drm_file *drm_priv;
	struct vgpu_vm *vm;
	struct idr alloc_idr;
	struct list_head attachments;
	struct vgpu_bo *doorbells;
	struct list_head queues;
	unsigned int evicted;
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

/**
 * struct amdkfd_process_info - the BOs of a process
 * @kfd_bo_list: every struct kgd_mem, by validate_list; kfd_process.mutex
 * @resident: the process has queues: its mapped BOs stay where they are.
 *            Written under kfd_process.mutex, read in eviction decisions
 */
struct amdkfd_process_info {
	struct list_head kfd_bo_list;
	bool resident;
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
 * @svms: SVM ranges (svm/)
 * @xnack_enabled: page faults are repaired
 * @mmu_notifier: tells when the mm goes
 * @kobj: kfd/proc/<pid>, or NULL; goes with the hash entry
 * @attr_pasid: its file "pasid"
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
	struct svm_range_list svms;
	bool xnack_enabled;
	struct mmu_notifier mmu_notifier;
	struct kobject *kobj;
	struct kobj_attribute attr_pasid;
};

/*
 * Module life. Before the first kfd_device_init() and after the last
 * kfd_device_fini(); kfd_exit() also ends processes that outlive their files.
 */
int kfd_init(void);
void kfd_exit(void);

/*
 * Device life, from probe and remove; the DRM device has its render node. fini
 * takes the GPU away from every process that knows it and waits until none
 * does; such a process loses its KFD state, on all GPUs.
 */
int kfd_device_init(struct vgpu_device *vdev);
void kfd_device_fini(struct vgpu_device *vdev);

/*
 * Each returns a referenced process that still has its mm, or NULL; pair with
 * kfd_unref_process(), which never tears down in the caller's context.
 */
struct kfd_process *kfd_lookup_process_by_pasid(u16 pasid);
struct kfd_process *kfd_lookup_process_by_mm(const struct mm_struct *mm);
void kfd_unref_process(struct kfd_process *p);

/* NULL if the process does not know the GPU. No lock: @pdds is fixed. */
struct kfd_process_device *kfd_process_device_by_gpu_id(struct kfd_process *p,
							u32 gpu_id);
struct kfd_process_device *kfd_process_device_of(struct kfd_process *p,
						 struct vgpu_device *vdev);
/* Index of the device in @p->pdds, or -EINVAL. */
int kfd_process_gpuidx(struct kfd_process *p, struct vgpu_device *vdev);

/*
 * Take the process's queues off the hardware of @pdd / put them back; nested,
 * a counter. On return from the first no queue of the process reads or writes
 * memory on this GPU. Safe in MMU notifiers and in the fault worker. 0, or
 * -ETIME if the hardware did not obey (logged; the queue counts as stopped).
 */
int kfd_process_evict_queues(struct kfd_process_device *pdd);
int kfd_process_restore_queues(struct kfd_process_device *pdd);

/*
 * A fault that cannot be repaired: stop the process's queues on this GPU for
 * good (each until it is destroyed) and report. @va is the faulting byte's
 * page. Fault worker; takes queue_lock only.
 */
void kfd_process_vm_fault(struct kfd_process_device *pdd, u64 va, bool write);

#endif /* KFD_PRIV_H */
