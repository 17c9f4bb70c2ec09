// SPDX-License-Identifier: GPL-2.0
/*
 * Implements user pointers: BOs of process memory, without page references. userptr_invalidate()
 * stops all use before the process loses the pages.
 *
 * Before a use, call vgpu_userptr_prepare(), _bind(), then _valid().
 */
#include <linux/dma-resv.h>
#include <linux/hmm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_prime.h>

#include "vgpu_mm_priv.h"

/**
 * struct vgpu_userptr - process memory of a BO
 */
struct vgpu_userptr {
	/** @notifier: MMU interval notifier of the pages; notifier.mm is the mm of the process */
	struct mmu_interval_notifier notifier;
	/** @bo: the BO */
	struct vgpu_bo *bo;
	/** @addr: address of the first byte, page aligned */
	u64 addr;
	/** @flags: AMDGPU_GEM_USERPTR_* */
	u32 flags;
	/**
	 * @invalidate: function that stops the use of the pages. If NULL, @notifier waits for the
	 * fences in the BO's reservation instead. KFD sets @invalidate, because the work of user
	 * queues has no fences
	 */
	vgpu_userptr_invalidate_fn invalidate;
	/** @owner: argument of @invalidate */
	void *owner;
	/**
	 * @found: pages that vgpu_userptr_prepare() found and that are not bound yet, or NULL;
	 * accessed by xchg(), without a lock
	 */
	struct vgpu_user_pages *found;
	/** @binding: pages for the next move to GTT, or NULL; protected by the reservation */
	struct vgpu_user_pages *binding;
	/** @sgt: bound pages, mapped for the device; protected by the reservation */
	struct sg_table sgt;
	/** @bound: true if pages are bound; written with the reservation held */
	bool bound;
	/**
	 * @seq: sequence number of @notifier when the bound pages were found; written with the
	 * reservation held
	 */
	unsigned long seq;
	/**
	 * @reached: true if the GPU's page tables may have entries for the pages; protected by
	 * vgpu_mman.notifier_lock
	 */
	bool reached;
};

/**
 * struct vgpu_user_pages - pages of a BO, without references to the pages
 * @seq: sequence number of the BO's notifier when the pages were found
 * @n: number of pages
 * @pfns: HMM's PFNs
 */
struct vgpu_user_pages {
	unsigned long seq;
	unsigned long n;
	unsigned long pfns[] __counted_by(n);
};

static struct device *userptr_dev(const struct vgpu_userptr *u)
{
	return u->bo->vdev->drm.dev;
}

/*
 * MMU notifier. Reclaim may call it, so it must not allocate, and must not take a lock that other
 * threads hold while they allocate.
 */
static bool userptr_invalidate(struct mmu_interval_notifier *notifier,
			       const struct mmu_notifier_range *range,
			       unsigned long seq)
{
	struct vgpu_userptr *u = container_of(notifier, struct vgpu_userptr,
					      notifier);
	struct vgpu_mman *mman = u->bo->vdev->mman;
	struct mutex *lock = &mman->notifier_lock;

	if (!mmu_notifier_range_blockable(range))
		return false;

	mutex_lock(lock);
	mmu_interval_set_seq(notifier, seq);
	mutex_unlock(lock);

	/*
	 * All fences to wait for are in the reservation already: threads add fences under
	 * notifier_lock, and only if vgpu_userptr_valid() returns true. Since
	 * mmu_interval_set_seq() above, vgpu_userptr_valid() returns false.
	 */
	if (u->invalidate)
		u->invalidate(u->owner);
	else
		dma_resv_wait_timeout(u->bo->tbo.base.resv,
				      DMA_RESV_USAGE_BOOKKEEP, false,
				      MAX_SCHEDULE_TIMEOUT);

	/*
	 * Clear the GPU's page-table entries, since a later job may access the addresses of the BO
	 * without naming the BO in its BO list.
	 */
	mutex_lock(lock);
	if (u->reached && mman->vm_ops)
		mman->vm_ops->unmap_notify(u->bo);
	u->reached = false;
	mutex_unlock(lock);
	return true;
}

