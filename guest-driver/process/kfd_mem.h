/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of ALLOC_MEMORY_OF_GPU: struct kgd_mem and its mappings. Functions are documented
 * where they are defined.
 */
#ifndef KFD_MEM_H
#define KFD_MEM_H

#include <linux/kfd_ioctl.h>
#include <linux/list.h>
#include <linux/types.h>

struct amdkfd_process_info;
struct dma_buf;
struct drm_amdgpu_gem_va;
struct drm_file;
struct drm_printer;
struct kfd_node;
struct kfd_process;
struct kfd_process_device;
struct vgpu_bo;
struct vgpu_bo_set;
struct vgpu_device;
struct vgpu_vm_bo;

/**
 * struct kfd_mem_attachment - a BO mapped in a VM
 *
 * kfd_process.mutex protects all members.
 */
struct kfd_mem_attachment {
	/** @mem: the memory */
	struct kgd_mem *mem;
	/** @pdd: state of the process on the GPU whose VM maps @mem */
	struct kfd_process_device *pdd;
	/** @mem_link: link in kgd_mem.attachments */
	struct list_head mem_link;
	/** @vm_link: link in kfd_process_device.attachments */
	struct list_head vm_link;
	/** @vbo: the mapping in the VM */
	struct vgpu_vm_bo *vbo;
	/** @va: GPU address of the mapping's first byte */
	u64 va;
	/** @size: length of the mapping in bytes */
	u64 size;
	/** @fresh: true until kgd_mem_map() has written the page-table entries of the mapping */
	bool fresh;
	/** @queue_refcount: number of queues that use the mapping, and so prevent its unmapping */
	unsigned int queue_refcount;
};

/**
 * struct kgd_mem - memory of a process: an allocation, an import, or a BO mapped by ioctl GEM_VA
 *
 * A member that names no lock is protected by kfd_process.mutex, or does not change after creation.
 */
struct kgd_mem {
	/**
	 * @bo: the BO, referenced. Several struct kgd_mem may share a BO of one of these kinds:
	 * doorbells; the MMIO page; a BO with a dma-buf; a BO with a GEM handle
	 */
	struct vgpu_bo *bo;
	/**
	 * @bo_link: link in vgpu_bo.users, except for doorbells and the MMIO page; protected by the
	 * BO's reservation
	 */
	struct list_head bo_link;
	/**
	 * @attachments: list of struct kfd_mem_attachment: one for each VM that maps the memory, or
	 * two for each VM if @aql_queue is set; empty if @gem is set
	 */
	struct list_head attachments;
	/** @validate_list: link in amdkfd_process_info.kfd_bo_list */
	struct list_head validate_list;
	/** @domain: domain of the BO: AMDGPU_GEM_DOMAIN_* or VGPU_GEM_DOMAIN_MMIO_REMAP */
	u32 domain;
	/**
	 * @mapped_to_gpu_memory: number of mappings; if @gem is set, only those that the ioctl
	 * GEM_VA has created. Written with kfd_process.mutex and the BO's reservation held, read
	 * with one of the two held
	 */
	unsigned int mapped_to_gpu_memory;
	/** @va: GPU address in every VM that maps the memory; unused if @gem is set */
	u64 va;
	/** @alloc_flags: KFD_IOC_ALLOC_MEM_FLAGS_* */
	u32 alloc_flags;
	/** @process_info: kfd_process.kgd_process_info of the process */
	struct amdkfd_process_info *process_info;
	/**
	 * @aql_queue: true if each VM maps the memory twice, at adjacent addresses, so that packets
	 * of a ring need not wrap
	 */
	bool aql_queue;
	/** @dmabuf: dma-buf of the import or export, referenced, or NULL */
	struct dma_buf *dmabuf;
	/** @is_imported: true for an import. (@dmabuf is set for an export, too.) */
	bool is_imported;
	/**
	 * @gem: NULL for an allocation or import. Otherwise the ioctl GEM_VA has mapped the BO in
	 * the VM of this kfd_process_device (kfd_mem_gem.c), and user space has no KFD handle of
	 * the memory
	 */
	struct kfd_process_device *gem;
	/**
	 * @invalid: true if the last look-up of a user pointer's pages found no memory, or if there
	 * was no look-up yet. While true, kfd_userptr_place() unbinds the BO, and no entries are
	 * written
	 */
	bool invalid;
};

