// SPDX-License-Identifier: GPL-2.0
/*
 * Allocates, evicts and frees BOs of device-private pages. CPU page tables refer to these pages, so
 * TTM cannot move them; svm_bo_vacate() migrates them.
 */
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/slab.h>

#include <drm/amdgpu_drm.h>
#include <kunit/visibility.h>

#include "hw/vgpu_hw.h"
#include "mm/vgpu_bo.h"
#include "process/kfd_node.h"
#include "smi/kfd_smi_events.h"
#include "svm/svm_map.h"
#include "svm/svm_node.h"
#include "svm/svm_range.h"
#include "svm/svm_trace.h"
#include "svm_migrate_priv.h"
#include "svm_move.h"

/*
 * Number of attempts of svm_bo_vacate() to migrate all pages. A later attempt may succeed,
 * because references and page locks are often held for a short time only.
 */
#define SVM_VACATE_TRIES	3

/* Let reap_work free the BO after its last reference was dropped. Any context. */
static void svm_bo_release(struct kref *ref)
{
	struct svm_bo *sb = container_of(ref, struct svm_bo, ref);
	struct svm_node *sn = sb->node->svm;

	if (llist_add(&sb->dead, &sn->dead_bos))
		queue_work(system_unbound_wq, &sn->reap_work);
}

static void svm_reap_work(struct work_struct *work)
{
	struct svm_node *sn = container_of(work, struct svm_node, reap_work);
	struct svm_bo *sb, *next;

	llist_for_each_entry_safe(sb, next, llist_del_all(&sn->dead_bos), dead) {
		struct ttm_buffer_object *tbo = &sb->bo->tbo;

		/*
		 * This call cannot fail: the wait is not interruptible, and only callers with a ww
		 * ticket get -EDEADLK.
		 */
		ttm_bo_reserve(tbo, false, false, NULL);
		sb->bo->owner = NULL;
		ttm_bo_unreserve(tbo);
		vgpu_bo_put(sb->bo);
		put_pid(sb->owner);
		kfree(sb);
	}
}

void svm_bo_node_init(struct svm_node *sn)
{
	init_llist_head(&sn->dead_bos);
	INIT_WORK(&sn->reap_work, svm_reap_work);
}

static bool svm_bo_is_empty(const struct svm_bo *sb)
{
	return !kref_read(&sb->ref);
}

bool svm_bo_content_lost(const struct svm_bo *sb)
{
	return sb->vram_epoch != atomic_read(&sb->node->vdev->hw->vram_epoch);
}

/*
 * The caller has reserved @bo. The caller may also hold the locks in this list, so do not wait for
 * them (svm_move_leave() only tries page locks):
 *
 * - reservations of other BOs
 * - page locks
 * - any mmap_lock, svms->lock, vgpu_vm_state.alloc_lock or kfd_process.mutex
 */
