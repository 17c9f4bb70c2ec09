// SPDX-License-Identifier: GPL-2.0
/*
 * Swaps out BOs under memory pressure. The shrinker and the OOM notifier only wake a worker,
 * vgpu_shrink_work(), which swaps out BOs that are not in use.
 */
#include <linux/oom.h>
#include <linux/sched/mm.h>
#include <linux/shrinker.h>
#include <linux/swap.h>
#include <linux/workqueue.h>
#include <kunit/visibility.h>

#include "vgpu_mm_priv.h"

/* Largest number of pages that one vgpu_shrink_scan() requests from the worker: 2 MiB. */
#define SHRINK_BATCH_PAGES	(SZ_2M >> PAGE_SHIFT)
/* Number of pages that the OOM notifier requests from the worker: 16 MiB. */
#define SHRINK_OOM_PAGES	(SZ_16M >> PAGE_SHIFT)
/*
 * Time limit of the OOM notifier's wait for the worker, in jiffies. The wait must end, because the
 * waiting task may hold a lock that the worker needs.
 */
#define SHRINK_OOM_WAIT		HZ
/*
 * For BOs up to this size (in pages), the copy to shmem may use the memory reserves. Afterwards the
 * BO's freed pages refill the reserves.
 */
#define SHRINK_RESERVE_PAGES	(SZ_2M >> PAGE_SHIFT)
/* Time in jiffies for which the shrinker reports no pages after a run that swapped out nothing. */
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

/* Returns true if the current task is running the worker. */
static bool shrink_is_current(struct vgpu_shrink *s)
{
	return READ_ONCE(s->task) == current;
}

/* Returns the number of pages that can be swapped out and fit into the swap devices. */
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

	/* Do not queue work if an allocation of the worker itself has called the shrinker. */
	if (shrink_is_current(s))
		return SHRINK_STOP;
	shrink_ask(s, sc->nr_to_scan);
	/* Report 0 freed pages, because the worker frees them later. */
	return 0;
}

/*
 * Allow or forbid the worker to use the memory reserves. During the OOM notifier, free memory is
 * below the minimum watermark, so other allocations fail.
 */
static void shrink_use_reserves(struct vgpu_shrink *s, bool use)
{
	memalloc_noreclaim_restore(s->noreclaim);
	s->noreclaim = use ? memalloc_noreclaim_save() : 0;
}

/*
 * Swap out one BO. A task in reclaim must not do so: TTM allocates memory, and the BO's release
 * takes locks that allocating tasks hold.
 */
static void vgpu_shrink_work(struct work_struct *work)
{
	struct vgpu_shrink *s = shrink_of_work(work);
	struct vgpu_device *vdev = shrink_to_vgpu(s);
	struct ttm_operation_ctx ctx = { .no_wait_gpu = true };
	unsigned int nofs;
	int pages = 0;

	WRITE_ONCE(s->task, current);
	/* With GFP_NOFS, the allocations of the worker do not cause an OOM kill. */
	nofs = memalloc_nofs_save();
	/* Swap out only one BO in each run, so that cancel_work_sync() does not wait long. */
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

/* Make the allocating task wait for the worker before the kernel kills a process. */
static int vgpu_shrink_oom(struct notifier_block *nb, unsigned long unused,
			   void *freed)
{
	struct vgpu_shrink *s = container_of(nb, struct vgpu_shrink, oom);
	s64 swappable = shrink_stat(s, VGPU_STAT_SWAPPABLE);
	s64 shrunk = shrink_stat(s, VGPU_STAT_SHRUNK_PAGES);
	/* A run that is in flight now may swap out nothing, so wait for the next run as well. */
	int enough = atomic_read(&s->runs) + 2;

	/* The worker must not wait below, because it would wait for itself. */
	if (shrink_is_current(s) || !shrink_pages(s))
		return NOTIFY_DONE;
	shrink_ask(s, SHRINK_OOM_PAGES);
	wait_event_timeout(s->ran,
			   shrink_stat(s, VGPU_STAT_SHRUNK_PAGES) != shrunk ||
			   atomic_read(&s->runs) - enough >= 0 ||
			   !work_busy(&s->work), SHRINK_OOM_WAIT);
	/*
	 * If *@freed stays 0, the kernel kills a process. VGPU_STAT_SWAPPABLE falls when pages are
	 * freed, but rises when BOs are created. So report at least the pages that the worker has
	 * swapped out (VGPU_STAT_SHRUNK_PAGES).
	 */
	*(unsigned long *)freed +=
		max(shrink_stat(s, VGPU_STAT_SHRUNK_PAGES) - shrunk,
		    swappable - shrink_stat(s, VGPU_STAT_SWAPPABLE));
	return NOTIFY_OK;
}

/**
 * vgpu_shrink_running() - whether the current task is the worker that reclaim woke
 * @vdev: device
 *
 * The worker may swap out only BOs whose fences have all signalled (vgpu_ttm_eviction_valuable()).
 *
 * Return: true if the current task is the worker.
 */
bool vgpu_shrink_running(struct vgpu_device *vdev)
{
	return shrink_is_current(&vdev->mman->shrink);
}

/**
 * vgpu_shrink_copies() - prepare for TTM's copy of a BO to shmem
 * @vdev: device
 * @ttm: the BO's pages, reservation held
 *
 * In the shrinker's worker, only the copy of a small BO may use the memory reserves. In other
 * tasks the function does nothing.
 */
void vgpu_shrink_copies(struct vgpu_device *vdev, const struct ttm_tt *ttm)
{
	if (vgpu_shrink_running(vdev))
		shrink_use_reserves(&vdev->mman->shrink,
				    ttm->num_pages <= SHRINK_RESERVE_PAGES);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_shrink_copies);

/**
 * vgpu_shrink_tt() - set whether system memory of a BO can be swapped out
 * @vdev: device
 * @ttm: the BO's pages; the reservation is held, or no other thread has a reference to the BO
 * @can: true if the pages are populated, not pinned, and belong to neither an import nor a user
 *       pointer
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
 * vgpu_shrink_bo() - update VGPU_STAT_SWAPPABLE after a BO was pinned or unpinned
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
 * vgpu_shrink_init() - register shrinker and OOM notifier
 * @vdev: device; the managers of its memory are initialised
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_shrink_init(struct vgpu_device *vdev)
{
	struct vgpu_shrink *s = &vdev->mman->shrink;

	INIT_WORK(&s->work, vgpu_shrink_work);
	init_waitqueue_head(&s->ran);
	s->rest_until = jiffies;
	/*
	 * The workqueue is freezable, because a swap-out changes page tables, and the page tables
	 * of a device that sleeps cannot be changed.
	 */
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
 * After this call, BOs are swapped out only if TTM's pages exceed TTM's own limit.
 */
void vgpu_shrink_fini(struct vgpu_device *vdev)
{
	struct vgpu_shrink *s = &vdev->mman->shrink;

	unregister_oom_notifier(&s->oom);
	shrinker_free(s->shrinker);
	cancel_work_sync(&s->work);
	destroy_workqueue(s->wq);
}
