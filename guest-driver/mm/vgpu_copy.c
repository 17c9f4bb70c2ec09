// SPDX-License-Identifier: GPL-2.0
/*
 * Copies and clears memory by SDMA. An operation consists of jobs that run in order on one engine,
 * so the last job's fence covers the operation.
 */
#include <linux/dma-fence.h>

#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "vgpu/sdma_packets.h"
#include "hw/sdma/vgpu_sdma.h"
#include "hw/vgpu_gart.h"
#include "hw/vgpu_hw.h"
#include "vgpu_mm_priv.h"
#include "vgpu_res_cursor.h"

/* Maximum number of COPY packets in a job. The packets take up to half of the job. */
#define MAX_COPIES	(VGPU_SDMA_MAX_JOB_DWORDS / 2 / SDMA_COPY_LINEAR_DWORDS)
/*
 * Maximum number of dwords for the transfer window's GART entries in a job that copies. The entries
 * and a TLB flush take up to half of the job.
 */
#define MAX_ENTRIES_DW	(VGPU_SDMA_MAX_JOB_DWORDS / 2 - VGPU_GART_FLUSH_TLB_DWORDS)
/* Maximum number of fill packets in a job that clears. Such a job has no other packets. */
#define MAX_FILLS	(VGPU_SDMA_MAX_JOB_DWORDS / SDMA_CONST_FILL_DWORDS)
/*
 * Largest number of dwords for one page: the header of a WRITE packet, a GART entry (2 dwords)
 * as the packet's data, and a COPY packet.
 */
#define PAIR_DWORDS	(SDMA_WRITE_LINEAR_DWORDS + 2 + SDMA_COPY_LINEAR_DWORDS)
#define JOB_PAGES	512ul

static_assert(JOB_PAGES * PAIR_DWORDS + VGPU_GART_FLUSH_TLB_DWORDS <=
	      VGPU_SDMA_MAX_JOB_DWORDS);
static_assert(JOB_PAGES <= VGPU_GTT_WINDOW_PAGES);

static void job_copy(struct vgpu_copy_job *job, u64 src, u64 dst, u64 bytes)
{
	job->ndw += vgpu_sdma_emit_copy(job->dw + job->ndw, src, dst, bytes);
	job->copied += bytes;
}

static void job_fill(struct vgpu_copy_job *job, u64 dst, u64 bytes)
{
	job->ndw += vgpu_sdma_emit_fill(job->dw + job->ndw, dst, 0, bytes);
	job->filled += bytes;
}

static void job_flush(struct vgpu_copy_job *job, unsigned int engine)
{
	job->ndw += vgpu_gart_emit_flush_tlb(engine, job->dw + job->ndw);
	job->flushes++;
}

/* Push @job, or free @job on failure. *@fence is NULL if @job is the first job of an operation. */
static int job_submit(struct vgpu_copy_job *job, struct dma_resv *resv,
		      enum dma_resv_usage usage, struct vgpu_bo *used,
		      struct dma_fence **fence)
{
	int ret = 0;

	/*
	 * The first job waits for all users of @used or, if @used is NULL, for the fences of @resv
	 * up to @usage.
	 */
	if (used && !*fence)
		ret = vgpu_copy_job_after_users(job, used);
	else if (!*fence)
		ret = drm_sched_job_add_resv_dependencies(&job->base.base, resv,
							  usage);
	if (!ret)
		ret = vgpu_copy_job_push(job, fence);
	if (ret)
		vgpu_copy_job_free(job);
	return ret;
}

/*
 * Return the fence of an operation's last job, or ERR_PTR(@ret) if @ret is an error. The fence does
 * not report errors of earlier jobs.
 */
static struct dma_fence *job_finish(struct dma_fence *fence, int ret)
{
	if (ret) {
		/* Wait for the pushed jobs, because the caller is going to free the memory. */
		if (fence)
			dma_fence_wait(fence, false);
		dma_fence_put(fence);
		return ERR_PTR(ret);
	}
	return fence ?: dma_fence_get_stub();
}

/* Return the number of the first GART page in an engine's transfer window. */
static u64 window_page(unsigned int engine)
{
	return engine * VGPU_GTT_WINDOW_PAGES;
}

/**
 * struct copy_side - source or destination of a copy
 */
