/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kfd/: /dev/kfd, processes, topology, kgd_mem, queues. The face that svm/
 * and drm/ see, and the room's own shared structures.
 */
#ifndef KFD_PRIV_H
#define KFD_PRIV_H

#include <linux/idr.h>
#include <linux/kfd_ioctl.h>
#include <linux/kref.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "../vgpu_device.h"
#include "../svm/svm.h"

#define KFD_MAX_GPU_INSTANCE	64

struct kfd_process;
struct kfd_queue;

/**
 * struct kfd_node - a GPU as KFD sees it
 * @gpu_id: what user space names it by; non-zero, unique
 * @topology_id: index of its node folder
 * @queue_lock: protects @sdma_busy (bit = hardware queue in use)
 */
struct kfd_node {
	struct vgpu_device *vdev;
	u32 gpu_id;
	u32 topology_id;
	struct mutex queue_lock;
	unsigned long sdma_busy[VGPU_NUM_SDMA];
	unsigned long *doorbell_slices;
	struct svm_node svm;
	struct list_head list;
};

/**
 * struct kfd_process_device - a process's state on one GPU
 * @drm_file: the render node's file that ACQUIRE_VM brought; held
 * @vm: address space; NULL before ACQUIRE_VM
 * @idr: kgd_mem by handle (low 32 bits of the handle); process mutex held
 * @doorbell_slice: index of the process's 8 KiB doorbell slice
 * @queues: queues on this device
 * @evicted: > 0 while the queues are off the hardware
 */
struct kfd_process_device {
	struct kfd_node *node;
	struct kfd_process *process;
	struct file *drm_file;
	struct vgpu_vm *vm;
	struct idr idr;
	int doorbell_slice;
	struct list_head queues;
	int evicted;
};

/**
 * struct kfd_process - an mm that uses the GPUs
 * @kfd_processes: in the hash by @mm
 * @mm: key; no reference held
 * @lead_thread: main thread, referenced
 * @mutex: protects @pdds' contents, queues and kgd_mem of this process;
 *         never taken in a notifier, in reclaim or in the fault path
 * @queue_lock: protects queue state against eviction from the fault path and
 *         from notifiers; nothing under it allocates or waits for reclaim
 */
struct kfd_process {
	struct hlist_node kfd_processes;
	void *mm;
	struct task_struct *lead_thread;
	u16 pasid;
	struct kref ref;
	struct work_struct release_work;
	struct mutex mutex;
	struct mutex queue_lock;
	struct kfd_process_device *pdds[KFD_MAX_GPU_INSTANCE];
	u32 n_pdds;
	DECLARE_BITMAP(queue_ids, 1024);
	struct svm_range_list svms;
	bool xnack_enabled;
	struct mmu_notifier mmu_notifier;
	struct kobject *kobj;
};

/* Device life; called from probe and remove. */
int kfd_device_init(struct vgpu_device *vdev);
void kfd_device_fini(struct vgpu_device *vdev);
/* Module life. */
int kfd_init(void);
void kfd_exit(void);

/* Each returns a referenced process or NULL; pair with kfd_unref_process(). */
struct kfd_process *kfd_lookup_process_by_pasid(u16 pasid);
struct kfd_process *kfd_lookup_process_by_mm(const struct mm_struct *mm);
void kfd_unref_process(struct kfd_process *p);

struct kfd_process_device *kfd_process_device_by_gpu_id(struct kfd_process *p,
							u32 gpu_id);
struct kfd_process_device *kfd_process_device_of(struct kfd_process *p,
						 struct vgpu_device *vdev);
/* Index of the device in @p->pdds, or -EINVAL. */
int kfd_process_gpuidx(struct kfd_process *p, struct vgpu_device *vdev);

/*
 * Take the process's queues off the hardware of @pdd / put them back.
 * Nested: a counter. Safe in MMU notifiers and in the fault worker.
 */
int kfd_process_evict_queues(struct kfd_process_device *pdd);
int kfd_process_restore_queues(struct kfd_process_device *pdd);

/* A fault that cannot be repaired: evict the queues, report. Fault worker. */
void kfd_process_vm_fault(struct kfd_process_device *pdd, u64 va, bool write);

#endif /* KFD_PRIV_H */
