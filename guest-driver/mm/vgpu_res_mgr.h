/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Managers of VRAM and of system memory: size, usage, room for allocations, recovery after a
 * loss of VRAM. The structures are public because the inline functions of vgpu_res_cursor.h
 * use them; code outside of mm/ does not access their members. Functions are documented in
 * vgpu_vram_mgr.c, vgpu_vram_evict.c and vgpu_gtt_mgr.c.
 */
#ifndef VGPU_RES_MGR_H
#define VGPU_RES_MGR_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <drm/ttm/ttm_resource.h>

#include "vgpu_buddy.h"

struct dma_fence;
struct drm_printer;
struct vgpu_device;

/**
 * struct vgpu_vram_mgr - VRAM manager of a device
 * @manager: TTM's manager; its size and usage are in bytes
 * @mm: buddy allocator of the blocks
 * @resources: every struct vgpu_vram_resource, oldest first
 * @next: vgpu_vram_resource.number of the next resource
 * @lost: list of BOs whose content was lost with VRAM, linked by vgpu_bo_state.lost_link
 * @leaving: list of BOs that were moved out of VRAM, oldest move first, linked by
 *           vgpu_bo_state.leaving_link
 * @frees: number of frees of VRAM, modulo 2^32; written under @lock
 * @freed: woken when @frees changes
 * @distrust: true if VRAM was lost since probe, so that no free block is treated as clear any
 *            more
 * @lock: protects @mm, @resources, @next, @lost and @leaving
 */
struct vgpu_vram_mgr {
	struct ttm_resource_manager manager;
	struct gpu_buddy mm;
	struct list_head resources;
	u64 next;
	struct list_head lost;
	struct list_head leaving;
	unsigned int frees;
	wait_queue_head_t freed;
	bool distrust;
	struct mutex lock;	/* protects the blocks and lists */
};

/**
 * struct vgpu_vram_resource - VRAM of a BO
 * @base: TTM's resource; TTM_PL_FLAG_CONTIGUOUS is set in its placement if the blocks are
 *        adjacent and in order, even if the BO did not request that
 * @link: in vgpu_vram_mgr.resources
 * @number: number in the order of allocation, from vgpu_vram_mgr.next
 * @blocks: struct gpu_buddy_block, in the order of the BO's bytes
 * @wiped: fence of the job that clears the blocks before they are freed, or NULL
 */
struct vgpu_vram_resource {
	struct ttm_resource base;
	struct list_head link;
	u64 number;
	struct list_head blocks;
	struct dma_fence *wiped;
};

u64 vgpu_vram_mgr_size(struct vgpu_device *vdev);
u64 vgpu_vram_mgr_usage(struct vgpu_device *vdev);
void vgpu_vram_mgr_distrust(struct vgpu_device *vdev);
unsigned int vgpu_vram_mgr_mark_lost(struct vgpu_device *vdev);
void vgpu_vram_mgr_show_lost(struct vgpu_device *vdev, struct drm_printer *p);
unsigned int vgpu_vram_mgr_frees(struct vgpu_device *vdev);
int vgpu_vram_mgr_make_room(struct vgpu_device *vdev, u64 size,
			    unsigned int frees);
u64 vgpu_gtt_mgr_size(struct vgpu_device *vdev);
u64 vgpu_gtt_mgr_usage(struct vgpu_device *vdev);
bool vgpu_gtt_mgr_has_gart_addr(struct ttm_resource *res);
int vgpu_gtt_mgr_recover(struct vgpu_device *vdev);

#endif /* VGPU_RES_MGR_H */