struct copy_side {
	/**
	 * @cur: part that remains to be copied. The addresses in @cur are offsets in VRAM or in the
	 * GART. If @window is set, they are offsets in the resource instead
	 */
	struct vgpu_res_cursor cur;
	/**
	 * @base: the MC address is @base plus the address in @cur. If @window is set, op_bind()
	 * sets @base anew for each job.
	 */
	u64 base;
	/**
	 * @window: true if the side is in GTT without a GART address. The engine then accesses the
	 * side through the transfer window (hw/vgpu_gart.c).
	 */
	bool window;
};

static int copy_side_init(struct vgpu_device *vdev, struct copy_side *side,
			  struct ttm_resource *res, u64 size)
{
	side->window = false;
	switch (res->mem_type) {
	case TTM_PL_VRAM:
		side->base = vdev->hw->fb_base;
		break;
	case TTM_PL_TT:
		side->base = vgpu_gart_start(vdev);
		side->window = !vgpu_gtt_mgr_has_gart_addr(res);
		break;
	default:
		return -EINVAL;
	}
	vgpu_res_first(res, 0, size, &side->cur);
	return side->cur.remaining == size ? 0 : -EINVAL;
}

/**
 * struct copy_op - a copy between two resources
 */
struct copy_op {
	/** @vdev: device */
	struct vgpu_device *vdev;
	/** @resv: reservation of the BO to which both resources belong */
	struct dma_resv *resv;
	/** @used: the BO if the copy must run after all users of the BO, else NULL */
	struct vgpu_bo *used;
	/** @sys: DMA addresses of the side that is accessed through the transfer window */
	const dma_addr_t *sys;
	/** @pages: pages of the destination if it is in GTT, else NULL */
	struct page *const *pages;
	/** @queue: queue of the copy's jobs; the value is also the number of the engine */
	enum vgpu_copy_queue queue;
	/** @vram_epoch: value for vgpu_copy_job.vram_epoch */
	int vram_epoch;
	/** @size: bytes to copy, from the start of both resources */
	u64 size;
	/** @src: source */
	struct copy_side src;
	/** @dst: destination */
	struct copy_side dst;
	/** @fence: fence of the last job that was pushed, or NULL */
	struct dma_fence *fence;
};

static u64 run_bytes(const struct vgpu_res_cursor *src,
		     const struct vgpu_res_cursor *dst, u64 left)
{
	return min_t(u64, min3(left, src->size, dst->size), VGPU_SDMA_MAX_COPY);
}

/*
 * Returns the number of COPY packets for the next *@bytes. Lowers *@bytes if more than
 * MAX_COPIES packets would be needed.
 */
static unsigned int op_count(const struct copy_op *op, u64 *bytes)
{
	struct vgpu_res_cursor src = op->src.cur, dst = op->dst.cur;
	unsigned int n;
	u64 at, len;

	for (at = 0, n = 0; at < *bytes && n < MAX_COPIES; at += len, n++) {
		len = run_bytes(&src, &dst, *bytes - at);
		vgpu_res_next(&src, len);
		vgpu_res_next(&dst, len);
	}
	*bytes = at;
	return n;
}

/*
 * Emit GART entries of the transfer window for the next @bytes of @side. Returns the number of
 * bytes that fit into the job.
 */
static u64 op_bind(struct copy_op *op, struct copy_side *side,
		   struct vgpu_copy_job *job, u64 bytes)
{
	u64 page = window_page(op->queue);
	u64 offset = side->cur.start;
	u64 in_page = offset_in_page(offset);
	u64 bound;

	job->ndw = vgpu_gart_emit_bind(op->vdev, job->dw, MAX_ENTRIES_DW, page,
				       PFN_UP(in_page + bytes),
				       op->sys + (offset >> PAGE_SHIFT),
				       &bound);
	job_flush(job, op->queue);
	side->base = vgpu_gart_start(op->vdev) + (page << PAGE_SHIFT) -
		     round_down(offset, PAGE_SIZE);
	return min(bytes, (bound << PAGE_SHIFT) - in_page);
}

