/* SPDX-License-Identifier: GPL-2.0 */
/* Map CPU memory in GPU page tables, and store the DMA addresses of the mapped pages. */
#ifndef SVM_MAP_H
#define SVM_MAP_H

#include <linux/bits.h>
#include <linux/dma-mapping.h>
#include <linux/types.h>

#include "svm_interval.h"

struct page;
struct svm_gpu;
struct svm_range;
struct svm_range_list;

#define SVM_CHUNK_ORDER		9
#define SVM_CHUNK_PAGES		BIT(SVM_CHUNK_ORDER)	/* pages that one page table maps */

int svm_map_buf_init(struct svm_range_list *svms);
void svm_map_buf_fini(struct svm_range_list *svms);
/*
 * Map the pages @iv of @r for GPU index @gpu, and fault in missing pages. The pages become
 * readable, and writable if VMA and range allow it. The caller holds svm_lock(). After an error,
 * earlier pages stay mapped. Returns:
 *
 * - 0, -ENOMEM
 * - -EFAULT: a page has no memory, is not readable, or lost its content in a reset
 * - -EPERM: the VMA forbids writes
 * - -EINVAL: a page is outside of the GPU's address space
 * - -EIO: the device cannot address a page
 * - -EAGAIN: the memory map keeps changing
 */
int svm_map_pages(struct svm_range *r, unsigned int gpu, struct svm_interval iv);
/**
 * svm_map_in_vma() - svm_map_pages() for a caller that has found the VMA
 * @r: range of the pages
 * @gpu: index of the GPU
 * @iv: pages, all within one VMA
 * @write: true: the pages become writable; false: those pages become writable that the CPU's
 *         entries and the range allow to be written
 *
 * Context: svm_lock() is held.
 *
 * Return: as svm_map_pages().
 */
int svm_map_in_vma(struct svm_range *r, unsigned int gpu, struct svm_interval iv, bool write);
/*
 * Map the pages @iv of @r for GPU index @gpu, if the CPU has mapped all of them to system memory,
 * and for writes, too, if @write is true. @iv lies within one VMA and one page table. Faults no
 * page in, does not wait for VRAM, and tries only once. The caller holds svm_lock(). Returns true
 * if the pages were mapped.
 */
bool svm_map_present(struct svm_range *r, unsigned int gpu,
		     struct svm_interval iv, bool write);
/*
 * Map @r for the GPUs of @gpus that have a VM. If @lenient, skip pages that give -EFAULT. The
 * caller holds svm_lock(). Returns as svm_map_pages().
 */
int svm_map_range(struct svm_range *r, const unsigned long *gpus, bool lenient);
/**
 * svm_map_prepare() - allocate the memory that the repair of the next fault may need
 * @svms: ranges of the process
 * @gpu: index of the GPU
 *
 * Memory whose 2 MiB no fault has mapped yet needs a page table and slots for DMA addresses. This
 * function allocates one of each, so that the repair does not do so while an engine waits.
 *
 * Context: the worker of svm_gpu.faults, without locks. Waits for nothing.
 */
void svm_map_prepare(struct svm_range_list *svms, unsigned int gpu);
/*
 * Clear the page table entries of @iv on the GPUs of r->mapped, and unmap the pages from DMA. The
 * caller holds r->lock, and may be a notifier.
 */
void svm_unmap_pages(struct svm_range *r, struct svm_interval iv);
/*
 * Clear the no-retry entries of @iv (written for denied faults) on all GPUs. Entries of @iv must
 * not map pages, because no page is unmapped from DMA here.
 */
void svm_clear_noretry(struct svm_range_list *svms, struct svm_interval iv);
/*
 * Clear all entries of @r on all GPUs, no-retry entries included. If @r is mapped and
 * svm_range_stays_mapped() is true, first evict the process's queues. The caller holds svms->lock.
 */
void svm_unmap_range(struct svm_range *r);
/*
 * Handle a no-retry fault of GPU index @gpu at @page. If the PTE translates to VRAM, perhaps the
 * GPU cannot reach this VRAM any more. So unmap the page's range: the next access then raises a
 * retry fault, which the driver can repair. Takes svm_lock().
 */
void svm_unmap_unreachable(struct svm_range_list *svms, unsigned int gpu,
			   unsigned long page);

/*
 * svm_dma.c: DMA addresses of mapped system pages. A *slot* is the DMA address of a page, with
 * SVM_DMA_RO if the device may only read, or 0 if the page is not mapped.
 */
#define SVM_DMA_RO	1ul
#define SVM_DMA_ADDR(slot)	((slot) & ~(dma_addr_t)SVM_DMA_RO)

/* Map a page for DMA. Returns a slot, or DMA_MAPPING_ERROR. */
dma_addr_t svm_dma_map(struct device *dev, struct page *page, bool writable);
void svm_dma_unmap(struct device *dev, dma_addr_t slot);
void svm_dma_init(struct svm_gpu *gpu);
void svm_dma_fini(struct svm_gpu *gpu, struct device *dev);
/*
 * Allocate the chunks of slots (struct svm_dma_chunk) that svm_dma_set() needs for @iv. The caller
 * holds svms->lock. Returns 0 or -ENOMEM.
 */
int svm_dma_reserve(struct svm_gpu *gpu, struct svm_interval iv);
/**
 * svm_dma_prepare() - allocate a chunk of slots for a later svm_dma_reserve()
 * @gpu: state of the process on the GPU
 *
 * Does nothing if a chunk is there already, or without memory.
 *
 * Context: the worker of svm_gpu.faults, which alone calls this. Waits for nothing.
 */
void svm_dma_prepare(struct svm_gpu *gpu);
/*
 * Replace the slots of @iv by @addrs. Unmaps old pages from DMA, so the GPU's entries must be
 * replaced first. The caller holds the range's lock.
 */
void svm_dma_set(struct svm_gpu *gpu, struct device *dev,
		 struct svm_interval iv, const dma_addr_t *addrs);
/*
 * For each slot of @iv that has an address, unmap the page from DMA and set the slot to 0. The
 * caller holds the range's lock.
 */
void svm_dma_clear(struct svm_gpu *gpu, struct device *dev,
		   struct svm_interval iv);
/*
 * Free each chunk of slots that overlaps @iv, unless a range overlaps the chunk. The caller holds
 * svms->lock.
 */
void svm_dma_trim(struct svm_range_list *svms, struct svm_interval iv);

#endif /* SVM_MAP_H */
