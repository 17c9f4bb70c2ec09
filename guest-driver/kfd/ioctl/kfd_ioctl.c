// SPDX-License-Identifier: GPL-2.0
/*
 * Implements the ioctls for KFD's version, clocks, apertures, address spaces, settings of a
 * process, tile configuration, SVM and SMI events, with the arguments and errors of amdkfd.
 */
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "vgpu/gmc.h"
#include "hw/vgpu_io.h"
#include "hw/vgpu_mmio.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "process/kfd_uapi.h"
#include "svm/svm.h"
#include "kfd_ioctl.h"

/* The newest minor version of the uAPI that the driver implements. */
#define KFD_MINOR_VERSION	17

static_assert(KFD_MINOR_VERSION <= KFD_IOCTL_MINOR_VERSION);

int kfd_ioctl_get_version(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_get_version_args *args = data;

	args->major_version = KFD_IOCTL_MAJOR_VERSION;
	args->minor_version = KFD_MINOR_VERSION;
	return 0;
}

static bool kfd_cache_policy_ok(u32 policy)
{
	return policy == KFD_IOC_CACHE_POLICY_COHERENT ||
	       policy == KFD_IOC_CACHE_POLICY_NONCOHERENT;
}

/*
 * Return true if the alternate aperture of SET_MEMORY_POLICY is empty, or if it consists of whole
 * 64 KiB granules and ends below 2^47.
 */
static bool kfd_alternate_aperture_ok(u64 base, u64 size)
{
	const u64 fixed = 0xffff80000000ffffull;
	u64 limit = base + size - 1;

	return !size || (limit > base && !(base & fixed) &&
			 (limit & fixed) == 0xffff);
}

/*
 * Only check the arguments: all memory of this GPU is coherent, so every cache policy is satisfied.
 */
int kfd_ioctl_set_memory_policy(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_set_memory_policy_args *args = data;
	struct kfd_process_device *pdd;
	int ret = 0;

	if (!kfd_cache_policy_ok(args->default_policy) ||
	    !kfd_cache_policy_ok(args->alternate_policy))
		return -EINVAL;
	pdd = kfd_process_device_by_gpu_id(p, args->gpu_id);
	if (!pdd)
		return -EINVAL;
	mutex_lock(&p->mutex);
	if (!pdd->vm)
		ret = -ESRCH;
	else if (!kfd_alternate_aperture_ok(args->alternate_aperture_base,
					    args->alternate_aperture_size))
		ret = -EINVAL;
	mutex_unlock(&p->mutex);
	return ret;
}

int kfd_ioctl_get_clock_counters(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_get_clock_counters_args *args = data;
	struct kfd_process_device *pdd;

	/* As in amdkfd, return 0 as the clock of an unknown GPU instead of an error. */
	pdd = kfd_process_device_by_gpu_id(p, args->gpu_id);
	args->gpu_clock_counter = pdd ? vgpu_clock_read(pdd->node->vdev) : 0;
	args->cpu_clock_counter = ktime_get_raw_ns();
	args->system_clock_counter = ktime_get_boottime_ns();
	args->system_clock_freq = NSEC_PER_SEC;
	return 0;
}

static struct kfd_process_device_apertures
kfd_apertures(const struct kfd_process_device *pdd)
{
	return (struct kfd_process_device_apertures) {
		.lds_base = KFD_LDS_BASE,
		.lds_limit = KFD_LDS_BASE + KFD_PRIVATE_LIMIT,
		.scratch_base = KFD_SCRATCH_BASE,
		.scratch_limit = KFD_SCRATCH_BASE + KFD_PRIVATE_LIMIT,
		.gpuvm_base = KFD_GPUVM_BASE,
		.gpuvm_limit = KFD_GPUVM_LIMIT,
		.gpu_id = pdd->gpu_id,
	};
}

int kfd_ioctl_get_process_apertures(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_get_process_apertures_args *args = data;
	u32 i, n = min_t(u32, p->n_pdds, NUM_OF_SUPPORTED_GPUS);

	for (i = 0; i < n; i++)
		args->process_apertures[i] = kfd_apertures(p->pdds[i]);
	args->num_of_nodes = n;
	return 0;
}

int kfd_ioctl_get_process_apertures_new(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_get_process_apertures_new_args *args = data;
	struct kfd_process_device_apertures __user *out =
		u64_to_user_ptr(args->kfd_process_device_apertures_ptr);
	u32 i, n = args->num_of_nodes;

	if (!n) {
		args->num_of_nodes = p->n_pdds;
		return 0;
	}
	/*
	 * Accept one entry more than there are GPUs, because the thunk passes the number of
	 * topology nodes, which includes the CPU node.
	 */
	if (n > p->n_pdds + 1)
		return -EINVAL;
	n = min(n, p->n_pdds);
	args->num_of_nodes = n;
	for (i = 0; i < n; i++) {
		struct kfd_process_device_apertures pa =
			kfd_apertures(p->pdds[i]);

		if (copy_to_user(&out[i], &pa, sizeof(pa)))
			return -EFAULT;
	}
	return 0;
}