static const struct mmu_interval_notifier_ops userptr_notifier_ops = {
	.invalidate = userptr_invalidate,
};

/**
 * vgpu_userptr_create() - create a BO of the caller's pages
 * @vdev: device
 * @addr: address of the first byte; page aligned
 * @size: bytes, whole pages
 * @flags: AMDGPU_GEM_USERPTR_READONLY, _ANONONLY
 * @invalidate: see vgpu_userptr.invalidate; may be NULL
 * @owner: argument of @invalidate
 * @out: receives the BO, without pages, in AMDGPU_GEM_DOMAIN_CPU
 *
 * Context: takes mmap_lock.
 *
 * Return: 0; -EINVAL, -EOVERFLOW or -EFAULT for an invalid range; -ENOMEM; -EINTR.
 */
int vgpu_userptr_create(struct vgpu_device *vdev, u64 addr, u64 size, u32 flags,
			vgpu_userptr_invalidate_fn invalidate, void *owner,
			struct vgpu_bo **out)
{
	const struct vgpu_bo_params params = {
		.size = size,
		.domain = AMDGPU_GEM_DOMAIN_CPU,
		.type = ttm_bo_type_sg,
	};
	struct vgpu_userptr *u;
	struct vgpu_bo *bo;
	int ret;

	if (!size || offset_in_page(addr | size))
		return -EINVAL;
	/*
	 * Reject a range that fits into no address space. Do so before vgpu_bo_create(), which
	 * allocates an array with an element for each page of the range.
	 */
	if (addr + size - 1 < addr)
		return -EOVERFLOW;
	if (size > TASK_SIZE_MAX)
		return -EFAULT;
	u = kzalloc(sizeof(*u), GFP_KERNEL);
	if (!u)
		return -ENOMEM;
	ret = vgpu_bo_create(vdev, &params, &bo);
	if (ret) {
		kfree(u);
		return ret;
	}
	bo->domains = AMDGPU_GEM_DOMAIN_GTT;
	u->bo = bo;
	u->addr = addr;
	u->flags = flags;
	u->invalidate = invalidate;
	u->owner = owner;
	ret = mmu_interval_notifier_insert(&u->notifier, current->mm, addr,
					   size, &userptr_notifier_ops);
	if (ret) {
		kfree(u);
		vgpu_bo_put(bo);
		return ret;
	}
	bo->userptr = u;
	*out = bo;
	return 0;
}

/**
 * vgpu_userptr_addr() - get the address of a BO's pages
 * @bo: user pointer
 *
 * Return: address of the BO's first byte, in the process that created the user pointer.
 */
u64 vgpu_userptr_addr(const struct vgpu_bo *bo)
{
	return bo->userptr->addr;
}

/**
 * vgpu_userptr_stop() - remove the MMU notifier
 * @bo: user pointer that will not be bound or used any more
 *
 * Waits for notifiers in flight. A second call does nothing.
 *
 * Context: sleeps; the caller holds no lock that the notifier waits for.
 */
void vgpu_userptr_stop(struct vgpu_bo *bo)
{
	struct vgpu_userptr *u = bo->userptr;

	if (!u->notifier.mm)
		return;
	mmu_interval_notifier_remove(&u->notifier);
	u->notifier.mm = NULL;
}

/**
 * vgpu_userptr_destroy() - free the user-pointer state of a BO
 * @bo: BO that is being destroyed. It has no notifier any more (vgpu_userptr_stop()) and no bound
 *      pages
 */
void vgpu_userptr_destroy(struct vgpu_bo *bo)
{
	struct vgpu_userptr *u = bo->userptr;

	WARN_ON_ONCE(u->notifier.mm || u->bound);
	kvfree(u->found);
	kvfree(u->binding);
	kfree(u);
}

/**
 * vgpu_bo_readonly() - whether the GPU must not write the BO's memory
 * @bo: BO
 *
 * Return: true for a read-only user pointer, whose GPU page-table entries forbid writes.
 */
bool vgpu_bo_readonly(const struct vgpu_bo *bo)
{
	return bo->userptr && bo->userptr->flags & AMDGPU_GEM_USERPTR_READONLY;
}

