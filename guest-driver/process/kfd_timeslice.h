/* SPDX-License-Identifier: GPL-2.0 */
/* Time slices of processes that do not fit in memory together. */
#ifndef KFD_TIMESLICE_H
#define KFD_TIMESLICE_H

#include <linux/types.h>

enum kfd_timeslice_state {
	KFD_TIMESLICE_OFF,		/* no queues, or they are off the hardware */
	KFD_TIMESLICE_RESTORING,	/* its BOs are being brought to a place */
	KFD_TIMESLICE_ON,		/* the queues may run */
};

/**
 * struct kfd_timeslice - how long a process keeps its memory; see kfd_timeslice.c
 * @state: what it is doing
 * @fails: how often in a row the way back was in vain
 * @start: the way back began, jiffies
 * @active_until: allocations leave it its VRAM until then, jiffies
 * @slice_until: who can do without its memory leaves it until then, jiffies
 *
 * Written under kfd_process.mutex (kfd_timeslice_off(): kfd_process.queue_lock); read
 * without, in decisions that may be a moment old.
 */
struct kfd_timeslice {
	enum kfd_timeslice_state state;
	unsigned int fails;
	unsigned long start;
	unsigned long active_until;
	unsigned long slice_until;
};

/* @now is jiffies in all of them. The way back begins. */
void kfd_timeslice_begin(struct kfd_timeslice *t, unsigned long now);
/* It ends; @on: the queues are on the hardware. */
void kfd_timeslice_end(struct kfd_timeslice *t, unsigned long now, bool on);
/* The queues are off the hardware. Atomic. */
void kfd_timeslice_off(struct kfd_timeslice *t);
/* For how many jiffies more allocations leave the process its VRAM. Atomic. */
unsigned long kfd_timeslice_left(const struct kfd_timeslice *t, unsigned long now);
/*
 * Shall a BO in @mem_type (TTM_PL_*) stay, so that another one is taken? @back:
 * for somebody who is on the way back himself. Atomic.
 */
bool kfd_timeslice_keeps(const struct kfd_timeslice *t, unsigned long now, u32 mem_type,
			 bool back);

#endif /* KFD_TIMESLICE_H */
