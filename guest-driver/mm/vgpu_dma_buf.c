// SPDX-License-Identifier: GPL-2.0
/*
 * Exports BOs to other devices as dma-bufs, and imports dma-bufs of other devices as BOs. An
 * exported BO may be in VRAM only if all its importers reach this VRAM, peer to peer over PCI.
 */
#include <linux/dma-buf.h>
#include <linux/module.h>
#include <linux/pci-p2pdma.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_drv.h>
#include <drm/drm_prime.h>
#include <kunit/visibility.h>

#include "hw/vgpu_hw.h"
#include "vgpu_mm_priv.h"
#include "vgpu_res_cursor.h"

MODULE_IMPORT_NS(DMA_BUF);

#define DOMAINS_SHARED	(AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT)

/* Limit of the length of an sg_table's entry, in bytes; a multiple of the page size. */
#define MAX_SEGMENT	((u64)SZ_2G)

/**
 * struct vgpu_attachment - an importer of a BO
 */
struct vgpu_attachment {
	/**
	 * @link: in vgpu_bo_state.attachments. The list in gem->dma_buf is not used: the DRM core
	 * clears gem->dma_buf when the BO's last handle is closed, although importers may remain
	 */
	struct list_head link;
	/** @attach: the importer */
	struct dma_buf_attachment *attach;
};

/* The functions below export BOs of this driver to other devices. */

static struct vgpu_bo *attached_bo(const struct dma_buf_attachment *attach)
{
	return gem_to_vgpu_bo(attach->dmabuf->priv);
}

/**
 * vgpu_dma_buf_vram_ok() - whether a BO may be in VRAM
 * @bo: BO, reservation held
 *
 * Return: false if the BO is an import or a user pointer, or if one of the BO's importers does not
 * reach VRAM.
 */
bool vgpu_dma_buf_vram_ok(struct vgpu_bo *bo)
{
	struct vgpu_attachment *att;

	if (bo->tbo.type == ttm_bo_type_sg)
		return false;
	list_for_each_entry(att, &to_bo_state(bo)->attachments, link)
		if (!att->attach->peer2peer)
			return false;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_dma_buf_vram_ok);

/**
 * vgpu_dma_buf_moved() - notify importers that a BO is about to move
 * @bo: BO, reservation held
 *
 * Each importer drops its mapping of @bo, and requests a new mapping before the next use.
 */
void vgpu_dma_buf_moved(struct vgpu_bo *bo)
{
	struct vgpu_attachment *att;

	list_for_each_entry(att, &to_bo_state(bo)->attachments, link)
		if (att->attach->importer_ops)
			att->attach->importer_ops->move_notify(att->attach);
}

static int vgpu_dma_buf_attach(struct dma_buf *dma_buf,
			       struct dma_buf_attachment *attach)
{
	struct vgpu_bo *bo = attached_bo(attach);
	struct vgpu_attachment *att;

	att = kzalloc(sizeof(*att), GFP_KERNEL);
	if (!att)
		return -ENOMEM;
	if (attach->peer2peer &&
	    pci_p2pdma_distance(bo->vdev->pdev, attach->dev, false) < 0)
		attach->peer2peer = false;
	att->attach = attach;
	attach->priv = att;

	dma_resv_lock(dma_buf->resv, NULL);
	list_add_tail(&att->link, &to_bo_state(bo)->attachments);
	dma_resv_unlock(dma_buf->resv);
	return 0;
}

static void vgpu_dma_buf_detach(struct dma_buf *dma_buf,
				struct dma_buf_attachment *attach)
{
	struct vgpu_attachment *att = attach->priv;

	dma_resv_lock(dma_buf->resv, NULL);
	list_del(&att->link);
	dma_resv_unlock(dma_buf->resv);
	kfree(att);
}

/*
 * Returns the domains in which importers may use the BO. GTT is always allowed; VRAM is
 * allowed if it is in bo->domains and all importers reach it.
 */
