// SPDX-License-Identifier: GPL-2.0
/*
 * Creates the files of debugfs dri/N: counters of the driver and of the device as "name value"
 * lines, the state of the memory managers, and a link to KFD's folder.
 */
#include <linux/debugfs.h>
#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "vgpu/device_info.h"
#include "hw/sdma/vgpu_sdma.h"
#include "hw/vgpu_mmio.h"
#include "mm/vgpu_bo.h"
#include "mm/vgpu_mm.h"
#include "mm/vgpu_res_mgr.h"
#include "process/kfd_mem.h"
#include "process/kfd_pasid.h"
#include "process/kfd_process.h"
#include "reset/vgpu_reset.h"
#include "vm/vgpu_vm.h"
#include "vgpu_file.h"

static const char * const vgpu_stat_names[VGPU_NUM_STATS] = {
	[VGPU_STAT_FAULTS_RETRY] = "faults_retry",
	[VGPU_STAT_FAULTS_NORETRY] = "faults_noretry",
	[VGPU_STAT_FAULTS_UNREPAIRED] = "faults_unrepaired",
	[VGPU_STAT_CAM_ACKS] = "cam_acks",
	[VGPU_STAT_CAM_STALLS] = "cam_stalls",
	[VGPU_STAT_FAULT_BATCHES] = "fault_batches",
	[VGPU_STAT_FAULTS_COVERED] = "faults_covered",
	[VGPU_STAT_INVALIDATIONS] = "invalidations",
	[VGPU_STAT_BYTES_COPIED] = "bytes_copied",
	[VGPU_STAT_BYTES_FILLED] = "bytes_filled",
	[VGPU_STAT_PTES_WRITTEN] = "ptes_written",
	[VGPU_STAT_PT_BYTES] = "pt_bytes",
	[VGPU_STAT_IH_ENTRIES] = "ih_entries",
	[VGPU_STAT_IH_OVERFLOWS] = "ih_overflows",
	[VGPU_STAT_EVENTS_DEFERRED] = "events_deferred",
	[VGPU_STAT_PAGES_TO_VRAM] = "pages_to_vram",
	[VGPU_STAT_PAGES_TO_SYSTEM] = "pages_to_system",
	[VGPU_STAT_SVM_PEER_PAGES] = "svm_peer_pages",
	[VGPU_STAT_SVM_EVICTIONS] = "svm_evictions",
	[VGPU_STAT_EVICTIONS] = "evictions",
	[VGPU_STAT_PROCESS_EVICTIONS] = "process_evictions",
	[VGPU_STAT_SWAPOUTS] = "swapouts",
	[VGPU_STAT_SHRUNK_PAGES] = "shrunk_pages",
	[VGPU_STAT_SWAPPABLE] = "swappable_pages",
	[VGPU_STAT_ENGINE_RESETS] = "engine_resets",
	[VGPU_STAT_DEVICE_RESETS] = "device_resets",
	[VGPU_STAT_GART_RECOVERIES] = "gart_recoveries",
	[VGPU_STAT_GART_WRONG] = "gart_entries_wrong",
	[VGPU_STAT_RECOVERY_FAILURES] = "recovery_failures",
	[VGPU_STAT_JOBS_RERUN] = "jobs_rerun",
	[VGPU_STAT_JOBS_BY_CPU] = "jobs_by_cpu",
	[VGPU_STAT_JOBS_FAILED] = "jobs_failed",
	[VGPU_STAT_QUEUES_STOPPED] = "queues_stopped",
	[VGPU_STAT_POISONED] = "processes_poisoned",
	[VGPU_STAT_VRAM_LOST] = "vram_lost",
	[VGPU_STAT_BOS_LOST] = "bos_lost",
	[VGPU_STAT_RECOVERY_US] = "recovery_us",
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
			   vgpu_stat_read(vdev, i));
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

/* Print how many resources other than memory are in use. */
static int vgpu_in_use_show(struct seq_file *m, void *data)
{
	struct vgpu_device *vdev = vgpu_of_seq(m);
	struct ttm_resource_manager *doorbells =
		ttm_manager_type(vgpu_mm_bdev(vdev), VGPU_PL_DOORBELL);

	seq_printf(m, "vmids %u\n", vgpu_vmids_in_use(vdev));
	seq_printf(m, "pasids %u\n", kfd_pasids_in_use());
	seq_printf(m, "doorbell_bytes %llu\n",
		   ttm_resource_manager_usage(doorbells));
	seq_printf(m, "kfd_processes %u\n", kfd_processes_in_use());
	return 0;
}

static int vgpu_vram_mm_show(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);
	struct ttm_device *bdev = vgpu_mm_bdev(vgpu_of_seq(m));

	ttm_resource_manager_debug(ttm_manager_type(bdev, TTM_PL_VRAM), &p);
	return 0;
}

static int vgpu_gtt_mm_show(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);
	struct ttm_device *bdev = vgpu_mm_bdev(vgpu_of_seq(m));

	ttm_resource_manager_debug(ttm_manager_type(bdev, TTM_PL_TT), &p);
	return 0;
}

