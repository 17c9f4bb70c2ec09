/* SPDX-License-Identifier: GPL-2.0 */
/* User-mode queues. */
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
 * SDMA engines, a bit each: as on the card, the first two are for PCIe, the rest
 * for XGMI. What an engine reaches does not depend on that.
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
#define KFD_DOORBELLS	1024	/* of a process's slice */

enum kfd_queue_kind {
	KFD_QUEUE_SDMA,
	KFD_QUEUE_COMPUTE,
};

/**
 * struct qcm_process_device - the queues of a process on a GPU
 * @pdd: the process's state on the GPU
 * @queues: queues on this GPU; changed under kfd_process.mutex and
 *          kfd_process.queue_lock, so either serves to walk it
 * @n_sdma: SDMA queues, which need a VMID; process mutex
 * @n_cp: compute queues; kfd_sched.lock
 * @doorbells_used: by compute queues; process mutex
 * @gws_queue: which has global wave sync, or NULL; process mutex
 * @root_pde: how run lists call the process's address space; set with the first compute queue
 * @run_queues: compute queues that may run; kfd_sched.lock
 * @run_link: in kfd_sched.qpds if there are any; kfd_sched.lock
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
 * @link: in qcm_process_device.queues
 * @pdd: whose, on which GPU
 * @id: what user space names it by
 * @kind: which of the two at the end it is
 * @aql: compute: its packets are AQL's
 * @doorbell: byte offset of its doorbell in the process's slice
 * @born: GPU clock when it came
 * @ring: mapping of the ring
 * @rptr: mapping of the read pointer
 * @wptr: mapping of the write pointer
 * @enabled: user space wants it to run
 * @faulted: an unrepaired fault, or a bad packet, stopped it for good
 * @hung: the hardware did not release the queue and was reset; the process has not been
 *        notified yet
 * @loaded: on the hardware; compute: in run lists
 * @suspended: a debugger keeps it off
 * @dying: DESTROY_QUEUE waits or works; changed with the process's mutex held, too
 * @exceptions: KFD_EC_MASK_QUEUE, for a debugger; kfd_dbg_lock
 * @kobj: kfd/proc/<pid>/queues/<id>, or NULL
 * @attrs: its files
 *
 * @wptr_va: SDMA: the write pointer in user memory
 * @wptr_cpu: as the kernel sees it; not valid while the process is evicted
 * @wptr_is_io: ... through @wptr_io: it lies in VRAM
 * @engine: SDMA engine
 * @hw_queue: hardware queue of the engine (RLC number)
 * @regs: what it is loaded with; rptr is where it stopped
 *
 * @eop: compute: mapping of the end-of-pipe buffer, or NULL
 * @save: mapping of the context save area, or NULL if SVM has it
 * @mqd_bo: its MQD: kernel memory, GTT
 * @mqd: as the CPU sees it
 * @cp: what it is made of
 * @lost: vgpu_cp_lost() when it was loaded
 * @run_link: in qcm_process_device.run_queues while @loaded; kfd_sched.lock
 *
 * @enabled, @faulted, @hung, @loaded, @suspended, @dying, @regs, @cp, @lost and
 * the MQD under kfd_process.queue_lock, the rest fixed or under kfd_process.mutex.
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

	/* SDMA */
	u64 wptr_va;
	union {
		u64 *wptr_cpu;
		void __iomem *wptr_io;
	};
	bool wptr_is_io;
	u8 engine;
	u8 hw_queue;
	struct vgpu_sdma_queue_regs regs;

	/* compute */
	struct kfd_mem_attachment *eop;
	struct kfd_mem_attachment *save;
	struct vgpu_bo *mqd_bo;
	__le32 *mqd;
	struct vgpu_cp_queue_regs cp;
	u32 lost;
	struct list_head run_link;
};

