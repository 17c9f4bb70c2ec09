// SPDX-License-Identifier: GPL-2.0
/*
 * Migration between system memory and VRAM.
 *
 * DOC: VRAM as device-private memory
 *
 * Each 4 KiB of VRAM has a struct page that the CPU cannot reach
 * (MEMORY_DEVICE_PRIVATE). A migration takes a pinned, contiguous BO of just
 * the pages that move, and the pages hold it: when the last one is freed, the
 * BO goes back to the VRAM manager, in a work item, because pages are freed in
 * any context.
 *
 * A CPU access to such a page calls svm_migrate_to_ram() in the middle of a page
 * fault. It takes no lock of SVM or KFD: what it needs is in the page. Where
 * memory is, only the CPU's page tables know; nobody caches it.
 *
 * Data is copied while the pages are locked and unmapped from every CPU and GPU
 * (migrate_vma_setup() runs the notifiers). Only after the copy has succeeded do
 * the new pages replace the old: a failure leaves memory as it was.
 */
#include <linux/dma-fence.h>
#include <linux/memremap.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/amdgpu_drm.h>

#include "svm_priv.h"
#include "svm_trace.h"

#if IS_ENABLED(CONFIG_DEVICE_PRIVATE)

/**
 * struct svm_bo - VRAM under device-private pages
 * @ref: one for each page in use, one for the allocation in progress
 * @node: GPU
 * @bo: pinned, contiguous
 * @offset: in VRAM
 * @granularity: log2 of the pages that a CPU touch brings back together
 * @dead: in svm_node.dead_bos after the last reference
 */
struct svm_bo {
	struct kref ref;
	struct kfd_node *node;
	struct vgpu_bo *bo;
	u64 offset;
	u8 granularity;
	struct llist_node dead;
};

/**
 * struct svm_move - one chunk on its way
 * @src: of struct migrate_vma
 * @dst: of struct migrate_vma
 * @sys: DMA addresses; DMA_MAPPING_ERROR: page does not take part; 0: clear
 *       instead of copy
 * @vram: offsets
 */
struct svm_move {
	unsigned long src[SVM_CHUNK_PAGES];
	unsigned long dst[SVM_CHUNK_PAGES];
	dma_addr_t sys[SVM_CHUNK_PAGES];
	u64 vram[SVM_CHUNK_PAGES];
};

static struct kfd_node *svm_page_node(struct page *page)
{
	return container_of(page->pgmap, struct kfd_node, svm.pgmap);
}

bool svm_page_is_vram(struct kfd_node *node, struct page *page)
{
	return is_device_private_page(page) && svm_page_node(page) == node;
}

u64 svm_page_vram_offset(struct kfd_node *node, struct page *page)
{
	return ((u64)page_to_pfn(page) << PAGE_SHIFT) -
	       node->svm.pgmap.range.start;
}

static void svm_bo_release(struct kref *ref)
{
	struct svm_bo *sb = container_of(ref, struct svm_bo, ref);
	struct svm_node *sn = &sb->node->svm;

	if (llist_add(&sb->dead, &sn->dead_bos))
		queue_work(system_unbound_wq, &sn->reap_work);
}

static void svm_reap_work(struct work_struct *work)
{
	struct svm_node *sn = container_of(work, struct svm_node, reap_work);
	struct svm_bo *sb, *next;

	llist_for_each_entry_safe(sb, next, llist_del_all(&sn->dead_bos), dead) {
		struct ttm_buffer_object *tbo = &sb->bo->tbo;

		/* Cannot fail: not interruptible, no ticket. */
		ttm_bo_reserve(tbo, false, false, NULL);
		vgpu_bo_unpin(sb->bo);
		ttm_bo_unreserve(tbo);
		vgpu_bo_put(sb->bo);
		kfree(sb);
	}
}

