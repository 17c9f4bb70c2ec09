/* SPDX-License-Identifier: GPL-2.0 */
/* CPU memory in GPU page tables, and its DMA addresses. */
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
#define SVM_CHUNK_PAGES		BIT(SVM_CHUNK_ORDER)	/* one page table */

/* svm_map.c. svm_lock() is held. */
enum svm_map_access {
	SVM_MAP_READ,		/* at least readable */
	SVM_MAP_WRITE,		/* writable */
	SVM_MAP_VMA,		/* as the VMA and the range's flags allow */
};

int svm_map_buf_init(struct svm_range_list *svms);
void svm_map_buf_fini(struct svm_range_list *svms);
/*
 * Map pages of @r for GPU index @gpu, faulting them in for the CPU first.
 * 0, or what stopped it, pages before that being mapped:
 * -EFAULT no memory there, -EPERM access not allowed, -ENOMEM,
 * -EAGAIN the memory map keeps changing.
 */
int svm_map_pages(struct svm_range *r, unsigned int gpu,
		  struct svm_interval iv, enum svm_map_access access);
/*
 * Map all of @r for the GPUs of @gpus; nothing to do for those that have it all.
 * @lenient: leave out what no CPU access could reach either, instead of failing.
 * Errors as svm_map_pages().
 */
int svm_map_range(struct svm_range *r, const unsigned long *gpus, bool lenient);
/* Clear the entries of all GPUs. r->lock held; notifiers call it. */
void svm_unmap_pages(struct svm_range *r, struct svm_interval iv);
/*
 * Clear no-retry entries that past faults left where no range was. There is
 * nothing else to clear: no range, no mapping.
 */
void svm_clear_noretry(struct svm_range_list *svms, struct svm_interval iv);
/* The attributes changed: clear everything, evicting queues if need be. */
void svm_unmap_range(struct svm_range *r);
/*
 * The engine of GPU index @gpu was told that there is no such memory. If that was
 * a peer's VRAM, which is within reach no more, the range's entries go, so that
 * who comes next is served from system memory. Takes svm_lock().
 */
void svm_unmap_unreachable(struct svm_range_list *svms, unsigned int gpu,
			   unsigned long page);

/*
 * svm_dma.c: DMA addresses of mapped system pages. What is kept is a *slot*:
 * the address, with SVM_DMA_RO if the device may only read; 0: none.
 */
#define SVM_DMA_RO	1ul
#define SVM_DMA_ADDR(slot)	((slot) & ~(dma_addr_t)SVM_DMA_RO)

/* A slot, or DMA_MAPPING_ERROR. */
dma_addr_t svm_dma_map(struct device *dev, struct page *page, bool writable);
void svm_dma_unmap(struct device *dev, dma_addr_t slot);
void svm_dma_init(struct svm_gpu *gpu);
void svm_dma_fini(struct svm_gpu *gpu, struct device *dev);
/* Room for @iv, so that svm_dma_set() cannot fail. 0 or -ENOMEM. */
int svm_dma_reserve(struct svm_gpu *gpu, struct svm_interval iv);
/*
 * Remember the slots of @iv; what was there is unmapped. The
 * GPU does not use it any more. Room reserved; the range's lock held.
 */
void svm_dma_set(struct svm_gpu *gpu, struct device *dev,
		 struct svm_interval iv, const dma_addr_t *addrs);
/* Unmap what is there. The range's lock held. */
void svm_dma_clear(struct svm_gpu *gpu, struct device *dev,
		   struct svm_interval iv);
/* Free chunks of @iv that no range needs any more. svms->lock held. */
void svm_dma_trim(struct svm_range_list *svms, struct svm_interval iv);

#endif /* SVM_MAP_H */
