// SPDX-License-Identifier: GPL-2.0
/*
 * Migrates pages between system memory and VRAM. While a page is copied, it is locked, and unmapped
 * from every CPU and GPU.
 */
#include <linux/completion.h>
#include <linux/memremap.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/preempt.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <kunit/visibility.h>

#include "process/kfd_evict.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "smi/kfd_smi_events.h"
#include "svm/svm_map.h"
#include "svm/svm_node.h"
#include "svm/svm_range.h"
#include "svm/svm_trace.h"
#include "svm_migrate.h"
#include "svm_migrate_priv.h"
#include "svm_move.h"
#include "svm_pipe.h"

/*
 * Maximum number of tries to move the page of a CPU fault. If another thread has unmapped the page,
 * no try can succeed. svm_touch_pause() notices this only if no other process maps the page, so a
 * limit is needed.
 */
#define SVM_TOUCH_TRIES		25u

/*
 * For a migration to VRAM, map the source pages for DMA. A page that does not exist yet gets
 * address 0. Returns the number of pages that can be migrated.
 */
static unsigned long svm_collect_system(struct device *dev, struct svm_move *m)
{
	unsigned long i, n = 0;

	for (i = 0; i < m->npages; i++) {
		struct page *page = migrate_pfn_to_page(m->src[i]);

		m->dst[i] = 0;
		m->sys[i] = DMA_MAPPING_ERROR;
		if (!(m->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		/*
		 * Skip pages of files: migrate_vma_pages() would refuse these pages, but only after
		 * the copy.
		 */
		if (page && !PageAnon(page))
			continue;
		m->sys[i] = page ? svm_dma_map(dev, page, true) : 0;
		if (m->sys[i] != DMA_MAPPING_ERROR)
			n++;
	}
	return n;
}

/* Assign a page of @sb to each of the @n pages that svm_collect_system() has selected. */
static void svm_assign_vram(struct svm_bo *sb, struct svm_move *m, unsigned long n)
{
	u64 offset = sb->offset;
	unsigned long i;

	m->vram_epoch = sb->vram_epoch;
	svm_page_reserve(sb, n);
	for (i = 0; i < m->npages; i++) {
		m->vram[i] = offset;
		if (m->sys[i] == DMA_MAPPING_ERROR)
			continue;
		m->dst[i] = migrate_pfn(page_to_pfn(svm_page_get(sb, offset)));
		offset += PAGE_SIZE;
	}
}

/*
 * Call migrate_vma_setup() on one CPU. If mlock() has locked the VMA, migrate_vma_setup() adds a
 * reference to each unmapped page to the mlock batch of the current CPU. Later it drains the batch
 * of the current CPU. If the task changed the CPU in between, the references would remain in the
 * first CPU's batch. A page with such a reference does not migrate.
 */
static int svm_migrate_setup(struct migrate_vma *args)
{
	int ret;

	migrate_disable();
	ret = migrate_vma_setup(args);
	migrate_enable();
	return ret;
}

/*
 * Report the start of the migration of a chunk within one VMA, and lock and unmap the pages of the
 * chunk. Sets m->args.cpages to 0 if no page can migrate. @event lacks .page and .npages. @r may be
 * NULL. @fault_page is the page of a CPU fault, or NULL.
 */
static void svm_chunk_begin(struct svm_move *m, struct kfd_node *node,
			    const struct kfd_smi_move *event,
			    const struct svm_range *r, struct vm_area_struct *vma,
			    struct svm_interval iv, struct page *fault_page)
{
	m->npages = svm_interval_pages(iv);
	m->to_vram = event->to_vram;
	m->copies = 0;
	m->fence = NULL;
	m->sb = NULL;
	m->event = *event;
	m->event.page = iv.first;
	m->event.npages = m->npages;
	m->args = (struct migrate_vma) {
		.vma = vma,
		.start = iv.first << PAGE_SHIFT,
		.end = (iv.last + 1) << PAGE_SHIFT,
		.src = m->src,
		.dst = m->dst,
		.pgmap_owner = svm_pgmap_owner(node),
		.flags = m->to_vram ? MIGRATE_VMA_SELECT_SYSTEM :
				      MIGRATE_VMA_SELECT_DEVICE_PRIVATE,
		.fault_page = fault_page,
	};
	kfd_smi_move_start(&m->event, r ? r->attrs.prefetch_loc : 0,
			   r ? r->attrs.preferred_loc : 0);
	/*
	 * migrate_vma_setup() fails for special mappings and hugetlb, so the pages of such VMAs do
	 * not move.
	 */
	if (svm_migrate_setup(&m->args))
		m->args.cpages = 0;
}

/*
 * Allocate VRAM for the pages that svm_chunk_begin() has locked, and submit their copy. Returns the
 * number of these pages, 0 or -ENOMEM.
 */
static long svm_chunk_fill(struct svm_pipe *pipe, struct svm_range_list *svms,
			   struct svm_interval iv, u8 granularity, struct svm_move *m)
{
	struct device *dev = pipe->node->vdev->drm.dev;
	unsigned long n = svm_collect_system(dev, m);
	struct svm_bo *sb;

	if (!n)
		return 0;
	/*
	 * svm_bo_alloc() takes reservations while the source pages are locked. So a task that holds
	 * a reservation must never wait for a page lock, only try it.
	 */
	sb = svm_bo_alloc(pipe->node, svms, iv, n, granularity);
	if (IS_ERR(sb) && pipe->last) {
		/* Unpin the BO of the chunk before, so that it can be evicted. */
		svm_pipe_drain(pipe);
		sb = svm_bo_alloc(pipe->node, svms, iv, n, granularity);
	}
	if (IS_ERR(sb)) {
		svm_move_dma_unmap(dev, m);
		return -ENOMEM;
	}
	m->sb = sb;
	svm_assign_vram(sb, m, n);
	svm_move_submit(pipe->node, m);
	return n;
}

/* Add a chunk within one VMA to @pipe, which migrates to VRAM. */
static void svm_chunk_to_vram(struct svm_pipe *pipe, struct svm_range_list *svms,
			      struct vm_area_struct *vma, struct svm_interval iv,
			      u8 granularity, unsigned int trigger)
{
	const struct kfd_smi_move event = {
		.smi = &pipe->node->smi,
		.pid = svm_process(svms)->lead_thread->pid,
		.to_vram = true,
		.trigger = trigger,
	};
	struct svm_move *m = svm_pipe_next(pipe);

	svm_chunk_begin(m, pipe->node, &event, svm_range_find(svms, iv.first), vma, iv, NULL);
	if (m->args.cpages)
		m->copies = svm_chunk_fill(pipe, svms, iv, granularity, m);
	svm_pipe_push(pipe, m);
}

/*
 * Begin the migration of a chunk within one VMA from @node's VRAM to system memory. The caller
 * calls svm_move_complete() or svm_pipe_push() next. Parameters as for svm_chunk_begin().
 */
static void svm_chunk_to_system(struct svm_move *m, struct kfd_node *node,
				const struct kfd_smi_move *event,
				const struct svm_range *r,
				struct vm_area_struct *vma,
				struct svm_interval iv, struct page *fault_page)
{
	svm_chunk_begin(m, node, event, r, vma, iv, fault_page);
	if (m->args.cpages)
		m->copies = svm_move_begin_system(node, m);
}

/*
 * Return the part of @iv that starts at @page, within one VMA or hole. Sets *@vma to the VMA, or to
 * NULL in a hole.
 */
static struct svm_interval svm_next_chunk(struct mm_struct *mm,
					  struct svm_interval iv,
					  unsigned long page,
					  struct vm_area_struct **vma)
{
	struct svm_interval chunk = svm_window(page, SVM_CHUNK_ORDER, iv);

	chunk.first = page;
	*vma = find_vma(mm, page << PAGE_SHIFT);
	if (!*vma) {
		chunk.last = iv.last;
	} else if ((*vma)->vm_start >> PAGE_SHIFT > page) {
		chunk.last = min(iv.last,
				 ((*vma)->vm_start >> PAGE_SHIFT) - 1);
		*vma = NULL;
	} else {
		/* svm_window() has already limited the chunk to SVM_CHUNK_PAGES pages. */
		chunk.last = min(chunk.last,
				 ((*vma)->vm_end >> PAGE_SHIFT) - 1);
	}
	return chunk;
}

int svm_migrate_to_vram(struct kfd_node *node, struct svm_range_list *svms,
			struct svm_interval iv, u8 granularity,
			unsigned int trigger, unsigned long *moved)
{
	struct svm_interval chunk;
	struct svm_pipe pipe;
	unsigned long page;
	int ret;

	lockdep_assert_held(&svms->lock);
	mmap_assert_locked(svms->mm);

	ret = svm_pipe_init(&pipe, node, iv);
	if (ret)
		return ret;
	trace_svm_migrate_begin(svm_process(svms)->pasid, node->gpu_id, true,
				iv.first, svm_interval_pages(iv));
	/*
	 * Keep the allocations below from evicting BOs of this process, because its queues use the
	 * BOs.
	 */
	kfd_process_set_migrating(svm_process(svms), current);
	for (page = iv.first; page <= iv.last && !pipe.error; page = chunk.last + 1) {
		struct vm_area_struct *vma;

		chunk = svm_next_chunk(svms->mm, iv, page, &vma);
		/* Only anonymous pages can be device-private. */
		if (!vma || (!vma_is_anonymous(vma) && !vma->anon_vma))
			continue;
		svm_chunk_to_vram(&pipe, svms, vma, chunk, granularity, trigger);
		cond_resched();
	}
	ret = svm_pipe_fini(&pipe, moved);
	kfd_process_set_migrating(svm_process(svms), NULL);
	trace_svm_migrate(svm_process(svms)->pasid, node->gpu_id, true,
			  iv.first, svm_interval_pages(iv), pipe.moved, trigger);
	return ret;
}

/* Migrate pages of @iv from the VRAM of @pipe's GPU, until a chunk fails. */
static void svm_migrate_from(struct svm_pipe *pipe, struct svm_range_list *svms,
			     struct svm_interval iv, unsigned int trigger)
{
	const struct kfd_smi_move event = {
		.smi = &pipe->node->smi,
		.pid = svm_process(svms)->lead_thread->pid,
		.trigger = trigger,
	};
	struct svm_interval chunk;
	unsigned long page;

	for (page = iv.first; page <= iv.last && !pipe->error; page = chunk.last + 1) {
		struct vm_area_struct *vma;
		struct svm_move *m;

		chunk = svm_next_chunk(svms->mm, iv, page, &vma);
		if (!vma)
			continue;
		m = svm_pipe_next(pipe);
		svm_chunk_to_system(m, pipe->node, &event, svm_range_find(svms, page), vma,
				    chunk, NULL);
		svm_pipe_push(pipe, m);
		cond_resched();
	}
}

int svm_migrate_to_system(struct svm_range_list *svms, struct svm_interval iv,
			  const struct kfd_node *except, unsigned int trigger,
			  unsigned long *moved)
{
	struct kfd_process *p = svm_process(svms);
	unsigned int i;
	int ret = 0;

	lockdep_assert_held(&svms->lock);
	mmap_assert_locked(svms->mm);

	for (i = 0; i < svms->n_gpus && !ret; i++) {
		struct kfd_node *node = p->pdds[i]->node;
		struct svm_pipe pipe;

		if (node == except || !atomic_long_read(&node->svm->vram_pages))
			continue;
		ret = svm_pipe_init(&pipe, node, iv);
		if (ret)
			break;
		trace_svm_migrate_begin(p->pasid, node->gpu_id, false, iv.first,
					svm_interval_pages(iv));
		svm_migrate_from(&pipe, svms, iv, trigger);
		ret = svm_pipe_fini(&pipe, moved);
		if (pipe.moved)
			trace_svm_migrate(p->pasid, node->gpu_id, false,
					  iv.first, svm_interval_pages(iv),
					  pipe.moved, trigger);
	}
	return ret;
}

/*
 * A page with references from several CPU faults cannot migrate. So only the first fault keeps its
 * reference and migrates; later faults drop theirs and wait.
 */

bool svm_touch_begin(struct svm_bo *sb, struct svm_touch *touch, struct page *page,
		     struct svm_touch_waiter *waiter)
{
	struct svm_touch *first;

	touch->page = page;
	INIT_LIST_HEAD(&touch->waiters);
	init_completion(&waiter->done);
	spin_lock(&sb->touch_lock);
	list_for_each_entry(first, &sb->touches, link) {
		if (first->page != page)
			continue;
		list_add_tail(&waiter->link, &first->waiters);
		/*
		 * This does not drop the last reference, because the thread of @first also holds a
		 * reference.
		 */
		put_page(page);
		spin_unlock(&sb->touch_lock);
		return false;
	}
	list_add(&touch->link, &sb->touches);
	spin_unlock(&sb->touch_lock);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(svm_touch_begin);

/*
 * Remove a waiter from its list, and take a page reference in the name of the waiter. This
 * reference replaces the one that svm_touch_begin() dropped. The caller holds svm_bo.touch_lock.
 */
static void svm_touch_return(struct page *page, struct svm_touch_waiter *waiter)
{
	list_del_init(&waiter->link);
	get_page(page);
}

void svm_touch_end(struct svm_bo *sb, struct svm_touch *touch)
{
	struct svm_touch_waiter *waiter, *next;

	spin_lock(&sb->touch_lock);
	list_del(&touch->link);
	list_for_each_entry_safe(waiter, next, &touch->waiters, link) {
		svm_touch_return(touch->page, waiter);
		complete(&waiter->done);
	}
	spin_unlock(&sb->touch_lock);
}
EXPORT_SYMBOL_IF_KUNIT(svm_touch_end);

/*
 * Wait until the migrating thread calls svm_touch_end(). Returns 0, or -ERESTARTSYS after a fatal
 * signal. Either way, the page reference that svm_touch_begin() dropped is taken again.
 */
static int svm_touch_wait(struct svm_bo *sb, struct page *page,
			  struct svm_touch_waiter *waiter)
{
	/*
	 * Wait without a page reference, because a reference stops the migration. A wait for the
	 * page lock, or VM_FAULT_RETRY, would take a reference.
	 */
	int ret = wait_for_completion_killable(&waiter->done);

	if (!ret)
		return 0;
	spin_lock(&sb->touch_lock);
	/*
	 * When svm_migrate_to_ram() returns, the kernel drops a reference to @page. So take again
	 * the reference that svm_touch_begin() dropped. If waiter->link is in no list,
	 * svm_touch_end() has already taken this reference.
	 */
	if (!list_empty(&waiter->link))
		svm_touch_return(page, waiter);
	spin_unlock(&sb->touch_lock);
	return ret;
}

/*
 * Wait before the next try to move @page. Returns false if another try is useless, because @page is
 * not mapped any more or a fatal signal is pending.
 */
static bool svm_touch_pause(struct page *page)
{
	struct folio *folio = page_folio(page);

	if (!folio_mapped(folio))
		return false;
	/*
	 * If @page is locked, another migration probably runs: wait for the lock. Otherwise sleep
	 * for a jiffy, so that other faulting threads can drop their references.
	 */
	if (folio_test_locked(folio))
		folio_wait_locked_killable(folio);
	else
		schedule_timeout_killable(1);
	return !fatal_signal_pending(current);
}

/*
 * Migrate the page of a CPU fault, and neighbours up to the granularity. If all tries fail, return
 * 0, so that the CPU repeats the access.
 */
static vm_fault_t svm_touch_move(struct svm_bo *sb, struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct svm_interval bounds = {
		vma->vm_start >> PAGE_SHIFT, (vma->vm_end >> PAGE_SHIFT) - 1,
	};
	struct svm_interval win = svm_window(vmf->address >> PAGE_SHIFT,
					     min_t(u8, sb->granularity,
						   SVM_CHUNK_ORDER),
					     bounds);
	const struct kfd_smi_move event = {
		.smi = &sb->node->smi,
		.pid = pid_nr(sb->owner),
		.trigger = KFD_MIGRATE_TRIGGER_PAGEFAULT_CPU,
	};
	struct svm_move *m = kvmalloc(sizeof(*m), GFP_KERNEL);
	unsigned int tries = SVM_TOUCH_TRIES;
	long moved;

	if (!m)
		return VM_FAULT_OOM;
	/*
	 * svm_touch_end() takes page references for the waiting threads, and such a page cannot
	 * move. So do all tries before svm_touch_end().
	 */
	do {
		trace_svm_migrate_begin(0, sb->node->gpu_id, false, win.first,
					svm_interval_pages(win));
		/* A CPU fault holds no lock that protects ranges, so there is no range. */
		svm_chunk_to_system(m, sb->node, &event, NULL, vma, win, vmf->page);
		moved = svm_move_complete(sb->node, m);
		trace_svm_migrate(0, sb->node->gpu_id, false, win.first,
				  svm_interval_pages(win), moved,
				  KFD_MIGRATE_TRIGGER_PAGEFAULT_CPU);
	} while (!moved && --tries && svm_touch_pause(vmf->page));
	kvfree(m);
	if (moved == -ENOMEM)
		return VM_FAULT_OOM;
	if (moved < 0 || (!moved && fatal_signal_pending(current)))
		return VM_FAULT_SIGBUS;
	return 0;
}

/*
 * Takes only these locks of SVM and KFD: svm_bo.touch_lock, kfd_smi_lock, locks of MMU notifiers.
 */
vm_fault_t svm_migrate_to_ram(struct vm_fault *vmf)
{
	struct svm_bo *sb = svm_page_bo(vmf->page);
	struct svm_touch_waiter waiter;
	struct svm_touch touch;
	vm_fault_t ret;

	/*
	 * If another thread already migrates the page, this fault's page reference stops that
	 * migration. So do not sleep before svm_touch_begin(), which then drops the reference and
	 * returns false. After false, wait for the other thread. Without the wait, the CPU would
	 * fault again, and the second fault's page reference could stop the migration.
	 */
	if (!svm_touch_begin(sb, &touch, vmf->page, &waiter))
		return svm_touch_wait(sb, vmf->page, &waiter) ?
			VM_FAULT_SIGBUS : 0;
	ret = svm_touch_move(sb, vmf);
	svm_touch_end(sb, &touch);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(svm_migrate_to_ram);
