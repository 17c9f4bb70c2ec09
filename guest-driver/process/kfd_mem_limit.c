// SPDX-License-Identifier: GPL-2.0
/*
 * Limits the system memory that KFD's BOs may use:
 *
 *	kfd_mem_gtt_used + kfd_mem_vram_excess <= 3/4 of RAM
 *
 * Unlike in amdkfd, BOs may exceed VRAM and then use system memory.
 */
#include <linux/mm.h>
#include <drm/amdgpu_drm.h>
#include <kunit/visibility.h>

#include "mm/vgpu_res_mgr.h"
#include "kfd_mem.h"
#include "kfd_node.h"

/*
 * Protects kfd_mem_gtt_used, kfd_mem_vram_excess, kfd_node.vram_used, and the pointer
 * vgpu_device.kfd, which kfd_mem_limit_detach() clears.
 */
static DEFINE_SPINLOCK(kfd_mem_limit_lock);
static u64 kfd_mem_gtt_used;	/* bytes of BOs that are charged to GTT */
/*
 * Bytes by which the BOs charged to a GPU's VRAM exceed the size of this VRAM, summed over all
 * GPUs.
 */
static u64 kfd_mem_vram_excess;

static u64 kfd_mem_limit(void)
{
	u64 ram = (u64)totalram_pages() << PAGE_SHIFT;

	return ram - ram / 4;
}

static u64 kfd_mem_vram_total(struct kfd_node *node)
{
	return vgpu_vram_mgr_size(node->vdev);
}

static u64 kfd_mem_excess(struct kfd_node *node, u64 vram_used)
{
	u64 total = kfd_mem_vram_total(node);

	return vram_used > total ? vram_used - total : 0;
}

/**
 * kfd_mem_limit_reserve() - charge a BO to the memory limit
 * @node: GPU
 * @domain: AMDGPU_GEM_DOMAIN_VRAM or _GTT; BOs of other domains are not counted
 * @size: bytes, any value
 *
 * Context: process context.
 *
 * Return: 0; -ENOMEM if the limit would be exceeded, or if a BO of VRAM is larger than the VRAM of
 * @node.
 */
int kfd_mem_limit_reserve(struct kfd_node *node, u32 domain, u64 size)
{
	u64 limit = kfd_mem_limit(), gtt, excess, vram;
	int ret = 0;

	/* Refuse a too large @size first, so that the sums below do not overflow. */
	if (domain == AMDGPU_GEM_DOMAIN_VRAM) {
		if (size > kfd_mem_vram_total(node))
			return -ENOMEM;
	} else if (domain != AMDGPU_GEM_DOMAIN_GTT) {
		return 0;
	} else if (size > limit) {
		return -ENOMEM;
	}

	spin_lock(&kfd_mem_limit_lock);
	gtt = kfd_mem_gtt_used;
	vram = node->vram_used;
	if (domain == AMDGPU_GEM_DOMAIN_GTT)
		gtt += size;
	else
		vram += size;
	excess = kfd_mem_vram_excess - kfd_mem_excess(node, node->vram_used) +
		 kfd_mem_excess(node, vram);
	if (gtt + excess > limit) {
		ret = -ENOMEM;
	} else {
		kfd_mem_gtt_used = gtt;
		kfd_mem_vram_excess = excess;
		node->vram_used = vram;
	}
	spin_unlock(&kfd_mem_limit_lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(kfd_mem_limit_reserve);

/**
 * kfd_mem_limit_unreserve() - undo kfd_mem_limit_reserve()
 * @vdev: device of the BO; its node may be detached
 * @domain: as passed to kfd_mem_limit_reserve()
 * @size: as passed to kfd_mem_limit_reserve()
 *
 * Context: process context.
 */
void kfd_mem_limit_unreserve(struct vgpu_device *vdev, u32 domain, u64 size)
{
	struct kfd_node *node;

	spin_lock(&kfd_mem_limit_lock);
	node = vdev->kfd;
	if (domain == AMDGPU_GEM_DOMAIN_GTT) {
		kfd_mem_gtt_used -= size;
	} else if (domain == AMDGPU_GEM_DOMAIN_VRAM && node) {
		kfd_mem_vram_excess -= kfd_mem_excess(node, node->vram_used);
		node->vram_used -= size;
		kfd_mem_vram_excess += kfd_mem_excess(node, node->vram_used);
	}
	spin_unlock(&kfd_mem_limit_lock);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_mem_limit_unreserve);

/**
 * kfd_mem_limit_detach() - remove a GPU's VRAM from the limit, and the node from its device
 * @node: GPU that is removed
 *
 * BOs with a CPU mapping may outlive @node. When such a BO is freed, kfd_mem_limit_unreserve()
 * reads vgpu_device.kfd. So this function sets vgpu_device.kfd to NULL.
 *
 * Context: process context.
 */
void kfd_mem_limit_detach(struct kfd_node *node)
{
	spin_lock(&kfd_mem_limit_lock);
	kfd_mem_vram_excess -= kfd_mem_excess(node, node->vram_used);
	node->vdev->kfd = NULL;
	spin_unlock(&kfd_mem_limit_lock);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_mem_limit_detach);
