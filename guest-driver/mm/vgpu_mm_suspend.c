// SPDX-License-Identifier: GPL-2.0
/*
 * Saves VRAM over a sleep of the system. After vgpu_mm_evict_all() has evicted all BOs that are not
 * pinned, vgpu_mm_suspend() saves the content of pinned VRAM (page tables); vgpu_mm_resume() writes
 * the content back to the same place. BOs whose content was lost in a reset may stay in VRAM; their
 * content is not saved.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "hw/sdma/vgpu_sdma_sched.h"
#include "hw/vgpu_hw.h"
#include "hw/vgpu_io.h"
#include "hw/vgpu_mmio.h"
#include "vgpu_mm_priv.h"
#include "vgpu_res_cursor.h"

#define SAVED_MAX	SZ_2M

/**
 * struct saved - saved content of up to 2 MiB of contiguous VRAM
 * @link: in vgpu_mman.saved
 * @offset: offset in VRAM
 * @size: bytes
 * @data: content
 */
struct saved {
	struct list_head link;
	u64 offset;
	size_t size;
	u8 data[];
};

static void saved_free(struct vgpu_mman *mman)
{
	struct saved *s, *next;

	list_for_each_entry_safe(s, next, &mman->saved, link) {
		list_del(&s->link);
		kvfree(s);
	}
}

static int save_range(struct vgpu_device *vdev, u64 offset, u64 size)
{
	struct saved *s;

	s = kvmalloc(struct_size(s, data, size), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->offset = offset;
	s->size = size;
	vgpu_io_begin(vdev);
	memcpy_fromio(s->data, vdev->hw->vram + offset, size);
	vgpu_io_end(vdev);
	list_add_tail(&s->link, &vdev->mman->saved);
	return 0;
}

static int save_resource(struct vgpu_device *vdev, struct ttm_resource *res)
{
	struct vgpu_res_cursor cur;
	u64 size;
	int ret;

	vgpu_res_first(res, 0, res->size, &cur);
	while (cur.remaining) {
		size = min_t(u64, cur.size, SAVED_MAX);
		ret = save_range(vdev, cur.start, size);
		if (ret)
			return ret;
		vgpu_res_next(&cur, size);
	}
	return 0;
}

/**
 * vgpu_mm_drain() - wait until all moves, clears and frees have completed
 * @vdev: device whose schedulers run; user space is frozen
 */
void vgpu_mm_drain(struct vgpu_device *vdev)
{
	vgpu_copy_drain(vdev);
	/*
	 * TTM's workqueue frees memory whose fences have signalled. A free may push a wipe job, so
	 * drain the jobs again.
	 */
	flush_workqueue(vdev->mman->bdev.wq);
	vgpu_copy_drain(vdev);
}

/**
 * vgpu_mm_suspend() - save the content of VRAM
 * @vdev: device; only pinned BOs, and BOs whose content was lost, are left in VRAM
 *
 * The kernel's rings are empty on return.
 *
 * Context: user space is frozen; no user queue or job is on the hardware; after
 * vgpu_mm_drain().
 *
 * Return: 0 or -ENOMEM; on error nothing is saved.
 */
int vgpu_mm_suspend(struct vgpu_device *vdev)
{
	struct vgpu_mman *mman = vdev->mman;
	struct vgpu_vram_resource *vres;
	int ret = 0;

	vgpu_sdma_drain(vdev);

	mutex_lock(&mman->vram.lock);
	list_for_each_entry(vres, &mman->vram.resources, link) {
		if (vres->lost)
			continue;
		ret = save_resource(vdev, &vres->base);
		if (ret)
			break;
	}
	mutex_unlock(&mman->vram.lock);
	if (ret)
		saved_free(mman);
	return ret;
}

/**
 * vgpu_mm_resume() - write back or drop the content that vgpu_mm_suspend() saved
 * @vdev: device
 * @write: true to write the content back (the CPU must have access to VRAM), false to drop the
 *         content
 */
void vgpu_mm_resume(struct vgpu_device *vdev, bool write)
{
	struct vgpu_mman *mman = vdev->mman;
	struct saved *s;

	if (write) {
		list_for_each_entry(s, &mman->saved, link)
			memcpy_toio(vdev->hw->vram + s->offset, s->data,
				    s->size);
		vgpu_hdp_flush(vdev);
	}
	saved_free(mman);
}
