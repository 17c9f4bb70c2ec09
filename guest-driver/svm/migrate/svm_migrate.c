// SPDX-License-Identifier: GPL-2.0
/*
 * Migration between system memory and VRAM (svm_pagemap.c: its pages).
 *
 * Data is copied while the pages are locked and unmapped from every CPU and GPU
 * (migrate_vma_setup() runs the notifiers). Only after the copy has succeeded do
 * the new pages replace the old: a failure leaves memory as it was.
 */
#include <linux/delay.h>
#include <linux/memremap.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

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

/*
 * Source pages of a move to VRAM: what can move has its DMA address (0 for a
 * page that does not exist yet). Returns how many.
 */
static unsigned long svm_collect_system(struct device *dev, struct svm_move *m,
					unsigned long npages)
{
	unsigned long i, n = 0;

	for (i = 0; i < npages; i++) {
		struct page *page = migrate_pfn_to_page(m->src[i]);

		m->dst[i] = 0;
		m->sys[i] = DMA_MAPPING_ERROR;
		if (!(m->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		/* The core would refuse a file's page after the copy. */
		if (page && !PageAnon(page))
			continue;
		m->sys[i] = page ? svm_dma_map(dev, page, true) : 0;
		if (m->sys[i] != DMA_MAPPING_ERROR)
			n++;
	}
	return n;
}

/* Pages of @sb for what svm_collect_system() found. */
static void svm_assign_vram(struct svm_bo *sb, struct svm_move *m,
			    unsigned long npages)
{
	u64 offset = sb->offset;
	unsigned long i;

	for (i = 0; i < npages; i++) {
		m->vram[i] = offset;
		if (m->sys[i] == DMA_MAPPING_ERROR)
			continue;
		m->dst[i] = migrate_pfn(page_to_pfn(svm_page_get(sb, offset)));
		offset += PAGE_SIZE;
	}
}

/* One chunk within one VMA. As svm_migrate_to_vram(). */
static long svm_chunk_to_vram(struct kfd_node *node,
			      struct svm_range_list *svms,
			      struct vm_area_struct *vma,
			      struct svm_interval iv, u8 granularity,
			      unsigned int trigger, struct svm_move *m)
{
	const struct svm_range *r = svm_range_find(svms, iv.first);
	const struct kfd_smi_move told = {
		.smi = &node->smi,
		.pid = svm_process(svms)->lead_thread->pid,
		.page = iv.first,
		.npages = svm_interval_pages(iv),
		.to_vram = true,
		.trigger = trigger,
	};
	unsigned long npages = svm_interval_pages(iv);
	struct device *dev = node->vdev->drm.dev;
	struct migrate_vma args = {
		.vma = vma,
		.start = iv.first << PAGE_SHIFT,
		.end = (iv.last + 1) << PAGE_SHIFT,
		.src = m->src,
		.dst = m->dst,
		.pgmap_owner = svm_pgmap_owner(node),
		.flags = MIGRATE_VMA_SELECT_SYSTEM,
	};
	struct svm_bo *sb = NULL;
	unsigned long n;
	long moved = 0;
	int ret;

	kfd_smi_move_start(&told, r ? r->attrs.prefetch_loc : 0,
			   r ? r->attrs.preferred_loc : 0);
	/* Special mappings, huge TLB pages: they stay. */
	if (migrate_vma_setup(&args) || !args.cpages)
		goto tell;

	n = svm_collect_system(dev, m, npages);
	if (!n)
		goto finalize;
	sb = svm_bo_alloc(node, svms, iv, n, granularity);
	if (IS_ERR(sb)) {
		sb = NULL;
		moved = -ENOMEM;
		goto unmap;
	}
	svm_assign_vram(sb, m, npages);
	ret = svm_move_copy(node, true, m, npages);
	if (ret) {
		svm_move_abort(m, npages);
		moved = ret;
	} else {
		migrate_vma_pages(&args);
		moved = svm_move_count(m, npages);
		vgpu_stat_add(node->vdev, VGPU_STAT_PAGES_TO_VRAM, moved);
	}
unmap:
	svm_move_dma_unmap(dev, m, npages);
finalize:
	migrate_vma_finalize(&args);
	if (sb)
		svm_bo_filled(sb);
tell:
	kfd_smi_move_end(&told);
	return moved;
}

/*
 * One chunk within one VMA. As svm_migrate_to_system(). @told: what else to tell
 * of it; @r: its range, NULL in a CPU fault, which does not know.
 */
static long svm_chunk_to_system(struct kfd_node *node,
				struct kfd_smi_move told,
				const struct svm_range *r,
				struct vm_area_struct *vma,
				struct svm_interval iv, struct page *fault_page,
				struct svm_move *m)
{
	unsigned long npages = svm_interval_pages(iv);
	struct migrate_vma args = {
		.vma = vma,
		.start = iv.first << PAGE_SHIFT,
		.end = (iv.last + 1) << PAGE_SHIFT,
		.src = m->src,
		.dst = m->dst,
		.pgmap_owner = svm_pgmap_owner(node),
		.flags = MIGRATE_VMA_SELECT_DEVICE_PRIVATE,
		.fault_page = fault_page,
	};
	long moved = 0;
	int ret;

	told.page = iv.first;
	told.npages = npages;
	kfd_smi_move_start(&told, r ? r->attrs.prefetch_loc : 0,
			   r ? r->attrs.preferred_loc : 0);
	if (migrate_vma_setup(&args) || !args.cpages)
		goto tell;

	moved = svm_move_alloc_system(node, vma, iv.first, m, npages);
	if (moved <= 0)
		goto finalize;
	ret = svm_move_copy(node, false, m, npages);
	if (ret) {
		svm_move_abort(m, npages);
		moved = ret;
	} else {
		migrate_vma_pages(&args);
		moved = svm_move_left(m, npages);
		vgpu_stat_add(node->vdev, VGPU_STAT_PAGES_TO_SYSTEM,
			      moved);
	}
	svm_move_dma_unmap(node->vdev->drm.dev, m, npages);
finalize:
	migrate_vma_finalize(&args);
tell:
	kfd_smi_move_end(&told);
	return moved;
}

/* The next chunk of @iv from @page on, within one VMA; *@vma is NULL at holes. */
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
		chunk.last = min(chunk.last,
				 ((*vma)->vm_end >> PAGE_SHIFT) - 1);
	}
	return chunk;
}

