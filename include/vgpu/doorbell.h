/* SPDX-License-Identifier: MIT */
/*
 * Doorbell layout (BAR 2). Indices count 64-bit doorbells.
 *
 * Facts: Linux amdgpu_doorbell.h (VEGA20 assignment), kfd_doorbell.c,
 * kfd_device_queue_manager.c.
 *
 * Page 0 belongs to the kernel. Each KFD process owns one 8 KiB slice. An
 * SDMA queue q (0..7) of engine n in a slice has the index
 *	DOORBELL_SDMA(n) + (q & 1) * DOORBELL_MIRROR + (q >> 1)
 * relative to the slice. A doorbell write of the 64-bit write pointer (bytes,
 * monotonic) reaches the queue whose DOORBELL_OFFSET equals its byte offset
 * in BAR 2.
 */
#ifndef VGPU_DOORBELL_H
#define VGPU_DOORBELL_H

#define DOORBELL_KIQ			0x000
#define DOORBELL_HIQ			0x001
#define DOORBELL_SDMA(n)		(0x100 + 0x0a * (n))
#define DOORBELL_SDMA_RANGE_DWORDS	20
#define DOORBELL_IH			0x178
#define DOORBELL_NON_CP_FIRST		0x100
#define DOORBELL_NON_CP_LAST		0x18f
#define DOORBELL_MIRROR			0x200
#define DOORBELL_SLICE_SIZE		0x2000u	/* bytes per process */

/* Dword index of the IH retry CAM acknowledge doorbell; value: CAM index. */
#define DOORBELL_IH_RETRY_CAM_DW	((DOORBELL_IH + 3) << 1)

#endif /* VGPU_DOORBELL_H */
