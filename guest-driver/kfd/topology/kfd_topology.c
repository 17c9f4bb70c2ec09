// SPDX-License-Identifier: GPL-2.0
/*
 * Creates /sys/class/kfd/kfd/topology. Properties are as in amdkfd and its CRAT tables.
 *
 * DOC: the tree
 *
 *	generation_id			changes whenever the tree does
 *	system_properties
 *	nodes/0				the CPUs
 *	nodes/<n>			a GPU
 *		gpu_id name properties
 *		mem_banks/<i>/properties
 *		caches/<i>/properties
 *		io_links/<i>/properties
 *		p2p_links/<i>/properties
 */
#include <linux/cpumask.h>
#include <linux/cpufreq.h>
#include <linux/device.h>
#include <linux/kfd_sysfs.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <drm/drm_file.h>
#ifdef CONFIG_X86
#include <asm/tsc.h>
#endif

#include "device/vgpu_chip.h"
#include "hw/cp/vgpu_cp.h"
#include "hw/vgpu_hw.h"
#include "kfd/queues/kfd_queue.h"
#include "mm/vgpu_res_mgr.h"
#include "process/kfd_node.h"
#include "svm/svm.h"
#include "kfd_topology.h"
#include "kfd_topology_priv.h"

#define KFD_NUM_CU		VGPU_CHIP_NUM_CU
#define KFD_SIMD_PER_CU		4
#define KFD_NUM_SE		VGPU_CHIP_NUM_SE
#define KFD_CU_PER_SH		VGPU_CHIP_CU_PER_SH
#define KFD_SH_PER_SE		1
#define KFD_WAVES_PER_SIMD	8
#define KFD_GFX_TARGET		90010
#define KFD_MAX_ENGINE_MHZ	VGPU_CHIP_MAX_ENGINE_MHZ
#define KFD_L2_KIB		8192
#define KFD_L2_LINE		128
/*
 * Firmware versions of the MEC and of the SDMA engines. No version is 0, because the thunk ignores
 * a GPU whose firmware version is 0.
 */
#define KFD_MEC_FW_VERSION	68
#define KFD_SDMA_FW_VERSION	8

/*
 * Protects the variables below, and the topology's tree in sysfs. A thread that takes the mutex
 * holds no other lock of kfd/ and process/.
 */
static DEFINE_MUTEX(kfd_topology_mutex);
static struct kobject *kfd_topology;
static struct kobject *kfd_topology_nodes;
static struct kfd_node *kfd_topology_gpus[KFD_MAX_GPU_INSTANCE];
static unsigned int kfd_topology_n_gpus;
static unsigned int kfd_topology_generation;

/* Properties of a node. */

struct kfd_mem_bank {
	u32 heap_type;
	u64 bytes;
};

static void kfd_fill_mem_bank(struct kfd_props *props, const void *arg)
{
	const struct kfd_mem_bank *bank = arg;

	kfd_prop(props, "heap_type", bank->heap_type);
	kfd_prop(props, "size_in_bytes", bank->bytes);
	kfd_prop(props, "flags", 0);
	kfd_prop(props, "width", 0);		/* the model has no memory bus */
	kfd_prop(props, "mem_clk_max", 0);
}

/* Return the id of the GPU's first SIMD. Ids below 0x80000000 belong to CPU cores. */
static u32 kfd_simd_id_base(const struct kfd_node *node)
{
	return 0x80000000u + 0x1000 * node->topology_id;
}

/* Describe the L2 cache, which all compute units share. */
static void kfd_fill_l2(struct kfd_props *props, const void *arg)
{
	const struct kfd_node *node = arg;
	unsigned int i;

	kfd_prop(props, "processor_id_low", kfd_simd_id_base(node));
	kfd_prop(props, "level", 2);
	kfd_prop(props, "size", KFD_L2_KIB);
	kfd_prop(props, "cache_line_size", KFD_L2_LINE);
	kfd_prop(props, "cache_lines_per_tag", 1);
	kfd_prop(props, "association", 0);
	kfd_prop(props, "latency", 0);
	kfd_prop(props, "type", HSA_CACHE_TYPE_DATA | HSA_CACHE_TYPE_HSACU);
	seq_buf_puts(&props->seq, "\nsibling_map ");
	for (i = 0; i < KFD_NUM_CU; i++)
		seq_buf_puts(&props->seq, i ? ",1" : "1");
}