int kfd_ioctl_acquire_vm(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_acquire_vm_args *args = data;
	struct kfd_process_device *pdd;
	struct file *drm_file;
	int ret;

	drm_file = fget(args->drm_fd);
	if (!drm_file)
		return -EINVAL;
	mutex_lock(&p->mutex);
	pdd = kfd_process_device_by_gpu_id(p, args->gpu_id);
	if (!pdd) {
		ret = -EINVAL;
	} else if (pdd->drm_file) {
		ret = pdd->drm_file == drm_file ? 0 : -EBUSY;
	} else {
		ret = kfd_process_device_init_vm(pdd, drm_file);
		if (!ret)
			drm_file = NULL;	/* the process has taken over the reference */
	}
	mutex_unlock(&p->mutex);
	if (drm_file)
		fput(drm_file);
	return ret;
}

/*
 * SET_SCRATCH_BACKING_VA and SET_TRAP_HANDLER store the addresses of scratch memory and of the trap
 * handler. Nothing but checkpoints uses the stored addresses, because the device runs no shaders.
 */
int kfd_ioctl_set_scratch_backing_va(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_set_scratch_backing_va_args *args = data;
	struct kfd_process_device *pdd;
	int ret = -EINVAL;

	mutex_lock(&p->mutex);
	pdd = kfd_process_device_by_gpu_id(p, args->gpu_id);
	if (pdd)
		ret = pdd->vm ? 0 : -ENODEV;
	if (!ret)
		pdd->sh_hidden_private_base = args->va_addr;
	mutex_unlock(&p->mutex);
	return ret;
}

int kfd_ioctl_set_trap_handler(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_set_trap_handler_args *args = data;
	struct kfd_process_device *pdd;
	int ret = -EINVAL;

	mutex_lock(&p->mutex);
	pdd = kfd_process_device_by_gpu_id(p, args->gpu_id);
	if (pdd)
		ret = pdd->vm ? 0 : -ESRCH;
	if (!ret) {
		pdd->tba_addr = args->tba_addr;
		pdd->tma_addr = args->tma_addr;
	}
	mutex_unlock(&p->mutex);
	return ret;
}

/*
 * Lengths of the tables of GET_TILE_CONFIG. This GPU generation does not use the tables, so all
 * table entries are 0, as in amdkfd.
 */
#define KFD_TILE_CONFIGS	32u
#define KFD_MACRO_TILE_CONFIGS	16u

static int kfd_clear_table(u64 user, u32 *n, u32 max)
{
	*n = min(*n, max);
	return clear_user(u64_to_user_ptr(user), *n * sizeof(u32)) ? -EFAULT :
								     0;
}

int kfd_ioctl_get_tile_config(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_get_tile_config_args *args = data;
	struct kfd_process_device *pdd;
	int ret;

	pdd = kfd_process_device_by_gpu_id(p, args->gpu_id);
	if (!pdd)
		return -EINVAL;
	args->gb_addr_config = vgpu_rreg_sync(pdd->node->vdev, GB_ADDR_CONFIG);
	args->num_banks = 0;
	args->num_ranks = 0;
	ret = kfd_clear_table(args->tile_config_ptr, &args->num_tile_configs,
			      KFD_TILE_CONFIGS);
	return ret ?: kfd_clear_table(args->macro_tile_config_ptr,
				      &args->num_macro_tile_configs,
				      KFD_MACRO_TILE_CONFIGS);
}

int kfd_ioctl_set_xnack_mode(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_set_xnack_mode_args *args = data;
	int ret = 0;

	mutex_lock(&p->mutex);
	if (args->xnack_enabled < 0)
		args->xnack_enabled = p->xnack_enabled;
	else if (p->pqm.n_queues)
		ret = -EBUSY;
	else
		ret = svm_set_xnack(p, args->xnack_enabled);
	mutex_unlock(&p->mutex);
	return ret;
}

int kfd_ioctl_svm(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_svm_args *args = data;

	if (!args->start_addr || !args->size ||
	    !PAGE_ALIGNED(args->start_addr | args->size))
		return -EINVAL;
	return svm_ioctl(p, args->op, args->start_addr, args->size,
			 args->nattr, args->attrs);
}

int kfd_ioctl_smi_events(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_smi_events_args *args = data;
	struct kfd_process_device *pdd;
	int fd;

	pdd = kfd_process_device_by_gpu_id(p, args->gpuid);
	if (!pdd)
		return -EINVAL;
	fd = kfd_smi_open(&pdd->node->smi);
	if (fd < 0)
		return fd;
	args->anon_fd = fd;
	return 0;
}
