// SPDX-License-Identifier: GPL-2.0
/*
 * Saves and restores the BOs of a checkpoint. User space itself saves and restores the contents
 * of VRAM and GTT, through the dma-bufs that this file exports.
 */
#include <linux/dma-buf.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/overflow.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_prime.h>

#include "kfd/memory/kfd_memory.h"
#include "mm/vgpu_bo.h"
#include "mm/vgpu_userptr.h"
#include "process/kfd_mem.h"
#include "process/kfd_node.h"
#include "process/kfd_process.h"
#include "process/kfd_uapi.h"
#include "vm/vgpu_vm_bo.h"
#include "kfd_criu_image.h"
#include "kfd_criu_priv.h"

/*
 * Return true if the BO is imported, or if another struct kgd_mem uses the BO. A checkpoint cannot
 * record which other process shares a BO.
 */
static bool bo_is_shared(struct kgd_mem *mem)
{
	bool shared;

	if (kgd_mem_is_bar(mem))
		return false;
	ttm_bo_reserve(&mem->bo->tbo, false, false, NULL);
	shared = !list_is_singular(&mem->bo->users);
	ttm_bo_unreserve(&mem->bo->tbo);
	return shared || mem->is_imported;
}

int kfd_criu_count_bos(struct kfd_process *p)
{
	struct kgd_mem *mem;
	int id, n = 0;
	u32 i;

	for (i = 0; i < p->n_pdds; i++) {
		if (p->pdds[i]->vm && vgpu_vm_has_va(p->pdds[i]->vm)) {
			dev_warn(p->pdds[i]->node->vdev->drm.dev,
				 "pid %d cannot be checkpointed: it has mapped memory by the render node\n",
				 p->lead_thread->pid);
			return -EOPNOTSUPP;
		}
		idr_for_each_entry(&p->pdds[i]->alloc_idr, mem, id) {
			if (bo_is_shared(mem)) {
				dev_warn(p->pdds[i]->node->vdev->drm.dev,
					 "pid %d cannot be checkpointed: it shares memory at 0x%llx by a dma-buf\n",
					 p->lead_thread->pid, mem->va);
				return -EOPNOTSUPP;
			}
			n++;
		}
	}
	return n;
}

static bool bo_has_dmabuf(const struct kgd_mem *mem)
{
	return !kgd_mem_is_bar(mem) && !mem->bo->userptr;
}

/*
 * Return the offset at which user space maps the BO with mmap(): in /dev/kfd for doorbells and
 * MMIO, otherwise in the render node.
 */
static u64 bo_mmap_offset(const struct kfd_process_device *pdd,
			  const struct kgd_mem *mem)
{
	if (mem->domain == AMDGPU_GEM_DOMAIN_DOORBELL)
		return KFD_MMAP_TYPE_DOORBELL |
		       KFD_MMAP_GPU_ID(pdd->node->gpu_id);
	if (kgd_mem_is_bar(mem))
		return kfd_mmio_mmap_offset(pdd->node);
	return vgpu_bo_mmap_offset(mem->bo);
}

static int bo_get_file(struct kgd_mem *mem, bool write,
		       struct kfd_criu_bo_bucket *bucket, struct file **file)
{
	struct dma_buf *dmabuf;
	int fd;

	bucket->dmabuf_fd = KFD_CRIU_NO_FD;
	if (!bo_has_dmabuf(mem))
		return 0;
	dmabuf = kgd_mem_export(mem, write);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		dma_buf_put(dmabuf);
		return fd;
	}
	bucket->dmabuf_fd = fd;
	*file = dmabuf->file;
	return 0;
}

static u64 bo_mapped(struct kfd_process *p, const struct kgd_mem *mem)
{
	struct kfd_mem_attachment *att;
	u64 mapped = 0;
	int gpu;

	BUILD_BUG_ON(KFD_MAX_GPU_INSTANCE > 64);

	list_for_each_entry(att, &mem->attachments, mem_link) {
		gpu = kfd_process_gpuidx(p, att->pdd->node->vdev);
		mapped |= BIT_ULL(gpu);
	}
	return mapped;
}

int kfd_criu_save_bos(struct kfd_process *p,
		      struct kfd_criu_bo_bucket *buckets,
		      struct kfd_criu_bo *bos, struct file **files)
{
	struct kfd_process_device *pdd;
	struct kgd_mem *mem;
	int id, ret;
	u32 i;