long svm_migrate_to_vram(struct kfd_node *node, struct svm_range_list *svms,
			 struct svm_interval iv, u8 granularity,
			 unsigned int trigger)
{
	struct svm_interval chunk;
	struct svm_move *m;
	long moved = 0, ret = 0;
	unsigned long page;

	lockdep_assert_held(&svms->lock);
	mmap_assert_locked(svms->mm);

	m = kvmalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	/* It takes no memory from the process's own queues. */
	kfd_process_set_migrating(svm_process(svms), current);
	for (page = iv.first; page <= iv.last; page = chunk.last + 1) {
		struct vm_area_struct *vma;

		chunk = svm_next_chunk(svms->mm, iv, page, &vma);
		/* Only anonymous memory can be device-private. */
		if (!vma || (!vma_is_anonymous(vma) && !vma->anon_vma))
			continue;
		ret = svm_chunk_to_vram(node, svms, vma, chunk, granularity,
					trigger, m);
		if (ret < 0)
			break;
		moved += ret;
		cond_resched();
	}
	kfd_process_set_migrating(svm_process(svms), NULL);
	kvfree(m);
	trace_svm_migrate(svm_process(svms)->pasid, node->gpu_id, true,
			  iv.first, svm_interval_pages(iv), moved, trigger);
	return ret < 0 ? ret : moved;
}

