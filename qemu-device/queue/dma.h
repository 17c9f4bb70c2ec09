/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: memory as a queue sees it: accesses by GPU address, which report
 * faults. The client's thread, no lock held.
 */
#ifndef HW_MISC_VGPU_KFD_QUEUE_DMA_H
#define HW_MISC_VGPU_KFD_QUEUE_DMA_H

#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/iommu.h"

/*
 * Memory as a queue sees it. Belongs to the client's thread while the queue is
 * current, else to the lock of the queue's worker.
 */
typedef struct VGPUView {
    VGPUClient *client;         /* of the engine that executes the queue */
    uint8_t vmid;               /* of the next access */
    uint8_t queue;              /* number in the engine or of the HQD */
    bool faulted;               /* a no-retry fault is reported: none more */
    VGPUStall stall;            /* of the access that could not be done */
    VGPUIotlb iotlb;            /* the IOMMU's replies to the queue */
} VGPUView;

typedef enum VGPUDmaResult {
    VGPU_DMA_OK,
    VGPU_DMA_FAULT,             /* no-retry fault: done, on the default page */
    VGPU_DMA_STALL,             /* retry fault: not done, see view->stall */
} VGPUDmaResult;

/*
 * Move @len bytes, or fewer: *@done is how many, also before a stall. A fault
 * means that some of them were redirected.
 */
VGPUDmaResult vgpu_dma_copy(VGPUView *v, uint64_t dst, uint64_t src,
                            uint64_t len, uint64_t *done);
/* Repeat @data, a little-endian dword that starts at byte @phase. */
VGPUDmaResult vgpu_dma_fill(VGPUView *v, uint64_t dst, uint32_t data,
                            unsigned phase, uint64_t len, uint64_t *done);
/*
 * Write @n page-table entries, or fewer: flags | (first + i * incr). @dst is
 * 8-byte aligned.
 */
VGPUDmaResult vgpu_dma_write_ptes(VGPUView *v, uint64_t dst, uint64_t flags,
                                  uint64_t first, uint64_t incr, uint64_t n,
                                  uint64_t *done);
VGPUDmaResult vgpu_dma_read(VGPUView *v, uint64_t va, void *buf, unsigned len);
/* 4 or 8 bytes at once; @va is aligned to them. */
VGPUDmaResult vgpu_dma_write(VGPUView *v, uint64_t va, const void *buf,
                             unsigned len);
/* The new value for @old, of 4 or 8 bytes; more bits than these are ignored. */
typedef uint64_t VGPUAtomicFn(uint64_t old, uint64_t src, uint64_t cmp,
                              unsigned bits);
/*
 * Replace @size bytes, 4 or 8, little endian, at a @va that is aligned to them
 * by what @fn makes of them; *@old is what they were (0 where nothing is).
 */
VGPUDmaResult vgpu_dma_atomic(VGPUView *v, uint64_t va, unsigned size,
                              VGPUAtomicFn *fn, uint64_t src, uint64_t cmp,
                              uint64_t *old);
/* 64-bit, little endian; @va is 8-byte aligned. */
VGPUDmaResult vgpu_dma_add64(VGPUView *v, uint64_t va, uint64_t n);

#endif /* HW_MISC_VGPU_KFD_QUEUE_DMA_H */
