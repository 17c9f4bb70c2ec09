/* SPDX-License-Identifier: GPL-2.0 */
/* Time slices of processes under memory overcommit: see kfd_timeslice.c. */
#ifndef KFD_TIMESLICE_H
#define KFD_TIMESLICE_H

#include <linux/types.h>

enum kfd_timeslice_state {
	KFD_TIMESLICE_OFF,		/* no queue is on the hardware */
	KFD_TIMESLICE_RESTORING,	/* the BOs are being validated */
	KFD_TIMESLICE_AGAIN,		/* evicted while RESTORING; the next restore comes soon */
	KFD_TIMESLICE_ON,		/* the queues may run */
};

/**
 * struct kfd_timeslice - time for which evictions spare the BOs of a process
 */
struct kfd_timeslice {
	/**
	 * @state: state of the process's queues; after a failed restore, KFD_TIMESLICE_OFF or
	 * KFD_TIMESLICE_AGAIN
	 */
	enum kfd_timeslice_state state;
	/** @fails: number of consecutive restores that failed */
	unsigned int fails;
	/**
	 * @off_at: time in jiffies when the queues were taken off the hardware last, or when the
	 * process got its first queue. Written under kfd_process.queue_lock
	 */
	unsigned long off_at;
	/** @start: time in jiffies when the last restore began */
	unsigned long start;
	/**
	 * @active_until: time in jiffies. Until then, allocations do not evict the process's BOs
	 * from VRAM. (Evictions by restores of other processes have another limit, @slice_until.)
	 */
	unsigned long active_until;
	/**
	 * @slice_until: time in jiffies, used in the states KFD_TIMESLICE_ON and
	 * KFD_TIMESLICE_AGAIN. Until then, restores of other processes do not evict the process's
	 * BOs from VRAM, and nothing evicts them from GTT or swaps them out
	 */
	unsigned long slice_until;
};

/*
 * Record that a restore begins. The caller holds kfd_process.mutex. @now is the time in jiffies, as
 * in the functions below.
 */
void kfd_timeslice_begin(struct kfd_timeslice *t, unsigned long now);
/*
 * Record the end of a restore. @state is KFD_TIMESLICE_ON if the queues are on the hardware,
 * KFD_TIMESLICE_AGAIN if the process was evicted meanwhile, or KFD_TIMESLICE_OFF after another
 * failure. From the eighth consecutive failure on, AGAIN has the effect of OFF. The caller holds
 * kfd_process.mutex, with KFD_TIMESLICE_ON also kfd_process.queue_lock.
 */
void kfd_timeslice_end(struct kfd_timeslice *t, unsigned long now,
		       enum kfd_timeslice_state state);
/*
 * Record that the queues were taken off the hardware. The caller holds kfd_process.queue_lock.
 * Writes only @state and @off_at.
 */
void kfd_timeslice_off(struct kfd_timeslice *t, unsigned long now);
/*
 * Return the jiffies until an allocation may evict the process's BOs from VRAM (0: now). Any
 * context, without a lock: the result may be outdated.
 */
unsigned long kfd_timeslice_left(const struct kfd_timeslice *t, unsigned long now);
/*
 * Return true if a BO in @mem_type (TTM_PL_*) must not be evicted. @back: the eviction is for
 * another process's restore. Any context, without a lock.
 */
bool kfd_timeslice_keeps(const struct kfd_timeslice *t, unsigned long now, u32 mem_type,
			 bool back);

#endif /* KFD_TIMESLICE_H */
