// SPDX-License-Identifier: GPL-2.0
/* Stops the CP's hardware queues (HQDs), and prints their registers and the run list. */
#include <drm/drm_print.h>

#include "vgpu/cp.h"
#include "hw/vgpu_hw_priv.h"
#include "vgpu_cp.h"
#include "vgpu_cp_priv.h"

#define HQD_LINE	8	/* dwords in a line of output */

/**
 * vgpu_cp_select() - select the queue whose registers are accessed
 * @vdev: device
 * @me: 1 or 2; 0: select no queue
 * @pipe: pipe of @me
 * @queue: queue of @pipe
 *
 * Context: the caller holds vgpu_cp.lock, or no other thread can use the CP.
 */
void vgpu_cp_select(struct vgpu_device *vdev, unsigned int me,
		    unsigned int pipe, unsigned int queue)
{
	vgpu_wreg(vdev, GRBM_GFX_CNTL,
		  VGPU_PREP(GRBM_GFX_CNTL__MEID, me) |
		  VGPU_PREP(GRBM_GFX_CNTL__PIPEID, pipe) |
		  VGPU_PREP(GRBM_GFX_CNTL__QUEUEID, queue));
}

static void cp_stop_queue(struct vgpu_device *vdev, unsigned int me,
			  unsigned int pipe, unsigned int queue)
{
	vgpu_cp_select(vdev, me, pipe, queue);
	if (!vgpu_rreg(vdev, CP_HQD + CP_HQD_ACTIVE))
		return;
	vgpu_wreg(vdev, CP_HQD + CP_HQD_PQ_DOORBELL_CONTROL, 0);
	vgpu_wreg(vdev, CP_HQD + CP_HQD_DEQUEUE_REQUEST, 1);
	if (!vgpu_hw_poll(vdev, CP_HQD + CP_HQD_ACTIVE, CP_HQD_ACTIVE__ACTIVE,
			  0))
		drm_err(&vdev->drm, "compute queue %u.%u.%u stays\n", me, pipe,
			queue);
}

/**
 * vgpu_cp_stop() - stop all compute queues and halt the CP
 * @vdev: device, registers mapped
 *
 * Stops all active queues, including those that an earlier driver left. The state of the
 * queues is not saved.
 *
 * Context: sleeps; the caller holds vgpu_cp.lock, or no other thread can use the CP.
 */
void vgpu_cp_stop(struct vgpu_device *vdev)
{
	unsigned int i;

	if (!vgpu_hw_present(vdev))
		return;
	vgpu_wreg(vdev, RLC_CP_SCHEDULERS, 0);
	for (i = 0; i < CP_NUM_HQDS; i++)
		cp_stop_queue(vdev, 1 + i / (CP_NUM_PIPES * CP_NUM_QUEUES),
			      i / CP_NUM_QUEUES % CP_NUM_PIPES,
			      i % CP_NUM_QUEUES);
	vgpu_cp_select(vdev, 0, 0, 0);
	vgpu_wreg(vdev, CP_MEC_CNTL, CP_MEC_CNTL__MEC_ME1_HALT |
				     CP_MEC_CNTL__MEC_ME2_HALT);
}

static void print_hqd(struct vgpu_device *vdev, struct drm_printer *p,
		      unsigned int me, unsigned int pipe, unsigned int queue)
{
	unsigned int i;

	vgpu_cp_select(vdev, me, pipe, queue);
	if (!vgpu_rreg(vdev, CP_HQD + CP_HQD_ACTIVE))
		return;
	drm_printf(p, "  MEC %u Pipe %u Queue %u:", me, pipe, queue);
	for (i = 0; i < CP_HQD_SPAN; i++)
		drm_printf(p, "%s %08x", i % HQD_LINE ? "" : "\n   ",
			   vgpu_rreg(vdev, CP_HQD + i));
	drm_puts(p, "\n");
}

/**
 * vgpu_cp_print_hqds() - print registers of the active hardware queues
 * @vdev: device
 * @p: output
 *
 * Context: sleeps.
 */
void vgpu_cp_print_hqds(struct vgpu_device *vdev, struct drm_printer *p)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;
	unsigned int me, pipe, queue;

	mutex_lock(&cp->lock);
	if (!cp->off) {
		for (me = 1; me <= CP_NUM_MECS; me++)
			for (pipe = 0; pipe < CP_NUM_PIPES; pipe++)
				for (queue = 0; queue < CP_NUM_QUEUES; queue++)
					print_hqd(vdev, p, me, pipe, queue);
		vgpu_cp_select(vdev, 0, 0, 0);
	}
	mutex_unlock(&cp->lock);
}

/**
 * vgpu_cp_print_list() - print the dwords of the newest run list in hexadecimal
 * @vdev: device
 * @p: output; gets nothing if the list is empty
 *
 * During a reset, the newest run list is printed, too, although it is only stored and does not run.
 *
 * Context: sleeps; takes vgpu_cp.lock.
 */
void vgpu_cp_print_list(struct vgpu_device *vdev, struct drm_printer *p)
{
	struct vgpu_cp *cp = &to_hw_state(vdev)->cp;
	const __le32 *dw;
	u32 i;

	mutex_lock(&cp->lock);
	dw = cp->lists[cp->list];
	for (i = 0; i < cp->list_dwords; i++)
		drm_printf(p, "%s%08x%s", i % HQD_LINE ? " " : "  ",
			   le32_to_cpu(dw[i]),
			   i % HQD_LINE == HQD_LINE - 1 ||
			   i + 1 == cp->list_dwords ? "\n" : "");
	mutex_unlock(&cp->lock);
}
