// SPDX-License-Identifier: GPL-2.0
/*
 * Implements ALLOC_MEMORY_OF_GPU, FREE_MEMORY_OF_GPU, MAP_MEMORY_TO_GPU, UNMAP_MEMORY_FROM_GPU
 * and AVAILABLE_MEMORY, with the arguments and errors of amdkfd.
 */
#include <linux/string.h>
#include <linux/uaccess.h>
#include <drm/amdgpu_drm.h>

#include "kfd/events/kfd_events.h"
#include "kfd/memory/kfd_memory.h"
#include "mm/vgpu_bo.h"
#include "mm/vgpu_res_mgr.h"
#include "process/kfd_mem.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "process/kfd_uapi.h"
#include "svm/svm.h"
#include "kfd_ioctl.h"

/* Maximum length of a list of devices; a longer list would contain duplicates. */
#define KFD_MAX_MAP_DEVICES	KFD_MAX_GPU_INSTANCE

static int kfd_mem_alloc(struct kfd_process_device *pdd,
			 struct kfd_ioctl_alloc_memory_of_gpu_args *args)
{
	struct kgd_mem *mem;
	int ret, id;

	if (!pdd->vm)
		return -ENODEV;
	ret = kgd_mem_create(pdd, args->va_addr, args->size, args->flags,
			     args->mmap_offset, false, &mem);
	if (ret)
		return ret;
	id = idr_alloc(&pdd->alloc_idr, mem, 0, 0, GFP_KERNEL);
	if (id < 0) {
		kgd_mem_destroy(pdd, mem);
		return -EFAULT;
	}
	if (mem->domain == AMDGPU_GEM_DOMAIN_VRAM)
		atomic64_add(mem->bo->tbo.base.size, &pdd->vram_usage);
	args->handle = KFD_HANDLE(args->gpu_id, id);
	args->mmap_offset = mem->domain == VGPU_GEM_DOMAIN_MMIO_REMAP ?
			    kfd_mmio_mmap_offset(pdd->node) :
			    vgpu_bo_mmap_offset(mem->bo);
	return 0;
}

int kfd_ioctl_alloc_memory_of_gpu(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args *args = data;
	struct kfd_process_device *pdd;
	int ret;

	if (!args->size)
		return -EINVAL;
	pdd = kfd_process_device_by_gpu_id(p, args->gpu_id);
	if (!pdd)
		return -EINVAL;

	mutex_lock(&p->mutex);
	/* For VRAM that only the CPU maps, va_addr is 0, so there is no GPU address to check. */
	if (args->va_addr &&
	    svm_range_overlaps(p, args->va_addr, args->size))
		ret = -EADDRINUSE;
	else if (args->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR &&
		 svm_range_overlaps(p, args->mmap_offset, args->size))
		ret = -EADDRINUSE;
	else
		ret = kfd_mem_alloc(pdd, args);
	mutex_unlock(&p->mutex);
	return ret;
}

static int kfd_mem_free(struct kfd_process *p, u64 handle)
{
	struct kfd_process_device *pdd;
	struct kgd_mem *mem;

	pdd = kfd_mem_by_handle(p, handle, &mem);
	if (!pdd || !mem)
		return -EINVAL;
	/*
	 * The driver uses the signal page until the process ends, so user space must not free the
	 * page's memory.
	 */
	if (kfd_events_holds(p, handle))
		return -EPERM;
	if (mem->mapped_to_gpu_memory)
		return -EBUSY;
	idr_remove(&pdd->alloc_idr, lower_32_bits(handle));
	if (mem->domain == AMDGPU_GEM_DOMAIN_VRAM && !mem->is_imported)
		atomic64_sub(mem->bo->tbo.base.size, &pdd->vram_usage);
	kgd_mem_destroy(pdd, mem);
	return 0;
}

int kfd_ioctl_free_memory_of_gpu(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_free_memory_of_gpu_args *args = data;
	int ret;

	mutex_lock(&p->mutex);
	ret = kfd_mem_free(p, args->handle);
	mutex_unlock(&p->mutex);
	return ret;
}

