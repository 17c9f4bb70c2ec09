// SPDX-License-Identifier: GPL-2.0
/*
 * Implements amdgpu's INFO ioctl, which replies to queries about the device.
 *
 * A query about a block that the device does not have gets amdgpu's reply for a chip without the
 * block.
 */
#include <linux/uaccess.h>
#include <drm/amdgpu_drm.h>

#include "vgpu/gmc.h"
#include "vgpu/pci.h"
#include "vgpu/pte.h"
#include "device/vgpu_chip.h"
#include "hw/sdma/vgpu_sdma_sched.h"
#include "hw/vgpu_io.h"
#include "hw/vgpu_mmio.h"
#include "mm/vgpu_mm.h"
#include "mm/vgpu_res_mgr.h"
#include "reset/vgpu_reset.h"
#include "vgpu_file.h"
#include "vgpu_sched.h"

static void vgpu_info_vram_gtt(struct vgpu_device *vdev,
			       struct drm_amdgpu_info_vram_gtt *info)
{
	info->vram_size = vgpu_vram_mgr_size(vdev);
	info->vram_cpu_accessible_size = info->vram_size;
	info->gtt_size = vgpu_gtt_mgr_size(vdev);
}

static void vgpu_info_heap(u64 size, u64 usage, struct drm_amdgpu_heap_info *heap)
{
	heap->total_heap_size = size;
	heap->usable_heap_size = size;
	heap->heap_usage = usage;
	heap->max_allocation = size * 3 / 4;
}

static void vgpu_info_memory(struct vgpu_device *vdev,
			     struct drm_amdgpu_memory_info *info)
{
	vgpu_info_heap(vgpu_vram_mgr_size(vdev), vgpu_vram_mgr_usage(vdev), &info->vram);
	/* All VRAM is CPU-visible. */
	info->cpu_accessible_vram = info->vram;
	vgpu_info_heap(vgpu_gtt_mgr_size(vdev), vgpu_gtt_mgr_usage(vdev), &info->gtt);
}

/*
 * cu_bitmap has an element for each shader array, but for 4 shader engines only. Like amdgpu,
 * report shader engine n + 4 in cu_bitmap[n][1], as a second shader array of shader engine n.
 */
static void vgpu_info_dev_shaders(struct drm_amdgpu_info_device *info)
{
	const u32 per_se = VGPU_CHIP_NUM_CU / VGPU_CHIP_NUM_SE;
	unsigned int se;

	info->num_shader_engines = VGPU_CHIP_NUM_SE;
	info->num_shader_arrays_per_engine = 1;
	info->cu_active_number = VGPU_CHIP_NUM_CU;
	info->num_cu_per_sh = VGPU_CHIP_CU_PER_SH;
	info->wave_front_size = VGPU_CHIP_WAVE_SIZE;
	for (se = 0; se < VGPU_CHIP_NUM_SE; se++)
		info->cu_bitmap[se % 4][se / 4] = GENMASK(per_se - 1, 0);
}

static void vgpu_info_dev(struct vgpu_device *vdev,
			  struct drm_amdgpu_info_device *info)
{
	info->device_id = vdev->pdev->device;
	info->pci_rev = vdev->pdev->revision;
	info->family = AMDGPU_FAMILY_AI;
	info->gpu_counter_freq = VGPU_CLOCK_HZ / 1000;
	info->virtual_address_offset = VGPU_VA_RESERVED_BOTTOM;
	info->virtual_address_max = VGPU_VA_HOLE - VGPU_VA_RESERVED_TOP;
	info->virtual_address_alignment = SZ_4K;
	info->pte_fragment_size = SZ_2M;
	info->gart_page_size = SZ_4K;
	info->vram_type = AMDGPU_VRAM_TYPE_HBM;
	info->vram_bit_width = 4096;
	/* The unit is kHz. Minimum and maximum are equal, because the clock is fixed. */
	info->max_engine_clock = VGPU_CHIP_MAX_ENGINE_MHZ * 1000;
	info->min_engine_clock = info->max_engine_clock;
	vgpu_info_dev_shaders(info);
}

/* Copy the reply, cut to the size of the caller's buffer, as amdgpu does. */
static int vgpu_info_reply(const struct drm_amdgpu_info *args, const void *data,
			   size_t size)
{
	size_t n = min_t(size_t, args->return_size, size);

	return copy_to_user(u64_to_user_ptr(args->return_pointer), data, n) ?
	       -EFAULT : 0;
}

