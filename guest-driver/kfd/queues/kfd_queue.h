/* SPDX-License-Identifier: GPL-2.0 */
/* Declares user-mode queues. Functions are documented where they are defined. */
#ifndef KFD_QUEUE_H
#define KFD_QUEUE_H

#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/sysfs.h>
#include <linux/types.h>

#include "vgpu/sdma.h"
#include "hw/cp/vgpu_mqd.h"
#include "hw/sdma/vgpu_sdma_queue.h"

/*
 * Masks of SDMA engines. As on the modelled GPU, the first two engines are for PCIe, all other
 * engines for XGMI. The masks only affect which engine a new queue gets. No mask restricts
 * accesses, because each engine can access all memory.
 */
#define KFD_NUM_SDMA_PCIE	2
#define KFD_NUM_SDMA_XGMI	(SDMA_NUM_ENGINES - KFD_NUM_SDMA_PCIE)
#define KFD_SDMA_PCIE		((u32)GENMASK(KFD_NUM_SDMA_PCIE - 1, 0))
#define KFD_SDMA_XGMI		\
	((u32)GENMASK(SDMA_NUM_ENGINES - 1, KFD_NUM_SDMA_PCIE))

struct kfd_mem_attachment;
struct kfd_node;
struct kfd_process;
struct kfd_process_device;
struct vgpu_bo;

#define KFD_QUEUE_FILES	3
#define KFD_DOORBELLS	1024	/* number of doorbells in a process's slice */

enum kfd_queue_kind {
	KFD_QUEUE_SDMA,
	KFD_QUEUE_COMPUTE,
};

/**
 * struct qcm_process_device - the queues of a process on a GPU
 * @pdd: the process's state on the GPU
 * @queues: queues on this GPU; changed with both kfd_process.mutex and kfd_process.queue_lock held,
 *          so that a holder of either lock may walk the list
 * @n_sdma: number of SDMA queues; the address space keeps a VMID while @n_sdma is not zero;
 *          protected by kfd_process.mutex
 * @n_cp: number of compute queues; protected by kfd_sched.lock
 * @doorbells_used: bitmap of the doorbells in the process's slice that compute queues use;
 *                  protected by kfd_process.mutex
 * @gws_queue: queue that has global wave sync, or NULL; protected by kfd_process.mutex
 * @root_pde: page-directory entry of the root of the process's page tables, for run lists; set
 *            with the first compute queue
 * @run_queues: compute queues that may run; protected by kfd_sched.lock
 * @run_link: link in kfd_sched.qpds while @run_queues is not empty; protected by kfd_sched.lock
 */
struct qcm_process_device {
	struct kfd_process_device *pdd;
	struct list_head queues;
	unsigned int n_sdma;
	unsigned int n_cp;
	DECLARE_BITMAP(doorbells_used, KFD_DOORBELLS);
	struct kfd_queue *gws_queue;
	u64 root_pde;
	struct list_head run_queues;
	struct list_head run_link;
};

/**
 * struct kfd_queue - a user-mode queue
 * @link: link in qcm_process_device.queues
 * @pdd: state of the process on the queue's GPU
 * @id: queue id that user space uses
 * @kind: SDMA or compute; members that are marked "SDMA" or "compute" are used for this kind only
 * @aql: compute: true if the ring has AQL packets, false if PM4
 * @doorbell: byte offset of the queue's doorbell in the process's slice
 * @born: GPU clock when the queue was created
 * @ring: GPU mapping of the ring
 * @rptr: GPU mapping of the read pointer
 * @wptr: GPU mapping of the write pointer
 * @enabled: user space has enabled the queue
 * @faulted: the queue is stopped until it is destroyed, for instance after an unrepaired fault or a
 *           bad packet
 * @hung: the hardware did not release the queue and was reset; the process has not been
 *        notified yet
 * @loaded: SDMA: the queue is on the hardware; compute: the queue is in run lists
 * @suspended: a debugger has suspended the queue
 * @dying: a call of DESTROY_QUEUE destroys the queue, or waits until the queue is resumed; changed
 *         with both kfd_process.mutex and kfd_process.queue_lock held
 * @exceptions: KFD_EC_MASK_QUEUE exceptions that were not cleared; protected by kfd_dbg_lock
 * @kobj: kfd/proc/<pid>/queues/<id>, or NULL
 * @attrs: files of @kobj
 *
 * @wptr_va: address of the write pointer in user memory
 * @wptr_cpu: SDMA: kernel mapping of the write pointer; not valid while the process is evicted
 * @wptr_io: SDMA: kernel mapping of a write pointer in VRAM, if @wptr_is_io
 * @wptr_is_io: SDMA: @wptr_io is used, not @wptr_cpu
 * @engine: SDMA: index of the engine
 * @hw_queue: SDMA: index of the hardware queue in @engine (RLC number)
 * @regs: SDMA: register values to load; rptr is updated when the queue is unloaded
 *
 * @eop: compute: GPU mapping of the end-of-pipe buffer, or NULL
 * @save: compute: GPU mapping of the context save area, or NULL if the area is in an SVM range
 * @mqd_bo: compute: kernel BO of the MQD, in GTT
 * @mqd: compute: kernel mapping of @mqd_bo
 * @cp: compute: register values from which the MQD is made
 * @lost: compute: value of vgpu_cp_lost() when the queue was loaded
 * @run_link: compute: link in qcm_process_device.run_queues while @loaded; protected by
 *            kfd_sched.lock
 *
 * kfd_process.queue_lock protects @enabled, @faulted, @hung, @loaded, @suspended, @dying, @regs,
 * @cp, @lost and the MQD. kfd_process.mutex protects the other members, except those that are fixed
 * or have another lock in the list above.
 */