static int vgpu_vram_lost_bos_show(struct seq_file *m, void *data)
{
	struct drm_printer p = drm_seq_file_printer(m);

	vgpu_vram_mgr_show_lost(vgpu_of_seq(m), &p);
	return 0;
}

static int vgpu_ttm_pool_show(struct seq_file *m, void *data)
{
	return ttm_pool_debugfs(&vgpu_mm_bdev(vgpu_of_seq(m))->pool, m);
}

static void vgpu_print_client(struct drm_file *file, struct drm_printer *p)
{
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(rcu_dereference(file->pid), PIDTYPE_TGID);
	drm_printf(p, "client %llu, process %d %s\n", file->client_id,
		   task ? task->pid : 0, task ? task->comm : "");
	rcu_read_unlock();
}

/* Print the address spaces of processes, then of the render node's files. */
static int vgpu_vm_info_show(struct seq_file *m, void *data)
{
	struct vgpu_device *vdev = vgpu_of_seq(m);
	struct drm_printer p = drm_seq_file_printer(m);
	struct drm_file *file;

	kfd_print_vms(vdev, &p);
	/*
	 * vgpu_file_close() frees the address space of a file. Before this, DRM takes
	 * filelist_mutex to remove the file from the list. So no address space is freed here.
	 */
	mutex_lock(&vdev->drm.filelist_mutex);
	list_for_each_entry(file, &vdev->drm.filelist, lhead) {
		/* Pairs with the release in file_create_vm(). */
		struct vgpu_vm *vm = smp_load_acquire(&to_vgpu_file(file)->vm);

		if (!vm)
			continue;
		vgpu_print_client(file, &p);
		vgpu_vm_print(vm, &p);
	}
	mutex_unlock(&vdev->drm.filelist_mutex);
	return 0;
}

static int vgpu_fence_info_show(struct seq_file *m, void *data)
{
	struct vgpu_device *vdev = vgpu_of_seq(m);
	struct drm_printer p = drm_seq_file_printer(m);
	int idx;

	if (!drm_dev_enter(&vdev->drm, &idx))
		return -ENODEV;
	vgpu_sdma_print_fences(vdev, &p);
	drm_dev_exit(idx);
	return 0;
}

static int vgpu_rings_show(struct seq_file *m, void *data)
{
	struct vgpu_device *vdev = vgpu_of_seq(m);
	struct drm_printer p = drm_seq_file_printer(m);
	int idx;

	if (!drm_dev_enter(&vdev->drm, &idx))
		return -ENODEV;
	vgpu_sdma_print_rings(vdev, &p);
	drm_dev_exit(idx);
	return 0;
}

/* A read resets the device, like a read of amdgpu's file with the same name. */
static int vgpu_gpu_recover_show(struct seq_file *m, void *data)
{
	seq_printf(m, "%d\n", vgpu_reset_device(vgpu_of_seq(m)));
	return 0;
}

/*
 * A read evicts each BO once, like a read of amdgpu's file with the same name. A BO that moves back
 * before the read ends is not evicted again.
 */
static int vgpu_evict_show(struct seq_file *m, u32 mem_type)
{
	int ret = vgpu_mm_evict_once(vgpu_of_seq(m), mem_type);

	if (ret == -ERESTARTSYS)
		return ret;
	seq_printf(m, "%d\n", ret);
	return 0;
}

static int vgpu_evict_vram_show(struct seq_file *m, void *data)
{
	return vgpu_evict_show(m, TTM_PL_VRAM);
}

static int vgpu_evict_gtt_show(struct seq_file *m, void *data)
{
	return vgpu_evict_show(m, TTM_PL_TT);
}

static const struct drm_info_list vgpu_debugfs_files[] = {
	{ "vgpu_counters", vgpu_counters_show },
	{ "vgpu_device_counters", vgpu_device_counters_show },
	{ "vgpu_in_use", vgpu_in_use_show },
	{ "vram_mm", vgpu_vram_mm_show },
	{ "gtt_mm", vgpu_gtt_mm_show },
	{ "vram_lost_bos", vgpu_vram_lost_bos_show },
	{ "ttm_page_pool", vgpu_ttm_pool_show },
	{ "amdgpu_vm_info", vgpu_vm_info_show },
	{ "amdgpu_fence_info", vgpu_fence_info_show },
	{ "vgpu_rings", vgpu_rings_show },
	{ "amdgpu_gpu_recover", vgpu_gpu_recover_show },
	{ "amdgpu_evict_vram", vgpu_evict_vram_show },
	{ "amdgpu_evict_gtt", vgpu_evict_gtt_show },
};

/**
 * vgpu_debugfs_init() - create the device's files in debugfs
 * @minor: primary minor; the folder of the render minor is a link to the folder of @minor
 *
 * The link "kfd" leads to KFD's folder in debugfs (see kfd_debugfs.c). That folder covers all GPUs.
 */
void vgpu_debugfs_init(struct drm_minor *minor)
{
	drm_debugfs_create_files(vgpu_debugfs_files,
				 ARRAY_SIZE(vgpu_debugfs_files),
				 minor->debugfs_root, minor);
	debugfs_create_symlink("kfd", minor->debugfs_root, "../../kfd");
}
