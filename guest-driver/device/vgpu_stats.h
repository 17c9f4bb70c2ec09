/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of the driver. debugfs shows them beside the counters of the device.
 * vgpu_stat_add() and vgpu_stat_read() are in vgpu_device.h.
 */
#ifndef VGPU_STATS_H
#define VGPU_STATS_H

enum vgpu_counter {
	VGPU_STAT_FAULTS_RETRY,		/* retry faults; IH entries that repeat one do not count */
	VGPU_STAT_FAULTS_NORETRY,	/* no-retry faults from the IH ring */
	VGPU_STAT_FAULTS_UNREPAIRED,	/* retry faults that cannot be repaired; they stop queues */
	VGPU_STAT_CAM_ACKS,
	VGPU_STAT_CAM_STALLS,		/* queue evictions because faults kept the CAM full */
	VGPU_STAT_FAULT_BATCHES,	/* batches of faults that workers have taken */
	VGPU_STAT_FAULTS_COVERED,	/* retry faults resolved by the repair of another one */
	VGPU_STAT_INVALIDATIONS,	/* TLB flushes by CPU or job: one per VMID and hub */
	VGPU_STAT_BYTES_COPIED,		/* bytes copied by jobs of the kernel's SDMA rings */
	VGPU_STAT_BYTES_FILLED,		/* bytes filled by jobs of the kernel's SDMA rings */
	VGPU_STAT_PTES_WRITTEN,		/* page-table entries written, by CPU or SDMA */
	/* size of page-table updates in bytes: entries written by the CPU, plus packets for SDMA */
	VGPU_STAT_PT_BYTES,
	VGPU_STAT_IH_ENTRIES,
	VGPU_STAT_IH_OVERFLOWS,
	/* interrupts left to scan_work: too many WAIT_EVENTS calls to wake in interrupt context */
	VGPU_STAT_EVENTS_DEFERRED,
	VGPU_STAT_PAGES_TO_VRAM,	/* SVM pages migrated to VRAM */
	VGPU_STAT_PAGES_TO_SYSTEM,	/* SVM pages migrated to system memory */
	VGPU_STAT_SVM_PEER_PAGES,	/* SVM pages in another GPU's VRAM, mapped by this GPU */
	VGPU_STAT_SVM_EVICTIONS,	/* BOs of SVM evicted from VRAM */
	VGPU_STAT_EVICTIONS,		/* BO moves out of VRAM */
	VGPU_STAT_PROCESS_EVICTIONS,	/* evictions of the queues of a process */
	VGPU_STAT_SWAPOUTS,		/* BOs swapped out of system memory */
	VGPU_STAT_SHRUNK_PAGES,		/* pages of BOs swapped out for reclaim */
	VGPU_STAT_SWAPPABLE,		/* gauge: pages that reclaim may swap out */
	VGPU_STAT_ENGINE_RESETS,
	VGPU_STAT_DEVICE_RESETS,
	VGPU_STAT_GART_RECOVERIES,	/* rewrites of the GART's table after a fault of VMID 0 */
	VGPU_STAT_GART_WRONG,		/* wrong entries found in the GART's table by a recovery */
	VGPU_STAT_RECOVERY_FAILURES,	/* recoveries that failed, so all engines are given up */
	/* Jobs that run, again or for the first time, when a recovery restarts their ring. */
	VGPU_STAT_JOBS_RERUN,
	VGPU_STAT_JOBS_BY_CPU,		/* jobs that the CPU executed instead of an engine */
	VGPU_STAT_JOBS_FAILED,		/* failed jobs of the kernel's SDMA rings */
	VGPU_STAT_QUEUES_STOPPED,	/* SDMA user queues that a recovery stopped for good */
	VGPU_STAT_POISONED,		/* processes stopped because they read poisoned memory */
	VGPU_STAT_VRAM_LOST,		/* device resets that lost VRAM */
	VGPU_STAT_BOS_LOST,		/* losses of BO content; a BO may count several times */
	VGPU_STAT_RECOVERY_US,		/* duration of the last recovery, microseconds */
	VGPU_NUM_STATS
};

#endif /* VGPU_STATS_H */