struct kfd_queue {
	struct list_head link;
	struct kfd_process_device *pdd;
	u32 id;
	enum kfd_queue_kind kind;
	bool aql;
	u32 doorbell;
	u64 born;
	struct kfd_mem_attachment *ring;
	struct kfd_mem_attachment *rptr;
	struct kfd_mem_attachment *wptr;
	bool enabled;
	bool faulted;
	bool hung;
	bool loaded;
	bool suspended;
	bool dying;
	u64 exceptions;
	struct kobject *kobj;
	struct kobj_attribute attrs[KFD_QUEUE_FILES];

	u64 wptr_va;
	/* Members of SDMA queues. */
	union {
		u64 *wptr_cpu;
		void __iomem *wptr_io;
	};
	bool wptr_is_io;
	u8 engine;
	u8 hw_queue;
	struct vgpu_sdma_queue_regs regs;

	/* Members of compute queues. */
	struct kfd_mem_attachment *eop;
	struct kfd_mem_attachment *save;
	struct vgpu_bo *mqd_bo;
	__le32 *mqd;
	struct vgpu_cp_queue_regs cp;
	u32 lost;
	struct list_head run_link;
};

/**
 * struct kfd_queue_saved - ids and progress of a queue in a checkpoint
 * @id: queue id that user space uses
 * @doorbell: byte offset of the doorbell in the process's slice
 * @engine: SDMA: index of the engine
 * @hw_queue: SDMA: index of the hardware queue in @engine
 * @faulted: kfd_queue.faulted
 * @rptr: SDMA: read pointer where the queue stopped
 * @mqd: compute: progress of the queue, from its MQD
 *
 * On restore, user space passes these values, so the driver checks them. kfd_criu_restore_queue()
 * checks the alignment of @rptr; kfd_queue_create() checks the ids and @mqd.
 */
struct kfd_queue_saved {
	u32 id;
	u32 doorbell;
	u8 engine;
	u8 hw_queue;
	bool faulted;
	u64 rptr;
	const struct vgpu_mqd_state *mqd;
};

/**
 * struct kfd_queue_properties - arguments of CREATE_QUEUE
 * @kind: SDMA or compute
 * @aql: compute: true for AQL packets, false for PM4
 * @engines: SDMA: mask of engines that the queue may be on
 * @ring_va: first byte of the ring
 * @ring_bytes: length of the ring, a power of two
 * @rptr_va: address of the read pointer, 8 bytes
 * @wptr_va: address of the write pointer, 8 bytes
 * @eop_va: compute: address of the end-of-pipe buffer, or 0
 * @eop_bytes: length of the end-of-pipe buffer
 * @save_va: compute: address of the context save area
 * @save_bytes: length of the context save area. The debugger's area, which follows in the same
 *              allocation, is not included
 * @stack_bytes: length of the control stack, part of @save_bytes
 * @priority: 0 to KFD_MAX_QUEUE_PRIORITY
 * @enabled: user space has enabled the queue
 * @saved: ids and progress of a queue of a checkpoint, or NULL for a new queue. With @saved, the
 *         context save area may be missing until the CRIU operation RESUME has created the SVM
 *         ranges
 */
struct kfd_queue_properties {
	enum kfd_queue_kind kind;
	bool aql;
	u32 engines;
	u64 ring_va;
	u32 ring_bytes;
	u64 rptr_va;
	u64 wptr_va;
	u64 eop_va;
	u64 eop_bytes;
	u64 save_va;
	u32 save_bytes;
	u32 stack_bytes;
	u8 priority;
	bool enabled;
	const struct kfd_queue_saved *saved;
};

/* kfd_queue.c */
int kfd_qpd_init(struct kfd_process_device *pdd);
void kfd_qpd_fini(struct kfd_process_device *pdd);

int kfd_dqm_init(struct kfd_node *node);
void kfd_dqm_fini(struct kfd_node *node);

int kfd_queue_create(struct kfd_process_device *pdd,
		     const struct kfd_queue_properties *props,
		     struct kfd_queue **out);
void kfd_queue_destroy(struct kfd_queue *q);
void kfd_queues_destroy(struct kfd_process *p);
int kfd_queue_update(struct kfd_queue *q, u64 ring_va, u32 ring_bytes,
		     u8 priority, bool enabled);
void kfd_queue_stop(struct kfd_queue *q, const char *why);
bool kfd_queues_recovered(struct kfd_process_device *pdd, unsigned int engine,
			  bool vm_lost);
struct kfd_queue *kfd_queue_by_id(struct kfd_process *p, u32 id);

/* Functions that process/ calls through kfd_process_ops. */
int kfd_queues_sync(struct kfd_process_device *pdd);
void kfd_queues_map_wptr(struct kfd_process *p);
void kfd_queues_stop(struct kfd_process_device *pdd, unsigned long *ran);

/* kfd_queue_sdma.c */
u32 kfd_sdma_type(const struct kfd_queue *q);

/* kfd_queue_compute.c */
bool kfd_cp_has_save_area(struct kfd_queue *q);
int kfd_cp_set_cu_mask(struct kfd_queue *q, const u32 *mask, u32 bits);
int kfd_queue_set_gws(struct kfd_queue *q, bool want);
int kfd_cp_saved(struct kfd_queue *q, struct vgpu_cp_saved *saved);
u32 kfd_cp_stack_bytes(void);
u32 kfd_cp_save_bytes(void);

#endif /* KFD_QUEUE_H */
