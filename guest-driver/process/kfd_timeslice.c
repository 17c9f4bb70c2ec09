// SPDX-License-Identifier: GPL-2.0
/*
 * Computes how long evictions spare the BOs of a restored process under memory overcommit.
 *
 * DOC: time slices
 *
 * The restore of a process may take seconds, and evicts BOs of other processes. Without time
 * slices a process could lose its first BOs while it waits for the last ones, again and again; or
 * processes could evict each other all the time, so that BOs move and no queue runs.
 *
 * Therefore the BOs of a process are spared for some time: TTM calls kfd_process_keeps() before an
 * eviction, and evicts another BO if the function returns true. If a task waits for the eviction
 * fence during a time slice (e.g. to evict VRAM for an allocation, see below), eviction_work still
 * takes the queues off the hardware.
 *
 * How long the BOs of a process are spared depends on the kind of the eviction:
 *
 * - Swap-outs by TTM, evictions from GTT, and evictions of VRAM for the restore of another process.
 *   They spare the BOs during the whole restore, and then for the time slice of the process. The
 *   time slice is KFD_TIMESLICE_FACTOR times as long as the restore took, at least KFD_ACTIVE_MS
 *   and at most KFD_TIMESLICE_MAX_MS. If all BOs are spared, TTM exceeds its limit of system
 *   memory, and the other process uses GTT instead of VRAM.
 * - Evictions of VRAM for any other allocation. They spare the BOs during the restore only for a
 *   limited time, since the allocating task may hold locks that the restore needs. The limit is
 *   KFD_ACTIVE_MS at first, and doubles with each restore that fails. After the restore, these
 *   evictions spare the BOs for as long as the restore took, at least KFD_ACTIVE_MS and at most
 *   KFD_ACTIVE_MAX_MS.
 *
 * An allocation that has no placement but VRAM waits until the BOs are no longer spared
 * (vgpu_vram_mgr_make_room(), vgpu_vram_mgr_wait_kept()); allocations with other placements use
 * GTT or system memory.
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
/*
 * Limit of kfd_timeslice.fails. This member determines for how long allocations of VRAM spare the
 * BOs of a process during its restore: KFD_ACTIVE_MS << fails (10 ms to 2.56 s).
 */
#define KFD_FAILS_MAX		8u

/* Returns for how long BOs are spared after a restore. @took and the result are in jiffies. */
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
