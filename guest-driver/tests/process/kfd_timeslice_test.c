// SPDX-License-Identifier: GPL-2.0
/*
 * Test process/kfd_timeslice.c with simulated time. Catches: processes evict each other without
 * making progress; a restore always gets too little time; the memory of a process can never be
 * evicted; a comparison of times is wrong when jiffies wrap.
 */
#include <linux/jiffies.h>
#include <drm/ttm/ttm_placement.h>
#include <kunit/test.h>

#include "process/kfd_timeslice.h"
#include "tests/lib/vgpu_mock.h"

/* Start of the simulated time, shortly before jiffies wrap. */
#define START	(-msecs_to_jiffies(700))

#define MS(ms)	msecs_to_jiffies(ms)

/* Check that the memory of a process without a time slice can be evicted. */
static void timeslice_off(struct kunit *test)
{
	struct kfd_timeslice t = { 0 };
	u32 place;

	for (place = TTM_PL_SYSTEM; place <= TTM_PL_VRAM; place++) {
		KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, START, place, true));
		KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, START, place, false));
	}
	KUNIT_EXPECT_EQ(test, kfd_timeslice_left(&t, START), 0);

	kfd_timeslice_off(&t, START);
	kfd_timeslice_begin(&t, START);
	kfd_timeslice_end(&t, START + MS(900), KFD_TIMESLICE_ON);
	kfd_timeslice_off(&t, START + MS(900));
	KUNIT_EXPECT_EQ(test, kfd_timeslice_left(&t, START + MS(900)), 0);
	KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, START + MS(900),
						     TTM_PL_VRAM, true));
}

/*
 * Check that the memory of a process is not evicted during the restore of this process, with one
 * exception (below).
 */
static void timeslice_restoring(struct kunit *test)
{
	struct kfd_timeslice t = { 0 };
	unsigned long later = START + MS(60000);

	kfd_timeslice_begin(&t, START);
	KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, later, TTM_PL_SYSTEM, false));
	KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, later, TTM_PL_TT, false));
	KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, later, TTM_PL_VRAM, true));
	KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, START, TTM_PL_VRAM, false));
	/*
	 * Exception: an allocation of VRAM (last argument false) may evict the memory when
	 * KFD_ACTIVE_MS have passed since kfd_timeslice_begin().
	 */
	KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, later, TTM_PL_VRAM, false));
	KUNIT_EXPECT_GT(test, kfd_timeslice_left(&t, START), 0);
	KUNIT_EXPECT_EQ(test, kfd_timeslice_left(&t, later), 0);
}

/*
 * Check that each failed restore increases kfd_timeslice_left() of the next restore, up to a limit.
 * A successful restore must reset this value to 10 ms.
 */
static void timeslice_restore_fails(struct kunit *test)
{
	unsigned long now = START, left, last = 0;
	struct kfd_timeslice t = { 0 };
	unsigned int i;

	for (i = 0; i < 8; i++) {
		kfd_timeslice_begin(&t, now);
		left = kfd_timeslice_left(&t, now);
		KUNIT_EXPECT_GE(test, left, max(2 * last, MS(10)));
		last = left;
		now += left;
		KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, now, TTM_PL_VRAM,
							     false));
		kfd_timeslice_end(&t, now, KFD_TIMESLICE_OFF);
		KUNIT_EXPECT_EQ(test, kfd_timeslice_left(&t, now), 0);
	}
	for (i = 0; i < 100; i++) {
		kfd_timeslice_begin(&t, now);
		left = kfd_timeslice_left(&t, now);
		KUNIT_EXPECT_LE(test, left, MS(4000));
		KUNIT_EXPECT_GE(test, left, last);
		kfd_timeslice_end(&t, now, KFD_TIMESLICE_AGAIN);
	}
	kfd_timeslice_begin(&t, now);
	kfd_timeslice_end(&t, now, KFD_TIMESLICE_ON);
	kfd_timeslice_begin(&t, now);
	KUNIT_EXPECT_EQ(test, kfd_timeslice_left(&t, now), MS(10));
}

/* Check that the time slice is proportional to the duration of the restore, within bounds. */
static void timeslice_on(struct kunit *test)
{
	static const struct {
		unsigned int took, active, slice;
	} want[] = {
		{ 0, 10, 10 }, { 40, 40, 160 }, { 500, 500, 2000 },
		{ 2000, 500, 8000 }, { 100000, 500, 10000 },
	};
	struct kfd_timeslice t = { 0 };
	unsigned long now, end;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		kfd_timeslice_off(&t, START);
		kfd_timeslice_begin(&t, START);
		now = START + MS(want[i].took);
		kfd_timeslice_end(&t, now, KFD_TIMESLICE_ON);
		KUNIT_EXPECT_EQ(test, kfd_timeslice_left(&t, now),
				MS(want[i].active));
		end = now + MS(want[i].active);
		KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, end - 1, TTM_PL_VRAM,
							    false));
		KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, end, TTM_PL_VRAM,
							     false));
		end = now + MS(want[i].slice);
		KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, end - 1, TTM_PL_TT,
							    false));
		KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, end, TTM_PL_TT,
							     false));
		KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, end - 1, TTM_PL_VRAM,
							    true));
		KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, end, TTM_PL_VRAM,
							     true));
	}
}