static unsigned int kfd_cpu_mhz(void)
{
	unsigned int khz = cpufreq_quick_get_max(0);

#ifdef CONFIG_X86
	if (!khz)
		khz = cpu_khz;
#endif
	return khz / 1000;
}

/* Number of subfolders in each of the sysfs folders mem_banks etc. of a topology node. */
struct kfd_node_counts {
	unsigned int mem_banks;
	unsigned int caches;
	unsigned int io_links;
	unsigned int p2p_links;
};

static void kfd_fill_counts(struct kfd_props *props,
			    const struct kfd_node_counts *n)
{
	kfd_prop(props, "mem_banks_count", n->mem_banks);
	kfd_prop(props, "caches_count", n->caches);
	kfd_prop(props, "io_links_count", n->io_links);
	kfd_prop(props, "p2p_links_count", n->p2p_links);
}

static u32 kfd_capability(bool svm)
{
	u32 cap = HSA_CAP_DOORBELL_TYPE_2_0 <<
		  HSA_CAP_DOORBELL_TYPE_TOTALBITS_SHIFT;

	if (svm)
		cap |= HSA_CAP_SVMAPI_SUPPORTED;
	return cap;
}

/**
 * kfd_topology_describe() - copy a GPU's properties to a debugger's device snapshot
 * @node: GPU of a process
 * @entry: entry of the snapshot. The function sets the fields from fw_version to debug_prop
 *
 * Context: any.
 */
void kfd_topology_describe(const struct kfd_node *node,
			   struct kfd_dbg_device_info_entry *entry)
{
	entry->fw_version = KFD_MEC_FW_VERSION;
	entry->gfx_target_version = KFD_GFX_TARGET;
	entry->simd_count = KFD_NUM_CU * KFD_SIMD_PER_CU;
	entry->max_waves_per_simd = KFD_WAVES_PER_SIMD;
	entry->array_count = KFD_NUM_SE;
	entry->simd_arrays_per_engine = KFD_SH_PER_SE;
	entry->num_xcc = 1;
	entry->capability = kfd_capability(svm_supported(node));
	entry->debug_prop = 0;
}

static void kfd_fill_gpu(struct kfd_props *props, const struct kfd_node *node,
			 const struct kfd_node_counts *n, bool svm)
{
	struct pci_dev *pdev = node->vdev->pdev;

	kfd_prop(props, "cpu_cores_count", 0);
	kfd_prop(props, "simd_count", KFD_NUM_CU * KFD_SIMD_PER_CU);
	kfd_fill_counts(props, n);
	kfd_prop(props, "cpu_core_id_base", 0);
	kfd_prop(props, "simd_id_base", kfd_simd_id_base(node));
	kfd_prop(props, "max_waves_per_simd", KFD_WAVES_PER_SIMD);
	kfd_prop(props, "lds_size_in_kb", 64);
	kfd_prop(props, "gds_size_in_kb", 0);
	kfd_prop(props, "num_gws", VGPU_CP_NUM_GWS);
	kfd_prop(props, "wave_front_size", VGPU_CHIP_WAVE_SIZE);
	kfd_prop(props, "array_count", KFD_NUM_SE);
	kfd_prop(props, "simd_arrays_per_engine", KFD_SH_PER_SE);
	kfd_prop(props, "cu_per_simd_array", KFD_CU_PER_SH);
	kfd_prop(props, "simd_per_cu", KFD_SIMD_PER_CU);
	kfd_prop(props, "max_slots_scratch_cu", 32);
	kfd_prop(props, "gfx_target_version", KFD_GFX_TARGET);
	kfd_prop(props, "vendor_id", pdev->vendor);
	kfd_prop(props, "device_id", pdev->device);
	kfd_prop(props, "location_id", pci_dev_id(pdev));
	kfd_prop(props, "domain", pci_domain_nr(pdev->bus));
	kfd_prop(props, "drm_render_minor", node->vdev->drm.render->index);
	kfd_prop(props, "hive_id", node->vdev->hw->xgmi.hive);
	kfd_prop(props, "num_sdma_engines", KFD_NUM_SDMA_PCIE);
	kfd_prop(props, "num_sdma_xgmi_engines", KFD_NUM_SDMA_XGMI);
	kfd_prop(props, "num_sdma_queues_per_engine", SDMA_NUM_RLC);
	kfd_prop(props, "num_cp_queues", VGPU_CP_NUM_USER_QUEUES);
	kfd_prop(props, "cwsr_size", kfd_cp_save_bytes());
	kfd_prop(props, "ctl_stack_size", kfd_cp_stack_bytes());
	kfd_prop(props, "max_engine_clk_fcompute", KFD_MAX_ENGINE_MHZ);
	kfd_prop(props, "local_mem_size", 0);	/* mem_banks has the size of VRAM */
	kfd_prop(props, "fw_version", KFD_MEC_FW_VERSION);
	kfd_prop(props, "capability", kfd_capability(svm));
	kfd_prop(props, "debug_prop", 0);
	kfd_prop(props, "sdma_fw_version", KFD_SDMA_FW_VERSION);
	kfd_prop(props, "unique_id", 0);
	kfd_prop(props, "num_xcc", 1);
	kfd_prop(props, "max_engine_clk_ccompute", kfd_cpu_mhz());
}