/**
 * struct kfd_queue_saved - a queue that goes on where that of a checkpoint was; not
 *			    trusted
 * @id: what user space names it by
 * @doorbell: byte offset in the slice
 * @engine: SDMA
 * @hw_queue: of that engine
 * @faulted: it does not run any more
 * @rptr: SDMA: where it stopped
 * @mqd: compute: how far it has come
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
 * struct kfd_queue_properties - what CREATE_QUEUE asks for
 * @kind: SDMA or compute
 * @aql: compute: AQL packets
 * @engines: SDMA engines it may be on, a bit each
 * @ring_va: first byte of the ring
 * @ring_bytes: power of two
 * @rptr_va: read pointer, 8 bytes
 * @wptr_va: write pointer, 8 bytes
 * @eop_va: compute: end-of-pipe buffer, or 0
 * @eop_bytes: its length
 * @save_va: context save area
 * @save_bytes: its length, without the debugger's part behind it
 * @stack_bytes: of that, the control stack
 * @priority: 0 to KFD_MAX_QUEUE_PRIORITY
 * @enabled: runs at once
 * @saved: what else it was, or NULL for a new one. A save area that is no BO may come
 *         later then, with SVM's ranges
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

/* kfd_queue.c; functions without a comment here are documented there. */
int kfd_qpd_init(struct kfd_process_device *pdd);
void kfd_qpd_fini(struct kfd_process_device *pdd);

int kfd_dqm_init(struct kfd_node *node);
void kfd_dqm_fini(struct kfd_node *node);

/*
 * All with kfd_process.mutex held.
 *
 * 0 or -EINVAL a buffer is no mapped BO of exactly that place and size,
 * -ENOSPC no queue id or VMID, -ENOMEM no hardware queue or memory, -EPERM too
 * many compute queues, -ETIME; of a saved one -EBUSY its doorbell or hardware queue
 * is taken.
 */
int kfd_queue_create(struct kfd_process_device *pdd,
		     const struct kfd_queue_properties *props,
		     struct kfd_queue **out);
void kfd_queue_destroy(struct kfd_queue *q);
void kfd_queues_destroy(struct kfd_process *p);
/* Another ring, none, or stopped. 0, -EFAULT no such ring, -ETIME. */
int kfd_queue_update(struct kfd_queue *q, u64 ring_va, u32 ring_bytes,
		     u8 priority, bool enabled);
void kfd_queue_stop(struct kfd_queue *q, const char *why);
bool kfd_queues_recovered(struct kfd_process_device *pdd, unsigned int engine,
			  bool vm_lost);
struct kfd_queue *kfd_queue_by_id(struct kfd_process *p, u32 id);

/* For struct kfd_process_ops, which describes them. */
int kfd_queues_sync(struct kfd_process_device *pdd);
void kfd_queues_map_wptr(struct kfd_process *p);
void kfd_queues_stop(struct kfd_process_device *pdd, unsigned long *ran);

/* Of an SDMA queue: KFD_IOC_QUEUE_TYPE_SDMA or _XGMI, by its engine. No locks. */
u32 kfd_sdma_type(const struct kfd_queue *q);

/*
 * Of a restored compute queue: it has a context save area, or needs none. The process's
 * memory is held. Mutex held.
 */
bool kfd_cp_has_save_area(struct kfd_queue *q);
/* @bits of @mask: bit n stands for compute unit n. Mutex held. 0 or -ETIME. */
int kfd_cp_set_cu_mask(struct kfd_queue *q, const u32 *mask, u32 bits);
/*
 * The queue, of either kind, gets all of the GPU's global wave sync, or gives it
 * back. A process has it for one queue of a GPU; several processes that have it
 * take turns. Mutex held. 0, -EBUSY one of them has it already, -EINVAL this one
 * has nothing to give back, -ETIME.
 */
int kfd_queue_set_gws(struct kfd_queue *q, bool want);
/* 0, or -EINVAL for one that runs or saves nothing. Mutex held. */
int kfd_cp_saved(struct kfd_queue *q, struct vgpu_cp_saved *saved);
/* Bytes of the control stack, and of the context save area: what user space brings. */
u32 kfd_cp_stack_bytes(void);
u32 kfd_cp_save_bytes(void);

#endif /* KFD_QUEUE_H */