/* Push the next job of a copy. */
static int op_chunk(struct copy_op *op)
{
	struct copy_side *windowed = op->src.window ? &op->src :
				     op->dst.window ? &op->dst : NULL;
	u64 left = op->src.cur.remaining;
	struct vgpu_copy_job *job;
	unsigned int ndw;

	if (windowed)
		left = min(left, ((u64)VGPU_GTT_WINDOW_PAGES << PAGE_SHIFT) -
			   offset_in_page(windowed->cur.start));
	ndw = op_count(op, &left) * SDMA_COPY_LINEAR_DWORDS;
	if (windowed)
		ndw += min_t(u64, MAX_ENTRIES_DW, SDMA_WRITE_LINEAR_DWORDS +
			     2 * (PFN_UP(left) + 1)) + VGPU_GART_FLUSH_TLB_DWORDS;

	job = vgpu_copy_job_new(op->vdev, op->queue, ndw);
	if (IS_ERR(job))
		return PTR_ERR(job);
	job->vram_epoch = op->vram_epoch;
	if (windowed)
		left = op_bind(op, windowed, job, left);
	if (op->pages)
		vgpu_copy_job_fills(job, op->pages,
				    op->size - op->src.cur.remaining, left);
	while (left) {
		u64 bytes = run_bytes(&op->src.cur, &op->dst.cur, left);

		job_copy(job, op->src.base + op->src.cur.start,
			 op->dst.base + op->dst.cur.start, bytes);
		vgpu_res_next(&op->src.cur, bytes);
		vgpu_res_next(&op->dst.cur, bytes);
		left -= bytes;
	}
	/*
	 * If op->used is not NULL, the first job waits for all users of the BO. Otherwise the first
	 * job waits for fences of usage KERNEL: earlier moves and clears of the BO, and evictions
	 * of other BOs from the new memory.
	 */
	return job_submit(job, op->resv, DMA_RESV_USAGE_KERNEL, op->used,
			  &op->fence);
}

/**
 * vgpu_mm_copy_res() - copy between two resources of a BO
 * @vdev: device
 * @resv: reservation of the BO, held
 * @used: the BO if the copy must run after all users of the BO, else NULL
 * @ttm: system pages of the BO; may be NULL if both resources are in VRAM
 * @src: source; nothing else may write to this memory until the fence signals. The structure may be
 *       freed earlier
 * @dst: destination, kept until the fence signals
 * @size: bytes to copy
 *
 * Context: takes copy_lock; allocates; on failure, waits for pushed jobs.
 *
 * Return: the last job's fence or ERR_PTR(): -ENODEV during removal of the hardware; -EINVAL for
 * unsuitable resources; -ENOMEM.
 */
struct dma_fence *vgpu_mm_copy_res(struct vgpu_device *vdev,
				   struct dma_resv *resv, struct vgpu_bo *used,
				   struct ttm_tt *ttm,
				   struct ttm_resource *src,
				   struct ttm_resource *dst, u64 size)
{
	struct copy_op op = {
		.vdev = vdev,
		.resv = resv,
		.used = used,
		.sys = ttm ? ttm->dma_address : NULL,
		.queue = VGPU_COPY_IN,
		.vram_epoch = -1,
		.size = size,
	};
	int ret;

	KUNIT_STATIC_STUB_REDIRECT(vgpu_mm_copy_res, vdev, resv, used, ttm, src, dst, size);
	ret = copy_side_init(vdev, &op.src, src, size);
	if (!ret)
		ret = copy_side_init(vdev, &op.dst, dst, size);
	/*
	 * An engine has only one transfer window, so at most one side may need the window. The
	 * window's entries are made from op.sys, the DMA addresses of @ttm.
	 */
	if (!ret && ((op.src.window && op.dst.window) ||
		     ((op.src.window || op.dst.window) && !op.sys)))
		ret = -EINVAL;
	if (ret)
		return ERR_PTR(ret);
	/* If a job fails, copy_clear_dst() clears the part of op.pages that the job copies to. */
	if (ttm && dst->mem_type == TTM_PL_TT)
		op.pages = ttm->pages;
	/*
	 * All moves out of VRAM use one queue, so that they end in order. TTM keeps only the fence
	 * of the last move, and assumes that earlier moves have ended when this fence signals.
	 */
	if (src->mem_type == TTM_PL_VRAM) {
		op.queue = VGPU_COPY_OUT;
		/* If VRAM is lost during the copy, the returned fence signals with -ECANCELED. */
		op.vram_epoch = atomic_read(&vdev->hw->vram_epoch);
	}
	while (!ret && op.src.cur.remaining)
		ret = op_chunk(&op);
	return job_finish(op.fence, ret);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mm_copy_res);

static bool fill_needed(struct vgpu_res_cursor *cur, bool skip)
{
	return !skip || !vgpu_res_cleared(cur);
}

/*
 * Returns the number of fill packets in the next job of a clear. *@bytes receives the length of the
 * job's part of @cur. This length includes memory that needs no packet (fill_needed()).
 */
