// SPDX-License-Identifier: GPL-2.0
/*
 * Maps CPU memory in GPU page tables. svm_map_found() is the only function that writes valid GPU
 * entries of SVM. If the CPU's page tables change before the entries are written, svm_map_chunk()
 * starts again.
 */
#include <linux/bitfield.h>
#include <linux/hmm.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <kunit/visibility.h>

#include "mm/vgpu_userptr.h"
#include "process/kfd_node.h"
#include "svm/migrate/svm_migrate.h"
#include "vm/vgpu_vm.h"
#include "svm_hmm.h"
#include "svm_map.h"
#include "svm_node.h"
#include "svm_range.h"
#include "svm_trace.h"

/**
 * struct svm_map_buf - scratch memory for one chunk; protected by svms->lock
 */
struct svm_map_buf {
	/** @pfns: hmm_range.hmm_pfns */
	unsigned long pfns[SVM_CHUNK_PAGES];
	/**
	 * @dma: DMA address of each system page, with SVM_DMA_RO if the device may only read; 0 for
	 * other pages
	 */
	dma_addr_t dma[SVM_CHUNK_PAGES];
	/** @spans: page table entries to write */
	struct vgpu_vm_span spans[SVM_CHUNK_PAGES];
	/** @n_spans: number of elements of @spans in use */
	unsigned int n_spans;
	/** @n_peer: number of pages in another GPU's VRAM */
	unsigned int n_peer;
	/**
	 * @lost: a page may have lost its content in a reset, so each page has to be tested before
	 * the entries are written
	 */
	bool lost;
};

int svm_map_buf_init(struct svm_range_list *svms)
{
	svms->map_buf = kvmalloc(sizeof(*svms->map_buf), GFP_KERNEL);
	return svms->map_buf ? 0 : -ENOMEM;
}

void svm_map_buf_fini(struct svm_range_list *svms)
{
	kvfree(svms->map_buf);
	svms->map_buf = NULL;
}

/*
 * Return the PTE flags, with the MTYPE that amdgpu chooses for this chip. The device ignores
 * MTYPE.
 */
static u64 svm_pte_flags(u32 flags, enum svm_place place, bool writable)
{
	bool coherent = flags & (KFD_IOCTL_SVM_FLAG_COHERENT |
				 KFD_IOCTL_SVM_FLAG_EXT_COHERENT);
	u64 pte = VGPU_PTE_VALID | VGPU_PTE_READABLE;
	u64 mtype;

	if (place == SVM_IN_VRAM) {
		mtype = coherent ? VGPU_MTYPE_CC : VGPU_MTYPE_RW;
	} else {
		mtype = coherent ? VGPU_MTYPE_UC : VGPU_MTYPE_NC;
		pte |= VGPU_PTE_SNOOPED;
	}
	if (place == SVM_IN_SYSTEM)
		pte |= VGPU_PTE_SYSTEM;
	if (writable)
		pte |= VGPU_PTE_WRITEABLE;
	if (flags & KFD_IOCTL_SVM_FLAG_GPU_EXEC)
		pte |= VGPU_PTE_EXECUTABLE;
	return pte | FIELD_PREP(VGPU_PTE_MTYPE, mtype);
}

static void svm_dma_unmap_array(struct device *dev, const dma_addr_t *dma,
				unsigned long n)
{
	while (n--)
		if (dma[n])
			svm_dma_unmap(dev, dma[n]);
}

/*
 * If the page follows the last span of @buf and has the same flags, extend that span by the page.
 * Otherwise append a span.
 */
static void svm_add_span(struct svm_map_buf *buf, u64 addr, u64 flags)
{
	struct vgpu_vm_span *span = &buf->spans[buf->n_spans];

	if (buf->n_spans) {
		span--;
		if (span->pte_flags == flags &&
		    span->addr + span->npages * PAGE_SIZE == addr) {
			span->npages++;
			return;
		}
		span++;
	}
	*span = (struct vgpu_vm_span){
		.addr = addr, .npages = 1, .pte_flags = flags,
	};
	buf->n_spans++;
}

/*
 * Map page @i of @buf for DMA if the page is in system memory, and set buf->dma[@i]. Set *@addr to
 * the address for the page's entry. Returns the page's location (enum svm_place); -EIO if the DMA
 * mapping fails; -EXDEV if the GPU cannot reach the page.
 */