/*
 * Copy the device ids from user space; the caller frees them with kfree(). @n_success is the number
 * of devices that an earlier call has handled before a signal interrupted it.
 */
static u32 *kfd_mem_get_devices(u64 ptr, u32 n_devices, u32 n_success)
{
	if (!n_devices || n_success > n_devices)
		return ERR_PTR(-EINVAL);
	if (n_devices > KFD_MAX_MAP_DEVICES)
		return ERR_PTR(-ENOMEM);
	return memdup_array_user((const void __user *)ptr, n_devices,
				 sizeof(u32));
}

/* Map the memory of @args->handle on the devices that precede the first invalid device. */
static int kfd_mem_map(struct kfd_process *p, const u32 *devices,
		       struct kfd_ioctl_map_memory_to_gpu_args *args)
{
	struct kfd_process_device *pdds[KFD_MAX_MAP_DEVICES], *pdd;
	u32 left = args->n_devices - args->n_success, n, done;
	int ret, bad = 0;
	struct kgd_mem *mem;

	pdd = kfd_mem_by_handle(p, args->handle, &mem);
	if (!pdd)
		return -EINVAL;
	if (!pdd->vm)
		return -ENODEV;
	if (!mem)
		return -ENOMEM;
	devices += args->n_success;
	for (n = 0; n < left; n++) {
		pdds[n] = kfd_process_device_by_gpu_id(p, devices[n]);
		if (!pdds[n] || !pdds[n]->vm) {
			bad = pdds[n] ? -ENODEV : -EINVAL;
			break;
		}
	}
	if (!n)
		return bad;
	ret = kfd_memory_map(mem, pdds, n, &done);
	args->n_success += done;
	return ret ?: bad;
}

int kfd_ioctl_map_memory_to_gpu(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_map_memory_to_gpu_args *args = data;
	u32 *devices;
	int ret;

	devices = kfd_mem_get_devices(args->device_ids_array_ptr,
				      args->n_devices, args->n_success);
	if (IS_ERR(devices))
		return PTR_ERR(devices);
	mutex_lock(&p->mutex);
	ret = kfd_mem_map(p, devices, args);
	mutex_unlock(&p->mutex);
	kfree(devices);
	return ret;
}

static int kfd_mem_unmap(struct kfd_process *p, const u32 *devices,
			 struct kfd_ioctl_unmap_memory_from_gpu_args *args)
{
	struct kfd_process_device *pdd;
	struct kgd_mem *mem;
	int ret;
	u32 i;

	pdd = kfd_mem_by_handle(p, args->handle, &mem);
	if (!pdd)
		return -EINVAL;
	if (!mem)
		return -ENOMEM;
	for (i = args->n_success; i < args->n_devices; i++) {
		pdd = kfd_process_device_by_gpu_id(p, devices[i]);
		if (!pdd)
			return -EINVAL;
		ret = kgd_mem_unmap(mem, pdd);
		if (ret)
			return ret;
		args->n_success = i + 1;
	}
	return 0;
}

int kfd_ioctl_unmap_memory_from_gpu(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args *args = data;
	u32 *devices;
	int ret;

	devices = kfd_mem_get_devices(args->device_ids_array_ptr,
				      args->n_devices, args->n_success);
	if (IS_ERR(devices))
		return PTR_ERR(devices);
	mutex_lock(&p->mutex);
	ret = kfd_mem_unmap(p, devices, args);
	mutex_unlock(&p->mutex);
	kfree(devices);
	return ret;
}

/*
 * Report the free VRAM, rounded down to 2 MiB. An allocation may get more VRAM than that, because
 * an allocation can evict BOs.
 */
int kfd_ioctl_get_available_memory(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_get_available_memory_args *args = data;
	struct kfd_process_device *pdd;
	u64 total, used;

	pdd = kfd_process_device_by_gpu_id(p, args->gpu_id);
	if (!pdd)
		return -EINVAL;
	total = vgpu_vram_mgr_size(pdd->node->vdev);
	used = vgpu_vram_mgr_usage(pdd->node->vdev);
	args->available = total > used ? ALIGN_DOWN(total - used, SZ_2M) : 0;
	return 0;
}
