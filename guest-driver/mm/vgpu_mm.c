// SPDX-License-Identifier: GPL-2.0
/*
 * Creates the memory manager of a device. vgpu_mm_fini() must not free TTM's managers, because CPU
 * mappings may keep BOs alive after the hardware's removal.
 */
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <drm/drm_managed.h>
#include <drm/drm_vma_manager.h>

#include "vgpu/pci.h"
#include "hw/sdma/vgpu_sdma_sched.h"
#include "hw/vgpu_hw.h"
#include "vgpu_mm_priv.h"

static void vgpu_mm_release(struct drm_device *drm, void *data)
{
	struct vgpu_device *vdev = data;
	struct vgpu_mman *mman = vdev->mman;

	/* Wait for BOs whose memory TTM frees in its workqueue. */
	drain_workqueue(mman->bdev.wq);
	/*
	 * Stop drm_sched's workers: after the last job is freed, a worker may still be about to
	 * wake copy_idle, which is freed with the memory manager.
	 */
	vgpu_sdma_sched_pause(vdev);
	vgpu_copy_fini(vdev);
	ttm_range_man_fini(&mman->bdev, VGPU_PL_MMIO_REMAP);
	ttm_range_man_fini(&mman->bdev, VGPU_PL_DOORBELL);
	vgpu_gtt_mgr_fini(vdev);
	vgpu_vram_mgr_fini(vdev);
	ttm_device_fini(&mman->bdev);
	mutex_destroy(&mman->notifier_lock);
}

static int vgpu_mm_init_managers(struct vgpu_device *vdev)
{
	struct vgpu_hw *hw = vdev->hw;
	int ret;

	ret = vgpu_vram_mgr_init(vdev, hw->vram_size - hw->vram_reserved);
	if (ret)
		return ret;
	ret = vgpu_gtt_mgr_init(vdev, (u64)ttm_tt_pages_limit() << PAGE_SHIFT);
	if (ret)
		goto err_vram;
	ret = ttm_range_man_init(&vdev->mman->bdev, VGPU_PL_DOORBELL, false,
				 VGPU_DOORBELL_BAR_SIZE >> PAGE_SHIFT);
	if (ret)
		goto err_gtt;
	ret = ttm_range_man_init(&vdev->mman->bdev, VGPU_PL_MMIO_REMAP, false,
				 1);
	if (ret)
		goto err_doorbell;
	return 0;

err_doorbell:
	ttm_range_man_fini(&vdev->mman->bdev, VGPU_PL_DOORBELL);
err_gtt:
	vgpu_gtt_mgr_fini(vdev);
err_vram:
	vgpu_vram_mgr_fini(vdev);
	return ret;
}

/**
 * vgpu_mm_init() - initialise the memory manager
 * @vdev: device; hw/ is initialised, and the schedulers of the SDMA engines run
 *
 * Return: 0; -ENOMEM; -ENODEV if the GART has no pages besides the transfer windows; or another
 * error of vgpu_copy_init(), ttm_device_init() or vgpu_copy_start().
 */
int vgpu_mm_init(struct vgpu_device *vdev)
{
	struct vgpu_mman *mman;
	int ret;

	mman = drmm_kzalloc(&vdev->drm, sizeof(*mman), GFP_KERNEL);
	if (!mman)
		return -ENOMEM;
	mman->vdev = vdev;
	vdev->mman = mman;
	INIT_LIST_HEAD(&mman->saved);
	mman->swaps_until = jiffies;
	mutex_init(&mman->notifier_lock);
	/* Declare to lockdep that reclaim waits for notifiers, which take notifier_lock. */
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&mman->notifier_lock);
	fs_reclaim_release(GFP_KERNEL);

	ret = vgpu_copy_init(vdev);
	if (ret)
		return ret;
	ret = ttm_device_init(&mman->bdev, &vgpu_ttm_funcs, vdev->drm.dev,
			      vdev->drm.anon_inode->i_mapping,
			      vdev->drm.vma_offset_manager, false, false);
	if (ret)
		goto err_copy;
	ret = vgpu_mm_init_managers(vdev);
	if (ret)
		goto err_ttm;
	ret = drmm_add_action_or_reset(&vdev->drm, vgpu_mm_release, vdev);
	if (ret)
		return ret;
	ret = vgpu_copy_start(vdev);
	if (!ret)
		ret = vgpu_shrink_init(vdev);
	if (ret)
		vgpu_copy_stop(vdev);
	return ret;

err_ttm:
	ttm_device_fini(&mman->bdev);
err_copy:
	vgpu_copy_fini(vdev);
	return ret;
}

/**
 * vgpu_mm_bdev() - get TTM's device of a GPU
 * @vdev: device
 *
 * Return: TTM's device, valid until the last reference to the DRM device is dropped.
 */
struct ttm_device *vgpu_mm_bdev(struct vgpu_device *vdev)
{
	return &vdev->mman->bdev;
}

/**
 * vgpu_mm_notifier_lock() - get the mutex that MMU notifiers take
 * @vdev: device
 *
 * A thread that holds the mutex must not allocate, wait for reclaim or take a reservation. The
 * mutex may be taken with reservations held.
 *
 * Return: the mutex; while it is held, a result of vgpu_userptr_valid() stays correct.
 */
struct mutex *vgpu_mm_notifier_lock(struct vgpu_device *vdev)
{
	return &vdev->mman->notifier_lock;
}

/**
 * vgpu_mm_set_vm_ops() - set the functions of vm/ that mm/ calls
 * @vdev: device
 * @ops: functions, valid as long as the device
 *
 * Context: bring-up, before user space can create BOs.
 */
void vgpu_mm_set_vm_ops(struct vgpu_device *vdev, const struct vgpu_mm_vm_ops *ops)
{
	vdev->mman->vm_ops = ops;
}

/**
 * vgpu_mm_set_handle_ops() - set the functions of drm/ that mm/ calls
 * @vdev: device
 * @ops: functions, valid as long as the device
 *
 * Context: bring-up, before user space can open the render node.
 */
void vgpu_mm_set_handle_ops(struct vgpu_device *vdev,
			    const struct vgpu_mm_handle_ops *ops)
{
	vdev->mman->handle_ops = ops;
}

/**
 * vgpu_mm_zap_mappings() - remove the CPU page-table entries of all BOs
 * @vdev: device
 *
 * The next CPU access to a page faults and maps the page again. A fault on a page in a BAR waits
 * for the end of a reset.
 *
 * Context: sleeps and calls MMU notifiers; the caller holds no lock.
 */
void vgpu_mm_zap_mappings(struct vgpu_device *vdev)
{
	unmap_mapping_range(vdev->drm.anon_inode->i_mapping, 0, 0, 1);
}

/**
 * vgpu_mm_fini() - stop using the hardware
 * @vdev: device; no BO is created any more, and the GPU has no mappings
 *
 * Removes CPU mappings; later CPU accesses get a page of zeros. On return no engine accesses system
 * memory of a BO.
 *
 * Context: sleeps.
 */
void vgpu_mm_fini(struct vgpu_device *vdev)
{
	struct vgpu_mman *mman = vdev->mman;

	vgpu_shrink_fini(vdev);
	/*
	 * Pending frees may wipe VRAM and unbind GART entries. Wait for them now, while copy jobs
	 * still run.
	 */
	flush_workqueue(mman->bdev.wq);

	vgpu_copy_stop(vdev);

	vgpu_mm_zap_mappings(vdev);
	vgpu_mm_unmap_dma(mman);
}
