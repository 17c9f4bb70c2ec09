// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Allocate, map and free buffers of KFD. vg_bo_alloc() reserves an address range and allocates
 * a BO for it; vg_bo_map_cpu() maps the BO over the reservation, so that CPU and GPU use the
 * same address.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "bo.h"
#include "device.h"

/* Alignment of BOs of at least 2 MiB, so that page-table leaves of 2 MiB can map them. */
#define BO_ALIGN (2 * VG_MIB)

/*
 * Reserve @size bytes of address space, aligned to 2 MiB if @size is at least 2 MiB.
 * Return NULL if there is no space.
 */
static void *reserve_va(uint64_t size)
{
	uint64_t align = size >= BO_ALIGN ? BO_ALIGN : VG_PAGE;
	uint64_t start, begin, end;
	char *p = mmap(NULL, size + align, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	begin = (uintptr_t)p;
	start = (begin + align - 1) & ~(align - 1);
	end = begin + size + align;
	if (start > begin)
		munmap(p, start - begin);
	if (end > start + size)
		munmap((void *)(start + size), end - start - size);
	return (void *)start;
}

int vg_bo_alloc(struct vg *vg, struct vg_gpu *gpu, uint64_t size,
		uint32_t flags, struct vg_bo *bo)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.size = size,
		.gpu_id = gpu->gpu_id,
		.flags = flags,
	};
	void *va;
	int r;

	memset(bo, 0, sizeof(*bo));
	va = reserve_va(size);
	if (!va)
		return vg_fail(-ENOMEM, "no address range of %lu bytes", size);
	args.va_addr = (uintptr_t)va;
	r = vg_ioctl(vg, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args);
	if (r) {
		munmap(va, size);
		return vg_fail(r, "ALLOC_MEMORY_OF_GPU of %lu bytes, flags 0x%x",
			       size, flags);
	}
	*bo = (struct vg_bo) {
		.vg = vg, .gpu = gpu, .va = args.va_addr, .size = size,
		.handle = args.handle, .mmap_offset = args.mmap_offset,
		.flags = flags,
	};
	return 0;
}

int vg_bo_map_cpu(struct vg_bo *bo)
{
	void *p = mmap((void *)bo->va, bo->size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED, bo->gpu->fd, bo->mmap_offset);

	if (p == MAP_FAILED)
		return vg_fail(-errno, "mmap of BO at offset 0x%lx",
			       bo->mmap_offset);
	bo->cpu = p;
	return 0;
}

int vg_bo_unmap_cpu(struct vg_bo *bo)
{
	/* Reserve the range again, so that no other mapping takes the BO's address. */
	void *p = mmap((void *)bo->va, bo->size, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		       -1, 0);

	if (p == MAP_FAILED)
		return vg_fail(-errno, "unmapping BO at 0x%lx", bo->va);
	bo->cpu = NULL;
	return 0;
}

int vg_bo_map_peer(struct vg_bo *bo, struct vg_gpu *gpu)
{
	struct kfd_ioctl_map_memory_to_gpu_args args = {
		.handle = bo->handle,
		.device_ids_array_ptr = (uintptr_t)&gpu->gpu_id,
		.n_devices = 1,
	};
	int r = vg_ioctl(bo->vg, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &args);

	if (r)
		return vg_fail(r, "MAP_MEMORY_TO_GPU of BO at 0x%lx", bo->va);
	if (args.n_success != 1)
		return vg_fail(-EPROTO, "MAP_MEMORY_TO_GPU mapped %u of 1",
			       args.n_success);
	return 0;
}

int vg_bo_unmap_peer(struct vg_bo *bo, struct vg_gpu *gpu)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args args = {
		.handle = bo->handle,
		.device_ids_array_ptr = (uintptr_t)&gpu->gpu_id,
		.n_devices = 1,
	};
	int r = vg_ioctl(bo->vg, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &args);

	if (r)
		return vg_fail(r, "UNMAP_MEMORY_FROM_GPU of BO at 0x%lx",
			       bo->va);
	return 0;
}

int vg_bo_map_gpu(struct vg_bo *bo)
{
	int r = vg_bo_map_peer(bo, bo->gpu);

	if (!r)
		bo->mapped = true;
	return r;
}

int vg_bo_unmap_gpu(struct vg_bo *bo)
{
	int r = vg_bo_unmap_peer(bo, bo->gpu);

	if (!r)
		bo->mapped = false;
	return r;
}

int vg_bo_create(struct vg *vg, struct vg_gpu *gpu, uint64_t size,
		 uint32_t flags, struct vg_bo *bo)
{
	int r = vg_bo_alloc(vg, gpu, size, flags, bo);

	if (r)
		return r;
	r = vg_bo_map_cpu(bo);
	if (!r)
		r = vg_bo_map_gpu(bo);
	if (r)
		vg_bo_free(bo);
	return r;
}

int vg_bo_free(struct vg_bo *bo)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = {
		.handle = bo->handle,
	};
	int r = 0;

	if (!bo->size)
		return 0;
	if (bo->mapped)
		r = vg_bo_unmap_gpu(bo);
	if (!r) {
		r = vg_ioctl(bo->vg, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args);
		if (r)
			vg_fail(r, "FREE_MEMORY_OF_GPU of BO at 0x%lx", bo->va);
	}
	if (r)
		return r;
	munmap((void *)bo->va, bo->size);
	memset(bo, 0, sizeof(*bo));
	return 0;
}