static u32 vgpu_dma_buf_domain(struct vgpu_bo *bo)
{
	u32 domain = bo->domains & DOMAINS_SHARED;

	return vgpu_dma_buf_vram_ok(bo) ? domain | AMDGPU_GEM_DOMAIN_GTT :
					  AMDGPU_GEM_DOMAIN_GTT;
}

/* Called for importers that cannot follow a move. */
static int vgpu_dma_buf_pin(struct dma_buf_attachment *attach)
{
	struct vgpu_bo *bo = attached_bo(attach);

	return vgpu_bo_pin(bo, vgpu_dma_buf_domain(bo));
}

static void vgpu_dma_buf_unpin(struct dma_buf_attachment *attach)
{
	vgpu_bo_unpin(attached_bo(attach));
}

static struct sg_table *bo_map_system(struct vgpu_bo *bo, struct device *dev,
				      enum dma_data_direction dir)
{
	struct ttm_tt *ttm = bo->tbo.ttm;
	struct sg_table *sgt;
	int ret;

	sgt = drm_prime_pages_to_sg(&bo->vdev->drm, ttm->pages, ttm->num_pages);
	if (IS_ERR(sgt))
		return sgt;
	ret = dma_map_sgtable(dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	if (ret) {
		sg_free_table(sgt);
		kfree(sgt);
		return ERR_PTR(ret);
	}
	return sgt;
}

/* Unmap the first @n entries of the scatterlist, then free the table. */
static void sgt_unmap_vram(struct sg_table *sgt, unsigned int n,
			   struct device *dev, enum dma_data_direction dir)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sg(sgt->sgl, sg, n, i)
		dma_unmap_resource(dev, sg_dma_address(sg), sg_dma_len(sg), dir,
				   DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(sgt);
	kfree(sgt);
}

static unsigned int vram_segments(struct vgpu_bo *bo)
{
	struct vgpu_res_cursor cur;
	unsigned int n = 0;

	vgpu_res_first(bo->tbo.resource, 0, bo->tbo.base.size, &cur);
	while (cur.remaining) {
		vgpu_res_next(&cur, min(cur.size, MAX_SEGMENT));
		n++;
	}
	return n;
}

/* Map VRAM for an importer, by bus addresses in BAR 0, which have no struct page. */
static struct sg_table *bo_map_vram(struct vgpu_bo *bo, struct device *dev,
				    enum dma_data_direction dir)
{
	struct vgpu_res_cursor cur;
	struct scatterlist *sg;
	struct sg_table *sgt;
	unsigned int i;
	int ret;

	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(sgt, vram_segments(bo), GFP_KERNEL);
	if (ret) {
		kfree(sgt);
		return ERR_PTR(ret);
	}
	vgpu_res_first(bo->tbo.resource, 0, bo->tbo.base.size, &cur);
	for_each_sgtable_sg(sgt, sg, i) {
		u64 bytes = min(cur.size, MAX_SEGMENT);
		dma_addr_t addr;

		addr = dma_map_resource(dev,
					bo->vdev->hw->vram_base + cur.start,
					bytes, dir, DMA_ATTR_SKIP_CPU_SYNC);
		if (dma_mapping_error(dev, addr)) {
			sgt_unmap_vram(sgt, i, dev, dir);
			return ERR_PTR(-ENOMEM);
		}
		sg_set_page(sg, NULL, bytes, 0);
		sg_dma_address(sg) = addr;
		sg_dma_len(sg) = bytes;
		vgpu_res_next(&cur, bytes);
	}
	return sgt;
}

/*
 * Move the BO to memory that all importers reach. Returns -EBUSY if the BO is pinned in memory that
 * @attach does not reach.
 */
static int vgpu_dma_buf_place(struct vgpu_bo *bo,
			      const struct dma_buf_attachment *attach)
{
	u32 type;

	if (!bo->tbo.pin_count)
		return vgpu_bo_validate(bo, vgpu_dma_buf_domain(bo), false);
	type = bo->tbo.resource->mem_type;
	return type == TTM_PL_TT || (type == TTM_PL_VRAM && attach->peer2peer) ?
	       0 : -EBUSY;
}

/*
 * Move the BO to memory that the importer reaches, then map this memory. The reservation is held.
 * The importer waits for fences of usage KERNEL.
 */
static struct sg_table *vgpu_dma_buf_map(struct dma_buf_attachment *attach,
					 enum dma_data_direction dir)
{
	struct vgpu_bo *bo = attached_bo(attach);
	struct sg_table *sgt;
	int ret, idx;

