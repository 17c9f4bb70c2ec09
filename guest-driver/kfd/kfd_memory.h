/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that user space names: how it is mapped, shared and given to the CPU. */
#ifndef KFD_MEMORY_H
#define KFD_MEMORY_H

#include <linux/types.h>

struct dma_buf;
struct kfd_process_device;
struct kgd_mem;

/**
 * kfd_memory_map() - map memory in the address spaces of GPUs
 * @mem: memory
 * @pdds: state of one process on each GPU; each has an address space
 * @n: their number, at least one
 * @done: in how many of them it is mapped on return, from the first on, also after an error
 *
 * Memory that is mapped in a VM already stays as it is.
 *
 * Context: kfd_process.mutex is held, no reservation. Takes the locks of svm_claim().
 *
 * Return: 0, -EADDRINUSE an SVM range overlaps the addresses, or an error of
 * kgd_mem_map_check(), svm_claim() or kgd_mem_map().
 */
int kfd_memory_map(struct kgd_mem *mem, struct kfd_process_device **pdds, u32 n,
		   u32 *done);

/* kfd_dmabuf.c */
/*
 * The dma-buf of @mem, referenced, which may be written if the memory may, or
 * if @write; or ERR_PTR(): -EINVAL doorbells, MMIO, -ENOMEM. Mutex held.
 */
struct dma_buf *kgd_mem_export(struct kgd_mem *mem, bool write);

#endif /* KFD_MEMORY_H */
