// SPDX-License-Identifier: GPL-2.0
/*
 * What KFD's BOs may take of the system's memory.
 *
 * amdkfd refuses to overcommit VRAM. Here BOs of processes that do not run
 * make room for others, so it can be overcommitted; but what does not fit
 * ends in system memory, and all that together must leave the system alive.
 * Hence: GTT + (VRAM asked for beyond what there is, by GPU) <= 3/4 of RAM.
 * A BO counts from its allocation to the end of its memory, which a CPU
 * mapping may delay.
 */
#include <linux/mm.h>
#include <drm/amdgpu_drm.h>
#include <kunit/visibility.h>

#include "mm/vgpu_res_mgr.h"
#include "kfd_mem.h"
#include "kfd_node.h"

/* Protects both counts below and kfd_node.vram_used; vgpu_device.kfd's end. */
static DEFINE_SPINLOCK(kfd_mem_limit_lock);
static u64 kfd_mem_gtt_used;
static u64 kfd_mem_vram_excess;	/* over all GPUs */

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

/* @size may be anything; nothing overflows, as the sums are bounded. */
int kfd_mem_limit_reserve(struct kfd_node *node, u32 domain, u64 size)
{
	u64 limit = kfd_mem_limit(), gtt, excess, vram;
	int ret = 0;

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

void kfd_mem_limit_detach(struct kfd_node *node)
{
	spin_lock(&kfd_mem_limit_lock);
	kfd_mem_vram_excess -= kfd_mem_excess(node, node->vram_used);
	node->vdev->kfd = NULL;
	spin_unlock(&kfd_mem_limit_lock);
}
EXPORT_SYMBOL_IF_KUNIT(kfd_mem_limit_detach);
