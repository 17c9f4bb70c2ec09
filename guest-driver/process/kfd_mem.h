/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of ALLOC_MEMORY_OF_GPU: kgd_mem and its mappings. */
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
 * @mem: the memory
 * @pdd: whose VM
 * @mem_link: in kgd_mem.attachments
 * @vm_link: in kfd_process_device.attachments
 * @vbo: the mapping
 * @va: its first byte
 * @size: its length in bytes
 * @fresh: the call that makes it is not done yet
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
	bool fresh;
	unsigned int queue_refcount;
};

/**
 * struct kgd_mem - memory that user space has a handle of
 * @bo: the memory itself, referenced; a doorbell slice and the MMIO page are
 *      shared by all struct kgd_mem of that kind, what was imported by all who
 *      have it
 * @bo_link: in vgpu_bo.users, unless it is one of those two; the BO's
 *           reservation
 * @attachments: struct kfd_mem_attachment, two for a VM if @aql_queue
 * @validate_list: in amdkfd_process_info.kfd_bo_list
 * @domain: AMDGPU_GEM_DOMAIN_* or VGPU_GEM_DOMAIN_MMIO_REMAP: where it belongs
 * @mapped_to_gpu_memory: number of @attachments; changed with the BO's
 *                        reservation held as well, for eviction decisions
 * @va: address in every VM that maps it
 * @alloc_flags: KFD_IOC_ALLOC_MEM_FLAGS_*
 * @process_info: the process's BOs
 * @aql_queue: mapped twice in a row, so that a ring need not wrap
 * @dmabuf: what it was imported from or has been exported as, referenced, or
 *          NULL
 * @is_imported: from a dma-buf
 * @gem: the render node's file maps it in this VM (kfd_mem_gem.c): there is no
 *       handle, and no @attachments; @mapped_to_gpu_memory counts those mappings.
 *       NULL: KFD's
 * @invalid: user pointer: how often it was invalidated; atomic
 * @gone: user pointer: there was no memory when it was last looked for
 *
 * Fixed after creation or under kfd_process.mutex.
 */
struct kgd_mem {
	struct vgpu_bo *bo;
	struct list_head bo_link;
	struct list_head attachments;
	struct list_head validate_list;
	u32 domain;
	unsigned int mapped_to_gpu_memory;
	u64 va;
	u32 alloc_flags;
	struct amdkfd_process_info *process_info;
	bool aql_queue;
	struct dma_buf *dmabuf;
	bool is_imported;
	struct kfd_process_device *gem;
	unsigned int invalid;
	bool gone;
};

/*
 * All with kfd_process.mutex held.
 *
 * Create memory of @size bytes for @va on @pdd, whose VM exists. @user_addr: of
 * a user pointer, whose pages are looked for @later or now. 0 or -EINVAL flags,
 * size or address that cannot be, -ENOMEM, -ERESTARTSYS; user pointers: as
 * vgpu_userptr_create() and _prepare().
 */
int kgd_mem_create(struct kfd_process_device *pdd, u64 va, u64 size, u32 flags,
		   u64 user_addr, bool later, struct kgd_mem **out);
/* How long a call waits for VRAM for page tables. */
#define KGD_MEM_TABLES_PATIENCE	(10 * HZ)
/*
 * A call that needs page tables in VRAM of @vdev has ended with -ENOMEM. @frees:
 * vgpu_vram_mgr_frees() before it; @until: end of all attempts, jiffies. Have BOs make room,
 * or wait for who keeps or frees VRAM: 0, another attempt makes sense. -ENOMEM: nothing can
 * leave, the call lacked something else, or the time is over; -ERESTARTSYS. No reservation
 * held.
 */
int kgd_mem_make_table_room(struct vgpu_device *vdev, unsigned int frees,
			    unsigned long until);
/* Where a BO belongs that somebody else has created; 0: to no GPU. */
u32 kgd_mem_gem_domain(const struct vgpu_bo *bo);
/* The doorbells, or the MMIO page. */
bool kgd_mem_is_bar(const struct kgd_mem *mem);
extern const struct vgpu_bo_owner_ops kgd_mem_owner_ops;
/*
 * For what is no allocation: one without BO, or NULL; when it has its BO, make
 * that know it.
 */
struct kgd_mem *kgd_mem_new(struct kfd_process_device *pdd, u32 domain, u64 va,
			    u32 flags);
void kgd_mem_link(struct kgd_mem *mem);
void kgd_mem_unlink(struct kgd_mem *mem);
/* Not mapped any more. Revokes mmap and drops the BO. */
void kgd_mem_destroy(struct kfd_process_device *owner, struct kgd_mem *mem);
/* Teardown: unmap everywhere and destroy everything of the process. */
void kgd_mem_free_all(struct kfd_process *p);
/*
 * The memory that user space knows by @handle, in *@mem (NULL: none), and the process's
 * state on the GPU that it is of, or NULL.
 */
struct kfd_process_device *
kfd_mem_by_handle(struct kfd_process *p, u64 handle, struct kgd_mem **mem);

