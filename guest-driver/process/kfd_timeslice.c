// SPDX-License-Identifier: GPL-2.0
/*
 * How long a process keeps its memory when all do not fit.
 *
 * DOC: time slices
 *
 * Bringing a process back may take seconds, and takes memory from others. Two
 * things could go wrong: it loses its first BOs while it is waiting for the
 * last ones, again and again; or it pushes the others out, which then do the
 * same to it, and all are moving and none is running.
 *
 * So others are refused the memory of a process for a while: TTM asks whether a BO may
 * be evicted (kfd_process_keeps()), and takes another one if not. The eviction fence does
 * not wait for any of this: a task that waits for the fence, because it was not refused
 * or did not ask, has the queues off at once.
 *
 * The BOs of a process that is on its way back are the last to be taken: they are
 * not swapped out (TTM takes others, or goes beyond its limit for that long), and
 * others on their way back leave it its VRAM and take GTT. Allocations of VRAM do so
 * for a limited time only: the task may hold what the way back needs. That time grows
 * with each attempt that was in vain.
 *
 * Once back, the process has its time slice: for four times as long as the way took,
 * within bounds, all but allocations leave it its memory. Allocations do so for as
 * long as the way took.
 *
 * An allocation that has no other place than VRAM waits until it is no longer refused
 * (vgpu_vram_mgr_make_room(), vgpu_vram_mgr_wait_kept()); others take GTT, or system memory.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <drm/ttm/ttm_placement.h>
#include <kunit/visibility.h>

#include "kfd_timeslice.h"

#define KFD_ACTIVE_MS		10u
#define KFD_ACTIVE_MAX_MS	500u
#define KFD_TIMESLICE_MAX_MS	10000u
#define KFD_TIMESLICE_FACTOR	4u
/* On the way back: 10 ms to 2.56 s. */
#define KFD_FAILS_MAX		8u

/* Jiffies for what took @took, at least KFD_ACTIVE_MS. */
static unsigned long kfd_timeslice_share(unsigned long took, unsigned int max_ms)
{
	return clamp(took, msecs_to_jiffies(KFD_ACTIVE_MS),
		     msecs_to_jiffies(max_ms));
}

void kfd_timeslice_begin(struct kfd_timeslice *t, unsigned long now)
{
	unsigned long wait = msecs_to_jiffies(KFD_ACTIVE_MS)
			     << min(t->fails, KFD_FAILS_MAX);

	t->start = now;
	WRITE_ONCE(t->active_until, now + wait);
	WRITE_ONCE(t->state, KFD_TIMESLICE_RESTORING);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_timeslice_begin);

void kfd_timeslice_end(struct kfd_timeslice *t, unsigned long now, bool on)
{
	unsigned long took = min(now - t->start,
				 msecs_to_jiffies(KFD_TIMESLICE_MAX_MS));

	if (on) {
		t->fails = 0;
		WRITE_ONCE(t->active_until,
			   now + kfd_timeslice_share(took, KFD_ACTIVE_MAX_MS));
		WRITE_ONCE(t->slice_until,
			   now + kfd_timeslice_share(KFD_TIMESLICE_FACTOR * took,
						     KFD_TIMESLICE_MAX_MS));
	} else {
		t->fails = min(t->fails + 1, KFD_FAILS_MAX);
	}
	WRITE_ONCE(t->state, on ? KFD_TIMESLICE_ON : KFD_TIMESLICE_OFF);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_timeslice_end);

void kfd_timeslice_off(struct kfd_timeslice *t)
{
	WRITE_ONCE(t->state, KFD_TIMESLICE_OFF);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_timeslice_off);

unsigned long kfd_timeslice_left(const struct kfd_timeslice *t, unsigned long now)
{
	unsigned long until = READ_ONCE(t->active_until);

	if (READ_ONCE(t->state) == KFD_TIMESLICE_OFF || !time_after(until, now))
		return 0;
	return until - now;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_timeslice_left);

bool kfd_timeslice_keeps(const struct kfd_timeslice *t, unsigned long now, u32 mem_type,
			 bool back)
{
	if (mem_type == TTM_PL_VRAM && !back)
		return kfd_timeslice_left(t, now);
	switch (READ_ONCE(t->state)) {
	case KFD_TIMESLICE_RESTORING:
		return true;
	case KFD_TIMESLICE_ON:
		return time_before(now, READ_ONCE(t->slice_until));
	default:
		return false;
	}
}
EXPORT_SYMBOL_IF_KUNIT(kfd_timeslice_keeps);