/* kfd_mem.c */
int kgd_mem_create(struct kfd_process_device *pdd, u64 va, u64 size, u32 flags,
		   u64 user_addr, bool later, struct kgd_mem **out);
/* Time limit for kgd_mem_map() and GEM_VA to wait for VRAM for page tables, in jiffies. */
#define KGD_MEM_TABLES_PATIENCE	(10 * HZ)
int kgd_mem_make_table_room(struct vgpu_device *vdev, unsigned int frees,
			    unsigned long until);
u32 kgd_mem_gem_domain(const struct vgpu_bo *bo);
bool kgd_mem_is_bar(const struct kgd_mem *mem);
extern const struct vgpu_bo_owner_ops kgd_mem_owner_ops;
struct kgd_mem *kgd_mem_new(struct kfd_process_device *pdd, u32 domain, u64 va,
			    u32 flags);
void kgd_mem_link(struct kgd_mem *mem);
void kgd_mem_unlink(struct kgd_mem *mem);
void kgd_mem_add_to_process(struct kgd_mem *mem);
void kgd_mem_destroy(struct kfd_process_device *owner, struct kgd_mem *mem);
void kgd_mem_free_all(struct kfd_process *p);
struct kfd_process_device *
kfd_mem_by_handle(struct kfd_process *p, u64 handle, struct kgd_mem **mem);

/* kfd_mem_map.c */
int kgd_mem_map_check(struct kgd_mem *mem, struct kfd_process_device **pdds,
		      u32 n, u32 *done);
int kgd_mem_map(struct kgd_mem *mem, struct kfd_process_device **pdds, u32 n,
		u32 *done);
int kgd_mem_unmap(struct kgd_mem *mem, struct kfd_process_device *pdd);
void kgd_mem_unfence(struct kgd_mem *mem);
struct kfd_mem_attachment *kgd_mem_find(struct kfd_process_device *pdd, u64 va);

/* kfd_mem_validate.c */
int kgd_mem_validate(struct kgd_mem *mem);
int kgd_mem_update(struct kgd_mem *mem);
int kgd_mem_find_pages(struct kfd_process *p);
bool kgd_mem_pages_missing(struct kfd_process *p);
int kgd_mem_await_sent(struct amdkfd_process_info *info);
int kgd_mem_validate_all(struct kfd_process *p, bool again);

/* kfd_mem_gem.c: BOs that GEM_VA of the render node maps in a process's address space */
struct kfd_process_device *kfd_mem_gem_device(struct vgpu_device *vdev,
					      const struct drm_file *file,
					      u16 pasid);
int kfd_mem_gem_va_locked(struct kfd_process_device *pdd, struct vgpu_bo *bo,
			  const struct drm_amdgpu_gem_va *args, u64 pte_flags);
void kfd_gem_close(struct vgpu_device *vdev, struct drm_file *file, u16 pasid,
		   struct vgpu_bo *bo);
void kfd_gem_free_all(struct kfd_process *p);

/* kfd_mem_userptr.c */
int kfd_userptr_create(struct kfd_process_device *pdd, struct kgd_mem *mem,
		       u64 addr, u64 size, bool later);
int kfd_userptr_prepare(struct kgd_mem *mem);
int kfd_userptr_place(struct kgd_mem *mem);

/* kfd_mem_limit.c */
int kfd_mem_limit_reserve(struct kfd_node *node, u32 domain, u64 size);
void kfd_mem_limit_unreserve(struct vgpu_device *vdev, u32 domain, u64 size);
void kfd_mem_limit_detach(struct kfd_node *node);

/* kfd_mem_info.c */
int kfd_file_memory(struct vgpu_device *vdev, struct drm_file *file,
		    struct vgpu_bo_set *set, u64 *tables);
void kfd_print_vms(struct vgpu_device *vdev, struct drm_printer *printer);

/* kfd_doorbell.c */
int kfd_doorbell_alloc(struct kfd_process_device *pdd);
void kfd_doorbell_free(struct kfd_process_device *pdd);

#endif /* KFD_MEM_H */