bool svm_bo_vacate(struct vgpu_bo *bo)
{
	struct svm_bo *sb = bo->owner;
	struct kfd_smi_move event = {
		.to_vram = false,
		.trigger = KFD_MIGRATE_TRIGGER_TTM_EVICTION,
	};
	unsigned int tries = SVM_VACATE_TRIES;
	long moved = 0, ret;
	struct svm_move *m;
	unsigned long pfn;

	dma_resv_assert_held(bo->tbo.base.resv);

	/*
	 * No page needs to move if reap_work has detached sb (sb is NULL), or if the BO is empty.
	 * The reservation keeps sb valid.
	 */
	if (!sb || svm_bo_is_empty(sb))
		return true;
	m = kvmalloc(sizeof(*m), GFP_KERNEL | __GFP_RETRY_MAYFAIL |
		     __GFP_NOWARN);
	if (!m)
		return false;

	event.smi = &sb->node->smi;
	event.pid = pid_nr(sb->owner);
	event.page = sb->iv.first;
	event.npages = svm_interval_pages(sb->iv);
	kfd_smi_move_start(&event, 0, 0);
	trace_svm_migrate_begin(0, sb->node->gpu_id, false, event.page,
				event.npages);
	pfn = PHYS_PFN(sb->node->svm->pgmap.range.start + sb->offset);
	do {
		ret = svm_move_leave(sb->node, m, pfn, sb->npages);
		if (ret > 0)
			moved += ret;
	} while (!svm_bo_is_empty(sb) && ret >= 0 && --tries);
	kvfree(m);
	kfd_smi_move_end(&event);
	trace_svm_migrate(0, sb->node->gpu_id, false, event.page, event.npages,
			  moved, event.trigger);
	if (!svm_bo_is_empty(sb))
		return false;
	vgpu_stat_add(sb->node->vdev, VGPU_STAT_SVM_EVICTIONS, 1);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(svm_bo_vacate);

/*
 * Return true if a page cannot move, because it is locked, or has references other than those of
 * page tables. @page may be free.
 */
static bool svm_page_is_held(struct page *page)
{
	return PageLocked(page) ||
	       page_ref_count(page) > folio_mapcount(page_folio(page));
}

/*
 * Return true if all pages are free, or if at least one can move. While this page migrates, the
 * others are likely to become movable.
 */
bool svm_bo_evict_ok(struct vgpu_bo *bo)
{
	struct svm_bo *sb = bo->owner;
	unsigned long pfn, end;
	bool in_use = false;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (!sb || svm_bo_is_empty(sb))
		return true;
	/* Pages do not migrate if a reset lost their content. */
	if (svm_bo_content_lost(sb))
		return false;
	pfn = PHYS_PFN(sb->node->svm->pgmap.range.start + sb->offset);
	for (end = pfn + sb->npages; pfn < end; pfn++) {
		if (!page_ref_count(pfn_to_page(pfn)))
			continue;
		if (!svm_page_is_held(pfn_to_page(pfn)))
			return true;
		in_use = true;
	}
	return !in_use;
}
EXPORT_SYMBOL_IF_KUNIT(svm_bo_evict_ok);

/*
 * Implements vgpu_bo_owner_ops.evict_in. Returns 1, so that the caller tries again after one jiffy:
 * the driver is not notified when a page becomes movable. Returns 0 if a reset lost the content:
 * pages without content never become movable.
 */
static unsigned long svm_bo_evict_in(struct vgpu_bo *bo)
{
	return svm_bo_content_lost(bo->owner) ? 0 : 1;
}

/*
 * Implements vgpu_bo_owner_ops.lost. The pages of a lost BO stay in VRAM until their processes have
 * freed them, because a CPU fault of such a page raises SIGBUS.
 */
static bool svm_bo_lost(struct vgpu_bo *bo)
{
	struct svm_bo *sb = bo->owner;

	return sb && !svm_bo_is_empty(sb) && svm_bo_content_lost(sb);
}

static const struct vgpu_bo_owner_ops svm_bo_owner_ops = {
	.evict_ok = svm_bo_evict_ok,
	.evict_in = svm_bo_evict_in,
	.vacate = svm_bo_vacate,
	.lost = svm_bo_lost,
};

static struct svm_bo *svm_bo_try_alloc(struct kfd_node *node,
				       unsigned long npages)
{
	struct vgpu_bo_params params = {
		.size = npages << PAGE_SHIFT,
		/* With this alignment, one 2 MiB PTE can map a whole chunk. */
		.align = npages == SVM_CHUNK_PAGES ? npages << PAGE_SHIFT : 0,
		.domain = AMDGPU_GEM_DOMAIN_VRAM,
		.flags = AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS |
			 AMDGPU_GEM_CREATE_NO_CPU_ACCESS,
		.type = ttm_bo_type_kernel,
	};
	struct svm_bo *sb;
	int ret;

	sb = kzalloc(sizeof(*sb), GFP_KERNEL);
	if (!sb)
		return ERR_PTR(-ENOMEM);
	kref_init(&sb->ref);
	INIT_LIST_HEAD(&sb->touches);
	spin_lock_init(&sb->touch_lock);
	sb->node = node;
	sb->npages = npages;
	sb->vram_epoch = atomic_read(&node->vdev->hw->vram_epoch);

	ret = vgpu_bo_create(node->vdev, &params, &sb->bo);
	if (ret)
		goto err_free;
	ret = ttm_bo_reserve(&sb->bo->tbo, false, false, NULL);
	if (ret)
		goto err_put;
	ret = vgpu_bo_pin(sb->bo, AMDGPU_GEM_DOMAIN_VRAM);
	if (!ret) {
		sb->offset = vgpu_bo_vram_offset(sb->bo);
		sb->bo->owner = sb;
		sb->bo->owner_ops = &svm_bo_owner_ops;
		/* Wait until the previous content of this VRAM has been copied away. */
		dma_resv_wait_timeout(sb->bo->tbo.base.resv,
				      DMA_RESV_USAGE_KERNEL, false,
				      MAX_SCHEDULE_TIMEOUT);
	}
	ttm_bo_unreserve(&sb->bo->tbo);
	if (ret)
		goto err_put;
	return sb;

err_put:
	vgpu_bo_put(sb->bo);
err_free:
	kfree(sb);
	return ERR_PTR(ret);
}

struct svm_bo *svm_bo_alloc(struct kfd_node *node, struct svm_range_list *svms,
			    struct svm_interval iv, unsigned long npages,
			    u8 granularity)
{
	struct svm_bo *sb = svm_bo_try_alloc(node, npages);

	if (IS_ERR(sb)) {
		/* Wait for VRAM that reap_work is still freeing, then try again. */
		flush_work(&node->svm->reap_work);
		sb = svm_bo_try_alloc(node, npages);
	}
	if (!IS_ERR(sb)) {
		sb->iv = iv;
		sb->granularity = granularity;
		sb->owner = get_task_pid(svm_process(svms)->lead_thread,
					 PIDTYPE_TGID);
	}
	return sb;
}

void svm_bo_filled(struct svm_bo *sb)
{
	ttm_bo_reserve(&sb->bo->tbo, false, false, NULL);
	vgpu_bo_unpin(sb->bo);
	ttm_bo_unreserve(&sb->bo->tbo);
	svm_bo_put(sb);
}

void svm_bo_put(struct svm_bo *sb)
{
	kref_put(&sb->ref, svm_bo_release);
}
