/* SPDX-License-Identifier: GPL-2.0 */
/* Time slices of processes under memory overcommit: see kfd_timeslice.c. */
#ifndef KFD_TIMESLICE_H
#define KFD_TIMESLICE_H

#include <linux/types.h>

enum kfd_timeslice_state {
	KFD_TIMESLICE_OFF,		/* no queue is on the hardware */
	KFD_TIMESLICE_RESTORING,	/* the BOs are being validated */
	KFD_TIMESLICE_ON,		/* the queues may run */
};

/**
 * struct kfd_timeslice - time for which evictions spare the BOs of a process
 *
 * Locks that callers hold:
 *
 * - kfd_timeslice_begin(): kfd_process.mutex
 * - kfd_timeslice_end() after a failed restore: kfd_process.mutex
 * - kfd_timeslice_end() after a successful restore: kfd_process.mutex, kfd_process.queue_lock
 * - kfd_timeslice_off(): kfd_process.queue_lock. This function writes only the member @state
 * - kfd_timeslice_left(), kfd_timeslice_keeps(): none, so these functions may see old values
 */
struct kfd_timeslice {
	/** @state: KFD_TIMESLICE_OFF also after a restore that failed */
	enum kfd_timeslice_state state;
	/** @fails: number of consecutive restores that failed */
	unsigned int fails;
	/** @start: time in jiffies when the last restore began */
	unsigned long start;
	/**
	 * @active_until: time in jiffies. Until then, allocations do not evict the process's BOs
	 * from VRAM. For the restore of another process, see @slice_until
	 */
	unsigned long active_until;
	/**
	 * @slice_until: time in jiffies, used in state KFD_TIMESLICE_ON. Until then, restores of
	 * other processes do not evict the process's BOs from VRAM, and nothing evicts them from
	 * GTT or swaps them out
	 */
	unsigned long slice_until;
};

/* Record that a restore begins. @now is the time in jiffies, as in the functions below. */
void kfd_timeslice_begin(struct kfd_timeslice *t, unsigned long now);
/*
 * Record that the restore has ended. @on is true if the restore succeeded and the queues are
 * on the hardware.
 */
void kfd_timeslice_end(struct kfd_timeslice *t, unsigned long now, bool on);
/* Record that the queues were taken off the hardware. Any context. */
void kfd_timeslice_off(struct kfd_timeslice *t);
/*
 * Return the number of jiffies until an allocation may evict the process from VRAM, or 0 if an
 * allocation may do so now. Any context.
 */
unsigned long kfd_timeslice_left(const struct kfd_timeslice *t, unsigned long now);
/*
 * Return true if an eviction has to spare a BO of the process of @t. @mem_type (TTM_PL_*) is the
 * memory that has the BO. @back is true if the eviction makes room for the restore of another
 * process. Any context.
 */
bool kfd_timeslice_keeps(const struct kfd_timeslice *t, unsigned long now, u32 mem_type,
			 bool back);

#endif /* KFD_TIMESLICE_H */
