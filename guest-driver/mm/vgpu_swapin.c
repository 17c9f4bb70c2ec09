// SPDX-License-Identifier: GPL-2.0
/*
 * Spares BOs that a CPU fault has brought back from swap: computes for how long such a BO must not
 * be swapped out again.
 *
 * The BOs of a process with queues have time slices (process/kfd_timeslice.c). If other BOs could
 * be swapped out at any time, they would be swapped out first, and a process that accesses them by
 * CPU would wait for a swap-in at nearly each access.
 */
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <kunit/visibility.h>

#include "vgpu_mm_priv.h"

/*
 * A BO is spared for this many times as long as its swap-in took. So a thread that swaps in this
 * many BOs, one after the other, has all of them in memory at last.
 */
#define SWAPIN_FACTOR	32u
/* Longest time in ms for which a BO is spared. */
#define SWAPIN_MAX_MS	10000u
/*
 * No BO is spared while less than 1 / SWAPIN_MEMORY of the system's memory is available, because
 * TTM exceeds its limit of system memory if all BOs are spared.
 */
#define SWAPIN_MEMORY	4u

/**
 * vgpu_swapin_until() - compute until when a BO is spared
 * @start: time in jiffies when the swap-in began
 * @now: time in jiffies when the swap-in ended
 *
 * Context: any.
 *
 * Return: time in jiffies.
 */
unsigned long vgpu_swapin_until(unsigned long start, unsigned long now)
{
	unsigned long max = msecs_to_jiffies(SWAPIN_MAX_MS);

	return now + min(SWAPIN_FACTOR * min(now - start, max), max);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_swapin_until);

/**
 * vgpu_swapin_needed() - whether a BO is swapped out
 * @tbo: TTM object
 *
 * Context: the reservation is held.
 *
 * Return: true if the next access to the BO's memory brings the memory back from swap.
 */
bool vgpu_swapin_needed(const struct ttm_buffer_object *tbo)
{
	dma_resv_assert_held(tbo->base.resv);

	return tbo->ttm && tbo->ttm->page_flags & TTM_TT_FLAG_SWAPPED;
}

/**
 * vgpu_swapin_done() - spare a BO that a CPU fault has brought back from swap
 * @bo: BO
 * @start: time in jiffies when the swap-in began
 * @now: time in jiffies
 *
 * Context: the reservation is held; takes lru_lock.
 */
void vgpu_swapin_done(struct vgpu_bo *bo, unsigned long start, unsigned long now)
{
	to_bo_state(bo)->spared_until = vgpu_swapin_until(start, now);
	/*
	 * A fault does not move the BO in its LRU list. Without this call, TTM would look at this
	 * BO first when it needs memory next.
	 */
	ttm_bo_move_to_lru_tail_unlocked(&bo->tbo);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_swapin_done);

/**
 * vgpu_swapin_spares() - whether a BO must not be swapped out now
 * @bo: BO
 * @now: time in jiffies
 *
 * A BO in GTT is never spared: TTM may have to evict the BO because GTT is full.
 *
 * Context: the reservation is held; does not sleep.
 *
 * Return: true for some time after vgpu_swapin_done(), unless memory is short.
 */
bool vgpu_swapin_spares(struct vgpu_bo *bo, unsigned long now)
{
	long least = totalram_pages() / SWAPIN_MEMORY;

	dma_resv_assert_held(bo->tbo.base.resv);

	return bo->tbo.resource->mem_type == TTM_PL_SYSTEM &&
	       time_before(now, to_bo_state(bo)->spared_until) &&
	       si_mem_available() > least;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_swapin_spares);
