// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs dri/N: what the driver and the device counted, as "name value"
 * lines, and the state of the memory managers.
 */
#include <drm/drm_debugfs.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "vgpu/model.h"
#include "../vgpu_device.h"
#include "../vgpu_drv.h"

static const char * const vgpu_stat_names[VGPU_NUM_STATS] = {
	[VGPU_STAT_FAULTS_RETRY] = "faults_retry",
	[VGPU_STAT_FAULTS_NORETRY] = "faults_noretry",
	[VGPU_STAT_FAULTS_UNREPAIRED] = "faults_unrepaired",
	[VGPU_STAT_CAM_ACKS] = "cam_acks",
	[VGPU_STAT_INVALIDATIONS] = "invalidations",
	[VGPU_STAT_BYTES_COPIED] = "bytes_copied",
	[VGPU_STAT_BYTES_FILLED] = "bytes_filled",
	[VGPU_STAT_PTES_WRITTEN] = "ptes_written",
	[VGPU_STAT_IH_ENTRIES] = "ih_entries",
	[VGPU_STAT_IH_OVERFLOWS] = "ih_overflows",
	[VGPU_STAT_PAGES_TO_VRAM] = "pages_to_vram",
	[VGPU_STAT_PAGES_TO_SYSTEM] = "pages_to_system",
	[VGPU_STAT_EVICTIONS] = "evictions",
};

static const char * const vgpu_counter_names[VGPU_NUM_COUNTERS] = {
	[VGPU_CNT_FAULTS_RETRY] = "faults_retry",
	[VGPU_CNT_FAULTS_NORETRY] = "faults_noretry",
	[VGPU_CNT_FAULTS_MERGED] = "faults_merged",
	[VGPU_CNT_REPLAYS] = "replays",
	[VGPU_CNT_INVALIDATIONS] = "invalidations",
	[VGPU_CNT_TLB_HITS] = "tlb_hits",
	[VGPU_CNT_TLB_MISSES] = "tlb_misses",
	[VGPU_CNT_BYTES_COPIED] = "bytes_copied",
	[VGPU_CNT_BYTES_FILLED] = "bytes_filled",
	[VGPU_CNT_PACKETS] = "packets",
	[VGPU_CNT_PTES_WRITTEN] = "ptes_written",
	[VGPU_CNT_IH_ENTRIES] = "ih_entries",
	[VGPU_CNT_IH_DROPPED] = "ih_dropped",
	[VGPU_CNT_MSI] = "msi",
	[VGPU_CNT_DOORBELLS] = "doorbells",
	[VGPU_CNT_QUEUE_ERRORS] = "queue_errors",
	[VGPU_CNT_INJECTIONS] = "injections",
};

static struct vgpu_device *vgpu_of_seq(struct seq_file *m)
{
	struct drm_info_node *node = m->private;

	return to_vgpu(node->minor->dev);
}

static int vgpu_counters_show(struct seq_file *m, void *data)
{
	struct vgpu_device *vdev = vgpu_of_seq(m);
	unsigned int i;

	for (i = 0; i < VGPU_NUM_STATS; i++)
		seq_printf(m, "%s %lld\n", vgpu_stat_names[i],
			   atomic64_read(&vdev->hw.stats[i]));
	return 0;
}

static int vgpu_device_counters_show(struct seq_file *m, void *data)
{
	struct vgpu_device *vdev = vgpu_of_seq(m);
	unsigned int i;

	for (i = 0; i < VGPU_NUM_COUNTERS; i++)
		seq_printf(m, "%s %llu\n", vgpu_counter_names[i],
			   vgpu_counter_read(vdev, i));
	return 0;
}

static int vgpu_vram_mm_show(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);

	ttm_resource_manager_debug(&vgpu_of_seq(m)->mman.vram.manager, &p);
	return 0;
}

static int vgpu_gtt_mm_show(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);

	ttm_resource_manager_debug(&vgpu_of_seq(m)->mman.gtt.manager, &p);
	return 0;
}

static const struct drm_info_list vgpu_debugfs_files[] = {
	{ "vgpu_counters", vgpu_counters_show },
	{ "vgpu_device_counters", vgpu_device_counters_show },
	{ "vram_mm", vgpu_vram_mm_show },
	{ "gtt_mm", vgpu_gtt_mm_show },
};

/**
 * vgpu_debugfs_init() - the device's files in debugfs
 * @minor: primary or render minor
 */
void vgpu_debugfs_init(struct drm_minor *minor)
{
	drm_debugfs_create_files(vgpu_debugfs_files,
				 ARRAY_SIZE(vgpu_debugfs_files),
				 minor->debugfs_root, minor);
}