	for (i = 0; i < p->n_pdds; i++) {
		pdd = p->pdds[i];
		idr_for_each_entry(&pdd->alloc_idr, mem, id) {
			buckets->addr = mem->va;
			buckets->size = mem->bo->tbo.base.size;
			buckets->offset = bo_mmap_offset(pdd, mem);
			buckets->gpu_id = pdd->gpu_id;
			buckets->alloc_flags = mem->alloc_flags;
			bos->id = id;
			bos->mapped = bo_mapped(p, mem);
			if (mem->bo->userptr)
				bos->user_addr = vgpu_userptr_addr(mem->bo);
			ret = bo_get_file(mem, false, buckets, files);
			if (ret)
				return ret;
			buckets++;
			bos++;
			files++;
		}
	}
	return 0;
}

static int bo_map(struct kgd_mem *mem, u64 mapped,
		  struct kfd_process_device *const *pdds, u32 n_pdds)
{
	struct kfd_process_device *on[KFD_MAX_GPU_INSTANCE];
	u32 i, done, n = 0;

	if (n_pdds < 64 && mapped >> n_pdds)
		return -EINVAL;
	for (i = 0; i < n_pdds; i++) {
		if (!(mapped & BIT_ULL(i)))
			continue;
		if (!pdds[i]->vm)
			return -EINVAL;
		on[n++] = pdds[i];
	}
	return n ? kfd_memory_map(mem, on, n, &done) : 0;
}

/*
 * Create a BO of the checkpoint, with the same handle. If a later step of RESTORE fails,
 * kgd_mem_free_all() frees the BO.
 */
static int bo_create(struct kfd_process_device *pdd,
		     const struct kfd_criu_bo_bucket *bucket,
		     const struct kfd_criu_bo *s, struct kgd_mem **out)
{
	u64 size = bucket->size;
	struct kgd_mem *mem;
	u32 id = s->id;
	int ret;

	if (id > INT_MAX || s->pad)
		return -EINVAL;
	/*
	 * The BO of an AQL ring has half of the size that user space requested. kgd_mem_create()
	 * expects the requested size.
	 */
	if (bucket->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM &&
	    check_shl_overflow(size, 1, &size))
		return -EINVAL;
	ret = kgd_mem_create(pdd, bucket->addr, size, bucket->alloc_flags,
			     s->user_addr, true, &mem);
	if (ret)
		return ret;
	ret = idr_alloc_u32(&pdd->alloc_idr, mem, &id, id, GFP_KERNEL);
	if (ret) {
		kgd_mem_destroy(pdd, mem);
		/* As in amdkfd, return -ENOMEM also if another BO has the handle (-ENOSPC). */
		return -ENOMEM;
	}
	if (mem->domain == AMDGPU_GEM_DOMAIN_VRAM)
		atomic64_add(mem->bo->tbo.base.size, &pdd->vram_usage);
	*out = mem;
	return 0;
}

int kfd_criu_restore_bos(struct kfd_process *p,
			 struct kfd_process_device *const *pdds, u32 n_pdds,
			 struct kfd_criu_bo_bucket *buckets,
			 const struct kfd_criu_bo *bos, u32 n,
			 struct file **files)
{
	struct kfd_process_device *pdd;
	struct kgd_mem *mem;
	int ret;
	u32 i;

	for (i = 0; i < n; i++) {
		pdd = kfd_process_device_by_gpu_id(p, buckets[i].gpu_id);
		if (!pdd)
			return -ENODEV;
		if (!pdd->vm)
			return -EINVAL;
		ret = bo_create(pdd, &buckets[i], &bos[i], &mem);
		if (!ret)
			ret = bo_map(mem, bos[i].mapped, pdds, n_pdds);
		if (!ret)
			ret = bo_get_file(mem, true, &buckets[i], &files[i]);
		if (ret)
			return ret;
		if (!mem->bo->userptr)
			buckets[i].restored_offset = bo_mmap_offset(pdd, mem);
	}
	return 0;
}

void kfd_criu_commit_files(struct file **files,
			   const struct kfd_criu_bo_bucket *buckets, u32 n,
			   int err)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (!files[i])
			continue;
		if (err) {
			put_unused_fd(buckets[i].dmabuf_fd);
			fput(files[i]);
		} else {
			fd_install(buckets[i].dmabuf_fd, files[i]);
		}
	}
}
