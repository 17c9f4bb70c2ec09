// SPDX-License-Identifier: GPL-2.0
/*
 * Implements GET_DMABUF_INFO, IMPORT_DMABUF and EXPORT_DMABUF. The ioctls return the same errno
 * values as amdkfd. A BO has at most one dma-buf at a time. An imported kgd_mem holds a reference
 * to its dma-buf, as the DRM core requires.
 */
#include <linux/dma-buf.h>
#include <linux/fcntl.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_prime.h>

#include "mm/vgpu_bo.h"
#include "process/kfd_mem.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "process/kfd_uapi.h"
#include "svm/svm.h"
#include "kfd_memory.h"

/*
 * Return a copy of the BO's metadata, NULL if there is none, or ERR_PTR(). Before the call, *@size
 * is the size of user space's buffer in bytes. After the call, *@size is the size of the metadata.
 */
static void *kfd_dmabuf_metadata(struct vgpu_bo *bo, u32 *size)
{
	void *copy = NULL;
	int ret;

	ret = ttm_bo_reserve(&bo->tbo, true, false, NULL);
	if (ret)
		return ERR_PTR(ret);
	if (bo->metadata_size > *size)
		copy = ERR_PTR(-EINVAL);
	else if (bo->metadata_size)
		copy = kmemdup(bo->metadata, bo->metadata_size, GFP_KERNEL) ?:
		       ERR_PTR(-ENOMEM);
	*size = bo->metadata_size;
	ttm_bo_unreserve(&bo->tbo);
	return copy;
}

/*
 * Returns -EINVAL if @bo has neither domain VRAM nor GTT, if @p has no state on the GPU of @bo, or
 * if the metadata buffer is too small.
 */
static int kfd_dmabuf_info(struct kfd_process *p, struct vgpu_bo *bo,
			   struct kfd_ioctl_get_dmabuf_info_args *args)
{
	u32 domains = READ_ONCE(bo->domains);
	struct kfd_process_device *pdd;
	void *metadata;
	int ret = 0;

	if (!(domains & (AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT)))
		return -EINVAL;
	pdd = kfd_process_device_of(p, bo->vdev);
	if (!pdd)
		return -EINVAL;
	metadata = kfd_dmabuf_metadata(bo, &args->metadata_size);
	if (IS_ERR(metadata))
		return PTR_ERR(metadata);
	args->size = bo->tbo.base.size;
	args->gpu_id = pdd->gpu_id;
	args->flags = domains & AMDGPU_GEM_DOMAIN_VRAM ?
		      KFD_IOC_ALLOC_MEM_FLAGS_VRAM :
		      KFD_IOC_ALLOC_MEM_FLAGS_GTT;
	if (bo->flags & AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED)
		args->flags |= KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
	if (metadata && args->metadata_ptr &&
	    copy_to_user(u64_to_user_ptr(args->metadata_ptr), metadata,
			 args->metadata_size))
		ret = -EFAULT;
	kfree(metadata);
	return ret;
}

/**
 * kfd_ioctl_get_dmabuf_info() - AMDKFD_IOC_GET_DMABUF_INFO
 * @p: process
 * @data: struct kfd_ioctl_get_dmabuf_info_args
 *
 * Context: no locks are held. Takes the reservation of the dma-buf's BO.
 *
 * Return:
 * * 0, -EFAULT, -ENOMEM, -ERESTARTSYS
 * * -EBADF: the descriptor is not open
 * * -EINVAL: the file is no dma-buf of this driver, or kfd_dmabuf_info() refuses the BO
 */