static void kfd_fill_cpu(struct kfd_props *props,
			 const struct kfd_node_counts *n)
{
	static const char * const gpu_only[] = {
		"cpu_core_id_base", "simd_id_base", "max_waves_per_simd",
		"lds_size_in_kb", "gds_size_in_kb", "num_gws",
		"wave_front_size", "array_count", "simd_arrays_per_engine",
		"cu_per_simd_array", "simd_per_cu", "max_slots_scratch_cu",
		"gfx_target_version", "vendor_id", "device_id", "location_id",
		"domain", "drm_render_minor", "hive_id", "num_sdma_engines",
		"num_sdma_xgmi_engines", "num_sdma_queues_per_engine",
		"num_cp_queues", "cwsr_size", "ctl_stack_size",
	};
	unsigned int i;

	kfd_prop(props, "cpu_cores_count", num_online_cpus());
	kfd_prop(props, "simd_count", 0);
	kfd_fill_counts(props, n);
	for (i = 0; i < ARRAY_SIZE(gpu_only); i++)
		kfd_prop(props, gpu_only[i], 0);
	kfd_prop(props, "max_engine_clk_ccompute", kfd_cpu_mhz());
}

/* The functions below create the folders of nodes. */

/* Folder of a node in /sys/class/kfd/kfd/topology/nodes, and its subfolders. */
struct kfd_node_dirs {
	struct kfd_topology_dir *node;
	struct kfd_topology_dir *mem_banks;
	struct kfd_topology_dir *caches;
	struct kfd_topology_dir *io_links;
	struct kfd_topology_dir *p2p_links;
};

static int kfd_topology_mkdirs(struct kfd_node_dirs *dirs, unsigned int id)
{
	const struct {
		const char *name;
		struct kfd_topology_dir **dir;
	} inner[] = {
		{ "mem_banks", &dirs->mem_banks },
		{ "caches", &dirs->caches },
		{ "io_links", &dirs->io_links },
		{ "p2p_links", &dirs->p2p_links },
	};
	unsigned int i;

	dirs->node = kfd_topology_mkdir_n(kfd_topology_nodes, id);
	if (IS_ERR(dirs->node))
		return PTR_ERR(dirs->node);
	for (i = 0; i < ARRAY_SIZE(inner); i++) {
		*inner[i].dir = kfd_topology_mkdir(&dirs->node->kobj,
						   inner[i].name);
		if (IS_ERR(*inner[i].dir))
			return PTR_ERR(*inner[i].dir);
	}
	return 0;
}

/* Write the files "gpu_id" and "name" of a node. */
static int kfd_topology_write_name(const struct kfd_node_dirs *dirs,
				   u32 gpu_id, const char *name)
{
	char id[12];

	snprintf(id, sizeof(id), "%u", gpu_id);
	return kfd_topology_write(dirs->node, "gpu_id", id) ?:
	       kfd_topology_write(dirs->node, "name", name);
}

