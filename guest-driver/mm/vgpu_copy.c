// SPDX-License-Identifier: GPL-2.0
/*
 * Copies and clears by the kernel's SDMA ring.
 *
 * DOC: transfer windows
 *
 * The engine reaches VRAM at its MC address, and system memory only through
 * the GART. Memory that has no address there is copied in chunks through the
 * transfer windows at the GART's beginning: take the next window, wait until
 * the job that used it last is done, point its entries at the chunk's pages,
 * submit the chunk's job. As there are several windows, the engine copies one
 * chunk while the next is prepared, and a long copy of one caller leaves room
 * for another's short one in between.
 *
 * All jobs run on one engine in the order of submission. So a job that reads
 * or writes memory is behind every job that was submitted for it earlier, and
 * the last fence of an operation stands for all of it.
 */
#include <linux/dma-fence.h>
#include <linux/mutex.h>

#include "vgpu/sdma_packets.h"
#include "vgpu_mm_priv.h"
#include "vgpu_res_cursor.h"

#define COPY_ENGINE		0
#define WINDOW_BYTES		((u64)VGPU_GTT_WINDOW_PAGES << PAGE_SHIFT)

/**
 * struct vgpu_job - packets that are being collected; copy_lock
 * @vdev: device
 * @ndw: dwords in mman.job
 * @copied: bytes that its copies move
 * @filled: bytes that its fills write
 */
struct vgpu_job {
	struct vgpu_device *vdev;
	unsigned int ndw;
	u64 copied;
	u64 filled;
};

static bool job_has_room(const struct vgpu_job *job)
{
	return job->ndw + SDMA_COPY_LINEAR_DWORDS <= VGPU_SDMA_MAX_JOB_DWORDS;
}

static void job_copy(struct vgpu_job *job, u64 src, u64 dst, u64 bytes)
{
	job->ndw += vgpu_sdma_emit_copy(job->vdev->mman.job + job->ndw, src,
					dst, bytes);
	job->copied += bytes;
}

static void job_fill(struct vgpu_job *job, u64 dst, u64 bytes)
{
	job->ndw += vgpu_sdma_emit_fill(job->vdev->mman.job + job->ndw, dst, 0,
					bytes);
	job->filled += bytes;
}

/* Replaces *@fence, which is of an earlier job on the same ring. */
static int job_submit(struct vgpu_job *job, struct dma_fence **fence)
{
	struct vgpu_device *vdev = job->vdev;
	struct dma_fence *done;

	if (!job->ndw)
		return 0;
	done = vgpu_sdma_submit(vdev, COPY_ENGINE, vdev->mman.job, job->ndw);
	if (IS_ERR(done))
		return PTR_ERR(done);
	vgpu_stat_add(&vdev->hw, VGPU_STAT_BYTES_COPIED, job->copied);
	vgpu_stat_add(&vdev->hw, VGPU_STAT_BYTES_FILLED, job->filled);
	dma_fence_put(*fence);
	*fence = done;
	return 0;
}

/*
 * The fence of a whole operation, or an error. Even then nothing of it is
 * under way any more: the caller is going to free the memory.
 */
static struct dma_fence *job_finish(struct dma_fence *fence, int ret)
{
	if (ret) {
		if (fence)
			dma_fence_wait(fence, false);
		dma_fence_put(fence);
		return ERR_PTR(ret);
	}
	return fence ?: dma_fence_get_stub();
}

/* First page, in the GART, of a window that no job uses. */
static u64 window_get(struct vgpu_mman *mman, unsigned int *index)
{
	struct dma_fence *busy;

	lockdep_assert_held(&mman->copy_lock);

	*index = mman->next_window;
	mman->next_window = (*index + 1) % VGPU_GTT_NUM_WINDOWS;
	busy = mman->window_fence[*index];
	if (busy)
		dma_fence_wait(busy, false);
	return *index * VGPU_GTT_WINDOW_PAGES;
}

static void window_set_busy(struct vgpu_mman *mman, unsigned int index,
			    struct dma_fence *fence)
{
	dma_fence_put(mman->window_fence[index]);
	mman->window_fence[index] = dma_fence_get(fence);
}

/**
 * struct copy_side - source or destination of a copy
 * @cur: what is left; offsets relative to the resource if there is a window
 * @base: MC address that belongs to address 0 of @cur
 * @window: the side is reached through a window
 */
struct copy_side {
	struct vgpu_res_cursor cur;
	u64 base;
	bool window;
};

