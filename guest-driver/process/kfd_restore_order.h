/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Order in which processes are restored. No other folder includes this header. Functions are
 * documented in kfd_restore_order.c.
 */
#ifndef KFD_RESTORE_ORDER_H
#define KFD_RESTORE_ORDER_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/**
 * struct kfd_restore_turn - a process's place in the order
 *
 * A turn begins when the process first requests a slot, and ends with kfd_restore_turn_result().
 * Meanwhile the process may release its slot and request a slot again.
 */
struct kfd_restore_turn {
	/** @link: link in kfd_restore_order.waiting while the process waits for a slot */
	struct list_head link;
	/** @granted: completed when the process gets a slot */
	struct completion granted;
	/**
	 * @failed: number of consecutive turns that failed. Only the task that restores the process
	 * uses it
	 */
	unsigned int failed;
	/** @first: the process waits ahead of others; protected by kfd_restore_order.lock */
	bool first;
	/**
	 * @was_first: an earlier request of this turn was ahead of others. Only the task that
	 * restores the process uses it
	 */
	bool was_first;
};

/**
 * struct kfd_restore_order - slots, and processes that wait for a slot
 */
struct kfd_restore_order {
	/** @lock: protects @waiting, @free and the members of waiting turns; a leaf */
	spinlock_t lock;
	/** @waiting: list of struct kfd_restore_turn; the first one gets the next slot */
	struct list_head waiting;
	/** @free: number of free slots */
	unsigned int free;
};

void kfd_restore_order_init(struct kfd_restore_order *order, unsigned int slots);
void kfd_restore_turn_init(struct kfd_restore_turn *turn);
void kfd_restore_turn_request(struct kfd_restore_order *order, struct kfd_restore_turn *turn);
void kfd_restore_turn_wait(struct kfd_restore_turn *turn);
void kfd_restore_turn_release(struct kfd_restore_order *order);
void kfd_restore_turn_result(struct kfd_restore_turn *turn, bool success);

#endif /* KFD_RESTORE_ORDER_H */