static int svm_map_dma(struct svm_map_buf *buf, unsigned long i, struct svm_view *view,
		       struct device *dev, bool writable, u64 *addr)
{
	struct page *page = hmm_pfn_to_page(buf->pfns[i]);
	int place;

	if (unlikely(is_device_private_page(page))) {
		buf->dma[i] = 0;
		place = svm_page_place(view, page, addr);
		return place == SVM_OUT_OF_REACH ? -EXDEV : place;
	}
	buf->dma[i] = svm_dma_map(dev, page, writable);
	if (unlikely(buf->dma[i] == DMA_MAPPING_ERROR))
		return -EIO;
	*addr = SVM_DMA_ADDR(buf->dma[i]);
	return SVM_IN_SYSTEM;
}

/*
 * Convert buf->pfns to buf->dma and buf->spans. Returns 0; -EIO if a DMA mapping fails; -EXDEV if
 * @node cannot reach a page in VRAM, or if a page is read-only although @write is true.
 */
static int svm_build_spans(struct svm_range *r, struct kfd_node *node,
			   unsigned long npages, bool write)
{
	bool gpu_ro = r->attrs.flags & KFD_IOCTL_SVM_FLAG_GPU_RO;
	struct svm_map_buf *buf = r->svms->map_buf;
	struct device *dev = node->vdev->drm.dev;
	struct svm_view view = { .node = node };
	int place = SVM_IN_SYSTEM;
	int kind, last = -1;
	unsigned long i;
	u64 flags = 0;

	buf->n_spans = 0;
	buf->n_peer = 0;
	for (i = 0; i < npages; i++) {
		bool writable = buf->pfns[i] & HMM_PFN_WRITE;
		u64 addr;

		/*
		 * After fork, a page in VRAM is shared copy-on-write. If the page's owner is
		 * hmm_range.dev_private_owner, HMM returns the page read-only despite
		 * HMM_PFN_REQ_WRITE.
		 */
		place = -EXDEV;
		if (write && !writable)
			break;
		writable = writable && !gpu_ro;
		place = svm_map_dma(buf, i, &view, dev, writable, &addr);
		if (place < 0)
			break;
		buf->n_peer += place == SVM_IN_PEER;
		/* Most pages have the flags of the page before. */
		kind = 2 * place + writable;
		if (kind != last)
			flags = svm_pte_flags(r->attrs.flags, place, writable);
		last = kind;
		svm_add_span(buf, addr, flags);
	}
	buf->lost = view.lost;
	if (place >= 0)
		return 0;
	svm_dma_unmap_array(dev, buf->dma, i);
	return place;
}

/*
 * Mark as dirty each page to which the GPU gets write access. The caller holds r->lock and has
 * tested the notifier's sequence number.
 */
static void svm_mark_written(struct svm_range *r, unsigned long npages)
{
	const unsigned long *pfns = r->svms->map_buf->pfns;
	unsigned long i;

	if (r->attrs.flags & KFD_IOCTL_SVM_FLAG_GPU_RO)
		return;
	for (i = 0; i < npages; i++)
		if (pfns[i] & HMM_PFN_WRITE)
			vgpu_page_set_dirty(hmm_pfn_to_page(pfns[i]));
}

/*
 * Return true if a reset lost the content of a page. The caller holds r->lock and has tested the
 * notifier's sequence number.
 */
static bool svm_any_lost(struct svm_map_buf *buf, unsigned long npages)
{
	unsigned long i;

	for (i = 0; i < npages; i++)
		if (svm_page_in_use_lost(hmm_pfn_to_page(buf->pfns[i])))
			return true;
	return false;
}

/*
 * Write the page table entries of svm_build_spans(). Returns 0; -EBUSY if the CPU's page tables
 * changed; -EXDEV if a page in VRAM is lost.
 */
static int svm_commit_spans(struct svm_range *r, unsigned int gpu,
			    struct svm_interval iv, unsigned long seq)
{
	struct kfd_node *node = svm_process(r->svms)->pdds[gpu]->node;
	struct svm_map_buf *buf = r->svms->map_buf;
	struct vgpu_vm *vm = svm_gpu_vm(r->svms, gpu);
	struct device *dev = node->vdev->drm.dev;
	int ret = 0;

