// SPDX-License-Identifier: GPL-2.0
/*
 * The memory manager of a device, from probe to the last reference.
 *
 * BOs may outlive the hardware: a mapping keeps them when the device is gone.
 * vgpu_mm_fini() takes the engines and DMA addresses away from them; what they
 * still need to be freed stays until the DRM device's last reference.
 */
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <drm/drm_managed.h>
#include <drm/drm_vma_manager.h>

#include "vgpu/pci.h"
#include "vgpu_mm_priv.h"

static void vgpu_mm_release(struct drm_device *drm, void *data)
{
	struct vgpu_device *vdev = data;
	struct vgpu_mman *mman = &vdev->mman;

	/* Waits for BOs whose memory is freed late. */
	drain_workqueue(mman->bdev.wq);
	ttm_range_man_fini(&mman->bdev, VGPU_PL_DOORBELL);
	vgpu_gtt_mgr_fini(vdev);
	vgpu_vram_mgr_fini(vdev);
	ttm_device_fini(&mman->bdev);
	mutex_destroy(&mman->copy_lock);
}

static int vgpu_mm_init_managers(struct vgpu_device *vdev)
{
	struct vgpu_hw *hw = &vdev->hw;
	int ret;

	ret = vgpu_vram_mgr_init(vdev, hw->vram_size - hw->vram_reserved);
	if (ret)
		return ret;
	ret = vgpu_gtt_mgr_init(vdev, (u64)ttm_tt_pages_limit() << PAGE_SHIFT);
	if (ret)
		goto err_vram;
	ret = ttm_range_man_init(&vdev->mman.bdev, VGPU_PL_DOORBELL, false,
				 VGPU_DOORBELL_BAR_SIZE >> PAGE_SHIFT);
	if (ret)
		goto err_gtt;
	return 0;

err_gtt:
	vgpu_gtt_mgr_fini(vdev);
err_vram:
	vgpu_vram_mgr_fini(vdev);
	return ret;
}

/**
 * vgpu_mm_init() - start to manage a device's memory
 * @vdev: device; its hardware works
 *
 * Return: 0 or a negative errno.
 */
int vgpu_mm_init(struct vgpu_device *vdev)
{
	struct vgpu_mman *mman = &vdev->mman;
	int ret;

	mutex_init(&mman->copy_lock);
	mman->job = drmm_kmalloc(&vdev->drm,
				 VGPU_SDMA_MAX_JOB_DWORDS * sizeof(u32),
				 GFP_KERNEL);
	if (!mman->job)
		return -ENOMEM;

	ret = ttm_device_init(&mman->bdev, &vgpu_ttm_funcs, vdev->drm.dev,
			      vdev->drm.anon_inode->i_mapping,
			      vdev->drm.vma_offset_manager, false, false);
	if (ret)
		return ret;
	ret = vgpu_mm_init_managers(vdev);
	if (ret) {
		ttm_device_fini(&mman->bdev);
		return ret;
	}
	ret = drmm_add_action_or_reset(&vdev->drm, vgpu_mm_release, vdev);
	if (ret)
		return ret;
	mman->ready = true;
	return 0;
}

/**
 * vgpu_mm_fini() - let go of the hardware
 * @vdev: device; no new BOs come, no GPU mapping is left
 *
 * CPU mappings are torn down; who touches them afterwards gets a page of
 * nothing. No engine reads or writes system memory of a BO when it returns.
 */
void vgpu_mm_fini(struct vgpu_device *vdev)
{
	struct vgpu_mman *mman = &vdev->mman;
	unsigned int i;

	/* Pending frees may still wipe and unbind. */
	drain_workqueue(mman->bdev.wq);

	mutex_lock(&mman->copy_lock);
	mman->ready = false;
	for (i = 0; i < VGPU_GTT_NUM_WINDOWS; i++) {
		if (mman->window_fence[i])
			dma_fence_wait(mman->window_fence[i], false);
		dma_fence_put(mman->window_fence[i]);
		mman->window_fence[i] = NULL;
	}
	mutex_unlock(&mman->copy_lock);

	unmap_mapping_range(vdev->drm.anon_inode->i_mapping, 0, 0, 1);
	ttm_device_clear_dma_mappings(&mman->bdev);
}