/*
 * Queues are off the hardware for a long time, most of which the process waits for restores of
 * other processes. Catches: the time slice depends only on the short restore of the process itself,
 * so the process is evicted soon, and waits again.
 */
static void timeslice_after_wait(struct kunit *test)
{
	static const struct {
		unsigned int off, took, active, slice;
	} want[] = {
		{ 400, 10, 100, 400 }, { 2400, 10, 500, 2400 }, { 2400, 1000, 500, 4000 },
		{ 40, 40, 40, 160 }, { 100000, 10, 500, 10000 },
	};
	struct kfd_timeslice t = { 0 };
	unsigned long end, now;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		now = START + MS(want[i].off);
		kfd_timeslice_off(&t, START);
		/* A failed restore does not change the time since which the queues are off. */
		kfd_timeslice_begin(&t, START);
		kfd_timeslice_end(&t, START, KFD_TIMESLICE_AGAIN);
		kfd_timeslice_begin(&t, now - MS(want[i].took));
		kfd_timeslice_end(&t, now, KFD_TIMESLICE_ON);
		KUNIT_EXPECT_EQ(test, kfd_timeslice_left(&t, now), MS(want[i].active));
		end = now + MS(want[i].slice);
		KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, end - 1, TTM_PL_TT, false));
		KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, end - 1, TTM_PL_VRAM, true));
		KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, end, TTM_PL_TT, false));
	}
}

/*
 * An eviction ends a restore, which will be tried again. Catches: other processes take the memory
 * that the restore has brought back, so each restore starts from the beginning; a process keeps its
 * memory although it is never restored.
 */
static void timeslice_again(struct kunit *test)
{
	struct kfd_timeslice t = { 0 };
	unsigned long now = START + MS(800);

	kfd_timeslice_off(&t, START);
	kfd_timeslice_begin(&t, START);
	kfd_timeslice_end(&t, now, KFD_TIMESLICE_AGAIN);
	KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, now, TTM_PL_SYSTEM, false));
	KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, now + MS(800) - 1, TTM_PL_TT, false));
	KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, now + MS(800) - 1, TTM_PL_VRAM, true));
	KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, now + MS(800), TTM_PL_TT, false));
	KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, now + MS(800), TTM_PL_VRAM, true));
	/* Allocations of VRAM do not wait for a process that is not being restored. */
	KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, now, TTM_PL_VRAM, false));
	KUNIT_EXPECT_EQ(test, kfd_timeslice_left(&t, now), 0);

	/* After another failure, the memory may be what others need. */
	kfd_timeslice_begin(&t, now);
	kfd_timeslice_end(&t, now + MS(800), KFD_TIMESLICE_OFF);
	KUNIT_EXPECT_FALSE(test, kfd_timeslice_keeps(&t, now + MS(800), TTM_PL_TT, false));
}

/*
 * Each restore of a process is ended by an eviction. Catches: the process keeps its memory from one
 * restore to the next without a limit, so a process that changes its user pointers all the time
 * never gives memory back.
 */
static void timeslice_again_ends(struct kunit *test)
{
	struct kfd_timeslice t = { 0 };
	unsigned long now = START;
	unsigned int i;

	kfd_timeslice_off(&t, START);
	for (i = 1; i <= 20; i++) {
		kfd_timeslice_begin(&t, now);
		now += MS(100);
		kfd_timeslice_end(&t, now, KFD_TIMESLICE_AGAIN);
		KUNIT_EXPECT_EQ_MSG(test, kfd_timeslice_keeps(&t, now, TTM_PL_TT, false), i < 8,
				    "restore %u", i);
		KUNIT_EXPECT_EQ_MSG(test, kfd_timeslice_keeps(&t, now, TTM_PL_VRAM, true), i < 8,
				    "restore %u", i);
	}
	/* A success resets the count. */
	kfd_timeslice_begin(&t, now);
	kfd_timeslice_end(&t, now, KFD_TIMESLICE_ON);
	kfd_timeslice_off(&t, now);
	kfd_timeslice_begin(&t, now);
	kfd_timeslice_end(&t, now, KFD_TIMESLICE_AGAIN);
	KUNIT_EXPECT_TRUE(test, kfd_timeslice_keeps(&t, now, TTM_PL_TT, false));
}

static struct kunit_case kfd_timeslice_cases[] = {
	KUNIT_CASE(timeslice_off),
	KUNIT_CASE(timeslice_restoring),
	KUNIT_CASE(timeslice_restore_fails),
	KUNIT_CASE(timeslice_on),
	KUNIT_CASE(timeslice_after_wait),
	KUNIT_CASE(timeslice_again),
	KUNIT_CASE(timeslice_again_ends),
	{}
};

static struct kunit_suite kfd_timeslice_suite = {
	.name = "vgpu_kfd_timeslice",
	.test_cases = kfd_timeslice_cases,
};

kunit_test_suite(kfd_timeslice_suite);