	if (!drm_dev_enter(&bo->vdev->drm, &idx))
		return ERR_PTR(-ENODEV);
	ret = vgpu_dma_buf_place(bo, attach);
	if (ret)
		sgt = ERR_PTR(ret);
	else if (bo->tbo.resource->mem_type == TTM_PL_VRAM)
		sgt = bo_map_vram(bo, attach->dev, dir);
	else
		sgt = bo_map_system(bo, attach->dev, dir);
	drm_dev_exit(idx);
	return sgt;
}

static void vgpu_dma_buf_unmap(struct dma_buf_attachment *attach,
			       struct sg_table *sgt,
			       enum dma_data_direction dir)
{
	if (!sg_page(sgt->sgl)) {
		sgt_unmap_vram(sgt, sgt->orig_nents, attach->dev, dir);
		return;
	}
	dma_unmap_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(sgt);
	kfree(sgt);
}

/*
 * Before a CPU read, move the BO to GTT, because the CPU reads VRAM slowly. The dma-buf core then
 * waits for the move's fence.
 */
static int vgpu_dma_buf_begin_cpu_access(struct dma_buf *dma_buf,
					 enum dma_data_direction dir)
{
	struct vgpu_bo *bo = gem_to_vgpu_bo(dma_buf->priv);
	int ret;

	if (dir == DMA_TO_DEVICE ||
	    (READ_ONCE(bo->domains) & DOMAINS_SHARED) != DOMAINS_SHARED)
		return 0;
	ret = ttm_bo_reserve(&bo->tbo, true, false, NULL);
	if (ret)
		return ret;
	if (!bo->tbo.pin_count)
		ret = vgpu_bo_validate(bo, AMDGPU_GEM_DOMAIN_GTT, true);
	ttm_bo_unreserve(&bo->tbo);
	return ret;
}

static const struct dma_buf_ops vgpu_dma_buf_ops = {
	.attach = vgpu_dma_buf_attach,
	.detach = vgpu_dma_buf_detach,
	.pin = vgpu_dma_buf_pin,
	.unpin = vgpu_dma_buf_unpin,
	.map_dma_buf = vgpu_dma_buf_map,
	.unmap_dma_buf = vgpu_dma_buf_unmap,
	.release = drm_gem_dmabuf_release,
	.begin_cpu_access = vgpu_dma_buf_begin_cpu_access,
	.mmap = drm_gem_dmabuf_mmap,
};

/**
 * vgpu_gem_export() - create a dma-buf of a BO
 * @gem: the BO's GEM object; not an import
 * @flags: O_CLOEXEC, O_RDWR
 *
 * Return: the dma-buf; ERR_PTR(-EPERM) for a user-pointer BO or a BO with VM_ALWAYS_VALID;
 * ERR_PTR(-EINVAL) for a BO outside of VRAM, GTT and system memory; ERR_PTR(-ENOMEM).
 */
struct dma_buf *vgpu_gem_export(struct drm_gem_object *gem, int flags)
{
	struct vgpu_bo *bo = gem_to_vgpu_bo(gem);
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = THIS_MODULE,
		.ops = &vgpu_dma_buf_ops,
		.size = gem->size,
		.flags = flags,
		.priv = gem,
		.resv = gem->resv,
	};