	/*
	 * The notifier clears entries under r->lock. A call before this point makes @seq outdated;
	 * a later call clears the entries that are written here.
	 */
	mutex_lock(&r->lock);
	if (mmu_interval_read_retry(&r->notifier, seq))
		ret = -EBUSY;
	else if (buf->lost && svm_any_lost(buf, svm_interval_pages(iv)))
		ret = -EXDEV;
	if (ret) {
		mutex_unlock(&r->lock);
		/* Undo the DMA mappings of svm_build_spans(). */
		svm_dma_unmap_array(dev, buf->dma, svm_interval_pages(iv));
		return ret;
	}
	svm_mark_written(r, svm_interval_pages(iv));
	set_bit(gpu, r->mapped);
	vgpu_vm_lock_pt(vm);
	vgpu_vm_write_spans(vm, iv.first, buf->spans, buf->n_spans);
	vgpu_vm_unlock_pt(vm);
	svm_dma_set(&r->svms->gpus[gpu], dev, iv, buf->dma);
	mutex_unlock(&r->lock);
	if (buf->n_peer)
		vgpu_stat_add(node->vdev, VGPU_STAT_SVM_PEER_PAGES,
			      buf->n_peer);
	return 0;
}

/*
 * Map the pages that HMM returned, all of them writable if @write is true. Returns 0; -EBUSY if the
 * CPU's page tables have changed since @seq was read; or an error of svm_build_spans() or
 * svm_commit_spans().
 */
static int svm_map_found(struct svm_range *r, unsigned int gpu,
			 struct svm_interval iv, bool write, unsigned long seq)
{
	struct kfd_node *node = svm_process(r->svms)->pdds[gpu]->node;
	int token, ret = -EBUSY;

	svm_peer_enter(&token);
	if (!mmu_interval_check_retry(&r->notifier, seq))
		ret = svm_build_spans(r, node, svm_interval_pages(iv), write);
	if (!ret)
		ret = svm_commit_spans(r, gpu, iv, seq);
	svm_peer_leave(token);
	return ret;
}

/*
 * Allocate page tables and DMA slots for @iv, because holders of r->lock must not allocate. If @try
 * is true, do not wait for VRAM (vgpu_vm_try_reserve_tables()). The caller calls
 * vgpu_vm_unreserve_tables() later. Returns 0, an error of svm_map_pages() or, if @try is true,
 * -EBUSY.
 */
static int svm_map_reserve(struct svm_range_list *svms, unsigned int gpu, struct svm_interval iv,
			   bool try)
{
	struct vgpu_vm *vm = svm_gpu_vm(svms, gpu);
	int ret;

	ret = try ? vgpu_vm_try_reserve_tables(vm, iv.first, iv.last) :
		    vgpu_vm_reserve_tables(vm, iv.first, iv.last);
	if (ret)
		return ret;
	ret = svm_dma_reserve(&svms->gpus[gpu], iv);
	if (ret)
		vgpu_vm_unreserve_tables(vm);
	return ret;
}

/*
 * Map @iv, which has at most SVM_CHUNK_PAGES pages, all within one page table. Returns 0 or an
 * error of svm_map_pages().
 */
static int svm_map_chunk(struct svm_range *r, unsigned int gpu,
			 struct svm_interval iv, bool write)
{
	struct svm_range_list *svms = r->svms;
	struct kfd_node *node = svm_process(svms)->pdds[gpu]->node;
	struct vgpu_vm *vm = svm_gpu_vm(svms, gpu);
	unsigned long deadline = jiffies +
				 msecs_to_jiffies(HMM_RANGE_DEFAULT_TIMEOUT);
	struct hmm_range hmm = {
		.notifier = &r->notifier,
		.start = iv.first << PAGE_SHIFT,
		.end = (iv.last + 1) << PAGE_SHIFT,
		.hmm_pfns = svms->map_buf->pfns,
		.default_flags = HMM_PFN_REQ_FAULT |
				 (write ? HMM_PFN_REQ_WRITE : 0),
		.dev_private_owner = svm_pgmap_owner(node),
	};
	int ret;

	lockdep_assert_held(&svms->lock);
	mmap_assert_locked(svms->mm);

	ret = svm_map_reserve(svms, gpu, iv, false);
	if (ret)
		return ret;