int kfd_ioctl_get_dmabuf_info(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_get_dmabuf_info_args *args = data;
	struct dma_buf *dmabuf;
	struct vgpu_bo *bo;
	int ret = -EINVAL;

	dmabuf = dma_buf_get(args->dmabuf_fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	bo = vgpu_dma_buf_bo(dmabuf);
	if (bo)
		ret = kfd_dmabuf_info(p, bo, args);
	dma_buf_put(dmabuf);
	return ret;
}

/*
 * Create a kgd_mem with address @va for the BO of @dmabuf. The process has a VM on @pdd, and
 * kfd_process.mutex is held.
 */
static int kgd_mem_import(struct kfd_process_device *pdd,
			  struct dma_buf *dmabuf, u64 va, struct kgd_mem **out)
{
	struct drm_gem_object *gem;
	struct kgd_mem *mem;
	struct vgpu_bo *bo;
	u32 flags, domain;
	int ret;

	lockdep_assert_held(&pdd->process->mutex);

	gem = vgpu_gem_import(&pdd->node->vdev->drm, dmabuf);
	if (IS_ERR(gem))
		return PTR_ERR(gem);
	bo = gem_to_vgpu_bo(gem);
	domain = kgd_mem_gem_domain(bo);
	flags = domain == AMDGPU_GEM_DOMAIN_VRAM ?
		KFD_IOC_ALLOC_MEM_FLAGS_VRAM : KFD_IOC_ALLOC_MEM_FLAGS_GTT;
	/* Refuse memory outside of VRAM and GTT. */
	ret = -EINVAL;
	if (!domain)
		goto put;
	ret = -ENOMEM;
	mem = kgd_mem_new(pdd, domain, va, flags |
			  KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			  KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE);
	if (!mem)
		goto put;
	ret = drm_vma_node_allow(&gem->vma_node, pdd->drm_priv);
	if (ret) {
		kfree(mem);
		goto put;
	}
	get_dma_buf(dmabuf);
	mem->dmabuf = dmabuf;
	mem->is_imported = true;
	mem->bo = bo;
	kgd_mem_link(mem);
	kgd_mem_add_to_process(mem);
	*out = mem;
	return 0;

put:
	drm_gem_object_put(gem);
	return ret;
}

/**
 * kgd_mem_export() - return the dma-buf of @mem, or create one
 * @mem: memory
 * @write: let a new dma-buf allow writes, even if GPU mappings of @mem are read-only
 *
 * Context: kfd_process.mutex is held.
 *
 * Return: the dma-buf, with a reference taken, or ERR_PTR():
 * * -EINVAL: @mem is doorbells or MMIO
 * * -EPERM: @mem is a userptr BO
 * * -ENOMEM
 */
struct dma_buf *kgd_mem_export(struct kgd_mem *mem, bool write)
{
	struct dma_buf *dmabuf;

	if (!mem->dmabuf) {
		dmabuf = vgpu_gem_export(&mem->bo->tbo.base,
					 write || mem->alloc_flags &
					 KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE ?
					 DRM_RDWR : 0);
		if (IS_ERR(dmabuf))
			return dmabuf;
		mem->dmabuf = dmabuf;
	}
	get_dma_buf(mem->dmabuf);
	return mem->dmabuf;
}

static int kfd_dmabuf_import(struct kfd_process_device *pdd,
			     struct dma_buf *dmabuf,
			     struct kfd_ioctl_import_dmabuf_args *args)
{
	struct kgd_mem *mem;
	int ret, id;

	if (!pdd->vm)
		return -ENODEV;
	if (args->va_addr &&
	    svm_range_overlaps(pdd->process, args->va_addr, dmabuf->size))
		return -EADDRINUSE;
	ret = kgd_mem_import(pdd, dmabuf, args->va_addr, &mem);
	if (ret)
		return ret;
	id = idr_alloc(&pdd->alloc_idr, mem, 0, 0, GFP_KERNEL);
	if (id < 0) {
		kgd_mem_destroy(pdd, mem);
		return -EFAULT;
	}
	args->handle = KFD_HANDLE(args->gpu_id, id);
	return 0;
}

/**
 * kfd_ioctl_import_dmabuf() - AMDKFD_IOC_IMPORT_DMABUF
 * @p: process
 * @data: struct kfd_ioctl_import_dmabuf_args
 *
 * Context: no locks are held. Takes kfd_process.mutex.
 *
 * Return:
 * * 0, or an error of kgd_mem_import()
 * * -EINVAL: unknown GPU
 * * -EBADF: the descriptor is not open
 * * -ENODEV: the process has no VM on the GPU
 * * -EADDRINUSE: an SVM range overlaps the addresses
 * * -EFAULT: no handle can be allocated
 */
int kfd_ioctl_import_dmabuf(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_import_dmabuf_args *args = data;
	struct kfd_process_device *pdd;
	struct dma_buf *dmabuf;
	int ret;

	pdd = kfd_process_device_by_gpu_id(p, args->gpu_id);
	if (!pdd)
		return -EINVAL;
	dmabuf = dma_buf_get(args->dmabuf_fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	mutex_lock(&p->mutex);
	ret = kfd_dmabuf_import(pdd, dmabuf, args);
	mutex_unlock(&p->mutex);
	dma_buf_put(dmabuf);
	return ret;
}

/**
 * kfd_ioctl_export_dmabuf() - AMDKFD_IOC_EXPORT_DMABUF
 * @p: process
 * @data: struct kfd_ioctl_export_dmabuf_args
 *
 * Context: no locks are held. Takes kfd_process.mutex.
 *
 * Return: 0; -EINVAL for an unknown handle, doorbells, MMIO, or invalid flags; -EPERM for
 * userptr BOs; -EMFILE, -ENOMEM.
 */
int kfd_ioctl_export_dmabuf(struct kfd_process *p, void *data)
{
	struct kfd_ioctl_export_dmabuf_args *args = data;
	struct dma_buf *dmabuf = ERR_PTR(-EINVAL);
	struct kgd_mem *mem = NULL;
	int fd;

	mutex_lock(&p->mutex);
	if (kfd_mem_by_handle(p, args->handle, &mem) && mem)
		dmabuf = kgd_mem_export(mem, false);
	mutex_unlock(&p->mutex);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	fd = dma_buf_fd(dmabuf, args->flags);
	if (fd < 0) {
		dma_buf_put(dmabuf);
		return fd;
	}
	args->dmabuf_fd = fd;
	return 0;
}
