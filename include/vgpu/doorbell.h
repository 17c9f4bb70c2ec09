/* SPDX-License-Identifier: MIT */
/*
 * Layout of the doorbells in BAR 2, counted in 64-bit doorbells except as
 * noted. Page 0 has the kernel's doorbells. Each KFD process has a slice of
 * DOORBELL_SLICE_SIZE bytes.
 *
 * Sources: Linux amdgpu_doorbell.h (VEGA20 assignment), kfd_doorbell.c,
 * kfd_device_queue_manager.c.
 */
#ifndef VGPU_DOORBELL_H
#define VGPU_DOORBELL_H

#define DOORBELL_KIQ			0x000
#define DOORBELL_HIQ			0x001
/*
 * Value of an SDMA doorbell: the queue's write pointer, 64 bits, in bytes, not
 * wrapped at the end of the ring.
 */

/*
 * Index of the first doorbell of SDMA engine n, in 64-bit doorbells. A KFD
 * process has two pages of doorbells (see DOORBELL_MIRROR). In these pages,
 * queues q = 0 to 7 of engine n have the following doorbells:
 * - q even: DOORBELL_SDMA(n) + q / 2, in the first page
 * - q odd: DOORBELL_SDMA(n) + (q - 1) / 2 + DOORBELL_MIRROR, in the second page
 */
#define DOORBELL_SDMA(n)		(0x100 + 0x0a * (n))
#define DOORBELL_SDMA_RANGE_DWORDS	20	/* 0x0a doorbells of 64 bits */
#define DOORBELL_IH			0x178
#define DOORBELL_NON_CP_FIRST		0x100
#define DOORBELL_NON_CP_LAST		0x18f
/*
 * A slice has two pages of 4 KiB with the same layout. Doorbell i in the first
 * page corresponds to doorbell i + DOORBELL_MIRROR in the second page.
 */
#define DOORBELL_MIRROR			0x200
#define DOORBELL_SLICE_SIZE		0x2000u	/* bytes per process */

/*
 * Dword index of the doorbell that acknowledges a retry fault. The value that
 * is written is the fault's slot in the retry CAM.
 */
#define DOORBELL_IH_RETRY_CAM_DW	((DOORBELL_IH + 3) << 1)

#endif /* VGPU_DOORBELL_H */
