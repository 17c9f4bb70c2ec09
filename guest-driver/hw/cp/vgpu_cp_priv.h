/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Command processor: state and functions that the files of hw/ and its subfolders share. Files
 * of other folders do not include this header directly.
 */
#ifndef VGPU_CP_PRIV_H
#define VGPU_CP_PRIV_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>

struct vgpu_device;

/**
 * struct vgpu_cp_ring - a ring in which the kernel sends packets to the CP
 */
struct vgpu_cp_ring {
	/** @dw: memory of the ring, which holds packets */
	__le32 *dw;
	/** @mc: MC address of @dw */
	u64 mc;
	/** @wptr_wb: copy of the write pointer in memory, which the CP can read */
	__le64 *wptr_wb;
	/** @wptr_mc: MC address of @wptr_wb */
	u64 wptr_mc;
	/** @rptr_mc: MC address to which the CP writes its read pointer */
	u64 rptr_mc;
	/** @wptr: dwords written since the ring was reset */
	u64 wptr;
	/** @doorbell: byte offset of the ring's doorbell in BAR 2 */
	u32 doorbell;
};

/**
 * struct vgpu_cp - command processor (vgpu_cp.c)
 */
struct vgpu_cp {
	/** @lock: serialises submissions to the CP; protects all members below */
	struct mutex lock;
	/** @kiq: kernel's interface queue; the driver uses it to map the HIQ */
	struct vgpu_cp_ring kiq;
	/** @hiq: queue of the hardware scheduler, to which the driver submits run lists */
	struct vgpu_cp_ring hiq;
	/** @control: coherent memory of the rings, the HIQ's MQD and @fence */
	void *control;
	/** @control_dma: bus address, to free @control; the CP uses @control_mc */
	dma_addr_t control_dma;
	/** @control_mc: address of @control for the CP; the GART maps it to @control_dma */
	u64 control_mc;
	/** @fence: memory to which the CP writes the number of the last finished submission */
	__le64 *fence;
	/** @fence_mc: MC address of @fence, for QUERY_STATUS packets */
	u64 fence_mc;
	/** @fence_seq: number of the last submission */
	u64 fence_seq;
	/**
	 * @lists: buffers for run lists. The CP reads the list in use again and again, so the
	 * driver writes the next list to the other buffer
	 */
	__le32 *lists[2];
	/** @list_dma: bus addresses, to free @lists; the CP uses @list_mc */
	dma_addr_t list_dma[2];
	/** @list_mc: MC addresses of @lists, for RUN_LIST packets */
	u64 list_mc[2];
	/** @list: index, in @lists, of the run list in use */
	unsigned int list;
	/** @list_dwords: length of the run list in use; 0: no queue runs */
	u32 list_dwords;
	/** @off: the device is being reset, sleeps or was given up: run lists are only stored */
	bool off;
	/** @hangs: the CP did not answer and has not been reset since; it may still run queues */
	bool hangs;
	/** @reset: woken when @hangs is cleared */
	wait_queue_head_t reset;
	/** @lost: number of times that the state of queues was lost; needs no lock */
	atomic_t lost;
};

/* vgpu_cp.c */
int vgpu_cp_init(struct vgpu_device *vdev);
void vgpu_cp_fini(struct vgpu_device *vdev);

/* vgpu_cp_hqd.c */
void vgpu_cp_stop(struct vgpu_device *vdev);
void vgpu_cp_select(struct vgpu_device *vdev, unsigned int me,
		    unsigned int pipe, unsigned int queue);

/* vgpu_cp_emit.c */
void vgpu_mqd_write(__le32 *mqd, u32 reg, u32 value);
void vgpu_mqd_write64(__le32 *mqd, u32 lo, u64 value);

#endif /* VGPU_CP_PRIV_H */
