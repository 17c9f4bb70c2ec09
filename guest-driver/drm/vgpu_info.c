// SPDX-License-Identifier: GPL-2.0
/*
 * amdgpu's INFO: what user space may ask about the device.
 */
#include <linux/uaccess.h>
#include <drm/amdgpu_drm.h>

#include "vgpu/gmc.h"
#include "vgpu/pci.h"
#include "vgpu/pte.h"
#include "vgpu_drm_priv.h"

static void vgpu_info_vram_gtt(struct vgpu_device *vdev,
			       struct drm_amdgpu_info_vram_gtt *info)
{
	struct vgpu_mman *mman = &vdev->mman;

	info->vram_size = mman->vram.manager.size;
	info->vram_cpu_accessible_size = info->vram_size;
	info->gtt_size = mman->gtt.manager.size;
}

static void vgpu_info_heap(struct ttm_resource_manager *man,
			   struct drm_amdgpu_heap_info *heap)
{
	heap->total_heap_size = man->size;
	heap->usable_heap_size = man->size;
	heap->heap_usage = ttm_resource_manager_usage(man);
	heap->max_allocation = man->size * 3 / 4;
}

static void vgpu_info_memory(struct vgpu_device *vdev,
			     struct drm_amdgpu_memory_info *info)
{
	vgpu_info_heap(&vdev->mman.vram.manager, &info->vram);
	/* All of VRAM is visible. */
	info->cpu_accessible_vram = info->vram;
	vgpu_info_heap(&vdev->mman.gtt.manager, &info->gtt);
}

static void vgpu_info_dev(struct vgpu_device *vdev,
			  struct drm_amdgpu_info_device *info)
{
	info->device_id = vdev->pdev->device;
	info->pci_rev = vdev->pdev->revision;
	info->family = AMDGPU_FAMILY_AI;
	info->gpu_counter_freq = VGPU_CLOCK_HZ / 1000;
	/* DRM's own part of the address space; KFD takes addresses as they are. */
	info->virtual_address_offset = SZ_2M;
	info->virtual_address_max = BIT_ULL(VGPU_VA_BITS - 1);
	info->virtual_address_alignment = SZ_4K;
	info->pte_fragment_size = SZ_2M;
	info->gart_page_size = SZ_4K;
	info->vram_type = AMDGPU_VRAM_TYPE_HBM;
	info->vram_bit_width = 4096;
}

/* Copies at most what the caller has room for, as amdgpu does. */
static int vgpu_info_reply(const struct drm_amdgpu_info *args, const void *data,
			   size_t size)
{
	size_t n = min_t(size_t, args->return_size, size);

	return copy_to_user(u64_to_user_ptr(args->return_pointer), data, n) ?
	       -EFAULT : 0;
}

/* The registers that user space may read: GB_ADDR_CONFIG, for addrlib. */
static int vgpu_info_registers(struct vgpu_device *vdev,
			       const struct drm_amdgpu_info *args)
{
	u32 value;

	if (args->read_mmr_reg.count != 1 ||
	    args->read_mmr_reg.dword_offset != GB_ADDR_CONFIG)
		return -EINVAL;
	value = vgpu_rreg(vdev, GB_ADDR_CONFIG);
	return vgpu_info_reply(args, &value, sizeof(value));
}

int vgpu_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vgpu_device *vdev = to_vgpu(drm);
	struct drm_amdgpu_info *args = data;
	union {
		struct drm_amdgpu_info_vram_gtt vram_gtt;
		struct drm_amdgpu_memory_info memory;
		struct drm_amdgpu_info_device dev;
	} info = { };
	u64 value;
	u32 working;

	if (!args->return_size || !args->return_pointer)
		return -EINVAL;

	switch (args->query) {
	case AMDGPU_INFO_ACCEL_WORKING:
		working = vdev->mman.ready;
		return vgpu_info_reply(args, &working, sizeof(working));
	case AMDGPU_INFO_VRAM_USAGE:
	case AMDGPU_INFO_VIS_VRAM_USAGE:
		value = ttm_resource_manager_usage(&vdev->mman.vram.manager);
		return vgpu_info_reply(args, &value, sizeof(value));
	case AMDGPU_INFO_GTT_USAGE:
		value = ttm_resource_manager_usage(&vdev->mman.gtt.manager);
		return vgpu_info_reply(args, &value, sizeof(value));
	case AMDGPU_INFO_TIMESTAMP:
		value = vgpu_clock_read(vdev);
		return vgpu_info_reply(args, &value, sizeof(value));
	case AMDGPU_INFO_VRAM_GTT:
		vgpu_info_vram_gtt(vdev, &info.vram_gtt);
		return vgpu_info_reply(args, &info, sizeof(info.vram_gtt));
	case AMDGPU_INFO_MEMORY:
		vgpu_info_memory(vdev, &info.memory);
		return vgpu_info_reply(args, &info, sizeof(info.memory));
	case AMDGPU_INFO_DEV_INFO:
		vgpu_info_dev(vdev, &info.dev);
		return vgpu_info_reply(args, &info, sizeof(info.dev));
	case AMDGPU_INFO_READ_MMR_REG:
		return vgpu_info_registers(vdev, args);
	default:
		return -EINVAL;
	}
}
