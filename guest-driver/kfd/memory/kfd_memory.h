/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that user space allocates and refers to through a handle. GPUs map this memory, dma-bufs
 * share it, and the CPU maps doorbells and the MMIO page through /dev/kfd. Functions are documented
 * where they are defined.
 */
#ifndef KFD_MEMORY_H
#define KFD_MEMORY_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct dma_buf;
struct file;
struct kfd_node;
struct kfd_process;
struct kfd_process_device;
struct kgd_mem;
struct vm_area_struct;
struct vm_fault;

/* kfd_memory.c */
int kfd_memory_map(struct kgd_mem *mem, struct kfd_process_device **pdds, u32 n,
		   u32 *done);

/* kfd_dmabuf.c */
struct dma_buf *kgd_mem_export(struct kgd_mem *mem, bool write);
int kfd_ioctl_get_dmabuf_info(struct kfd_process *p, void *data);
int kfd_ioctl_import_dmabuf(struct kfd_process *p, void *data);
int kfd_ioctl_export_dmabuf(struct kfd_process *p, void *data);

/* kfd_mmap.c */
int kfd_mmap_init(void);
void kfd_mmap_exit(void);
void kfd_mmap_adopt(struct file *filp);
vm_fault_t kfd_fault_insert(struct vm_fault *vmf, struct kfd_node *node, phys_addr_t addr);
void kfd_mmap_zap(u64 offset, u64 size);
void kfd_doorbell_zap(struct kfd_process_device *pdd);
void kfd_mmap_zap_node(const struct kfd_node *node);
int kfd_doorbell_mmap(struct kfd_process_device *pdd,
		      struct vm_area_struct *vma);

/* kfd_mmio.c */
int kfd_mmio_init(struct kfd_node *node);
void kfd_mmio_fini(struct kfd_node *node);
u64 kfd_mmio_mmap_offset(const struct kfd_node *node);
void kfd_mmio_zap(const struct kfd_node *node);
int kfd_mmio_mmap(struct kfd_process_device *pdd, struct vm_area_struct *vma);

#endif /* KFD_MEMORY_H */
