/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The driver's counters, which debugfs shows beside those of the device.
 * vgpu_stat_add() and vgpu_stat_read() are in vgpu_device.h.
 */
#ifndef VGPU_STATS_H
#define VGPU_STATS_H

enum vgpu_counter {
	VGPU_STAT_FAULTS_RETRY,		/* retry entries taken from the IH ring */
	VGPU_STAT_FAULTS_NORETRY,
	VGPU_STAT_FAULTS_UNREPAIRED,	/* retry faults that ended the queues' work */
	VGPU_STAT_CAM_ACKS,
	VGPU_STAT_CAM_STALLS,		/* processes stopped as they kept the CAM full */
	VGPU_STAT_INVALIDATIONS,	/* (request, VMID) pairs, by CPU or job */
	VGPU_STAT_BYTES_COPIED,		/* by the kernel's SDMA rings */
	VGPU_STAT_BYTES_FILLED,
	VGPU_STAT_PTES_WRITTEN,		/* by CPU or SDMA */
	VGPU_STAT_PT_BYTES,		/* for page tables: entries of the CPU, packets */
	VGPU_STAT_IH_ENTRIES,
	VGPU_STAT_IH_OVERFLOWS,
	VGPU_STAT_EVENTS_DEFERRED,	/* KFD's, with too many waits for an interrupt */
	VGPU_STAT_PAGES_TO_VRAM,	/* SVM migration */
	VGPU_STAT_PAGES_TO_SYSTEM,
	VGPU_STAT_SVM_PEER_PAGES,	/* of another GPU's VRAM, when they were mapped */
	VGPU_STAT_SVM_EVICTIONS,	/* BOs of SVM that made way */
	VGPU_STAT_EVICTIONS,		/* BO moves out of VRAM */
	VGPU_STAT_PROCESS_EVICTIONS,	/* processes whose queues made way */
	VGPU_STAT_SWAPOUTS,		/* BOs swapped out of system memory */
	VGPU_STAT_SHRUNK_PAGES,		/* their pages, where reclaim asked for it */
	VGPU_STAT_SWAPPABLE,		/* pages of BOs there are now that may be */
	VGPU_STAT_ENGINE_RESETS,
	VGPU_STAT_DEVICE_RESETS,
	VGPU_STAT_GART_RECOVERIES,	/* the table was written again after a fault */
	VGPU_STAT_GART_WRONG,		/* entries that were wrong then */
	VGPU_STAT_RECOVERY_FAILURES,	/* the engines were given up */
	VGPU_STAT_JOBS_RERUN,		/* run again by an engine after a reset */
	VGPU_STAT_JOBS_BY_CPU,		/* done by the CPU in an engine's stead */
	VGPU_STAT_JOBS_FAILED,		/* ended with an error */
	VGPU_STAT_QUEUES_STOPPED,	/* of users, for good, by a recovery */
	VGPU_STAT_POISONED,		/* processes stopped by uncorrectable errors */
	VGPU_STAT_VRAM_LOST,		/* device resets that lost VRAM */
	VGPU_STAT_BOS_LOST,		/* BOs that lost their content with it */
	VGPU_STAT_RECOVERY_US,		/* how long the last recovery took */
	VGPU_NUM_STATS
};

#endif /* VGPU_STATS_H */
