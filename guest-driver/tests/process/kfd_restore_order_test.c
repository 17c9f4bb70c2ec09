// SPDX-License-Identifier: GPL-2.0
/*
 * Test process/kfd_restore_order.c without processes. Catches: a process that waits is passed by
 * others without a limit; a process whose restores keep failing never goes first, or goes first
 * each time; a slot is lost or granted twice.
 */
#include <linux/completion.h>
#include <kunit/test.h>

#include "process/kfd_restore_order.h"

/* Number of processes of a test */
#define TURNS		6u

/**
 * struct order_mock - an order, and processes
 */
struct order_mock {
	/** @order: order under test */
	struct kfd_restore_order order;
	/** @turn: processes */
	struct kfd_restore_turn turn[TURNS];
};

static struct order_mock *order_new(struct kunit *test, unsigned int slots)
{
	struct order_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	kfd_restore_order_init(&m->order, slots);
	for (i = 0; i < TURNS; i++)
		kfd_restore_turn_init(&m->turn[i]);
	return m;
}

static void order_request(struct order_mock *m, unsigned int i)
{
	kfd_restore_turn_request(&m->order, &m->turn[i]);
}

static bool order_granted(struct order_mock *m, unsigned int i)
{
	return completion_done(&m->turn[i].granted);
}

/* Processes that ask one after the other must get their slots in this order. */
static void order_fifo(struct kunit *test)
{
	struct order_mock *m = order_new(test, 2);
	unsigned int i, k;

	for (i = 0; i < TURNS; i++)
		order_request(m, i);
	for (k = 2; k <= TURNS; k++) {
		for (i = 0; i < TURNS; i++)
			KUNIT_EXPECT_EQ_MSG(test, order_granted(m, i), i < k, "process %u of %u",
					    i, k);
		kfd_restore_turn_release(&m->order);
	}
	KUNIT_EXPECT_EQ(test, m->order.free, 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->order.waiting));
	/* A free slot is granted at once. */
	order_request(m, 0);
	KUNIT_EXPECT_TRUE(test, order_granted(m, 0));
	KUNIT_EXPECT_EQ(test, m->order.free, 0);
	kfd_restore_turn_wait(&m->turn[0]);
}

/* The third turn of a process goes first if two turns have failed. */
static void order_third_turn(struct kunit *test)
{
	struct order_mock *m = order_new(test, 1);
	unsigned int i, turn;

	for (turn = 0; turn < 7; turn++) {
		/* Process 0 holds the slot, 1 waits, 2 asks, and 3 asks last. */
		for (i = 0; i < 4; i++)
			order_request(m, i);
		kfd_restore_turn_release(&m->order);
		KUNIT_EXPECT_EQ_MSG(test, order_granted(m, 3), turn % 3 == 2, "turn %u", turn);
		KUNIT_EXPECT_EQ_MSG(test, order_granted(m, 1), turn % 3 != 2, "turn %u", turn);
		for (i = 0; i < 3; i++)
			kfd_restore_turn_release(&m->order);
		KUNIT_EXPECT_TRUE(test, order_granted(m, 3));
		kfd_restore_turn_result(&m->turn[3], false);
	}
	KUNIT_EXPECT_EQ(test, m->order.free, 1);
	/* After a success, two more turns have to fail before a turn goes first. */
	m->turn[3].failed = 2;
	kfd_restore_turn_result(&m->turn[3], true);
	for (i = 0; i < 4; i++)
		order_request(m, i);
	kfd_restore_turn_release(&m->order);
	KUNIT_EXPECT_FALSE(test, order_granted(m, 3));
}

/* A process that has gone first releases its slot, and asks again in the same turn. */
static void order_first_once(struct kunit *test)
{
	struct order_mock *m = order_new(test, 1);
	unsigned int i;

	m->turn[2].failed = 2;
	for (i = 0; i < 3; i++)
		order_request(m, i);
	kfd_restore_turn_release(&m->order);
	KUNIT_EXPECT_TRUE(test, order_granted(m, 2));
	kfd_restore_turn_release(&m->order);
	KUNIT_EXPECT_TRUE(test, order_granted(m, 1));
	order_request(m, 3);
	order_request(m, 2);
	kfd_restore_turn_release(&m->order);
	KUNIT_EXPECT_TRUE(test, order_granted(m, 3));
	KUNIT_EXPECT_FALSE(test, order_granted(m, 2));
}

/* Processes that go first must keep their order. */
static void order_two_first(struct kunit *test)
{
	struct order_mock *m = order_new(test, 1);
	unsigned int i;

	m->turn[2].failed = 2;
	m->turn[3].failed = 5;
	for (i = 0; i < 4; i++)
		order_request(m, i);
	kfd_restore_turn_release(&m->order);
	KUNIT_EXPECT_TRUE(test, order_granted(m, 2));
	KUNIT_EXPECT_FALSE(test, order_granted(m, 3));
	kfd_restore_turn_release(&m->order);
	KUNIT_EXPECT_TRUE(test, order_granted(m, 3));
	KUNIT_EXPECT_FALSE(test, order_granted(m, 1));
	kfd_restore_turn_release(&m->order);
	KUNIT_EXPECT_TRUE(test, order_granted(m, 1));
}

/*
 * All processes except the last can never be restored, and ask again after each turn. The last one
 * must get the slot after at most one turn of each process ahead of it, and one that goes first.
 */
static void order_bounded(struct kunit *test)
{
	struct order_mock *m = order_new(test, 1);
	unsigned int i, holder = 0, turns;

	for (i = 0; i < TURNS - 1; i++) {
		m->turn[i].failed = i;
		order_request(m, i);
	}
	order_request(m, TURNS - 1);
	for (turns = 0; !order_granted(m, TURNS - 1) && turns < 100; turns++) {
		kfd_restore_turn_result(&m->turn[holder], false);
		kfd_restore_turn_release(&m->order);
		order_request(m, holder);
		for (i = 0; i < TURNS; i++)
			if (i != holder && order_granted(m, i))
				break;
		KUNIT_ASSERT_LT(test, i, TURNS);
		holder = i;
	}
	KUNIT_EXPECT_LE(test, turns, 2 * (TURNS - 1));
}

static struct kunit_case order_cases[] = {
	KUNIT_CASE(order_fifo),
	KUNIT_CASE(order_third_turn),
	KUNIT_CASE(order_first_once),
	KUNIT_CASE(order_two_first),
	KUNIT_CASE(order_bounded),
	{}
};

static struct kunit_suite order_suite = {
	.name = "kfd_restore_order",
	.test_cases = order_cases,
};

kunit_test_suite(order_suite);
