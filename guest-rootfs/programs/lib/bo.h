/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocate, map and free buffers of KFD (AMDKFD_IOC_ALLOC_MEMORY_OF_GPU). A BO has the same
 * address on CPU and GPU, as in ROCm.
 */
#ifndef VG_BO_H
#define VG_BO_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/kfd_ioctl.h>

#include "device.h"

#define VG_VRAM		(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | VG_BO_ACCESS)
#define VG_GTT		(KFD_IOC_ALLOC_MEM_FLAGS_GTT | \
			 KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | VG_BO_ACCESS)
#define VG_DOORBELL	(KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | VG_BO_ACCESS)
#define VG_BO_ACCESS	((uint32_t)KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | \
			 KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | \
			 KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE)
#define VG_MMIO_REMAP	(KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP | VG_BO_ACCESS)
#define VG_DOORBELL_SLICE 8192ul

/**
 * struct vg_bo - a buffer of AMDKFD_IOC_ALLOC_MEMORY_OF_GPU
 */
struct vg_bo {
	/** @vg: the open KFD that owns the BO */
	struct vg *vg;
	/** @gpu: GPU on which the BO was allocated */
	struct vg_gpu *gpu;
	/** @va: address of the BO on CPU and GPU */
	/** @size: size in bytes, a multiple of the page size; 0 if the structure holds no BO */
	/** @handle: handle of the BO that KFD returned */
	/** @mmap_offset: offset of the BO for mmap() of the render node */
	uint64_t va, size, handle, mmap_offset;
	/** @flags: KFD_IOC_ALLOC_MEM_FLAGS_* */
	uint32_t flags;
	/** @cpu: CPU mapping at @va, or NULL */
	void *cpu;
	/** @mapped: whether the BO is mapped on @gpu */
	bool mapped;
};

/*
 * Reserve an address range and allocate a BO of @size bytes and of kind @flags
 * (VG_VRAM, VG_GTT, ...) on @gpu. The BO has no CPU or GPU mapping.
 */
int vg_bo_alloc(struct vg *vg, struct vg_gpu *gpu, uint64_t size,
		uint32_t flags, struct vg_bo *bo);
/*
 * Map the BO at @bo->va, or unmap it: the _cpu functions for the CPU, the _gpu functions for
 * @bo->gpu. vg_bo_unmap_cpu() keeps the address range reserved.
 */
int vg_bo_map_cpu(struct vg_bo *bo);
int vg_bo_unmap_cpu(struct vg_bo *bo);
int vg_bo_map_gpu(struct vg_bo *bo);
int vg_bo_unmap_gpu(struct vg_bo *bo);
/*
 * Map the BO on @gpu, a GPU other than @bo->gpu, or unmap it there. Before vg_bo_free(), the
 * caller unmaps the BO from all such GPUs.
 */
int vg_bo_map_peer(struct vg_bo *bo, struct vg_gpu *gpu);
int vg_bo_unmap_peer(struct vg_bo *bo, struct vg_gpu *gpu);
/*
 * Call vg_bo_alloc(), vg_bo_map_cpu() and vg_bo_map_gpu(). On an error the function frees the BO.
 */
int vg_bo_create(struct vg *vg, struct vg_gpu *gpu, uint64_t size,
		 uint32_t flags, struct vg_bo *bo);
/* Unmap and free the BO. Do nothing for a zeroed structure. */
int vg_bo_free(struct vg_bo *bo);

#endif /* VG_BO_H */