static unsigned int fills_count(struct vgpu_res_cursor cur, bool skip,
				u64 *bytes)
{
	unsigned int n = 0;
	u64 len;

	for (*bytes = 0; cur.remaining && n < MAX_FILLS; *bytes += len) {
		len = min_t(u64, cur.size, VGPU_SDMA_MAX_COPY);
		n += fill_needed(&cur, skip);
		vgpu_res_next(&cur, len);
	}
	return n;
}

/*
 * Fill the next part of @cur with zeros by one job, and advance @cur. If @skip is true, leave out
 * memory that is known to be clear.
 */
static int clear_chunk(struct vgpu_device *vdev, struct dma_resv *resv,
		       enum dma_resv_usage usage, struct vgpu_res_cursor *cur,
		       bool skip, struct dma_fence **fence)
{
	struct vgpu_copy_job *job;
	unsigned int fills;
	u64 left;

	fills = fills_count(*cur, skip, &left);
	if (!fills) {
		vgpu_res_next(cur, left);
		return 0;
	}
	job = vgpu_copy_job_new(vdev, VGPU_COPY_IN,
				fills * SDMA_CONST_FILL_DWORDS);
	if (IS_ERR(job))
		return PTR_ERR(job);
	while (left) {
		u64 bytes = min_t(u64, cur->size, VGPU_SDMA_MAX_COPY);

		if (fill_needed(cur, skip))
			job_fill(job, vdev->hw->fb_base + cur->start, bytes);
		vgpu_res_next(cur, bytes);
		left -= bytes;
	}
	return job_submit(job, resv, usage, NULL, fence);
}

/**
 * vgpu_mm_clear_res() - fill a resource with zeros
 * @vdev: device
 * @resv: reservation of the resource's BO, held
 * @res: resource in VRAM
 * @fresh: true if @res was just allocated, false if @res is wiped before a free
 *
 * Context: takes copy_lock; allocates; on failure, waits for pushed jobs.
 *
 * Return: the fence, already signalled if @res was clear; or an ERR_PTR() as vgpu_mm_copy_res().
 */
struct dma_fence *vgpu_mm_clear_res(struct vgpu_device *vdev,
				    struct dma_resv *resv,
				    struct ttm_resource *res, bool fresh)
{
	enum dma_resv_usage usage = fresh ? DMA_RESV_USAGE_KERNEL :
					    DMA_RESV_USAGE_BOOKKEEP;
	bool skip = fresh && !READ_ONCE(vdev->mman->vram.distrust);
	struct dma_fence *fence = NULL;
	struct vgpu_res_cursor cur;
	int ret = 0;

	if (res->mem_type != TTM_PL_VRAM)
		return ERR_PTR(-EINVAL);
	vgpu_res_first(res, 0, res->size, &cur);
	/*
	 * If @fresh is true, the clear waits only for moves and clears (usage KERNEL). Otherwise
	 * the clear waits for all fences of the BO, because jobs may still write to @res.
	 */
	while (!ret && cur.remaining)
		ret = clear_chunk(vdev, resv, usage, &cur, skip, &fence);
	return job_finish(fence, ret);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_mm_clear_res);

/*
 * A pair is a VRAM page and a system page (@sys). Returns true if the pair is copied. If @sys is 0,
 * there is no system page, so a copy to VRAM clears the VRAM page. DMA_MAPPING_ERROR: the pair is
 * skipped.
 */
static bool pair_copies(dma_addr_t sys)
{
	return sys && sys != DMA_MAPPING_ERROR;
}

/*
 * Returns the length of the run that starts at pair @i. The run's pairs are adjacent in VRAM and
 * have the same pair_copies().
 */
static unsigned long pair_run(const dma_addr_t *sys, const u64 *vram,
			      unsigned long i, unsigned long npages)
{
	bool copies = pair_copies(sys[i]);
	unsigned long n = 1;

	while (i + n < npages && vram[i + n] == vram[i] + n * PAGE_SIZE &&
	       sys[i + n] != DMA_MAPPING_ERROR &&
	       pair_copies(sys[i + n]) == copies)
		n++;
	return n;
}

/*
 * Emit the packets for @npages pairs. pairs_bind() has mapped a pair's system page only if
 * pair_copies() is true. The mapped pages follow one another without gaps from MC address @gart on.
 */
