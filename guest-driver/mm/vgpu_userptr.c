// SPDX-License-Identifier: GPL-2.0
/*
 * User pointers: BOs whose memory is pages of a process.
 *
 * DOC: pages and their validity
 *
 * The pages are not referenced: an MMU interval notifier tells when the process
 * loses them, and whoever uses them must have stopped when it returns. Three
 * steps lead to use:
 *
 *	vgpu_userptr_prepare()	finds the pages (HMM), notes the notifier's
 *				sequence. No locks held; may fault them in
 *	vgpu_userptr_bind()	reservation held: the BO moves to GTT with these
 *				pages, GPU entries of earlier ones are cleared
 *	vgpu_userptr_valid()	notifier_lock held: still the right pages?
 *				If so, what is submitted before the lock is
 *				dropped is waited for by the notifier
 *
 * A BO without pages is in the CPU's domain, which no engine reaches.
 *
 * Waiters: the notifier waits for the BO's fences (render node), or asks
 * its owner to stop (KFD: user queues have no fences). Then it has the GPU's
 * entries cleared, since a job need not say what it uses: entries are written
 * between vgpu_userptr_lock() and _unlock(), and only while the pages are the
 * right ones. It does not allocate, and takes no lock that is held around an
 * allocation.
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
 * struct vgpu_userptr - a BO's share in a process
 * @notifier: of the pages; its mm is the process's
 * @bo: the BO
 * @addr: first byte, page aligned
 * @flags: AMDGPU_GEM_USERPTR_*
 * @invalidate: stops @owner's use of the pages; NULL: it has fences
 * @owner: argument of @invalidate
 * @found: what vgpu_userptr_prepare() found and nobody has bound yet, or NULL;
 *         taken by xchg()
 * @binding: what the next move to GTT takes; the BO's reservation
 * @sgt: pages that are bound, mapped for the device; reservation
 * @bound: they are. Written with the reservation held
 * @seq: the notifier's sequence that they belong to; as @bound
 * @reached: there may be entries that lead to the pages; notifier_lock
 */
struct vgpu_userptr {
	struct mmu_interval_notifier notifier;
	struct vgpu_bo *bo;
	u64 addr;
	u32 flags;
	vgpu_userptr_invalidate_fn invalidate;
	void *owner;
	struct vgpu_user_pages *found;
	struct vgpu_user_pages *binding;
	struct sg_table sgt;
	bool bound;
	unsigned long seq;
	bool reached;
};

/**
 * struct vgpu_user_pages - pages of a BO, not referenced
 * @seq: the notifier's sequence that they belong to
 * @n: their number
 * @pfns: HMM's; struct page * when they are bound
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

	/* Who found the pages valid has put his fence there by now. */
	if (u->invalidate)
		u->invalidate(u->owner);
	else
		dma_resv_wait_timeout(u->bo->tbo.base.resv,
				      DMA_RESV_USAGE_BOOKKEEP, false,
				      MAX_SCHEDULE_TIMEOUT);

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
 * vgpu_userptr_create() - a BO of the caller's pages
 * @vdev: device
 * @addr: first byte; page aligned
 * @size: bytes, whole pages
 * @flags: AMDGPU_GEM_USERPTR_READONLY: the GPU does not write;
 *         _ANONONLY: only one mapping, without a file, will do
 * @invalidate: stops the use of the pages, or NULL if fences tell of all use
 * @owner: its argument
 * @out: the BO, in the CPU's domain
 *
 * Pages are looked for later. mmap_lock is taken.
 *
 * Return: 0, -EINVAL for a size or alignment that cannot be, -EOVERFLOW for a
 * range that goes round, -ENOMEM, -EINTR.
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
	/* What fits in no address space is not worth an array of its pages. */
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
 * vgpu_userptr_addr() - where a BO's pages are
 * @bo: user pointer
 *
 * Return: address of the first byte, in its process.
 */
u64 vgpu_userptr_addr(const struct vgpu_bo *bo)
{
	return bo->userptr->addr;
}

/**
 * vgpu_userptr_stop() - no invalidation from now on
 * @bo: user pointer that nobody is going to bind or use any more
 *
 * Waits for those under way. No lock held that they wait for. A second call
 * does nothing.
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
 * vgpu_userptr_destroy() - free what a BO has of a process
 * @bo: user pointer that is being destroyed: stopped and not bound
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
 * vgpu_bo_readonly() - is the BO's memory not to be written?
 * @bo: BO
 *
 * Return: true for a user pointer of that kind. Entries are written accordingly.
 */
bool vgpu_bo_readonly(const struct vgpu_bo *bo)
{
	return bo->userptr && bo->userptr->flags & AMDGPU_GEM_USERPTR_READONLY;
}

