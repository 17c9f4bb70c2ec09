/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of ALLOC_MEMORY_OF_GPU: kgd_mem and its mappings. */
#ifndef KFD_MEM_H
#define KFD_MEM_H

#include <linux/list.h>
#include <linux/types.h>

struct amdkfd_process_info;
struct kfd_node;
struct kfd_process;
struct kfd_process_device;
struct vgpu_bo;
struct vgpu_device;
struct vgpu_vm_bo;

/**
 * struct kfd_mem_attachment - a BO mapped in a VM
 * @mem: the memory
 * @pdd: whose VM
 * @mem_link: in kgd_mem.attachments
 * @vm_link: in kfd_process_device.attachments
 * @vbo: the mapping
 * @va: its first byte
 * @size: its length in bytes
 * @queue_refcount: queues that use it; it cannot be unmapped then
 *
 * All under kfd_process.mutex.
 */
struct kfd_mem_attachment {
	struct kgd_mem *mem;
	struct kfd_process_device *pdd;
	struct list_head mem_link;
	struct list_head vm_link;
	struct vgpu_vm_bo *vbo;
	u64 va;
	u64 size;
	unsigned int queue_refcount;
};

/**
 * struct kgd_mem - memory that user space has a handle of
 * @bo: the memory itself, referenced; a doorbell slice is shared by all
 *      struct kgd_mem of that kind
 * @attachments: struct kfd_mem_attachment, two for a VM if @aql_queue
 * @validate_list: in amdkfd_process_info.kfd_bo_list
 * @domain: AMDGPU_GEM_DOMAIN_* where it belongs
 * @mapped_to_gpu_memory: number of @attachments; changed with the BO's
 *                        reservation held as well, for eviction decisions
 * @va: address in every VM that maps it
 * @alloc_flags: KFD_IOC_ALLOC_MEM_FLAGS_*
 * @process_info: the process's BOs
 * @aql_queue: mapped twice in a row, so that a ring need not wrap
 *
 * Fixed after creation or under kfd_process.mutex.
 */
struct kgd_mem {
	struct vgpu_bo *bo;
	struct list_head attachments;
	struct list_head validate_list;
	u32 domain;
	unsigned int mapped_to_gpu_memory;
	u64 va;
	u32 alloc_flags;
	struct amdkfd_process_info *process_info;
	bool aql_queue;
};

/*
 * All with kfd_process.mutex held.
 *
 * Create memory of @size bytes for @va on @pdd, whose VM exists. 0 or
 * -EINVAL flags or size that cannot be, -ENODEV user pointers (not there),
 * -ENOMEM, -ERESTARTSYS.
 */
int kgd_mem_create(struct kfd_process_device *pdd, u64 va, u64 size, u32 flags,
		   struct kgd_mem **out);
/* Not mapped any more. Revokes mmap and drops the BO. */
void kgd_mem_destroy(struct kfd_process_device *owner, struct kgd_mem *mem);

/*
 * Map in the VM of @pdd; mapped already is fine. 0 or -EINVAL address that
 * cannot be or is taken, or memory that the GPU does not reach, -EADDRINUSE
 * SVM range, -ENOMEM, -ERESTARTSYS.
 */
int kgd_mem_map(struct kgd_mem *mem, struct kfd_process_device *pdd);
/* 0 or -EINVAL not mapped there, -EBUSY a queue uses it. */
int kgd_mem_unmap(struct kgd_mem *mem, struct kfd_process_device *pdd);

/* Teardown: unmap everywhere and destroy everything of the process. */
void kgd_mem_free_all(struct kfd_process *p);

/*
 * Bring every mapped BO of the process to a place and its page tables up to
 * date, and keep them so from now on; for the first queue. 0 or -ENOMEM,
 * -ERESTARTSYS; then nothing is kept.
 */
int kgd_mem_make_resident(struct kfd_process *p);
/* The last queue is gone: BOs may be evicted. */
void kgd_mem_release_resident(struct kfd_process *p);

/* The mapping that @va lies in, or NULL. */
struct kfd_mem_attachment *kgd_mem_find(struct kfd_process_device *pdd, u64 va);

/*
 * kfd_mem_limit.c: what KFD's BOs may take of the system's memory. @domain:
 * AMDGPU_GEM_DOMAIN_VRAM, _GTT; others cost nothing. 0 or -ENOMEM; no locks.
 */
int kfd_mem_limit_reserve(struct kfd_node *node, u32 domain, u64 size);
void kfd_mem_limit_unreserve(struct vgpu_device *vdev, u32 domain, u64 size);
/* The node goes; BOs that a CPU mapping keeps may outlive it. */
void kfd_mem_limit_detach(struct kfd_node *node);

#endif /* KFD_MEM_H */
