// SPDX-License-Identifier: GPL-2.0
/*
 * Creates mem_info_{vram,vis_vram,gtt}_{total,used} in the PCI device's folder. Each file
 * contains a number of bytes; names and format are those of amdgpu's files.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "device/vgpu_device.h"
#include "mm/vgpu_res_mgr.h"
#include "vgpu_drm.h"

#define VGPU_MEM_INFO(heap, what, bytes)				\
static ssize_t mem_info_##heap##_##what##_show(struct device *dev,	\
					       struct device_attribute *attr, \
					       char *buf)		\
{									\
	return sysfs_emit(buf, "%llu\n", bytes(dev_get_drvdata(dev)));	\
}									\
static DEVICE_ATTR_RO(mem_info_##heap##_##what)

VGPU_MEM_INFO(vram, total, vgpu_vram_mgr_size);
VGPU_MEM_INFO(vram, used, vgpu_vram_mgr_usage);
/* BAR 0 covers all VRAM, so all VRAM is CPU-visible. */
VGPU_MEM_INFO(vis_vram, total, vgpu_vram_mgr_size);
VGPU_MEM_INFO(vis_vram, used, vgpu_vram_mgr_usage);
VGPU_MEM_INFO(gtt, total, vgpu_gtt_mgr_size);
VGPU_MEM_INFO(gtt, used, vgpu_gtt_mgr_usage);

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
