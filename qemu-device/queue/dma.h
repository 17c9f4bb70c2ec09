/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vgpu-kfd: memory accesses of queues by GPU address, with reports of faults.
 * The client's thread calls these functions with no lock held.
 */
#ifndef HW_MISC_VGPU_KFD_QUEUE_DMA_H
#define HW_MISC_VGPU_KFD_QUEUE_DMA_H

#include "hw/misc/vgpu-kfd/core/stall.h"
#include "hw/misc/vgpu-kfd/memory/client.h"
#include "hw/misc/vgpu-kfd/memory/iommu.h"

/*
 * The view that a queue has of memory. While the queue is its worker's current
 * queue, only the worker's thread accesses the view. Otherwise the worker's
 * lock protects the view.
 */
typedef struct VGPUView {
    /* The engine that executes the queue, as a client of its hub. */
    VGPUClient *client;
    uint8_t vmid;               /* VMID of the next access */
    /* Number of the queue in its SDMA engine, or number of the HQD. */
    uint8_t queue;
    /*
     * True if the packet has reported a no-retry fault. Further no-retry faults
     * of the packet push no interrupt entry.
     */
    bool faulted;
    VGPUStall stall;            /* what the stalled access waits for */
    VGPUIotlb iotlb;
} VGPUView;

typedef enum VGPUDmaResult {
    VGPU_DMA_OK,
    /*
     * Done, but at least a part of the access had a no-retry fault: reads got
     * the default page or zeros, writes were dropped.
     */
    VGPU_DMA_FAULT,
    /*
     * Not complete: wait for VGPUView.stall, and repeat the access. No byte is
     * written, except that vgpu_dma_copy() may have copied the first bytes.
     */
    VGPU_DMA_STALL,
} VGPUDmaResult;

/**
 * vgpu_dma_copy: copy memory
 * @v: view of the queue
 * @dst: GPU address of the destination
 * @src: GPU address of the source; ranges may overlap
 * @len: bytes
 * @done: set to the bytes done, faulted ones included; @len unless stalled
 *
 * Return: see VGPUDmaResult.
 */
VGPUDmaResult vgpu_dma_copy(VGPUView *v, uint64_t dst, uint64_t src,
                            uint64_t len, uint64_t *done);

/**
 * vgpu_dma_fill: fill the first contiguous part of a range with a dword
 * @v: view of the queue
 * @dst: GPU address
 * @data: dword, little endian
 * @phase: byte @phase % 4 of @data goes to @dst
 * @len: bytes of the range
 * @done: set to the length of this first part, 1 to @len; unchanged if stalled
 *
 * Return: see VGPUDmaResult.
 */
VGPUDmaResult vgpu_dma_fill(VGPUView *v, uint64_t dst, uint32_t data,
                            unsigned phase, uint64_t len, uint64_t *done);

/**
 * vgpu_dma_write_ptes: write up to @n page-table entries
 * @v: view of the queue
 * @dst: GPU address, a multiple of 8
 * @flags: flags of all entries
 * @first: address in the first entry
 * @incr: increment of the address
 * @n: number of entries
 * @done: set to the number of entries done, 1 to @n; unchanged if stalled
 *
 * Stops at the first place where the memory is not contiguous, even if fewer
 * than @n entries are done. Each entry is written atomically.
 *
 * Return: see VGPUDmaResult.
 */
VGPUDmaResult vgpu_dma_write_ptes(VGPUView *v, uint64_t dst, uint64_t flags,
                                  uint64_t first, uint64_t incr, uint64_t n,
                                  uint64_t *done);

/**
 * vgpu_dma_read: read memory into a buffer
 * @v: view of the queue
 * @va: GPU address
 * @buf: buffer; its contents are undefined after a stall
 * @len: bytes
 *
 * Return: see VGPUDmaResult.
 */
VGPUDmaResult vgpu_dma_read(VGPUView *v, uint64_t va, void *buf, unsigned len);

/**
 * vgpu_dma_write: write 4 or 8 bytes atomically
 * @v: view of the queue
 * @va: GPU address, a multiple of @len
 * @buf: value in little-endian byte order
 * @len: 4 or 8
 *
 * Return: see VGPUDmaResult.
 */
VGPUDmaResult vgpu_dma_write(VGPUView *v, uint64_t va, const void *buf,
                             unsigned len);

/*
 * Return the value that replaces @old. @src and @cmp: arguments of
 * vgpu_dma_atomic(). @bits: width of the value, 32 or 64; the caller ignores
 * higher bits of the result.
 */
typedef uint64_t VGPUAtomicFn(uint64_t old, uint64_t src, uint64_t cmp,
                              unsigned bits);

/**
 * vgpu_dma_atomic: replace a little-endian value atomically
 * @v: view of the queue
 * @va: GPU address, a multiple of @size
 * @size: 4 or 8 bytes
 * @fn: computes the new value, perhaps repeatedly
 * @src: argument of @fn
 * @cmp: argument of @fn
 * @old: set to the old value; 0 after a stall or dropped access
 *
 * Return: see VGPUDmaResult.
 */
VGPUDmaResult vgpu_dma_atomic(VGPUView *v, uint64_t va, unsigned size,
                              VGPUAtomicFn *fn, uint64_t src, uint64_t cmp,
                              uint64_t *old);

/**
 * vgpu_dma_add64: add to a 64-bit little-endian value atomically
 * @v: view of the queue
 * @va: GPU address, a multiple of 8
 * @n: addend
 *
 * Return: see VGPUDmaResult.
 */
VGPUDmaResult vgpu_dma_add64(VGPUView *v, uint64_t va, uint64_t n);

#endif /* HW_MISC_VGPU_KFD_QUEUE_DMA_H */