	do {
		trace_svm_hmm_begin(svm_process(svms)->pasid, iv.first, iv.last);
		hmm.notifier_seq = mmu_interval_read_begin(&r->notifier);
		ret = svm_hmm_fault(svms, &hmm);
		trace_svm_hmm_end(svm_process(svms)->pasid, iv.first, iv.last);
		if (!ret)
			ret = svm_map_found(r, gpu, iv, write, hmm.notifier_seq);
		if (ret == -EXDEV) {
			/* Make HMM migrate the pages to system memory, as a CPU access does. */
			hmm.dev_private_owner = NULL;
			ret = -EBUSY;
		}
		if (ret != -EBUSY)
			goto unreserve;
		cond_resched();
	} while (time_before(jiffies, deadline));
	ret = -EAGAIN;
unreserve:
	vgpu_vm_unreserve_tables(vm);
	return ret;
}

/* Return true if HMM has found all pages, with write access if @write is true. */
static bool svm_all_present(const unsigned long *pfns, unsigned long npages, bool write)
{
	unsigned long request = HMM_PFN_REQ_FAULT | (write ? HMM_PFN_REQ_WRITE : 0);
	unsigned long i;

	for (i = 0; i < npages; i++)
		if (svm_hmm_missing(pfns[i], request))
			return false;
	return true;
}

bool svm_map_present(struct svm_range *r, unsigned int gpu,
		     struct svm_interval iv, bool write)
{
	struct svm_range_list *svms = r->svms;
	/* Without default_flags, HMM faults no page in. Without owner, HMM finds no VRAM. */
	struct hmm_range hmm = {
		.notifier = &r->notifier,
		.start = iv.first << PAGE_SHIFT,
		.end = (iv.last + 1) << PAGE_SHIFT,
		.hmm_pfns = svms->map_buf->pfns,
	};
	int ret;

	lockdep_assert_held(&svms->lock);
	mmap_assert_locked(svms->mm);

	hmm.notifier_seq = mmu_interval_read_begin(&r->notifier);
	if (hmm_range_fault(&hmm) ||
	    !svm_all_present(hmm.hmm_pfns, svm_interval_pages(iv), write))
		return false;
	if (svm_map_reserve(svms, gpu, iv, true))
		return false;
	ret = svm_map_found(r, gpu, iv, write, hmm.notifier_seq);
	vgpu_vm_unreserve_tables(svm_gpu_vm(svms, gpu));
	return !ret;
}

int svm_map_in_vma(struct svm_range *r, unsigned int gpu, struct svm_interval iv, bool write)
{
	struct svm_interval chunk = { .first = iv.first };

	while (chunk.first <= iv.last) {
		int ret;

		chunk.last = min(chunk.first | (SVM_CHUNK_PAGES - 1), iv.last);
		ret = svm_map_chunk(r, gpu, chunk, write);
		if (ret)
			return ret;
		chunk.first = chunk.last + 1;
	}
	return 0;
}

int svm_map_pages(struct svm_range *r, unsigned int gpu, struct svm_interval iv)
{
	struct svm_interval part = { .first = iv.first };

	while (part.first <= iv.last) {
		struct vm_area_struct *vma = vma_lookup(r->svms->mm, part.first << PAGE_SHIFT);
		bool write;
		int ret;

		if (!vma)
			return -EFAULT;
		write = (vma->vm_flags & VM_WRITE) &&
			!(r->attrs.flags & KFD_IOCTL_SVM_FLAG_GPU_RO);
		part.last = min(iv.last, (vma->vm_end >> PAGE_SHIFT) - 1);
		ret = svm_map_in_vma(r, gpu, part, write);
		if (ret)
			return ret;
		part.first = part.last + 1;
	}
	return 0;
}

void svm_map_prepare(struct svm_range_list *svms, unsigned int gpu)
{
	struct vgpu_vm *vm = svm_gpu_vm(svms, gpu);

	svm_dma_prepare(&svms->gpus[gpu]);
	if (vm)
		vgpu_vm_prepare_table(vm);
}
EXPORT_SYMBOL_IF_KUNIT(svm_map_prepare);

/*
 * Map @iv as svm_map_pages() does, but skip pages without memory or access. Bisects @iv
 * recursively, at most SVM_CHUNK_ORDER deep.
 */
static int svm_map_what_is_there(struct svm_range *r, unsigned int gpu,
				 struct svm_interval iv)
{
	unsigned long mid = iv.first + (iv.last - iv.first) / 2;
	int ret = svm_map_pages(r, gpu, iv);