/*
 * Test that the address is mapped and, for ANONONLY, that a single VMA of anonymous memory
 * covers the range. The caller holds mmap_lock.
 */
static int userptr_check_vma(const struct vgpu_userptr *u, u64 size)
{
	struct vm_area_struct *vma = vma_lookup(u->notifier.mm, u->addr);

	if (!vma)
		return -EFAULT;
	if (u->flags & AMDGPU_GEM_USERPTR_ANONONLY &&
	    (vma->vm_file || vma->vm_end < u->addr + size))
		return -EPERM;
	return 0;
}

static int userptr_find(struct vgpu_userptr *u, struct vgpu_user_pages *pages)
{
	unsigned long deadline = jiffies +
				 msecs_to_jiffies(HMM_RANGE_DEFAULT_TIMEOUT);
	struct mm_struct *mm = u->notifier.mm;
	u64 size = u->bo->tbo.base.size;
	struct hmm_range range = {
		.notifier = &u->notifier,
		.start = u->addr,
		.end = u->addr + size,
		.hmm_pfns = pages->pfns,
		.default_flags = HMM_PFN_REQ_FAULT,
	};
	int ret;

	if (!(u->flags & AMDGPU_GEM_USERPTR_READONLY))
		range.default_flags |= HMM_PFN_REQ_WRITE;
	do {
		range.notifier_seq = mmu_interval_read_begin(&u->notifier);
		mmap_read_lock(mm);
		ret = userptr_check_vma(u, size);
		if (!ret)
			ret = hmm_range_fault(&range);
		mmap_read_unlock(mm);
		if (ret != -EBUSY)
			break;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	} while (time_before(jiffies, deadline));
	pages->seq = range.notifier_seq;
	return ret == -EBUSY ? -EAGAIN : ret;
}

/**
 * vgpu_userptr_current() - whether the bound pages are still those of the process
 * @bo: user pointer
 *
 * The result is only a hint: the process may lose the pages at any time. vgpu_userptr_valid() is
 * exact.
 *
 * Context: any.
 *
 * Return: false if vgpu_userptr_prepare() and vgpu_userptr_bind() are needed.
 */
bool vgpu_userptr_current(const struct vgpu_bo *bo)
{
	struct vgpu_userptr *u = bo->userptr;

	return READ_ONCE(u->bound) &&
	       !mmu_interval_check_retry(&u->notifier, READ_ONCE(u->seq));
}

/**
 * vgpu_userptr_prepare() - find a BO's pages, unless the bound pages are current
 * @bo: user pointer
 *
 * Context: a thread of the BO's process, or a kernel thread. Takes mmap_lock; no reservation is
 * held.
 *
 * Return:
 * * 0, -ENOMEM, -EINTR
 * * -EFAULT: no usable memory at the address
 * * -EPERM: thread of another process; read-only memory without READONLY; or, with ANONONLY, memory
 *   that is not one anonymous VMA
 * * -ESRCH: the process has ended
 * * -EAGAIN: the mapping keeps changing
 */
int vgpu_userptr_prepare(struct vgpu_bo *bo)
{
	struct vgpu_userptr *u = bo->userptr;
	unsigned long n = bo->tbo.base.size >> PAGE_SHIFT;
	struct vgpu_user_pages *pages;
	int ret;

	if (current->mm && current->mm != u->notifier.mm)
		return -EPERM;
	if (vgpu_userptr_current(bo))
		return 0;
	if (!mmget_not_zero(u->notifier.mm))
		return -ESRCH;
	pages = kvzalloc(struct_size(pages, pfns, n), GFP_KERNEL);
	if (pages) {
		pages->n = n;
		ret = userptr_find(u, pages);
	} else {
		ret = -ENOMEM;
	}
	if (current->mm)
		mmput(u->notifier.mm);
	else
		mmput_async(u->notifier.mm);
	if (ret)
		kvfree(pages);
	else
		kvfree(xchg(&u->found, pages));
	return ret;
}

