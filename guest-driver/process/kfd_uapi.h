/* SPDX-License-Identifier: GPL-2.0 */
/* Constants of amdkfd's uAPI that <linux/kfd_ioctl.h> does not define. */
#ifndef KFD_UAPI_H
#define KFD_UAPI_H

#include <linux/bits.h>
#include <linux/types.h>

/*
 * Bases and limits of a process's apertures in the GPU's address space, which are the same on every
 * gfx90a.
 */
#define KFD_LDS_BASE		BIT_ULL(48)
#define KFD_SCRATCH_BASE	BIT_ULL(49)
#define KFD_PRIVATE_LIMIT	0xffffffffull		/* last offset in a 4 GiB aperture */
#define KFD_GPUVM_BASE		0x10000ull
#define KFD_GPUVM_LIMIT		0x7fffffffffffull

/*
 * Offsets for mmap of /dev/kfd: kind of memory in bits 63:62, kfd_node.gpu_id in bits 61:46. This
 * layout is amdkfd's uAPI.
 */
#define KFD_MMAP_TYPE_MASK		(3ull << 62)
#define KFD_MMAP_TYPE_DOORBELL		(3ull << 62)
#define KFD_MMAP_TYPE_EVENTS		BIT_ULL(63)
#define KFD_MMAP_TYPE_RESERVED_MEM	BIT_ULL(62)
#define KFD_MMAP_TYPE_MMIO		(0ull << 62)
#define KFD_MMAP_GPU_ID(id)		(((u64)(id) & 0xffff) << 46)
/* Size, in bytes, of the interval of mmap offsets of one GPU for one kind of memory. */
#define KFD_MMAP_SPAN			BIT_ULL(46)
#define KFD_MMAP_GET_GPU_ID(offset)	(((offset) >> 46) & 0xffff)

/*
 * A memory handle: kfd_process_device.gpu_id in bits 63:32, the index in
 * kfd_process_device.alloc_idr in bits 31:0.
 */
#define KFD_HANDLE(gpu_id, id)	((u64)(gpu_id) << 32 | (u32)(id))

#endif /* KFD_UAPI_H */
