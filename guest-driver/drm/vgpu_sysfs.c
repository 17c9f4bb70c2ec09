// SPDX-License-Identifier: GPL-2.0
/*
 * mem_info_{vram,vis_vram,gtt}_{total,used} in the PCI device's folder: bytes,
 * with the names and format of amdgpu's files.
 */
#include <linux/device.h>
#include <linux/sysfs.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>

#include "device/vgpu_device.h"
#include "mm/vgpu_mm.h"
#include "vgpu_drm.h"

static ssize_t vgpu_mem_info_total(struct ttm_resource_manager *man, char *buf)
{
	return sysfs_emit(buf, "%llu\n", man->size);
}

static ssize_t vgpu_mem_info_used(struct ttm_resource_manager *man, char *buf)
{
	return sysfs_emit(buf, "%llu\n", ttm_resource_manager_usage(man));
}

#define VGPU_MEM_INFO(heap, type, what)					\
static ssize_t mem_info_##heap##_##what##_show(struct device *dev,	\
					       struct device_attribute *attr, \
					       char *buf)		\
{									\
	struct vgpu_device *vdev = dev_get_drvdata(dev);		\
									\
	return vgpu_mem_info_##what(ttm_manager_type(vgpu_mm_bdev(vdev), type), \
				    buf);				\
}									\
static DEVICE_ATTR_RO(mem_info_##heap##_##what)

VGPU_MEM_INFO(vram, TTM_PL_VRAM, total);
VGPU_MEM_INFO(vram, TTM_PL_VRAM, used);
/* BAR 0 covers all VRAM. */
VGPU_MEM_INFO(vis_vram, TTM_PL_VRAM, total);
VGPU_MEM_INFO(vis_vram, TTM_PL_VRAM, used);
VGPU_MEM_INFO(gtt, TTM_PL_TT, total);
VGPU_MEM_INFO(gtt, TTM_PL_TT, used);

static struct attribute *vgpu_mem_info_attrs[] = {
	&dev_attr_mem_info_vram_total.attr,
	&dev_attr_mem_info_vram_used.attr,
	&dev_attr_mem_info_vis_vram_total.attr,
	&dev_attr_mem_info_vis_vram_used.attr,
	&dev_attr_mem_info_gtt_total.attr,
	&dev_attr_mem_info_gtt_used.attr,
	NULL,
};

static const struct attribute_group vgpu_mem_info_group = {
	.attrs = vgpu_mem_info_attrs,
};

const struct attribute_group *vgpu_sysfs_groups[] = {
	&vgpu_mem_info_group,
	NULL,
};
