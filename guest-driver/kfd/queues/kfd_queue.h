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
 * Masks of SDMA engines, as on the modelled GPU. A mask only selects the engine of a new queue.
 * Each engine can access all memory.
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
 */
struct qcm_process_device {
	/** @pdd: the process's state on the GPU */
	struct kfd_process_device *pdd;
	/**
	 * @queues: list of the queues. Changed with both kfd_process.mutex and
	 * kfd_process.queue_lock held, so a holder of either lock may walk the list
	 */
	struct list_head queues;
	/**
	 * @n_sdma: number of SDMA queues; protected by kfd_process.mutex. The address space keeps a
	 * VMID while @n_sdma is not zero
	 */
	unsigned int n_sdma;
	/** @n_cp: number of compute queues; protected by kfd_sched.lock */
	unsigned int n_cp;
	/**
	 * @doorbells_used: bitmap of the doorbells in the process's slice that compute queues use;
	 * protected by kfd_process.mutex
	 */
	DECLARE_BITMAP(doorbells_used, KFD_DOORBELLS);
	/** @gws_queue: queue that has global wave sync, or NULL; protected by kfd_process.mutex */
	struct kfd_queue *gws_queue;
	/**
	 * @root_pde: entry for run lists that points to the root of the process's page tables; set
	 * when a compute queue is created
	 */
	u64 root_pde;
	/** @run_queues: list of compute queues that may run; protected by kfd_sched.lock */
	struct list_head run_queues;
	/**
	 * @run_link: link in kfd_sched.qpds while @run_queues is not empty; protected by
	 * kfd_sched.lock
	 */
	struct list_head run_link;
};

/**
 * struct kfd_queue - a user-mode queue
 *
 * kfd_process.mutex protects each member that changes, unless the member's comment names another
 * lock.
 */
struct kfd_queue {
	/** @link: link in qcm_process_device.queues, protected by the locks of that list */
	struct list_head link;
	/** @pdd: state of the process on the queue's GPU */
	struct kfd_process_device *pdd;
	/** @id: queue id that user space uses */
	u32 id;
	/** @kind: SDMA or compute */
	enum kfd_queue_kind kind;
	/** @aql: compute queues: true if the ring has AQL packets, false if PM4 */
	bool aql;
	/** @doorbell: byte offset of the queue's doorbell in the process's slice */
	u32 doorbell;
	/** @born: GPU clock when the queue was created */
	u64 born;
	/** @ring: GPU mapping of the ring */
	struct kfd_mem_attachment *ring;
	/** @rptr: GPU mapping of the read pointer */
	struct kfd_mem_attachment *rptr;
	/** @wptr: GPU mapping of the write pointer */
	struct kfd_mem_attachment *wptr;
	/** @enabled: user space has enabled the queue; protected by kfd_process.queue_lock */
	bool enabled;
	/**
	 * @faulted: the queue is stopped until it is destroyed, for instance after an unrepaired
	 * fault or a bad packet; protected by kfd_process.queue_lock
	 */
	bool faulted;
	/**
	 * @hung: SDMA queues: the hardware did not release the queue; protected by
	 * kfd_process.queue_lock. Cleared by kfd_queue_stop() after the reset of the engine
	 */
	bool hung;
	/**
	 * @loaded: an SDMA queue is on the hardware, or a compute queue is in run lists; protected
	 * by kfd_process.queue_lock
	 */
	bool loaded;
	/** @suspended: a debugger has suspended the queue; protected by kfd_process.queue_lock */
	bool suspended;
	/**
	 * @dying: a call of DESTROY_QUEUE destroys the queue, or waits until the queue is resumed;
	 * changed with both kfd_process.mutex and kfd_process.queue_lock held
	 */
	bool dying;
	/**
	 * @exceptions: bits of KFD_EC_MASK_QUEUE for exceptions that have not been cleared;
	 * protected by kfd_dbg_lock
	 */
	u64 exceptions;
	/** @kobj: folder kfd/proc/<pid>/queues/<id> in sysfs, or NULL */
	struct kobject *kobj;
	/** @attrs: files of @kobj */
	struct kobj_attribute attrs[KFD_QUEUE_FILES];