/* User space may read one register, GB_ADDR_CONFIG, which addrlib needs. */
static int vgpu_info_registers(struct vgpu_device *vdev,
			       const struct drm_amdgpu_info *args)
{
	u32 value;

	if (args->read_mmr_reg.count > 128)
		return -EINVAL;
	if (args->read_mmr_reg.count != 1 ||
	    args->read_mmr_reg.dword_offset != GB_ADDR_CONFIG)
		return -EFAULT;
	value = vgpu_rreg_sync(vdev, GB_ADDR_CONFIG);
	return vgpu_info_reply(args, &value, sizeof(value));
}

/* The engines have no firmware, so reply zeros, as amdgpu does before it has loaded firmware. */
static int vgpu_info_firmware(const struct drm_amdgpu_info *args)
{
	const struct drm_amdgpu_info_firmware none = { };
	u32 instances = 1;

	switch (args->query_fw.fw_type) {
	case AMDGPU_INFO_FW_GFX_MEC:
		instances = 2;
		break;
	case AMDGPU_INFO_FW_SDMA:
		instances = VGPU_NUM_SDMA;
		break;
	case AMDGPU_INFO_FW_TA:
		instances = 6;
		break;
	default:
		/* amdgpu ignores the index for all other types. Type 9 does not exist. */
		if (!args->query_fw.fw_type || args->query_fw.fw_type == 9 ||
		    args->query_fw.fw_type > AMDGPU_INFO_FW_VPE)
			return -EINVAL;
		instances = U32_MAX;
	}
	if (args->query_fw.ip_instance || args->query_fw.index >= instances)
		return -EINVAL;
	return vgpu_info_reply(args, &none, sizeof(none));
}

/*
 * Reply to HW_IP_INFO. For DMA, describe SDMA 4.4, with the rings of the engines whose recovery has
 * not failed. For other IPs, reply zeros.
 */
static int vgpu_info_hw_ip(struct vgpu_device *vdev,
			   const struct drm_amdgpu_info *args)
{
	struct drm_amdgpu_info_hw_ip ip = { };
	unsigned int i;

	if (args->query_hw_ip.ip_instance >= AMDGPU_HW_IP_INSTANCE_MAX_COUNT ||
	    args->query_hw_ip.type >= AMDGPU_HW_IP_NUM)
		return -EINVAL;
	if (args->query_hw_ip.type == AMDGPU_HW_IP_DMA) {
		ip.hw_ip_version_major = 4;
		ip.ip_discovery_version = 4 << 16 | 4 << 8;
		ip.ib_start_alignment = 256;
		ip.ib_size_alignment = 4;
		for (i = 0; i < VGPU_NUM_SDMA; i++)
			if (vgpu_sdma_ring_ready(vdev, i))
				ip.available_rings |= BIT(i);
	}
	return vgpu_info_reply(args, &ip, sizeof(ip));
}

/* Reply how many IBs a job may have on each IP, which is 0 for an IP without a ring. */
static int vgpu_info_max_ibs(const struct drm_amdgpu_info *args)
{
	u32 max_ibs[AMDGPU_HW_IP_NUM];
	unsigned int i;

	for (i = 0; i < AMDGPU_HW_IP_NUM; i++)
		max_ibs[i] = i == AMDGPU_HW_IP_DMA ? VGPU_MAX_IBS : 0;
	return vgpu_info_reply(args, max_ibs, sizeof(max_ibs));
}

/* The device has no BIOS: reply size 0, and reject queries of the image. */
static int vgpu_info_vbios(const struct drm_amdgpu_info *args)
{
	const struct drm_amdgpu_info_vbios none = { };
	const u32 size = 0;

	switch (args->vbios_info.type) {
	case AMDGPU_INFO_VBIOS_SIZE:
		return vgpu_info_reply(args, &size, sizeof(size));
	case AMDGPU_INFO_VBIOS_INFO:
		return vgpu_info_reply(args, &none, sizeof(none));
	default:
		return -EINVAL;
	}
}

/* Reply to queries about memory. Returns -ENOTTY for other queries. */
static int vgpu_info_mem_query(struct vgpu_device *vdev,
			       const struct drm_amdgpu_info *args)
{
	struct drm_amdgpu_info_vram_gtt vram_gtt = { };
	struct drm_amdgpu_memory_info memory = { };
	u64 value;

	switch (args->query) {
	case AMDGPU_INFO_VRAM_USAGE:
	case AMDGPU_INFO_VIS_VRAM_USAGE:
		value = vgpu_vram_mgr_usage(vdev);
		break;
	case AMDGPU_INFO_GTT_USAGE:
		value = vgpu_gtt_mgr_usage(vdev);
		break;
	case AMDGPU_INFO_NUM_EVICTIONS:
		value = vgpu_stat_read(vdev, VGPU_STAT_EVICTIONS);
		break;
	case AMDGPU_INFO_NUM_VRAM_CPU_PAGE_FAULTS:
		/* No fault has moved a BO to CPU-visible VRAM, since all VRAM is CPU-visible. */
		value = 0;
		break;
	case AMDGPU_INFO_VRAM_GTT:
		vgpu_info_vram_gtt(vdev, &vram_gtt);
		return vgpu_info_reply(args, &vram_gtt, sizeof(vram_gtt));
	case AMDGPU_INFO_MEMORY:
		vgpu_info_memory(vdev, &memory);
		return vgpu_info_reply(args, &memory, sizeof(memory));
	default:
		return -ENOTTY;
	}
	return vgpu_info_reply(args, &value, sizeof(value));
}