static int copy_side_init(struct vgpu_device *vdev, struct copy_side *side,
			  struct ttm_resource *res, u64 offset, u64 size)
{
	side->window = false;
	switch (res->mem_type) {
	case TTM_PL_VRAM:
		side->base = vdev->hw.fb_base;
		break;
	case TTM_PL_TT:
		side->base = vdev->hw.gart.start;
		side->window = !vgpu_gtt_mgr_has_gart_addr(res);
		break;
	default:
		return -EINVAL;
	}
	vgpu_res_first(res, offset, size, &side->cur);
	return side->cur.remaining == size ? 0 : -EINVAL;
}

/*
 * Bind the next pages of @side. Returns the bytes that the window shows, from
 * the side's position on.
 */
static u64 copy_side_bind(struct vgpu_device *vdev, struct copy_side *side,
			  const dma_addr_t *sys, unsigned int *index)
{
	u64 page = window_get(&vdev->mman, index);
	u64 offset = side->cur.start;
	u64 in_page = offset_in_page(offset);
	u64 bytes = min(side->cur.remaining, WINDOW_BYTES - in_page);

	vgpu_gart_bind(vdev, page, PFN_UP(in_page + bytes),
		       sys + (offset >> PAGE_SHIFT));
	vgpu_gart_flush(vdev);
	side->base = vdev->hw.gart.start + (page << PAGE_SHIFT) -
		     round_down(offset, PAGE_SIZE);
	return bytes;
}

/* One job's worth of a copy. copy_lock held. */
static int copy_chunk(struct vgpu_device *vdev, const dma_addr_t *sys,
		      struct copy_side *src, struct copy_side *dst,
		      struct dma_fence **fence)
{
	struct copy_side *windowed = src->window ? src :
				     dst->window ? dst : NULL;
	struct vgpu_job job = { .vdev = vdev };
	u64 left = src->cur.remaining;
	unsigned int window;
	int ret;

	if (windowed)
		left = copy_side_bind(vdev, windowed, sys, &window);

	while (left && job_has_room(&job)) {
		u64 bytes = min3(left, src->cur.size, dst->cur.size);

		bytes = min_t(u64, bytes, VGPU_SDMA_MAX_COPY);
		job_copy(&job, src->base + src->cur.start,
			 dst->base + dst->cur.start, bytes);
		vgpu_res_next(&src->cur, bytes);
		vgpu_res_next(&dst->cur, bytes);
		left -= bytes;
	}
	ret = job_submit(&job, fence);
	if (!ret && windowed)
		window_set_busy(&vdev->mman, window, *fence);
	return ret;
}

/**
 * vgpu_mm_copy_res() - copy between two resources
 * @vdev: device
 * @sys: DMA addresses of the pages of the resource that is in GTT; NULL if
 *       none is
 * @src: source
 * @src_off: bytes from its beginning
 * @dst: destination
 * @dst_off: bytes from its beginning
 * @size: bytes
 *
 * Each is in VRAM or GTT, at most one in GTT without an address. Both must
 * stay until the fence signals. May sleep; takes copy_lock.
 *
 * Return: the fence of the copy, whose error tells if it failed, or
 * ERR_PTR(-ENODEV) without a working engine, -EINVAL, -ENOMEM.
 */
struct dma_fence *vgpu_mm_copy_res(struct vgpu_device *vdev,
				   const dma_addr_t *sys,
				   struct ttm_resource *src, u64 src_off,
				   struct ttm_resource *dst, u64 dst_off,
				   u64 size)
{
	struct vgpu_mman *mman = &vdev->mman;
	struct dma_fence *fence = NULL;
	struct copy_side from, to;
	int ret;

	ret = copy_side_init(vdev, &from, src, src_off, size);
	if (!ret)
		ret = copy_side_init(vdev, &to, dst, dst_off, size);
	if (!ret && ((from.window && to.window) ||
		     ((from.window || to.window) && !sys)))
		ret = -EINVAL;
	if (ret)
		return ERR_PTR(ret);

	while (!ret && from.cur.remaining) {
		mutex_lock(&mman->copy_lock);
		ret = mman->ready ? copy_chunk(vdev, sys, &from, &to, &fence) :
				    -ENODEV;
		mutex_unlock(&mman->copy_lock);
	}
	return job_finish(fence, ret);
}

/**
 * vgpu_mm_clear_res() - fill a resource with zeros
 * @vdev: device
 * @res: resource in VRAM
 * @fresh: it was allocated just now: leave out what is known to be clear
 *
 * May sleep; takes copy_lock.
 *
 * Return: the fence, signalled already if there was nothing to do, or an
 * ERR_PTR as vgpu_mm_copy_res().
 */
