// SPDX-License-Identifier: GPL-2.0
/*
 * Computes for how long the BOs of a restored process must not be evicted.
 *
 * If BOs could be evicted at any time, processes could evict each other so often under memory
 * overcommit that no queue runs.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <drm/ttm/ttm_placement.h>
#include <kunit/visibility.h>

#include "kfd_timeslice.h"

/*
 * Shortest time, in ms, for which evictions spare a process's BOs. Such a time begins when a
 * restore starts, and again when the restore succeeds.
 */
#define KFD_ACTIVE_MS		10u
/*
 * Longest time in ms, from the end of a successful restore, for which allocations do not evict
 * the BOs of the restored process from VRAM.
 */
#define KFD_ACTIVE_MAX_MS	500u
/* Limit in ms of the time slice: see kfd_timeslice.slice_until. */
#define KFD_TIMESLICE_MAX_MS	10000u
/*
 * The time slice is this many times as long as the restore took, and at least as long as the queues
 * were off the hardware. The latter time includes waits for restores of other processes. Without
 * it, a process whose own restores are short would run for a small part of the time only.
 */
#define KFD_TIMESLICE_FACTOR	4u
/*
 * Allocations of VRAM spare the BOs of a restored process for as long as the restore took, and at
 * least for this part of the time for which the queues were off the hardware.
 */
#define KFD_ACTIVE_PART		4u
/*
 * Limit of kfd_timeslice.fails. This member determines for how long allocations of VRAM spare the
 * BOs of a process during its restore: KFD_ACTIVE_MS << fails (10 ms to 2.56 s). At the limit, a
 * restore that an eviction ends keeps nothing (KFD_TIMESLICE_AGAIN).
 */
#define KFD_FAILS_MAX		8u

/*
 * Return for how many jiffies evictions spare the BOs after a restore: @share jiffies, at least
 * KFD_ACTIVE_MS and at most @max_ms.
 */
static unsigned long kfd_timeslice_share(unsigned long share, unsigned int max_ms)
{
	return clamp(share, msecs_to_jiffies(KFD_ACTIVE_MS),
		     msecs_to_jiffies(max_ms));
}

void kfd_timeslice_begin(struct kfd_timeslice *t, unsigned long now)
{
	/*
	 * Allocations of VRAM spare the process's BOs for @wait. The time is limited, because an
	 * allocating task may hold locks that the restore needs.
	 */
	unsigned long wait = msecs_to_jiffies(KFD_ACTIVE_MS)
			     << min(t->fails, KFD_FAILS_MAX);

	t->start = now;
	WRITE_ONCE(t->active_until, now + wait);
	WRITE_ONCE(t->state, KFD_TIMESLICE_RESTORING);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_timeslice_begin);

/* Record a successful restore that took @took jiffies. */
static void kfd_timeslice_start(struct kfd_timeslice *t, unsigned long now, unsigned long took)
{
	unsigned long off = min(now - t->off_at, msecs_to_jiffies(KFD_TIMESLICE_MAX_MS));

	t->fails = 0;
	WRITE_ONCE(t->active_until,
		   now + kfd_timeslice_share(max(took, off / KFD_ACTIVE_PART),
					     KFD_ACTIVE_MAX_MS));
	WRITE_ONCE(t->slice_until,
		   now + kfd_timeslice_share(max(KFD_TIMESLICE_FACTOR * took, off),
					     KFD_TIMESLICE_MAX_MS));
}

void kfd_timeslice_end(struct kfd_timeslice *t, unsigned long now,
		       enum kfd_timeslice_state state)
{
	unsigned long took = min(now - t->start,
				 msecs_to_jiffies(KFD_TIMESLICE_MAX_MS));

	if (state == KFD_TIMESLICE_ON)
		kfd_timeslice_start(t, now, took);
	else
		t->fails = min(t->fails + 1, KFD_FAILS_MAX);
	/*
	 * A process that ends its own restores again and again, by changes of its user pointers,
	 * must not keep its memory for ever.
	 */
	if (state == KFD_TIMESLICE_AGAIN && t->fails == KFD_FAILS_MAX)
		state = KFD_TIMESLICE_OFF;
	/*
	 * Until the next restore, keep what this restore has brought back. The time is limited,
	 * because the next restore may have to wait for locks of the process.
	 */
	if (state == KFD_TIMESLICE_AGAIN)
		WRITE_ONCE(t->slice_until,
			   now + kfd_timeslice_share(took, KFD_TIMESLICE_MAX_MS));
	WRITE_ONCE(t->state, state);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_timeslice_end);

void kfd_timeslice_off(struct kfd_timeslice *t, unsigned long now)
{
	t->off_at = now;
	WRITE_ONCE(t->state, KFD_TIMESLICE_OFF);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_timeslice_off);

unsigned long kfd_timeslice_left(const struct kfd_timeslice *t, unsigned long now)
{
	enum kfd_timeslice_state state = READ_ONCE(t->state);
	unsigned long until = READ_ONCE(t->active_until);

	if (state == KFD_TIMESLICE_OFF || state == KFD_TIMESLICE_AGAIN ||
	    !time_after(until, now))
		return 0;
	return until - now;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_timeslice_left);

bool kfd_timeslice_keeps(const struct kfd_timeslice *t, unsigned long now, u32 mem_type,
			 bool back)
{
	/*
	 * If an allocation (@back is false) needs VRAM, refuse the eviction only until
	 * active_until. kfd_timeslice_begin() gives the reason for this limit.
	 */
	if (mem_type == TTM_PL_VRAM && !back)
		return kfd_timeslice_left(t, now);
	/*
	 * Here, TTM needs VRAM for another process's restore (@back is true), or the BO is not in
	 * VRAM. The eviction may be refused even after active_until: a refusal makes nothing fail.
	 * - If the BO is in VRAM, the restore uses GTT instead of VRAM.
	 * - If the BO is in GTT or system memory, TTM evicts or swaps out another BO, or exceeds
	 *   its limit of system memory.
	 */
	switch (READ_ONCE(t->state)) {
	case KFD_TIMESLICE_RESTORING:
		return true;
	case KFD_TIMESLICE_AGAIN:
	case KFD_TIMESLICE_ON:
		return time_before(now, READ_ONCE(t->slice_until));
	default:
		return false;
	}
}
EXPORT_SYMBOL_IF_KUNIT(kfd_timeslice_keeps);
