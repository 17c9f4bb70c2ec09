// SPDX-License-Identifier: GPL-2.0
/*
 * When the system runs out of memory, that of BOs nobody uses is swapped out.
 *
 * Reclaim only asks, a worker does it. TTM copies a whole BO to shmem before
 * the BO's pages are free. A task in reclaim must not wait for that much memory,
 * nor take it from the memory reserves. The worker's allocations reclaim, and
 * pages that it has copied may go to the swap device meanwhile. And the last
 * reference to a BO may be dropped while the worker looks at the BO: then locks
 * are taken under which other tasks allocate.
 *
 * kswapd asks long before memory is used up. Before the kernel kills a process
 * all the same, the OOM notifier has the allocating task wait for the worker,
 * for SHRINK_OOM_WAIT at most: the task may hold a lock that the worker needs.
 * Free memory is below the minimum watermark then, and the worker's allocations
 * would fail, so the copy of a small BO may use the memory reserves
 * (PF_MEMALLOC) instead of reclaiming. The BO's own pages are freed when they
 * are copied, and replace what was taken.
 */
#include <linux/oom.h>
#include <linux/sched/mm.h>
#include <linux/shrinker.h>
#include <linux/swap.h>
#include <linux/workqueue.h>
#include <kunit/visibility.h>

#include "vgpu_mm_priv.h"

/* In one go, at least: 2 MiB. */
#define SHRINK_BATCH_PAGES	(SZ_2M >> PAGE_SHIFT)
/* What is asked for instead of a process's life: 16 MiB. */
#define SHRINK_OOM_PAGES	(SZ_16M >> PAGE_SHIFT)
#define SHRINK_OOM_WAIT		HZ
/* The copy of a BO of up to so many pages may use the reserves: 2 MiB. */
#define SHRINK_RESERVE_PAGES	(SZ_2M >> PAGE_SHIFT)
/* When all were in use, they are not looked at again for so long. */
#define SHRINK_REST		(HZ / 10)

static struct vgpu_shrink *shrink_of_work(struct work_struct *work)
{
	return container_of(work, struct vgpu_shrink, work);
}

static struct vgpu_device *shrink_to_vgpu(struct vgpu_shrink *s)
{
	return container_of(s, struct vgpu_mman, shrink)->vdev;
}

static s64 shrink_stat(struct vgpu_shrink *s, enum vgpu_counter stat)
{
	return vgpu_stat_read(shrink_to_vgpu(s), stat);
}

/* The worker runs, and it is the current task. */
static bool shrink_is_current(struct vgpu_shrink *s)
{
	return READ_ONCE(s->task) == current;
}

/* As much as there is, and as fits into the swap devices. */
static unsigned long shrink_pages(struct vgpu_shrink *s)
{
	s64 pages = shrink_stat(s, VGPU_STAT_SWAPPABLE);

	return clamp_t(s64, get_nr_swap_pages(), 0, max(pages, 0LL));
}

static void shrink_ask(struct vgpu_shrink *s, unsigned long pages)
{
	atomic_long_add(pages, &s->wanted);
	queue_work(s->wq, &s->work);
}

static unsigned long vgpu_shrink_count(struct shrinker *shrinker,
				       struct shrink_control *sc)
{
	struct vgpu_shrink *s = shrinker->private_data;

	if (time_before(jiffies, READ_ONCE(s->rest_until)))
		return 0;
	return shrink_pages(s);
}

static unsigned long vgpu_shrink_scan(struct shrinker *shrinker,
				      struct shrink_control *sc)
{
	struct vgpu_shrink *s = shrinker->private_data;

	/* The worker need not ask itself. */
	if (shrink_is_current(s))
		return SHRINK_STOP;
	shrink_ask(s, sc->nr_to_scan);
	/* None is free yet. */
	return 0;
}

/* The worker, which calls this, may allocate from the memory reserves or not. */
static void shrink_use_reserves(struct vgpu_shrink *s, bool use)
{
	memalloc_noreclaim_restore(s->noreclaim);
	s->noreclaim = use ? memalloc_noreclaim_save() : 0;
}

/* One BO at a time, so that whoever stops the worker does not wait long. */
static void vgpu_shrink_work(struct work_struct *work)
{
	struct vgpu_shrink *s = shrink_of_work(work);
	struct vgpu_device *vdev = shrink_to_vgpu(s);
	struct ttm_operation_ctx ctx = { .no_wait_gpu = true };
	unsigned int nofs;
	int pages = 0;

	WRITE_ONCE(s->task, current);
	/* Do not let the kernel kill a process for what is to save one. */
	nofs = memalloc_nofs_save();
	if (shrink_pages(s))
		pages = ttm_device_swapout(&vdev->mman->bdev, &ctx, GFP_NOFS);
	shrink_use_reserves(s, false);
	memalloc_nofs_restore(nofs);
	WRITE_ONCE(s->task, NULL);

	if (pages > 0) {
		vgpu_stat_add(vdev, VGPU_STAT_SHRUNK_PAGES, pages);
	} else {
		WRITE_ONCE(s->rest_until, jiffies + SHRINK_REST);
		atomic_long_set(&s->wanted, 0);
	}
	if (atomic_long_sub_return(max(pages, 0), &s->wanted) > 0)
		queue_work(s->wq, &s->work);
	else
		atomic_long_set(&s->wanted, 0);
	atomic_inc(&s->runs);
	wake_up_all(&s->ran);
}