/**
 * vgpu_userptr_bind() - bind the pages that vgpu_userptr_prepare() found
 * @bo: user pointer, reservation held
 *
 * Moves the BO to GTT. If the pages differ from those bound before, the caller must write the
 * page-table entries of the BO again.
 *
 * Return:
 * * 0, -ENOMEM, -ERESTARTSYS
 * * -EAGAIN if there are neither bound pages nor found ones: call vgpu_userptr_prepare() again
 * * -EIO if the device cannot address the pages
 */
int vgpu_userptr_bind(struct vgpu_bo *bo)
{
	struct vgpu_userptr *u = bo->userptr;
	struct vgpu_user_pages *found = xchg(&u->found, NULL);
	int ret;

	dma_resv_assert_held(bo->tbo.base.resv);

	if (!found || (u->bound && found->seq == u->seq)) {
		kvfree(found);
		return u->bound ? 0 : -EAGAIN;
	}
	ret = vgpu_userptr_unbind(bo);
	if (ret) {
		kvfree(found);
		return ret;
	}
	u->binding = found;
	ret = vgpu_bo_validate(bo, AMDGPU_GEM_DOMAIN_GTT, true);
	kvfree(u->binding);
	u->binding = NULL;
	return ret;
}

/**
 * vgpu_userptr_unbind() - unbind the pages of a BO
 * @bo: user pointer, reservation held
 *
 * After success the GPU does not reach the pages.
 *
 * Return: 0, -ENOMEM, -ERESTARTSYS.
 */
int vgpu_userptr_unbind(struct vgpu_bo *bo)
{
	return vgpu_bo_validate(bo, AMDGPU_GEM_DOMAIN_CPU, true);
}

/**
 * vgpu_userptr_populate() - find and bind the pages of a BO
 * @bo: user pointer
 *
 * On return the pages may already be invalid again: test with vgpu_userptr_valid().
 *
 * Context: as for vgpu_userptr_prepare(). Takes the reservation.
 *
 * Return: 0, or an error of vgpu_userptr_prepare() or vgpu_userptr_bind().
 */
int vgpu_userptr_populate(struct vgpu_bo *bo)
{
	int ret;

	do {
		ret = vgpu_userptr_prepare(bo);
		if (ret)
			return ret;
		ret = ttm_bo_reserve(&bo->tbo, true, false, NULL);
		if (ret)
			return ret;
		/*
		 * -EAGAIN: after vgpu_userptr_prepare(), another thread unbound the pages, or took
		 * them from vgpu_userptr.found and failed to bind them. Look up the pages again.
		 */
		ret = vgpu_userptr_bind(bo);
		ttm_bo_unreserve(&bo->tbo);
	} while (ret == -EAGAIN);
	return ret;
}

/**
 * vgpu_userptr_valid() - whether the bound pages are those of the process
 * @bo: user pointer, reservation held
 *
 * If the result is true, the caller may add fences to the reservation before it drops the lock. The
 * MMU notifier then waits for these fences, if vgpu_userptr.invalidate is NULL.
 *
 * Context: vgpu_mm_notifier_lock() is held.
 *
 * Return: true if the pages are valid; false if vgpu_userptr_prepare() must be called again.
 */
bool vgpu_userptr_valid(struct vgpu_bo *bo)
{
	struct vgpu_userptr *u = bo->userptr;

	lockdep_assert_held(&bo->vdev->mman->notifier_lock);

	return u->bound && !mmu_interval_read_retry(&u->notifier, u->seq);
}

/* Mark the pages dirty, before the GPU's page tables get writable entries for them. */
static void userptr_written(struct vgpu_userptr *u)
{
	const struct ttm_tt *ttm = u->bo->tbo.ttm;
	u32 i;

	if (u->reached || vgpu_bo_readonly(u->bo))
		return;
	for (i = 0; i < ttm->num_pages; i++)
		vgpu_page_set_dirty(ttm->pages[i]);
}

/**
 * vgpu_userptr_lock() - lock out a user pointer's notifier while page-table entries are written
 * @bo: any BO, reservation held
 *
 * Takes notifier_lock if @bo is a user pointer, whatever the result. The caller may change
 * bo->vm_mappings until vgpu_userptr_unlock().
 *
 * Return: true if the caller may write page-table entries; false if @bo is a user pointer without
 * valid pages.
 */