static long svm_migrate_from(struct kfd_node *node, struct svm_range_list *svms,
			     struct svm_interval iv, unsigned int trigger,
			     struct svm_move *m)
{
	const struct kfd_smi_move told = {
		.smi = &node->smi,
		.pid = svm_process(svms)->lead_thread->pid,
		.trigger = trigger,
	};
	struct svm_interval chunk;
	long moved = 0, ret;
	unsigned long page;

	for (page = iv.first; page <= iv.last; page = chunk.last + 1) {
		struct vm_area_struct *vma;

		chunk = svm_next_chunk(svms->mm, iv, page, &vma);
		if (!vma)
			continue;
		ret = svm_chunk_to_system(node, told,
					  svm_range_find(svms, page), vma,
					  chunk, NULL, m);
		if (ret < 0)
			return ret;
		moved += ret;
		cond_resched();
	}
	return moved;
}

long svm_migrate_to_system(struct svm_range_list *svms, struct svm_interval iv,
			   const struct kfd_node *except, unsigned int trigger)
{
	struct kfd_process *p = svm_process(svms);
	struct svm_move *m = NULL;
	long moved = 0, ret = 0;
	unsigned int i;

	lockdep_assert_held(&svms->lock);
	mmap_assert_locked(svms->mm);

	for (i = 0; i < svms->n_gpus && ret >= 0; i++) {
		struct kfd_node *node = p->pdds[i]->node;

		if (node == except || !atomic_long_read(&node->svm->vram_pages))
			continue;
		if (!m)
			m = kvmalloc(sizeof(*m), GFP_KERNEL);
		if (!m)
			return -ENOMEM;
		ret = svm_migrate_from(node, svms, iv, trigger, m);
		if (ret > 0) {
			moved += ret;
			trace_svm_migrate(p->pasid, node->gpu_id, false,
					  iv.first, svm_interval_pages(iv),
					  ret, trigger);
		}
	}
	kvfree(m);
	return ret < 0 ? ret : moved;
}

/*
 * The page of a CPU fault has not moved: somebody else is moving it, or holds it.
 * It may be another fault. The reference that do_swap_page() has taken for each
 * keeps the other from moving the page, and the CPU may be needed by whoever has
 * it locked: this is also the kernel in a call, which nobody preempts. So sleep a
 * little, without the reference: do_swap_page() drops one of @vmf's page, which
 * is another one from now on.
 */
static vm_fault_t svm_fault_again(struct vm_fault *vmf)
{
	struct page *page = vmf->page;

	vmf->page = ZERO_PAGE(0);
	get_page(vmf->page);
	put_page(page);
	usleep_range_state(20, 200, TASK_KILLABLE);
	return fatal_signal_pending(current) ? VM_FAULT_SIGBUS : 0;
}

vm_fault_t svm_migrate_to_ram(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct svm_bo *sb = svm_page_bo(vmf->page);
	unsigned long page = vmf->address >> PAGE_SHIFT;
	struct kfd_node *node = sb->node;
	struct svm_interval bounds = {
		vma->vm_start >> PAGE_SHIFT, (vma->vm_end >> PAGE_SHIFT) - 1,
	};
	struct svm_interval win = svm_window(page, min_t(u8, sb->granularity,
							 SVM_CHUNK_ORDER),
					     bounds);
	const struct kfd_smi_move told = {
		.smi = &node->smi,
		.pid = pid_nr(sb->owner),
		.trigger = KFD_MIGRATE_TRIGGER_PAGEFAULT_CPU,
	};
	struct svm_move *m;
	long moved;

	m = kvmalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return VM_FAULT_OOM;
	moved = svm_chunk_to_system(node, told, NULL, vma, win, vmf->page, m);
	kvfree(m);
	trace_svm_migrate(0, node->gpu_id, false, win.first,
			  svm_interval_pages(win), moved,
			  KFD_MIGRATE_TRIGGER_PAGEFAULT_CPU);
	if (moved == -ENOMEM)
		return VM_FAULT_OOM;
	if (!moved)
		return svm_fault_again(vmf);
	return moved < 0 ? VM_FAULT_SIGBUS : 0;
}
