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
 * @dw: memory of the ring, which holds packets
 * @mc: MC address of @dw
 * @wptr_wb: copy of the write pointer in memory, which the CP can read
 * @wptr_mc: MC address of @wptr_wb
 * @rptr_mc: MC address to which the CP writes its read pointer
 * @wptr: dwords written since the ring was reset
 * @doorbell: byte offset of the ring's doorbell in BAR 2
 */
struct vgpu_cp_ring {
	__le32 *dw;
	u64 mc;
	__le64 *wptr_wb;
	u64 wptr_mc;
	u64 rptr_mc;
	u64 wptr;
	u32 doorbell;
};

/**
 * struct vgpu_cp - command processor (vgpu_cp.c)
 * @lock: serialises submissions to the CP; protects all members below
 * @kiq: kernel's interface queue
 * @hiq: queue to which run lists are submitted
 * @control: coherent memory of the rings, the HIQ's MQD and @fence
 * @control_dma: bus address of @control
 * @control_mc: MC address of @control
 * @fence: memory to which the CP writes the number of the last finished submission
 * @fence_mc: MC address of @fence
 * @fence_seq: number of the last submission
 * @lists: buffers for run lists; the one at index @list is in use
 * @list_dma: bus addresses of @lists
 * @list_mc: MC addresses of @lists
 * @list: index of the list in use, 0 or 1
 * @list_dwords: length of the list in use; 0: no queue runs
 * @off: the device is being reset, sleeps or was given up, so run lists are only stored
 * @hangs: the CP did not answer and has not been reset since; it may still run queues
 * @reset: woken when @hangs is cleared
 * @lost: number of times that the state of queues was lost; atomic
 */
struct vgpu_cp {
	struct mutex lock;	/* serialises submissions */
	struct vgpu_cp_ring kiq;
	struct vgpu_cp_ring hiq;
	void *control;
	dma_addr_t control_dma;
	u64 control_mc;
	__le64 *fence;
	u64 fence_mc;
	u64 fence_seq;
	__le32 *lists[2];
	dma_addr_t list_dma[2];
	u64 list_mc[2];
	unsigned int list;
	u32 list_dwords;
	bool off;
	bool hangs;
	wait_queue_head_t reset;
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