bool vgpu_userptr_lock(struct vgpu_bo *bo)
{
	struct vgpu_userptr *u = bo->userptr;

	if (!u)
		return true;
	mutex_lock(&bo->vdev->mman->notifier_lock);
	if (!vgpu_userptr_valid(bo))
		return false;
	userptr_written(u);
	u->reached = true;
	return true;
}

/**
 * vgpu_userptr_unlock() - undo vgpu_userptr_lock()
 * @bo: BO of any kind
 */
void vgpu_userptr_unlock(struct vgpu_bo *bo)
{
	if (bo->userptr)
		mutex_unlock(&bo->vdev->mman->notifier_lock);
}

/**
 * vgpu_userptr_tt_bind() - DMA-map the pages of a user pointer that moves to GTT
 * @bo: user pointer, reservation held
 * @ttm: the BO's struct ttm_tt; receives the pages and their DMA addresses
 *
 * Return:
 * * 0, -ENOMEM
 * * -EFAULT: the move was not started by vgpu_userptr_bind(), which sets vgpu_userptr.binding
 * * -EIO: the device cannot address the pages
 */
int vgpu_userptr_tt_bind(struct vgpu_bo *bo, struct ttm_tt *ttm)
{
	bool readonly = vgpu_bo_readonly(bo);
	struct vgpu_userptr *u = bo->userptr;
	struct vgpu_user_pages *found = u->binding;
	struct page **pages;
	unsigned long i;
	int ret;

	if (!found)
		return -EFAULT;
	pages = kvmalloc_array(found->n, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < found->n; i++)
		pages[i] = hmm_pfn_to_page(found->pfns[i]);
	ret = sg_alloc_table_from_pages(&u->sgt, pages, found->n, 0,
					(u64)found->n << PAGE_SHIFT,
					GFP_KERNEL);
	if (ret)
		goto err_pages;
	ret = dma_map_sgtable(userptr_dev(u), &u->sgt,
			      readonly ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL,
			      DMA_ATTR_SKIP_CPU_SYNC);
	if (ret)
		goto err_sgt;
	drm_prime_sg_to_dma_addr_array(&u->sgt, ttm->dma_address, found->n);
	ttm->pages = pages;
	WRITE_ONCE(u->seq, found->seq);
	WRITE_ONCE(u->bound, true);
	return 0;

err_sgt:
	sg_free_table(&u->sgt);
err_pages:
	kvfree(pages);
	return ret;
}

/**
 * vgpu_userptr_tt_unbind() - undo vgpu_userptr_tt_bind()
 * @bo: user pointer, reservation held; bound or not
 * @ttm: pages of the BO
 */
void vgpu_userptr_tt_unbind(struct vgpu_bo *bo, struct ttm_tt *ttm)
{
	struct vgpu_userptr *u = bo->userptr;

	if (!u->bound)
		return;
	WRITE_ONCE(u->bound, false);
	dma_unmap_sgtable(userptr_dev(u), &u->sgt,
			  vgpu_bo_readonly(bo) ? DMA_TO_DEVICE :
						 DMA_BIDIRECTIONAL,
			  DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(&u->sgt);
	kvfree(ttm->pages);
	ttm->pages = NULL;
}

/**
 * vgpu_page_set_dirty() - mark a page dirty, before the GPU gets write access
 * @page: page that HMM found writable; the caller holds a lock that the page's MMU notifier waits
 *        for, so the page stays mapped
 *
 * GPU writes set no dirty bit in CPU page tables. Without this call, reclaim would drop data that
 * only the GPU wrote.
 */
void vgpu_page_set_dirty(struct page *page)
{
	struct folio *folio = page_folio(page);

	if (folio_test_dirty(folio))
		return;
	/*
	 * A writable page of a file system is dirty already. Other writable pages may be clean:
	 * - anonymous pages after MADV_FREE, or with an older copy in swap space
	 * - pages of shmem
	 * Outside of the swap cache, the flag is all that an anonymous page needs.
	 */
	if (folio_test_anon(folio) && !folio_test_swapcache(folio))
		folio_set_dirty(folio);
	else if (folio_test_anon(folio) || folio_test_swapbacked(folio))
		folio_mark_dirty(folio);
}