static struct svm_bo *svm_bo_try_alloc(struct kfd_node *node,
				       unsigned long npages)
{
	struct vgpu_bo_params params = {
		.size = npages << PAGE_SHIFT,
		/* A whole chunk can be one 2 MiB entry of the GPU. */
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
	sb->node = node;

	ret = vgpu_bo_create(node->vdev, &params, &sb->bo);
	if (ret)
		goto err_free;
	ret = ttm_bo_reserve(&sb->bo->tbo, false, false, NULL);
	if (ret)
		goto err_put;
	ret = vgpu_bo_pin(sb->bo, AMDGPU_GEM_DOMAIN_VRAM);
	ttm_bo_unreserve(&sb->bo->tbo);
	if (ret)
		goto err_put;
	sb->offset = vgpu_bo_vram_offset(sb->bo);
	return sb;

err_put:
	vgpu_bo_put(sb->bo);
err_free:
	kfree(sb);
	return ERR_PTR(ret);
}

static struct svm_bo *svm_bo_alloc(struct kfd_node *node, unsigned long npages,
				   u8 granularity)
{
	struct svm_bo *sb = svm_bo_try_alloc(node, npages);

	if (IS_ERR(sb)) {
		/* VRAM that was freed a moment ago may be on its way back. */
		flush_work(&node->svm.reap_work);
		sb = svm_bo_try_alloc(node, npages);
	}
	if (!IS_ERR(sb))
		sb->granularity = granularity;
	return sb;
}

/* A device-private page, locked and referenced, at @offset of VRAM. */
static struct page *svm_page_get(struct svm_bo *sb, u64 offset)
{
	struct svm_node *sn = &sb->node->svm;
	struct page *page;

	page = pfn_to_page((sn->pgmap.range.start + offset) >> PAGE_SHIFT);
	kref_get(&sb->ref);
	page->zone_device_data = sb;
	zone_device_page_init(page);
	atomic_long_inc(&sn->vram_pages);
	return page;
}

/* dev_pagemap_ops.page_free: any context. */
static void svm_page_free(struct page *page)
{
	struct svm_bo *sb = page->zone_device_data;

	page->zone_device_data = NULL;
	atomic_long_dec(&sb->node->svm.vram_pages);
	kref_put(&sb->ref, svm_bo_release);
}

static int svm_copy(struct kfd_node *node, bool to_vram,
		    const struct svm_move *m, unsigned long npages)
{
	struct dma_fence *fence;
	int ret;

	fence = vgpu_mm_copy_pages(node->vdev, to_vram, m->sys, m->vram, npages);
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	dma_fence_wait(fence, false);
	ret = fence->error ? -EIO : 0;
	dma_fence_put(fence);
	return ret;
}

/* Give the destination pages back: what they were for stays where it is. */
static void svm_move_abort(struct svm_move *m, unsigned long npages)
{
	unsigned long i;

	for (i = 0; i < npages; i++) {
		struct page *page = migrate_pfn_to_page(m->dst[i]);

		if (page) {
			unlock_page(page);
			put_page(page);
		}
		m->dst[i] = 0;
	}
}

static void svm_move_dma_unmap(struct device *dev, struct svm_move *m,
			       unsigned long npages)
{
	unsigned long i;

	for (i = 0; i < npages; i++)
		if (m->sys[i] && m->sys[i] != DMA_MAPPING_ERROR)
			svm_dma_unmap(dev, m->sys[i]);
}

static unsigned long svm_move_count(const struct svm_move *m,
				    unsigned long npages)
{
	unsigned long i, n = 0;

	for (i = 0; i < npages; i++)
		if (m->src[i] & MIGRATE_PFN_MIGRATE)
			n++;
	return n;
}

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
static long svm_chunk_to_vram(struct kfd_node *node, struct vm_area_struct *vma,
			      struct svm_interval iv, u8 granularity,
			      struct svm_move *m)
{
	unsigned long npages = svm_interval_pages(iv);
	struct device *dev = node->vdev->drm.dev;
	struct migrate_vma args = {
		.vma = vma,
		.start = iv.first << PAGE_SHIFT,
		.end = (iv.last + 1) << PAGE_SHIFT,
		.src = m->src,
		.dst = m->dst,
		.pgmap_owner = svm_pgmap_owner(node->vdev),
		.flags = MIGRATE_VMA_SELECT_SYSTEM,
	};
	unsigned long n;
	struct svm_bo *sb;
	long moved = 0;
	int ret;

	/* Special mappings, huge TLB pages: they stay. */
	if (migrate_vma_setup(&args) || !args.cpages)
		return 0;

	n = svm_collect_system(dev, m, npages);
	if (!n)
		goto finalize;
	sb = svm_bo_alloc(node, n, granularity);
	if (IS_ERR(sb)) {
		moved = -ENOMEM;
		goto unmap;
	}
	svm_assign_vram(sb, m, npages);
	ret = svm_copy(node, true, m, npages);
	if (ret) {
		svm_move_abort(m, npages);
		moved = ret;
	} else {
		migrate_vma_pages(&args);
		moved = svm_move_count(m, npages);
		vgpu_stat_add(&node->vdev->hw, VGPU_STAT_PAGES_TO_VRAM, moved);
	}
	kref_put(&sb->ref, svm_bo_release);
unmap:
	svm_move_dma_unmap(dev, m, npages);
finalize:
	migrate_vma_finalize(&args);
	return moved;
}

/*
 * System pages for what migrate_vma_setup() selected. Returns how many; what
 * gets none stays in VRAM.
 */
static unsigned long svm_alloc_system(struct kfd_node *node,
				      struct vm_area_struct *vma,
				      unsigned long first, struct svm_move *m,
				      unsigned long npages)
{
	struct device *dev = node->vdev->drm.dev;
	unsigned long i, n = 0;

	for (i = 0; i < npages; i++) {
		struct page *src = migrate_pfn_to_page(m->src[i]);
		struct page *page;

		m->dst[i] = 0;
		m->vram[i] = 0;
		m->sys[i] = DMA_MAPPING_ERROR;
		if (!src || !(m->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		page = alloc_page_vma(GFP_HIGHUSER_MOVABLE, vma,
				      (first + i) << PAGE_SHIFT);
		if (!page)
			continue;
		m->sys[i] = svm_dma_map(dev, page, true);
		if (m->sys[i] == DMA_MAPPING_ERROR) {
			__free_page(page);
			continue;
		}
		lock_page(page);
		m->dst[i] = migrate_pfn(page_to_pfn(page));
		m->vram[i] = svm_page_vram_offset(node, src);
		n++;
	}
	return n;
}

/* One chunk within one VMA. As svm_migrate_to_system(). */
static long svm_chunk_to_system(struct kfd_node *node,
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
		.pgmap_owner = svm_pgmap_owner(node->vdev),
		.flags = MIGRATE_VMA_SELECT_DEVICE_PRIVATE,
		.fault_page = fault_page,
	};
	long moved = 0;
	int ret;

	if (migrate_vma_setup(&args) || !args.cpages)
		return 0;

	if (!svm_alloc_system(node, vma, iv.first, m, npages)) {
		moved = -ENOMEM;
		goto finalize;
	}
	ret = svm_copy(node, false, m, npages);
	if (ret) {
		svm_move_abort(m, npages);
		moved = ret;
	} else {
		migrate_vma_pages(&args);
		moved = svm_move_count(m, npages);
		vgpu_stat_add(&node->vdev->hw, VGPU_STAT_PAGES_TO_SYSTEM,
			      moved);
	}
	svm_move_dma_unmap(node->vdev->drm.dev, m, npages);
finalize:
	migrate_vma_finalize(&args);
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
	for (page = iv.first; page <= iv.last; page = chunk.last + 1) {
		struct vm_area_struct *vma;

		chunk = svm_next_chunk(svms->mm, iv, page, &vma);
		/* Only anonymous memory can be device-private. */
		if (!vma || (!vma_is_anonymous(vma) && !vma->anon_vma))
			continue;
		ret = svm_chunk_to_vram(node, vma, chunk, granularity, m);
		if (ret < 0)
			break;
		moved += ret;
		cond_resched();
	}
	kvfree(m);
	trace_svm_migrate(svm_process(svms)->pasid, node->gpu_id, true,
			  iv.first, svm_interval_pages(iv), moved, trigger);
	return ret < 0 ? ret : moved;
}

static long svm_migrate_from(struct kfd_node *node, struct svm_range_list *svms,
			     struct svm_interval iv, struct svm_move *m)
{
	struct svm_interval chunk;
	long moved = 0, ret;
	unsigned long page;

	for (page = iv.first; page <= iv.last; page = chunk.last + 1) {
		struct vm_area_struct *vma;

		chunk = svm_next_chunk(svms->mm, iv, page, &vma);
		if (!vma)
			continue;
		ret = svm_chunk_to_system(node, vma, chunk, NULL, m);
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

		if (node == except || !atomic_long_read(&node->svm.vram_pages))
			continue;
		if (!m)
			m = kvmalloc(sizeof(*m), GFP_KERNEL);
		if (!m)
			return -ENOMEM;
		ret = svm_migrate_from(node, svms, iv, m);
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
 * The CPU touched a page in VRAM. Called with mmap_lock held for reading and a
 * reference on vmf->page, in any process that maps the page (after fork not
 * only KFD's). Takes no lock of SVM or KFD.
 */
static vm_fault_t svm_migrate_to_ram(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct svm_bo *sb = vmf->page->zone_device_data;
	unsigned long page = vmf->address >> PAGE_SHIFT;
	struct svm_interval bounds = {
		vma->vm_start >> PAGE_SHIFT, (vma->vm_end >> PAGE_SHIFT) - 1,
	};
	struct svm_interval win = svm_window(page, min_t(u8, sb->granularity,
							 SVM_CHUNK_ORDER),
					     bounds);
	struct kfd_node *node = sb->node;
	struct svm_move *m;
	long moved;

	m = kvmalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return VM_FAULT_OOM;
	moved = svm_chunk_to_system(node, vma, win, vmf->page, m);
	kvfree(m);
	trace_svm_migrate(0, node->gpu_id, false, win.first,
			  svm_interval_pages(win), moved,
			  KFD_MIGRATE_TRIGGER_PAGEFAULT_CPU);
	if (moved == -ENOMEM)
		return VM_FAULT_OOM;
	/* If nothing moved, somebody else was moving it: the CPU tries again. */
	return moved < 0 ? VM_FAULT_SIGBUS : 0;
}

static const struct dev_pagemap_ops svm_pagemap_ops = {
	.page_free = svm_page_free,
	.migrate_to_ram = svm_migrate_to_ram,
};

/* A page of VRAM to a new system page through the BAR: works without engines. */
static void svm_read_vram(struct vgpu_device *vdev, struct page *dst, u64 offset)
{
	void *p = kmap_local_page(dst);

	memcpy_fromio(p, vdev->hw.vram + offset, PAGE_SIZE);
	kunmap_local(p);
}

/*
 * The device goes: whoever still has pages in its VRAM (children that were
 * forked from a KFD process) gets them back. Locked pages are tried again.
 */
static void svm_evict_all(struct kfd_node *node, struct svm_move *m)
{
	struct svm_node *sn = &node->svm;
	unsigned long start = PHYS_PFN(sn->pgmap.range.start);
	unsigned long end = PHYS_PFN(sn->pgmap.range.end + 1);
	unsigned long pfn, i;

	for (pfn = start; pfn < end; pfn += SVM_CHUNK_PAGES) {
		migrate_device_range(m->src, pfn, SVM_CHUNK_PAGES);
		for (i = 0; i < SVM_CHUNK_PAGES; i++) {
			struct page *src = migrate_pfn_to_page(m->src[i]);
			struct page *page;

			m->dst[i] = 0;
			if (!src || !(m->src[i] & MIGRATE_PFN_MIGRATE))
				continue;
			page = alloc_page(GFP_HIGHUSER | __GFP_NOFAIL);
			lock_page(page);
			svm_read_vram(node->vdev, page,
				      svm_page_vram_offset(node, src));
			m->dst[i] = migrate_pfn(page_to_pfn(page));
		}
		migrate_device_pages(m->src, m->dst, SVM_CHUNK_PAGES);
		migrate_device_finalize(m->src, m->dst, SVM_CHUNK_PAGES);
		cond_resched();
	}
}

int svm_migrate_init(struct kfd_node *node)
{
	struct vgpu_device *vdev = node->vdev;
	struct svm_node *sn = &node->svm;
	struct dev_pagemap *pgmap = &sn->pgmap;
	u64 size = ALIGN(vdev->hw.vram_size, SVM_CHUNK_PAGES << PAGE_SHIFT);
	struct resource *res;
	void *ret;

	atomic_long_set(&sn->vram_pages, 0);
	init_llist_head(&sn->dead_bos);
	INIT_WORK(&sn->reap_work, svm_reap_work);

	res = request_free_mem_region(&iomem_resource, size, "vgpu-kfd svm");
	if (IS_ERR(res))
		return PTR_ERR(res);

	pgmap->type = MEMORY_DEVICE_PRIVATE;
	pgmap->range.start = res->start;
	pgmap->range.end = res->end;
	pgmap->nr_range = 1;
	pgmap->ops = &svm_pagemap_ops;
	pgmap->owner = svm_pgmap_owner(vdev);
	ret = memremap_pages(pgmap, dev_to_node(vdev->drm.dev));
	if (IS_ERR(ret)) {
		release_mem_region(res->start, size);
		memset(pgmap, 0, sizeof(*pgmap));
		return PTR_ERR(ret);
	}
	return 0;
}

void svm_migrate_fini(struct kfd_node *node)
{
	struct svm_node *sn = &node->svm;
	struct dev_pagemap *pgmap = &sn->pgmap;

	if (!pgmap->type)
		return;
	while (atomic_long_read(&sn->vram_pages)) {
		struct svm_move *m = kvmalloc(sizeof(*m),
					      GFP_KERNEL | __GFP_NOFAIL);

		svm_evict_all(node, m);
		kvfree(m);
	}
	memunmap_pages(pgmap);
	release_mem_region(pgmap->range.start, range_len(&pgmap->range));
	flush_work(&sn->reap_work);
}

#endif /* CONFIG_DEVICE_PRIVATE */
