/* SPDX-License-Identifier: MIT */
/*
 * What no real chip has: identity of the model and its counters, in a block
 * at the end of BAR 5 that gfx90a leaves unused. Read-only. 64-bit counters
 * are read low dword first: that read latches the high one.
 */
#ifndef VGPU_MODEL_H
#define VGPU_MODEL_H

#define VGPU_BASE			0x1ff00

#define VGPU_MAGIC			(VGPU_BASE + 0x00)
#define VGPU_MAGIC_VALUE		0x55504756u	/* "VGPU" */
#define VGPU_VERSION			(VGPU_BASE + 0x01)	/* contract version */
#define VGPU_VERSION_VALUE		1
#define VGPU_SDMA_COUNT			(VGPU_BASE + 0x02)
#define VGPU_FAULT_SERIAL		(VGPU_BASE + 0x03)	/* last serial given out */
#define VGPU_XGMI_LINKS			(VGPU_BASE + 0x04)	/* nodes of the hive that answer */
#define VGPU_XGMI_HIVE_LO		(VGPU_BASE + 0x05)	/* number of the hive, 0: none */
#define VGPU_XGMI_HIVE_HI		(VGPU_BASE + 0x06)

/* Counter i: low dword; VGPU_COUNTER(i) + 1: high dword. Since reset. */
#define VGPU_COUNTER(i)			(VGPU_BASE + 0x10 + 2 * (i))
#define VGPU_CNT_FAULTS_RETRY		0	/* retry faults reported (IH entries made) */
#define VGPU_CNT_FAULTS_NORETRY		1	/* no-retry faults reported */
#define VGPU_CNT_FAULTS_MERGED		2	/* stalls that joined an outstanding CAM entry */
#define VGPU_CNT_REPLAYS		3	/* stalled accesses that succeeded on replay */
#define VGPU_CNT_INVALIDATIONS		4	/* (request, VMID) pairs acknowledged */
#define VGPU_CNT_TLB_HITS		5
#define VGPU_CNT_TLB_MISSES		6
#define VGPU_CNT_BYTES_COPIED		7	/* COPY_LINEAR payload */
#define VGPU_CNT_BYTES_FILLED		8	/* CONST_FILL payload */
#define VGPU_CNT_PACKETS		9
#define VGPU_CNT_PTES_WRITTEN		10	/* PTEPDE entries */
#define VGPU_CNT_IH_ENTRIES		11
#define VGPU_CNT_IH_DROPPED		12
#define VGPU_CNT_MSI			13
#define VGPU_CNT_DOORBELLS		14
#define VGPU_CNT_QUEUE_ERRORS		15
#define VGPU_CNT_INJECTIONS		16	/* things made to go wrong */
#define VGPU_NUM_COUNTERS		17

#endif /* VGPU_MODEL_H */
