/* SPDX-License-Identifier: MIT */
/*
 * Registers that no real chip has: information about the device, and event
 * counters. The registers are read-only. Their block is at the end of BAR 5, at
 * addresses that a real gfx90a does not use.
 */
#ifndef VGPU_DEVICE_INFO_H
#define VGPU_DEVICE_INFO_H

#define VGPU_BASE			0x1ff00

#define VGPU_MAGIC			(VGPU_BASE + 0x00)
#define VGPU_MAGIC_VALUE		0x55504756u	/* "VGPU" */
#define VGPU_VERSION			(VGPU_BASE + 0x01)	/* version of these headers */
#define VGPU_VERSION_VALUE		1
#define VGPU_SDMA_COUNT			(VGPU_BASE + 0x02)
#define VGPU_FAULT_SERIAL		(VGPU_BASE + 0x03)	/* serial of the last fault */
#define VGPU_XGMI_LINKS			(VGPU_BASE + 0x04)	/* bit n: link to node n is up */
#define VGPU_XGMI_HIVE_LO		(VGPU_BASE + 0x05)	/* id of the hive; 0: no hive */
#define VGPU_XGMI_HIVE_HI		(VGPU_BASE + 0x06)

/*
 * Counter i: number of events since the reset. VGPU_COUNTER(i) is the low
 * dword, VGPU_COUNTER(i) + 1 the high one. Read the low dword first: this read
 * latches the high dword.
 */
#define VGPU_COUNTER(i)			(VGPU_BASE + 0x10 + 2 * (i))
#define VGPU_CNT_FAULTS_RETRY		0	/* retry faults reported (IH entries made) */
#define VGPU_CNT_FAULTS_NORETRY		1	/* no-retry faults with an IH entry */
#define VGPU_CNT_FAULTS_MERGED		2	/* stalls on a fault already reported */
#define VGPU_CNT_REPLAYS		3	/* stalled accesses that succeeded on replay */
/* Acknowledged TLB invalidations; each VMID of a request counts as one. */
#define VGPU_CNT_INVALIDATIONS		4
#define VGPU_CNT_TLB_HITS		5
#define VGPU_CNT_TLB_MISSES		6
#define VGPU_CNT_BYTES_COPIED		7	/* bytes that COPY packets copied */
#define VGPU_CNT_BYTES_FILLED		8	/* bytes that CONST_FILL packets wrote */
#define VGPU_CNT_PACKETS		9
#define VGPU_CNT_PTES_WRITTEN		10	/* entries that PTEPDE packets wrote */
#define VGPU_CNT_IH_ENTRIES		11
#define VGPU_CNT_IH_DROPPED		12
#define VGPU_CNT_MSI			13
#define VGPU_CNT_DOORBELLS		14
#define VGPU_CNT_QUEUE_ERRORS		15
/* Number of times that an injection took effect. */
#define VGPU_CNT_INJECTIONS		16
#define VGPU_NUM_COUNTERS		17

#endif /* VGPU_DEVICE_INFO_H */