static int vgpu_shrink_oom(struct notifier_block *nb, unsigned long unused,
			   void *freed)
{
	struct vgpu_shrink *s = container_of(nb, struct vgpu_shrink, oom);
	s64 swappable = shrink_stat(s, VGPU_STAT_SWAPPABLE);
	s64 shrunk = shrink_stat(s, VGPU_STAT_SHRUNK_PAGES);
	/* The run that is under way may be about to end with nothing. */
	int enough = atomic_read(&s->runs) + 2;

	/* The worker would wait for itself. */
	if (shrink_is_current(s) || !shrink_pages(s))
		return NOTIFY_DONE;
	shrink_ask(s, SHRINK_OOM_PAGES);
	wait_event_timeout(s->ran,
			   shrink_stat(s, VGPU_STAT_SHRUNK_PAGES) != shrunk ||
			   atomic_read(&s->runs) - enough >= 0 ||
			   !work_busy(&s->work), SHRINK_OOM_WAIT);
	/*
	 * Pages of BOs that were freed during the wait count, too: if none were, the
	 * kernel kills a process without another look at what is free.
	 */
	*(unsigned long *)freed +=
		max(shrink_stat(s, VGPU_STAT_SHRUNK_PAGES) - shrunk,
		    swappable - shrink_stat(s, VGPU_STAT_SWAPPABLE));
	return NOTIFY_OK;
}

/**
 * vgpu_shrink_running() - is this the worker that reclaim has woken?
 * @vdev: device
 *
 * It takes only what nobody uses, and keeps nobody from using it.
 */
bool vgpu_shrink_running(struct vgpu_device *vdev)
{
	return shrink_is_current(&vdev->mman->shrink);
}

/**
 * vgpu_shrink_copies() - TTM is about to copy a BO to shmem
 * @vdev: device
 * @ttm: the BO's pages, reservation held
 *
 * If the worker swaps the BO out, this decides whether the copy may use the
 * memory reserves. No effect for other tasks that swap out.
 */
void vgpu_shrink_copies(struct vgpu_device *vdev, const struct ttm_tt *ttm)
{
	if (vgpu_shrink_running(vdev))
		shrink_use_reserves(&vdev->mman->shrink,
				    ttm->num_pages <= SHRINK_RESERVE_PAGES);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_shrink_copies);

/**
 * vgpu_shrink_tt() - can system memory of a BO be swapped out from now on?
 * @vdev: device
 * @ttm: its pages; reservation held, or nobody knows the BO
 * @can: they are there, and neither pinned nor somebody else's
 */
void vgpu_shrink_tt(struct vgpu_device *vdev, struct ttm_tt *ttm, bool can)
{
	struct vgpu_tt *tt = to_vgpu_tt(ttm);

	if (tt->swappable == can)
		return;
	tt->swappable = can;
	vgpu_stat_add(vdev, VGPU_STAT_SWAPPABLE,
		      can ? (s64)ttm->num_pages : -(s64)ttm->num_pages);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_shrink_tt);

/**
 * vgpu_shrink_bo() - a BO was pinned or unpinned
 * @bo: BO, reservation held
 */
void vgpu_shrink_bo(struct vgpu_bo *bo)
{
	struct ttm_tt *ttm = bo->tbo.ttm;
	bool can;

	if (!ttm || ttm->page_flags & TTM_TT_FLAG_EXTERNAL)
		return;
	can = ttm_tt_is_populated(ttm) && !bo->tbo.pin_count;
	vgpu_shrink_tt(bo->vdev, ttm, can);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_shrink_bo);

/**
 * vgpu_shrink_init() - let the system take memory of BOs
 * @vdev: device, its managers work
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_shrink_init(struct vgpu_device *vdev)
{
	struct vgpu_shrink *s = &vdev->mman->shrink;

	INIT_WORK(&s->work, vgpu_shrink_work);
	init_waitqueue_head(&s->ran);
	s->rest_until = jiffies;
	/* Freezable: what it moves is in page tables of a device that sleeps. */
	s->wq = alloc_workqueue("vgpu-shrink", WQ_MEM_RECLAIM | WQ_UNBOUND |
				WQ_FREEZABLE, 1);
	if (!s->wq)
		return -ENOMEM;
	s->shrinker = shrinker_alloc(0, "vgpu:%s", dev_name(vdev->drm.dev));
	if (!s->shrinker) {
		destroy_workqueue(s->wq);
		return -ENOMEM;
	}
	s->shrinker->count_objects = vgpu_shrink_count;
	s->shrinker->scan_objects = vgpu_shrink_scan;
	s->shrinker->batch = SHRINK_BATCH_PAGES;
	s->shrinker->seeks = DEFAULT_SEEKS;
	s->shrinker->private_data = s;
	shrinker_register(s->shrinker);
	s->oom.notifier_call = vgpu_shrink_oom;
	register_oom_notifier(&s->oom);
	return 0;
}

/**
 * vgpu_shrink_fini() - undo vgpu_shrink_init()
 * @vdev: device
 *
 * BOs that are left stay where they are, but for TTM's own limit.
 */
void vgpu_shrink_fini(struct vgpu_device *vdev)
{
	struct vgpu_shrink *s = &vdev->mman->shrink;

	unregister_oom_notifier(&s->oom);
	shrinker_free(s->shrinker);
	cancel_work_sync(&s->work);
	destroy_workqueue(s->wq);
}