/*
 * Write the file "properties" of a GPU, with and without SVM: whether the GPU supports SVM is not
 * known before the device-private pages of its VRAM are made, which takes long.
 */
static int kfd_topology_write_gpu(struct kfd_topology_dir *dir,
				  const struct kfd_node *node,
				  const struct kfd_node_counts *n)
{
	struct kfd_props *plain = kfd_props_new();
	struct kfd_props *svm = kfd_props_new();
	int ret = -ENOMEM;

	if (plain && svm) {
		kfd_fill_gpu(plain, node, n, false);
		kfd_fill_gpu(svm, node, n, true);
		ret = kfd_topology_write_svm(dir, "properties",
					     seq_buf_str(&plain->seq),
					     seq_buf_str(&svm->seq), node);
	}
	kfree(plain);
	kfree(svm);
	return ret;
}

static int kfd_topology_make_cpu(void)
{
	const struct kfd_mem_bank bank = {
		.heap_type = HSA_MEM_HEAP_TYPE_SYSTEM,
		.bytes = (u64)totalram_pages() << PAGE_SHIFT,
	};
	struct kfd_node_counts n = {
		.mem_banks = 1,
	};
	struct kfd_node_dirs dirs;
	struct kfd_props *props;
	int ret;

	ret = kfd_topology_mkdirs(&dirs, 0) ?:
	      kfd_topology_item(&dirs.mem_banks->kobj, 0, kfd_fill_mem_bank,
				&bank) ?:
	      kfd_topology_io_links(&dirs.io_links->kobj, NULL,
				    kfd_topology_gpus, kfd_topology_n_gpus,
				    &n.io_links) ?:
	      kfd_topology_write_name(&dirs, 0, "");
	if (ret)
		return ret;
	props = kfd_props_new();
	if (!props)
		return -ENOMEM;
	kfd_fill_cpu(props, &n);
	return kfd_props_write(dirs.node, props);
}

static int kfd_topology_make_gpu(struct kfd_node *node)
{
	const struct kfd_mem_bank bank = {
		/*
		 * All VRAM is of the public heap type, because the BAR gives the CPU access to all
		 * of it.
		 */
		.heap_type = HSA_MEM_HEAP_TYPE_FB_PUBLIC,
		.bytes = vgpu_vram_mgr_size(node->vdev),
	};
	struct kfd_node_counts n = {
		.mem_banks = 1,
		.caches = 1,
	};
	struct kfd_node_dirs dirs;
	int ret;

	ret = kfd_topology_mkdirs(&dirs, node->topology_id) ?:
	      kfd_topology_item(&dirs.mem_banks->kobj, 0, kfd_fill_mem_bank,
				&bank) ?:
	      kfd_topology_item(&dirs.caches->kobj, 0, kfd_fill_l2, node) ?:
	      kfd_topology_io_links(&dirs.io_links->kobj, node,
				    kfd_topology_gpus, kfd_topology_n_gpus,
				    &n.io_links) ?:
	      kfd_topology_p2p_links(&dirs.p2p_links->kobj, node,
				     kfd_topology_gpus, kfd_topology_n_gpus,
				     &n.p2p_links) ?:
	      kfd_topology_write_name(&dirs, node->gpu_id, "aldebaran");
	return ret ?: kfd_topology_write_gpu(dirs.node, node, &n);
}

/*
 * Create the tree and its files' texts anew. A text never changes, so readers need no lock. After
 * an error the tree is empty.
 */
static int kfd_topology_make(void)
{
	unsigned int i;
	int ret;

	lockdep_assert_held(&kfd_topology_mutex);

	kfd_topology_clear();
	kfd_topology_generation++;
	for (i = 0; i < kfd_topology_n_gpus; i++)
		WRITE_ONCE(kfd_topology_gpus[i]->topology_id, i + 1);
	ret = kfd_topology_make_cpu();
	for (i = 0; i < kfd_topology_n_gpus && !ret; i++)
		ret = kfd_topology_make_gpu(kfd_topology_gpus[i]);
	if (ret)
		kfd_topology_clear();
	return ret;
}