	/** @wptr_va: address of the write pointer in user memory */
	u64 wptr_va;
	union {
		/**
		 * @wptr_cpu: SDMA queues: kernel mapping of the write pointer, if @wptr_is_io is
		 * false; not valid while the process is evicted
		 */
		u64 *wptr_cpu;
		/** @wptr_io: SDMA queues: as @wptr_cpu, for a write pointer in VRAM */
		void __iomem *wptr_io;
	};
	/** @wptr_is_io: SDMA queues: true if @wptr_io is used, false if @wptr_cpu is used */
	bool wptr_is_io;
	/** @engine: SDMA queues: index of the engine */
	u8 engine;
	/** @hw_queue: SDMA queues: index of the hardware queue in @engine (RLC number) */
	u8 hw_queue;
	/**
	 * @regs: SDMA queues: register values to load; regs.rptr is updated when the queue is
	 * unloaded; protected by kfd_process.queue_lock
	 */
	struct vgpu_sdma_queue_regs regs;

	/** @eop: compute queues: GPU mapping of the end-of-pipe buffer, or NULL */
	struct kfd_mem_attachment *eop;
	/**
	 * @save: compute queues: GPU mapping of the context save area, or NULL if the area is in an
	 * SVM range
	 */
	struct kfd_mem_attachment *save;
	/** @mqd_bo: compute queues: kernel BO of the MQD, in GTT */
	struct vgpu_bo *mqd_bo;
	/** @mqd: compute queues: kernel mapping of the MQD; protected by kfd_process.queue_lock */
	__le32 *mqd;
	/**
	 * @cp: compute queues: register values from which the MQD is made; protected by
	 * kfd_process.queue_lock
	 */
	struct vgpu_cp_queue_regs cp;
	/**
	 * @lost: compute queues: value of vgpu_cp_lost() when the queue was loaded; protected by
	 * kfd_process.queue_lock
	 */
	u32 lost;
	/**
	 * @run_link: compute queues: link in qcm_process_device.run_queues while @loaded is true;
	 * protected by kfd_sched.lock
	 */
	struct list_head run_link;
};

/**
 * struct kfd_queue_saved - ids and progress of a queue in a checkpoint
 *
 * On restore, the values come from user space, so the driver checks them.
 */
struct kfd_queue_saved {
	/** @id: queue id that user space uses; checked by kfd_queue_create() */
	u32 id;
	/**
	 * @doorbell: byte offset of the doorbell in the process's slice; checked by
	 * kfd_queue_create()
	 */
	u32 doorbell;
	/** @engine: SDMA queues: index of the engine; checked by kfd_queue_create() */
	u8 engine;
	/**
	 * @hw_queue: SDMA queues: index of the hardware queue in @engine; checked by
	 * kfd_queue_create()
	 */
	u8 hw_queue;
	/** @faulted: kfd_queue.faulted */
	bool faulted;
	/**
	 * @rptr: SDMA queues: read pointer where the queue stopped; kfd_criu_restore_queue() checks
	 * the alignment
	 */
	u64 rptr;
	/**
	 * @mqd: compute queues: progress of the queue, from its MQD; checked by kfd_queue_create()
	 */
	const struct vgpu_mqd_state *mqd;
};

/**
 * struct kfd_queue_properties - arguments of CREATE_QUEUE
 */
struct kfd_queue_properties {
	/** @kind: SDMA or compute */
	enum kfd_queue_kind kind;
	/** @aql: compute queues: true for AQL packets, false for PM4 */
	bool aql;
	/**
	 * @engines: SDMA queues: mask of engines that the queue may be on; not used if @saved is
	 * set
	 */
	u32 engines;
	/** @ring_va: first byte of the ring */
	u64 ring_va;
	/** @ring_bytes: length of the ring, a power of two */
	u32 ring_bytes;
	/** @rptr_va: address of the read pointer, 8 bytes */
	u64 rptr_va;
	/** @wptr_va: address of the write pointer, 8 bytes */
	u64 wptr_va;
	/** @eop_va: compute queues: address of the end-of-pipe buffer, or 0 */
	u64 eop_va;
	/** @eop_bytes: compute queues: length of the end-of-pipe buffer */
	u64 eop_bytes;
	/** @save_va: compute queues: address of the context save area */
	u64 save_va;
	/**
	 * @save_bytes: compute queues: length of the context save area, without the debugger's
	 * area, which follows in the same allocation
	 */
	u32 save_bytes;
	/** @stack_bytes: compute queues: length of the control stack, part of @save_bytes */
	u32 stack_bytes;
	/** @priority: compute queues: 0 to KFD_MAX_QUEUE_PRIORITY */
	u8 priority;
	/** @enabled: user space has enabled the queue */
	bool enabled;
	/**
	 * @saved: ids and progress of a queue of a checkpoint, or NULL for a new queue. The context
	 * save area of a queue with @saved may be missing until the CRIU operation RESUME
	 */
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
