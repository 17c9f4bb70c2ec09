/* SPDX-License-Identifier: GPL-2.0 */
/* Turns of processes that do not fit in memory together. */
#ifndef KFD_TURN_H
#define KFD_TURN_H

#include <linux/types.h>

enum kfd_turn_state {
	KFD_TURN_OFF,		/* no queues, or they are off the hardware */
	KFD_TURN_COMING,	/* its BOs are being brought to a place */
	KFD_TURN_ON,		/* the queues may run */
};

/**
 * struct kfd_turn - how long a process keeps its memory; see kfd_turn.c
 * @state: what it is doing
 * @fails: how often in a row the way back was in vain
 * @start: the way back began, jiffies
 * @active_until: who waits for the eviction fence waits until then, jiffies
 * @turn_until: who can do without its memory leaves it until then, jiffies
 *
 * Written under kfd_process.mutex (kfd_turn_off(): kfd_process.queue_lock); read
 * without, in decisions that may be a moment old.
 */
struct kfd_turn {
	enum kfd_turn_state state;
	unsigned int fails;
	unsigned long start;
	unsigned long active_until;
	unsigned long turn_until;
};

/* @now is jiffies in all of them. The way back begins. */
void kfd_turn_begin(struct kfd_turn *t, unsigned long now);
/* It ends; @on: the queues are on the hardware. */
void kfd_turn_end(struct kfd_turn *t, unsigned long now, bool on);
/* The queues are off the hardware. Atomic. */
void kfd_turn_off(struct kfd_turn *t);
/* How many jiffies the process may go on, now that it is asked to leave. */
unsigned long kfd_turn_left(const struct kfd_turn *t, unsigned long now);
/*
 * Shall a BO in @mem_type (TTM_PL_*) stay, so that another one is taken? @back:
 * for somebody who is on the way back himself. Atomic.
 */
bool kfd_turn_keeps(const struct kfd_turn *t, unsigned long now, u32 mem_type,
		    bool back);

#endif /* KFD_TURN_H */