static void kfd_topology_forget(struct kfd_node *node)
{
	unsigned int i;

	for (i = 0; i < kfd_topology_n_gpus; i++)
		if (kfd_topology_gpus[i] == node)
			break;
	if (i == kfd_topology_n_gpus)
		return;
	for (kfd_topology_n_gpus--; i < kfd_topology_n_gpus; i++)
		kfd_topology_gpus[i] = kfd_topology_gpus[i + 1];
	if (kfd_topology_make())
		pr_err("kfd: no memory for the topology, it is empty\n");
}

/**
 * kfd_topology_add() - add a GPU to the topology, and set its topology_id
 * @node: GPU
 *
 * Rebuilds the tree.
 *
 * Context: takes kfd_topology_mutex. Sleeps.
 *
 * Return: 0; -ENOSPC if there are KFD_MAX_GPU_INSTANCE GPUs already; -ENOMEM; or an error of
 * sysfs.
 */
int kfd_topology_add(struct kfd_node *node)
{
	int ret;

	mutex_lock(&kfd_topology_mutex);
	if (kfd_topology_n_gpus == KFD_MAX_GPU_INSTANCE) {
		ret = -ENOSPC;
	} else {
		kfd_topology_gpus[kfd_topology_n_gpus++] = node;
		ret = kfd_topology_make();
		if (ret)
			kfd_topology_forget(node);
	}
	mutex_unlock(&kfd_topology_mutex);
	return ret;
}

/**
 * kfd_topology_remove() - remove a GPU from the topology
 * @node: GPU; nothing is done if it is not in the topology
 *
 * Rebuilds the tree. After an error, which is logged, the tree is empty.
 *
 * Context: takes kfd_topology_mutex. Waits for readers of the tree's files.
 */
void kfd_topology_remove(struct kfd_node *node)
{
	mutex_lock(&kfd_topology_mutex);
	kfd_topology_forget(node);
	mutex_unlock(&kfd_topology_mutex);
}

/* The files that are directly in /sys/class/kfd/kfd/topology. */

static ssize_t generation_id_show(struct kobject *kobj,
				  struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(kfd_topology_generation));
}

static ssize_t system_properties_show(struct kobject *kobj,
				      struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf,
			  "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
}

static struct kobj_attribute generation_id_attr = __ATTR_RO(generation_id);
static struct kobj_attribute system_properties_attr =
	__ATTR_RO(system_properties);

static const struct attribute * const kfd_topology_attrs[] = {
	&generation_id_attr.attr,
	&system_properties_attr.attr,
	NULL,
};

/**
 * kfd_topology_init() - create the topology, without GPUs
 * @parent: /sys/class/kfd/kfd
 *
 * Return: 0, -ENOMEM, or an error of sysfs.
 */
int kfd_topology_init(struct kobject *parent)
{
	int ret = -ENOMEM;

	kfd_topology = kobject_create_and_add("topology", parent);
	if (!kfd_topology)
		return -ENOMEM;
	kfd_topology_nodes = kobject_create_and_add("nodes", kfd_topology);
	if (!kfd_topology_nodes)
		goto err_topology;
	mutex_lock(&kfd_topology_mutex);
	ret = kfd_topology_make();
	mutex_unlock(&kfd_topology_mutex);
	if (ret)
		goto err_nodes;
	ret = sysfs_create_files(kfd_topology, kfd_topology_attrs);
	if (ret)
		goto err_clear;
	return 0;

err_clear:
	kfd_topology_clear();
err_nodes:
	kobject_put(kfd_topology_nodes);
err_topology:
	kobject_put(kfd_topology);
	return ret;
}

/**
 * kfd_topology_exit() - remove the topology
 *
 * Context: module exit, after the last kfd_topology_remove().
 */
void kfd_topology_exit(void)
{
	sysfs_remove_files(kfd_topology, kfd_topology_attrs);
	kfd_topology_clear();
	kobject_put(kfd_topology_nodes);
	kobject_put(kfd_topology);
}
