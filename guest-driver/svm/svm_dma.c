// SPDX-License-Identifier: GPL-2.0
/*
 * Stores the DMA addresses of the system pages that a process's GPU page-table entries refer
 * to, until the entries are cleared. The slot of a page holds its DMA address (svm_map.h).
 */
#include <linux/slab.h>

#include "svm_map.h"
#include "svm_range.h"
#include "svm_tree.h"

/*
 * Slots of consecutive pages, which may belong to several ranges. svms->lock protects the
 * allocation and freeing of chunks. The lock of a range protects the slots of the range's pages.
 */
struct svm_dma_chunk {
	/*
	 * For each page, its DMA address, with SVM_DMA_RO if the device may only read; 0 if the
	 * page is not mapped for DMA.
	 */
	dma_addr_t addr[SVM_CHUNK_PAGES];
};

static struct svm_interval svm_dma_chunk_interval(unsigned long index)
{
	unsigned long first = index << SVM_CHUNK_ORDER;

	return (struct svm_interval){ first, first + SVM_CHUNK_PAGES - 1 };
}

/*
 * Skip the cache sync: CPU caches are coherent with the device. A sync would be wrong, too: other
 * GPUs may use the page at the same time.
 */
#define SVM_DMA_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

static enum dma_data_direction svm_dma_direction(bool writable)
{
	return writable ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
}

dma_addr_t svm_dma_map(struct device *dev, struct page *page, bool writable)
{
	dma_addr_t addr = dma_map_page_attrs(dev, page, 0, PAGE_SIZE,
					     svm_dma_direction(writable),
					     SVM_DMA_ATTRS);

	if (dma_mapping_error(dev, addr))
		return DMA_MAPPING_ERROR;
	return writable ? addr : addr | SVM_DMA_RO;
}

void svm_dma_unmap(struct device *dev, dma_addr_t slot)
{
	dma_unmap_page_attrs(dev, SVM_DMA_ADDR(slot), PAGE_SIZE,
			     svm_dma_direction(!(slot & SVM_DMA_RO)),
			     SVM_DMA_ATTRS);
}

static void svm_dma_replace(struct device *dev, dma_addr_t *slot,
			    dma_addr_t addr)
{
	if (*slot)
		svm_dma_unmap(dev, *slot);
	*slot = addr;
}

void svm_dma_init(struct svm_gpu *gpu)
{
	xa_init(&gpu->dma);
}

void svm_dma_fini(struct svm_gpu *gpu, struct device *dev)
{
	struct svm_dma_chunk *chunk;
	unsigned long index;
	unsigned int i;

	xa_for_each(&gpu->dma, index, chunk) {
		for (i = 0; i < SVM_CHUNK_PAGES; i++)
			svm_dma_replace(dev, &chunk->addr[i], 0);
		kfree(chunk);
	}
	xa_destroy(&gpu->dma);
	kfree(gpu->dma_spare);
}

/* Return a chunk of free slots, or NULL. */
static struct svm_dma_chunk *svm_dma_chunk_get(struct svm_gpu *gpu)
{
	struct svm_dma_chunk *chunk = xchg(&gpu->dma_spare, NULL);

	return chunk ? chunk : kzalloc(sizeof(*chunk), GFP_KERNEL);
}

void svm_dma_prepare(struct svm_gpu *gpu)
{
	struct svm_dma_chunk *chunk;

	if (READ_ONCE(gpu->dma_spare))
		return;
	chunk = kzalloc(sizeof(*chunk), GFP_NOWAIT | __GFP_NOWARN);
	/* Order the zeros before the pointer: no lock does so for svm_dma_chunk_get(). */
	smp_store_release(&gpu->dma_spare, chunk);
}

int svm_dma_reserve(struct svm_gpu *gpu, struct svm_interval iv)
{
	unsigned long index;
	int ret;

	for (index = iv.first >> SVM_CHUNK_ORDER;
	     index <= iv.last >> SVM_CHUNK_ORDER; index++) {
		struct svm_dma_chunk *chunk;

		if (xa_load(&gpu->dma, index))
			continue;
		chunk = svm_dma_chunk_get(gpu);
		if (!chunk)
			return -ENOMEM;
		ret = xa_err(xa_store(&gpu->dma, index, chunk, GFP_KERNEL));
		if (ret) {
			kfree(chunk);
			return ret;
		}
	}
	return 0;
}

void svm_dma_set(struct svm_gpu *gpu, struct device *dev,
		 struct svm_interval iv, const dma_addr_t *addrs)
{
	struct svm_interval part;

	for (; iv.first <= iv.last; iv.first = part.last + 1) {
		struct svm_dma_chunk *chunk = xa_load(&gpu->dma, iv.first >> SVM_CHUNK_ORDER);
		dma_addr_t *slot = &chunk->addr[iv.first % SVM_CHUNK_PAGES];
		const dma_addr_t *end;

		part = svm_window(iv.first, SVM_CHUNK_ORDER, iv);
		for (end = slot + svm_interval_pages(part); slot < end; slot++)
			svm_dma_replace(dev, slot, *addrs++);
	}
}

void svm_dma_clear(struct svm_gpu *gpu, struct device *dev,
		   struct svm_interval iv)
{
	struct svm_dma_chunk *chunk;
	unsigned long index;

	xa_for_each_range(&gpu->dma, index, chunk,
			  iv.first >> SVM_CHUNK_ORDER,
			  iv.last >> SVM_CHUNK_ORDER) {
		struct svm_interval c = svm_dma_chunk_interval(index);
		unsigned long page;

		for (page = max(c.first, iv.first);
		     page <= min(c.last, iv.last); page++)
			svm_dma_replace(dev, &chunk->addr[page - c.first], 0);
	}
}

void svm_dma_trim(struct svm_range_list *svms, struct svm_interval iv)
{
	unsigned int i;

	lockdep_assert_held(&svms->lock);

	for (i = 0; i < svms->n_gpus; i++) {
		struct xarray *dma = &svms->gpus[i].dma;
		struct svm_dma_chunk *chunk;
		unsigned long index;

		xa_for_each_range(dma, index, chunk,
				  iv.first >> SVM_CHUNK_ORDER,
				  iv.last >> SVM_CHUNK_ORDER) {
			struct svm_interval c = svm_dma_chunk_interval(index);

			if (svm_tree_first(svms, c))
				continue;
			xa_erase(dma, index);
			kfree(chunk);
		}
	}
}