static void pairs_copy(struct vgpu_copy_job *job, bool to_vram, u64 gart,
		       const dma_addr_t *sys, const u64 *vram,
		       unsigned long npages)
{
	unsigned long i, n;

	for (i = 0; i < npages; i += n) {
		u64 mc = job->vdev->hw->fb_base + vram[i];
		u64 bytes;

		n = 1;
		if (sys[i] == DMA_MAPPING_ERROR)
			continue;
		n = pair_run(sys, vram, i, npages);
		bytes = n * PAGE_SIZE;
		/* A copy to VRAM clears a VRAM page that has no system page. */
		if (pair_copies(sys[i])) {
			job_copy(job, to_vram ? gart : mc, to_vram ? mc : gart,
				 bytes);
			gart += bytes;
		} else if (to_vram) {
			job_fill(job, mc, bytes);
		}
	}
}

/*
 * Emit GART entries, from GART page @page on, for the system pages of the pairs that are copied
 * (see pair_copies()). Returns the number of entries.
 */
static u64 pairs_bind(struct vgpu_copy_job *job, u64 page,
		      const dma_addr_t *sys, unsigned long npages)
{
	unsigned long i, n;
	u64 bound, sum = 0;

	for (i = 0; i < npages; i += n) {
		n = 1;
		if (!pair_copies(sys[i]))
			continue;
		while (i + n < npages && pair_copies(sys[i + n]))
			n++;
		job->ndw += vgpu_gart_emit_bind(job->vdev, job->dw + job->ndw,
						job->size - job->ndw,
						page + sum, n, sys + i, &bound);
		sum += n;
	}
	return sum;
}

/*
 * Copy @npages pairs (see pair_copies()) by one job; @npages is at most JOB_PAGES. If @to_vram is
 * true, also clear the VRAM pages that have no page in system memory.
 */
static int pairs_chunk(struct vgpu_device *vdev, bool to_vram,
		       const dma_addr_t *sys, const u64 *vram,
		       unsigned long npages, struct dma_fence **fence)
{
	unsigned int engine = to_vram ? VGPU_COPY_IN : VGPU_COPY_OUT;
	u64 page = window_page(engine);
	struct vgpu_copy_job *job;
	int ret = 0;

	job = vgpu_copy_job_unqueued(vdev, npages * PAIR_DWORDS +
				     VGPU_GART_FLUSH_TLB_DWORDS);
	if (IS_ERR(job))
		return PTR_ERR(job);
	if (pairs_bind(job, page, sys, npages))
		job_flush(job, engine);
	pairs_copy(job, to_vram, vgpu_gart_start(vdev) + (page << PAGE_SHIFT),
		   sys, vram, npages);
	if (job->ndw)
		ret = vgpu_copy_job_submit(job, engine, fence);
	vgpu_copy_job_free(job);
	return ret;
}

/**
 * vgpu_mm_copy_pages() - copy pages between system memory and VRAM
 * @vdev: device
 * @to_vram: true to copy to VRAM, false to copy to system memory
 * @sys: DMA address of each system page. Special values: 0 clears the VRAM page if @to_vram is
 *       true, else skips the page; DMA_MAPPING_ERROR skips the page
 * @vram: VRAM offset of each page, in bytes; in any order
 * @npages: number of pages
 * @vram_epoch: vgpu_hw.vram_epoch at a time when the pages in VRAM were valid. The caller has read
 *              it before it has tested whether their content was lost
 *
 * Does not wait for earlier work. No other work may access the pages until the fence signals.
 *
 * Context: sleeps and allocates; takes copy_lock, and no lock of vm/, svm/ or kfd/.
 *
 * Return: the last job's fence or ERR_PTR(): -ECANCELED if VRAM was lost since @vram_epoch was
 * read; -ENOMEM; an error of vgpu_copy_job_submit().
 */
struct dma_fence *vgpu_mm_copy_pages(struct vgpu_device *vdev, bool to_vram,
				     const dma_addr_t *sys, const u64 *vram,
				     unsigned long npages, int vram_epoch)
{
	struct dma_fence *fence = NULL;
	unsigned long i, n;
	int ret = 0;

	for (i = 0; !ret && i < npages; i += n) {
		n = min(npages - i, JOB_PAGES);
		ret = pairs_chunk(vdev, to_vram, sys + i, vram + i, n, &fence);
	}
	/*
	 * VRAM may have been lost since @vram_epoch was read. A job that is submitted after the
	 * loss succeeds. But a copy from VRAM reads invalid content, and the caller regards pages
	 * in VRAM with an old epoch as lost. So report an error for the whole operation.
	 */
	if (!ret && vram_epoch != atomic_read(&vdev->hw->vram_epoch))
		ret = -ECANCELED;
	return job_finish(fence, ret);
}