/* ANONONLY: one VMA of anonymous memory. mmap_lock held. */
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
 * vgpu_userptr_current() - whether the bound pages are those that the process has there
 * @bo: user pointer
 *
 * Context: any; a hint unless the reservation is held. vgpu_userptr_valid() is exact.
 *
 * Return: false: vgpu_userptr_prepare() would look for pages.
 */
bool vgpu_userptr_current(const struct vgpu_bo *bo)
{
	struct vgpu_userptr *u = bo->userptr;

	return READ_ONCE(u->bound) &&
	       !mmu_interval_check_retry(&u->notifier, READ_ONCE(u->seq));
}

/**
 * vgpu_userptr_prepare() - find a BO's pages, unless it has them
 * @bo: user pointer
 *
 * The caller is of the BO's process, or a kernel thread. Takes mmap_lock, so no
 * lock that is taken under that may be held, such as a reservation.
 *
 * Return: 0, -EFAULT if there is no memory or none that can be used, -EPERM if
 * it may not be written or is not what ANONONLY wants, or if the caller is
 * another process; -ESRCH if the process has ended, -EAGAIN if it changes all
 * the time, -ENOMEM, -EINTR.
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
 * vgpu_userptr_bind() - give a BO the pages that were found for it
 * @bo: user pointer, reservation held; after vgpu_userptr_prepare()
 *
 * The BO is in GTT then. If the pages are other ones than before, its mappings
 * have to be written again (they count as moved).
 *
 * Return: 0, -EAGAIN if there are no pages: prepare again; -ENOMEM,
 * -ERESTARTSYS, -EIO if the device cannot address them.
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
 * vgpu_userptr_unbind() - take a BO its pages
 * @bo: user pointer, reservation held
 *
 * The GPU does not reach them on return.
 *
 * Return: 0, -ENOMEM, -ERESTARTSYS.
 */
int vgpu_userptr_unbind(struct vgpu_bo *bo)
{
	return vgpu_bo_validate(bo, AMDGPU_GEM_DOMAIN_CPU, true);
}

/**
 * vgpu_userptr_populate() - find and bind, without holding on to it
 * @bo: user pointer; no lock is held, as for vgpu_userptr_prepare()
 *
 * Return: 0, or as vgpu_userptr_prepare() and _bind(), but not -EAGAIN for pages
 * that somebody takes away between the two.
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
		ret = vgpu_userptr_bind(bo);
		ttm_bo_unreserve(&bo->tbo);
	} while (ret == -EAGAIN);
	return ret;
}

/**
 * vgpu_userptr_valid() - has a BO the pages that its process has there?
 * @bo: user pointer, reservation held; bound
 *
 * vgpu_mman.notifier_lock held: nothing allocates under it. What the caller adds
 * to the BO's reservation before he drops that lock the notifier waits for.
 *
 * Return: false: prepare again.
 */
bool vgpu_userptr_valid(struct vgpu_bo *bo)
{
	struct vgpu_userptr *u = bo->userptr;

	lockdep_assert_held(&bo->vdev->mman->notifier_lock);

	return u->bound && !mmu_interval_read_retry(&u->notifier, u->seq);
}

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
 * vgpu_userptr_lock() - keep a user pointer's notifier off its mappings
 * @bo: BO of any kind, reservation held; for others nothing happens
 *
 * Entries that lead to its pages are written, and bo->vm_mappings changes, until
 * vgpu_userptr_unlock() only. Takes vgpu_mman.notifier_lock.
 *
 * Return: whether entries may be written: not if the process has other pages
 * there by now. The lock is held in either case.
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
 * vgpu_userptr_tt_bind() - the BO moves to GTT
 * @bo: user pointer, reservation held
 * @ttm: its pages: filled
 *
 * Return: 0, -EFAULT without pages to bind, -ENOMEM, -EIO.
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
 * @ttm: its pages
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
 * vgpu_page_set_dirty() - mark a page dirty that the GPU may write from now on
 * @page: what HMM found writable; it cannot be taken away until the caller drops
 *        the lock that his notifier waits for
 *
 * The GPU leaves no trace in the CPU's page tables. Without this, reclaim would
 * throw away what MADV_FREE made clean and the GPU wrote since; a page of shmem
 * that only the GPU wrote; one that has an older copy in swap space. Pages of a
 * file system it has made dirty itself, or they are not writable.
 */
void vgpu_page_set_dirty(struct page *page)
{
	struct folio *folio = page_folio(page);

	if (folio_test_anon(folio) || folio_test_swapbacked(folio))
		folio_mark_dirty(folio);
}