	if (ret != -EFAULT && ret != -EPERM)
		return ret;
	if (iv.first == iv.last)
		return 0;
	ret = svm_map_what_is_there(r, gpu,
				    (struct svm_interval){ iv.first, mid });
	if (ret)
		return ret;
	return svm_map_what_is_there(r, gpu,
				     (struct svm_interval){ mid + 1, iv.last });
}

static int svm_map_range_lenient(struct svm_range *r, unsigned int gpu)
{
	struct svm_interval all = svm_range_interval(r);
	struct svm_interval iv;
	unsigned long page;
	int ret;

	for (page = all.first; page <= all.last; page = iv.last + 1) {
		iv = svm_window(page, SVM_CHUNK_ORDER, all);
		ret = svm_map_what_is_there(r, gpu, iv);
		if (ret)
			return ret;
	}
	return 0;
}

int svm_map_range(struct svm_range *r, const unsigned long *gpus, bool lenient)
{
	DECLARE_BITMAP(todo, SVM_MAX_GPU);
	unsigned long seen;
	unsigned int gpu;
	int ret;

	mutex_lock(&r->lock);
	seen = r->invalidations;
	bitmap_andnot(todo, gpus, r->complete, SVM_MAX_GPU);
	mutex_unlock(&r->lock);

	for_each_set_bit(gpu, todo, r->svms->n_gpus) {
		if (!svm_gpu_vm(r->svms, gpu)) {
			__clear_bit(gpu, todo);
			continue;
		}
		if (lenient)
			ret = svm_map_range_lenient(r, gpu);
		else
			ret = svm_map_pages(r, gpu, svm_range_interval(r));
		if (ret)
			return ret;
	}

	mutex_lock(&r->lock);
	if (r->invalidations == seen) {
		r->invalid = false;
		if (!lenient)
			bitmap_or(r->complete, r->complete, todo, SVM_MAX_GPU);
	}
	mutex_unlock(&r->lock);
	return 0;
}

void svm_unmap_pages(struct svm_range *r, struct svm_interval iv)
{
	struct svm_range_list *svms = r->svms;
	unsigned int gpu;

	lockdep_assert_held(&r->lock);

	bitmap_zero(r->complete, SVM_MAX_GPU);
	for_each_set_bit(gpu, r->mapped, svms->n_gpus) {
		vgpu_vm_clear_range(svm_gpu_vm(svms, gpu), iv.first, iv.last,
				    false);
		svm_dma_clear(&svms->gpus[gpu],
			      svm_gpu_vdev(svms, gpu)->drm.dev, iv);
	}
}

void svm_clear_noretry(struct svm_range_list *svms, struct svm_interval iv)
{
	unsigned int gpu;

	for (gpu = 0; gpu < svms->n_gpus; gpu++) {
		struct vgpu_vm *vm = svm_gpu_vm(svms, gpu);

		if (vm)
			vgpu_vm_clear_range(vm, iv.first, iv.last, false);
	}
}

void svm_unmap_range(struct svm_range *r)
{
	mutex_lock(&r->lock);
	if (!bitmap_empty(r->mapped, SVM_MAX_GPU)) {
		if (svm_range_stays_mapped(r)) {
			svm_evict_queues(r->svms);
			r->invalid = true;
		}
		r->invalidations++;
		svm_unmap_pages(r, svm_range_interval(r));
		bitmap_zero(r->mapped, SVM_MAX_GPU);
	}
	svm_clear_noretry(r->svms, svm_range_interval(r));
	mutex_unlock(&r->lock);
}

void svm_unmap_unreachable(struct svm_range_list *svms, unsigned int gpu,
			   unsigned long page)
{
	struct vgpu_vm *vm = svm_gpu_vm(svms, gpu);
	struct svm_range *r;
	u64 pte;

	if (!vm)
		return;
	svm_lock(svms);
	r = svm_range_find(svms, page);
	pte = r ? vgpu_vm_read_pte(vm, page) : 0;
	/*
	 * The PTE maps VRAM, and yet the access has faulted. Perhaps the VRAM is a peer's, and the
	 * XGMI link is down. Unmap the range: the next access then raises a retry fault, which the
	 * driver can repair.
	 */
	if ((pte & (VGPU_PTE_VALID | VGPU_PTE_SYSTEM)) == VGPU_PTE_VALID)
		svm_unmap_range(r);
	svm_unlock(svms);
}