	if (bo->tbo.type == ttm_bo_type_sg ||
	    bo->flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID)
		return ERR_PTR(-EPERM);
	if (bo->domains & ~(DOMAINS_SHARED | AMDGPU_GEM_DOMAIN_CPU))
		return ERR_PTR(-EINVAL);
	return drm_gem_dmabuf_export(gem->dev, &info);
}

/**
 * vgpu_dma_buf_bo() - get the BO that a dma-buf exports
 * @dma_buf: any dma-buf; the caller holds a reference to it
 *
 * Return: the BO, or NULL if @dma_buf is not from this driver. Takes no reference to the BO, which
 * exists as long as @dma_buf.
 */
struct vgpu_bo *vgpu_dma_buf_bo(struct dma_buf *dma_buf)
{
	return dma_buf->ops == &vgpu_dma_buf_ops ?
	       gem_to_vgpu_bo(dma_buf->priv) : NULL;
}

/*
 * The functions below import dma-bufs of other devices. An import is in GTT only while
 * vgpu_import_bind() has mapped the exporter's memory.
 */

/**
 * vgpu_import_move_notify() - move an import out of GTT, because the exporter is about to move
 * @attach: attachment of the import; the shared reservation is held
 *
 * Clears the page-table entries of the import and unmaps the attachment. On return the exporter may
 * give the old memory to other users.
 *
 * Context: waits for the users of the import, and for memory.
 */
void vgpu_import_move_notify(struct dma_buf_attachment *attach)
{
	struct vgpu_bo *bo = gem_to_vgpu_bo(attach->importer_priv);
	struct ttm_resource *res = bo->tbo.resource;
	int ret;

	if (!res || res->mem_type == TTM_PL_SYSTEM)
		return;
	for (;;) {
		ret = vgpu_bo_validate(bo, AMDGPU_GEM_DOMAIN_CPU, false);
		/*
		 * Repeat the move after -ENOMEM, and after -EBUSY (TTM's wait for the fences of the
		 * BO has timed out). move_notify() returns no error, so the exporter would reuse
		 * memory that the page-table entries of the import still map.
		 */
		if (ret != -ENOMEM && ret != -EBUSY)
			break;
		schedule_timeout_uninterruptible(1);
	}
	if (ret)
		drm_err(&bo->vdev->drm,
			"an imported buffer does not follow its exporter: %d\n",
			ret);
}
EXPORT_SYMBOL_IF_KUNIT(vgpu_import_move_notify);

static const struct dma_buf_attach_ops vgpu_import_ops = {
	.allow_peer2peer = true,
	.move_notify = vgpu_import_move_notify,
};

/**
 * vgpu_import_bind() - get the bus addresses of an import's memory from the exporter
 * @bo: import, reservation held
 * @ttm: pages of the BO; the function fills the array @ttm->dma_address
 *
 * Return: 0; -EINVAL if the BO is not attached, or if the exporter maps another size than that of
 * the BO; or the exporter's error.
 */
int vgpu_import_bind(struct vgpu_bo *bo, struct ttm_tt *ttm)
{
	struct dma_buf_attachment *attach = bo->tbo.base.import_attach;
	struct sg_table *sgt;
	struct scatterlist *sg;
	u64 bytes = 0;
	int i;

	if (!attach)
		return -EINVAL;
	sgt = dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	for_each_sgtable_dma_sg(sgt, sg, i)
		bytes += sg_dma_len(sg);
	if (bytes != (u64)ttm->num_pages << PAGE_SHIFT) {
		dma_buf_unmap_attachment(attach, sgt, DMA_BIDIRECTIONAL);
		return -EINVAL;
	}
	drm_prime_sg_to_dma_addr_array(sgt, ttm->dma_address, ttm->num_pages);
	ttm->sg = sgt;
	return 0;
}