/*
 * Reply to queries about blocks that the device does not have. Returns -ENOTTY for other
 * queries.
 */
static int vgpu_info_absent(const struct drm_amdgpu_info *args)
{
	const struct drm_amdgpu_info_vce_clock_table vce = { };
	const struct drm_amdgpu_info_gds gds = { };

	switch (args->query) {
	case AMDGPU_INFO_GDS_CONFIG:
		return vgpu_info_reply(args, &gds, sizeof(gds));
	case AMDGPU_INFO_VCE_CLOCK_TABLE:
		return vgpu_info_reply(args, &vce, sizeof(vce));
	case AMDGPU_INFO_VBIOS:
		return vgpu_info_vbios(args);
	case AMDGPU_INFO_SENSOR:
		return -ENOENT;
	case AMDGPU_INFO_NUM_HANDLES:
		return args->query_hw_ip.type == AMDGPU_HW_IP_UVD ? -ENODATA :
								    -EINVAL;
	default:
		return -ENOTTY;
	}
}

static int vgpu_info_dev_query(struct vgpu_device *vdev, struct vgpu_file *vf,
			       const struct drm_amdgpu_info *args)
{
	struct drm_amdgpu_info_gpuvm_fault fault;
	struct drm_amdgpu_info_device dev = { };
	u32 number;
	u64 clock;

	switch (args->query) {
	case AMDGPU_INFO_ACCEL_WORKING:
		number = vgpu_mm_copy_ready(vdev);
		return vgpu_info_reply(args, &number, sizeof(number));
	case AMDGPU_INFO_VRAM_LOST_COUNTER:
		number = vgpu_vram_lost_counter(vdev);
		return vgpu_info_reply(args, &number, sizeof(number));
	case AMDGPU_INFO_HW_IP_INFO:
		return vgpu_info_hw_ip(vdev, args);
	case AMDGPU_INFO_HW_IP_COUNT:
		if (args->query_hw_ip.type != AMDGPU_HW_IP_DMA)
			return -EINVAL;
		number = VGPU_NUM_SDMA;
		return vgpu_info_reply(args, &number, sizeof(number));
	case AMDGPU_INFO_MAX_IBS:
		return vgpu_info_max_ibs(args);
	case AMDGPU_INFO_GPUVM_FAULT:
		vgpu_fault_last(vf, &fault);
		return vgpu_info_reply(args, &fault, sizeof(fault));
	case AMDGPU_INFO_TIMESTAMP:
		clock = vgpu_clock_read(vdev);
		return vgpu_info_reply(args, &clock, sizeof(clock));
	case AMDGPU_INFO_FW_VERSION:
		return vgpu_info_firmware(args);
	case AMDGPU_INFO_DEV_INFO:
		vgpu_info_dev(vdev, &dev);
		return vgpu_info_reply(args, &dev, sizeof(dev));
	case AMDGPU_INFO_READ_MMR_REG:
		return vgpu_info_registers(vdev, args);
	default:
		return -EINVAL;
	}
}

/**
 * vgpu_info_ioctl() - DRM_AMDGPU_INFO
 * @drm: DRM device
 * @data: struct drm_amdgpu_info; the reply has at most return_size bytes
 * @file: file of the caller; GPUVM_FAULT reports the last fault of the file's jobs
 *
 * Return:
 * * 0
 * * -EINVAL: wrong arguments, or an unknown or unsupported query
 * * -ENOENT: query of a sensor
 * * -ENODATA: query of UVD handles
 * * -EFAULT: bad user pointer, or forbidden register
 */
int vgpu_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vgpu_device *vdev = to_vgpu(drm);
	struct drm_amdgpu_info *args = data;
	int ret;

	if (!args->return_size || !args->return_pointer)
		return -EINVAL;
	ret = vgpu_info_mem_query(vdev, args);
	if (ret == -ENOTTY)
		ret = vgpu_info_absent(args);
	if (ret == -ENOTTY)
		ret = vgpu_info_dev_query(vdev, to_vgpu_file(file), args);
	return ret;
}