struct dma_fence *vgpu_mm_clear_res(struct vgpu_device *vdev,
				    struct ttm_resource *res, bool fresh)
{
	struct vgpu_mman *mman = &vdev->mman;
	struct dma_fence *fence = NULL;
	struct vgpu_res_cursor cur;
	int ret = 0;

	if (res->mem_type != TTM_PL_VRAM)
		return ERR_PTR(-EINVAL);

	vgpu_res_first(res, 0, res->size, &cur);
	while (!ret && cur.remaining) {
		struct vgpu_job job = { .vdev = vdev };

		mutex_lock(&mman->copy_lock);
		while (cur.remaining && job_has_room(&job)) {
			u64 bytes = min_t(u64, cur.size, VGPU_SDMA_MAX_COPY);

			if (!fresh || !vgpu_res_cleared(&cur))
				job_fill(&job, vdev->hw.fb_base + cur.start,
					 bytes);
			vgpu_res_next(&cur, bytes);
		}
		ret = mman->ready ? job_submit(&job, &fence) : -ENODEV;
		mutex_unlock(&mman->copy_lock);
	}
	return job_finish(fence, ret);
}

/* A pair that is copied, not cleared or left out. */
static bool pair_copies(dma_addr_t sys)
{
	return sys && sys != DMA_MAPPING_ERROR;
}

/* Length of the run of pairs from @i on that are alike and, in VRAM, adjacent. */
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

/* At most a window's pages. copy_lock held. */
static int copy_pages_chunk(struct vgpu_device *vdev, bool to_vram,
			    const dma_addr_t *sys, const u64 *vram,
			    unsigned long npages, struct dma_fence **fence)
{
	struct vgpu_job job = { .vdev = vdev };
	unsigned int window;
	u64 page = window_get(&vdev->mman, &window);
	unsigned long i, n;
	int ret;

	for (i = 0; i < npages; i += n) {
		u64 mc = vdev->hw.fb_base + vram[i];

		if (sys[i] == DMA_MAPPING_ERROR) {
			n = 1;
			continue;
		}
		n = pair_run(sys, vram, i, npages);
		if (pair_copies(sys[i])) {
			u64 gart = vdev->hw.gart.start + (page << PAGE_SHIFT);

			vgpu_gart_bind(vdev, page, n, sys + i);
			page += n;
			job_copy(&job, to_vram ? gart : mc,
				 to_vram ? mc : gart, n * PAGE_SIZE);
		} else if (to_vram) {
			job_fill(&job, mc, n * PAGE_SIZE);
		}
	}
	if (job.copied)
		vgpu_gart_flush(vdev);
	ret = job_submit(&job, fence);
	if (!ret && job.copied)
		window_set_busy(&vdev->mman, window, *fence);
	return ret;
}

/* A window's worth of the smallest runs makes one job. */
static_assert(VGPU_GTT_WINDOW_PAGES * SDMA_COPY_LINEAR_DWORDS <=
	      VGPU_SDMA_MAX_JOB_DWORDS);

/**
 * vgpu_mm_copy_pages() - copy pages between system memory and VRAM
 * @vdev: device
 * @to_vram: direction
 * @sys: DMA address of each page in system memory. DMA_MAPPING_ERROR: leave
 *       the pair out. 0: on the way to VRAM, clear the page there; on the way
 *       back, leave the pair out
 * @vram: offset in VRAM of each page; need not be in order
 * @npages: number of pairs
 *
 * Both must stay until the fence signals. May sleep and allocate; takes
 * copy_lock and no lock of the rooms above.
 *
 * Return: the fence, or an ERR_PTR as vgpu_mm_copy_res().
 */
struct dma_fence *vgpu_mm_copy_pages(struct vgpu_device *vdev, bool to_vram,
				     const dma_addr_t *sys, const u64 *vram,
				     unsigned long npages)
{
	struct vgpu_mman *mman = &vdev->mman;
	struct dma_fence *fence = NULL;
	unsigned long i, n;
	int ret = 0;

	for (i = 0; !ret && i < npages; i += n) {
		n = min(npages - i, (unsigned long)VGPU_GTT_WINDOW_PAGES);
		mutex_lock(&mman->copy_lock);
		ret = mman->ready ? copy_pages_chunk(vdev, to_vram, sys + i,
						     vram + i, n, &fence) :
				    -ENODEV;
		mutex_unlock(&mman->copy_lock);
	}
	return job_finish(fence, ret);
}