/**
 * vgpu_import_unbind() - undo vgpu_import_bind()
 * @ttm: pages of an import whose reservation is held; if they are not bound, nothing is done
 *
 * The caller has stopped all use of the memory by engines.
 */
void vgpu_import_unbind(struct ttm_tt *ttm)
{
	struct vgpu_bo *bo = to_vgpu_tt(ttm)->bo;

	if (!ttm->sg)
		return;
	dma_buf_unmap_attachment(bo->tbo.base.import_attach, ttm->sg,
				 DMA_BIDIRECTIONAL);
	ttm->sg = NULL;
}

/**
 * vgpu_import_mmap() - map an import into a process, by the exporter's mmap()
 * @bo: import; on success the function drops one reference of the caller
 * @vma: VMA; its offset is set to 0, the start of the dma-buf
 *
 * Return: 0 or the exporter's error.
 */
int vgpu_import_mmap(struct vgpu_bo *bo, struct vm_area_struct *vma)
{
	int ret;

	/*
	 * The DRM core has set vm_private_data and vm_ops for this driver. Clear both members,
	 * because the exporter's mmap() may leave them as they are.
	 */
	vma->vm_private_data = NULL;
	vma->vm_ops = NULL;
	ret = dma_buf_mmap(bo->import, vma, 0);
	/*
	 * The VMA references the dma-buf, not the BO, so drop the reference that was taken for the
	 * VMA.
	 */
	if (!ret)
		vgpu_bo_put(bo);
	return ret;
}

/**
 * vgpu_import_destroy() - detach from the exporter
 * @bo: import that is being destroyed; vgpu_import_unbind() has been called
 *
 * Context: no lock is held.
 */
void vgpu_import_destroy(struct vgpu_bo *bo)
{
	struct dma_buf_attachment *attach = bo->tbo.base.import_attach;

	if (attach)
		dma_buf_detach(bo->import, attach);
	dma_buf_put(bo->import);
}

/**
 * vgpu_gem_import() - get a BO for a dma-buf
 * @drm: DRM device
 * @dma_buf: any dma-buf
 *
 * If this device exported @dma_buf, returns the exported BO.
 *
 * Context: takes the reservation of @dma_buf.
 *
 * Return: the GEM object, with a reference; ERR_PTR(-EINVAL) for a size that is not
 * whole pages; ERR_PTR(-ENOMEM); or the exporter's error.
 */
struct drm_gem_object *vgpu_gem_import(struct drm_device *drm,
				       struct dma_buf *dma_buf)
{
	const struct vgpu_bo_params params = {
		.size = dma_buf->size,
		.domain = AMDGPU_GEM_DOMAIN_CPU,
		.type = ttm_bo_type_sg,
		.import = dma_buf,
	};
	struct vgpu_bo *bo = vgpu_dma_buf_bo(dma_buf);
	struct dma_buf_attachment *attach;
	int ret;

	if (bo && bo->tbo.base.dev == drm) {
		drm_gem_object_get(&bo->tbo.base);
		return &bo->tbo.base;
	}
	if (!PAGE_ALIGNED(dma_buf->size))
		return ERR_PTR(-EINVAL);

	/*
	 * The new BO shares the dma-buf's reservation, so a thread that maps the BO waits for the
	 * exporter's moves.
	 */
	dma_resv_lock(dma_buf->resv, NULL);
	ret = vgpu_bo_create(to_vgpu(drm), &params, &bo);
	dma_resv_unlock(dma_buf->resv);
	if (ret)
		return ERR_PTR(ret);
	bo->domains = AMDGPU_GEM_DOMAIN_GTT;

	attach = dma_buf_dynamic_attach(dma_buf, drm->dev, &vgpu_import_ops,
					&bo->tbo.base);
	if (IS_ERR(attach)) {
		vgpu_bo_put(bo);
		return ERR_CAST(attach);
	}
	bo->tbo.base.import_attach = attach;
	return &bo->tbo.base;
}
