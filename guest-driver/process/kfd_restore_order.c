// SPDX-License-Identifier: GPL-2.0
/*
 * Decides which processes are restored at the same time: a fixed number of slots, granted in the
 * order of the requests. A process whose turns fail goes to the end of the queue, but every third
 * of its turns goes to the head. So allocations that evict its BOs again and again cannot keep such
 * a process off the hardware while others come and go. And a process that can never be restored
 * gets ahead of a waiting process at most once: its next two turns queue behind that process.
 */
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <kunit/visibility.h>

#include "kfd_restore_order.h"

/*
 * Turns since the last success are counted from 1. A turn whose number is a multiple of this number
 * goes to the head of the queue.
 */
#define KFD_RESTORE_FIRST	3u

/**
 * kfd_restore_order_init() - initialise an order
 * @order: order
 * @slots: number of processes that may be restored at the same time
 */
void kfd_restore_order_init(struct kfd_restore_order *order, unsigned int slots)
{
	spin_lock_init(&order->lock);
	INIT_LIST_HEAD(&order->waiting);
	order->free = slots;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_restore_order_init);

/**
 * kfd_restore_turn_init() - initialise a process's place in the order
 * @turn: place of a new process
 */
void kfd_restore_turn_init(struct kfd_restore_turn *turn)
{
	INIT_LIST_HEAD(&turn->link);
	init_completion(&turn->granted);
	turn->failed = 0;
	turn->first = false;
	turn->was_first = false;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_restore_turn_init);

/* Grant free slots to the processes at the head of the queue. The caller holds order->lock. */
static void restore_order_grant(struct kfd_restore_order *order)
{
	struct kfd_restore_turn *turn;

	while (order->free && !list_empty(&order->waiting)) {
		turn = list_first_entry(&order->waiting, struct kfd_restore_turn, link);
		list_del_init(&turn->link);
		order->free--;
		complete(&turn->granted);
	}
}

/* Queue @turn behind those that are first and, unless it is first, behind all others. */
static void restore_order_add(struct kfd_restore_order *order, struct kfd_restore_turn *turn)
{
	struct kfd_restore_turn *other;

	if (turn->first) {
		list_for_each_entry(other, &order->waiting, link) {
			if (other->first)
				continue;
			/* Insert @turn before the first entry that is not first. */
			list_add_tail(&turn->link, &other->link);
			return;
		}
	}
	list_add_tail(&turn->link, &order->waiting);
}

/**
 * kfd_restore_turn_request() - queue a process for a slot
 * @order: order
 * @turn: place of the process, which neither waits for a slot nor holds one
 *
 * The process gets the slot at once if one is free and no process waits. The caller has to call
 * kfd_restore_turn_wait(). Of the requests of one turn, only one goes to the head of the queue.
 *
 * Context: process context; does not sleep.
 */
void kfd_restore_turn_request(struct kfd_restore_order *order, struct kfd_restore_turn *turn)
{
	reinit_completion(&turn->granted);
	spin_lock(&order->lock);
	turn->first = !turn->was_first && !((turn->failed + 1) % KFD_RESTORE_FIRST);
	turn->was_first |= turn->first;
	restore_order_add(order, turn);
	restore_order_grant(order);
	spin_unlock(&order->lock);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_restore_turn_request);

/**
 * kfd_restore_turn_wait() - wait for the slot of a request
 * @turn: place of the process
 *
 * Context: sleeps, in a worker, which gets no signals. The wait is interruptible to keep the
 * hung-task detector quiet.
 */
void kfd_restore_turn_wait(struct kfd_restore_turn *turn)
{
	while (wait_for_completion_interruptible(&turn->granted))
		;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_restore_turn_wait);

/**
 * kfd_restore_turn_release() - give a slot back
 * @order: order; the calling task holds one of its slots
 *
 * Context: process context; does not sleep.
 */
void kfd_restore_turn_release(struct kfd_restore_order *order)
{
	spin_lock(&order->lock);
	order->free++;
	restore_order_grant(order);
	spin_unlock(&order->lock);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_restore_turn_release);

/**
 * kfd_restore_turn_result() - record the result of a turn
 * @turn: place of the process
 * @success: true if the process runs or needs no restore
 *
 * Context: the task that restores the process, at the end of the turn, in which it holds a slot.
 */
void kfd_restore_turn_result(struct kfd_restore_turn *turn, bool success)
{
	turn->failed = success ? 0 : turn->failed + 1;
	turn->was_first = false;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_restore_turn_result);