/* kfd_mem_map.c; the first two are documented there. */
int kgd_mem_map_check(struct kgd_mem *mem, struct kfd_process_device **pdds,
		      u32 n, u32 *done);
int kgd_mem_map(struct kgd_mem *mem, struct kfd_process_device **pdds, u32 n,
		u32 *done);
/* 0 or -EINVAL not mapped there, -EBUSY a queue uses it. */
int kgd_mem_unmap(struct kgd_mem *mem, struct kfd_process_device *pdd);
/* After a mapping has gone: the eviction fence, with the last. Reservation held. */
void kgd_mem_unfence(struct kgd_mem *mem);
/* The mapping that @va lies in, or NULL. */
struct kfd_mem_attachment *kgd_mem_find(struct kfd_process_device *pdd, u64 va);

/*
 * kfd_mem_validate.c
 *
 * Bring the BO to a place, wait for its contents, repair its mappings. Reservation held,
 * without a ticket. 0 or -ENOMEM, -ERESTARTSYS.
 */
int kgd_mem_validate(struct kgd_mem *mem);
/* Of that the last step alone. 0 or -ERESTARTSYS. */
int kgd_mem_update(struct kgd_mem *mem);
/*
 * Look up the pages of all mapped user pointers, for kgd_mem_validate_all(). Mutex held,
 * and no lock that other processes need: waits for the process's mmap_lock and page-ins,
 * without limit. Returns 0, or an error of vgpu_userptr_prepare() except -EFAULT.
 */
int kgd_mem_find_pages(struct kfd_process *p);
/* Return whether kgd_mem_find_pages() has pages to look up. Mutex held; does not wait. */
bool kgd_mem_pages_missing(struct kfd_process *p);
/*
 * Bring every mapped BO of the process to a place, with the eviction fence, and
 * its page tables up to date. The caller has made the eviction fence and then called
 * kgd_mem_find_pages(): an invalidation of these pages signals the fence. @again: return
 * -EAGAIN when the fence has signalled; the caller begins anew. Returns 0, -ENOMEM or
 * -ERESTARTSYS.
 */
int kgd_mem_validate_all(struct kfd_process *p, bool again);

/*
 * kfd_mem_gem.c: BOs of the render node in a process's address space; the first two are
 * documented there.
 */
struct kfd_process_device *kfd_mem_gem_device(struct vgpu_device *vdev,
					      const struct drm_file *file,
					      u16 pasid);
int kfd_mem_gem_va_locked(struct kfd_process_device *pdd, struct vgpu_bo *bo,
			  const struct drm_amdgpu_gem_va *args, u64 pte_flags);
/* The file's last handle of the BO has gone: so do its mappings. */
void kfd_gem_close(struct vgpu_device *vdev, struct drm_file *file, u16 pasid,
		   struct vgpu_bo *bo);
/* Teardown: what the render node's files have mapped. Mutex held. */
void kfd_gem_free_all(struct kfd_process *p);

/*
 * kfd_mem_userptr.c: user pointers. The first makes the BO of a new kgd_mem, with
 * its share of the limit, and finds its pages, unless that is for @later.
 */
int kfd_userptr_create(struct kfd_process_device *pdd, struct kgd_mem *mem,
		       u64 addr, u64 size, bool later);
/* Find the pages again; no reservation held. Memory that is not there: 0. */
int kfd_userptr_prepare(struct kgd_mem *mem);
/* Then, reservation held: bind them, or clear the entries. 0, -EAGAIN, … */
int kfd_userptr_place(struct kgd_mem *mem);

/*
 * kfd_mem_limit.c: what KFD's BOs may take of the system's memory. @domain:
 * AMDGPU_GEM_DOMAIN_VRAM, _GTT; others cost nothing. 0 or -ENOMEM; no locks.
 */
int kfd_mem_limit_reserve(struct kfd_node *node, u32 domain, u64 size);
void kfd_mem_limit_unreserve(struct vgpu_device *vdev, u32 domain, u64 size);
/* The node goes; BOs that a CPU mapping keeps may outlive it. */
void kfd_mem_limit_detach(struct kfd_node *node);

/*
 * kfd_mem_info.c. What the process that has @file's address space allocated on
 * @vdev is added to @set; *@tables: bytes of its page tables. Returns its PASID,
 * 0 if there is none such, -ENOMEM, -EINTR. No locks held.
 */
int kfd_file_memory(struct vgpu_device *vdev, struct drm_file *file,
		    struct vgpu_bo_set *set, u64 *tables);
/* Every process's address space on @vdev. No locks held. */
void kfd_print_vms(struct vgpu_device *vdev, struct drm_printer *printer);

/* kfd_doorbell.c. Make sure the process has its slice. Mutex held. 0, -ENOMEM, -ENOSPC. */
int kfd_doorbell_alloc(struct kfd_process_device *pdd);
/* After kfd_doorbell_zap(), so that no process has it mapped. */
void kfd_doorbell_free(struct kfd_process_device *pdd);

#endif /* KFD_MEM_H */
